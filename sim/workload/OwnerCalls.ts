/** Calls of owners and agents as drafts: one function per endpoint, from the numbers of the earlier calls to whose answers they refer. */
import { createHash } from "node:crypto"
import { Operation } from "../../src/operations/Operations.js"
import { scopeOf } from "../model/NaiveVenue.js"
import type { Draft, Identity } from "./Calls.js"
import type { Proof } from "./SoftwarePasskey.js"
import { of, proofAt } from "./Wallet.js"

/** A caller's credential: none, or a token and its account, each possibly a symbol. */
export interface Bearer {
  readonly client: string
  readonly credential: Draft["credential"]
  readonly token: string
  readonly accountId: string
  /** The engine's index of the account, where it is known in advance. */
  readonly account: number
}

/** A client without a credential. */
export const stranger = (client: string): Bearer => ({ client, credential: "none", token: "", accountId: "", account: -1 })

/** The holder of the token in an answer, for the account in that answer. */
export const holder = (client: string, call: number): Bearer => ({
  client,
  credential: "issued",
  token: of(call, "accessToken"),
  accountId: of(call, "accountId"),
  account: -1
})

/** The holder of the agent's key in an answer, for the account in that answer. */
export const agent = (client: string, call: number): Bearer => ({
  client,
  credential: "issued",
  token: of(call, "apiKey"),
  accountId: of(call, "key.accountId"),
  account: -1
})

/** A demo account by its key. */
export const demoKey = (client: string, { account, accountId, apiKey }: Identity): Bearer => ({
  client,
  credential: "trader",
  token: apiKey,
  accountId,
  account
})

/** An account with keys. */
export interface KeyHolder {
  /** Who uses them. */
  readonly agent: string
  /** Calls whose answers contained keys that should be valid. */
  readonly keys: ReadonlyArray<number>
  /** Calls whose answers contained sessions. */
  readonly sessions: ReadonlyArray<number>
  /** Ended keys and sessions. */
  readonly ended: ReadonlyArray<Bearer>
}

/** A call by its route, with a body where one is given. */
export const call = ({ account, accountId, ...who }: Bearer, endpoint: string, method: string, target: string, body?: object): Draft => ({
  ...who,
  endpoint,
  method,
  target,
  body: body === undefined ? "" : JSON.stringify(body),
  account,
  // For issued credentials the account is derived from the token.
  accountId: who.credential === "trader" ? accountId : "",
  idempotencyKey: undefined,
  scope: undefined,
  intent: endpoint,
  persistent: false
})

const proving = (draft: Draft, proof: Proof): Draft => ({ ...draft, proofs: [proof] })

/** A passkey's answer: the challenge that a call received, and the passkey's own response. */
const answer = (proof: Proof): object => ({ challengeIdentifier: of(proof.asked, "challengeIdentifier"), credential: proofAt(0) })

export const beginRegistration = (who: Bearer, displayName: string | undefined, proof: Proof | undefined): Draft => {
  const named = displayName === undefined ? {} : { displayName }
  const path = "/v1/auth/passkeys/registration/options"
  return proof === undefined
    ? call(who, "beginRegistration", "POST", path, named)
    : proving(call(who, "beginRegistration", "POST", path, { ...named, authentication: answer(proof) }), proof)
}

export const finishRegistration = (who: Bearer, proof: Proof): Draft =>
  proving(call(who, "finishRegistration", "POST", "/v1/auth/passkeys/registration/verify", answer(proof)), proof)

export const beginAuthentication = (who: Bearer, accountId: string | undefined, purpose: string | undefined): Draft =>
  call(who, "beginAuthentication", "POST", "/v1/auth/passkeys/authentication/options", {
    ...(accountId === undefined ? {} : { accountId }),
    ...(purpose === undefined ? {} : { purpose })
  })

export const finishAuthentication = (who: Bearer, proof: Proof): Draft =>
  proving(call(who, "finishAuthentication", "POST", "/v1/auth/passkeys/authentication/verify", answer(proof)), proof)

export const getCurrentSession = (who: Bearer): Draft => call(who, "getCurrentSession", "GET", "/v1/auth/sessions/current")
export const endOtherSessions = (who: Bearer): Draft => call(who, "endOtherSessions", "DELETE", "/v1/auth/sessions/others")
export const endCurrentSession = (who: Bearer): Draft => call(who, "endCurrentSession", "DELETE", "/v1/auth/sessions/current")

const ofAccount = ({ accountId }: Bearer, path: string): string => `/v1/accounts/${accountId}/${path}`

export const listPasskeys = (who: Bearer): Draft => call(who, "listPasskeys", "GET", ofAccount(who, "passkeys"))
export const removePasskey = (who: Bearer, credentialId: string, proof: Proof): Draft =>
  proving(call(who, "removePasskey", "DELETE", ofAccount(who, `passkeys/${credentialId}`), { assertion: answer(proof) }), proof)
export const listApiKeys = (who: Bearer): Draft => call(who, "listApiKeys", "GET", ofAccount(who, "api-keys"))
export const revokeApiKey = (who: Bearer, keyId: string): Draft => call(who, "revokeApiKey", "DELETE", ofAccount(who, `api-keys/${keyId}`))
export const listSecurityEvents = (who: Bearer, search: string): Draft =>
  call(who, "listSecurityEvents", "GET", ofAccount(who, `security-events${search}`))
