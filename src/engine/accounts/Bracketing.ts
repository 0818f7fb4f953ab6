/**
 * Effects of fills and ended orders on brackets: a fill that opens a position arms the brackets that its order came with, one that
 * reduces a position trims them, newest first, and a closed position ends all of its brackets.
 */
import { Event } from "../EventLog.js"
import { nextSecond } from "../Deadlines.js"
import type { State } from "../State.js"
import type { Bracket } from "./Brackets.js"
import { directionOf, long } from "./Triggers.js"

/** Why a bracket ended or was lessened, by code: never renumber. */
export const BracketEnd = { user: 1, replaced: 2, done: 3, positionClosed: 4, trimmed: 5, orderEnded: 6 } as const
export type BracketEnd = (typeof BracketEnd)[keyof typeof BracketEnd]

/** Names of these codes. */
export const bracketEnds = ["", "user", "replaced", "done", "position_closed", "reduce_only_exceeded", "order_ended"] as const

/** Arms a bracket's triggers, or lets it wait until the fired triggers of its market are worked off. */
export const arm = (state: State, bracket: Bracket): void => {
  if (state.brackets.isBehindIn(bracket.market)) state.brackets.wait(bracket, nextSecond(state.atEpochMs))
  else state.brackets.arm(bracket)
}

/** Lets a bracket that has something left wait for the next second. */
export const waitOn = (state: State, bracket: Bracket): void => state.brackets.wait(bracket, nextSecond(state.atEpochMs))

/** Sets the quantity of a bracket, and publishes it. */
export const resize = (state: State, bracket: Bracket, quantityAtoms: number): void => {
  bracket.quantityAtoms = quantityAtoms
  bracket.lastSequence = state.sequence
  state.events.event4(Event.BracketResized, bracket.number, bracket.account, bracket.market, quantityAtoms)
}

/** Ends a bracket or, while its order is open and may arm more, only its armed quantity. */
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

/** After a fill of an order changed a position: the quantity that it opened is armed with the order's bracket. */
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

/** After an order of a bracket closed a part of it: once all of it is closed, the bracket ends with both triggers. */
export const close = (state: State, bracket: Bracket, sizeAtoms: number): void => {
  if (sizeAtoms < bracket.quantityAtoms) return resize(state, bracket, bracket.quantityAtoms - sizeAtoms)
  state.capacity.reached?.("a bracket was done")
  disarm(state, bracket, BracketEnd.done)
}

/** After an order has ended: its bracket arms nothing more. */
export const endOrder = (state: State, orderNumber: number): void => {
  const bracket = state.brackets.find(orderNumber)
  if (bracket === undefined) return
  bracket.isOrderOpen = false
  bracket.lastSequence = state.sequence
  if (bracket.quantityAtoms === 0) end(state, bracket, BracketEnd.orderEnded)
}

/**
 * Trims the brackets of a position: those of the other direction end, and the others together close no more than its size, the
 * newest being trimmed first.
 */
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
