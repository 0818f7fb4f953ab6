/**
 * Safety (I1, as anybody may check it). What is published of the venue's solvency are its sums at the record that is named, by the
 * reference model: what accounts have and lack at the marks, what is held, collected and owed, and what was brought in. They add up to
 * the atom, the balances under the root come to what accounts have, and the treasury is held to the same journal. Each tree hides an
 * account's leaf in its own way: by what somebody was once shown, nobody finds it in another one.
 */
import { verifyProof } from "../../src/client/solvency/Solvency.js"
import { marginOf } from "../model/NaiveMoney.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { difference, firstDifference, type Pair } from "./Difference.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** The venue's sums at a record. */
interface Sums {
  readonly atEpochMs: number
  readonly leafCount: number
  /** What each account has, by its index. */
  readonly equities: ReadonlyArray<bigint>
  readonly atoms: Readonly<Record<string, bigint>>
}

/** Since the process that runs was first asked: what stands in the way of making one has not been there. */
interface Making {
  records: number
  /** When somebody was first told that there is none, by true time. */
  lackingSinceMs: number | undefined
  isHindered: boolean
}

/** The latest that was told of, and when it is over: whoever asks then has another one made. */
interface Latest {
  readonly sequence: number
  /** By the process's clock; undefined until that is known. */
  overAtEpochMs: number | undefined
  /** Since somebody asked who found it over. */
  renewing: Making | undefined
}

