/** The published document describes exactly what is served. */
import { expect, test } from "vitest"
import * as Contract from "../../src/edge/Contract.js"
import { isBoilerplate } from "../../src/edge/members/Members.js"
import { codes } from "../../src/edge/http/Envelopes.js"
import * as Router from "../../src/edge/http/Router.js"
import type { Services } from "../../src/edge/http/Call.js"
import * as Metrics from "../../src/edge/http/Metrics.js"
import * as Fake from "./FakeVenue.js"

const document = async (): Promise<any> => Fake.json(await Fake.make().ask({ target: "/openapi.json" }))

test("it lists exactly the routes of the contract, each answered by its own handler", async () => {
  const { paths } = await document()
  const listed = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations as object).map(
      (method) => `${method.toUpperCase()} ${path}`
    )
  )
  const declared = Contract.endpoints.flatMap(({ method, path }) =>
    (method === "GET" ? ["GET", "HEAD"] : [method]).map((one) => `${one} ${path.replaceAll(/:(\w+)/g, "{$1}")}`)
  )
  expect(listed.sort()).toEqual(declared.sort())
  const fake = Fake.make()
  const names: Array<string> = []
  for (const { method, name, path } of Contract.endpoints) {
    await fake.ask({ target: path.replaceAll(/:\w+/g, "x"), method })
    names.push(name)
  }
  // The text of the metrics is reused for a moment, so the first scrape's has to expire.
  const unseen = async (): Promise<ReadonlyArray<string>> => {
    const { body } = await fake.ask({ target: "/metrics" })
    return names.filter((name) => !body.includes(`venue_http_requests_total{route="${name}",`))
  }
  await expect.poll(unseen).toEqual([])
})

test("it documents the statuses of each endpoint in its family's envelope, and nothing that is never sent", async () => {
  const text = JSON.stringify(await document())
  expect(text).not.toContain("HttpApiDecodeError")
  expect(text).not.toContain("did not match the expected schema")
  const { components, paths } = JSON.parse(text)
  for (const { answers, family, isEmpty, method, name, path } of Contract.endpoints) {
    const { responses } = paths[path.replaceAll(/:(\w+)/g, "{$1}")][method.toLowerCase()]
    expect(Object.keys(responses).map(Number).sort()).toEqual([...answers.keys(), ...(isEmpty ? [204] : [])].sort())
    for (const status of [...answers.keys()].filter((each) => each !== 200 && name !== "getReadiness")) {
      const { schema: { $ref } } = responses[status].content["application/json"]
      expect($ref).toMatch(
        new RegExp(`^#/components/schemas/${family === "compat" ? "Compat" : "Native"}Error${status}(With[A-Z]|Of[A-Z]|$)`)
      )
      const { [$ref.split("/").at(-1)]: envelope } = components.schemas
      expect([responses[status].description, envelope.description]).toEqual(
        Array(2).fill(`${status}: ${envelope.properties.code.enum.join(", ")}`)
      )
    }
  }
  const references = [...text.matchAll(/"#\/components\/(schemas|headers)\/([^"]+)"/g)].map(([, kind, name]) => [kind!, name!] as const)
  expect(references.filter(([kind, name]) => components[kind][name] === undefined)).toEqual([])
  const errors = Object.entries(components.schemas as Json).filter(([name]) => /^(?:Native|Compat)Error/.test(name))
  expect(errors.filter(([, { description }]) => description === undefined).map(([name]) => name)).toEqual([])
})

test("trading routes ask for a key and an idempotency key, operator routes for the operator's token", async () => {
  const { components, paths } = await document()
  expect(Object.keys(components.securitySchemes).sort()).toEqual(["apiKey", "operator", "session"])
  expect(paths["/v1/orders"].post.security).toEqual([{ apiKey: [] }, { session: [] }])
  expect(paths["/v1/api-keys/current"].get.security).toEqual([{ apiKey: [] }])
  expect(paths["/v1/accounts/{accountId}/api-keys"].get.security).toEqual([{ session: [] }])
  expect(paths["/v1/orders"].post.parameters).toMatchObject([{ name: "idempotency-key", in: "header", required: true }])
  expect(paths["/v1/operator/engine/halt"].put.security).toEqual([{ operator: [] }])
  expect(paths["/v1/markets"].get.security).toEqual([{}, { apiKey: [] }, { session: [] }])
  expect(paths["/v1/markets/{marketId}"].head.security).toEqual([{}, { apiKey: [] }, { session: [] }])
  expect(paths["/v1/auth/passkeys/registration/verify"].post.security).toEqual([{}, { session: [] }])
  expect(paths["/v1/leaderboard"].get.security).toEqual([])
  expect([paths["/v1/realtime/ticket"].post.requestBody.required, paths["/v1/realtime/ticket"].put.requestBody.required]).toEqual([false,
    true])
})

