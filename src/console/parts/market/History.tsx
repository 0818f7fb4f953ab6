/** The account's activity in a market: one of several listings at a time, each newest first. */
import type * as Contract from "../../state/Contract.js"
import { percent } from "../../state/market/Decimals.js"
import { type Histories, type Kind, kinds } from "../../state/market/Histories.js"
import { decimal, money, words } from "../../state/Words.js"
import { Choices } from "../Choices.js"
import { Gain } from "../Gain.js"
import { Moment } from "../Moment.js"
import { Paged } from "../Paged.js"
import { sided } from "../Sided.js"
import { type Column, Table } from "../Table.js"

const titles: Readonly<Record<Kind, string>> = { fills: "Fills", positions: "Positions", funding: "Funding", ledger: "Ledger" }

const fills: ReadonlyArray<Column<Contract.Fill>> = [
  { title: "When", isName: true, cell: ({ executedAtEpochMs }) => <Moment atEpochMs={executedAtEpochMs} /> },
  { title: "Side", cell: sided },
  { title: "Price", isNumber: true, cell: ({ price }) => decimal(price) },
  { title: "Size", isNumber: true, cell: ({ size }) => decimal(size) },
  { title: "Notional", isNumber: true, cell: ({ notional }) => money(notional) },
  { title: "Fee", isNumber: true, cell: ({ fee }) => money(fee) },
  { title: "As", cell: ({ liquidity }) => words(liquidity) }
]

const episodes: ReadonlyArray<Column<Contract.Episode>> = [
  { title: "Opened", isName: true, cell: ({ openedAtEpochMs }) => <Moment atEpochMs={openedAtEpochMs} /> },
  { title: "Side", cell: sided },
  { title: "State", cell: ({ closeReason, status }) => closeReason === null ? words(status) : `${words(status)}: ${words(closeReason)}` },
  { title: "Most held", isNumber: true, cell: ({ maxQuantity }) => decimal(maxQuantity) },
  { title: "Entry", isNumber: true, cell: ({ avgEntryPrice }) => decimal(avgEntryPrice) },
  { title: "Exit", isNumber: true, cell: ({ avgExitPrice }) => avgExitPrice === null ? "\u2013" : decimal(avgExitPrice) },
  { title: "Realised", isNumber: true, cell: ({ realizedPnl }) => <Gain amount={realizedPnl} /> },
  { title: "Fees", isNumber: true, cell: ({ feesPaid }) => money(feesPaid) },
  { title: "Funding", isNumber: true, cell: ({ fundingPaid }) => money(fundingPaid) }
]

const funding: ReadonlyArray<Column<Contract.FundingPayment>> = [
  { title: "When", isName: true, cell: ({ endedAtEpochMs }) => <Moment atEpochMs={endedAtEpochMs} /> },
  { title: "Side", cell: sided },
  { title: "Held", isNumber: true, cell: ({ quantity }) => decimal(quantity) },
  { title: "Index", isNumber: true, cell: ({ indexPrice }) => decimal(indexPrice) },
  { title: "Rate, 8 h", isNumber: true, cell: ({ fundingRate8hE9 }) => percent(fundingRate8hE9, 9, 4) },
  { title: "Paid", isNumber: true, cell: ({ paid }) => money(paid) }
]

const entries: ReadonlyArray<Column<Contract.LedgerEntry>> = [
  { title: "When", isName: true, cell: ({ occurredAtEpochMs }) => <Moment atEpochMs={occurredAtEpochMs} /> },
  { title: "Cause", cell: ({ cause }) => words(cause) },
  { title: "Amount", isNumber: true, cell: ({ amount }) => <Gain amount={amount} /> },
  { title: "Balance", isNumber: true, cell: ({ balance }) => money(balance) }
]

const Shown = ({ histories }: { readonly histories: Histories }) => {
  switch (histories.shown.value) {
    case "fills":
      return (
        <Paged of={histories.fills}>
          {({ rows }) => (
            <Table
              label="Fills"
              columns={fills}
              rows={rows}
              keyOf={({ side, tradeId }) => `${tradeId} ${side}`}
              empty="No fill yet."
            />
          )}
        </Paged>
      )
    case "positions":
      return (
        <Paged of={histories.positions}>
          {({ rows }) => (
            <Table
              label="Position history"
              columns={episodes}
              rows={rows}
              keyOf={({ positionId }) => positionId}
              empty="No position yet."
            />
          )}
        </Paged>
      )
    case "funding":
      return (
        <Paged of={histories.funding}>
          {({ rows }) => (
            <Table
              label="Funding payments"
              columns={funding}
              rows={rows}
              keyOf={({ sequence }) => sequence}
              empty={histories.funding.hasMore ? "None among the newest payments of all markets." : "No funding paid or received yet."}
            />
          )}
        </Paged>
      )
    case "ledger":
      return (
        <Paged of={histories.ledger}>
          {({ rows }) => (
            <Table
              label="Ledger"
              columns={entries}
              rows={rows}
              keyOf={({ amount, balance, cause, sequence }) => `${sequence} ${cause} ${amount} ${balance}`}
              empty="Nothing yet."
            />
          )}
        </Paged>
      )
  }
}

export const History = ({ histories }: { readonly histories: Histories }) => (
  <>
    <Choices
      label="Which history"
      name="history"
      choices={kinds.map((kind) => [kind, titles[kind]] as const)}
      value={histories.shown.value}
      choose={(kind) => void histories.choose(kind)}
    />
    <Shown histories={histories} />
  </>
)
