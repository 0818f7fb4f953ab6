/**
 * A journal that was restored from an older copy gives the numbers of the lost time out again. A client that was connected then takes no such
 * number for its own: it begins everything anew, while over an ordinary restart it goes on where it was.
 */
import { createHash } from "node:crypto"
import { expect, test } from "vitest"
import { type MemoryDisk, memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import { Client } from "../../src/client/venue/Client.js"
import { LivePlatform, origin, type Reached } from "../client/venue/LivePlatform.js"
import { ready, resting, VenueOver } from "../edge/VenueOver.js"

const marketId = "BTC-USDC-PERP"

/** A venue that lives again and again, on whatever disk it is given, and its trader. */
class Lives implements Reached {
  private count = 0

  private constructor(private venue: VenueOver, readonly accountId: string, readonly apiKey: string) {}

  static async begin(disk: MemoryDisk): Promise<Lives> {
    const { accountId, apiKey, venue } = await ready(disk.layer)
    return new Lives(venue, accountId, apiKey)
  }

  /** Starts it a second later, while its index is fresh, with randomness of its own. */
  async start(disk: MemoryDisk): Promise<void> {
    let drawn = 0
    const life = ++this.count
    const random = { bytes: (count: number) => createHash("shake256", { outputLength: count }).update(`${life} ${drawn++}`).digest() }
    this.venue = new VenueOver(disk.layer, {}, this.venue.epochMs + 1_000, undefined, { random })
    await this.venue.started
    await this.price("60000.0")
  }

  async stop(): Promise<void> {
    await this.venue.stop()
  }

  get application() {
    return this.venue.application
  }

  readonly ask: Reached["ask"] = async ({ body, idempotencyKey, key = "", method = body === undefined ? "GET" : "POST", target }) => {
    const more = idempotencyKey === undefined ? {} : { idempotencyKey }
    const { status, text } = await this.venue.ask(method, target, { body, key, ...more })
    return { status, body: text }
  }

  async price(price: string): Promise<void> {
    await this.venue.ask("PUT", `/v1/operator/markets/${marketId}/index-price`, { body: { price } })
  }

  async place(clientOrderId: string, price: string): Promise<string> {
    const { json } = await this.venue.ask("POST", "/v1/orders", {
      key: this.apiKey,
      body: { ...resting(this.accountId, clientOrderId), price }
    })
    expect(json).toMatchObject({ status: "open" })
    return json.orderId as string
  }

  async cancel(orderId: string): Promise<void> {
    const body = { accountId: this.accountId, marketId }
    const { status } = await this.venue.ask("POST", `/v1/orders/${orderId}/cancel`, { key: this.apiKey, body })
    expect(status).toBe(200)
  }

  async sequence(): Promise<number> {
    const { json } = await this.venue.ask("GET", `/v1/accounts/${this.accountId}/balance`, { key: this.apiKey })
    return json.journalSequence as number
  }

  settle(): Promise<void> {
    return this.venue.settle(5)
  }
}

/** What a client has of a market's book and of its open orders, and what it is told of its connections. */
const watching = (venue: Lives) => {
  const platform = new LivePlatform(venue)
  const gaps: Array<string> = []
  const snapshots: Array<string> = []
  const open = new Set<string>()
  const client = new Client(platform, {
    url: origin,
    apiKey: venue.apiKey,
    accountId: venue.accountId,
    onNotice: (notice) => {
      if (notice.kind === "gap") gaps.push(`${notice.stream} by ${notice.noticedBy}`)
      if (notice.kind === "resync") gaps.push(`${notice.stream} for ${notice.reason}`)
    }
  })
  client.follow({ channel: "account.orders" }, {
    snapshot: ({ data, reason }) => {
      snapshots.push(reason)
      open.clear()
      for (const { orderId } of data) open.add(orderId)
    },
    update: ({ data }) => {
      for (const { orderId, status } of data) {
        if (status === "open") open.add(orderId)
        else open.delete(orderId)
      }
    },
    ended: () => {}
  })
  const feed = client.book(marketId)
  const book = (): ReadonlyArray<string> => feed.book.bids.map(({ price }) => price)
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn++) {
      await venue.settle()
      await platform.arrive()
    }
  }
  const reconnected = async (): Promise<void> => {
    platform.cut()
    await platform.connected()
    await settled()
  }
  return { book, feed, gaps, open, reconnected, settled, snapshots }
}

test.each([
  ["a copy that was made before the last commands", false],
  ["a copy that was made while the venue was stopped, before its last start", true]
])("over a restart a client goes on, and over %s it begins anew", async (_, isOfStop) => {
  const disk = memoryDisk()
  const venue = await Lives.begin(disk)
  const { book, feed, gaps, open, reconnected, settled, snapshots } = watching(venue)
  const kept = await venue.place("kept", "59000.0")
  await settled()
  const early = disk.read()
  await venue.stop()
  const copy = isOfStop ? disk.read() : early

  await venue.start(disk)
  await reconnected()
  const lost = await venue.place("lost", "59001.0")
  await venue.cancel(kept)
  await settled()
  expect([[...open], book(), snapshots, gaps]).toEqual([[lost], ["59001.0"], ["first"], []])
  const seen = await venue.sequence()
  await venue.stop()

  // The copy goes on in its place, beyond everything that the client has seen.
  await venue.start(memoryDisk(copy))
  for (let count = 0; count < 20; count++) await venue.price(`6000${count % 10}.0`)
  expect(await venue.sequence()).toBeGreaterThan(seen)
  await reconnected()
  expect([[...open], book(), snapshots, gaps]).toEqual([
    [kept],
    ["59000.0"],
    ["first", "gap"],
    ["account.orders by hello", `market.book:${marketId} by hello`]
  ])
  expect(feed.isCurrent).toBe(true)
  await venue.stop()
})
