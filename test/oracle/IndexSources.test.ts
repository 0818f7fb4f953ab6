/** The index from several sources, which answer as a test says, on a clock that it moves. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import type { OffGrid, Quoted, Sample } from "../../src/oracle/IndexFeed.js"
import * as IndexSources from "../../src/oracle/IndexSources.js"
import type { Ticker } from "../../src/oracle/Ticker.js"
import { beganMs, Listening } from "./Listening.js"

const btc: Quoted = { marketId: "BTC-USDC-PERP", underlyingSymbol: "BTC/USD", priceScale: 1, indexStaleMs: 10_000 }
const eth: Quoted = { marketId: "ETH-USDC-PERP", underlyingSymbol: "ETH/USD", priceScale: 2, indexStaleMs: 10_000 }
const options: IndexSources.Options = { pollMs: 1_000, staleMs: 5_000, outlierBps: 100, minSources: 2 }

/** A source's behaviour: it returns `last` of a symbol, fails, never answers, or throws while it is asked. */
type Says = Readonly<Record<string, unknown>> | "fails" | "hangs" | "throws"

/** How long a source takes to answer, in milliseconds. */
const answerMs = 50

class Scripted {
  says: Says = {}
  /** The exchange's own time in its answer; undefined if it gives none. */
  timestamp: number | undefined
  /** What it refuses alone, by symbol, and what it has refused only together with others. */
  readonly refused = new Map<string, string>()
  readonly open = new Set<string>()
  asked = 0
  readonly source: IndexSources.Source

  constructor(name: string, weight = 1, quote = "USD") {
    this.source = {
      name,
      weight,
      symbolOf: (underlying) => underlying.replace("USD", quote),
      fetch: (symbols) => Effect.zipRight(Effect.sleep(answerMs), Effect.suspend(() => this.answer(symbols)))
    }
  }

  private answer(symbols: ReadonlyArray<string>): Effect.Effect<IndexSources.Answered, IndexSources.SourceFailed> {
    this.asked++
    const { says } = this
    if (says === "hangs") return Effect.never
    if (says === "throws") throw new Error("spawn ENOMEM")
    if (says === "fails") return new IndexSources.SourceFailed({ reason: "no route" })
    const told = (symbol: string): boolean => symbol in says && !this.refused.has(symbol) && !this.open.has(symbol)
    const ticker = (symbol: string): Ticker => ({ last: says[symbol], timestamp: this.timestamp })
    const tickers = new Map(symbols.filter(told).map((symbol) => [symbol, ticker(symbol)]))
    return Effect.succeed({ tickers, refused: new Map(this.refused), open: new Set(this.open) })
  }
}

const listen = (
  sources: ReadonlyArray<Scripted>,
  markets: ReadonlyArray<Quoted> = [btc],
  rests: Partial<IndexSources.Options> = {}
): Listening => new Listening(IndexSources.layer(sources.map(({ source }) => source), { ...options, ...rests }), markets)

const prices = (
  samples: ReadonlyArray<Sample | OffGrid>
): ReadonlyArray<number | undefined> => [...new Set(samples.map(({ priceAtoms }) => priceAtoms))]

test("tells every second what those sources agree on, under their own names of it", () => {
  const [one, two, three] = [new Scripted("one"), new Scripted("two", 1, "USDT"), new Scripted("three", 2)]
  one.says = { "BTC/USD": 60_000, "ETH/USD": 3_000 }
  two.says = { "BTC/USDT": 60_010.06 }
  three.says = { "BTC/USD": 60_020, "ETH/USD": 3_001.126 }
  const markets = [btc]
  const listening = listen([one, two, three], markets)
  expect(listening.pass(900)).toEqual([])
  expect(listening.pass(200)).toEqual([{ marketId: "BTC-USDC-PERP", priceAtoms: 600_150, sourceEpochMs: beganMs + answerMs }])
  markets.push(eth)
  listening.pass(2_000)
  expect(listening.pass(1_000).map(({ marketId, priceAtoms }) => [marketId, priceAtoms])).toEqual([
    ["BTC-USDC-PERP", 600_150],
    ["ETH-USDC-PERP", 300_113]
  ])
  listening.pass(10_000)
  expect(listening.logged.filter((line) => line.includes("tells nothing"))).toEqual(["index source two tells nothing of ETH/USDT"])
})

