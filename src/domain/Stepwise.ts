/**
 * Maps that grow step by step. A `Map` of a hundred thousand entries that doubles copies all of them within one command:
 * milliseconds in which nobody is served, tens of them with a million. These copy a few thousand entries at once at most, however
 * many they hold.
 */

/** From this many entries on a map is many small ones. */
const spreadFrom = 4_096
/** How many small maps there are: a million entries are four thousand in each. */
const parts = 256

/** What a text comes to as a number: FNV-1a. */
const numberOf = (key: string): number => {
  let mixed = 0x811c9dc5
  for (let at = 0; at < key.length; at++) mixed = Math.imul(mixed ^ key.charCodeAt(at), 0x01000193)
  return mixed
}

/** The part of a key: keys that follow each other are spread, so that the parts do not all grow with the same few commands. */
const partOf = (key: number | string): number => {
  const number = typeof key === "number" ? key : numberOf(key)
  const mixed = Math.imul(number | 0, 0x9e3779b1) ^ Math.imul(Math.floor(number / 2 ** 32), 0x85ebca6b)
  return (mixed ^ (mixed >>> 15)) >>> 24
}

/**
 * A map by whole numbers, such as those of orders and accounts, or by texts. It has no order of its own: who goes through it puts
 * what it finds in one.
 */
export class StepwiseMap<K extends number | string, V> {
  private whole: Map<K, V> | undefined = new Map<K, V>()
  private spread: ReadonlyArray<Map<K, V>> = []
  private held = 0

  get size(): number {
    return this.held
  }

  get(key: K): V | undefined {
    return this.of(key).get(key)
  }

  has(key: K): boolean {
    return this.held > 0 && this.of(key).has(key)
  }

  set(key: K, value: V): void {
    if (this.whole !== undefined && this.held >= spreadFrom) this.divide(this.whole)
    const part = this.of(key)
    const before = part.size
    part.set(key, value)
    this.held += part.size - before
  }

  delete(key: K): boolean {
    const wasIn = this.held > 0 && this.of(key).delete(key)
    if (wasIn) this.held--
    return wasIn
  }

  clear(): void {
    this.whole = new Map()
    this.spread = []
    this.held = 0
  }

  /** The keys with their values, in no order that means anything. */
  *[Symbol.iterator](): IterableIterator<readonly [K, V]> {
    for (const part of this.parts()) yield* part
  }

  /** The keys, in no order that means anything. */
  *keys(): IterableIterator<K> {
    for (const part of this.parts()) yield* part.keys()
  }

  /** The values, in no order that means anything. */
  *values(): IterableIterator<V> {
    for (const part of this.parts()) yield* part.values()
  }

  private parts(): ReadonlyArray<Map<K, V>> {
    return this.whole === undefined ? this.spread : [this.whole]
  }

  private of(key: K): Map<K, V> {
    return this.whole ?? this.spread[partOf(key)]!
  }

  private divide(whole: Map<K, V>): void {
    this.spread = Array.from({ length: parts }, () => new Map<K, V>())
    for (const [key, value] of whole) this.spread[partOf(key)]!.set(key, value)
    this.whole = undefined
  }
}

/** So many entries come to a run of a line before the next begins. */
const runLength = 4_096

/** A map that is gone through in the order in which its keys came, as the language's own is. */
export class StepwiseLine<K extends number | string, V> {
  /** Which run a key is in. */
  private readonly runOf = new StepwiseMap<K, Map<K, V>>()
  /** What came earlier is in an earlier one. The last takes what comes; of the others none is empty. */
  private readonly runs: Array<Map<K, V>> = [new Map()]
  /** Entries that ever came to the last run. */
  private came = 0

  get size(): number {
    return this.runOf.size
  }

  get(key: K): V | undefined {
    return this.runOf.get(key)?.get(key)
  }

  has(key: K): boolean {
    return this.runOf.has(key)
  }

  /** A key that is there keeps its place. */
  set(key: K, value: V): void {
    let run = this.runOf.get(key)
    if (run === undefined) {
      if (this.came === runLength) this.begin()
      run = this.runs.at(-1)!
      this.came++
      this.runOf.set(key, run)
    }
    run.set(key, value)
  }

  delete(key: K): boolean {
    const run = this.runOf.get(key)
    if (run === undefined) return false
    run.delete(key)
    this.runOf.delete(key)
    if (run.size === 0 && run !== this.runs.at(-1)) this.runs.splice(this.runs.indexOf(run), 1)
    return true
  }

  /** The keys, whoever came first before the others. */
  *keys(): IterableIterator<K> {
    for (const run of [...this.runs]) yield* run.keys()
  }

  /** The values, whoever came first before the others. What goes meanwhile is not met; what comes may be missed. */
  *values(): IterableIterator<V> {
    for (const run of [...this.runs]) yield* run.values()
  }

  private begin(): void {
    if (this.runs.at(-1)!.size === 0) this.runs.pop()
    this.runs.push(new Map())
    this.came = 0
  }
}
