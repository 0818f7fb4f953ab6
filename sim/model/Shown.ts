/**
 * The answers that readers must get, made from the reference model: all members of answers about accounts, positions, trades and markets,
 * written from the published contract. Decimals and numbers are made here from BigInt and text, without any of the venue's own code.
 */
import * as crypto from "node:crypto"
import type * as Market from "../../src/domain/Market.js"
import type * as Session from "../../src/domain/Session.js"
import * as Order from "../../src/domain/Order.js"
import { decimalOf, moneyScale, numberOf } from "./Decimals.js"
import type { NaiveDay, NaiveFill, NaiveDelisting, NaiveMarket, NaiveOrder } from "./NaiveState.js"
import { isDelisted, remaining } from "./NaiveState.js"
import * as Risk from "./NaiveRisk.js"
import type { Trigger } from "../../src/operations/accounts/AutoClose.js"
import type { NaiveBracket } from "./NaiveAutoClose.js"
import type { NaiveVenue } from "./NaiveVenue.js"
import { initial, liquidationPrice, maintenance, halfUp } from "./NaiveMoney.js"

/** Members of a JSON object; undefined ones are absent. */
export type Members = { readonly [name: string]: unknown }

const hourMs = 3_600_000

/** A member in both forms, decimal and atoms. */
export const both = (name: string, atoms: bigint | number, scale: number): Members => ({
  [name]: decimalOf(atoms, scale),
  [`${name}Atoms`]: String(atoms)
})

export const moment = (atEpochMs: number): Members => ({ timestamp: atEpochMs, datetime: new Date(atEpochMs).toISOString() })

export const idOf = (prefix: string, ordinal: number): string => `${prefix}_${ordinal.toString(36)}`
const symbolOf = ({ baseAsset, quoteAsset, settlementAsset }: Market.Parameters): string => `${baseAsset}/${quoteAsset}:${settlementAsset}`

// --- accounts --------------------------------------------------------------------------------------------

const balanceAtoms = (model: NaiveVenue, index: number, now = model.atEpochMs) => {
  const account = model.accounts[index]!
  const margin = model.margin(account, undefined)
  const free = margin.marginEquity - margin.orderLoss - margin.initialMargin
  const available = free > 0n ? free : 0n
  return {
    ...margin,
    collateral: account.collateral,
    available,
    withdrawable: model.isStuck(account, Math.max(now, model.atEpochMs)) ? 0n : available
  }
}

/** `external-account-balance/v1`, as served at a time. */
export const balance = (model: NaiveVenue, index: number, now = model.atEpochMs): Members => {
  const account = model.accounts[index]!
  const { collateral, equity, marginEquity, unrealizedPnl, initialMargin, maintenanceMargin, orderLoss, available, withdrawable } =
    balanceAtoms(model, index, now)
  const amounts = { collateral, equity, marginEquity, unrealizedPnl, initialMargin, maintenanceMargin, orderLoss, available, withdrawable }
  return {
    version: "external-account-balance/v1",
    accountId: idOf("acc", account.born),
    asset: "USDC",
    ...Object.assign({}, ...Object.entries(amounts).map(([name, atoms]) => both(name, atoms, moneyScale))) as Members,
    lastSequence: account.lastSequence,
    journalSequence: model.sequence
  }
}

/** An account's money as it is read: with whether the account is under liquidation, which streams do not tell. */
export const balanceRead = (model: NaiveVenue, index: number, now = model.atEpochMs): Members => ({
  ...balance(model, index, now),
  ...(model.accounts[index]!.liquidation === undefined ? {} : { underLiquidation: true })
})

/** The balance in the unified shape. */
export const compatBalance = (model: NaiveVenue, index: number, now = model.atEpochMs): Members => {
  const { available, equity } = balanceAtoms(model, index, now)
  const [free, used, total] = [available, equity - available, equity].map((atoms) => numberOf(atoms, moneyScale))
  return {
    ...moment(model.atEpochMs),
    USDC: { free, used, total },
    free: { USDC: free },
    used: { USDC: used },
    total: { USDC: total },
    info: balanceRead(model, index, now)
  }
}

/** An account's margin as a preview of a placement reports it, with the position in the market named in the body. */
export const accountMargin = (model: NaiveVenue, index: number, body: string): Members => {
  const { equity, marginEquity, initialMargin, maintenanceMargin, orderLoss, available } = balanceAtoms(model, index)
  const amounts = { equity, marginEquity, initialMargin, maintenanceMargin, orderLoss, available }
  const { marketId } = JSON.parse(body) as { readonly marketId: string }
  const market = model.markets.find(({ parameters }) => parameters.marketId === marketId)!
  const account = model.accounts[index]!
  const held = account.positions.get(market.index)
  const liquidated = held === undefined ? 0 : liquidationPrice(model.markets, account, market)
  return {
    ...Object.assign({}, ...Object.entries(amounts).map(([name, atoms]) => both(name, atoms, moneyScale))) as Members,
    ...both("positionQuantity", held?.quantity ?? 0, market.parameters.quantityScale),
    liquidationPrice: liquidated === 0 ? null : decimalOf(liquidated, market.parameters.priceScale),
    liquidationPriceAtoms: liquidated === 0 ? null : String(liquidated)
  }
}

