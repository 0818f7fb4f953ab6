/**
 * Snapshot files: named byte sections and their place in the journal, each file with a digest of its own. A snapshot that cannot be
 * trusted is skipped and never served; the journal can always do without it.
 */
import { constants } from "node:buffer"
import * as crypto from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { assert } from "../domain/Assert.js"
import { Branches } from "../domain/Branches.js"
import { replayedRecords } from "../domain/Retention.js"
import { digestBytes } from "./Block.js"
import { Disk, DiskError, isLockLost } from "./Disk.js"
import type { File } from "./Disk.js"
import type { Corrupt } from "./Journal.js"
import { ownIfAny } from "./Own.js"

/** A named run of bytes. After reading, it begins at a multiple of 8 in its buffer. */
export interface Section {
  readonly name: string
  readonly bytes: Uint8Array
  /** A handle to the memory that the section was read into, where the decoder will continue to use it. */
  readonly room?: unknown
}

/** Allocates memory of exactly this size for a section. */
export type MemoryFor = (name: string, bytes: number) => Omit<Section, "name">

/**
 * How snapshots are read into memory: pieces of a given size, and where a snapshot is larger, each section into memory of its own,
 * which the tables of the state may continue to use without copying.
 */
interface Loading {
  readonly atOnceBytes: number
  readonly memoryFor: MemoryFor
}

/**
 * A section produced while it is written: each piece is written before the next is requested. Together they have the declared
 * length.
 */
export interface Streamed {
  readonly name: string
  readonly length: number
  readonly pieces: () => Iterable<Uint8Array>
}

/** A state with its place in the journal. */
export interface Snapshot {
  /** The last record applied: the last of a block. */
  readonly sequence: number
  /** Digest of that block. */
  readonly blockDigest: Uint8Array
  /** The version of the engine's sections. */
  readonly schema: number
  readonly sections: ReadonlyArray<Section>
}

/** A snapshot to be saved. The source of its sections must not change until it is. */
export interface Taken extends Omit<Snapshot, "sections"> {
  readonly sections: ReadonlyArray<Section | Streamed>
}

/** A snapshot read from the disk. */
export interface Stored extends Snapshot {
  /** SHA-256 of the whole file before it, which identifies the snapshot. */
  readonly digest: Uint8Array
}

export class SnapshotStore extends Context.Tag("venue/journal/SnapshotStore")<SnapshotStore, {
  /** Saves a snapshot durably, then removes those that are no longer needed. */
  readonly save: (snapshot: Taken) => Effect.Effect<void, DiskError>
  /** The newest intact snapshot, or undefined. Damaged ones are skipped with a warning. */
  readonly latest: Effect.Effect<Stored | undefined, Unlisted>
  /** Sequences of all snapshots, intact or not, ascending. */
  readonly list: Effect.Effect<ReadonlyArray<number>, Unlisted>
  /** A snapshot, or why it cannot be trusted. */
  readonly load: (sequence: number) => Effect.Effect<Stored | string, DiskError>
  /**
   * Saves the state before a step to other rules, for as long as the journal exists: only the previous version can replay what
   * precedes it. Replaces one of the same sequence.
   */
  readonly saveStep: (snapshot: Taken) => Effect.Effect<void, DiskError>
  /** The state that was saved for a step, or why it cannot be trusted. */
  readonly loadStep: (sequence: number) => Effect.Effect<Stored | string, DiskError>
  /** Removes the state that was saved for a step which was never made, durably. */
  readonly removeStep: (sequence: number) => Effect.Effect<void, DiskError>
  /** Sequences of all these files, intact or not. */
  readonly names: Effect.Effect<Names, Unlisted>
}>() {}

/** Why the stored states cannot be listed: `Corrupt` where one of their names leads to something other than a file. */
type Unlisted = Corrupt | DiskError

interface Names {
  /** Ascending. */
  readonly snapshots: ReadonlyArray<number>
  /** Of the states saved for steps, ascending: `LastStep` tells which of these steps were made. */
  readonly steps: ReadonlyArray<number>
}

/** A file may have disappeared before it is read, since a writer beside the reader removes old ones. */
const gone = "it is gone"
const unlessGone = <A>(loading: Effect.Effect<A | string, DiskError>): Effect.Effect<A | string, DiskError> =>
  Effect.catchIf(loading, (error) => error.code === "ENOENT", () => Effect.succeed(gone))

