/** Bots' keys: which workload tokens are accepted, and what is issued for them. `ask` checks every schema. */
import { Effect, Either, Logger } from "effect"
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from "jose"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { expect, test } from "vitest"
import * as NodeWorkloadIdentity from "../../src/identity/NodeWorkloadIdentity.js"
import { WorkloadIdentity } from "../../src/identity/WorkloadIdentity.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, type Trader } from "./LiveVenue.js"

const issuer = "https://platform.example"
const audience = "perpetuum"
const nowEpochMs = 1_700_000_000_000
const nowSeconds = nowEpochMs / 1000

interface Pair {
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

const pair = async (alg: string): Promise<Pair> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { privateKey, jwk: { ...await exportJWK(publicKey), alg, kid: `kid-${alg}` } }
}

const pairs = { es256: await pair("ES256"), stranger: await pair("ES256"), rs256: await pair("RS256") }
const secret = new TextEncoder().encode("a secret that both sides would have to share")

/** A valid token with some claims changed. */
const token = (change: Record<string, unknown> = {}, key: Pair = pairs.es256): Promise<string> =>
  new SignJWT({ iss: issuer, aud: audience, sub: "maker-1", exp: nowSeconds + 60, ...change })
    .setProtectedHeader({ alg: key.jwk.alg!, kid: key.jwk.kid! })
    .sign(key.privateKey)

const platform = (accounts: ReadonlyMap<string, string>): NodeWorkloadIdentity.Platform => ({
  keys: {
    set: {
      keys: [pairs.es256.jwk, pairs.rs256.jwk, { kty: "oct", k: Buffer.from(secret).toString("base64url"), alg: "HS256", kid: "kid-HS256" }]
    }
  },
  issuer,
  audience,
  accounts
})

const service = (accounts: ReadonlyMap<string, string>) =>
  Effect.runSync(Effect.provide(WorkloadIdentity, NodeWorkloadIdentity.layer(platform(accounts))))

const verified = (text: string) => Effect.runPromise(Effect.either(service(new Map([["maker-1", "acc_1"]])).verify(text, nowEpochMs)))

const reasonOf = async (text: string): Promise<string> => {
  const result = await verified(text)
  if (Either.isRight(result) || result.left._tag !== "TokenRejected") throw new Error("the token was not rejected")
  return result.left.reason
}

test.each([["ES256", () => pairs.es256], ["RS256", () => pairs.rs256]] as const)("a good token signed with %s is its subject's",
  async (_, key) => {
    expect(await verified(await token({}, key()))).toEqual(Either.right({ subject: "maker-1", accountId: "acc_1" }))
  })

test("a token that begins five seconds ahead, by its platform's clock, is good, and one that ends a second later", async () => {
  expect(Either.isRight(await verified(await token({ nbf: nowSeconds + 5, exp: nowSeconds + 1 })))).toBe(true)
})

const wrongs: ReadonlyArray<readonly [string, () => Promise<string>, string]> = [
  ["another issuer", () => token({ iss: "https://elsewhere.example" }), "The token is of another issuer."],
  ["no issuer", () => token({ iss: undefined }), "The token is of another issuer."],
  ["another audience", () => token({ aud: "another venue" }), "The token is for another audience."],
  ["a subject that is bound to nothing", () => token({ sub: "maker-2" }), "The token's subject is bound to no account here."],
  ["no subject", () => token({ sub: undefined }), "The token says no subject."],
  ["a token that has expired", () => token({ exp: nowSeconds }), "The token has expired."],
  ["a token that never expires", () => token({ exp: undefined }), "The token says no time at which it expires."],
  ["a token of a time to come", () => token({ nbf: nowSeconds + 6 }), "The token is not valid yet."],
  ["a token that has expired, beside a beginning that is ahead", () => token({ nbf: nowSeconds + 5, exp: nowSeconds }),
    "The token has expired."],
  [
    "a key that nobody has published",
    () => token({}, { ...pairs.stranger, jwk: { ...pairs.stranger.jwk, kid: "stranger" } }),
    "The token is signed with a key that its issuer has not published, or that this venue has not read: a file of keys is read when the "
    + "venue starts."
  ],
  ["another's signature under the name of a published key", () => token({}, pairs.stranger), "The token's signature is not valid."],
  ["a shared secret, published or not", () =>
    new SignJWT({ iss: issuer, aud: audience, sub: "maker-1", exp: nowSeconds + 60 })
      .setProtectedHeader({ alg: "HS256", kid: "kid-HS256" })
      .sign(secret), "The token's algorithm is not taken: it must be signed with a private key."],
  [
    "no signature at all",
    () => Promise.resolve(new UnsecuredJWT({ iss: issuer, aud: audience, sub: "maker-1", exp: nowSeconds + 60 }).encode()),
    "The token's algorithm is not taken: it must be signed with a private key."
  ],
  ["no JWT", () => Promise.resolve("nonsense"), "The token is no signed JWT."],
  ["a payload that was changed", async () => {
    const [head, , signature] = (await token()).split(".")
    const payload = Buffer.from(JSON.stringify({ iss: issuer, aud: audience, sub: "maker-1", exp: nowSeconds + 6_000 })).toString(
      "base64url"
    )
    return `${head}.${payload}.${signature}`
  }, "The token's signature is not valid."]
]

