/**
 * Histories that begin at an upgrade's step begin with the state before it: what was remembered then is in them, and what its own record
 * decides, and what was still queued, is included once.
 */
import { Effect } from "effect"
import { expect, test } from "vitest"
import * as Ids from "../../src/domain/Ids.js"
import { Engine } from "../../src/engine/Engine.js"
import { hadBotKey, nothingKept, Projection, venuesOwn } from "../../src/readmodel/Projection.js"
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
  const seed = await Effect.runPromise(
    seedBefore({ standingBefore: () => Effect.succeed({ engine, digest: "cc", version: versions }) }, engine.sequence + 1)
  )
  expect(seed.place).toEqual({ sequence: engine.sequence, atEpochMs: engine.state.atEpochMs, digest: "cc" })
  const projection = new Projection({ ...nothingKept, ...keptOf(seed) })
  const record = (given: AnyGiven): void => projection.apply(committed(driver, given))
  record(step)
  goOn(record)
  return new Map([...seed.batch.episodes, ...projection.take().episodes].map((episode) => [episode.account, episode]))
}

/** A driver each of whose records is also applied to histories that begin with the first. */
const followed = () => {
  const driver = new Driver(Engine.make({ orders: 1_000, idempotencyKeys: 5_000 }))
  const { engine, engine: { state: { events } } } = driver
  const whole = new Projection(nothingKept)
  const run = driver.run.bind(driver)
  driver.run = (command) => {
    events.clear()
    const outcome = run(command)
    const { sequence } = outcome
    if (sequence === engine.sequence && events.length > 0) {
      const records = [{ sequence, atEpochMs: driver.atEpochMs, command }]
      const block = { firstSequence: sequence, lastSequence: sequence, digest: new Uint8Array(32), records } as never
      whole.apply({ block, events: events.words.slice(0, events.length), told: events.told.copied() })
    }
    return outcome
  }
  return { driver, whole }
}

test("orders, fills, money and flags that were remembered at the step are in the histories, as in those that began with the first record", async () => {
  const { driver, whole } = followed()
  const { engine, engine: { state } } = driver
  open(driver)
  const often = { fundingIntervalMs: 20_000, fundingCapE9: 40_000_000, indexStaleMs: 30_000, makerFeeBps: 1, takerFeeBps: 5 }
  const markets = ["AAA", "BBB"].map((name) => driver.market(parameters(name, often), 1000))
  driver.mark()
  const pair = [driver.account(1e9), driver.account(1e9)] as const
  for (const market of markets)
    pair.forEach((account, side) => driver.place(account, { market, side: side as 0 | 1, priceAtoms: 1000, quantityAtoms: 1000 }))
  const resting = driver.place(pair[0], { side: 0, priceAtoms: 900, quantityAtoms: 1000 }).orderNumber
  const canceled = driver.place(pair[1], { side: 0, priceAtoms: 901, quantityAtoms: 1000 }).orderNumber
  driver.cancel(pair[1], canceled)
  const flagged = (idempotencyKey: string, set: number, clear: number) =>
    driver.send({ kind: "SetAccountFlags", idempotencyKey, ofAccount: pair[1], set, clear })
  flagged("both", 6, 0)
  // Flags that an operator sets and clears leave it that a bot has had a key.
  const key = { keyId: "a".repeat(20), displayPrefix: "pk_a", secretSha256: "a".repeat(64) }
  driver.send({ kind: "IssueBotKey", idempotencyKey: "key", ofAccount: pair[1], subject: "maker", ...key })
  flagged("one", 0, 2)
  const isPaidTwice = () => state.fundingPayments.since(0, 100).length === 4
  while (!isPaidTwice()) for (const market of markets) driver.index(market, 1000)
  // What is left over of a payment opened the insurance fund, which is never ranked, and has no flags of its own.
  const fund = engine.findAccount(Ids.insuranceFundId)

  const { batch } = await Effect.runPromise(
    seedBefore({ standingBefore: () => Effect.succeed({ engine, digest: "cc", version: versions }) }, engine.sequence + 1)
  )
  const all = whole.take()
  const inOrder = (rows: Iterable<object>) => [...rows].map((row) => JSON.stringify(Object.entries(row).sort())).sort()
  expect(inOrder(batch.rescaled)).toEqual(inOrder(all.rescaled))
  expect(batch.fills).toEqual(all.fills)
  expect(batch.fills).toHaveLength(2)
  expect(inOrder(batch.money.changes)).toEqual(inOrder(all.money.changes))
  const paid = ({ money: { payments } }: Pick<typeof batch, "money">) =>
    inOrder(Array.from(payments, ({ account, market, paidAtoms, place, sequence }) => ({ account, market, paidAtoms, place, sequence })))
  expect(paid(batch)).toEqual(paid(all))
  // Of one record, so that their places are told apart.
  expect(new Set(Array.from(batch.money.payments, ({ place }) => place))).toEqual(new Set([0, 1]))
  const orders = Array.from(batch.orders.placed)
  expect(orders.map(({ orderNumber, status }) => [orderNumber, status]).sort()).toEqual(
    Array.from(all.orders.placed, ({ orderNumber, status }) => [orderNumber, status]).sort()
  )
  expect(orders.find(({ orderNumber }) => orderNumber === canceled)?.canceledAtoms).toBe(1000)
  expect(orders.find(({ orderNumber }) => orderNumber === resting)).toMatchObject({ filledAtoms: 0, canceledAtoms: 0 })
  expect(batch.flags).toEqual([[pair[1], 4 | hadBotKey], [fund, venuesOwn]])
  expect(inOrder(batch.flags)).toEqual(inOrder(all.flags))
})

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
