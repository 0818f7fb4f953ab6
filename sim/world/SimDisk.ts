/**
 * A disk in memory, with the faults of a real one. Fault model:
 *
 * - A 512-byte sector is written whole or not at all. Everything larger is not.
 * - A write is visible to reads when it has finished. It is durable only through a data-sync that began after
 *   that. At a power failure each sector of each write that is not durable arrives or does not, in any pattern
 *   and in any order. A process that is killed loses nothing that had finished.
 * - Creations, renames and removals are durable through a sync of their directory; at a power failure a prefix
 *   of those since then survives. A file's bytes are lost with its last name.
 * - A failed write leaves any of its sectors behind. A failed sync makes any of what it covered durable and
 *   forgets about the rest: reads still show it, and a later sync succeeds without writing it.
 * - A hanging operation never ends, and has happened or not.
 * - A misdirected write lands on other sectors of its file and reports success.
 * - Bits flip at rest, where and when the caller says.
 * - Reads fail, and never lie otherwise. Synced sectors are not lost.
 * - Operations take simulated time. Those of a crashed process never end and touch nothing.
 *
 * All chance comes from `random`, all time from the Effect clock: equal seeds give equal disks.
 */
import { Effect, Layer } from "effect"
import type { Scope } from "effect"
import { Disk, DiskError, Locked } from "../../src/journal/Disk.js"
import type { File } from "../../src/journal/Disk.js"

/** How likely each fault is, 0 to 1 per operation. May be changed while the disk is in use. */
export interface Faults {
  /** `EIO`, per kind of operation. `other` is everything about names: create, rename, remove, list, sync of directories. */
  read: number
  write: number
  sync: number
  other: number
  /** `ENOSPC` of a write or a creation. */
  full: number
  /** A write or sync that never ends. */
  hang: number
  misdirect: number
  /** At a power failure: a write that is not durable arrives wholly or not at all. */
  whole: number
}

export const noFaults: Readonly<Faults> = { read: 0, write: 0, sync: 0, other: 0, full: 0, hang: 0, misdirect: 0, whole: 0.3 }

export type Operation = "open" | "writeAt" | "dataSync" | "readAt" | "size" | "makeDirectory" | "list" | "rename" | "remove" | "syncDirectory" | "lock"

/** An operation that is about to begin. `index` counts all operations of the disk from 0. */
export interface Call {
  readonly index: number
  readonly operation: Operation
  readonly path: string
}

export interface Options {
  /** 0 to below 1. */
  readonly random: () => number
  readonly faults?: Partial<Faults>
  /** Bytes of all files together. */
  readonly capacityBytes?: number
  /** Simulated milliseconds an operation takes, at once if both are 0; without it, one to four turns of the scheduler. */
  readonly latencyMs?: { readonly min: number; readonly max: number }
  /** Makes one operation fail, hang or go astray, besides what chance does. May crash the disk: then it has not begun. */
  readonly inject?: (call: Call) => "EIO" | "ENOSPC" | "hang" | "misdirect" | undefined
}

/** An operation that never ends. (`Effect.never` would hold the real process with a real timer.) */
const hung: Effect.Effect<never> = Effect.async<never>(() => {})

/** What ends a process: `power` also loses what was not synced. */
export type Crash = "power" | "kill"

export interface SimDisk {
  readonly faults: Faults
  /** The disk as a process that starts now sees it, until the next `crash`. */
  readonly mount: () => Layer.Layer<Disk>
  /** Ends every process there is: locks are dropped, and nothing they had under way goes on. */
  readonly crash: (kind?: Crash) => void
  /** Flips one bit (0..7) of a file at rest. */
  readonly flip: (path: string, byte: number, bit: number) => void
  /** A copy of a file as reads see it. */
  readonly bytes: (path: string) => Uint8Array
  /** A copy of a part of a file as it would survive any crash; empty where the file's name would not. */
  readonly durable: (path: string, start: number, end: number) => Uint8Array
  /** Overwrites a part of a file at rest, durably. */
  readonly overwrite: (path: string, position: number, bytes: Uint8Array) => void
  /** Paths of all files, sorted. */
  readonly files: () => ReadonlyArray<string>
  /** How many operations have begun. */
  readonly calls: () => number
  /** How often something may have become durable, or changed there: while this stays, so does all that `durable` tells. */
  readonly durableChanges: () => number
}

