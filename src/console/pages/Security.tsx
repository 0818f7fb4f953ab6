/** What happened to the account's sign-ins, passkeys and keys. */
import { useEffect } from "preact/hooks"
import { Moment } from "../parts/Moment.js"
import { Read } from "../parts/Section.js"
import { type Column, Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import { Trouble } from "../parts/Trouble.js"
import type { SecurityEvent } from "../state/Contract.js"
import type { Store } from "../state/Store.js"
import { short, words } from "../state/Words.js"

const subject = ({ credentialId, keyId }: SecurityEvent): string | undefined => {
  if (keyId !== null) return `Key ${short(keyId)}`
  return credentialId === null ? undefined : `Passkey ${short(credentialId)}`
}

const None = () => <span class="soft">–</span>

const columns: ReadonlyArray<Column<SecurityEvent>> = [
  { title: "What", isName: true, cell: ({ kind }) => words(kind) },
  { title: "When", cell: ({ occurredAtEpochMs }) => <Moment atEpochMs={occurredAtEpochMs} /> },
  { title: "Of", cell: (event) => subject(event) ?? <None /> },
  { title: "From", cell: ({ remoteAddress }) => remoteAddress === null ? <None /> : <code>{remoteAddress}</code> },
  { title: "Details", cell: ({ detail }) => detail ?? <None /> }
]

export const SecurityPage = ({ store: { activity }, title }: { readonly store: Store; readonly title: string }) => {
  useEffect(() => void activity.list.load(), [])
  return (
    <>
      <Title title={title} />
      <p>
        Everything that changed who can get at your account, newest first. If you do not recognise something, revoke the key, remove the
        passkey, and tell the venue’s operator.
      </p>
      <Read of={activity.list}>
        {({ events, nextCursor }) => (
          <>
            <Table label="Security events" columns={columns} rows={events} keyOf={({ sequence }) => sequence} empty="Nothing yet." />
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
