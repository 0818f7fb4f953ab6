/**
 * The real disk: files below one root directory. Every operation is a thread's of Node's own pool, so that a disk that does
 * not answer holds up nobody but who asked it. Operations are not interruptible, so that no file is closed while the
 * system still works on it.
 *
 * The pool belongs to the whole process. Its threads have the priority of whoever writes the journal, and four of them serve all: so
 * the follower, which writes the most by far and has nothing else to do meanwhile, moves its bytes itself (`layerBeside`).
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Disk, DiskError, isDurable, Locked } from "./Disk.js"
import { holderOf } from "../NodeLockHolder.js"
import type { File, Lock, Mode } from "./Disk.js"

/** A disk over `root`, which is made if it is not there. */
export const layer = (root: string): Layer.Layer<Disk, DiskError> => over(root, byPool, os.platform() === "linux")

/**
 * The same where no file can be opened so that the system makes each write durable before it answers, or not down to the disk itself
 * (as on macOS): a durable write is followed by a sync of its own.
 */
export const layerSyncing = (root: string): Layer.Layer<Disk, DiskError> => over(root, byPool, false)

/** The same for a thread that nobody waits for: it waits itself while bytes are moved, and at its own priority. */
export const layerBeside = (root: string): Layer.Layer<Disk, DiskError> => over(root, byThisThread, false)

/** `writesThrough`: whether the system makes a write durable by itself, where a file was opened for that. */
const over = (root: string, calls: Calls, writesThrough: boolean): Layer.Layer<Disk, DiskError> =>
  Layer.effect(Disk, Effect.as(makeRoot(root), make(root, calls, writesThrough)))

type Done<A> = (error: NodeJS.ErrnoException | null, value?: A) => void

/** What is done with bytes, and with what they take of the disk. */
interface Calls {
  readonly write: (fd: number, bytes: Uint8Array, from: number, length: number, position: number, done: Done<number>) => void
  readonly read: (fd: number, into: Uint8Array, from: number, length: number, position: number, done: Done<number>) => void
  readonly dataSync: (fd: number, done: Done<void>) => void
  readonly remove: (absolute: string, done: Done<void>) => void
}

const byPool: Calls = { write: fs.write, read: fs.read, dataSync: fs.fdatasync, remove: fs.unlink }

/** A call that has come back when it returns, told as those are that come back later. */
const now =
  <Arguments extends ReadonlyArray<unknown>, A>(call: (...given: Arguments) => A) => (...given: [...Arguments, Done<A>]): void => {
    const done = given.pop() as Done<A>
    let value: A
    try {
      value = call(...given as unknown as Arguments)
    } catch (error) {
      return done(error as NodeJS.ErrnoException)
    }
    done(null, value)
  }

const byThisThread: Calls = {
  write: now((fd: number, bytes: Uint8Array, from: number, length: number, position: number) =>
    fs.writeSync(fd, bytes, from, length, position)
  ),
  read: now((fd: number, into: Uint8Array, from: number, length: number, position: number) =>
    fs.readSync(fd, into, from, length, position)
  ),
  dataSync: now(fs.fdatasyncSync),
  remove: now(fs.unlinkSync)
}

const errorOf = (operation: string, file: string) => (cause: unknown): DiskError =>
  new DiskError({ operation, path: file, code: codeOf(cause) })

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)

/** Calls a function of `node:fs` that ends in a callback. */
const call = <A>(
  operation: string,
  file: string,
  start: (done: Done<A>) => void
): Effect.Effect<A, DiskError> =>
  Effect.uninterruptible(Effect.async<A, DiskError>((resume) => {
    start((error, value) => resume(error ? Effect.fail(errorOf(operation, file)(error)) : Effect.succeed(value as A)))
  }))

const makeDirectory = (root: string, directory: string): Effect.Effect<void, DiskError> =>
  Effect.asVoid(
    call<string | undefined>("makeDirectory", directory,
      (done) => fs.mkdir(path.join(root, directory), { recursive: true, mode: 0o700 }, done))
  )

/**
 * Makes the root, with what is above it, durably: a directory's name lies in the one above it, and without that name all
 * that was synced below it would be gone with the power.
 */
const makeRoot = (root: string): Effect.Effect<void, DiskError> =>
  Effect.flatMap(
    call<string | undefined>("makeDirectory", "", (done) => fs.mkdir(root, { recursive: true, mode: 0o700 }, done)),
    (first) => first === undefined ? Effect.void : Effect.forEach(above(root, path.dirname(first)), syncDirectory, { discard: true })
  )

/**
 * Syncs the root, and all above it that its name depends on: what was there already may have been made a moment ago, by whoever
 * prepared it or by a start that was killed.
 */
const syncRoot = (root: string): Effect.Effect<void, DiskError> =>
  Effect.zipRight(
    syncDirectory(root),
    Effect.forEach(
      above(root, path.parse(path.resolve(root)).root),
      (directory) => Effect.catchIf(syncDirectory(directory), ({ code }) => othersCodes.has(code), () => Effect.void),
      { discard: true }
    )
  )

