/**
 * Histories that begin at an upgrade's step begin with the state before it: what its own record decides, and what was still queued, is
 * included once.
 */
import { Effect } from "effect"
import { expect, test } from "vitest"
import { Engine } from "../../src/engine/Engine.js"
import { nothingKept, Projection } from "../../src/readmodel/Projection.js"
import { keptOf, seedBefore } from "../../src/readmodel/Seed.js"
import type { Committed } from "../../src/sequencer/Feed.js"
import { versions } from "../../src/sequencer/Versions.js"
import { type AnyGiven, completeAny } from "../engine/commands.js"
import { Driver, parameters } from "../engine/drive.js"

const open = (driver: Driver): void => void driver.send({ kind: "OpenVenue", environment: "development", ...versions })
const step: AnyGiven = { kind: "StartVenue", ...versions, stateBefore: "aa", stateAfter: "bb" }

/** Accounts, each pair of which holds one contract against each other. */
const opposed = (driver: Driver, pairs: number): ReadonlyArray<number> =>
  Array.from({ length: pairs }, () => {
    const pair = [driver.account(1e9), driver.account(1e9)] as const
    pair.forEach((account, side) => driver.place(account, { side: side as 0 | 1, priceAtoms: 1000, quantityAtoms: 1000 }))
    return pair
  }).flat()

/** Runs a command as a block of its own. */
const committed = (driver: Driver, given: AnyGiven): Committed => {
  const { engine, engine: { state: { events } } } = driver
  const command = completeAny(given)
  events.clear()
  driver.run(command)
  const { sequence } = engine
  const record = { sequence, atEpochMs: driver.atEpochMs, command }
  return {
    block: { firstSequence: sequence, lastSequence: sequence, digest: new Uint8Array(32), records: [record] } as never,
    events: events.words.slice(0, events.length),
    told: events.told.copied()
  }
}

/** The episodes in histories that begin at the next record, a step, and end with the records after it. */
const episodesFrom = async (driver: Driver, goOn: (record: (given: AnyGiven) => void) => void) => {
  const { engine } = driver
  const seed = await Effect.runPromise(seedBefore({ standingBefore: () => Effect.succeed({ engine, digest: "cc" }) }, engine.sequence + 1))
  expect(seed.place).toEqual({ sequence: engine.sequence, atEpochMs: engine.state.atEpochMs, digest: "cc" })
  const projection = new Projection({ ...nothingKept, ...keptOf(seed) })
  const record = (given: AnyGiven): void => projection.apply(committed(driver, given))
  record(step)
  goOn(record)
  return new Map([...seed.batch.episodes, ...projection.take().episodes].map((episode) => [episode.account, episode]))
}

test("funding that was in line at the step is in the histories once", async () => {
  const driver = new Driver(Engine.make({ orders: 1_000, idempotencyKeys: 5_000, settledAtOnce: 1 }))
  open(driver)
  const often = { fundingIntervalMs: 20_000, fundingCapE9: 40_000_000, indexStaleMs: 30_000, makerFeeBps: 0, takerFeeBps: 0 }
  const market = driver.market(parameters("AAA", often), 1000)
  driver.mark()
  const accounts = opposed(driver, 4)
  const { engine, engine: { state } } = driver
  while (state.settling === 0) driver.index(market, 1000)
  const episodes = await episodesFrom(driver, (record) => {
    expect(state.settling).toBeGreaterThan(2)
    while (state.settling > 0) record({ kind: "PassTime" })
  })
  const paid = accounts.map((account) => engine.positions(account)[0]!.fundingPaidAtoms)
  expect(paid.every((atoms) => atoms !== 0)).toBe(true)
  expect(accounts.map((account) => episodes.get(account)!.fundingPaidAtoms)).toEqual(paid)
})

test("positions that the step's own record closes are in the histories, with how they ended", async () => {
  const driver = new Driver(Engine.make({ orders: 1_000, idempotencyKeys: 5_000, noticeMs: 1_000 }))
  open(driver)
  const market = driver.market(parameters("AAA"), 1000)
  driver.mark()
  const accounts = opposed(driver, 1)
  const effectiveAtEpochMs = driver.atEpochMs + 5_000
  driver.send({ kind: "DelistMarket", idempotencyKey: "gone", market, action: "delist", effectiveAtEpochMs })
  // Meanwhile the venue is down for the upgrade.
  driver.atEpochMs += 6_000
  const episodes = await episodesFrom(driver, () => {})
  expect(accounts.flatMap((account) => driver.engine.positions(account))).toEqual([])
  for (const account of accounts) {
    expect(episodes.get(account)).toMatchObject({
      quantityAtoms: 0,
      exitQuantityAtoms: 1000n,
      close: { sequence: driver.engine.sequence, reason: "market_delisted" }
    })
  }
})
