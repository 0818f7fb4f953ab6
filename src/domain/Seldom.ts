/**
 * Limits how often an event is reported that may come with every request, such as a line of the log: at most once in a given time, each
 * report with how many events there were since the one before. No timer is needed, since a report is made when an event comes; so the
 * events after the last report are reported only once another one comes.
 */
export class Seldom {
  private since = 0
  private toldAt = -Infinity

  /** `now` is a clock that is never set, and `apart` the shortest time between two reports, in the clock's unit. */
  constructor(private readonly apart: number, private readonly now: () => number) {}

  /** Counts an event. Returns how many there were since the last report, this one among them; undefined where none is due. */
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
