/**
 * What may come with every request is told at most once in so long, with how often it came since it was last told. It is told when it
 * comes, so that nothing waits: what came last, and nothing after it, stays untold.
 */
export class Seldom {
  private since = 0
  private toldAt = -Infinity

  /** `now` is a clock that is never set, and `apart` the shortest time between two that are told, in the clock's unit. */
  constructor(private readonly apart: number, private readonly now: () => number) {}

  /** Counts one that has come. If it is to be told, returns how many have come since the last that was told, this one among them. */
  came(): number | undefined {
    this.since++
    const at = this.now()
    if (at - this.toldAt < this.apart) return undefined
    const { since } = this
    this.since = 0
    this.toldAt = at
    return since
  }
}
