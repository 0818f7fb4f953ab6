/** The simulator's command line: what its words ask for. */
import * as crypto from "node:crypto"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as Options from "../faults/Options.js"
import { seedOf } from "../run/Request.js"
import * as Scenarios from "../scenarios/All.js"
import type { Scenario } from "../scenarios/Scenario.js"

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..")
const keptBugs = path.join(root, "fixtures/bugs")

/** A seed, with its own number of calls where it differs from that of the others. */
export interface Run {
  readonly seed: string
  readonly steps: number
}

export interface Arguments {
  readonly seeds: ReadonlyArray<string>
  readonly profile: Options.Profile
  readonly steps: number
  readonly twice: boolean
  readonly trace: boolean
  /** One line per seed, with its digest, for the process that compares them. */
  readonly digests: boolean
  readonly quiet: boolean
  /** A failing run is reported as it is: not made smaller, not kept. */
  readonly raw: boolean
  /** A line for every seed, even for many seeds and without a terminal. */
  readonly each: boolean
  /** Prints how often each mark of the venue's code was reached. */
  readonly marks: boolean
  /** Fails where a mark of the kept list was not reached. */
  readonly "kept-marks": boolean
  readonly bugs: string
  readonly shrinkRuns: number
  readonly shrinkSeconds: number
  /** A file to run again, or a folder of them, instead of seeds. */
  readonly replay: string | undefined
  /** Scenarios to play: where no seed is given, they alone. Where none were asked for, or refused, long runs have one each. */
  readonly scenarios: ReadonlyArray<Scenario>
  readonly isEachWithScenario: boolean
}

/** Calls from which a run is so long that a scenario behind it costs little beside it. */
export const withScenarioFrom = 250

export const usage = `usage: npm run sim -- [options]
  --seed SEED       a number or a commit hash; fresh when absent. Several, with commas between them, are run as they are;
                    SEED:N has calls of its own number
  --seeds N         that many seeds: consecutive from --seed when it is a number, otherwise fresh (default 1)
  --profile NAME    ${Options.profiles.join(" | ")} (default swarm)
  --steps N         calls that clients begin before faults stop (default 1000)
  --twice           runs everything in two processes and compares the digests
  --trace           prints every observation
  --quiet           prints no options before each run
  --each            a line for every seed
  --marks           prints how often each rare branch that is marked was reached
  --kept-marks      fails where one of those in sim/marks.json was not
  --raw             reports a failing run as it is: not made smaller, not kept
  --bugs FOLDER     where failing runs are kept (default fixtures/bugs)
  --shrink-runs N   runs that making one smaller may take (default 1500)
  --shrink-seconds N   seconds of processor time that it may take (default 120)
  --replay FILE     runs a kept failure again: exits as it did while the bug is there, 0 once it is gone; all of a folder, where it
                    is one
  --scenario NAME   plays what has ruined others, as it is told in sim/scenarios; all of them: all. Their names: --help. Besides
                    seeds where any are given: marks are counted over both, and what a scenario leaves on the disk is not proven.
                    Without it a run of ${withScenarioFrom} calls or more is followed by one, for each seed the next, until all have been: none leaves them
                    out`

/** A line or two for each scenario: over a screen of them. */
const scenarioList = Scenarios.scenarios.map(({ name, what }) => `      ${name}\n          ${what}`).join("\n")

/** What is wrong with a command line. */
export class WrongUsage extends Error {}

const fail = (message: string): never => {
  throw new WrongUsage(message)
}

const count = (name: string, text: string | undefined): number => {
  const value = Number(text)
  return Number.isInteger(value) && value >= 1 ? value : fail(`${name} needs a whole number from 1`)
}

/**
 * Reads the words of a command line; where one asks for help, what it shows.
 *
 * @throws {WrongUsage} of what is wrong with them
 */
export const parse = (words: ReadonlyArray<string>): Arguments | string => {
  let seed: string | undefined
  let seeds: number | undefined
  let profile: Options.Profile = "swarm"
  let steps = 1000
  let bugs = keptBugs
  let shrinkRuns = 1500
  let shrinkSeconds = 120
  let replay: string | undefined
  let scenarios: ReadonlyArray<Scenario> | undefined
  const flags = { twice: false, trace: false, digests: false, quiet: false, raw: false, each: false, marks: false, "kept-marks": false }
  for (let index = 0; index < words.length; index++) {
    const word = words[index]!
    switch (word) {
      case "--seed":
        seed = words[++index]
        if (seed === undefined || !/^[0-9a-zA-Z]{1,64}(:[1-9][0-9]{0,8})?(,[0-9a-zA-Z]{1,64}(:[1-9][0-9]{0,8})?)*$/.test(seed))
          fail("--seed needs numbers or commit hashes")
        break
      case "--seeds":
        seeds = count(word, words[++index])
        break
      case "--steps":
        steps = count(word, words[++index])
        break
      case "--profile": {
        const name = words[++index]
        profile = Options.profiles.find((each) => each === name) ?? fail(`--profile must be one of ${Options.profiles.join(", ")}`)
        break
      }
      case "--bugs":
        bugs = words[++index] ?? fail("--bugs needs a folder")
        break
      case "--replay":
        replay = words[++index] ?? fail("--replay needs a file")
        break
      case "--scenario":
        scenarios = Scenarios.named(words[++index] ?? "") ?? fail("--scenario needs the name of one, all or none: --help tells them")
        break
      case "--shrink-runs":
        shrinkRuns = count(word, words[++index])
        break
      case "--shrink-seconds":
        shrinkSeconds = count(word, words[++index])
        break
      case "--each":
      case "--marks":
      case "--kept-marks":
      case "--raw":
      case "--twice":
      case "--trace":
      case "--digests":
      case "--quiet":
        flags[word.slice(2) as keyof typeof flags] = true
        break
      case "--help":
        return `${usage}\n\nscenarios:\n${scenarioList}\n`
      default:
        fail(`unknown option ${word}`)
    }
  }
  const chosen = scenarios ?? []
  const isAlone = chosen.length > 0 && seed === undefined && seeds === undefined
  if (replay !== undefined && (chosen.length > 0 || seed !== undefined || seeds !== undefined)) fail("--replay runs nothing beside FILE")
  if (isAlone && flags.twice) fail("--twice runs seeds: give some beside the scenarios")
  const own = { scenarios: chosen, isEachWithScenario: scenarios === undefined }
  return { seeds: isAlone ? [] : seedsFrom(seed, seeds ?? 1), profile, steps, bugs, shrinkRuns, shrinkSeconds, replay, ...own, ...flags }
}

const seedsFrom = (seed: string | undefined, howMany: number): ReadonlyArray<string> => {
  if (seed !== undefined && /[,:]/.test(seed)) return seed.split(",")
  const consecutive = seed !== undefined && /^[0-9]{1,15}$/.test(seed)
  return Array.from({ length: howMany }, (_, index) => {
    if (consecutive) return String(Number(seed) + index)
    if (seed !== undefined) return index === 0 ? seed : `${seed}${index}`
    return String(crypto.randomInt(2 ** 47))
  })
}

/** The run that a seed as given on the command line stands for. */
export const runOf = ({ steps }: Arguments, given: string): Run => seedOf(given, steps)
