/**
 * Approvals for which the signer has not been asked for a signature yet. It refuses passkey counters that go backwards, so
 * approvals by one passkey have to reach it in order.
 */
import type { Reads, TransferView } from "../engine/Reads.js"

const counterAt = 33

/** The authenticator's counter in its data (WebAuthn, 6.1): after the hash of the site's name, and the flags. */
export const counterOf = (authenticatorData: string): number => {
  const bytes = Buffer.from(authenticatorData, "base64url")
  return bytes.length < counterAt + 4 ? 0 : bytes.readUInt32BE(counterAt)
}

/**
 * Transfers of an account that a passkey has approved with a lower counter, and whose signature has not been requested yet.
 * Transfers that are blocked until somebody intervenes are left out, so that waiting for these ends: a transaction whose time is
 * over is checked first, and may stop for an operator.
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
