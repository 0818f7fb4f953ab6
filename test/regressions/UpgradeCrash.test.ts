/**
 * The upgrade's step from rules 1, cut off at every operation of the disk and with faults during it: the next start continues it, journals
 * the step once, and reaches the same state.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Cause, Effect, Exit, Layer, Stream } from "effect"
import { afterAll, describe, expect, test } from "vitest"
import { withoutRequestId } from "../../scripts/fixtures/Version.js"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { Journal } from "../../src/journal/Journal.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import type { StartVenue } from "../../src/operations/venue/StartVenue.js"
import { engineOf } from "../../src/sequencer/Recovery.js"
import { versions } from "../../src/sequencer/Versions.js"
import { stateDigest } from "../../src/sequencer/StateDigest.js"
import { line, runAll } from "../cli/Tool.js"
import { generator } from "../journal/Harness.js"
import * as Kept from "./KeptVersion.js"
import { few } from "../Depth.js"

const exchanges = Kept.exchangesOf("rules-1")
const soonAfterMs = Kept.soonAfterMs(exchanges)
const { takenOverAt } = Kept
const keptFiles = Kept.filesOf("rules-1")
const stepPath = "snapshots/00000000000000000048.step"

/** Starts the present venue with small segments: each of hundreds of starts fills a spare one with zeros. */
const start = (disk: Parameters<typeof Kept.start>[0], atEpochMs: number) =>
  Kept.start(disk, atEpochMs, { journal: { segmentBytes: 2 ** 18, maxBlockBytes: 2 ** 16 } })

/** A disk with a kept directory, whose operations the test controls from now on. */
const trouble = async (random: () => number = () => 0) => {
  const plan: { each: (call: SimDisk.Call) => ReturnType<NonNullable<SimDisk.Options["inject"]>> } = { each: () => undefined }
  const disk = await Kept.diskOf("rules-1", { random, inject: (call) => plan.each(call) }, keptFiles)
  return { disk, plan }
}

/** Runs a start until it has finished, or the disk has crashed at its `at`th operation. */
const startUntil = (
  { disk, plan }: Awaited<ReturnType<typeof trouble>>,
  operations: number,
  kind: SimDisk.Crash
): Promise<Kept.Running | "crashed"> => {
  const crashAt = disk.calls() + operations
  return new Promise((resolve, reject) => {
    plan.each = ({ index }) => {
      if (index < crashAt) return undefined
      plan.each = () => undefined
      disk.crash(kind)
      resolve("crashed")
      return undefined
    }
    Effect.runFork(start(disk.mount(), soonAfterMs)).addObserver((exit) => {
      plan.each = () => undefined
      if (Exit.isSuccess(exit)) resolve(exit.value)
      else reject(Cause.squash(exit.cause))
    })
  })
}

/** The starts journaled after what was taken over, oldest first. */
const starts = (disk: SimDisk.SimDisk): Promise<ReadonlyArray<StartVenue>> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const blocks = yield* Stream.runCollect(journal.replay(takenOverAt + 1))
    return [...blocks].flatMap(({ records }) => records).map(({ command }) => {
      if (command.kind !== "StartVenue") throw new Error(`a ${command.kind} among the starts`)
      return command
    })
  }).pipe(Effect.provide(Layer.provide(SegmentJournal.layerReadOnly, disk.mount())), Effect.runPromise)

const reckonDigests = async (): Promise<{ readonly stateBefore: string; readonly stateAfter: string }> => {
  const disk = await Kept.diskOf("rules-1")
  const store = await Effect.runPromise(
    Effect.provide(SnapshotStore.SnapshotStore, Layer.provide(SnapshotStore.layerReadOnly, disk.mount()))
  )
  const stored = await Effect.runPromise(store.load(takenOverAt))
  if (typeof stored === "string") throw new Error(stored)
  const engine = await Effect.runPromise(engineOf(stored, { orders: 10_000, idempotencyKeys: 10_000 }))
  return { stateBefore: Buffer.from(stored.digest).toString("hex"), stateAfter: stateDigest(engine.state) }
}

/** The state digests after the step, the same for every start. */
const digestsOfStep = reckonDigests()

/** The last start succeeded: the step is journaled once, first, and every promise still holds. */
const expectTakenOver = async (disk: SimDisk.SimDisk, running: Kept.Running): Promise<void> => {
  const [step, ...later] = await starts(disk)
  expect(step).toMatchObject({ rules: versions.rules, codec: versions.codec, ...await digestsOfStep })
  for (const start of later) expect(start).toMatchObject({ rules: versions.rules, stateBefore: "", stateAfter: "" })
  expect(running.venue.reads.sequence).toBe(takenOverAt + 1 + later.length)
  const filled = exchanges.find(({ title }) => title === "an order that fills one, and rests")!
  const answer = await running.ask(filled.request)
  expect(withoutRequestId(answer.body)).toBe(withoutRequestId(filled.answer.body))
  expect(disk.files()).toContain(stepPath)
}

