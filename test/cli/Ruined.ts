/** A recording in which the venue itself sends orders: for a trigger, for liquidations, and to unwind what the insurance fund took over. */
import * as Order from "../../src/domain/Order.js"
import { Driver, parameters } from "../engine/drive.js"
import * as Recorded from "./Recorded.js"

const change = { makerFeeBps: 0, takerFeeBps: 0, priceBandBps: 5000, liquidationFeeBps: 125 }

const usdc = (amount: number): number => amount * 1_000_000

/**
 * An account closes by its stop-loss, another one pays the fund with its liquidation, a third is taken over by the fund, which sells a part
 * of that. The last one is short where the fund is long, and owes so much that the fund takes over a part of its position, is one of
 * those against whom the rest is closed, and loses money both times. At last the other market is delisted.
 */
export const ruined = () => {
  const recording = new Recorded.RecordingEngine()
  const driver = new Driver(recording)
  driver.market(parameters("AAA", change), 1000)
  driver.market(parameters("BBB", change), 1000)
  // All before the fund's account, which has no key: a test's key has the number of its account.
  const other = driver.account(usdc(1_000_000))
  const [stopped, paying, taken, indebted] = [driver.account(usdc(1_000)), driver.account(usdc(400)), driver.account(usdc(100)),
    driver.account(usdc(200))]
  const hold = (account: number, side: Order.Side, priceAtoms: number, quantityAtoms = 10_000, market = 0): void => {
    driver.place(other, { market, side: side === Order.buy ? Order.sell : Order.buy, priceAtoms, quantityAtoms })
    driver.place(account, { market, side, priceAtoms, quantityAtoms })
  }
  const bid = (priceAtoms: number, quantityAtoms: number): void => void driver.place(other, { priceAtoms, quantityAtoms })

  hold(stopped, Order.buy, 1000)
  driver.autoClose(stopped, 0, { stopLoss: { priceAtoms: 960, by: 0, limitAtoms: 0 } })
  bid(950, 10_000)
  driver.index(0, 955)
  driver.pass()

  hold(paying, Order.buy, 955, 40_000)
  bid(900, 40_000)
  driver.index(0, 895)
  driver.pass()

  hold(taken, Order.buy, 900)
  driver.index(0, 805)
  driver.pass()
  bid(804, 300)
  for (let second = 0; second < 3; second++) driver.pass()

  driver.index(0, 815)
  hold(indebted, Order.sell, 815)
  hold(indebted, Order.buy, 1000, 10_000, 1)
  driver.index(1, 600)
  driver.pass()

  hold(stopped, Order.buy, 600, 1_000, 1)
  driver.send({ kind: "DelistMarket", idempotencyKey: "delist", market: 1, action: "delist", effectiveAtEpochMs: 0 })
  driver.pass()
  return { recording, stopped, paying, taken, indebted }
}

/** An account pays the fund with its liquidation, and another one, short in the second market, owes so much that the price of it is -100.0. */
export const ruinedBeyondPrices = () => {
  const recording = new Recorded.RecordingEngine()
  const driver = new Driver(recording)
  driver.market(parameters("AAA", change), 1000)
  driver.market(parameters("BBB", change), 1000)
  const [other, paying, taken] = [driver.account(usdc(1_000_000)), driver.account(usdc(400)), driver.account(usdc(8))]
  driver.place(other, { side: Order.sell, quantityAtoms: 40_000 })
  driver.place(paying, { quantityAtoms: 40_000 })
  driver.place(other, { priceAtoms: 940, quantityAtoms: 40_000 })
  driver.index(0, 945)
  driver.pass()

  driver.index(0, 1000)
  driver.place(other, { side: Order.sell, quantityAtoms: 400 })
  driver.place(taken, { quantityAtoms: 400 })
  driver.place(other, { market: 1, quantityAtoms: 100 })
  driver.place(taken, { market: 1, side: Order.sell, quantityAtoms: 100 })
  driver.index(0, 100)
  driver.pass()
  return { recording, taken }
}
