/**
 * State of a module: it survives a simulated crash, and is shared by whatever runs in one process. Tokens show most of it: variables,
 * collections that may be written, objects that are written, static fields, and variables that a function called at once leaves behind.
 */
import { openBehind, type Span, spans } from "./Functions.js"
import { around, isBound } from "./Names.js"
import { closeOf, openOf, type Source, type Token, type Violation, violation } from "./Source.js"

const rule = "module-state"

const collections: ReadonlySet<string> = new Set([
  "Map",
  "Set",
  "WeakMap",
  "WeakSet",
  "Array",
  "Int8Array",
  "Uint8Array",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array"
])

/** Effect's collections and cells, by module and function; `FiberRef` is not among them, since its values belong to fibers. */
const cells = new RegExp(
  "^(?:Mutable(?:HashMap|HashSet|List|Queue|Ref)\\.(?:make|empty|fromIterable|bounded|unbounded)"
    + "|(?:Ref|Deferred)\\.unsafeMake|Effect\\.unsafeMake(?:Semaphore|Latch))$"
)

/** For each token, whether it runs when the module is loaded: not within a function, nor in the body of a class. */
const loadedCode = (tokens: ReadonlyArray<Token>): ReadonlyArray<boolean> => {
  const loaded = tokens.map(() => true)
  for (const { end, start } of spans(tokens)) loaded.fill(false, start, end + 1)
  for (const { close, open } of classes(tokens)) loaded.fill(false, open, close + 1)
  return loaded
}

interface Body {
  readonly open: number
  readonly close: number
}

const beforeTypes: ReadonlySet<string> = new Set(["<", ",", "|", "&", ":", "=>", "extends"])

/** The bodies of classes. */
const classes = (tokens: ReadonlyArray<Token>): ReadonlyArray<Body> =>
  tokens.flatMap(({ depth, type, value }, at) => {
    if (type !== "IdentifierName" || value !== "class" || tokens[at - 1]?.value === "." || tokens[at + 1]?.value === ":") return []
    const open = tokens.findIndex((token, index) =>
      index > at && (token.depth < depth || (token.depth === depth && token.value === "{" && !beforeTypes.has(tokens[index - 1]!.value)))
    )
    return tokens[open]?.value === "{" ? [{ open, close: closeOf(tokens, open) }] : []
  })

/** Whether a keyword after `before` is not a declaration: a member, `as const`, a type parameter. */
const isNoDeclaration = (before: string | undefined): boolean => before === "." || before === "as" || before === "<"

const isReadOnly = (type: string | undefined): boolean => type !== undefined && /^(?:Readonly[A-Za-z]*|readonly)$/.test(type)

interface Constant {
  readonly line: number
  readonly name: string
  /** The tokens of its type; empty where none is written. */
  readonly type: ReadonlyArray<string>
  /** Where its value begins. */
  readonly value: number
}

/** The constants that a module declares at its top level. */
const constants = (tokens: ReadonlyArray<Token>): ReadonlyArray<Constant> =>
  tokens.flatMap((token, at) => {
    if (token.depth !== 0 || token.type !== "IdentifierName" || token.value !== "const" || isNoDeclaration(tokens[at - 1]?.value)) return []
    let assigned = at + 2
    while (tokens[assigned] !== undefined && !(tokens[assigned]!.value === "=" && tokens[assigned]!.depth === 0)) assigned++
    const type = tokens[at + 2]?.value === ":" ? tokens.slice(at + 3, assigned).map(({ value }) => value) : []
    return [{ line: token.line, name: tokens[at + 1]!.value, type, value: assigned + 1 }]
  })

const writable: ReadonlySet<string> = new Set(["Array", "Map", "Set", "WeakMap", "WeakSet"])

/** Members of a collection that are itself or another one. */
const returning: ReadonlySet<string> = new Set(
  ("set add fill copyWithin sort reverse splice subarray buffer map filter slice concat flat flatMap with toSorted toReversed toSpliced "
    + "union intersection difference symmetricDifference keys values entries").split(" ")
)

