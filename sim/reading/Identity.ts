/**
 * Requests about who may act, by the contract: their route, what they ask for, and a passkey's response in them. Written from the
 * contract, sharing nothing with the venue's edge but the simulated signatures.
 */
import { createHash } from "node:crypto"
import * as Bodies from "./Bodies.js"
import { fits, isObject, type Json, shape } from "./Bodies.js"

/** Which credential a route accepts: any; none, or a session where one is sent; only the owner's session; a key but no session; either. */
export type Access = "anyone" | "anyone or owner" | "owner" | "key" | "trader"

/** A passkey's response, as far as it can be read; unreadable parts are undefined. */
export interface AskedProof {
  readonly challengeIdentifier: string
  readonly credentialId: string
  readonly rawId: string
  readonly client: Json | undefined
  readonly clientDataJSON: string
  /** For a new passkey. */
  readonly attested: Json | undefined
  readonly transports: string
  /** For a signature. */
  readonly asserted: Json | undefined
  readonly authenticatorData: string
  readonly signature: string
  readonly userHandle: string | undefined
}

export type Wish =
  | { readonly kind: "beginRegistration"; readonly displayName: string; readonly proof: AskedProof | undefined }
  | { readonly kind: "finishRegistration"; readonly proof: AskedProof }
  | { readonly kind: "beginAuthentication"; readonly accountId: string | undefined; readonly purpose: string }
  | { readonly kind: "finishAuthentication"; readonly proof: AskedProof }
  | { readonly kind: "getCurrentSession" | "endCurrentSession" | "endOtherSessions" }
  | { readonly kind: "listPasskeys" | "listApiKeys" }
  | { readonly kind: "listSecurityEvents"; readonly limit: number; readonly cursor: string | undefined }
  | { readonly kind: "removePasskey"; readonly credentialId: string; readonly proof: AskedProof }
  | {
    readonly kind: "beginAgentConnect"
    readonly clientName: string
    readonly scopes: number
    readonly keyLifetimeSeconds: number
    readonly codeChallenge: string
  }
  | { readonly kind: "showAgentConnect" | "denyAgentConnect"; readonly userCode: string }
  | { readonly kind: "approveAgentConnect"; readonly userCode: string; readonly scopes: number }
  | { readonly kind: "exchangeAgentConnect"; readonly deviceSha256: string; readonly codeChallenge: string }
  | { readonly kind: "revokeApiKey"; readonly keyId: string }
  | { readonly kind: "setFavorite"; readonly marketId: string; readonly favorite: boolean }
  | { readonly kind: "registerAffiliate" }
  | { readonly kind: "mintTicket"; readonly scopes: number }
  | { readonly kind: "rotateTicket" | "endTickets"; readonly ticket: string }

export interface Reading {
  readonly access: Access
  /** The account in the path; undefined where it names none. */
  readonly accountId: string | undefined
  /** Undefined: the request is malformed by the contract. */
  readonly wish: Wish | undefined
}

interface Route {
  readonly method: string
  readonly path: ReadonlyArray<string>
  readonly access: Access
  readonly read: (body: unknown, params: ReadonlyArray<string>, query: ReadonlyMap<string, string>) => Wish | undefined
}

// ---- responses of passkeys

const base64url: (value: unknown) => boolean = (value) =>
  typeof value === "string" && value.length <= 32_768 && /^[A-Za-z0-9_-]+$/.test(value)
const anything = (): boolean => true
const transports = (value: unknown): boolean =>
  Array.isArray(value) && value.length <= 16 && value.every((each) => typeof each === "string" && /^[a-z-]{1,32}$/.test(each))

const createdBody = shape({ clientDataJSON: base64url, attestationObject: base64url }, { transports })
const assertedBody = shape(
  { clientDataJSON: base64url, authenticatorData: base64url, signature: base64url },
  { userHandle: (value) => value === null || base64url(value) }
)
const credentialOf = (response: Bodies.Shape): Bodies.Shape =>
  shape(
    {
      id: base64url,
      rawId: base64url,
      type: Bodies.oneOf("public-key"),
      response: (value) => fits(value, response),
      clientExtensionResults: isObject
    },
    { authenticatorAttachment: anything }
  )
const proofOf = (response: Bodies.Shape): Bodies.Shape => {
  const credential = credentialOf(response)
  return shape({ challengeIdentifier: Bodies.name, credential: (value) => fits(value, credential) })
}
const registration = proofOf(createdBody)
const assertion = proofOf(assertedBody)

