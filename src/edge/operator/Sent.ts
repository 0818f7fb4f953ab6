/** Operators' commands, with the fingerprint by which bodies under one key are compared. */
import canonicalize from "canonicalize"
import { Canonical } from "../../operations/Fingerprint.js"
import { type Header, internal, Principal } from "../../operations/Header.js"
import { type CommandOfKind, type Kind, type Operation, withFields } from "../../operations/Operations.js"
import { assert } from "../../domain/Assert.js"

const canonical = new Canonical()

/**
 * The header under which an operator's request is remembered. `sent` is the content of path and body: two requests under one key
 * are equal exactly when their canonical JSON is.
 */
export const headerOf = (operation: Operation, headers: { readonly "idempotency-key": string }, sent: object): Header => {
  const text = canonicalize(sent)
  assert(text !== undefined, "what was sent is JSON")
  canonical.begin().text(text)
  return {
    ...internal(Principal.operator),
    operation,
    idempotencyKey: headers["idempotency-key"],
    fingerprint: canonical.end()
  }
}

/** An operator's command for the content of a request. */
export const command = <K extends Kind>(
  kind: K,
  operation: Operation,
  headers: { readonly "idempotency-key": string },
  sent: object,
  values: Omit<CommandOfKind<K>, "kind" | keyof Header>
): CommandOfKind<K> => {
  const header = headerOf(operation, headers, sent)
  return { ...withFields(kind, header, values), fingerprint: header.fingerprint }
}
