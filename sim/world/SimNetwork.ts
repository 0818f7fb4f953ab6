/**
 * The network between clients and the venue. A request and its reply are whole or absent. In some runs requests travel on connections, as
 * bytes, with their own faults (`SimWire`); in the others, each uses a connection of its own, and no bytes are framed.
 *
 * Fault model: a request is delayed, lost on the way in (the connection is cut: never handled), delivered a second time by an
 * intermediary, or half-open (handled or not, no reply arrives); a reply is lost after the venue acted. A refused connection means that
 * nothing listened when the request arrived, so that nothing was done. In all other cases without a reply, the result is unknown. Bytes
 * are never changed. WebSockets come through the venue's own proxies, where a run has them (`SimProxies`); requests have been through them
 * before they are sent here.
 */
import type { Layer } from "effect"
import type { Conversation, Listener, Request, Response, Sender } from "../../src/edge/http/Listener.js"
import { addresses } from "./Addresses.js"
import * as SimListener from "./SimListener.js"
import * as SimProxies from "./SimProxies.js"
import type { SimRandom } from "./SimRandom.js"
import type { SimTime } from "./SimTime.js"
import { type Behaviour, type Told, unheard } from "./SimWire.js"

/** The result of a request for its sender. */
export type Result =
  | { readonly _tag: "Replied"; readonly response: Response }
  /** Nothing listened: nothing was done. */
  | { readonly _tag: "Refused" }
  /** The connection was cut, or no reply came in time: whether it was carried out is unknown. */
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

/** What the network does to one request, in terms of the faults. */
export interface Fate {
  readonly halfOpen: boolean
  readonly requestLost: boolean
  readonly replyLost: boolean
  readonly duplicated: boolean
}

/** What the process receives from a client: a text frame, a binary frame, or a pong. */
export type Taken = { readonly text: string } | "binary" | "alive"

/** A client's end of a WebSocket. Frames arrive whole and in order. */
export interface Hearing<Note> {
  /** Called as a frame leaves the process, with the number of characters in transit before it; its result arrives with the frame. */
  readonly leaving: (text: string, onItsWay: number) => Note
  /**
   * Called as the process takes something up; the returned function is called when it has: frames that the process sends at once leave in
   * between.
   */
  readonly taking: (taken: Taken) => () => void
  /** Called as the process closes the WebSocket, with its code. */
  readonly closing: (code: number) => void
  readonly opened: (line: Line) => void
  /** Nothing listened, or the WebSocket was refused. */
  readonly refused: () => void
  readonly heard: (text: string, note: Note) => void
  /** It has ended; with a code where the venue gave one. */
  readonly ended: (code: number | undefined) => void
}

/** A client's actions on its WebSocket. */
export interface Line {
  readonly say: (text: string) => void
  /** Sends a binary frame. */
  readonly sayBinary: () => void
  /** Disconnects without a close frame. */
  readonly cut: () => void
  /** Cuts the connection silently: nothing passes any more, and neither end notices. */
  readonly die: () => void
  /** Sends nothing any more, not even pongs, and still receives everything. */
  readonly fallSilent: () => void
}

/** How slowly a client reads: milliseconds for each frame. */
export type Slowness = () => number

export interface SimNetwork {
  /** Begins a WebSocket; `random` is a generator of its own. */
  readonly connect: <Note>(target: string, random: SimRandom, slowness: Slowness, hearing: Hearing<Note>) => void
  /**
   * Sends a request; `settle` is called exactly once, at the latest after `timeoutMs`. `fate` draws its faults; with a generator of its
   * own they do not depend on other requests.
   */
  readonly send: (
    request: Request,
    timeoutMs: number,
    settle: (result: Result) => void,
    fate?: SimRandom,
    /** Called when a reply leaves the process, whether or not it arrives. */
    left?: (response: Response) => void
  ) => Fate
  /** The listener of one process; its `ready` queues a delivery as a task of the process. */
  readonly layerFor: (process: SimListener.Station) => Layer.Layer<Listener>
  /** Cuts every connection to a process: it has died. */
  readonly cut: (process: SimListener.Station) => void
  readonly setFaults: (faults: Faults) => void
  /** Holds back requests at the door of the venue, until the returned function lets all of them in at one moment. */
  readonly hold: () => () => void
  /** Sets the observer of each request that a process starts to handle. */
  readonly watch: (watch: SimListener.Watch) => void
  /** Sets the observer of what happens on connections. */
  readonly listen: (told: Told) => void
  /** Requests that were delivered to a process and have no reply yet. */
  readonly underWay: () => number
}

