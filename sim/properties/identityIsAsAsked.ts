/**
 * Safety (I11). Every record about who may act is explained by a request: a passkey that was challenged and has answered correctly, a code
 * that was issued and is presented again, a session that identifies the caller. The journal has what the request contained, and the answer
 * reports what was journaled. A request that is malformed by the contract is never carried out, whatever signs it; each challenge explains
 * one record. And a passkey's proof in time is not refused as unproven. A browser is asked to create a passkey other than those that the
 * account has, and to sign with whichever it finds. An owner who decides about an agent sees all that it requested, through a link that
 * contains the owner's code and none of the agent's secrets. A failure is noted as what it was, a sign-in or an approval of money, and no
 * failed sign-in is kept from the account's owner. The address that is noted is the one from which its client sent the request, whatever
 * that claims and through however many proxies it comes.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import type { AddPasskey } from "../../src/operations/identity/AddPasskey.js"
import type { ExchangeGrant } from "../../src/operations/identity/ExchangeGrant.js"
import type { OpenOwnerAccount } from "../../src/operations/identity/OpenOwnerAccount.js"
import type { SignIn } from "../../src/operations/identity/SignIn.js"
import type { Command } from "../../src/operations/Operations.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { isOfIdentity } from "../reading/Commands.js"
import * as Funds from "../reading/Funds.js"
import * as Identity from "../reading/Identity.js"
import * as Requests from "../reading/Requests.js"
import { addresses } from "../world/Addresses.js"
import * as ClockSeen from "./ClockSeen.js"
import { difference, without } from "./Difference.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A pending agent, with its request and the answer. */
interface Agent {
  readonly clientName: string
  readonly scopes: number
  readonly keyLifetimeSeconds: number
  readonly codeChallenge: string
  readonly deviceSha256: string
  readonly userCode: string
  /** Until when its request is pending, by the answer. */
  readonly expiresAtEpochMs: number
  /** The processes that may have begun the request. */
  readonly by: ReadonlySet<number>
}

type Opening = OpenOwnerAccount | SignIn | AddPasskey

/** What a passkey may have failed at. */
type Failed = "sign_in_failed" | "approval_failed"

/** A request, however often it was sent. */
interface AskedOnce {
  readonly call: Call
  readonly wish: Identity.Wish
  /** How many challenges may have been issued before, and how often accounts' passkeys had changed. */
  readonly begun: number
  readonly became: number
  /** How often the clock had been set back. */
  readonly setBacks: number
  /** How often the venue took it up, and which of its processes did. */
  taken: number
  readonly by: Set<number>
  /** The earliest reading of the clock as it was taken up. */
  takenUpAtEpochMs: number
  /** The number of notes about the passkey that is to prove it, when it was first taken up. */
  notedBefore: number | undefined
}

interface State {
  /** Well-formed requests, by call. */
  readonly asked: Map<number, AskedOnce>
  /** How many challenges may have been issued so far, and how many may be open for an address. */
  begun: number
  mostOpen: number
  /** How often an account's passkeys have changed by one. */
  became: number
  /** The number of challenges issued before each challenge in an answer. */
  readonly begunBefore: Map<string, number>
  /** By the identifier that answers to them contain. */
  readonly challenges: Map<string, Identity.Challenge>
  /** Challenges that have explained a record. */
  readonly spent: Set<string>
  /** Challenges that may have explained a record instead of another one. */
  readonly unsure: Set<string>
  readonly agents: Array<Agent>
  /** Every passkey ever registered, by its id: the latest with that id. */
  readonly passkeys: Map<string, Identity.Known>
  /** Records that opened sessions and issued keys, by the digest of the token or of the key. */
  readonly openings: Map<string, { readonly command: Opening; readonly account: number; readonly atEpochMs: number }>
  readonly keys: Map<string, { readonly command: ExchangeGrant; readonly account: number }>
  /** The present process, and the process that issued each challenge; undefined where it may have been either of two. */
  incarnation: number
  readonly askedBy: Map<string, number | undefined>
  /** How often each challenge was answered so far. */
  readonly sent: Map<string, number>
  /**
   * Correct proofs that were sent once and refused as unproven, by challenge: the network may have duplicated them, and the other copy has
   * a record.
   */
  readonly turnedDown: Map<string, string>
  /** Whether a proved command found no room: its proof is spent, and no record shows it. */
  isRoomless: boolean
  /** The clocks of all processes, as if they were one. */
  clock: ClockSeen.ClockSeen
  /** The number of failures that each passkey may have been noted for, by what was attempted. */
  readonly failures: { readonly [of in Failed]: Map<string, number> }
  /** How many failures the present process has noted, by account; and how many any process has, by passkey. */
  readonly noted: Map<number, number>
  readonly notedOf: Map<string, number>
}

/** Usual limit of open challenges for an address. */
const usuallyOpen = 64
/** Wrong codes that lock an account's approvals. */
const mostWrongCodes = 10

