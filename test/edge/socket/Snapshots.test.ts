/** Snapshots that are asked for again and again: how often they are made, for whom, and what is held of them while the disk hangs. */
import { queryObjects } from "node:v8"
import { describe, expect, test } from "vitest"
import { anyMarket } from "../../../src/domain/None.js"
import { charactersOfFrame, Makings } from "../../../src/edge/socket/Makings.js"
import type { Room } from "../../../src/edge/socket/Setting.js"
import { Frame } from "../../../src/streams/Frame.js"
import { LiveVenue, type Trader } from "../LiveVenue.js"
import { Client } from "./Client.js"

const orders = { channel: "account.orders" }

/** A venue where an account has open orders, a client of it, and how often their snapshot was made. */
const opened = async (count: number, room: Partial<Room> = {}) => {
  const venue = LiveVenue.make(undefined, { holdsTime: true, room })
  const [alice] = await venue.traders(1) as [Trader]
  const place = (at: number): Promise<unknown> => venue.place(alice, { price: (40 + at / 10).toFixed(1), quantity: "0.100" })
  for (let at = 0; at < count; at++) await place(at)
  const made = { times: 0 }
  const open = venue.engine.openOrders.bind(venue.engine)
  venue.engine.openOrders = (...asked) => {
    made.times++
    return open(...asked)
  }
  const come = async (): Promise<Client> => {
    const client = new Client(venue)
    await client.authenticate(alice)
    client.fresh()
    return client
  }
  return { venue, alice, made, come, change: () => place(count), client: await come() }
}

/** Subscribes and unsubscribes. Returns the snapshot that was sent, if any. */
const pair = (client: Client, of: object): any => {
  const frames = client.say({ op: "subscribe", ...of })
  client.say({ op: "unsubscribe", ...of })
  return frames.find(({ type }) => type === "snapshot")
}

describe("a snapshot of orders", () => {
  test("is made once while nothing changes, whoever asks for it and how often", async () => {
    const { change, client, come, made, venue } = await opened(5)
    const first = pair(client, orders)
    expect(first.data).toHaveLength(5)
    const other = await come()
    for (let at = 0; at < 20; at++) {
      // What concerns others changes nothing of it.
      venue.atEpochMs += 1_000
      venue.send({ kind: "MarkTick" })
      expect(pair(client, orders)).toEqual(first)
      expect(pair(other, orders)).toEqual(first)
    }
    expect(made.times).toBe(1)
    await change()
    const next = pair(client, orders)
    expect([made.times, next.data.length, next.sequence]).toEqual([2, 6, venue.engine.sequence])
  })

  test("that changes each time is made for no more of an account's connections than it may have made, and waits until then", async () => {
    // About 33 KB each time. An account may have 64 KiB made in a second: it has one more while it had no more than that.
    const { change, client, come, made, venue } = await opened(60, { messagesPerSecond: 4, messagesTogether: 1_000 })
    const clients = [client, ...await Promise.all(Array.from({ length: 9 }, come))]
    for (const each of clients) {
      await change()
      each.say({ op: "subscribe", ...orders })
    }
    const told = (): number => clients.filter(({ frames }) => frames.some(({ type }) => type === "snapshot")).length
    const atOnce = made.times
    expect([atOnce, told()]).toEqual([2, 2])
    for (let seconds = 0; seconds < 5 && told() < clients.length; seconds++) await venue.pass(1_000)
    expect(told()).toBe(clients.length)
    // Those that waited for the same second were given the same one.
    expect(made.times).toBeLessThan(clients.length)
    expect(clients.every(({ ended }) => ended === undefined)).toBe(true)
  })

  test("that waits for its turn is given up with its subscription, and made for none that ended", async () => {
    const { change, client, made, venue } = await opened(190, { messagesPerSecond: 3, messagesTogether: 1_000 })
    await venue.pass(1_000)
    pair(client, orders)
    await change()
    expect(client.say({ op: "subscribe", ...orders })).toEqual([])
    const [error, unsubscribed] = client.say({ op: "unsubscribe", ...orders })
    expect([error?.type, unsubscribed?.type]).toEqual(["error", "unsubscribed"])
    await venue.pass(10_000)
    expect([client.fresh().filter(({ type }) => type !== "heartbeat"), made.times]).toEqual([[], 1])
    expect(pair(client, orders).data).toHaveLength(191)
  })
})

describe("while the disk hangs", () => {
  test("of snapshots that are given up none is held, and a client waits for no more of them than it may have outstanding", async () => {
    const { alice, change, client, made, venue } = await opened(3)
    const frames = (): number => queryObjects(Frame, { format: "count" })
    venue.holdDisk()
    // Each is of another record.
    void change()
    const before = frames()
    for (let at = 0; at < 100; at++) {
      venue.atEpochMs += 20
      void change()
      pair(client, orders)
    }
    expect(made.times).toBe(100)
    // One stays, for whoever asks next.
    expect(frames() - before).toBeLessThanOrEqual(1)
    for (let at = 0; at < 40; at++) {
      venue.atEpochMs += 20
      void change()
      pair(client, orders)
    }
    // 64 KiB, in callbacks of 512 bytes.
    expect(made.times).toBe(129)
    venue.releaseDisk()
    await venue.pass(1_000)
    expect(pair(client, orders).data).toHaveLength(venue.engine.openOrders(alice.account, anyMarket).length)
  })
})

describe("what accounts have had made", () => {
  const second = 10 * charactersOfFrame

  test("counts for each until it is made up for, a second's worth in a second", () => {
    const makings = new Makings(10)
    makings.made(1, second, 0)
    expect(makings.mayMake(1, 0)).toBe(true)
    makings.made(1, 3 * second, 0)
    expect([makings.mayMake(1, 2_999), makings.mayMake(1, 3_000), makings.mayMake(2, 0)]).toEqual([false, true, true])
    makings.made(1, second, 3_500)
    expect([makings.mayMake(1, 3_999), makings.mayMake(1, 4_000)]).toEqual([false, true])
  })

  test("is made up for in the same time where the clock is set back", () => {
    const makings = new Makings(10)
    makings.made(1, 3 * second, 1_000_000)
    expect([makings.mayMake(1, 0), makings.mayMake(1, 1_999), makings.mayMake(1, 2_000)]).toEqual([false, false, true])
  })

  test("is remembered of none that owes nothing, however many there were", () => {
    const makings = new Makings(10)
    for (let account = 0; account < 1_000; account++) makings.made(account, second, 0)
    expect(makings.size).toBe(1_000)
    for (let account = 1_000; account < 2_000; account++) makings.made(account, 1, 1_000 + account)
    expect(makings.size).toBe(1)
  })
})
