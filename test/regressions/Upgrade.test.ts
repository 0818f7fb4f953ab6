/** A directory of version 0.1.0 is taken over: its answers, its state, and what follows; and nothing is lost on the way. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import { Effect, Layer, Stream } from "effect"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { type Exchange, unpack, withoutRequestId } from "../../scripts/fixtures/Version.js"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as Ids from "../../src/domain/Ids.js"
import type { Response } from "../../src/edge/http/Listener.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { schema } from "../../src/engine/Snapshot.js"
import * as Block from "../../src/journal/Block.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import * as NodeHistories from "../../src/readmodel/NodeHistories.js"
import { engineOf } from "../../src/sequencer/Recovery.js"
import { stepLost } from "../../src/sequencer/StepLost.js"
import { versions } from "../../src/sequencer/Versions.js"
import { stateDigest } from "../../src/sequencer/StateDigest.js"
import { line, type Result, run, runAll } from "../cli/Tool.js"
import * as Newer from "../journal/Newer.js"
import * as Kept from "./KeptVersion.js"

const exchanges = Kept.exchangesOf("rules-1")
const soonAfterMs = Kept.soonAfterMs(exchanges)
const { takenOverAt } = Kept

/** The parts of an answer to compare: without the time, if it is a refusal by no decision. */
const said = ({ body, status }: Pick<Response, "status" | "body">, isAskedNow = false) => [
  status,
  isAskedNow ? withoutRequestId(body).replace(/"occurredAtEpochMs":\d+/, "\"occurredAtEpochMs\":0") : Kept.asBefore(withoutRequestId(body))
]

const isRead = ({ request }: Exchange): boolean => request.method === "GET"

/** The records of a simulated disk's journal from a sequence on. */
const recordsFrom = (disk: SimDisk.SimDisk, sequence: number) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const blocks = yield* Stream.runCollect(journal.replay(sequence))
    return [...blocks].flatMap(({ records }) => records).filter((record) => record.sequence >= sequence)
  }).pipe(Effect.provide(Layer.provide(SegmentJournal.layerReadOnly, disk.mount())), Effect.runPromise)

const storeOf = (disk: SimDisk.SimDisk) =>
  Effect.provide(SnapshotStore.SnapshotStore, Layer.provide(SnapshotStore.layerReadOnly, disk.mount())).pipe(Effect.runPromise)

const [alice, bob] = Kept.tradersOf(exchanges) as [Kept.Trader, Kept.Trader]
const { order } = Kept

test("every request that is repeated gets the answer of rules 1, and every read tells what it told", async () => {
  const disk = await Kept.diskOf("rules-1")
  const running = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs))
  const { sequence } = running.venue.reads
  expect(sequence).toBe(takenOverAt + 1)
  for (const exchange of exchanges) {
    // A request refused under the halt had no effect: sent again it is a new order.
    if (exchange.answer.status === 503) continue
    const { again, answer: first, title } = exchange
    const answer = await running.ask(exchange.request)
    // A read shows the journal's sequence: one higher, because of the step.
    const expected = isRead(exchange)
      ? { ...first, body: first.body.replace(`"journalSequence":${takenOverAt}`, `"journalSequence":${takenOverAt + 1}`) }
      : again ?? first
    expect(said(answer, again !== undefined), title).toEqual(said(expected, again !== undefined))
  }
  // None of these requests was decided anew.
  expect(running.venue.reads.sequence).toBe(sequence)
  await running.stop()
})

