/** Every change of a market's figures is sent to its subscribers, and equals what REST returns. */
import { expect, test, vi } from "vitest"
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { figuresOf, stats } from "../../src/edge/markets/getStats.js"
import { payloads } from "../../src/edge/socket/Payloads.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import { Hub } from "../../src/streams/Hub.js"
import type { Log } from "../../src/streams/Log.js"
import { Driver, parameters } from "../engine/drive.js"
import { outside } from "./Outside.js"

/** A market with a subscriber to its figures. */
class Listened extends Driver {
  private hub: Hub | undefined
  private log: Log | undefined

  constructor(change: Partial<Market.Parameters>) {
    super()
    this.market(parameters("AAA", change), 1_000)
  }

  listen(): this {
    this.hub = new Hub(this.engine, payloads, outside({
      kept: { updates: 100, bytes: 100_000 },
      now: () => this.atEpochMs
    }))
    this.log = this.hub.open("market.ticker", 0)
    return this
  }

  override run(command: Command): Outcome {
    const { engine, engine: { state: { events } } } = this
    const [from, before] = [events.length, engine.sequence]
    const outcome = super.run(command)
    if (engine.sequence > before) this.hub?.decided(engine.sequence, events.words, from, events.length)
    return outcome
  }

  /** The figures that the last record sent, if any, beside those of REST; and how many records sent some. */
  get told(): { readonly streamed: unknown; readonly rest: unknown; readonly updates: number } {
    const { engine } = this
    const view = engine.market(0)
    const last = this.log!.between(0, engine.sequence).find(({ sequence }) => sequence === engine.sequence)
    const [entry] = last?.entries ?? []
    return {
      streamed: entry === undefined ? undefined : JSON.parse(entry.text),
      rest: stats(view, figuresOf({ now: () => engine.atEpochMs, state: engine }, view)),
      updates: this.log!.count
    }
  }
}

test("a step of the index that is held back is told at once, though nothing comes of it yet", () => {
  const driver = new Listened({ indexStepMaxBps: 500 }).listen()
  const sample = { kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms: 2_000, sourceEpochMs: driver.atEpochMs } as const
  expect(driver.ask(sample).refusal).toBe(Refusal.indexPriceHeld)
  const { rest, streamed } = driver.told
  expect(streamed).toMatchObject({ marketData: { indexPriceAtoms: "1000", held: true } })
  expect(streamed).toEqual(rest)
})

test("the running rate of funding is told as it moves, where the mark stays what it is", () => {
  const driver = new Listened({ impactNotionalAtoms: 50_000_000, fundingCapE9: 40_000_000 })
  const maker = driver.account(1_000_000_000)
  driver.mark()
  driver.place(maker, { side: Order.buy, priceAtoms: 1_050 })
  driver.listen()
  const rates = new Set<string>()
  for (let second = 0; second < 10; second++) {
    driver.mark()
    const { rest, streamed } = driver.told
    if (streamed !== undefined) expect(streamed).toEqual(rest)
    rates.add((rest as { readonly predictedFundingRateE9: string }).predictedFundingRateE9)
  }
  expect(driver.engine.stats(0).markPriceAtoms).toBe(1_000)
  // Two samples in ten seconds, and nothing is sent in between.
  expect(driver.told.updates).toBe(2)
  expect(rates.size).toBeGreaterThan(1)
})

test("an index is not stale while its market's session is closed, and is from the moment that it opens", () => {
  const driver = new Listened({ marketType: "commodity", indexStaleMs: 10_000 })
  const hourMs = 3_600_000
  const session = (state: "open" | "closed") => ({
    kind: "SetMarketSession",
    market: 0,
    state,
    nextOpenEpochMs: driver.atEpochMs + 10 * hourMs,
    nextCloseEpochMs: state === "open" ? driver.atEpochMs + hourMs : 0,
    riskIncreasingOrderCutoffEpochMs: state === "open" ? driver.atEpochMs + hourMs : 0
  } as const)
  driver.send(session("open"))
  driver.listen()
  driver.atEpochMs += 60_000
  for (const [state, stale] of [["closed", false], ["open", true]] as const) {
    driver.send(session(state))
    const { rest, streamed } = driver.told
    expect(streamed).toMatchObject({ marketData: { stale } })
    expect(streamed).toEqual(rest)
  }
})

