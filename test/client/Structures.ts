/**
 * The structural checks that the library applies to its own exchanges, for the structures that this class returns: which members there are,
 * of which type, and how they relate to one another. Written from the library's types and manual, since its package contains no tests.
 */
import { Precise } from "ccxt"
import type {
  Account,
  Balances,
  Exchange,
  FundingRate,
  LastPrice,
  LedgerEntry,
  Leverage,
  LeverageTier,
  MarginMode,
  Market,
  OHLCV,
  OpenInterest,
  Order,
  OrderBook,
  Position,
  Ticker,
  Trade,
  TradingFeeInterface,
  Transaction
} from "ccxt"
import { expect } from "vitest"

type Kind = "string" | "number" | "boolean" | "object" | "array"

/** Every member with its kind; a `?` after the kind if it may be undefined. The key must be present all the same. */
type Format = Readonly<Record<string, Kind | `${Kind}?`>>

const kindOf = (value: unknown): string => Array.isArray(value) ? "array" : typeof value

const hold = (what: string, entry: object, format: Format): Readonly<Record<string, unknown>> => {
  const members = { ...entry } as Readonly<Record<string, unknown>>
  for (const [key, kind] of Object.entries(format)) {
    expect(members, `${what} has ${key}`).toHaveProperty([key])
    const value = members[key]
    if (value === undefined && kind.endsWith("?")) continue
    expect(kindOf(value), `${what}.${key} of ${JSON.stringify(entry)}`).toBe(kind.replace("?", ""))
    if (typeof value === "number") expect(Number.isFinite(value), `${what}.${key} is finite`).toBe(true)
  }
  return members
}

const text = (exchange: Exchange, value: unknown): string => exchange.numberToString(Number(value))

const above = (what: string, value: unknown, least: number): void => {
  if (value !== undefined) expect(value, what).toBeGreaterThan(least)
}

const atLeast = (what: string, value: unknown, least: number): void => {
  if (value !== undefined) expect(value, what).toBeGreaterThanOrEqual(least)
}

const oneOf = (what: string, value: unknown, allowed: ReadonlyArray<unknown>): void => {
  expect(allowed, `${what} is ${String(value)}`).toContain(value)
}

const multipleOf = (exchange: Exchange, what: string, value: unknown, step: unknown): void => {
  if (value === undefined) return
  const rest = Precise.stringMod(text(exchange, value), text(exchange, step))
  expect(Number(rest), `${what} ${String(value)} is on the grid`).toBe(0)
}

/** A time is after the first block and not in the future; its datetime agrees. */
const timed = (exchange: Exchange, what: string, entry: Readonly<Record<string, unknown>>): void => {
  const { datetime, timestamp } = entry
  if (timestamp === undefined) {
    expect(datetime, `${what}.datetime without a timestamp`).toBeUndefined()
    return
  }
  expect(Number.isSafeInteger(timestamp), `${what}.timestamp is whole`).toBe(true)
  expect(timestamp).toBeGreaterThan(1_230_940_800_000)
  expect(timestamp).toBeLessThan(exchange.milliseconds() + 60_000)
  expect(datetime).toBe(exchange.iso8601(Number(timestamp)))
}

