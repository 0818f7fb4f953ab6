/**
 * What every command carries beside its own fields, and every record in its header: who sent it, under which key, and
 * the fingerprint of what was sent.
 */
import { none } from "../domain/None.js"
import { type Fingerprint, noFingerprint } from "./Fingerprint.js"

/** Who may be behind a command. Codes are journaled: never renumber. */
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
  /** Somebody who has proved to hold a passkey: the proof was checked where it came in. */
  passkey: 8,
  /** An agent that has proved to hold a device code. */
  agent: 9,
  /** Somebody who holds a realtime ticket. */
  ticket: 10
} as const
export type Principal = (typeof Principal)[keyof typeof Principal]

/** Principals that act for an account, so that its authority is looked at. */
export type ClientPrincipal = typeof Principal.key | typeof Principal.session

export interface Header {
  readonly principal: Principal
  /** The account acted for, or -1. */
  readonly account: number
  /** The index of the API key or the number of the session that it came by; -1 without either. */
  readonly credential: number
  /** The request that the command came by: an Idempotency-Key is unique within account and request. 0 without one. */
  readonly operation: number
  /** Empty where the command carries none. */
  readonly idempotencyKey: string
  /** Of what was sent; two requests under one key are the same exactly when theirs are equal. */
  readonly fingerprint: Fingerprint
}

/** The header of what nobody outside the venue sent: it has no key and is not remembered. */
export const internal = (principal: Exclude<Principal, ClientPrincipal>): Header => ({
  principal,
  account: none,
  credential: none,
  operation: 0,
  idempotencyKey: "",
  fingerprint: noFingerprint
})

/** A request by what its decision is remembered under, and what it is compared by. */
export type Remembering = Pick<Header, "account" | "operation" | "idempotencyKey" | "fingerprint">
