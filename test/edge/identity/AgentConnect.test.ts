/** How an agent gets a key from an owner, and how the key ends. */
import { createHash } from "node:crypto"
import { describe, expect, test } from "vitest"
import * as Fake from "../FakeVenue.js"
import { LiveVenue } from "../LiveVenue.js"
import { Client } from "../socket/Client.js"
import { ask, must, Owner, type Told } from "./Owner.js"

const verifier = "a-verifier-that-only-the-agent-knows-and-nobody-else"
const codeChallenge = createHash("sha256").update(verifier).digest("base64url")

const asked = { clientName: "maker", scopes: ["read", "trade"], keyLifetimeSeconds: 300, codeChallenge }

class Agent {
  private constructor(readonly venue: LiveVenue, readonly begun: any) {}

  static async begin(venue: LiveVenue, more: object = {}): Promise<Agent> {
    return new Agent(venue, await must(ask(venue, { target: "/v1/agent-connect", body: { ...asked, ...more } })))
  }

  poll(codeVerifier = verifier, deviceCode = this.begun.deviceCode): Promise<Told> {
    return ask(this.venue, { target: "/v1/agent-connect/exchange", body: { deviceCode, codeVerifier } })
  }
}

const decide = (owner: Owner, what: "approve" | "deny", userCode: string, more: object = {}): Promise<Told> =>
  owner.ask(`/v1/accounts/{account}/agent-connect/${what}`, {
    body: { userCode, ...(what === "approve" ? { scopes: ["read", "trade"] } : undefined), ...more }
  })

const bench = async () => {
  const venue = LiveVenue.make()
  return { venue, owner: await Owner.open(venue), agent: await Agent.begin(venue) }
}

/** An agent that has received its key. */
const connected = async () => {
  const { owner, venue, agent } = await bench()
  await must(decide(owner, "approve", agent.begun.userCode))
  const { apiKey, key } = await must(agent.poll())
  return { venue, owner, agent, apiKey: apiKey as string, key }
}

