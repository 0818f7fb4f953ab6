/** The routes of an account, written from the contract, for scenarios in which somebody tries all of them. */
import { isObject, type Json } from "../reading/Bodies.js"
import type { Draft } from "../workload/Calls.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import type { Scenario } from "./Scenario.js"

/** Routes as the contract lists them; `{account}`, `{market}` and `{order}` are to be named. */
export type Routes = ReadonlyArray<readonly [endpoint: string, method: "GET" | "PUT" | "POST" | "DELETE", target: string]>

const own = "/v1/accounts/{account}"

/** What changes something of an account, cancels aside. */
export const placing: Routes = [
  ["placeOrder", "POST", "/v1/orders"],
  ["placeOrderBatch", "POST", "/v1/orders/batch"],
  ["amendOrder", "POST", "/v1/orders/{order}/amend"],
  ["createOrder", "POST", "/v2/order"],
  ["createOrders", "POST", "/v2/orders"],
  ["fenceOutcome", "POST", `${own}/outcomes/fence`],
  ["setAutoClose", "PUT", `${own}/positions/{market}/auto-close`],
  ["cancelAutoClose", "DELETE", `${own}/positions/{market}/auto-close`],
  ["cancelTriggers", "DELETE", `${own}/triggers`],
  ["setLeverage", "PUT", `${own}/markets/{market}/leverage`],
  ["setProfile", "PUT", `${own}/profile`],
  ["addFavorite", "PUT", `${own}/favorites/{market}`],
  ["removeFavorite", "DELETE", `${own}/favorites/{market}`],
  ["registerAffiliate", "POST", `${own}/affiliate/registration`]
]

/** What makes an account safer: let in beyond a key's limit. */
export const canceling: Routes = [
  ["cancelOrder", "POST", "/v1/orders/{order}/cancel"],
  ["cancelOrderBatch", "POST", "/v1/orders/batch/cancel"],
  ["cancelAllOrders", "POST", "/v1/orders/cancel-all"],
  ["cancelCompatOrder", "POST", "/v2/orders/{order}/cancel"],
  ["cancelAllCompatOrders", "POST", "/v2/orders/cancel-all"],
  ["setCancelAllAfter", "POST", `${own}/orders/cancel-all-after`]
]

export const trading: Routes = [...placing, ...canceling]

/** What shows something of an account to keys. */
export const reading: Routes = [
  ["getAffiliate", "GET", `${own}/affiliate/registration`],
  ["getBalance", "GET", `${own}/balance`],
  ["listChanges", "GET", `${own}/changes?fromSequence=1`],
  ["listDeposits", "GET", `${own}/deposits`],
  ["getDeposit", "GET", `${own}/deposits/dep_0`],
  ["listFills", "GET", `${own}/fills`],
  ["listFundingPayments", "GET", `${own}/funding-payments`],
  ["listLedger", "GET", `${own}/ledger`],
  ["listAccountLiquidations", "GET", `${own}/liquidations`],
  ["getLeverage", "GET", `${own}/markets/{market}/leverage`],
  ["previewMargin", "POST", `${own}/margin/preview`],
  ["listOrders", "GET", `${own}/orders`],
  ["getCancelAllAfter", "GET", `${own}/orders/cancel-all-after`],
  ["lookUpOutcome", "GET", `${own}/outcomes?idempotencyKey=never`],
  ["listPositions", "GET", `${own}/positions`],
  ["listPositionHistory", "GET", `${own}/positions/history`],
  ["getAutoClose", "GET", `${own}/positions/{market}/auto-close`],
  ["getProfile", "GET", `${own}/profile`],
  ["getSolvencyProof", "GET", `${own}/solvency-proof`],
  ["listTriggers", "GET", `${own}/triggers`],
  ["getOrder", "GET", "/v1/orders/{order}"],
  ["getCompatBalance", "GET", "/v2/balance"],
  ["listCompatOrders", "GET", "/v2/orders"],
  ["getCompatOrder", "GET", "/v2/orders/{order}"],
  ["listCompatPositions", "GET", "/v2/positions"],
  ["listCompatOwnTrades", "GET", "/v2/trades"],
  ["mintTicket", "POST", "/v1/realtime/ticket"]
]

/** What is the owner's alone. */
export const owning: Routes = [
  ["listApiKeys", "GET", `${own}/api-keys`],
  ["revokeApiKey", "DELETE", `${own}/api-keys/key_0`],
  ["listPasskeys", "GET", `${own}/passkeys`],
  ["removePasskey", "DELETE", `${own}/passkeys/none`],
  ["listSecurityEvents", "GET", `${own}/security-events`],
  ["showAgentConnect", "GET", `${own}/agent-connect/ZZZZ-9999`],
  ["approveAgentConnect", "POST", `${own}/agent-connect/approve`],
  ["denyAgentConnect", "POST", `${own}/agent-connect/deny`],
  ["getCurrentSession", "GET", "/v1/auth/sessions/current"],
  ["endCurrentSession", "DELETE", "/v1/auth/sessions/current"],
  ["endOtherSessions", "DELETE", "/v1/auth/sessions/others"],
  ["createDeposit", "POST", `${own}/deposits`],
  ["confirmDeposit", "POST", `${own}/deposits/confirm`],
  ["cancelDeposit", "DELETE", `${own}/deposits/dep_0`],
  ["listWithdrawals", "GET", `${own}/withdrawals`],
  ["getWithdrawal", "GET", `${own}/withdrawals/wdr_0`],
  ["createWithdrawal", "POST", `${own}/withdrawals`],
  ["confirmWithdrawal", "POST", `${own}/withdrawals/confirm`],
  ["cancelWithdrawal", "DELETE", `${own}/withdrawals/wdr_0`],
  ["getLedgerParty", "GET", `${own}/ledger-party`],
  ["changeLedgerParty", "PUT", `${own}/ledger-party`],
  ["confirmLedgerPartyChange", "POST", `${own}/ledger-party/confirm`],
  ["cancelLedgerPartyChange", "DELETE", `${own}/ledger-party`],
  ["pinPasskeys", "POST", `${own}/ledger-party/passkeys`]
]

/** The settings with which an account may register as an affiliate; nobody does so by itself. */
export const affiliates: NonNullable<Scenario["set"]> = {
  standings: { calls: 0, agentCalls: 0, meanPauseMs: 1, affiliates: true, workloads: false }
}

/** The settings of a venue with a platform whose workloads may have keys of bots. */
export const workloads: NonNullable<Scenario["set"]> = {
  standings: { calls: 0, agentCalls: 0, meanPauseMs: 1, affiliates: false, workloads: true }
}

/** What a route is tried with, under a name that it has in its path. */
interface Named {
  readonly account: string
  readonly market: string
}

/**
 * A try of a route, with a body that none takes, and of an order that nobody has: whoever may use the route does nothing by it.
 */
export const tried = (who: OwnerCalls.Bearer, [endpoint, method, target]: Routes[number], { account, market }: Named): Draft => {
  const place = target.replace("{account}", account).replace("{market}", market).replace("{order}", "ord_0")
  return { ...OwnerCalls.call(who, endpoint, method, place, method === "GET" ? undefined : []), idempotencyKey: `try-of-${endpoint}` }
}

/** What is told of a failure, whichever family its route is of. */
export const infoOf = (json: unknown): Json => {
  if (!isObject(json)) return {}
  return isObject(json["info"]) ? json["info"] : json
}
