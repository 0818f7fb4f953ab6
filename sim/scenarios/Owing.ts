/**
 * Accounts that owe more than they have, and are not liquidated: most of it is lost in a market that is halted then, whose losses
 * liquidate nobody, and the rest afterwards in one that trades, where that alone would ruin nobody.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Somebody, Stage } from "./Stage.js"

/** The assets of the market that is halted, and of the one that trades on. */
export const lossBases = ["OFF", "XYZ"] as const

/** With how many USDC they begin, and what they have in the end. */
export const broughtUsdc = 2_000
export const leftUsdc = -850

/**
 * Each buys five at 1,000 in both markets; `also` is what is dealt besides, before prices fall: no more than one at 1,000. The first loss
 * of 1,500 leaves 500 for margins of 175 + 250 + 50, and with the second one of 1,350 each has 850 too little.
 */
export const loseAll = (
  stage: Stage,
  losers: ReadonlyArray<Somebody>,
  winner: Somebody,
  [halted, trading]: readonly [Parameters, Parameters],
  also: () => void
): void => {
  for (const loser of losers) for (const market of [halted, trading]) stage.deal(loser, winner, market, 5, 1_000)
  also()
  stage.move(halted, 700)
  stage.status(halted, "halted")
  stage.move(trading, 730)
  stage.is("what is owed", losers.map((loser) => stage.usdc(loser, "equity")), losers.map(() => leftUsdc))
}
