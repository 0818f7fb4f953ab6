/** Data of a newer version is distinguished from damage everywhere, and no message advises to cut it. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Cause, Effect, Exit, Layer, Option, Stream } from "effect"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as Block from "../../src/journal/Block.js"
import * as Following from "../../src/journal/Following.js"
import { Journal } from "../../src/journal/Journal.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { line, runAll } from "../cli/Tool.js"
import { appendMany, cutAt, generator, journalOver, segmentFiles, session } from "./Harness.js"
import * as Newer from "./Newer.js"

const options: SegmentJournal.Options = { segmentBytes: 4096, maxBlockBytes: 2048 }

/** A journal of several segments. */
const smallJournal = async () => {
  const disk = SimDisk.make({ random: generator(7), latencyMs: { min: 0, max: 0 } })
  await session(disk, appendMany(9, 3, 220), options)
  const segments = segmentFiles(disk)
  return { disk, last: segments.at(-1)!, segments }
}

const failureOf = async (effect: Effect.Effect<unknown, unknown>): Promise<{ readonly _tag: string; readonly message: string }> => {
  const exit = await Effect.runPromiseExit(effect)
  if (Exit.isSuccess(exit)) throw new Error("it was read")
  return Option.getOrThrow(Cause.failureOption(exit.cause)) as { readonly _tag: string; readonly message: string }
}

const files = (disk: SimDisk.SimDisk) => disk.files().map((file) => [file, Buffer.from(disk.bytes(file)).toString("base64")])

const made = [["block", Newer.lastBlock], ["segment header", Newer.segment]] as const

describe.each(made)("a newer %s", (_, make) => {
  const newerJournal = async () => {
    const journal = await smallJournal()
    journal.disk.overwrite(journal.last, 0, make(journal.disk.bytes(journal.last)))
    return journal
  }

  test("is refused by opening, reading, following, and by a cut wherever it would begin; nothing is changed", async () => {
    const { disk } = await newerJournal()
    const before = files(disk)
    const readOnly = Layer.provide(SegmentJournal.layerReadOnly, disk.mount())
    for (
      const open of [
        Effect.provide(Journal, journalOver(disk.mount(), options)),
        Effect.provide(Journal, readOnly),
        Effect.provide(Following.open, disk.mount()),
        ...[1, 5, 20, 100].map((sequence) => Effect.provide(cutAt(sequence), disk.mount()))
      ]
    ) {
      const failure = await failureOf(Effect.scoped(open as Effect.Effect<unknown, unknown, never>))
      expect(failure._tag).toBe("JournalNewerFormat")
      expect(failure.message).toContain("is written in format 9, and this program reads up to")
      expect(failure.message).not.toMatch(/cut|corrupt/)
    }
    const after = files(disk).filter(([file]) => file !== SegmentJournal.lockPath)
    expect(after).toEqual(before.filter(([file]) => file !== SegmentJournal.lockPath))
  })
})

test("a version that was flipped under a checksum that does not hold is damage", async () => {
  const { disk, last } = await smallJournal()
  disk.overwrite(last, 0, Newer.flippedBlock(disk.bytes(last)))
  const failure = await failureOf(Effect.provide(Journal, journalOver(disk.mount(), options)))
  expect(failure._tag).toBe("JournalCorrupt")
})

test("a newer block that comes while another follows ends the following, and what was before has been told", async () => {
  const { disk, last } = await smallJournal()
  const whole = disk.bytes(last)
  await Effect.runPromise(Effect.gen(function*() {
    const following = yield* Following.open
    yield* following.look
    yield* following.look
    const told = following.durableSequence()
    expect(told).toBeGreaterThan(0)
    disk.overwrite(last, 0, Newer.lastBlock(whole))
    const blocks = yield* Effect.exit(Stream.runCollect(following.journal.replay(1)))
    expect(Exit.isFailure(blocks) && String(Cause.squash(blocks.cause))).toContain("format 9")
  }).pipe(Effect.provide(disk.mount()), Effect.scoped))
})

describe("the tools", () => {
  let directory = ""
  beforeEach(() => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), "newer-"))
  })
  afterEach(() => fs.rmSync(directory, { recursive: true }))

  test.each(made)("say so of a newer %s, and never advise to cut", async (_, make) => {
    const { disk, last } = await smallJournal()
    disk.overwrite(last, 0, make(disk.bytes(last)))
    for (const file of segmentFiles(disk)) {
      fs.mkdirSync(path.join(directory, "journal"), { recursive: true })
      fs.writeFileSync(path.join(directory, file), disk.bytes(file))
    }
    const before = fs.readFileSync(path.join(directory, last))
    const lines = [
      ["replay", "--verify"],
      ["replay", "--at", "1"],
      ["venue", "journal", "info"],
      ["venue", "journal", "tail"],
      ["venue", "bundle", "--out", path.join(directory, "a.bundle")],
      ["venue", "journal", "cut", "--at", "2", "--yes"]
    ].map(([program, ...args]) => line(`dist/tools/${program}.js`, [...args, "--data", directory]))
    for (const [at, { code, stderr }] of (await runAll(lines)).entries()) {
      const { args } = lines[at]!
      expect(stderr, args.join(" ")).toContain("is written in format 9, and this program reads up to")
      expect(stderr, args.join(" ")).not.toMatch(/journal cut|corrupt| {4}at /)
      expect(code, args.join(" ")).toBe(2)
    }
    expect(fs.readFileSync(path.join(directory, last)).equals(before)).toBe(true)
  })
})

test("the number of a format is where every version finds it", () => {
  // By these places an older program recognises a newer format, so they never move.
  const builder = new Block.Builder()
  builder.begin({ epoch: 1, firstSequence: 1, previousDigest: Block.genesisDigest })
  builder.add(1, 1, {
    kind: "PassTime",
    principal: 3,
    account: -1,
    credential: -1,
    operation: 0,
    idempotencyKey: "",
    fingerprint: { a: 0, b: 0, c: 0, d: 0 }
  })
  const { bytes } = builder.finish(Block.genesisDigest)
  expect(bytes.readUInt32LE(40)).toBe(Block.codecVersion)
})
