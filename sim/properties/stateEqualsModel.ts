/**
 * Safety (I4, and with it the accept rule, fees, PnL and liquidation). After every record the engine's orders, positions with their
 * episodes, balances, accounts under liquidation, and reports on its markets are those of the reference model; from time to time
 * everything is compared, otherwise what the record touched. A refused order is not told a nearest value that would be refused as well.
 */
import { anyMarket, none } from "../../src/domain/None.js"
import type { BalanceView, Fill, MarginView, OrderView } from "../../src/engine/Reads.js"
import { open } from "../../src/domain/Order.js"
import { liquidationPrice, type NaiveMargin } from "../model/NaiveMoney.js"
import { isKept, type NaiveAccount, type NaiveChange, type NaiveFill, type NaiveMarket, type NaiveOrder } from "../model/NaiveState.js"
import * as Risk from "../model/NaiveRisk.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Shown from "../model/Shown.js"
import type { Glance } from "./Glance.js"
import { firstDifference, type Pair } from "./Difference.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

const orderVerdict = (view: OrderView | undefined, order: NaiveOrder): Verdict => {
  const name = `order ${order.number} of account ${order.account}`
  if (view === undefined) return broken(`${name} is unknown to the engine`)
  return firstDifference(name, [
    ["market", view.market, order.market],
    ["status", view.status, order.status],
    ["cancel reason", view.cancelReason, order.cancelReason],
    ["side", view.side, order.side],
    ["type", view.type, order.type],
    ["price", view.priceAtoms, order.price],
    ["quantity", view.quantityAtoms, order.quantity],
    ["filled", view.filledAtoms, order.filled],
    ["filled notional", BigInt(view.filledNotionalAtoms), order.filledNotional],
    ["canceled", view.canceledAtoms, order.canceled],
    ["reduce-only", view.reduceOnly, order.reduceOnly],
    ["post-only", view.postOnly, order.postOnly],
    ["time in force", view.timeInForce, order.timeInForce],
    ["self-trade prevention", view.selfTradePrevention, order.selfTradePrevention],
    ["expiry", view.expiresAtEpochMs, order.status === open ? order.expiresAtEpochMs : 0],
    ["clientOrderId", view.clientOrderId, order.clientOrderId],
    ["idempotency key", view.idempotencyKey, order.idempotencyKey],
    ["created at", view.createdAtEpochMs, order.createdAtEpochMs],
    ["updated at", view.updatedAtEpochMs, order.updatedAtEpochMs],
    ["last sequence", view.lastSequence, order.lastSequence]
  ])
}

/** An account's equity and requirements, as the engine reports them in a balance and in a preview. */
const marginPairs = (view: Omit<MarginView, "quantityAtoms" | "liquidationPriceAtoms">, margin: NaiveMargin): ReadonlyArray<Pair> => [
  ["equity", BigInt(view.equityAtoms), margin.equity],
  ["margin equity", BigInt(view.marginEquityAtoms), margin.marginEquity],
  ["initial margin", BigInt(view.initialMarginAtoms), margin.initialMargin],
  ["maintenance margin", BigInt(view.maintenanceMarginAtoms), margin.maintenanceMargin],
  ["order loss", BigInt(view.orderLossAtoms), margin.orderLoss],
  ["available", BigInt(view.availableAtoms), freeOf(margin)]
]

/** The equity that no position and no order requires. */
const freeOf = ({ initialMargin, marginEquity, orderLoss }: NaiveMargin): bigint => {
  const free = marginEquity - orderLoss - initialMargin
  return free > 0n ? free : 0n
}

const balanceVerdict = (view: BalanceView, account: NaiveAccount, model: NaiveVenue): Verdict => {
  const margin = model.margin(account, undefined)
  return firstDifference(`account ${account.index}`, [
    ["collateral", BigInt(view.collateralAtoms), account.collateral],
    ["unrealised PnL", BigInt(view.unrealizedPnlAtoms), margin.unrealizedPnl],
    ...marginPairs(view, margin),
    ["withdrawable", BigInt(view.withdrawableAtoms), model.isStuck(account) ? 0n : freeOf(margin)],
    ["under liquidation", view.isUnderLiquidation, account.liquidation !== undefined],
    ["last sequence", view.lastSequence, account.lastSequence]
  ])
}

