/**
 * The state of the market's page: order entry, a book that is shown once a frame, candles, and finding out about commands without an
 * answer.
 */
import fc from "fast-check"
import { describe, expect, test, vi } from "vitest"
import type * as Contract from "../../src/client/venue/Contract.js"
import { Refusal, Unanswered } from "../../src/client/venue/Refusal.js"
import { LocalBook } from "../../src/client/venue/LocalBook.js"
import type { HttpRequest } from "../../src/client/venue/Platform.js"
import { sha256 } from "../../src/client/venue/Sha256.js"
import { joined } from "../../src/console/state/market/Candles.js"
import { resultOf } from "../../src/console/state/market/Commands.js"
import { atomsOf, format, funding, percent, typed } from "../../src/console/state/market/Decimals.js"
import { checked, type Draft, emptyDraft, parts, suggested, type Terms } from "../../src/console/state/market/Draft.js"
import { Feed, mostTrades } from "../../src/console/state/market/Feed.js"
import { Frames } from "../../src/console/state/market/Frames.js"
import { depth, ladder } from "../../src/console/state/market/Ladder.js"
import { told } from "../../src/console/state/market/Ticket.js"
import { entriesOf, noteOf } from "../../src/console/state/market/Exits.js"
import * as Failure from "../../src/console/state/Failure.js"
import * as Places from "../../src/console/state/Places.js"
import { Store } from "../../src/console/state/Store.js"
import type { Position, Session, TriggerPair } from "../../src/console/state/Contract.js"
import type { Answered, Sent } from "../../src/console/state/Outside.js"
import { accountId, later, ok, refused, ScriptedOutside, startEpochMs } from "./Outside.js"

const terms: Terms = {
  marketId: "BTC-USDC-PERP",
  priceScale: 1,
  quantityScale: 3,
  minPrice: "1.0",
  maxPrice: "1000000.0",
  minQuantity: "0.001",
  maxQuantity: "100.000"
}

const draft = (change: Partial<Draft>): Draft => ({ ...emptyDraft, price: "60000", quantity: "0.5", ...change })

describe("decimals", () => {
  test("are read and written without a float, whatever their length", () => {
    fc.assert(fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n }), fc.integer({ min: 0, max: 12 }), (atoms, scale) => {
      expect(typed(format(atoms, scale), scale)).toEqual({ kind: "atoms", atoms })
      expect(atomsOf(format(-atoms, scale), scale)).toBe(-atoms)
    }))
  })

  test.each([
    ["", 1, { kind: "nothing" }],
    [" 1 ", 1, { kind: "atoms", atoms: 10n }],
    [".5", 1, { kind: "atoms", atoms: 5n }],
    ["7.", 1, { kind: "atoms", atoms: 70n }],
    ["1.500", 1, { kind: "atoms", atoms: 15n }],
    [".", 1, { kind: "no_number" }],
    ["1,000", 1, { kind: "no_number" }],
    ["1e3", 1, { kind: "no_number" }],
    ["-1", 1, { kind: "no_number" }],
    ["0.15", 1, { kind: "too_fine", nearest: "0.2" }],
    ["0.14", 1, { kind: "too_fine", nearest: "0.1" }],
    ["0.01", 1, { kind: "too_fine", nearest: "0.1" }],
    ["9007199254740993.25", 1, { kind: "too_fine", nearest: "9007199254740993.3" }]
  ])("%j at a scale of %d", (text, scale, expected) => {
    expect(typed(text, scale)).toEqual(expected)
  })

  test.each([["123", 4, 2, "1.23\u00a0%"], ["-7", 4, 2, "\u22120.07\u00a0%"], ["-125000", 9, 4, "\u22120.0125\u00a0%"], ["-1", 9, 4,
    "0.0000\u00a0%"], ["500", 9, 4, "0.0001\u00a0%"]])("%s in 10^-%d as percent", (text, scale, decimals, expected) => {
      expect(percent(text, scale, decimals)).toBe(expected)
    })

  test.each([
    ["12500", 3_600_000, "0.0100 %"],
    ["-12500", 3_600_000, "−0.0100 %"],
    ["100000", 28_800_000, "0.0100 %"],
    ["208", 60_000, "0.0100 %"],
    ["9007199254740993000", 28_800_000, "900719925474.0993\u00a0%"]
  ])("funding of %s in 10^-9 for %d ms is told for 8 hours", (predictedFundingRateE9, fundingIntervalMs, expected) => {
    expect(funding({ predictedFundingRateE9, fundingIntervalMs, fundingRateBasisMs: 28_800_000 })).toBe(expected)
  })
})

describe("an order as it is entered", () => {
  test("is sent on the market's grid, with what was chosen alone", () => {
    expect(checked(draft({}), terms)).toEqual({
      order: { marketId: "BTC-USDC-PERP", side: "buy", orderType: "limit", price: "60000.0", timeInForce: "GTC", quantity: "0.500" }
    })
    expect(checked(draft({ orderType: "market", side: "sell", postOnly: true, takeProfit: "50000", stopLoss: "70000.5" }), terms)).toEqual({
      order: {
        marketId: "BTC-USDC-PERP",
        side: "sell",
        orderType: "market",
        quantity: "0.500",
        autoClose: { takeProfit: { triggerPrice: "50000.0" }, stopLoss: { triggerPrice: "70000.5" } }
      }
    })
    expect(checked(draft({ postOnly: true, timeInForce: "IOC", reduceOnly: true, takeProfit: "1" }), terms)).toEqual({
      order: {
        marketId: "BTC-USDC-PERP",
        side: "buy",
        orderType: "limit",
        price: "60000.0",
        timeInForce: "IOC",
        quantity: "0.500",
        reduceOnly: true
      }
    })
  })

  test.each<[string, Partial<Draft>, ReadonlyArray<object>]>([
    ["nothing at all", { price: "", quantity: " " }, [{ field: "price", isMissing: true }, { field: "quantity", isMissing: true }]],
    ["a price between two steps", { price: "60000.05" }, [{ field: "price", nearest: "60000.1", isMissing: false }]],
    ["a price below all", { price: "0.4" }, [{ field: "price", nearest: "1.0" }]],
    ["a price above all", { price: "1000000.1" }, [{ field: "price", nearest: "1000000.0" }]],
    ["a size of nothing", { quantity: "0" }, [{ field: "quantity", nearest: "0.001" }]],
    ["a size above all", { quantity: "100.001" }, [{ field: "quantity", nearest: "100.000" }]],
    ["a size that is none", { quantity: "much" }, [{ field: "quantity" }]],
    ["exits that are none", { takeProfit: "up", stopLoss: "1.23" }, [{ field: "takeProfit" }, { field: "stopLoss", nearest: "1.2" }]]
  ])("%s is told where it is", (_, change, faults) => {
    expect(checked(draft(change), terms)).toMatchObject({ faults })
  })

  test.each<[string, string | undefined, Partial<Draft>, object | undefined]>([
    ["price_band_exceeded", "59000.0", {}, { field: "price", text: "59000.0" }],
    ["price_band_exceeded", "59000.0", { orderType: "market" }, undefined],
    ["margin_insufficient", "0.123", {}, { field: "quantity", text: "0.123" }],
    ["margin_insufficient", "0.000", {}, undefined],
    ["trigger_invalid", "61000.0", { takeProfit: "59000" }, { field: "takeProfit", text: "61000.0" }],
    ["trigger_invalid", "61000.0", { takeProfit: "59000", stopLoss: "61000" }, undefined],
    ["open_order_limit", "3", {}, undefined],
    ["no_liquidity", undefined, {}, undefined]
  ])("refused by %s with %s, takes what helps", (guard, nearest, change, expected) => {
    expect(suggested({ guard, ...(nearest === undefined ? undefined : { nearest }) }, draft(change))).toEqual(expected)
  })

  test.each<[string, ReadonlyArray<string>]>([
    ["0.001", ["0.001"]],
    ["100.000", ["100.000"]],
    ["265.001", ["100.000", "100.000", "65.001"]],
    ["5000.000", Array.from({ length: 32 }, () => "100.000")]
  ])("of %s is parted into what the market and a batch take", (quantity, expected) => {
    expect(parts(quantity, terms)).toEqual(expected)
  })

  test("is told of in words once it was decided", () => {
    const order = {
      side: "buy",
      price: "60000.0",
      filledQuantity: "0.010",
      averageFillPrice: "59999.5",
      remainingQuantity: "0.020",
      canceledQuantity: "0.000"
    } as Contract.PlacedOrder
    expect(told(order)).toBe("Bought 0.010 at 59,999.5 on average. 0.020 rests in the book at 60,000.0.")
    expect(told({ ...order, side: "sell", remainingQuantity: "0.000", canceledQuantity: "0.020", cancelReason: "ioc_remainder" }))
      .toBe("Sold 0.010 at 59,999.5 on average. 0.020 was cancelled: Ioc remainder.")
  })
})

