/** Which mutants a run is about: all, those of changed lines, a sample, or what survived an earlier run. */
import { execFileSync } from "node:child_process"
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import type { Batch } from "./Seeds.js"
import type { Module, Site } from "./Sites.js"

/** Lines of a source file, from the first to the last, from 1. */
export type Lines = readonly [first: number, last: number]

const hunk = /^@@ -[0-9]+(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@/
const newFile = /^\+\+\+ b\/(.*)$/

/** The lines that a diff without context leaves behind, by file. */
export const linesOfDiff = (diff: string): ReadonlyMap<string, ReadonlyArray<Lines>> => {
  const changed = new Map<string, Array<Lines>>()
  let current: Array<Lines> | undefined
  /** Lines of the hunk that are still to come: they may look like anything. */
  let within = 0
  for (const line of diff.split("\n")) {
    if (within > 0) {
      // "\ No newline at end of file" is no line of either side.
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

/** Whether there is such a revision to compare with: a clone may begin at the newest commit. */
export const hasRevision = (root: string, revision: string): boolean => {
  try {
    git(root, "rev-parse", "--verify", "--quiet", `${revision}^{commit}`)
    return true
  } catch (error) {
    // Git says no by its exit code; anything else is a fault of its own.
    if ((error as { readonly status?: number }).status === 1) return false
    throw error
  }
}

/** Lines of the source that differ from a revision's, by file; files that git does not know are new as a whole. */
export const changedSince = (root: string, revision: string): ReadonlyMap<string, ReadonlyArray<Lines>> => {
  const changed = new Map(linesOfDiff(git(root, "diff", "--unified=0", "--no-color", "--no-ext-diff", revision, "--", "src")))
  const unknown = git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", "src").split("\0").filter((name) => name !== "")
  for (const name of unknown) changed.set(name, [[1, Number.MAX_SAFE_INTEGER]])
  return changed
}

/** An order drawn from `draw` that does not depend on what else there is. */
const drawn = (draw: string, key: string): string => crypto.createHash("sha256").update(`${draw} ${key}`).digest("hex")

/** So many of each file, or that percentage of them. */
export type Sample = { readonly count: number } | { readonly percent: number }

/** A drawn part of the sites, in the order of their places. */
export const sample = (sites: ReadonlyArray<Site>, size: Sample, draw: string): ReadonlyArray<Site> => {
  const lots = new Map(sites.map((site) => [site, drawn(draw, site.key)]))
  if ("percent" in size) {
    // Each by its own lot: small files are neither left out nor made much of.
    const bound = size.percent / 100 * 2 ** 32
    return sites.filter((site) => Number.parseInt(lots.get(site)!.slice(0, 8), 16) < bound)
  }
  const chosen = new Set([...sites].sort((a, b) => (lots.get(a)! < lots.get(b)! ? -1 : 1)).slice(0, size.count))
  return sites.filter((site) => chosen.has(site))
}

/** Sites, or groups of them, in a drawn order: what a time limit leaves undone is of no folder in particular. */
export const shuffled = <A>(all: ReadonlyArray<A>, firstOf: (each: A) => Site, draw: string): ReadonlyArray<A> => {
  const lots = new Map(all.map((each) => [each, drawn(draw, firstOf(each).key)]))
  return [...all].sort((a, b) => (lots.get(a)! < lots.get(b)! ? -1 : 1))
}

/** The keys of what survived in an earlier run's report. */
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

/** The sites that are wanted, by module; modules without any are left out. */
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
