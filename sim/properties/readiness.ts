/**
 * Safety (contract). The readiness report gives each market's trading session and the state of its index: how long ago its source observed
 * it, by the process's clock and not by the last record, which may be long ago where a feed is silent; whether it is fresh by that; and
 * whether a step of it waits for confirmation, also one that an earlier process held back. It says whether the engine is halted. Of money
 * on the ledger it gives whether withdrawals are open or why they are stopped, what an operator accepted as lacking, what the ledger said
 * that cannot be, up to which offset the journal has it, and how many transfers are not over. A follower that has ended is not told as one
 * that runs. Checked where everything decided is durable:
 * there the model stands where the engine does. `/metrics` says the same of the indexes, and how far the clock lies behind the records.
 * While a block has not come through for a second, or while the clock lies far behind, the venue does not call itself ready. The last
 * durable record that it tells is at least the last that any answer rested on, and is durable. How it started is told as it was: from a
 * snapshot that was taken, with every record between that and its own first one.
 */
import { isNeeded } from "../model/NaiveFunds.js"
import { sessionOf } from "../model/NaiveRisk.js"
import { isDelisted, type NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { mostBehindMs, standing } from "../model/Shown.js"
import * as Exposition from "../reading/Exposition.js"
import { isListed } from "../reading/MarketRules.js"
import { difference, firstDifference } from "./Difference.js"
import { isLimited, type Observation, recordNamed } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  model: NaiveVenue | undefined
  /** Whether the process has journaled its start: from then on its state is the journal's. */
  hasBegun: boolean
  /** The last record that its engine has decided. */
  decided: number
  /** Whether its last follower, if it has started one, has ended by itself. */
  hasFollowerEnded: boolean
  /** The record of its start. */
  since: number
  /** The highest record that any answer has named. */
  answered: number
  /** The records of all snapshots that were ever begun. */
  readonly snapshots: Set<number>
}

/** The reported state of an index. */
interface Told {
  readonly marketId: string
  readonly status: string
  /** Absent in a market that is always open. */
  readonly session?: unknown
  readonly indexAgeMs?: number
  readonly indexStale: boolean
  readonly indexHeld: boolean
}

const ageOf = ({ risk }: NaiveMarket, atEpochMs: number): number | undefined =>
  risk.source === 0 ? undefined : Math.max(0, atEpochMs - risk.source)

/** By the later of the clock and the records; with a clock far behind them the index's age is unknown. */
const isStale = (market: NaiveMarket, atEpochMs: number, recordsEpochMs: number): boolean =>
  sessionOf(market) !== "closed" && (market.risk.index === 0
    || recordsEpochMs - atEpochMs > mostBehindMs
    || Math.max(atEpochMs, recordsEpochMs) >= market.risk.source + market.parameters.indexStaleMs)

/** Whether a step of the index waits for later samples to agree. */
const isHeld = ({ risk }: NaiveMarket): boolean => risk.held !== undefined

/** The oldest index of the markets that trade and have one; -1 where none has. */
const oldestOf = ({ markets }: NaiveVenue, atEpochMs: number): number =>
  Math.max(-1, ...markets.filter((each) => each.status === "open" && sessionOf(each) !== "closed")
    .map((each) => ageOf(each, atEpochMs) ?? -1))

/** What the report says of money on the ledger; nothing while the process starts. */
interface ToldOfMoney {
  readonly withdrawals?: string
  readonly ledgerAlarms?: number
  readonly ledgerOffset?: number
  readonly openTransfers?: number
  readonly acceptedAtoms?: number
}

