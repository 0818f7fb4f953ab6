/** What a halt of the whole venue stops: trading, in every way in which somebody could ask for it, and the marks that it goes by. */
import type { Command } from "../../src/operations/Operations.js"

const stopped: ReadonlySet<Command["kind"]> = new Set<Command["kind"]>([
  "PlaceOrders",
  "AmendOrder",
  "CancelOrders",
  "CancelAllOrders",
  "SetCancelAllAfter",
  "SetLeverage",
  "SetAutoClose",
  "MarkTick"
])

/** Whether a global halt refuses the command. Everything else goes on under it: what ends, what an operator says, money, and who may act. */
export const isStopped = ({ kind }: Command): boolean => stopped.has(kind)
