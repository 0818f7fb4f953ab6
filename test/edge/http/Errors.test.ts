/** Every failure in both envelopes, through the real routes: `ask` decodes each response with its schema. */
import { describe, expect, test } from "vitest"
import { refuse } from "../../../src/operations/Operations.js"
import * as Outcome from "../../../src/operations/Outcome.js"
import * as Refusal from "../../../src/domain/Refusal.js"
import { Histogram } from "../../../src/domain/Histogram.js"
import { Call, type Services } from "../../../src/edge/http/Call.js"
import type { Described } from "../../../src/edge/http/Endpoint.js"
import type { Request, Response } from "../../../src/edge/http/Listener.js"
import * as Endpoint from "../../../src/edge/http/Endpoint.js"
import * as Errors from "../../../src/edge/http/Errors.js"
import { Schema } from "effect"
import * as Envelopes from "../../../src/edge/http/Envelopes.js"
import * as Fake from "../FakeVenue.js"

const decidedAt = 1_700_000_123_456
/** Refusals of stage 1 are made before a record is written. */
const isStage1 = (refusal: number): boolean => refusal < 20
const compatBody = { symbol: "BTC/USDC:USDC", type: "limit", side: "buy", amount: 0.25, price: 100.5 }

/** One venue for all rows: each row sets the next outcome itself, whether or not these requests could have it. */
const fake = Fake.make({ anyCode: true })

describe.each(Fake.refusals)("refusal %i", (code, description) => {
  const refusal = code as Outcome.Refused["refusal"]
  const outcome = isStage1(code)
    ? refuse(refusal, 7, decidedAt)
    : {
      sequence: 7,
      atEpochMs: decidedAt,
      refusal: 0 as const,
      replayed: false,
      entries: [Outcome.refused(refusal, 449, 10, 2500, 20)]
    }

  test(`${description.name} alone, native`, async () => {
    fake.next = () => outcome
    const response = await fake.ask({ target: "/v1/orders", body: Fake.order(fake), key: fake.keys.alice, idempotencyKey: "k" })
    const body = Fake.json(response)
    expect(response.status).toBe(description.status)
    expect(body.code).toBe(description.code)
    expect(body.rejectionGuard).toBe(description.guard)
    expect(body.apiKeyRejection).toBe(description.apiKeyRejection)
    expect(body.requestId).toBe(response.headers["x-request-id"])
    if (isStage1(code)) expect(body.occurredAtEpochMs).not.toBe(decidedAt)
    else expect(body.occurredAtEpochMs).toBe(decidedAt)
  })

  test(`${description.name} alone, compat`, async () => {
    fake.next = () => outcome
    const response = await fake.ask({ target: "/v2/order", body: compatBody, key: fake.keys.alice, idempotencyKey: "k" })
    const body = Fake.json(response)
    expect(response.status).toBe(description.status)
    expect(body.name).toBe(description.compatName)
    expect(body.info.code).toBe(description.code)
    expect(new Date(body.datetime).getTime()).toBe(body.timestamp)
  })

  test(`${description.name} in batches`, async () => {
    fake.next = () => outcome
    const native = await fake.ask({
      target: "/v1/orders/batch",
      body: { orders: [Fake.order(fake)] },
      key: fake.keys.alice,
      idempotencyKey: "k"
    })
    fake.next = () => outcome
    const compat = await fake.ask({ target: "/v2/orders", body: [compatBody], key: fake.keys.alice, idempotencyKey: "k" })
    if (isStage1(code)) {
      expect([native.status, compat.status]).toEqual([description.status, description.status])
      return
    }
    expect([native.status, compat.status]).toEqual([200, 200])
    const entry = Fake.json(native).outcomes[0]
    expect(entry).toMatchObject({
      index: 0,
      accepted: false,
      status: "canceled",
      orderId: "ord_ch",
      code: description.code,
      filledQuantityAtoms: "0"
    })
    expect(entry.rejectionGuard).toBe(description.guard)
    const compatEntry = Fake.json(compat)[0]
    expect(compatEntry).toMatchObject({
      index: 0,
      accepted: false,
      status: "canceled",
      filled: 0,
      amount: 0.25,
      name: description.compatName
    })
    expect(compatEntry.info).toMatchObject({
      index: 0,
      accepted: false,
      status: "canceled",
      code: description.code,
      idempotencyKey: "k"
    })
  })
})