const sectorBytes = 512

/** A write that is not durable. */
interface Write {
  readonly position: number
  readonly bytes: Uint8Array
  finished: boolean
}

/** What a name stands for: the bytes that survive, those that reads see, and what lies between. */
interface Node {
  durable: Bytes
  current: Bytes
  unsynced: Array<Write>
}

/** Bytes that grow. */
class Bytes {
  private held = new Uint8Array(0)
  length = 0

  write(position: number, bytes: Uint8Array): void {
    this.extend(position + bytes.length)
    this.held.set(bytes, position)
  }

  extend(length: number): void {
    if (length <= this.length) return
    if (length > this.held.length) {
      const larger = new Uint8Array(Math.max(length, this.held.length * 2))
      larger.set(this.held.subarray(0, this.length))
      this.held = larger
    }
    this.length = length
  }

  slice(start: number, end: number): Uint8Array {
    return this.held.slice(Math.min(start, this.length), Math.min(end, this.length))
  }

  flip(byte: number, bit: number): void {
    this.held[byte]! ^= 1 << bit
  }

  copy(): Bytes {
    const copy = new Bytes()
    copy.write(0, this.held.subarray(0, this.length))
    return copy
  }
}

/** A change of names in one directory. */
type Change =
  | { readonly _tag: "Link"; readonly name: string; readonly node: Node }
  | { readonly _tag: "Unlink"; readonly name: string }
  | { readonly _tag: "Rename"; readonly from: string; readonly to: string; readonly node: Node }

interface Directory {
  durable: Map<string, Node>
  current: Map<string, Node>
  unsynced: Array<Change>
}

const change = (names: Map<string, Node>, made: Change): void => {
  if (made._tag === "Unlink") names.delete(made.name)
  if (made._tag === "Link") names.set(made.name, made.node)
  if (made._tag === "Rename") {
    names.delete(made.from)
    names.set(made.to, made.node)
  }
}

const split = (path: string): readonly [directory: string, name: string] => {
  const at = path.lastIndexOf("/")
  return at < 0 ? ["", path] : [path.slice(0, at), path.slice(at + 1)]
}

const newDirectory = (): Directory => ({ durable: new Map(), current: new Map(), unsynced: [] })

