/** The ring of rows: which of them are kept, and which are found. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { RowLog } from "../../src/engine/RowLog.js"

const names = ["atEpochMs", "account", "paidAtoms"] as const

test("what is found of an account is what a list of all rows has of it", () => {
  const row = fc.record({ passedMs: fc.nat(3), account: fc.nat(3), paidAtoms: fc.integer() })
  const asked = fc.record({ account: fc.nat(4), sinceEpochMs: fc.nat(40), limit: fc.nat(5) })
  // With few rows to keep the ring has its whole size at once; with more of them it grows before it goes round.
  const kepts = fc.constantFrom(7, 40)
  const someRows = fc.array(row, { maxLength: 90, size: "max" })
  fc.assert(fc.property(someRows, kepts, asked, fc.boolean(), (rows, kept, { account, limit, sinceEpochMs }, isRestored) => {
    let log = new RowLog(names, kept, "account")
    let atEpochMs = 0
    const all: Array<Readonly<Record<(typeof names)[number], number>>> = []
    for (const { passedMs, ...rest } of rows) {
      atEpochMs += passedMs
      const each = { atEpochMs, ...rest }
      log.add(each)
      all.unshift(each)
    }
    if (isRestored) log = new RowLog(names, kept, "account").restore(log.dump())
    const expected = all.slice(0, kept).filter((each) => each.account === account && each.atEpochMs >= sinceEpochMs).slice(0, limit)
    expect(log.since(sinceEpochMs, limit, ["account"], account).map(({ ordinal: _, ...each }) => each)).toEqual(expected)
    const [paidAtoms] = all.filter((each) => each.account === account).map((each) => each.paidAtoms).slice(-1)
    const latest = all.slice(0, kept).find((each) =>
      each.account === account && each.paidAtoms === paidAtoms && each.atEpochMs >= sinceEpochMs
    )
    expect(log.latest(sinceEpochMs, ["account", account], ["paidAtoms", paidAtoms ?? 0])).toEqual(latest)
    expect(log.latestOf(account, sinceEpochMs, ["paidAtoms", paidAtoms ?? 0])).toEqual(latest)
  }))
})
