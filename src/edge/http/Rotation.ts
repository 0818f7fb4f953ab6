/**
 * Takes turns among the work of many connections: one step for each network in turn, within a network for each address in turn, and
 * within an address for each connection in turn. A flood thus delays nobody else's requests, however many connections and addresses it
 * uses.
 */
import { networkOf } from "../../domain/FairPlaces.js"

/** A connection with work: `step` does one step, and returns whether more can be done at once. */
export interface Worker {
  /** Where its connection comes from. */
  readonly origin: string
  readonly step: () => boolean
}

/**
 * How long steps and their consequences may take between two polls of the network, ms; the last one may exceed it by a millisecond when
 * it reads something that is not cached.
 */
const turnMs = 0.5

/** Requests dispatched on arrival between two turns: as many as a calm venue ever receives at once. */
const directPerTurn = 16

/**
 * Most urgent requests handled on arrival between two turns although others are waiting: in all, and of one network. Further ones wait
 * as all others do. Only the first bytes are known at this point, so anybody can make a request look urgent without a credential; the
 * limit per network leaves room for genuine ones. Where connections are a proxy's, the genuine ones come from the same network, and
 * the limit would only be lower for all.
 */
export const urgentPerTurn = 16
const urgentOfOneNetwork = 4

/** Moves the first entry behind the others, or removes it if none of its workers are waiting. */
const goBehind = <Waiting extends { readonly size: number }>(turns: Map<string, Waiting>, name: string, waiting: Waiting): void => {
  if (waiting.size > 0 && turns.size === 1) return
  turns.delete(name)
  if (waiting.size > 0) turns.set(name, waiting)
}

export class Rotation {
  /** Workers that have work, by network and origin. A network or origin without any is not listed. */
  private readonly networks = new Map<string, Map<string, Set<Worker>>>()
  private scheduled = false
  /** Requests let through since the last turn. */
  private direct = 0
  private urgent = 0
  private readonly urgentOf = new Map<string, number>()

  /**
   * `soon` schedules a turn after the pending input has been read. `next` continues once everything that a step has deferred is done:
   * the end of a body is reported that way, and its request is dispatched with it. `now` returns milliseconds.
   * `urgentOfNetwork`: most urgent requests of one network between two turns.
   */
  constructor(
    private readonly soon: (turn: () => void) => void,
    private readonly next: (goOn: () => void) => void,
    private readonly now: () => number,
    private readonly urgentOfNetwork = urgentOfOneNetwork
  ) {}

  /** Queues a worker behind all others of its origin, unless it is queued already. */
  add(worker: Worker): void {
    const { origin } = worker
    const network = networkOf(origin)
    const origins = this.networks.get(network)
    const beside = origins?.get(origin)
    if (beside !== undefined) beside.add(worker)
    else if (origins === undefined) this.networks.set(network, new Map([[origin, new Set([worker])]]))
    else origins.set(origin, new Set([worker]))
    this.schedule()
  }

  /**
   * Whether a request may be handled on arrival, which is when nobody is waiting for a turn. Of many that arrive together, the rest
   * wait for a turn, so that new arrivals are seen soon.
   */
  mayGoFirst(): boolean {
    this.schedule()
    return this.networks.size === 0 && this.direct++ < directPerTurn
  }

  /** Whether an urgent request of an origin may be handled at once, even while others are waiting for a turn. */
  mayGoBeforeAll(origin: string): boolean {
    this.schedule()
    const network = networkOf(origin)
    const ofNetwork = this.urgentOf.get(network) ?? 0
    if (ofNetwork === this.urgentOfNetwork || this.urgent === urgentPerTurn) return this.mayGoFirst()
    this.urgent++
    this.urgentOf.set(network, ofNetwork + 1)
    return true
  }

  private schedule(): void {
    if (this.scheduled) return
    this.scheduled = true
    this.soon(() => this.turn())
  }

  private turn(): void {
    this.scheduled = false
    this.direct = 0
    this.urgent = 0
    this.urgentOf.clear()
    this.step(this.now() + turnMs)
  }

  /** Takes the worker whose turn it is; its origin and its network go behind the others. */
  private first(): Worker | undefined {
    const [next] = this.networks
    if (next === undefined) return undefined
    const [network, origins] = next
    const [first] = origins
    const [origin, beside] = first!
    const [worker] = beside
    beside.delete(worker!)
    goBehind(origins, origin, beside)
    goBehind(this.networks, network, origins)
    return worker
  }

  /** Runs one worker's step, and then further ones until the turn is over. */
  private step(end: number): void {
    const worker = this.first()
    if (worker === undefined) return
    if (worker.step()) this.add(worker)
    this.next(() => {
      if (this.now() < end) this.step(end)
      else if (this.networks.size > 0) this.schedule()
    })
  }
}
