/**
 * What happened to one order, account or market, in the order in which it happened: each record's command and
 * what it decided, as lines of text.
 */
import { Effect } from "effect"
import * as Command from "../../domain/Command.js"
import * as Ids from "../../domain/Ids.js"
import * as Market from "../../domain/Market.js"
import * as Order from "../../domain/Order.js"
import { describe, type Refusal } from "../../domain/Refusal.js"
import type { Engine } from "../../engine/Engine.js"
import { absent, type DecodedEvent } from "../../engine/EventLog.js"
import type { Capacity, State } from "../../engine/State.js"
import type { Corrupt, Unknown } from "../../journal/Journal.js"
import type { Record } from "../../journal/Record.js"
import type { Diverged } from "../../sequencer/Recovery.js"
import { follow, type JournalService, passive, type Visitor } from "./Follow.js"
import * as Format from "./Format.js"

/** Whom a story is about, by the id that clients know. */
export type Subject =
  | { readonly _tag: "Order"; readonly orderNumber: number }
  | { readonly _tag: "Account"; readonly accountId: string }
  | { readonly _tag: "Market"; readonly marketId: string }

/** One thing that happened. */
export interface Line {
  readonly sequence: number
  readonly atEpochMs: number
  readonly text: string
}

/** The first lines of a story. */
export interface Story {
  readonly lines: ReadonlyArray<Line>
  /** Lines beyond the limit. */
  readonly more: number
  /** Samples of the index feed, which a market's story leaves out. */
  readonly feedSamples: number
  /** Whether the journal knows the subject at all. */
  readonly known: boolean
  /** The engine where the story ends. */
  readonly engine: Engine
}

export interface Bounds {
  /** Sequences, inclusive. */
  readonly from: number
  readonly to: number
  /** Most lines kept. */
  readonly limit: number
}

/** The story of a subject. The whole journal up to `to` is replayed; what comes before `from` is not told. */
export const tell = (
  journal: JournalService,
  capacity: Capacity,
  subject: Subject,
  bounds: Bounds,
  look: Pick<Visitor, "block"> = passive
): Effect.Effect<Story, Corrupt | Unknown | Diverged> =>
  Effect.suspend(() => {
    const lines: Array<Line> = []
    let more = 0
    let feedSamples = 0
    let known = false
    const visitor: Visitor = {
      ...look,
      wants: (record) => record.sequence <= bounds.to,
      applied: ({ state }, record, events) => {
        const who = resolve(state, subject)
        known ||= isKnown(who, state, record)
        if (record.sequence < bounds.from) return
        if (isFeedSample(record)) {
          if (record.command.kind === "SetIndexPrice" && record.command.market === who.market) feedSamples++
          return
        }
        for (const text of linesOf(state, record, events(), who)) {
          if (lines.length < bounds.limit) lines.push({ sequence: record.sequence, atEpochMs: record.atEpochMs, text })
          else more++
        }
      }
    }
    return Effect.map(follow(journal, capacity, visitor), (engine): Story => ({ lines, more, feedSamples, known, engine }))
  })

/** The subject by engine numbers; -1 for what it is not, or not yet. */
export interface Who {
  readonly orderNumber: number
  readonly account: number
  readonly market: number
}

const nobody: Who = { orderNumber: -1, account: -1, market: -1 }

const resolve = (state: State, subject: Subject): Who => {
  switch (subject._tag) {
    case "Order":
      return { ...nobody, orderNumber: subject.orderNumber }
    case "Account":
      return { ...nobody, account: state.accounts.find(subject.accountId) }
    case "Market":
      return { ...nobody, market: state.marketById.get(subject.marketId) ?? state.marketBySymbol.get(subject.marketId) ?? -1 }
  }
}

const isKnown = (who: Who, state: State, record: Record): boolean =>
  who.account >= 0 || who.market >= 0
  || (who.orderNumber >= 0 && (state.orders.find(who.orderNumber) >= 0
    || (record.command.kind === "PlaceOrders" && isBornIn(who.orderNumber, record, record.command.entries.length))))

const isBornIn = (orderNumber: number, record: Record, entries: number): boolean => {
  const index = orderNumber - Ids.ordinal(record.sequence, 0)
  return index >= 0 && index < entries
}

const isFeedSample = (record: Record): boolean => record.command.kind === "SetIndexPrice" && record.command.idempotencyKey === ""

