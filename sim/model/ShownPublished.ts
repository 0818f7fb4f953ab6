/**
 * The published lists that a reader must get, made from the reference model as of the record at which they are read: liquidation steps,
 * rankings, the insurance fund, funding payments, ended intervals, and announcements. Newest first, written from the published contract.
 */
import { insuranceFundId } from "../../src/domain/Ids.js"
import type * as Market from "../../src/domain/Market.js"
import * as Queries from "../reading/Queries.js"
import * as Refusals from "../reading/Refusals.js"
import { decimalOf, moneyScale } from "./Decimals.js"
import type { NaiveMovement, NaiveRanking, NaiveStep, Numbered } from "./NaivePublished.js"
import * as Risk from "./NaiveRisk.js"
import { isDelisted, type NaiveFunding, type NaiveMark, type NaiveMarket } from "./NaiveState.js"
import type { NaiveVenue } from "./NaiveVenue.js"
import { announcedShown, balance, both, delistingShown, idOf, type Members, positions, terms } from "./Shown.js"

/** A reader's request for a list. */
export interface Asked {
  readonly sinceEpochMs: number
  readonly limit: number
}

/** Rankings in one answer. */
const mostRankings = 10
/** Places of a ranking that are shown. */
const placesTold = 1_024

const sideOf = (isLong: boolean): string => (isLong ? "long" : "short")

/** The newest rows from a time on, of a list that is oldest first. */
const newest = <A>(rows: ReadonlyArray<A>, timeOf: (row: A) => number, { limit, sinceEpochMs }: Asked): ReadonlyArray<A> =>
  rows.filter((row) => timeOf(row) >= sinceEpochMs).toReversed().slice(0, limit)

const step = (model: NaiveVenue, { ordinal, row }: Numbered<NaiveStep>): Members => {
  const { marketId, priceScale, quantityScale } = model.markets[row.market]!.parameters
  return {
    stepId: idOf("liq", ordinal),
    step: row.step,
    marketId,
    side: sideOf(row.isLong),
    ...both("quantity", row.size, quantityScale),
    ...both("filledQuantity", row.filled, quantityScale),
    ...both("price", row.price, priceScale),
    ...both("markPrice", row.mark, priceScale),
    ...both("fee", row.fee, moneyScale),
    ...both("equity", row.equity, moneyScale),
    ...both("maintenanceMargin", row.maintenanceMargin, moneyScale),
    rank: row.rank,
    rankingSequence: row.rankingSequence,
    occurredAtEpochMs: row.atEpochMs,
    sequence: row.sequence
  }
}

/** `external-liquidation-list/v1` of a market. */
export const liquidations = (
  model: NaiveVenue,
  { index, parameters: { marketId } }: NaiveMarket,
  sequence: number,
  asked: Asked
): Members => ({
  version: "external-liquidation-list/v1",
  marketId,
  steps: newest(model.published.at("steps", sequence).filter(({ row }) => row.market === index), ({ row }) => row.atEpochMs, asked)
    .map((each) => step(model, each))
})

/** What an account sees of its part in a step; of a settlement its own side. */
const partOf = ({ account: of, step: kind }: NaiveStep, account: number): Members =>
  kind === "settlement" ? { side: sideOf(of === account), role: "settled" } : { role: of === account ? "liquidated" : "counterparty" }

/** `external-account-liquidation-list/v1`: the steps in which an account had a side. */
export const accountLiquidations = (model: NaiveVenue, account: number, sequence: number, asked: Asked): Members => ({
  version: "external-account-liquidation-list/v1",
  accountId: idOf("acc", model.accounts[account]!.born),
  steps: newest(
    model.published.at("steps", sequence).filter(({ row }) => row.account === account || row.counterparty === account),
    ({ row }) => row.atEpochMs,
    asked
  ).map((each) => ({ ...step(model, each), ...partOf(each.row, account) }))
})

const ranking = ({ parameters: { marketId, priceScale, quantityScale } }: NaiveMarket, sequence: number, of: NaiveRanking): Members => ({
  marketId,
  side: sideOf(of.isLong),
  ...both("markPrice", of.mark, priceScale),
  ranked: of.count,
  ranking: of.ranked.slice(0, placesTold).map(({ closed, entry, equity, notional, profit }, at) => ({
    rank: at + 1,
    ...both("unrealizedPnl", profit, moneyScale),
    ...both("entryNotional", entry, moneyScale),
    ...both("notional", notional, moneyScale),
    ...both("equity", equity, moneyScale),
    ...both(
      "closedQuantity",
      closed.filter((each) => each.sequence <= sequence).reduce((total, { size }) => total + size, 0),
      quantityScale
    )
  })),
  occurredAtEpochMs: of.atEpochMs,
  sequence: of.sequence
})

