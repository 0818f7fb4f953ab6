/** How `/readyz` and `/metrics` report each listed market's index, over the real engine. */
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { Metrics, layer } from "../../src/edge/http/Metrics.js"
import * as ClockWatch from "../../src/edge/system/ClockWatch.js"
import { parameters } from "../engine/drive.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId } from "./LiveVenue.js"

const stale = { indexStaleMs: 10_000, indexStepMaxBps: 500, fundingCapE9: 1_000_000 }

const make = () => {
  const venue = LiveVenue.make()
  venue.market({ ...parameters("BBB"), ...stale })
  venue.send({ kind: "PutMarket", idempotencyKey: "draft", parameters: parameters("CCC") })
  const ready = async () => Fake.json(await venue.ask({ target: "/readyz" }))
  const second = async () => (await ready()).markets[1]
  const price = (text: string, sourceEpochMs: number) =>
    venue.ask({
      method: "PUT",
      target: "/v1/operator/markets/BBB-USDC-PERP/index-price",
      body: { price: text, sourceEpochMs },
      key: Fake.operatorToken,
      idempotencyKey: `price-${text}-${sourceEpochMs}`
    })
  return { venue, ready, second, price }
}

test("/readyz tells each listed market's index by the clock, and stays ready where one is stale", async () => {
  const { ready, second, venue } = make()
  expect((await ready()).markets.map((market: { readonly marketId: string }) => market.marketId)).toEqual([marketId, "BBB-USDC-PERP"])
  venue.atEpochMs += 9_999
  expect(await second()).toEqual({ marketId: "BBB-USDC-PERP", status: "open", indexAgeMs: 9_999, indexStale: false, indexHeld: false })
  venue.atEpochMs += 1
  expect(await second()).toMatchObject({ indexAgeMs: 10_000, indexStale: true })
  const response = await venue.ask({ target: "/readyz" })
  expect(response.status).toBe(200)
  expect(Fake.json(response)).toMatchObject({ status: "ready", details: { oldestIndexAgeMs: 10_000, staleMarkets: 1 } })
})

test("a halt of the engine is told by /readyz, and leaves the venue ready", async () => {
  const { ready, venue } = make()
  const told = async () => {
    const { details, status } = await ready()
    return [status, details.engineHalted]
  }
  expect(await told()).toEqual(["ready", undefined])
  venue.send({ kind: "HaltEngine", idempotencyKey: "halt" })
  expect(await told()).toEqual(["ready", true])
  venue.send({ kind: "ResumeEngine", idempotencyKey: "resume" })
  expect(await told()).toEqual(["ready", undefined])
})

test("a price with too many decimals is told the step and the nearest price", async () => {
  const { price } = make()
  const { body, status } = await price("100.04", 0)
  const { code, safeMessage } = JSON.parse(body)
  expect([status, code]).toEqual([400, "invalid_request"])
  expect(safeMessage).toMatch(/not a price of this market\. price: has more than 1 decimals, steps are of 0\.1; the nearest is 100\.0\.$/)
})

test("figures and ticker tell a stale index by the clock too, with no record between", async () => {
  const { venue } = make()
  const target = "markets/BBB%2FUSDC:USDC"
  const stale = async () => {
    const [figures, compat, ticker] = await Promise.all(
      ["/v1/markets/BBB-USDC-PERP/stats", `/v2/${target}/stats`, `/v2/${target}/ticker`].map(async (each) =>
        Fake.json(await venue.ask({ target: each }))
      )
    )
    return [figures, compat.info, ticker.info].map(({ marketData }) => marketData.stale)
  }
  const { sequence } = venue.engine
  venue.atEpochMs += 9_999
  expect(await stale()).toEqual([false, false, false])
  venue.atEpochMs += 1
  expect(await stale()).toEqual([true, true, true])
  expect(venue.engine.sequence).toBe(sequence)
})

