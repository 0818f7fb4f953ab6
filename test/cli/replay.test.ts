import { Effect, Either, Option } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { beforeAll, describe, expect, it } from "vitest"
import * as Follow from "../../src/cli/replay/Follow.js"
import * as StateAt from "../../src/cli/replay/StateAt.js"
import * as Story from "../../src/cli/replay/Story.js"
import * as Verify from "../../src/cli/replay/Verify.js"
import * as Ids from "../../src/domain/Ids.js"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Disk } from "../../src/journal/Disk.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { SnapshotStore } from "../../src/journal/SnapshotStore.js"
import { complete } from "../engine/commands.js"
import { Driver, parameters, RandomDriver } from "../engine/drive.js"
import { few } from "../Depth.js"
import * as Recorded from "./Recorded.js"
import { line, type Result, run, runAll } from "./Tool.js"

const everything: Story.Bounds = { from: 1, to: Number.MAX_SAFE_INTEGER, limit: 100_000 }

const folder = Recorded.folders()

const verify = (from: string, invariantsEveryBlocks = 1_000) =>
  Effect.gen(function*() {
    const snapshots = yield* SnapshotStore
    const sequences = yield* snapshots.list
    const seen: Array<number> = []
    const report = yield* Verify.verify(yield* Journal, snapshots, sequences, {
      capacity: Recorded.capacity,
      invariantsEveryBlocks,
      progress: (block) => seen.push(block.lastSequence)
    })
    return { report, seen }
  }).pipe(Effect.provide(Recorded.reading(from)))

const withJournal = <A, E>(from: string, use: (journal: Follow.JournalService) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.flatMap(Journal, use).pipe(Effect.provide(Recorded.reading(from))))

/** A recording of commands drawn by seed. */
const drawn = (seed: number, steps: number): Recorded.RecordingEngine => {
  const recording = new Recorded.RecordingEngine()
  const driver = new RandomDriver(seed, recording)
  for (let step = 0; step < steps; step++) driver.step()
  return recording
}

