/**
 * How much accounts have had made of snapshots. The writer's own thread makes them, whole, so that whoever subscribes again and again to
 * something long would keep it from everybody's requests. What is made counts for the account, however many connections ask for it,
 * and an account may have as much made in a second as one connection may send frames, at `charactersOfFrame` each.
 *
 * What is made is known only once it is: an account may have one more made as long as it has had no more than a second's worth, whatever
 * the length, and then waits until that is made up for.
 */

/** The characters of a snapshot that take about as long as a frame that a client sends. */
export const charactersOfFrame = 16 * 1024

/** What an account has had made and is not made up for at a time, in characters. */
interface Owed {
  readonly characters: number
  atEpochMs: number
}

export class Makings {
  /** By account, those with the latest snapshots last. Who owes nothing any more is dropped as others have some made. */
  private readonly owed = new Map<number, Owed>()
  private readonly perSecond: number

  /** @param framesPerSecond how many frames one connection may send in a second */
  constructor(framesPerSecond: number) {
    this.perSecond = framesPerSecond * charactersOfFrame
  }

  /** The number of accounts that are remembered. */
  get size(): number {
    return this.owed.size
  }

  /** Whether one more snapshot may be made for an account now. */
  mayMake(account: number, nowEpochMs: number): boolean {
    return this.owedNow(this.owed.get(account), nowEpochMs) <= this.perSecond
  }

  /** Counts a snapshot of so many characters that was made for an account. */
  made(account: number, characters: number, nowEpochMs: number): void {
    const owed = this.owedNow(this.owed.get(account), nowEpochMs) + characters
    this.owed.delete(account)
    this.forgetOldest(nowEpochMs)
    this.owed.set(account, { characters: owed, atEpochMs: nowEpochMs })
  }

  /** What is left of it. Where the clock was set back, it is made up for from now on. */
  private owedNow(owed: Owed | undefined, nowEpochMs: number): number {
    if (owed === undefined) return 0
    owed.atEpochMs = Math.min(owed.atEpochMs, nowEpochMs)
    return Math.max(0, owed.characters - (nowEpochMs - owed.atEpochMs) * this.perSecond / 1_000)
  }

  /** Drops the two oldest if they owe nothing: more than are added, so that few are left after a rush. */
  private forgetOldest(nowEpochMs: number): void {
    let looked = 0
    for (const [account, owed] of this.owed) {
      if (looked++ === 2 || this.owedNow(owed, nowEpochMs) > 0) return
      this.owed.delete(account)
    }
  }
}
