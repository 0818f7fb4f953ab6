/**
 * Books that many clients request while they change: one text serves many clients, and the snapshot with its updates gives the venue's
 * book.
 */
import { beforeEach, describe, expect, test, vi } from "vitest"
import { LocalBook } from "../../../src/client/venue/LocalBook.js"
import { parameters } from "../../engine/drive.js"
import { checksumDepth, maxDepth } from "../../../src/edge/markets/getBook.js"
import { mostBehindWhole } from "../../../src/streams/Log.js"
import { maxPlaceEntries } from "../../../src/operations/orders/PlaceOrders.js"
import { LiveVenue, marketId, order, type Trader } from "../LiveVenue.js"
import { Client } from "./Client.js"

const book = { channel: "market.book", marketId }

describe("a book that is asked for while it changes", () => {
  let venue: LiveVenue
  let alice: Trader
  let bob: Trader

  beforeEach(async () => {
    venue = LiveVenue.make(undefined, { holdsTime: true })
    ;[alice, bob] = await venue.traders(2) as [Trader, Trader]
  })

  const asked = (client: Client, more: object = book): ReadonlyArray<any> => client.say({ op: "subscribe", ...more })

  /** The book built from its snapshot and the updates after it. */
  const built = ([snapshot, ...updates]: ReadonlyArray<any>): LocalBook => {
    const local = new LocalBook()
    expect(local.reset(snapshot.data, snapshot.sequence)).toBe(true)
    for (const { checksum, data, previousSequence, sequence } of updates) {
      expect(previousSequence).toBe(local.sequence)
      expect(local.apply(data, sequence, checksum)).toBe(true)
    }
    return local
  }

  test("is made once for many who ask and ask again, and each has what the venue has", async () => {
    const client = new Client(venue)
    client.fresh()
    const made = vi.spyOn(venue.engine, "book")
    // Trades change the market's ticker, but not how its book is sent.
    await venue.place(bob, { side: "sell", quantity: "0.500" })
    const times = 2 * mostBehindWhole.updates
    for (let count = 0; count < times; count++) {
      // Keeps within the frames that one connection may send in a second.
      venue.atEpochMs += 25
      await venue.place(alice, count % 4 === 0 ? { quantity: "0.001" } : { price: (90 + count % 7).toFixed(1), quantity: "0.001" })
      const [subscribed, ...frames] = asked(client)
      expect(subscribed).toMatchObject({ type: "subscribed", resumed: false })
      const local = built(frames)
      expect(local.sequence).toBe(venue.engine.sequence)
      client.say({ op: "unsubscribe", ...book })
      if (count === times - 1) {
        expect(made.mock.calls.filter(([, depth]) => depth > checksumDepth).length).toBe(2)
        expect(await venue.read(undefined, `/v1/markets/${marketId}/book`)).toMatchObject({ bids: local.bids, asks: local.asks })
      }
    }
  })

  test("is shown with nothing behind it that is not durable, and goes on with what comes", async () => {
    const [first, second] = [new Client(venue), new Client(venue)]
    const [, { sequence }] = asked(first).slice(-2)
    await venue.place(alice, { price: "99.0" })
    second.fresh()
    venue.holdDisk()
    const placed = [venue.place(alice, { price: "98.0" })]
    expect(asked(second)).toEqual([])
    placed.push(venue.place(alice, { price: "97.0" }))
    venue.releaseDisk()
    await Promise.all(placed)
    await second.reached(5)
    const [, ...frames] = second.fresh()
    expect(frames.map(({ type }) => type)).toEqual(["snapshot", "update", "update", "update"])
    expect(frames[0].sequence).toBe(sequence)
    const local = built(frames)
    expect(await venue.read(undefined, `/v1/markets/${marketId}/book`)).toMatchObject({ bids: local.bids, asks: local.asks })
  })

  /** Places bids one atom of price apart, as many as the traders' batches hold. */
  const layBids = async (deep: string, from: number, count: number): Promise<void> => {
    const traders = await venue.traders(Math.ceil(count / 200))
    for (let at = 0; at < count;) {
      const trader = traders[Math.floor(at / 200)]!
      const most = Math.min(maxPlaceEntries, count - at, 200 - at % 200)
      const orders = Array.from({ length: most }, (_, index) =>
        order(trader, {
          marketId: deep,
          clientOrderId: `c-${at + index}`,
          price: ((from - at - index) / 10).toFixed(1),
          quantity: "0.001"
        }))
      const response = await venue.post(trader, "/v1/orders/batch", { orders })
      expect(JSON.parse(response.body).outcomes.every(({ accepted }: any) => accepted)).toBe(true)
      at += most
    }
  }

  test("has more levels than REST shows, and whoever goes on from there gets all of them", async () => {
    venue.market(parameters("DEEP", { priceBandBps: 9_000 }))
    const deep = { channel: "market.book", marketId: "DEEP-USDC-PERP" }
    const target = `/v1/markets/${deep.marketId}/book`
    await layBids(deep.marketId, 990, maxDepth)
    const whole = await venue.read(undefined, target)
    expect([whole.bids.length, whole.resync]).toEqual([maxDepth, { stream: "market.book", fromSequence: whole.snapshotSequence }])
    await venue.place(alice, { marketId: deep.marketId, price: "10.1" })
    const cut = await venue.read(undefined, target)
    expect(cut.bids).toEqual(whole.bids)
    expect(cut.resync).toEqual({ stream: "market.book", fromSequence: 0 })
    expect((await venue.read(undefined, "/v2/markets/DEEP%2FUSDC%3AUSDC/book?limit=1")).info).toEqual(cut)
    const client = new Client(venue)
    client.fresh()
    const [subscribed, ...frames] = client.say({ op: "subscribe", ...cut.resync, marketId: cut.marketId })
    expect([subscribed, ...frames].map(({ reason, resumed, type }) => [type, resumed ?? reason])).toEqual([
      ["subscribed", false],
      ["resync", "retention"],
      ["snapshot", undefined]
    ])
    const local = built(frames.slice(1))
    expect([local.bids.length, local.bids.at(-1)]).toMatchObject([maxDepth + 1, { price: "10.1" }])
  })
})