type Wished<K extends Identity.Wish["kind"]> = Extract<Identity.Wish, { readonly kind: K }>

/** Every request of some kinds, with its call, and how often the venue took it up. */
function* wishes<K extends Identity.Wish["kind"]>(
  { asked }: State,
  ...kinds: ReadonlyArray<K>
): Generator<readonly [Wished<K>, Call, taken: number]> {
  for (const { call, taken, wish } of asked.values()) {
    if ((kinds as ReadonlyArray<string>).includes(wish.kind)) yield [wish as Wished<K>, call, taken]
  }
}

/** Why a proof proves nothing for a purpose; undefined where it does. */
const fault = (state: State, proof: Identity.AskedProof, purpose: string, accountId: string | undefined): string | undefined => {
  const challenge = state.challenges.get(proof.challengeIdentifier)
  if (challenge === undefined) return "answers a challenge that nobody was asked"
  if (challenge.purpose !== purpose) return `answers a challenge that was asked to ${challenge.purpose}`
  if (purpose === "open_account" || purpose === "new_passkey") {
    if (challenge.accountId !== accountId) return "is for another account"
    return Identity.registrationFault(proof, challenge)
  }
  const known = state.passkeys.get(proof.credentialId)
  if (known === undefined) return "is of a passkey that nobody registered"
  if (accountId !== undefined && known.accountId !== accountId) return "is of another account's passkey"
  return Identity.assertionFault(proof, challenge, known)
}

const accountIdOf = ({ accounts }: NaiveVenue, account: number): string =>
  accounts[account] === undefined ? "" : idOf(accounts[account].born)

/** The first difference between a command's passkey and a request's; undefined where there is none. */
const otherPasskey = (command: OpenOwnerAccount | AddPasskey, proof: Identity.AskedProof, challenge: Identity.Challenge): boolean =>
  command.credentialId !== proof.credentialId || command.publicKey !== proof.attested?.["publicKey"]
  || (command.kind === "AddPasskey" && command.provedBy !== challenge.provedBy)
  || command.signCount !== proof.attested["signCount"] || command.transports !== proof.transports
  || command.userHandle !== challenge.userHandle || command.displayName !== challenge.displayName

/**
 * Finds the request that explains a registration: returns what is wrong with the last candidate, or the challenge that the right one
 * answers.
 */
const registered = (state: State, command: OpenOwnerAccount | AddPasskey, purpose: string, accountId: string | undefined): Verdict => {
  let said = "nobody has asked for it"
  for (const [{ proof }, call] of wishes(state, "finishRegistration")) {
    if (proof.credentialId !== command.credentialId || state.spent.has(proof.challengeIdentifier)) continue
    const wrong = fault(state, proof, purpose, accountId)
    if (wrong !== undefined) said = wrong
    else if (accountId !== undefined && call.accountId !== accountId) said = "was asked by another account's session"
    else if (otherPasskey(command, proof, state.challenges.get(proof.challengeIdentifier)!)) said = "is another passkey than was asked for"
    else {
      state.spent.add(proof.challengeIdentifier)
      return holds
    }
  }
  return broken(said)
}

/** A passkey's answer, as a record reports it. */
interface Answer {
  readonly credentialId: string
  readonly signCount: number
}

/** Proofs in requests of one kind that may explain a record. */
function* proofs<K extends "finishAuthentication" | "removePasskey" | "beginRegistration">(
  state: State,
  kind: K,
  fits: (wish: Wished<K>, call: Call) => boolean
): Generator<Identity.AskedProof> {
  for (const [wish, call] of wishes(state, kind)) {
    const proof = proofIn(wish)
    if (proof !== undefined && fits(wish, call)) yield proof
  }
}

/** Checks that one of some proofs explains a record: a passkey's answer for a purpose, of a given account's passkey if one is named. */
const answeredFor = (
  state: State,
  candidates: Iterable<Identity.AskedProof>,
  { credentialId, signCount }: Answer,
  purpose: string,
  accountId: string | undefined
): Verdict => {
  let said = "nobody has asked for it"
  const fitting: Array<string> = []
  for (const proof of candidates) {
    if (proof.credentialId !== credentialId || state.spent.has(proof.challengeIdentifier)) continue
    const wrong = fault(state, proof, purpose, accountId)
    if (wrong !== undefined) said = wrong
    else if (proof.asserted!["signCount"] !== signCount) said = `counts ${signCount}, and the passkey does not`
    else fitting.push(proof.challengeIdentifier)
  }
  const [first] = fitting
  if (first === undefined) return broken(said)
  state.spent.add(first)
  // For a passkey without a counter, the record does not identify which of several proofs it is from.
  for (const other of fitting) if (other !== first) state.unsure.add(other)
  return holds
}

/** Whether a call came with the token of a digest. */
const isOf = ({ token }: Call, sha256: string): boolean => Identity.sha256(token, "hex") === sha256

