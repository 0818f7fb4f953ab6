/**
 * Shares the work of many connections: one step of each address in turn, and of each address's connections in turn. A flood from
 * one client thus does not hold up others, however many connections it uses.
 */

/** A connection with work: `step` does one step, and returns whether more can be done at once. */
export interface Worker {
  /** Where its connection comes from. */
  readonly origin: string
  readonly step: () => boolean
}

/**
 * The time between two polls of the network for steps and their consequences, ms; the last one may exceed it by a millisecond, for
 * a read that nothing has cached.
 */
const turnMs = 0.5

/** Requests dispatched on arrival between two turns: as many as a calm venue ever receives at once. */
const directPerTurn = 16

/** Urgent requests dispatched on arrival between two turns, whoever waits: further ones wait like all others. */
const urgentPerTurn = 16

export class Rotation {
  /** Workers by origin. Only origins with a worker are present. */
  private readonly workers = new Map<string, Set<Worker>>()
  private scheduled = false
  /** Requests let through since the last turn. */
  private direct = 0
  private urgent = 0

  /**
   * `soon` schedules a turn after the pending input has been read. `next` continues after what a step has deferred until it is
   * over: the end of a body is reported that way, and the request dispatched with it. `now` returns milliseconds.
   */
  constructor(
    private readonly soon: (turn: () => void) => void,
    private readonly next: (goOn: () => void) => void,
    private readonly now: () => number
  ) {}

  /** Queues a worker behind all others of its origin, unless it is queued already. */
  add(worker: Worker): void {
    const beside = this.workers.get(worker.origin)
    if (beside === undefined) this.workers.set(worker.origin, new Set([worker]))
    else beside.add(worker)
    this.schedule()
  }

  /**
   * Whether a request may be handled on arrival, which is when nobody is waiting for a turn. Of many that arrive together, the rest
   * wait for a turn, so that new arrivals are seen soon.
   */
  mayGoFirst(): boolean {
    this.schedule()
    return this.workers.size === 0 && this.direct++ < directPerTurn
  }

  /** Whether an urgent request may be handled on arrival, even if others wait for a turn. */
  mayGoBeforeAll(): boolean {
    this.schedule()
    return this.urgent++ < urgentPerTurn || this.mayGoFirst()
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
    this.step(this.now() + turnMs)
  }

  /** Takes the next worker; its origin moves to the end. */
  private first(): Worker | undefined {
    const [next] = this.workers
    if (next === undefined) return undefined
    const [origin, beside] = next
    const [worker] = beside
    beside.delete(worker!)
    if (beside.size === 0) this.workers.delete(origin)
    else if (this.workers.size > 1) {
      this.workers.delete(origin)
      this.workers.set(origin, beside)
    }
    return worker
  }

  /** Runs one worker's step, and then further ones until the turn is over. */
  private step(end: number): void {
    const worker = this.first()
    if (worker === undefined) return
    if (worker.step()) this.add(worker)
    this.next(() => {
      if (this.now() < end) this.step(end)
      else if (this.workers.size > 0) this.schedule()
    })
  }
}
