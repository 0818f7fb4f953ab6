/**
 * The challenges that an owner's assertion signs to approve something. The venue puts them to browsers, and the signer computes them again
 * from what it has decoded itself, so that an assertion is good for one transaction, or one change of pins, and no other.
 */
import canonicalize from "canonicalize"
import { createHash } from "node:crypto"
import type { Step } from "../ledger/Planned.js"
import type { Change, Kind, Passkey } from "./Requests.js"

/** The transaction that is approved. */
export interface Approved {
  readonly kind: Kind
  readonly id: string
  readonly step: Step
  readonly commandId: string
  /** The hash of the prepared transaction. */
  readonly hash: Uint8Array
  /** Random, base64url. */
  readonly nonce: string
}

/** The change of an account's pinned passkeys that is approved. */
export interface ApprovedPins {
  readonly accountId: string
  readonly change: Change
  readonly passkey: Passkey
  readonly revision: number
  readonly nonce: string
}

/** SHA-256 over RFC 8785's canonical JSON, base64url: the challenge in an assertion's client data. */
const challengeOf = (statement: Readonly<Record<string, string | number>>): string =>
  createHash("sha256").update(canonicalize(statement)!).digest("base64url")

/** The challenge that approves a transaction; the hash enters it in lowercase hex. */
export const approvalChallenge = ({ commandId, hash, id, kind, nonce, step }: Approved): string =>
  challengeOf({ domain: "venue/ledger-approval/v1", kind, id, step, commandId, hash: Buffer.from(hash).toString("hex"), nonce })

/** The challenge that approves a change of pins. */
export const pinsChallenge = ({ accountId, change, nonce, passkey, revision }: ApprovedPins): string =>
  challengeOf({ domain: "venue/signer-pins/v1", accountId, change, ...passkey, revision, nonce })
