/**
 * Safety (I12). The preview of a market's parameters is what putting them would do at that sequence, by the reference model, which decides
 * puts in the same way and is compared with the journal there: a new market, a change at once or with notice, or a refusal with its reason
 * and the values compared; the parameters that would change, what is open, and how many accounts would be under their margins. It is
 * compared where no record has become durable since; the affected accounts are counted part by part, and compared where no command was
 * taken either. Parameters that break a rule between them have no preview, and those that break none are not called malformed. Nor is
 * anything put at once that has a preview as one that needs notice.
 */
import { Principal } from "../../src/operations/Header.js"
import type { AskedKind, Wanted } from "../reading/Asked.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as MarketRules from "../reading/MarketRules.js"
import * as Requests from "../reading/Requests.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as Published from "../model/ShownPublished.js"
import { difference, without } from "./Difference.js"
import { type Call, isLimited, type Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** The record at which the engine stands, as far as commands were taken; 0 where none was since it started. */
  engineAt: number
  model: NaiveVenue | undefined
  /** Keys of puts that were decided: who repeats one is told the decision again. */
  readonly known: Set<string>
}

type Answered = Observation & { readonly _tag: "Answered" }
type Put = Extract<Wanted, { readonly kind: "PutMarket" & AskedKind }>

/** The put with the same body; undefined where the body is malformed. */
const putIn = (call: Call): Put | undefined => {
  const reading = Requests.read({ ...call, method: "PUT", target: call.target.replace(/\/preview$/, ""), idempotencyKey: "none" })
  return reading._tag === "asked" && reading.asked.wanted.kind === "PutMarket" ? reading.asked.wanted : undefined
}

const nameOf = (difference: unknown): string => String(isObject(difference) ? difference["parameter"] : difference)

/** An answer without its prose, with the differences by name. */
const plain = (json: Json): unknown => ({
  ...json,
  refusal: isObject(json["refusal"]) ? without(json["refusal"], ["safeMessage"]) : json["refusal"],
  differences: (json["differences"] as ReadonlyArray<unknown>).toSorted((one, other) => nameOf(one) < nameOf(other) ? -1 : 1)
})

const counts = ["underInitialMargin", "underMaintenanceMargin"]

const verdictOf = ({ engineAt }: State, { answer, call, model }: Answered): Verdict => {
  const put = putIn(call)
  if (put === undefined || isLimited(answer) || answer.status === 503) return holds
  const { json, status, text } = answer
  const what = `the preview ${call.target} with ${call.body}`
  const isSound = MarketRules.isSound(put.parameters)
  if (isSound !== (status === 200)) return broken(`${what} is answered ${status}: ${text}`)
  if (status !== 200 || !isObject(json) || json["journalSequence"] !== model.sequence) return holds
  const now = model.markets.find((market) => market.parameters.marketId === put.parameters.marketId)?.parameters
  const { priceScale, quantityScale } = put.parameters
  // No put may change a market's grid, so the margins of its holders on another grid are undefined.
  const isSameGrid = now === undefined || (now.priceScale === priceScale && now.quantityScale === quantityScale)
  const left = engineAt > model.sequence || !isSameGrid ? counts : []
  const expected = Published.marketPreview(model, put.parameters, put.effectiveAtEpochMs)
  return difference(what, without(plain(json), left), without(expected, left))
}

/** A put is judged as it comes to the writer, where the engine stood at the last durable record. */
const offered = ({ engineAt, known, model }: State, { command }: Observation & { readonly _tag: "Offered" }): Verdict => {
  if (command.kind !== "PutMarket" || command.principal !== Principal.operator || command.effectiveAtEpochMs !== 0) return holds
  if (model === undefined || engineAt > model.sequence || known.has(command.idempotencyKey)) return holds
  const { marketId } = command.parameters
  return Published.surprises(model, command.parameters)
    ? broken(`${marketId} is put without notice under key ${command.idempotencyKey}, which surprises who is in it`)
    : holds
}

export const marketPreviews: Property<State> = {
  name: "market-previews-equal-puts",
  invariant: "I12",
  kind: "safety",
  initial: () => ({ engineAt: 0, model: undefined, known: new Set() }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.engineAt = 0
    if (seen._tag === "Offered") return offered(state, seen)
    if (seen._tag === "Committed") {
      state.model = seen.model
      if (seen.record.command.kind === "PutMarket") state.known.add(seen.record.command.idempotencyKey)
    }
    if (seen._tag === "Taken" && seen.answered === undefined) state.engineAt = seen.sequence + 1
    return seen._tag === "Answered" && seen.call.endpoint === "previewMarket" && seen.call.credential === "operator"
      ? verdictOf(state, seen)
      : holds
  }
}
