/** Recorded indexes: what a file may say, and when its lines are told. */
import { Effect, Either, Fiber, Layer, Logger, Stream, TestClock, TestContext } from "effect"
import { describe, expect, test } from "vitest"
import { IndexFeed, type Quoted, type Sample } from "../../src/oracle/IndexFeed.js"
import * as IndexTape from "../../src/oracle/IndexTape.js"

const markets: ReadonlyArray<Quoted> = [
  { marketId: "BTC-USDC-PERP", underlyingSymbol: "BTC/USD", priceScale: 1 },
  { marketId: "ETH-USDC-PERP", underlyingSymbol: "ETH/USD", priceScale: 2 }
]

describe("a file", () => {
  test("counts its times from the first line, and skips what says nothing", () => {
    const text =
      "# recorded\n\n1767225600000,BTC-USDC-PERP,60000.0\r\n 1767225600250 , ETH-USDC-PERP , 3000.125 \n1767225600250,BTC-USDC-PERP,1\n"
    expect(Either.getOrThrow(IndexTape.parse(text))).toEqual([
      { atMs: 0, marketId: "BTC-USDC-PERP", price: 60_000 },
      { atMs: 250, marketId: "ETH-USDC-PERP", price: 3_000.125 },
      { atMs: 250, marketId: "BTC-USDC-PERP", price: 1 }
    ])
  })

  test.each([
    ["", "has no line with a price"],
    ["# nothing\n", "has no line with a price"],
    ["0,BTC-USDC-PERP", "line 1 is not atMs,marketId,price"],
    ["0,BTC-USDC-PERP,1,2", "line 1 is not atMs,marketId,price"],
    ["soon,BTC-USDC-PERP,1", "line 1 has a time that is no whole number of milliseconds"],
    ["-1,BTC-USDC-PERP,1", "line 1 has a time that is no whole number of milliseconds"],
    ["1.5,BTC-USDC-PERP,1", "line 1 has a time that is no whole number of milliseconds"],
    ["\n5,BTC-USDC-PERP,1\n4,BTC-USDC-PERP,1", "line 3 is earlier than the line before it"],
    ["0,btc,1", "line 1 names no market"],
    ["0,BTC-USDC-PERP,0", "line 1 has a price that is no positive decimal"],
    ["0,BTC-USDC-PERP,0.000", "line 1 has a price that is no positive decimal"],
    ["0,BTC-USDC-PERP,-5", "line 1 has a price that is no positive decimal"],
    ["0,BTC-USDC-PERP,1e5", "line 1 has a price that is no positive decimal"],
    ["0,BTC-USDC-PERP,NaN", "line 1 has a price that is no positive decimal"],
    ["0,BTC-USDC-PERP,", "line 1 has a price that is no positive decimal"]
  ])("%j is refused: it %s", (text, fault) => {
    expect(IndexTape.parse(text)).toEqual(Either.left(fault))
  })
})

/** What is heard of a tape until each of some moments, on a clock that begins at 10 s. */
const play = (text: string, loops: boolean, untilMs: ReadonlyArray<number>): Promise<ReadonlyArray<ReadonlyArray<Sample>>> => {
  const heard: Array<Sample> = []
  const listening = Effect.flatMap(IndexFeed,
    ({ samples }) => Stream.runForEach(samples(() => markets), (sample) => Effect.sync(() => void heard.push(sample))))
  const program = Effect.gen(function*() {
    yield* TestClock.adjust(10_000)
    const fiber = yield* Effect.fork(listening)
    const seen: Array<ReadonlyArray<Sample>> = []
    let now = 0
    for (const until of untilMs) {
      yield* TestClock.adjust(until - now)
      now = until
      seen.push([...heard])
    }
    yield* Fiber.interrupt(fiber)
    return seen
  })
  const layer = IndexTape.layer(Either.getOrThrow(IndexTape.parse(text)), loops)
  return Effect.runPromise(
    program.pipe(Effect.provide(Layer.mergeAll(layer, TestContext.TestContext, Logger.remove(Logger.defaultLogger))))
  )
}

const at = (atMs: number, marketId: string, priceAtoms: number): Sample => ({ marketId, priceAtoms, sourceEpochMs: 10_000 + atMs })

describe("playing", () => {
  const text = "7,BTC-USDC-PERP,60000.04\n7,XXX-USDC-PERP,1\n1007,ETH-USDC-PERP,3000.125\n3007,BTC-USDC-PERP,60000.05\n"
  const lines = [at(0, "BTC-USDC-PERP", 600_000), at(1_000, "ETH-USDC-PERP", 300_013), at(3_000, "BTC-USDC-PERP", 600_001)]

  test("tells each line at its moment, on its market's grid, and then nothing", async () => {
    const seen = await play(text, false, [0, 999, 1_000, 2_999, 3_000, 60_000])
    expect(seen.map(({ length }) => length)).toEqual([1, 1, 2, 2, 3, 3])
    expect(seen.at(-1)).toEqual(lines)
  })

  test("begins again a second after its end where it loops", async () => {
    const [early, seen] = await play(text, true, [3_999, 7_000])
    expect(early).toEqual(lines)
    expect(seen).toEqual([...lines, ...lines.map((sample) => ({ ...sample, sourceEpochMs: sample.sourceEpochMs + 4_000 }))])
  })
})
