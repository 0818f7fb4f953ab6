/** Clients that take what they are sent slowly, over the real engine: what they are given in its place, and when they are closed. */
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
    expect(client.fresh()).toMatchObject([{ type: "update", data: [{ orderId }] }])
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
      return [modest, greedy].map((each) => each.fresh().filter(({ type }) => type === "update").length)
    }
    modest.buffered = 128 * 1024
    greedy.buffered = 128 * 1024 + 1
    // All of them together hold just as much as there is room for.
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
})
