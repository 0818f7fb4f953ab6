/**
 * Damage of a known journal that no crash explains, each kind with the refusal that is due: its name, the segment, the place in it, the
 * first record that cannot be read, and what is missing.
 */
import { Effect, Stream } from "effect"
import { Branches } from "../../src/domain/Branches.js"
import * as Block from "../../src/journal/Block.js"
import { Journal } from "../../src/journal/Journal.js"
import * as Scan from "../../src/journal/Scan.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import {
  at,
  endingOf,
  endOf,
  type Judge,
  type Laid,
  mostUnderWay,
  recordAt,
  recordHeaderBytes,
  reseal,
  wordsOf,
  type Yard
} from "./Yard.js"

const sector = Block.sectorBytes

/** The refusal that is due, or the end of the journal where what was planted is no damage. */
interface Due {
  readonly refusal: Readonly<Record<string, unknown>>
  /** A part of its words. */
  readonly words?: string
  /** Whether only who decodes the records finds it. */
  readonly isInPayload?: boolean
}

/** Plants the damage; undefined where the journal has no place for it. */
type Damage = (yard: Yard) => Due | undefined

const corrupt = (path: string, offset: number, sequence: number, missing?: string): Due["refusal"] => ({
  _tag: "JournalCorrupt",
  segment: path,
  offset,
  sequence,
  ...(missing === undefined ? {} : { missing })
})

const inBlock = ({ firstSequence, offset, segment }: Laid, sequence = firstSequence): Due["refusal"] =>
  corrupt(Segment.pathOf(segment), offset, sequence)

const write = ({ disk }: Yard, { segment }: Pick<Laid, "segment">, offset: number, bytes: Uint8Array): void =>
  disk.overwrite(Segment.pathOf(segment), offset, bytes)

/** The block before another one in the same segment; undefined where it is the segment's first. */
const beforeIt = ({ blocks }: Yard, block: Laid): Laid | undefined => {
  const before = blocks[blocks.indexOf(block) - 1]
  return before?.segment === block.segment ? before : undefined
}

/** Leaves the journal as it was when one of its blocks was the last. */
const cutBehind = (yard: Yard, last: Laid): void => {
  const { blocks, disk, segments } = yard
  for (const { first } of segments.splice(segments.findIndex(({ first }) => first > last.segment) >>> 0)) disk.remove(Segment.pathOf(first))
  blocks.splice(blocks.indexOf(last) + 1)
  const segment = segments.pop()!
  segments.push({ ...segment, end: endOf(last) })
  write(yard, last, endOf(last), Buffer.alloc(segment.bytes - endOf(last)))
}

const flippedBit: Damage = (yard) => {
  const { disk, random } = yard
  const block = random.pick(yard.blocks)
  if (random.chance(0.4)) cutBehind(yard, block)
  disk.flip(Segment.pathOf(block.segment), block.offset + random.below(block.bytes.length), random.below(8))
  return { refusal: inBlock(block) }
}

const flippedHeader: Damage = (yard) => {
  const { blocks, disk, random, segments } = yard
  const { first } = random.pick(segments)
  disk.flip(Segment.pathOf(first), random.below(sector), random.below(8))
  const last = blocks.findLast(({ segment }) => segment === first)!
  return { refusal: corrupt(Segment.pathOf(first), 0, first), words: `the records ${first} to ${last.lastSequence} behind it are whole` }
}

/** A header and the first block are damaged: nothing behind them can be followed. */
const flippedBoth: Damage = (yard) => {
  const { disk, random, segments } = yard
  const { first } = random.pick(segments)
  disk.flip(Segment.pathOf(first), random.below(sector), random.below(8))
  disk.flip(Segment.pathOf(first), sector + random.below(at.records), random.below(8))
  return { refusal: corrupt(Segment.pathOf(first), 0, first), words: "its header is damaged" }
}

const headerOfOthers: Damage = (yard) => {
  const { disk, random, segments } = yard
  const { first } = random.pick(segments)
  const path = Segment.pathOf(first)
  const header = Segment.decodeHeader(Buffer.from(disk.bytes(path).subarray(0, sector)))!
  const previousDigest = Buffer.from(header.previousDigest)
  previousDigest[random.below(previousDigest.length)]! ^= 1
  disk.overwrite(path, 0, Segment.encodeHeader({ ...header, previousDigest }))
  return { refusal: corrupt(path, 0, first), words: "its header names another block before it" }
}

