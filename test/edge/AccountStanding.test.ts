/** Who may trade, the operator's flags, credits, favorites and affiliates. `ask` checks every schema. */
import { expect, test } from "vitest"
import { referralCode } from "../../src/domain/ReferralCode.js"
import type { Response } from "../../src/edge/http/Listener.js"
import * as Invariants from "../../src/engine/Invariants.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { State } from "../../src/engine/State.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId, order, type Trader } from "./LiveVenue.js"

const canonical = (state: State): ReadonlyArray<string> => {
  const lines: Array<string> = []
  Snapshot.canonical(state, (line) => lines.push(line))
  return lines
}

/** The state is the same after a snapshot, and its invariants hold. */
const holds = ({ engine: { state } }: LiveVenue): void => {
  const restored = Snapshot.unsafeDecode(Snapshot.encode(state), { orders: 10_000, idempotencyKeys: 10_000 })
  expect(canonical(restored)).toEqual(canonical(state))
  expect(Invariants.firstBroken(state)).toBeUndefined()
  for (let account = 0; account < state.accounts.count; account++) {
    expect(restored.standing.mayTrade(account)).toBe(state.standing.mayTrade(account))
  }
}

const operator = async (
  venue: LiveVenue,
  method: string,
  target: string,
  body: unknown,
  idempotencyKey = venue.nextKey()
): Promise<any> => {
  const response = await venue.ask({ method, target, body, key: Fake.operatorToken, idempotencyKey })
  return { ...Fake.json(response), httpStatus: response.status }
}

/** An account opened with a passkey, and a key that its owner granted to an agent. */
const owner = (venue: LiveVenue): Trader => {
  venue.send({
    kind: "OpenOwnerAccount",
    credentialId: "AAAA",
    userHandle: "BBBB",
    publicKey: "CCCC",
    signCount: 0,
    transports: "internal",
    displayName: "A passkey",
    tokenSha256: "a".repeat(64),
    remoteAddress: "192.0.2.1"
  })
  const { account } = venue.engine.findSession("a".repeat(64))!
  const issued = Fake.issue("owner", 3)
  venue.engine.state.apiKeys.issue({ ...issued.grant, account, createdAtEpochMs: venue.atEpochMs, revokedAtEpochMs: 0 })
  return { account, accountId: venue.engine.accountId(account), key: issued.text }
}

test("an account that was opened by a passkey trades once it has been credited", async () => {
  const venue = LiveVenue.make()
  const olga = owner(venue)
  expect(await venue.place(olga)).toMatchObject({ httpStatus: 403, code: "account_not_enabled" })
  const told = await operator(venue, "POST", "/v1/operator/demo/credits", { accountId: olga.accountId, amount: "1000" })
  expect(told).toMatchObject({ httpStatus: 200, amountAtoms: "1000000000", balance: "1000.000000" })
  expect(await venue.place(olga)).toMatchObject({ httpStatus: 200, status: "open" })
  const { entries } = await venue.read(olga, `/v1/accounts/${olga.accountId}/ledger`)
  expect(entries).toMatchObject([{ cause: "credit", amountAtoms: "1000000000", balanceAtoms: "1000000000" }])
  holds(venue)
})

test("a credit is done once under its key, and never beyond what an account may hold", async () => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1, "10") as [Trader]
  const credit = (amount: string, key?: string) =>
    operator(venue, "POST", "/v1/operator/demo/credits", { accountId: alice.accountId, amount }, key)
  const first = await credit("5", "once")
  expect(await credit("5.0", "once")).toEqual(first)
  expect(await credit("6", "once")).toMatchObject({ httpStatus: 409, code: "idempotency_key_conflict" })
  expect(first.balance).toBe("15.000000")
  for (const amount of ["0", "0.0000001"]) expect(await credit(amount)).toMatchObject({ httpStatus: 400, code: "invalid_request" })
  expect(await credit("4503599627")).toMatchObject({ httpStatus: 400, limit: "4503599627.370496" })
  const unknown = { accountId: "acc_nobody", amount: "1" }
  expect(await operator(venue, "POST", "/v1/operator/demo/credits", unknown)).toMatchObject({ httpStatus: 404, code: "account_not_found" })
  expect(await operator(venue, "POST", "/v1/operator/demo/credits", { accountId: "acc_insurance", amount: "1" })).toMatchObject({
    httpStatus: 404
  })
  holds(venue)
})

test.each([["staging", 404], ["production", 404], ["testnet", 200]] as const)("in %s a demo credit is answered %d",
  async (environment, status) => {
    const venue = LiveVenue.make(undefined, { environment })
    const olga = owner(venue)
    const told = await operator(venue, "POST", "/v1/operator/demo/credits", { accountId: olga.accountId, amount: "1" })
    expect(told.httpStatus).toBe(status)
  })

