/** Take-profit and stop-loss over the real engine. `ask` checks every schema. */
import { describe, expect, test } from "vitest"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId, type Trader } from "./LiveVenue.js"
import { Client } from "./socket/Client.js"

const make = async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2, "1000000")
  return { venue, alice: alice!, bob: bob! }
}

const targetOf = (accountId: string, market = marketId): string => `/v1/accounts/${accountId}/positions/${market}/auto-close`
const triggersOf = (accountId: string): string => `/v1/accounts/${accountId}/triggers`

const put = (venue: LiveVenue, { accountId, key }: Trader, body: unknown, idempotencyKey = "p", target = targetOf(accountId)) =>
  venue.ask({ method: "PUT", target, body, key, idempotencyKey })

const remove = (venue: LiveVenue, { key }: Trader, target: string, idempotencyKey = "d") =>
  venue.ask({ method: "DELETE", target, key, idempotencyKey })

const get = async (venue: LiveVenue, { key }: Trader, target: string) => {
  const response = await venue.ask({ target, key })
  return { ...Fake.json(response), status: response.status }
}

/** Has a trader buy from another at 100.0. */
const hold = async (venue: LiveVenue, trader: Trader, other: Trader, quantity: string) => {
  await venue.place(other, { side: "sell", quantity })
  await venue.place(trader, { quantity })
}

/** A limit buy of 1.000 at 100.0. */
const order = ({ accountId }: Trader, more: Readonly<Record<string, unknown>>) => ({
  accountId,
  marketId,
  clientOrderId: `c-${JSON.stringify(more).length}`,
  side: "buy",
  orderType: "limit",
  price: "100.0",
  quantity: "1.000",
  ...more
})

const both = { takeProfit: { triggerPrice: "110", triggerBy: "last", limitPrice: "109.5" }, stopLoss: { triggerPrice: "95.0" } }
const told = {
  takeProfit: {
    triggerPrice: "110.0",
    triggerPriceAtoms: "1100",
    triggerBy: "last",
    limitPrice: "109.5",
    limitPriceAtoms: "1095"
  },
  stopLoss: { triggerPrice: "95.0", triggerPriceAtoms: "950", triggerBy: "mark" }
}

test.each(["index", "last", "mark"])(
  "while the clock is behind, a stop by the %s price goes by trades and by prices that are set without a time, and not by the mark",
  async (triggerBy) => {
    const { alice, bob, venue } = await make()
    await hold(venue, alice, bob, "2.000")
    venue.send({ kind: "MarkTick" })
    venue.atEpochMs -= 3_600_000
    const setPrice = async (price: string, time: { readonly sourceEpochMs?: number }) =>
      Fake.json(await venue.ask({
        method: "PUT",
        target: `/v1/operator/markets/${marketId}/index-price`,
        body: { price, ...time },
        key: Fake.operatorToken,
        idempotencyKey: `price-${time.sourceEpochMs ?? "now"}`
      }))
    const isClosed = async () => (await get(venue, alice, targetOf(alice.accountId))).triggers.length === 0
    await put(venue, alice, { stopLoss: { triggerPrice: "99.5", triggerBy } })
    await venue.place(bob, { side: "buy", quantity: "9.000", price: "98.0" })
    // What a feed sees is older than the price that stands. A price without a time is as late as its record.
    expect(await setPrice("99.0", { sourceEpochMs: venue.atEpochMs })).toMatchObject({ rejectionGuard: "index_out_of_order" })
    expect(await isClosed()).toBe(false)
    expect(await setPrice("99.0", {})).not.toHaveProperty("rejectionGuard")
    venue.send({ kind: "PassTime" })
    expect(await isClosed()).toBe(triggerBy === "index")
    await venue.place(alice, { side: "sell", quantity: "0.500", price: "98.0" })
    venue.send({ kind: "PassTime" })
    expect(await isClosed()).toBe(triggerBy !== "mark")
    expect((await get(venue, alice, `/v1/markets/${marketId}/stats`)).marketData).toMatchObject({ indexPrice: "99.0", markPrice: "100.0" })
  }
)

