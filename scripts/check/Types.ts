/** Where a name stands for a type, as far as tokens show it. */
import { around } from "./Names.js"
import { openOf, startsStatement, type Token } from "./Source.js"

/** Whether the name at `at` is that of a type: nothing is taken off it, and it stands where types do. */
export const isTypeName = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const after = tokens[at + 1]
  if (after?.value === "[" && !tokens[at]!.endsLine) return tokens[at + 2]?.value === "]"
  if (after !== undefined && ([".", "?.", "("].includes(after.value) || after.type.includes("Template"))) return false
  return /^(?:\||&|=>|>+)$/.test(after?.value ?? "") || isTypePlace(tokens, at)
}

/** What only types follow; where a value may follow it too, as in a sum of bits, a number is made of it. */
const beforeTypes: ReadonlySet<string> = new Set(["as", "is", "readonly", "|", "&", "<"])

/** Whether what begins at `at` is a type. */
const isTypePlace = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const before = tokens[at - 1]?.value ?? ""
  if (before === ":") return isTypeColon(tokens, at - 1)
  const open = around(tokens, at)
  if (tokens[open]?.value === "[" && (before === "[" || before === ",") && isTypePlace(tokens, open)) return true
  if (before === ",") return isTypeArgument(tokens, at)
  if (before === "=") return /^(?:export |declare )*type [\w$]/.test(header(tokens, at))
  if (before === "=>") return tokens[at - 2]!.value === ")" && isTypePlace(tokens, openOf(tokens, at - 2))
  return beforeTypes.has(before)
}

/** The statement or member around `at`, up to there and without what is in brackets; a space is behind each token. */
const header = (tokens: ReadonlyArray<Token>, at: number): string => {
  const { depth } = tokens[at]!
  let start = at - 1
  while (start > 0 && tokens[start - 1]!.depth >= depth && !(tokens[start]!.depth === depth && startsStatement(tokens, start))) start--
  return tokens.slice(Math.max(start, 0), at).map((token) => token.depth === depth ? `${token.value} ` : "").join("")
}

const declaring: ReadonlySet<string> = new Set("const let var readonly static public private protected override declare".split(" "))

/** Whether a type follows the colon at `colon`, and not the value of a key or of a condition. */
const isTypeColon = (tokens: ReadonlyArray<Token>, colon: number): boolean => {
  const before = tokens[colon - 1]?.value ?? ""
  if (before === "?") return true
  if (isOfCondition(tokens, colon)) return false
  const open = around(tokens, colon)
  if (tokens[open]?.value !== "{" || before === ")") return true
  const name = before === "}" || before === "]" ? openOf(tokens, colon - 1) : colon - 1
  return declaring.has(tokens[name - 1]!.value) || isTypePlace(tokens, open)
    || /(?:^|[^.] )(?:interface|class) (?!:)(?!.*[=:] $)/.test(header(tokens, open))
}

/** Indices of what stands in the same bracket as the token at `at`, and in none within it: before it or behind it, the nearest first. */
function* beside(tokens: ReadonlyArray<Token>, at: number, step: -1 | 1): Generator<number> {
  const { depth } = tokens[at]!
  for (let next = at + step; (tokens[next]?.depth ?? -1) >= depth; next += step) if (tokens[next]!.depth === depth) yield next
}

const isOfCondition = (tokens: ReadonlyArray<Token>, colon: number): boolean => {
  for (const at of beside(tokens, colon, -1)) {
    const { value } = tokens[at]!
    if (value === "?" && tokens[at + 1]!.value !== ":") return true
    if (value === "," || value === ";" || startsStatement(tokens, at)) return false
  }
  return false
}

/** Whether what begins at `at`, behind a comma, is one of the types between a name's `<` and `>`. */
const isTypeArgument = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  let closed = 0
  for (const before of beside(tokens, at, -1)) {
    const { value } = tokens[before]!
    if (/^>+$/.test(value)) closed += value.length
    if (value === "<" && closed-- === 0) return isClosed(tokens, at)
    if (value === ";" || startsStatement(tokens, before)) return false
  }
  return false
}

const isClosed = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  for (const next of beside(tokens, at, 1)) {
    const { value } = tokens[next]!
    if (/^>+$/.test(value)) return true
    if (value === ";" || startsStatement(tokens, next)) return false
  }
  return false
}
