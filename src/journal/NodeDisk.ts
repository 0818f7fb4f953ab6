/**
 * The real disk: files below one root directory. Every operation runs on Node's thread pool, so that an unresponsive disk blocks
 * only its callers. Operations are not interruptible, so that no file is closed while the system still works on it.
 *
 * The pool belongs to the whole process: its four threads have the priority of the journal's writer. The follower, which writes by
 * far the most and has nothing else to do meanwhile, therefore performs its own reads and writes (`layerBeside`).
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as NodeDirectory from "../NodeDirectory.js"
import * as NodeLock from "../NodeLock.js"
import { holderOf } from "../NodeLockHolder.js"
import { Disk, DiskError, isDurable, Locked, lockLostAt, lockSpoiledAt, NoFile } from "./Disk.js"
import type { File, Lock, Mode } from "./Disk.js"

/**
 * A disk over `root`, which is created if it does not exist. Elsewhere than on Linux no file can be opened for durable writes, or such
 * writes do not reach the disk itself (as on macOS): there every durable write is followed by an explicit sync.
 */
export const layer = (root: string, platform: NodeJS.Platform = os.platform()): Layer.Layer<Disk, DiskError> =>
  over(root, byPool, platform === "linux")

/**
 * The same for a background thread: it performs the reads and writes itself, at its own priority. `lock` is the one that the process
 * holds: nothing is changed by name once that is lost.
 */
export const layerBeside = (root: string, lock?: LockedFile): Layer.Layer<Disk, DiskError> => over(root, byThisThread, false, lock)

/** A locked file, as another thread of the process can look for it. */
export interface LockedFile {
  /** Relative to the root. */
  readonly path: string
  readonly identity: string
}

/** The file that a lock's path leads to at present; undefined where there is none. */
export const lockedFile = (root: string, file: string): LockedFile | undefined => {
  const stats = fs.statSync(path.join(root, file), { bigint: true, throwIfNoEntry: false })
  return stats === undefined ? undefined : { path: file, identity: NodeLock.identityOf(stats) }
}

/** Fails where this process may not write to an existing root. */
export const writable = (root: string): Effect.Effect<void, DiskError> =>
  call<void>("access", root, (done) => fs.access(root, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK, done))

/** `writesThrough`: whether the system makes writes durable by itself where a file was opened that way. */
const over = (root: string, calls: Calls, writesThrough: boolean, lock?: LockedFile): Layer.Layer<Disk, DiskError> =>
  Layer.effect(Disk, Effect.map(makeRoot(root), () =>
    make(root, calls, writesThrough, {
      isNamed: lock === undefined ? undefined : namesFile(path.join(root, lock.path), lock.path, lock.identity)
    })))

type Done<A> = (error: NodeJS.ErrnoException | null, value?: A) => void

/** The system calls that transfer bytes. */
interface Calls {
  readonly write: (fd: number, bytes: Uint8Array, from: number, length: number, position: number, done: Done<number>) => void
  readonly read: (fd: number, into: Uint8Array, from: number, length: number, position: number, done: Done<number>) => void
  readonly dataSync: (fd: number, done: Done<void>) => void
  readonly remove: (absolute: string, done: Done<void>) => void
}

const byPool: Calls = { write: fs.write, read: fs.read, dataSync: fs.fdatasync, remove: fs.unlink }

/** Adapts a synchronous call to the interface of the asynchronous ones. */
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
  Effect.asVoid(makePath(path.join(root, directory), directory))

/** Makes a directory and its parents, and gives the first one made. */
const makePath = (absolute: string, file: string): Effect.Effect<string | undefined, DiskError> =>
  Effect.uninterruptible(Effect.tryPromise({ try: () => NodeDirectory.makeOnPool(absolute), catch: errorOf("makeDirectory", file) }))

/**
 * Creates the root and its parents durably. A directory's name is stored in its parent: without it everything synced below would be
 * lost on a power failure.
 */
const makeRoot = (root: string): Effect.Effect<void, DiskError> =>
  Effect.flatMap(
    makePath(root, root),
    (first) => first === undefined ? Effect.void : Effect.forEach(above(root, path.dirname(first)), syncDirectory, { discard: true })
  )

