/** How many files and sockets the system lets this process have open, and how many of them connections may take. */
import * as Fs from "node:fs"

/**
 * Files reserved for segments, snapshots, the lock, feeds and the runtime itself, of which a venue has some 40 open, and for the
 * follower's thread, which opens some 140 at once to load its code when it starts.
 */
const reserved = 320

/** The limit on open files in the text of `/proc/self/limits`; undefined where it is unlimited. */
export const parse = (limits: string): number | undefined => {
  const soft = /^Max open files +(\d+|unlimited) /m.exec(limits)?.[1]
  return soft === undefined || soft === "unlimited" ? undefined : Number(soft)
}

/** The limit on open files; undefined on systems that do not report it or have none. */
export const openFiles = (): number | undefined => {
  try {
    return parse(Fs.readFileSync("/proc/self/limits", "utf8"))
  } catch {
    return undefined
  }
}

/** Connections that fit beside what is reserved, at most as many as configured. May be none. */
export const connectionsWithin = (configured: number, files: number | undefined): number =>
  files === undefined ? configured : Math.max(0, Math.min(configured, files - reserved))
