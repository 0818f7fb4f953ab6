/**
 * Refusals of realtime tickets. Whoever has to mint another one is told whether the key that minted this one may still do so: after its
 * revocation it may not, however often it is asked; and a scope that the ticket lacks may be one that the key has.
 */
import { none } from "../../domain/None.js"
import { Refusal } from "../../domain/Refusal.js"
import type { Reads } from "../../engine/Reads.js"
import * as Errors from "./Errors.js"

/** The number of the key that minted a family's tickets; `none` where the family is not known. */
export const keyOfFamily = (reads: Pick<Reads, "findTicketFamily">, family: number): number =>
  reads.findTicketFamily(family)?.apiKey ?? none

/** Whether a key was revoked. Of one that has been forgotten nothing can be learned but that it ended long ago. */
export const isKeyRevoked = (reads: Pick<Reads, "apiKey">, apiKey: number): boolean => {
  const key = reads.apiKey(apiKey)
  return key === undefined || key.revokedAtEpochMs > 0
}

/** The failure for a refusal that a ticket of a key met. */
export const refusedTicket = (reads: Pick<Reads, "apiKey">, apiKey: number, refusal: Refusal): Errors.Failure =>
  refusal === Refusal.ticketRevoked && isKeyRevoked(reads, apiKey) ? Errors.ticketsKeyRevoked : Errors.refused(refusal)

/** The failure where a ticket of a key lacks a scope: the key has it, and the ticket was minted without, or the key lacks it as well. */
export const scopeMissing = (reads: Pick<Reads, "apiKey">, apiKey: number, scope: number): Errors.Failure =>
  ((reads.apiKey(apiKey)?.scopes ?? 0) & scope) === 0 ? Errors.refused(Refusal.keyScopeMissing) : Errors.ticketScopeMissing