describe("an agent", () => {
  test("is shown a code, and where its owner goes with it", async () => {
    const { agent: { begun }, venue } = await bench()
    expect(begun).toEqual({
      version: "agent-connect/v1",
      deviceCode: expect.stringMatching(/^dvc_[A-Za-z0-9_-]{43}$/),
      userCode: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ2-9]{4}-[BCDFGHJKLMNPQRSTVWXZ2-9]{4}$/),
      verificationUri: "http://localhost:8080/connect",
      verificationUriComplete: `http://localhost:8080/connect?code=${begun.userCode}`,
      expiresAtEpochMs: venue.atEpochMs + 600_000,
      pollIntervalSeconds: 5
    })
  })

  test("waits, is told to slow down, and gets the key that its owner approved, once", async () => {
    const { agent, owner, venue } = await bench()
    expect(await agent.poll()).toMatchObject({ status: 400, body: { code: "authorization_pending", retryable: true } })
    venue.atEpochMs += 4_999
    expect(await agent.poll()).toMatchObject({ status: 400, body: { code: "slow_down" } })
    venue.atEpochMs += 5_000
    expect(await agent.poll()).toMatchObject({ body: { code: "authorization_pending" } })
    expect(await must(owner.ask(`/v1/accounts/{account}/agent-connect/${agent.begun.userCode}`))).toMatchObject({
      version: "agent-connect-request/v1",
      clientName: "maker",
      scopes: ["read", "trade"],
      keyLifetimeSeconds: 300
    })
    expect(await must(decide(owner, "approve", agent.begun.userCode))).toEqual({
      version: "agent-connect-approve/v1",
      accountId: owner.accountId,
      clientName: "maker",
      scopes: ["read", "trade"],
      keyLifetimeSeconds: 300,
      approvedAtEpochMs: venue.atEpochMs
    })
    expect(await agent.poll()).toMatchObject({ body: { code: "slow_down" } })
    venue.atEpochMs += 5_000
    const { apiKey, key } = await must(agent.poll())
    expect(apiKey).toMatch(/^pk_development_[0-9a-f]{20}_[A-Za-z0-9_-]{43}$/)
    expect(key).toMatchObject({
      accountId: owner.accountId,
      principalKind: "agent",
      clientName: "maker",
      scopes: ["read", "trade"],
      state: "active",
      createdAtEpochMs: venue.atEpochMs,
      expiresAtEpochMs: venue.atEpochMs + 300_000,
      revokedAtEpochMs: null
    })
    expect(apiKey.startsWith(`${key.displayPrefix}_`)).toBe(true)
    expect((await must(owner.ask("/v1/api-keys/current", { key: apiKey }))).key.keyId).toBe(key.keyId)
    venue.atEpochMs += 5_000
    expect(await agent.poll()).toMatchObject({ status: 400, body: { code: "grant_expired" } })
  })

  test("whose answer was lost begins anew: its code is dead, and the owner sees a key that was never used, and revokes it", async () => {
    const { agent, owner, venue } = await bench()
    await must(decide(owner, "approve", agent.begun.userCode))
    // The answer is lost.
    await must(agent.poll())
    venue.atEpochMs += 5_000
    const { records } = venue
    const told = await agent.poll()
    expect(told).toMatchObject({ status: 400, body: { code: "grant_expired", retryable: false } })
    expect(told.body.safeMessage).toContain("never used")
    expect(venue.records).toBe(records)
    const listed = async () => (await must(owner.ask("/v1/accounts/{account}/api-keys"))).keys
    const [lost] = await listed()
    expect(lost).toMatchObject({ state: "active", lastUsedAtEpochMs: null })
    const again = await Agent.begin(venue)
    await must(decide(owner, "approve", again.begun.userCode))
    const { apiKey } = await must(again.poll())
    expect((await ask(venue, { target: "/v1/api-keys/current", key: apiKey })).status).toBe(200)
    expect((await listed()).map(({ lastUsedAtEpochMs }: any) => lastUsedAtEpochMs)).toEqual([venue.atEpochMs, null])
    await must(owner.ask(`/v1/accounts/{account}/api-keys/${lost.keyId}`, { method: "DELETE" }))
    expect((await listed()).map(({ state }: any) => state)).toEqual(["active", "revoked"])
  })

  test("waits no more where sixteen of its address come after it; others wait on, and what was approved is fetched all the same", async () => {
    const { agent, owner, venue } = await bench()
    const from = async (remoteAddress: string) =>
      (await must(ask(venue, { target: "/v1/agent-connect", body: asked, remoteAddress }))) as { userCode: string; deviceCode: string }
    const crowd = "2001:db8::7"
    const [first, second, third] = [await from(crowd), await from(crowd), await from(crowd)]
    await must(decide(owner, "approve", second.userCode))
    for (let count = 3; count < 18; count++) await from(crowd)
    expect((await decide(owner, "approve", first.userCode)).status).toBe(404)
    expect(await agent.poll(verifier, first.deviceCode)).toMatchObject({ status: 400, body: { code: "grant_expired" } })
    expect((await agent.poll(verifier, second.deviceCode)).status).toBe(200)
    expect((await decide(owner, "approve", third.userCode)).status).toBe(200)
    expect((await decide(owner, "approve", agent.begun.userCode)).status).toBe(200)
  })

  test("that was approved is approved again where the answer was lost: told the same, without a record, and no wrong code", async () => {
    const { agent, owner, venue } = await bench()
    const other = await Owner.open(venue)
    const { userCode } = agent.begun
    const [first, besides] = await Promise.all([decide(owner, "approve", userCode), decide(owner, "approve", userCode)])
    expect([first.status, besides]).toMatchObject([200, { status: 503, body: { code: "overloaded", retryable: true } }])
    const { records } = venue
    venue.atEpochMs += 60_000
    // More often than wrong codes may be entered.
    for (let count = 0; count < 11; count++) expect(await decide(owner, "approve", userCode)).toEqual(first)
    expect(await decide(owner, "approve", userCode, { scopes: ["read"] })).toMatchObject({ status: 400 })
    expect(await decide(other, "approve", userCode)).toMatchObject({ status: 404 })
    expect(venue.records).toBe(records)
  })

  test("that has fetched its key is not denied: its owner is told which key to revoke, and that is no wrong code", async () => {
    const { agent, owner, venue } = await bench()
    const { userCode } = agent.begun
    const approved = await decide(owner, "approve", userCode)
    const { key } = await must(agent.poll())
    const { records } = venue
    for (let count = 0; count < 11; count++) {
      const denied = await decide(owner, "deny", userCode)
      expect(denied).toMatchObject({ status: 404, body: { code: "not_found", rejectionGuard: "grant_fetched" } })
      expect(denied.body.safeMessage).toContain(`revoke ${key.keyId}`)
    }
    expect(await decide(owner, "approve", userCode)).toEqual(approved)
    expect(venue.records).toBe(records)
  })

  test("whose approval ended with its session is approved anew, and gets its key", async () => {
    const { agent, owner, venue } = await bench()
    await must(decide(owner, "approve", agent.begun.userCode))
    await must(owner.ask("/v1/auth/sessions/current", { method: "DELETE" }))
    await owner.signIn()
    venue.atEpochMs += 1_000
    const { records } = venue
    expect((await must(decide(owner, "approve", agent.begun.userCode))).approvedAtEpochMs).toBe(venue.atEpochMs)
    expect(venue.records).toBe(records + 1)
    expect((await agent.poll()).status).toBe(200)
  })

  test("whose approval ended with its session's time is approved anew, and gets its key", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    venue.atEpochMs += 12 * 3_600_000 - 120_000
    const agent = await Agent.begin(venue)
    await must(decide(owner, "approve", agent.begun.userCode))
    venue.atEpochMs += 120_000
    expect((await decide(owner, "approve", agent.begun.userCode)).status).toBe(401)
    await owner.signIn()
    const { records } = venue
    expect((await must(decide(owner, "approve", agent.begun.userCode))).approvedAtEpochMs).toBe(venue.atEpochMs)
    expect((await must(decide(owner, "approve", agent.begun.userCode))).approvedAtEpochMs).toBe(venue.atEpochMs)
    expect(venue.records).toBe(records + 1)
    expect((await agent.poll()).status).toBe(200)
  })

  test("that was told that its approval is no more is not approved again: it asks no more", async () => {
    const { agent, owner } = await bench()
    await must(decide(owner, "approve", agent.begun.userCode))
    await must(owner.ask("/v1/auth/sessions/current", { method: "DELETE" }))
    await owner.signIn()
    expect(await agent.poll()).toMatchObject({ body: { code: "grant_expired" } })
    expect((await decide(owner, "approve", agent.begun.userCode)).status).toBe(404)
  })

  test("that was approved is looked at by its owner as often as one likes, and by nobody else", async () => {
    const { agent, owner, venue } = await bench()
    const other = await Owner.open(venue)
    await must(decide(owner, "approve", agent.begun.userCode))
    const target = `/v1/accounts/{account}/agent-connect/${agent.begun.userCode}`
    for (let count = 0; count < 11; count++) expect(await must(owner.ask(target))).toMatchObject({ clientName: "maker" })
    expect((await other.ask(target)).status).toBe(404)
  })

  test("waits no longer for a clock that was set back behind its beginning", async () => {
    const { agent, owner, venue } = await bench()
    venue.atEpochMs -= 1
    expect((await decide(owner, "approve", agent.begun.userCode)).status).toBe(404)
    expect(await agent.poll()).toMatchObject({ body: { code: "grant_expired" } })
  })

  test("gets no key without the verifier that it began with", async () => {
    const { agent, owner, venue } = await bench()
    await must(decide(owner, "approve", agent.begun.userCode))
    expect(await agent.poll(`${verifier}.`)).toMatchObject({ status: 400, body: { code: "invalid_request" } })
    venue.atEpochMs += 5_000
    expect((await agent.poll()).status).toBe(200)
  })

  test("is denied, and nobody approves it after", async () => {
    const { agent, owner, venue } = await bench()
    expect(await must(decide(owner, "deny", agent.begun.userCode))).toEqual({
      version: "agent-connect-deny/v1",
      accountId: owner.accountId,
      clientName: "maker",
      deniedAtEpochMs: venue.atEpochMs
    })
    expect(await agent.poll()).toMatchObject({ status: 400, body: { code: "access_denied", retryable: false } })
    expect((await decide(owner, "approve", agent.begun.userCode)).status).toBe(404)
  })

  test("that was approved is denied while it has not fetched its key, by its owner and by nobody else", async () => {
    const { agent, owner, venue } = await bench()
    const other = await Owner.open(venue)
    await must(decide(owner, "approve", agent.begun.userCode))
    expect((await decide(other, "deny", agent.begun.userCode)).status).toBe(404)
    await must(decide(owner, "deny", agent.begun.userCode))
    expect(await agent.poll()).toMatchObject({ status: 400, body: { code: "access_denied" } })
    venue.restart()
    expect(await agent.poll()).toMatchObject({ status: 400, body: { code: "grant_expired" } })
  })

  test.each([
    ["asks so often that its address has no place for it", async (venue: LiveVenue) => {
      for (let count = 0; count < 17; count++) await Agent.begin(venue)
    }],
    ["outlives the process", async (venue: LiveVenue) => venue.restart()]
  ])("that was approved and %s is seen and denied by its owner all the same", async (_, pass) => {
    const { agent, owner, venue } = await bench()
    const other = await Owner.open(venue)
    const { deviceCode, userCode } = agent.begun
    const approved = await must(decide(owner, "approve", userCode))
    const grant = venue.engine.findGrant(createHash("sha256").update(deviceCode).digest("hex"))!
    venue.atEpochMs += 1_000
    await pass(venue)
    expect((await decide(other, "deny", userCode)).status).toBe(404)
    const target = `/v1/accounts/{account}/agent-connect/${userCode}`
    expect((await other.ask(target)).status).toBe(404)
    expect(await must(owner.ask(target))).toEqual({
      version: "agent-connect-request/v1",
      accountId: owner.accountId,
      userCode,
      clientName: "maker",
      scopes: ["read", "trade"],
      keyLifetimeSeconds: 300,
      requestedAtEpochMs: grant.approvedAtEpochMs,
      expiresAtEpochMs: grant.expiresAtEpochMs
    })
    expect(await must(decide(owner, "approve", userCode))).toEqual(approved)
    await must(decide(owner, "deny", userCode))
    expect(venue.engine.state.identity.grants.count).toBe(0)
    expect(await agent.poll()).toMatchObject({ status: 400, body: { code: "access_denied" } })
    expect((await decide(owner, "approve", userCode)).status).toBe(404)
    expect(venue.engine.securityEvents(venue.engine.findAccount(owner.accountId), Infinity, 1)).toMatchObject([{
      kind: "agent_denied",
      detail: "maker"
    }])
  })

  test("that fetches its key from a venue that has started anew is not denied beside that, nor after it", async () => {
    const { agent, owner, venue } = await bench()
    await must(decide(owner, "approve", agent.begun.userCode))
    venue.restart()
    venue.holdDisk()
    const fetching = agent.poll()
    const denied = decide(owner, "deny", agent.begun.userCode)
    venue.releaseDisk()
    const { key } = await must(fetching)
    expect(await denied).toMatchObject({ status: 503, body: { code: "overloaded", retryable: true } })
    const late = await decide(owner, "deny", agent.begun.userCode)
    expect(late).toMatchObject({ status: 404, body: { rejectionGuard: "grant_fetched" } })
    expect(late.body.safeMessage).toContain(`revoke ${key.keyId}`)
  })

  test("that has fetched its key is named to its owner however often it asks again", async () => {
    const { agent, key, owner, venue } = await connected()
    for (let count = 0; count < 20; count++) await Agent.begin(venue)
    const denied = await decide(owner, "deny", agent.begun.userCode)
    expect(denied).toMatchObject({ status: 404, body: { rejectionGuard: "grant_fetched" } })
    expect(denied.body.safeMessage).toContain(`revoke ${key.keyId}`)
    expect((await owner.ask(`/v1/accounts/{account}/agent-connect/${agent.begun.userCode}`)).status).toBe(200)
  })

  test("that has fetched its key is told of to its owner by a venue that has started anew, for ten minutes and while it acts", async () => {
    const { agent, key, owner, venue } = await connected()
    const other = await Owner.open(venue)
    venue.restart()
    const denied = async (by = owner) => (await decide(by, "deny", agent.begun.userCode)).body.safeMessage
    const nothing = "No agent waits under this code."
    expect(await denied()).toBe(
      `${nothing} An agent has fetched ${key.keyId} within the last ten minutes: revoke it if the code was that agent's.`
    )
    expect(await denied(other)).toBe(nothing)
    const next = await Agent.begin(venue, { keyLifetimeSeconds: 3_600 })
    await must(decide(owner, "approve", next.begun.userCode))
    expect(await denied()).toContain("There is an approval whose key was not fetched yet")
    venue.atEpochMs += 1
    const { key: { keyId } } = await must(next.poll())
    expect(await denied()).toContain(`fetched ${keyId}, ${key.keyId} within`)
    await must(owner.ask(`/v1/accounts/{account}/api-keys/${key.keyId}`, { method: "DELETE" }))
    expect(await denied()).toContain(`fetched ${keyId} within`)
    venue.atEpochMs += 599_999
    expect(await denied()).toContain(`fetched ${keyId} within`)
    venue.atEpochMs += 1
    expect(await denied()).toBe(nothing)
  })

  test("is known while it is decided about, whatever its address asks meanwhile: nothing is decided beside that", async () => {
    const { agent, owner, venue } = await bench()
    const { userCode } = agent.begun
    const crowd = () => {
      venue.atEpochMs += 60_000
      // While the disk is held nobody is answered.
      return Array.from({ length: 16 }, () => Agent.begin(venue))
    }
    const busy = { status: 503, body: { code: "overloaded" } }
    venue.holdDisk()
    const approving = decide(owner, "approve", userCode)
    const begun = crowd()
    const besides = decide(owner, "approve", userCode)
    venue.releaseDisk()
    await Promise.all(begun)
    expect((await approving).status).toBe(200)
    expect(await besides).toMatchObject(busy)
    await Promise.all(crowd())
    venue.holdDisk()
    const polling = agent.poll()
    begun.push(...crowd())
    const denying = decide(owner, "deny", userCode)
    venue.releaseDisk()
    await Promise.all(begun)
    const { key } = await must(polling)
    expect(await denying).toMatchObject(busy)
    await Promise.all(crowd())
    expect((await decide(owner, "deny", userCode)).body.safeMessage).toContain(`revoke ${key.keyId}`)
  })

  test("that is denied while its approval is being decided stays denied", async () => {
    const { agent, owner, venue } = await bench()
    const { userCode } = agent.begun
    venue.holdDisk()
    const approving = decide(owner, "approve", userCode)
    const begun = Array.from({ length: 16 }, () => Agent.begin(venue))
    const denying = decide(owner, "deny", userCode)
    venue.releaseDisk()
    await Promise.all(begun)
    expect([(await approving).status, (await denying).status]).toEqual([200, 200])
    expect(await agent.poll()).toMatchObject({ body: { code: "access_denied" } })
    expect((await decide(owner, "approve", userCode)).status).toBe(404)
  })

  test("is denied after its key was refused to it for want of room", async () => {
    const { agent, owner, venue } = await bench()
    const account = venue.engine.findAccount(owner.accountId)
    await must(decide(owner, "approve", agent.begun.userCode))
    for (let count = 0; count < 64; count++) {
      const { grant } = Fake.issue(`of-others-${count}`, 3)
      venue.engine.state.apiKeys.issue({ ...grant, account, createdAtEpochMs: venue.atEpochMs, revokedAtEpochMs: 0 })
    }
    expect(await agent.poll()).toMatchObject({ status: 429, body: { rejectionGuard: "key_limit" } })
    expect((await decide(owner, "deny", agent.begun.userCode)).status).toBe(200)
  })

  test("that was approved late gets its key no later than it would have waited", async () => {
    const { agent, owner, venue } = await bench()
    venue.atEpochMs += 540_000
    await must(decide(owner, "approve", agent.begun.userCode))
    expect(venue.engine.grants(venue.engine.findAccount(owner.accountId))).toMatchObject([{
      expiresAtEpochMs: agent.begun.expiresAtEpochMs
    }])
  })

  test("that was approved is told of beside a wrong code, and to its owner alone", async () => {
    const { agent, owner, venue } = await bench()
    const other = await Owner.open(venue)
    await must(decide(owner, "approve", agent.begun.userCode))
    expect((await decide(owner, "deny", "BBBB-BBBB")).body.safeMessage).toContain("ends with the session")
    expect((await decide(other, "deny", "BBBB-BBBB")).body.safeMessage).toBe("No agent waits under this code.")
    await must(decide(owner, "deny", agent.begun.userCode))
    expect((await decide(owner, "deny", "BBBB-BBBB")).body.safeMessage).toBe("No agent waits under this code.")
  })

  test("gets no key behind the end of the session that approved it", async () => {
    const { agent, owner, venue } = await bench()
    await must(decide(owner, "approve", agent.begun.userCode))
    await must(owner.ask("/v1/auth/sessions/current", { method: "DELETE" }))
    expect(await agent.poll()).toMatchObject({ status: 400, body: { code: "grant_expired" } })
    expect(venue.engine.state.identity.grants.count).toBe(0)
  })

  test("is one of sixteen that may have been approved and not fetched their keys", async () => {
    const { owner, venue } = await bench()
    const agents: Array<Agent> = []
    for (let index = 0; index < 16; index++) agents.push(await Agent.begin(venue))
    for (const { begun } of agents) await must(decide(owner, "approve", begun.userCode))
    const late = await Agent.begin(venue)
    const { records } = venue
    expect(await decide(owner, "approve", late.begun.userCode)).toMatchObject({ status: 429, body: { rejectionGuard: "key_limit" } })
    expect(venue.records).toBe(records)
    // The refused approval is over: once there is room, it is decided anew.
    await must(decide(owner, "deny", agents[0]!.begun.userCode))
    expect((await decide(owner, "approve", late.begun.userCode)).status).toBe(200)
    venue.atEpochMs += 600_000
    const next = await Agent.begin(venue)
    expect((await decide(owner, "approve", next.begun.userCode)).status).toBe(200)
  })

  test("is too late after ten minutes, whether it was approved or not", async () => {
    const { agent, owner, venue } = await bench()
    const late = await Agent.begin(venue)
    await must(decide(owner, "approve", agent.begun.userCode))
    venue.atEpochMs += 600_000
    expect(await agent.poll()).toMatchObject({ body: { code: "grant_expired" } })
    expect(await late.poll()).toMatchObject({ body: { code: "grant_expired" } })
    expect((await decide(owner, "approve", late.begun.userCode)).status).toBe(404)
  })

  test("that was approved gets its key also from a venue that has started anew in between", async () => {
    const { agent, owner, venue } = await bench()
    await must(decide(owner, "approve", agent.begun.userCode))
    venue.restart()
    expect((await agent.poll()).status).toBe(200)
    // A request that was not decided is lost with the process: the agent has to begin again.
    const waiting = await Agent.begin(venue)
    venue.restart()
    expect(await waiting.poll()).toMatchObject({ body: { code: "grant_expired" } })
  })

  test("is approved with exactly the scopes that it asked for", async () => {
    const { owner, venue } = await bench()
    const reader = await Agent.begin(venue, { scopes: ["read"] })
    const { userCode } = reader.begun
    for (const scopes of [["read", "trade"], ["trade"], [], ["read", "read"], ["admin"]]) {
      expect(await decide(owner, "approve", userCode, { scopes })).toMatchObject({ status: 400, body: { code: "invalid_request" } })
    }
    expect((await decide(owner, "approve", userCode, { scopes: ["read"] })).body.scopes).toEqual(["read"])
    expect((await must(reader.poll())).key.scopes).toEqual(["read"])
  })

  test("is decided by one owner: another's code is gone then", async () => {
    const { agent, owner, venue } = await bench()
    const other = await Owner.open(venue)
    await must(decide(owner, "approve", agent.begun.userCode))
    expect((await decide(other, "approve", agent.begun.userCode)).status).toBe(404)
    expect((await must(agent.poll())).key.accountId).toBe(owner.accountId)
  })

  test.each([
    ["no name", { clientName: "" }],
    ["a name of two lines", { clientName: "a\nb" }],
    ["a name that turns what follows", { clientName: "maker\u202e" }],
    ["a name that is not seen", { clientName: "\u200b" }],
    ["a name with a space at its end", { clientName: "maker " }],
    ["a name of a filler", { clientName: "\u3164" }],
    ["a name of two fillers", { clientName: "\u115f\u1160" }],
    ["a name of half a filler", { clientName: "\uffa0" }],
    ["a name of an empty pattern of braille", { clientName: "\u2800" }],
    ["a name of a note without a head", { clientName: "\u{1d159}" }],
    ["a name of a blank hieroglyph", { clientName: "\u{13441}" }],
    ["a name of half a blank hieroglyph", { clientName: "\u{13442}" }],
    ["a name of what stands for an object", { clientName: "\ufffc" }],
    ["a name of a variation of nothing", { clientName: "\ufe0f" }],
    ["a name with a variation of a space", { clientName: "a \ufe0f" }],
    ["a name of a separator of vowels", { clientName: "\u180b" }],
    ["a name with a joiner that is not seen", { clientName: "a\u034f" }],
    ["a name of an accent alone", { clientName: "\u0301" }],
    ["a name with five accents on a letter", { clientName: `e${"\u0301".repeat(5)}` }],
    ["a name of 65 characters", { clientName: "x".repeat(65) }],
    ["no scope", { scopes: [] }],
    ["a scope twice", { scopes: ["read", "read"] }],
    ["an unknown scope", { scopes: ["withdraw"] }],
    ["299 seconds", { keyLifetimeSeconds: 299 }],
    ["604,801 seconds", { keyLifetimeSeconds: 604_801 }],
    ["half a second", { keyLifetimeSeconds: 300.5 }],
    ["a challenge that is no digest", { codeChallenge: "plain" }],
    ["an unknown member", { extra: true }]
  ])("that asks with %s is refused", async (_, more) => {
    const venue = LiveVenue.make()
    expect(await ask(venue, { target: "/v1/agent-connect", body: { ...asked, ...more } })).toMatchObject({
      status: 400,
      body: { code: "invalid_request" }
    })
  })
})

