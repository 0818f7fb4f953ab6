/**
 * Proves that the properties detect defects: plants each mutant of `sim/mutants` in a copy of the compiled venue, where only the
 * mutant's own file is compiled anew, and runs seeds until the property that must catch it breaks. For a mutant that only a rare
 * sequence reaches it plays the scenario that the mutant names. Exit code 1 if one survives or is caught by another property only. With
 * `--types` the whole source is checked with each mutant in it, which a new mutant needs.
 *
 * The seed that last caught a mutant (`sim/caught.json`) is tried first; with `--keep` the file is written anew. Any other seed that
 * catches one also runs without the mutant: one that fails there too says nothing of it.
 *
 * Usage: npm run mutants -- [--seeds N] [--steps N] [--only NAME[,NAME...]] [--types] [--keep]
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import Table from "cli-table3"
import * as esbuild from "esbuild"
import { environment, flags } from "./report/Memory.js"
import * as Mutants from "./report/Mutants.js"
import type { Mutant } from "./report/Mutants.js"
import * as Usage from "./report/Usage.js"

interface Verdict {
  readonly mutant: Mutant
  readonly isCaught: boolean
  /** The seed that caught it, if one did. */
  readonly by: number | undefined
  readonly found: string
}

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..")
/** The seed that last caught each mutant: most are among the first, and some need hundreds. */
const caughtPath = path.join(root, "sim/caught.json")
/** Mutants tested at the same time. */
const lanes = 2
/** How many seeds may break other properties first before the mutant counts as missed by its own. */
const mostOthers = 5
/** How long a run may take for each of its seeds: a mutant may also cause an endless loop, which no property can detect. */
const longestSeedMs = 60_000
/** Most memory of a run, in MiB: an endless loop often fills a list. */
const mostMemoryMib = 4_096

const usage = Usage.make("npm run mutants -- [--seeds N] [--steps N] [--only NAME[,NAME...]] [--types] [--keep]")

/** What of the command line decides how a mutant is judged. */
interface Settings {
  readonly seeds: number
  readonly steps: number
  readonly types: boolean
}

interface Ended {
  readonly output: string
  readonly code: number
  /** Whether it had to be ended. */
  readonly isEndless: boolean
}

const execute = (command: string, words: ReadonlyArray<string>, cwd: string, timeout?: number): Promise<Ended> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, words, { cwd, env: environment, stdio: ["ignore", "pipe", "pipe"], timeout })
    let output = ""
    child.stdout.on("data", (bytes: Buffer) => {
      output += bytes.toString("utf8")
    })
    child.stderr.on("data", (bytes: Buffer) => {
      output += bytes.toString("utf8")
    })
    child.on("error", reject)
    child.on("close", (code) => resolve({ output, code: code ?? 1, isEndless: child.killed }))
  })

/** The source of a mutant's file with the mutant in it. */
const mutated = ({ file, find, name, replace }: Mutant): string => {
  const parts = fs.readFileSync(path.join(root, file), "utf8").split(find)
  if (parts.length !== 2) throw new Error(`${name}: its text is found ${parts.length - 1} times in ${file}`)
  return parts.join(replace)
}

/** Throws if the source with a mutant in it is not well typed: it would be another mutant than it claims to be. */
const check = async (mutant: Mutant): Promise<void> => {
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), `types-${mutant.name}-`))
  try {
    for (const each of ["src", "sim"]) fs.cpSync(path.join(root, each), path.join(copy, each), { recursive: true })
    for (const each of ["package.json", "tsconfig.json"]) fs.copyFileSync(path.join(root, each), path.join(copy, each))
    fs.symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"))
    fs.writeFileSync(path.join(copy, mutant.file), mutated(mutant))
    // A mutant may leave something unused behind.
    const unused = ["--noEmit", "--noUnusedLocals", "false", "--noUnusedParameters", "false"]
    const compiler = path.join(root, "node_modules/typescript/bin/tsc")
    const { code, output } = await execute(process.execPath, [compiler, "-p", "tsconfig.json", ...unused], copy)
    if (code !== 0) throw new Error(`${mutant.name} does not compile:\n${output}`)
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
}

/** A copy of the compiled venue in a new temporary folder, with the mutant in it. */
const plant = async (mutant: Mutant, checked: boolean): Promise<string> => {
  if (checked) await check(mutant)
  const { code } = await esbuild.transform(mutated(mutant), { loader: "ts", format: "esm", target: "node20", sourcefile: mutant.file })
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), `mutant-${mutant.name}-`))
  for (const each of ["src", "sim"]) fs.cpSync(path.join(root, "dist", each), path.join(copy, "dist", each), { recursive: true })
  fs.copyFileSync(path.join(root, "package.json"), path.join(copy, "package.json"))
  fs.symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"))
  fs.writeFileSync(path.join(copy, "dist", mutant.file.replace(/\.ts$/, ".js")), code)
  return copy
}

/** The line by which a seed tells that it failed. A crash of the program itself names no invariant. */
const failure = /^FAILED seed (\S+): \S+ \S* ?(.+) at step ([0-9]+)$/m

/** The line by which a scenario tells that it failed. */
const scenarioFailure = /^FAILED scenario \S+: \S+ (.+) at step ([0-9]+)$/m

