/** When due work was delayed for too long during a run, and when something prevented it: cases over models made for them. */
import { expect, test } from "vitest"
import type { NaiveVenue } from "../../sim/model/NaiveVenue.js"
import { dueInTime } from "../../sim/properties/dueInTime.js"
import type { Observation } from "../../sim/properties/Observation.js"

/** A dead-man switch due at 10,000, and nothing else. */
const model = {
  markets: [],
  accounts: [{ index: 0, cancelAllAtEpochMs: 10_000, open: [] }],
  looks: [],
  funds: { nextDueEpochMs: Number.POSITIVE_INFINITY },
  nextSettlementEpochMs: Number.POSITIVE_INFINITY,
  brackets: { nextEpochMs: Number.POSITIVE_INFINITY },
  halted: false,
  atEpochMs: 0
} as unknown as NaiveVenue

const committed = { _tag: "Committed", record: { atEpochMs: 0, command: { kind: "PassTime" } }, model } as unknown as Observation
const started = { _tag: "Started" } as unknown as Observation
const full = (isFull: boolean, atEpochMs: number): Observation => ({ _tag: "DiskFull", isFull, atEpochMs })
const lockTaken: Observation = { _tag: "LockTaken", incarnation: 1, sequence: 1, byStranger: false }

/** An observation at a true time, of a process whose clock is ahead by `aheadMs`; `gone`: no process runs. */
const look = (atEpochMs: number, aheadMs: number | "gone" = 0, isWriting = false): Observation => ({
  _tag: "Watched",
  atEpochMs,
  clockEpochMs: aheadMs === "gone" ? undefined : atEpochMs + aheadMs,
  isWriting
})

test.each<readonly [what: string, seen: ReadonlyArray<Observation>, isBroken: boolean]>([
  ["due, and nothing done for two seconds", [look(10_000), look(11_000), look(12_000)], true],
  ["due within these two seconds", [look(9_000), look(11_000)], false],
  ["a record in between", [look(10_000), look(11_500), committed, look(12_000), look(13_900)], false],
  ["a clock that was set forward, and then stands at nothing else", [look(1_000), look(2_000, 20_000), look(4_000, 20_000)], true],
  ["a clock that is set over and over", [look(1_000), look(2_000, 20_000), look(3_500, 20_100), look(5_000, 20_000)], false],
  ["a clock that stands still", [look(10_000), look(11_000, -1_000), look(12_000, -2_000), look(13_000, -3_000)], false],
  ["no process", [look(10_000), look(11_000, "gone"), look(12_000), look(13_000)], false],
  ["another process", [look(10_000), look(11_000), started, look(12_000), look(13_000)], false],
  ["something is being written", [look(10_000), look(11_000, 0, true), look(12_000), look(13_000)], false],
  ["a disk that is full", [full(true, 9_000), look(10_000), look(13_000)], false],
  ["a disk that has room again since just now", [full(true, 9_000), full(false, 10_000), look(12_000), look(17_000)], false],
  ["a disk that has had room for long", [full(true, 0), full(false, 1_000), look(10_000), look(12_000)], true],
  ["a lock that was taken away", [lockTaken, look(10_000), look(13_000)], false]
])("%s", (_, seen, isBroken) => {
  const state = dueInTime.initial()
  dueInTime.observe(state, committed)
  expect(seen.some((each) => dueInTime.observe(state, each) !== undefined)).toBe(isBroken)
})