test("the step is journaled first, with what it began from and came to, and the state that it began with is kept", async () => {
  const disk = await Kept.diskOf("rules-1")
  const stored = await Effect.runPromise((await storeOf(disk)).load(takenOverAt))
  if (typeof stored === "string") throw new Error(stored)
  const running = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs))
  await running.stop()
  const [first, ...others] = await recordsFrom(disk, takenOverAt + 1)
  const migrated = await Effect.runPromise(engineOf(stored, { orders: 10_000, idempotencyKeys: 10_000 }))
  expect(first).toMatchObject({
    sequence: takenOverAt + 1,
    command: {
      kind: "StartVenue",
      ...versions,
      stateBefore: Buffer.from(stored.digest).toString("hex"),
      stateAfter: stateDigest(migrated.state)
    }
  })
  expect(others).toEqual([])
  expect(Invariants.firstBroken(migrated.state)).toBeUndefined()
  const step = await Effect.runPromise((await storeOf(disk)).loadStep(takenOverAt))
  if (typeof step === "string") throw new Error(`the step was not kept: ${step}`)
  expect([step.sequence, step.schema]).toEqual([takenOverAt, schema])
  const kept = await Effect.runPromise(engineOf(step, { orders: 10_000, idempotencyKeys: 10_000 }))
  expect(stateDigest(kept.state)).toBe(stateDigest(migrated.state))
})

/** The names of the states that were saved for steps. */
const stepsOf = (disk: SimDisk.SimDisk): ReadonlyArray<string> => disk.files().filter((name) => name.endsWith(".step"))

/** A directory that was taken over, with what a damage does to it, and why a start of it then fails. */
const startAfter = async (change: (disk: SimDisk.SimDisk, step: string) => void) => {
  const disk = await Kept.diskOf("rules-1")
  await (await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs))).stop()
  const [step] = stepsOf(disk)
  for (const name of disk.files()) if (name.endsWith(".snap")) disk.remove(name)
  change(disk, step!)
  const before = Kept.contents(disk)
  const refused = await Effect.runPromise(Effect.flip(Kept.start(disk.mount(), soonAfterMs + 10_000)))
  expect(Kept.contents(disk)).toEqual(before)
  return { disk, refused }
}

const conditionOf = (disk: SimDisk.SimDisk) =>
  Effect.flatMap(Journal, stepLost).pipe(
    Effect.provide(Layer.provideMerge(Layer.merge(SegmentJournal.layerReadOnly, SnapshotStore.layerReadOnly), disk.mount())),
    Effect.runPromise
  )

test.each<readonly [string, (disk: SimDisk.SimDisk, step: string) => void]>([
  ["missing", (disk, step) => disk.remove(step)],
  ["damaged", (disk, step) => disk.flip(step, 2_000, 1)]
])("where the state of the step is %s and nothing else is saved, that is told, and not to start the other version", async (how, change) => {
  const { disk, refused } = await startAfter(change)
  expect(refused).toMatchObject({ _tag: "StepMissing", fromSequence: 1, takenOverAt: takenOverAt + 1, program: "0.1.0", rules: 1 })
  expect(String(refused)).toContain(`(snapshots/${String(takenOverAt).padStart(20, "0")}.step) is missing or damaged`)
  expect(await conditionOf(disk)).toContain(`the state that the last step began with (snapshots/*.step) is ${how}: put it back`)
})

test("the state of the step alone shows that the journal has lost its end", async () => {
  const { refused } = await startAfter((disk) => {
    // The first segment holds everything: what is zeroed are its last blocks, the other version's last one among them.
    const segment = "journal/00000000000000000001.seg"
    const bytes = disk.bytes(segment)
    const places = Array.from({ length: bytes.length / 512 }, (_, sector) => sector * 512).filter((at) => at > 0)
      .filter((at) => (Block.readHeader(Buffer.from(bytes.subarray(at, at + 512)), 0)?.lastSequence ?? 0) >= takenOverAt)
    disk.overwrite(segment, places[0]!, Buffer.alloc(bytes.length - places[0]!))
  })
  expect(refused).toMatchObject({ _tag: "JournalBehind", snapshotSequence: takenOverAt })
})

