/** Whoever reads the journal for a venue, as a thread of its own (`NodeReadingsThread`). It dies with the process. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Worker } from "node:worker_threads"
import type { Capacity } from "../engine/State.js"
import * as NodeThreads from "../NodeThreads.js"
import type { ReplayHost } from "../streams/ReplayHost.js"
import type { Asked, Said } from "./Protocol.js"
import * as Readings from "./Readings.js"

/** What the thread is started with. */
export interface Begun {
  readonly dataDir: string
  readonly capacity: Capacity
}

const dialTo = (workerData: Begun): Readings.Dial => (heard, gone) => {
  let worker: Worker
  try {
    worker = NodeThreads.begin(new URL("./NodeReadingsThread.js", import.meta.url), workerData)
  } catch (cause) {
    // The system may have no thread left now, and have one later. It is gone once whoever dialled has the line.
    queueMicrotask(() => gone(`the thread that reads the journal did not begin: ${String(cause)}`))
    return { tell: () => {}, end: Effect.void }
  }
  let reason = "the thread that reads the journal has ended"
  worker.on("message", (said: Said) => heard(said))
  worker.on("error", (cause) => {
    reason = `the thread that reads the journal has failed: ${String(cause)}`
  })
  worker.on("exit", () => gone(reason))
  // It alone does not keep the process.
  worker.unref()
  return {
    tell: (asked: Asked) => worker.postMessage(asked),
    // What it reads of a disk that does not answer is not waited for.
    end: Effect.sync(() => void worker.terminate())
  }
}

/** Reads what whoever has this data directory has written. */
export const layer = (dataDir: string, capacity: Capacity): Layer.Layer<ReplayHost> => Readings.layer(dialTo({ dataDir, capacity }))
