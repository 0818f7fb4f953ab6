/** Ended keys are listed for a while and then unknown, so an owner who makes keys for years has no more of them than others. */
import { createHash } from "node:crypto"
import { describe, expect, test } from "vitest"
import { bounds } from "../../../src/engine/identity/Bounds.js"
import * as Invariants from "../../../src/engine/Invariants.js"
import * as Snapshot from "../../../src/engine/Snapshot.js"
import { Refusal } from "../../../src/domain/Refusal.js"
import { internal, Principal } from "../../../src/operations/Header.js"
import { Operation, withFields } from "../../../src/operations/Operations.js"
import { KeyOwner } from "../../engine/KeyOwner.js"
import { LiveVenue } from "../LiveVenue.js"
import { ask, must, Owner } from "./Owner.js"

const dayMs = 24 * 3_600_000
const verifier = "a-verifier-that-only-the-agent-knows-and-nobody-else"
const codeChallenge = createHash("sha256").update(verifier).digest("base64url")

const connected = async (owner: Owner, keyLifetimeSeconds = 300) => {
  const { venue } = owner
  const asked = { clientName: "maker", scopes: ["read"], keyLifetimeSeconds, codeChallenge }
  const { deviceCode, userCode } = await must(ask(venue, { target: "/v1/agent-connect", body: asked }))
  await must(owner.ask("/v1/accounts/{account}/agent-connect/approve", { body: { userCode, scopes: ["read"] } }))
  return must(ask(venue, { target: "/v1/agent-connect/exchange", body: { deviceCode, codeVerifier: verifier } }))
}

/** Days later: sessions have expired by then, and an action adds a record. */
const later = async (owner: Owner, ms: number) => {
  owner.venue.atEpochMs += ms
  await owner.signIn()
}

const listed = async (owner: Owner): Promise<ReadonlyArray<any>> => (await must(owner.ask("/v1/accounts/{account}/api-keys"))).keys

describe("a key that has ended", () => {
  test.each([
    ["by its time", false, 300_000],
    ["by its owner", true, 0]
  ])("%s is told for thirty days, and is unknown then", async (_, isRevoked, lastsMs) => {
    const venue = LiveVenue.make()
    const owner = await Owner.open(venue)
    const { apiKey, key: { keyId } } = await connected(owner)
    const target = `/v1/accounts/{account}/api-keys/${keyId}`
    if (isRevoked) await must(owner.ask(target, { method: "DELETE" }))
    const current = async () => (await ask(venue, { target: "/v1/api-keys/current", key: apiKey })).body.apiKeyRejection
    await later(owner, lastsMs + 30 * dayMs - 1)
    expect((await listed(owner)).map(({ keyId: told }) => told)).toEqual([keyId])
    expect(await current()).toBe(isRevoked ? "revoked" : "expired")
    await later(owner, 1)
    expect(await listed(owner)).toEqual([])
    expect(await current()).toBe("unknown")
    expect(await owner.ask(target, { method: "DELETE" })).toMatchObject({ status: 404, body: { code: "not_found" } })
    expect(venue.engine.occupancy.apiKeys).toBe(0)
    // The key's security events are listed as long as any other event.
    const { events } = await must(owner.ask("/v1/accounts/{account}/security-events?limit=100"))
    expect(events.some(({ credentialId, kind }: any) => kind === "key_issued" && credentialId === keyId)).toBe(true)
    const next = await connected(owner)
    expect((await listed(owner)).map(({ keyId: told }) => told)).toEqual([next.key.keyId])
  })

  test("before its time is told from then on", async () => {
    const owner = await Owner.open(LiveVenue.make())
    const { key: { keyId } } = await connected(owner, 604_800)
    await later(owner, dayMs)
    await must(owner.ask(`/v1/accounts/{account}/api-keys/${keyId}`, { method: "DELETE" }))
    await later(owner, 30 * dayMs - 1)
    expect(await listed(owner)).toHaveLength(1)
    await later(owner, 1)
    expect(await listed(owner)).toEqual([])
  })
})

