/** Connections that end through no fault of the client: because a stream failed, or because there is no room. */
import { Effect } from "effect"
import { beforeEach, describe, expect, test } from "vitest"
import { Makings } from "../../../src/edge/socket/Makings.js"
import { Prepared } from "../../../src/edge/socket/Prepared.js"
import { Place } from "../../../src/edge/socket/Place.js"
import { Log } from "../../../src/streams/Log.js"
import type { Replaying } from "../../../src/streams/Replay.js"
import * as Fake from "../FakeVenue.js"
import { LiveVenue, marketId, type Trader } from "../LiveVenue.js"
import { Client } from "./Client.js"

describe("a connection", () => {
  let venue: LiveVenue
  let alice: Trader

  const begin = async (elsewhere?: Replaying): Promise<void> => {
    venue = LiveVenue.make(undefined, elsewhere === undefined ? {} : { elsewhere })
    ;[alice] = await venue.traders(1) as [Trader]
  }
  beforeEach(() => begin())

  test("ends with 1011 where what a record changed cannot be told, everybody's; none begins any more, and REST goes on", async () => {
    const [owner, other] = [new Client(venue), new Client(venue)]
    await owner.authenticate(alice)
    owner.say({ op: "subscribe", channel: "account.orders" })
    other.say({ op: "subscribe", channel: "market.book", marketId })
    const before = await venue.place(alice, { price: "99.0" })
    for (const client of [owner, other]) expect(client.fresh().at(-1)).toMatchObject({ type: "update" })
    // A defect is injected: one account's orders cannot be read.
    const { findOrder } = venue.engine
    venue.engine.findOrder = () => {
      throw new Error("a defect")
    }
    const broken = venue.place(alice, { price: "98.0" })
    venue.engine.findOrder = findOrder
    const { orderId } = await broken
    const end = { code: 1011, reason: "the stream has stopped" }
    expect([owner.ended, other.ended]).toEqual([end, end])
    // Nothing is sent of the record that could not be sent completely, nor of those after it.
    expect([owner.fresh(), other.fresh()]).toEqual([[], []])
    expect(venue.application.open({ target: "/streams/v1/ws", headers: {}, remoteAddress: "" })).toMatchObject({
      refused: { status: 500 }
    })
    expect(await venue.read(alice, `/v1/orders/${orderId}`)).toMatchObject({ status: "open" })
    const { events } = await venue.read(alice, `/v1/accounts/${alice.accountId}/changes?fromSequence=${before.lastSequence}`)
    expect(events).toMatchObject([{ channel: "account.orders", data: [{ orderId }] }, { channel: "account.balance" }])
  })

  test("ends with 1013 where what its client missed is not read for it, since too many wait for that", async () => {
    let asked = 0
    await begin({
      engines: 0,
      page: () => Effect.succeed(undefined),
      missed: () =>
        Effect.sync(() => {
          asked++
          return undefined
        })
    })
    const fromSequence = venue.engine.sequence
    await venue.place(alice, { price: "99.0" })
    const client = new Client(venue)
    await client.authenticate(alice)
    client.fresh()
    client.say({ op: "subscribe", channel: "account.orders", fromSequence })
    await client.over()
    expect(client.ended).toEqual({ code: 1013, reason: "there is no room for the stream now" })
    // It received nothing that it might take for everything it missed.
    expect(client.fresh()).toEqual([])
    expect(asked).toBe(1)
    // A client that has missed nothing keeps its connection.
    const other = new Client(venue)
    await other.authenticate(alice)
    other.fresh()
    expect(other.say({ op: "subscribe", channel: "account.orders", fromSequence: venue.engine.sequence })).toMatchObject([{
      type: "subscribed",
      resumed: true
    }])
    const page = await venue.ask({ target: `/v1/accounts/${alice.accountId}/changes?fromSequence=${fromSequence}`, key: alice.key })
    expect([page.status, Fake.json(page).code]).toEqual([503, "overloaded"])
  })

  test("does not end where a ticket is shown again: its streams were kept up meanwhile, whoever needed room", () => {
    let crowded = 0
    const nothing = (): void => {}
    const [send, sendWhole, held, tooSlow, failed] = [nothing, nothing, nothing, nothing, nothing]
    const sink = { send, sendWhole, isBehind: () => false, isOver: () => false, held, tooSlow, failed }
    const log = new Log({ channel: "account.orders", marketId: undefined }, 7, 5, 0, { updates: 10, bytes: 10_000 })
    const around = {
      sink,
      flush: nothing,
      isClosed: () => false,
      isFilling: () => false,
      preparing: nothing,
      crowded: () => void crowded++,
      safely: (act: () => void) => act()
    }
    const setting = {
      hub: {
        used: (log: Log, asker: Place) => log.askers.add(asker),
        quieted: (quiet: Log, asker: Place) => quiet.askers.delete(asker)
      },
      reads: { sequence: 5 },
      barrier: { whenDurable: nothing },
      payloads: { snapshot: () => "[]" },
      makings: new Makings(1),
      prepared: new Prepared(1),
      now: () => 0
    }
    const place = new Place(setting as never, log, around)
    place.pause()
    expect([place.isPaused, log.isQuietSince(Number.POSITIVE_INFINITY)]).toEqual([true, false])
    place.resume()
    expect([crowded, place.isPaused]).toEqual([0, false])
    place.end()
    expect(log.isQuietSince(Number.POSITIVE_INFINITY)).toBe(true)
  })
})
