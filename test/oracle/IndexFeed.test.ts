/** What becomes of a feed's prices at the venue. */
import { Effect, Stream } from "effect"
import { expect, test } from "vitest"
import * as IndexFeed from "../../src/oracle/IndexFeed.js"
import type { Command } from "../../src/operations/Operations.js"
import { Driver, parameters } from "../engine/drive.js"

test("a price that is none of the market's grid is counted as refused and not submitted; of unknown and delisted markets nothing is", () => {
  const driver = new Driver()
  for (const base of ["AAA", "BBB"]) driver.market(parameters(base), 1000)
  driver.send({ kind: "DelistMarket", idempotencyKey: "d", market: 1, action: "delist", effectiveAtEpochMs: 0 })
  const samples = ["AAA", "BBB", "XXX"].flatMap((base) => [
    { marketId: `${base}-USDC-PERP`, priceAtoms: undefined },
    { marketId: `${base}-USDC-PERP`, priceAtoms: 1001, sourceEpochMs: 5 }
  ])
  const submitted: Array<Command> = []
  const refused: Array<readonly [number, string]> = []
  Effect.runSync(IndexFeed.drive(
    { samples: () => Stream.fromIterable(samples) },
    driver.engine,
    { submit: (command) => void submitted.push(command) },
    (market, sender) => void refused.push([market, sender])
  ))
  expect(refused).toEqual([[0, "feed"]])
  expect(submitted).toMatchObject([{ kind: "SetIndexPrice", market: 0, priceAtoms: 1001, sourceEpochMs: 5 }])
})
