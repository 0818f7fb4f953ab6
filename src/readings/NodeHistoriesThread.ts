/**
 * The thread that makes the histories for `NodeHistoriesBeside`, with their database. It has a lower priority than the writer where the
 * processor is short.
 */
import { parentPort, workerData } from "node:worker_threads"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { assert } from "../domain/Assert.js"
import * as Snapshot from "../engine/Snapshot.js"
import * as NodeDisk from "../journal/NodeDisk.js"
import * as NodeThreads from "../NodeThreads.js"
import * as SnapshotStore from "../journal/SnapshotStore.js"
import * as NodeHistories from "../readmodel/NodeHistories.js"
import { stepBack } from "../sequencer/NodePriority.js"
import * as NodeTurns from "../sequencer/NodeTurns.js"
import type { Said } from "./HistoriesProtocol.js"
import { serve } from "./HistoriesServing.js"
import type { Started } from "./NodeHistoriesBeside.js"

assert(parentPort !== null, "it is started as a thread")
const port = parentPort
const { begun, capacity, dataDir } = workerData as Started

const say = (said: Said): void => port.postMessage(said)

const logger = Logger.replace(Logger.defaultLogger,
  Logger.make(({ logLevel, message }) =>
    say({ _tag: "Logged", isError: LogLevel.greaterThanEqual(logLevel, LogLevel.Error), text: String(message) })
  ))

const leaves = Layer.mergeAll(
  Layer.provideMerge(SnapshotStore.layerBesideInto(Snapshot.memoryFor(capacity)), NodeDisk.layer(dataDir)),
  NodeHistories.layer(dataDir),
  NodeTurns.layer
)

stepBack()

NodeThreads.run(
  serve(begun, capacity, say, () => port.close()).pipe(
    Effect.map((hear) => port.on("message", hear)),
    Effect.provide(leaves),
    Effect.provide(logger)
  )
)