const otherHeader: Damage = (yard) => {
  const { disk, random, segments } = yard
  const { bytes, first } = random.pick(segments)
  const path = Segment.pathOf(first)
  const { previousDigest } = Segment.decodeHeader(Buffer.from(disk.bytes(path).subarray(0, sector)))!
  disk.overwrite(path, 0, Segment.encodeHeader({ firstSequence: first + random.pick([1, 2]), segmentBytes: bytes, previousDigest }))
  const last = yard.blocks.findLast(({ segment }) => segment === first)!
  return {
    refusal: corrupt(path, 0, first),
    words: `its header names another sequence, and the records ${first} to ${last.lastSequence} behind it are whole`
  }
}

/** The version's offset in a segment's header. */
const versionAt = 8
const sealBytes = 32

const newerHeader: Damage = (yard) => {
  const { disk, random, segments } = yard
  const { first } = random.pick(segments)
  const bytes = Buffer.from(disk.bytes(Segment.pathOf(first)).subarray(0, sector))
  bytes.writeUInt32LE(2, versionAt)
  Block.sha256(bytes.subarray(0, sector - sealBytes)).copy(bytes, sector - sealBytes)
  disk.overwrite(Segment.pathOf(first), 0, bytes)
  return { refusal: { _tag: "JournalNewerFormat", segment: Segment.pathOf(first), offset: 0, sequence: first, codec: 2 } }
}

const newerBlock: Damage = (yard) => {
  const block = yard.random.pick(yard.blocks)
  const bytes = Buffer.from(block.bytes)
  bytes.writeUInt32LE(Block.codecVersion + 1, at.codec)
  write(yard, block, block.offset, reseal(bytes))
  const { firstSequence: sequence, offset, segment } = block
  return { refusal: { _tag: "JournalNewerFormat", segment: Segment.pathOf(segment), offset, sequence, codec: Block.codecVersion + 1 } }
}

/** A sector that reads as zeros, of a block that a later one shows to have been durable, or that a later segment follows. */
const lostSector: Damage = (yard) => {
  const { blocks, random } = yard
  const places = blocks.filter((block) => blocks.some((later) => later.segment === block.segment && later.synced >= block.firstSequence))
  if (places.length === 0) return undefined
  const block = random.pick(places)
  // The hardest case is a block whose durability a single other one attests.
  const [attesting] = blocks.filter((later) => later.segment === block.segment && later.synced >= block.firstSequence)
  if (random.chance(0.5)) cutBehind(yard, attesting!)
  const lost = random.below(block.bytes.length / sector)
  write(yard, block, block.offset + lost * sector, Buffer.alloc(sector))
  return { refusal: inBlock(block) }
}

const unfinishedBeforeSegment: Damage = (yard) => {
  const { blocks, random, segments } = yard
  if (segments.length < 2) return undefined
  const { bytes, end, first } = random.pick(segments.slice(0, -1))
  const last = blocks.findLast(({ segment }) => segment === first)!
  const block = yard.successor(last, { segment: first, offset: end }, random.between(2, 4), last.epoch, last.lastSequence)
  if (endOf(block) > bytes || block.bytes.length === sector) return undefined
  const lost = random.below(block.bytes.length / sector)
  write(yard, last, end, block.bytes)
  write(yard, last, end + lost * sector, Buffer.alloc(sector))
  return { refusal: inBlock(block) }
}

/** Few bytes in the zeros behind the last block. */
const strayBytes: Damage = (yard) => {
  const { blocks, random } = yard
  const { bytes, end, first } = random.pick(yard.segments)
  const sectors = (bytes - end) / sector
  const place = end + random.below(sectors) * sector
  const few = Buffer.alloc(sector)
  // A single byte may be the first one of all that is read.
  if (random.chance(0.3)) few[0] = random.between(1, 255)
  else for (let left = random.between(1, 31), from = random.below(sector - 31); left > 0; left--) few[from + left] = random.between(1, 255)
  const last = blocks.findLast(({ segment }) => segment === first)!
  write(yard, last, place, few)
  return { refusal: corrupt(Segment.pathOf(first), place, last.lastSequence + 1) }
}

/** A whole block lies where another one belongs, or behind the end. */
const misdirected: Damage = (yard) => {
  const { blocks, random } = yard
  const { bytes, end, first } = random.pick(yard.segments)
  const places = blocks.filter((block) => block.bytes.length <= bytes - end)
  if (places.length === 0) return undefined
  const block = random.pick(places)
  const place = end + random.below((bytes - end - block.bytes.length) / sector + 1) * sector
  const last = blocks.findLast(({ segment }) => segment === first)!
  write(yard, last, place, block.bytes)
  return {
    refusal: corrupt(Segment.pathOf(first), place, last.lastSequence + 1),
    words: `was written for ${Segment.pathOf(block.segment)} at ${block.offset}`
  }
}