test("what a refusal compared is told in the guard's unit", async () => {
  const fake = Fake.make()
  const told = async (refusal: number, bound = 10, came = 2500): Promise<unknown> => {
    fake.next = () => ({
      sequence: 7,
      atEpochMs: decidedAt,
      refusal: 0,
      replayed: false,
      entries: [Outcome.refused(refusal as Outcome.Refused["refusal"], 449, bound, came, Number.NaN)]
    })
    const response = await fake.ask({ target: "/v1/orders", body: Fake.order(fake), key: fake.keys.alice, idempotencyKey: "k" })
    const { actual, limit, nearest } = Fake.json(response)
    return { actual, limit, nearest }
  }
  expect(await told(34), "a price").toEqual({ limit: "1.0", actual: "250.0", nearest: undefined })
  expect(await told(32), "a quantity").toEqual({ limit: "0.0010", actual: "0.2500", nearest: undefined })
  expect(await told(41), "money").toEqual({ limit: "0.000010", actual: "0.002500", nearest: undefined })
  expect(await told(35), "a count").toEqual({ limit: "10", actual: "2500", nearest: undefined })
  expect(await told(43), "a price it met").toEqual({ limit: "1.0", actual: "250.0", nearest: undefined })
  expect(await told(23, Number.NaN, 5), "a status").toEqual({ limit: undefined, actual: "cancel_only", nearest: undefined })
  expect(await told(22), "nothing compared").toEqual({ limit: undefined, actual: undefined, nearest: undefined })
})

/** The functions of `Errors` that make a failure. */
type Making = {
  [K in keyof typeof Errors]: (typeof Errors)[K] extends (...given: never) => Errors.Failure ? K : never
}[keyof typeof Errors]

/** A failure of each of them: the compiler asks for one of a new function. */
const made: Readonly<Record<Making, Errors.Failure>> = {
  refused: Errors.refused(Refusal.Refusal.keyLimit),
  refusedForMarkets: Errors.refusedForMarkets(Refusal.Refusal.keyLimit, ["BTC-USDC-PERP"]),
  invalidRequest: Errors.invalidRequest("quantity: must be a decimal string"),
  marketAssetsInvalid: Errors.marketAssetsInvalid("marketId: a market's base must be another asset than its quote."),
  offGrid: Errors.offGrid(Refusal.Refusal.priceOffGrid, "price: has more than 1 decimals.", {}),
  routeMeant: Errors.routeMeant({ method: "GET", path: "/v1/markets" }),
  notSupported: Errors.notSupported("timeInForce is not supported."),
  memberNotSupported: Errors.memberNotSupported("timeInForce"),
  operationNotAvailable: Errors.operationNotAvailable("Index prices do not come from operators here."),
  rateLimited: Errors.rateLimited(60),
  keyRejected: Errors.keyRejected("revoked"),
  assertionInvalid: Errors.assertionInvalid("The assertion was not made for this challenge."),
  registrationInvalid: Errors.registrationInvalid("The response was not made for this challenge."),
  userCodeUnknownBeside: Errors.userCodeUnknownBeside(true, ["key_1"]),
  keyLimitOfBots: Errors.keyLimitOfBots(["key_1"]),
  grantFetched: Errors.grantFetched("key_1"),
  workloadTokenRejected: Errors.workloadTokenRejected("The token has expired."),
  sequenceAhead: Errors.sequenceAhead({ limit: "41", actual: "42" }),
  sequenceNotRetained: Errors.sequenceNotRetained({ limit: "41", actual: "17", nearest: "1000041" }),
  accountOpenings: Errors.accountOpenings(1),
  ledgerDeclines: Errors.ledgerDeclines("deposit_rejected"),
  shortfallNotAccepted: Errors.shortfallNotAccepted({}),
  tooManyPieces: Errors.tooManyPieces("deposit_rejected", "12000000")
}

test("every failure that the edge can make is among those that the reference lists", () => {
  const listed = new Set(
    [...Errors.all, ...Refusal.all.map(([, description]) => ({ description }))].map(({ description: { name } }) => name)
  )
  const values = Object.values<unknown>(Errors).filter((value) => typeof value === "object" && value !== null && "description" in value)
  const unlisted = [...values as ReadonlyArray<Errors.Failure>, ...Object.values(made)].map(({ description: { name } }) => name)
    .filter((name) => !listed.has(name))
  expect(values.length).toBeGreaterThan(40)
  expect(unlisted).toEqual([])
})

test("failures of the edge decode in both envelopes", () => {
  for (const failure of Errors.all) {
    for (const family of ["native", "compat"] as const) {
      const status = failure.description.status as Envelopes.Status
      const schema = family === "compat" ? Envelopes.compatError(status) : Envelopes.nativeError(status)
      const body: unknown = JSON.parse(Errors.body(family, failure, "req_1", decidedAt))
      Schema.decodeUnknownSync(schema as Schema.Schema<unknown>, { onExcessProperty: "error" })(body)
    }
  }
})