export const getCurrentApiKey = (who: Bearer): Draft => call(who, "getCurrentApiKey", "GET", "/v1/api-keys/current")

/** The verifier that an agent presents with the code of its numbered request. */
export const verifierOf = (request: number): string => createHash("sha256").update(`verifier ${request}`).digest("base64url")

export const beginAgentConnect = (
  who: Bearer,
  clientName: string,
  scopes: ReadonlyArray<string>,
  keyLifetimeSeconds: number,
  request: number
): Draft =>
  call(who, "beginAgentConnect", "POST", "/v1/agent-connect", {
    clientName,
    scopes,
    keyLifetimeSeconds,
    codeChallenge: createHash("sha256").update(verifierOf(request)).digest("base64url")
  })

export const showAgentConnect = (who: Bearer, userCode: string): Draft =>
  call(who, "showAgentConnect", "GET", ofAccount(who, `agent-connect/${userCode}`))
export const approveAgentConnect = (who: Bearer, userCode: string, scopes: ReadonlyArray<string>): Draft =>
  call(who, "approveAgentConnect", "POST", ofAccount(who, "agent-connect/approve"), { userCode, scopes })
export const denyAgentConnect = (who: Bearer, userCode: string): Draft =>
  call(who, "denyAgentConnect", "POST", ofAccount(who, "agent-connect/deny"), { userCode })
export const exchangeAgentConnect = (who: Bearer, deviceCode: string, codeVerifier: string): Draft =>
  call(who, "exchangeAgentConnect", "POST", "/v1/agent-connect/exchange", { deviceCode, codeVerifier })

const ticketPath = "/v1/realtime/ticket"

/** Mints a realtime ticket by a key. Without a body, or with one that may be malformed. */
export const mintTicket = (who: Bearer, body: object | undefined): Draft => call(who, "mintTicket", "POST", ticketPath, body)
export const rotateTicket = (who: Bearer, ticket: unknown): Draft => call(who, "rotateTicket", "PUT", ticketPath, { ticket })
export const endTickets = (who: Bearer, ticket: unknown): Draft => call(who, "endTickets", "DELETE", ticketPath, { ticket })

export const setFavorite = (who: Bearer, marketId: string, isFavorite: boolean): Draft =>
  call(who, isFavorite ? "addFavorite" : "removeFavorite", isFavorite ? "PUT" : "DELETE", ofAccount(who, `favorites/${marketId}`))

const affiliatePath = (who: Bearer): string => ofAccount(who, "affiliate/registration")
/** Without a body, or with one that may be malformed. */
export const registerAffiliate = (who: Bearer, body: object | undefined): Draft =>
  call(who, "registerAffiliate", "POST", affiliatePath(who), body)
export const getAffiliate = (who: Bearer): Draft => call(who, "getAffiliate", "GET", affiliatePath(who))

/** A market as the caller sees it, including whether it is a favorite. */
export const readMarket = (who: Bearer, marketId: string): Draft => call(who, "getMarket", "GET", `/v1/markets/${marketId}`)
export const readMarkets = (who: Bearer): Draft => call(who, "listMarkets", "GET", "/v1/markets")

/** A read of an account's own data. */
export const readOwn = (who: Bearer, endpoint: string, path: string): Draft => call(who, endpoint, "GET", ofAccount(who, path))

/** A read that waits for changes of an account after a record. */
export const waitForChanges = (who: Bearer, fromSequence: number, waitMs: number): Draft =>
  readOwn(who, "listChanges", `changes?fromSequence=${fromSequence}&waitMs=${waitMs}`)

/** A command under a key; the account is derived from the token. */
const keyed = (who: Bearer, endpoint: string, operation: number, idempotencyKey: string, target: string, body: object): Draft => ({
  ...call(who, endpoint, "POST", target, body),
  idempotencyKey,
  scope: scopeOf(who.account, operation, idempotencyKey)
})

/** Sets the name under which others may see the account. */
export const setProfile = (who: Bearer, idempotencyKey: string, displayHandle: string): Draft => ({
  ...keyed(who, "setProfile", Operation.setDisplayHandleV1, idempotencyKey, ofAccount(who, "profile"), { displayHandle }),
  method: "PUT"
})

/** Fences a key, so that it is never acted on if it has not been yet. */
export const fence = (who: Bearer, idempotencyKey: string, fenced: string): Draft =>
  keyed(who, "fenceOutcome", Operation.fenceV1, idempotencyKey, ofAccount(who, "outcomes/fence"), { idempotencyKey: fenced })

/** Looks up the result of a key. */
export const lookUp = (who: Bearer, idempotencyKey: string): Draft =>
  readOwn(who, "lookUpOutcome", `outcomes?idempotencyKey=${idempotencyKey}`)

export const place = (
  who: Bearer,
  idempotencyKey: string,
  marketId: string,
  price: string,
  quantity: string,
  side: "buy" | "sell" = "buy"
): Draft =>
  keyed(who, "placeOrder", Operation.placeV1, idempotencyKey, "/v1/orders", {
    accountId: who.accountId,
    marketId,
    clientOrderId: idempotencyKey,
    side,
    orderType: "limit",
    price,
    quantity
  })

export const cancelAll = (who: Bearer, idempotencyKey: string): Draft =>
  keyed(who, "cancelAllOrders", Operation.cancelAllV1, idempotencyKey, "/v1/orders/cancel-all", { accountId: who.accountId })
