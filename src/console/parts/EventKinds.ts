/** Security events in words. */
import type { SecurityEvent } from "../state/Contract.js"

/** What happened, by its kind. */
export const kinds: Readonly<Record<SecurityEvent["kind"], string>> = {
  account_opened: "Account opened",
  signed_in: "Signed in",
  sign_in_failed: "Sign-in failed",
  signed_out: "Signed out",
  session_ended: "Session ended",
  passkey_added: "Passkey added",
  passkey_removed: "Passkey removed",
  agent_approved: "Agent approved",
  agent_denied: "Agent denied",
  key_issued: "API key issued",
  key_revoked: "API key revoked",
  key_used_from_new_address: "API key used from a new address",
  ticket_family_ended: "Realtime tickets ended: one was presented twice",
  withdrawal_requested: "Withdrawal asked for",
  party_change_requested: "Change of ledger party asked for",
  ledger_step_approved: "Ledger transaction approved",
  approval_failed: "Approval failed",
  ledger_party_changed: "Ledger party changed",
  operator_set_flags: "Account’s flags changed by the operator",
  operator_credited: "Account credited by the operator",
  operator_canceled_orders: "Orders cancelled by the operator",
  operator_revoked_key: "API key revoked by the operator",
  user_codes_locked: "Too many wrong agents’ codes: locked for a minute",
  signed_out_elsewhere: "Signed out everywhere else"
}
