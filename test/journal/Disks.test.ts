/** The disk contract over the real disk and over the simulated one with its faults off. */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { Effect } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { Disk } from "../../src/journal/Disk.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import { diskContract } from "../contracts/DiskContract.js"
import { generator } from "./Harness.js"

const rooted = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "disk-"))),
    (root) => Effect.sync(() => fs.rmSync(root, { recursive: true }))
  ),
  (root) => path.join(root, "made/by/the/layer")
)

diskContract("NodeDisk", Effect.map(rooted, NodeDisk.layer))

diskContract("NodeDisk beside the writer", Effect.map(rooted, NodeDisk.layerBeside))

diskContract("SimDisk", Effect.sync(() => SimDisk.make({ random: generator(1) }).mount()))

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
    // A start before this one may have been killed between making and syncing them, and others made what is above.
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
