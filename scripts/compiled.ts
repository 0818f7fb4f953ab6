/**
 * The last step of a build (`--to FOLDER`, or `dist`): runs the bundled venue once with each set of V8's flags that is in use, for the
 * compiled code that every further start saves (`src/NodeCompiled.ts`).
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { keeping } from "../src/NodeCompiled.js"
import { output } from "./build/Target.js"
import { flags } from "./load/VenueProcess.js"

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
    let isReady = false
    const hear = (bytes: Buffer): void => {
      said += bytes.toString()
      if (isReady || !said.includes("venue at http://")) return
      isReady = true
      child.kill("SIGTERM")
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
