/** A disk that does not answer any more: the process does, says what it waits for, and a stop comes to its end. */
import { Cause, Exit } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { NotFlushed } from "../../src/sequencer/Writer.js"
import { ready, resting } from "./VenueOver.js"

test("a write that never ends leaves a venue that answers, is not ready, and stops", async () => {
  let freezes = false
  const disk = SimDisk.make({
    random: () => 0,
    inject: ({ operation, path }) => freezes && operation === "writeAt" && path.endsWith(".seg") ? "hang" : undefined
  })
  const { accountId, apiKey, venue } = await ready(disk.mount())
  const { durableSequence } = (await venue.ask("GET", "/readyz")).json
  freezes = true
  let answered = false
  void venue.ask("POST", "/v1/orders", { key: apiKey, body: resting(accountId, "frozen") }).then(() => (answered = true))
  await venue.settle()
  await venue.pass(900)
  expect((await venue.ask("GET", "/readyz")).status).toBe(200)
  await venue.pass(2_100)
  expect((await venue.ask("GET", "/healthz")).status).toBe(200)
  expect(await venue.ask("GET", "/readyz")).toMatchObject({
    status: 503,
    json: {
      status: "unavailable",
      durableSequence,
      dependency: "journal",
      reason: "a block has been on its way to the disk for 3000 ms"
    }
  })

  let ended: Exit.Exit<void> | undefined
  void venue.stop().then((exit) => (ended = exit))
  await venue.pass(4_500)
  expect(ended).toBeUndefined()
  await venue.pass(2_000)
  expect(ended).toBeDefined()
  const said = Exit.isFailure(ended!) ? Cause.squash(ended.cause) : undefined
  expect(said).toBeInstanceOf(NotFlushed)
  expect((said as Error).message).toMatch(new RegExp(`records up to ${durableSequence} are durable, \\d+ blocks behind them`))
  expect(answered).toBe(false)
})