describe("a journal of random commands", () => {
  const recording = drawn(11, 1_500)
  const records = recording.taken.map(({ record }) => record)
  const last = records.length
  let written: Recorded.Written

  beforeAll(async () => {
    written = await Recorded.write(recording, folder())
  })

  it("is proven, with what it holds", async () => {
    const { report, seen } = await Effect.runPromise(verify(written.folder, 100))
    expect(report).toEqual({
      records: last,
      blocks: written.blocks.length,
      epochs: 1,
      firstEpoch: 1,
      lastEpoch: 1,
      firstAtEpochMs: records[0]!.atEpochMs,
      lastAtEpochMs: records.at(-1)!.atEpochMs,
      stateDigest: Verify.digestOf(recording),
      snapshots: [],
      invariantChecks: Math.floor(written.blocks.length / 100) + 1
    })
    expect(seen).toEqual(written.blocks.map((block) => block.lastSequence))
  })

  it("is read over several segments", () => {
    expect(fs.readdirSync(path.join(written.folder, "journal")).length).toBeGreaterThan(2)
  })

  it.each([1, 2, 9, 10, Math.floor(last / 2), last - 1, last])("is at sequence %i what it was", async (sequence) => {
    const lines = await withJournal(written.folder,
      (journal) => StateAt.drawAt(journal, Recorded.capacity, { _tag: "Sequence", sequence }, ({ state }) => Recorded.canonical(state)))
    expect(lines).toEqual(Recorded.canonical(Recorded.stateAt(recording, sequence)))
  })

  it.each([0, 1, 300, last])("is at the time of record %i after the last record of that time", async (index) => {
    const atEpochMs = index === 0 ? records[0]!.atEpochMs - 1 : records[index - 1]!.atEpochMs
    const sequence = await withJournal(written.folder,
      (journal) => StateAt.drawAt(journal, Recorded.capacity, { _tag: "Time", atEpochMs }, (engine) => engine.sequence))
    expect(sequence).toBe(records.filter((record) => record.atEpochMs <= atEpochMs).length)
  })

  it("is drawn with every market, account, position and order in it", async () => {
    const engine = await withJournal(written.folder, (journal) => Recorded.followed(journal, Recorded.capacity))
    const text = StateAt.draw(engine, 10_000)
    for (let account = 0; account < engine.state.accounts.count; account++) {
      expect(text).toContain(engine.accountId(account))
      for (const position of engine.positions(account)) expect(text).toContain(Ids.positionId(position.born))
      for (const order of engine.openOrders(account, anyMarket)) expect(text).toContain(Ids.orderId(order.orderNumber))
    }
    expect(text).toContain("AAA-USDC-PERP")
    expect(text).toContain("BBB-USDC-PERP")
  })

  it("is drawn within a limit of rows", async () => {
    const engine = await withJournal(written.folder, (journal) => Recorded.followed(journal, Recorded.capacity))
    const text = StateAt.draw(engine, 2)
    const { accounts: count } = engine.occupancy
    const accounts = text.slice(text.indexOf(`Accounts: ${count}`), text.indexOf("Positions: "))
    expect(accounts).toContain(engine.accountId(1))
    expect(accounts).not.toContain(engine.accountId(2))
    expect(accounts).toContain(`... and ${count - 2} more (--limit)`)
  })

  it("tells of each order the fills that the engine accounts for", async () => {
    const ended = new Map(recording.events.flatMap((event) => event.event === "OrderEnded" ? [[event.orderNumber, event]] : []))
    const accepted = recording.events.filter((event) => event.event === "OrderAccepted")
    const filledOnes = accepted.filter(({ orderNumber }) => (ended.get(orderNumber)?.filledAtoms ?? 0) > 0)
    expect(filledOnes.length).toBeGreaterThan(10)
    // Each story is a replay of the whole journal.
    const every = few(4, 1)
    for (const { market, orderNumber } of filledOnes.filter((_, at) => at % every === 0)) {
      const story = await withJournal(written.folder, (journal) =>
        Story.tell(journal, Recorded.capacity, { _tag: "Order", orderNumber }, everything))
      const scale = 10 ** recording.market(market).parameters.quantityScale
      const filled = story.lines
        .flatMap(({ text }) => /^filled (\S+) at/.exec(text)?.[1] ?? [])
        .reduce((sum, size) => sum + Math.round(Number(size) * scale), 0)
      expect(filled).toBe(ended.get(orderNumber)!.filledAtoms)
      expect(story.lines[0]!.text).toContain(`${Ids.orderId(orderNumber)} `)
      expect(story.lines[0]!.text).toMatch(/: accepted$/)
      expect(story.lines.filter(({ text }) => text.startsWith(`${Ids.orderId(orderNumber)} ended`))).toHaveLength(1)
    }
  })

  it("keeps a story within its sequences and its limit", async () => {
    const subject = { _tag: "Account", accountId: recording.accountId(0) } as const
    const tell = (bounds: Story.Bounds) => withJournal(written.folder, (journal) => Story.tell(journal, Recorded.capacity, subject, bounds))
    const whole = await tell(everything)
    const part = await tell({ from: 100, to: 400, limit: 100_000 })
    const short = await tell({ ...everything, limit: 7 })
    expect(part.lines).toEqual(whole.lines.filter(({ sequence }) => sequence >= 100 && sequence <= 400))
    expect(short.lines).toEqual(whole.lines.slice(0, 7))
    expect(short.more).toBe(whole.lines.length - 7)
  })

  it.each([
    [{ _tag: "Order", orderNumber: 2 ** 40 }],
    [{ _tag: "Account", accountId: "acc_none" }],
    [{ _tag: "Market", marketId: "NONE-USDC-PERP" }]
  ] as ReadonlyArray<[Story.Subject]>)("knows nothing of %o", async (subject) => {
    const story = await withJournal(written.folder, (journal) => Story.tell(journal, Recorded.capacity, subject, everything))
    expect(story.known).toBe(false)
    expect(story.lines).toEqual([])
  })
})