/** What the library demands of a linear swap market. */
export const market = (exchange: Exchange, entry: NonNullable<Market>): void => {
  hold("market", entry, {
    id: "string",
    symbol: "string",
    base: "string",
    quote: "string",
    settle: "string",
    baseId: "string",
    quoteId: "string",
    settleId: "string",
    type: "string",
    subType: "string",
    spot: "boolean",
    margin: "boolean",
    swap: "boolean",
    future: "boolean",
    option: "boolean",
    active: "boolean",
    contract: "boolean",
    linear: "boolean",
    inverse: "boolean",
    taker: "number",
    maker: "number",
    contractSize: "number",
    expiry: "number?",
    expiryDatetime: "string?",
    strike: "number?",
    optionType: "string?",
    created: "number?",
    precision: "object",
    limits: "object",
    marginModes: "object",
    info: "object"
  })
  expect(entry).toMatchObject({
    symbol: `${entry.base}/${entry.quote}:${entry.settle}`,
    type: "swap",
    subType: "linear",
    swap: true,
    contract: true,
    linear: true,
    inverse: false,
    spot: false,
    margin: false,
    future: false,
    option: false,
    expiry: undefined,
    expiryDatetime: undefined,
    strike: undefined,
    optionType: undefined,
    marginModes: { cross: true, isolated: false }
  })
  above("contractSize", entry.contractSize, 0)
  for (const fee of [entry.taker, entry.maker]) {
    expect(fee).toBeGreaterThan(-1)
    expect(fee).toBeLessThan(1)
  }
  for (const step of [entry.precision.amount, entry.precision.price]) above("precision", step, 0)
  for (const name of ["amount", "price", "cost", "leverage"] as const) {
    const range = entry.limits[name]
    expect(range, `limits.${name}`).toBeDefined()
    atLeast(`limits.${name}.min`, range?.min, 0)
    above(`limits.${name}.max`, range?.max, 0)
    if (range?.min !== undefined) atLeast(`limits.${name}`, range.max, range.min)
  }
  for (const [id, code] of [[entry.baseId, entry.base], [entry.quoteId, entry.quote], [entry.settleId, entry.settle]] as const) {
    expect(exchange.currency(code ?? "").id).toBe(id)
    expect(exchange.safeCurrency(id).code).toBe(code)
  }
}

/** What the library demands of an order book. */
export const orderBook = (exchange: Exchange, entry: OrderBook, symbol: string): void => {
  const members = hold("order book", entry, {
    symbol: "string",
    bids: "array",
    asks: "array",
    timestamp: "number?",
    datetime: "string?",
    nonce: "number"
  })
  expect(entry.symbol).toBe(symbol)
  timed(exchange, "order book", members)
  const sides = [[entry.bids, -1], [entry.asks, 1]] as const
  for (const [levels, direction] of sides) {
    levels.forEach((level, index) => {
      expect(level).toHaveLength(2)
      above("level", level[0], 0)
      above("level", level[1], 0)
      const next = levels[index + 1]
      if (next !== undefined) expect((Number(next[0]) - Number(level[0])) * direction, "levels are sorted").toBeGreaterThan(0)
    })
  }
  const [bid, ask] = [entry.bids[0]?.[0], entry.asks[0]?.[0]]
  if (bid !== undefined && ask !== undefined) expect(ask).toBeGreaterThan(bid)
}

/** What the library demands of a ticker. */
export const ticker = (exchange: Exchange, entry: Ticker, symbol: string): void => {
  const members = hold("ticker", entry, {
    symbol: "string",
    info: "object",
    timestamp: "number?",
    datetime: "string?",
    high: "number?",
    low: "number?",
    bid: "number?",
    bidVolume: "number?",
    ask: "number?",
    askVolume: "number?",
    vwap: "number?",
    open: "number?",
    close: "number?",
    last: "number?",
    previousClose: "number?",
    change: "number?",
    percentage: "number?",
    average: "number?",
    baseVolume: "number?",
    quoteVolume: "number?"
  })
  expect(entry.symbol).toBe(symbol)
  timed(exchange, "ticker", members)
  for (const name of ["open", "high", "low", "close", "ask", "bid", "average"]) above(`ticker.${name}`, members[name], 0)
  for (const name of ["askVolume", "bidVolume", "vwap", "baseVolume", "quoteVolume"]) atLeast(`ticker.${name}`, members[name], 0)
  expect(entry.last).toBe(entry.close)
  if (entry.ask !== undefined && entry.bid !== undefined) expect(entry.ask).toBeGreaterThan(entry.bid)
  if (entry.high !== undefined && entry.low !== undefined && entry.baseVolume !== undefined) {
    const lot = exchange.market(symbol).precision.amount ?? 0
    atLeast("quoteVolume", entry.quoteVolume, (entry.baseVolume - lot) * entry.low)
    expect(entry.quoteVolume).toBeLessThanOrEqual((entry.baseVolume + lot) * entry.high)
  }
}

