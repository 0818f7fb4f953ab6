/** The reference client, disconnected again and again while others trade, ten thousand times with `DISCONNECTS=10000`: it has every event of its account once, and a right book. */
import { expect, test } from "vitest"
import { Client as ReferenceClient } from "../../src/client/venue/Client.js"
import type { Notice } from "../../src/client/venue/Stream.js"
import { LivePlatform, origin } from "../client/venue/LivePlatform.js"
import { LiveVenue, marketId, type Trader } from "../edge/LiveVenue.js"
import { Client } from "../edge/socket/Client.js"
import * as SimRandom from "../../sim/world/SimRandom.js"

const disconnects = Number(process.env["DISCONNECTS"] ?? 2_000)

test("misses nothing and is told nothing twice, and each checksum is that of its book", async () => {
  const random = SimRandom.make("7", "reconnects")
  const venue = LiveVenue.make({ orders: 100_000, idempotencyKeys: 100_000 })
  const [alice, bob] = await venue.traders(2) as [Trader, Trader]
  // What is told to who is never disconnected, as it was sent.
  const whole = new Client(venue)
  await whole.authenticate(alice)
  whole.say({ op: "subscribe", channel: "account.orders" })

  const platform = new LivePlatform(venue)
  const notices: Array<Notice> = []
  const client = new ReferenceClient(platform, { url: origin, apiKey: alice.key, onNotice: (notice) => notices.push(notice) })
  const heard: Array<string> = []
  let snapshots = 0
  client.follow({ channel: "account.orders" }, {
    snapshot: () => snapshots++,
    update: ({ data, sequence }) => heard.push(...data.map(({ orderId, status }) => `${sequence} ${orderId} ${status}`)),
    ended: (refusal) => expect.unreachable(refusal?.message)
  })
  const { book } = client.book(marketId)
  let proofs = 0
  const { apply } = book
  book.apply = (changes, sequence, checksum) => {
    if (checksum !== undefined) proofs++
    return apply.call(book, changes, sequence, checksum)
  }

  const open: Array<readonly [Trader, string]> = []
  const trade = (): void => {
    const trader = random.chance(0.5) ? alice : bob
    const place = (): void => {
      const side = random.chance(0.5) ? "buy" : "sell"
      const price = (95 + random.below(100) / 10).toFixed(1)
      void venue.place(trader, { side, price, quantity: "0.100", timeInForce: random.chance(0.1) ? "IOC" : "GTC" }).then(
        ({ orderId, status }) => {
          if (status === "open") open.push([trader, orderId])
        }
      )
    }
    const [owner, orderId] = open.length > 40 ? open.splice(random.below(open.length), 1)[0]! : []
    if (owner === undefined) place()
    else void venue.post(owner, `/v1/orders/${orderId}/cancel`, { accountId: owner.accountId, marketId })
  }
  for (let count = 0; count < disconnects; count++) {
    for (let trades = random.below(3); trades > 0; trades--) trade()
    // Of what is on its way some is lost with the connection.
    await platform.arrive(random.below(4))
    platform.cut()
    for (let trades = random.below(2); trades > 0; trades--) trade()
    await platform.connected()
  }
  await platform.arrive()
  const told = whole.fresh().filter(({ type }) => type === "update")
  expect(heard).toEqual(told.flatMap(({ data, sequence }) => data.map((order: any) => `${sequence} ${order.orderId} ${order.status}`)))
  expect(heard.length).toBeGreaterThan(disconnects / 4)
  expect(new Set(heard).size).toBe(heard.length)
  expect(snapshots).toBe(1)
  expect(client.book(marketId).isCurrent).toBe(true)
  expect(book).toMatchObject(await client.rest.get(`/v1/markets/${marketId}/book`).then(({ asks, bids }: any) => ({ asks, bids })))
  expect(proofs).toBeGreaterThan(disconnects / 400)
  expect(new Set(notices.map(({ kind }) => kind))).toEqual(new Set(["connected", "disconnected"]))
})
