/**
 * The exact sums over an account's positions. Only accounts whose sums do not all fit into numbers have such an object: below 2^53
 * atoms numbers are exact, and beyond them a number that is moved by differences would depend on the way on which it got there.
 */
import { Total } from "./Total.js"

/** What a position contributes to its account's sums, money atoms. */
export interface Contribution {
  readonly initialMargin: number
  readonly maintenanceMargin: number
  readonly unrealizedPnl: number
  readonly orderLoss: number
}

export class Sums {
  readonly initialMargin = new Total()
  readonly maintenanceMargin = new Total()
  readonly unrealizedPnl = new Total()
  readonly unrealizedLoss = new Total()
  readonly orderLoss = new Total()

  add({ initialMargin, maintenanceMargin, orderLoss, unrealizedPnl }: Contribution): void {
    this.initialMargin.addAny(initialMargin)
    this.maintenanceMargin.addAny(maintenanceMargin)
    this.unrealizedPnl.addAny(unrealizedPnl)
    this.unrealizedLoss.addAny(Math.min(0, unrealizedPnl))
    this.orderLoss.addAny(orderLoss)
  }

  /** Puts what a position contributes now in place of what it did before. */
  replace(before: Contribution, after: Contribution): void {
    this.add(after)
    this.initialMargin.addAny(-before.initialMargin)
    this.maintenanceMargin.addAny(-before.maintenanceMargin)
    this.unrealizedPnl.addAny(-before.unrealizedPnl)
    this.unrealizedLoss.addAny(-Math.min(0, before.unrealizedPnl))
    this.orderLoss.addAny(-before.orderLoss)
  }

  copy(): Sums {
    const copy = new Sums()
    copy.initialMargin.addTotal(this.initialMargin)
    copy.maintenanceMargin.addTotal(this.maintenanceMargin)
    copy.unrealizedPnl.addTotal(this.unrealizedPnl)
    copy.unrealizedLoss.addTotal(this.unrealizedLoss)
    copy.orderLoss.addTotal(this.orderLoss)
    return copy
  }
}
