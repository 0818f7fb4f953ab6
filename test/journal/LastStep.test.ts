/** Of the states that were saved for steps, which the journal goes on from: also where the last one is lost, or one was never made. */
import { Effect, Layer } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as Block from "../../src/journal/Block.js"
import { Journal } from "../../src/journal/Journal.js"
import * as LastStep from "../../src/journal/LastStep.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { stepLost } from "../../src/sequencer/StepLost.js"
import { versions } from "../../src/sequencer/Versions.js"
import { complete } from "../engine/commands.js"
import { append, commandOf, generator, outcome, session } from "./Harness.js"

const before = versions.rules - 1

const start = (rules: number, stateAfter: string) =>
  complete({ kind: "StartVenue", ...versions, rules, stateBefore: stateAfter, stateAfter })

/**
 * A journal whose records are: opened under the rules before the last two, 3 the step to those before, 5 a start of theirs, 7 the step to the
 * present ones, 8 one more record.
 */
const commands = [
  complete({ kind: "OpenVenue", ...versions, rules: before - 1, environment: "development" }),
  commandOf(2, 40),
  start(before, "aa"),
  commandOf(4, 40),
  start(before, ""),
  commandOf(6, 40),
  start(versions.rules, "bb"),
  commandOf(8, 40)
]

const journalOf = async (length: number): Promise<SimDisk.SimDisk> => {
  const disk = SimDisk.make({ random: generator(1) })
  await session(disk, Effect.gen(function*() {
    const { opened } = yield* Journal
    let previousDigest = opened.digest
    for (const [index, command] of commands.slice(0, length).entries()) {
      const builder = new Block.Builder()
      builder.begin({ epoch: opened.epoch, firstSequence: index + 1, previousDigest })
      builder.add(index + 1, 1_000, command)
      const block = builder.finish(outcome(index + 1))
      yield* append(block)
      previousDigest = block.digest
    }
  }))
  return disk
}

const save = (steps: ReadonlyArray<number>) =>
  Effect.gen(function*() {
    const { saveStep } = yield* SnapshotStore.SnapshotStore
    for (const sequence of steps) yield* saveStep({ sequence, blockDigest: new Uint8Array(32), schema: 1, sections: [] })
  }).pipe(Effect.provide(SnapshotStore.layer))

const told = Effect.gen(function*() {
  const [journal, store] = [yield* Journal, yield* SnapshotStore.SnapshotStore]
  return {
    first: yield* LastStep.firstSequence(journal, store),
    last: yield* LastStep.lastSequence(journal, store),
    lost: (yield* stepLost(journal)) !== undefined
  }
}).pipe(Effect.provide(Layer.merge(SegmentJournal.layerReadOnly, SnapshotStore.layerReadOnly)))

test.each([
  ["of two steps", 8, [2, 6], { first: 3, last: 7, lost: false }],
  ["where the state of the last one is lost", 8, [2], { first: 3, last: 3, lost: true }],
  ["where that of the first one is lost", 8, [6], { first: 7, last: 7, lost: false }],
  ["where both are lost", 8, [], { first: undefined, last: undefined, lost: true }],
  ["beside one that was never made, before the last", 8, [2, 4, 6], { first: 3, last: 7, lost: false }],
  ["beside one that was never made, whose last is lost", 8, [2, 4], { first: 3, last: 3, lost: true }],
  ["beside one that was never made, before all", 8, [1, 2, 6], { first: 3, last: 7, lost: false }],
  ["beside one that was never made, behind all", 8, [2, 6, 7], { first: 3, last: 7, lost: false }],
  ["where the last is about to be made", 6, [2, 6], { first: 3, last: 3, lost: false }]
] as const)("the steps and what is lost of them, %s", async (_, length, steps, expected) => {
  const disk = await journalOf(length)
  await Effect.runPromise(Effect.provide(save(steps), disk.mount()))
  expect(await Effect.runPromise(Effect.provide(told, disk.mount()))).toEqual(expected)
})

test("a state of a step that was never made is removed, once the journal has gone on without it, and no other", async () => {
  const disk = await journalOf(8)
  const files = Effect.gen(function*() {
    yield* save([1, 2, 4, 6, 7, 8])
    const [journal, store] = [yield* Journal, yield* SnapshotStore.SnapshotStore]
    yield* LastStep.removeAbandoned(journal, store, (yield* store.names).steps)
  })
  await Effect.runPromise(files.pipe(
    Effect.provide(Layer.merge(SegmentJournal.layerReadOnly, SnapshotStore.layer)),
    Effect.provide(disk.mount())
  ))
  disk.crash("power")
  expect(disk.files().filter((name) => name.endsWith(".step")).map((name) => Number(name.slice(-25, -5)))).toEqual([2, 6, 8])
})
