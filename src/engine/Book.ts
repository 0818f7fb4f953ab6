/**
 * Owns the resting orders of one market: price-time priority over the slots of a shared pool.
 *
 * Orders of a price are a chain through the pool's `next` and `prev`; prices of a side are a chain of levels,
 * best first, so that the touch, and what follows it, is one load away. Which prices exist is kept in one
 * 32-ary tree of occupancy bitmaps a side (seven deep: prices are below 2^31), asked only when a level
 * comes or goes. Nodes and levels are rows, each kind in one buffer, pooled and reused: a far-off price costs at most six
 * nodes of 136 bytes and a level of 32, and nothing is proportional to the price range.
 *
 * A level's size is always the sum of its orders' `remaining`: while an order rests, only the book changes it.
 */
import { assert } from "../domain/Assert.js"
import { none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
import { growInts } from "./Columns.js"
import type { Orders } from "./Orders.js"

/** Prices that share a leaf of the tree, and children of any node. */
const fanBits = 5
const fan = 1 << fanBits
const fanMask = fan - 1
/** The root's shift: two children are enough for the 31st bit. */
const rootShift = 30
/** The two roots, by side; they are never released. */
const roots = 2
/** Leaves remembered by side, by the low bits of their number: the prices around the touch skip the tree. */
const cachedLeaves = 64
const cacheMask = cachedLeaves - 1

const initialNodes = 16
const initialLevels = 16

/**
 * A level is a row of 32 bytes, half a cache line: 8 words of 4 bytes, the last two of them a number of 8, the size atoms of
 * all its orders.
 */
const levelShift = 3
const level = {
  /** Oldest order. */
  head: 0,
  /** Youngest order. */
  tail: 1,
  /** How many orders; 0 in a level that is free. */
  orders: 2,
  price: 3,
  /** The next level closer to the touch, or -1. */
  better: 4,
  /** The next level further from the touch, or -1; in a free level, the next free one. */
  worse: 5
} as const
/** Where a level's size is among the numbers of 8 bytes. */
const totalShift = 2
const totalNumber = 3

/**
 * A node is a row of words, and is named by where it begins: the bits of the children that exist, its parent, then 32
 * children, which are nodes, in a leaf levels. Only what the bits show is meant. In a free node the parent is the next free one.
 */
const nodeWords = 2 + fan
const node = { parent: 1, children: 2 } as const
/** Where the first node behind the roots is. */
const rootsEnd = roots * nodeWords

/** Told of a price of a side whose size has changed. */
export type LevelWatch = (side: Order.Side, priceAtoms: number) => void

export class Book {
  private readonly orders: Orders

  private levelRows = new Int32Array(initialLevels << levelShift)
  /** The second view of the same rows. */
  private levelNumbers = new Float64Array(this.levelRows.buffer)
  private levelsUsed = 0
  private freeLevel = none

  private nodes = new Int32Array(initialNodes * nodeWords)
  private nodesEnd = rootsEnd
  private freeNode = none

  /** Remembered leaves by side and low bits: its number (price without its last five bits) or -1, then where it is. */
  private readonly cached = new Int32Array(4 * cachedLeaves).fill(none)

  private bestBid = none
  private bestAsk = none
  private bidLevels = 0
  private askLevels = 0
  private resting = 0

  /** Told of every price whose size changes, while somebody watches this book. It is no part of the state. */
  watch: LevelWatch | undefined = undefined

  constructor(orders: Orders) {
    this.orders = orders
  }

  /** Resting orders of both sides. */
  get orderCount(): number {
    return this.resting
  }

  /** Puts an order behind all others of its side and price. Reads its side, price and remaining size from the pool. */
  insert(slot: number): void {
    const orders = this.orders
    const priceAtoms = orders.priceAtoms(slot)
    const remaining = orders.remaining(slot)
    assert(priceAtoms > 0, "a resting order has a price")
    assert(remaining > 0, "a resting order has something left to fill")
    assert(orders.level(slot) === none, "an order rests once")
    const at = this.levelFor(orders.side(slot), priceAtoms)
    const { levelNumbers, levelRows } = this
    const row = at << levelShift
    const count = levelRows[row | level.orders]!
    if (count === 0) {
      levelRows[row | level.head] = slot
      levelNumbers[at << totalShift | totalNumber] = remaining
      orders.setPrev(slot, none)
    } else {
      const tail = levelRows[row | level.tail]!
      orders.setNext(tail, slot)
      orders.setPrev(slot, tail)
      levelNumbers[at << totalShift | totalNumber]! += remaining
    }
    orders.setNext(slot, none)
    orders.setLevel(slot, at)
    levelRows[row | level.tail] = slot
    levelRows[row | level.orders] = count + 1
    this.resting++
    if (this.watch !== undefined) this.watch(orders.side(slot), priceAtoms)
  }

  /** Takes a resting order out, with whatever it has left; the pool's `remaining` stays as it is. */
  remove(slot: number): void {
    const orders = this.orders
    const at = orders.level(slot)
    assert(at !== none, "only a resting order is removed")
    const { levelRows } = this
    const row = at << levelShift
    const count = levelRows[row | level.orders]! - 1
    levelRows[row | level.orders] = count
    this.resting--
    orders.setLevel(slot, none)
    if (this.watch !== undefined) this.watch(orders.side(slot), orders.priceAtoms(slot))
    if (count === 0) {
      this.removeLevel(orders.side(slot), at)
      return
    }
    this.levelNumbers[at << totalShift | totalNumber]! -= orders.remaining(slot)
    const prev = orders.prev(slot)
    const next = orders.next(slot)
    if (prev === none) levelRows[row | level.head] = next
    else orders.setNext(prev, next)
    if (next === none) levelRows[row | level.tail] = prev
    else orders.setPrev(next, prev)
    orders.setNext(slot, none)
    orders.setPrev(slot, none)
  }

  /** Lessens a resting order, here and in the pool's `remaining`, by size atoms. It keeps its place and something: else remove it. */
  reduce(slot: number, sizeAtoms: number): void {
    const orders = this.orders
    const at = orders.level(slot)
    assert(at !== none, "only a resting order is reduced")
    assert(sizeAtoms > 0 && sizeAtoms < orders.remaining(slot), "a reduced order keeps something to fill")
    orders.setRemaining(slot, orders.remaining(slot) - sizeAtoms)
    this.levelNumbers[at << totalShift | totalNumber]! -= sizeAtoms
    if (this.watch !== undefined) this.watch(orders.side(slot), orders.priceAtoms(slot))
  }

  /** A word of a level. */
  private levelWord(at: number, word: number): number {
    return this.levelRows[at << levelShift | word]!
  }

  private levelTotal(at: number): number {
    return this.levelNumbers[at << totalShift | totalNumber]!
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

  /** How many prices of a side have orders. */
  levelCount(side: Order.Side): number {
    return side === Order.buy ? this.bidLevels : this.askLevels
  }

  /** The oldest order of every level, bids best first, then asks best first: with the pool's dump, all there is to know. */
  heads(): Int32Array {
    const heads = new Int32Array(this.bidLevels + this.askLevels)
    let count = 0
    for (let at = this.bestBid; at !== none; at = this.levelWord(at, level.worse)) heads[count++] = this.levelWord(at, level.head)
    for (let at = this.bestAsk; at !== none; at = this.levelWord(at, level.worse)) heads[count++] = this.levelWord(at, level.head)
    assert(count === heads.length, "every level is in its side's chain")
    return heads
  }

  /** A book from the heads of another over a pool restored from the same moment; time priority is in the pool's links. */
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

  /** Bytes held by this book's own arrays. */
  get bytes(): number {
    return (this.levelRows.length + this.nodes.length + this.cached.length) * 4
  }

  /** The level at a price, made when there is none; a new one has no orders yet. */
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
    const { nodes } = this
    const child = priceAtoms & fanMask
    if ((nodes[leaf]! & (1 << child)) !== 0) return nodes[leaf + node.children + child]!
    return this.addLevel(side, priceAtoms, leaf)
  }

  /** The level at a price, or -1. */
  private findLevel(side: Order.Side, priceAtoms: number): number {
    const { nodes } = this
    let at = side * nodeWords
    for (let shift = rootShift;; shift -= fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      if ((nodes[at]! & (1 << child)) === 0) return none
      at = nodes[at + node.children + child]!
      if (shift === 0) return at
    }
  }

  /** The leaf of a price, made with all nodes above it where there is none. The caller puts a level into it. */
  private makeLeaf(side: Order.Side, priceAtoms: number): number {
    let at = side * nodeWords
    for (let shift = rootShift; shift > 0; shift -= fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      if ((this.nodes[at]! & (1 << child)) === 0) {
        const made = this.takeNode(at)
        this.nodes[at]! |= 1 << child
        this.nodes[at + node.children + child] = made
        at = made
      } else at = this.nodes[at + node.children + child]!
    }
    return at
  }

  /** Puts an empty level into a leaf and into its side's chain. */
  private addLevel(side: Order.Side, priceAtoms: number, leaf: number): number {
    const isBid = side === Order.buy
    const best = isBid ? this.bestBid : this.bestAsk
    const added = this.takeLevel()
    const { levelRows, nodes } = this
    const row = added << levelShift
    let better: number = none
    let worse = best
    if (best !== none && (isBid ? priceAtoms < this.levelWord(best, level.price) : priceAtoms > this.levelWord(best, level.price))) {
      better = isBid ? this.above(priceAtoms, leaf) : this.below(priceAtoms, leaf)
      assert(better !== none, "a level behind the best has a better one")
      worse = levelRows[better << levelShift | level.worse]!
    }
    levelRows[row | level.price] = priceAtoms
    levelRows[row | level.orders] = 0
    levelRows[row | level.better] = better
    levelRows[row | level.worse] = worse
    if (worse !== none) levelRows[worse << levelShift | level.better] = added
    if (better !== none) levelRows[better << levelShift | level.worse] = added
    else if (isBid) this.bestBid = added
    else this.bestAsk = added
    if (isBid) this.bidLevels++
    else this.askLevels++
    const child = priceAtoms & fanMask
    nodes[leaf]! |= 1 << child
    nodes[leaf + node.children + child] = added
    return added
  }

  /** Takes an empty level out of its side's chain and the tree, with all nodes that nothing is left in. */
  private removeLevel(side: Order.Side, removed: number): void {
    const { cached, levelRows, nodes } = this
    const row = removed << levelShift
    const priceAtoms = levelRows[row | level.price]!
    const better = levelRows[row | level.better]!
    const worse = levelRows[row | level.worse]!
    if (worse !== none) levelRows[worse << levelShift | level.better] = better
    if (better !== none) levelRows[better << levelShift | level.worse] = worse
    else if (side === Order.buy) this.bestBid = worse
    else this.bestAsk = worse
    if (side === Order.buy) this.bidLevels--
    else this.askLevels--
    levelRows[row | level.worse] = this.freeLevel
    this.freeLevel = removed

    const number = priceAtoms >>> fanBits
    const cache = (side * cachedLeaves + (number & cacheMask)) << 1
    let at = cached[cache] === number ? cached[cache | 1]! : this.makeLeaf(side, priceAtoms)
    let bits = nodes[at]! & ~(1 << (priceAtoms & fanMask))
    nodes[at] = bits
    if (bits !== 0) return
    if (cached[cache] === number) cached[cache] = none
    for (let shift = fanBits; bits === 0 && at >= rootsEnd; shift += fanBits) {
      const parent = nodes[at + node.parent]!
      nodes[at + node.parent] = this.freeNode
      this.freeNode = at
      at = parent
      bits = nodes[at]! & ~(1 << ((priceAtoms >>> shift) & fanMask))
      nodes[at] = bits
    }
  }

  /** The level next above a price, of those in the tree of its leaf; or -1. */
  private above(priceAtoms: number, leaf: number): number {
    const { nodes } = this
    let at = leaf
    for (let shift = 0;; shift += fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      const candidates = nodes[at]! & (-2 << child)
      if (candidates !== 0) return this.lowest(at, candidates, shift)
      if (at < rootsEnd) return none
      at = nodes[at + node.parent]!
    }
  }

  /** The level next below a price, of those in the tree of its leaf; or -1. */
  private below(priceAtoms: number, leaf: number): number {
    const { nodes } = this
    let at = leaf
    for (let shift = 0;; shift += fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      const candidates = nodes[at]! & ((1 << child) - 1)
      if (candidates !== 0) return this.highest(at, candidates, shift)
      if (at < rootsEnd) return none
      at = nodes[at + node.parent]!
    }
  }

  /** The lowest level under these children of a node at `shift`. */
  private lowest(from: number, children: number, shift: number): number {
    const { nodes } = this
    let at = nodes[from + node.children + (31 - Math.clz32(children & -children))]!
    for (; shift > 0; shift -= fanBits) {
      const bits = nodes[at]!
      at = nodes[at + node.children + (31 - Math.clz32(bits & -bits))]!
    }
    return at
  }

  /** The highest level under these children of a node at `shift`. */
  private highest(from: number, children: number, shift: number): number {
    const { nodes } = this
    let at = nodes[from + node.children + (31 - Math.clz32(children))]!
    for (; shift > 0; shift -= fanBits) at = nodes[at + node.children + (31 - Math.clz32(nodes[at]!))]!
    return at
  }

  private takeNode(parent: number): number {
    let at = this.freeNode
    if (at !== none) this.freeNode = this.nodes[at + node.parent]!
    else {
      if (this.nodesEnd === this.nodes.length) this.nodes = growInts(this.nodes, this.nodes.length * 2)
      at = this.nodesEnd
      this.nodesEnd = at + nodeWords
    }
    this.nodes[at + node.parent] = parent
    this.nodes[at] = 0
    return at
  }

  private takeLevel(): number {
    const free = this.freeLevel
    if (free !== none) {
      this.freeLevel = this.levelWord(free, level.worse)
      return free
    }
    if (this.levelsUsed << levelShift === this.levelRows.length) {
      this.levelRows = growInts(this.levelRows, this.levelRows.length * 2)
      this.levelNumbers = new Float64Array(this.levelRows.buffer)
    }
    return this.levelsUsed++
  }
}
