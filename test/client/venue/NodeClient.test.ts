/** The client in Node against the real edge, engine and listener, over local HTTP and WebSockets. */
import { createHash } from "node:crypto"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, expect, test } from "vitest"
import type { StreamEvent } from "../../../src/client/venue/Channels.js"
import type { Client } from "../../../src/client/venue/Client.js"
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

test("a connection is over soon after it is closed though its peer is lost, so that the program can end", async () => {
  const peer = http.createServer()
  const ended = new Promise<void>((resolve) => {
    peer.on("upgrade", (request, socket) => {
      const key = `${request.headers["sec-websocket-key"] ?? ""}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
      const accept = createHash("sha1").update(key).digest("base64")
      const hello = Buffer.from(JSON.stringify({ type: "hello", heartbeatMs: 5_000 }))
      const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade", `Sec-WebSocket-Accept: ${accept}`]
      socket.write(`${lines.join("\r\n")}\r\n\r\n`)
      socket.write(Buffer.concat([Buffer.from([0x81, hello.length]), hello]))
      // From here on it takes everything and answers nothing, not even the close frame.
      socket.resume().on("error", () => {}).on("end", () => socket.destroy()).on("close", () => resolve())
    })
  })
  await new Promise<void>((resolve) => peer.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`
  const client = await new Promise<Client>((resolve) => {
    const connecting = connect({ url, onNotice: ({ kind }) => kind === "connected" ? resolve(connecting) : undefined })
    connecting.events("market.trades", marketId)
  })
  const closedAt = performance.now()
  await client.close()
  await ended
  expect(performance.now() - closedAt).toBeLessThan(15_000)
  peer.close()
})
