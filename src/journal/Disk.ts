/**
 * The disk leaf: the few file operations that the journal, snapshots and the lock are built on. The same
 * journal code runs over a real directory and over a simulated disk that tears, loses and flips.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

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
  /** The data directory, as an operator finds it. */
  directory: Schema.String,
  /** The process that holds it, where the system tells. */
  holder: Schema.optional(Schema.String)
}) {
  // Nothing is said of the lock's file: to remove it would only let a second process in beside the first.
  override get message() {
    return `another process${this.holder === undefined ? "" : ` (${this.holder})`} works on the data directory ${this.directory}, `
      + "and only one may: stop it first. "
      + "Its hold ends with it, however it ends, and leaves nothing behind that would have to be removed"
  }
}

/** A lock that this process has taken. */
export interface Lock {
  /**
   * Whether its file was made for it, or for one that ended unsettled. Where there had been another before, somebody removed it,
   * and whoever holds that one may still run.
   */
  readonly isNew: boolean
  /** Says that whoever holds a removed one is kept off by now: the file is new to nobody who takes the lock later. */
  readonly settled: Effect.Effect<void, DiskError>
  /** Whether the lock's path still names the file that is locked: if not, another process may have taken the lock. */
  readonly isHeld: Effect.Effect<boolean, DiskError>
}

/**
 * How a file is opened. `create` makes an empty one. Of one that is opened durably each write is durable when it ends, which is
 * one request to the system instead of two, the second of which could only be made once the process is told of the first.
 */
export type Mode = "read" | "write" | "create" | "write durably" | "create durably"

export const isDurable = (mode: Mode): boolean => mode === "write durably" || mode === "create durably"

/** An open file. Positions and lengths in bytes. */
export interface File {
  readonly path: string
  /** Writes all of `bytes` at `position`. Durable when it ends where the file was opened so, otherwise not before `dataSync`. */
  readonly writeAt: (position: number, bytes: Uint8Array) => Effect.Effect<void, DiskError>
  /** Makes durable every write that finished before this began. */
  readonly dataSync: Effect.Effect<void, DiskError>
  /** Up to `length` bytes from `position`: fewer only at the end of the file. */
  readonly readAt: (position: number, length: number) => Effect.Effect<Uint8Array, DiskError>
  /** `readAt` into bytes that are there already, as many as they are: how many were read. */
  readonly readInto: (position: number, into: Uint8Array) => Effect.Effect<number, DiskError>
  readonly size: Effect.Effect<number, DiskError>
}

/** Paths are relative to the data directory, with `/`. */
export class Disk extends Context.Tag("venue/journal/Disk")<Disk, {
  /** Opens a file for as long as the scope lives. To create one fails with `EEXIST` where there is one. */
  readonly open: (path: string, mode: Mode) => Effect.Effect<File, DiskError, Scope.Scope>
  /** Makes a directory and what is above it; fine if it is there. */
  readonly makeDirectory: (path: string) => Effect.Effect<void, DiskError>
  /** The names of files in a directory, sorted. */
  readonly list: (path: string) => Effect.Effect<ReadonlyArray<string>, DiskError>
  /** Replaces `to`, atomically. Durable only after `syncDirectory`. */
  readonly rename: (from: string, to: string) => Effect.Effect<void, DiskError>
  readonly remove: (path: string) => Effect.Effect<void, DiskError>
  /** Makes creations, renames and removals in a directory durable; of the data directory itself (`""`) its own name, too. */
  readonly syncDirectory: (path: string) => Effect.Effect<void, DiskError>
  /** Holds an exclusive lock while the scope lives. The kernel drops it when the process dies. */
  readonly lock: (path: string) => Effect.Effect<Lock, Locked | DiskError, Scope.Scope>
}>() {}
