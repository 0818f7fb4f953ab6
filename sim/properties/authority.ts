/**
 * Safety (I11). Nobody acts without authority, or after its end: no key is accepted on a route for the owner only, nobody reads or changes
 * another account, a key does only what its scopes allow, and nothing is journaled or answered by a session or key after the record that
 * ends it, or after its expiry; nor does a waiting read return anything from after the end of its credential. The name of an account is its
 * owner's to choose: a key chooses it only where there is no passkey. A valid credential is not
 * refused, and the holder of an ended key learns why.
 *
 * Authority is read from the journal: sessions opened, keys issued, and whatever ended them.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import { Principal } from "../../src/operations/Header.js"
import type { NaiveKey, NaiveSignedIn } from "../model/NaiveIdentity.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject } from "../reading/Bodies.js"
import { isOfIdentity } from "../reading/Commands.js"
import * as Identity from "../reading/Identity.js"
import * as Queries from "../reading/Queries.js"
import { type Call, isLimited, type Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A credential for an account. */
interface Authority {
  readonly account: number
  readonly expiresAtEpochMs: number
  /** Of a key; a session may do everything that its account may. */
  readonly scopes: number | undefined
  /** The record that ended it before its expiry. */
  endedBy: number | undefined
}

interface State {
  /** In order of creation. */
  readonly sessions: Array<Authority>
  readonly keys: Array<Authority>
  /** By the digest of token or key. */
  readonly byDigest: Map<string, Authority>
  /** For sessions that have not ended, the model's entries. */
  readonly standing: Map<NaiveSignedIn, Authority>
  readonly unrevoked: Map<NaiveKey, Authority>
  /** The last durable record when each attempt was sent, and its time. */
  readonly asked: Map<string, LastRecord>
  last: LastRecord
}

interface LastRecord {
  readonly sequence: number
  readonly atEpochMs: number
}

const read = 1
const trade = 2

/** Operators' commands that create or end credentials. */
const others: ReadonlySet<string> = new Set(["OpenDemoAccounts", "IssueBotKey", "RevokeKeyByOperator"])

type Committed = Observation & { readonly _tag: "Committed" }

/** Whether somebody has a passkey of an account. */
const hasOwner = ({ identity }: NaiveVenue, account: number): boolean => identity.passkeysOf(account).length > 0

/** Checks that the sender of a command had the authority by the record's time. */
const byAuthority = (state: State, { model, record: { atEpochMs, command, sequence } }: Committed): Verdict => {
  const isKey = command.principal === Principal.key
  if (!isKey && command.principal !== Principal.session) return holds
  const what = `record ${sequence}, ${command.kind} by ${isKey ? "key" : "session"} ${command.credential},`
  const authority = (isKey ? state.keys : state.sessions)[command.credential]
  if (authority === undefined) return broken(`${what} is of nobody's`)
  if (authority.endedBy !== undefined) return broken(`${what} comes behind record ${authority.endedBy}, which ended it`)
  if (atEpochMs >= authority.expiresAtEpochMs) return broken(`${what} is of ${atEpochMs}, and it ended at ${authority.expiresAtEpochMs}`)
  if (authority.account !== command.account) return broken(`${what} acts for account ${command.account}, and is of ${authority.account}`)
  if (isKey && isOfIdentity(command)) return broken(`${what} is the owner's alone`)
  if (isKey && command.kind === "SetDisplayHandle" && hasOwner(model, command.account)) return broken(`${what} is the owner's to choose`)
  if (!isKey) return holds
  const needed = command.kind === "MintTicket" ? read | command.scopes : trade
  return (authority.scopes! & needed) === needed ? holds : broken(`${what} may not do this`)
}

