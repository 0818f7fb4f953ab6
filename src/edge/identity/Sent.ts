/** Commands about who may act, as the edge sends them: for an owner's session, or for a caller that has proved something here. */
import { none } from "../../domain/None.js"
import type { Trader } from "../../engine/Reads.js"
import canonicalize from "canonicalize"
import { assert } from "../../domain/Assert.js"
import { Canonical, noFingerprint } from "../../operations/Fingerprint.js"
import { type Header, Principal } from "../../operations/Header.js"
import { type CommandOfKind, type Kind, type Operation, withFields } from "../../operations/Operations.js"

type FieldsOf<K extends Kind> = Omit<CommandOfKind<K>, "kind" | keyof Header>

/** A proof belongs to one command, so there is no key under which the command could be repeated. */
const keyless = { idempotencyKey: "", fingerprint: noFingerprint } as const

/** A command of a caller who has proved possession of a passkey, a device code or a ticket. */
export const proved = <K extends Kind>(
  kind: K,
  principal: typeof Principal.passkey | typeof Principal.agent | typeof Principal.ticket,
  operation: Operation,
  values: FieldsOf<K>
): CommandOfKind<K> => withFields(kind, { ...keyless, principal, account: none, credential: none, operation }, values)

/** A command of a credential that acts for an account. */
export const owned = <K extends Kind>(kind: K, { account, credential, principal }: Trader, operation: Operation, values: FieldsOf<K>) =>
  withFields(kind, { ...keyless, principal, account, credential, operation }, values)

const canonical = new Canonical()

/**
 * A command of a credential that acts for an account, under an Idempotency-Key. `sent` is the content of path and body: two requests under
 * one key are equal exactly when their canonical JSON is.
 */
export const keyed = <K extends Kind>(
  kind: K,
  { account, credential, principal }: Trader,
  operation: Operation,
  headers: { readonly "idempotency-key": string },
  sent: object,
  values: FieldsOf<K>
): CommandOfKind<K> => {
  const text = canonicalize(sent)
  assert(text !== undefined, "what was sent is JSON")
  canonical.begin().text(text)
  const header = { principal, account, credential, operation, idempotencyKey: headers["idempotency-key"], fingerprint: noFingerprint }
  return { ...withFields(kind, header, values), fingerprint: canonical.end() }
}
