/** The whole venue answers for what its engine has forgotten as before, byte for byte, and only to the account's owner. */
import { Exit } from "effect"
import { expect, test } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import { defaultOptions } from "../../src/readmodel/Histories.js"
import { ready, resting } from "./VenueOver.js"

const minuteMs = 60_000

/** A venue that remembers ten minutes, four fills and four balance changes, with two accounts; its histories catch up every `pauseMs`. */
const made = async (pauseMs: number) => {
  const options = {
    capacity: { orders: 1_000, idempotencyKeys: 1_000, fills: 4, balanceChanges: 4 },
    histories: { ...defaultOptions, pauseMs, pauseBehindMs: pauseMs, rollupMs: minuteMs * 60 }
  }
  const { accountId, apiKey, venue } = await ready(memoryDisk().layer, options)
  const demo = await venue.ask("POST", "/v1/operator/demo/accounts", { body: { accounts: 1, collateral: "1000000" } })
  const [bob] = demo.json.accounts as ReadonlyArray<{ readonly accountId: string; readonly apiKey: string }>
  const set = await venue.ask("PUT", "/v1/operator/limits", { body: { idempotencyRetentionMs: 10 * minuteMs } })
  expect(set.status).toBe(200)
  let names = 0
  const place = async (who: { readonly accountId: string; readonly apiKey: string }, more: object = {}): Promise<string> => {
    const body = { ...resting(who.accountId, `f-${names++}`), ...more }
    const { json, status } = await venue.ask("POST", "/v1/orders", { key: who.apiKey, body })
    expect([status, json.code]).toEqual([200, undefined])
    return json.orderId as string
  }
  const alice = { accountId, apiKey }
  const setIndex = () => venue.ask("PUT", "/v1/operator/markets/BTC-USDC-PERP/index-price", { body: { price: "60000.0" } })
  /** Alice sells to Bob. */
  const trade = async (): Promise<void> => {
    await setIndex()
    // After its index was stale, a market takes new positions only from its next mark on.
    await venue.leap(1_000)
    await place(alice, { side: "sell", price: "60000.0", quantity: "0.002" })
    await place(bob!, { side: "buy", price: "60000.0", quantity: "0.002" })
  }
  /** Waits until everything that has ended may be forgotten, and adds the records that forget it. */
  const forget = async (): Promise<void> => {
    await venue.oversleep(12 * minuteMs)
    for (let times = 0; times < 3; times++) {
      await venue.ask("PUT", "/v1/operator/markets/BTC-USDC-PERP/index-price", { body: { price: "60000.0" } })
      await venue.leap(11_000)
    }
  }
  const cancel = async (orderId: string): Promise<void> => {
    const body = { accountId, marketId: "BTC-USDC-PERP" }
    expect((await venue.ask("POST", `/v1/orders/${orderId}/cancel`, { key: apiKey, body })).status).toBe(200)
  }
  const get = async (target: string, key = apiKey) => await venue.ask("GET", target, { key })
  return { venue, alice, bob: bob!, place, cancel, trade, forget, get }
}

