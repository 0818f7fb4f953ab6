/**
 * A stream's latest values by name, ordered by their last change, for callers that ask what is new. The number of values is bounded; beyond
 * it, those that changed longest ago are dropped.
 */
import { Wakers } from "../venue/Wakers.js"

interface Thing<A> {
  readonly serial: number
  readonly symbol: string
  readonly value: A
}

export class News<A> {
  private readonly things = new Map<string, Thing<A>>()
  private serial = 0
  /**
   * How far each selection of symbols (all, one, or several) has been delivered. Bounded like the values; the least recently used is
   * dropped.
   */
  private readonly told = new Map<string, number>()
  private readonly wakers = new Wakers()
  private failure: unknown

  constructor(private readonly most: number) {}

  get(name: string): A | undefined {
    return this.things.get(name)?.value
  }

  /** The held values whose names are not among these. */
  beside(names: ReadonlySet<string>): ReadonlyArray<readonly [name: string, value: A]> {
    return [...this.things].filter(([name]) => !names.has(name)).map(([name, { value }]) => [name, value])
  }

  put(name: string, symbol: string, value: A): void {
    this.things.delete(name)
    this.things.set(name, { serial: ++this.serial, symbol, value })
    this.trim(this.things)
    this.wakers.wake()
  }

  drop(name: string): void {
    this.things.delete(name)
  }

  /** All further calls fail with this. */
  fail(failure: unknown): void {
    this.failure = failure
    this.wakers.wake()
  }

  /**
   * The values that changed since this was last called for the same symbols, or for all of them; waits where there are none. With
   * `isWhole`, all values held for them, once anything has changed.
   */
  async next(symbols?: ReadonlyArray<string>, isWhole = false): Promise<Array<A>> {
    const wanted = symbols === undefined ? undefined : new Set(symbols)
    const name = wanted === undefined ? "" : [...wanted].sort().join(",")
    for (;;) {
      if (this.failure !== undefined) throw this.failure
      const seen = this.told.get(name) ?? 0
      const held = [...this.things.values()].filter(({ symbol }) => wanted === undefined || wanted.has(symbol))
      const fresh = held.filter(({ serial }) => serial > seen)
      if (fresh.length > 0) {
        // Other callers that wait for the same selection get these values too, before they count as delivered.
        await Promise.resolve()
        this.tell(name, fresh.at(-1)!.serial)
        return (isWhole ? held : fresh).map(({ value }) => value)
      }
      await this.wakers.woken()
    }
  }

  /** A selection that was dropped here gets all held values again: too many, but never too few. */
  private tell(name: string, serial: number): void {
    const known = this.told.get(name) ?? 0
    this.told.delete(name)
    this.told.set(name, Math.max(known, serial))
    this.trim(this.told)
  }

  private trim(map: Map<string, unknown>): void {
    if (map.size > this.most) map.delete(map.keys().next().value!)
  }
}
