/** The command line of `npm run mutate`. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import * as Options from "../../sim/faults/Options.js"
import * as Scenarios from "../../sim/scenarios/All.js"
import type { Sample, Wanted } from "./Selection.js"
import { folders } from "./Sites.js"

export class Usage extends Error {
  override readonly name = "Usage"
}

export const usage = `usage: npm run mutate -- [options]
  --only PATH,PATH    folders or files of the source (default ${folders.join(",")})
  --changed [REV]     only lines that differ from the revision (default HEAD^), uncommitted ones as well
  --survivors FILE    only what survived in a report that --json wrote
  --sample N | N%     at most N mutants of each file, or that share of all, drawn by --draw
  --draw TEXT         what the sample and the order are drawn from (default 1)
  --seeds N           simulator seeds: those of sim/seeds.json, then from 1 (default 36)
  --seed SEED,SEED    these instead; SEED:N has calls of its own number
  --scenarios NAME,.. scenarios that judge what the seeds leave, all of them, or none (default all)
  --steps N           calls that clients begin in each that has no number of its own (default 400)
  --profile NAME      ${Options.profiles.join(" | ")} (default swarm)
  --tests             survivors of the seeds are run against their folder's unit tests
  --jobs N            processes at once (default: one less than there are processors)
  --minutes N         ends after so long; what was found is kept (default: no limit)
  --state FILE        where verdicts are kept, and gone on from (default data/mutate.jsonl)
  --json FILE         writes scores and survivors
  --bar N             ends with 1 where the score is below N percent`

export interface Settings extends Wanted {
  readonly paths: ReadonlyArray<string>
  readonly seeds: ReadonlyArray<string>
  /** Names of scenarios. */
  readonly scenarios: ReadonlyArray<string>
  readonly steps: number
  readonly profile: Options.Profile
  readonly tests: boolean
  readonly jobs: number
  readonly minutes: number | undefined
  readonly state: string
  readonly json: string | undefined
  readonly bar: number | undefined
}

const kept = JSON.parse(fs.readFileSync(new URL("../../../sim/seeds.json", import.meta.url), "utf8")) as ReadonlyArray<string>

/** The seeds that were chosen for their coverage, with the number of calls that each needs; then those from 1 on. */
const seedsOf = (count: number): ReadonlyArray<string> =>
  [...kept, ...Array.from({ length: count }, (_, index) => String(index + 1))].slice(0, count)

/** `--changed` without a revision means the newest commit. */
const withRevision = (words: ReadonlyArray<string>): Array<string> =>
  words.flatMap((word, index) => {
    const next = words[index + 1]
    return word === "--changed" && (next === undefined || next.startsWith("--")) ? [word, "HEAD^"] : [word]
  })

/** Seeds as `npm run sim` takes them. */
const named = (text: string): ReadonlyArray<string> => {
  const seeds = text.split(",")
  if (!seeds.every((seed) => /^[0-9a-zA-Z]{1,64}(:[1-9][0-9]{0,8})?$/.test(seed))) throw new Usage("--seed needs numbers or commit hashes")
  return seeds
}

const scenariosOf = (text: string): ReadonlyArray<string> =>
  text === "none" ? [] : text.split(",").flatMap((name) => {
    const found = Scenarios.named(name)
    if (found === undefined) throw new Usage(`--scenarios: there is no scenario ${name}`)
    return found.map((scenario) => scenario.name)
  })

const number = (name: string, text: string, isFine: (value: number) => boolean, what: string): number => {
  const value = Number(text)
  if (text === "" || !isFine(value)) throw new Usage(`--${name} needs ${what}`)
  return value
}

const whole = (name: string, text: string): number =>
  number(name, text, (value) => Number.isSafeInteger(value) && value >= 1, "a whole number from 1")

const sampleOf = (text: string): Sample =>
  text.endsWith("%")
    ? { percent: number("sample", text.slice(0, -1), (value) => value > 0 && value <= 100, "a share above 0 % and up to 100 %") }
    : { count: whole("sample", text) }

const values = (words: ReadonlyArray<string>) => {
  try {
    return parseArgs({
      args: withRevision(words),
      options: {
        only: { type: "string", default: folders.join(",") },
        changed: { type: "string" },
        survivors: { type: "string" },
        sample: { type: "string" },
        draw: { type: "string", default: "1" },
        seeds: { type: "string", default: "36" },
        seed: { type: "string" },
        scenarios: { type: "string", default: "all" },
        steps: { type: "string", default: "400" },
        profile: { type: "string", default: "swarm" },
        tests: { type: "boolean", default: false },
        jobs: { type: "string", default: String(Math.max(1, os.availableParallelism() - 1)) },
        minutes: { type: "string" },
        state: { type: "string", default: path.join("data", "mutate.jsonl") },
        json: { type: "string" },
        bar: { type: "string" }
      }
    }).values
  } catch (error) {
    throw new Usage(error instanceof Error ? error.message : String(error))
  }
}

/** The request in the arguments; throws `Usage` where they ask for something that does not exist. */
export const parse = (words: ReadonlyArray<string>): Settings => {
  const given = values(words)
  const profile = Options.profiles.find((name) => name === given.profile)
  if (profile === undefined) throw new Usage(`--profile must be one of ${Options.profiles.join(", ")}`)
  const paths = given.only.split(",").filter((each) => each !== "").map((each) => each.replace(/\/$/, ""))
  if (paths.length === 0 || paths.some((each) => !each.startsWith("src/"))) throw new Usage("--only needs paths that begin with src/")
  return {
    paths,
    changed: given.changed,
    survivorsOf: given.survivors,
    sample: given.sample === undefined ? undefined : sampleOf(given.sample),
    draw: given.draw,
    seeds: given.seed === undefined ? seedsOf(whole("seeds", given.seeds)) : named(given.seed),
    scenarios: scenariosOf(given.scenarios),
    steps: whole("steps", given.steps),
    profile,
    tests: given.tests,
    jobs: whole("jobs", given.jobs),
    minutes: given.minutes === undefined ? undefined : number("minutes", given.minutes, (value) => value > 0, "a number above 0"),
    state: path.resolve(given.state),
    json: given.json,
    bar: given.bar === undefined ? undefined : number("bar", given.bar, (value) => value >= 0 && value <= 100, "a number from 0 to 100")
  }
}