test("a directory with its step, and one without any, is told nothing", async () => {
  const disk = await Kept.diskOf("rules-1")
  await (await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs))).stop()
  expect(stepsOf(disk)).toHaveLength(1)
  expect(await conditionOf(disk)).toBe(undefined)
  const fresh = SimDisk.make({ random: () => 0 })
  await (await Effect.runPromise(Kept.start(fresh.mount(), soonAfterMs))).stop()
  expect(stepsOf(fresh)).toHaveLength(0)
  expect(await conditionOf(fresh)).toBe(undefined)
})

test("it trades on, and starts again from its own snapshot, and without one from the step", async () => {
  const disk = await Kept.diskOf("rules-1")
  const running = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs))
  await running.ask(Kept.freshIndex)
  const resting = await running.ask(order(alice, "new-1", {}))
  expect(JSON.parse(resting.body)).toMatchObject({ status: "open" })
  const taking = await running.ask(order(bob, "new-2", { side: "sell", quantity: "0.010", price: "59970.0" }))
  expect(JSON.parse(taking.body)).toMatchObject({ status: "closed", filledQuantity: "0.010" })
  const { sequence } = running.venue.reads
  await running.stop()

  const again = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs + 10_000))
  expect(again.venue.recovered).toEqual({ fromSequence: sequence, records: 0 })
  expect(said(await again.ask(order(alice, "new-1", {})))).toEqual(said(resting))
  const [last] = (await recordsFrom(disk, sequence + 1)).map(({ command }) => command)
  expect(last).toMatchObject({ kind: "StartVenue", rules: versions.rules, stateBefore: "", stateAfter: "" })
  await again.stop()

  const bare = await Kept.diskOf("rules-1")
  const first = await Effect.runPromise(Kept.start(bare.mount(), soonAfterMs))
  await first.ask(Kept.freshIndex)
  for (const [trader, id, more] of [[alice, "new-1", {}], [bob, "new-2", { side: "sell" }]] as const) {
    await first.ask(order(trader, id, more))
  }
  bare.crash("kill")
  const recovered = await Effect.runPromise(Kept.start(bare.mount(), soonAfterMs + 10_000))
  expect(recovered.venue.recovered).toEqual({ fromSequence: takenOverAt, records: sequence - takenOverAt })
  // The start itself is one more record.
  expect(recovered.venue.reads.sequence).toBe(sequence + 1)
  expect(said(await recovered.ask(order(alice, "new-1", {})))).toEqual(said(resting))
  expect(said(await recovered.ask(order(bob, "new-2", { side: "sell", quantity: "0.010", price: "59970.0" })))).toEqual(said(taking))
  await recovered.stop()
})

