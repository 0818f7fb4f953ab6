/**
 * The content of a stream as its clients keep it and as the model has it: named things in one text, equal where nothing was skipped or
 * wrong.
 */
import canonicalize from "canonicalize"
import * as Ids from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import { type NaiveFill, type NaiveOrder, remaining } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Shown from "../model/Shown.js"
import { checksumOf, snapshotOf } from "../model/ShownBooks.js"
import * as ShownHistories from "../model/ShownHistories.js"
import { difference, without } from "../properties/Difference.js"

/** One thing in a stream, as far as it is compared: a level, an order, a position, a balance. */
interface Thing {
  readonly accountId?: string
  readonly side?: string
  readonly priceAtoms?: string
  readonly sizeAtoms?: string
  readonly orderId?: string
  readonly status?: string
  readonly remainingQuantityAtoms?: string
  readonly marketId?: string
  readonly quantityAtoms?: string
  readonly closed?: boolean
  readonly collateralAtoms?: string
  readonly openTimeEpochMs?: number
  readonly tradeId?: string
}

/** A book as a whole. */
interface Book {
  readonly bids: ReadonlyArray<Thing>
  readonly asks: ReadonlyArray<Thing>
}

export type Data = Book | Thing | ReadonlyArray<Thing>

const isBook = (data: Data): data is Book => "bids" in data

export const listOf = (data: Data): ReadonlyArray<Thing> =>
  isBook(data)
    ? [...data.bids.map((level) => ({ ...level, side: "bid" })), ...data.asks.map((level) => ({ ...level, side: "ask" }))]
    : Array.isArray(data)
    ? data
    : [data as Thing]

/** A frame about a book. */
interface BookFrame {
  readonly marketId: string
  readonly sequence: number
  readonly checksum: string | undefined
  readonly data: Data
}

/** A side's levels by price, as a client keeps them: best first. */
const bestFirst = (things: ReadonlyMap<string, string>, side: "bid" | "ask"): ReadonlyArray<readonly [number, number]> =>
  [...things].filter(([name]) => name.startsWith(side)).map(([name, size]) => [Number(name.slice(4)), Number(size)] as const)
    .sort(([one], [other]) => side === "bid" ? other - one : one - other)

/** The first contradiction between a book's frame and the book that it results in; undefined where there is none. */
export const bookMisread = (
  model: NaiveVenue,
  { checksum, data, marketId, sequence }: BookFrame,
  things: ReadonlyMap<string, string>
): string | undefined => {
  const { parameters } = model.markets.find((market) => market.parameters.marketId === marketId)!
  if (isBook(data)) {
    const book = { bids: bestFirst(things, "bid"), asks: bestFirst(things, "ask") }
    return difference("its book", data, snapshotOf(book, parameters, sequence, Number.POSITIVE_INFINITY))
  }
  for (const { priceAtoms, side, sizeAtoms, ...told } of data as ReadonlyArray<Thing>) {
    const [level] = Shown.levels([[Number(priceAtoms), Number(sizeAtoms)]], parameters)
    const verdict = difference(`the ${side} ${priceAtoms}`, { ...told, priceAtoms, sizeAtoms }, level)
    if (verdict !== undefined) return verdict
  }
  if (checksum === undefined) return undefined
  return difference("its checksum", checksum, checksumOf({ bids: bestFirst(things, "bid"), asks: bestFirst(things, "ask") }))
}

/** A stream's name in requests. */
export interface Names {
  readonly channel: string
  readonly marketId?: string
  readonly timeframe?: string
  readonly series?: string
}

/** Most candles in a snapshot, and kept by a client. */
export const candlesKept = 100
/** Things as a text, independent of their order. */
export const textOf = (things: Iterable<readonly [string, string]>): string =>
  [...things].map(([name, value]) => `${name} ${value}`).sort().join("; ")

const isOfClient = ({ by }: NaiveOrder): boolean => by === "client"

/** Trades and fills are checked one by one as they arrive: of a client's collection, only the latest is compared. */
const newest = "newest"
const newestOf = (trades: ReadonlyArray<string>): ReadonlyArray<readonly [string, string]> => {
  const ordinalOf = (id: string): number => Number.parseInt(id.slice("trd_".length), 36)
  return trades.length === 0 ? [] : [[newest, trades.reduce((one, other) => ordinalOf(other) > ordinalOf(one) ? other : one)]]
}

