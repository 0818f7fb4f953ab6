/**
 * Maps and lists that grow step by step. A `Map` of a million entries that doubles copies all of them within one command, and
 * an array that is full is copied whole: tens of milliseconds in which nobody is served. These copy a few thousand entries at once
 * at most, however many they hold.
 */
import { growFloats } from "./Columns.js"

/** From this many entries on a map is many small ones. */
const spreadFrom = 4_096
/** How many small maps there are: a million entries are four thousand in each. */
const parts = 256

/** The part of a key: keys that follow each other are spread, so that the parts do not all grow with the same few commands. */
const partOf = (key: number): number => {
  const mixed = Math.imul(key | 0, 0x9e3779b1) ^ Math.imul(Math.floor(key / 2 ** 32), 0x85ebca6b)
  return (mixed ^ (mixed >>> 15)) >>> 24
}

/**
 * A map by whole numbers, such as those of orders and accounts. It has no order of its own: who goes through it puts what it finds
 * in one.
 */
export class StepwiseMap<V> {
  private whole: Map<number, V> | undefined = new Map<number, V>()
  private readonly spread: Array<Map<number, V>> = []
  private held = 0

  get size(): number {
    return this.held
  }

  get(key: number): V | undefined {
    return this.of(key).get(key)
  }

  has(key: number): boolean {
    return this.held > 0 && this.of(key).has(key)
  }

  set(key: number, value: V): void {
    if (this.whole !== undefined && this.held >= spreadFrom) this.divide(this.whole)
    const part = this.of(key)
    const before = part.size
    part.set(key, value)
    this.held += part.size - before
  }

  delete(key: number): boolean {
    const wasIn = this.held > 0 && this.of(key).delete(key)
    if (wasIn) this.held--
    return wasIn
  }

  /** The values, in no order that means anything. */
  *values(): IterableIterator<V> {
    if (this.whole !== undefined) yield* this.whole.values()
    else for (const part of this.spread) yield* part.values()
  }

  private of(key: number): Map<number, V> {
    return this.whole ?? this.spread[partOf(key)]!
  }

  private divide(whole: Map<number, V>): void {
    for (let part = 0; part < parts; part++) this.spread.push(new Map())
    for (const [key, value] of whole) this.spread[partOf(key)]!.set(key, value)
    this.whole = undefined
  }
}

const pageBits = 12
const pageLength = 2 ** pageBits
const pageMask = pageLength - 1
/** How long the first page begins: most lists are short, and it doubles. */
const firstLength = 16

/** A list of numbers that grows by pages. */
export class StepwiseList {
  private readonly pages: Array<Float64Array> = []
  private count = 0
  private room = 0

  get length(): number {
    return this.count
  }

  at(index: number): number {
    return this.pages[index >>> pageBits]![index & pageMask]!
  }

  put(index: number, value: number): void {
    this.pages[index >>> pageBits]![index & pageMask] = value
  }

  push(value: number): void {
    if (this.count === this.room) this.grow()
    this.pages[this.count >>> pageBits]![this.count & pageMask] = value
    this.count++
  }

  /** Takes the last one off. There is one. */
  pop(): number {
    return this.at(--this.count)
  }

  toArray(): Array<number> {
    return Array.from({ length: this.count }, (_, index) => this.at(index))
  }

  private grow(): void {
    if (this.room >= pageLength) {
      this.pages.push(new Float64Array(pageLength))
      this.room += pageLength
      return
    }
    this.room = Math.max(firstLength, this.room * 2)
    this.pages[0] = growFloats(this.pages[0] ?? new Float64Array(0), this.room)
  }
}
