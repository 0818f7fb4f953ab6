/** Starts with a markets file: what is reported about markets that the journal already has. */
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"
import { expect, test } from "vitest"
import * as Bootstrap from "../src/Bootstrap.js"
import { Refusal } from "../src/domain/Refusal.js"
import { internal, Principal } from "../src/operations/Header.js"
import { type Command, Operation, withFields } from "../src/operations/Operations.js"
import { versions } from "../src/sequencer/Versions.js"
import type * as Calendar from "../src/sessions/Calendar.js"
import { Driver, parameters } from "./engine/drive.js"

const listed = (base: string, more: Partial<Bootstrap.ListedMarket> = {}): Bootstrap.ListedMarket => ({
  parameters: parameters(base, { minQuantityAtoms: 2 }),
  developmentIndexPriceAtoms: 1000,
  ...more
})

const weekly: Calendar.Calendar = {
  timeZone: "UTC",
  weekly: [{ opens: "Monday 09:00", closes: "Friday 17:00" }],
  holidays: [],
  shortenedDays: [],
  riskIncreasingCutoffMs: 0
}

type Submit = (command: Command, answer: (outcome: ReturnType<Driver["run"]>) => void) => void

/** A start of an engine with these markets in its file; the machine's time is the engine's, unless another is given. */
const begin = (
  driver: Driver,
  markets: ReadonlyArray<Bootstrap.ListedMarket>,
  submit: Submit = (command, answer) => answer(driver.run(command)),
  nowEpochMs = driver.atEpochMs
): Effect.Effect<void, Bootstrap.MarketsFileInvalid> =>
  Bootstrap.run({
    reads: driver.engine,
    submit: { submit },
    environment: "development",
    markets,
    versions,
    step: undefined,
    now: () => nowEpochMs
  })

/** An engine that is started with markets files, and the commands that each start sends. */
const starting = () => {
  const driver = new Driver()
  const start = (bases: ReadonlyArray<string>): ReadonlyArray<Command["kind"]> => {
    const sent: Array<Command["kind"]> = []
    const started = begin(driver, bases.map((base) => listed(base)), (command, answer) => {
      sent.push(command.kind)
      answer(driver.run(command))
    })
    Effect.runSync(started.pipe(Logger.withMinimumLogLevel(LogLevel.None)))
    return sent
  }
  return { driver, start }
}

/** What a start of an engine logs, with these markets in its file. */
const warnings = (
  driver: Driver,
  markets: ReadonlyArray<Bootstrap.ListedMarket>,
  nowEpochMs = driver.atEpochMs
): ReadonlyArray<string> => {
  const heard: Array<string> = []
  const logger = Logger.make(({ message }) => void heard.push(String(message)))
  Effect.runSync(begin(driver, markets, undefined, nowEpochMs).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger))))
  return heard
}

/** The same at a later time. */
const warningsAt = (driver: Driver, atEpochMs: number): ReadonlyArray<string> => {
  driver.atEpochMs = atEpochMs
  return warnings(driver, [])
}

test("a market that the file still names and that is delisted stays so, and the start goes on with the others", () => {
  const { driver, start } = starting()
  start(["AAA"])
  driver.price(0, 1000)
  driver.send({ kind: "DelistMarket", idempotencyKey: "d", market: 0, action: "delist", effectiveAtEpochMs: 0 })
  driver.send({ kind: "PassTime" })
  expect(start(["AAA", "BBB"])).toEqual(["StartVenue", "PutMarket", "SetMarketStatus", "SetMarketStatus"])
  expect(driver.engine.market(0)).toMatchObject({ status: "halted", delisting: { state: "settled" } })
  expect(driver.engine.market(1)).toMatchObject({ status: "open", delisting: undefined })
})

it.effect("an inbox in which what is due at the start waits already is no fault of the file: the market is listed a little later", () =>
  Effect.gen(function*() {
    const driver = new Driver()
    let isFull = true
    const started = yield* Effect.fork(begin(driver, [listed("AAA")], (command, answer) => {
      if (!isFull || command.kind !== "SetMarketStatus" || command.status !== "open") return answer(driver.run(command))
      isFull = false
      answer({ sequence: 0, atEpochMs: 0, refusal: Refusal.inboxFull, replayed: false, entries: [] })
    }))
    yield* TestClock.adjust("499 millis")
    expect(driver.engine.market(0)).toMatchObject({ status: "backfilling" })
    yield* TestClock.adjust("1 millis")
    yield* Fiber.join(started)
    expect(driver.engine.market(0)).toMatchObject({ status: "open" })
    expect(driver.engine.sequence).toBe(4)
  }))

