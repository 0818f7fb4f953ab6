/** Runs a compiled tool as a process of its own. */
import { execFile } from "node:child_process"

export interface Result {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end. */
export const run = (
  program: string,
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {}
): Promise<Result> =>
  new Promise((resolve, reject) => {
    execFile(process.execPath, [program, ...args], { env: { ...process.env, ...environment } }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code
      if (typeof code === "number") resolve({ code, stdout, stderr })
      else reject(error)
    })
  })
