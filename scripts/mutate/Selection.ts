/** Chooses the mutants of a run: all, those in changed lines, a sample, or the survivors of an earlier run. */
import { execFileSync } from "node:child_process"
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Batch } from "./Seeds.js"
import type { Module, Site } from "./Sites.js"

/** A range of lines in a source file, inclusive, counted from 1. */
export type Lines = readonly [first: number, last: number]

const hunk = /^@@ -[0-9]+(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@/
const newFile = /^\+\+\+ b\/(.*)$/

/** The new lines in a diff without context, by file. */
export const linesOfDiff = (diff: string): ReadonlyMap<string, ReadonlyArray<Lines>> => {
  const changed = new Map<string, Array<Lines>>()
  let current: Array<Lines> | undefined
  /** Remaining lines of the hunk, which may look like anything. */
  let within = 0
  for (const line of diff.split("\n")) {
    if (within > 0) {
      // "\ No newline at end of file" is not a line of either side.
      if (!line.startsWith("\\")) within--
      continue
    }
    const file = newFile.exec(line)?.[1]
    if (file !== undefined) {
      current = []
      changed.set(file, current)
    } else if (line.startsWith("+++ ")) current = undefined
    const [, before = "1", first, after = "1"] = hunk.exec(line) ?? []
    if (first === undefined) continue
    within = Number(before) + Number(after)
    if (after !== "0") current?.push([Number(first), Number(first) + Number(after) - 1])
  }
  return changed
}

const git = (root: string, ...words: ReadonlyArray<string>): string =>
  execFileSync("git", words, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "pipe"] })

/** Whether a revision exists for comparison: a clone may begin at the newest commit. */
export const hasRevision = (root: string, revision: string): boolean => {
  try {
    git(root, "rev-parse", "--verify", "--quiet", `${revision}^{commit}`)
    return true
  } catch (error) {
    // Git answers no by its exit code; anything else is an error.
    if ((error as { readonly status?: number }).status === 1) return false
    throw error
  }
}

/** Lines of the source that differ from a revision's, by file; untracked files count as new as a whole. */
export const changedSince = (root: string, revision: string): ReadonlyMap<string, ReadonlyArray<Lines>> => {
  const changed = new Map(linesOfDiff(git(root, "diff", "--unified=0", "--no-color", "--no-ext-diff", revision, "--", "src")))
  const unknown = git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", "src").split("\0").filter((name) => name !== "")
  for (const name of unknown) changed.set(name, [[1, Number.MAX_SAFE_INTEGER]])
  return changed
}

/** A random order, seeded by `draw`, that does not depend on which other keys exist. */
const drawn = (draw: string, key: string): string => crypto.createHash("sha256").update(`${draw} ${key}`).digest("hex")

/** A number for each file, or a percentage of all. */
export type Sample = { readonly count: number } | { readonly percent: number }

/** A random sample of the sites, in the order of their positions. */
export const sample = (sites: ReadonlyArray<Site>, size: Sample, draw: string): ReadonlyArray<Site> => {
  const lots = new Map(sites.map((site) => [site, drawn(draw, site.key)]))
  if ("percent" in size) {
    // Each site is drawn independently, so that small files are neither omitted nor favoured.
    const bound = size.percent / 100 * 2 ** 32
    return sites.filter((site) => Number.parseInt(lots.get(site)!.slice(0, 8), 16) < bound)
  }
  const chosen = new Set([...sites].sort((a, b) => (lots.get(a)! < lots.get(b)! ? -1 : 1)).slice(0, size.count))
  return sites.filter((site) => chosen.has(site))
}

/** Sites, or groups of them, in a random order: so what a time limit leaves out does not depend on the folder. */
export const shuffled = <A>(all: ReadonlyArray<A>, firstOf: (each: A) => Site, draw: string): ReadonlyArray<A> => {
  const lots = new Map(all.map((each) => [each, drawn(draw, firstOf(each).key)]))
  return [...all].sort((a, b) => (lots.get(a)! < lots.get(b)! ? -1 : 1))
}

/** The keys of the survivors in an earlier run's report. */
const survivorsIn = (file: string): ReadonlySet<string> => {
  const { survivors } = JSON.parse(fs.readFileSync(file, "utf8")) as { readonly survivors: ReadonlyArray<{ readonly key: string }> }
  return new Set(survivors.map(({ key }) => key))
}

export interface Wanted {
  readonly changed: string | undefined
  readonly survivorsOf: string | undefined
  readonly sample: Sample | undefined
  readonly draw: string
}

/** The wanted sites, by module; modules without any are left out. */
export const select = (root: string, modules: ReadonlyArray<Module>, wanted: Wanted): ReadonlyArray<Batch> => {
  const changed = wanted.changed === undefined ? undefined : changedSince(root, wanted.changed)
  const survivors = wanted.survivorsOf === undefined ? undefined : survivorsIn(path.resolve(wanted.survivorsOf))
  return modules.flatMap((module) => {
    const lines = changed?.get(module.path)
    if (changed !== undefined && lines === undefined) return []
    const touched = lines === undefined ? module.sites : module.sites.filter(({ line }) => lines.some(([a, b]) => line >= a && line <= b))
    const left = survivors === undefined ? touched : touched.filter(({ key }) => survivors.has(key))
    const sites = wanted.sample === undefined ? left : sample(left, wanted.sample, wanted.draw)
    return sites.length === 0 ? [] : [{ module, sites }]
  })
}