/** Whether the new collection at `at` is gone behind its expression: spread out, or something that is no collection is taken off it. */
const isGone = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  if (tokens[at - 1]?.value === "...") return true
  let open = openBehind(tokens, at + 2)
  while (open !== undefined) {
    const next = closeOf(tokens, open) + 1
    if (tokens[next]?.value !== ".") return false
    if (!returning.has(tokens[next + 1]?.value ?? "")) return true
    open = openBehind(tokens, next + 2)
  }
  return false
}

/** Whether a new collection is at `at` that stays, and not one of no bytes, which holds nothing for ever. */
const isMade = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const name = tokens[at + 1]?.value ?? ""
  if (tokens[at]?.value !== "new" || !collections.has(name) || isGone(tokens, at)) return false
  const bytes = tokens[at + 2]?.value === "(" ? tokens.slice(at + 3, closeOf(tokens, at + 2)).map(({ value }) => value).join("") : "?"
  return !name.endsWith("Array") || name === "Array" || (bytes !== "" && bytes !== "0")
}

/** Whether a constant's type lets anyone write to the collection, or an empty one is made for somebody to fill. */
const isOpen = (tokens: ReadonlyArray<Token>, { type, value }: Constant): boolean => {
  if (isReadOnly(type[0])) return false
  if (isMade(tokens, value) || writable.has(type[0] ?? "") || (type.at(-1) === "]" && type.at(-2) === "[")) return true
  const literal = `${tokens[value]?.value}${tokens[value + 1]?.value}`
  return (type.length === 0 && literal === "[]") || ((type.length === 0 || type[0] === "Record") && literal === "{}")
}

/** Collections that anyone may write to. Where a constant has a type of its own, that says which of its members may be written. */
const openCollections = (source: Source): ReadonlyArray<Violation> => {
  const { tokens } = source
  const declared = constants(tokens)
  const loaded = loadedCode(tokens)
  const open = declared.filter((constant) => isOpen(tokens, constant))
  const within = tokens.flatMap((token, at) => {
    const named = `${token.value}${tokens[at + 1]?.value}${tokens[at + 2]?.value}`
    if (!loaded[at] || (!isMade(tokens, at) && !cells.test(named))) return []
    const constant = declared.findLast(({ value }) => value <= at)
    return constant === undefined || (constant.type.length === 0 && !open.includes(constant)) ? [token.line] : []
  })
  return [...open.map(({ line }) => line), ...within].map((line) => openCollection(source, line))
}

const openCollection = (source: Source, line: number): Violation =>
  violation(source, line, rule, "a module-level collection is typed read-only")

/** In tests a suite is a module of its own, whose arrays are as good as variables of its groups. */
const madeCollections = (source: Source): ReadonlyArray<Violation> =>
  constants(source.tokens)
    .filter(({ type, value }) => !isReadOnly(type[0]) && isMade(source.tokens, value))
    .map(({ line }) => openCollection(source, line))

const variables = (source: Source): ReadonlyArray<Violation> =>
  source.tokens.flatMap(({ depth, line, type, value }, at) =>
    depth === 0 && type === "IdentifierName" && (value === "let" || value === "var") && !isNoDeclaration(source.tokens[at - 1]?.value)
      ? [violation(source, line, rule, `no module-level \`${value}\`: it would survive a crash in the simulator`)]
      : []
  )

/** Variables and collections that a function called at once leaves to those within: `(() => { let count = 0; return () => count++ })()`. */
const leftBehind = (source: Source): ReadonlyArray<Violation> => {
  const { tokens } = source
  const functions = spans(tokens)
  return functions.filter(({ end, start }) => isCalledAtOnce(tokens, { end, start })).flatMap(({ end, start }) => {
    const inner = functions.filter((each) => each.start > start && each.end < end)
    const isKept = (name: string): boolean =>
      inner.some((each) => tokens.slice(each.start, each.end + 1).some(({ type, value }) => type === "IdentifierName" && value === name))
    return tokens.slice(start, end).flatMap(({ line, value }, offset) => {
      const at = start + offset
      const isState = value === "let" || value === "var" || (value === "const" && isMade(tokens, at + 3))
      return isState && isKept(tokens[at + 1]!.value)
        ? [violation(source, line, rule, "what a function called at once leaves behind is module state")]
        : []
    })
  })
}

