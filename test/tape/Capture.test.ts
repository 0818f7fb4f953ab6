import * as fs from "node:fs"
import * as path from "node:path"
import { gzipSync } from "node:zlib"
import { afterAll, describe, expect, it } from "vitest"
import * as Capture from "../../scripts/tape/Capture.js"
import * as Synthetic from "./Synthetic.js"

const folder = Synthetic.newFolder()
afterAll(() => fs.rmSync(folder, { recursive: true }))

const all = async (messages: AsyncIterable<Capture.Message>): Promise<ReadonlyArray<Capture.Message>> => {
  const found: Array<Capture.Message> = []
  for await (const message of messages) found.push(message)
  return found
}
const file = (name: string, lines: ReadonlyArray<string>): string => Synthetic.write(path.join(folder, name), lines)

const ns = "1723161255088176367"
const atEpochUs = 1_723_161_255_088_176
const trade = (p: string, q = "0.006", m: unknown = false, X: string | undefined = "MARKET") =>
  `${ns} ${JSON.stringify({ stream: "s@trade", data: { e: "trade", p, q, m, X } })}`

describe("a line of a capture", () => {
  it("of a trade names the taker's side by who made", () => {
    expect(Capture.parse("perpetual", trade("61800.30"))).toEqual({
      _tag: "Trade",
      atEpochUs,
      priceAtoms: 618_003,
      sizeAtoms: 6,
      takerSide: "buy"
    })
    expect(Capture.parse("perpetual", trade("61800.00", "46", true))).toMatchObject({
      priceAtoms: 618_000,
      sizeAtoms: 46_000,
      takerSide: "sell"
    })
  })

  it("of a depth update has absolute sizes, zeros included, and its place in the chain", () => {
    const data = { e: "depthUpdate", U: 11, u: 15, pu: 10, b: [["58710.20", "0.014"], ["61496.50", "0.000"]], a: [] }
    expect(Capture.parse("perpetual", `${ns} ${JSON.stringify({ data })}`)).toEqual({
      _tag: "Depth",
      atEpochUs,
      updateId: 15,
      previousId: 10,
      bids: [[587_102, 14], [614_965, 0]],
      asks: []
    })
  })

  it("of a snapshot is not wrapped in a stream", () => {
    expect(Capture.parse("perpetual", `${ns} {"lastUpdateId":9,"bids":[["1.0","2.0"]],"asks":[["1.1","3"]]}`)).toEqual({
      _tag: "Snapshot",
      atEpochUs,
      updateId: 9,
      bids: [[10, 2_000]],
      asks: [[11, 3_000]]
    })
  })

  it("of a quote has the best level of each side", () => {
    const data = { e: "bookTicker", u: 7, b: "61800.20", B: "2.507", a: "61800.30", A: "2.510" }
    expect(Capture.parse("perpetual", `${ns} ${JSON.stringify({ data })}`)).toEqual({
      _tag: "Ticker",
      atEpochUs,
      updateId: 7,
      bid: [618_002, 2_507],
      ask: [618_003, 2_510]
    })
  })

  it.each([
    ["61837.63000000", 618_376],
    ["61837.65000000", 618_377],
    ["61837.64999999", 618_376],
    ["61837.60000000", 618_376]
  ])("of spot at %s moves the index to the nearest price of the perpetual", (p, priceAtoms) => {
    expect(Capture.parse("spot", trade(p))).toEqual({ _tag: "SpotTrade", atEpochUs, priceAtoms })
  })

  it("of what a tape has no use for is no message", () => {
    expect(Capture.parse("perpetual", trade("1.0", "1", true, "INSURANCE_FUND"))).toBeUndefined()
    expect(Capture.parse("perpetual", `${ns} {"data":{"e":"markPriceUpdate","p":"1.0"}}`)).toBeUndefined()
    expect(Capture.parse("spot", `${ns} {"lastUpdateId":9,"bids":[],"asks":[]}`)).toBeUndefined()
  })

  it.each([
    ["a price finer than the grid", trade("61800.31"), /too_fine/],
    ["a size finer than the grid", trade("61800.3", "0.0005"), /too_fine/],
    ["a price that is none", trade("1e5"), /malformed/],
    ["a negative size", trade("1.0", "-1"), /negative/],
    ["a maker that is neither", trade("1.0", "1", "yes"), /neither/],
    ["no receive time", `{"data":{}}`, /not `<ns> <JSON>`/],
    ["half a message", `${ns} {"data":{"e":"trade"}`, /not JSON/],
    ["a level without a size", `${ns} {"lastUpdateId":9,"bids":[["1.0"]],"asks":[]}`, /not text/]
  ])("with %s is refused", (_, line, reason) => {
    expect(() => Capture.parse("perpetual", line)).toThrow(reason)
  })
})

describe("a capture", () => {
  it("is of the market that its name says", () => {
    expect(Capture.kindOf("some/where/usdm_x.gz")).toBe("perpetual")
    expect(Capture.kindOf("spot_x.gz")).toBe("spot")
    expect(() => Capture.kindOf("usdm/x.gz")).toThrow(/usdm_/)
  })

  it("that breaks a rule is refused with its file and line", async () => {
    const broken = file("usdm_broken.gz", [trade("1.0"), trade("2.0"), "nonsense"])
    await expect(all(Capture.read(broken))).rejects.toThrow(/usdm_broken\.gz, after line 3: the line is not/)
  })

  it("that was cut off is refused, not taken for a shorter one", async () => {
    const cut = path.join(folder, "usdm_cut.gz")
    const whole = gzipSync(Array.from({ length: 500 }, (_, index) => `${trade(`${index + 1}.0`)}\n`).join(""))
    fs.writeFileSync(cut, whole.subarray(0, whole.length - 20))
    await expect(all(Capture.read(cut))).rejects.toThrow(/unexpected end of file/)
  })

  it("that is missing is refused", async () => {
    await expect(all(Capture.read(path.join(folder, "usdm_missing.gz")))).rejects.toThrow(/ENOENT/)
  })

  it("needs no line end at its end", async () => {
    const plain = path.join(folder, "usdm_plain.gz")
    fs.writeFileSync(plain, gzipSync(`${trade("1.0")}\n${trade("2.0")}`))
    expect(await all(Capture.read(plain))).toHaveLength(2)
  })
})

describe("several captures", () => {
  const at = (us: number, p: string) => Synthetic.lineAt(us, { data: { e: "trade", p, q: "1", m: true } })

  it("are merged by receive time, in the order of the files where it is the same", async () => {
    const one = file("usdm_one.gz", [at(1, "1.0"), at(5, "2.0"), at(9, "3.0")])
    const two = file("spot_two.gz", [at(0, "10.0"), at(5, "20.0"), at(6, "30.0"), at(20, "40.0")])
    const prices = (messages: ReadonlyArray<Capture.Message>) =>
      messages.map((message) => message._tag === "Trade" || message._tag === "SpotTrade" ? message.priceAtoms : 0)
    expect(prices(await all(Capture.merge([one, two])))).toEqual([100, 10, 20, 200, 300, 30, 400])
    expect(prices(await all(Capture.merge([two, one])))).toEqual([100, 10, 200, 20, 300, 30, 400])
  })

  it("are closed when the reading ends early", async () => {
    const one = file("usdm_early.gz", Array.from({ length: 20_000 }, (_, index) => at(index, "1.0")))
    let read = 0
    for await (const _ of Capture.merge([one])) if (++read === 3) break
    expect(read).toBe(3)
  })
})