/** Compares the present state of an account in a preview, with each of its positions. */
const marginBeforeVerdict = (reads: Glance, model: NaiveVenue, account: NaiveAccount): Verdict => {
  const margin = model.margin(account, undefined)
  for (const [market, { quantity }] of account.positions) {
    const view = reads.marginBefore(account.index, market)
    const verdict = firstDifference(`account ${account.index} before an order in market ${market}`, [
      ...marginPairs(view, margin),
      ["quantity", view.quantityAtoms, quantity],
      ["liquidation price", view.liquidationPriceAtoms, liquidationPrice(model.markets, account, model.markets[market]!)]
    ])
    if (verdict !== undefined) return verdict
  }
  return holds
}

/** Checks that an account with unsettled funding is reported as having paid it. */
const owingVerdict = (reads: Glance, model: NaiveVenue): Verdict => {
  for (const account of model.owing) {
    const verdict = balanceVerdict(reads.balance(account.index), account, model) ?? marginBeforeVerdict(reads, model, account)
    if (verdict !== undefined) return verdict
  }
  return holds
}

/** Compares the triggers of an account's positions. */
const bracketsVerdict = (reads: Glance, model: NaiveVenue, account: number): Verdict => {
  const views = reads.brackets(account, anyMarket)
  const expected = model.markets.flatMap((market) => model.brackets.of(account, market.index))
  if (views.length !== expected.length) {
    return broken(`account ${account} has ${views.length} brackets in the engine, ${expected.length} in the model`)
  }
  for (let index = 0; index < views.length; index++) {
    const view = views[index]!
    const bracket = expected[index]!
    const verdict = firstDifference(`bracket ${bracket.number} of account ${account}`, [
      ["number", view.number, bracket.number],
      ["market", view.market, bracket.market],
      ["direction", view.isLong, bracket.isLong],
      ["quantity", view.quantityAtoms, bracket.quantity],
      ["came with an order", view.cameWithOrder, bracket.cameWithOrder],
      ["armed again at", view.againAtEpochMs, bracket.again],
      ["triggers", JSON.stringify(view.autoClose), JSON.stringify(bracket.autoClose)],
      ["created at", view.createdAtEpochMs, bracket.createdAtEpochMs],
      ["last sequence", view.lastSequence, bracket.lastSequence]
    ])
    if (verdict !== undefined) return verdict
  }
  return holds
}

/**
 * Compares the last funding payment, where the venue still keeps any of the account: no rule says which payments of one record it forgets
 * first.
 */
const paymentVerdict = (reads: Glance, { published: { kept, payments } }: NaiveVenue, index: number): Verdict | undefined => {
  const [view] = reads.fundingPayments(index, 1)
  if (view === undefined && payments.length > kept.payments) return holds
  const lastPayment = payments.findLast(({ account }) => account === index)
  return firstDifference(`the last funding payment of account ${index}`, [
    ["market", view?.market, lastPayment?.market],
    ["sequence", view?.sequence, lastPayment?.sequence],
    ["interval's end", view?.endedAtEpochMs, lastPayment?.endedAtEpochMs],
    ["quantity", view?.quantityAtoms, lastPayment?.quantity],
    ["index", view?.indexPriceAtoms, lastPayment?.index],
    ["rate", view === undefined ? undefined : BigInt(view.rate8hE9), lastPayment?.rate8h],
    ["interval", view?.intervalMs, lastPayment?.intervalMs],
    ["paid", view === undefined ? undefined : BigInt(view.paidAtoms), lastPayment?.paid]
  ])
}

/**
 * Compares every kept change of an account's balance, newest first. A run has so few positions that funding is settled with the record
 * that fixes it.
 */
