/**
 * Safety (I11). Who may act follows the rules: passkeys, sessions, grants, keys and security events are the same in the engine as in the
 * reference model, and owners see them so. The last use of a key is that of a request with this key, and none before the latest that is
 * journaled, whatever the clock.
 */
import { Principal } from "../../src/operations/Header.js"
import type { NaiveKey } from "../model/NaiveIdentity.js"
import { goodUntil } from "../model/NaiveTickets.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as ShownIdentity from "../model/ShownIdentity.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { isOfIdentity, isOfTickets } from "../reading/Commands.js"
import * as Identity from "../reading/Identity.js"
import { difference } from "./Difference.js"
import type { Glance } from "./Glance.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** The last record that changed anything of the call's account when it was sent, by call and attempt. */
  readonly asked: Map<string, number>
  model: NaiveVenue | undefined
  /** Accounts with changes since the engine was last compared. */
  readonly changed: Set<number>
  /** When requests with each key arrived, by the clocks of the processes that took them up: by the key's id. */
  readonly uses: Map<string, Set<number>>
  /** Those of requests to the present process, whose clock may be behind what was told before. */
  readonly usesSince: Map<string, Set<number>>
  /** Notes of uses, by their records, whose time was ahead of the process's clock. */
  readonly ahead: Set<number>
  /**
   * The latest time at which each key was certainly used in this process, while its clock was never set back: the sending of an answered
   * read of an account.
   */
  readonly sure: Map<string, number>
  /** The latest use of each key that is journaled, by the key's id; and what it was for all when each request was taken up. */
  journaled: ReadonlyMap<string, number>
  readonly takenUp: Map<number, ReadonlyMap<string, number>>
  /** The process's clock when the last request arrived. */
  cameAtEpochMs: number
  /** The last record when the process started. */
  startedAt: number
}

/** Operators' commands about keys. */
const byOperators: ReadonlySet<string> = new Set(["IssueBotKey", "RevokeKeyByOperator"])

/** A key in the engine's form. */
const held = ({ clientName: _, index, isBot: __, isForgotten: ___, ...key }: NaiveKey) => ({
  ...key,
  principal: Principal.key,
  credential: index
})

const accountVerdict = (
  { journaled }: State,
  { model, reads: { identity: reads } }: Pick<Observation & { readonly _tag: "Inspected" }, "model" | "reads">,
  account: number
): Verdict => {
  const { identity } = model
  const what = `account ${account}`
  const keys = identity.keysOf(account)
  const found = reads.apiKeys(account, Number.POSITIVE_INFINITY)
  return difference(`${what}: passkeys`, reads.passkeys(account), identity.passkeysOf(account))
    ?? difference(`${what}: keys`, found, keys.map(held))
    ?? difference(`${what}: names of agents`, found.map(({ credential }) => reads.clientName(credential)),
      keys.map((key) => key.clientName))
    ?? difference(`${what}: bots' keys`, found.map(({ credential }) => reads.isBotKey(credential)), keys.map((key) => key.isBot === true))
    ?? difference(
      `${what}: noted last uses of keys`,
      found.map(({ credential }) => reads.keyLastUsedAt(credential)),
      keys.map(({ keyId }) => journaled.get(keyId) ?? 0)
    )
    ?? difference(
      `${what}: events`,
      reads.securityEvents(account, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY),
      identity.keptNotes(account).map((note) => ({ ...note, account }))
    )
}

/** Checks sessions and grants, which the engine finds only by their digests, and tickets: all that are valid, and no others. */
const digestsVerdict = (reads: Glance["identity"], { atEpochMs, identity }: NaiveVenue): Verdict => {
  for (const session of identity.everSessions) {
    const expected = identity.sessions.includes(session)
      ? { ...session, principal: Principal.session, credential: session.number }
      : undefined
    const verdict = difference(`session ${session.number}`, reads.findSession(session.tokenSha256), expected)
    if (verdict !== undefined) return verdict
  }
  for (const grant of identity.everGrants) {
    const expected = identity.grants.find(({ deviceSha256 }) => deviceSha256 === grant.deviceSha256)
    const verdict = difference(`the grant of ${grant.clientName}`, reads.findGrant(grant.deviceSha256), expected)
    if (verdict !== undefined) return verdict
  }
  for (const family of identity.tickets.families) {
    // Families that are over may be forgotten, and are reported only as over.
    if (atEpochMs >= goodUntil(family)) continue
    const found = reads.findTicketFamily(family.family)
    if (found === undefined && identity.tickets.mayBeForgotten(family)) continue
    const verdict = difference(`family ${family.family} of tickets`, found, family)
    if (verdict !== undefined) return verdict
  }
  return holds
}

