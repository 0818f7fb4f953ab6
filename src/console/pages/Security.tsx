/** The account's security events: sign-ins, passkeys and keys. */
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Confirm } from "../parts/Confirm.js"
import { kinds } from "../parts/EventKinds.js"
import { Moment } from "../parts/Moment.js"
import { Paged } from "../parts/Paged.js"
import { type Column, Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import type { Activity } from "../state/Activity.js"
import type { SecurityEvent } from "../state/Contract.js"
import type { Store } from "../state/Store.js"
import { short } from "../state/Words.js"

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
  return (
    <>
      <p>
        <button type="button" disabled={activity.ending.isBusy.value} onClick={() => isAsked.value = true}>
          Sign out everywhere else
        </button>
      </p>
      {isAsked.value && (
        <Confirm
          title="Sign out everywhere else?"
          action="Sign out there"
          task={activity.ending}
          onConfirm={() => activity.signOutElsewhere()}
          onClose={() => isAsked.value = false}
        >
          <p>
            You stay signed in here. Wherever else you are signed in, a passkey is asked for again. API keys and their streams go on: revoke
            a key to end that.
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
        Everything that changed who can get at your account. If you do not recognise something, revoke the key, remove the passkey, and tell
        the operator.
      </p>
      <Elsewhere activity={activity} />
      <Paged of={activity}>
        {({ rows }) => (
          <Table
            label="Security events"
            columns={columns}
            rows={rows}
            keyOf={({ kind, sequence }) => `${sequence} ${kind}`}
            empty="Nothing yet."
          />
        )}
      </Paged>
    </>
  )
}