/** One position that is not flat, as an element of a list. */
export const position = (model: NaiveVenue, index: number, market: NaiveMarket): Members => {
  const account = model.accounts[index]!
  const { entryNotional, quantity } = account.positions.get(market.index)!
  const { feesPaid, fundingPaid, lastSequence, openedAtEpochMs, ordinal, realizedPnl } = account.episodes.get(market.index)!
  const { marketId, maxLeverageX, priceScale, quantityScale } = market.parameters
  const leverage = account.leverage.get(market.index)
  const liquidated = liquidationPrice(model.markets, account, market)
  const size = BigInt(Math.abs(quantity))
  const value = size * BigInt(market.mark) * market.factor
  return {
    positionId: idOf("pos", ordinal),
    marketId,
    side: quantity > 0 ? "long" : "short",
    ...both("quantity", size, quantityScale),
    ...both("entryNotional", entryNotional, moneyScale),
    ...both("avgEntryPrice", halfUp(entryNotional, size * market.factor), priceScale),
    ...both("markPrice", market.mark, priceScale),
    ...both("initialMargin", initial(market.parameters, value, leverage), moneyScale),
    ...both("maintenanceMargin", maintenance(market.parameters, value), moneyScale),
    leverageX: Math.min(leverage ?? maxLeverageX, maxLeverageX),
    liquidationPrice: liquidated === 0 ? null : decimalOf(liquidated, priceScale),
    liquidationPriceAtoms: liquidated === 0 ? null : String(liquidated),
    ...both("unrealizedPnl", quantity > 0 ? value - entryNotional : entryNotional - value, moneyScale),
    ...both("realizedPnl", realizedPnl, moneyScale),
    ...both("feesPaid", feesPaid, moneyScale),
    ...both("fundingPaid", fundingPaid, moneyScale),
    openedAtEpochMs,
    lastSequence
  }
}

const held = (model: NaiveVenue, index: number): ReadonlyArray<NaiveMarket> =>
  model.markets.filter((market) => model.accounts[index]!.positions.has(market.index))

/** `external-position-list/v1`. */
export const positions = (model: NaiveVenue, index: number): Members => ({
  version: "external-position-list/v1",
  accountId: idOf("acc", model.accounts[index]!.born),
  positions: held(model, index).map((market) => position(model, index, market)),
  journalSequence: model.sequence
})

/** Positions in the unified shape, of one market or of all. */
export const compatPositions = (model: NaiveVenue, index: number, symbol: string | null): ReadonlyArray<Members> =>
  held(model, index).filter(({ parameters }) => symbol === null || symbolOf(parameters) === symbol).map((market) => {
    const info = position(model, index, market)
    const { priceScale, quantityScale } = market.parameters
    const size = BigInt(Math.abs(model.accounts[index]!.positions.get(market.index)!.quantity))
    const notional = size * BigInt(market.mark) * market.factor
    const [needed, least] = [initial(market.parameters, notional, model.accounts[index]!.leverage.get(market.index)),
      maintenance(market.parameters, notional)]
    return {
      id: info["positionId"],
      symbol: symbolOf(market.parameters),
      ...moment(model.atEpochMs),
      side: info["side"],
      contracts: numberOf(size, quantityScale),
      contractSize: 1,
      entryPrice: numberOf(BigInt(info["avgEntryPriceAtoms"] as string), priceScale),
      markPrice: numberOf(market.mark, priceScale),
      notional: numberOf(notional, moneyScale),
      initialMargin: numberOf(needed, moneyScale),
      initialMarginPercentage: Number(needed) / Number(notional),
      maintenanceMargin: numberOf(least, moneyScale),
      maintenanceMarginPercentage: Number(least) / Number(notional),
      leverage: info["leverageX"],
      liquidationPrice: info["liquidationPriceAtoms"] === null
        ? null
        : numberOf(BigInt(info["liquidationPriceAtoms"] as string), priceScale),
      unrealizedPnl: numberOf(BigInt(info["unrealizedPnlAtoms"] as string), moneyScale),
      realizedPnl: numberOf(BigInt(info["realizedPnlAtoms"] as string), moneyScale),
      marginMode: "cross",
      hedged: false,
      info
    }
  })