describe("the auto-close of a position", () => {
  test("is set, shown and cancelled, and each is told again under its key", async () => {
    const { alice, bob, venue } = await make()
    await hold(venue, alice, bob, "2.000")
    const { accountId } = alice
    const first = await put(venue, alice, both)
    const set = Fake.json(first)
    expect(set).toEqual({
      version: "external-auto-close/v1",
      accountId,
      triggerId: set.triggerId,
      marketId,
      side: "long",
      quantity: "2.000",
      quantityAtoms: "2000",
      ...told,
      replacedTriggers: 0,
      lastSequence: venue.engine.sequence,
      idempotencyKey: "p",
      decidedAtEpochMs: venue.atEpochMs
    })
    const one = {
      triggerId: set.triggerId,
      marketId,
      side: "long",
      quantity: "2.000",
      quantityAtoms: "2000",
      ...told,
      status: "armed",
      createdAtEpochMs: venue.atEpochMs,
      lastSequence: venue.engine.sequence
    }
    const listed = { version: "external-trigger-list/v1", accountId, triggers: [one], status: 200 }
    expect(await get(venue, alice, targetOf(accountId))).toMatchObject(listed)
    expect(await get(venue, alice, triggersOf(accountId))).toMatchObject(listed)
    expect(await get(venue, alice, `${triggersOf(accountId)}?marketId=${marketId}`)).toMatchObject(listed)
    const canceled = await remove(venue, alice, targetOf(accountId))
    expect(Fake.json(canceled)).toEqual({
      version: "external-triggers-canceled/v1",
      accountId,
      marketId,
      canceledTriggers: 1,
      lastSequence: venue.engine.sequence,
      idempotencyKey: "d",
      decidedAtEpochMs: venue.atEpochMs
    })
    const { records } = venue
    expect((await put(venue, alice, both)).body).toBe(first.body)
    expect((await remove(venue, alice, targetOf(accountId))).body).toBe(canceled.body)
    expect((await put(venue, alice, { stopLoss: { triggerPrice: "94" } })).status).toBe(409)
    expect(venue.records).toBe(records)
    expect((await get(venue, alice, targetOf(accountId))).triggers).toEqual([])
  })

  test("is cancelled with all others of the account", async () => {
    const { alice, bob, venue } = await make()
    await hold(venue, alice, bob, "1.000")
    await put(venue, alice, both)
    const canceled = Fake.json(await remove(venue, alice, triggersOf(alice.accountId)))
    expect(canceled).toMatchObject({ version: "external-triggers-canceled/v1", canceledTriggers: 1 })
    expect(canceled.marketId).toBeUndefined()
  })

  test("is refused with what was compared", async () => {
    const { alice, bob, venue } = await make()
    expect(Fake.json(await put(venue, alice, both, "flat"))).toMatchObject({ rejectionGuard: "reduce_only_would_increase" })
    await hold(venue, alice, bob, "1.000")
    const wrong = await put(venue, alice, { stopLoss: { triggerPrice: "100.0" } }, "wrong")
    expect([wrong.status, Fake.json(wrong)]).toMatchObject([422, {
      code: "order_rejected",
      rejectionGuard: "trigger_invalid",
      limit: "100.0",
      actual: "100.0",
      nearest: "99.9"
    }])
    const zero = await put(venue, alice, { stopLoss: { triggerPrice: "0" } }, "zero")
    expect([zero.status, Fake.json(zero)]).toMatchObject([422, { rejectionGuard: "trigger_invalid", actual: "0" }])
    const huge = await put(venue, alice, { stopLoss: { triggerPrice: "9".repeat(40) } }, "huge")
    expect([huge.status, Fake.json(huge)]).toMatchObject([422, { rejectionGuard: "trigger_invalid", actual: "9".repeat(40) }])
  })

  test.each([
    {},
    { takeProfit: {} },
    { takeProfit: { triggerPrice: 110 } },
    { takeProfit: { triggerPrice: "110", triggerBy: "bid" } },
    { takeProfit: { triggerPrice: "110", colour: "blue" } },
    { stopLoss: { triggerPrice: "95.001" } },
    { stopLoss: null },
    { trailing: { triggerPrice: "95" } }
  ])("of %j is none", async (body) => {
    const { alice, bob, venue } = await make()
    await hold(venue, alice, bob, "1.000")
    const response = await put(venue, alice, body)
    expect([response.status, Fake.json(response).code]).toEqual([400, "invalid_request"])
  })

  test("knows foreign accounts and markets that there are not", async () => {
    const { alice, venue } = await make()
    const [foreign, nowhere] = [targetOf("acc_zz"), targetOf(alice.accountId, "NO-USDC-PERP")]
    const codeOf = async (asked: Promise<{ readonly status: number; readonly body: string }>) => {
      const { body, status } = await asked
      return [status, (JSON.parse(body) as { readonly code: string }).code]
    }
    expect(await codeOf(put(venue, alice, both, "f", foreign))).toEqual([404, "account_not_found"])
    expect(await codeOf(remove(venue, alice, foreign, "g"))).toEqual([404, "account_not_found"])
    expect(await codeOf(put(venue, alice, both, "n", nowhere))).toEqual([404, "market_not_found"])
    expect(await codeOf(remove(venue, alice, nowhere, "o"))).toEqual([404, "market_not_found"])
    expect(await get(venue, alice, foreign)).toMatchObject({ status: 404, code: "account_not_found" })
    expect(await get(venue, alice, nowhere)).toMatchObject({ status: 404, code: "market_not_found" })
    expect(await get(venue, alice, triggersOf("acc_zz"))).toMatchObject({ status: 404, code: "account_not_found" })
  })

  test("can be looked up by its key", async () => {
    const { alice, bob, venue } = await make()
    await hold(venue, alice, bob, "1.000")
    await put(venue, alice, both, "mine")
    const target = `/v1/accounts/${alice.accountId}/outcomes?idempotencyKey=mine`
    expect(Fake.json(await venue.ask({ target, key: alice.key }))).toMatchObject({ decisions: [{ operation: "set_auto_close" }] })
  })
})

