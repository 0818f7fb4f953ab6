/**
 * Maps that grow in small steps. A `Map` of a hundred thousand entries that doubles copies all of them within one command: milliseconds
 * during which nothing else is served, and tens of them with a million. These maps copy a few thousand entries at a time at most, however
 * many they hold.
 */

/** From this many entries on a map is split into many small ones. */
const spreadFrom = 4_096
/** How many small maps there are: with a million entries, four thousand in each. */
const parts = 256

/** Hash of a text (FNV-1a, 32 bits). */
const numberOf = (key: string): number => {
  let mixed = 0x811c9dc5
  for (let at = 0; at < key.length; at++) mixed = Math.imul(mixed ^ key.charCodeAt(at), 0x01000193)
  return mixed
}

/** The part a key belongs to. Consecutive keys are spread over the parts, so that not all parts grow during the same few commands. */
const partOf = (key: number | string): number => {
  const number = typeof key === "number" ? key : numberOf(key)
  const mixed = Math.imul(number | 0, 0x9e3779b1) ^ Math.imul(Math.floor(number / 2 ** 32), 0x85ebca6b)
  return (mixed ^ (mixed >>> 15)) >>> 24
}

/**
 * A map keyed by whole numbers, such as those of orders and accounts, or by texts. Iteration order is arbitrary: a caller that needs an
 * order has to sort.
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

  /** The keys with their values, in arbitrary order. */
  *[Symbol.iterator](): IterableIterator<readonly [K, V]> {
    for (const part of this.parts()) yield* part
  }

  /** The keys, in arbitrary order. */
  *keys(): IterableIterator<K> {
    for (const part of this.parts()) yield* part.keys()
  }

  /** The values, in arbitrary order. */
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

/** Entries added to one run before the next run begins. */
const runLength = 4_096

/** A map that iterates in insertion order, as the language's own does. */
export class StepwiseLine<K extends number | string, V> {
  /** The run that holds each key. */
  private readonly runOf = new StepwiseMap<K, Map<K, V>>()
  /** Runs in insertion order. New entries go to the last; of the others none is empty. */
  private readonly runs: Array<Map<K, V>> = [new Map()]
  /** Entries ever added to the last run. */
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

  /** An existing key keeps its place. */
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

  /** The keys, in insertion order. */
  *keys(): IterableIterator<K> {
    for (const run of [...this.runs]) yield* run.keys()
  }

  /** The values, in insertion order. Entries removed during the iteration are skipped; entries added may be missed. */
  *values(): IterableIterator<V> {
    for (const run of [...this.runs]) yield* run.values()
  }

  private begin(): void {
    if (this.runs.at(-1)!.size === 0) this.runs.pop()
    this.runs.push(new Map())
    this.came = 0
  }
}
