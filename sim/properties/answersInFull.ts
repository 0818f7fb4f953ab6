/**
 * Safety (I5, member by member). The answer to a command is all that the contract says of its decision and nothing besides: every
 * member of what was accepted, in both its forms, and of what was refused the code, the guard, and what was compared. A repeat
 * is told the same, whatever has happened since.
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

/** Whether it names what cannot be an order: that is answered without a record, whatever else its key was used for. */
const namesNothing = ({ wanted }: Asked): boolean =>
  wanted.kind === "CancelByOperator" && wanted.orderId !== undefined && numberOf(wanted.orderId) < 0

/** Whether it gives a price that the market's grid does not have: that too is answered without a record, in the same code. */
const isOffGrid = ({ wanted }: Asked, markets: Markets): boolean => {
  if (wanted.kind !== "SetIndexPrice") return false
  const market = markets.find(wanted.market, "native")
  return market !== undefined && typeof atomsOf(wanted.price, market.priceScale) === "string"
}

/** Whether every entry of a request has its outcome: otherwise the memory is another request's, which others judge. */
const isOf = (asked: Asked, { outcomes }: NaiveMemory): boolean => {
  const { wanted } = asked
  if (namesNothing(asked)) return false
  if (wanted.kind === "PlaceOrders" || wanted.kind === "CancelOrders") return outcomes.length === wanted.orders.length
  return wanted.kind === "OpenDemoAccounts" || outcomes.length === 1
}

/** Whether the order that an answer speaks of is surely known still: of a forgotten one its terms are told as they were asked about. */
const isKnown = ({ wanted }: Asked, { outcomes }: NaiveMemory, model: Answered["model"]): boolean => {
  if (wanted.kind !== "AmendOrder" && !(wanted.kind === "CancelOrders" && wanted.family === "compat")) return true
  const order = model.orders.get(outcomes[0]!.orderNumber)
  return order !== undefined && isKept(order, model.atEpochMs)
}

const isBatch = ({ wanted }: Asked): boolean => "batch" in wanted && wanted.batch

/** Guards that tell a number as the request has it, where it has no atoms in its market. */
const asWritten: ReadonlySet<unknown> = new Set(["price_out_of_bounds", "quantity_out_of_bounds", "trigger_invalid"])

/**
 * What was expected of a refusal, with the number as the answer writes it where it is the same one: a request that is sent again may write
 * it with other zeros at its end than when it was decided.
 */
const spelledAs = (shown: unknown, expected: unknown): unknown => {
  if (!isObject(shown) || !isObject(expected)) return expected
  if (isObject(expected["info"])) return { ...expected, info: spelledAs(shown["info"], expected["info"]) }
  const { actual } = shown
  const isSame = isDecimal(actual) && isDecimal(expected["actual"]) && shortest(actual) === shortest(expected["actual"])
  return isSame && asWritten.has(expected["rejectionGuard"]) ? { ...expected, actual } : expected
}

/** The same of what a batch is answered, entry by entry. */
const allSpelledAs = (shown: unknown, expected: unknown): unknown => {
  if (Array.isArray(expected)) return expected.map((each, at) => spelledAs(Array.isArray(shown) ? shown[at] : undefined, each))
  if (!isObject(shown) || !isObject(expected) || !Array.isArray(expected["outcomes"])) return spelledAs(shown, expected)
  return { ...expected, outcomes: allSpelledAs(shown["outcomes"], expected["outcomes"]) }
}

/** The envelope of a refusal that was decided, but for what is drawn or said in words. */
const refused = (decision: Told.Decision, { json, status: answered }: Answer, what: string, isNamed: boolean): Verdict => {
  if (!isObject(json)) return isNamed ? broken(`${what} was refused, and is answered ${answered}`) : holds
  const isCompat = isObject(json["info"])
  const info = (isCompat ? json["info"] : json) as Json
  const { refusal } = decision.memory.outcomes.find((outcome) => outcome.refusal !== Refusal.none)!
  const { action, code, guard, status } = Refusals.of(refusal)
  // Where it names the record, it is about that.
  if (isNamed && (answered !== status || info["code"] !== code || info["rejectionGuard"] !== guard)) {
    return broken(`${what} was refused as ${status} ${code} ${guard ?? ""}, and is answered ${answered}: ${JSON.stringify(json)}`)
  }
  // Another failure, or the same one without the record: what is fenced is refused before it has one.
  if (info["code"] !== code || info["rejectionGuard"] !== guard || guard === "fenced") return holds
  // A number that is none on the market's grid is refused in the same words, and without a record.
  if (guard === undefined && mayBeMalformed(decision.asked, (name) => [decision.find(name)])) return holds
  const expected: Json = {
    version: "external-rest-error/v1",
    requestId: info["requestId"],
    code,
    safeMessage: info["safeMessage"],
    retryable: status === 429 || status === 503,
    recoveryActions: [action],
    occurredAtEpochMs: decision.memory.atEpochMs,
    rejectionGuard: guard,
    ...Told.refusal(decision)
  }
  return difference(what, info, spelledAs(info, expected))
}

/** What is answered with the keys that it came to. */
const showingKeys: ReadonlySet<string> = new Set(["RevokeKeyByOperator", "IssueBotKey", "OpenDemoAccounts"])

/** Whether what was done has nothing to show any more: of API keys that have ended only so many are remembered. */
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
  // What is overloaded on its way back, or ends with its process, is not told at all.
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
