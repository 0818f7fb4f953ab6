/**
 * What fills and orders' ends do to brackets: what opens a position arms those that its order came with, what lessens one trims
 * them, the newest first, and a position that is gone takes all of its own with it.
 */
import { Event } from "../EventLog.js"
import { nextSecond } from "../Deadlines.js"
import type { State } from "../State.js"
import type { Bracket } from "./Brackets.js"
import { directionOf, long } from "./Triggers.js"

/** Why a bracket ended or was lessened, by code: never renumber. */
export const BracketEnd = { user: 1, replaced: 2, done: 3, positionClosed: 4, trimmed: 5, orderEnded: 6 } as const
export type BracketEnd = (typeof BracketEnd)[keyof typeof BracketEnd]

/** Names of these, by code. */
export const bracketEnds = ["", "user", "replaced", "done", "position_closed", "reduce_only_exceeded", "order_ended"] as const

/** Has a bracket's triggers wait for their prices, or first for what has fired in its market to be worked off. */
export const arm = (state: State, bracket: Bracket): void => {
  if (state.brackets.isBehindIn(bracket.market)) state.brackets.wait(bracket, nextSecond(state.atEpochMs))
  else state.brackets.arm(bracket)
}

/** Has a bracket with a rest wait for the next second. */
export const waitOn = (state: State, bracket: Bracket): void => state.brackets.wait(bracket, nextSecond(state.atEpochMs))

/** Sets what a bracket has to close, and says so. */
export const resize = (state: State, bracket: Bracket, quantityAtoms: number): void => {
  bracket.quantityAtoms = quantityAtoms
  bracket.lastSequence = state.sequence
  state.events.event4(Event.BracketResized, bracket.number, bracket.account, bracket.market, quantityAtoms)
}

/** Ends a bracket, or what of it is armed while its order is open and may arm more. */
export const disarm = (state: State, bracket: Bracket, reason: BracketEnd): void => {
  if (!bracket.isOrderOpen) return end(state, bracket, reason)
  state.brackets.disarm(bracket)
  resize(state, bracket, 0)
}

/** Ends a bracket for good. */
export const end = (state: State, bracket: Bracket, reason: BracketEnd): void => {
  state.brackets.remove(bracket)
  state.events.event5(Event.BracketEnded, bracket.number, bracket.account, bracket.market, reason, bracket.quantityAtoms)
}

/** A fill of an order that changed a position from one quantity to another: what it opened is armed with what the order came with. */
export const armOpened = (state: State, orderNumber: number, before: number, after: number): void => {
  const bracket = state.brackets.find(orderNumber)
  if (bracket === undefined) return
  const opened = bracket.direction === long
    ? Math.max(0, after) - Math.max(0, before)
    : Math.max(0, -after) - Math.max(0, -before)
  if (opened <= 0) return
  const isArmed = bracket.quantityAtoms > 0
  resize(state, bracket, bracket.quantityAtoms + opened)
  if (!isArmed) arm(state, bracket)
}

/** A part of a bracket was closed by an order of its own: with all of it closed it is done, and its other trigger with it. */
export const close = (state: State, bracket: Bracket, sizeAtoms: number): void => {
  if (sizeAtoms < bracket.quantityAtoms) return resize(state, bracket, bracket.quantityAtoms - sizeAtoms)
  state.capacity.reached?.("a bracket was done")
  disarm(state, bracket, BracketEnd.done)
}

/** An order has ended: what it came with arms nothing more. */
export const endOrder = (state: State, orderNumber: number): void => {
  const bracket = state.brackets.find(orderNumber)
  if (bracket === undefined) return
  bracket.isOrderOpen = false
  bracket.lastSequence = state.sequence
  if (bracket.quantityAtoms === 0) end(state, bracket, BracketEnd.orderEnded)
}

/** Holds the brackets of a position to it: those of the other direction end, the others close as much as there is, the newest less. */
export const trim = (state: State, slot: number): void => {
  const { brackets, positions } = state
  const list = brackets.of(slot)
  if (list.length === 0) return
  const quantity = positions.quantity(slot)
  let excess = -Math.abs(quantity)
  for (const bracket of list.filter(({ quantityAtoms }) => quantityAtoms > 0)) {
    if (quantity === 0 || bracket.direction !== directionOf(quantity)) disarm(state, bracket, BracketEnd.positionClosed)
    else excess += bracket.quantityAtoms
  }
  for (let at = list.length - 1; at >= 0 && excess > 0; at--) {
    const bracket = list[at]!
    if (bracket.quantityAtoms === 0) continue
    const byAtoms = Math.min(excess, bracket.quantityAtoms)
    excess -= byAtoms
    state.capacity.reached?.("a bracket was trimmed")
    if (byAtoms === bracket.quantityAtoms) disarm(state, bracket, BracketEnd.trimmed)
    else resize(state, bracket, bracket.quantityAtoms - byAtoms)
  }
}
