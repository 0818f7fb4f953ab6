/**
 * Safety (I20). The venue does nothing of its own accord: every record of the journal was asked for under its key by
 * somebody who may, or is a start, a market of the file that a start found, the session of one that has a calendar, a price that
 * the index feed gave, or the passing of a time at which something was due. Each start, price and moment explains one record.
 */
import { Principal } from "../../src/operations/Header.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import type { NaiveDecision } from "../model/NaiveState.js"
import { type NaiveVenue, scopeOfCommand } from "../model/NaiveVenue.js"
import * as Batches from "../reading/Batches.js"
import * as Commands from "../reading/Commands.js"
import type { Bounds } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** What was asked under a key by somebody whose credential was good. */
  readonly scopes: Set<string>
  /** Starts that no record tells of. */
  starts: number
  /** Every market of a markets file that a start found. */
  readonly files: Set<string>
  /** Those of them that have a calendar. */
  readonly calendars: Set<string>
  /** How often the feed gave each price that no record tells of. */
  readonly quotes: Map<string, number>
  /** The batches that feed processes sent, and what of them no record tells of: prices by their markets and times. */
  readonly batches: Set<string>
  readonly streamed: Map<string, Array<string>>
  /** Moments at which something was to be due, later than the time of the last record that only let time pass. */
  deadlines: ReadonlyArray<number>
  /**
   * From when on the first key or ended order in line was to be looked at since time was last let pass, where there may be no room for others.
   */
  forgetsFromEpochMs: number
  /** Keys and orders for which the tables of the running process have room. */
  room: Pick<Bounds, "idempotencyKeys" | "orders">
}

/** Whether those who only place orders may have taken all that they may of a table, but for a batch that finds no room in the rest. */
const isFull = ({ room }: State, { mostFurther, mostKeys, orders }: NaiveVenue): boolean =>
  isTaken(mostKeys + mostFurther, room.idempotencyKeys) || isTaken(orders.size, room.orders)
const isTaken = (ever: number, room: number): boolean => ever + longestBatch > room - room / 8
const longestBatch = 32

/** The keys under which a start puts and opens a market of its file. */
const ofStart = /^bootstrap\/([^/]+)(?:\/(?:backfilling|open))?$/

/** What an account says of itself without a key. */
const ofAccounts: ReadonlySet<string> = new Set(["SetFavorite", "RegisterAffiliate"])

const quoteOf = (marketId: string, priceAtoms: number, sourceEpochMs: number): string => `${marketId} ${priceAtoms} ${sourceEpochMs}`

const streamedOf = (marketId: string, sourceEpochMs: number): string => `${marketId} ${sourceEpochMs}`

/** Notes what a batch sends. One that is sent again in its session is taken once. */
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

/** Whether a price is one of a batch, which then has it no more. */
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

