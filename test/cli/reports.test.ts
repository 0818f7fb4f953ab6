/** The reports of replay: orders by any of their names, the reason for a refusal, statements that add up, and each report as JSON. */
import { ConfigProvider, type Console, Effect, Either, Option } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { beforeAll, describe, expect, it } from "vitest"
import * as Journals from "../../scripts/fixtures/Journals.js"
import * as Bundle from "../../src/cli/bundle/Bundle.js"
import * as Collect from "../../src/cli/bundle/Collect.js"
import * as Source from "../../src/cli/bundle/Source.js"
import { settle } from "../../src/cli/Exit.js"
import * as Lookup from "../../src/cli/replay/Lookup.js"
import { options, type Parsed } from "../../src/cli/replay/Options.js"
import { replay } from "../../src/cli/replay/Replaying.js"
import * as StateAt from "../../src/cli/replay/StateAt.js"
import * as StateJson from "../../src/cli/replay/StateJson.js"
import * as Statement from "../../src/cli/replay/Statement.js"
import * as Story from "../../src/cli/replay/Story.js"
import * as Stretch from "../../src/cli/replay/Stretch.js"
import * as BundleTask from "../../src/cli/venue/BundleTask.js"
import * as Follow from "../../src/cli/replay/Follow.js"
import * as Ids from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import type { Engine } from "../../src/engine/Engine.js"
import { Journal } from "../../src/journal/Journal.js"
import { Driver, parameters } from "../engine/drive.js"
import { FundsDriver } from "../engine/FundsDriver.js"
import * as Recorded from "./Recorded.js"
import { ruined, ruinedBeyondPrices } from "./Ruined.js"

const folder = Recorded.folders()

const usdc = (amount: number): number => amount * 1_000_000

/** A kept journal, where a venue would have it. */
const golden = (name: string): string => {
  const root = folder()
  const kept = path.join("fixtures/journals/rules-6", name)
  fs.mkdirSync(path.join(root, "journal"))
  for (const segment of fs.readdirSync(kept).filter((each) => each.endsWith(".seg"))) {
    fs.writeFileSync(path.join(root, "journal", segment), Journals.padded(fs.readFileSync(path.join(kept, segment))))
  }
  return root
}

const withJournal = <A, E>(from: string, use: (journal: Follow.JournalService) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.flatMap(Journal, use).pipe(Effect.provide(Recorded.reading(from))))

const none: Parsed = {
  data: Option.none(),
  bundle: Option.none(),
  diff: false,
  snapshot: Option.none(),
  verify: false,
  at: Option.none(),
  order: Option.none(),
  request: Option.none(),
  account: Option.none(),
  market: Option.none(),
  deposit: Option.none(),
  statement: Option.none(),
  format: "csv",
  from: Option.none(),
  to: Option.none(),
  why: false,
  json: false,
  limit: 200,
  invariantsEvery: 10_000
}

/** What a command line has beside its data directory. */
type More = Partial<Omit<Parsed, "data">>

/** The output and exit code of a command line. */
const asked = async ({ data, ...parsed }: More & { readonly data?: string }) => {
  const [out, err]: [Array<string>, Array<string>] = [[], []]
  const console: Console.Console = {
    ...Effect.runSync(Effect.console),
    log: (...words) => Effect.sync(() => out.push(words.join(" "))),
    error: (...words) => Effect.sync(() => err.push(words.join(" ")))
  }
  const settings = ConfigProvider.fromMap(new Map([["ORDER_CAPACITY", "10000"], ["IDEMPOTENCY_CAPACITY", "10000"]]))
  const code = await Effect.runPromise(
    settle(replay({ ...none, ...parsed, data: Option.fromNullable(data) })).pipe(Effect.withConsole(console),
      Effect.withConfigProvider(settings))
  )
  return { code, out: out.join("\n"), err: err.join("\n") }
}

/**
 * Two accounts that both use the name `bid` for an order; the first uses it a second time, places a batch under the key `batch`, and sends
 * an order that it cannot pay for.
 */
const scene = () => {
  const recording = new Recorded.RecordingEngine()
  const driver = new Driver(recording)
  driver.market(parameters("AAA"), 1000)
  driver.market(parameters("BBB"), 1000)
  const [maker, taker] = [driver.account(usdc(200)), driver.account(usdc(200))]
  const first = driver.place(maker, { clientOrderId: "bid" }).orderNumber
  const second = driver.place(taker, { clientOrderId: "bid", priceAtoms: 990 }).orderNumber
  const other = driver.place(taker, { clientOrderId: "only", priceAtoms: 980, market: 1 }).orderNumber
  driver.run({ ...driver.placement(maker, { priceAtoms: 970 }, { priceAtoms: 960 }), idempotencyKey: "batch" })
  const batch = [0, 1].map((index) => Ids.ordinal(recording.sequence, index))
  driver.send({ kind: "CancelAllOrders", account: taker, idempotencyKey: "all", market: 1, raw: "" })
  const poor = driver.place(maker, { side: Order.sell, priceAtoms: 1_050, quantityAtoms: 100_000 }).orderNumber
  const refusedAt = recording.sequence
  driver.place(taker, { side: Order.sell, quantityAtoms: 400, timeInForce: Order.ioc })
  driver.cancel(maker, first)
  return { recording, maker, taker, first, second, other, batch, poor, refusedAt }
}

