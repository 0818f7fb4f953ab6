/** After `close()` nothing more is sent of what was called before, and what may have acted is found out. */
import { ExchangeClosedByUser } from "ccxt"
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest"
import { readsAtOnce } from "../../src/client/ccxt/Description.js"
import { NothingDone, Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { type Answer, answered, market, ScriptedVenue } from "./ScriptedVenue.js"

const symbol = market.symbol
const refused = (status: number, code: string, retryable: boolean): Answer => ({
  status,
  headers: { "retry-after": "0" },
  body: JSON.stringify({ version: "external-rest-error/v1", code, retryable })
})
const limited = refused(429, "rate_limited", true)
const position = { symbol, side: "long", contracts: 40 }
const balance = answered({ info: { version: "external-scripted/v1", equity: "1" } })
const held = [answered([position]), balance]

describe("what close() ends", () => {
  let venue: ScriptedVenue

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
  })

  afterEach(() => void vi.useRealTimers())

  afterAll(() => venue.stop())

  const made = (settings: object = {}): Perpetuum =>
    new Perpetuum({
      hostname: `127.0.0.1:${venue.port}`,
      apiKey: "pk_development_k_s",
      accountId: "acc_1",
      enableRateLimit: false,
      options: { retryDelayMs: 1 },
      ...settings
    })

  /** An exchange that knows its market, in which no order is larger than one. */
  const loaded = (): Perpetuum => {
    const exchange = made()
    exchange.setMarkets([exchange.parseMarket({ ...market, limits: { amount: { max: 1 } } })!])
    return exchange
  }

  /** Closes the exchange when an answer from such an address arrives, before the call hears of it. */
  const closesAt = (exchange: Perpetuum, address: RegExp): void => {
    const { handleErrors } = exchange
    exchange.handleErrors = (...heard) => {
      if (address.test(heard[2])) void exchange.close()
      return handleErrors.apply(exchange, heard)
    }
  }

  const place = (exchange: Perpetuum, params: object = {}) => exchange.createOrder(symbol, "limit", "buy", 1, 100, params)

  /** The call ends since the exchange was closed, after so many requests. */
  const ends = async (call: Promise<unknown>, requests: number): Promise<void> => {
    await expect(call).rejects.toBeInstanceOf(ExchangeClosedByUser)
    expect(venue.seen).toHaveLength(requests)
  }

  test("a request that is refused for now after that is not sent again, whether it reads or acts", async () => {
    for (
      const [address, call] of [
        [/orders/, place],
        [/cancel/, (exchange: Perpetuum) => exchange.cancelOrder("ord_1", symbol)],
        [/time/, (exchange: Perpetuum) => exchange.fetchTime()]
      ] as const
    ) {
      for (const answer of address.test("/v2/time") ? [limited, { status: 502, body: "" }] : [limited]) {
        const exchange = loaded()
        closesAt(exchange, address)
        venue.script(answer)
        await ends(call(exchange), 1)
      }
    }
    // Nor after the last attempt, and a decision is told as it is.
    const exchange = made({ options: { maxAttempts: 1 } })
    exchange.setMarkets([market])
    closesAt(exchange, /orders$/)
    venue.script(limited)
    await ends(place(exchange), 1)
    venue.script(refused(422, "order_rejected", false))
    await expect(place(exchange)).rejects.toMatchObject({ name: "InvalidOrder" })
    venue.script(answered({ orderId: "ord_1", marketId: market.id, status: "open" }))
    expect(await place(exchange)).toMatchObject({ id: "ord_1" })
  })

  test("a command whose answer is lost after that is not sent again, and its outcome is found out", async () => {
    const exchange = loaded()
    closesAt(exchange, /orders$/)
    venue.script({ status: 502, body: "" }, answered({ outcome: "never_seen" }), answered({ fenced: true }))
    await expect(place(exchange)).rejects.toBeInstanceOf(NothingDone)
    const asked = () => venue.seen.map(({ url }) => url.split(/[/?]/).at(url.includes("?") ? -2 : -1))
    expect(asked()).toEqual(["orders", "outcomes", "fence"])
    // For that the key's account may have to be asked for, and that goes on when it is closed meanwhile.
    const other = made({ options: { maxAttempts: 1 }, accountId: "" })
    other.setMarkets([market])
    closesAt(other, /current/)
    venue.script({ status: 502, body: "" }, answered({ version: "api-key-current/v1", key: { accountId: "acc_1" } }),
      answered({ outcome: "never_seen" }), answered({ fenced: true }))
    await expect(other.cancelOrder("ord_1", symbol)).rejects.toBeInstanceOf(NothingDone)
    expect(asked()).toEqual(["cancel", "current", "outcomes", "fence"])
  })

  test("a command that reads what it needs is not sent after that, and nothing is watched", async () => {
    for (
      const call of [
        place,
        (exchange: Perpetuum) => exchange.createOrders([{ symbol, type: "limit", side: "buy", amount: 1, price: 100 }]),
        (exchange: Perpetuum) => exchange.cancelOrder("ord_1", symbol),
        (exchange: Perpetuum) => exchange.cancelAllOrders(symbol),
        (exchange: Perpetuum) => exchange.cancelOrders(["ord_1"], symbol),
        (exchange: Perpetuum) => exchange.editOrder("ord_1", symbol, "limit", undefined, 1),
        (exchange: Perpetuum) => exchange.setLeverage(5, symbol),
        (exchange: Perpetuum) => exchange.createStopLossOrder(symbol, "market", "sell", 1, undefined, 90),
        // Nor is a stream connected for what watches.
        (exchange: Perpetuum) => exchange.watchOrderBook(symbol),
        (exchange: Perpetuum) => exchange.watchTrades(symbol),
        (exchange: Perpetuum) => exchange.watchTicker(symbol),
        (exchange: Perpetuum) => exchange.watchOHLCV(symbol),
        (exchange: Perpetuum) => exchange.watchOrders(symbol),
        (exchange: Perpetuum) => exchange.watchMyTrades(symbol),
        (exchange: Perpetuum) => exchange.watchPositions([symbol]),
        (exchange: Perpetuum) => exchange.watchBalance()
      ]
    ) {
      const exchange = made()
      closesAt(exchange, /markets/)
      venue.script(answered([market]))
      await ends(call(exchange), 1)
    }
    const exchange = loaded()
    exchange.accountId = ""
    closesAt(exchange, /current/)
    venue.script(answered({ version: "api-key-current/v1", key: { accountId: "acc_1" } }))
    await ends(exchange.cancelAllOrdersAfter(0), 1)
  })

  test("a read that first needs the markets, or the key's account, is not sent after that", async () => {
    for (
      const call of [
        (exchange: Perpetuum) => exchange.fetchLeverages(),
        (exchange: Perpetuum) => exchange.fetchLeverages([symbol]),
        (exchange: Perpetuum) => exchange.fetchTickers(),
        (exchange: Perpetuum) => exchange.fetchTicker(symbol),
        (exchange: Perpetuum) => exchange.fetchOrders(symbol),
        (exchange: Perpetuum) => exchange.fetchFundingHistory(),
        (exchange: Perpetuum) => exchange.fetchFundingHistory(symbol)
      ]
    ) {
      const exchange = made()
      closesAt(exchange, /v2\/markets$/)
      venue.script(answered([market]))
      await ends(call(exchange), 1)
    }
    // A market that was listed since the markets were read is looked for.
    const listed = loaded()
    closesAt(listed, /v2\/markets$/)
    venue.script(answered([market, { ...market, base: "NEW", id: "NEW-USDC-PERP", symbol: "NEW/USDC:USDC" }]))
    await ends(listed.fetchTicker("NEW/USDC:USDC"), 1)
    const exchange = loaded()
    exchange.accountId = ""
    closesAt(exchange, /current/)
    venue.script(answered({ version: "api-key-current/v1", key: { accountId: "acc_1" } }))
    await ends(exchange.fetchFundingHistory(), 1)
  })

  test("what was called just before that is not sent", async () => {
    const exchange = loaded()
    venue.script()
    const calls = [exchange.fetchTime(), exchange.cancelAllOrders(), place(exchange)].map((call) => ends(call, 0))
    void exchange.close()
    await Promise.all(calls)
  })

  test("a call that begins after that does not share the end of one before it", async () => {
    const key = answered({ version: "api-key-current/v1", key: { accountId: "acc_1" } })
    for (
      const [call, answer] of [
        [(exchange: Perpetuum) => exchange.loadAccountId(), key],
        [(exchange: Perpetuum) => exchange.loadMarkets(), answered([market])]
      ] as const
    ) {
      const exchange = made()
      exchange.accountId = ""
      const { handleErrors } = exchange
      let later: Promise<unknown> | undefined
      exchange.handleErrors = (...heard) => {
        if (later === undefined) {
          void exchange.close()
          later = call(exchange)
        }
        return handleErrors.apply(exchange, heard)
      }
      venue.script(limited, answer)
      await expect(call(exchange)).rejects.toBeInstanceOf(ExchangeClosedByUser)
      await later
      expect(venue.seen).toHaveLength(2)
    }
  })

  test("a call of several requests ends between them, closing a position too", async () => {
    const ended = answered({ orderId: "ord_1", marketId: market.id, status: "canceled" })
    const edits = [1, 2].map((at) => ({ id: `ord_${at}`, symbol, amount: 1 }))
    const closePosition = (exchange: Perpetuum) => exchange.closePosition(symbol)
    const closeAllPositions = (exchange: Perpetuum) => exchange.closeAllPositions()
    const stopLoss = (exchange: Perpetuum) => exchange.createStopLossOrder(symbol, "market", "sell", 40, undefined, 90)
    const set = answered({ triggerId: "trg_1", marketId: market.id, stopLoss: { triggerPrice: "90.0" } })
    const none = answered({ triggers: [] })
    const seen = answered({ outcome: "accepted", decisions: [] })
    const kept = { triggerId: "trg_0", quantity: "40", status: "armed", takeProfit: { triggerPrice: "110.0", triggerBy: "mark" } }
    const cases: ReadonlyArray<readonly [(exchange: Perpetuum) => Promise<unknown>, RegExp, ReadonlyArray<Answer>]> = [
      [closePosition, /positions/, held],
      [closePosition, /balance/, held],
      [closePosition, /markets/, [...held, answered([market])]],
      [closePosition, /markets/, [...held, limited]],
      [closeAllPositions, /positions/, held],
      [closeAllPositions, /markets/, [...held, { status: 502, body: "" }]],
      // The first 32 of 40 orders are sent.
      [closeAllPositions, /batch/, [...held, limited, answered({ outcomes: [] })]],
      [(exchange) => exchange.createMarketOrderWithCost(symbol, "buy", 100), /book/, [answered({ bids: [], asks: [[100, 5]] })]],
      [(exchange) => exchange.editOrders(edits), /amend/, [ended]],
      [stopLoss, /triggers/, [...held, none]],
      // A listing of many pages.
      [(exchange) => exchange.fetchFundingHistory(symbol, 1), /payments/, [answered({ payments: [], nextCursor: "next" })]],
      [(exchange) => exchange.cancelOrder("trg_1", symbol), /triggers/, [answered({ triggers: [{ triggerId: "trg_1" }] })]],
      // What the other leg was is tried once more.
      [
        (exchange) => exchange.createStopLossOrder(symbol, "market", "sell", 40, undefined, 90, { idempotencyKey: "one" }),
        /auto-close/,
        [seen, answered({ triggers: [kept] }), refused(409, "idempotency_key_conflict", false), seen]
      ],
      // The second one waits for the first.
      [(exchange) => stopLoss(exchange).then(() => {}, () => {}).then(() => later!), /auto-close/, [...held, none, set]]
    ]
    let later: Promise<unknown> | undefined
    for (const [call, at, answers] of cases) {
      const exchange = loaded()
      closesAt(exchange, at)
      venue.script(...answers)
      const called = call(exchange)
      later = answers.includes(set) ? stopLoss(exchange) : undefined
      await ends(called, answers.length)
    }
  })

  test("no more markets are asked of one by one after that", async () => {
    const exchange = made()
    const ids = Array.from({ length: readsAtOnce + 1 }, (_, at) => `M${at}`)
    exchange.setMarkets(ids.map((base) => exchange.parseMarket({ ...market, base, id: `${base}-USDC-PERP`, symbol: `${base}/USDC:USDC` })!))
    closesAt(exchange, /leverage/)
    venue.script(...ids.map(() => answered({ leverageX: "5" })))
    await expect(exchange.fetchLeverages()).rejects.toBeInstanceOf(ExchangeClosedByUser)
    // Those that were under way are answered; the last one is not asked for.
    await expect.poll(() => venue.seen.length).toBe(readsAtOnce)
    expect(venue.seen.some(({ url }) => url.includes(ids.at(-1)!))).toBe(false)
  })

  test("what was changed before is told by the error of changing several orders", async () => {
    const exchange = loaded()
    closesAt(exchange, /amend/)
    venue.script(answered({ orderId: "ord_1", marketId: market.id, status: "open" }))
    const edits = [1, 2].map((at) => ({ id: `ord_${at}`, symbol, amount: 1 }))
    await expect(exchange.editOrders(edits)).rejects.toMatchObject({ name: "ExchangeClosedByUser", edited: [{ id: "ord_1" }] })
  })

  test("a cancel by the name of an own order that has ended looks for no other order after that", async () => {
    const exchange = loaded()
    venue.script(answered({ orderId: "ord_1", clientOrderId: "mine", marketId: market.id, status: "open" }),
      refused(404, "not_found", false))
    await place(exchange, { clientOrderId: "mine" })
    closesAt(exchange, /cancel/)
    await ends(exchange.cancelOrderWithClientOrderId("mine", symbol), 2)
  })

  test("no timer is left by a wait that is over, ends sooner, or is ended by that", async () => {
    const exchange = loaded()
    venue.script(limited, answered({ timestamp: 1 }))
    await exchange.fetchTime()
    expect(exchange).toMatchObject({ waits: { size: 0 } })
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    const waiting = exchange as unknown as { pause(waitMs: number, sooner?: Promise<unknown>): Promise<void>; endCalls(): void }
    const ended = expect(waiting.pause(60_000)).rejects.toBeInstanceOf(ExchangeClosedByUser)
    await waiting.pause(60_000, Promise.resolve())
    await waiting.pause(60_000, Promise.reject(new Error("failed")))
    expect([vi.getTimerCount(), exchange]).toMatchObject([1, { waits: { size: 1 } }])
    waiting.endCalls()
    await ended
    expect([vi.getTimerCount(), exchange]).toMatchObject([0, { waits: { size: 0 } }])
  })
})
