/** A library in front of the system's, for a process that a test starts: so a real disk below it does what no disk does when asked to. */
import { spawnSync } from "node:child_process"
import * as path from "node:path"

/** Makes a library of C source and says where it is; undefined where there is no Linux, or no compiler to make it. */
export const libraryOf = (directory: string, source: string): string | undefined => {
  if (process.platform !== "linux") return undefined
  const library = path.join(directory, "preloaded.so")
  const made = spawnSync("cc", ["-shared", "-fPIC", "-x", "c", "-o", library, "-", "-ldl"], { input: source })
  return made.status === 0 ? library : undefined
}