test("a disabled account reduces and cancels, and does nothing else", async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2) as [Trader, Trader]
  await venue.place(bob, { side: "sell", price: "100", quantity: "2.000" })
  await venue.place(alice, { price: "100" })
  const resting = await venue.place(alice, { price: "95" })
  const flags = `/v1/operator/accounts/${alice.accountId}/flags`
  expect(await operator(venue, "PUT", flags, { disabled: true, load_harness: true })).toMatchObject({
    httpStatus: 200,
    flags: { bot: false, load_harness: true, disabled: true },
    mayTrade: false
  })
  expect(await venue.place(alice, { price: "90" })).toMatchObject({ httpStatus: 403, code: "account_not_enabled" })
  const compat = await venue.post(alice, "/v2/order", { symbol: "AAA/USDC:USDC", type: "limit", side: "buy", amount: 1, price: 90 })
  expect([compat.status, Fake.json(compat).name]).toEqual([403, "AccountNotEnabled"])
  const batch = Fake.json(await venue.post(alice, "/v1/orders/batch", {
    orders: [{
      accountId: alice.accountId,
      marketId,
      clientOrderId: "in-batch",
      side: "buy",
      orderType: "limit",
      price: "90",
      quantity: "1"
    }]
  }))
  expect(batch.outcomes).toMatchObject([{ accepted: false, code: "account_not_enabled" }])
  const amend = await venue.post(alice, `/v1/orders/${resting.orderId}/amend`, { accountId: alice.accountId, marketId, price: "94" })
  expect([amend.status, Fake.json(amend).code]).toEqual([403, "account_not_enabled"])
  const preview = Fake.json(await venue.ask({
    target: `/v1/accounts/${alice.accountId}/margin/preview`,
    key: alice.key,
    body: order(alice, { price: "90.0" })
  }))
  expect(JSON.stringify(preview)).toContain("account_not_enabled")
  expect(await venue.place(alice, { side: "sell", price: "105", reduceOnly: true })).toMatchObject({ httpStatus: 200, status: "open" })
  const cancel = await venue.post(alice, `/v1/orders/${resting.orderId}/cancel`, { accountId: alice.accountId, marketId })
  expect(cancel.status).toBe(200)
  expect(await venue.place(bob, { price: "90" })).toMatchObject({ httpStatus: 200 })
  holds(venue)
  // A flag that is not named stays as it is.
  expect(await operator(venue, "PUT", flags, { disabled: false })).toMatchObject({
    flags: { bot: false, load_harness: true, disabled: false },
    mayTrade: true
  })
  expect(await venue.place(alice, { price: "90" })).toMatchObject({ httpStatus: 200 })
  holds(venue)
})

test("a disabled account is not enabled by a credit, and a flag does not enable one that was not credited", async () => {
  const venue = LiveVenue.make()
  const olga = owner(venue)
  const flags = `/v1/operator/accounts/${olga.accountId}/flags`
  expect(await operator(venue, "PUT", flags, { disabled: true })).toMatchObject({ mayTrade: false })
  await operator(venue, "POST", "/v1/operator/demo/credits", { accountId: olga.accountId, amount: "1000" })
  expect(await venue.place(olga)).toMatchObject({ code: "account_not_enabled" })
  expect(await operator(venue, "PUT", flags, { disabled: false })).toMatchObject({ mayTrade: true })
  expect(await venue.place(olga)).toMatchObject({ httpStatus: 200 })
  const second = LiveVenue.make()
  const poor = owner(second)
  expect(await operator(second, "PUT", `/v1/operator/accounts/${poor.accountId}/flags`, { bot: true, disabled: false })).toMatchObject({
    flags: { bot: true },
    mayTrade: false
  })
  holds(second)
})

test("flags are set once under their key", async () => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1) as [Trader]
  const flags = `/v1/operator/accounts/${alice.accountId}/flags`
  const first = await operator(venue, "PUT", flags, { bot: true }, "once")
  await operator(venue, "PUT", flags, { bot: false })
  expect(await operator(venue, "PUT", flags, { bot: true }, "once")).toEqual(first)
  expect(await operator(venue, "PUT", flags, { disabled: true }, "once")).toMatchObject({ httpStatus: 409 })
  expect(await operator(venue, "PUT", "/v1/operator/accounts/acc_nobody/flags", {})).toMatchObject({
    httpStatus: 404,
    code: "account_not_found"
  })
})

const favorite = (venue: LiveVenue, method: string, { accountId, key }: Pick<Trader, "accountId" | "key">, market = marketId) =>
  venue.ask({ method, target: `/v1/accounts/${accountId}/favorites/${market}`, key })

test("a favorite is its account's own, and is told with the market to whoever asks for that account", async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2) as [Trader, Trader]
  const added = await favorite(venue, "PUT", alice)
  expect([added.status, Fake.json(added)]).toEqual([
    200,
    { version: "external-market-favorite/v1", accountId: alice.accountId, marketId, favorite: true }
  ])
  const seen = async (trader: Trader | undefined) => [
    (await venue.read(trader, `/v1/markets/${marketId}`)).market.favorite,
    (await venue.read(trader, "/v1/markets")).markets[0].market.favorite
  ]
  expect(await seen(alice)).toEqual([true, true])
  expect(await seen(bob)).toEqual([false, false])
  expect(await seen(undefined)).toEqual([false, false])
  // An invalid credential is no reason to hide public data.
  expect(await seen({ ...alice, key: "nonsense" })).toEqual([false, false])
  holds(venue)
  const removed = await favorite(venue, "DELETE", alice)
  expect([removed.status, Fake.json(removed).favorite]).toEqual([200, false])
  expect(await seen(alice)).toEqual([false, false])
})

