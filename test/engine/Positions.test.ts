/** The effect of fills on a position: a table, exactness compared with bigints, and sums over both sides. */
import { uniform } from "../../scripts/bench/BookOperations.js"
import { accountId } from "../../src/domain/Ids.js"
import { none } from "../../src/domain/None.js"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { Accounts } from "../../src/engine/Accounts.js"
import * as Positions from "../../src/engine/Positions.js"
import { encoded, told } from "./Sections.js"

const filled = (): Positions.Filled => ({ quantity: 0, entryNotional: 0, realizedPnl: 0, opens: false })

/** Quantity, entry notional, realised PnL, and whether a new episode begins. */
type After = readonly [number, number, number, boolean]

test.each<[string, number, number, boolean, number, number, After]>([
  ["opens a long", 0, 0, true, 5, 10, [5, 50, 0, true]],
  ["opens a short", 0, 0, false, 5, 10, [-5, 50, 0, true]],
  ["grows a long", 5, 50, true, 5, 12, [10, 110, 0, false]],
  ["grows a short", -5, 50, false, 5, 12, [-10, 110, 0, false]],
  ["closes a long in profit", 5, 50, false, 5, 12, [0, 0, 10, false]],
  ["closes a short in loss", -5, 50, true, 5, 12, [0, 0, -10, false]],
  ["closes a third of a long, release up", 3, 100, false, 1, 40, [2, 66, 6, false]],
  ["closes a third of a short, release down", -3, 100, true, 1, 40, [-2, 67, -7, false]],
  ["closes two thirds of a long, release up", 3, 100, false, 2, 40, [1, 33, 13, false]],
  ["flips a long", 3, 100, false, 5, 40, [-2, 80, 20, true]],
  ["flips a short", -3, 100, true, 5, 40, [2, 80, -20, true]]
])("a fill that %s", (_, quantity, entryNotional, buying, sizeAtoms, priceAtoms, expected) => {
  const into = filled()
  Positions.fill(into, quantity, entryNotional, buying, sizeAtoms, priceAtoms, 1)
  expect([into.quantity, into.entryNotional, into.realizedPnl, into.opens]).toEqual(expected)
})

/** Fills between two accounts, in a market whose factor is 10^0 to 10^2. */
const fills = fc.array(
  fc.record({
    buying: fc.boolean(),
    sizeAtoms: fc.integer({ min: 1, max: 1_000_000 }),
    priceAtoms: fc.integer({ min: 1, max: 2_000_000 })
  }),
  { minLength: 1, maxLength: 60 }
)

test("nothing is made or lost over any fills: what is realised and what entries differ by always cancel out", () => {
  fc.assert(
    fc.property(fills, fc.constantFrom(1, 10, 100), (run, factor) => {
      const one = filled()
      const other = filled()
      let realised = 0n
      let long = { quantity: 0, entry: 0 }
      let short = { quantity: 0, entry: 0 }
      for (const { buying, priceAtoms, sizeAtoms } of run) {
        Positions.fill(one, long.quantity, long.entry, buying, sizeAtoms, priceAtoms, factor)
        Positions.fill(other, short.quantity, short.entry, !buying, sizeAtoms, priceAtoms, factor)
        realised += BigInt(one.realizedPnl) + BigInt(other.realizedPnl)
        long = { quantity: one.quantity, entry: one.entryNotional }
        short = { quantity: other.quantity, entry: other.entryNotional }
        const signed = (held: typeof long): bigint => BigInt(held.entry) * (held.quantity > 0 ? 1n : -1n)
        expect(long.quantity + short.quantity).toBe(0)
        expect(realised - signed(long) - signed(short)).toBe(0n)
        if (long.quantity === 0) expect(long.entry).toBe(0)
      }
    }),
    { numRuns: 500 }
  )
})

test("what a close releases is the exact share, rounded up for a long and down for a short", () => {
  const held = fc.integer({ min: 2, max: 2 ** 31 })
  fc.assert(
    fc.property(held, fc.integer({ min: 1, max: 2 ** 21 }), fc.integer({ min: 1, max: 2 ** 31 }), (size, price, part) => {
      const entry = size * price - 1
      const closed = 1 + (part % (size - 1))
      const into = filled()
      Positions.fill(into, size, entry, false, closed, price, 1)
      const share = BigInt(entry) * BigInt(closed)
      expect(BigInt(entry - into.entryNotional)).toBe((share + BigInt(size) - 1n) / BigInt(size))
      expect(BigInt(into.realizedPnl)).toBe(BigInt(price) * BigInt(closed) - BigInt(entry - into.entryNotional))
      Positions.fill(into, -size, entry, true, closed, price, 1)
      expect(BigInt(entry - into.entryNotional)).toBe(share / BigInt(size))
      expect(BigInt(into.realizedPnl)).toBe(BigInt(entry - into.entryNotional) - BigInt(price) * BigInt(closed))
    }),
    { numRuns: 500 }
  )
})

