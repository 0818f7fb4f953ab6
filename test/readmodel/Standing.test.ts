/** How far histories are reported to be behind, whatever the venue's clock is set to. */
import { expect, test } from "vitest"
import { freshness } from "../../src/edge/http/Freshness.js"
import { type Reached, Standstill, standingOf } from "../../src/readmodel/Histories.js"

const setAtEpochMs = 1_800_000_000_000
const reachedAt = (sequence: number): Reached => ({
  place: { sequence, atEpochMs: setAtEpochMs, digest: "" },
  fills: 0,
  behindSinceEpochMs: setAtEpochMs,
  isReplaying: false,
  isRebuilding: false
})

test("histories that stand still are told as stale also while the clock lies behind the journal, and as fresh once they go on", () => {
  let monotonicMs = 5_000
  const standstill = new Standstill({ unsafeCurrentTimeNanos: () => BigInt(monotonicMs) * 1_000_000n })
  // All records are from the time after the clock was set back by an hour.
  const lagAt = (sequence: number, durableSequence: number, afterMs: number): readonly [string, number] => {
    monotonicMs = 5_000 + afterMs
    const reached = reachedAt(sequence)
    const standing = standingOf(reached, durableSequence, setAtEpochMs - 3_600_000 + afterMs, standstill.lookMs(reached, durableSequence))
    const { projectorLagMs, status } = freshness(standing)
    return [status, projectorLagMs]
  }
  expect(lagAt(1_000, 1_000, 0)).toEqual(["fresh", 0])
  expect(lagAt(1_000, 1_001, 60_000)).toEqual(["fresh", 0])
  expect(lagAt(1_000, 1_500, 90_000)).toEqual(["lagging", 30_000])
  expect(lagAt(1_000, 50_000, 1_260_000)).toEqual(["stale", 1_200_000])
  expect(lagAt(40_000, 50_000, 1_261_000)).toEqual(["fresh", 0])
  expect(lagAt(50_000, 50_000, 1_262_000)).toEqual(["fresh", 0])
  // With a correct clock the records' own times show a longer lag than has been observed.
  expect(standingOf(reachedAt(1), 2, setAtEpochMs + 40_000, 0).lagMs).toBe(40_000)
})

test("where nobody has said since when there are later records, only what was observed counts", () => {
  // The worker learns of a record with its next piece: until then the venue knows that it is behind, and not for how long.
  const unknown: Reached = { ...reachedAt(1_000), behindSinceEpochMs: undefined }
  const nowEpochMs = setAtEpochMs + 3_600_000
  expect([0, 250].map((stoodMs) => standingOf(unknown, 1_001, nowEpochMs, stoodMs).lagMs)).toEqual([0, 250])
  expect(standingOf(unknown, 1_000, nowEpochMs, 250).lagMs).toBe(0)
})

test("histories that are replaying never call themselves fresh: since when they lack a record shows only once they have read it", () => {
  const replaying: Reached = { ...reachedAt(1_000), behindSinceEpochMs: undefined, isReplaying: true }
  const told = (durableSequence: number) => freshness(standingOf(replaying, durableSequence, setAtEpochMs + 3_600_000, 0))
  expect(told(1_500)).toMatchObject({
    status: "lagging",
    degradedState: "projector_behind",
    projectorLagMs: 0,
    backfillStatus: "replaying"
  })
  expect(told(1_000)).toMatchObject({ status: "fresh", degradedState: "none", backfillStatus: "live" })
})
