/**
 * Safety (I10). The owner of a transfer may move it on. Whoever asks for the approval that is due is not told that the transfer has come to
 * another step, and is asked where a transaction waits for nothing else. A faultless answer to an open question is not called unproven, nor
 * late, while its step still waits for that very approval; and none is taken that comes when its question is over. An account is offered
 * passkeys of its own only, among them each that approved a step which the ledger has accepted, as long as it stands.
 */
import type { NaiveTransfer } from "../model/NaiveFunds.js"
import { isUnapproved } from "../model/NaiveFunds.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Bodies from "../reading/Bodies.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Funds from "../reading/Funds.js"
import * as Identity from "../reading/Identity.js"
import * as Requests from "../reading/Requests.js"
import * as ClockSeen from "./ClockSeen.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** How long a question may be answered, ms. */
const openMs = 5 * 60_000

type Confirming = Funds.Wish & { readonly kind: "initiate" | "complete" }

/** A confirmation, from when it was first sent. */
interface Asking {
  readonly account: number
  readonly wish: Confirming
  /** What waited for its owner's approval when it was sent. */
  readonly waited: string | undefined
  /** Whether something else, or nothing, has waited at some moment since. */
  isChanged: boolean
  /** The process that was running, and how often its clock had been set back. */
  readonly incarnation: number
  readonly setBacks: number
  /** Passkeys of the account when it was sent that it must be offered, and all that it had. */
  readonly proven: ReadonlyArray<string>
  readonly had: ReadonlyArray<string>
}

/** A question that was asked: what it is about, and by which process. */
interface Asked {
  readonly challenge: string
  readonly account: number
  readonly waited: string
  readonly expiresAtEpochMs: number
  readonly incarnation: number
  readonly setBacks: number
}

interface State {
  model: NaiveVenue | undefined
  incarnation: number
  /** The process's clock. */
  clock: ClockSeen.ClockSeen
  /** By the call's number. */
  readonly asking: Map<number, Asking>
  /** By the challenge's identifier: what is known to have waited all the time, when each ends, and how often a request named it. */
  readonly questions: Map<string, Asked>
  readonly expiries: Map<string, number>
  readonly taken: Map<string, number>
}

/** The transaction that waits for its owner's approval, by its transfer, step and hash; undefined where none does. */
const waitingFor = (transfer: NaiveTransfer | undefined): string | undefined => {
  if (transfer === undefined || transfer.isForgotten || transfer.partyId === "" || !isUnapproved(transfer)) return undefined
  const step = transfer.steps.find(({ accepted }) => accepted === undefined)
  const attempt = step?.attempts.at(-1)
  return attempt === undefined || attempt.isVoid ? undefined : `${transfer.number} ${step!.name} ${attempt.hash}`
}

const waiting = ({ model }: State, account: number, of: Funds.Named): string | undefined =>
  model === undefined ? undefined : waitingFor(Funds.namedBy(model.funds.transfers, account, of))

const passkeysOf = ({ model }: State, account: number): ReadonlyArray<string> =>
  model?.identity.passkeysOf(account).map(({ credentialId }) => credentialId) ?? []

/** An account's passkeys that approved a step which the ledger has accepted, and may approve one of this kind by the journal's time. */
const provenOf = ({ model }: State, account: number, kind: Funds.Kind): ReadonlyArray<string> => {
  if (model === undefined) return []
  const used = new Set(
    model.funds.transfers.filter((each) => each.account === account).flatMap(({ steps }) =>
      steps.filter(({ accepted }) => accepted !== undefined).flatMap(({ attempts }) => attempts.at(-1)?.approval?.credentialId ?? [])
    )
  )
  return model.identity.passkeysOf(account)
    .filter(({ approvesFromEpochMs, credentialId }) =>
      used.has(credentialId) && (kind === "deposit" || approvesFromEpochMs <= model.atEpochMs)
    )
    .map(({ credentialId }) => credentialId)
}

const look = (state: State): void => {
  for (const each of state.asking.values()) each.isChanged ||= waiting(state, each.account, each.wish.of) !== each.waited
}

