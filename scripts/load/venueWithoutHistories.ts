/**
 * The venue as it is served, but that nobody makes its histories: in the place of their thread is one that asks for nothing and waits to
 * be ended. No deployment has it so; what histories cost everybody else is the rest.
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

// What is served is bundled: the compiler does not know it.
const served = new URL("../../venue/main.js", import.meta.url)
await import(served.href)
