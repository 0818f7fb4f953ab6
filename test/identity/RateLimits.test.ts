/** The windows of rate limits: what a subject may do within one, and what happens when more subjects come than the table has windows. */
import { describe, expect, test } from "vitest"
import * as RateLimits from "../../src/identity/RateLimits.js"
import { few } from "../Depth.js"

const minuteMs = 60_000
const start = 1_700_000_000_123

/** For each request of one subject, at these milliseconds after the start, whether it is allowed. */
const taken = (limit: number, moments: ReadonlyArray<number>, beyond = 0): ReadonlyArray<boolean> => {
  const windows = new RateLimits.Windows(limit, minuteMs)
  return moments.map((moment) => windows.take(7, start + moment, beyond))
}

test.each<readonly [string, number, ReadonlyArray<number>, ReadonlyArray<boolean>]>([
  ["as many as the limit, and none more", 3, [0, 1, 2, 3], [true, true, true, false]],
  ["none more until the last millisecond of the window", 1, [0, minuteMs - 1], [true, false]],
  ["again from the moment at which it ends", 1, [0, minuteMs], [true, true]],
  ["the window begins with the first request", 2, [30_000, 89_999, 89_999, 90_000], [true, true, false, true]],
  ["it does not roll: what was done late in one counts in no other", 2, [0, 59_999, 60_000, 60_001, 60_002], [true, true, true, true,
    false]],
  ["refused requests move nothing", 1, [0, 59_000, 60_000], [true, false, true]],
  ["after a pause a window begins anew", 1, [0, 10 * minuteMs, 10 * minuteMs + 1], [true, true, false]],
  ["a clock that is set back gives nothing back", 2, [0, 1, -3_600_000, -3_600_000 + minuteMs - 1, -3_600_000 + minuteMs], [true, true,
    false, false, true]],
  ["a limit of none lets nobody in", 0, [0, minuteMs], [false, false]]
])("%s", (_, limit, moments, expected) => {
  expect(taken(limit, moments)).toEqual(expected)
})

test("what is set aside is used behind the limit, once in a window", () => {
  expect(taken(2, [0, 1, 2, 3, 4, minuteMs], 2)).toEqual([true, true, true, true, false, true])
  const windows = new RateLimits.Windows(2, minuteMs)
  // In between, requests that may not use the reserve are refused.
  expect([0, 0, 0, 2, 0, 2, 2].map((beyond) => windows.take("k", start, beyond))).toEqual([true, true, false, true, false, true, false])
})

test("it tells what is left and when the window ends, without counting when it is only looked at", () => {
  const windows = new RateLimits.Windows(2, minuteMs)
  expect(windows.view(1, start)).toEqual({ limit: 2, remaining: 2, resetsAtEpochMs: start + minuteMs })
  windows.take(1, start)
  expect([windows.remaining, windows.resetsAtEpochMs]).toEqual([1, start + minuteMs])
  windows.take(1, start + 5)
  expect([windows.remaining, windows.resetsAtEpochMs]).toEqual([0, start + minuteMs])
  windows.take(1, start + 6)
  expect([windows.remaining, windows.refused]).toEqual([0, 1])
  expect(windows.view(1, start + 7)).toEqual({ limit: 2, remaining: 0, resetsAtEpochMs: start + minuteMs })
  expect(windows.view(1, start + minuteMs)).toEqual({ limit: 2, remaining: 2, resetsAtEpochMs: start + 2 * minuteMs })
  windows.take(2, start + 8)
  expect([windows.remaining, windows.kept]).toEqual([1, 2])
})

test.each([[start + minuteMs, 60], [start + 1, 1], [start + 1_000, 1], [start + 1_001, 2], [start, 0], [start - 1, 0], [
  start + 2 * minuteMs,
  60
]])(
  "a window that ends at %d ends in %d seconds",
  (resetsAtEpochMs, seconds) => {
    expect(RateLimits.secondsUntil(resetsAtEpochMs, start)).toBe(seconds)
  }
)