/** Notes the credentials that a record created and ended. */
const follow = (state: State, { model: { identity }, record: { atEpochMs, command, sequence } }: Committed): void => {
  state.last = { sequence, atEpochMs }
  if (!isOfIdentity(command) && !others.has(command.kind)) return
  for (const session of identity.everSessions.slice(state.sessions.length)) {
    const { account, expiresAtEpochMs, tokenSha256 } = session
    const authority = { account, expiresAtEpochMs, scopes: undefined, endedBy: undefined }
    state.sessions.push(authority)
    state.byDigest.set(tokenSha256, authority)
    state.standing.set(session, authority)
  }
  for (const key of identity.keys.slice(state.keys.length)) {
    const { account, expiresAtEpochMs, scopes, secretSha256 } = key
    const authority = { account, expiresAtEpochMs, scopes, endedBy: undefined }
    state.keys.push(authority)
    state.byDigest.set(secretSha256, authority)
    state.unrevoked.set(key, authority)
  }
  const standing = new Set(identity.sessions)
  for (const [session, authority] of state.standing) {
    if (standing.has(session)) continue
    authority.endedBy = sequence
    state.standing.delete(session)
  }
  for (const [key, authority] of state.unrevoked) {
    if (key.revokedAtEpochMs === 0) continue
    authority.endedBy = sequence
    state.unrevoked.delete(key)
  }
}

// ---- answers

type Answered = Observation & { readonly _tag: "Answered" }

/** The state of a credential throughout the time between question and answer, as far as known. */
const standingOf = (authority: Authority | undefined, { clock, model }: Answered, askedAt: LastRecord): "good" | "over" | "unsure" => {
  if (authority === undefined) return "unsure"
  const { endedBy, expiresAtEpochMs } = authority
  // Commands are checked by the time of records, which a clock that was set back leaves ahead of it.
  if (endedBy !== undefined && endedBy <= askedAt.sequence || askedAt.atEpochMs >= expiresAtEpochMs) return "over"
  if (clock === undefined) return "unsure"
  if (clock[0] >= expiresAtEpochMs) return "over"
  return endedBy === undefined && Math.max(clock[1], model.atEpochMs) < expiresAtEpochMs ? "good" : "unsure"
}

/** The account in a path. */
const named = ({ target }: Call): string | undefined => /^\/v1\/accounts\/([^/?]+)/.exec(target)?.[1]

/** The scope that a key needs on a route that is not for owners only; 0: none. */
const scopeFor = ({ body, endpoint, method, target }: Call): number => {
  if (endpoint === "getCurrentApiKey") return 0
  if (endpoint !== "mintTicket") return method === "GET" || endpoint === "previewMargin" ? read : trade
  const wish = Identity.read(method, target, body)?.wish
  return wish?.kind === "mintTicket" ? read | wish.scopes : read
}

/** Routes that accept a key and no session. */
const needsKey = ({ endpoint }: Call): boolean => endpoint === "getCurrentApiKey" || endpoint === "mintTicket"

/** Whether a route moves an account's money on the ledger, or shows where it went to: only deposits are shown to keys. */
const isOfOwnersMoney = ({ method, target }: Call): boolean => {
  const [, of] = /^\/v1\/accounts\/[^/?]+\/(deposits|withdrawals|ledger-party)(?:[/?]|$)/.exec(target) ?? []
  return of !== undefined && (of !== "deposits" || method !== "GET")
}

/** Checks the answer to a key on a route for owners only. */
const keyOfOwners = (what: string, { answer: { status, text } }: Answered, standing: "good" | "over" | "unsure"): Verdict => {
  const isRequired = status === 403 && text.includes("\"passkey_required\"")
  const may = standing === "good" ? isRequired : standing === "over" ? status === 401 : isRequired || status === 401
  return may ? holds : broken(`${what} is a key's on a route of the owner's, and is answered ${status}: ${text}`)
}

/** The details of an error: at the top level in /v1, within `info` in /v2. */
const infoOf = (json: unknown): { readonly [name: string]: unknown } => {
  if (!isObject(json)) return {}
  return isObject(json["info"]) ? json["info"] : json
}

const codeOf = (json: unknown): unknown => infoOf(json)["code"]

