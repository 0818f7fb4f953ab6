/** Every route about money on the ledger. */
import { cancelDeposit, confirmDeposit, createDeposit, getDeposit, listDeposits } from "./deposits.js"
import { cancelLedgerPartyChange, changeLedgerParty, confirmLedgerPartyChange, getLedgerParty } from "./ledgerParty.js"
import { pinPasskeys } from "./pins.js"
import { getSolvency, getSolvencyProof } from "./solvency.js"
import { cancelWithdrawal, confirmWithdrawal, createWithdrawal, getWithdrawal, listWithdrawals } from "./withdrawals.js"

/** The routes, in the order in which the reference lists them. */
export const routes = [
  createDeposit,
  listDeposits,
  getDeposit,
  cancelDeposit,
  confirmDeposit,
  createWithdrawal,
  listWithdrawals,
  getWithdrawal,
  cancelWithdrawal,
  confirmWithdrawal,
  getLedgerParty,
  changeLedgerParty,
  cancelLedgerPartyChange,
  confirmLedgerPartyChange,
  pinPasskeys,
  getSolvency,
  getSolvencyProof
] as const
