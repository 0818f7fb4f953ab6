/** Common fields and outcomes of commands about passkeys, sessions and keys. */
import * as Field from "../Field.js"
import * as Outcome from "../Outcome.js"

/** A new session: the SHA-256 of its token in lowercase hex. The rules define its lifetime. */
export const sessionFields = {
  tokenSha256: Field.text("secret"),
  /** Where the request came from, as the venue saw it; empty where nothing is known. */
  remoteAddress: Field.text("as_sent")
}

/** A passkey as it was registered. */
export const passkeyFields = {
  /** As the authenticator names it, base64url. */
  credentialId: Field.text("api_key"),
  /**
   * The user handle that the authenticator returns, base64url: created by the venue, and the same for all passkeys of an account.
   */
  userHandle: Field.text("api_key"),
  /** The public key, COSE in base64url. */
  publicKey: Field.text("secret"),
  signCount: Field.whole("count"),
  /** Ways to reach the authenticator, as it told them, parted by commas. */
  transports: Field.text("plain"),
  /** What its owner calls it. */
  displayName: Field.text("as_sent")
}
export type PasskeyFields = Field.Values<typeof passkeyFields>

/** An owner is signed in from here on. */
export const SessionOpened = Outcome.declare("SessionOpened", 10, {
  account: Field.numberOf("account"),
  /** Counts all sessions of the venue. */
  session: Field.whole("count")
})
export type SessionOpened = Outcome.OutcomeOf<"SessionOpened", typeof SessionOpened.fields>

/** A key was issued. */
export const KeyIssued = Outcome.declare("KeyIssued", 11, {
  account: Field.numberOf("account"),
  apiKey: Field.numberOf("api_key")
})
export type KeyIssued = Outcome.OutcomeOf<"KeyIssued", typeof KeyIssued.fields>

/** A ticket by its family and its generation there. */
export const ticketFields = {
  family: Field.whole("count"),
  generation: Field.whole("count")
}

/** A ticket is its family's current one from here on. */
export const TicketIssued = Outcome.declare("TicketIssued", 12, {
  account: Field.numberOf("account"),
  ...ticketFields,
  expiresAtEpochMs: Field.whole("epoch_ms")
})
export type TicketIssued = Outcome.OutcomeOf<"TicketIssued", typeof TicketIssued.fields>
