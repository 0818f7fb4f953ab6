/**
 * Bundles the command line tools into `tools` of the output (`--to FOLDER`, or `dist`): a few files in place of a thousand, which take
 * longer to find than a command takes. What only some commands need is in files of its own, that those load.
 */
import * as esbuild from "esbuild"
import * as path from "node:path"
import { output } from "./build/Target.js"

esbuild.buildSync({
  entryPoints: ["venue", "replay", "signer", "ledger"].map((tool) => path.join(output, "src/cli", `${tool}.js`)),
  outdir: path.join(output, "tools"),
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  // Native code is found from where its package is.
  external: ["better-sqlite3"],
  // Packages in the older form of modules ask for Node's own by this function.
  banner: { js: "import { createRequire as requireOf } from \"node:module\"; const require = requireOf(import.meta.url);" },
  legalComments: "none",
  logLevel: "error"
})
