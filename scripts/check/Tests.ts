/** Tests that run alone, and tests that do not run or may fail without saying why. */
import { around } from "./Names.js"
import { closeOf, openOf, type Source, type Token, type Violation, violation } from "./Source.js"

const testBlocks: ReadonlySet<string> = new Set(["it", "test", "describe", "suite"])

/** The first name of the member chain that ends at `at`, past calls and indices within it. */
const chainRoot = (tokens: ReadonlyArray<Token>, at: number): string => {
  let first = at
  while (tokens[first - 1]?.value === ".") {
    first -= 2
    while (tokens[first]?.value === ")" || tokens[first]?.value === "]") first = openOf(tokens, first) - 1
  }
  return tokens[first]?.value ?? ""
}

const focused = "every test runs"
const bySkip = "a test is skipped by `skip(reason)` within it"

/** Modifiers that switch a test off, or over. */
const modifiers: ReadonlySet<string> = new Set(["skip", "todo", "fails"])

/** Whether the condition in the round bracket at `open` names nothing, and so is always the same. */
const isFixed = (tokens: ReadonlyArray<Token>, open: number): boolean =>
  tokens.slice(open + 1, closeOf(tokens, open)).every(({ type, value }) =>
    type !== "IdentifierName" || ["true", "false", "null", "undefined"].includes(value)
  )

const modified = (source: Source, at: number): ReadonlyArray<Violation> => {
  const { tokens } = source
  const { line, value } = tokens[at]!
  if (tokens[at - 1]?.value !== ".") return []
  const isBlock = testBlocks.has(chainRoot(tokens, at))
  if (value === "only") return isBlock ? [violation(source, line, "focused-test", focused)] : []
  if (modifiers.has(value) && isBlock) return [violation(source, line, "skipped-test", bySkip)]
  if (value === "skip" && tokens[at + 1]?.value === "(" && tokens[at + 2]?.value === ")") {
    return [violation(source, line, "skipped-test", "a skipped test says why")]
  }
  return (value === "skipIf" || value === "runIf") && isBlock && isFixed(tokens, at + 1)
    ? [violation(source, line, "skipped-test", bySkip)]
    : []
}

/** Options of a test, or of a group: `it("a", { only: true }, ...)`. */
const options = (source: Source, at: number): ReadonlyArray<Violation> => {
  const { tokens } = source
  const { line, value } = tokens[at]!
  if (tokens[at + 1]?.value !== ":" || (value !== "only" && !modifiers.has(value))) return []
  const open = around(tokens, at)
  if (tokens[open]?.value !== "{" || !["(", ","].includes(tokens[open - 1]?.value ?? "")) return []
  const call = around(tokens, open)
  if (tokens[call]?.value !== "(") return []
  let called = call - 1
  while (tokens[called]?.value === ")") called = openOf(tokens, called) - 1
  if (!testBlocks.has(chainRoot(tokens, called))) return []
  return [value === "only" ? violation(source, line, "focused-test", focused) : violation(source, line, "skipped-test", bySkip)]
}

/** What keeps tests of a file from running. */
export const check = (source: Source): ReadonlyArray<Violation> =>
  source.path.startsWith("test/")
    ? source.tokens.flatMap(({ type }, at) => type === "IdentifierName" ? [...modified(source, at), ...options(source, at)] : [])
    : []
