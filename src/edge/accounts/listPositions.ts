/** Positions that are not flat: `GET /v1/accounts/{accountId}/positions` and `GET /v2/positions`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { isoTime } from "../../domain/IsoTime.js"
import * as Market from "../../domain/Market.js"
import { anyMarket } from "../../domain/None.js"
import * as Units from "../../domain/Units.js"
import type { PositionView } from "../../engine/Reads.js"
import * as Example from "../http/Example.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { withFilter } from "../markets/Listed.js"
import { averagePriceAtoms } from "../orders/OrderText.js"
import { inBoth, money } from "./Money.js"
import { withAccount } from "./Own.js"

/**
 * A position that is not flat. `quantity` is unsigned: `side` says the direction. Margins are those of the position alone, at
 * mark; the account's margin is crossed.
 */
export const Position = Schema.Struct({
  positionId: Fields.Text,
  marketId: Fields.Text,
  side: Schema.Literal("long", "short"),
  ...Fields.paired("quantity"),
  ...Fields.paired("entryNotional"),
  ...Fields.paired("avgEntryPrice"),
  ...Fields.paired("markPrice"),
  ...Fields.paired("initialMargin"),
  ...Fields.paired("maintenanceMargin"),
  leverageX: Fields.Count.annotations({ description: "The most leverage that counts: what was set, or the market's `maxLeverageX`." }),
  liquidationPrice: Schema.NullOr(Fields.Decimal).annotations({
    description: "The mark at which the account comes under its maintenance margin while all other marks stay as they are. "
      + "Null where there is none within the market's price bounds."
  }),
  liquidationPriceAtoms: Schema.NullOr(Fields.Atoms),
  ...Fields.pairedSigned("unrealizedPnl"),
  ...Fields.pairedSigned("realizedPnl"),
  ...Fields.pairedSigned("feesPaid"),
  ...Fields.pairedSigned("fundingPaid"),
  openedAtEpochMs: Fields.EpochMs,
  lastSequence: Fields.Sequence
}).annotations({ identifier: "Position" })
type Position = typeof Position.Type

const PositionList = Schema.Struct({
  version: Schema.Literal("external-position-list/v1"),
  accountId: Fields.Text,
  positions: Schema.Array(Position),
  journalSequence: Fields.Sequence
}).annotations({ identifier: "PositionList" })

/** A position in the unified shape. Margins are those of the position alone, at mark; the account's margin is crossed. */
const CompatPosition = Schema.Struct({
  id: Fields.Text,
  symbol: Fields.Text,
  ...Fields.moment,
  side: Schema.Literal("long", "short"),
  contracts: Fields.Amount,
  contractSize: Schema.Literal(1),
  entryPrice: Fields.Amount,
  markPrice: Fields.Amount,
  notional: Fields.Amount,
  initialMargin: Fields.Amount,
  initialMarginPercentage: Fields.Amount,
  maintenanceMargin: Fields.Amount,
  maintenanceMarginPercentage: Fields.Amount,
  leverage: Fields.Amount,
  liquidationPrice: Schema.NullOr(Fields.Amount),
  unrealizedPnl: Fields.Signed,
  realizedPnl: Fields.Signed,
  marginMode: Schema.Literal("cross"),
  hedged: Schema.Literal(false),
  info: Position
}).annotations({
  identifier: "CompatPosition",
  description: "`entryPrice` is rounded half up to the market's grid. Percentages are fractions of `notional`. "
    + "`liquidationPrice` holds all other marks still; null where there is none within the market's price bounds."
})
type CompatPosition = typeof CompatPosition.Type

/** A liquidation price in both forms; 0 price atoms are none. */
export const liquidation = ({ priceScale }: Pick<Market.Parameters, "priceScale">, atoms: number) => ({
  liquidationPrice: atoms === 0 ? null : Units.formatDecimal(atoms, priceScale),
  liquidationPriceAtoms: atoms === 0 ? null : String(atoms)
})

