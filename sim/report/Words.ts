/** The events of a run in the market's words: calls, answers, trades, faults, and the claim that broke. */
import type { Command } from "../../src/operations/Operations.js"
import * as Order from "../../src/domain/Order.js"
import { formatDecimal } from "../../src/domain/Units.js"
import type { NaiveDecision } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Answer, Call, Observation } from "../properties/Observation.js"
import type { Failure } from "../run/Request.js"
import type { FaultStep } from "../run/Script.js"

/** Most characters of an answer or a call. */
const widest = 200
/** A text cut to a width. */
const short = (text: string, most = widest): string => (text.length <= most ? text : `${text.slice(0, most - 3)}...`)

/** The broken claim in words: the property's name with spaces. */
export const claim = (failure: Failure): string => (failure.properties[0] ?? "").replaceAll("-", " ")

/** The property, the place and the message of a failure. */
export const describeFailure = (failure: Failure): ReadonlyArray<string> => [
  `Expected (${failure.kind}${failure.invariant === "" ? "" : `, ${failure.invariant}`}): ${claim(failure)}.`,
  `Seen at +${(failure.atMs / 1000).toFixed(3)} s, observation ${failure.step}:`,
  ...failure.what.split("\n").map((line) => `  ${short(line, 2 * widest)}`)
]

/** The ids of all markets. */
export const describeMarkets = (model: NaiveVenue): string => model.markets.map(({ parameters }) => parameters.marketId).join(", ")

/** A sample of the index feed; undefined for every other command. */
export const describeSample = (command: Command, model: NaiveVenue): string | undefined => {
  if (command.kind !== "SetIndexPrice" || command.idempotencyKey !== "") return undefined
  const { marketId, priceScale } = model.markets[command.market]!.parameters
  return `the feed says that the index of ${marketId} is ${formatDecimal(command.priceAtoms, priceScale)}`
}

/** An event of the process or its journal; undefined where it is not worth telling. */
export const describeEvent = (seen: Observation): string | undefined => {
  switch (seen._tag) {
    case "Started":
      return seen.incarnation > 1 ? `the process starts again (incarnation ${seen.incarnation}), under rules ${seen.rules}` : undefined
    case "StartRefused":
      return `the process refuses to start under rules ${seen.rules}: ${short(seen.why.split("\n", 1)[0] ?? "")}`
    case "Ready":
      return seen.incarnation > 1 ? `the venue is ready, at record ${seen.sequence}` : undefined
    case "Crashed":
      return `the process dies (incarnation ${seen.incarnation}${seen.ready ? "" : ", before it was ready"})`
    case "Ended":
      return seen.asked ? "the process stops, as asked" : `the process ends by itself: ${short(seen.failure?.split("\n", 1)[0] ?? "")}`
    case "Healed":
      return "all faults stop"
    case "Replayed":
      return `the journal is replayed from ${seen.from} to record ${seen.sequence}${seen.fault === undefined ? "" : `: ${seen.fault}`}`
    case "Flipped":
      return `bit ${seen.bit} of byte ${seen.byte} of ${seen.path} flips; the start says: ${short(seen.refusal ?? "nothing, it serves")}`
    case "Planted":
      return `planted is ${seen.what}; the start says: ${short(seen.came)}`
    case "Probed":
      return `${seen.what} comes to: ${short(seen.came)}`
    case "Drilled":
      return seen.fault === undefined ? undefined : `the drill of ${seen.what} finds: ${short(seen.fault)}`
    case "Misdirected":
      return `a write to ${seen.path} goes astray; the start says: ${short(seen.refusal ?? "nothing, it serves")}`
    default:
      return undefined
  }
}

/** A fault in words. */
export const describeFault = (step: FaultStep): string => {
  switch (step.do) {
    case "crash":
      return `FAULT: ${lossText(step.loss)} ${step.tasks} tasks from ${step.from === "now" ? "now" : `the next ${step.from}`}`
    case "crash at start":
      return `FAULT: ${lossText(step.loss)} while the process starts, after ${step.tasks} tasks`
    case "crash at the end":
      return `FAULT: ${lossText(step.loss)} as faults stop`
    case "stop":
      return "the supervisor asks the process to stop"
    case "jump":
      return `FAULT: the clock jumps by ${(step.byMs / 1000).toFixed(3)} s`
    case "full disk":
      return `FAULT: the disk has no more room for ${(step.forMs / 1000).toFixed(3)} s`
    case "lock taken":
      return step.heldMs === 0
        ? "FAULT: the lock's file is removed"
        : `FAULT: the lock's file is removed, and a stranger holds another's lock for ${(step.heldMs / 1000).toFixed(3)} s`
    case "histories damaged":
      return "FAULT: the histories' database is damaged"
    case "freeze":
      return `FAULT: the clock stands still for ${(step.forMs / 1000).toFixed(3)} s`
    case "disk error":
      return step.code === "hang"
        ? `FAULT: the next ${step.operation} never ends`
        : step.code === "misdirect"
        ? `FAULT: the next ${step.operation} of a snapshot goes astray`
        : step.code === "stall"
        ? `FAULT: the next ${step.operation} takes long`
        : `FAULT: the next ${step.operation} fails with ${step.code}`
  }
}

