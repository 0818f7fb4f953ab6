/** How scenarios are played. `npm test` plays all of them, beside the fixed seeds. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { flags } from "../../sim/report/Memory.js"
import * as Scenarios from "../../sim/scenarios/All.js"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..")
const names = Scenarios.scenarios.map(({ name }) => name)

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

  test("names every scenario in its help, and the manual does", () => {
    const { stdout } = sim("--help")
    const manual = fs.readFileSync(path.join(root, "sim/README.md"), "utf8")
    for (const name of names) {
      expect(stdout).toContain(name)
      expect(manual).toContain(`\`${name}\``)
    }
  })

  test("fails where one does not end as it must, nothing trades in it, or a kept mark is lost", () => {
    const report = Scenarios.play(Scenarios.named("sold-by-a-friend")![0]!, { unproven: true })
    expect(Scenarios.failureOf(report)).toBeUndefined()
    expect(Scenarios.failureOf({ ...report, fills: 0 })?.what).toBe("nothing trades in it")
    const failure = { kind: "safety", invariant: "", properties: ["one"], step: 1, what: "one is 1", atMs: 1, unproven: true } as const
    expect(Scenarios.failureOf({ ...report, failure })).toBe(failure)
    expect(sim("--scenario", "sold-by-a-friend", "--kept-marks").status).toBe(131)
    const refused = [["--replay", "x", "--scenario", "all"], ["--replay", "x", "--seeds", "2"], ["--scenario", "all", "--twice"]]
    expect(refused.map((words) => sim(...words).status)).toEqual([64, 64, 64])
  })

  test("plays the one that is named, and refuses a name that none has", () => {
    const played = sim("--scenario", "index-price-of-zero")
    expect([played.status, played.stdout.split(":")[0]]).toEqual([0, "scenario index-price-of-zero ok"])
    expect(sim("--scenario", "nothing").status).toBe(64)
  })

  test("plays each scenario behind one of as many consecutive seeds, where their runs are long", () => {
    expect(new Set(names.map((_, at) => Scenarios.besides(String(1_000 + at))))).toEqual(new Set(Scenarios.scenarios))
    expect(Scenarios.scenarios).toContain(Scenarios.besides("72548422c0"))
    const seed = String(names.indexOf("index-price-of-zero"))
    const behind = (...words: ReadonlyArray<string>): string | undefined => {
      const { stdout } = sim("--seed", seed, "--profile", "calm", "--steps", "250", "--quiet", ...words)
      return / ok: .*?(, then scenario .*)?$/m.exec(stdout)?.[1]
    }
    expect([behind(), behind("--scenario", "none")]).toEqual([", then scenario index-price-of-zero ok", undefined])
  })

  test("tells in one line what is no kept failure", () => {
    const other = sim("--replay", path.join(root, "fixtures/bugs/kept-sums-add-up-715.bundle"))
    expect([other.status, other.stderr, other.stdout.split("\n").length]).toEqual([64, "", 2])
    expect(other.stdout).toContain("is no kept failure: ")
  })
})
