/**
 * The threads of this process, as long as each lives. An exit of the process waits for all of them, without a bound and with no timer
 * that still runs, and a call of SQLite's that fails in a thread that is being ended takes the whole process down. So the process exits
 * once no thread is left, and a thread that uses SQLite is asked to end and goes by itself.
 */
import { Worker } from "node:worker_threads"

const living = new Set<Worker>()

/** Begins a thread; it is counted until the system has nothing of it any more. */
export const begin = (file: URL, workerData: unknown): Worker => {
  const worker = new Worker(file, { workerData })
  living.add(worker)
  worker.once("exit", () => living.delete(worker))
  return worker
}

/** Whether any is left. */
export const areLeft = (): boolean => living.size > 0
