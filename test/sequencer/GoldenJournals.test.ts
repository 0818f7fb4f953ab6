/** Journals kept from earlier replay to what they came to then, and are recorded today as they were. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect, Layer, Stream } from "effect"
import { describe, expect, test } from "vitest"
import * as Journals from "../../scripts/fixtures/Journals.js"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { applyBlock } from "../../src/sequencer/Recovery.js"

const directory = "fixtures/journals"

/** Puts a kept journal where a venue would have it, does something with it, and cleans up. */
const laidOut = async <A>(name: string, use: (root: string, manifest: Journals.Manifest) => Promise<A>): Promise<A> => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "golden-"))
  try {
    const manifest = JSON.parse(fs.readFileSync(path.join(directory, name, "manifest.json"), "utf8")) as Journals.Manifest
    fs.mkdirSync(path.join(root, "journal"))
    for (const segment of manifest.segments) {
      fs.writeFileSync(path.join(root, "journal", segment), Journals.padded(fs.readFileSync(path.join(directory, name, segment))))
    }
    return await use(root, manifest)
  } finally {
    fs.rmSync(root, { recursive: true })
  }
}

/** Replays what is in a data directory; gives the lines of its blocks and the engine. */
const replay = (root: string, manifest: Journals.Manifest) =>
  Effect.scoped(Effect.gen(function*() {
    const journal = yield* Journal
    const engine = Engine.make(manifest.capacity)
    const lines: Array<string> = []
    yield* journal.replay(1).pipe(Stream.runForEach((block) =>
      Effect.gen(function*() {
        const diverged = applyBlock(engine, block)
        if (diverged !== undefined) return yield* diverged
        lines.push(Journals.blockLine(block))
        const broken = Invariants.firstBroken(engine.state)
        if (broken !== undefined) return yield* Effect.dieMessage(broken)
      })
    ))
    return { engine, lines }
  })).pipe(Effect.provide(Layer.provide(SegmentJournal.layer(Journals.options), NodeDisk.layer(root))), Effect.runPromise)

test("every golden journal is kept, and nothing else", () => {
  expect(
    fs.readdirSync(directory).filter((name) => name !== "README.md").sort()
  ).toEqual(Journals.goldens.map((golden) => golden.name).sort())
})

describe.each(Journals.goldens)("$name", (golden) => {
  test("replays to the digests it was recorded with", async () => {
    await laidOut(golden.name, async (root, manifest) => {
      const { engine, lines } = await replay(root, manifest)
      expect(lines).toEqual(manifest.blocks)
      expect([engine.sequence, engine.atEpochMs]).toEqual([manifest.records, manifest.lastAtEpochMs])
      expect(Journals.stateDigest(engine)).toBe(manifest.stateDigest)
    })
  })

  test("is recorded today byte for byte as it is kept", async () => {
    const files = await Journals.files(golden, memoryDisk())
    expect([...files.keys()].sort()).toEqual(fs.readdirSync(path.join(directory, golden.name)).sort())
    for (const [name, bytes] of files) {
      expect(Buffer.compare(Buffer.from(bytes), fs.readFileSync(path.join(directory, golden.name, name))), name).toBe(0)
    }
  })

  test("with a bit changed is not replayed", async () => {
    await laidOut(golden.name, async (root, manifest) => {
      const file = path.join(root, "journal", manifest.segments[0]!)
      const bytes = fs.readFileSync(file)
      bytes[Math.floor(Journals.trimmed(bytes).length / 2)]! ^= 4
      fs.writeFileSync(file, bytes)
      await expect(replay(root, manifest)).rejects.toThrow("corrupt")
    })
  })
})

test("together they show what a replay must get right", async () => {
  const seen = { forgottenOrders: 0, trades: 0, halts: 0, segments: 0 }
  for (const golden of Journals.goldens) {
    await laidOut(golden.name, async (root, manifest) => {
      const { engine } = await replay(root, manifest)
      seen.segments += manifest.segments.length
      if (engine.state.fees.atoms > 0n) seen.trades++
      if (engine.occupancy.orderCapacity < manifest.records && engine.occupancy.orders > 0) seen.forgottenOrders++
    })
  }
  expect(seen).toMatchObject({ trades: 3, forgottenOrders: 1 })
  expect(seen.segments).toBeGreaterThan(4)
})
