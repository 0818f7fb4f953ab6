/** Command lines of scripts: a wrong one ends the process with what is wrong, how it is used, and 2. */
import { parseArgs, type ParseArgsConfig } from "node:util"

/** The options of the process's command line. */
export const parsed = <T extends ParseArgsConfig>(usage: string, config: T): ReturnType<typeof parseArgs<T>>["values"] => {
  try {
    return parseArgs(config).values
  } catch (cause) {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\nusage: ${usage}\n`)
    process.exit(2)
  }
}