/** Whether somebody has requested something with the token of a session. */
const isAsked = <K extends Identity.Wish["kind"]>(state: State, kind: K, token: string, fits: (wish: Wished<K>) => boolean): boolean => {
  for (const [wish, call] of wishes(state, kind)) if (isOf(call, token) && fits(wish)) return true
  return false
}

const agentOf = ({ agents }: State, fits: (agent: Agent) => boolean): Agent | undefined => agents.find(fits)

/** Checks for how long a key may be fetched: until the end of its agent's request, by the venue's clock as the approval was taken up. */
const grantVerdict = (state: State, { expiresAtEpochMs, userCode }: Agent, grantMs: number, atEpochMs: number): Verdict => {
  const leftAt = (epochMs: number): number => Math.min(Identity.agentWaitMs, expiresAtEpochMs - epochMs)
  let first = Number.POSITIVE_INFINITY
  for (const { takenUpAtEpochMs, wish } of state.asked.values()) {
    if (wish.kind === "approveAgentConnect" && wish.userCode === userCode) first = Math.min(first, takenUpAtEpochMs)
  }
  // The command was made no later than its record, unless the clock was set back in between.
  return grantMs > 0 && grantMs >= leftAt(Math.max(atEpochMs, state.clock.highestEpochMs)) && grantMs <= leftAt(first)
    ? holds
    : broken(`lets the key be fetched for ${grantMs} ms, and its agent waits until ${expiresAtEpochMs}`)
}

const approved = (state: State, command: Extract<Command, { kind: "ApproveAgent" }>, token: string, atEpochMs: number): Verdict => {
  const { clientName, codeChallenge, deviceSha256, grantMs, keyLifetimeSeconds, scopes } = command
  const agent = agentOf(state, (each) => each.deviceSha256 === deviceSha256)
  if (agent === undefined) return broken("is of an agent that nobody was told of")
  const isSame = agent.clientName === clientName && agent.codeChallenge === codeChallenge && agent.scopes === scopes
    && agent.keyLifetimeSeconds === keyLifetimeSeconds
  if (!isSame) return broken(`is not what the agent asked for: ${JSON.stringify(agent)}`)
  const ofGrant = grantVerdict(state, agent, grantMs, atEpochMs)
  if (ofGrant !== holds) return ofGrant
  return isAsked(state, "approveAgentConnect", token, (wish) => wish.userCode === agent.userCode && wish.scopes === scopes)
    ? holds
    : broken("nobody has asked for it with this code and these scopes")
}

const denied = (state: State, { clientName }: Extract<Command, { kind: "DenyAgent" }>, token: string): Verdict =>
  isAsked(state, "denyAgentConnect", token, ({ userCode }) =>
      agentOf(state, (agent) => agent.userCode === userCode && agent.clientName === clientName) !== undefined)
    ? holds
    : broken("nobody has asked for it")

const exchanged = (state: State, { deviceSha256 }: ExchangeGrant): Verdict => {
  const agent = agentOf(state, (each) => each.deviceSha256 === deviceSha256)
  if (agent === undefined) return broken("is of a device code that nobody was told")
  for (const [wish] of wishes(state, "exchangeAgentConnect")) {
    if (wish.deviceSha256 === deviceSha256 && wish.codeChallenge === agent.codeChallenge) return holds
  }
  return broken("nobody has asked for it with the code's own verifier")
}

const noted = (state: State, { credentialId, ofAccount, what }: Extract<Command, { kind: "NoteSecurity" }>, model: NaiveVenue): Verdict => {
  if (what === "key_used_from_new_address") {
    const key = model.identity.keys.find(({ keyId }) => keyId === credentialId)
    return key?.account === ofAccount ? holds : broken("is of a key that the account never had")
  }
  if (what === "user_codes_locked") {
    const typed = [...wishes(state, "showAgentConnect", "approveAgentConnect", "denyAgentConnect")]
      .filter(([, call]) => call.accountId === accountIdOf(model, ofAccount))
    // A client repeats a request, and the network duplicates it.
    const tries = typed.reduce((sum, [, , taken]) => sum + taken, 0)
    return tries >= mostWrongCodes ? holds : broken(`locks an account for which ${tries} codes were typed`)
  }
  if (state.passkeys.get(credentialId)?.accountId !== accountIdOf(model, ofAccount))
    return broken("is of a passkey that the account never had")
  const failures = state.failures[what]
  const left = failures.get(credentialId) ?? 0
  failures.set(credentialId, left - 1)
  return left > 0 ? holds : broken(`notes ${what}, and nobody tried that`)
}

/** Counts an attempt with a passkey twice: the network may duplicate it. */
const tried = (failures: Map<string, number>, credentialId: string): void => {
  failures.set(credentialId, (failures.get(credentialId) ?? 0) + 2)
}

