/**
 * A follower in a thread of its own (`NodeFollowerThread`), over the data directory beside its writer. It ends with the process.
 * Where the thread fails or is terminated alone, it counts as ended once the system has finished all its work, so that no two
 * followers ever write a snapshot at once.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Worker } from "node:worker_threads"
import * as NodeDisk from "../journal/NodeDisk.js"
import { lockPath } from "../journal/SegmentJournal.js"
import * as NodeThreads from "../NodeThreads.js"
import { type Ended, FollowerHost, type Said, type Setting, type Told } from "./FollowerHost.js"

/** The data that the thread is started with. */
export interface Begun {
  readonly dataDir: string
  readonly setting: Setting
  readonly memory: SharedArrayBuffer
  /** The lock under which it may write, where one is held. */
  readonly lock: NodeDisk.LockedFile | undefined
  /** Whether it is the first of its process, which tells whether the state of the last step is lost: it has to read all of it. */
  readonly isFirst: boolean
}

/** Messages from the thread; the last one says why it ended. */
export type Message = Said | { readonly _tag: "Ended"; readonly ended: Ended }

type Where = Pick<Begun, "dataDir" | "isFirst" | "lock">

const runAt = (where: Where, setting: Setting, told: Told, hear: (said: Said) => void): Effect.Effect<never, Ended> =>
  Effect.async((resume) => {
    const workerData: Begun = { ...where, setting, memory: told.memory }
    let worker: Worker
    try {
      worker = NodeThreads.begin(new URL("./NodeFollowerThread.js", import.meta.url), workerData)
    } catch (cause) {
      // The system may be out of threads now and have one later.
      return resume(Effect.fail({ reason: `its thread did not begin: ${String(cause)}` }))
    }
    let ended: Ended = { reason: "its thread has ended" }
    worker.on("message", (message: Message) => {
      if (message._tag === "Ended") ended = message.ended
      else hear(message)
    })
    worker.on("error", (cause) => {
      ended = { reason: String(cause) }
    })
    const exited = new Promise<void>((resolve) => {
      worker.once("exit", () => {
        resolve()
        resume(Effect.fail(ended))
      })
    })
    // The thread alone does not keep the process alive.
    worker.unref()
    return Effect.promise(async () => {
      await worker.terminate()
      await exited
    })
  })

/** Follows the writer of this data directory. */
export const layer = (dataDir: string): Layer.Layer<FollowerHost> =>
  Layer.sync(FollowerHost, () => {
    let place: Pick<Begun, "dataDir" | "lock"> | undefined
    return {
      run: (setting, told, hear) =>
        Effect.suspend(() => {
          // The first follower begins soon after the writer has taken the lock. Later ones would take another process's for it.
          const isFirst = place === undefined
          place ??= { dataDir, lock: NodeDisk.lockedFile(dataDir, lockPath) }
          return runAt({ ...place, isFirst }, setting, told, hear)
        })
    }
  })
