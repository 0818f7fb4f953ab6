/** Orders that were filled and orders that were cancelled as one listing, which the venue has as two. */
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { loadedOver } from "./Loaded.js"
import { answered, market, ScriptedVenue } from "./ScriptedVenue.js"

const symbol = market.symbol
const start = 1_767_225_600_000

const order = (status: string, atMs: number) => ({
  id: `${status} ${atMs}`,
  symbol,
  timestamp: start + atMs,
  side: "buy",
  amount: 10,
  filled: 10,
  remaining: 0,
  status,
  info: { version: "external-order/v1" }
})
// Many are cancelled in the time in which few are filled.
const closed = Array.from({ length: 700 }, (_, index) => order("closed", index * 10))
const canceled = Array.from({ length: 700 }, (_, index) => order("canceled", 3_000 + index))
const all = [...closed, ...canceled].sort((one, other) => one.timestamp - other.timestamp)

describe("orders that have ended", () => {
  let venue: ScriptedVenue
  let exchange: Perpetuum

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
    exchange = await loadedOver(venue)
  })

  afterAll(() => venue.stop())

  test.each<[string, number | undefined, number | undefined, object, number]>([
    ["the first hundred", 2_500, undefined, {}, 100],
    ["the first ones of a limit", 2_500, 200, {}, 200],
    ["the first ones, of a limit beyond what is listed", 2_500, 800, {}, 500],
    ["the first ones of a limit among the parameters", 2_500, undefined, { limit: 50 }, 50],
    ["the first ones of a limit below that among the parameters", 2_500, 100, { limit: 500 }, 100],
    ["the latest hundred", undefined, undefined, {}, 100],
    ["the latest ones of a limit", undefined, 300, {}, 300]
  ])("the listing of both has %s, and none is left out among them", async (_, since, limit, params, count) => {
    const part = <A extends { readonly timestamp: number }>(orders: ReadonlyArray<A>, most: number): ReadonlyArray<A> =>
      since === undefined ? orders.slice(-most) : orders.filter(({ timestamp }) => timestamp >= start + since).slice(0, most)
    const asked = (params as { readonly limit?: number }).limit ?? (limit === undefined ? undefined : count)
    venue.script(answered(part(closed, asked ?? count)), answered(part(canceled, asked ?? count)))
    const from = since === undefined ? undefined : start + since
    const listed = await exchange.fetchCanceledAndClosedOrders(symbol, from, limit, params)
    expect(listed.map(({ id }) => id)).toEqual(part(all, count).map(({ id }) => id))
    expect(venue.seen.map(({ url }) => new URL(url, "http://venue").searchParams.get("limit"))).toEqual(
      Array(2).fill(asked === undefined ? null : String(asked))
    )
  })
})
