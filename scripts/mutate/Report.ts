/** The results: a score for each file and folder, and the survivors with their source lines. */
import * as fs from "node:fs"
import * as path from "node:path"
import Table from "cli-table3"
import { isOfNode } from "../check/Bans.js"
import type { Site } from "./Sites.js"
import type { Verdict } from "./State.js"
import { scenarioOf } from "./Task.js"

/** A mutant and its verdicts. */
export interface Judged {
  readonly site: Site
  readonly isEquivalent: boolean
  readonly seeds: Verdict | undefined
  /** Undefined where the unit tests were not run. */
  readonly tests: Verdict | undefined
}

type Fate = "killed by seeds" | "killed by scenarios" | "killed by tests" | "survived" | "not reached" | "equivalent" | "not judged"

const isKill = (verdict: Verdict | undefined): verdict is Extract<Verdict, { outcome: "killed" | "ended" }> =>
  verdict?.outcome === "killed" || verdict?.outcome === "ended"

const fateOf = ({ isEquivalent, seeds, tests }: Judged): Fate => {
  if (isEquivalent) return "equivalent"
  if (seeds === undefined) return "not judged"
  if (isKill(seeds)) return scenarioOf(seeds.at) === undefined ? "killed by seeds" : "killed by scenarios"
  if (isKill(tests)) return "killed by tests"
  return seeds.outcome === "unreached" ? "not reached" : "survived"
}

export interface Score {
  readonly name: string
  /** All chosen mutants. */
  readonly mutants: number
  readonly equivalent: number
  /** Judged mutants that are not equivalent. */
  readonly counted: number
  readonly killedBySeeds: number
  /** Killed by a scenario, and by no seed. */
  readonly killedByScenarios: number
  readonly killedByTests: number
  readonly notReached: number
  readonly survived: number
  /** Percentage killed of those that are not equivalent, estimated from those judged; undefined where there are none. */
  readonly bySeeds: number | undefined
  /** By seeds and scenarios. */
  readonly bySimulator: number | undefined
  readonly byAll: number | undefined
}

/**
 * Percentage of killed mutants, in tenths; undefined where nothing is known. Mutants that no seed reaches are known at once, the others one
 * after another: while some are open, those judged represent them, so that an interrupted run gives an unbiased estimate of a complete
 * run's score.
 */
const percent = (judged: ReadonlyArray<Judged>, isKilled: (fate: Fate) => boolean): number | undefined => {
  const counted = judged.filter(({ isEquivalent }) => !isEquivalent)
  const unreached = counted.filter(({ seeds }) => seeds?.outcome === "unreached")
  const known = counted.filter(({ seeds }) => seeds !== undefined && seeds.outcome !== "unreached")
  const kills = (of: ReadonlyArray<Judged>): number => of.filter((each) => isKilled(fateOf(each))).length
  const reached = counted.length - unreached.length
  if (counted.length === 0 || (known.length === 0 && reached > 0)) return undefined
  const killed = kills(unreached) + (reached === 0 ? 0 : reached * kills(known) / known.length)
  return Math.round(1000 * killed / counted.length) / 10
}

export const scoreOf = (name: string, judged: ReadonlyArray<Judged>): Score => {
  const fates = judged.map(fateOf)
  const count = (fate: Fate): number => fates.filter((each) => each === fate).length
  const killedBySeeds = count("killed by seeds")
  const killedByScenarios = count("killed by scenarios")
  const killedByTests = count("killed by tests")
  const counted = judged.length - count("equivalent") - count("not judged")
  return {
    name,
    mutants: judged.length,
    equivalent: count("equivalent"),
    counted,
    killedBySeeds,
    killedByScenarios,
    killedByTests,
    notReached: count("not reached"),
    survived: count("survived"),
    bySeeds: percent(judged, (fate) => fate === "killed by seeds"),
    bySimulator: percent(judged, (fate) => fate === "killed by seeds" || fate === "killed by scenarios"),
    byAll: percent(judged, (fate) => fate.startsWith("killed"))
  }
}

/** `src/engine/Book.ts` is of `src/engine`. */
const folderOf = (file: string): string => file.split("/").slice(0, 2).join("/")

/** A folder without the modules that touch the machine: the simulator has its own in their place, so no run can reach them. */
const simulatedIn = (file: string): string => `${folderOf(file)}, simulated`

const grouped = (judged: ReadonlyArray<Judged>, by: (path: string) => string): ReadonlyArray<Score> => {
  const groups = new Map<string, Array<Judged>>()
  for (const each of judged) {
    const name = by(each.site.path)
    const group = groups.get(name)
    if (group === undefined) groups.set(name, [each])
    else group.push(each)
  }
  return [...groups].map(([name, group]) => scoreOf(name, group)).sort((a, b) => (a.name < b.name ? -1 : 1))
}

