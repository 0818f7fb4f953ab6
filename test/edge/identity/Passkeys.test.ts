/** Opening accounts, signing in and guarding changes with passkeys, over the real engine, with authenticators that have real keys. */
import { describe, expect, test } from "vitest"
import { Effect } from "effect"
import { Refusal } from "../../../src/domain/Refusal.js"
import { opened } from "../../../src/edge/identity/Session.js"
import * as Snapshot from "../../../src/engine/Snapshot.js"
import { Authenticator } from "../../identity/Authenticator.js"
import { LiveVenue } from "../LiveVenue.js"
import { ask, creation, must, origin, Owner, proof, register, type Told, verify } from "./Owner.js"

const kinds = async (owner: Owner): Promise<ReadonlyArray<string>> =>
  (await must(owner.ask("/v1/accounts/{account}/security-events"))).events.map(({ kind }: { readonly kind: string }) => kind)

describe("an account", () => {
  test.each([["ES256", -7], ["RS256", -257]] as const)("is opened with a passkey of %s, whose owner is signed in at once",
    async (_, alg) => {
      const venue = LiveVenue.make()
      const owner = await Owner.open(venue, new Authenticator(alg))
      expect(owner.accountId).toMatch(/^acc_/)
      expect(owner.token).toMatch(/^ses_[A-Za-z0-9_-]{43}$/)
      const session = await must(owner.ask("/v1/auth/sessions/current"))
      expect(session).toEqual({
        version: "session/v1",
        tokenType: "Bearer",
        accountId: owner.accountId,
        expiresAtEpochMs: venue.atEpochMs + 12 * 3_600_000
      })
      const { passkeys } = await must(owner.ask("/v1/accounts/{account}/passkeys"))
      expect(passkeys).toEqual([{
        credentialId: owner.authenticator.credentialId,
        displayName: "laptop",
        createdAtEpochMs: venue.atEpochMs,
        lastUsedAtEpochMs: null,
        approvesFromEpochMs: venue.atEpochMs
      }])
      expect(venue.engine.state.apiKeys.count).toBe(0)
      expect((await owner.signIn()).status).toBe(200)
    })

  test("is signed in to with and without its id, and by no other passkey under its id", async () => {
    const venue = LiveVenue.make()
    const [one, other] = [await Owner.open(venue), await Owner.open(venue)]
    const first = one.token
    expect((await one.signIn()).body.accountId).toBe(one.accountId)
    expect((await one.signIn({}, { accountId: one.accountId })).body.accountId).toBe(one.accountId)
    expect(one.token).not.toBe(first)
    const named = await proof(venue, { accountId: one.accountId })
    expect(named.options.allowCredentials).toEqual([])
    const foreign = await verify(venue, named.challengeIdentifier, other.authenticator.assert(named.options, origin))
    expect(foreign).toMatchObject({ status: 401, body: { code: "passkey_assertion_invalid" } })
    expect((await proof(venue, { accountId: "acc_zzzz" })).options.allowCredentials).toEqual([])
  })

  test("whose session was ended by the very next record is told so, and signs in again", async () => {
    const entry = { _tag: "SessionOpened", account: 0 }
    const services = {
      identity: { random: { bytes: (count: number) => new Uint8Array(count) } },
      state: { findSession: () => undefined },
      submit: (_: unknown, answer: (outcome: unknown) => void) => answer({ refusal: Refusal.none, entries: [entry], atEpochMs: 1 })
    }
    const failure = await Effect.runPromise(Effect.flip(opened(services as never, (opening) => opening as never)))
    expect(failure.description).toMatchObject({ status: 401, name: "SessionEnded" })
  })

  test("says what happened to it, newest first, in pages", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    await owner.signIn()
    await owner.signIn({ signature: (signature) => signature.subarray(1) })
    expect(await kinds(owner)).toEqual(["sign_in_failed", "signed_in", "account_opened"])
    const page = await must(owner.ask("/v1/accounts/{account}/security-events?limit=2"))
    expect(page.events).toHaveLength(2)
    expect(page.events[0]).toMatchObject({ credentialId: owner.authenticator.credentialId, remoteAddress: "127.0.0.1" })
    const next = await must(owner.ask(`/v1/accounts/{account}/security-events?limit=2&cursor=${page.nextCursor}`))
    expect(next.events.map(({ kind }: { readonly kind: string }) => kind)).toEqual(["account_opened"])
    expect(next.nextCursor).toBe(null)
  })
})