test("a defect is answered 500, counted, and tells nothing; the log has it under the answer's id, without the key", async () => {
  const lines: Array<string> = []
  const fake = Fake.make({ logged: (line) => void lines.push(line) })
  fake.next = () => {
    throw new Error(`a secret of the engine room, asked for with ${fake.keys.alice}`)
  }
  const response = await fake.ask({ target: "/v1/orders", body: Fake.order(fake), key: fake.keys.alice, idempotencyKey: "k" })
  expect(response.status).toBe(500)
  expect(response.body).not.toContain("secret")
  expect(Fake.json(response).code).toBe("internal_error")
  const metrics = await fake.ask({ target: "/metrics" })
  expect(metrics.body).toContain("venue_refusals_total{name=\"InternalError\"} 1")
  const [line] = lines
  expect(lines).toHaveLength(1)
  expect(JSON.parse(line!)).toEqual({
    requestId: response.headers["x-request-id"],
    route: "placeOrder",
    time: expect.any(String),
    level: "error",
    message: "A request met a defect",
    cause: expect.stringContaining("a secret of the engine room, asked for with [hidden]")
  })
})

test.each([
  ["a read", (): Fake.Ask => ({ target: "/v1/markets" })],
  ["a refusal", (fake: Fake.FakeVenue): Fake.Ask => ({
    target: "/v1/orders",
    idempotencyKey: "k",
    body: Fake.order(fake, { accountId: fake.accounts[1] })
  })]
])("a defect as %s is answered once it is durable is kept from the writer, and logged", async (_, asked) => {
  const lines: Array<string> = []
  const fake = Fake.make({ logged: (line) => void lines.push(line) })
  fake.hold = true
  let answers = 0
  fake.application.handle(Fake.request({ ...asked(fake), key: fake.keys.alice }), () => {
    answers++
    throw new Error("a defect of the answer")
  })
  expect(answers).toBe(0)
  fake.release()
  expect([answers, lines.map((line) => JSON.parse(line))]).toMatchObject([1, [{ level: "error", message: "A request met a defect" }]])
})

test.each([
  ["the first answer is answered, with the headers of every answer", 1, {
    "x-service-runtime-policy-version": "v",
    "ratelimit-limit": "9"
  }],
  ["every answer is answered with what needs none of them", Number.POSITIVE_INFINITY, {}]
])("a defect in the headers of %s", (_, times, more) => {
  let [defects, looks] = [0, 0]
  const refused: Array<string> = []
  const services = {
    barrier: { whenDurable: (_: number, callback: () => void) => callback() },
    defect: () => defects++,
    metrics: { refused: (name: string) => refused.push(name) },
    monotonicNanos: () => 0,
    now: () => decidedAt,
    runtimePolicy: {
      get headers() {
        if (++looks <= times) throw new Error("a defect of the headers")
        return { "x-service-runtime-policy-version": "v" }
      }
    },
    state: { sequence: 0 }
  } as unknown as Services
  const endpoint = { access: "public", budget: "public", family: "native", feature: "affiliate" } as unknown as Described
  const counts = { route: "r", byStatus: new Map<number, number>(), durations: new Histogram() }
  const answers: Array<Response> = []
  const call = new Call(services, endpoint, counts, {} as Request, {}, "", "req_1", (response) => answers.push(response))
  call.limited(9, 8, 7)
  call.whenDurable(() => call.succeed("{}"))
  expect(answers).toMatchObject([{ status: 500, headers: { "x-request-id": "req_1", "cache-control": "no-store", ...more } }])
  expect(JSON.parse(answers[0]!.body)).toMatchObject({ code: "internal_error", requestId: "req_1" })
  expect([[...counts.byStatus], refused, defects]).toEqual([[[500, 1]], ["InternalError"], Math.min(times, 2)])
})

test("an outcome without its entry is a defect of the venue, not of the writer", async () => {
  const fake = Fake.make()
  fake.next = () => ({ sequence: 7, atEpochMs: decidedAt, refusal: 0, replayed: false, entries: [] })
  const response = await fake.ask({ target: "/v1/orders", body: Fake.order(fake), key: fake.keys.alice, idempotencyKey: "k" })
  expect(response.status).toBe(500)
})

test("paths belong to the compatibility layer under /v2 and to the native one elsewhere", () => {
  const families = ["/v2", "/v2/", "/v2/orders", "/v20", "/v1/v2", "/"].map(Endpoint.familyOf)
  expect(families).toEqual(["compat", "compat", "compat", "native", "native", "native"])
})
