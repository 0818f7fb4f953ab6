/** An order's fills when the account has more fills than one answer holds, and what a failed amendment still returns. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { loadedOver } from "./Loaded.js"
import { answered, ScriptedVenue } from "./ScriptedVenue.js"

const symbol = "BTC/USDC:USDC"
const start = 1_767_225_600_000

/** The account's trades, by their numbers. */
const trade = (number: number, order: string, timestamp: number) => ({
  id: `trd_${number}`,
  timestamp,
  datetime: new Date(timestamp).toISOString(),
  symbol,
  side: "buy",
  takerOrMaker: "taker",
  price: 100,
  amount: 0.001,
  cost: 0.1,
  order,
  info: {}
})
const fill = (number: number, orderId: string, executedAtEpochMs: number) => ({
  tradeId: `trd_${number}`,
  orderId,
  side: "buy",
  liquidity: "taker",
  price: "100.0",
  size: "0.001",
  notional: "0.100000",
  fee: "0.000050",
  feeAsset: "USDC",
  executedAtEpochMs
})
const order = (filled: number, lastUpdateTimestamp: number, status = "closed") => ({
  id: "ord_1",
  symbol,
  timestamp: start,
  lastUpdateTimestamp,
  side: "buy",
  amount: 10,
  filled,
  remaining: 10 - filled,
  status,
  info: { version: "external-order/v1" }
})
const many = <A>(count: number, make: (index: number) => A): ReadonlyArray<A> => Array.from({ length: count }, (_, index) => make(index))

describe("an order's trades", () => {
  let venue: ScriptedVenue
  let exchange: Perpetuum

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
    exchange = await loadedOver(venue)
  })

  afterAll(() => venue.stop())

  const numbers = async (): Promise<ReadonlyArray<string>> => (await exchange.fetchOrderTrades("ord_1", symbol)).map(({ id }) => id!)
  const asked = () => venue.seen.slice(1).map(({ url }) => url)

  test("are read on from page to page until all of them are there", async () => {
    const first = many(500, (at) => trade(at, at % 250 === 0 ? "ord_1" : "ord_2", start + at))
    // The second page begins with the last millisecond of the first.
    venue.script(answered(order(0.003, start + 600)), answered(first), answered([first[499]!, trade(500, "ord_1", start + 600)]))
    expect(await numbers()).toEqual(["trd_0", "trd_250", "trd_500"])
    expect(asked()).toEqual([start, start + 499].map((since) => `/v2/trades?symbol=BTC%2FUSDC%3AUSDC&since=${since}&limit=500`))
  })

  test("end where the order ended, whatever the venue has forgotten of them", async () => {
    venue.script(answered(order(0.003, start + 1)), answered(many(500, (at) => trade(at, at === 0 ? "ord_1" : "ord_2", start + at))))
    expect(await numbers()).toEqual(["trd_0"])
    venue.script(answered(order(0, start)))
    expect(await numbers()).toEqual([])
  })

  test("of one millisecond are read from the newest back where they are more than an answer holds", async () => {
    const fills = many(100, (at) => fill(700 - at, "ord_1", start))
    venue.script(
      answered(order(0.7, start)),
      answered(many(500, (at) => trade(at, "ord_1", start))),
      answered({ fills: [fill(701, "ord_2", start + 5), ...fills.slice(0, 99)], nextCursor: "next" }),
      answered({ fills: [...fills.slice(99), fill(1, "ord_0", start - 1)], nextCursor: "more" })
    )
    const found = await exchange.fetchOrderTrades("ord_1", symbol)
    expect(found).toHaveLength(600)
    expect(found.find(({ id }) => id === "trd_700")).toMatchObject({ order: "ord_1", amount: 0.001, price: 100, fee: { cost: 0.00005 } })
    expect(asked().slice(1)).toEqual([
      "/v1/accounts/acc_1/fills?marketId=BTC-USDC-PERP&limit=100",
      "/v1/accounts/acc_1/fills?marketId=BTC-USDC-PERP&limit=100&cursor=next"
    ])
  })

  test("open orders are read on until all of them are there, and what cannot be told apart is said", async () => {
    const resting = (number: number, timestamp: number) => ({ ...order(0, start, "open"), id: `ord_${number}`, timestamp })
    const all = many(501, (at) => resting(at, start + at))
    const open = () => exchange.fetchOpenOrders(symbol)
    const sinces = () => venue.seen.map(({ url }) => new URLSearchParams(url.split("?")[1]).get("since"))
    venue.script(answered(all.slice(1)), answered(all.slice(0, 500)), answered(all.slice(499)))
    expect((await open()).map(({ id }) => id)).toEqual(all.map(({ id }) => id))
    expect(sinces()).toEqual([null, "1", String(start + 499)])
    const same = answered(many(500, (at) => resting(at, start)))
    venue.script(same, same, same)
    await expect(open()).rejects.toThrow("ask market by market")
    venue.script(answered(all.slice(0, 500)), answered(all.slice(499)))
    expect(await exchange.fetchOpenOrders(symbol, start)).toHaveLength(501)
  })

  test("amendments that fail for good tell what was changed before", async () => {
    const terms = { symbol, type: "limit", side: "buy", price: 100 } as const
    const native = { orderId: "ord_1", marketId: "BTC-USDC-PERP", status: "open", quantity: "1.000", filledQuantity: "0.000" }
    const halted = {
      version: "external-rest-error/v1",
      code: "engine_halted",
      safeMessage: "Halted.",
      retryable: true,
      recoveryActions: []
    }
    const read = answered(order(0, start, "open"))
    venue.script(read, read, answered(native), { status: 503, body: JSON.stringify(halted) })
    await expect(exchange.editOrders([{ ...terms, id: "ord_1" }, { ...terms, id: "ord_2" }])).rejects.toMatchObject({
      name: "OnMaintenance",
      edited: [{ id: "ord_1", status: "open" }]
    })
    // An amendment that cannot be sent is found before any is sent.
    venue.script(read, read)
    await expect(exchange.editOrders([{ ...terms, id: "ord_1" }, { ...terms, id: "ord_2", price: 100.05 }])).rejects.toMatchObject({
      name: "InvalidOrder",
      nearest: "100.1"
    })
    expect(venue.seen.map(({ method }) => method)).toEqual(["GET", "GET"])
  })
})
