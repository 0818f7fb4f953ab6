/** What the log says of new connections that come too fast. */
import { expect, test } from "vitest"
import * as ConnectionRateWatch from "../../src/edge/system/ConnectionRateWatch.js"

/** A watch whose checks come after so many seconds, with so many new connections. */
const watch = () => {
  let [nanos, accepted] = [5e9, 70_000]
  const look = ConnectionRateWatch.make(() => ({ open: 3, accepted, closedForRoom: 0, turnedAway: 0 }), () => nanos)
  return (seconds: number, came: number): ReadonlyArray<string> => {
    nanos += seconds * 1e9
    accepted += came
    return look().map(({ isWarning, text }) => `${isWarning} ${text}`)
  }
}

const warning = (came: number): string =>
  `true ${came} connections were opened within 10 s, and 3 are open: whoever wants to connect waits for these. `
  + "A firewall or a proxy has to limit them: see OPERATIONS, Floods of new connections"

test("a flood is told at its second check, and once a minute while it lasts", () => {
  const look = watch()
  expect(look(10, 1_000)).toEqual([])
  // All clients connect again after a restart.
  expect(look(10, 9_000)).toEqual([])
  expect(look(10, 1_000)).toEqual([])
  expect(look(10, 1_001)).toEqual([])
  expect(look(10, 1_001)).toEqual([warning(1_001)])
  for (let second = 10; second < 60; second += 10) expect(look(10, 4_000)).toEqual([])
  expect(look(10, 4_000)).toEqual([warning(4_000)])
})

test("a check that comes late takes what came for what it is a second", () => {
  const look = watch()
  expect(look(40, 4_000)).toEqual([])
  expect(look(20, 2_001)).toEqual([])
  expect(look(20, 2_001)).toHaveLength(1)
})
