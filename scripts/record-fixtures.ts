/**
 * Records the fixtures anew: golden journals and HTTP exchanges. What it writes depends on nothing but the
 * program, so a run without a change of rules or formats changes no file; tests compare byte for byte.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Exchanges from "./fixtures/Exchanges.js"
import * as Journals from "./fixtures/Journals.js"
import { memoryDisk } from "./fixtures/MemoryDisk.js"

const write = (directory: string, files: ReadonlyMap<string, Uint8Array | string>): void => {
  fs.mkdirSync(directory, { recursive: true })
  for (const name of fs.readdirSync(directory)) if (name !== "README.md") fs.rmSync(path.join(directory, name))
  for (const [name, bytes] of files) fs.writeFileSync(path.join(directory, name), bytes)
  process.stdout.write(`${directory}: ${files.size} files\n`)
}

for (const golden of Journals.goldens) write(`fixtures/journals/${golden.name}`, await Journals.files(golden, memoryDisk()))
write("fixtures/http", await Exchanges.files())
