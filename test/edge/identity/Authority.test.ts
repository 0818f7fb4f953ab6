/**
 * Who may call what: every route with every kind of credential. Each route's access level is written here a second time, so that no change
 * of a declaration goes unnoticed.
 */
import { Deferred, Effect } from "effect"
import { createHash } from "node:crypto"
import { beforeAll, describe, expect, test } from "vitest"
import { WorkloadIdentity } from "../../../src/identity/WorkloadIdentity.js"
import * as Contract from "../../../src/edge/Contract.js"
import type { Described } from "../../../src/edge/http/Endpoint.js"
import * as Example from "../../../src/edge/http/Example.js"
import * as Histories from "../../../src/readmodel/Histories.js"
import * as Fake from "../FakeVenue.js"
import { LiveVenue } from "../LiveVenue.js"
import { ask, must, Owner, type Told } from "./Owner.js"

const access: Readonly<Record<Described["access"], ReadonlyArray<Contract.Name>>> = {
  trade: ["placeOrder", "placeOrderBatch", "cancelOrderBatch", "cancelOrder", "amendOrder", "cancelAllOrders", "setCancelAllAfter",
    "fenceOutcome", "setProfile", "setLeverage", "setAutoClose", "cancelAutoClose", "cancelTriggers", "createOrders", "createOrder",
    "cancelCompatOrder", "cancelAllCompatOrders", "addFavorite", "removeFavorite", "registerAffiliate"],
  read: ["getOrder", "getCancelAllAfter", "lookUpOutcome", "getBalance", "listPositions", "listOrders", "listFills", "listChanges",
    "listAccountLiquidations", "listFundingPayments", "listLedger", "getProfile", "getLeverage", "previewMargin", "getAutoClose",
    "listTriggers", "listPositionHistory", "getCompatOrder", "listCompatOrders", "listCompatOwnTrades", "listCompatPositions",
    "getCompatBalance", "getAffiliate", "getSolvencyProof", "listDeposits", "getDeposit"],
  anyone_or_owner: ["beginRegistration", "finishRegistration"],
  public: ["beginAuthentication", "finishAuthentication", "beginAgentConnect", "exchangeAgentConnect", "rotateTicket", "endTickets",
    "getBook", "listTrades", "getStats", "getCandles", "getCompatCandles", "getLeaderboard", "listFundings", "listMarks",
    "listLiquidations", "listDeleveragings", "getInsuranceFund", "getLimits", "getSolvency", "listCompatMarkets", "getCompatBook",
    "listCompatTrades", "getCompatStats", "getCompatTicker", "getCompatTime"],
  owner: ["getCurrentSession", "endCurrentSession", "endOtherSessions", "listPasskeys", "removePasskey", "showAgentConnect",
    "approveAgentConnect", "denyAgentConnect", "listApiKeys", "revokeApiKey", "listSecurityEvents", "createDeposit", "cancelDeposit",
    "confirmDeposit", "createWithdrawal", "listWithdrawals", "getWithdrawal", "cancelWithdrawal", "confirmWithdrawal", "getLedgerParty",
    "changeLedgerParty", "cancelLedgerPartyChange", "confirmLedgerPartyChange", "pinPasskeys"],
  key: ["getCurrentApiKey"],
  operator: ["putMarket", "previewMarket", "listOperatorMarkets", "getAnnounced", "setMarketStatus", "delistMarket", "getDelisting",
    "withdrawDelisting", "setIndexPrice", "openIndexStream", "getIndexStream", "streamIndexPrices", "cancelByOperator", "addToFund",
    "haltEngine", "resumeEngine", "setLimits", "openDemoAccounts", "issueBotKey", "setAccountFlags", "creditAccount", "revokeKeyByOperator",
    "fundLedgerParty", "reconcile", "stopWithdrawals", "allowWithdrawals"],
  system: ["getHealth", "getReadiness", "getMetrics", "getOpenApi", "getDocs", "getDocsPage"],
  key_read: ["mintTicket"],
  anyone_or_trader: ["listMarkets", "getMarket"]
}

