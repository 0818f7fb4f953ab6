/**
 * Parameters of a market that just put somebody under his margins who holds a position there, or that leave some of what rests beyond its
 * band.
 */
import type { Parameters } from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { marginOf, valueOf } from "../model/NaiveMoney.js"
import type { NaiveAccount, NaiveMarket, NaiveOrder } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Changes from "./Changes.js"

/** What `part` is of `whole`, in bps. */
const bpsOf = (part: bigint, whole: bigint): number => (Number(part) * 10_000) / Number(whole)

/** Just more maintenance margin than he has equity. */
const atMaintenance = (now: Parameters, market: NaiveMarket, { markets }: NaiveVenue, { collateral, positions }: NaiveAccount) => {
  const { equity } = marginOf(markets, { collateral, positions, open: [] }, undefined)
  const notional = valueOf(market, positions.get(market.index)!)
  const equityBps = notional === 0n ? 0 : bpsOf(equity, notional)
  return equityBps <= now.maintenanceMarginTiers[0]!.maintenanceMarginBps || equityBps >= 9_998
    ? undefined
    : Changes.justTighter(now, equityBps)
}

/** As much initial margin as would be there if his open orders lost nothing; undefined where they lose nothing anyway. */
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

/** Aims at the maintenance or the initial margin of anybody who holds a position; undefined where nobody does or can be met so, and now and then. */
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

/** How far an order lies beyond the mark on the side where the band ends for it, bps; not above 0 where it is no further than the mark. */
const beyondBps = ({ mark }: NaiveMarket, { price, side }: NaiveOrder): number =>
  bpsOf(BigInt(side === Order.buy ? price - mark : mark - price), BigInt(mark))

/** A band that leaves some of what rests in a market beyond it, most often several orders; undefined where too few lie beyond the mark. */
export const narrower = (market: NaiveMarket, random: SimRandom): Parameters | undefined => {
  if (market.mark === 0) return undefined
  const beyond = market.resting.map((order) => beyondBps(market, order)).filter((bps) => bps > 1).sort((one, other) => other - one)
  const last = beyond[Math.min(beyond.length - 1, random.pick([1, 2, 3, 8]))]
  return last === undefined || beyond.length < 2 ? undefined : { ...market.parameters, priceBandBps: Math.max(1, Math.ceil(last) - 1) }
}