test.each<readonly [string, Says]>([
  ["a hundred times the price", { "BTC/USD": 6_000_000 }],
  ["a hundredth of it", { "BTC/USD": 600 }],
  ["zero", { "BTC/USD": 0 }],
  ["a negative price", { "BTC/USD": -60_000 }],
  ["no number", { "BTC/USD": Number.NaN }],
  ["a text", { "BTC/USD": "60000" }],
  ["nothing", {}],
  ["a failure", "fails"],
  ["no answer", "hangs"]
])("one source that comes to say %s moves nothing, a second one ends the index until it is back", (_, says) => {
  const [one, two, three] = [new Scripted("one"), new Scripted("two"), new Scripted("three", 5)]
  for (const source of [one, two, three]) source.says = { "BTC/USD": 60_000 }
  const listening = listen([one, two, three])
  expect(prices(listening.pass(3_000))).toEqual([600_000])
  three.says = says
  expect(prices(listening.pass(20_000))).toEqual([600_000])
  expect(listening.pass(5_000).length).toBeGreaterThanOrEqual(4)
  // Two equal lies would be a majority, so the second source lies differently.
  two.says = typeof says === "string" ? says : { "BTC/USD": Object.values(says)[0] === 6_000_000 ? 600 : 6_000_000 }
  listening.pass(5_000)
  expect(listening.pass(60_000)).toEqual([])
  two.says = { "BTC/USD": 60_000 }
  expect(prices(listening.pass(30_000))).toEqual([600_000])
})

test("what sources say again and again under an old time of theirs is no fresher for it", () => {
  const sources = [new Scripted("one"), new Scripted("two")] as const
  for (const source of sources) Object.assign(source, { says: { "BTC/USD": 60_000 }, timestamp: beganMs - 1_000 })
  const listening = listen(sources)
  expect(listening.pass(3_000)).toEqual([{ marketId: "BTC-USDC-PERP", priceAtoms: 600_000, sourceEpochMs: beganMs - 1_000 }])
  expect(listening.pass(30_000)).toEqual([])
  for (const source of sources) source.timestamp = beganMs + 33_000
  expect(listening.pass(3_000)).toEqual([{ marketId: "BTC-USDC-PERP", priceAtoms: 600_000, sourceEpochMs: beganMs + 33_000 }])
})

test("a market whose prices are stale before a source is left out is told once, and again when that changes", () => {
  const sources = [new Scripted("one"), new Scripted("two")]
  const markets: Array<Quoted> = [btc, { ...eth, indexStaleMs: 4_999 }]
  const listening = listen(sources, markets)
  const warned = () => listening.logged.filter((line) => line.includes("indexStaleMs"))
  listening.pass(5_000)
  const said = (market: Quoted, ms: number) =>
    `INDEX_SOURCE_STALE_MS (5000) is more than the indexStaleMs of ${market.marketId} (${ms}): prices that slow exchanges make are stale there `
    + "as they come"
  expect(warned()).toEqual([said(eth, 4_999)])
  markets[0] = { ...btc, indexStaleMs: 1_000 }
  markets[1] = { ...eth, indexStaleMs: 5_000 }
  listening.pass(5_000)
  expect(warned()).toEqual([said(eth, 4_999), said(btc, 1_000)])
})