/** Changes a block, and lets its digest and checksum match. */
const forged = (yard: Yard, block: Laid, change: (bytes: Buffer) => void): void => {
  const bytes = Buffer.from(block.bytes)
  change(bytes)
  write(yard, block, block.offset, reseal(bytes))
}

const earlierEpoch: Damage = (yard) => {
  const places = yard.blocks.filter((block) => (beforeIt(yard, block)?.epoch ?? 0) > 1)
  if (places.length === 0) return undefined
  const block = yard.random.pick(places)
  forged(yard, block, (bytes) => bytes.writeUInt32LE(beforeIt(yard, block)!.epoch - 1, at.epoch))
  return { refusal: inBlock(block), words: `epoch ${beforeIt(yard, block)!.epoch - 1} follows epoch ${beforeIt(yard, block)!.epoch}` }
}

const withoutRecords: Damage = (yard) => {
  const block = yard.random.pick(yard.blocks)
  forged(yard, block, (bytes) => bytes.writeUInt32LE(0, at.count))
  return { refusal: inBlock(block), words: "a block without records" }
}

const otherSequence: Damage = (yard) => {
  const block = yard.random.pick(yard.blocks)
  const other = block.firstSequence + yard.random.pick([-1, 1])
  forged(yard, block, (bytes) => Block.writeWhole(bytes, other, 48))
  return { refusal: inBlock(block), words: `a block of sequence ${other} is in its place` }
}

const otherBlockBefore: Damage = (yard) => {
  const block = yard.random.pick(yard.blocks)
  forged(yard, block, (bytes) => void (bytes[64 + yard.random.below(32)]! ^= 1))
  return { refusal: inBlock(block), words: "it names another block before it" }
}

/** The records of an intact block make no sense. */
const otherFraming: Damage = (yard) => {
  const { random } = yard
  const block = random.pick(yard.blocks)
  const index = random.below(block.records.length)
  const sequence = block.firstSequence + index
  const kind = random.pick(["sequence", "length", "time", "rest"] as const)
  if (kind === "time" && sequence === 1) return undefined
  const before = index > 0 ? block.records[index - 1]! : yard.blocks[yard.blocks.indexOf(block) - 1]?.records.at(-1)
  forged(yard, block, (bytes) => {
    const from = recordAt(bytes, index)
    if (kind === "sequence") Block.writeWhole(bytes, sequence + 1, from + 4)
    if (kind === "length") bytes.writeUInt32LE(at.records + bytes.readUInt32LE(at.recordsBytes) - from - recordHeaderBytes + 1, from)
    if (kind === "time") Block.writeWhole(bytes, before!.atEpochMs - 1, from + 12)
    if (kind === "rest") bytes.writeUInt32LE(block.records.length - 1, at.count)
  })
  if (kind !== "rest") return { refusal: inBlock(block, sequence) }
  // A block without any record is none.
  return { refusal: inBlock(block, block.records.length === 1 ? block.firstSequence : block.lastSequence - 1) }
}

/** The header or the payload of a record is one that nobody could have written. */
const otherPayload: Damage = (yard) => {
  const { random } = yard
  const block = random.pick(yard.blocks)
  cutBehind(yard, block)
  const index = random.below(block.records.length)
  const sequence = block.firstSequence + index
  let words = ""
  forged(yard, block, (bytes) => {
    const from = recordAt(bytes, index)
    const header = from + recordHeaderBytes
    const isRequest = bytes[header + 1] !== 0
    const kind = random.pick(["kind", "principal", "request", "key", "payload", "cut"] as const)
    if (kind === "kind") [words, bytes[from + 20]] = ["", 251]
    if (kind === "principal") [words, bytes[header]] = ["an unknown principal", random.pick([0, 11, 255])]
    if (kind === "request") [words, bytes[header + 1]] = [isRequest ? "an unknown request 255" : "", 255]
    if (kind === "key" && !isRequest) [words, bytes[header + 2]] = ["an Idempotency-Key without a request", random.between(1, 255)]
    if (kind === "key" && isRequest) bytes[from + 20] = 252
    const length = bytes.readUInt32LE(from)
    if (kind === "payload") bytes[header + (isRequest ? 27 + bytes[header + 2]! : 3)] = random.pick([0x7b, 0x22, 0x30, 0x5d])
    if (kind === "cut") bytes[header + length - 1] = 0x20
  })
  return { refusal: inBlock(block, sequence), words, isInPayload: true }
}

