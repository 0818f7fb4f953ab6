/**
 * What a module reaches of the world around it: the clock, chance, timers, the process, the reader's language, Node's modules, and code
 * that nobody can name in advance. Outside the leaves it comes in by a service. The names themselves are banned, since what is taken off an
 * object or handed on under another name is no longer seen.
 */
import { isBuiltin } from "node:module"
import { around, isBound, isKey } from "./Names.js"
import { ban, runs } from "./Sequences.js"
import { closeOf, type Import, type Source, type Token, type Violation, violation } from "./Source.js"
import { isTypeName } from "./Types.js"

const clock = "the time comes from the Clock service, or from the record"
const chance = "chance comes from the random leaf"
const timers = "timers belong to the scheduler"
const loading = "what a module loads is written in it"

/** Outside the leaves, and in tests. */
const everywhere = [
  ban("clock", ["unsafeNow"], clock),
  ban("random", [["randomUUID", "randomBytes", "randomInt", "randomFill", "randomFillSync", "getRandomValues"]], chance),
  ban("timers", [["setTimeout", "setInterval", "setImmediate", "queueMicrotask"]], timers)
]

/** Outside the leaves of the venue and the simulator: tests start processes, and may end one that hangs. */
const ofPrograms = [
  ban("random", [["generateKey", "generateKeySync", "generateKeyPair", "generateKeyPairSync"]], chance),
  ban("timers", ["AbortSignal", ".", "timeout"], timers),
  ban("timers", ["Atomics", ".", ["wait", "waitAsync"]], timers),
  ban("load", ["createRequire"], loading)
]

const ofTests = [ban("clock", ["process", ".", ["hrtime", "uptime"]], clock)]

const language = "a text does not depend on the machine's language"

/** In the venue, whose words are the same on every machine; the owner's pages are shown to one reader. */
const ofTheVenue = [
  ban(
    "locale",
    [["localeCompare", "toLocaleString", "toLocaleDateString", "toLocaleTimeString", "toLocaleUpperCase", "toLocaleLowerCase"]],
    language
  )
]

/** Node's modules that only compute; of some of them, the functions that do. */
const computing: Readonly<Record<string, ReadonlyArray<string> | "all">> = {
  "node:buffer": "all",
  "node:crypto": "all",
  "node:net": ["isIP"],
  "node:util": "all"
}

const nodeModules = (source: Source): ReadonlyArray<Violation> =>
  source.imports.flatMap((imported) =>
    imported.isType || imported.path !== undefined || !isBuiltin(imported.specifier) || isComputing(imported)
      ? []
      : [violation(source, imported.line, "node-module", `${imported.specifier} is for leaves: files whose names begin with Node`)]
  )

const isComputing = ({ names, specifier }: Import): boolean => {
  const allowed = computing[specifier]
  return allowed === "all" || (allowed !== undefined && names.length > 0 && names.every((name) => allowed.includes(name)))
}

/** Dynamic imports of what is no text: the module could be any. */
const unnamedImports = ({ tokens, ...source }: Source): ReadonlyArray<Violation> =>
  tokens.flatMap((token, at) => {
    if (token.type !== "IdentifierName" || token.value !== "import" || tokens[at + 1]?.value !== "(") return []
    const isText = ["StringLiteral", "NoSubstitutionTemplate"].includes(tokens[at + 2]!.type) && closeOf(tokens, at + 1) === at + 3
    return isText ? [] : [violation({ tokens, ...source }, token.line, "load", loading)]
  })

const roots: ReadonlySet<string> = new Set(["globalThis", "window", "self", "global"])

/** Where a name stands for what JavaScript calls so: not for a member of something else, nor as a key. */
const globals = ({ tokens }: Source, name: string): ReadonlyArray<number> =>
  tokens.flatMap((token, at) => {
    if (token.type !== "IdentifierName" || token.value !== name || isKey(tokens, at)) return []
    const isMember = tokens[at - 1]?.value === "." || tokens[at - 1]?.value === "?."
    return isMember && !roots.has(tokens[at - 2]?.value ?? "") ? [] : [at]
  })

