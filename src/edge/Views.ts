/**
 * What the engine's state looks like to a reader: payloads of markets, books, balances, positions and keys.
 * Books and the registry's digest are kept as text until the sequence they were made at has passed: making
 * them costs a millisecond, sending them again nothing.
 */
import { hash } from "node:crypto"
import canonicalize from "canonicalize"
import { assert } from "../domain/Assert.js"
import * as Command from "../operations/Operations.js"
import * as Ids from "../domain/Ids.js"
import * as Market from "../domain/Market.js"
import * as Units from "../domain/Units.js"
import type { ApiKeyView, BookView, MarketView, PositionView, Reads } from "../engine/Reads.js"
import type { Balance, Position } from "./contract/Accounts.js"
import type { CompatBalance, CompatMarket, CompatPosition } from "./contract/Compat.js"
import type { MarketSnapshot } from "./contract/Markets.js"
import * as Encode from "./Encode.js"
import * as Errors from "./Errors.js"

/** Most levels a side in a book. */
export const maxDepth = 500
const checksumDepth = 25

const sha256 = (text: string): string => `sha256:${hash("sha256", text, "hex")}`

const details = (view: MarketView): MarketSnapshot["market"] => {
  const { parameters } = view
  const { priceScale, quantityScale } = parameters
  return {
    marketId: parameters.marketId,
    underlyingSymbol: parameters.underlyingSymbol,
    marketType: parameters.marketType,
    logoUrl: parameters.logoUrl,
    logoUnavailable: parameters.logoUrl === "",
    status: view.status,
    priceScale,
    quantityScale,
    minPrice: Units.formatDecimal(parameters.minPriceAtoms, priceScale),
    maxPrice: Units.formatDecimal(parameters.maxPriceAtoms, priceScale),
    minQuantity: Units.formatDecimal(parameters.minQuantityAtoms, quantityScale),
    maxQuantity: Units.formatDecimal(parameters.maxQuantityAtoms, quantityScale),
    maxPositionQuantity: Units.formatDecimal(parameters.maxPositionQuantityAtoms, quantityScale),
    initialMarginBps: parameters.initialMarginBps,
    maintenanceMarginTiers: parameters.maintenanceMarginTiers.map((tier) => ({
      notionalThresholdAtoms: String(tier.notionalThresholdAtoms),
      maintenanceMarginBps: tier.maintenanceMarginBps
    })),
    maxLeverageX: parameters.maxLeverageX,
    makerFeeBps: parameters.makerFeeBps,
    takerFeeBps: parameters.takerFeeBps,
    priceBandBps: parameters.priceBandBps,
    settlementAsset: parameters.settlementAsset,
    symbol: Market.symbol(parameters),
    lastPriceAtoms: String(view.lastPriceAtoms),
    lastPrice: Units.formatDecimal(view.lastPriceAtoms, priceScale),
    change24hBps: String(view.change24hBps),
    favorite: false
  }
}

/** Markets that the public sees, in the order in which they were created. */
export const listedMarkets = (state: Reads): ReadonlyArray<MarketView> => {
  const views: Array<MarketView> = []
  for (let index = 0; index < state.marketCount; index++) {
    const view = state.market(index)
    if (Market.isListed(view.status)) views.push(view)
  }
  return views
}

/** The public market of an index, or undefined. */
export const listedMarket = (state: Reads, index: number): MarketView | undefined => {
  if (index < 0) return undefined
  const view = state.market(index)
  return Market.isListed(view.status) ? view : undefined
}

interface Registry {
  readonly sequence: number
  readonly markets: ReadonlyArray<MarketSnapshot["market"]>
}

/** `{sequence, markets}` of the registry as the public sees it: what its digest covers. */
export const registry = (state: Reads): Registry => ({
  sequence: state.registrySequence,
  // What moves with time alone is no part of a projection that a sequence names.
  markets: listedMarkets(state).map((view) => ({ ...details(view), change24hBps: "0" }))
})

