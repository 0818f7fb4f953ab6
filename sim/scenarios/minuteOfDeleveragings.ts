/**
 * A market falls for a minute. A minute of liquidations is followed by auto-deleveragings by the ten thousand, a large part of them within
 * one second, over more than half as many accounts.
 *
 * What has to hold: every liquidated account ends with nothing and owes nothing; the other side receives all that was lost, to the atom,
 * those with the highest profit and leverage first, in the order of published rankings; no record does more than its share, so that a
 * cancel in the midst of it is answered at once; and the market continues to trade.
 */
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const howMany = 40

/**
 * Longs of 1 unit with 101, 102.. USDC, against shorts of 1 or 3 units: some with little margin, which rank first, and some with much
 * more.
 */
const begin = (stage: Stage) => {
  const market = stage.market("ABC", 1_000)
  const longs = Array.from({ length: howMany }, (_, at) => stage.one(`long ${at + 1}`, 101 + at))
  const keen = stage.open(Array.from({ length: 8 }, (_, at) => `keen ${at + 1}`), 300)
  const ready = stage.open(Array.from({ length: 8 }, (_, at) => `ready ${at + 1}`), 1_000)
  const rich = stage.open(Array.from({ length: 8 }, (_, at) => `rich ${at + 1}`), 10_000)
  const sell = (who: Somebody, size: number): void =>
    stage.is(`what ${who.client} offers`, stage.sell(who, market, { size, price: 1_000 })["status"], "open")
  for (const who of keen) sell(who, 1)
  for (const who of ready) sell(who, 1)
  for (const who of rich) sell(who, 3)
  for (const who of longs) stage.is(`what ${who.client} bought`, stage.buy(who, market, { size: 1, price: 1_000 })["status"], "closed")
  return { market, longs, keen, ready, rich }
}

/** For each place of a ranking, whether any of it was closed. */
const closedPlaces = (ranking: Json): ReadonlyArray<boolean> =>
  (ranking["ranking"] as ReadonlyArray<Json>).map(({ closedQuantity }) => closedQuantity !== "0.0")

export const minuteOfDeleveragings: Scenario = {
  name: "minute-of-deleveragings",
  what: "a fall into an empty book: every long is liquidated and deleveraged within seconds, by published rankings",
  bounds: { examinedAtOnce: 1 },
  play: (stage) => {
    const { keen, longs, market, ready, rich } = begin(stage)
    const [first] = rich
    // A bid too low for any liquidation, to be cancelled in the midst of them.
    stage.buy(first!, market, { size: 1, price: 600 })
    stage.wait(1_000 - (stage.now % 1_000) - 50)
    stage.index(market, 900)
    stage.wait(60)
    stage.is("what a cancel in the midst of it took", stage.cancelAll(first!)["canceledOrders"], 1)
    stage.tick()
    // At 900 long number n has n USDC of the 45 that it requires: those under 30 are gone, at 900 - n; the others are still to be
    // liquidated.
    const gone = stage.steps(market).filter(({ step }) => step === "deleveraging")
    stage.is("who is gone at 900", gone.length, 29)
    stage.is("the prices at which they went", gone.map(({ price }) => price), Array.from({ length: 29 }, (_, at) => `${899 - at}.0`))
    stage.move(market, 850)
    stage.tick()
    const steps = stage.steps(market)
    const closed = steps.filter(({ step }) => step === "deleveraging")
    stage.is("how many were deleveraged", closed.length, howMany)
    stage.is("takeovers and markets without anybody", steps.filter(({ step }) => step === "takeover" || step === "exhausted"), [])
    stage.holds("more than one record does it", new Set(closed.map(({ sequence }) => sequence)).size > 2)
    for (const ranking of stage.rankings(market)) {
      const places = closedPlaces(ranking)
      stage.is("places that were passed over", places.slice(0, places.lastIndexOf(true) + 1).filter((isClosed) => !isClosed), [])
    }
    for (const who of longs) stage.is(`what ${who.client} has left`, [stage.held(who, market), stage.usdc(who, "equity")], [0, 0])
    const lost = longs.reduce((sum, _, at) => sum + 101 + at, 0)
    const winners = [...keen, ...ready, ...rich]
    const before = 8 * (300 + 1_000 + 10_000)
    stage.is("what the winners hold", winners.map((who) => stage.held(who, market)), winners.map(() => 0))
    stage.is("what the winners have", winners.reduce((sum, who) => sum + stage.usdc(who, "collateral"), 0), before + lost)
    // The highest ranked were closed first, at the first prices.
    stage.is("the keen", keen.map((who) => stage.usdc(who, "collateral")), keen.map((_, at) => 300 + 101 + at))
    // The market continues to trade.
    stage.deal(first!, rich[1]!, market, 2, 850)
    stage.audit()
  }
}
