/**
 * The network between clients and the venue, above HTTP framing. Each request goes over a connection of its
 * own choosing, so between requests nothing is ordered; a request and its reply are whole or absent.
 *
 * Fault model: a request is delayed, lost on the way in (the connection is cut: never handled), delivered a
 * second time by something in between, or half-open (handled or not, nothing ever comes back); a reply is
 * lost after the venue acted. A refused connection means that nothing listened when the request arrived, and
 * so that nothing was done. Everything else that is not a reply means unknown. Bytes are never changed.
 */
import { Effect, Layer } from "effect"
import { type Application, Listener, type Request, type Response } from "../../src/edge/http/Listener.js"
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

export interface SimNetwork {
  /**
   * Sends a request; `settle` is called exactly once, at the latest after `timeoutMs`. `fate` draws what befalls
   * it; a generator of its own keeps its fate whatever else is sent.
   */
  readonly send: (request: Request, timeoutMs: number, settle: (result: Result) => void, fate?: SimRandom) => Fate
  /** The listener of one process; `wake` puts a delivery among what the process has to do. */
  readonly layerFor: (process: Station) => Layer.Layer<Listener>
  /** Cuts every connection to a process: it has died. */
  readonly cut: (process: Station) => void
  readonly setFaults: (faults: Faults) => void
  /** Requests that were delivered to a process and have no reply yet. */
  readonly underWay: () => number
}

/** A process as the network knows it. */
export interface Station {
  readonly ready: (task: () => void) => void
}

interface Service {
  readonly station: Station
  readonly application: Application
  open: boolean
  /** What tells the senders of requests under way that their connection was cut. */
  readonly pending: Set<() => void>
  drained: (() => void) | undefined
}

/** How long a closing listener waits for requests under way, as the real one does. */
const drainTimeoutMs = 5_000

/** Cuts the connections of all requests under way. */
const notifyAll = (service: Service): void => {
  const notices = [...service.pending]
  service.pending.clear()
  for (const notice of notices) notice()
}

/** A network with these faults; `random` is its own generator. */
export const make = (time: SimTime, random: SimRandom, initial: Faults): SimNetwork => {
  let faults = initial
  let service: Service | undefined

  /** Hands a request to whatever listens now. Exactly one of the three is called, once. */
  const deliver = (
    request: Request,
    answered: (response: Response) => void,
    refused: () => void,
    wasCut: () => void
  ): void => {
    const at = service
    if (at === undefined || !at.open) return refused()
    at.pending.add(wasCut)
    at.station.ready(() => {
      let replied = false
      at.application.handle(request, (response) => {
        if (replied) throw new Error(`${request.method} ${request.target} was replied to twice`)
        replied = true
        if (!at.pending.delete(wasCut)) return
        answered(response)
        if (at.pending.size === 0 && at.drained !== undefined) at.drained()
      })
    })
  }

  const send = (request: Request, timeoutMs: number, settle: (result: Result) => void, fate: SimRandom = random): Fate => {
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
      time.after(delay() + delay(), () => deliver(request, () => {}, () => {}, () => {}))
    }
    time.after(delay(), () => {
      if (lostIn) {
        if (!halfOpen) time.after(delay(), () => once({ _tag: "Lost" }))
        return
      }
      deliver(
        request,
        (response) => {
          if (halfOpen) return
          time.after(delay(), () => once(lostOut ? { _tag: "Lost" } : { _tag: "Replied", response }))
        },
        () => {
          time.after(delay(), () => once({ _tag: "Refused" }))
        },
        () => {
          if (!halfOpen) time.after(delay(), () => once({ _tag: "Lost" }))
        }
      )
    })
    return { halfOpen, requestLost: lostIn, replyLost: lostOut, duplicated }
  }

  const layerFor = (station: Station): Layer.Layer<Listener> =>
    Layer.succeed(Listener, {
      serve: (application) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const opened: Service = { station, application, open: true, pending: new Set(), drained: undefined }
            service = opened
            return opened
          }),
          (opened) =>
            Effect.async<void>((resume) => {
              opened.open = false
              const close = (): void => {
                if (service === opened) service = undefined
                station.ready(() => resume(Effect.void))
              }
              if (opened.pending.size === 0) return close()
              const patience = time.after(drainTimeoutMs, () => {
                opened.drained = undefined
                notifyAll(opened)
                close()
              })
              opened.drained = () => {
                patience()
                close()
              }
            })
        ).pipe(Effect.as({ address: "sim", port: 80 }))
    })

  return {
    send,
    layerFor,
    cut: (station) => {
      if (service === undefined || service.station !== station) return
      const dead = service
      dead.open = false
      service = undefined
      notifyAll(dead)
    },
    setFaults: (next) => {
      faults = next
    },
    underWay: () => service?.pending.size ?? 0
  }
}
