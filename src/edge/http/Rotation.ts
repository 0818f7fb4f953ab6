/** Work of many connections, a step of each in turn: so that nobody's flood holds up what others sent. */

/** Whoever has work: does one step of it, and says whether there is more to do at once. */
export interface Worker {
  readonly step: () => boolean
}

/** Steps between two looks at the network. One may cost a millisecond: that of a read that nothing has cached. */
const stepsPerTurn = 4

export class Rotation {
  private readonly workers = new Set<Worker>()
  private scheduled = false

  /** `soon` runs a turn after the input at hand has been taken in. */
  constructor(private readonly soon: (turn: () => void) => void) {}

  /** Gives a worker its place behind all others; it keeps the one that it has. */
  add(worker: Worker): void {
    this.workers.add(worker)
    if (this.scheduled) return
    this.scheduled = true
    this.soon(() => this.turn())
  }

  private turn(): void {
    this.scheduled = false
    let steps = 0
    for (const worker of this.workers) {
      this.workers.delete(worker)
      if (worker.step()) this.add(worker)
      if (++steps === stepsPerTurn) break
    }
    const [next] = this.workers
    if (next !== undefined) this.add(next)
  }
}
