/** What closes a position by itself, as commands say it: a take-profit, a stop-loss, or both. */
import { index, last, mark, type TriggerBy } from "../../domain/Trigger.js"
import * as Field from "../Field.js"

const trigger = {
  /** The price that it waits for; 0 where there is no such trigger. */
  priceAtoms: Field.whole("price_atoms"),
  /** Which of the market's prices that is. */
  by: Field.code<TriggerBy>([mark, last, index]),
  /** The worst price that its order takes; 0 for as far as the price band goes. */
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