const proofIn = (body: Json): AskedProof => {
  const credential = body["credential"] as Json
  const response = credential["response"] as Json
  const { attestationObject, authenticatorData = "", clientDataJSON, signature = "", userHandle } = response
  return {
    challengeIdentifier: String(body["challengeIdentifier"]),
    credentialId: String(credential["id"]),
    rawId: String(credential["rawId"]),
    client: Bodies.decoded(String(clientDataJSON)),
    clientDataJSON: String(clientDataJSON),
    attested: attestationObject === undefined ? undefined : Bodies.decoded(String(attestationObject)),
    transports: ((response["transports"] ?? []) as ReadonlyArray<string>).join(),
    asserted: authenticatorData === "" ? undefined : Bodies.decoded(String(authenticatorData)),
    authenticatorData: String(authenticatorData),
    signature: String(signature),
    userHandle: typeof userHandle === "string" ? userHandle : undefined
  }
}

export const sha256 = (text: string, encoding: "hex" | "base64url"): string => createHash("sha256").update(text).digest(encoding)

/** A key's id in its text `pk_<environment>_<id>_<secret>`. */
export const keyIdIn = (token: string): string => `key_${token.split("_")[2] ?? ""}`

/** The purpose of a challenge, and its required answer. */
export interface Challenge {
  readonly challenge: string
  readonly purpose: string
  /** The account that it was made for; undefined: any. */
  readonly accountId: string | undefined
  /** The passkey that authorized the registration of another one. */
  readonly provedBy: string | undefined
  readonly userHandle: string
  readonly displayName: string
  readonly expiresAtEpochMs: number
}

const origin = "https://venue.example"
export const site = "venue.example"

/** How long an agent's request is pending, ms. */
export const agentWaitMs = 600_000

const clientFault = ({ client, credentialId, rawId }: AskedProof, type: string, { challenge }: Challenge): string | undefined => {
  if (credentialId !== rawId) return "names two passkeys"
  if (client === undefined) return "has no client data"
  if (client["type"] !== type) return `is of ${String(client["type"])}`
  if (client["challenge"] !== challenge) return "answers another challenge"
  if (client["origin"] !== origin) return `was made by ${String(client["origin"])}`
  return (client["crossOrigin"] ?? false) === false && client["topOrigin"] === undefined ? undefined : "was made within another page"
}

/** Why a new passkey cannot be registered. */
export const registrationFault = (proof: AskedProof, asked: Challenge): string | undefined => {
  const fault = clientFault(proof, "webauthn.create", asked)
  if (fault !== undefined) return fault
  if (proof.attested?.["rpId"] !== site) return "is another site's"
  return proof.attested["credentialId"] === proof.credentialId ? undefined : "attests another passkey"
}

/** The known state of a signing passkey. */
export interface Known {
  readonly publicKey: string
  readonly accountId: string
  readonly userHandle: string
}

/** Why a signature proves nothing. */
export const assertionFault = (proof: AskedProof, asked: Challenge, known: Known): string | undefined => {
  const fault = clientFault(proof, "webauthn.get", asked)
  if (fault !== undefined) return fault
  if (proof.asserted?.["rpId"] !== site) return "is another site's"
  const signed = sha256(`${known.publicKey}.${proof.clientDataJSON}.${proof.authenticatorData}`, "base64url")
  if (proof.signature !== signed) return "is signed by another passkey"
  if (proof.userHandle === undefined && asked.accountId === undefined) return "says not whose it is, where nobody was named"
  if (proof.userHandle !== undefined && proof.userHandle !== known.userHandle) return "says that it is another owner's"
  return asked.accountId === undefined || asked.accountId === known.accountId ? undefined : "is a passkey of another account"
}

// ---- bodies

const isNothing = (body: unknown): boolean => body === undefined || (isObject(body) && Object.keys(body).length === 0)
const label = (value: unknown): boolean =>
  typeof value === "string" && value.length >= 1 && value.length <= 64 && !/[\p{C}\p{Zl}\p{Zp}]/u.test(value) && value.trim() === value
const scopeBits: Readonly<Record<string, number>> = { read: 1, trade: 2 }
const scopes = (value: unknown): boolean =>
  Array.isArray(value) && value.length >= 1 && value.every((each) => typeof each === "string" && each in scopeBits)
  && new Set(value).size === value.length
const bits = (names: unknown): number => (names as ReadonlyArray<string>).reduce((sum, each) => sum + scopeBits[each]!, 0)
/** The names of some scopes, as shown. */
export const scopesOf = (of: number): ReadonlyArray<string> => Object.keys(scopeBits).filter((each) => (of & scopeBits[each]!) !== 0)
const code = (value: unknown): boolean =>
  typeof value === "string" && /^[BCDFGHJKLMNPQRSTVWXZ2-9]{4}-[BCDFGHJKLMNPQRSTVWXZ2-9]{4}$/.test(value)

