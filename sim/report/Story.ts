/**
 * A run as a person would tell it: who did what in the market's terms, which faults struck, what the venue
 * answered, what it committed, and which claim broke. Listens to a run; tells it when the run is over.
 */
import * as Order from "../../src/domain/Order.js"
import { formatDecimal } from "../../src/domain/Units.js"
import type { NaiveDecision } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Answer, Call, Observation } from "../properties/Observation.js"
import { type FaultStep, isCall, type Script } from "../run/Script.js"
import type { Failure, Report } from "../run/Request.js"
import type { Fate } from "../world/SimNetwork.js"

export interface Story {
  /** What a run is to be given as its `listen`. */
  readonly listen: (atEpochMs: number, seen: Observation) => void
  /** What a run is to be given as its `dealt`. */
  readonly dealt: (call: Call, fate: Fate) => void
  /** The story, line by line. */
  readonly tell: (report: Report, script: Script) => ReadonlyArray<string>
}

/** Something that happened, and what came of it. */
interface Scene {
  readonly atEpochMs: number
  readonly text: string
  /** Whether it is a step of the script: those are numbered. */
  readonly step: boolean
  readonly after: Array<string>
}

/** Lines that an answer or a journal's record may take. */
const widest = 200
const short = (text: string, most = widest): string => (text.length <= most ? text : `${text.slice(0, most - 3)}...`)

export const make = (startEpochMs: number): Story => {
  const scenes: Array<Scene> = []
  const byCall = new Map<number, Scene>()
  /** The scene of each Idempotency-Key that was used. */
  const byKey = new Map<string, Scene>()
  let model: NaiveVenue | undefined
  let opening = true

  const scene = (atEpochMs: number, text: string, step: boolean): Scene => {
    const made: Scene = { atEpochMs, text, step, after: [] }
    scenes.push(made)
    return made
  }

  const asked = (atEpochMs: number, call: Call, attempt: number): void => {
    const before = byCall.get(call.id)
    if (before !== undefined) {
      before.after.push(`asks again (${attempt})`)
      return
    }
    const restores = call.idempotencyKey?.startsWith("restore-") === true
    const made = scene(atEpochMs, `${call.client} ${describeCall(call)}`, !restores)
    byCall.set(call.id, made)
    if (call.idempotencyKey !== undefined && !byKey.has(keyOf(call))) byKey.set(keyOf(call), made)
  }

  const listen = (atEpochMs: number, seen: Observation): void => {
    switch (seen._tag) {
      case "Asked":
        // The opening is the operator's alone, and ends with the accounts.
        if (opening && seen.call.client !== "operator") opening = false
        if (!opening) asked(atEpochMs, seen.call, seen.attempt)
        return
      case "Answered":
        if (opening && seen.call.endpoint === "openDemoAccounts") opening = false
        ;({ model } = seen)
        byCall.get(seen.call.id)?.after.push(describeAnswer(seen.answer))
        return
      case "Unanswered":
        byCall.get(seen.call.id)?.after.push(seen.refused ? "nothing listens" : "no reply comes: it cannot know whether it was done")
        return
      case "Committed": {
        ;({ model } = seen)
        const { command } = seen.record
        const key = "idempotencyKey" in command ? command.idempotencyKey : ""
        const account = "account" in command ? command.account : -1
        const of = byKey.get(`${account}/${key}`)
        const lines = describeDecision(seen.decision, seen.model)
        if (of !== undefined) of.after.push(`record ${seen.record.sequence} is durable`, ...lines)
        else if (!opening && lines.length > 0) scene(atEpochMs, `record ${seen.record.sequence}, ${command.kind}`, false).after.push(...lines)
        return
      }
      case "Started":
        if (seen.incarnation > 1) scene(atEpochMs, `the process starts again (incarnation ${seen.incarnation})`, false)
        return
      case "Ready":
        if (seen.incarnation > 1) scene(atEpochMs, `the venue is ready, at record ${seen.sequence}`, false)
        return
      case "Crashed":
        scene(atEpochMs, `the process dies (incarnation ${seen.incarnation}${seen.ready ? "" : ", before it was ready"})`, false)
        return
      case "Ended":
        scene(atEpochMs, seen.asked ? "the process stops, as asked" : `the process ends by itself: ${short(seen.failure?.split("\n", 1)[0] ?? "")}`, false)
        return
      case "Healed":
        scene(atEpochMs, "all faults stop", false)
        return
      case "Replayed":
        scene(atEpochMs, `the journal is replayed from ${seen.from} to record ${seen.sequence}${seen.fault === undefined ? "" : `: ${seen.fault}`}`, false)
        return
      case "Flipped":
        scene(atEpochMs, `bit ${seen.bit} of byte ${seen.byte} of ${seen.path} flips; the start says: ${short(seen.refusal ?? "nothing, it serves")}`, false)
        return
      case "Settled":
      case "Inspected":
      case "Finished":
    }
  }

  const tell = (report: Report, script: Script): ReadonlyArray<string> => {
    const faults = script.steps.flatMap((step): ReadonlyArray<Scene> =>
      isCall(step) ? [] : [{ atEpochMs: startEpochMs + step.atMs, text: describeFault(step), step: true, after: [] }]
    )
    const all = [...faults, ...scenes].map((each, order) => ({ each, order }))
      .sort((a, b) => a.each.atEpochMs - b.each.atEpochMs || a.order - b.order)
    const { failure, options } = report
    const lines = [
      `Seed ${report.seed}: ${script.steps.length === 1 ? "1 step" : `${script.steps.length} steps`}.${failure === undefined ? "" : ` It breaks the claim "${claim(failure)}".`}`,
      `To begin with: ${model === undefined ? "no market" : describeMarkets(model)}; `
        + `${options.workload.traders} accounts with ${options.workload.collateral} USDC each.`
    ]
    let number = 0
    for (const { each } of all) {
      const at = `+${((each.atEpochMs - startEpochMs) / 1000).toFixed(3)} s`
      lines.push(`${each.step ? `${String(++number).padStart(4)}.` : "     "} ${at.padStart(11)}  ${each.text}`)
      for (const line of each.after) lines.push(`${" ".repeat(21)}${line}`)
    }
    if (failure !== undefined) lines.push(...describeFailure(failure))
    return lines
  }

  const dealt = (call: Call, fate: Fate): void => {
    const of = byCall.get(call.id)
    if (of === undefined) return
    if (fate.halfOpen) of.after.push("FAULT: the connection is half open, nothing will come back")
    if (fate.requestLost) of.after.push("FAULT: the request is lost on its way")
    else if (fate.replyLost) of.after.push("FAULT: the reply will be lost")
    if (fate.duplicated) of.after.push("FAULT: the request is delivered a second time")
  }

  return { listen, dealt, tell }
}

