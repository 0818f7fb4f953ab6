/**
 * Deadlines by key, earliest first: a binary heap whose entries can be moved and removed by key. Keys are small integers (slots or
 * indexes). At equal times the smaller rank comes first, so that the order does not depend on the history of the heap.
 */
import { assert } from "../domain/Assert.js"
import { StepwiseMap } from "../domain/Stepwise.js"
import { StepwiseList } from "./StepwiseList.js"

/** The beginning of the next full second. */
export const nextSecond = (atEpochMs: number): number => (Math.floor(atEpochMs / 1_000) + 1) * 1_000

export class Deadlines {
  private readonly keys = new StepwiseList()
  /** Deadline by key, for the keys in the heap. */
  private readonly times = new StepwiseMap<number, number>()
  /** Index in `keys` by key. */
  private readonly places = new StepwiseMap<number, number>()

  /** `rank` orders keys with equal deadlines; it must not change while a key is in the heap. */
  constructor(private readonly rank: (key: number) => number) {}

  get size(): number {
    return this.keys.length
  }

  /** The earliest deadline; `Infinity` where there is none. */
  get earliest(): number {
    return this.keys.length === 0 ? Number.POSITIVE_INFINITY : this.times.get(this.keys.at(0))!
  }

  /** The deadline of a key; 0 where it has none. */
  at(key: number): number {
    return this.times.get(key) ?? 0
  }

  has(key: number): boolean {
    return this.places.has(key)
  }

  /** Sets or moves the deadline of a key. */
  set(key: number, atEpochMs: number): void {
    this.remove(key)
    this.times.set(key, atEpochMs)
    this.places.set(key, this.keys.length)
    this.keys.push(key)
    this.rise(this.keys.length - 1)
  }

  /** Removes a key, if it is present. */
  remove(key: number): void {
    if (this.keys.length === 0) return
    const place = this.places.get(key)
    if (place === undefined) return
    const last = this.keys.pop()
    this.places.delete(key)
    this.times.delete(key)
    if (last === key) return
    this.keys.put(place, last)
    this.places.set(last, place)
    this.rise(place)
    this.sink(this.places.get(last)!)
  }

  /** Removes and returns the key with the earliest deadline, if that has been reached; otherwise -1. */
  shiftDue(atEpochMs: number): number {
    if (this.earliest > atEpochMs) return -1
    const key = this.keys.at(0)
    this.remove(key)
    return key
  }

  /** The key with the earliest deadline, if that has been reached; otherwise undefined. It is not removed. */
  firstDue(atEpochMs: number): number | undefined {
    return this.earliest > atEpochMs ? undefined : this.keys.at(0)
  }

  /** Keys with their deadlines, earliest first. */
  entries(): Array<readonly [key: number, atEpochMs: number]> {
    return this.keys.toArray()
      .map((key) => [key, this.times.get(key)!] as const)
      .sort((one, other) => one[1] - other[1] || this.rank(one[0]) - this.rank(other[0]))
  }

  private before(one: number, other: number): boolean {
    const difference = this.times.get(one)! - this.times.get(other)!
    return difference < 0 || (difference === 0 && this.rank(one) < this.rank(other))
  }

  private rise(from: number): void {
    const key = this.keys.at(from)
    let at = from
    while (at > 0) {
      const above = (at - 1) >> 1
      const held = this.keys.at(above)
      if (!this.before(key, held)) break
      this.move(held, at)
      at = above
    }
    this.move(key, at)
  }

  private sink(from: number): void {
    assert(from < this.keys.length, "a heap sinks what it holds")
    const key = this.keys.at(from)
    let at = from
    for (;;) {
      let below = 2 * at + 1
      if (below >= this.keys.length) break
      if (below + 1 < this.keys.length && this.before(this.keys.at(below + 1), this.keys.at(below))) below++
      const held = this.keys.at(below)
      if (!this.before(held, key)) break
      this.move(held, at)
      at = below
    }
    this.move(key, at)
  }

  private move(key: number, at: number): void {
    this.keys.put(at, key)
    this.places.set(key, at)
  }
}
