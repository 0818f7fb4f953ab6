/** A recorded script replays its run, and the shrinker keeps only what a failure needs. */
import { describe, expect, test } from "vitest"
import type { Profile } from "../../sim/faults/Options.js"
import { isCall, type Script, type Step } from "../../sim/run/Script.js"
import * as Shrink from "../../sim/shrink/Shrink.js"
import * as Simplify from "../../sim/shrink/Simplify.js"
import * as Simulation from "../../sim/Simulation.js"
import { oftenCrashing } from "./Crashing.js"

const record = (seed: string, profile: Profile, steps: number): Simulation.Report & { readonly script: Script } => {
  const report = Simulation.run({ seed, profile, steps, record: true, unproven: true })
  if (report.script === undefined) throw new Error("the run was not recorded")
  return { ...report, script: report.script }
}

/** A made-up failure, for judges that examine reports. */
const failure = (what: string, property = "made-up"): Simulation.Failure => ({
  kind: "safety",
  properties: [property],
  invariant: "I0",
  what,
  step: 1,
  atMs: Number.POSITIVE_INFINITY,
  unproven: true
})

describe("a recorded run", () => {
  const { options, script } = record("10", "calm", 40)

  test("holds no id or key of its own run: only symbols", () => {
    const text = JSON.stringify(script)
    expect(text).toContain("{account ")
    expect(text).toContain("{key ")
    expect(text).toMatch(/\{order [0-9]+\/trader-[0-9]+-k[0-9]+#[0-9]+\}/)
    // `acc_0` belongs to nobody: clients use it on purpose.
    expect(text).not.toMatch(/acc_[0-9a-z]{2}/)
  })

  test("goes on without any of its steps", () => {
    for (const left of [0, 1, 2, 3]) {
      const steps = script.steps.filter((_, index) => index % 4 !== left)
      // What such a run leaves behind is proven of one of them.
      const report = Simulation.run({ seed: "10", profile: "calm", steps: 40, options, script: { ...script, steps }, unproven: left > 0 })
      expect(report.failure).toBe(undefined)
      expect(report.records).toBeGreaterThan(20)
    }
  })
})

describe("the shrinker", () => {
  test("leaves the few steps without which nothing trades across a crash", () => {
    // Without owners, tickets and streams each of the runs has less to do, and what trades across a crash is the same.
    const { bounds, clock, disk, network, process, workload } = oftenCrashing("2")
    const options = { bounds: bounds!, clock, disk, network, process, workload }
    const recorded = Simulation.run({ seed: "2", profile: "crash", steps: 26, options, record: true, unproven: true })
    const script = recorded.script!
    expect([recorded.fills > 0, recorded.crashes > 0]).toEqual([true, true])
    expect(script.steps.length).toBeGreaterThan(10)
    // A candidate's run is the same each time, as shown above, so it is run only once.
    const known = new Map<string, Simulation.Failure | undefined>()
    let asked = 0
    const run = (subject: Shrink.Subject): Simulation.Failure | undefined => {
      asked++
      const candidate = JSON.stringify(subject)
      if (!known.has(candidate)) {
        const report = Simulation.run({ seed: "2", profile: "crash", steps: 26, ...subject, unproven: true })
        known.set(candidate, report.failure ?? (report.fills > 0 && report.crashes > 0 ? failure("it traded and crashed") : undefined))
      }
      return known.get(candidate)
    }
    const shrink = () => Shrink.shrink({ script, options }, failure("it traded and crashed"), { run, maxRuns: 12 })
    const result = shrink()
    expect(result?.stepsBefore).toBe(script.steps.length)
    expect(result?.stepsAfter).toBeLessThanOrEqual(5)
    expect(result?.subject.script.steps.filter((step) => !isCall(step)).length).toBe(1)
    expect(result?.failure.what).toBe("it traded and crashed")
    expect(asked).toBe(result?.runs)
    // Shrinking is deterministic.
    expect(shrink()?.subject).toEqual(result?.subject)
  })

  const stepOf = (index: number): Step => ({ do: "jump", atMs: index, byMs: index })
  const many = (count: number): Script => ({ steps: Array.from({ length: count }, (_, index) => stepOf(index)), endMs: count })
  const { options } = { options: Simulation.optionsOf({ seed: "1", profile: "calm" }) }
  const has = (script: Script, ...wanted: ReadonlyArray<number>): boolean =>
    wanted.every((byMs) => script.steps.some((step) => step.do === "jump" && step.byMs === byMs))

  test("finds any few of many, wherever they are", () => {
    for (const wanted of [[0], [999], [3, 500], [1, 2, 700, 998]]) {
      const run = ({ script }: Shrink.Subject) => (has(script, ...wanted) ? failure("all are there") : undefined)
      const result = Shrink.shrink({ script: many(1_000), options }, failure("all are there"), { run, maxRuns: 2_000 })
      expect(result?.subject.script.steps.map((step) => (step.do === "jump" ? step.byMs : -1))).toEqual(wanted)
      expect(result?.minimal).toBe(true)
    }
  })

  test("keeps to its property: a candidate that breaks another is no candidate", () => {
    const run = ({ script }: Shrink.Subject) =>
      script.steps.length < 8 ? failure("another", "another-claim") : has(script, 17) ? failure("seventeen") : undefined
    const result = Shrink.shrink({ script: many(64), options }, failure("seventeen"), { run, maxRuns: 1_000 })
    expect(result?.stepsAfter).toBe(8)
    expect(result?.failure.properties).toEqual(["made-up"])
  })

  test("ends with its budget and says so", () => {
    let runs = 0
    const run = ({ script }: Shrink.Subject) => {
      runs++
      return has(script, 3, 500) ? failure("both") : undefined
    }
    const result = Shrink.shrink({ script: many(1_000), options }, failure("both"), { run, maxRuns: 9 })
    expect(runs).toBe(9)
    expect(result?.minimal).toBe(false)
    expect(has(result!.subject.script, 3, 500)).toBe(true)
    const late = Shrink.shrink({ script: many(10), options }, failure("both"), {
      run: () => failure("both"),
      maxRuns: 9,
      isOver: () => true
    })
    expect(late).toBe(undefined)
  })

  test("says nothing of a script that does not fail", () => {
    expect(Shrink.shrink({ script: many(10), options }, failure("never"), { run: () => undefined, maxRuns: 9 })).toBe(undefined)
  })
})

describe("simpler bodies", () => {
  const tables: ReadonlyArray<readonly [string, unknown, ReadonlyArray<unknown>]> = [
    ["a text quantity is halved on its grid", { quantity: "0.050" }, [{ quantity: "0.025" }]],
    ["an odd one is rounded down", { quantity: "5" }, [{ quantity: "2" }]],
    ["one atom stays", { quantity: "0.001" }, []],
    ["a number is halved", { amount: 7 }, [{ amount: 3 }]],
    ["what an order can do without goes", { postOnly: true, price: "1" }, [{ price: "1" }]],
    ["a pair loses either", [{ a: 1 }, { b: 2 }], [[{ b: 2 }], [{ a: 1 }]]],
    ["a native batch too", { orders: [1, 2] }, [{ orders: [2] }, { orders: [1] }]],
    ["four become halves first", [1, 2, 3, 4], [[1, 2], [3, 4], [2, 3, 4], [1, 3, 4], [1, 2, 4], [1, 2, 3]]]
  ]
  for (const [name, body, expected] of tables) {
    test(name, () => {
      expect(Simplify.bodies(JSON.stringify(body)).map((each) => JSON.parse(each) as unknown)).toEqual(expected)
    })
  }

  test("what is no JSON has none", () => {
    for (const text of ["", "{", "null", "5"]) expect(Simplify.bodies(text)).toEqual([])
  })
})
