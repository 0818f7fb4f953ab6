/**
 * Safety (I1, as anybody may check it). The published solvency report has the venue's sums at the named record, by the reference model:
 * what accounts have and lack at the marks, what is held, collected and owed, and what was paid in. They add up to the atom, the balances
 * under the root sum up to the accounts' equity and to what is held of each, and the treasury is compared with the same journal. A report that was told as the latest
 * is there for whoever names its record, until there may have been two newer ones; the next one is made a minute later, and none of more than ten
 * minutes ago is told as the latest. Each tree salts an account's leaf
 * differently: a leaf that was once shown cannot be recognized in another tree.
 */
import { verifyProof, verifyPublished } from "../../src/client/solvency/Solvency.js"
import { accountId as idOf } from "../../src/domain/Ids.js"
import { marginOf } from "../model/NaiveMoney.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as ClockSeen from "./ClockSeen.js"
import { difference, firstDifference, type Pair } from "./Difference.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** The venue's sums at a record. */
interface Sums {
  readonly atEpochMs: number
  readonly leafCount: number
  /** Each account's equity, by its index. */
  readonly equities: ReadonlyArray<bigint>
  /** What withdrawals hold, by the index of their account. */
  readonly held: ReadonlyMap<number, bigint>
  readonly atoms: Readonly<Record<string, bigint>>
}

/**
 * The computation of a report since it was requested of the present process: the records since then, and whether something hindered
 * it.
 */
interface Making {
  /** When it was requested, by the process's clock. */
  readonly sinceEpochMs: number
  records: number
  /** When a reader was first told that there is none, by true time. */
  lackingSinceMs: number | undefined
  isHindered: boolean
}

/** The latest report served, and when it expires: the next request then starts another one. */
interface Latest {
  readonly sequence: number
  /** Until when at most one newer report can have been made, by the process's clock, unless that was set back; 0 where it is unknown. */
  readonly keptUntilEpochMs: number
  /** How often the clock had been set back by then. */
  readonly setBacks: number
  /** When the process had certainly not made it yet; undefined where that is not known. */
  readonly madeAfter: Taken | undefined
  /** By the process's clock; undefined until known. */
  overAtEpochMs: number | undefined
  /** Since the first request after it expired. */
  renewing: Making | undefined
}

/** The process that was running when a request was sent, and the latest report that it had told of, where the request names that. */
interface Sent {
  readonly incarnation: number
  readonly setBacks: number
  readonly named: Latest | undefined
}

/** When a process took a request up, by its clock, and how often that had been set back. */
interface Taken {
  readonly atEpochMs: number
  readonly setBacks: number
}

interface State {
  model: NaiveVenue | undefined
  /** Undefined until a report is requested of the process. */
  making: Making | undefined
  latest: Latest | undefined
  /** The process's clock. */
  clock: ClockSeen.ClockSeen
  incarnation: number
  /** Attempts to read a report, by call and attempt: what was known when they were sent. */
  readonly sent: Map<string, Sent>
  /** When the present process first took up each request for the latest report that is not answered. */
  readonly taken: Map<number, Taken>
  /** When it last took one up for which it had no newer report than the latest. */
  lacking: Taken | undefined
  /** For calls taken up when a newer report should long have been made: the sequence of the old one. */
  readonly renewed: Map<number, number>
  /** Whether there is a ledger, whose answer may take any time. */
  hasLedger: boolean
  /** Calls that were taken up when a first report should long have been made. */
  readonly late: Set<number>
  /** Whether a report was ever requested: before that nothing is computed. */
  isAsked: boolean
  /** By sequence. */
  readonly sums: Map<number, Sums>
  /** Reports by sequence: the same for every reader. */
  readonly told: Map<number, Json>
  /** The account and the tree of each salt shown. */
  readonly salts: Map<string, string>
}