/**
 * The newest of some fills that the venue still keeps; undefined where it keeps none: whether a client has heard of them is unknown then.
 */
const newestKept = (model: NaiveVenue, is: (fill: NaiveFill) => boolean): string | undefined => {
  const last = model.trades.findLast(is)
  return last === undefined || model.retained([last]).length === 0 ? undefined : textOf(newestOf([Shown.idOf("trd", last.ordinal)]))
}

/** A market's snapshot without members whose changes alone are not sent: its prices, the time, and members about other markets. */
const statusText = (snapshot: object): string => {
  const { market, marketSession } = snapshot as { readonly market: object; readonly marketSession: object }
  const isAlwaysOpen = (market as { readonly marketType: string }).marketType === "crypto"
  return canonicalize({
    ...without(snapshot, ["readModelDigest", "snapshotSequence", "resync"]) as object,
    market: without(market, ["lastPrice", "lastPriceAtoms", "change24hBps", "favorite"]),
    marketSession: isAlwaysOpen ? without(marketSession, ["asOfEpochMs"]) : marketSession
  })!
}

/** The model's present content of a stream; undefined where clients do not keep it. */
export const modelled = (model: NaiveVenue, { channel, marketId, series, timeframe }: Names, account: number): string | undefined => {
  switch (channel) {
    case "market.candles": {
      const market = model.markets.find(({ parameters }) => parameters.marketId === marketId)!
      const asked = { timeframe: timeframe!, series: series!, since: null, limit: candlesKept }
      const { candles } = ShownHistories.candles(model, market, model.sequence, asked) as { readonly candles: ReadonlyArray<Thing> }
      return textOf(candles.map((candle) => [String(candle.openTimeEpochMs), JSON.stringify(candle)] as const))
    }
    case "market.book": {
      const market = model.markets.find(({ parameters }) => parameters.marketId === marketId)!
      return textOf(
        ([Order.buy, Order.sell] as const).flatMap((side) =>
          model.levels(market.index, side).map(([price, size]) => [`${side === Order.buy ? "bid" : "ask"} ${price}`, String(size)] as const)
        )
      )
    }
    case "market.trades": {
      const market = model.markets.findIndex(({ parameters }) => parameters.marketId === marketId)
      return newestKept(model, (fill) => fill.market === market)
    }
    case "market.status": {
      const market = model.markets.find(({ parameters }) => parameters.marketId === marketId)!
      return textOf([["status", statusText(Shown.market(model, market))]])
    }
    case "account.fills":
      return newestKept(model, ({ maker, taker }) => maker.account === account || taker.account === account)
    case "account.orders":
      return textOf(
        model.accounts[account]!.open.filter(isOfClient).map((order) => [Ids.orderId(order.number), String(remaining(order))] as const)
      )
    case "account.positions":
      return textOf(
        [...model.accounts[account]!.positions].filter(([, { quantity }]) => quantity !== 0).map(([market, { quantity }]) =>
          [model.markets[market]!.parameters.marketId, String(quantity)] as const
        )
      )
    case "account.balance":
      return textOf([["collateral", String(model.accounts[account]!.collateral)]])
    default:
      // These are checked as they arrive: only the arrival of the last one is compared.
      return ""
  }
}

/** The things in a frame's data, by name; an empty text for one that is gone. */
export const thingsIn = (channel: string, data: Data): ReadonlyArray<readonly [string, string]> => {
  const list = listOf(data)
  switch (channel) {
    case "market.book":
      return list.map(({ priceAtoms, side, sizeAtoms }) => [`${side} ${priceAtoms}`, sizeAtoms === "0" ? "" : sizeAtoms!])
    case "account.orders":
      return list.map(({ orderId, remainingQuantityAtoms, status }) => [orderId!, status === "open" ? remainingQuantityAtoms! : ""])
    case "account.positions":
      return list.map(({ closed, marketId, quantityAtoms, side }) => [
        marketId!,
        closed === true ? "" : `${side === "short" ? "-" : ""}${quantityAtoms}`
      ])
    case "market.candles":
      return list.map((candle) => [String(candle.openTimeEpochMs), JSON.stringify(candle)])
    case "account.balance":
      return list.map(({ collateralAtoms }) => ["collateral", collateralAtoms!])
    case "market.status":
      return list.map((snapshot) => ["status", statusText(snapshot)])
    case "market.trades":
    case "account.fills":
      return newestOf(list.map(({ tradeId }) => tradeId!))
    default:
      return []
  }
}
