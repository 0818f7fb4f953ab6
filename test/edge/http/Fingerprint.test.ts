/**
 * Two requests under one key are the same exactly when they mean the same. For every hot route of the contract: changing any member, any
 * path parameter or the order of entries changes the fingerprint; another spelling does not, and neither does a market that was created in
 * between.
 */
import { isDeepStrictEqual } from "node:util"
import { SchemaAST } from "effect"
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Contract from "../../../src/edge/Contract.js"
import * as Example from "../../../src/edge/http/Example.js"
import { Fault } from "../../../src/edge/http/Shapes.js"
import * as Fingerprint from "../../../src/operations/Fingerprint.js"
import * as Order from "../../../src/domain/Order.js"
import { parameters } from "../../engine/drive.js"
import * as Fake from "../FakeVenue.js"
import { LiveVenue } from "../LiveVenue.js"
import { valid } from "./Bodies.js"

type Json = string | number | boolean | ReadonlyArray<Json> | { readonly [member: string]: Json }
type Members = Readonly<Record<string, Json>>
type Path = ReadonlyArray<string | number>

interface Subject {
  readonly name: string
  readonly params: ReadonlyArray<string>
  readonly payload: SchemaAST.AST
  readonly bodies: fc.Arbitrary<Json>
  readonly isGood: (body: Json) => boolean
  readonly fingerprint: (body: Json, params?: Readonly<Record<string, string>>) => Fingerprint.Fingerprint
}

const subjects: ReadonlyArray<Subject> = Contract.routes.flatMap(({ decode, endpoint, fingerprint, isHot }) => {
  if (!isHot) return []
  const { name, path, payloadSchema } = Contract.endpoints.find((one) => one.name === endpoint.name)!
  const params = path.split("/").flatMap((part) => part.startsWith(":") ? [part.slice(1)] : [])
  const usual = Object.fromEntries(params.map((param) => [param, `a-${param}`]))
  return [{
    name,
    params,
    payload: payloadSchema!.ast,
    // Parsed from JSON, as the venue reads it.
    bodies: (valid[name as Contract.CommandName] as fc.Arbitrary<Json>).map((body) => JSON.parse(JSON.stringify(body)) as Json),
    isGood: (body) => !(decode!(body) instanceof Fault),
    fingerprint: (body, given = usual) => fingerprint!(given, body as never)
  }]
})

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)
const isObject = (value: Json | undefined): value is Members => typeof value === "object" && !Array.isArray(value)

/** A copy of a body in which `map` is applied to every object, innermost first. */
const mapObjects = (value: Json, map: (object: Members, at: Path) => Members, at: Path = []): Json => {
  if (isList(value)) return value.map((item, index) => mapObjects(item, map, [...at, index]))
  if (!isObject(value)) return value
  const members = Object.entries(value).map(([key, member]) => [key, mapObjects(member, map, [...at, key])] as const)
  return map(Object.fromEntries(members), at)
}

// ---- the meaning of a body, stated independently of the decoders' shapes

const isNativeOrder = (object: Members): boolean => "orderType" in object
const isCompatOrder = (object: Members): boolean => "amount" in object
const isParams = (at: Path): boolean => at.at(-1) === "params"

/** The defaults of the members that an order leaves out. */
const defaultsOf = (object: Members, at: Path): Members => {
  if (isNativeOrder(object)) {
    const timeInForce = object["orderType"] === "market" ? "IOC" : "GTC"
    return { timeInForce, postOnly: false, reduceOnly: false, selfTradePrevention: "cancel_resting" }
  }
  if (isCompatOrder(object)) return { params: { postOnly: false, reduceOnly: false } }
  if ("triggerPrice" in object) return { triggerBy: "mark" }
  return isParams(at) ? { postOnly: false, reduceOnly: false } : {}
}

const decimals: ReadonlyArray<string> = ["price", "quantity", "triggerPrice", "limitPrice"]
const isDecimal = (key: string, value: Json): value is string => decimals.includes(key) && typeof value === "string"

/** A decimal without trailing zeros in its fraction. */
const shortest = (decimal: string): string => decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal

/** The meaning of a body, in one form for all its spellings. */
const meaning = (body: Json): string =>
  JSON.stringify(mapObjects(body, (object, at) => {
    const whole = { ...defaultsOf(object, at), ...object }
    return Object.fromEntries(
      Object.keys(whole).sort().map((key) => [key, isDecimal(key, whole[key]!) ? shortest(whole[key]) : whole[key]!])
    )
  }))