/** An item of a record's payload is of no type that any field has. */
const otherItem: Damage = (yard) => {
  const { random } = yard
  const block = random.pick(yard.blocks)
  cutBehind(yard, block)
  const index = random.below(block.records.length)
  const from = recordAt(block.bytes, index)
  const header = from + recordHeaderBytes
  const start = header + (block.bytes[header + 1] === 0 ? 3 : 27 + block.bytes[header + 2]!)
  const end = header + block.bytes.readUInt32LE(from)
  const items = JSON.parse(block.bytes.toString("utf8", start, end)) as Array<unknown>
  if (items.length === 0) return undefined
  items[random.below(items.length)] = null
  const text = JSON.stringify(items)
  if (Buffer.byteLength(text) > end - start) return undefined
  forged(yard, block, (bytes) => void bytes.fill(0x20, start, end).write(text, start, "utf8"))
  return { refusal: inBlock(block, block.firstSequence + index), isInPayload: true }
}

const lostSegment: Damage = ({ disk, random, segments }) => {
  const index = random.below(segments.length)
  const { first } = segments[index]!
  if (segments.length < 2 || index === segments.length - 1) return undefined
  disk.remove(Segment.pathOf(first))
  const next = segments[index + 1]!.first
  if (index === 0) return { refusal: corrupt(Segment.pathOf(next), 0, 1, "beginning"), words: "the segments before it are missing" }
  const before = segments[index - 1]!
  return {
    refusal: corrupt(Segment.pathOf(before.first), before.end, first, "between"),
    words: `the next segment begins with sequence ${next}`
  }
}

/** A segment under a name that is another's, before or behind those that are there, in place of its own or beside it. */
const otherName: Damage = (yard) => {
  const { disk, random, segments } = yard
  const index = random.below(segments.length)
  const { first } = segments[index]!
  const own = Segment.pathOf(first)
  const inside = yard.blocks.filter(({ segment }) => segment === first).flatMap(({ records }) => records.map(({ sequence }) => sequence))
    .slice(1)
  if (inside.length === 0) return undefined
  const name = Segment.pathOf(random.pick(inside))
  disk.create(name, disk.bytes(own))
  const sequence = Number(name.slice(-24, -4))
  if (random.chance(0.5)) {
    return {
      refusal: corrupt(name, 0, sequence, "misplaced"),
      words: `records are whole up to ${yard.blocks.findLast(({ segment }) => segment === first)!.lastSequence}`
    }
  }
  disk.remove(own)
  // What is missing comes first, except where the file with the other name is the journal's first.
  if (index === 0) return { refusal: corrupt(name, 0, 1, "beginning") }
  const before = segments[index - 1]!
  return { refusal: corrupt(Segment.pathOf(before.first), before.end, first, "between") }
}

/** The file of a segment is another one's. */
const otherFile: Damage = ({ disk, random, segments }) => {
  if (segments.length < 2) return undefined
  const index = random.below(segments.length)
  const other = segments[(index + random.between(1, segments.length - 1)) % segments.length]!
  const path = Segment.pathOf(segments[index]!.first)
  const bytes = disk.bytes(Segment.pathOf(other.first))
  disk.remove(path)
  disk.create(path, bytes)
  return {
    refusal: corrupt(path, 0, segments[index]!.first, "misplaced"),
    words: `it is ${Segment.pathOf(other.first)} under another name`
  }
}

/** A segment that is shorter or longer than its header says. */
const otherSize: Damage = (yard) => {
  const { blocks, disk, random } = yard
  const { bytes, first } = random.pick(yard.segments)
  const path = Segment.pathOf(first)
  const file = yard.fileOf(first)
  const size = random.chance(0.4) ? bytes + sector * random.between(1, 3) : sector * random.between(1, bytes / sector - 1)
  const other = Buffer.alloc(size)
  file.copy(other, 0, 0, Math.min(size, bytes))
  disk.remove(path)
  disk.create(path, other)
  const whole = blocks.findLast((block) => block.segment === first && endOf(block) <= size)
  const next = (whole?.lastSequence ?? first - 1) + 1
  return {
    refusal: corrupt(path, size, next),
    words: whole === undefined ? `it has ${size} bytes instead of ${bytes}` : `the records ${first} to ${next - 1} are whole`
  }
}

