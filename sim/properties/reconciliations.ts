/**
 * Safety (I10). A reconciliation reports what the treasury held on the ledger at the named offset, by the ledger's own book, and what the
 * journal had between question and answer, and when it was made, which is a second later where a difference was looked at again; the
 * treasury in a published solvency report is the ledger's likewise. The difference is that of the two, and equals what was sent to the
 * treasury besides deposits, where the ledger has forgotten nothing and strangers have taken nothing. The books stop withdrawals only where
 * the treasury lacks something, and more than an operator has accepted, and only so is an operator refused who lets them go on. The
 * reported state of withdrawals is the actual one, with the stop that stands and what is accepted as lacking, and the automatic
 * reconciliation in the venue's readiness agrees with the ledger's own book; it is there once the process has told anybody of one. A party
 * is given ledger money at most as often as that was requested for its account, and at least as often as that was confirmed; nobody else is
 * given any.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { decimalOf, moneyScale } from "../model/Decimals.js"
import type { NaiveFunds } from "../model/NaiveFunds.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { atomsOf } from "../reading/Numbers.js"
import { difference, firstDifference } from "./Difference.js"
import { type Call, isLimited, type LedgerBook, type Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** The journal's state when a request was sent. */
interface Before {
  readonly deposited: bigint
  readonly withdrawn: bigint
  readonly stops: number
  readonly partyId: string | undefined
  /** Which of the processes was running. */
  readonly incarnation: number
}

/** A reported state of the ledger, to be compared with its own book. */
interface Told {
  readonly what: string
  readonly offset: number
  /** Undefined where only the difference is reported. */
  readonly held: bigint | undefined
  readonly unattributed: bigint
}

interface State {
  model: NaiveVenue | undefined
  /** How often withdrawals have been stopped and allowed so far. */
  stops: number
  /** Whether withdrawals were stopped at the last record. */
  isStopped: boolean
  incarnation: number
  /** Whether the present process has told of a comparison. */
  isCompared: boolean
  /** By call and attempt. */
  readonly asked: Map<string, Before>
  readonly told: Array<Told>
  /** An answer by which the treasury lacks something; undefined where there was none. */
  lacking: string | undefined
  /** How often each gift was taken up by a process, and how often it was confirmed: by amount. */
  readonly handled: Map<number, number>
  readonly given: Map<number, number>
  /** The accounts for which each amount was requested, and the accounts of all parties. */
  readonly wanted: Map<number, Set<string>>
  readonly parties: Map<string, string>
}

type Answered = Observation & { readonly _tag: "Answered" }

/** The faucet's maximum at once. */
const mostAtoms = 1_000_000_000_000_000

interface Gift {
  readonly accountId: string
  /** Undefined where the amount is impossible. */
  readonly amountAtoms: number | undefined
}

/** The ledger money that a call requests; undefined where there is none by the contract. */
const giftIn = ({ body, credential, endpoint, reading }: Call): Gift | undefined => {
  if (endpoint !== "fundLedgerParty" || credential !== "operator" || reading._tag !== "other") return undefined
  const { accountId, amount } = JSON.parse(body) as { readonly accountId: string; readonly amount: string }
  const atoms = atomsOf(amount, moneyScale)
  return { accountId, amountAtoms: typeof atoms === "number" && atoms >= 1 && atoms <= mostAtoms ? atoms : undefined }
}

const partyOf = (model: NaiveVenue | undefined, accountId: string): string | undefined => {
  const account = model?.accounts.find(({ born }) => idOf(born) === accountId)
  return account === undefined ? undefined : model?.funds.parties.get(account.index)?.partyId
}

const count = (counts: Map<number, number>, amount: number | undefined): void => {
  if (amount !== undefined) counts.set(amount, (counts.get(amount) ?? 0) + 1)
}

/** Notes a gift that a process was asked for. */
const wanted = (state: State, gift: Gift | undefined): void => {
  if (gift?.amountAtoms === undefined) return
  const { accountId, amountAtoms } = gift
  count(state.handled, amountAtoms)
  const accounts = state.wanted.get(amountAtoms)
  if (accounts === undefined) state.wanted.set(amountAtoms, new Set([accountId]))
  else accounts.add(accountId)
}