/**
 * Syncs the root and all parents that its name depends on, including existing ones: an administrator, or a start that was killed,
 * may have created them a moment ago.
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

/** Acceptable errors of parent directories: they may be closed to this process, or on a file system that has nothing to sync. */
const othersCodes: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "EINVAL", "ENOTSUP"])

/** The parents of a root, from the nearest up to `last`. */
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

/** The lock under which a disk changes anything. */
interface Holding {
  /** Whether the lock's path leads to the locked file; undefined while none is held. */
  isNamed: Effect.Effect<boolean, DiskError> | undefined
}

const make = (root: string, calls: Calls, writesThrough: boolean, holding: Holding): Disk["Type"] => {
  const at = (file: string): string => path.join(root, file)
  const underLock = <A, R>(operation: string, file: string, act: Effect.Effect<A, DiskError, R>): Effect.Effect<A, DiskError, R> =>
    Effect.suspend(() =>
      holding.isNamed === undefined
        ? act
        : Effect.flatMap(holding.isNamed, (isNamed) => isNamed ? act : Effect.fail(lockLostAt(operation, file)))
    )
  const entries = (directory: string): Effect.Effect<Array<fs.Dirent>, DiskError> =>
    call("list", directory, (done) => fs.readdir(at(directory), { withFileTypes: true }, done))
  return Disk.of({
    open: (file, mode) => {
      const durably = isDurable(mode)
      const flag = flags[mode] | (durably && writesThrough ? fs.constants.O_DSYNC : 0)
      const descriptor = openDescriptor("open", at(file), file, flag)
      return Effect.map(
        mode === "read" ? descriptor : underLock("open", file, descriptor),
        (handle) => known(durably && !writesThrough ? synced(fileOf(file, handle, calls)) : fileOf(file, handle, calls), handle)
      )
    },
    makeDirectory: (directory) => makeDirectory(root, directory),
    list: (directory) => Effect.map(entries(directory), (all) => namesOf(all.filter((entry) => entry.isFile()))),
    listOwn: (directory, isOwn) =>
      Effect.flatMap(entries(directory), (all): Effect.Effect<ReadonlyArray<string>, NoFile> => {
        const own = all.filter(({ name }) => isOwn(name))
        const other = own.find((entry) => !entry.isFile())
        return other === undefined
          ? Effect.succeed(namesOf(own))
          : Effect.fail(new NoFile({ path: `${directory}/${other.name}`, kind: kindOf(other) }))
      }),
    rename: (from, to) => underLock("rename", from, call<void>("rename", from, (done) => fs.rename(at(from), at(to), done))),
    remove: (file) => underLock("remove", file, call<void>("remove", file, (done) => calls.remove(at(file), done))),
    syncDirectory: (directory) =>
      directory === "" ? syncRoot(root) : Effect.scoped(Effect.flatMap(
        openDescriptor("syncDirectory", at(directory), directory, "r"),
        ({ fd }) => call<void>("syncDirectory", directory, (done) => fs.fsync(fd, done))
      )),
    lock: (file) => lock(root, file, holding)
  })
}

const namesOf = (entries: ReadonlyArray<fs.Dirent>): ReadonlyArray<string> => entries.map(({ name }) => name).sort()

const kindOf = (entry: fs.Dirent): string =>
  entry.isSymbolicLink() ? "a symbolic link" : entry.isDirectory() ? "a directory" : "something else than a file"

const creating = fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL

const flags: Readonly<Record<Mode, number>> = {
  read: fs.constants.O_RDONLY,
  write: fs.constants.O_RDWR,
  create: creating,
  "write durably": fs.constants.O_RDWR,
  "create durably": creating
}

/** The descriptor of a file, while it is open. */
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
    // A failed close says nothing that an earlier sync did not, and an unresponsive disk must not be waited for.
    (handle) =>
      Effect.sync(() => {
        handle.isOpen = false
        fs.close(handle.fd, () => {})
      })
  )

