/**
 * Safety (I11). Nobody acts without authority, or behind its end: no key reaches what is the owner's alone, nobody reads or touches
 * another's account, a key does what its scopes say, and behind the record that ends a session or revokes a key, and behind the
 * time at which either ends, nothing is journaled or answered by it; nor is anybody who waits told anything behind the end of what he
 * waits by. Who has authority is not turned away, and whose key has it no more is told why.
 *
 * Who has it is read from the journal: sessions that were opened, keys that were issued, and what ended them.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import { Principal } from "../../src/operations/Header.js"
import type { NaiveKey, NaiveSignedIn } from "../model/NaiveIdentity.js"
import { isObject } from "../reading/Bodies.js"
import { isOfIdentity } from "../reading/Commands.js"
import * as Identity from "../reading/Identity.js"
import { type Call, isLimited, type Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** What lets somebody act for an account. */
interface Authority {
  readonly account: number
  readonly expiresAtEpochMs: number
  /** Of a key; a session may do everything that its account may. */
  readonly scopes: number | undefined
  /** The record that ended it before its time. */
  endedBy: number | undefined
}

interface State {
  /** In the order in which they came. */
  readonly sessions: Array<Authority>
  readonly keys: Array<Authority>
  /** By the digest of token or key. */
  readonly byDigest: Map<string, Authority>
  /** Of sessions that stand, what the model has of them. */
  readonly standing: Map<NaiveSignedIn, Authority>
  readonly unrevoked: Map<NaiveKey, Authority>
  /** The last record that was durable when an attempt was sent, and its time. */
  readonly asked: Map<string, LastRecord>
  last: LastRecord
}

interface LastRecord {
  readonly sequence: number
  readonly atEpochMs: number
}

const read = 1
const trade = 2

/** What an operator does that begins or ends somebody's authority. */
const others: ReadonlySet<string> = new Set(["OpenDemoAccounts", "IssueBotKey", "RevokeKeyByOperator"])

type Committed = Observation & { readonly _tag: "Committed" }

/** Whether somebody may send a command by the record's time. */
const byAuthority = (state: State, { record: { atEpochMs, command, sequence } }: Committed): Verdict => {
  const isKey = command.principal === Principal.key
  if (!isKey && command.principal !== Principal.session) return holds
  const what = `record ${sequence}, ${command.kind} by ${isKey ? "key" : "session"} ${command.credential},`
  const authority = (isKey ? state.keys : state.sessions)[command.credential]
  if (authority === undefined) return broken(`${what} is of nobody's`)
  if (authority.endedBy !== undefined) return broken(`${what} comes behind record ${authority.endedBy}, which ended it`)
  if (atEpochMs >= authority.expiresAtEpochMs) return broken(`${what} is of ${atEpochMs}, and it ended at ${authority.expiresAtEpochMs}`)
  if (authority.account !== command.account) return broken(`${what} acts for account ${command.account}, and is of ${authority.account}`)
  if (isKey && isOfIdentity(command)) return broken(`${what} is the owner's alone`)
  if (!isKey) return holds
  const needed = command.kind === "MintTicket" ? read | command.scopes : trade
  return (authority.scopes! & needed) === needed ? holds : broken(`${what} may not do this`)
}

/** Takes over what the record began and ended. */
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

/** How an authority stands for all that is known of the time between question and answer. */
const standingOf = (authority: Authority | undefined, { clock, model }: Answered, askedAt: LastRecord): "good" | "over" | "unsure" => {
  if (authority === undefined) return "unsure"
  const { endedBy, expiresAtEpochMs } = authority
  // Who acts is held to the time of records, which a clock that was set back leaves ahead of it.
  if (endedBy !== undefined && endedBy <= askedAt.sequence || askedAt.atEpochMs >= expiresAtEpochMs) return "over"
  if (clock === undefined) return "unsure"
  if (clock[0] >= expiresAtEpochMs) return "over"
  return endedBy === undefined && Math.max(clock[1], model.atEpochMs) < expiresAtEpochMs ? "good" : "unsure"
}

/** The account that a path names. */
const named = ({ target }: Call): string | undefined => /^\/v1\/accounts\/([^/?]+)/.exec(target)?.[1]

/** The scope that a key needs for what is no owner's route; 0: any key may. */
const scopeFor = ({ body, endpoint, method, target }: Call): number => {
  if (endpoint === "getCurrentApiKey") return 0
  if (endpoint !== "mintTicket") return method === "GET" || endpoint === "previewMargin" ? read : trade
  const wish = Identity.read(method, target, body)?.wish
  return wish?.kind === "mintTicket" ? read | wish.scopes : read
}

/** Where a key is asked for, and no session does. */
const needsKey = ({ endpoint }: Call): boolean => endpoint === "getCurrentApiKey" || endpoint === "mintTicket"

