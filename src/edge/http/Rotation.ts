/**
 * Work of many connections: a step of each network in turn, of a network's addresses in turn, and of an address's connections in turn. So
 * nobody's flood holds up what others sent, however many connections and addresses it comes over.
 */
import { networkOf } from "../../identity/FairPlaces.js"

/** Whoever has work: does one step of it, and says whether there is more to do at once. */
export interface Worker {
  /** Where its connection comes from. */
  readonly origin: string
  readonly step: () => boolean
}

/**
 * How long the steps between two looks at the network take, with all that comes of them; the last may take a millisecond more, a
 * read that nothing has cached.
 */
const turnMs = 0.5

/** Requests that are dispatched as they arrive between two turns: as many as a calm venue is ever sent at once. */
const directPerTurn = 16

/**
 * Urgent ones that are dispatched as they arrive between two turns, whoever waits, and how many of them of one network: more of them wait
 * as all others do. What only begins as urgent costs nobody a credential, and would otherwise leave nothing to those whose is.
 */
const urgentPerTurn = 16
const urgentOfNetwork = 4

/** Puts whoever had the first turn behind the others, or leaves him out where nothing of his waits. */
const goBehind = <Waiting extends { readonly size: number }>(turns: Map<string, Waiting>, name: string, waiting: Waiting): void => {
  if (waiting.size > 0 && turns.size === 1) return
  turns.delete(name)
  if (waiting.size > 0) turns.set(name, waiting)
}

export class Rotation {
  /** Those that have work, by their network and their origin. Neither is here without one. */
  private readonly networks = new Map<string, Map<string, Set<Worker>>>()
  private scheduled = false
  /** What was let through since the last turn. */
  private direct = 0
  private urgent = 0
  private readonly urgentOf = new Map<string, number>()

  /**
   * `soon` runs a turn after the input at hand has been taken in; `next` goes on behind what a step has put off until it is over
   * (the end of a body is told so, and with it the request is dispatched); `now` counts milliseconds.
   */
  constructor(
    private readonly soon: (turn: () => void) => void,
    private readonly next: (goOn: () => void) => void,
    private readonly now: () => number
  ) {}

  /** Gives a worker its place behind all others of its origin; it keeps the one that it has. */
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
   * Whether what arrives may be done at once: where nobody waits for a turn. Where much arrives together the rest waits for
   * one, so that what arrives next is seen soon.
   */
  mayGoFirst(): boolean {
    this.schedule()
    return this.networks.size === 0 && this.direct++ < directPerTurn
  }

  /** Whether what is urgent and comes from an origin may be done at once, also where others wait for a turn. */
  mayGoBeforeAll(origin: string): boolean {
    this.schedule()
    const network = networkOf(origin)
    const ofNetwork = this.urgentOf.get(network) ?? 0
    if (ofNetwork === urgentOfNetwork || this.urgent === urgentPerTurn) return this.mayGoFirst()
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

  /** One worker's step, and then the next one's until the turn is over. */
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