/** A market of a file by its assets. */
const pair = (baseAsset: string, quoteAsset: string): Bootstrap.ListedMarket =>
  listed(baseAsset, { parameters: parameters(baseAsset, { marketId: `${baseAsset}-${quoteAsset}-PERP`, quoteAsset }) })

test("a file's new market has to be quoted in what it is settled in, and in another asset than its base", () => {
  const { driver } = starting()
  const told = [pair("BTC", "EUR"), pair("USDC", "USDC")].map((market) =>
    Effect.runSync(Effect.flip(Bootstrap.ofAssets(driver.engine, [listed("AAA"), market]))).reason
  )
  expect(told).toEqual([
    "BTC-EUR-PERP: a market must be quoted in USDC, in which it is settled: BASE-USDC-PERP",
    "USDC-USDC-PERP: a market's base must be another asset than its quote"
  ])
})

test("a market in euros that the journal has already goes on, also in the file, and each start warns of it until it is delisted", () => {
  const driver = new Driver()
  const euro = pair("BTC", "EUR")
  const warning = "BTC-EUR-PERP is in the journal, and would not be taken as a new market: a market must be quoted in USDC, in which it is "
    + "settled: BASE-USDC-PERP; its figures are counted as amounts of USDC, one to one, until it is delisted"
  // As a version did that did not look at the assets.
  expect(warnings(driver, [euro])).toEqual([warning])
  Effect.runSync(Bootstrap.ofAssets(driver.engine, [euro, listed("AAA")]))
  for (const file of [[euro], []]) expect(warnings(driver, file)).toEqual([warning])
  driver.price(0, 1000)
  driver.send({ kind: "DelistMarket", idempotencyKey: "d", market: 0, action: "delist", effectiveAtEpochMs: 0 })
  expect(warnings(driver, [euro])).toEqual([])
})

test("each start warns of a market whose smallest orders, as many as count, come to less than the notional for which its book counts", () => {
  const driver = new Driver()
  expect(warnings(driver, [])).toEqual([])
  // A lot at 100.0 is 0.1 USDC: 8,192 are 819.2.
  const driving = (base: string, impactNotionalAtoms: number) => driver.market(parameters(base, { impactNotionalAtoms }), 1000)
  driving("AAA", 819_200_000)
  driving("BBB", 819_200_001)
  driver.send({ kind: "PutMarket", idempotencyKey: "c", parameters: parameters("CCC") })
  const warning = "BBB-USDC-PERP: 8192 of its smallest orders come to less than its impactNotional, so somebody who has as many, each at a "
    + "price of its own, makes a deep book count as thin: raise minQuantity, or lower impactNotional (OPERATIONS.md, Parameters of a thin market)"
  expect([warnings(driver, []), warnings(driver, [])]).toEqual([[warning], [warning]])
  const changed = parameters("BBB", { impactNotionalAtoms: 819_200_001, minQuantityAtoms: 2 })
  driver.send({ kind: "PutMarket", idempotencyKey: "m", parameters: changed })
  expect(warnings(driver, [])).toEqual([])
})

test("a market that the file names twice is refused with its name, whether or not the entries are the same", () => {
  const markets: ReadonlyArray<object> = JSON.parse(fs.readFileSync("fixtures/markets.json", "utf8"))
  const repeated = markets[1]!
  const files = [markets, [...markets, repeated], [...markets, { ...repeated, developmentIndexPriceAtoms: 7 }]]
  const told = files.map((file) =>
    Effect.runSync(
      Bootstrap.parseMarkets(JSON.stringify(file)).pipe(Effect.match({ onFailure: ({ reason }) => reason, onSuccess: () => "taken" }))
    )
  )
  expect(told).toEqual(["taken", "ETH-USDC-PERP is in it twice", "ETH-USDC-PERP is in it twice"])
})

