/** Decoders written by hand accept exactly what their schemas accept. */
import { Either, Schema } from "effect"
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Contract from "../../../src/edge/Contract.js"
import * as Requests from "../../../src/edge/http/Requests.js"
import { Fault } from "../../../src/edge/http/Shapes.js"
import { unsupportedMember } from "../../../src/edge/orders/NewCompatOrder.js"
import { placeOrderBatch } from "../../../src/edge/orders/placeOrderBatch.js"
import * as Corpora from "../Corpora.js"
import { valid } from "./Bodies.js"

interface Subject {
  readonly name: string
  readonly schema: Schema.Schema<any, any>
  readonly decode: (value: unknown) => object
  readonly valid: fc.Arbitrary<unknown>
}

const subjects: ReadonlyArray<Subject> = Contract.routes.flatMap(({ decode, endpoint }) => {
  if (decode === undefined) return []
  const schema = Contract.endpoints.find((one) => one.name === endpoint.name)!.payloadSchema!
  return [{ name: endpoint.name, schema, decode, valid: valid[endpoint.name as Contract.CommandName] }]
})

test("every decoder written by hand is held to its schema", () => {
  expect(subjects.map((subject) => subject.name).sort()).toEqual(Object.keys(valid).sort())
  expect(subjects.map((subject) => subject.name).sort()).toEqual(
    Contract.routes.flatMap(({ endpoint, isHot }) => isHot ? [endpoint.name] : []).sort()
  )
})

const oddities = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    "",
    "x".repeat(129),
    0,
    1,
    -1,
    -0,
    1e400,
    1.5,
    true,
    [],
    {},
    "GTC",
    "IOC",
    "limit",
    "market",
    "1e5",
    "-1",
    "01",
    "1.",
    ".5",
    "+1",
    " 1"
  ),
  fc.jsonValue() as fc.Arbitrary<unknown>
)

/** The path of every member and element in a JSON value. */
const places = (value: unknown, at: ReadonlyArray<string | number> = []): ReadonlyArray<ReadonlyArray<string | number>> => [
  at,
  ...(Array.isArray(value)
    ? value.flatMap((item, index) => places(item, [...at, index]))
    : typeof value === "object" && value !== null
    ? Object.entries(value).flatMap(([key, member]) => places(member, [...at, key]))
    : [])
]

const edit = (
  value: unknown,
  at: ReadonlyArray<string | number>,
  change: (parent: Record<string, unknown>, key: string) => void
): unknown => {
  const copy: unknown = structuredClone(value)
  const parent = at.slice(0, -1).reduce<unknown>((current, key) => (current as Record<string, unknown>)[key], copy)
  change(parent as Record<string, unknown>, String(at[at.length - 1]))
  return copy
}