// --- orders ----------------------------------------------------------------------------------------------

const averageOf = (order: NaiveOrder, market: NaiveMarket): bigint => halfUp(order.filledNotional, BigInt(order.filled) * market.factor)

/** One trigger. */
const trigger = ({ by, limitAtoms, priceAtoms }: Trigger, scale: number): Members | undefined =>
  priceAtoms === 0 ? undefined : {
    ...both("triggerPrice", priceAtoms, scale),
    triggerBy: ["mark", "last", "index"][by],
    ...(limitAtoms === 0 ? {} : both("limitPrice", limitAtoms, scale))
  }

/** The triggers of a bracket. */
const closing = ({ autoClose: { stopLoss, takeProfit } }: NaiveBracket, scale: number): Members => ({
  takeProfit: trigger(takeProfit, scale),
  stopLoss: trigger(stopLoss, scale)
})

/** `external-order/v1`. */
export const order = (model: NaiveVenue, of: NaiveOrder): Members => {
  const market = model.markets[of.market]!
  const { marketId, priceScale, quantityScale } = market.parameters
  const bracket = model.brackets.ofOrder(of.number)
  return {
    version: "external-order/v1",
    orderId: idOf("ord", of.number),
    accountId: idOf("acc", model.accounts[of.account]!.born),
    marketId,
    status: Order.statuses[of.status],
    lastSequence: of.lastSequence,
    idempotencyKey: of.idempotencyKey,
    cancelReason: of.cancelReason === 0 ? undefined : Order.cancelReasons[of.cancelReason],
    clientOrderId: of.clientOrderId === "" ? undefined : of.clientOrderId,
    side: Order.sides[of.side],
    orderType: Order.types[of.type],
    timeInForce: Order.timesInForce[of.timeInForce],
    ...(of.price === 0 ? {} : both("price", of.price, priceScale)),
    ...both("quantity", of.quantity, quantityScale),
    ...both("filledQuantity", of.filled, quantityScale),
    ...both("remainingQuantity", remaining(of), quantityScale),
    ...both("canceledQuantity", of.canceled, quantityScale),
    ...(of.filled === 0 ? {} : both("averageFillPrice", averageOf(of, market), priceScale)),
    postOnly: of.postOnly,
    reduceOnly: of.reduceOnly,
    selfTradePrevention: Order.selfTradePreventions[of.selfTradePrevention],
    expiresAtEpochMs: of.status !== Order.open || of.expiresAtEpochMs === 0 ? undefined : of.expiresAtEpochMs,
    // It is shown for an ended order, too, as long as any of the position that it opened is to be closed by it.
    autoClose: bracket === undefined ? undefined : closing(bracket, priceScale),
    createdAtEpochMs: of.createdAtEpochMs,
    updatedAtEpochMs: of.updatedAtEpochMs
  }
}

const bracket = (model: NaiveVenue, of: NaiveBracket): Members => {
  const { marketId, priceScale, quantityScale } = model.markets[of.market]!.parameters
  return {
    triggerId: idOf("trg", of.number),
    marketId,
    side: of.isLong ? "long" : "short",
    ...both("quantity", of.quantity, quantityScale),
    ...closing(of, priceScale),
    status: of.quantity === 0 ? "pending" : of.again === 0 ? "armed" : "waiting",
    orderId: of.cameWithOrder ? idOf("ord", of.number) : undefined,
    createdAtEpochMs: of.createdAtEpochMs,
    lastSequence: of.lastSequence
  }
}

/** `external-trigger-list/v1`, of one market where one is named. */
export const triggers = (model: NaiveVenue, index: number, marketId: string | null): Members => ({
  version: "external-trigger-list/v1",
  accountId: idOf("acc", model.accounts[index]!.born),
  triggers: model.markets
    .filter(({ parameters }) => marketId === null || parameters.marketId === marketId)
    .flatMap((market) => model.brackets.of(index, market.index).map((each) => bracket(model, each))),
  journalSequence: model.sequence
})

/** An order in the unified shape. */
export const compatOrder = (model: NaiveVenue, of: NaiveOrder): Members => {
  const market = model.markets[of.market]!
  const { priceScale, quantityScale } = market.parameters
  return {
    id: idOf("ord", of.number),
    symbol: symbolOf(market.parameters),
    status: Order.statuses[of.status],
    clientOrderId: of.clientOrderId === "" ? undefined : of.clientOrderId,
    ...moment(of.createdAtEpochMs),
    side: Order.sides[of.side],
    type: Order.types[of.type],
    timeInForce: Order.timesInForce[of.timeInForce],
    price: of.price === 0 ? undefined : numberOf(of.price, priceScale),
    amount: numberOf(of.quantity, quantityScale),
    filled: numberOf(of.filled, quantityScale),
    remaining: numberOf(of.quantity - of.filled, quantityScale),
    reduceOnly: of.reduceOnly,
    postOnly: of.postOnly,
    average: of.filled === 0 ? undefined : numberOf(averageOf(of, market), priceScale),
    cost: numberOf(of.filledNotional, moneyScale),
    lastUpdateTimestamp: of.updatedAtEpochMs,
    info: order(model, of)
  }
}