describe("an order by any of its names", () => {
  const { batch, first, maker, other, recording, refusedAt, second, taker, poor } = scene()
  const [one, another] = [recording.accountId(maker), recording.accountId(taker)]
  let made: string

  beforeAll(async () => {
    made = (await Recorded.write(recording, folder())).folder
  })

  const named = (text: string, accountId?: string) =>
    withJournal(made, (journal) =>
      Lookup.find(journal, Recorded.capacity, text, accountId).pipe(
        Effect.catchTags({ Ended: ({ text: told }) => Effect.succeed(told), Unfound: ({ message }) => Effect.succeed(message) })
      ))

  it("is found by its id, its clientOrderId, and the keys of what placed and cancelled it", async () => {
    expect(await named(Ids.orderId(first))).toEqual({ orderNumbers: [first], accountId: one, by: "order id" })
    expect(await named(Ids.orderId(poor))).toMatchObject({ orderNumbers: [poor], accountId: one })
    expect(await named("only")).toEqual({ orderNumbers: [other], accountId: another, by: "name" })
    expect(await named("bid", one)).toMatchObject({ orderNumbers: [first], accountId: one })
    expect(await named("bid", another)).toMatchObject({ orderNumbers: [second], accountId: another })
    expect(await named("batch")).toMatchObject({ orderNumbers: batch })
    const { command } = recording.taken.at(-1)!.record
    expect(await named(command.idempotencyKey)).toMatchObject({ orderNumbers: [first] })
  })

  it("is found in a bundle that begins behind its placement", async () => {
    const { blocks, folder: kept } = await Recorded.write(recording, folder())
    const block = blocks.find(({ lastSequence }) => lastSequence > Math.floor(batch[1]! / Ids.idsPerRecord) && lastSequence < refusedAt)!
    await Recorded.saveSnapshot(kept, block, Recorded.stateAt(recording, block.lastSequence))
    const range = { from: block.lastSequence + 1, to: recording.sequence }
    const contents = await Effect.runPromise(Collect.collect(range, Recorded.capacity).pipe(Effect.provide(Recorded.reading(kept))))
    const source = Source.make(Bundle.read(Bundle.write(contents)))
    const found = (text: string) => Effect.runPromise(Lookup.find(source, Recorded.capacity, text, one))
    expect(contents.base!.sequence).toBe(block.lastSequence)
    expect(await found(Ids.orderId(first))).toMatchObject({ orderNumbers: [first], by: "order id" })
    expect(await found("bid")).toMatchObject({ orderNumbers: [first], by: "name" })
    expect(await found("batch")).toMatchObject({ orderNumbers: batch })
  })

  it("is asked for again where the name is ambiguous, another's, or no order's", async () => {
    expect(await named("bid")).toBe(`bid is ambiguous: it names orders of ${one}, ${another}; say whose with --account`)
    expect(await named("only", one)).toBe(`the journal knows no order only of ${one}: no order id, clientOrderId or Idempotency-Key`)
    expect(await named(Ids.orderId(first), another)).toBe(`${Ids.orderId(first)} is an order of ${one}, and not of ${another}`)
    expect(await named("all")).toMatch(
      /^all is the Idempotency-Key of a command that names no order \(cancel of all orders\), in record \d+: --account/
    )
    expect(await named("ord_zzzzzz")).toContain("the journal knows no order ord_zzzzzz")
  })

  it("tells the lives of all that a name stands for, each line of which", async () => {
    const { code, out } = await asked({ data: made, order: Option.some("batch") })
    expect(code).toBe(0)
    const lines = out.split("\n")
    expect(lines[0]).toBe(`(batch of ${one} names ${batch.map(Ids.orderId).join(", ")})`)
    for (const orderNumber of batch) expect(lines.filter((line) => line.includes(Ids.orderId(orderNumber))).length).toBeGreaterThan(1)
  })

  it("tells the record of a request, and says of an id that names none what that means", async () => {
    const drawn = `req_${"0123456789ab".repeat(2)}`
    const { code, out } = await asked({ data: made, request: Option.some(Ids.requestId(drawn, refusedAt)), why: true })
    expect(code).toBe(0)
    expect(out).toContain(`${Ids.orderId(poor)} limit sell 100.000 AAA-USDC-PERP at 105.0`)
    expect(out).toContain(`right before it (after record ${refusedAt - 1})`)
    const market = await asked({ data: made, request: Option.some(Ids.requestId(drawn, 1)), json: true })
    expect(JSON.parse(market.out)).toMatchObject({ report: "request", lines: [{ sequence: 1 }] })
    const others = await Promise.all(
      [drawn, Ids.requestId(drawn, recording.sequence + 1), "req_1", `${drawn}_0`].map((id) =>
        asked({ data: made, request: Option.some(id) })
      )
    )
    expect(others.map((each) => each.code)).toEqual([3, 3, 3, 3])
    expect(others[0]!.err).toContain("names no record")
  })

  it("shows what a refusal was decided from, exactly as it was right before it", async () => {
    const story = await withJournal(made,
      (journal) => Story.tell(journal, Recorded.capacity, { _tag: "Order", orderNumber: poor }, { ...Stretch.whole, limit: 10, why: true }))
    const before = await withJournal(made,
      (journal) =>
        StateAt.drawAt(journal, Recorded.capacity, { _tag: "Sequence", sequence: refusedAt - 1 }, (engine) =>
          StateJson.report(engine, 10, { account: maker, market: 0 })))
    const [reason, ...others] = story.lines.flatMap(({ why = [] }) => why)
    expect(others).toEqual([])
    const report = before as {
      readonly accounts: { readonly shown: ReadonlyArray<{ readonly [name: string]: unknown }> }
      readonly markets: ReadonlyArray<
        { readonly bids: ReadonlyArray<{ readonly price: string; readonly size: string }>; readonly mark: string }
      >
    }
    const [account] = report.accounts.shown
    const [market] = report.markets
    expect(reason).toMatchObject({
      sequence: refusedAt - 1,
      refusal: "MarginInsufficient",
      isHalted: false,
      account: {
        accountId: one,
        equity: account!["equity"],
        collateral: account!["collateral"],
        initialMargin: account!["initialMargin"],
        maintenanceMargin: account!["maintenanceMargin"],
        available: account!["available"],
        openOrders: { inMarket: 3, inAll: 3 }
      },
      market: { marketId: "AAA-USDC-PERP", mark: market!.mark, band: { low: "90.0", high: "110.0" } }
    })
    expect(reason!.market!.bids).toEqual(market!.bids.map(({ price, size }) => [price, size]))
    expect(Number(reason!.margin!.needed)).toBeGreaterThan(Number(reason!.margin!.there))
    // Without these options the report contains nothing more.
    const plain = await withJournal(made,
      (journal) => Story.tell(journal, Recorded.capacity, { _tag: "Order", orderNumber: poor }, { ...Stretch.whole, limit: 10 }))
    expect(plain.lines.flatMap(({ why = [] }) => why)).toEqual([])
  })

  it("narrows a state to an account, to a market, or to both", async () => {
    const at = Option.some(String(refusedAt))
    const value = async (more: More) => JSON.parse((await asked({ data: made, at, json: true, ...more })).out)
    const [account, market] = [{ account: Option.some(another) }, { market: Option.some("BBB-USDC-PERP") }]
    const [whole, own, there, both] = [await value({}), await value(account), await value(market), await value({ ...account, ...market })]
    const accountsOf = (
      report: { readonly openOrders: { readonly shown: ReadonlyArray<{ readonly accountId: string }> } }
    ) => [...new Set(report.openOrders.shown.map(({ accountId }) => accountId))]
    expect([whole.accounts.count, own.accounts.count]).toEqual([recording.state.accounts.count, 1])
    expect(accountsOf(whole)).toEqual([one, another])
    expect(accountsOf(own)).toEqual([another])
    expect(there.markets.map(({ marketId }: { readonly marketId: string }) => marketId)).toEqual(["BBB-USDC-PERP"])
    expect(both.openOrders.count).toBe(0)
    const drawn = await asked({ data: made, at, ...account })
    expect(drawn.out).toContain("Accounts: 1\n")
    expect(drawn.out).not.toContain("book of sequence")
    expect((await asked({ data: made, at, account: Option.some("acc_none") })).code).toBe(3)
  })
})