describe("the tools over what was taken over", () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "upgrade-"))
  afterAll(() => fs.rmSync(directory, { recursive: true }))
  const data = path.join(directory, "data")
  const bundles = {
    later: path.join(directory, "later.bundle"),
    earlier: path.join(directory, "earlier.bundle"),
    whole: path.join(directory, "whole.bundle")
  }
  const replay = (...args: ReadonlyArray<string>) => line("dist/tools/replay.js", args)
  const venue = (...args: ReadonlyArray<string>) => line("dist/tools/venue.js", args)
  const asked = {
    verified: replay("--data", data, "--verify"),
    diffed: replay("--data", data, "--diff"),
    story: replay("--data", data, "--account", alice.accountId),
    at: replay("--data", data, "--at", "48"),
    later: replay("--data", data, "--at", "51"),
    before: replay("--data", data, "--at", "20"),
    beforeByTime: replay("--data", data, "--at", "2023-01-01"),
    statementBefore: replay("--data", data, "--statement", alice.accountId, "--to", "48"),
    statementFrom: replay("--data", data, "--statement", alice.accountId, "--from", "2023-01-01"),
    marketBefore: replay("--data", data, "--market", "DOGE-USDC-PERP", "--to", "30"),
    requestBefore: replay("--data", data, "--request", Ids.requestId(`req_${"0".repeat(24)}`, 20)),
    forgotten: replay("--data", data, "--order", "no-such-name"),
    bundledOfForgotten: venue("bundle", "--data", data, "--order", "no-such-name", "--out", bundles.earlier),
    made: venue("bundle", "--data", data, "--from", "50", "--out", bundles.later),
    replayed: replay("--bundle", bundles.later, "--verify"),
    refused: venue("bundle", "--data", data, "--from", "20", "--out", bundles.earlier),
    forAlice: venue("bundle", "--data", data, "--from", "50", "--redact", alice.accountId, "--out",
      path.join(directory, "redacted.bundle")),
    tail: venue("journal", "tail", "--data", data, "--from", "49"),
    wholeTail: venue("journal", "tail", "--data", data),
    earlierTail: venue("journal", "tail", "--data", data, "--from", "48"),
    audited: venue("audit", "--data", data),
    earlierAudit: venue("audit", "--data", data, "--from", "1"),
    wholeBundle: venue("bundle", "--data", data, "--out", bundles.whole),
    wholeReplayed: replay("--bundle", bundles.whole, "--verify"),
    toBefore: venue("bundle", "--data", data, "--to", "30", "--out", bundles.earlier),
    bundledByTime: venue("bundle", "--data", data, "--from", "2023-01-01", "--out", bundles.earlier),
    bundledToTime: venue("bundle", "--data", data, "--to", "2023-01-01", "--out", bundles.earlier),
    // A copy is attempted with nothing to copy from, and then with something.
    copiedOfNothing: venue("journal", "copy", "--data", directory, "--out", path.join(directory, "copy")),
    copied: venue("journal", "copy", "--data", data, "--out", path.join(directory, "copy"))
  }
  let told: Readonly<Record<keyof typeof asked, Result>>
  const others = "the records up to 48 were decided by version 0.1.0 (rules 1), which alone runs them"

  beforeAll(async () => {
    const disk = await Kept.diskOf("rules-1")
    const running = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs))
    await running.ask(order(alice, "new-1", {}))
    await running.ask(order(bob, "new-2", { side: "sell" }))
    await running.stop()
    const later = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs + 10_000))
    await later.ask(order(alice, "new-3", { price: "59960.0" }))
    await later.stop()
    Kept.writeOut(disk, data)
    const results = await runAll(Object.values(asked))
    told = Object.fromEntries(Object.keys(asked).map((name, at) => [name, results[at]!])) as Record<keyof typeof asked, Result>
  })

  test("replay --verify proves it from the step on, and says what is before", () => {
    const { code, stderr, stdout } = told.verified
    expect(stderr).toBe("")
    expect(stdout).toContain("sequences 1 to 48 are verified by their chain: an earlier version decided them")
    expect(stdout).toMatch(/records +5\n/)
    expect(stdout).toMatch(/snapshot +\d+ proven/)
    expect(code).toBe(0)
  })

  test("replay --diff finds no difference", () => {
    const { code, stdout } = told.diffed
    expect(stdout).not.toContain("differs")
    expect(code).toBe(0)
  })

  test("stories and states begin with the step", () => {
    const { at, later, story } = told
    expect(story.code).toBe(0)
    expect(story.stdout).toContain("what happened up to sequence 48 is not replayed here")
    expect(story.stdout).toContain("new-1")
    expect(at.code).toBe(0)
    expect(at.stdout).toContain("Sequence 48")
    expect(at.stdout).toContain("DOGE-USDC-PERP")
    expect(later.stdout).toContain("Sequence 51")
  })

  test("what asks for anything before it is refused, and names the version that decided that", () => {
    const { before, beforeByTime, bundledOfForgotten, forgotten, marketBefore, requestBefore, statementBefore, statementFrom } = told
    const begins = `${others}; what is replayed begins behind sequence 48\n`
    for (const { code, stderr, stdout } of [before, beforeByTime, statementBefore, statementFrom, marketBefore, requestBefore]) {
      expect([code, stderr, stdout]).toEqual([2, begins, ""])
    }
    for (const { code, stderr } of [forgotten, bundledOfForgotten]) {
      expect([code, stderr]).toEqual([2,
        `the journal knows no order no-such-name: no order id, clientOrderId or Idempotency-Key; ${begins}`])
    }
  })

  test("a bundle from behind the step replays; one from before it names the version that replays it", () => {
    const { forAlice, made, refused, replayed } = told
    expect([made.stderr, made.code]).toEqual(["", 0])
    expect([replayed.stderr, replayed.code]).toEqual(["", 0])
    expect(replayed.stdout).toContain("begins with   the state at 48")
    expect(refused.stderr).toBe(`${others}; --from begins at 49\n`)
    expect(refused.stderr).not.toContain("cut")
    expect(refused.code).toBe(2)
    expect(fs.existsSync(bundles.earlier)).toBe(false)
    // Hiding others' data needs a replay of the journal from its first record, which only 0.1.0 can do.
    expect(forAlice.stderr).toContain("only the version of the program that wrote them (0.1.0) replays them")
    expect(forAlice.code).toBe(2)
  })

  test("journal tail tells the records behind the step", () => {
    const { tail } = told
    expect(tail.stderr).toBe("")
    expect(tail.stdout).toContain("new-1")
  })

  test("without a first record, tail, audit and bundles begin behind the step, and say whose the records before it are", () => {
    const { audited, tail, wholeBundle, wholeReplayed, wholeTail } = told
    expect([wholeTail.code, wholeTail.stderr]).toEqual([0, `${others}\n`])
    expect(wholeTail.stdout).toBe(tail.stdout)
    expect([audited.code, audited.stderr]).toEqual([0, `${others}\n`])
    expect([wholeBundle.code, wholeBundle.stderr]).toEqual([0, ""])
    expect(wholeBundle.stdout).toContain("begins     with the state at sequence 48")
    expect([wholeReplayed.code, wholeReplayed.stderr]).toEqual([0, ""])
  })

  test("with one before the step they are refused, and name the version that decided it", () => {
    const { bundledByTime, bundledToTime, earlierAudit, earlierTail, toBefore } = told
    for (const { code, stderr, stdout } of [earlierTail, earlierAudit, toBefore, bundledByTime, bundledToTime]) {
      expect([code, stderr, stdout]).toEqual([2, `${others}; --from begins at 49\n`, ""])
    }
  })

  test("a copy of a directory without a journal leaves room for the right one", () => {
    const { copied, copiedOfNothing } = told
    expect(copiedOfNothing.code).toBe(3)
    // This directory never had histories, without which nobody can say what was before the step.
    expect([copied.code, copied.stderr]).toEqual([2, expect.stringContaining("the journal is copied, but not the histories")])
  })
})

