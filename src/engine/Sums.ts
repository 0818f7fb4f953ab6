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
    this.initialMargin.add(initialMargin)
    this.maintenanceMargin.add(maintenanceMargin)
    this.unrealizedPnl.add(unrealizedPnl)
    this.unrealizedLoss.add(Math.min(0, unrealizedPnl))
    this.orderLoss.add(orderLoss)
  }

  /** Puts what a position contributes now in place of what it did before. */
  replace(before: Contribution, after: Contribution): void {
    this.add(after)
    this.initialMargin.add(-before.initialMargin)
    this.maintenanceMargin.add(-before.maintenanceMargin)
    this.unrealizedPnl.add(-before.unrealizedPnl)
    this.unrealizedLoss.add(-Math.min(0, before.unrealizedPnl))
    this.orderLoss.add(-before.orderLoss)
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