describe("snapshots", () => {
  const recording = drawn(23, 600)
  const middle = 60

  const written = async () => {
    const { blocks, folder: made } = await Recorded.write(recording, folder())
    return { made, block: blocks[middle]!, state: Recorded.stateAt(recording, blocks[middle]!.lastSequence), blocks }
  }

  it("are proven where they are the state, and lead to the end", async () => {
    const { block, blocks, made, state } = await written()
    await Recorded.saveSnapshot(made, block, state)
    await Recorded.saveSnapshot(made, blocks.at(-1)!, recording.state)
    const { report } = await Effect.runPromise(verify(made))
    expect(report.snapshots.map(({ found, sequence }) => [sequence, found])).toEqual([
      [block.lastSequence, "proven"],
      [recording.sequence, "proven"]
    ])
    expect(report.snapshots[1]!.detail).toBe(report.stateDigest)
  })

  it("of another state are a divergence, at their sequence", async () => {
    const { block, made, state } = await written()
    state.accounts.setCollateral(0, state.accounts.collateral(0) + 1)
    await Recorded.saveSnapshot(made, block, state)
    const differs = await Effect.runPromise(Effect.flip(verify(made)))
    expect(differs._tag).toBe("ReplayDiffers")
    expect(differs.message).toMatch(new RegExp(`^at sequence ${block.lastSequence}: the snapshot holds the state`))
  })

  it("of another journal are told apart", async () => {
    const { block, blocks, made, state } = await written()
    await Recorded.saveSnapshot(made, { lastSequence: block.lastSequence, digest: blocks[0]!.digest }, state)
    const { report } = await Effect.runPromise(verify(made))
    expect(report.snapshots).toEqual([{ sequence: block.lastSequence, found: "foreign", detail: "it names another block" }])
  })

  it("behind the journal's end or within a block are told apart", async () => {
    const { block, blocks, made, state } = await written()
    const broad = blocks.find(({ firstSequence, lastSequence }) => lastSequence - firstSequence === 4)!
    await Recorded.saveSnapshot(made, { lastSequence: broad.firstSequence, digest: block.digest }, state)
    await Recorded.saveSnapshot(made, { lastSequence: recording.sequence + 1, digest: block.digest }, state)
    const { report } = await Effect.runPromise(verify(made))
    expect(report.snapshots.map(({ detail, found }) => [found, detail])).toEqual([
      ["foreign", "no block ends there"],
      ["foreign", "the journal ends before it"]
    ])
  })

  it("with a flipped bit are damaged, and the journal is proven without", async () => {
    const { block, made, state } = await written()
    await Recorded.saveSnapshot(made, block, state)
    const file = path.join(made, "snapshots", fs.readdirSync(path.join(made, "snapshots"))[0]!)
    const bytes = fs.readFileSync(file)
    bytes[bytes.length >> 1]! ^= 4
    fs.writeFileSync(file, bytes)
    const { report } = await Effect.runPromise(verify(made))
    expect(report.snapshots).toEqual([{
      sequence: block.lastSequence,
      found: "damaged",
      detail: "its digest does not match its bytes"
    }])
    expect(report.records).toBe(recording.sequence)
  })
})