const fee = (exchange: Exchange, what: string, entry: unknown): void => {
  if (entry === undefined) return
  const { cost, currency } = entry as { readonly cost?: number; readonly currency?: string }
  if (cost === undefined) return
  expect(typeof cost, `${what}.cost`).toBe("number")
  expect(Object.keys(exchange.currencies), `${what}.currency`).toContain(currency)
}

/** What the library demands of a trade, public or own. */
export const trade = (exchange: Exchange, entry: Trade, symbol: string): void => {
  const members = hold("trade", entry, {
    info: "object",
    id: "string?",
    timestamp: "number?",
    datetime: "string?",
    symbol: "string?",
    order: "string?",
    type: "string?",
    side: "string",
    takerOrMaker: "string?",
    price: "number",
    amount: "number",
    cost: "number",
    fee: "object?",
    fees: "array?"
  })
  expect(entry.symbol).toBe(symbol)
  timed(exchange, "trade", members)
  oneOf("trade.side", entry.side, ["buy", "sell"])
  oneOf("trade.takerOrMaker", entry.takerOrMaker, ["taker", "maker"])
  const { precision } = exchange.market(symbol)
  multipleOf(exchange, "trade.price", entry.price, precision.price)
  multipleOf(exchange, "trade.amount", entry.amount, precision.amount)
  expect(text(exchange, entry.cost)).toBe(Precise.stringMul(text(exchange, entry.price), text(exchange, entry.amount)))
  fee(exchange, "trade.fee", members["fee"])
  for (const one of members["fees"] as ReadonlyArray<unknown>) fee(exchange, "trade.fees", one)
}

/** What the library demands of an order. */
export const order = (exchange: Exchange, entry: Order, symbol: string, isEntry = false): void => {
  const members = hold("order", entry, {
    info: "object",
    id: "string",
    clientOrderId: "string?",
    timestamp: "number?",
    datetime: "string?",
    lastTradeTimestamp: "number?",
    lastUpdateTimestamp: "number?",
    symbol: "string?",
    type: "string?",
    timeInForce: "string?",
    postOnly: "boolean?",
    reduceOnly: "boolean?",
    side: "string?",
    price: "number?",
    triggerPrice: "number?",
    amount: "number?",
    cost: "number?",
    average: "number?",
    filled: "number?",
    remaining: "number?",
    status: "string?",
    fee: "object?",
    trades: "array"
  })
  expect(entry.symbol).toBe(symbol)
  timed(exchange, "order", members)
  oneOf("order.timeInForce", entry.timeInForce, ["GTC", "IOC", undefined])
  oneOf("order.status", entry.status, isEntry ? ["open", "closed", "canceled", "rejected"] : ["open", "closed", "canceled"])
  oneOf("order.side", entry.side, ["buy", "sell", undefined])
  oneOf("order.type", entry.type, ["limit", "market", undefined])
  above("order.price", entry.price, 0)
  above("order.average", entry.average, 0)
  for (const name of ["cost", "filled", "remaining", "amount"]) atLeast(`order.${name}`, members[name], 0)
  if (entry.amount !== undefined) {
    atLeast("order.amount", entry.amount, Number(entry.remaining ?? 0))
    atLeast("order.amount", entry.amount, Number(entry.filled ?? 0))
    const sum = Precise.stringAdd(text(exchange, entry.filled ?? 0), text(exchange, entry.remaining ?? 0))
    expect(sum, "filled + remaining is the amount").toBe(text(exchange, entry.amount))
  }
  for (const one of entry.trades) trade(exchange, one, symbol)
  fee(exchange, "order.fee", members["fee"])
}

