/** Cancels by the names of orders that were placed here: which of them need no read. */
import type { OrderRequest } from "ccxt"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import * as Description from "../../src/client/ccxt/Description.js"
import type { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { loadedOver } from "./Loaded.js"
import { answered, market, ScriptedVenue } from "./ScriptedVenue.js"

const symbol = market.symbol
const native = (orderId: string, clientOrderId: string, status: string) => ({ orderId, clientOrderId, marketId: market.id, status })
const found = answered({ order: { orderId: "ord_9" } })
const canceled = answered({ status: "canceled" })
const gone = { status: 404, body: JSON.stringify({ code: "not_found", version: "external-rest-error/v1" }) }

describe("names of own orders", () => {
  let venue: ScriptedVenue
  let exchange: Perpetuum

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
  })

  beforeEach(async () => {
    exchange = await loadedOver(venue)
  })

  afterAll(() => venue.stop())

  /** What a cancel by a name asks for: the orders whose cancels are sent, and `name` where it is looked up. */
  const cancel = async (name: string, params: object = {}): Promise<ReadonlyArray<string>> => {
    const from = venue.seen.length
    await exchange.cancelOrder("", symbol, { ...params, clientOrderId: name })
    return venue.seen.slice(from).map(({ method, url }) => method === "GET" ? "name" : url.split("/").at(-2)!)
  }

  const request: OrderRequest = { symbol, type: "limit", side: "buy", amount: 1, price: 100 }

  const place = (clientOrderId: string) => exchange.createOrder(symbol, "limit", "buy", 1, 100, { clientOrderId })

  test("orders of a batch are known by their names, and only those that rest", async () => {
    const outcomes = [native("ord_1", "one", "open"), native("ord_2", "two", "closed"), { accepted: false, clientOrderId: "three" }]
    venue.script(answered({ outcomes }), canceled, found, canceled, found, canceled)
    await exchange.createOrders([request, request, request])
    expect(await cancel("one")).toEqual(["ord_1"])
    expect(await cancel("two")).toEqual(["name", "ord_9"])
    expect(await cancel("three")).toEqual(["name", "ord_9"])
  })

  test("under a key of the caller's the name is looked up, as it was in the call that the key is of", async () => {
    venue.script(answered(native("ord_1", "one", "open")), found, canceled)
    await place("one")
    expect(await cancel("one", { idempotencyKey: "key" })).toEqual(["name", "ord_9"])
  })

  test("the name of an order that has ended is forgotten, and given to another it is that one's", async () => {
    venue.script(answered(native("ord_1", "one", "open")), gone, found, canceled, found, canceled, answered(native("ord_2", "one", "open")),
      canceled)
    await place("one")
    expect(await cancel("one")).toEqual(["ord_1", "name", "ord_9"])
    expect(await cancel("one")).toEqual(["name", "ord_9"])
    await place("one")
    expect(await cancel("one")).toEqual(["ord_2"])
  })

  test("the oldest names are forgotten beyond a bound, in the order in which they were last given", async () => {
    const names = Array.from({ length: Description.maxNamed }, (_, at) => native(`ord_${at}`, `name ${at}`, "open"))
    const { request: send } = exchange
    exchange.request = async () => ({ outcomes: [...names, native("ord_a", "name 0", "open"), native("ord_b", "new", "open")] })
    await exchange.createOrders([])
    exchange.request = send
    venue.script(canceled, found, canceled, canceled, canceled)
    expect(await cancel("name 0")).toEqual(["ord_a"])
    expect(await cancel("name 1")).toEqual(["name", "ord_9"])
    expect(await cancel("name 2")).toEqual(["ord_2"])
    expect(await cancel("new")).toEqual(["ord_b"])
  })

  test("all names are forgotten where the stream tells that the venue was restored", async () => {
    const told: Array<(fromSequence: number) => void> = []
    const follow = (_name: object, listener: { readonly lost: (fromSequence: number) => void }) => {
      told.push(listener.lost)
      return { close: () => {} }
    }
    Object.assign(exchange, { stream: () => ({ follow }) })
    venue.script(answered(native("ord_1", "one", "open")), found, canceled)
    await place("one")
    void exchange.watchOrders().catch(() => {})
    while (told.length === 0) await Promise.resolve()
    told[0]!(1)
    expect(await cancel("one")).toEqual(["name", "ord_9"])
    await exchange.close()
  })
})