/** Everything a record did to a subject, for a state that has just applied it. */
export const linesOf = (
  state: State,
  record: Record,
  events: ReadonlyArray<DecodedEvent>,
  who: Who
): ReadonlyArray<string> => {
  const decided = events.filter((event): event is Decided => event.event === "EntryDecided")
  return [
    ...commandLines(state, record.command, decided, who),
    ...events.flatMap((event) => eventLines(state, event, who))
  ]
}

/** Everything a record did. */
export const allLinesOf = (state: State, record: Record, events: ReadonlyArray<DecodedEvent>): ReadonlyArray<string> =>
  linesOf(state, record, events, everyone)

/** Whoever: every line is told. */
const everyone: Who = { orderNumber: Number.NaN, account: Number.NaN, market: Number.NaN }

type Decided = Extract<DecodedEvent, { event: "EntryDecided" }>

interface Concerned {
  readonly orders?: ReadonlyArray<number>
  readonly accounts?: ReadonlyArray<number>
  readonly markets?: ReadonlyArray<number>
}

const concerns = (who: Who, { accounts = [], markets = [], orders = [] }: Concerned): boolean =>
  who === everyone
  || (who.orderNumber >= 0 && orders.includes(who.orderNumber))
  || (who.account >= 0 && accounts.includes(who.account))
  || (who.market >= 0 && markets.includes(who.market))

// ---- names

const accountName = (state: State, account: number): string =>
  account >= 0 && account < state.accounts.count ? Ids.accountId(state.accounts.born[account]!) : `account ${account}`

const marketOf = (state: State, market: number): Market.Parameters | undefined => state.markets[market]?.parameters
const marketName = (state: State, market: number): string => marketOf(state, market)?.marketId ?? "no such market"

const priceOf = (state: State, market: number, atoms: number): string => {
  const parameters = marketOf(state, market)
  return parameters === undefined ? `${atoms} atoms` : Format.price(parameters, atoms)
}

const sizeOf = (state: State, market: number, atoms: number): string => {
  const parameters = marketOf(state, market)
  return parameters === undefined ? `${atoms} atoms` : Format.size(parameters, atoms)
}

/** Market and owner of an order that the state remembers; -1 for one that it does not. */
const ownerOf = (state: State, orderNumber: number): { readonly market: number; readonly account: number } => {
  const slot = state.orders.find(orderNumber)
  return slot < 0 ? { market: -1, account: -1 } : { market: state.orders.market[slot]!, account: state.orders.account[slot]! }
}

const named = (code: number, names: ReadonlyArray<string>): string => names[code] ?? String(code)

// ---- commands

const operationNames: ReadonlyMap<number, string> = new Map(Object.entries(Command.Operation).map(([name, code]) => [code, name]))

const byWhom = (state: State, command: Command.PlaceOrders | Command.CancelOrders): string => {
  const key = state.accounts.apiKeys[command.apiKey]?.keyId
  return `by ${accountName(state, command.account)}${key === undefined ? "" : ` with ${key}`}`
    + ` (${operationNames.get(command.operation) ?? command.operation}, idempotency key ${command.idempotencyKey})`
}

const commandLines = (
  state: State,
  command: Command.Command,
  decided: ReadonlyArray<Decided>,
  who: Who
): ReadonlyArray<string> => {
  switch (command.kind) {
    case "PlaceOrders":
      return command.entries.flatMap((entry, index) => {
        const outcome = decided[index]
        if (outcome === undefined) return []
        const concerned = { orders: [outcome.orderNumber], accounts: [command.account], markets: [entry.market] }
        return concerns(who, concerned) ? [placement(state, command, entry, index, outcome)] : []
      })
    case "CancelOrders":
      return command.entries.flatMap((entry, index) => {
        const outcome = decided[index]
        if (outcome === undefined) return []
        const { market } = ownerOf(state, entry.orderNumber)
        const concerned = { orders: [entry.orderNumber], accounts: [command.account], markets: [market] }
        return concerns(who, concerned) ? [cancellation(state, command, entry, outcome)] : []
      })
    default:
      return operatorLines(state, command, decided, who)
  }
}

