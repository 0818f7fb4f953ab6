/** The disk contract over the real disk and over the simulated one with its faults off. */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { Effect } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
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

test("the names of directories that the layer makes are synced, each in the one above it, before anything is written", async () => {
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
    expect(synced).toEqual(["made/by/the", "made/by", "made", ""].map((each) => path.join(root, each)))
    synced.length = 0
    await Effect.runPromise(Effect.provide(Effect.void, NodeDisk.layer(path.join(root, "made/by/the/layer"))))
    expect(synced).toEqual([])
  } finally {
    fs.fsync = fsync
    syncBuiltinESMExports()
    fs.rmSync(root, { recursive: true })
  }
})
