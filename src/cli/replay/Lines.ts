/** A record's request and decisions as lines of text: all of them, or those that concern one order, account or market. */
import * as Ids from "../../domain/Ids.js"
import * as Market from "../../domain/Market.js"
import * as Order from "../../domain/Order.js"
import { none } from "../../domain/None.js"
import * as Session from "../../domain/Session.js"
import { triggerPrices } from "../../domain/Trigger.js"
import { bracketEnds } from "../../engine/accounts/Bracketing.js"
import type { DecodedEvent } from "../../engine/EventLog.js"
import { delistingStates } from "../../engine/markets/Delisting.js"
import * as Mark from "../../engine/markets/Mark.js"
import type { State } from "../../engine/State.js"
import type { Record } from "../../journal/Record.js"
import { scopeRead, scopeTrade } from "../../operations/identity/KeyGrant.js"
import type { Outcome } from "../../operations/Operations.js"
import { commandLines } from "./CommandLines.js"
import * as Format from "./Format.js"
import { fundsLines, isFundsEvent } from "./FundsLines.js"
import { identityLines, isIdentityEvent } from "./IdentityLines.js"
import { inLine } from "../Visible.js"
import { accountName, concerns, everyone, marketName, named, ownerOf, priceOf, sizeOf, type Who } from "./Names.js"

/** Everything a record did to a subject, for a state that has just applied it. */
export const linesOf = (
  state: State,
  record: Record,
  outcome: Outcome,
  events: ReadonlyArray<DecodedEvent>,
  who: Who
): ReadonlyArray<string> =>
  [
    ...commandLines(state, record.command, outcome, who),
    ...events.flatMap((event) => isFundsEvent(event) ? fundsLines(state, record.command, event, who) : eventLines(state, event, who))
  ].map(inLine)

/** Everything a record did. */
export const allLinesOf = (
  state: State,
  record: Record,
  outcome: Outcome,
  events: ReadonlyArray<DecodedEvent>
): ReadonlyArray<string> => linesOf(state, record, outcome, events, everyone)

/** Events that are described by their own fields alone. */
type OtherEvent = Exclude<DecodedEvent, Parameters<typeof fundsLines>[2]>

const eventLines = (state: State, event: OtherEvent, who: Who): ReadonlyArray<string> => {
  if (isIdentityEvent(event)) return identityLines(state, event, who)
  switch (event.event) {
    case "Traded":
    case "OrderRested":
    case "OrderTrimmed":
    case "OrderEnded":
    case "OrderTermsChanged":
      return orderLines(state, event, who)
    case "PositionChanged":
    case "CollateralChanged":
    case "AccountOpened":
    case "Credited":
    case "ApiKeyIssued":
    case "FundingPaid":
      return accountLines(state, event, who)
    case "MarketPut":
    case "MarketStatusSet":
    case "IndexPriceSet":
    case "IndexPriceHeld":
    case "MarkSet":
    case "FundingSet":
    case "MarketAnnounced":
    case "MarketTookEffect":
    case "MarketDelisting":
    case "MarketSessionSet":
      return concerns(who, { markets: [event.market] }) ? [`${marketName(state, event.market)} ${marketChange(state, event)}`] : []
    case "HaltSet":
      return concerns(who, { accounts: [who.account], markets: [who.market] })
        ? [event.halted === 1 ? "trading halted by the operator" : "trading resumed by the operator"]
        : []
    case "RetentionSet":
      return concerns(who, { accounts: [who.account] }) ? [`what is decided is remembered for ${event.retentionMs / 60_000} minutes`] : []
    case "VenueStarted":
      return concerns(who, {}) ? [`the venue went on with ${state.program}, under rules ${event.rules}`] : []
    case "VenueOpened":
      return concerns(who, {}) ? [`the venue opened for ${state.environment}, under rules ${event.rules}`] : []
    case "OrdersCanceled":
      return concerns(who, { accounts: [event.account] }) ? [`${event.orders} open orders cancelled at once`] : []
    case "SwitchSet":
      return concerns(who, { accounts: [event.account] })
        ? [event.atEpochMs === 0 ? "dead-man switch disarmed" : `dead-man switch armed for ${Format.time(event.atEpochMs)}`]
        : []
    case "SwitchFired":
      return concerns(who, { accounts: [event.account] }) ? [`dead-man switch fired: ${event.orders} orders cancelled`] : []
    case "LeverageSet":
      return concerns(who, { accounts: [event.account], markets: [event.market] })
        ? [`leverage in ${marketName(state, event.market)} set to ${event.leverageX}`]
        : []
    case "BracketOpened":
    case "BracketResized":
    case "TriggerFired":
    case "BracketEnded":
      return bracketLines(state, event, who)
    case "Fenced":
      return concerns(who, { accounts: [event.account] }) ? ["an identity that was never seen is fenced from now on"] : []
    case "LiquidationBegun":
    case "LiquidationOrdered":
    case "LiquidationFeePaid":
    case "TakenOver":
    case "TakeoverDifferencePaid":
    case "DeleveragingBegun":
    case "Deleveraged":
    case "LiquidationEnded":
      return liquidationLines(state, event, who)
    case "Settled":
      return concerns(who, { accounts: [event.account, event.counterparty], markets: [event.market] }) ? [settlement(state, event)] : []
    case "FundUnwound":
      return concerns(who, { orders: [event.orderNumber], accounts: [state.accounts.find(Ids.insuranceFundId)], markets: [event.market] })
        ? [unwinding(state, event)]
        : []
    // Described with the command, or nothing to describe.
    case "TimePassed":
    case "OrderAccepted":
    case "EntryDecided":
    case "RecordDecided":
      return []
  }
}

