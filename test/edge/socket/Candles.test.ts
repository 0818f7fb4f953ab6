/** Candles on the stream: those of the histories, and every later price as soon as it is durable. */
import { Effect } from "effect"
import { beforeEach, describe, expect, test } from "vitest"
import { Candles, type Series, seriesNames } from "../../../src/readmodel/Candles.js"
import type { Standing } from "../../../src/readmodel/Histories.js"
import * as Histories from "../../../src/readmodel/Histories.js"
import { timeframes } from "../../../src/readmodel/Timeframes.js"
import { parameters } from "../../engine/drive.js"
import { LiveVenue, marketId, type Trader } from "../LiveVenue.js"
import { Client } from "./Client.js"

interface Price {
  readonly sequence: number
  readonly series: Series
  readonly atEpochMs: number
  readonly priceAtoms: number
  readonly sizeAtoms: number
}

/** Histories at a point that the test sets, made of the prices that it recorded. */
class Past {
  readonly prices: Array<Price> = []
  sequence = 0
  isRebuilding = false
  isLost = false
  reads = 0

  get standing(): Standing {
    return { sequence: this.sequence, atEpochMs: 0, fills: 0, lagMs: 0, isReplaying: this.isRebuilding, isRebuilding: this.isRebuilding }
  }

  readonly histories: Histories.Histories["Type"] = {
    ...Histories.none,
    standing: () => this.isLost ? undefined : this.standing,
    candles: ({ limit, market, series, timeframe }) =>
      Effect.sync(() => {
        this.reads++
        const candles = new Candles()
        const rows = new Map<number, ReturnType<Candles["take"]>[number]>()
        for (const price of this.prices) {
          if (price.sequence > this.sequence) continue
          candles.add(price.series, market, price.priceAtoms, price.sizeAtoms, price.atEpochMs)
          for (const row of candles.take()) {
            if (row.series === seriesNames.indexOf(series) && row.timeframe === timeframes.indexOf(timeframe)) rows.set(row.openTimeEpochMs,
                row)
          }
        }
        return { found: [...rows.values()].slice(-limit), standing: this.standing }
      })
  }
}

