/** What a record asked for and decided, as lines of text: all of it, or what concerns one order, account or market. */
import * as Command from "../../domain/Command.js"
import * as Ids from "../../domain/Ids.js"
import * as Market from "../../domain/Market.js"
import * as Order from "../../domain/Order.js"
import { describe, type Refusal } from "../../domain/Refusal.js"
import { absent, type DecodedEvent } from "../../engine/EventLog.js"
import type { State } from "../../engine/State.js"
import type { Record } from "../../journal/Record.js"
import * as Format from "./Format.js"

/** The subject by engine numbers; -1 for what it is not, or not yet. */
export interface Who {
  readonly orderNumber: number
  readonly account: number
  readonly market: number
}

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

type Decided = Event<"EntryDecided">

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
  account >= 0 && account < state.accounts.count ? Ids.accountId(state.accounts.born(account)) : `account ${account}`

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
  return slot < 0 ? { market: -1, account: -1 } : { market: state.orders.market(slot), account: state.orders.account(slot) }
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
  switch (event.event) {
    case "Traded":
    case "OrderRested":
    case "OrderTrimmed":
    case "OrderEnded":
      return orderLines(state, event, who)
    case "PositionChanged":
    case "CollateralChanged":
    case "AccountOpened":
    case "Credited":
    case "ApiKeyIssued":
      return accountLines(state, event, who)
    case "MarketPut":
    case "MarketStatusSet":
    case "IndexPriceSet":
      return concerns(who, { markets: [event.market] })
        ? [`${marketName(state, event.market)} ${marketChange(state, event)}`]
        : []
    case "HaltSet":
      return concerns(who, { accounts: [who.account], markets: [who.market] })
        ? [event.halted === 1 ? "trading halted by the operator" : "trading resumed by the operator"]
        : []
    case "VenueOpened":
      return concerns(who, {}) ? [`the venue opened for ${state.environment}, under rules ${event.rules}`] : []
    case "OrderAmended":
      return orderLines(state, event, who)
    case "OrdersCanceled":
      return concerns(who, { accounts: [event.account] }) ? [`${event.orders} open orders cancelled at once`] : []
    case "SwitchSet":
      return concerns(who, { accounts: [event.account] })
        ? [event.atEpochMs === 0 ? "dead-man switch disarmed" : `dead-man switch armed for ${Format.time(event.atEpochMs)}`]
        : []
    case "SwitchFired":
      return concerns(who, { accounts: [event.account] }) ? [`dead-man switch fired: ${event.orders} orders cancelled`] : []
    case "Fenced":
      return concerns(who, { accounts: [event.account] }) ? ["an identity that was never seen is fenced from now on"] : []
    // Told with the command, or nothing to tell.
    case "TimePassed":
    case "OrderAccepted":
    case "EntryDecided":
    case "RecordDecided":
      return []
  }
}

type Event<Name extends DecodedEvent["event"]> = Extract<DecodedEvent, { event: Name }>

const orderLines = (
  state: State,
  event: Event<"Traded" | "OrderRested" | "OrderTrimmed" | "OrderEnded" | "OrderAmended">,
  who: Who
): ReadonlyArray<string> => {
  if (event.event === "Traded") {
    const { makerAccount, makerOrder, market, takerAccount, takerOrder } = event
    const concerned = { orders: [makerOrder, takerOrder], accounts: [makerAccount, takerAccount], markets: [market] }
    return concerns(who, concerned) ? [trade(state, event, who)] : []
  }
  const { account, market } = ownerOf(state, event.orderNumber)
  if (!concerns(who, { orders: [event.orderNumber], accounts: [account], markets: [market] })) return []
  const size = (atoms: number): string => sizeOf(state, market, atoms)
  const id = Ids.orderId(event.orderNumber)
  switch (event.event) {
    case "OrderRested":
      return [`${id} rests with ${size(event.remainingAtoms)}`]
    case "OrderTrimmed":
      return [`${id} trimmed by ${size(event.byAtoms)} to ${size(event.remainingAtoms)}: reduce-only orders fit the position`]
    case "OrderEnded": {
      const reason = event.cancelReason === 0 ? "" : ` (${named(event.cancelReason, Order.cancelReasons)})`
      const came = `${size(event.filledAtoms)} filled, ${size(event.canceledAtoms)} cancelled`
      return [`${id} ended ${named(event.status, Order.statuses)}${reason}: ${came}`]
    }
    case "OrderAmended":
      return [
        `${id} amended to ${size(event.quantityAtoms)} at ${priceOf(state, market, event.priceAtoms)}, ${size(event.remainingAtoms)} left`
      ]
  }
}