const ledgerVerdict = (reads: Glance, { index, ledger }: NaiveAccount, { accounts, published: { kept } }: NaiveVenue): Verdict => {
  const worded = ({ amount, atEpochMs, balance, cause, market, sequence }: NaiveChange): string =>
    `${cause} of ${amount} in market ${market} to ${balance} by record ${sequence} at ${atEpochMs}`
  const told = reads.balanceChanges(index, 1_000_000).map(({ amountAtoms, balanceAtoms, ...each }) =>
    worded({ ...each, amount: BigInt(amountAtoms), balance: BigInt(balanceAtoms) })
  )
  // A fixed number is kept of all accounts together: no rule says which of one record are forgotten first.
  const isWhole = accounts.reduce((sum, each) => sum + each.ledger.length, 0) <= kept.changes
  const made = (isWhole ? ledger : ledger.slice(ledger.length - told.length)).toReversed().map(worded)
  const at = [...told, ""].findIndex((each, place) => each !== (made[place] ?? ""))
  return at === -1 && told.length === made.length
    ? holds
    : broken(`the ledger of account ${index} tells ${told[at] ?? "nothing more"}, the model has ${made[at] ?? "nothing more"}`)
}

const accountVerdict = (reads: Glance, model: NaiveVenue, index: number): Verdict => {
  const account = model.accounts[index]
  if (account === undefined) return holds
  const positions = reads.positions(index)
  if (positions.length !== account.positions.size) {
    return broken(`account ${index} has ${positions.length} positions in the engine, ${account.positions.size} in the model`)
  }
  for (const view of positions) {
    const position = account.positions.get(view.market)
    const episode = account.episodes.get(view.market)
    const verdict = firstDifference(`position of account ${index} in market ${view.market}`, [
      ["quantity", view.quantityAtoms, position?.quantity],
      ["entry notional", BigInt(view.entryNotionalAtoms), position?.entryNotional],
      ["episode", view.born, episode?.ordinal],
      ["opening time", view.openedAtEpochMs, episode?.openedAtEpochMs],
      ["realised PnL", BigInt(view.realizedPnlAtoms), episode?.realizedPnl],
      ["fees", BigInt(view.feesPaidAtoms), episode?.feesPaid],
      ["liquidation price", view.liquidationPriceAtoms, liquidationPrice(model.markets, account, model.markets[view.market]!)],
      ["funding", BigInt(view.fundingPaidAtoms), episode?.fundingPaid],
      ["last sequence", view.lastSequence, episode?.lastSequence]
    ])
    if (verdict !== undefined) return verdict
  }
  for (const market of model.markets) {
    const set = reads.leverage(index, market.index)
    const expected = account.leverage.get(market.index) ?? 0
    if (set !== expected) return broken(`account ${index} has leverage ${set} in market ${market.index}, ${expected} in the model`)
  }
  const payment = paymentVerdict(reads, model, index)
  if (payment !== undefined) return payment
  const openOrders = reads.openOrders(index, anyMarket)
  if (openOrders.length !== account.open.length) {
    return broken(`account ${index} has ${openOrders.length} open orders in the engine, ${account.open.length} in the model`)
  }
  const bracketsWere = bracketsVerdict(reads, model, index)
  if (bracketsWere !== undefined) return bracketsWere
  const switchWas = firstDifference(`account ${index}`, [
    ["dead-man switch", reads.cancelAllAtEpochMs(index), account.cancelAllAtEpochMs],
    ["display handle", reads.account(index).displayHandle, account.displayHandle],
    ["next look", reads.liquidationEpochMs(index), model.nextLookEpochMs(account)]
  ])
  if (switchWas !== undefined) return switchWas
  return balanceVerdict(reads.balance(index), account, model)
}

