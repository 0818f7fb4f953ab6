/**
 * Formats the sources in the house style according to `dprint.json`, or only reports which are not formatted: the formatter and its plug-in
 * are WebAssembly from `node_modules`, so that every machine formats alike and nothing is downloaded. Exits with 1 when a file is not
 * formatted and was not written.
 */
import { createFromBuffer, type GlobalConfiguration } from "@dprint/formatter"
import * as fs from "node:fs"
import { parseArgs } from "node:util"

interface Settings extends GlobalConfiguration {
  readonly typescript: Record<string, unknown>
  readonly plugins: readonly [plugin: string]
  /** For editors. */
  readonly includes: ReadonlyArray<string>
}

const { includes: _, plugins, typescript, ...everywhere } = JSON.parse(fs.readFileSync("dprint.json", "utf8")) as Settings
const formatter = createFromBuffer(fs.readFileSync(plugins[0]))
formatter.setConfig(everywhere, typescript)
const faults = formatter.getConfigDiagnostics()
if (faults.length > 0) throw new Error(faults.map(({ message, propertyName }) => `dprint.json: ${propertyName}: ${message}`).join("\n"))

const { positionals, values } = parseArgs({ allowPositionals: true, options: { write: { type: "boolean", default: false } } })

const sources = ["src", "sim", "test", "scripts"].flatMap((folder) =>
  fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name)).map((name) => `${folder}/${name}`)
)

/** The text after formatting until it no longer changes: what one pass breaks, a second may still indent. */
const settled = (filePath: string, text: string): string => {
  let before = text
  for (let pass = 0; pass < 4; pass++) {
    const after = formatter.formatText({ filePath, fileText: before })
    if (after === before) return after
    before = after
  }
  throw new Error(`${filePath} looks different after each pass of the formatter`)
}

/** The first line that differs, from 1. */
const firstDifference = (text: string, other: string): number => {
  const others = other.split("\n")
  return text.split("\n").findIndex((line, index) => line !== others[index]) + 1
}

let unformatted = 0
for (const filePath of positionals.length > 0 ? positionals : sources.sort()) {
  const fileText = fs.readFileSync(filePath, "utf8")
  const formatted = settled(filePath, fileText)
  if (formatted === fileText) continue
  unformatted++
  if (values.write) fs.writeFileSync(filePath, formatted)
  console.log(`${filePath}:${firstDifference(fileText, formatted)} ${values.write ? "formatted" : "is not formatted"}`)
}
console.log(`${unformatted} files ${values.write ? "formatted" : "to format"}`)
process.exitCode = unformatted > 0 && !values.write ? 1 : 0
