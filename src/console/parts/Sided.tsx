/** The side of an order, a fill or a position, in its colour. */
import { words } from "../state/Words.js"

export const sided = ({ side }: { readonly side: "buy" | "sell" | "long" | "short" }) => (
  <span class={side === "buy" || side === "long" ? "up" : "down"}>{words(side)}</span>
)
