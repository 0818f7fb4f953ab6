/**
 * Safety (I5). While a key is remembered, the same scope, key and body get the same response and no new record, whatever crashed or was
 * retried in between, also under a halt; another body is refused and has no effect; and there are never two orders with one clientOrderId.
 * Answers name the record of their decision, and all but one are marked as repeats.
 */
import { describe, Refusal } from "../../src/domain/Refusal.js"
import { scopeOfCommand } from "../model/NaiveVenue.js"
import { unspelled } from "../reading/Answers.js"
import { type Answer, answeredIn, type Call, type Observation, recordNamed, refusedAtEpochMs } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** The first decided answer by scope and record, with its request. */
  readonly answers: Map<string, {
    readonly request: string
    readonly body: string
    readonly answer: string
    readonly status: number
    /** Whether an answer has reported it as a new decision, and not as a repeat. */
    isTold: boolean
  }>
  /** The record that carried each scope. */
  readonly records: Map<string, number>
  /** Accepted orders by account and clientOrderId. */
  readonly clientOrderIds: Map<string, number>
  /** The durable record of a call's scope when an attempt was sent. */
  readonly asked: Map<string, number>
}

/** The only part that may differ between two responses to the same request. */
const moving = /"requestId":"[^"]*",?/g
/** The time of a key's last use is known to the process, and only journaled now and then, so repeats may differ in it. */
const uses = /,?"lastUsedAtEpochMs":(?:null|[0-9]+)/

/**
 * Whether an answer is a decision of the engine, success or refusal, and not a refusal to decide: for an operator an invalid market is
 * decided.
 */
const isDecision = (answer: Answer, { credential }: Call): boolean =>
  answer.status === 200 || answer.status === 403 || (answer.status === 404 && credential !== "operator") || answer.status === 422
  || (answer.status === 409 && /client_order_id_in_use|"already_seen"/.test(answer.text))

/** The canonical meaning of a call; its text where it is malformed. */
const meaning = ({ body, reading, target }: Call): string => reading._tag === "asked" ? reading.asked.canonical : `${target}\n${body}`

/** Whether the decision that a request already had when it was sent was still remembered when it was refused. */
const isKept = ({ answer, memory, model }: Extract<Observation, { readonly _tag: "Answered" }>, known: number | undefined): boolean =>
  memory !== undefined && memory.sequence === known && model.isRemembered(memory, refusedAtEpochMs(answer, model))

/** Whether an answer calls a request malformed: a decided request must not be, even if a market's grid has become known since. */
const isMalformed = ({ status, text }: Answer): boolean => status === 400 && !text.includes("apiKeyRejection")

/** Checks that no record repeats another, and that no two orders have one name. */
const committed = (state: State, seen: Extract<Observation, { readonly _tag: "Committed" }>): Verdict => {
  const { command, sequence } = seen.record
  if (seen.decision.illegal !== undefined) return broken(`record ${sequence}: ${seen.decision.illegal}`)
  const scope = scopeOfCommand(command)
  if (scope !== undefined) state.records.set(scope, sequence)
  if (command.kind === "PlaceOrders") {
    for (let index = 0; index < command.entries.length; index++) {
      const entry = command.entries[index]!
      const outcome = seen.decision.outcomes[index]!
      if (outcome.refusal !== Refusal.none || entry.clientOrderId === "") continue
      const name = `${command.account}/${entry.clientOrderId}`
      const earlier = state.clientOrderIds.get(name)
      const order = earlier === undefined ? undefined : seen.model.orders.get(earlier)
      if (order !== undefined && (order.endedAtEpochMs === 0 || seen.record.atEpochMs < order.endedAtEpochMs + order.retentionMs)) {
        return broken(`record ${sequence}: orders ${earlier} and ${outcome.orderNumber} share clientOrderId ${entry.clientOrderId}`)
      }
      state.clientOrderIds.set(name, outcome.orderNumber)
    }
  }
  return holds
}

