/** The venue as it was after one record: markets, books, accounts, positions and open orders, drawn as tables. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Ids from "../../domain/Ids.js"
import * as Market from "../../domain/Market.js"
import { anyMarket } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { mulDivHalfUp } from "../../domain/Units.js"
import type { Engine } from "../../engine/Engine.js"
import type { BalanceView, MarketView, OrderView, PositionView } from "../../engine/Reads.js"
import type { Capacity } from "../../engine/State.js"
import type { Unknown, Unreadable } from "../../journal/Journal.js"
import type { Record } from "../../journal/Record.js"
import type { Diverged } from "../../sequencer/Recovery.js"
import { type Ended, usage } from "../Exit.js"
import * as Time from "../Time.js"
import { follow, passive, type Source, type Visitor } from "./Follow.js"
import * as Format from "./Format.js"

/** A time in the journal: after a record, or after the last record that is not later than a given time. */
export type Moment =
  | { readonly _tag: "Sequence"; readonly sequence: number }
  | { readonly _tag: "Time"; readonly atEpochMs: number }

/** A record's place in a journal. */
export type Placed = Pick<Record, "sequence" | "atEpochMs">

/** Numbers from here on are milliseconds since 1970, smaller ones sequences: no venue was open in the first four months of 1970. */
const earliestEpochMs = 10_000_000_000

/** A sequence, milliseconds since 1970, or an ISO time; for anything else what is wrong with it, as a sentence. */
export const parseMoment = (text: string): Either.Either<Moment, string> => {
  if (/^[0-9]+$/.test(text)) {
    const value = Number(text)
    if (!Number.isSafeInteger(value) || value < 1) return Either.left(`${text} is none of these`)
    return Either.right(value < earliestEpochMs ? { _tag: "Sequence", sequence: value } : { _tag: "Time", atEpochMs: value })
  }
  return Either.map(Time.parse(text), (atEpochMs) => ({ _tag: "Time", atEpochMs }))
}

/** Says that an option does not take what it was given. */
export const notTaken = (option: string, why: string): Ended => usage(`${option} takes a sequence from 1, an ISO time or epoch ms: ${why}`)

/** Whether a moment is before a record was decided. */
export const isEarlier = (moment: Moment, { atEpochMs, sequence }: Placed): boolean =>
  moment._tag === "Sequence" ? moment.sequence < sequence : moment.atEpochMs < atEpochMs

/** What is drawn of the engine at a time; after the end of the journal, of the engine at its end. */
export const drawAt = <A>(
  journal: Source,
  capacity: Capacity,
  moment: Moment,
  drawn: (engine: Engine) => A,
  look: Pick<Visitor, "block"> = passive
): Effect.Effect<A, Unreadable | Unknown | Diverged> =>
  follow(journal, capacity, {
    ...passive,
    block: look.block,
    wants: moment._tag === "Sequence"
      ? (record) => record.sequence <= moment.sequence
      : (record) => record.atEpochMs <= moment.atEpochMs
  }, drawn)

/** Levels drawn on each side of a book. */
export const depth = 10
/** Width of a book's longest bar, in columns. */
const barColumns = 24

/** The part of a state that is shown, by the engine's numbers; undefined: all accounts, all markets. */
export interface Narrowed {
  readonly account?: number
  readonly market?: number
}

/**
 * The part of a state that is shown. An account is shown with its positions and open orders, and their markets; a market with its book, and
 * with the accounts that have positions or orders in it.
 */
export const shownOf = (engine: Engine, { account, market }: Narrowed) => {
  const everybody = Array.from({ length: engine.state.accounts.count }, (_, index) => index)
  const isShown = (each: { readonly market: number }): boolean => market === undefined || each.market === market
  const positions = (account === undefined ? everybody : [account]).flatMap((each) => engine.positions(each)).filter(isShown)
  const orders = (account === undefined ? everybody : [account]).flatMap((each) => engine.openOrders(each, market ?? anyMarket))
  const concerned = [...positions, ...orders]
  const holders = new Set(concerned.map((each) => each.account))
  const places = new Set(concerned.map((each) => each.market))
  const markets = Array.from({ length: engine.marketCount }, (_, index) => engine.market(index))
  return {
    accounts: account !== undefined ? [account] : everybody.filter((each) => market === undefined || holders.has(each)),
    markets: markets.filter(({ index }) => market === undefined ? account === undefined || places.has(index) : index === market),
    positions,
    orders
  }
}

/** The state, or the part it is narrowed to, as text; at most `limit` rows in each table of accounts, positions and orders. */
export const draw = (engine: Engine, limit: number, narrowed: Narrowed = {}): string => {
  const { accounts, markets, orders, positions } = shownOf(engine, narrowed)
  // A reader who asks for an account does not want the books of everybody.
  const books = narrowed.account === undefined ? markets.filter((market) => engine.state.books[market.index]!.orderCount > 0) : []
  return [
    header(engine),
    section("Markets", drawMarkets(engine, markets)),
    ...books.map((market) => drawBook(engine, market)),
    section(
      `Accounts: ${Format.count(accounts.length)}`,
      bounded(accounts, limit, (shown) => drawAccounts(shown.map((account) => engine.balance(account))))
    ),
    section(`Positions: ${Format.count(positions.length)}`, bounded(positions, limit, (shown) => drawPositions(engine, shown))),
    section(`Open orders: ${Format.count(orders.length)}`, bounded(orders, limit, (shown) => drawOrders(engine, shown)))
  ].join("\n\n")
}

const section = (title: string, body: string): string => body === "" ? title : `${title}\n${body}`

