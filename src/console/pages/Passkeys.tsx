/** The account's passkeys: adding and removing them. Both require an existing passkey. */
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Confirm } from "../parts/Confirm.js"
import { Moment } from "../parts/Moment.js"
import { Read, Section } from "../parts/Section.js"
import { type Column, Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import { Trouble } from "../parts/Trouble.js"
import type { Passkey } from "../state/Contract.js"
import type { Passkeys } from "../state/Passkeys.js"
import { longestLabel } from "../state/SignIn.js"
import type { Store } from "../state/Store.js"
import { short } from "../state/Words.js"

const nameOf = ({ credentialId, displayName }: Passkey): string => displayName === "" ? `Passkey ${short(credentialId)}` : displayName

const columns = (isOnly: boolean, isBusy: boolean, ask: (passkey: Passkey) => void): ReadonlyArray<Column<Passkey>> => [
  { title: "Passkey", isName: true, cell: nameOf },
  { title: "Added", cell: ({ createdAtEpochMs }) => <Moment atEpochMs={createdAtEpochMs} /> },
  { title: "Last used", cell: ({ lastUsedAtEpochMs }) => <Moment atEpochMs={lastUsedAtEpochMs} /> },
  { title: "Approves withdrawals from", cell: ({ approvesFromEpochMs }) => <Moment atEpochMs={approvesFromEpochMs} /> },
  {
    title: "Remove",
    isAction: true,
    cell: (passkey) =>
      isOnly
        ? <span class="soft">the only one</span>
        : (
          <button
            type="button"
            class="small"
            aria-label={`Remove ${nameOf(passkey)}`}
            disabled={isBusy}
            onClick={() => ask(passkey)}
          >
            Remove
          </button>
        )
  }
]

const Add = ({ passkeys }: { readonly passkeys: Passkeys }) => {
  const displayName = useSignal("")
  const done = useSignal(false)
  const isBusy = passkeys.adding.isBusy.value
  const add = async (event: Event): Promise<void> => {
    event.preventDefault()
    done.value = false
    if (!await passkeys.add(displayName.value)) return
    displayName.value = ""
    done.value = true
  }
  return (
    <Section title="Add a passkey">
      <p>
        You are asked for a passkey that you have, then for the new one. A new passkey approves no withdrawal in its first 24 hours.
      </p>
      <form onSubmit={(event) => void add(event)}>
        <label for="new-passkey-name">
          Name of the new passkey <span class="soft">(optional)</span>
        </label>
        <div class="row">
          <input
            id="new-passkey-name"
            type="text"
            maxLength={longestLabel}
            autoComplete="off"
            placeholder="My phone"
            value={displayName.value}
            onInput={(event) => displayName.value = event.currentTarget.value}
          />
          <button type="submit" class="primary" disabled={isBusy}>{isBusy ? "Waiting…" : "Add a passkey"}</button>
        </div>
      </form>
      <p role="status" class={done.value ? "notice" : "unseen"}>{done.value ? "The passkey is added." : ""}</p>
      <Trouble failure={passkeys.adding.failure.value} />
    </Section>
  )
}

export const PasskeysPage = ({ store: { passkeys }, title }: { readonly store: Store; readonly title: string }) => {
  const asked = useSignal<Passkey | undefined>(undefined)
  const chosen = asked.value
  useEffect(() => void passkeys.list.load(), [])
  return (
    <>
      <Title title={title} />
      <p>Each of these signs you in. Keep at least two, on different devices: whoever loses all of them cannot get in again.</p>
      <Read of={passkeys.list}>
        {({ passkeys: all }) => (
          <Table
            label="Passkeys"
            columns={columns(all.length < 2, passkeys.removing.isBusy.value, (passkey) => asked.value = passkey)}
            rows={all}
            keyOf={({ credentialId }) => credentialId}
            empty="No passkey."
          />
        )}
      </Read>
      <Add passkeys={passkeys} />
      {chosen !== undefined && (
        <Confirm
          title="Remove this passkey?"
          action="Remove it"
          task={passkeys.removing}
          onConfirm={() => passkeys.remove(chosen.credentialId)}
          onClose={() => asked.value = undefined}
        >
          <p>
            <strong>{nameOf(chosen)}</strong>{" "}
            will no longer sign you in. You are asked for a passkey once more. The device may go on offering it until you delete it there,
            too.
          </p>
        </Confirm>
      )}
    </>
  )
}
