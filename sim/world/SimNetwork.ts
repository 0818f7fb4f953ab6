/**
 * The network between clients and the venue, above HTTP framing. Each request goes over a connection of its
 * own choosing, so between requests nothing is ordered; a request and its reply are whole or absent.
 *
 * Fault model: a request is delayed, lost on the way in (the connection is cut: never handled), delivered a
 * second time by something in between, or half-open (handled or not, nothing ever comes back); a reply is
 * lost after the venue acted. A refused connection means that nothing listened when the request arrived, and
 * so that nothing was done. Everything else that is not a reply means unknown. Bytes are never changed.
 */
import type { Layer } from "effect"
import type { Conversation, Listener, Request, Response } from "../../src/edge/http/Listener.js"
import * as SimListener from "./SimListener.js"
import type { SimRandom } from "./SimRandom.js"
import type { SimTime } from "./SimTime.js"

/** What came of a request, as its sender sees it. */
export type Result =
  | { readonly _tag: "Replied"; readonly response: Response }
  /** Nothing listened: nothing was done. */
  | { readonly _tag: "Refused" }
  /** The connection was cut, or nothing came in time: whether it was done is unknown. */
  | { readonly _tag: "Lost" }

/** Probabilities are per request; delays in milliseconds, one way. */
export interface Faults {
  readonly requestLoss: number
  readonly replyLoss: number
  readonly duplication: number
  readonly halfOpen: number
  readonly maxDelayMs: number
}

export const noFaults: Faults = { requestLoss: 0, replyLoss: 0, duplication: 0, halfOpen: 0, maxDelayMs: 2 }

/** What the network does to one request, in the words of the faults. */
export interface Fate {
  readonly halfOpen: boolean
  readonly requestLost: boolean
  readonly replyLost: boolean
  readonly duplicated: boolean
}

/** What comes to the process of a client: a frame's text, one that is no text, or its answer to a ping. */
export type Taken = { readonly text: string } | "binary" | "alive"

/** A client's end of a WebSocket. Frames come in the order in which they were sent, whole. */
export interface Hearing<Note> {
  /** Called as a frame leaves the process, with the characters of those before it on their way; what it returns comes with the frame. */
  readonly leaving: (text: string, onItsWay: number) => Note
  /** Called as the process takes something up; what it returns, once it has: what it says at once leaves between the two. */
  readonly taking: (taken: Taken) => () => void
  /** Called as the process ends it, and says why. */
  readonly closing: (code: number) => void
  readonly opened: (line: Line) => void
  /** Nothing listened, or it was not taken. */
  readonly refused: () => void
  readonly heard: (text: string, note: Note) => void
  /** It is over; with a code where the venue said why. */
  readonly ended: (code: number | undefined) => void
}

/** What a client does with its WebSocket. */
export interface Line {
  readonly say: (text: string) => void
  /** Says what is no text. */
  readonly sayBinary: () => void
  /** Goes away without a word. */
  readonly cut: () => void
  /** Nothing comes or goes any more, and neither end hears of that. */
  readonly die: () => void
  /** Says nothing any more, not even where it is asked for a sign of life, and hears all. */
  readonly fallSilent: () => void
}

/** How slowly a client takes frames: milliseconds for each. */
export type Slowness = () => number

export interface SimNetwork {
  /** Begins a WebSocket; `random` is its own generator. */
  readonly connect: <Note>(target: string, random: SimRandom, slowness: Slowness, hearing: Hearing<Note>) => void
  /**
   * Sends a request; `settle` is called exactly once, at the latest after `timeoutMs`. `fate` draws what befalls
   * it; a generator of its own keeps its fate whatever else is sent.
   */
  readonly send: (
    request: Request,
    timeoutMs: number,
    settle: (result: Result) => void,
    fate?: SimRandom,
    /** Called when a reply leaves the process, whatever becomes of it on its way. */
    left?: (response: Response) => void
  ) => Fate
  /** The listener of one process; its `ready` puts a delivery among what the process has to do. */
  readonly layerFor: (process: SimListener.Station) => Layer.Layer<Listener>
  /** Cuts every connection to a process: it has died. */
  readonly cut: (process: SimListener.Station) => void
  readonly setFaults: (faults: Faults) => void
  /** Has each request seen as a process takes it up. */
  readonly watch: (watch: SimListener.Watch) => void
  /** Requests that were delivered to a process and have no reply yet. */
  readonly underWay: () => number
}

/** Has things done later, each no sooner than the one before and so much behind it. */
const inOrder = (time: SimTime, delayMs: () => number) => (apartMs: () => number): (act: () => void) => void => {
  let lastEpochMs = 0
  const acts: Array<() => void> = []
  return (act) => {
    const now = time.nowEpochMs()
    lastEpochMs = Math.max(now + delayMs(), lastEpochMs + apartMs())
    acts.push(act)
    // Equal moments come in any order: whichever comes first does what was to be done first.
    time.after(lastEpochMs - now, () => acts.shift()!())
  }
}