// --- trades ----------------------------------------------------------------------------------------------

const notionalOf = (model: NaiveVenue, { market, price, size }: NaiveFill): bigint =>
  BigInt(price) * BigInt(size) * model.markets[market]!.factor

const unified = (model: NaiveVenue, fill: NaiveFill): Members => {
  const { parameters } = model.markets[fill.market]!
  return {
    id: idOf("trd", fill.ordinal),
    ...moment(fill.atEpochMs),
    symbol: symbolOf(parameters),
    price: numberOf(fill.price, parameters.priceScale),
    amount: numberOf(fill.size, parameters.quantityScale),
    cost: numberOf(notionalOf(model, fill), moneyScale)
  }
}

/** A public trade. */
export const trade = (model: NaiveVenue, fill: NaiveFill): Members => {
  const { marketId, priceScale, quantityScale } = model.markets[fill.market]!.parameters
  return {
    tradeId: idOf("trd", fill.ordinal),
    marketId,
    takerSide: Order.sides[fill.taker.side],
    ...both("price", fill.price, priceScale),
    ...both("size", fill.size, quantityScale),
    executedAtEpochMs: fill.atEpochMs,
    sequence: fill.sequence
  }
}

/** A public trade in the unified shape. */
export const compatTrade = (model: NaiveVenue, fill: NaiveFill): Members => ({
  ...unified(model, fill),
  side: Order.sides[fill.taker.side],
  takerOrMaker: "taker",
  info: trade(model, fill)
})

/** A fill as one of its two accounts sees it. */
export const ownFill = (model: NaiveVenue, fill: NaiveFill, account: number): Members => {
  const { marketId, priceScale, quantityScale } = model.markets[fill.market]!.parameters
  const isTaker = fill.taker.account === account
  const own = isTaker ? fill.taker : fill.maker
  return {
    tradeId: idOf("trd", fill.ordinal),
    orderId: idOf("ord", own.number),
    accountId: idOf("acc", model.accounts[account]!.born),
    marketId,
    side: Order.sides[own.side],
    liquidity: isTaker ? "taker" : "maker",
    ...both("price", fill.price, priceScale),
    ...both("size", fill.size, quantityScale),
    ...both("notional", notionalOf(model, fill), moneyScale),
    ...both("fee", isTaker ? fill.takerFee : fill.makerFee, moneyScale),
    feeAsset: "USDC",
    executedAtEpochMs: fill.atEpochMs,
    sequence: fill.sequence
  }
}

/** A fill as one of its accounts sees it, in the unified shape. The fee rate is the market's present one. */
export const compatOwnTrade = (model: NaiveVenue, fill: NaiveFill, account: number): Members => {
  const { makerFeeBps, takerFeeBps } = model.markets[fill.market]!.parameters
  const isTaker = fill.taker.account === account
  const own = isTaker ? fill.taker : fill.maker
  const paid = isTaker ? fill.takerFee : fill.makerFee
  // Where nothing was paid there is no rate: a liquidation has none, whatever the market's is.
  const rate = paid === 0n ? 0 : numberOf(isTaker ? takerFeeBps : makerFeeBps, 4)
  const fee = { cost: numberOf(paid, moneyScale), currency: "USDC", rate }
  return {
    ...unified(model, fill),
    side: Order.sides[own.side],
    takerOrMaker: isTaker ? "taker" : "maker",
    order: idOf("ord", own.number),
    fee,
    fees: [fee],
    info: ownFill(model, fill, account)
  }
}

// --- markets ---------------------------------------------------------------------------------------------

/** The parameters that traders see, and that may be announced. */
export const terms = ({ quantityScale, ...parameters }: Market.Parameters): Members => ({
  minQuantity: decimalOf(parameters.minQuantityAtoms, quantityScale),
  maxQuantity: decimalOf(parameters.maxQuantityAtoms, quantityScale),
  maxPositionQuantity: decimalOf(parameters.maxPositionQuantityAtoms, quantityScale),
  initialMarginBps: parameters.initialMarginBps,
  maintenanceMarginTiers: parameters.maintenanceMarginTiers.map((tier) => ({
    notionalThresholdAtoms: String(tier.notionalThresholdAtoms),
    maintenanceMarginBps: tier.maintenanceMarginBps
  })),
  maxLeverageX: parameters.maxLeverageX,
  makerFeeBps: parameters.makerFeeBps,
  takerFeeBps: parameters.takerFeeBps,
  priceBandBps: parameters.priceBandBps,
  indexStaleMs: parameters.indexStaleMs,
  indexStepMaxBps: parameters.indexStepMaxBps,
  markBandBps: parameters.markBandBps,
  impactNotional: decimalOf(parameters.impactNotionalAtoms, 6),
  fundingIntervalMs: parameters.fundingIntervalMs,
  fundingCapE9: parameters.fundingCapE9,
  liquidationFeeBps: parameters.liquidationFeeBps
})

