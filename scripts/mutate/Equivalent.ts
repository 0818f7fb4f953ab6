/** Mutants that are equivalent to the original program, each with the reason: they are neither run nor counted. */
import * as fs from "node:fs"
import * as path from "node:path"
import { folders, isNamed, type Module, modulesUnder, type Name, type Site } from "./Sites.js"

export interface Entry extends Name {
  /** Why no run could distinguish the mutant from the venue. */
  readonly reason: string
}

export const file = "scripts/mutate/equivalent.json"

export const read = (root: string): ReadonlyArray<Entry> =>
  JSON.parse(fs.readFileSync(path.join(root, file), "utf8")) as ReadonlyArray<Entry>

/** Sites that an entry names; all identical ones on a line are included. */
export const sitesOf = (modules: ReadonlyArray<Module>, entries: ReadonlyArray<Entry>): ReadonlySet<Site> =>
  new Set(modules.flatMap(({ path, sites }) => {
    const here = entries.filter((entry) => entry.path === path)
    return here.length === 0 ? [] : sites.filter((site) => here.some((entry) => isNamed(site, entry)))
  }))

/** Entries for these modules that no longer name anything, since the code has changed. */
export const stale = (modules: ReadonlyArray<Module>, entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> =>
  entries.filter((entry) => !modules.some(({ path, sites }) => path === entry.path && sites.some((site) => isNamed(site, entry))))

/**
 * Entries that no longer name anything in the folders whose mutants are counted. Only files that are named are read: all the others would
 * take a second.
 */
export const staleIn = (root: string, entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  const isCounted = (file: string): boolean => folders.some((folder) => file.startsWith(`${folder}/`))
  const named = [...new Set(entries.map((entry) => entry.path))]
  return stale(modulesUnder(root, named.filter((each) => isCounted(each) && fs.existsSync(path.join(root, each)))), entries)
}
