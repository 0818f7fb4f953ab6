/**
 * Positions by the mark at which their account's maintenance margin has to be checked again: two heaps per market, longs and
 * shorts, with the first trigger on top. A move of the mark costs only what it crosses.
 *
 * A trigger is kept in the position's row and is part of the state; the heaps are rebuilt from it. A position's index in its heap
 * is in its row as well, in a word that no dump contains.
 */
import { none } from "../../domain/None.js"
import { growFloats, growInts, lengthByAccount } from "../Columns.js"
import type { Positions } from "../Positions.js"

export const long = 0
export const short = 1
export type Direction = typeof long | typeof short

/** The direction of a position; meaningless for a flat one. */
export const directionOf = (quantity: number): Direction => quantity > 0 ? long : short

/** The positions of one direction in a market: slots as a heap, with their ranks. Only `Triggers` changes it. */
interface Holders {
  slots: Int32Array
  ranks: Float64Array
  /** The owners of the positions, which break ties between equal ranks, kept here to avoid reads of scattered rows. */
  accounts: Int32Array
  count: number
}

const initialHolders = 4

export class Triggers {
  /** By market and direction. */
  private readonly heaps: Array<Holders> = []

  /** Sets a position's trigger and adds it to the holders of its direction; a flat position is removed. */
  set(positions: Positions, slot: number, trigger: number): void {
    const quantity = positions.quantity(slot)
    const heap = positions.market(slot) * 2 + directionOf(quantity)
    const place = positions.holderPlace(slot)
    const isThere = place !== none && quantity !== 0 && positions.holderHeap(slot) === heap
    if (isThere && positions.trigger(slot) === trigger) return
    if (place !== none && !isThere) this.remove(positions, slot)
    positions.setTrigger(slot, quantity === 0 ? 0 : trigger)
    if (quantity === 0) return
    const holders = this.holders(heap)
    const rank = rankOf(heap, trigger)
    const account = positions.account(slot)
    // An entry at the end of a heap has nothing below it.
    const at = isThere ? sink(positions, heap, holders, place, slot, rank, account) : this.make(holders)
    rise(positions, heap, holders, at, slot, rank, account)
  }

  /** Removes a position's trigger until another is set within the same record: meanwhile it is not among the holders. */
  drop(positions: Positions, slot: number): void {
    if (positions.holderPlace(slot) !== none) this.remove(positions, slot)
    positions.setTrigger(slot, 0)
  }

  private holders(heap: number): Holders {
    while (this.heaps.length <= heap) {
      this.heaps.push({
        slots: new Int32Array(initialHolders),
        ranks: new Float64Array(initialHolders),
        accounts: new Int32Array(initialHolders),
        count: 0
      })
    }
    return this.heaps[heap]!
  }

  /** Makes room for one more entry at the end of a heap, and returns its index. */
  private make(holders: Holders): number {
    const { count } = holders
    if (count === holders.slots.length) {
      holders.slots = growInts(holders.slots, lengthByAccount(count, count + 1))
      holders.ranks = growFloats(holders.ranks, holders.slots.length)
      holders.accounts = growInts(holders.accounts, holders.slots.length)
    }
    holders.count++
    return count
  }

  /** A position whose trigger a market's mark has reached, first of the longs, then of the shorts; or -1. */
  crossed(market: number, mark: number): number {
    const longs = this.heaps[market * 2 + long]
    if (longs !== undefined && longs.count > 0 && -longs.ranks[0]! >= mark) return longs.slots[0]!
    const shorts = this.heaps[market * 2 + short]
    return shorts !== undefined && shorts.count > 0 && shorts.ranks[0]! <= mark ? shorts.slots[0]! : none
  }

  private remove(positions: Positions, slot: number): void {
    const heap = positions.holderHeap(slot)
    const holders = this.heaps[heap]!
    const at = positions.holderPlace(slot)
    positions.setHolderPlace(slot, none, 0)
    const end = --holders.count
    const last = holders.slots[end]!
    const rank = holders.ranks[end]!
    const account = holders.accounts[end]!
    if (last !== slot) rise(positions, heap, holders, sink(positions, heap, holders, at, last, rank, account), last, rank, account)
  }

  /** Rebuilds the heaps of restored positions. */
  static restore(positions: Positions): Triggers {
    const triggers = new Triggers()
    for (let slot = 0; slot < positions.count; slot++) {
      if (positions.quantity(slot) !== 0) triggers.set(positions, slot, positions.trigger(slot))
    }
    return triggers
  }
}

/** The rank of a trigger in its heap: the smallest is on top. Positions without a trigger come last. */
const rankOf = (heap: number, trigger: number): number => heap % 2 === long ? -trigger : trigger === 0 ? Number.POSITIVE_INFINITY : trigger

/**
 * Whether a rank comes before the entry at an index; on a tie the lower account does, so that the history of the heap does not
 * matter.
 */
const isBefore = ({ accounts, ranks }: Holders, rank: number, account: number, at: number): boolean =>
  rank < ranks[at]! || (rank === ranks[at]! && account < accounts[at]!)

const put = (positions: Positions, heap: number, holders: Holders, at: number, slot: number, rank: number, account: number): void => {
  holders.slots[at] = slot
  holders.ranks[at] = rank
  holders.accounts[at] = account
  positions.setHolderPlace(slot, at, heap)
}

/** Finds the index of an entry that belongs at `at` or below, moving smaller entries up. Returns the index. */
const sink = (
  positions: Positions,
  heap: number,
  holders: Holders,
  from: number,
  slot: number,
  rank: number,
  account: number
): number => {
  const { accounts, count, ranks, slots } = holders
  let at = from
  for (;;) {
    let below = 2 * at + 1
    if (below >= count) break
    const right = below + 1
    if (right < count && isBefore(holders, ranks[right]!, accounts[right]!, below)) below = right
    if (isBefore(holders, rank, account, below)) break
    put(positions, heap, holders, at, slots[below]!, ranks[below]!, accounts[below]!)
    at = below
  }
  return at
}

/** Moves larger entries down until an entry that belongs at `at` or above has its index, and stores it there. */
const rise = (
  positions: Positions,
  heap: number,
  holders: Holders,
  from: number,
  slot: number,
  rank: number,
  account: number
): void => {
  const { accounts, ranks, slots } = holders
  let at = from
  while (at > 0) {
    const above = (at - 1) >> 1
    if (!isBefore(holders, rank, account, above)) break
    put(positions, heap, holders, at, slots[above]!, ranks[above]!, accounts[above]!)
    at = above
  }
  put(positions, heap, holders, at, slot, rank, account)
}