describe("candles on the stream", () => {
  let past: Past
  let venue: LiveVenue
  let alice: Trader
  let bob: Trader
  let client: Client

  beforeEach(async () => {
    past = new Past()
    venue = LiveVenue.make(undefined, { histories: past.histories })
    ;[alice, bob] = await venue.traders(2) as [Trader, Trader]
    client = new Client(venue)
    client.fresh()
  })

  const trade = async (price: string, quantity: string): Promise<void> => {
    await venue.place(alice, { price, quantity })
    await venue.place(bob, { side: "sell", price, quantity })
    past.prices.push({
      sequence: venue.engine.sequence,
      series: "trade",
      atEpochMs: venue.atEpochMs,
      priceAtoms: Number(price) * 10,
      sizeAtoms: Number(quantity) * 1000
    })
  }
  const caughtUp = (): void => {
    past.sequence = venue.engine.sequence
  }
  /** Sends frames, and returns what arrives once it is `count` frames. */
  const ask = async (count: number, ...frames: ReadonlyArray<object>): Promise<ReadonlyArray<any>> => {
    const told = frames.flatMap((frame) => client.say({ op: "subscribe", ...frame }))
    if (told.length >= count) return told
    await client.reached(count - told.length)
    return [...told, ...client.fresh()]
  }
  const stream = { channel: "market.candles", marketId, timeframe: "1m" }
  const numbersOf = (candle: any): ReadonlyArray<unknown> => [candle.open, candle.high, candle.low, candle.close, candle.volume]

  test("are a snapshot of what was, then each that a record changes; a price beyond its end ends one and begins the next", async () => {
    await trade("100.0", "1.000")
    caughtUp()
    venue.atEpochMs += 60_000
    await trade("101.0", "0.500")
    caughtUp()
    const [subscribed, snapshot] = await ask(2, stream)
    expect(subscribed).toMatchObject({ type: "subscribed", ...stream, series: "trade", resumed: false })
    expect(snapshot).toMatchObject({ type: "snapshot", ...stream, series: "trade", sequence: venue.engine.sequence })
    expect(snapshot.data.map(numbersOf)).toEqual([
      ["100.0", "100.0", "100.0", "100.0", "1.000"],
      ["101.0", "101.0", "101.0", "101.0", "0.500"]
    ])
    await trade("99.0", "0.250")
    venue.atEpochMs += 120_000
    await trade("102.0", "0.100")
    const [grown, next] = client.fresh()
    expect(grown).toMatchObject({ type: "update", ...stream, series: "trade", previousSequence: snapshot.sequence })
    expect(grown.data.map(numbersOf)).toEqual([["101.0", "101.0", "99.0", "99.0", "0.750"]])
    expect(next).toMatchObject({ previousSequence: grown.sequence, sequence: venue.engine.sequence })
    expect(next.data.map(numbersOf)).toEqual([
      ["101.0", "101.0", "99.0", "99.0", "0.750"],
      ["102.0", "102.0", "102.0", "102.0", "0.100"]
    ])
    // Exactly the records, members in their order, that REST returns once the histories have caught up.
    caughtUp()
    const { candles } = await venue.read(undefined, `/v1/markets/${marketId}/candles?series=trade`)
    expect(JSON.stringify([...snapshot.data.slice(0, 1), ...next.data])).toBe(JSON.stringify(candles))
  })

  test("begin once the histories have come to where they were asked for, with every trade between", async () => {
    await trade("100.0", "1.000")
    await trade("105.0", "1.000")
    const asked = ask(2 * timeframes.length, ...timeframes.map((timeframe) => ({ ...stream, timeframe })))
    // The histories catch up while trades continue: the later trades are added, and none twice.
    await trade("95.0", "1.000")
    const sequence = venue.engine.sequence
    await trade("100.5", "0.500")
    past.sequence = sequence
    const frames = await asked
    const snapshots = frames.filter(({ type }) => type === "snapshot")
    expect(snapshots.map(({ timeframe }) => timeframe).sort()).toEqual([...timeframes].sort())
    for (const snapshot of snapshots) {
      expect(snapshot.data.map(numbersOf)).toEqual([["100.0", "105.0", "95.0", "100.5", "3.500"]])
      expect(snapshot.sequence).toBe(venue.engine.sequence)
    }
  })

  test("are begun for one network without a ticket up to a quarter of all, and it is told when to ask for more", async () => {
    const markets = Array.from({ length: 12 }, (_, index) => parameters(`X${String.fromCharCode(65 + index)}`))
    for (const market of markets) venue.market(market)
    caughtUp()
    const names = markets.flatMap(({ marketId }) =>
      seriesNames.flatMap((series) => timeframes.map((timeframe) => ({ ...stream, marketId, timeframe, series })))
    )
    const more = names[250]!
    for (const from of [0, 84, 168]) {
      client = new Client(venue)
      client.fresh()
      const part = names.slice(from, Math.min(from + 84, 250))
      const told = await ask(2 * part.length, ...part)
      expect(told.filter(({ type }) => type === "snapshot")).toHaveLength(part.length)
    }
    expect(await ask(1, more)).toMatchObject([{ type: "error", error: { code: "rate_limited" }, retryAfterSeconds: 10 }])
    await client.authenticate(alice)
    caughtUp()
    expect(await ask(2, more)).toMatchObject([{ type: "subscribed" }, { type: "snapshot" }])
    // What was asked for before the ticket counts for the account now, so that others of the network have the room.
    client = new Client(venue)
    client.fresh()
    const others = names.slice(251, 251 + 82)
    expect((await ask(2 * 82, ...others)).filter(({ type }) => type === "snapshot")).toHaveLength(82)
    client = new Client(venue)
    client.fresh()
    expect(await ask(1, names[251 + 82]!)).toMatchObject([{ type: "error", error: { code: "rate_limited" } }])
  })

  test("begin anew where the histories were lost and are there again, and whoever has them is told so", async () => {
    await trade("100.0", "1.000")
    caughtUp()
    const [, { sequence }] = await ask(2, stream)
    const other = new Client(venue)
    other.say({ op: "subscribe", ...stream })
    other.say({ op: "unsubscribe", ...stream })
    past.isLost = true
    await trade("101.0", "1.000")
    const [update] = client.fresh()
    expect(update).toMatchObject({ type: "update", previousSequence: sequence })
    // What was read of the lost histories was wrong, and is not in the rebuilt ones.
    past.prices[0] = { ...past.prices[0]!, priceAtoms: 990 }
    past.isLost = false
    await trade("102.0", "1.000")
    const last = venue.engine.sequence
    caughtUp()
    await client.reached(3)
    const [grown, resync, snapshot] = client.fresh()
    expect(grown).toMatchObject({ type: "update", previousSequence: update.sequence, sequence: last })
    expect(resync).toMatchObject({ type: "resync", stream: "market.candles", marketId, timeframe: "1m", reason: "projector_reset" })
    expect(snapshot).toMatchObject({ type: "snapshot", ...stream, sequence: last })
    expect(snapshot.data.map(numbersOf)).toEqual([["99.0", "102.0", "99.0", "102.0", "3.000"]])
    await trade("98.0", "1.000")
    const [next] = client.fresh()
    expect(next).toMatchObject({ type: "update", previousSequence: last })
    expect(next.data.map(numbersOf)).toEqual([["99.0", "102.0", "98.0", "98.0", "4.000"]])
    // A client that resumes from a sequence before the reset gets the same resync.
    expect(other.say({ op: "subscribe", ...stream, fromSequence: sequence }).slice(-3)).toMatchObject([
      { type: "subscribed", resumed: false },
      { type: "resync", reason: "projector_reset" },
      { type: "snapshot", sequence: next.sequence }
    ])
  })

  test("are read once for all who ask, go on where a client was, and become one update for who is slow", async () => {
    await trade("100.0", "1.000")
    caughtUp()
    const [, { sequence }] = await ask(2, stream)
    new Client(venue).say({ op: "subscribe", ...stream })
    expect(past.reads).toBe(1)
    client.say({ op: "unsubscribe", ...stream })
    await trade("101.0", "1.000")
    const [resumed, update] = client.say({ op: "subscribe", ...stream, fromSequence: sequence }).slice(-2)
    expect(resumed).toMatchObject({ type: "subscribed", resumed: true })
    expect(update).toMatchObject({ type: "update", previousSequence: sequence, sequence: venue.engine.sequence })
    client.buffered = 100_000
    const before = venue.engine.sequence
    for (const price of ["102.0", "103.0"]) await trade(price, "1.000")
    venue.atEpochMs += 60_000
    await trade("104.0", "1.000")
    expect(client.fresh()).toEqual([])
    const [merged] = client.drain()
    expect(merged).toMatchObject({ previousSequence: before, sequence: venue.engine.sequence })
    expect(merged.data.map(numbersOf)).toEqual([
      ["100.0", "103.0", "100.0", "103.0", "4.000"],
      ["104.0", "104.0", "104.0", "104.0", "1.000"]
    ])
  })

  test("of the index are told by each sample that is taken", async () => {
    caughtUp()
    const [, snapshot] = await ask(2, { ...stream, series: "index" })
    expect(snapshot).toMatchObject({ series: "index", data: [] })
    venue.atEpochMs += 1_000
    venue.send({ kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms: 1001, sourceEpochMs: venue.atEpochMs })
    expect(client.fresh()).toMatchObject([{ type: "update", series: "index", data: [{ open: "100.1", volume: "0.000" }] }])
  })

  test("are none while the histories are made anew, of no length, and of no other channel", async () => {
    past.isRebuilding = true
    const refusal = (code: string, dependency?: string) => [{
      type: "error",
      error: { code, ...(dependency === undefined ? {} : { dependency }) }
    }]
    expect(await ask(1, stream)).toMatchObject(refusal("dependency_unavailable", "read_model"))
    past.isRebuilding = false
    caughtUp()
    expect((await ask(2, stream)).map(({ type }) => type)).toEqual(["subscribed", "snapshot"])
    expect(client.say({ op: "subscribe", ...stream })).toMatchObject(refusal("invalid_request"))
    expect(client.say({ op: "subscribe", channel: "market.candles", marketId })).toMatchObject(refusal("invalid_request"))
    expect(client.say({ op: "subscribe", ...stream, timeframe: "7m" })).toMatchObject(refusal("invalid_request"))
    expect(client.say({ op: "subscribe", ...stream, channel: "market.book" })).toMatchObject(refusal("invalid_request"))
  })

  test("are not shown before they are durable", async () => {
    caughtUp()
    await ask(2, stream)
    venue.holdDisk()
    void venue.place(alice, { price: "100.0", quantity: "1.000" })
    void venue.place(bob, { side: "sell", price: "100.0", quantity: "1.000" })
    expect(client.fresh()).toEqual([])
    venue.releaseDisk()
    expect(client.fresh()).toMatchObject([{ type: "update", data: [{ close: "100.0", volume: "1.000" }] }])
  })
})
