/**
 * Work of many connections: a step of each address in turn, and of an address's connections in turn. So nobody's flood holds up what others
 * sent, however many connections it comes over.
 */

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

/** Urgent ones that are dispatched as they arrive between two turns, whoever waits: more of them wait as all others do. */
const urgentPerTurn = 16

export class Rotation {
  /** Those that have work, by where they come from. No origin is here without one. */
  private readonly workers = new Map<string, Set<Worker>>()
  private scheduled = false
  /** What was let through since the last turn. */
  private direct = 0
  private urgent = 0

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
    const beside = this.workers.get(worker.origin)
    if (beside === undefined) this.workers.set(worker.origin, new Set([worker]))
    else beside.add(worker)
    this.schedule()
  }

  /**
   * Whether what arrives may be done at once: where nobody waits for a turn. Where much arrives together the rest waits for
   * one, so that what arrives next is seen soon.
   */
  mayGoFirst(): boolean {
    this.schedule()
    return this.workers.size === 0 && this.direct++ < directPerTurn
  }

  /** Whether what is urgent may be done at once, also where others wait for a turn. */
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

  /** Takes the worker whose turn it is; its origin goes behind the others. */
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

  /** One worker's step, and then the next one's until the turn is over. */
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
