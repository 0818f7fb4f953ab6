/**
 * Safety (I3 to I7 as clients see them). A client is told of its command exactly what the reference model
 * says the committed record came to: the same acceptance or refusal with the same code and guard, the same
 * ids, fills and cancelled sizes. What is refused without a record has none.
 */
import { maxPlaceEntries } from "../../src/domain/Command.js"
import { orderId as textOf } from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import { describe, Refusal } from "../../src/domain/Refusal.js"
import type { NaiveOutcome } from "../model/NaiveVenue.js"
import type { Call } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Json = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const expectMember = (what: string, json: Json, name: string, expected: unknown): Verdict =>
  json[name] === expected ? holds : broken(`${what}: ${name} is ${JSON.stringify(json[name])}, must be ${JSON.stringify(expected)}`)

const firstOf = (verdicts: ReadonlyArray<() => Verdict>): Verdict => {
  for (const verdict of verdicts) {
    const said = verdict()
    if (said !== undefined) return said
  }
  return holds
}

/** How much an answer tells: a native one all, a placement of /v2 only that it was accepted, its cancel the new state. */
type Detail = "whole" | "accepted" | "state"

/** The order's numbers in a record or entry, as far as its kind of answer has them. */
const acceptedVerdict = (what: string, json: Json, outcome: NaiveOutcome, detail: Detail): Verdict =>
  firstOf([
    () => expectMember(what, json, "orderId", textOf(outcome.orderNumber)),
    () => expectMember(what, json, "status", detail === "accepted" ? "open" : Order.statuses[outcome.status]),
    () => expectMember(what, json, "cancelReason", detail === "accepted" || outcome.cancelReason === 0 ? undefined : Order.cancelReasons[outcome.cancelReason]),
    () => detail === "whole" ? expectMember(what, json, "filledQuantityAtoms", String(outcome.filled)) : holds,
    () => detail === "whole" ? expectMember(what, json, "canceledQuantityAtoms", String(outcome.canceled)) : holds
  ])

const refusedVerdict = (what: string, json: Json, refusal: Refusal): Verdict => {
  const description = describe(refusal)
  return firstOf([
    () => expectMember(what, json, "code", description.code),
    () => expectMember(what, json, "rejectionGuard", description.guard)
  ])
}

const entryVerdict = (what: string, result: unknown, outcome: NaiveOutcome): Verdict => {
  if (!isObject(result)) return broken(`${what} is no object`)
  const compat = isObject(result["info"])
  const info = compat ? result["info"] as Json : result
  const accepted = outcome.refusal === Refusal.none
  if (result["accepted"] !== accepted) {
    return broken(`${what}: accepted is ${String(result["accepted"])}, the model says ${accepted ? "accepted" : describe(outcome.refusal).name}: ${JSON.stringify(result)}`)
  }
  if (!accepted) return refusedVerdict(what, info, outcome.refusal)
  return acceptedVerdict(what, info, outcome, compat ? "accepted" : "whole")
}

const isSingle = (call: Call): boolean => !call.endpoint.includes("atch") && call.endpoint !== "createOrders"

export const answersEqualModel: Property<null> = {
  name: "answers-equal-model",
  invariant: "I5",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Answered" || seen.call.scope === undefined || seen.call.credential !== "trader") return holds
    const { answer, call, memory } = seen
    const { json, status, text } = answer
    const what = `${call.endpoint} with key ${call.idempotencyKey}`
    const refusedWithoutRecord = status === 503 || status === 400 || status === 401 || status === 413 || status === 415
      || status === 501 || (status === 409 && text.includes("idempotency_key_conflict"))
      || (status === 403 && !text.includes("account_not_enabled"))
    if (refusedWithoutRecord) return holds
    if (memory === undefined) {
      return status === 200 || status === 422 || status === 409
        ? broken(`${what} was answered ${status} and no record of it is durable: ${text}`)
        : holds
    }
    const { outcomes } = memory
    if (outcomes.length > maxPlaceEntries) return broken(`${what} has ${outcomes.length} outcomes`)
    if (!isSingle(call)) {
      const results = Array.isArray(json) ? json : isObject(json) && Array.isArray(json["outcomes"]) ? json["outcomes"] : undefined
      if (status !== 200 || results === undefined) return broken(`${what} is answered ${status}: ${text}`)
      if (results.length !== outcomes.length) return broken(`${what}: ${results.length} results for ${outcomes.length} entries`)
      for (let index = 0; index < outcomes.length; index++) {
        const verdict = entryVerdict(`${what}, entry ${index}`, results[index], outcomes[index]!)
        if (verdict !== undefined) return verdict
      }
      return holds
    }
    const outcome = outcomes[0]!
    if (!isObject(json)) return broken(`${what} is answered ${status}: ${text}`)
    if (outcome.refusal !== Refusal.none) {
      const description = describe(outcome.refusal)
      if (status !== description.status) return broken(`${what} is answered ${status}, must be ${description.status} ${description.name}: ${text}`)
      const compat = isObject(json["info"])
      if (compat && json["name"] !== description.compatName) return broken(`${what} is named ${String(json["name"])}, must be ${description.compatName}`)
      return refusedVerdict(what, compat ? json["info"] as Json : json, outcome.refusal)
    }
    if (status !== 200) return broken(`${what} is answered ${status}, the model accepts it: ${text}`)
    const compat = isObject(json["info"])
    return acceptedVerdict(
      what,
      compat ? json["info"] as Json : json,
      outcome,
      compat ? (call.endpoint === "createOrder" ? "accepted" : "state") : "whole"
    )
  }
}
