/** Every endpoint declares the statuses with which it can fail: each wrong request gets one of them, and each of them occurs. */
import { Either, Schema } from "effect"
import { describe, expect, test } from "vitest"
import * as Contract from "../../src/edge/Contract.js"
import type { Described } from "../../src/edge/http/Endpoint.js"
import * as Fake from "./FakeVenue.js"

const declared = (endpoint: Described): ReadonlyArray<number> =>
  [...endpoint.answers.keys()].filter((status) => status !== 200).sort((left, right) => left - right)

const named = (name: string): Described => Contract.endpoints.find((endpoint) => endpoint.name === name)!

test.each([
  ["getHealth", [400, 500]],
  ["getReadiness", [400, 500, 503]],
  ["getDocs", [400, 429, 500]],
  ["getDocsPage", [400, 404, 429, 500]],
  ["getCompatTime", [400, 429, 500, 503]],
  ["getBook", [400, 404, 429, 500, 503]],
  ["getCurrentApiKey", [400, 401, 429, 500, 503]],
  ["getCompatBalance", [400, 401, 403, 429, 500, 503]],
  ["listOrders", [400, 401, 403, 404, 429, 500, 503]],
  ["cancelOrderBatch", [400, 401, 403, 409, 413, 415, 429, 500, 503]],
  ["cancelOrder", [400, 401, 403, 404, 409, 413, 415, 429, 500, 503]],
  ["createOrders", [400, 401, 403, 409, 413, 415, 429, 500, 501, 503]],
  ["placeOrder", [400, 401, 403, 404, 409, 413, 415, 422, 429, 500, 503]],
  ["haltEngine", [400, 401, 404, 409, 429, 500, 503]],
  ["putMarket", [400, 401, 404, 409, 413, 415, 429, 500, 503]]
])("%s fails with %j", (name, statuses) => {
  expect(declared(named(name))).toEqual(statuses)
})

const credential = (fake: Fake.FakeVenue, endpoint: Described): { readonly key?: string } => {
  if (endpoint.access === "operator") return { key: Fake.operatorToken }
  if (isOwners(endpoint)) return { key: fake.session }
  return needsKey(endpoint) ? { key: fake.keys.alice } : {}
}

/** A valid request to an endpoint, with everything that it needs. */
const good = (fake: Fake.FakeVenue, endpoint: Described): Fake.Ask => {
  const { body, target } = Contract.examples[endpoint.name as Contract.Name]
  return {
    method: endpoint.method,
    target,
    ...(body === undefined ? {} : { body }),
    ...credential(fake, endpoint),
    idempotencyKey: "k"
  }
}

const needsKey = ({ access }: Described): boolean => ["key", "key_read", "read", "trade"].includes(access)
const isOwners = ({ access }: Described): boolean => access === "owner" || access === "anyone_or_owner"

interface Wrong {
  readonly why: string
  readonly status: number
  readonly rateLimits?: { readonly perKey: number; readonly perAddress: number; readonly signInsPerAddress: number }
  readonly ask: (fake: Fake.FakeVenue, endpoint: Described) => Fake.Ask
}

/** Errors that a request to any route may have, each with a status that only some endpoints answer. */
const wrongs: ReadonlyArray<Wrong> = [
  {
    why: "no credential, or where none is needed one that is nobody's",
    status: 401,
    ask: (fake, endpoint) => ({
      ...good(fake, endpoint),
      headers: { authorization: endpoint.access === "anyone_or_owner" ? "Bearer nobody" : undefined }
    })
  },
  {
    why: "a key without a scope, or where an owner is needed any key",
    status: 403,
    ask: (fake, endpoint) => ({
      ...good(fake, endpoint),
      ...(needsKey(endpoint) ? { key: fake.keys.scopeless } : isOwners(endpoint) ? { key: fake.keys.alice } : {})
    })
  },
  {
    why: "a body of another type",
    status: 415,
    ask: (fake, endpoint) => ({ ...good(fake, endpoint), bytes: Uint8Array.of(120), headers: { "content-type": "text/plain" } })
  },
  {
    why: "a body beyond the limit",
    status: 413,
    ask: (fake, endpoint) => ({ ...good(fake, endpoint), bytes: new TextEncoder().encode(`"${"x".repeat(65_536)}"`) })
  },
  {
    why: "a query that no route takes",
    status: 400,
    ask: (fake, endpoint) => ({ ...good(fake, endpoint), target: `${good(fake, endpoint).target.split("?")[0]!}?colour=blue` })
  },
  {
    why: "a limit that is used up",
    status: 429,
    rateLimits: { perKey: 0, perAddress: 0, signInsPerAddress: 0 },
    // An operator's own requests are not limited, but requests with a wrong operator token are.
    ask: (fake, endpoint) => ({ ...good(fake, endpoint), ...(endpoint.access === "operator" ? { key: "another-token" } : {}) })
  },
  {
    why: "a venue that is starting",
    status: 503,
    ask: (fake, endpoint) => {
      fake.readiness.set("starting")
      return good(fake, endpoint)
    }
  }
]

