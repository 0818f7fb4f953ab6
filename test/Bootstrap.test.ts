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

test("a market that the file still names and that is delisted stays so, and the start goes on with the others", () => {
  const driver = new Driver()
  const sent: Array<Command["kind"]> = []
  const submit = {
    submit: (command: Command, answer: (outcome: ReturnType<Driver["run"]>) => void): void => {
      sent.push(command.kind)
      answer(driver.run(command))
    }
  }
  const start = (bases: ReadonlyArray<string>): void => {
    const markets = bases.map((base) => ({ parameters: parameters(base), developmentIndexPriceAtoms: 1000 }))
    Effect.runSync(Bootstrap.run({ reads: driver.engine, submit, environment: "development", markets, versions, step: undefined }))
  }
  start(["AAA"])
  driver.price(0, 1000)
  driver.send({ kind: "DelistMarket", idempotencyKey: "d", market: 0, action: "delist", effectiveAtEpochMs: 0 })
  driver.send({ kind: "PassTime" })
  sent.length = 0
  start(["AAA", "BBB"])
  expect(sent).toEqual(["StartVenue", "PutMarket", "SetMarketStatus", "SetMarketStatus"])
  expect(driver.engine.market(0)).toMatchObject({ status: "halted", delisting: { state: "settled" } })
  expect(driver.engine.market(1)).toMatchObject({ status: "open", delisting: undefined })
})

it.effect("an inbox in which what is due at the start waits already is no fault of the file: the market is listed a little later", () =>
  Effect.gen(function*() {
    const driver = new Driver()
    let isFull = true
    const submit = {
      submit: (command: Command, answer: (outcome: ReturnType<Driver["run"]>) => void): void => {
        if (!isFull || command.kind !== "SetMarketStatus" || command.status !== "open") return answer(driver.run(command))
        isFull = false
        answer({ sequence: 0, atEpochMs: 0, refusal: Refusal.inboxFull, replayed: false, entries: [] })
      }
    }
    const markets = [{ parameters: parameters("AAA"), developmentIndexPriceAtoms: 1000 }]
    const started = yield* Effect.fork(
      Bootstrap.run({ reads: driver.engine, submit, environment: "development", markets, versions, step: undefined })
    )
    yield* TestClock.adjust("499 millis")
    expect(driver.engine.market(0)).toMatchObject({ status: "backfilling" })
    yield* TestClock.adjust("1 millis")
    yield* Fiber.join(started)
    expect(driver.engine.market(0)).toMatchObject({ status: "open" })
    expect(driver.engine.sequence).toBe(4)
  }))

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

/** An engine that is started with markets files, and the commands that each start sends. */
const starting = () => {
  const driver = new Driver()
  const sent: Array<Command["kind"]> = []
  const submit = {
    submit: (command: Command, answer: (outcome: ReturnType<Driver["run"]>) => void): void => {
      sent.push(command.kind)
      answer(driver.run(command))
    }
  }
  const start = (bases: ReadonlyArray<string>): ReadonlyArray<Command["kind"]> => {
    sent.length = 0
    const markets = bases.map((base) => ({ parameters: parameters(base), developmentIndexPriceAtoms: 1000 }))
    Effect.runSync(
      Bootstrap.run({ reads: driver.engine, submit, environment: "development", markets, versions, step: undefined }).pipe(
        Logger.withMinimumLogLevel(LogLevel.None)
      )
    )
    return [...sent]
  }
  return { driver, start }
}

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

test("a start warns of a listed market with sessions whose calendar the file has no more, and of no other", () => {
  const driver = new Driver()
  const submit = {
    submit: (command: Command, answer: (outcome: ReturnType<Driver["run"]>) => void): void => answer(driver.run(command))
  }
  const calendar: Calendar.Calendar = {
    timeZone: "UTC",
    weekly: [{ opens: "Monday 09:00", closes: "Friday 17:00" }],
    holidays: [],
    shortenedDays: [],
    riskIncreasingCutoffMs: 0
  }
  const warnings = (bases: ReadonlyArray<string>): ReadonlyArray<string> => {
    const heard: Array<string> = []
    const logger = Logger.make(({ message }) => void heard.push(String(message)))
    const markets = bases.map((base) => ({
      parameters: parameters(base, base === "AAA" ? {} : { marketType: "equity" }),
      developmentIndexPriceAtoms: 1000,
      ...(base === "AAA" ? {} : { calendar })
    }))
    const starting = Bootstrap.run({ reads: driver.engine, submit, environment: "development", markets, versions, step: undefined })
    Effect.runSync(starting.pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger))))
    return heard
  }
  expect(warnings(["AAA", "OIL", "GAS"])).toEqual([])
  driver.send({ kind: "PutMarket", idempotencyKey: "draft", parameters: parameters("NEW", { marketType: "equity" }) })
  expect(warnings(["AAA", "GAS"])).toEqual([expect.stringContaining("OIL-USDC-PERP trades in sessions")])
  driver.send({ kind: "DelistMarket", idempotencyKey: "d", market: 1, action: "delist", effectiveAtEpochMs: 0 })
  expect(warnings(["AAA", "GAS"])).toEqual([])
})