/** A candle: its beginning, four prices, and a volume. */
export const candle = (entry: OHLCV): void => {
  const [at, open, high, low, close, volume] = entry as ReadonlyArray<number>
  expect(entry).toHaveLength(6)
  expect(Number.isInteger(at), "candle.timestamp is whole").toBe(true)
  for (const price of [open, close]) {
    atLeast("candle.high", high, price!)
    atLeast("candle price", price, low!)
  }
  above("candle.low", low, 0)
  atLeast("candle.volume", volume, 0)
}

/** A position that has ended. */
export const ended = (exchange: Exchange, entry: Position, symbol: string): void => {
  const members = hold("position", entry, {
    info: "object",
    id: "string",
    symbol: "string",
    timestamp: "number",
    datetime: "string",
    lastUpdateTimestamp: "number",
    side: "string",
    contracts: "number",
    contractSize: "number",
    entryPrice: "number",
    lastPrice: "number",
    notional: "number",
    realizedPnl: "number",
    marginMode: "string"
  })
  expect(entry.symbol).toBe(symbol)
  timed(exchange, "position", members)
  oneOf("position.side", entry.side, ["long", "short"])
  for (const name of ["contracts", "entryPrice", "notional"]) above(`position.${name}`, members[name], 0)
  atLeast("position.lastUpdateTimestamp", entry.lastUpdateTimestamp, entry.timestamp!)
}

/** What the library demands of a position that is not flat. */
export const position = (exchange: Exchange, entry: Position, symbol: string): void => {
  const members = hold("position", entry, {
    info: "object",
    id: "string?",
    symbol: "string",
    timestamp: "number?",
    datetime: "string?",
    side: "string",
    contracts: "number",
    contractSize: "number",
    entryPrice: "number",
    markPrice: "number",
    notional: "number",
    leverage: "number",
    collateral: "number",
    initialMargin: "number",
    initialMarginPercentage: "number",
    maintenanceMargin: "number",
    maintenanceMarginPercentage: "number",
    unrealizedPnl: "number",
    marginRatio: "number",
    liquidationPrice: "number?",
    marginMode: "string",
    percentage: "number"
  })
  expect(entry.symbol).toBe(symbol)
  timed(exchange, "position", members)
  oneOf("position.side", entry.side, ["long", "short"])
  oneOf("position.marginMode", entry.marginMode, ["cross", "isolated"])
  const positive = [
    "contracts",
    "contractSize",
    "entryPrice",
    "markPrice",
    "notional",
    "leverage",
    "collateral",
    "marginRatio",
    "initialMargin",
    "initialMarginPercentage",
    "maintenanceMargin",
    "maintenanceMarginPercentage"
  ]
  for (const name of positive) above(`position.${name}`, members[name], 0)
  above("position.liquidationPrice", entry.liquidationPrice, 0)
  expect(entry.leverage).toBeLessThanOrEqual(200)
  expect(entry.marginRatio, "nothing is held that is to be liquidated").toBeLessThan(1)
  expect(entry.maintenanceMargin).toBeLessThan(entry.initialMargin!)
  const notional = Precise.stringMul(text(exchange, entry.contracts), text(exchange, entry.markPrice))
  expect(text(exchange, entry.notional)).toBe(notional)
}

/** What the library demands of a balance: for every currency, free and used sum to the total. */
export const balance = (exchange: Exchange, entry: Balances): void => {
  const members = hold("balance", entry, { info: "object", free: "object", used: "object", total: "object" })
  timed(exchange, "balance", members)
  const column = (name: string) => members[name] as Readonly<Record<string, number>>
  const codes = Object.keys(column("total"))
  expect(codes.length).toBeGreaterThan(0)
  for (const code of codes) {
    expect(Object.keys(exchange.currencies)).toContain(code)
    const sum = Precise.stringAdd(text(exchange, column("free")[code]), text(exchange, column("used")[code]))
    expect(sum, `free and used of ${code} sum to the total`).toBe(text(exchange, column("total")[code]))
  }
}

