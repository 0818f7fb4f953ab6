/**
 * A run's own decisions as plain data: every call that a client or the operator began and every fault that struck, with its time.
 * Everything else follows from the seed: the schedule, delays, losses, what a torn write leaves.
 *
 * Ids created by an earlier step are written as symbols and resolved when a step is begun, so that a step means the same after others were
 * removed: `{account 3}`, `{key 3}` (the account's API key) and `{order 3/trader-3-k5#1}`, the second order that account 3 placed under
 * that Idempotency-Key. An order that was never placed becomes an id that no order has.
 */
import { orderId, parseOrderId } from "../../src/domain/Ids.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Draft, Identity } from "../workload/Calls.js"
import type { Crash, Injected, Operation } from "../world/SimDisk.js"

/** A call as it was begun. `id` is its number within the run that made it, and determines what the network does to it. */
export interface CallStep extends Omit<Draft, "accountId"> {
  readonly do: "call"
  readonly id: number
  /** Simulated milliseconds since the run began, as in all steps. */
  readonly atMs: number
  /** The number of the call that this one waited for: it begins when that call has its answer, where the script contains it. */
  readonly after?: number
}

export type FaultStep =
  /** The process dies after a number of its tasks, counted from now or from a later disk operation. */
  | { readonly do: "crash"; readonly atMs: number; readonly from: CrashFrom; readonly tasks: number; readonly loss: Crash }
  /** The next process to start dies after a number of its tasks. */
  | { readonly do: "crash at start"; readonly atMs: number; readonly tasks: number; readonly loss: Crash }
  /** The process dies at the moment in which all faults stop. */
  | { readonly do: "crash at the end"; readonly atMs: number; readonly loss: Crash }
  /** The process is asked to stop, and started again; `from`: as in a taken lock. */
  | { readonly do: "stop"; readonly atMs: number; readonly from?: "block" }
  /** The clock's reading jumps. */
  | { readonly do: "jump"; readonly atMs: number; readonly byMs: number }
  /** The clock's reading stands still. */
  | { readonly do: "freeze"; readonly atMs: number; readonly forMs: number }
  /** The disk is full: existing bytes can be overwritten, but no file is created or grows. */
  | { readonly do: "full disk"; readonly atMs: number; readonly forMs: number }
  /** The lock's file is removed under the process; for `heldMs` another process locks a new file in its place: 0 for none. */
  | {
    readonly do: "lock taken"
    readonly atMs: number
    readonly heldMs: number
    /** Just as the next block begins to be written. Absent, as in older scripts: at once. */
    readonly from?: "block"
  }
  /** The histories' database is damaged under the process. */
  | { readonly do: "histories damaged"; readonly atMs: number }
  /** The next operation of this kind fails, hangs, is slow, or goes astray (this only on a snapshot). */
  | {
    readonly do: "disk error"
    readonly atMs: number
    readonly operation: Operation
    readonly code: DiskCode
    /** How many such operations had begun at the same moment before it. Absent, as in older scripts: none. */
    readonly nth?: number
  }
/**
 * From when the tasks until a crash are counted: the next write of the journal, the next rename of a file, or the next rename of a segment
 * of the journal.
 */
export type CrashFrom = "now" | CrashMark
export type CrashMark = "journal write" | "rename" | "segment"
export type DiskCode = Injected

export type Step = CallStep | FaultStep

export interface Script {
  /** In the order in which they were begun. */
  readonly steps: ReadonlyArray<Step>
  /** When faults stop. */
  readonly endMs: number
}

export const isCall = (step: Step): step is CallStep => step.do === "call"

const orderPattern = /ord_[0-9a-z]+/g
const symbolPattern = /\{(account|key|order) ([0-9]+)(?:\/([^{}#]*)#([0-9]+))?\}/g

/** A well-formed id that no order gets. */
const noOrder = "ord_zzzzz"

/** A text with every id replaced by its symbol. */
const symbolic = (text: string, model: NaiveVenue, identities: ReadonlyArray<Identity>): string => {
  let result = text
  for (const { account, accountId, apiKey } of identities) {
    result = result.replaceAll(apiKey, `{key ${account}}`).replaceAll(accountId, `{account ${account}}`)
  }
  return result.replaceAll(orderPattern, (id) => {
    const order = model.orders.get(parseOrderId(id) ?? -1)
    if (order === undefined) return id
    const siblings = model.accounts[order.account]!.placed.filter((each) => each.idempotencyKey === order.idempotencyKey)
    return `{order ${order.account}/${order.idempotencyKey}#${siblings.indexOf(order)}}`
  })
}

/** A text with every symbol resolved. */
const literal = (text: string, model: NaiveVenue, identities: ReadonlyArray<Identity>): string =>
  text.replaceAll(symbolPattern, (whole, kind: string, index: string, key: string | undefined, at: string | undefined) => {
    const who = identities[Number(index)]
    if (kind !== "order") return (kind === "key" ? who?.apiKey : who?.accountId) ?? whole
    const order = model.accounts[Number(index)]?.placed.filter((each) => each.idempotencyKey === key)[Number(at)]
    return order === undefined ? noOrder : orderId(order.number)
  })

/** A call as a step. */
export const record = (
  draft: Draft,
  id: number,
  atMs: number,
  after: number | undefined,
  model: NaiveVenue,
  identities: ReadonlyArray<Identity>
): CallStep => {
  const { accountId: _, ...rest } = draft
  const text = (value: string): string => symbolic(value, model, identities)
  return {
    do: "call",
    id,
    atMs,
    ...(after === undefined ? {} : { after }),
    ...rest,
    target: text(draft.target),
    body: text(draft.body),
    token: text(draft.token)
  }
}

/** A step's call in the present state. */
export const draftOf = (step: CallStep, model: NaiveVenue, identities: ReadonlyArray<Identity>): Draft => {
  const { after: _after, atMs: _at, do: _do, id: _id, ...rest } = step
  const text = (value: string): string => literal(value, model, identities)
  return {
    ...rest,
    idempotencyKey: step.idempotencyKey,
    scope: step.scope,
    accountId: identities[step.account]?.accountId ?? "",
    target: text(step.target),
    body: text(step.body),
    token: text(step.token)
  }
}