test("tools say that the state of the step is missing, and not to run the other version", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "upgrade-"))
  try {
    const kept = path.join(directory, "kept")
    const bare = path.join(directory, "bare")
    const stepName = `${String(Kept.takenOverOfRules7).padStart(20, "0")}.step`
    const disk = await Kept.diskOf("rules-7")
    const running = await Effect.runPromise(Kept.start(disk.mount(), Kept.soonAfterMs(Kept.exchangesOf("rules-7"))))
    await running.stop()
    for (const data of [kept, bare]) {
      Kept.writeOut(disk, data)
      fs.rmSync(path.join(data, "snapshots", stepName))
    }
    fs.rmSync(path.join(bare, "snapshots"), { recursive: true })
    const venue = (...args: ReadonlyArray<string>) => line("dist/tools/venue.js", args)
    const verify = (data: string) => line("dist/tools/replay.js", ["--data", data, "--verify"])
    const ofJournal = (data: string) => [
      verify(data),
      venue("journal", "info", "--data", data),
      venue("journal", "copy", "--data", data, "--out", `${data}-copy`)
    ]
    const decided = [
      venue("journal", "tail", "--data", bare),
      venue("audit", "--data", bare),
      venue("bundle", "--data", bare, "--out", path.join(directory, "bundle"))
    ]
    const results = await runAll([...ofJournal(bare), ...ofJournal(kept), ...decided])
    for (const { code, stderr } of results) expect([code, stderr]).toEqual([2, expect.stringMatching(/\.step\) is missing/)])
    expect(results[0]!.stderr).toContain(`(snapshots/${stepName}) is missing or damaged. Put that file back`)
    for (const { stderr } of results) expect(stderr).not.toContain("alone runs them")
    // Everything is told and copied that there is.
    expect(results[1]!.stdout).toContain("snapshots  none")
    expect(fs.readdirSync(`${kept}-copy/snapshots`)).toEqual(fs.readdirSync(path.join(kept, "snapshots")))
  } finally {
    fs.rmSync(directory, { recursive: true })
  }
})

