/** Listings page by page while orders and fills arrive: entries that were there at the first page are seen once, whatever arrives. */
import { describe, expect, test } from "vitest"
import * as Ids from "../../src/domain/Ids.js"
import * as Cursor from "../../src/edge/http/Cursor.js"
import type { Response } from "../../src/edge/http/Listener.js"
import { parameters } from "../engine/drive.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId, type Trader } from "./LiveVenue.js"

interface Listing {
  readonly name: string
  readonly member: string
  readonly id: string
  readonly target: (alice: Trader) => string
  /** Whether the arriving entries belong to the listing. */
  readonly grows: boolean
  /** Whether the engine walks past entries that the listing does not show. */
  readonly filtered?: boolean
}

const listings: ReadonlyArray<Listing> = [
  { name: "orders", member: "orders", id: "orderId", target: (a) => `/v1/accounts/${a.accountId}/orders?`, grows: true },
  {
    name: "open orders of a market",
    member: "orders",
    id: "orderId",
    target: (a) => `/v1/accounts/${a.accountId}/orders?status=open&marketId=${marketId}&`,
    grows: true
  },
  {
    name: "closed orders",
    member: "orders",
    id: "orderId",
    target: (a) => `/v1/accounts/${a.accountId}/orders?status=closed&`,
    grows: true,
    filtered: true
  },
  { name: "own fills", member: "fills", id: "tradeId", target: (a) => `/v1/accounts/${a.accountId}/fills?`, grows: true },
  {
    name: "own fills of another market",
    member: "fills",
    id: "tradeId",
    target: (a) => `/v1/accounts/${a.accountId}/fills?marketId=BBB-USDC-PERP&`,
    grows: false
  },
  { name: "public trades", member: "trades", id: "tradeId", target: () => `/v1/markets/${marketId}/trades?`, grows: true }
]

const make = async () => {
  const venue = LiveVenue.make()
  venue.market(parameters("BBB"))
  const [alice, bob] = await venue.traders(2) as [Trader, Trader]
  /** Adds one order that rests, and one that trades. */
  const arrive = async (market: string): Promise<void> => {
    venue.atEpochMs += 3
    await venue.place(alice, { marketId: market, price: "91.0" })
    await venue.place(alice, { marketId: market, side: "sell", price: "100.0", quantity: "0.002" })
    await venue.place(bob, { marketId: market, price: "100.0", quantity: "0.002" })
  }
  return { venue, alice, bob, arrive }
}

describe.each(listings)("$name", ({ filtered = false, grows, id, member, target }) => {
  test.each([1, 3, 7, 100])("in pages of %i", async (limit) => {
    const { alice, arrive, venue } = await make()
    for (let count = 0; count < 9; count++) await arrive(count % 3 === 0 ? "BBB-USDC-PERP" : marketId)
    const page = async (cursor: string) => venue.read(alice, `${target(alice)}limit=${limit}${cursor}`)
    const ids = (entries: ReadonlyArray<any>) => entries.map((entry) => entry[id])
    const there = ids((await venue.read(alice, `${target(alice)}limit=100`))[member])
    expect(there.length).toBeGreaterThan(2)
    const seen: Array<string> = []
    let cursor: string | null = ""
    let pages = 0
    while (cursor !== null) {
      const answer: any = await page(cursor === "" ? "" : `&cursor=${cursor}`)
      expect(answer[member].length).toBeLessThanOrEqual(limit)
      seen.push(...ids(answer[member]))
      cursor = answer.nextCursor
      pages++
      await arrive(marketId)
    }
    expect(seen).toEqual(there)
    // Behind a full page of a filtered listing there may be nothing that it shows, so the last page may be empty.
    expect([0, filtered ? 1 : 0]).toContain(pages - Math.ceil(there.length / limit))
    const after = ids((await venue.read(alice, `${target(alice)}limit=100`))[member])
    expect(after.length > there.length).toBe(grows)
    expect(after.slice(after.length - there.length)).toEqual(there)
  })

  test("is another's: what it shows is only the account's own", async () => {
    const { alice, arrive, bob, venue } = await make()
    await arrive(marketId)
    await arrive("BBB-USDC-PERP")
    if (target(alice) === target(bob)) return
    const mine = (await venue.read(alice, target(alice)))[member].map((entry: any) => entry.accountId)
    expect(new Set(mine)).toEqual(new Set([alice.accountId]))
    expect((await venue.ask({ target: target(alice), key: bob.key })).status).toBe(404)
  })
})

test("newest first, 50 to a page unless asked otherwise", async () => {
  const { alice, venue } = await make()
  for (let count = 0; count < 60; count++) await venue.place(alice, { price: "90.0", clientOrderId: `c${count}` })
  const first = await venue.read(alice, `/v1/accounts/${alice.accountId}/orders`)
  expect(first.orders.map((order: any) => order.clientOrderId)).toEqual(Array.from({ length: 50 }, (_, at) => `c${59 - at}`))
  const second = await venue.read(alice, `/v1/accounts/${alice.accountId}/orders?cursor=${first.nextCursor}`)
  expect(second.orders).toHaveLength(10)
  expect(second.nextCursor).toBeNull()
})

