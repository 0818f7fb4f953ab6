/**
 * How an account's pins begin and change: the venue names them with the account's first key; later only a pinned passkey can change them.
 */
import canonicalize from "canonicalize"
import { createHash } from "node:crypto"
import * as Effect from "effect/Effect"
import { type SignerError, SignerRefused } from "./PartySigner.js"
import type { Account, Pinned } from "./Records.js"
import { mostPasskeys, type NewParty, type Passkey, type Repin } from "./Requests.js"

const isSame = (a: Passkey, b: Passkey): boolean => a.credentialId === b.credentialId && a.publicKey === b.publicKey

/** A new account with its first passkeys pinned. */
export const opened = ({ accountId, passkeys }: NewParty): Account => ({
  accountId,
  passkeys: passkeys.map((passkey) => ({ ...passkey, signCount: 0 })),
  revision: 0,
  keys: [],
  bound: []
})

/** Whether all these passkeys are pinned already: a further key pins nothing. */
export const areAllPinned = (account: Account, passkeys: ReadonlyArray<Passkey>): boolean =>
  passkeys.every((passkey) => account.passkeys.some((pinned) => isSame(pinned, passkey)))

/** The digest by which a repeated change is recognized. */
export const changeDigest = ({ change, passkey, revision }: Repin): string =>
  createHash("sha256").update(canonicalize({ change, ...passkey, revision })!).digest("hex")

const bound = (detail: string): SignerRefused => new SignerRefused({ reason: "pins_bound", detail })

/** The pins after an approved change. */
const changed = (passkeys: ReadonlyArray<Pinned>, { change, passkey }: Repin): Effect.Effect<ReadonlyArray<Pinned>, SignerError> => {
  const others = passkeys.filter(({ credentialId }) => credentialId !== passkey.credentialId)
  if (change === "add") {
    if (others.length !== passkeys.length) return Effect.fail(bound("the passkey is pinned already"))
    if (passkeys.length >= mostPasskeys) return Effect.fail(bound(`an account pins at most ${mostPasskeys} passkeys`))
    return Effect.succeed([...passkeys, { ...passkey, signCount: 0 }])
  }
  if (others.length === passkeys.length) {
    return Effect.fail(new SignerRefused({ reason: "passkey_not_pinned", detail: "the passkey that should go is not pinned" }))
  }
  return others.length === 0 ? Effect.fail(bound("the last passkey stays")) : Effect.succeed(others)
}

/** The account after an approved change; `passkeys` are its pins, with the sign counter of the passkey that approved. */
export const repinned = (account: Account, passkeys: ReadonlyArray<Pinned>, request: Repin): Effect.Effect<Account, SignerError> =>
  Effect.map(changed(passkeys, request), (after) => ({
    ...account,
    passkeys: after,
    revision: account.revision + 1,
    lastChange: changeDigest(request)
  }))