/** On the pool however few the bytes, where others share the event loop: an unresponsive disk would block the calling thread. */
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
 * Acts on a file while it is open. The system reuses the descriptor of a closed file for the next one opened in any thread, and a
 * late write would go there.
 */
const whileOpen = <A>(operation: string, path: string, handle: Handle, act: Effect.Effect<A, DiskError>): Effect.Effect<A, DiskError> =>
  Effect.suspend(() => handle.isOpen ? act : Effect.fail(new DiskError({ operation, path, code: "EBADF" })))

/** A file whose writes are each made durable by a sync after it. */
const synced = (file: File): File => ({
  ...file,
  writeAt: (position, bytes) => Effect.zipRight(file.writeAt(position, bytes), file.dataSync)
})

/** The descriptors of open files. */
const handles = new WeakMap<File, Handle>()

/** Remembers the descriptor of an open file. */
const known = (file: File, handle: Handle): File => {
  handles.set(file, handle)
  return file
}

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
 * An exclusive SQLite lock on a file of its own: the kernel releases it with the process, and it also excludes other connections of
 * the same process.
 */
const lock = (root: string, file: string, holding: Holding): Effect.Effect<Lock, Locked | DiskError, Scope.Scope> => {
  const absolute = path.join(root, file)
  return Effect.acquireRelease(
    Effect.try({
      try: () => {
        const acquired = acquire(root, absolute)
        const isNamed = namesFile(absolute, file, acquired.identity)
        holding.isNamed = isNamed
        return { ...acquired, isNamed }
      },
      catch: (cause) =>
        NodeLock.isHeld(cause)
          ? new Locked({ directory: path.resolve(root), holder: holderOf(absolute) })
          : NodeLock.isSpoiled(cause)
          ? lockSpoiledAt(file)
          : errorOf("lock", file)(cause)
    }),
    ({ fd, isNamed, release, rootFd }) =>
      Effect.sync(() => {
        if (holding.isNamed === isNamed) holding.isNamed = undefined
        release()
        fs.closeSync(rootFd)
        // Only at the end, since closing any descriptor of a file releases the process's locks on it.
        fs.closeSync(fd)
      })
  ).pipe(Effect.map(({ fd, isNamed, isNew, rootFd }) => {
    const watched = new Watched(root)
    const isHeld = heldOf(file, fd, rootFd, isNamed, watched)
    return {
      isNew,
      settled: isNew ? settled(file, fd) : Effect.void,
      isHeld,
      isHeldIfSoon: Effect.disconnect(isHeld),
      watch: (named: string, open: File) => watched.watch(named, open),
      isGone: (look: "last" | "now") => look === "now" ? watched.lookNow() : watched.isGone
    }
  }))
}

/** A file that is open for writing, and whether its path still leads to it. */
class Watched {
  isGone = false
  private watching: { readonly path: string; readonly absolute: string; readonly handle: Handle; readonly identity: string } | undefined

  constructor(private readonly root: string) {}

  watch(file: string, open: File): void {
    const handle = handles.get(open)
    if (handle === undefined || !handle.isOpen) return
    const identity = NodeLock.identityOf(fs.fstatSync(handle.fd, { bigint: true }))
    this.watching = { path: file, absolute: path.join(this.root, file), handle, identity }
    this.isGone = false
  }

  /** Whether no name at all leads to the file, which the open file itself tells. */
  isNameless(): boolean {
    const { watching } = this
    if (watching === undefined || !watching.handle.isOpen) return false
    if (fs.fstatSync(watching.handle.fd).nlink === 0) this.isGone = true
    return this.isGone
  }

  /** Follows the path, by a thread of the pool. */
  readonly look: Effect.Effect<void, DiskError> = Effect.suspend(() => {
    const { watching } = this
    if (watching === undefined) return Effect.void
    return Effect.map(namesFile(watching.absolute, watching.path, watching.identity), (named) => {
      if (this.watching === watching) this.isGone = !named
    })
  })

  /** Follows the path at once. */
  lookNow(): boolean {
    const { watching } = this
    if (watching === undefined || !watching.handle.isOpen) return false
    try {
      const stats = fs.statSync(watching.absolute, { bigint: true, throwIfNoEntry: false })
      return this.isGone = stats === undefined || NodeLock.identityOf(stats) !== watching.identity
    } catch {
      return this.isGone = true
    }
  }
}

