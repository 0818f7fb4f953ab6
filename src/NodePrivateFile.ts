/** Files that only the process's own user may read, whatever the mode of the directory that they are in. */
import * as fs from "node:fs"

const privateMode = 0o600
const ofOthers = 0o077

/**
 * Makes an empty file where there is none, and takes from others what they may do with one that is there. Nothing that is there is
 * opened: to close it would drop the locks that this process holds on it.
 */
export const keep = (file: string): void => {
  try {
    fs.closeSync(fs.openSync(file, "wx", privateMode))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    restrict(file)
  }
}

/** Takes from others what they may do with a file, if there is one; another user's is his to set. */
export const restrict = (file: string): void => {
  const stats = fs.statSync(file, { throwIfNoEntry: false })
  if (stats === undefined || !stats.isFile() || stats.uid !== process.getuid?.() || (stats.mode & ofOthers) === 0) return
  fs.chmodSync(file, privateMode)
}