test("with no record between, funding is next paid after the present time, and what ended in a still market is told as unpaid", async () => {
  const { venue } = make()
  const target = "markets/BBB%2FUSDC:USDC"
  const told = async () => {
    const [figures, compat, ticker] = await Promise.all(
      ["/v1/markets/BBB-USDC-PERP/stats", `/v2/${target}/stats`, `/v2/${target}/ticker`].map(async (each) =>
        Fake.json(await venue.ask({ target: each }))
      )
    )
    const all = [figures, compat.info, ticker.info]
    return {
      times: [...all.map(({ nextFundingTimeEpochMs }) => nextFundingTimeEpochMs), compat.nextFundingTimestamp],
      names: [compat.nextFundingDatetime, compat.datetime, ticker.datetime],
      rates: [...all.map(({ predictedFundingRateE9 }) => predictedFundingRateE9), compat.nextFundingRate]
    }
  }
  const hourMs = 3_600_000
  const end = Math.ceil(venue.atEpochMs / hourMs) * hourMs
  const iso = (atEpochMs: number): string => new Date(atEpochMs).toISOString()
  venue.send({ kind: "MarkTick" })
  const lastEpochMs = venue.atEpochMs
  const { sequence } = venue.engine
  expect(await told()).toMatchObject({ times: [end, end, end, end], rates: ["12500", "12500", "12500", 0.0000125] })
  venue.atEpochMs = end + 2 * hourMs
  const later = end + 3 * hourMs
  expect(await told()).toEqual({
    times: [later, later, later, later],
    // All else is as of the last record.
    names: [iso(later), iso(lastEpochMs), iso(lastEpochMs)],
    rates: ["0", "0", "0", 0]
  })
  expect(venue.engine.sequence).toBe(sequence)
  // A clock that was set back goes for nothing: the journal's time is later.
  venue.atEpochMs = lastEpochMs - hourMs
  expect((await told()).times).toEqual([end, end, end, end])
})

test("a clock that was set back makes no index fresh that the last record found stale", async () => {
  const { second, venue } = make()
  venue.atEpochMs += 10_000
  venue.send({ kind: "PassTime" })
  venue.atEpochMs -= 5_000
  expect(await second()).toMatchObject({ indexStale: true })
  const { marketData } = Fake.json(await venue.ask({ target: "/v1/markets/BBB-USDC-PERP/stats" }))
  expect(marketData.stale).toBe(true)
})

test("a market without a price has no age and is stale", async () => {
  const { ready, venue } = make()
  for (const status of ["backfilling", "open"] as const) {
    venue.send({ kind: "SetMarketStatus", idempotencyKey: status, market: venue.engine.findMarket("CCC-USDC-PERP"), status })
  }
  const { details, markets } = await ready()
  expect(markets[2]).toEqual({ marketId: "CCC-USDC-PERP", status: "open", indexStale: true, indexHeld: false })
  // Only indexes that exist count for the oldest, and no age is negative.
  expect(details.oldestIndexAgeMs).toBe(0)
  venue.atEpochMs -= 5_000
  expect((await ready()).details.oldestIndexAgeMs).toBe(0)
})

test("a clock that lies far behind the journal makes every index stale, is told by metrics and the log, and is no reason once it is back", async () => {
  const { ready, venue } = make()
  const times = { now: () => venue.atEpochMs, monotonicMs: () => venue.atEpochMs, state: venue.engine }
  const { look } = ClockWatch.make(times)
  const told = async () => {
    const { body } = await venue.ask({ target: "/metrics" })
    return [/^venue_clock_behind_ms (\d+)$/m.exec(body)?.[1], (await ready()).details.staleMarkets, look(), ClockWatch.clockTrouble(times)]
  }
  venue.send({ kind: "PassTime" })
  expect(await told()).toEqual(["0", 0, [], undefined])
  venue.atEpochMs -= 10_000
  expect(await told()).toEqual(["10000", 0, [], undefined])
  venue.atEpochMs -= 1
  const behind = expect.stringContaining("10001 ms behind the last record")
  expect(await told()).toEqual(["10001", 2, [{ text: behind, isWarning: true }], behind])
  expect(look()).toEqual([])
  venue.atEpochMs += 10_001
  expect(await told()).toEqual(["0", 0, [{ text: "the clock has come to the last record again", isWarning: false }], undefined])
})

