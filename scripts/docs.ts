/**
 * Writes the reference into `docs` in the output (`--to FOLDER`, or `dist`), so that it need not be generated when read: the contract's
 * document, and a file for each page. Exits with 1 where a page is too large to open quickly on a phone. `--size` prints each page's size.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { gzipSync } from "node:zlib"
import * as Made from "../src/edge/system/docs/Made.js"
import { documentFile, fileOf } from "../src/edge/system/docs/NodeWritten.js"
import * as Page from "../src/edge/system/docs/Page.js"
import { output } from "./build/Target.js"

const target = path.join(output, "docs")

/** What a page may weigh, in bytes, as it is sent. */
const mostBytes = 190_000

const made = Made.make(undefined)
fs.rmSync(target, { recursive: true, force: true })
fs.mkdirSync(target, { recursive: true })
fs.writeFileSync(`${target}/${documentFile}`, made.openApi())
for (const name of Page.names) {
  const text = made.page(name)
  if (text === undefined) throw new Error(`there is no page ${name}`)
  const bytes = Buffer.byteLength(text)
  if (process.argv.includes("--size")) console.log(`${fileOf(name)}: ${bytes} bytes, ${gzipSync(text).length} compressed`)
  if (bytes > mostBytes) throw new Error(`the page ${fileOf(name)} is ${bytes} bytes, of at most ${mostBytes}`)
  fs.writeFileSync(`${target}/${fileOf(name)}`, text)
}
