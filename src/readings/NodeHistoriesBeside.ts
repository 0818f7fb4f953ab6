/**
 * Whoever makes a venue's histories, as a thread of its own (`NodeHistoriesThread`). It ends by itself once it was asked to: a process that
 * ended it in the midst of SQLite could die of that.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Worker } from "node:worker_threads"
import type { Capacity } from "../engine/State.js"
import * as NodeThreads from "../NodeThreads.js"
import { HistoriesHost } from "../readmodel/HistoriesHost.js"
import * as HistoriesBeside from "./HistoriesBeside.js"
import type { Begun, Said } from "./HistoriesProtocol.js"

/** What the thread is started with. */
export interface Started {
  readonly dataDir: string
  readonly capacity: Capacity
  readonly begun: Begun
}

const dialTo = (dataDir: string, capacity: Capacity): HistoriesBeside.Dial => {
  /** Over when the thread before has ended: two never write to the database at once. */
  let before: Promise<void> = Promise.resolve()
  return (begun, heard, gone) => {
    let worker: Worker | undefined
    let isOver = false
    const begin = (resolve: () => void): void => {
      if (isOver) return resolve()
      let reason = "their thread has ended"
      const started: Started = { dataDir, capacity, begun }
      worker = NodeThreads.begin(new URL("./NodeHistoriesThread.js", import.meta.url), started)
      worker.on("message", (said: Said) => {
        if (!isOver) heard(said)
      })
      worker.on("error", (cause) => {
        reason = `their thread has failed: ${String(cause)}`
      })
      worker.once("exit", () => {
        resolve()
        gone(reason)
      })
      // It alone does not keep the process.
      worker.unref()
    }
    const exited = before.then(() => new Promise<void>(begin)).catch((cause: unknown) =>
      gone(`their thread did not begin: ${String(cause)}`)
    )
    before = exited
    return {
      tell: (asked, transfer) => worker?.postMessage(asked, transfer),
      end: (patienceMs) =>
        Effect.promise(async () => {
          isOver = true
          worker?.postMessage({ _tag: "End" })
          let timer: NodeJS.Timeout | undefined
          await Promise.race([exited, new Promise<void>((resolve) => void (timer = setTimeout(resolve, patienceMs)))])
          clearTimeout(timer)
          // Whatever the disk does not answer is not waited for: what was not written is made again from the journal. The thread goes
          // when the disk has answered, and nobody hears it until then.
        })
    }
  }
}

/** Makes them of what whoever has this data directory writes. */
export const layer = (dataDir: string, capacity: Capacity): Layer.Layer<HistoriesHost> =>
  Layer.succeed(HistoriesHost, { make: (source) => HistoriesBeside.make(dialTo(dataDir, capacity), source) })