/** What a key may be answered on a route of the owner's. */
const keyOfOwners = (what: string, { answer: { status, text } }: Answered, standing: "good" | "over" | "unsure"): Verdict => {
  const isRequired = status === 403 && text.includes("\"passkey_required\"")
  const may = standing === "good" ? isRequired : standing === "over" ? status === 401 : isRequired || status === 401
  return may ? holds : broken(`${what} is a key's on a route of the owner's, and is answered ${status}: ${text}`)
}

/** What an error says of itself: at the top by /v1, within `info` by /v2. */
const infoOf = (json: unknown): { readonly [name: string]: unknown } => {
  if (!isObject(json)) return {}
  return isObject(json["info"]) ? json["info"] : json
}

const codeOf = (json: unknown): unknown => infoOf(json)["code"]

/**
 * Whether an answer that waited tells of the record that ended who asked for it: whoever waits is told nothing behind that. Of other
 * answers nobody looks again at who is to get them.
 */
const tellsOfItsEnd = ({ answer: { json, status }, call }: Answered, authority: Authority | undefined): boolean => {
  const endedBy = authority?.endedBy
  return call.endpoint === "listChanges" && status === 200 && endedBy !== undefined && isObject(json)
    && Number(json["throughSequence"]) >= endedBy
}

const onOwnRoute = (what: string, seen: Answered, authority: Authority | undefined, standing: "good" | "over" | "unsure"): Verdict => {
  const { answer: { json, status, text }, call } = seen
  const said = `is answered ${status}: ${text.slice(0, 300)}`
  const isTurnedAway = status === 401 && codeOf(json) === "unauthorized"
  if (standing === "over") return isTurnedAway ? holds : broken(`${what} has no authority any more, and ${said}`)
  if (tellsOfItsEnd(seen, authority)) return broken(`${what} was ended by record ${String(authority?.endedBy)}, and ${said}`)
  if (needsKey(call) && authority?.scopes === undefined)
    return isTurnedAway
      ? holds
      : broken(`${what} is a session's where a key is asked for, and ${said}`)
  if (standing === "unsure") return holds
  if (isTurnedAway) return broken(`${what} has authority, and ${said}`)
  const lacks = authority!.scopes !== undefined && (authority!.scopes & scopeFor(call)) !== scopeFor(call)
  return lacks === (status === 403 && codeOf(json) === "scope_missing")
    ? holds
    : broken(`${what} may ${lacks ? "not " : ""}do this, and ${said}`)
}

/** A path that percent-encodes what is no text: it names no route, whoever asks. */
const isNoPath = (target: string): boolean => {
  try {
    decodeURIComponent(target.split("?", 1)[0]!)
    return false
  } catch {
    return true
  }
}

/** Whether an answer is that there is no such route, or none by that method: nothing was done, and nobody's credential was looked at. */
const isOfNoRoute = ({ answer: { json }, call: { endpoint, target } }: Answered): boolean =>
  codeOf(json) === "route_not_found" || (endpoint === "" && codeOf(json) === "method_not_allowed")
  || isNoPath(target) && codeOf(json) === "invalid_request"

const answered = (state: State, seen: Answered): Verdict => {
  const { answer, attempt, call, model } = seen
  const askedAt = state.asked.get(`${call.id}/${attempt}`)
  state.asked.delete(`${call.id}/${attempt}`)
  // Nothing is said of a credential before the venue is ready, or to whoever comes too often.
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
  if (owners === undefined || owners.access === "key" || owners.access === "trader") return onOwnRoute(what, seen, authority, standing)
  if (owners.access === "anyone") return holds
  return call.token.startsWith("pk_") ? keyOfOwners(what, seen, standing) : onOwnersRoute(what, seen, standing)
}

/** A session, or nobody's token, on a route of the owner's. */
const onOwnersRoute = (what: string, { answer: { json, status, text } }: Answered, standing: "good" | "over" | "unsure"): Verdict => {
  const isTurnedAway = status === 401 && codeOf(json) === "unauthorized"
  if (standing === "over" && !isTurnedAway) return broken(`${what} is of a session that is over, and is answered ${status}: ${text}`)
  return standing === "good" && isTurnedAway ? broken(`${what} is of a session that stands, and is answered ${status}: ${text}`) : holds
}

/**
 * Whether it is told why a key is good no more: as revoked only where a durable record did that, and as one that has expired only behind its
 * time, and where it was not revoked before. Of a key that is forgotten since it ended nobody knows any more.
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

/** What anybody reads: a credential may say whose favorites are to be told. */
const open: ReadonlySet<string> = new Set(["getMarket", "listMarkets"])

/** Whether a call is by something that was issued, and not to the operator, or to a route of the owner's. */
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
        return answered(state, seen)
      default:
        return holds
    }
  }
}
