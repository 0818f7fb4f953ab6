/**
 * What a command came to. It is all that a reply is made from, at once and when the same request comes
 * again: the reply of a placement is built from the request and this, never from later state.
 */
import type { CancelReason, Status } from "./Order.js"
import type { Refusal } from "./Refusal.js"

/** What one entry of a command came to. Commands without entries have exactly one. */
export interface EntryOutcome {
  /** 0 when accepted. */
  readonly refusal: Refusal
  /**
   * The number of the order concerned, also of a refused attempt; for `OpenDemoAccounts` the account's index, for
   * commands about a market that market's; otherwise -1.
   */
  readonly orderNumber: number
  /** The order's state when this entry was decided. A refused entry has `canceled`. */
  readonly status: Status
  readonly cancelReason: CancelReason
  /** Size atoms filled by then. */
  readonly filledAtoms: number
  /** Money atoms paid or received for them, before fees. */
  readonly filledNotionalAtoms: number
  /** Size atoms cancelled or trimmed by then. For `CancelAllOrders` the number of orders it cancelled. */
  readonly canceledAtoms: number
  /** The order's price when this entry was decided: amended ones have had others. 0 where there is none. */
  readonly priceAtoms: number
  /** The order's total quantity when this entry was decided. */
  readonly quantityAtoms: number
  /** For a refusal that compares: the bound, in the guard's unit. NaN where it does not apply. */
  readonly limit: number
  /**
   * For a refusal that compares: what the request would have come to; for `noLiquidity` the best price against it, for
   * `marketNotAccepting` the market's status as its index in `Market.statuses`. NaN where it does not apply.
   */
  readonly actual: number
  /** For a refusal that a nearby value would have passed: that value. NaN where it does not apply. */
  readonly nearest: number
}

/** What a command came to. */
export interface Outcome {
  /** The record that decided it, or for a command refused without a record, the last record before. A reply waits until this is durable. */
  readonly sequence: number
  /** When it was decided: the record's time. */
  readonly atEpochMs: number
  /** Whole-command refusal without a record and never remembered (stage 1); 0 otherwise. */
  readonly refusal: Refusal
  /** Whether this is the remembered decision of an earlier command with the same key and body. */
  readonly replayed: boolean
  readonly entries: ReadonlyArray<EntryOutcome>
}

/** A whole-command refusal that wrote nothing. */
export const refuse = (refusal: Refusal, sequence: number, atEpochMs: number): Outcome => ({
  sequence,
  atEpochMs,
  refusal,
  replayed: false,
  entries: []
})

const none = Number.NaN

/** An entry that was refused, with the id its attempt got. */
export const refusedEntry = (
  refusal: Refusal,
  orderNumber: number,
  limit: number = none,
  actual: number = none,
  nearest: number = none
): EntryOutcome => ({
  refusal,
  orderNumber,
  status: 2,
  cancelReason: 0,
  filledAtoms: 0,
  filledNotionalAtoms: 0,
  canceledAtoms: 0,
  priceAtoms: 0,
  quantityAtoms: 0,
  limit,
  actual,
  nearest
})

/** An entry of a command that concerns no order and was done. */
export const doneEntry = (subject = -1): EntryOutcome => ({
  refusal: 0,
  orderNumber: subject,
  status: 0,
  cancelReason: 0,
  filledAtoms: 0,
  filledNotionalAtoms: 0,
  canceledAtoms: 0,
  priceAtoms: 0,
  quantityAtoms: 0,
  limit: none,
  actual: none,
  nearest: none
})
