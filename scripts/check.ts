/**
 * Checks the whole repository: layering, bans, style, the linter's rules, long functions, import cycles, unused exports and packages,
 * permissions that nothing uses, missing documents, and whether a clone works anywhere. Prints one line for each violation and their
 * number; exits with 1 when there is any.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as Bans from "./check/Bans.js"
import * as Documents from "./check/Documents.js"
import * as Exceptions from "./check/Exceptions.js"
import * as Exports from "./check/Exports.js"
import * as Functions from "./check/Functions.js"
import * as Graph from "./check/Graph.js"
import * as Layering from "./check/Layering.js"
import * as Lint from "./check/Lint.js"
import * as Packages from "./check/Packages.js"
import * as Repository from "./check/Repository.js"
import { linked, parse, type Source, type Violation } from "./check/Source.js"
import * as Style from "./check/Style.js"

const checked = /^(?:src|sim|test|scripts)\/.*\.tsx?$/
const speaks = /\.(?:tsx?|md)$/
const lockPath = "package-lock.json"
const manifestPath = "package.json"

/** What git knows of the directory; in a copy without a repository nobody can tell which files belong to it. */
const known = spawnSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { encoding: "utf8" })
if (known.status !== 0) {
  console.error("npm run check asks git which files are checked: run git init first, in a copy that has no repository")
  process.exit(1)
}

/** Files that are or will be tracked. */
const files = known.stdout.split("\0")
  .filter((path) => path !== "" && fs.existsSync(path) && fs.statSync(path).isFile())
  .sort()

const parsed: Array<Source> = []

/** The violations within a single file; its source is kept for the checks over all files. */
const checkFile = (path: string): ReadonlyArray<Violation> => {
  const bytes = fs.readFileSync(path)
  if (bytes.includes(0)) return []
  const text = bytes.toString("utf8")
  const found: Array<Violation> = [...Repository.checkText(path, text)]
  if (speaks.test(path)) found.push(...Documents.check(path, text, files))
  if (path === lockPath) found.push(...Repository.checkLock(path, text))
  if (checked.test(path)) {
    const source = parse(path, text)
    parsed.push(source)
    found.push(...Layering.check(source), ...Bans.check(source), ...Style.check(source), ...Functions.check(source))
  }
  return found
}

const alone = files.flatMap(checkFile)
const sources = linked(parsed)
const together = [
  ...Graph.circles(sources),
  ...Exports.unused(sources),
  ...Layering.idle(sources),
  ...Packages.check(manifestPath, fs.readFileSync(manifestPath, "utf8"), sources)
]
const violations = Exceptions.settle([...alone, ...together, ...Lint.check()], Exceptions.granted)
for (const { line, message, path, rule } of violations) console.log(`${path}:${line} ${rule} ${message}`)
console.log(`${files.length} files, ${violations.length} violations`)
process.exitCode = violations.length === 0 ? 0 : 1
