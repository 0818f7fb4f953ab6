/** The client in Node against the real edge, engine and listener, over local HTTP and WebSockets. */
import { afterEach, expect, test } from "vitest"
import type { StreamEvent } from "../../../src/client/venue/Channels.js"
import { connect } from "../../../src/client/venue/node.js"
import type { Outcome } from "../../../src/client/venue/Outcome.js"
import { closeAll, serve } from "../../edge/http/NodeServed.js"
import { LiveVenue, marketId } from "../../edge/LiveVenue.js"

afterEach(closeAll)

const accepted = <A>(outcome: Outcome<A>): A => {
  if (outcome.kind !== "accepted") throw new Error(JSON.stringify(outcome))
  return outcome.value
}

const order = { marketId, side: "buy", orderType: "limit", price: "100.0", quantity: "1.000" } as const

/** The next event of a stream. */
const next = async <E extends StreamEvent>(events: AsyncIterator<E, undefined>): Promise<E> => {
  const { done, value } = await events.next()
  if (done === true) throw new Error("the stream has ended")
  return value
}

test("orders are placed, changed, met and cancelled by both ways, and all of it is told on the stream", async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2)
  const url = `http://127.0.0.1:${(await serve(venue.application)).port}`
  const maker = connect({ url, apiKey: alice!.key, orders: "socket" })
  const taker = connect({ url, apiKey: bob!.key })
  const events = maker.events("account.orders")
  expect(await next(events)).toMatchObject({ type: "snapshot", reason: "first", data: [] })
  const feed = taker.book(marketId)
  const book = await feed.ready()
  expect(book.bids).toEqual([])

  const placed = accepted(await maker.place(order, { idempotencyKey: "first" }))
  expect(await next(events)).toMatchObject({ type: "update", data: [{ orderId: placed.orderId, status: "open" }] })
  expect(accepted(await maker.amend(placed, { quantity: "0.500" }))).toMatchObject({ quantity: "0.500" })
  // The answer to a repeated command is the same over either transport.
  const { clientOrderId } = placed
  const again = connect({ url, apiKey: alice!.key })
  expect(accepted(await again.place({ ...order, clientOrderId: clientOrderId! }, { idempotencyKey: "first" }))).toEqual(placed)

  accepted(await taker.place({ ...order, side: "sell", orderType: "market", price: "99.0", quantity: "0.200" }))
  expect((await maker.positions()).positions).toMatchObject([{ marketId, side: "long", quantity: "0.200" }])
  expect((await maker.lookUp("first")).outcome).toBe("accepted")
  expect(await maker.place({ ...order, quantity: "9999999.000" })).toMatchObject({ kind: "refused", refusal: { isDecision: true } })
  expect(accepted(await maker.cancelAll(marketId))).toMatchObject({ canceledOrders: 1 })
  const { orderId } = accepted(await taker.place({ ...order, price: "98.0", clientOrderId: "last" }))
  for await (const { bids } of feed.changes()) if (bids.length === 1 && bids[0]!.price === "98.0") break
  expect(accepted(await taker.cancel({ orderId, marketId }))).toMatchObject({ orderId })
  await Promise.all([maker.close(), taker.close(), again.close()])
})

test("an order whose end has passed is refused for its key, by both ways and however often it is asked for", async () => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1)
  const url = `http://127.0.0.1:${(await serve(venue.application)).port}`
  const late = { ...order, expiresAtEpochMs: 1_000 }
  for (const orders of ["rest", "socket"] as const) {
    const client = connect({ url, apiKey: alice!.key, orders })
    if (orders === "socket") await client.connected()
    for (let asked = 0; asked < 2; asked++) {
      expect(await client.place(late, { idempotencyKey: orders }), `${orders} ${asked}`).toMatchObject({
        kind: "refused",
        refusal: { code: "invalid_request", isDecision: true, envelope: { rejectionGuard: "expiry_passed" } }
      })
    }
    expect(await client.lookUp(orders)).toMatchObject({ outcome: "refused" })
    await client.close()
  }
})