const levelOf: ReadonlyMap<Contract.Name, Described["access"]> = new Map(
  Object.entries(access).flatMap(([level, names]) => names.map((name) => [name, level as Described["access"]] as const))
)

/** Everything that may be sent in an `Authorization` header. */
const credentials = [
  "none",
  "garbage",
  "a key that nobody has",
  "a session that nobody has",
  "an expired key",
  "a revoked key",
  "a key to read",
  "a key to trade",
  "a bot's key",
  "another account's key",
  "another account's session",
  "a session that has ended",
  "the owner",
  "the operator"
] as const
type Credential = (typeof credentials)[number]

/** The result of a credential at an access level, before the route's own checks: the refusal, or `in`. */
type Met =
  | "in"
  | "missing"
  | "malformed"
  | "unknown"
  | "expired"
  | "revoked"
  | "scope_missing"
  | "passkey_required"
  | "signed out"
  | "no operator"

const dead: Partial<Readonly<Record<Credential, Met>>> = {
  garbage: "malformed",
  "a key that nobody has": "unknown",
  "a session that nobody has": "signed out",
  "an expired key": "expired",
  "a revoked key": "revoked",
  "a session that has ended": "signed out",
  "the operator": "malformed"
}

const met = (level: Described["access"], credential: Credential): Met => {
  const isSession = credential === "the owner" || credential === "another account's session"
  switch (level) {
    case "system":
    case "public":
    case "anyone_or_trader":
      return "in"
    case "operator":
      return credential === "the operator" ? "in" : "no operator"
    case "anyone_or_owner":
      if (credential === "none") return "in"
      return dead[credential] ?? (isSession ? "in" : "passkey_required")
    case "owner":
      if (credential === "none") return "signed out"
      return dead[credential] ?? (isSession ? "in" : "passkey_required")
    case "read":
    case "trade":
      if (credential === "none") return "missing"
      if (credential === "a key to read" && level === "trade") return "scope_missing"
      if (credential === "a key to trade" && level === "read") return "scope_missing"
      return dead[credential] ?? "in"
    case "key":
    case "key_read":
      if (credential === "none") return "missing"
      if (isSession) return "malformed"
      if (credential === "a key to trade" && level === "key_read") return "scope_missing"
      return dead[credential] ?? "in"
  }
}

interface Scene {
  readonly venue: LiveVenue
  readonly owner: Owner
  readonly tokens: Readonly<Record<Exclude<Credential, "none">, string>>
}

const verifier = "v".repeat(43)
const codeChallenge = createHash("sha256").update(verifier).digest("base64url")

/** A key of the owner's. */
const keyOf = async (
  owner: Owner,
  scopes: ReadonlyArray<string>,
  keyLifetimeSeconds = 604_800
): Promise<{ readonly text: string; readonly keyId: string }> => {
  const { venue } = owner
  const asked = { clientName: scopes.join(" "), scopes, keyLifetimeSeconds, codeChallenge }
  const begun = await must(ask(venue, { target: "/v1/agent-connect", body: asked }))
  await must(owner.ask("/v1/accounts/{account}/agent-connect/approve", { body: { userCode: begun.userCode, scopes } }))
  const body = { deviceCode: begun.deviceCode, codeVerifier: verifier }
  const { apiKey, key } = await must(ask(venue, { target: "/v1/agent-connect/exchange", body }))
  return { text: apiKey, keyId: key.keyId }
}

