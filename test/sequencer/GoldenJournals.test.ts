/**
 * Kept journals: those of the present rules replay to the state they reached then, and are recorded today as they were; those of earlier
 * rules are only checked for their chain, and left to the versions that replay them.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect, Layer, Stream } from "effect"
import { describe, expect, test } from "vitest"
import * as Journals from "../../scripts/fixtures/Journals.js"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { Journal, type Link } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { applyBlock, recover } from "../../src/sequencer/Recovery.js"
import { stateDigest } from "../../src/sequencer/StateDigest.js"
import { versions } from "../../src/sequencer/Versions.js"

/** Places a kept journal where a venue would have it, uses it, and cleans up. */
const laidOut = async <A>(kept: string, use: (root: string, manifest: Journals.Manifest) => Promise<A>): Promise<A> => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "golden-"))
  try {
    const manifest = JSON.parse(fs.readFileSync(path.join(kept, "manifest.json"), "utf8")) as Journals.Manifest
    fs.mkdirSync(path.join(root, "journal"))
    for (const segment of manifest.segments) {
      fs.writeFileSync(path.join(root, "journal", segment), Journals.padded(fs.readFileSync(path.join(kept, segment))))
    }
    return await use(root, manifest)
  } finally {
    fs.rmSync(root, { recursive: true })
  }
}

const over = <A, E>(root: string, use: Effect.Effect<A, E, Journal>): Promise<A> =>
  Effect.runPromise(Effect.provide(use, Layer.provide(SegmentJournal.layer(Journals.options), NodeDisk.layer(root))))

/** Replays a data directory; returns the lines of its blocks and the engine. */
const replay = (root: string, manifest: Journals.Manifest) =>
  over(root, Effect.gen(function*() {
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
  }))

/** Recovers an engine from a data directory as a start does: without a snapshot, from the first record. */
const recovered = (root: string, manifest: Journals.Manifest) =>
  Effect.runPromise(
    Effect.gen(function*() {
      return yield* recover(yield* Journal, yield* SnapshotStore.SnapshotStore, manifest.capacity, versions)
    }).pipe(
      Effect.provide(Layer.merge(SegmentJournal.layer(Journals.options), SnapshotStore.layerReadOnly)),
      Effect.provide(NodeDisk.layer(root))
    )
  )

/** Flips a bit in the middle of a journal. */
const flip = (root: string, manifest: Journals.Manifest): void => {
  const file = path.join(root, "journal", manifest.segments[0]!)
  const bytes = fs.readFileSync(file)
  bytes[Math.floor(Journals.trimmed(bytes).length / 2)]! ^= 4
  fs.writeFileSync(file, bytes)
}

test("every golden journal is kept, and nothing else", () => {
  const namesOf = (rules: number) => Journals.goldens.filter(({ since }) => since <= rules).map((golden) => golden.name)
  expect(fs.readdirSync(Journals.folderOfRules1).sort()).toEqual([
    "README.md",
    "rules-2",
    "rules-3",
    "rules-4",
    "rules-5",
    "rules-6",
    "rules-7",
    "rules-8",
    ...namesOf(1)
  ].sort())
  expect(fs.readdirSync(Journals.folderOfRules2).sort()).toEqual(namesOf(2).sort())
  expect(fs.readdirSync(Journals.folder).sort()).toEqual(namesOf(versions.rules).sort())
})

describe.each(Journals.goldens)("$name of the present rules", (golden) => {
  const kept = path.join(Journals.folder, golden.name)

  test("replays to the digests it was recorded with", async () => {
    await laidOut(kept, async (root, manifest) => {
      const { engine, lines } = await replay(root, manifest)
      expect([manifest.rules, manifest.codec]).toEqual([versions.rules, versions.codec])
      expect(lines).toEqual(manifest.blocks)
      expect([engine.sequence, engine.atEpochMs]).toEqual([manifest.records, manifest.lastAtEpochMs])
      expect(stateDigest(engine.state)).toBe(manifest.stateDigest)
    })
  })

  test("is recorded today byte for byte as it is kept", async () => {
    const files = await Journals.files(golden, memoryDisk())
    expect([...files.keys()].sort()).toEqual(fs.readdirSync(kept).sort())
    for (const [name, bytes] of files) {
      expect(Buffer.compare(Buffer.from(bytes), fs.readFileSync(path.join(kept, name))), name).toBe(0)
    }
  })

  test("with a bit changed is not replayed", async () => {
    await laidOut(kept, async (root, manifest) => {
      flip(root, manifest)
      await expect(replay(root, manifest)).rejects.toThrow("corrupt")
    })
  })
})

