/** The mutants in `sim/mutants`: a small patch each, by whose name its file is called. */
import * as fs from "node:fs"
import * as path from "node:path"

export interface Mutant {
  readonly name: string
  /** What the mutant does wrong, as a sentence. */
  readonly what: string
  /** The property that must be among those that break, or the scenario itself if one of its expectations must fail. */
  readonly caughtBy: string
  readonly profile: string
  /** The scenario in which it must be caught, instead of seeds of a profile. */
  readonly scenario?: string
  /** The source file, the text in it (found exactly once), and the replacement. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

const folderIn = (root: string): string => path.join(root, "sim/mutants")

/** The names of all mutants in a working copy, sorted. */
export const names = (root: string): ReadonlyArray<string> =>
  fs.readdirSync(folderIn(root)).filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length)).sort()

export const read = (root: string, name: string): Mutant =>
  JSON.parse(fs.readFileSync(path.join(folderIn(root), `${name}.json`), "utf8")) as Mutant
