/** The account's money, positions, and open orders, each of which can be cancelled. Refreshed every few seconds. */
import { useEffect } from "preact/hooks"
import { ofBalance } from "../parts/BalanceFigures.js"
import { canceling, FailedCancels } from "../parts/Canceling.js"
import { Gain } from "../parts/Gain.js"
import { Moment } from "../parts/Moment.js"
import { ofPosition } from "../parts/PositionColumns.js"
import { Read, Section } from "../parts/Section.js"
import { sided } from "../parts/Sided.js"
import { type Column, Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import type * as Contract from "../state/Contract.js"
import * as Places from "../state/Places.js"
import type { Portfolio } from "../state/Portfolio.js"
import type { Store } from "../state/Store.js"
import { decimal, money } from "../state/Words.js"

/** The refresh interval while the page is visible, in milliseconds. */
const intervalMs = 5_000

const Balance = ({ balance }: { readonly balance: Contract.Balance }) => (
  <dl class="figures">
    {ofBalance(balance).map(({ amount, hint, isGain = false, title }) => (
      <div key={title}>
        <dt title={hint}>{title}</dt>
        <dd>{isGain ? <Gain amount={amount} /> : money(amount)}</dd>
      </div>
    ))}
  </dl>
)

const positionColumns: ReadonlyArray<Column<Contract.Position>> = [
  { title: "Market", isName: true, cell: ({ marketId }) => <a href={Places.link("market", marketId)}>{marketId}</a> },
  ...ofPosition
]

const orderColumns = (portfolio: Portfolio): ReadonlyArray<Column<Contract.Order>> => [
  { title: "Market", isName: true, cell: ({ marketId }) => <a href={Places.link("market", marketId)}>{marketId}</a> },
  { title: "Side", cell: sided },
  { title: "Price", isNumber: true, cell: ({ price }) => price === undefined ? "market" : decimal(price) },
  { title: "Quantity", isNumber: true, cell: ({ quantity }) => decimal(quantity) },
  { title: "Filled", isNumber: true, cell: ({ filledQuantity }) => decimal(filledQuantity) },
  { title: "Placed", cell: ({ createdAtEpochMs }) => <Moment atEpochMs={createdAtEpochMs} /> },
  canceling(portfolio)
]

export const PortfolioPage = ({ store: { every, portfolio }, title }: { readonly store: Store; readonly title: string }) => {
  useEffect(() => {
    void portfolio.load()
    return every(intervalMs, () => void portfolio.refresh())
  }, [])
  const readAtEpochMs = portfolio.readAtEpochMs.value
  return (
    <>
      <div class="head">
        <Title title={title} />
        {readAtEpochMs !== undefined && (
          <p class="fine">
            As of <Moment atEpochMs={readAtEpochMs} ofDay />
          </p>
        )}
      </div>
      <Section title="Balance, USDC">
        <Read of={portfolio.balance}>{(balance) => <Balance balance={balance} />}</Read>
      </Section>
      <Section title="Positions">
        <Read of={portfolio.positions}>
          {({ positions }) => (
            <Table
              label="Positions"
              columns={positionColumns}
              rows={positions}
              keyOf={({ positionId }) => positionId}
              empty="No open position."
            />
          )}
        </Read>
      </Section>
      <Section title="Open orders">
        <Read of={portfolio.orders}>
          {({ more, orders }) => (
            <>
              <FailedCancels orders={orders} portfolio={portfolio} />
              <Table
                label="Open orders"
                columns={orderColumns(portfolio)}
                rows={orders}
                keyOf={({ orderId }) => orderId}
                empty="No open order."
              />
              {more && <p class="fine">These are the newest {orders.length}; there are more.</p>}
            </>
          )}
        </Read>
      </Section>
    </>
  )
}
