/**
 * Every route of the capability: journaled, idempotent by `Idempotency-Key` (batches of the index stream by their number), hidden
 * without an operator token.
 */
import { addToFund } from "./addToFund.js"
import { allowWithdrawals } from "./allowWithdrawals.js"
import { cancelByOperator } from "./cancelByOperator.js"
import { creditAccount } from "./creditAccount.js"
import { delistMarket, getDelisting, withdrawDelisting } from "./delistMarket.js"
import { fundLedgerParty } from "./fundLedgerParty.js"
import { getAnnounced } from "./getAnnounced.js"
import { haltEngine, resumeEngine } from "./haltEngine.js"
import { getIndexStream, openIndexStream, streamIndexPrices } from "./IndexStreaming.js"
import { issueBotKey } from "./issueBotKey.js"
import { openDemoAccounts } from "./openDemoAccounts.js"
import { reconcile, stopWithdrawals } from "./reconcile.js"
import { revokeKeyByOperator } from "./revokeKeyByOperator.js"
import { listOperatorMarkets } from "./listOperatorMarkets.js"
import { previewMarket } from "./previewMarket.js"
import { putMarket } from "./putMarket.js"
import { setAccountFlags } from "./setAccountFlags.js"
import { setIndexPrice } from "./setIndexPrice.js"
import { setLimits } from "./setLimits.js"
import { setMarketStatus } from "./setMarketStatus.js"

/** The routes, in the order in which the reference lists them. */
export const routes = [
  listOperatorMarkets,
  putMarket,
  previewMarket,
  getAnnounced,
  setMarketStatus,
  delistMarket,
  getDelisting,
  withdrawDelisting,
  setIndexPrice,
  openIndexStream,
  getIndexStream,
  streamIndexPrices,
  cancelByOperator,
  addToFund,
  haltEngine,
  resumeEngine,
  setLimits,
  reconcile,
  stopWithdrawals,
  allowWithdrawals,
  issueBotKey,
  revokeKeyByOperator,
  setAccountFlags,
  openDemoAccounts,
  creditAccount,
  fundLedgerParty
] as const
