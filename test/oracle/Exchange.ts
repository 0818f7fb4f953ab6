/**
 * A local server with the public formats of two exchanges, as in their reference: under `/binance` markets and 24-hour tickers of the one,
 * under `/kraken` assets, pairs and tickers of the other. Fault model: a test may replace any answer.
 */
import * as http from "node:http"
import type { AddressInfo } from "node:net"

type Prices = Readonly<Record<"BTC" | "ETH", string>>

type Base = keyof Prices

/** A currency of a pair, under the name that both exchanges use. */
const bases = ["BTC", "ETH"] as const
const krakenBase = { BTC: "XXBT", ETH: "XETH" } as const

export class Exchanges {
  /** Each exchange's prices, in its own text form; a test may set anything. */
  binance: Prices = { BTC: "60000.00000000", ETH: "3000.00000000" }
  kraken: Prices = { BTC: "60010.00000", ETH: "3000.50000" }
  /** Answers to give instead, by a path's beginning: a status and a body, or none ever. */
  readonly instead = new Map<string, { readonly status: number; readonly body: string } | "nothing">()
  /** Pairs that are listed as not trading, and pairs for whose sake a request for tickers is refused: those that are gone. */
  readonly paused = new Set<Base>()
  readonly gone = new Set<Base>()
  /** The refusal for their sake, where it is not the exchange's own. */
  refusal: { readonly status: number; readonly body: string } | undefined
  readonly asked: Array<string> = []
  private readonly server = http.createServer((request, response) => this.answer(request.url ?? "", response))

  static async start(): Promise<Exchanges> {
    const exchanges = new Exchanges()
    await new Promise<void>((resolve) => exchanges.server.listen(0, "127.0.0.1", resolve))
    return exchanges
  }

