/**
 * Commands in short form for tests: everything that a header needs is taken from the command's declaration. So a test states only what it
 * is about, and a new member of every header is added here once.
 */
import { none } from "../../src/domain/None.js"
import * as crypto from "node:crypto"
import type { Refusal } from "../../src/domain/Refusal.js"
import type { Fields } from "../../src/operations/Field.js"
import * as Fingerprint from "../../src/operations/Fingerprint.js"
import { type Header, Principal } from "../../src/operations/Header.js"
import { type Command, type CommandOfKind, type EntryOutcome, type Kind, of, refusalOf } from "../../src/operations/Operations.js"
import type { Refused } from "../../src/operations/Outcome.js"
import type { OrderDecided } from "../../src/operations/orders/OrderDecided.js"

/** What a test states of a command: its fields, and what matters of its header. */
export type Given<K extends Kind> =
  & { readonly kind: K }
  & Partial<Pick<Header, "account" | "credential" | "operation" | "idempotencyKey">>
  & Omit<CommandOfKind<K>, "kind" | keyof Header | Added>
  & Partial<Pick<CommandOfKind<K>, Added & keyof CommandOfKind<K>>>

/** Fields that older records lack: a test that is not about one leaves it out. */
type Added = "effectiveAtEpochMs" | "connection" | "tellsOwner" | "isElsewhere" | "lifetimeSeconds"

/** Any command in short form. */
export type AnyGiven = { readonly [K in Kind]: Given<K> }[Kind]

/**
 * A complete command. A client's is sent by its API key if there is one, else by the signed-in owner; a price without an Idempotency-Key by
 * the feed; all others by the first principal that may send them. The fingerprint is of the fields, so a command that is completed again
 * after a change has another body.
 */
export const complete = <K extends Kind>(given: Given<K>): CommandOfKind<K> => {
  const declaration = of(given)
  const { account = none, idempotencyKey = "" } = given
  // Tests open each account with one key, so that the key has the account's number.
  const credential = given.credential ?? (declaration.principals.includes(Principal.key) ? account : none)
  const added = Object.fromEntries(
    Object.entries(declaration.fields as Fields).flatMap(([name, { before }]) => before === undefined ? [] : [[name, before]])
  )
  const values = { ...added, ...given }
  const [request] = Object.values(declaration.requests)
  const principal = principalOf(declaration.principals, credential, idempotencyKey)
  const withoutRequest = request === undefined || principal === Principal.feed
  return {
    ...values,
    principal,
    account,
    credential,
    idempotencyKey,
    operation: given.operation ?? (withoutRequest ? 0 : request.code),
    fingerprint: idempotencyKey === "" ? Fingerprint.noFingerprint : Fingerprint.ofFields(declaration.fields, values)
  } as unknown as CommandOfKind<K>
}

/** `complete` for a command whose kind is not known. */
export const completeAny = (given: AnyGiven): Command => complete(given as Given<Kind>) as Command

const principalOf = (principals: ReadonlyArray<Principal>, credential: number, idempotencyKey: string): Principal => {
  if (principals.includes(Principal.key)) return credential >= 0 ? Principal.key : Principal.session
  if (principals.includes(Principal.feed)) return idempotencyKey === "" ? Principal.feed : Principal.operator
  return principals[0]!
}

type Names<O> = O extends unknown ? keyof O : never

/** An outcome with the members of every outcome: those it lacks are undefined. */
export type AnswerOf<O> = O extends unknown
  ? O & { readonly refusal: Refusal } & { readonly [N in Exclude<Names<EntryOutcome>, keyof O | "refusal">]?: undefined }
  : never

/** The result of an entry, whose members can be read without narrowing its type. */
export type Answer = AnswerOf<EntryOutcome>
/** The result of an order's entry. */
export type OrderAnswer = AnswerOf<OrderDecided | Refused>

/** The answer of an entry; `refusal` is `none` if it was carried out. */
export const answerOf = (entry: EntryOutcome | undefined): Answer => {
  if (entry === undefined) throw new Error("the command has no such entry")
  return { ...entry, refusal: refusalOf(entry) } as Answer
}

/** The answer of an order's entry. */
export const orderAnswerOf = (entry: EntryOutcome | undefined): OrderAnswer => {
  const answer = answerOf(entry)
  if (answer._tag !== "OrderDecided" && answer._tag !== "Refused") throw new Error(`an order came to ${answer._tag}`)
  return answer
}

/** A key that opens an account; the digest of its secret is derived from its id. */
export const grant = (keyId: string, change: { readonly scopes?: number; readonly expiresAtEpochMs?: number } = {}) => ({
  keyId,
  displayPrefix: "pk",
  secretSha256: crypto.createHash("sha256").update(keyId).digest("hex"),
  scopes: 3,
  expiresAtEpochMs: Number.MAX_SAFE_INTEGER,
  ...change
})