test("a market that the operator put stays the draft that it is, and listed it stays unopened, when the file names it later", () => {
  const { driver, start } = starting()
  start(["AAA"])
  driver.send({ kind: "PutMarket", idempotencyKey: "mine", parameters: parameters("BBB", { takerFeeBps: 9 }) })
  expect(start(["AAA", "BBB", "CCC"])).toEqual(["StartVenue", "PutMarket", "SetMarketStatus", "SetMarketStatus"])
  expect(driver.engine.market(1)).toMatchObject({ status: "draft", parameters: { takerFeeBps: 9 } })
  expect(driver.engine.market(2)).toMatchObject({ status: "open", parameters: { marketId: "CCC-USDC-PERP" } })
  driver.send({ kind: "SetMarketStatus", idempotencyKey: "listed", market: 1, status: "backfilling" })
  expect(start(["AAA", "BBB", "CCC"])).toEqual(["StartVenue"])
  expect(driver.engine.market(1).status).toBe("backfilling")
})

test("a start finishes the markets that one before it had begun with, also days later, and leaves them once their keys are gone", () => {
  const begun = (upTo: "draft" | "backfilling") => {
    const { driver, start } = starting()
    start([])
    const byFile = (operation: Operation, idempotencyKey: string) => ({
      ...internal(Principal.operator),
      operation,
      idempotencyKey
    })
    const key = "bootstrap/AAA-USDC-PERP"
    driver.run(withFields("PutMarket", byFile(Operation.putMarket, key), { parameters: parameters("AAA"), effectiveAtEpochMs: 0 }))
    if (upTo === "backfilling") {
      const header = byFile(Operation.setMarketStatus, `${key}/backfilling`)
      driver.run(withFields("SetMarketStatus", header, { market: 0, status: "backfilling" }))
    }
    return { driver, start }
  }
  for (const upTo of ["draft", "backfilling"] as const) {
    const { driver, start } = begun(upTo)
    driver.atEpochMs += 3 * 86_400_000
    start(["AAA"])
    expect(driver.engine.market(0).status).toBe("open")
  }
  const { driver, start } = begun("draft")
  driver.atEpochMs += 3 * 86_400_000
  for (let records = 0; records < 3; records++) driver.send({ kind: "PassTime" })
  start(["AAA"])
  expect(driver.engine.market(0).status).toBe("draft")
})

test("a start tells of each announced delisting that is overdue: the market, its time, the price it comes to and the last mark", () => {
  const dayMs = 86_400_000
  const iso = (epochMs: number): string => new Date(epochMs).toISOString()
  const announced = () => {
    const driver = new Driver()
    warnings(driver, [listed("AAA"), listed("BBB"), listed("CCC")])
    for (const market of [0, 1]) driver.price(market, 1000)
    driver.send({ kind: "MarkTick" })
    const markedAt = driver.atEpochMs
    const dueAt = markedAt + dayMs
    driver.send({ kind: "DelistMarket", idempotencyKey: "a", market: 0, action: "delist", effectiveAtEpochMs: dueAt })
    driver.send({ kind: "DelistMarket", idempotencyKey: "b", market: 1, action: "delist", effectiveAtEpochMs: dueAt + dayMs })
    driver.send({ kind: "DelistMarket", idempotencyKey: "c", market: 2, action: "delist", effectiveAtEpochMs: dueAt })
    return { driver, markedAt, dueAt }
  }
  const { driver, dueAt, markedAt } = announced()
  expect(warningsAt(driver, dueAt - 1)).toEqual([])
  const told = warningsAt(driver, dueAt)
  expect(told).toEqual([
    `the announced delisting of AAA-USDC-PERP was due at ${iso(dueAt)}: it takes effect with the first record of this start, at 100.0; `
    + `0.000 are held in it long and short; its last mark was made at ${iso(markedAt)}`,
    `the announced delisting of CCC-USDC-PERP was due at ${iso(dueAt)}: it takes effect with the first record of this start, without a `
    + "price, since it has no index; 0.000 are held in it long and short; it never had a mark"
  ])
  expect(driver.engine.market(0).delisting).toMatchObject({ finalPriceAtoms: 1000 })
  expect(warningsAt(driver, dueAt + 1)).toEqual([])

  const halted = announced()
  halted.driver.send({ kind: "HaltEngine", idempotencyKey: "h" })
  expect(warningsAt(halted.driver, halted.dueAt)[0]).toContain("as soon as the halt is lifted, and can be withdrawn until then")
  expect(halted.driver.engine.market(0).delisting).toMatchObject({ state: "announced" })
  // The venue's time is that of its journal where the machine's clock has been set back behind it.
  expect(halted.driver.engine.atEpochMs).toBe(halted.dueAt)
  expect(warnings(halted.driver, [], halted.dueAt - 1_000)[0]).toContain("as soon as the halt is lifted")

  const missed = announced()
  const late = missed.dueAt + 60_000
  expect(warningsAt(missed.driver, late - 1)[0]).toContain("it takes effect with the first record")
  const later = announced()
  expect(warningsAt(later.driver, late)[0]).toContain("it is announced anew for half an hour after this start")
  expect(later.driver.engine.market(0).delisting).toMatchObject({ state: "announced", effectiveAtEpochMs: late + 30 * 60_000 })
})