describe("the autoClose of an order", () => {
  test.each([
    { side: "buy", price: "100.0", autoClose: both, to: "90.0", actual: "95.0", nearest: "95.1" },
    { side: "buy", price: "100.0", autoClose: both, to: "95.0", actual: "95.0", nearest: "95.1" },
    { side: "buy", price: "100.0", autoClose: { takeProfit: { triggerPrice: "101" } }, to: "102.0", actual: "101.0", nearest: "100.9" },
    { side: "sell", price: "100.0", autoClose: { stopLoss: { triggerPrice: "101" } }, to: "102.0", actual: "101.0", nearest: "100.9" },
    { side: "sell", price: "100.0", autoClose: { takeProfit: { triggerPrice: "95" } }, to: "95.0", actual: "95.0", nearest: "95.1" }
  ])("tells an amendment of a $side order to $to the nearest price, which is accepted",
    async ({ actual, autoClose, nearest, price, side, to }) => {
      const { alice, venue } = await make()
      const { orderId } = Fake.json(await venue.post(alice, "/v1/orders", order(alice, { side, price, autoClose })))
      const amend = async (price: string, key: string) =>
        Fake.json(await venue.post(alice, `/v1/orders/${orderId as string}/amend`, { accountId: alice.accountId, marketId, price }, key))
      expect(await amend(to, "first")).toMatchObject({ rejectionGuard: "trigger_invalid", limit: to, actual, nearest })
      expect(await amend(nearest, "second")).toMatchObject({ accepted: true, price: nearest })
    })

  test("is told with it, alone and in a batch, and armed with its fills", async () => {
    const { alice, bob, venue } = await make()
    const placed = Fake.json(await venue.post(alice, "/v1/orders", order(alice, { autoClose: both })))
    expect(placed).toMatchObject({ status: "open", autoClose: told })
    const shown = `/v1/orders/${placed.orderId as string}`
    expect(await get(venue, alice, shown)).toMatchObject({ autoClose: told })
    expect((await get(venue, alice, triggersOf(alice.accountId))).triggers).toMatchObject([{
      orderId: placed.orderId,
      status: "pending",
      quantityAtoms: "0"
    }])
    await venue.place(bob, { side: "sell", quantity: "0.400" })
    expect((await get(venue, alice, triggersOf(alice.accountId))).triggers).toMatchObject([{ status: "armed", quantityAtoms: "400" }])
    await remove(venue, alice, triggersOf(alice.accountId))
    expect((await get(venue, alice, shown)).autoClose).toBeUndefined()
    const batch = Fake.json(
      await venue.post(alice, "/v1/orders/batch", {
        orders: [
          order(alice, { clientOrderId: "one", autoClose: { stopLoss: { triggerPrice: "95" } } }),
          order(alice, { clientOrderId: "two", autoClose: { stopLoss: { triggerPrice: "105" } } })
        ]
      })
    )
    expect(batch.outcomes).toMatchObject([
      { accepted: true, autoClose: { stopLoss: { triggerPriceAtoms: "950" } } },
      { accepted: false, rejectionGuard: "trigger_invalid", limit: "100.0", actual: "105.0" }
    ])
  })

  test.each([
    ["of the account", triggersOf],
    ["of the market", (accountId: string) => targetOf(accountId)]
  ])("that is cancelled with all %s is told of each order that is open, live, missed and by REST", async (_, target) => {
    const { alice, bob, venue } = await make()
    const client = new Client(venue)
    await client.authenticate(alice)
    client.say({ op: "subscribe", channel: "account.orders" })
    // One order has ended, one is partly filled with its part armed, one is unfilled, and one has no auto-close.
    await venue.post(alice, "/v1/orders", order(alice, { clientOrderId: "over", autoClose: both }))
    await venue.place(bob, { side: "sell", quantity: "1.000" })
    const open: Array<string> = []
    for (const clientOrderId of ["armed", "pending"]) {
      open.push(Fake.json(await venue.post(alice, "/v1/orders", order(alice, { clientOrderId, autoClose: both }))).orderId)
    }
    await venue.place(bob, { side: "sell", quantity: "0.400" })
    await venue.place(alice, { price: "99.0" })
    const before = client.fresh().filter(({ type }) => type === "update").at(-1).sequence
    expect(Fake.json(await remove(venue, alice, target(alice.accountId)))).toMatchObject({ canceledTriggers: 3 })
    const [update, ...further] = client.fresh()
    expect(further).toEqual([])
    expect(update).toMatchObject({ type: "update", channel: "account.orders", previousSequence: before, sequence: before + 1 })
    const shown = async (orderId: string) => JSON.parse((await venue.ask({ target: `/v1/orders/${orderId}`, key: alice.key })).body)
    const byId = (one: any, other: any): number => one.orderId < other.orderId ? -1 : 1
    const orders = (await Promise.all(open.map(shown))).sort(byId)
    expect([...update.data].sort(byId)).toEqual(orders)
    expect(orders.map(({ autoClose, status }) => [autoClose, status])).toEqual([[undefined, "open"], [undefined, "open"]])
    const changes = async () =>
      Fake.json(await venue.ask({ target: `/v1/accounts/${alice.accountId}/changes?fromSequence=${before}`, key: alice.key })).events
        .filter(({ channel }: any) => channel === "account.orders")
    const told = [{ channel: "account.orders", sequence: before + 1, data: update.data }]
    expect(await changes()).toEqual(told)
    venue.restart()
    expect(await changes()).toEqual(told)
    const again = new Client(venue)
    await again.authenticate(alice)
    again.say({ op: "subscribe", channel: "account.orders", fromSequence: before })
    await again.reached(2)
    expect(again.fresh().at(-1)).toEqual(update)
  })
})
