/**
 * Accounts owe so much for one market that the bankruptcy price of what they hold in another one is none that anybody could trade at: a
 * short's is below zero, a long's above the highest of its market. So is that of a short with something left, where the mark is near the
 * highest price. A fund that shrinks from such a price leaves those who happen to stand on the other side to sell at less than nothing,
 * however rich it is; one that pays it without counting ends with less than it needs for what it holds.
 *
 * What has to hold: the fund takes such a position over like any other, as much as leaves it its initial margin once it has paid. The
 * position passes at the nearest price of its market, and the rest of what it costs as money, with a cause of its own in the ledgers of
 * both. What the fund cannot carry is deleveraged at the bankruptcy price itself. Whoever was liquidated ends with nothing.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Json } from "../reading/Bodies.js"
import type { Scenario } from "./Scenario.js"
import { seedFund } from "./Seeding.js"
import type { Somebody, Stage } from "./Stage.js"

const stepsOf = (stage: Stage, market: Parameters): ReadonlyArray<string> =>
  stage.steps(market).map(({ filledQuantity, price, step }) => [step, filledQuantity, price].join(" "))

/** A leaderboard is made anew within this time, s. */
const boardSeconds = 62

/** What an account's ledger says of a market: causes with USDC, oldest first. */
const ledgerOf = (stage: Stage, who: Somebody, { marketId }: Parameters): ReadonlyArray<string> =>
  (stage.own(who, "listLedger", `ledger?marketId=${marketId}`)["entries"] as ReadonlyArray<Json>)
    .map(({ amount, cause }) => [cause, amount].join(" "))
    .toReversed()

/** The fund's equity with the initial margin of what it holds. */
const fundOf = (stage: Stage): readonly [unknown, unknown] => {
  const { equity, initialMargin } = stage.fund()
  return [equity, initialMargin]
}

/** The fund's movements in a market: USDC with the change of its position, oldest first. */
const movedIn = (stage: Stage, market: Parameters): ReadonlyArray<string> =>
  (stage.fund()["movements"] as ReadonlyArray<Json>)
    .filter(({ cause, marketId }) => cause === "takeover" && marketId === market.marketId)
    .map(({ amount, quantityChange }) => [amount, quantityChange].join(" "))
    .toReversed()

const areThrough = (stage: Stage, ruined: ReadonlyArray<Somebody>, markets: ReadonlyArray<Parameters>): void =>
  stage.is("what the ruined have left", ruined.map((who) => [stage.usdc(who, "equity"), ...markets.map((each) => stage.held(who, each))]),
    ruined.map(() => [0, 0, 0]))

/** Three shorts at a price of -100. The fund of 1,880 carries all of the first, half of the second, and nothing of the third. */
const belowAnyPrice = (stage: Stage, rich: Somebody): void => {
  const fallen = stage.market("FALLEN", 1_000)
  const cheap = stage.market("CHEAP", 100)
  const ruined = stage.open(["short 1", "short 2", "short 3"], 600)
  for (const who of ruined) {
    stage.deal(who, rich, fallen, 2, 1_000)
    stage.deal(rich, who, cheap, 4, 100)
  }
  // Each owes 1,200, of which 20 / 30 fall to the four: 100 - 800 / 4 = -100. Then 400 to the two: 100 + 400 / 2 = 300.
  stage.move(fallen, 100)
  stage.is("the steps at -100", stepsOf(stage, cheap), ["takeover 4.0 -100.0", "takeover 2.0 -100.0", "deleveraging 2.0 -100.0",
    "deleveraging 4.0 -100.0"])
  stage.is("the steps of what has fallen", stepsOf(stage, fallen), ["takeover 2.0 300.0", "deleveraging 2.0 300.0",
    "deleveraging 2.0 300.0"])
  // Of 4 x 200 that they made up, a position that passes at 1 makes up 396, and the fund pays 404.
  stage.is("the ledgers of the shorts", ruined.map((who) => ledgerOf(stage, who, cheap)), [
    ["realized_pnl 396.000000", "takeover_difference 404.000000"],
    ["realized_pnl 198.000000", "takeover_difference 202.000000", "realized_pnl 400.000000"],
    ["realized_pnl 800.000000"]
  ])
  areThrough(stage, ruined, [fallen, cheap])
  // 1,880 - 800 - 400 - 400, for short 6 and long 2 at 100; with one more, 80 of 90.
  stage.is("the fund behind the shorts", fundOf(stage), ["280.000000", "80.000000"])
  stage.is("what moved the fund at -100", movedIn(stage, cheap), ["-404.000000 -4.0", "-202.000000 -2.0"])
  // What it has of the fallen market comes back: 2 x 1,000.
  stage.move(fallen, 1_100)
  stage.is("the fund before the longs", fundOf(stage), ["2280.000000", "280.000000"])
}

