/**
 * What a stream has told, for those who ask what is new: the latest thing of each name, in the order in which they changed last. It
 * holds so many things at most; beyond, those that changed longest ago are forgotten.
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
  /** What was told last, by what is asked for: all symbols, one, or some. Of as many askings as things, those that were told last. */
  private readonly told = new Map<string, number>()
  private readonly wakers = new Wakers()
  private failure: unknown

  constructor(private readonly most: number) {}

  get(name: string): A | undefined {
    return this.things.get(name)?.value
  }

  /** What is held and has another name than these. */
  beside(names: ReadonlySet<string>): ReadonlyArray<readonly [name: string, value: A]> {
    return [...this.things].filter(([name]) => !names.has(name)).map(([name, { value }]) => [name, value])
  }

  put(name: string, symbol: string, value: A): void {
    this.things.delete(name)
    this.things.set(name, { serial: ++this.serial, symbol, value })
    this.trim(this.things)
    this.wakers.wake()
  }

  /** Whoever asks from now on is told of this. */
  fail(failure: unknown): void {
    this.failure = failure
    this.wakers.wake()
  }

  /**
   * What has changed since this was last asked of the same symbols, or of all of them; waits where that is nothing. With `isWhole`,
   * everything that is held of them, once anything has changed.
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
        // Others who wait for the same are told it too, before anything further counts as told.
        await Promise.resolve()
        this.tell(name, fresh.at(-1)!.serial)
        return (isWhole ? held : fresh).map(({ value }) => value)
      }
      await this.wakers.woken()
    }
  }

  /** Whoever asked for something that is forgotten here is told all that is held once more: too much, and never too little. */
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
