/**
 * The insurance fund has money for more than its market allows it to hold, and is offered a position at a price that no order of its market
 * may have; what it holds pays funding; and a limit is lowered below what it holds. A fund that takes over whatever its money carries holds more than
 * anybody may and cannot sell it.
 *
 * What has to hold: the fund's position stays within the market's limit, and the rest is deleveraged at the same price. A position whose
 * bankruptcy price lies beyond the market's highest price is not sold to a bid at the highest, and is taken over like any other. What the
 * fund pays of funding is among its movements, as what it gave. Beyond a limit of later it still takes over what reduces its position.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"
import { seedFund } from "./Seeding.js"
import { nextInterval, type Somebody, type Stage } from "./Stage.js"

const minute = 60_000
const noticeMs = 1_000

const stepsOf = (stage: Stage, market: Parameters): ReadonlyArray<string> =>
  stage.steps(market).map(({ filledQuantity, price, step }) => [step, filledQuantity, price].join(" "))

/** Two positions of eight are handed on where nobody may hold more than ten. */
const offeredTooMuch = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("ABC", 1_000, { maxQuantityAtoms: 10, maxPositionQuantityAtoms: 10 })
  const calm = stage.one("calm", 100_000)
  const ruined = stage.open(["first", "second"], 800)
  stage.deal(ruined[0]!, calm, market, 8, 1_000)
  stage.deal(ruined[1]!, rich, market, 8, 1_000)
  // Each has 240 of 372, less than two thirds, and a price of 930 - 240 / 8 = 900. The fund's 1,880 would carry all sixteen.
  stage.move(market, 930)
  stage.is("the steps of both", stepsOf(stage, market), ["order 0.0 900.0", "takeover 8.0 900.0", "order 0.0 900.0", "takeover 2.0 900.0",
    "deleveraging 6.0 900.0"])
  stage.is("what both have left", ruined.map((who) => [stage.held(who, market), stage.usdc(who, "equity")]), [[0, 0], [0, 0]])
}

/**
 * An account owes so much for one market that the price of its position in another one is above the highest there. Returns the market
 * in which the fund holds ten.
 */
const beyondAnyPrice = (stage: Stage, rich: Somebody): Parameters => {
  const fallen = stage.market("DEF", 1_000, { fundingIntervalMs: minute, fundingCapE9: 40_000_000 })
  const capped = stage.market("GHI", 1_000, { maxPriceAtoms: 1_050 })
  const debtor = stage.one("debtor", 8_750)
  stage.deal(debtor, rich, fallen, 10, 1_000)
  stage.deal(debtor, rich, capped, 1, 1_000)
  stage.buy(rich, fallen, { size: 10, price: 500, reduceOnly: true })
  const bidder = stage.one("bidder", 10_000)
  stage.buy(bidder, capped, { size: 1, price: 1_050 })
  // -350, of which 50 / 95 fall to the one unit: 1,000 + 184.2 is above 1,050. Then -165 for ten: 90 + 16.5.
  stage.move(fallen, 90)
  stage.is("the steps where prices end at 1,050", stepsOf(stage, capped), ["order 0.0 1185.0", "takeover 1.0 1185.0"])
  stage.is("the steps of what has fallen", stepsOf(stage, fallen), ["takeover 10.0 107.0"])
  return fallen
}

/** An interval ends while the fund holds ten at 90: 0.01 % in 8 hours, for a minute. */
const paysForAMinute = (stage: Stage, { marketId }: Parameters): void => {
  stage.passUntil(nextInterval(stage.now, minute) + 1_500)
  const paid = (stage.fund()["movements"] as ReadonlyArray<Json>)
    .filter(({ cause }) => cause === "funding")
    .map(({ amountAtoms, marketId: of }) => [of, amountAtoms])
  stage.is("what the fund paid of funding", paid, [[marketId, "-188"]])
}

/** The fund is long six where two are allowed from then on, and is offered a long and a short. */
const beyondALaterLimit = (stage: Stage, rich: Somebody): void => {
  const market = stage.market("JKL", 1_000, { maxQuantityAtoms: 2, maxPositionQuantityAtoms: 6 })
  const [long, short] = [stage.one("long", 600), stage.one("short", 300)]
  for (let part = 0; part < 3; part++) stage.deal(long, rich, market, 2, 1_000)
  // 180 of 279: 930 - 180 / 6 = 900.
  stage.move(market, 930)
  stage.deal(rich, short, market, 2, 930)
  stage.deal(rich, short, market, 1, 930)
  stage.put({ ...market, maxPositionQuantityAtoms: 2 }, stage.venueNow + 2 * noticeMs)
  stage.pass(4 * noticeMs)
  // 90 of 150: 1,000 + 90 / 3 = 1,030.
  stage.move(market, 1_000)
  stage.is("the steps where two may be held", stepsOf(stage, market), ["order 0.0 900.0", "takeover 6.0 900.0", "order 0.0 1030.0",
    "takeover 3.0 1030.0"])
}

export const fundAtItsLimits: Scenario = {
  name: "fund-at-its-limits",
  what:
    "a fund with more money than its market lets it use, a bankruptcy price above the highest of its market, funding of the fund, and a limit "
    + "that is lowered below what it holds",
  bounds: { noticeMs },
  play: (stage) => {
    seedFund(stage, 2)
    const rich = stage.one("rich", 1_000_000)
    offeredTooMuch(stage, rich)
    beyondALaterLimit(stage, rich)
    paysForAMinute(stage, beyondAnyPrice(stage, rich))
    stage.audit()
  }
}
