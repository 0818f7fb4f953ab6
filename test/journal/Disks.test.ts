/** The disk contract over the real disk and over the simulated one with its faults off. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect } from "effect"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import { diskContract } from "../contracts/DiskContract.js"
import { generator } from "./Harness.js"

diskContract(
  "NodeDisk",
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "disk-"))),
      (root) => Effect.sync(() => fs.rmSync(root, { recursive: true }))
    ),
    (root) => NodeDisk.layer(path.join(root, "made/by/the/layer"))
  )
)

diskContract("SimDisk", Effect.sync(() => SimDisk.make({ random: generator(1) }).mount()))