describe("what rules 1 left undecided", () => {
  test("refuses the start by name, and nothing is changed", async () => {
    await Kept.refusedByName("rules-1-crashed", soonAfterMs, "0.1.0", 1)
  })

  test("without any snapshot as well", async () => {
    const files = new Map([...Kept.filesOf("rules-1")].filter(([name]) => name.startsWith("journal/")))
    const disk = SimDisk.make({ random: () => 0 })
    await Effect.runPromise(Effect.provide(Kept.lay(files), disk.mount()))
    const before = Kept.contents(disk)
    const refused = await Effect.runPromise(Effect.flip(Kept.start(disk.mount(), soonAfterMs)))
    expect(refused).toMatchObject({ _tag: "UndecidedByOther", fromSequence: 1, lastSequence: takenOverAt, program: "0.1.0", rules: 1 })
    expect(Kept.contents(disk)).toEqual(before)
  })

  test("replay says which version replays it", async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), "upgrade-"))
    try {
      unpack(path.join(Kept.directoryOf("rules-1-crashed"), "data"), directory)
      const { code, stderr } = await run("dist/tools/replay.js", ["--data", directory, "--verify"])
      expect(stderr).toContain("(0.1.0) replays them")
      expect(stderr).not.toContain("cut")
      expect(code).toBe(2)
    } finally {
      fs.rmSync(directory, { recursive: true })
    }
  })
})

test.each(["schema", "format"] as const)("a snapshot of a newer %s is passed over for the one before, and says so", async (what) => {
  const disk = await Kept.diskOf("rules-1")
  const first = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs))
  await first.stop()
  const second = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs + 1_000))
  await second.ask(order(alice, "new-1", {}))
  await second.stop()
  const newest = disk.files().filter((file) => file.endsWith(".snap")).at(-1)!
  disk.overwrite(newest, 0, Newer.snapshot(disk.bytes(newest), what))
  const third = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs + 2_000))
  expect(third.logged.join("\n")).toContain(`a newer version wrote it (${what} 9`)
  // Of the snapshots, the previous one is that of the first stop.
  expect(third.venue.recovered).toEqual({ fromSequence: takenOverAt + 1, records: 2 })
  await third.stop()
})

test.each(["rules-6", "rules-7"] as const)("histories that %s left go on, and are not made anew", async (version) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "upgrade-"))
  try {
    unpack(path.join(Kept.directoryOf(version), "data"), directory)
    const kept = Kept.exchangesOf(version)
    const histories = NodeHistories.layer(directory)
    const running = await Effect.runPromise(Kept.start(NodeDisk.layer(directory), Kept.soonAfterMs(kept), {}, histories))
    for (const { accountId, apiKey } of Kept.tradersOf(kept)) {
      await vi.waitFor(async () => {
        const target = `/v1/accounts/${accountId}/positions/history`
        const { body } = await running.ask({ method: "GET", target, headers: { authorization: `Bearer ${apiKey}` } })
        const { episodes, freshness } = JSON.parse(body)
        expect(freshness).toMatchObject({ status: "fresh", backfillStatus: "live" })
        expect(episodes.length).toBeGreaterThan(0)
        // They were made of the whole journal.
        expect(body).not.toContain("completeSinceEpochMs")
      })
    }
    expect(running.logged.filter((line) => line.includes("histories"))).toEqual([])
    await running.stop()
    expect(fs.readdirSync(directory).filter((name) => name.includes("set-aside"))).toEqual([])
  } finally {
    fs.rmSync(directory, { recursive: true })
  }
})

