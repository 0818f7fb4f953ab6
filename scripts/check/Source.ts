/**
 * A source file as the rules need it: its text, its tokens without white space and comments, its comments, and its imports. Tokens rather
 * than syntax trees, since the compiler in use has no programming interface.
 */
import jsTokens from "js-tokens"

/** One broken rule at one place. */
export interface Violation {
  /** Path from the repository's root, with `/`. */
  readonly path: string
  /** From 1. */
  readonly line: number
  /** The rule's name, in kebab case. */
  readonly rule: string
  readonly message: string
  /** The subject of the violation, by a name that survives moving the file; only for rules with exceptions. */
  readonly subject?: string
}

/** A token and where it begins. */
export interface Token {
  readonly type: string
  readonly value: string
  /** From 1. */
  readonly line: number
  /** How many brackets of any kind are open before it: 0 at the module's top level. */
  readonly depth: number
  /** Whether the innermost bracket open before it is a round one. */
  readonly inRound: boolean
  /** Whether nothing but a comment follows on its line. */
  readonly endsLine: boolean
}

/** One imported module. */
export interface Import {
  readonly line: number
  /** As written. */
  readonly specifier: string
  /** Path of the file from the repository's root, for a relative specifier; otherwise undefined. */
  readonly path: string | undefined
  /** Names within the braces, before any `as`. */
  readonly names: ReadonlyArray<string>
  /** Whether it imports only types, with `import type`, so that nothing is loaded. */
  readonly isType: boolean
}

export interface Source {
  /** Path from the repository's root, with `/`. */
  readonly path: string
  readonly text: string
  readonly lines: ReadonlyArray<string>
  readonly tokens: ReadonlyArray<Token>
  readonly comments: ReadonlyArray<Token>
  readonly imports: ReadonlyArray<Import>
}

/** A violation in a source. */
export const violation = (source: Source, line: number, rule: string, message: string, subject?: string): Violation => ({
  path: source.path,
  line,
  rule,
  message,
  ...(subject === undefined ? {} : { subject })
})

/** The file's name without folders and extension. */
export const basename = (path: string): string => path.slice(path.lastIndexOf("/") + 1).replace(/\.tsx?$/, "")

const isComment = (type: string): boolean => type.endsWith("Comment")
const isSpace = (type: string): boolean => type === "WhiteSpace" || type === "LineTerminatorSequence"
const opening: ReadonlySet<string> = new Set(["(", "[", "{"])
const closing: ReadonlySet<string> = new Set([")", "]", "}"])

interface Raw {
  readonly type: string
  readonly value: string
}

/** Names and punctuation of markup count as those of code; its text does not. */
const plain = ({ type, value }: Raw): Raw => ({ type: markup[type] ?? type, value })

const markup: Readonly<Record<string, string>> = {
  JSXIdentifier: "IdentifierName",
  JSXPunctuator: "Punctuator",
  JSXString: "StringLiteral"
}

/** Keywords that an expression follows: a `!` behind one of them negates. */
const negatable: ReadonlySet<string> = new Set(
  "await case default delete do else instanceof new return throw typeof void yield".split(" ")
)

/**
 * The tokens of a text. The tokenizer knows no types: behind the `!` that says that a value is there it takes a division for the beginning
 * of a regular expression, and what is between two of them would be hidden from every rule. It is given a `]` for such a `!`, behind which
 * a division is one.
 */
const tokensOf = (text: string, jsx: boolean): ReadonlyArray<Raw> => {
  const asserted = new Set<number>()
  for (let read = text;;) {
    const raw = [...jsTokens(read, { jsx })]
    const starts = startsOf(raw)
    const at = raw.findIndex((_, index) => isMisread(raw, index))
    if (at < 0) return raw.map((token, index) => asserted.has(starts[index]!) ? { type: token.type, value: "!" } : token)
    const mark = starts[lastBefore(raw, at)]!
    asserted.add(mark)
    read = `${read.slice(0, mark)}]${read.slice(mark + 1)}`
  }
}

/** Where each token begins. */
const startsOf = (raw: ReadonlyArray<Raw>): ReadonlyArray<number> => {
  let length = 0
  return raw.map(({ value }) => (length += value.length) - value.length)
}

/** The last token before `at` that is neither white space nor a comment; -1 where there is none. */
const lastBefore = (raw: ReadonlyArray<Raw>, at: number): number =>
  raw.findLastIndex(({ type }, index) => index < at && !isSpace(type) && !isComment(type))

/** Whether what was taken for a regular expression at `at` is a division, behind a `!` that itself stands behind a value on its line. */
const isMisread = (raw: ReadonlyArray<Raw>, at: number): boolean => {
  if (raw[at]!.type !== "RegularExpressionLiteral") return false
  const mark = lastBefore(raw, at)
  if (raw[mark]?.value !== "!") return false
  const before = lastBefore(raw, mark)
  if (before < 0 || raw.slice(before + 1, mark).some(({ type }) => type === "LineTerminatorSequence")) return false
  const { type, value } = raw[before]!
  if (type === "Punctuator") return value === ")" || value === "]"
  if (type === "PrivateIdentifier") return true
  const isMember = [".", "?."].includes(raw[lastBefore(raw, before)]?.value ?? "")
  return type === "IdentifierName" && (isMember || !negatable.has(value))
}