/** Checks that a request explains a command. */
const explained = (state: State, { atEpochMs, command }: Record, model: NaiveVenue): Verdict => {
  const accountId = accountIdOf(model, command.account)
  const token = command.credential < 0 ? "" : model.identity.everSessions[command.credential]?.tokenSha256 ?? ""
  switch (command.kind) {
    case "OpenOwnerAccount":
      return registered(state, command, "open_account", undefined)
    case "AddPasskey":
      return registered(state, command, "new_passkey", accountId)
    case "SignIn":
      return answeredFor(state, proofs(state, "finishAuthentication", () => true), command, "sign_in", undefined)
    case "RemovePasskey": {
      const { credentialId, provedBy, signCount } = command
      const named = proofs(state, "removePasskey", (wish, call) => wish.credentialId === credentialId && isOf(call, token))
      return answeredFor(state, named, { credentialId: provedBy, signCount }, "remove_passkey", accountId)
    }
    case "ProvePasskey":
      return answeredFor(state, proofs(state, "beginRegistration", (_, call) => isOf(call, token)), command, "add_passkey", accountId)
    case "EndSession":
      return isAsked(state, command.isElsewhere ? "endOtherSessions" : "endCurrentSession", token, () => true)
        ? holds
        : broken("nobody has asked for it")
    case "ApproveAgent":
      return approved(state, command, token, atEpochMs)
    case "DenyAgent":
      return denied(state, command, token)
    case "ExchangeGrant":
      return exchanged(state, command)
    case "RevokeApiKey":
      return isAsked(state, "revokeApiKey", token, ({ keyId }) => keyId === command.keyId) ? holds : broken("nobody has asked for it")
    case "NoteSecurity":
      return noted(state, command, model)
    default:
      return holds
  }
}

type Committed = Observation & { readonly _tag: "Committed" }

/**
 * The possible addresses of a command's request: owners use HTTP, an agent's key is used over the stream, too, and a demo account's key by
 * its trader.
 */
const mayComeFrom = (command: Command, { identity }: NaiveVenue): ReadonlyArray<string> => {
  if (command.kind !== "NoteSecurity" || command.what !== "key_used_from_new_address") return [addresses.owners]
  const isOfOwner = identity.passkeysOf(command.ofAccount).length > 0
  return [addresses.owners, addresses.streams, ...(isOfOwner ? [] : [addresses.traders])]
}

const committed = (state: State, { decision: { outcomes }, model, record }: Committed): Verdict => {
  const { atEpochMs, command, sequence } = record
  if (!isOfIdentity(command)) return holds
  const verdict = explained(state, record, model)
  if (verdict !== undefined) return broken(`record ${sequence}, ${command.kind}: ${verdict}: ${JSON.stringify(command)}`)
  if (!mayComeFrom(command, model).includes(command.remoteAddress)) return broken(`record ${sequence} came from ${command.remoteAddress}`)
  const { orderNumber: account, refusal } = outcomes[0]!
  if (refusal !== Refusal.none) return holds
  if (command.kind === "ExchangeGrant") state.keys.set(command.secretSha256, { command, account })
  if (command.kind === "OpenOwnerAccount" || command.kind === "SignIn" || command.kind === "AddPasskey") {
    state.openings.set(command.tokenSha256, { command, account, atEpochMs })
  }
  if (command.kind === "OpenOwnerAccount" || command.kind === "AddPasskey") {
    const { credentialId, publicKey, userHandle } = command
    state.passkeys.set(credentialId, { publicKey, userHandle, accountId: accountIdOf(model, account) })
  }
  return holds
}

// ---- answers

type Answered = Observation & { readonly _tag: "Answered" }

/** Whether a time had certainly passed when the request was sent, by a clock that has run true since. */
const wasOver = ({ clock }: Answered, atEpochMs: number): boolean => clock !== undefined && clock[0] >= atEpochMs

const challengeMs = 300_000
const sessionHours = 12
const hourMs = 3_600_000

/** Checks a session in an answer: it is journaled, belongs to its account, and ends when sessions do by its record's time. */
const sessionVerdict = (state: State, { answer: { json }, model }: Answered, proof: Identity.AskedProof): Verdict => {
  const { accessToken, accountId, expiresAtEpochMs } = json as Json
  const opening = state.openings.get(Identity.sha256(String(accessToken), "hex"))
  if (opening === undefined) return broken("tells a token that no record is of")
  const { account, atEpochMs, command } = opening
  if (command.credentialId !== proof.credentialId) return broken("tells a session of another passkey")
  if (accountId !== accountIdOf(model, account)) return broken(`names ${String(accountId)}, which is not the passkey's`)
  return expiresAtEpochMs === atEpochMs + sessionHours * hourMs ? holds : broken("does not last for twelve hours")
}

