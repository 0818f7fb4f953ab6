/** When the end of a run finds a market without its mark, and when no mark is due: cases over models made for them. */
import { expect, test } from "vitest"
import type { NaiveVenue } from "../../sim/model/NaiveVenue.js"
import { dueIsDone } from "../../sim/properties/dueIsDone.js"
import type { Observation } from "../../sim/properties/Observation.js"

const nowEpochMs = 100_500

/** The parts of a market and its venue that the property reads: open, fresh, and marked in the present second. */
const marked = {
  second: 100,
  liveSince: 0,
  source: 100_000,
  index: 60_000,
  status: "open",
  halted: false,
  movedAtEpochMs: 0,
  journalEpochMs: 0
}

const verdictOf = (stands: Partial<typeof marked>) => {
  const { halted, index, journalEpochMs, liveSince, movedAtEpochMs, second, source, status } = { ...marked, ...stands }
  const model = {
    markets: [{ index: 0, status, parameters: { marketType: "crypto", indexStaleMs: 10_000 }, risk: { second, liveSince, source, index } }],
    accounts: [],
    looks: [],
    funds: { nextDueEpochMs: Number.POSITIVE_INFINITY },
    nextSettlementEpochMs: Number.POSITIVE_INFINITY,
    brackets: { nextEpochMs: Number.POSITIVE_INFINITY },
    halted,
    atEpochMs: journalEpochMs
  } as unknown as NaiveVenue
  const state = dueIsDone.initial()
  const record = { atEpochMs: movedAtEpochMs, command: { kind: "SetMarketStatus" } }
  dueIsDone.observe(state, { _tag: "Committed", record, model } as unknown as Observation)
  return dueIsDone.observe(state, { _tag: "Finished", atEpochMs: 0, clockEpochMs: nowEpochMs, unsettled: [], ready: true })
}

test.each<readonly [what: string, stands: Partial<typeof marked>, isBroken: boolean]>([
  ["marked this second", {}, false],
  ["marked in the second before", { second: 99 }, false],
  ["two seconds without a mark", { second: 98 }, true],
  ["back only now", { second: 98, liveSince: 100_000 }, false],
  ["opened only now", { second: 98, movedAtEpochMs: 100_000 }, false],
  ["stale since just now", { second: 98, source: 90_500 }, false],
  ["without an index", { second: 98, index: 0 }, false],
  ["halted", { second: 98, status: "halted" }, false],
  ["in a venue that is halted", { second: 98, halted: true }, false],
  ["in a venue whose clock lies behind its journal", { second: 98, journalEpochMs: nowEpochMs + 1 }, false]
])("%s", (_, stands, isBroken) => {
  expect(verdictOf(stands) !== undefined).toBe(isBroken)
})
