/**
 * Approvals that the signer has yet to be asked for a signature by. It takes no counter of a passkey that goes back, so that what one has
 * approved is to come to it in the order in which it was approved.
 */
import type { Reads, TransferView } from "../engine/Reads.js"

const counterAt = 33

/** An authenticator's counter in what it said (WebAuthn, 6.1): behind the hash of the site's name, and the flags. */
export const counterOf = (authenticatorData: string): number => {
  const bytes = Buffer.from(authenticatorData, "base64url")
  return bytes.length < counterAt + 4 ? 0 : bytes.readUInt32BE(counterAt)
}

/**
 * Transfers of an account that a passkey has approved and whose signature has yet to be asked for, with a counter below another one. What
 * stands still until somebody helps is none of them, so that whatever waits for them comes to an end: a transaction whose time is over is
 * looked after first, and may stop for an operator.
 */
export const approvedBefore = (
  reads: Pick<Reads, "openTransfersOf" | "funds">,
  account: number,
  credentialId: string,
  counter: number,
  nowEpochMs: number
): ReadonlyArray<TransferView> =>
  reads.openTransfersOf(account).filter(({ awaits, kind, stepAtHand: step }) =>
    awaits === "submission" && step?.approval?.credentialId === credentialId
    && step.submissions.length + step.unlisted === 0
    && (kind !== "withdrawal" || reads.funds.stop === undefined)
    && (step.preparation?.maxRecordTimeEpochMs ?? 0) >= nowEpochMs
    && counterOf(step.approval.authenticatorData) < counter
  )
