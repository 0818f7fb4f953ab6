/** The resting orders by the events of the venue's feed alone, for all properties that follow it. */
import type { DecodedEvent } from "../../src/sequencer/Feed.js"
import { broken, holds, type Verdict } from "./Property.js"

/** A resting order by its events. */
export interface Resting {
  readonly account: number
  readonly market: number
  readonly side: number
  price: number
  remaining: number
}

interface Placed {
  readonly account: number
  readonly market: number
  readonly side: number
  readonly timeInForce: number
  readonly price: number
}

export interface FedBook {
  readonly placed: Map<number, Placed>
  readonly resting: Map<number, Resting>
}

export const make = (): FedBook => ({ placed: new Map(), resting: new Map() })

/** Applies an event to the book. Returns what is wrong with it, if anything. */
export const replay = ({ placed, resting }: FedBook, event: DecodedEvent): Verdict => {
  switch (event.event) {
    case "OrderAccepted":
      placed.set(event.orderNumber, {
        account: event.account,
        market: event.market,
        side: event.side,
        timeInForce: event.timeInForce,
        price: event.priceAtoms
      })
      return holds
    case "OrderRested": {
      const order = resting.get(event.orderNumber) ?? placed.get(event.orderNumber)
      if (order === undefined) return broken(`order ${event.orderNumber} rests and was never accepted`)
      const { account, market, price, side } = order
      resting.set(event.orderNumber, { account, market, side, price, remaining: event.remainingAtoms })
      placed.delete(event.orderNumber)
      return holds
    }
    case "Traded": {
      const maker = resting.get(event.makerOrder)
      if (maker === undefined || maker.price !== event.priceAtoms) {
        return broken(`order ${event.makerOrder} trades as maker at ${event.priceAtoms} and does not rest there`)
      }
      maker.remaining -= event.sizeAtoms
      return holds
    }
    case "OrderTrimmed":
    case "OrderTermsChanged": {
      const order = resting.get(event.orderNumber)
      if (order === undefined) return broken(`order ${event.orderNumber} is changed and does not rest`)
      order.remaining = event.remainingAtoms
      if (event.event === "OrderTermsChanged") order.price = event.priceAtoms
      return holds
    }
    case "OrderEnded":
      placed.delete(event.orderNumber)
      resting.delete(event.orderNumber)
      return holds
    default:
      return holds
  }
}
