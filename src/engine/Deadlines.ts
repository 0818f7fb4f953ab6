/**
 * Moments at which something is due, the earliest first: a binary heap that can change and drop an entry by
 * its key. Keys are small integers (slots or indices); of equal times the smaller rank is first, so that the
 * order does not depend on how the heap came to be.
 */
import { assert } from "../domain/Assert.js"
import { StepwiseMap } from "../domain/Stepwise.js"
import { StepwiseList } from "./StepwiseList.js"

/** When the second after a time begins. */
export const nextSecond = (atEpochMs: number): number => (Math.floor(atEpochMs / 1_000) + 1) * 1_000

export class Deadlines {
  private readonly keys = new StepwiseList()
  /** Time by key; only for keys that are in. */
  private readonly times = new StepwiseMap<number, number>()
  /** Index in `keys` by key. */
  private readonly places = new StepwiseMap<number, number>()

  /** `rank` orders keys that are due at the same time; it must not change while a key is in. */
  constructor(private readonly rank: (key: number) => number) {}

  get size(): number {
    return this.keys.length
  }

  /** When the earliest is due; `Infinity` when nothing is. */
  get earliest(): number {
    return this.keys.length === 0 ? Number.POSITIVE_INFINITY : this.times.get(this.keys.at(0))!
  }

  /** When a key is due; 0 when it is not in. */
  at(key: number): number {
    return this.times.get(key) ?? 0
  }

  has(key: number): boolean {
    return this.places.has(key)
  }

  /** Puts a key in, or moves it. */
  set(key: number, atEpochMs: number): void {
    this.remove(key)
    this.times.set(key, atEpochMs)
    this.places.set(key, this.keys.length)
    this.keys.push(key)
    this.rise(this.keys.length - 1)
  }

  /** Takes a key out, if it is in. */
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

  /** Takes out the earliest key, which is due by then; -1 when none is. */
  shiftDue(atEpochMs: number): number {
    if (this.earliest > atEpochMs) return -1
    const key = this.keys.at(0)
    this.remove(key)
    return key
  }

  /** The earliest key, which is due by then; undefined when none is. It stays in. */
  firstDue(atEpochMs: number): number | undefined {
    return this.earliest > atEpochMs ? undefined : this.keys.at(0)
  }

  /** Keys and times, in the order in which they are due. */
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
