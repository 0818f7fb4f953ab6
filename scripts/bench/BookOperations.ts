/**
 * The stream of operations that P1 runs: buys at mid - U[0,50], sells at mid + U[0,50], the mid moving by one with a probability of 2 %; 55
 * % new orders, 40 % cancels of a random live order, 5 % market orders; sizes U[1,100]. The same seed gives the same stream.
 */
import { StringBook } from "./StringBook.js"

export type Operation =
  | { readonly kind: "limit"; readonly id: string; readonly side: "buy" | "sell"; readonly size: number; readonly price: number }
  | { readonly kind: "cancel"; readonly id: string }
  | { readonly kind: "market"; readonly side: "buy" | "sell"; readonly size: number }

/** Uniform integers in 0..below-1 from a 32-bit seed (mulberry32). */
export const uniform = (seed: number): (below: number) => number => {
  let state = seed | 0
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296 * below)
  }
}

/** Ids that can be drawn at random, with additions and removals in constant time. */
class Live {
  private readonly ids: Array<string> = []
  private readonly places = new Map<string, number>()

  get size(): number {
    return this.ids.length
  }

  at(place: number): string {
    return this.ids[place]!
  }

  add(id: string): void {
    this.places.set(id, this.ids.length)
    this.ids.push(id)
  }

  drop(id: string): void {
    const place = this.places.get(id)
    if (place === undefined) return
    const last = this.ids.pop()!
    this.places.delete(id)
    if (last === id) return
    this.ids[place] = last
    this.places.set(last, place)
  }
}

/** `count` operations during which at most `liveLimit` orders rest, after `resting` orders that rest from the beginning. */
export const generate = (count: number, liveLimit: number, seed: number, resting = 0): ReadonlyArray<Operation> => {
  const draw = uniform(seed)
  const live = new Live()
  const book = new StringBook(Math.min(count + resting, liveLimit))
  const operations: Array<Operation> = []
  let mid = 100_000
  for (let at = 0; at < resting; at++) {
    const side = draw(2) === 0 ? "buy" : "sell"
    const away = 1 + draw(50)
    const order = { id: `r${at}`, side, size: 1 + draw(100), price: side === "buy" ? mid - away : mid + away } as const
    operations.push({ kind: "limit", ...order })
    book.limit(order)
    live.add(order.id)
  }
  for (let at = 0; at < count; at++) {
    if (draw(100) < 2) mid += draw(2) === 0 ? 1 : -1
    const share = draw(100)
    const side = draw(2) === 0 ? "buy" : "sell"
    const size = 1 + draw(100)
    if (share >= 95) {
      operations.push({ kind: "market", side, size })
      for (const { id } of book.market({ side, size }).done) live.drop(id)
    } else if ((share < 55 && live.size < liveLimit) || live.size === 0) {
      const id = `o${at}`
      const price = side === "buy" ? mid - draw(51) : mid + draw(51)
      operations.push({ kind: "limit", id, side, size, price })
      const outcome = book.limit({ id, side, size, price })
      for (const done of outcome.done) live.drop(done.id)
      if (outcome.quantityLeft > 0) live.add(id)
    } else {
      const id = live.at(draw(live.size))
      operations.push({ kind: "cancel", id })
      book.cancel(id)
      live.drop(id)
    }
  }
  return operations
}
