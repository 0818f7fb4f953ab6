/** The simulated disk as one process sees it: the `Disk` leaf, until the disk crashes. */
import { Effect } from "effect"
import type { Context, Scope } from "effect"
import { assert } from "../../src/domain/Assert.js"
import { type Disk, DiskError, type File, isDurable, type Lock, Locked, lockLostAt, type Mode, NoFile } from "../../src/journal/Disk.js"
import type { Call, DiskCalls, Operation, Steps } from "./DiskCalls.js"
import { Bytes, type Change, type Directory, type Node, type Platter, split, type Write } from "./Platter.js"

const error = (operation: Operation, path: string, code: string): Effect.Effect<never, DiskError> =>
  Effect.fail(new DiskError({ operation, path, code }))

/** The locks of processes that live at the same time. */
export interface Locks {
  /** Who holds a path's lock. */
  readonly holders: Map<string, object>
  /** Paths whose lock file names its present holder. */
  readonly files: Set<string>
  /** Holders that are not processes of the venue: they outlive its crashes. */
  readonly strangers: WeakSet<object>
}

export class DiskMount {
  /** The number of the disk's crashes when it was mounted. */
  readonly #born: number
  /** The lock that the process has taken. */
  #lockTaken: { readonly path: string; readonly holder: object } | undefined
  /** What open files are files of. */
  readonly #nodes = new WeakMap<File, Node>()

  constructor(readonly platter: Platter, readonly calls: DiskCalls, readonly locks: Locks) {
    this.#born = calls.crashes
  }

