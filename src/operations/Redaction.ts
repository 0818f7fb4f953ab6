/**
 * Commands under pseudonyms, as their fields' marks say: a field that is added says at once what it is to others. Texts
 * decide nothing by what they say, only by which are equal, so pseudonyms that are equal for equal texts of one owner
 * leave every decision as it was.
 */
import type { Fingerprint } from "./Fingerprint.js"
import type { Field, Fields } from "./Field.js"
import { type Command, of } from "./Operations.js"

export interface Pseudonyms {
  /** For a text of an owner's own choosing; empty for empty. */
  readonly text: (owner: number, text: string) => string
  /** For what names an API key, or may be read as one; empty for empty, which decides. */
  readonly apiKey: (owner: number, text: string) => string
  /** For the digest of a credential: a digest that is nobody's. */
  readonly secret: (owner: number, text: string) => string
  /** For a body's fingerprint: bodies could be tried out against one. */
  readonly fingerprint: (owner: number, fingerprint: Fingerprint) => Fingerprint
}

const asIs = (_: number, text: string): string => text

const hidden: Pseudonyms = { text: asIs, apiKey: asIs, secret: () => "redacted", fingerprint: (_, fingerprint) => fingerprint }

/** A command to be shown: as it is, but for the digests of credentials. */
export const withoutSecrets = (command: Command): Command => redact(command, hidden, () => false)

type Named = Readonly<Record<string, unknown>>

/** The command under pseudonyms of its sender's. `keepsEntry` says which accounts that it opens are told as they are. */
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

/** The owner of what is no text of one sender's own. */
const anybody = -1

const redactText = (mark: Field<unknown>["mark"], text: string, pseudonyms: Pseudonyms, owner: number): string => {
  switch (mark) {
    case "as_sent":
      return pseudonyms.text(owner, text)
    // What names a credential, or is a digest of one, is named by commands of several senders: the same for all of them.
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
