/**
 * Proves that the properties can see: plants each mutant of `sim/mutants` in a copy of the compiled venue, where only its own file is
 * compiled anew, and runs seeds until the property that must catch it does. Exit code 1 if one survives or is caught by
 * another property only. With `--types` the whole source is checked with each mutant in it, as is to be done for a new one.
 *
 * Usage: npm run mutants -- [--seeds N] [--steps N] [--only NAME] [--types]
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import Table from "cli-table3"
import * as esbuild from "esbuild"
import { environment } from "./report/Memory.js"

interface Mutant {
  readonly name: string
  /** What it does wrong, as a sentence. */
  readonly what: string
  /** The property that must be among those that break. */
  readonly caughtBy: string
  readonly profile: string
  /** The source file, the text in it (found exactly once) and what takes its place. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

interface Verdict {
  readonly mutant: Mutant
  readonly caught: boolean
  readonly found: string
}

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..")
const folder = path.join(root, "sim/mutants")
/** Mutants under way at once. */
const lanes = 2

const option = (name: string, fallback: string): string => {
  const at = process.argv.indexOf(name)
  return at < 0 ? fallback : process.argv[at + 1] ?? fallback
}

const execute = (command: string, words: ReadonlyArray<string>, cwd: string): Promise<{ readonly output: string; readonly code: number }> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, words, { cwd, env: environment, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    child.stdout.on("data", (bytes: Buffer) => {
      output += bytes.toString("utf8")
    })
    child.stderr.on("data", (bytes: Buffer) => {
      output += bytes.toString("utf8")
    })
    child.on("error", reject)
    child.on("close", (code) => resolve({ output, code: code ?? 1 }))
  })

/** The source of a mutant's file with the mutant in it. */
const mutated = ({ file, find, name, replace }: Mutant): string => {
  const parts = fs.readFileSync(path.join(root, file), "utf8").split(find)
  if (parts.length !== 2) throw new Error(`${name}: its text is found ${parts.length - 1} times in ${file}`)
  return parts.join(replace)
}

/** Throws where the source is not well typed with a mutant in it: it would be another mutant than it says. */
const check = async (mutant: Mutant): Promise<void> => {
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), `types-${mutant.name}-`))
  try {
    for (const each of ["src", "sim"]) fs.cpSync(path.join(root, each), path.join(copy, each), { recursive: true })
    for (const each of ["package.json", "tsconfig.json"]) fs.copyFileSync(path.join(root, each), path.join(copy, each))
    fs.symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"))
    fs.writeFileSync(path.join(copy, mutant.file), mutated(mutant))
    // It may leave something unused behind.
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

/** A crash of the program itself has no invariant. */
const failure = /^FAILED seed (\S+): \S+ \S* ?(.+) at step ([0-9]+)$/m

const judge = async (mutant: Mutant, seeds: string, steps: string, checked: boolean): Promise<Verdict> => {
  const copy = await plant(mutant, checked)
  try {
    const others: Array<string> = []
    const last = Number(seeds)
    for (let seed = 1; seed <= last;) {
      const words = ["dist/sim/main.js", "--seed", String(seed), "--seeds", String(last - seed + 1), "--steps", steps]
      const { output } = await execute(process.execPath, [...words, "--profile", mutant.profile, "--quiet", "--raw"], copy)
      const match = failure.exec(output)
      if (match === null) break
      const [, at = "", properties = "", step] = match
      if (properties.split(", ").includes(mutant.caughtBy)) return { mutant, caught: true, found: `seed ${at}, step ${step}` }
      // Another property saw it first: go on until the one that claims it does.
      others.push(`${properties} (seed ${at})`)
      seed = Number(at) + 1
    }
    const found = others.length === 0 ? "" : `; seen by ${[...new Set(others)].slice(0, 3).join(", ")}`
    return { mutant, caught: false, found: `survived ${seeds} seeds${found}` }
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
}

const main = async (): Promise<number> => {
  const only = option("--only", "")
  const mutants = fs.readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => JSON.parse(fs.readFileSync(path.join(folder, name), "utf8")) as Mutant)
    .filter((mutant) => only === "" || mutant.name === only)
  if (mutants.length === 0) throw new Error("there is no such mutant")
  const seeds = option("--seeds", "200")
  const steps = option("--steps", "400")
  const verdicts: Array<Verdict> = []
  const waiting = [...mutants]
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const verdict = await judge(next, seeds, steps, process.argv.includes("--types"))
      verdicts.push(verdict)
      process.stdout.write(`${verdict.caught ? "caught  " : "MISSED  "} ${verdict.mutant.name}: ${verdict.found}\n`)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  const table = new Table({ head: ["mutant", "must be caught by", "result"], wordWrap: true, colWidths: [32, 44, 60] })
  for (const { caught, found, mutant } of verdicts.sort((a, b) => (a.mutant.name < b.mutant.name ? -1 : 1))) {
    table.push([mutant.name, mutant.caughtBy, `${caught ? "caught" : "MISSED"}: ${found}`])
  }
  process.stdout.write(`${table.toString()}\n`)
  const missed = verdicts.filter((verdict) => !verdict.caught)
  process.stdout.write(`${verdicts.length - missed.length} of ${verdicts.length} mutants caught\n`)
  return missed.length === 0 ? 0 : 1
}

process.exitCode = await main()
