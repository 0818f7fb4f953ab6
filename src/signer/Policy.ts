/**
 * The limits on the treasury's withdrawals, each and per day, whoever has approved them. Days are UTC, and never go back with the clock.
 */
import { dayMs } from "../domain/Durations.js"
import * as Records from "./Records.js"

/** How long a transaction's time may be over for its withdrawal to begin a day: longer than a ledger goes without any record. */
const latestMs = 7 * dayMs

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

/** When a withdrawal is signed, by the signer's clock, and until when it may be recorded. */
interface When {
  readonly atEpochMs: number
  readonly untilEpochMs: number
}

/**
 * The day that a withdrawal counts for, in days since the epoch, UTC: that of the signer's clock, or of the latest one where that is later.
 * A transaction whose time was over for more than a week says that the clock is ahead, as the venue asks for minutes from the ledger's
 * time: it begins no new day, or all withdrawals until then would share one limit. Counting it for the latest day takes nothing off the
 * limit. The ledger's time stands still while nothing is recorded, and a withdrawal that is refused here does not move it: within a week it
 * begins a day, so that a quiet ledger does not make the last day's limit that of all days.
 */
const dayOf = ({ day }: Records.Treasury, { atEpochMs, untilEpochMs }: When): number =>
  untilEpochMs < atEpochMs - latestMs ? day : Math.max(Math.floor(atEpochMs / dayMs), day)

/**
 * The treasury after a withdrawal, or the limit that forbids it. Repeating the same transaction counts nothing more, however late. A newly
 * prepared one counts again, since the signer cannot know that the first one never took effect.
 */
export const judge = (
  treasury: Records.Treasury,
  { dailyAtoms, perWithdrawalAtoms }: Limits,
  given: Given,
  when: When
): Records.Treasury | "policy_per_withdrawal" | "policy_daily" => {
  if (treasury.withdrawals.some(({ hash }) => hash === given.hash)) return treasury
  if (given.amountAtoms > perWithdrawalAtoms) return "policy_per_withdrawal"
  const after = Records.withGiven(treasury, dayOf(treasury, when), given)
  return after.givenAtoms > dailyAtoms ? "policy_daily" : after
}

/** Which day's limit a withdrawal has met, and why that is not the day of the signer's clock where it is another. */
export const limitMet = (treasury: Records.Treasury, when: When): string => {
  const day = dayOf(treasury, when)
  const today = Math.floor(when.atEpochMs / dayMs)
  const of = `the treasury gives less on ${dateOf(day)}`
  if (day > today) return `${of}, for which its latest withdrawals count: the signer's clock was ahead`
  return day < today
    ? `${of}, and the transaction's time is over for more than a week: the signer's clock is ahead, or the ledger records nothing`
    : of
}

const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)
