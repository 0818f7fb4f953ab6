/**
 * Safety (I5 for a client that lost an answer). A lookup reports the decision, all that is remembered and nothing else: "never seen" only
 * of a key that no record ever carried, "unknown" only where something may have been forgotten.
 */
import * as Ids from "../../src/domain/Ids.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { NaiveMemory, NaiveOutcome } from "../model/NaiveState.js"
import { type NaiveVenue, scopeOfCommand } from "../model/NaiveVenue.js"
import * as Lookups from "../reading/Lookups.js"
import * as Refusals from "../reading/Refusals.js"
import { difference } from "./Difference.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface Entry {
  readonly index: number
  readonly accepted: boolean
  readonly orderId?: string
  readonly status?: string
  readonly cancelReason?: string
  readonly filledQuantityAtoms?: string
  readonly canceledQuantityAtoms?: string
  readonly canceledOrders?: number
  readonly depositId?: string
  readonly withdrawalId?: string
  readonly partyChangeId?: string
  readonly code?: string
  readonly rejectionGuard?: string
  readonly retryable?: boolean
  readonly recoveryActions?: ReadonlyArray<string>
}

interface Decision {
  readonly operation: string
  readonly sequence: number
  readonly decidedAtEpochMs: number
  readonly entries: ReadonlyArray<Entry>
}

interface Lookup {
  readonly accountId: string
  readonly idempotencyKey?: string
  readonly clientOrderId?: string
  readonly outcome: "accepted" | "refused" | "never_seen" | "unknown_expired"
  readonly fenced: boolean
  readonly decisions: ReadonlyArray<Decision>
  readonly order?: { readonly orderId: string }
  readonly journalSequence: number
}

/** The request of every record that carried a key, by its code. */
interface State {
  readonly requests: Map<number, number>
}

/** Checks a refused entry; its order id is checked where orders were placed. */
const refusedVerdict = (what: string, operation: string, { orderId, ...entry }: Entry, { orderNumber, refusal }: NaiveOutcome): Verdict => {
  const { action, code, guard } = Refusals.of(refusal)
  return difference(what, { orderId: Lookups.places(operation) ? orderId : undefined, ...entry }, {
    index: entry.index,
    accepted: false,
    orderId: Lookups.places(operation) && orderNumber >= 0 ? Ids.orderId(orderNumber) : undefined,
    code,
    rejectionGuard: guard,
    retryable: action === "wait_and_retry_same_identity",
    recoveryActions: [action]
  })
}

/** About triggers a lookup reports only that they were set; their present state is read elsewhere. */
const isOfTriggers = (operation: string): boolean => /^(set_auto_close|cancel_auto_close|cancel_triggers)$/.test(operation)

const entriesVerdict = (what: string, operation: string, entries: ReadonlyArray<Entry>, memory: NaiveMemory): Verdict => {
  if (entries.length !== memory.outcomes.length)
    return broken(`${what} has ${entries.length} entries, decided were ${memory.outcomes.length}`)
  for (let index = 0; index < entries.length; index++) {
    const entry = entries[index]!
    const outcome = memory.outcomes[index]!
    const accepted = outcome.refusal === Refusal.none
    if (entry.index !== index) return broken(`${what}, entry ${index}: is called ${entry.index}`)
    if (entry.accepted !== accepted) return broken(`${what}, entry ${index}: accepted is ${entry.accepted}, decided was ${accepted}`)
    if (!accepted) {
      const verdict = refusedVerdict(`${what}, entry ${index}`, operation, entry, outcome)
      if (verdict !== undefined) return verdict
      continue
    }
    if (isOfTriggers(operation)) {
      if (entry.orderId !== undefined || entry.canceledOrders !== undefined) return broken(`${what}, entry ${index} speaks of orders`)
      continue
    }
    if (outcome.orderNumber < 0) {
      if ((entry.canceledOrders ?? 0) !== outcome.canceled)
        return broken(`${what}: ${entry.canceledOrders} orders cancelled, decided were ${outcome.canceled}`)
      continue
    }
    const same = entry.orderId === Ids.orderId(outcome.orderNumber)
      && entry.status === Order.statuses[outcome.status]
      && (entry.cancelReason ?? "") === Order.cancelReasons[outcome.cancelReason]
      && entry.filledQuantityAtoms === String(outcome.filled)
      && entry.canceledQuantityAtoms === String(outcome.canceled)
    if (!same)
      return broken(
        `${what}, entry ${index} is ${
          JSON.stringify(entry)
        }, decided was order ${outcome.orderNumber} ${outcome.status}, filled ${outcome.filled}`
      )
  }
  return holds
}

/** For a transfer a lookup reports the id to read it by; for anything else, none. */
const transferVerdict = (what: string, entry: Entry | undefined, model: NaiveVenue, { sequence }: NaiveMemory): Verdict => {
  const { depositId, partyChangeId, withdrawalId }: Partial<Entry> = entry ?? {}
  const transfer = model.funds.transfers.find(({ number }) => number === sequence * Ids.idsPerRecord)
  const same = depositId === (transfer?.kind === "deposit" ? Ids.depositId(transfer.number) : undefined)
    && withdrawalId === (transfer?.kind === "withdrawal" ? Ids.withdrawalId(transfer.number) : undefined)
    && partyChangeId === (transfer?.kind === "party_change" ? Ids.partyChangeId(transfer.number) : undefined)
  return same
    ? holds
    : broken(`${what}: tells of ${JSON.stringify(entry)}, asked for was ${transfer?.kind ?? "nothing"} ${transfer?.number}`)
}

