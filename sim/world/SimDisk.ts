/**
 * A disk in memory, with the faults of a real one. Fault model:
 *
 * - A 512-byte sector is written whole or not at all. Everything larger is not.
 * - A write is visible to reads when it has finished. It is durable only through a data-sync that began after that. At a power failure
 *   each sector of each write that is not durable arrives or does not, in any pattern and in any order. A process that is killed loses
 *   nothing that had finished.
 * - A write that includes its own sync may be visible to reads from its beginning: then a killed process loses nothing of it.
 * - Creations, renames and removals, of directories too, are durable through a sync of their directory; at a power failure a prefix of
 *   those since then survives. A file's bytes are lost with its last name, a directory with all in it.
 * - A failed write leaves any of its sectors behind. A failed sync makes any of what it covered durable and forgets about the rest: reads
 *   still show it, and a later sync succeeds without writing it. Of a directory that is a prefix of the changes, and the rest still shows
 *   in its names; but that a directory was made is never forgotten.
 * - A full disk creates no file and lets none grow; existing bytes can be overwritten.
 * - A hanging operation never ends, and has happened or not. One that stalls takes long, and then ends like any other.
 * - A misdirected write lands on other sectors of its file and reports success.
 * - Bits flip at rest, where and when the caller says.
 * - A lock's file is removed when the caller says so, and a stranger may hold the one that takes its place. Its holder learns of that only
 *   when it checks, or when it wants to change something by a name.
 * - Names are taken away under a writer when the caller says so: a file is removed or moved, a directory is moved. Files that are open
 *   remain what they were, and the next look at a watched name tells. Only a drill does so.
 * - Reads fail, and never lie otherwise. Synced sectors are not lost.
 * - Operations take simulated time. Those of a crashed process never end and change nothing.
 *
 * All chance comes from `random`, all time from the Effect clock: equal seeds give equal disks.
 */
import { Layer } from "effect"
import { Disk } from "../../src/journal/Disk.js"
import { DiskCalls, type Faults, type Options } from "./DiskCalls.js"
import { DiskMount, type Locks } from "./DiskMount.js"
import { type Crash, Platter, split } from "./Platter.js"

export { type Call, type Faults, type Injected, noFaults, type Operation, type Options } from "./DiskCalls.js"
export type { Crash } from "./Platter.js"

export interface SimDisk {
  readonly faults: Faults
  /** The disk for a process that starts now, until the next `crash`. */
  readonly mount: () => Layer.Layer<Disk>
  /** Ends every process: locks are released, and their operations in progress stop. */
  readonly crash: (kind?: Crash) => void
  /** Makes the disk full, or gives it room again. Existing bytes of a full disk can be overwritten. */
  readonly setOutOfRoom: (outOfRoom: boolean) => void
  /** Removes a lock's file: its holder runs on, and another process can lock a new file. */
  readonly removeLock: (path: string) => void
  /**
   * Removes a lock's file, whose holder runs on. A stranger, who writes nothing, holds the lock of a new file until the returned function
   * is called or the power fails.
   */
  readonly replaceLock: (path: string) => () => void
  /** Creates a file, durably, as an operator might. */
  readonly create: (path: string, bytes: Uint8Array) => void
  /** Removes a file, durably. */
  readonly remove: (path: string) => void
  /** Takes a file's name away, as somebody does who syncs nothing: removed, or moved to another name, which is durable. */
  readonly takeName: (path: string, to?: string) => void
  /** Gives a file a further name, and syncs nothing. */
  readonly link: (path: string, to: string) => void
  /** Moves a directory in which there are no others, durably. */
  readonly moveDirectory: (path: string, to: string) => void
  /** Flips one bit (0..7) of a file at rest. */
  readonly flip: (path: string, byte: number, bit: number) => void
  /** A copy of a file as reads see it. */
  readonly bytes: (path: string) => Uint8Array
  /** A copy of a part of a file as it would survive any crash; empty where the file's name would not. */
  readonly durable: (path: string, start: number, end: number) => Uint8Array
  /** Whether the bytes of the latest write that went astray are still there. */
  readonly astrayStands: () => boolean
  /** Overwrites a part of a file at rest, durably. */
  readonly overwrite: (path: string, position: number, bytes: Uint8Array) => void
  /** Saves the whole content; the returned function restores it, once no process uses the disk. */
  readonly checkpoint: () => () => void
  /** Paths of all files, sorted. */
  readonly files: () => ReadonlyArray<string>
  /** How many operations have begun. */
  readonly calls: () => number
  /** How often it has crashed. */
  readonly crashes: () => number
  /** Writes to the journal that have begun and may still end. */
  readonly writing: () => number
  /** How often durable content may have grown or changed: while this is constant, so are the results of `durable`. */
  readonly durableChanges: () => number
}

/** An empty disk. */
export const make = (options: Options): SimDisk => {
  const calls = new DiskCalls(options)
  const platter = new Platter(options.random, () => calls.faults.whole)
  const locks: Locks = { holders: new Map(), files: new Set(), strangers: new WeakSet() }
  const removeLock = (path: string): void => {
    locks.holders.delete(path)
    locks.files.delete(path)
  }
  return {
    faults: calls.faults,
    mount: () => Layer.succeed(Disk, new DiskMount(platter, calls, locks).service()),
    crash: (kind = "power") => {
      calls.crashes++
      calls.writing = 0
      for (const [path, holder] of locks.holders) if (kind === "power" || !locks.strangers.has(holder)) locks.holders.delete(path)
      if (kind === "power") platter.losePower()
      else platter.killProcess()
    },
    setOutOfRoom: (outOfRoom) => {
      calls.outOfRoom = outOfRoom
    },
    removeLock,
    replaceLock: (path) => {
      removeLock(path)
      const stranger = {}
      locks.strangers.add(stranger)
      locks.holders.set(path, stranger)
      return () => {
        if (locks.holders.get(path) === stranger) locks.holders.delete(path)
      }
    },
    create: (path, bytes) => platter.put(path, bytes),
    remove: (path) => platter.takeAway(path),
    takeName: (path, to) => platter.takeName(path, to),
    link: (path, to) => platter.link(path, to),
    moveDirectory: (path, to) => platter.moveDirectory(path, to),
    flip: (path, byte, bit) => {
      platter.durableChanges++
      const node = platter.nodeAt(path)
      node.durable.flip(byte, bit)
      node.current.flip(byte, bit)
    },
    astrayStands: () => platter.astrayStands(),
    bytes: (path) => {
      const { current } = platter.nodeAt(path)
      return current.slice(0, current.length)
    },
    durable: (path, start, end) => {
      const [directory, name] = split(path)
      if (!platter.isDurable(directory)) return new Uint8Array(0)
      return platter.directories.get(directory)?.durable.get(name)?.durable.slice(start, end) ?? new Uint8Array(0)
    },
    overwrite: (path, position, bytes) => {
      platter.durableChanges++
      const node = platter.nodeAt(path)
      node.durable.write(position, bytes)
      node.current.write(position, bytes)
    },
    checkpoint: () => platter.checkpoint(),
    files: () =>
      [...platter.directories]
        .flatMap(([path, { current }]) => [...current.keys()].map((name) => path === "" ? name : `${path}/${name}`))
        .sort(),
    calls: () => calls.count,
    crashes: () => calls.crashes,
    writing: () => calls.writing,
    durableChanges: () => platter.durableChanges
  }
}
