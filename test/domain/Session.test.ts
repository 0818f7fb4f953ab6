/** How a session's state changes by itself, and when. */
import { expect, test } from "vitest"
import * as Session from "../../src/domain/Session.js"

const session = (state: Session.State, cutoff: number, closes: number): Session.Session => ({
  state,
  nextOpenEpochMs: 900,
  nextCloseEpochMs: closes,
  riskIncreasingOrderCutoffEpochMs: cutoff
})

const shut = session("closed", 0, 0)

test.each<readonly [Session.Session, number, Session.Session, number]>([
  [session("open", 90, 100), 89, session("open", 90, 100), 90],
  [session("open", 90, 100), 90, session("reduce_only", 90, 100), 90],
  [session("open", 90, 100), 100, shut, 90],
  [session("open", 100, 100), 99, session("open", 100, 100), 100],
  [session("open", 200, 100), 100, shut, 100],
  [session("reduce_only", 90, 100), 80, session("reduce_only", 90, 100), 100],
  [session("reduce_only", 90, 100), 100, shut, 100],
  [session("open", 0, 0), 1, shut, 0],
  [session("closed", 190, 200), 1_000, session("closed", 190, 200), Number.POSITIVE_INFINITY]
])("%j by %i is %j, and changes first at %i", (before, atEpochMs, after, end) => {
  expect(Session.heldTo(before, atEpochMs)).toEqual(after)
  expect(Session.isSame(before, Session.heldTo(before, atEpochMs))).toBe(end > atEpochMs)
  expect(Session.endOf(before)).toBe(end)
})
