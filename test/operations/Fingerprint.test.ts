/** Two bodies have the same fingerprint exactly when they mean the same. */
import { isDeepStrictEqual } from "node:util"
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import type * as Field from "../../src/operations/Field.js"
import * as Fingerprint from "../../src/operations/Fingerprint.js"
import { all } from "../../src/operations/Operations.js"
import { ofFields } from "../journal/arbitraries.js"

const taken = (feed: (into: Fingerprint.Canonical) => void): Fingerprint.Fingerprint => {
  const canonical = new Fingerprint.Canonical()
  feed(canonical.begin())
  return canonical.end()
}

describe("a fingerprint", () => {
  test.each(
    all.filter(({ fields }) => Object.keys(fields).length > 0).map((declaration) => [declaration.kind, declaration.fields] as const)
  )(
    "of a %s is another for any other fields",
    (_, fields) => {
      fc.assert(
        fc.property(ofFields(fields), ofFields(fields), (one, other) => {
          // The fields that tell how a command was sent are no part of its meaning.
          const said = (values: object): string =>
            JSON.stringify(Object.entries(values).filter(([name]) => (fields[name] as Field.Field<unknown>).isOfWay !== true))
          const same = said(one) === said(other)
          expect(isDeepStrictEqual(Fingerprint.ofFields(fields, one), Fingerprint.ofFields(fields, other))).toBe(same)
          expect(isDeepStrictEqual(Fingerprint.ofFields(fields, one), Fingerprint.ofFields(fields, { ...one }))).toBe(true)
        })
      )
    }
  )

  test("of a whole number counts all of it", () => {
    const upper = 2 ** 32
    const numbers = [0, 1, 5, 2 ** 31, upper - 1, 60_000, 1_760_000_000_000].flatMap((
      value
    ) => [value, value + upper, -value, -value - upper])
    const seen = new Set(numbers.map((value) => JSON.stringify(taken((into) => into.whole(value)))))
    expect(seen.size).toBe(new Set(numbers.map((value) => value + 0)).size)
    const same = all.flatMap(({ fields, kind }) => {
      const [values] = fc.sample(ofFields(fields), { numRuns: 1, seed: 1 })
      const wholes = Object.entries(fields as Field.Fields).filter(([, { isOfWay, shape }]) => shape.type === "whole" && isOfWay !== true)
      return wholes.filter(([name]) => {
        const [one, other, negative] = [7, 7 + upper, -7].map((value) => Fingerprint.ofFields(fields, { ...values, [name]: value }))
        return isDeepStrictEqual(one!, other!) || isDeepStrictEqual(one!, negative!)
      }).map(([name]) => `${kind}.${name}`)
    })
    expect(same).toEqual([])
  })

  test.each([
    ["1", "1"],
    ["1.0", "1"],
    ["1.50", "1.5"],
    ["100", "100"],
    ["0.10", "0.1"],
    ["10.00", "10"]
  ])("of the decimal %s is that of %s", (written, plain) => {
    expect(Fingerprint.plainDecimal(written)).toBe(plain)
    expect(taken((into) => into.decimal(written))).toEqual(taken((into) => into.decimal(plain)))
  })

  test("tells kinds of parts apart, and where each ends", () => {
    const parts: ReadonlyArray<(into: Fingerprint.Canonical) => void> = [
      () => {},
      (into) => into.absent(),
      (into) => into.flag(false),
      (into) => into.flag(true),
      (into) => into.whole(1),
      (into) => into.text("1"),
      (into) => into.decimal("1"),
      (into) => into.list(1),
      (into) => into.choice(0),
      (into) => into.choice(1),
      (into) => into.text(""),
      (into) => {
        into.text("a")
        into.text("b")
      },
      (into) => into.text("ab"),
      (into) => {
        into.text("ab")
        into.text("")
      }
    ]
    const seen = parts.map((part) => JSON.stringify(taken(part)))
    expect(new Set(seen).size).toBe(parts.length)
  })
})
