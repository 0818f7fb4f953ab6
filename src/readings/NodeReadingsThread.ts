/** The thread that reads the journal for `NodeReadings`. It has a lower priority than the writer where the processor is short. */
import { parentPort, workerData } from "node:worker_threads"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { assert } from "../domain/Assert.js"
import * as Snapshot from "../engine/Snapshot.js"
import * as NodeDisk from "../journal/NodeDisk.js"
import * as NodeThreads from "../NodeThreads.js"
import * as SnapshotStore from "../journal/SnapshotStore.js"
import { stepBack } from "../sequencer/NodePriority.js"
import * as NodeTurns from "../sequencer/NodeTurns.js"
import type { Begun } from "./NodeReadings.js"
import type { Said } from "./Protocol.js"
import { serve } from "./Serving.js"

assert(parentPort !== null, "it is started as a thread")
const port = parentPort
const { capacity, dataDir } = workerData as Begun

const say = (said: Said): void => port.postMessage(said)

const program = Effect.gen(function*() {
  stepBack()
  port.on("message", yield* serve(capacity, say))
  return yield* Effect.never
})

const logger = Logger.replace(Logger.defaultLogger,
  Logger.make(({ message }) => say({ _tag: "Warned", text: `reading the journal: ${String(message)}` })))

NodeThreads.run(program.pipe(
  Effect.provide(
    Layer.provideMerge(SnapshotStore.layerBesideInto(Snapshot.memoryFor(capacity)), Layer.merge(NodeDisk.layer(dataDir), NodeTurns.layer))
  ),
  Effect.provide(logger)
))
