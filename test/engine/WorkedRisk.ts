/** The worked tables of mark, funding, margin and takeovers, computed again from each row's inputs. */
import * as Ids from "../../src/domain/Ids.js"
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { none } from "../../src/domain/None.js"
import * as InsuranceFund from "../../src/engine/accounts/InsuranceFund.js"
import { availableAtoms } from "../../src/engine/accounts/Withdrawable.js"
import * as Margin from "../../src/engine/Margin.js"
import * as Funding from "../../src/engine/markets/Funding.js"
import { averagePrice, inputs, ofInputs } from "../../src/engine/markets/Mark.js"
import { MarketState } from "../../src/engine/Markets.js"
import { Driver, parameters } from "./drive.js"

type Row = Readonly<Record<string, string>>

/** One hour, as in the tables. */
const intervalMs = 3_600_000

/** K is 1; no fees, an initial margin of 10 %, and a maintenance margin that no row reaches. */
const rules = parameters("BTC", {
  priceScale: 2,
  quantityScale: 4,
  makerFeeBps: 0,
  takerFeeBps: 0,
  minQuantityAtoms: 1,
  initialMarginBps: 1000,
  maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 50 }],
  markBandBps: 100,
  maxPriceAtoms: 10_000_000,
  fundingIntervalMs: intervalMs,
  fundingCapE9: 40_000_000
})

const whole = (row: Row, column: string): number => Number(row[column]!)

/** The impact price in a row. */
const impactOf = (row: Row, column: string): number => row[column] === "thin" ? none : whole(row, column)

export const markPrices = (row: Row): Row => {
  const market = new MarketState(0, rules)
  market.indexPrice = whole(row, "Index")
  market.premiumSumE9 = whole(row, "Average premium")
  market.premiumSamples = 1
  market.basis = row["Twice the basis"] === "" ? [] : row["Twice the basis"]!.split(", ").map(Number)
  market.lastPrice = whole(row, "Last trade")
  const made = inputs(market, impactOf(row, "Impact bid"), impactOf(row, "Impact ask"), intervalMs - whole(row, "To funding, ms"))
  return { p1: String(made.p1), p2: String(made.p2), p3: String(made.p3), Mark: String(ofInputs(made)) }
}

export const impactPrices = (row: Row): Row => {
  const market = new MarketState(0, { ...rules, impactNotionalAtoms: whole(row, "impactNotional") })
  const levels = [...row["Levels"]!.matchAll(/(\d+) at (\d+)/g)].map(([, size, price]) => [Number(price), Number(size)] as const)
  const price = averagePrice(market, row["Side"] === "bids" ? Order.buy : Order.sell, levels)
  return { "Impact price": price === none ? "thin" : String(price) }
}

export const fundingRates = (row: Row): Row => {
  const market = new MarketState(0, rules)
  market.premiumSumE9 = whole(row, "Sum of samples")
  market.premiumSamples = whole(row, "Samples")
  return { "Per 8 hours": String(Funding.runningRate8hE9(market)), "Per hour": String(Funding.runningRateE9(market)) }
}

/** A midnight. */
const midnightMs = 1_700_006_400_000
const sizeAtoms = 100_000