/** How a directory above the root may answer: it may be closed to this process, or of a file system that has nothing to sync. */
const othersCodes: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "EINVAL", "ENOTSUP"])

/** The directories above a root, from the nearest up to that at `last`. */
const above = (root: string, last: string): ReadonlyArray<string> => {
  const directories: Array<string> = []
  for (let at = path.resolve(root); at !== path.resolve(last); at = path.dirname(at)) directories.push(path.dirname(at))
  return directories
}

const syncDirectory = (absolute: string): Effect.Effect<void, DiskError> =>
  Effect.scoped(Effect.flatMap(
    openDescriptor("syncDirectory", absolute, absolute, "r"),
    ({ fd }) => call<void>("syncDirectory", absolute, (done) => fs.fsync(fd, done))
  ))

const make = (root: string, calls: Calls, writesThrough: boolean): Disk["Type"] => {
  const at = (file: string): string => path.join(root, file)
  return Disk.of({
    open: (file, mode) => {
      const durably = isDurable(mode)
      const flag = flags[mode] | (durably && writesThrough ? fs.constants.O_DSYNC : 0)
      return Effect.map(
        openDescriptor("open", at(file), file, flag),
        (handle) => durably && !writesThrough ? synced(fileOf(file, handle, calls)) : fileOf(file, handle, calls)
      )
    },
    makeDirectory: (directory) => makeDirectory(root, directory),
    list: (directory) =>
      Effect.map(
        call<Array<fs.Dirent>>("list", directory, (done) => fs.readdir(at(directory), { withFileTypes: true }, done)),
        (entries) => entries.filter((entry) => entry.isFile()).map((entry) => entry.name).sort()
      ),
    rename: (from, to) => call<void>("rename", from, (done) => fs.rename(at(from), at(to), done)),
    remove: (file) => call<void>("remove", file, (done) => calls.remove(at(file), done)),
    syncDirectory: (directory) =>
      directory === "" ? syncRoot(root) : Effect.scoped(Effect.flatMap(
        openDescriptor("syncDirectory", at(directory), directory, "r"),
        ({ fd }) => call<void>("syncDirectory", directory, (done) => fs.fsync(fd, done))
      )),
    lock: (file) => lock(root, file)
  })
}

const creating = fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL

const flags: Readonly<Record<Mode, number>> = {
  read: fs.constants.O_RDONLY,
  write: fs.constants.O_RDWR,
  create: creating,
  "write durably": fs.constants.O_RDWR,
  "create durably": creating
}

/** A file's descriptor, while it is open. */
interface Handle {
  readonly fd: number
  isOpen: boolean
}

const openDescriptor = (operation: string, absolute: string, file: string, flag: string | number) =>
  Effect.acquireRelease(
    Effect.map(
      call<number>(operation, file, (done) => fs.open(absolute, flag, 0o600, done)),
      (fd): Handle => ({ fd, isOpen: true })
    ),
    // A failure to close says nothing that a sync before it did not say, and a disk that does not answer must not be waited for.
    (handle) =>
      Effect.sync(() => {
        handle.isOpen = false
        fs.close(handle.fd, () => {})
      })
  )

/** By the pool however few the bytes, where others share the event loop: a disk that does not answer holds up whoever makes the call. */
const writeAt = ({ write }: Calls, file: string, fd: number, position: number, bytes: Uint8Array): Effect.Effect<void, DiskError> =>
  call<void>("writeAt", file, (done) => {
    const rest = (from: number): void =>
      write(fd, bytes, from, bytes.length - from, position + from, (error, written = 0) => {
        if (error || from + written >= bytes.length) done(error)
        else rest(from + written)
      })
    rest(0)
  })

const readInto = ({ read }: Calls, file: string, fd: number, position: number, into: Uint8Array): Effect.Effect<number, DiskError> =>
  call<number>("readAt", file, (done) => {
    const rest = (from: number): void =>
      read(fd, into, from, into.length - from, position + from, (error, found = 0) => {
        if (error) done(error)
        else if (found === 0 || from + found === into.length) done(null, from + found)
        else rest(from + found)
      })
    rest(0)
  })

/**
 * Does something to an open file. The system gives a closed file's descriptor to whatever is opened next, in whichever thread:
 * a write that came late would go there.
 */
const whileOpen = <A>(operation: string, path: string, handle: Handle, act: Effect.Effect<A, DiskError>): Effect.Effect<A, DiskError> =>
  Effect.suspend(() => handle.isOpen ? act : Effect.fail(new DiskError({ operation, path, code: "EBADF" })))

/** A file of which each write is made durable by a sync behind it. */
const synced = (file: File): File => ({
  ...file,
  writeAt: (position, bytes) => Effect.zipRight(file.writeAt(position, bytes), file.dataSync)
})

