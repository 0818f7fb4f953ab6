/**
 * Runs several command lines of compiled tools one after another in one process, each as if it had the process to itself: so their modules
 * are loaded once, which takes longer than most of what they do. A line ends with an exit, or when nothing is left to do. Reads the lines
 * as JSON, and writes the result of each.
 */
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import type { Line, Result } from "./Tool.js"

const lines = JSON.parse(process.argv[2]!) as ReadonlyArray<Line>
const environment = { ...process.env }
const results: Array<Result> = []
const said = { stdout: new Array<string>(), stderr: new Array<string>() }
const write = process.stdout.write.bind(process.stdout)

for (const name of ["stdout", "stderr"] as const) {
  process[name].write = ((chunk: string | Uint8Array, ...rest: ReadonlyArray<unknown>): boolean => {
    said[name].push(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8"))
    const done = rest.at(-1)
    if (typeof done === "function") process.nextTick(done)
    return true
  }) as typeof process.stdout.write
}

const begin = (): void => {
  const line = lines[results.length]
  if (line === undefined) return void write(JSON.stringify(results))
  process.argv = [process.execPath, path.resolve(line.program), ...line.args]
  process.env = { ...environment, ...line.environment }
  // A tool's main module is evaluated anew for each line; the modules it imports stay loaded.
  void import(`${pathToFileURL(line.program).href}?${results.length}`)
}

const end = (code: number): void => {
  process.exitCode = undefined
  results.push({ code, stdout: said.stdout.splice(0).join(""), stderr: said.stderr.splice(0).join("") })
  begin()
}

process.exit = ((code?: number) => end(code ?? Number(process.exitCode ?? 0))) as typeof process.exit
process.on("beforeExit", () => {
  if (results.length < lines.length) end(Number(process.exitCode ?? 0))
})
begin()