/** A stored state and how to load it. */
export interface Kept {
  readonly sequence: number
  readonly isStep: boolean
  /** Its name in warnings. */
  readonly name: string
  /** The state, or why it cannot be trusted. */
  readonly load: Effect.Effect<Stored | string, Unlisted>
}

/**
 * The stored states before a sequence, newest first: snapshots, and the states that were saved for steps. Those before the last step may
 * exist, but only the version that wrote them can replay what follows.
 */
export const keptBefore = (store: SnapshotStore["Type"], sequence: number): Effect.Effect<ReadonlyArray<Kept>, Unlisted> =>
  Effect.map(store.names, ({ snapshots, steps }) => {
    const kept = [
      ...snapshots.map((at): Kept => ({
        sequence: at,
        isStep: false,
        name: `the snapshot at sequence ${at}`,
        load: unlessGone(store.load(at))
      })),
      ...steps.map((at): Kept => ({
        sequence: at,
        isStep: true,
        name: `the state that a step at sequence ${at + 1} begins with`,
        load: unlessGone(store.loadStep(at))
      }))
    ]
    // At equal sequences the snapshot comes first.
    return kept.filter((each) => each.sequence < sequence).sort((a, b) => b.sequence - a.sequence || Number(a.isStep) - Number(b.isStep))
  })

/** Removes all snapshots at or after a sequence, whose records a cut has discarded. Returns their sequences. */
export const removeFrom = (sequence: number): Effect.Effect<ReadonlyArray<number>, DiskError, Disk> =>
  Effect.gen(function*() {
    const disk = yield* Disk
    const files = yield* Effect.catchIf(disk.list(directory), ({ code }) => code === "ENOENT", () => Effect.succeed([]))
    const later = sequencesOf(files, namePattern).filter((snapshot) => snapshot >= sequence)
    for (const snapshot of later) yield* disk.remove(pathOf(snapshot))
    const steps = sequencesOf(files, stepPattern).filter((step) => step >= sequence)
    for (const step of steps) yield* disk.remove(stepPathOf(step))
    if (later.length + steps.length > 0) yield* disk.syncDirectory(directory)
    return [...new Set([...later, ...steps])].sort((a, b) => a - b)
  })

/** Where snapshots live, relative to the data directory. */
export const directory = "snapshots"
const unfinishedName = "next.tmp"

/** Most snapshots kept for readings from further back: beyond the near ones, up to two for each doubling of the age. */
const mostFar = 16

/**
 * Which of the existing snapshots are kept, given and returned oldest first. The newest two are; so is the newest one that precedes
 * everything a near reading replays, and the one that will take its place: without these, two stops in quick succession would leave
 * only the most recent states, and a client that had lost its connection earlier would cause the whole journal to be replayed. Of
 * older ones some are kept at growing distances, each at most twice as old as the next newer: an older reading thus begins at most
 * twice as far back, and a journal of any length needs only a few.
 */
export const keptOf = (sequences: ReadonlyArray<number>): ReadonlyArray<number> => {
  const newest = sequences.at(-1) ?? 0
  // The journal's first record is near enough.
  if (newest <= replayedRecords) return sequences.slice(-2)
  const next = sequences.filter((sequence) => sequence <= newest - replayedRecords).length
  const far = next === 0 ? [] : farOf(sequences.slice(0, next), newest)
  return sequences.filter((sequence, at) => at >= sequences.length - 2 || at === next || at < next && far.includes(sequence))
}

/** Of the snapshots before the near ones, oldest first, those to be kept for readings from further back. */
const farOf = (sequences: ReadonlyArray<number>, newest: number): ReadonlyArray<number> => {
  const kept = [sequences.at(-1)!]
  for (let at = sequences.length - 2; at >= 0 && kept.length < mostFar; at--) {
    const reachedSequence = newest - 2 * (newest - kept.at(-1)!)
    // The journal's first record is near enough.
    if (reachedSequence <= 0) break
    // The next older one is near enough, so this one is not needed.
    if (at > 0 && sequences[at - 1]! >= reachedSequence) continue
    kept.push(sequences[at]!)
  }
  return kept
}

const pathOf = (sequence: number): string => `${directory}/${String(sequence).padStart(20, "0")}.snap`
const namePattern = /^[0-9]{20}\.snap$/

