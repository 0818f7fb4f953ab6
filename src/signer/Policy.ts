/** What the treasury gives at once and in a day, whoever has approved it. Days are UTC, and never go back with the clock. */
import * as Records from "./Records.js"

const dayMs = 86_400_000

/** Money atoms. */
export interface Limits {
  readonly perWithdrawalAtoms: number
  readonly dailyAtoms: number
}

interface Given {
  readonly hash: string
  readonly commandId: string
  readonly amountAtoms: number
}

/**
 * The treasury once it has given this, or why it does not. The same transaction again counts nothing. One that is prepared anew
 * counts again: the signer cannot know that the first one never took effect.
 */
export const judge = (
  treasury: Records.Treasury,
  { dailyAtoms, perWithdrawalAtoms }: Limits,
  given: Given,
  atEpochMs: number
): Records.Treasury | "policy_per_withdrawal" | "policy_daily" => {
  if (treasury.withdrawals.some(({ hash }) => hash === given.hash)) return treasury
  if (given.amountAtoms > perWithdrawalAtoms) return "policy_per_withdrawal"
  const day = Math.max(Math.floor(atEpochMs / dayMs), treasury.day)
  const after = Records.withGiven(treasury, day, given)
  return after.givenAtoms > dailyAtoms ? "policy_daily" : after
}
