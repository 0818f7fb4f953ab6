/** Banned constructs: the clock, randomness and timers outside the leaves, mutable module state, and loose ends. */
import { type Source, type Token, type Violation, violation } from "./Source.js"

/** Whether a module touches the machine through Node, by its name. */
export const isOfNode = (path: string): boolean => /(?:^|\/)Node[A-Z][A-Za-z]*(?:\.test)?\.ts$/.test(path)

/** The leaves are where the outside world enters: there the clock, randomness and timers are real. */
const isLeaf = (path: string): boolean =>
  isOfNode(path)
  || path === "src/main.ts"
  || path === "src/console/Browser.ts"
  || path === "src/client/venue/BrowserPlatform.ts"
  // These test that no global JavaScript state stays changed, and that a crash can occur between ticks.
  || path === "test/sim/Simulation.test.ts"
  || path === "test/journal/Harness.ts"
  || /^sim\/[a-z]+\.ts$/.test(path)
  || ["src/cli/", "sim/world/", "scripts/"].some((folder) => path.startsWith(folder))

/** A banned sequence of token values; alternatives for one position are in an array. */
interface Ban {
  readonly rule: string
  readonly tokens: ReadonlyArray<string | ReadonlyArray<string>>
  readonly message: string
}

const ban = (rule: string, tokens: Ban["tokens"], message: string): Ban => ({ rule, tokens, message })

const clock = "the time comes from the Clock service, or from the record"
const chance = "chance comes from the random leaf"
const timers = "timers belong to the scheduler"

const leafBans: ReadonlyArray<Ban> = [
  ban("clock", ["Date", ".", "now"], clock),
  ban("clock", ["performance", ".", ["now", "timeOrigin"]], clock),
  ban("clock", ["process", ".", ["hrtime", "uptime"]], clock),
  ban("random", ["Math", ".", "random"], chance),
  ban("random", [["randomUUID", "randomBytes", "randomFillSync", "getRandomValues"]], chance),
  ban("timers", [["setTimeout", "setInterval", "setImmediate", "queueMicrotask"]], timers)
]

/** Of what is shipped: a path is not only the program's own choice there. */
const shippedBans: ReadonlyArray<Ban> = [
  ban("make-directory", [["mkdir", "mkdirSync"], "("], "directories are made by NodeDirectory: `recursive` of Node may never return")
]

const everywhere: ReadonlyArray<Ban> = [ban("as-any", ["as", "any"], "`any` switches the types off")]

const testBlocks: ReadonlyArray<string> = ["it", "test", "describe", "suite"]

const matches = (source: Source, at: number, { tokens }: Ban): boolean =>
  tokens.every((wanted, offset) => {
    const value = source.tokens[at + offset]?.value
    return value !== undefined && (typeof wanted === "string" ? value === wanted : wanted.includes(value))
  })

const runs = (source: Source, bans: ReadonlyArray<Ban>): ReadonlyArray<Violation> =>
  source.tokens.flatMap((token, at) =>
    bans.filter((banned) => matches(source, at, banned)).map(({ message, rule }) => violation(source, token.line, rule, message))
  )

/** `new Date()`, `new Date` and `Date()` read the clock; `new Date(x)` does not. */
const bareDates = (source: Source): ReadonlyArray<Violation> =>
  source.tokens.flatMap((token, at) => {
    if (token.value !== "Date" || token.type !== "IdentifierName") return []
    const [before, after, next] = [source.tokens[at - 1]?.value, source.tokens[at + 1]?.value, source.tokens[at + 2]?.value]
    const constructed = before === "new" && (after !== "(" || next === ")")
    const called = before !== "new" && before !== "." && after === "("
    return constructed || called ? [violation(source, token.line, "clock", clock)] : []
  })

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

/** Module state that survives a simulated crash: `let` and `var`, and collections that anyone may write to. */
const moduleState = (source: Source): ReadonlyArray<Violation> =>
  source.tokens.flatMap((token, at) => {
    if (token.depth !== 0 || token.type !== "IdentifierName" || isNoDeclaration(source.tokens[at - 1]?.value)) return []
    if (token.value === "let" || token.value === "var") {
      const message = `no module-level \`${token.value}\`: it would survive a crash in the simulator`
      return [violation(source, token.line, "module-state", message)]
    }
    return token.value === "const" && isOpenCollection(source.tokens, at)
      ? [violation(source, token.line, "module-state", "a module-level collection is typed read-only")]
      : []
  })

/** Whether a keyword after `before` is not a declaration: a member, `as const`, a type parameter. */
const isNoDeclaration = (before: string | undefined): boolean => before === "." || before === "as" || before === "<"

/** Whether a `const` at `at` holds a new collection under a type that allows writing. */
const isOpenCollection = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  let assignment = at + 2
  const type = tokens[assignment]?.value === ":" ? tokens[at + 3]?.value : undefined
  if (type !== undefined && /^(?:Readonly[A-Za-z]*|readonly)$/.test(type)) return false
  while (tokens[assignment] !== undefined && !(tokens[assignment]!.value === "=" && tokens[assignment]!.depth === 0)) assignment++
  return tokens[assignment + 1]?.value === "new" && collections.has(tokens[assignment + 2]?.value ?? "")
}

/**
 * Module-level objects whose members are assigned: they are mutable module state as much as a `let`. Names that are declared again anywhere
 * in the file are skipped, since tokens do not show which declaration is meant.
 */