/** A valid body with one change, which may or may not make it invalid. */
const nearValid = (valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.tuple(
    valid,
    fc.nat(),
    fc.constantFrom("replace", "drop", "add", "repeat"),
    oddities,
    fc.string()
  ).map(([body, pick, how, odd, key]) => {
    const inner = places(body).filter((at) => at.length > 0)
    const at = inner[pick % Math.max(1, inner.length)]
    if (at === undefined) return odd
    return edit(body, at, (parent, member) => {
      if (how === "replace") parent[member] = odd
      else if (how === "drop") {
        if (Array.isArray(parent)) parent.splice(Number(member), 1)
        else delete parent[member]
      } else if (how === "add") {
        if (Array.isArray(parent)) parent.push(odd)
        else Object.defineProperty(parent, key, { value: odd, enumerable: true, configurable: true, writable: true })
      } else if (Array.isArray(parent)) {
        for (let count = 0; count < 40; count++) parent.push(parent[0])
      } else parent[`${member}2`] = parent[member]
    })
  })

/** A body after it was written and parsed as JSON. */
const travelled = (value: unknown): unknown => JSON.parse(JSON.stringify(value) ?? "null")

const agree = (subject: Subject, value: unknown): boolean => {
  const expected = Schema.decodeUnknownEither(subject.schema, { onExcessProperty: "error" })(value)
  const actual = subject.decode(value)
  const accepted = !(actual instanceof Fault)
  if (accepted !== Either.isRight(expected)) {
    throw new Error(`${subject.name} ${accepted ? "accepts" : "refuses"} ${JSON.stringify(value)}: ${JSON.stringify(expected)}`)
  }
  if (Either.isRight(expected)) expect(actual).toStrictEqual(expected.right)
  else expect((actual as Fault).text).toMatch(/\.$/)
  return accepted
}

describe.each(subjects)("$name decodes as its schema does", (subject) => {
  test("valid bodies", () => {
    fc.assert(fc.property(subject.valid, (value) => {
      expect(agree(subject, travelled(value))).toBe(true)
    }), { numRuns: 200 })
  })
  test("nearly valid bodies, of which some are refused and some are not", () => {
    const seen = { accepted: 0, refused: 0 }
    const numRuns = 1_000
    fc.assert(fc.property(nearValid(subject.valid), (value) => {
      if (agree(subject, travelled(value))) seen.accepted++
      else seen.refused++
    }), { numRuns })
    expect(seen.refused).toBeGreaterThan(numRuns / 10)
    expect(seen.accepted).toBeGreaterThan(0)
  })
  test("any JSON", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => {
      agree(subject, travelled(value))
    }), { numRuns: 300 })
  })
  test.skipIf(!Corpora.isPresent("blns"))("naughty strings in every place", () => {
    const [example] = fc.sample(subject.valid, { numRuns: 1, seed: 7 })
    const inner = places(example).filter((at) => at.length > 0)
    for (const text of Corpora.naughtyStrings()) {
      for (const at of inner.slice(0, 12)) {
        agree(subject, travelled(edit(example, at, (parent, key) => {
          parent[key] = text
        })))
      }
    }
  })
  test.skipIf(!Corpora.isPresent("JSONTestSuite"))("the JSON test suite", () => {
    for (const { bytes } of Corpora.jsonTestSuite()) {
      const parsed = Requests.parseJson(bytes)
      if (parsed !== undefined && !Requests.isFailure(parsed)) agree(subject, parsed.value)
    }
  })
})

test.skipIf(!Corpora.isPresent("JSONTestSuite"))("bytes parse as the JSON test suite says", () => {
  for (const { bytes, name } of Corpora.jsonTestSuite()) {
    const parsed = Requests.parseJson(bytes)
    if (name.startsWith("y_")) expect(parsed, name).toBeDefined()
    if (name.startsWith("n_")) expect(parsed, name).toBeUndefined()
  }
})

test("the first offending field is named, and nothing that was sent is echoed", () => {
  const fault = (value: unknown): string => {
    const result = placeOrderBatch.decode(value)
    return result instanceof Fault ? result.text : "accepted"
  }
  const good = { accountId: "a", marketId: "m", clientOrderId: "c", side: "buy", orderType: "limit", price: "1", quantity: "1" }
  expect(fault({ orders: [good, { ...good, quantity: "1e5" }] })).toBe(
    "orders[1].quantity: must be a decimal string of plain digits."
  )
  expect(fault({ orders: [{ ...good, secret: "s3cret" }] })).toBe("orders[0].secret: this route does not know such a member.")
  expect(fault({ orders: [{ ...good, [`pk_${"x1".repeat(12)}`]: "s3cret" }] })).toBe(
    "orders[0]: has a member that this route does not know."
  )
  expect(fault({ orders: [] })).toBe("orders: must be an array of 1 to 32 entries.")
  expect(fault([])).toBe("The body must be an object.")
  const { price: _price, ...priceless } = good
  expect(fault({ orders: [priceless] })).toBe("orders[0].price: a limit order needs a price.")
})

test("timeInForce is found at the top and in params of any entry", () => {
  const cases: ReadonlyArray<readonly [unknown, boolean]> = [
    [{ timeInForce: "GTC" }, true],
    [{ params: { timeInForce: null } }, true],
    [[{}, { timeInForce: "IOC" }], true],
    [[{}, { params: { timeInForce: "IOC" } }], true],
    [{ params: [{ timeInForce: "IOC" }] }, false],
    [[], false],
    ["timeInForce", false],
    [null, false],
    [{ symbol: "timeInForce" }, false]
  ]
  for (const [body, expected] of cases) expect(unsupportedMember(body), JSON.stringify(body)).toBe(expected ? "timeInForce" : undefined)
})