const stepPathOf = (sequence: number): string => `${directory}/${String(sequence).padStart(20, "0")}.step`
const stepPattern = /^[0-9]{20}\.step$/

/** Whether a file of the directory is a complete snapshot, or the state before a step. */
export const isWhole = (name: string): boolean => namePattern.test(name) || stepPattern.test(name)

/** Bytes read ahead of what is being digested. */
const readBytes = 8 << 20

const anyMemory: MemoryFor = (_, bytes) => ({ bytes: new Uint8Array(bytes) })

/**
 * Stores snapshots on the disk. The newest is read ahead while the journal is being checked. Snapshots larger than one read go to
 * memory allocated by `memoryFor`.
 */
export const layerInto = (memoryFor: MemoryFor, atOnceBytes: number = readBytes): Layer.Layer<SnapshotStore, DiskError, Disk> => {
  const loading = { atOnceBytes, memoryFor }
  return Layer.scoped(
    SnapshotStore,
    Effect.gen(function*() {
      const disk = yield* Disk
      yield* disk.makeDirectory(directory)
      yield* disk.syncDirectory("")
      let ahead: Fiber.Fiber<Stored | undefined, Unlisted> | undefined = yield* Effect.forkScoped(latest(disk, loading))
      /**
       * The snapshot read ahead, given only once: it is large, and another one may be the newest by then. It is awaited and not joined: a
       * join would take over the reading fiber's context too, with this store's scope. Where the store is opened beside the journal, the
       * writer would then end when the store closes, with the journal closing at the same time.
       */
      const take = Effect.suspend(() => {
        const read = ahead
        ahead = undefined
        return read === undefined ? latest(disk, loading) : Effect.flatten(Fiber.await(read))
      })
      const store = reading(disk, loading, {
        save: (snapshot) =>
          Effect.suspend(() => {
            ahead = undefined
            return save(disk, snapshot)
          }),
        saveStep: (snapshot) => keep(disk, snapshot, stepPathOf(snapshot.sequence)),
        removeStep: (sequence) => Effect.zipRight(disk.remove(stepPathOf(sequence)), disk.syncDirectory(directory))
      })
      return SnapshotStore.of({ ...store, latest: take })
    })
  )
}

export const layer: Layer.Layer<SnapshotStore, DiskError, Disk> = layerInto(anyMemory)

/** Stores snapshots for a process that is told which one to start from: nothing is read ahead. The directory must exist. */
export const layerBesideInto = (memoryFor: MemoryFor, atOnceBytes: number = readBytes): Layer.Layer<SnapshotStore, never, Disk> =>
  Layer.effect(
    SnapshotStore,
    Effect.map(Disk, (disk) => reading(disk, { atOnceBytes, memoryFor }, { ...readingOnly, save: (snapshot) => save(disk, snapshot) }))
  )

export const layerBeside: Layer.Layer<SnapshotStore, never, Disk> = layerBesideInto(anyMemory)

/** Reads snapshots and writes nothing, also beside a running venue. `save` is a defect. */
export const layerReadOnly: Layer.Layer<SnapshotStore, never, Disk> = Layer.effect(
  SnapshotStore,
  Effect.map(Disk, (disk) => reading(disk, { atOnceBytes: readBytes, memoryFor: anyMemory }, readingOnly))
)

type DiskService = Context.Tag.Service<typeof Disk>
type Save = (snapshot: Taken) => Effect.Effect<void, DiskError>

const refuseToSave: Save = () => Effect.dieMessage("snapshots were opened for reading only")

/** What changes the stored states. */
type Changing = Pick<SnapshotStore["Type"], "save" | "saveStep" | "removeStep">

const readingOnly: Changing = {
  save: refuseToSave,
  saveStep: refuseToSave,
  removeStep: () => Effect.dieMessage("snapshots were opened for reading only")
}

const reading = (disk: DiskService, loading: Loading, { removeStep, save, saveStep }: Changing) =>
  SnapshotStore.of({
    save,
    latest: latest(disk, loading),
    list: list(disk),
    load: (sequence) => Effect.scoped(load(disk, loading, sequence, pathOf(sequence))),
    saveStep,
    loadStep: (sequence) => Effect.scoped(load(disk, loading, sequence, stepPathOf(sequence))),
    removeStep,
    names: names(disk)
  })