const earlier = Journals.goldens.filter(({ since }) => since <= 1).flatMap(({ name }) => [
  {
    title: `${name} of rules 1`,
    kept: path.join(Journals.folderOfRules1, name),
    format: 1,
    refusal: "were written by version 0.1.0 (rules 1)"
  },
  {
    title: `${name} of rules 2`,
    kept: path.join(Journals.folderOfRules2, name),
    format: 2,
    refusal: "were written by version golden (rules 2)"
  }
])

describe.each(earlier)("$title", ({ format, kept, refusal }) => {
  /** A block's place in the chain; its digest covers what it decided, which is not compared here. */
  const linked = (
    { codec, digest, firstSequence, lastSequence }: Link
  ) => [codec, firstSequence, lastSequence, Buffer.from(digest).toString("hex")]

  test("is held to its chain, block by block", async () => {
    await laidOut(kept, async (root, manifest) => {
      const { head, links } = await over(root, Effect.gen(function*() {
        const journal = yield* Journal
        return { head: journal.opened, links: [...yield* Stream.runCollect(journal.links(1))] }
      }))
      const expected = manifest.blocks.map((line) => line.split(" ")).map((
        [first, last, digest]
      ) => [format, Number(first), Number(last), digest])
      expect(links.map(linked)).toEqual(expected)
      expect(Buffer.from(head.digest).toString("hex")).toBe(expected.at(-1)![3])
      expect([head.nextSequence - 1, head.atEpochMs]).toEqual([manifest.records, manifest.lastAtEpochMs])
    })
  })

  test("is left to the version that replays it", async () => {
    await laidOut(kept, async (root, manifest) => {
      await expect(recovered(root, manifest)).rejects.toThrow(refusal)
    })
  })

  test("with a bit changed is corrupt", async () => {
    await laidOut(kept, async (root, manifest) => {
      flip(root, manifest)
      await expect(recovered(root, manifest)).rejects.toThrow("corrupt")
    })
  })
})

test("the recorder never writes over one", () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "golden-"))
  try {
    const [golden] = Journals.goldens
    fs.cpSync(Journals.folder, path.join(root, Journals.folder), { recursive: true })
    const file = path.join(root, Journals.folder, golden!.name, "manifest.json")
    fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace("\"records\": ", "\"records\": 1"))
    const before = fs.readFileSync(file, "utf8")
    const { status, stderr } = spawnSync(process.execPath, [path.resolve("dist/scripts/record-fixtures.js")], {
      cwd: root,
      encoding: "utf8"
    })
    expect(stderr).toContain("is never recorded anew")
    expect(status).toBe(1)
    expect(fs.readFileSync(file, "utf8")).toBe(before)
  } finally {
    fs.rmSync(root, { recursive: true })
  }
})

test("together they show what a replay must get right", async () => {
  const seen = { forgottenOrders: 0, trades: 0, starts: 0, segments: 0, liquidations: 0 }
  for (const golden of Journals.goldens) {
    await laidOut(path.join(Journals.folder, golden.name), async (root, manifest) => {
      const { engine } = await replay(root, manifest)
      seen.segments += manifest.segments.length
      if (engine.state.fees.atoms > 0n) seen.trades++
      if (engine.occupancy.orderCapacity < manifest.records && engine.occupancy.orders > 0) seen.forgottenOrders++
      if (engine.state.program === "golden") seen.starts++
      if (new Set(engine.state.liquidationLog.since(0, 1_000).map(({ step }) => step)).size >= 3) seen.liquidations++
    })
  }
  expect(seen).toMatchObject({ trades: 4, forgottenOrders: 1, starts: 4, liquidations: 1 })
  expect(seen.segments).toBeGreaterThan(4)
})
