/**
 * Stream connections whose open orders are cancelled when they end: the account of each, the open orders placed over it, and which
 * connections have ended but still have orders in the books. Where no client uses this, nothing is stored or looked up.
 *
 * A connection is identified by the sequence of the record that armed it. It is forgotten once it has ended and has no open order.
 */
import { assert } from "../../domain/Assert.js"
import { Multimap } from "../../domain/Multimap.js"
import { StepwiseMap } from "../../domain/Stepwise.js"

/** Most connections of one account at a time, including ended ones that still have open orders. */
export const mostOfAccount = 16
/** Most connections of all accounts, counted likewise. */
export const mostInAll = 8_192

interface Connection {
  readonly account: number
  isEnded: boolean
  /** Open orders by number, in the order in which they were placed. */
  readonly orders: Set<number>
}

/** A connection as a snapshot holds it. */
export interface ConnectionDump {
  readonly connection: number
  readonly account: number
  readonly isEnded: boolean
  readonly orders: ReadonlyArray<number>
}

export class Connections {
  private readonly byNumber = new Map<number, Connection>()
  private readonly byAccount = new Multimap<number, number>()
  private readonly byOrder = new StepwiseMap<number, number>()
  /** Ended connections that still have open orders, in the order in which they ended. */
  private readonly endedOnes = new Set<number>()

  get size(): number {
    return this.byNumber.size
  }

  /** The number of ended connections that still have open orders. */
  get ended(): number {
    return this.endedOnes.size
  }

  /** The number of connections of an account. */
  countOf(account: number): number {
    return this.byAccount.countOf(account)
  }

  /** Whether orders may be placed over a connection for an account. */
  isArmed(number: number, account: number): boolean {
    const connection = this.byNumber.get(number)
    return connection !== undefined && !connection.isEnded && connection.account === account
  }

  /** Whether any order that is open was placed over a connection. */
  hasOrders(number: number): boolean {
    return (this.byNumber.get(number)?.orders.size ?? 0) > 0
  }

  arm(number: number, account: number): void {
    assert(!this.byNumber.has(number), "a record arms one connection")
    this.byNumber.set(number, { account, isEnded: false, orders: new Set() })
    this.byAccount.add(account, number)
  }

  /** Attaches a new open order to an armed connection. */
  join(number: number, order: number): void {
    const connection = this.byNumber.get(number)
    assert(connection !== undefined && !connection.isEnded, "an order joins a connection that is armed")
    connection.orders.add(order)
    this.byOrder.set(order, number)
  }

  /** Detaches an order that is no longer open. */
  leave(order: number): void {
    const number = this.byOrder.get(order)
    if (number === undefined) return
    this.byOrder.delete(order)
    const connection = this.byNumber.get(number)!
    connection.orders.delete(order)
    if (connection.isEnded) this.forgetIfDone(number, connection)
  }

  /** Ends a connection, so that its open orders leave. Nothing happens where it is unknown or has ended already. */
  end(number: number): void {
    const connection = this.byNumber.get(number)
    if (connection === undefined || connection.isEnded) return
    connection.isEnded = true
    this.endedOnes.add(number)
    this.forgetIfDone(number, connection)
  }

  /** Ends all connections, in the order in which they were armed. */
  endAll(): void {
    for (const number of [...this.byNumber.keys()]) this.end(number)
  }

  /** Whether an open order leaves because its connection has ended. */
  hasLost(order: number): boolean {
    if (this.endedOnes.size === 0) return false
    const number = this.byOrder.get(order)
    return number !== undefined && this.endedOnes.has(number)
  }

  /**
   * Open orders of ended connections, in the order in which the connections ended. The caller may cancel each order during the
   * iteration.
   */
  *lost(): IterableIterator<number> {
    for (const number of this.endedOnes) yield* this.byNumber.get(number)!.orders
  }

  /** All connections: armed ones in the order of arming, then ended ones in the order of ending. */
  entries(): ReadonlyArray<ConnectionDump> {
    const armed = [...this.byNumber.keys()].filter((number) => !this.endedOnes.has(number))
    return [...armed, ...this.endedOnes].map((connection) => {
      const { account, isEnded, orders } = this.byNumber.get(connection)!
      return { connection, account, isEnded, orders: [...orders] }
    })
  }

  /** Restores a connection from a snapshot. */
  restore({ account, connection, isEnded, orders }: ConnectionDump): void {
    this.arm(connection, account)
    for (const order of orders) this.join(connection, order)
    if (isEnded) this.end(connection)
  }

  private forgetIfDone(number: number, { account, orders }: Connection): void {
    if (orders.size > 0) return
    this.byNumber.delete(number)
    this.byAccount.remove(account, number)
    this.endedOnes.delete(number)
  }
}
