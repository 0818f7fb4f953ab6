/** Recorded indexes: what a file may contain, and when its lines are played. */
import { Either } from "effect"
import { describe, expect, test } from "vitest"
import type { Quoted, Sample } from "../../src/oracle/IndexFeed.js"
import * as IndexTape from "../../src/oracle/IndexTape.js"
import { beganMs, Listening } from "./Listening.js"

const markets: ReadonlyArray<Quoted> = [
  { marketId: "BTC-USDC-PERP", underlyingSymbol: "BTC/USD", priceScale: 1, indexStaleMs: 10_000 },
  { marketId: "ETH-USDC-PERP", underlyingSymbol: "ETH/USD", priceScale: 2, indexStaleMs: 10_000 }
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

const listen = (text: string, loops: boolean): Listening =>
  new Listening(IndexTape.layer(Either.getOrThrow(IndexTape.parse(text)), loops), markets)

const at = (atMs: number, marketId: string, priceAtoms: number): Sample => ({ marketId, priceAtoms, sourceEpochMs: beganMs + atMs })

test("a price that is none of its market's grid is warned of when the tape begins, and handed on as such", () => {
  const listening = listen("0,BTC-USDC-PERP,0.04\n0,ETH-USDC-PERP,0.04\n1000,BTC-USDC-PERP,0.03\n", false)
  expect(listening.pass(500)).toEqual([{ marketId: "BTC-USDC-PERP", priceAtoms: undefined }, at(0, "ETH-USDC-PERP", 4)])
  expect(listening.pass(1_000)).toEqual([{ marketId: "BTC-USDC-PERP", priceAtoms: undefined }])
  expect(listening.logged.slice(0, 1)).toEqual([
    "the index tape: 0.04 is too small or too large to be a price of BTC-USDC-PERP, whose steps are of 0.1: it gets no index from it"
  ])
})

describe("playing", () => {
  const text = "7,BTC-USDC-PERP,60000.04\n7,XXX-USDC-PERP,1\n1007,ETH-USDC-PERP,3000.125\n3007,BTC-USDC-PERP,60000.05\n"
  const lines = [at(0, "BTC-USDC-PERP", 600_000), at(1_000, "ETH-USDC-PERP", 300_013), at(3_000, "BTC-USDC-PERP", 600_001)]

  test("tells each line at its moment, on its market's grid, and then nothing", () => {
    const listening = listen(text, false)
    expect(listening.pass(999)).toEqual(lines.slice(0, 1))
    expect(listening.pass(1)).toEqual(lines.slice(1, 2))
    expect(listening.pass(1_999)).toEqual([])
    expect(listening.pass(1)).toEqual(lines.slice(2))
    expect(listening.pass(60_000)).toEqual([])
    expect(listening.logged).toEqual([
      "the index tape has prices of markets that are not here: XXX-USDC-PERP",
      "the index tape has ended: markets take only what reduces once their index is stale"
    ])
  })

  test("begins again a second after its end where it loops", () => {
    const listening = listen(text, true)
    expect(listening.pass(3_999)).toEqual(lines)
    expect(listening.pass(3_001)).toEqual(lines.map((sample) => ({ ...sample, sourceEpochMs: sample.sourceEpochMs + 4_000 })))
  })
})