export interface Summary {
  readonly files: ReadonlyArray<Score>
  readonly folders: ReadonlyArray<Score>
  /** Folders without what the simulator replaces by its own, for those that have such files. */
  readonly simulated: ReadonlyArray<Score>
  readonly all: Score
}

const simulatedOf = (judged: ReadonlyArray<Judged>): ReadonlyArray<Score> => {
  const mixed = new Set(judged.filter(({ site }) => isOfNode(site.path)).map(({ site }) => folderOf(site.path)))
  return grouped(judged.filter(({ site }) => mixed.has(folderOf(site.path)) && !isOfNode(site.path)), simulatedIn)
}

export const summarize = (judged: ReadonlyArray<Judged>): Summary => ({
  files: grouped(judged, (file) => file),
  folders: grouped(judged, folderOf),
  simulated: simulatedOf(judged),
  all: scoreOf("all", judged)
})

const shown = (score: number | undefined): string => score === undefined ? "-" : `${score.toFixed(1)} %`

const survivorsOf = (judged: ReadonlyArray<Judged>): ReadonlyArray<Judged> =>
  judged.filter((each) => ["survived", "not reached"].includes(fateOf(each)))

/** How a survivor differed: if nothing can be observed, it is equivalent, or no run gets there. */
const manner = ({ seeds }: Judged): string => {
  if (seeds?.outcome !== "survived") return "not reached"
  return seeds.seen ? "runs differ, no property minds" : "all runs are the same"
}

const row = (
  { bySeeds, bySimulator, byAll, counted, equivalent, killedByScenarios, killedBySeeds, killedByTests, name, notReached, survived }: Score,
  tests: boolean
) => [
  name,
  counted,
  killedBySeeds,
  killedByScenarios,
  ...(tests ? [killedByTests] : []),
  survived,
  notReached,
  equivalent,
  shown(bySeeds),
  shown(bySimulator),
  ...(tests ? [shown(byAll)] : [])
]

const table = (title: string, scores: ReadonlyArray<Score>, tests: boolean): string => {
  const head = [
    title,
    "mutants",
    "killed by seeds",
    "by scenarios",
    ...(tests ? ["by tests"] : []),
    "survived",
    "not reached",
    "equivalent",
    "score by seeds",
    "with scenarios",
    ...(tests ? ["with tests"] : [])
  ]
  const made = new Table({
    head,
    style: { head: [], border: [], compact: true },
    colAligns: ["left", ...head.slice(1).map(() => "right" as const)]
  })
  made.push(...scores.map((score) => row(score, tests)))
  return made.toString()
}

/** Everything as text: survivors by file, then the tables. */
export const text = (judged: ReadonlyArray<Judged>, tests: boolean): string => {
  const { all, files, folders, simulated } = summarize(judged)
  const lines = survivorsOf(judged).flatMap((each) => {
    const { column, line, mutant: { becomes, operator, was }, path: file, source } = each.site
    const change = operator === "statement" ? `dropped: ${was}` : `${was}  ->  ${becomes}`
    return [`${file}:${line}:${column} ${operator}, ${manner(each)}`, `    ${source}`, `    ${change}`]
  })
  const open = judged.length - all.counted - all.equivalent
  const untested = survivorsOf(judged).filter((each) => each.tests === undefined).length
  return [
    ...lines,
    table("file", files, tests),
    table("folder", [...folders, ...simulated, ...(folders.length > 1 ? [all] : [])], tests),
    ...(open > 0 ? [`${open} of ${judged.length} mutants were not judged in the time: the scores are estimates from the others`] : []),
    ...(tests && untested > 0
      ? [`${untested} survivors of the seeds were not run against unit tests in the time: they count as survivors`]
      : [])
  ].join("\n")
}

/** Everything as JSON, for other programs and for `--survivors`. */
export const write = (file: string, judged: ReadonlyArray<Judged>, terms: unknown): void => {
  const survivors = survivorsOf(judged).map(({ seeds, site, tests }) => {
    const { column, key, line, mutant: { becomes, operator, was }, path: source, source: text } = site
    return { key, path: source, line, column, source: text, operator, was, becomes, seeds, tests }
  })
  fs.mkdirSync(path.dirname(path.resolve(file)), { recursive: true })
  fs.writeFileSync(file, `${JSON.stringify({ terms, ...summarize(judged), survivors }, null, 2)}\n`)
}
