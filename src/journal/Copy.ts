/**
 * Copies a data directory's journal and snapshots while a venue writes to it. Snapshots come first: each belongs to a record that
 * was durable before it was saved, so that no copied journal is behind a copied snapshot. Then the segments are copied as far as
 * their chain was verified, and filled up with zeros: blocks being written behind that point would be read in pieces of different
 * ages, which a start could not tell from damage. The copy can be started from and replayed like any directory that a venue has
 * left.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { assert } from "../domain/Assert.js"
import { Disk, DiskError } from "./Disk.js"
import type { File } from "./Disk.js"
import type { Corrupt, NewerFormat } from "./Journal.js"
import { ownIfAny } from "./Own.js"
import * as Scan from "./Scan.js"
import * as Segment from "./Segment.js"
import * as SnapshotStore from "./SnapshotStore.js"

/** Bytes read at a time. */
const pieceBytes = 1 << 20

/** The result of a copy. */
export interface Copied {
  /** The last record, and the digest of its block. */
  readonly sequence: number
  readonly digest: Uint8Array
  readonly segments: number
  readonly snapshots: number
}

const zeros = Buffer.alloc(pieceBytes)

/** Copies the first bytes of a file to a new file, and fills it up with zeros. */
const copyFile = (from: File, to: File, bytes: number, size: number): Effect.Effect<void, DiskError> =>
  Effect.gen(function*() {
    for (let at = 0; at < size;) {
      const wanted = Math.min(pieceBytes, at < bytes ? bytes - at : size - at)
      const piece = at < bytes ? yield* from.readAt(at, wanted) : zeros.subarray(0, wanted)
      if (piece.length === 0) return yield* new DiskError({ operation: "readAt", path: from.path, code: "EIO" })
      yield* to.writeAt(at, piece)
      at += piece.length
    }
    yield* to.dataSync
  })

const isGone = ({ code }: DiskError): boolean => code === "ENOENT"

/** Copies snapshots, which only get their names once they are complete; one that is removed meanwhile is skipped. */
const copySnapshots = (from: Disk["Type"], to: Disk["Type"]): Effect.Effect<number, Corrupt | DiskError> =>
  Effect.gen(function*() {
    const names = yield* ownIfAny(from, SnapshotStore.directory, SnapshotStore.isWhole)
    let copied = 0
    for (const name of names) {
      const path = `${SnapshotStore.directory}/${name}`
      const copy: Effect.Effect<number, DiskError, Scope.Scope> = Effect.gen(function*() {
        const file = yield* from.open(path, "read")
        const size = yield* file.size
        yield* copyFile(file, yield* to.open(path, "create"), size, size)
        return 1
      })
      copied += yield* Effect.catchIf(Effect.scoped(copy), isGone, () => Effect.succeed(0))
    }
    yield* to.syncDirectory(SnapshotStore.directory)
    return copied
  })

/**
 * Copies the data directory to a disk without one, and verifies the copy's chain from the beginning. A failed copy leaves no file
 * behind, so that another one can be made in its place.
 */
export const copyTo = (to: Disk["Type"]): Effect.Effect<Copied, Corrupt | NewerFormat | DiskError, Disk> =>
  Effect.suspend(() => {
    const made: Array<string> = []
    const noting: Disk["Type"] = {
      ...to,
      open: (path, mode) => Effect.tap(to.open(path, mode), () => Effect.sync(() => mode === "create" && made.push(path)))
    }
    // The reason of the failure is reported; files that cannot be removed remain visible.
    return Effect.onError(copying(noting), () => Effect.forEach(made, (path) => Effect.ignore(to.remove(path)), { discard: true }))
  })

const copying = (to: Disk["Type"]): Effect.Effect<Copied, Corrupt | NewerFormat | DiskError, Disk> =>
  Effect.gen(function*() {
    const from = yield* Disk
    yield* to.makeDirectory(Segment.directory)
    yield* to.makeDirectory(SnapshotStore.directory)
    // Unless the names of both directories are durable, everything synced below them could vanish on a power failure.
    yield* to.syncDirectory("")
    const snapshots = yield* copySnapshots(from, to)
    const segments = yield* Scan.segments
    const end = yield* Scan.readAllBeside(segments)
    for (const first of segments) {
      const path = Segment.pathOf(first)
      yield* Effect.scoped(Effect.gen(function*() {
        const file = yield* from.open(path, "read")
        const size = yield* file.size
        const isLast = first === end.segment.firstSequence
        yield* copyFile(file, yield* to.open(path, "create"), isLast ? end.offset : size, size)
      }))
    }
    yield* to.syncDirectory(Segment.directory)
    const copied = yield* Effect.provideService(Scan.readAll(segments), Disk, to)
    assert(Buffer.compare(copied.chain.digest, end.chain.digest) === 0, "a copy ends where the chain was followed to")
    return { sequence: copied.chain.nextSequence - 1, digest: copied.chain.digest, segments: segments.length, snapshots }
  })
