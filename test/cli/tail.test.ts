/** `venue journal tail` as a process, over recorded journals and beside one that is being written. */
import { Clock, Effect, Layer, Stream } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as DirectoryTasks from "../../src/cli/venue/DirectoryTasks.js"
import type { DecodedEvent } from "../../src/engine/EventLog.js"
import * as Block from "../../src/journal/Block.js"
import * as Following from "../../src/journal/Following.js"
import { Corrupt, Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { RandomDriver } from "../engine/drive.js"
import { cutAt } from "../journal/Harness.js"
import * as Recorded from "./Recorded.js"
import { line, run, runAll } from "./Tool.js"

const program = "dist/tools/venue.js"
const folders: Array<string> = []
afterAll(() => folders.forEach((folder) => fs.rmSync(folder, { recursive: true })))

interface Shown {
  readonly sequence: number
  readonly atEpochMs: number
  readonly command: { readonly kind: string }
  readonly events: ReadonlyArray<DecodedEvent>
}

const shown = (stdout: string): ReadonlyArray<Shown> => stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Shown)

const drive = (seed: number, steps: number): Recorded.RecordingEngine => {
  const recording = new Recorded.RecordingEngine()
  const driver = new RandomDriver(seed, recording)
  for (let step = 0; step < steps; step++) driver.step()
  return recording
}