test.each(["bo\u0308rsenbot \u{1f916}", "\u2764\ufe0f", "1\ufe0f\u20e3", "\u1000\u102d\u102f\u1037", "\u0e01\u0e33\u0e48",
  "\u092e\u0948\u0902", "\u3042\u3000\u3044"])(
    "an agent may have any name that is seen: %s",
    async (clientName) => {
      const venue = LiveVenue.make()
      const owner = await Owner.open(venue)
      const { begun } = await Agent.begin(venue, { clientName })
      expect((await must(decide(owner, "approve", begun.userCode))).clientName).toBe(clientName)
    }
  )

describe("user codes", () => {
  test("that are wrong ten times in a minute lock the account's approvals for a minute, whichever session asks, and no other account's", async () => {
    const { agent, owner, venue } = await bench()
    const other = await Owner.open(venue)
    for (let index = 0; index < 9; index++) expect((await decide(owner, "approve", "BBBB-BBBB")).status).toBe(404)
    expect((await owner.ask("/v1/accounts/{account}/agent-connect/BBBB-BBBB")).status).toBe(404)
    const locked = { status: 429, body: { code: "rate_limited", rejectionGuard: "user_codes_locked" } }
    expect(await decide(owner, "approve", agent.begun.userCode)).toMatchObject(locked)
    expect(await decide(owner, "deny", agent.begun.userCode)).toMatchObject(locked)
    expect((await other.ask(`/v1/accounts/{account}/agent-connect/${agent.begun.userCode}`)).status).toBe(200)
    await owner.signIn()
    expect(await decide(owner, "approve", agent.begun.userCode)).toMatchObject(locked)
    const told = venue.engine.securityEvents(venue.engine.findAccount(owner.accountId), Infinity, 9)
    expect(told.filter(({ kind }) => kind === "user_codes_locked")).toMatchObject([{ credentialId: "", remoteAddress: "127.0.0.1" }])
    venue.atEpochMs += 59_999
    expect(await decide(owner, "approve", agent.begun.userCode)).toMatchObject(locked)
    venue.atEpochMs += 1
    expect((await decide(owner, "approve", agent.begun.userCode)).status).toBe(200)
  })

  test("lock for a minute, and no longer where the clock was set back", async () => {
    const { owner, venue } = await bench()
    for (let index = 0; index < 10; index++) await decide(owner, "approve", "BBBB-BBBB")
    venue.atEpochMs -= 3_600_000
    expect((await decide(owner, "approve", "BBBB-BBBB")).status).toBe(429)
    venue.atEpochMs += 60_000
    expect((await decide(owner, "approve", "BBBB-BBBB")).status).toBe(404)
  })
})

