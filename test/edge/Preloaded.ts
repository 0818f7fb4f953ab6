/** A preloaded library in a process that a test starts makes a real disk fail or wait, which no disk does when asked to. */
import { spawnSync } from "node:child_process"
import * as path from "node:path"

/** Compiles a library from C source and returns its path; undefined where there is no Linux, or no compiler. */
export const libraryOf = (directory: string, source: string): string | undefined => {
  if (process.platform !== "linux") return undefined
  const library = path.join(directory, "preloaded.so")
  const made = spawnSync("cc", ["-shared", "-fPIC", "-x", "c", "-o", library, "-", "-ldl"], { input: source })
  return made.status === 0 ? library : undefined
}
