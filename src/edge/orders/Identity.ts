/** The identity under which a request may be looked up or fenced: its key, or the client's own order id. */
import type { Broken } from "../http/Shapes.js"

interface Identity {
  readonly idempotencyKey?: string
  readonly clientOrderId?: string
}

/** The rule between the members of a lookup or fence, if it is broken. */
export const identityFault = (value: Identity): Broken | undefined =>
  (value.idempotencyKey === undefined) === (value.clientOrderId === undefined)
    ? { field: "idempotencyKey", message: "exactly one of idempotencyKey and clientOrderId is needed" }
    : undefined
