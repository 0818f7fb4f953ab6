/** Banned constructs: the world around and mutable module state outside the leaves, effects run elsewhere, and loose ends. */
import * as ModuleState from "./ModuleState.js"
import { type Ban, ban, runs } from "./Sequences.js"
import { type Source, type Violation, violation } from "./Source.js"
import * as Surroundings from "./Surroundings.js"
import * as Tests from "./Tests.js"

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
  || ["src/cli/", "sim/world/", "sim/report/", "scripts/"].some((folder) => path.startsWith(folder))

/** Of what is shipped: a path is not only the program's own choice there. */
const shippedBans: ReadonlyArray<Ban> = [
  ban("make-directory", [["mkdir", "mkdirSync"], "("], "directories are made by NodeDirectory: `recursive` of Node may never return")
]

const everywhere: ReadonlyArray<Ban> = [ban("as-any", ["as", "any"], "`any` switches the types off")]

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

const runningToTheEnd = ["runPromise", "runPromiseExit", "runSync", "runSyncExit"]

/** Functions that run an effect, and what makes services for one: the clock of the machine among them. */
const running = [...runningToTheEnd, "runCallback", "runFork", "runMain", "defaultRuntime", "ManagedRuntime"]

/** Effects are run where the process starts. Elsewhere they run with the services that were handed in (`Runtime`); a leaf may begin one. */
const effectRuns = (source: Source): ReadonlyArray<Violation> => {
  if (!source.path.startsWith("src/") || source.path === "src/main.ts" || source.path.startsWith("src/cli/")) return []
  const banned = isLeaf(source.path) ? runningToTheEnd : running
  return source.tokens.flatMap(({ line, type, value }, at) => {
    const isGiven = source.tokens[at - 1]?.value === "." && source.tokens[at - 2]?.value === "Runtime" && value.startsWith("run")
    return type === "IdentifierName" && banned.includes(value) && !isGiven
      ? [violation(source, line, "run-effect", "only src/main.ts and src/cli run effects")]
      : []
  })
}

/** A barrel loads all its modules, whatever is imported from it: a third of the time that the venue's own modules take to load. */
const barrels = (source: Source): ReadonlyArray<Violation> =>
  source.path.startsWith("src/")
    ? runs(source, [ban("barrel", ["from", ["\"effect\"", "\"@effect/platform\""]], "a module is imported by its own path")])
    : []

/** Every banned construct in a source. */
export const check = (source: Source): ReadonlyArray<Violation> => [
  ...(isLeaf(source.path) ? [] : [...Surroundings.check(source), ...ModuleState.check(source)]),
  ...(source.path.startsWith("src/") && source.path !== "src/NodeDirectory.ts" ? runs(source, shippedBans) : []),
  ...runs(source, everywhere),
  ...comments(source),
  ...effectRuns(source),
  ...barrels(source),
  ...Tests.check(source)
]
