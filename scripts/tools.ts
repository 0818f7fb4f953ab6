/**
 * Bundles the command line tools into `tools` in the output (`--to FOLDER`, or `dist`): a few files instead of a thousand, which would take
 * longer to find than a command takes to run. Code that only some commands need is in files of its own, which those load. The venue is
 * bundled into `venue`, with its threads and the process that polls exchanges beside it: a killed venue is back in half the time. File
 * names stay as they are, and source maps beside the files lead from a stack trace to the source.
 */
import * as esbuild from "esbuild"
import * as fs from "node:fs"
import * as path from "node:path"
import { output } from "./build/Target.js"

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
