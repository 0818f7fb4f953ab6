/**
 * Who may take how much of a bounded table: of the orders that are remembered, of the keys, of what was decided under them.
 *
 * An eighth of a table is kept for what only takes risk away, and an eighth of that for the operator and the venue itself:
 * so cancels are served when placements already are not. And no account takes more than its part of what is free when it
 * asks: one in `parts` for a placement, one in two for what takes risk away. So whatever one account does, others find
 * room; with `n` accounts that take all they can, each has the table's bound over `parts + n`.
 *
 * What the record that is asked for forgets first counts as free, and what of it is the account's own as not held. It gives
 * nobody leave to take more: whoever asks most often would get every place that is freed, and leave the others nothing.
 */
import { Refusal } from "../domain/Refusal.js"
import type { Share } from "../operations/Operation.js"
import { growInts, lengthByAccount } from "./Columns.js"

/** What a table may hold once an entry of a share is in. */
export const boundOf = (capacity: number, share: Share): number => {
  const kept = Math.floor(capacity / 8)
  return share === "placement" ? capacity - kept : share === "reduction" ? capacity - Math.floor(kept / 8) : capacity
}

/** The part of what is free that takes risk away may take: half. */
const reductionParts = 2

/**
 * Whether an account that holds `held` entries of a table takes too much with `wanted` more, where `free` are left to the
 * share. `parts` 0: no account has a bound of its own.
 */
export const isBeyondPart = (share: Share, parts: number, held: number, wanted: number, free: number): boolean => {
  if (parts === 0 || (share !== "placement" && share !== "reduction")) return false
  return (held + wanted) * (share === "placement" ? parts : Math.min(parts, reductionParts)) > free
}

/** What the record that is asked for forgets of a table before anything else. */
export interface Over {
  readonly count: number
  /** What an account holds of that. */
  readonly own: number
  /** Whether that is as much as one record may forget, so that more may be over than was counted. */
  readonly isMost: boolean
}

/**
 * Whether the account takes too much once that is forgotten. As long as more may be over than was counted, nobody is held to a part: it
 * gives back more than it takes.
 */
export const isBeyondPartThen = (share: Share, parts: number, held: number, wanted: number, free: number, over: Over): boolean =>
  !over.isMost && isBeyondPart(share, parts, held - over.own, wanted, free + over.count)

/** What refuses one who finds no room: the part of an account, or the table. */
export const refusalOf = (full: boolean, beyondPart: boolean): Refusal =>
  full ? Refusal.tableFull : beyondPart ? Refusal.accountShare : Refusal.none

/** Entries by account, as many as there are: who holds how many of a table. */
export class Held {
  private counts: Int32Array = new Int32Array(64)

  of(account: number): number {
    return account < 0 || account >= this.counts.length ? 0 : this.counts[account]!
  }

  /** The venue's own (-1) are not counted. */
  add(account: number, entries: number): void {
    if (account < 0) return
    const { length } = this.counts
    if (account >= length) this.counts = growInts(this.counts, lengthByAccount(length, account + 1))
    this.counts[account]! += entries
  }
}
