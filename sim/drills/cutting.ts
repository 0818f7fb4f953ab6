/**
 * A known journal that is cut by its operator: what was before the cut stays, everything else is gone for good, whatever ends the cut in
 * its midst; and what a cut would discard is told before.
 */
import { Effect } from "effect"
import * as Block from "../../src/journal/Block.js"
import { cutting as cuttingAt } from "../../src/journal/Cut.js"
import { Disk } from "../../src/journal/Disk.js"
import * as Scan from "../../src/journal/Scan.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { leaveRemains } from "./reading.js"
import { at, endingOf, endOf, type Judge, type Laid, type LaidSegment, reseal, type Yard } from "./Yard.js"

const sector = Block.sectorBytes

/** What a cut must leave: the blocks before it, and the segments with their sizes. */
interface Left {
  readonly blocks: ReadonlyArray<Laid>
  readonly segments: ReadonlyArray<LaidSegment>
}

/** What a cut from a block on says and leaves. */
const dueOf = ({ blocks, segments }: Yard, from: Laid): { readonly told: unknown; readonly left: Left } => {
  const isWhole = from.offset === sector && from.segment !== 1
  const stays = segments.filter(({ first }) => isWhole ? first < from.segment : first <= from.segment)
  return {
    told: {
      firstSequence: from.firstSequence,
      segment: Segment.pathOf(from.segment),
      offset: isWhole ? 0 : from.offset,
      removedSegments: segments.slice(stays.length).map(({ first }) => Segment.pathOf(first)),
      restored: false,
      goesOn: false
    },
    left: { blocks: blocks.slice(0, blocks.indexOf(from)), segments: stays }
  }
}

/** The last segment's blocks, and zeros behind them; all others as they were. */
const judgeLeft = (judge: Judge, yard: Yard, files: ReadonlyMap<number, Buffer>, { blocks, segments }: Left): void => {
  judge.equal("the segments after a cut", yard.disk.files().filter((path) => path.startsWith("journal/")),
    segments.map(({ first }) => Segment.pathOf(first)))
  if (judge.fault !== undefined) return
  for (const [index, { bytes, first }] of segments.entries()) {
    const here = blocks.filter(({ segment }) => segment === first)
    const due = Buffer.from(files.get(first)!.subarray(0, bytes))
    if (index === segments.length - 1) due.fill(0, here.length === 0 ? sector : endOf(here.at(-1)!))
    const { length } = yard.fileOf(first)
    judge.equal(`segment ${first} after a cut`, [length, Block.sha256(yard.fileOf(first))], [bytes, Block.sha256(due)])
  }
}

const filesOf = (yard: Yard): ReadonlyMap<number, Buffer> => new Map(yard.segments.map(({ first }) => [first, yard.fileOf(first)]))

/** What can be read of a segment from a sequence on. */
const judgeHeld = (judge: Judge, yard: Yard): void => {
  const { random } = yard
  const { first } = random.pick(yard.segments)
  const here = yard.blocks.filter(({ segment }) => segment === first)
  const sequence = random.between(Math.max(1, first - 1), here.at(-1)!.lastSequence + 1)
  const from = here.find(({ lastSequence }) => lastSequence >= sequence)
  const records = from === undefined ? 0 : here.at(-1)!.lastSequence - from.firstSequence + 1
  const path = Segment.pathOf(first)
  const kind = random.pick(["whole", "header", "both"] as const)
  const putBack = yard.disk.checkpoint()
  if (kind !== "whole") yard.disk.flip(path, random.below(sector), random.below(8))
  if (kind === "both") yard.disk.flip(path, sector + random.below(at.records), random.below(8))
  const due = kind === "both" ? { records: 0 } : { ...(from === undefined ? {} : { firstSequence: from.firstSequence }), records }
  judge.equal(`what segment ${first} holds from ${sequence} on, ${kind}`, endingOf(yard.run(Scan.heldFrom(first, sequence))), due)
  putBack()
}

