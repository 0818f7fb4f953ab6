/** The account's API keys: their scopes and expiry, and revoking them. */
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Confirm } from "../parts/Confirm.js"
import { Moment } from "../parts/Moment.js"
import { Read } from "../parts/Section.js"
import { type Column, Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import type { ApiKey } from "../state/Contract.js"
import * as Places from "../state/Places.js"
import type { Store } from "../state/Store.js"
import { scopeList, words } from "../state/Words.js"

const held = ({ clientName, principalKind }: ApiKey) =>
  clientName === undefined ? <span class="soft">{principalKind === "bot" ? "the venue’s bot" : "a program"}</span> : (
    <q>
      <bdi>{clientName}</bdi>
    </q>
  )

const columns = (isBusy: boolean, ask: (key: ApiKey) => void): ReadonlyArray<Column<ApiKey>> => [
  { title: "Key", isName: true, cell: ({ displayPrefix }) => <code>{displayPrefix}…</code> },
  { title: "State", cell: ({ state }) => <span class={`state ${state}`}>{words(state)}</span> },
  { title: "May", cell: ({ scopes }) => scopeList(scopes) },
  { title: "Held by", cell: held },
  { title: "Created", cell: ({ createdAtEpochMs }) => <Moment atEpochMs={createdAtEpochMs} /> },
  { title: "Last used", cell: ({ lastUsedAtEpochMs }) => <Moment atEpochMs={lastUsedAtEpochMs} /> },
  {
    title: "Ends",
    cell: ({ expiresAtEpochMs, revokedAtEpochMs }) => <Moment atEpochMs={revokedAtEpochMs ?? expiresAtEpochMs} />
  },
  {
    title: "Revoke",
    isAction: true,
    cell: (key) =>
      key.state === "active"
        ? (
          <button
            type="button"
            class="small"
            aria-label={`Revoke ${key.displayPrefix}`}
            disabled={isBusy}
            onClick={() => ask(key)}
          >
            Revoke
          </button>
        )
        : null
  }
]

export const ApiKeysPage = ({ store: { apiKeys }, title }: { readonly store: Store; readonly title: string }) => {
  const asked = useSignal<ApiKey | undefined>(undefined)
  const key = asked.value
  useEffect(() => void apiKeys.list.load(), [])
  return (
    <>
      <div class="head">
        <Title title={title} />
        <a class="button" href={Places.link("connect")}>Connect an agent</a>
      </div>
      <p>
        A key lets a program read your account, and trade with it where you allowed that. No key can deposit, withdraw, or approve another
        key. The venue shows a key once, to the program that asked for it, and never again. If that answer is lost, nobody holds the key:
        revoke it, and the program asks for another one.
      </p>
      <Read of={apiKeys.list}>
        {({ keys }) => (
          <Table
            label="API keys"
            columns={columns(apiKeys.revoking.isBusy.value, (chosen) => asked.value = chosen)}
            rows={keys}
            keyOf={({ keyId }) => keyId}
            empty="No key yet. A program gets one by asking you for it: connect an agent."
          />
        )}
      </Read>
      {key !== undefined && (
        <Confirm
          title="Revoke this key?"
          action="Revoke it"
          task={apiKeys.revoking}
          onConfirm={() => apiKeys.revoke(key.keyId)}
          onClose={() => asked.value = undefined}
        >
          <p>
            <code>{key.displayPrefix}…</code> stops working at once and for good. Orders that were placed with it stay open.
          </p>
        </Confirm>
      )}
    </>
  )
}
