/** Watching through the exchange class, over real sockets, with a venue scripted by the test. */
import ccxt from "ccxt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { type WebSocket, WebSocketServer } from "ws"
import { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { market } from "./ScriptedVenue.js"

const symbol = market.symbol
const marketId = market.id

/** A stream that answers each subscription as scripted. */
class ScriptedStream {
  private socket: WebSocket | undefined
  readonly subscribed: Array<any> = []
  /** What `hello` says beside what every connection is told. */
  more: object = {}
  /** The results of subscriptions, in order: the frames that follow one, or the error that refuses it. */
  answers: Array<ReadonlyArray<object> | { readonly refused: object }> = []
  private look: () => void = () => {}

  private constructor(private readonly server: WebSocketServer) {
    this.server.on("connection", (socket) => {
      this.socket = socket
      this.say({ type: "hello", heartbeatMs: 5_000, limits: { messagesPerSecond: 100 }, ...this.more })
      socket.on("message", (data) => {
        const frame = JSON.parse(String(data))
        if (frame.op !== "subscribe") return
        this.subscribed.push(frame)
        this.look()
        const { channel, fromSequence, id, series, timeframe } = frame
        const answer = this.answers.shift() ?? []
        if ("refused" in answer) return this.say({ type: "error", id, error: answer.refused })
        this.say({ type: "subscribed", id, channel, marketId, timeframe, series, resumed: fromSequence !== undefined }, ...answer)
      })
    })
  }

  static start(): Promise<ScriptedStream> {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" })
    return new Promise((resolve) => server.once("listening", () => resolve(new ScriptedStream(server))))
  }

  get port(): number {
    return (this.server.address() as { readonly port: number }).port
  }

  say(...frames: ReadonlyArray<object>): void {
    for (const frame of frames) this.socket!.send(JSON.stringify(frame))
  }

  /** Waits until `count` subscriptions were made. */
  reached(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.look = () => {
        if (this.subscribed.length >= count) resolve()
      }
      this.look()
    })
  }

  cut(): void {
    this.socket!.terminate()
  }

  stop(): Promise<void> {
    this.socket?.terminate()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }
}

const candle = (openTimeEpochMs: number, close: number) => ({
  openTimeEpochMs,
  open: "1.0",
  high: "9.0",
  low: "0.5",
  close: `${close}.0`,
  volume: "2.500"
})
const candles = { channel: "market.candles", marketId, timeframe: "5m", series: "trade" }

const trades = { channel: "market.trades", marketId }
const trade = (sequence: number) => ({
  tradeId: `trd_${sequence}`,
  marketId,
  takerSide: "buy",
  price: "10.0",
  priceAtoms: "100",
  size: "0.500",
  sizeAtoms: "500",
  executedAtEpochMs: sequence,
  sequence
})