const sumsOf = (model: NaiveVenue): Sums => {
  const { accounts, atEpochMs, deposited, feesCollected, fund, fundingRest, funds, markets } = model
  let [balances, shortfall, collateral, imbalance, fundAtoms] = [0n, 0n, 0n, 0n, 0n]
  const equities: Array<bigint> = []
  for (const account of accounts) {
    const { equity } = marginOf(markets, account, undefined)
    equities.push(equity)
    if (equity > 0n) balances += equity
    else shortfall -= equity
    collateral += account.collateral
    if (account === fund) fundAtoms = equity
    for (const { entryNotional, quantity } of account.positions.values()) imbalance += quantity > 0 ? -entryNotional : entryNotional
  }
  return {
    atEpochMs,
    leafCount: accounts.length,
    equities,
    held: funds.held,
    atoms: {
      balancesAtoms: balances,
      shortfallAtoms: shortfall,
      collateralAtoms: collateral,
      entryImbalanceAtoms: imbalance,
      insuranceFundAtoms: fundAtoms,
      reservedAtoms: funds.reserved,
      feesAtoms: feesCollected,
      fundingPoolAtoms: fundingRest,
      creditedAtoms: deposited,
      confirmedDepositsAtoms: funds.deposited,
      confirmedWithdrawalsAtoms: funds.withdrawn
    }
  }
}

type Answered = Observation & { readonly _tag: "Answered" }

/** Whether a request names a record, and is answered with another. */
const isOfAnother = ({ target }: Call, sequence: number): boolean => {
  const asked = new URLSearchParams(target.split("?")[1] ?? "").get("sequence")
  return asked !== null && asked !== String(sequence)
}

const atomsIn = (json: Json, name: string): bigint => BigInt(String(json[name]))

/** Checks sums that hold for every record. */
const inItself = (what: string, json: Json): Verdict => {
  const of = (name: string): bigint => atomsIn(json, name)
  const had = of("collateralAtoms") + of("entryImbalanceAtoms")
  const pairs: Array<Pair> = [
    ["what there is", had + of("reservedAtoms") + of("feesAtoms") + of("fundingPoolAtoms"),
      of("creditedAtoms") + of("confirmedDepositsAtoms") - of("confirmedWithdrawalsAtoms")],
    ["what accounts have", of("balancesAtoms") - of("shortfallAtoms"), had]
  ]
  const { treasury } = json
  if (isObject(treasury)) {
    const owed = of("confirmedDepositsAtoms") + atomsIn(treasury, "uncreditedDepositsAtoms") - of("confirmedWithdrawalsAtoms")
    pairs.push(["what nothing accounts for", atomsIn(treasury, "unattributedAtoms"), atomsIn(treasury, "heldAtoms") - owed])
  }
  return firstDifference(what, pairs, ["answer", "sums"])
}

/**
 * Checks that who verifies a report finds what these sums are: whether it adds up, whether the treasury lacks anything, and whether it
 * covers what is owed. What somebody sent it besides is no fault.
 */
const judged = (what: string, json: Json): Verdict => {
  const { treasury } = json
  let expected = [true, true, false]
  if (isObject(treasury)) {
    const [held, uncredited] = [atomsIn(treasury, "heldAtoms"), atomsIn(treasury, "uncreditedDepositsAtoms")]
    const owed = ["balancesAtoms", "reservedAtoms", "fundingPoolAtoms"].reduce((sum, name) => sum + atomsIn(json, name), uncredited)
    expected = [true, true, true, atomsIn(treasury, "unattributedAtoms") >= 0n, held + atomsIn(json, "creditedAtoms") >= owed]
  }
  const found = verifyPublished(json, { acceptsCredits: true, ofAnyAge: true }).findings.map((finding) => finding.holds)
  return firstDifference(what, [["what a verifier finds", found.join(", "), expected.join(", ")]], ["verifier", "sums"])
}

const published = (state: State, { answer: { json, text }, call }: Answered): Verdict => {
  const told = json as Json
  const sequence = Number(told["journalSequence"])
  const what = `${call.target} at record ${sequence}`
  const verdict = inItself(what, told) ?? judged(what, told)
  if (verdict !== undefined) return verdict
  const sums = state.sums.get(sequence)
  if (sums !== undefined) {
    const pairs: ReadonlyArray<Pair> = [
      ["the time", told["atEpochMs"], sums.atEpochMs],
      ["the number of leaves", told["leafCount"], sums.leafCount],
      ...Object.entries(sums.atoms).map(([name, atoms]): Pair => [name, told[name], String(atoms)])
    ]
    const other = firstDifference(what, pairs, ["answer", "model"])
    if (other !== undefined) return other
  }
  return isOfAnother(call, sequence) ? broken(`${what} is another than was asked for: ${text}`) : holds
}

