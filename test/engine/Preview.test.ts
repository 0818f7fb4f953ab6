/** The preview of a placement: it changes nothing, and equals the result of the same placement at the same sequence. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import type { PreviewView } from "../../src/engine/Reads.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { Outcome } from "../../src/operations/Operations.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import { Driver, parameters, RandomDriver } from "./drive.js"

const usdc = (amount: number): number => amount * 1_000_000

/** A copy of everything from which a state is restored: it takes a tenth of the time of the canonical form. */
const bytesOf = ({ state }: Engine): Buffer =>
  Buffer.concat(Snapshot.encode(state).flatMap(({ bytes, name }) => [Buffer.from(name), bytes]))

const entryOf = (driver: Driver, account: number, given: Partial<PlaceEntry>): PlaceEntry => driver.placement(account, given).entries[0]!

/** A decision in the form of a preview. */
const decided = ({ entries, refusal }: Outcome) =>
  refusal === Refusal.none
    ? entries[0]
    : { _tag: "Refused", refusal, orderNumber: -1, limit: Number.NaN, actual: Number.NaN, nearest: Number.NaN }

/** An account's figures after the decision, under a preview's names. */
const figures = ({ engine }: Driver, account: number, market: number) => {
  const { availableAtoms, equityAtoms, initialMarginAtoms, maintenanceMarginAtoms, marginEquityAtoms, orderLossAtoms } = engine.balance(
    account
  )
  const position = engine.positions(account).find((each) => each.market === market)
  return {
    availableAtoms,
    equityAtoms,
    initialMarginAtoms,
    maintenanceMarginAtoms,
    marginEquityAtoms,
    orderLossAtoms,
    quantityAtoms: position?.quantityAtoms ?? 0,
    liquidationPriceAtoms: position?.liquidationPriceAtoms ?? 0
  }
}

/** Previews an entry, which must not change the state, then places it and compares; returns the preview. */
const compare = (driver: Driver, account: number, entry: PlaceEntry): PreviewView => {
  const { engine } = driver
  const state = bytesOf(engine)
  engine.preview(account, entry, driver.atEpochMs)
  expect(Buffer.compare(bytesOf(engine), state)).toBe(0)
  return compareOutcomes(driver, account, entry)
}

/** The same without comparing the whole state, which costs more than all the rest. */
const compareOutcomes = (driver: Driver, account: number, entry: PlaceEntry): PreviewView => {
  const { engine } = driver
  expect(engine.preview(account, entry, driver.atEpochMs).before).toEqual(figures(driver, account, entry.market))
  const preview = engine.preview(account, entry, driver.atEpochMs)
  nearestIsLargest(driver, account, entry, preview)
  const sequence = engine.sequence
  // Under a fresh key: if the driver had fenced the key, the placement would be refused, and the preview, which has none, would not.
  const outcome = driver.run({ ...driver.placement(account, entry), idempotencyKey: `previewed-${sequence}` })
  expect(preview.outcome).toEqual(decided(outcome))
  if (preview.after === undefined) expect(preview.outcome._tag).toBe("Refused")
  else {
    expect(preview.after).toEqual(figures(driver, account, entry.market))
    const fees = engine.fills(account, entry.market, Infinity, Infinity)
      .filter((fill) => fill.sequence === sequence + 1 && fill.takerAccount === account)
      .reduce((sum, fill) => sum + fill.takerFeeAtoms, 0)
    expect(preview.feesAtoms).toBe(fees)
  }
  return preview
}

/** The nearest quantities given in refusals for lack of margin. */
const near: Array<number> = []

/** For an order that margin does not cover: the nearest quantity is accepted in the same state, and one lot more is not. */
const nearestIsLargest = ({ atEpochMs, engine }: Driver, account: number, entry: PlaceEntry, { outcome }: PreviewView): void => {
  if (outcome._tag !== "Refused" || outcome.refusal !== Refusal.marginInsufficient) return
  const { minQuantityAtoms } = engine.market(entry.market).parameters
  const at = (quantityAtoms: number) => engine.preview(account, { ...entry, quantityAtoms }, atEpochMs).outcome
  const { nearest } = outcome
  if (Number.isNaN(nearest)) return expect(at(minQuantityAtoms)._tag).toBe("Refused")
  near.push(nearest)
  const more = at(nearest + 1)
  expect([nearest < entry.quantityAtoms, at(nearest)._tag, more._tag === "Refused" ? more.refusal : 0])
    .toEqual([true, "OrderDecided", Refusal.marginInsufficient])
}

