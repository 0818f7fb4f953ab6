/** The order form: errors while it is filled in, the order's expected effect before it is sent, and its outcome afterwards. */
import type { ComponentChildren } from "preact"
import { useRef } from "preact/hooks"
import type * as Contract from "../../state/Contract.js"
import type { Failure } from "../../state/Failure.js"
import type { Draft, Field } from "../../state/market/Draft.js"
import type { Feed } from "../../state/market/Feed.js"
import type { Ticket } from "../../state/market/Ticket.js"
import { decimal, money, words } from "../../state/Words.js"
import { Check } from "../Check.js"
import { Choices } from "../Choices.js"
import { Trouble } from "../Trouble.js"

interface Props {
  readonly ticket: Ticket
  readonly feed: Feed
  readonly marketId: string
}

interface EntryProps {
  readonly ticket: Ticket
  readonly field: Field
  readonly label: string
  readonly hint?: string
  readonly children?: ComponentChildren
}

/** A field for a price or a size, with its error and a button that enters the nearest valid value. */
const Entry = ({ children, field, hint, label, ticket }: EntryProps) => {
  const fault = ticket.faults.find((each) => each.field === field)
  const nearest = fault?.nearest
  const id = `order-${field}`
  return (
    <div class="entry">
      <label for={id}>{label}</label>
      <div class="row">
        <input
          id={id}
          type="text"
          inputMode="decimal"
          autoComplete="off"
          aria-describedby={`${id}-hint`}
          aria-invalid={fault !== undefined}
          value={ticket.draft.value[field]}
          onInput={(event) => ticket.enter({ [field]: event.currentTarget.value })}
        />
        {children}
      </div>
      <p id={`${id}-hint`} class="fine" role={fault === undefined ? undefined : "alert"}>
        {fault?.message ?? hint ?? ""}
      </p>
      {nearest !== undefined && (
        <button type="button" class="small" onClick={() => ticket.enter({ [field]: nearest })}>Use {decimal(nearest)}</button>
      )}
    </div>
  )
}

const names: Readonly<Record<Field, string>> = { price: "price", quantity: "size", takeProfit: "take-profit", stopLoss: "stop-loss" }

/** The value that the venue would have accepted, to be entered with one click. */
const Suggestion = ({ failure, ticket }: { readonly failure: Pick<Failure, "guard" | "nearest">; readonly ticket: Ticket }) => {
  const found = ticket.suggestion(failure)
  if (found === undefined) return null
  return (
    <p>
      Nearest {names[found.field]} that would be taken: <strong>{decimal(found.text)}</strong>{" "}
      <button type="button" class="small" onClick={() => ticket.enter({ [found.field]: found.text })}>Use {decimal(found.text)}</button>
    </p>
  )
}

const Change = ({ after, before, title }: { readonly title: string; readonly before: string | null; readonly after: string | null }) => (
  <tr role="row">
    <th scope="row" role="rowheader">{title}</th>
    <td role="cell" class="number" data-title="Now">{before === null ? "none" : money(before)}</td>
    <td role="cell" class="number" data-title="Then">{after === null ? "none" : money(after)}</td>
  </tr>
)

const Previewed = ({ preview: { after, before, order }, side }: { readonly preview: Contract.Preview; readonly side: string }) => {
  if (after === null || order === null) return null
  const fills = /[1-9]/.test(order.filledQuantity)
  return (
    <>
      <p class="fine">
        {fills
          ? `Would ${side} ${decimal(order.filledQuantity)} at once, at ${decimal(order.averageFillPrice ?? "")} on average, `
            + `for ${money(order.fees)} USDC in fees.`
          : "Would trade nothing at once."}
        {/[1-9]/.test(order.remainingQuantity) && ` ${decimal(order.remainingQuantity)} would rest in the book.`}
        {/[1-9]/.test(order.canceledQuantity) && ` ${decimal(order.canceledQuantity)} would be cancelled`
            + `${order.cancelReason === null ? "" : `: ${words(order.cancelReason)}`}.`}
      </p>
      <table role="table" aria-label="What the order would come to" class="preview">
        <thead role="rowgroup">
          <tr role="row">
            <th scope="col" role="columnheader">USDC</th>
            <th scope="col" role="columnheader" class="number">Now</th>
            <th scope="col" role="columnheader" class="number">Then</th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          <Change title="Available" before={before.available} after={after.available} />
          <Change title="Initial margin" before={before.initialMargin} after={after.initialMargin} />
          <Change title="Maintenance margin" before={before.maintenanceMargin} after={after.maintenanceMargin} />
          <Change title="Liquidation price" before={before.liquidationPrice} after={after.liquidationPrice} />
        </tbody>
      </table>
    </>
  )
}

/** What the venue expects of the order; a refusal is shown as it would be for the order itself. */
const Expected = ({ preview, ticket }: { readonly preview: Contract.Preview; readonly ticket: Ticket }) => {
  const { refusal } = preview
  if (refusal === null) return <Previewed preview={preview} side={ticket.draft.value.side} />
  const failure = {
    ...(refusal.rejectionGuard === undefined ? undefined : { guard: refusal.rejectionGuard }),
    ...(refusal.nearest === undefined ? undefined : { nearest: refusal.nearest })
  }
  return (
    <div class="warning" role="note">
      <p>
        Would be refused: <strong>{refusal.safeMessage}</strong>
      </p>
      <Suggestion failure={failure} ticket={ticket} />
    </div>
  )
}

