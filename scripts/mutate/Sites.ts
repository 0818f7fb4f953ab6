/**
 * Everything that can be mutated: the compiled modules of the source, and every mutant in them with its number, its name and its source
 * line.
 */
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import { SourceMap } from "node:module"
import * as path from "node:path"
import { type Mutant, mutantsOf, type Operator } from "./Operators.js"
import type { Numbered } from "./Planting.js"

/** The folders whose mutants are counted. */
export const folders: ReadonlyArray<string> = ["src/engine", "src/operations", "src/sequencer", "src/journal", "src/edge"]

/** One mutant in one module. Its key stays the same when code above it moves. */
export interface Site extends Numbered {
  readonly key: string
  /** The source file, from the repository's root, with `/`. */
  readonly path: string
  /** In the source: from 1. */
  readonly line: number
  readonly column: number
  /** The source line, trimmed. */
  readonly source: string
}

/** A compiled module and its mutants. */
export interface Module {
  /** The source file, from the repository's root, with `/`. */
  readonly path: string
  /** The compiled file, from the repository's root. */
  readonly compiled: string
  readonly text: string
  readonly sites: ReadonlyArray<Site>
}

/** A mutant's name: its file, line and change; `ordinal` counts identical ones, from 0. */
export interface Name {
  readonly path: string
  readonly source: string
  readonly operator: Operator
  readonly was: string
  readonly becomes: string
}

const nameOf = ({ mutant: { becomes, operator, was }, path, source }: Site | Omit<Site, "id" | "key">): Name => ({
  path,
  source,
  operator,
  was,
  becomes
})

const textOf = ({ becomes, operator, path, source, was }: Name): string => JSON.stringify([path, source, operator, was, becomes])

const keyOf = (name: Name, ordinal: number): string =>
  crypto.createHash("sha256").update(textOf(name)).update(String(ordinal)).digest("hex").slice(0, 20)

/** Whether a mutant has that name. */
export const isNamed = (site: Site, name: Name): boolean => textOf(nameOf(site)) === textOf(name)

/** Source files under the folders, in order. */
const sourcesUnder = (root: string, under: ReadonlyArray<string>): ReadonlyArray<string> =>
  under.flatMap((each) => {
    const file = path.join(root, each)
    if (!fs.existsSync(file)) throw new Error(`there is no ${each}`)
    if (!fs.statSync(file).isDirectory()) return [each]
    return fs.readdirSync(file, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => path.posix.join(each, name.split(path.sep).join("/")))
  }).sort()

/** Positions in the compiled text, by line and column from 0. */
const linesOf = (text: string): (offset: number) => readonly [line: number, column: number] => {
  const starts = [0]
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1)
  return (offset) => {
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return [low, offset - starts[low]!]
  }
}

type Located = (mutant: Mutant) => Pick<Site, "line" | "column" | "source">

/** A mutant's position in the source, by the module's source map. */
const locating = (compiled: string, text: string, source: string): Located => {
  const map = new SourceMap(JSON.parse(fs.readFileSync(`${compiled}.map`, "utf8")) as ConstructorParameters<typeof SourceMap>[0])
  const placed = linesOf(text)
  const lines = source.split("\n")
  return ({ start }) => {
    const entry = map.findEntry(...placed(start))
    if (!("originalLine" in entry)) throw new Error(`${compiled}: its source map does not know offset ${start}`)
    return { line: entry.originalLine + 1, column: entry.originalColumn + 1, source: (lines[entry.originalLine] ?? "").trim() }
  }
}

/** The modules under the paths (folders or files of the source), with every mutant numbered from 1. */
export const modulesUnder = (root: string, paths: ReadonlyArray<string>): ReadonlyArray<Module> => {
  let id = 0
  return [...new Set(sourcesUnder(root, paths))].flatMap((source) => {
    const compiled = path.join("dist", source.replace(/\.ts$/, ".js"))
    const text = fs.readFileSync(path.join(root, compiled), "utf8")
    const mutants = mutantsOf(text)
    if (mutants.length === 0) return []
    const located = locating(path.join(root, compiled), text, fs.readFileSync(path.join(root, source), "utf8"))
    const alike = new Map<string, number>()
    const sites = mutants.map((mutant): Site => {
      const unnamed = { mutant, path: source, ...located(mutant) }
      const name = nameOf(unnamed)
      const ordinal = alike.get(textOf(name)) ?? 0
      alike.set(textOf(name), ordinal + 1)
      return { id: ++id, key: keyOf(name, ordinal), ...unnamed }
    })
    return [{ path: source, compiled, text, sites }]
  })
}
