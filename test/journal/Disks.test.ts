/** The disk contract over the real disk and over the simulated one with its faults off. */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { Effect } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { Disk, isLockLost, type Mode } from "../../src/journal/Disk.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import { diskContract, type Made } from "../contracts/DiskContract.js"
import { generator } from "./Harness.js"

const rooted = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "disk-"))),
    (root) => Effect.sync(() => fs.rmSync(root, { recursive: true }))
  ),
  (root) => path.join(root, "made/by/the/layer")
)

const over = (layer: (root: string) => Made["disk"]) =>
  Effect.map(rooted, (root): Made => ({ disk: layer(root), removeLock: (file) => fs.rmSync(path.join(root, file)) }))

diskContract("NodeDisk", over((root) => NodeDisk.layer(root)))

diskContract("NodeDisk where no flag makes a write durable", over((root) => NodeDisk.layer(root, "darwin")))

diskContract("NodeDisk beside the writer", over(NodeDisk.layerBeside))

diskContract("SimDisk", Effect.sync(() => {
  const disk = SimDisk.make({ random: generator(1) })
  return { disk: disk.mount(), removeLock: disk.removeLock }
}))

test("a thread beside the writer changes nothing by a name once the lock that it was told of is lost", () =>
  Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const root = yield* rooted
    yield* Effect.provide(Effect.flatMap(Disk, (disk) => Effect.scoped(disk.lock("lock.db"))), NodeDisk.layer(root))
    const remove = Effect.provide(
      Effect.flatMap(Disk, (disk) => Effect.flip(disk.remove("nothing"))),
      NodeDisk.layerBeside(root, NodeDisk.lockedFile(root, "lock.db"))
    )
    expect((yield* remove).code).toBe("ENOENT")
    const kept = NodeDisk.lockedFile(root, "lock.db")
    fs.renameSync(root, `${root}.away`)
    fs.cpSync(`${root}.away`, root, { recursive: true })
    const later = Effect.provide(Effect.flatMap(Disk, (disk) => Effect.flip(disk.remove("nothing"))), NodeDisk.layerBeside(root, kept))
    expect(isLockLost(yield* later)).toBe(true)
    expect(NodeDisk.lockedFile(root, "none")).toBe(undefined)
  }))))

/** Records the system calls with which a disk makes bytes durable: the module is loaded anew, so that it finds the replaced functions. */
const watching = async (body: (disks: typeof NodeDisk, root: string, calls: Array<string>) => Promise<void>): Promise<void> => {
  const { fdatasync, open, write } = fs
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "disk-"))
  const calls: Array<string> = []
  fs.open = ((...given: Parameters<typeof open>) => {
    calls.push((Number(given[1]) & fs.constants.O_DSYNC) === 0 ? "open" : "open for durable writes")
    open(...given)
  }) as typeof open
  fs.write = ((...given: Parameters<typeof write>) => {
    calls.push("write")
    write(...given)
  }) as typeof write
  fs.fdatasync = ((fd: number, done: fs.NoParamCallback) => {
    calls.push("sync")
    fdatasync(fd, done)
  }) as typeof fdatasync
  syncBuiltinESMExports()
  try {
    // A different name each time, so that it is loaded as a new module.
    const name = `../../src/journal/NodeDisk.js?${path.basename(root)}`
    await body(await import(name) as typeof NodeDisk, root, calls)
  } finally {
    Object.assign(fs, { fdatasync, open, write })
    syncBuiltinESMExports()
    fs.rmSync(root, { recursive: true })
  }
}

const writeTwice = (mode: Mode) =>
  Effect.scoped(Effect.gen(function*() {
    const file = yield* (yield* Disk).open("a", mode)
    yield* file.writeAt(0, Buffer.from("one"))
    yield* file.writeAt(3, Buffer.from("two"))
  }))

test.runIf(os.platform() === "linux")("a durable write is one call on Linux, where the file was opened for it",
  () =>
    watching(async ({ layer }, root, calls) => {
      const write = (mode: Mode) => Effect.runPromise(Effect.provide(writeTwice(mode), layer(root)))
      await write("create durably")
      await write("write durably")
      expect(calls).toEqual(["open for durable writes", "write", "write", "open for durable writes", "write", "write"])
      calls.length = 0
      await write("write")
      expect(calls).toEqual(["open", "write", "write"])
    }))

test("elsewhere each durable write has a sync of its own behind it", () =>
  watching(async ({ layer }, root, calls) => {
    const write = (mode: Mode) => Effect.runPromise(Effect.provide(writeTwice(mode), layer(root, "darwin")))
    await write("create durably")
    await write("write durably")
    expect(calls).toEqual(["open", "write", "sync", "write", "sync", "open", "write", "sync", "write", "sync"])
  }))

test("on the simulated disk a durable write outlives the power, alone, and what it lies over never comes back", async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const disk = SimDisk.make({ random: generator(seed), faults: { whole: 0.5 } })
    disk.create("a", Buffer.alloc(4 * 512, "."))
    await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      const { open } = yield* Disk
      const cached = yield* open("a", "write")
      yield* cached.writeAt(0, Buffer.alloc(4 * 512, "c"))
      yield* (yield* open("a", "write durably")).writeAt(512, Buffer.alloc(512, "d"))
    })).pipe(Effect.provide(disk.mount())))
    expect(Buffer.from(disk.bytes("a")).toString()).toBe(["c", "d", "c", "c"].map((letter) => letter.repeat(512)).join(""))
    disk.crash("power")
    const left = Array.from({ length: 4 }, (_, sector) => Buffer.from(disk.bytes("a")).toString("latin1", sector * 512, (sector + 1) * 512))
    expect(left[1]).toBe("d".repeat(512))
    for (const sector of [left[0], left[2], left[3]]) expect(["c".repeat(512), ".".repeat(512)]).toContain(sector)
  }
})

test("the names of directories that the layer makes are synced before anything is written, and with the root those of all above it", async () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "disk-"))
  const synced: Array<string> = []
  const { fsync } = fs
  fs.fsync = ((fd: number, done: fs.NoParamCallback) => {
    synced.push(fs.readlinkSync(`/proc/self/fd/${fd}`))
    fsync(fd, done)
  }) as typeof fsync
  syncBuiltinESMExports()
  try {
    await Effect.runPromise(Effect.provide(Effect.void, NodeDisk.layer(path.join(root, "made/by/the/layer"))))
    const made = ["made/by/the", "made/by", "made", ""].map((each) => path.join(root, each))
    expect(synced).toEqual(made)
    synced.length = 0
    await Effect.runPromise(Effect.provide(Effect.void, NodeDisk.layer(path.join(root, "made/by/the/layer"))))
    expect(synced).toEqual([])
    // An earlier start may have been killed before it synced the directories that it made, and others may have made the ones above.
    const others = ["/"]
    for (let at = path.dirname(root); at !== "/"; at = path.dirname(at)) others.splice(-1, 0, at)
    const sync = Effect.flatMap(Disk, (disk) => disk.syncDirectory(""))
    await Effect.runPromise(Effect.provide(sync, NodeDisk.layer(path.join(root, "made/by/the/layer"))))
    expect(synced).toEqual([path.join(root, "made/by/the/layer"), ...made, ...others])
  } finally {
    fs.fsync = fsync
    syncBuiltinESMExports()
    fs.rmSync(root, { recursive: true })
  }
})
