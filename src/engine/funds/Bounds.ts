/** How much is kept of deposits, withdrawals and ledger parties, and what they are held to. */
import { boundOf } from "../Share.js"

export interface FundsBounds {
  /** Most transfers of the venue that are not over; an eighth of them is kept for withdrawals. */
  readonly open: number
  /** Most withdrawals of an account that are not over. */
  readonly withdrawalsOfAccount: number
  /** Most characters of prepared transactions that are kept in all, of steps that are not over; an eighth of it is kept for withdrawals. */
  readonly preparedLength: number
  /** Transfers that are over and can be read, the latest of each account, and of all. */
  readonly endedOfAccount: number
  readonly endedInAll: number
  /** Most submissions that are kept of a step, each with its answer. */
  readonly submissions: number
  /** Most transfers that one record ends because nobody has approved them. */
  readonly expiredAtOnce: number
}

/** A venue's own. */
export const bounds: FundsBounds = {
  open: 65_536,
  withdrawalsOfAccount: 8,
  preparedLength: 64 * 1024 * 1024,
  endedOfAccount: 1_000,
  endedInAll: 1_000_000,
  submissions: 64,
  expiredAtOnce: 64
}

/** How much of a bound may be taken: an eighth is kept for what pays somebody out, since a deposit that nobody pays costs nothing. */
export const roomOf = (bound: number, paysOut: boolean): number => paysOut ? bound : boundOf(bound, "placement")

/** The least deposit and the least withdrawal, money atoms. */
export const minDepositAtoms = 1_000_000
export const minWithdrawalAtoms = 1_000_000

/** How long a step may wait for its approval. */
export const approvalMs = 24 * 60 * 60 * 1000

/** Most characters of a prepared transaction, which is 32 KiB in base64, of a part of an assertion, and of any other text. */
export const mostPreparedLength = 43_692
export const mostAssertionLength = 4_096
export const mostTextLength = 512