/** What the library demands of a funding rate. */
export const fundingRate = (exchange: Exchange, entry: FundingRate, symbol: string): void => {
  // In a market with sessions the last interval may have ended days before: no time of it is told.
  const isAlwaysOpen = exchange.safeString(exchange.market(symbol).info.market, "marketType") === "crypto"
  const members = hold("funding rate", entry, {
    info: "object",
    symbol: "string",
    timestamp: "number",
    datetime: "string",
    markPrice: "number",
    indexPrice: "number",
    fundingRate: "number",
    fundingTimestamp: "number",
    fundingDatetime: "string",
    previousFundingRate: "number",
    ...(isAlwaysOpen ? { previousFundingTimestamp: "number", previousFundingDatetime: "string" } : {}),
    interval: "string"
  })
  expect(entry.symbol).toBe(symbol)
  timed(exchange, "funding rate", members)
  above("funding rate.markPrice", entry.markPrice, 0)
  above("funding rate.indexPrice", entry.indexPrice, 0)
  for (const name of ["fundingRate", "previousFundingRate"]) {
    expect(Math.abs(Number(members[name])), `${name} is a fraction`).toBeLessThan(1)
  }
  expect(exchange.iso8601(entry.fundingTimestamp)).toBe(entry.fundingDatetime)
  expect(exchange.iso8601(entry.previousFundingTimestamp)).toBe(entry.previousFundingDatetime)
  expect(entry.fundingTimestamp).toBeGreaterThan(Number(entry.timestamp))
  if (isAlwaysOpen) expect(entry.previousFundingTimestamp).toBeLessThanOrEqual(Number(entry.timestamp))
  else expect(entry.previousFundingTimestamp).toBeUndefined()
}

/** What the library demands of an account's leverage in a market. */
export const leverage = (entry: Leverage, symbol: string): void => {
  hold("leverage", entry, { info: "object", symbol: "string", marginMode: "string", longLeverage: "number", shortLeverage: "number" })
  expect(entry.symbol).toBe(symbol)
  atLeast("longLeverage", entry.longLeverage, 1)
  atLeast("shortLeverage", entry.shortLeverage, 1)
}

/** What the library demands of a market's tiers: each begins where the one before it ends, and has an end. */
export const leverageTiers = (exchange: Exchange, entries: ReadonlyArray<LeverageTier>, symbol: string): void => {
  expect(entries.length).toBeGreaterThan(0)
  entries.forEach((entry, index) => {
    hold("leverage tier", entry, {
      tier: "number",
      symbol: "string",
      currency: "string",
      minNotional: "number",
      maxNotional: "number",
      maintenanceMarginRate: "number",
      maxLeverage: "number",
      info: "object"
    })
    expect([entry.tier, entry.symbol]).toEqual([index + 1, symbol])
    expect(Object.keys(exchange.currencies)).toContain(entry.currency)
    expect(entry.minNotional).toBe(index === 0 ? 0 : entries[index - 1]!.maxNotional)
    above("maxNotional", entry.maxNotional, entry.minNotional!)
    above("maintenanceMarginRate", entry.maintenanceMarginRate, 0)
    expect(entry.maintenanceMarginRate).toBeLessThanOrEqual(1)
    atLeast("maxLeverage", entry.maxLeverage, 1)
  })
}

/** What the library demands of a market's open interest. */
export const openInterest = (exchange: Exchange, entry: OpenInterest, symbol: string): void => {
  const members = hold("open interest", entry, {
    info: "object",
    symbol: "string",
    openInterestAmount: "number",
    openInterestValue: "number",
    baseVolume: "number",
    quoteVolume: "number",
    timestamp: "number",
    datetime: "string"
  })
  expect(entry.symbol).toBe(symbol)
  timed(exchange, "open interest", members)
  atLeast("openInterestAmount", entry.openInterestAmount, 0)
  atLeast("openInterestValue", entry.openInterestValue, 0)
  expect([entry.baseVolume, entry.quoteVolume]).toEqual([entry.openInterestAmount, entry.openInterestValue])
}

