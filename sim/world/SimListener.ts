/**
 * The venue's end of the simulated network: the application that listens, if any, and the requests that were delivered to it and have no
 * reply yet. A process that dies cuts their connections; one that stops answers them first.
 *
 * Faults: none of its own. The network's faults strike requests on their way.
 */
import { Effect, Layer } from "effect"
import {
  type Application,
  type Conversation,
  Listener,
  type Peer,
  type Request,
  type Response,
  type Sender
} from "../../src/edge/http/Listener.js"
import type { SimRandom } from "./SimRandom.js"
import type { SimTime } from "./SimTime.js"
import * as SimWire from "./SimWire.js"

/** A process as seen from outside: `ready` queues a task of the process. */
export interface Station {
  readonly ready: (task: () => void) => void
}

/** A WebSocket as the process that it reaches sees it. */
export interface Caller {
  /** Sends frames, which leave the process now. */
  readonly peer: Peer
  /** Accepted: everything said to the conversation is queued as tasks of the process. */
  readonly accepted: (say: (then: (conversation: Conversation) => void) => void) => void
  readonly refused: () => void
  /** The process has died, or stops. */
  readonly wasCut: () => void
}

export interface SimListener {
  /** Begins a conversation with the listening process, as whoever connects to it. */
  readonly connect: (target: string, sender: Sender, caller: Caller) => void
  /**
   * Delivers a request to the listening process; `random` draws what happens on its connection. Returns a function by which its sender
   * stops waiting for it.
   */
  readonly deliver: (request: Request, delivery: SimWire.Delivery, random: SimRandom) => () => void
  /** The layer for one process. */
  readonly layerFor: (process: Station) => Layer.Layer<Listener>
  /** Cuts every connection to a process: it has died. */
  readonly cut: (process: Station) => void
  /** Requests that were delivered and have no reply yet. */
  readonly underWay: () => number
}

interface Service {
  readonly station: Station
  readonly application: Application
  /** Its connections as bytes, where a run has them; WebSockets are above them. */
  readonly wire: SimWire.SimWire | undefined
  open: boolean
  /** Functions that tell the senders of requests in progress that their connection was cut. */
  readonly pending: Set<() => void>
  /** Functions that tell the clients of conversations that their connection was cut. */
  readonly talking: Set<() => void>
  drained: (() => void) | undefined
}

/** How long a closing listener waits for requests in progress, like the real one. */
const drainTimeoutMs = 5_000

/** Cuts the connections of all requests in progress. */
const notifyAll = (service: Service, by: "stop" | "death"): void => {
  const notices = [...service.pending, ...service.talking]
  service.pending.clear()
  service.talking.clear()
  for (const notice of notices) notice()
  service.wire?.cut(by)
}

/** Cuts everything in progress, and accepts nothing more. */
const close = (service: Service): void => {
  service.open = false
  notifyAll(service, "stop")
  service.drained?.()
}

/** Called for each request that the process starts to handle; the returned function receives the reply that was given at once, if any. */
export type Watch = (request: Request) => (response: Response | undefined) => void

/** A conversation's functions, detached from it. */
const boundTo = (conversation: Conversation): Omit<Conversation, "closed"> => ({
  address: conversation.address,
  text: (bytes) => conversation.text(bytes),
  binary: () => conversation.binary(),
  alive: () => conversation.alive(),
  answered: () => conversation.answered(),
  drained: () => conversation.drained(),
  isIdle: () => conversation.isIdle(),
  isAnonymous: () => conversation.isAnonymous()
})

/** Begins a conversation as a task of the process. */
const begin = (at: Service, target: string, sender: Sender, { accepted, peer, refused, wasCut }: Caller): void =>
  at.station.ready(() => {
    const opening = at.application.open?.({ target, ...sender })
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

/** What a run's connections are like, and who is told of what happens on them. */
export interface Wired {
  readonly behaviour: SimWire.Behaviour
  readonly told: SimWire.Told
}

/** Watches a request that is handled, where anybody watches. */
const handling = (watch: () => Watch | undefined): Watch => (request) => watch()?.(request) ?? (() => {})

/** Hands a request to the application as a task of the process, as one without a connection. */
const hand = (at: Service, request: Request, { answered, wasCut }: SimWire.Delivery, watch: () => Watch | undefined): void => {
  at.pending.add(wasCut)
  at.station.ready(() =>
    SimWire.handOver({ application: at.application, handling: handling(watch) }, request, request, (response) => {
      if (!at.pending.delete(wasCut)) return
      answered(response)
      if (at.pending.size === 0 && at.drained !== undefined) at.drained()
    })
  )
}

/** Stops a service: takes nothing more, waits for what is under way, and cuts what takes too long. */
const stop = (opened: Service, time: SimTime, closed: () => void): void => {
  opened.open = false
  for (const end of [...opened.talking]) end()
  let isWireOpen = opened.wire !== undefined
  const isDone = (): boolean => opened.pending.size === 0 && !isWireOpen
  let patience = (): void => {}
  const done = (): void => {
    opened.drained = undefined
    patience()
    closed()
  }
  opened.wire?.stop(() => {
    isWireOpen = false
    opened.drained?.()
  })
  if (isDone()) return closed()
  opened.drained = () => {
    if (isDone()) done()
  }
  const cancel = time.after(drainTimeoutMs, () => {
    opened.drained = undefined
    notifyAll(opened, "stop")
    closed()
  })
  patience = () => void cancel()
}

/** A listener without a process. `watch` is called at every request: there may be none. */
export const make = (time: SimTime, watch: () => Watch | undefined, wired: () => Wired | undefined): SimListener => {
  let service: Service | undefined

  const deliver: SimListener["deliver"] = (request, delivery, random) => {
    const at = service
    if (at === undefined || !at.open) {
      delivery.refused()
      return () => {}
    }
    const leave = at.wire?.send({ request, ...delivery }, random)
    if (leave !== undefined) return leave
    hand(at, request, delivery, watch)
    return () => {}
  }

  const open = (station: Station, application: Application): Service => {
    const wires = wired()
    const wire = wires === undefined ? undefined : SimWire.make(time, wires.behaviour, {
      application,
      ready: station.ready,
      handling: handling(watch),
      told: wires.told
    })
    return { station, application, wire, open: true, pending: new Set(), talking: new Set(), drained: undefined }
  }

  const layerFor = (station: Station): Layer.Layer<Listener> =>
    Layer.succeed(Listener, {
      serve: (application) =>
        Effect.acquireRelease(
          Effect.sync(() => {
            const opened = open(station, application)
            service = opened
            return opened
          }),
          (opened) =>
            Effect.async<void>((resume) =>
              stop(opened, time, () => {
                if (service === opened) service = undefined
                station.ready(() => resume(Effect.void))
              })
            )
        ).pipe(Effect.map((opened) => ({ address: "sim", port: 80, cut: () => close(opened), ...opened.wire?.counts })))
    })

  return {
    connect: (target, sender, caller) => {
      if (service === undefined || !service.open) caller.refused()
      else begin(service, target, sender, caller)
    },
    deliver,
    layerFor,
    cut: (station) => {
      if (service === undefined || service.station !== station) return
      const dead = service
      dead.open = false
      service = undefined
      notifyAll(dead, "death")
    },
    underWay: () => (service?.pending.size ?? 0) + (service?.wire?.underWay() ?? 0)
  }
}
