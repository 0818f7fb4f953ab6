/**
 * Ends its own process once that has used more processor time than allowed: the only way out of an endless loop, since nothing else runs in
 * that thread any more. Processor time rather than wall time, so that a busy machine gives the same verdicts as an idle one.
 */
import { workerData } from "node:worker_threads"

/** The processor time of the whole process at which it is ended, in microseconds; the runner moves it forward. */
const limit = new BigInt64Array(workerData as SharedArrayBuffer)

/** How often it looks, in milliseconds. */
const intervalMs = 100

setInterval(() => {
  const { system, user } = process.cpuUsage()
  if (BigInt(user + system) > Atomics.load(limit, 0)) process.kill(process.pid, "SIGKILL")
}, intervalMs)