/** A record that nobody outside the venue sent. */
const internalVerdict = (state: State, { atEpochMs, command, sequence }: Record, decision: NaiveDecision, model: NaiveVenue): Verdict => {
  switch (command.kind) {
    case "OpenVenue":
    case "StartVenue":
      return state.starts-- > 0 ? holds : broken(`record ${sequence} is a ${command.kind}, and no process was started`)
    case "PassTime": {
      const isDue = state.deadlines.some((due) => due <= atEpochMs) || state.forgetsFromEpochMs <= atEpochMs
      const isLeft = decision.examined?.wasBehind === true
      const isCaused = decision.touchedOrders.size > 0 || decision.looked.length > 0 || isDue || isLeft
      state.deadlines = state.deadlines.filter((due) => due > atEpochMs)
      state.forgetsFromEpochMs = Number.POSITIVE_INFINITY
      return isCaused ? holds : broken(`record ${sequence} lets time pass to ${atEpochMs}, and nothing was due`)
    }
    case "MarkTick":
      if (model.halted) return broken(`record ${sequence} makes marks at ${atEpochMs}, under a halt of the engine`)
      return decision.ticked > 0 ? holds : broken(`record ${sequence} makes marks at ${atEpochMs}, and none was due`)
    // What it says of the calendar is looked at by another property.
    case "SetMarketSession": {
      const { marketId } = model.markets[command.market]!.parameters
      return state.calendars.has(marketId)
        ? holds
        : broken(`record ${sequence} sets the session of ${marketId}, of which no markets file has a calendar`)
    }
    case "SetIndexPrice": {
      const quote = quoteOf(model.markets[command.market]!.parameters.marketId, command.priceAtoms, command.sourceEpochMs)
      const given = state.quotes.get(quote) ?? 0
      if (given > 0) state.quotes.set(quote, given - 1)
      return given > 0 || takesStreamed(state, command, model)
        ? holds
        : broken(`record ${sequence} sets an index price that the feed did not give: ${quote}`)
    }
    // Who asked for them, and what they come to, is looked at by another property.
    case "ArmConnection":
    case "EndConnection":
      return holds
    case "NoteKeyUses":
      return command.uses.every(({ apiKey, usedAtEpochMs }) => model.identity.keys[apiKey] !== undefined && usedAtEpochMs > 0)
        ? holds
        : broken(`record ${sequence} notes uses of keys that there are not`)
    default:
      // What was proved is looked at by another property.
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

/** Notes when something that the record decided is to be due. */
const note = (state: State, { atEpochMs, command }: Record, { outcomes }: NaiveDecision): void => {
  if (command.kind === "SetCancelAllAfter" && command.timeoutMs > 0) state.deadlines = [...state.deadlines, atEpochMs + command.timeoutMs]
  if (command.kind === "SetMarketSession") {
    const ends = [command.riskIncreasingOrderCutoffEpochMs, command.nextCloseEpochMs].filter((end) => end > 0)
    state.deadlines = [...state.deadlines, ...ends]
  }
  const announced = outcomes[0]?.announced
  const delistedAt = outcomes[0]?.delistedAtEpochMs
  if (delistedAt !== undefined) state.deadlines = [...state.deadlines, delistedAt]
  if (announced !== undefined) state.deadlines = [...state.deadlines, announced.effectiveAtEpochMs]
  if (command.kind !== "PlaceOrders") return
  const expiries = command.entries.flatMap((entry, index) =>
    entry.expiresAtEpochMs > 0 && outcomes[index]!.refusal === Refusal.none ? [entry.expiresAtEpochMs] : []
  )
  if (expiries.length > 0) state.deadlines = [...state.deadlines, ...expiries]
}

/** Notes when accounts under liquidation, and the insurance fund, are to be looked at, and brackets armed or worked off. */
const noteLooks = (state: State, { atEpochMs, brackets, looks }: NaiveVenue): void => {
  const again = Math.max(atEpochMs, brackets.nextEpochMs)
  const moments = [...looks.map((look) => look.atEpochMs), ...(again === Number.POSITIVE_INFINITY ? [] : [again])]
  if (moments.length > 0) state.deadlines = [...new Set([...state.deadlines, ...moments])]
}

/**
 * Notes when what a table remembers is to be looked at: a full one refuses without a record, so that time has to pass for it. What was looked
 * at may have been promised for longer, and goes on in line; and another record may look before the one that comes for it.
 */
const noteForgetting = (state: State, model: NaiveVenue): void => {
  if (isFull(state, model)) state.forgetsFromEpochMs = Math.min(state.forgetsFromEpochMs, model.nextForgettingEpochMs)
}

/** Notes when a transfer that nobody approves is to end. */
const noteExpiry = (state: State, { atEpochMs, funds: { nextDueEpochMs } }: NaiveVenue): void => {
  const due = Math.max(atEpochMs, nextDueEpochMs)
  if (due !== Number.POSITIVE_INFINITY && !state.deadlines.includes(due)) state.deadlines = [...state.deadlines, due]
}

/** Notes when a delisted market is to be gone on with. */
const noteSettlement = (state: State, { atEpochMs, nextSettlementEpochMs }: NaiveVenue): void => {
  const due = Math.max(atEpochMs, nextSettlementEpochMs)
  if (!state.deadlines.includes(due)) state.deadlines = [...state.deadlines, due]
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
    quotes: new Map(),
    batches: new Set(),
    streamed: new Map(),
    deadlines: [],
    forgetsFromEpochMs: Number.POSITIVE_INFINITY,
    room: { idempotencyKeys: Number.POSITIVE_INFINITY, orders: Number.POSITIVE_INFINITY }
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
        for (const marketId of seen.markets) state.files.add(marketId)
        for (const { marketId } of seen.calendars) state.calendars.add(marketId)
        return holds
      case "Quoted": {
        const quote = quoteOf(seen.marketId, seen.priceAtoms, seen.sourceEpochMs)
        state.quotes.set(quote, (state.quotes.get(quote) ?? 0) + 1)
        return holds
      }
      case "Committed": {
        const verdict = verdictOf(state, seen.record, seen.decision, seen.model)
        note(state, seen.record, seen.decision)
        if (!seen.model.areLooksPut) noteLooks(state, seen.model)
        noteExpiry(state, seen.model)
        noteForgetting(state, seen.model)
        if (seen.model.nextSettlementEpochMs < Number.POSITIVE_INFINITY && !seen.model.halted) noteSettlement(state, seen.model)
        // What a record leaves to the next is due at once, and another command may be quicker than the record that comes for it.
        if (seen.model.isBehind || seen.model.isClearing) state.deadlines = [...state.deadlines, seen.record.atEpochMs]
        return verdict
      }
      default:
        return holds
    }
  }
}
