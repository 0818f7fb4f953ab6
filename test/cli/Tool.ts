/** Runs compiled tools as processes. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"

export interface Result {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The arguments and environment of a tool. */
export interface Line {
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
}

const mostBytes = 1 << 26

/** Ends what hangs: a venue, say, that starts where it is to refuse that. */
const mostMs = 240_000

/** As whom a process runs, where not as its parent. */
interface User {
  readonly uid?: number
  readonly gid?: number
}

/** Runs a program to its end, as a process of its own. */
export const run = (
  program: string,
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {},
  user: User = {}
): Promise<Result> =>
  new Promise((resolve, reject) => {
    const options = { ...user, env: { ...process.env, ...environment }, maxBuffer: mostBytes, timeout: mostMs }
    execFile(process.execPath, [program, ...args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code
      if (typeof code === "number") resolve({ code, stdout, stderr })
      else reject(error)
    })
  })

/**
 * Runs lines of tools one after another, all in one process: for many lines, each of which takes a moment. That a tool's own process ends
 * with the right exit code is tested elsewhere, with one line of each kind.
 */
export const runAll = async (lines: ReadonlyArray<Line>, user: User = {}): Promise<ReadonlyArray<Result>> => {
  const { code, stderr, stdout } = await run(fileURLToPath(new URL("Lines.js", import.meta.url)), [JSON.stringify(lines)], {}, user)
  if (code !== 0) throw new Error(`the process that runs tools ended with ${code}:\n${stderr}${stdout}`)
  return JSON.parse(stdout) as ReadonlyArray<Result>
}

/** Lines that are asked for while tests are declared, and run all in one process before the first of these. */
export const gathering = (): { readonly asking: (each: Line) => () => Result; readonly run: () => Promise<void> } => {
  const asked: Array<Line> = []
  let results: ReadonlyArray<Result> = []
  return {
    asking: (each) => {
      const at = asked.push(each) - 1
      return () => results[at]!
    },
    run: async () => {
      results = await runAll(asked)
    }
  }
}

/** A command line of a tool. */
export const line = (program: string, args: ReadonlyArray<string>, environment: Line["environment"] = {}): Line => ({
  program,
  args,
  environment
})