describe("what is watched", () => {
  let stream: ScriptedStream
  let exchange: Perpetuum

  beforeEach(async () => {
    stream = await ScriptedStream.start()
    exchange = new Perpetuum({ hostname: `127.0.0.1:${stream.port}` })
    exchange.setMarkets([exchange.parseMarket(market)!])
  })

  afterEach(async () => {
    await exchange.close()
    await stream.stop()
  })

  test.each<[string, object]>([
    ["httpProxy", { httpProxy: "http://127.0.0.1:1" }],
    ["httpsProxy", { httpsProxy: "http://127.0.0.1:1" }],
    ["socksProxy", { socksProxy: "socks5://127.0.0.1:1" }],
    ["wsProxy", { wsProxy: "http://127.0.0.1:1" }],
    ["wssProxy", { wssProxy: "http://127.0.0.1:1" }],
    ["wsSocksProxy", { wsSocksProxy: "socks5://127.0.0.1:1" }],
    ["proxyUrl", { proxyUrl: "http://127.0.0.1:1/" }],
    ["a callback", { httpsProxyCallback: () => "http://127.0.0.1:1" }],
    ["agent", { agent: { proxy: new URL("http://127.0.0.1:1") } }],
    ["httpsAgent", { httpsAgent: { proxy: "http://127.0.0.1:1" } }],
    ["httpAgent", { httpAgent: { proxy: new URL("socks5://127.0.0.1:1") } }],
    ["fetchDispatcher", { fetchDispatcher: new class ProxyAgent {}() }]
  ])("nobody who has set %s is connected past it", async (_, settings) => {
    Object.assign(exchange, settings)
    for (let count = 0; count < 2; count++) await expect(exchange.watchTrades(symbol)).rejects.toThrow(ccxt.NotSupported)
    await expect(exchange.watchOrderBook(symbol)).rejects.toThrow(ccxt.NotSupported)
    expect(stream.subscribed).toEqual([])
  })

  test("a parameter that nothing would heed is refused, and not ignored", async () => {
    const calls: ReadonlyArray<readonly [string, (params: object) => Promise<unknown>]> = [
      ["watchOrders", (params) => exchange.watchOrders(symbol, undefined, undefined, params)],
      ["watchMyTrades", (params) => exchange.watchMyTrades(symbol, undefined, undefined, params)],
      ["watchTrades", (params) => exchange.watchTrades(symbol, undefined, undefined, params)],
      ["watchOHLCV", (params) => exchange.watchOHLCV(symbol, "1m", undefined, undefined, { price: "index", ...params })],
      ["watchPositions", (params) => exchange.watchPositions([symbol], undefined, undefined, params)],
      ["watchBalance", (params) => exchange.watchBalance(params)],
      ["watchOrderBook", (params) => exchange.watchOrderBook(symbol, undefined, params)],
      ["watchTicker", (params) => exchange.watchTicker(symbol, params)]
    ]
    for (const [method, call] of calls) {
      for (const [name, params] of [["trigger", { trigger: true }], ["trigger", { stop: true }], ["foo", { foo: 1 }]] as const) {
        await expect(call(params)).rejects.toMatchObject({
          name: "NotSupported",
          message: expect.stringContaining(`${method}() does not take ${name}`)
        })
      }
    }
    expect(stream.subscribed).toEqual([])
    stream.answers = [[{ type: "snapshot", ...trades, sequence: 5, data: [trade(5)] }]]
    expect(await exchange.watchTrades(symbol, undefined, undefined, { trigger: false, foo: undefined })).toMatchObject([{ id: "trd_5" }])
  })

  test("an agent that is no proxy, and the library's own dispatcher, are none; a proxy that is set later ends the calls", async () => {
    await exchange.loadFetchImplementation()
    expect(exchange.fetchDispatcher).toBeDefined()
    Object.assign(exchange, { agent: { options: {} }, httpAgent: null })
    stream.answers = [[{ type: "snapshot", ...trades, sequence: 5, data: [trade(5)] }]]
    expect(await exchange.watchTrades(symbol)).toMatchObject([{ id: "trd_5" }])
    stream.say({ type: "update", ...trades, previousSequence: 5, sequence: 6, data: [trade(6)] })
    exchange.httpsProxy = "http://127.0.0.1:1"
    await expect(exchange.watchTrades(symbol)).rejects.toThrow(ccxt.NotSupported)
    exchange.httpsProxy = undefined as never
    expect(await exchange.watchTrades(symbol)).toMatchObject([{ id: "trd_6" }])
  })

  test("candles begin with what there is, and then are those that have changed", async () => {
    stream.answers = [[{ type: "snapshot", ...candles, sequence: 5, data: [candle(0, 1), candle(300_000, 2)] }]]
    expect(await exchange.watchOHLCV(symbol, "5m")).toEqual([[0, 1, 9, 0.5, 1, 2.5], [300_000, 1, 9, 0.5, 2, 2.5]])
    expect(stream.subscribed).toMatchObject([candles])
    const next = exchange.watchOHLCV(symbol, "5m")
    stream.say({ type: "update", ...candles, previousSequence: 5, sequence: 6, data: [candle(300_000, 3)] })
    expect(await next).toEqual([[300_000, 1, 9, 0.5, 3, 2.5]])
    stream.say({ type: "update", ...candles, previousSequence: 6, sequence: 8, data: [candle(300_000, 4), candle(600_000, 4)] })
    expect(await exchange.watchOHLCV(symbol, "5m")).toEqual([[300_000, 1, 9, 0.5, 4, 2.5], [600_000, 1, 9, 0.5, 4, 2.5]])
    // Another connection resumes where this one ended; without `newUpdates` the library returns all candles held.
    stream.answers = [[{ type: "update", ...candles, previousSequence: 8, sequence: 9, data: [candle(600_000, 5)] }]]
    exchange.newUpdates = false
    const whole = exchange.watchOHLCV(symbol, "5m", 300_000, 2)
    stream.cut()
    expect(await whole).toEqual([[300_000, 1, 9, 0.5, 4, 2.5], [600_000, 1, 9, 0.5, 5, 2.5]])
    expect(stream.subscribed.at(-1)).toMatchObject({ ...candles, fromSequence: 8 })
  })

  test("a stream's own listing of candles is taken as well", async () => {
    const data = { version: "external-candle-list/v1", marketId, timeframe: "1m", series: "trade", candles: [candle(0, 1)] }
    stream.answers = [[{ type: "snapshot", ...candles, timeframe: "1m", series: "index", sequence: 5, data }]]
    expect(await exchange.watchOHLCV(symbol, "1m", undefined, undefined, { price: "index" })).toEqual([[0, 1, 9, 0.5, 1, 2.5]])
  })

  test("a time to begin with leaves out older trades and candles", async () => {
    stream.answers = [
      [{ type: "snapshot", ...trades, sequence: 5, data: [trade(5), trade(4)] }],
      [{ type: "snapshot", ...candles, sequence: 5, data: [candle(0, 1), candle(300_000, 2)] }]
    ]
    expect(await exchange.watchTrades(symbol, 5)).toMatchObject([{ id: "trd_5" }])
    expect(await exchange.watchOHLCV(symbol, "5m", 1)).toEqual([[300_000, 1, 9, 0.5, 2, 2.5]])
  })

  test("a snapshot that follows another one tells nothing twice", async () => {
    stream.answers = [[{ type: "snapshot", ...trades, sequence: 5, data: [trade(5), trade(4)] }]]
    expect(await exchange.watchTrades(symbol)).toMatchObject([{ id: "trd_4", price: 10, amount: 0.5, cost: 5, side: "buy" }, {
      id: "trd_5"
    }])
    const next = exchange.watchTrades(symbol)
    stream.say(
      { type: "resync", stream: "market.trades", marketId, fromSequence: 7, reason: "slow_consumer" },
      { type: "snapshot", ...trades, sequence: 7, data: [trade(7), trade(5), trade(4)] }
    )
    expect(await next).toMatchObject([{ id: "trd_7" }])
  })

  test("after a restore from a copy trades are told whose numbers had been others' in the lost time", async () => {
    stream.more = { starts: [{ id: "a", firstSequence: 1 }] }
    stream.answers = [
      [{ type: "snapshot", ...trades, sequence: 500, data: [trade(500), trade(200)] }],
      [{ type: "snapshot", ...trades, sequence: 400, data: [trade(400), trade(350), trade(200)] }],
      [{ type: "snapshot", ...trades, sequence: 410, data: [trade(410), trade(390), trade(350)] }]
    ]
    expect(await exchange.watchTrades(symbol)).toMatchObject([{ id: "trd_200" }, { id: "trd_500" }])
    const restored = exchange.watchTrades(symbol)
    stream.more = { starts: [{ id: "b", firstSequence: 301 }] }
    stream.cut()
    expect(await restored).toMatchObject([{ id: "trd_200" }, { id: "trd_350" }, { id: "trd_400" }])
    // What is known to be in the journal is told once.
    const again = exchange.watchTrades(symbol)
    stream.more = { starts: [{ id: "c", firstSequence: 380 }, { id: "b", firstSequence: 301 }] }
    stream.cut()
    expect(await again).toMatchObject([{ id: "trd_390" }, { id: "trd_410" }])
  })

  test("all who wait for the same are told the same, and a few things are held where nobody waits", async () => {
    exchange.options["watchedMost"] = 3
    stream.answers = [[{ type: "snapshot", ...trades, sequence: 4, data: [trade(4)] }]]
    const both = [exchange.watchTrades(symbol), exchange.watchTrades(symbol)]
    expect((await Promise.all(both)).map((found) => found.map(({ id }) => id))).toEqual([["trd_4"], ["trd_4"]])
    const waiting = exchange.watchTrades(symbol)
    const update = (sequence: number) => ({ type: "update", ...trades, previousSequence: sequence - 1, sequence, data: [trade(sequence)] })
    stream.say(update(5))
    expect(await waiting).toMatchObject([{ id: "trd_5" }])
    stream.say(...[6, 7, 8, 9].map(update))
    const book = { channel: "market.book", marketId }
    stream.answers = [[{ type: "snapshot", ...book, sequence: 9, data: { bids: [], asks: [], checksum: "another's" } }]]
    const ended = expect(exchange.watchOrderBook(symbol)).rejects.toBeInstanceOf(ccxt.ExchangeClosedByUser)
    // The book's checksum differs, so the book is requested again: by then all trades have arrived.
    await stream.reached(3)
    expect(await exchange.watchTrades(symbol)).toMatchObject([{ id: "trd_7" }, { id: "trd_8" }, { id: "trd_9" }])
    await exchange.close()
    await ended
  })

  test("what the venue refuses is the library's error, and may be asked for again; an account needs its key", async () => {
    await expect(exchange.watchPositions()).rejects.toBeInstanceOf(ccxt.AuthenticationError)
    const refused = { version: "external-rest-error/v1", code: "market_not_found", safeMessage: "No.", retryable: false }
    stream.answers = [{ refused }, { refused }, [{ type: "snapshot", ...trades, sequence: 4, data: [trade(4)] }]]
    await expect(exchange.watchTrades(symbol)).rejects.toBeInstanceOf(ccxt.BadSymbol)
    await expect(exchange.watchOrderBook(symbol)).rejects.toBeInstanceOf(ccxt.BadSymbol)
    expect(await exchange.watchTrades(symbol)).toMatchObject([{ id: "trd_4" }])
  })
})
