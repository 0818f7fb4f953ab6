/**
 * A copy of a known journal and its snapshots: every file is there after a power failure, in every byte up to the journal's end and in
 * zeros behind it. A copy that fails leaves nothing behind.
 */
import { Effect } from "effect"
import * as Block from "../../src/journal/Block.js"
import { copyTo } from "../../src/journal/Copy.js"
import { Disk } from "../../src/journal/Disk.js"
import * as Segment from "../../src/journal/Segment.js"
import type * as SimDisk from "../world/SimDisk.js"
import { leaveRemains } from "./reading.js"
import { endingOf, endOf, type Judge, type Yard } from "./Yard.js"

/** The files of a copy, by path. */
const due = (yard: Yard): ReadonlyMap<string, Uint8Array> => {
  const path = Segment.pathOf(yard.last.segment)
  return new Map(yard.disk.files().filter((each) => each.endsWith(".seg") || /\/[0-9]{20}\.(?:snap|step)$/.test(each)).map((each) => {
    const bytes = Buffer.from(yard.disk.bytes(each))
    return [each, each === path ? bytes.fill(0, endOf(yard.last)) : bytes]
  }))
}

const digests = (files: Iterable<readonly [string, Uint8Array]>): ReadonlyArray<readonly [string, number, Buffer]> =>
  [...files].map(([path, bytes]) => [path, bytes.length, Block.sha256(bytes)] as const)

const filesOf = (disk: SimDisk.SimDisk): ReadonlyArray<readonly [string, Uint8Array]> =>
  disk.files().map((path) => [path, disk.bytes(path)])

const copy = (yard: Yard, to: SimDisk.SimDisk) => yard.run(Effect.flatMap(Effect.provide(Disk, to.mount()), (other) => copyTo(other)))

/** Copies the journal, with remains behind its end, other files beside it, and snapshots. */
export const copying = (judge: Judge, yard: Yard): void => {
  const { disk, last, random, segments } = yard
  if (random.chance(0.5)) leaveRemains(yard)
  const whole = Array.from({ length: random.below(4) }, (_, index) => `snapshots/${String(index * 3 + 1).padStart(20, "0")}.snap`)
  for (const path of [...whole, ...(random.chance(0.5) ? ["snapshots/00000000000000000009.step"] : [])]) {
    disk.create(path, random.bytes(random.between(1, 3_000)))
  }
  if (random.chance(0.5)) disk.create("snapshots/next.tmp", random.bytes(100))
  if (random.chance(0.5)) disk.create("journal/next.tmp", random.bytes(100))
  const before = digests(filesOf(disk))
  const snapshots = disk.files().filter((path) => /\.(?:snap|step)$/.test(path)).length
  const to = yard.emptyDisk()
  judge.equal("a copy", endingOf(copy(yard, to)), {
    sequence: last.lastSequence,
    digest: last.digest,
    segments: segments.length,
    snapshots
  })
  to.crash("power")
  judge.equal("the files of a copy after a power failure", digests(filesOf(to)), digests(due(yard)))
  judge.equal("the files that were copied", digests(filesOf(disk)), before)
  fails(judge, yard)
}

/** A copy one of whose operations fails, or finds the journal damaged. */
const fails = (judge: Judge, yard: Yard): void => {
  const { disk, last, random } = yard
  const to = yard.emptyDisk()
  if (random.chance(0.5)) {
    disk.flip(Segment.pathOf(last.segment), last.offset + random.below(last.bytes.length), random.below(8))
    const { firstSequence: sequence, offset, segment } = last
    judge.equal("a copy of a damaged journal", endingOf(copy(yard, to)), {
      _tag: "JournalCorrupt",
      segment: Segment.pathOf(segment),
      offset,
      sequence
    })
  } else {
    let left = random.between(1, 60)
    let failed = false
    yard.inject = ({ operation }) => {
      if (operation === "remove" || failed || --left > 0) return undefined
      failed = true
      return operation === "writeAt" ? random.pick(["EIO", "ENOSPC"] as const) : "EIO"
    }
    const ending = copy(yard, to)
    yard.inject = () => undefined
    if (!failed) return
    judge.equal("a copy of which an operation failed", (endingOf(ending) as { readonly _tag?: string })._tag, "DiskError")
  }
  judge.equal("what a failed copy leaves", to.files(), [])
  judge.holds("a copy could not be made again", (endingOf(copy(yard, to)) as { readonly _tag?: string })._tag !== "DiskError")
}
