/**
 * Bundles the command line tools into `tools` in the output (`--to FOLDER`, or `dist`): a few files instead of a thousand, which would take
 * longer to find than a command takes to run. Code that only some commands need is in files of its own, which those load. The venue is
 * bundled into `venue` in the same way, with its threads and the process that polls exchanges beside it: a killed venue is back in half the
 * time. File names stay as they are, and source maps beside the files lead from a stack trace to the source.
 */
import * as esbuild from "esbuild"
import * as path from "node:path"
import { output } from "./build/Target.js"

/** The compiled entry points, by folder. */
const folders: Readonly<Record<string, ReadonlyArray<string>>> = {
  tools: ["venue", "replay", "signer", "ledger"].map((tool) => `cli/${tool}`),
  venue: [
    "main",
    "readings/NodeReadingsThread",
    "sequencer/NodeFollowerThread",
    "readings/NodeHistoriesThread",
    "ledger/development/NodeLedgerThread",
    "oracle/NodeCcxtProcess"
  ]
}

for (const [folder, programs] of Object.entries(folders)) {
  esbuild.buildSync({
    entryPoints: programs.map((program) => path.join(output, "src", `${program}.js`)),
    outdir: path.join(output, folder),
    // Threads are found beside the code that starts them.
    entryNames: "[name]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // Native code is found by its package's location; `ccxt` is used by a single process only, and is as large as everything else.
    external: ["better-sqlite3", "ccxt"],
    // Packages in CommonJS form load Node's own modules through this function.
    banner: { js: "import { createRequire as requireOf } from \"node:module\"; const require = requireOf(import.meta.url);" },
    legalComments: "none",
    sourcemap: folder === "venue",
    sourcesContent: false,
    logLevel: "error"
  })
}
