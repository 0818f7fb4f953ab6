/** Exchanges asked through the package, with a server that speaks their formats: which tickers result from their answers. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { Clock, Effect, Either, Exit, Scope } from "effect"
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest"
import * as Settings from "../../src/oracle/Exchanges.js"
import type { Source } from "../../src/oracle/IndexSources.js"
import * as NodeCcxt from "../../src/oracle/NodeCcxt.js"
import { priceOf } from "../../src/oracle/Ticker.js"
import { Exchanges } from "./Exchange.js"

const settings = Either.getOrThrow(Settings.parseExchanges("binance:1:USDT,kraken:2"))
const scope = Effect.runSync(Scope.make())
/** The package would wait between requests for as long as the real exchanges want it to. */
const limits = { answerWithinMs: 5_000, requestEveryMs: 1 }
let exchanges: Exchanges
let binance: Source
let kraken: Source
/** The same two in another process, for tests that have them refuse pairs. */
let spare: ReadonlyArray<Source>

const urlsOf = (text: string): ReadonlyMap<string, string> => Either.getOrThrow(Settings.parseUrls(text, settings))

const open = (urls: string): Promise<ReadonlyArray<Source>> =>
  Effect.runPromise(Scope.extend(NodeCcxt.sources(settings, urlsOf(urls), limits), scope))

/** The sources in a process of their own, for one test. */
const openOwn = async (): Promise<ReadonlyArray<Source>> => {
  const own = await Effect.runPromise(Scope.make())
  onTestFinished(() => Effect.runPromise(Scope.close(own, Exit.void)))
  return Effect.runPromise(Scope.extend(NodeCcxt.sources(settings, urlsOf(exchanges.urls), limits), own))
}

/** The prices that a source returns for some underlyings. */
const ask = async (source: Source, ...underlyings: ReadonlyArray<string>): Promise<Readonly<Record<string, number | undefined>>> => {
  const { tickers } = await Effect.runPromise(source.fetch(underlyings.map((each) => source.symbolOf(each))))
  return Object.fromEntries([...tickers].map(([symbol, ticker]) => [symbol, priceOf(ticker, 0)]))
}

/** The child processes of this one that ask exchanges, apart from the one of the spare sources. */
const spareChildren: Array<number> = []
const children = (): ReadonlyArray<number> =>
  execFileSync("pgrep", ["-P", String(process.pid), "-f", "NodeCcxtProcess"], { encoding: "utf8" }).trim().split("\n").map(Number)
    .filter((child) => !spareChildren.includes(child))

beforeAll(async () => {
  exchanges = await Exchanges.start()
  spare = await open(exchanges.urls)
  spareChildren.push(...children())
  const [first, second] = await open(exchanges.urls)
  binance = first!
  kraken = second!
})
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await exchanges.stop()
})
beforeEach(() => {
  exchanges.binance = { BTC: "60000.00000000", ETH: "3000.00000000" }
  exchanges.kraken = { BTC: "60010.00000", ETH: "3000.50000" }
  exchanges.instead.clear()
  exchanges.gone.clear()
  exchanges.refusal = undefined
  exchanges.paused.clear()
})

/** A clock that stands at a time. */
const at = (nowEpochMs: number): Clock.Clock =>
  Object.assign(Object.create(Clock.make()) as Clock.Clock, { currentTimeMillis: Effect.succeed(nowEpochMs) })

test("prices come under each exchange's own symbols, in one question for all", async () => {
  expect(await ask(binance, "BTC/USD", "ETH/USD")).toEqual({ "BTC/USDT": 60_000, "ETH/USDT": 3_000 })
  expect(await ask(kraken, "BTC/USD", "ETH/USD")).toEqual({ "BTC/USD": 60_010, "ETH/USD": 3_000.5 })
  exchanges.asked.length = 0
  await ask(binance, "BTC/USD", "ETH/USD")
  await ask(kraken, "BTC/USD", "ETH/USD")
  expect(exchanges.asked.map((url) => decodeURIComponent(url))).toEqual([
    "/binance/api/v3/ticker/24hr?symbols=[\"BTCUSDT\",\"ETHUSDT\"]",
    "/kraken/0/public/Ticker?pair=XXBTZUSD,XETHZUSD"
  ])
})