describe("a journal that claims another outcome", () => {
  const recording = drawn(5, 200)
  const at = 100

  it("differs at that block, with the commands and what replay decides", async () => {
    const { blocks, folder: made } = await Recorded.write(recording, folder(), { outcomeAt: at })
    const block = blocks.find(({ lastSequence }) => lastSequence >= at)!
    const differs = await Effect.runPromise(Effect.flip(verify(made)))
    expect(differs).toBeInstanceOf(Verify.Differs)
    if (!(differs instanceof Verify.Differs)) return
    expect(differs.sequence).toBe(block.firstSequence)
    for (const { record } of recording.taken.slice(block.firstSequence - 1, block.lastSequence)) {
      expect(differs.decided).toContain(`${record.sequence} ${record.command.kind}`)
    }
  })

  it("is not drawn or told past that block, nor within it", async () => {
    const { blocks, folder: made } = await Recorded.write(recording, folder(), { outcomeAt: at })
    const failure = await withJournal(made, (journal) => Effect.flip(Recorded.followed(journal, Recorded.capacity)))
    expect(failure._tag).toBe("ReplayDiverged")
    const { firstSequence, lastSequence } = blocks.find((block) => block.lastSequence >= at)!
    expect(lastSequence).toBeGreaterThan(firstSequence)
    const tellTo = (to: number) =>
      withJournal(made, (journal) => Effect.either(Story.tell(journal, Recorded.capacity, { _tag: "Everything" }, { ...everything, to })))
    const before = await tellTo(firstSequence - 1)
    expect(Either.isRight(before) && before.right.last).toBe(firstSequence - 1)
    const within = await tellTo(firstSequence)
    expect(Either.isLeft(within) && within.left._tag).toBe("ReplayDiverged")
  })
})

