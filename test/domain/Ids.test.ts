/** Ids: what the engine has named is found by its id, and no other text is taken for one. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import * as Ids from "../../src/domain/Ids.js"

test("every order number comes back from its id", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (number) => {
      const id = Ids.orderId(number)
      expect(id).toMatch(/^ord_[0-9a-z]+$/)
      expect(Ids.parseOrderId(id)).toBe(number)
    })
  )
})

test("a text is an order's id only if it is exactly what the venue would have written", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^ord_[0-9a-zA-Z._ +-]{0,14}$/)), (text) => {
      const number = Ids.parseOrderId(text)
      if (number !== undefined) expect(Ids.orderId(number)).toBe(text)
    }),
    { numRuns: 2_000 }
  )
})

test.each([
  "",
  "ord_",
  "ord",
  "ORD_1",
  "ord_-1",
  "ord_+1",
  "ord_ 1",
  "ord_1 ",
  "ord_01",
  "ord_1A",
  "ord_1.5",
  "ord_0x1",
  "ord_1e3_",
  "ord_zzzzzzzzzzzz",
  "ord_2gosa7pa2gw",
  "acc_1",
  "pos_1"
])("%j is no order's id", (text) => {
  expect(Ids.parseOrderId(text)).toBe(undefined)
})

test("the largest safe order number has an id", () => {
  expect(Ids.parseOrderId("ord_2gosa7pa2gv")).toBe(Number.MAX_SAFE_INTEGER)
})

test("no two things born in any records have one ordinal", () => {
  fc.assert(
    fc.property(
      fc.tuple(fc.integer({ min: 1, max: 2 ** 40 }), fc.integer({ min: 0, max: Ids.idsPerRecord - 1 })),
      fc.tuple(fc.integer({ min: 1, max: 2 ** 40 }), fc.integer({ min: 0, max: Ids.idsPerRecord - 1 })),
      (one, other) => {
        const same = one[0] === other[0] && one[1] === other[1]
        expect(Ids.ordinal(...one) === Ids.ordinal(...other)).toBe(same)
      }
    )
  )
})

test("kinds of ids are told apart by their prefix", () => {
  expect([Ids.orderId(64), Ids.accountId(64), Ids.positionId(64)]).toEqual(["ord_1s", "acc_1s", "pos_1s"])
})

test.each<[string, boolean]>([
  ["a", true],
  ["A-z_0.9:", true],
  ["x".repeat(64), true],
  ["", false],
  ["x".repeat(65), false],
  ["a b", false],
  ["a/b", false],
  ["a\n", false],
  ["é", false]
])("%j as a clientOrderId: %s", (text, valid) => {
  expect(Ids.isClientOrderId(text)).toBe(valid)
})

test.each<[string, boolean]>([
  ["!", true],
  ["~", true],
  ["k".repeat(255), true],
  ["", false],
  ["k".repeat(256), false],
  ["a b", false],
  ["a\t", false],
  ["a\n", false],
  ["\x7f", false],
  ["ü", false]
])("%j as an Idempotency-Key: %s", (text, valid) => {
  expect(Ids.isIdempotencyKey(text)).toBe(valid)
})
