/** Realtime tickets, from issue to end. `ask` checks every schema. */
import { expect, test } from "vitest"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { State } from "../../src/engine/State.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, type Trader } from "./LiveVenue.js"

const canonical = (state: State): string => {
  const lines: Array<string> = []
  Snapshot.canonical(state, (line) => lines.push(line))
  return lines.join("\n")
}

const target = "/v1/realtime/ticket"
const second = 1_000
const minute = 60 * second
const hour = 60 * minute

interface Told {
  readonly status: number
  readonly ticket: string
  readonly accountId: string
  readonly expiresAt: number
  readonly code?: string
  readonly realtimeTicketFailure?: string
  readonly rejectionGuard?: string
}

const setUp = async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2) as [Trader, Trader]
  const told = async (ask: Fake.Ask): Promise<Told> => {
    const response = await venue.ask(ask)
    return { status: response.status, ...(response.body === "" ? {} : Fake.json(response)) }
  }
  return {
    venue,
    alice,
    bob,
    mint: (key: string = alice.key, body?: unknown) => told({ method: "POST", target, key, ...(body === undefined ? {} : { body }) }),
    rotate: (ticket: unknown) => told({ method: "PUT", target, body: ticket === undefined ? {} : { ticket } }),
    end: (ticket: string) => told({ method: "DELETE", target, body: { ticket } })
  }
}

test("a ticket is its key's account's, for five minutes, and has 43 characters", async () => {
  const { alice, mint, venue } = await setUp()
  const { accountId, expiresAt, status, ticket } = await mint()
  expect([status, accountId, expiresAt]).toEqual([200, alice.accountId, venue.atEpochMs + 5 * minute])
  expect(ticket).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(venue.engine.findTicketFamily(0)).toMatchObject({ scopes: 1, account: alice.account })
})

test("it may trade only where that is asked for and held", async () => {
  const { alice, mint, venue } = await setUp()
  expect((await mint(alice.key, { scopes: ["read", "trade"] })).status).toBe(200)
  expect(venue.engine.findTicketFamily(0)).toMatchObject({ scopes: 3 })
  const issued = Fake.issue("reader", 1)
  venue.engine.state.apiKeys.issue({ ...issued.grant, account: alice.account, createdAtEpochMs: venue.atEpochMs, revokedAtEpochMs: 0 })
  expect((await mint(issued.text)).status).toBe(200)
  expect(await mint(issued.text, { scopes: ["trade"] })).toMatchObject({ status: 403, code: "scope_missing" })
  expect(await mint(alice.key, { scopes: [] })).toMatchObject({ status: 400, code: "invalid_request" })
  expect(await mint("nonsense")).toMatchObject({ status: 401, code: "unauthorized" })
})

test("a rotation has five minutes of its own, and nothing of a ticket is journaled", async () => {
  const { mint, rotate, venue } = await setUp()
  const first = await mint()
  venue.atEpochMs += 4 * minute
  const next = await rotate(first.ticket)
  expect([next.status, next.accountId, next.expiresAt]).toEqual([200, first.accountId, venue.atEpochMs + 5 * minute])
  expect(next.ticket).not.toBe(first.ticket)
  const state = canonical(venue.engine.state)
  for (const { ticket } of [first, next]) expect(state).not.toContain(ticket)
})

test("a lost answer is asked for again within ten seconds, once, and is the same", async () => {
  const { mint, rotate, venue } = await setUp()
  const first = await mint()
  const next = await rotate(first.ticket)
  venue.atEpochMs += 10 * second
  expect(await rotate(first.ticket)).toEqual(next)
  expect(await rotate(first.ticket)).toMatchObject({ status: 401, code: "realtime_ticket_rejected", realtimeTicketFailure: "rotated" })
  expect(await rotate(next.ticket)).toMatchObject({ realtimeTicketFailure: "revoked" })
})

test.each([
  ["a previous ticket after ten seconds", 1, 10 * second + 1],
  ["an older ticket at once", 2, 0]
])("%s ends the whole family, and the owner is told", async (_, rotations, laterMs) => {
  const { alice, mint, rotate, venue } = await setUp()
  const first = await mint()
  const other = await mint()
  let last = first
  for (let count = 0; count < rotations; count++) last = await rotate(last.ticket)
  venue.atEpochMs += laterMs
  expect(await rotate(first.ticket)).toMatchObject({ status: 401, code: "realtime_ticket_rejected", realtimeTicketFailure: "rotated" })
  expect(await rotate(last.ticket)).toMatchObject({ status: 401, realtimeTicketFailure: "revoked" })
  expect(await rotate(first.ticket)).toMatchObject({ status: 401, realtimeTicketFailure: "revoked" })
  expect((await rotate(other.ticket)).status).toBe(200)
  expect(venue.engine.securityEvents(alice.account, Infinity, 10)).toMatchObject([
    { kind: "ticket_family_ended", remoteAddress: "127.0.0.1" },
    { kind: "key_used_from_new_address", remoteAddress: "127.0.0.1" },
    { kind: "key_issued", detail: "demo" }
  ])
})

