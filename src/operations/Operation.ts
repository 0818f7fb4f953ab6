/**
 * The declaration of a command: in a file of its own, with everything that generic code has to know about it. Nothing has a
 * default, so an omission does not compile.
 */
import type { Fields, Values } from "./Field.js"
import type { Header, Principal } from "./Header.js"
import type { AnyOutcome } from "./Outcome.js"

/**
 * What the sender must hold. `trade`, `read`: an API key with that scope, or the owner's session; `owner`: the owner's session;
 * `proof`: a passkey, a device code or a ticket, verified at the edge; `operator`: the operator's token. `internal` commands come
 * only from the venue.
 */
export type Permission = "trade" | "read" | "owner" | "proof" | "operator" | "internal"

/**
 * Whose share of the inbox and of the key table a command takes. Commands that only reduce risk, that give owners access to their
 * money, or that end a key, a session or a ticket (`revocation`), and those of the operator and the venue have room that placements
 * cannot take. Commands of the venue itself are not remembered: a `payout`, which prepares a withdrawal for whoever has asked for one; a
 * `start`, without which nothing else is served; and all others (`venue`). A revocation does not wait for earlier commands of its account.
 */
export type Share = "placement" | "reduction" | "revocation" | "operator" | "payout" | "venue" | "start"

/** A kind of request that leads to a command. */
export interface RequestKind {
  /** Journaled, and part of the key's scope: never renumber. */
  readonly code: number
  /** Its name in lookups of outcomes; null where a client cannot look it up, and then no fence stops it either. */
  readonly lookup: string | null
}

/** The items that a field may name to identify an account. */
export type Lead = "account" | "passkey" | "grant" | "api_key" | "ticket_family" | "transfer" | "ledger_command"

/**
 * To whom the content of a command belongs: to the account that is its `sender`; to the `opened_account`, which the record creates;
 * to the account identified by a `field`, whoever sends it; or to `nobody`, except lists that name their entries' owners. Key and
 * fingerprint belong to the sender in any case.
 */
export type Whose<F extends Fields = Fields> = "sender" | "opened_account" | "nobody" | {
  readonly field: keyof F & string
  readonly names: Lead
}

/** The scope in which a command's Idempotency-Key is unique: an account's or the whole venue; `none` where it carries none. */
export type KeyScope = "account" | "venue" | "none"

export interface Declaration<
  K extends string = string,
  F extends Fields = Fields,
  R extends Readonly<Record<string, RequestKind>> = Readonly<Record<string, RequestKind>>,
  O extends AnyOutcome = AnyOutcome
> {
  readonly kind: K
  /** The code of the record, 1..255: never renumber. */
  readonly code: number
  /** Its name for people: `placement`. */
  readonly label: string
  /** Its permitted senders, asserted by the engine. */
  readonly principals: ReadonlyArray<Principal>
  readonly permission: Permission
  /** Whether a global halt refuses it. */
  readonly underHalt: "refused" | "taken"
  readonly keyScope: KeyScope
  /** The owner of its content, for extracts that show one account's data and hide that of all others. */
  readonly whose: Whose<NoInfer<F>>
  readonly requests: R
  readonly fields: F
  readonly share: (command: Header & Values<F>) => Share
  /**
   * What is remembered under its key. `every decision`. `what it did`: not where nothing was done, so that a cancellation that
   * found none of its orders takes no room. `until the next`: every decision, but as long as the order is open only its last
   * amendment.
   */
  readonly keeps: "every decision" | "what it did" | "until the next"
  /** The outcome of an entry, unless it is refused. */
  readonly outcome: O
}

/** Declares a command. */
export const declare = <
  const K extends string,
  F extends Fields,
  const R extends Readonly<Record<string, RequestKind>>,
  O extends AnyOutcome,
  S extends KeyScope
>(declaration: Declaration<K, F, R, O> & { readonly keyScope: S }): Declaration<K, F, R, O> & { readonly keyScope: S } => declaration

/** The command of a declaration, as plain data. */
export type CommandOf<D> = D extends Declaration<infer K, infer F, infer _R, infer _O> ? { readonly kind: K } & Header & Values<F>
  : never
