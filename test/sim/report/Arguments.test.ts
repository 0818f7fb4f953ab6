import * as fs from "node:fs"
import * as path from "node:path"
import { expect, test } from "vitest"
import { type Arguments, parse, root, runOf, WrongUsage } from "../../../sim/report/Arguments.js"
import * as Scenarios from "../../../sim/scenarios/All.js"

const asked = (...words: ReadonlyArray<string>): Arguments => {
  const parsed = parse(words)
  if (typeof parsed === "string") throw new Error(`${words.join(" ")} asks for help`)
  return parsed
}

const names = Scenarios.scenarios.map(({ name }) => name)

test("the help names every scenario, and the manual does", () => {
  const help = parse(["--help"])
  const manual = fs.readFileSync(path.join(root, "sim/README.md"), "utf8")
  for (const name of names) {
    expect(help).toContain(`      ${name}\n`)
    expect(manual).toContain(`\`${name}\``)
  }
})

test.each<readonly [words: string, what: string]>([
  ["--seeds 0", "--seeds needs a whole number from 1"],
  ["--steps", "--steps needs a whole number from 1"],
  ["--seed 1,,2", "--seed needs numbers or commit hashes"],
  ["--profile storm", "--profile must be one of calm, swarm, crash, network, disk, ruin"],
  ["--scenario nope", "--scenario needs the name of one, all or none: --help tells them"],
  ["--scenario", "--scenario needs the name of one, all or none: --help tells them"],
  ["--replay x --scenario all", "--replay runs nothing beside FILE"],
  ["--replay x --seeds 2", "--replay runs nothing beside FILE"],
  ["--scenario all --twice", "--twice runs seeds: give some beside the scenarios"],
  ["--bugs", "--bugs needs a folder"],
  ["--foo", "unknown option --foo"]
])("%j is refused", (words, what) => {
  expect(() => parse(words.split(" "))).toThrowError(new WrongUsage(what))
})

test("seeds follow the first one, have calls of their own, and are fresh where none is given", () => {
  expect(asked("--seed", "7", "--seeds", "3").seeds).toEqual(["7", "8", "9"])
  expect(asked("--seed", "7a", "--seeds", "2").seeds).toEqual(["7a", "7a1"])
  const several = asked("--seed", "7:40,9", "--steps", "300")
  expect(several.seeds.map((seed) => runOf(several, seed))).toEqual([{ seed: "7", steps: 40 }, { seed: "9", steps: 300 }])
  expect(new Set(asked("--seeds", "3").seeds).size).toBe(3)
})

test("scenarios that are asked for are played, alone where no seed is given; else long runs have one each, unless none are wanted", () => {
  expect(asked("--scenario", "all")).toMatchObject({ seeds: [], scenarios: Scenarios.scenarios, isEachWithScenario: false })
  expect(asked("--scenario", "sold-by-a-friend", "--seed", "1")).toMatchObject({ seeds: ["1"], isEachWithScenario: false })
  expect(asked("--seed", "1")).toMatchObject({ scenarios: [], isEachWithScenario: true })
  expect(asked("--seed", "1", "--scenario", "none")).toMatchObject({ seeds: ["1"], scenarios: [], isEachWithScenario: false })
})

test("as many consecutive seeds as there are scenarios have each of them once; a commit has one, too", () => {
  expect(new Set(names.map((_, at) => Scenarios.besides(String(1_000 + at))))).toEqual(new Set(Scenarios.scenarios))
  expect(Scenarios.scenarios).toContain(Scenarios.besides("72548422c0"))
})
