/**
 * How much accounts have had made of snapshots. The writer's own thread makes them, whole, so that whoever subscribes again and again to
 * something long would keep it from everybody's requests. What is made counts for the account, however many connections ask for it,
 * and an account may have as much made in a second as one connection may send frames, at `charactersOfFrame` each.
 *
 * What is made is known only once it is: an account may have one more made as long as it has had no more than a second's worth, whatever
 * the length, and then waits until that is made up for. Those who wait are served in the order in which they came, before any newcomer:
 * otherwise whoever asks again and again at the right moment would have everything made, and the account's other connections nothing.
 */

/** The characters of a snapshot that take about as long as a frame that a client sends. */
export const charactersOfFrame = 16 * 1024

/** What an account has had made and is not made up for at a time, in characters. */
interface Owed {
  readonly characters: number
  atEpochMs: number
}

/** Who waits for a snapshot. */
export interface Waiting {
  /** Called once it may have one made now. It has left the line then. */
  readonly allowed: () => void
}

export class Makings {
  /** By account, those with the latest snapshots last. Who owes nothing any more is dropped as others have some made. */
  private readonly owed = new Map<number, Owed>()
  /** By account, those who wait, in the order in which they came. */
  private readonly lines = new Map<number, Set<Waiting>>()
  /** Who has been called out of the line, while it is. */
  private called: Waiting | undefined = undefined
  private readonly perSecond: number

  /** @param framesPerSecond how many frames one connection may send in a second */
  constructor(framesPerSecond: number) {
    this.perSecond = framesPerSecond * charactersOfFrame
  }

  /** The number of accounts that are remembered. */
  get size(): number {
    return this.owed.size
  }

  /** The number of those who wait. */
  get waiting(): number {
    let sum = 0
    for (const line of this.lines.values()) sum += line.size
    return sum
  }

  /** Whether one more snapshot may be made for somebody of an account now: not where others have waited for longer. */
  mayMake(account: number, who: Waiting, nowEpochMs: number): boolean {
    return (this.called === who || !this.lines.has(account)) && this.isMadeUpFor(account, nowEpochMs)
  }

  /** Stands in the line of an account, last unless it stands there already, until it is called or leaves. */
  wait(account: number, who: Waiting): void {
    const line = this.lines.get(account)
    if (line === undefined) this.lines.set(account, new Set([who]))
    else line.add(who)
  }

  leave(account: number, who: Waiting): void {
    const line = this.lines.get(account)
    if (line?.delete(who) === true && line.size === 0) this.lines.delete(account)
  }

  /** Calls those of an account who wait, one after the other, for as long as it may have more made. */
  goOn(account: number, nowEpochMs: number): void {
    const line = this.lines.get(account)
    if (line === undefined) return
    for (const next of [...line]) {
      if (!this.isMadeUpFor(account, nowEpochMs)) return
      // Calling one may end others. One that finds that it has to wait after all stands last.
      if (!line.has(next)) continue
      this.leave(account, next)
      this.called = next
      next.allowed()
      this.called = undefined
    }
  }

  private isMadeUpFor(account: number, nowEpochMs: number): boolean {
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