describe("stories", () => {
  /** Two accounts; the second sells into the first's bid twice, then the rest is cancelled. */
  const scene = () => {
    const recording = new Recorded.RecordingEngine()
    const driver = new Driver(recording)
    driver.atEpochMs = 1_700_000_000_000
    driver.market(parameters("AAA"), 1000)
    const maker = driver.account(1_000_000_000)
    const taker = driver.account(1_000_000_000)
    const bid = driver.place(maker, { clientOrderId: "bid" }).orderNumber
    const first = driver.place(taker, { side: Order.sell, quantityAtoms: 250, timeInForce: Order.ioc }).orderNumber
    const second = driver.place(taker, { side: Order.sell, quantityAtoms: 500, reduceOnly: false }).orderNumber
    const refused = driver.place(taker, { side: Order.sell, quantityAtoms: 100, postOnly: true }).orderNumber
    driver.atEpochMs += 1_500
    driver.cancel(maker, bid)
    return { recording, maker, taker, bid, first, second, refused, id: Ids.orderId }
  }

  const told = async (recording: Recorded.RecordingEngine, subject: Story.Subject) => {
    const { folder: made } = await Recorded.write(recording, folder())
    return withJournal(made, (journal) => Story.tell(journal, Recorded.capacity, subject, everything))
  }

  it("of a maker tell its placement, each fill, and its end", async () => {
    const { bid, first, id, maker, recording, second, taker } = scene()
    const [one, other] = [recording.accountId(maker), recording.accountId(taker)]
    const keyId = recording.state.apiKeys.keyId(maker)
    const { known, lines } = await told(recording, { _tag: "Order", orderNumber: bid })
    expect(known).toBe(true)
    expect(lines.map(({ text }) => text)).toEqual([
      `${id(bid)} limit buy 1.000 AAA-USDC-PERP at 100.0 GTC as bid, `
      + `placed by ${one} with ${keyId} (placeBatchV1, idempotency key key-6): accepted`,
      `${id(bid)} rests with 1.000`,
      `filled 0.250 at 100.0 for 25.000000 as maker, fee 0.005000, by ${id(first)} of ${other}`,
      `filled 0.500 at 100.0 for 50.000000 as maker, fee 0.010000, by ${id(second)} of ${other}`,
      `cancel of ${id(bid)} asked by ${one} with ${keyId} (cancelV1, idempotency key key-10): it is canceled, 0.250 cancelled in all`,
      `${id(bid)} ended canceled (user): 0.750 filled, 0.250 cancelled`
    ])
    expect(lines.at(-1)!.atEpochMs).toBe(1_700_000_001_500)
  })

  it("of a taker tell the fill from its side", async () => {
    const { bid, first, id, maker, recording } = scene()
    const { lines } = await told(recording, { _tag: "Order", orderNumber: first })
    expect(lines.map(({ text }) => text).slice(1)).toEqual([
      `filled 0.250 at 100.0 for 25.000000 as taker, fee 0.012500, from ${id(bid)} of ${recording.accountId(maker)}`,
      `${id(first)} ended closed: 0.250 filled, 0.000 cancelled`
    ])
  })

  it("of a refused attempt tell why", async () => {
    const { recording, refused } = scene()
    const { known, lines } = await told(recording, { _tag: "Order", orderNumber: refused })
    expect(known).toBe(true)
    expect(lines).toHaveLength(1)
    expect(lines[0]!.text).toMatch(/post-only, placed by .*: refused: PostOnlyWouldCross/)
  })

  it("of an account tell its money and positions", async () => {
    const { maker, recording } = scene()
    const { lines } = await told(recording, { _tag: "Account", accountId: recording.accountId(maker) })
    const account = recording.accountId(maker)
    const texts = lines.map(({ text }) => text)
    expect(texts.slice(0, 2)).toEqual([`${account} opened`, `${account} credited 1000.000000`])
    expect(texts).toContain(`${account} position 0.750 AAA-USDC-PERP, entry notional 75.000000, realised 0.000000, fees 0.015000`)
    expect(texts).toContain(`${account} collateral 999.985000`)
  })

  it("of a market tell its life, without the feed's samples", async () => {
    const { recording } = scene()
    const { feedSamples, lines } = await told(recording, { _tag: "Market", marketId: "AAA-USDC-PERP" })
    expect(feedSamples).toBe(1)
    expect(lines.slice(0, 3).map(({ text }) => text)).toEqual([
      "AAA-USDC-PERP created",
      "AAA-USDC-PERP is backfilling",
      "AAA-USDC-PERP is open"
    ])
    expect(lines.filter(({ text }) => / sold .* maker /.test(text))).toHaveLength(2)
  })

  it("tell what an account asked of its open orders, by whom and what it came to, also where nothing was done", async () => {
    const { id, maker, recording, taker } = scene()
    const driver = new Driver(recording)
    driver.atEpochMs = recording.atEpochMs
    const [one, other] = [recording.accountId(maker), recording.accountId(taker)]
    const [keyId, otherKeyId] = [recording.state.apiKeys.keyId(maker), recording.state.apiKeys.keyId(taker)]
    const { orderNumber } = driver.place(maker, { priceAtoms: 980, quantityAtoms: 500 })
    const amend = (idempotencyKey: string, account: number, credential: number, priceAtoms: number, quantityAtoms = 400) =>
      driver.send({
        kind: "AmendOrder",
        account,
        credential,
        idempotencyKey,
        market: 0,
        orderNumber,
        priceAtoms,
        quantityAtoms,
        fault: 0,
        raw: ""
      })
    amend("first", maker, maker, 0)
    amend("by-key", maker, maker, 970)
    amend("refused", maker, maker, 100_001)
    amend("too much", maker, maker, 0, 10_000_000)
    amend("foreign", taker, taker, 960)
    driver.send({ kind: "SetCancelAllAfter", account: maker, idempotencyKey: "switch", timeoutMs: 5_000 })
    driver.send({ kind: "CancelAllOrders", account: maker, idempotencyKey: "all", market: -2, raw: "" })
    const { lines } = await told(recording, { _tag: "Account", accountId: one })
    const asked = lines.map(({ text }) => text).filter((text) => / asked by /.test(text)).slice(1)
    const terms = (price: string) => `amendment (market AAA-USDC-PERP, orderNumber ${id(orderNumber)}, ${price}quantity 0.400)`
    expect(asked).toEqual([
      `${terms("")} asked by ${one} with ${keyId} (amendV1, idempotency key first): done`,
      `${terms("price 97.0, ")} asked by ${one} with ${keyId} (amendV1, idempotency key by-key): done`,
      `${terms("price 10000.1, ")} asked by ${one} with ${keyId} (amendV1, idempotency key refused): `
      + "refused: PriceOutOfBounds (limit 10000.0, actual 10000.1, nearest 110.0). The price is outside the market's bounds.",
      expect.stringMatching(
        new RegExp(
          `^amendment \\(market AAA-USDC-PERP, orderNumber ${id(orderNumber)}, quantity 10000\\.000\\) asked by .* refused: Quantity`
        )
      ),
      `${
        terms("price 96.0, ")
      } asked by ${other} with ${otherKeyId} (amendV1, idempotency key foreign): refused: OrderNotFound. There is no such open order.`,
      `dead-man switch (timeout 5000 ms) asked by ${one} with ${keyId} (cancelAllAfterV1, idempotency key switch): done`,
      `cancel of all orders (market all) asked by ${one} with ${keyId} (cancelAllV1, idempotency key all): done`
    ])
    // Each change is listed after the command that requested it.
    expect(lines.map(({ text }) => text)).toContain(`${id(orderNumber)} changed to 0.400 at 97.0, 0.400 left`)
  })

  it("draw the book as a person would", async () => {
    const { maker, recording } = scene()
    const driver = new Driver(recording)
    driver.atEpochMs = recording.atEpochMs
    const rest = (idempotencyKey: string, side: Order.Side, priceAtoms: number, quantityAtoms: number) =>
      driver.run(complete({ ...driver.placement(maker, { side, priceAtoms, quantityAtoms }), idempotencyKey }))
    rest("rest-1", Order.buy, 990, 500)
    rest("rest-2", Order.buy, 990, 500)
    rest("rest-3", Order.buy, 980, 250)
    rest("rest-4", Order.sell, 1010, 2_000)
    expect(StateAt.drawBook(recording, recording.market(0)).split("\n").slice(1)).toEqual([
      "┌───────┬───────┬────────┬──────────────────────────┐",
      "│ price │  size │ orders │                          │",
      "├───────┼───────┼────────┼──────────────────────────┤",
      "│ 101.0 │ 2.000 │      1 │ ######################## │",
      "│   --- │   --- │    --- │ spread 2.0               │",
      "│  99.0 │ 1.000 │      2 │ ############             │",
      "│  98.0 │ 0.250 │      1 │ ###                      │",
      "└───────┴───────┴────────┴──────────────────────────┘"
    ])
  })
})

