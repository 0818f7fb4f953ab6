/** The follower's thread: reports its progress, and why it ended. It runs at lower priority than the writer. */
import { parentPort, workerData } from "node:worker_threads"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { assert } from "../domain/Assert.js"
import * as Snapshot from "../engine/Snapshot.js"
import { Disk } from "../journal/Disk.js"
import * as NodeDisk from "../journal/NodeDisk.js"
import * as JournalReading from "../journal/Reading.js"
import * as SnapshotStore from "../journal/SnapshotStore.js"
import { endedBy, follow } from "./Follower.js"
import { type Ended, Told } from "./FollowerHost.js"
import type { Begun, Message } from "./NodeFollower.js"
import { stepBack } from "./NodePriority.js"
import { tellStepLost } from "./StepLost.js"

assert(parentPort !== null, "it is started as a thread")
const port = parentPort
const { dataDir, isFirst, lock, memory, setting } = workerData as Begun

const told = new Told(memory)

const say = (message: Message): void => port.postMessage(message)

const logger = Logger.replace(Logger.defaultLogger,
  Logger.make(({ message }) => say({ _tag: "Warned", text: `the follower: ${String(message)}` })))

const endOf = (cause: Cause.Cause<unknown>): Ended => ({ reason: Cause.pretty(cause) })

/** This thread tells it because the state may be large: reading it would hold up the writer. */
const tellOfStep = Effect.flatMap(Disk, (disk) => tellStepLost(JournalReading.reading(disk, () => [], () => told.durable)))

const program = Effect.sync(stepBack).pipe(
  Effect.zipRight(isFirst ? Effect.forkDaemon(tellOfStep) : Effect.void),
  Effect.zipRight(Effect.either(follow(setting, told, say))),
  Effect.provide(
    Layer.provideMerge(SnapshotStore.layerBesideInto(Snapshot.memoryFor(setting.capacity)), NodeDisk.layerBeside(dataDir, lock))
  ),
  Effect.provide(logger)
)

Effect.runFork(program).addObserver((exit) => {
  const ended = Exit.isFailure(exit) ? endOf(exit.cause) : endedBy(Either.merge(exit.value))
  say({ _tag: "Ended", ended })
  port.close()
})