const asked = (state: State, call: Call): void => {
  const { account, accountId, body, credential, id, method, target } = call
  if (state.asking.has(id) || credential !== "issued" || account < 0 || !Funds.isOfFunds(target) || !Requests.isReadable(call)) return
  const reading = Funds.read(method, target, body)
  const wish = reading?.wish
  if (reading?.accountId !== accountId || (wish?.kind !== "initiate" && wish?.kind !== "complete")) return
  state.asking.set(id, {
    account,
    wish,
    waited: waiting(state, account, wish.of),
    isChanged: false,
    incarnation: state.incarnation,
    setBacks: state.clock.setBacks,
    proven: provenOf(state, account, wish.of.kind),
    had: passkeysOf(state, account)
  })
}

/** The challenge that a request of whatever kind names. */
const namedIn = ({ body }: Call): string | undefined => /"challengeIdentifier":"(apr_[^"]*)"/.exec(body)?.[1]

type Answered = Observation & { readonly _tag: "Answered" }

/** Checks the passkeys that a question offers. */
const offeredVerdict = (state: State, asking: Asking, challenge: Json): Verdict => {
  const { allowCredentials } = challenge
  const told = isObject(allowCredentials) && Array.isArray(allowCredentials["webauthn"]) ? allowCredentials["webauthn"] : []
  const offered = told.map((each) => isObject(each) ? String(each["id"]) : "")
  const has = passkeysOf(state, asking.account)
  const other = offered.find((each) => !has.includes(each) && !asking.had.includes(each))
  if (other !== undefined) return broken(`the passkey ${other} is offered, and is none of the account's`)
  const missing = asking.proven.find((each) => has.includes(each) && !offered.includes(each))
  return missing === undefined ? holds : broken(`the passkey ${missing} has approved a step that the ledger accepted, and is not offered`)
}

/** Notes a question, and checks that one is asked where something waits for it. */
const initiated = (state: State, { answer: { json } }: Answered, asking: Asking): Verdict => {
  if (!isObject(json)) return holds
  const { challenge } = json
  if (!isObject(challenge))
    return asking.waited !== undefined && !asking.isChanged
      ? broken(`nothing is asked, and ${asking.waited} waits for its owner`)
      : holds
  const { challenge: text, challengeIdentifier, expiresAtEpochMs } = challenge
  state.expiries.set(String(challengeIdentifier), Number(expiresAtEpochMs))
  if (asking.waited !== undefined && !asking.isChanged) {
    state.questions.set(String(challengeIdentifier), {
      challenge: String(text),
      account: asking.account,
      waited: asking.waited,
      expiresAtEpochMs: Number(expiresAtEpochMs),
      incarnation: asking.incarnation,
      setBacks: asking.setBacks
    })
  }
  return offeredVerdict(state, asking, challenge)
}

/** Whether a proof is a faultless answer to a question, by a passkey that the account had all the time and whose counter went forward. */
const isFaultless = (state: State, { had }: Asking, { account, challenge, expiresAtEpochMs }: Asked, proof: Funds.AskedProof): boolean => {
  const { authenticatorData, challengeIdentifier, clientData, credentialId, signature } = proof
  const known = state.model?.identity.passkeysOf(account).find((each) => each.credentialId === credentialId)
  if (known === undefined || !had.includes(credentialId)) return false
  const client = Bodies.decoded(clientData)
  const asserted = Bodies.decoded(authenticatorData)
  const owner = { publicKey: known.publicKey, userHandle: known.userHandle, accountId: "own" }
  const question = { challenge, purpose: "", accountId: "own", provedBy: undefined, userHandle: "", displayName: "", expiresAtEpochMs }
  const said = {
    challengeIdentifier,
    credentialId,
    rawId: credentialId,
    client,
    clientDataJSON: clientData,
    attested: undefined,
    transports: "",
    asserted,
    authenticatorData,
    signature,
    userHandle: undefined
  }
  if (Identity.assertionFault(said, question, owner) !== undefined || client?.["crossOrigin"] === null) return false
  const counter = Number(asserted?.["signCount"])
  return counter > known.signCount || (counter === 0 && known.signCount === 0)
}