const same = (subject: Subject, one: Json, other: Json): boolean => isDeepStrictEqual(subject.fingerprint(one), subject.fingerprint(other))

// ---- members

/** Every member of a payload's schema, with `[]` for the entries of a list. */
const membersOf = (ast: SchemaAST.AST, at = ""): ReadonlyArray<string> => {
  switch (ast._tag) {
    case "Refinement":
      return membersOf(ast.from, at)
    case "TypeLiteral":
      return ast.propertySignatures.flatMap(({ name, type }) => membersOf(type, at === "" ? String(name) : `${at}.${String(name)}`))
    case "TupleType":
      return ast.rest.flatMap(({ type }) => membersOf(type, `${at}[]`))
    case "Union":
      // An optional member's schema is a union with undefined.
      return ast.types.every((type) => type._tag === "Literal") ? [at] : ast.types.flatMap((type) => membersOf(type, at))
    case "UndefinedKeyword":
      return []
    default:
      return [at]
  }
}

/** The path of every member in a body. */
const placesOf = (value: Json, at: Path = []): ReadonlyArray<Path> => {
  if (isList(value)) return value.flatMap((item, index) => placesOf(item, [...at, index]))
  if (!isObject(value)) return [at]
  return Object.entries(value).flatMap(([key, member]) => placesOf(member, [...at, key]))
}

const nameOf = (at: Path): string =>
  at.reduce<string>((name, part) => typeof part === "number" ? `${name}[]` : name === "" ? part : `${name}.${part}`, "")

const valueAt = (value: Json | undefined, at: Path): Json | undefined =>
  at.reduce<Json | undefined>((found, part) => (found as Readonly<Record<string | number, Json>> | undefined)?.[part], value)

/** A copy with one member replaced, or removed for `undefined`. */
const withMember = (body: Json, at: Path, value: Json | undefined): Json =>
  mapObjects(body, (object, path) => {
    const key = String(at.at(-1))
    if (path.length !== at.length - 1 || path.some((part, index) => part !== at[index])) return object
    const { [key]: _before, ...others } = object
    return value === undefined ? others : { ...others, [key]: value }
  })

/** Members that have only one valid value. */
const fixed: ReadonlySet<string> = new Set(["createOrders [].type"])

// ---- lists

/** A body's list of entries, and a function that replaces it; undefined if the body has none. */
const entriesOf = (body: Json): { readonly list: ReadonlyArray<Json>; readonly put: (list: ReadonlyArray<Json>) => Json } | undefined => {
  if (isList(body)) return { list: body, put: (list) => list }
  const list = isObject(body) ? body["orders"] : undefined
  return list === undefined || !isList(list) ? undefined : { list, put: (orders) => ({ ...body as Members, orders }) }
}

// ---- spellings

/** A spelling of an object: whether defaults are written out, with which member it begins, how many zeros a decimal gets. */
const spelling = fc.record({ said: fc.boolean(), first: fc.nat(), zeros: fc.nat({ max: 3 }) })
type Spelling = typeof spelling extends fc.Arbitrary<infer S> ? S : never

const respelled = (body: Json, { first, said, zeros }: Spelling): Json =>
  mapObjects(body, (object, at) => {
    const defaults = defaultsOf(object, at)
    const unsaid = Object.entries(object).filter(([key, value]) => JSON.stringify(defaults[key]) !== JSON.stringify(value))
    const members = Object.entries(said ? { ...defaults, ...object } : Object.fromEntries(unsaid))
      .map(([key, value]) => [key, isDecimal(key, value) ? padded(value, zeros) : value] as const)
    const turn = first % Math.max(1, members.length)
    return Object.fromEntries([...members.slice(turn), ...members.slice(0, turn)])
  })

/** A decimal with redundant zeros, no longer than a decimal may be. */
const padded = (decimal: string, zeros: number): string => {
  const longer = (decimal.includes(".") ? decimal : `${decimal}.0`) + "0".repeat(zeros)
  return longer.length > 40 ? decimal : longer
}

/** JSON in which numbers are written with an exponent, or with zeros as a fraction. */
const otherNumbers = (body: Json, exponent: boolean): string => {
  if (typeof body === "number") {
    return exponent ? body.toExponential() : Number.isInteger(body) && Math.abs(body) < 1e21 ? `${body}.000` : String(body)
  }
  if (isList(body)) return `[${body.map((item) => otherNumbers(item, exponent)).join(",")}]`
  if (!isObject(body)) return JSON.stringify(body)
  const members = Object.entries(body).map(([key, value]) => `${JSON.stringify(key)}: ${otherNumbers(value, exponent)}`)
  return `{ ${members.join(", ")} }`
}