/** Nobody hears what becomes of a copy; each is its own among the requests under way. */
const unheard = (): SimListener.Delivery => ({ answered: () => {}, refused: () => {}, wasCut: () => {} })

/** Begins WebSockets to whatever listens, with so much delay at most. */
const connecting = (time: SimTime, listener: SimListener.SimListener, maxDelayMs: () => number): SimNetwork["connect"] =>
(
  target,
  own,
  slowness,
  hearing
) => {
  const later = inOrder(time, () => own.next() * maxDelayMs())
  const [toVenue, toClient] = [later(() => 0), later(slowness)]
  let say: (then: (conversation: Conversation) => void) => void = () => {}
  let unread = 0
  let isDead = false
  let isOver = false
  let isSilent = false
  /** Hands the process something of the client's, if that can still come. */
  const hand = (taken: Taken, act: (conversation: Conversation) => void): void =>
    toVenue(() => {
      if (isDead || isOver || isSilent) return
      say((conversation) => {
        const done = hearing.taking(taken)
        act(conversation)
        done()
      })
    })
  /** What is on its way to the client comes before the end. */
  const end = (code: number | undefined): void =>
    toClient(() => {
      if (isOver || isDead) return
      isOver = true
      hearing.ended(code)
    })
  listener.connect(target, {
    peer: {
      send: (frames) => {
        for (const { text } of frames) {
          const note = hearing.leaving(text, unread)
          unread += text.length
          toClient(() => {
            if (isDead) return
            unread -= text.length
            if (!isOver) hearing.heard(text, note)
            if (unread === 0) say((conversation) => conversation.drained())
          })
        }
      },
      bufferedBytes: () => unread,
      ping: () =>
        toClient(() => {
          if (!isDead && !isOver) hand("alive", (conversation) => conversation.alive())
        }),
      close: (code) => {
        hearing.closing(code)
        end(code)
      }
    },
    accepted: (taken) => {
      say = taken
      hearing.opened({
        say: (text) => hand({ text }, (conversation) => conversation.text(Buffer.from(text))),
        sayBinary: () => hand("binary", (conversation) => conversation.binary()),
        cut: () => {
          if (isOver) return
          isOver = true
          if (!isDead) toVenue(() => say((conversation) => conversation.closed()))
        },
        die: () => {
          isDead = true
        },
        fallSilent: () => {
          isSilent = true
        }
      })
    },
    refused: () => hearing.refused(),
    wasCut: () => end(undefined)
  })
}

/** A network with these faults; `random` is its own generator. */
export const make = (time: SimTime, random: SimRandom, initial: Faults): SimNetwork => {
  let faults = initial
  let watching: SimListener.Watch | undefined
  const listener = SimListener.make(time, () => watching)

  const send: SimNetwork["send"] = (request, timeoutMs, settle, fate = random, left = () => {}) => {
    const delay = (): number => fate.next() * faults.maxDelayMs
    let settled = false
    const once = (result: Result): void => {
      if (settled) return
      settled = true
      stopWaiting()
      settle(result)
    }
    const stopWaiting = time.after(timeoutMs, () => once({ _tag: "Lost" }))
    const halfOpen = fate.chance(faults.halfOpen)
    const lostIn = fate.chance(faults.requestLoss)
    const lostOut = fate.chance(faults.replyLoss)
    const duplicated = fate.chance(faults.duplication)
    if (duplicated) {
      time.after(delay() + delay(), () => listener.deliver(request, unheard()))
    }
    time.after(delay(), () => {
      if (lostIn) {
        if (!halfOpen) time.after(delay(), () => once({ _tag: "Lost" }))
        return
      }
      listener.deliver(request, {
        answered: (response) => {
          left(response)
          if (halfOpen) return
          time.after(delay(), () => once(lostOut ? { _tag: "Lost" } : { _tag: "Replied", response }))
        },
        refused: () => {
          time.after(delay(), () => once({ _tag: "Refused" }))
        },
        wasCut: () => {
          if (!halfOpen) time.after(delay(), () => once({ _tag: "Lost" }))
        }
      })
    })
    return { halfOpen, requestLost: lostIn, replyLost: lostOut, duplicated }
  }

  return {
    connect: connecting(time, listener, () => faults.maxDelayMs),
    send,
    layerFor: listener.layerFor,
    cut: listener.cut,
    setFaults: (next) => {
      faults = next
    },
    watch: (watch) => {
      watching = watch
    },
    underWay: listener.underWay
  }
}