test("a symbol that an exchange does not have is left out", async () => {
  expect(await ask(kraken, "BTC/USD", "DOGE/USD")).toEqual({ "BTC/USD": 60_010 })
  expect(await ask(kraken, "DOGE/USD")).toEqual({})
})

test.each([
  ["zero", "0.00000000"],
  ["a negative price", "-60000.0"],
  ["no number", "NaN"],
  ["a word", "soon"],
  ["nothing", ""],
  ["infinity", "Infinity"]
])("%s is no price, and costs no other market its own", async (_, text) => {
  exchanges.binance = { BTC: text, ETH: "3000.00000000" }
  const found = await ask(binance, "BTC/USD", "ETH/USD")
  expect([found["BTC/USDT"], found["ETH/USDT"]]).toEqual([undefined, 3_000])
})

test("so it is with the other exchange; a hundred times the price comes as it is, for the other sources to outvote", async () => {
  exchanges.kraken = { BTC: "soon", ETH: "300050.00000" }
  const found = await ask(kraken, "BTC/USD", "ETH/USD")
  expect([found["BTC/USD"], found["ETH/USD"]]).toEqual([undefined, 300_050])
})

test.each([[0, "ETH/USDT", /^BadSymbol: .*Invalid symbol/], [1, "ETH/USD", /^[A-Z][A-Za-z]*: kraken .*Unknown asset pair/]])(
  "a pair that is gone from exchange %i costs the other market nothing: it is refused by name, left out, and asked for alone later",
  async (number, symbol, reason) => {
    const source = spare[number]!
    const both = [source.symbolOf("BTC/USD"), symbol]
    const found = async (nowEpochMs: number) => {
      const { open: notKnown, refused, tickers } = await Effect.runPromise(Effect.withClock(source.fetch(both), at(nowEpochMs)))
      return [[...tickers.keys()], [...refused.keys()], [...notKnown], [...refused.values()][0]]
    }
    exchanges.gone.add("ETH")
    const without = [both.slice(0, 1), [symbol], [], expect.stringMatching(reason)]
    expect(await found(1_000)).toEqual(without)
    exchanges.asked.length = 0
    expect(await found(1_000)).toEqual(without)
    expect(exchanges.asked.map((url) => url.includes("ETH"))).toEqual([false])
    exchanges.gone.clear()
    await expect.poll(() => found(2_000), { interval: 20 }).toEqual([both, [], [], undefined])
  }
)

test.each([["500", 500, "{}"], ["a mode of the pair alone", 200, "{\"error\":[\"EService:Market in cancel_only mode\"]}"], [
  "404",
  404,
  "no such pair"
]])("a pair for which an exchange answers %s costs the other nothing either, in whichever place, and is named", async (_, status, body) => {
  const source = spare[1]!
  exchanges.refusal = { status, body }
  for (const gone of ["BTC", "ETH"] as const) {
    exchanges.gone.clear()
    const both = [source.symbolOf("BTC/USD"), source.symbolOf("ETH/USD")]
    const found = async () => {
      const polled = await Effect.runPromise(Effect.either(source.fetch(both)))
      return Either.isRight(polled) ? [[...polled.right.tickers.keys()], [...polled.right.refused.keys()]] : []
    }
    await expect.poll(found, { interval: 20 }).toEqual([both, []])
    exchanges.gone.add(gone)
    await expect.poll(found, { interval: 20 }).toEqual([both.filter((symbol) => !symbol.startsWith(gone)), [`${gone}/USD`]])
  }
})

test.each([500, 401])("an exchange that answers %i to everything does not answer, and is asked for one part more", async (status) => {
  const [fresh] = spare
  await ask(fresh!, "BTC/USD", "ETH/USD")
  exchanges.instead.set("/binance/api/v3/ticker", { status, body: "{}" })
  exchanges.asked.length = 0
  expect(Either.isLeft(await Effect.runPromise(Effect.either(fresh!.fetch(["BTC/USDT", "ETH/USDT"]))))).toBe(true)
  expect(exchanges.asked.length).toBe(2)
  exchanges.instead.clear()
  expect(await ask(fresh!, "BTC/USD", "ETH/USD")).toEqual({ "BTC/USDT": 60_000, "ETH/USDT": 3_000 })
})

