/** Finds what the process's own user may not use of his files: an error of SQLite says that a file cannot be opened, but not why. */
import * as fs from "node:fs"
import * as path from "node:path"

/** What the system says of a file that is another user's. */
const ofOthers: ReadonlySet<string> = new Set(["EACCES", "EPERM"])

const mayUse = (place: string): boolean => {
  try {
    fs.accessSync(place, fs.constants.R_OK | fs.constants.W_OK)
    return true
  } catch (error) {
    return !ofOthers.has((error as NodeJS.ErrnoException).code ?? "")
  }
}

/** What a directory contains; nothing where it is none, or cannot be read for another reason. */
const within = (place: string): ReadonlyArray<string> => {
  try {
    return fs.readdirSync(place).map((name) => path.join(place, name))
  } catch {
    return []
  }
}

/** The first file or directory that may not be read and written, of those named and what directories among them contain. */
const unusable = (directory: string, names: ReadonlyArray<string>): string | undefined =>
  names.map((name) => path.join(directory, name)).flatMap((place) => [place, ...within(place)]).find((place) => !mayUse(place))

/** What an operator is told of the first such file, and to do; undefined where there is none. `whose` is the process, in a word. */
export const toldUnusable = (directory: string, names: ReadonlyArray<string>, whose: string): string | undefined => {
  const place = unusable(directory, names)
  return place === undefined
    ? undefined
    : `${place} cannot be read and written, and all that is in ${directory} must be the ${whose}'s user's, as chown -R makes it`
}
