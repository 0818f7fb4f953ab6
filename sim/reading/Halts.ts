/** What a halt of the whole venue stops: every kind of trading command, and the marks. */
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

/**
 * Whether a global halt refuses the command. Everything else continues: cancels and other ends, operators' commands, money, and who may
 * act.
 */
export const isStopped = ({ kind }: Command): boolean => stopped.has(kind)