/** Whether the next record has due work before its command. */
const isDue = ({ atEpochMs, engine }: Driver): boolean =>
  engine.nextDueEpochMs <= atEpochMs || engine.state.liquidations.earliest <= atEpochMs

test("equals the decision at the same sequence and leaves the state as it was, whatever happened before", () => {
  const numRuns = 20
  const seen = { filled: 0, rested: 0, refused: new Set<number>(), reasons: new Set<number>() }
  fc.assert(
    fc.property(fc.integer(), fc.constantFrom(3, 1_024), fc.constantFrom(1, 8), (seed, metAtOnce, marketsInOne) => {
      const driver = new RandomDriver(seed, Engine.make({ orders: 10_000, idempotencyKeys: 10_000, marketsInOne, metAtOnce }))
      for (let step = 0; step < 160; step++) {
        driver.step()
        if (step < 20 || isDue(driver)) continue
        const [account, entry] = driver.draw()
        const { outcome } = (step % 4 === 0 ? compare : compareOutcomes)(driver, account, entry)
        if (outcome._tag === "Refused") seen.refused.add(outcome.refusal)
        else {
          seen.reasons.add(outcome.cancelReason)
          if (outcome.filledAtoms > 0) seen.filled++
          else if (outcome.status === Order.open) seen.rested++
        }
      }
    }),
    { numRuns }
  )
  expect(seen.filled).toBeGreaterThan(10 * numRuns)
  expect(seen.rested).toBeGreaterThan(10 * numRuns)
  expect(new Set(near).size).toBeGreaterThan(numRuns)
  const { iocRemainder, marginUnbacked, selfTrade } = Order.CancelReason
  expect([...seen.reasons]).toEqual(expect.arrayContaining([iocRemainder, marginUnbacked, selfTrade]))
  const { marginInsufficient, marketNotAccepting, noLiquidity, postOnlyWouldCross, reduceOnlyWouldIncrease } = Refusal
  expect([...seen.refused]).toEqual(
    expect.arrayContaining([marginInsufficient, marketNotAccepting, noLiquidity, postOnlyWouldCross, reduceOnlyWouldIncrease])
  )
})

/** A market without fees for makers, in which a lot at the mark of 100.0 is 0.1 USDC, initial margin 10 %, maintenance 5 %. */
const begin = (metAtOnce?: number) => {
  const driver = new Driver(
    Engine.make({ orders: 20_000, idempotencyKeys: 20_000, ...(metAtOnce === undefined ? undefined : { metAtOnce }) })
  )
  driver.market(parameters("AAA", { makerFeeBps: 0, takerFeeBps: 10, priceBandBps: 5000 }), 1000)
  driver.market(parameters("BBB", { makerFeeBps: 0, takerFeeBps: 0, priceBandBps: 5000 }), 1000)
  return { driver, account: driver.account(usdc(1000)), other: driver.account(usdc(1_000_000)) }
}

describe("what a preview tells", () => {
  test("of an order that fills and rests", () => {
    const { account, driver, other } = begin()
    driver.place(other, { side: Order.sell, priceAtoms: 1000, quantityAtoms: 1000 })
    driver.place(other, { side: Order.sell, priceAtoms: 1010, quantityAtoms: 1000 })
    const preview = compare(driver, account, entryOf(driver, account, { priceAtoms: 1010, quantityAtoms: 3000 }))
    // 100 and 101 USDC are filled, for 0.201 of fees, and 101 rest a price above the mark: a tenth of 300 is required.
    expect(preview).toMatchObject({
      outcome: { filledAtoms: 2000, filledNotionalAtoms: usdc(201), status: Order.open },
      feesAtoms: 201_000,
      before: { equityAtoms: usdc(1000), quantityAtoms: 0, liquidationPriceAtoms: 0 },
      after: {
        equityAtoms: usdc(1000) - 1_201_000,
        initialMarginAtoms: usdc(30),
        maintenanceMarginAtoms: usdc(10),
        orderLossAtoms: usdc(1),
        quantityAtoms: 2000,
        liquidationPriceAtoms: 0
      }
    })
  })

  test("of one that is refused", () => {
    const { driver, other } = begin()
    const poor = driver.account(usdc(10))
    const preview = compare(driver, poor, entryOf(driver, poor, { quantityAtoms: 2000 }))
    expect(preview).toMatchObject({ outcome: { refusal: Refusal.marginInsufficient, limit: usdc(10), actual: usdc(20) }, after: undefined })
    driver.place(other, { side: Order.sell, quantityAtoms: 2000 })
    expect(compare(driver, poor, entryOf(driver, poor, { postOnly: true, quantityAtoms: 1 })).outcome)
      .toMatchObject({ refusal: Refusal.postOnlyWouldCross, limit: 1000 })
  })

  test("under a halt, what refuses without a record", () => {
    const { account, driver } = begin()
    driver.send({ kind: "HaltEngine", idempotencyKey: "halt" })
    expect(driver.engine.preview(account, entryOf(driver, account, {}), driver.atEpochMs).outcome)
      .toMatchObject({ refusal: Refusal.engineHalted })
  })

  test("of a name in use, and of a market that there is not", () => {
    const { account, driver } = begin()
    driver.place(account, { clientOrderId: "mine", priceAtoms: 900 })
    expect(compare(driver, account, entryOf(driver, account, { clientOrderId: "mine" })).outcome)
      .toMatchObject({ refusal: Refusal.clientOrderIdInUse })
    expect(compare(driver, account, entryOf(driver, account, { market: 7 })).outcome).toMatchObject({ refusal: Refusal.marketNotFound })
  })

  test("of the time that it is asked at, not that of the last record", () => {
    const driver = new Driver()
    driver.market(parameters("AAA", { indexStaleMs: 5_000 }), 1000)
    const account = driver.account(usdc(1000))
    const entry = entryOf(driver, account, {})
    expect(driver.engine.preview(account, entry, driver.atEpochMs).after).toBeDefined()
    driver.atEpochMs += 5_000
    expect(driver.engine.preview(account, entry, driver.atEpochMs).outcome).toMatchObject({ refusal: Refusal.marketNotAccepting })
    // A clock behind the journal's is ignored.
    expect(driver.engine.preview(account, entry, 0).after).toBeDefined()
  })
})

