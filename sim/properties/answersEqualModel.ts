/**
 * Safety (I3 to I7 as clients see them). The answer to a command is exactly the reference model's result of the committed record: the same
 * acceptance or refusal with the same code and guard, the same ids, fills and cancelled sizes. A command refused without a record has no
 * such result.
 */
import { maxPlaceEntries } from "../../src/operations/orders/PlaceOrders.js"
import { orderId as textOf } from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { NaiveMemory, NaiveOutcome } from "../model/NaiveState.js"
import { numberOf } from "../reading/Commands.js"
import { isOfFunds } from "../reading/Funds.js"
import * as Refusals from "../reading/Refusals.js"
import { type Answer, answeredIn, type Call } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Json = { readonly [name: string]: unknown }
const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** A refusal's name, for reports of a run. */
const nameOf = (refusal: Refusal): string => Object.entries(Refusal).find(([, code]) => code === refusal)?.[0] ?? String(refusal)

const expectMember = (what: string, json: Json, name: string, expected: unknown): Verdict =>
  json[name] === expected ? holds : broken(`${what}: ${name} is ${JSON.stringify(json[name])}, must be ${JSON.stringify(expected)}`)

const firstOf = (verdicts: ReadonlyArray<() => Verdict>): Verdict => {
  for (const verdict of verdicts) {
    const said = verdict()
    if (said !== undefined) return said
  }
  return holds
}

/**
 * How much an answer contains: a native one everything (an order record also its terms), a placement of /v2 only its acceptance, a cancel
 * of /v2 the new state.
 */
type Detail = "whole" | "accepted" | "state" | "terms"

/** Checks the order's numbers in a record or entry, as far as its kind of answer has them. */
const acceptedVerdict = (what: string, json: Json, outcome: NaiveOutcome, detail: Detail): Verdict =>
  firstOf([
    () => expectMember(what, json, "orderId", textOf(outcome.orderNumber)),
    () => expectMember(what, json, "status", detail === "accepted" ? "open" : Order.statuses[outcome.status]),
    () =>
      expectMember(what, json, "cancelReason",
        detail === "accepted" || outcome.cancelReason === 0 ? undefined : Order.cancelReasons[outcome.cancelReason]),
    () => isWhole(detail) ? expectMember(what, json, "filledQuantityAtoms", String(outcome.filled)) : holds,
    () => isWhole(detail) ? expectMember(what, json, "canceledQuantityAtoms", String(outcome.canceled)) : holds,
    () => detail === "terms" ? expectMember(what, json, "quantityAtoms", String(outcome.quantity)) : holds,
    () => detail === "terms" && outcome.price !== 0 ? expectMember(what, json, "priceAtoms", String(outcome.price)) : holds
  ])

const isWhole = (detail: Detail): boolean => detail === "whole" || detail === "terms"

/** Checks answers to commands that concern no particular order. */
const venueVerdict = (what: string, call: Call, json: Json, outcome: NaiveOutcome, atEpochMs: number): Verdict => {
  switch (call.endpoint) {
    case "cancelAllOrders":
      return expectMember(what, json, "canceledOrders", outcome.canceled)
    case "cancelAllCompatOrders":
      return expectMember(what, json, "canceled", outcome.canceled)
    case "fenceOutcome":
      return expectMember(what, json, "fenced", true)
    case "setProfile": {
      const { displayHandle } = JSON.parse(call.body) as { readonly displayHandle: string }
      return expectMember(what, json, "displayHandle", `${displayHandle}.${Number(json["lastSequence"]).toString(36)}`)
    }
    case "setAutoClose":
      return expectMember(what, json, "replacedTriggers", outcome.canceled)
        ?? expectMember(what, json, "quantityAtoms", String(Math.abs(outcome.quantity)))
    case "cancelAutoClose":
    case "cancelTriggers":
      return expectMember(what, json, "canceledTriggers", outcome.canceled)
    case "setLeverage": {
      const { leverageX } = JSON.parse(call.body) as { readonly leverageX: number }
      return expectMember(what, json, "leverageX", leverageX)
    }
    default: {
      const { timeoutMs } = JSON.parse(call.body) as { readonly timeoutMs: number }
      return expectMember(what, json, "cancelAtEpochMs", timeoutMs === 0 ? null : atEpochMs + timeoutMs)
    }
  }
}

const ofVenue: ReadonlySet<string> = new Set(["cancelAllOrders", "cancelAllCompatOrders", "fenceOutcome", "setCancelAllAfter", "setProfile",
  "setLeverage", "setAutoClose", "cancelAutoClose", "cancelTriggers"])

const refusedVerdict = (what: string, json: Json, refusal: Refusal): Verdict => {
  const { code, guard } = Refusals.of(refusal)
  return firstOf([
    () => expectMember(what, json, "code", code),
    () => expectMember(what, json, "rejectionGuard", guard)
  ])
}