/** Compares totals that belong to no account: no read shows them, and they limit what an operator may move into the insurance fund. */
const totalsVerdict = ({ totals: { credited, fees } }: Glance, { deposited, feesCollected }: NaiveVenue): Verdict =>
  firstDifference("the venue", [
    ["collected fees", fees, feesCollected],
    ["money credited", credited, deposited]
  ])

const tradesCompared = 200
/** Trades compared where only what a record touched is. */
const latestCompared = 5

/** Compares the engine's report on a market. */
const marketVerdict = (reads: Glance, market: NaiveMarket): Verdict => {
  const view = reads.market(market.index)
  return firstDifference(`market ${market.index}`, [
    ["status", view.status, market.status],
    ["session", view.session?.state, market.parameters.marketType === "crypto" ? undefined : Risk.sessionOf(market)],
    ["session's time", view.session?.asOfEpochMs ?? 0, market.session?.asOf ?? 0],
    ["next opening", view.session?.nextOpenEpochMs ?? 0, market.session?.opens ?? 0],
    ["next close", view.session?.nextCloseEpochMs ?? 0, market.session?.closes ?? 0],
    ["cutoff", view.session?.riskIncreasingOrderCutoffEpochMs ?? 0, market.session?.cutoff ?? 0],
    ["last price", view.lastPriceAtoms, market.lastPrice],
    ["index price", view.indexPriceAtoms, market.risk.index],
    ["index source", view.indexSourceEpochMs, market.risk.source],
    ["delisting", view.delisting?.state, market.delisting?.state],
    ["delisting's time", view.delisting?.effectiveAtEpochMs, market.delisting?.effectiveAtEpochMs],
    ["final price", view.delisting?.finalPriceAtoms, market.delisting?.finalPrice],
    ["settled at", view.delisting?.settledAtEpochMs, market.delisting?.settledAtEpochMs],
    ["book sequence", view.bookSequence, market.bookSequence],
    ["sequence", view.marketSequence, market.sequence]
  ])
}

/** Compares a market's last 24 h. */
const dayVerdict = (reads: Glance, model: NaiveVenue, market: NaiveMarket): Verdict => {
  const stats = reads.stats(market.index)
  const day = model.day(market, model.atEpochMs)
  const { predicted, predicted8h, rate, rate8h } = Shown.ratesAt(Shown.fundingOf(market), Shown.unpaid(model, market), model.atEpochMs)
  const openInterest = model.openInterest(market.index)
  return firstDifference(`the day of market ${market.index}`, [
    ["quote volume", stats.volumeQuoteAtoms, day.volumeQuote],
    ["base volume", stats.volumeBaseAtoms, day.volumeBase],
    ["high", stats.highAtoms, day.high],
    ["low", stats.lowAtoms, day.low],
    ["open", stats.openAtoms, day.open],
    ["change", stats.change24hBps, day.changeBps],
    ["last price", stats.lastPriceAtoms, market.lastPrice],
    ["open interest", stats.openInterestBaseAtoms, openInterest],
    ["open interest at mark", stats.openInterestQuoteAtoms, BigInt(openInterest) * BigInt(market.mark) * market.factor],
    ["mark", stats.markPriceAtoms, market.mark],
    ["index", stats.indexPriceAtoms, market.risk.index],
    ["index source", stats.indexSourceEpochMs, market.risk.source],
    ["staleness", stats.isStale, Risk.isStale(market, model.atEpochMs)],
    ["funding rate", BigInt(stats.fundingRate8hE9), rate8h],
    ["funding rate of its interval", BigInt(stats.fundingRateE9), rate],
    ["predicted funding rate", BigInt(stats.predictedFundingRate8hE9), predicted8h],
    ["predicted funding rate of its interval", BigInt(stats.predictedFundingRateE9), predicted]
  ])
}