describe("a table that is full", () => {
  test("of windows that run lets newcomers share one, with the limit of one", () => {
    const windows = new RateLimits.Windows(3, minuteMs, 2, 1)
    for (const subject of ["a", "b"]) windows.take(subject, start)
    const newcomers = ["c", "d", "c", "e"].map((subject) => windows.take(subject, start))
    expect(newcomers).toEqual([true, true, true, false])
    expect([windows.kept, windows.shared, windows.refused]).toEqual([2, 4, 1])
    // Subjects with a window of their own are not affected.
    expect([windows.take("a", start), windows.take("a", start), windows.take("a", start)]).toEqual([true, true, false])
  })

  test("takes what is over off for whoever comes then", () => {
    const windows = new RateLimits.Windows(1, minuteMs, 2, 1)
    for (const subject of ["a", "b"]) windows.take(subject, start)
    expect(windows.take("c", start + minuteMs)).toBe(true)
    expect([windows.kept, windows.shared]).toEqual([1, 0])
  })

  test("forgets nobody whose window runs, though it began anew since", () => {
    const windows = new RateLimits.Windows(1, minuteMs, 2, 1)
    windows.take("a", start)
    windows.take("b", start + 1)
    windows.take("a", start + minuteMs)
    // Of the two only b's window has ended.
    expect(windows.take("c", start + minuteMs + 1)).toBe(true)
    expect(windows.take("a", start + minuteMs + 2)).toBe(false)
    expect(windows.kept).toBe(2)
  })

  test("lets nobody have the limit twice who gets a window of its own within one", () => {
    const windows = new RateLimits.Windows(2, minuteMs, 1, 1)
    windows.take("a", start)
    expect([windows.take("b", start + 59_000), windows.take("b", start + 59_500)]).toEqual([true, true])
    // a's window has ended and b gets its place; b's earlier requests still count.
    expect([windows.take("b", start + minuteMs), windows.kept]).toEqual([false, 1])
    expect(windows.take("b", start + 59_000 + minuteMs)).toBe(true)
  })

  test("of a crowd of addresses keeps to its size, and lets none in more often than its limit", () => {
    const windows = new RateLimits.Windows(2, minuteMs)
    const admitted = new Map<string, number>()
    const crowd = few(200_000, 1_000_000)
    for (let index = 0; index < crowd; index++) {
      const subject = `2001:db8:${(index >>> 8).toString(16)}:${(index & 255).toString(16)}::/64`
      if (windows.take(subject, start + (index >>> 5))) admitted.set(subject, (admitted.get(subject) ?? 0) + 1)
    }
    expect(windows.kept).toBe(65_536)
    // Every subject came once: in a window of its own, or in the shared one.
    expect([...admitted.values()].every((count) => count === 1)).toBe(true)
    expect(windows.shared).toBe(crowd - 65_536)
    expect(windows.refused).toBe(crowd - admitted.size)
    expect(admitted.size).toBeLessThanOrEqual(65_536 + 1_024 * 2)
    // After the crowd the table empties as others come.
    for (let index = 0; index < 40_000; index++) expect(windows.take(index, start + 10 * minuteMs)).toBe(true)
    expect(windows.kept).toBe(40_000)
  })
})

describe("a network of many addresses", () => {
  const address = (network: number, at: number): string => `2001:db8:${network}:${at.toString(16)}::/64`

  test("has so many windows of its own, and one for all others, so that newcomers from elsewhere find theirs", () => {
    const windows = new RateLimits.Windows(2, minuteMs)
    const admitted = Array.from({ length: 65_536 }, (_, at) => windows.take(address(1, at), start))
    expect(admitted.filter(Boolean)).toHaveLength(1_024 + 2)
    expect([windows.kept, windows.shared]).toEqual([1_025, 0])
    expect(Array.from({ length: 5_000 }, (_, at) => windows.take(`192.0.2.${at}`, start)).every(Boolean)).toBe(true)
    expect(windows.take(address(2, 1), start)).toBe(true)
    expect([windows.view(address(1, 2_000), start).remaining, windows.isUsedUp(address(1, 2_000), start)]).toEqual([0, true])
  })

  test("shares one window with nobody else's addresses more where all windows run", () => {
    const windows = new RateLimits.Windows(1, minuteMs, 64, 1_024)
    for (let at = 0; at < 64; at++) windows.take(at, start)
    const crowd = Array.from({ length: 65_536 }, (_, at) => windows.take(address(1, at), start))
    expect(crowd.filter(Boolean)).toHaveLength(1)
    const newcomers = Array.from({ length: 500 }, (_, at) => windows.take(`192.0.2.${at}`, start))
    expect(newcomers.filter(Boolean).length).toBeGreaterThan(350)
  })

  test("gives none of its addresses the limit twice, with the others and then by itself", () => {
    const windows = new RateLimits.Windows(2, minuteMs, 64, 1)
    windows.take(address(1, 1), start)
    expect([0, 1, 2].map(() => windows.take(address(1, 2), start + 30_000))).toEqual([true, true, false])
    // The first one's window has ended: the second gets one of its own, which includes its requests in the shared one.
    expect(windows.take("x", start + minuteMs)).toBe(true)
    expect(windows.take(address(1, 2), start + minuteMs)).toBe(false)
    expect(windows.take(address(1, 2), start + 30_000 + minuteMs)).toBe(true)
  })

  test("gives none of its addresses its cancels beyond the limit twice either", () => {
    const windows = new RateLimits.Windows(1, minuteMs, 64, 1)
    windows.take(address(1, 1), start)
    expect([0, 1, 1].map((beyond) => windows.take(address(1, 2), start + 30_000, beyond))).toEqual([true, true, false])
    expect(windows.take("x", start + minuteMs)).toBe(true)
    expect(windows.take(address(1, 2), start + minuteMs, 1)).toBe(false)
  })
})

