/**
 * What to do about each code and each guard, and about each reason of the venue's for which a transfer fails. Codes, guards, the signer's
 * reasons and those for which a payment is withheld are complete by their types, since one without advice does not compile. Reasons that
 * have no type are named below, where a new one has to be added by hand.
 */
import type { Reads } from "../../../engine/Reads.js"
import type { RefusalReason } from "../../../signer/PartySigner.js"
import type * as Envelopes from "../../http/Envelopes.js"

type Code = (typeof Envelopes.codes)[Envelopes.Status][number]
type Guard = typeof Envelopes.Guard.Type

/** What to do about a code, whatever its guard. */
export const ofCode: Readonly<Record<Code, string>> = {
  invalid_request: "Correct what `safeMessage` names, and send it anew. Nothing was done by this request, and it did not use the key up, "
    + "unless an order's expiry had passed.",
  operation_not_available: "Do without it: this venue does not do this in its configuration.",
  authorization_pending: "Wait `pollIntervalSeconds` and exchange again, until the owner has decided.",
  slow_down: "Wait longer than `pollIntervalSeconds` and exchange again.",
  access_denied: "Stop: the owner said no. Ask anew only when the owner wants it.",
  grant_expired: "Begin anew with `POST /v1/agent-connect`: the owner did not decide in time, or the code was used.",
  unauthorized:
    "Send `Authorization: Bearer` with a key that may act; `apiKeyRejection` says what is wrong with this one. Of an owner: sign in again.",
  passkey_assertion_invalid: "Ask for a new challenge and answer that one: each is good once and for five minutes.",
  realtime_ticket_rejected: "Mint a new ticket with the key. After `rotated` or `revoked` find out who else presents your tickets.",
  scope_missing: "Use a key with the scope: `trade` places and cancels, `read` reads. On the stream, without `apiKeyRejection`, mint "
    + "another ticket with `read` and, for orders, `trade`: the key has them.",
  account_not_enabled: "Fund the account: it trades once it has been credited. A disabled one still reduces and cancels; ask the operator.",
  passkey_required: "Have the owner do it with a passkey: no key may.",
  not_found: "Read anew: it has ended, is forgotten, or is not this account's. A cancel that meets this has nothing left to cancel.",
  market_not_found: "Take the name from `GET /v1/markets`, or from `GET /v2/markets` for `/v2`.",
  account_not_found: "Use the account that the credential is of.",
  route_not_found: "Look the path up here; `safeMessage` names the route that is nearly it.",
  method_not_allowed: "Use one of the methods of the `allow` header.",
  idempotency_key_conflict:
    "The key was used with another body. Send the first body to hear its answer again, or a new key for a new request.",
  client_order_id_in_use: "The name is an order's already. Look that order up; take a new name for a new order.",
  index_stream_conflict: "Open a session anew, or go on with the batch that `nearest` says.",
  last_passkey: "Add another passkey first.",
  deposit_step_conflict: "Read the transfer anew and `initiate` what is due now.",
  payload_too_large: "Send less: at most 64 KiB. Split a batch.",
  unsupported_media_type: "Send `Content-Type: application/json`, in UTF-8.",
  order_rejected: "Decided, and remembered under its key: change what the guard says, and send it under a new `Idempotency-Key`.",
  deposit_rejected: "Change what the guard says, and ask anew.",
  withdrawal_rejected: "Change what the guard says, and ask anew.",
  rate_limited: "Wait the seconds of `Retry-After`, then repeat the same request with the same `Idempotency-Key` and `clientOrderId`.",
  internal_error:
    "A defect of the venue. Repeat the request with the same `Idempotency-Key`: it is carried out at most once. Tell the `requestId`.",
  not_supported: "Leave the member out: nothing was done.",
  engine_halted: "Wait until the halt ends, then repeat the same request with the same key. Reads go on.",
  overloaded: "Nothing was done by this request: wait a second and repeat the same request with the same key.",
  starting: "The venue is replaying its journal: repeat the same request in a few seconds.",
  dependency_unavailable: "Wait and repeat the same request with the same key; `dependency` says what is missing.",
  snapshot_unavailable: "It is being made: repeat the same request in a few seconds."
}