/** `external-deleveraging-list/v1` of a market: few in one answer, since each may be long. */
export const deleveragings = (model: NaiveVenue, market: NaiveMarket, sequence: number, asked: Asked): Members => ({
  version: "external-deleveraging-list/v1",
  marketId: market.parameters.marketId,
  deleveragings: newest(
    model.published.at("rankings", sequence).map(({ row }) => row).filter((row) => row.market === market.index),
    ({ atEpochMs }) => atEpochMs,
    { ...asked, limit: Math.min(mostRankings, asked.limit) }
  ).map((each) => ranking(market, sequence, each))
})

/** One ended interval. */
export const interval = ({ parameters: { priceScale } }: NaiveMarket, of: NaiveFunding): Members => ({
  endedAtEpochMs: of.atEpochMs,
  intervalMs: of.intervalMs,
  fundingRateE9: String(Risk.perInterval(of.rate8h, of.intervalMs)),
  fundingRate8hE9: String(of.rate8h),
  averagePremiumE9: String(of.premium),
  ...both("indexPrice", of.index, priceScale),
  samples: of.samples,
  sequence: of.sequence
})

/** `external-funding-history/v1` of a market; times are those at which an interval ended. */
export const fundings = ({ published: { kept } }: NaiveVenue, market: NaiveMarket, sequence: number, asked: Asked): Members => ({
  version: "external-funding-history/v1",
  marketId: market.parameters.marketId,
  intervals: newest(
    market.risk.fundings.filter((each) => each.sequence <= sequence).slice(-kept.fundings),
    ({ atEpochMs }) => atEpochMs,
    asked
  ).map((each) => interval(market, each))
})

/** A mark with its inputs; an impact price of a thin side, or a last price before any trade, is left out. */
const mark = ({ parameters: { priceScale } }: NaiveMarket, made: NaiveMark): Members => {
  const [funded, basis, book] = made.prices
  const [lowest, highest] = made.band
  return {
    madeAtEpochMs: made.atEpochMs,
    ...both("markPrice", made.mark, priceScale),
    ...both("indexPrice", made.index, priceScale),
    ...(made.bid === undefined ? {} : both("impactBidPrice", made.bid, priceScale)),
    ...(made.ask === undefined ? {} : both("impactAskPrice", made.ask, priceScale)),
    ...(made.last === 0 ? {} : both("lastPrice", made.last, priceScale)),
    fundingRateE9: String(made.rate),
    fundingIntervalMs: made.intervalMs,
    basisSumTwiceAtoms: String(made.basis),
    basisSamples: made.samples,
    fundedPriceAtoms: String(funded),
    basisPriceAtoms: String(basis),
    bookPriceAtoms: String(book),
    lowestPriceAtoms: String(lowest),
    highestPriceAtoms: String(highest),
    sequence: made.sequence
  }
}

/** `external-mark-list/v1` of a market. */
export const marks = ({ published: { kept } }: NaiveVenue, market: NaiveMarket, sequence: number, asked: Asked): Members => ({
  version: "external-mark-list/v1",
  marketId: market.parameters.marketId,
  marks: newest(
    market.risk.marks.filter((each) => each.sequence <= sequence).slice(-kept.marks),
    ({ atEpochMs }) => atEpochMs,
    asked
  ).map((each) => mark(market, each))
})

/** Rows of an account as of a record, newest first, each with its place among those of its record, counted from the newest. */
const placedAt = <Row extends { readonly sequence: number }>(
  rows: ReadonlyArray<Row>,
  sequence: number,
  before: Queries.Place | undefined
): ReadonlyArray<{ readonly row: Row; readonly place: number }> => {
  const there = rows.filter((each) => each.sequence <= sequence)
  return there
    .map((row, at) => ({ row, place: there.slice(at + 1).filter((newer) => newer.sequence === row.sequence).length }))
    .toReversed()
    .filter(({ place, row }) =>
      before === undefined || row.sequence < before.sequence || (row.sequence === before.sequence && place > before.place)
    )
}

/** A page of such rows. */
const pageOf = <Row extends { readonly sequence: number }>(
  kind: Queries.Placed,
  rows: ReadonlyArray<{ readonly row: Row; readonly place: number }>,
  limit: number
): { readonly shown: ReadonlyArray<Row>; readonly nextCursor: string | null } => {
  const shown = rows.slice(0, limit)
  const last = rows.length > limit ? shown.at(-1) : undefined
  return {
    shown: shown.map(({ row }) => row),
    nextCursor: last === undefined ? null : Queries.placeCursorOf(kind, { sequence: last.row.sequence, place: last.place })
  }
}

/** A reader's request for funding payments. */
export interface AskedOfPayments extends Asked {
  readonly before: Queries.Place | undefined
}