describe("an order that the venue sent itself", () => {
  const { paying, recording, stopped, taken } = ruined()
  let made: string

  beforeAll(async () => {
    made = (await Recorded.write(recording, folder())).folder
  })

  /** The order that the first event of a kind names, which an account's fills and statements name too. */
  const sentBy = (name: "TriggerFired" | "LiquidationOrdered" | "FundUnwound"): number =>
    recording.events.flatMap((event) => event.event === name ? [event.orderNumber] : [])[0]!

  const cases = [
    ["for a trigger", sentBy("TriggerFired"), recording.accountId(stopped), "fired its stop-loss at 95.5 for 10.000, by ",
      "filled 10.000 at 95.0"],
    ["in a liquidation", sentBy("LiquidationOrdered"), recording.accountId(paying), "has 40.000 AAA-USDC-PERP liquidated by ",
      "filled 40.000 at 90.0"],
    ["for the insurance fund", sentBy("FundUnwound"), Ids.insuranceFundId, "the insurance fund unwinds 1.192 AAA-USDC-PERP with ",
      "filled 0.300 at 80.4"]
  ] as const

  it.each(cases)("%s is found by its id, with what it was sent for and each of its fills",
    async (_, orderNumber, accountId, sent, filled) => {
      const id = Ids.orderId(orderNumber)
      const find = (of?: string) => withJournal(made, (journal) => Effect.either(Lookup.find(journal, Recorded.capacity, id, of)))
      expect(await find()).toEqual(Either.right({ orderNumbers: [orderNumber], accountId, by: "order id" }))
      expect(await find(accountId)).toMatchObject({ _tag: "Right" })
      expect(await find(recording.accountId(taken))).toMatchObject({
        _tag: "Left",
        left: { text: `${id} is an order of ${accountId}, and not of ${recording.accountId(taken)}` }
      })
      const { code, out } = await asked({ data: made, order: Option.some(id) })
      expect(code).toBe(0)
      const [first, second, ...more] = out.split("\n")
      expect(first).toContain(sent + id)
      expect(second).toContain(`${filled} for `)
      expect(second).toContain("as taker")
      expect(more).toEqual([])
      // It is known, whatever the range.
      const later = await asked({ data: made, order: Option.some(id), from: Option.some(String(recording.sequence)) })
      expect([later.code, later.out]).toEqual([0, "nothing in these sequences"])
    })

  it("makes a bundle of its record", async () => {
    for (const [what, orderNumber] of cases) {
      const file = path.join(folder(), what)
      const range = { order: Ids.orderId(orderNumber), accountId: undefined }
      await Effect.runPromise(
        BundleTask.make({ file, range, redact: undefined, capacity: Recorded.capacity }).pipe(Effect.provide(Recorded.reading(made)))
      )
      const sequence = Ids.sequenceOf(orderNumber)
      expect(Bundle.read(fs.readFileSync(file)).manifest.asked).toEqual({ from: sequence, to: sequence })
    }
  })

  it("is no other order of its record's numbers", async () => {
    const absent = Ids.orderId(sentBy("LiquidationOrdered") + 1)
    expect((await asked({ data: made, order: Option.some(absent) })).err).toContain(`the journal knows no order ${absent}`)
  })
})