/** Notes a challenge in an answer. */
const noteChallenge = (
  state: State,
  { answer: { json }, call }: Answered,
  wish: Wished<"beginRegistration" | "beginAuthentication">
): void => {
  const { challengeIdentifier, expiresAtEpochMs, options } = json as Json
  const { challenge, user } = options as Json
  const isNew = wish.kind === "beginRegistration"
  // The answer may have arrived long after its process ended.
  const { begun, by, setBacks } = state.asked.get(call.id)!
  state.askedBy.set(String(challengeIdentifier), by.size === 1 && setBacks === state.clock.setBacks ? [...by][0] : undefined)
  state.begunBefore.set(String(challengeIdentifier), begun)
  state.challenges.set(String(challengeIdentifier), {
    challenge: String(challenge),
    purpose: !isNew ? wish.purpose : wish.proof === undefined ? "open_account" : "new_passkey",
    accountId: !isNew ? wish.accountId : wish.proof === undefined ? undefined : call.accountId,
    provedBy: isNew ? wish.proof?.credentialId : undefined,
    userHandle: isObject(user) ? String(user["id"]) : "",
    displayName: isNew ? wish.displayName : "",
    expiresAtEpochMs: Number(expiresAtEpochMs)
  })
}

/** The options, apart from the challenge, with which browsers create a new passkey; and those with which they use an existing one. */
const ofCreating = {
  rp: { id: Identity.site, name: "Perpetuum" },
  pubKeyCredParams: [{ type: "public-key", alg: -7 }, { type: "public-key", alg: -257 }],
  timeout: 300_000,
  attestation: "none",
  authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" }
}
const ofProving = { rpId: Identity.site, timeout: 300_000, allowCredentials: [], userVerification: "required" }

/** Checks for whom a new passkey is, and which ones are excluded: those of the account, unless they changed meanwhile. */
const creatingVerdict = (state: State, { answer: { json }, call, model }: Answered, wish: Wished<"beginRegistration">): Verdict => {
  const shown = without((json as Json)["options"], ["challenge"]) as Json
  const known = wish.proof === undefined ? undefined : state.passkeys.get(wish.proof.credentialId)
  const user = { id: known?.userHandle ?? (shown["user"] as Json)["id"], name: wish.displayName, displayName: wish.displayName }
  const account = known === undefined ? [] : model.identity.passkeys.filter((each) => accountIdOf(model, each.account) === known.accountId)
  const isUnsure = known !== undefined && state.asked.get(call.id)!.became !== state.became
  const excludeCredentials = isUnsure ? shown["excludeCredentials"] : account.map(({ credentialId, transports }) => ({
    type: "public-key",
    id: credentialId,
    transports: transports === "" ? [] : transports.split(",")
  }))
  return difference("what it asks for", shown, { ...ofCreating, user, excludeCredentials })
}

const provingVerdict = ({ answer: { json } }: Answered): Verdict =>
  difference("what it asks for", without((json as Json)["options"], ["challenge"]), ofProving)

/** A challenge lasts five minutes, by a clock that ran true. */
const challengeLasts = ({ answer: { json }, clock }: Answered): Verdict => {
  const expiresAtEpochMs = Number((json as Json)["expiresAtEpochMs"])
  const isRight = clock === undefined || (expiresAtEpochMs >= clock[0] + challengeMs && expiresAtEpochMs <= clock[1] + challengeMs)
  return isRight ? holds : broken("asks for other than five minutes")
}

const proofVerdict = (
  state: State,
  seen: Answered,
  proof: Identity.AskedProof,
  purpose: string,
  accountId: string | undefined
): Verdict => {
  const wrong = fault(state, proof, purpose, accountId)
  if (wrong !== undefined) return broken(`is answered, and what proves it ${wrong}`)
  const { expiresAtEpochMs } = state.challenges.get(proof.challengeIdentifier)!
  const isOfBefore = seen.clock !== undefined && seen.clock[1] < expiresAtEpochMs - challengeMs
  if (isOfBefore) return broken("is answered by a clock that was set back behind the beginning of its challenge")
  return wasOver(seen, expiresAtEpochMs) ? broken("is answered behind the end of its challenge") : holds
}

const exchangeVerdict = (state: State, { answer: { json } }: Answered, wish: Wished<"exchangeAgentConnect">): Verdict => {
  const { apiKey, key } = json as { readonly apiKey: string; readonly key: Json }
  const issued = state.keys.get(Identity.sha256(apiKey, "hex"))
  if (issued === undefined) return broken("tells a key that no record is of")
  const { displayPrefix, keyId } = issued.command
  if (issued.command.deviceSha256 !== wish.deviceSha256) return broken("tells another agent's key")
  return apiKey.startsWith(`${displayPrefix}_`) && key["keyId"] === keyId && key["displayPrefix"] === displayPrefix
    ? holds
    : broken("tells a key that is not as it was journaled")
}

/**
 * Checks the details of the agent that an owner decides about, or has decided about: all that it requested, and until when its request is
 * pending.
 */
