/**
 * The real disk: files below one root directory. Operations are not interruptible, so that no file is
 * closed while the system still works on it.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Disk, DiskError, Locked } from "./Disk.js"
import type { File } from "./Disk.js"

/** A disk over `root`, which is made if it is not there. */
export const layer = (root: string): Layer.Layer<Disk, DiskError> => Layer.effect(Disk, Effect.as(makeDirectory(root, ""), make(root)))

const errorOf = (operation: string, file: string) => (cause: unknown): DiskError =>
  new DiskError({ operation, path: file, code: codeOf(cause) })

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)

/** Calls a function of `node:fs` that ends in a callback. */
const call = <A>(
  operation: string,
  file: string,
  start: (done: (error: NodeJS.ErrnoException | null, value?: A) => void) => void
): Effect.Effect<A, DiskError> =>
  Effect.uninterruptible(Effect.async<A, DiskError>((resume) => {
    start((error, value) => resume(error ? Effect.fail(errorOf(operation, file)(error)) : Effect.succeed(value as A)))
  }))

const makeDirectory = (root: string, directory: string): Effect.Effect<void, DiskError> =>
  Effect.asVoid(
    call<string | undefined>("makeDirectory", directory,
      (done) => fs.mkdir(path.join(root, directory), { recursive: true, mode: 0o700 }, done))
  )

const make = (root: string): Disk["Type"] => {
  const at = (file: string): string => path.join(root, file)
  return Disk.of({
    open: (file, mode) => Effect.map(openDescriptor("open", at(file), file, flags[mode]), (fd) => fileOf(file, fd)),
    makeDirectory: (directory) => makeDirectory(root, directory),
    list: (directory) =>
      Effect.map(
        call<Array<fs.Dirent>>("list", directory, (done) => fs.readdir(at(directory), { withFileTypes: true }, done)),
        (entries) => entries.filter((entry) => entry.isFile()).map((entry) => entry.name).sort()
      ),
    rename: (from, to) => call<void>("rename", from, (done) => fs.rename(at(from), at(to), done)),
    remove: (file) => call<void>("remove", file, (done) => fs.unlink(at(file), done)),
    syncDirectory: (directory) =>
      Effect.scoped(Effect.flatMap(
        openDescriptor("syncDirectory", at(directory), directory, "r"),
        (fd) => call<void>("syncDirectory", directory, (done) => fs.fsync(fd, done))
      )),
    lock: (file) => lock(at(file), file)
  })
}

const flags = { read: "r", write: "r+", create: "wx+" } as const

const openDescriptor = (operation: string, absolute: string, file: string, flag: string) =>
  Effect.acquireRelease(
    call<number>(operation, file, (done) => fs.open(absolute, flag, 0o600, done)),
    // A failure to close says nothing that a sync before it did not say.
    (fd) => Effect.ignore(call<void>("close", file, (done) => fs.close(fd, done)))
  )

/** Up to here a write is a copy into the page cache that takes less time than handing it to another thread would. */
const writtenAtOnceBytes = 64 * 1024

const writeAtOnce = (file: string, fd: number, position: number, bytes: Uint8Array): Effect.Effect<void, DiskError> =>
  Effect.try({
    try: () => {
      for (let from = 0; from < bytes.length;) from += fs.writeSync(fd, bytes, from, bytes.length - from, position + from)
    },
    catch: errorOf("writeAt", file)
  })

const writeAside = (file: string, fd: number, position: number, bytes: Uint8Array): Effect.Effect<void, DiskError> =>
  call<void>("writeAt", file, (done) => {
    const rest = (from: number): void =>
      fs.write(fd, bytes, from, bytes.length - from, position + from, (error, written) => {
        if (error || from + written >= bytes.length) done(error)
        else rest(from + written)
      })
    rest(0)
  })

const readInto = (file: string, fd: number, position: number, into: Uint8Array): Effect.Effect<number, DiskError> =>
  call<number>("readAt", file, (done) => {
    const rest = (from: number): void =>
      fs.read(fd, into, from, into.length - from, position + from, (error, read) => {
        if (error) done(error)
        else if (read === 0 || from + read === into.length) done(null, from + read)
        else rest(from + read)
      })
    rest(0)
  })

const fileOf = (file: string, fd: number): File => ({
  path: file,
  writeAt: (position, bytes) => (bytes.length <= writtenAtOnceBytes ? writeAtOnce : writeAside)(file, fd, position, bytes),
  dataSync: call<void>("dataSync", file, (done) => fs.fdatasync(fd, done)),
  readAt: (position, length) =>
    Effect.suspend(() => {
      const bytes = Buffer.allocUnsafeSlow(length)
      return Effect.map(readInto(file, fd, position, bytes), (read) => bytes.subarray(0, read))
    }),
  readInto: (position, into) => readInto(file, fd, position, into),
  size: Effect.map(call<fs.Stats>("size", file, (done) => fs.fstat(fd, done)), (stats) => stats.size)
})

/**
 * SQLite's exclusive lock on a file of its own: the kernel drops it with the process, and it is held against
 * other connections of the same process too.
 */
const lock = (absolute: string, file: string) =>
  Effect.asVoid(Effect.acquireRelease(
    Effect.try({ try: () => acquire(absolute), catch: (cause) => codeOf(cause) }).pipe(
      Effect.mapError((code) =>
        code.startsWith("SQLITE_BUSY") ? new Locked({ path: file }) : new DiskError({ operation: "lock", path: file, code })
      )
    ),
    (database) => Effect.sync(() => database.close())
  ))

const acquire = (absolute: string): SqliteDatabase.Database => {
  const database = new SqliteDatabase(absolute, { timeout: 0 })
  try {
    database.exec("BEGIN EXCLUSIVE")
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