  /** The process's `Disk` service. */
  service(): Context.Tag.Service<typeof Disk> {
    return {
      open: (path, mode) => this.#openFile(path, mode),
      makeDirectory: (path) => this.#ofNames("makeDirectory", path, () => Effect.sync(() => this.platter.makeDirectory(path))),
      list: (path) =>
        this.#ofNames("list", path, () => {
          const directory = this.platter.directories.get(path)
          return directory === undefined ? error("list", path, "ENOENT") : Effect.succeed([...directory.current.keys()].sort())
        }),
      listOwn: (path, isOwn) =>
        this.#ofNames("list", path, (): Effect.Effect<ReadonlyArray<string>, DiskError | NoFile> => {
          const directory = this.platter.directories.get(path)
          if (directory === undefined) return error("list", path, "ENOENT")
          const below = [...this.platter.directories.keys()].find((each) => split(each)[0] === path && each !== "" && isOwn(split(each)[1]))
          return below === undefined
            ? Effect.succeed([...directory.current.keys()].filter(isOwn).sort())
            : Effect.fail(new NoFile({ path: below, kind: "a directory" }))
        }),
      rename: (from, to) => this.#underLock("rename", from, () => this.#rename(from, to)),
      remove: (path) => this.#underLock("remove", path, () => this.#remove(path)),
      syncDirectory: (path) => this.#syncDirectory(path),
      lock: (path) => this.#lock(path)
    }
  }

  #perform<A, B, E>(
    operation: Operation,
    path: string,
    probability: number,
    steps: Steps<A, B, E>,
    written?: Required<Pick<Call, "bytes" | "position">>
  ): Effect.Effect<A, DiskError | E> {
    return this.calls.perform(this.#born, operation, path, probability, steps, written)
  }

  /** An operation that consists of a single step. */
  #atOnce<A, E = never>(
    operation: Operation,
    path: string,
    probability: () => number,
    act: () => Effect.Effect<A, E>
  ): Effect.Effect<A, DiskError | E> {
    return Effect.suspend(() => this.#perform(operation, path, probability(), { begin: () => undefined, end: act }))
  }

  /** Performs an operation on names, which may fail like any other. */
  #ofNames<A, E = never>(operation: Operation, path: string, act: () => Effect.Effect<A, E>): Effect.Effect<A, DiskError | E> {
    return this.#atOnce(operation, path, () => this.calls.faults.other, act)
  }

  /** An operation that changes something by its name, and is refused once the lock that the process took is another's. */
  #underLock(operation: Operation, path: string, act: () => Effect.Effect<void, DiskError>): Effect.Effect<void, DiskError> {
    return this.#ofNames(operation, path, () => this.#hasLostLock() ? Effect.fail(lockLostAt(operation, path)) : act())
  }

  #hasLostLock(): boolean {
    const taken = this.#lockTaken
    return taken !== undefined && this.locks.holders.get(taken.path) !== taken.holder
  }

  /** The directory that contains a path. */
  #directoryOf(operation: Operation, path: string): Effect.Effect<Directory, DiskError> {
    const directory = this.platter.directories.get(split(path)[0])
    return directory === undefined ? error(operation, path, "ENOENT") : Effect.succeed(directory)
  }

  #rename(from: string, to: string): Effect.Effect<void, DiskError> {
    return Effect.flatMap(this.#directoryOf("rename", from), (directory) => {
      const [home, name] = split(from)
      const node = directory.current.get(name)
      if (node === undefined) return error("rename", from, "ENOENT")
      if (split(to)[0] !== home) return error("rename", from, "EXDEV")
      return Effect.sync(() => this.platter.apply(directory, { _tag: "Rename", from: name, to: split(to)[1], node }))
    })
  }

  #remove(path: string): Effect.Effect<void, DiskError> {
    return Effect.flatMap(this.#directoryOf("remove", path), (directory) => {
      const name = split(path)[1]
      if (!directory.current.has(name)) return error("remove", path, "ENOENT")
      return Effect.sync(() => this.platter.apply(directory, { _tag: "Unlink", name }))
    })
  }

  #syncDirectory(path: string): Effect.Effect<void, DiskError> {
    const { platter } = this
    return Effect.suspend(() =>
      this.#perform<void, ReadonlyArray<Change>, DiskError>("syncDirectory", path, this.calls.faults.other, {
        begin: () => [...(platter.directories.get(path)?.unsynced ?? [])],
        end: (covered) => {
          const directory = platter.directories.get(path)
          if (directory === undefined) return error("syncDirectory", path, "ENOENT")
          platter.syncNames(directory, covered)
          return Effect.void
        },
        abort: (covered) => {
          const directory = platter.directories.get(path)
          if (directory !== undefined) platter.failSyncNames(directory, covered)
        }
      })
    )
  }

  #lock(path: string): Effect.Effect<Lock, Locked | DiskError, Scope.Scope> {
    const { locks: { files, holders } } = this
    return Effect.map(
      Effect.acquireRelease(
        this.#atOnce<{ readonly isNew: boolean }, Locked>("lock", path, () => 0, () => {
          if (holders.has(path)) return Effect.fail(new Locked({ directory: "of the simulated disk" }))
          const holder = { isNew: !files.has(path) }
          holders.set(path, holder)
          this.#lockTaken = { path, holder }
          return Effect.succeed(holder)
        }),
        (holder) =>
          Effect.sync(() => {
            if (this.#lockTaken?.holder === holder) this.#lockTaken = undefined
            if (holders.get(path) === holder) holders.delete(path)
          })
      ),
      (holder) => ({
        ...this.#watching(),
        isNew: holder.isNew,
        settled: this.#atOnce("lock", path, () => 0, () =>
          Effect.sync(() => {
            if (holders.get(path) === holder) files.add(path)
          })),
        isHeld: this.#isHeld(path, holder),
        isHeldIfSoon: this.#isHeld(path, holder)
      })
    )
  }

  #isHeld(path: string, holder: object): Effect.Effect<boolean, DiskError> {
    return this.#atOnce("lock", path, () => 0, () => Effect.sync(() => this.locks.holders.get(path) === holder))
  }

  /** A name is looked up at every look: it takes no time here. */
  #watching(): Pick<Lock, "watch" | "isGone"> {
    let watched: { readonly path: string; readonly node: Node | undefined } | undefined
    return {
      watch: (path, file) => {
        watched = { path, node: this.#nodes.get(file) }
      },
      isGone: () => {
        if (watched?.node === undefined || this.#born !== this.calls.crashes) return false
        const [home, name] = split(watched.path)
        return this.platter.directories.get(home)?.current.get(name) !== watched.node
      }
    }
  }

  #open(path: string, mode: Mode): Effect.Effect<Node, DiskError> {
    const creates = mode === "create" || mode === "create durably"
    return this.#atOnce("open", path, () => creates ? this.calls.faults.other : 0,
      () =>
        Effect.flatMap(this.#directoryOf("open", path), (directory) => {
          if (mode !== "read" && this.#hasLostLock()) return Effect.fail(lockLostAt("open", path))
          const name = split(path)[1]
          const there = directory.current.get(name)
          if (!creates) return there === undefined ? error("open", path, "ENOENT") : Effect.succeed(there)
          if (there !== undefined) return error("open", path, "EEXIST")
          if (this.calls.outOfRoom) return error("open", path, this.calls.fullCode)
          const node: Node = { durable: new Bytes(), current: new Bytes(), unsynced: [] }
          this.platter.apply(directory, { _tag: "Link", name, node })
          return Effect.succeed(node)
        }))
  }

  #openFile(path: string, mode: Mode): Effect.Effect<File, DiskError, Scope.Scope> {
    return Effect.suspend(() => {
      let isOpen = true
      return Effect.map(
        Effect.acquireRelease(this.#open(path, mode), () => Effect.sync(() => void (isOpen = false))),
        (node) => {
          const file = this.#fileOf(path, node, () => isOpen, mode)
          this.#nodes.set(file, node)
          return file
        }
      )
    })
  }

  #fileOf(path: string, node: Node, isOpen: () => boolean, mode: Mode): File {
    const whenOpen = <A>(operation: Operation, effect: Effect.Effect<A, DiskError>): Effect.Effect<A, DiskError> =>
      Effect.suspend(() => isOpen() ? effect : error(operation, path, "EBADF"))
    const reading = <A>(operation: Operation, read: () => A): Effect.Effect<A, DiskError> =>
      whenOpen(operation, this.#atOnce(operation, path, () => this.calls.faults.read, () => Effect.sync(read)))
    return {
      path,
      writeAt: (position, bytes) =>
        whenOpen("writeAt",
          mode === "read" ? error("writeAt", path, "EBADF") : this.#writeAt(path, node, position, bytes, isDurable(mode))),
      dataSync: whenOpen("dataSync", this.#dataSync(path, node)),
      readAt: (position, length) => reading("readAt", () => node.current.slice(position, position + length)),
      readInto: (position, into) => reading("readAt", () => node.current.copyTo(into, position)),
      size: reading("size", () => node.current.length)
    }
  }

  /**
   * `opened`: the name under which the file was opened; faults are drawn for the name that it has now. Whether a durable write that fails
   * or hangs got as far as its sync is unknown.
   */
  #writeAt(opened: string, node: Node, position: number, bytes: Uint8Array, durably: boolean): Effect.Effect<void, DiskError> {
    const { calls, platter } = this
    return Effect.suspend(() => {
      const path = platter.pathOf(opened, node)
      const grows = Math.max(0, position + bytes.length - node.current.length)
      const capacityBytes = calls.options.capacityBytes ?? Number.MAX_SAFE_INTEGER
      if (grows > 0 && (calls.outOfRoom || platter.usedBytes() + grows > capacityBytes)) return error("writeAt", path, calls.fullCode)
      const finish = (write: Write): void => {
        node.current.write(write.position, write.bytes)
        write.finished = true
      }
      const probability = calls.faults.write + (durably ? calls.faults.sync : 0)
      return this.#perform<void, Write, never>("writeAt", path, probability, {
        begin: (misdirected) => {
          const write: Write = {
            position: misdirected ? platter.elsewhere(node, position, bytes.length) : position,
            bytes: bytes.slice(),
            finished: false
          }
          node.unsynced.push(write)
          if (misdirected) platter.noteAstray(node, write)
          else if (durably && calls.options.isSeenEarly?.() === true) platter.show(node, write)
          return write
        },
        end: (write) =>
          Effect.sync(() => {
            // The operating system may read the buffer at any time until then.
            assert(Buffer.compare(write.bytes, bytes) === 0, "the bytes of a write stay as they are until it is over")
            finish(write)
            if (durably) platter.syncWrite(node, write)
          }),
        abort: (write) => {
          const isBrokenOff = !durably || platter.chance(0.5)
          if (isBrokenOff && write.isSeen !== true) return platter.breakOff(node, write)
          finish(write)
          platter.failSyncOf(node, write)
        }
      }, { bytes, position })
    })
  }

  #dataSync(path: string, node: Node): Effect.Effect<void, DiskError> {
    return Effect.suspend(() =>
      this.#perform<void, ReadonlyArray<Write>, never>("dataSync", path, this.calls.faults.sync, {
        begin: () => node.unsynced.filter((write) => write.finished),
        end: (covered) => Effect.sync(() => this.platter.sync(node, covered)),
        abort: (covered) => this.platter.failSync(node, covered)
      })
    )
  }
}
