/** API keys as they are shown: never their text. */
import * as Schema from "effect/Schema"
import type { ApiKeyView } from "../../engine/Reads.js"
import { namesOf, scopeNames } from "../../operations/identity/KeyGrant.js"
import type { Services } from "../http/Call.js"
import { decidedAt } from "../http/JournalTime.js"
import * as Fields from "../http/Fields.js"

export const Scope = Schema.Literal(...scopeNames)

const distinct = (scopes: ReadonlyArray<string>): boolean => new Set(scopes).size === scopes.length
/** Scopes of a request: some, each once. */
export const Scopes = Schema.Array(Scope).pipe(Schema.minItems(1), Schema.maxItems(2), Schema.filter(distinct)).annotations({
  identifier: "Scopes",
  jsonSchema: { type: "array", items: { enum: ["read", "trade"] }, minItems: 1, maxItems: 2, uniqueItems: true }
})

export const ApiKeyRecord = Schema.Struct({
  keyId: Fields.Text,
  accountId: Fields.Text,
  principalKind: Schema.Literal("agent", "bot"),
  displayPrefix: Fields.Text,
  clientName: Fields.optional(Fields.Text).annotations({
    description: "What the agent called itself when it asked for the key; the subject that a bot proved to be."
  }),
  scopes: Schema.Array(Scope),
  state: Schema.Literal("active", "revoked", "expired"),
  createdAtEpochMs: Fields.EpochMs,
  expiresAtEpochMs: Fields.EpochMs,
  revokedAtEpochMs: Schema.NullOr(Fields.EpochMs),
  lastUsedAtEpochMs: Schema.NullOr(Fields.EpochMs).annotations({
    description:
      "Null of a key that was never used, such as one whose answer was lost. May lag by a minute; after a crash, of the uses within the "
      + "minute before it only those from new addresses count."
  })
}).annotations({ identifier: "ApiKeyRecord" })

const named = (clientName: string | undefined) => clientName === undefined ? {} : { clientName }

/** A key's record as of now. */
export const record = (services: Services, key: ApiKeyView): typeof ApiKeyRecord.Type => ({
  keyId: key.keyId,
  accountId: services.state.accountId(key.account),
  principalKind: services.state.isBotKey(key.credential) ? "bot" : "agent",
  displayPrefix: key.displayPrefix,
  ...named(services.state.clientName(key.credential)),
  scopes: namesOf(key.scopes),
  state: key.revokedAtEpochMs > 0 ? "revoked" : key.expiresAtEpochMs <= decidedAt(services) ? "expired" : "active",
  createdAtEpochMs: key.createdAtEpochMs,
  expiresAtEpochMs: key.expiresAtEpochMs,
  revokedAtEpochMs: key.revokedAtEpochMs === 0 ? null : key.revokedAtEpochMs,
  lastUsedAtEpochMs: services.keyUses.lastUsedAt(key) || null
})