test("an answer comes in time from an exchange that allows few requests, while all of its pairs are asked for separately", async () => {
  const own = await Effect.runPromise(Scope.make())
  onTestFinished(() => Effect.runPromise(Scope.close(own, Exit.void)))
  // Each request waits for the one before: the common one and one more for each pair would take longer.
  const slow = { answerWithinMs: 1_300, requestEveryMs: 700 }
  const [, source] = await Effect.runPromise(Scope.extend(NodeCcxt.sources(settings, urlsOf(exchanges.urls), slow), own))
  await ask(source!, "BTC/USD")
  exchanges.gone.add("BTC").add("ETH")
  await new Promise((resolve) => setTimeout(resolve, 800))
  const began = performance.now()
  await Effect.runPromise(Effect.either(source!.fetch(["BTC/USD", "ETH/USD"])))
  expect(performance.now() - began).toBeLessThan(slow.answerWithinMs)
})

test("a pair that is listed and does not trade when an exchange is first asked costs the other nothing, answered or refused", async () => {
  exchanges.paused.add("ETH")
  const [calm, other] = await openOwn()
  for (const gone of [false, true]) {
    if (gone) exchanges.gone.add("ETH")
    expect((await ask(calm!, "BTC/USD", "ETH/USD"))["BTC/USDT"]).toBe(60_000)
    expect((await ask(other!, "BTC/USD", "ETH/USD"))["BTC/USD"]).toBe(60_010)
  }
})

test("an exchange that refuses every pair does not answer, and one that refuses for too many requests is asked once", async () => {
  const [fresh] = spare
  exchanges.gone.add("BTC").add("ETH")
  for (const nowEpochMs of [0, 1_000, 70_000]) {
    const failed = await Effect.runPromise(Effect.either(Effect.withClock(fresh!.fetch(["BTC/USDT", "ETH/USDT"]), at(nowEpochMs))))
    expect(failed).toMatchObject({ left: { message: expect.stringMatching(/^BadSymbol/) } })
  }
  exchanges.gone.clear()
  expect(await ask(fresh!, "BTC/USD", "ETH/USD")).toEqual({ "BTC/USDT": 60_000, "ETH/USDT": 3_000 })
  exchanges.instead.set("/binance/api/v3/ticker", { status: 429, body: "{\"code\":-1003,\"msg\":\"Way too many requests\"}" })
  exchanges.asked.length = 0
  expect(Either.isLeft(await Effect.runPromise(Effect.either(fresh!.fetch(["BTC/USDT", "ETH/USDT"]))))).toBe(true)
  expect(exchanges.asked.length).toBe(1)
})

test.each([
  ["an exchange that is down", 503, "{\"code\":-1,\"msg\":\"maintenance\"}"],
  ["one that bans", 418, "{\"code\":-1003,\"msg\":\"Way too many requests\"}"],
  ["a page", 200, "<html>hello</html>"],
  ["another shape", 200, "{\"error\":[\"EService:Unavailable\"]}"]
])("%s is a failure with a short reason, and the next answer is taken", async (_, status, body) => {
  exchanges.instead.set("/kraken", { status, body })
  const failed = await Effect.runPromise(Effect.either(kraken.fetch(["BTC/USD"])))
  if (Either.isRight(failed)) expect(failed.right.tickers.size).toBe(0)
  else expect(failed.left.message.length).toBeLessThanOrEqual(300)
  exchanges.instead.clear()
  expect(await ask(kraken, "BTC/USD")).toEqual({ "BTC/USD": 60_010 })
})

test("one that does not answer holds the other up in nothing", async () => {
  exchanges.instead.set("/kraken/0/public/Ticker", "nothing")
  const patient = Effect.runPromise(Effect.either(Effect.timeout(kraken.fetch(["BTC/USD"]), "300 millis")))
  expect(await ask(binance, "BTC/USD")).toEqual({ "BTC/USDT": 60_000 })
  expect(Either.isLeft(await patient)).toBe(true)
})

