/** The decision in an answer, in one form for all operations and both route families. */
import type { Answer } from "../load/Connection.js"
import type { Call } from "./Calls.js"

/** Quantities and prices as numbers: their decimal texts are short enough for equal texts to be equal numbers. */
export interface Entry {
  readonly accepted: boolean
  /** The entry's order; undefined for a refusal that names none. */
  readonly orderId?: string
  /** Undefined where the answer does not give the order's status (`/v2` placements). */
  readonly status?: string
  readonly cancelReason?: string
  readonly filled?: number
  readonly canceled?: number
  readonly price?: number
  readonly quantity?: number
  readonly clientOrderId?: string
  /** The code of a refusal. */
  readonly code?: string
}

export interface Decision {
  readonly call: Call
  /** The record's sequence; undefined in answers without one (the refusal of a whole request). */
  readonly sequence?: number
  readonly entries: ReadonlyArray<Entry>
  /** The number of orders cancelled by a cancel-all. */
  readonly canceledOrders?: number
}

interface Native {
  readonly accepted?: boolean
  readonly orderId: string
  readonly status: string
  readonly cancelReason?: string
  readonly lastSequence: number
  readonly clientOrderId?: string
  readonly price?: string
  readonly quantity?: string
  readonly filledQuantity: string
  readonly canceledQuantity?: string
  readonly code?: string
}

interface Compat {
  readonly id: string
  readonly accepted?: boolean
  readonly clientOrderId?: string
  readonly price?: number
  readonly amount: number
  readonly filled: number
  readonly code?: string
  readonly info: { readonly status: string; readonly cancelReason?: string; readonly lastSequence: number }
}

interface All {
  readonly canceledOrders: number
  readonly lastSequence: number
}

const native = (from: Native): Entry =>
  from.accepted === false ? { accepted: false, code: from.code! } : {
    accepted: true,
    orderId: from.orderId,
    status: from.status,
    filled: Number(from.filledQuantity),
    ...(from.cancelReason === undefined ? undefined : { cancelReason: from.cancelReason }),
    ...(from.canceledQuantity === undefined ? undefined : { canceled: Number(from.canceledQuantity) }),
    ...(from.price === undefined ? undefined : { price: Number(from.price) }),
    ...(from.quantity === undefined ? undefined : { quantity: Number(from.quantity) }),
    ...(from.clientOrderId === undefined ? undefined : { clientOrderId: from.clientOrderId })
  }

/** An accepted placement of the compatibility layer, whose status is not reported. */
const thin = (from: Compat): Entry =>
  from.accepted === false ? { accepted: false, code: from.code! } : {
    accepted: true,
    orderId: from.id,
    quantity: from.amount,
    ...(from.price === undefined ? undefined : { price: from.price }),
    ...(from.clientOrderId === undefined ? undefined : { clientOrderId: from.clientOrderId })
  }

const of = (call: Call, sequence: number | undefined, entries: ReadonlyArray<Entry>): Decision => ({
  call,
  ...(sequence === undefined ? undefined : { sequence }),
  entries
})

/** The decision in an answer of 200, or in the refusal of a whole request. */
export const read = (call: Call, answer: Answer): Decision => {
  const body: unknown = JSON.parse(answer.body)
  if (answer.status !== 200) return of(call, undefined, [{ accepted: false, code: (body as { readonly code: string }).code }])
  switch (call.operation) {
    case "place_order":
    case "cancel_order":
    case "amend_order": {
      const one = body as Native
      return of(call, one.lastSequence, [native(one)])
    }
    case "place_order_batch":
    case "cancel_order_batch": {
      const { outcomes } = body as { readonly outcomes: ReadonlyArray<Native> }
      return of(call, outcomes[0]!.lastSequence, outcomes.map(native))
    }
    case "create_order": {
      const one = body as Compat
      return of(call, one.info.lastSequence, [thin(one)])
    }
    case "create_orders": {
      const many = body as ReadonlyArray<Compat>
      return of(call, many[0]!.info.lastSequence, many.map(thin))
    }
    case "cancel_compat_order": {
      const one = body as Compat
      const { cancelReason, lastSequence, status } = one.info
      const entry = { accepted: true, orderId: one.id, status, filled: one.filled }
      return of(call, lastSequence, [cancelReason === undefined ? entry : { ...entry, cancelReason }])
    }
    case "cancel_all_orders":
    case "cancel_all_compat_orders": {
      const all = call.operation === "cancel_all_orders" ? body as All : (body as { readonly info: All }).info
      return { ...of(call, all.lastSequence, [{ accepted: true }]), canceledOrders: all.canceledOrders }
    }
  }
}

/** Whether a cancel found none of its orders: the venue decides such a cancel anew each time, and does not remember it. */
export const foundNothing = ({ call, canceledOrders, entries }: Decision): boolean =>
  call.operation.startsWith("cancel") && canceledOrders === undefined && !entries.some(({ accepted }) => accepted)

/** Whether an answer is a decision: success, or a refusal for a business reason. The run provokes no other refusals. */
export const isDecided = (call: Call, { status }: Answer): boolean =>
  status === 200 || status === 422 || (status === 404 && call.orderId !== "")

/** A client's belief about a request: the record that decided it, or another outcome. */
export type Believed = number | "refused" | "found nothing" | "never"

/** The belief that follows from an answer; the refusal of a whole request names no record. */
export const believed = (call: Call, answer: Answer): Believed => {
  const decision = read(call, answer)
  return foundNothing(decision) ? "found nothing" : decision.sequence ?? "refused"
}