const listed = (disk: DiskService): Effect.Effect<ReadonlyArray<string>, Unlisted> => ownIfAny(disk, directory, isWhole)
const sequencesOf = (files: ReadonlyArray<string>, pattern: RegExp): ReadonlyArray<number> =>
  files.filter((name) => pattern.test(name)).map((name) => Number(name.slice(0, 20)))

const list = (disk: DiskService) => Effect.map(listed(disk), (files) => sequencesOf(files, namePattern))
const names = (disk: DiskService): Effect.Effect<Names, Unlisted> =>
  Effect.map(listed(disk), (files) => ({ snapshots: sequencesOf(files, namePattern), steps: sequencesOf(files, stepPattern) }))

const latest = (disk: DiskService, loading: Loading): Effect.Effect<Stored | undefined, Unlisted> =>
  Effect.gen(function*() {
    for (const sequence of (yield* list(disk)).toReversed()) {
      const read = yield* unlessGone(Effect.scoped(load(disk, loading, sequence, pathOf(sequence))))
      if (typeof read !== "string") return read
      ;(yield* Branches)?.("a damaged snapshot was passed over")
      yield* Effect.logWarning(`${pathOf(sequence)} is passed over: ${read}`)
    }
    return undefined
  })

// Layout: magic, version (4), manifest length (4), manifest (JSON), sections, SHA-256 of all before. Manifest
// and sections are padded to multiples of 8.
const magic = Buffer.from([0xfd, 0xf6, 0xfa, 0xf9, 0xfb, 0xf7, 0xf5, 0xfe])
/** The version of this layout. Version 2 named no schema: its sections are of schema 2. */
const version = 3
const schemalessVersion = 2
const headBytes = 16
const alignment = 8
const writeBytes = 1 << 20
/** The largest buffer. */
const largestBytes = constants.MAX_LENGTH

const aligned = (length: number): number => Math.ceil(length / alignment) * alignment

interface Manifest {
  readonly sequence: number
  readonly blockDigest: string
  readonly schema: number
  readonly sections: ReadonlyArray<readonly [name: string, bytes: number]>
}

/** Writes a snapshot durably to a path. */
const keep = (disk: DiskService, snapshot: Taken, path: string): Effect.Effect<void, DiskError> =>
  Effect.gen(function*() {
    assert(Number.isSafeInteger(snapshot.sequence) && snapshot.sequence >= 1, "a snapshot is of a sequence")
    const unfinished = `${directory}/${unfinishedName}`
    if ((yield* disk.list(directory)).includes(unfinishedName)) yield* disk.remove(unfinished)
    yield* Effect.scoped(Effect.flatMap(disk.open(unfinished, "create"), (file) => write(file, snapshot))).pipe(
      // An unfinished file must not take up space that the journal needs; if it cannot be removed now, the next save removes it.
      Effect.tapErrorCause(() => Effect.ignore(disk.remove(unfinished)))
    )
    yield* disk.rename(unfinished, path)
    yield* disk.syncDirectory(directory)
  })

const save = (disk: DiskService, snapshot: Taken): Effect.Effect<void, DiskError> =>
  Effect.zipRight(keep(disk, snapshot, pathOf(snapshot.sequence)), removeOld(disk))

/** Removes snapshots that are needed no more. What cannot be removed only takes up space: it says nothing of the one that was saved. */
const removeOld = (disk: DiskService): Effect.Effect<void, DiskError> => {
  const orWarn = (act: Effect.Effect<void, DiskError>): Effect.Effect<void, DiskError> =>
    Effect.catchIf(act, (error) => !isLockLost(error), ({ message }) =>
      Effect.logWarning(`older snapshots are not removed, and take up space: ${message}`))
  return orWarn(Effect.gen(function*() {
    const there = sequencesOf(yield* disk.list(directory), namePattern)
    const needed = keptOf(there)
    for (const old of there) if (!needed.includes(old)) yield* orWarn(disk.remove(pathOf(old)))
    yield* disk.syncDirectory(directory)
  }))
}