const setting = async (): Promise<Scene> => {
  const bound = { accountId: "" }
  const workloads = WorkloadIdentity.of({ verify: () => Effect.succeed({ subject: "maker", accountId: bound.accountId }) })
  const venue = LiveVenue.make(undefined, { affiliateEnabled: true, workloads })
  const [owner, other] = [await Owner.open(venue), await Owner.open(venue)]
  const expired = await keyOf(owner, ["read", "trade"], 300)
  const revoked = await keyOf(owner, ["read", "trade"])
  await must(owner.ask(`/v1/accounts/{account}/api-keys/${revoked.keyId}`, { method: "DELETE" }))
  const ended = owner.token
  await must(owner.ask("/v1/auth/sessions/current", { method: "DELETE" }))
  await owner.signIn()
  venue.atEpochMs += 300_000
  bound.accountId = owner.accountId
  const bot = await must(ask(venue, {
    target: "/v1/operator/bot-keys",
    body: { token: "a.b.c" },
    key: Fake.operatorToken,
    idempotencyKey: venue.nextKey()
  }))
  return {
    venue,
    owner,
    tokens: {
      garbage: "let me in",
      "a key that nobody has": `pk_development_0123_${"x".repeat(43)}`,
      "a session that nobody has": `ses_${"x".repeat(43)}`,
      "an expired key": expired.text,
      "a revoked key": revoked.text,
      "a key to read": (await keyOf(owner, ["read"])).text,
      "a key to trade": (await keyOf(owner, ["trade"])).text,
      "a bot's key": bot.apiKey,
      "another account's key": (await keyOf(other, ["read", "trade"])).text,
      "another account's session": other.token,
      "a session that has ended": ended,
      "the owner": owner.token,
      "the operator": Fake.operatorToken
    }
  }
}

/** The codes with which access control alone refuses. */
const authorityCodes = ["unauthorized", "scope_missing", "passkey_required"]

/** What a credential meets on a route, some of which are closer than their level. */
const metOn = (name: Contract.Name, credential: Credential): Met => {
  // The name of an account that has an owner is for the owner to choose.
  const isOfOwner = name === "setProfile" && (credential === "a key to trade" || credential === "a bot's key")
  return isOfOwner ? "passkey_required" : met(levelOf.get(name)!, credential)
}

const expectMet = (told: Told, expected: Met): void => {
  const { body, status } = told
  switch (expected) {
    case "in":
      if (status >= 400) expect(authorityCodes).not.toContain(body.code)
      return
    case "passkey_required":
      return expect(told).toMatchObject({ status: 403, body: { code: "passkey_required" } })
    case "scope_missing":
      return expect(told).toMatchObject({ status: 403, body: { code: "scope_missing", apiKeyRejection: "scope_missing" } })
    case "signed out":
      return expect(told).toMatchObject({ status: 401, body: { code: "unauthorized", recoveryActions: ["sign_in_with_passkey"] } })
    case "no operator":
      return expect(told).toMatchObject({ status: 401, body: { code: "unauthorized" } })
    default:
      return expect(told).toMatchObject({ status: 401, body: { code: "unauthorized", apiKeyRejection: expected } })
  }
}

test("every route's access is the one that is said here", () => {
  const declared = Object.fromEntries(Contract.endpoints.map(({ access, name }) => [name, access]))
  expect(declared).toEqual(Object.fromEntries(levelOf))
})

test("another account's order that is there is told like one that is not, and is touched by nobody but its own account", async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2)
  const { accountId, marketId, orderId } = await venue.place(alice!)
  const asks = (of: string, order: string): ReadonlyArray<Fake.Ask> => [
    { target: `/v1/orders/${order}` },
    { target: `/v1/orders/${order}/cancel`, body: { accountId: of, marketId } },
    { target: `/v1/orders/${order}/amend`, body: { accountId: of, marketId, price: "99.0" } },
    { target: `/v2/orders/${order}` },
    { target: `/v2/orders/${order}/cancel`, body: { symbol: "AAA/USDC:USDC" } }
  ]
  const told = async (of: string, order: string) => {
    const answers: Array<unknown> = []
    for (const each of asks(of, order)) {
      const { body, status } = native(await ask(venue, { ...each, key: bob!.key, idempotencyKey: venue.nextKey() }))
      expect(status).toBeGreaterThanOrEqual(400)
      answers.push({ ...body, status, requestId: "", occurredAtEpochMs: 0 })
    }
    return answers
  }
  for (const  of of[accountId, bob!.accountId]) expect(await told(of, orderId)).toEqual(await told(of, "ord_zzzz"))
  expect(await venue.read(alice!, `/v1/orders/${orderId}`)).toMatchObject({ status: "open", price: "100.0" })
})

