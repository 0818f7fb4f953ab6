/**
 * The limits on the treasury's withdrawals, each and per day, whoever has approved them. Days are UTC, and never go back with the clock.
 */
import * as Records from "./Records.js"

const dayMs = 86_400_000

/** In money atoms. */
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
 * The treasury after a withdrawal, or the limit that forbids it. Repeating the same transaction counts nothing more. A newly prepared one
 * counts again, since the signer cannot know that the first one never took effect.
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