/** The latest record that an answer names, by whatever member; 0 where it names none. */
const latestNamed = (json: unknown): number => {
  if (typeof json !== "object" || json === null) return 0
  return Object.entries(json).reduce(
    (latest, [name, value]) => Math.max(latest, typeof value !== "number" ? latestNamed(value) : /sequence$/i.test(name) ? value : 0),
    0
  )
}

/** Whether a read is answered alike whatever the credential, or by the operator's. */
const isForAnyone = (target: string): boolean => {
  const reading = Queries.read(target)
  return reading._tag !== "nowhere" && (reading._tag === "query" ? reading.query : reading).access !== "key"
}

/**
 * Checks that a read tells nothing from after the end of its credential, however long it waited: it names no record from the one on that
 * ended it. What was read before then may be on its way for long.
 */
const isBeforeItsEnd = (
  { byDigest }: State,
  { answer: { json, status, text }, call: { client, method, target, token } }: Answered
): Verdict => {
  if (method !== "GET" || status !== 200 || token === "" || isForAnyone(target)) return holds
  const endedBy = byDigest.get(Identity.sha256(token, "hex"))?.endedBy
  if (endedBy === undefined || latestNamed(json) < endedBy) return holds
  return broken(`${method} ${target} of ${client} was ended by record ${endedBy}, and is answered ${status}: ${text.slice(0, 300)}`)
}

const onOwnRoute = (what: string, seen: Answered, authority: Authority | undefined, standing: "good" | "over" | "unsure"): Verdict => {
  const { answer: { json, status, text }, call, model } = seen
  const said = `is answered ${status}: ${text.slice(0, 300)}`
  const isTurnedAway = status === 401 && codeOf(json) === "unauthorized"
  if (standing === "over") return isTurnedAway ? holds : broken(`${what} has no authority any more, and ${said}`)
  if (needsKey(call) && authority?.scopes === undefined)
    return isTurnedAway
      ? holds
      : broken(`${what} is a session's where a key is asked for, and ${said}`)
  if (standing === "unsure") return holds
  if (isTurnedAway) return broken(`${what} has authority, and ${said}`)
  const isOwners = call.endpoint === "setProfile" && codeOf(json) === "passkey_required"
  if (isOwners && (authority!.scopes === undefined || !hasOwner(model, authority!.account))) {
    return broken(`${what} needs no passkey, and ${said}`)
  }
  const lacks = authority!.scopes !== undefined && (authority!.scopes & scopeFor(call)) !== scopeFor(call)
  return lacks === (status === 403 && codeOf(json) === "scope_missing")
    ? holds
    : broken(`${what} may ${lacks ? "not " : ""}do this, and ${said}`)
}

/** A path with percent-encoded bytes that are not valid text: it is no route, whatever the credential. */
const isNoPath = (target: string): boolean => {
  try {
    decodeURIComponent(target.split("?", 1)[0]!)
    return false
  } catch {
    return true
  }
}

/** Whether an answer says that there is no such route or method: nothing was done, and no credential was checked. */
const isOfNoRoute = ({ answer: { json }, call: { endpoint, target } }: Answered): boolean =>
  codeOf(json) === "route_not_found" || (endpoint === "" && codeOf(json) === "method_not_allowed")
  || isNoPath(target) && codeOf(json) === "invalid_request"

const answered = (state: State, seen: Answered): Verdict => {
  const { answer, attempt, call, model } = seen
  const askedAt = state.asked.get(`${call.id}/${attempt}`)
  state.asked.delete(`${call.id}/${attempt}`)
  // No credential is checked before the venue is ready, or beyond a rate limit.
  if (askedAt === undefined || answer.status === 503 || isLimited(answer) || isOfNoRoute(seen)) return holds
  const what = `${call.method} ${call.target} of ${call.client}`
  const owners = Identity.read(call.method, call.target, call.body)
  const authority = state.byDigest.get(Identity.sha256(call.token, "hex"))
  const own = authority === undefined ? undefined : idOf(model.accounts[authority.account]!.born)
  const account = named(call)
  if (answer.status < 300 && account !== undefined && account !== own)
    return broken(`${what} is of ${String(own)}, and is answered ${answer.text}`)
  const rejection = authority?.scopes === undefined ? holds : rejectionVerdict(what, seen, authority, askedAt)
  if (rejection !== undefined) return rejection
  const standing = standingOf(authority, seen, askedAt)
  if (authority?.scopes !== undefined && isOfOwnersMoney(call)) return keyOfOwners(what, seen, standing)
  if (owners === undefined || owners.access === "key" || owners.access === "trader") return onOwnRoute(what, seen, authority, standing)
  if (owners.access === "anyone") return holds
  return call.token.startsWith("pk_") ? keyOfOwners(what, seen, standing) : onOwnersRoute(what, seen, standing)
}

