/**
 * Reads by the account whose rows they ask for. Few of one account are with the thread at a time, and its others wait here until one of
 * those was answered: who asks for much at once waits for himself, and others need not wait behind all of it. What is public is of no
 * account, and never waits here.
 */
import { Multimap } from "../domain/Multimap.js"

export class AccountLines<Read> {
  /** The reads of each account that are with the thread; none of those that have none. */
  private readonly sent = new Map<number, number>()
  private readonly waiting = new Multimap<number, Read>()
  private count = 0

  constructor(private readonly mostAtOnce: number) {}

  /** How many reads wait here, of all accounts. */
  get waitingCount(): number {
    return this.count
  }

  /** Whether the next read of an account has to wait. */
  isBusy(account: number | undefined): boolean {
    return account !== undefined && (this.sent.get(account) ?? 0) >= this.mostAtOnce
  }

  /** The reads of an account, with the thread or waiting. */
  countOf(account: number | undefined): number {
    return account === undefined ? 0 : (this.sent.get(account) ?? 0) + this.waiting.countOf(account)
  }

  /** Whether a read may be sent at once; otherwise it waits. */
  begin(account: number | undefined, read: Read): boolean {
    if (account === undefined) return true
    if (this.isBusy(account)) {
      this.waiting.add(account, read)
      this.count++
      return false
    }
    this.sent.set(account, (this.sent.get(account) ?? 0) + 1)
    return true
  }

  /** Notes that a read of an account was answered. Returns the one to be sent in its place; undefined where none waits. */
  next(account: number | undefined): Read | undefined {
    if (account === undefined) return undefined
    const read = this.waiting.oldestOf(account)
    const sent = this.sent.get(account) ?? 0
    if (read !== undefined) this.leave(account, read)
    else if (sent > 1) this.sent.set(account, sent - 1)
    else this.sent.delete(account)
    return read
  }

  /** Takes out a read that waits. Returns whether it did. */
  leave(account: number | undefined, read: Read): boolean {
    if (account === undefined) return false
    const count = this.waiting.countOf(account)
    this.waiting.remove(account, read)
    if (this.waiting.countOf(account) === count) return false
    this.count--
    return true
  }
}