const accountLines = (
  state: State,
  event: Event<"PositionChanged" | "CollateralChanged" | "AccountOpened" | "Credited" | "ApiKeyIssued">,
  who: Who
): ReadonlyArray<string> => {
  const markets = event.event === "PositionChanged" ? [event.market] : []
  return concerns(who, { accounts: [event.account], markets })
    ? [`${accountName(state, event.account)} ${accountChange(state, event)}`]
    : []
}

const accountChange = (state: State, event: Parameters<typeof accountLines>[1]): string => {
  switch (event.event) {
    case "PositionChanged":
      return `position ${sizeOf(state, event.market, event.quantityAtoms)} ${marketName(state, event.market)}`
        + `, entry notional ${Format.money(event.entryNotionalAtoms)}, realised ${Format.money(event.realizedPnlAtoms)}`
        + `, fees ${Format.money(event.feesPaidAtoms)}`
    case "CollateralChanged":
      return `collateral ${Format.money(event.collateralAtoms)}`
    case "AccountOpened":
      return "opened"
    case "Credited":
      return `credited ${Format.money(event.amountAtoms)}`
    case "ApiKeyIssued": {
      const { keyId } = state.accounts.apiKeys[event.apiKey]!
      return `given ${keyId} (${scopes(event.scopes)}), until ${Format.time(event.expiresAtEpochMs)}`
    }
  }
}

const marketChange = (state: State, event: Event<"MarketPut" | "MarketStatusSet" | "IndexPriceSet">): string => {
  switch (event.event) {
    case "MarketPut":
      return event.created === 1 ? "created" : "updated"
    case "MarketStatusSet":
      return `is ${named(event.status, Market.statuses)}`
    case "IndexPriceSet":
      return `index ${priceOf(state, event.market, event.priceAtoms)} seen ${Format.time(event.sourceEpochMs)}`
  }
}

const scopes = (bits: number): string =>
  [...((bits & Command.scopeRead) === 0 ? [] : ["read"]), ...((bits & Command.scopeTrade) === 0 ? [] : ["trade"])].join(", ")

/** A trade, from the order's side where the story is an order's. */
const trade = (state: State, event: Event<"Traded">, who: Who): string => {
  const { market, priceAtoms, sizeAtoms } = event
  const notional = Format.money(priceAtoms * sizeAtoms * state.markets[market]!.factor)
  const what = `${sizeOf(state, market, sizeAtoms)} at ${priceOf(state, market, priceAtoms)} for ${notional}`
  const maker = `${Ids.orderId(event.makerOrder)} of ${accountName(state, event.makerAccount)}`
  const taker = `${Ids.orderId(event.takerOrder)} of ${accountName(state, event.takerAccount)}`
  const makerFee = Format.money(event.makerFeeAtoms)
  const takerFee = Format.money(event.takerFeeAtoms)
  if (who.orderNumber === event.makerOrder) return `filled ${what} as maker, fee ${makerFee}, by ${taker}`
  if (who.orderNumber === event.takerOrder) return `filled ${what} as taker, fee ${takerFee}, from ${maker}`
  const verb = event.takerSide === Order.buy ? "bought" : "sold"
  return `${taker} ${verb} ${what} (fee ${takerFee}); maker ${maker} (fee ${makerFee})`
}