const unwinding = (state: State, { market, orderNumber, quantityAtoms }: Event<"FundUnwound">): string =>
  `the insurance fund unwinds ${sizeOf(state, market, quantityAtoms)} ${marketName(state, market)} with ${Ids.orderId(orderNumber)}`

type Event<Name extends DecodedEvent["event"]> = Extract<DecodedEvent, { event: Name }>

const orderLines = (
  state: State,
  event: Event<"Traded" | "OrderRested" | "OrderTrimmed" | "OrderEnded" | "OrderTermsChanged">,
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
    case "OrderTermsChanged":
      return [
        `${id} changed to ${size(event.quantityAtoms)} at ${priceOf(state, market, event.priceAtoms)}, ${size(event.remainingAtoms)} left`
      ]
  }
}

const bracketLines = (
  state: State,
  event: Event<"BracketOpened" | "BracketResized" | "TriggerFired" | "BracketEnded">,
  who: Who
): ReadonlyArray<string> => {
  const { account, bracket, market } = event
  const orders = event.event === "TriggerFired" ? [bracket, event.orderNumber] : [bracket]
  return concerns(who, { orders, accounts: [account], markets: [market] })
    ? [`${Ids.triggerId(bracket)} of ${accountName(state, account)} in ${marketName(state, market)} ${bracketChange(state, event)}`]
    : []
}

const triggerNames = ["take-profit", "stop-loss"] as const

const bracketChange = (state: State, event: Parameters<typeof bracketLines>[1]): string => {
  const price = (atoms: number): string => priceOf(state, event.market, atoms)
  const size = (atoms: number): string => sizeOf(state, event.market, atoms)
  const trigger = (name: string, atoms: number, by: number, limit: number): ReadonlyArray<string> =>
    atoms === 0 ? [] : [`${name} at ${named(by, triggerPrices)} ${price(atoms)}${limit === 0 ? "" : `, limit ${price(limit)}`}`]
  switch (event.event) {
    case "BracketOpened":
      return `is to close what is ${event.direction === 0 ? "long" : "short"}: ${
        [
          ...trigger(triggerNames[0], event.takeProfitAtoms, event.takeProfitBy, event.takeProfitLimitAtoms),
          ...trigger(triggerNames[1], event.stopLossAtoms, event.stopLossBy, event.stopLossLimitAtoms)
        ].join("; ")
      }`
    case "BracketResized":
      return `closes ${size(event.quantityAtoms)} from now on`
    case "TriggerFired": {
      const what = `fired its ${named(event.kind, triggerNames)} at ${price(event.priceAtoms)} for ${size(event.quantityAtoms)}`
      const limit = event.limitAtoms === 0 ? "" : ` at ${price(event.limitAtoms)} or better`
      return event.orderNumber < 0
        ? `${what}: nothing rests within its limit, it is armed again with the next second`
        : `${what}, by ${Ids.orderId(event.orderNumber)}${limit}`
    }
    case "BracketEnded":
      return `ended (${named(event.reason, bracketEnds)}), with ${size(event.quantityAtoms)} not closed`
  }
}

/** An account's equity and maintenance margin when its liquidation was decided. */
const standing = ({ equityAtoms, maintenanceMarginAtoms }: { equityAtoms: number; maintenanceMarginAtoms: number }): string =>
  `equity ${Format.money(equityAtoms)} of ${Format.money(maintenanceMarginAtoms)} maintenance margin`

