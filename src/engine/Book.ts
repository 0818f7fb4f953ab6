/**
 * The resting orders of one market in price-time priority, over the slots of a shared pool.
 *
 * Orders of one price form a chain through the pool's `next` and `prev`; the prices of a side form a chain of levels, best first,
 * so that the touch and what follows it are one load away. Which prices exist is kept in one 32-ary tree of occupancy bitmaps per
 * side (seven levels deep, since prices are below 2^31), which is needed only when a level comes or goes. Nodes and levels are
 * reused rows of the memory that all books of a pool share (`Levels`): a far-off price costs at most six nodes of 136 bytes and a
 * level of 32, and no memory is proportional to the price range.
 *
 * A level's size is always the sum of its orders' `remaining`: while an order rests, only the book changes it.
 */
import { assert } from "../domain/Assert.js"
import { none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
import { fanBits, level, type Levels, levelShift, node, totalNumber, totalShift } from "./Levels.js"
import type { Orders } from "./Orders.js"

const fanMask = (1 << fanBits) - 1
/** The shift of the root: two children suffice for the 31st bit. */
const rootShift = 30
/** Cached leaves per side, by the low bits of their number, so that prices around the touch need not walk the tree. */
const cachedLeaves = 64
const cacheMask = cachedLeaves - 1

/** Called with a side and a price whose size has changed. */
export type LevelWatch = (side: Order.Side, priceAtoms: number) => void

export class Book {
  private readonly orders: Orders
  private readonly memory: Levels
  /** The roots of the trees of bids and asks; they are never released. */
  private readonly bids: number
  private readonly asks: number

  /** Cached leaves by side and low bits: the leaf's number (the price without its last five bits) or -1, then its row. */
  private readonly cached = new Int32Array(4 * cachedLeaves).fill(none)

  private bestBid = none
  private bestAsk = none
  private bidLevels = 0
  private askLevels = 0
  private resting = 0

  /** Called for every price whose size changes, while somebody watches this book. Not part of the state. */
  watch: LevelWatch | undefined = undefined

  constructor(orders: Orders) {
    this.orders = orders
    this.memory = orders.levels
    this.bids = this.memory.takeNode(none)
    this.asks = this.memory.takeNode(none)
  }

  /** Resting orders of both sides. */
  get orderCount(): number {
    return this.resting
  }

  /** Appends an order at its side and price. Reads side, price and remaining size from the pool. */
  insert(slot: number): void {
    const orders = this.orders
    const priceAtoms = orders.priceAtoms(slot)
    const remaining = orders.remaining(slot)
    assert(priceAtoms > 0, "a resting order has a price")
    assert(remaining > 0, "a resting order has something left to fill")
    assert(orders.level(slot) === none, "an order rests once")
    const at = this.levelFor(orders.side(slot), priceAtoms)
    const { numbers, rows } = this.memory
    const row = at << levelShift
    const count = rows[row | level.orders]!
    if (count === 0) {
      rows[row | level.head] = slot
      numbers[at << totalShift | totalNumber] = remaining
      orders.setPrev(slot, none)
    } else {
      const tail = rows[row | level.tail]!
      orders.setNext(tail, slot)
      orders.setPrev(slot, tail)
      this.memory.addTo(at, remaining)
    }
    orders.setNext(slot, none)
    orders.setLevel(slot, at)
    rows[row | level.tail] = slot
    rows[row | level.orders] = count + 1
    this.resting++
    if (this.watch !== undefined) this.watch(orders.side(slot), priceAtoms)
  }

  /** Removes a resting order with all its remaining size; `remaining` in the pool is not changed. */
  remove(slot: number): void {
    const orders = this.orders
    const at = orders.level(slot)
    assert(at !== none, "only a resting order is removed")
    const { rows } = this.memory
    const row = at << levelShift
    const count = rows[row | level.orders]! - 1
    rows[row | level.orders] = count
    this.resting--
    orders.setLevel(slot, none)
    if (this.watch !== undefined) this.watch(orders.side(slot), orders.priceAtoms(slot))
    if (count === 0) {
      this.removeLevel(orders.side(slot), at)
      return
    }
    this.memory.takeFrom(at, orders.remaining(slot))
    const prev = orders.prev(slot)
    const next = orders.next(slot)
    if (prev === none) rows[row | level.head] = next
    else orders.setNext(prev, next)
    if (next === none) rows[row | level.tail] = prev
    else orders.setPrev(next, prev)
    orders.setNext(slot, none)
    orders.setPrev(slot, none)
  }

  /**
   * Reduces a resting order by size atoms, here and in the pool's `remaining`. It keeps its priority. Something must be left;
   * otherwise use `remove`.
   */
  reduce(slot: number, sizeAtoms: number): void {
    const orders = this.orders
    const at = orders.level(slot)
    assert(at !== none, "only a resting order is reduced")
    assert(sizeAtoms > 0 && sizeAtoms < orders.remaining(slot), "a reduced order keeps something to fill")
    orders.setRemaining(slot, orders.remaining(slot) - sizeAtoms)
    this.memory.takeFrom(at, sizeAtoms)
    if (this.watch !== undefined) this.watch(orders.side(slot), orders.priceAtoms(slot))
  }

  /** A word in the row of a level. */
  private levelWord(at: number, word: number): number {
    return this.memory.rows[at << levelShift | word]!
  }

  private levelTotal(at: number): number {
    return this.memory.numbers[at << totalShift | totalNumber]!
  }

  /** The oldest order at the best price of a side, or -1. */
  best(side: Order.Side): number {
    const best = side === Order.buy ? this.bestBid : this.bestAsk
    return best === none ? none : this.levelWord(best, level.head)
  }

  /** Price atoms of the best level of a side, or -1. */
  bestPrice(side: Order.Side): number {
    const best = side === Order.buy ? this.bestBid : this.bestAsk
    return best === none ? none : this.levelWord(best, level.price)
  }

  /** The resting order that would trade after this one: younger at its price, else the oldest of the next worse price; or -1. */
  nextSlot(slot: number): number {
    const next = this.orders.next(slot)
    if (next !== none) return next
    const at = this.orders.level(slot)
    assert(at !== none, "only a resting order has a successor")
    const worse = this.levelWord(at, level.worse)
    return worse === none ? none : this.levelWord(worse, level.head)
  }

  /** Size atoms resting at a price of a side; 0 when there are none. */
  levelSize(side: Order.Side, priceAtoms: number): number {
    const at = this.findLevel(side, priceAtoms)
    return at === none ? 0 : this.levelTotal(at)
  }

  /** How many orders rest at a price of a side. */
  levelOrderCount(side: Order.Side, priceAtoms: number): number {
    const at = this.findLevel(side, priceAtoms)
    return at === none ? 0 : this.levelWord(at, level.orders)
  }

  /** At most `depth` levels of a side as [priceAtoms, sizeAtoms], best first. */
  levels(side: Order.Side, depth: number): Array<[number, number]> {
    const found: Array<[number, number]> = []
    let at = side === Order.buy ? this.bestBid : this.bestAsk
    for (; at !== none && found.length < depth; at = this.levelWord(at, level.worse)) {
      found.push([this.levelWord(at, level.price), this.levelTotal(at)])
    }
    return found
  }

  /** The number of prices of a side. */
  levelCount(side: Order.Side): number {
    return side === Order.buy ? this.bidLevels : this.askLevels
  }

  /**
   * The oldest order of every level, bids best first, then asks best first: with the pool's dump, this describes the whole book.
   */
  heads(): Int32Array {
    const heads = new Int32Array(this.bidLevels + this.askLevels)
    let count = 0
    for (let at = this.bestBid; at !== none; at = this.levelWord(at, level.worse)) heads[count++] = this.levelWord(at, level.head)
    for (let at = this.bestAsk; at !== none; at = this.levelWord(at, level.worse)) heads[count++] = this.levelWord(at, level.head)
    assert(count === heads.length, "every level is in its side's chain")
    return heads
  }

  /** Restores a book from its heads over a pool restored from the same snapshot; time priority is in the pool's links. */
  static restore(orders: Orders, heads: Int32Array): Book {
    const book = new Book(orders)
    for (const head of heads) {
      assert(orders.holds(head) && orders.prev(head) === none, "a level's head is its oldest order")
      const side = orders.side(head)
      const priceAtoms = orders.priceAtoms(head)
      assert(book.findLevel(side, priceAtoms) === none, "a price has one head")
      let older = none
      for (let slot = head; slot !== none;) {
        const next = orders.next(slot)
        assert(
          orders.prev(slot) === older && orders.side(slot) === side && orders.priceAtoms(slot) === priceAtoms,
          "a level's chain holds together"
        )
        book.insert(slot)
        older = slot
        slot = next
      }
    }
    return book
  }

  /** The level at a price, created empty where there is none. */
  private levelFor(side: Order.Side, priceAtoms: number): number {
    const { cached } = this
    const number = priceAtoms >>> fanBits
    const at = (side * cachedLeaves + (number & cacheMask)) << 1
    let leaf: number
    if (cached[at] === number) leaf = cached[at | 1]!
    else {
      leaf = this.makeLeaf(side, priceAtoms)
      cached[at] = number
      cached[at | 1] = leaf
    }
    const child = priceAtoms & fanMask
    const { memory } = this
    if ((memory.word(leaf, node.bits) & (1 << child)) !== 0) return memory.word(leaf, node.children + child)
    return this.addLevel(side, priceAtoms, leaf)
  }

  /** The level at a price, or -1. */
  private findLevel(side: Order.Side, priceAtoms: number): number {
    const { memory } = this
    let at = this.root(side)
    for (let shift = rootShift;; shift -= fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      if ((memory.word(at, node.bits) & (1 << child)) === 0) return none
      at = memory.word(at, node.children + child)
      if (shift === 0) return at
    }
  }

  private root(side: Order.Side): number {
    return side === Order.buy ? this.bids : this.asks
  }

  /** The leaf of a price, created with all nodes above it where there is none. The caller puts a level into it. */
  private makeLeaf(side: Order.Side, priceAtoms: number): number {
    const { memory } = this
    let at = this.root(side)
    for (let shift = rootShift; shift > 0; shift -= fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      const bits = memory.word(at, node.bits)
      if ((bits & (1 << child)) === 0) {
        const made = memory.takeNode(at)
        memory.setWord(at, node.bits, bits | 1 << child)
        memory.setWord(at, node.children + child, made)
        at = made
      } else at = memory.word(at, node.children + child)
    }
    return at
  }

  /** Adds an empty level to a leaf and to the chain of its side. */
  private addLevel(side: Order.Side, priceAtoms: number, leaf: number): number {
    const isBid = side === Order.buy
    const best = isBid ? this.bestBid : this.bestAsk
    const { memory } = this
    const added = memory.takeLevel()
    const { rows } = memory
    const row = added << levelShift
    let better: number = none
    let worse = best
    if (best !== none && (isBid ? priceAtoms < this.levelWord(best, level.price) : priceAtoms > this.levelWord(best, level.price))) {
      better = isBid ? this.above(priceAtoms, leaf) : this.below(priceAtoms, leaf)
      assert(better !== none, "a level behind the best has a better one")
      worse = rows[better << levelShift | level.worse]!
    }
    rows[row | level.price] = priceAtoms
    rows[row | level.orders] = 0
    rows[row | level.better] = better
    rows[row | level.worse] = worse
    if (worse !== none) rows[worse << levelShift | level.better] = added
    if (better !== none) rows[better << levelShift | level.worse] = added
    else if (isBid) this.bestBid = added
    else this.bestAsk = added
    if (isBid) this.bidLevels++
    else this.askLevels++
    const child = priceAtoms & fanMask
    memory.setWord(leaf, node.bits, memory.word(leaf, node.bits) | 1 << child)
    memory.setWord(leaf, node.children + child, added)
    return added
  }

  /** Removes an empty level from the chain and the tree, with all nodes that become empty. */
  private removeLevel(side: Order.Side, removed: number): void {
    const { cached, memory } = this
    const { rows } = memory
    const row = removed << levelShift
    const priceAtoms = rows[row | level.price]!
    const better = rows[row | level.better]!
    const worse = rows[row | level.worse]!
    if (worse !== none) rows[worse << levelShift | level.better] = better
    if (better !== none) rows[better << levelShift | level.worse] = worse
    else if (side === Order.buy) this.bestBid = worse
    else this.bestAsk = worse
    if (side === Order.buy) this.bidLevels--
    else this.askLevels--
    memory.releaseLevel(removed)

    const number = priceAtoms >>> fanBits
    const cache = (side * cachedLeaves + (number & cacheMask)) << 1
    let at = cached[cache] === number ? cached[cache | 1]! : this.makeLeaf(side, priceAtoms)
    let bits = memory.word(at, node.bits) & ~(1 << (priceAtoms & fanMask))
    memory.setWord(at, node.bits, bits)
    if (bits !== 0) return
    if (cached[cache] === number) cached[cache] = none
    for (let shift = fanBits; bits === 0; shift += fanBits) {
      const parent = memory.word(at, node.parent)
      if (parent === none) return
      memory.releaseNode(at)
      at = parent
      bits = memory.word(at, node.bits) & ~(1 << ((priceAtoms >>> shift) & fanMask))
      memory.setWord(at, node.bits, bits)
    }
  }

  /** The next higher level in the tree of this leaf; or -1. */
  private above(priceAtoms: number, leaf: number): number {
    const { memory } = this
    let at = leaf
    for (let shift = 0; at !== none; shift += fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      const candidates = memory.word(at, node.bits) & (-2 << child)
      if (candidates !== 0) return this.lowest(at, candidates, shift)
      at = memory.word(at, node.parent)
    }
    return none
  }

  /** The next lower level in the tree of this leaf; or -1. */
  private below(priceAtoms: number, leaf: number): number {
    const { memory } = this
    let at = leaf
    for (let shift = 0; at !== none; shift += fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      const candidates = memory.word(at, node.bits) & ((1 << child) - 1)
      if (candidates !== 0) return this.highest(at, candidates, shift)
      at = memory.word(at, node.parent)
    }
    return none
  }

  /** The lowest level under these children of a node at `shift`. */
  private lowest(from: number, children: number, shift: number): number {
    const { memory } = this
    let at = memory.word(from, node.children + (31 - Math.clz32(children & -children)))
    for (; shift > 0; shift -= fanBits) {
      const bits = memory.word(at, node.bits)
      at = memory.word(at, node.children + (31 - Math.clz32(bits & -bits)))
    }
    return at
  }

  /** The highest level under these children of a node at `shift`. */
  private highest(from: number, children: number, shift: number): number {
    const { memory } = this
    let at = memory.word(from, node.children + (31 - Math.clz32(children)))
    for (; shift > 0; shift -= fanBits) at = memory.word(at, node.children + (31 - Math.clz32(memory.word(at, node.bits))))
    return at
  }
}
