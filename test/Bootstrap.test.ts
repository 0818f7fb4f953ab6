/** Starts over a markets file: what it says of markets that the journal knows. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import * as Bootstrap from "../src/Bootstrap.js"
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