describe("a key", () => {
  test("ends with its time", async () => {
    const { apiKey, venue } = await connected()
    venue.atEpochMs += 299_999
    expect((await ask(venue, { target: "/v1/api-keys/current", key: apiKey })).status).toBe(200)
    venue.atEpochMs += 1
    expect(await ask(venue, { target: "/v1/api-keys/current", key: apiKey })).toMatchObject({
      status: 401,
      body: { apiKeyRejection: "expired" }
    })
  })

  test("that ended by the records' time reads no more where the clock is set back, over HTTP and on a socket; nor does a session", async () => {
    const { apiKey, owner, venue } = await connected()
    const { accountId } = owner
    const client = new Client(venue)
    const { ticket } = await must(ask(venue, { method: "POST", target: "/v1/realtime/ticket", key: apiKey, body: {} }))
    venue.atEpochMs += 300_000
    venue.send({ kind: "PassTime" })
    venue.atEpochMs -= 600_000
    const expired = { status: 401, body: { apiKeyRejection: "expired" } }
    for (const target of ["/v1/api-keys/current", `/v1/accounts/${accountId}/balance`]) {
      expect(await ask(venue, { target, key: apiKey })).toMatchObject(expired)
    }
    expect((await must(owner.ask("/v1/accounts/{account}/api-keys"))).keys).toMatchObject([{ state: "expired" }])
    expect(client.say({ op: "auth", ticket })).toMatchObject([{}, { type: "auth_error" }])
    venue.atEpochMs += 13 * 3_600_000
    venue.send({ kind: "PassTime" })
    venue.atEpochMs -= 6 * 3_600_000
    expect((await owner.ask("/v1/auth/sessions/current")).status).toBe(401)
  })

  test("is listed, newest first, and revoked by its owner at once; repeating keeps the first time", async () => {
    const { apiKey, key, owner, venue } = await connected()
    const second = await Agent.begin(venue, { clientName: "second" })
    venue.atEpochMs += 1_000
    await must(decide(owner, "approve", second.begun.userCode))
    await must(second.poll())
    const list = await must(owner.ask("/v1/accounts/{account}/api-keys"))
    expect(list.keys.map(({ clientName }: { readonly clientName: string }) => clientName)).toEqual(["second", "maker"])
    expect(JSON.stringify(list)).not.toContain(apiKey)
    const target = `/v1/accounts/{account}/api-keys/${key.keyId}`
    const revokedAtEpochMs = venue.atEpochMs
    const revoked = await must(owner.ask(target, { method: "DELETE" }))
    expect(revoked).toMatchObject({ version: "api-key-revoke/v1", key: { keyId: key.keyId, state: "revoked", revokedAtEpochMs } })
    expect(await ask(venue, { target: "/v1/api-keys/current", key: apiKey })).toMatchObject({
      status: 401,
      body: { apiKeyRejection: "revoked" }
    })
    venue.atEpochMs += 5_000
    const { records } = venue
    expect((await must(owner.ask(target, { method: "DELETE" }))).key.revokedAtEpochMs).toBe(revokedAtEpochMs)
    expect(venue.records).toBe(records)
  })

  test("is revoked by nobody else, and an unknown one is told like another's", async () => {
    const { key, venue } = await connected()
    const other = await Owner.open(venue)
    const told = await other.ask(`/v1/accounts/{account}/api-keys/${key.keyId}`, { method: "DELETE" })
    const unknown = await other.ask("/v1/accounts/{account}/api-keys/key_nobody", { method: "DELETE" })
    expect(told).toMatchObject({ status: 404, body: { code: "not_found" } })
    expect({ ...told.body, requestId: "" }).toEqual({ ...unknown.body, requestId: "" })
  })

  test("reaches no owner's route", async () => {
    const { apiKey, owner, venue } = await connected()
    for (
      const target of [`/v1/accounts/${owner.accountId}/api-keys`, `/v1/accounts/${owner.accountId}/passkeys`, "/v1/auth/sessions/current"]
    ) {
      expect(await ask(venue, { target, key: apiKey })).toMatchObject({ status: 403, body: { code: "passkey_required" } })
    }
  })

  test("is one of 64 that may act at a time, and the next waits until one ends", async () => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const connect = async (): Promise<Agent> => {
      const agent = await Agent.begin(venue)
      await must(decide(owner, "approve", agent.begun.userCode))
      return agent
    }
    const keys: Array<string> = []
    for (let index = 0; index < 64; index++) keys.push((await must((await connect()).poll())).key.keyId)
    const last = await connect()
    expect(await last.poll()).toMatchObject({ status: 429, body: { code: "rate_limited", rejectionGuard: "key_limit" } })
    await must(owner.ask(`/v1/accounts/{account}/api-keys/${keys[5]}`, { method: "DELETE" }))
    venue.atEpochMs += 5_000
    expect((await last.poll()).status).toBe(200)
  })
})
