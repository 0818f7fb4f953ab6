/**
 * Safety (I20). The venue does nothing of its own accord: every record of the journal is for an authorized request under a key, or for a
 * start, a market of the file that a start found, the session of a market with a calendar, a price from the index feed, or the passing of
 * a moment at which something was due. Each start, price and moment explains one record, and a delisted market has no sessions to set.
 * How far the ledger was read is noted when something was found there, and otherwise now and then.
 */
import { Principal } from "../../src/operations/Header.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import type { Command } from "../../src/operations/Operations.js"
import { isDelisted, type NaiveDecision } from "../model/NaiveState.js"
import { type NaiveVenue, scopeOfCommand } from "../model/NaiveVenue.js"
import * as Batches from "../reading/Batches.js"
import * as Commands from "../reading/Commands.js"
import type { Bounds, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** What a process has noted of how far it has read the ledger: it does so unasked, so often that it loses little by a crash. */
interface Places {
  /** Whether it has noted any, and those since a request was last handled. */
  hasNoted: boolean
  since: number
  /** Whether the ledger has told something of a command since the last one; and the place that nothing has caused, until it is judged. */
  isFound: boolean
  uncaused: number | undefined
  /**
   * The times that anybody was given by its clock since the last place but one was noted, and since the last one: whatever time it took
   * for the beginning of a page is among the former.
   */
  before: Times
  latest: Times
}

interface Times {
  readonly lowestEpochMs: number
  readonly highestEpochMs: number
  /** Whether the clock was set back meanwhile: a place that was noted later than now is noted anew. */
  readonly isSetBack: boolean
}

const noTime: Times = { lowestEpochMs: Number.POSITIVE_INFINITY, highestEpochMs: 0, isSetBack: false }

const nowhere = (): Places => ({ hasNoted: false, since: 0, isFound: false, uncaused: undefined, before: noTime, latest: noTime })

/** How far the ledger has gone on, and how much time has passed, when a place is noted of which nothing else has come. */
const notedEveryOffsets = 10_000
const notedEveryMs = 60_000

const withTimes = (times: Times, { atEpochMs, highestEpochMs, lowestEpochMs }: Observation & { readonly _tag: "Handled" }): Times => ({
  lowestEpochMs: Math.min(times.lowestEpochMs, lowestEpochMs),
  highestEpochMs: Math.max(times.highestEpochMs, highestEpochMs),
  isSetBack: times.isSetBack || lowestEpochMs < times.highestEpochMs || atEpochMs < highestEpochMs
})

interface State {
  /** Scopes of keys of requests with a valid credential. */
  readonly scopes: Set<string>
  /** Starts without a record yet. */
  starts: number
  /** Every market of a markets file that a start found. */
  readonly files: Set<string>
  /** Those of them that have a calendar. */
  readonly calendars: Set<string>
  /** Markets of which a session was set once they were delisted. */
  readonly lateSessions: Set<string>
  /** How often the feed sent each price that has no record yet. */
  readonly quotes: Map<string, number>
  /** The batches that feed processes sent, and their prices without a record yet, by market and time. */
  readonly batches: Set<string>
  readonly streamed: Map<string, Array<string>>
  /** Moments at which something is due, later than the last record that only let time pass. */
  deadlines: ReadonlyArray<number>
  /** When the first key or ended order in its queue was to be visited, since a record last let time pass, if the tables may be full. */
  forgetsFromEpochMs: number
  /** Room for keys and orders in the tables of the present process. */
  room: Pick<Bounds, "idempotencyKeys" | "orders">
  /** The offset up to which the journal has the ledger, and the places of the present process. */
  offset: number
  places: Places
}

/** Whether placements may have used up their part of a table, so that a batch no longer fits. */
const isFull = ({ room }: State, { mostFurther, mostKeys, orders }: NaiveVenue): boolean =>
  isTaken(mostKeys + mostFurther, room.idempotencyKeys) || isTaken(orders.size, room.orders)
const isTaken = (ever: number, room: number): boolean => ever + longestBatch > room - room / 8
const longestBatch = 32

/** The keys under which a start puts and opens a market of its file. */
const ofStart = /^bootstrap\/([^/]+)(?:\/(?:backfilling|open))?$/

/** Commands of accounts without a key. */
const ofAccounts: ReadonlySet<string> = new Set(["SetFavorite", "RegisterAffiliate"])

const quoteOf = (marketId: string, priceAtoms: number, sourceEpochMs: number): string => `${marketId} ${priceAtoms} ${sourceEpochMs}`

const streamedOf = (marketId: string, sourceEpochMs: number): string => `${marketId} ${sourceEpochMs}`

/** Notes the content of a batch. A repetition in the same session counts once. */
const noteBatch = ({ batches, streamed }: State, { prices, sequence, session }: Batches.Batch): void => {
  if (batches.has(`${session} ${sequence}`)) return
  batches.add(`${session} ${sequence}`)
  for (const { marketId, price, sourceEpochMs } of prices) {
    const of = streamedOf(marketId, sourceEpochMs)
    const known = streamed.get(of)
    if (known === undefined) streamed.set(of, [price])
    else known.push(price)
  }
}

/** Whether a price is in a batch; it is then removed from it. */
const takesStreamed = (
  { streamed }: State,
  { market, priceAtoms, sourceEpochMs }: { readonly market: number; readonly priceAtoms: number; readonly sourceEpochMs: number },
  model: NaiveVenue
): boolean => {
  const { marketId, priceScale } = model.markets[market]!.parameters
  const sent = streamed.get(streamedOf(marketId, sourceEpochMs)) ?? []
  const at = sent.findIndex((price) => Batches.nearestAtoms(price, priceScale) === priceAtoms)
  if (at >= 0) sent.splice(at, 1)
  return at >= 0
}

/** Checks a record that no outside request caused. */
const internalVerdict = (state: State, { atEpochMs, command, sequence }: Record, decision: NaiveDecision, model: NaiveVenue): Verdict => {
  switch (command.kind) {
    case "OpenVenue":
    case "StartVenue":
      return state.starts-- > 0 ? holds : broken(`record ${sequence} is a ${command.kind}, and no process was started`)
    case "PassTime": {
      const isDue = state.deadlines.some((due) => due <= atEpochMs) || state.forgetsFromEpochMs <= atEpochMs
      const isCaused = decision.touchedOrders.size > 0 || decision.looked.length > 0 || isDue
      state.deadlines = state.deadlines.filter((due) => due > atEpochMs)
      state.forgetsFromEpochMs = Number.POSITIVE_INFINITY
      return isCaused ? holds : broken(`record ${sequence} lets time pass to ${atEpochMs}, and nothing was due`)
    }
    case "MarkTick":
      if (model.halted) return broken(`record ${sequence} makes marks at ${atEpochMs}, under a halt of the engine`)
      return decision.ticked > 0 ? holds : broken(`record ${sequence} makes marks at ${atEpochMs}, and none was due`)
    // Another property checks its agreement with the calendar.
    case "SetMarketSession": {
      const market = model.markets[command.market]!
      const { marketId } = market.parameters
      if (!state.calendars.has(marketId))
        return broken(`record ${sequence} sets the session of ${marketId}, of which no markets file has a calendar`)
      // One may be on its way while the market is delisted. Whoever sets the next has seen its refusal.
      const isAgain = state.lateSessions.has(marketId)
      if (isDelisted(market)) state.lateSessions.add(marketId)
      return isAgain ? broken(`record ${sequence} sets the session of ${marketId} again, which is delisted`) : holds
    }
    case "SetIndexPrice": {
      const quote = quoteOf(model.markets[command.market]!.parameters.marketId, command.priceAtoms, command.sourceEpochMs)
      const given = state.quotes.get(quote) ?? 0
      if (given > 0) state.quotes.set(quote, given - 1)
      return given > 0 || takesStreamed(state, command, model)
        ? holds
        : broken(`record ${sequence} sets an index price that the feed did not give: ${quote}`)
    }
    // Another property checks who asked for them, and their results.
    case "ArmConnection":
    case "EndConnection":
      return holds
    case "NoteKeyUses":
      return command.uses.every(({ apiKey, usedAtEpochMs }) => model.identity.keys[apiKey] !== undefined && usedAtEpochMs > 0)
        ? holds
        : broken(`record ${sequence} notes uses of keys that there are not`)
    default:
      // Another property checks what was proved.
      if (Commands.isOfIdentity(command) || Commands.isOfTickets(command) || ofAccounts.has(command.kind)) return holds
      if (Commands.isOfFunds(command)) return holds
      return broken(`record ${sequence} is a ${command.kind} without a key`)
  }
}

const verdictOf = (state: State, record: Record, decision: NaiveDecision, model: NaiveVenue): Verdict => {
  const { command, sequence } = record
  const scope = scopeOfCommand(command)
  if (scope === undefined) return internalVerdict(state, record, decision, model)
  if (state.scopes.has(scope)) return holds
  const listed = command.principal === Principal.operator ? ofStart.exec(command.idempotencyKey)?.[1] : undefined
  return listed !== undefined && state.files.has(listed)
    ? holds
    : broken(`record ${sequence} is a ${command.kind} under ${scope}, which nobody asked for`)
}

/** Notes when something that the record decided will be due. */
const note = (state: State, { atEpochMs, command }: Record, { outcomes }: NaiveDecision): void => {
  if (command.kind === "SetCancelAllAfter" && command.timeoutMs > 0) state.deadlines = [...state.deadlines, atEpochMs + command.timeoutMs]
  if (command.kind === "SetMarketSession") {
    const ends = [command.riskIncreasingOrderCutoffEpochMs, command.nextCloseEpochMs].filter((end) => end > 0)
    state.deadlines = [...state.deadlines, ...ends]
  }
  const announced = outcomes[0]?.announced
  if (announced !== undefined) state.deadlines = [...state.deadlines, announced.effectiveAtEpochMs]
  if (command.kind !== "PlaceOrders") return
  const expiries = command.entries.flatMap((entry, index) =>
    entry.expiresAtEpochMs > 0 && outcomes[index]!.refusal === Refusal.none ? [entry.expiresAtEpochMs] : []
  )
  if (expiries.length > 0) state.deadlines = [...state.deadlines, ...expiries]
}

/** Notes when accounts under liquidation and the insurance fund are to be examined, and brackets armed or processed. */
const noteLooks = (state: State, { atEpochMs, brackets, looks }: NaiveVenue): void => {
  const again = Math.max(atEpochMs, brackets.nextEpochMs)
  const moments = [...looks.map((look) => look.atEpochMs), ...(again === Number.POSITIVE_INFINITY ? [] : [again])]
  if (moments.length > 0) state.deadlines = [...new Set([...state.deadlines, ...moments])]
}

/**
 * Notes when entries of a table are to be visited: a full one refuses without a record, so time has to pass for it. A visited entry may
 * have been promised for longer, and returns to the queue; and another record may visit it before the one that comes for it.
 */
const noteForgetting = (state: State, model: NaiveVenue): void => {
  if (isFull(state, model)) state.forgetsFromEpochMs = Math.min(state.forgetsFromEpochMs, model.nextForgettingEpochMs)
}

/** Notes a moment that the model tells after every record. */
const noteOnce = (state: State, dueEpochMs: number): void => {
  if (!state.deadlines.includes(dueEpochMs)) state.deadlines = [...state.deadlines, dueEpochMs]
}

/** Notes when an unapproved transfer expires. */
const noteExpiry = (state: State, { atEpochMs, funds: { nextDueEpochMs } }: NaiveVenue): void => {
  const due = Math.max(atEpochMs, nextDueEpochMs)
  if (due !== Number.POSITIVE_INFINITY) noteOnce(state, due)
}

/** Notes when the settlement of a delisted market continues. */
const noteSettlement = (state: State, { atEpochMs, nextSettlementEpochMs }: NaiveVenue): void =>
  noteOnce(state, Math.max(atEpochMs, nextSettlementEpochMs))

/** Notes when announced delistings take effect, also those that were missed and are announced anew by nobody's request. */
const noteDelistings = (state: State, { markets }: NaiveVenue): void => {
  for (const { delisting } of markets) if (delisting?.state === "announced") noteOnce(state, delisting.effectiveAtEpochMs)
}

/** Notes that the process sends its writer a fact of the ledger. */
const offered = ({ offset, places }: State, command: Command): void => {
  if (command.kind === "NoteCompletion") places.isFound = true
  if (command.kind !== "NoteLedgerOffset") return
  if (places.hasNoted && !places.isFound && command.offset - offset < notedEveryOffsets) places.uncaused = command.offset
  places.hasNoted = true
  places.isFound = false
  places.since++
}

/** Judges, once it is known what the clock has shown meanwhile, a place that nothing has caused. */
const placeVerdict = ({ places }: State, seen: Observation & { readonly _tag: "Handled" }): Verdict => {
  const { since, uncaused } = places
  places.before = withTimes(places.before, seen)
  places.latest = withTimes(places.latest, seen)
  const { isSetBack } = places.before
  const passedMs = places.before.highestEpochMs - places.before.lowestEpochMs
  if (since > 0) {
    const meanwhile = withTimes(noTime, seen)
    places.before = since > 1 ? meanwhile : places.latest
    places.latest = meanwhile
  }
  places.since = 0
  places.uncaused = undefined
  return uncaused === undefined || isSetBack || passedMs >= notedEveryMs
    ? holds
    : broken(`the ledger is noted to be read through ${uncaused}, ${passedMs} ms after the last place, and nothing was found there`)
}

export const everyRecordHasACause: Property<State> = {
  name: "every-record-has-a-cause",
  invariant: "I20",
  kind: "safety",
  initial: () => ({
    scopes: new Set(),
    starts: 0,
    files: new Set(),
    calendars: new Set(),
    lateSessions: new Set(),
    quotes: new Map(),
    batches: new Set(),
    streamed: new Map(),
    deadlines: [],
    forgetsFromEpochMs: Number.POSITIVE_INFINITY,
    room: { idempotencyKeys: Number.POSITIVE_INFINITY, orders: Number.POSITIVE_INFINITY },
    offset: 0,
    places: nowhere()
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Asked": {
        const batch = Batches.batchOf(seen.call)
        if (batch !== undefined) noteBatch(state, batch)
        if (seen.call.scope !== undefined && ["trader", "issued", "operator"].includes(seen.call.credential)) {
          state.scopes.add(seen.call.scope)
        }
        return holds
      }
      case "Started":
        state.starts++
        state.room = seen.bounds
        state.places = nowhere()
        for (const marketId of seen.markets) state.files.add(marketId)
        for (const { marketId } of seen.calendars) state.calendars.add(marketId)
        return holds
      case "Offered":
        offered(state, seen.command)
        return holds
      case "Handled":
        return placeVerdict(state, seen)
      case "Quoted": {
        const quote = quoteOf(seen.marketId, seen.priceAtoms, seen.sourceEpochMs)
        state.quotes.set(quote, (state.quotes.get(quote) ?? 0) + 1)
        return holds
      }
      case "Committed": {
        const verdict = verdictOf(state, seen.record, seen.decision, seen.model)
        state.offset = seen.model.funds.offset
        note(state, seen.record, seen.decision)
        if (!seen.model.areLooksPut) noteLooks(state, seen.model)
        noteExpiry(state, seen.model)
        noteDelistings(state, seen.model)
        noteForgetting(state, seen.model)
        if (seen.model.nextSettlementEpochMs < Number.POSITIVE_INFINITY && !seen.model.halted) noteSettlement(state, seen.model)
        // Work that a record leaves to the next is due at once, and other commands may come before the record for it and do it.
        if (seen.model.isBehind || seen.model.isClearing || seen.decision.examined?.isBehind === true)
          noteOnce(state, seen.record.atEpochMs)
        return verdict
      }
      default:
        return holds
    }
  }
}