const atomsIn = (json: Json, name: string): bigint => BigInt(String(json[name]))

const isBetween = (told: bigint, before: bigint, now: bigint): boolean => before <= told && told <= now

/** Checks whether withdrawals are stopped, which stop stands, what is accepted as lacking, and that nothing more is where they go on. */
const standingFault = (what: string, told: Json, { accepted, isStopped, stop }: NaiveFunds, unattributed: bigint): Verdict => {
  if (told["withdrawalsStopped"] !== isStopped) return broken(`${what}: withdrawals are ${isStopped ? "" : "not "}stopped`)
  const shown = told["stop"] as { readonly reason: string; readonly differenceAtoms: string } | undefined
  const fault = firstDifference(what, [
    ["the reason of the stop", shown?.reason, stop?.reason],
    ["what the stop says is lacking", shown?.differenceAtoms, stop === undefined ? undefined : String(stop.differenceAtoms)],
    ["what is accepted as lacking", told["acceptedAtoms"], accepted === 0 ? undefined : String(accepted)]
  ], ["answer", "model"])
  if (fault !== holds || isStopped || unattributed >= BigInt(accepted)) return fault
  return broken(`${what}: withdrawals go on, and no more than ${accepted} atoms are accepted`)
}

/** After which time a difference is looked at again, ms. */
const againMs = 1_000

/** Checks when a comparison is said to have been made: while it was waited for, and of two that differ the second one is told. */
const momentFault = (what: string, clock: Answered["clock"], atEpochMs: number, isSecond: boolean): Verdict => {
  if (clock === undefined) return holds
  const [least, most] = [Math.floor(clock[0]) + (isSecond ? againMs : 0), clock[1]]
  return atEpochMs >= least && atEpochMs <= most ? holds : broken(`${what}: it was compared from ${least} to ${most}`)
}

const compared = (state: State, { answer: { json, text }, call, clock, model: { funds } }: Answered, before: Before): Verdict => {
  const told = json as Json
  const [held, owed, deposited, withdrawn, uncredited, unattributed] = ["heldAtoms", "owedAtoms", "confirmedDepositsAtoms",
    "confirmedWithdrawalsAtoms", "uncreditedDepositsAtoms", "unattributedAtoms"].map((name) => atomsIn(told, name)) as [
      bigint,
      bigint,
      bigint,
      bigint,
      bigint,
      bigint
    ]
  const what = `call ${call.id} is told ${text}`
  if (owed !== deposited + uncredited - withdrawn) return broken(`${what}: what is owed is not what came in less what went out`)
  if (unattributed !== held - owed) return broken(`${what}: what nothing accounts for is not held less owed`)
  if (!isBetween(deposited, before.deposited, funds.deposited)) return broken(`${what}: ${funds.deposited} were deposited`)
  if (!isBetween(withdrawn, before.withdrawn, funds.withdrawn)) return broken(`${what}: ${funds.withdrawn} were withdrawn`)
  const fault = momentFault(what, clock, Number(told["comparedAtEpochMs"]), unattributed !== 0n)
    ?? (state.stops === before.stops ? standingFault(what, told, funds, unattributed) : holds)
  if (fault !== holds) return fault
  state.told.push({ what, offset: Number(told["atLedgerOffset"]), held, unattributed })
  state.isCompared ||= before.incarnation === state.incarnation
  return holds
}