/** What is announced of a market. */
export const announcedShown = (
  { logoUrl, underlyingSymbol }: Market.Parameters,
  { effectiveAtEpochMs, parameters }: NonNullable<NaiveMarket["announced"]>
): Members => ({
  effectiveAtEpochMs,
  ...(parameters.underlyingSymbol === underlyingSymbol ? {} : { underlyingSymbol: parameters.underlyingSymbol }),
  ...(parameters.logoUrl === logoUrl ? {} : { logoUrl: parameters.logoUrl }),
  ...terms(parameters)
})

export const delistingShown = (
  { effectiveAtEpochMs, finalPrice, settledAtEpochMs, state }: NaiveDelisting,
  priceScale: number
): Members => ({
  state,
  effectiveAtEpochMs,
  ...(finalPrice === 0 ? {} : { finalPrice: decimalOf(finalPrice, priceScale), finalPriceAtoms: String(finalPrice) }),
  ...(state === "settled" ? { settledAtEpochMs } : {})
})

const sessionShown = (state: Session.State, asOfEpochMs: number): Members => ({
  state,
  asOfEpochMs,
  nextOpenEpochMs: 0,
  nextCloseEpochMs: 0,
  riskIncreasingOrderCutoffEpochMs: 0
})

/** The session of a market with sessions. */
export const standing = (session: NaiveMarket["session"]): Members =>
  session === undefined ? sessionShown("closed", 0) : {
    ...sessionShown(session.state, session.asOf),
    nextOpenEpochMs: session.opens,
    nextCloseEpochMs: session.closes,
    riskIncreasingOrderCutoffEpochMs: session.cutoff
  }

/** A market's snapshot, without its digest, which covers every market at once. */
export const market = (
  model: NaiveVenue,
  { announced, delisting, index, lastPrice, parameters, sequence, session, status }: NaiveMarket
): Members => {
  const { priceScale, quantityScale } = parameters
  return {
    version: "external-market-snapshot/v1",
    marketId: parameters.marketId,
    status,
    market: {
      marketId: parameters.marketId,
      underlyingSymbol: parameters.underlyingSymbol,
      marketType: parameters.marketType,
      logoUrl: parameters.logoUrl,
      logoUnavailable: parameters.logoUrl === "",
      status,
      priceScale,
      quantityScale,
      minPrice: decimalOf(parameters.minPriceAtoms, priceScale),
      maxPrice: decimalOf(parameters.maxPriceAtoms, priceScale),
      ...terms(parameters),
      ...(announced === undefined ? {} : { announced: announcedShown(parameters, announced) }),
      ...(delisting === undefined ? {} : { delisting: delistingShown(delisting, priceScale) }),
      settlementAsset: "USDC",
      symbol: symbolOf(parameters),
      lastPriceAtoms: String(lastPrice),
      lastPrice: decimalOf(lastPrice, priceScale),
      change24hBps: String(model.day(model.markets[index]!, model.atEpochMs).changeBps),
      favorite: false
    },
    marketSession: parameters.marketType === "crypto" ? sessionShown("open", model.atEpochMs) : standing(session),
    snapshotSequence: sequence,
    resync: { stream: "market.status", fromSequence: sequence }
  }
}

