/** How commands about realtime tickets are decided. */
import { assert } from "../../domain/Assert.js"
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { TicketIssued } from "../../operations/identity/Credentials.js"
import type { EndTickets } from "../../operations/identity/EndTickets.js"
import type { MintTicket } from "../../operations/identity/MintTicket.js"
import type { RotateTicket } from "../../operations/identity/RotateTicket.js"
import { type Refused, refused } from "../../operations/Outcome.js"
import { Event } from "../EventLog.js"
import type { State } from "../State.js"
import { expiresAt, familyMs, type Standing, standingOf, type TicketFamily } from "./Tickets.js"

/** What refuses the minting of a ticket without a record. */
export const refusesMint = (state: State, { account, credential, scopes }: MintTicket, atEpochMs: number): Refusal => {
  const { apiKeys, identity: { bounds, tickets } } = state
  if ((apiKeys.scopes(credential) & scopes) !== scopes) return Refusal.keyScopeMissing
  if (tickets.isFull(atEpochMs)) return Refusal.tableFull
  if (tickets.liveOf(credential, atEpochMs).length >= bounds.familiesOfKey) return Refusal.ticketFamilies
  return tickets.isBeyondPart(account, atEpochMs) ? Refusal.accountShare : Refusal.none
}

/** The current ticket of a family, as an outcome. */
const issued = ({ events }: State, family: TicketFamily): TicketIssued => {
  const expiresAtEpochMs = expiresAt(family)
  events.event4(Event.TicketIssued, family.family, family.apiKey, family.generation, expiresAtEpochMs)
  return { _tag: "TicketIssued", account: family.account, family: family.family, generation: family.generation, expiresAtEpochMs }
}

export const mint = (state: State, { account, credential: apiKey, scopes }: MintTicket): TicketIssued => {
  const { apiKeys, atEpochMs, identity: { tickets } } = state
  tickets.makeRoom(apiKey, atEpochMs)
  const family: TicketFamily = {
    family: tickets.total,
    apiKey,
    account,
    scopes,
    begunAtEpochMs: atEpochMs,
    endsAtEpochMs: Math.min(atEpochMs + familyMs, apiKeys.expiresAt(apiKey)),
    generation: 0,
    rotatedAtEpochMs: atEpochMs,
    isRepeated: false,
    isEnded: false
  }
  tickets.add(family)
  return issued(state, family)
}

/** The refusal for each standing of a ticket. */
const refusalOf: Readonly<Record<Standing, Refusal>> = {
  current: Refusal.none,
  previous: Refusal.none,
  // Decided in a record, since it ends the family.
  rotated: Refusal.none,
  expired: Refusal.ticketExpired,
  revoked: Refusal.ticketRevoked,
  invalid: Refusal.ticketInvalid
}

/** What refuses a rotation without a record. */
export const refusesRotation = ({ identity }: State, { family, generation }: RotateTicket, atEpochMs: number): Refusal =>
  refusalOf[standingOf(identity.tickets.find(family), generation, atEpochMs)]

/** The outcome of a rotation, and the family that it ended because somebody held a copy of the ticket. */
interface Rotated {
  readonly outcome: TicketIssued | Refused
  readonly stolenFrom: TicketFamily | undefined
}

export const rotate = (state: State, command: RotateTicket): Rotated => {
  const { atEpochMs, identity: { tickets } } = state
  const family = tickets.find(command.family)
  assert(family !== undefined, "a ticket is rotated in a family that there is")
  const standing = standingOf(family, command.generation, atEpochMs)
  if (standing === "rotated") {
    end(state, family)
    return { outcome: refused(Refusal.ticketRotated, none), stolenFrom: family }
  }
  if (standing === "previous") {
    tickets.repeat(family)
    return { outcome: issued(state, family), stolenFrom: undefined }
  }
  return { outcome: issued(state, tickets.rotate(family, atEpochMs)), stolenFrom: undefined }
}

/** Ends a family, so that none of its tickets is valid any more. */
export const end = ({ events, identity: { tickets } }: State, family: TicketFamily): void => {
  tickets.end(family)
  events.event2(Event.TicketsEnded, family.family, family.apiKey)
}

/** Ends the family of a current or previous ticket, unless it has ended already. */
export const endBy = (state: State, { family: number, generation }: EndTickets): void => {
  const family = state.identity.tickets.find(number)
  if (family === undefined || family.isEnded) return
  if (generation === family.generation || generation === family.generation - 1) end(state, family)
}
