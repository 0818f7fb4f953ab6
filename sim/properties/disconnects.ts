/**
 * Safety (I16). Orders placed over a connection that is to cancel them end with it, however it ends: by its client, by silence, or with
 * the process. A connection is armed only where its client asked for it; commands that a client sends over it are placed under it, and
 * nothing is after its end. From the record of its end on none of its orders trades, and none is open except those that end in the
 * following records; no other order is ever cancelled for it. And once its client is gone, it ends.
 */
import { CancelReason, open } from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Record } from "../../src/journal/Record.js"
import type { NaiveDecision } from "../model/NaiveState.js"
import { type NaiveVenue, scopeOfCommand } from "../model/NaiveVenue.js"
import type { Glance } from "./Glance.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface Connection {
  readonly id: string
  readonly account: number
  /** Orders placed under it that may be open. */
  readonly orders: Set<number>
  /** The record in which it ended; 0 before. */
  endedBy: number
}

interface State {
  /** The account of each connection whose client asked to arm it. */
  readonly asked: Map<string, number>
  /** By the record that armed it. */
  readonly armed: Map<number, Connection>
  /** The filled size of each order when its connection ended. */
  readonly filledAtEnd: Map<number, number>
  /** The connection of each order. */
  readonly ofOrder: Map<number, number>
  /** The connection over which a key was sent, by the key's scope. */
  readonly over: Map<string, string>
  /** When each client was gone, and whether silently. */
  readonly gone: Map<string, { readonly isSilent: boolean; readonly atEpochMs: number }>
  /** The last record that left work to the next. */
  behindAt: number
}

/** Longest time until the venue ends a connection, ms: after its client closes it, and after its client falls silent. */
const noticeMs = 4_000
const silenceMs = 25_000

const end = (state: State, connection: Connection, sequence: number, model: NaiveVenue): void => {
  if (connection.endedBy !== 0) return
  connection.endedBy = sequence
  for (const order of connection.orders) state.filledAtEnd.set(order, model.orders.get(order)!.filled)
}

const placed = (state: State, { command, sequence }: Record, { outcomes }: NaiveDecision): Verdict => {
  if (command.kind !== "PlaceOrders") return holds
  const scope = scopeOfCommand(command)
  const over = scope === undefined ? undefined : state.over.get(scope)
  const connection = state.armed.get(command.connection)
  if (over !== connection?.id) return broken(`record ${sequence} places under ${connection?.id}, and was sent over ${over}`)
  if (connection === undefined) return command.connection === -1 ? holds : broken(`record ${sequence} places under what was never armed`)
  if (connection.endedBy !== 0) {
    return broken(`record ${sequence} places under ${connection.id}, which ended in record ${connection.endedBy}`)
  }
  if (connection.account !== command.account) return broken(`record ${sequence} places under ${connection.id}, which is another account's`)
  for (const { orderNumber, refusal } of outcomes) {
    if (refusal !== Refusal.none) continue
    connection.orders.add(orderNumber)
    state.ofOrder.set(orderNumber, command.connection)
  }
  return holds
}

const committed = (state: State, { decision, model, record }: Observation & { readonly _tag: "Committed" }): Verdict => {
  const { command, sequence } = record
  if (model.isBehind) state.behindAt = sequence
  switch (command.kind) {
    case "ArmConnection": {
      if (state.asked.get(command.connectionId) !== command.account) {
        return broken(`record ${sequence} arms ${command.connectionId} for account ${command.account}, and nobody asked for that`)
      }
      state.armed.set(sequence, { id: command.connectionId, account: command.account, orders: new Set(), endedBy: 0 })
      return holds
    }
    case "EndConnection": {
      const connection = state.armed.get(command.connection)
      if (connection === undefined) return broken(`record ${sequence} ends connection ${command.connection}, which was never armed`)
      end(state, connection, sequence, model)
      return holds
    }
    case "StartVenue":
      for (const connection of state.armed.values()) end(state, connection, sequence, model)
      return holds
    default:
      return placed(state, record, decision)
  }
}

/** Checks the orders of connections until all have ended. */
const restingVerdict = (state: State, reads: Glance): Verdict => {
  for (const { account, endedBy, id, orders } of state.armed.values()) {
    for (const number of orders) {
      const view = reads.findOrder(account, number)
      const isOpen = view?.status === open
      if (endedBy === 0) {
        if (view?.cancelReason === CancelReason.disconnected) {
          return broken(`order ${number} was cancelled as disconnected, and its connection ${id} has not ended`)
        }
        if (!isOpen) orders.delete(number)
        continue
      }
      if (isOpen && state.behindAt !== reads.sequence) {
        return broken(`order ${number} is open at record ${reads.sequence}, and its connection ${id} ended in record ${endedBy}`)
      }
      if (view !== undefined && view.filledAtoms > state.filledAtEnd.get(number)!) {
        return broken(`order ${number} has traded behind record ${endedBy}, in which its connection ${id} ended`)
      }
      if (!isOpen) orders.delete(number)
    }
  }
  return holds
}

/** Checks that no order is cancelled for a connection that it was not placed under. */
const reasonVerdict = (state: State, reads: Glance, touched: NaiveDecision["touchedOrders"]): Verdict => {
  for (const { account, number } of touched) {
    if (reads.findOrder(account, number)?.cancelReason !== CancelReason.disconnected) continue
    const connection = state.armed.get(state.ofOrder.get(number) ?? -1)
    if (connection === undefined) return broken(`order ${number} was cancelled as disconnected, and was placed under no connection`)
  }
  return holds
}

/** Checks that a client long gone has no connection any more. */
const goneVerdict = ({ armed, gone }: State, atEpochMs: number): Verdict => {
  for (const { endedBy, id } of armed.values()) {
    const left = gone.get(id)
    if (endedBy !== 0 || left === undefined || atEpochMs - left.atEpochMs < (left.isSilent ? silenceMs : noticeMs)) continue
    return broken(`the client of ${id} has been ${left.isSilent ? "silent" : "gone"} since ${left.atEpochMs}, and it has not ended`)
  }
  return holds
}

export const disconnects: Property<State> = {
  name: "orders-end-with-their-connection",
  invariant: "I16",
  kind: "safety",
  initial: () => ({
    asked: new Map(),
    armed: new Map(),
    filledAtEnd: new Map(),
    ofOrder: new Map(),
    over: new Map(),
    gone: new Map(),
    behindAt: 0
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Arming":
        state.asked.set(seen.connectionId, seen.account)
        return holds
      case "SaidOver":
        state.over.set(seen.scope, seen.connectionId)
        return holds
      case "HungUp":
        if (!state.gone.has(seen.connectionId)) state.gone.set(seen.connectionId, seen)
        return holds
      case "Committed":
        return committed(state, seen)
      case "Inspected":
        return restingVerdict(state, seen.reads) ?? reasonVerdict(state, seen.reads, seen.decision?.touchedOrders ?? new Set())
      case "Finished":
        return goneVerdict(state, seen.atEpochMs)
      default:
        return holds
    }
  }
}