/** The disk operations of an undisturbed start, in order. */
const operationsOfStart = async (): Promise<ReadonlyArray<SimDisk.Call>> => {
  const { disk, plan } = await trouble()
  const calls: Array<SimDisk.Call> = []
  plan.each = (call) => {
    calls.push(call)
    return undefined
  }
  const running = await Effect.runPromise(start(disk.mount(), soonAfterMs))
  plan.each = () => undefined
  await running.stop()
  return calls
}

const operations = await operationsOfStart()
const journaledAt = operations.findIndex(({ operation, path }) => operation === "writeAt" && path.endsWith(".seg"))

/** Whether an operation is in the middle of many writes to one file that is read only after the last of them. */
const isWithinWrites = (at: number): boolean =>
  [-2, -1, 0, 1, 2].every((off) => operations[at + off]?.operation === "writeAt" && operations[at + off]?.path === operations[at]!.path)

/** Whether an operation may change the disk: one that only reads leaves what was there before it, whatever is lost. */
const changes = ({ operation, path }: SimDisk.Call): boolean =>
  !["readAt", "list", "size"].includes(operation) && !(operation === "open" && keptFiles.has(path))

/**
 * Where starts are cut off: just before and just behind every operation that may change the disk, but within many writes in a row only at
 * one in eight. Between two that only read a cut leaves what it leaves before the first of them.
 */
const cuts = [...operations.keys()].filter((at) => {
  const isAtChange = at === 0 || changes(operations[at]!) || changes(operations[at - 1]!)
  return isAtChange && (at % 8 === 0 || !isWithinWrites(at))
})

test("a start is cut off before the step is journaled, at it and behind it", () => {
  expect(cuts.filter((at) => at < journaledAt).length).toBeGreaterThan(30)
  expect(cuts).toEqual(expect.arrayContaining([0, journaledAt, journaledAt + 1]))
})

/** Divides the places among several tests: a single long test would exceed its time limit when anything else runs. */
const partsOf = (places: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<number>> =>
  Array.from({ length: 4 }, (_, part) => places.filter((_, index) => index % 4 === part))

/** Some of the places; the journal's first write and what is just behind it are among them. */
const oneIn = (every: number): ReadonlyArray<number> =>
  cuts.filter((at, index) => index % every === 0 || at === journaledAt || at === journaledAt + 1)

// What a kill leaves is one of the states that a loss of power may leave, so fewer places, and fewer seeds, are enough for it.
const losses = [["power", oneIn(few(2, 1)), few(3, 5)], ["kill", oneIn(few(7, 3)), few(1, 2)]] as const

describe.each(losses)("loss of %s", (kind, places, seeds) => {
  test.each(partsOf(places))("at operations %i, %i, %i and so on of the step: the next start ends in the same state", async (...part) => {
    for (const at of part) {
      const troubled = await trouble(generator(at + 1))
      if (await startUntil(troubled, at, kind) !== "crashed") {
        // After the step the histories read beside the start, which may finish before they have read as much as in the other run.
        expect(at).toBeGreaterThan(journaledAt + 1)
        troubled.disk.crash(kind)
      }
      const running = await Effect.runPromise(start(troubled.disk.mount(), soonAfterMs + 1_000))
      if (at <= journaledAt) expect(running.venue.reads.sequence).toBe(takenOverAt + 1)
      await expectTakenOver(troubled.disk, running)
      await running.stop()
    }
  })

  test("again and again", async () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const random = generator(seed)
      const troubled = await trouble(random)
      for (let time = 0; time < 5; time++) {
        const ended = await startUntil(troubled, Math.floor(random() * 60), kind)
        if (ended !== "crashed") troubled.disk.crash(kind)
      }
      const running = await Effect.runPromise(start(troubled.disk.mount(), soonAfterMs + 1_000))
      await expectTakenOver(troubled.disk, running)
      await running.stop()
    }
  })
})

test("without room for the state it begins with the start fails and says so; nothing is lost, and the next goes on", async () => {
  const { disk, plan } = await trouble()
  const before = Kept.contents(disk)
  plan.each = ({ operation, path }) => operation === "writeAt" && path.startsWith("snapshots/") ? "ENOSPC" : undefined
  const refused = await Effect.runPromise(Effect.flip(start(disk.mount(), soonAfterMs)))
  expect(refused).toMatchObject({ _tag: "StepNotKept", sequence: takenOverAt })
  expect(refused.message).toContain("ENOSPC")
  expect(refused.message).toContain("the start may be tried again, by this version or the one before")
  expect(Kept.contents(disk)).toEqual(before)
  plan.each = () => undefined
  const running = await Effect.runPromise(start(disk.mount(), soonAfterMs))
  await expectTakenOver(disk, running)
  await running.stop()
})

