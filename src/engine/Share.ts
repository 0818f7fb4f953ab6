/**
 * How a bounded table is shared: remembered orders, idempotency keys, and the outcomes stored under them.
 *
 * An eighth of a table is reserved for commands that only reduce risk, and an eighth of that for the operator and the venue itself,
 * so that cancellations are still served when placements are refused.
 *
 * In addition, no account may take more than its part: what it holds and what it asks for may come to one in `parts` of what is free
 * to placements when it asks, whatever the class of the command. If `n` accounts take all they can, each has the placements' bound
 * divided by `parts + n`, and as much times `parts` is left for others. Accounts cost nothing, and neither does a command that
 * changes nothing, so more is given only for something that the account really has:
 *
 * - Cancellations of its own open orders are refused only by a full table: each ends an order that it placed, which took its part then.
 * - Other commands that reduce risk, of an account that has something to reduce, may take half of what is free to this class, but in the
 *   placements' part only while at least a quarter of that is free. So however many accounts do so, a quarter of the placements' part
 *   is shared by the rule above. Once placements are refused anyway, each such command may take half of what is free above their bound.
 *
 * Which commands these are: see `orders/Reducing.ts`.
 *
 * Entries that the record would forget first count as free, and those of the account itself as not held. This entitles nobody to
 * more: otherwise the account that asks most often would get every place that is freed.
 */
import type { Share } from "../operations/Operation.js"
import { growInts, lengthByAccount } from "./Columns.js"

/** The number of entries up to which a table may be filled by commands of a class. */
export const boundOf = (capacity: number, share: Share): number => {
  const kept = Math.floor(capacity / 8)
  return share === "placement" ? capacity - kept : share === "reduction" ? capacity - Math.floor(kept / 8) : capacity
}

/** Whether accounts are held to their part by commands of a class. */
export const isHeldToPart = (share: Share): boolean => share === "placement" || share === "reduction"

/**
 * Whether an account that holds `held` entries of a table exceeds one in `parts` of the `free` ones with `wanted` more. With `parts` 0
 * no account has a limit of its own.
 */
export const isBeyondPart = (parts: number, held: number, wanted: number, free: number): boolean =>
  parts !== 0 && (held + wanted) * parts > free

/** A command that reduces risk may take one in this many of the free entries: half. */
const reductionParts = 2

/**
 * A command that reduces risk leaves one in this many of the entries of the placements' part: a quarter. So much is still free where 24
 * accounts have all taken their own part of an eighth, so that none of them is kept from reducing because the others trade.
 */
const keptParts = 4

/**
 * Whether an account beyond its part finds room for `wanted` more in a table of which `taken` entries are taken, by a command that
 * reduces something: the file's header says how much it may take.
 */
export const mayReduce = (capacity: number, parts: number, held: number, wanted: number, taken: number): boolean => {
  const ofPlacements = boundOf(capacity, "placement")
  const isOpen = taken >= ofPlacements || (ofPlacements - taken) * keptParts >= ofPlacements
  return isOpen && !isBeyondPart(Math.min(parts, reductionParts), held, wanted, boundOf(capacity, "reduction") - taken)
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
 * Whether an account would exceed its part of a table with `wanted` more entries, once the record has forgotten the entries that are
 * `over`: `free` entries are free then. While there may be further expired entries, no account is held to its part, since forgetting frees
 * more than the command takes.
 */
export const isBeyondPartThen = (parts: number, held: number, wanted: number, free: number, over: Over): boolean =>
  !over.isMost && isBeyondPart(parts, held - over.own, wanted, free)

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