const write = Effect.fnUntraced(function*(file: File, snapshot: Taken) {
  const hash = crypto.createHash("sha256")
  let position = 0
  const put = Effect.fnUntraced(function*(bytes: Uint8Array) {
    for (let from = 0; from < bytes.length; from += writeBytes) {
      const part = bytes.subarray(from, from + writeBytes)
      hash.update(part)
      yield* file.writeAt(position, part)
      position += part.length
    }
  })
  yield* put(encodeHead(snapshot))
  for (const section of snapshot.sections) {
    const end = position + lengthOf(section)
    for (const piece of "bytes" in section ? [section.bytes] : section.pieces()) yield* put(piece)
    assert(position === end, "a section is as long as it says")
    yield* put(Buffer.alloc(aligned(end) - end))
  }
  yield* file.writeAt(position, hash.digest())
  yield* file.dataSync
})

const lengthOf = (section: Section | Streamed): number => "bytes" in section ? section.bytes.length : section.length

const encodeHead = (snapshot: Taken): Buffer => {
  const manifest: Manifest = {
    sequence: snapshot.sequence,
    blockDigest: Buffer.from(snapshot.blockDigest).toString("hex"),
    schema: snapshot.schema,
    sections: snapshot.sections.map((section) => [section.name, lengthOf(section)])
  }
  const text = Buffer.from(JSON.stringify(manifest))
  const head = Buffer.alloc(headBytes + aligned(text.length))
  magic.copy(head)
  head.writeUInt32LE(version, 8)
  head.writeUInt32LE(text.length, 12)
  text.copy(head, headBytes)
  return head
}

/** The content of a file's head, and where its sections begin. */
interface Head {
  readonly manifest: Manifest
  readonly version: number
  readonly end: number
}

/** Whether the sections of a manifest fill a file of this size. */
const fills = ({ sections }: Manifest, end: number, size: number): boolean =>
  sections.every(([name, bytes]) => typeof name === "string" && Number.isSafeInteger(bytes) && bytes >= 0)
  && sections.reduce((sum, [, bytes]) => sum + aligned(bytes), end + digestBytes) === size

/** The head of a file of the given size; undefined where it has another layout or is damaged. */
const headIn = (bytes: Buffer, size: number): Head | undefined => {
  if (bytes.length < headBytes || magic.compare(bytes, 0, magic.length) !== 0) return undefined
  const written = bytes.readUInt32LE(8)
  const textEnd = headBytes + bytes.readUInt32LE(12)
  const end = aligned(textEnd)
  if ((written !== version && written !== schemalessVersion) || end > bytes.length) return undefined
  try {
    const manifest = JSON.parse(bytes.toString("utf8", headBytes, textEnd)) as Manifest
    return fills(manifest, end, size) ? { manifest, version: written, end } : undefined
  } catch {
    // A damaged file has another digest and is refused for that.
    return undefined
  }
}

/** The memory into which a file is read: consecutive parts, and the sections among them. */
interface Targets {
  readonly parts: ReadonlyArray<Uint8Array>
  readonly sections: ReadonlyArray<Section>
}

/** All sections within a file that was read as a whole. */
const targetsIn = (bytes: Buffer, { end, manifest }: Head): Targets => {
  let at = end
  const sections = manifest.sections.map(([name, length]): Section => {
    const section = { name, bytes: bytes.subarray(at, at + length) }
    at += aligned(length)
    return section
  })
  return { parts: [bytes], sections }
}

/** Each section in its own memory; the bytes between them, and the digest at the end, in memory that is discarded. */
const targetsApart = ({ end, manifest }: Head, { memoryFor }: Loading): Targets => {
  const sections = manifest.sections.map(([name, length]): Section => ({ name, ...memoryFor(name, length) }))
  const parts = sections.flatMap(({ bytes }) => [bytes, Buffer.alloc(aligned(bytes.length) - bytes.length)])
  return { parts: [Buffer.alloc(end), ...parts, Buffer.alloc(digestBytes)], sections }
}

/** Splits the parts into pieces of limited size, each with its position in the file. */
function* piecesFrom(parts: ReadonlyArray<Uint8Array>, position: number, atOnceBytes: number): Generator<readonly [number, Uint8Array]> {
  let at = 0
  for (const part of parts) {
    for (let from = Math.max(0, position - at); from < part.length; from += atOnceBytes) {
      yield [at + from, part.subarray(from, from + atOnceBytes)]
    }
    at += part.length
  }
}