test("every hot route is among them", () => {
  expect(subjects.map(({ name }) => name).sort()).toEqual(Object.keys(valid).sort())
  expect(subjects.map(({ name }) => name).sort()).toEqual(Object.keys(valid).sort())
})

describe.each(subjects)("the fingerprint of $name", (subject) => {
  const { bodies, fingerprint, isGood, params } = subject

  test("is another exactly where a member says something else, and every member of the schema counts", () => {
    const counted = new Set<string>()
    fc.assert(
      fc.property(bodies, bodies, fc.nat(), (body, donor, from) => {
        const places = [...placesOf(body), ...placesOf(donor)]
        // Long batches have hundreds of members; each run tests a sample of them.
        const step = Math.ceil(places.length / 24)
        for (const at of places.filter((_, index) => index % step === from % step)) {
          const changed = withMember(body, at, valueAt(donor, at))
          if (!isGood(changed)) continue
          const isSame = meaning(changed) === meaning(body)
          expect(same(subject, body, changed), `${nameOf(at)} of ${JSON.stringify(body)} as ${JSON.stringify(changed)}`).toBe(isSame)
          if (!isSame) counted.add(nameOf(at))
        }
      }),
      { numRuns: 300 }
    )
    const members = membersOf(subject.payload).filter((member) => !fixed.has(`${subject.name} ${member}`))
    expect([...counted].sort()).toEqual([...members].sort())
  })

  test("is another where a parameter of the path is", () => {
    const usual = Object.fromEntries(params.map((param) => [param, "p"]))
    fc.assert(fc.property(bodies, fc.string(), fc.string(), (body, one, other) => {
      for (const param of params) {
        const [before, after] = [one, other].map((value) => fingerprint(body, { ...usual, [param]: value }))
        expect(isDeepStrictEqual(before!, after!)).toBe(one === other)
      }
    }))
  })

  test("is another where entries change places, and with one more or fewer", () => {
    fc.assert(fc.property(bodies, bodies, fc.nat(), fc.nat(), (body, donor, one, other) => {
      const entries = entriesOf(body)
      if (entries === undefined) return
      const { list, put } = entries
      const [from, to] = [one % list.length, other % list.length]
      const swapped = list.map((entry, index) => index === from ? list[to]! : index === to ? list[from]! : entry)
      expect(same(subject, body, put(swapped))).toBe(meaning(body) === meaning(put(swapped)))
      expect(same(subject, body, put([...list, entriesOf(donor)!.list[0]!]))).toBe(false)
      expect(same(subject, body, put([...list, list.at(-1)!]))).toBe(false)
      expect(same(subject, body, put(list.slice(0, -1)))).toBe(false)
    }))
  })

  test("is the same for other spellings: zeros behind decimals, defaults said or not, members in another order", () => {
    fc.assert(fc.property(bodies, spelling, (body, how) => {
      const other = respelled(body, how)
      expect(isGood(other)).toBe(true)
      expect(meaning(other)).toBe(meaning(body))
      expect(same(subject, body, other), `${JSON.stringify(body)} as ${JSON.stringify(other)}`).toBe(true)
    }))
  })

  test("is the same however JSON writes its numbers", () => {
    fc.assert(fc.property(bodies, fc.boolean(), (body, exponent) => {
      const other = JSON.parse(otherNumbers(body, exponent)) as Json
      expect(same(subject, body, other), otherNumbers(body, exponent)).toBe(true)
    }))
  })
})

test("decimals and numbers of another value are another body however alike they look", () => {
  const order = subjects.find(({ name }) => name === "placeOrder")!
  const compat = subjects.find(({ name }) => name === "createOrder")!
  const native = (quantity: string): Json => ({ ...Contract.examples.placeOrder.body as Members, quantity })
  const number = (amount: number): Json => ({ ...Contract.examples.createOrder.body as Members, amount })
  for (const [one, other] of [["10", "1"], ["100", "10.0"], ["1.01", "1.1"], ["0.10", "0.01"]] as const) {
    expect(same(order, native(one), native(other)), `${one} and ${other}`).toBe(false)
  }
  for (const [one, other] of [["10", "10.000"], ["0.5", "0.50"], ["0", "0.0"]] as const) {
    expect(same(order, native(one), native(other)), `${one} and ${other}`).toBe(true)
  }
  expect(same(compat, number(0.1 + 0.2), number(0.3))).toBe(false)
  expect(same(compat, number(JSON.parse("1e1") as number), number(10))).toBe(true)
  expect(same(compat, number(JSON.parse("-0") as number), number(0))).toBe(true)
})

