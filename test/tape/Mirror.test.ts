import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Level } from "../../scripts/tape/Capture.js"
import { Mirror, type Plan } from "../../scripts/tape/Mirror.js"

interface Wanted {
  readonly bids: ReadonlyArray<Level>
  readonly asks: ReadonlyArray<Level>
}

/** Applies to the mirror the answers of a venue that refuses nothing; no two orders are at one price. */
const carryOut = (mirror: Mirror, plan: Plan): void => {
  for (const order of plan.cancels) mirror.gone(order)
  for (const quote of plan.places) {
    const before = mirror.all().filter(({ side }) => side === quote.side).find(({ priceAtoms }) => priceAtoms === quote.priceAtoms)
    expect(before).toBeUndefined()
    mirror.placed(`${quote.side}-${quote.priceAtoms}-${quote.sizeAtoms}`, quote)
  }
}
const mirroring = (wanted: Wanted): Mirror => {
  const mirror = new Mirror()
  carryOut(mirror, mirror.plan(wanted))
  return mirror
}
const shown = (mirror: Mirror): Wanted => {
  const side = (name: "buy" | "sell", sign: number) =>
    mirror.all().filter((order) => order.side === name).map((order): Level => [order.priceAtoms, order.remainingAtoms])
      .sort(([one], [other]) => (one - other) * sign)
  return { bids: side("buy", -1), asks: side("sell", 1) }
}

const book: Wanted = { bids: [[99, 5], [98, 7]], asks: [[100, 4], [101, 6], [103, 1]] }

describe("the mirror", () => {
  it("leaves levels that are as wanted, and cancels before it places anew", () => {
    const mirror = mirroring(book)
    const kept = mirror.best("buy")!.orderId
    const plan = mirror.plan({ bids: [[99, 5], [97, 2]], asks: [[100, 3], [101, 6], [103, 1]] })
    expect(plan.cancels.map(({ priceAtoms, side }) => [side, priceAtoms])).toEqual([["buy", 98], ["sell", 100]])
    expect(plan.places).toEqual([{ side: "buy", priceAtoms: 97, sizeAtoms: 2 }, { side: "sell", priceAtoms: 100, sizeAtoms: 3 }])
    carryOut(mirror, plan)
    expect(mirror.best("buy")!.orderId).toBe(kept)
  })

  it("knows of a level where the sides changed places that the old one goes and the new one comes", () => {
    const mirror = mirroring({ bids: [[99, 5]], asks: [[100, 5]] })
    const plan = mirror.plan({ bids: [[100, 5]], asks: [[101, 5]] })
    expect(plan.cancels.map(({ priceAtoms, side }) => [side, priceAtoms])).toEqual([["buy", 99], ["sell", 100]])
    carryOut(mirror, plan)
    expect(shown(mirror)).toEqual({ bids: [[100, 5]], asks: [[101, 5]] })
  })

  it("restores at the next step what takers took", () => {
    const mirror = mirroring(book)
    expect(mirror.take("buy", 101, 9)).toEqual([{ priceAtoms: 100, sizeAtoms: 4 }, { priceAtoms: 101, sizeAtoms: 5 }])
    expect(shown(mirror).asks).toEqual([[101, 1], [103, 1]])
    const plan = mirror.plan(book)
    expect(plan.cancels.map(({ priceAtoms }) => priceAtoms)).toEqual([101])
    expect(plan.places.map(({ priceAtoms }) => priceAtoms)).toEqual([100, 101])
  })

  it("gives a taker nothing beyond its limit, nor more than rests", () => {
    expect(mirroring(book).take("buy", 99, 1)).toEqual([])
    expect(mirroring(book).take("sell", 98, 100)).toEqual([{ priceAtoms: 99, sizeAtoms: 5 }, { priceAtoms: 98, sizeAtoms: 7 }])
    expect(mirroring(book).take("sell", 99, 100)).toEqual([{ priceAtoms: 99, sizeAtoms: 5 }])
  })

  it("does not lose a new order at a price to the late cancel of the old one", () => {
    const mirror = mirroring({ bids: [[99, 5]], asks: [] })
    const old = mirror.best("buy")!
    mirror.placed("newer", { side: "buy", priceAtoms: 99, sizeAtoms: 8 })
    mirror.gone(old)
    expect(mirror.best("buy")!.orderId).toBe("newer")
  })

  it("equals any wanted book after any other, with takers in between, and then wants nothing more", () => {
    const levels = (low: number) =>
      fc.uniqueArray(fc.tuple(fc.integer({ min: low, max: low + 30 }), fc.integer({ min: 1, max: 5 })), {
        selector: ([price]) => price,
        maxLength: 20
      })
    const wanted = fc.record({ bids: levels(100), asks: levels(131) })
    const takerSide = fc.constantFrom("buy" as const, "sell" as const)
    const taker = fc.tuple(takerSide, fc.integer({ min: 90, max: 170 }), fc.integer({ min: 1, max: 30 }))
    fc.assert(fc.property(fc.array(fc.tuple(wanted, fc.array(taker, { maxLength: 4 })), { maxLength: 12 }), (steps) => {
      const mirror = new Mirror()
      for (const [target, takers] of steps) {
        carryOut(mirror, mirror.plan(target))
        const sorted = (wanted: ReadonlyArray<Level>, sign: number) => [...wanted].sort(([one], [other]) => (one - other) * sign)
        expect(shown(mirror)).toEqual({ bids: sorted(target.bids, -1), asks: sorted(target.asks, 1) })
        expect(mirror.plan(target)).toEqual({ cancels: [], places: [] })
        for (const [side, limit, size] of takers) {
          const before = mirror.all().reduce((sum, order) => sum + order.remainingAtoms, 0)
          const taken = mirror.take(side, limit, size).reduce((sum, fill) => sum + fill.sizeAtoms, 0)
          expect(mirror.all().reduce((sum, order) => sum + order.remainingAtoms, 0)).toBe(before - taken)
        }
      }
    }))
  })
})