const inspected = (state: State, seen: Observation & { readonly _tag: "Inspected" }): Verdict => {
  const { model, reads: { identity: reads }, whole } = seen
  if (!whole && state.changed.size === 0) return holds
  const accounts = whole ? model.accounts.map(({ index }) => index) : [...state.changed]
  state.changed.clear()
  for (const account of accounts) {
    const verdict = accountVerdict(state, seen, account)
    if (verdict !== undefined) return verdict
  }
  return digestsVerdict(reads, model)
}

// ---- reads

type Answered = Observation & { readonly _tag: "Answered" }

/**
 * Passes if the verdict holds at one of the times at which an answer may have been read: between question and answer if the clock ran
 * true, otherwise at any time. Keys as shown change only when one of them ends, so one moment on each side of every end stands for all.
 * Keys end by the later of the clock and the newest record. Which record that was is not known: a clock that leaps after the reading
 * brings records that are durable before the answer leaves.
 */
const atSome = ({ clock, model }: Answered, keys: ReadonlyArray<NaiveKey>, verdictAt: (now: number) => Verdict): Verdict => {
  const [early, late] = clock === undefined ? [0, Number.MAX_SAFE_INTEGER] : [clock[0], Math.max(clock[1], model.atEpochMs)]
  const ends = keys.map(({ expiresAtEpochMs }) => expiresAtEpochMs).filter((end) => end > early && end < late)
  let said: Verdict
  for (const now of [early, ...ends, late]) {
    said = verdictAt(now)
    if (said === undefined) break
  }
  return said
}

const told = (seen: Answered, wish: Identity.Wish): Verdict => {
  const { answer: { json }, call, model } = seen
  const { account } = call
  const what = `${call.target} of ${call.client}`
  const { identity } = model
  switch (wish.kind) {
    case "listPasskeys":
      return difference(what, json, ShownIdentity.passkeys(model, account))
    case "listApiKeys":
      return atSome(seen, identity.keysOf(account),
        (now) => difference(what, ShownIdentity.withoutUses(json), ShownIdentity.keys(model, account, now)))
    case "revokeApiKey": {
      const key = identity.keys.find(({ keyId }) => keyId === wish.keyId)
      if (key === undefined) return broken(`${what} tells of a key that never was`)
      if (key.account !== account) return broken(`${what} tells of a key of account ${key.account}, and is of account ${account}`)
      return atSome(seen, [key],
        (now) =>
          difference(what, ShownIdentity.withoutUses(json), { version: "api-key-revoke/v1", key: ShownIdentity.key(model, key, now) }))
    }
    case "getCurrentSession": {
      const session = identity.everSessions.find(({ tokenSha256 }) => tokenSha256 === Identity.sha256(call.token, "hex"))
      const { accountId } = call
      return difference(what, json, { version: "session/v1", tokenType: "Bearer", accountId, expiresAtEpochMs: session?.expiresAtEpochMs })
    }
    default:
      return holds
  }
}

/** Checks the key that is used for the request, by its own token. */
const currentKey = (seen: Answered): Verdict => {
  const { answer: { json }, call, model } = seen
  const key = model.identity.keys.find(({ keyId }) => keyId === Identity.keyIdIn(call.token))
  if (key === undefined) return broken(`${call.client} is told of its key, which is none`)
  // The remainder of its limit is checked by another property.
  const { rateLimit } = json as { readonly rateLimit: Json }
  return atSome(seen, [key], (now) =>
    difference(`the key of ${call.client}`, ShownIdentity.withoutUses(json), {
      version: "api-key-current/v1",
      key: ShownIdentity.key(model, key, now),
      rateLimit
    }))
}

