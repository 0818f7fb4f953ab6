/** Sequences of tokens that are banned where a rule applies, and names as code may write them. */
import { type Source, type Token, type Violation, violation } from "./Source.js"

/** A banned sequence of names and punctuation; alternatives for one position are in an array. */
export interface Ban {
  readonly rule: string
  readonly tokens: ReadonlyArray<string | ReadonlyArray<string>>
  readonly message: string
}

export const ban = (rule: string, tokens: Ban["tokens"], message: string): Ban => ({ rule, tokens, message })

const indexed: ReadonlySet<string> = new Set([")", "]", "!", "?."])

/** What stands at `at`; of a member in brackets, as in `a["b"]`, its name. */
const nameAt = (tokens: ReadonlyArray<Token>, at: number): string | undefined => {
  const token = tokens[at]
  if (token?.type !== "StringLiteral" || tokens[at - 1]?.value !== "[" || tokens[at + 1]?.value !== "]") return token?.value
  const before = tokens[at - 2]
  return before?.type === "IdentifierName" || indexed.has(before?.value ?? "") ? token.value.slice(1, -1) : token.value
}

const matches = (tokens: ReadonlyArray<Token>, at: number, banned: Ban): boolean =>
  banned.tokens.every((wanted, offset) => {
    const value = nameAt(tokens, at + offset)
    return value !== undefined && (typeof wanted === "string" ? value === wanted : wanted.includes(value))
  })

/** Every place in a source where one of the sequences stands. */
export const runs = (source: Source, bans: ReadonlyArray<Ban>): ReadonlyArray<Violation> =>
  source.tokens.flatMap((token, at) =>
    bans.filter((banned) => matches(source.tokens, at, banned)).map(({ message, rule }) => violation(source, token.line, rule, message))
  )
