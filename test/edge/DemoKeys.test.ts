/** Demo accounts' keys are recorded, used, ended and forgotten like any other, except those from records of earlier programs. */
import { expect, test } from "vitest"
import * as Snapshot from "../../src/engine/Snapshot.js"
import * as ApiKeys from "../../src/identity/ApiKeys.js"
import { Operation } from "../../src/operations/Operations.js"
import { command } from "../../src/edge/operator/Sent.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue } from "./LiveVenue.js"

const dayMs = 24 * 3_600_000
const usualMs = 30 * dayMs

const open = async (venue: LiveVenue, body: object, idempotencyKey = venue.nextKey()): Promise<any> => {
  const asked = { target: "/v1/operator/demo/accounts", body, key: Fake.operatorToken, idempotencyKey }
  const response = await venue.ask(asked)
  return { ...Fake.json(response), httpStatus: response.status }
}

const current = async (venue: LiveVenue, key: string): Promise<any> => Fake.json(await venue.ask({ target: "/v1/api-keys/current", key }))

test("one is noted when it is issued, ends after thirty days, and is unknown thirty days later", async () => {
  const venue = LiveVenue.make()
  const opened = await open(venue, { accounts: 2 })
  const [{ accountId, apiKey, expiresAtEpochMs }] = opened.accounts
  expect(expiresAtEpochMs).toBe(opened.decidedAtEpochMs + usualMs)
  const { key } = await current(venue, apiKey)
  expect(key).toMatchObject({
    accountId,
    principalKind: "agent",
    clientName: "demo",
    scopes: ["read", "trade"],
    state: "active",
    expiresAtEpochMs
  })
  const account = venue.engine.findAccount(accountId)
  expect(venue.engine.securityEvents(account, Infinity, 10)).toMatchObject([
    { kind: "key_used_from_new_address", credentialId: key.keyId, remoteAddress: "127.0.0.1" },
    { kind: "key_issued", credentialId: key.keyId, remoteAddress: "", detail: "demo" }
  ])
  venue.atEpochMs = expiresAtEpochMs - 1
  expect((await current(venue, apiKey)).key.state).toBe("active")
  venue.atEpochMs = expiresAtEpochMs
  expect(await current(venue, apiKey)).toMatchObject({ code: "unauthorized", apiKeyRejection: "expired" })
  expect(await venue.place({ account, accountId, key: apiKey })).toMatchObject({ httpStatus: 401, apiKeyRejection: "expired" })
  venue.atEpochMs += usualMs - 1
  venue.send({ kind: "PassTime" })
  expect(await current(venue, apiKey)).toMatchObject({ apiKeyRejection: "expired" })
  venue.atEpochMs += 1
  venue.send({ kind: "PassTime" })
  expect(await current(venue, apiKey)).toMatchObject({ apiKeyRejection: "unknown" })
  expect(venue.engine.occupancy.apiKeys).toBe(0)
})

test("how long one is good can be said, within bounds", async () => {
  const venue = LiveVenue.make()
  const lasting = async (keyLifetimeSeconds: unknown) => open(venue, { accounts: 1, keyLifetimeSeconds })
  for (const seconds of [300, 31_536_000]) {
    const { accounts: [{ expiresAtEpochMs }], decidedAtEpochMs } = await lasting(seconds)
    expect(expiresAtEpochMs).toBe(decidedAtEpochMs + seconds * 1_000)
  }
  const { records } = venue
  for (const seconds of [299, 31_536_001, 300.5, "300", null, 0, -1]) {
    expect(await lasting(seconds)).toMatchObject({ httpStatus: 400, code: "invalid_request" })
  }
  expect(venue.records).toBe(records)
})

test("the same request is told the same keys, whenever it comes, and another lifetime is another request", async () => {
  const venue = LiveVenue.make()
  const first = await open(venue, { accounts: 3, collateral: "5" }, "again")
  venue.atEpochMs += 60_000
  expect(await open(venue, { accounts: 3, collateral: "5.0" }, "again")).toEqual({ ...first, requestId: first.requestId })
  // Stating the default lifetime makes the same request as leaving it out.
  expect(await open(venue, { accounts: 3, collateral: "5", keyLifetimeSeconds: 2_592_000 }, "again")).toEqual(first)
  expect(await open(venue, { accounts: 3, collateral: "5", keyLifetimeSeconds: 300 }, "again")).toMatchObject({
    httpStatus: 409,
    code: "idempotency_key_conflict"
  })
})

test("the same request under a key that is free again comes to other accounts with other keys", async () => {
  const venue = LiveVenue.make()
  const first = await open(venue, { accounts: 1, keyLifetimeSeconds: 300 }, "again")
  venue.atEpochMs += usualMs + 300_000
  venue.send({ kind: "PassTime" })
  const second = await open(venue, { accounts: 1, keyLifetimeSeconds: 300 }, "again")
  expect(second.accounts[0].accountId).not.toBe(first.accounts[0].accountId)
  expect(second.accounts[0].apiKey).not.toBe(first.accounts[0].apiKey)
  expect(await current(venue, first.accounts[0].apiKey)).toMatchObject({ apiKeyRejection: "unknown" })
})

test("those of earlier programs' records stay what they are, and a request that one of them answered is told the same", async () => {
  const venue = LiveVenue.make()
  const { fields, text } = ApiKeys.deriveEarlierDemoKey(Fake.signerSecret, "development", "before", 0)
  const { keyId } = fields
  const expiresAtEpochMs = 253_402_300_799_000
  const keys = [{ ...fields, scopes: 3, expiresAtEpochMs }]
  const asked = { accounts: 1, collateralAtoms: 5_000_000 }
  const values = { collateralAtoms: 5_000_000, keys, lifetimeSeconds: 0 }
  venue.run(command("OpenDemoAccounts", Operation.openDemoAccounts, { "idempotency-key": "before" }, asked, values))
  const { state } = venue.engine
  const again = Snapshot.unsafeDecode(Snapshot.encode(state), state.capacity)
  for (const { identity } of [state, again]) expect([...identity.clientNames, ...identity.security.dump().events]).toEqual([])
  const { accounts: [told] } = await open(venue, { accounts: 1, collateral: "5" }, "before")
  // The answer is the earlier program's, to the byte.
  expect(told).toEqual({ accountId: told.accountId, apiKey: text })
  const { key } = await current(venue, text)
  expect(key).toMatchObject({ keyId, state: "active", expiresAtEpochMs })
  expect(key).not.toHaveProperty("clientName")
  expect(venue.engine.securityEvents(venue.engine.findAccount(told.accountId), Infinity, 10)).toEqual([])
  venue.atEpochMs += 400 * dayMs
  venue.send({ kind: "PassTime" })
  expect((await current(venue, text)).key.state).toBe("active")
})
