/**
 * Safety (I5, member by member). The answer to a command has exactly the members that the contract specifies for its decision: for an
 * acceptance every member in both its forms, for a refusal the code, the guard, and the values compared. A repeated request gets the same
 * answer, whatever has happened since.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import { isKept, type NaiveMemory } from "../model/NaiveState.js"
import * as Told from "../model/Told.js"
import { type Asked, familyOf } from "../reading/Asked.js"
import { isObject, type Json } from "../reading/Bodies.js"
import { mayBeMalformed, numberOf } from "../reading/Commands.js"
import { Markets } from "../reading/Markets.js"
import { atomsOf, isDecimal, shortest } from "../reading/Numbers.js"
import * as Refusals from "../reading/Refusals.js"
import { difference } from "./Difference.js"
import { type Answer, answeredIn, type Observation, recordNamed } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

type Answered = Observation & { readonly _tag: "Answered" }

/** Whether a request names an impossible order: it is answered without a record, whatever else its key was used for. */
const namesNothing = ({ wanted }: Asked): boolean =>
  wanted.kind === "CancelByOperator" && wanted.orderId !== undefined && numberOf(wanted.orderId) < 0

/** Whether a request has a price off the market's grid: it, too, is answered without a record, with the same code. */
const isOffGrid = ({ wanted }: Asked, markets: Markets): boolean => {
  if (wanted.kind !== "SetIndexPrice") return false
  const market = markets.find(wanted.market, "native")
  return market !== undefined && typeof atomsOf(wanted.price, market.priceScale) === "string"
}

/** Whether every entry of a request has an outcome: otherwise the memory belongs to another request, which other properties check. */
const isOf = (asked: Asked, { outcomes }: NaiveMemory): boolean => {
  const { wanted } = asked
  if (namesNothing(asked)) return false
  if (wanted.kind === "PlaceOrders" || wanted.kind === "CancelOrders") return outcomes.length === wanted.orders.length
  return wanted.kind === "OpenDemoAccounts" || outcomes.length === 1
}

/** Whether the order in an answer is certainly still remembered: for a forgotten one the answer repeats the request's terms. */
const isKnown = ({ wanted }: Asked, { outcomes }: NaiveMemory, model: Answered["model"]): boolean => {
  if (wanted.kind !== "AmendOrder" && !(wanted.kind === "CancelOrders" && wanted.family === "compat")) return true
  const order = model.orders.get(outcomes[0]!.orderNumber)
  return order !== undefined && isKept(order, model.atEpochMs)
}

const isBatch = ({ wanted }: Asked): boolean => "batch" in wanted && wanted.batch

/** Guards whose answers repeat a number as it was written, where it has no atoms in its market. */
const asWritten: ReadonlySet<unknown> = new Set(["price_out_of_bounds", "quantity_out_of_bounds", "trigger_invalid"])

/**
 * The expected refusal, with the number spelled as in the answer where the value is the same: a repeated request may have other trailing
 * zeros than the one that was decided.
 */
const spelledAs = (shown: unknown, expected: unknown): unknown => {
  if (!isObject(shown) || !isObject(expected)) return expected
  if (isObject(expected["info"])) return { ...expected, info: spelledAs(shown["info"], expected["info"]) }
  const { actual } = shown
  const isSame = isDecimal(actual) && isDecimal(expected["actual"]) && shortest(actual) === shortest(expected["actual"])
  return isSame && asWritten.has(expected["rejectionGuard"]) ? { ...expected, actual } : expected
}

/** The expected refusals in the answer to a batch, each with the number spelled as in the answer where the value is the same. */
const allSpelledAs = (shown: unknown, expected: unknown): unknown => {
  if (Array.isArray(expected)) return expected.map((each, at) => spelledAs(Array.isArray(shown) ? shown[at] : undefined, each))
  if (!isObject(shown) || !isObject(expected) || !Array.isArray(expected["outcomes"])) return spelledAs(shown, expected)
  return { ...expected, outcomes: allSpelledAs(shown["outcomes"], expected["outcomes"]) }
}