/** The database of a data directory's histories, for one use. */
const inHistories = <A>(directory: string, use: (database: SqliteDatabase.Database) => A, name = "histories.db"): A => {
  const database = new SqliteDatabase(path.join(directory, name))
  try {
    return use(database)
  } finally {
    database.close()
  }
}

/** What lists of an account say of from when on they are complete, once the histories can be read. */
const completeSince = async (running: Kept.Running, { accountId, apiKey }: Kept.Trader): Promise<ReadonlyArray<number | undefined>> => {
  const ask = (rest: string) =>
    vi.waitFor(async () => {
      const target = `/v1/accounts/${accountId}/${rest}`
      const { body, status } = await running.ask({ method: "GET", target, headers: { authorization: `Bearer ${apiKey}` } })
      expect(status, body).toBe(200)
      const told = JSON.parse(body)
      expect(told.freshness?.backfillStatus ?? "live").toBe("live")
      return told
    })
  const { completeSinceEpochMs } = await ask("positions/history")
  const lists = ["ledger", "funding-payments", "fills", "orders", "outcomes?clientOrderId=none-such"]
  return [completeSinceEpochMs, ...(await Promise.all(lists.map(ask))).map((list) => list.completeSinceEpochMs)]
}

test("histories that cannot be made again are kept, whatever is done, and new ones say from when on they are complete", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "upgrade-"))
  try {
    unpack(path.join(Kept.directoryOf("rules-1"), "data"), directory)
    const start = (afterMs: number) =>
      Effect.runPromise(Kept.start(NodeDisk.layer(directory), soonAfterMs + afterMs, {}, NodeHistories.layer(directory)))
    const stop = async (running: Kept.Running): Promise<void> => {
      // What was begun with the first record and could not go on is not worth a place among what was set aside.
      await running.stop()
      expect(fs.readdirSync(directory).filter((name) => name.includes("set-aside"))).toEqual([])
    }
    const first = await start(0)
    const since = first.venue.reads.atEpochMs
    const told = await completeSince(first, alice)
    // Every order and fill was still remembered at the step; the ledger of version 0.1.0 was not kept at all.
    expect(told).toEqual([expect.any(Number), told[0], told[0], undefined, undefined, undefined])
    expect(told[0]).toBeLessThan(since)
    await stop(first)

    inHistories(directory, (database) => database.exec("CREATE TABLE marker (x)"))
    const rebuild = (...more: ReadonlyArray<string>) => run("dist/tools/venue.js", ["histories", "rebuild", "--data", directory, ...more])
    const before = fs.readFileSync(path.join(directory, "histories.db"))
    const refused = await rebuild()
    expect([refused.code, refused.stdout]).toEqual([1, ""])
    expect(refused.stderr).toContain(`refused: the records before ${takenOverAt + 1} were decided by an earlier version`)
    expect(fs.readFileSync(path.join(directory, "histories.db"))).toEqual(before)
    expect(fs.readdirSync(directory).filter((name) => /set-aside|new/.test(name))).toEqual([])
    const done = await rebuild("--from-step")
    expect([done.code, done.stderr]).toEqual([0, ""])
    expect(done.stdout).toContain(`made anew from the state behind record ${takenOverAt}, and `)
    const tables = (name: string): ReadonlyArray<unknown> =>
      inHistories(directory, (database) => database.prepare("SELECT name FROM sqlite_schema WHERE name = 'marker'").all(), name)
    expect([tables("histories.db"), tables("histories.db.set-aside")]).toEqual([[], [{ name: "marker" }]])

    const second = await start(5_000)
    expect(await completeSince(second, alice)).toEqual(told)
    await second.stop()
    // A database of a version that did not say where it begins: if it may have begun at an earlier step, its first candle shows when.
    const firstCandle = inHistories(directory, (database) => {
      for (const name of ["begins_behind", "begins_at_epoch_ms", "orders_since_epoch_ms"])
        database.exec(`ALTER TABLE place DROP COLUMN ${name}`)
      const at = Math.floor(since / 60_000) * 60_000 - 3_600_000
      database.exec(`INSERT INTO candle VALUES (0, 0, 0, ${at}, 1, 1, 1, 1, '0'), (0, 0, 0, ${at + 60_000}, 1, 1, 1, 1, '0')`)
      return at
    })
    const third = await start(10_000)
    const untold = firstCandle + 60_000
    expect(await completeSince(third, alice)).toEqual([untold, untold, untold, undefined, untold, untold])
    await third.stop()
  } finally {
    fs.rmSync(directory, { recursive: true })
  }
})

