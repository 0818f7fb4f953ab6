/** What an answer says was decided, in one shape for all operations and both families. */
import type { Answer } from "../load/Connection.js"
import type { Call } from "./Calls.js"

/** Quantities and prices as numbers: their decimal texts are short, so that equal texts are equal numbers. */
export interface Entry {
  readonly accepted: boolean
  /** The order it speaks of; undefined for a refusal that names none. */
  readonly orderId?: string
  /** Undefined where the answer does not tell what became of the order (`/v2` placements). */
  readonly status?: string
  readonly cancelReason?: string
  readonly filled?: number
  readonly canceled?: number
  readonly price?: number
  readonly quantity?: number
  readonly clientOrderId?: string
  /** Of a refusal. */
  readonly code?: string
}

export interface Decision {
  readonly call: Call
  /** The record's; undefined in answers that do not tell (a refusal of the whole). */
  readonly sequence?: number
  readonly entries: ReadonlyArray<Entry>
  /** Of a cancel-all. */
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

/** A placement of the compatibility layer as accepted: what became of it is not told. */
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

/** The decision that an answer of 200, or a refusal of the whole, tells. */
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

/** Whether a cancel found none of the orders that it names: the venue decides it anew each time, and does not remember it. */
export const foundNothing = ({ call, canceledOrders, entries }: Decision): boolean =>
  call.operation.startsWith("cancel") && canceledOrders === undefined && !entries.some(({ accepted }) => accepted)

/** Whether an answer tells a decision: done, or refused for a reason of the business. Anything else the run does not provoke. */
export const isDecided = (call: Call, { status }: Answer): boolean =>
  status === 200 || status === 422 || (status === 404 && call.orderId !== "")

/** What a client believes of a request: the record that decided it, or what else became of it. */
export type Believed = number | "refused" | "found nothing" | "never"

/** What an answer makes a client believe; a refusal of the whole names no record. */
export const believed = (call: Call, answer: Answer): Believed => {
  const decision = read(call, answer)
  return foundNothing(decision) ? "found nothing" : decision.sequence ?? "refused"
}