/** Compares a market's newest mark, with all its inputs. */
const markVerdict = (reads: Glance, { index, risk }: NaiveMarket): Verdict | undefined => {
  const [view] = reads.marks(index, 1)
  const made = risk.marks.at(-1)
  return firstDifference(`the newest mark of market ${index}`, [
    ["time", view?.atEpochMs, made?.atEpochMs],
    ["sequence", view?.sequence, made?.sequence],
    ["mark", view?.markAtoms, made?.mark],
    ["index", view?.indexPriceAtoms, made?.index],
    ["impact bid", view?.impactBidAtoms, made === undefined ? undefined : Number(made.bid ?? none)],
    ["impact ask", view?.impactAskAtoms, made === undefined ? undefined : Number(made.ask ?? none)],
    ["last price", view?.lastPriceAtoms, made?.last],
    ["rate", view === undefined ? undefined : BigInt(view.fundingRateE9), made?.rate],
    ["interval", view?.fundingIntervalMs, made?.intervalMs],
    ["basis", view === undefined ? undefined : BigInt(view.basisSumTwiceAtoms), made?.basis],
    ["samples", view?.basisSamples, made?.samples],
    ["first price", view === undefined ? undefined : BigInt(view.p1Atoms), made?.prices[0]],
    ["second price", view === undefined ? undefined : BigInt(view.p2Atoms), made?.prices[1]],
    ["third price", view === undefined ? undefined : BigInt(view.p3Atoms), made?.prices[2]],
    ["lowest", view === undefined ? undefined : BigInt(view.lowestAtoms), made?.band[0]],
    ["highest", view === undefined ? undefined : BigInt(view.highestAtoms), made?.band[1]]
  ])
}

/** Compares a market's latest trades, and the oldest that are kept. */
const tradesVerdict = (reads: Glance, model: NaiveVenue, market: NaiveMarket, count: number): Verdict =>
  fillsVerdict(
    `market ${market.index}, from the oldest on,`,
    reads.tradesSince(market.index, 0, latestCompared),
    model.retained(market.trades).slice(0, latestCompared)
  ) ?? fillsVerdict(
    `market ${market.index}`,
    reads.trades(market.index, Number.POSITIVE_INFINITY, count),
    model.retained(market.trades.slice(-count)).toReversed()
  )

const fillsVerdict = (what: string, shown: ReadonlyArray<Fill>, made: ReadonlyArray<NaiveFill>): Verdict => {
  if (shown.length !== made.length) return broken(`${what} shows ${shown.length} fills, the model has ${made.length}`)
  for (let index = 0; index < shown.length; index++) {
    const view = shown[index]!
    const fill = made[index]!
    const verdict = firstDifference(`fill ${fill.ordinal} of ${what}`, [
      ["ordinal", view.ordinal, fill.ordinal],
      ["sequence", view.sequence, fill.sequence],
      ["time", view.atEpochMs, fill.atEpochMs],
      ["market", view.market, fill.market],
      ["price", view.priceAtoms, fill.price],
      ["size", view.sizeAtoms, fill.size],
      ["maker", view.makerOrder, fill.maker.number],
      ["taker", view.takerOrder, fill.taker.number],
      ["maker's account", view.makerAccount, fill.maker.account],
      ["taker's account", view.takerAccount, fill.taker.account],
      ["taker's side", view.takerSide, fill.taker.side],
      ["maker's fee", BigInt(view.makerFeeAtoms), fill.makerFee],
      ["taker's fee", BigInt(view.takerFeeAtoms), fill.takerFee]
    ])
    if (verdict !== undefined) return verdict
  }
  return holds
}

