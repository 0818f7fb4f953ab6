/**
 * Connections of the stream whose orders end with them: who each is of, which open orders were placed over it, and which of them
 * have ended and still have some. Without one nothing is kept and nothing is asked.
 *
 * A connection is known by the sequence of the record that armed it. It is forgotten as soon as it has ended and has no open order.
 */
import { assert } from "../../domain/Assert.js"
import { Multimap } from "../../domain/Multimap.js"
import { StepwiseMap } from "../../domain/Stepwise.js"

/** Connections that one account may have at a time, those that have ended and still have open orders among them. */
export const mostOfAccount = 16
/** Those of all accounts. */
export const mostInAll = 8_192

interface Connection {
  readonly account: number
  isEnded: boolean
  /** Open orders by number, in the order in which they were placed. */
  readonly orders: Set<number>
}

/** What is kept of one, as a snapshot has it. */
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
  /** Those that have ended and still have open orders, in the order in which they ended. */
  private readonly endedOnes = new Set<number>()

  get size(): number {
    return this.byNumber.size
  }

  /** How many have ended and still have open orders. */
  get ended(): number {
    return this.endedOnes.size
  }

  /** How many an account has. */
  countOf(account: number): number {
    return this.byAccount.countOf(account)
  }

  /** Whether orders may be placed over a connection for an account. */
  isArmed(number: number, account: number): boolean {
    const connection = this.byNumber.get(number)
    return connection !== undefined && !connection.isEnded && connection.account === account
  }

  arm(number: number, account: number): void {
    assert(!this.byNumber.has(number), "a record arms one connection")
    this.byNumber.set(number, { account, isEnded: false, orders: new Set() })
    this.byAccount.add(account, number)
  }

  /** Notes that an open order was placed over an armed connection. */
  join(number: number, order: number): void {
    const connection = this.byNumber.get(number)
    assert(connection !== undefined && !connection.isEnded, "an order joins a connection that is armed")
    connection.orders.add(order)
    this.byOrder.set(order, number)
  }

  /** Notes that an order is open no more. */
  leave(order: number): void {
    const number = this.byOrder.get(order)
    if (number === undefined) return
    this.byOrder.delete(order)
    const connection = this.byNumber.get(number)!
    connection.orders.delete(order)
    if (connection.isEnded) this.forgetIfDone(number, connection)
  }

  /** Ends a connection: its open orders leave. One that has ended, or never was, stays as it is. */
  end(number: number): void {
    const connection = this.byNumber.get(number)
    if (connection === undefined || connection.isEnded) return
    connection.isEnded = true
    this.endedOnes.add(number)
    this.forgetIfDone(number, connection)
  }

  /** Ends all of them, those that were armed first before the others. */
  endAll(): void {
    for (const number of [...this.byNumber.keys()]) this.end(number)
  }

  /** Whether an open order leaves since its connection has ended. */
  hasLost(order: number): boolean {
    if (this.endedOnes.size === 0) return false
    const number = this.byOrder.get(order)
    return number !== undefined && this.endedOnes.has(number)
  }

  /** Open orders of connections that have ended, those of the one that ended first before the others. Each may leave as it comes. */
  *lost(): IterableIterator<number> {
    for (const number of this.endedOnes) yield* this.byNumber.get(number)!.orders
  }

  /** All of them: armed ones as they were armed, then those that have ended as they ended. */
  entries(): ReadonlyArray<ConnectionDump> {
    const armed = [...this.byNumber.keys()].filter((number) => !this.endedOnes.has(number))
    return [...armed, ...this.endedOnes].map((connection) => {
      const { account, isEnded, orders } = this.byNumber.get(connection)!
      return { connection, account, isEnded, orders: [...orders] }
    })
  }

  /** Takes up what was kept of one. */
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