/** Checks a proof: the balance and what is held are the account's at that record, and lead to the published root. */
const proven = ({ model, salts, sums, told }: State, { answer: { json }, call }: Answered): Verdict => {
  const proof = json as Json
  const sequence = Number(proof["journalSequence"])
  const what = `${call.target} at record ${sequence}`
  const accountId = String(proof["accountId"])
  if (!call.target.includes(`/${accountId}/`)) return broken(`${what} is of ${accountId}`)
  const account = model?.accounts.findIndex(({ born }) => idOf(born) === accountId) ?? -1
  if (isOfAnother(call, sequence)) return broken(`${what} is of another than was asked for`)
  const equity = sums.get(sequence)?.equities[account]
  const balance = equity === undefined || equity > 0n ? equity : 0n
  if (balance !== undefined && String(balance) !== proof["balanceAtoms"]) {
    return broken(`${what} counts ${String(proof["balanceAtoms"])}, and the account has ${balance}`)
  }
  const ofAccount = sums.get(sequence)?.held.get(account) ?? 0n
  if (sums.has(sequence) && String(ofAccount) !== proof["heldAtoms"]) {
    return broken(`${what} has ${String(proof["heldAtoms"])} held, and withdrawals hold ${ofAccount}`)
  }
  const [salt, leaf] = [String(proof["salt"]), `the leaf of ${accountId} at record ${sequence}`]
  const hidden = salts.get(salt) ?? leaf
  salts.set(salt, hidden)
  if (hidden !== leaf) return broken(`${what} is hidden by the salt of ${hidden}`)
  const root = told.get(sequence)
  if (root === undefined) return holds
  const { findings } = verifyProof(proof, root)
  const failing = findings.find((finding) => !finding.holds)
  return failing === undefined ? holds : broken(`${what}: ${failing.text}`)
}

/** Checks that a record's report does not change, except for when the ledger was asked. */
const toldAlike = ({ told }: State, json: Json, target: string): Verdict => {
  const sequence = Number(json["journalSequence"])
  const before = told.get(sequence)
  told.set(sequence, json)
  const apart = { treasury: undefined }
  return before === undefined ? holds : difference(`${target} at record ${sequence}`, { ...json, ...apart }, { ...before, ...apart })
}

/** Whether a report that a request names was certainly still kept by the process that says it is not. */
const wasSurelyKept = (state: State, { call, clock }: Answered, sent: Sent | undefined): boolean => {
  if (sent?.named === undefined || clock === undefined) return false
  // After a clock was set back, the venue does not wait until it is where it was before it makes the next report.
  if (sent.incarnation !== state.incarnation || sent.named.setBacks !== state.clock.setBacks) return false
  if (Math.max(clock[1], state.clock.lastEpochMs) >= sent.named.keptUntilEpochMs) return false
  // An account that was opened after it is not in its tree.
  return call.endpoint === "getSolvency" || state.sums.get(sent.named.sequence)?.equities[call.account] !== undefined
}

const answered = (state: State, seen: Answered): Verdict => {
  const { answer: { json, status, text }, attempt, call } = seen
  const sent = state.sent.get(`${call.id}/${attempt}`)
  state.sent.delete(`${call.id}/${attempt}`)
  if (status === 200 && call.endpoint === "getSolvencyProof") return proven(state, seen)
  const isLate = state.late.delete(call.id)
  const taken = sent?.incarnation === state.incarnation ? state.taken.get(call.id) : undefined
  state.taken.delete(call.id)
  if (status === 503 && text.includes("snapshot_unavailable") && state.making !== undefined) {
    if (state.latest === undefined) noteLacking(state, taken)
    const sinceMs = state.making.lackingSinceMs ??= seen.atEpochMs
    if (isLate && isOfLate(state.making, seen) && seen.atEpochMs - sinceMs >= madeAfterMs)
      return broken(`${call.target} is asked for again, and there is none`)
  }
  if (status === 200) {
    const renewed = call.target.includes("?")
      ? holds
      : oldVerdict(state, seen, taken) ?? soonVerdict(state, seen, taken) ?? renewedVerdict(state, seen, sent)
    return renewed ?? published(state, seen) ?? toldAlike(state, json as Json, call.target)
  }
  const { code } = isObject(json) ? json : {}
  if (status !== 404 || code === "route_not_found") return holds
  // A request for another's account is refused whether or not there is a report.
  if (code === "account_not_found" && !call.target.includes(`/${call.accountId}/`)) return holds
  if (!call.target.includes("sequence=")) return broken(`${call.target} names no record, and is answered ${status}: ${text}`)
  return code === "not_found" && wasSurelyKept(state, seen, sent)
    ? broken(`${call.target} names the latest report that was told, and is answered ${status}: ${text}`)
    : holds
}