const named = (source: Source, name: string, rule: string, message: string): ReadonlyArray<Violation> =>
  globals(source, name).map((at) => violation(source, source.tokens[at]!.line, rule, message))

/**
 * An object that JavaScript has, under a name that some give to something of their own: where the file binds the name, it means that one.
 * What is called is no such object, but a method.
 */
const unlessOwn = (source: Source, name: string, rule: string, message: string): ReadonlyArray<Violation> => {
  const { tokens } = source
  const isOwn = tokens.some(({ type, value }, at) => type === "IdentifierName" && value === name && isBound(tokens, at))
  return globals(source, name)
    .filter((at) => isOwn ? isOfRoot(tokens, at) : tokens[at + 1]?.value !== "(")
    .map((at) => violation(source, tokens[at]!.line, rule, message))
}

/** Whether the name at `at` is a member of the global object, or taken out of it. */
const isOfRoot = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  if (tokens[at - 1]?.value === "." || tokens[at - 1]?.value === "?.") return true
  const open = around(tokens, at)
  if (tokens[open]?.value !== "{") return false
  const close = closeOf(tokens, open)
  return tokens[close + 1]?.value === "=" && roots.has(tokens[close + 2]?.value ?? "")
}

/**
 * The clock is read by `new Date()`, `Date()` and `Date.now`, and by whatever is called `Date` elsewhere; not by `new Date(x)`, nor by the
 * type, or by its schema `instanceOf(Date)`.
 */
const dates = (source: Source): ReadonlyArray<Violation> =>
  globals(source, "Date").flatMap((at) => {
    const [before, after, next] = [source.tokens[at - 1]?.value, source.tokens[at + 1]?.value, source.tokens[at + 2]?.value ?? ""]
    const converts = before === "new" && after === "(" && next !== ")" && next !== "..."
    const computes = after === "." && (next === "parse" || next === "UTC")
    const compares = before === "instanceof" || (before === "(" && after === ")" && source.tokens[at - 2]?.value === "instanceOf")
    return converts || computes || compares || isTypeName(source.tokens, at)
      ? []
      : [violation(source, source.tokens[at]!.line, "clock", clock)]
  })

/** `Math` is named with the member that is used, which is not `random`. */
const math = (source: Source): ReadonlyArray<Violation> =>
  globals(source, "Math").flatMap((at) =>
    source.tokens[at + 1]?.value === "." && source.tokens[at + 2]?.value !== "random"
      ? []
      : [violation(source, source.tokens[at]!.line, "random", chance)]
  )

/** The process and the global object; `process` is also what some call a process that they simulate. */
const processes = (source: Source): ReadonlyArray<Violation> => {
  const { tokens } = source
  return [
    ...unlessOwn(source, "process", "process", "the process is for leaves"),
    ...globals(source, "globalThis")
      // A type, where another one of the same name is imported.
      .filter((at) => tokens[at + 1]?.value !== "." || tokens[at + 2]?.value !== "Record")
      .map((at) => violation(source, tokens[at]!.line, "process", "the global object is for leaves"))
  ]
}

/** What a file outside the leaves takes of its surroundings. */
export const check = (source: Source): ReadonlyArray<Violation> => [
  ...runs(source, everywhere),
  ...unlessOwn(source, "performance", "clock", clock),
  ...dates(source),
  ...math(source),
  ...(source.path.startsWith("test/") ? runs(source, ofTests) : [
    ...runs(source, ofPrograms),
    ...processes(source),
    ...nodeModules(source),
    ...unnamedImports(source)
  ]),
  ...(source.path.startsWith("src/") && !source.path.startsWith("src/console/")
    ? [...runs(source, ofTheVenue), ...named(source, "Intl", "locale", language)]
    : [])
]