const agentVerdict = (
  state: State,
  { answer: { json }, call: { accountId, id }, model }: Answered,
  { kind, userCode }: Wished<"showAgentConnect" | "approveAgentConnect" | "denyAgentConnect">
): Verdict => {
  const agent = agentOf(state, (each) => each.userCode === userCode)
  // A guessed code may be that of an agent whose answer was lost.
  if (agent === undefined) return holds
  const { clientName, deviceSha256, expiresAtEpochMs, keyLifetimeSeconds, scopes } = agent
  const asked = { scopes: Identity.scopesOf(scopes), keyLifetimeSeconds }
  // A process that knows it by its approval alone does not know since when it has been waiting: each one that did not begin its request,
  // and the one that did once the agent has made room for others.
  const grant = model.identity.everGrants.filter((each) => each.deviceSha256 === deviceSha256).at(-1)
  const shownBy = state.asked.get(id)?.by ?? new Set()
  const isByApproval = grant !== undefined
    && ([...shownBy].every((each) => !agent.by.has(each)) || isObject(json) && json["requestedAtEpochMs"] === grant.approvedAtEpochMs)
  const waits = isByApproval
    ? { userCode, requestedAtEpochMs: grant.approvedAtEpochMs, expiresAtEpochMs: grant.expiresAtEpochMs }
    : { userCode, requestedAtEpochMs: expiresAtEpochMs - Identity.agentWaitMs, expiresAtEpochMs }
  const of = { accountId, clientName }
  return difference("the agent", without(json, ["version", "approvedAtEpochMs", "deniedAtEpochMs"]),
    kind === "denyAgentConnect" ? of : kind === "approveAgentConnect" ? { ...of, ...asked } : { ...of, ...asked, ...waits })
}

/** Checks a successful answer against its request. */
const done = (state: State, seen: Answered, wish: Identity.Wish): Verdict => {
  const { call } = seen
  switch (wish.kind) {
    case "beginRegistration": {
      if ((wish.proof === undefined) !== (call.token === "")) return broken("is answered, and says half of who asks")
      const verdict = wish.proof === undefined ? holds : proofVerdict(state, seen, wish.proof, "add_passkey", call.accountId)
      if (verdict === undefined) noteChallenge(state, seen, wish)
      return verdict ?? challengeLasts(seen) ?? creatingVerdict(state, seen, wish)
    }
    case "beginAuthentication":
      noteChallenge(state, seen, wish)
      return challengeLasts(seen) ?? provingVerdict(seen)
    case "finishRegistration": {
      const purpose = state.challenges.get(wish.proof.challengeIdentifier)?.purpose === "new_passkey" ? "new_passkey" : "open_account"
      return proofVerdict(state, seen, wish.proof, purpose, purpose === "new_passkey" ? call.accountId : undefined)
        ?? sessionVerdict(state, seen, wish.proof)
    }
    case "finishAuthentication":
      return proofVerdict(state, seen, wish.proof, "sign_in", undefined) ?? sessionVerdict(state, seen, wish.proof)
    case "removePasskey":
      return proofVerdict(state, seen, wish.proof, "remove_passkey", call.accountId)
    case "exchangeAgentConnect":
      return exchangeVerdict(state, seen, wish)
    case "showAgentConnect":
    case "approveAgentConnect":
    case "denyAgentConnect":
      return agentVerdict(state, seen, wish)
    default:
      return holds
  }
}

/** Well-formed requests that may be refused as invalid because of their content, without a guard. */
const mattered: ReadonlySet<Identity.Wish["kind"]> = new Set(["beginRegistration", "approveAgentConnect", "exchangeAgentConnect"])

const unproven: ReadonlySet<unknown> = new Set(["passkey_assertion_invalid", "passkey_registration_invalid"])

/** The purpose of a request's proof, and the account of its passkey; undefined where nothing is journaled of it. */
const purposeOf = (
  state: State,
  wish: Identity.Wish,
  { accountId }: Call
): readonly [purpose: string, accountId: string | undefined] | undefined => {
  if (wish.kind === "finishAuthentication") return ["sign_in", undefined]
  if (wish.kind === "removePasskey") return ["remove_passkey", accountId]
  if (wish.kind === "beginRegistration") return ["add_passkey", accountId]
  if (wish.kind !== "finishRegistration") return undefined
  return state.challenges.get(wish.proof.challengeIdentifier)?.purpose === "new_passkey"
    ? ["new_passkey", accountId]
    : ["open_account", undefined]
}

/** Whether the challenge of a proof was certainly open when it arrived, and the required passkey existed. */
const wasSurelyOpen = (
  state: State,
  { clock, model }: Answered,
  { challengeIdentifier }: Identity.AskedProof,
  needed: string | undefined
): boolean => {
  if (clock === undefined || state.askedBy.get(challengeIdentifier) !== state.incarnation) return false
  // The oldest challenge makes room where as many are open as allowed.
  if (state.begun - state.begunBefore.get(challengeIdentifier)! >= state.mostOpen) return false
  const isKnown = needed === undefined || model.identity.passkeys.some(({ credentialId }) => credentialId === needed)
  // Setting a clock back does not restore what the venue forgot while it was ahead: nothing from before that is in `askedBy` any more.
  const { expiresAtEpochMs } = state.challenges.get(challengeIdentifier)!
  const inTime = Math.max(clock[1], state.clock.lastEpochMs) < expiresAtEpochMs && clock[0] >= expiresAtEpochMs - challengeMs
  return isKnown && inTime && state.sent.get(challengeIdentifier) === 1
}

