/** Snapshots that are asked for again and again: how often they are made, for whom, and what is held of them while the disk hangs. */
import { queryObjects } from "node:v8"
import { describe, expect, test } from "vitest"
import { anyMarket } from "../../../src/domain/None.js"
import { charactersOfFrame, Makings, type Waiting } from "../../../src/edge/socket/Makings.js"
import { Prepared } from "../../../src/edge/socket/Prepared.js"
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

  test("is made for those who wait before newcomers, and short snapshots wait for none", async () => {
    const { change, come, made, venue } = await opened(60, { messagesPerSecond: 4, messagesTogether: 1_000 })
    const [waiter, newcomer] = [await come(), await come()]
    for (let times = 0; times < 2; times++) {
      pair(await come(), orders)
      await change()
    }
    const before = made.times
    expect(waiter.say({ op: "subscribe", ...orders })).toEqual([])
    for (const channel of ["account.balance", "account.fills", "account.positions", "account.deposits"]) {
      const reader = await come()
      expect(reader.say({ op: "subscribe", channel }).map(({ type }) => type)).toEqual(["subscribed", "snapshot"])
    }
    // All is made up for, and no second has been told to the connections yet.
    venue.atEpochMs += 10_000
    expect(newcomer.say({ op: "subscribe", ...orders })).toEqual([])
    await venue.pass(1_000)
    const told = [waiter, newcomer].map((each) => each.fresh().filter(({ type }) => type === "snapshot").length)
    expect([told, made.times - before]).toEqual([[1, 1], 1])
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

describe("snapshots that wait for the disk, of all clients together,", () => {
  test("count once where many wait for the same", () => {
    const prepared = new Prepared(10)
    const [one, other] = [new Frame("x".repeat(10)), new Frame("y".repeat(3))]
    prepared.add(one)
    prepared.add(one)
    expect([prepared.characters, prepared.isFull]).toEqual([10, false])
    prepared.add(other)
    prepared.remove(one)
    expect([prepared.characters, prepared.isFull]).toEqual([13, true])
    prepared.remove(one)
    expect([prepared.characters, prepared.isFull]).toEqual([3, false])
    prepared.remove(other)
    expect(prepared.characters).toBe(0)
  })

  test("keep others from being begun where they are too much, and nobody is closed for it", async () => {
    // About 16 KB each time.
    const { change, client, come, made, venue } = await opened(29, { preparedCharacters: 20_000 })
    const [same, next, last] = [await come(), await come(), await come()]
    venue.holdDisk()
    void change()
    for (const each of [client, same]) each.say({ op: "subscribe", ...orders })
    expect(made.times).toBe(1)
    void change()
    next.say({ op: "subscribe", ...orders })
    expect(made.times).toBe(2)
    void change()
    last.say({ op: "subscribe", ...orders })
    await venue.pass(2_000)
    expect(made.times).toBe(2)
    venue.releaseDisk()
    await venue.pass(1_000)
    const all = [client, same, next, last]
    const told = all.map((each) => each.fresh().filter(({ type }) => type === "snapshot").map(({ data }) => data.length))
    expect(told).toEqual([[30], [30], [31], [32]])
    expect([made.times, ...all.map(({ ended }) => ended)]).toEqual([3, undefined, undefined, undefined, undefined])
  })
})

describe("what accounts have had made", () => {
  const second = 10 * charactersOfFrame
  const who: Waiting = { allowed: () => {} }

  test("counts for each until it is made up for, a second's worth in a second", () => {
    const makings = new Makings(10)
    makings.made(1, second, 0)
    expect(makings.mayMake(1, who, 0)).toBe(true)
    makings.made(1, 3 * second, 0)
    expect([makings.mayMake(1, who, 2_999), makings.mayMake(1, who, 3_000), makings.mayMake(2, who, 0)]).toEqual([false, true, true])
    makings.made(1, second, 3_500)
    expect([makings.mayMake(1, who, 3_999), makings.mayMake(1, who, 4_000)]).toEqual([false, true])
  })

  test("is made up for in the same time where the clock is set back", () => {
    const makings = new Makings(10)
    makings.made(1, 3 * second, 1_000_000)
    expect([makings.mayMake(1, who, 0), makings.mayMake(1, who, 1_999), makings.mayMake(1, who, 2_000)]).toEqual([false, false, true])
  })

  test("is made for those who wait in the order in which they came, before newcomers, and for none that left", () => {
    const makings = new Makings(10)
    const called: Array<string> = []
    let nowMs = 0
    const waiting = (name: string): Waiting => {
      const one: Waiting = {
        allowed: () => {
          called.push(`${name} ${makings.mayMake(1, one, nowMs)} ${makings.mayMake(1, who, nowMs)}`)
          makings.made(1, second, nowMs)
        }
      }
      return one
    }
    const goOn = (atMs: number): ReadonlyArray<string> => {
      nowMs = atMs
      makings.goOn(1, atMs)
      return called.splice(0)
    }
    const [first, left, third, fourth] = ["first", "left", "third", "fourth"].map(waiting) as [Waiting, Waiting, Waiting, Waiting]
    makings.made(1, 2 * second, 0)
    for (const one of [first, left, third, fourth, first]) makings.wait(1, one)
    expect([makings.waiting, goOn(999)]).toEqual([4, []])
    expect([who, left, first].map((one) => makings.mayMake(1, one, 1_000))).toEqual([false, false, false])
    expect(makings.mayMake(2, who, 1_000)).toBe(true)
    makings.leave(1, left)
    // Of what was made before, a second's worth is left: one more is made, and the next a second later.
    expect([goOn(1_000), makings.waiting]).toEqual([["first true false"], 2])
    expect([goOn(2_000), makings.waiting]).toEqual([["third true false"], 1])
    expect([goOn(3_000), makings.waiting]).toEqual([["fourth true true"], 0])
    expect([makings.mayMake(1, who, 3_999), makings.mayMake(1, who, 4_000)]).toEqual([false, true])
  })

  test("is remembered of none that owes nothing, however many there were", () => {
    const makings = new Makings(10)
    for (let account = 0; account < 1_000; account++) makings.made(account, second, 0)
    expect(makings.size).toBe(1_000)
    for (let account = 1_000; account < 2_000; account++) makings.made(account, 1, 1_000 + account)
    expect(makings.size).toBe(1)
  })
})