const placement = (
  state: State,
  command: Command.PlaceOrders,
  entry: Command.PlaceEntry,
  index: number,
  outcome: Decided
): string => {
  const at = entry.priceAtoms === 0 ? "at any price" : `at ${priceOf(state, entry.market, entry.priceAtoms)}`
  const asked = [
    Order.types[entry.type],
    Order.sides[entry.side],
    sizeOf(state, entry.market, entry.quantityAtoms),
    marketName(state, entry.market),
    at,
    Order.timesInForce[entry.timeInForce],
    ...(entry.postOnly ? ["post-only"] : []),
    ...(entry.reduceOnly ? ["reduce-only"] : []),
    ...(entry.selfTradePrevention === Order.cancelResting ? [] : [Order.selfTradePreventions[entry.selfTradePrevention]])
  ].join(" ")
  const of = command.entries.length === 1 ? "" : ` [${index + 1} of ${command.entries.length}]`
  const client = entry.clientOrderId === "" ? "" : ` as ${entry.clientOrderId}`
  const verdict = outcome.refusal === 0 ? "accepted" : `refused: ${refusal(state, entry.market, outcome)}`
  return `${Ids.orderId(outcome.orderNumber)} ${asked}${client}, placed ${byWhom(state, command)}${of}: ${verdict}`
}

const cancellation = (
  state: State,
  command: Command.CancelOrders,
  entry: Command.CancelEntry,
  outcome: Decided
): string => {
  const id = entry.orderNumber < 0 ? "an id that is no order's" : Ids.orderId(entry.orderNumber)
  const { market } = ownerOf(state, entry.orderNumber)
  const verdict = outcome.refusal === 0
    ? `it is ${named(outcome.status, Order.statuses)}, ${sizeOf(state, market, outcome.canceledAtoms)} cancelled in all`
    : `refused: ${refusal(state, market, outcome)}`
  return `cancel of ${id} asked ${byWhom(state, command)}: ${verdict}`
}

/** The refusal's name and what it compared, in the guard's unit. */
const refusal = (state: State, market: number, outcome: Decided): string => {
  const { guard, name, safeMessage } = describe(outcome.refusal as Refusal)
  const amount = (value: number): string => {
    if (guard === "margin_insufficient") return Format.money(value)
    if (guard === "price_out_of_bounds" || guard === "price_band_exceeded") return priceOf(state, market, value)
    if (guard === "quantity_out_of_bounds" || guard === "position_limit") return sizeOf(state, market, value)
    return String(value)
  }
  const compared = ([["limit", outcome.limit], ["actual", outcome.actual], ["nearest", outcome.nearest]] as const)
    .filter(([, value]) => value !== absent)
    .map(([what, value]) => `${what} ${amount(value)}`)
  return `${name}${compared.length === 0 ? "" : ` (${compared.join(", ")})`}. ${safeMessage}`
}

/** Operator commands that were refused; those that were done are told by their events. */
const operatorLines = (
  state: State,
  command: Command.Command,
  decided: ReadonlyArray<Decided>,
  who: Who
): ReadonlyArray<string> => {
  const refused = decided.find((outcome) => outcome.refusal !== 0)
  if (refused === undefined) return []
  const market = "market" in command
    ? command.market
    : command.kind === "PutMarket"
    ? state.marketById.get(command.parameters.marketId) ?? -1
    : -1
  return concerns(who, { markets: [market] })
    ? [`${command.kind} by the operator refused: ${refusal(state, market, refused)}`]
    : []
}

// ---- events