test("an answer that is too long is a failure, and holds nothing up", async () => {
  exchanges.instead.set("/kraken/0/public/Ticker", { status: 200, body: " ".repeat(33 * 2 ** 20) })
  const failed = await Effect.runPromise(Effect.either(kraken.fetch(["BTC/USD"])))
  expect(failed).toMatchObject({ _tag: "Left", left: { message: "Error: an answer has more than 33554432 bytes" } })
  exchanges.instead.clear()
  expect(await ask(kraken, "BTC/USD")).toEqual({ "BTC/USD": 60_010 })
})

test("a process that answers nothing while it is asked is ended after a minute, and the next question begins another", async () => {
  const [hung] = children()
  const asked = (nowEpochMs: number) => Effect.runPromise(Effect.either(Effect.withClock(kraken.fetch(["BTC/USD"]), at(nowEpochMs))))
  // The minute is measured from the first question left unanswered, not from the last answer.
  expect(Either.isRight(await asked(0))).toBe(true)
  process.kill(hung!, "SIGSTOP")
  const waiting = [asked(100_000), asked(159_999)]
  expect(Either.getOrThrow(await asked(160_000)).tickers.get("BTC/USD")).toMatchObject({ last: 60_010 })
  for (const one of waiting) {
    expect(await one).toMatchObject({ left: { message: "the process that asks exchanges has answered nothing for 60000 ms" } })
  }
  expect(children()).not.toContain(hung)
})

test("the process that asks has none of the venue's secrets; it dies with its questions alone, and the next one begins it anew", async () => {
  const [child] = children()
  const names = fs.readFileSync(`/proc/${child}/environ`, "utf8").split("\0").map((each) => each.split("=")[0])
  expect(
    names.filter((name) => !["PATH", "TZ", "NODE_EXTRA_CA_CERTS", "NODE_CHANNEL_FD", "NODE_CHANNEL_SERIALIZATION_MODE", ""].includes(name!))
  ).toEqual([])
  exchanges.instead.set("/kraken/0/public/Ticker", "nothing")
  const failed = Effect.runPromise(Effect.either(kraken.fetch(["BTC/USD"])))
  await expect.poll(() => exchanges.asked.at(-1)).toMatch(/^\/kraken\/0\/public\/Ticker/)
  process.kill(child!, "SIGKILL")
  expect(await failed).toMatchObject({ _tag: "Left", left: { message: "the process that asks exchanges ended with SIGKILL" } })
  exchanges.instead.clear()
  // If the system cannot start the next process, the next question tries again.
  const { execPath } = process
  process.execPath = "\0"
  const unbegun = await Effect.runPromise(Effect.either(binance.fetch(["BTC/USDT"]))).finally(() => void (process.execPath = execPath))
  expect(unbegun).toMatchObject({ left: { message: expect.stringContaining("could not be asked") } })
  expect(await ask(binance, "BTC/USD")).toEqual({ "BTC/USDT": 60_000 })
  expect(await ask(kraken, "BTC/USD")).toEqual({ "BTC/USD": 60_010 })
})

test("an exchange that is down when its markets are to be loaded is asked for them again", async () => {
  const [late] = await open(exchanges.urls)
  exchanges.instead.set("/binance/api/v3/exchangeInfo", { status: 503, body: "{\"code\":-1,\"msg\":\"maintenance\"}" })
  const failed = await Effect.runPromise(Effect.either(late!.fetch(["BTC/USDT"])))
  expect(Either.isLeft(failed)).toBe(true)
  exchanges.instead.clear()
  expect(await ask(late!, "BTC/USD")).toEqual({ "BTC/USDT": 60_000 })
})

test("an exchange that the package does not know is said", async () => {
  const unknown = Either.getOrThrow(Settings.parseExchanges("kraken,mtgox9"))
  const failed = await Effect.runPromise(Effect.either(Effect.scoped(NodeCcxt.sources(unknown, new Map(), limits))))
  expect(failed).toMatchObject({ _tag: "Left", left: { message: "the package ccxt knows no mtgox9" } })
})