/** Checks the answer to a request for ledger money. */
const given = (state: State, { answer: { json, status, text }, call, model }: Answered, gift: Gift, before: Before): Verdict => {
  const { accountId, amountAtoms } = gift
  const what = `${call.target} with ${call.body}, answered ${status} ${text},`
  if (status === 200) {
    count(state.given, amountAtoms)
    const { partyId } = json as Json
    const isOwn = partyId !== undefined && (partyId === before.partyId || partyId === partyOf(model, accountId))
    if (amountAtoms === undefined || !isOwn) return broken(`${what} gives what it may not, or somebody else`)
    const amount = decimalOf(amountAtoms, moneyScale)
    const version = "demo-ledger-funds/v1"
    return difference(what, json, { version, accountId, partyId, amount, amountAtoms: String(amountAtoms) })
  }
  const { code, rejectionGuard: guard } = isObject(json) ? json : {}
  if (code === "invalid_request" && amountAtoms !== undefined) return broken(`${what} is a good request`)
  return before.partyId !== undefined && (code === "account_not_found" || guard === "party_missing")
    ? broken(`${what} is about the party ${before.partyId}`)
    : holds
}

/** Compares the reported states of the ledger with its own book, once that is known. */
const againstBook = (state: State, { byStrangers, given: gifts, held: treasury, prunedThrough, sent }: LedgerBook): Verdict => {
  for (const { held, offset, unattributed, what } of state.told) {
    const atoms = treasury.findLast((each) => each.offset <= offset)?.atoms ?? 0n
    if (held !== undefined && atoms !== held) return broken(`${what}: the treasury held ${atoms} atoms at offset ${offset}`)
    const beside = sent.findLast((each) => each.offset <= offset)?.atoms ?? 0n
    if (unattributed !== beside && prunedThrough === 0 && byStrangers.size === 0)
      return broken(`${what}: the ledger has forgotten nothing, and ${beside} atoms were sent beside all deposits`)
  }
  if (state.lacking !== undefined && prunedThrough === 0 && byStrangers.size === 0)
    return broken(`${state.lacking}: the ledger has forgotten nothing, and nobody has taken anything`)
  const minted = new Map<number, number>()
  for (const { amountAtoms, partyId } of gifts) {
    count(minted, amountAtoms)
    const accountId = state.parties.get(partyId)
    if (accountId !== undefined && state.wanted.get(amountAtoms)?.has(accountId) !== true)
      return broken(`${amountAtoms} atoms were given to ${partyId} on the ledger, and nobody asked for that`)
  }
  for (const amount of new Set([...minted.keys(), ...state.given.keys()])) {
    const [least, times, most] = [state.given, minted, state.handled].map((counts) => counts.get(amount) ?? 0) as [number, number, number]
    if (times < least || times > most)
      return broken(`${amount} atoms were given ${times} times on the ledger, told ${least} times and asked for ${most} times`)
  }
  return holds
}

const beforeOf = ({ incarnation, model, stops }: State, accountId: string | undefined): Before => {
  const funds: Pick<NaiveFunds, "deposited" | "withdrawn"> = model?.funds ?? { deposited: 0n, withdrawn: 0n }
  const partyId = accountId === undefined ? undefined : partyOf(model, accountId)
  return { deposited: funds.deposited, withdrawn: funds.withdrawn, stops, partyId, incarnation }
}

/** Notes the treasury of a published solvency report. */
const published = (state: State, { answer: { json, text }, call }: Answered, before: Before | undefined): Verdict => {
  const { treasury } = json as Json
  if (!isObject(treasury)) return holds
  state.isCompared ||= before?.incarnation === state.incarnation
  state.told.push({
    what: `${call.target}, answered ${text}`,
    offset: Number(treasury["ledgerOffset"]),
    held: atomsIn(treasury, "heldAtoms"),
    unattributed: atomsIn(treasury, "unattributedAtoms")
  })
  return holds
}

/** Checks that the readiness report has a comparison where the process has told of one. */
const handled = (state: State, { answer, call }: Observation & { readonly _tag: "Handled" }): Verdict => {
  if (call.endpoint !== "getReadiness" || answer === undefined) return holds
  const { details } = JSON.parse(answer.text) as { readonly details?: { readonly reconciliation?: string } }
  const said = details?.reconciliation
  if (said === undefined) return holds
  if (said === "not compared yet") return state.isCompared ? broken(`the books were compared, and the readiness says: ${said}`) : holds
  state.isCompared = true
  return holds
}

/** The readiness report on the books: that they agree, or by how much they differ, at which offset. */
const comparison = /^(?:agrees|differs by (-?\d+) atoms) at ledger offset (\d+)(?:, of which (-\d+) are accepted)?$/

