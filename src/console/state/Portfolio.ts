/** The account's money, positions and open orders, and cancelling an order. */
import { signal } from "@preact/signals-core"
import type { Client } from "./Client.js"
import type { Order } from "./Contract.js"
import { hasFailed, type Result } from "./Failure.js"
import type { Outside } from "./Outside.js"
import { Keyed } from "./Keyed.js"
import { Reading } from "./Task.js"
import type { GoesOn } from "./Turns.js"

/** Most open orders shown. */
const mostOrders = 1_000

export interface OpenOrders {
  readonly orders: ReadonlyArray<Order>
  /** Whether there are more than are shown. */
  readonly more: boolean
}

export class Portfolio {
  readonly balance
  readonly positions
  readonly orders
  /** When the balance was last read. */
  readonly readAtEpochMs = signal<number | undefined>(undefined)
  /** Orders that are being cancelled. */
  private readonly canceling = new Map<string, Keyed>()

  constructor(private readonly client: Client, private readonly outside: Pick<Outside, "nextKey" | "now">) {
    this.balance = new Reading(() => client.balance())
    this.positions = new Reading(() => client.positions())
    this.orders = new Reading((goesOn) => this.openOrders(goesOn))
  }

  async load(): Promise<void> {
    await Promise.all([this.readBalance(), this.positions.load(), this.orders.load()])
  }

  /** Whether any part is being read. */
  get isBusy(): boolean {
    return [this.balance, this.positions, this.orders].some(({ isBusy }) => isBusy.value)
  }

  /** Reads everything again, unless that is already in progress, so that a slow venue is given time. */
  async refresh(): Promise<void> {
    if (!this.isBusy) await this.load()
  }

  /** The state of an order's cancellation. */
  taskOf(orderId: string): Keyed {
    const found = this.canceling.get(orderId) ?? new Keyed(this.outside)
    this.canceling.set(orderId, found)
    return found
  }

  /** Cancels an order, and shows the remaining ones. */
  async cancel(order: Order): Promise<void> {
    const canceling = this.taskOf(order.orderId)
    const isDone = await canceling.ask("", ({ key }) => this.client.cancelOrder(order, key))
    if (isDone) this.canceling.delete(order.orderId)
    if (isDone || canceling.failure.value?.code === "not_found") await this.load()
  }

  clear(): void {
    for (const reading of [this.balance, this.positions, this.orders]) reading.clear()
    this.readAtEpochMs.value = undefined
    for (const canceling of this.canceling.values()) canceling.forget()
    this.canceling.clear()
  }

  /** Reads the balance. Where that fails, the previous one stays visible with its time. */
  private async readBalance(): Promise<void> {
    if (await this.balance.load()) this.readAtEpochMs.value = this.outside.now()
  }

  private async openOrders(goesOn: GoesOn): Promise<Result<OpenOrders>> {
    const orders: Array<Order> = []
    let cursor: string | undefined
    do {
      const page = await this.client.openOrders(cursor)
      if (hasFailed(page)) return page
      orders.push(...page.value.orders)
      cursor = page.value.nextCursor ?? undefined
    } while (goesOn() && cursor !== undefined && orders.length < mostOrders)
    const shown = new Set(orders.map(({ orderId }) => orderId))
    // After another account has signed in, its orders say nothing about cancellations started here.
    const gone = goesOn() ? [...this.canceling.keys()].filter((orderId) => !shown.has(orderId)) : []
    for (const orderId of gone) this.canceling.delete(orderId)
    return { value: { orders, more: cursor !== undefined } }
  }
}
