/** API keys as they are told of: never their text. */
import * as Schema from "effect/Schema"
import type { ApiKeyView, Reads } from "../../engine/Reads.js"
import { namesOf, scopeNames } from "../../operations/identity/KeyGrant.js"
import * as Fields from "../http/Fields.js"

export const Scope = Schema.Literal(...scopeNames)

export const ApiKeyRecord = Schema.Struct({
  keyId: Fields.Text,
  accountId: Fields.Text,
  principalKind: Schema.Literal("agent", "bot"),
  displayPrefix: Fields.Text,
  clientName: Fields.optional(Fields.Text).annotations({ description: "What the agent called itself when it asked for the key." }),
  scopes: Schema.Array(Scope),
  state: Schema.Literal("active", "revoked", "expired"),
  createdAtEpochMs: Fields.EpochMs,
  expiresAtEpochMs: Fields.EpochMs,
  revokedAtEpochMs: Schema.NullOr(Fields.EpochMs),
  lastUsedAtEpochMs: Schema.NullOr(Fields.EpochMs)
}).annotations({ identifier: "ApiKeyRecord" })

const named = (clientName: string | undefined) => clientName === undefined ? {} : { clientName }

/** A key's record as of a time. */
export const record = (state: Reads, key: ApiKeyView, atEpochMs: number): typeof ApiKeyRecord.Type => ({
  keyId: key.keyId,
  accountId: state.accountId(key.account),
  principalKind: "agent",
  displayPrefix: key.displayPrefix,
  ...named(state.clientName(key.credential)),
  scopes: namesOf(key.scopes),
  state: key.revokedAtEpochMs > 0 ? "revoked" : key.expiresAtEpochMs <= atEpochMs ? "expired" : "active",
  createdAtEpochMs: key.createdAtEpochMs,
  expiresAtEpochMs: key.expiresAtEpochMs,
  revokedAtEpochMs: key.revokedAtEpochMs === 0 ? null : key.revokedAtEpochMs,
  lastUsedAtEpochMs: null
})