/** A market with a position opened before midnight, which is marked each second and gets another interval after it. */
export const otherIntervals = (row: Row): Row => {
  const driver = new Driver()
  const { engine } = driver
  const intervalOf = (column: string) => ({ ...rules, indexStaleMs: 3_600_000, fundingIntervalMs: whole(row, column) * 1000 })
  driver.atEpochMs = midnightMs - 200_000
  driver.market(intervalOf("Interval"), 1000)
  const [one, other] = [driver.account(1_000_000_000), driver.account(1_000_000_000)]
  driver.mark()
  driver.place(one, { side: Order.sell, quantityAtoms: sizeAtoms })
  driver.place(other, { side: Order.buy, quantityAtoms: sizeAtoms })
  const changedAt = midnightMs + whole(row, "Changed at") * 1000
  let before = 0
  while (driver.atEpochMs < midnightMs + 240_000) {
    if (driver.atEpochMs + 1000 === changedAt) {
      driver.atEpochMs = changedAt
      driver.send({ kind: "PutMarket", idempotencyKey: "other", parameters: intervalOf("Then") })
      driver.send({ kind: "MarkTick" })
    } else driver.mark()
    if (driver.atEpochMs === midnightMs) before = engine.balance(one).collateralAtoms
  }
  const published = engine.fundings(0, midnightMs + 1, 99).toReversed().map(({ atEpochMs, intervalMs, rate8hE9 }) => ({
    at: (atEpochMs - midnightMs) / 1000,
    paidMs: rate8hE9 === 0 ? 0 : intervalMs
  }))
  const paidMs = published.reduce((sum, each) => sum + each.paidMs, 0)
  // The interest on a notional of the index in atoms: what the short receives, each payment rounded down.
  const received = engine.balance(one).collateralAtoms - before
  const [most, payments] = [Math.floor(sizeAtoms * 1000 * 0.0001 * paidMs / 28_800_000), published.length]
  if (received > most || received < most - payments) throw new Error(`received ${received} for ${paidMs} ms, and not ${most}`)
  return {
    "Published up to 240": published.map(({ at, paidMs: each }) => `${at}: ${each / 1000}`).join(", "),
    "Paid for": String(paidMs / 1000)
  }
}

/** A venue with an account, and another one as its counterparty. */
const begin = (change: Partial<Market.Parameters> = {}) => {
  const driver = new Driver()
  driver.market({ ...rules, ...change }, 1000)
  return { driver, account: driver.account(1_000_000_000), other: driver.account(1_000_000_000), state: driver.engine.state }
}

export const withdrawables = (row: Row): Row => {
  const { account, driver, other, state } = begin()
  const size = whole(row, "Size")
  const [side, opposite] = size > 0 ? [Order.buy, Order.sell] as const : [Order.sell, Order.buy] as const
  driver.place(other, { side: opposite, quantityAtoms: Math.abs(size) })
  driver.place(account, { side, quantityAtoms: Math.abs(size) })
  const [, bid, priceAtoms] = /(\d+) at (\d+)/.exec(row["Open buy"]!) ?? []
  if (bid !== undefined) driver.place(account, { quantityAtoms: Number(bid), priceAtoms: Number(priceAtoms) })
  const slot = state.positions.find(account, 0)
  Margin.refreshAccount(state, account)
  state.positions.setEntryNotional(slot, whole(row, "Entry notional"))
  Margin.changed(state, slot)
  state.accounts.setCollateral(account, whole(row, "Collateral"))
  return { Withdrawable: String(availableAtoms(state, account)) }
}

export const accepted = (row: Row): Row => {
  const { account, state } = begin()
  const slot = state.touchPosition(account, 0)
  state.accounts.setCollateral(account, whole(row, "Equity before"))
  state.accounts.addToSums(account, 0, whole(row, "MM before"), 0, 0)
  state.positions.setMaintenanceMargin(slot, whole(row, "MM before"))
  const after = new Margin.Requirement()
  after.initialMargin = whole(row, "IM")
  after.maintenanceMargin = whole(row, "MM")
  after.unrealizedPnl = whole(row, "Unrealised")
  after.orderLoss = whole(row, "Loss at once")
  return { Accepted: Margin.accepts(state, slot, after, whole(row, "Collateral"), row["Only reduces"] === "yes") ? "yes" : "no" }
}

export const takeovers = (row: Row): Row => {
  const { account, state } = begin({ maxPriceAtoms: 2_000 })
  const [market, size, price] = [state.markets[0]!, whole(row, "Size"), whole(row, "pb")]
  state.accounts.setCollateral(state.accounts.open(Ids.insuranceFundBorn, state.sequence), whole(row, "Fund"))
  const taken = InsuranceFund.mostTaken(state, market, size, price)
  const before = state.accounts.collateral(account)
  InsuranceFund.payDifference(state, account, market, Math.sign(size) * taken, price)
  return { Taken: String(taken), Paid: String(state.accounts.collateral(account) - before) }
}