test("a start by a clock that is more than a day ahead of the last record says so, and that of a new journal does not", () => {
  const dayMs = 86_400_000
  const ahead = (byMs: number, sequence = 7) => ClockWatch.aheadAtStart({ atEpochMs: 1_000, sequence }, 1_000 + byMs)
  expect([ahead(-5), ahead(dayMs), ahead(40 * 365 * dayMs, 0)]).toEqual([undefined, undefined, undefined])
  expect(ahead(dayMs + 1)).toContain("the journal's last record was made 1 days before this start")
  expect(ahead(40 * 365 * dayMs)).toContain("made 14600 days before this start, by this machine's clock")
})

/** A watch over a clock that has shown ten looks at the right time, over a journal that is written by it. */
const watched = () => {
  const clock = { atEpochMs: 1_000_000_000, elapsedMs: 5 }
  const state = { atEpochMs: clock.atEpochMs }
  const watch = ClockWatch.make({ now: () => clock.atEpochMs, monotonicMs: () => clock.elapsedMs, state })
  /** Sets the clock by so much, and writes a record. */
  const set = (byMs: number): void => {
    clock.atEpochMs += byMs
    state.atEpochMs = Math.max(state.atEpochMs, clock.atEpochMs)
  }
  /** Lets time pass and sets the clock by so much, then looks. */
  const pass = (elapsedMs: number, setByMs = 0): ReadonlyArray<string> => {
    clock.elapsedMs += elapsedMs
    set(elapsedMs + setByMs)
    return watch.look().map(({ isWarning, text }) => `${isWarning ? "warning" : "info"}: ${text}`)
  }
  for (let look = 0; look < 10; look++) pass(10_000)
  return { watch, set, pass }
}

const hourMs = 3_600_000

test("a clock that goes ahead while the venue runs is told and counted at once, and once", () => {
  const { pass, watch } = watched()
  expect([pass(10_000, 60_000), watch.stepsAhead()]).toEqual([[], 0])
  const [told, ...more] = pass(10_000, 60_001)
  expect(told).toMatch(/^warning: the clock went ahead by 60001 ms .*or the machine was suspended.* stop the venue at once/)
  expect([more, watch.stepsAhead(), pass(10_000), pass(10_000, hourMs).length, watch.stepsAhead()]).toEqual([[], 1, [], 1, 2])
  // A look that comes late, since the process stood still, sees both clocks gone on alike.
  expect([pass(hourMs), watch.stepsAhead()]).toEqual([[], 2])
})

test("a step ahead that is taken back in part before anybody looked is told once, and that the clock is behind", () => {
  const { pass, set, watch } = watched()
  set(3 * hourMs)
  expect(pass(10_000, -hourMs)).toEqual([expect.stringContaining("went ahead by 7200000 ms"), expect.stringContaining("behind the last")])
  expect([pass(10_000), pass(10_000), watch.stepsAhead()]).toEqual([[], [], 1])
})

test("a clock that is set back is told as behind alone, and one that is set right again as nothing else", () => {
  const { pass, watch } = watched()
  expect(pass(10_000, -hourMs)).toEqual([expect.stringContaining(`the clock lies ${hourMs - 10_000} ms behind the last record`)])
  expect(pass(hourMs / 2)).toEqual([])
  expect(pass(10_000, hourMs)).toEqual(["info: the clock has come to the last record again"])
  expect([pass(10_000), watch.stepsAhead()]).toEqual([[], 0])
})

test("how often the clock went ahead is told under a name of its own", async () => {
  const metrics = Effect.runSync(Effect.provide(Metrics, layer))
  const { pass, watch } = watched()
  ClockWatch.register(metrics, watch)
  const told = async () => (await Effect.runPromise(metrics.render)).split("\n").filter((line) => line.startsWith("venue_clock_steps"))
  expect(await told()).toEqual(["venue_clock_steps_ahead_total 0"])
  pass(10_000, hourMs)
  pass(10_000, hourMs)
  expect(await told()).toEqual(["venue_clock_steps_ahead_total 2"])
})