/** Options that only narrow or shape a report; each of the others makes one. */
const shaping: ReadonlySet<string> = new Set(["data", "bundle", "snapshot", "format", "from", "to", "why", "json", "limit",
  "invariantsEvery"])

it("every report is one JSON object", async () => {
  const { first, maker, recording } = scene()
  const funds = new FundsDriver({}, recording)
  funds.atEpochMs = recording.atEpochMs
  const owner = funds.owner()
  const deposit = funds.deposit(owner, usdc(5))
  const { blocks, folder: made } = await Recorded.write(recording, folder())
  await Recorded.saveSnapshot(made, blocks.at(-1)!, recording.state)
  const accountId = recording.accountId(maker)
  const reports: Readonly<Record<string, readonly [More, string]>> = {
    verify: [{ verify: true }, "verify"],
    diff: [{ diff: true }, "diff"],
    at: [{ at: Option.some("7") }, "state"],
    order: [{ order: Option.some(Ids.orderId(first)), why: true }, "order"],
    request: [{ request: Option.some(Ids.requestId(`req_${"0".repeat(24)}`, 3)) }, "request"],
    account: [{ account: Option.some(accountId), why: true }, "account"],
    market: [{ market: Option.some("AAA-USDC-PERP") }, "market"],
    deposit: [{ deposit: Option.some(Ids.depositId(deposit)) }, "transfer"],
    statement: [{ statement: Option.some(accountId) }, "statement"]
  }
  expect(Object.keys(reports).sort()).toEqual(Object.keys(options).filter((name) => !shaping.has(name)).sort())
  for (const [name, [parsed, report]] of Object.entries(reports)) {
    const { code, err, out } = await asked({ data: made, json: true, ...parsed })
    expect([name, code, err]).toEqual([name, 0, ""])
    expect(out.split("\n")).toHaveLength(1)
    expect(JSON.parse(out)).toMatchObject({ report })
  }
  const { folder: lied } = await Recorded.write(recording, folder(), { outcomeAt: 5 })
  const differs = await asked({ data: lied, json: true, verify: true })
  expect(differs.code).toBe(1)
  expect(JSON.parse(differs.out)).toMatchObject({ report: "verify", holds: false })
})

it("a range that begins behind the last record is refused, and one of a time without records is not", async () => {
  const { first, maker, recording } = scene()
  const { folder: made } = await Recorded.write(recording, folder())
  const account = Option.some(recording.accountId(maker))
  const parts: ReadonlyArray<More> = [
    { account },
    { market: Option.some("AAA-USDC-PERP") },
    { order: Option.some(Ids.orderId(first)) },
    { statement: account }
  ]
  for (const parsed of parts) {
    const from = (moment: number | string) => asked({ data: made, ...parsed, from: Option.some(String(moment)) })
    const { code, err } = await from(recording.sequence + 1)
    expect([code, err]).toEqual([3, `the journal ends at sequence ${recording.sequence}`])
    expect((await from(recording.sequence)).code).toBe(0)
    expect((await from("2099-01-01")).code).toBe(0)
  }
})

