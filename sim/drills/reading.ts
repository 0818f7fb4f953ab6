/**
 * Reading a journal whose every byte is known: where it ends, what may follow its end, every block from any sequence on, and nothing that
 * is not durable.
 */
import { Effect, Stream } from "effect"
import { Disk } from "../../src/journal/Disk.js"
import { Journal } from "../../src/journal/Journal.js"
import { digestAt } from "../../src/journal/Reading.js"
import * as Scan from "../../src/journal/Scan.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as Block from "../../src/journal/Block.js"
import { endingOf, endOf, type Judge, type Laid, mostUnderWay, type Yard } from "./Yard.js"

/** How a block is given to a reader. */
const given = ({ digest, epoch, firstSequence, lastSequence, outcomeDigest, previousDigest, records }: Block.Block | Laid) => ({
  epoch,
  firstSequence,
  lastSequence,
  previousDigest: Buffer.from(previousDigest),
  outcomeDigest: Buffer.from(outcomeDigest),
  digest: Buffer.from(digest),
  records: records.map(({ atEpochMs, command, sequence }) => [sequence, atEpochMs, command])
})

/** Where the blocks of the last segment begin that the last process may have failed to make durable. */
const unsyncedOf = ({ blocks, last }: Yard): number => {
  const inLast = blocks.filter(({ segment }) => segment === last.segment)
  return inLast.find(({ lastSequence }) => lastSequence > last.synced)?.offset ?? endOf(last)
}

/** Remains of the blocks that were being written when the process ended: sectors of up to four, where the first lacks at least one. */
export const leaveRemains = (yard: Yard): number => {
  const { last, random } = yard
  const path = Segment.pathOf(last.segment)
  let before = last
  let end = endOf(last)
  const room = yard.segments.at(-1)!.bytes
  const lacks = random.chance(0.5)
  for (let count = random.between(1, mostUnderWay); count > 0; count--) {
    const epoch = last.epoch + 1
    const block = yard.successor(before, { segment: last.segment, offset: endOf(before) }, random.between(1, 3), epoch, last.lastSequence)
    if (endOf(block) > room) break
    const sectors = block.bytes.length / Block.sectorBytes
    const lost = random.below(sectors)
    for (let sector = 0; sector < sectors; sector++) {
      // The first of them was never complete; of the others anything may be there.
      if (before === last ? sector === lost || (lacks && random.chance(0.5)) : random.chance(0.3)) continue
      const from = sector * Block.sectorBytes
      yard.disk.overwrite(path, block.offset + from, block.bytes.subarray(from, from + Block.sectorBytes))
      end = block.offset + from + Block.sectorBytes
    }
    before = block
  }
  return end
}

/** The span between two waypoints is at least this, and hardly more than twice as much. */
const leastSpan = 1 << 17

const judgeWaypoints = (judge: Judge, { blocks, segments }: Yard, waypoints: ReadonlyArray<Scan.Waypoint>): void => {
  for (const { bytes, end, first } of segments) {
    const here = blocks.filter(({ segment }) => segment === first)
    const widest = Math.max(0, ...here.map((block) => block.bytes.length))
    let from: number = Block.sectorBytes
    for (const { chain, offset, segment } of waypoints) {
      if (segment !== first) continue
      const block = here.find((each) => endOf(each) === offset)
      const { atEpochMs, digest, epoch, lastSequence = 0 } = block ?? {}
      judge.equal(`the chain at the waypoint ${offset} of ${bytes} bytes`, chain, {
        nextSequence: lastSequence + 1,
        epoch,
        atEpochMs,
        digest
      })
      judge.holds(`a waypoint at ${offset} follows one at ${from}`, offset - from >= leastSpan)
      judge.holds(`no waypoint between ${from} and ${offset}`, offset - from <= 2 * (leastSpan + widest))
      from = offset
    }
    judge.holds(`no waypoint behind ${from}`, end - from <= 2 * (leastSpan + widest))
  }
}

/** Most starts that are known, the latest. */
const mostStarts = 16

/** The first block of each epoch. */
const startsOf = ({ blocks }: Yard): ReadonlyArray<object> =>
  blocks.filter(({ epoch }, index) => epoch !== blocks[index - 1]?.epoch).slice(-mostStarts).map(({ digest, firstSequence }) => ({
    firstSequence,
    digest
  }))

/** The journal's end as it is found, and as it is. */
const judgeEnd = (judge: Judge, yard: Yard, tornEndOffset: number, beside: boolean): Scan.End | undefined => {
  const { blocks, last, segments } = yard
  let end: Scan.End | undefined
  const read = beside ? Scan.readAllBeside : Scan.readAll
  const ending = yard.run(Effect.map(Effect.flatMap(Scan.segments, read), (found) => {
    end = found
    const { chain: { atEpochMs, digest, epoch, nextSequence }, offset, segment, tornEndOffset: torn, unsyncedOffset } = found
    const { firstSequence, previousDigest, segmentBytes } = segment
    return [firstSequence, segmentBytes, previousDigest, offset, nextSequence, epoch, atEpochMs, digest, torn, unsyncedOffset, found.starts]
  }))
  const { bytes, first } = segments.at(-1)!
  const before = blocks.find(({ segment }) => segment === first)!.previousDigest
  const { atEpochMs, digest, epoch, lastSequence } = last
  judge.equal("the journal's end", endingOf(ending), [first, bytes, before, endOf(last), lastSequence + 1, epoch, atEpochMs, digest,
    tornEndOffset, unsyncedOf(yard), startsOf(yard)])
  if (end !== undefined) judgeWaypoints(judge, yard, end.waypoints)
  return end
}