/** Checks the name of the request, and when it was decided. */
const headVerdict = (
  what: string,
  state: State,
  { decidedAtEpochMs, operation }: Decision,
  { atEpochMs, sequence }: NaiveMemory
): Verdict => {
  const name = Lookups.nameOf(state.requests.get(sequence))
  if (operation !== name) return broken(`${what}: is called ${operation}, was ${name}`)
  return decidedAtEpochMs === atEpochMs ? holds : broken(`${what}: is said to be of ${decidedAtEpochMs}, was decided at ${atEpochMs}`)
}

const keyVerdict = (what: string, lookup: Lookup, state: State, model: NaiveVenue, account: number): Verdict => {
  const key = lookup.idempotencyKey!
  const decided = model.everDecided(account, key).filter((memory) => memory.kept && memory.sequence <= lookup.journalSequence)
  for (const decision of lookup.decisions) {
    const memory = decided.find((each) => each.sequence === decision.sequence)
    if (memory === undefined) return broken(`${what}: tells of record ${decision.sequence}, which did not carry the key`)
    const verdict = headVerdict(`${what}: record ${decision.sequence}`, state, decision, memory)
      ?? entriesVerdict(`${what}: record ${decision.sequence}`, decision.operation, decision.entries, memory)
      ?? transferVerdict(`${what}: record ${decision.sequence}`, decision.entries[0], model, memory)
    if (verdict !== undefined) return verdict
  }
  for (const memory of decided) {
    if (!model.isRemembered(memory, model.atEpochMs)) continue
    if (!lookup.decisions.some((decision) => decision.sequence === memory.sequence))
      return broken(`${what}: is silent about record ${memory.sequence}`)
  }
  const accepted = lookup.decisions.some((decision) => decision.entries.some((entry) => entry.accepted))
  const known = accepted ? "accepted" : lookup.decisions.length > 0 ? "refused" : undefined
  if (known !== undefined) return lookup.outcome === known ? holds : broken(`${what}: is called ${lookup.outcome}, was ${known}`)
  if (lookup.outcome === "never_seen" && decided.length > 0)
    return broken(`${what}: is called never seen, record ${decided[0]!.sequence} carried it`)
  return holds
}

const clientOrderVerdict = (what: string, lookup: Lookup, model: NaiveVenue, account: number, clientOrderId: string): Verdict => {
  const placed = model.accounts[account]!.placed.filter((order) =>
    order.clientOrderId === clientOrderId && Ids.sequenceOf(order.number) <= lookup.journalSequence
  )
  if (lookup.order !== undefined) {
    const { order } = lookup
    if (lookup.outcome !== "accepted") return broken(`${what}: has an order and is called ${lookup.outcome}`)
    return placed.length > 0 && Ids.orderId(placed.at(-1)!.number) === order.orderId
      ? holds
      : broken(`${what}: shows ${order.orderId}, which is not the last one to have it`)
  }
  // The histories know what the engine has forgotten.
  if (placed.length > 0) return broken(`${what}: is silent about order ${placed[0]!.number}`)
  return lookup.outcome === "accepted" || lookup.outcome === "refused"
    ? broken(`${what}: is called ${lookup.outcome} without an order`)
    : holds
}

export const lookups: Property<State> = {
  name: "lookups-tell-what-was-decided",
  invariant: "I5",
  kind: "safety",
  initial: () => ({ requests: new Map() }),
  observe: (state, seen) => {
    if (seen._tag === "Committed") {
      const { command, sequence } = seen.record
      if (scopeOfCommand(command) !== undefined) state.requests.set(sequence, command.operation)
      return holds
    }
    if (seen._tag !== "Answered" || seen.call.endpoint !== "lookUpOutcome" || seen.answer.status !== 200) return holds
    const { answer, call, model } = seen
    const lookup = answer.json as Lookup
    const query = new URLSearchParams(call.target.split("?")[1] ?? "")
    const key = query.get("idempotencyKey")
    const clientOrderId = query.get("clientOrderId") ?? ""
    const what = `the lookup of ${key ?? clientOrderId} of ${call.client}`
    const [kind, name] = key === null ? ["clientOrderId", clientOrderId] as const : ["key", key] as const
    const { accountId, clientOrderId: shownId, idempotencyKey } = lookup
    const verdict = difference(what, { accountId, idempotencyKey, clientOrderId: shownId }, {
      accountId: call.accountId,
      idempotencyKey: key ?? undefined,
      clientOrderId: key === null ? clientOrderId : undefined
    })
    if (verdict !== undefined) return verdict
    const fence = model.fence(call.account, kind, name)
    if (lookup.fenced && fence === undefined) return broken(`${what}: is called fenced and nobody fenced it`)
    if (
      !lookup.fenced && fence !== undefined && fence.sequence <= lookup.journalSequence
      && model.isFenced(call.account, kind, name, model.atEpochMs)
    ) {
      return broken(`${what}: was fenced by record ${fence.sequence} and is not called so`)
    }
    if (lookup.outcome === "unknown_expired" && !model.mayHaveForgotten(call.account, model.atEpochMs)) {
      return broken(`${what}: is called unknown, nothing of the account can have been forgotten`)
    }
    return key === null
      ? clientOrderVerdict(what, lookup, model, call.account, clientOrderId)
      : keyVerdict(what, lookup, state, model, call.account)
  }
}