/** Checks the envelope of a decided refusal, except for random values and prose. */
const refused = (decision: Told.Decision, { json, status: answered }: Answer, what: string, isNamed: boolean): Verdict => {
  if (!isObject(json)) return isNamed ? broken(`${what} was refused, and is answered ${answered}`) : holds
  const isCompat = isObject(json["info"])
  const info = (isCompat ? json["info"] : json) as Json
  const { refusal } = decision.memory.outcomes.find((outcome) => outcome.refusal !== Refusal.none)!
  const { action, code, guard, status } = Refusals.of(refusal)
  // If it names the record, it is about that decision.
  if (isNamed && (answered !== status || info["code"] !== code || info["rejectionGuard"] !== guard)) {
    return broken(`${what} was refused as ${status} ${code} ${guard ?? ""}, and is answered ${answered}: ${JSON.stringify(json)}`)
  }
  // Another failure, or the same one without the record: a fenced key is refused before there is one.
  if (info["code"] !== code || info["rejectionGuard"] !== guard || guard === "fenced") return holds
  // A number off the market's grid is refused in the same words, without a record.
  if (guard === undefined && mayBeMalformed(decision.asked, (name) => [decision.find(name)])) return holds
  const expected: Json = {
    version: "external-rest-error/v1",
    requestId: info["requestId"],
    code,
    safeMessage: info["safeMessage"],
    retryable: action === "wait_and_retry_same_identity",
    recoveryActions: [action],
    occurredAtEpochMs: decision.memory.atEpochMs,
    rejectionGuard: guard,
    ...Told.refusal(decision)
  }
  return difference(what, info, spelledAs(info, expected))
}

/** Commands whose answers contain the resulting keys. */
const showingKeys: ReadonlySet<string> = new Set(["RevokeKeyByOperator", "IssueBotKey", "OpenDemoAccounts"])

/** Whether the result can no longer be shown: only a limited number of ended API keys are remembered. */
const showsNothing = ({ asked: { wanted }, model }: Told.Decision, { status }: Answer): boolean =>
  showingKeys.has(wanted.kind) && status === 404 && model.identity.keys.some(({ isForgotten }) => isForgotten)

const answered = (markets: Markets, { answer, call, memory, model }: Answered): Verdict => {
  const { reading } = call
  if (reading._tag !== "asked" || memory === undefined || !isOf(reading.asked, memory)) return holds
  if (call.credential !== "trader" && call.credential !== "issued" && call.credential !== "operator") return holds
  const { asked } = reading
  if (isOffGrid(asked, markets)) return holds
  const what = `${call.target} with ${call.body} under key ${call.idempotencyKey}`
  const decision = Told.decisionOf(call, { asked, memory, model, find: (name) => markets.find(name, familyOf(asked)) })
  const isDone = isBatch(asked) || memory.outcomes.every(({ refusal }) => refusal === Refusal.none)
  // A decision whose answer is lost to overload or the end of the process is not reported at all.
  const isNamed = recordNamed(answer) === memory.sequence && answer.status !== 503
  if (!isDone) return refused(decision, answer, what, isNamed)
  if (isNamed && answer.status !== 200 && !showsNothing(decision, answer))
    return broken(`${what} was done, and is answered ${answer.status}: ${answer.text}`)
  if (answer.status !== 200 || !isKnown(asked, memory, model)) return holds
  const expected = Told.done(decision)
  return expected === undefined ? holds : difference(what, answer.json, allSpelledAs(answer.json, expected))
}

export const answersInFull: Property<Markets> = {
  name: "answers-tell-the-decision-in-full",
  invariant: "I5",
  kind: "safety",
  initial: () => new Markets(),
  observe: (markets, seen) => {
    const answer = answeredIn(seen)
    if (answer !== undefined) return answered(markets, answer)
    if (seen._tag === "Committed" && seen.decision.outcomes[0]?.refusal === Refusal.none) markets.done(seen.record.command)
    return holds
  }
}