describe("what an order could meet", () => {
  test("resting take-profits of whoever it meets are trimmed in the preview as in the decision", () => {
    const { account, driver, other } = begin()
    driver.place(other, { side: Order.sell, quantityAtoms: 1000 })
    driver.place(account, { quantityAtoms: 1000 })
    for (const priceAtoms of [1005, 1006, 1007]) {
      driver.place(account, { side: Order.sell, priceAtoms, quantityAtoms: 300, reduceOnly: true })
    }
    // A third party buys: it meets the first take-profit, then the account's own offer, which closes the position that the other
    // take-profits were for.
    driver.place(account, { side: Order.sell, priceAtoms: 1005, quantityAtoms: 600, timeInForce: Order.gtc })
    const third = driver.account(usdc(10_000))
    compare(driver, third, entryOf(driver, third, { priceAtoms: 1010, quantityAtoms: 5_000, timeInForce: Order.ioc }))
    expect(driver.engine.positions(account)).toEqual([])
  })

  test("makers without margin are passed over, however many, and more is looked at", () => {
    const { account, driver, other } = begin()
    const poor = Array.from({ length: 30 }, () => driver.account(usdc(11)))
    for (const each of poor) driver.place(each, { side: Order.sell, priceAtoms: 1010, quantityAtoms: 1000 })
    driver.place(other, { side: Order.sell, priceAtoms: 1011, quantityAtoms: 5000 })
    driver.index(0, 1100)
    const preview = compare(driver, account, entryOf(driver, account, { priceAtoms: 1100, quantityAtoms: 1000, timeInForce: Order.ioc }))
    expect(preview.outcome).toMatchObject({ filledNotionalAtoms: 1011 * 1000 * 100 })
  })

  test("no more than a record meets", () => {
    const { account, driver, other } = begin(8)
    for (let count = 0; count < 40; count++) driver.place(other, { side: Order.sell, quantityAtoms: 1 })
    const entry = entryOf(driver, account, { quantityAtoms: 30, timeInForce: Order.gtc })
    expect(compare(driver, account, entry).outcome).toMatchObject({ filledAtoms: 8, cancelReason: Order.CancelReason.iocRemainder })
  })

  test("costs what it could meet, not what rests", () => {
    const { account, driver } = begin()
    for (let maker = 0; maker < 60; maker++) {
      const each = driver.account(usdc(1_000_000))
      for (let count = 0; count < 200; count++)
        driver.place(each, { side: Order.sell, priceAtoms: 1001 + (count % 300), quantityAtoms: 10 })
    }
    const { orders } = driver.engine.state
    let read = 0
    const remaining = orders.remaining.bind(orders)
    orders.remaining = (slot) => {
      read++
      return remaining(slot)
    }
    expect(driver.engine.preview(account, entryOf(driver, account, { priceAtoms: 1400, quantityAtoms: 25 }), driver.atEpochMs).outcome)
      .toMatchObject({ filledAtoms: 25 })
    expect(read).toBeLessThan(20)
  })
})