/** Checks the answer to an operator's cancel: how many orders were cancelled and how many are left, or the refusal. */
const operatorsVerdict = (call: Call, { json, status, text }: Answer, memory: NaiveMemory | undefined): Verdict => {
  const what = `${call.endpoint} with key ${call.idempotencyKey}`
  if (status === 503 || (status === 409 && text.includes("idempotency_key_conflict"))) return holds
  // A malformed request, or one for an unknown account or market, is answered without a record.
  if (status === 400 || (status === 404 && /"(?:account|market)_not_found"/.test(text))) return holds
  const { orderId } = JSON.parse(call.body) as { readonly orderId?: string }
  if (status === 404 && orderId !== undefined && numberOf(orderId) < 0) return holds
  const outcome = memory?.outcomes[0]
  if (outcome === undefined) return broken(`${what} was answered ${status} and no record of it is durable: ${text}`)
  const refused = outcome.refusal === Refusal.none ? undefined : Refusals.of(outcome.refusal)
  if (status !== (refused?.status ?? 200) || !isObject(json)) {
    return broken(`${what} is answered ${status}, the model says ${refused === undefined ? "done" : nameOf(outcome.refusal)}: ${text}`)
  }
  if (refused !== undefined) return refusedVerdict(what, json, outcome.refusal)
  return firstOf([
    () => expectMember(what, json, "canceledOrders", outcome.canceled),
    () => expectMember(what, json, "remainingOrders", outcome.left)
  ])
}

const entryVerdict = (what: string, result: unknown, outcome: NaiveOutcome): Verdict => {
  if (!isObject(result)) return broken(`${what} is no object`)
  const compat = isObject(result["info"])
  const info = compat ? result["info"] as Json : result
  const accepted = outcome.refusal === Refusal.none
  if (result["accepted"] !== accepted) {
    return broken(
      `${what}: accepted is ${String(result["accepted"])}, the model says ${accepted ? "accepted" : nameOf(outcome.refusal)}: ${
        JSON.stringify(result)
      }`
    )
  }
  if (!accepted) return refusedVerdict(what, info, outcome.refusal)
  return acceptedVerdict(what, info, outcome, compat ? "accepted" : "whole")
}

/** Checks the answer to a new transfer: it names its own record, repeats the request, and shows that nothing is done yet. */
const transferVerdict = (what: string, { body, endpoint }: Call, json: Json, sequence: number): Verdict => {
  const number = (sequence * 64).toString(36)
  if (endpoint === "changeLedgerParty") return expectMember(what, json, "partyChangeId", `pch_${number}`)
  const isDeposit = endpoint === "createDeposit"
  const { amountAtoms } = JSON.parse(body) as { readonly amountAtoms: string }
  return firstOf([
    () => expectMember(what, json, isDeposit ? "depositId" : "withdrawalId", `${isDeposit ? "dep" : "wdr"}_${number}`),
    () => expectMember(what, json, "amountAtoms", amountAtoms),
    () => expectMember(what, json, "status", isDeposit ? "bound" : "requested")
  ])
}

/** Whether a 409 about an identity is a decision with a record: a refused fence, or an entry with a fenced clientOrderId. */
const isDecided = (text: string, memory: NaiveMemory | undefined): boolean =>
  text.includes("\"already_seen\"") || (text.includes("\"fenced\"") && memory?.outcomes[0]?.refusal === Refusal.fenceStands)

const isSingle = (call: Call): boolean => !call.endpoint.includes("atch") && call.endpoint !== "createOrders"

export const answersEqualModel: Property<null> = {
  name: "answers-equal-model",
  invariant: "I5",
  kind: "safety",
  initial: () => null,
  observe: (_, observed) => {
    const seen = answeredIn(observed)
    if (seen === undefined || seen.call.scope === undefined) return holds
    const { answer, call, memory } = seen
    if (call.endpoint === "cancelByOperator") return operatorsVerdict(call, answer, memory)
    if (call.credential !== "trader" && call.credential !== "issued") return holds
    const { json, status, text } = answer
    const what = `${call.endpoint} with key ${call.idempotencyKey}`
    const expired = memory?.outcomes[0]?.refusal === Refusal.expiryPassed && text.includes("\"expiry_passed\"")
    const refusedWithoutRecord = status === 503 || status === 429 || (status === 400 && !expired) || status === 401 || status === 413
      || status === 415
      || status === 501 || (status === 409 && text.includes("idempotency_key_conflict") && !isDecided(text, memory))
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
      const told = Refusals.of(outcome.refusal)
      if (status !== told.status) return broken(`${what} is answered ${status}, must be ${told.status} ${nameOf(outcome.refusal)}: ${text}`)
      const compat = isObject(json["info"])
      if (compat && json["name"] !== told.name) return broken(`${what} is named ${String(json["name"])}, must be ${told.name}`)
      return refusedVerdict(what, compat ? json["info"] as Json : json, outcome.refusal)
    }
    if (status !== 200) return broken(`${what} is answered ${status}, the model accepts it: ${text}`)
    if (isOfFunds(call.target)) return transferVerdict(what, call, json, memory.sequence)
    if (ofVenue.has(call.endpoint)) return venueVerdict(what, call, json, outcome, memory.atEpochMs)
    const compat = isObject(json["info"])
    return acceptedVerdict(
      what,
      compat ? json["info"] as Json : json,
      outcome,
      compat ? (call.endpoint === "createOrder" ? "accepted" : "state") : call.endpoint === "cancelOrder" ? "whole" : "terms"
    )
  }
}