/** Records after the first request, and true time since its answer, within which the report is made. */
const madeAfterRecords = 40
const madeAfterMs = 3_000

/** The age, ms, from which a report is no more told as the latest, and by how much the records' times may differ from the copy's. */
const latestForMs = 600_000
const apartMs = 5_000
/** For how long after a request, ms, a report that it had made is certainly told as the latest. */
const certainMs = latestForMs / 2

const making = (state: State, sinceEpochMs: number): Making => ({
  sinceEpochMs,
  records: 0,
  lackingSinceMs: undefined,
  isHindered: state.model?.isSettling === true
})

/** Whether a report that a request had made could not be too old for an answer. */
const isOfLate = ({ sinceEpochMs }: Making, { clock }: Answered): boolean => clock !== undefined && clock[1] - sinceEpochMs <= certainMs

/** Notes a request for the latest report: there has to be one, if it was requested not long before. */
const asked = (state: State, { id }: Call, atEpochMs: number): void => {
  const { making: before } = state
  if (before === undefined || Math.abs(atEpochMs - before.sinceEpochMs) > certainMs) state.making = making(state, atEpochMs)
  else if (before.records >= madeAfterRecords && !before.isHindered && !state.hasLedger) state.late.add(id)
}

const committed = (state: State, { model, record }: Observation & { readonly _tag: "Committed" }): void => {
  state.model = model
  for (const each of [state.making, state.latest?.renewing]) {
    if (each === undefined) continue
    each.records++
    // While funding is being settled, there is no sum of the accounts' balances.
    each.isHindered ||= model.isSettling
  }
  if (state.isAsked) state.sums.set(record.sequence, sumsOf(model))
}

/** Longest age, ms, of a report served to anyone but the first to request a new one, including a failed first attempt. */
const overAfterMs = 65_000

/** The shortest time between two reports, ms. */
const everyMs = 60_000

/** Notes the clock. One that was set back leaves the latest report as over as soon as if that had been made just then. */
const noteClock = (state: State, seen: Observation & { readonly _tag: "Handled" }): void => {
  const { latest } = state
  const { setBacks } = state.clock
  state.clock = ClockSeen.handled(state.clock, seen)
  if (latest?.overAtEpochMs === undefined || state.clock.setBacks === setBacks) return
  latest.overAtEpochMs = Math.min(latest.overAtEpochMs, seen.atEpochMs + overAfterMs)
}

/** The latest report, where a request names it. */
const namedIn = ({ latest }: State, { target }: Call): Latest | undefined =>
  latest !== undefined && new URLSearchParams(target.split("?")[1] ?? "").get("sequence") === String(latest.sequence) ? latest : undefined

/** Notes a request for the latest report: whether it starts another one, or another should have been made. */
const askedAgain = (state: State, { id }: Call, atEpochMs: number): void => {
  const { latest } = state
  if (latest?.overAtEpochMs === undefined || atEpochMs < latest.overAtEpochMs) return
  const { renewing } = latest
  if (renewing === undefined) latest.renewing = making(state, atEpochMs)
  else if (renewing.records >= madeAfterRecords && !renewing.isHindered && !state.hasLedger) state.renewed.set(id, latest.sequence)
}

/** Notes that a process had nothing newer when it took a request up. */
const noteLacking = (state: State, taken: Taken | undefined): void => {
  if (taken !== undefined && taken.atEpochMs >= (state.lacking?.atEpochMs ?? 0)) state.lacking = taken
}

/** Checks that a report told as the latest is not of long ago: it was made before the record behind its own was decided. */
const oldVerdict = ({ sums }: State, { answer: { json }, call }: Answered, taken: Taken | undefined): Verdict => {
  const sequence = Number((json as Json)["journalSequence"])
  const next = sums.get(sequence + 1)
  if (taken === undefined || next === undefined || taken.atEpochMs - next.atEpochMs <= latestForMs + apartMs) return holds
  return broken(`${call.target} was asked for at ${taken.atEpochMs}, and is told as of record ${sequence}, before ${next.atEpochMs}`)
}