test.each(["writeAt", "dataSync", "rename", "syncDirectory"] as const)("a %s that fails within the step is survived", async (operation) => {
  const { disk, plan } = await trouble()
  plan.each = (call) => call.operation === operation && call.path.startsWith("snapshots") ? "EIO" : undefined
  const refused = await Effect.runPromise(Effect.flip(start(disk.mount(), soonAfterMs)))
  expect(["StepNotKept", "DiskError"]).toContain(refused._tag)
  plan.each = () => undefined
  disk.crash("power")
  const running = await Effect.runPromise(start(disk.mount(), soonAfterMs))
  await expectTakenOver(disk, running)
  await running.stop()
})

describe("a damaged state of the step", () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "upgrade-crash-"))
  afterAll(() => fs.rmSync(directory, { recursive: true }))

  /** A directory that was taken over, and whose step was then damaged. */
  const damaged = async (damage: (disk: SimDisk.SimDisk) => void) => {
    const disk = await Kept.diskOf("rules-1")
    const first = await Effect.runPromise(start(disk.mount(), soonAfterMs))
    await first.stop()
    damage(disk)
    return disk
  }

  test.each([
    ["a flipped bit", (disk: SimDisk.SimDisk) => disk.flip(stepPath, 900, 3)],
    ["zeros at its end", (disk: SimDisk.SimDisk) => disk.overwrite(stepPath, 4_096, new Uint8Array(disk.bytes(stepPath).length - 4_096))]
  ])("(%s) is said by replay, and a start from a newer snapshot goes on", async (name, damage) => {
    const disk = await damaged(damage)
    const data = path.join(directory, name.replaceAll(" ", "-"))
    Kept.writeOut(disk, data)
    const asked = [["--verify"], ["--at", "49"], ["--diff"]].map((words) => line("dist/tools/replay.js", ["--data", data, ...words]))
    for (const { code, stderr } of await runAll(asked)) {
      expect(stderr).toContain("the state that the last step began with is damaged: its digest does not match its bytes")
      expect(code).toBe(2)
    }
    const running = await Effect.runPromise(start(disk.mount(), soonAfterMs + 1_000))
    expect(running.venue.recovered).toEqual({ fromSequence: takenOverAt + 1, records: 0 })
    await running.stop()
  })

  test("is made again where the step itself is not journaled yet", async () => {
    const { disk, plan } = await trouble()
    // The machine crashes once the state is saved.
    const ended = new Promise<void>((resolve) => {
      plan.each = ({ operation, path }) => {
        if (operation !== "writeAt" || !path.startsWith("journal/") || !disk.files().includes(stepPath)) return undefined
        plan.each = () => undefined
        disk.crash("power")
        resolve()
        return undefined
      }
    })
    Effect.runFork(start(disk.mount(), soonAfterMs))
    await ended
    disk.flip(stepPath, 900, 3)
    const running = await Effect.runPromise(start(disk.mount(), soonAfterMs))
    await expectTakenOver(disk, running)
    await running.stop()
    const store = await Effect.runPromise(
      Effect.provide(SnapshotStore.SnapshotStore, Layer.provide(SnapshotStore.layerReadOnly, disk.mount()))
    )
    expect(await Effect.runPromise(store.loadStep(takenOverAt))).toMatchObject({ sequence: takenOverAt })
  })

  test("without any other snapshot there is nothing to go on from, and the missing state of the step is named", async () => {
    const disk = await damaged((disk) => disk.flip(stepPath, 900, 3))
    const files = new Map(disk.files().filter((file) => /\.(seg|step)$/.test(file)).map((file) => [file, disk.bytes(file)]))
    const bare = SimDisk.make({ random: () => 0 })
    await Effect.runPromise(Effect.provide(Kept.lay(files), bare.mount()))
    const refused = await Effect.runPromise(Effect.flip(start(bare.mount(), soonAfterMs)))
    expect(refused).toMatchObject({ _tag: "StepMissing", fromSequence: 1, takenOverAt: takenOverAt + 1, program: "0.1.0" })
  })
})

test("what was taken over starts from the step alone, and replays to the same", async () => {
  const disk = await Kept.diskOf("rules-1")
  const first = await Effect.runPromise(start(disk.mount(), soonAfterMs))
  await first.stop()
  const files = new Map(disk.files().filter((file) => /\.(seg|step)$/.test(file)).map((file) => [file, disk.bytes(file)]))
  const bare = SimDisk.make({ random: () => 0 })
  await Effect.runPromise(Effect.provide(Kept.lay(files), bare.mount()))
  const running = await Effect.runPromise(start(bare.mount(), soonAfterMs + 1_000))
  expect(running.venue.recovered).toEqual({ fromSequence: takenOverAt, records: 1 })
  await expectTakenOver(bare, running)
  await running.stop()
})
