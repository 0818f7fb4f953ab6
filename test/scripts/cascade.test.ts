/** A crash like that of 10 October 2025 on a small scale: every sum is exact, and no account is below zero. */
import { describe, expect, test } from "vitest"
import { fall } from "../../scripts/cascade/Fall.js"

describe("prices that fall by a fifth and more in a minute", () => {
  test.each([
    ["a fund that carries some of it", { seed: 1, fundUsdc: 5_000 }],
    ["a fund that has nothing", { seed: 2, fundUsdc: 0 }],
    ["a fund that carries most of it", { seed: 3, fundUsdc: 5_000_000 }]
  ])("with %s", (_, given) => {
    const report = fall({ accounts: 500, fallBps: [2_000, 4_000], ...given })
    expect(report.liquidated).toBeGreaterThan(100)
    expect(report.deleveraged).toBeGreaterThan(0)
    expect(report).toMatchObject({ missingAtoms: 0n, unbalancedSize: 0, brokenInvariant: undefined, leftUnder: 0 })
    expect(report.fundLowest).toBeGreaterThanOrEqual(0n)
    expect(report.lowestEquity).toBeGreaterThanOrEqual(0n)
    if (given.fundUsdc > 0) expect(report.takeovers).toBeGreaterThan(0)
  })
})
