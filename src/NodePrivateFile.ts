/** Files that only the process's own user may read, whatever the mode of their directory. */
import * as fs from "node:fs"

const privateMode = 0o600
const ofOthers = 0o077

/**
 * Creates an empty file, and returns false if there is one. An existing file is not opened: closing it would release the locks that this
 * process holds on it.
 */
export const create = (file: string, mode: number = privateMode): boolean => {
  try {
    fs.closeSync(fs.openSync(file, "wx", mode))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    return false
  }
}

/** Creates an empty file if there is none; otherwise withdraws the permissions that others have on the existing one. */
export const keep = (file: string): void => {
  if (!create(file)) restrict(file)
}

/** Withdraws the permissions that others have on a file, if it exists. A file of another user is left as it is. */
export const restrict = (file: string): void => {
  const stats = fs.statSync(file, { throwIfNoEntry: false })
  if (stats === undefined || !stats.isFile() || stats.uid !== process.getuid?.() || (stats.mode & ofOthers) === 0) return
  fs.chmodSync(file, privateMode)
}