const eventLines = (state: State, event: DecodedEvent, who: Who): ReadonlyArray<string> => {
  const line = (concerned: Concerned, text: () => string): ReadonlyArray<string> => concerns(who, concerned) ? [text()] : []
  switch (event.event) {
    case "Traded":
      return line(
        { orders: [event.makerOrder, event.takerOrder], accounts: [event.makerAccount, event.takerAccount], markets: [event.market] },
        () => trade(state, event, who)
      )
    case "OrderRested": {
      const { account, market } = ownerOf(state, event.orderNumber)
      return line(
        { orders: [event.orderNumber], accounts: [account], markets: [market] },
        () => `${Ids.orderId(event.orderNumber)} rests with ${sizeOf(state, market, event.remainingAtoms)}`
      )
    }
    case "OrderTrimmed": {
      const { account, market } = ownerOf(state, event.orderNumber)
      return line(
        { orders: [event.orderNumber], accounts: [account], markets: [market] },
        () =>
          `${Ids.orderId(event.orderNumber)} trimmed by ${sizeOf(state, market, event.byAtoms)} to `
          + `${sizeOf(state, market, event.remainingAtoms)}: reduce-only orders fit the position`
      )
    }
    case "OrderEnded": {
      const { account, market } = ownerOf(state, event.orderNumber)
      return line(
        { orders: [event.orderNumber], accounts: [account], markets: [market] },
        () =>
          `${Ids.orderId(event.orderNumber)} ended ${named(event.status, Order.statuses)}`
          + `${event.cancelReason === 0 ? "" : ` (${named(event.cancelReason, Order.cancelReasons)})`}`
          + `: ${sizeOf(state, market, event.filledAtoms)} filled, ${sizeOf(state, market, event.canceledAtoms)} cancelled`
      )
    }
    case "PositionChanged":
      return line(
        { accounts: [event.account], markets: who.account < 0 ? [event.market] : [] },
        () =>
          `${accountName(state, event.account)} position ${sizeOf(state, event.market, event.quantityAtoms)} ${marketName(state, event.market)}`
          + `, entry notional ${Format.money(event.entryNotionalAtoms)}, realised ${Format.money(event.realizedPnlAtoms)}`
          + `, fees ${Format.money(event.feesPaidAtoms)}`
      )
    case "CollateralChanged":
      return line(
        { accounts: [event.account] },
        () => `${accountName(state, event.account)} collateral ${Format.money(event.collateralAtoms)}`
      )
    case "MarketPut":
      return line({ markets: [event.market] }, () => `${marketName(state, event.market)} ${event.created === 1 ? "created" : "updated"}`)
    case "MarketStatusSet":
      return line({ markets: [event.market] }, () => `${marketName(state, event.market)} is ${named(event.status, Market.statuses)}`)
    case "IndexPriceSet":
      return line(
        { markets: [event.market] },
        () =>
          `${marketName(state, event.market)} index ${priceOf(state, event.market, event.priceAtoms)}`
          + ` seen ${Format.time(event.sourceEpochMs)}`
      )
    case "HaltSet":
      return line(
        { accounts: [who.account], markets: [who.market] },
        () => event.halted === 1 ? "trading halted by the operator" : "trading resumed by the operator"
      )
    case "AccountOpened":
      return line({ accounts: [event.account] }, () => `${accountName(state, event.account)} opened`)
    case "Credited":
      return line({ accounts: [event.account] }, () => `${accountName(state, event.account)} credited ${Format.money(event.amountAtoms)}`)
    case "ApiKeyIssued":
      return line(
        { accounts: [event.account] },
        () =>
          `${accountName(state, event.account)} given ${state.accounts.apiKeys[event.apiKey]!.keyId}`
          + ` (${scopes(event.scopes)}), until ${Format.time(event.expiresAtEpochMs)}`
      )
    case "VenueOpened":
      return line({}, () => `the venue opened for ${state.environment}, under rules ${event.rules}`)
    // Told with the command.
    case "OrderAccepted":
    case "EntryDecided":
    case "RecordDecided":
      return []
  }
}

const scopes = (bits: number): string =>
  [...((bits & Command.scopeRead) === 0 ? [] : ["read"]), ...((bits & Command.scopeTrade) === 0 ? [] : ["trade"])].join(", ")

type Traded = Extract<DecodedEvent, { event: "Traded" }>

/** A trade, from the order's side where the story is an order's. */
const trade = (state: State, event: Traded, who: Who): string => {
  const { market, priceAtoms, sizeAtoms } = event
  const factor = state.markets[market]!.factor
  const what = `${sizeOf(state, market, sizeAtoms)} at ${priceOf(state, market, priceAtoms)} for ${Format.money(priceAtoms * sizeAtoms * factor)}`
  const maker = { id: Ids.orderId(event.makerOrder), account: accountName(state, event.makerAccount), fee: Format.money(event.makerFeeAtoms) }
  const taker = { id: Ids.orderId(event.takerOrder), account: accountName(state, event.takerAccount), fee: Format.money(event.takerFeeAtoms) }
  if (who.orderNumber === event.makerOrder) return `filled ${what} as maker, fee ${maker.fee}, by ${taker.id} of ${taker.account}`
  if (who.orderNumber === event.takerOrder) return `filled ${what} as taker, fee ${taker.fee}, from ${maker.id} of ${maker.account}`
  const verb = event.takerSide === Order.buy ? "bought" : "sold"
  return `${taker.id} of ${taker.account} ${verb} ${what} (fee ${taker.fee}); maker ${maker.id} of ${maker.account} (fee ${maker.fee})`
}