/** One position that is not flat. */
export const position = (market: Market.Parameters, view: PositionView): Position => {
  const quantityAtoms = Math.abs(view.quantityAtoms)
  assert(quantityAtoms > 0, "a position that is read is not flat")
  const entryPriceAtoms = averagePriceAtoms(view.entryNotionalAtoms, quantityAtoms, market)
  return {
    positionId: Ids.positionId(view.born),
    marketId: market.marketId,
    side: view.quantityAtoms > 0 ? "long" : "short",
    ...inBoth("quantity", quantityAtoms, market.quantityScale),
    ...money("entryNotional", view.entryNotionalAtoms),
    ...inBoth("avgEntryPrice", entryPriceAtoms, market.priceScale),
    ...inBoth("markPrice", view.markPriceAtoms, market.priceScale),
    ...money("initialMargin", view.initialMarginAtoms),
    ...money("maintenanceMargin", view.maintenanceMarginAtoms),
    leverageX: view.leverageX,
    ...liquidation(market, view.liquidationPriceAtoms),
    ...money("unrealizedPnl", view.unrealizedPnlAtoms),
    ...money("realizedPnl", view.realizedPnlAtoms),
    ...money("feesPaid", view.feesPaidAtoms),
    ...money("fundingPaid", view.fundingPaidAtoms),
    openedAtEpochMs: view.openedAtEpochMs,
    lastSequence: view.lastSequence
  }
}

/** One position that is not flat, in the unified shape: its margins are what it would need alone, at mark. */
const compatPosition = (market: Market.Parameters, view: PositionView, atEpochMs: number): CompatPosition => {
  const quantityAtoms = Math.abs(view.quantityAtoms)
  const { initialMarginAtoms, maintenanceMarginAtoms, notionalAtoms } = view
  assert(notionalAtoms > 0, "a position that is read is not flat and has a mark")
  const entryPriceAtoms = averagePriceAtoms(view.entryNotionalAtoms, quantityAtoms, market)
  return {
    id: Ids.positionId(view.born),
    symbol: Market.symbol(market),
    timestamp: atEpochMs,
    datetime: isoTime(atEpochMs),
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
    leverage: view.leverageX,
    liquidationPrice: view.liquidationPriceAtoms === 0 ? null : Units.toNumber(view.liquidationPriceAtoms, market.priceScale),
    unrealizedPnl: Units.toNumber(view.unrealizedPnlAtoms, Units.moneyScale),
    realizedPnl: Units.toNumber(view.realizedPnlAtoms, Units.moneyScale),
    marginMode: "cross",
    hedged: false,
    info: position(market, view)
  }
}

export const listPositions = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listPositions", "/v1/accounts/:accountId/positions")
    .setPath(Fields.AccountPath)
    .addSuccess(PositionList)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Positions that are not flat"),
  example: { target: `/v1/accounts/${Example.accountId}/positions` },
  handler: ({ state }) => ({ trader, path: { accountId } }) =>
    withAccount(state, trader, accountId, (account) =>
      Effect.succeed({
        version: "external-position-list/v1" as const,
        accountId,
        positions: state.positions(account).map((view) => position(state.market(view.market).parameters, view)),
        journalSequence: state.sequence
      }))
})

export const listCompatPositions = Route.effect({
  tag: "compatOrders",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listCompatPositions", "/v2/positions")
    .setUrlParams(Schema.Struct({ symbol: Fields.optional(Fields.Name) }))
    .addSuccess(Schema.Array(CompatPosition))
    .addError(Failures.compat(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "Positions that are not flat"),
  example: { target: "/v2/positions" },
  handler: ({ state }) => ({ trader, urlParams }) =>
    withFilter(state, { symbol: urlParams.symbol }, (market) =>
      json(
        state.positions(trader.account)
          .filter((view) => market === anyMarket || view.market === market)
          .map((view) => compatPosition(state.market(view.market).parameters, view, state.atEpochMs))
      ))
})