/** Damages the block that a cut begins with, in ways that a cut has to cope with. */
const harm = (yard: Yard, block: Laid): void => {
  const { disk, random } = yard
  const path = Segment.pathOf(block.segment)
  switch (random.pick(["none", "flip", "rest", "zeros", "time", "header"] as const)) {
    case "header":
      // A cut at its first block gives the whole segment up.
      if (block.offset === sector && block.segment !== 1) disk.flip(path, random.below(sector), random.below(8))
      return undefined
    case "flip":
      return disk.flip(path, block.offset + random.below(block.bytes.length), random.below(8))
    case "rest":
      return disk.overwrite(path, block.offset, random.bytes(block.bytes.length))
    case "zeros":
      return disk.overwrite(path, block.offset, Buffer.alloc(block.bytes.length))
    case "time": {
      // The block is intact, and its records make no sense.
      const bytes = Buffer.from(block.bytes)
      Block.writeWhole(bytes, block.firstSequence + 1, at.records + 4)
      return disk.overwrite(path, block.offset, reseal(bytes))
    }
    case "none":
      return undefined
  }
}

/** Snapshots around a sequence, and those that a cut there removes. */
const snapshotsAround = (yard: Yard, sequence: number): ReadonlyArray<number> => {
  const { disk, random } = yard
  const all = [sequence - 1, sequence, sequence + 1, sequence + 7].filter((each) => each > 0)
  for (const each of all) {
    const kinds = random.pick([["snap"], ["step"], ["snap", "step"]])
    for (const kind of kinds) disk.create(`snapshots/${String(each).padStart(20, "0")}.${kind}`, random.bytes(10))
  }
  yard.settled()
  return all.filter((each) => each >= sequence)
}

/** Cuts before a block, after damage, crashes and remains. */
export const cutting = (judge: Judge, yard: Yard): void => {
  const { blocks, disk, random } = yard
  judgeHeld(judge, yard)
  const from = random.pick(blocks)
  if (random.chance(0.5)) leaveRemains(yard)
  harm(yard, from)
  const before = yard.segments[yard.segments.findIndex(({ first }) => first === from.segment) - 1]
  if (before !== undefined && from.offset === sector && random.chance(0.5)) {
    // The damage is behind the last block before it, so the segment that ends there gets its zeros back.
    const place = before.end + sector * random.below((before.bytes - before.end) / sector)
    disk.overwrite(Segment.pathOf(before.first), place, random.bytes(sector))
  }
  const files = filesOf(yard)
  const sequence = from.firstSequence
  // Where nothing is left of it and of what follows, the journal ends there already.
  const isEnd = yard.last.segment === from.segment && files.get(from.segment)!.subarray(from.offset).every((byte) => byte === 0)
  const { left, told } = isEnd ? { left: { blocks: blocks.slice(0, -1), segments: yard.segments }, told: "done" } : dueOf(yard, from)
  for (let crashes = random.below(3); crashes > 0; crashes--) {
    yard.runUntilCrash(cuttingAt(sequence), random.between(1, 40), random.pick(["power", "kill"] as const))
    disk.crash("power")
  }
  const ending = yard.run(cuttingAt(sequence))
  // After a crash the rest of the cut is less: only what it leaves is known.
  const fresh = disk.crashes() === 0
  if (fresh) judge.equal(`a cut at ${sequence}`, endingOf(ending), told)
  disk.crash("power")
  judgeLeft(judge, yard, files, left)
  judge.equal(`another cut at ${sequence}`, endingOf(yard.run(cuttingAt(sequence))), "done")
  const removed = snapshotsAround(yard, sequence)
  judge.equal(`the snapshots from ${sequence} on`, endingOf(yard.run(SnapshotStore.removeFrom(sequence))), removed)
  disk.crash("power")
  judge.equal("the snapshots after a cut",
    disk.files().filter((path) => path.startsWith("snapshots/") && Number(path.slice(10, 30)) >= sequence), [])
}