test("where the file has other parameters than the journal, markets and parameters are named", () => {
  const driver = new Driver()
  warnings(driver, [listed("OIL"), listed("GAS")])
  const { engine } = driver
  expect(Bootstrap.differing(engine, [listed("OIL"), listed("GAS"), listed("CORN")])).toBe(undefined)
  const [oil, gas] = [listed("OIL").parameters, listed("GAS").parameters]
  const changed = listed("OIL", { parameters: { ...oil, takerFeeBps: oil.takerFeeBps + 1, initialMarginBps: oil.initialMarginBps + 1 } })
  expect(Bootstrap.differing(engine, [changed, listed("GAS")])).toMatch(
    /^the markets file differs from the journal, whose parameters hold, in OIL-USDC-PERP \(initialMarginBps, takerFeeBps\): /
  )
  // What an operator has announced is what the file may have already.
  const later = { ...gas, initialMarginBps: 2000, maxLeverageX: 5 }
  expect(Bootstrap.differing(engine, [listed("GAS", { parameters: later })])).toContain("GAS-USDC-PERP (initialMarginBps, maxLeverageX)")
  driver.send({ kind: "PutMarket", idempotencyKey: "p", parameters: later, effectiveAtEpochMs: engine.atEpochMs + 2 * 86_400_000 })
  expect(Bootstrap.differing(engine, [listed("GAS", { parameters: later })])).toBe(undefined)
})

test("a start warns of a calendar for a market that the journal has as always open, and of no other calendar", () => {
  const driver = new Driver()
  warnings(driver, [listed("OIL"), listed("GAS")])
  const oil = listed("OIL", { parameters: parameters("OIL", { marketType: "commodity" }), calendar: weekly })
  const corn = listed("CORN", { parameters: parameters("CORN", { marketType: "commodity" }), calendar: weekly })
  expect(warnings(driver, [oil, listed("GAS"), corn])).toEqual([
    "OIL-USDC-PERP has a calendar in the markets file and is of the type crypto in the journal, whose parameters hold: it trades around "
    + "the clock, and its calendar is not used"
  ])
  driver.send({ kind: "DelistMarket", idempotencyKey: "d", market: 0, action: "delist", effectiveAtEpochMs: 0 })
  expect(warnings(driver, [oil])).toEqual([
    "CORN-USDC-PERP trades in sessions, and the markets file has no calendar for it: "
    + "it closes with its session and does not open again, so that nobody in it can close a position or is liquidated, until it is in the "
    + "file with one, or is delisted"
  ])
})

test("a start warns of a listed market with sessions whose calendar the file has no more, and of no other", () => {
  const driver = new Driver()
  const inSessions = (base: string) => listed(base, { parameters: parameters(base, { marketType: "equity" }), calendar: weekly })
  const [gas, oil] = [inSessions("GAS"), inSessions("OIL")]
  expect(warnings(driver, [listed("AAA"), oil, gas])).toEqual([])
  driver.send({ kind: "PutMarket", idempotencyKey: "draft", parameters: parameters("NEW", { marketType: "equity" }) })
  expect(warnings(driver, [listed("AAA"), gas])).toEqual([expect.stringContaining("OIL-USDC-PERP trades in sessions")])
  driver.send({ kind: "DelistMarket", idempotencyKey: "d", market: 1, action: "delist", effectiveAtEpochMs: 0 })
  expect(warnings(driver, [listed("AAA"), gas])).toEqual([])
})
