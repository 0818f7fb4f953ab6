/** A defect in one conversation stays there: it is answered and the conversation ends, while the venue and all other clients go on. */
import { Effect } from "effect"
import { beforeEach, describe, expect, test } from "vitest"
import * as Histories from "../../../src/readmodel/Histories.js"
import { LiveVenue, marketId, type Trader } from "../LiveVenue.js"
import { Client } from "./Client.js"

const book = { channel: "market.book", marketId }

describe("what goes wrong unexpectedly", () => {
  let venue: LiveVenue
  let alice: Trader
  let client: Client
  let other: Client

  beforeEach(async () => {
    venue = LiveVenue.make(undefined, { holdsTime: true })
    ;[alice] = await venue.traders(1) as [Trader]
    client = new Client(venue)
    other = new Client(venue)
    for (const each of [client, other]) each.fresh()
  })

  const end = { code: 1011, reason: "the connection met a defect" }
  const broken = (): never => {
    throw new Error("a defect")
  }

  test("as a frame is read is answered with internal_error, under its id, and ends its connection alone", async () => {
    const { findMarket } = venue.engine
    venue.engine.findMarket = broken
    expect(client.say({ op: "subscribe", id: "s", ...book })).toMatchObject([{ type: "error", id: "s", error: { code: "internal_error" } }])
    venue.engine.findMarket = findMarket
    expect([client.ended, other.ended]).toEqual([end, undefined])
    expect(client.say({ op: "ping" })).toEqual([])
    expect(other.say({ op: "subscribe", ...book })).toMatchObject([{ type: "subscribed" }, { type: "snapshot" }])
  })

  test("as a snapshot is made once the disk is done ends its connection alone", async () => {
    venue.holdDisk()
    void venue.place(alice, { price: "99.0" })
    client.say({ op: "subscribe", ...book })
    other.say({ op: "subscribe", ...book })
    Object.defineProperty(client, "buffered", { get: broken, configurable: true })
    venue.releaseDisk()
    expect([client.ended, other.ended]).toEqual([end, undefined])
    expect(other.fresh()).toMatchObject([{ type: "subscribed" }, { type: "snapshot" }])
  })

  test("as an update is given out, or each second, ends its connection alone", async () => {
    const third = new Client(venue)
    for (const each of [client, other, third]) each.say({ op: "subscribe", ...book })
    for (const each of [client, other, third]) each.fresh()
    Object.defineProperty(client, "buffered", { get: broken, configurable: true })
    await venue.place(alice, { price: "99.0" })
    expect([client.ended, other.ended]).toEqual([end, undefined])
    expect(other.fresh()).toMatchObject([{ type: "update" }])
    Object.defineProperty(third, "buffered", { get: broken, configurable: true })
    await venue.pass(5_000)
    expect([third.ended, other.ended]).toEqual([end, undefined])
    expect(other.fresh()).toMatchObject([{ type: "heartbeat" }])
  })

  test("as what is done every second for the stream is done keeps no session from its heartbeats", async () => {
    let isBroken = false
    const standing = () =>
      isBroken ? broken() : {
        sequence: past.engine.sequence,
        atEpochMs: past.atEpochMs,
        fills: 0,
        lagMs: 0,
        isReplaying: false,
        isRebuilding: false
      }
    const histories = { ...Histories.none, standing, candles: () => Effect.sync(() => ({ found: [], standing: standing() })) }
    const past: LiveVenue = LiveVenue.make(undefined, { holdsTime: true, histories })
    const listener = new Client(past)
    listener.fresh()
    listener.say({ op: "subscribe", channel: "market.candles", marketId, timeframe: "1m" })
    while (listener.frames.at(-1).channel !== "market.candles") await listener.reached(1).then(() => listener.fresh())
    isBroken = true
    await past.pass(15_000)
    expect(listener.fresh().map(({ type }) => type)).toEqual(["heartbeat", "heartbeat", "heartbeat"])
  })

  test.each(["cancel", "amend"])("an order's id that cannot be encoded is refused: %s", async (op) => {
    await client.authenticate(alice, ["read", "trade"])
    const body = { accountId: alice.accountId, marketId }
    for (const orderId of ["\ud800", "ord_1\udc00"]) {
      expect(client.say({ op, id: "c", idempotencyKey: "k", orderId, body })).toMatchObject([
        { type: "error", id: "c", error: { code: "invalid_request", safeMessage: "The member orderId is not valid." } }
      ])
    }
    expect(client.ended).toBeUndefined()
    expect(client.say({ op: "ping" })).toMatchObject([{ type: "pong" }])
  })
})

describe("who wants no more of a stream that has not begun", () => {
  test("is told so of the frame that asked for it, and then of the other", async () => {
    const venue = LiveVenue.make()
    const [alice] = await venue.traders(1) as [Trader]
    const client = new Client(venue)
    client.fresh()
    venue.holdDisk()
    void venue.place(alice, { price: "99.0" })
    expect(client.say({ op: "subscribe", id: "s", ...book })).toEqual([])
    expect(client.say({ op: "unsubscribe", id: "u", ...book })).toMatchObject([
      { type: "error", id: "s", error: { code: "invalid_request", safeMessage: "The channel was unsubscribed before it began." } },
      { type: "unsubscribed", id: "u" }
    ])
    venue.releaseDisk()
    expect(client.fresh()).toEqual([])
  })
})
