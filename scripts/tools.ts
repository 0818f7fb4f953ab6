/**
 * Bundles the command line tools into `tools` of the output (`--to FOLDER`, or `dist`): a few files in place of a thousand, which take
 * longer to find than a command takes. What only some commands need is in files of its own, that those load. So is the venue into
 * `venue`, with its threads and the process that asks exchanges beside it: a venue that was killed is there again in half the time.
 * Names stay as they are, and maps beside the files lead from a stack to the source.
 */
import * as esbuild from "esbuild"
import * as path from "node:path"
import { output } from "./build/Target.js"

/** By folder: what begins there, as it was compiled. */
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
    // Threads are found beside who starts them.
    entryNames: "[name]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // Native code is found from where its package is; the other is one process's alone, and as large as all else.
    external: ["better-sqlite3", "ccxt"],
    // Packages in the older form of modules ask for Node's own by this function.
    banner: { js: "import { createRequire as requireOf } from \"node:module\"; const require = requireOf(import.meta.url);" },
    legalComments: "none",
    sourcemap: folder === "venue",
    sourcesContent: false,
    logLevel: "error"
  })
}