const lossText = (loss: "power" | "kill"): string => (loss === "power" ? "the power fails" : "the process is killed")

type Fields = { readonly [name: string]: unknown }
const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value)

const describeOrder = (order: unknown): string => {
  if (!isFields(order)) return JSON.stringify(order)
  const params = isFields(order["params"]) ? order["params"] : {}
  const all: Fields = { ...order, ...params }
  const side = all["side"] === "buy" ? "buys" : all["side"] === "sell" ? "sells" : `(side ${JSON.stringify(all["side"])})`
  const type = all["orderType"] ?? all["type"]
  const price = all["price"] === undefined ? "" : ` at ${String(all["price"])}`
  const marks = [
    ...(type === "limit" ? [] : [`${String(type)} order`]),
    ...(all["timeInForce"] === undefined ? [] : [String(all["timeInForce"])]),
    ...(all["postOnly"] === true ? ["post only"] : []),
    ...(all["reduceOnly"] === true ? ["reduce only"] : []),
    ...(all["selfTradePrevention"] === undefined ? [] : [String(all["selfTradePrevention"])])
  ]
  const what = `${side} ${String(all["quantity"] ?? all["amount"])} ${String(all["marketId"] ?? all["symbol"])}${price}`
  return marks.length === 0 ? what : `${what} (${marks.join(", ")})`
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A client's request, to follow its name. */
export const describeCall = (call: Call): string => {
  const body = parsed(call.body)
  const meant = call.intent === "malformed" || call.intent === "key with another body" || call.intent === "same key again"
    ? `, ${call.intent}`
    : ""
  const key = call.idempotencyKey === undefined ? "" : ` [${call.idempotencyKey}${meant}]`
  const list = isFields(body) && Array.isArray(body["orders"]) ? body["orders"] as ReadonlyArray<unknown> : body
  switch (call.endpoint) {
    case "placeOrder":
    case "createOrder":
      return `${describeOrder(body)}${key}`
    case "placeOrderBatch":
    case "createOrders":
      return Array.isArray(list) ? short(`in one batch: ${list.map(describeOrder).join("; ")}`) + key : rawCall(call) + key
    case "cancelOrder":
    case "cancelCompatOrder":
      return `cancels ${call.target.split("/").at(-2)}${key}`
    case "cancelOrderBatch":
      return Array.isArray(list)
        ? `cancels ${list.map((each) => isFields(each) ? String(each["orderId"]) : JSON.stringify(each)).join(", ")}${key}`
        : rawCall(call) + key
    case "setIndexPrice":
      return `moves the index of ${call.target.split("/").at(-2)} to ${isFields(body) ? String(body["price"]) : call.body}${key}`
    case "setMarketStatus":
      return `sets ${call.target.split("/").at(-2)} to ${isFields(body) ? String(body["status"]) : call.body}${key}`
    case "addToFund":
      return `moves ${isFields(body) ? String(body["amount"]) : call.body} of the fees into the insurance fund${key}`
    case "haltEngine":
      return `halts the venue${key}`
    case "setLimits":
      return `has decisions remembered for ${isFields(body) ? String(body["idempotencyRetentionMs"]) : call.body} ms${key}`
    case "resumeEngine":
      return `lifts the halt${key}`
    default:
      return rawCall(call) + key
  }
}

const rawCall = (call: Call): string => short(`asks ${call.method} ${call.target}${call.body === "" ? "" : ` with ${call.body}`}`)

const told: ReadonlyArray<string> = [
  "orderId",
  "id",
  "status",
  "filledQuantity",
  "filled",
  "remainingQuantity",
  "remaining",
  "cancelReason",
  "code",
  "name",
  "reason",
  "message"
]

/** The essential fields of a part of an answer, or all of it. */
const describePart = (part: unknown): string => {
  if (!isFields(part)) return JSON.stringify(part)
  if (isFields(part["order"])) return describePart(part["order"])
  if (isFields(part["error"])) return `refused: ${describePart(part["error"])}`
  const fields = told.flatMap((
    name
  ) => (typeof part[name] === "string" || typeof part[name] === "number" ? [`${name} ${String(part[name])}`] : []))
  return fields.length === 0 ? JSON.stringify(part) : fields.join(", ")
}

/** An answer in words. */
export const describeAnswer = ({ json, status, text }: Answer): string => {
  if (json === undefined) return short(`is answered ${status} ${text}`)
  const lists = isFields(json) ? [json["orders"], json["results"]] : [json]
  const list = lists.find((each): each is ReadonlyArray<unknown> => Array.isArray(each))
  return short(`is answered ${status}: ${list === undefined ? describePart(json) : list.map(describePart).join("; ")}`)
}

/** The trades of a record. */
export const describeDecision = (decision: NaiveDecision, model: NaiveVenue): ReadonlyArray<string> =>
  decision.fills.map(({ maker, market, price, size, taker }) => {
    const { parameters } = model.markets[market]!
    const quote = formatDecimal(price, parameters.priceScale)
    return `trades ${formatDecimal(size, parameters.quantityScale)} ${parameters.marketId} at ${quote}: account ${taker.account} `
      + `${Order.sides[taker.side] === "buy" ? "buys from" : "sells to"} account ${maker.account}`
  })