/** Checks the answer to a session, or to an unknown token, on a route for owners only. */
const onOwnersRoute = (what: string, { answer: { json, status, text } }: Answered, standing: "good" | "over" | "unsure"): Verdict => {
  const isTurnedAway = status === 401 && codeOf(json) === "unauthorized"
  if (standing === "over" && !isTurnedAway) return broken(`${what} is of a session that is over, and is answered ${status}: ${text}`)
  return standing === "good" && isTurnedAway ? broken(`${what} is of a session that stands, and is answered ${status}: ${text}`) : holds
}

/**
 * Checks the reason why a key is no longer accepted: revoked only after a durable record of that, and expired only after its expiry and if
 * it was not revoked before. A key that was forgotten after its end is unknown.
 */
const rejectionVerdict = (
  what: string,
  { answer: { json, status }, clock, model }: Answered,
  key: Authority,
  askedAt: LastRecord
): Verdict => {
  const told = status === 401 ? infoOf(json)["apiKeyRejection"] : undefined
  const { endedBy, expiresAtEpochMs } = key
  switch (told) {
    case "malformed":
      return broken(`${what} is told that the key which it was given is malformed`)
    case "revoked":
      return endedBy !== undefined ? holds : broken(`${what} is told that its key is revoked, and it is not`)
    case "expired": {
      if (endedBy !== undefined && endedBy <= askedAt.sequence) return broken(`${what} is told that its key has expired, and it is revoked`)
      const isInTime = clock !== undefined && Math.max(clock[1], model.atEpochMs) < expiresAtEpochMs
      return isInTime ? broken(`${what} is told that its key has expired, which lasts until ${expiresAtEpochMs}`) : holds
    }
    case "unknown":
      return endedBy !== undefined || clock === undefined || Math.max(clock[1], model.atEpochMs) >= expiresAtEpochMs
        ? holds
        : broken(`${what} is told that nobody knows its key, which is good`)
    default:
      return holds
  }
}

/** Public routes on which a credential only selects whose favorites are shown. */
const open: ReadonlySet<string> = new Set(["getMarket", "listMarkets"])

/** Whether a call has an issued credential on a route that is neither the operator's nor for owners only. */
const isLookedAt = ({ body, credential, endpoint, method, target, token }: Call): boolean =>
  token !== "" && !open.has(endpoint) && !target.startsWith("/v1/operator/")
  && (credential === "issued"
    || (credential === "trader" && (endpoint === "listChanges" || Identity.read(method, target, body) !== undefined)))

export const authority: Property<State> = {
  name: "no-authority-after-its-end",
  invariant: "I11",
  kind: "safety",
  initial: () => ({
    sessions: [],
    keys: [],
    byDigest: new Map(),
    standing: new Map(),
    unrevoked: new Map(),
    asked: new Map(),
    last: { sequence: 0, atEpochMs: 0 }
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Committed": {
        const verdict = byAuthority(state, seen)
        follow(state, seen)
        return verdict
      }
      case "Asked":
        if (isLookedAt(seen.call)) state.asked.set(`${seen.call.id}/${seen.attempt}`, state.last)
        return holds
      case "Unanswered":
        state.asked.delete(`${seen.call.id}/${seen.attempt}`)
        return holds
      case "Answered":
        return isBeforeItsEnd(state, seen) ?? answered(state, seen)
      default:
        return holds
    }
  }
}