describe.each(wrongs)("$why is answered $status exactly where that is declared", ({ ask, rateLimits, status }) => {
  // One venue serves all endpoints: a refused request changes nothing, and one that succeeds does not affect the others.
  const fake = Fake.make(rateLimits === undefined ? {} : { rateLimits })
  test.each(Contract.endpoints.map((endpoint) => [endpoint.name, endpoint] as const))("%s", async (name, endpoint) => {
    // The limit of metrics is no setting: it has to be used up.
    if (status === 429 && name === "getMetrics") { for (let left = 120; left > 0; left--) await fake.ask(ask(fake, endpoint)) }
    const answer = await fake.ask(ask(fake, endpoint))
    expect(answer.status === status).toBe(endpoint.answers.has(status))
  })
})

test("an operator's route is not there without a token, as it declares", async () => {
  for (const endpoint of Contract.endpoints.filter(({ access }) => access === "operator")) {
    const hidden = Fake.make({ hidden: true })
    expect((await hidden.ask(good(hidden, endpoint))).status).toBe(404)
    expect(endpoint.answers.has(404)).toBe(true)
  }
})

test("a status that the endpoint does not declare is no answer of it, however well it is formed", async () => {
  const fake = Fake.make()
  const time = { method: "GET", target: "/v2/time" }
  const response = await fake.ask(time)
  expect(() => Fake.conform(Fake.request(time), response)).not.toThrow()
  const refused = await fake.ask({ method: "POST", target: "/v2/order", key: fake.keys.alice, body: { timeInForce: "GTC" } })
  expect(refused.status).toBe(501)
  expect(() => Fake.conform(Fake.request(time), refused)).toThrow("getCompatTime does not declare 501")
  expect(() => Fake.conform(Fake.request({ target: "/v2/nowhere" }), refused)).toThrow("does not declare 501")
})

test("the platform's own decode error is no answer of any endpoint", () => {
  const unsent = { _tag: "HttpApiDecodeError", issues: [], message: "" }
  for (const { answers } of Contract.endpoints) {
    for (const [status, { kind, schema }] of answers) {
      if (status === 200 || kind === "text") continue
      expect(Either.isLeft(Schema.decodeUnknownEither(schema)(unsent))).toBe(true)
    }
  }
})

test("what a path names has 128 characters at most, on every route alike, and nothing is asked of the engine for more", async () => {
  const fake = Fake.make()
  const others: Array<string> = []
  for (const endpoint of Contract.endpoints) {
    const request = good(fake, endpoint)
    const [path = "", query] = request.target.split("?")
    for (const [place, part] of endpoint.path.split("/").entries()) {
      // A passkey's id has the length that its authenticator chose.
      if (!part.startsWith(":") || part === ":credentialId") continue
      const named = (length: number) =>
        path.split("/").map((each, index) => index === place ? "x".repeat(length) : each).join("/")
        + (query === undefined ? "" : `?${query}`)
      const response = await fake.ask({ ...request, target: named(129), idempotencyKey: `${endpoint.name} ${part}` })
      if (response.status !== 400) others.push(`${endpoint.name} ${part}: ${response.status} ${response.body.slice(0, 120)}`)
    }
  }
  expect(others).toEqual([])
})