const level = (price: number, size: number) => ({
  price: format(BigInt(price), 1),
  priceAtoms: String(price),
  size: format(BigInt(size), 3),
  sizeAtoms: String(size)
})

describe("what is shown", () => {
  test("is a book of so many rows, each with what is to be had up to it", () => {
    const book = new LocalBook()
    const bids = Array.from({ length: depth + 5 }, (_, at) => level(1_000 - at, 10))
    book.reset({ bids, asks: [level(1_005, 30)], checksum: "" }, 7)
    const shown = ladder(book)
    expect(shown).toMatchObject({ sequence: 7, spreadAtoms: 5n })
    expect(shown.bids.map(({ share }) => share)).toEqual(
      Array.from({ length: depth }, (_, at) => Math.floor((at + 1) * 1_000 / depth) / 1_000)
    )
    expect(shown.asks).toEqual([{ price: "100.5", size: "0.030", share: 0.25 }])
    book.apply([{ side: "ask", ...level(1_005, 0) }], 8)
    // What was shown before is not changed.
    expect(shown.asks.length).toBe(1)
    expect(ladder(book)).toMatchObject({ sequence: 8, spreadAtoms: undefined, asks: [] })
  })

  test("is painted once a frame, however often it changes", () => {
    const waiting: Array<() => void> = []
    const frames = new Frames((run) => waiting.push(run))
    const seen: Array<string> = []
    const one = (): void => void seen.push("one")
    for (let count = 0; count < 5; count++) frames.ask(one)
    frames.ask(() => {
      seen.push("two")
      frames.ask(one)
    })
    expect(waiting.length).toBe(1)
    waiting[0]!()
    expect(seen).toEqual(["one", "two"])
    expect(waiting.length).toBe(2)
    waiting[1]!()
    expect(seen).toEqual(["one", "two", "one"])
  })

  test("are candles as they were told last", () => {
    const candle = (openTimeEpochMs: number, close: string) => ({ openTimeEpochMs, close } as Contract.Candle)
    const known = [candle(1, "a"), candle(2, "b")]
    expect(joined(known, [candle(2, "c"), candle(3, "d")])).toEqual([candle(1, "a"), candle(2, "c"), candle(3, "d")])
    expect(joined(known, [])).toBe(known)
    expect(joined([], known)).toEqual(known)
    expect(joined(Array.from({ length: 1_000 }, (_, at) => candle(at, "")), [candle(1_000, "")]).length).toBe(1_000)
    // A full answer behind what is known: there may be more between, and the last one known may be half of itself.
    const latest = (from: number) => Array.from({ length: 100 }, (_, at) => candle(from + at, "new"))
    expect(joined(known, latest(500))).toEqual(latest(500))
    expect(joined(known, latest(3))).toEqual(latest(3))
    expect(joined(known, latest(2))).toEqual([candle(1, "a"), ...latest(2)])
    expect(joined(known, latest(500).slice(1))).toEqual([...known, ...latest(500).slice(1)])
  })
})

test("that the venue did not answer is told until the market is known, by the stream or by an answer", async () => {
  const listeners = new Map<string, { snapshot: (frame: object) => void; update: (frame: object) => void }>()
  const client = {
    market: () => Promise.reject(new Unanswered("GET /v1/markets/x", undefined)),
    book: () => ({ changes: async function*() {} }),
    follow: ({ channel }: { readonly channel: string }, listener: never) => void listeners.set(channel, listener)
  }
  const feed = new Feed("BTC-USDC-PERP", new Frames(() => {}), () => 0, () => {})
  feed.follow(client as never)
  await expect.poll(() => feed.failure.value?.message).toBe("The venue did not answer.")
  const status = listeners.get("market.status")!
  status.snapshot({ data: { marketId: "BTC-USDC-PERP" } })
  expect([feed.failure.value, feed.market.value]).toEqual([undefined, { marketId: "BTC-USDC-PERP" }])
  feed.failure.value = Failure.ofEnvelope(refused(404, "market_not_found").body as Contract.Envelope)
  status.update({ data: [{ marketId: "BTC-USDC-PERP" }] })
  expect(feed.failure.value).toBeDefined()
})

test("a market is a place of its own, and any text that is no market's id is none", () => {
  expect(Places.parse("#/market/BTC-USDC-PERP")).toEqual({ page: "market", marketId: "BTC-USDC-PERP", userCode: "" })
  expect(Places.parse("#/market/")).toMatchObject({ page: "markets", marketId: "" })
  expect(Places.parse("#/market/%")).toMatchObject({ page: "markets" })
  // It would be the heading and the window's title of a page of the venue.
  for (const text of ["Account frozen: call us", "A/B#C", "BTC-USDC-PERP now", "ACCOUNT-FROZEN-CALL-US-PERP", "btc-usdc-perp"]) {
    expect(Places.parse(Places.link("market", text))).toEqual({ page: "markets", marketId: "", userCode: "" })
  }
  const place = { page: "market", marketId: "1000PEPE-USDC-PERP", userCode: "" } as const
  expect(Places.parse(Places.linkTo(place))).toEqual(place)
})

test("an outcome says whether the same may be tried again: where it is unknown, or was not taken once more", () => {
  const unknown = resultOf({ kind: "unknown", idempotencyKey: "k", cause: undefined, seen: undefined }, false)
  expect(unknown).toMatchObject({ failure: { again: true } })
  expect(resultOf({ kind: "never_arrived", idempotencyKey: "k", fencedUntilEpochMs: undefined, cause: undefined }, false)).toMatchObject({
    failure: { again: false }
  })
  expect(resultOf({ kind: "accepted", idempotencyKey: "k", value: 1 }, false)).toEqual({ value: 1 })
  // A key that stands for another request would be refused for ever.
  const { body } = refused(409, "idempotency_key_conflict")
  const cause = new Refusal(409, body as Contract.Envelope, undefined)
  expect(resultOf({ kind: "unknown", idempotencyKey: "k", cause, seen: undefined }, false)).toMatchObject({ failure: { again: false } })
  const ofStatus = (status: number, code: string, isNew: boolean) => {
    const refusal = new Refusal(status, refused(status, code).body as Contract.Envelope, undefined)
    return resultOf({ kind: "refused", idempotencyKey: "k", refusal }, isNew)
  }
  expect(ofStatus(401, "unauthorized", true)).toMatchObject({ failure: { again: false } })
  expect(ofStatus(401, "unauthorized", false)).toMatchObject({ failure: { again: true } })
  expect(ofStatus(422, "order_rejected", false)).toMatchObject({ failure: { again: false } })
})

