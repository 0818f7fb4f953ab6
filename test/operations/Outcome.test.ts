/** An outcome is stored as numbers and read back unchanged; handwritten packing equals that of its declaration. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { allOutcomes, type EntryOutcome, pack, unpack } from "../../src/operations/Operations.js"
import * as Outcome from "../../src/operations/Outcome.js"
import { OrderDecided } from "../../src/operations/orders/OrderDecided.js"
import { outcome, outcomeOf } from "../journal/arbitraries.js"

/** An array with the numbers of an earlier outcome. */
const used = (): Outcome.Packed => {
  const packed = new Outcome.Packed()
  packed.codes = -1
  packed.numbers.fill(77)
  return packed
}

const packedOf = (what: EntryOutcome): Outcome.Packed => {
  const packed = used()
  pack(what, packed)
  return packed
}

describe("an outcome", () => {
  test("is read back from its numbers as it was, whatever was packed before", () => {
    fc.assert(
      fc.property(outcome, (what) => {
        expect(unpack(packedOf(what))).toStrictEqual(what)
      }),
      { numRuns: 2_000 }
    )
  })

  test("of one kind is never another's: different outcomes have different numbers", () => {
    fc.assert(
      fc.property(outcome, outcome, (one, other) => {
        const [a, b] = [packedOf(one), packedOf(other)]
        const same = a.codes === b.codes && [...a.numbers].every((value, index) => Object.is(value, b.numbers[index]))
        // Strictly, so that only NaN, which stands for what does not apply, equals NaN.
        if (same) expect(one).toStrictEqual(other)
        else expect(() => expect(one).toStrictEqual(other)).toThrow()
      }),
      { numRuns: 1_000 }
    )
  })

  test("of an order, packed by hand, is packed as its declaration would", () => {
    const generic = Outcome.declare(OrderDecided.tag, OrderDecided.code, OrderDecided.fields)
    expect(generic.pack).not.toBe(OrderDecided.pack)
    fc.assert(
      fc.property(outcomeOf(OrderDecided as unknown as Outcome.AnyOutcome), (what) => {
        if (what._tag !== "OrderDecided") throw new Error("an outcome has its declaration's tag")
        const [byHand, declared] = [used(), used()]
        OrderDecided.pack(what, byHand)
        generic.pack(what, declared)
        expect(byHand).toStrictEqual(declared)
        expect(OrderDecided.unpack(declared)).toStrictEqual(generic.unpack(byHand))
        expect(OrderDecided.unpack(declared)).toStrictEqual(what)
      }),
      { numRuns: 1_000 }
    )
  })

  test("has a code and a tag of its own, beside Refused", () => {
    expect(new Set(allOutcomes.map(({ code }) => code)).size).toBe(allOutcomes.length)
    expect(new Set(allOutcomes.map(({ tag }) => tag)).size).toBe(allOutcomes.length)
    for (const { code } of allOutcomes) {
      expect(code).toBeGreaterThan(Outcome.refusedCode)
      expect(code).toBeLessThan(256)
    }
  })

  test("that no operation declares is not packed or read", () => {
    expect(() => pack({ _tag: "Nothing" } as unknown as EntryOutcome, new Outcome.Packed())).toThrow("is declared by an operation")
    const packed = new Outcome.Packed()
    packed.codes = 200
    expect(() => unpack(packed)).toThrow("one of those declared")
  })
})
