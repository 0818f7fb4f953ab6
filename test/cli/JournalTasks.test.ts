/** What an operator is told about a journal with missing segments, and about cutting it: no complete record is given up silently. */
import { Effect, Layer } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { missingEnd, unreadable } from "../../src/cli/Exit.js"
import * as JournalTasks from "../../src/cli/venue/JournalTasks.js"
import type { Disk } from "../../src/journal/Disk.js"
import type { Corrupt } from "../../src/journal/Journal.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { appendMany, generator, segmentFiles, session } from "../journal/Harness.js"

const options: SegmentJournal.Options = { segmentBytes: 4096, maxBlockBytes: 2048 }

/** A journal of three segments with 18 records, the first sequences of the segments, and a file named like a snapshot of the last one. */
const journal = async () => {
  const disk = SimDisk.make({ random: generator(7), latencyMs: { min: 0, max: 0 } })
  await session(disk, appendMany(9, 3, 220), options)
  disk.create("snapshots/00000000000000000018.snap", Buffer.from("a snapshot"))
  const segments = segmentFiles(disk)
  expect(segments).toHaveLength(3)
  return { disk, segments, firsts: segments.map((path) => Number(/(\d+)\.seg$/.exec(path)![1])) }
}

const on = <A, E>(disk: SimDisk.SimDisk, task: Effect.Effect<A, E, Disk | SnapshotStore.SnapshotStore>): Promise<A> =>
  Effect.runPromise(Effect.provide(task, Layer.provideMerge(SnapshotStore.layerReadOnly, disk.mount())))

/** The error with which `venue journal info` ends. */
const refusal = async (disk: SimDisk.SimDisk): Promise<string> => {
  const error = await on(disk, Effect.flip(JournalTasks.info))
  return unreadable(error).text
}

test.each([
  ["the first segment", 1, "the segments before it are missing: put them back from a backup"],
  ["every segment", 3, "there is no segment: "]
])("without %s a backup is told, and no cut", async (_, removed, reason) => {
  const { disk, segments } = await journal()
  for (const path of segments.slice(0, removed)) disk.remove(path)
  const text = await refusal(disk)
  expect(text).toContain(reason)
  expect(text).toContain("nothing is to be cut: a segment of a copy")
  expect(text).not.toContain("--at")
})

test("of a gap in the middle a backup is told first and the cut second", async () => {
  const { disk, firsts, segments } = await journal()
  disk.remove(segments[1]!)
  const text = await refusal(disk)
  expect(text).toContain(
    `the next segment begins with sequence ${firsts[2]}: put the segments that hold those before it back from a backup`
  )
  expect(text).toMatch(
    new RegExp(`copy the data directory first; a segment of a copy .*; only where none has it, .*journal cut --at ${firsts[1]} `)
  )
})

test("what was damaged and is there is cut as before", async () => {
  const { disk, firsts, segments } = await journal()
  disk.flip(segments[1]!, 600, 0)
  expect(await refusal(disk)).toContain(
    `copy the data directory first; to give up everything from there on: npm run venue -- journal cut --at ${firsts[1]} `
  )
})

test("where the last write came in part no segment is looked for, whatever sequence behind it is named", async () => {
  const { disk, segments } = await journal()
  const last = segments.at(-1)!
  const bytes = disk.bytes(last)
  const written = bytes.findLastIndex((byte) => byte !== 0)
  disk.overwrite(last, Math.floor(written / 512) * 512, Buffer.alloc(512))
  const [, records] = /(\d+)/.exec((await on(disk, JournalTasks.info)).lines[0]!)!
  expect(await on(disk, JournalTasks.cut(Number(records) + 2)))
    .toEqual([`no record was cut: the journal ends before sequence ${Number(records) + 2}`, "removed the snapshot at 18"])
})

test("a cut says before how many records it gives up, behind a gap too", async () => {
  const { disk, firsts: [, second, third], segments } = await journal()
  const told = (sequence: number) => on(disk, JournalTasks.givenUp(sequence))
  expect((await told(1)).readable).toBe("18 records that can be read, in 3 segments, would be gone")
  expect((await told(third!)).readable).toBe(`${19 - third!} records that can be read, in 1 segment, would be gone`)
  expect((await told(19)).readable).toBe("no record that can be read would be gone")
  disk.remove(segments[0]!)
  expect((await told(1)).readable).toBe(`${19 - second!} records that can be read, in 2 segments, would be gone`)
})

test("a cut within a block says before that it gives up the whole of it, and from where on", async () => {
  const { disk } = await journal()
  let within = 0
  for (let sequence = 18; within === 0 && sequence > 1; sequence--) {
    if ((await on(disk, JournalTasks.givenUp(sequence))).firstSequence < sequence) within = sequence
  }
  const { firstSequence, readable } = await on(disk, JournalTasks.givenUp(within))
  expect(readable).toBe(`${19 - firstSequence} records that can be read, in 1 segment, would be gone`)
  expect(await on(disk, JournalTasks.givenUp(firstSequence))).toEqual({ firstSequence, readable })
  const [said] = await on(disk, JournalTasks.cut(within))
  expect(said).toContain(`the journal ends before sequence ${firstSequence}`)
})

