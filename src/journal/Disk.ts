/**
 * The disk service: the few file operations on which the journal, snapshots and the lock are built. The same journal code runs over
 * a real directory and over a simulated disk that tears, loses and corrupts writes.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { anotherProcess, lockSpoiled } from "../LockWords.js"

/** A file operation failed. Nothing may be assumed about what reached the disk. */
export class DiskError extends Schema.TaggedError<DiskError>()("DiskError", {
  operation: Schema.String,
  path: Schema.String,
  /** The system's error code: `EIO`, `ENOSPC`, `ENOENT`, ... */
  code: Schema.String
}) {
  override get message() {
    return `${this.operation} of ${this.path} failed: ${this.code}`
  }
}

/** Another process holds the lock. */
export class Locked extends Schema.TaggedError<Locked>()("Locked", {
  /** The data directory, as the operator named it. */
  directory: Schema.String,
  /** The process that holds the lock, where the system reports it. */
  holder: Schema.optional(Schema.String)
}) {
  // The message does not mention the lock's file: removing it would only let in a second process.
  override get message() {
    return `${anotherProcess(this.holder)} works on the data directory ${this.directory}, `
      + "and only one may: stop it first. "
      + "Its hold ends with it, however it ends, and leaves nothing behind that would have to be removed"
  }
}

/**
 * The code of an operation that was not performed because the lock that was taken on this disk is lost: its path leads to another
 * file by now, or to none. The directory may be another one as well, and in it another process's files.
 */
const lockLostCode = "the lock was lost"

/** The refusal of an operation by name after the lock was lost. */
export const lockLostAt = (operation: string, path: string): DiskError => new DiskError({ operation, path, code: lockLostCode })

export const isLockLost = (error: unknown): boolean => error instanceof DiskError && error.code === lockLostCode

/** The refusal by the path of its file of a lock that cannot be taken because something is in the file. */
export const lockSpoiledAt = (path: string): DiskError => new DiskError({ operation: "lock", path, code: lockSpoiled })

export const isLockSpoiled = ({ code }: DiskError): boolean => code === lockSpoiled

/** A name of the venue's own that leads to something other than a file, such as a symbolic link. It is never followed. */
export class NoFile extends Schema.TaggedError<NoFile>()("NoFile", {
  path: Schema.String,
  /** What it is instead, with its article. */
  kind: Schema.String
}) {
  override get message() {
    return `${this.path} is ${this.kind}`
  }
}

/** A lock that this process has taken. */
export interface Lock {
  /**
   * Whether the lock's file was created for this lock, or for an earlier one that ended before it was settled. If there had been
   * another file before, somebody removed it, and the holder of that lock may still be running.
   */
  readonly isNew: boolean
  /** Notes that the holder of a removed lock is locked out by now: later locks will not find the file new. */
  readonly settled: Effect.Effect<void, DiskError>
  /**
   * Whether the lock's path still leads to the locked file: if not, another process may have taken the lock. Cheap enough for every
   * block: the path is only followed where the file or its directory has changed, and every so often.
   */
  readonly isHeld: Effect.Effect<boolean, DiskError>
  /** The same for whoever may give up waiting: to interrupt it waits for no operation that does not return. */
  readonly isHeldIfSoon: Effect.Effect<boolean, DiskError>
  /** From now on `isHeld` also looks whether a path leads to an open file, instead of the one watched before. */
  readonly watch: (path: string, file: File) => void
  /** Whether the path of the watched file was found to lead to another file or to none: by the last `isHeld`, or by a look right now. */
  readonly isGone: (look: "last" | "now") => boolean
}

/**
 * How a file is opened. `create` makes an empty one. In a durable mode every write is durable when it completes: this takes one
 * system call instead of two, the second of which could only be issued after the first has returned.
 */
export type Mode = "read" | "write" | "create" | "write durably" | "create durably"

export const isDurable = (mode: Mode): boolean => mode === "write durably" || mode === "create durably"

/** An open file. Positions and lengths in bytes. */
export interface File {
  readonly path: string
  /**
   * Writes all of `bytes` at `position`. In a durable mode the write is durable when it completes, otherwise not before `dataSync`.
   */
  readonly writeAt: (position: number, bytes: Uint8Array) => Effect.Effect<void, DiskError>
  /** Makes durable every write that finished before this began. */
  readonly dataSync: Effect.Effect<void, DiskError>
  /** Reads up to `length` bytes from `position`: fewer only at the end of the file. */
  readonly readAt: (position: number, length: number) => Effect.Effect<Uint8Array, DiskError>
  /** Like `readAt`, into an existing buffer, as much as it holds. Returns the number of bytes read. */
  readonly readInto: (position: number, into: Uint8Array) => Effect.Effect<number, DiskError>
  readonly size: Effect.Effect<number, DiskError>
}

/**
 * Paths are relative to the data directory, with `/`. While a lock is held, whatever would change something by its name first follows
 * the lock's path: if that no longer leads to the locked file, the operation is refused (`isLockLost`), since the names may lead into
 * another process's directory. Files that are open remain what they were.
 */
export class Disk extends Context.Tag("venue/journal/Disk")<Disk, {
  /** Opens a file for the life of the scope. Creating one that exists fails with `EEXIST`. */
  readonly open: (path: string, mode: Mode) => Effect.Effect<File, DiskError, Scope.Scope>
  /** Creates a directory and its parents; succeeds if it exists. */
  readonly makeDirectory: (path: string) => Effect.Effect<void, DiskError>
  /** The names of files in a directory, sorted. */
  readonly list: (path: string) => Effect.Effect<ReadonlyArray<string>, DiskError>
  /** The names in a directory that are the venue's own, sorted. Each has to be a file. */
  readonly listOwn: (path: string, isOwn: (name: string) => boolean) => Effect.Effect<ReadonlyArray<string>, DiskError | NoFile>
  /** Renames a file, replacing `to` atomically. Durable only after `syncDirectory`. */
  readonly rename: (from: string, to: string) => Effect.Effect<void, DiskError>
  readonly remove: (path: string) => Effect.Effect<void, DiskError>
  /** Makes creations, renames and removals in a directory durable; for the data directory itself (`""`) its own name as well. */
  readonly syncDirectory: (path: string) => Effect.Effect<void, DiskError>
  /** Holds an exclusive lock for the life of the scope. The kernel releases it when the process dies. */
  readonly lock: (path: string) => Effect.Effect<Lock, Locked | DiskError, Scope.Scope>
}>() {}