const liquidationLines = (
  state: State,
  event: Event<
    | "LiquidationBegun"
    | "LiquidationOrdered"
    | "LiquidationFeePaid"
    | "TakenOver"
    | "TakeoverDifferencePaid"
    | "DeleveragingBegun"
    | "Deleveraged"
    | "LiquidationEnded"
  >,
  who: Who
): ReadonlyArray<string> => {
  const accounts = event.event === "Deleveraged"
    ? [event.account, event.counterparty]
    : event.event === "TakenOver" || event.event === "TakeoverDifferencePaid"
    ? [event.account, state.accounts.find(Ids.insuranceFundId)]
    : [event.account]
  const markets = "market" in event ? [event.market] : []
  const orders = event.event === "LiquidationOrdered" ? [event.orderNumber] : []
  return concerns(who, { orders, accounts, markets }) ? [`${accountName(state, event.account)} ${liquidationStep(state, event)}`] : []
}

/** An account's positions, with the marks that value them and the inputs of these. */
const heldBy = (state: State, account: number): ReadonlyArray<string> => {
  const { markets, positions } = state
  return markets.flatMap((market) => {
    const slot = positions.find(account, market.index)
    if (slot < 0 || positions.quantity(slot) === 0) return []
    const price = (atoms: number): string => priceOf(state, market.index, atoms)
    const held = `${sizeOf(state, market.index, positions.quantity(slot))} ${marketName(state, market.index)} at mark ${price(market.mark)}`
    const inputs = Mark.inputsOf(state, market)
    // Orders that the record removed after the mark was made may have been part of it.
    if (Mark.ofInputs(inputs) !== market.mark) return [`${held}, index ${price(market.indexPrice)}`]
    const { high, low, p1, p2, p3 } = inputs
    return [
      `${held}, the median of ${price(p1)}, ${price(p2)} and ${price(p3)} within ${price(low)} to ${price(high)} of index ${
        price(market.indexPrice)
      }`
    ]
  })
}

const liquidationStep = (state: State, event: Parameters<typeof liquidationLines>[1]): string => {
  if (event.event === "LiquidationBegun") {
    return [`is under liquidation: ${standing(event)}`, ...heldBy(state, event.account)].join("; ")
  }
  if (event.event === "LiquidationEnded") return `is no longer under liquidation: ${standing(event)}`
  const market = marketName(state, event.market)
  const size = (atoms: number): string => `${sizeOf(state, event.market, atoms)} ${market}`
  const price = (atoms: number): string => priceOf(state, event.market, atoms)
  switch (event.event) {
    case "LiquidationOrdered":
      return `has ${size(event.quantityAtoms)} liquidated by ${Ids.orderId(event.orderNumber)}, at ${
        price(event.bankruptcyPriceAtoms)
      } or better`
        + ` (mark ${price(event.markAtoms)}, ${standing(event)})`
    case "LiquidationFeePaid":
      return `pays ${Format.money(event.feeAtoms)} to the insurance fund for its liquidation in ${market}`
    case "TakenOver":
      return `has ${size(event.sizeAtoms)} taken over by the insurance fund at ${price(event.priceAtoms)}`
        + ` (mark ${price(event.markAtoms)}, ${standing(event)})`
    case "TakeoverDifferencePaid":
      return `${event.paidAtoms > 0 ? "is paid" : "pays"} ${Format.money(Math.abs(event.paidAtoms))} ${
        event.paidAtoms > 0 ? "by" : "to"
      } the insurance fund, since ${market} has no such price`
    case "DeleveragingBegun":
      return `has ${size(event.sizeAtoms)} to be deleveraged at ${price(event.priceAtoms)} (mark ${price(event.markAtoms)}, ${
        standing(event)
      })`
    case "Deleveraged":
      return `has ${size(event.sizeAtoms)} closed at ${price(event.priceAtoms)} against ${accountName(state, event.counterparty)}`
        + `, number ${event.rank} of the ranking`
  }
}

const accountLines = (
  state: State,
  event: Event<"PositionChanged" | "CollateralChanged" | "AccountOpened" | "Credited" | "ApiKeyIssued" | "FundingPaid">,
  who: Who
): ReadonlyArray<string> => {
  const markets = event.event === "PositionChanged" || event.event === "FundingPaid" ? [event.market] : []
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
    case "FundingPaid":
      return event.paidAtoms >= 0
        ? `pays funding ${Format.money(event.paidAtoms)} in ${marketName(state, event.market)}`
        : `receives funding ${Format.money(-event.paidAtoms)} in ${marketName(state, event.market)}`
    case "AccountOpened":
      return "opened"
    case "Credited":
      return `credited ${Format.money(event.amountAtoms)}`
    case "ApiKeyIssued": {
      const { keyId } = state.apiKeys.at(event.apiKey)
      return `given ${keyId} (${scopes(event.scopes)}), until ${Format.time(event.expiresAtEpochMs)}`
    }
  }
}