/** One side of a book as JSON. Members are in canonical order, so that the text is also what the digest covers. */
const levelsText = (
  levels: ReadonlyArray<readonly [number, number]>,
  market: Pick<Market.Parameters, "priceScale" | "quantityScale">
): string => {
  let text = "["
  for (let index = 0; index < levels.length; index++) {
    const [priceAtoms, sizeAtoms] = levels[index]!
    text += (index === 0 ? "" : ",")
      + `{"price":"${Units.formatDecimal(priceAtoms, market.priceScale)}","priceAtoms":"${priceAtoms}"`
      + `,"size":"${Units.formatDecimal(sizeAtoms, market.quantityScale)}","sizeAtoms":"${sizeAtoms}"}`
  }
  return `${text}]`
}

/** SHA-256 over the best 25 levels a side: `b|priceAtoms|sizeAtoms` lines, then `a|...`, best first, joined by a newline. */
export const bookChecksum = (book: BookView): string => {
  const lines: Array<string> = []
  for (const [price, size] of book.bids.slice(0, checksumDepth)) lines.push(`b|${price}|${size}`)
  for (const [price, size] of book.asks.slice(0, checksumDepth)) lines.push(`a|${price}|${size}`)
  return sha256(lines.join("\n"))
}

/** `external-book-snapshot/v1` as JSON. */
export const bookText = (
  market: Pick<Market.Parameters, "marketId" | "priceScale" | "quantityScale">,
  sequence: number,
  book: BookView
): string => {
  const bids = levelsText(book.bids, market)
  const asks = levelsText(book.asks, market)
  const marketId = Encode.quote(market.marketId)
  const digest = sha256(`{"asks":${asks},"bids":${bids},"marketId":${marketId},"snapshotSequence":${sequence}}`)
  return `{"version":"external-book-snapshot/v1","marketId":${marketId},"snapshotSequence":${sequence}`
    + `,"readModelDigest":"${digest}","bids":${bids},"asks":${asks},"checksum":"${bookChecksum(book)}"`
    + `,"resync":{"stream":"market.book","fromSequence":${sequence}}}`
}

const pairs = (
  levels: ReadonlyArray<readonly [number, number]>,
  market: Pick<Market.Parameters, "priceScale" | "quantityScale">
): string =>
  `[${
    levels
      .map(([price, size]) => `[${Units.toNumber(price, market.priceScale)},${Units.toNumber(size, market.quantityScale)}]`)
      .join(",")
  }]`

interface CachedBook {
  readonly sequence: number
  readonly book: BookView
  readonly text: string
}

/** Readers of one venue. Nothing here outlives the state it was made for. */
export interface Views {
  readonly market: (view: MarketView) => MarketSnapshot
  readonly compatMarket: (view: MarketView) => CompatMarket
  /** Native snapshot of a book as JSON. */
  readonly book: (view: MarketView) => string
  /** Compatibility book as JSON, with at most `depth` levels a side and the whole native snapshot in `info`. */
  readonly compatBook: (view: MarketView, depth: number) => string
}