const fileOf = (file: string, handle: Handle, calls: Calls): File => ({
  path: file,
  writeAt: (position, bytes) => whileOpen("writeAt", file, handle, writeAt(calls, file, handle.fd, position, bytes)),
  dataSync: whileOpen("dataSync", file, handle, call<void>("dataSync", file, (done) => calls.dataSync(handle.fd, done))),
  readAt: (position, length) =>
    Effect.suspend(() => {
      const bytes = Buffer.allocUnsafeSlow(length)
      return Effect.map(whileOpen("readAt", file, handle, readInto(calls, file, handle.fd, position, bytes)),
        (read) => bytes.subarray(0, read))
    }),
  readInto: (position, into) => whileOpen("readAt", file, handle, readInto(calls, file, handle.fd, position, into)),
  size: Effect.map(
    whileOpen("size", file, handle, call<fs.Stats>("size", file, (done) => fs.fstat(handle.fd, done))),
    (stats) => stats.size
  )
})

/**
 * SQLite's exclusive lock on a file of its own: the kernel drops it with the process, and it is held against
 * other connections of the same process too.
 */
const lock = (root: string, file: string): Effect.Effect<Lock, Locked | DiskError, Scope.Scope> => {
  const absolute = path.join(root, file)
  return Effect.acquireRelease(
    Effect.try({ try: () => acquire(absolute), catch: (cause) => codeOf(cause) }).pipe(
      Effect.mapError((code) =>
        code.startsWith("SQLITE_BUSY")
          ? new Locked({ directory: path.resolve(root), holder: holderOf(absolute) })
          : new DiskError({ operation: "lock", path: file, code })
      )
    ),
    ({ database, fd }) =>
      Effect.sync(() => {
        database.close()
        // Only now: closing any descriptor of a file drops what locks the process has on it.
        fs.closeSync(fd)
      })
  ).pipe(Effect.map(({ fd, identity, isNew }) => ({
    isNew,
    settled: isNew ? settled(file, fd) : Effect.void,
    isHeld: heldOf(absolute, file, fd, identity)
  })))
}

/** Of so many looks at an open file one is at its name too: a directory above it may have moved. */
const looksPerName = 256
/** Milliseconds after which a file's change has a time of its own: the system's clock of files goes in steps. */
const changeStepMs = 1_000

/**
 * Whether a name still leads to the file that is locked. Whatever is done to a file's name changes what the system keeps of the
 * file itself, its links or the time of its last change, and that is asked of the open file: it lies in memory, and costs no
 * thread a turn with each block. Only where something has changed, and now and then, is the name itself looked up.
 */
const heldOf = (absolute: string, file: string, fd: number, identity: string): Effect.Effect<boolean, DiskError> => {
  let seen = Number.NaN
  let looks = 0
  const byName = call<string | undefined>("lock", file, (done) =>
    fs.stat(absolute, { bigint: true }, (error, stats) => {
      if (error?.code === "ENOENT") done(null, undefined)
      else done(error, error === null ? identityOf(stats) : undefined)
    })).pipe(Effect.map((named) => named === identity))
  const changed = Effect.try({ try: () => fs.fstatSync(fd), catch: errorOf("lock", file) })
  return Effect.flatMap(changed, ({ ctimeMs, nlink }) => {
    const isAsSeen = nlink === 1 && ctimeMs === seen && Date.now() - ctimeMs > changeStepMs
    if (isAsSeen && ++looks < looksPerName) return Effect.succeed(true)
    looks = 0
    return Effect.map(byName, (held) => {
      // Remembered as it was before the name was looked up: what changes meanwhile is seen by the next look.
      seen = held ? ctimeMs : Number.NaN
      return held
    })
  })
}

/**
 * What a lock's file is made with until the journal is settled under it: that it may be executed, which says nothing else of a file
 * that nobody runs. Such a mark takes no room on a full disk, and it outlives a process that ends before it is settled, though not
 * the power: then there is no other process to be kept off.
 */
const unsettledMode = 0o100
const lockMode = 0o600

/** Takes the mark off the file that is locked, whatever its name leads to by now. */
const settled = (file: string, fd: number): Effect.Effect<void, DiskError> =>
  call<void>("lock", file, (done) => fs.fchmod(fd, lockMode, done))

/** What tells a file from every other that is open or has a name. */
const identityOf = ({ dev, ino }: fs.BigIntStats): string => `${dev}/${ino}`

const acquire = (absolute: string) => {
  makeFile(absolute)
  const identity = identityOf(fs.statSync(absolute, { bigint: true }))
  const database = new SqliteDatabase(absolute, { timeout: 0 })
  try {
    // A rollback journal would be a file more, which a full disk has no room for. Nothing is ever written here.
    database.pragma("journal_mode = MEMORY")
    database.exec("BEGIN EXCLUSIVE")
    // Somebody removed the file while it was being locked: what is locked may not be what has the name now.
    const stats = fs.statSync(absolute, { bigint: true })
    if (identityOf(stats) !== identity) {
      throw Object.assign(new Error("the lock's file was replaced"), { code: "ESTALE" })
    }
    const isNew = (stats.mode & BigInt(unsettledMode)) !== 0n
    return { database, identity, isNew, fd: fs.openSync(absolute, "r") }
  } catch (error) {
    database.close()
    throw error
  }
}

/** Makes an empty file where there is none. (To close one that is there would drop this process's locks on it.) */
const makeFile = (absolute: string): void => {
  try {
    fs.closeSync(fs.openSync(absolute, "wx", lockMode | unsettledMode))
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
  }
}
