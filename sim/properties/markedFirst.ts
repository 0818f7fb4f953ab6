/**
 * Safety (I13). Nothing happens between a market's return and its next mark: after the record with which a market is back (from a halt,
 * a closed session, a stale index) with an outdated mark, the next records are mark ticks until it has a new one, whatever waited in
 * front of the writer. Otherwise those who know the index would trade at the old mark and band with orders that the new mark cancels.
 *
 * A start comes before, since it is its process's first record, and so does everything else where a full disk has no room for marks.
 */
import { shareOf } from "../../src/operations/Operations.js"
import { awaitsMark, isGoing } from "../model/NaiveRisk.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A market that is back and has no new mark. */
interface Back {
  readonly market: number
  readonly sinceSequence: number
  /** Until when its mark can be made: its index is then stale, or its session over. */
  readonly untilEpochMs: number
}

interface State {
  backs: ReadonlyArray<Back>
  /** Whether the disk is full, and whether marks may have had no room since it was. */
  isFull: boolean
  isTight: boolean
}

const untilOf = ({ markets }: NaiveVenue, index: number): number => {
  const { parameters: { indexStaleMs }, risk: { source }, session } = markets[index]!
  return Math.min(source + indexStaleMs, session === undefined ? Number.POSITIVE_INFINITY : session.closes)
}

/** The markets that are back after a record, and since which record. */
const backsAfter = ({ backs }: State, model: NaiveVenue): ReadonlyArray<Back> => {
  if (model.halted) return []
  return model.markets.filter((market) => awaitsMark(market) && isGoing(market, model.atEpochMs)).map(({ index }) => ({
    market: index,
    sinceSequence: backs.find(({ market }) => market === index)?.sinceSequence ?? model.sequence,
    untilEpochMs: untilOf(model, index)
  }))
}

const recordVerdict = ({ backs, isTight }: State, { record }: Extract<Observation, { readonly _tag: "Committed" }>): Verdict => {
  const { atEpochMs, command: { kind }, sequence } = record
  if (isTight || kind === "MarkTick" || kind === "StartVenue") return holds
  const back = backs.find(({ untilEpochMs }) => atEpochMs < untilEpochMs)
  return back === undefined
    ? holds
    : broken(`record ${sequence} is a ${kind}, and market ${back.market} is back since record ${back.sinceSequence} without a new mark`)
}

export const markedFirst: Property<State> = {
  name: "a-market-that-is-back-is-marked-first",
  invariant: "I13",
  kind: "safety",
  initial: () => ({ backs: [], isFull: false, isTight: false }),
  observe: (state, seen) => {
    if (seen._tag === "DiskFull") {
      state.isFull = seen.isFull
      state.isTight ||= seen.isFull
    }
    if (seen._tag !== "Committed") return holds
    const { command } = seen.record
    const verdict = recordVerdict(state, seen)
    // What finds no room earlier than marks do has found some.
    const hadRoom = ["placement", "payout", "venue"].includes(shareOf(command))
    if (hadRoom && !state.isFull) state.isTight = false
    state.backs = backsAfter(state, seen.model)
    return verdict
  }
}
