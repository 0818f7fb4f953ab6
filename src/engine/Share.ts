/**
 * How a bounded table is shared: remembered orders, idempotency keys, and the outcomes stored under them.
 *
 * An eighth of a table is reserved for commands that only reduce risk, and an eighth of that for the operator and the venue itself,
 * so that cancellations are still served when placements are refused. In addition, no account may take more than its share of what
 * is free when it asks: one in `parts` for placements, one in two for commands that reduce risk. Whatever one account does, others
 * therefore find room: if `n` accounts take all they can, each has the table's limit divided by `parts + n`.
 *
 * Entries that the record would forget first count as free, and those of the account itself as not held. This entitles nobody to
 * more: otherwise the account that asks most often would get every place that is freed.
 */
import { Refusal } from "../domain/Refusal.js"
import type { Share } from "../operations/Operation.js"
import { growInts, lengthByAccount } from "./Columns.js"

/** The number of entries up to which a table may be filled by commands of a class. */
export const boundOf = (capacity: number, share: Share): number => {
  const kept = Math.floor(capacity / 8)
  return share === "placement" ? capacity - kept : share === "reduction" ? capacity - Math.floor(kept / 8) : capacity
}

/** A command that reduces risk may take one in this many of the free entries: half. */
const reductionParts = 2

/**
 * Whether an account that holds `held` entries of a table exceeds its share with `wanted` more, where `free` are left to the class
 * of the command. With `parts` 0 no account has a limit of its own.
 */
export const isBeyondPart = (share: Share, parts: number, held: number, wanted: number, free: number): boolean => {
  if (parts === 0 || (share !== "placement" && share !== "reduction")) return false
  return (held + wanted) * (share === "placement" ? parts : Math.min(parts, reductionParts)) > free
}

/** The entries of a table that the record for the command would forget before anything else. */
export interface Over {
  readonly count: number
  /** How many of them belong to the account. */
  readonly own: number
  /** Whether a record cannot forget more than that, so that there may be further expired entries. */
  readonly isMost: boolean
}

/**
 * Whether the account exceeds its share once these are forgotten. While there may be further expired entries, no account is held to
 * its share, since forgetting frees more than the command takes.
 */
export const isBeyondPartThen = (share: Share, parts: number, held: number, wanted: number, free: number, over: Over): boolean =>
  !over.isMost && isBeyondPart(share, parts, held - over.own, wanted, free + over.count)

/** The refusal where there is no room: the account's share, or the table. */
export const refusalOf = (full: boolean, beyondPart: boolean): Refusal =>
  full ? Refusal.tableFull : beyondPart ? Refusal.accountShare : Refusal.none

/** How many entries of a table each account holds. */
export class Held {
  private counts: Int32Array = new Int32Array(64)

  of(account: number): number {
    return account < 0 || account >= this.counts.length ? 0 : this.counts[account]!
  }

  /** Entries of the venue itself (-1) are not counted. */
  add(account: number, entries: number): void {
    if (account < 0) return
    const { length } = this.counts
    if (account >= length) this.counts = growInts(this.counts, lengthByAccount(length, account + 1))
    this.counts[account]! += entries
  }
}
