/**
 * Refusals of realtime tickets. Whoever has to mint another one is told whether the key that minted this one may still do so: after its
 * revocation it may not, however often it is asked.
 */
import { Refusal } from "../../domain/Refusal.js"
import type { Reads } from "../../engine/Reads.js"
import * as Errors from "./Errors.js"

/** The failure for a refusal that a ticket of a key met. A key that is not known any more ended long ago. */
export const refusedTicket = (reads: Pick<Reads, "apiKey">, apiKey: number, refusal: Refusal): Errors.Failure => {
  if (refusal !== Refusal.ticketRevoked) return Errors.refused(refusal)
  const key = reads.apiKey(apiKey)
  return key === undefined || key.revokedAtEpochMs > 0 ? Errors.ticketsKeyRevoked : Errors.refused(refusal)
}