describe("an open market", () => {
  const marketId = terms.marketId
  const account = `/v1/accounts/${accountId}`
  const preview = { accepted: true, refusal: null }

  /** Requests that wait at the venue for the account's changes, and the answer to each. */
  class Waiting {
    private readonly all: Array<{ readonly path: string; readonly come: (answer: Answered | undefined) => void }> = []

    readonly wait = ({ path }: Sent): Promise<Answered | undefined> => new Promise((come) => void this.all.push({ path, come }))

    /** The sequences after which the waiting requests ask for changes. */
    get behind(): ReadonlyArray<string | null> {
      return this.all.map(({ path }) => new URLSearchParams(path.split("?")[1]).get("fromSequence"))
    }

    /** Answers the request that has waited longest. */
    answer(answer: Answered | undefined): void {
      this.all.shift()!.come(answer)
    }
  }

  const opened = async () => {
    const outside = new ScriptedOutside()
    const changes = new Waiting()
    outside.stored = JSON.stringify({ accessToken: "ses_1", accountId, expiresAtEpochMs: startEpochMs + 1_000_000 })
    outside
      .on(`GET ${account}/balance`, ok({ journalSequence: 7 }))
      .on(`GET ${account}/changes`, (sent) => changes.wait(sent))
      .on(`GET ${account}/positions`, ok({ positions: [] }))
      .on(`GET ${account}/orders`, ok({ orders: [{ orderId: "ord_1", marketId, price: "60000.0" }], nextCursor: null }))
      .on(`GET ${account}/triggers`, ok({ triggers: [] }))
      .on(`GET ${account}/fills`, ok({ fills: [], nextCursor: null }))
      .on(`POST ${account}/margin/preview`, ok(preview))
    outside.platform.answer = ({ url }) => ({ body: url.includes("/candles") ? { candles: [] } : { marketId, market: terms } })
    const store = new Store(outside, { page: "market", userCode: "", marketId })
    store.trading.open(marketId)
    await outside.platform.settle()
    const { line } = outside.platform
    line.say({ type: "hello", version: "stream/v1", connectionId: "con_1", heartbeatMs: 5_000, limits: { framesPerSecond: 100 } })
    await outside.platform.settle()
    return { outside, store, line, changes, market: store.trading.opened.value! }
  }

  /** The venue accepts the subscription. */
  const subscribed = (line: Awaited<ReturnType<typeof opened>>["line"], channel: string): void => {
    const { id } = line.sent.findLast((frame) => frame.op === "subscribe" && frame.channel === channel)
    line.say({ type: "subscribed", id, channel, marketId, resumed: false })
  }

  const trade = (at: number, price: string) => ({ tradeId: `trd_${at}`, marketId, price, takerSide: "buy" })

  test("shows trades once a frame, no more than it shows, and looks at the account where one may be its own", async () => {
    const { line, market: { feed }, outside } = await opened()
    expect(feed.link.value).toEqual({ kind: "live" })
    subscribed(line, "market.trades")
    line.say({ type: "snapshot", channel: "market.trades", marketId, sequence: 1, data: [] })
    for (let at = 0; at < 100; at++) {
      line.say({ type: "update", channel: "market.trades", marketId, previousSequence: at + 1, sequence: at + 2, data: [trade(at, "1.0")] })
    }
    expect(feed.trades.value).toEqual([])
    expect(await outside.paint()).toBe(1)
    expect(feed.trades.value.map(({ tradeId }) => tradeId)).toEqual(Array.from({ length: mostTrades }, (_, at) => `trd_${99 - at}`))
    const looks = (): number => outside.asked.filter((request) => request.startsWith(`GET ${account}/positions`)).length
    const before = looks()
    line.say({ type: "update", channel: "market.trades", marketId, previousSequence: 101, sequence: 102, data: [trade(1, "60000.0")] })
    outside.nowEpochMs += 1_000
    await outside.platform.pass(1_000)
    expect(looks()).toBe(before + 1)
  })

  test("waits for no requests that count for the visitor's address alone", async () => {
    const { outside, store } = await opened()
    const markets = Array.from({ length: 50 }, (_, at) => ({ marketId: `M${at}-USDC-PERP` }))
    outside.on("GET /v1/markets", ok({ markets }))
    for (const of of markets) outside.on(`GET /v1/markets/${of.marketId}/stats`, ok({}))
    const pass = async (ms: number) => {
      outside.nowEpochMs += ms
      await outside.platform.pass(ms)
    }
    const looks = (): number => outside.asked.filter((request) => request.startsWith(`GET ${account}/positions`)).length
    store.trading.look()
    await pass(1_000)
    store.trading.leave()
    await store.markets.begin()
    expect(outside.asked).toContain("GET /v1/markets/M49-USDC-PERP/stats")
    store.trading.open(marketId)
    await outside.platform.settle()
    const before = looks()
    store.trading.look()
    await pass(3_000)
    expect(looks()).toBe(before + 1)
  })

  test("keeps well within the session's limit, however much changes, for however many orders and as long as it is open", async () => {
    for (const [open, minutes, leastLooks] of [[1, 10, 580], [1_000, 60, 1_100]] as const) {
      const { changes, outside, store } = await opened()
      outside.on(`GET ${account}/orders`, ({ path }) => {
        const from = Number(/cursor=([0-9]+)/.exec(path)?.[1] ?? 0)
        const orders = Array.from({ length: Math.min(100, open - from) }, (_, at) => ({ orderId: `ord_${from + at}` }))
        return ok({ orders, nextCursor: from + 100 < open ? String(from + 100) : null })
      })
      const { length } = outside.sent
      const perMinute: Array<number> = []
      let sent = length
      for (let second = 1; second <= minutes * 60; second++) {
        store.trading.look()
        if (changes.behind.length > 0) changes.answer(ok({ events: [{}], throughSequence: second }))
        outside.nowEpochMs += 1_000
        await outside.platform.pass(1_000)
        if (second % 60 > 0) continue
        perMinute.push(outside.sent.length - sent)
        sent = outside.sent.length
      }
      expect(Math.max(...perMinute)).toBeLessThanOrEqual(366)
      expect(sent - length).toBeLessThanOrEqual(minutes * 360)
      // It is not slower than it has to be.
      expect(outside.sent.slice(length).filter(({ path }) => path.endsWith("/positions")).length).toBeGreaterThan(leastLooks)
      // A clock that is set back keeps nobody waiting.
      outside.nowEpochMs -= 3_600_000
      store.trading.look()
      const before = outside.sent.length
      await outside.platform.pass(3_000)
      expect(outside.sent.length).toBeGreaterThan(before)
      store.trading.leave()
    }
  })

  test("shows the book as it is when it is painted, never between, and as it was last until it is told on", async () => {
    const { line, market: { feed }, outside } = await opened()
    const book = { channel: "market.book", marketId }
    const sizes = (): ReadonlyArray<string> | undefined => feed.book.value?.bids.map(({ size }) => size)
    const change = (sequence: number, more = {}) => {
      const data = [{ side: "bid", ...level(10, sequence) }]
      line.say({ type: "update", ...book, previousSequence: sequence - 1, sequence, data, ...more })
    }
    subscribed(line, "market.book")
    const checksum = `sha256:${sha256("b|10|1")}`
    line.say({ type: "snapshot", ...book, sequence: 1, data: { bids: [level(10, 1)], asks: [], checksum } })
    await outside.platform.settle()
    expect(sizes()).toBeUndefined()
    await outside.paint()
    expect([sizes(), feed.isBookCurrent.value]).toEqual([["0.001"], true])
    for (let sequence = 2; sequence <= 50; sequence++) {
      change(sequence)
      await outside.platform.settle()
    }
    expect(sizes()).toEqual(["0.001"])
    expect(await outside.paint()).toBe(1)
    expect(sizes()).toEqual(["0.050"])
    expect(await outside.paint()).toBe(0)

    // A book that turns out to be wrong before it is painted is not painted.
    change(51, { checksum: "another's" })
    await outside.paint()
    expect([sizes(), feed.isBookCurrent.value]).toEqual([["0.050"], false])
    subscribed(line, "market.book")
    line.say({ type: "snapshot", ...book, sequence: 51, data: { bids: [level(10, 1)], asks: [], checksum } })
    await outside.platform.settle()
    await outside.paint()
    expect([sizes(), feed.isBookCurrent.value]).toEqual([["0.001"], true])

    // If nothing was missed while the connection was lost, no updates follow.
    line.end()
    await outside.paint()
    expect(feed.isBookCurrent.value).toBe(false)
    await outside.platform.pass(250)
    const { line: next } = outside.platform
    next.say({ type: "hello", version: "stream/v1", connectionId: "con_2", heartbeatMs: 5_000, limits: { framesPerSecond: 100 } })
    const { id } = next.sent.findLast((frame) => frame.op === "subscribe" && frame.channel === "market.book")
    next.say({ type: "subscribed", id, channel: "market.book", marketId, resumed: true })
    await outside.platform.settle()
    await outside.paint()
    expect([sizes(), feed.isBookCurrent.value]).toEqual([["0.001"], true])
  })

  test("begins anew with the account where the venue goes on from another journal, and not over an ordinary restart", async () => {
    const { changes, line, outside } = await opened()
    const looks = (): number => outside.asked.filter((request) => request.startsWith(`GET ${account}/positions`)).length
    const pass = async (ms: number): Promise<void> => {
      outside.nowEpochMs += ms
      await outside.platform.pass(ms)
    }
    const reconnected = async (starts: ReadonlyArray<object>): Promise<void> => {
      outside.platform.line.end()
      await pass(1_000)
      outside.platform.line.say({ type: "hello", connectionId: "con_2", heartbeatMs: 5_000, limits: {}, starts })
      await pass(1_000)
    }
    const start = (id: string, firstSequence: number): object => ({ id, firstSequence })
    subscribed(line, "market.trades")
    line.say({ type: "snapshot", channel: "market.trades", marketId, sequence: 8, data: [] })
    await reconnected([start("a", 1)])
    await pass(1_000)
    changes.answer(ok({ events: [], throughSequence: 20 }))
    await pass(0)
    changes.answer(ok({ events: [], throughSequence: 20 }))
    await pass(0)
    expect(changes.behind).toEqual(["20"])
    subscribed(outside.platform.line, "market.trades")
    outside.platform.line.say({ type: "snapshot", channel: "market.trades", marketId, sequence: 8, data: [] })
    await pass(1_000)
    const before = looks()
    await reconnected([start("b", 9), start("a", 1)])
    expect([changes.behind, looks()]).toEqual([["20"], before])
    await reconnected([start("c", 5), start("a", 1)])
    expect(looks()).toBe(before + 1)
    // What the request that waits is told is about the lost time's numbers.
    changes.answer(ok({ events: [], throughSequence: 20 }))
    await pass(0)
    expect(changes.behind).toEqual(["7"])
  })

  test("looks at the account as soon as something has changed of it, and goes on behind that", async () => {
    const { changes, outside, store } = await opened()
    const looks = (): number => outside.asked.filter((request) => request.startsWith(`GET ${account}/positions`)).length
    const pass = async (ms: number): Promise<void> => {
      outside.nowEpochMs += ms
      await outside.platform.pass(ms)
    }
    // What changed before the first request is read too.
    await pass(1_000)
    expect(changes.behind).toEqual(["7"])
    const before = looks()
    changes.answer(ok({ events: [], throughSequence: 9 }))
    await pass(1_000)
    expect([changes.behind, looks()]).toEqual([["9"], before])
    changes.answer(ok({ events: [{ channel: "account.fills", sequence: 10, data: [] }], throughSequence: 12 }))
    await pass(0)
    expect(looks()).toBe(before + 1)
    // If changes are frequent, they are requested and read once a second.
    await pass(999)
    expect(changes.behind).toEqual([])
    await pass(1)
    changes.answer(ok({ events: [{}], throughSequence: 15 }))
    await pass(0)
    expect(looks()).toBe(before + 2)
    await pass(1_000)
    expect(changes.behind).toEqual(["15"])

    // If changes cannot be read now, they are requested again after a while; if they are no longer kept, from the present state on.
    changes.answer(refused(503, "dependency_unavailable", { retryable: true }))
    await pass(5_000)
    expect(changes.behind).toEqual(["15"])
    changes.answer(refused(410, "sequence_not_retained"))
    await pass(4_999)
    expect(changes.behind).toEqual([])
    await pass(1)
    expect(changes.behind).toEqual(["7"])

    // No request waits while the page is hidden.
    outside.isShown = false
    changes.answer(ok({ events: [], throughSequence: 16 }))
    await pass(30_000)
    expect(changes.behind).toEqual([])
    outside.isShown = true
    await pass(1_000)
    expect(changes.behind).toEqual(["16"])

    // A change while the account is being read makes it be read again.
    const reading = later()
    outside.on(`GET ${account}/positions`, reading.answer)
    changes.answer(ok({ events: [{}], throughSequence: 17 }))
    await pass(1_000)
    const during = looks()
    changes.answer(ok({ events: [{}], throughSequence: 18 }))
    await pass(2_000)
    expect(looks()).toBe(during)
    outside.on(`GET ${account}/positions`, ok({ positions: [] }))
    reading.come(ok({ positions: [] }))
    await pass(200)
    expect(looks()).toBe(during + 1)

    // A page that was left receives nothing more; when it is opened again, a single request waits.
    store.trading.leave()
    await pass(2_000)
    const left = looks()
    changes.answer(ok({ events: [{}], throughSequence: 20 }))
    await pass(2_000)
    expect([changes.behind, looks()]).toEqual([[], left])
    store.trading.open(marketId)
    await pass(0)
    expect(changes.behind).toEqual(["7"])
  })

  test("says since when it has not been told, and no longer than it lasts", async () => {
    const { line, market: { feed }, outside } = await opened()
    // What is known without the stream is shown without it.
    expect(feed.market.value).toMatchObject({ market: terms })
    line.end()
    expect(feed.link.value).toEqual({ kind: "lost", sinceEpochMs: startEpochMs })
    outside.nowEpochMs += 60_000
    await outside.platform.pass(1_000)
    outside.platform.line.end()
    expect(feed.link.value).toEqual({ kind: "lost", sinceEpochMs: startEpochMs })
    await outside.platform.pass(5_000)
    outside.platform.line.say({ type: "hello", version: "stream/v1", connectionId: "con_2", limits: { framesPerSecond: 100 } })
    expect(feed.link.value).toEqual({ kind: "live" })
  })

  test("asks for candles again and again only where the stream has none", async () => {
    const { line, market: { candles }, outside } = await opened()
    const asked = (): number => outside.platform.requests.filter(({ url }) => url.includes("/candles")).length
    expect(asked()).toBe(1)
    await candles.refresh()
    expect(asked()).toBe(2)
    const { id, timeframe } = line.sent.findLast((frame) => frame.channel === "market.candles")
    line.say({ type: "subscribed", id, channel: "market.candles", marketId, timeframe })
    const candle = { openTimeEpochMs: 60_000, close: "1.0" }
    line.say({ type: "snapshot", channel: "market.candles", marketId, timeframe, sequence: 5, data: { candles: [candle] } })
    await outside.paint()
    expect(candles.shown.value?.candles).toEqual([candle])
    await candles.refresh()
    expect(asked()).toBe(2)
    await candles.choose("1h", "index")
    await candles.refresh()
    expect(asked()).toBe(4)
  })

  test("gives up candles that a sleep has cut off from the latest, and looks back from these", async () => {
    const { market: { candles }, outside } = await opened()
    const minuteMs = 60_000
    const candle = (minute: number) => ({ openTimeEpochMs: minute * minuteMs, close: "1.0" })
    const upTo = (minute: number) => Array.from({ length: 100 }, (_, at) => candle(minute - 99 + at))
    const told = [upTo(100_100), upTo(100_000)]
    outside.platform.answer = () => ({ body: { candles: told.shift() ?? [] } })
    await candles.choose("1m", "index")
    await candles.older()
    let answer: (body: object) => void = () => {}
    outside.platform.answer = () => new Promise((resolve) => answer = (body) => resolve({ body })) as never
    const older = candles.older()
    await vi.waitFor(() => expect(outside.platform.requests.at(-1)!.url).toContain("since="))
    const early = answer
    const refreshed = candles.refresh()
    await vi.waitFor(() => expect(outside.platform.requests.at(-1)!.url).not.toContain("since="))
    answer({ candles: upTo(100_500) })
    await refreshed
    // What was requested of the time before the sleep comes late, and would leave out all that is between.
    early({ candles: upTo(99_900) })
    await older
    await outside.paint()
    expect(candles.shown.value?.candles).toEqual(upTo(100_500))
    outside.platform.answer = () => ({ body: { candles: upTo(100_400) } })
    await candles.older()
    await outside.paint()
    expect(candles.shown.value?.candles).toEqual([...upTo(100_400), ...upTo(100_500)])
    expect(outside.platform.requests.at(-1)!.url).toContain(`since=${(100_401 - 100) * minuteMs}`)
  })

  test("asks for older candles where somebody looks, further back where a time had none", async () => {
    const { market: { candles }, outside } = await opened()
    const candle = (openTimeEpochMs: number) => ({ openTimeEpochMs, close: "1.0" })
    const minuteMs = 60_000
    const told = [[candle(9_000 * minuteMs)], [candle(9_000 * minuteMs)], [candle(8_850 * minuteMs), candle(9_000 * minuteMs)]]
    outside.platform.answer = () => ({ body: { candles: told.shift() ?? [] } })
    await candles.choose("1m", "index")
    await candles.older()
    await outside.paint()
    expect(candles.shown.value?.candles).toEqual([candle(8_850 * minuteMs), candle(9_000 * minuteMs)])
    await candles.older()
    const since = outside.platform.requests.flatMap(({ url }) => /since=([0-9]+)/.exec(url)?.[1] ?? []).map((text) =>
      Number(text) / minuteMs
    )
    expect(since).toEqual([8_900, 8_800, 8_700, 8_600, 8_500, 8_400, 8_300])
  })

  test("asks what an order would come to once nobody types any more", async () => {
    const { outside, store: { trading: { ticket } } } = await opened()
    ticket.about(terms)
    const asked = () => outside.sent.filter(({ path }) => path.endsWith("/margin/preview"))
    for (const price of ["6", "60", "600", "6000", "60000"]) ticket.enter({ price, quantity: "1" })
    await outside.platform.pass(1_000)
    expect(asked().map(({ body }) => body)).toMatchObject([{ accountId, price: "60000.0", quantity: "1.000" }])
    expect(ticket.expected).toMatchObject(preview)
    ticket.enter({ quantity: "" })
    expect([ticket.expected, ticket.preview.value.value]).toEqual([undefined, undefined])
  })

  test("shows what an order would come to beside that order alone", async () => {
    const { outside, store: { trading: { ticket } } } = await opened()
    ticket.about(terms)
    const answers: Array<(answer: Answered | undefined) => void> = []
    const asked = () => outside.sent.filter(({ path }) => path.endsWith("/margin/preview")).map(({ body }) => body)
    outside.on(`POST ${account}/margin/preview`, () => new Promise((come) => void answers.push(come)))
    const effect = (of: string): Answered => ok({ ...preview, of })
    const pass = () => outside.platform.pass(300)
    ticket.enter({ side: "buy", price: "60000", quantity: "1" })
    await pass()
    answers.shift()!(effect("the buy of 1"))
    await outside.platform.settle()
    expect(ticket.expected).toMatchObject({ of: "the buy of 1" })

    // From the first key on it is another order's, and remains so where the next answer is lost.
    ticket.enter({ side: "sell", quantity: "50" })
    expect([ticket.isWhole, ticket.expected]).toEqual([true, undefined])
    await pass()
    answers.shift()!(undefined)
    await outside.platform.settle()
    expect([ticket.expected, ticket.preview.failure.value?.message]).toEqual([undefined, "The venue did not answer."])
    ticket.ask()
    await pass()
    answers.shift()!(effect("the sale of 50"))
    await outside.platform.settle()
    expect([ticket.expected, ticket.preview.failure.value]).toMatchObject([{ of: "the sale of 50" }, undefined])

    // What comes late, of an order that was entered before this one, is neither its effect nor its failure.
    ticket.enter({ quantity: "2" })
    await pass()
    ticket.enter({ quantity: "3" })
    answers.shift()!(effect("the sale of 2"))
    await outside.platform.settle()
    expect(ticket.expected).toBeUndefined()
    await pass()
    ticket.enter({ quantity: "4" })
    answers.shift()!(undefined)
    await outside.platform.settle()
    expect([ticket.expected, ticket.preview.failure.value]).toEqual([undefined, undefined])

    // Other terms of the market make it another order, which is asked about.
    await pass()
    answers.shift()!(effect("the sale of 4"))
    await outside.platform.settle()
    expect(ticket.expected).toMatchObject({ of: "the sale of 4" })
    ticket.about({ ...terms, quantityScale: 4 })
    expect(ticket.expected).toBeUndefined()
    await pass()
    answers.shift()!(effect("the sale of 4.0000"))
    await outside.platform.settle()
    expect(ticket.expected).toMatchObject({ of: "the sale of 4.0000" })
    expect(asked().at(-1)).toMatchObject({ quantity: "4.0000" })

    // What is told once more of the same terms asks for nothing.
    ticket.about({ ...terms, quantityScale: 4 })
    await pass()
    expect([answers.length, asked().length]).toEqual([0, 7])
  })

  test("an order of which nobody knows what became of it is asked about under its key before there is another", async () => {
    const { outside, store: { trading: { ticket } } } = await opened()
    ticket.about(terms)
    ticket.enter({ price: "60000", quantity: "1" })
    outside.platform.answer = () => "broken"
    expect(await outside.platform.finish(ticket.submit())).toBe(false)
    expect(ticket.unknown).toMatchObject({ price: "60000.0", quantity: "1.000" })
    expect(ticket.sending.failure.value).toMatchObject({ again: true })
    // Text typed meanwhile is kept for later, also when another market is shown.
    ticket.about({ ...terms, marketId: "ETH-USDC-PERP" })
    ticket.about(terms)
    ticket.enter({ price: "1", quantity: "2" })
    outside.platform.answer = () => ({
      body: { side: "buy", price: "60000.0", filledQuantity: "0.000", remainingQuantity: "1.000", canceledQuantity: "0.000" }
    })
    expect(await outside.platform.finish(ticket.submit())).toBe(true)
    const placed = outside.platform.requests.filter(({ method, url }) => method === "POST" && url.endsWith("/v1/orders"))
    expect(new Set(placed.map(({ headers }) => headers["idempotency-key"])).size).toBe(1)
    expect(new Set(placed.map(({ body }) => body)).size).toBe(1)
    expect(ticket.unknown).toBeUndefined()
    expect(ticket.outcome.value).toBe("1.000 rests in the book at 60,000.0.")
  })

  test("an order of which nobody knows what became of it outlives the session, for the account that sent it alone", async () => {
    const { outside, store } = await opened()
    const { ticket } = store.trading
    ticket.about(terms)
    ticket.enter({ price: "60000", quantity: "1" })
    outside.platform.answer = () => "broken"
    expect(await outside.platform.finish(ticket.submit())).toBe(false)
    store.credential.drop("Your session has ended.")
    expect(ticket.unknown).toBeUndefined()
    const signIn = (of: string) =>
      store.credential.keep({ accessToken: `ses_${of}`, accountId: of, expiresAtEpochMs: startEpochMs + 1_000_000 } as Session)
    signIn("acc_other")
    expect(ticket.unknown).toBeUndefined()
    store.credential.drop(undefined)
    signIn(accountId)
    expect(ticket.unknown).toMatchObject({ price: "60000.0", quantity: "1.000" })
    outside.platform.answer = () => ({
      body: { side: "buy", price: "60000.0", filledQuantity: "0.000", remainingQuantity: "1.000", canceledQuantity: "0.000" }
    })
    expect(await outside.platform.finish(ticket.submit())).toBe(true)
    const placed = outside.platform.requests.filter(({ method, url }) => method === "POST" && url.endsWith("/v1/orders"))
    expect(new Set(placed.map(({ body, headers }) => `${headers["idempotency-key"]} ${body}`)).size).toBe(1)
    expect(ticket.unknown).toBeUndefined()
  })

  test.each<readonly [what: string, status: number, code: string, isSignedOut: boolean]>([
    ["the venue starts", 503, "starting", false],
    ["the session has ended", 401, "unauthorized", true]
  ])("an order of which nobody knows what became of it stays open where %s, and is the same one then",
    async (_, status, code, isSignedOut) => {
      const { outside, store } = await opened()
      const { ticket } = store.trading
      const session = store.credential.signed.value as Session
      ticket.about(terms)
      ticket.enter({ price: "60000", quantity: "1" })
      for (const answer of ["broken", { status, body: refused(status, code).body }] as const) {
        outside.platform.answer = () => answer
        expect(await outside.platform.finish(ticket.submit())).toBe(false)
      }
      expect(store.credential.signed.value === undefined).toBe(isSignedOut)
      if (isSignedOut) store.credential.keep(session)
      expect(ticket.unknown).toMatchObject({ price: "60000.0", quantity: "1.000" })
      // The venue can answer about the key again, but accepts no orders yet: a request that it has not seen may still be under way.
      outside.platform.answer = ({ method }) =>
        method === "GET" ? { body: { outcome: "never_seen", decisions: [] } } : { status: 503, body: refused(503, "starting").body }
      expect(await outside.platform.finish(ticket.submit())).toBe(false)
      expect(ticket.unknown).toBeDefined()
      outside.platform.answer = () => ({
        body: { side: "buy", price: "60000.0", filledQuantity: "0.000", remainingQuantity: "1.000", canceledQuantity: "0.000" }
      })
      expect(await outside.platform.finish(ticket.submit())).toBe(true)
      const placed = outside.platform.requests.filter(({ method, url }) => method === "POST" && url.endsWith("/v1/orders"))
      expect(new Set(placed.map(({ body, headers }) => `${headers["idempotency-key"]} ${body}`)).size).toBe(1)
      expect(ticket.unknown).toBeUndefined()
    })

  test("an order that the venue does not take at first is forgotten, and asked about by nobody", async () => {
    const { outside, store: { trading: { ticket } } } = await opened()
    ticket.about(terms)
    ticket.enter({ price: "60000", quantity: "1" })
    outside.platform.answer = () => ({ status: 403, body: refused(403, "account_not_enabled").body })
    const before = outside.platform.requests.length
    expect(await outside.platform.finish(ticket.submit())).toBe(false)
    outside.platform.answer = () => ({ status: 400, body: refused(400, "invalid_request").body })
    expect(await outside.platform.finish(ticket.submit())).toBe(false)
    expect(ticket.unknown).toBeUndefined()
    expect(outside.platform.requests.slice(before).map(({ url }) => url.endsWith("/v1/orders"))).toEqual([true, true])
  })

  /** The venue when it is asked later: the order that it has under a name, and whether the key may still act. */
  const late =
    (found: (name: string) => object | undefined, fence: object = { body: { fenced: true } }) => ({ method, url }: HttpRequest) => {
      if (method === "POST") return url.endsWith("/outcomes/fence") ? fence : "broken"
      const order = found(new URL(url).searchParams.get("clientOrderId")!)
      return { body: { outcome: order === undefined ? "unknown_expired" : "accepted", decisions: [], order } }
    }
  const resting = { side: "buy", price: "60000.0", filledQuantity: "0.000", remainingQuantity: "1.000", canceledQuantity: "0.000" }
  const alreadySeen = { status: 409, body: refused(409, "idempotency_key_conflict", { rejectionGuard: "already_seen" }).body }

  test.each<readonly [what: string, isFound: ReadonlyArray<boolean>, fence: object | undefined, told: string]>([
    ["is told of where the venue has it", [true], undefined, "1.000 rests in the book at 60,000.0."],
    ["is barred where the venue has none", [false], undefined, "It was not placed, and never will be."],
    ["is told of where it came meanwhile", [false, true], alreadySeen, "1.000 rests in the book at 60,000.0."],
    ["is none where it was refused", [false, false], alreadySeen, "It was not placed, and never will be."]
  ])("an order of which nobody knew what became of it for so long that its key may be forgotten %s, and is not sent again",
    async (_, isFound, fence, told) => {
      const { outside, store: { trading: { ticket } } } = await opened()
      ticket.about(terms)
      ticket.enter({ price: "60000", quantity: "1" })
      outside.platform.answer = () => "broken"
      expect(await outside.platform.finish(ticket.submit())).toBe(false)
      outside.nowEpochMs += 600_000
      const sent = outside.platform.requests.length
      // While it cannot be asked, the question stays open.
      expect(await outside.platform.finish(ticket.submit())).toBe(false)
      expect(ticket.unknown).toBeDefined()
      const answers = [...isFound]
      outside.platform.answer = late(() => answers.shift() === true ? resting : undefined, fence)
      await outside.platform.finish(ticket.submit())
      expect(ticket.outcome.value ?? ticket.sending.failure.value?.message).toBe(told)
      expect(ticket.unknown).toBeUndefined()
      expect(outside.platform.requests.slice(sent).filter(({ url }) => url.endsWith("/v1/orders"))).toEqual([])
    })

  test("an order that is looked up is its account's, whoever has signed in by the time of the answer", async () => {
    const { outside, store: { credential, trading: { ticket } } } = await opened()
    const session = credential.signed.value as Session
    ticket.about(terms)
    ticket.enter({ price: "60000", quantity: "1" })
    outside.platform.answer = () => "broken"
    expect(await outside.platform.finish(ticket.submit())).toBe(false)
    outside.nowEpochMs += 600_000
    outside.platform.answer = () => {
      credential.drop(undefined)
      credential.keep({ ...session, accountId: "acc_other" })
      return { body: { outcome: "unknown_expired", decisions: [] } }
    }
    await outside.platform.finish(ticket.submit())
    expect(outside.platform.requests.filter(({ url }) => url.includes("acc_other"))).toEqual([])
    credential.drop(undefined)
    credential.keep(session)
    expect(ticket.unknown).toMatchObject({ price: "60000.0" })
  })

  test("a position is closed by one order, or by a batch where one may not be as large", async () => {
    const { outside, store: { trading } } = await opened()
    const position = (quantity: string, of = marketId) => ({ marketId: of, quantity, side: "long" }) as Position
    const close = (quantity: string, of?: string) => outside.platform.finish(trading.close(position(quantity, of)))
    const asked = () => outside.platform.requests.filter(({ method }) => method === "POST").map(({ body, url }) => [url, JSON.parse(body!)])
    const entry = { accepted: true }
    const none = { accepted: false, code: "order_rejected", rejectionGuard: "no_liquidity" }
    outside.platform.answer = ({ url }) => ({ body: url.endsWith("/batch") ? { outcomes: [entry, none] } : {} })
    expect(await close("100.000")).toBe(true)
    expect(await close("165.000")).toBe(true)
    const terms = { accountId, marketId, side: "sell", orderType: "market", reduceOnly: true }
    expect(asked()).toMatchObject([
      ["http://venue.test/v1/orders", { ...terms, quantity: "100.000" }],
      ["http://venue.test/v1/orders/batch", { orders: [{ ...terms, quantity: "100.000" }, { ...terms, quantity: "65.000" }] }]
    ])
    outside.platform.answer = () => ({ body: { outcomes: [none, none] } })
    expect(await close("165.000")).toBe(false)
    expect(trading.closing.failure.value).toMatchObject({ message: "It was refused: no liquidity.", again: false })
    // For a market whose page is not open, the limits are requested first.
    const other = "ETH-USDC-PERP"
    outside.on(`GET /v1/markets/${other}`, ok({ marketId: other, market: { ...terms, maxQuantity: "2", quantityScale: 0 } }))
    outside.platform.answer = () => ({ body: { outcomes: [entry, entry, entry] } })
    expect(await close("5.0", other)).toBe(true)
    expect(asked().at(-1)).toMatchObject(["http://venue.test/v1/orders/batch", {
      orders: [{ marketId: other, quantity: "2" }, { quantity: "2" }, { quantity: "1" }]
    }])
  })

  test("a position's close of which nobody knew for so long that its key may be forgotten is looked up, and not sent again", async () => {
    const { outside, store: { trading } } = await opened()
    const close = () => outside.platform.finish(trading.close({ marketId, quantity: "165.000", side: "long" } as Position))
    outside.platform.answer = () => "broken"
    expect(await close()).toBe(false)
    outside.nowEpochMs += 600_000
    const sent = outside.platform.requests.length
    // The first order of a batch may have been refused.
    outside.platform.answer = late((name) => name.endsWith("-1") ? resting : undefined)
    expect(await close()).toBe(true)
    expect(outside.platform.requests.slice(sent).map(({ method }) => method)).toEqual(["GET", "GET"])
  })

  test("exits that were changed behind a lost answer are another request, and the same ones are the same request", async () => {
    const { outside, store: { trading } } = await opened()
    const position = { marketId, side: "long", quantity: "1.000", quantityAtoms: "1000" } as Position
    const exit = (stopLoss: string) =>
      outside.platform.finish(
        trading.exit(position, terms, { takeProfit: entry(""), stopLoss: entry(stopLoss) }, trading.exitsOf(position))
      )
    outside.platform.answer = () => "broken"
    expect([await exit("90"), await exit("90"), await exit("95")]).toEqual([false, false, false])
    // The answer of a server in between is not the venue's.
    outside.platform.answer = () => ({ body: "{\"login\":\"please\"}" })
    expect(await exit("95")).toBe(false)
    expect(trading.exiting.failure.value).toMatchObject({ again: true })
    outside.platform.answer = () => ({ body: {} })
    expect(await exit("95")).toBe(true)
    const asked = outside.platform.requests.filter(({ method }) => method === "PUT")
    const keyOf = (
      price: string
    ) => [...new Set(asked.filter(({ body }) => body!.includes(price)).map(({ headers }) => headers["idempotency-key"]))]
    expect([keyOf("90.0").length, keyOf("95.0").length]).toEqual([1, 1])
    expect(keyOf("90.0")).not.toEqual(keyOf("95.0"))
  })

  test("what a dialog asks for is under way until the account is read behind it: another press would send another order", async () => {
    const { outside, store: { trading } } = await opened()
    const position = { marketId, side: "long", quantity: "1.000", quantityAtoms: "1000" } as Position
    const entries = { takeProfit: entry(""), stopLoss: entry("90") }
    const commands = [
      [trading.closing, () => trading.close(position)],
      [trading.cancelingAll, () => trading.cancelAll(marketId)],
      [trading.exiting, () => trading.exit(position, terms, entries, trading.exitsOf(position))]
    ] as const
    outside.platform.answer = () => ({ body: {} })
    for (const [task, command] of commands) {
      const { answer, come } = later()
      outside.on(`GET ${account}/triggers`, answer)
      const before = outside.platform.requests.length
      const doing = command()
      await outside.platform.settle()
      expect(await command()).toBe(false)
      expect([task.isBusy.value, outside.platform.requests.length]).toEqual([true, before + 1])
      come(ok({ triggers: [] }))
      expect([await doing, task.isBusy.value]).toEqual([true, false])
    }
  })

  const entry = (text: string, isNone = false) => ({ text, isNone })
  const pair = (quantity: string, more: Partial<TriggerPair>): TriggerPair => ({
    triggerId: "trg_1",
    marketId,
    side: "long",
    quantity,
    quantityAtoms: String(Number(quantity) * 1_000),
    status: "armed",
    createdAtEpochMs: 1,
    lastSequence: 1,
    ...more
  } as TriggerPair)
  const leg = (triggerPrice: string, more: object = {}) => ({ triggerPrice, triggerPriceAtoms: "1", triggerBy: "mark", ...more }) as const

  /** The exits of a position of 1.000 with these pairs, and how many requests set or removed them. */
  const exiting = async (...triggers: ReadonlyArray<TriggerPair>) => {
    const { outside, store: { trading } } = await opened()
    const position = { marketId, side: "long", quantity: "1.000", quantityAtoms: "1000" } as Position
    const arm = async (...now: ReadonlyArray<TriggerPair>) => {
      outside.on(`GET ${account}/triggers`, ok({ triggers: now }))
      await trading.load()
    }
    await arm(...triggers)
    outside.platform.answer = () => ({ body: {} })
    const shown = trading.exitsOf(position)
    const exit = (change: object = {}, now = position) => trading.exit(now, terms, { ...entriesOf(shown), ...change }, shown)
    const sent = () =>
      outside.platform.requests.filter(({ method }) => method !== "GET").map(({ body, method }) =>
        body === undefined ? method : JSON.parse(body)
      )
    return { arm, exit, position, sent, shown }
  }

  test("a take-profit that is changed keeps the stop-loss that another pair holds", async () => {
    const { exit, sent, shown } = await exiting(
      pair("1.000", { orderId: "ord_1", takeProfit: leg("3500.0") }),
      pair("1.000", { orderId: "ord_2", stopLoss: leg("2500.0") })
    )
    expect(entriesOf(shown)).toEqual({ takeProfit: entry("3500.0"), stopLoss: entry("2500.0") })
    expect(await exit({ takeProfit: entry("3600") })).toBe(true)
    expect(sent()).toEqual([{ takeProfit: { triggerPrice: "3600.0" }, stopLoss: { triggerPrice: "2500.0", triggerBy: "mark" } }])
  })

  test("what is set for parts of a position ends where somebody says so, and not by a field that was left empty", async () => {
    const { exit, sent, shown } = await exiting(
      pair("0.400", { orderId: "ord_1", takeProfit: leg("3500.0"), stopLoss: leg("2500.0") }),
      pair("0.600", { orderId: "ord_2", stopLoss: leg("2400.0") })
    )
    expect(entriesOf(shown)).toEqual({ takeProfit: entry(""), stopLoss: entry("") })
    expect(noteOf(shown.stopLoss)).toBe("Set for parts: 0.400 at 2,500.0, 0.600 at 2,400.0.")
    expect(await exit({ takeProfit: entry("3600") })).toMatchObject([{ field: "stopLoss" }])
    expect(await exit()).toMatchObject([{ field: "takeProfit" }, { field: "stopLoss" }])
    expect(sent()).toEqual([])
    expect(await exit({ takeProfit: entry("3600"), stopLoss: entry("", true) })).toBe(true)
    expect(await exit({ takeProfit: entry("", true), stopLoss: entry("", true) })).toBe(true)
    expect(sent()).toEqual([{ takeProfit: { triggerPrice: "3600.0" } }, "DELETE"])
  })

  test("a pair of an order that has opened nothing yet is not shown as the position's own, and not armed for it", async () => {
    const { exit, sent, shown } = await exiting(
      pair("0.000", { orderId: "ord_1", status: "pending", takeProfit: leg("3500.0"), stopLoss: leg("2500.0") })
    )
    expect(entriesOf(shown)).toEqual({ takeProfit: entry(""), stopLoss: entry("") })
    expect(await exit({ takeProfit: entry("3600") })).toBe(true)
    expect(sent()).toEqual([{ takeProfit: { triggerPrice: "3600.0" } }])
  })

  test("a leg whose price is not changed keeps what it waits for and its worst price, and another price has neither", async () => {
    const { exit, sent, shown } = await exiting(
      pair("0.700", {
        takeProfit: leg("3500.0", { triggerBy: "last", limitPrice: "3490.0", limitPriceAtoms: "34900" }),
        stopLoss: leg("2500.0", { triggerBy: "index" })
      })
    )
    // The exit was set before the position grew to 1.000.
    expect(noteOf(shown.takeProfit)).toBe(
      "Closes 0.700 alone, of a position that has grown: saved here, it closes all of it. "
        + "Set by the last price, at 3,490.0 at worst. Another price here goes by the mark, and closes at the market."
    )
    expect(await exit({ stopLoss: entry("2600") })).toBe(true)
    const takeProfit = { triggerPrice: "3500.0", triggerBy: "last", limitPrice: "3490.0" }
    expect(sent()).toEqual([{ takeProfit, stopLoss: { triggerPrice: "2600.0" } }])
  })

  test("what covered a position that has grown meanwhile is not armed for all of it untold", async () => {
    const { exit, position, sent } = await exiting(pair("1.000", { takeProfit: leg("3500.0"), stopLoss: leg("2500.0") }))
    const grown = { ...position, quantity: "2.000", quantityAtoms: "2000" } as Position
    expect(await exit({ stopLoss: entry("2600") }, grown)).toMatchObject([{ field: "takeProfit" }])
    expect(sent()).toEqual([])
  })

  test("what was set while the fields were open is not taken away by a field that was empty before", async () => {
    const { arm, exit, sent } = await exiting()
    await arm(pair("1.000", { stopLoss: leg("2500.0") }))
    expect(await exit({ takeProfit: entry("3600") })).toMatchObject([{ field: "stopLoss" }])
    expect(sent()).toEqual([])
  })

  test("a price that was left sets nothing back that was moved or removed meanwhile, and one that was entered takes its place", async () => {
    const takeProfit = leg("3500.0")
    const { arm, exit, sent } = await exiting(pair("1.000", { takeProfit, stopLoss: leg("2500.0") }))
    const moved = leg("2800.0", { triggerBy: "index", limitPrice: "2790.0" })
    for (const stopLoss of [moved, leg("2500.0", { triggerBy: "last" }), undefined]) {
      await arm(pair("1.000", { takeProfit, ...(stopLoss === undefined ? undefined : { stopLoss }) }))
      expect(await exit({ takeProfit: entry("3600") })).toMatchObject([{ field: "stopLoss" }])
      expect(await exit({ takeProfit: entry("3600"), stopLoss: entry(" 2500") })).toMatchObject([{ field: "stopLoss" }])
    }
    expect(sent()).toEqual([])
    expect(await exit({ takeProfit: entry("3500"), stopLoss: entry("2600") })).toBe(true)
    expect(sent()).toEqual([{ takeProfit: { triggerPrice: "3500.0", triggerBy: "mark" }, stopLoss: { triggerPrice: "2600.0" } }])
  })

  test("tells a market's payments of funding page by page, though the venue's pages are of all markets", async () => {
    const { market: { histories }, outside } = await opened()
    const payment = (of: string, sequence: number) => ({ marketId: of, sequence })
    const others = Array.from({ length: 50 }, (_, sequence) => payment("ETH-USDC-PERP", sequence + 100))
    outside.on(`GET ${account}/funding-payments`, ({ path }) =>
      path.includes("cursor=older")
        ? ok({ payments: [payment(marketId, 2), payment("ETH-USDC-PERP", 1)], nextCursor: null })
        : ok({ payments: others, nextCursor: "older" }))
    await histories.choose("funding")
    expect([histories.funding.list.value.value?.rows, histories.funding.hasMore]).toEqual([[], true])
    await histories.funding.more()
    expect([histories.funding.list.value.value?.rows, histories.funding.hasMore]).toEqual([[payment(marketId, 2)], false])
    // Older pages that were opened stay when the newest page is read again.
    await histories.refresh()
    expect(histories.funding.list.value.value?.rows).toEqual([payment(marketId, 2)])
    await histories.choose("funding")
    expect(histories.funding.list.value.value?.rows).toEqual([])
  })

  test("begins a market's payments anew where a page of other markets' has come between", async () => {
    const { market: { histories }, outside } = await opened()
    const payments = (of: string, from: number, count: number) =>
      Array.from({ length: count }, (_, at) => ({ marketId: of, sequence: from - at }))
    // The venue's payments, newest first, in pages of 50; a cursor is the sequence before which the next page begins.
    let all = [...payments(marketId, 120, 20), ...payments("ETH-USDC-PERP", 100, 30), ...payments(marketId, 70, 70)]
    outside.on(`GET ${account}/funding-payments`, ({ path }) => {
      const before = Number(/cursor=([0-9]+)/.exec(path)?.[1] ?? Infinity)
      const page = all.filter(({ sequence }) => sequence < before).slice(0, 50)
      return ok({ payments: page, nextCursor: page.length < 50 ? null : String(page.at(-1)!.sequence) })
    })
    const shown = () => histories.funding.list.value.value?.rows.map(({ sequence }) => sequence)
    const here = () => all.flatMap((each) => each.marketId === marketId ? [each.sequence] : [])
    await histories.choose("funding")
    await histories.funding.more()
    expect(shown()).toEqual(here().slice(0, 70))
    // A page of which the last row alone was there before adjoins what is shown, whichever market that is of.
    all = [...payments("ETH-USDC-PERP", 169, 44), ...payments(marketId, 125, 5), ...all]
    await histories.refresh()
    expect(shown()).toEqual(here().slice(0, 75))
    // A page of nothing but others' says that there may be more between: what there is comes again, page by page.
    all = [...payments("ETH-USDC-PERP", 229, 55), ...payments(marketId, 174, 5), ...all]
    await histories.refresh()
    expect([shown(), histories.funding.hasMore]).toEqual([[], true])
    while (histories.funding.hasMore) await histories.funding.more()
    expect(shown()).toEqual(here())
  })

  test("tells what comes in front of older pages, and begins anew where something may be between", async () => {
    const { market: { histories }, outside } = await opened()
    const fills = (...ids: ReadonlyArray<number>) => ids.map((id) => ({ tradeId: `trd_${id}` }))
    const tell = (page: ReadonlyArray<object>): void =>
      void outside.on(`GET ${account}/fills`, ({ path }) =>
        path.includes("cursor=older") ? ok({ fills: fills(2, 1), nextCursor: null }) : ok({ fills: page, nextCursor: "older" }))
    const shown = () => histories.fills.list.value.value
    tell(fills(4, 3))
    await histories.choose("fills")
    await histories.fills.more()
    tell(fills(6, 5, 4))
    await histories.refresh()
    expect(shown()).toEqual({ rows: fills(6, 5, 4, 3, 2, 1), nextCursor: null })
    await histories.refresh()
    expect(shown()).toEqual({ rows: fills(6, 5, 4, 3, 2, 1), nextCursor: null })
    outside.on(`GET ${account}/fills`, undefined)
    await histories.refresh()
    expect([histories.fills.list.failure.value?.message, shown()?.rows.length]).toEqual(["The venue did not answer.", 6])
    tell(fills(9, 8))
    await histories.refresh()
    expect([histories.fills.list.failure.value, shown()]).toEqual([undefined, { rows: fills(9, 8), nextCursor: "older" }])
  })

  test("is left with nothing under way, and nothing of it stays when its owner signs out", async () => {
    const { line, outside, store } = await opened()
    store.trading.ticket.about(terms)
    store.trading.ticket.enter({ price: "60000", quantity: "1" })
    store.credential.drop(undefined)
    expect(line.isClosed).toBe(true)
    expect(store.trading.opened.value).toBeUndefined()
    expect(store.trading.ticket.draft.value).toEqual(emptyDraft)
    expect(store.portfolio.orders.value.value).toBeUndefined()
    await outside.platform.settle()
    expect(outside.platform.waits).toBe(0)
  })
})
