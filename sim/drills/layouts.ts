/**
 * Files of the journal and of snapshots by their published layout, written here byte by byte without any of the venue's code: the venue
 * reads them, and writes the same. Another layout would read back what it wrote, and lose every file that is kept.
 */
import * as crypto from "node:crypto"
import { Effect } from "effect"
import * as Segment from "../../src/journal/Segment.js"
import { Journal } from "../../src/journal/Journal.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { endingOf, type Judge, type Yard } from "./Yard.js"

const hash = (bytes: Uint8Array): Buffer => crypto.createHash("sha256").update(bytes).digest()

/** The first sector of a segment: magic, version, first sequence, size, digest before it, filler, digest. */
const headerOf = (firstSequence: number, segmentBytes: number, previousDigest: Uint8Array): Buffer => {
  const bytes = Buffer.alloc(480, 0xa5)
  bytes.write("fbf9fef5f7fafdf6", "hex")
  bytes.writeUInt32LE(1, 8)
  bytes.writeBigUInt64LE(BigInt(firstSequence), 16)
  bytes.writeBigUInt64LE(BigInt(segmentBytes), 24)
  bytes.set(previousDigest, 32)
  return Buffer.concat([bytes, hash(bytes)])
}

type Sections = ReadonlyArray<readonly [name: string, bytes: Uint8Array]>

const aligned = (bytes: Uint8Array): Buffer => Buffer.concat([bytes, Buffer.alloc((8 - bytes.length % 8) % 8)])

/** A snapshot's file: magic, version, length of the manifest, manifest, sections, digest. Version 2 named no schema. */
const snapshotOf = (sequence: number, blockDigest: Uint8Array, schema: number | undefined, sections: Sections): Buffer => {
  const manifest = Buffer.from(JSON.stringify({
    sequence,
    blockDigest: Buffer.from(blockDigest).toString("hex"),
    schema,
    sections: sections.map(([name, { length }]) => [name, length])
  }))
  const head = Buffer.alloc(16)
  head.write("fdf6faf9fbf7f5fe", "hex")
  head.writeUInt32LE(schema === undefined ? 2 : 3, 8)
  head.writeUInt32LE(manifest.length, 12)
  const bytes = Buffer.concat([head, aligned(manifest), ...sections.map(([, each]) => aligned(each))])
  return Buffer.concat([bytes, hash(bytes)])
}

/** The name of a file of a sequence. */
const named = (folder: string, sequence: number, kind: string): string => `${folder}/${String(sequence).padStart(20, "0")}.${kind}`

const segmentsAsPublished = (judge: Judge, { random }: Yard): void => {
  const first = random.pick([1, random.between(1, 1 << 30), Number.MAX_SAFE_INTEGER])
  const header = { firstSequence: first, segmentBytes: 512 * random.between(2, 1 << 30), previousDigest: Buffer.from(random.bytes(32)) }
  const bytes = headerOf(first, header.segmentBytes, header.previousDigest)
  judge.equal("a segment's header as it is written", Segment.encodeHeader(header), bytes)
  judge.equal("a segment's header as it is read", Segment.decodeHeader(bytes), header)
  judge.equal("a segment's name", [Segment.pathOf(first), Segment.firstSequenceOf(Segment.pathOf(first).slice(8))], [
    named("journal", first, "seg"),
    first
  ])
  for (
    const name of ["next.tmp", `${"0".repeat(20)}.seg`, `${"9".repeat(20)}.seg`, `${"1".repeat(19)}.seg`, `${"1".repeat(21)}.seg`,
      `${"1".repeat(20)}.snap`]
  ) {
    judge.equal(`the sequence of ${name}`, Segment.firstSequenceOf(name) ?? "none", "none")
  }
}

const snapshotsAsPublished = (judge: Judge, yard: Yard): void => {
  const { disk, random } = yard
  const sections: Sections = Array.from({ length: random.between(1, 3) },
    (_, index) => [`s${index}`, random.bytes(random.below(40))] as const)
  const sequence = random.between(1, 1_000)
  const schema = random.chance(0.3) ? undefined : random.between(1, 30)
  const blockDigest = random.bytes(32)
  const bytes = snapshotOf(sequence, blockDigest, schema, sections)
  const path = named("snapshots", sequence, "snap")
  if (schema === undefined) disk.create(path, bytes)
  else {
    const snapshot = { sequence, blockDigest, schema, sections: sections.map(([name, each]) => ({ name, bytes: each })) }
    const saving = Effect.flatMap(SnapshotStore.SnapshotStore, ({ save }) => save(snapshot))
    judge.equal("the save of a snapshot", endingOf(yard.run(Effect.provide(saving, SnapshotStore.layer))), "done")
    judge.equal("a snapshot as it is written", Buffer.from(disk.bytes(path)), bytes)
  }
  const reading = Effect.flatMap(SnapshotStore.SnapshotStore, ({ load }) => load(sequence))
  const read = yard.run(Effect.provide(reading, SnapshotStore.layerReadOnly))
  judge.equal("a snapshot as it is read", endingOf(read), {
    sequence,
    blockDigest,
    schema: schema ?? 2,
    sections: sections.map(([name, each]) => ({ name, bytes: each })),
    digest: bytes.subarray(-32)
  })
  // Nothing but a digest, which is that of nothing.
  const other = named("snapshots", sequence + 1, "snap")
  disk.create(other, hash(new Uint8Array(0)))
  const tiny = Effect.flatMap(SnapshotStore.SnapshotStore, ({ load }) => load(sequence + 1))
  judge.equal("a snapshot of a digest alone", endingOf(yard.run(Effect.provide(tiny, SnapshotStore.layerReadOnly))),
    "its digest does not match its bytes")
}

/** A directory that holds no journal yet gets one of its first segment, which outlives a power failure whatever its start was cut off by. */
const newDirectory = (judge: Judge, yard: Yard): void => {
  const { random } = yard
  const disk = yard.emptyDisk()
  const options = { segmentBytes: 512 * random.between(6, 4_200), maxBlockBytes: 512 }
  const opening = Effect.map(Journal, ({ opened, space }) => [opened, space().freeBytes]).pipe(
    Effect.provide(SegmentJournal.layer(options))
  )
  for (let crashes = random.below(3); crashes > 0; crashes--) {
    yard.runUntilCrash(opening, random.between(1, 14), random.pick(["power", "kill"] as const), disk)
    disk.crash(random.pick(["power", "kill"] as const))
  }
  const due = [{ epoch: 1, nextSequence: 1, atEpochMs: 0, digest: Buffer.alloc(32), starts: [] }, options.segmentBytes - 512]
  judge.equal("a new journal", endingOf(yard.run(opening, disk)), due)
  disk.crash("power")
  const file = Buffer.concat([headerOf(1, options.segmentBytes, Buffer.alloc(32)), Buffer.alloc(options.segmentBytes - 512)])
  const files = disk.files().filter((path) => path.endsWith(".seg"))
  judge.equal("the files of a new journal", files.map((path) => [path, hash(disk.bytes(path))]), [[named("journal", 1, "seg"), hash(file)]])
  judge.equal("a new journal that is opened again", endingOf(yard.run(opening, disk)), due)
}

export const layouts = (judge: Judge, yard: Yard): void => {
  segmentsAsPublished(judge, yard)
  snapshotsAsPublished(judge, yard)
  newDirectory(judge, yard)
}
