/** The account's positions: liquidation price, take-profit and stop-loss, and closing them now. */
import { useSignal } from "@preact/signals"
import { useId, useState } from "preact/hooks"
import type * as Contract from "../../state/Contract.js"
import type { Fault, Terms } from "../../state/market/Draft.js"
import { entriesOf, type Leg, noteOf } from "../../state/market/Exits.js"
import type { Trading } from "../../state/market/Trading.js"
import { decimal } from "../../state/Words.js"
import { Check } from "../Check.js"
import { Confirm } from "../Confirm.js"
import { ofPosition } from "../PositionColumns.js"
import { type Column, Table } from "../Table.js"

interface Props {
  readonly trading: Trading
  readonly positions: ReadonlyArray<Contract.Position>
  readonly triggers: ReadonlyArray<Contract.TriggerPair>
  readonly terms: Terms
}

const named = ({ marketId, quantity, side }: Contract.Position): string => `${side} ${decimal(quantity)} ${marketId}`

/** A position's take-profits and stop-losses, in words. */
const exits = (triggers: ReadonlyArray<Contract.TriggerPair>) => {
  const shown = triggers.flatMap(({ quantity, status, stopLoss, takeProfit, triggerId }) => {
    const parts = [
      takeProfit !== undefined && `profit at ${decimal(takeProfit.triggerPrice)}`,
      stopLoss !== undefined && `loss at ${decimal(stopLoss.triggerPrice)}`
    ].filter((part) => part !== false)
    return [
      <li key={triggerId}>
        {decimal(quantity)}: {parts.join(", ")}
        {status !== "armed" && <span class="fine">{` (${status})`}</span>}
      </li>
    ]
  })
  return shown.length === 0 ? <span class="soft">none</span> : <ul class="plain">{shown}</ul>
}

interface ExitsProps {
  readonly trading: Trading
  readonly position: Contract.Position
  readonly triggers: ReadonlyArray<Contract.TriggerPair>
  readonly terms: Terms
  readonly onClose: () => void
}

/** The dialog that sets take-profit and stop-loss, or removes them where a field is left empty. */
const ExitsDialog = ({ onClose, position, terms, trading, triggers }: ExitsProps) => {
  const id = useId()
  // What was set when the fields were filled; what is set may change while they are open.
  const [shown] = useState(() => trading.exitsOf(position))
  const entries = useSignal(entriesOf(shown))
  const hasPending = triggers.some(({ status }) => status === "pending")
  const faults = useSignal<ReadonlyArray<Fault>>([])
  const { stopLoss, takeProfit } = entries.value
  const isEmpty = takeProfit.text.trim() === "" && stopLoss.text.trim() === ""
  const save = async (): Promise<boolean> => {
    const came = await trading.exit(position, terms, entries.value, shown)
    if (typeof came === "boolean") return came
    faults.value = came
    return false
  }
  const field = (name: Leg, label: string) => {
    const fault = faults.value.find((each) => each.field === name)
    const entry = entries.value[name]
    const enter = (change: Partial<typeof entry>): void => {
      entries.value = { ...entries.value, [name]: { ...entry, ...change } }
    }
    return (
      <>
        <label for={`${id}-${name}`}>{label}</label>
        <input
          id={`${id}-${name}`}
          type="text"
          inputMode="decimal"
          autoComplete="off"
          aria-invalid={fault !== undefined}
          aria-describedby={`${id}-${name}-hint`}
          value={entry.text}
          onInput={(event) => enter({ text: event.currentTarget.value })}
        />
        <p id={`${id}-${name}-hint`} class="fine">
          {noteOf(shown[name])} <span role={fault === undefined ? undefined : "alert"}>{fault?.message ?? ""}</span>
        </p>
        {shown[name].parts.length > 0 && (
          <Check
            label="None: those of parts end"
            isOn={entry.isNone}
            isOff={entry.text.trim() !== ""}
            set={(isNone) => enter({ isNone })}
          />
        )}
      </>
    )
  }
  return (
    <Confirm
      title="Take profit and stop loss"
      action={isEmpty ? "Remove both" : "Set"}
      look="primary"
      leave="Leave it"
      task={trading.exiting}
      onConfirm={save}
      onClose={onClose}
    >
      <p>
        Of the whole position ({named(position)}), in the place of all that is set for it. Each closes it at the market when the mark comes
        to its price. {hasPending && "Those of open orders stay unless you remove both."}
      </p>
      {field("takeProfit", "Take profit at")}
      {field("stopLoss", "Stop loss at")}
    </Confirm>
  )
}

const columns = (
  triggersOf: (marketId: string) => ReadonlyArray<Contract.TriggerPair>,
  terms: Terms,
  { closing, exiting }: Trading,
  ask: (position: Contract.Position, what: "close" | "exits") => void
): ReadonlyArray<Column<Contract.Position>> => [
  { title: "Market", isName: true, cell: ({ marketId }) => marketId },
  ...ofPosition,
  { title: "Closes by itself", cell: ({ marketId }) => exits(triggersOf(marketId)) },
  {
    title: "Actions",
    isAction: true,
    // Other markets have other price grids: their triggers are set on their own pages.
    cell: (position) => (
      <>
        {position.marketId === terms.marketId && (
          <button
            type="button"
            class="small"
            aria-label={`Exits of ${named(position)}`}
            disabled={exiting.isBusy.value}
            onClick={() => ask(position, "exits")}
          >
            Exits
          </button>
        )}{" "}
        <button
          type="button"
          class="small"
          aria-label={`Close ${named(position)}`}
          disabled={closing.isBusy.value}
          onClick={() => ask(position, "close")}
        >
          Close
        </button>
      </>
    )
  }
]

export const Positions = ({ positions, terms, trading, triggers }: Props) => {
  const asked = useSignal<{ readonly position: Contract.Position; readonly what: "close" | "exits" } | undefined>(undefined)
  const { position, what } = asked.value ?? {}
  const triggersOf = (marketId: string): ReadonlyArray<Contract.TriggerPair> => triggers.filter((each) => each.marketId === marketId)
  const done = (): void => {
    asked.value = undefined
  }
  return (
    <>
      <Table
        label="Positions"
        columns={columns(triggersOf, terms, trading, (chosen, question) => asked.value = { position: chosen, what: question })}
        rows={positions}
        keyOf={({ positionId }) => positionId}
        empty="No open position."
      />
      {position !== undefined && what === "exits" && (
        <ExitsDialog trading={trading} position={position} triggers={triggersOf(position.marketId)} terms={terms} onClose={done} />
      )}
      {position !== undefined && what === "close" && (
        <Confirm
          title="Close this position?"
          action="Close it"
          task={trading.closing}
          onConfirm={() => trading.close(position)}
          onClose={done}
        >
          <p>
            {`Market orders that only reduce are sent for all of it: ${named(position)}. `}
            What nobody takes within the price band stays open.
          </p>
        </Confirm>
      )}
    </>
  )
}
