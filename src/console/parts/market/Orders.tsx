/** The account's open orders in the current market: each can be cancelled, or all at once. */
import { useSignal } from "@preact/signals"
import type * as Contract from "../../state/Contract.js"
import type { Trading } from "../../state/market/Trading.js"
import type { Portfolio } from "../../state/Portfolio.js"
import { decimal } from "../../state/Words.js"
import { canceling, FailedCancels } from "../Canceling.js"
import { Confirm } from "../Confirm.js"
import { Moment } from "../Moment.js"
import { sided } from "../Sided.js"
import { type Column, Table } from "../Table.js"

interface Props {
  readonly marketId: string
  readonly orders: ReadonlyArray<Contract.Order>
  readonly portfolio: Portfolio
  readonly trading: Trading
}

const rulesOf = ({ autoClose, postOnly, reduceOnly }: Contract.Order): string =>
  [postOnly && "post only", reduceOnly && "reduce only", autoClose !== undefined && "with exits"].filter((rule) => rule !== false).join(
    ", "
  )

const columns = (portfolio: Portfolio): ReadonlyArray<Column<Contract.Order>> => [
  { title: "Order", isName: true, cell: sided },
  { title: "Price", isNumber: true, cell: ({ price }) => price === undefined ? "market" : decimal(price) },
  { title: "Size", isNumber: true, cell: ({ quantity }) => decimal(quantity) },
  { title: "Filled", isNumber: true, cell: ({ filledQuantity }) => decimal(filledQuantity) },
  { title: "Rules", cell: (order) => rulesOf(order) || <span class="soft">none</span> },
  { title: "Placed", cell: ({ createdAtEpochMs }) => <Moment atEpochMs={createdAtEpochMs} /> },
  canceling(portfolio)
]

export const Orders = ({ marketId, orders, portfolio, trading }: Props) => {
  const isAsked = useSignal(false)
  return (
    <>
      <FailedCancels orders={orders} portfolio={portfolio} />
      <Table label="Open orders" columns={columns(portfolio)} rows={orders} keyOf={({ orderId }) => orderId} empty="No open order here." />
      {orders.length > 0 && (
        <button type="button" disabled={trading.cancelingAll.isBusy.value} onClick={() => isAsked.value = true}>
          Cancel all in this market
        </button>
      )}
      {isAsked.value && (
        <Confirm
          title="Cancel all open orders?"
          action="Cancel them"
          task={trading.cancelingAll}
          onConfirm={() => trading.cancelAll(marketId)}
          onClose={() => isAsked.value = false}
        >
          <p>
            Every open order of the account in {marketId}, whoever placed it. Positions, and what closes them by itself, stay.
          </p>
        </Confirm>
      )}
    </>
  )
}
