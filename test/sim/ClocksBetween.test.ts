/** What a client may conclude from a process's clock between its question and the answer. */
import { expect, test } from "vitest"
import { between } from "../../sim/run/Clients.js"
import * as SimClock from "../../sim/world/SimClock.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import * as SimTime from "../../sim/world/SimTime.js"

test("a clock that was set and set right again between two moments tells nothing of them, though it reads as if it had run true", () => {
  const time = SimTime.make(1_000, SimRandom.make("1"))
  const clock = SimClock.make(time, (task) => task())
  const moment = () => ({ trueMs: time.nowEpochMs(), clock, clockMs: clock.seen() })
  const pass = (millis: number): void => {
    time.after(millis, () => {})
    time.advance()
  }
  const asked = moment()
  pass(100)
  const untouched = moment()
  expect(between(asked, untouched)).toEqual([asked.clockMs, untouched.clockMs])
  clock.jump(77_000_000)
  pass(100)
  clock.jump(-77_000_000)
  const answered = moment()
  expect(answered.clockMs).toBe(asked.clockMs + 200)
  expect(between(asked, answered)).toBeUndefined()
  expect(between(moment(), { ...moment(), clock: SimClock.make(time, (task) => task()) })).toBeUndefined()
})