// ---- markets

const marketId = "NEW-USDC-PERP"
const symbol = "NEW/USDC:USDC"

/** The contract's example of a request, for the given account and for the market that does not exist yet. */
const about = (value: Json, accountId: string): Json =>
  mapObjects(value, (object) => ({
    ...object,
    ...("accountId" in object ? { accountId } : undefined),
    ...("marketId" in object ? { marketId } : undefined),
    ...("symbol" in object ? { symbol } : undefined)
  }))

test("a request that came before its market gets the same bytes again once the market is there", async () => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1)
  const requests = subjects.map(({ name }) => {
    const { body, target } = Contract.examples[name as keyof typeof Contract.examples]
    return {
      name,
      method: Contract.endpoints.find((one) => one.name === name)!.method,
      target: target.replace(/acc_[0-9a-z]+/, alice!.accountId).replace(Example.marketId, marketId),
      body: about(body as Json, alice!.accountId)
    }
  })
  const withoutId = (text: string): string => text.replaceAll(/"requestId":"[^"]*"/g, "")
  const send = ({ method, name, target }: (typeof requests)[number], body: Json, idempotencyKey = name) =>
    venue.ask({ method, target, body, key: alice!.key, idempotencyKey })
  const ask = async (request: (typeof requests)[number], idempotencyKey = request.name) => {
    const response = await send(request, request.body, idempotencyKey)
    return { status: response.status, body: withoutId(response.body) }
  }
  const before = new Map<string, { readonly status: number; readonly body: string }>()
  for (const request of requests) before.set(request.name, await ask(request))

  venue.market(parameters("NEW", { maxPriceAtoms: 1_000_000, maxPositionQuantityAtoms: 500_000 }))
  const { records } = venue
  // A cancel that found none of its orders is not remembered, and is decided anew.
  const remembered = requests.filter(({ name }) => !["cancelOrder", "cancelOrderBatch", "cancelCompatOrder"].includes(name))
  expect(remembered.length).toBeGreaterThan(5)
  for (const request of remembered) expect(await ask(request), request.name).toEqual(before.get(request.name))
  expect(venue.records).toBe(records)

  // The market now exists: under a fresh key, the requests that failed without it are decided differently.
  const told = (text: string): boolean => /market_not_found|BadSymbol/.test(text)
  const refused = requests.filter(({ name }) => told(before.get(name)!.body))
  expect(refused.map(({ name }) => name)).toEqual(expect.arrayContaining([
    "placeOrder",
    "placeOrderBatch",
    "cancelAllOrders",
    "createOrder",
    "createOrders",
    "cancelAllCompatOrders"
  ]))
  for (const request of refused) {
    expect(told((await ask(request, `${request.name}-anew`)).body), request.name).toBe(false)
  }

  // A changed body under one of the keys is still refused as a conflict.
  for (const request of remembered) {
    const other = await send(request, otherBody(request.body))
    expect([other.status, Fake.json(other).info?.code ?? Fake.json(other).code], request.name).toEqual([409, "idempotency_key_conflict"])
  }
})

/** A valid body with another meaning: another side, name, time or number, whichever it has. */
const otherBody = (body: Json): Json => {
  const entries = entriesOf(body)
  if (entries !== undefined) return entries.put([...entries.list, ...entries.list])
  const object = body as Members
  if ("side" in object) return { ...object, side: object["side"] === Order.sides[0] ? Order.sides[1] : Order.sides[0] }
  if ("price" in object) return { ...object, price: "59991.0" }
  if ("displayHandle" in object) return { ...object, displayHandle: "another" }
  if ("takeProfit" in object) return { takeProfit: { triggerPrice: "60001.0" } }
  if ("leverageX" in object) return { ...object, leverageX: 7 }
  if ("timeoutMs" in object) return { ...object, timeoutMs: 31_000 }
  if ("idempotencyKey" in object) return { ...object, idempotencyKey: "another" }
  return "symbol" in object ? { ...object, symbol: "OTHER/USDC:USDC" } : { ...object, marketId: "OTHER-USDC-PERP" }
}