/** Schedules actions in order, each with a given distance after the previous one. */
const inOrder = (time: SimTime, delayMs: () => number) => (apartMs: () => number): (act: () => void) => void => {
  let lastEpochMs = 0
  const acts: Array<() => void> = []
  return (act) => {
    const now = time.nowEpochMs()
    lastEpochMs = Math.max(now + delayMs(), lastEpochMs + apartMs())
    acts.push(act)
    // Ties come in any order: whichever comes first runs the first action.
    time.after(lastEpochMs - now, () => acts.shift()!())
  }
}

/** Begins a conversation with the listening process. */
type Entering = (target: string, caller: SimListener.Caller) => void

/** Lets clients in through the proxies, where there are any; `random` draws what they claim. */
const entering = ({ connect }: SimListener.SimListener, random: SimRandom, proxies?: SimProxies.Behaviour): Entering => {
  const client: Sender = { headers: {}, remoteAddress: addresses.streams }
  return (target, caller) => connect(target, proxies === undefined ? client : SimProxies.through(proxies, client, random), caller)
}

/** Begins WebSockets to the listening process, with delays up to a maximum. */
const connecting = (time: SimTime, enter: Entering, maxDelayMs: () => number): SimNetwork["connect"] =>
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
  /** Passes something from the client to the process, if the connection still exists. */
  const hand = (taken: Taken, act: (conversation: Conversation) => void): void =>
    toVenue(() => {
      if (isDead || isOver || isSilent) return
      say((conversation) => {
        const done = hearing.taking(taken)
        act(conversation)
        done()
      })
    })
  /** Frames in transit to the client arrive before the end. */
  const end = (code: number | undefined): void =>
    toClient(() => {
      if (isOver || isDead) return
      isOver = true
      hearing.ended(code)
    })
  enter(target, {
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
          if (!isDead && !isOver) hand("alive", (conversation) => conversation.answered())
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

/**
 * A network with these faults; `random` is a generator of its own. `wire`: how connections behave, where requests travel on them as bytes.
 * `proxies`: what WebSockets come through.
 */
export const make = (time: SimTime, random: SimRandom, initial: Faults, wire?: Behaviour, proxies?: SimProxies.Behaviour): SimNetwork => {
  let faults = initial
  let held: Array<() => void> | undefined
  let watching: SimListener.Watch | undefined
  let told: Told = () => {}
  const wired = wire === undefined ? undefined : { behaviour: wire, told: ((connection, event) => told(connection, event)) satisfies Told }
  const listener = SimListener.make(time, () => watching, () => wired)

  const send: SimNetwork["send"] = (request, timeoutMs, settle, fate = random, left = () => {}) => {
    const delay = (): number => fate.next() * faults.maxDelayMs
    let settled = false
    const once = (result: Result): void => {
      if (settled) return
      settled = true
      stopWaiting()
      settle(result)
    }
    let leave = (): void => {}
    const stopWaiting = time.after(timeoutMs, () => {
      once({ _tag: "Lost" })
      leave()
    })
    const halfOpen = fate.chance(faults.halfOpen)
    const lostIn = fate.chance(faults.requestLoss)
    const lostOut = fate.chance(faults.replyLoss)
    const duplicated = fate.chance(faults.duplication)
    if (duplicated) {
      time.after(delay() + delay(), () => void listener.deliver(request, unheard(), fate))
    }
    const arrives = (): void => {
      if (lostIn) {
        if (!halfOpen) time.after(delay(), () => once({ _tag: "Lost" }))
        return
      }
      leave = listener.deliver(request, {
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
      }, fate)
    }
    time.after(delay(), () => {
      if (held === undefined) arrives()
      else held.push(arrives)
    })
    return { halfOpen, requestLost: lostIn, replyLost: lostOut, duplicated }
  }

  return {
    connect: connecting(time, entering(listener, random.split("proxies"), proxies), () => faults.maxDelayMs),
    send,
    layerFor: listener.layerFor,
    cut: listener.cut,
    setFaults: (next) => {
      faults = next
    },
    hold: () => {
      held = []
      return () => {
        const arrived = held ?? []
        held = undefined
        for (const arrives of arrived) arrives()
      }
    },
    watch: (watch) => {
      watching = watch
    },
    listen: (listener) => {
      told = listener
    },
    underWay: listener.underWay
  }
}
