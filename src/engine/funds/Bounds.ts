/** Limits on deposits, withdrawals and ledger parties. */
import { boundOf } from "../Share.js"

export interface FundsBounds {
  /** Most transfers of the venue that are not finished; an eighth of them is reserved for withdrawals. */
  readonly open: number
  /** Most withdrawals of an account that are not finished. */
  readonly withdrawalsOfAccount: number
  /**
   * Most characters of prepared transactions kept in all, for steps that are not finished; an eighth is reserved for withdrawals.
   */
  readonly preparedLength: number
  /** Finished transfers that can be read: the latest of each account, and the latest in all. */
  readonly endedOfAccount: number
  readonly endedInAll: number
  /** Most submissions kept for a step, each with its answer. */
  readonly submissions: number
  /** Most transfers that one record ends because nobody approved them in time. */
  readonly expiredAtOnce: number
  /** Most collateral that an account may have after an amount was paid in, money atoms: as much as is counted exactly. */
  readonly collateralAtoms: number
}

/** The defaults of a venue. */
export const bounds: FundsBounds = {
  open: 65_536,
  withdrawalsOfAccount: 8,
  preparedLength: 64 * 1024 * 1024,
  endedOfAccount: 1_000,
  endedInAll: 1_000_000,
  submissions: 64,
  expiredAtOnce: 64,
  collateralAtoms: Number.MAX_SAFE_INTEGER
}

/**
 * How much of a limit may be used: an eighth is reserved for what pays somebody out, since asking for a deposit that is never paid
 * costs nothing.
 */
export const roomOf = (bound: number, paysOut: boolean): number => paysOut ? bound : boundOf(bound, "placement")

/** The smallest deposit and the smallest withdrawal, money atoms. */
export const minDepositAtoms = 1_000_000
export const minWithdrawalAtoms = 1_000_000

/** Most deposits of an account that are not finished. */
export const depositsOfAccount = 1

/** How long a step may wait for its approval, milliseconds. */
export const approvalMs = 24 * 60 * 60 * 1000

/** Most characters of a prepared transaction (32 KiB in base64), of each part of an assertion, and of any other text. */
export const mostPreparedLength = 43_692
export const mostAssertionLength = 4_096
export const mostTextLength = 512