const wholeVerdict = (reads: Glance, model: NaiveVenue): Verdict => {
  if (reads.halted !== model.halted) return broken(`halted is ${reads.halted} in the engine, ${model.halted} in the model`)
  if (reads.marketCount !== model.markets.length)
    return broken(`${reads.marketCount} markets in the engine, ${model.markets.length} in the model`)
  for (const market of model.markets) {
    const verdict = firstDifference(`market ${market.index}`, [
      ["parameters", JSON.stringify(reads.market(market.index).parameters), JSON.stringify(market.parameters)]
    ])
    if (verdict !== undefined) return verdict
    const levels = reads.book(market.index, 100_000)
    for (const [side, shown] of [[0, levels.bids], [1, levels.asks]] as const) {
      const expected = JSON.stringify(model.levels(market.index, side))
      if (JSON.stringify(shown) !== expected)
        return broken(`market ${market.index}: levels of side ${side} are ${JSON.stringify(shown)}, the model has ${expected}`)
    }
    const traded = dayVerdict(reads, model, market) ?? markVerdict(reads, market) ?? tradesVerdict(reads, model, market, tradesCompared)
    if (traded !== undefined) return traded
  }
  for (const account of model.accounts) {
    const verdict = accountVerdict(reads, model, account.index)
    if (verdict !== undefined) return verdict
    const changed = ledgerVerdict(reads, account, model)
    if (changed !== undefined) return changed
    const own = fillsVerdict(
      `account ${account.index}`,
      reads.fills(account.index, anyMarket, Number.POSITIVE_INFINITY, tradesCompared),
      model.retained(model.fillsOf(account.index).slice(-tradesCompared)).toReversed()
    ) ?? fillsVerdict(
      `account ${account.index}, from the oldest on,`,
      reads.fillsSince(account.index, anyMarket, 0, latestCompared),
      model.retained(model.fillsOf(account.index)).slice(0, latestCompared)
    )
    if (own !== undefined) return own
    for (const order of account.open) {
      const orderWas = orderVerdict(reads.findOrder(account.index, order.number), order)
      if (orderWas !== undefined) return orderWas
    }
  }
  for (const order of model.orders.values()) {
    if (order.status === open || !isKept(order, model.atEpochMs)) continue
    const verdict = orderVerdict(reads.findOrder(order.account, order.number), order)
    if (verdict !== undefined) return verdict
  }
  return holds
}

/** Compares markets: each one's report, and the day of those that traded or may have left a day behind. */
const marketsVerdict = (reads: Glance, model: NaiveVenue, fills: ReadonlyArray<NaiveFill>, aMinutePassed: boolean): Verdict => {
  for (const market of model.markets) {
    const traded = fills.some((fill) => fill.market === market.index)
    const verdict = marketVerdict(reads, market)
      ?? (traded || aMinutePassed ? dayVerdict(reads, model, market) : holds)
      ?? (traded ? tradesVerdict(reads, model, market, latestCompared) : holds)
    if (verdict !== undefined) return verdict
  }
  return holds
}

/** The minute in which the engine was last compared. */
interface State {
  minute: number
}

export const stateEqualsModel: Property<State> = {
  name: "engine-equals-model",
  invariant: "I4",
  kind: "safety",
  initial: () => ({ minute: 0 }),
  observe: (state, seen) => {
    if (seen._tag !== "Inspected") return holds
    if (seen.model.misled !== undefined) return broken(seen.model.misled)
    const totals = totalsVerdict(seen.reads, seen.model)
    if (totals !== undefined) return totals
    if (seen.whole) return wholeVerdict(seen.reads, seen.model)
    for (const order of seen.decision?.touchedOrders ?? []) {
      const verdict = orderVerdict(seen.reads.findOrder(order.account, order.number), order)
      if (verdict !== undefined) return verdict
    }
    for (const account of seen.decision?.touchedAccounts ?? []) {
      const verdict = accountVerdict(seen.reads, seen.model, account)
      if (verdict !== undefined) return verdict
    }
    const owing = owingVerdict(seen.reads, seen.model)
    if (owing !== undefined) return owing
    for (const account of new Set(seen.model.brackets.all.map(({ account }) => account))) {
      const verdict = bracketsVerdict(seen.reads, seen.model, account)
      if (verdict !== undefined) return verdict
    }
    const minute = Math.floor(seen.model.atEpochMs / 60_000)
    const aMinutePassed = minute !== state.minute
    state.minute = minute
    return marketsVerdict(seen.reads, seen.model, seen.decision?.fills ?? [], aMinutePassed)
  }
}
