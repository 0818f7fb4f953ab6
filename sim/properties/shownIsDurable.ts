/**
 * Safety (I8). No read or answer shows anything that a power failure at the moment the reply leaves would undo: every sequence in it is of
 * a record that is durable by then, and every order and trade was made by one.
 */
import { parseOrderId } from "../../src/domain/Ids.js"
import { answeredIn } from "./Observation.js"
import { broken, holds, type Property } from "./Property.js"

const sequences = /"(\w*[sS]equence)":([0-9]+)/g
const trades = /"trd_([0-9a-z]+)"/g
const orders = /"(?:orderId|order)":"(ord_[0-9a-z]+)"/g

export const shownIsDurable: Property<null> = {
  name: "what-is-shown-is-durable",
  invariant: "I8",
  kind: "safety",
  initial: () => null,
  observe: (_, observed) => {
    const seen = answeredIn(observed)
    if (seen === undefined || seen.answer.status !== 200) return holds
    const { answer: { text }, call: { endpoint }, leftBehind, model } = seen
    for (const [, name = "", digits] of text.matchAll(sequences)) {
      if (Number(digits) > leftBehind)
        return broken(`${endpoint} shows ${name} ${digits}, and record ${leftBehind} was the last durable one`)
    }
    for (const [, ordinal = ""] of text.matchAll(trades)) {
      const trade = model.trades[Number.parseInt(ordinal, 36)]
      if (trade === undefined || trade.sequence > leftBehind) {
        return broken(`${endpoint} shows trade trd_${ordinal}, and record ${leftBehind} was the last durable one`)
      }
    }
    // A refused attempt has an id of its own, and no order; what a lookup reports of it has its own property.
    if (seen.call.method !== "GET" || endpoint === "lookUpOutcome") return holds
    for (const [, id = ""] of text.matchAll(orders)) {
      const number = parseOrderId(id) ?? -1
      if (!model.orders.has(number) && !model.ownOrders.has(number))
        return broken(`${endpoint} shows ${id}, which no durable record placed`)
    }
    return holds
  }
}