/** `external-funding-payment-list/v1` of an account: all payments ever. */
export const fundingPayments = (
  model: NaiveVenue,
  account: number,
  sequence: number,
  { before, limit, sinceEpochMs }: AskedOfPayments
): Members => {
  const own = model.published.payments.filter((row) => row.account === account)
  const since = placedAt(own, sequence, before).filter(({ row: { atEpochMs } }) => atEpochMs >= sinceEpochMs)
  const { nextCursor, shown } = pageOf("payments", since, limit)
  return {
    version: "external-funding-payment-list/v1",
    accountId: idOf("acc", model.accounts[account]!.born),
    payments: shown.map((row) => {
      const { marketId, priceScale, quantityScale } = model.markets[row.market]!.parameters
      return {
        marketId,
        endedAtEpochMs: row.endedAtEpochMs,
        intervalMs: row.intervalMs,
        side: sideOf(row.quantity > 0),
        ...both("quantity", Math.abs(row.quantity), quantityScale),
        ...both("indexPrice", row.index, priceScale),
        fundingRate8hE9: String(row.rate8h),
        ...both("paid", row.paid, moneyScale),
        occurredAtEpochMs: row.atEpochMs,
        sequence: row.sequence
      }
    }),
    nextCursor,
    journalSequence: sequence
  }
}

/** A reader's request for a ledger: a page, of one market or of all, after a place. */
export interface AskedOfLedger {
  readonly marketId: string | null
  readonly before: Queries.Place | undefined
  readonly limit: number
}

/** `external-ledger/v1` of an account: all its changes. */
export const ledger = (model: NaiveVenue, account: number, sequence: number, { before, limit, marketId }: AskedOfLedger): Members => {
  const { born, ledger: changes } = model.accounts[account]!
  const idOfMarket = (market: number): string | null => market === -1 ? null : model.markets[market]!.parameters.marketId
  const rows = placedAt(changes, sequence, before).filter(({ row: { market } }) => marketId === null || idOfMarket(market) === marketId)
  const { nextCursor, shown } = pageOf("entries", rows, limit)
  return {
    version: "external-ledger/v1",
    accountId: idOf("acc", born),
    entries: shown.map(({ amount, atEpochMs, balance: left, cause, market, sequence: made }) => ({
      cause,
      marketId: idOfMarket(market),
      ...both("amount", amount, moneyScale),
      ...both("balance", left, moneyScale),
      occurredAtEpochMs: atEpochMs,
      sequence: made
    })),
    nextCursor
  }
}

const movement = (model: NaiveVenue, of: NaiveMovement): Members => {
  const market = of.market === undefined ? undefined : model.markets[of.market]!.parameters
  return {
    cause: of.cause,
    marketId: market?.marketId ?? null,
    ...both("amount", of.amount, moneyScale),
    ...both("quantityChange", of.size, market?.quantityScale ?? 0),
    ...both("collateral", of.collateral, moneyScale),
    occurredAtEpochMs: of.atEpochMs,
    sequence: of.sequence
  }
}

/** Movements of the insurance fund, as listed in its answer. */
export const movements = (model: NaiveVenue, sequence: number, asked: Asked): ReadonlyArray<Members> =>
  newest(model.published.at("movements", sequence).map(({ row }) => row), ({ atEpochMs }) => atEpochMs, asked)
    .map((each) => movement(model, each))

const fundNames = ["collateral", "equity", "initialMargin", "maintenanceMargin"] as const
const fundPositionNames = ["marketId", "side", "quantity", "entryNotional", "markPrice", "unrealizedPnl"] as const

/** Named members of an object, in both forms where they have two. */
const pick = (from: Members, names: ReadonlyArray<string>): Members =>
  Object.fromEntries(names.flatMap((name) => [name, `${name}Atoms`]).flatMap((name) => name in from ? [[name, from[name]]] : []))

/** `external-insurance-fund/v1` at present. */
export const insuranceFund = (model: NaiveVenue, asked: Asked): Members => {
  const { fund } = model
  return {
    version: "external-insurance-fund/v1",
    accountId: insuranceFundId,
    asset: "USDC",
    ...(fund === undefined
      ? Object.assign({}, ...fundNames.map((name) => both(name, 0n, moneyScale))) as Members
      : pick(balance(model, fund.index), fundNames)),
    positions: fund === undefined
      ? []
      : (positions(model, fund.index)["positions"] as ReadonlyArray<Members>).map((each) => pick(each, fundPositionNames)),
    movements: movements(model, model.sequence, asked),
    journalSequence: model.sequence
  }
}

/** `operator-announced/v1` at present. */
export const announced = (model: NaiveVenue, market: NaiveMarket): Members => ({
  version: "operator-announced/v1",
  marketId: market.parameters.marketId,
  announced: market.announced === undefined ? null : {
    ...announcedShown(market.parameters, market.announced),
    ...model.touched(market, market.announced.parameters)
  },
  journalSequence: model.sequence
})