test("what is no ticket of the venue's is told so, and what is over has expired", async () => {
  const { mint, rotate, venue } = await setUp()
  const { ticket } = await mint()
  expect(await rotate(undefined)).toMatchObject({ status: 401, realtimeTicketFailure: "missing" })
  for (const text of ["", "short", `${ticket}A`, "A".repeat(43), `${ticket.slice(0, -1)}!`]) {
    expect(await rotate(text)).toMatchObject({ status: 401, code: "realtime_ticket_rejected", realtimeTicketFailure: "invalid" })
  }
  expect(await rotate(5)).toMatchObject({ status: 400, code: "invalid_request" })
  const records = venue.records
  venue.atEpochMs += 5 * minute
  expect(await rotate(ticket)).toMatchObject({ status: 401, realtimeTicketFailure: "expired" })
  expect(venue.records).toBe(records)
})

test("a family lives twelve hours, and no longer than its key", async () => {
  const { alice, mint, rotate, venue } = await setUp()
  const begun = venue.atEpochMs
  let told = await mint()
  while (venue.atEpochMs < begun + 12 * hour - 4 * minute) {
    venue.atEpochMs += 4 * minute
    told = await rotate(told.ticket)
    expect(told.status).toBe(200)
  }
  expect(told.expiresAt).toBe(begun + 12 * hour)
  venue.atEpochMs = begun + 12 * hour
  expect(await rotate(told.ticket)).toMatchObject({ realtimeTicketFailure: "expired" })

  const issued = Fake.issue("short", 1)
  const expiresAtEpochMs = venue.atEpochMs + minute
  venue.engine.state.apiKeys.issue({
    ...issued.grant,
    account: alice.account,
    createdAtEpochMs: venue.atEpochMs,
    expiresAtEpochMs,
    revokedAtEpochMs: 0
  })
  expect((await mint(issued.text)).expiresAt).toBe(expiresAtEpochMs)
})

test("a key that is revoked takes its tickets with it", async () => {
  const { alice, mint, rotate, venue } = await setUp()
  const { ticket } = await mint()
  const { keyId } = venue.engine.apiKeys(alice.account, 1)[0]!
  venue.send({ kind: "OpenOwnerAccount", ...passkey(venue) })
  const owner = venue.engine.findSession(tokenSha256)!
  expect(owner.account).not.toBe(alice.account)
  // The owner of another account changes nothing. The owner of the key's account is put in place by hand, as a demo account has none.
  venue.send({ kind: "RevokeApiKey", account: owner.account, credential: owner.credential, keyId, remoteAddress: "" })
  expect((await rotate(ticket)).status).toBe(200)
  const { sessions } = venue.engine.state.identity
  const number = sessions.total
  sessions.add({ ...sessions.find(owner.credential)!, number, account: alice.account, tokenSha256: "b".repeat(64) })
  const latest = await rotate(ticket)
  venue.send({ kind: "RevokeApiKey", account: alice.account, credential: number, keyId, remoteAddress: "" })
  // The key can mint no other, so its holder is not told to try.
  const safeMessage = "The API key that minted the ticket was revoked: mint another one with a key that may act."
  expect(await rotate(latest.ticket)).toMatchObject({ status: 401, realtimeTicketFailure: "revoked", safeMessage })
})

