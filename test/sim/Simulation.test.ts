/** Whole runs: clean under every profile, equal for equal seeds, different for different ones. */
import { describe, expect, test } from "vitest"
import * as Options from "../../sim/faults/Options.js"
import * as Simulation from "../../sim/Simulation.js"

const run = (seed: string, profile: Options.Profile, steps = 200): Simulation.Report => Simulation.run({ seed, profile, steps })

describe("a run", () => {
  for (const profile of Options.profiles) {
    test(`breaks no property under the profile ${profile}`, () => {
      const report = run("7", profile)
      expect(report.failure).toBe(undefined)
      expect(report.records).toBeGreaterThan(100)
      expect(report.fills).toBeGreaterThan(0)
    }, 60_000)
  }

  test("crashes its process often under the profile crash, and goes on", () => {
    const report = run("9", "crash", 400)
    expect(report.failure).toBe(undefined)
    expect(report.crashes).toBeGreaterThan(2)
  }, 60_000)

  test("sees the same again for the same seed, and something else for another", () => {
    const first = run("11", "swarm")
    expect(run("11", "swarm").digest).toBe(first.digest)
    expect(run("12", "swarm").digest).not.toBe(first.digest)
  }, 60_000)

  test("puts back what it took from the JavaScript world", () => {
    const before = [Date.now, Math.random, setTimeout]
    run("1", "calm", 20)
    expect([Date.now, Math.random, setTimeout]).toEqual(before)
    expect(Math.abs(Date.now() - new Date().getTime())).toBeLessThan(1_000)
  }, 60_000)
})