test("only what changes a favorite is journaled", async () => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1) as [Trader]
  // The first use of a key is journaled, whatever the request; it is not part of what is counted here.
  await venue.read(alice, "/v1/api-keys/current")
  const { records } = venue
  for (const [method, after] of [["DELETE", 0], ["PUT", 1], ["PUT", 1], ["DELETE", 2], ["DELETE", 2]] as const) {
    expect((await favorite(venue, method, alice)).status).toBe(200)
    expect(venue.records - records).toBe(after)
  }
})

test("favorites are of markets that there are, by a key that may trade, and of one's own account", async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2) as [Trader, Trader]
  const answers = await Promise.all([
    favorite(venue, "PUT", alice, "NO-USDC-PERP"),
    favorite(venue, "DELETE", alice, "NO-USDC-PERP"),
    favorite(venue, "PUT", { accountId: bob.accountId, key: alice.key }),
    favorite(venue, "PUT", { accountId: "acc_nobody", key: alice.key })
  ])
  expect(answers.map((answer) => [answer.status, Fake.json(answer).code])).toEqual([
    [404, "market_not_found"],
    [404, "market_not_found"],
    [400, "invalid_request"],
    [400, "invalid_request"]
  ])
})

const registration = (venue: LiveVenue, method: string, { accountId, key }: Trader) =>
  venue.ask({ method, target: `/v1/accounts/${accountId}/affiliate/registration`, key })

test("an affiliate has one code for ever", async () => {
  const venue = LiveVenue.make(undefined, { affiliateEnabled: true })
  const [alice, bob] = await venue.traders(2) as [Trader, Trader]
  const before = await registration(venue, "GET", alice)
  expect(Fake.json(before)).toEqual({
    version: "external-affiliate-profile/v1",
    accountId: alice.accountId,
    registered: false,
    affiliateId: null,
    referralCode: null,
    registeredAtEpochMs: null
  })
  const first = await registration(venue, "POST", alice)
  const registeredAtEpochMs = venue.atEpochMs
  venue.atEpochMs += 5_000
  const { records } = venue
  const again = await registration(venue, "POST", alice)
  expect(Fake.json(again)).toEqual(Fake.json(first))
  expect(venue.records).toBe(records)
  expect(Fake.json(await registration(venue, "GET", alice))).toEqual(Fake.json(first))
  expect(Fake.json(first)).toMatchObject({ registered: true, referralCode: referralCode(alice.account), registeredAtEpochMs })
  expect(Fake.json(await registration(venue, "POST", bob)).referralCode).not.toBe(Fake.json(first).referralCode)
  const refused = [
    await registration(venue, "GET", { ...alice, key: "nonsense" }),
    await registration(venue, "POST", { ...alice, accountId: bob.accountId }),
    await registration(venue, "PUT", alice)
  ]
  expect(refused.map(({ status }) => status)).toEqual([401, 400, 405])
  for (const answer of [before, first, again, ...refused]) {
    expect(answer.headers["x-service-runtime-policy-version"]).toMatch(/^[0-9a-f]{16}$/)
  }
  holds(venue)
})

test("where affiliates are off there is no such route, and the policy's version says so", async () => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1) as [Trader]
  for (const method of ["GET", "POST"]) {
    for (const key of [alice.key, "nonsense"]) {
      const hidden = await registration(venue, method, { ...alice, key })
      expect([hidden.status, Fake.json(hidden).code]).toEqual([404, "route_not_found"])
      expect(hidden.headers["x-service-runtime-policy-version"]).toMatch(/^[0-9a-f]{16}$/)
    }
  }
  // A method that the path never had is answered like the hidden ones, so that none of them gives the path away.
  const of = ({ body, headers, status }: Response) => ({
    status,
    body: { ...JSON.parse(body), requestId: "", occurredAtEpochMs: 0 },
    policy: headers["x-service-runtime-policy-version"]
  })
  const hidden = of(await registration(venue, "GET", alice))
  for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"]) expect(of(await registration(venue, method, alice))).toEqual(hidden)
  const on = LiveVenue.make(undefined, { affiliateEnabled: true })
  const [carol] = await on.traders(1) as [Trader]
  const versions = [await registration(venue, "GET", alice), await registration(on, "GET", carol)]
    .map(({ headers }) => headers["x-service-runtime-policy-version"])
  expect(versions[0]).not.toBe(versions[1])
})

test("codes have eight letters that are no words, and no two accounts have the same", () => {
  const codes = new Set(Array.from({ length: 20_000 }, (_, account) => referralCode(account)))
  expect(codes.size).toBe(20_000)
  for (const code of [...codes].slice(0, 100).concat(referralCode(1_000_000))) expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ2-9]{8}$/)
})
