/**
 * The venue as deployed, but without making its histories: their thread is replaced by one that does nothing and waits to be ended. No
 * deployment runs like this; the difference is the histories' cost for everything else.
 */
import { syncBuiltinESMExports } from "node:module"
import threads, { Worker, type WorkerOptions } from "node:worker_threads"

const idle = "require('node:worker_threads').parentPort.once('message', () => process.exit())"

threads.Worker = class extends Worker {
  constructor(file: string | URL, options?: WorkerOptions) {
    const isOfHistories = String(file).endsWith("/NodeHistoriesThread.js")
    super(isOfHistories ? idle : file, isOfHistories ? { eval: true } : options)
  }
}
syncBuiltinESMExports()

// The deployed venue is bundled, so the compiler does not know it.
const served = new URL("../../venue/main.js", import.meta.url)
await import(served.href)