test("a route without a contract, or a contract without a route, is a defect at start", () => {
  const services = { metrics: Metrics.make() } as unknown as Services
  const all = Object.fromEntries(Contract.endpoints.map(({ name }) => [name, () => {}]))
  const { placeOrder, ...missing } = all
  expect(placeOrder).toBeDefined()
  expect(() => Router.make(Contract.endpoints, services, () => "ready", missing)).toThrow("every endpoint is served: placeOrder")
  expect(() =>
    Router.make(
      Contract.endpoints,
      services,
      () => "ready",
      { ...all, teapot: () => {} }
    )
  ).toThrow("every route is in the contract: teapot")
  expect(() => Router.make(Contract.endpoints, services, () => "ready", all)).not.toThrow()
})

test("it documents the headers of limits and of repeats where they are sent, each once", async () => {
  const { components: { headers }, paths } = await document()
  const { responses } = paths["/v1/orders"].post
  for (const [name, header] of Object.entries({ ...responses[200].headers, ...responses[429].headers })) {
    expect([header, typeof headers[name].description]).toEqual([{ $ref: `#/components/headers/${name}` }, "string"])
  }
  const headersOf = (path: string, method: string, status: number) => Object.keys(paths[path][method].responses[status].headers ?? {})
  const usual = ["x-request-id", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"]
  expect(headersOf("/v1/orders", "post", 200)).toEqual([...usual, "Idempotent-Replayed"])
  expect(headersOf("/v2/order", "post", 422)).toEqual([...usual, "Idempotent-Replayed"])
  expect(headersOf("/v1/orders", "post", 429)).toEqual([...usual, "Retry-After"])
  expect(headersOf("/v1/markets", "head", 200)).toEqual(usual)
  expect(headersOf("/healthz", "get", 200)).toEqual(usual)
  expect(headersOf("/v1/operator/engine/halt", "put", 200)).toEqual([...usual, "Idempotent-Replayed"])
  expect(headersOf("/v1/operator/engine/halt", "put", 401)).toEqual(usual)
})

type Json = Readonly<Record<string, any>>

/** The members of a schema, nested ones included, that are described neither themselves nor by the component to which they refer. */
const wordless = (schema: Json, at: string, components: Json): ReadonlyArray<string> => {
  const isDescribed = (member: Json): boolean =>
    (typeof member["description"] === "string" && !isBoilerplate(member["description"]))
    || (typeof member["$ref"] === "string" && isDescribed(components[member["$ref"].split("/").at(-1)!]))
  const below: ReadonlyArray<Json> = [...(schema["anyOf"] ?? []), ...(schema["items"] === undefined ? [] : [schema["items"]].flat())]
  return [
    ...Object.entries(schema["properties"] as Json ?? {}).flatMap(([name, member]) => [
      ...(isDescribed(member) ? [] : [`${at}.${name}`]),
      ...wordless(member, `${at}.${name}`, components)
    ]),
    ...below.flatMap((each) => wordless(each, at, components))
  ]
}

/** The routes of each code that only a few have. */
const few: Readonly<Record<string, ReadonlyArray<string>>> = {
  operation_not_available: [
    "getCandles",
    "getCompatCandles",
    "getIndexStream",
    "issueBotKey",
    "openIndexStream",
    "setIndexPrice",
    "streamIndexPrices"
  ],
  passkey_assertion_invalid: [
    "beginRegistration",
    "confirmDeposit",
    "confirmLedgerPartyChange",
    "confirmWithdrawal",
    "finishAuthentication",
    "finishRegistration",
    "pinPasskeys",
    "removePasskey"
  ],
  realtime_ticket_rejected: ["rotateTicket"],
  account_not_enabled: [
    "amendOrder",
    "changeLedgerParty",
    "confirmDeposit",
    "confirmLedgerPartyChange",
    "confirmWithdrawal",
    "createDeposit",
    "createOrder",
    "createWithdrawal",
    "placeOrder"
  ],
  client_order_id_in_use: ["createOrder", "placeOrder"],
  index_stream_conflict: ["getIndexStream", "streamIndexPrices"],
  last_passkey: ["removePasskey"],
  deposit_step_conflict: [
    "cancelDeposit",
    "cancelLedgerPartyChange",
    "cancelWithdrawal",
    "changeLedgerParty",
    "confirmDeposit",
    "confirmLedgerPartyChange",
    "confirmWithdrawal",
    "createDeposit",
    "createWithdrawal",
    "fundLedgerParty",
    "pinPasskeys"
  ],
  deposit_rejected: ["confirmDeposit", "confirmLedgerPartyChange", "createDeposit"],
  withdrawal_rejected: ["confirmWithdrawal", "createWithdrawal"]
}

test("a code of something is one of no other route: each says which it may have", async () => {
  const { components, paths } = await document()
  const having: Record<string, Array<string>> = {}
  for (const { answers, method, name, path } of Contract.endpoints) {
    const { responses } = paths[path.replaceAll(/:(\w+)/g, "{$1}")][method.toLowerCase()]
    for (const status of [...answers.keys()].filter((each) => each >= 400 && !(each === 503 && name === "getReadiness"))) {
      const { schema: { $ref } } = responses[status].content["application/json"]
      for (const code of components.schemas[$ref.split("/").at(-1)].properties.code.enum) (having[code] ??= []).push(name)
    }
  }
  expect(Object.keys(having).sort()).toEqual(Object.values(codes).flat().filter((code) => code !== "method_not_allowed").sort())
  for (const code of codes[400].slice(2)) expect(having[code]).toEqual(["exchangeAgentConnect"])
  for (const [code, names] of Object.entries(few)) expect([code, having[code]?.sort()]).toEqual([code, names])
  const keyed = Contract.endpoints.filter(({ headersSchema }) => headersSchema !== undefined).map(({ name }) => name)
  expect(having["idempotency_key_conflict"]?.sort()).toEqual(keyed.sort())
  const owned = new Set(
    Contract.endpoints.filter(({ access }) => access === "owner" || access === "anyone_or_owner").map(({ name }) => name)
  )
  // Of an account without a passkey a key may do it.
  expect(new Set(having["passkey_required"])).toEqual(new Set([...owned, "setProfile"]))
})

test("no id stands in it, which would be the same wherever anything may be", async () => {
  const { paths, ...rest } = await document()
  expect(JSON.stringify({ paths, ...rest })).not.toContain("\"$id\"")
})

test("every member of every request and answer, and every parameter, is described", async () => {
  const { components: { schemas }, paths } = await document()
  const missing = Object.entries(schemas as Json).flatMap(([name, schema]) => wordless(schema, name, schemas))
  for (const [path, operations] of Object.entries(paths as Json)) {
    for (const [method, { parameters, requestBody, responses }] of Object.entries(operations as Json)) {
      const at = `${method} ${path}`
      const contents: ReadonlyArray<Json> = [requestBody, ...Object.values(responses)].flatMap(({ content = {} } = {}) =>
        Object.values(content)
      )
      for (const { schema } of contents) missing.push(...wordless(schema, at, schemas))
      for (const { description, name, schema } of parameters) {
        missing.push(
          ...wordless({ properties: { [name]: { ...schema, ...(description === undefined ? {} : { description }) } } }, at, schemas)
        )
      }
    }
  }
  expect(missing).toEqual([])
  const odd = {
    properties: {
      known: { description: "Known." },
      odd: { type: "string", description: "a string" },
      deep: { items: { properties: { x: {} } } }
    }
  }
  expect(wordless(odd, "Odd", {})).toEqual(["Odd.odd", "Odd.deep", "Odd.deep.x"])
})

test("amounts say in which unit they are, in both forms", async () => {
  const { components: { schemas } } = await document()
  const { price, priceAtoms, quantityAtoms } = schemas.Order.properties
  const { available } = schemas.AccountBalance.properties
  expect([price, priceAtoms, quantityAtoms, available].map(({ description }) => description)).toEqual([
    expect.stringMatching(/In USDC for one unit of the underlying\.$/),
    expect.stringMatching(/In price atoms, 10\^-`priceScale` USDC each\.$/),
    expect.stringMatching(/In size atoms, /),
    expect.stringMatching(/In USDC\.$/)
  ])
  expect(schemas.IndexPriceBody.properties.price.description).toBe("The index price, in USDC for one unit of the underlying.")
})

test("how many entries there are where no number is asked for is told as it is read: 100 of the compatibility layer, else 50", async () => {
  const { paths } = await document()
  const odd = Object.entries(paths as Json).flatMap(([path, operations]) =>
    (operations as Json)["get"]?.parameters
      .filter(({ name, schema }: Json) =>
        name === "limit" && !path.startsWith("/v2/") && schema["$ref"]?.endsWith("/CompatLimitText") === true
      )
      .map(() => path) ?? []
  )
  expect(odd).toEqual([])
})

test("a feature's answers are documented with the header of the policy, and the dead-man switch takes whole numbers alone", async () => {
  const { components, paths } = await document()
  const policy = "x-service-runtime-policy-version"
  const { get, head, post } = paths["/v1/accounts/{accountId}/affiliate/registration"]
  for (const { responses } of [get, head, post]) {
    const told = Object.keys(responses).filter((status) => policy in responses[status].headers)
    expect(told).toEqual(Object.keys(responses))
    expect(Object.keys(responses["200"].headers)).toContain("RateLimit-Limit")
  }
  expect(paths["/v1/accounts/{accountId}/balance"].get.responses["200"].headers).not.toHaveProperty(policy)
  expect(components.schemas.CancelAllAfterBody.properties.timeoutMs).toMatchObject({ type: "integer" })
})