test("a read that waited is answered to nobody whose key or session has ended meanwhile, and a command's decision is", async () => {
  const goesOn = Effect.runSync(Deferred.make<void>())
  const standing = { sequence: 1, atEpochMs: 0, fills: 0, lagMs: 0, isReplaying: false, isRebuilding: false }
  const episodes = () => Effect.as(Deferred.await(goesOn), { found: [], standing })
  const venue = LiveVenue.make(undefined, { histories: { ...Histories.none, episodes } })
  const owner = await Owner.open(venue)
  const [kept, revoked] = [await keyOf(owner, ["read"]), await keyOf(owner, ["read", "trade"])]
  const ended = owner.token
  const target = `/v1/accounts/${owner.accountId}/positions/history`
  const reads = [kept.text, revoked.text, ended].map((key) => ask(venue, { target, key }))
  venue.holdDisk()
  const cancels = { target: "/v1/orders/cancel-all", body: { accountId: owner.accountId }, key: revoked.text, idempotencyKey: "cancels" }
  const decided = ask(venue, cancels)
  const revocation = owner.ask(`/v1/accounts/{account}/api-keys/${revoked.keyId}`, { method: "DELETE" })
  const signOut = owner.ask("/v1/auth/sessions/current", { method: "DELETE" })
  Effect.runSync(Deferred.succeed(goesOn, undefined))
  venue.releaseDisk()
  await must(revocation)
  await must(signOut)
  const told = await Promise.all([...reads, decided])
  expect(told).toMatchObject([
    { status: 200, body: { episodes: [] } },
    { status: 401, body: { apiKeyRejection: "revoked" } },
    { status: 401, body: { code: "unauthorized", recoveryActions: ["sign_in_with_passkey"] } },
    { status: 200 }
  ])
})

/** Envelopes of the compatibility layer contain the native one. */
const native = ({ body, status }: Told): Told => ({ status, body: body !== undefined && "info" in Object(body) ? body.info : body })

/** Whether an example has an account in its path or body. */
const namesAccount = (name: Contract.Name): boolean => JSON.stringify(Contract.examples[name]).includes(Example.accountId)

describe("every route", () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await setting()
  })

  const call = (endpoint: Described, credential: Credential, own: string): Promise<Told> => {
    const { body, target } = JSON.parse(
      JSON.stringify(Contract.examples[endpoint.name as Contract.Name]).replaceAll(Example.accountId, own)
    ) as { readonly target: string; readonly body?: unknown }
    return ask(scene.venue, {
      method: endpoint.method,
      target,
      ...(body === undefined ? undefined : { body }),
      ...(credential === "none" ? undefined : { key: scene.tokens[credential] }),
      idempotencyKey: scene.venue.nextKey()
    }).then(native)
  }

  // The route that ends the caller's own session comes last, so that every other row still has the session.
  const rows = Contract.endpoints
    .filter(({ answers }) => answers.get(200)?.kind !== "text")
    .sort((one, other) => Number(one.name === "endCurrentSession") - Number(other.name === "endCurrentSession"))

  test.each(rows.map((endpoint) => [endpoint.name, endpoint] as const))("%s lets in whom it should", async (_, endpoint) => {
    for (const credential of credentials) {
      const told = await call(endpoint, credential, scene.owner.accountId)
      const level = levelOf.get(endpoint.name as Contract.Name)!
      const expected = metOn(endpoint.name as Contract.Name, credential)
      expectMet(told, expected)
      // Foreign accounts are answered like unknown ones, and are neither read nor changed.
      const isForeign = expected === "in" && credential.startsWith("another account's") && level !== "system" && level !== "public"
      if (isForeign && namesAccount(endpoint.name as Contract.Name)) {
        expect([400, 404]).toContain(told.status)
        const unknown = await call(endpoint, credential, "acc_zzzzzz")
        expect({ ...unknown.body, requestId: "", occurredAtEpochMs: 0 }).toEqual({ ...told.body, requestId: "", occurredAtEpochMs: 0 })
      }
    }
  })
})