test("a real disk is taken over like one in memory", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "upgrade-"))
  try {
    unpack(path.join(Kept.directoryOf("rules-1"), "data"), directory)
    const running = await Effect.runPromise(Kept.start(NodeDisk.layer(directory), soonAfterMs))
    expect(running.venue.reads.sequence).toBe(takenOverAt + 1)
    expect(running.logged.filter((line) => line.includes("passed over"))).toEqual([])
    await running.stop()
    expect(fs.readdirSync(path.join(directory, "snapshots")).sort()).toEqual([
      "00000000000000000048.snap",
      "00000000000000000048.step",
      "00000000000000000049.snap"
    ])
  } finally {
    fs.rmSync(directory, { recursive: true })
  }
})

test.each<Kept.Name>(["rules-1", "rules-5", "rules-6", "rules-7"])(
  "positions that were open under %s go on in the histories, under their ids",
  async (version) => {
    const kept = Kept.exchangesOf(version)
    const running = await Effect.runPromise(Kept.start((await Kept.diskOf(version)).mount(), Kept.soonAfterMs(kept)))
    const get = async ({ accountId, apiKey }: Kept.Trader, rest: string) => {
      const target = `/v1/accounts/${accountId}/${rest}`
      const { body, status } = await running.ask({ method: "GET", target, headers: { authorization: `Bearer ${apiKey}` } })
      expect(status, body).toBe(200)
      return JSON.parse(body)
    }
    const shared = ["positionId", "marketId", "side", "realizedPnl", "feesPaid", "fundingPaid", "openedAtEpochMs", "lastSequence",
      "avgEntryPrice"]
    const membersOf = (each: Readonly<Record<string, unknown>>) => Object.fromEntries(shared.map((member) => [member, each[member]]))
    const traders = Kept.tradersOf(kept)
    const held = await Promise.all(traders.map((trader) => get(trader, "positions")))
    expect(held.flatMap(({ positions }) => positions).length).toBeGreaterThan(0)
    for (const [index, trader] of traders.entries()) {
      await vi.waitFor(async () => {
        const { episodes, freshness } = await get(trader, "positions/history?status=open")
        expect(freshness).toMatchObject({ status: "fresh", backfillStatus: "live" })
        const ids = ({ positionId }: { readonly positionId: string }): string => positionId
        const told = [...held[index].positions].map(membersOf).sort((one, other) => ids(one as never) < ids(other as never) ? -1 : 1)
        expect(episodes.map(membersOf).sort((one: never, other: never) => ids(one) < ids(other) ? -1 : 1)).toEqual(told)
      })
    }
    // What rules 5 to 7 decided is decided alike by this version, so it can be read in full.
    const said = running.logged.filter((line) => line.includes("the histories begin where this version took over"))
    expect(said).toHaveLength(version === "rules-1" ? 1 : 0)
    if (version === "rules-1")
      expect(said[0]).toContain("the records up to 48 were decided by version 0.1.0 (rules 1), which alone runs them")
    await running.stop()
  }
)