/** A value in RFC 8785 form, for strings, integers and booleans. */
const canonical = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([one], [other]) => one < other ? -1 : 1)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`
}

/** The digest of the registry: every listed market as the public sees it, without members that change with time alone. */
export const registryDigest = (model: NaiveVenue): string => {
  const listed = model.markets.filter(({ status }) => status !== "draft" && status !== "backfilling")
  const markets = listed.map((each) => ({
    ...market(model, each)["market"] as Members,
    change24hBps: "0",
    ...(each.parameters.marketType === "crypto" ? {} : { session: standing(each.session) })
  }))
  const text = canonical({ sequence: model.registrySequence, markets })
  return `sha256:${crypto.createHash("sha256").update(text).digest("hex")}`
}

/** A market in the unified shape, without the members of its native snapshot. */
export const compatMarket = (shown: NaiveMarket): Members => {
  const { parameters, status } = shown
  const { priceScale, quantityScale } = parameters
  return {
    id: parameters.marketId,
    symbol: symbolOf(parameters),
    base: parameters.baseAsset,
    quote: parameters.quoteAsset,
    settle: parameters.settlementAsset,
    baseId: parameters.baseAsset,
    quoteId: parameters.quoteAsset,
    settleId: parameters.settlementAsset,
    type: "swap",
    spot: false,
    margin: false,
    swap: true,
    future: false,
    option: false,
    contract: true,
    linear: true,
    inverse: false,
    contractSize: 1,
    active: (status === "open" || status === "reduce_only") && Risk.sessionOf(shown) !== "closed",
    taker: numberOf(parameters.takerFeeBps, 4),
    maker: numberOf(parameters.makerFeeBps, 4),
    precision: { amount: numberOf(1, quantityScale), price: numberOf(1, priceScale) },
    limits: {
      leverage: { min: 1, max: parameters.maxLeverageX },
      amount: {
        min: numberOf(parameters.minQuantityAtoms, quantityScale),
        max: numberOf(parameters.maxQuantityAtoms, quantityScale)
      },
      price: { min: numberOf(parameters.minPriceAtoms, priceScale), max: numberOf(parameters.maxPriceAtoms, priceScale) },
      cost: {}
    }
  }
}

/** A market's funding: the last interval that ended, and the running one so far as long as it may be paid. */
export const fundingOf = (of: NaiveMarket) => {
  const last = of.risk.fundings.at(-1)
  const predicted8h = Risk.predictedRate8h(of)
  return {
    rate8h: last?.rate8h ?? 0n,
    rate: last === undefined ? 0n : Risk.perInterval(last.rate8h, last.intervalMs),
    predicted8h,
    predicted: Risk.perInterval(predicted8h, of.parameters.fundingIntervalMs)
  }
}

/** From when on nobody will pay the running interval, and from when on that is shown as the rate of the last one. */
export interface Unpaid {
  readonly from: number
  readonly lastFrom: number
}

export const unpaid = ({ halted }: Pick<NaiveVenue, "halted">, of: NaiveMarket): Unpaid => ({
  from: Risk.unpaidFrom(of, halted),
  lastFrom: Risk.lastUnpaidFrom(of, halted)
})

/** The rates of the last and of the running interval as shown at a time. */
export const ratesAt = ({ predicted, predicted8h, rate, rate8h }: ReturnType<typeof fundingOf>, unpaid: Unpaid, atEpochMs: number) => ({
  ...(atEpochMs >= unpaid.lastFrom ? { rate: 0n, rate8h: 0n } : { rate, rate8h }),
  ...(atEpochMs >= unpaid.from ? { predicted: 0n, predicted8h: 0n } : { predicted, predicted8h })
})

/** When a market is open: always, or by its session. */
const hoursOf = ({ parameters: { marketType }, session }: NaiveMarket) => {
  if (marketType === "crypto") return "always" as const
  return { state: session?.state ?? ("closed" as const), opens: session?.opens ?? 0, closes: session?.closes ?? 0 }
}

/** A rate in 10^-9 as basis points, half up. */
const bpsOf = (rate: bigint): string => {
  const shifted = rate + 50_000n
  const whole = shifted / 100_000n
  return String(shifted < 0n && shifted % 100_000n !== 0n ? whole - 1n : whole)
}

/** A market's figures after a record, without the time and the trading of the day. */
export interface Figures {
  readonly parameters: Market.Parameters
  readonly factor: bigint
  readonly mark: number
  readonly lastPrice: number
  readonly openInterest: bigint
  readonly funding: ReturnType<typeof fundingOf>
  readonly index: number
  /** When the source observed the index. */
  readonly source: number
  readonly isHeld: boolean
  readonly isClosed: boolean
  readonly hours: ReturnType<typeof hoursOf>
  readonly isDelisted: boolean
}

/** A market's present figures. */
export const figures = (model: NaiveVenue, of: NaiveMarket): Figures => {
  const { factor, lastPrice, mark, parameters, risk: { held: step, index, source } } = of
  return {
    parameters,
    factor,
    mark,
    lastPrice,
    openInterest: BigInt(model.openInterest(of.index)),
    funding: fundingOf(of),
    index,
    source,
    isHeld: step !== undefined,
    isClosed: Risk.sessionOf(of) === "closed",
    hours: hoursOf(of),
    isDelisted: isDelisted(of)
  }
}

/** How far a clock may be behind the records before no index is reported as fresh. */
export const mostBehindMs = 10_000

/**
 * `external-market-stats/v1` of figures at a time. Whether the index is stale, when funding is next paid and whether anything of the
 * running interval, which nobody pays from a time on, are judged by `now`, which may be later.
 */
export const statsOf = (of: Figures, unpaid: Unpaid, day: NaiveDay, atEpochMs: number, now = atEpochMs): Members => {
  const { funding, openInterest, parameters } = of
  const { indexStaleMs, marketId, priceScale, quantityScale } = parameters
  const present = Math.max(now, atEpochMs)
  const { predicted, predicted8h, rate, rate8h } = ratesAt(funding, unpaid, present)
  return {
    version: "external-market-stats/v1",
    marketId,
    ...both("volume24hQuote", day.volumeQuote, moneyScale),
    ...both("volume24hBase", day.volumeBase, quantityScale),
    ...both("openInterestBase", openInterest, quantityScale),
    ...both("openInterestQuote", openInterest * BigInt(of.mark) * of.factor, moneyScale),
    ...both("lastPrice", of.lastPrice, priceScale),
    ...both("high24h", day.high, priceScale),
    ...both("low24h", day.low, priceScale),
    fundingRateBps: bpsOf(rate8h),
    predictedFundingRateBps: bpsOf(predicted8h),
    fundingRateBasisMs: 8 * hourMs,
    fundingRateE9: String(rate),
    predictedFundingRateE9: String(predicted),
    change24hBps: String(day.changeBps),
    nextFundingTimeEpochMs: of.isDelisted ? 0 : Risk.nextFunding(parameters.fundingIntervalMs, of.hours, present),
    fundingIntervalMs: parameters.fundingIntervalMs,
    marketData: {
      ...both("indexPrice", of.index, priceScale),
      ...both("markPrice", of.mark, priceScale),
      asOfEpochMs: of.source,
      stale: (present >= of.source + indexStaleMs || atEpochMs - now > mostBehindMs) && !of.isClosed,
      held: of.isHeld
    }
  }
}

/**
 * Times from `early` to `late` of which one shows whatever figures at a record's time may show in between: each at which something of
 * theirs changes. Which of the intervals contains the time is as told.
 */
export const momentsOf = (
  { hours, parameters: { fundingIntervalMs, indexStaleMs }, source }: Pick<Figures, "hours" | "parameters" | "source">,
  unpaid: Unpaid,
  atEpochMs: number,
  told: unknown,
  [early, late]: readonly [number, number]
): ReadonlyArray<number> => {
  const ofInterval = Number(told) - fundingIntervalMs
  // Behind its last end before a close, the next session's first one is told.
  const ofSession = hours === "always" ? [] : [hours.closes - 1 - (hours.closes - 1) % fundingIntervalMs, hours.closes, hours.opens]
  return [
    early,
    ...[atEpochMs - mostBehindMs, source + indexStaleMs, unpaid.from, unpaid.lastFrom, ofInterval, ...ofSession].filter((each) =>
      each > early && each <= late && Number.isFinite(each)
    )
  ]
}

/** The readings of a clock of which nothing is known. */
export const anyTime = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY] as const

/** The times by which a market's present figures may have been judged. */
export const moments = (model: NaiveVenue, of: NaiveMarket, told: unknown, clock: readonly [number, number]): ReadonlyArray<number> =>
  momentsOf({ hours: hoursOf(of), parameters: of.parameters, source: of.risk.source }, unpaid(model, of), model.atEpochMs, told, clock)

/** `external-market-stats/v1` of a market's present figures. */
export const stats = (model: NaiveVenue, of: NaiveMarket, now = model.atEpochMs): Members =>
  statsOf(figures(model, of), unpaid(model, of), model.day(of, model.atEpochMs), model.atEpochMs, now)

/** A market's present figures in the unified shape: every number is there, 0 where there is none yet. */
export const compatStats = (model: NaiveVenue, of: NaiveMarket, now = model.atEpochMs): Members => {
  const { priceScale, quantityScale } = of.parameters
  const day = model.day(of, model.atEpochMs)
  const openInterest = BigInt(model.openInterest(of.index))
  const present = Math.max(now, model.atEpochMs)
  const { predicted, rate } = ratesAt(fundingOf(of), unpaid(model, of), present)
  const next = isDelisted(of) ? 0 : Risk.nextFunding(of.parameters.fundingIntervalMs, hoursOf(of), present)
  const minutes = of.parameters.fundingIntervalMs / 60_000
  return {
    symbol: symbolOf(of.parameters),
    ...moment(model.atEpochMs),
    high: numberOf(day.high, priceScale),
    low: numberOf(day.low, priceScale),
    last: numberOf(of.lastPrice, priceScale),
    baseVolume: numberOf(day.volumeBase, quantityScale),
    quoteVolume: numberOf(day.volumeQuote, moneyScale),
    openInterestAmount: numberOf(openInterest, quantityScale),
    openInterestValue: numberOf(openInterest * BigInt(of.mark) * of.factor, moneyScale),
    markPrice: numberOf(of.mark, priceScale),
    indexPrice: numberOf(of.risk.index, priceScale),
    fundingRate: numberOf(rate, 9),
    nextFundingRate: numberOf(predicted, 9),
    nextFundingTimestamp: next,
    nextFundingDatetime: new Date(next).toISOString(),
    interval: minutes % 60 === 0 ? `${minutes / 60}h` : Number.isInteger(minutes) ? `${minutes}m` : `${minutes * 60}s`,
    info: stats(model, of, now)
  }
}

/** A ticker: the best prices and the day; values that do not exist are absent. */
export const ticker = (model: NaiveVenue, of: NaiveMarket, now = model.atEpochMs): Members => {
  const { priceScale, quantityScale } = of.parameters
  const day = model.day(of, model.atEpochMs)
  const [bid] = model.levels(of.index, Order.buy)
  const [ask] = model.levels(of.index, Order.sell)
  const price = (atoms: bigint | number): number => numberOf(atoms, priceScale)
  const traded = of.lastPrice !== 0
  const today = day.volumeBase !== 0n
  const mark = of.mark === 0 ? undefined : price(of.mark)
  return {
    symbol: symbolOf(of.parameters),
    ...moment(model.atEpochMs),
    high: today ? price(day.high) : undefined,
    low: today ? price(day.low) : undefined,
    bid: bid === undefined ? undefined : price(bid[0]),
    bidVolume: bid === undefined ? undefined : numberOf(bid[1], quantityScale),
    ask: ask === undefined ? undefined : price(ask[0]),
    askVolume: ask === undefined ? undefined : numberOf(ask[1], quantityScale),
    vwap: today ? price(halfUp(day.volumeQuote, day.volumeBase * of.factor)) : undefined,
    open: traded ? price(day.open) : undefined,
    close: traded ? price(of.lastPrice) : undefined,
    last: traded ? price(of.lastPrice) : undefined,
    change: traded ? price(of.lastPrice - day.open) : undefined,
    percentage: traded ? ((of.lastPrice - day.open) * 100) / day.open : undefined,
    average: traded ? numberOf(BigInt(of.lastPrice + day.open) * 5n, priceScale + 1) : undefined,
    baseVolume: numberOf(day.volumeBase, quantityScale),
    quoteVolume: numberOf(day.volumeQuote, moneyScale),
    markPrice: mark,
    indexPrice: of.risk.index === 0 ? undefined : price(of.risk.index),
    info: stats(model, of, now)
  }
}

/** The levels of a side of a book as sent, best first. */
export const levels = (levelsOfSide: ReadonlyArray<readonly [number, number]>, { priceScale, quantityScale }: Market.Parameters) =>
  levelsOfSide.map(([price, size]) => ({ ...both("price", price, priceScale), ...both("size", size, quantityScale) }))

/** The levels of a side of a book as pairs of numbers, best first. */
export const levelPairs = (levelsOfSide: ReadonlyArray<readonly [number, number]>, { priceScale, quantityScale }: Market.Parameters) =>
  levelsOfSide.map(([price, size]) => [numberOf(price, priceScale), numberOf(size, quantityScale)])

/** The limits that clients are told. */
export const limits = (model: NaiveVenue): Members => ({
  version: "external-limits/v1",
  idempotencyRetentionMs: model.retentionMs,
  idempotencyRetentionSinceEpochMs: model.retentionSinceEpochMs,
  minIdempotencyRetentionMs: 10 * 60_000,
  maxIdempotencyRetentionMs: 30 * 24 * 3_600_000,
  endedOrderExtraMs: 60_000,
  maxIdempotencyKeyLength: 255,
  maxClientOrderIdLength: 64,
  maxOrdersPerBatch: 32,
  maxCancelsPerBatch: 24,
  maxOpenOrdersPerMarket: 200,
  maxAutoClosesPerMarket: model.brackets.most,
  maxOrdersMet: model.metAtOnce,
  minCancelAllAfterMs: 1_000,
  maxCancelAllAfterMs: 600_000,
  marginNoticeMs: model.noticeMs,
  maxRequestBytes: 65_536,
  maxPageEntries: 100,
  maxCompatEntries: 500,
  maxBookLevels: 500,
  keptFills: model.fillsKept,
  maxKeysPerAccount: model.identity.bounds.keys,
  maxTicketFamiliesPerKey: model.identity.bounds.familiesOfKey,
  minDepositAtoms: "1000000",
  minWithdrawalAtoms: "1000000",
  maxOpenDeposits: 1,
  maxOpenWithdrawals: model.funds.bounds.withdrawalsOfAccount,
  journalSequence: model.sequence
})