test.each(wrongs)("%s is refused", async (_, make, reason) => {
  expect(await reasonOf(await make())).toBe(reason)
})

test("where the platform's keys cannot be had, nothing is said of the token", async () => {
  const layer = NodeWorkloadIdentity.layer({ ...platform(new Map()), keys: { url: "http://127.0.0.1:1/jwks" } })
  const { verify } = Effect.runSync(Effect.provide(WorkloadIdentity, layer))
  const result = await Effect.runPromise(
    Effect.provide(Effect.either(verify(await token(), nowEpochMs)), Logger.remove(Logger.defaultLogger))
  )
  expect(Either.isLeft(result) && result.left._tag).toBe("KeysUnavailable")
})

test("where they cannot be had, an operator hears why, once a minute, and of no token that is wrong", async () => {
  const logged: Array<string> = []
  const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void logged.push(String(message))))
  const told = (why: string, since: number): string =>
    `the keys of WORKLOAD_JWKS cannot be had: ${why}. No bot gets a key until they can (requests since the last warning: ${since})`
  let nowMs = 0
  const asking = (keys: NodeWorkloadIdentity.Platform["keys"], text: string) => {
    const layer = NodeWorkloadIdentity.layer({ ...platform(new Map()), keys }, () => nowMs)
    const { verify } = Effect.runSync(Effect.provide(WorkloadIdentity, layer))
    return () => Effect.runPromise(Effect.provide(Effect.either(verify(text, nowEpochMs)), logger))
  }
  const refused = asking({ url: "http://127.0.0.1:1/jwks" }, await token())
  await refused()
  nowMs = 59_999
  await refused()
  expect(logged).toEqual([told("bad port", 1)])
  nowMs = 60_000
  await refused()
  expect(logged.slice(1)).toEqual([told("bad port", 2)])

  const server = http.createServer((_, answer) => answer.writeHead(404).end("not here: hunter2"))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`
  try {
    await asking({ url }, await token())()
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  await asking({ url }, await token())()
  expect(logged.slice(2)).toEqual([
    told("Expected 200 OK from the JSON Web Key Set HTTP response", 1),
    told("ECONNREFUSED", 1)
  ])

  const { keys } = platform(new Map())
  await asking(keys, "nonsense")()
  await asking(keys, await token({}, pairs.stranger))()
  expect(logged).toHaveLength(4)
})

const setUp = async () => {
  const accounts = new Map<string, string>()
  const venue = LiveVenue.make(undefined, { workloads: service(accounts) })
  const [alice] = await venue.traders(1) as [Trader]
  accounts.set("maker-1", alice.accountId)
  accounts.set("maker-2", "acc_nobody")
  const issue = async (text: string, idempotencyKey = venue.nextKey()): Promise<any> => {
    const response = await venue.ask({ target: "/v1/operator/bot-keys", body: { token: text }, key: Fake.operatorToken, idempotencyKey })
    return { ...Fake.json(response), httpStatus: response.status }
  }
  return { alice, issue, venue }
}

test("a bot has a key for seven days, that reads and trades for its account alone", async () => {
  const { alice, issue, venue } = await setUp()
  const issued = await issue(await token())
  expect(issued).toMatchObject({
    httpStatus: 200,
    accountId: alice.accountId,
    principalKind: "bot",
    scopes: ["read", "trade"],
    expiresAtEpochMs: venue.atEpochMs + 7 * 86_400_000
  })
  const bot: Trader = { ...alice, key: issued.apiKey }
  expect(await venue.place(bot)).toMatchObject({ httpStatus: 200 })
  const { key } = await venue.read(bot, "/v1/api-keys/current")
  expect(key).toMatchObject({ keyId: issued.keyId, principalKind: "bot", clientName: "maker-1", state: "active" })
  expect((await venue.read(alice, "/v1/api-keys/current")).key).toMatchObject({ principalKind: "agent" })
  venue.atEpochMs += 7 * 86_400_000
  expect(await venue.place(bot)).toMatchObject({ httpStatus: 401, apiKeyRejection: "expired" })
})

test("a lost answer is asked for again, and the next key leaves the one before what it is", async () => {
  const { alice, issue, venue } = await setUp()
  const text = await token()
  const first = await issue(text, "k")
  venue.atEpochMs += 1_000
  expect(await issue(text, "k")).toEqual(first)
  expect(await issue(await token({ jti: "another" }), "k")).toMatchObject({ httpStatus: 409, code: "idempotency_key_conflict" })
  const next = await issue(text)
  expect(next.apiKey).not.toBe(first.apiKey)
  for (const { apiKey } of [first, next]) expect(await venue.place({ ...alice, key: apiKey })).toMatchObject({ httpStatus: 200 })
})

test("a lost answer is asked for again when the token's minutes are over, and the token gets no other key then", async () => {
  const { issue, venue } = await setUp()
  const text = await token()
  const first = await issue(text, "k")
  venue.atEpochMs += 3_600_000
  const { records } = venue
  expect(await issue(text, "k")).toEqual(first)
  expect(await issue(text, "another")).toMatchObject({ httpStatus: 400, safeMessage: "The token has expired." })
  expect(venue.records).toBe(records)
  // Once the idempotency key is forgotten, the request counts as new, and its token has expired.
  venue.atEpochMs += 24 * 3_600_000
  expect(await issue(text, "k")).toMatchObject({ httpStatus: 400, safeMessage: "The token has expired." })
  expect(venue.records).toBe(records)
})

test("a token whose time is over is looked at in all but its time", async () => {
  const { verify } = service(new Map([["maker-1", "acc_1"]]))
  const ever = (text: string) => Effect.runPromise(Effect.either(verify(text, undefined)))
  expect(await ever(await token({ exp: 1 }))).toEqual(Either.right({ subject: "maker-1", accountId: "acc_1" }))
  expect(await ever(await token({ nbf: nowSeconds * 2 }))).toEqual(Either.right({ subject: "maker-1", accountId: "acc_1" }))
  for (const [why, make, reason] of wrongs) {
    if (/expired|to come/.test(why)) continue
    const result = await ever(await make())
    expect([why, Either.isLeft(result) && result.left._tag === "TokenRejected" && result.left.reason]).toEqual([why, reason])
  }
})

test("a token that is not taken is told why, and gets nothing", async () => {
  const { issue, venue } = await setUp()
  const { records } = venue
  expect(await issue(await token({ exp: nowSeconds - 1 }))).toMatchObject({
    httpStatus: 400,
    code: "invalid_request",
    rejectionGuard: "workload_token_rejected",
    safeMessage: "The token has expired."
  })
  expect(await issue(await token({ sub: "maker-2" }))).toMatchObject({ httpStatus: 404, code: "account_not_found" })
  const unset = LiveVenue.make()
  const response = await unset.ask({ target: "/v1/operator/bot-keys", body: { token: "t" }, key: Fake.operatorToken, idempotencyKey: "k" })
  expect([response.status, Fake.json(response).code]).toEqual([400, "operation_not_available"])
  expect(venue.records).toBe(records)
})

test("an account has 64 active keys at most, its bots' among them; beyond that the operator is told the bots' oldest, and can revoke them", async () => {
  const { issue, venue } = await setUp()
  const text = await token({ exp: nowSeconds + 86_400 })
  const keyIds: Array<string> = []
  for (let count = 0; count < 63; count++) {
    venue.atEpochMs += 1
    keyIds.push((await issue(text)).keyId)
  }
  const refused = (first: number, later: string) => ({
    httpStatus: 429,
    rejectionGuard: "key_limit",
    safeMessage:
      "The account has as many active API keys as it may: revoke one, or wait until one expires. Its bots' active keys, oldest first: "
      + `${keyIds.slice(first, first + 8).join(", ")} and ${later} later ones.`
  })
  expect(await issue(text)).toMatchObject(refused(0, "55"))
  const revoked = await venue.ask({
    method: "DELETE",
    target: `/v1/operator/api-keys/${keyIds[0]}`,
    key: Fake.operatorToken,
    idempotencyKey: "revocation"
  })
  expect(revoked.status).toBe(200)
  expect((await issue(text)).httpStatus).toBe(200)
  expect(await issue(text)).toMatchObject(refused(1, "55"))
  venue.atEpochMs += 7 * 86_400_000
  expect((await issue(await token({ exp: venue.atEpochMs / 1000 + 60 }))).httpStatus).toBe(200)
})

test("a key's latest use is told, and an address that it was not known to come from", async () => {
  const { alice, issue, venue } = await setUp()
  const { apiKey, keyId } = await issue(await token())
  const from = (remoteAddress: string) => venue.ask({ target: "/v1/api-keys/current", key: apiKey, remoteAddress })
  const lastUsed = async () => Fake.json(await from("192.0.2.1")).key.lastUsedAtEpochMs
  expect(await lastUsed()).toBe(venue.atEpochMs)
  venue.atEpochMs += 500
  expect(await lastUsed()).toBe(venue.atEpochMs)
  for (let last = 2; last <= 9; last++) await from(`192.0.2.${last}`)
  venue.atEpochMs += 60_000
  for (const again of ["192.0.2.9", "192.0.2.2", "192.0.2.1"]) await from(again)
  const key = venue.engine.findApiKey(keyId)!.credential
  const told = venue.engine.securityEvents(alice.account, Infinity, 20).filter(({ kind }) => kind === "key_used_from_new_address")
  // Eight addresses are remembered: the ninth displaced the first, which is reported as new when it returns.
  expect(told.map(({ remoteAddress }) => remoteAddress.slice("192.0.2.".length))).toEqual(["1", "9", "8", "7", "6", "5", "4", "3", "2",
    "1"])
  expect(venue.engine.keyAddresses(key)).toHaveLength(8)
  await Effect.runPromise(venue.keyUses.flush)
  expect(venue.engine.keyLastUsedAt(key)).toBe(venue.atEpochMs)
})
