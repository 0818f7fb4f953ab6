/**
 * Safety (I1, as anybody may check it). What is published of the venue's solvency are its sums at the record that is named, by the
 * reference model: what accounts have and lack at the marks, what is held, collected and owed, and what was brought in. They add up to
 * the atom, the balances under the root come to what accounts have, and the treasury is held to the same journal.
 */
import { marginOf } from "../model/NaiveMoney.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { firstDifference, type Pair } from "./Difference.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** The venue's sums at a record. */
interface Sums {
  readonly atEpochMs: number
  readonly leafCount: number
  readonly atoms: Readonly<Record<string, bigint>>
}

interface State {
  model: NaiveVenue | undefined
  /** Whether anybody has asked for it: nothing is reckoned before. */
  isAsked: boolean
  /** By sequence. */
  readonly sums: Map<number, Sums>
}

const sumsOf = (model: NaiveVenue): Sums => {
  const { accounts, atEpochMs, deposited, feesCollected, fund, fundingRest, funds, markets } = model
  let [balances, shortfall, collateral, imbalance, fundAtoms] = [0n, 0n, 0n, 0n, 0n]
  for (const account of accounts) {
    const { equity } = marginOf(markets, account, undefined)
    if (equity > 0n) balances += equity
    else shortfall -= equity
    collateral += account.collateral
    if (account === fund) fundAtoms = equity
    for (const { entryNotional, quantity } of account.positions.values()) imbalance += quantity > 0 ? -entryNotional : entryNotional
  }
  return {
    atEpochMs,
    leafCount: accounts.length,
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
  const asked = new URLSearchParams(call.target.split("?")[1] ?? "").get("sequence")
  return asked === null || asked === String(sequence) ? holds : broken(`${what} is another than was asked for: ${text}`)
}

const answered = (state: State, seen: Answered): Verdict => {
  const { answer: { json, status, text }, call } = seen
  if (status === 200) return published(state, seen)
  const { code } = isObject(json) ? json : {}
  if (status !== 404 || code === "route_not_found") return holds
  return call.target.includes("sequence=") ? holds : broken(`${call.target} names no record, and is answered ${status}: ${text}`)
}

export const solvency: Property<State> = {
  name: "solvency-is-what-the-venue-owes",
  invariant: "I1",
  kind: "safety",
  initial: () => ({ model: undefined, isAsked: false, sums: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Committed":
        state.model = seen.model
        if (state.isAsked) state.sums.set(seen.record.sequence, sumsOf(seen.model))
        return holds
      case "Asked":
        if (seen.call.endpoint !== "getSolvency") return holds
        if (!state.isAsked && state.model !== undefined) state.sums.set(state.model.sequence, sumsOf(state.model))
        state.isAsked = true
        return holds
      case "Answered":
        return seen.call.endpoint === "getSolvency" ? answered(state, seen) : holds
      default:
        return holds
    }
  }
}