/** Notes the report on the books in the venue's readiness. */
const ready = (state: State, { answer: { json, text } }: Answered): Verdict => {
  const { details } = json as Json
  const said = isObject(details) ? details["reconciliation"] : undefined
  if (said === undefined || said === "not compared yet") return holds
  const [whole, difference = "0", offset, accepted] = comparison.exec(String(said)) ?? []
  // Of a surplus nothing is accepted: it lacks nothing.
  const isOfSurplus = accepted !== undefined && BigInt(difference) >= 0n
  if (whole === undefined || isOfSurplus) return broken(`the readiness says of the books: ${String(said)}`)
  state.told.push({ what: `the readiness, told as ${text}`, offset: Number(offset), held: undefined, unattributed: BigInt(difference) })
  return holds
}

/** Requests whose answers are compared with what was known when they were sent. */
const askedAbout: ReadonlySet<string> = new Set(["reconcile", "fundLedgerParty", "getSolvency"])

const answered = (state: State, seen: Answered): Verdict => {
  const { answer, attempt, call } = seen
  if (call.endpoint === "getReadiness" && isObject(answer.json)) return ready(state, seen)
  if (call.endpoint === "allowWithdrawals" && answer.text.includes("\"shortfall_not_accepted\""))
    state.lacking ??= `${call.target}, answered ${answer.text}`
  const before = state.asked.get(`${call.id}/${attempt}`)
  state.asked.delete(`${call.id}/${attempt}`)
  if (call.endpoint === "getSolvency" && answer.status === 200 && isObject(answer.json)) return published(state, seen, before)
  if (before === undefined || answer.status === 503 || isLimited(answer)) return holds
  const gift = giftIn(call)
  if (gift !== undefined) return given(state, seen, gift, before)
  return call.endpoint === "reconcile" && answer.status === 200 ? compared(state, seen, before) : holds
}

export const reconciliations: Property<State> = {
  name: "operators-are-told-what-the-ledger-holds",
  invariant: "I10",
  kind: "safety",
  initial: () => ({
    model: undefined,
    stops: 0,
    isStopped: false,
    incarnation: 0,
    isCompared: false,
    asked: new Map(),
    told: [],
    lacking: undefined,
    handled: new Map(),
    given: new Map(),
    wanted: new Map(),
    parties: new Map()
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.incarnation = seen.incarnation
        state.isCompared = false
        return holds
      case "Committed": {
        state.model = seen.model
        const { command } = seen.record
        if (command.kind === "BindParty" && seen.decision.outcomes[0]?.refusal === Refusal.none) {
          state.parties.set(command.partyId, idOf(seen.model.accounts[command.ofAccount]!.born))
        }
        if (command.kind === "StopWithdrawals" || command.kind === "AllowWithdrawals" || command.kind === "NoteCompletion") state.stops++
        const { accepted } = seen.model.funds
        const wasStopped = state.isStopped
        state.isStopped = seen.model.funds.isStopped
        // One that comes while they are stopped tells an operator who lets them go on what is lacking.
        const isFirst = command.kind === "StopWithdrawals" && command.reason === "reconciliation" && !wasStopped
        return isFirst && command.differenceAtoms >= accepted
          ? broken(`withdrawals are stopped by a difference of ${command.differenceAtoms} atoms, and ${accepted} are accepted`)
          : holds
      }
      case "Asked":
        if (askedAbout.has(seen.call.endpoint))
          state.asked.set(`${seen.call.id}/${seen.attempt}`, beforeOf(state, giftIn(seen.call)?.accountId))
        return holds
      case "Unanswered":
        state.asked.delete(`${seen.call.id}/${seen.attempt}`)
        return holds
      case "Handling":
        wanted(state, giftIn(seen.call))
        return holds
      case "Handled":
        return handled(state, seen)
      case "Answered":
        return answered(state, seen)
      case "Reconciled":
        return againstBook(state, seen.book)
      default:
        return holds
    }
  }
}
