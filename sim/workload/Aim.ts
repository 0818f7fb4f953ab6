/**
 * Parameters of a market that would just put a holder of a position there under its margins, or that leave some resting orders beyond its
 * band.
 */
import type { Parameters } from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { marginOf, valueOf } from "../model/NaiveMoney.js"
import type { NaiveAccount, NaiveMarket, NaiveOrder } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Changes from "./Changes.js"

/** `part` of `whole` in bps. */
const bpsOf = (part: bigint, whole: bigint): number => (Number(part) * 10_000) / Number(whole)

/** Requires slightly more maintenance margin than the account's equity. */
const atMaintenance = (now: Parameters, market: NaiveMarket, { markets }: NaiveVenue, { collateral, positions }: NaiveAccount) => {
  const { equity } = marginOf(markets, { collateral, positions, open: [] }, undefined)
  const notional = valueOf(market, positions.get(market.index)!)
  const equityBps = notional === 0n ? 0 : bpsOf(equity, notional)
  return equityBps <= now.maintenanceMarginTiers[0]!.maintenanceMarginBps || equityBps >= 9_998
    ? undefined
    : Changes.justTighter(now, equityBps)
}

/** Requires as much initial margin as the account would have if its open orders lost nothing; undefined where they lose nothing anyway. */
const atInitial = (now: Parameters, market: NaiveMarket, { markets }: NaiveVenue, account: NaiveAccount) => {
  const all = marginOf(markets, account, undefined)
  const elsewhere = marginOf(markets.filter((each) => each !== market), account, undefined)
  const needed = all.initialMargin - elsewhere.initialMargin
  if (all.orderLoss === 0n || needed === 0n) return undefined
  const own = account.leverage.get(market.index)
  const askedBps = Math.max(now.initialMarginBps, own === undefined ? 0 : 10_000 / Math.min(own, now.maxLeverageX))
  const left = all.marginEquity - elsewhere.initialMargin
  const bps = Math.floor(bpsOf(left, needed) * (askedBps / 10_000))
  return bps <= now.maintenanceMarginTiers[0]!.maintenanceMarginBps || bps > 10_000
    ? undefined
    : { ...now, initialMarginBps: bps, maxLeverageX: Math.min(now.maxLeverageX, Math.floor(10_000 / bps)) }
}

/**
 * Aims at the maintenance or initial margin of a random holder of a position. Undefined where nobody holds one or can be reached, and half
 * of the time.
 */
export const aimed = (
  now: Parameters,
  model: NaiveVenue,
  random: SimRandom,
  losing: SimRandom
): Parameters | undefined => {
  const market = model.markets.find(({ parameters }) => parameters === now)
  const holding = model.accounts.filter(({ positions }) => market !== undefined && positions.has(market.index))
  if (market === undefined || holding.length === 0 || random.chance(0.5)) return undefined
  const account = random.pick(holding)
  const initial = losing.chance(0.5) ? atInitial(now, market, model, losing.pick(holding)) : undefined
  return initial ?? atMaintenance(now, market, model, account)
}

/** How far an order lies beyond the mark towards its edge of the band, bps; at most 0 where it does not lie beyond the mark. */
const beyondBps = ({ mark }: NaiveMarket, { price, side }: NaiveOrder): number =>
  bpsOf(BigInt(side === Order.buy ? price - mark : mark - price), BigInt(mark))

/** A band that leaves some resting orders beyond it, mostly several; undefined where too few lie beyond the mark. */
export const narrower = (market: NaiveMarket, random: SimRandom): Parameters | undefined => {
  if (market.mark === 0) return undefined
  const beyond = market.resting.map((order) => beyondBps(market, order)).filter((bps) => bps > 1).sort((one, other) => other - one)
  const last = beyond[Math.min(beyond.length - 1, random.pick([1, 2, 3, 8]))]
  return last === undefined || beyond.length < 2 ? undefined : { ...market.parameters, priceBandBps: Math.max(1, Math.ceil(last) - 1) }
}