/** What to do about a guard. */
export const ofGuard: Readonly<Record<Guard, string>> = {
  margin_insufficient:
    "Order `nearest` or less, lower the leverage of other positions, cancel other orders, or deposit. `limit` is what would have "
    + "backed the order, `actual` the initial margin that it would have needed; a `limit` below zero means "
    + "that losses at once are larger than what is held.",
  price_out_of_bounds: "Take a price between the market's bounds and on its grid: `nearest` is one; `limit` is the bound, or the step.",
  quantity_out_of_bounds:
    "Take a quantity between the market's bounds and on its grid: `nearest` is one; `limit` is the bound, or the step.",
  price_band_exceeded: "Take a price inside the band around the mark: `nearest` is its edge.",
  post_only_would_cross: "Take `nearest`, at which it rests, or leave `postOnly` out.",
  reduce_only_would_increase:
    "Order `nearest` at most: `limit` is what the position leaves to close; what rests counts beside `gtc`, not beside `ioc`.",
  open_order_limit: "Cancel some of the account's orders in this market first.",
  position_limit: "Order `nearest` at most: positions and open orders of a side may come to `limit`.",
  market_not_accepting: "Wait: `actual` is the market's status, or `reduce_only` while an open market's index is stale. "
    + "One that is `halted` may have halted itself, for want of anybody to close a liquidated position against: a step `exhausted` in "
    + "`GET /v1/markets/{marketId}/liquidations` tells. "
    + "Between sessions `limit` is when the market opens, and `actual` the time of the decision (epoch ms). Cancels work.",
  session_cutoff: "Only reduce until the session has ended.",
  no_liquidity: "Nobody is on the other side at this price; place a limit order, or take `nearest` as the worst price.",
  leverage_out_of_bounds: "Set 1 to `limit`.",
  trigger_invalid: "Put the trigger beyond the price that it is compared with: `limit` is that price, `nearest` the next that passes.",
  fenced: "The identity is fenced, and nothing is done under it until the fence ends: use a new one.",
  already_seen: "The identity has acted: look its outcome up.",
  expiry_passed: "Set `expiresAtEpochMs` ahead of now under a new key, and look at your clock: `limit` is the venue's time.",
  market_assets_invalid: "Operators: name a market `BASE-USDC-PERP`, of another base than USDC: in USDC it is quoted and settled.",
  market_scales_fixed: "Operators: keep `priceScale` and `quantityScale`; another market can have others.",
  price_bounds_fixed: "Operators: keep the present bounds, or take `nearest`; nobody's orders or positions are in the way of tighter ones "
    + "once there are none. Wider ones are set at once, not announced.",
  quantity_bounds_fixed: "Operators: announce the rest, and tighten the bounds at once when every position can be closed within them.",
  position_stranded: "Operators: choose bounds with which every position can be closed; `nearest` is one.",
  market_delisted: "The market is gone for good: trade another.",
  index_out_of_order: "Feeds: send samples in the order in which they were seen.",
  index_held: "Feeds: go on; a step waits until two later samples agree with it.",
  notice_required: "Operators: announce for `nearest` or later.",
  fees_insufficient: "Operators: move `nearest` at most.",
  account_share:
    "The account has its part of the venue's tables. Room returns as what it holds expires: keys and orders a retention after their end "
    + "(`GET /v1/limits`), tickets by themselves. `Retry-After` is only when to try next. Cancels of its open orders work: a cancel of all "
    + "orders that is refused so had none to cancel. On the stream it is the account's part of the connections, of which a quarter "
    + "is for keys that may trade: end one of the account's connections.",
  connection_ended: "Connect again, ask for `cancelOnDisconnect` there, and repeat the same request.",
  mark_behind:
    "Wait a second and repeat the same request with the same key: the index has moved, or a large step of it waits until other samples "
    + "confirm it (`held` in the market's stats), and nothing is traded or withdrawn at the mark of before. Cancels go on. "
    + "A batch waits for each of its markets; `safeMessage` names those that it waits for: send the others' orders apart. "
    + "If it lasts, the venue's clock is behind its records: ask the operator.",
  connection_limit: "End one of the account's connections that cancel their orders, or connect without.",
  passkey_registration_invalid: "Ask for options anew, and send what the browser makes of those.",
  passkey_known: "This passkey is registered already: sign in with it.",
  passkey_limit: "Remove a passkey first.",
  key_limit: "Revoke a key first: without that it lasts until one expires, which may be days away.",
  account_openings:
    "Wait as long as Retry-After says, then send the same again, or begin the registration anew once its challenge has expired.",
  user_codes_locked: "Wait a minute: too many wrong codes.",
  grant_fetched: "Revoke the key that is named: the agent has it.",
  sequence_ahead: "Take a sequence that the venue told you: `limit` is its last. Where it did tell you this one, read the account anew.",
  sequence_not_retained:
    "Read the account's orders, fills, positions, balance and deposits anew, then go on from `nearest`: what the reads show already "
    + "may come once more. `limit` is the oldest sequence from which changes are told.",
  waits_per_account: "End one of the requests of the account that wait, or ask without `waitMs`. One place is for who may trade.",
  ticket_families: "End tickets that nobody uses, or rotate one that you have: a ticket that is left alone ends after five minutes.",
  workload_token_rejected: "Operators: `safeMessage` says what is wrong with the token.",
  amount_atoms_invalid: "Send `amountAtoms` as a whole number above 0 and up to 9007199254740991, in 10^-6 USDC.",
  asset_unsupported: "Only `USDC` is taken.",
  amount_below_minimum: "Take `nearest`, the least amount.",
  amount_above_limit: "Take less: an account has an upper bound.",
  deposit_in_progress: "Finish or give up the deposit that is under way.",
  withdrawable_insufficient: "Take `nearest` at most: the rest backs positions and orders.",
  withdrawals_stopped: "Wait: the operator has stopped withdrawals.",
  receiver_is_treasury: "Name the party that is to receive: the venue's own treasury is none.",
  withdrawal_limit: "Finish or give up one of the withdrawals that are under way.",
  transfer_in_progress: "Finish or give up the transfers that are under way.",
  party_missing: "Bind a ledger party first.",
  passkey_too_new: "Use an older passkey: a new one approves nothing for a day.",
  passkey_not_pinned: "Have an older passkey approve this one first.",
  treasury_busy: "Repeat the same request in a moment: other withdrawals are under way.",
  too_many_pieces: "Give it up, and ask for `limit` at most: the rest in a transfer of its own.",
  ledger_declines: "Do what `safeMessage` says: see that your party holds enough, name another receiver, or `initiate` again later.",
  shortfall_not_accepted: "Operators: explain what the treasury lacks, then let withdrawals go on with `accept` of `nearest`.",
  stopped_meanwhile: "Operators: somebody has stopped withdrawals again; find out why before you let them go on.",
  fact_known: "Nothing to do: the ledger's fact was known.",
  fact_conflict: "Operators: the ledger said two things of one step; look at the alarms.",
  fact_out_of_bounds: "Operators: the ledger said what cannot be; look at the alarms."
}

