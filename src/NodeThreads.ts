/**
 * The threads of this process, each for as long as it lives. When the process exits, Node waits for all of them, without a time limit and
 * with no timer running; and a call to SQLite that fails in a thread that is being terminated takes the whole process down. So the process
 * exits only once no thread is left, and a thread that uses SQLite is asked to end by itself.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Worker } from "node:worker_threads"

const living = new Set<Worker>()

/** Starts a thread; it is counted until the system has released it. */
export const begin = (file: URL, workerData: unknown): Worker => {
  const worker = new Worker(file, { workerData })
  living.add(worker)
  worker.once("exit", () => living.delete(worker))
  return worker
}

/** Runs the program of a thread: whoever began the thread is told by its `error` event why the program failed. */
export const run = <A, E>(program: Effect.Effect<A, E>): void => {
  Effect.runFork(program).addObserver((exit) => {
    if (Exit.isSuccess(exit)) return
    queueMicrotask(() => {
      throw Cause.squash(exit.cause)
    })
  })
}

/** Whether any thread is left. */
export const areLeft = (): boolean => living.size > 0
