/** What the stream sends by itself as time passes: heartbeats, each stream's progress, and a warning before a ticket ends. */
import { Effect } from "effect"
import { beforeEach, describe, expect, test } from "vitest"
import * as Histories from "../../../src/readmodel/Histories.js"
import { parameters } from "../../engine/drive.js"
import { nextTurn } from "../../Turn.js"
import { LiveVenue, marketId, type Trader } from "../LiveVenue.js"
import { Client } from "./Client.js"

describe("as time passes, the stream", () => {
  let venue: LiveVenue
  let alice: Trader
  let bob: Trader
  let client: Client

  beforeEach(async () => {
    const standing = () => ({
      sequence: venue.engine.sequence,
      atEpochMs: venue.atEpochMs,
      fills: 0,
      lagMs: 0,
      isReplaying: false,
      isRebuilding: false
    })
    // Histories that are always level with the journal, and have no candle yet.
    const histories = { ...Histories.none, standing, candles: () => Effect.sync(() => ({ found: [], standing: standing() })) }
    venue = LiveVenue.make(undefined, { holdsTime: true, histories })
    ;[alice, bob] = await venue.traders(2) as [Trader, Trader]
    client = new Client(venue)
    client.fresh()
  })

  const subscribe = (more: object) => client.say({ op: "subscribe", ...more })
  const saidByItself = async (millis: number): Promise<ReadonlyArray<any>> => {
    await venue.pass(millis)
    return client.fresh().filter(({ type }) => type === "heartbeat" || type === "ticket_expiring")
  }
  const heads = async (): Promise<unknown> => (await saidByItself(5_000)).find(({ type }) => type === "heartbeat")?.heads

  test("says every five seconds which record last changed each stream that the client was given", async () => {
    const quiet = "BBB-USDC-PERP"
    venue.market(parameters("BBB"))
    const [status, quietStatus] = await Promise.all(
      [marketId, quiet].map(async (id) => (await venue.read(undefined, `/v1/markets/${id}`)).snapshotSequence)
    )
    await client.authenticate(alice)
    for (const name of ["book", "trades", "ticker", "funding", "status"]) subscribe({ channel: `market.${name}`, marketId })
    for (const name of ["book", "status"]) subscribe({ channel: `market.${name}`, marketId: quiet })
    for (const name of ["orders", "fills", "positions", "balance", "deposits"]) subscribe({ channel: `account.${name}` })
    subscribe({ channel: "market.candles", marketId, timeframe: "1m" })
    while (client.frames.at(-1).channel !== "market.candles") await client.reached(1).then(() => client.fresh())
    await venue.place(bob, { side: "sell", quantity: "0.250" })
    await venue.place(alice, { quantity: "0.250" })
    const traded = venue.engine.sequence
    await venue.place(alice, { price: "99.0" })
    const own = venue.engine.sequence
    await venue.place(bob, { price: "98.0" })
    const last = venue.engine.sequence
    client.fresh()

    expect(await saidByItself(4_000)).toEqual([])
    expect(client.pings).toBe(0)
    const expected = {
      [`market.book:${marketId}`]: last,
      [`market.trades:${marketId}`]: traded,
      [`market.ticker:${marketId}`]: traded,
      [`market.funding:${marketId}`]: 0,
      // A last price is no news for the status of a market.
      [`market.status:${marketId}`]: status,
      [`market.book:${quiet}`]: 0,
      [`market.status:${quiet}`]: quietStatus,
      "account.orders": own,
      "account.fills": traded,
      "account.positions": traded,
      "account.balance": own,
      "account.deposits": 0,
      [`market.candles:${marketId}:1m:trade`]: traded
    }
    expect(await saidByItself(1_000)).toEqual([{ type: "heartbeat", serverTimeEpochMs: venue.atEpochMs, heads: expected }])
    expect(client.pings).toBe(1)
    expect(await saidByItself(10_000)).toMatchObject([{ heads: expected }, { heads: expected }])
    expect(client.pings).toBe(3)
  })

  test("says so to a fifth of all clients each second, and goes on with other work between some hundred of them", async () => {
    let turn = 0
    const said = new Map<number, number>()
    const clients = [client, ...Array.from({ length: 599 }, () => new Client(venue))]
    for (const each of clients) {
      let pings = 0
      Object.defineProperty(each, "pings", {
        get: () => pings,
        set: (count: number) => {
          pings = count
          said.set(turn, (said.get(turn) ?? 0) + 1)
        }
      })
    }
    let isOver = false
    const counting = async (): Promise<void> => {
      for (; !isOver; turn++) await nextTurn()
    }
    const counted = counting()
    for (let second = 0; second < 10; second++) {
      said.clear()
      await venue.pass(1_000)
      const together = [...said.values()]
      expect(together.reduce((sum, each) => sum + each, 0)).toBe(120)
      expect(Math.max(...together)).toBeLessThan(60)
    }
    isOver = true
    await counted
    expect(clients.every(({ frames, pings }) => pings === 2 && frames.filter(({ type }) => type === "heartbeat").length === 2)).toBe(true)
  })

  test("says so as often where giving way to other work takes a fifth of a second each time", async () => {
    let waiting: Array<() => void> = []
    venue = LiveVenue.make(undefined, { holdsTime: true, turns: { schedule: (turn) => void waiting.push(turn) } })
    const clients = Array.from({ length: 600 }, () => new Client(venue))
    for (let step = 0; step < 78; step++) {
      await venue.pass(200)
      const due = waiting
      waiting = []
      for (const turn of due) turn()
    }
    expect(new Set(clients.map(({ pings }) => pings))).toEqual(new Set([3]))
  })

  test("says of what is put together for a slow client only what that was given", async () => {
    const book = `market.book:${marketId}`
    subscribe({ channel: "market.book", marketId })
    await venue.place(alice, { price: "99.0" })
    const given = venue.engine.sequence
    client.buffered = 100_000
    await venue.place(alice, { price: "98.0" })
    expect(await heads()).toEqual({ [book]: given })
    expect(client.drain()).toMatchObject([{ type: "update", previousSequence: given, sequence: venue.engine.sequence }])
    expect(await heads()).toEqual({ [book]: venue.engine.sequence })
  })

  test("says nothing of what is not durable, of a stream that has yet to begin, and of one that has ended", async () => {
    const [book, trades] = [{ channel: "market.book", marketId }, { channel: "market.trades", marketId }]
    expect(await heads()).toEqual({})
    subscribe(book)
    venue.holdDisk()
    void venue.place(alice, { price: "99.0" })
    subscribe(trades)
    expect(await heads()).toEqual({ [`market.book:${marketId}`]: 0 })
    venue.releaseDisk()
    expect(await heads()).toEqual({ [`market.book:${marketId}`]: venue.engine.sequence, [`market.trades:${marketId}`]: 0 })
    client.say({ op: "unsubscribe", ...book })
    expect(await heads()).toEqual({ [`market.trades:${marketId}`]: 0 })
  })

  test("warns once, half a minute before the ticket that was shown is over, and again of one shown instead that is over later", async () => {
    const warnings = async (millis: number): Promise<ReadonlyArray<any>> => {
      const said: Array<any> = []
      for (const end = venue.atEpochMs + millis; venue.atEpochMs < end;) {
        said.push(...await saidByItself(Math.min(30_000, end - venue.atEpochMs)))
        client.say({ op: "ping" })
      }
      return said.filter(({ type }) => type === "ticket_expiring")
    }
    expect(await warnings(30_000)).toEqual([])
    const ticket = await client.ticket(alice)
    const [{ expiresAt }] = client.say({ op: "auth", ticket })
    expect(expiresAt).toBe(venue.atEpochMs + 300_000)
    expect(await warnings(269_000)).toEqual([])
    expect(await warnings(1_000)).toEqual([{ type: "ticket_expiring", expiresAt }])
    expect(await warnings(10_000)).toEqual([])
    client.say({ op: "auth", ticket })
    expect(client.fresh()).toEqual([])
    expect(await warnings(10_000)).toEqual([])
    const [again] = await client.authenticate(alice)
    expect(again.expiresAt).toBe(venue.atEpochMs + 300_000)
    expect(await warnings(269_000)).toEqual([])
    expect(await warnings(31_000)).toEqual([{ type: "ticket_expiring", expiresAt: again.expiresAt }])
    expect(venue.atEpochMs).toBe(again.expiresAt)
  })
})
