/** A take-profit, a stop-loss, or both, as commands carry them. */
import { index, last, mark, type TriggerBy } from "../../domain/Trigger.js"
import * as Field from "../Field.js"

const trigger = {
  /** The trigger price; 0 for no trigger. */
  priceAtoms: Field.whole("price_atoms"),
  /** The market price that is compared with it. */
  by: Field.code<TriggerBy>([mark, last, index]),
  /** The worst price of the closing order; 0 for the edge of the price band. */
  limitAtoms: Field.whole("price_atoms")
}
/** A take-profit or a stop-loss. */
export type Trigger = Field.Values<typeof trigger>

export const fields = { takeProfit: Field.record(trigger), stopLoss: Field.record(trigger) }
export type AutoClose = Field.Values<typeof fields>

/** No trigger. */
export const noTrigger: Trigger = { priceAtoms: 0, by: mark, limitAtoms: 0 }

/** Neither of them. */
export const noAutoClose: AutoClose = { takeProfit: noTrigger, stopLoss: noTrigger }

/** Whether there is any trigger. */
export const isSet = ({ stopLoss, takeProfit }: AutoClose): boolean => takeProfit.priceAtoms !== 0 || stopLoss.priceAtoms !== 0