/** A cut at a record within an intact block discards the block; one behind the journal's end discards nothing. */
export const cuttingWithin = (judge: Judge, yard: Yard): void => {
  const { blocks, random } = yard
  const sequence = yard.anySequence() + (random.chance(0.1) ? 1 : 0)
  const from = blocks.find(({ lastSequence }) => lastSequence >= sequence)
  const { last, segments } = yard
  const hasRemains = random.chance(0.5) && leaveRemains(yard) > endOf(last)
  const files = filesOf(yard)
  const ending = yard.run(cuttingAt(sequence))
  yard.disk.crash("power")
  if (hasRemains && sequence === yard.nextSequence) {
    // What would be the next record was never durable: a cut there takes its remains away.
    judge.equal(`a cut at ${sequence}, of remains`, endingOf(ending), {
      firstSequence: sequence,
      segment: Segment.pathOf(last.segment),
      offset: endOf(last),
      removedSegments: [],
      restored: false,
      goesOn: false
    })
    judgeLeft(judge, yard, files, { blocks, segments })
    return
  }
  if (from === undefined) {
    judge.equal(`a cut at ${sequence}, behind the end`, endingOf(ending), "done")
    for (const [first, bytes] of files) judge.equal("a segment that was not cut", Block.sha256(yard.fileOf(first)), Block.sha256(bytes))
    return
  }
  const { left, told } = dueOf(yard, from)
  judge.equal(`a cut at ${sequence}, within a block`, endingOf(ending), told)
  judgeLeft(judge, yard, files, left)
}

/** A cut that is refused: damage begins before it, or a newer version wrote what it would discard. */
export const cuttingRefused = (judge: Judge, yard: Yard): void => {
  const { blocks, disk, last, random } = yard
  const kind = random.pick(["before", "hole", "header", "newer", "overlapping"] as const)
  const block = kind === "newer" ? last : random.pick(blocks)
  const path = Segment.pathOf(block.segment)
  const here = blocks.filter(({ segment }) => segment === block.segment)
  if (kind === "before" || kind === "hole" || kind === "header") {
    const later = here.filter(({ firstSequence }) => firstSequence > block.lastSequence)
    const end = yard.segments.find(({ first }) => first === block.segment)!
    if (later.length === 0 || kind === "hole" && end === yard.segments.at(-1)) return
    if (kind === "header") disk.flip(path, random.below(sector), random.below(8))
    else if (kind === "hole") disk.overwrite(path, block.offset, Buffer.alloc(end.end - block.offset))
    else disk.flip(path, block.offset + at.records + random.below(block.bytes.length - at.records - 8), random.below(8))
    const { firstSequence } = random.pick(later)
    const due = kind === "header"
      ? { _tag: "JournalCorrupt", segment: path, offset: 0, sequence: block.segment }
      : {
        _tag: "JournalCorrupt",
        segment: path,
        offset: block.offset,
        sequence: block.firstSequence,
        ...(kind === "hole" ? { missing: "between" } : {})
      }
    judge.equal(`a cut at ${firstSequence} behind damage`, endingOf(yard.run(cuttingAt(firstSequence))), due)
    return
  }
  if (kind === "newer") {
    const bytes = Buffer.from(block.bytes)
    bytes.writeUInt32LE(Block.codecVersion + 1, at.codec)
    disk.overwrite(path, block.offset, reseal(bytes))
    const { firstSequence: sequence, offset } = block
    const due = { _tag: "JournalNewerFormat", segment: path, offset, sequence, codec: Block.codecVersion + 1 }
    judge.equal("a cut of what a newer version wrote", endingOf(yard.run(cuttingAt(random.pick(blocks).firstSequence))), due)
    return
  }
  const inside = here.flatMap(({ records }) => records.map(({ sequence }) => sequence)).slice(1)
  if (inside.length === 0) return
  const sequence = random.pick(inside)
  disk.create(Segment.pathOf(sequence), disk.bytes(path))
  const due = { _tag: "JournalCorrupt", segment: Segment.pathOf(sequence), offset: 0, sequence, missing: "misplaced" }
  judge.equal(`a cut at ${sequence}, where another segment lies over whole records`, endingOf(yard.run(cuttingAt(sequence))), due)
}