test("every pair keeps its own slot through growth, and has it again when restored", () => {
  const accounts = new Accounts()
  const positions = new Positions.Positions()
  for (let account = 0; account < 300; account++) expect(accounts.open(64 * (account + 1), account)).toBe(account)
  const pairs = Array.from({ length: 300 }, (_, account) => [3, 0, 200, 1023].map((market) => [account, market] as const)).flat()
  pairs.forEach(([account, market], slot) => expect(positions.touch(accounts, account, market)).toBe(slot))
  pairs.forEach((_, slot) => positions.setQuantity(slot, slot - 500))
  const again = Positions.Positions.decode(encoded(positions))
  for (const held of [positions, again]) {
    expect(pairs.map(([account, market]) => held.find(account, market))).toEqual(pairs.map((_, slot) => slot))
    expect(pairs.map((_, slot) => held.quantity(slot))).toEqual(pairs.map((_, slot) => slot - 500))
    expect(Array.from({ length: 300 }, (_, account) => held.find(account, 4))).toEqual(Array.from({ length: 300 }, () => none))
    expect(held.find(300, 3)).toBe(none)
    // Linked to its account, most recently touched first.
    expect([accounts.firstPosition(7), held.nextOfAccount(accounts.firstPosition(7))]).toEqual([7 * 4 + 3, 7 * 4 + 2])
  }
  expect(told(encoded(again))).toEqual(told(encoded(positions)))
  expect(Accounts.decode(encoded(accounts)).find("")).toBe(none)
  expect(told(encoded(Accounts.decode(encoded(accounts))))).toEqual(told(encoded(accounts)))
})

test("the smallest and the largest size in a market, over every pair that holds something, also of restored positions", () => {
  const accounts = new Accounts()
  const positions = new Positions.Positions()
  const sizes = [5, 0, -300, 7, 4]
  for (const [index, size] of sizes.entries()) {
    accounts.open(index, 1)
    positions.setQuantity(positions.touch(accounts, index, 1), size)
  }
  const flat = positions.touch(accounts, 0, 0)
  expect(positions.range(0)).toEqual({ least: Number.POSITIVE_INFINITY, most: 0 })
  expect(positions.range(7)).toEqual({ least: Number.POSITIVE_INFINITY, most: 0 })
  positions.untouch(accounts, flat)
  positions.setQuantity(positions.touch(accounts, 4, 0), 11)
  expect(positions.range(0)).toEqual({ least: 11, most: 11 })
  for (const each of [positions, Positions.Positions.decode(encoded(positions))]) expect(each.range(1)).toEqual({ least: 4, most: 300 })
  // More pairs than there was room for at first.
  for (let index = sizes.length; index < 200; index++) {
    accounts.open(index, 1)
    positions.setQuantity(positions.touch(accounts, index, 1), index)
  }
  positions.setQuantity(positions.find(2, 1), 3)
  expect(positions.range(1)).toEqual({ least: 3, most: 199 })
})

test("accounts and positions that become many keep what was written into them, whenever that was", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 31 - 1 }), (seed) => {
      const draw = uniform(seed)
      const accounts = new Accounts()
      let positions = new Positions.Positions()
      const collaterals: Array<number> = []
      const quantities: Array<number> = []
      const fees: Array<number> = []
      for (let account = 0; account < 9_000; account++) {
        accounts.open(64 * account + 7, account)
        accounts.setCollateral(account, 0)
        collaterals.push(0)
        // Some slots are given back at once, and the next position takes them.
        for (const market of [draw(3), 3]) {
          const slot = positions.touch(accounts, account, market)
          if (market !== 3 && draw(2) === 0) {
            positions.untouch(accounts, slot)
            continue
          }
          quantities.push(0)
          fees.push(0)
        }
        for (let change = 0; change < 4; change++) {
          const [some, other] = [draw(account + 1), draw(quantities.length)]
          accounts.setCollateral(some, collaterals[some] = 1 + draw(1e9))
          accounts.setNewestOrder(some, collaterals[some]!)
          positions.setQuantity(other, quantities[other] = 1 + draw(1e9))
          positions.setFeesPaid(other, fees[other] = 1 + draw(1e9))
          positions.setOpenCount(other, quantities[other]! % 201)
          positions.setLeverage(other, quantities[other]! % 1_001)
          positions.setFundingEpoch(other, quantities[other]!)
          positions.setFundingPaid(other, -fees[other]!)
        }
        if (account % 4_000 === 3_999) positions = Positions.Positions.decode(encoded(positions))
      }
      const wrong: Array<string> = []
      const same = (what: string, is: number, was: number): void => {
        if (is !== was) wrong.push(`${what}: ${is}, not ${was}`)
      }
      for (const [account, collateral] of collaterals.entries()) {
        same(`collateral of ${account}`, accounts.collateral(account), collateral)
        same(`newest order of ${account}`, accounts.newestOrder(account), collateral === 0 ? none : collateral)
        same(`found account ${account}`, accounts.find(accountId(64 * account + 7)), account)
        for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
          same(`account of ${slot}`, positions.account(slot), account)
          same(`slot of ${account}`, positions.find(account, positions.market(slot)), slot)
        }
      }
      for (const [slot, quantity] of quantities.entries()) {
        same(`quantity of ${slot}`, positions.quantity(slot), quantity)
        same(`open orders of ${slot}`, positions.openCount(slot), quantity % 201)
        same(`leverage of ${slot}`, positions.leverage(slot), quantity % 1_001)
        same(`fees of ${slot}`, positions.feesPaid(slot), fees[slot]!)
        same(`funding epoch of ${slot}`, positions.fundingEpoch(slot), quantity)
        same(`funding of ${slot}`, positions.fundingPaid(slot), fees[slot] === 0 ? 0 : -fees[slot]!)
      }
      expect(wrong.slice(0, 5)).toEqual([])
      expect([accounts.find(accountId(8)), positions.count]).toEqual([none, quantities.length])
    }),
    { numRuns: 2 }
  )
})
