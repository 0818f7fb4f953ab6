/** Cancelling an open order, wherever orders are listed: the column with its button, and the cancels that failed. */
import type * as Contract from "../state/Contract.js"
import type { Portfolio } from "../state/Portfolio.js"
import { decimal } from "../state/Words.js"
import type { Column } from "./Table.js"
import { Trouble } from "./Trouble.js"

/** A short description that tells an order from others. */
const told = ({ marketId, price, quantity, side }: Contract.Order): string =>
  `${side} ${decimal(quantity)} ${marketId}${price === undefined ? "" : ` at ${decimal(price)}`}`

export const canceling = (portfolio: Portfolio): Column<Contract.Order> => ({
  title: "Cancel",
  isAction: true,
  cell: (order) => {
    const isBusy = portfolio.taskOf(order.orderId).isBusy.value
    return (
      <button
        type="button"
        class="small"
        aria-label={`Cancel: ${told(order)}`}
        disabled={isBusy}
        onClick={() => void portfolio.cancel(order)}
      >
        {isBusy ? "Cancelling…" : "Cancel"}
      </button>
    )
  }
})

/** Failed cancels, above the orders: each can be repeated unchanged. */
export const FailedCancels = ({ orders, portfolio }: {
  readonly orders: ReadonlyArray<Contract.Order>
  readonly portfolio: Portfolio
}) => (
  <>
    {orders.map((order) => {
      const failure = portfolio.taskOf(order.orderId).failure.value
      if (failure === undefined) return null
      return <Trouble key={order.orderId} subject={told(order)} failure={failure} again={() => void portfolio.cancel(order)} />
    })}
  </>
)