/** The order's expected effect, and why there is none, or none that is newer. */
const Preview = ({ ticket }: { readonly ticket: Ticket }) => {
  if (!ticket.isWhole) return <p class="fine">Enter an order to see what it would come to before you send it.</p>
  const { expected, preview: { failure: { value: failure } } } = ticket
  return (
    <>
      <Trouble failure={failure} again={() => ticket.ask()} />
      {expected !== undefined
        ? <Expected preview={expected} ticket={ticket} />
        : failure === undefined && <p class="fine">Asking what it would come to…</p>}
    </>
  )
}

/** The book's best prices, to be entered with a key or a click. */
const Touch = ({ feed, ticket }: { readonly feed: Feed; readonly ticket: Ticket }) => {
  const take = (side: "bids" | "asks"): void => {
    const best = feed.book.value?.[side][0]
    if (best !== undefined) ticket.enter({ price: best.price })
  }
  return (
    <>
      <button type="button" class="small" onClick={() => take("bids")}>Bid</button>
      <button type="button" class="small" onClick={() => take("asks")}>Ask</button>
    </>
  )
}

const Rules = ({ ticket }: { readonly ticket: Ticket }) => {
  const draft = ticket.draft.value
  const isLimit = draft.orderType === "limit"
  const enter = (change: Partial<Draft>): void => ticket.enter(change)
  return (
    <>
      {isLimit && (
        <div class="entry">
          <label for="order-tif">Good</label>
          <select
            id="order-tif"
            value={draft.timeInForce}
            onChange={(event) => enter({ timeInForce: event.currentTarget.value === "IOC" ? "IOC" : "GTC" })}
          >
            <option value="GTC">until cancelled</option>
            <option value="IOC">at once, or not</option>
          </select>
        </div>
      )}
      <div class="checks">
        <Check label="Reduce only" isOn={draft.reduceOnly} set={(reduceOnly) => enter({ reduceOnly })} />
        {isLimit && (
          <Check
            label="Post only"
            isOn={draft.postOnly && draft.timeInForce === "GTC"}
            isOff={draft.timeInForce === "IOC"}
            set={(postOnly) => enter({ postOnly })}
          />
        )}
      </div>
      {!draft.reduceOnly && (
        <details>
          <summary>Take profit and stop loss</summary>
          <Entry ticket={ticket} field="takeProfit" label="Take profit, mark price" />
          <Entry
            ticket={ticket}
            field="stopLoss"
            label="Stop loss, mark price"
            hint="What the order opens is closed when the mark comes there."
          />
        </details>
      )}
    </>
  )
}

export const OrderForm = ({ feed, marketId, ticket }: Props) => {
  const form = useRef<HTMLFormElement>(null)
  const draft = ticket.draft.value
  const failure = ticket.sending.failure.value
  const isBusy = ticket.sending.isBusy.value
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    await ticket.submit()
    form.current?.querySelector<HTMLInputElement>("[aria-invalid=true]")?.focus()
  }
  const { unknown } = ticket
  const what = `${words(draft.side)} ${marketId}`
  return (
    <section class="ticket" aria-labelledby="ticket-title">
      <h2 id="ticket-title">Order</h2>
      <form ref={form} onSubmit={(event) => void submit(event)}>
        <Choices
          label="Side"
          name="side"
          choices={[["buy", "Buy"], ["sell", "Sell"]]}
          value={draft.side}
          choose={(side) => ticket.enter({ side })}
        />
        <Choices
          label="Type"
          name="type"
          choices={[["limit", "Limit"], ["market", "Market"]]}
          value={draft.orderType}
          choose={(orderType) => ticket.enter({ orderType })}
        />
        {draft.orderType === "limit" && (
          <Entry ticket={ticket} field="price" label="Price">
            <Touch feed={feed} ticket={ticket} />
          </Entry>
        )}
        <Entry ticket={ticket} field="quantity" label="Size" />
        <Rules ticket={ticket} />
        <Preview ticket={ticket} />
        <button type="submit" class={`primary ${draft.side}`} disabled={isBusy}>
          {isBusy ? "Sending…" : unknown !== undefined ? "Ask again what became of it" : what}
        </button>
        {unknown !== undefined && !isBusy && (
          <p class="warning" role="note">
            Nobody knows yet what became of the last order: {unknown.side} {decimal(unknown.quantity)} {unknown.marketId}
            {unknown.price !== undefined && ` at ${decimal(unknown.price)}`}. It is asked about before another one is sent.
          </p>
        )}
        <Trouble failure={failure} />
        {failure !== undefined && <Suggestion failure={failure} ticket={ticket} />}
        <p role="status" class={ticket.outcome.value === undefined ? "unseen" : "notice"}>{ticket.outcome.value ?? ""}</p>
      </form>
    </section>
  )
}
