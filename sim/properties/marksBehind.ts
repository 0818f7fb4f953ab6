/**
 * Safety (I13). Nobody acts at a mark that is behind what everybody knows: while a market's index, or a step of it that is held back, lies
 * so far from its mark that a position opened there would be liquidated at that price, nothing is placed or changed in the market, no
 * trigger is armed, and nobody who has a position in it asks for a withdrawal. And nobody is turned away for that reason otherwise.
 *
 * A market that has just been marked waits for no mark, unless it holds a step: otherwise it would take nothing for as long as its book
 * keeps the mark where it is. Cancels, and everything else, are taken as ever: other properties expect them.
 */
import { anyMarket, none } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { isSet } from "../../src/operations/accounts/AutoClose.js"
import type { Command } from "../../src/operations/Operations.js"
import { isLive, waitsForMark } from "../model/NaiveRisk.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { difference } from "./Difference.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"
import { type Taken, Undurable } from "./Undurable.js"

const kinds: ReadonlySet<Command["kind"]> = new Set(["PlaceOrders", "AmendOrder", "SetAutoClose", "RequestWithdrawal"])

/** The markets in which a command would place, change or arm something. */
const placesOf = (command: Command, model: NaiveVenue): ReadonlyArray<number> => {
  switch (command.kind) {
    case "PlaceOrders":
      return command.entries.map(({ market }) => market)
    case "AmendOrder": {
      const order = model.orders.get(command.orderNumber)
      const isFound = order?.status === Order.open && order.account === command.account
        && (command.market === anyMarket || command.market === order.market) && model.leavesFor(order) === Order.CancelReason.none
      return isFound ? [order.market] : []
    }
    case "SetAutoClose":
      return isSet(command) ? [command.market] : []
    default:
      return []
  }
}

/** A market because of whose mark a command has to wait; undefined where there is none. */
export const awaited = ({ atEpochMs, command }: Pick<Taken, "atEpochMs" | "command">, model: NaiveVenue): number | undefined => {
  const { halted, markets } = model
  if (command.kind === "RequestWithdrawal") {
    const held = halted ? [] : [...model.accounts[command.account]!.positions.keys()]
    return held.find((market) => isLive(markets[market]!, atEpochMs) && waitsForMark(markets[market]!, atEpochMs))
  }
  return placesOf(command, model).find((market) => markets[market] !== undefined && waitsForMark(markets[market], atEpochMs, "orders"))
}

/** Whether nothing is placed in a market now: its mark is behind, or what its band has left behind is being cancelled. */
export const takesNothing = (model: NaiveVenue, market: number, atEpochMs: number): boolean =>
  model.markets[market] !== undefined && waitsForMark(model.markets[market], atEpochMs, "orders")
  || model.isBeingCleared(market) || model.comesToBeCleared(market, atEpochMs)

/** Checks that the refusal of a batch names all markets that it waits for: the others' orders could be sent apart. */
const named = ({ answered, atEpochMs, command, sequence }: Taken, model: NaiveVenue): Verdict => {
  if (answered === undefined || command.kind !== "PlaceOrders" || command.entries.length === 1) return holds
  const waiting = command.entries.map(({ market }) => market).filter((market) => takesNothing(model, market, atEpochMs))
  return difference(`a batch that was turned away behind record ${sequence}, whose markets`, answered.markets, [...new Set(waiting)])
}

const judge = (taken: Taken, model: NaiveVenue): Verdict => {
  const { answered, command: { kind }, sequence } = taken
  if (answered !== undefined && answered.refusal !== Refusal.markBehind) return holds
  const market = awaited(taken, model) ?? none
  const told = named(taken, model)
  if (told !== undefined) return told
  if (answered === undefined) {
    return market === none ? holds : broken(`a ${kind} was decided behind record ${sequence}, and the mark of market ${market} is behind`)
  }
  return market === none ? broken(`a ${kind} was turned away behind record ${sequence}, and no mark that it needs is behind`) : holds
}

/** Checks that no market waits for the mark that a record has just made. */
const judgeMarks = ({ model: { markets }, record: { atEpochMs, sequence } }: Observation & { readonly _tag: "Committed" }): Verdict => {
  const waiting = markets.find((market) =>
    market.risk.marks.at(-1)?.sequence === sequence && market.risk.held === undefined && waitsForMark(market, atEpochMs)
  )
  return waiting === undefined
    ? holds
    : broken(`record ${sequence} has marked market ${waiting.index}, and it waits for a mark at once, its index ${waiting.risk.index}`)
}

export const marksBehind: Property<Undurable> = {
  name: "nobody-acts-at-a-mark-that-is-behind",
  invariant: "I13",
  kind: "safety",
  initial: () => new Undurable(({ kind }) => kinds.has(kind)),
  observe: (undurable, seen) => {
    const marked = seen._tag === "Committed" && seen.record.command.kind === "MarkTick" ? judgeMarks(seen) : holds
    return undurable.observe(seen, judge) ?? marked
  }
}
