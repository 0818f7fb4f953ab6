/** An account's own leverage in a market: which margin it requires, when it is refused, and that it is kept. */
import { describe, expect, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { canonical, Driver, parameters } from "./drive.js"

const usdc = (amount: number): number => amount * 1_000_000

/** A market without fees, in which a lot at the mark of 100.0 is 0.1 USDC, initial margin 5 %, maintenance 2.5 %, up to 20x. */
const market = (name: string) =>
  parameters(name, {
    makerFeeBps: 0,
    takerFeeBps: 0,
    initialMarginBps: 500,
    maxLeverageX: 20,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 250 }]
  })

const begin = (collateral: number) => {
  const driver = new Driver()
  driver.market(market("AAA"), 1000)
  driver.market(market("BBB"), 1000)
  return { driver, account: driver.account(usdc(collateral)), other: driver.account(usdc(1_000_000)) }
}

describe("what a leverage asks for", () => {
  // 1,000 lots are 100 USDC.
  test.each([
    ["none: the market's own", 0, 5_000_000],
    ["as much as the market allows", 20, 5_000_000],
    ["ten times", 10, 10_000_000],
    ["seven times, rounded up", 7, 14_285_715],
    ["once: all of the notional", 1, 100_000_000]
  ])("%s", (_, leverageX, initialMarginAtoms) => {
    const { account, driver } = begin(1000)
    if (leverageX > 0) expect(driver.leverage(account, 0, leverageX).refusal).toBe(Refusal.none)
    driver.place(account, { quantityAtoms: 1000 })
    driver.place(account, { market: 1, quantityAtoms: 1000 })
    // The other market's leverage is unchanged.
    expect(driver.engine.balance(account)).toMatchObject({ initialMarginAtoms: initialMarginAtoms + 5_000_000, maintenanceMarginAtoms: 0 })
  })

  test("an order is taken to the last atom of it, at placement and at the match", () => {
    const { account, driver, other } = begin(50)
    driver.leverage(account, 0, 2)
    expect(driver.place(account, { quantityAtoms: 1001 })).toMatchObject({
      refusal: Refusal.marginInsufficient,
      limit: usdc(50),
      actual: 50_050_000
    })
    driver.place(other, { side: Order.sell, quantityAtoms: 1000 })
    expect(driver.place(account, { quantityAtoms: 1000 }).filledAtoms).toBe(1000)
    expect(driver.engine.positions(account)[0]).toMatchObject({ initialMarginAtoms: usdc(50), maintenanceMarginAtoms: 2_500_000 })
    // Like every reduction it needs no initial margin.
    driver.place(other, { side: Order.buy, quantityAtoms: 500 })
    expect(driver.place(account, { side: Order.sell, quantityAtoms: 500, timeInForce: Order.ioc }).filledAtoms).toBe(500)
  })
})

