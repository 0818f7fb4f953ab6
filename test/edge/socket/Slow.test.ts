/** Clients that take their frames slowly, over the real engine: what is sent in place of updates, and when they are closed. */
import { beforeEach, describe, expect, test } from "vitest"
import { LocalBook } from "../../../src/client/venue/LocalBook.js"
import * as Order from "../../../src/domain/Order.js"
import { Refusal } from "../../../src/domain/Refusal.js"
import { Operation } from "../../../src/operations/Operations.js"
import { parameters, plain } from "../../engine/drive.js"
import { LiveVenue, marketId, type Trader } from "../LiveVenue.js"
import { Client } from "./Client.js"

const book = { channel: "market.book", marketId }
const mebibyte = 1 << 20

describe("a client that is slow", () => {
  let venue: LiveVenue
  let alice: Trader
  let client: Client

  beforeEach(async () => {
    venue = LiveVenue.make(undefined, { holdsTime: true })
    ;[alice] = await venue.traders(1) as [Trader]
    client = new Client(venue)
    client.fresh()
  })

  const subscribe = (on: Client, more: object) => on.say({ op: "subscribe", ...more })
  const toggled = async (times: number): Promise<void> => {
    for (let count = 0; count < times; count++) {
      const { orderId } = await venue.place(alice, { price: (90 + count % 7).toFixed(1) })
      await venue.post(alice, `/v1/orders/${orderId}/cancel`, { accountId: alice.accountId, marketId })
    }
  }

  test("verifies its book by the hundredth update's checksum, however slow it stays", async () => {
    const [, snapshot] = subscribe(client, book)
    const local = new LocalBook()
    local.reset(snapshot.data, snapshot.sequence)
    let last = snapshot.sequence
    let proofs = 0
    for (let hundreds = 1; hundreds <= 2; hundreds++) {
      client.buffered = 5 * mebibyte
      await venue.place(alice, { price: "99.0", quantity: "0.100" })
      await toggled(50)
      await venue.place(alice, { price: "98.0", quantity: "0.100" })
      const updates = client.drain()
      expect(client.ended).toBeUndefined()
      expect(updates.map(({ checksum, type }) => [type, checksum !== undefined])).toEqual([["update", true], ["update", false]])
      for (const { checksum, data, previousSequence, sequence } of updates) {
        expect(previousSequence).toBe(last)
        last = sequence
        if (checksum !== undefined) proofs++
        expect(local.apply(data, sequence, checksum)).toBe(true)
      }
      expect(last).toBe(venue.engine.sequence)
    }
    expect(proofs).toBe(2)
    expect(await venue.read(undefined, `/v1/markets/${marketId}/book`)).toMatchObject({ bids: local.bids, asks: local.asks })
  })

  test("gets a snapshot where more levels have changed than are put together", async () => {
    const wide = "WWW-USDC-PERP"
    const market = venue.market(parameters("WWW"))
    venue.send({ kind: "SetIndexPrice", idempotencyKey: "", market, priceAtoms: 50_000, sourceEpochMs: venue.atEpochMs })
    venue.atEpochMs += 1_000
    venue.send({ kind: "MarkTick" })
    subscribe(client, { channel: "market.book", marketId: wide })
    client.fresh()
    client.buffered = 100_000
    const { account } = alice
    for (let level = 0; level < 4_100; level += 100) {
      const entries = Array.from({ length: 100 },
        (_, at) => ({ ...plain, market, priceAtoms: 50_500 + level + at, side: Order.sell as Order.Side }))
      const commands = [
        { kind: "PlaceOrders", operation: Operation.placeBatchV1, account, idempotencyKey: venue.nextKey(), entries },
        { kind: "CancelAllOrders", operation: Operation.cancelAllV1, account, idempotencyKey: venue.nextKey(), market, raw: "" }
      ] as const
      for (const command of commands) expect(venue.send(command).refusal).toBe(Refusal.none)
    }
    expect(client.fresh()).toEqual([])
    const [resync, snapshot, ...rest] = client.drain()
    const read = await venue.read(undefined, `/v1/markets/${wide}/book`)
    expect(resync).toEqual({
      type: "resync",
      stream: "market.book",
      marketId: wide,
      fromSequence: read.snapshotSequence,
      reason: "slow_consumer"
    })
    expect(snapshot).toMatchObject({ type: "snapshot", sequence: read.snapshotSequence, data: { checksum: read.checksum } })
    expect(rest).toEqual([])
  })

  test("of an account is closed from 4 MiB on, and not before", async () => {
    await client.authenticate(alice)
    subscribe(client, { channel: "account.orders" })
    client.fresh()
    client.buffered = 4 * mebibyte
    const { orderId } = await venue.place(alice)
    expect(client.fresh()).toEqual([])
    expect(client.drain()).toMatchObject([{ type: "update", data: [{ orderId }] }])
    client.buffered = 4 * mebibyte + 1
    await venue.place(alice)
    expect(client.ended).toEqual({ code: 4008, reason: "too slow for a channel that loses nothing" })
    expect(client.fresh()).toEqual([])
  })

  test("has less room while all of them together hold more than the venue has room for, and again as much afterwards", async () => {
    const crowd = [new Client(venue), new Client(venue)]
    const [modest, greedy] = [new Client(venue), new Client(venue)]
    for (const each of [modest, greedy]) {
      await each.authenticate(alice)
      subscribe(each, { channel: "account.orders" })
      subscribe(each, { channel: "market.trades", marketId })
    }
    const told = async (): Promise<ReadonlyArray<number>> => {
      for (const each of [modest, greedy]) each.fresh()
      await venue.place(alice)
      return [modest, greedy].map((each) => {
        const { buffered } = each
        const updates = each.drain().filter(({ type }) => type === "update").length
        each.buffered = buffered
        return updates
      })
    }
    modest.buffered = 128 * 1024
    greedy.buffered = 128 * 1024 + 1
    // Together they hold exactly as much as there is room for.
    crowd[0]!.buffered = 512 * mebibyte - modest.buffered - greedy.buffered
    await venue.pass(1_000)
    expect(await told()).toEqual([1, 1])
    crowd[1]!.buffered = 1
    expect(await told()).toEqual([1, 1])
    await venue.pass(1_000)
    expect(await told()).toEqual([1, 0])
    expect([modest.ended, greedy.ended?.code]).toEqual([undefined, 4008])
    crowd[0]!.buffered = 0
    await venue.pass(1_000)
    modest.buffered = mebibyte
    expect((await told())[0]).toBe(1)
    expect(modest.ended).toBeUndefined()
  })

  test("has two seconds for a snapshot while all of them together hold more than the venue has room for", async () => {
    const crowd = new Client(venue)
    crowd.buffered = 513 * mebibyte
    crowd.lingers = true
    for (let count = 0; count < 10; count++) await venue.place(alice, { price: (50 + count).toFixed(1) })
    await client.authenticate(alice)
    await venue.pass(1_000)
    client.isSlow = true
    client.buffered = 64 * 1024
    expect(subscribe(client, { channel: "account.orders" }).at(-1)).toMatchObject({ type: "snapshot" })
    client.buffered = 128 * 1024 + 1_000
    await venue.pass(1_000)
    expect(client.ended).toBeUndefined()
    await venue.pass(1_000)
    expect(client.ended?.code).toBe(4008)
  })

  test("goes at the next second, whatever it asks for, where it holds most of more than the venue has room for", async () => {
    const crowd = Array.from({ length: 3 }, () => new Client(venue))
    const fast = new Client(venue)
    for (const each of crowd) each.buffered = 200 * mebibyte
    fast.buffered = 128 * 1024
    await venue.pass(2_000)
    expect([...crowd, fast].map(({ ended }) => ended?.code)).toEqual([4008, 4008, 4008, undefined])
  })

  describe("with little room", () => {
    const behindBytes = 1_000
    const bufferedBytes = 20_000
    beforeEach(async () => {
      venue = LiveVenue.make(undefined, { holdsTime: true, room: { behindBytes, bufferedBytes } })
      ;[alice] = await venue.traders(1) as [Trader]
      client = new Client(venue)
      client.fresh()
    })

    const trades = { channel: "market.trades", marketId }
    const ping = (): ReadonlyArray<any> => client.say({ op: "ping" })

    test("is closed where it takes nothing and asks on, and no frame is done any more", async () => {
      client.isSlow = true
      let asked = 0
      for (; client.ended === undefined && asked < 10_000; asked += 2) {
        if (asked % 50 === 0) venue.atEpochMs += 1_000
        subscribe(client, trades)
        client.say({ op: "unsubscribe", ...trades })
      }
      expect(client.ended).toEqual({ code: 4008, reason: "too much is on its way to the client" })
      expect(client.buffered).toBeGreaterThan(bufferedBytes)
      expect(client.buffered).toBeLessThan(bufferedBytes + 1_000)
      expect(ping()).toEqual([])
    })

    test("is told no more heads where more is on its way than it may hold, and is not closed for that", async () => {
      client.buffered = bufferedBytes + 1
      await venue.pass(10_000)
      expect([client.fresh(), client.ended]).toEqual([[], undefined])
      client.buffered = bufferedBytes
      await venue.pass(5_000)
      expect(client.fresh()).toMatchObject([{ type: "heartbeat" }])
    })

    test("is answered at once, and given snapshots one by one as it takes them", async () => {
      for (let count = 0; count < 4; count++) await venue.place(alice, { price: (90 + count).toFixed(1) })
      client.isSlow = true
      await client.authenticate(alice)
      client.fresh()
      client.buffered = behindBytes
      const kinds = (frames: ReadonlyArray<any>) => frames.map(({ channel, type }) => `${type} ${channel ?? ""}`.trim())
      expect(kinds(subscribe(client, { channel: "account.orders" }))).toEqual(["subscribed account.orders", "snapshot account.orders"])
      expect(kinds(subscribe(client, { channel: "account.positions" }))).toEqual([])
      expect(kinds(ping())).toEqual(["pong"])
      expect(kinds(client.drain())).toEqual(["subscribed account.positions", "snapshot account.positions"])
      expect(client.ended).toBeUndefined()
    })

    test("has each of many snapshots made once, however busy the venue is: none that has to wait for others is made", async () => {
      venue = LiveVenue.make(undefined, { holdsTime: true, room: { behindBytes: 10_000 } })
      const [alice, bob] = await venue.traders(2) as [Trader, Trader]
      client = new Client(venue)
      const ids = Array.from({ length: 12 }, (_, at) => parameters(`M${String.fromCharCode(65 + at)}`)).map((each) => {
        venue.market(each)
        return each.marketId
      })
      for (const id of ids) {
        await venue.place(alice, { marketId: id, quantity: "0.100" })
        for (let trade = 0; trade < 10; trade++) await venue.place(bob, { marketId: id, side: "sell", quantity: "0.010" })
      }
      let made = 0
      const trades = venue.engine.trades.bind(venue.engine)
      venue.engine.trades = (...asked) => {
        if (asked[2] === 100) made++
        return trades(...asked)
      }
      const busy = (): void => {
        venue.holdDisk()
        venue.atEpochMs += 1_000
        venue.send({ kind: "MarkTick" })
      }
      client.isSlow = true
      busy()
      for (const id of ids) subscribe(client, { channel: "market.trades", marketId: id })
      // One that is taken back while it waits leaves its room to the others.
      client.say({ op: "unsubscribe", channel: "market.trades", marketId: ids[0] })
      venue.releaseDisk()
      const snapshots = (): number => client.frames.filter(({ type }) => type === "snapshot").length
      let rounds = 0
      for (; snapshots() < 11 && rounds < 20; rounds++) {
        busy()
        client.drain()
        venue.releaseDisk()
      }
      expect(snapshots()).toBe(11)
      expect(made).toBe(12)
      expect(rounds).toBeLessThan(12)
    })

    test("goes on with many streams at once one by one as it takes them, and is not closed for what it missed of them", async () => {
      const accounts = ["account.orders", "account.positions", "account.balance", "account.fills"]
      await client.authenticate(alice)
      for (const channel of accounts) subscribe(client, { channel })
      const from = venue.engine.sequence
      await toggled(40)
      const second = new Client(venue)
      await second.authenticate(alice)
      second.isSlow = true
      const said = accounts.flatMap((channel) => second.say({ op: "subscribe", channel, fromSequence: from }))
      const updates = new Map<string, Array<any>>()
      let most = 0
      for (let piece = said, idle = 0; idle < 3; piece = [...second.drain()]) {
        idle = piece.length === 0 ? idle + 1 : 0
        // Whatever is read or sent in pieces continues in a fiber of its own.
        await venue.pass(1)
        for (const frame of piece) if (frame.type === "update") updates.set(frame.channel, [...updates.get(frame.channel) ?? [], frame])
        most = Math.max(most, second.buffered)
      }
      expect(second.ended).toBeUndefined()
      const orders = updates.get("account.orders")!
      expect(orders.length).toBe(80)
      expect(orders.every(({ previousSequence }, index) => previousSequence === (index === 0 ? from : orders[index - 1].sequence))).toBe(
        true
      )
      // At most one piece more than makes a client slow, and far less than would end it.
      expect(most).toBeLessThan(behindBytes + 2_000)
    })

    test("is closed after a minute in which it takes nothing, and longer where much is on its way, though it asks for nothing more", async () => {
      const [taking, busy] = [new Client(venue), new Client(venue)]
      const all = [client, taking, busy]
      for (const each of all) each.isSlow = true
      client.buffered = behindBytes + 1
      // One frame of 80 KiB: it is not seen to leave until all of it has.
      busy.buffered = 80 * 1_024
      const pass = async (seconds: number): Promise<void> => {
        for (let second = 0; second < seconds; second++) {
          for (const each of all) each.alive()
          taking.buffered = second % 2 === 0 ? behindBytes + 2 : behindBytes + 1
          await venue.pass(1_000)
        }
      }
      const ended = { code: 4008, reason: "nothing was taken by the client for too long" }
      await pass(60)
      expect(all.map((each) => each.ended)).toEqual([undefined, undefined, undefined])
      await pass(1)
      expect(all.map((each) => each.ended)).toEqual([ended, undefined, undefined])
      await pass(8)
      expect(busy.ended).toBeUndefined()
      await pass(2)
      expect([taking.ended, busy.ended]).toEqual([undefined, ended])
    })

    test("is given nothing of what waits of a stream that it unsubscribes, and the answer at once", async () => {
      await client.authenticate(alice)
      subscribe(client, { channel: "account.orders" })
      subscribe(client, { channel: "account.balance" })
      client.fresh()
      client.buffered = behindBytes + 1
      await venue.place(alice)
      expect(client.say({ op: "unsubscribe", channel: "account.orders" })).toMatchObject([{ type: "unsubscribed" }])
      expect(client.drain()).toMatchObject([{ type: "update", channel: "account.balance" }])
      expect(client.drain()).toEqual([])
    })

    test("is told no head of what has not left, and all that waited in order once it takes it, piece by piece", async () => {
      await client.authenticate(alice)
      const { sequence } = subscribe(client, { channel: "account.orders" }).at(-1)
      client.fresh()
      client.isSlow = true
      client.buffered = behindBytes + 1
      for (let count = 0; count < 5; count++) await venue.place(alice, { price: (90 + count).toFixed(1) })
      await venue.pass(5_000)
      expect(client.fresh()).toMatchObject([{ type: "heartbeat", heads: { "account.orders": sequence } }])
      const pieces: Array<number> = []
      let last = sequence
      for (let piece = client.drain(); piece.length > 0; piece = client.drain()) {
        pieces.push(piece.length)
        for (const update of piece) {
          expect(update).toMatchObject({ type: "update", previousSequence: last })
          last = update.sequence
        }
      }
      expect(last).toBe(venue.engine.sequence)
      expect(pieces.length).toBeGreaterThan(1)
    })

    test("is given nothing of its account that waits as its ticket ends, and all of it once it shows another", async () => {
      const ticket = await client.ticket(alice)
      client.say({ op: "auth", ticket })
      const { sequence } = subscribe(client, { channel: "account.orders" }).at(-1)
      client.fresh()
      client.buffered = behindBytes + 1
      for (const price of ["90.0", "91.0"]) await venue.place(alice, { price })
      await venue.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
      expect(client.fresh()).toEqual([])
      expect(client.drain()).toMatchObject([{ type: "error", error: { realtimeTicketFailure: "revoked" } }])
      const [ok, first, second, ...more] = await client.authenticate(alice)
      expect([ok.type, first.previousSequence, second.previousSequence]).toEqual(["auth_ok", sequence, first.sequence])
      expect([second.data[0].price, more]).toEqual(["91.0", []])
    })

    test("goes on behind a snapshot that is larger than all that it may hold, if it takes it within half a minute", async () => {
      for (let count = 0; count < 40; count++) await venue.place(alice, { price: (50 + count).toFixed(1) })
      const late = new Client(venue)
      for (const each of [client, late]) {
        await each.authenticate(alice)
        each.isSlow = true
        const snapshot = subscribe(each, { channel: "account.orders" }).at(-1)
        expect(JSON.stringify(snapshot).length).toBeGreaterThan(bufferedBytes)
      }
      await venue.place(alice, { price: "49.0" })
      expect([client.ended, late.ended]).toEqual([undefined, undefined])
      expect(client.drain()).toMatchObject([{ type: "update" }])
      client.drain()
      client.buffered = bufferedBytes - 1
      // Its next snapshot has not been sent yet, so the rest of the buffer is counted.
      await venue.place(alice, { price: "48.0" })
      await venue.place(alice, { price: "47.0" })
      expect([client.ended?.code, late.ended]).toEqual([4008, undefined])
      const renewed = await late.ticket(alice)
      await venue.pass(29_000)
      await venue.place(alice, { price: "46.0" })
      expect(late.ended).toBeUndefined()
      await venue.pass(1_000)
      late.say({ op: "auth", ticket: renewed })
      expect(late.ended?.code).toBe(4008)
    })
  })
})
