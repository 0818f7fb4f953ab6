/**
 * How an agent obtains a key from an owner: the agent asks and shows a code to the owner, the owner reviews the request and
 * decides, and the agent fetches the key. `/v1/agent-connect`, `/v1/accounts/{accountId}/agent-connect/...`.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import { Refusal } from "../../domain/Refusal.js"
import type { SessionView } from "../../engine/Reads.js"
import { pollSeconds, userCodePattern, type Waiting, waitMs } from "../../identity/AgentConnect.js"
import * as ApiKeys from "../../identity/ApiKeys.js"
import { internal, Principal } from "../../operations/Header.js"
import { bitsOf, namesOf } from "../../operations/identity/KeyGrant.js"
import { Operation, withFields } from "../../operations/Operations.js"
import type { Services } from "../http/Call.js"
import { decidedAt } from "../http/JournalTime.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import * as Submission from "../http/Submission.js"
import { ApiKeyRecord, record, Scope, Scopes } from "./ApiKeyRecord.js"
import { withAccount, withContractAccount } from "../accounts/Own.js"
import { owned, proved } from "./Sent.js"

const KeyLifetimeSeconds = Schema.Int.pipe(Schema.between(300, 604_800))
const UserCode = Schema.String.pipe(Schema.pattern(userCodePattern)).annotations({ identifier: "UserCode" })
/** SHA-256 in base64url. */
const CodeChallenge = Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{43}$/))
const CodeVerifier = Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9._~-]{43,128}$/))

const ConnectBody = Schema.Struct({
  clientName: Fields.Label,
  scopes: Scopes,
  keyLifetimeSeconds: KeyLifetimeSeconds,
  codeChallenge: CodeChallenge.annotations({ description: "S256 of a verifier that only the agent knows: base64url of its SHA-256." })
}).annotations({ identifier: "AgentConnectBody" })

export const AgentConnect = Schema.Struct({
  version: Schema.Literal("agent-connect/v1"),
  deviceCode: Fields.Text.annotations({ description: "The agent's secret: shown this once." }),
  userCode: UserCode,
  verificationUri: Fields.Text,
  verificationUriComplete: Fields.Text,
  expiresAtEpochMs: Fields.EpochMs,
  pollIntervalSeconds: Schema.Int
}).annotations({ identifier: "AgentConnect" })

const userCode = "BCDF-GH23"
const codeChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

export const beginAgentConnect = Route.effect({
  tag: "identity",
  access: "public",
  budget: "sign_in",
  endpoint: HttpApiEndpoint.post("beginAgentConnect", "/v1/agent-connect")
    .setPayload(ConnectBody)
    .addSuccess(AgentConnect)
    .addError(Failures.native(Failures.openWithBody))
    .annotate(OpenApi.Summary, "Ask an owner for a key: begins to wait for the decision"),
  example: {
    target: "/v1/agent-connect",
    body: { clientName: "market maker 3", scopes: ["read", "trade"], keyLifetimeSeconds: 86_400, codeChallenge }
  },
  handler: ({ identity: { agents, publicOrigin }, now }) => ({ payload: { scopes, ...asked }, remoteAddress }) =>
    Effect.sync(() => {
      const { deviceCode, waiting } = agents.begin({ ...asked, scopes: bitsOf(scopes) }, remoteAddress, now())
      const verificationUri = `${publicOrigin}/connect`
      return {
        version: "agent-connect/v1" as const,
        deviceCode,
        userCode: waiting.userCode,
        verificationUri,
        verificationUriComplete: `${verificationUri}?code=${waiting.userCode}`,
        expiresAtEpochMs: waiting.expiresAtEpochMs,
        pollIntervalSeconds: pollSeconds
      }
    })
})

/** What an account's owner has approved and agents can still fetch. */
const standingGrants = (services: Services, account: number) =>
  services.state.grants(account).filter(({ expiresAtEpochMs }) => expiresAtEpochMs > decidedAt(services))

/** Whether an owner looks for an agent to see and approve it, or to deny it. */
type Sought = "findApprovable" | "findDeniable"

/**
 * The agent of this account's approval under a code, where the process does not know it: an agent that asks again and again makes room for
 * itself, and a restart forgets all of them, but an owner who has approved can look at it and deny it until the key is fetched.
 */
