/**
 * Memory for the books over one pool of orders: levels, and nodes of the trees that say which prices have one. All books share it,
 * since together they never have more levels than the pool has orders. Once there are many levels, the rows get all the room that
 * they may ever need, of which the system provides pages as they are touched, and nodes are allocated in pages: nothing large is
 * ever copied while commands wait, however many prices are in use.
 *
 * A level is a row of 32 bytes, half a cache line: 8 words of 4 bytes, the last two of which form a number of 8, the total size
 * atoms of its orders. A node is a row of words, identified by its start: a bitmap of existing children, the parent (-1 for a
 * root), then 32 children, which are nodes or, in a leaf, levels. Only children in the bitmap are valid. In a free node the parent
 * is the next free one.
 */
import { assert } from "../domain/Assert.js"
import { none } from "../domain/None.js"
import { growInts, growRows, lengthUpTo, newRows, wordsOf } from "./Columns.js"
import { Total } from "./Total.js"

export const levelShift = 3
export const level = {
  /** Oldest order. */
  head: 0,
  /** Youngest order. */
  tail: 1,
  /** Number of orders; 0 in a free level. */
  orders: 2,
  price: 3,
  /** The next level closer to the touch, or -1. */
  better: 4,
  /** The next level further from the touch, or -1; in a free level, the next free one. */
  worse: 5
} as const
/** The index of a level's total size among the numbers of 8 bytes. */
export const totalShift = 2
export const totalNumber = 3

/** Prices that share a leaf, and children of any node, as a power of two. */
export const fanBits = 5
const fan = 1 << fanBits
export const node = { bits: 0, parent: 1, children: 2 } as const
const nodeWords = 2 + fan

const firstLevels = 16

/** Nodes lie in pages of 256 KiB, and none crosses a page boundary. */
const pageBits = 16
const pageMask = (1 << pageBits) - 1
const pageWords = ((1 << pageBits) - (1 << pageBits) % nodeWords) | 0
/** The initial length of the first page, which doubles, since most pools have few prices. */
const firstPageWords = 16 * nodeWords

export class Levels {
  /** The words of all levels. Growing replaces the array, so callers must not keep it. */
  rows: Int32Array
  /** The memory of `rows` as numbers of 8 bytes. */
  numbers: Float64Array
  /**
   * The exact sizes of levels that come to more than a number can hold; their rows have the nearest number. Moved along as numbers,
   * they would stay inexact after the orders that are too much have left.
   */
  private readonly large = new Map<number, Total>()
  private used = 0
  private freeLevel = none

  private readonly pages: Array<Int32Array> = [new Int32Array(firstPageWords)]
  private nodesEnd = 0
  private freeNode = none

  /** `most`: the greatest number of levels. */
  constructor(private readonly most: number) {
    this.numbers = newRows(Math.min(most, firstLevels) << totalShift)
    this.rows = wordsOf(this.numbers)
  }

  /** Bytes taken by rows and nodes. */
  get bytes(): number {
    return this.numbers.byteLength + this.pages.reduce((sum, page) => sum + page.byteLength, 0)
  }

  /** Allocates a level, whose row the caller fills. */
  takeLevel(): number {
    const free = this.freeLevel
    if (free !== none) {
      this.freeLevel = this.rows[free << levelShift | level.worse]!
      return free
    }
    if (this.used << levelShift === this.rows.length) {
      assert(this.used < this.most, "there are no more levels than orders")
      this.numbers = growRows(this.numbers, lengthUpTo(this.most, this.used, this.used + 1) << totalShift)
      this.rows = wordsOf(this.numbers)
    }
    return this.used++
  }

  /** Adds size atoms to the total of a level. */
  addTo(at: number, sizeAtoms: number): void {
    const { numbers } = this
    const total = numbers[at << totalShift | totalNumber]! + sizeAtoms
    if (total <= Number.MAX_SAFE_INTEGER) numbers[at << totalShift | totalNumber] = total
    else this.setLarge(at, sizeAtoms)
  }

  /** Takes size atoms off the total of a level. */
  takeFrom(at: number, sizeAtoms: number): void {
    const { numbers } = this
    const total = numbers[at << totalShift | totalNumber]!
    if (total <= Number.MAX_SAFE_INTEGER) numbers[at << totalShift | totalNumber] = total - sizeAtoms
    else this.setLarge(at, -sizeAtoms)
  }

  private setLarge(at: number, sizeAtoms: number): void {
    let total = this.large.get(at)
    if (total === undefined) {
      total = Total.of(this.numbers[at << totalShift | totalNumber]!)
      this.large.set(at, total)
    }
    total.add(sizeAtoms)
    this.numbers[at << totalShift | totalNumber] = total.nearest
    if (total.nearest <= Number.MAX_SAFE_INTEGER) this.large.delete(at)
  }

  releaseLevel(at: number): void {
    this.rows[at << levelShift | level.worse] = this.freeLevel
    this.freeLevel = at
  }

  /** A word of a node. */
  word(at: number, word: number): number {
    return this.pages[at >>> pageBits]![(at & pageMask) + word]!
  }

  setWord(at: number, word: number, value: number): void {
    this.pages[at >>> pageBits]![(at & pageMask) + word] = value
  }

  /** Allocates a node without children. */
  takeNode(parent: number): number {
    let at = this.freeNode
    if (at !== none) this.freeNode = this.word(at, node.parent)
    else at = this.newNode()
    this.setWord(at, node.parent, parent)
    this.setWord(at, node.bits, 0)
    return at
  }

  releaseNode(at: number): void {
    this.setWord(at, node.parent, this.freeNode)
    this.freeNode = at
  }

  private newNode(): number {
    const at = this.nodesEnd
    const [page, within] = [at >>> pageBits, at & pageMask]
    if (page === this.pages.length) this.pages.push(new Int32Array(pageWords))
    else if (within === this.pages[page]!.length) {
      this.pages[page] = growInts(this.pages[page]!, Math.min(pageWords, within * 2))
    }
    this.nodesEnd = within + nodeWords === pageWords ? (page + 1) << pageBits : at + nodeWords
    return at
  }
}