/** Whether an answer refuses a proof. */
const isUnproven = ({ answer: { json } }: Answered): boolean =>
  isObject(json) && (unproven.has(json["code"]) || unproven.has(json["rejectionGuard"]))

/** Notes a correct proof that is refused: it may have arrived twice, and then the other copy has its record. */
const noteTurnedDown = (state: State, seen: Answered, wish: Identity.Wish): void => {
  const { answer: { text }, call } = seen
  const proof = proofIn(wish)
  const purpose = purposeOf(state, wish, call)
  if (proof === undefined || purpose === undefined || !isUnproven(seen) || fault(state, proof, ...purpose) !== undefined) return
  // For a removal, the signer is asked after the proof was checked: it may have been unreachable for the first copy, which left no record.
  if (wish.kind === "removePasskey" && (state.asked.get(call.id)?.taken ?? 0) > 1) return
  // For an addition, the passkey that authorized it must still exist.
  const needed = wish.kind === "finishRegistration" ? state.challenges.get(proof.challengeIdentifier)?.provedBy : proof.credentialId
  if (wasSurelyOpen(state, seen, proof, needed))
    state.turnedDown.set(proof.challengeIdentifier, `${call.method} ${call.target} with ${call.body}: ${text}`)
}

/** The number of notes per minute that an account certainly has room for. */
const mostNotes = 10

/** Whether a sign-in has failed with an account's own passkey without a note for its owner, though there was room for one. */
const isKeptFromOwner = (state: State, seen: Answered, wish: Identity.Wish): boolean => {
  if (wish.kind !== "finishAuthentication" || !isUnproven(seen)) return false
  const { proof } = wish
  const passkey = seen.model.identity.passkeys.find(({ credentialId }) => credentialId === proof.credentialId)
  if (passkey === undefined || state.challenges.get(proof.challengeIdentifier)?.purpose !== "sign_in") return false
  const notedBefore = state.asked.get(seen.call.id)?.notedBefore ?? Number.POSITIVE_INFINITY
  return fault(state, proof, "sign_in", undefined) !== undefined && wasSurelyOpen(state, seen, proof, proof.credentialId)
    && (state.noted.get(passkey.account) ?? 0) < mostNotes && (state.notedOf.get(proof.credentialId) ?? 0) <= notedBefore
}

const answered = (state: State, seen: Answered): Verdict => {
  const { answer, call } = seen
  const reading = Identity.read(call.method, call.target, call.body)
  if (reading === undefined) return holds
  const wish = Requests.isReadable(call) ? reading.wish : undefined
  const what = `${call.method} ${call.target} of ${call.client}`
  const isDone = answer.status < 300
  if (wish === undefined) return isDone ? broken(`${what} is none by the contract, and is done: ${call.body}`) : holds
  if (!isDone) {
    noteTurnedDown(state, seen, wish)
    if (isKeptFromOwner(state, seen, wish)) return broken(`${what} has failed, and is not noted for the owner of the passkey: ${call.body}`)
    const { apiKeyRejection, code, rejectionGuard } = isObject(answer.json) ? answer.json : {}
    const isOfForm = answer.status === 400 && code === "invalid_request" && rejectionGuard === undefined && apiKeyRejection === undefined
    const isPage = wish.kind === "listSecurityEvents" && wish.cursor !== undefined
    return isOfForm && !mattered.has(wish.kind) && !isPage ? broken(`${what} is a good request, and is answered ${answer.text}`) : holds
  }
  const verdict = done(state, seen, wish)
  return verdict === undefined ? holds : broken(`${what} ${verdict}: ${call.body} ${answer.text}`)
}

/** Notes an agent whose request is pending, and checks that the link for its owner leads to the owner's code. */
const agentBegun = (state: State, { answer: { json, status, text }, call }: Answered): Verdict => {
  const wish = Identity.read(call.method, call.target, call.body)?.wish
  if (status !== 200 || wish?.kind !== "beginAgentConnect" || !isObject(json)) return holds
  const { clientName, codeChallenge, keyLifetimeSeconds, scopes } = wish
  const { deviceCode, expiresAtEpochMs, userCode, verificationUri, verificationUriComplete } = json
  state.agents.push({
    clientName,
    codeChallenge,
    keyLifetimeSeconds,
    scopes,
    deviceSha256: Identity.sha256(String(deviceCode), "hex"),
    userCode: String(userCode),
    expiresAtEpochMs: Number(expiresAtEpochMs),
    by: state.asked.get(call.id)?.by ?? new Set()
  })
  return verificationUriComplete === `${String(verificationUri)}?code=${String(userCode)}`
    ? holds
    : broken(`${call.client} is told another link than that of its owner's code: ${text}`)
}