/** A segment of another size in which a newer version wrote is left to that version. */
const restoringNewer = (judge: Judge, yard: Yard): void => {
  const { disk, segments } = yard
  const { bytes, end, first } = segments[0]!
  if (segments.length < 2 || end + sector > bytes) return
  const last = yard.blocks.findLast(({ segment }) => segment === first)!
  const next = yard.successor(last, { segment: first, offset: end }, 1, last.epoch, last.lastSequence)
  const newer = Buffer.from(next.bytes)
  newer.writeUInt32LE(Block.codecVersion + 1, at.codec)
  const file = Buffer.concat([yard.fileOf(first), Buffer.alloc(sector * 40)])
  reseal(newer).copy(file, end)
  disk.remove(Segment.pathOf(first))
  disk.create(Segment.pathOf(first), file)
  // The room that a header names is that of the block.
  if (endOf(next) > bytes) return
  const due = {
    _tag: "JournalNewerFormat",
    segment: Segment.pathOf(first),
    offset: end,
    sequence: next.firstSequence,
    codec: Block.codecVersion + 1
  }
  judge.equal("a cut behind a segment of another size with a newer block", endingOf(yard.run(cuttingAt(next.firstSequence))), due)
  judge.equal("the segment that was left", Block.sha256(yard.fileOf(first)), Block.sha256(file))
}

/** A segment of another size gets its own back, with all its whole blocks. */
export const restoring = (judge: Judge, yard: Yard): void => {
  if (yard.random.chance(0.25)) return restoringNewer(judge, yard)
  const { blocks, disk, random, segments } = yard
  const index = random.below(segments.length)
  const { bytes, first } = segments[index]!
  const path = Segment.pathOf(first)
  const here = blocks.filter(({ segment }) => segment === first)
  const size = random.chance(0.5) ? bytes + sector * random.between(1, 3) : sector * random.between(2, bytes / sector - 1)
  const whole = here.filter((block) => endOf(block) <= size)
  if (whole.length === 0) return
  const files = filesOf(yard)
  const other = Buffer.alloc(size)
  yard.fileOf(first).copy(other)
  disk.remove(path)
  disk.create(path, other)
  if (random.chance(0.3)) disk.create("journal/next.tmp", random.bytes(10))
  const last = whole.at(-1)!
  const sequence = last.lastSequence + 1
  const goesOn = segments[index + 1]?.first === sequence
  const removed = goesOn ? [] : segments.slice(index + 1).map(({ first: later }) => Segment.pathOf(later))
  judge.equal(`a cut at ${sequence}, behind a segment of another size`, endingOf(yard.run(cuttingAt(sequence))), {
    firstSequence: sequence,
    segment: path,
    offset: endOf(last),
    removedSegments: removed,
    restored: true,
    goesOn
  })
  disk.crash("power")
  const stays = goesOn ? segments : segments.slice(0, index + 1)
  judge.holds("a cut left its copy", !disk.files().includes("journal/next.tmp"))
  judge.equal("the segments after a cut that restored a size", disk.files().filter((each) => each.startsWith("journal/")),
    stays.map((each) => Segment.pathOf(each.first)))
  judge.equal("the sizes after a cut", stays.map((each) => yard.fileOf(each.first).length), stays.map((each) => each.bytes))
  const due = files.get(first)!.fill(0, endOf(last))
  judge.equal(`segment ${first} with its size restored`, Block.sha256(yard.fileOf(first)), Block.sha256(due))
  judge.equal("the journal after its size was restored", endingOf(yard.run(Effect.map(
    Effect.flatMap(Disk, () => Effect.flatMap(Scan.segments, Scan.readAll)),
    ({ chain }) => chain.nextSequence
  ))), goesOn ? yard.nextSequence : sequence)
}