test("an operator revokes any key, its tickets end with it, and what an operator does to an account is told", async () => {
  const { alice, mint, rotate, venue } = await setUp()
  const { ticket } = await mint()
  const { keyId } = venue.engine.apiKeys(alice.account, 1)[0]!
  const operate = (method: string, path: string, idempotencyKey: string, body?: object) =>
    venue.ask({ method, target: `/v1/operator/${path}`, key: Fake.operatorToken, idempotencyKey, ...(body === undefined ? {} : { body }) })
  await venue.place(alice)
  await operate("POST", "orders/cancel", "1", { accountId: alice.accountId })
  await operate("POST", "demo/credits", "2", { accountId: alice.accountId, amount: "1.5" })
  for (const idempotencyKey of ["3", "4"]) await operate("PUT", `accounts/${alice.accountId}/flags`, idempotencyKey, { bot: true })
  const revoke = async (idempotencyKey: string, id = keyId) => Fake.json(await operate("DELETE", `api-keys/${id}`, idempotencyKey))
  const revoked = await revoke("5")
  expect(revoked).toMatchObject({ version: "operator-key-revoke/v1", key: { keyId, accountId: alice.accountId, state: "revoked" } })
  const revokedAtEpochMs = venue.atEpochMs
  venue.atEpochMs += second
  expect(await revoke("5")).toEqual(revoked)
  expect(await revoke("6")).toMatchObject({ key: { revokedAtEpochMs } })
  expect(await revoke("7", "key_none")).toMatchObject({ code: "not_found" })
  expect(await rotate(ticket)).toMatchObject({ status: 401, realtimeTicketFailure: "revoked" })
  expect(await mint()).toMatchObject({ status: 401, code: "unauthorized" })
  const told = venue.engine.securityEvents(alice.account, Infinity, 9).map(({ detail, kind }) => [kind, detail])
  expect(told).toEqual([
    ["operator_revoked_key", "demo"],
    ["operator_set_flags", "bot: yes"],
    ["operator_credited", "1.500000 USDC"],
    ["operator_canceled_orders", "1 order"],
    ["key_used_from_new_address", ""],
    ["key_issued", "demo"]
  ])
})

const tokenSha256 = "a".repeat(64)
const passkey = (venue: LiveVenue) => ({
  credentialId: "AAAA",
  userHandle: "BBBB",
  publicKey: "CCCC",
  signCount: 0,
  transports: "internal",
  displayName: "A passkey",
  tokenSha256,
  expiresAtEpochMs: venue.atEpochMs + 12 * hour,
  remoteAddress: "192.0.2.1"
})

test("whoever holds a ticket may end its family; of any other text of that form nothing becomes", async () => {
  const { end, mint, rotate, venue } = await setUp()
  const first = await mint()
  const other = await mint()
  const next = await rotate(first.ticket)
  const latest = await rotate(next.ticket)
  const { records } = venue
  expect((await end("A".repeat(43))).status).toBe(204)
  expect(venue.records).toBe(records)
  // An old ticket proves nothing: it ends no session, and reveals none.
  expect((await end(first.ticket)).status).toBe(204)
  expect((await rotate(latest.ticket)).status).toBe(200)
  expect((await end(latest.ticket)).status).toBe(204)
  expect(await rotate(latest.ticket)).toMatchObject({ status: 401, realtimeTicketFailure: "revoked" })
  expect((await end(latest.ticket)).status).toBe(204)
  expect((await rotate(other.ticket)).status).toBe(200)
  expect((await end("short")).status).toBe(400)
})

test("a key has 64 live families: those that are over or ended make room", async () => {
  const { bob, end, mint, venue } = await setUp()
  const first = await mint()
  for (let count = 1; count < 64; count++) expect((await mint()).status).toBe(200)
  const refused = {
    status: 429,
    code: "rate_limited",
    rejectionGuard: "ticket_families",
    retryable: false,
    recoveryActions: ["refresh_state"]
  }
  expect(await mint()).toMatchObject(refused)
  // A minute, the longest that a 429 may ask for, does not help: a ticket has to end.
  venue.atEpochMs += minute
  expect(await mint()).toMatchObject(refused)
  venue.atEpochMs -= minute
  expect((await mint(bob.key)).status).toBe(200)
  await end(first.ticket)
  expect((await mint()).status).toBe(200)
  expect((await mint()).status).toBe(429)
  venue.atEpochMs += 5 * minute
  for (let count = 0; count < 64; count++) expect((await mint()).status).toBe(200)
  expect(venue.engine.state.identity.tickets.all().length).toBeLessThanOrEqual(65)
})

test("a restart from a snapshot goes on with every family, and makes the same successors", async () => {
  const { alice, mint, rotate, venue } = await setUp()
  const first = await mint()
  const next = await rotate(first.ticket)
  const { state } = venue.engine
  const restored = Snapshot.unsafeDecode(Snapshot.encode(state), { orders: 10_000, idempotencyKeys: 10_000 })
  expect(canonical(restored)).toBe(canonical(state))
  expect(restored.identity.tickets.find(0)).toEqual(state.identity.tickets.find(0))
  expect(restored.identity.tickets.total).toBe(1)
  expect(await rotate(first.ticket)).toEqual(next)
  expect(next.accountId).toBe(alice.accountId)
})