/**
 * One in this many checks of the open file also checks its name, and so does the first one after a while: a directory above the root
 * may have been moved, or a link to it changed, which neither the file nor the root shows.
 */
const looksPerName = 256
/** That while, in milliseconds. */
const nameLookMs = 100
/** Milliseconds after which a change of a file is sure to have a distinct time, since the file system's clock advances in steps. */
const changeStepMs = 1_000

/** Whether a path leads to a certain file. It is followed anew each time, by a thread of the pool. */
const namesFile = (absolute: string, file: string, identity: string): Effect.Effect<boolean, DiskError> =>
  Effect.map(
    call<string | undefined>("lock", file, (done) =>
      fs.stat(absolute, { bigint: true }, (error, stats) => {
        if (error?.code === "ENOENT" || error?.code === "ENOTDIR") done(null, undefined)
        else done(error, error === null ? NodeLock.identityOf(stats) : undefined)
      })),
    (named) => named === identity
  )

/**
 * Whether a name still leads to the locked file; looks on the way whether that of the watched one does. Any change of the name also
 * changes metadata: the file's own link count or change time, or the change time of its directory where that was moved. These are
 * queried on the open file and directory: they are in memory, and no thread has to look up the name for each block. The name is only
 * looked up after a change, and now and then. Of the watched file, each block changes the metadata: that it has no name left is seen
 * at once, and that it was moved at the next look.
 */
const heldOf = (
  file: string,
  fd: number,
  rootFd: number,
  isNamed: Effect.Effect<boolean, DiskError>,
  watched: Watched
): Effect.Effect<boolean, DiskError> => {
  let seen = [Number.NaN, Number.NaN]
  let looks = 0
  let lookedAtMs = Number.NEGATIVE_INFINITY
  const changed = Effect.try({ try: () => [fs.fstatSync(fd), fs.fstatSync(rootFd)] as const, catch: errorOf("lock", file) })
  return Effect.flatMap(changed, ([{ ctimeMs, nlink }, { ctimeMs: rootCtimeMs }]) => {
    const isAsSeen = nlink === 1 && ctimeMs === seen[0] && rootCtimeMs === seen[1]
      && Date.now() - Math.max(ctimeMs, rootCtimeMs) > changeStepMs
    const startedAtMs = performance.now()
    const isWatchedAsSeen = !watched.isGone && !watched.isNameless()
    if (isAsSeen && isWatchedAsSeen && ++looks < looksPerName && startedAtMs - lookedAtMs < nameLookMs) return Effect.succeed(true)
    looks = 0
    return Effect.map(Effect.zipLeft(isNamed, watched.look), (held) => {
      // Set to the values from before the name was looked up, so that the next check sees a change made meanwhile.
      seen = held ? [ctimeMs, rootCtimeMs] : [Number.NaN, Number.NaN]
      lookedAtMs = startedAtMs
      return held
    })
  })
}

/**
 * The mode with which a lock's file is created until the journal is settled under it: the executable bit, which means nothing else
 * on a file that nobody runs. Such a mark needs no room on a full disk and outlives a process that ends before settling, though not
 * a power failure; but then no other process is left to be locked out.
 */
const unsettledMode = 0o100
const lockMode = 0o600

/** Removes the mark from the locked file, whatever its name leads to by now. */
const settled = (file: string, fd: number): Effect.Effect<void, DiskError> =>
  call<void>("lock", file, (done) => fs.fchmod(fd, lockMode, done))

const acquire = (root: string, absolute: string) => {
  const { release, stats } = NodeLock.take(absolute, lockMode | unsettledMode)
  try {
    const rootFd = fs.openSync(root, "r")
    return {
      release,
      identity: NodeLock.identityOf(stats),
      isNew: (stats.mode & BigInt(unsettledMode)) !== 0n,
      fd: fs.openSync(absolute, "r"),
      rootFd
    }
  } catch (error) {
    release()
    throw error
  }
}
