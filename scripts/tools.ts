/**
 * Bundles the command line tools into `tools` in the output (`--to FOLDER`, or `dist`): a few files instead of a thousand, which would take
 * longer to find than a command takes to run. Code that only some commands need is in files of its own, which those load. The venue is
 * bundled into `venue`, with its threads and the process that polls exchanges beside it: a killed venue is back in half the time. It is
 * then run once with each set of V8's flags that is in use, for the compiled code that every further start saves (`src/NodeCompiled.ts`).
 * File names stay as they are, and source maps beside the files lead from a stack trace to the source.
 */
import * as esbuild from "esbuild"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { keeping } from "../src/NodeCompiled.js"
import { output } from "./build/Target.js"
import { flags } from "./load/VenueProcess.js"

/** The compiled entry points, by folder, of programs that are modules in several files. */
const inModules: Readonly<Record<string, ReadonlyArray<string>>> = {
  tools: ["venue", "replay", "signer", "ledger"].map((tool) => `cli/${tool}`),
  // Threads that begin when they are needed, and a process: they are found beside the code that starts them.
  venue: ["readings/NodeReadingsThread", "sequencer/NodeFollowerThread", "oracle/NodeCcxtProcess", "NodeCompiled"]
}

/** Those of programs that every start waits for: one file each, which a module of the same name runs. */
const whole = ["main", "readings/NodeHistoriesThread", "ledger/development/NodeLedgerThread"]

const compiledAt = (programs: ReadonlyArray<string>): Array<string> => programs.map((program) => path.join(output, "src", `${program}.js`))

const shared = {
  entryNames: "[name]",
  bundle: true,
  platform: "node",
  target: "node20",
  // Native code is found by its package's location; `ccxt` is used by a single process only, and is as large as everything else.
  external: ["better-sqlite3", "ccxt"],
  legalComments: "none",
  sourcesContent: false,
  logLevel: "error"
} satisfies esbuild.BuildOptions

for (const [folder, programs] of Object.entries(inModules)) {
  esbuild.buildSync({
    ...shared,
    entryPoints: compiledAt(programs),
    outdir: path.join(output, folder),
    splitting: true,
    format: "esm",
    sourcemap: folder === "venue",
    // Packages in CommonJS form load Node's own modules through this function.
    banner: { js: "import { createRequire as requireOf } from \"node:module\"; const require = requireOf(import.meta.url);" }
  })
}

esbuild.buildSync({
  ...shared,
  entryPoints: compiledAt(whole),
  outdir: path.join(output, "venue"),
  outExtension: { ".js": ".cjs" },
  format: "cjs",
  sourcemap: true,
  define: { "import.meta.url": "moduleUrl" }
})
for (const program of whole) {
  fs.writeFileSync(
    path.join(output, "venue", `${path.basename(program)}.js`),
    "import { run } from \"./NodeCompiled.js\"\nrun(import.meta.url)\n"
  )
}

/**
 * Starts the venue over an empty directory and stops it once it takes requests: meanwhile its programs keep their compiled code. Where
 * that does not succeed the output is complete all the same: whoever has to halt a venue must be able to build on any machine.
 */
const runOnce = (words: ReadonlyArray<string>): Promise<void> =>
  new Promise((resolve) => {
    const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "perpetuum-build-"))
    const child = spawn(process.execPath, [...words, path.join(output, "venue", "main.js")], {
      // None of the settings of whoever builds.
      env: { PATH: process.env["PATH"], PORT: "0", DATA_DIR: path.join(dataDir, "data"), SEGMENT_MIB: "4", [keeping]: "1" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 60_000,
      killSignal: "SIGKILL"
    })
    let said = ""
    const hear = (bytes: Buffer): void => {
      said += bytes.toString()
      if (said.includes("venue at http://")) child.kill("SIGTERM")
    }
    child.stdout.on("data", hear)
    child.stderr.on("data", hear)
    child.on("close", (code, signal) => {
      fs.rmSync(dataDir, { recursive: true, force: true })
      const ended = `tried once, the venue ended with ${code ?? signal}`
      if (code !== 0) process.stderr.write(`no compiled code is kept, so that starts take longer: ${ended}\n${said}`)
      resolve()
    })
  })

// As `npm start` does, and by its name alone.
await Promise.all([runOnce(flags), runOnce([])])