/** Whether a function stands in round brackets at the module's top level, and is called there. */
const isCalledAtOnce = (tokens: ReadonlyArray<Token>, { end, start }: Span): boolean =>
  tokens[start]!.depth === 1 && tokens[start - 1]?.value === "(" && tokens[end + 1]?.value === ")" && tokens[end + 2]?.value === "("

const modifiers: ReadonlySet<string> = new Set(["public", "protected", "private", "override", "accessor", "declare"])

/** Static fields that may be assigned, and static collections that may be written. */
const statics = (source: Source): ReadonlyArray<Violation> => {
  const { tokens } = source
  return tokens.flatMap((token, at) => {
    if (token.type !== "IdentifierName" || token.value !== "static") return []
    let name = at + 1
    while (modifiers.has(tokens[name]?.value ?? "")) name++
    const isFixed = tokens[name]?.value === "readonly"
    if (isFixed) name++
    if (!["IdentifierName", "PrivateIdentifier"].includes(tokens[name]?.type ?? "")) return []
    const after = tokens[name + 1]?.value ?? ""
    const isField = ["=", ":", "?", "!", ";", "}"].includes(after) || tokens[name]!.endsLine
    if (!isField) return []
    if (!isFixed) return [violation(source, token.line, rule, "a static field is module state: it is `readonly`")]
    const type = after === ":" ? tokens[name + 2]!.value : undefined
    let value = name + 1
    while (tokens[value] !== undefined && tokens[value]!.value !== "=" && tokens[value]!.depth >= token.depth) value++
    return !isReadOnly(type) && (isMade(tokens, value + 1) || writable.has(type ?? ""))
      ? [violation(source, token.line, rule, "a static collection is typed read-only")]
      : []
  })
}

/**
 * Module-level objects, functions and imports whose members are written to: they are mutable module state as much as a `let`. Names that
 * are declared again anywhere in the file are skipped, since tokens do not show which declaration is meant.
 */
const writtenObjects = (source: Source): ReadonlyArray<Violation> => {
  const { tokens } = source
  const made = new Map(constants(tokens).map(({ name, value }) => [name, value]))
  const own = new Set<string>()
  const imported = new Set<string>()
  const again = new Set<string>()
  tokens.forEach((token, at) => {
    if (token.type !== "IdentifierName" || token.value === "const") return
    const before = tokens[at - 1]?.value ?? ""
    if (token.depth === 0 && (before === "const" || before === "function" || before === "class")) own.add(token.value)
    else if (isImported(tokens, at)) imported.add(token.value)
    else if (isBound(tokens, at)) again.add(token.value)
  })
  return tokens.flatMap((token, at) => {
    if (token.type !== "IdentifierName" || again.has(token.value)) return []
    if (!own.has(token.value) && !imported.has(token.value)) return []
    const before = tokens[at - 1]?.value
    if (before === "." || before === "?." || before === "const" || isType(tokens, at)) return []
    return isWritten(tokens, at, source.path.startsWith("test/") ? undefined : made.get(token.value))
      ? [violation(source, token.line, rule, `\`${token.value}\` is module state: its members are written to`)]
      : []
  })
}

/** Whether a type begins at `at`, so that an assignment behind it is none to a member: after a colon, or a parameter's arrow. */
const isType = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const before = tokens[at - 1]?.value
  if (before !== "=>" || !tokens[at]!.inRound || tokens[at - 2]?.value !== ")") return before === ":" || before === "typeof"
  return tokens[openOf(tokens, at - 2) - 1]?.value === ":"
}