  /** The URLs of both, in the form of INDEX_EXCHANGE_URLS. */
  get urls(): string {
    const { port } = this.server.address() as AddressInfo
    return ["binance", "kraken"].map((name) => `${name}=http://127.0.0.1:${port}/${name}`).join(",")
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private answer(url: string, response: http.ServerResponse): void {
    this.asked.push(url)
    const { pathname, searchParams } = new URL(url, "http://localhost")
    const instead = [...this.instead].find(([path]) => pathname.startsWith(path))?.[1]
    if (instead === "nothing") return
    response.setHeader("content-type", "application/json")
    if (instead !== undefined) return void response.writeHead(instead.status).end(instead.body)
    const refusal = this.refusalOf(pathname, searchParams)
    if (refusal !== undefined) return void response.writeHead(refusal.status).end(refusal.body)
    const body = this.bodyOf(pathname, searchParams)
    if (body === undefined) response.writeHead(404).end("{}")
    else response.end(JSON.stringify(body))
  }

  /** The refusal of a request for tickers of pairs of which one is gone, as each exchange gives it: neither names the pair. */
  private refusalOf(path: string, query: URLSearchParams): { readonly status: number; readonly body: string } | undefined {
    const asked = [query.get("symbol"), query.get("symbols"), query.get("pair")].join()
    if (![...this.gone].some((base) => asked.includes(base === "BTC" ? path.startsWith("/kraken") ? "XBT" : "BTC" : base))) return undefined
    if (this.refusal !== undefined) return this.refusal
    return path.startsWith("/kraken")
      ? { status: 200, body: "{\"error\":[\"EQuery:Unknown asset pair\"]}" }
      : { status: 400, body: "{\"code\":-1121,\"msg\":\"Invalid symbol.\"}" }
  }

  private bodyOf(path: string, query: URLSearchParams): unknown {
    switch (path) {
      case "/binance/api/v3/exchangeInfo":
        return { timezone: "UTC", symbols: bases.map((base) => binanceMarket(base, this.paused.has(base))) }
      case "/binance/api/v3/ticker/24hr":
        return query.has("symbol")
          ? this.binanceTicker(query.get("symbol")!)
          : (JSON.parse(query.get("symbols") ?? "[]") as ReadonlyArray<string>).map((symbol) => this.binanceTicker(symbol))
      case "/kraken/0/public/Assets":
        return krakenAnswer({ ...Object.fromEntries(bases.map((base) => [krakenBase[base], krakenAsset(base)])), ZUSD: krakenAsset("USD") })
      case "/kraken/0/public/AssetPairs":
        return krakenAnswer(Object.fromEntries(bases.map((base) => [`${krakenBase[base]}ZUSD`, krakenPair(base, this.paused.has(base))])))
      case "/kraken/0/public/Ticker":
        return krakenAnswer(Object.fromEntries((query.get("pair") ?? "").split(",").map((pair) => [pair, this.krakenTicker(pair)])))
      default:
        return undefined
    }
  }

  private binanceTicker(symbol: string): unknown {
    const price = this.binance[symbol.startsWith("BTC") ? "BTC" : "ETH"]
    return {
      symbol,
      priceChange: "-94.99999800",
      priceChangePercent: "-0.15",
      weightedAvgPrice: price,
      prevClosePrice: price,
      lastPrice: price,
      lastQty: "0.00300000",
      bidPrice: price,
      bidQty: "7.15931000",
      askPrice: price,
      askQty: "0.09592000",
      openPrice: price,
      highPrice: price,
      lowPrice: price,
      volume: "8913.30000000",
      quoteVolume: "15.30000000",
      count: 76
    }
  }

  private krakenTicker(pair: string): unknown {
    const price = this.kraken[pair.startsWith("XXBT") ? "BTC" : "ETH"]
    return {
      a: [price, "1", "1.000"],
      b: [price, "1", "1.000"],
      c: [price, "0.00067643"],
      v: ["1000.97680000", "2000.13000000"],
      p: [price, price],
      t: [3907, 10_056],
      l: [price, price],
      h: [price, price],
      o: price
    }
  }
}

const binanceMarket = (base: string, isPaused: boolean): unknown => ({
  symbol: `${base}USDT`,
  status: isPaused ? "BREAK" : "TRADING",
  baseAsset: base,
  baseAssetPrecision: 8,
  quoteAsset: "USDT",
  quotePrecision: 8,
  quoteAssetPrecision: 8,
  orderTypes: ["LIMIT", "MARKET"],
  isSpotTradingAllowed: true,
  isMarginTradingAllowed: false,
  filters: [
    { filterType: "PRICE_FILTER", minPrice: "0.01000000", maxPrice: "1000000.00000000", tickSize: "0.01000000" },
    { filterType: "LOT_SIZE", minQty: "0.00001000", maxQty: "9000.00000000", stepSize: "0.00001000" }
  ],
  permissions: ["SPOT"]
})

const krakenAnswer = (result: unknown): unknown => ({ error: [], result })

const krakenAsset = (name: string): unknown => ({
  aclass: "currency",
  altname: name === "BTC" ? "XBT" : name,
  decimals: 10,
  display_decimals: 5
})

const krakenPair = (base: Base, isPaused: boolean): unknown => {
  const name = base === "BTC" ? "XBT" : base
  return {
    altname: `${name}USD`,
    wsname: `${name}/USD`,
    aclass_base: "currency",
    base: krakenBase[base],
    aclass_quote: "currency",
    quote: "ZUSD",
    lot: "unit",
    cost_decimals: 5,
    pair_decimals: 1,
    lot_decimals: 8,
    lot_multiplier: 1,
    leverage_buy: [],
    leverage_sell: [],
    fees: [[0, 0.26]],
    fees_maker: [[0, 0.16]],
    fee_volume_currency: "ZUSD",
    margin_call: 80,
    margin_stop: 40,
    ordermin: "0.0001",
    status: isPaused ? "cancel_only" : "online"
  }
}