test("accounts are opened without a credential so many an hour in the whole venue; who has one is not held up", async () => {
  const venue = LiveVenue.make(undefined, { openingsPerHour: 2 })
  const owner = await Owner.open(venue)
  await Owner.open(venue)
  venue.atEpochMs += 3_540_000
  const { challengeIdentifier, options } = await creation(venue, { displayName: "laptop" })
  const credential = new Authenticator().register(options, origin)
  const tried = () =>
    venue.ask({
      target: "/v1/auth/passkeys/registration/verify",
      body: { challengeIdentifier, credential },
      remoteAddress: "2001:db8::1"
    })
  const { records } = venue
  const { body, headers, status } = await tried()
  expect([status, JSON.parse(body)]).toMatchObject([429, { code: "rate_limited", rejectionGuard: "account_openings" }])
  expect(headers["retry-after"]).toBe("60")
  expect(venue.records).toBe(records)
  expect((await owner.signIn()).status).toBe(200)
  expect((await owner.add(new Authenticator())).status).toBe(200)
  // The same request is repeated, as the answer says.
  venue.atEpochMs += 60_000
  expect((await tried()).status).toBe(200)
})

test("one network opens no more than its part of an hour's accounts, also where it answers many challenges at once", async () => {
  const venue = LiveVenue.make(undefined, { openingsPerHour: 32, environment: "staging" })
  const attempt = async (index: number) => {
    const remoteAddress = `2001:db8:7:${index.toString(16)}::1`
    const { challengeIdentifier, options } = await creation(venue, { displayName: "laptop" })
    const body = { challengeIdentifier, credential: new Authenticator().register(options, origin) }
    return () => ask(venue, { target: "/v1/auth/passkeys/registration/verify", body, remoteAddress })
  }
  const attempts: Array<() => Promise<Told>> = []
  for (let index = 0; index < 18; index++) attempts.push(await attempt(index))
  const told = await Promise.all(attempts.map((send) => send()))
  // Proofs are verified beside each other, so that any of them may be the last.
  const refused = told.flatMap(({ status }, index) => status === 429 ? [index] : [])
  expect([refused.length, told.filter(({ status }) => status === 200).length]).toEqual([2, 16])
  expect((await Owner.open(venue)).accountId).toMatch(/^acc_/)
  // Refused behind its proof, a challenge stays open like one that was refused before.
  venue.atEpochMs += 299_999
  expect(await attempts[refused[0]!]!()).toMatchObject({ status: 429, body: { rejectionGuard: "account_openings" } })
})

test("an answer to a challenge that finds no room at the writer is good again", async () => {
  const venue = LiveVenue.make()
  const owner = await Owner.open(venue)
  const other = new Authenticator()
  expect((await owner.add(other)).status).toBe(200)
  const opening = async () => {
    const { challengeIdentifier, options } = await creation(venue, { displayName: "laptop" })
    const credential = new Authenticator().register(options, origin)
    return { target: "/v1/auth/passkeys/registration/verify", body: { challengeIdentifier, credential } }
  }
  const signingIn = async () => ({ target: "/v1/auth/passkeys/authentication/verify", body: await owner.proof("sign_in") })
  const adding = async () => ({
    target: "/v1/auth/passkeys/registration/options",
    body: { assertion: await owner.proof("add_passkey") },
    key: owner.token
  })
  const removing = async () => ({
    method: "DELETE",
    target: `/v1/accounts/${owner.accountId}/passkeys/${other.credentialId}`,
    body: { assertion: await owner.proof("remove_passkey") },
    key: owner.token
  } as const)
  for (const requested of [opening, signingIn, adding, removing]) {
    const request = await requested()
    venue.isTurnedAway = () => true
    expect(await ask(venue, request)).toMatchObject({ status: 503, body: { code: "overloaded", retryable: true } })
    venue.isTurnedAway = () => false
    expect((await ask(venue, request)).status).toBeLessThan(300)
    expect((await ask(venue, request)).status).toBeGreaterThanOrEqual(400)
  }
})