export const make = (state: Reads): Views => {
  const books = new Map<number, CachedBook>()
  let digest = { sequence: -1, text: "" }

  const registryDigest = (): string => {
    if (digest.sequence !== state.registrySequence) {
      const text = canonicalize(registry(state))
      assert(text !== undefined, "a registry is JSON")
      digest = { sequence: state.registrySequence, text: sha256(text) }
    }
    return digest.text
  }

  const market = (view: MarketView): MarketSnapshot => ({
    version: "external-market-snapshot/v1",
    marketId: view.parameters.marketId,
    status: view.status,
    market: details(view),
    marketSession: {
      state: "open",
      asOfEpochMs: state.atEpochMs,
      nextOpenEpochMs: 0,
      nextCloseEpochMs: 0,
      riskIncreasingOrderCutoffEpochMs: 0
    },
    snapshotSequence: view.marketSequence,
    readModelDigest: registryDigest(),
    resync: { stream: "market.status", fromSequence: view.marketSequence }
  })

  const cached = (view: MarketView): CachedBook => {
    const known = books.get(view.index)
    if (known !== undefined && known.sequence === view.bookSequence) return known
    const book = state.book(view.index, maxDepth)
    const made: CachedBook = {
      sequence: view.bookSequence,
      book,
      text: bookText(view.parameters, view.bookSequence, book)
    }
    books.set(view.index, made)
    return made
  }

  return {
    market,
    compatMarket: (view) => {
      const { parameters } = view
      const priceTick = Units.toNumber(1, parameters.priceScale)
      const amountTick = Units.toNumber(1, parameters.quantityScale)
      return {
        id: parameters.marketId,
        symbol: Market.symbol(parameters),
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
        active: view.status === "open" || view.status === "reduce_only",
        contractSize: 1,
        taker: parameters.takerFeeBps / Units.bpsOne,
        maker: parameters.makerFeeBps / Units.bpsOne,
        precision: { amount: amountTick, price: priceTick },
        limits: {
          leverage: { min: 1, max: parameters.maxLeverageX },
          amount: {
            min: Units.toNumber(parameters.minQuantityAtoms, parameters.quantityScale),
            max: Units.toNumber(parameters.maxQuantityAtoms, parameters.quantityScale)
          },
          price: {
            min: Units.toNumber(parameters.minPriceAtoms, parameters.priceScale),
            max: Units.toNumber(parameters.maxPriceAtoms, parameters.priceScale)
          },
          cost: {}
        },
        info: market(view)
      }
    },
    book: (view) => cached(view).text,
    compatBook: (view, depth) => {
      const { book, sequence, text } = cached(view)
      const { parameters } = view
      return `{"symbol":${Encode.quote(Market.symbol(parameters))},"bids":${pairs(book.bids.slice(0, depth), parameters)}`
        + `,"asks":${pairs(book.asks.slice(0, depth), parameters)},"nonce":${sequence},"info":${text}}`
    }
  }
}

const money = <Name extends string>(name: Name, atoms: number) => {
  const text = { [name]: Units.formatDecimal(atoms, Units.moneyScale), [`${name}Atoms`]: String(atoms) }
  return text as { readonly [key in Name | `${Name}Atoms`]: string }
}

/** An account's money. */
export const balance = (state: Reads, account: number): Balance => {
  const view = state.balance(account)
  return {
    version: "external-account-balance/v1",
    accountId: view.accountId,
    asset: "USDC",
    ...money("collateral", view.collateralAtoms),
    ...money("equity", view.equityAtoms),
    ...money("marginEquity", view.marginEquityAtoms),
    ...money("unrealizedPnl", view.unrealizedPnlAtoms),
    ...money("initialMargin", view.initialMarginAtoms),
    ...money("maintenanceMargin", view.maintenanceMarginAtoms),
    ...money("orderLoss", view.orderLossAtoms),
    ...money("available", view.availableAtoms),
    lastSequence: view.lastSequence,
    journalSequence: state.sequence
  }
}

/** One position that is not flat. */
export const position = (market: Market.Parameters, view: PositionView): Position => {
  const quantityAtoms = Math.abs(view.quantityAtoms)
  assert(quantityAtoms > 0, "a position that is read is not flat")
  const entryPriceAtoms = Encode.averagePriceAtoms(view.entryNotionalAtoms, quantityAtoms, market)
  return {
    positionId: Ids.positionId(view.born),
    marketId: market.marketId,
    side: view.quantityAtoms > 0 ? "long" : "short",
    quantity: Units.formatDecimal(quantityAtoms, market.quantityScale),
    quantityAtoms: String(quantityAtoms),
    ...money("entryNotional", view.entryNotionalAtoms),
    avgEntryPrice: Units.formatDecimal(entryPriceAtoms, market.priceScale),
    avgEntryPriceAtoms: String(entryPriceAtoms),
    markPrice: Units.formatDecimal(view.markPriceAtoms, market.priceScale),
    markPriceAtoms: String(view.markPriceAtoms),
    ...money("unrealizedPnl", view.unrealizedPnlAtoms),
    ...money("realizedPnl", view.realizedPnlAtoms),
    ...money("feesPaid", view.feesPaidAtoms),
    openedAtEpochMs: view.openedAtEpochMs,
    lastSequence: view.lastSequence
  }
}

