/** The answers that owners must get about who may act, written from the contract and sharing nothing with the venue's edge. */
import { accountId } from "../../src/domain/Ids.js"
import type { NaiveNote } from "./NaiveHistory.js"
import type { NaiveKey, NaivePasskey } from "./NaiveIdentity.js"
import type { NaiveVenue } from "./NaiveVenue.js"

const idOf = ({ accounts }: NaiveVenue, account: number): string => accountId(accounts[account]!.born)
const orNull = (text: string): string | null => text === "" ? null : text

/** A key as shown at a time. */
export const key = (model: NaiveVenue, shown: NaiveKey, now: number) => ({
  keyId: shown.keyId,
  accountId: idOf(model, shown.account),
  principalKind: shown.isBot === true ? "bot" : "agent",
  displayPrefix: shown.displayPrefix,
  ...(shown.clientName === undefined ? {} : { clientName: shown.clientName }),
  scopes: ["read", "trade"].filter((_, bit) => Math.floor(shown.scopes / 2 ** bit) % 2 === 1),
  state: shown.revokedAtEpochMs !== 0 ? "revoked" : now >= shown.expiresAtEpochMs ? "expired" : "active",
  createdAtEpochMs: shown.createdAtEpochMs,
  expiresAtEpochMs: shown.expiresAtEpochMs,
  revokedAtEpochMs: shown.revokedAtEpochMs === 0 ? null : shown.revokedAtEpochMs
})

/** An answer about keys without the time of each key's last use: a process knows that by itself, and journals it only now and then. */
export const withoutUses = (told: unknown): unknown =>
  JSON.parse(JSON.stringify(told, (name, value: unknown) => name === "lastUsedAtEpochMs" ? undefined : value))

const passkey = (shown: NaivePasskey) => ({
  credentialId: shown.credentialId,
  displayName: shown.displayName,
  createdAtEpochMs: shown.createdAtEpochMs,
  lastUsedAtEpochMs: shown.lastUsedAtEpochMs === 0 ? null : shown.lastUsedAtEpochMs,
  approvesFromEpochMs: shown.approvesFromEpochMs
})

export const passkeys = (model: NaiveVenue, account: number) => ({
  version: "passkey-list/v1",
  accountId: idOf(model, account),
  passkeys: model.identity.passkeysOf(account).map(passkey)
})

/** All keys that are remembered. */
export const keys = (model: NaiveVenue, account: number, now: number) => ({
  version: "api-key-list/v1",
  keys: model.identity.keysOf(account).map((each) => key(model, each, now))
})

const note = (shown: NaiveNote) => ({
  kind: shown.kind,
  occurredAtEpochMs: shown.atEpochMs,
  sequence: shown.sequence,
  credentialId: orNull(shown.credentialId),
  remoteAddress: orNull(shown.remoteAddress),
  detail: orNull(shown.detail)
})

/** A page of an account's security events up to a record, after an ordinal; its cursor continues after its last event. */
export const notes = (model: NaiveVenue, account: number, until: number, before: number, limit: number) => {
  const older = model.history.notes
    .filter(({ account: of, ordinal, sequence }) => of === account && sequence <= until && ordinal < before)
    .reverse()
  const shown = older.slice(0, limit)
  const cursor = JSON.stringify({ kind: "events", before: shown.at(-1)?.ordinal })
  return {
    version: "external-security-events/v1",
    accountId: idOf(model, account),
    events: shown.map(note),
    nextCursor: older.length > limit ? Buffer.from(cursor).toString("base64url") : null
  }
}