/** A bundle that begins with a state, ten seconds after which its first record was decided. */
const bundleBehind = async () => {
  const recording = new Recorded.RecordingEngine()
  const driver = new Driver(recording)
  driver.market(parameters("AAA"), 1000)
  const account = driver.account(usdc(200))
  const { orderNumber } = driver.place(account, { clientOrderId: "bid", priceAtoms: 990 })
  const endsABlock = async () => (await Recorded.write(recording, folder())).blocks.at(-1)!.lastSequence % 15 === 0
  while (!await endsABlock()) driver.place(account, { priceAtoms: 980 })
  const { sequence } = recording
  const endedAt = driver.atEpochMs
  driver.atEpochMs += 10_000
  driver.price(0, 1000)
  driver.place(account, { priceAtoms: 970 })
  const { blocks, folder: made } = await Recorded.write(recording, folder())
  const state = Recorded.stateAt(recording, sequence)
  await Recorded.saveSnapshot(made, blocks.find(({ lastSequence }) => lastSequence === sequence)!, state)
  const collecting = Collect.collect({ from: sequence + 1, to: recording.sequence }, Recorded.capacity)
  const file = path.join(made, "later.bundle")
  fs.writeFileSync(file, Bundle.write(await Effect.runPromise(Effect.provide(collecting, Recorded.reading(made)))))
  return {
    file,
    recording,
    accountId: recording.accountId(account),
    openingAtoms: String(state.accounts.collateral(account)),
    orderId: Ids.orderId(orderNumber),
    /** The last record before it, and its time. */
    sequence,
    endedAt,
    begunAt: driver.atEpochMs
  }
}

describe("what is before a bundle that begins with a state", () => {
  let behind: Awaited<ReturnType<typeof bundleBehind>>
  beforeAll(async () => {
    behind = await bundleBehind()
  })
  const askedOf = (parsed: More) => asked({ bundle: Option.some(behind.file), ...parsed })
  const moment = (value: number) => Option.some(String(value))
  const begins = () => `what is replayed begins behind sequence ${behind.sequence}`

  it("is refused where a range asks for it, and not told as what the bundle begins with", async () => {
    const { accountId, begunAt, endedAt, orderId, sequence } = behind
    const account = Option.some(accountId)
    const subjects: ReadonlyArray<More> = [
      { account },
      { market: Option.some("AAA-USDC-PERP") },
      { order: Option.some(orderId) },
      { order: Option.some("bid") },
      { statement: account }
    ]
    const ranges: ReadonlyArray<More> = [
      { to: moment(sequence) },
      { to: moment(endedAt) },
      { from: moment(1) },
      { from: moment(sequence) },
      { from: moment(endedAt) },
      { from: moment(endedAt), to: moment(begunAt) }
    ]
    // Of the time between the last record before it and its own first one, what it begins with is the truth.
    const told: ReadonlyArray<More> = [{}, { from: moment(sequence + 1) }, { from: moment(endedAt + 1), to: moment(begunAt) }]
    for (const subject of subjects) {
      for (const range of ranges) expect(await askedOf({ ...subject, ...range })).toEqual({ code: 3, err: begins(), out: "" })
      for (const range of told)
        expect([subject, range, await askedOf({ ...subject, ...range })]).toMatchObject([subject, range, { code: 0 }])
    }
  })

  it("is noted by a statement without a beginning, also of a time without records", async () => {
    const { accountId, begunAt, openingAtoms, sequence } = behind
    const opening = async (parsed: More) => {
      const { err, out } = await askedOf({ statement: Option.some(accountId), json: true, ...parsed })
      return [err, JSON.parse(out).openingAtoms]
    }
    const noted = `what happened up to sequence ${sequence} is not replayed here: the opening balance is the one behind it`
    for (const parsed of [{}, { to: moment(begunAt) }]) expect(await opening(parsed)).toEqual([noted, openingAtoms])
    expect(await opening({ from: moment(sequence + 1) })).toEqual(["", openingAtoms])
  })

  it("has no state, which the time up to the first record has", async () => {
    const { begunAt, endedAt, sequence } = behind
    for (const at of [sequence - 1, endedAt - 1]) expect(await askedOf({ at: moment(at) })).toEqual({ code: 3, err: begins(), out: "" })
    for (const at of [sequence, endedAt, begunAt - 1]) {
      expect(JSON.parse((await askedOf({ at: moment(at), json: true })).out)).toMatchObject({ sequence })
    }
  })

  it("may have an order or a transfer that nothing knows any more", async () => {
    const { recording } = behind
    const unknown = async (name: string) => {
      const { code, err } = await askedOf({ order: Option.some(name) })
      expect(code).toBe(3)
      return err.replace(`the journal knows no order ${name}: no order id, clientOrderId or Idempotency-Key`, "")
    }
    expect(await unknown(Ids.orderId(Ids.ordinal(1, 0)))).toBe(`; ${begins()}`)
    expect(await unknown("ask")).toBe(`; ${begins()}`)
    expect(await unknown(Ids.orderId(Ids.ordinal(recording.sequence + 1, 0)))).toBe("")
    const transfer = async (sequence: number) => (await askedOf({ deposit: Option.some(Ids.depositId(Ids.ordinal(sequence, 0))) })).err
    expect(await transfer(1)).toBe(begins())
    expect(await transfer(recording.sequence)).toContain("the journal knows no transfer")
  })
})

it("a bundle is replayed in place of a data directory, and not beside one", async () => {
  const both = await asked({ data: folder(), bundle: Option.some("x.bundle"), at: Option.some("1") })
  expect(both).toEqual({ code: 3, err: "--bundle is in place of --data: give one of them", out: "" })
})