describe("over a journal", () => {
  let folder = ""
  let recording: Recorded.RecordingEngine
  let last = 0
  const tailing = (...args: ReadonlyArray<string>) => line(program, ["journal", "tail", "--data", folder, ...args])
  const tail = (...args: ReadonlyArray<string>) => run(program, tailing(...args).args)

  beforeAll(async () => {
    folder = Recorded.newFolder()
    folders.push(folder)
    recording = drive(21, 200)
    last = recording.taken.length
    const { blocks } = await Recorded.write(recording, folder)
    const block = blocks[blocks.length >> 1]!
    await Recorded.saveSnapshot(folder, block, Recorded.stateAt(recording, block.lastSequence))
  })

  it("shows every record with its events as JSON, whatever snapshot it begins from", async () => {
    const before = fs.readdirSync(path.join(folder, "journal"))
    const [whole, late] = await runAll([tailing("--json", "--from", "1"), tailing("--json", "--from", String(last - 30))])
    const { code, stderr, stdout } = whole!
    expect([code, stderr]).toEqual([0, ""])
    const records = shown(stdout)
    expect(records.map(({ sequence }) => sequence)).toEqual(recording.taken.map(({ record }) => record.sequence))
    expect(records.flatMap(({ events }) => events)).toEqual(JSON.parse(JSON.stringify(recording.events)))
    for (const [index, { command }] of records.entries()) {
      const { record } = recording.taken[index]!
      if (record.command.kind !== "OpenDemoAccounts") expect(command).toEqual(JSON.parse(JSON.stringify(record.command)))
    }
    expect(shown(late!.stdout)).toEqual(records.slice(last - 31))
    // It took no lock and wrote nothing.
    expect(fs.readdirSync(path.join(folder, "journal"))).toEqual(before)
  })

  it("says nothing that helps to find out a key", async () => {
    const { stdout } = await tail("--json", "--from", "1")
    const opened = recording.taken.flatMap(({ record: { command } }) => command.kind === "OpenDemoAccounts" ? command.keys : [])
    expect(opened.length).toBeGreaterThan(0)
    for (const { keyId } of opened) expect(stdout).toContain(keyId)
    expect(stdout.match(/"secretSha256":"[^"]*"/g)).toEqual(opened.map(() => "\"secretSha256\":\"redacted\""))
  })

  it("shows the last twenty records where no first one is asked for", async () => {
    const [json, plain] = await runAll([tailing("--json"), tailing()])
    expect(shown(json!.stdout).map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 20 }, (_, index) => last - 19 + index)
    )
    const lines = plain!.stdout.trimEnd().split("\n")
    const sequences = lines.map((line) => Number(line.slice(24).trimStart().split(" ")[0]))
    expect([...new Set(sequences)]).toEqual(Array.from({ length: 20 }, (_, index) => last - 19 + index))
  })

  it("shows what concerns an account, a market, or one in the other", async () => {
    const accountId = recording.accountId(1)
    const { marketId } = recording.market(0).parameters
    const [ofAccount, ofMarket, ofBoth] = await runAll([
      tailing("--from", "1", "--account", accountId),
      tailing("--from", "1", "--market", marketId),
      tailing("--from", "1", "--market", marketId, "--account", accountId)
    ])
    const own = ofAccount!.stdout.trimEnd().split("\n")
    const market = new Set(ofMarket!.stdout.trimEnd().split("\n"))
    expect(own.some((line) => line.includes(`${accountId} opened`))).toBe(true)
    expect(own.filter((line) => line.includes(`placed by ${recording.accountId(0)}`))).toEqual([])
    expect(market.size).toBeGreaterThan(20)
    const both = ofBoth!.stdout.trimEnd().split("\n")
    expect(both.length).toBeGreaterThan(10)
    expect(both).toEqual(own.filter((line) => market.has(line)))
  })

  it("shows the last twenty records of an account where no first one is asked for, and nothing that was nobody's before it was opened", async () => {
    const accountId = recording.accountId(1)
    const [all, few] = await runAll([
      tailing("--json", "--from", "1", "--account", accountId),
      tailing("--json", "--account", accountId)
    ])
    const own = shown(all!.stdout)
    expect(own.length).toBeGreaterThan(20)
    expect(shown(few!.stdout)).toEqual(own.slice(-20))
    const opened = recording.taken.find(({ record: { command } }) => command.kind === "OpenDemoAccounts")!.record.sequence
    expect(own[0]!.sequence).toBeGreaterThanOrEqual(opened)
    const misspelt = await tail("--json", "--from", "1", "--account", "acc_none")
    expect([misspelt.code, misspelt.stdout]).toEqual([3, ""])
  })

  it("ends with 3 for what it does not know, and for a sequence behind the end", async () => {
    const [account, market, nowhere, zero, next, behind, audited] = await runAll([
      tailing("--account", "acc_none"),
      tailing("--market", "NO-SUCH"),
      line(program, ["journal", "tail", "--data", path.join(folder, "nowhere")]),
      tailing("--from", "0"),
      tailing("--from", String(last + 1)),
      tailing("--from", String(last + 2)),
      line(program, ["audit", "--data", folder, "--from", String(last + 2)])
    ])
    expect([account!.code, account!.stderr]).toEqual([3, "the journal knows no account acc_none\n"])
    expect([market!.code, market!.stderr]).toEqual([3, "the journal knows no market NO-SUCH\n"])
    expect([nowhere!.code, zero!.code]).toEqual([3, 3])
    const ended = { code: 3, stdout: "", stderr: `the journal ends at sequence ${last}\n` }
    expect([behind, audited]).toEqual([ended, ended])
    // The record that comes next is asked for by whoever has seen all that there are.
    expect(next).toEqual({ code: 0, stdout: "", stderr: "" })
  })

  it("ends with 2 at a block that was decided otherwise", async () => {
    const lying = Recorded.newFolder()
    folders.push(lying)
    await Recorded.write(recording, lying, { outcomeAt: 120 })
    const { code, stderr, stdout } = await run(program, ["journal", "tail", "--data", lying, "--json", "--from", "1"])
    expect(code).toBe(2)
    expect(stderr).toContain("another version decided this: replaying sequences")
    expect(shown(stdout).every(({ sequence }) => sequence < 120)).toBe(true)
  })
})