test("an account that found no room at the writer is not counted among those that were opened", async () => {
  const venue = LiveVenue.make(undefined, { openingsPerHour: 1 })
  const { challengeIdentifier, options } = await creation(venue, { displayName: "laptop" })
  const credential = new Authenticator().register(options, origin)
  const request = { target: "/v1/auth/passkeys/registration/verify", body: { challengeIdentifier, credential } }
  venue.isTurnedAway = () => true
  for (let time = 0; time < 3; time++) expect((await ask(venue, request)).status).toBe(503)
  venue.isTurnedAway = () => false
  expect((await ask(venue, request)).status).toBe(200)
})

describe("a session", () => {
  test("ends with its sign-out, and does nothing after", async () => {
    const owner = await Owner.open(LiveVenue.make())
    expect((await owner.ask("/v1/auth/sessions/current", { method: "DELETE" })).status).toBe(204)
    expect(await owner.ask("/v1/auth/sessions/current")).toMatchObject({
      status: 401,
      body: { code: "unauthorized", recoveryActions: ["sign_in_with_passkey"] }
    })
  })

  test("that somebody has stolen is ended by its owner, who stays signed in", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const stolen = owner.token
    await owner.signIn()
    const kept = owner.token
    const status = async (key: string) => (await ask(venue, { method: "GET", target: "/v1/auth/sessions/current", key })).status
    expect([await status(stolen), await status(kept)]).toEqual([200, 200])
    expect((await ask(venue, { method: "DELETE", target: "/v1/auth/sessions/others", key: kept })).status).toBe(204)
    expect([await status(stolen), await status(kept)]).toEqual([401, 200])
    expect(venue.engine.securityEvents(venue.engine.findAccount(owner.accountId), Infinity, 1)).toMatchObject([
      { kind: "signed_out_elsewhere", detail: "1 session", remoteAddress: "127.0.0.1" }
    ])
    // Sessions whose time is over have ended by themselves, and are not counted.
    venue.atEpochMs += 6 * 3_600_000
    await owner.signIn()
    await owner.signIn()
    venue.atEpochMs += 6 * 3_600_000
    await must(owner.ask("/v1/auth/sessions/others", { method: "DELETE" }))
    expect(venue.engine.securityEvents(venue.engine.findAccount(owner.accountId), Infinity, 1)).toMatchObject([{ detail: "1 session" }])
    // Where none is left, there is nothing to tell: whoever has a session could otherwise fill the list.
    const told = venue.engine.securityStanding(venue.engine.findAccount(owner.accountId))
    await must(owner.ask("/v1/auth/sessions/others", { method: "DELETE" }))
    expect(venue.engine.securityStanding(venue.engine.findAccount(owner.accountId))).toEqual(told)
  })

  test("lives twelve hours", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    venue.atEpochMs += 12 * 3_600_000 - 1
    expect((await owner.ask("/v1/auth/sessions/current")).status).toBe(200)
    venue.atEpochMs++
    expect((await owner.ask("/v1/auth/sessions/current")).status).toBe(401)
  })

  test("trades and reads as a key with every scope does, and no other account's", async () => {
    const venue = LiveVenue.make()
    const [owner, other] = [await Owner.open(venue), await Owner.open(venue)]
    expect((await owner.ask("/v1/accounts/{account}/balance")).status).toBe(200)
    expect((await owner.ask(`/v1/accounts/${other.accountId}/balance`)).status).toBe(404)
    const cancel = { accountId: owner.accountId, marketId: "AAA-USDC-PERP" }
    expect(await owner.ask("/v1/orders/ord_1/cancel", { body: cancel, idempotencyKey: "k" })).toMatchObject({
      status: 404,
      body: { code: "not_found" }
    })
    expect(await owner.ask("/v1/api-keys/current")).toMatchObject({ status: 401, body: { code: "unauthorized" } })
  })

  test("beyond the thirty-second of an account ends the oldest, whose owner reads of it", async () => {
    const owner = await Owner.open(LiveVenue.make())
    const first = owner.token
    for (let index = 0; index < 31; index++) await owner.signIn()
    expect((await owner.ask("/v1/auth/sessions/current", { key: first })).status).toBe(200)
    await owner.signIn()
    expect((await owner.ask("/v1/auth/sessions/current", { key: first })).status).toBe(401)
    expect((await kinds(owner)).slice(0, 2)).toEqual(["session_ended", "signed_in"])
  })
})

