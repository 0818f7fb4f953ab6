/** Reads the journal for a venue in a thread of its own (`NodeReadingsThread`), which ends with the process. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Worker } from "node:worker_threads"
import type { Capacity } from "../engine/State.js"
import * as NodeThreads from "../NodeThreads.js"
import type { ReplayHost } from "../streams/ReplayHost.js"
import type { Asked, Said } from "./Protocol.js"
import * as Readings from "./Readings.js"

/** The thread's start parameters. */
export interface Begun {
  readonly dataDir: string
  readonly capacity: Capacity
}

const dialTo = (workerData: Begun): Readings.Dial => (heard, gone) => {
  let worker: Worker
  try {
    worker = NodeThreads.begin(new URL("./NodeReadingsThread.js", import.meta.url), workerData)
  } catch (cause) {
    // The system may have no thread left now, and have one later. `gone` is called only after the caller has received the line.
    queueMicrotask(() => gone(`the thread that reads the journal did not begin: ${String(cause)}`))
    return { tell: () => {}, end: Effect.void }
  }
  let reason = "the thread that reads the journal has ended"
  worker.on("message", (said: Said) => heard(said))
  worker.on("error", (cause) => {
    reason = `the thread that reads the journal has failed: ${String(cause)}`
  })
  worker.on("exit", () => gone(reason))
  // The thread alone does not keep the process alive.
  worker.unref()
  return {
    tell: (asked: Asked) => worker.postMessage(asked),
    // A read from a disk that does not answer is not waited for.
    end: Effect.sync(() => void worker.terminate())
  }
}

/** Reads the journal in this data directory. */
export const layer = (dataDir: string, capacity: Capacity): Layer.Layer<ReplayHost> => Readings.layer(dialTo({ dataDir, capacity }))
