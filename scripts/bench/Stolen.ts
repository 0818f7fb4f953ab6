/**
 * Time that the host of a virtual machine gave to others while a processor of this machine had work to do, as Linux counts it
 * (`steal` in /proc/stat). A pause of which part was stolen says nothing of the program that paused.
 */
import * as fs from "node:fs"

/** Of the columns of `cpu` in /proc/stat, which counts in hundredths of a second: proc_stat(5). */
const stealColumn = 8
const millisecondsPerTick = 10

/** Milliseconds stolen since the machine began, all its processors together; 0 where that is not told. */
export const stolenMs = (): number => {
  if (process.platform !== "linux") return 0
  const total = fs.readFileSync("/proc/stat", "latin1").split("\n")[0]!.split(/\s+/)
  return Number(total[stealColumn] ?? 0) * millisecondsPerTick
}