describe("another passkey", () => {
  test("is added by the owner who proves one, signs in at once, and approves nothing for a day", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const phone = new Authenticator()
    const added = await owner.add(phone)
    expect(added).toMatchObject({ status: 200, body: { accountId: owner.accountId } })
    const { passkeys } = await must(owner.ask("/v1/accounts/{account}/passkeys"))
    expect(passkeys).toHaveLength(2)
    expect(passkeys[1]).toMatchObject({ displayName: "phone", approvesFromEpochMs: venue.atEpochMs + 86_400_000 })
    expect(phone.userHandle).toBe(owner.authenticator.userHandle)
    expect((await new Owner(venue, phone).signIn()).body.accountId).toBe(owner.accountId)
  })

  test("is not added without a proof, with a proof for something else, with another account's, or by a key", async () => {
    const venue = LiveVenue.make()
    const [owner, other] = [await Owner.open(venue), await Owner.open(venue)]
    const target = "/v1/auth/passkeys/registration/options"
    expect((await owner.ask(target, { body: {} })).status).toBe(400)
    expect((await owner.ask(target, { body: { authentication: await owner.proof("sign_in") } })).status).toBe(401)
    expect((await owner.ask(target, { body: { authentication: await owner.proof("remove_passkey") } })).status).toBe(401)
    expect((await owner.ask(target, { body: { authentication: await other.proof("add_passkey") } })).status).toBe(401)
    expect((await ask(venue, { target, body: { authentication: await owner.proof("add_passkey") } })).status).toBe(401)
    const [trader] = await venue.traders(1)
    expect(await ask(venue, { target, body: {}, key: trader!.key })).toMatchObject({ status: 403, body: { code: "passkey_required" } })
    // What the owner has begun is finished by him alone.
    for (const key of [other.token, undefined]) {
      const begun = await creation(venue, { authentication: await owner.proof("add_passkey") }, owner.token)
      const finished = await register(venue, begun.challengeIdentifier, new Authenticator().register(begun.options, origin), key)
      expect(finished).toMatchObject({ status: 401, body: { recoveryActions: ["sign_in_with_passkey"] } })
    }
    for (const { accountId } of [owner, other]) expect(venue.engine.passkeys(venue.engine.findAccount(accountId))).toHaveLength(1)
  })

  test("is removed with the sessions that it opened, and never the last one", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const phone = new Authenticator()
    const { body: { accessToken } } = await owner.add(phone)
    const target = `/v1/accounts/{account}/passkeys/${phone.credentialId}`
    const unproved = { method: "DELETE", body: { assertion: await owner.proof("sign_in") } }
    expect((await owner.ask(target, unproved)).status).toBe(401)
    expect((await owner.ask("/v1/auth/sessions/current", { key: accessToken })).status).toBe(200)
    expect((await owner.ask(target, { method: "DELETE", body: { assertion: await owner.proof("remove_passkey") } })).status).toBe(204)
    expect((await owner.ask("/v1/auth/sessions/current", { key: accessToken })).status).toBe(401)
    expect((await new Owner(venue, phone).signIn()).status).toBe(401)
    const again = await owner.ask(target, { method: "DELETE", body: { assertion: await owner.proof("remove_passkey") } })
    expect(again).toMatchObject({ status: 404, body: { code: "not_found" } })
    const last = await owner.ask(`/v1/accounts/{account}/passkeys/${owner.authenticator.credentialId}`, {
      method: "DELETE",
      body: { assertion: await owner.proof("remove_passkey") }
    })
    expect(last).toMatchObject({ status: 409, body: { code: "last_passkey" } })
  })

  test("is proved by a counter that goes on: what an addition or a removal took is good for nothing else", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const phone = new Authenticator()
    await must(owner.add(phone))
    const { authenticator } = owner
    const countOf = () => venue.engine.findPasskey(authenticator.credentialId)!.signCount
    expect(countOf()).toBe(authenticator.signCount)
    const target = `/v1/accounts/{account}/passkeys/${phone.credentialId}`
    const remove = async (credentialId: string) =>
      owner.ask(`/v1/accounts/{account}/passkeys/${credentialId}`, {
        method: "DELETE",
        body: { assertion: await owner.proof("remove_passkey") }
      })
    // The proof advances the counter even though nothing is removed.
    expect((await remove("bm90aGluZw")).status).toBe(404)
    expect(countOf()).toBe(authenticator.signCount)
    const refused = { status: 401, body: { code: "passkey_assertion_invalid" } }
    // A copy of the passkey, whose counter is still where it was when the copy was made.
    const copied = async (purpose: string) => {
      authenticator.signCount -= 1
      return owner.proof(purpose)
    }
    expect(await owner.ask(target, { method: "DELETE", body: { assertion: await copied("remove_passkey") } })).toMatchObject(refused)
    const addition = { body: { authentication: await copied("add_passkey") } }
    expect(await owner.ask("/v1/auth/passkeys/registration/options", addition)).toMatchObject(refused)
    expect((await must(owner.ask("/v1/accounts/{account}/passkeys"))).passkeys).toHaveLength(2)
    expect((await kinds(owner)).slice(0, 2)).toEqual(["sign_in_failed", "sign_in_failed"])
    authenticator.signCount -= 1
    expect(await owner.signIn()).toMatchObject(refused)
    expect((await remove(phone.credentialId)).status).toBe(204)
  })

  test("is not added once the passkey that proved its owner was removed", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const phone = new Authenticator()
    const { body: { accessToken } } = await owner.add(phone)
    const begun = await creation(venue, { assertion: await owner.proof("add_passkey") }, accessToken)
    const assertion = await new Owner(venue, phone).proof("remove_passkey")
    const target = `/v1/accounts/${owner.accountId}/passkeys/${owner.authenticator.credentialId}`
    expect((await ask(venue, { target, method: "DELETE", body: { assertion }, key: accessToken })).status).toBe(204)
    const third = new Authenticator()
    expect(await register(venue, begun.challengeIdentifier, third.register(begun.options, origin), accessToken)).toMatchObject({
      status: 401,
      body: { code: "passkey_assertion_invalid" }
    })
    expect(venue.engine.findPasskey(third.credentialId)).toBeUndefined()
  })

  test("is refused beyond the sixteenth", async () => {
    const owner = await Owner.open(LiveVenue.make())
    for (let index = 1; index < 16; index++) await must(owner.add(new Authenticator()))
    expect(await owner.add(new Authenticator())).toMatchObject({
      status: 400,
      body: { code: "invalid_request", rejectionGuard: "passkey_limit" }
    })
  })
})

test("what was decided about passkeys, sessions and keys is in a snapshot, and the same when it is restored", async () => {
  const venue = LiveVenue.make()
  const owner = await Owner.open(venue)
  await owner.add(new Authenticator())
  await owner.signIn()
  const { state } = venue.engine
  const again = Snapshot.unsafeDecode(Snapshot.encode(state), state.capacity)
  expect(again.identity.passkeys.all()).toEqual(state.identity.passkeys.all())
  expect(again.identity.sessions.all()).toEqual(state.identity.sessions.all())
  expect(again.identity.security.dump()).toEqual(state.identity.security.dump())
})
