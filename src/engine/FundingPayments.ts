/** The latest payments of funding of the venue, as they are told to the accounts whose they are. */
import type { Place } from "./BalanceLog.js"
import { RowLog } from "./RowLog.js"

/** One position's payment for one interval. Money in money atoms, prices in price atoms, sizes in size atoms. */
export interface FundingPayment {
  readonly sequence: number
  readonly atEpochMs: number
  readonly account: number
  readonly market: number
  /** When the interval ended that it is for. */
  readonly endedAtEpochMs: number
  /** What was held at the interval's end, long positive. */
  readonly quantityAtoms: number
  readonly indexPriceAtoms: number
  readonly rate8hE9: number
  readonly intervalMs: number
  /** What was paid; negative: received. */
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

/** Payments that are kept, of all accounts together. */
const paymentsKept = 32_768

export type FundingPayments = RowLog<keyof FundingPayment>

export const make = (kept: number = paymentsKept): FundingPayments => new RowLog(names, kept)

/** A payment and where it stands among those of its account. */
export type PlacedPayment = FundingPayment & Place

/** Kept payments of an account since a time, newest first, at most `limit`, older than the place `before` (undefined: from the newest). */
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

/** The oldest kept payment, undefined while none is forgotten. */
export const oldestKept = (log: FundingPayments): FundingPayment | undefined => log.count > log.length ? log.at(log.length - 1) : undefined
