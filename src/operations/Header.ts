/** The header of every command and record: who sent it, under which key, and the fingerprint of what was sent. */
import { none } from "../domain/None.js"
import { type Fingerprint, noFingerprint } from "./Fingerprint.js"

/** Senders of commands. Codes are journaled: never renumber. */
export const Principal = {
  /** The venue itself: its opening and its starts. */
  venue: 1,
  /** The clock: something is due. */
  timer: 2,
  /** The index feed. */
  feed: 3,
  /** An operator, or the markets file on an operator's behalf. */
  operator: 4,
  /** An API key of an account. */
  key: 5,
  /** An account's owner, signed in. */
  session: 6,
  /** The driver of deposits and withdrawals. */
  ledger: 7,
  /** A holder of a passkey: the proof was verified at the edge. */
  passkey: 8,
  /** An agent that has proved possession of a device code. */
  agent: 9,
  /** A holder of a realtime ticket. */
  ticket: 10
} as const
export type Principal = (typeof Principal)[keyof typeof Principal]

/** Principals that act for an account, so that its authority is checked. */
export type ClientPrincipal = typeof Principal.key | typeof Principal.session

export interface Header {
  readonly principal: Principal
  /** The account acted for, or -1. */
  readonly account: number
  /** The index of the API key, or the number of the session, that authorised it; -1 for neither. */
  readonly credential: number
  /** The kind of request: an Idempotency-Key is unique within account and kind. 0 for none. */
  readonly operation: number
  /** Empty where the command has none. */
  readonly idempotencyKey: string
  /** The fingerprint of what was sent: two requests under one key are the same exactly when their fingerprints are. */
  readonly fingerprint: Fingerprint
}

/** The header of the venue's own commands: they have no key and are not remembered. */
export const internal = (principal: Exclude<Principal, ClientPrincipal>): Header => ({
  principal,
  account: none,
  credential: none,
  operation: 0,
  idempotencyKey: "",
  fingerprint: noFingerprint
})

/** The parts of a request under which its decision is remembered and compared. */
export type Remembering = Pick<Header, "account" | "operation" | "idempotencyKey" | "fingerprint">
