/** The ledger of balances: which rows are kept, for which account, and where a page of it begins. */
import { describe, expect, test } from "vitest"
import { anyMarket } from "../../src/domain/None.js"
import { type BalanceChange, BalanceLog, Cause, causes, type Place } from "../../src/engine/BalanceLog.js"

/** Ten changes of three accounts in turn, of which the last four are kept: 6 to 9. */
const made = (capacity = 4): BalanceLog => {
  const log = new BalanceLog(capacity)
  for (let at = 0; at < 10; at++) log.add(100 + at, 1_000 * at, at % 3, Cause.fee, at % 2, -1 - at, 50 - at)
  return log
}

/** The place of a record's change in the account's ledger. */
const by = (sequence: number, place = 0): Place => ({ sequence, place })

describe("the changes of an account", () => {
  test.each([
    ["its own, newest first", 0, anyMarket, undefined, 9, [109, 106]],
    ["of another", 1, anyMarket, undefined, 9, [107]],
    ["of one that never had any", 7, anyMarket, undefined, 9, []],
    ["of one market", 0, 1, undefined, 9, [109]],
    ["so many", 0, anyMarket, undefined, 1, [109]],
    ["behind one of its own", 0, anyMarket, by(109), 9, [106]],
    ["behind a record that changed nothing of it", 0, anyMarket, by(108), 9, [106]],
    ["behind a record that has yet to come", 0, anyMarket, by(500), 9, [109, 106]],
    ["behind one that is no longer kept", 0, anyMarket, by(103), 9, []],
    ["behind one of an account that never had any", 7, anyMarket, by(109), 9, []]
  ])("%s", (_, account, market, before, limit, sequences) => {
    expect(made().of(account, market, before, limit).map(({ sequence }) => sequence)).toEqual(sequences)
  })

  test("tell what they were", () => {
    expect(made().of(0, anyMarket, undefined, 1)).toEqual([
      { sequence: 109, place: 0, atEpochMs: 9_000, account: 0, cause: Cause.fee, market: 1, amountAtoms: -10, balanceAtoms: 41 }
    ])
    expect([made().balanceOf(0), made().balanceOf(7)]).toEqual([41, undefined])
  })
})

/** Records in two markets that change several accounts several times, more often than is kept. */
const crowded = (capacity: number): BalanceLog => {
  const log = new BalanceLog(capacity)
  for (let at = 0; at < 60; at++) log.add(Math.floor(at / 12), 0, (at * 7) % 3, Cause.fee, at % 2, -1 - at, 0)
  return log
}

describe("places", () => {
  test("pages of any length, of one market or of all, put together are the whole", () => {
    for (const capacity of [7, 25, 60]) {
      const log = crowded(capacity)
      for (const market of [anyMarket, 0, 1]) {
        const whole = log.of(1, market, undefined, 99)
        for (const limit of [1, 2, 5]) {
          const walked: Array<BalanceChange> = []
          for (let page = log.of(1, market, undefined, limit); page.length > 0; page = log.of(1, market, page.at(-1), limit)) {
            walked.push(...page)
          }
          expect(walked).toEqual(whole)
        }
      }
    }
  })

  test("stay what they were when older changes are dropped, and whatever others' changes there are", () => {
    const places = (log: BalanceLog) =>
      log.of(1, anyMarket, undefined, 99).map(({ amountAtoms, place, sequence }) => [amountAtoms, sequence, place])
    const all = places(crowded(60))
    expect(places(crowded(25))).toEqual(all.slice(0, places(crowded(25)).length))
    const alone = new BalanceLog(60)
    for (const [amount, sequence] of all.toReversed()) alone.add(sequence!, 0, 1, Cause.fee, 0, amount!, 0)
    expect(places(alone)).toEqual(all)
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
  for (const account of [0, 1, 2]) expect(restored.of(account, anyMarket, undefined, 99)).toEqual(log.of(account, anyMarket, undefined, 99))
  expect([...restored.dump()]).toEqual([...log.dump()])
})

test("a ring that ends within a chunk, at its end or in a later one keeps the latest, also where it was restored between", () => {
  for (const capacity of [300, 512, 1_024, 1_300]) {
    let log = new BalanceLog(capacity)
    for (let at = 0; at < 3_000; at++) {
      if (at % 700 === 512) log = BalanceLog.restore(log.dump(), capacity)
      log.add(at + 1, 0, at % 5_000 < 2_500 ? 0 : 4_096, Cause.fee, 0, -1 - at, at)
      expect(log.balanceOf(at % 5_000 < 2_500 ? 0 : 4_096)).toBe(at)
    }
    const kept = [...log.of(4_096, anyMarket, undefined, 9_999), ...log.of(0, anyMarket, undefined, 9_999)]
    expect(kept.map(({ sequence }) => sequence)).toEqual(Array.from({ length: capacity }, (_, newer) => 3_000 - newer))
  }
})