const approvedBefore = (services: Services, account: number, userCode: string, what: Sought): Waiting | undefined => {
  const { identity: { agents } } = services
  const grant = standingGrants(services, account).find(({ deviceSha256 }) => agents.userCodeOf(deviceSha256) === userCode)
  const waiting = grant === undefined ? undefined : agents.adopt(grant)
  // A denial that is not in the journal yet stands all the same.
  return waiting?.state === "denied" && what === "findApprovable" ? undefined : waiting
}

/**
 * The keys that act and that agents have fetched so lately that the codes by which they were approved may still be typed. No record says
 * which code led to which key, so a process that started later can only name them.
 */
const fetchedOfLate = (services: Services, account: number): ReadonlyArray<string> => {
  const { state } = services
  const atEpochMs = decidedAt(services)
  return state.apiKeys(account, Number.POSITIVE_INFINITY)
    .filter((key) =>
      key.createdAtEpochMs > atEpochMs - waitMs && typeof ApiKeys.standing(key, atEpochMs) !== "string" && !state.isBotKey(key.credential)
    )
    .map(({ keyId }) => keyId)
}

/** The agent that waits under the code the owner typed; wrong codes are counted. */
const withWaiting = <A>(
  services: Services,
  { account }: SessionView,
  userCode: string,
  remoteAddress: string,
  what: Sought,
  then: (waiting: Waiting) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> =>
  Effect.suspend(() => {
    const { identity: { agents }, now, submit } = services
    const atEpochMs = now()
    if (agents.isLocked(account, atEpochMs)) return fail(Errors.userCodesLocked)
    const waiting = agents[what](userCode, account, atEpochMs) ?? approvedBefore(services, account, userCode, what)
    if (waiting !== undefined) return then(waiting)
    if (agents.noteWrong(account, atEpochMs)) {
      const note = { what: "user_codes_locked", ofAccount: account, credentialId: "", remoteAddress } as const
      submit(withFields("NoteSecurity", internal(Principal.venue), note), () => {})
    }
    return fail(Errors.userCodeUnknownBeside(standingGrants(services, account).length > 0, fetchedOfLate(services, account)))
  })

const AgentConnectRequest = Schema.Struct({
  version: Schema.Literal("agent-connect-request/v1"),
  accountId: Fields.Text,
  userCode: UserCode,
  clientName: Fields.Text.annotations({ description: "What the agent calls itself: nobody has checked it." }),
  scopes: Schema.Array(Scope),
  keyLifetimeSeconds: KeyLifetimeSeconds,
  requestedAtEpochMs: Fields.EpochMs,
  expiresAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "AgentConnectRequest" })

export const showAgentConnect = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.get("showAgentConnect", "/v1/accounts/:accountId/agent-connect/:userCode")
    .setPath(Schema.Struct({ accountId: Fields.Name, userCode: Fields.Name }))
    .addSuccess(AgentConnectRequest)
    .addError(Failures.native(Failures.owned, 404))
    .annotate(OpenApi.Summary, "What the agent asks for that waits under a code"),
  example: { target: `/v1/accounts/${Example.accountId}/agent-connect/${userCode}` },
  handler: (services) => ({ path, remoteAddress, trader }) =>
    withAccount(services.state, trader, path.accountId, () =>
      withWaiting(services, trader, path.userCode, remoteAddress, "findApprovable", (waiting) =>
        Effect.succeed({
          version: "agent-connect-request/v1" as const,
          accountId: path.accountId,
          userCode: waiting.userCode,
          clientName: waiting.clientName,
          scopes: namesOf(waiting.scopes),
          keyLifetimeSeconds: waiting.keyLifetimeSeconds,
          requestedAtEpochMs: waiting.requestedAtEpochMs,
          expiresAtEpochMs: waiting.expiresAtEpochMs
        })))
})

const ApproveBody = Schema.Struct({ userCode: UserCode, scopes: Scopes }).annotations({ identifier: "AgentConnectApproveBody" })

const Approved = Schema.Struct({
  version: Schema.Literal("agent-connect-approve/v1"),
  accountId: Fields.Text,
  clientName: Fields.Text,
  scopes: Schema.Array(Scope),
  keyLifetimeSeconds: KeyLifetimeSeconds,
  approvedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "AgentConnectApproved" })

