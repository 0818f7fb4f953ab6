/**
 * Makes a venue's histories in a thread of its own (`NodeHistoriesThread`). The thread ends by itself when asked to: terminating it in the
 * midst of SQLite could crash the process.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Worker } from "node:worker_threads"
import type { Capacity } from "../engine/State.js"
import * as NodeThreads from "../NodeThreads.js"
import { HistoriesHost } from "../readmodel/HistoriesHost.js"
import * as HistoriesBeside from "./HistoriesBeside.js"
import type { Begun, Said } from "./HistoriesProtocol.js"

/** The thread's start parameters. */
export interface Started {
  readonly dataDir: string
  readonly capacity: Capacity
  readonly begun: Begun
}

const dialTo = (dataDir: string, capacity: Capacity): HistoriesBeside.Dial => {
  /** Resolves when the previous thread has ended: two never write to the database at once. */
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
      // The thread alone does not keep the process alive.
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
          // A disk that does not answer is not waited for: the journal supplies again what was not written. The thread ends when the disk
          // has answered; until then its messages are ignored.
        })
    }
  }
}

/** Histories of the journal in this data directory. */
export const layer = (dataDir: string, capacity: Capacity): Layer.Layer<HistoriesHost> =>
  Layer.succeed(HistoriesHost, { make: (source) => HistoriesBeside.make(dialTo(dataDir, capacity), source) })