test("that an index has become stale is told by the first record by whose time it is, which may be another market's, and once", () => {
  const driver = new Listened({ indexStaleMs: 10_000 })
  const other = driver.market(parameters("BBB"), 1_000)
  driver.price(0, 1_000)
  driver.listen()
  const since = driver.atEpochMs
  const told: Array<readonly [second: number, stale: unknown]> = []
  for (let second = 1; second <= 20; second++) {
    driver.atEpochMs = since + second * 1_000
    driver.price(other, 1_000 + second)
    const { rest, streamed } = driver.told
    if (streamed === undefined) continue
    expect(streamed).toEqual(rest)
    told.push([second, (streamed as { readonly marketData: { readonly stale: unknown } }).marketData.stale])
  }
  expect(told).toEqual([[10, true]])
  driver.price(0, 1_000)
  expect(driver.told.streamed).toMatchObject({ marketData: { stale: false } })
})

test("a record looks at the figures of all markets only where it sampled a book, or time alone has changed some", () => {
  const driver = new Driver()
  for (let market = 0; market < 16; market++) driver.market(parameters(`M${market}`, { indexStaleMs: 10_000 }), 1_000)
  const { engine } = driver
  const hub = new Hub(engine, payloads, outside({ kept: { updates: 100, bytes: 100_000 }, now: () => driver.atEpochMs }))
  const logs = Array.from({ length: 16 }, (_, market) => hub.open("market.ticker", market)!)
  const hasSampled = vi.spyOn(engine, "hasSampled")
  /** How many markets a record asks for, and how many tell figures. */
  const by = (run: () => void): readonly [asked: number, told: number] => {
    const { events } = engine.state
    const from = events.length
    hasSampled.mockClear()
    run()
    const asked = hasSampled.mock.calls.length
    hub.decided(engine.sequence, events.words, from, events.length)
    return [hasSampled.mock.calls.length - asked, logs.filter(({ lastSequence }) => lastSequence === engine.sequence).length]
  }
  const maker = driver.account(1_000_000_000)
  // A resting order changes no figures: only its own market is looked at.
  for (let price = 900; price < 910; price++) expect(by(() => void driver.place(maker, { priceAtoms: price }))).toEqual([1, 0])
  const [askedOfTick, toldOfTick] = by(() => driver.mark())
  expect(askedOfTick).toBeGreaterThanOrEqual(16)
  expect(toldOfTick).toBe(16)
  expect(by(() => void driver.place(maker, { priceAtoms: 911 }))).toEqual([1, 0])
  driver.atEpochMs += 10_000
  // All but the one that has a new index are told as stale, and once.
  expect(by(() => driver.price(7, 1_000))[1]).toBe(16)
  by(() => void driver.account(1))
  expect(by(() => void driver.account(1))).toEqual([0, 0])
  driver.atEpochMs += 10_000
  expect(by(() => void driver.account(1))[1]).toBe(1)
})

test("figures that somebody begins with call an index stale by the clock, as REST does: where nothing is recorded, or it lies far behind", () => {
  const { atEpochMs, engine } = new Listened({ indexStaleMs: 10_000 })
  const isStale = (laterMs: number): unknown =>
    JSON.parse(payloads.snapshot(engine, "market.ticker", 0, atEpochMs + laterMs)).marketData.stale
  expect([0, 9_999, 10_000, -10_000, -10_001].map(isStale)).toEqual([false, false, true, false, true])
})

test("figures that somebody begins with tell the next funding time by the clock, as REST does; those of a record by its time", () => {
  const driver = new Listened({ fundingIntervalMs: 60_000 }).listen()
  const end = Math.ceil((driver.atEpochMs + 1) / 60_000) * 60_000
  const next = (atEpochMs: number): unknown =>
    JSON.parse(payloads.snapshot(driver.engine, "market.ticker", 0, atEpochMs)).nextFundingTimeEpochMs
  expect([end - 1, end, end + 600_000, end - 120_000].map(next)).toEqual([end, end + 60_000, end + 660_000, end])
  driver.price(0, 1_000)
  expect(driver.told.streamed).toMatchObject({ nextFundingTimeEpochMs: end })
})