/** Checks what the report says of money on the ledger. */
const judgeMoney = (
  { funds }: NaiveVenue,
  { acceptedAtoms, ledgerAlarms, ledgerOffset, openTransfers, withdrawals }: ToldOfMoney
): Verdict => {
  if (withdrawals === undefined) return holds
  const { accepted, contradictions, offset, stop, transfers } = funds
  const stopped = stop?.reason === "operator" ? "stopped: operator" : `stopped: ${stop?.reason}, differs by ${stop?.differenceAtoms} atoms`
  return firstDifference("the readiness", [
    ["withdrawals", withdrawals, stop === undefined ? "open" : stopped],
    ["what is accepted as lacking", acceptedAtoms, accepted === 0 ? undefined : accepted],
    ["the ledger's alarms", ledgerAlarms, contradictions],
    ["the ledger's offset", ledgerOffset, offset],
    ["open transfers", openTransfers, transfers.filter(isNeeded).length]
  ], ["answer", "model"])
}

const judge = ({ model }: State, { answer, atEpochMs }: Observation & { readonly _tag: "Handled" }): Verdict => {
  if (answer === undefined || model === undefined) return holds
  const { details, durableSequence, markets } = JSON.parse(answer.text) as {
    readonly durableSequence: number
    readonly details: ToldOfMoney & { readonly engineHalted?: boolean; readonly oldestIndexAgeMs: number; readonly staleMarkets: number }
    readonly markets: ReadonlyArray<Told>
  }
  // The process learns a moment later what is durable, and with it the results of samples.
  if (durableSequence !== model.sequence) return holds
  const listed = model.markets.filter((each) => isListed(each.status) && !isDelisted(each))
  const expected = listed.map((each) => ({
    marketId: each.parameters.marketId,
    status: each.status,
    session: each.parameters.marketType === "crypto" ? undefined : standing(each.session),
    indexAgeMs: ageOf(each, atEpochMs),
    indexStale: isStale(each, atEpochMs, model.atEpochMs),
    indexHeld: isHeld(each)
  }))
  const told = markets.map(({ indexAgeMs, indexHeld, indexStale, marketId, session, status }) => ({
    marketId,
    status,
    session,
    indexAgeMs,
    indexStale,
    indexHeld
  }))
  const { oldestIndexAgeMs, staleMarkets } = details
  return difference("whether the engine is halted", details.engineHalted, model.halted ? true : undefined)
    ?? judgeMoney(model, details)
    ?? difference(`the indexes at ${atEpochMs}`, told, expected)
    ?? difference(`the oldest index at ${atEpochMs}`, oldestIndexAgeMs, oldestOf(model, atEpochMs))
    ?? difference(`the stale markets at ${atEpochMs}`, staleMarkets, expected.filter(({ indexStale }) => indexStale).length)
}

/** What a report tells of the journal, of the clock, and of the start. */
interface ToldOfStart {
  readonly status: string
  readonly dependency?: string
  readonly durableSequence: number
  readonly details: {
    readonly recoveredFromSnapshot?: number
    readonly replayedRecords?: number
    readonly follower?: string
    readonly followerBehindRecords?: number
    readonly snapshotSequence?: number
    readonly snapshotSavedAtEpochMs?: number
  }
}

/** Checks how the process says that it has started. */
const judgeStart = ({ since, snapshots }: State, { details, status }: ToldOfStart): Verdict => {
  const { recoveredFromSnapshot: from, replayedRecords: replayed } = details
  if (from === undefined || replayed === undefined) {
    return status === "ready" ? broken("a venue that is ready does not tell how it has started") : holds
  }
  if (from !== 0 && !snapshots.has(from)) return broken(`a start is told from a snapshot of record ${from}, and there never was one`)
  return difference("the last record that the process has recovered", from + replayed, since - 1)
}

/** Checks that what is told to be durable is no less than what answers rested on, and how far the follower is told to be behind it. */
const judgeDurable = ({ answered }: State, { details, durableSequence, status }: ToldOfStart): Verdict => {
  // A process that has not recovered yet has no record, and tells so.
  if (status === "starting" || status === "stopping") return holds
  if (durableSequence < answered)
    return broken(`record ${durableSequence} is told to be the last durable one, and an answer named ${answered}`)
  const { followerBehindRecords: behind, snapshotSavedAtEpochMs: savedAt = 0, snapshotSequence = 0 } = details
  if (behind === undefined) return holds
  // Whoever has saved a snapshot has run everything up to its record.
  const most = durableSequence - (savedAt > 0 ? snapshotSequence : 0)
  return behind >= 0 && behind <= most ? holds : broken(`the follower is told to be ${behind} records behind, and is ${most} at most`)
}

