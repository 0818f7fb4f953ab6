/** The fast check of answers accepts exactly what their schemas accept. */
import { Arbitrary, Either, FastCheck, Schema } from "effect"
import { expect, test } from "vitest"
import * as Acceptance from "../../sim/properties/Acceptance.js"
import * as Contract from "../../src/edge/Contract.js"
import * as Envelopes from "../../src/edge/http/Envelopes.js"
import { few } from "../Depth.js"

type Json = { readonly [name: string]: unknown }

const schemas: ReadonlyArray<readonly [name: string, schema: Schema.Schema<unknown, unknown>]> = [
  ...Contract.endpoints.flatMap(({ answers, name }) =>
    [...answers].flatMap(([status, { kind, schema }]) => kind === "json" ? [[`${name} ${status}`, schema] as const] : [])
  ),
  ...Envelopes.statuses.flatMap((status) => [
    [`native ${status}`, Schema.make<unknown, unknown, never>(Envelopes.nativeError(status).ast)] as const,
    [`compat ${status}`, Schema.make<unknown, unknown, never>(Envelopes.compatError(status).ast)] as const
  ])
]

const strange: ReadonlyArray<unknown> = [null, true, -1, 0, 1.5, 2 ** 60, "", "x", "-0", "01", "1.", "ord_1", [], {}, [null], { a: 1 }]

/** The value with one change: a member left out, added or replaced, at a place that `draw` picks. */
const spoil = (value: unknown, draw: (below: number) => number): unknown => {
  if (Array.isArray(value) && value.length > 0 && draw(4) > 0) {
    const at = draw(value.length)
    return value.map((item, index) => index === at ? spoil(item, draw) : (item as unknown))
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value) && draw(8) > 0) {
    const names = Object.keys(value)
    const { [names[draw(Math.max(1, names.length))] ?? ""]: _, ...rest } = value as Json
    if (draw(6) === 0) return { ...value, unknown: strange[draw(strange.length)] }
    if (names.length === 0 || draw(6) === 0) return rest
    const name = names[draw(names.length)]!
    return { ...value, [name]: spoil((value as Json)[name], draw) }
  }
  return strange[draw(strange.length)]
}

test.each(schemas)("%s is accepted at a look exactly where its schema accepts", (_, schema) => {
  const accepts = Acceptance.compile(schema)
  const decode = Schema.decodeUnknownEither(schema, { onExcessProperty: "error" })
  let refused = 0
  // Some unions contain the platform's own decode error, which is never sent.
  const sent = Arbitrary.make(schema).filter((value) => !(value instanceof Error))
  FastCheck.assert(
    FastCheck.property(sent, FastCheck.infiniteStream(FastCheck.nat()), (value, stream) => {
      const draw = (below: number): number => stream.next().value % below
      expect(accepts(value)).toBe(true)
      const spoiled = spoil(value, draw)
      const isRight = Either.isRight(decode(spoiled))
      expect(accepts(spoiled), JSON.stringify(spoiled)).toBe(isRight)
      if (!isRight) refused++
    }),
    { numRuns: few(10, 25), seed: 7 }
  )
  expect(refused).toBeGreaterThan(0)
})

test("what the quick look does not know, it does not accept", () => {
  expect(Acceptance.compile(Schema.NumberFromString)("1")).toBe(false)
  expect(Acceptance.compile(Schema.Tuple(Schema.optionalElement(Schema.String)))(["a"])).toBe(false)
  expect(Acceptance.compile(Schema.Struct({}))({})).toBe(false)
  expect(Acceptance.compile(Schema.suspend(() => Schema.String))("a")).toBe(false)
})
