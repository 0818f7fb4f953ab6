/**
 * Safety (I6). A batch gets one result per entry, in order, all from one record in one block; an entry's refusal changes no sibling (the
 * model checks each entry's own result); bounds hold; any `timeInForce` on /v2 refuses the whole batch, with nothing placed.
 */
import { maxCancelEntries } from "../../src/operations/orders/CancelOrders.js"
import { maxPlaceEntries } from "../../src/operations/orders/PlaceOrders.js"
import { parseOrderId, sequenceOf } from "../../src/domain/Ids.js"
import { broken, holds, type Property } from "./Property.js"

/** Scopes of keys that were used with a body without `timeInForce`: a record under one may be from that body. */
type State = Set<string>

const isObject = (value: unknown): value is { readonly [name: string]: unknown } => typeof value === "object" && value !== null

/** The results in a batch's answer, in either family's form. */
const results = (json: unknown): ReadonlyArray<unknown> | undefined =>
  Array.isArray(json) ? json : isObject(json) && Array.isArray(json["outcomes"]) ? json["outcomes"] : undefined

/** The entries of a batch request. */
const entries = (body: string): ReadonlyArray<unknown> | undefined => {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    return undefined
  }
  return Array.isArray(json) ? json : isObject(json) && Array.isArray(json["orders"]) ? json["orders"] : undefined
}

const carriesTimeInForce = (target: string, body: string): boolean => target.startsWith("/v2/") && body.includes("\"timeInForce\"")

export const batch: Property<State> = {
  name: "batch-answers-each-entry-in-order",
  invariant: "I6",
  kind: "safety",
  initial: () => new Set(),
  observe: (otherwise, seen) => {
    if (seen._tag === "Asked") {
      const { body, scope, target } = seen.call
      if (scope !== undefined && !carriesTimeInForce(target, body)) otherwise.add(scope)
      return holds
    }
    if (seen._tag === "Committed") {
      const { command, sequence } = seen.record
      if (command.kind !== "PlaceOrders" && command.kind !== "CancelOrders") return holds
      const most = command.kind === "PlaceOrders" ? maxPlaceEntries : maxCancelEntries
      if (command.entries.length < 1 || command.entries.length > most) {
        return broken(`record ${sequence} holds a batch of ${command.entries.length}`)
      }
      const { block } = seen
      if (sequence < block.firstSequence || sequence >= block.firstSequence + block.count) {
        return broken(`record ${sequence} is outside its block`)
      }
      return holds
    }
    if (seen._tag !== "Answered") return holds
    const { answer, call, memory } = seen
    if (call.method === "POST" && carriesTimeInForce(call.target, call.body) && call.credential === "trader") {
      if (answer.status === 200) return broken(`${call.target} with timeInForce was accepted`)
      if (memory !== undefined && call.scope !== undefined && !otherwise.has(call.scope)) {
        return broken(`${call.target} with timeInForce was journaled as record ${memory.sequence}`)
      }
      return holds
    }
    if (answer.status !== 200 || call.method !== "POST") return holds
    const got = results(answer.json)
    if (got === undefined) return holds
    const asked = entries(call.body)
    if (asked === undefined) return broken(`${call.target} answered a batch to a body that is none`)
    if (asked.length !== got.length) return broken(`${call.target}: ${asked.length} entries, ${got.length} results`)
    const sequences = new Set<number>()
    for (let index = 0; index < got.length; index++) {
      const result = got[index]
      if (!isObject(result)) return broken(`${call.target}: result ${index} is no object`)
      const info = isObject(result["info"]) ? result["info"] : result
      if (info["index"] !== index) return broken(`${call.target}: result ${index} says index ${String(info["index"])}`)
      if (call.endpoint.includes("cancel") || call.intent.includes("cancel")) continue
      const number = typeof info["orderId"] === "string" ? parseOrderId(info["orderId"]) : undefined
      if (number === undefined) return broken(`${call.target}: result ${index} has no order id`)
      sequences.add(sequenceOf(number))
    }
    return sequences.size > 1 ? broken(`${call.target}: results come from ${sequences.size} records`) : holds
  }
}