const keyOf = (call: Call): string => `${call.account}/${call.idempotencyKey}`

/** The claim that broke, in words: a property's name is one. */
export const claim = (failure: Failure): string => (failure.properties[0] ?? "").replaceAll("-", " ")

const describeFailure = (failure: Failure): ReadonlyArray<string> => [
  `Expected (${failure.kind}${failure.invariant === "" ? "" : `, ${failure.invariant}`}): ${claim(failure)}.`,
  `Seen at +${(failure.atMs / 1000).toFixed(3)} s, observation ${failure.step}:`,
  ...failure.what.split("\n").map((line) => `  ${short(line, 2 * widest)}`)
]

const describeMarkets = (model: NaiveVenue): string => model.markets.map(({ parameters }) => parameters.marketId).join(", ")

/** What a fault does, in words. */
export const describeFault = (step: FaultStep): string => {
  switch (step.do) {
    case "crash":
      return `FAULT: ${lossText(step.loss)} ${step.tasks} tasks from ${step.from === "now" ? "now" : "the next journal write"}`
    case "crash at start":
      return `FAULT: ${lossText(step.loss)} while the process starts, after ${step.tasks} tasks`
    case "crash at the end":
      return `FAULT: ${lossText(step.loss)} as faults stop`
    case "stop":
      return "the supervisor asks the process to stop"
    case "jump":
      return `FAULT: the clock jumps by ${(step.byMs / 1000).toFixed(3)} s`
    case "freeze":
      return `FAULT: the clock stands still for ${(step.forMs / 1000).toFixed(3)} s`
    case "disk error":
      return step.code === "hang"
        ? `FAULT: the next ${step.operation} never ends`
        : step.code === "misdirect"
        ? `FAULT: the next ${step.operation} of a snapshot goes astray`
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

const describeCall = (call: Call): string => {
  const body = parsed(call.body)
  const meant = call.intent === "malformed" || call.intent === "key with another body" || call.intent === "same key again" ? `, ${call.intent}` : ""
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
    case "haltEngine":
      return `halts the venue${key}`
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

/** What matters of a part of an answer: its telling fields, or all of it. */
const describePart = (part: unknown): string => {
  if (!isFields(part)) return JSON.stringify(part)
  if (isFields(part["order"])) return describePart(part["order"])
  if (isFields(part["error"])) return `refused: ${describePart(part["error"])}`
  const fields = told.flatMap((name) => (typeof part[name] === "string" || typeof part[name] === "number" ? [`${name} ${String(part[name])}`] : []))
  return fields.length === 0 ? JSON.stringify(part) : fields.join(", ")
}

const describeAnswer = ({ json, status, text }: Answer): string => {
  if (json === undefined) return short(`is answered ${status} ${text}`)
  const lists = isFields(json) ? [json["orders"], json["results"]] : [json]
  const list = lists.find((each): each is ReadonlyArray<unknown> => Array.isArray(each))
  return short(`is answered ${status}: ${list === undefined ? describePart(json) : list.map(describePart).join("; ")}`)
}

const describeDecision = (decision: NaiveDecision, model: NaiveVenue): ReadonlyArray<string> =>
  decision.fills.map(({ maker, market, price, size, taker }) => {
    const { parameters } = model.markets[market]!
    const quote = formatDecimal(price, parameters.priceScale)
    return `trades ${formatDecimal(size, parameters.quantityScale)} ${parameters.marketId} at ${quote}: account ${taker.account} `
      + `${Order.sides[taker.side] === "buy" ? "buys from" : "sells to"} account ${maker.account}`
  })