test("a cursor made of another's order, or of none, starts again from the first page", async () => {
  const { alice, bob, venue } = await make()
  const { orderId } = await venue.place(bob, { price: "90.0" })
  await venue.place(alice, { price: "90.0" })
  for (const before of [Ids.parseOrderId(orderId)!, 12345, Number.MAX_SAFE_INTEGER]) {
    const response = await venue.ask({
      target: `/v1/accounts/${alice.accountId}/orders?cursor=${Cursor.encode("orders", before)}`,
      key: alice.key
    })
    expect([response.status, JSON.parse(response.body).recoveryActions]).toEqual([400, ["restart_from_first_page"]])
  }
})

test("a fill is each side's own, with its order, liquidity and fee", async () => {
  const { alice, bob, venue } = await make()
  const sell = await venue.place(alice, { side: "sell", price: "100.1", quantity: "0.500" })
  const buy = await venue.place(bob, { price: "100.1", quantity: "0.500" })
  const fills = async (trader: Trader) => (await venue.read(trader, `/v1/accounts/${trader.accountId}/fills`)).fills
  const shared = {
    tradeId: "trd_0",
    marketId,
    price: "100.1",
    priceAtoms: "1001",
    size: "0.500",
    sizeAtoms: "500",
    notional: "50.050000",
    notionalAtoms: "50050000",
    feeAsset: "USDC",
    executedAtEpochMs: venue.atEpochMs,
    sequence: venue.engine.sequence
  }
  expect(await fills(alice)).toEqual([{
    ...shared,
    orderId: sell.orderId,
    accountId: alice.accountId,
    side: "sell",
    liquidity: "maker",
    fee: "0.010010",
    feeAtoms: "10010"
  }])
  expect(await fills(bob)).toEqual([{
    ...shared,
    orderId: buy.orderId,
    accountId: bob.accountId,
    side: "buy",
    liquidity: "taker",
    fee: "0.025025",
    feeAtoms: "25025"
  }])
  expect((await venue.read(undefined, `/v1/markets/${marketId}/trades`)).trades).toEqual([{
    tradeId: "trd_0",
    marketId,
    takerSide: "buy",
    price: "100.1",
    priceAtoms: "1001",
    size: "0.500",
    sizeAtoms: "500",
    executedAtEpochMs: venue.atEpochMs,
    sequence: venue.engine.sequence
  }])
})

test("orders by time are looked at in slices: as they were when it began, judged when it ends, while the venue goes on", async () => {
  const venue = LiveVenue.make()
  const [alice] = (await venue.traders(1)) as readonly [Trader]
  const placed: Array<string> = []
  for (let at = 0; at < 1_300; at++) {
    const { orderId } = await venue.place(alice)
    placed.push(orderId)
    if (at !== 5) await venue.post(alice, `/v1/orders/${orderId}/cancel`, { accountId: alice.accountId, marketId })
  }
  let sliced = true
  const listing = venue.read(alice, "/v2/orders?since=1&status=canceled&limit=500").finally(() => {
    sliced = false
  })
  // Between two slices the open order ends, and a new one arrives.
  await venue.post(alice, `/v1/orders/${placed[5]}/cancel`, { accountId: alice.accountId, marketId })
  await venue.place(alice)
  expect(sliced).toBe(true)
  expect((await listing).map((order: { readonly id: string }) => order.id)).toEqual(placed.slice(0, 500))
  // Nothing more is looked at for a client that leaves meanwhile, whom no answer reaches.
  const framed = Fake.request({ target: "/v2/orders?since=1&status=canceled&limit=500", key: alice.key })
  const left = new Promise<Response>((resolve) => {
    const whenGone = (then: () => void): () => void => {
      void Promise.resolve().then(then)
      return () => {}
    }
    venue.application.handle({ ...framed, whenGone }, resolve)
  })
  expect((await left).status).toBe(503)
})

test("an answer that waits for the disk is counted as unread meanwhile, and let go of where its client leaves", async () => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1) as [Trader]
  for (let count = 0; count < 10; count++) await venue.place(alice)
  const framed = Fake.request({ target: `/v1/accounts/${alice.accountId}/orders`, key: alice.key })
  let held = 0
  const gone: Array<() => void> = []
  const ask = (): Promise<Response> =>
    new Promise((resolve) => {
      const holds = (bytes: number): () => void => {
        held += bytes
        return () => void (held -= bytes)
      }
      const whenGone = (then: () => void): () => void => {
        gone.push(then)
        return () => {}
      }
      venue.application.handle({ ...framed, holds, whenGone }, resolve)
    })
  const { body } = await ask()
  // What is durable already leaves at once.
  expect([held, gone.length]).toEqual([0, 0])
  venue.holdDisk()
  venue.atEpochMs += 1_000
  venue.send({ kind: "MarkTick" })
  const [stays, leaves] = [ask(), ask()]
  expect([held, gone.length]).toEqual([2 * body.length, 2])
  gone[1]!()
  venue.releaseDisk()
  expect((await stays).body).toBe(body)
  expect((await leaves).body).toBe("")
  expect(held).toBe(0)
})

test("an answer of what is durable does not leave while the barrier calls nobody back, as after a failed write", () => {
  const fake = Fake.make()
  fake.hold = true
  let response: Response | undefined
  fake.application.handle(Fake.request({ target: "/v1/markets" }), (answer) => {
    response = answer
  })
  expect(response).toBeUndefined()
  fake.release()
  expect(response?.status).toBe(200)
})
