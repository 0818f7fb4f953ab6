/**
 * Who holds a position in a market, longs and shorts apart, by the mark at which each is to be held to its maintenance margin
 * anew: two heaps a market, the position whose trigger comes first on top. A mark that moves costs what it crosses.
 *
 * A trigger is kept in the position's row and is part of the state; the heaps are made of it anew. Where in its heap a
 * position is stands in its row as well, in a word that no dump has.
 */
import { none } from "../../domain/None.js"
import { grownLength, growInts } from "../Columns.js"
import type { Positions } from "../Positions.js"

export const long = 0
export const short = 1
export type Direction = typeof long | typeof short

/** The positions of one direction in a market: slots, as a heap. Nobody but its owner changes it. */
export interface Holders {
  slots: Int32Array
  count: number
}

const initialHolders = 16

const nobody: Holders = { slots: new Int32Array(0), count: 0 }

export class Triggers {
  /** By market and direction. */
  private readonly heaps: Array<Holders> = []

  /** Everybody who holds a position of a direction in a market, in no order. */
  holders(market: number, direction: Direction): Readonly<Holders> {
    return this.heaps[market * 2 + direction] ?? nobody
  }

  /** Sets a position's trigger, and has it among the holders of its direction; of none where it is flat. */
  set(positions: Positions, slot: number, trigger: number): void {
    const quantity = positions.quantity(slot)
    const heap = positions.market(slot) * 2 + (quantity > 0 ? long : short)
    const place = positions.holderPlace(slot)
    if (place !== none && (quantity === 0 || positions.holderHeap(slot) !== heap)) this.remove(positions, slot)
    positions.setTrigger(slot, quantity === 0 ? 0 : trigger)
    if (quantity === 0) return
    while (this.heaps.length <= heap) this.heaps.push({ slots: new Int32Array(initialHolders), count: 0 })
    const holders = this.heaps[heap]!
    let at = positions.holderPlace(slot)
    if (at === none) {
      if (holders.count === holders.slots.length) holders.slots = growInts(holders.slots, grownLength(holders.count, holders.count + 1))
      at = holders.count++
    }
    rise(positions, heap, holders, sink(positions, heap, holders, at, slot), slot)
  }

  /** A position whose trigger a market's mark has reached, or -1: the first of the longs, then of the shorts. */
  crossed(positions: Positions, market: number, mark: number): number {
    const longs = this.holders(market, long)
    if (longs.count > 0) {
      const slot = longs.slots[0]!
      if (positions.trigger(slot) >= mark) return slot
    }
    const shorts = this.holders(market, short)
    if (shorts.count === 0) return none
    const slot = shorts.slots[0]!
    const trigger = positions.trigger(slot)
    return trigger !== 0 && trigger <= mark ? slot : none
  }

  private remove(positions: Positions, slot: number): void {
    const heap = positions.holderHeap(slot)
    const holders = this.heaps[heap]!
    const at = positions.holderPlace(slot)
    positions.setHolderPlace(slot, none, 0)
    const last = holders.slots[--holders.count]!
    if (last !== slot) rise(positions, heap, holders, sink(positions, heap, holders, at, last), last)
  }

  /** The heaps of restored positions. */
  static restore(positions: Positions): Triggers {
    const triggers = new Triggers()
    for (let slot = 0; slot < positions.count; slot++) {
      if (positions.quantity(slot) !== 0) triggers.set(positions, slot, positions.trigger(slot))
    }
    return triggers
  }
}

/** What a position is in its heap's order by: the smallest is on top. One that has no trigger comes last. */
const rankOf = (positions: Positions, heap: number, slot: number): number => {
  const trigger = positions.trigger(slot)
  return heap % 2 === long ? -trigger : trigger === 0 ? Number.POSITIVE_INFINITY : trigger
}

/** Whether a position comes before another; of equal ranks that of the lower account, so that no heap's past matters. */
const isBefore = (positions: Positions, heap: number, one: number, other: number): boolean => {
  const rank = rankOf(positions, heap, one)
  const otherRank = rankOf(positions, heap, other)
  return rank < otherRank || (rank === otherRank && positions.account(one) < positions.account(other))
}

const put = (positions: Positions, heap: number, { slots }: Holders, at: number, slot: number): void => {
  slots[at] = slot
  positions.setHolderPlace(slot, at, heap)
}

/** Finds the place of a slot that is to be at `at` or below: moves those that come before it up. Where it ended. */
const sink = (positions: Positions, heap: number, holders: Holders, from: number, slot: number): number => {
  let at = from
  for (;;) {
    let below = 2 * at + 1
    if (below >= holders.count) break
    const right = below + 1
    if (right < holders.count && isBefore(positions, heap, holders.slots[right]!, holders.slots[below]!)) below = right
    if (!isBefore(positions, heap, holders.slots[below]!, slot)) break
    put(positions, heap, holders, at, holders.slots[below]!)
    at = below
  }
  put(positions, heap, holders, at, slot)
  return at
}

/** The same for one that is to be at `at` or above. */
const rise = (positions: Positions, heap: number, holders: Holders, from: number, slot: number): void => {
  let at = from
  while (at > 0) {
    const above = (at - 1) >> 1
    if (!isBefore(positions, heap, slot, holders.slots[above]!)) break
    put(positions, heap, holders, at, holders.slots[above]!)
    at = above
  }
  put(positions, heap, holders, at, slot)
}