/** Most sequences from which one reader reads. */
const readings = 3

/** Everything that a reader of a journal is given, which is durable up to `until`. */
const judgeReadings = (judge: Judge, yard: Yard, journal: Journal["Type"], until: number): Effect.Effect<void, unknown, Disk> =>
  Effect.gen(function*() {
    const { blocks, random, segments } = yard
    const durable = blocks.filter(({ firstSequence }) => firstSequence <= until)
    for (let left = readings; left > 0; left--) {
      const from = random.pick([0, 1, until, until + 1, yard.anySequence(), yard.anySequence(), random.pick(blocks).firstSequence])
      const due = until < 1 ? [] : durable.filter(({ lastSequence }) => lastSequence >= from)
      const opened = new Set<string>()
      yard.inject = ({ operation, path }) => {
        if (operation === "open") opened.add(path)
        return undefined
      }
      const read = yield* Stream.runCollect(journal.replay(from))
      yard.inject = () => undefined
      const begins = segments.findLast(({ first }) => first <= from) ?? segments[0]!
      judge.holds(`a reading from ${from} opens ${[...opened].join(" ")}`, [...opened].every((path) =>
        path >= Segment.pathOf(begins.first)
      ))
      judge.equal(`the blocks from ${from} on, durable to ${until}`, [...read].map(given), due.map(given))
      const links = yield* Stream.runCollect(journal.links(from))
      judge.equal(`the links from ${from} on, durable to ${until}`, [...links],
        due.map(({ digest, firstSequence, lastSequence }) => ({ firstSequence, lastSequence, digest, codec: Block.codecVersion })))
      const ends = due.find(({ lastSequence }) => lastSequence >= from)
      const digest = ends === undefined || ends.firstSequence > from
        ? undefined
        : ends.lastSequence === from
        ? ends.digest.toString("hex")
        : ""
      judge.equal(`the digest at ${from}`, yield* digestAt(journal.links, from), digest)
      const atEpochMs = random.pick(blocks).atEpochMs + random.between(-1, 1)
      const begun = segments.slice(1).map(({ first }) => blocks.find(({ segment }) => segment === first)!)
      const before = begun.findLast((block) => block.atEpochMs < atEpochMs)?.segment ?? segments[0]!.first
      judge.equal(`what precedes the time ${atEpochMs}`, yield* journal.before(atEpochMs), before - 1)
    }
  })

/** Reads the journal as a tool does, and as far as a writer says that it is durable. */
export const reading = (judge: Judge, yard: Yard): void => {
  const end = judgeEnd(judge, yard, endOf(yard.last), yard.random.chance(0.5))
  if (end === undefined) return
  const opened = Effect.flatMap(Journal, (journal) => {
    judge.equal("the journal's end for a tool", [journal.opened.nextSequence, journal.opened.epoch, journal.opened.torn ?? "whole"], [
      yard.nextSequence,
      yard.last.epoch + 1,
      "whole"
    ])
    return judgeReadings(judge, yard, journal, yard.nextSequence - 1)
  })
  judge.equal("a tool's reading", endingOf(yard.run(Effect.provide(opened, SegmentJournal.layerReadOnly))), "done")
  const until = yard.random.chance(0.3) ? yard.random.below(2) : yard.anySequence() - 1
  const beside = Effect.flatMap(Disk,
    (disk) => judgeReadings(judge, yard, SegmentJournal.readOnly(disk, end, () => end.waypoints, () => until), until))
  judge.equal("a reading beside the writer", endingOf(yard.run(beside)), "done")
}

/** Leaves the lock's file as a process does that has ended. */
const lockedOnce = Effect.flatMap(Disk, (disk) => Effect.flatMap(disk.lock(SegmentJournal.lockPath), ({ settled }) => settled))

/** Finds what a process left behind the last block, and takes it away before it continues. */
export const remains = (judge: Judge, yard: Yard): void => {
  const { last } = yard
  // Where the last process had a lock's file, its segment is gone on with, and not replaced.
  if (yard.random.split("lock").chance(0.75)) yard.run(lockedOnce)
  const tornEnd = leaveRemains(yard)
  judgeEnd(judge, yard, tornEnd, yard.random.chance(0.5))
  const { bytes, first } = yard.segments.at(-1)!
  const options: SegmentJournal.Options = { segmentBytes: bytes, maxBlockBytes: Block.sectorBytes * yard.random.between(1, 4) }
  const path = Segment.pathOf(first)
  const torn = tornEnd === endOf(last) ? "whole" : { segment: path, offset: endOf(last), bytes: tornEnd - endOf(last) }
  const opening = Effect.map(Journal, ({ opened }) => opened.torn ?? "whole").pipe(Effect.provide(SegmentJournal.layer(options)))
  judge.equal("what a start says of the remains", endingOf(yard.run(opening)), torn)
  yard.disk.crash("power")
  const file = yard.fileOf(first)
  const reach = Math.min(bytes, Math.max(tornEnd, endOf(last) + mostUnderWay * options.maxBlockBytes))
  judge.holds(`a start left something between ${endOf(last)} and ${reach}`, file.subarray(endOf(last), reach).every((byte) => byte === 0))
  for (const block of yard.blocks.filter(({ segment }) => segment === first)) {
    judge.equal(`block ${block.firstSequence} after a start`, file.subarray(block.offset, endOf(block)), block.bytes)
  }
}
