/** Command lines of the programs around the simulator: a wrong one ends the process with how it is used, what is wrong, and 64. */
import { parseArgs, type ParseArgsConfig } from "node:util"

export interface Usage {
  readonly fail: (message: string) => never
  /** The options of the process's command line; words that are no options are refused. */
  readonly parsed: <T extends ParseArgsConfig>(config: T) => ReturnType<typeof parseArgs<T>>["values"]
  /** A whole number from 1. */
  readonly count: (option: string, text: string) => number
  /** Names of things that there are, with commas between them; all of them where none are given. */
  readonly among: (option: string, kind: string, known: ReadonlyArray<string>, text: string | undefined) => ReadonlyArray<string>
}

const exitUsage = 64

export const make = (usage: string): Usage => {
  const fail = (message: string): never => {
    process.stderr.write(`usage: ${usage}\n${message}\n`)
    process.exit(exitUsage)
  }
  return {
    fail,
    parsed: (config) => {
      try {
        return parseArgs(config).values
      } catch (cause) {
        return fail(cause instanceof Error ? cause.message : String(cause))
      }
    },
    count: (option, text) => /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : fail(`${option} takes a whole number from 1, and not ${text}`),
    among: (option, kind, known, text) => {
      if (text === undefined) return known
      const names = text.split(",").filter((name) => name !== "")
      const unknown = names.filter((name) => !known.includes(name))
      if (unknown.length > 0) fail(`there is no ${kind} ${unknown.join(", ")}`)
      return names.length > 0 ? names : fail(`${option} takes the name of a ${kind}, or several with commas between them`)
    }
  }
}
