/** A disk that no longer answers: the process still does, says what it waits for, and a stop completes. */
import { Cause, Context, Effect, Exit, Layer } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { Disk } from "../../src/journal/Disk.js"
import * as Sequencer from "../../src/sequencer/Sequencer.js"
import { NotFlushed } from "../../src/sequencer/Writer.js"
import { ready, resting, VenueOver } from "./VenueOver.js"

/** The figures of the listener and the writer, by their names. */
const figuresIn = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from(
    text.matchAll(/^venue_((?:inbox|blocks_in_flight|open_sockets|unread|connections)\w*) (.*)$/gm),
    ([, name, value]) => [name!, value!] as const
  ))

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

/** A disk whose writes of blocks wait while they are held. */
const holding = () => {
  let written: (() => void) | undefined
  let isHeld = false
  const held = new Promise<void>((resolve) => (written = resolve))
  const simulated = SimDisk.make({ random: () => 0 })
  const layer = Layer.map(simulated.mount(), (context) => {
    const real = Context.get(context, Disk)
    return Context.make(Disk, {
      ...real,
      open: (path, mode) =>
        Effect.map(real.open(path, mode), (file) => ({
          ...file,
          writeAt: (...given: Parameters<typeof file.writeAt>) =>
            isHeld && path.endsWith(".seg") ? Effect.zipRight(Effect.promise(() => held), file.writeAt(...given)) : file.writeAt(...given)
        }))
    })
  })
  const hold = (): void => {
    isHeld = true
  }
  return { simulated, layer, hold, letGo: () => written!() }
}

test("what waits for a slow disk is told by its figures, and so is what the listener counts", async () => {
  const { hold, layer, letGo } = holding()
  const { accountId, apiKey, venue } = await ready(layer)
  hold()
  // Four blocks may be on their way; what comes then waits.
  for (let sent = 0; sent < 20; sent++) {
    void venue.ask("POST", "/v1/orders", { key: apiKey, body: resting(accountId, `slow-${sent}`) })
    await venue.settle(4)
  }
  const asked = venue.ask("GET", "/metrics")
  await venue.settle()
  letGo()
  expect(figuresIn((await asked).text)).toEqual({
    blocks_in_flight: "4",
    connections_accepted_total: "6",
    connections_closed_for_room_total: "2",
    connections_closed_for_unread_total: "5",
    connections_turned_away_total: "3",
    inbox_capacity: String(Sequencer.defaultOptions.inbox.capacity),
    inbox_depth: expect.stringMatching(/^1[0-9]$/),
    open_sockets: "1",
    unread_answers_bytes: "4"
  })
  await venue.stop()
})

test("a stop that is asked for twice waits for what is on its way to the disk all the same, and leaves its snapshot", async () => {
  const { hold, layer, letGo, simulated: disk } = holding()
  const faults: Array<Error> = []
  const { accountId, apiKey, venue } = await ready(layer, { stopFailed: (fault) => faults.push(fault) })
  hold()
  void venue.ask("POST", "/v1/orders", { key: apiKey, body: resting(accountId, "held") })
  await venue.settle()
  // By now the listener has dropped its clients, and the writer waits for the disk.
  await venue.stopAskedTwice(3_000)
  await venue.settle()
  letGo()
  await venue.pass(1_000)
  expect(faults).toEqual([])
  const snapshots = disk.files().filter((path) => path.endsWith(".snap"))
  expect(snapshots.length).toBe(1)
  const next = new VenueOver(disk.mount())
  const started = await next.started
  // Nothing had to be replayed, since the snapshot was of the last record: the order that was under way.
  expect(Exit.isSuccess(started) ? started.value.recovered.records : -1).toBe(0)
})