const optionsBody = shape({}, {
  displayName: label,
  assertion: (value) => fits(value, assertion),
  authentication: (value) => fits(value, assertion)
})
const askBody = shape({}, { accountId: Bodies.name, purpose: Bodies.oneOf("sign_in", "add_passkey", "remove_passkey") })
const removalBody = shape({ assertion: (value) => fits(value, assertion) })
const connectBody = shape({
  clientName: label,
  scopes,
  keyLifetimeSeconds: Bodies.whole(300, 604_800),
  codeChallenge: (value) => typeof value === "string" && /^[A-Za-z0-9_-]{43}$/.test(value)
})
const approveBody = shape({ userCode: code, scopes })
const denyBody = shape({ userCode: code })
const exchangeBody = shape({
  deviceCode: Bodies.name,
  codeVerifier: (value) => typeof value === "string" && /^[A-Za-z0-9._~-]{43,128}$/.test(value)
})

const mintBody = shape({}, { scopes })
const isText = (value: unknown): boolean => typeof value === "string"
/** Any text, or none, makes a request to rotate; an invalid one is refused as a ticket. */
const rotateBody = shape({}, { ticket: isText })
const endBody = shape({ ticket: (value) => typeof value === "string" && /^[A-Za-z0-9_-]{43}$/.test(value) })

const text = (body: Json, member: string): string => String(body[member])

type Simple = "getCurrentSession" | "endCurrentSession" | "endOtherSessions" | "listPasskeys" | "listApiKeys" | "registerAffiliate"
const simple = (kind: Simple): Route["read"] => (body, _, query) => isNothing(body) && query.size === 0 ? { kind } : undefined

/** A route whose query is empty. */
const plain = (read: (body: Json, params: ReadonlyArray<string>) => Wish | undefined): Route["read"] => (body, params, query) =>
  isObject(body) && query.size === 0 ? read(body, params) : undefined

const route = (method: string, path: string, access: Access, read: Route["read"]): Route => ({
  method,
  path: path.split("/"),
  access,
  read
})

const favorite = (isFavorite: boolean): Route["read"] => (body, [, marketId = ""], query) =>
  isNothing(body) && query.size === 0 ? { kind: "setFavorite", marketId, favorite: isFavorite } : undefined

