/**
 * Makes directories with what is above them. Not by `recursive` of Node's `mkdir`: that never returns, and keeps a processor busy, where
 * the system answers ENOENT below a directory that exists, as in `/proc` or in a working directory that was removed.
 */
import * as fs from "node:fs"
import * as path from "node:path"

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException).code

/** The parent of a directory; undefined for the topmost. A relative path is not resolved, since its start may have been removed. */
const parentOf = (directory: string): string | undefined => {
  const parent = path.dirname(directory)
  return parent === directory ? undefined : parent
}

/** Whether a directory that could not be made is there nevertheless: another process has made it. */
const isThere = (error: unknown, stats: fs.Stats | undefined): boolean => codeOf(error) === "EEXIST" && stats?.isDirectory() === true

const privateMode = 0o700

/** Makes a directory and its parents, and returns the first one made; undefined where all of them existed. */
export const make = (directory: string, mode = privateMode): string | undefined => {
  if (fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true) return undefined
  const parent = parentOf(directory)
  const first = parent === undefined ? undefined : make(parent, mode)
  try {
    fs.mkdirSync(directory, { mode })
  } catch (error) {
    if (!isThere(error, fs.statSync(directory, { throwIfNoEntry: false }))) throw error
    return first
  }
  return first ?? directory
}

/**
 * Makes a directory and its parents on the system's pool, so that a disk that does not answer blocks nobody else. Returns the first one
 * made; undefined where all of them existed.
 */
export const makeOnPool = async (directory: string, mode = privateMode): Promise<string | undefined> => {
  const found = () =>
    fs.promises.stat(directory).catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error
      return undefined
    })
  if ((await found())?.isDirectory() === true) return undefined
  const parent = parentOf(directory)
  const first = parent === undefined ? undefined : await makeOnPool(parent, mode)
  try {
    await fs.promises.mkdir(directory, { mode })
  } catch (error) {
    if (!isThere(error, await found())) throw error
    return first
  }
  return first ?? directory
}