test("the classes are limited as they are set, owners' sessions as keys are", () => {
  const limits = RateLimits.make({ perKey: 4, perAddress: 3, signInsPerAddress: 2, windowMs: minuteMs }, "development")
  expect(RateLimits.classes.map((name) => limits[name].cancelsBeyond)).toEqual([4, 4, 0, 0, 0, 0, 0, 0])
  expect(RateLimits.classes.map((name) => [name, limits[name].limit])).toEqual([["key", 4], ["session", 4], ["public", 3], ["sign_in", 2], [
    "ticket",
    4
  ], ["metrics", 120], ["stream", 3], ["cross_site", 1]])
  expect(RateLimits.defaults).toEqual({ perKey: 600, perAddress: 1_200, signInsPerAddress: 30, windowMs: minuteMs })
})

test.each<readonly [string, number, ReadonlyArray<readonly [string, number]>]>([
  ["a /48 of IPv6, whatever its addresses, opens a sixteenth of an hour's accounts", 1_000, [["2001:db8:7:0::/64", 32], [
    "2001:db8:7:1::/64",
    31
  ], ["2001:db8:8:0::/64", 63]]],
  ["an address of IPv4 likewise", 1_000, [["192.0.2.1", 63], ["192.0.2.2", 63]]],
  ["where an hour has few, a network opens 16 of them", 100, [["192.0.2.1", 16], ["192.0.2.2", 16]]],
  ["or all of even fewer", 2, [["192.0.2.1", 2], ["192.0.2.2", 0]]],
  ["sixteen networks together open them all", 256, [
    ...Array.from({ length: 16 }, (_, index) => [`192.0.2.${index}`, 16] as const),
    ["198.51.100.1", 0]
  ]]
])("%s", (_, openingsPerHour, expected) => {
  const openings = new RateLimits.Openings({ openingsPerHour }, "production")
  const opened = expected.map(([address]) => {
    let count = 0
    // The first of the addresses of a network leaves some to the next.
    while (count < (address === "2001:db8:7:0::/64" ? 32 : 1_000) && openings.take(address, start)) count++
    return [address, count]
  })
  expect(opened).toEqual(expected)
})

test("where venues are tried out, one place opens them all", () => {
  for (const environment of ["development", "testnet"] as const) {
    const openings = new RateLimits.Openings({ openingsPerHour: 100 }, environment)
    let count = 0
    while (openings.take("192.0.2.1", start)) count++
    expect(count).toBe(100)
  }
})

test("the openings of a network are full again after an hour, and it is told how long it waits", () => {
  const openings = new RateLimits.Openings({ openingsPerHour: 1_000 }, "staging")
  expect(openings.secondsLeft("192.0.2.1", start)).toBe(0)
  while (openings.take("192.0.2.1", start));
  expect([openings.secondsLeft("192.0.2.1", start + 1), openings.secondsLeft("192.0.2.2", start + 1)]).toEqual([60, 0])
  expect(openings.secondsLeft("192.0.2.1", start + 60 * minuteMs - 500)).toBe(1)
  expect(openings.take("192.0.2.1", start + 60 * minuteMs)).toBe(true)
})

test.each([
  ["production", 600, 600],
  ["production", 3_000, 3_000],
  ["production", 3_001, 2_999],
  ["staging", 5_999, 1],
  ["staging", 6_000, 0],
  ["production", 7_000, 0],
  ["testnet", 6_000, 6_000],
  ["development", 100_000, 100_000]
] as const)("in %s a key with a limit of %d has %d cancels beyond it", (environment, perKey, expected) => {
  expect(RateLimits.cancelsBeyond(perKey, environment)).toBe(expected)
})