/** Copies the bytes already read to where they belong. */
const putHead = (head: Buffer, parts: ReadonlyArray<Uint8Array>): void => {
  let at = 0
  for (const part of parts) {
    if (at >= head.length) return
    if (part !== head) part.set(head.subarray(at, at + part.length))
    at += part.length
  }
}

/** Why a file with a matching digest still cannot be read. */
const unreadable = (head: Buffer): string => {
  const written = head.readUInt32LE(8)
  return magic.compare(head, 0, magic.length) === 0 && written > version
    ? `a newer version wrote it (format ${written}, and this program reads up to ${version})`
    : "it has another format"
}

/** Digests a file of a given size piece by piece, and checks the digest at its end. */
class Check {
  private readonly hash = crypto.createHash("sha256")
  private readonly told = Buffer.alloc(digestBytes)
  private readonly end: number

  constructor(size: number) {
    this.end = size - digestBytes
  }

  take(position: number, piece: Uint8Array): void {
    const before = Math.max(0, this.end - position)
    this.hash.update(piece.subarray(0, before))
    // The digest may be spread over several pieces.
    if (before < piece.length) this.told.set(piece.subarray(before), Math.max(0, position - this.end))
  }

  /** The digest, after all pieces; undefined where it does not match. */
  get digest(): Buffer | undefined {
    const digest = this.hash.digest()
    return this.end >= headBytes && digest.equals(this.told) ? digest : undefined
  }
}

/**
 * Whether the state that was saved for a step is as it was written: read piece by piece, so that it needs no memory of its own. `missing`
 * where there is no such file.
 */
export const stepCondition = (sequence: number): Effect.Effect<"whole" | "missing" | "damaged", DiskError, Disk> =>
  Effect.scoped(Effect.gen(function*() {
    const file = yield* Effect.flatMap(Disk, (disk) => disk.open(stepPathOf(sequence), "read"))
    const size = yield* file.size
    const check = new Check(size)
    for (let position = 0; position < size; position += writeBytes) {
      check.take(position, yield* file.readAt(position, Math.min(writeBytes, size - position)))
    }
    return check.digest === undefined ? "damaged" as const : "whole" as const
  })).pipe(Effect.catchIf(({ code }) => code === "ENOENT", () => Effect.succeed("missing" as const)))

/** Loads a snapshot, or says why it cannot be trusted. */
const load = Effect.fnUntraced(function*(disk: DiskService, loading: Loading, sequence: number, path: string) {
  const file = yield* disk.open(path, "read")
  const size = yield* file.size
  if (size > largestBytes) return `it is larger than the ${largestBytes} bytes that can be loaded`
  const { atOnceBytes } = loading
  const bytes = Buffer.allocUnsafeSlow(Math.min(size, atOnceBytes))
  const read = (position: number, piece: Uint8Array) => Effect.forkScoped(file.readInto(position, piece))
  if ((yield* Fiber.join(yield* read(0, bytes))) !== bytes.length) return "it is shorter than it was"
  const check = new Check(size)
  check.take(0, bytes)
  const head = headIn(bytes, size)
  // A file of an unknown layout is read too, to find out whether its digest matches.
  const { parts, sections } = head === undefined
    ? { parts: [size <= atOnceBytes ? bytes : Buffer.allocUnsafeSlow(size)], sections: [] }
    : size <= atOnceBytes
    ? targetsIn(bytes, head)
    : targetsApart(head, loading)
  putHead(bytes, parts)
  const pieces = [...piecesFrom(parts, bytes.length, atOnceBytes)]
  let ahead = pieces.length === 0 ? undefined : yield* read(...pieces[0]!)
  for (let at = 0; ahead !== undefined; at++) {
    const [position, piece] = pieces[at]!
    if ((yield* Fiber.join(ahead)) !== piece.length) return "it is shorter than it was"
    const next = pieces[at + 1]
    ahead = next === undefined ? undefined : yield* read(...next)
    check.take(position, piece)
  }
  const { digest } = check
  if (digest === undefined) return "its digest does not match its bytes"
  if (head === undefined) return unreadable(bytes)
  const { manifest } = head
  if (manifest.sequence !== sequence) return `it is of sequence ${manifest.sequence}`
  const snapshot: Stored = {
    sequence,
    blockDigest: Buffer.from(manifest.blockDigest, "hex"),
    schema: head.version === version ? manifest.schema : schemalessVersion,
    sections,
    digest
  }
  return snapshot
})