/** The grant that lets a device code fetch its key; undefined where nothing was approved, or the grant has expired. */
const standingGrant = (services: Services, deviceSha256: string) => {
  const grant = services.state.findGrant(deviceSha256)
  return grant === undefined || grant.expiresAtEpochMs <= decidedAt(services) ? undefined : grant
}

/** The command for an approval. A clock that was set back meanwhile does not extend anything. */
const approvalOf = (
  { clientName, codeChallenge, deviceSha256, expiresAtEpochMs, keyLifetimeSeconds, scopes }: Waiting,
  owner: SessionView,
  remoteAddress: string,
  atEpochMs: number
) =>
  owned("ApproveAgent", owner, Operation.approveAgent, {
    deviceSha256,
    codeChallenge,
    clientName,
    scopes,
    keyLifetimeSeconds,
    grantMs: Math.min(waitMs, expiresAtEpochMs - atEpochMs),
    remoteAddress
  })

export const approveAgentConnect = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.post("approveAgentConnect", "/v1/accounts/:accountId/agent-connect/approve")
    .setPath(Fields.AccountPath)
    .setPayload(ApproveBody)
    .addSuccess(Approved)
    .addError(Failures.native(Failures.ownedWithBody, 404))
    .annotate(OpenApi.Summary, "Let the agent have a key, with exactly the scopes that it asked for"),
  example: { target: `/v1/accounts/${Example.accountId}/agent-connect/approve`, body: { userCode, scopes: ["read", "trade"] } },
  handler: (services) => ({ path: { accountId }, payload, remoteAddress, trader }) => {
    const { agents } = services.identity
    return withContractAccount(services.state, trader, accountId,
      () =>
        withWaiting(services, trader, payload.userCode, remoteAddress, "findApprovable", (waiting) => {
          const { clientName, keyLifetimeSeconds, scopes } = waiting
          if (bitsOf(payload.scopes) !== scopes) {
            return fail(Errors.invalidRequest("scopes: must be exactly those that the agent asked for."))
          }
          const approved = (approvedAtEpochMs: number): typeof Approved.Type => ({
            version: "agent-connect-approve/v1",
            accountId,
            clientName,
            scopes: namesOf(scopes),
            keyLifetimeSeconds,
            approvedAtEpochMs
          })
          if (waiting.state === "deciding") return fail(Errors.identityBusy)
          // An owner whose answer was lost may repeat the approval: it is confirmed again, and does not count as a wrong code. A
          // grant withdrawn by the end or expiry of the approving session is decided anew.
          const isWithdrawn = waiting.state === "approved" && standingGrant(services, waiting.deviceSha256) === undefined
          if (waiting.state !== "pending" && !isWithdrawn) return Effect.succeed(approved(waiting.approvedAtEpochMs))
          const approval = approvalOf(waiting, trader, remoteAddress, services.now())
          // Nobody else can approve meanwhile; after a refusal the agent goes on waiting.
          agents.decide(waiting, "deciding", trader.account)
          const submitted = Effect.tapError(
            Submission.submitted(services, approval),
            () => Effect.sync(() => agents.decide(waiting, "pending", trader.account))
          )
          return Effect.map(submitted, ({ atEpochMs }) => {
            agents.decide(waiting, "approved", trader.account, atEpochMs)
            return approved(atEpochMs)
          })
        }))
  }
})

const DenyBody = Schema.Struct({ userCode: UserCode }).annotations({ identifier: "AgentConnectDenyBody" })

const Denied = Schema.Struct({
  version: Schema.Literal("agent-connect-deny/v1"),
  accountId: Fields.Text,
  clientName: Fields.Text,
  deniedAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "AgentConnectDenied" })

