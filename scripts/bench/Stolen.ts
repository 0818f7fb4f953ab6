/**
 * Time that the host of a virtual machine gave to others while one of this machine's processors had work to do, as Linux counts it (`steal`
 * in /proc/stat). A pause during which time was stolen says nothing about the program that paused.
 */
import * as fs from "node:fs"

/** The column of `steal` in the line `cpu` of /proc/stat, in hundredths of a second: proc_stat(5). */
const stealColumn = 8
const millisecondsPerTick = 10

/** Milliseconds stolen since the machine started, over all its processors; 0 where they are not reported. */
export const stolenMs = (): number => {
  if (process.platform !== "linux") return 0
  const total = fs.readFileSync("/proc/stat", "latin1").split("\n")[0]!.split(/\s+/)
  return Number(total[stealColumn] ?? 0) * millisecondsPerTick
}