/** Routes whose answers contain the last use of keys. */
const tellsUses: ReadonlySet<string> = new Set(["listApiKeys", "revokeApiKey", "getCurrentApiKey"])

interface ToldKey {
  readonly keyId: string
  readonly lastUsedAtEpochMs: number | null
}

/**
 * A process knows the uses of keys since its own start: a key's read of itself is a use, and a use that was answered before a read was
 * sent is known to it.
 */
const lateUse = (
  { sure, takenUp }: State,
  { call: { endpoint, id, token }, clock }: Answered,
  { keyId, lastUsedAtEpochMs: at }: ToldKey
): number | undefined => {
  const journaled = takenUp.get(id)?.get(keyId)
  if (journaled !== undefined && (at ?? 0) < journaled) return journaled
  if (clock === undefined) return undefined
  const isOwn = endpoint === "getCurrentApiKey" && keyId === Identity.keyIdIn(token)
  const known = sure.get(keyId)
  const least = isOwn ? clock[0] : known !== undefined && known < clock[0] ? known : undefined
  return least !== undefined && (at === null || at < Math.floor(least)) ? least : undefined
}

/** Notes a certain use of a key, by its answer. */
const usedSurely = ({ sure }: State, { answer: { status }, call: { target, token }, clock }: Answered): void => {
  if (clock === undefined || status !== 200 || !token.startsWith("pk_") || !target.startsWith("/v1/accounts/")) return
  const keyId = Identity.keyIdIn(token)
  sure.set(keyId, Math.max(clock[0], sure.get(keyId) ?? 0))
}

/**
 * Uses of keys are journaled only now and then: those before the process's start may be reported late, or as never, but not at a moment
 * without a use.
 */
const usesVerdict = (state: State, seen: Answered): Verdict => {
  const { startedAt, uses } = state
  const { answer: { json, status }, call, model: { identity: { keys, tickets } } } = seen
  if (status !== 200 || !tellsUses.has(call.endpoint)) return holds
  const { key, keys: listed } = json as { readonly key?: ToldKey; readonly keys?: ReadonlyArray<ToldKey> }
  const all = [...listed ?? [], ...key === undefined ? [] : [key]]
  for (const each of all) {
    // Of a use that its owner was told of before the process started the process knows as long as that is kept.
    const told = seen.model.identity.keptNotes(call.account).find(({ credentialId, kind, sequence }) =>
      kind === "key_used_from_new_address" && credentialId === each.keyId && sequence <= startedAt
    )
    const at = each.lastUsedAtEpochMs ?? 0
    const isKnown = told !== undefined && seen.clock !== undefined && !state.ahead.has(told.sequence)
    if (isKnown && at < told.atEpochMs && state.usesSince.get(each.keyId)?.has(at) !== true) {
      return broken(
        `${call.target} of ${call.client} tells that ${each.keyId} was used at ${at}, and its owner was told of ${told.atEpochMs}`
      )
    }
    const least = lateUse(state, seen, each)
    if (least === undefined) continue
    return broken(`${call.target} of ${call.client} tells that ${each.keyId} was used at ${each.lastUsedAtEpochMs}, and it was at ${least}`)
  }
  const fault = all.find(({ keyId, lastUsedAtEpochMs: at }) => {
    if (at === null || uses.get(keyId)?.has(at) === true) return false
    // A use of a ticket is a use of its key, and comes over the stream.
    const index = keys.find((each) => each.keyId === keyId)?.index
    return !tickets.families.some(({ apiKey }) => apiKey === index)
  })
  return fault === undefined
    ? holds
    : broken(
      `${call.target} of ${call.client} tells that ${fault.keyId} was used at ${fault.lastUsedAtEpochMs}, and no request came by it then`
    )
}

/** Notes a moment at which a key was used, as far as anybody may be told. */
const usedAt = (uses: Map<string, Set<number>>, keyId: string, atEpochMs: number): void => {
  const times = uses.get(keyId)
  if (times === undefined) uses.set(keyId, new Set([atEpochMs]))
  else times.add(atEpochMs)
}