describe("moments", () => {
  it.each([
    ["1", { _tag: "Sequence", sequence: 1 }],
    ["9999999999", { _tag: "Sequence", sequence: 9_999_999_999 }],
    ["1700000000000", { _tag: "Time", atEpochMs: 1_700_000_000_000 }],
    ["2023-11-14T22:13:20.000Z", { _tag: "Time", atEpochMs: 1_700_000_000_000 }],
    ["2023-11-14", { _tag: "Time", atEpochMs: 1_699_920_000_000 }],
    ["0", undefined],
    ["-1", undefined],
    ["1.5", undefined],
    ["yesterday", undefined],
    ["2023-11-31", undefined],
    ["", undefined]
  ])("%s", (text, moment) => {
    expect(Option.getOrUndefined(Either.getRight(StateAt.parseMoment(text)))).toEqual(moment)
  })
})

describe("the command", () => {
  const program = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../tools/replay.js")

  const replay = (...args: ReadonlyArray<string>) => run(program, args)

  const recording = drawn(31, 300)
  let made: string

  beforeAll(async () => {
    made = (await Recorded.write(recording, folder())).folder
  })

  const contents = (root: string): ReadonlyArray<readonly [string, string]> =>
    fs.readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.startsWith(SegmentJournal.lockPath))
      .map((entry) => path.join(entry.parentPath, entry.name))
      .sort()
      .map((file) => [file, fs.readFileSync(file).toString("base64")] as const)

  it("verifies beside a holder of the lock, and writes nothing", async () => {
    const before = contents(made)
    const result = await Effect.runPromise(
      Effect.scoped(Effect.gen(function*() {
        yield* Effect.flatMap(Disk, (disk) => disk.lock(SegmentJournal.lockPath))
        return yield* Effect.promise(() => replay("--data", made, "--verify"))
      })).pipe(Effect.provide(NodeDisk.layer(made)))
    )
    expect(result.stderr).toBe("")
    expect(result.code).toBe(0)
    expect(result.stdout).toContain(Verify.digestOf(recording))
    expect(contents(made)).toEqual(before)
  })

  it("draws and tells", async () => {
    const account = recording.accountId(1)
    const [at, story] = await runAll([
      line(program, ["--data", made, "--at", String(recording.sequence)]),
      line(program, ["--data", made, "--account", account, "--limit", "3"])
    ])
    expect([at!.code, story!.code]).toEqual([0, 0])
    expect(at!.stdout).toContain(`Sequence ${recording.sequence}, `)
    expect(story!.stdout.split("\n")[0]).toMatch(new RegExp(`^\\d{4}-\\d{2}-\\d{2}T\\S+Z +\\d+  ${account} opened$`))
    expect(story!.stdout).toContain("more lines")
  })

  it("ends with 1 where replay differs", async () => {
    const { folder: lied } = await Recorded.write(recording, folder(), { outcomeAt: 50 })
    const [verified, drawnAt] = await runAll([["--verify"], ["--at", "100"]].map((words) => line(program, ["--data", lied, ...words])))
    expect([verified!.code, drawnAt!.code]).toEqual([1, 1])
    expect(verified!.stderr).toContain("diverged: at sequence")
  })

  it("calls no journal whole whose end is missing, but one with a snapshot that a venue passes over", async () => {
    const { folder: short } = await Recorded.write(recording, folder())
    const snapshots = path.join(short, "snapshots")
    const verified = async (sequence: number): Promise<Result> => {
      fs.rmSync(snapshots, { recursive: true, force: true })
      fs.mkdirSync(snapshots)
      fs.writeFileSync(path.join(snapshots, `${String(sequence).padStart(20, "0")}.snap`), "no snapshot")
      return (await runAll([line(program, ["--data", short, "--verify"])]))[0]!
    }
    const passedOver = await verified(recording.sequence)
    expect([passedOver.code, passedOver.stderr]).toEqual([2,
      "the journal is whole; a venue passes over the snapshots that are not proven\n"])
    const incomplete = await verified(recording.sequence + 7)
    expect(incomplete.code).toBe(2)
    expect(incomplete.stderr).toContain(
      `incomplete: the journal ends at sequence ${recording.sequence}, and a file in snapshots/ is named like a snapshot of sequence `
        + `${recording.sequence + 7}`
    )
    expect(incomplete.stderr).not.toContain("whole")
  })

  it("ends with 2 where the journal is damaged, and names the way on", async () => {
    const { folder: damaged } = await Recorded.write(recording, folder())
    const file = path.join(damaged, "journal", fs.readdirSync(path.join(damaged, "journal")).sort()[0]!)
    const bytes = fs.readFileSync(file)
    bytes[2_000]! ^= 1
    fs.writeFileSync(file, bytes)
    const result = await replay("--data", damaged, "--verify")
    expect(result.code).toBe(2)
    expect(result.stderr).toMatch(/corrupt: journal\/\S+ is corrupt at offset \d+ \(sequence \d+\)/)
    expect(result.stderr).toMatch(/journal cut --at \d+/)
  })

  it("ends with 3 where it cannot tell what is asked", async () => {
    const nowhere = path.join(made, "nowhere")
    const wrong: ReadonlyArray<ReadonlyArray<string>> = [
      ["--data", nowhere, "--verify"],
      ["--data", made],
      ["--data", made, "--verify", "--at", "3"],
      ["--data", made, "--at", "soon"],
      ["--data", made, "--at", String(recording.sequence + 1)],
      ["--data", made, "--order", "ord_zzzzzz"],
      ["--data", made, "--verify", "--limit", "0"],
      ["--bogus"]
    ]
    const results = await runAll(wrong.map((args) => line(program, args)))
    expect(results.filter(({ code }) => code !== 3)).toEqual([])
    expect(fs.existsSync(nowhere)).toBe(false)
  })
})