const bounded = <A>(all: ReadonlyArray<A>, limit: number, drawn: (shown: ReadonlyArray<A>) => string): string => {
  if (all.length === 0) return ""
  const more = all.length - limit
  return drawn(all.slice(0, limit)) + (more > 0 ? `\n... and ${Format.count(more)} more (--limit)` : "")
}

const header = (engine: Engine): string =>
  `Sequence ${engine.sequence}, ${Format.time(engine.atEpochMs)}: ${engine.environment || "not opened"}, `
  + `rules ${engine.rules}, trading ${engine.halted ? "HALTED" : "on"}`

const orDash = (market: MarketView, atoms: number): string => atoms > 0 ? Format.price(market.parameters, atoms) : "-"

const drawMarkets = (engine: Engine, markets: ReadonlyArray<MarketView>): string =>
  Format.table(
    ["market", "status", "index>", "last>", "best bid>", "best ask>", "open interest>", "orders>", "24 h bps>"],
    markets.map((market) => {
      const book = engine.state.books[market.index]!
      return [
        market.parameters.marketId,
        market.session === undefined ? market.status : `${market.status}, session ${market.session.state}`,
        orDash(market, market.indexPriceAtoms),
        orDash(market, market.lastPriceAtoms),
        orDash(market, book.bestPrice(Order.buy)),
        orDash(market, book.bestPrice(Order.sell)),
        Format.size(market.parameters, engine.state.markets[market.index]!.openInterest),
        Format.count(book.orderCount),
        String(market.change24hBps)
      ]
    })
  )

/** A book: asks above, best prices in the middle, bars for size. */
export const drawBook = (engine: Engine, market: MarketView): string => {
  const book = engine.state.books[market.index]!
  const { asks, bids } = engine.book(market.index, depth)
  const largest = Math.max(...[...asks, ...bids].map(([, sizeAtoms]) => sizeAtoms))
  const row = (side: Order.Side) => ([priceAtoms, sizeAtoms]: readonly [number, number]): ReadonlyArray<string> => [
    Format.price(market.parameters, priceAtoms),
    Format.size(market.parameters, sizeAtoms),
    String(book.levelOrderCount(side, priceAtoms)),
    "#".repeat(Math.max(1, Math.round((sizeAtoms / largest) * barColumns)))
  ]
  const hidden = (side: Order.Side, shown: number): ReadonlyArray<ReadonlyArray<string>> => {
    const more = book.levelCount(side) - shown
    return more > 0 ? [["...", "", "", `${Format.count(more)} more levels`]] : []
  }
  const [bid, ask] = [bids[0]?.[0], asks[0]?.[0]]
  const spread = bid === undefined || ask === undefined ? "" : `spread ${Format.price(market.parameters, ask - bid)}`
  const title = `${market.parameters.marketId} (${Market.symbol(market.parameters)}), book of sequence ${market.bookSequence}`
  return section(
    title,
    Format.table(["price>", "size>", "orders>", ""], [
      ...hidden(Order.sell, asks.length),
      ...asks.toReversed().map(row(Order.sell)),
      ["---", "---", "---", spread],
      ...bids.map(row(Order.buy)),
      ...hidden(Order.buy, bids.length)
    ])
  )
}

const drawAccounts = (balances: ReadonlyArray<BalanceView>): string =>
  Format.table(
    ["account", "collateral>", "equity>", "unrealised>", "initial margin>", "maintenance>", "available>", "last change>"],
    balances.map((balance) => [
      balance.accountId,
      Format.money(balance.collateralAtoms),
      Format.money(balance.equityAtoms),
      Format.money(balance.unrealizedPnlAtoms),
      Format.money(balance.initialMarginAtoms),
      Format.money(balance.maintenanceMarginAtoms),
      Format.money(balance.availableAtoms),
      String(balance.lastSequence)
    ])
  )

/** The average entry price of a position. */
export const entryPrice = (parameters: Market.Parameters, { entryNotionalAtoms, quantityAtoms }: PositionView): string =>
  Format.price(parameters, mulDivHalfUp(entryNotionalAtoms, 1, Math.abs(quantityAtoms) * Market.notionalFactor(parameters)))

const drawPositions = (engine: Engine, positions: ReadonlyArray<PositionView>): string =>
  Format.table(
    ["position", "account", "market", "size>", "entry price>", "mark>", "unrealised>", "realised>", "fees>", "opened"],
    positions.map((position) => {
      const { parameters } = engine.market(position.market)
      return [
        Ids.positionId(position.born),
        engine.accountId(position.account),
        parameters.marketId,
        Format.size(parameters, position.quantityAtoms),
        entryPrice(parameters, position),
        Format.price(parameters, position.markPriceAtoms),
        Format.money(position.unrealizedPnlAtoms),
        Format.money(position.realizedPnlAtoms),
        Format.money(position.feesPaidAtoms),
        Format.time(position.openedAtEpochMs)
      ]
    })
  )

/** Orders as a table. */
const drawOrders = (engine: Engine, orders: ReadonlyArray<OrderView>): string =>
  Format.table(
    ["order", "account", "market", "side", "price>", "size>", "filled>", "left>", "flags", "client id", "created"],
    orders.map((order) => {
      const { parameters } = engine.market(order.market)
      return [
        Ids.orderId(order.orderNumber),
        engine.accountId(order.account),
        parameters.marketId,
        Order.sides[order.side],
        order.priceAtoms === 0 ? "any" : Format.price(parameters, order.priceAtoms),
        Format.size(parameters, order.quantityAtoms),
        Format.size(parameters, order.filledAtoms),
        Format.size(parameters, order.quantityAtoms - order.filledAtoms - order.canceledAtoms),
        [...(order.postOnly ? ["post-only"] : []), ...(order.reduceOnly ? ["reduce-only"] : [])].join(" "),
        order.clientOrderId,
        Format.time(order.createdAtEpochMs)
      ]
    })
  )
