/**
 * Commands with pseudonyms in place of marked fields, so that a new field declares at once how others see it. Decisions depend only
 * on the equality of texts, never on their content, so pseudonyms that are equal for equal texts of one owner change no decision.
 */
import type { Fingerprint } from "./Fingerprint.js"
import type { Field, Fields } from "./Field.js"
import { type Command, of } from "./Operations.js"

export interface Pseudonyms {
  /** For a text of an owner's own choosing; empty for empty. */
  readonly text: (owner: number, text: string) => string
  /** For names of API keys, or texts that could be one; empty for empty, since emptiness affects decisions. */
  readonly apiKey: (owner: number, text: string) => string
  /** For the digest of a credential: an unrelated digest. */
  readonly secret: (owner: number, text: string) => string
  /** For a body's fingerprint, against which candidate bodies could be tested. */
  readonly fingerprint: (owner: number, fingerprint: Fingerprint) => Fingerprint
}

const asIs = (_: number, text: string): string => text

const hidden: Pseudonyms = { text: asIs, apiKey: asIs, secret: () => "redacted", fingerprint: (_, fingerprint) => fingerprint }

/** A command for display: unchanged except for the digests of credentials. */
export const withoutSecrets = (command: Command): Command => redact(command, hidden, () => false)

type Named = Readonly<Record<string, unknown>>

/** The command with its sender's pseudonyms. `keepsEntry` selects opened accounts that stay as they are. */
export const redact = (command: Command, pseudonyms: Pseudonyms, keepsEntry: (index: number) => boolean): Command => {
  const owner = command.account
  const { fields } = of(command)
  const { fingerprint, idempotencyKey } = command
  return {
    ...command,
    ...redactFields(fields, command as unknown as Named, pseudonyms, owner, keepsEntry),
    idempotencyKey: pseudonyms.text(owner, idempotencyKey),
    fingerprint: idempotencyKey === "" ? fingerprint : pseudonyms.fingerprint(owner, fingerprint)
  } as Command
}

const redactFields = (
  fields: Fields,
  values: Named,
  pseudonyms: Pseudonyms,
  owner: number,
  keepsEntry: (index: number) => boolean
): Named =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, redactValue(field, values[name], pseudonyms, owner, keepsEntry)])
  )

const redactValue = (
  { mark, shape }: Field<unknown>,
  value: unknown,
  pseudonyms: Pseudonyms,
  owner: number,
  keepsEntry: (index: number) => boolean
): unknown => {
  switch (shape.type) {
    case "text":
      return redactText(mark, value as string, pseudonyms, owner)
    case "record":
      return redactFields(shape.fields, value as Named, pseudonyms, owner, keepsEntry)
    case "list":
      return (value as ReadonlyArray<Named>).map((entry, index) =>
        shape.owner === "opened_account" && keepsEntry(index)
          ? entry
          : redactFields(shape.fields, entry, pseudonyms, owner, keepsEntry)
      )
    case "whole":
    case "flag":
    case "code":
    case "choice":
      return value
  }
}

/** The owner of texts that belong to no single sender. */
const anybody = -1

const redactText = (mark: Field<unknown>["mark"], text: string, pseudonyms: Pseudonyms, owner: number): string => {
  switch (mark) {
    case "as_sent":
      return pseudonyms.text(owner, text)
    // Credentials and their digests are named by commands of several senders, so they have the same pseudonym for all.
    case "api_key":
      return pseudonyms.apiKey(anybody, text)
    case "secret":
      return pseudonyms.secret(anybody, text)
    case "plain":
    case "order":
    case "account":
    case "market":
    case "transfer":
      return text
  }
}
