/** Threads that cannot begin their work: whoever began them is told why. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { defaultOptions } from "../../src/readmodel/Histories.js"
import * as NodeThreads from "../../src/NodeThreads.js"
import { capacity } from "./world.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "failing-threads-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

test.each(["NodeReadingsThread", "NodeHistoriesThread"])("%s fails with what its directory could not be used for", async (name) => {
  const file = path.join(directory, "a-file")
  fs.writeFileSync(file, "")
  const thread = NodeThreads.begin(new URL(`../../src/readings/${name}.js`, import.meta.url), {
    dataDir: path.join(file, "data"),
    capacity,
    // Of the histories alone.
    begun: {
      durable: new SharedArrayBuffer(8),
      givenUp: new SharedArrayBuffer(8),
      environment: "development",
      hasBegun: false,
      options: defaultOptions
    }
  })
  const failures: Array<string> = []
  thread.on("error", (cause) => void failures.push(String(cause)))
  await new Promise((resolve) => void thread.once("exit", resolve))
  expect(failures).toEqual([expect.stringMatching(/makeDirectory .*ENOTDIR/)])
})
