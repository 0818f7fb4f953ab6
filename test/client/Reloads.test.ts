/** While the markets are read anew, and where that fails, everything that does not need it goes on. */
import { BadSymbol, ExchangeNotAvailable, type Market } from "ccxt"
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { marketIdPattern as ofVenue } from "../../src/client/venue/MarketId.js"
import type { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { marketIdPattern } from "../../src/domain/Ids.js"
import { loadedOver } from "./Loaded.js"
import { answered, market, ScriptedVenue } from "./ScriptedVenue.js"

const symbol = market.symbol
const listed = "DOG/USDC:USDC"
const dog = { ...market, id: "DOG-USDC-PERP", symbol: listed, base: "DOG" }

describe("the markets, read anew", () => {
  let venue: ScriptedVenue
  let exchange: Perpetuum

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
  })

  beforeEach(async () => {
    exchange = await loadedOver(venue)
  })

  afterAll(() => venue.stop())

  const order = (status: string, more: object = {}) => answered({ orderId: "ord_1", marketId: market.id, status, ...more })

  /** Readings of the markets that are answered when the test says so. */
  const holdReadings = () => {
    const readings: Array<{ readonly answer: (markets: ReadonlyArray<object>) => void; readonly fail: (cause: Error) => void }> = []
    exchange.fetchMarkets = () =>
      new Promise((resolve, reject) => {
        readings.push({ answer: (markets) => resolve(exchange.parseMarkets(markets) as Array<Market>), fail: reject })
      })
    return readings
  }

  test("cancels and orders go out at once while the markets are read anew, and where that fails", async () => {
    venue.script(order("open", { clientOrderId: "mine" }))
    await exchange.createOrder(symbol, "limit", "buy", 1, 100, { clientOrderId: "mine" })
    const { fetchMarkets } = exchange
    const readings = holdReadings()
    const goOn = async (): Promise<void> => {
      venue.script(order("canceled"), order("canceled"), answered({ canceled: 1 }), order("open"))
      await exchange.cancelOrder("ord_1", symbol)
      await exchange.cancelOrderWithClientOrderId("mine", symbol)
      await exchange.cancelAllOrders(symbol)
      await exchange.createOrder(symbol, "limit", "buy", 1, 100)
      expect(venue.seen).toHaveLength(4)
    }
    const failing = [exchange.loadMarkets(true), exchange.fetchTicker(listed)].map((call) =>
      expect(call).rejects.toBeInstanceOf(ExchangeNotAvailable)
    )
    await goOn()
    expect(readings).toHaveLength(1)
    readings[0]!.fail(new ExchangeNotAvailable("not now"))
    await goOn()
    await Promise.all(failing)
    exchange.fetchMarkets = fetchMarkets
    expect(await exchange.loadMarkets()).toHaveProperty([symbol])
  })

  test("all who ask for a symbol that is not known wait for the one look for it", async () => {
    const readings = holdReadings()
    venue.script(...[1, 2].map(() => answered({ symbol: listed, bids: [], asks: [] })))
    const calls = [1, 2].map(() => exchange.fetchOrderBook(listed))
    // The calls come so far by themselves.
    while (readings.length === 0) await Promise.resolve()
    readings[0]!.answer([market, dog])
    expect(await Promise.all(calls)).toMatchObject([{ symbol: listed }, { symbol: listed }])
    expect(readings).toHaveLength(1)
  })

  test("a look that failed is no look, and one that found nothing is; a reading under way is waited for", async () => {
    const readings = holdReadings()
    const asked = async (answer: (reading: (typeof readings)[number]) => void): Promise<unknown> => {
      const before = readings.length
      const call = exchange.fetchOrderBook(listed).then(() => "found", (cause: unknown) => cause)
      while (readings.length === before) await Promise.resolve()
      answer(readings.at(-1)!)
      return await call
    }
    expect(await asked(({ fail }) => fail(new ExchangeNotAvailable("not now")))).toBeInstanceOf(ExchangeNotAvailable)
    expect(await asked(({ answer }) => answer([market]))).toBeInstanceOf(BadSymbol)
    await expect(exchange.fetchOrderBook(listed)).rejects.toBeInstanceOf(BadSymbol)
    expect(readings).toHaveLength(2)
    const reload = exchange.loadMarkets(true)
    venue.script(answered({ symbol: listed, bids: [], asks: [] }))
    const waiting = exchange.fetchOrderBook(listed)
    readings[2]!.answer([market, dog])
    await reload
    expect(await waiting).toMatchObject({ symbol: listed })
  })

  test("closing a position asks once for the markets, for a second, and goes by those that are known", async () => {
    exchange.options["maxAttempts"] = 5
    const waits: Array<number> = []
    const position = answered([{ symbol, side: "long", contracts: 1 }])
    const limited = {
      status: 429,
      headers: { "retry-after": "60" },
      body: JSON.stringify({ version: "external-rest-error/v1", code: "rate_limited", retryable: true })
    }
    for (const markets of [limited, { status: 502, body: "" }, { status: 200, body: "[7]" }, "silence"] as const) {
      Object.assign(exchange, {
        pause: async (waitMs: number, sooner: Promise<unknown>) => {
          waits.push(waitMs)
          if (markets !== "silence") await sooner
        }
      })
      venue.script(position, answered({ info: { version: "external-scripted/v1", equity: "1" } }), markets, order("closed"))
      expect(await exchange.closePosition(symbol)).toMatchObject({ id: "ord_1" })
      expect(venue.seen.map(({ method, url }) => `${method} ${url.split("?")[0]!}`)).toEqual([
        "GET /v2/positions",
        "GET /v2/balance",
        "GET /v2/markets",
        "POST /v1/orders"
      ])
    }
    expect(waits).toEqual([1_000, 1_000, 1_000, 1_000])
  })

  test("markets have the ids that the venue gives them", () => {
    expect(ofVenue).toEqual(marketIdPattern)
  })
})
