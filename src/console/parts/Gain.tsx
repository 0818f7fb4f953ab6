/** A gain or a loss, marked by its sign as well as by its colour. */
import { direction, money } from "../state/Words.js"

export const Gain = ({ amount }: { readonly amount: string }) => <span class={direction(amount)}>{money(amount)}</span>