/** Checks that the clock makes the venue unready exactly while it lies far behind the records. */
const judgeClock = ({ model }: State, { dependency, durableSequence }: ToldOfStart, atEpochMs: number): Verdict => {
  if (model === undefined || durableSequence !== model.sequence || dependency === "journal") return holds
  const isBehind = model.atEpochMs - atEpochMs > mostBehindMs
  return difference(`what the venue lacks at ${atEpochMs}, records being of ${model.atEpochMs}`, dependency, isBehind ? "clock" : undefined)
}

/** Checks what needs no state of the engine, and the clock where the model stands where the engine does. */
const judgeStanding = (state: State, { answer, atEpochMs }: Observation & { readonly _tag: "Handled" }): Verdict => {
  // Anything else is a refusal, of a member that the route does not have.
  if (answer?.status !== 200 && answer?.status !== 503) return holds
  const told = JSON.parse(answer.text) as ToldOfStart
  return judgeStart(state, told) ?? judgeDurable(state, told)
    ?? (state.decided === state.model?.sequence ? judgeClock(state, told, atEpochMs) : holds)
}

/** From this age on, by true time, a block that has not come through makes the venue unready, ms; clocks show whole milliseconds. */
const slowMs = 1_000 + 1

/** Whether a report may say that the venue is ready. A process that starts or stops says neither. */
const judgeHung = ({ answer, hungMs }: Observation & { readonly _tag: "Handled" }): Verdict => {
  if (answer === undefined || hungMs < slowMs) return holds
  const { dependency, status } = JSON.parse(answer.text) as { readonly status: string; readonly dependency?: string }
  if (status === "starting" || status === "stopping") return holds
  return difference(`the readiness while a block has been under way for ${hungMs} ms`, [status, dependency], ["unavailable", "journal"])
}

/** Whether a report may say that the follower runs. */
const judgeFollower = ({ hasFollowerEnded }: State, { answer }: Observation & { readonly _tag: "Handled" }): Verdict => {
  if (answer === undefined || !hasFollowerEnded) return holds
  const { follower } = (JSON.parse(answer.text) as { readonly details?: { readonly follower?: string } }).details ?? {}
  return follower === "running" ? broken("the follower has ended by itself, and the readiness tells that it runs") : holds
}

/** For how long a text of metrics is served again, ms. */
const keptMs = 200

/** The first fault in what metrics say of one index; they were made at some time between two readings of the clock. */
const gaugeFault = (
  market: NaiveMarket,
  { age, held, stale }: { readonly age: number | undefined; readonly held: number | undefined; readonly stale: number | undefined },
  [from, to]: readonly [number, number],
  recordsEpochMs: number
): string | undefined => {
  const [youngest, oldest] = [ageOf(market, from), ageOf(market, to)]
  const mayBeStale: ReadonlyArray<number> = [from, to].map((at) => isStale(market, at, recordsEpochMs) ? 1 : 0)
  const mustBeHeld = isHeld(market) ? 1 : 0
  if (held !== mustBeHeld) return `held as ${held}, must be ${mustBeHeld}`
  if (stale === undefined || !mayBeStale.includes(stale)) return `stale as ${stale}, must be ${mayBeStale.join(" or ")}`
  const isRight = youngest === undefined || oldest === undefined
    ? age === undefined
    : age !== undefined && age >= youngest && age <= oldest
  return isRight ? undefined : `${age} ms old, must be from ${youngest} to ${oldest}`
}

