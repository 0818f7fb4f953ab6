/** The venue's limits as a client reads them, and how an operator sets the one that can be set. `ask` checks every schema. */
import { describe, expect, test } from "vitest"
import { clientOrderIdPattern, idempotencyKeyPattern, maxClientOrderIdLength, maxIdempotencyKeyLength } from "../../src/domain/Ids.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue } from "./LiveVenue.js"

const hourMs = 3_600_000

const set = (venue: LiveVenue, idempotencyRetentionMs: unknown, idempotencyKey: string, key = Fake.operatorToken) =>
  venue.ask({ method: "PUT", target: "/v1/operator/limits", body: { idempotencyRetentionMs }, key, idempotencyKey })

const limits = async (venue: LiveVenue) => Fake.json(await venue.ask({ target: "/v1/limits" }))

test("GET limits needs no credential, and tells what is enforced", async () => {
  const venue = LiveVenue.make()
  expect(await limits(venue)).toEqual({
    version: "external-limits/v1",
    idempotencyRetentionMs: 24 * hourMs,
    idempotencyRetentionSinceEpochMs: 0,
    minIdempotencyRetentionMs: 600_000,
    maxIdempotencyRetentionMs: 30 * 24 * hourMs,
    endedOrderExtraMs: 60_000,
    maxIdempotencyKeyLength: 255,
    maxClientOrderIdLength: 64,
    maxOrdersPerBatch: 32,
    maxCancelsPerBatch: 24,
    maxOpenOrdersPerMarket: 200,
    maxAutoClosesPerMarket: 20,
    maxOrdersMet: 384,
    minCancelAllAfterMs: 1_000,
    maxCancelAllAfterMs: 600_000,
    marginNoticeMs: 24 * hourMs,
    maxRequestBytes: 65_536,
    maxPageEntries: 100,
    maxCompatEntries: 500,
    maxBookLevels: 500,
    keptFills: 131_072,
    rateWindowMs: 60_000,
    maxRequestsPerKey: 1e9,
    maxCancelsBeyondPerKey: 1e9,
    maxRequestsPerAddress: 1e9,
    maxSignInsPerAddress: 1e9,
    maxKeysPerAccount: 64,
    maxTicketFamiliesPerKey: 64,
    minDepositAtoms: "1000000",
    minWithdrawalAtoms: "1000000",
    maxOpenDeposits: 1,
    maxOpenWithdrawals: 8,
    journalSequence: venue.engine.sequence
  })
})

test("the lengths that are told are those of the patterns", () => {
  const fits = (pattern: RegExp, length: number): boolean => pattern.test("x".repeat(length))
  expect([fits(clientOrderIdPattern, maxClientOrderIdLength), fits(clientOrderIdPattern, maxClientOrderIdLength + 1)]).toEqual([true,
    false])
  expect([fits(idempotencyKeyPattern, maxIdempotencyKeyLength), fits(idempotencyKeyPattern, maxIdempotencyKeyLength + 1)])
    .toEqual([true, false])
})

describe("PUT limits", () => {
  test("sets the retention, tells the same again under its key, and is published with its time", async () => {
    const venue = LiveVenue.make()
    const first = await set(venue, hourMs, "l")
    expect(Fake.json(first)).toEqual({
      version: "operator-result/v1",
      operation: "set_limits",
      idempotencyKey: "l",
      sequence: venue.engine.sequence,
      decidedAtEpochMs: venue.atEpochMs
    })
    const setAt = venue.atEpochMs
    const { records } = venue
    venue.atEpochMs += 1_000
    expect((await set(venue, hourMs, "l")).body).toBe(first.body)
    expect((await set(venue, 2 * hourMs, "l")).status).toBe(409)
    expect(venue.records).toBe(records)
    expect(await limits(venue)).toMatchObject({ idempotencyRetentionMs: hourMs, idempotencyRetentionSinceEpochMs: setAt })
  })

  test.each([600_000, 30 * 24 * hourMs])("of %d ms is taken", async (durationMs) => {
    const venue = LiveVenue.make()
    expect((await set(venue, durationMs, "l")).status).toBe(200)
    expect(await limits(venue)).toMatchObject({ idempotencyRetentionMs: durationMs })
  })

  test.each([599_999, 540_000, 600_001, 30 * 24 * hourMs + 60_000, 0, -600_000, 600_000.5, "3600000", null])(
    "of %j is none",
    async (durationMs) => {
      const venue = LiveVenue.make()
      const { records } = venue
      const response = await set(venue, durationMs, "l")
      expect([response.status, Fake.json(response).code]).toEqual([400, "invalid_request"])
      expect(venue.records).toBe(records)
    }
  )

  test("is the operator's alone", async () => {
    const venue = LiveVenue.make()
    const [alice] = await venue.traders(1)
    expect((await set(venue, hourMs, "l", alice!.key)).status).toBe(401)
    expect(await limits(venue)).toMatchObject({ idempotencyRetentionMs: 24 * hourMs })
  })

  test("holds for fences that are set behind it, which tell their time", async () => {
    const venue = LiveVenue.make()
    const [alice] = await venue.traders(1)
    await set(venue, hourMs, "l")
    const response = await venue.ask({
      method: "POST",
      target: `/v1/accounts/${alice!.accountId}/outcomes/fence`,
      body: { idempotencyKey: "late" },
      key: alice!.key,
      idempotencyKey: "f"
    })
    expect(Fake.json(response)).toMatchObject({ fenced: true, holdsUntilEpochMs: venue.atEpochMs + hourMs })
  })
})