test("a segment whose size a cut restores gives nothing up", async () => {
  const { disk, firsts, segments } = await journal()
  const bytes = Buffer.from(disk.bytes(segments[0]!))
  disk.remove(segments[0]!)
  disk.create(segments[0]!, Buffer.concat([bytes, Buffer.alloc(512)]))
  expect((await on(disk, JournalTasks.givenUp(firsts[1]!))).readable).toBe("no record that can be read would be gone")
})

test("a journal that nothing is left of is told to be empty, and snapshots that went are no nothing", async () => {
  const first = await journal()
  first.disk.remove(first.segments[0]!)
  const [cut, ...others] = await on(first.disk, JournalTasks.cut(1))
  expect(cut).toBe(`cut: ${first.segments[1]} and all behind it are removed; the journal is empty`)
  expect(others).toEqual([`removed ${first.segments[1]}`, `removed ${first.segments[2]}`, "removed the snapshot at 18"])
  const all = await journal()
  for (const path of all.segments) all.disk.remove(path)
  expect(await on(all.disk, JournalTasks.cut(1))).toEqual(["no record was cut: the journal is empty", "removed the snapshot at 18"])
  expect(await on(all.disk, JournalTasks.cut(1))).toEqual(["nothing was cut: the journal is empty"])
  const whole = await journal()
  expect(await on(whole.disk, JournalTasks.cut(19))).toEqual(["nothing was cut: the journal ends before sequence 19"])
})

/** A segment's bytes under the name of another sequence. */
const misplace = (disk: SimDisk.SimDisk, from: string, firstSequence: number): string => {
  const to = Segment.pathOf(firstSequence)
  disk.create(to, Buffer.from(disk.bytes(from)))
  return to
}

test("a segment put into the midst of another one is blamed itself, and no cut gives up what is whole before it", async () => {
  const { disk, firsts: [, second, third], segments } = await journal()
  const stray = misplace(disk, segments[0]!, third! + 2)
  const before = disk.files().map((path) => Buffer.from(disk.bytes(path)).toString("base64"))
  const text = await refusal(disk)
  expect(text).toContain(`${stray} is corrupt at offset 0 (sequence ${third! + 2}): it begins within the segment before it, whose records `
    + "are whole up to 18: it does not belong there, so move it away\nnothing is to be cut")
  expect(text).not.toContain("--at")
  // Those of the segment before are counted, and the cut that would discard them is refused.
  const { firstSequence, readable } = await on(disk, JournalTasks.givenUp(third! + 2))
  expect(firstSequence).toBeGreaterThanOrEqual(third!)
  expect(readable).toBe(`${19 - firstSequence} records that can be read, in 1 segment, would be gone`)
  const refused = unreadable(await on(disk, Effect.flip(JournalTasks.cut(third! + 2))) as Corrupt).text
  expect(refused).toContain(`${stray} is corrupt at offset 0 (sequence ${third! + 2}): it begins within the segment before it`)
  const behind = unreadable(await on(disk, Effect.flip(JournalTasks.cut(19))) as Corrupt).text
  expect(behind).toContain(`it is ${segments[0]} under another name: give it its own name back, or move it away\nnothing is to be cut`)
  expect(disk.files().map((path) => Buffer.from(disk.bytes(path)).toString("base64"))).toEqual(before)
  disk.remove(stray)
  disk.remove("snapshots/00000000000000000018.snap")
  expect((await on(disk, JournalTasks.info)).lines[0]).toContain("records    18,")
  expect((await on(disk, JournalTasks.givenUp(second!))).readable).toBe(
    `${19 - second!} records that can be read, in 2 segments, would be gone`
  )
})

test("a segment that has lost its own name is known by its blocks, also where its header is damaged", async () => {
  const { disk, firsts, segments } = await journal()
  const last = misplace(disk, segments[2]!, firsts[2]! + 1)
  disk.remove(segments[2]!)
  // By its name it would begin behind a gap.
  expect(await refusal(disk)).toContain("put the segments that hold those before it back from a backup")
  expect((await on(disk, JournalTasks.givenUp(firsts[2]!))).readable).toContain(`${19 - firsts[2]!} records that can be read`)
  disk.remove(segments[1]!)
  misplace(disk, last, firsts[1]!)
  disk.remove(last)
  for (const flips of [0, 1]) {
    if (flips > 0) disk.flip(segments[1]!, 20, 0)
    expect(await refusal(disk)).toContain(`it is ${segments[2]} under another name: give it its own name back, or move it away`)
  }
})

test("without its last segment a journal is not whole, as info, copy and a start say alike", async () => {
  const { disk, firsts, segments } = await journal()
  disk.remove(segments[2]!)
  const last = firsts[2]! - 1
  const words = `the journal ends at sequence ${last}, and a file in snapshots/ is named like a snapshot of sequence 18`
  const info = await on(disk, JournalTasks.info)
  expect(info.lines.at(-1)).toBe("snapshots  18")
  expect(missingEnd(info.missing!)).toMatchObject({ code: 2, text: expect.stringContaining(`incomplete: ${words}`) })
  const to = SimDisk.make({ random: generator(8), latencyMs: { min: 0, max: 0 } })
  const copied = await on(disk, JournalTasks.copy(to.mount()))
  expect(copied.lines[0]).toBe(`copied     ${last} records in 2 segments, 1 snapshots`)
  expect(copied.missing?.message).toContain(words)
  disk.remove("snapshots/00000000000000000018.snap")
  expect((await on(disk, JournalTasks.info)).missing).toBe(undefined)
})
