/**
 * The maker's resting orders on the venue, one for each level, as far as answers reveal them: its own placements and cancels, and takers'
 * reported fills. Computes which orders to cancel and which to place for the book to match a wanted one.
 */
import type { Level } from "./Capture.js"

export type Side = "buy" | "sell"

/** An order of the maker that is open. */
export interface Resting {
  readonly orderId: string
  readonly side: Side
  readonly priceAtoms: number
  remainingAtoms: number
}

/** A level to be placed. */
export interface Quote {
  readonly side: Side
  readonly priceAtoms: number
  readonly sizeAtoms: number
}

/** Cancels first, then placements: a new bid may lie where an old ask was. */
export interface Plan {
  readonly cancels: ReadonlyArray<Resting>
  readonly places: ReadonlyArray<Quote>
}

/** A part of a maker's order that was filled by a taker. */
export interface Fill {
  readonly priceAtoms: number
  readonly sizeAtoms: number
}

export class Mirror {
  private readonly bids = new Map<number, Resting>()
  private readonly asks = new Map<number, Resting>()

  /**
   * The changes that would make the resting orders equal the wanted levels. Levels with a different size are cancelled and placed again.
   */
  plan(wanted: { readonly bids: ReadonlyArray<Level>; readonly asks: ReadonlyArray<Level> }): Plan {
    const cancels: Array<Resting> = []
    const places: Array<Quote> = []
    for (const side of ["buy", "sell"] as const) {
      const levels = side === "buy" ? wanted.bids : wanted.asks
      const sizes = new Map(levels)
      const resting = this.of(side)
      for (const order of resting.values()) if (sizes.get(order.priceAtoms) !== order.remainingAtoms) cancels.push(order)
      for (const [priceAtoms, sizeAtoms] of levels) {
        if (resting.get(priceAtoms)?.remainingAtoms !== sizeAtoms) places.push({ side, priceAtoms, sizeAtoms })
      }
    }
    return { cancels, places }
  }

  /** Notes a resting order. */
  placed(orderId: string, quote: Quote): void {
    this.of(quote.side).set(quote.priceAtoms, {
      orderId,
      side: quote.side,
      priceAtoms: quote.priceAtoms,
      remainingAtoms: quote.sizeAtoms
    })
  }

  /** Notes that an order no longer rests. */
  gone(order: Resting): void {
    const resting = this.of(order.side)
    if (resting.get(order.priceAtoms)?.orderId === order.orderId) resting.delete(order.priceAtoms)
  }

  /**
   * Notes that a taker filled `sizeAtoms` at no worse than its limit, beginning with the best levels. The fills sum to less than
   * `sizeAtoms` where the venue had more at those prices than the maker, in another account's orders.
   */
  take(takerSide: Side, limitAtoms: number, sizeAtoms: number): ReadonlyArray<Fill> {
    const resting = this.of(takerSide === "buy" ? "sell" : "buy")
    const fills: Array<Fill> = []
    let wanted = sizeAtoms
    while (wanted > 0) {
      const best = this.best(takerSide === "buy" ? "sell" : "buy")
      if (best === undefined || (takerSide === "buy" ? best.priceAtoms > limitAtoms : best.priceAtoms < limitAtoms)) break
      const size = Math.min(wanted, best.remainingAtoms)
      fills.push({ priceAtoms: best.priceAtoms, sizeAtoms: size })
      wanted -= size
      best.remainingAtoms -= size
      if (best.remainingAtoms === 0) resting.delete(best.priceAtoms)
    }
    return fills
  }

  /** The best resting order of a side. */
  best(side: Side): Resting | undefined {
    let best: Resting | undefined
    for (const order of this.of(side).values()) {
      if (best === undefined || (side === "buy" ? order.priceAtoms > best.priceAtoms : order.priceAtoms < best.priceAtoms)) best = order
    }
    return best
  }

  /** All that rests. */
  all(): ReadonlyArray<Resting> {
    return [...this.bids.values(), ...this.asks.values()]
  }

  /** Forgets everything, and starts over with the orders that the venue lists. */
  reset(orders: ReadonlyArray<Resting>): void {
    this.bids.clear()
    this.asks.clear()
    for (const order of orders) this.of(order.side).set(order.priceAtoms, order)
  }

  private of(side: Side): Map<number, Resting> {
    return side === "buy" ? this.bids : this.asks
  }
}
