/**
 * The venue's end of the simulated network: the application that listens, if one does, and the requests that were
 * delivered to it and have no reply yet. A process that dies cuts them all; one that stops answers them first.
 *
 * Faults: none of its own. What befalls requests on their way is the network's.
 */
import { Effect, Layer } from "effect"
import { type Application, type Conversation, Listener, type Peer, type Request, type Response } from "../../src/edge/http/Listener.js"
import { addresses } from "./Addresses.js"
import type { SimTime } from "./SimTime.js"

/** A process as what is outside knows it: `ready` puts a task among what it has to do. */
export interface Station {
  readonly ready: (task: () => void) => void
}

/** What comes of a request once it has arrived: exactly one of the three is called, once. */
export interface Delivery {
  readonly answered: (response: Response) => void
  readonly refused: () => void
  readonly wasCut: () => void
}

/** What a process is to a WebSocket that came to it. */
export interface Caller {
  /** Where frames go, which leave the process now. */
  readonly peer: Peer
  /** Taken: whatever is said to the conversation is said among what the process has to do. */
  readonly accepted: (say: (then: (conversation: Conversation) => void) => void) => void
  readonly refused: () => void
  /** The process has died, or stops. */
  readonly wasCut: () => void
}

export interface SimListener {
  /** Begins a conversation with whatever listens now. */
  readonly connect: (target: string, caller: Caller) => void
  /** Hands a request to whatever listens now. */
  readonly deliver: (request: Request, delivery: Delivery) => void
  /** The leaf of one process. */
  readonly layerFor: (process: Station) => Layer.Layer<Listener>
  /** Cuts every connection to a process: it has died. */
  readonly cut: (process: Station) => void
  /** Requests that were delivered and have no reply yet. */
  readonly underWay: () => number
}

interface Service {
  readonly station: Station
  readonly application: Application
  open: boolean
  /** What tells the senders of requests under way that their connection was cut. */
  readonly pending: Set<() => void>
  /** The same of conversations. */
  readonly talking: Set<() => void>
  drained: (() => void) | undefined
}

/** How long a closing listener waits for requests under way, as the real one does. */
const drainTimeoutMs = 5_000

/** Cuts the connections of all requests under way. */
const notifyAll = (service: Service): void => {
  const notices = [...service.pending, ...service.talking]
  service.pending.clear()
  service.talking.clear()
  for (const notice of notices) notice()
}

/** Cuts what is under way, and takes nothing more. */
const close = (service: Service): void => {
  service.open = false
  notifyAll(service)
  service.drained?.()
}

/** Sees each request as the process takes it up; what it returns is told the reply that was given at once, if one was. */
export type Watch = (request: Request) => (response: Response | undefined) => void

/** A conversation's functions, apart from it. */
const boundTo = (conversation: Conversation): Omit<Conversation, "closed"> => ({
  address: conversation.address,
  text: (bytes) => conversation.text(bytes),
  binary: () => conversation.binary(),
  alive: () => conversation.alive(),
  drained: () => conversation.drained(),
  isIdle: () => conversation.isIdle(),
  isAnonymous: () => conversation.isAnonymous()
})

/** Begins a conversation with a process, among what it has to do. */
const begin = (at: Service, target: string, { accepted, peer, refused, wasCut }: Caller): void =>
  at.station.ready(() => {
    const opening = at.application.open?.({ target, headers: {}, remoteAddress: addresses.streams })
    if (opening === undefined || "refused" in opening || !at.open) return refused()
    let conversation: Conversation | undefined = undefined
    const end = (): void => {
      at.talking.delete(end)
      wasCut()
    }
    at.talking.add(end)
    const leave = (): void => {
      if (at.talking.delete(end)) conversation?.closed()
    }
    const taken = opening.accept({
      ...peer,
      close: (code, reason) => {
        peer.close(code, reason)
        leave()
      }
    })
    conversation = taken
    accepted((then) => at.station.ready(() => then({ ...boundTo(taken), closed: leave })))
  })

/** Nothing listens yet. `watch` is asked for at every request: there may be none. */
export const make = (time: SimTime, watch: () => Watch | undefined): SimListener => {
  let service: Service | undefined

  const deliver = (request: Request, { answered, refused, wasCut }: Delivery): void => {
    const at = service
    if (at === undefined || !at.open) return refused()
    at.pending.add(wasCut)
    at.station.ready(() => {
      let replied = false
      let atOnce: Response | undefined
      const handled = watch()?.(request)
      at.application.handle(request, (response) => {
        atOnce = response
        if (replied) throw new Error(`${request.method} ${request.target} was replied to twice`)
        replied = true
        if (!at.pending.delete(wasCut)) return
        answered(response)
        if (at.pending.size === 0 && at.drained !== undefined) at.drained()
      })
      handled?.(atOnce)
    })
  }

  const layerFor = (station: Station): Layer.Layer<Listener> =>
    Layer.succeed(Listener, {
      serve: (application) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const opened: Service = { station, application, open: true, pending: new Set(), talking: new Set(), drained: undefined }
            service = opened
            return opened
          }),
          (opened) =>
            Effect.async<void>((resume) => {
              opened.open = false
              for (const end of [...opened.talking]) end()
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
        ).pipe(Effect.map((opened) => ({ address: "sim", port: 80, cut: () => close(opened) })))
    })

  return {
    connect: (target, caller) => {
      if (service === undefined || !service.open) caller.refused()
      else begin(service, target, caller)
    },
    deliver,
    layerFor,
    cut: (station) => {
      if (service === undefined || service.station !== station) return
      const dead = service
      dead.open = false
      service = undefined
      notifyAll(dead)
    },
    underWay: () => service?.pending.size ?? 0
  }
}
