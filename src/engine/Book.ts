/**
 * Owns the resting orders of one market: price-time priority over the slots of a shared pool.
 *
 * Orders of a price are a chain through the pool's `next` and `prev`; prices of a side are a chain of levels,
 * best first, so that the touch, and what follows it, is one load away. Which prices exist is kept in one
 * 32-ary tree of occupancy bitmaps a side (seven deep: prices are below 2^31), asked only when a level
 * comes or goes. Nodes and levels are pooled and reused: a far-off price costs at most six nodes of 136 bytes
 * and a level of 32, and nothing is proportional to the price range.
 *
 * A level's size is always the sum of its orders' `remaining`: while an order rests, only the book changes it.
 */
import { assert } from "../domain/Assert.js"
import { none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
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

export class Book {
  private readonly orders: Orders

  /** Oldest order of a level. */
  private levelHead = new Int32Array(initialLevels)
  /** Youngest order of a level. */
  private levelTail = new Int32Array(initialLevels)
  /** Orders at a level; 0 in a level that is free. */
  private levelOrders = new Int32Array(initialLevels)
  private levelPrice = new Int32Array(initialLevels)
  /** Size atoms of all orders at a level. */
  private levelTotal = new Float64Array(initialLevels)
  /** The next level closer to the touch, or -1. */
  private levelBetter = new Int32Array(initialLevels)
  /** The next level further from the touch, or -1; in a free level, the next free one. */
  private levelWorse = new Int32Array(initialLevels)
  private levelsUsed = 0
  private freeLevel = none

  /** Which children of a node exist. */
  private nodeBits = new Int32Array(initialNodes)
  private nodeParent = new Int32Array(initialNodes)
  /** Children by node and five bits of the price: nodes, in a leaf levels. Only what `nodeBits` shows is meant. */
  private nodeChildren = new Int32Array(initialNodes * fan)
  private nodesUsed = roots
  /** First free node; the next is in its parent. */
  private freeNode = none

  /** Number (price without its last five bits) of a remembered leaf by side and low bits, or -1. */
  private readonly cachedNumber = new Int32Array(2 * cachedLeaves).fill(none)
  private readonly cachedNode = new Int32Array(2 * cachedLeaves)

  private bestBid = none
  private bestAsk = none
  private bidLevels = 0
  private askLevels = 0
  private resting = 0

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
    const level = this.levelFor(orders.side(slot), priceAtoms)
    if (this.levelOrders[level]! === 0) {
      this.levelHead[level] = slot
      this.levelTotal[level] = remaining
      orders.setPrev(slot, none)
    } else {
      const tail = this.levelTail[level]!
      orders.setNext(tail, slot)
      orders.setPrev(slot, tail)
      this.levelTotal[level]! += remaining
    }
    orders.setNext(slot, none)
    orders.setLevel(slot, level)
    this.levelTail[level] = slot
    this.levelOrders[level]!++
    this.resting++
  }

  /** Takes a resting order out, with whatever it has left; the pool's `remaining` stays as it is. */
  remove(slot: number): void {
    const orders = this.orders
    const level = orders.level(slot)
    assert(level !== none, "only a resting order is removed")
    const count = this.levelOrders[level]! - 1
    this.levelOrders[level] = count
    this.resting--
    orders.setLevel(slot, none)
    if (count === 0) {
      this.removeLevel(orders.side(slot), level)
      return
    }
    this.levelTotal[level]! -= orders.remaining(slot)
    const prev = orders.prev(slot)
    const next = orders.next(slot)
    if (prev === none) this.levelHead[level] = next
    else orders.setNext(prev, next)
    if (next === none) this.levelTail[level] = prev
    else orders.setPrev(next, prev)
    orders.setNext(slot, none)
    orders.setPrev(slot, none)
  }

  /** Lessens a resting order, here and in the pool's `remaining`, by size atoms. It keeps its place and something: else remove it. */
  reduce(slot: number, sizeAtoms: number): void {
    const orders = this.orders
    const level = orders.level(slot)
    assert(level !== none, "only a resting order is reduced")
    assert(sizeAtoms > 0 && sizeAtoms < orders.remaining(slot), "a reduced order keeps something to fill")
    orders.setRemaining(slot, orders.remaining(slot) - sizeAtoms)
    this.levelTotal[level]! -= sizeAtoms
  }

  /** The oldest order at the best price of a side, or -1. */
  best(side: Order.Side): number {
    const level = side === Order.buy ? this.bestBid : this.bestAsk
    return level === none ? none : this.levelHead[level]!
  }

  /** Price atoms of the best level of a side, or -1. */
  bestPrice(side: Order.Side): number {
    const level = side === Order.buy ? this.bestBid : this.bestAsk
    return level === none ? none : this.levelPrice[level]!
  }

  /** The resting order that would trade after this one: younger at its price, else the oldest of the next worse price; or -1. */
  nextSlot(slot: number): number {
    const next = this.orders.next(slot)
    if (next !== none) return next
    const level = this.orders.level(slot)
    assert(level !== none, "only a resting order has a successor")
    const worse = this.levelWorse[level]!
    return worse === none ? none : this.levelHead[worse]!
  }

  /** Size atoms resting at a price of a side; 0 when there are none. */
  levelSize(side: Order.Side, priceAtoms: number): number {
    const level = this.findLevel(side, priceAtoms)
    return level === none ? 0 : this.levelTotal[level]!
  }

  /** How many orders rest at a price of a side. */
  levelOrderCount(side: Order.Side, priceAtoms: number): number {
    const level = this.findLevel(side, priceAtoms)
    return level === none ? 0 : this.levelOrders[level]!
  }

  /** At most `depth` levels of a side as [priceAtoms, sizeAtoms], best first. */
  levels(side: Order.Side, depth: number): Array<[number, number]> {
    const found: Array<[number, number]> = []
    let level = side === Order.buy ? this.bestBid : this.bestAsk
    for (; level !== none && found.length < depth; level = this.levelWorse[level]!) {
      found.push([this.levelPrice[level]!, this.levelTotal[level]!])
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
    let at = 0
    for (let level = this.bestBid; level !== none; level = this.levelWorse[level]!) heads[at++] = this.levelHead[level]!
    for (let level = this.bestAsk; level !== none; level = this.levelWorse[level]!) heads[at++] = this.levelHead[level]!
    assert(at === heads.length, "every level is in its side's chain")
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
    return this.levelHead.length * 32 + this.nodeBits.length * (8 + 4 * fan) + 4 * cachedLeaves * 4
  }

  /** The level at a price, made when there is none; a new one has no orders yet. */
  private levelFor(side: Order.Side, priceAtoms: number): number {
    const number = priceAtoms >>> fanBits
    const at = side * cachedLeaves + (number & cacheMask)
    let leaf: number
    if (this.cachedNumber[at] === number) leaf = this.cachedNode[at]!
    else {
      leaf = this.makeLeaf(side, priceAtoms)
      this.cachedNumber[at] = number
      this.cachedNode[at] = leaf
    }
    const child = priceAtoms & fanMask
    if ((this.nodeBits[leaf]! & (1 << child)) !== 0) return this.nodeChildren[leaf * fan + child]!
    return this.addLevel(side, priceAtoms, leaf)
  }

  /** The level at a price, or -1. */
  private findLevel(side: Order.Side, priceAtoms: number): number {
    let node: number = side
    for (let shift = rootShift;; shift -= fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      if ((this.nodeBits[node]! & (1 << child)) === 0) return none
      node = this.nodeChildren[node * fan + child]!
      if (shift === 0) return node
    }
  }

  /** The leaf of a price, made with all nodes above it where there is none. The caller puts a level into it. */
  private makeLeaf(side: Order.Side, priceAtoms: number): number {
    let node: number = side
    for (let shift = rootShift; shift > 0; shift -= fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      if ((this.nodeBits[node]! & (1 << child)) === 0) {
        const made = this.takeNode(node)
        this.nodeBits[node]! |= 1 << child
        this.nodeChildren[node * fan + child] = made
        node = made
      } else node = this.nodeChildren[node * fan + child]!
    }
    return node
  }

  /** Puts an empty level into a leaf and into its side's chain. */
  private addLevel(side: Order.Side, priceAtoms: number, leaf: number): number {
    const isBid = side === Order.buy
    const best = isBid ? this.bestBid : this.bestAsk
    const level = this.takeLevel()
    this.levelPrice[level] = priceAtoms
    this.levelOrders[level] = 0
    let better: number = none
    let worse = best
    if (best !== none && (isBid ? priceAtoms < this.levelPrice[best]! : priceAtoms > this.levelPrice[best]!)) {
      better = isBid ? this.above(priceAtoms, leaf) : this.below(priceAtoms, leaf)
      assert(better !== none, "a level behind the best has a better one")
      worse = this.levelWorse[better]!
    }
    this.levelBetter[level] = better
    this.levelWorse[level] = worse
    if (worse !== none) this.levelBetter[worse] = level
    if (better !== none) this.levelWorse[better] = level
    else if (isBid) this.bestBid = level
    else this.bestAsk = level
    if (isBid) this.bidLevels++
    else this.askLevels++
    const child = priceAtoms & fanMask
    this.nodeBits[leaf]! |= 1 << child
    this.nodeChildren[leaf * fan + child] = level
    return level
  }

  /** Takes an empty level out of its side's chain and the tree, with all nodes that nothing is left in. */
  private removeLevel(side: Order.Side, level: number): void {
    const priceAtoms = this.levelPrice[level]!
    const better = this.levelBetter[level]!
    const worse = this.levelWorse[level]!
    if (worse !== none) this.levelBetter[worse] = better
    if (better !== none) this.levelWorse[better] = worse
    else if (side === Order.buy) this.bestBid = worse
    else this.bestAsk = worse
    if (side === Order.buy) this.bidLevels--
    else this.askLevels--
    this.levelWorse[level] = this.freeLevel
    this.freeLevel = level

    const number = priceAtoms >>> fanBits
    const at = side * cachedLeaves + (number & cacheMask)
    let node = this.cachedNumber[at] === number ? this.cachedNode[at]! : this.makeLeaf(side, priceAtoms)
    let bits = this.nodeBits[node]! & ~(1 << (priceAtoms & fanMask))
    this.nodeBits[node] = bits
    if (bits !== 0) return
    if (this.cachedNumber[at] === number) this.cachedNumber[at] = none
    for (let shift = fanBits; bits === 0 && node >= roots; shift += fanBits) {
      const parent = this.nodeParent[node]!
      this.nodeParent[node] = this.freeNode
      this.freeNode = node
      node = parent
      bits = this.nodeBits[node]! & ~(1 << ((priceAtoms >>> shift) & fanMask))
      this.nodeBits[node] = bits
    }
  }

  /** The level next above a price, of those in the tree of its leaf; or -1. */
  private above(priceAtoms: number, leaf: number): number {
    let node = leaf
    for (let shift = 0;; shift += fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      const candidates = this.nodeBits[node]! & (-2 << child)
      if (candidates !== 0) return this.lowest(node, candidates, shift)
      if (node < roots) return none
      node = this.nodeParent[node]!
    }
  }

  /** The level next below a price, of those in the tree of its leaf; or -1. */
  private below(priceAtoms: number, leaf: number): number {
    let node = leaf
    for (let shift = 0;; shift += fanBits) {
      const child = (priceAtoms >>> shift) & fanMask
      const candidates = this.nodeBits[node]! & ((1 << child) - 1)
      if (candidates !== 0) return this.highest(node, candidates, shift)
      if (node < roots) return none
      node = this.nodeParent[node]!
    }
  }

  /** The lowest level under these children of a node at `shift`. */
  private lowest(node: number, children: number, shift: number): number {
    let at = this.nodeChildren[node * fan + (31 - Math.clz32(children & -children))]!
    for (; shift > 0; shift -= fanBits) {
      const bits = this.nodeBits[at]!
      at = this.nodeChildren[at * fan + (31 - Math.clz32(bits & -bits))]!
    }
    return at
  }

  /** The highest level under these children of a node at `shift`. */
  private highest(node: number, children: number, shift: number): number {
    let at = this.nodeChildren[node * fan + (31 - Math.clz32(children))]!
    for (; shift > 0; shift -= fanBits) at = this.nodeChildren[at * fan + (31 - Math.clz32(this.nodeBits[at]!))]!
    return at
  }

  private takeNode(parent: number): number {
    let node = this.freeNode
    if (node !== none) this.freeNode = this.nodeParent[node]!
    else {
      if (this.nodesUsed === this.nodeBits.length) this.growNodes()
      node = this.nodesUsed++
    }
    this.nodeParent[node] = parent
    this.nodeBits[node] = 0
    return node
  }

  private takeLevel(): number {
    const level = this.freeLevel
    if (level !== none) {
      this.freeLevel = this.levelWorse[level]!
      return level
    }
    if (this.levelsUsed === this.levelHead.length) this.growLevels()
    return this.levelsUsed++
  }

  private growNodes(): void {
    const length = this.nodeBits.length * 2
    this.nodeBits = grown(this.nodeBits, length)
    this.nodeParent = grown(this.nodeParent, length)
    this.nodeChildren = grown(this.nodeChildren, length * fan)
  }

  private growLevels(): void {
    const length = this.levelHead.length * 2
    this.levelHead = grown(this.levelHead, length)
    this.levelTail = grown(this.levelTail, length)
    this.levelOrders = grown(this.levelOrders, length)
    this.levelPrice = grown(this.levelPrice, length)
    this.levelBetter = grown(this.levelBetter, length)
    this.levelWorse = grown(this.levelWorse, length)
    const totals = new Float64Array(length)
    totals.set(this.levelTotal)
    this.levelTotal = totals
  }
}

/** A longer column with the same content. */
const grown = (from: Int32Array, length: number): Int32Array<ArrayBuffer> => {
  const to = new Int32Array(length)
  to.set(from)
  return to
}