/** Whether the process that answers had certainly asked a question, and it was open when its only answer came. */
const wasSurelyOpen = (state: State, { clock }: Answered, asking: Asking, question: Asked, challengeIdentifier: string): boolean => {
  const { expiresAtEpochMs, incarnation, setBacks } = question
  // With a clock that was set back a question may have made room for another one about the same.
  if (setBacks !== state.clock.setBacks) return false
  if (clock === undefined || incarnation !== state.incarnation || asking.incarnation !== state.incarnation) return false
  const inTime = Math.max(clock[1], state.clock.lastEpochMs) < expiresAtEpochMs && clock[0] >= expiresAtEpochMs - openMs
  return inTime && state.taken.get(challengeIdentifier) === 1
}

/** Checks that the first answer to a question was not taken once that was over, by every clock: the process has it no more. */
const lateVerdict = (state: State, { clock }: Answered, { wish }: Asking): Verdict => {
  if (wish.kind !== "complete" || clock === undefined) return holds
  const { challengeIdentifier } = wish.proof
  const expiresAtEpochMs = state.expiries.get(challengeIdentifier)
  if (expiresAtEpochMs === undefined || state.taken.get(challengeIdentifier) !== 1) return holds
  return clock[0] >= expiresAtEpochMs || clock[1] < expiresAtEpochMs - openMs
    ? broken(`its question was open until ${expiresAtEpochMs}, and it is taken between ${clock.join(" and ")}`)
    : holds
}

const isUnproven = (status: number, json: Json): boolean => status === 401 && json["code"] === "passkey_assertion_invalid"
const isConflict = (status: number, json: Json): boolean =>
  status === 409 && json["code"] === "deposit_step_conflict" && json["rejectionGuard"] === undefined

const refused = (state: State, seen: Answered, asking: Asking): Verdict => {
  const { answer: { json, status } } = seen
  const { waited, wish } = asking
  if (!isObject(json)) return holds
  if (wish.kind === "initiate") {
    const isExpected = wish.signingStep === undefined || (!asking.isChanged && waited?.split(" ")[1] === wish.signingStep)
    return isConflict(status, json) && isExpected ? broken("the transfer is at no other step than was expected") : holds
  }
  const question = state.questions.get(wish.proof.challengeIdentifier)
  const isAwaited = question !== undefined && !asking.isChanged && question.waited === waited && question.account === asking.account
    && waited.split(" ")[1] === wish.signingStep
  if (!isAwaited || (!isUnproven(status, json) && !isConflict(status, json))) return holds
  return wasSurelyOpen(state, seen, asking, question, wish.proof.challengeIdentifier) && isFaultless(state, asking, question, wish.proof)
    ? broken(`the approval is faultless, and ${waited} still waits for it`)
    : holds
}

const answered = (state: State, seen: Answered): Verdict => {
  const { answer: { status, text }, call } = seen
  const asking = state.asking.get(call.id)
  if (asking === undefined) return holds
  const isInitiated = status === 200 && asking.wish.kind === "initiate"
  const verdict = isInitiated
    ? initiated(state, seen, asking)
    : status === 200
    ? lateVerdict(state, seen, asking)
    : refused(state, seen, asking)
  return verdict === undefined ? holds : broken(`${call.target} with ${call.body} is answered ${status}: ${verdict}: ${text}`)
}

export const approvalsAreTaken: Property<State> = {
  name: "owners-may-move-their-money-on",
  invariant: "I10",
  kind: "safety",
  initial: () => ({
    model: undefined,
    incarnation: 0,
    clock: ClockSeen.unseen,
    asking: new Map(),
    questions: new Map(),
    expiries: new Map(),
    taken: new Map()
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.incarnation = seen.incarnation
        state.clock = ClockSeen.unseen
        return holds
      case "Asked":
        asked(state, seen.call)
        return holds
      case "Handling": {
        const challenge = namedIn(seen.call)
        if (challenge !== undefined) state.taken.set(challenge, (state.taken.get(challenge) ?? 0) + 1)
        return holds
      }
      case "Handled":
        state.clock = ClockSeen.handled(state.clock, seen)
        return holds
      case "Committed":
        state.model = seen.model
        look(state)
        return holds
      case "Answered":
        return answered(state, seen)
      case "Settled":
        state.asking.delete(seen.call.id)
        return holds
      default:
        return holds
    }
  }
}
