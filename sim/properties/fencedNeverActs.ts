/**
 * Safety (I5). Once a client has been told that a key or a clientOrderId is fenced, nothing is done under it until the moment named in the
 * answer, which is one retention later, or that of an earlier fence if later: a late original is refused without a record, or its entry
 * without an order. A key is fenced for everything that its account may request under a key, orders, money and names alike, except fences.
 * Nobody is told "fenced" of a name that was not fenced.
 */
import { isClient } from "../../src/operations/Operations.js"
import { ordinal } from "../../src/domain/Ids.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** The retention until an operator sets another, ms. */
const dayMs = 24 * 3_600_000

/** A record's number and time. */
interface Moment {
  readonly sequence: number
  readonly atEpochMs: number
}

/** A fence that was confirmed to a client. */
interface Fence extends Moment {
  readonly holdsUntilEpochMs: number
}

interface State {
  /** The last confirmed fence, by account and key. */
  readonly keys: Map<string, Fence>
  /** The last confirmed fence of each clientOrderId, by account and clientOrderId. */
  readonly clientOrderIds: Map<string, Fence & { readonly account: number; readonly clientOrderId: string }>
  /** The last record under each account and key, except fences. */
  readonly acted: Map<string, Moment>
  /** Each retention with the first record that had it, latest first. */
  readonly retentions: Array<{ readonly sequence: number; readonly retentionMs: number }>
}

const isWithin = (fence: Fence, record: Moment): boolean => record.sequence > fence.sequence && record.atEpochMs < fence.holdsUntilEpochMs

const judge = (state: State, name: string): Verdict => {
  const fence = state.keys.get(name)
  const record = state.acted.get(name)
  if (fence === undefined || record === undefined || !isWithin(fence, record)) return holds
  return broken(`key ${name} was fenced at ${fence.sequence} and acted at ${record.sequence}`)
}

/** Until when the fence that was confirmed before a record holds; 0 where there was none. */
const before = (state: State, account: number, key: unknown, clientOrderId: unknown, sequence: number): number => {
  const fence = typeof key === "string"
    ? state.keys.get(`${account}/${key}`)
    : state.clientOrderIds.get(`${account}/${String(clientOrderId)}`)
  return fence === undefined || fence.sequence > sequence ? 0 : fence.holdsUntilEpochMs
}

const text = (json: unknown, name: string): unknown =>
  typeof json === "object" && json !== null ? (json as { readonly [name: string]: unknown })[name] : undefined

export const fencedNeverActs: Property<State> = {
  name: "fenced-never-acts",
  invariant: "I5",
  kind: "safety",
  initial: () => ({ keys: new Map(), clientOrderIds: new Map(), acted: new Map(), retentions: [{ sequence: 0, retentionMs: dayMs }] }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") {
      const { atEpochMs, command, sequence } = seen.record
      if (command.kind === "SetLimits") state.retentions.unshift({ sequence, retentionMs: command.retentionMs })
      if (!isClient(command) || command.kind === "FenceOutcome" || command.idempotencyKey === "") return holds
      const name = `${command.account}/${command.idempotencyKey}`
      state.acted.set(name, { sequence, atEpochMs })
      return judge(state, name)
    }
    if (seen._tag === "Inspected") {
      const { reads } = seen
      for (const fence of state.clientOrderIds.values()) {
        if (!seen.whole && seen.decision?.touchedAccounts.has(fence.account) !== true) continue
        const order = reads.findClientOrder(fence.account, fence.clientOrderId)
        if (order === undefined || order.orderNumber < ordinal(fence.sequence, 0)) continue
        if (order.createdAtEpochMs >= fence.holdsUntilEpochMs) continue
        return broken(`clientOrderId ${fence.clientOrderId} was fenced at ${fence.sequence} and order ${order.orderNumber} has it`)
      }
      return holds
    }
    if (seen._tag !== "Answered" || !["trader", "issued"].includes(seen.call.credential) || seen.call.scope === undefined) return holds
    const { answer, call, model } = seen
    if (call.endpoint === "fenceOutcome" && answer.status === 200) {
      const sequence = Number(text(answer.json, "lastSequence"))
      const atEpochMs = Number(text(answer.json, "decidedAtEpochMs"))
      const holdsUntilEpochMs = Number(text(answer.json, "holdsUntilEpochMs"))
      const { retentionMs } = state.retentions.find((each) => each.sequence <= sequence)!
      const key = text(answer.json, "fencedIdempotencyKey")
      const least = Math.max(atEpochMs + retentionMs, before(state, call.account, key, text(answer.json, "fencedClientOrderId"), sequence))
      if (holdsUntilEpochMs < least) return broken(`a fence of ${atEpochMs} holds until ${holdsUntilEpochMs}, and ${least} was promised`)
      const clientOrderId = text(answer.json, "fencedClientOrderId")
      if (typeof key === "string") {
        const name = `${call.account}/${key}`
        state.keys.set(name, { sequence, atEpochMs, holdsUntilEpochMs })
        return judge(state, name)
      }
      if (typeof clientOrderId !== "string") return broken(`a fence stands around nothing: ${answer.text}`)
      state.clientOrderIds.set(`${call.account}/${clientOrderId}`, {
        sequence,
        atEpochMs,
        holdsUntilEpochMs,
        account: call.account,
        clientOrderId
      })
      return holds
    }
    const told = answer.status === 409 && answer.text.includes("\"rejectionGuard\":\"fenced\"")
    if (!told) return holds
    // A single placement is refused for its key or for its clientOrderId: one of them must have been fenced.
    const body = call.body === "" ? undefined : (JSON.parse(call.body) as unknown)
    const clientOrderId = text(body, "clientOrderId") ?? text(text(body, "params"), "clientOrderId")
    const fenced = model.wasFenced(call.account, "key", call.idempotencyKey ?? "")
      || (typeof clientOrderId === "string" && model.wasFenced(call.account, "clientOrderId", clientOrderId))
    return fenced ? holds : broken(`key ${call.idempotencyKey} of ${call.client} is called fenced and nobody fenced it`)
  }
}
