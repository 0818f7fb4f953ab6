/** The latest funding payments of the venue, as reported to their accounts. */
import type { Place } from "./BalanceLog.js"
import { RowLog } from "./RowLog.js"

/** One position's payment for one interval. Money in money atoms, prices in price atoms, sizes in size atoms. */
export interface FundingPayment {
  readonly sequence: number
  readonly atEpochMs: number
  readonly account: number
  readonly market: number
  /** The end of the interval that it was paid for. */
  readonly endedAtEpochMs: number
  /** The position at the end of the interval, long positive. */
  readonly quantityAtoms: number
  readonly indexPriceAtoms: number
  readonly rate8hE9: number
  readonly intervalMs: number
  /** The amount paid; negative where it was received. */
  readonly paidAtoms: number
}

const names = [
  "sequence",
  "atEpochMs",
  "account",
  "market",
  "endedAtEpochMs",
  "quantityAtoms",
  "indexPriceAtoms",
  "rate8hE9",
  "intervalMs",
  "paidAtoms"
] as const satisfies ReadonlyArray<keyof FundingPayment>

/** Payments kept of all accounts together. */
const paymentsKept = 32_768

export type FundingPayments = RowLog<keyof FundingPayment>

export const make = (kept: number = paymentsKept): FundingPayments => new RowLog(names, kept)

/** A payment with its place among those of its account. */
export type PlacedPayment = FundingPayment & Place

/**
 * Retained payments of an account since a time, newest first, at most `limit`, before the place `before` (undefined: from the
 * newest).
 */
export const paymentsOf = (
  log: FundingPayments,
  account: number,
  sinceEpochMs: number,
  limit: number,
  before: Place | undefined
): ReadonlyArray<PlacedPayment> => {
  const found: Array<PlacedPayment> = []
  const [accountOf, sequenceOf, timeOf] = [log.column("account"), log.column("sequence"), log.column("atEpochMs")]
  let [last, place] = [0, 0]
  for (let newer = 0; newer < log.length && found.length < limit; newer++) {
    if (timeOf(newer) < sinceEpochMs) break
    if (accountOf(newer) !== account) continue
    const sequence = sequenceOf(newer)
    place = sequence === last ? place + 1 : 0
    last = sequence
    const isBehind = before === undefined || sequence < before.sequence || (sequence === before.sequence && place > before.place)
    if (isBehind) found.push({ ...log.at(newer)!, place })
  }
  return found
}

/** The oldest retained payment; undefined while none has been forgotten. */
export const oldestKept = (log: FundingPayments): FundingPayment | undefined => log.count > log.length ? log.at(log.length - 1) : undefined