/** Parses a file's text. */
export const parse = (path: string, text: string): Source => {
  const tokens: Array<Token> = []
  const comments: Array<Token> = []
  const open: Array<string> = []
  let line = 1
  const raw = tokensOf(text, path.endsWith(".tsx")).map(plain)
  raw.forEach(({ type, value }, index) => {
    const closes = (type === "Punctuator" && closing.has(value)) || type === "TemplateTail" || type === "TemplateMiddle"
    if (closes) open.pop()
    if (!isSpace(type)) {
      const token: Token = {
        type,
        value,
        line,
        depth: open.length,
        inRound: open.at(-1) === "(",
        endsLine: endsLine(raw, index)
      }
      ;(isComment(type) ? comments : tokens).push(token)
    }
    if ((type === "Punctuator" && opening.has(value)) || type === "TemplateHead" || type === "TemplateMiddle") open.push(value)
    line += value.split("\n").length - 1
  })
  return { path, text, lines: text.split("\n"), tokens, comments, imports: importsOf(path, tokens) }
}

const endsLine = (raw: ReadonlyArray<{ readonly type: string }>, index: number): boolean => {
  for (let next = index + 1; next < raw.length; next++) {
    const { type } = raw[next]!
    if (type === "LineTerminatorSequence") return true
    if (type !== "WhiteSpace" && !isComment(type)) return false
  }
  return true
}

/** Where the bracket that is opened at `open` is closed. */
export const closeOf = (tokens: ReadonlyArray<Token>, open: number): number => {
  const { depth } = tokens[open]!
  let at = open + 1
  while (at < tokens.length - 1 && tokens[at]!.depth > depth) at++
  return at
}

/** Where the bracket that is closed at `close` was opened. */
export const openOf = (tokens: ReadonlyArray<Token>, close: number): number => {
  const { depth } = tokens[close]!
  let at = close - 1
  while (at > 0 && tokens[at]!.depth > depth) at--
  return at
}

const goesOn: ReadonlySet<string> = new Set(["as", "satisfies", "instanceof", "in", "of", "extends", "implements", "is"])
const wantsMore: ReadonlySet<string> = new Set([
  ...goesOn,
  ..."return yield await typeof new keyof readonly export default".split(" ")
])

/** Whether the token at `at` begins a statement or a member: on a new line, after something complete. */
export const startsStatement = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const token = tokens[at]!
  const before = tokens[at - 1]
  if (token.type !== "IdentifierName" || goesOn.has(token.value)) return false
  if (before === undefined) return true
  if (!before.endsLine) return false
  if (before.type === "Punctuator") return [")", "]", "}", ";", ">", "{"].includes(before.value)
  return !wantsMore.has(before.value)
}

/** Static, side-effect and dynamic imports, and re-exports. */
const importsOf = (path: string, tokens: ReadonlyArray<Token>): ReadonlyArray<Import> => {
  const found: Array<Import> = []
  tokens.forEach((token, index) => {
    if (token.type !== "StringLiteral" && token.type !== "NoSubstitutionTemplate") return
    const before = tokens[index - 1]?.value
    const isImport = (before === "from" && token.depth === 0)
      || before === "import"
      || (before === "(" && tokens[index - 2]?.value === "import")
    if (!isImport) return
    const specifier = token.value.slice(1, -1)
    const names = before === "from" ? namesBefore(tokens, index - 1) : []
    found.push({
      line: token.line,
      specifier,
      path: resolve(path, specifier),
      names,
      isType: before === "from" && takesTypes(tokens, index)
    })
  })
  return found
}

/** Whether the import whose specifier is at `at` begins with `import type`. */
const takesTypes = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const start = tokens.findLastIndex((token, index) => index < at && token.depth === 0 && ["import", "export"].includes(token.value))
  return tokens[start + 1]?.value === "type"
}

const namesBefore = (tokens: ReadonlyArray<Token>, from: number): ReadonlyArray<string> => {
  const names: Array<string> = []
  if (tokens[from - 1]?.value !== "}") return names
  for (let at = from - 2; at >= 0 && tokens[at]!.value !== "{"; at--) {
    const before = tokens[at - 1]!.value
    const starts = before === "{" || before === "," || before === "type"
    if (starts && tokens[at]!.type === "IdentifierName") names.push(tokens[at]!.value)
  }
  return names
}

/** The sources with resolved imports: `x.js` stands for `x.tsx` where only that exists. */
export const linked = (sources: ReadonlyArray<Source>): ReadonlyArray<Source> => {
  const known = new Set(sources.map(({ path }) => path))
  const found = (path: string): string => !known.has(path) && known.has(`${path}x`) ? `${path}x` : path
  return sources.map((source) => ({
    ...source,
    imports: source.imports.map((imported) => imported.path === undefined ? imported : { ...imported, path: found(imported.path) })
  }))
}

/** Resolves `./x.js` in `a/b.ts` to `a/x.ts`. */
const resolve = (from: string, specifier: string): string | undefined => {
  if (!specifier.startsWith(".")) return undefined
  const parts = from.split("/").slice(0, -1)
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== ".") parts.push(part)
  }
  return parts.join("/").replace(/\.js$/, ".ts")
}