const proofIn = (wish: Identity.Wish): Identity.AskedProof | undefined => "proof" in wish ? wish.proof : undefined

/** Counts a failure, where a command notes one. */
const noteFailure = ({ noted, notedOf }: State, command: Command): void => {
  if (command.kind !== "NoteSecurity" || command.what === "key_used_from_new_address") return
  const { credentialId, ofAccount } = command
  noted.set(ofAccount, (noted.get(ofAccount) ?? 0) + 1)
  notedOf.set(credentialId, (notedOf.get(credentialId) ?? 0) + 1)
}

export const identityIsAsAsked: Property<State> = {
  name: "who-may-act-is-as-asked",
  invariant: "I11",
  kind: "safety",
  initial: () => ({
    asked: new Map(),
    begun: 0,
    mostOpen: usuallyOpen,
    became: 0,
    begunBefore: new Map(),
    challenges: new Map(),
    spent: new Set(),
    unsure: new Set(),
    agents: [],
    passkeys: new Map(),
    openings: new Map(),
    keys: new Map(),
    incarnation: 0,
    askedBy: new Map(),
    sent: new Map(),
    turnedDown: new Map(),
    isRoomless: false,
    clock: ClockSeen.unseen,
    failures: { sign_in_failed: new Map(), approval_failed: new Map() },
    noted: new Map(),
    notedOf: new Map()
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Asked": {
        const { call } = seen
        const approver = Funds.approverIn(call.target, call.body)
        if (approver !== undefined) tried(state.failures.approval_failed, approver)
        const wish = Identity.read(call.method, call.target, call.body)?.wish
        if (wish === undefined) return holds
        const before = state.asked.get(call.id)
        state.asked.set(call.id, {
          call,
          wish,
          begun: before?.begun ?? state.begun,
          became: before?.became ?? state.became,
          setBacks: before?.setBacks ?? state.clock.setBacks,
          taken: before?.taken ?? 0,
          by: before?.by ?? new Set(),
          takenUpAtEpochMs: before?.takenUpAtEpochMs ?? Number.POSITIVE_INFINITY,
          notedBefore: before?.notedBefore
        })
        // The network may duplicate it.
        if (wish.kind === "beginRegistration" || wish.kind === "beginAuthentication") state.begun += 2
        const proof = proofIn(wish)
        // The network may duplicate it.
        if (proof !== undefined) state.sent.set(proof.challengeIdentifier, (state.sent.get(proof.challengeIdentifier) ?? 0) + 1)
        // A correct proof is never noted as a failure, whatever became of it; nor is a registration.
        const purpose = wish.kind === "finishRegistration" ? undefined : purposeOf(state, wish, call)
        if (proof !== undefined && purpose !== undefined && fault(state, proof, ...purpose) !== undefined)
          tried(state.failures.sign_in_failed, proof.credentialId)
        return holds
      }
      case "Handling": {
        const asked = state.asked.get(seen.call.id)
        asked?.by.add(state.incarnation)
        if (asked === undefined) return holds
        asked.taken++
        asked.notedBefore ??= state.notedOf.get(proofIn(asked.wish)?.credentialId ?? "") ?? 0
        asked.takenUpAtEpochMs = Math.min(asked.takenUpAtEpochMs, seen.atEpochMs)
        return holds
      }
      case "Handled": {
        const { setBacks } = state.clock
        state.clock = ClockSeen.handled(state.clock, seen)
        // A challenge issued at a later time than the present one is over, and may be forgotten: which ones these are is not tracked.
        if (state.clock.setBacks !== setBacks) state.askedBy.clear()
        return holds
      }
      case "Started":
        // Challenges and requests begun by the previous process are unknown to this one.
        state.incarnation = seen.incarnation
        state.mostOpen = seen.bounds.ofAddress?.challenges ?? usuallyOpen
        state.turnedDown.clear()
        state.noted.clear()
        return holds
      case "Offered":
        noteFailure(state, seen.command)
        state.isRoomless ||= !seen.taken && isOfIdentity(seen.command)
        return holds
      case "Taken":
        state.isRoomless ||= seen.answered !== undefined && isOfIdentity(seen.command)
        if (seen.command.kind === "AddPasskey" || seen.command.kind === "RemovePasskey") state.became++
        return holds
      case "Finished": {
        if (state.isRoomless) return holds
        const [first] = [...state.turnedDown].filter(([challenge]) => !state.spent.has(challenge) && !state.unsure.has(challenge))
        return first === undefined ? holds : broken(`a good proof was turned down: ${first[1]}`)
      }
      case "Committed":
        return committed(state, seen)
      case "Answered":
        return agentBegun(state, seen) ?? answered(state, seen)
      default:
        return holds
    }
  }
}
