/** Sends a lane's request through the reference client, and continues until the client knows the outcome. */
import { isDeepStrictEqual } from "node:util"
import type { Client, NewOrder, OrderName } from "../../src/client/venue/Client.js"
import type { Outcome, Unknown } from "../../src/client/venue/Outcome.js"
import type { Call } from "./Calls.js"
import type { Noted } from "./Wire.js"

/** A definite outcome. */
export type Known = Exclude<Outcome<unknown>, Unknown>

/** How often an unknown outcome is asked for again; the client itself tries for a while each time. */
const mostTimes = 100

/** Sends a request under its key, repeatedly while the outcome cannot be known, as the client's manual says. */
export const send = async (venue: Client, call: Call): Promise<Known> => {
  for (let times = 1; times <= mostTimes; times++) {
    const outcome = await once(venue, call)
    if (outcome.kind !== "unknown") return outcome
  }
  throw new Error(`${call.key} (${call.operation}) is unknown for good`)
}

const once = (venue: Client, call: Call): Promise<Outcome<unknown>> => {
  const identity = { idempotencyKey: call.key }
  const body = JSON.parse(call.body) as Partial<NewOrder & OrderName & { readonly orders: ReadonlyArray<NewOrder & OrderName> }>
  const named = { orderId: call.orderId, marketId: body.marketId! }
  switch (call.operation) {
    case "place_order":
      return venue.place(body as NewOrder, identity)
    case "place_order_batch":
      return venue.placeBatch(body.orders!, identity)
    case "cancel_order":
      return venue.cancel(named, identity)
    case "cancel_order_batch":
      return venue.cancelBatch(body.orders!, identity)
    case "amend_order":
      return venue.amend(named, {
        ...(body.price === undefined ? undefined : { price: body.price }),
        ...(body.quantity === undefined ? undefined : { quantity: body.quantity })
      }, identity)
    case "cancel_all_orders":
      return venue.cancelAll(undefined, identity)
    case "create_order":
    case "create_orders":
    case "cancel_compat_order":
    case "cancel_all_compat_orders":
      return compat(venue, call)
  }
}

/**
 * The client has no commands for the compatibility layer: such a request is repeated by the client, and its outcome found by repeating it
 * again.
 */
const compat = async (venue: Client, { body, key, path }: Call): Promise<Outcome<unknown>> => {
  let wasLost = false
  const asked = { method: "POST", path, body: JSON.parse(body) as unknown, idempotencyKey: key } as const
  const attempt = await venue.rest.repeat<unknown>(asked, () => {
    wasLost = true
  })
  if (attempt.kind === "answered") return { kind: "accepted", idempotencyKey: key, value: attempt.value }
  if (attempt.kind === "refused" && (attempt.refusal.isDecision || !wasLost)) {
    return { kind: "refused", idempotencyKey: key, refusal: attempt.refusal }
  }
  return { kind: "unknown", idempotencyKey: key, cause: attempt.kind === "lost" ? attempt.cause : attempt.refusal, seen: undefined }
}

/** Where the client's belief differs from the received bytes, or where it sent something other than it was told to. */
export const misbelieved = (call: Call, outcome: Known, noted: Noted): ReadonlyArray<string> => {
  const who = `${call.key} (${call.operation})`
  const found: Array<string> = []
  if (outcome.idempotencyKey !== call.key) found.push(`${who} came to an outcome of ${outcome.idempotencyKey}`)
  const [sent, ...others] = [...noted.bodies]
  if (others.length > 0) found.push(`${who} was sent as ${sent} and as ${others.join(" and as ")}`)
  if (sent !== undefined && !isDeepStrictEqual(JSON.parse(sent), JSON.parse(call.body))) found.push(`${who} was sent as ${sent}`)
  const { answer } = noted
  if (outcome.kind === "never_arrived") {
    if (answer !== undefined) found.push(`${who} never arrived, says its client, and was answered ${answer.status} ${answer.body}`)
    return found
  }
  if (answer === undefined) return [...found, `${who} is ${outcome.kind}, says its client, and no answer came`]
  const body: unknown = JSON.parse(answer.body)
  const isTold = outcome.kind === "accepted"
    ? answer.status === 200 && isDeepStrictEqual(outcome.value, body)
    : answer.status !== 200 && answer.body.includes(`"code":"${outcome.refusal.code}"`)
  if (!isTold) found.push(`${who} is ${outcome.kind}, says its client, and was answered ${answer.status} ${answer.body}`)
  return found
}