interface State {
  model: NaiveVenue | undefined
  /** Undefined until the process is asked. */
  making: Making | undefined
  latest: Latest | undefined
  /** The latest that the process's clock has told anybody. */
  highestEpochMs: number
  /** What calls must be told of behind: another one should long have been made when they were taken up. */
  readonly renewed: Map<number, number>
  /** Whether there is a ledger: then nobody can say how long it takes to answer. */
  hasLedger: boolean
  /** Calls that were taken up when one should long have been made. */
  readonly late: Set<number>
  /** Whether anybody has asked for it: nothing is reckoned before. */
  isAsked: boolean
  /** By sequence. */
  readonly sums: Map<number, Sums>
  /** What was published, by sequence: the same whoever asks for it. */
  readonly told: Map<number, Json>
  /** Whose leaf, and in which tree, each salt hides that was shown. */
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

/** Whether a request names a record, and is answered of another. */
const isOfAnother = ({ target }: Call, sequence: number): boolean => {
  const asked = new URLSearchParams(target.split("?")[1] ?? "").get("sequence")
  return asked !== null && asked !== String(sequence)
}

const atomsIn = (json: Json, name: string): bigint => BigInt(String(json[name]))

/** What adds up whatever the record. */
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

const published = (state: State, { answer: { json, text }, call }: Answered): Verdict => {
  const told = json as Json
  const sequence = Number(told["journalSequence"])
  const what = `${call.target} at record ${sequence}`
  const verdict = inItself(what, told)
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

/** A balance that is shown to be counted is the account's at that record, and leads to the root that everybody is told. */
const proven = ({ salts, sums, told }: State, { answer: { json }, call }: Answered): Verdict => {
  const proof = json as Json
  const sequence = Number(proof["journalSequence"])
  const what = `${call.target} at record ${sequence}`
  if (proof["accountId"] !== call.accountId) return broken(`${what} is of ${String(proof["accountId"])}`)
  if (isOfAnother(call, sequence)) return broken(`${what} is of another than was asked for`)
  const equity = sums.get(sequence)?.equities[call.account]
  const balance = equity === undefined || equity > 0n ? equity : 0n
  if (balance !== undefined && String(balance) !== proof["balanceAtoms"]) {
    return broken(`${what} counts ${String(proof["balanceAtoms"])}, and the account has ${balance}`)
  }
  const [salt, leaf] = [String(proof["salt"]), `the leaf of ${call.accountId} at record ${sequence}`]
  const hidden = salts.get(salt) ?? leaf
  salts.set(salt, hidden)
  if (hidden !== leaf) return broken(`${what} is hidden by the salt of ${hidden}`)
  const root = told.get(sequence)
  if (root === undefined) return holds
  const { findings } = verifyProof(proof, root)
  const failing = findings.find((finding) => !finding.holds)
  return failing === undefined ? holds : broken(`${what}: ${failing.text}`)
}

/** What is published of a record does not change, but for when the ledger was asked. */
const toldAlike = ({ told }: State, json: Json, target: string): Verdict => {
  const sequence = Number(json["journalSequence"])
  const before = told.get(sequence)
  told.set(sequence, json)
  const apart = { treasury: undefined }
  return before === undefined ? holds : difference(`${target} at record ${sequence}`, { ...json, ...apart }, { ...before, ...apart })
}

const answered = (state: State, seen: Answered): Verdict => {
  const { answer: { json, status, text }, call } = seen
  if (status === 200 && call.endpoint === "getSolvencyProof") return proven(state, seen)
  const isLate = state.late.delete(call.id)
  if (status === 503 && text.includes("snapshot_unavailable") && state.making !== undefined) {
    const sinceMs = state.making.lackingSinceMs ??= seen.atEpochMs
    if (isLate && seen.atEpochMs - sinceMs >= madeAfterMs) return broken(`${call.target} is asked for again, and there is none`)
  }
  if (status === 200) {
    const renewed = call.target.includes("?") ? holds : renewedVerdict(state, seen)
    return renewed ?? published(state, seen) ?? toldAlike(state, json as Json, call.target)
  }
  const { code } = isObject(json) ? json : {}
  if (status !== 404 || code === "route_not_found") return holds
  // Whoever asks for another's account is not told of it, whether there is a record or not.
  if (code === "account_not_found" && !call.target.includes(`/${call.accountId}/`)) return holds
  return call.target.includes("sequence=") ? holds : broken(`${call.target} names no record, and is answered ${status}: ${text}`)
}

/** Records behind the first question for it, and true time since its answer, after which it has been made. */
const madeAfterRecords = 40
const madeAfterMs = 3_000

const asked = (state: State, { id }: Call): void => {
  const { making } = state
  if (making === undefined) state.making = { records: 0, lackingSinceMs: undefined, isHindered: state.model?.isSettling === true }
  else if (making.records >= madeAfterRecords && !making.isHindered && !state.hasLedger) state.late.add(id)
}

const committed = (state: State, { model, record }: Observation & { readonly _tag: "Committed" }): void => {
  state.model = model
  for (const making of [state.making, state.latest?.renewing]) {
    if (making === undefined) continue
    making.records++
    // While funding is on its way to accounts there is no sum of what they have.
    making.isHindered ||= model.isSettling
  }
  if (state.isAsked) state.sums.set(record.sequence, sumsOf(model))
}

/** How old one is at most that is told to whoever is not the first to ask, and how long it takes where it failed at first. */
const overAfterMs = 65_000

/** Somebody asks for the latest: whether another one is to be made for it, or should have been. */
const askedAgain = (state: State, { id }: Call, atEpochMs: number): void => {
  const { latest } = state
  if (latest?.overAtEpochMs === undefined || atEpochMs < latest.overAtEpochMs) return
  const { renewing } = latest
  if (renewing === undefined) latest.renewing = { records: 0, lackingSinceMs: undefined, isHindered: state.model!.isSettling }
  else if (renewing.records >= madeAfterRecords && !renewing.isHindered && !state.hasLedger) state.renewed.set(id, latest.sequence)
}

/** The latest is told of: it is another one than before, where there was time to make one. */
const renewedVerdict = (state: State, { answer: { json }, atEpochMs, call }: Answered): Verdict => {
  const sequence = Number((json as Json)["journalSequence"])
  const before = state.renewed.get(call.id)
  const { latest } = state
  if (latest === undefined || sequence > latest.sequence) {
    state.latest = { sequence, overAtEpochMs: undefined, renewing: undefined }
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
    highestEpochMs: 0,
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
        state.highestEpochMs = 0
        state.renewed.clear()
        state.hasLedger = seen.set.ledger
        state.late.clear()
        return holds
      case "Committed":
        committed(state, seen)
        return holds
      case "Handling":
        if (!endpoints.has(seen.call.endpoint) || seen.call.target.includes("?")) return holds
        asked(state, seen.call)
        if (seen.call.endpoint === "getSolvency") askedAgain(state, seen.call, seen.atEpochMs)
        return holds
      case "Handled":
        state.highestEpochMs = Math.max(state.highestEpochMs, seen.highestEpochMs, seen.atEpochMs)
        // It was made before it was told: no later than what the clock has told until then.
        if (state.latest !== undefined) state.latest.overAtEpochMs ??= state.highestEpochMs + overAfterMs
        return holds
      case "Asked":
        if (!endpoints.has(seen.call.endpoint)) return holds
        if (!state.isAsked && state.model !== undefined) state.sums.set(state.model.sequence, sumsOf(state.model))
        state.isAsked = true
        return holds
      case "Answered":
        return endpoints.has(seen.call.endpoint) ? answered(state, seen) : holds
      default:
        return holds
    }
  }
}
