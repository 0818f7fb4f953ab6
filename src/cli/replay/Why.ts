/**
 * What a refusal was decided from: the venue, the market around its best prices, the account's margin and its open orders, as they were
 * just before the refused record. Anything that fell due with the record itself (funding, a liquidation) happened after that.
 */
import * as Ids from "../../domain/Ids.js"
import { anyMarket } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { describe, Refusal } from "../../domain/Refusal.js"
import type { Engine } from "../../engine/Engine.js"
import type { OrderView } from "../../engine/Reads.js"
import type { State } from "../../engine/State.js"
import type { Record } from "../../journal/Record.js"
import type { Command, Outcome } from "../../operations/Operations.js"
import { comparedBy } from "./CommandLines.js"
import * as Format from "./Format.js"
import { concerns, ownerOf, type Who } from "./Names.js"

/** Levels shown on each side of a book. */
const depth = 5
/** Most open orders shown: the oldest in the market. */
const mostOrders = 10

type Level = readonly [price: string, size: string]

/** A market as a decision found it. Prices and sizes are decimals; null where there is none. */
interface MarketInputs {
  readonly marketId: string
  readonly status: string
  readonly session: string | null
  readonly index: string | null
  readonly indexSeen: string
  readonly mark: string | null
  readonly last: string | null
  /** No bid may lie above the high, no offer below the low. */
  readonly band: { readonly low: string; readonly high: string } | null
  readonly priceBounds: { readonly low: string; readonly high: string }
  readonly quantityBounds: { readonly low: string; readonly high: string }
  readonly positionLimit: string
  /** Best first. */
  readonly bids: ReadonlyArray<Level>
  readonly asks: ReadonlyArray<Level>
}

/** An account as a decision found it. Money is in USDC. */
interface AccountInputs {
  readonly accountId: string
  readonly mayTrade: boolean
  readonly collateral: string
  readonly equity: string
  /** Collateral with unrealized losses but without unrealized profits: it backs new risk. */
  readonly marginEquity: string
  readonly initialMargin: string
  readonly maintenanceMargin: string
  /** What the open orders would lose at once against the mark if filled. */
  readonly orderLoss: string
  /** What is available for new orders. */
  readonly available: string
  /** The position in the market; null where there is none, or no market is concerned. */
  readonly position: string | null
  /** The leverage limit set for the market; null where none is. */
  readonly leverageX: number | null
  readonly openOrders: {
    readonly inMarket: number
    readonly inAll: number
    /** The oldest open orders in the market. */
    readonly shown: ReadonlyArray<string>
  }
}

interface Inputs {
  /** The record before the refused one: the inputs are as of this sequence. */
  readonly sequence: number
  readonly isHalted: boolean
  readonly market: MarketInputs | null
  readonly account: AccountInputs | null
}

/** An entry that may be refused, and the inputs with which it would be decided. */
export interface Suspect {
  readonly entry: number
  readonly market: number
  readonly inputs: Inputs
}

/** Why an entry was refused. */
export interface Reason extends Inputs {
  /** The entry's number within the command, from 1, and the number of entries. */
  readonly entry: number
  readonly entries: number
  readonly refusal: string
  /** The compared values in their unit: the limit, the actual value, and the nearest one that would have passed. */
  readonly compared: Readonly<{ [what: string]: string }>
  /** For a refusal for margin: the margin needed in total, and the margin available. */
  readonly margin: { readonly needed: string; readonly there: string } | null
}

const orderText = (
  engine: Engine,
  { filledAtoms, canceledAtoms, market, orderNumber, priceAtoms, quantityAtoms, reduceOnly, side }: OrderView
) => {
  const { parameters } = engine.market(market)
  const left = Format.size(parameters, quantityAtoms - filledAtoms - canceledAtoms)
  return `${Ids.orderId(orderNumber)} ${Order.sides[side]} ${left} at ${Format.price(parameters, priceAtoms)}${
    reduceOnly ? " reduce-only" : ""
  }`
}

const marketInputs = (engine: Engine, market: number): MarketInputs | null => {
  const state = engine.state.markets[market]
  if (state === undefined) return null
  const { indexPriceAtoms, indexSourceEpochMs, lastPriceAtoms, parameters, session, status } = engine.market(market)
  const { asks, bids } = engine.book(market, depth)
  const price = (atoms: number): string => Format.price(parameters, atoms)
  const size = (atoms: number): string => Format.size(parameters, atoms)
  const orNull = (atoms: number): string | null => atoms > 0 ? price(atoms) : null
  const level = ([priceAtoms, sizeAtoms]: readonly [number, number]): Level => [price(priceAtoms), size(sizeAtoms)]
  return {
    marketId: parameters.marketId,
    status,
    session: session?.state ?? null,
    index: orNull(indexPriceAtoms),
    indexSeen: Format.time(indexSourceEpochMs),
    mark: orNull(state.mark),
    last: orNull(lastPriceAtoms),
    band: state.mark > 0 ? { low: price(state.bandLow), high: price(state.bandHigh) } : null,
    priceBounds: { low: price(parameters.minPriceAtoms), high: price(parameters.maxPriceAtoms) },
    quantityBounds: { low: size(parameters.minQuantityAtoms), high: size(parameters.maxQuantityAtoms) },
    positionLimit: size(parameters.maxPositionQuantityAtoms),
    bids: bids.map(level),
    asks: asks.map(level)
  }
}