test("what two sources just said is as old as the heavier third that makes the price", () => {
  const [one, two, three] = [new Scripted("one"), new Scripted("two"), new Scripted("three", 5)]
  for (const source of [one, two, three]) source.says = { "BTC/USD": 60_000 }
  const listening = listen([one, two, three])
  listening.pass(3_000)
  three.timestamp = beganMs + 2_000
  listening.pass(1_500)
  // What was told before is newer, so nothing is told until the third moves.
  expect(listening.pass(1_000)).toEqual([])
  three.timestamp = beganMs + 5_000
  expect(listening.pass(2_000)).toEqual([{ marketId: "BTC-USDC-PERP", priceAtoms: 600_000, sourceEpochMs: beganMs + 5_000 }])
})

test("a symbol that a source refuses is told with the reason, once, and again when it is back; one that is not sorted out yet is not", () => {
  const [one, two] = [new Scripted("one"), new Scripted("two")]
  for (const source of [one, two]) source.says = { "BTC/USD": 60_000, "ETH/USD": 3_000 }
  const listening = listen([one, two], [btc, eth])
  listening.pass(3_000)
  one.open.add("BTC/USD").add("ETH/USD")
  listening.pass(1_100)
  one.open.clear()
  one.refused.set("ETH/USD", "BadSymbol: gone")
  expect(new Set(listening.pass(10_000).map(({ marketId }) => marketId))).toContain("BTC-USDC-PERP")
  one.refused.clear()
  listening.pass(10_000)
  expect(listening.logged.filter((line) => line.startsWith("index source"))).toEqual([
    "index source one refuses ETH/USD, which is left out there: BadSymbol: gone",
    "index source one answers for ETH/USD again"
  ])
})

test("a source that does not answer is asked more and more seldom, and both that and its return are said once", () => {
  const sources = [new Scripted("one"), new Scripted("two"), new Scripted("three")] as const
  for (const source of sources) source.says = { "BTC/USD": 60_000 }
  const [, , three] = sources
  const listening = listen(sources)
  three.says = "fails"
  listening.pass(60_000)
  const { asked } = three
  expect(asked).toBeLessThan(10)
  listening.pass(60_000)
  expect(three.asked - asked).toBe(4)
  three.says = { "BTC/USD": 60_000 }
  listening.pass(16_000)
  expect(listening.logged).toEqual([
    "index source three does not answer: no route",
    "enough index sources agree on BTC-USDC-PERP",
    "index source three answers again"
  ])
})

test("a source that throws is a source that does not answer: it is asked again", () => {
  const [one, two] = [new Scripted("one"), new Scripted("two")]
  for (const source of [one, two]) source.says = { "BTC/USD": 60_000 }
  const listening = listen([one, two])
  listening.pass(3_000)
  two.says = "throws"
  listening.pass(30_000)
  two.says = { "BTC/USD": 60_000 }
  expect(prices(listening.pass(16_000))).toEqual([600_000])
  expect(listening.logged.filter((line) => line.startsWith("index source"))).toEqual([
    "index source two does not answer: Error: spawn ENOMEM",
    "index source two answers again"
  ])
})

test("a market whose sources come apart is said once, with what each is worth, and so is its return", () => {
  const [one, two] = [new Scripted("one"), new Scripted("two")]
  one.says = { "BTC/USD": 60_000 }
  two.says = { "BTC/USD": 60_000 }
  const listening = listen([one, two])
  listening.pass(3_000)
  two.says = { "BTC/USD": 61_000 }
  listening.pass(30_000)
  two.says = { "BTC/USD": 60_060 }
  expect(listening.pass(3_000).at(-1)?.priceAtoms).toBe(600_300)
  expect(listening.logged).toEqual([
    "enough index sources agree on BTC-USDC-PERP",
    "too few index sources agree on BTC-USDC-PERP: one outlier, two outlier",
    "enough index sources agree on BTC-USDC-PERP"
  ])
})

