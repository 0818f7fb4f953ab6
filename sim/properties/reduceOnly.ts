/**
 * Safety (I15). A reduce-only order never opens or grows a position, neither when it trades nor by its resting remainder, and the triggers
 * of a position never exceed it; and an immediate one that fits the position is never refused for growing it, nor as too small where it
 * closes all of it.
 */
import { anyMarket } from "../../src/domain/None.js"
import { ioc, market as marketOrder, sell } from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { broken, holds, type Property } from "./Property.js"

/** Filled size atoms of each reduce-only order so far, by number, as the engine last showed it. */
interface State {
  readonly filled: Map<number, number>
  /** Signed position by account and market, as the engine last showed it. */
  readonly held: Map<string, number>
}

export const reduceOnly: Property<State> = {
  name: "reduce-only-only-reduces",
  invariant: "I15",
  kind: "safety",
  initial: () => ({ filled: new Map(), held: new Map() }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") {
      for (const fill of seen.decision.fills) {
        for (const [order, held] of [[fill.maker, fill.makerPositionBefore], [fill.taker, fill.takerPositionBefore]] as const) {
          if (!order.reduceOnly) continue
          const closes = held !== 0 && held > 0 === (order.side === sell) && fill.size <= Math.abs(held)
          if (!closes) return broken(`reduce-only order ${order.number} filled ${fill.size} against a position of ${held}`)
        }
      }
      return holds
    }
    if (seen._tag === "Answered") {
      const { answer, call, memory, model } = seen
      if (call.intent !== "close whole position" || memory === undefined || answer.status !== 422) return holds
      const [outcome] = memory.outcomes
      if (answer.text.includes("reduce_only_would_increase") && outcome?.refusal !== Refusal.reduceOnlyWouldIncrease) {
        return broken(`a close that fits the position was refused at ${memory.sequence} (model at ${model.sequence})`)
      }
      if (answer.text.includes("quantity_out_of_bounds") && outcome?.refusal !== Refusal.quantityOutOfBounds) {
        return broken(`a close of all that is held was called too small at ${memory.sequence} (model at ${model.sequence})`)
      }
      return holds
    }
    if (seen._tag !== "Inspected") return holds
    const accounts = seen.whole
      ? seen.model.accounts.map((account) => account.index)
      : [...seen.decision?.touchedAccounts ?? []]
    for (const account of accounts) {
      const held = new Map<number, number>()
      for (const position of seen.reads.positions(account)) held.set(position.market, position.quantityAtoms)
      const armed = new Map<number, number>()
      for (const bracket of seen.reads.brackets(account, anyMarket)) {
        if (bracket.quantityAtoms === 0) continue
        const size = held.get(bracket.market) ?? 0
        const sum = (armed.get(bracket.market) ?? 0) + bracket.quantityAtoms
        armed.set(bracket.market, sum)
        if (size === 0 || bracket.isLong !== size > 0) return broken(`bracket ${bracket.number} is armed beside a position of ${size}`)
        if (sum > Math.abs(size)) return broken(`brackets of account ${account} are armed for ${sum} beside a position of ${size}`)
      }
      const resting = new Map<string, number>()
      for (const order of seen.reads.openOrders(account, anyMarket)) {
        if (!order.reduceOnly) continue
        if (order.timeInForce === ioc || order.type === marketOrder) return broken(`immediate order ${order.orderNumber} rests`)
        const name = `${order.market}/${order.side}`
        const sum = (resting.get(name) ?? 0) + order.quantityAtoms - order.filledAtoms - order.canceledAtoms
        resting.set(name, sum)
        const size = held.get(order.market) ?? 0
        const closes = size !== 0 && size > 0 === (order.side === sell)
        if (!closes) return broken(`reduce-only order ${order.orderNumber} rests beside a position of ${size}`)
        if (sum > Math.abs(size)) return broken(`reduce-only orders of account ${account} rest for ${sum} beside a position of ${size}`)
      }
    }
    return holds
  }
}
