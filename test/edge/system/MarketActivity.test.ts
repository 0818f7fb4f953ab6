/** The counters of a market, each under its own name. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import * as Metrics from "../../../src/edge/http/Metrics.js"
import { registerMarkets } from "../../../src/edge/system/MarketActivity.js"
import type { Activity } from "../../../src/sequencer/Activity.js"
import { Driver, parameters } from "../../engine/drive.js"

test("each counter of a market tells what its name says", async () => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  const activity = { orders: () => 1, trades: () => 2, deleveragings: () => 3, exhausted: () => 4, refusals: () => [] }
  const metrics = Metrics.make()
  registerMarkets(metrics, driver.engine, activity as unknown as Activity)
  const text = await Effect.runPromise(metrics.render)
  expect(text.split("\n").filter((line) => /^venue_.*_total\{market=/.test(line))).toEqual([
    "venue_market_orders_total{market=\"AAA-USDC-PERP\"} 1",
    "venue_market_trades_total{market=\"AAA-USDC-PERP\"} 2",
    "venue_deleveragings_total{market=\"AAA-USDC-PERP\"} 3",
    "venue_liquidation_exhausted_total{market=\"AAA-USDC-PERP\"} 4"
  ])
})