test("a price below half a step of a market's grid is told once, and handed on as none of the grid", () => {
  const sources = [new Scripted("one"), new Scripted("two")]
  for (const source of sources) source.says = { "ETH/USD": 0.004 }
  const listening = listen(sources, [eth])
  expect(listening.pass(3_000).slice(0, 1)).toEqual([{ marketId: "ETH-USDC-PERP", priceAtoms: undefined }])
  listening.pass(60_000)
  for (const source of sources) source.says = { "ETH/USD": 0.006 }
  expect(prices(listening.pass(3_000))).toContain(1)
  for (const source of sources) source.says = { "ETH/USD": 0.004 }
  listening.pass(3_000)
  expect(listening.logged).toEqual([
    "enough index sources agree on ETH-USDC-PERP",
    "0.004 is too small or too large to be a price of ETH-USDC-PERP, whose steps are of 0.01: it gets no index from it"
  ])
})

test("sources that never answer are said once they have had the time to", () => {
  const listening = listen([new Scripted("one"), new Scripted("two")].map((source) => Object.assign(source, { says: "hangs" as const })))
  listening.pass(4_500)
  expect(listening.logged).toEqual([])
  listening.pass(60_000)
  expect([...listening.logged].sort()).toEqual([
    "index source one does not answer: no answer in 5000 ms",
    "index source two does not answer: no answer in 5000 ms",
    "too few index sources agree on BTC-USDC-PERP: one stale, two stale"
  ])
})

test("pauses of more than half of the time that an answer lasts are warned of once: one late answer leaves a source out", () => {
  const toldWith = (rests: Partial<IndexSources.Options>): ReadonlyArray<string> => {
    const sources = ["one", "two"].map((name) => Object.assign(new Scripted(name), { says: { "BTC/USD": 60_000 } }))
    const listening = listen(sources, [btc], rests)
    listening.pass(60_000)
    return listening.logged.filter((line) => line.includes("INDEX_POLL_MS"))
  }
  expect(toldWith({ pollMs: 2_500 })).toEqual([])
  expect(toldWith({ pollMs: 2_501 })).toEqual([
    "INDEX_POLL_MS (2501) is more than half of INDEX_SOURCE_STALE_MS (5000): one late answer leaves an exchange out"
  ])
})

test("a ticker without a usable price leaves the quote before it, which counts until it is stale", () => {
  const [one, two, heavy] = [new Scripted("one"), new Scripted("two"), new Scripted("heavy", 5)]
  one.says = { "BTC/USD": 60_000 }
  two.says = { "BTC/USD": 60_010 }
  heavy.says = { "BTC/USD": 60_020 }
  const listening = listen([one, two, heavy])
  expect(prices(listening.pass(3_000))).toEqual([600_200])
  heavy.says = { "BTC/USD": 0 }
  expect(prices(listening.pass(4_000))).toEqual([600_200])
  listening.pass(3_000)
  expect(prices(listening.pass(5_000))).toEqual([600_050])
  expect(listening.sources([btc], beganMs + 15_000).map(({ refused }) => refused > 0)).toEqual([false, false, true])
})

test("a source is shown as agreeing where its quote is used, and neither as an outlier nor once it is stale", () => {
  const [one, two, three] = [new Scripted("one"), new Scripted("two"), new Scripted("three")]
  one.says = { "BTC/USD": 60_000 }
  two.says = { "BTC/USD": 60_010 }
  three.says = { "BTC/USD": 66_000 }
  const listening = listen([one, two, three])
  const agreeing = (nowEpochMs: number): ReadonlyArray<boolean> => listening.sources([btc], nowEpochMs).map(({ agrees }) => agrees)
  listening.pass(answerMs - 1)
  expect(agreeing(beganMs + answerMs - 1)).toEqual([false, false, false])
  listening.pass(3_001 - answerMs)
  expect(agreeing(beganMs + 3_000)).toEqual([true, true, false])
  two.says = "fails"
  three.says = { "BTC/USD": 60_020 }
  listening.pass(10_000)
  expect(agreeing(beganMs + 13_000)).toEqual([true, false, true])
})
