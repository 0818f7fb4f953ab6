/**
 * The threads of this process, each for as long as it lives. When the process exits, Node waits for all of them, without a time limit and
 * with no timer running; and a call to SQLite that fails in a thread that is being terminated takes the whole process down. So the process
 * exits only once no thread is left, and a thread that uses SQLite is asked to end by itself.
 */
import { Worker } from "node:worker_threads"

const living = new Set<Worker>()

/** Starts a thread; it is counted until the system has released it. */
export const begin = (file: URL, workerData: unknown): Worker => {
  const worker = new Worker(file, { workerData })
  living.add(worker)
  worker.once("exit", () => living.delete(worker))
  return worker
}

/** Whether any thread is left. */
export const areLeft = (): boolean => living.size > 0