/**
 * Reasons of the venue and its signer why a transfer fails: other guards of a `ledgerOutcome` are the ledger's own codes. Those in quotes
 * stand as plain text where a transfer is ended.
 */
type Outcome =
  | RefusalReason
  | NonNullable<ReturnType<Reads["withheldFor"]>>
  | "given_up"
  | "not_approved"
  | "accepted_before_request"
  | "receiver_is_treasury"

const askedAnew = "Ask for it anew, and approve that"
const operators = "Ask the operator, with the transfer's id"

/** What became of a transfer that failed for a reason of the venue's, and what to do about it. */
export const ofOutcome: Readonly<Record<Outcome, string>> = {
  given_up: "Its owner gave it up.",
  not_approved: `Nobody approved it within a day. ${askedAnew} in time.`,
  policy_per_withdrawal: "It is more than the venue's treasury pays in one withdrawal. Ask for parts of it.",
  policy_daily:
    "It is more than is left of what the venue's treasury pays in one day (UTC), to everybody together. Ask for less, or for the "
    + "same on the next day.",
  account_disabled: "The operator disabled the account after it was approved. Ask the operator.",
  passkey_removed: "The passkey that approved it was removed before it was sent. Ask for it anew, and approve that with another one.",
  receiver_is_treasury: "The receiver is the venue's own treasury. Name a party of your own.",
  passkey_not_pinned: "The signer does not know the passkey yet that approved it. Have an older one approve it first, with "
    + "`POST /v1/accounts/{accountId}/ledger-party/passkeys`.",
  assertion_invalid: `The signer does not take the passkey's answer. ${askedAnew}; if that fails as well, ask the operator.`,
  challenge_mismatch: `The passkey's answer approves something else. ${askedAnew}; if that fails as well, ask the operator.`,
  replayed: `The signer knows the passkey's answer from before, or a later one. ${askedAnew}.`,
  prepared_mismatch: `What the ledger prepared is not what was asked for. ${operators}.`,
  accepted_before_request: `The ledger has carried out the same command before it was asked for. ${operators}.`,
  unknown_key: `The signer does not have the account's key. ${operators}.`,
  topology_mismatch: `The signer holds another party for this key. ${operators}.`,
  pins_bound: `The signer holds as many keys or passkeys of the account as it may. ${operators}.`,
  malformed: `The signer does not understand the request. ${operators}.`
}