/** Notes that a request arrived with a key. */
const used = (state: State, { token }: Call, atEpochMs: number): void => {
  if (atEpochMs < state.cameAtEpochMs) state.sure.clear()
  state.cameAtEpochMs = atEpochMs
  if (!token.startsWith("pk_")) return
  const keyId = Identity.keyIdIn(token)
  usedAt(state.uses, keyId, atEpochMs)
  usedAt(state.usesSince, keyId, atEpochMs)
}

/** A request came within this time before the note of its key's use is journaled, by a clock that nobody has set. */
const heardMs = 1_000

/** A key's use from a new address is told as of its record where no later use is known. */
const noted = (state: State, { model, record: { command, sequence } }: Extract<Observation, { readonly _tag: "Committed" }>): void => {
  if (command.kind === "NoteKeyUses") {
    const journaled = new Map(state.journaled)
    for (const { apiKey, usedAtEpochMs } of command.uses) {
      const { account, keyId } = model.identity.keys[apiKey]!
      state.changed.add(account)
      journaled.set(keyId, Math.max(usedAtEpochMs, journaled.get(keyId) ?? 0))
    }
    state.journaled = journaled
  }
  if (command.kind !== "NoteSecurity" || command.what !== "key_used_from_new_address") return
  usedAt(state.uses, command.credentialId, model.atEpochMs)
  if (Math.floor(state.cameAtEpochMs) < model.atEpochMs - heardMs) state.ahead.add(sequence)
}

const changedAt = (model: NaiveVenue | undefined, { account }: Call): number => model?.identity.changedAt.get(account) ?? 0

const answered = (state: State, seen: Answered): Verdict => {
  const { answer, attempt, call, model } = seen
  const before = state.asked.get(`${call.id}/${attempt}`)
  state.asked.delete(`${call.id}/${attempt}`)
  if (before === undefined || answer.status !== 200 || !isObject(answer.json as Json)) return holds
  const wish = Identity.read(call.method, call.target, call.body)?.wish
  // Something that has changed meanwhile may be shown as it was before or after.
  const stands = before === changedAt(model, call) || wish?.kind === "revokeApiKey"
  if (!stands || call.account < 0) return holds
  if (call.endpoint === "getCurrentApiKey") return currentKey(seen)
  return wish === undefined ? holds : told(seen, wish)
}

export const identityEqualsModel: Property<State> = {
  name: "who-may-act-equals-model",
  invariant: "I11",
  kind: "safety",
  initial: () => ({
    asked: new Map(),
    model: undefined,
    changed: new Set(),
    uses: new Map(),
    usesSince: new Map(),
    ahead: new Set(),
    sure: new Map(),
    journaled: new Map(),
    takenUp: new Map(),
    cameAtEpochMs: 0,
    startedAt: 0
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Committed":
        state.model = seen.model
        noted(state, seen)
        if (isOfIdentity(seen.record.command) || isOfTickets(seen.record.command) || byOperators.has(seen.record.command.kind)) {
          for (const account of seen.decision.touchedAccounts) state.changed.add(account)
        }
        return holds
      case "Inspected":
        return inspected(state, seen)
      case "Asked":
        if (seen.call.credential === "issued") state.asked.set(`${seen.call.id}/${seen.attempt}`, changedAt(state.model, seen.call))
        return holds
      case "Unanswered":
        state.asked.delete(`${seen.call.id}/${seen.attempt}`)
        return holds
      case "Handling":
        used(state, seen.call, seen.atEpochMs)
        if (tellsUses.has(seen.call.endpoint)) state.takenUp.set(seen.call.id, state.journaled)
        return holds
      case "Settled":
        state.takenUp.delete(seen.call.id)
        return holds
      case "Started":
        state.sure.clear()
        state.usesSince.clear()
        state.cameAtEpochMs = 0
        state.startedAt = state.model?.sequence ?? 0
        return holds
      case "Answered": {
        const verdict = answered(state, seen) ?? usesVerdict(state, seen)
        usedSurely(state, seen)
        return verdict
      }
      default:
        return holds
    }
  }
}
