/**
 * A process in which compiled tools run one behind the other, each as if it were the process: so their modules are loaded once, which
 * takes longer than most of what they do. A line ends with an exit, or when nothing is left to do. Given the lines as JSON, it writes
 * what each came to.
 */
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import type { Line, Result } from "./Tool.js"

const lines = JSON.parse(process.argv[2]!) as ReadonlyArray<Line>
const environment = { ...process.env }
const results: Array<Result> = []
const said = { stdout: "", stderr: "" }
const write = process.stdout.write.bind(process.stdout)

for (const name of ["stdout", "stderr"] as const) {
  process[name].write = ((chunk: string | Uint8Array, ...rest: ReadonlyArray<unknown>): boolean => {
    said[name] += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8")
    const done = rest.at(-1)
    if (typeof done === "function") process.nextTick(done)
    return true
  }) as typeof process.stdout.write
}

const begin = (): void => {
  const line = lines[results.length]
  if (line === undefined) return void write(JSON.stringify(results))
  Object.assign(said, { stdout: "", stderr: "" })
  process.argv = [process.execPath, path.resolve(line.program), ...line.args]
  process.env = { ...environment, ...line.environment }
  // What begins a tool is evaluated anew for each line; what it imports stays.
  void import(`${pathToFileURL(line.program).href}?${results.length}`)
}

const end = (code: number): void => {
  process.exitCode = undefined
  results.push({ code, ...said })
  begin()
}

process.exit = ((code?: number) => end(code ?? Number(process.exitCode ?? 0))) as typeof process.exit
process.on("beforeExit", () => {
  if (results.length < lines.length) end(Number(process.exitCode ?? 0))
})
begin()
