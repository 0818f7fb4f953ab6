/** The latest payments of funding of the venue, as they are told to the accounts whose they are. */
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

export const make = (): FundingPayments => new RowLog(names, paymentsKept)
