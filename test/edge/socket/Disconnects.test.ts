/** Connections that cancel their orders as they end: what a client of the stream may ask for, and what is promised and done. */
import { beforeEach, describe, expect, test, vi } from "vitest"
import { complete } from "../../engine/commands.js"
import type { Command } from "../../../src/operations/Operations.js"
import { orderId } from "../../../src/domain/Ids.js"
import { anyMarket } from "../../../src/domain/None.js"
import { mostOfAccount } from "../../../src/engine/orders/Connections.js"
import { LiveVenue, marketId, order, type Trader } from "../LiveVenue.js"
import { Client } from "./Client.js"

describe("cancelOnDisconnect", () => {
  let venue: LiveVenue
  let alice: Trader
  let client: Client
  let keys = 0

  beforeEach(async () => {
    venue = LiveVenue.make()
    ;[alice] = await venue.traders(1) as [Trader]
    client = new Client(venue)
    client.fresh()
  })

  /** Authenticates with a ticket and requests cancellation; the answer comes last. */
  const ask = async (on = client, scopes: ReadonlyArray<string> = ["read", "trade"]) =>
    on.say({ op: "auth", ticket: await on.ticket(alice, scopes), cancelOnDisconnect: true }).at(-1)
  const place = (on = client, more: object = {}): string => {
    const idempotencyKey = `k${++keys}`
    const [result] = on.say({ op: "place", idempotencyKey, body: order(alice, { price: "99.0", clientOrderId: idempotencyKey, ...more }) })
    return result.body.orderId
  }
  const open = (): ReadonlyArray<string> => venue.engine.openOrders(alice.account, anyMarket).map(({ orderNumber }) => orderId(orderNumber))

  test("cancels what was placed over the connection when its client leaves, and tells whoever listens", async () => {
    const before = (await venue.place(alice, { price: "99.0" })).orderId
    const listener = new Client(venue)
    await listener.authenticate(alice)
    listener.say({ op: "subscribe", channel: "account.orders" })
    expect(await ask()).toMatchObject({ type: "auth_ok", accountId: alice.accountId })
    const [lost, second] = [place(), place()]
    listener.fresh()
    client.leave()
    expect(open()).toEqual([before])
    const data = [lost, second].map((each) => ({ orderId: each, status: "canceled", cancelReason: "disconnected" }))
    expect(listener.fresh()).toMatchObject([{ type: "update", channel: "account.orders", data }])
  })

  test("trusts no ticket that ended while the connection was armed: what was paused stays so", async () => {
    const end = (ticket: string) => venue.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
    const first = await client.ticket(alice, ["read", "trade"])
    client.say({ op: "auth", ticket: first })
    for (const channel of ["account.orders", "account.fills", "account.balance"]) client.say({ op: "subscribe", channel })
    await end(first)
    await venue.place(alice, { price: "90.0" })
    client.say({ op: "ping" })
    const second = await client.ticket(alice, ["read", "trade"])
    client.fresh()
    venue.holdDisk()
    client.say({ op: "auth", ticket: second, cancelOnDisconnect: true })
    const ended = end(second)
    venue.releaseDisk()
    expect((await ended).status).toBe(204)
    expect(client.fresh()).toMatchObject([{ type: "auth_error" }])
    await venue.place(alice, { price: "91.0" })
    expect(client.fresh()).toEqual([])
    expect(venue.engine.state.connections.size).toBe(0)
    // With a ticket that is still valid, everything continues.
    const [answer, ...missed] = client.say({ op: "auth", ticket: await client.ticket(alice, ["read", "trade"]) })
    expect(answer).toMatchObject({ type: "auth_ok" })
    expect(missed.map(({ channel }) => channel)).toContain("account.orders")
  })

  test("takes batches in, and what was amended; what comes by another way stays", async () => {
    await ask()
    const bodies = [1, 2].map((index) => order(alice, { price: "99.0", clientOrderId: `b${index}` }))
    client.say({ op: "place_batch", idempotencyKey: "batch", body: { orders: bodies } })
    client.say({ op: "amend", idempotencyKey: "amend", orderId: place(), body: { accountId: alice.accountId, marketId, price: "98.0" } })
    const byRest = (await venue.place(alice, { price: "99.0" })).orderId
    expect(open()).toHaveLength(4)
    client.leave()
    expect(open()).toEqual([byRest])
  })

  test("ends it as well where its client is turned out", async () => {
    await ask()
    place()
    client.sayBinary()
    expect(client.ended?.code).toBe(1008)
    expect(open()).toEqual([])
  })

  test("ends it as well where its client is silent", async () => {
    venue = LiveVenue.make(undefined, { room: { silenceMs: 1_000 } })
    ;[alice] = await venue.traders(1) as [Trader]
    client = new Client(venue)
    client.fresh()
    await ask()
    place()
    await client.over()
    expect(client.ended?.code).toBe(4000)
    expect(open()).toEqual([])
  })

  test("outlasts the ticket: what was placed stays until the connection ends", async () => {
    await ask()
    const placed = place()
    venue.atEpochMs += 300_001
    client.say({ op: "ping" })
    expect(open()).toEqual([placed])
    await client.authenticate(alice, ["read", "trade"])
    place()
    expect(open()).toHaveLength(2)
    client.leave()
    expect(open()).toEqual([])
  })

  test("holds from its auth_ok on: what was placed over the connection before stays", async () => {
    await client.authenticate(alice, ["read", "trade"])
    const stays = place()
    await ask()
    await ask()
    place()
    expect(venue.engine.state.connections.size).toBe(1)
    client.leave()
    expect(open()).toEqual([stays])
  })

  test("is over with a process: the next one's start cancels", async () => {
    await ask()
    place()
    venue.restart()
    venue.send({ kind: "StartVenue", rules: 6, codec: 2, program: "test", stateBefore: "", stateAfter: "" })
    expect(open()).toEqual([])
  })

  test("is refused to a ticket that may not trade, which lets in without it", async () => {
    expect(await ask(client, ["read"])).toMatchObject({ type: "auth_error", error: { code: "scope_missing" } })
    expect((await client.authenticate(alice)).at(-1)).toMatchObject({ type: "auth_ok" })
  })

  test("is refused to more connections than an account may have", async () => {
    for (let count = 0; count < mostOfAccount; count++) expect(await ask(new Client(venue))).toMatchObject({ type: "auth_ok" })
    const error = { code: "rate_limited", rejectionGuard: "connection_limit" }
    expect(await ask()).toMatchObject({ type: "auth_error", error, retryAfterSeconds: 1 })
  })

  describe("by a ticket that is revoked", () => {
    const revoke = (ticket: string) => venue.ask({ method: "DELETE", target: "/v1/realtime/ticket", body: { ticket } })
    /** Shows a ticket and asks for it; returns the ticket. */
    const arm = async (on = client): Promise<string> => {
      const ticket = await on.ticket(alice, ["read", "trade"])
      expect(on.say({ op: "auth", ticket, cancelOnDisconnect: true }).at(-1)).toMatchObject({ type: "auth_ok" })
      return ticket
    }
    const armed = (): number => venue.engine.state.connections.size
    /** Waits until so many are armed: the venue looks at connections once a second. */
    const reached = (count: number) => vi.waitFor(() => expect(armed()).toBe(count), { timeout: 60_000, interval: 20 })

    test("its owner has the account's places for connections of his own, armed or not", async () => {
      venue = LiveVenue.make(undefined, { room: { connections: 16 } })
      ;[alice] = await venue.traders(1) as [Trader]
      const thieves = Array.from({ length: 4 }, () => new Client(venue))
      for (const thief of thieves) await revoke(await arm(thief))
      await reached(0)
      for (let count = 0; count < 4; count++) await arm(new Client(venue))
      expect((await new Client(venue).authenticate(alice)).at(-1)).toMatchObject({ error: { rejectionGuard: "account_share" } })
      // Those of the thief make room for newcomers, and are not ended before.
      expect(thieves.map(({ ended }) => ended)).toEqual(Array(4).fill(undefined))
    })

    test("no longer has a place either if it had expired before its key was revoked", async () => {
      await arm()
      venue.atEpochMs += 300_001
      client.say({ op: "ping" })
      const { keyId } = venue.engine.apiKeys(alice.account, 1)[0]!
      venue.run(complete({ kind: "RevokeKeyByOperator", keyId }))
      await reached(0)
    })

    test("keeps its place while its orders are open, and no longer; one that merely expired keeps it", async () => {
      const late = new Client(venue)
      await arm(late)
      venue.atEpochMs += 300_001
      const stolen = await arm()
      const placed = place()
      const none = new Client(venue)
      const stolenToo = await arm(none)
      await revoke(stolen)
      await revoke(stolenToo)
      await reached(2)
      expect(open()).toEqual([placed])
      await venue.post(alice, "/v1/orders/cancel-all", { accountId: alice.accountId }, "all")
      await reached(1)
      // Whoever was late comes back with another ticket, and is armed still.
      await late.authenticate(alice, ["read", "trade"])
      place(late)
      late.leave()
      expect([open(), armed()]).toEqual([[], 0])
    })

    test("is promised again with the next ticket that may trade, asked or not", async () => {
      await revoke(await arm())
      await reached(0)
      expect((await client.authenticate(alice, ["read"])).at(-1)).toMatchObject({ type: "auth_ok" })
      expect(armed()).toBe(0)
      await client.authenticate(alice, ["read", "trade"])
      expect(armed()).toBe(1)
      place()
      client.leave()
      expect([open(), armed()]).toEqual([[], 0])
    })
  })

  test("is promised when it is durable, and ends where its client left before that", async () => {
    const ticket = await client.ticket(alice, ["read", "trade"])
    venue.holdDisk()
    expect(client.say({ op: "auth", ticket, cancelOnDisconnect: true })).toEqual([])
    client.leave()
    venue.releaseDisk()
    expect(venue.engine.state.connections.size).toBe(0)
  })

  test("is tried again until the venue has room for it", async () => {
    await ask()
    place()
    const refused: Array<string> = []
    const taken = new Promise<void>((resolve) => {
      venue.isTurnedAway = ({ kind }: Command) => {
        if (kind !== "EndConnection") return false
        if (refused.push(kind) < 3) return true
        resolve()
        return false
      }
    })
    client.leave()
    expect(open()).toHaveLength(1)
    await taken
    expect(open()).toEqual([])
  })

  test("an order that comes behind the end of its connection is refused, and its key is free", async () => {
    await ask()
    const [connection] = venue.engine.state.connections.entries().map((each) => each.connection)
    client.leave()
    const family = { family: 0, expiresAtEpochMs: Infinity }
    const late = await new Promise<any>((resolve) =>
      venue.application.handle({
        method: "POST",
        target: "/v1/orders",
        headers: { "content-type": "application/json", "idempotency-key": "late" },
        body: Buffer.from(JSON.stringify(order(alice))),
        remoteAddress: "192.0.2.1",
        ticketOf: { apiKey: alice.account, ...family },
        connection: connection!
      }, ({ body }) => resolve(JSON.parse(body)))
    )
    expect(late).toMatchObject({ code: "invalid_request", rejectionGuard: "connection_ended" })
    expect(await venue.place(alice, {}, "late")).toMatchObject({ httpStatus: 200, status: "open" })
  })
})