/** Checks that a report is told that much later than a time at which there was none of the record of the one before. */
const soonVerdict = (state: State, { answer: { json }, call, clock }: Answered, taken: Taken | undefined): Verdict => {
  const sequence = Number((json as Json)["journalSequence"])
  const { clock: { setBacks }, latest } = state
  if (latest === undefined) return holds
  if (sequence === latest.sequence) noteLacking(state, taken)
  const { madeAfter } = latest
  if (sequence <= latest.sequence || taken?.setBacks !== setBacks || clock === undefined || madeAfter?.setBacks !== setBacks) return holds
  return clock[1] - madeAfter.atEpochMs < everyMs
    ? broken(
      `${call.target} is of record ${sequence} until ${clock[1]}, and at ${madeAfter.atEpochMs} there was none of ${latest.sequence}`
    )
    : holds
}

/** Checks that the latest report is newer than before, where there was time to make one. */
const renewedVerdict = (state: State, { answer: { json }, atEpochMs, call, clock }: Answered, sent: Sent | undefined): Verdict => {
  const sequence = Number((json as Json)["journalSequence"])
  const before = state.renewed.get(call.id)
  const { latest } = state
  if (latest === undefined || sequence > latest.sequence) {
    const { setBacks } = state.clock
    const isPresent = clock !== undefined && sent?.incarnation === state.incarnation && sent.setBacks === setBacks
    const keptUntilEpochMs = isPresent ? clock[0] + everyMs : 0
    const madeAfter = isPresent ? state.lacking : undefined
    state.latest = { sequence, keptUntilEpochMs, setBacks, madeAfter, overAtEpochMs: undefined, renewing: undefined }
    return holds
  }
  if (latest.renewing === undefined) return holds
  const sinceMs = latest.renewing.lackingSinceMs ??= atEpochMs
  return before === sequence && atEpochMs - sinceMs >= madeAfterMs
    ? broken(`${call.target} is asked for again long after that of record ${sequence} was over, and there is no other`)
    : holds
}

const endpoints: ReadonlySet<string> = new Set(["getSolvency", "getSolvencyProof"])

export const solvency: Property<State> = {
  name: "solvency-is-what-the-venue-owes",
  invariant: "I1",
  kind: "safety",
  initial: () => ({
    model: undefined,
    making: undefined,
    latest: undefined,
    clock: ClockSeen.unseen,
    incarnation: 0,
    sent: new Map(),
    taken: new Map(),
    lacking: undefined,
    renewed: new Map(),
    hasLedger: false,
    late: new Set(),
    isAsked: false,
    sums: new Map(),
    told: new Map(),
    salts: new Map()
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.making = undefined
        state.latest = undefined
        state.clock = ClockSeen.unseen
        state.incarnation = seen.incarnation
        state.taken.clear()
        state.lacking = undefined
        state.renewed.clear()
        state.hasLedger = seen.set.ledger
        state.late.clear()
        return holds
      case "Committed":
        committed(state, seen)
        return holds
      case "Handling":
        if (!endpoints.has(seen.call.endpoint) || seen.call.target.includes("?")) return holds
        asked(state, seen.call, seen.atEpochMs)
        if (seen.call.endpoint !== "getSolvency") return holds
        askedAgain(state, seen.call, seen.atEpochMs)
        if (!state.taken.has(seen.call.id)) {
          state.taken.set(seen.call.id, { atEpochMs: seen.atEpochMs, setBacks: state.clock.setBacks })
        }
        return holds
      case "Handled":
        noteClock(state, seen)
        // It was made before it was served: no later than the latest reported reading of the clock.
        if (state.latest !== undefined) state.latest.overAtEpochMs ??= state.clock.highestEpochMs + overAfterMs
        return holds
      case "Asked":
        if (!endpoints.has(seen.call.endpoint)) return holds
        if (!state.isAsked && state.model !== undefined) state.sums.set(state.model.sequence, sumsOf(state.model))
        state.isAsked = true
        state.sent.set(`${seen.call.id}/${seen.attempt}`, {
          incarnation: state.incarnation,
          setBacks: state.clock.setBacks,
          named: namedIn(state, seen.call)
        })
        return holds
      case "Answered":
        return endpoints.has(seen.call.endpoint) ? answered(state, seen) : holds
      default:
        return holds
    }
  }
}