/** An account's money in the unified shape. Total is the equity, free what may back new orders. */
export const compatBalance = (state: Reads, account: number): CompatBalance => {
  const view = state.balance(account)
  const free = Units.toNumber(view.availableAtoms, Units.moneyScale)
  const total = Units.toNumber(view.equityAtoms, Units.moneyScale)
  const used = Units.toNumber(view.equityAtoms - view.availableAtoms, Units.moneyScale)
  return {
    timestamp: state.atEpochMs,
    datetime: Errors.isoTime(state.atEpochMs),
    USDC: { free, used, total },
    free: { USDC: free },
    used: { USDC: used },
    total: { USDC: total },
    info: balance(state, account)
  }
}

/** One position that is not flat, in the unified shape: its margins are what it would need alone, at mark. */
export const compatPosition = (market: Market.Parameters, view: PositionView, atEpochMs: number): CompatPosition => {
  const quantityAtoms = Math.abs(view.quantityAtoms)
  const { initialMarginAtoms, maintenanceMarginAtoms, notionalAtoms } = view
  assert(notionalAtoms > 0, "a position that is read is not flat and has a mark")
  const entryPriceAtoms = Encode.averagePriceAtoms(view.entryNotionalAtoms, quantityAtoms, market)
  return {
    id: Ids.positionId(view.born),
    symbol: Market.symbol(market),
    timestamp: atEpochMs,
    datetime: Errors.isoTime(atEpochMs),
    side: view.quantityAtoms > 0 ? "long" : "short",
    contracts: Units.toNumber(quantityAtoms, market.quantityScale),
    contractSize: 1,
    entryPrice: Units.toNumber(entryPriceAtoms, market.priceScale),
    markPrice: Units.toNumber(view.markPriceAtoms, market.priceScale),
    notional: Units.toNumber(notionalAtoms, Units.moneyScale),
    initialMargin: Units.toNumber(initialMarginAtoms, Units.moneyScale),
    initialMarginPercentage: initialMarginAtoms / notionalAtoms,
    maintenanceMargin: Units.toNumber(maintenanceMarginAtoms, Units.moneyScale),
    maintenanceMarginPercentage: maintenanceMarginAtoms / notionalAtoms,
    unrealizedPnl: Units.toNumber(view.unrealizedPnlAtoms, Units.moneyScale),
    realizedPnl: Units.toNumber(view.realizedPnlAtoms, Units.moneyScale),
    marginMode: "cross",
    hedged: false,
    info: position(market, view)
  }
}

/** A key's record; never its text. */
export const apiKey = (state: Reads, key: ApiKeyView, atEpochMs: number) => ({
  keyId: key.keyId,
  accountId: state.accountId(key.account),
  principalKind: "agent" as const,
  displayPrefix: key.displayPrefix,
  scopes: [
    ...((key.scopes & Command.scopeRead) !== 0 ? ["read" as const] : []),
    ...((key.scopes & Command.scopeTrade) !== 0 ? ["trade" as const] : [])
  ],
  state: key.revokedAtEpochMs > 0
    ? "revoked" as const
    : key.expiresAtEpochMs <= atEpochMs
    ? "expired" as const
    : "active" as const,
  createdAtEpochMs: key.createdAtEpochMs,
  expiresAtEpochMs: key.expiresAtEpochMs,
  revokedAtEpochMs: key.revokedAtEpochMs === 0 ? null : key.revokedAtEpochMs,
  lastUsedAtEpochMs: null
})
