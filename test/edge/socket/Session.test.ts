/** The stream's protocol: what a client receives, and what its frames do. */
import { beforeEach, describe, expect, test, vi } from "vitest"
import { LocalBook } from "../../../src/client/venue/LocalBook.js"
import { usualBounds } from "../../../src/streams/Replay.js"
import * as Fake from "../FakeVenue.js"
import { complete } from "../../engine/commands.js"
import { LiveVenue, marketId, order, type Trader } from "../LiveVenue.js"
import { Client } from "./Client.js"

const book = { channel: "market.book", marketId }

/** The account of a trader by a key that may only read. */
const readerOf = (venue: LiveVenue, { account, accountId }: Trader): Trader => {
  const { grant, text } = Fake.issue("reader", 1)
  venue.engine.state.apiKeys.issue({ ...grant, account, createdAtEpochMs: venue.atEpochMs, revokedAtEpochMs: 0 })
  return { account, accountId, key: text }
}

describe("the stream", () => {
  let venue: LiveVenue
  let alice: Trader
  let bob: Trader
  let client: Client

  beforeEach(async () => {
    venue = LiveVenue.make()
    ;[alice, bob] = await venue.traders(2) as [Trader, Trader]
    client = new Client(venue)
    client.fresh()
  })

  const subscribe = (more: object) => client.say({ op: "subscribe", ...more })

  describe("a connection", () => {
    test("begins with what the client has to know", () => {
      const [hello] = new Client(venue).frames
      expect(hello).toMatchObject({
        type: "hello",
        version: "stream/v1",
        environment: "development",
        serverTimeEpochMs: venue.atEpochMs,
        heartbeatMs: 5_000,
        limits: { subscriptions: 128, messagesPerSecond: 100, bufferedBytes: 4_194_304 }
      })
      expect(hello.connectionId).toMatch(/^con_[0-9a-f]{24}$/)
      expect(Object.keys(hello.retention)).toHaveLength(11)
      expect(hello.retention["market.trades"]).toEqual({ updates: 1_024, bytes: 1_048_576 })
      expect(hello.retention["account.fills"]).toEqual({ ms: 604_800_000, records: 1_000_000 })
      expect(hello.starts).toEqual(venue.starts)
    })

    test.each([
      ["an answer to a ping", { op: "ping", id: "p" }, { type: "pong", id: "p" }],
      ["an op that there is not", { op: "dance", id: "d" }, { type: "error", id: "d", error: { code: "invalid_request" } }],
      ["no op", { id: "d" }, { type: "error", id: "d", error: { code: "invalid_request" } }],
      ["a member that there is not", { op: "ping", id: "d", more: 1 }, { type: "error", id: "d", error: { code: "invalid_request" } }],
      ["a channel that there is not", { op: "subscribe", channel: "market.gossip" }, { type: "error", error: { code: "invalid_request" } }],
      ["a market's channel without a market", { op: "subscribe", channel: "market.book" }, {
        type: "error",
        error: { code: "invalid_request" }
      }],
      [
        "a market that there is not",
        { op: "subscribe", channel: "market.book", marketId: "ZZZ" },
        { type: "error", error: { code: "market_not_found" } }
      ],
      [
        "an account's channel without a ticket",
        { op: "subscribe", channel: "account.orders" },
        { type: "error", error: { code: "realtime_ticket_rejected", realtimeTicketFailure: "missing" } }
      ],
      ["candles to end without their length", { op: "unsubscribe", channel: "market.candles", marketId }, {
        type: "error",
        error: { code: "invalid_request", safeMessage: "timeframe: candles are of one length." }
      }],
      ["candles of the mark, which REST does not serve either", {
        op: "subscribe",
        channel: "market.candles",
        marketId,
        timeframe: "1m",
        series: "mark"
      }, { type: "error", error: { code: "operation_not_available" } }],
      ["a mark of what is no candles", { op: "subscribe", ...book, series: "mark" }, { type: "error", error: { code: "invalid_request" } }],
      ["a length of what is no candles to end", { op: "unsubscribe", ...book, timeframe: "1m" }, {
        type: "error",
        error: { code: "invalid_request" }
      }],
      ["no subscription to end", { op: "unsubscribe", ...book }, { type: "error", error: { code: "invalid_request" } }],
      [
        "an order without a ticket",
        { op: "place", idempotencyKey: "k", body: {} },
        {
          type: "error",
          error: {
            code: "realtime_ticket_rejected",
            realtimeTicketFailure: "missing",
            safeMessage: "The connection acts for no account: send auth with a ticket first."
          }
        }
      ],
      [
        "a ticket of nobody's",
        { op: "auth", ticket: "A".repeat(43) },
        { type: "auth_error", error: { code: "realtime_ticket_rejected", realtimeTicketFailure: "invalid" } }
      ],
      [
        "a text that is no ticket",
        { op: "auth", id: "a", ticket: "short" },
        { type: "auth_error", id: "a", error: { code: "realtime_ticket_rejected", realtimeTicketFailure: "invalid" } }
      ],
      [
        "a ticket that is missing",
        { op: "auth", id: "a" },
        { type: "auth_error", id: "a", error: { code: "realtime_ticket_rejected", realtimeTicketFailure: "missing" } }
      ],
      ["a ticket that is no text", { op: "auth", id: "a", ticket: 7 }, { type: "error", id: "a", error: { code: "invalid_request" } }],
      ["a channel that is named by both its names", { op: "subscribe", ...book, stream: "market.book" }, {
        type: "error",
        error: { code: "invalid_request", safeMessage: "channel, stream: are two names of the same, and one of them is given." }
      }],
      ["a channel that is named by neither", { op: "subscribe", marketId, fromSequence: 0 }, {
        type: "error",
        error: { code: "invalid_request", safeMessage: "channel, stream: one of them is needed." }
      }],
      ["a stream to end that is named as resync names it", { op: "unsubscribe", stream: "market.book", marketId }, {
        type: "error",
        error: { code: "invalid_request" }
      }]
    ])("is told of %s, and goes on", (_, frame, told) => {
      expect(client.say(frame)).toMatchObject([told])
      expect(client.ended).toBeUndefined()
    })

    test("ends at the third frame that is no JSON", () => {
      expect(client.sayText("{").at(-1)).toMatchObject({ type: "error", error: { code: "invalid_request" } })
      client.sayText("\"a")
      expect(client.ended).toBeUndefined()
      client.sayText("}")
      expect(client.ended?.code).toBe(1008)
    })

    test("takes no member twice", () => {
      expect(client.sayText(`{"op":"ping","id":"a","id":"b"}`)).toMatchObject([{ type: "error", error: { code: "invalid_request" } }])
    })

    test("ends where frames are binary", () => {
      client.sayBinary()
      expect(client.ended?.code).toBe(1008)
    })

    test("ends at the first frame over the rate", () => {
      for (let count = 0; count < 100; count++) client.say({ op: "ping" })
      expect(client.ended).toBeUndefined()
      client.say({ op: "ping" })
      expect(client.ended?.code).toBe(1008)
    })

    test("goes on where the venue heard nobody for a while and then hears what was sent meanwhile, and ends at a flood", async () => {
      await client.authenticate(alice)
      for (let sent = 0; sent < 90; sent++) client.say({ op: "ping" })
      venue.atEpochMs += 3_000
      for (let sent = 0; sent < 3 * 90; sent++) client.say({ op: "ping" })
      expect(client.ended).toBeUndefined()
      // However long the pause was, five seconds' allowance at most.
      venue.atEpochMs += 10_000
      for (let sent = 0; sent < 500; sent++) client.say({ op: "ping" })
      // A clock that is set back grants nothing.
      venue.atEpochMs -= 1_000
      expect(client.ended).toBeUndefined()
      client.say({ op: "ping" })
      expect(client.ended?.code).toBe(1008)
    })

    test("has the rate that it was told, where that is another", () => {
      const slower = new Client(LiveVenue.make(undefined, { room: { messagesPerSecond: 10 } }))
      expect(slower.frames[0].limits.messagesPerSecond).toBe(10)
      for (let count = 0; count < 10; count++) slower.say({ op: "ping" })
      expect(slower.ended).toBeUndefined()
      slower.say({ op: "ping" })
      expect(slower.ended?.code).toBe(1008)
    })

    describe("one of several of an address", () => {
      const pings = (from: Client, count: number): void => {
        for (let at = 0; at < count; at++) from.say({ op: "ping" })
      }

      test("ends at a frame over what four may send, where none speaks for anybody; in the next second all is as ever", () => {
        const clients = Array.from({ length: 5 }, () => new Client(venue))
        for (const each of clients.slice(0, 4)) pings(each, 99)
        // The sixteen frames that each connection may send at first do not count against the shared limit.
        pings(clients[4]!, 16 + 400 - 4 * 83)
        expect(clients.map(({ ended }) => ended)).toEqual(Array(5).fill(undefined))
        pings(clients[4]!, 1)
        expect(clients[4]!.ended?.code).toBe(1008)
        venue.atEpochMs += 1_000
        pings(clients[0]!, 1)
        expect(clients[0]!.ended).toBeUndefined()
      })

      test("is not ended for what a page of another site sends from it, which ends at its own frames over what four may send", () => {
        const own = new Client(venue)
        const pages = Array.from({ length: 5 }, () => new Client(venue, undefined, "https://evil.example"))
        for (const each of pages.slice(0, 4)) pings(each, 99)
        pings(pages[4]!, 99)
        expect(pages[4]!.ended?.code).toBe(1008)
        pings(own, 99)
        expect(own.ended).toBeUndefined()
      })

      test("is not ended for answering the venue's pings, one pong each, however many of its address do so at once", async () => {
        venue = LiveVenue.make(undefined, { holdsTime: true })
        const clients = Array.from({ length: 500 }, () => new Client(venue))
        for (const each of clients) pings(each, 16)
        venue.atEpochMs += 1_000
        await venue.pass(10_000)
        expect(new Set(clients.map((each) => each.pings))).toEqual(new Set([2]))
        for (const each of clients) { for (let pong = 0; pong < 2; pong++) each.alive() }
        expect(clients.every(({ ended }) => ended === undefined)).toBe(true)
        // What nobody has asked for counts as ever.
        for (const each of clients.slice(0, 400)) each.alive()
        expect(clients.every(({ ended }) => ended === undefined)).toBe(true)
        clients[0]!.alive()
        expect(clients[0]!.ended?.code).toBe(1008)
      })

      test("has no more pongs in hand than pings of a minute, and each counts for the connection itself", async () => {
        venue = LiveVenue.make(undefined, { holdsTime: true })
        const client = new Client(venue)
        const wait = async (): Promise<void> => {
          await venue.pass(50_000)
          pings(client, 1)
        }
        for (let at = 0; at < 3; at++) await wait()
        expect(client.pings).toBe(30)
        const others = Array.from({ length: 4 }, () => new Client(venue))
        for (const each of others) pings(each, 99)
        pings(client, 13)
        // These are all that the address may send in this second.
        for (let at = 0; at < 400 - 4 * 83; at++) client.alive()
        for (let pong = 0; pong < 12; pong++) client.alive()
        expect(client.ended).toBeUndefined()
        client.alive()
        expect(client.ended?.code).toBe(1008)
      })

      test("is not ended for what others send where it speaks for an account, but for what is refused on its key's", async () => {
        const owners = Array.from({ length: 5 }, () => new Client(venue))
        for (const owner of owners) await owner.authenticate(alice)
        const others = Array.from({ length: 5 }, () => new Client(venue))
        for (const other of others) pings(other, 99)
        expect(others.some(({ ended }) => ended?.code === 1008)).toBe(true)
        for (const owner of owners) pings(owner, 50)
        expect(owners.map(({ ended }) => ended)).toEqual(Array(5).fill(undefined))
        venue.atEpochMs += 1_000
        for (const owner of owners) for (let at = 0; at < 81; at++) owner.say({ op: "unsubscribe", channel: "account.orders" })
        expect(owners.map(({ ended }) => ended?.code)).toEqual([undefined, undefined, undefined, undefined, 1008])
      })
    })

    test("is refused on another path, and while the venue does not serve", () => {
      expect(venue.application.open({ target: "/streams/v2/ws", headers: {}, remoteAddress: "" })).toMatchObject({
        refused: { status: 404 }
      })
    })
  })

  describe("a book", () => {
    test("is a snapshot with every level, then what changes, each naming what was before", async () => {
      await venue.place(alice, { price: "99.0" })
      const [subscribed, snapshot] = subscribe(book)
      expect(subscribed).toMatchObject({ type: "subscribed", ...book, resumed: false })
      const rest = await venue.read(undefined, `/v1/markets/${marketId}/book`)
      expect(snapshot).toMatchObject({ type: "snapshot", ...book, sequence: rest.snapshotSequence, data: rest })
      const local = new LocalBook()
      expect(local.reset(snapshot.data, snapshot.sequence)).toBe(true)
      let last = snapshot.sequence
      await venue.place(alice, { price: "98.0" })
      await venue.place(bob, { side: "sell", price: "101.0", quantity: "2.000" })
      await venue.place(bob, { side: "sell", price: "99.0", quantity: "0.400" })
      const { orderId } = await venue.place(bob, { side: "sell", price: "101.0" })
      await venue.post(bob, `/v1/orders/${orderId}/cancel`, { accountId: bob.accountId, marketId })
      const updates = client.fresh()
      expect(updates).toHaveLength(5)
      for (const update of updates) {
        expect(update).toMatchObject({ type: "update", ...book, previousSequence: last })
        last = update.sequence
        expect(local.apply(update.data, update.sequence, update.checksum)).toBe(true)
      }
      const after = await venue.read(undefined, `/v1/markets/${marketId}/book`)
      expect(after).toMatchObject({ bids: local.bids, asks: local.asks, checksum: local.checksum() })
      expect(last).toBe(after.snapshotSequence)
    })

    test("comes with its checksum at every hundredth update", async () => {
      subscribe(book)
      let orderId = ""
      for (let count = 0; count < 50; count++) {
        ;({ orderId } = await venue.place(alice, { price: "99.0" }))
        await venue.post(alice, `/v1/orders/${orderId}/cancel`, { accountId: alice.accountId, marketId })
      }
      const updates = client.fresh().filter(({ type }) => type === "update")
      expect(updates).toHaveLength(100)
      const { checksum } = await venue.read(undefined, `/v1/markets/${marketId}/book`)
      expect(updates.map((update) => update.checksum).filter((each) => each !== undefined)).toEqual([checksum])
      expect(updates.at(-1).checksum).toBe(checksum)
    })

    test("is let go of ten minutes after the last who asked for it has gone, also where nobody is connected", async () => {
      subscribe(book)
      client.leave()
      const kept = async (): Promise<string | undefined> =>
        /^venue_streams (\d+)$/m.exec((await venue.ask({ target: "/metrics" })).body)?.[1]
      venue.atEpochMs += 9 * 60_000
      await venue.place(alice, { price: "99.0" })
      expect(await kept()).toBe("1")
      venue.atEpochMs += 2 * 60_000
      await venue.place(alice, { price: "98.0" })
      expect(await kept()).toBe("0")
    })

    test.each([
      ["a book", `/v1/markets/${marketId}/book`, "market.book"],
      ["a market", `/v1/markets/${marketId}`, "market.status"]
    ])("goes on behind the snapshot that REST gave of %s: its resync and marketId are a subscribe", async (_, target, channel) => {
      const { marketId: named, resync } = Fake.json(await venue.ask({ target }))
      expect(client.say({ op: "subscribe", id: "s", ...resync, marketId: named })).toEqual([
        { type: "subscribed", id: "s", channel, marketId, resumed: true }
      ])
      await venue.place(alice, { price: "99.0" })
      if (channel === "market.book")
        expect(client.fresh()).toMatchObject([{ type: "update", channel, previousSequence: resync.fromSequence }])
      expect(client.say({ op: "unsubscribe", id: "u", channel, marketId })).toEqual([{ type: "unsubscribed", id: "u", channel, marketId }])
    })

    test("goes on where the client was", async () => {
      subscribe(book)
      await venue.place(alice, { price: "99.0" })
      const [{ sequence }] = client.fresh().slice(-1)
      client.say({ op: "unsubscribe", ...book })
      await venue.place(alice, { price: "98.0" })
      await venue.place(alice, { price: "97.0" })
      const [subscribed, first, second] = subscribe({ ...book, fromSequence: sequence })
      expect(subscribed).toMatchObject({ type: "subscribed", resumed: true })
      expect(first).toMatchObject({ type: "update", previousSequence: sequence, data: [{ side: "bid", price: "98.0" }] })
      expect(second).toMatchObject({ type: "update", previousSequence: first.sequence, data: [{ side: "bid", price: "97.0" }] })
    })

    test("is given anew to a client that was away for longer than is kept, or claims to know the future", async () => {
      await venue.place(alice, { price: "99.0" })
      const now = venue.engine.sequence
      const kinds = (frames: ReadonlyArray<any>) => frames.map(({ reason, type }) => reason ?? type)
      expect(kinds(subscribe({ ...book, fromSequence: 1 }))).toEqual(["subscribed", "retention", "snapshot"])
      client.say({ op: "unsubscribe", ...book })
      expect(kinds(subscribe({ ...book, fromSequence: now + 1 }))).toEqual(["subscribed", "gap", "snapshot"])
    })

    test("is put together for a client that takes it slowly", async () => {
      subscribe(book)
      client.buffered = 100_000
      for (const price of ["99.0", "98.0", "99.0"]) await venue.place(alice, { price })
      expect(client.fresh().filter(({ type }) => type === "update")).toEqual([])
      const before = client.frames.find(({ type }) => type === "snapshot").sequence
      const [update, ...more] = client.drain()
      expect(more).toEqual([])
      expect(update).toMatchObject({ type: "update", previousSequence: before, sequence: venue.engine.sequence })
      expect(update.data.map(({ price, size }: any) => `${price} ${size}`).sort()).toEqual(["98.0 1.000", "99.0 2.000"])
      await venue.place(alice, { price: "97.0" })
      expect(client.fresh()).toMatchObject([{ type: "update", previousSequence: update.sequence }])
    })
  })

  describe("a market's other channels", () => {
    test("tell trades, figures and the market itself as REST does", async () => {
      for (const channel of ["market.trades", "market.ticker", "market.status", "market.funding"]) subscribe({ channel, marketId })
      client.fresh()
      await venue.place(alice)
      await venue.place(bob, { side: "sell", quantity: "0.250" })
      const updates = client.fresh()
      const last = (channel: string) => updates.filter((update) => update.channel === channel).at(-1)
      const { trades } = await venue.read(undefined, `/v1/markets/${marketId}/trades`)
      expect(last("market.trades").data).toEqual(trades)
      expect(last("market.ticker").data).toEqual([await venue.read(undefined, `/v1/markets/${marketId}/stats`)])
      expect(last("market.status")).toBeUndefined()
      expect(updates.map(({ sequence }) => sequence)).toEqual(updates.map(({ sequence }) => sequence).toSorted((a, b) => a - b))
    })

    test("tell what becomes of a market, and not each of its prices", async () => {
      subscribe({ channel: "market.status", marketId })
      client.fresh()
      venue.send({ kind: "SetMarketStatus", idempotencyKey: "s", market: 0, status: "paused" })
      expect(client.fresh()).toMatchObject([{ channel: "market.status", data: [await venue.read(undefined, `/v1/markets/${marketId}`)] }])
    })

    test("give a market whose price has moved since its last update one place to go on from", async () => {
      subscribe({ channel: "market.status", marketId })
      await venue.place(alice)
      await venue.place(bob, { side: "sell", quantity: "0.250" })
      const [, { data, sequence }] = new Client(venue).say({ op: "subscribe", channel: "market.status", marketId }).slice(-2)
      expect(data.snapshotSequence).toBeGreaterThan(sequence)
      expect(data.resync).toEqual({ stream: "market.status", fromSequence: sequence })
    })

    test("give a client that fell behind a resync and a snapshot, once", async () => {
      subscribe({ channel: "market.trades", marketId })
      client.buffered = 5_000_000
      for (let count = 0; count < 3; count++) {
        await venue.place(alice, { quantity: "0.100" })
        await venue.place(bob, { side: "sell", quantity: "0.100" })
      }
      expect(client.fresh().filter(({ type }) => type === "update")).toEqual([])
      const [resync, snapshot, ...more] = client.drain()
      expect(resync).toMatchObject({ type: "resync", stream: "market.trades", reason: "slow_consumer", fromSequence: snapshot.sequence })
      expect(snapshot.data).toHaveLength(3)
      expect(more).toEqual([])
    })
  })

  describe("an account", () => {
    const own = ["account.orders", "account.fills", "account.positions", "account.balance"]

    test("is told of each record once, in order, whole; nobody else's", async () => {
      expect(await client.authenticate(alice)).toMatchObject([{ type: "auth_ok", accountId: alice.accountId }])
      for (const channel of own) expect(subscribe({ channel }).at(-1)).toMatchObject({ type: "snapshot", channel })
      const { orderId } = await venue.place(alice)
      client.fresh()
      await venue.place(bob, { side: "sell", quantity: "0.250" })
      const updates = client.fresh()
      expect(updates.map(({ channel }) => channel)).toEqual(own)
      const [orders, fills, positions, balance] = updates.map(({ data }) => data)
      expect(orders).toEqual([await venue.read(alice, `/v1/orders/${orderId}`)])
      expect(fills).toEqual((await venue.read(alice, `/v1/accounts/${alice.accountId}/fills`)).fills)
      expect(positions).toEqual((await venue.read(alice, `/v1/accounts/${alice.accountId}/positions`)).positions)
      expect(balance).toEqual([await venue.read(alice, `/v1/accounts/${alice.accountId}/balance`)])
      await venue.place(bob, { price: "90.0" })
      expect(client.fresh()).toEqual([])
      await venue.place(bob, { quantity: "0.250" })
      expect(client.fresh()).toEqual([])
    })

    test("is told that a position is closed", async () => {
      await client.authenticate(alice)
      subscribe({ channel: "account.positions" })
      await venue.place(alice, { quantity: "0.250" })
      await venue.place(bob, { side: "sell", quantity: "0.250" })
      await venue.place(bob, { price: "99.0", quantity: "0.250" })
      client.fresh()
      await venue.place(alice, { side: "sell", price: "99.0", quantity: "0.250" })
      expect(client.fresh()).toMatchObject([{ data: [{ marketId, closed: true, lastSequence: venue.engine.sequence }] }])
    })

    test("is shown nothing before it is durable", async () => {
      await client.authenticate(alice)
      subscribe({ channel: "account.orders" })
      client.fresh()
      venue.holdDisk()
      void venue.place(alice)
      expect(client.fresh()).toEqual([])
      // A client that subscribes while a record waits for the disk gets it in its snapshot, and not again.
      const other = new Client(venue)
      void other.authenticate(alice).then(() => other.say({ op: "subscribe", channel: "account.orders" }))
      await Promise.resolve()
      venue.releaseDisk()
      expect(client.fresh()).toMatchObject([{ type: "update", channel: "account.orders" }])
    })

    test.each([["as the stream was kept up", false], ["read from the journal, by another process", true]])(
      "misses nothing over a disconnect: %s",
      async (_, isAnother) => {
        await client.authenticate(alice)
        subscribe({ channel: "account.orders" })
        await venue.place(alice, { price: "99.0" })
        const [{ sequence }] = client.fresh().slice(-1)
        client.leave()
        const placed = [await venue.place(alice, { price: "98.0" }), await venue.place(alice, { price: "97.0" })]
        if (isAnother) venue.restart()
        client = new Client(venue)
        await client.authenticate(alice)
        const frames = [...subscribe({ channel: "account.orders", fromSequence: sequence })]
        await client.reached(frames.length === 0 ? 3 : 0)
        const [subscribed, ...updates] = [...frames, ...client.fresh()]
        expect(subscribed).toMatchObject({ type: "subscribed", resumed: true })
        expect(updates.map(({ data }) => data[0].orderId)).toEqual(placed.map(({ orderId }) => orderId))
        expect(updates.map(({ previousSequence }) => previousSequence)).toEqual([sequence, updates[0].sequence])
        await venue.place(alice, { price: "96.0" })
        expect(client.fresh()).toMatchObject([{ previousSequence: updates[1].sequence }])
      }
    )

    test("goes on behind a record that was not durable when it asked, also where the stream keeps no more what came next", async () => {
      venue = LiveVenue.make(undefined, { room: { keptUpdates: 1 } })
      ;[alice, bob] = await venue.traders(2) as [Trader, Trader]
      const [first, second] = [new Client(venue), new Client(venue)]
      await first.authenticate(alice)
      first.say({ op: "subscribe", channel: "account.orders" })
      await second.authenticate(alice)
      second.fresh()
      venue.holdDisk()
      void venue.place(alice, { price: "99.0" })
      const fromSequence = venue.engine.sequence
      expect(second.say({ op: "subscribe", channel: "account.orders", fromSequence })).toEqual([])
      const placed = [venue.place(alice, { price: "98.0" }), venue.place(alice, { price: "97.0" })]
      venue.releaseDisk()
      const orders = (await Promise.all(placed)).map(({ orderId }) => orderId)
      await second.reached(3)
      const [subscribed, ...updates] = second.fresh()
      expect(subscribed).toMatchObject({ type: "subscribed", resumed: true })
      expect(updates.map(({ data }) => data[0].orderId)).toEqual(orders)
      expect(updates[0].previousSequence).toBe(fromSequence)
    })

    test("is given what it missed as it takes it, in many pieces, and goes on with what comes", async () => {
      const missed = { ...usualBounds, pieceText: 1_000, pieceRecords: 4, turnRecords: 3 }
      venue = LiveVenue.make(undefined, { room: { behindBytes: 500, keptUpdates: 2, missed } })
      ;[alice, bob] = await venue.traders(2) as [Trader, Trader]
      const since = venue.engine.sequence
      const placed: Array<string> = []
      for (let count = 0; count < 20; count++) {
        placed.push((await venue.place(count % 4 === 3 ? bob : alice, { price: (90 - count / 10).toFixed(1) })).orderId)
      }
      venue.restart()
      client = new Client(venue)
      await client.authenticate(alice)
      client.fresh()
      client.isSlow = true
      client.say({ op: "subscribe", channel: "account.orders", fromSequence: since })
      const frames: Array<any> = []
      while (frames.filter(({ type }) => type === "update").length < 15) {
        await client.reached(1)
        const fresh = client.fresh()
        // One order takes more than 500 bytes, so nothing goes out with it, nor after it before it is taken.
        expect(fresh.filter(({ type }) => type === "update").length).toBeLessThanOrEqual(1)
        frames.push(...fresh, ...client.drain())
        // What arrives meanwhile is not sent before what was missed.
        if (frames.length === 5) placed.push((await venue.place(alice, { price: "70.0" })).orderId)
      }
      await client.reached(1)
      frames.push(...client.fresh(), ...client.drain())
      const [subscribed, ...updates] = frames
      expect(subscribed).toMatchObject({ type: "subscribed", resumed: true })
      expect(updates.map(({ data }) => data[0].orderId)).toEqual(placed.filter((_, at) => at % 4 !== 3))
      expect(updates.map(({ previousSequence }) => previousSequence)).toEqual([since,
        ...updates.slice(0, -1).map(({ sequence }) => sequence)])
      client.isSlow = false
      await venue.place(alice, { price: "60.0" })
      expect(client.fresh()).toMatchObject([{ type: "update", previousSequence: updates.at(-1).sequence }])
    })

    test("closes the connection of a client that is too slow for what loses nothing", async () => {
      await client.authenticate(alice)
      subscribe({ channel: "account.orders" })
      client.buffered = 5_000_000
      await venue.place(alice)
      expect(client.ended?.code).toBe(4008)
    })
  })

  describe("a ticket", () => {
    test("speaks for its account until it expires, and no longer", async () => {
      await client.authenticate(alice)
      subscribe({ channel: "account.orders" })
      subscribe(book)
      client.fresh()
      venue.atEpochMs += 5 * 60_000
      await venue.place(alice)
      const frames = client.fresh()
      expect(frames.filter(({ channel }) => channel === "account.orders")).toEqual([])
      expect(frames).toMatchObject([
        { type: "update", channel: "market.book" },
        { type: "error", error: { code: "realtime_ticket_rejected", realtimeTicketFailure: "expired" } }
      ])
      // What needs a ticket is told how the last one ended, as long as there is no other.
      const cancel = { op: "cancel", id: "o", idempotencyKey: "k", orderId: "ord_1s", body: { accountId: alice.accountId, marketId } }
      const refused = { type: "error", error: { code: "realtime_ticket_rejected", realtimeTicketFailure: "expired" } }
      expect([...client.say(cancel), ...subscribe({ channel: "account.fills" })]).toMatchObject([refused, refused])
      // With a new ticket, the stream continues where it was.
      const [ok, update, ...more] = await client.authenticate(alice)
      expect(ok).toMatchObject({ type: "auth_ok" })
      expect(update).toMatchObject({ type: "update", channel: "account.orders" })
      expect(more).toEqual([])
    })

    test("ends with its family, at once", async () => {
      const ticket = await client.ticket(alice)
      client.say({ op: "auth", ticket })
      subscribe({ channel: "account.orders" })
      client.fresh()
      await venue.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
      await venue.place(alice)
      expect(client.fresh()).toMatchObject([{ type: "error", error: { realtimeTicketFailure: "revoked" } }])
    })

    test("ends with its key, and everything says that another one needs another key", async () => {
      const [ticket, spare] = [await client.ticket(alice, ["read", "trade"]), await client.ticket(alice)]
      client.say({ op: "auth", ticket })
      subscribe({ channel: "account.orders" })
      client.fresh()
      const { keyId } = venue.engine.apiKeys(alice.account, 1)[0]!
      const place = { op: "place", idempotencyKey: "k", body: order(alice) }
      const run = venue.run.bind(venue)
      venue.run = (command, shown) => {
        if (command.kind === "PlaceOrders") run(complete({ kind: "RevokeKeyByOperator", idempotencyKey: "r", keyId }))
        return run(command, shown)
      }
      const error = {
        code: "realtime_ticket_rejected",
        realtimeTicketFailure: "revoked",
        safeMessage: "The API key that minted the ticket was revoked: mint another one with a key that may act."
      }
      client.say(place)
      expect([...client.frames.slice(-2), ...client.say(place), ...client.say({ op: "auth", ticket: spare })]).toMatchObject([
        { type: "error", error },
        { type: "error", error },
        { type: "error", error },
        { type: "auth_error", error }
      ])
    })

    test("ends at once where that is decided, and its client is told when it is durable: nobody drops a key that may yet be good", async () => {
      const ticket = await client.ticket(alice, ["read", "trade"])
      client.say({ op: "auth", ticket })
      subscribe({ channel: "account.orders" })
      subscribe({ channel: "market.book", marketId })
      client.fresh()
      venue.holdDisk()
      void venue.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
      const cancel = { op: "cancel", id: "o", idempotencyKey: "k", orderId: "ord_1s", body: { accountId: alice.accountId, marketId } }
      expect(client.say(cancel)).toEqual([])
      expect(client.say({ op: "ping", id: "p" })).toMatchObject([{ type: "pong" }])
      venue.releaseDisk()
      expect(client.fresh()).toMatchObject([
        { type: "error", error: { realtimeTicketFailure: "revoked" } },
        { type: "error", id: "o", error: { realtimeTicketFailure: "revoked" } }
      ])
    })

    test("is not told to be over once another one has been taken: its client would drop that one", async () => {
      const [ticket, another] = [await client.ticket(alice), await client.ticket(alice)]
      client.say({ op: "auth", ticket })
      subscribe({ channel: "account.orders" })
      client.fresh()
      venue.holdDisk()
      void venue.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
      expect([...client.say({ op: "auth", ticket }), ...client.say({ op: "auth", ticket: another })]).toEqual([])
      const ended = venue.engine.sequence
      void venue.place(bob)
      venue.releaseThrough(ended)
      expect(client.fresh()).toMatchObject([{ type: "auth_error" }, { type: "auth_ok" }])
      venue.releaseDisk()
      expect(client.fresh()).toEqual([])
    })

    test("that has expired is told so, also where its family was forgotten since", async () => {
      await client.authenticate(alice)
      subscribe({ channel: "account.orders" })
      client.fresh()
      venue.atEpochMs += 5 * 60_000
      vi.spyOn(venue.engine, "findTicketFamily").mockReturnValue(undefined)
      expect(client.say({ op: "ping", id: "p" })).toMatchObject([
        { type: "pong" },
        { type: "error", error: { realtimeTicketFailure: "expired" } }
      ])
    })

    test("that is held up by the disk ends also for what was already decided", async () => {
      const ticket = await client.ticket(alice)
      client.say({ op: "auth", ticket })
      subscribe({ channel: "account.orders" })
      client.fresh()
      venue.holdDisk()
      void venue.place(alice)
      void venue.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
      venue.releaseDisk()
      expect(client.fresh()).toMatchObject([{ type: "error", error: { realtimeTicketFailure: "revoked" } }])
    })

    test("of another account is refused on the same connection", async () => {
      await client.authenticate(alice)
      expect(await client.authenticate(bob)).toMatchObject([{ type: "auth_error", error: { code: "invalid_request" } }])
      expect(subscribe({ channel: "account.balance" })).toMatchObject([{ type: "subscribed" }, { data: { accountId: alice.accountId } }])
    })

    test("of another account is refused on the same connection, also once the ticket is over that was shown before", async () => {
      const ticket = await client.ticket(alice)
      client.say({ op: "auth", ticket })
      subscribe({ channel: "account.balance" })
      await venue.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
      client.fresh()
      const refused = [{ type: "auth_error", error: { code: "invalid_request" } }, {
        type: "error",
        error: { realtimeTicketFailure: "revoked" }
      }]
      expect(await client.authenticate(bob)).toMatchObject(refused)
      await venue.place(alice)
      expect(client.fresh()).toEqual([])
      expect(await client.authenticate(alice)).toMatchObject([{ type: "auth_ok" }, { type: "update", channel: "account.balance" }])
    })

    test.each([false, true])(
      "over before a stream of its account has begun leaves it to begin with the next one, where it was asked for: resumed %j",
      async (resumed) => {
        const ticket = await client.ticket(alice)
        client.say({ op: "auth", ticket })
        client.fresh()
        venue.holdDisk()
        void venue.place(alice)
        const from = resumed ? { fromSequence: venue.engine.sequence } : {}
        expect(client.say({ op: "subscribe", id: "first", channel: "account.orders", ...from })).toEqual([])
        void venue.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
        expect(client.say({ op: "subscribe", id: "second", channel: "account.fills" })).toEqual([])
        venue.releaseDisk()
        expect(client.fresh()).toMatchObject([
          { type: "error", error: { realtimeTicketFailure: "revoked" } },
          { type: "error", id: "second", error: { realtimeTicketFailure: "revoked" } }
        ])
        const came = await client.authenticate(alice)
        expect(came).toMatchObject([
          { type: "auth_ok" },
          { type: "subscribed", id: "first", channel: "account.orders", resumed },
          ...resumed ? [] : [{ type: "snapshot" }]
        ])
      }
    )

    test.each([false, true])("over while what its client missed is read takes nothing from it: %j", async (isOver) => {
      await client.authenticate(alice)
      const fromSequence = subscribe({ channel: "account.orders" }).at(-1).sequence
      client.leave()
      const { orderId } = await venue.place(alice, { price: "90.0" })
      await venue.post(alice, `/v1/orders/${orderId}/cancel`, { accountId: alice.accountId, marketId })
      venue.restart()
      client = new Client(venue)
      await client.authenticate(alice)
      client.fresh()
      expect(client.say({ op: "subscribe", channel: "account.orders", fromSequence })).toEqual([])
      if (isOver) venue.atEpochMs += 5 * 60_000
      await client.reached(isOver ? 2 : 3)
      const [subscribed, ...behind] = client.fresh()
      expect(subscribed).toMatchObject({ type: "subscribed", resumed: true })
      if (isOver) expect(behind).toMatchObject([{ type: "error", error: { realtimeTicketFailure: "expired" } }])
      const told = isOver ? [...await client.authenticate(alice)] : behind
      await client.reached(isOver ? 2 : 0)
      told.push(...client.fresh())
      expect(told.filter(({ type }) => type !== "auth_ok")).toMatchObject([
        { type: "update", previousSequence: fromSequence, data: [{ orderId, status: "open" }] },
        { type: "update", data: [{ orderId, status: "canceled" }] }
      ])
    })

    test.each([
      ["once", 1, 10_000],
      ["and asked for again", 2, 0],
      ["and asked for again, ten seconds ago", 2, 10_000]
    ])("that was rotated %s is refused, and its family goes on while its answer may have been lost", async (_, times, laterMs) => {
      const ticket = await client.ticket(alice)
      const rotate = () => venue.ask({ method: "PUT", target: "/v1/realtime/ticket", body: { ticket } })
      const rotated = await rotate()
      for (let count = 1; count < times; count++) expect(Fake.json(await rotate())).toEqual(Fake.json(rotated))
      venue.atEpochMs += laterMs
      const { records } = venue
      const [refused] = client.say({ op: "auth", ticket })
      expect(refused).toMatchObject({ type: "auth_error", error: { code: "realtime_ticket_rejected", realtimeTicketFailure: "rotated" } })
      expect(refused.error).toMatchObject({ safeMessage: "The ticket was rotated: show its successor.", recoveryActions: ["authenticate"] })
      expect(venue.records).toBe(records)
      expect(client.say({ op: "auth", ticket: Fake.json(rotated).ticket })).toMatchObject([{ type: "auth_ok" }])
    })

    test.each([
      ["before the one before, is in two hands", 2, 0],
      ["more than ten seconds ago, is in two hands", 1, 10_001]
    ])("that was rotated %s: its family ends, and its owner is told from where", async (_, rotations, laterMs) => {
      const first = await client.ticket(alice)
      let ticket = first
      for (let count = 0; count < rotations; count++) {
        ticket = Fake.json(await venue.ask({ method: "PUT", target: "/v1/realtime/ticket", body: { ticket } })).ticket
      }
      expect(client.say({ op: "auth", ticket })).toMatchObject([{ type: "auth_ok" }])
      venue.atEpochMs += laterMs
      const thief = new Client(venue)
      thief.fresh()
      venue.holdDisk()
      expect(thief.say({ op: "auth", ticket: first })).toEqual([])
      venue.releaseDisk()
      expect(thief.fresh()).toMatchObject([{ type: "auth_error", id: "f1", error: { realtimeTicketFailure: "rotated" } }])
      const [turnedAway] = client.say({ op: "auth", ticket })
      expect(turnedAway).toMatchObject({ type: "auth_error", error: { realtimeTicketFailure: "revoked" } })
      expect(venue.engine.securityEvents(alice.account, Infinity, 1)).toMatchObject([
        { kind: "ticket_family_ended", remoteAddress: "192.0.2.1" }
      ])
      const { records } = venue
      expect(thief.say({ op: "auth", ticket: first })).toMatchObject([{ error: { realtimeTicketFailure: "revoked" } }])
      expect(venue.records).toBe(records)
    })
  })

  test("refused for a limit of requests, a client is told for how long, as by REST; refused for anything else it is not", async () => {
    const small = LiveVenue.make(undefined, { perKey: 3 })
    const [one] = await small.traders(1) as [Trader]
    client = new Client(small)
    await client.authenticate(one, ["read", "trade"])
    const place = { op: "place", idempotencyKey: "k", body: {} }
    for (let count = 1; count < 3; count++) {
      const [told] = client.say(place)
      expect(told).toMatchObject({ type: "error", error: { code: "invalid_request" } })
      expect(told).not.toHaveProperty("retryAfterSeconds")
    }
    small.atEpochMs += 7_000
    const byRest = await small.post(one, "/v1/realtime/ticket", {})
    const retryAfterSeconds = Number(byRest.headers["retry-after"])
    expect(retryAfterSeconds).toBeGreaterThan(1)
    const error = { code: "rate_limited" }
    expect(client.say(place)).toMatchObject([{ type: "error", error, retryAfterSeconds }])
    expect(client.say({ ...place, op: "dance" })[0]).not.toHaveProperty("retryAfterSeconds")
  })

  test("a client whose orders are to end with its connection is told how long to wait where its key has no more requests", async () => {
    const small = LiveVenue.make(undefined, { perKey: 1 })
    const [one] = await small.traders(1) as [Trader]
    client = new Client(small)
    const ticket = await client.ticket(one, ["read", "trade"])
    const { headers } = await small.post(one, "/v1/realtime/ticket", {})
    client.fresh()
    expect(client.say({ op: "auth", ticket, cancelOnDisconnect: true })).toMatchObject([
      { type: "auth_error", error: { code: "rate_limited" }, retryAfterSeconds: Number(headers["retry-after"]) }
    ])
  })

  describe("connections that speak for one account", () => {
    test("are so many of those that are free, and no more; others' tickets are taken meanwhile", async () => {
      const small = LiveVenue.make(undefined, { room: { connections: 100 } })
      const [one, other] = await small.traders(2) as [Trader, Trader]
      const show = async (
        trader: Trader,
        client = new Client(small)
      ): Promise<[Client, unknown]> => [client, (await client.authenticate(trader)).at(-1)]
      const taken = { type: "auth_ok" }
      const beyond = { type: "auth_error", error: { code: "rate_limited", rejectionGuard: "account_share" }, retryAfterSeconds: 1 }
      const [first] = await show(one)
      for (let count = 1; count < 5; count++) expect((await show(one))[1]).toMatchObject(taken)
      const [last, told] = await show(one)
      expect(told).toMatchObject(beyond)
      expect((await show(other))[1]).toMatchObject(taken)
      expect((await show(one, last))[1]).toMatchObject(beyond)
      // A connection that authenticates again takes no further place, and one that ends frees its own.
      expect((await show(one, first))[1]).toMatchObject(taken)
      first.leave()
      expect((await show(one, last))[1]).toMatchObject(taken)
    })

    test("are three quarters where nobody trades: the rest is for keys that may, whatever their tickets may", async () => {
      const small = LiveVenue.make(undefined, { room: { connections: 200 } })
      const [one, ...others] = await small.traders(8) as [Trader, ...ReadonlyArray<Trader>]
      const reader = readerOf(small, one)
      const enter = async (who: Trader, scopes?: ReadonlyArray<string>): Promise<unknown> => {
        const { error, type } = (await new Client(small).authenticate(who, scopes)).at(-1)
        return error?.rejectionGuard ?? type
      }
      const taken: Array<unknown> = []
      for (let count = 0; count < 8; count++) taken.push(await enter(reader))
      expect(taken).toEqual([...Array.from({ length: 7 }, () => "auth_ok"), "account_share"])
      expect([await enter(one), await enter(one, ["read", "trade"]), await enter(reader)]).toEqual(["auth_ok", "auth_ok", "account_share"])
      // Others take so many that the account's part is six by now: less than it has, and yet its trading keys may have two.
      for (const other of others.slice(0, 6)) for (let count = 0; count < 9; count++) await enter(other)
      expect(await enter(one)).toBe("account_share")
      const [, second] = others
      expect(await enter(second!)).toBe("account_share")
    })

    test("are anybody's but for what trading keys do not have of their quarter, and each is counted as a trading key's from its first ticket of one", async () => {
      const small = LiveVenue.make(undefined, { room: { connections: 16 } })
      const [one] = await small.traders(1) as [Trader]
      const reader = readerOf(small, one)
      const enter = async (who: Trader, client = new Client(small)): Promise<unknown> => {
        const { error, type } = (await client.authenticate(who)).at(-1)
        return error?.rejectionGuard ?? type
      }
      const [trading, reading] = [new Client(small), new Client(small)]
      expect([await enter(one, trading), await enter(reader, reading)]).toEqual(["auth_ok", "auth_ok"])
      expect([await enter(reader), await enter(reader), await enter(reader)]).toEqual(["auth_ok", "auth_ok", "account_share"])
      // One of them becomes the trading key's, whose first one leaves: its place is anybody's, since the trading key has another.
      expect(await enter(one, reading)).toBe("auth_ok")
      trading.leave()
      expect([await enter(reader), await enter(reader)]).toEqual(["auth_ok", "account_share"])
      // It stays the trading key's behind a ticket that only reads: once it has left, its place is kept.
      expect(await enter(reader, reading)).toBe("auth_ok")
      reading.leave()
      expect([await enter(reader), await enter(one)]).toEqual(["account_share", "auth_ok"])
    })

    test("are kept for keys that may trade also where those that only read have more than the account's part by now", async () => {
      const small = LiveVenue.make(undefined, { room: { connections: 200 } })
      const [one, ...others] = await small.traders(8) as [Trader, ...ReadonlyArray<Trader>]
      const reader = readerOf(small, one)
      for (let count = 0; count < 7; count++) await new Client(small).authenticate(reader)
      for (const other of others) for (let count = 0; count < 9; count++) await new Client(small).authenticate(other)
      const traders = [new Client(small), new Client(small), new Client(small)]
      const show = async (client: Client): Promise<string> => (await client.authenticate(one, ["read", "trade"])).at(-1).type
      expect([await show(traders[0]!), await show(traders[1]!), await show(traders[2]!)]).toEqual(["auth_ok", "auth_ok", "auth_error"])
      // Its places are its own whenever it comes back.
      traders[0]!.leave()
      expect((await new Client(small).authenticate(reader)).at(-1).type).toBe("auth_error")
      expect(await show(traders[2]!)).toBe("auth_ok")
    })

    test("leave an eighth of all to those that make room, also by the first four of an account; these cost no account its places", async () => {
      const small = LiveVenue.make(undefined, { room: { connections: 16 } })
      const traders = await small.traders(4) as [Trader, Trader, Trader, Trader]
      const anonymous = Array.from({ length: 12 }, () => new Client(small))
      const taken: Array<Client> = []
      for (const trader of traders) {
        for (let count = 0; count < 4; count++) {
          const client = new Client(small)
          const told = (await client.authenticate(trader)).at(-1)
          if (told.type === "auth_ok") taken.push(client)
          else expect(told).toMatchObject({ error: { rejectionGuard: "account_share" } })
        }
      }
      expect(taken).toHaveLength(14)
      taken[0]!.leave()
      expect((await anonymous[0]!.authenticate(traders[3])).at(-1)).toMatchObject({ type: "auth_ok" })
    })

    test("are no longer those whose ticket was revoked: their owner has room for his own", async () => {
      const small = LiveVenue.make(undefined, { room: { connections: 16 } })
      const [one] = await small.traders(1) as [Trader]
      const thieves: Array<Client> = []
      for (let count = 0; count < 4; count++) {
        const thief = new Client(small)
        const ticket = await thief.ticket(one)
        expect(thief.say({ op: "auth", ticket }).at(-1)).toMatchObject({ type: "auth_ok" })
        await small.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
        thieves.push(thief)
      }
      for (const thief of thieves) thief.say({ op: "ping" })
      const own = Array.from({ length: 4 }, () => new Client(small))
      for (const client of own) expect((await client.authenticate(one)).at(-1)).toMatchObject({ type: "auth_ok" })
      // Each place is freed once, however the connection then ends.
      for (const client of [...thieves, ...own]) client.leave()
      for (let count = 0; count < 4; count++) expect((await new Client(small).authenticate(one)).at(-1)).toMatchObject({ type: "auth_ok" })
      expect((await new Client(small).authenticate(one)).at(-1)).toMatchObject({ type: "auth_error" })
    })

    test("are not armed where there is no room for one more of them", async () => {
      const small = LiveVenue.make(undefined, { room: { connections: 16 } })
      const [one] = await small.traders(1) as [Trader]
      for (let count = 0; count < 4; count++) await new Client(small).authenticate(one)
      const late = new Client(small)
      const ticket = await late.ticket(one, ["read", "trade"])
      late.fresh()
      const { records } = small
      expect(late.say({ op: "auth", ticket, cancelOnDisconnect: true })).toMatchObject([{ type: "auth_error" }])
      expect(small.engine.state.connections.size).toBe(0)
      expect(small.records).toBe(records)
    })
  })

  test("behind a proxy a network has a quarter of all connections, however many addresses it has", () => {
    const small = LiveVenue.make(undefined, { room: { connections: 16 }, trustedProxies: 1 })
    const crowd = Array.from({ length: 4 }, (_, at) => new Client(small, `2001:db8:1:${at}::1`))
    expect(() => new Client(small, "2001:db8:1:4::1")).toThrow("as many connections of the stream as may be of one")
    for (let at = 0; at < 4; at++) new Client(small, `2001:db8:2:${at}::1`)
    crowd[0]!.leave()
    expect(new Client(small, "2001:db8:1:4::1").ended).toBeUndefined()
  })

  test("a ticket without the scope to read is let in nowhere: the refusal says to mint another, unless the key lacks the scope as well", async () => {
    const minted = async (key: string, scopes: ReadonlyArray<string>) =>
      Fake.json(await venue.ask({ method: "POST", target: "/v1/realtime/ticket", key, body: { scopes } })).ticket
    const shown = (ticket: string, more: object = {}) => client.say({ op: "auth", ticket, ...more }).at(-1)
    const { error, type } = shown(await minted(alice.key, ["trade"]))
    expect([type, error.code, error.apiKeyRejection, error.recoveryActions]).toEqual(["auth_error", "scope_missing", undefined, [
      "authenticate"
    ]])
    expect(error.safeMessage).toContain("mint another one with the key, with the scope read")
    const reading = await minted(readerOf(venue, alice).key, ["read"])
    expect(shown(reading, { cancelOnDisconnect: true })).toMatchObject({
      type: "auth_error",
      error: { code: "scope_missing", apiKeyRejection: "scope_missing", safeMessage: "The API key lacks the scope this operation needs." }
    })
    expect(shown(await minted(alice.key, ["read"]), { cancelOnDisconnect: true }).error.safeMessage).toContain("mint another one")
    expect(shown(reading)).toMatchObject({ type: "auth_ok" })
  })

  test("a ticket's uses are its key's: when, and from where", async () => {
    const key = venue.engine.apiKeys(alice.account, 1)[0]!
    const ticket = await client.ticket(alice, ["read", "trade"])
    const addresses = () => venue.engine.keyAddresses(key.credential)
    const isUsedNow = () => venue.keyUses.lastUsedAt(key) === venue.atEpochMs
    expect(addresses()).toEqual(["127.0.0.1"])
    venue.atEpochMs += 1_000
    client.say({ op: "auth", ticket })
    expect([isUsedNow(), addresses()]).toEqual([true, ["127.0.0.1", "192.0.2.1"]])
    venue.atEpochMs += 1_000
    client.say({ op: "place", idempotencyKey: "k", body: order(alice) })
    expect(isUsedNow()).toBe(true)
    venue.atEpochMs += 1_000
    await venue.ask({ method: "PUT", target: "/v1/realtime/ticket", body: { ticket }, remoteAddress: "198.51.100.7" })
    expect([isUsedNow(), addresses()]).toEqual([true, ["127.0.0.1", "192.0.2.1", "198.51.100.7"]])
    expect(venue.engine.securityEvents(alice.account, Infinity, 10).map(({ kind }) => kind)).toEqual(
      [...Array(3).fill("key_used_from_new_address"), "key_issued"]
    )
  })

  describe("orders over the stream", () => {
    test("do nothing where their ticket ends while they wait, and their keys are free", async () => {
      await client.authenticate(alice, ["read", "trade"])
      const run = venue.run.bind(venue)
      venue.run = (command, shown) => {
        // The command that ends a ticket is decided before every waiting placement.
        if (command.kind === "PlaceOrders") run(complete({ kind: "EndTickets", family: 0, generation: 0 }))
        return run(command, shown)
      }
      const ended = { code: "realtime_ticket_rejected", realtimeTicketFailure: "revoked" }
      const [told] = client.say({ op: "place", id: "o", idempotencyKey: "one", body: order(alice) })
      expect(told).toMatchObject({ type: "error", error: ended })
      expect(venue.engine.occupancy.openOrders).toBe(0)
      venue.run = run
      expect(await venue.place(alice, {}, "one")).toMatchObject({ httpStatus: 200, status: "open" })
    })

    test("are those of the route, with its idempotency", async () => {
      await client.authenticate(alice, ["read", "trade"])
      const frame = { op: "place", idempotencyKey: "one", body: order(alice, { clientOrderId: "over" }) }
      const [placed] = client.say(frame)
      expect(placed).toMatchObject({ type: "result", body: { version: "external-order/v1", status: "open", clientOrderId: "over" } })
      const [again] = client.say(frame)
      expect(again.body).toEqual(placed.body)
      const byRest = await venue.post(alice, "/v1/orders", order(alice, { clientOrderId: "over" }), "one")
      expect(JSON.parse(byRest.body)).toEqual(placed.body)
      const { orderId } = placed.body
      const [canceled] = client.say({ op: "cancel", idempotencyKey: "two", orderId, body: { accountId: alice.accountId, marketId } })
      expect(canceled).toMatchObject({ type: "result", body: { orderId, status: "canceled" } })
    })

    test("are refused as by the route, and where the ticket may only read", async () => {
      await client.authenticate(alice)
      const place = (body: object) => client.say({ op: "place", idempotencyKey: "k", body })
      const [refused] = place(order(alice))
      expect(refused).toMatchObject({ type: "error", error: { code: "scope_missing" } })
      // The key may trade: it is the ticket that was minted without.
      expect(refused.error.safeMessage).toContain("mint another one")
      expect(refused.error.apiKeyRejection).toBeUndefined()
      await client.authenticate(alice, ["read", "trade"])
      expect(place(order(alice, { price: "0.05" }))).toMatchObject([{
        type: "error",
        id: expect.any(String),
        error: { code: "invalid_request" }
      }])
      expect(place(order(bob))).toMatchObject([{ type: "error", error: { code: "invalid_request" } }])
    })
  })
})