test("a clock that lies behind the journal at the first look goes ahead of nothing where it is set right", () => {
  const clock = { atEpochMs: 0, elapsedMs: 5 }
  const { look, stepsAhead } = ClockWatch.make({
    now: () => clock.atEpochMs,
    monotonicMs: () => clock.elapsedMs,
    state: { atEpochMs: hourMs }
  })
  expect(look()).toEqual([expect.objectContaining({ isWarning: true })])
  clock.atEpochMs += hourMs
  expect([look(), stepsAhead()]).toEqual([[expect.objectContaining({ isWarning: false })], 0])
})

test("a clock that was ahead, was set right and has been waited for is told where it goes ahead anew", () => {
  const { pass, watch } = watched()
  pass(10_000, -hourMs)
  expect(pass(hourMs)).toEqual(["info: the clock has come to the last record again"])
  expect([pass(10_000, hourMs), watch.stepsAhead()]).toEqual([[expect.stringContaining("went ahead by 3600000 ms")], 1])
})

test("a step that an earlier process held back is told by the next, and one that new price bounds ended is not", async () => {
  const { price, second, venue } = make()
  venue.atEpochMs += 1_000
  // Decided without the process that is asked, as before its start.
  venue.send({ kind: "SetIndexPrice", market: 1, priceAtoms: 1_200, sourceEpochMs: venue.atEpochMs })
  const gauge = async () => (await venue.ask({ target: "/metrics" })).body.split("\n").find((line) => /^venue_index_held.*BBB/.test(line))
  expect([(await second()).indexHeld, await gauge()]).toEqual([true, "venue_index_held{market=\"BBB-USDC-PERP\"} 1"])
  venue.send({
    kind: "PutMarket",
    idempotencyKey: "bounds",
    parameters: { ...parameters("BBB"), ...stale, minPriceAtoms: 1_010, maxPriceAtoms: 3_000 }
  })
  expect((await second()).indexHeld).toBe(false)
  venue.atEpochMs += 1_000
  expect((await price("120.0", venue.atEpochMs)).status).toBe(200)
})

const samples = (sender: string, counts: ReadonlyArray<number>): ReadonlyArray<string> =>
  ["taken", "held", "out_of_order", "refused"].map((outcome, index) =>
    `venue_index_samples_total{market="BBB-USDC-PERP",sender="${sender}",outcome="${outcome}"} ${counts[index]}`
  )

test("a step that waits is told until it is agreed with, and counted", async () => {
  const { price, second, venue } = make()
  const from = venue.atEpochMs
  const held = async () => Fake.json(await venue.ask({ target: "/v1/markets/BBB-USDC-PERP/stats" })).marketData.held
  for (const at of [1_000, 2_000, 3_000]) {
    venue.atEpochMs = from + at
    const { status } = await price("120.0", venue.atEpochMs)
    expect([status, (await second()).indexHeld, await held()]).toEqual(at < 3_000 ? [400, true, true] : [200, false, false])
  }
  expect((await price("121.0", from)).status).toBe(400)
  // A price off the grid is refused before the engine decides anything, whoever sends it.
  expect((await price("121.00001", venue.atEpochMs)).status).toBe(400)
  const operator = { method: "POST", key: Fake.operatorToken } as const
  const opened = Fake.json(await venue.ask({ ...operator, target: "/v1/operator/index-stream" }))
  const sent = await venue.ask({
    ...operator,
    target: "/v1/operator/index-stream/prices",
    body: { session: opened.session, sequence: 1, prices: [{ marketId: "BBB-USDC-PERP", price: "0.01", sourceEpochMs: venue.atEpochMs }] }
  })
  expect(sent.status).toBe(200)
  venue.atEpochMs += 20_000
  const { body } = await venue.ask({ target: "/metrics" })
  expect(body.split("\n").filter((line) => line.startsWith("venue_index_") && line.includes("BBB"))).toEqual([
    "venue_index_age_ms{market=\"BBB-USDC-PERP\"} 20000",
    "venue_index_stale{market=\"BBB-USDC-PERP\"} 1",
    "venue_index_held{market=\"BBB-USDC-PERP\"} 0",
    ...samples("feed", [0, 0, 0, 1]),
    ...samples("operator", [1, 2, 1, 1])
  ])
})
