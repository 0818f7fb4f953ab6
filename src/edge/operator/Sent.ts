/** An operator's commands, with what a body under the same key is compared by. */
import canonicalize from "canonicalize"
import { Canonical } from "../../operations/Fingerprint.js"
import { type Header, internal, Principal } from "../../operations/Header.js"
import { type CommandOfKind, type Kind, type Operation, withFields } from "../../operations/Operations.js"
import { assert } from "../../domain/Assert.js"

const canonical = new Canonical()

/**
 * What an operator's request is remembered by. `sent` is what it said, in path and body: two requests under one key are the same
 * exactly when their canonical JSON is.
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

/** A command of an operator's, for what a request said. */
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
