/** A liquidation step as it is sent: to the public without account names, to its own accounts as theirs. */
import * as Schema from "effect/Schema"
import type { LiquidationStepView, MarketView } from "../../engine/Reads.js"
import { inBoth, money } from "../accounts/Money.js"
import * as Fields from "../http/Fields.js"

const sides = ["long", "short"] as const
const sent = ["order", "takeover", "deleveraging", "exhausted", "settlement"] as const

const fields = {
  stepId: Fields.Text,
  step: Schema.Literal(...sent),
  marketId: Fields.Text,
  side: Schema.Literal(...sides),
  ...Fields.paired("quantity"),
  ...Fields.paired("filledQuantity"),
  ...Fields.pairedSigned("price"),
  ...Fields.paired("markPrice"),
  ...Fields.paired("fee"),
  ...Fields.pairedSigned("equity"),
  ...Fields.paired("maintenanceMargin"),
  rank: Fields.Count,
  rankingSequence: Fields.Count,
  occurredAtEpochMs: Fields.EpochMs,
  sequence: Fields.Sequence
} as const

export const LiquidationStep = Schema.Struct(fields).annotations({
  identifier: "LiquidationStep",
  description: "`side` is that of the position that is liquidated, `price` its bankruptcy price, or the price at which it was closed. "
    + "`equity` and `maintenanceMargin` are the account's before the step. An `order` is a part sent into the book, of "
    + "which `filledQuantity` traded (of those that trade nothing, one behind the other, only the first few are told); a `takeover` went "
    + "to the insurance fund (where `price` is none of its market's, it passed at the nearest of these, and the rest was paid, as "
    + "`takeover_difference`); of a `deleveraging`, `rank` is the counterparty's place "
    + "in the ranking that was begun at `rankingSequence` (0 elsewhere); `exhausted`: nobody was left to close against, and the "
    + "market was halted; or, where it is delisted, its settlement waits. A `settlement` closed so much of a long and of a short "
    + "position at the final price of a market that is delisted; `equity` and `maintenanceMargin` are 0. `stepId` tells nothing of "
    + "whose it is."
})

/** The public form of a step. */
export const liquidationStep = (
  { parameters: { marketId, priceScale, quantityScale } }: MarketView,
  view: LiquidationStepView
): typeof LiquidationStep.Type => ({
  stepId: `liq_${view.ordinal.toString(36)}`,
  step: view.step,
  marketId,
  side: sideOf(view.direction),
  ...inBoth("quantity", view.sizeAtoms, quantityScale),
  ...inBoth("filledQuantity", view.filledAtoms, quantityScale),
  ...inBoth("price", view.priceAtoms, priceScale),
  ...inBoth("markPrice", view.markAtoms, priceScale),
  ...money("fee", view.feeAtoms),
  ...money("equity", view.equityAtoms),
  ...money("maintenanceMargin", view.maintenanceMarginAtoms),
  rank: view.rank,
  rankingSequence: view.rankingSequence,
  occurredAtEpochMs: view.atEpochMs,
  sequence: view.sequence
})

export const Side = Schema.Literal(...sides)

/** The side of a position that the engine has liquidated. */
export const sideOf = (direction: number): (typeof sides)[number] => sides[direction as 0 | 1]

export const AccountLiquidationStep = Schema.Struct({ ...fields, role: Schema.Literal("liquidated", "counterparty", "settled") })
  .annotations({
    identifier: "AccountLiquidationStep",
    description: "A step that the account had a side of: its own position was liquidated, or was closed "
      + "as the counterparty of a deleveraging; or it was `settled`, as its market was delisted: then `side` is the account's own."
  })

/** The form of a step for an account that was on one of its sides. */
export const accountLiquidationStep = (
  market: MarketView,
  account: number,
  view: LiquidationStepView
): typeof AccountLiquidationStep.Type => {
  const step = liquidationStep(market, view)
  if (view.step === "settlement") return { ...step, side: view.account === account ? "long" : "short", role: "settled" }
  return { ...step, role: view.account === account ? "liquidated" : "counterparty" }
}
