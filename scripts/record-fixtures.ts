/**
 * Records fixtures: golden journals of the present rules where there are none yet, and HTTP exchanges anew. The output depends only on the
 * program, so that a run without a change changes no file; tests compare byte for byte. An existing golden journal is never overwritten:
 * where it would differ, this says so and exits with 1.
 *
 * `node dist/scripts/record-fixtures.js version NAME` instead stores data directories of this version, as fixtures/versions/NAME and
 * fixtures/versions/NAME-crashed. It refuses to overwrite an existing one.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Exchanges from "./fixtures/Exchanges.js"
import * as Journals from "./fixtures/Journals.js"
import { memoryDisk } from "./fixtures/MemoryDisk.js"
import * as Version from "./fixtures/Version.js"

const write = (directory: string, files: ReadonlyMap<string, Uint8Array | string>): void => {
  fs.mkdirSync(directory, { recursive: true })
  for (const name of fs.readdirSync(directory)) if (name !== "README.md") fs.rmSync(path.join(directory, name))
  for (const [name, bytes] of files) fs.writeFileSync(path.join(directory, name), bytes)
  process.stdout.write(`${directory}: ${files.size} files\n`)
}

/** Stores a golden journal that does not exist yet. */
const keepGolden = (directory: string, files: ReadonlyMap<string, Uint8Array>): void => {
  if (!fs.existsSync(directory)) return write(directory, files)
  const isSame = fs.readdirSync(directory).length === files.size
    && [...files].every(([name, bytes]) => {
      const file = path.join(directory, name)
      return fs.existsSync(file) && fs.readFileSync(file).equals(bytes)
    })
  if (isSame) return void process.stdout.write(`${directory}: as it is kept\n`)
  const why = "a golden journal is never recorded anew: other decisions need other rules"
  process.stderr.write(`${directory} would be recorded otherwise, and ${why}\n`)
  process.exit(1)
}

const recordAll = async (): Promise<void> => {
  for (const golden of Journals.goldens) keepGolden(`${Journals.folder}/${golden.name}`, await Journals.files(golden, memoryDisk()))
  write("fixtures/http", await Exchanges.files())
}

const recordVersion = async (name: string): Promise<void> => {
  const there = [name, `${name}-crashed`].find((each) => fs.existsSync(`fixtures/versions/${each}/data`))
  if (there !== undefined) {
    process.stderr.write(`fixtures/versions/${there} is there already, and a kept version is never recorded anew\n`)
    process.exit(1)
  }
  await Version.record(`fixtures/versions/${name}`, "stopped")
  await Version.record(`fixtures/versions/${name}-crashed`, "killed")
}

const [what, name] = process.argv.slice(2)
if (what === undefined) await recordAll()
else if (what === "version" && name !== undefined && /^[a-z0-9-]+$/.test(name)) await recordVersion(name)
else {
  process.stderr.write("record-fixtures takes nothing, or: version NAME\n")
  process.exit(3)
}
