/** What is told of the state of the last step, also where it cannot be looked at. */
import { Effect, Layer, Logger, Stream } from "effect"
import { expect, test } from "vitest"
import { Disk, DiskError } from "../../src/journal/Disk.js"
import { SnapshotStore } from "../../src/journal/SnapshotStore.js"
import { tellStepLost } from "../../src/sequencer/StepLost.js"

test.each([
  ["a disk that fails", Effect.fail(new DiskError({ operation: "list", path: "snapshots", code: "EIO" })),
    /last step.* can be read: .*EIO/s],
  ["a defect", Effect.dieMessage("a mistake of ours"), /last step.* can be read: .*a mistake of ours/s]
])("that it cannot be looked at is logged: %s", async (_, names, words) => {
  const logged: Array<string> = []
  const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void logged.push(String(message))))
  const store = Layer.merge(Layer.succeed(Disk, {} as never), Layer.succeed(SnapshotStore, { names } as never))
  await Effect.runPromise(tellStepLost({ replay: () => Stream.empty }).pipe(Effect.provide(store), Effect.provide(logger)))
  expect(logged).toEqual([expect.stringMatching(words)])
})
