/** How scenarios are played. `npm test` plays all of them, beside the fixed seeds. */
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { beforeAll, describe, expect, test } from "vitest"
import * as Scenarios from "../../sim/scenarios/All.js"
import { line, type Result, runAll } from "../cli/Tool.js"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..")

describe("a scenario", () => {
  test("is the same whenever it is played, and what it leaves on the disk is proven as a run's is", () => {
    const [scenario] = Scenarios.named("sold-by-a-friend")!
    const [one, other] = [Scenarios.play(scenario!), Scenarios.play(scenario!)]
    expect([one.failure, one.counts["Replayed"]]).toEqual([undefined, 3])
    expect(other.digest).toBe(one.digest)
  })

  test("that does not end as it must fails under its own name", () => {
    const [scenario] = Scenarios.named("sold-by-a-friend")!
    const { failure } = Scenarios.play({
      name: "told-wrongly",
      what: "",
      play: (stage) => {
        scenario!.play(stage)
        stage.is("one", 1, 2)
      }
    })
    expect(failure).toMatchObject({ kind: "safety", properties: ["told-wrongly"], what: "one is 1, must be 2" })
  })
})

describe("the command line", () => {
  // One process for all: loading the simulator takes longer than most of what they ask for.
  const seed = String(Scenarios.scenarios.findIndex(({ name }) => name === "index-price-of-zero"))
  const asked = {
    played: ["--scenario", "sold-by-a-friend", "--kept-marks"],
    behind: ["--seed", seed, "--profile", "calm", "--steps", "250", "--quiet"],
    other: ["--replay", path.join(root, "fixtures/bugs/kept-sums-add-up-715.bundle")]
  }
  let told: Record<keyof typeof asked, Result>
  beforeAll(async () => {
    const results = await runAll(Object.values(asked).map((words) => line("dist/sim/main.js", words)))
    told = Object.fromEntries(Object.keys(asked).map((name, at) => [name, results[at]!])) as typeof told
  })

  test("fails where one does not end as it must, nothing trades in it, or a kept mark is lost", () => {
    const report = Scenarios.play(Scenarios.named("sold-by-a-friend")![0]!, { unproven: true })
    expect(Scenarios.failureOf(report)).toBeUndefined()
    expect(Scenarios.failureOf({ ...report, fills: 0 })?.what).toBe("nothing trades in it")
    const failure = { kind: "safety", invariant: "", properties: ["one"], step: 1, what: "one is 1", atMs: 1, unproven: true } as const
    expect(Scenarios.failureOf({ ...report, failure })).toBe(failure)
    const { played } = told
    expect([played.code, played.stdout.split(":")[0]]).toEqual([131, "scenario sold-by-a-friend ok"])
  })

  test("plays one behind a long run", () => {
    const { code, stdout } = told.behind
    expect([code, stdout]).toEqual([0, expect.stringMatching(/ ok: .*, then scenario index-price-of-zero ok$/m)])
  })

  test("tells in one line what is no kept failure", () => {
    const { other } = told
    expect([other.code, other.stderr, other.stdout.split("\n").length]).toEqual([64, "", 2])
    expect(other.stdout).toContain("is no kept failure: ")
  })
})
