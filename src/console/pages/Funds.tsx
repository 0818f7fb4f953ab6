/** Deposits and withdrawals: the form for a new one, unfinished ones that await approval, and past ones. */
import { useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { Copied } from "../parts/Copied.js"
import { Moment } from "../parts/Moment.js"
import { Paged } from "../parts/Paged.js"
import { Progress } from "../parts/Progress.js"
import { Read, Section } from "../parts/Section.js"
import { type Column, Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import { Trouble } from "../parts/Trouble.js"
import { atomsOf, usdc } from "../state/Amount.js"
import type { Funds } from "../state/Funds.js"
import type { Store } from "../state/Store.js"
import { meaning, standing, type Transfer } from "../state/Transfer.js"
import type { Transfers } from "../state/Transfers.js"
import { money, short } from "../state/Words.js"

/** The refresh interval for unfinished transfers while the page is visible, in milliseconds. */
const intervalMs = 3_000

interface AmountProps {
  readonly id: string
  readonly value: { value: string }
  readonly isWrong: boolean
}

const Amount = ({ id, isWrong, value }: AmountProps) => (
  <>
    <label for={id}>Amount, USDC</label>
    <input
      id={id}
      type="text"
      inputMode="decimal"
      autoComplete="off"
      placeholder="100.00"
      aria-describedby={`${id}-hint`}
      aria-invalid={isWrong}
      value={value.value}
      onInput={(event) => value.value = event.currentTarget.value}
    />
    <p id={`${id}-hint`} class="fine" role={isWrong ? "alert" : undefined}>
      {isWrong
        ? "This is no amount: digits, with a point before at most six decimals, as 250.50."
        : "Digits, with a point before at most six decimals."}
    </p>
  </>
)

/** How the last transfer ended, shown once to a user who followed it. */
const Ended = ({ transfers }: { readonly transfers: Transfers }) => {
  const ended = transfers.ended.value
  const told = useRef<HTMLParagraphElement>(null)
  // The element that had the focus has disappeared with the steps.
  useEffect(() => {
    if (ended !== undefined && document.activeElement === document.body) told.current?.focus({ preventScroll: true })
  }, [ended])
  return (
    <p ref={told} tabIndex={-1} role="status" class={ended === undefined ? "unseen" : "notice"}>
      {ended === undefined ? "" : `${standing(ended)}. ${meaning(ended)}`}
    </p>
  )
}

const DepositForm = ({ funds, hasParty }: { readonly funds: Funds; readonly hasParty: boolean }) => {
  const amount = useSignal("")
  const isWrong = useSignal(false)
  const { requesting } = funds.deposits
  const isBusy = requesting.isBusy.value
  const begin = async (event: Event): Promise<void> => {
    event.preventDefault()
    const atoms = atomsOf(amount.value)
    isWrong.value = atoms === undefined
    if (atoms !== undefined && await funds.deposit(atoms)) amount.value = ""
  }
  return (
    <form onSubmit={(event) => void begin(event)}>
      <p>
        You approve each step with your passkey:{" "}
        {hasParty ? "two" : "three of them the first time"}. Each says before what it does, and nothing moves before the last.
      </p>
      <Amount id="deposit-amount" value={amount} isWrong={isWrong.value} />
      <button type="submit" class="primary" disabled={isBusy}>{isBusy ? "Waiting…" : "Begin a deposit"}</button>
      <Trouble failure={requesting.failure.value} again={() => void begin(new Event("submit"))} />
    </form>
  )
}

const WithdrawalForm = ({ funds }: { readonly funds: Funds }) => {
  const amount = useSignal("")
  const destination = useSignal("")
  const isWrong = useSignal(false)
  const { partyId, withdrawals: { requesting } } = funds
  const isBusy = requesting.isBusy.value
  const begin = async (event: Event): Promise<void> => {
    event.preventDefault()
    const atoms = atomsOf(amount.value)
    isWrong.value = atoms === undefined
    if (atoms !== undefined && await funds.withdraw(atoms, destination.value.trim())) amount.value = ""
  }
  return (
    <form onSubmit={(event) => void begin(event)}>
      <Amount id="withdrawal-amount" value={amount} isWrong={isWrong.value} />
      <label for="withdrawal-destination">Party that is paid</label>
      <input
        id="withdrawal-destination"
        type="text"
        autoComplete="off"
        autoCapitalize="off"
        spellcheck={false}
        required
        placeholder="name::1220…"
        aria-describedby="withdrawal-destination-hint"
        value={destination.value}
        onInput={(event) => destination.value = event.currentTarget.value}
      />
      <p id="withdrawal-destination-hint" class="fine">
        Its whole id on the ledger. What is paid to a wrong party cannot be fetched back.
      </p>
      <div class="actions">
        {partyId !== undefined && <button type="button" onClick={() => destination.value = partyId}>Use my own party</button>}
        <button type="submit" class="primary" disabled={isBusy}>{isBusy ? "Waiting…" : "Begin a withdrawal"}</button>
      </div>
      <Trouble failure={requesting.failure.value} again={() => void begin(new Event("submit"))} />
    </form>
  )
}

const Unfinished = ({ funds, transfers }: { readonly funds: Funds; readonly transfers: Transfers }) => (
  <>
    {transfers.unfinished.map((transfer) => <Progress key={transfer.id} funds={funds} transfers={transfers} transfer={transfer} />)}
  </>
)

const common: ReadonlyArray<Column<Transfer>> = [
  { title: "Amount, USDC", isName: true, cell: ({ amountAtoms }) => usdc(amountAtoms) },
  {
    title: "State",
    cell: (transfer) => (
      <span class={transfer.status === "ledger_confirmed" ? "state active" : "state"} title={meaning(transfer)}>{standing(transfer)}</span>
    )
  },
  { title: "Asked", cell: ({ createdAtEpochMs }) => <Moment atEpochMs={createdAtEpochMs} /> },
  { title: "Last moved", cell: ({ updatedAtEpochMs }) => <Moment atEpochMs={updatedAtEpochMs} /> }
]
const number: Column<Transfer> = { title: "Number", cell: ({ id }) => <code>{id}</code> }
const paid: Column<Transfer> = { title: "Paid to", cell: ({ partyId = "" }) => <code title={partyId}>{short(partyId)}</code> }

const columns = { deposit: [...common, number], withdrawal: [...common, paid, number] } as const

const Past = (
  { kind, title, transfers }: { readonly kind: "deposit" | "withdrawal"; readonly title: string; readonly transfers: Transfers }
) => (
  <Section title={title}>
    <Paged of={transfers}>
      {({ transfers: all }) => <Table label={title} columns={columns[kind]} rows={all} keyOf={({ id }) => id} empty={`No ${kind} yet.`} />}
    </Paged>
  </Section>
)

/** How to obtain test money on a development ledger. */
const TestMoney = ({ accountId, funds }: { readonly accountId: string; readonly funds: Funds }) => {
  const isDevelopment = funds.deposits.unfinished.some(({ environment }) => environment === "development")
  if (!isDevelopment || funds.partyId === undefined) return null
  const command =
    `curl -X POST ${location.origin}/v1/operator/demo/ledger-funds \\\n  -H "Authorization: Bearer $(cat data/operator-token)" \\\n`
    + `  -H "Content-Type: application/json" \\\n  -d '{"accountId":"${accountId}","amount":"1000"}'`
  return (
    <div class="warning" role="note">
      <p>
        In development, the operator can give your party test USDC, in the directory where the venue was started:
      </p>
      <pre><code>{command}</code></pre>
    </div>
  )
}

/** Passkeys added or removed since the party was created: the signer needs an approval of each change by a passkey that it knows. */
const Pins = ({ funds }: { readonly funds: Funds }) => {
  const pins = funds.pins.value.value
  const failure = funds.pinning.failure.value
  if (pins === undefined || pins.status === "current")
    return (
      <Trouble
        failure={funds.pins.failure.value}
        again={() => void funds.pins.load()}
      />
    )
  const isBusy = funds.pinning.isBusy.value
  return (
    <div class="warning" role="note">
      <p>
        {pins.change === "add"
          ? "A passkey that you have added cannot approve deposits and withdrawals yet: approve it by one that can."
          : "A passkey that you have removed is still known to your party's signer: approve its end by another one."}
        {pins.credentialId !== undefined && (
          <>
            {" "}It is <code>{short(pins.credentialId)}</code>.
          </>
        )}
      </p>
      <button type="button" disabled={isBusy} onClick={() => void funds.pin()}>
        {isBusy ? "Waiting…" : pins.change === "add" ? "Approve the new passkey" : "Approve the removal"}
      </button>
      <Trouble failure={failure} />
    </div>
  )
}

const Party = ({ store: { copy, credential, funds } }: { readonly store: Store }) => (
  <Section title="Your party on the ledger">
    <Read of={funds.party}>
      {() =>
        funds.partyId === undefined
          ? <p class="soft">None yet: your first deposit brings one.</p>
          : (
            <p>
              <Copied text={funds.partyId} what="the party’s id" copy={copy} />
            </p>
          )}
    </Read>
    <TestMoney accountId={credential.signed.value?.accountId ?? ""} funds={funds} />
    <Pins funds={funds} />
  </Section>
)

export const FundsPage = ({ store, title }: { readonly store: Store; readonly title: string }) => {
  const { every, funds } = store
  useEffect(() => {
    void funds.load()
    return every(intervalMs, () => void funds.refresh())
  }, [])
  const { deposits, withdrawals } = funds
  return (
    <>
      <Title title={title} />
      <Section title="Deposit">
        <Read of={deposits.list}>
          {() =>
            deposits.unfinished.length > 0
              ? <Unfinished funds={funds} transfers={deposits} />
              : <DepositForm funds={funds} hasParty={funds.party.value.value?.confirmed === true} />}
        </Read>
        <Ended transfers={deposits} />
      </Section>
      <Party store={store} />
      <Section title="Withdraw">
        <Read of={funds.balance}>
          {({ withdrawable }) => (
            <p>
              Withdrawable: <strong>{money(withdrawable)} USDC</strong>
            </p>
          )}
        </Read>
        <Unfinished funds={funds} transfers={withdrawals} />
        <Ended transfers={withdrawals} />
        <WithdrawalForm funds={funds} />
      </Section>
      <Past title="Deposits" kind="deposit" transfers={deposits} />
      <Past title="Withdrawals" kind="withdrawal" transfers={withdrawals} />
    </>
  )
}
