/** How scenarios are played. `npm test` plays all of them, beside the fixed seeds. */
import { spawnSync } from "node:child_process"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { flags } from "../../sim/report/Memory.js"
import * as Scenarios from "../../sim/scenarios/All.js"

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
  const sim = (...words: ReadonlyArray<string>) =>
    spawnSync(process.execPath, [...flags, path.join(root, "dist/sim/main.js"), ...words], { encoding: "utf8" })

  test("fails where one does not end as it must, nothing trades in it, or a kept mark is lost", () => {
    const report = Scenarios.play(Scenarios.named("sold-by-a-friend")![0]!, { unproven: true })
    expect(Scenarios.failureOf(report)).toBeUndefined()
    expect(Scenarios.failureOf({ ...report, fills: 0 })?.what).toBe("nothing trades in it")
    const failure = { kind: "safety", invariant: "", properties: ["one"], step: 1, what: "one is 1", atMs: 1, unproven: true } as const
    expect(Scenarios.failureOf({ ...report, failure })).toBe(failure)
    const played = sim("--scenario", "sold-by-a-friend", "--kept-marks")
    expect([played.status, played.stdout.split(":")[0]]).toEqual([131, "scenario sold-by-a-friend ok"])
  })

  test("plays one behind a long run", () => {
    const seed = String(Scenarios.scenarios.findIndex(({ name }) => name === "index-price-of-zero"))
    const { status, stdout } = sim("--seed", seed, "--profile", "calm", "--steps", "250", "--quiet")
    expect([status, stdout]).toEqual([0, expect.stringMatching(/ ok: .*, then scenario index-price-of-zero ok$/m)])
  })

  test("tells in one line what is no kept failure", () => {
    const other = sim("--replay", path.join(root, "fixtures/bugs/kept-sums-add-up-715.bundle"))
    expect([other.status, other.stderr, other.stdout.split("\n").length]).toEqual([64, "", 2])
    expect(other.stdout).toContain("is no kept failure: ")
  })
})
