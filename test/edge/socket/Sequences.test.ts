/** The meaning of a snapshot's sequence, and the order in which records reach a client that stayed and one that comes back. */
import { describe, expect, test } from "vitest"
import { accountChannels, type Channel, marketChannels } from "../../../src/streams/Channels.js"
import { usualBounds } from "../../../src/streams/Replay.js"
import { parameters } from "../../engine/drive.js"
import { LiveVenue, marketId, type Trader } from "../LiveVenue.js"
import { Client } from "./Client.js"

const named = (channel: Channel): object =>
  (accountChannels as ReadonlyArray<string>).includes(channel) ? { channel } : { channel, marketId }

describe("a snapshot", () => {
  test("is of the last record that changed it; where nobody knows which that was, of a later one", async () => {
    const venue = LiveVenue.make()
    const [alice, bob] = await venue.traders(2) as [Trader, Trader]
    const other = "BBB-USDC-PERP"
    venue.market(parameters("BBB"))
    const channels = [...marketChannels, ...accountChannels]
    /** The sequences of a new client's snapshots, by channel; the book's includes the updates since the snapshot was made. */
    const sequences = async (): Promise<Readonly<Record<string, number>>> => {
      const client = new Client(venue)
      await client.authenticate(alice)
      for (const channel of channels) client.say({ op: "subscribe", ...named(channel) })
      const snapshots = client.frames.filter(({ channel, type }) => type === "snapshot" || type === "update" && channel === "market.book")
      return Object.fromEntries(snapshots.map(({ channel, sequence }) => [channel, sequence]))
    }
    /** Adds a resting order, and returns the sequence of its record. */
    const rest = async (trader: Trader, more: Readonly<Record<string, unknown>>): Promise<number> =>
      (await venue.place(trader, more)).lastSequence
    await sequences()
    await rest(bob, { side: "sell", quantity: "0.250" })
    const traded = await rest(alice, { quantity: "0.250" })
    const own = await rest(alice, { price: "99.0" })
    const booked = await rest(bob, { price: "98.0" })
    // Other markets and other accounts do not change these.
    const last = await rest(bob, { marketId: other, price: "97.0" })
    const known = {
      "market.book": booked,
      "market.trades": traded,
      "market.funding": 0,
      "account.fills": traded,
      "account.positions": traded,
      "account.balance": own,
      "account.deposits": 0
    }
    // Streams with subscribers know the last sequence that they sent.
    expect(await sequences()).toMatchObject({ ...known, "market.ticker": traded, "account.orders": own })
    venue.restart()
    const { "account.orders": orders, "market.status": status, "market.ticker": ticker, ...exact } = await sequences()
    expect(exact).toEqual(known)
    expect(status).toBe((await venue.read(undefined, `/v1/markets/${marketId}`)).snapshotSequence)
    expect(ticker).toBe(venue.engine.sequence)
    expect(ticker).toBeGreaterThanOrEqual(last)
    expect(orders).toBe(own)
    // The account changes, but not its orders: that they are as old as before is no longer known.
    const set = await venue.ask({
      method: "PUT",
      target: `/v1/accounts/${alice.accountId}/markets/${marketId}/leverage`,
      body: { leverageX: 5 },
      key: alice.key,
      idempotencyKey: venue.nextKey()
    })
    expect(set.status).toBe(200)
    const changed = venue.engine.sequence
    venue.restart()
    expect(await sequences()).toMatchObject({
      ...known,
      "account.balance": changed,
      "account.positions": changed,
      "account.orders": changed
    })
  })
})

describe("records", () => {
  test("are told one by one over all of an account's channels, also to who comes back, once each channel is where it was", async () => {
    const missed = { ...usualBounds, pieceText: 1_000, pieceRecords: 4, turnRecords: 3 }
    const venue = LiveVenue.make(undefined, { room: { keptUpdates: 2, missed } })
    const [alice, bob] = await venue.traders(2) as [Trader, Trader]
    const trade = async (): Promise<void> => {
      await venue.place(bob, { side: "sell", quantity: "0.010" })
      await venue.place(alice, { quantity: "0.010" })
    }
    const since = venue.engine.sequence
    for (let count = 0; count < 12; count++) await trade()
    venue.restart()
    const client = new Client(venue)
    await client.authenticate(alice)
    client.fresh()
    const channels = accountChannels.filter((channel) => channel !== "account.deposits")
    for (const channel of channels) client.say({ op: "subscribe", channel, fromSequence: since })
    const { events } = await venue.read(alice, `/v1/accounts/${alice.accountId}/changes?fromSequence=${since}&limit=500`)
    await client.reached(channels.length + events.length)
    const frames = client.fresh().filter(({ type }) => type === "update")
    for (const channel of channels) {
      // Each channel by itself: everything, in order, and nothing twice.
      const told = frames.filter((frame) => frame.channel === channel).map(({ data, sequence }) => ({ channel, sequence, data }))
      expect(told).toEqual(events.filter((event: any) => event.channel === channel))
    }
    await trade()
    await trade()
    const live = client.fresh()
    expect(live.map(({ channel }) => channel)).toEqual([...channels, ...channels])
    const sequences = live.map(({ sequence }) => sequence)
    expect(sequences).toEqual(sequences.toSorted((one, other) => one - other))
  })

  test("are told from the journal to who comes back, where accounts' streams together have no room to keep them", async () => {
    const venue = LiveVenue.make(undefined, { room: { keptBytesOfAccounts: 1_500 } })
    const [alice] = await venue.traders(1) as [Trader]
    const since = venue.engine.sequence
    const listener = new Client(venue)
    await listener.authenticate(alice)
    listener.say({ op: "subscribe", channel: "account.orders", fromSequence: since })
    for (let count = 0; count < 6; count++) await venue.place(alice, { quantity: "0.010" })
    expect(listener.fresh().map(({ type }) => type)).toEqual(Array.from({ length: 6 }, () => "update"))
    const kept = /^venue_stream_kept_bytes (\d+)$/m.exec((await venue.ask({ target: "/metrics" })).body)?.[1]
    expect(Number(kept)).toBeLessThanOrEqual(1_500)
    expect(Number(kept)).toBeGreaterThan(0)
    const { events } = await venue.read(alice, `/v1/accounts/${alice.accountId}/changes?fromSequence=${since}&limit=500`)
    const client = new Client(venue)
    await client.authenticate(alice)
    client.fresh()
    client.say({ op: "subscribe", channel: "account.orders", fromSequence: since })
    await client.reached(7)
    const frames = client.fresh()
    expect(frames.map(({ type }) => type)).toEqual(["subscribed", ...Array.from({ length: 6 }, () => "update")])
    expect(frames.slice(1).map(({ data, sequence }) => ({ channel: "account.orders", sequence, data }))).toEqual(
      events.filter(({ channel }: any) => channel === "account.orders")
    )
  })
})