describe("setting one", () => {
  test.each([[0, 1], [-3, 1], [21, 20], [1_000_000, 20]])("to %i is refused: the bound is %i", (leverageX, limit) => {
    const { account, driver } = begin(100)
    expect(driver.leverage(account, 0, leverageX)).toMatchObject({
      refusal: Refusal.leverageOutOfBounds,
      limit,
      actual: leverageX,
      nearest: limit
    })
    expect(driver.engine.leverage(account, 0)).toBe(0)
    expect(driver.engine.state.positions.find(account, 0)).toBe(-1)
  })

  test("is refused where it would leave less behind the account than it asks for, and leaves nothing", () => {
    const { account, driver } = begin(50)
    driver.place(account, { quantityAtoms: 1000 })
    expect(driver.leverage(account, 0, 1)).toMatchObject({ refusal: Refusal.marginInsufficient, limit: usdc(50), actual: usdc(100) })
    expect(driver.engine.leverage(account, 0)).toBe(0)
    expect(driver.leverage(account, 0, 2).refusal).toBe(Refusal.none)
    expect(driver.engine.balance(account)).toMatchObject({ initialMarginAtoms: usdc(50), availableAtoms: 0 })
    // The loss that the orders would make at once is subtracted first.
    driver.index(0, 999)
    expect(driver.engine.balance(account).orderLossAtoms).toBe(100_000)
    expect(driver.leverage(account, 0, 2).refusal).toBe(Refusal.marginInsufficient)
    expect(driver.engine.leverage(account, 0)).toBe(2)
    expect(driver.leverage(account, 0, 3).refusal).toBe(Refusal.none)
    expect(driver.engine.leverage(account, 0)).toBe(3)
  })

  test("in a market without anything touches no margin, and no slot is left of a refused one", () => {
    const { account, driver } = begin(10)
    driver.place(account, { quantityAtoms: 2000 })
    driver.index(0, 1100)
    expect(driver.engine.balance(account).availableAtoms).toBe(0)
    const { positions } = driver.engine.state
    const count = positions.count
    // The other market already lacks margin, so no leverage may be set anywhere.
    expect(driver.leverage(account, 1, 2).refusal).toBe(Refusal.marginInsufficient)
    expect(positions.count).toBe(count)
    driver.index(0, 1000)
    expect(driver.leverage(account, 1, 2).refusal).toBe(Refusal.none)
    expect(driver.engine.balance(account).initialMarginAtoms).toBe(usdc(10))
  })

  test("needs a market that the public sees", () => {
    const { account, driver } = begin(10)
    driver.send({ kind: "PutMarket", idempotencyKey: "draft", parameters: market("CCC") })
    for (const index of [-1, 2, 3]) expect(driver.leverage(account, index, 2).refusal).toBe(Refusal.marketNotFound)
  })

  test("is a trading command: a halt refuses it", () => {
    const { account, driver } = begin(10)
    driver.send({ kind: "HaltEngine", idempotencyKey: "halt" })
    const { refusal } = driver.send({ kind: "SetLeverage", account, idempotencyKey: "mine", market: 0, leverageX: 2 })
    expect(refusal).toBe(Refusal.engineHalted)
  })

  test("is remembered under its key", () => {
    const { account, driver } = begin(10)
    const command = { kind: "SetLeverage", account, idempotencyKey: "mine", market: 0, leverageX: 2 } as const
    const first = driver.send(command)
    driver.leverage(account, 0, 3)
    expect(driver.send(command)).toEqual({ ...first, replayed: true })
    expect(driver.engine.leverage(account, 0)).toBe(3)
  })
})

test("a market that allows less by now counts, and the account's own is as it was when it allows more again", () => {
  const { account, driver } = begin(1000)
  driver.leverage(account, 0, 15)
  const put = (maxLeverageX: number) =>
    driver.ask({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: { ...market("AAA"), maxLeverageX } })
  expect(put(4).refusal).toBe(Refusal.none)
  driver.price(0, 1000)
  driver.place(account, { quantityAtoms: 1000 })
  expect(driver.engine.leverage(account, 0)).toBe(15)
  expect(driver.engine.balance(account).initialMarginAtoms).toBe(usdc(25))
  expect(put(20).refusal).toBe(Refusal.none)
  expect(driver.engine.balance(account).initialMarginAtoms).toBe(6_666_667)
})

test("a snapshot has it, and it tells states apart", () => {
  const { account, driver, other } = begin(1000)
  driver.place(other, { quantityAtoms: 10 })
  driver.leverage(account, 1, 3)
  driver.place(account, { market: 1, quantityAtoms: 1000 })
  const { state } = driver.engine
  const restored = new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), state.capacity))
  expect([restored.leverage(account, 1), restored.leverage(account, 0), restored.leverage(other, 0)]).toEqual([3, 0, 0])
  expect(restored.balance(account)).toEqual(driver.engine.balance(account))
  expect(canonical(new Driver(restored))).toEqual(canonical(driver))
  expect(canonical(driver)).toContain(`leverage ${account} 1 3`)
  state.positions.setLeverage(state.positions.find(account, 1), 4)
  expect(canonical(new Driver(restored))).not.toEqual(canonical(driver))
})

test("slots that outgrow their table keep it", () => {
  const driver = new Driver(Engine.make({ orders: 100, idempotencyKeys: 50_000 }))
  for (const name of ["AAA", "BBB"]) driver.market(market(name), 1000)
  const accounts = Array.from({ length: 5_000 }, () => driver.account(1))
  accounts.forEach((account, index) => driver.leverage(account, index % 2, 1 + index % 20))
  accounts.forEach((account, index) => expect(driver.engine.leverage(account, index % 2)).toBe(1 + index % 20))
})
