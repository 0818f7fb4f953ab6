/**
 * Ends its own process once that has used more processor time than it was given: the only way out of a loop without
 * an end, since nothing else runs in that thread any more. Processor time and not the wall's, so that a busy machine
 * judges like an idle one.
 */
import { workerData } from "node:worker_threads"

/** Microseconds of processor time, of the whole process, at which it ends; the runner moves it on. */
const limit = new BigInt64Array(workerData as SharedArrayBuffer)

/** How often it looks, in milliseconds. */
const intervalMs = 100

setInterval(() => {
  const { system, user } = process.cpuUsage()
  if (BigInt(user + system) > Atomics.load(limit, 0)) process.kill(process.pid, "SIGKILL")
}, intervalMs)