test("a key that cannot act any more leaves no address behind, and one that is forgotten no use", () => {
  const keys = new KeyOwner()
  const session = keys.signIn()
  const { keyUses } = keys.engine.state.identity
  const used = (keyId: string): number => {
    const apiKey = keys.engine.findApiKey(keyId)!.credential
    keys.send("NoteSecurity", internal(Principal.venue), {
      what: "key_used_from_new_address",
      ofAccount: 0,
      credentialId: keyId,
      remoteAddress: "192.0.2.1"
    })
    keys.send("NoteKeyUses", internal(Principal.venue), { uses: [{ apiKey, usedAtEpochMs: keys.atEpochMs }] })
    return apiKey
  }
  const revoked = keys.connect(session)
  const expires = keys.connect(session)
  const [first, second] = [used(revoked), used(expires)]
  expect(keyUses.allAddresses().map(([apiKey]) => apiKey)).toEqual([first, second])
  keys.revoke(session, revoked)
  expect(keyUses.allAddresses().map(([apiKey]) => apiKey)).toEqual([second])
  keys.atEpochMs += 300_000
  keys.connect(session)
  expect(keyUses.allAddresses()).toEqual([])
  expect(keyUses.allLastUsed().map(([apiKey]) => apiKey)).toEqual([first, second])
  keys.atEpochMs += bounds.endedKeysMs
  keys.signIn()
  expect(keyUses.allLastUsed()).toEqual([])
})

describe("an account that makes keys for years", () => {
  test("neither grows without a bound nor meets a limit of keys that are dead, and snapshots hold what it has", () => {
    const keys = new KeyOwner()
    let most = 0
    for (let day = 0; day < 3 * 365; day++) {
      keys.atEpochMs += dayMs
      const session = keys.signIn()
      for (let count = 0; count < 4; count++) {
        const keyId = keys.connect(session, count === 0 ? 604_800 : 300)
        if (count === 3) keys.revoke(session, keyId)
      }
      most = Math.max(most, keys.engine.occupancy.apiKeys)
    }
    const { state } = keys.engine
    expect(most).toBeLessThanOrEqual(bounds.keys + bounds.endedKeys + 1)
    expect(most).toBeGreaterThan(100)
    expect(state.identity.clientNames.size).toBe(state.apiKeys.kept)
    expect(state.identity.keyEnds.size).toBe(state.apiKeys.kept)
    expect(Invariants.firstBroken(state)).toBeUndefined()
    const again = Snapshot.unsafeDecode(Snapshot.encode(state), state.capacity)
    expect(linesOf(again)).toEqual(linesOf(state))
    expect(again.identity.keyEnds.entries()).toEqual(state.identity.keyEnds.entries())
  })

  test("in a moment keeps the latest of those that have ended, and all that may act", () => {
    const keys = new KeyOwner()
    const session = keys.signIn()
    const standing = keys.connect(session, 604_800)
    const all: Array<string> = []
    for (let count = 0; count < bounds.endedKeys + 10; count++) {
      const keyId = keys.connect(session)
      all.push(keyId)
      keys.revoke(session, keyId)
    }
    const kept = [...keys.engine.apiKeys(0, Number.POSITIVE_INFINITY)].map(({ keyId }) => keyId)
    // The last key ended after it was issued, so there is one more than the limit: issuing another would remove it.
    expect(kept).toEqual([...all.slice(-bounds.endedKeys - 1).reverse(), standing])
  })

  test("what waited by a key that was forgotten is refused, and a note of its use is passed over", () => {
    const keys = new KeyOwner()
    const session = keys.signIn()
    const keyId = keys.connect(session)
    const apiKey = keys.engine.findApiKey(keyId)!.credential
    keys.atEpochMs += 300_000 + bounds.endedKeysMs
    keys.send("NoteKeyUses", internal(Principal.venue), { uses: [{ apiKey, usedAtEpochMs: keys.atEpochMs }] })
    expect(keys.engine.findApiKey(keyId)).toBeUndefined()
    expect(keys.engine.apiKey(apiKey)).toBeUndefined()
    expect(keys.engine.state.identity.keyUses.allLastUsed()).toEqual([])
    const ticket = withFields("MintTicket", {
      ...internal(Principal.ticket),
      principal: Principal.key,
      account: 0,
      credential: apiKey,
      operation: Operation.mintTicket
    }, { scopes: 1 })
    expect(keys.engine.admit(ticket, keys.atEpochMs)?.refusal).toBe(Refusal.keyUnknown)
  })
})

const linesOf = (state: Parameters<typeof Snapshot.canonical>[0]): ReadonlyArray<string> => {
  const lines: Array<string> = []
  Snapshot.canonical(state, (line) => lines.push(line))
  return lines
}
