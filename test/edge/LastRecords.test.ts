/** At a stop the histories include the last record that the writer journals, and nothing is journaled after it. */
import { Effect, Layer } from "effect"
import { expect, test } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import { layerMemory } from "../../src/readmodel/HistoriesDatabase.js"
import * as Histories from "../../src/readmodel/Histories.js"
import { HistoriesHost } from "../../src/readmodel/HistoriesHost.js"
import { VenueOver } from "./VenueOver.js"

test("nothing is journaled any more once the histories end, however long they take", async () => {
  const durable: Array<number> = []
  const host = Layer.succeed(HistoriesHost, {
    make: ({ durableSequence }) =>
      Effect.as(
        Effect.addFinalizer(() =>
          Effect.promise(async () => {
            durable.push(durableSequence())
            // Several marks fall due meanwhile.
            await venue.pass(5_000)
            durable.push(durableSequence())
          })
        ),
        Histories.none
      )
  })
  const venue = new VenueOver(memoryDisk().layer, {}, undefined, undefined, { histories: Layer.merge(layerMemory, host) })
  await venue.started
  await venue.ask("PUT", "/v1/operator/markets/BTC-USDC-PERP/index-price", { body: { price: "60000.0" } })
  const before = (await venue.ask("GET", "/readyz", { key: "" })).status
  await venue.pass(3_000)
  await venue.stop()
  expect(before).toBe(200)
  expect(durable[0]).toBeGreaterThan(1)
  expect(durable[1]).toBe(durable[0])
})