export const denyAgentConnect = Route.effect({
  tag: "identity",
  access: "owner",
  budget: "key",
  endpoint: HttpApiEndpoint.post("denyAgentConnect", "/v1/accounts/:accountId/agent-connect/deny")
    .setPath(Fields.AccountPath)
    .setPayload(DenyBody)
    .addSuccess(Denied)
    .addError(Failures.native(Failures.ownedWithBody, 404))
    .annotate(OpenApi.Summary, "Deny the agent a key"),
  example: { target: `/v1/accounts/${Example.accountId}/agent-connect/deny`, body: { userCode } },
  handler: (services) => ({ path: { accountId }, payload, remoteAddress, trader }) => {
    const { agents } = services.identity
    return withAccount(services.state, trader, accountId,
      () =>
        withWaiting(services, trader, payload.userCode, remoteAddress, "findDeniable", (waiting) => {
          const { clientName, deviceSha256, keyId } = waiting
          if (waiting.state === "fetching") return fail(Errors.identityBusy)
          // The key stays active: stopping the agent requires revoking it.
          if (waiting.state === "fetched") return fail(Errors.grantFetched(keyId))
          // Marked at once, whatever becomes of the record, so that nobody approves after a denial. The command also withdraws an
          // earlier approval.
          agents.decide(waiting, "denied", trader.account)
          const denial = owned("DenyAgent", trader, Operation.denyAgent, { clientName, deviceSha256, remoteAddress })
          return Effect.map(Submission.submitted(services, denial), ({ atEpochMs }) => ({
            version: "agent-connect-deny/v1" as const,
            accountId,
            clientName,
            deniedAtEpochMs: atEpochMs
          }))
        }))
  }
})

const ExchangeBody = Schema.Struct({
  deviceCode: Fields.Name,
  codeVerifier: CodeVerifier
}).annotations({ identifier: "AgentConnectExchangeBody" })

export const Exchanged = Schema.Struct({
  version: Schema.Literal("agent-connect-exchange/v1"),
  apiKey: Fields.Text.annotations({ description: "The key's whole text: shown this once." }),
  key: ApiKeyRecord
}).annotations({ identifier: "AgentConnectExchange" })

/** What an agent without an approval is told. */
const unapproved = { pending: Errors.authorizationPending, too_fast: Errors.slowDown, denied: Errors.accessDenied } as const
const grantOver = Errors.refused(Refusal.grantOver)

const s256 = (verifier: string): string => createHash("sha256").update(verifier).digest("base64url")

export const exchangeAgentConnect = Route.effect({
  tag: "identity",
  access: "public",
  budget: "sign_in",
  endpoint: HttpApiEndpoint.post("exchangeAgentConnect", "/v1/agent-connect/exchange")
    .setPayload(ExchangeBody)
    .addSuccess(Exchanged)
    .addError(Failures.native(Failures.openWithBody, "Grants"))
    .annotate(OpenApi.Summary, "Fetch the key, once the owner has approved"),
  example: {
    target: "/v1/agent-connect/exchange",
    body: { deviceCode: "dvc_9fXJk2Yb0n2m7QwVd5yVhA", codeVerifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" }
  },
  handler: (services) => ({ payload: { codeVerifier, deviceCode }, remoteAddress }) =>
    Effect.suspend(() => {
      const { environment, identity: { agents, random }, now, state } = services
      const deviceSha256 = ApiKeys.digest(deviceCode)
      const polled = agents.poll(deviceSha256, now())
      if (polled !== "approved" && polled !== "unknown") return fail(unapproved[polled])
      const grant = standingGrant(services, deviceSha256)
      if (grant === undefined) {
        agents.end(deviceSha256)
        return fail(grantOver)
      }
      if (polled === "unknown") services.identity.reached?.("a grant outlived its process")
      if (!ApiKeys.equalConstantTime(s256(codeVerifier), grant.codeChallenge)) {
        return fail(Errors.invalidRequest("codeVerifier: is not the one that this device code was begun with."))
      }
      const issued = ApiKeys.issue(random.bytes, environment)
      const exchange = proved("ExchangeGrant", Principal.agent, Operation.exchangeGrant, { deviceSha256, ...issued.fields, remoteAddress })
      agents.adopt(grant)
      const fetching = agents.fetch(deviceSha256)
      const came = (keyId?: string) => Effect.sync(() => fetching !== undefined && agents.fetched(fetching, keyId))
      const submitted = Effect.tapBoth(Submission.submitted(services, exchange), {
        onFailure: () => came(),
        onSuccess: () => came(issued.fields.keyId)
      })
      return Effect.flatMap(submitted, ({ entries: [entry] }) => {
        assert(entry?._tag === "KeyIssued", "an exchange comes to a key")
        const key = state.apiKey(entry.apiKey)
        // The owner may have revoked the key, and it may be forgotten, before the agent has received it.
        return key === undefined
          ? fail(grantOver)
          : Effect.succeed({
            version: "agent-connect-exchange/v1" as const,
            apiKey: issued.text,
            key: record(services, key)
          })
      })
    })
})
