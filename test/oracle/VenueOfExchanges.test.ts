/** A venue as a process whose index comes from two exchanges: from their servers to its statistics. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { Exchanges } from "./Exchange.js"

const unhurried = { interval: 200 }

/** A venue with two markets whose index soon becomes stale, and comes from both exchanges. */
const start = (directory: string, exchanges: Exchanges): Promise<VenueProcess> => {
  const markets = JSON.parse(fs.readFileSync("fixtures/markets.json", "utf8")) as ReadonlyArray<{ readonly parameters: object }>
  const file = path.join(directory, "markets.json")
  const soonStale = markets.slice(0, 2).map(({ parameters, ...rest }) => ({ ...rest, parameters: { ...parameters, indexStaleMs: 4_000 } }))
  fs.writeFileSync(file, JSON.stringify(soonStale))
  return VenueProcess.start(path.join(directory, "data"), {
    MARKETS_FILE: file,
    INDEX_FEED: "ccxt",
    INDEX_EXCHANGES: "binance:1:USDT,kraken:2",
    INDEX_EXCHANGE_URLS: exchanges.urls,
    INDEX_SOURCE_STALE_MS: "3000",
    INDEX_POLL_MS: "500"
  })
}

test("the index follows what the exchanges agree on; a lie moves nothing and leaves its market alone stale, until it ends", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-exchanges-"))
  const exchanges = await Exchanges.start()
  const venue = await start(directory, exchanges)
  onTestFinished(async () => {
    await venue.kill()
    await exchanges.stop()
    fs.rmSync(directory, { recursive: true, force: true })
  })
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of two routes, whose shape is the test's matter
  const read = async (target: string): Promise<any> => (await fetch(`http://127.0.0.1:${venue.port}${target}`)).json()
  const indexPrice = async (marketId: string): Promise<string> => (await read(`/v1/markets/${marketId}/stats`)).marketData.indexPrice
  const staleness = async (): Promise<ReadonlyArray<boolean>> =>
    (await read("/readyz")).markets.map(({ indexStale }: { readonly indexStale: boolean }) => indexStale)

  await expect.poll(() => indexPrice("BTC-USDC-PERP"), unhurried).toBe("60010.0")
  await expect.poll(() => indexPrice("ETH-USDC-PERP"), unhurried).toBe("3000.50")

  exchanges.kraken = { BTC: "6001000.00000", ETH: "3001.00000" }
  await expect.poll(() => indexPrice("ETH-USDC-PERP"), unhurried).toBe("3001.00")
  await expect.poll(staleness, unhurried).toEqual([true, false])
  expect(await indexPrice("BTC-USDC-PERP")).toBe("60010.0")
  expect(venue.output).toContain("too few index sources agree on BTC-USDC-PERP: binance outlier, kraken outlier")

  const metrics = await (await fetch(`http://127.0.0.1:${venue.port}/metrics`)).text()
  expect([...metrics.matchAll(/^venue_index_source_agrees\{market="(...).*source="([a-z]+)"\} (\d)$/gm)].map(([, ...of]) => of.join(" ")))
    .toEqual([
      "BTC binance 0",
      "BTC kraken 0",
      "ETH binance 1",
      "ETH kraken 1"
    ])
  expect(metrics).toMatch(/^venue_index_source_age_ms\{market="BTC-USDC-PERP",source="kraken"\} \d+$/m)

  exchanges.kraken = { BTC: "60020.00000", ETH: "3001.00000" }
  await expect.poll(() => indexPrice("BTC-USDC-PERP"), unhurried).toBe("60020.0")
  await expect.poll(staleness, unhurried).toEqual([false, false])

  exchanges.instead.set("/binance", "nothing")
  await expect.poll(staleness, unhurried).toEqual([true, true])
  expect(await venue.stop()).toBe(0)
})
