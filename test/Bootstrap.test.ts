/** Starts over a markets file: what it says of markets that the journal knows. */
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { expect, test } from "vitest"
import * as Bootstrap from "../src/Bootstrap.js"
import { Refusal } from "../src/domain/Refusal.js"
import type { Command } from "../src/operations/Operations.js"
import { versions } from "../src/sequencer/Versions.js"
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