/** What the library demands of a last price. */
export const lastPrice = (exchange: Exchange, entry: LastPrice, symbol: string): void => {
  const members = hold("last price", entry, {
    info: "object",
    symbol: "string",
    timestamp: "number?",
    datetime: "string?",
    price: "number?",
    side: "string?"
  })
  expect(entry.symbol).toBe(symbol)
  timed(exchange, "last price", members)
  above("last price", entry.price, 0)
  oneOf("last price.side", entry.side, ["buy", "sell", undefined])
}

/** What the library demands of a market's margin mode. */
export const marginMode = (entry: MarginMode, symbol: string): void => {
  hold("margin mode", entry, { info: "object", symbol: "string", marginMode: "string" })
  expect(entry.symbol).toBe(symbol)
  oneOf("margin mode", entry.marginMode, ["cross", "isolated"])
}

/** What the library demands of an account. */
export const account = (exchange: Exchange, entry: Account): void => {
  hold("account", entry, { info: "object", id: "string", type: "string", code: "string" })
  expect(Object.keys(exchange.currencies)).toContain(entry.code)
}

/** What the library demands of a deposit. */
export const transaction = (exchange: Exchange, entry: Transaction): void => {
  const members = hold("transaction", entry, {
    info: "object",
    id: "string",
    txid: "string?",
    timestamp: "number",
    datetime: "string",
    address: "string?",
    addressFrom: "string?",
    addressTo: "string?",
    tag: "string?",
    tagFrom: "string?",
    tagTo: "string?",
    type: "string",
    amount: "number",
    currency: "string",
    status: "string",
    updated: "number",
    fee: "object?",
    network: "string?",
    comment: "string?",
    internal: "boolean?"
  })
  timed(exchange, "transaction", members)
  oneOf("transaction.type", entry.type, ["deposit", "withdrawal"])
  oneOf("transaction.status", entry.status, ["ok", "pending", "failed", "rejected", "canceled"])
  above("transaction.amount", entry.amount, 0)
  expect(Object.keys(exchange.currencies)).toContain(entry.currency)
}

/** What the library demands of an entry of an account's ledger. */
export const ledgerEntry = (exchange: Exchange, entry: LedgerEntry): void => {
  const members = hold("ledger entry", entry, {
    info: "object",
    id: "string?",
    timestamp: "number",
    datetime: "string",
    direction: "string",
    account: "string",
    referenceId: "string?",
    referenceAccount: "string?",
    type: "string",
    currency: "string",
    amount: "number",
    before: "number",
    after: "number",
    status: "string",
    fee: "object?"
  })
  timed(exchange, "ledger entry", members)
  oneOf("ledger entry.direction", entry.direction, ["in", "out"])
  oneOf("ledger entry.type", entry.type, ["trade", "transaction", "transfer", "fee", "rebate", "cashback", "referral", "airdrop"])
  atLeast("ledger entry.amount", entry.amount, 0)
  expect(Object.keys(exchange.currencies)).toContain(entry.currency)
}

/** What the library demands of a market's fees. */
export const tradingFee = (entry: TradingFeeInterface, symbol: string): void => {
  hold("trading fee", entry, {
    info: "object",
    symbol: "string",
    maker: "number",
    taker: "number",
    percentage: "boolean",
    tierBased: "boolean"
  })
  expect(entry.symbol).toBe(symbol)
  for (const rate of [entry.maker, entry.taker]) expect(Math.abs(rate!)).toBeLessThan(1)
}

/** What the library demands of a list: ascending times. */
export const inOrder = (entries: ReadonlyArray<{ readonly timestamp?: number | undefined }>): void => {
  entries.forEach(({ timestamp }, index) => {
    if (index > 0) expect(timestamp).toBeGreaterThanOrEqual(entries[index - 1]!.timestamp!)
  })
}