/** There is a directory under the name of a segment. */
const noFile: Damage = ({ disk, random, segments }) => {
  const sequence = random.chance(0.5) ? random.pick(segments).first : segments.at(-1)!.first + 1_000
  const path = Segment.pathOf(sequence)
  if (segments.some(({ first }) => first === sequence)) disk.remove(path)
  disk.create(`${path}/x`, new Uint8Array(0))
  return { refusal: corrupt(path, 0, sequence, "misplaced"), words: "it is a directory" }
}

const noSegments: Damage = ({ disk, segments }) => {
  for (const { first } of segments) disk.remove(Segment.pathOf(first))
  return { refusal: corrupt(Segment.pathOf(1), 0, 1, "beginning"), words: "there is no segment" }
}

/** A block whose digest does not match, although every sector of it is there, behind the end. */
const wrongDigest: Damage = (yard) => {
  const { last, random, segments } = yard
  const { bytes } = segments.at(-1)!
  const block = yard.successor(last, { segment: last.segment, offset: endOf(last) }, random.between(1, mostUnderWay), last.epoch,
    last.lastSequence)
  if (endOf(block) > bytes) return undefined
  write(yard, last, block.offset, block.bytes)
  yard.disk.flip(Segment.pathOf(last.segment), block.offset + at.records + random.below(block.bytes.length - at.records - 8),
    random.below(8))
  return { refusal: inBlock(block), words: "the block's digest does not match its bytes" }
}

/** Every kind of damage, by name. */
export const kinds: ReadonlyArray<readonly [what: string, plant: Damage]> = [
  ["a flipped bit", flippedBit],
  ["a flipped bit of a segment's header", flippedHeader],
  ["flipped bits of a segment's header and its first block", flippedBoth],
  ["a segment that continues another journal", headerOfOthers],
  ["a header of another segment", otherHeader],
  ["a segment of a newer version", newerHeader],
  ["a block of a newer version", newerBlock],
  ["a lost sector", lostSector],
  ["an unfinished block before a later segment", unfinishedBeforeSegment],
  ["stray bytes behind the blocks", strayBytes],
  ["a block that went astray", misdirected],
  ["an epoch that goes back", earlierEpoch],
  ["a block without records", withoutRecords],
  ["a block of another sequence", otherSequence],
  ["a block behind another one", otherBlockBefore],
  ["records that make no sense", otherFraming],
  ["a record that nobody wrote", otherPayload],
  ["a record with an item of no type", otherItem],
  ["a lost segment", lostSegment],
  ["a segment under another name", otherName],
  ["a segment that is another's file", otherFile],
  ["a segment of another size", otherSize],
  ["a directory for a segment", noFile],
  ["a journal without segments", noSegments],
  ["a whole block with another digest", wrongDigest]
]

/** Ways of reading a journal from its first block to its last. */
const readAll = Effect.asVoid(Effect.flatMap(Scan.segments, Scan.readAll))
const readByTool = Effect.flatMap(Journal, (journal) => Stream.runDrain(journal.replay(1))).pipe(
  Effect.provide(SegmentJournal.layerReadOnly)
)

/** Reads a damaged journal: it is refused by what it has, and nothing is changed. */
export const damage = (judge: Judge, yard: Yard, [what, plant]: (typeof kinds)[number]): void => {
  const due = plant(yard)
  if (due === undefined) return
  const { disk, random } = yard
  const before = disk.files().map((path) => [path, Block.sha256(disk.bytes(path))])
  const { bytes } = yard.segments.at(-1)!
  const readByStart = Effect.flatMap(Journal, (journal) => Stream.runDrain(journal.replay(1))).pipe(
    Effect.provide(SegmentJournal.layerUnsettled({ segmentBytes: bytes, maxBlockBytes: sector }))
  )
  const isGone = what === "a journal without segments"
  const read = due.isInPayload === true || !random.chance(0.4)
    ? random.chance(0.5) && !isGone ? readByStart : readByTool
    : readAll
  // A start of a run comes across one in hundreds of seeds.
  const ending = yard.run(Effect.provideService(read, Branches, (branch) => {
    if (branch === "an unfinished block before a later segment") judge.reached(branch)
  }))
  judge.equal(`a reading over ${what}`, endingOf(ending), due.refusal)
  judge.holds(`over ${what} the words "${due.words ?? ""}" are not in: ${wordsOf(ending)}`, wordsOf(ending).includes(due.words ?? ""))
  judge.equal(`the files after a reading over ${what}`, disk.files().map((path) => [path, Block.sha256(disk.bytes(path))]), before)
}
