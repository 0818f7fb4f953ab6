/** What the simulator still requires of a venue whose clock was set back, and what it does not. */
import { expect, test } from "vitest"
import * as ClockSeen from "../../sim/properties/ClockSeen.js"
import type { Observation } from "../../sim/properties/Observation.js"
import { watch } from "../../sim/properties/Property.js"
import { solvency } from "../../sim/properties/solvency.js"

type Handled = Observation & { readonly _tag: "Handled" }

/** A request that is taken up at a second, with the readings since the one before. */
const taken = (second: number, from = second, to = second): Handled =>
  ({ _tag: "Handled", atEpochMs: second * 1_000, lowestEpochMs: from * 1_000, highestEpochMs: to * 1_000 }) as Handled

test("a clock is set back when it reads less than before, and goes on from there", () => {
  const setBacks = (...seen: ReadonlyArray<Handled>): number => seen.reduce(ClockSeen.handled, ClockSeen.unseen).setBacks
  expect(setBacks(taken(100), taken(100), taken(101, 100, 101))).toBe(0)
  expect(setBacks(taken(100), taken(70))).toBe(1)
  // It is not yet where it was, and was set back once.
  expect(setBacks(taken(100), taken(70), taken(71), taken(80))).toBe(1)
  expect(setBacks(taken(100), taken(70), taken(71), taken(60))).toBe(2)
  // Between two requests: below the former, and above the latter.
  expect(setBacks(taken(100), taken(110, 90, 110))).toBe(1)
  expect(setBacks(taken(100), taken(110, 101, 400))).toBe(1)
  // Nobody read it.
  expect(setBacks(taken(100), taken(100, Number.POSITIVE_INFINITY, 0))).toBe(0)
  const { highestEpochMs, lastEpochMs } = [taken(100), taken(70), taken(71)].reduce(ClockSeen.handled, ClockSeen.unseen)
  expect([highestEpochMs, lastEpochMs]).toEqual([100_000, 71_000])
})

const zeros = ["balances", "shortfall", "collateral", "entryImbalance", "reserved", "fees", "fundingPool", "credited", "confirmedDeposits",
  "confirmedWithdrawals"].map((name) => [`${name}Atoms`, "0"] as const)
const report = (journalSequence: number): object => ({
  version: "external-solvency/v2",
  asset: "USDC",
  journalSequence,
  atEpochMs: 0,
  rootHash: "0".repeat(64),
  leafCount: 1,
  ...Object.fromEntries(zeros),
  treasury: null
})

/** A request at a second, for a report by its record or the latest; the record of the report that it is told, or undefined. */
type Request = readonly [second: number, named: number | undefined, told: number | undefined]

/** The verdict on the last of some requests; the others are right. */
const lastOf = (requests: ReadonlyArray<Request>): string | undefined => {
  const { observe } = watch(solvency)
  const see = (seen: object): string | undefined => observe(seen as Observation)
  see({ _tag: "Started", incarnation: 1, set: { ledger: false } })
  return requests.map(([second, named, told], id) => {
    const call = { id, endpoint: "getSolvency", target: `/v1/solvency${named === undefined ? "" : `?sequence=${named}`}` }
    const atEpochMs = second * 1_000
    const json = told === undefined ? { code: "not_found" } : report(told)
    see({ _tag: "Asked", call, attempt: 1 })
    see({ _tag: "Handling", call, atEpochMs, movedAhead: 0 })
    see({ ...taken(second), call, answer: undefined })
    const answer = { status: told === undefined ? 404 : 200, headers: {}, text: JSON.stringify(json), json }
    return see({ _tag: "Answered", call, attempt: 1, answer, atEpochMs: id, clock: [atEpochMs, atEpochMs] })
  }).reduce((before, verdict) => {
    expect(before).toBeUndefined()
    return verdict
  })
}

const missing = "names the latest report that was told, and is answered 404"

test("a report that was told is kept, until there may have been two newer ones", () => {
  expect(lastOf([[100, undefined, 1], [110, undefined, 1], [132, 1, undefined]])).toContain(missing)
  expect(lastOf([[100, undefined, 1], [160, undefined, 1], [161, 1, undefined]])).toBeUndefined()
})

test("a report that was told before the clock was set back may be gone: the venue did not wait with the next ones", () => {
  expect(lastOf([[100, undefined, 1], [70, undefined, 1], [131, undefined, 1], [132, 1, undefined]])).toBeUndefined()
})

test("one that was told afterwards is kept, wherever the clock had been before", () => {
  expect(lastOf([[100, undefined, 1], [70, undefined, 1], [72, undefined, 2], [80, 2, undefined]])).toContain(missing)
  expect(lastOf([[9_000, undefined, 1], [70, undefined, 1], [72, undefined, 2], [80, 2, undefined]])).toContain(missing)
})
