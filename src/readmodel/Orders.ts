/**
 * Orders from events: their placement and their end. Only orders of the current batch are held: an order placed earlier is
 * represented by its changes alone, so that a venue full of resting orders needs no memory here.
 *
 * An order's final state is reported when it ends, except for the notional of its fills, which is summed up here.
 */
import { idsPerRecord } from "../domain/Ids.js"
import type * as Order from "../domain/Order.js"
import { maxPlaceEntries, type PlaceEntry } from "../operations/orders/PlaceOrders.js"

/** An order. Size, price and money atoms. Filled and cancelled amounts are present once it has ended. */
export interface OrderRow {
  readonly orderNumber: number
  readonly account: number
  readonly market: number
  readonly side: Order.Side
  readonly type: Order.Type
  readonly timeInForce: Order.TimeInForce
  readonly postOnly: boolean
  readonly reduceOnly: boolean
  readonly selfTradePrevention: Order.SelfTradePrevention
  /** Empty when the client gave none. */
  readonly clientOrderId: string
  readonly idempotencyKey: string
  readonly createdAtEpochMs: number
  /** 0 for a market order without a worst price. */
  readonly priceAtoms: number
  readonly quantityAtoms: number
  readonly filledNotionalAtoms: number
  readonly status: Order.Status
  readonly cancelReason: Order.CancelReason
  readonly filledAtoms: number
  readonly canceledAtoms: number
  /** When it was placed, or has ended. */
  readonly updatedAtEpochMs: number
  readonly lastSequence: number
}

/** How an order ended. */
export interface Ended {
  readonly status: Order.Status
  readonly cancelReason: Order.CancelReason
  readonly filledAtoms: number
  readonly canceledAtoms: number
  readonly updatedAtEpochMs: number
  readonly lastSequence: number
}

/** The changes of an order placed in an earlier batch. */
export interface OrderChange {
  readonly orderNumber: number
  /** As an amendment left them; undefined without one. */
  readonly priceAtoms: number | undefined
  readonly quantityAtoms: number | undefined
  /** The notional of its fills since. */
  readonly filledNotionalAtoms: number
  readonly ended: Ended | undefined
}

/** What a record adds to the event of an order's placement. */
export interface Placed {
  readonly sequence: number
  readonly atEpochMs: number
  readonly idempotencyKey: string
  readonly entries: ReadonlyArray<PlaceEntry>
}

type Open = { -readonly [member in keyof OrderRow]: OrderRow[member] }
type Changing = { -readonly [member in keyof OrderChange]: OrderChange[member] }

/** Whether an order is the venue's own: it exists only within its record, and is never shown. */
const isOwn = (orderNumber: number): boolean => orderNumber % idsPerRecord >= maxPlaceEntries

export class Orders {
  private placed = new Map<number, Open>()
  private changed = new Map<number, Changing>()

  /** Adds an accepted order from the words of its event and the record's command. */
  place(words: Float64Array, at: number, { atEpochMs, entries, idempotencyKey, sequence }: Placed): void {
    const orderNumber = words[at]!
    const entry = entries[orderNumber % idsPerRecord]!
    this.placed.set(orderNumber, {
      orderNumber,
      account: words[at + 1]!,
      market: words[at + 2]!,
      side: entry.side,
      type: entry.type,
      timeInForce: entry.timeInForce,
      postOnly: entry.postOnly,
      reduceOnly: entry.reduceOnly,
      selfTradePrevention: entry.selfTradePrevention,
      clientOrderId: entry.clientOrderId,
      idempotencyKey,
      createdAtEpochMs: atEpochMs,
      priceAtoms: words[at + 6]!,
      quantityAtoms: words[at + 7]!,
      filledNotionalAtoms: 0,
      status: 0,
      cancelReason: 0,
      filledAtoms: 0,
      canceledAtoms: 0,
      updatedAtEpochMs: atEpochMs,
      lastSequence: sequence
    })
  }

  fill(orderNumber: number, notionalAtoms: number): void {
    if (!isOwn(orderNumber)) this.of(orderNumber).filledNotionalAtoms += notionalAtoms
  }

  amend(orderNumber: number, priceAtoms: number, quantityAtoms: number): void {
    const order = this.of(orderNumber)
    order.priceAtoms = priceAtoms
    order.quantityAtoms = quantityAtoms
  }

  end(orderNumber: number, ended: Ended): void {
    const placed = this.placed.get(orderNumber)
    if (placed === undefined) this.changing(orderNumber).ended = ended
    else Object.assign(placed, ended)
  }

  /** Orders that wait to be stored. */
  get waiting(): number {
    return this.placed.size + this.changed.size
  }

  /** Returns the rows to be stored, which then count as stored. They can be gone through again, where storing them fails at first. */
  take(): { readonly placed: ReadonlyArray<OrderRow>; readonly changed: ReadonlyArray<OrderChange> } {
    const { changed, placed } = this
    this.placed = new Map()
    this.changed = new Map()
    return { placed: [...placed.values()], changed: [...changed.values()] }
  }

  private of(orderNumber: number): Open | Changing {
    return this.placed.get(orderNumber) ?? this.changing(orderNumber)
  }

  private changing(orderNumber: number): Changing {
    const known = this.changed.get(orderNumber)
    if (known !== undefined) return known
    const change = { orderNumber, priceAtoms: undefined, quantityAtoms: undefined, filledNotionalAtoms: 0, ended: undefined }
    this.changed.set(orderNumber, change)
    return change
  }
}
