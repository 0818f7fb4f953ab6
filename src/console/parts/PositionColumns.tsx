/** The table columns that describe a position, shared by several tables. */
import type * as Contract from "../state/Contract.js"
import { decimal, money } from "../state/Words.js"
import { Gain } from "./Gain.js"
import { sided } from "./Sided.js"
import type { Column } from "./Table.js"

export const ofPosition: ReadonlyArray<Column<Contract.Position>> = [
  { title: "Side", cell: sided },
  { title: "Size", isNumber: true, cell: ({ quantity }) => decimal(quantity) },
  { title: "Entry", isNumber: true, cell: ({ avgEntryPrice }) => decimal(avgEntryPrice) },
  { title: "Mark", isNumber: true, cell: ({ markPrice }) => decimal(markPrice) },
  {
    title: "Liquidation",
    isNumber: true,
    cell: ({ liquidationPrice }) => liquidationPrice === null ? <span class="soft">none</span> : decimal(liquidationPrice)
  },
  { title: "Margin", isNumber: true, cell: ({ initialMargin }) => money(initialMargin) },
  { title: "Unrealised", isNumber: true, cell: ({ unrealizedPnl }) => <Gain amount={unrealizedPnl} /> }
]
