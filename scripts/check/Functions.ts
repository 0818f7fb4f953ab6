/**
 * The length of functions: arrows, `function`s and methods, in lines from beginning to end. Tokens cannot distinguish a function from a
 * type that looks like one, which does not matter here.
 */
import { basename, closeOf, openOf, type Source, startsStatement, type Token, type Violation, violation } from "./Source.js"

/** The longest function, in lines. */
const maxLines = 80

/** A function among the tokens of a file. */
export interface Span {
  /** Index of the first token. */
  readonly start: number
  /** Index of the last token. */
  readonly end: number
}

/** An arrow at `at`: from its parameters to the end of its body. */
const arrow = (tokens: ReadonlyArray<Token>, at: number): Span => {
  const { depth } = tokens[at]!
  const body = at + 1
  if (tokens[body]?.value === "{") return { start: parametersOf(tokens, at), end: closeOf(tokens, body) }
  let end = body
  for (let next = body; next < tokens.length; next++) {
    const token = tokens[next]!
    const leaves = token.depth < depth || (token.depth === depth && (token.value === "," || token.value === ";"))
    if (leaves || (next > body && token.depth === depth && startsStatement(tokens, next))) break
    end = next
  }
  return { start: parametersOf(tokens, at), end }
}

/** The beginning of the parameters of the arrow at `at`: its name, its round bracket, or the bracket before a return type. */
const parametersOf = (tokens: ReadonlyArray<Token>, at: number): number => {
  const { depth } = tokens[at]!
  if (tokens[at - 1]?.value === ")") return openOf(tokens, at - 1)
  if (tokens[at - 1]?.type === "IdentifierName" && tokens[at - 2]?.value !== ":") return at - 1
  for (let before = at - 1; before > 0 && tokens[before]!.depth >= depth; before--) {
    const isEnd = tokens[before]!.value === ":" && tokens[before]!.depth === depth && tokens[before - 1]!.value === ")"
    if (isEnd) return openOf(tokens, before - 1)
  }
  return at
}

const typeGoesOn: ReadonlySet<string> = new Set([":", "|", "&", "<", ",", "=>", "extends", "keyof", "readonly"])

/** The beginning of the body whose parameters are in the round bracket at `open`, if there is one. */
const bodyBehind = (tokens: ReadonlyArray<Token>, open: number): number | undefined => {
  const { depth } = tokens[open]!
  const close = closeOf(tokens, open)
  if (tokens[close + 1]?.value === "{") return close + 1
  if (tokens[close + 1]?.value !== ":") return undefined
  for (let next = close + 2; next < tokens.length; next++) {
    const token = tokens[next]!
    if (token.depth < depth || token.value === ";" || token.value === "=") return undefined
    if (token.depth !== depth) continue
    if (token.value === "{" && !typeGoesOn.has(tokens[next - 1]!.value)) return next
    if (startsStatement(tokens, next)) return undefined
  }
  return undefined
}

/** The round bracket after a name and its type parameters. */
export const openBehind = (tokens: ReadonlyArray<Token>, at: number): number | undefined => {
  if (tokens[at]?.value === "(") return at
  if (tokens[at]?.value !== "<") return undefined
  const { depth } = tokens[at]!
  for (let next = at + 1; next < tokens.length && tokens[next]!.depth >= depth; next++) {
    if (tokens[next]!.value === "(" && tokens[next]!.depth === depth && /^>+$/.test(tokens[next - 1]!.value)) return next
  }
  return undefined
}

const bodied = (tokens: ReadonlyArray<Token>, start: number, behind: number): Span | undefined => {
  const open = openBehind(tokens, behind)
  const body = open === undefined ? undefined : bodyBehind(tokens, open)
  return body === undefined ? undefined : { start, end: closeOf(tokens, body) }
}

const statements: ReadonlySet<string> = new Set("if for while switch catch with return function super".split(" "))
const beforeMethods: ReadonlySet<string> = new Set("{ } , ; async static private public protected override get set *".split(" "))

const isMethodName = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const { type, value } = tokens[at]!
  if ((type !== "IdentifierName" && type !== "PrivateIdentifier") || statements.has(value)) return false
  if (tokens[at - 1]?.value === "*" && tokens[at - 2]?.value === "function") return false
  return beforeMethods.has(tokens[at - 1]?.value ?? "") || startsStatement(tokens, at)
}

/** Every function, with its parameters: what is called before, such as its name, is not in it. */
export const spans = (tokens: ReadonlyArray<Token>): ReadonlyArray<Span> =>
  tokens.flatMap((token, at) => {
    if (token.value === "=>") return [arrow(tokens, at)]
    if (token.type === "IdentifierName" && token.value === "function" && tokens[at - 1]?.value !== ".") {
      const star = tokens[at + 1]?.value === "*" ? 1 : 0
      const name = tokens[at + 1 + star]?.type === "IdentifierName" ? 1 : 0
      return bodied(tokens, at, at + 1 + star + name) ?? []
    }
    return isMethodName(tokens, at) ? bodied(tokens, at, at + 1) ?? [] : []
  })

const declarations: ReadonlySet<string> = new Set(["const", "let", "var", "function", "class"])

/** The name by which a reader would call a function: its own, or that of the declaration, property or statement that contains it. */
const nameOf = (tokens: ReadonlyArray<Token>, start: number): string => {
  if (isMethodName(tokens, start)) return tokens[start]!.value
  const named = tokens[start + 1]?.value === "*" ? start + 2 : start + 1
  if (tokens[start]!.value === "function" && tokens[named]?.type === "IdentifierName") return tokens[named]!.value
  let { depth } = tokens[start]!
  for (let at = start - 1; at >= 0; at--) {
    const token = tokens[at]!
    depth = Math.min(depth, token.depth)
    if (token.depth > depth || token.type !== "IdentifierName") continue
    if (declarations.has(tokens[at - 1]?.value ?? "")) return token.value
    if (tokens[at + 1]?.value === ":" && ["{", ","].includes(tokens[at - 1]?.value ?? "")) return token.value
    if (startsStatement(tokens, at) && !modifiers.has(token.value) && !declarations.has(token.value)) return token.value
  }
  return "anonymous"
}

const modifiers: ReadonlySet<string> = new Set(
  "export async static private public protected override readonly await yield return".split(" ")
)

const testBlocks: ReadonlySet<string> = new Set(["describe", "it", "test"])

/** A group of tests, or a function that declares some, is a list of them, and may be longer. */
const isListOfTests = (path: string, name: string, tokens: ReadonlyArray<Token>, { end, start }: Span): boolean =>
  path.startsWith("test/")
  && (name === "describe" || tokens.slice(start, end).some(({ type, value }, offset) =>
    type === "IdentifierName" && testBlocks.has(value) && ["(", "."].includes(tokens[start + offset + 1]!.value)
  ))

/** Every function longer than `maxLines`, once for each name; the subject is `File.name`. */
export const check = (source: Source): ReadonlyArray<Violation> => {
  const seen = new Set<string>()
  return spans(source.tokens).flatMap((span) => {
    const [first, last] = [source.tokens[span.start]!, source.tokens[span.end]!]
    const lines = last.line + last.value.split("\n").length - first.line
    if (lines <= maxLines) return []
    const name = nameOf(source.tokens, span.start)
    if (isListOfTests(source.path, name, source.tokens, span)) return []
    const subject = `${basename(source.path)}.${name}`
    if (seen.has(subject)) return []
    seen.add(subject)
    return [violation(source, first.line, "long-function", `${name} has ${lines} lines of at most ${maxLines}`, subject)]
  })
}