/** An empty disk. */
export const make = (options: Options): SimDisk => {
  const { random } = options
  const faults: Faults = { ...noFaults, ...options.faults }
  const capacityBytes = options.capacityBytes ?? Number.MAX_SAFE_INTEGER
  const { latencyMs } = options
  // Directories are taken to be durable once made: what is in them is not.
  const directories = new Map<string, Directory>([["", newDirectory()]])
  let locks = new Set<string>()
  let crashes = 0
  let calls = 0
  let durableChanges = 0

  const chance = (probability: number): boolean => probability > 0 && random() < probability

  const usedBytes = (): number => {
    const nodes = new Set<Node>()
    for (const directory of directories.values()) for (const node of directory.current.values()) nodes.add(node)
    let used = 0
    for (const node of nodes) used += node.current.length
    return used
  }

  /** Any of a write's sectors. */
  const scatter = (write: Write): Array<Write> => {
    const whole = chance(faults.whole)
    const arrives = chance(0.5)
    const end = write.position + write.bytes.length
    const arrived: Array<Write> = []
    for (let at = write.position; at < end;) {
      const next = Math.min(end, (Math.floor(at / sectorBytes) + 1) * sectorBytes)
      if (whole ? arrives : chance(0.5)) {
        arrived.push({ position: at, bytes: write.bytes.subarray(at - write.position, next - write.position), finished: true })
      }
      at = next
    }
    return arrived
  }

  const writeAll = (into: Bytes, writes: ReadonlyArray<Write>): void => {
    for (const write of writes) into.write(write.position, write.bytes)
  }

  /** Ends an unfinished write: reads see what of it arrived, and a sync would make that durable. */
  const breakOff = (node: Node, write: Write): void => {
    const arrived = scatter(write)
    writeAll(node.current, arrived)
    node.unsynced = node.unsynced.flatMap((each) => each === write ? arrived : each)
  }

  const shuffled = <A>(items: ReadonlyArray<A>): Array<A> => {
    const shuffled = [...items]
    for (let index = shuffled.length - 1; index > 0; index--) {
      const other = Math.floor(random() * (index + 1))
      ;[shuffled[index], shuffled[other]] = [shuffled[other]!, shuffled[index]!]
    }
    return shuffled
  }

  const losePower = (): void => {
    durableChanges++
    for (const directory of directories.values()) {
      const survives = Math.floor(random() * (directory.unsynced.length + 1))
      for (const made of directory.unsynced.slice(0, survives)) change(directory.durable, made)
      directory.current = new Map(directory.durable)
      directory.unsynced = []
      for (const node of new Set(directory.current.values())) {
        for (const write of shuffled(node.unsynced)) writeAll(node.durable, scatter(write))
        node.current = node.durable.copy()
        node.unsynced = []
      }
    }
  }

  /** What had not finished when the process was killed is anyone's guess; the rest stays as reads saw it. */
  const killProcess = (): void => {
    for (const directory of directories.values()) {
      for (const node of new Set(directory.current.values())) {
        for (const write of node.unsynced.filter((each) => !each.finished)) breakOff(node, write)
      }
    }
  }

  const crash = (kind: Crash = "power"): void => {
    crashes++
    locks = new Set()
    if (kind === "power") losePower()
    else killProcess()
  }

  const nodeAt = (path: string): Node => {
    const [directory, name] = split(path)
    const node = directories.get(directory)?.current.get(name)
    if (node === undefined) throw new Error(`${path} is not on the disk`)
    return node
  }

  const mount = (): Layer.Layer<Disk> => {
    const born = crashes

    /** Nothing happens any more in a process that has crashed. */
    const alive: Effect.Effect<void> = Effect.suspend(() => born === crashes ? Effect.void : hung)

    const pause: Effect.Effect<void> = Effect.suspend(() => {
      if (latencyMs === undefined) return turns(1 + Math.floor(random() * 4))
      const ms = latencyMs.min + random() * (latencyMs.max - latencyMs.min)
      return ms > 0 ? Effect.sleep(ms) : Effect.void
    })

    const turns = (count: number): Effect.Effect<void> =>
      count <= 1 ? Effect.yieldNow() : Effect.flatMap(Effect.yieldNow(), () => turns(count - 1))

    /**
     * One operation: `begin` at once, `end` after its time. `abort` does what a failure or hang leaves behind.
     */
    const perform = <A, B, E>(
      operation: Operation,
      path: string,
      probability: number,
      steps: {
        readonly begin: (misdirected: boolean) => B
        readonly end: (begun: B) => Effect.Effect<A, E>
        readonly abort?: (begun: B) => void
      }
    ): Effect.Effect<A, DiskError | E> =>
      Effect.uninterruptible(Effect.suspend(() => {
        if (born !== crashes) return hung
        const injected = options.inject?.({ index: calls, operation, path })
        calls++
        if (born !== crashes) return hung
        const writes = operation === "writeAt"
        const full = injected === "ENOSPC" || ((writes || operation === "open") && chance(faults.full))
        const failed = injected === "EIO" || chance(probability)
        const hangs = injected === "hang" || ((writes || operation === "dataSync") && chance(faults.hang))
        const begun = steps.begin(injected === "misdirect" || (writes && chance(faults.misdirect)))
        return Effect.zipRight(
          Effect.zipRight(pause, alive),
          Effect.suspend((): Effect.Effect<A, DiskError | E> => {
            if (full || failed || hangs) {
              steps.abort?.(begun)
              if (hangs) return hung
              return Effect.fail(new DiskError({ operation, path, code: full ? "ENOSPC" : "EIO" }))
            }
            return steps.end(begun)
          })
        )
      }))

    /** An operation that is done in one go. */
    const atOnce = <A, E = never>(operation: Operation, path: string, probability: () => number, act: () => Effect.Effect<A, E>) =>
      Effect.suspend(() => perform(operation, path, probability(), { begin: () => undefined, end: act }))

    const error = (operation: Operation, path: string, code: string): Effect.Effect<never, DiskError> =>
      Effect.fail(new DiskError({ operation, path, code }))

    const directoryOf = (operation: Operation, path: string): Effect.Effect<Directory, DiskError> => {
      const directory = directories.get(split(path)[0])
      return directory === undefined ? error(operation, path, "ENOENT") : Effect.succeed(directory)
    }

    const apply = (directory: Directory, made: Change): void => {
      change(directory.current, made)
      directory.unsynced.push(made)
    }

    const open = (path: string, mode: "read" | "write" | "create"): Effect.Effect<Node, DiskError> =>
      atOnce("open", path, () => mode === "create" ? faults.other : 0, () =>
        Effect.flatMap(directoryOf("open", path), (directory) => {
          const name = split(path)[1]
          const there = directory.current.get(name)
          if (mode !== "create") return there === undefined ? error("open", path, "ENOENT") : Effect.succeed(there)
          if (there !== undefined) return error("open", path, "EEXIST")
          const node: Node = { durable: new Bytes(), current: new Bytes(), unsynced: [] }
          apply(directory, { _tag: "Link", name, node })
          return Effect.succeed(node)
        }))

    const writeAt = (path: string, node: Node, position: number, bytes: Uint8Array): Effect.Effect<void, DiskError> =>
      Effect.suspend(() => {
        const grows = Math.max(0, position + bytes.length - node.current.length)
        if (grows > 0 && usedBytes() + grows > capacityBytes) return error("writeAt", path, "ENOSPC")
        return perform<void, Write, never>("writeAt", path, faults.write, {
          begin: (misdirected) => {
            const write: Write = {
              position: misdirected ? elsewhere(node, position, bytes.length) : position,
              bytes: bytes.slice(),
              finished: false
            }
            node.unsynced.push(write)
            return write
          },
          end: (write) =>
            Effect.sync(() => {
              node.current.write(write.position, write.bytes)
              write.finished = true
            }),
          abort: (write) => breakOff(node, write)
        })
      })

    /** Another sector of the file, where the write fits; the next one where there is no room before. */
    const elsewhere = (node: Node, position: number, length: number): number => {
      const places = Math.max(1, Math.floor((node.current.length - length) / sectorBytes) + 1)
      const place = Math.floor(random() * places) * sectorBytes
      return place === position ? position + sectorBytes : place
    }

    const dataSync = (path: string, node: Node): Effect.Effect<void, DiskError> =>
      Effect.suspend(() =>
        perform<void, ReadonlyArray<Write>, never>("dataSync", path, faults.sync, {
          begin: () => node.unsynced.filter((write) => write.finished),
          end: (covered) =>
            Effect.sync(() => {
              durableChanges++
              for (const write of covered) node.durable.write(write.position, write.bytes)
              node.unsynced = node.unsynced.filter((write) => !covered.includes(write))
            }),
          abort: (covered) => {
            durableChanges++
            for (const write of covered) writeAll(node.durable, scatter(write))
            node.unsynced = node.unsynced.filter((write) => !covered.includes(write))
          }
        })
      )

    const fileOf = (path: string, node: Node, isOpen: () => boolean, writable: boolean): File => {
      const whenOpen = <A>(operation: Operation, effect: Effect.Effect<A, DiskError>): Effect.Effect<A, DiskError> =>
        Effect.suspend(() => isOpen() ? effect : error(operation, path, "EBADF"))
      return {
        path,
        writeAt: (position, bytes) =>
          whenOpen("writeAt", writable ? writeAt(path, node, position, bytes) : error("writeAt", path, "EBADF")),
        dataSync: whenOpen("dataSync", dataSync(path, node)),
        readAt: (position, length) =>
          whenOpen("readAt", atOnce("readAt", path, () => faults.read, () =>
            Effect.sync(() => node.current.slice(position, position + length)))),
        readInto: (position, into) =>
          whenOpen("readAt", atOnce("readAt", path, () => faults.read, () =>
            Effect.sync(() => {
              const found = node.current.slice(position, position + into.length)
              into.set(found)
              return found.length
            }))),
        size: whenOpen("size", atOnce("size", path, () => faults.read, () => Effect.sync(() => node.current.length)))
      }
    }

    const openFile = (path: string, mode: "read" | "write" | "create"): Effect.Effect<File, DiskError, Scope.Scope> =>
      Effect.suspend(() => {
        let isOpen = true
        return Effect.map(
          Effect.acquireRelease(open(path, mode), () => Effect.sync(() => void (isOpen = false))),
          (node) => fileOf(path, node, () => isOpen, mode !== "read")
        )
      })

    const disk = Disk.of({
      open: openFile,
      makeDirectory: (path) =>
        atOnce("makeDirectory", path, () => faults.other, () =>
          Effect.sync(() => {
            const parts = path === "" ? [] : path.split("/")
            for (let depth = 1; depth <= parts.length; depth++) {
              const made = parts.slice(0, depth).join("/")
              if (!directories.has(made)) directories.set(made, newDirectory())
            }
          })),
      list: (path) =>
        atOnce("list", path, () => faults.other, () => {
          const directory = directories.get(path)
          return directory === undefined ? error("list", path, "ENOENT") : Effect.succeed([...directory.current.keys()].sort())
        }),
      rename: (from, to) =>
        atOnce("rename", from, () => faults.other, () =>
          Effect.flatMap(directoryOf("rename", from), (directory) => {
            const [home, name] = split(from)
            const node = directory.current.get(name)
            if (node === undefined) return error("rename", from, "ENOENT")
            if (split(to)[0] !== home) return error("rename", from, "EXDEV")
            return Effect.sync(() => apply(directory, { _tag: "Rename", from: name, to: split(to)[1], node }))
          })),
      remove: (path) =>
        atOnce("remove", path, () => faults.other, () =>
          Effect.flatMap(directoryOf("remove", path), (directory) => {
            const name = split(path)[1]
            if (!directory.current.has(name)) return error("remove", path, "ENOENT")
            return Effect.sync(() => apply(directory, { _tag: "Unlink", name }))
          })),
      syncDirectory: (path) =>
        Effect.suspend(() =>
          perform<void, ReadonlyArray<Change>, DiskError>("syncDirectory", path, faults.other, {
            begin: () => [...(directories.get(path)?.unsynced ?? [])],
            end: (covered) => {
              const directory = directories.get(path)
              if (directory === undefined) return error("syncDirectory", path, "ENOENT")
              durableChanges++
              for (const made of covered) change(directory.durable, made)
              directory.unsynced = directory.unsynced.filter((made) => !covered.includes(made))
              return Effect.void
            }
          })
        ),
      lock: (path) =>
        Effect.asVoid(Effect.acquireRelease(
          atOnce<void, Locked>("lock", path, () => 0, () => {
            if (locks.has(path)) return Effect.fail(new Locked({ path }))
            locks.add(path)
            return Effect.void
          }),
          () => Effect.sync(() => void (born === crashes && locks.delete(path)))
        ))
    })
    return Layer.succeed(Disk, disk)
  }

  return {
    faults,
    mount,
    crash,
    flip: (path, byte, bit) => {
      durableChanges++
      const node = nodeAt(path)
      node.durable.flip(byte, bit)
      node.current.flip(byte, bit)
    },
    bytes: (path) => {
      const { current } = nodeAt(path)
      return current.slice(0, current.length)
    },
    durable: (path, start, end) => {
      const [directory, name] = split(path)
      return directories.get(directory)?.durable.get(name)?.durable.slice(start, end) ?? new Uint8Array(0)
    },
    overwrite: (path, position, bytes) => {
      durableChanges++
      const node = nodeAt(path)
      node.durable.write(position, bytes)
      node.current.write(position, bytes)
    },
    files: () =>
      [...directories].flatMap(([path, { current }]) => [...current.keys()].map((name) => path === "" ? name : `${path}/${name}`)).sort(),
    calls: () => calls,
    durableChanges: () => durableChanges
  }
}
