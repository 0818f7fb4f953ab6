/** The account for which a socket may act, by the ticket shown on it, until that ticket expires. */
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import { type ApiKeyView, isTicketJustReplaced, type Reads, ticketExpiresAt, ticketStandingOf } from "../../engine/Reads.js"
import * as ApiKeys from "../../identity/ApiKeys.js"
import type { Place, Tickets } from "../../identity/Tickets.js"
import { scopeRead, scopeTrade } from "../../operations/identity/KeyGrant.js"
import { isKeyRevoked, keyOfFamily } from "../http/TicketRefusals.js"

export interface Authority {
  readonly family: number
  readonly apiKey: number
  readonly account: number
  readonly accountId: string
  /** Bit 0: read, bit 1: trade. */
  readonly scopes: number
  /** Whether the key may trade, with whatever scopes the ticket was minted. */
  readonly isOfTradingKey: boolean
  /** When the shown ticket expires, whatever becomes of its family. */
  readonly expiresAtEpochMs: number
}

type TicketReads = Pick<Reads, "accountId" | "apiKey" | "findTicketFamily">

/** The key that minted a family, if it may act. */
const goodKey = (reads: TicketReads, apiKey: number, atEpochMs: number): ApiKeyView | undefined => {
  const key = ApiKeys.standing(reads.apiKey(apiKey), atEpochMs)
  return typeof key === "string" ? undefined : key
}

/** The number of the key that minted a ticket; `none` where it is not known. */
export const keyOf = (tickets: Tickets, reads: TicketReads, text: string): number => {
  const place = tickets.verify(reads, text)
  return place === undefined ? none : keyOfFamily(reads, place.family)
}

/** A ticket that was rotated before the last rotation: somebody else holds a copy of it. */
export interface Stolen {
  readonly stolen: Place
}

/** The authority that a ticket gives a socket at a time, or why it gives none: `replaced` where only its successor does. */
export const authorityOf = (
  tickets: Tickets,
  reads: TicketReads,
  text: string,
  atEpochMs: number
): Authority | Stolen | Refusal | "replaced" => {
  const place = tickets.verify(reads, text)
  if (place === undefined) return Refusal.ticketInvalid
  const family = reads.findTicketFamily(place.family)
  switch (ticketStandingOf(family, place.generation, atEpochMs)) {
    case "invalid":
      return Refusal.ticketInvalid
    case "expired":
      return Refusal.ticketExpired
    case "revoked":
      return Refusal.ticketRevoked
    case "rotated":
      // A client with several connections may show it while the rotation is being asked for again: that is no sign of a copy.
      if (isTicketJustReplaced(family!, place.generation, atEpochMs)) return "replaced"
      return { stolen: place }
    // Whoever waits for an answer that was lost asks for it by the route; a socket it is not for. Its family stands.
    case "previous":
      return "replaced"
    case "current":
  }
  if (family === undefined) return Refusal.ticketExpired
  const key = goodKey(reads, family.apiKey, atEpochMs)
  if (key === undefined) return Refusal.ticketRevoked
  if ((family.scopes & scopeRead) === 0) return Refusal.keyScopeMissing
  return {
    family: family.family,
    apiKey: family.apiKey,
    account: family.account,
    accountId: reads.accountId(family.account),
    scopes: family.scopes,
    isOfTradingKey: (key.scopes & scopeTrade) !== 0,
    expiresAtEpochMs: ticketExpiresAt(family)
  }
}

/** Whether somebody took an authority away, as opposed to its ticket or its key having expired. */
export const wasRevoked = ({ apiKey, family }: Authority, reads: TicketReads): boolean =>
  isKeyRevoked(reads, apiKey) || reads.findTicketFamily(family)?.isEnded === true

/** Why an authority has ended at a time; undefined while it has not. */
export const endOf = ({ apiKey, expiresAtEpochMs, family }: Authority, reads: TicketReads, atEpochMs: number): Refusal | undefined => {
  // Expired families are forgotten eventually, and keys may expire with their tickets: neither counts as revoked.
  if (expiresAtEpochMs <= atEpochMs) return Refusal.ticketExpired
  const isGood = reads.findTicketFamily(family)?.isEnded === false && goodKey(reads, apiKey, atEpochMs) !== undefined
  return isGood ? undefined : Refusal.ticketRevoked
}