const accountInputs = (engine: Engine, account: number, market: number): AccountInputs | null => {
  if (account < 0 || account >= engine.state.accounts.count) return null
  const balance = engine.balance(account)
  const open = engine.openOrders(account, anyMarket)
  const inMarket = open.filter((order) => order.market === market)
  const position = engine.positions(account).find((each) => each.market === market)
  const leverage = market < 0 ? 0 : engine.leverage(account, market)
  return {
    accountId: balance.accountId,
    mayTrade: engine.state.standing.mayTrade(account),
    collateral: Format.money(balance.collateralAtoms),
    equity: Format.money(balance.equityAtoms),
    marginEquity: Format.money(balance.marginEquityAtoms),
    initialMargin: Format.money(balance.initialMarginAtoms),
    maintenanceMargin: Format.money(balance.maintenanceMarginAtoms),
    orderLoss: Format.money(balance.orderLossAtoms),
    available: Format.money(balance.availableAtoms),
    position: position === undefined ? null : Format.size(engine.market(market).parameters, position.quantityAtoms),
    leverageX: leverage === 0 ? null : leverage,
    openOrders: {
      inMarket: inMarket.length,
      inAll: open.length,
      shown: inMarket.slice(0, mostOrders).map((order) => orderText(engine, order))
    }
  }
}

const inputsOf = (engine: Engine, account: number, market: number): Inputs => ({
  sequence: engine.sequence,
  isHalted: engine.halted,
  market: marketInputs(engine, market),
  account: accountInputs(engine, account, market)
})

/** The markets and orders that each entry of a command names. */
const entriesOf = (
  engine: Engine,
  command: Command,
  sequence: number
): ReadonlyArray<{ readonly market: number; readonly order: number }> => {
  switch (command.kind) {
    case "PlaceOrders":
      return command.entries.map(({ market }, index) => ({ market, order: Ids.ordinal(sequence, index) }))
    case "CancelOrders":
      return command.entries.map(({ orderNumber }) => ({ market: ownerOf(engine.state, orderNumber).market, order: orderNumber }))
    default: {
      const { market = -1, orderNumber = -1 } = command as { readonly market?: number; readonly orderNumber?: number }
      return [{ market, order: orderNumber }]
    }
  }
}

/** The inputs for each entry, among those that concern the subjects, of a record about to be applied. */
export const suspectsOf = (engine: Engine, { command, sequence }: Record, whos: ReadonlyArray<Who>): ReadonlyArray<Suspect> =>
  entriesOf(engine, command, sequence).flatMap(({ market, order }, entry) =>
    whos.some((who) => concerns(who, { orders: [order], accounts: [command.account] }))
      ? [{ entry, market, inputs: inputsOf(engine, command.account, market) }]
      : []
  )

/** The reasons of the entries that were refused. */
export const reasonsOf = (state: State, suspects: ReadonlyArray<Suspect>, { entries }: Outcome): ReadonlyArray<Reason> =>
  suspects.flatMap(({ entry, inputs, market }) => {
    const decided = entries[entry]
    if (decided?._tag !== "Refused") return []
    const told = { refusal: describe(decided.refusal).name, compared: comparedBy(state, market, decided) }
    const margin = decided.refusal === Refusal.marginInsufficient
      ? { needed: Format.money(decided.actual), there: Format.money(decided.limit) }
      : null
    return [{ entry: entry + 1, entries: entries.length, ...told, margin, ...inputs }]
  })

const levels = (side: ReadonlyArray<Level>): string =>
  side.length === 0 ? "nothing" : side.map(([price, size]) => `${size} at ${price}`).join(", ")

const range = ({ high, low }: { readonly low: string; readonly high: string }): string => `${low} to ${high}`

const marketLines = (market: MarketInputs): ReadonlyArray<string> => [
  `market      ${market.marketId} ${market.status}${market.session === null ? "" : `, session ${market.session}`}; index ${
    market.index ?? "-"
  } `
  + `seen ${market.indexSeen}, mark ${market.mark ?? "-"}, last ${market.last ?? "-"}`,
  `band        ${market.band === null ? "none without a mark" : range(market.band)}; prices ${range(market.priceBounds)}, quantities `
  + `${range(market.quantityBounds)}, position up to ${market.positionLimit}`,
  `asks        ${levels(market.asks)}`,
  `bids        ${levels(market.bids)}`
]

const accountLines = ({ openOrders, ...account }: AccountInputs): ReadonlyArray<string> => [
  `account     ${account.accountId}${account.mayTrade ? "" : ", which may not trade"}; position ${account.position ?? "none"}, leverage `
  + `${account.leverageX === null ? "as the market allows" : `${account.leverageX} at most`}`,
  `margin      equity ${account.equity}, of it ${account.marginEquity} backs new risk (collateral ${account.collateral}); `
  + `${account.initialMargin} initial margin and ${account.orderLoss} of open orders are taken, ${account.available} is available; `
  + `maintenance margin ${account.maintenanceMargin}`,
  `open orders ${openOrders.inMarket} in the market, ${openOrders.inAll} in all`,
  ...openOrders.shown.map((text) => `            ${text}`)
]

/** A reason as lines of text. */
export const draw = ({ account, compared, entries, entry, isHalted, margin, market, refusal, sequence }: Reason): ReadonlyArray<string> =>
  [
    [
      `why${entries === 1 ? "" : ` [${entry} of ${entries}]`}: ${refusal}`,
      ...(margin === null
        ? Object.entries(compared).map(([what, value]) => `${what} ${value}`)
        : [`${margin.needed} was needed, and there was ${margin.there}`]),
      `right before it (after record ${sequence})${isHalted ? ", with trading halted by the operator" : ""}:`
    ].join("; "),
    ...(market === null ? [] : marketLines(market)),
    ...(account === null ? [] : accountLines(account))
  ].map((line, index) => index === 0 ? line : `  ${line}`)