const writtenObjects = (source: Source): ReadonlyArray<Violation> => {
  const { tokens } = source
  const objects = new Set<string>()
  const again = new Set<string>()
  tokens.forEach((token, at) => {
    if (token.type !== "IdentifierName") return
    const before = tokens[at - 1]
    if (token.value === "const") return
    if (token.depth === 0 && before?.value === "const") objects.add(token.value)
    else if (declares(tokens, at)) again.add(token.value)
  })
  return tokens.flatMap((token, at) => {
    if (token.type !== "IdentifierName" || !objects.has(token.value) || again.has(token.value)) return []
    if (tokens[at - 1]?.value === "." || tokens[at - 1]?.value === "const") return []
    return isMemberWrite(tokens, at)
      ? [violation(source, token.line, "module-state", `\`${token.value}\` is module state: its members are written to`)]
      : []
  })
}

/** Whether the name at `at` is bound there: as a declaration, a parameter or a destructured member. */
const declares = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  const before = tokens[at - 1]?.value
  const after = tokens[at + 1]?.value
  if (before === "const" || before === "let" || before === "var" || before === "function" || before === "class") return true
  if (after === "=>" || after === ":") return true
  const within = before === "(" || before === "," || before === "{" || before === "..."
  return within && (after === ")" || after === "," || after === "}" || after === "=" || after === "?")
}

const assignments: ReadonlySet<string> = new Set(
  "= += -= *= /= %= **= |= &= ^= <<= >>= >>>= ??= ||= &&= ++ --".split(" ")
)

/** Whether the member chain that starts at `at` has a member and ends in an assignment. */
const isMemberWrite = (tokens: ReadonlyArray<Token>, at: number): boolean => {
  let next = at + 1
  let members = 0
  for (;;) {
    const value = tokens[next]?.value
    if (value === ".") next += 2
    else if (value === "[") {
      const depth = tokens[next]!.depth
      do next++
      while (tokens[next] !== undefined && !(tokens[next]!.value === "]" && tokens[next]!.depth === depth))
      next++
    } else if (value === "!") {
      next++
      continue
    } else break
    members++
  }
  return members > 0 && assignments.has(tokens[next]?.value ?? "")
}

/** Notes to oneself, and disabled diagnostics, in comments. */
const comments = (source: Source): ReadonlyArray<Violation> =>
  source.comments.flatMap((comment) =>
    comment.value.split("\n").flatMap((text, offset) => [
      ...(/\b(?:TODO|FIXME|XXX)\b/.test(text)
        ? [violation(source, comment.line + offset, "loose-end", "a loose end is an issue or a fix, not a comment")]
        : []),
      ...(/@ts-(?:ignore|expect-error|nocheck)\b/.test(text)
        ? [violation(source, comment.line + offset, "ts-ignore", "a type error is fixed, not hidden")]
        : [])
    ])
  )

/** Effects are run where the process starts, and nowhere else. */
const effectRuns = (source: Source): ReadonlyArray<Violation> => {
  if (!source.path.startsWith("src/") || source.path === "src/main.ts" || source.path.startsWith("src/cli/")) return []
  return runs(source, [
    ban(
      "run-effect",
      ["Effect", ".", ["runPromise", "runPromiseExit", "runSync", "runSyncExit"]],
      "only src/main.ts and src/cli run effects"
    )
  ])
}

/** A barrel loads all its modules, whatever is imported from it: a third of the time that the venue's own modules take to load. */
const barrels = (source: Source): ReadonlyArray<Violation> =>
  source.path.startsWith("src/")
    ? runs(source, [ban("barrel", ["from", ["\"effect\"", "\"@effect/platform\""]], "a module is imported by its own path")])
    : []

/** Tests that run alone, and tests disabled without a reason. */
const skipped = (source: Source): ReadonlyArray<Violation> => {
  if (!source.path.startsWith("test/")) return []
  return source.tokens.flatMap((token, at) => {
    if (token.value !== "only" && token.value !== "skip") return []
    if (source.tokens[at - 1]?.value !== "." || source.tokens[at + 1]?.value !== "(") return []
    const block = testBlocks.includes(chainRoot(source.tokens, at))
    if (token.value === "only") return block ? [violation(source, token.line, "focused-test", "every test runs")] : []
    if (block) return [violation(source, token.line, "skipped-test", "a test is skipped by `skip(reason)` within it")]
    return source.tokens[at + 2]?.value === ")" ? [violation(source, token.line, "skipped-test", "a skipped test says why")] : []
  })
}

/** The first name of the member chain that ends at `at`. */
const chainRoot = (tokens: ReadonlyArray<Token>, at: number): string => {
  let first = at
  while (tokens[first - 1]?.value === "." && tokens[first - 2]?.type === "IdentifierName") first -= 2
  return tokens[first]!.value
}

const outsideLeaves = (source: Source): ReadonlyArray<Violation> => [
  ...runs(source, leafBans),
  ...bareDates(source),
  ...moduleState(source),
  ...writtenObjects(source)
]

/** Every banned construct in a source. */
export const check = (source: Source): ReadonlyArray<Violation> => [
  ...(isLeaf(source.path) ? [] : outsideLeaves(source)),
  ...(source.path.startsWith("src/") && source.path !== "src/NodeDirectory.ts" ? runs(source, shippedBans) : []),
  ...runs(source, everywhere),
  ...comments(source),
  ...effectRuns(source),
  ...barrels(source),
  ...skipped(source)
]
