/** The ledger of balances: what is kept of it, whose it is, and where a page of it begins. */
import { describe, expect, test } from "vitest"
import { anyMarket } from "../../src/domain/None.js"
import { BalanceLog, Cause, causes } from "../../src/engine/BalanceLog.js"

const everything = Number.POSITIVE_INFINITY

/** Ten changes of three accounts by turns, of which four are kept: 6 to 9. */
const made = (capacity = 4): BalanceLog => {
  const log = new BalanceLog(capacity)
  for (let at = 0; at < 10; at++) log.add(100 + at, 1_000 * at, at % 3, Cause.fee, at % 2, -1 - at, 50 - at)
  return log
}

describe("the changes of an account", () => {
  test.each([
    ["its own, newest first", 0, anyMarket, everything, 9, [9, 6]],
    ["of another", 1, anyMarket, everything, 9, [7]],
    ["of one that never had any", 7, anyMarket, everything, 9, []],
    ["of one market", 0, 1, everything, 9, [9]],
    ["so many", 0, anyMarket, everything, 1, [9]],
    ["behind one of its own", 0, anyMarket, 9, 9, [6]],
    ["behind one of another's", 0, anyMarket, 8, 9, [6]],
    ["behind one that is no longer kept", 0, anyMarket, 3, 9, []]
  ])("%s", (_, account, market, before, limit, ordinals) => {
    expect(made().of(account, market, before, limit).map(({ ordinal }) => ordinal)).toEqual(ordinals)
  })

  test("tell what they were", () => {
    expect(made().of(0, anyMarket, everything, 1)).toEqual([
      { ordinal: 9, sequence: 109, atEpochMs: 9_000, account: 0, cause: Cause.fee, market: 1, amountAtoms: -10, balanceAtoms: 41 }
    ])
    expect([made().balanceOf(0), made().balanceOf(7)]).toEqual([41, undefined])
  })
})

test("codes of causes are those of their names", () => {
  for (const [name, code] of Object.entries(Cause))
    expect(causes[code]!.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())).toBe(name)
})

test("a log that was dumped and restored goes on as the one that was not", () => {
  const log = made(65_536)
  const restored = BalanceLog.restore(log.dump())
  expect(restored.total).toBe(10)
  for (const each of [log, restored]) each.add(200, 20_000, 1, Cause.funding, 0, 5, 55)
  for (const account of [0, 1, 2])
    expect(restored.of(account, anyMarket, everything, 99)).toEqual(log.of(account, anyMarket, everything, 99))
  expect([...restored.dump()]).toEqual([...log.dump()])
})
