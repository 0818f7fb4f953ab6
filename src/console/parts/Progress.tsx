/** An unfinished deposit or withdrawal: its steps, what the current one approves, in words, and the possible actions. */
import { useSignal } from "@preact/signals"
import { useEffect, useId, useRef } from "preact/hooks"
import type { Funds } from "../state/Funds.js"
import {
  approves,
  awaitsOwner,
  isApproved,
  meaning,
  standing,
  stepAtHand,
  stepStates,
  stepsOf,
  stepTitle,
  type Transfer
} from "../state/Transfer.js"
import type { Transfers } from "../state/Transfers.js"
import { usdc } from "../state/Amount.js"
import { Confirm } from "./Confirm.js"
import { Trouble } from "./Trouble.js"

interface Props {
  readonly funds: Funds
  readonly transfers: Transfers
  readonly transfer: Transfer
}

const named = ({ amountAtoms, kind }: Transfer): string => `${kind === "deposit" ? "Deposit" : "Withdrawal"} of ${usdc(amountAtoms)} USDC`

const Steps = ({ transfer }: { readonly transfer: Transfer }) => {
  const atHand = stepAtHand(transfer)
  return (
    <ol class="steps">
      {stepsOf(transfer).map(({ state, step }) => (
        <li key={step} aria-current={step === atHand ? "step" : undefined}>
          <strong>{stepTitle(step)}</strong> <span class="fine">{stepStates[state]}</span>
          <p class="wrap">{approves(step, transfer)}</p>
        </li>
      ))}
    </ol>
  )
}

const GiveUp = ({ funds, transfer, transfers }: Props) => {
  const isAsked = useSignal(false)
  const { givingUp } = transfers.workOf(transfer.id)
  return (
    <>
      <button type="button" onClick={() => isAsked.value = true}>Give it up</button>
      {isAsked.value && (
        <Confirm
          title={`Give this ${transfer.kind} up?`}
          action="Give it up"
          task={givingUp}
          onConfirm={() => funds.giveUp(transfers, transfer.id)}
          onClose={() => isAsked.value = false}
        >
          <p>
            {transfer.kind === "deposit"
              ? "Nothing is taken from your party. An offer that the venue has made is withdrawn by it."
              : "The amount is given back to your account at once."}
          </p>
        </Confirm>
      )}
    </>
  )
}

/** The action possible now: one button whose text says what it does. */
const Actions = ({ approve, ...props }: Props & { readonly approve: () => void }) => {
  const { transfer, transfers } = props
  const { approving } = transfers.workOf(transfer.id)
  const step = stepAtHand(transfer)
  const isDue = awaitsOwner(transfer)
  if (step === undefined || !(isDue || isApproved(transfer))) return null
  const isBusy = approving.isBusy.value
  return (
    <div class="actions">
      {isDue && <GiveUp {...props} />}
      <button type="button" class={isDue ? "primary" : undefined} disabled={isBusy} onClick={approve}>
        {isBusy ? "Waiting…" : isDue ? `Approve: ${stepTitle(step).toLowerCase()}` : "Look again"}
      </button>
    </div>
  )
}

export const Progress = (props: Props) => {
  const { transfer, transfers } = props
  const id = useId()
  const heading = useRef<HTMLHeadingElement>(null)
  const wasPressed = useRef(false)
  // The form that started the transfer has disappeared, and perhaps the pressed button too: keyboard users continue from here.
  useEffect(() => {
    if (transfers.takeBegun(transfer.id)) heading.current?.focus()
  }, [])
  useEffect(() => {
    if (wasPressed.current && document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [transfer.status, transfer.updatedAtEpochMs])
  const { approving } = transfers.workOf(transfer.id)
  const approve = (): void => {
    wasPressed.current = true
    void transfers.approve(transfer)
  }
  return (
    <article class="card" aria-labelledby={id}>
      <h3 id={id} ref={heading} tabIndex={-1}>{named(transfer)}</h3>
      <Steps transfer={transfer} />
      <p role="status">
        <strong>{standing(transfer)}.</strong> {meaning(transfer)}
      </p>
      <Trouble failure={approving.failure.value} again={approve} />
      <Actions approve={approve} {...props} />
    </article>
  )
}
