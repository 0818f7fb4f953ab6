/**
 * Safety (I9 as readers see it). Candles and episodes of positions are those of all events up to the record that the answer names,
 * recomputed from all of them; without a named record they are those of some record, and once faults have stopped of none before one that
 * an answer of the same process had named. No answer is of a record that is not durable, and each states correctly how far behind it is:
 * its record's time, no lag where nothing later was durable, no more lag than since the next record was there, as `/metrics` do, no less
 * than the time for which readers have seen the histories stand at one record although the venue had told of later ones, and fresh, lagging
 * or stale by its own lag, but never fresh where it says that it is replaying. Neither candles nor the latest
 * leaderboard ever go back behind a record that an earlier answer has named, also where the histories are made anew; and leaderboards made
 * anew have later numbers than those that were lost, as far as the clock tells. Transfers and security events of
 * an account are listed from the first to the last, however many of them the venue keeps in memory, as of a record between question and
 * answer; and whoever confirms a transfer or gives it up is told where it stood at one of these records. The rows that a venue leaves at
 * a run's end, of episodes, results, balance changes and funding payments, are those of the model: no more, no fewer, each in its place.
 */
import type { NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Shown from "../model/ShownHistories.js"
import * as ShownIdentity from "../model/ShownIdentity.js"
import * as Exposition from "../reading/Exposition.js"
import * as Funds from "../reading/Funds.js"
import * as Identity from "../reading/Identity.js"
import * as Queries from "../reading/Queries.js"
import { difference, without } from "./Difference.js"
import { LagTold } from "./LagTold.js"
import { type Observation, recordNamed } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Json = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null

type Answered = Observation & { readonly _tag: "Answered" }

/** What was known when an attempt of a call was sent. */
interface Sent {
  /** The last durable record observed. */
  readonly sequence: number
  readonly incarnation: number
  /** Since all faults have stopped: the highest record that the present process's histories have named. */
  readonly named: number
  /** The last true time that had been seen by then. */
  readonly seenEpochMs: number
  /** The highest record that an answer of the present process had named: the process knew that it is durable. */
  readonly durable: number
  /** Where the histories had been seen to stand while the process knew of later records. */
  readonly stood: Standstill | undefined
  /** The highest record that candles had named, and that the latest board of each window had. */
  readonly drawn: number
  readonly ranked: ReadonlyMap<string, number>
}

/** A record at which the histories of a process stand while there are later ones, and since when, by true time, readers have known. */
interface Standstill {
  readonly incarnation: number
  readonly sequence: number
  readonly sinceEpochMs: number
}

const nothingKnown: Sent = {
  sequence: 0,
  incarnation: 0,
  named: 0,
  seenEpochMs: 0,
  durable: 0,
  stood: undefined,
  drawn: 0,
  ranked: new Map()
}

/** What is known, of which the value is kept when each attempt of a call is sent. */
type Known = { -readonly [name in keyof Sent]: Sent[name] }

interface State extends Known {
  /** What each board stated about itself, by window and version. */
  readonly boards: Map<string, string>
  /** The board that the process last served, by window, and when. */
  readonly lasting: Map<string, { readonly markEpochMs: number; readonly toldAtEpochMs: number }>
  /** Whether all faults have stopped. */
  isHealed: boolean
  readonly lags: LagTold
  readonly asked: Map<string, Sent>
}

/**
 * Notes where an answer finds the histories, and checks its lag: where an earlier answer of the process had already found them there, behind
 * records that the process knew, they stand since then at least. Histories that are being replayed may have come there twice.
 */
const standstillFault = (state: State, told: Json, sent: Sent, answeredAtEpochMs: number): Verdict => {
  const { incarnation, stood } = sent
  const sequence = Number(told["journalSequence"])
  if (incarnation !== state.incarnation || told["backfillStatus"] === "replaying") return holds
  if (sequence < sent.durable && (state.stood?.sequence !== sequence || state.stood.incarnation !== incarnation)) {
    state.stood = { incarnation, sequence, sinceEpochMs: answeredAtEpochMs }
  }
  if (stood?.sequence !== sequence || stood.incarnation !== incarnation) return holds
  const least = Math.floor(sent.seenEpochMs - stood.sinceEpochMs)
  return Number(told["projectorLagMs"]) >= least
    ? holds
    : broken(`says that it is ${String(told["projectorLagMs"])} ms behind, and stands at record ${sequence} for ${least} ms`)
}

/** Checks an answer's statement of its own age. */
const freshnessFault = ({ lags }: State, { atEpochMs, clock, model }: Answered, told: unknown, from: number): Verdict => {
  if (!isObject(told)) return broken("does not say how fresh it is")
  const { asOfEpochMs, backfillStatus, dbReplicaLagMs, degradedState, journalSequence, projectorLagMs, status } = told
  if (typeof journalSequence !== "number" || journalSequence > model.sequence) {
    return broken(`is of record ${String(journalSequence)}, and durable is ${model.sequence}`)
  }
  if (asOfEpochMs !== lags.timeOf(journalSequence)) {
    return broken(`is as of ${String(asOfEpochMs)}, and record ${journalSequence} is of ${lags.timeOf(journalSequence)}`)
  }
  const lag = Number(projectorLagMs)
  if (lag !== 0 && journalSequence === from && from === model.sequence)
    return broken(`is ${lag} ms behind, and of the last record that there was`)
  const longer = clock === undefined ? holds : lags.verdict(lag, journalSequence, clock[1], atEpochMs)
  if (longer !== undefined) return longer
  const must = lag > 30_000 ? "stale" : lag > 2_000 || backfillStatus === "replaying" ? "lagging" : "fresh"
  if (status !== must) return broken(`is ${lag} ms behind, ${String(backfillStatus)}, and says that it is ${String(status)}`)
  const states = degradedState === "rebuilding" ? backfillStatus === "replaying" : (degradedState === "none") === (must === "fresh")
  return states && dbReplicaLagMs === 0 ? holds : broken(`says ${JSON.stringify(told)}`)
}

/** Checks for how long the metrics say that the histories are behind. */
const gaugeFault = ({ lags }: State, { answer: { text }, atEpochMs, call: { endpoint }, clock }: Answered): Verdict => {
  const families = endpoint === "getMetrics" ? Exposition.read(text) : ""
  if (clock === undefined || typeof families === "string") return holds
  const told = (name: string): number | undefined => families.get(name)?.samples.get(name)?.[0]?.value
  const sequence = told("venue_histories_sequence")
  return sequence === undefined ? holds : lags.verdict(told("venue_histories_lag_ms") ?? 0, sequence, clock[1], atEpochMs)
}

const candlesAsked = ({ query }: Queries.Query): Shown.CandlesAsked => ({
  timeframe: query.get("timeframe") ?? "1m",
  series: query.get("series") ?? "index",
  since: query.get("since") ?? null,
  limit: Number(query.get("limit") ?? 100)
})

const named = (model: NaiveVenue, name: string | undefined, family: Queries.Query["family"]): NaiveMarket | undefined =>
  model.markets.find(({ parameters: { baseAsset, marketId, quoteAsset, settlementAsset } }) =>
    name === (family === "compat" ? `${baseAsset}/${quoteAsset}:${settlementAsset}` : marketId)
  )

/** Tuples name no record: they have to match some record from a given one on, the latest ones first. */
const compatVerdict = (model: NaiveVenue, market: NaiveMarket, query: Queries.Query, json: unknown, least: number): Verdict => {
  const asked = candlesAsked(query)
  const shown = JSON.stringify(json)
  const at = [model.sequence, ...Shown.changesOfCandles(model, market, asked.series).filter((sequence) => sequence > least), least]
  const isOne = at.some((sequence) => JSON.stringify(Shown.compatCandles(model, market, sequence, asked)) === shown)
  return isOne ? holds : broken(`are the candles of no record from ${least} on: ${shown}`)
}

/**
 * A place of a board in the form for comparison: an account appears under its display handle, unless that was set while the board was
 * requested, and under a generated name where it has none.
 */
const placeTold = (shown: Json, { displayHandle: chosen }: Json, from: number): Json => {
  const isOfLate = Number.parseInt(String(chosen).split(".").at(-1)!, 36) > from
  const isVenues = chosen === "" && /^trader-[0-9a-f]{12}$/.test(String(shown["displayHandle"]))
  return isOfLate || isVenues ? { ...shown, displayHandle: chosen } : shown
}

/** For how long after it was made a board is the latest, ms: later requests are told that there is none. */
const boardLastsMs = 600_000

/**
 * Checks that a board has the content of its record and no other; that one requested without a cursor is recent; and that no two accounts
 * have the same name.
 */
const boardVerdict = (
  { boards, lags }: State,
  { clock, model }: Answered,
  { query }: Queries.Query,
  json: Json,
  { sequence: from }: Sent
): Verdict => {
  const { boardVersion, entries, nextCursor, ...board } = json
  const { markEpochMs, periodEndEpochMs, scoreHistogram, throughJournalSequence, windowKind } = board
  const cursor = Queries.rankOf(query.get("cursor") ?? "")
  if (typeof throughJournalSequence !== "number" || throughJournalSequence > model.sequence || typeof markEpochMs !== "number") {
    return broken(`is of record ${String(throughJournalSequence)}, and durable is ${model.sequence}`)
  }
  if (windowKind !== (query.get("window") ?? "daily")) return broken(`is of ${String(windowKind)}`)
  const isOfLate = clock === undefined || (markEpochMs >= clock[0] - boardLastsMs && markEpochMs <= clock[1] + boardLastsMs)
  if (!query.has("cursor") && !isOfLate) return broken(`is the latest, and was made at ${markEpochMs}, asked at ${String(clock)}`)
  if (Number(boardVersion) < Math.floor(markEpochMs / 1_000)) return broken(`is board ${String(boardVersion)}, and made at ${markEpochMs}`)
  if (cursor !== undefined && boardVersion !== String(cursor.version)) return broken(`is of board ${String(boardVersion)}`)
  const told = JSON.stringify([markEpochMs, throughJournalSequence, periodEndEpochMs, scoreHistogram])
  const name = `${String(windowKind)}/${String(boardVersion)}`
  if ((boards.get(name) ?? told) !== told) return broken(`is board ${name}, which was ${String(boards.get(name))}`)
  boards.set(name, told)
  const behindRank = cursor?.rank ?? 0
  const limit = Number(query.get("limit") ?? 50)
  const atEpochMs = Math.max(markEpochMs, lags.timeOf(throughJournalSequence))
  const asked = { window: String(windowKind), atEpochMs, sequence: throughJournalSequence, behindRank, limit: limit + 1 }
  const expected = Shown.leaderboard(model, asked) as Json & { readonly entries: ReadonlyArray<Json> }
  const handles = (entries as ReadonlyArray<Json>).map((entry) => String(entry["displayHandle"]))
  if (new Set(handles).size < handles.length || handles.some((handle) => handle === "" || handle.startsWith("acc_"))) {
    return broken(`names accounts ${handles.join()}`)
  }
  const last = expected.entries[limit - 1]?.["rank"]
  const next = typeof nextCursor === "string" ? Queries.rankOf(nextCursor)?.rank : undefined
  if (next !== (expected.entries.length > limit ? last : undefined)) return broken(`goes on at ${String(nextCursor)}`)
  const places = (entries as ReadonlyArray<Json>).map((entry, at) => placeTold(entry, expected.entries[at] ?? entry, from))
  const shown = { ...board, entries: places }
  return difference("the board", without(shown, ["markEpochMs", "throughJournalSequence"]), {
    ...expected,
    entries: expected.entries.slice(0, limit)
  })
}

/** Checks that the latest board of a window, and candles, do not go back behind what earlier answers have named. */
const backwardsFault = (state: State, { query }: Queries.Query, json: Json, { drawn, ranked }: Sent): Verdict => {
  const { freshness, throughJournalSequence: through, windowKind: window } = json
  if (freshness !== undefined) {
    const sequence = Number((freshness as Json)["journalSequence"])
    state.drawn = Math.max(state.drawn, sequence)
    return sequence >= drawn ? holds : broken(`is of record ${sequence}, and earlier candles were of record ${drawn}`)
  }
  if (query.has("cursor")) return holds
  const [name, sequence] = [String(window), Number(through)]
  const before = ranked.get(name) ?? 0
  state.ranked = new Map(state.ranked).set(name, Math.max(state.ranked.get(name) ?? 0, sequence))
  return sequence >= before ? holds : broken(`is the latest, of record ${sequence}, and an earlier one was of record ${before}`)
}

/** Checks that, without faults, a board that was served continues to be served, or a later one, for as long as it lasts. */
const boardWithheld = ({ lasting }: State, { answer: { json, status, text }, call, clock }: Answered): Verdict => {
  if (call.endpoint !== "getLeaderboard" || clock === undefined || call.target.includes("cursor=")) return holds
  const window = new URLSearchParams(call.target.split("?")[1]).get("window") ?? "daily"
  if (status === 200) {
    lasting.set(window, { markEpochMs: Number((json as Json)["markEpochMs"]), toldAtEpochMs: clock[1] })
    return holds
  }
  const told = lasting.get(window)
  const lasts = told !== undefined && clock[0] > told.toldAtEpochMs && clock[1] <= told.markEpochMs + boardLastsMs
  return lasts && status === 503 && text.includes("snapshot_unavailable")
    ? broken(`there is no board at ${clock[0]}, and one of ${told.markEpochMs} was told`)
    : holds
}

/** The place at which a page of a numbered listing begins. */
const ordinalOf = (kind: string, cursor: string | null | undefined): number => {
  if (cursor === null || cursor === undefined) return Number.POSITIVE_INFINITY
  const [, named, before] = /^\{"kind":"([a-z]+)","before":([0-9]+)\}$/.exec(Buffer.from(cursor, "base64url").toString()) ?? []
  return named === kind ? Number(before) : Number.NaN
}

/**
 * Passes if the verdict holds at one of the records between question and answer, latest first: of those in between only the ones that
 * changed the data are tried.
 */
const atSome = (from: number, to: number, changed: ReadonlyArray<number>, verdictAt: (sequence: number) => Verdict): Verdict => {
  const between = changed.filter((sequence) => sequence > from && sequence < to).reverse()
  let said: Verdict
  for (const sequence of new Set([to, ...between, from])) {
    const verdict = verdictAt(sequence)
    if (verdict === undefined) return holds
    said ??= verdict
  }
  return said
}

/** Checks a read of transfers. */
const transferVerdict = ({ answer: { json }, call: { account, method, target }, model }: Answered, from: number): Verdict => {
  const wish = Funds.read(method, target, "")?.wish
  if (wish?.kind !== "list" && wish?.kind !== "look") return holds
  const query = new URLSearchParams(target.split("?")[1] ?? "")
  const page = { before: wish.kind === "list" ? ordinalOf(`${wish.of}s`, query.get("cursor")) : 0, limit: Number(query.get("limit") ?? 50) }
  const changed = model.history.transfers.filter((told) => told.account === account).map(({ sequence }) => sequence)
  return atSome(from, model.sequence, changed, (sequence) => {
    if (wish.kind === "list") {
      const { expected, shown } = Shown.transferList(model, account, wish.of, sequence, json as Json, page)
      return difference(`at record ${sequence} it`, shown, expected)
    }
    const { id, kind } = wish.of
    const told = kind === "party_change" ? (json as Json)["change"] : json
    const { expected, shown } = Shown.transfer(model, account, kind, sequence, told, id)
    return difference(`at record ${sequence} it`, shown, expected)
  })
}

/** The member of the answer to a confirmation that is the transfer. */
const confirmedMembers = { deposit: "deposit", withdrawal: "withdrawal", party_change: "partyChange" } as const

/** Checks what whoever confirms a transfer, or gives it up, is told of where it stands. */
const confirmedVerdict = ({ answer: { json }, call: { account, body, method, target }, model }: Answered, from: number): Verdict => {
  const wish = Funds.read(method, target, body)?.wish
  if (wish?.kind !== "initiate" && wish?.kind !== "complete" && wish?.kind !== "cancel") return holds
  const { id, kind } = wish.of
  const told = wish.kind === "cancel" ? json : (json as Json)[confirmedMembers[kind]]
  const changed = model.history.transfers.filter((each) => each.account === account).map(({ sequence }) => sequence)
  return atSome(from, model.sequence, changed, (sequence) => {
    const { expected, shown } = Shown.transfer(model, account, kind, sequence, told, id)
    return difference(`at record ${sequence} what is told of it`, shown, expected)
  })
}

/** Checks a read of an account's security events. */
const securityVerdict = ({ answer: { json }, call: { account, method, target }, model }: Answered, from: number): Verdict => {
  const wish = Identity.read(method, target, "")?.wish
  if (wish?.kind !== "listSecurityEvents") return holds
  const before = ordinalOf("events", wish.cursor)
  const changed = model.history.notes.filter((note) => note.account === account).map(({ sequence }) => sequence)
  return atSome(from, model.sequence, changed,
    (sequence) => difference(`at record ${sequence} it`, json, ShownIdentity.notes(model, account, sequence, before, wish.limit)))
}

/** The record before which no candles may be any more. */
const leastOf = ({ incarnation }: State, sent: Sent): number => Math.max(sent.drawn, sent.incarnation === incarnation ? sent.named : 0)

const verdictOf = (state: State, seen: Answered, sent: Sent): Verdict => {
  const { sequence: from } = sent
  const { answer: { json }, call, model } = seen
  const reading = Queries.read(call.target)
  if (reading._tag !== "query") return holds
  const { query } = reading
  const market = named(model, query.market, query.family)
  if (query.endpoint === "getCompatCandles") return compatVerdict(model, market!, query, json, leastOf(state, sent))
  if (query.endpoint === "getLeaderboard") {
    return isObject(json)
      ? boardVerdict(state, seen, query, json, sent) ?? backwardsFault(state, query, json, sent)
      : broken("is no object")
  }
  if (query.endpoint !== "getCandles" && query.endpoint !== "listPositionHistory") return holds
  if (!isObject(json)) return broken("is no object")
  const freshness = json["freshness"]
  const fault = freshnessFault(state, seen, freshness, from)
  if (fault !== undefined) return fault
  const backwards = standstillFault(state, freshness as Json, sent, seen.atEpochMs)
    ?? (query.endpoint === "getCandles" ? backwardsFault(state, query, json, sent) : holds)
  if (backwards !== undefined) return backwards
  const sequence = Number((freshness as Json)["journalSequence"])
  if (state.isHealed && sent.incarnation === state.incarnation) state.named = Math.max(state.named, sequence)
  const expected = query.endpoint === "getCandles"
    ? Shown.candles(model, market!, sequence, candlesAsked(query))
    : Shown.positionHistory(model, call.account, sequence, {
      market,
      status: query.query.get("status") ?? null,
      behind: Queries.episodeOf(query.query.get("cursor") ?? ""),
      limit: Number(query.query.get("limit") ?? 50)
    })
  return difference(call.target, without(json, ["freshness"]), expected)
}

export const historiesTellWhatWas: Property<State> = {
  name: "histories-tell-what-was",
  invariant: "I9",
  kind: "safety",
  initial: () => ({
    boards: new Map(),
    lasting: new Map(),
    isHealed: false,
    lags: new LagTold(),
    asked: new Map(),
    ...nothingKnown
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.lasting.clear()
        state.incarnation = seen.incarnation
        state.named = 0
        state.durable = 0
        return holds
      case "Healed":
        state.isHealed = true
        return holds
      case "Committed":
        state.sequence = seen.record.sequence
        state.lags.committed(seen.record, state.seenEpochMs)
        return holds
      case "Asked": {
        const { drawn, durable, incarnation, named, ranked, seenEpochMs, sequence, stood } = state
        const sent = { sequence, incarnation, named, seenEpochMs, durable, stood, drawn, ranked }
        state.asked.set(`${seen.call.id}/${seen.attempt}`, sent)
        return holds
      }
      case "Answered": {
        const { answer, attempt, call } = seen
        state.seenEpochMs = seen.atEpochMs
        const sent = state.asked.get(`${call.id}/${attempt}`) ?? nothingKnown
        state.asked.delete(`${call.id}/${attempt}`)
        const from = sent.sequence
        if (sent.incarnation === state.incarnation) state.durable = Math.max(state.durable, recordNamed(answer) ?? 0)
        const withheld = state.isHealed ? boardWithheld(state, seen) : holds
        if (withheld !== undefined || answer.status !== 200) return withheld
        const isOfAccount = call.account >= 0 && isObject(answer.json)
        if (call.method !== "GET") {
          const fault = isOfAccount ? confirmedVerdict(seen, from) : holds
          return fault === undefined ? holds : broken(`${call.method} ${call.target} with ${call.body}: ${fault}`)
        }
        const verdict = verdictOf(state, seen, sent) ?? gaugeFault(state, seen)
          ?? (isOfAccount ? transferVerdict(seen, from) ?? securityVerdict(seen, from) : holds)
        return verdict === undefined ? holds : broken(`${call.target} ${verdict}`)
      }
      case "Watched":
        state.seenEpochMs = seen.atEpochMs
        return holds
      case "Rebuilt":
        return seen.untrue === undefined ? holds : broken(seen.untrue)
      default:
        return holds
    }
  }
}
