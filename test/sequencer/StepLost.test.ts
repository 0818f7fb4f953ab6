/** What is told of the state of the last step, also where it cannot be looked at. */
import { Effect, Layer, Logger } from "effect"
import { expect, test } from "vitest"
import { Disk, DiskError } from "../../src/journal/Disk.js"
import { tellStepLost } from "../../src/sequencer/StepLost.js"

test.each([
  ["a disk that fails", Effect.fail(new DiskError({ operation: "list", path: "snapshots", code: "EIO" })),
    /last step.* can be read: .*EIO/s],
  ["a defect", Effect.dieMessage("a mistake of ours"), /last step.* can be read: .*a mistake of ours/s]
])("that it cannot be looked at is logged: %s", async (_, list, words) => {
  const logged: Array<string> = []
  const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void logged.push(String(message))))
  const disk = Layer.succeed(Disk, { listOwn: () => list } as never)
  await Effect.runPromise(tellStepLost.pipe(Effect.provide(disk), Effect.provide(logger)))
  expect(logged).toEqual([expect.stringMatching(words)])
})
