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
  /** What was told last, by what is asked for: all symbols, or one. */
  private readonly told = new Map<string, number>()
  private readonly wakers = new Wakers()
  private failure: unknown

  constructor(private readonly most: number) {}

  put(name: string, symbol: string, value: A): void {
    this.things.delete(name)
    this.things.set(name, { serial: ++this.serial, symbol, value })
    if (this.things.size > this.most) this.things.delete(this.things.keys().next().value!)
    this.wakers.wake()
  }

  /** Whoever asks from now on is told of this. */
  fail(failure: unknown): void {
    this.failure = failure
    this.wakers.wake()
  }

  /**
   * What has changed since this was last asked of the symbol, or of all of them; waits where that is nothing. With `whole`, everything
   * that is held, once anything has changed.
   */
  async next(symbol: string | undefined, isWhole = false): Promise<Array<A>> {
    const name = symbol ?? ""
    for (;;) {
      if (this.failure !== undefined) throw this.failure
      const seen = this.told.get(name) ?? 0
      const held = [...this.things.values()].filter((thing) => symbol === undefined || thing.symbol === symbol)
      const fresh = held.filter(({ serial }) => serial > seen)
      if (fresh.length > 0) {
        // Others who wait for the same are told it too, before anything further counts as told.
        await Promise.resolve()
        this.told.set(name, Math.max(this.told.get(name) ?? 0, fresh.at(-1)!.serial))
        return (isWhole ? held : fresh).map(({ value }) => value)
      }
      await this.wakers.woken()
    }
  }
}
