/** The journal contract over the real disk and over the simulated one with its faults off. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect } from "effect"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import { journalContract } from "../contracts/JournalContract.js"
import { generator } from "./Harness.js"

journalContract(
  "SegmentJournal over NodeDisk",
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "journal-"))),
      (root) => Effect.sync(() => fs.rmSync(root, { recursive: true }))
    ),
    NodeDisk.layer
  )
)

journalContract("SegmentJournal over SimDisk", Effect.sync(() => SimDisk.make({ random: generator(1) }).mount()))