export const idempotency: Property<State> = {
  name: "same-key-same-answer-and-no-new-record",
  invariant: "I5",
  kind: "safety",
  initial: () => ({ answers: new Map(), records: new Map(), clientOrderIds: new Map(), asked: new Map() }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") return committed(state, seen)
    if (seen._tag === "Asked") {
      const record = seen.call.scope === undefined ? undefined : state.records.get(seen.call.scope)
      if (record !== undefined) state.asked.set(`${seen.call.id}/${seen.attempt}`, record)
      return holds
    }
    const told = answeredIn(seen)
    if (told === undefined) return holds
    const { answer, call, memory, model } = told
    const { scope } = call
    if (scope === undefined) return holds
    const known = state.asked.get(`${call.id}/${told.attempt}`)
    const named = recordNamed(answer)
    const last = model.memory.get(scope)
    if (
      last !== undefined && last.sequence === known && named !== undefined && named < known && model.isRemembered(last, model.atEpochMs)
    ) {
      return broken(`key ${call.idempotencyKey} of ${call.endpoint} had been decided in record ${known}, and its answer names ${named}`)
    }
    if (answer.text.includes("engine_halted") && isKept(told, known)) {
      return broken(`key ${call.idempotencyKey} of ${call.endpoint} was decided in record ${known} and is refused as halted`)
    }
    if (answer.text.includes(describe(Refusal.journalFull).safeMessage) && isKept(told, known)) {
      return broken(`key ${call.idempotencyKey} of ${call.endpoint} was decided in record ${known} and finds no room in the journal`)
    }
    if (memory === undefined || !model.isRemembered(memory, model.atEpochMs)) return holds
    const request = meaning(call)
    const decided = `${scope} ${memory.sequence}`
    const first = state.answers.get(decided)
    if (answer.status === 409 && answer.text.includes("idempotency_key_conflict") && !answer.text.includes("rejectionGuard")) {
      // A forgotten key cannot open accounts a second time, since their own keys are derived from it.
      return first?.request === request && model.isRemembered(memory, refusedAtEpochMs(answer, model))
        ? broken(`key ${call.idempotencyKey} of ${call.endpoint} is refused to the body it was decided for`)
        : holds
    }
    if (isMalformed(answer) && first?.request === request && first.status !== 400 && isKept(told, known)) {
      return broken(`key ${call.idempotencyKey} of ${call.endpoint} was decided in record ${known} and is called malformed: ${answer.text}`)
    }
    if (!isDecision(answer, call)) return holds
    const text = answer.text.replace(moving, "").replace(uses, "")
    if (named !== undefined && named !== memory.sequence) {
      return broken(
        `key ${call.idempotencyKey} of ${call.endpoint} was decided in record ${memory.sequence}, and its answer names ${named}`
      )
    }
    const isRepeat = answer.headers["idempotent-replayed"] === "true"
    if (first === undefined) {
      state.answers.set(decided, {
        request,
        body: call.body,
        answer: text,
        status: answer.status,
        isTold: !isRepeat && seen._tag !== "AnsweredOver"
      })
      return holds
    }
    if (first.request !== request) {
      return broken(`key ${call.idempotencyKey} of ${call.endpoint} was decided for ${first.request} and answers ${request} too`)
    }
    // A refusal repeats the request's own words, and may differ only in their spelling.
    const isSame = first.answer === text || (first.body !== call.body && unspelled(first.answer) === unspelled(text))
    if (first.status !== answer.status || !isSame) {
      return broken(`key ${call.idempotencyKey} of ${call.endpoint}: first ${first.status} ${first.answer}, then ${answer.status} ${text}`)
    }
    // A frame is not marked as a repeat.
    if (seen._tag === "AnsweredOver") return holds
    if (!isRepeat && first.isTold)
      return broken(`key ${call.idempotencyKey} of ${call.endpoint} is answered twice as if it was decided just now`)
    first.isTold ||= !isRepeat
    return holds
  }
}
