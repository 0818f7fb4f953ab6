/** Several values under each key, each once, in the order in which they were added. A key without values is not kept. */
import { StepwiseLine } from "./Stepwise.js"

export class Multimap<K extends number | string, V> {
  private readonly sets = new StepwiseLine<K, Set<V>>()

  /** Keys that have values. */
  keys(): IterableIterator<K> {
    return this.sets.keys()
  }

  /** The values of all keys. */
  *values(): IterableIterator<V> {
    for (const own of this.sets.values()) yield* own
  }

  /** How many values a key has. */
  countOf(key: K): number {
    return this.sets.get(key)?.size ?? 0
  }

  /** The values of a key, oldest first. */
  of(key: K): ReadonlyArray<V> {
    return [...this.sets.get(key) ?? []]
  }

  /** The oldest value of a key; undefined where it has none. */
  oldestOf(key: K): V | undefined {
    const [oldest] = this.sets.get(key) ?? []
    return oldest
  }

  add(key: K, value: V): void {
    const own = this.sets.get(key)
    if (own === undefined) this.sets.set(key, new Set([value]))
    else own.add(value)
  }

  /** Removes a value, if it is there. */
  remove(key: K, value: V): void {
    const own = this.sets.get(key)
    if (own === undefined) return
    own.delete(value)
    if (own.size === 0) this.sets.delete(key)
  }
}
