/**
 * The recording's own order book, from its snapshot and the updates chained to it. It always knows whether it is complete: between a gap
 * and the next snapshot it is not, and has no levels to show.
 */
import type { Level, Message } from "./Capture.js"

type Snapshot = Extract<Message, { readonly _tag: "Snapshot" }>
type Depth = Extract<Message, { readonly _tag: "Depth" }>

/** One side's levels, best first. Keys ascend: the price for asks, its negative for bids. */
class Ladder {
  private keys: Array<number> = []
  private readonly sizes = new Map<number, number>()

  constructor(private readonly sign: 1 | -1) {}

  set(priceAtoms: number, sizeAtoms: number): void {
    const key = priceAtoms * this.sign
    const known = this.sizes.has(key)
    if (sizeAtoms > 0) this.sizes.set(key, sizeAtoms)
    else this.sizes.delete(key)
    if (known === sizeAtoms > 0) return
    const at = this.search(key)
    if (known) this.keys.splice(at, 1)
    else this.keys.splice(at, 0, key)
  }

  best(count: number): ReadonlyArray<Level> {
    return this.keys.slice(0, count).map((key) => [key * this.sign, this.sizes.get(key)!])
  }

  clear(): void {
    this.keys = []
    this.sizes.clear()
  }

  private search(key: number): number {
    let low = 0
    let high = this.keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.keys[middle]! < key) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Updates kept until a snapshot shows which of them it already includes. */
const bufferedUpdates = 10_000

export class RecordedBook {
  private readonly bids = new Ladder(-1)
  private readonly asks = new Ladder(1)
  private buffered: Array<Depth> = []
  private chained = false
  /** Whether the levels are those of the recorded market. */
  whole = false
  /** The last update included in the levels. */
  updateId = 0
  /** How often the chain of updates was broken. */
  gaps = 0

  /** Takes the levels of a snapshot, and applies the kept updates that are newer than it. */
  snapshot(snapshot: Snapshot): void {
    const waiting = this.buffered
    this.restart(snapshot.updateId)
    for (const [price, size] of snapshot.bids) this.bids.set(price, size)
    for (const [price, size] of snapshot.asks) this.asks.set(price, size)
    this.whole = true
    for (const depth of waiting) this.update(depth)
  }

  /** Applies an update, or keeps it for the next snapshot where there is no complete book. */
  update(depth: Depth): void {
    if (!this.whole) return this.keep(depth)
    // A snapshot may already include it; the first update after it may overlap, all others must join exactly.
    if (!this.chained && depth.updateId < this.updateId) return
    if (this.chained ? depth.previousId !== this.updateId : depth.previousId > this.updateId) {
      this.gaps++
      this.restart(0)
      return this.keep(depth)
    }
    this.chained = true
    this.updateId = depth.updateId
    for (const [price, size] of depth.bids) this.bids.set(price, size)
    for (const [price, size] of depth.asks) this.asks.set(price, size)
  }

  /** The best levels of both sides, best first. */
  best(count: number): { readonly bids: ReadonlyArray<Level>; readonly asks: ReadonlyArray<Level> } {
    return { bids: this.bids.best(count), asks: this.asks.best(count) }
  }

  private keep(depth: Depth): void {
    this.buffered.push(depth)
    if (this.buffered.length > bufferedUpdates) this.buffered.shift()
  }

  private restart(updateId: number): void {
    this.bids.clear()
    this.asks.clear()
    this.buffered = []
    this.whole = false
    this.chained = false
    this.updateId = updateId
  }
}
