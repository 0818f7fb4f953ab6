/**
 * Amounts of which each is an exact number, and whose sum is none: orders at one price, positions in one market, what changes hands in a
 * minute, and the margins of one account. A number that is rounded on the way changes who is liquidated, and what an account may use.
 *
 * What has to hold: every sum is that of exact integers, also behind a restart and a crash, and once the amounts are small again.
 */
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"

/** A minute's volume is forgotten when its place is used again, these milliseconds later: a day, and the minute that is under way. */
const dayOfMinutesMs = 1_441 * 60_000

/** The most USDC that an account may be opened with, 2^52 money atoms, less what is no whole USDC. */
const most = 4_503_599_627

export const moreThanExact: Scenario = {
  name: "more-than-exact",
  what: "sizes, volumes, positions and margins that are exact each, and whose sums are beyond what a number holds",
  play: (stage) => {
    // A size atom at a price atom is worth a money atom: 4e15 of them are 4e9 USDC.
    const wide = stage.market("WIDE", 1, { quantityScale: 6, maxPriceAtoms: 2, maxQuantityAtoms: 4.5e15, maxPositionQuantityAtoms: 4.5e15 })
    const makers = stage.open(["maker", "second maker", "third maker"], most)
    const takers = stage.open(["taker", "second taker", "third taker"], most)
    const piece = 4e15 + 1
    for (const maker of makers) stage.sell(maker, wide, { size: piece, price: 1 })
    const offered = (): unknown =>
      (stage.public("getBook", `/v1/markets/${wide.marketId}/book`)["asks"] as ReadonlyArray<Json>).map(({ sizeAtoms }) => sizeAtoms)
    // Shown is the number next to 12,000,000,000,000,003; from it no other sum may be made.
    stage.is("three offers at one price", offered(), ["12000000000000004"])
    stage.restart()
    stage.is("three offers behind a restart", offered(), ["12000000000000004"])
    const buy = (taker: number): Json => stage.buy(takers[taker]!, wide, { size: piece, price: 1 })
    const boughtAtEpochMs = stage.venueNow
    buy(0)
    stage.is("the two that are left", offered(), ["8000000000000002"])
    buy(1)
    buy(2)
    const inAll = (): ReadonlyArray<unknown> => {
      const { openInterestBaseAtoms, volume24hBaseAtoms } = stage.stats(wide)
      return [openInterestBaseAtoms, volume24hBaseAtoms]
    }
    stage.is("what is open, and what was traded", inAll(), ["12000000000000004", "12000000000000003"])
    stage.restart()
    stage.deal(makers[0]!, takers[0]!, wide, piece, 1)
    stage.is("the same once a third of it is closed", inAll(), ["8000000000000002", "16000000000000004"])

    // Margins of a whole position, and a price that rises tenfold: what it takes grows beyond what its holder's account was opened with.
    const huge = stage.market("HUGE", 1_000, {
      maxQuantityAtoms: 900_000,
      maxPositionQuantityAtoms: 900_000,
      initialMarginBps: 10_000,
      maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 9_000 }],
      maxLeverageX: 1,
      priceBandBps: 9_000
    })
    const small = stage.market("ABC", 100)
    const holder = stage.one("holder", most)
    const shorts = stage.open(["a short", "b short", "c short", "d short", "e short"], most)
    for (const short of shorts) stage.deal(holder, short, huge, 180_000, 1_000)
    stage.move(huge, 10_000)
    stage.is("the holder's equity", stage.balance(holder)["equity"], "12603599627.000000")
    stage.is("the holder's maintenance margin", stage.balance(holder)["maintenanceMargin"], "8100000000.000000")
    // With an equity that is no exact number any more even a close is not accepted; with a smaller one it is, whatever its margins add
    // up to, and nothing may be opened by profit on paper.
    const close = (price: number): Json => {
      stage.buy(shorts[0]!, huge, { size: 90_000, price })
      const closed = stage.sell(holder, huge, { size: 90_000, price, reduceOnly: true, now: true })
      stage.cancelAll(shorts[0]!, huge)
      return closed
    }
    stage.refused("a close at twelve billion", close(10_000), "margin_insufficient")
    stage.move(huge, 5_000)
    stage.refused("one more", stage.buy(holder, small, { size: 1, price: 100 }), "margin_insufficient")
    stage.is("a close at eight billion", close(5_000)["filledQuantity"], "90000.0")
    stage.is("what the holder has taken", stage.balance(holder)["collateral"], "4863599627.000000")
    stage.crash("power")
    stage.is("the holder's equity behind a crash", stage.balance(holder)["equity"], "8103599627.000000")
    stage.move(huge, 4_999)
    stage.is("steps of liquidations", stage.steps(huge), [])
    // Small again: one of another market may be opened beside it.
    stage.move(huge, 1_000)
    stage.deal(holder, shorts[1]!, small, 10, 100)
    stage.move(huge, 8_000)
    stage.move(small, 101)
    stage.move(huge, 1_000)
    stage.deal(shorts[1]!, holder, small, 10, 101)

    stage.setForward(boughtAtEpochMs + dayOfMinutesMs - stage.venueNow)
    stage.move(wide, 1)
    stage.deal(makers[0]!, takers[0]!, wide, 1_000_000, 1)
    const { volume24hBaseAtoms, volume24hQuoteAtoms } = stage.stats(wide)
    stage.is("what was traded in the first minute of another day", [volume24hBaseAtoms, volume24hQuoteAtoms], ["1000000", "1000000"])
    stage.audit()
  }
}