/** Three longs at a price of 1,250 in a market that ends at 1,050. Returns the market that fell. */
const aboveAnyPrice = (stage: Stage, rich: Somebody): Parameters => {
  const fallen = stage.market("FALLING", 1_000)
  const capped = stage.market("CAPPED", 1_000, { maxPriceAtoms: 1_050 })
  const ruined = stage.open(["long 1", "long 2", "long 3"], 12_375)
  for (const who of ruined) {
    stage.deal(who, rich, fallen, 15, 1_000)
    stage.deal(who, rich, capped, 3, 1_000)
  }
  // Each owes 1,125, of which 150 / 225 fall to the three: 1,000 + 750 / 3. Then 375 to the fifteen: 100 + 25.
  stage.move(fallen, 100)
  stage.is("the steps at 1,250", stepsOf(stage, capped), ["order 0.0 1250.0", "takeover 3.0 1250.0", "order 0.0 1250.0",
    "takeover 1.0 1250.0", "deleveraging 2.0 1250.0", "order 0.0 1250.0", "deleveraging 3.0 1250.0"])
  stage.is("the steps of what has fallen again", stepsOf(stage, fallen), ["takeover 15.0 125.0", "takeover 2.0 125.0",
    "deleveraging 13.0 125.0", "deleveraging 15.0 125.0"])
  stage.is("the ledgers of the longs", ruined.map((who) => ledgerOf(stage, who, capped)), [
    ["realized_pnl 150.000000", "takeover_difference 600.000000"],
    ["realized_pnl 50.000000", "takeover_difference 200.000000", "realized_pnl 500.000000"],
    ["realized_pnl 750.000000"]
  ])
  areThrough(stage, ruined, [fallen, capped])
  // 2,280 - 750 - 375 - 250 - 50, with 400 and 170 more of margin.
  stage.is("the fund behind the longs", fundOf(stage), ["855.000000", "850.000000"])
  stage.is("what moved the fund at 1,250", movedIn(stage, capped), ["-600.000000 3.0", "-200.000000 1.0"])
  return fallen
}

/** A short that still has 20 for each unit where prices end at the mark: its price is above them, and what it has left is the fund's. */
const beyondTheCeiling = (stage: Stage, rich: Somebody, fallen: Parameters): void => {
  // The fund has 17 of it.
  stage.move(fallen, 200)
  const ceiling = stage.market("CEILING", 950, { maxPriceAtoms: 1_050 })
  const short = stage.one("short 4", 1_200)
  stage.deal(rich, short, ceiling, 10, 950)
  stage.move(ceiling, 1_050)
  stage.is("the steps at 1,070", stepsOf(stage, ceiling), ["order 0.0 1070.0", "takeover 10.0 1070.0"])
  stage.is("the ledger of the short", ledgerOf(stage, short, ceiling), ["realized_pnl -1000.000000", "takeover_difference -200.000000"])
  areThrough(stage, [short], [fallen, ceiling])
  stage.is("the fund at the end", fundOf(stage), ["2755.000000", "2070.000000"])
  stage.is("what moved the fund at 1,070", movedIn(stage, ceiling), ["200.000000 -10.0"])
}

/** Everybody who was ruined has lost what he had brought, and a board says so, wherever his positions passed. */
const areRankedByWhatTheyLost = (stage: Stage): void => {
  stage.waitAlone(boardSeconds)
  const board = stage.public("getLeaderboard", "/v1/leaderboard?window=all_time")["entries"] as ReadonlyArray<Json>
  const scores = board.map(({ scoreAtoms }) => Number(scoreAtoms) / 1e6)
  const brought = [600, 1_200, 12_375]
  stage.is("how many lost all that they had brought", brought.map((usdc) => scores.filter((score) => score === -usdc).length), [3, 1, 3])
}

export const takenOverBeyondAllPrices: Scenario = {
  name: "taken-over-beyond-all-prices",
  what: "bankruptcy prices below zero and above the highest of a market, for a fund that carries all, a part, and nothing",
  play: (stage) => {
    seedFund(stage, 2)
    const rich = stage.one("rich", 1_000_000)
    belowAnyPrice(stage, rich)
    beyondTheCeiling(stage, rich, aboveAnyPrice(stage, rich))
    areRankedByWhatTheyLost(stage)
    stage.audit()
  }
}
