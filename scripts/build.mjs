/**
 * `node scripts/build.mjs`: compiles where the output does not correspond to the sources; otherwise it only checks that, which takes a
 * moment. Every npm script but `lint` begins with it. It reports on standard error, and exits with 1 where a source does not compile: the previous
 * output is kept.
 *
 *     node scripts/build.mjs [--force]          makes the output current
 *     node scripts/build.mjs --used-by PID      likewise, and keeps it unchanged while that process runs
 *     node scripts/build.mjs PROGRAM ARGS...    likewise, and runs a program from it in this process: PROGRAM is a path in the output
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { ensure, link, use } from "./build/Output.mjs"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..")

/** All inputs of the output, including files that are only bundled, the compiler and its settings. */
const tree = {
  root,
  folders: ["src", "sim", "test", "scripts", "fixtures/http"],
  files: [
    "tsconfig.json",
    "package.json",
    "package-lock.json",
    // Shown in the reference.
    "src/engine/RULES.md",
    "src/engine/INVARIANTS.md",
    "src/engine/DECISIONS.md"
  ]
}

const lines = (/** @type {string} */ text) => void process.stderr.write(`${text}\n`)

/** Runs the compiler, or a compiled program, to its end. @param {ReadonlyArray<string>} words */
const step = async (words) => {
  const { spawn } = await import("node:child_process")
  await new Promise((resolve, reject) => {
    // Standard output belongs to the command that runs after the build.
    const child = spawn(process.execPath, words, { cwd: root, stdio: ["ignore", 2, 2] })
    child.on("error", reject)
    child.on("exit", (code) => code === 0 ? resolve(undefined) : reject(new Error(`${words.join(" ")} ended with ${code}`)))
  })
}

/** Waits for all steps, and fails with the first error. @param {ReadonlyArray<Promise<void>>} steps */
const all = async (steps) => {
  const failed = (await Promise.allSettled(steps)).find(({ status }) => status === "rejected")
  if (failed !== undefined) throw failed.reason
}

const compiler = "node_modules/typescript/bin/tsc"

/** @param {string} folder */
const compile = async (folder) => {
  const startedMs = performance.now()
  if (!fs.existsSync(path.join(root, compiler))) throw new Error("the compiler is not installed: npm ci does that")
  // Both run to their end, so that the errors of both are shown.
  await all([step([compiler, "-p", "tsconfig.json", "--outDir", folder]), step([compiler, "-p", "src/console/tsconfig.json"])])
  lines("compiled; now the owner's pages, the reference and the command line tools")
  await all(["console", "docs", "tools"].map((each) => step([`${folder}/scripts/${each}.js`, "--to", folder])))
  await step([`${folder}/scripts/compiled.js`, "--to", folder])
  lines(`built in ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`)
}

const [first, second] = process.argv.slice(2)
const program = first === undefined || first.startsWith("--") ? undefined : path.join(root, link, first)

/** A hint for emergencies, in which nobody should have to wait for a compiler or repair sources. */
const withoutWaiting = () => program !== undefined && fs.existsSync(program) ? `; what was built before runs by: node ${link}/${first} ...` : ""

const ensured = ensure(tree, compile, {
  force: first === "--force",
  tell: (line) => lines(`${line}${withoutWaiting()}`),
  rest: () => new Promise((resolve) => setTimeout(resolve, 100))
})

try {
  await ensured
} catch (error) {
  lines(`not built: ${error instanceof Error ? error.message : String(error)}${withoutWaiting()}`)
  process.exit(1)
}
if (first === "--used-by") use(root, Number(second))
else if (program !== undefined) {
  process.argv.splice(1, 2, program)
  await import(pathToFileURL(program).href)
}