it("options that belong to others are refused without them", async () => {
  const wrong: ReadonlyArray<More> = [
    { at: Option.some("1"), why: true },
    { market: Option.some("AAA-USDC-PERP"), why: true },
    { at: Option.some("1"), format: "json" },
    { order: Option.some("x"), market: Option.some("AAA-USDC-PERP") },
    { account: Option.some("acc_1"), from: Option.some("0") },
    { account: Option.some("acc_1"), to: Option.some("soon") }
  ]
  for (const parsed of wrong) expect((await asked({ data: folder(), ...parsed })).code).toBe(3)
})

describe("a statement", () => {
  const drawnOf = (from: string, accountId: string, stretch = Stretch.whole) =>
    withJournal(from, (journal) => Statement.draw(journal, Recorded.capacity, accountId, stretch))

  /** What an execution did for an account, by the event behind it alone. */
  interface Executed {
    readonly sequence: number
    readonly market: string
    readonly sizeAtoms: number
    readonly moneyAtoms: number
  }

  /** The changes of an account's positions in a journal, in order: each is told with the balance right behind it. */
  const effectsOf = async (from: string, accountId: string): Promise<ReadonlyArray<Executed>> => {
    const effects: Array<Executed> = []
    const held = new Map<number, number>()
    let collateral = 0
    await withJournal(from, (journal) =>
      Follow.follow(journal, Recorded.capacity, {
        ...Follow.passive,
        before: ({ state }) => {
          const account = state.accounts.find(accountId)
          collateral = account < 0 ? 0 : state.accounts.collateral(account)
        },
        applied: ({ state }, { sequence }, _outcome, events) => {
          const own = events().filter((event) => "account" in event && event.account === state.accounts.find(accountId))
          for (const [at, event] of own.entries()) {
            if (event.event === "CollateralChanged" && own[at - 1]?.event !== "PositionChanged") collateral = event.collateralAtoms
            if (event.event !== "PositionChanged") continue
            const behind = own[at + 1]
            if (behind?.event !== "CollateralChanged") throw new Error("a position changes with the balance behind it")
            const market = state.markets[event.market]!.parameters.marketId
            const sizeAtoms = event.quantityAtoms - (held.get(event.market) ?? 0)
            effects.push({ sequence, market, sizeAtoms, moneyAtoms: behind.collateralAtoms - collateral })
            held.set(event.market, event.quantityAtoms)
            collateral = behind.collateralAtoms
          }
        }
      }, () => undefined))
    return effects
  }

  const executions: ReadonlySet<string> = new Set(["fill", "taken_over", "deleveraged", "settled"])

  /** The same by a statement: each execution with what stands under it of profit, loss and fee. */
  const toldEffects = (engine: Engine, { lines }: Statement.Statement): ReadonlyArray<Executed> => {
    const effects: Array<Executed> = []
    for (const { amountAtoms, kind, marketId, quantity, sequence, side } of lines) {
      if (executions.has(kind)) {
        const size = Number(quantity) * 10 ** engine.market(engine.findMarket(marketId)).parameters.quantityScale
        effects.push({ sequence, market: marketId, sizeAtoms: Math.round(side === "buy" ? size : -size), moneyAtoms: 0 })
      } else if (kind === "realized_pnl" || kind === "fee") {
        const last = effects.pop()
        expect([last?.sequence, last?.market]).toEqual([sequence, marketId])
        effects.push({ ...last!, moneyAtoms: last!.moneyAtoms + amountAtoms })
      }
    }
    return effects
  }

  /**
   * Checks statements of a journal up to its end, including the insurance fund's: their sums, and each execution with its money. Returns the
   * kinds of lines that occurred.
   */
  const kindsOf = async (from: string, others: ReadonlyArray<number> = []): Promise<ReadonlySet<string>> => {
    const engine = await withJournal(from, (journal) => Recorded.followed(journal, Recorded.capacity))
    const kinds = new Set<string>()
    const accounts = new Set(
      [0, 1, ...others, engine.findAccount(Ids.insuranceFundId)].filter((each) => each >= 0 && each < engine.state.accounts.count)
    )
    for (const account of accounts) {
      const statement = await drawnOf(from, engine.accountId(account))
      const moved = statement.lines.reduce((sum, { amountAtoms }) => sum + amountAtoms, 0)
      expect(statement.openingAtoms + moved).toBe(engine.state.accounts.collateral(account))
      expect(statement.closingAtoms).toBe(engine.state.accounts.collateral(account))
      expect(Statement.addsUp(statement)).toBe(true)
      expect(toldEffects(engine, statement)).toEqual(await effectsOf(from, engine.accountId(account)))
      for (const { kind } of statement.lines) kinds.add(kind)
    }
    return kinds
  }

  it("adds up to the atom over journals with funding and liquidations", async () => {
    const kinds = [...await kindsOf(golden("trading")), ...await kindsOf(golden("liquidations"))]
    expect([...new Set(kinds)].sort()).toEqual([
      "credit",
      "deleveraged",
      "fee",
      "fill",
      "funding",
      "funding_rest",
      "liquidation_fee",
      "realized_pnl",
      "taken_over"
    ])
  })

  it("tells an execution that moves no money before the next one, and not before its money", async () => {
    const recording = new Recorded.RecordingEngine()
    const driver = new Driver(recording)
    const [free, paid] = [driver.market(parameters("AAA", { makerFeeBps: 0 }), 1000), driver.market(parameters("BBB"), 1000)]
    const [maker, other] = [driver.account(usdc(1_000)), driver.account(usdc(1_000))]
    const at = (market: number, side: Order.Side, priceAtoms: number) => ({ market, side, priceAtoms, quantityAtoms: 5 })
    for (const market of [free, paid]) {
      for (let count = 0; count < 2; count++) driver.place(maker, at(market, Order.buy, 1000))
      driver.place(other, { ...at(market, Order.sell, 1000), quantityAtoms: 10 })
    }
    driver.place(maker, at(free, Order.sell, 1000))
    driver.place(maker, at(free, Order.sell, 1001))
    driver.place(maker, at(paid, Order.sell, 1000))
    const from = recording.sequence + 1
    driver.place(other, { ...at(free, Order.buy, 1001), quantityAtoms: 10 })
    driver.place(other, at(paid, Order.buy, 1000))
    const { folder: made } = await Recorded.write(recording, folder())
    const { lines } = await drawnOf(made, recording.accountId(maker), { ...Stretch.whole, from })
    expect(lines.map(({ kind, price }) => [kind, price])).toEqual([
      ["fill", "100.0"],
      ["fill", "100.1"],
      ["realized_pnl", ""],
      ["fill", "100.0"],
      ["fee", ""]
    ])
    await kindsOf(made)
  })

  it("of the fund tells what it took over, and what each of a record's executions gained or lost under that one", async () => {
    const { indebted, paying, recording, stopped, taken } = ruined()
    const { folder: made } = await Recorded.write(recording, folder())
    const told = async (accountId: string) =>
      (await drawnOf(made, accountId)).lines
        .map(({ amountAtoms, kind, price, quantity, side }) => [kind, side, quantity, price, amountAtoms].filter((each) => each !== ""))
    expect(await told(Ids.insuranceFundId)).toEqual([
      ["liquidation_fee", 45_000_000],
      ["taken_over", "buy", "5.960", "80.0", 0],
      ["fill", "sell", "0.300", "80.4", 0],
      ["realized_pnl", 120_000],
      ["taken_over", "sell", "2.168", "69.9", 0],
      ["realized_pnl", -21_896_800],
      ["deleveraged", "sell", "2.453", "69.9", 0],
      ["realized_pnl", -24_775_300]
    ])
    expect((await told(recording.accountId(stopped))).slice(-3)).toEqual([
      ["fill", "buy", "1.000", "60.0", 0],
      ["settled", "sell", "1.000", "95.0", 0],
      ["realized_pnl", 35_000_000]
    ])
    expect(await told(recording.accountId(taken))).toEqual([
      ["credit", 100_000_000],
      ["fill", "buy", "10.000", "90.0", 0],
      ["taken_over", "sell", "5.960", "80.0", 0],
      ["realized_pnl", -59_600_000],
      ["deleveraged", "sell", "4.040", "80.0", 0],
      ["realized_pnl", -40_400_000]
    ])
    // A range that begins behind the opening of a position knows on which side it is closed all the same.
    const { lines } = await drawnOf(made, recording.accountId(indebted))
    const from = lines.find(({ kind }) => kind === "taken_over")!.sequence
    const behind = lines.filter(({ sequence }) => sequence >= from)
    expect(behind.filter(({ side }) => side !== "").map(({ side }) => side)).toEqual(["buy", "buy", "buy", "sell"])
    expect((await drawnOf(made, recording.accountId(indebted), { ...Stretch.whole, from })).lines).toEqual(behind)
    await kindsOf(made, [indebted, paying, stopped, taken])
  })

  it("tells what is paid beside a takeover behind that one, of both sides", async () => {
    const { recording, taken } = ruinedBeyondPrices()
    const { folder: made } = await Recorded.write(recording, folder())
    const told = async (accountId: string) =>
      (await drawnOf(made, accountId)).lines
        .map(({ amountAtoms, kind, price, quantity, side }) => [kind, side, quantity, price, amountAtoms].filter((each) => each !== ""))
    expect((await told(recording.accountId(taken))).slice(3)).toEqual([
      ["taken_over", "buy", "0.100", "-100.0", 0],
      ["realized_pnl", 9_990_000],
      ["takeover_difference", 10_010_000],
      ["taken_over", "sell", "0.400", "30.0", 0],
      ["realized_pnl", -28_000_000]
    ])
    expect(await told(Ids.insuranceFundId)).toEqual([
      ["liquidation_fee", 47_000_000],
      ["taken_over", "sell", "0.100", "-100.0", 0],
      ["takeover_difference", -10_010_000],
      ["taken_over", "buy", "0.400", "30.0", 0]
    ])
    await kindsOf(made, [taken])
    const story = await asked({ data: made, account: Option.some(Ids.insuranceFundId) })
    expect(story.out).toContain("is paid 10.010000 by the insurance fund, since BBB-USDC-PERP has no such price")
  })

  /** An owner's deposit, a completed withdrawal, and a cancelled one. */
  const moved = async () => {
    const recording = new Recorded.RecordingEngine()
    const driver = new FundsDriver({}, recording)
    const owner = driver.funded(usdc(10))
    const deposited = recording.sequence
    const done = driver.withdrawal(owner, usdc(4))
    driver.finish(owner, done)
    const given = driver.withdrawal(owner, usdc(3))
    driver.refusal({ kind: "CancelTransfer", ...driver.by(owner), transfer: given })
    const { folder: made } = await Recorded.write(recording, folder())
    return { made, recording, deposited, accountId: recording.accountId(owner.account), done, given }
  }

  it("tells deposits and withdrawals with their ids, and what came back", async () => {
    const { accountId, done, given, made } = await moved()
    const { closingAtoms, lines } = await drawnOf(made, accountId)
    expect(lines.map(({ amountAtoms, kind, reference }) => [kind, amountAtoms, reference])).toEqual([
      ["deposit", usdc(10), expect.stringMatching(/^dep_/)],
      ["withdrawal_reserved", -usdc(4), Ids.withdrawalId(done)],
      ["withdrawal_reserved", -usdc(3), Ids.withdrawalId(given)],
      ["withdrawal_returned", usdc(3), Ids.withdrawalId(given)]
    ])
    expect(closingAtoms).toBe(usdc(6))
    await kindsOf(made)
  })

  it("begins where the one before it ended, by sequence and by time", async () => {
    const { accountId, deposited, made, recording } = await moved()
    const whole = await drawnOf(made, accountId)
    const { atEpochMs } = recording.taken[deposited - 1]!.record
    const parts = (until: Stretch.Stretch, on: Stretch.Stretch) =>
      Promise.all([drawnOf(made, accountId, until), drawnOf(made, accountId, on)])
    for (
      const [before, behind] of [
        await parts({ ...Stretch.whole, to: deposited }, { ...Stretch.whole, from: deposited + 1 }),
        await parts({ ...Stretch.whole, untilEpochMs: atEpochMs }, { ...Stretch.whole, fromEpochMs: atEpochMs })
      ]
    ) {
      expect(behind!.openingAtoms).toBe(before!.closingAtoms)
      expect(behind!.closingAtoms).toBe(whole.closingAtoms)
      expect([...before!.lines, ...behind!.lines]).toEqual(whole.lines)
    }
  })

  it("is a file for a spreadsheet, or JSON that says the same", async () => {
    const { accountId, made } = await moved()
    const [csv, json] = [
      await asked({ data: made, statement: Option.some(accountId) }),
      await asked({ data: made, statement: Option.some(accountId), format: "json" })
    ]
    const rows = csv.out.split("\n").map((line) => line.split(","))
    expect(rows[0]).toEqual(["time", "sequence", "kind", "market", "side", "quantity", "price", "reference", "amount", "balance"])
    expect(rows.every((row) => row.length === rows[0]!.length)).toBe(true)
    expect([rows[1]!.at(-1), rows.at(-1)!.at(-1)]).toEqual(["0.000000", "6.000000"])
    const report = JSON.parse(json.out) as { readonly lines: ReadonlyArray<{ readonly amount: string }>; readonly addsUp: boolean }
    expect(report).toMatchObject({ report: "statement", accountId, openingAtoms: "0", closingAtoms: "6000000", addsUp: true })
    expect(report.lines.map(({ amount }) => amount)).toEqual(rows.slice(2, -1).map((row) => row[8]))
    expect((await asked({ data: made, statement: Option.some("acc_none") })).code).toBe(3)
  })

  it("that does not add up is told from one that does", async () => {
    const { accountId, made } = await moved()
    const statement = await drawnOf(made, accountId)
    const [first, ...others] = statement.lines
    expect(Statement.addsUp({ ...statement, lines: [{ ...first!, amountAtoms: first!.amountAtoms + 1 }, ...others] })).toBe(false)
    expect(Statement.addsUp({ ...statement, lines: others })).toBe(false)
    expect(Statement.addsUp({ ...statement, closingAtoms: statement.closingAtoms - 1 })).toBe(false)
    expect(Statement.addsUp({ ...statement, openingAtoms: 1 })).toBe(false)
    expect(Statement.addsUp({ ...statement, brokenAt: 3 })).toBe(false)
  })
})

it.each([
  [undefined, undefined, Stretch.whole],
  ["5", "9", { from: 5, to: 9 }],
  ["2023-11-14", "1700000000000", { ...Stretch.whole, fromEpochMs: 1_699_920_000_000, untilEpochMs: 1_700_000_000_000 }],
  ["yesterday", undefined, "--from takes a sequence"],
  ["1", "-2", "--to takes a sequence"]
])("a stretch from %s to %s", (from, to, stretch) => {
  const parsed = Either.merge(Either.mapLeft(Stretch.parse(from, to), ({ text }) => text.slice(0, text.indexOf(" from 1"))))
  expect(parsed).toEqual(stretch)
})
