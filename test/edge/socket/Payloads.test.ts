/** When a stream last changed, so that a returning client is told that it missed nothing since; and the content of snapshots. */
import canonicalize from "canonicalize"
import { expect, test } from "vitest"
import { anyMarket } from "../../../src/domain/None.js"
import { sha256 } from "../../../src/edge/markets/Digest.js"
import { registry } from "../../../src/edge/markets/Snapshot.js"
import { payloads, payloadsOf } from "../../../src/edge/socket/Payloads.js"
import { Engine } from "../../../src/engine/Engine.js"
import { Driver, parameters } from "../../engine/drive.js"

test("fills and trades that the engine has forgotten have changed their streams all the same", () => {
  const driver = new Driver(Engine.make({ orders: 1_000, idempotencyKeys: 1_000, fills: 2 }))
  const { engine } = driver
  const [busy, quiet] = [driver.market(parameters("AAA"), 1_000), driver.market(parameters("BBB"), 1_000)]
  const [alice, bob, carol, dave, nobody] = [1, 2, 3, 4, 5].map(() => driver.account(1_000_000_000)) as [
    number,
    number,
    number,
    number,
    number
  ]
  const trade = (market: number, maker: number, taker: number): number => {
    const order = { market, priceAtoms: 1_000, quantityAtoms: 10 }
    driver.run(driver.placement(maker, { ...order, side: 1 }))
    driver.run(driver.placement(taker, { ...order, side: 0 }))
    return engine.sequence
  }
  expect(["account.fills", "market.trades"].map((channel) => payloads.changedAt(engine, channel as "account.fills", 0))).toEqual([0, 0])
  const sequence = trade(quiet, alice, bob)
  const atFirst = [payloads.changedAt(engine, "account.fills", alice), payloads.changedAt(engine, "market.trades", quiet)]
  expect(atFirst).toEqual([sequence, sequence])
  for (let times = 0; times < 3; times++) trade(busy, carol, dave)
  expect(engine.fills(alice, anyMarket, Infinity, 9)).toEqual([])
  for (const account of [alice, bob]) expect(payloads.changedAt(engine, "account.fills", account)).toBeGreaterThanOrEqual(sequence)
  expect(payloads.changedAt(engine, "market.trades", quiet)).toBeGreaterThanOrEqual(sequence)
  // Forgotten fills of other accounts are no change for an account that has never traded.
  expect(payloads.changedAt(engine, "account.fills", nobody)).toBeLessThan(sequence)
})

test("the registry's digest is that of all markets as they are, whatever record has changed one of them since it was made last", () => {
  const driver = new Driver()
  const { engine } = driver
  const [one, other] = [driver.market(parameters("AAA"), 1_000), driver.market(parameters("BBB", { marketType: "commodity" }), 1_000)]
  const [alice, bob] = [driver.account(1_000_000_000), driver.account(1_000_000_000)] as const
  const venues = payloadsOf(engine)
  const digests = new Set<string>()
  const look = (): void => {
    const expected = sha256(canonicalize(registry(engine))!)
    for (const market of [one, other]) {
      expect(JSON.parse(venues.snapshot(engine, "market.status", market, driver.atEpochMs)).readModelDigest).toBe(expected)
    }
    digests.add(expected)
  }
  look()
  driver.mark()
  driver.run(driver.placement(alice, { market: one, priceAtoms: 1_000, quantityAtoms: 10, side: 1 }))
  driver.run(driver.placement(bob, { market: one, priceAtoms: 1_000, quantityAtoms: 10, side: 0 }))
  look()
  driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: other, status: "reduce_only" })
  look()
  driver.market(parameters("CCC"), 1_000)
  look()
  expect(digests.size).toBe(4)
})
