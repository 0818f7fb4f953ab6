/** The figures of a balance, with what they mean. */
import type { Balance } from "../state/Contract.js"

interface Figure {
  readonly title: string
  readonly hint: string
  readonly amount: string
  readonly isGain?: boolean
}

/** The figures of a balance, in order. */
export const ofBalance = (balance: Balance): ReadonlyArray<Figure> => [
  { title: "Equity", hint: "Collateral with gains and losses of open positions", amount: balance.equity },
  { title: "Available", hint: "What may back new orders", amount: balance.available },
  { title: "Unrealised", hint: "Gains and losses of open positions", amount: balance.unrealizedPnl, isGain: true },
  { title: "Withdrawable", hint: "What may leave the venue", amount: balance.withdrawable },
  { title: "Initial margin", hint: "What open positions and orders hold", amount: balance.initialMargin },
  { title: "Maintenance margin", hint: "Below it positions are liquidated", amount: balance.maintenanceMargin }
]