/** Plays a mutant's scenario on the copy that contains it. */
const judgePlayed = async (mutant: Mutant, scenario: string, copy: string): Promise<Verdict> => {
  const program = [...flags, `--max-old-space-size=${mostMemoryMib}`, "dist/sim/main.js", "--scenario", scenario]
  const { code, output } = await execute(process.execPath, program, copy, longestSeedMs)
  const [, properties = "", step] = scenarioFailure.exec(output) ?? []
  const isCaught = properties.split(", ").includes(mutant.caughtBy)
  const seen = step === undefined ? code === 0 ? "survived it" : "a crash" : `seen by ${properties}`
  return { mutant, isCaught, by: undefined, found: isCaught ? `${scenario}, step ${step}` : `${scenario}: ${seen}` }
}

/** Runs a range of seeds, until one fails, of the compiled venue in a folder. */
const runs = ({ profile }: Mutant, from: number, last: number, steps: number, folder: string): Promise<Ended> => {
  const words = ["--seed", String(from), "--seeds", String(last - from + 1), "--steps", String(steps), "--profile", profile, "--scenario",
    "none"]
  const program = [...flags, `--max-old-space-size=${mostMemoryMib}`, "dist/sim/main.js", ...words, "--quiet", "--raw"]
  return execute(process.execPath, program, folder, (last - from + 1) * longestSeedMs)
}

const judge = async (mutant: Mutant, first: number | undefined, { seeds, steps, types }: Settings): Promise<Verdict> => {
  const copy = await plant(mutant, types)
  const others: Array<string> = []
  /**
   * Looks in a range for a seed that breaks the mutant's property. Where a seed breaks others first, that is noted and the next one
   * tried.
   */
  const caughtIn = async (from: number, last: number): Promise<Verdict | undefined> => {
    for (let seed = from; seed <= last && others.length < mostOthers;) {
      const { code, isEndless, output } = await runs(mutant, seed, last, steps, copy)
      const match = failure.exec(output)
      if (match === null) {
        if (isEndless) others.push("a run that had to be ended")
        else if (code !== 0) others.push(`a crash: ${output.trim().split("\n").at(-1)?.slice(0, 100)}`)
        return undefined
      }
      const [, at = "", properties = "", step] = match
      const isCaught = properties.split(", ").includes(mutant.caughtBy)
      if (isCaught && (Number(at) === first || (await runs(mutant, Number(at), Number(at), steps, root)).code === 0)) {
        return { mutant, isCaught, by: Number(at), found: `seed ${at}, step ${step}` }
      }
      others.push(isCaught ? `seed ${at}, which fails without it as well` : `${properties} (seed ${at})`)
      seed = Number(at) + 1
    }
    return undefined
  }
  try {
    if (mutant.scenario !== undefined) return await judgePlayed(mutant, mutant.scenario, copy)
    const ranges: ReadonlyArray<readonly [from: number, last: number]> = first === undefined
      ? [[1, seeds]]
      : [[first, first], [1, Math.min(seeds, first - 1)], [first + 1, seeds]]
    for (const [from, last] of ranges) {
      const caught = await caughtIn(from, last)
      if (caught !== undefined) return caught
    }
    if (others.length === 0) return { mutant, isCaught: false, by: undefined, found: `survived ${seeds} seeds` }
    return { mutant, isCaught: false, by: undefined, found: `seen by ${others.slice(0, 3).join("; ")}` }
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
}

/** Writes the seeds that last caught each mutant, with those of these verdicts in place of the old ones. */
const keep = (known: Readonly<Record<string, number>>, verdicts: ReadonlyArray<Verdict>): void => {
  const seeds = new Map(Object.entries(known))
  for (const { by, mutant: { name } } of verdicts) if (by !== undefined) seeds.set(name, by)
  const sorted = [...seeds].sort(([one], [other]) => (one < other ? -1 : 1))
  fs.writeFileSync(caughtPath, `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`)
}

const main = async (): Promise<number> => {
  const { keep: keeps, only, seeds, steps, types } = usage.parsed({
    options: {
      seeds: { type: "string", default: "200" },
      steps: { type: "string", default: "400" },
      only: { type: "string" },
      types: { type: "boolean", default: false },
      keep: { type: "boolean", default: false }
    }
  })
  const settings = { seeds: usage.count("--seeds", seeds), steps: usage.count("--steps", steps), types }
  const names = Mutants.names(root)
  const wanted = usage.among("--only", "mutant", names, only)
  const mutants = names.filter((name) => wanted.includes(name)).map((name) => Mutants.read(root, name))
  const verdicts: Array<Verdict> = []
  const waiting = [...mutants]
  const known = fs.existsSync(caughtPath) ? JSON.parse(fs.readFileSync(caughtPath, "utf8")) as Record<string, number> : {}
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const verdict = await judge(next, known[next.name], settings)
      verdicts.push(verdict)
      if (keeps) keep(known, verdicts)
      process.stdout.write(`${verdict.isCaught ? "caught  " : "MISSED  "} ${verdict.mutant.name}: ${verdict.found}\n`)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const table = new Table({ head: ["mutant", "must be caught by", "result"], wordWrap: true, colWidths: [32, 44, 60] })
  for (const { found, isCaught, mutant } of verdicts.sort((a, b) => (a.mutant.name < b.mutant.name ? -1 : 1))) {
    table.push([mutant.name, mutant.caughtBy, `${isCaught ? "caught" : "MISSED"}: ${found}`])
  }
  process.stdout.write(`${table.toString()}\n`)
  const missed = verdicts.filter(({ isCaught }) => !isCaught)
  process.stdout.write(`${verdicts.length - missed.length} of ${verdicts.length} mutants caught\n`)
  return missed.length === 0 ? 0 : 1
}

process.exitCode = await main()
