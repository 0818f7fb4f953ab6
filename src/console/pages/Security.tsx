/** The account's security events: sign-ins, passkeys and keys. */
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Confirm } from "../parts/Confirm.js"
import { Moment } from "../parts/Moment.js"
import { Read } from "../parts/Section.js"
import { type Column, Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import { Trouble } from "../parts/Trouble.js"
import type { Activity } from "../state/Activity.js"
import type { SecurityEvent } from "../state/Contract.js"
import type { Store } from "../state/Store.js"
import { short } from "../state/Words.js"

const kinds: Readonly<Record<SecurityEvent["kind"], string>> = {
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

const None = () => <span class="soft">–</span>

const columns: ReadonlyArray<Column<SecurityEvent>> = [
  { title: "What", isName: true, cell: ({ kind }) => kinds[kind] },
  { title: "When", cell: ({ occurredAtEpochMs }) => <Moment atEpochMs={occurredAtEpochMs} /> },
  { title: "Key or passkey", cell: ({ credentialId }) => credentialId === null ? <None /> : <code>{short(credentialId)}</code> },
  { title: "From", cell: ({ remoteAddress }) => remoteAddress === null ? <None /> : <code>{remoteAddress}</code> },
  { title: "Details", cell: ({ detail }) => detail === null ? <None /> : <bdi>{detail}</bdi> }
]

/** Signs out all other sessions of the account. */
const Elsewhere = ({ activity }: { readonly activity: Activity }) => {
  const isAsked = useSignal(false)
  const close = (): void => {
    isAsked.value = false
    activity.ending.clear()
  }
  const end = async (): Promise<void> => {
    if (await activity.signOutElsewhere()) close()
  }
  return (
    <>
      <p>
        <button type="button" onClick={() => isAsked.value = true}>Sign out everywhere else</button>
      </p>
      {isAsked.value && (
        <Confirm
          title="Sign out everywhere else?"
          action="Sign out there"
          task={activity.ending}
          onConfirm={() => void end()}
          onClose={close}
        >
          <p>
            You stay signed in here. Wherever else you are signed in, a passkey is asked for again. API keys go on, and so does what they
            stream: revoke a key to end that.
          </p>
        </Confirm>
      )}
    </>
  )
}

export const SecurityPage = ({ store: { activity }, title }: { readonly store: Store; readonly title: string }) => {
  useEffect(() => void activity.list.load(), [])
  return (
    <>
      <Title title={title} />
      <p>
        Everything that changed who can get at your account, newest first. If you do not recognise something, revoke the key, remove the
        passkey, and tell the venue’s operator.
      </p>
      <Elsewhere activity={activity} />
      <Read of={activity.list}>
        {({ events, nextCursor }) => (
          <>
            <Table
              label="Security events"
              columns={columns}
              rows={events}
              keyOf={({ kind, sequence }) => `${sequence} ${kind}`}
              empty="Nothing yet."
            />
            <Trouble failure={activity.older.failure.value} again={() => void activity.more()} />
            {nextCursor !== null && (
              <button type="button" disabled={activity.older.isBusy.value} onClick={() => void activity.more()}>Show older ones</button>
            )}
          </>
        )}
      </Read>
    </>
  )
}
