/**
 * Proves the way from a bug to its kept file: plants mutants in copies of the source, lets the simulator find them, shrinks the runs,
 * replays their files over the planted bug (which must still be there) and over the original source (which must not have it), and reads
 * the bundles back. Exit code 1 if one of these fails or a run keeps `mostSteps` steps or more.
 *
 * Usage: npm run planted -- [--only MUTANT[,MUTANT]]
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import Table from "cli-table3"
import * as Bundle from "../src/cli/bundle/Bundle.js"
import * as BugFile from "./report/BugFile.js"
import * as Mutants from "./report/Mutants.js"
import type { Mutant } from "./report/Mutants.js"
import * as Usage from "./report/Usage.js"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..")
const usage = Usage.make("npm run planted -- [--only MUTANT[,MUTANT]]")
const mostSteps = 20
/** A mutant that takes a while to reach, one about money, one about answers under network faults, one about durability. */
const standard = "reduce-only-outlives-position,fee-vanishes,key-forgotten,answer-before-durable"

const execute = (words: ReadonlyArray<string>, cwd: string): Promise<{ readonly output: string; readonly code: number }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, words, { cwd, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    const take = (bytes: Buffer): void => {
      output += bytes.toString("utf8")
    }
    child.stdout.on("data", take)
    child.stderr.on("data", take)
    child.on("error", reject)
    child.on("close", (code) => resolve({ output, code: code ?? 1 }))
  })

/** Compiles a copy of the source with the mutant in it. Only the output of the mutant's file differs from the original build. */
const plant = async (mutant: Mutant, copy: string): Promise<void> => {
  for (const each of ["src", "sim"]) fs.cpSync(path.join(root, each), path.join(copy, each), { recursive: true })
  for (const each of ["package.json", "tsconfig.json"]) fs.copyFileSync(path.join(root, each), path.join(copy, each))
  fs.symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"))
  const target = path.join(copy, mutant.file)
  const parts = fs.readFileSync(target, "utf8").split(mutant.find)
  if (parts.length !== 2) throw new Error(`${mutant.name}: its text is found ${parts.length - 1} times in ${mutant.file}`)
  fs.writeFileSync(target, parts.join(mutant.replace))
  const compiler = path.join(root, "node_modules/typescript/bin/tsc")
  const compiled = await execute([compiler, "-p", "tsconfig.json", "--noUnusedLocals", "false"], copy)
  if (!fs.existsSync(path.join(copy, "dist/sim/main.js"))) throw new Error(`${mutant.name} does not compile: ${compiled.output}`)
}

/** Takes one mutant all the way. Returns what went wrong, and its row of the table. */
const prove = async (mutant: Mutant): Promise<{ readonly wrong: ReadonlyArray<string>; readonly row: ReadonlyArray<string | number> }> => {
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), `planted-${mutant.name}-`))
  try {
    await plant(mutant, copy)
    const bugs = path.join(copy, "bugs")
    const began = performance.now()
    const words = ["dist/sim/main.js", "--seed", "1", "--seeds", "100", "--steps", "400", "--profile", mutant.profile, "--scenario", "none"]
    const found = await execute([...words, "--quiet", "--bugs", bugs], copy)
    const seconds = (performance.now() - began) / 1000
    const [name] = BugFile.names(bugs)
    if (name === undefined) return { wrong: [`nothing was kept:\n${found.output.slice(-2_000)}`], row: [mutant.name] }
    process.stdout.write(`--- ${mutant.name}\n${found.output}`)
    const kept = BugFile.read(name)
    const there = await execute(["dist/sim/main.js", "--replay", name, "--quiet"], copy)
    const gone = await execute([path.join(root, "dist/sim/main.js"), "--replay", name, "--quiet"], root)
    const bundle = Bundle.read(fs.readFileSync(name.replace(/json$/, "bundle")))
    const expected = { safety: 129, liveness: 128, crash: 127 }[kept.kind]
    const wrong = [
      ...(kept.stepsAfter < mostSteps ? [] : [`${kept.stepsAfter} steps are left`]),
      ...(there.code === expected
        ? []
        : [`over the planted bug its file exits with ${there.code} instead of ${expected}: ${there.output}`]),
      ...(gone.code === 0 ? [] : [`without the bug its file exits with ${gone.code}: ${gone.output}`])
    ]
    const row = [mutant.name, kept.property, kept.stepsBefore, kept.stepsAfter, kept.runs, seconds.toFixed(1), there.code, gone.code,
      bundle.manifest.lastSequence]
    return { wrong, row }
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
}

const main = async (): Promise<number> => {
  const { only } = usage.parsed({ options: { only: { type: "string", default: standard } } })
  const wanted = usage.among("--only", "mutant", Mutants.names(root), only)
  const table = new Table({
    head: ["planted", "broke", "steps", "left", "runs", "seconds", "replayed", "once fixed", "records in the bundle"],
    style: { head: [], border: [] }
  })
  const wrong: Array<string> = []
  for (const name of wanted) {
    const mutant = Mutants.read(root, name)
    const proof = await prove(mutant)
    table.push([...proof.row])
    wrong.push(...proof.wrong.map((each) => `${name}: ${each}`))
  }
  process.stdout.write(`${table.toString()}\n`)
  for (const each of wrong) process.stdout.write(`WRONG ${each}\n`)
  return wrong.length === 0 ? 0 : 1
}

process.exitCode = await main()