/** All parameters of a market, in the form in which an operator puts them. */
const put = (parameters: Market.Parameters): Members => ({
  underlyingSymbol: parameters.underlyingSymbol,
  marketType: parameters.marketType,
  logoUrl: parameters.logoUrl,
  priceScale: parameters.priceScale,
  quantityScale: parameters.quantityScale,
  minPrice: decimalOf(parameters.minPriceAtoms, parameters.priceScale),
  maxPrice: decimalOf(parameters.maxPriceAtoms, parameters.priceScale),
  ...terms(parameters)
})

/** `operator-markets/v1` at present, including drafts. */
export const operatorMarkets = (model: NaiveVenue): Members => ({
  version: "operator-markets/v1",
  markets: model.markets.map(({ announced: next, delisting, parameters, status }) => ({
    marketId: parameters.marketId,
    status,
    parameters: put(parameters),
    ...(next === undefined ? {} : { announced: announcedShown(parameters, next) }),
    ...(delisting === undefined ? {} : { delisting: delistingShown(delisting, parameters.priceScale) })
  })),
  journalSequence: model.sequence
})

/** `operator-delisting/v1` at present. */
export const delisting = (model: NaiveVenue, market: NaiveMarket): Members => {
  const { delisting: leaving, parameters: { marketId, priceScale, quantityScale }, resting } = market
  const price = isDelisted(market) ? leaving!.finalPrice : Risk.finalPrice(market, model)
  return {
    version: "operator-delisting/v1",
    marketId,
    delisting: leaving === undefined ? null : delistingShown(leaving, priceScale),
    ...(price === 0 ? { presentPrice: null, presentPriceAtoms: null } : both("presentPrice", price, priceScale)),
    ...both("openInterest", model.openInterest(market.index), quantityScale),
    openOrders: resting.length,
    ...(leaving?.state === "settling" && leaving.againAtEpochMs !== 0 ? { againAtEpochMs: leaving.againAtEpochMs } : {}),
    journalSequence: model.sequence
  }
}

/** The differences between two markets, by parameter, in the order in which these are put. */
const differing = (now: Members, next: Members): ReadonlyArray<Members> =>
  Object.keys(next).sort().flatMap((parameter) => {
    const [from, to] = [now[parameter] ?? null, next[parameter]]
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ parameter, from, to }]
  })

/** Positions get no other underlying at once, nor they and orders higher fees, although a record may give them either. */
const isSurprised = (model: NaiveVenue, known: NaiveMarket, next: Market.Parameters): boolean => {
  const { parameters: now, resting, status } = known
  const isHeld = model.openInterest(known.index) > 0
  const costsMore = next.makerFeeBps > now.makerFeeBps || next.takerFeeBps > now.takerFeeBps
  return isHeld && now.underlyingSymbol !== next.underlyingSymbol || status !== "draft" && costsMore && (isHeld || resting.length > 0)
}

const marketOf = (model: NaiveVenue, { marketId }: Market.Parameters): NaiveMarket | undefined =>
  model.markets.find(({ parameters }) => parameters.marketId === marketId)

/** Whether parameters that a record would put at once surprise who is in the market. */
export const surprises = (model: NaiveVenue, next: Market.Parameters): boolean => {
  const known = marketOf(model, next)
  return known !== undefined && isSurprised(model, known, next) && model.putComesTo(next, 0) === "at_once"
}

/** `operator-market-preview/v1` at present, without its prose. */
export const marketPreview = (model: NaiveVenue, next: Market.Parameters, effectiveAtEpochMs: number): Members => {
  const known = marketOf(model, next)
  const decided = model.putComesTo(next, effectiveAtEpochMs)
  const comesTo = decided === "at_once" && known !== undefined && isSurprised(model, known, next) ? model.needsNotice() : decided
  const isTaken = typeof comesTo === "string"
  const told = isTaken ? undefined : Refusals.of(comesTo.refusal)
  return {
    version: "operator-market-preview/v1",
    marketId: next.marketId,
    outcome: isTaken ? comesTo : "refused",
    refusal: told === undefined || isTaken ? null : { code: told.code, rejectionGuard: told.guard, ...comesTo.compared },
    differences: differing(known === undefined ? {} : put(known.parameters), put(next)),
    withdrawsAnnounced: isTaken && known?.announced !== undefined,
    openInterest: decimalOf(known === undefined ? 0 : model.openInterest(known.index), (known?.parameters ?? next).quantityScale),
    openOrders: known?.resting.length ?? 0,
    ...(known === undefined ? { underInitialMargin: 0, underMaintenanceMargin: 0 } : model.touched(known, next)),
    journalSequence: model.sequence
  }
}
