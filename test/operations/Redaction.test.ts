/** A redacted command contains nothing that its sender wrote, and gives equal texts equal pseudonyms. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { pseudonymsOf } from "../../src/cli/bundle/Redact.js"
import type { Field, Fields, Mark } from "../../src/operations/Field.js"
import { type Command, of } from "../../src/operations/Operations.js"
import { redact } from "../../src/operations/Redaction.js"
import { command } from "../journal/arbitraries.js"

const pseudonyms = pseudonymsOf(Buffer.alloc(32, 7))
const nobody = (): boolean => false

type Named = Readonly<Record<string, unknown>>

/** Every text of a command's fields with its mark, in their order. */
const textsOf = (fields: Fields, values: Named): ReadonlyArray<readonly [Mark, string]> =>
  Object.entries(fields).flatMap(([name, field]) => textsOfValue(field, values[name]))

const textsOfValue = ({ mark, shape }: Field<unknown>, value: unknown): ReadonlyArray<readonly [Mark, string]> => {
  switch (shape.type) {
    case "text":
      return [[mark, value as string]]
    case "record":
      return textsOf(shape.fields, value as Named)
    case "list":
      return (value as ReadonlyArray<Named>).flatMap((entry) => textsOf(shape.fields, entry))
    default:
      return []
  }
}

const marked = (command: Command): ReadonlyArray<readonly [Mark, string]> => [
  ["as_sent", command.idempotencyKey],
  ...textsOf(of(command).fields, command as unknown as Named)
]

/** A command without its texts and fingerprint. */
const bare = (value: unknown): unknown => {
  if (typeof value === "string") return ""
  if (Array.isArray(value)) return value.map(bare)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).flatMap(([name, member]) => name === "fingerprint" ? [] : [[name, bare(member)]]))
}

const shapes: Readonly<Partial<Record<Mark, RegExp>>> = {
  as_sent: /^(?:|x[0-9a-f]{32})$/,
  api_key: /^(?:|key_[0-9a-f]{20})$/,
  secret: /^[0-9a-f]{64}$/
}

describe("a redacted command", () => {
  test("has a valid pseudonym for every text that is not plain, and everything else as it was", () => {
    fc.assert(
      fc.property(command, (original) => {
        const redacted = redact(original, pseudonyms, nobody)
        const before = marked(original)
        const after = marked(redacted)
        expect(after.map(([mark]) => mark)).toEqual(before.map(([mark]) => mark))
        after.forEach(([mark, text], index) => {
          const shape = shapes[mark]
          if (shape === undefined) expect(text).toBe(before[index]![1])
          else expect(text).toMatch(shape)
        })
        expect(redacted.kind).toBe(original.kind)
        expect(bare(redacted)).toEqual(bare(original))
      }),
      { numRuns: 500 }
    )
  })

  test("holds none of the texts that were there, wherever one looks in it", () => {
    fc.assert(
      fc.property(command, (original) => {
        const hidden = marked(original).filter(([mark]) => mark !== "plain").map(([, text]) => text)
        const plain = marked(original).filter(([mark]) => mark === "plain").map(([, text]) => text).join("\n")
        const json = JSON.stringify(redact(original, pseudonyms, nobody))
        for (const text of hidden) {
          // Short texts, and those within a plain text, may occur by chance.
          if (text.length < 6 || plain.includes(text)) continue
          expect(json.includes(text) || json.includes(JSON.stringify(text).slice(1, -1)), text).toBe(false)
        }
        const { fingerprint, idempotencyKey } = original
        if (idempotencyKey !== "") expect(redact(original, pseudonyms, nobody).fingerprint).not.toEqual(fingerprint)
      }),
      { numRuns: 500 }
    )
  })

  test("has equal texts exactly where they were equal, under one mark", () => {
    fc.assert(
      fc.property(command, (original) => {
        const before = marked(original)
        const after = marked(redact(original, pseudonyms, nobody))
        for (const mark of ["as_sent", "api_key", "secret"] as const) {
          const classes = (texts: ReadonlyArray<readonly [Mark, string]>): ReadonlyArray<number> => {
            const own = texts.filter(([of]) => of === mark).map(([, text]) => text)
            return own.map((text) => own.indexOf(text))
          }
          expect(classes(after)).toEqual(classes(before))
        }
      }),
      { numRuns: 500 }
    )
  })

  test("keeps the accounts that are told as they are", () => {
    fc.assert(
      fc.property(command, fc.nat(3), (original, kept) => {
        if (original.kind !== "OpenDemoAccounts") return
        const redacted = redact(original, pseudonyms, (index) => index === kept)
        if (redacted.kind !== "OpenDemoAccounts") throw new Error("a redacted command is of its kind")
        original.keys.forEach((grant, index) => {
          if (index === kept) expect(redacted.keys[index]).toEqual(grant)
          else expect(redacted.keys[index]!.secretSha256).not.toBe(grant.secretSha256)
        })
      }),
      { numRuns: 500 }
    )
  })
})