/** Whether the name at `at` is one that an import binds. */
const isImported = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const { depth } = tokens[at]!
  if (depth === 0) return tokens[at - 1]?.value === "as" && tokens[at - 2]?.value === "*"
  const after = tokens[at + 1]?.value
  return depth === 1 && tokens[around(tokens, at) - 1]?.value === "import" && (after === "," || after === "}")
}

const assignments: ReadonlySet<string> = new Set(
  "= += -= *= /= %= **= |= &= ^= <<= >>= >>>= ??= ||= &&= ++ --".split(" ")
)

/** Methods by which arrays, maps and sets are written. */
const writers: ReadonlySet<string> = new Set(
  "push pop shift unshift splice sort reverse fill copyWithin set add delete clear".split(" ")
)

/** Functions that write to their first argument. */
const writing = /^(?:Object\.(?:assign|defineProperty|defineProperties|setPrototypeOf)|Reflect\.(?:set|defineProperty|deleteProperty))$/

/**
 * Whether a collection or an array is written at `value`, or at the members of it that `path` names; a member that is named by a value is
 * an empty text, and may be any of them.
 */
const isCollection = (tokens: ReadonlyArray<Token>, value: number, path: ReadonlyArray<string>): boolean => {
  const [token, next] = [tokens[value]!, tokens[value + 1]?.value ?? ""]
  if (token.value === "(") return isCollection(tokens, value + 1, path)
  if (/^Object\.(?:freeze|seal)$/.test(`${token.value}${next}${tokens[value + 2]?.value}`)) return isCollection(tokens, value + 4, path)
  const [name, ...rest] = path
  if (name === undefined) {
    return token.value === "[" || isMade(tokens, value) || (collections.has(token.value) && (next === "(" || next === "."))
  }
  if (token.value !== "{" && token.value !== "[") return false
  for (let at = value + 1; at < closeOf(tokens, value); at++) {
    const [before, after] = [tokens[at - 1]!.value, tokens[at + 1]!.value]
    if (tokens[at]!.depth !== token.depth + 1 || (before !== "," && before !== token.value)) continue
    const isNamed = name === "" || tokens[at]!.value === name
    const member = token.value === "[" ? at : after === ":" ? at + 2 : undefined
    if (isNamed && member !== undefined && isCollection(tokens, member, rest)) return true
  }
  return false
}

/**
 * Whether the member chain that starts at `at` ends in an assignment or in a call that writes. A call counts only on a collection that is
 * written in the value of a constant, which begins at `value`: what is called `add` elsewhere may be a function that only computes.
 */
const isWritten = (tokens: ReadonlyArray<Token>, at: number, value: number | undefined): boolean => {
  let next = at + 1
  const path: Array<string> = []
  for (;;) {
    const sign = tokens[next]?.value
    if (sign === "." || sign === "?.") {
      path.push(tokens[next + 1]!.value)
      next += 2
    } else if (sign === "[") {
      path.push("")
      next = closeOf(tokens, next) + 1
    } else if (sign === "!") next++
    else break
  }
  const before = tokens[at - 1]?.value ?? ""
  const called = before === "(" ? `${tokens[at - 4]?.value}.${tokens[at - 2]?.value}` : ""
  if (tokens[at + 1]?.value !== "." && writing.test(called) && tokens[at - 3]?.value === ".") return true
  if (tokens[next]?.value === "(") {
    return value !== undefined && writers.has(path.at(-1) ?? "") && isCollection(tokens, value, path.slice(0, -1))
  }
  return path.length > 0 && (assignments.has(tokens[next]?.value ?? "") || ["delete", "++", "--"].includes(before))
}

/** What a file keeps outside the functions that are called. */
export const check = (source: Source): ReadonlyArray<Violation> => [
  ...variables(source),
  ...(source.path.startsWith("test/") ? madeCollections(source) : [...openCollections(source), ...leftBehind(source)]),
  ...statics(source),
  ...writtenObjects(source)
]
