/**
 * A market falls for a minute. A minute of liquidations is followed by auto-deleveragings by the ten thousand, a large part of them within
 * one second, over more than half as many accounts.
 *
 * What has to hold: everybody who was liquidated ends with nothing and owes nothing; those on the other side receive all that was
 * lost, to the atom, those with the most profit at the highest leverage first, in the order of rankings that are published; no record does
 * more than its share, so that a cancel in the midst of it is answered at once; and the market trades on.
 */
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const howMany = 40

/** Longs of 1 unit with 101, 102.. USDC, against shorts of 1 or 3 units: keen ones, and some with much more behind them. */
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

/** How many places of a ranking were closed in whole or in part, and whether nobody was passed over before the last of them. */
const closedPlaces = (ranking: Json): ReadonlyArray<boolean> =>
  (ranking["ranking"] as ReadonlyArray<Json>).map(({ closedQuantity }) => closedQuantity !== "0.0")

export const minuteOfDeleveragings: Scenario = {
  name: "minute-of-deleveragings",
  what: "a fall into an empty book: every long is liquidated and deleveraged within seconds, by published rankings",
  play: (stage) => {
    const { keen, longs, market, ready, rich } = begin(stage)
    const [first] = rich
    // A bid so low that no liquidation may sell into it: it is there to be cancelled in the midst of all.
    stage.buy(first!, market, { size: 1, price: 600 })
    stage.wait(1_000 - (stage.now % 1_000) - 50)
    stage.index(market, 900)
    stage.wait(60)
    stage.is("what a cancel in the midst of it took", stage.cancelAll(first!)["canceledOrders"], 1)
    stage.tick()
    // At 900 long number n has n USDC of the 45 that it needs: those under 30 are gone, at 900 - n; the others have yet to be.
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
    // The keenest were the first, at the prices of the first.
    stage.is("the keen", keen.map((who) => stage.usdc(who, "collateral")), keen.map((_, at) => 300 + 101 + at))
    // It trades on.
    stage.deal(first!, rich[1]!, market, 2, 850)
    stage.audit()
  }
}