/** Appends a recording's blocks of three records through the real journal, waiting between them. */
const append = (recording: Recorded.RecordingEngine, folder: string, meanwhile: (lastSequence: number) => Effect.Effect<void>) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const builder = new Block.Builder()
    let { digest: previousDigest, nextSequence } = journal.opened
    const { epoch } = journal.opened
    while (nextSequence <= recording.taken.length) {
      const turn = recording.taken.slice(nextSequence - 1, nextSequence + 2)
      builder.begin({ epoch, firstSequence: nextSequence, previousDigest })
      for (const { record } of turn) builder.add(record.sequence, record.atEpochMs, record.command)
      const block = builder.finish(Block.sha256(Buffer.concat(turn.map(({ decided }) => decided))))
      yield* journal.append(block, { epoch, previousDigest })
      previousDigest = block.digest
      nextSequence = block.lastSequence + 1
      yield* meanwhile(block.lastSequence)
    }
  }).pipe(
    Effect.scoped,
    Effect.provide(Layer.provide(SegmentJournal.layer({ segmentBytes: 64 * 1024, maxBlockBytes: 32 * 1024 }), NodeDisk.layer(folder)))
  )

describe("beside a writer", () => {
  it("follows what is written, over segments, and ends with 0 when it is interrupted", async () => {
    const folder = Recorded.newFolder()
    folders.push(folder)
    const recording = drive(22, 500)
    const last = recording.taken.length
    await Effect.runPromise(
      append({ ...recording, taken: recording.taken.slice(0, 30) } as Recorded.RecordingEngine, folder, () => Effect.void)
    )
    const child = spawn(process.execPath, [program, "journal", "tail", "--data", folder, "--from", "1", "--json", "--follow"])
    let stdout = ""
    let stderr = ""
    child.stdout.on("data", (bytes: Buffer) => void (stdout += bytes.toString()))
    child.stderr.on("data", (bytes: Buffer) => void (stderr += bytes.toString()))
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve))
    const lines = () => stdout.split("\n").length - 1
    const waitFor = (count: number) =>
      Effect.gen(function*() {
        const started = yield* Clock.currentTimeMillis
        while (lines() < count && (yield* Clock.currentTimeMillis) - started < 20_000) yield* Effect.sleep(20)
      })
    await Effect.runPromise(waitFor(30))
    expect(lines()).toBe(30)
    await Effect.runPromise(append(recording, folder, (sequence) => sequence % 90 === 0 ? waitFor(sequence - 3) : Effect.void))
    await Effect.runPromise(waitFor(last))
    child.kill("SIGINT")
    expect([await ended, stderr]).toEqual([0, ""])
    expect(shown(stdout).map(({ sequence }) => sequence)).toEqual(Array.from({ length: last }, (_, index) => index + 1))
    expect(fs.readdirSync(path.join(folder, "journal")).length).toBeGreaterThan(2)
  })

  it("ends with 2 once the journal was cut, and advises no cut of what is whole", async () => {
    const folder = Recorded.newFolder()
    folders.push(folder)
    const recording = drive(25, 60)
    await Effect.runPromise(append(recording, folder, () => Effect.void))
    const child = spawn(process.execPath, [program, "journal", "tail", "--data", folder, "--from", "1", "--json", "--follow"])
    let stdout = ""
    let stderr = ""
    child.stdout.on("data", (bytes: Buffer) => void (stdout += bytes.toString()))
    child.stderr.on("data", (bytes: Buffer) => void (stderr += bytes.toString()))
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
    while (stdout.split("\n").length - 1 < recording.taken.length) await Effect.runPromise(Effect.sleep(20))
    await Effect.runPromise(Effect.provide(cutAt(31), NodeDisk.layer(folder)))
    // What is written then is the same again, and other blocks.
    await Effect.runPromise(append(recording, folder, () => Effect.void))
    expect(await ended).toBe(2)
    expect(stderr).toContain(
      `the journal was cut or replaced since this began: the record ${recording.taken.length} is gone, or another one`
    )
    expect(stderr).not.toContain("journal cut")
    // Whatever else seems damaged to a tool that began earlier is read again first.
    const seems = new Corrupt({ segment: "journal/1", offset: 512, sequence: 31, reason: "a block cannot be read" })
    const printing = Effect.flip(DirectoryTasks.printed(folder, Stream.fail(seems)))
    expect(await Effect.runPromise(printing)).toMatchObject({ _tag: "JournalReplaced", sequence: 31 })
    // A file that does not belong there is named, whatever the segments hold.
    const stray = new Corrupt({ segment: "snapshots/1", offset: 0, sequence: 31, reason: "it is a link", missing: "misplaced" })
    expect(await Effect.runPromise(Effect.flip(DirectoryTasks.printed(folder, Stream.fail(stray))))).toBe(stray)
    const [segment] = fs.readdirSync(path.join(folder, "journal")).filter((name) => name.endsWith(".seg"))
    const bytes = fs.readFileSync(path.join(folder, "journal", segment!))
    bytes[700]! ^= 1
    fs.writeFileSync(path.join(folder, "journal", segment!), bytes)
    expect(await Effect.runPromise(printing)).toBe(seems)
  })

  it("calls a block durable once one behind it says so, or it has stood from one look to the next", async () => {
    const folder = Recorded.newFolder()
    folders.push(folder)
    const recording = drive(23, 40)
    const seen: Array<readonly [written: number, durable: number]> = []
    await Effect.runPromise(Effect.gen(function*() {
      yield* append({ ...recording, taken: recording.taken.slice(0, 6) } as Recorded.RecordingEngine, folder, () => Effect.void)
      const following = yield* Following.open
      expect(following.durableSequence()).toBe(0)
      yield* following.look
      expect(following.durableSequence()).toBe(6)
      yield* append(recording, folder, (written) =>
        Effect.gen(function*() {
          yield* following.look
          seen.push([written, following.durableSequence()])
        }).pipe(Effect.orDie))
      yield* following.look
      expect(following.durableSequence()).toBe(recording.taken.length)
    }).pipe(Effect.scoped, Effect.provide(NodeDisk.layer(folder))))
    expect(seen.length).toBeGreaterThan(5)
    for (const [written, durable] of seen) {
      expect(durable).toBeLessThan(written)
      expect(durable).toBeGreaterThanOrEqual(written - 3)
    }
  })

  it("waits at an unfinished write, and refuses at damage", async () => {
    const folder = Recorded.newFolder()
    folders.push(folder)
    const recording = drive(24, 40)
    await Effect.runPromise(
      append({ ...recording, taken: recording.taken.slice(0, 12) } as Recorded.RecordingEngine, folder, () => Effect.void)
    )
    const [segment] = fs.readdirSync(path.join(folder, "journal")).filter((name) => name.endsWith(".seg"))
    const file = path.join(folder, "journal", segment!)
    const opened = fs.readFileSync(file)
    const result = await Effect.runPromise(Effect.gen(function*() {
      const following = yield* Following.open
      yield* following.look
      yield* append({ ...recording, taken: recording.taken.slice(0, 15) } as Recorded.RecordingEngine, folder, () => Effect.void)
      const whole = fs.readFileSync(file)
      const at = opened.findIndex((byte, index) => byte !== whole[index])
      // The new block's last sector has not been written yet, but may still be.
      const end = whole.findLastIndex((byte) => byte !== 0) + 1
      const torn = Buffer.from(whole)
      const lastSector = end - 1 - (end - 1) % Block.sectorBytes
      expect(lastSector).toBeGreaterThan(at)
      torn.fill(0, lastSector, end)
      fs.writeFileSync(file, torn)
      yield* following.look
      yield* following.look
      const waiting = following.durableSequence()
      const damaged = Buffer.from(whole)
      damaged[at + 200]! ^= 1
      fs.writeFileSync(file, damaged)
      // An unfinished block was there at the previous look; now this look finds damage.
      return { waiting, refused: yield* Effect.flip(following.look) }
    }).pipe(Effect.scoped, Effect.provide(NodeDisk.layer(folder))))
    expect(result.waiting).toBe(12)
    expect(result.refused).toMatchObject({ _tag: "JournalCorrupt", sequence: 13 })
  })
})
