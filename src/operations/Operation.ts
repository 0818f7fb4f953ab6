/**
 * How a command is declared: once, in a file of its own, with everything that anybody handling commands has to know.
 * Nothing has a default, so that what is forgotten does not compile.
 */
import type { Fields, Values } from "./Field.js"
import type { Header, Principal } from "./Header.js"
import type { AnyOutcome } from "./Outcome.js"

/**
 * What whoever sends the command has to hold: an API key with the scope `trade` or `read`, or instead of either the owner's
 * session; the `owner`'s session alone; a `proof` of a passkey, a device code or a ticket, which is checked where it comes in;
 * the `operator`'s token. `internal` commands nobody sends.
 */
export type Permission = "trade" | "read" | "owner" | "proof" | "operator" | "internal"

/**
 * Whose room a command takes, in the inbox and in the table of remembered keys. What only takes risk away, what an owner
 * gets at his money with, what ends a key, a session or a ticket (`revocation`), the operator and the venue itself have room that
 * placements cannot take; `venue` commands are remembered nowhere. A revocation waits for nothing that its account has sent before.
 */
export type Share = "placement" | "reduction" | "revocation" | "operator" | "venue"

/** One kind of request by which a command comes. */
export interface RequestKind {
  /** Journaled, and part of the key's scope: never renumber. */
  readonly code: number
  /** What a lookup of outcomes calls it; null where a client cannot ask for it, which is where no fence stops it either. */
  readonly lookup: string | null
}

/** What the value of a field may name that is an account's, or the account itself. */
export type Lead = "account" | "passkey" | "grant" | "api_key" | "ticket_family" | "transfer" | "ledger_command"

/**
 * Whose what a command says is: the account's that is its `sender`; that of the `opened_account`, which the record makes; the one's
 * to which a field of it leads, whoever sends it; or `nobody`'s, but for lists of it that say whose their entries are. The key that a
 * command comes under and the fingerprint of its body are its sender's, whosever the rest is.
 */
export type Whose<F extends Fields = Fields> = "sender" | "opened_account" | "nobody" | {
  readonly field: keyof F & string
  readonly names: Lead
}

export interface Declaration<
  K extends string = string,
  F extends Fields = Fields,
  R extends Readonly<Record<string, RequestKind>> = Readonly<Record<string, RequestKind>>,
  O extends AnyOutcome = AnyOutcome
> {
  readonly kind: K
  /** The code of the record, 1..255: never renumber. */
  readonly code: number
  /** What people read of it: `placement`. */
  readonly label: string
  /** Who may send it; the engine asserts it. */
  readonly principals: ReadonlyArray<Principal>
  readonly permission: Permission
  /** Whether a global halt refuses it. */
  readonly underHalt: "refused" | "taken"
  /** Whether it carries an Idempotency-Key, and within what the key is unique. */
  readonly keyScope: "account" | "venue" | "none"
  /** Whose it is to those who tell one account what concerns it, and who hide from it all that does not. */
  readonly whose: Whose<NoInfer<F>>
  readonly requests: R
  readonly fields: F
  readonly share: (command: Header & Values<F>) => Share
  /**
   * What is remembered under its key. `every decision`; or `what it did` alone: a cancel that found none of the orders that it
   * names takes no room; or every decision, `until the next`: as long as the order is open only the last change of its terms.
   */
  readonly keeps: "every decision" | "what it did" | "until the next"
  /** What an entry of it comes to, unless it is refused. */
  readonly outcome: O
}

/** Declares a command. */
export const declare = <
  const K extends string,
  F extends Fields,
  const R extends Readonly<Record<string, RequestKind>>,
  O extends AnyOutcome
>(declaration: Declaration<K, F, R, O>): Declaration<K, F, R, O> => declaration

/** The command of a declaration, as plain data. */
export type CommandOf<D> = D extends Declaration<infer K, infer F, infer _R, infer _O> ? { readonly kind: K } & Header & Values<F>
  : never