const routes: ReadonlyArray<Route> = [
  route("POST", "/v1/auth/passkeys/registration/options", "anyone or owner", plain((body) =>
    fits(body, optionsBody)
      ? {
        kind: "beginRegistration",
        displayName: (body["displayName"] as string | undefined) ?? "Passkey",
        proof: body["authentication"] === undefined ? undefined : proofIn(body["authentication"] as Json)
      }
      : undefined
  )),
  route("POST", "/v1/auth/passkeys/registration/verify", "anyone or owner",
    plain((body) => fits(body, registration) ? { kind: "finishRegistration", proof: proofIn(body) } : undefined)),
  route("POST", "/v1/auth/passkeys/authentication/options", "anyone", plain((body) =>
    fits(body, askBody)
      ? {
        kind: "beginAuthentication",
        accountId: body["accountId"] as string | undefined,
        purpose: (body["purpose"] as string | undefined) ?? "sign_in"
      }
      : undefined
  )),
  route("POST", "/v1/auth/passkeys/authentication/verify", "anyone",
    plain((body) => fits(body, assertion) ? { kind: "finishAuthentication", proof: proofIn(body) } : undefined)),
  route("GET", "/v1/auth/sessions/current", "owner", simple("getCurrentSession")),
  route("DELETE", "/v1/auth/sessions/current", "owner", simple("endCurrentSession")),
  route("DELETE", "/v1/auth/sessions/others", "owner", simple("endOtherSessions")),
  route("GET", "/v1/accounts/*/passkeys", "owner", simple("listPasskeys")),
  route("DELETE", "/v1/accounts/*/passkeys/*", "owner",
    plain((body, [, credentialId = ""]) =>
      fits(body, removalBody) && /^[A-Za-z0-9_-]{1,1364}$/.test(credentialId)
        ? { kind: "removePasskey", credentialId, proof: proofIn(body["assertion"] as Json) }
        : undefined
    )),
  route("POST", "/v1/agent-connect", "anyone", plain((body) =>
    fits(body, connectBody)
      ? {
        kind: "beginAgentConnect",
        clientName: text(body, "clientName"),
        scopes: bits(body["scopes"]),
        keyLifetimeSeconds: Number(body["keyLifetimeSeconds"]),
        codeChallenge: text(body, "codeChallenge")
      }
      : undefined
  )),
  route("POST", "/v1/agent-connect/exchange", "anyone", plain((body) =>
    fits(body, exchangeBody)
      ? {
        kind: "exchangeAgentConnect",
        deviceSha256: sha256(text(body, "deviceCode"), "hex"),
        codeChallenge: sha256(text(body, "codeVerifier"), "base64url")
      }
      : undefined
  )),
  route("GET", "/v1/accounts/*/agent-connect/*", "owner",
    (body, [, userCode = ""], query) => isNothing(body) && query.size === 0 ? { kind: "showAgentConnect", userCode } : undefined),
  route("POST", "/v1/accounts/*/agent-connect/approve", "owner", plain((body) =>
    fits(body, approveBody)
      ? { kind: "approveAgentConnect", userCode: text(body, "userCode"), scopes: bits(body["scopes"]) }
      : undefined
  )),
  route("POST", "/v1/accounts/*/agent-connect/deny", "owner",
    plain((body) => fits(body, denyBody) ? { kind: "denyAgentConnect", userCode: text(body, "userCode") } : undefined)),
  route("GET", "/v1/accounts/*/api-keys", "owner", simple("listApiKeys")),
  route("DELETE", "/v1/accounts/*/api-keys/*", "owner",
    (body, [, keyId = ""], query) => isNothing(body) && query.size === 0 ? { kind: "revokeApiKey", keyId } : undefined),
  route("PUT", "/v1/accounts/*/favorites/*", "trader", favorite(true)),
  route("DELETE", "/v1/accounts/*/favorites/*", "trader", favorite(false)),
  route("POST", "/v1/accounts/*/affiliate/registration", "trader", simple("registerAffiliate")),
  route("POST", "/v1/realtime/ticket", "key", (body, _, query) => {
    if (query.size > 0 || !(body === undefined || (isObject(body) && fits(body, mintBody)))) return undefined
    return { kind: "mintTicket", scopes: body?.["scopes"] === undefined ? 1 : bits(body["scopes"]) }
  }),
  route("PUT", "/v1/realtime/ticket", "anyone",
    plain((body) => fits(body, rotateBody) ? { kind: "rotateTicket", ticket: String(body["ticket"] ?? "") } : undefined)),
  route("DELETE", "/v1/realtime/ticket", "anyone",
    plain((body) => fits(body, endBody) ? { kind: "endTickets", ticket: text(body, "ticket") } : undefined)),
  route("GET", "/v1/accounts/*/security-events", "owner", (body, _, query) => {
    const limit = query.get("limit") ?? "50"
    const names = [...query.keys()].every((each) => each === "limit" || each === "cursor")
    return isNothing(body) && names && /^[1-9]\d{0,2}$/.test(limit) && Number(limit) <= 100
      ? { kind: "listSecurityEvents", limit: Number(limit), cursor: query.get("cursor") }
      : undefined
  })
]

const paramsOn = (segments: ReadonlyArray<string>, { path }: Route): ReadonlyArray<string> | undefined => {
  if (segments.length !== path.length) return undefined
  const found: Array<string> = []
  for (let at = 0; at < path.length; at++) {
    if (path[at] === "*") found.push(decodeURIComponent(segments[at]!))
    else if (path[at] !== segments[at]) return undefined
  }
  return found
}

/** The paths of all these routes: most other requests are ruled out by this at once. */
const places =
  /^\/v1\/(?:auth\/|agent-connect|realtime\/ticket|accounts\/[^/]*\/(?:passkeys|agent-connect|api-keys|security-events|favorites|affiliate))/

/** A request about who may act; undefined where it belongs to another route, or to none. */
export const read = (method: string, target: string, body: string): Reading | undefined => {
  if (!places.test(target)) return undefined
  const [path = "", search = ""] = target.split("?")
  const segments = path.split("/")
  for (const each of routes) {
    if (each.method !== method) continue
    const params = paramsOn(segments, each)
    if (params === undefined) continue
    const parsed = body === "" ? { value: undefined } : Bodies.parse(body)
    const accountId = each.path[2] === "accounts" ? params[0] : undefined
    const query = new Map(new URLSearchParams(search))
    const wish = parsed === undefined || !params.every((param) => param.length >= 1)
      ? undefined
      : each.read(parsed.value, params, query)
    return { access: each.access, accountId, wish }
  }
  return undefined
}
