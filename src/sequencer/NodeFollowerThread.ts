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
import * as NodeDisk from "../journal/NodeDisk.js"
import * as SnapshotStore from "../journal/SnapshotStore.js"
import { endedBy, follow } from "./Follower.js"
import { type Ended, Told } from "./FollowerHost.js"
import type { Begun, Message } from "./NodeFollower.js"
import { stepBack } from "./NodePriority.js"
import { tellStepLost } from "./StepLost.js"

assert(parentPort !== null, "it is started as a thread")
const port = parentPort
const { dataDir, isFirst, lock, memory, setting } = workerData as Begun

const say = (message: Message): void => port.postMessage(message)

const logger = Logger.replace(Logger.defaultLogger,
  Logger.make(({ message }) => say({ _tag: "Warned", text: `the follower: ${String(message)}` })))

const endOf = (cause: Cause.Cause<unknown>): Ended => ({ reason: Cause.pretty(cause) })

const program = Effect.sync(stepBack).pipe(
  // This thread tells it because the state may be large: reading it would hold up the writer.
  Effect.zipRight(isFirst ? Effect.forkDaemon(tellStepLost) : Effect.void),
  Effect.zipRight(Effect.either(follow(setting, new Told(memory), say))),
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