/** How many accounts an announcement would affect, where that was counted. */
const touchedBy = (underInitialMargin: number, underMaintenanceMargin: number): string =>
  underInitialMargin === none
    ? "its holders are too many to be counted with it"
    : `by now ${underInitialMargin} holders would be under their initial and ${underMaintenanceMargin} under their maintenance margin`

const marketChange = (
  state: State,
  event: Event<
    | "MarketPut"
    | "MarketStatusSet"
    | "IndexPriceSet"
    | "IndexPriceHeld"
    | "MarkSet"
    | "FundingSet"
    | "MarketAnnounced"
    | "MarketTookEffect"
    | "MarketDelisting"
    | "MarketSessionSet"
  >
): string => {
  switch (event.event) {
    case "MarketPut":
      return event.created === 1 ? "created" : "updated"
    case "MarketAnnounced":
      return event.effectiveAtEpochMs === 0
        ? "takes back what was announced"
        : `announces parameters for ${Format.time(event.effectiveAtEpochMs)}; ${
          touchedBy(event.underInitialMargin, event.underMaintenanceMargin)
        }`
    case "MarketTookEffect":
      return "has the parameters that were announced"
    case "MarketDelisting":
      return delisting(state, event)
    case "MarketSessionSet":
      return `${sessionTexts[named(event.state, Session.states)] ?? ""}${sessionMoments(event)}`
    case "MarketStatusSet":
      return `is ${named(event.status, Market.statuses)}`
    case "IndexPriceHeld":
      return `index step to ${priceOf(state, event.market, event.priceAtoms)} held back, seen ${Format.time(event.sourceEpochMs)}`
    case "MarkSet":
      return `mark ${priceOf(state, event.market, event.priceAtoms)}`
    case "FundingSet":
      return `funding ${event.rate8hE9} x 10^-9 per 8 h for the interval to ${Format.time(event.atEpochMs)}`
        + `, at index ${priceOf(state, event.market, event.indexPriceAtoms)}, from ${event.samples} samples`
    case "IndexPriceSet":
      return `index ${priceOf(state, event.market, event.priceAtoms)} seen ${Format.time(event.sourceEpochMs)}`
  }
}

/** The states of a session in words, by name. */
const sessionTexts: { readonly [state: string]: string } = {
  open: "session open",
  reduce_only: "session past its cutoff, taking only what reduces",
  closed: "session closed"
}

/** The coming times of a session, as far as they are known. */
const sessionMoments = ({ cutoffEpochMs, nextCloseEpochMs, nextOpenEpochMs }: Event<"MarketSessionSet">): string =>
  ([["opens", nextOpenEpochMs], ["cutoff", cutoffEpochMs], ["closes", nextCloseEpochMs]] as const)
    .filter(([, atEpochMs]) => atEpochMs !== 0)
    .map(([what, atEpochMs]) => `, ${what} ${Format.time(atEpochMs)}`)
    .join("")

const scopes = (bits: number): string =>
  [...((bits & scopeRead) === 0 ? [] : ["read"]), ...((bits & scopeTrade) === 0 ? [] : ["trade"])].join(", ")

/** The state of a market's delisting. */
const delisting = (state: State, event: Event<"MarketDelisting">): string => {
  switch (named(event.became, delistingStates)) {
    case "withdrawn":
      return "is not to be delisted any more"
    case "announced":
      return `is to be delisted at ${Format.time(event.effectiveAtEpochMs)}`
    case "settled":
      return "is settled: nothing is held in it any more"
    default:
      return event.finalPriceAtoms === 0
        ? "is delisted: it never had an index, and nobody holds anything in it"
        : `is delisted: its final price is ${priceOf(state, event.market, event.finalPriceAtoms)}`
  }
}

const settlement = (state: State, { account, counterparty, market, priceAtoms, sizeAtoms }: Event<"Settled">): string =>
  `${accountName(state, account)} has ${sizeOf(state, market, sizeAtoms)} ${marketName(state, market)} closed at the final price of ${
    priceOf(state, market, priceAtoms)
  }, against ${accountName(state, counterparty)}`

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