/** Checks the gauges of each listed market's index, where the text is of a time at which everything decided was durable. */
const judgeGauges = ({ model }: State, { answer: { status, text }, clock }: Observation & { readonly _tag: "Answered" }): Verdict => {
  if (status !== 200 || model === undefined || clock === undefined) return holds
  const families = Exposition.read(text)
  if (typeof families === "string") return holds
  const samples = (name: string): ReadonlyArray<Exposition.Sample> => families.get(name)?.samples.get(name) ?? []
  const isOf = (name: string): boolean => samples(name)[0]?.value === model.sequence
  if (!isOf("venue_engine_sequence") || !isOf("venue_durable_sequence")) return holds
  const behind = samples("venue_clock_behind_ms")[0]?.value ?? -1
  const [least, most] = [clock[1], clock[0] - keptMs].map((at) => Math.max(0, model.atEpochMs - at)) as [number, number]
  if (behind < least || behind > most)
    return broken(`the clock is told in metrics to be ${behind} ms behind, must be from ${least} to ${most}`)
  for (const market of model.markets.filter((each) => isListed(each.status) && !isDelisted(each))) {
    const { marketId } = market.parameters
    const value = (name: string): number | undefined => samples(name).find(({ labels }) => labels.get("market") === marketId)?.value
    const told = { age: value("venue_index_age_ms"), held: value("venue_index_held"), stale: value("venue_index_stale") }
    const fault = gaugeFault(market, told, [clock[0] - keptMs, clock[1]], model.atEpochMs)
    if (fault !== undefined) return broken(`the index of ${marketId} is told in metrics as ${fault}`)
  }
  return holds
}

/** The record of a process's start shows that its state is the journal's. */
const committed = (state: State, { model, record: { command, sequence } }: Observation & { readonly _tag: "Committed" }): void => {
  state.model = model
  if (command.kind !== "StartVenue" && command.kind !== "OpenVenue") return
  state.hasBegun = true
  state.since = sequence
}

/** Checks an answer as it arrives: it told nothing durable that was not, as it left. */
const answered = (state: State, seen: Observation & { readonly _tag: "Answered" }): Verdict => {
  const { answer, call: { endpoint }, leftBehind } = seen
  state.answered = Math.max(state.answered, recordNamed(answer) ?? 0)
  if (endpoint === "getReadiness" && answer.status !== 429) {
    const { durableSequence = 0 } = (answer.json ?? {}) as { readonly durableSequence?: number }
    if (durableSequence > leftBehind) return broken(`record ${durableSequence} was told to be durable when ${leftBehind} was the last one`)
  }
  if (endpoint !== "getMetrics" || !state.hasBegun || isLimited(answer)) return holds
  return state.decided === state.model?.sequence ? judgeGauges(state, seen) : holds
}

export const readiness: Property<State> = {
  name: "probes-are-told-how-the-venue-stands",
  invariant: "contract",
  kind: "safety",
  initial: () => ({
    model: undefined,
    hasBegun: false,
    decided: 0,
    hasFollowerEnded: false,
    since: 0,
    answered: 0,
    snapshots: new Set()
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.hasBegun = false
        state.decided = 0
        state.hasFollowerEnded = false
        return holds
      case "FollowerStarted":
      case "FollowerEnded":
        state.hasFollowerEnded = seen._tag === "FollowerEnded"
        return holds
      case "Taken":
        if (seen.answered === undefined) state.decided = seen.sequence + 1
        return holds
      case "Committed":
        committed(state, seen)
        return holds
      case "SnapshotBegun":
        state.snapshots.add(seen.sequence)
        return holds
      case "Answered":
        return answered(state, seen)
      case "Handled": {
        if (seen.call.endpoint !== "getReadiness" || !state.hasBegun) return holds
        return judgeHung(seen) ?? judgeFollower(state, seen) ?? judgeStanding(state, seen)
          ?? (state.decided === state.model?.sequence ? judge(state, seen) : holds)
      }
      default:
        return holds
    }
  }
}