test("orders and fills that the engine has forgotten are told as they were", async () => {
  const { alice, bob, cancel, forget, get, place, trade, venue } = await made(10_000)
  const base = `/v1/accounts/${alice.accountId}`
  const stays = await place(alice)
  const canceled = await place(alice, { price: "58999.0" })
  for (let times = 0; times < 3; times++) await trade()
  await cancel(canceled)
  const ended = (await get(`${base}/orders?status=canceled`)).json.orders
  expect(ended).toHaveLength(1)
  await venue.leap(11_000)
  const targets = [
    `/v1/orders/${canceled}`,
    `/v2/orders/${canceled}`,
    `${base}/orders`,
    `${base}/orders?status=closed&limit=2`,
    `/v2/orders?status=closed&since=1`,
    "/v2/orders?limit=3",
    `${base}/fills`,
    "/v2/trades?since=1",
    "/v2/trades",
    "/v1/markets/BTC-USDC-PERP/trades?limit=2"
  ]
  const page = (await get(`${base}/orders?limit=3`)).json
  const before = await Promise.all(targets.map((target) => get(target)))
  for (const [index, { json, status }] of before.entries())
    expect([targets[index], status, json.code]).toEqual([targets[index], 200, undefined])
  await forget()
  expect(String((await venue.ask("GET", "/metrics", { key: "" })).json)).toMatch(/\nvenue_orders 1\n/)
  const after = await Promise.all(targets.map((target) => get(target)))
  for (const [index, answer] of after.entries()) expect(JSON.stringify(answer), targets[index]).toBe(JSON.stringify(before[index]))
  // A cursor from before still works, and the listing ends with the account's first order.
  const rest = (await get(`${base}/orders?limit=50&cursor=${page.nextCursor}`)).json
  expect([...page.orders, ...rest.orders]).toEqual(after[2]!.json.orders)
  expect(rest.orders.at(-1).orderId).toBe(stays)
  const [{ clientOrderId }] = ended
  expect((await get(`${base}/outcomes?clientOrderId=${clientOrderId}`)).json).toMatchObject({ outcome: "accepted", order: ended[0] })
  // Another account's order is answered like one that never existed.
  const foreign = await get(`/v1/orders/${canceled}`, bob.apiKey)
  const none = await get("/v1/orders/ord_1", bob.apiKey)
  expect([foreign.status, foreign.json.code, none.status, none.json.code]).toEqual([404, "not_found", 404, "not_found"])
  // The ledger goes back to the account's first credit.
  const ledger: Array<{ readonly cause: string }> = []
  let cursor: string | null = ""
  while (cursor !== null) {
    const { json } = await get(`${base}/ledger?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`)
    ledger.push(...json.entries as typeof ledger)
    cursor = json.nextCursor as string | null
  }
  expect(ledger.map(({ cause }) => cause)).toEqual(["fee", "fee", "fee", "credit"])
  // Newer fills are listed before the forgotten ones.
  for (let times = 0; times < 3; times++) await trade()
  await venue.leap(11_000)
  const fills = (await get(`${base}/fills?limit=4`)).json
  const older = (await get(`${base}/fills?cursor=${fills.nextCursor}`)).json
  expect(older.nextCursor).toBeNull()
  expect([...fills.fills, ...older.fills].slice(3)).toEqual(before[6]!.json.fills)
  expect(Exit.isSuccess(await venue.stop())).toBe(true)
})

test("while the histories lag behind what the engine has forgotten, nothing is said to be absent", async () => {
  const { alice, cancel, forget, get, place, trade, venue } = await made(14 * minuteMs)
  const base = `/v1/accounts/${alice.accountId}`
  const canceled = await place(alice)
  await cancel(canceled)
  for (let times = 0; times < 5; times++) await trade()
  await forget()
  for (
    const target of [
      `/v1/orders/${canceled}`,
      `/v2/orders/${canceled}`,
      `${base}/orders`,
      "/v2/orders?since=1",
      `${base}/outcomes?clientOrderId=f-0`,
      `${base}/fills`,
      `${base}/ledger`,
      "/v2/trades?since=1",
      "/v1/markets/BTC-USDC-PERP/trades"
    ]
  ) {
    const { json, status } = await get(target)
    expect([target, status, (json.info ?? json).dependency]).toEqual([target, 503, "read_model"])
  }
  // What the engine still remembers is answered regardless: open orders, the newest fills.
  expect((await get(`${base}/orders?status=open`)).json.orders).toEqual([])
  expect((await get(`${base}/fills?limit=2`)).json.fills).toHaveLength(2)
  // The histories catch up, and the order is found.
  await venue.leap(4 * minuteMs)
  expect((await get(`/v1/orders/${canceled}`)).json).toMatchObject({ orderId: canceled, status: "canceled" })
  expect((await get(`${base}/fills`)).json.fills).toHaveLength(5)
  expect(Exit.isSuccess(await venue.stop())).toBe(true)
})
