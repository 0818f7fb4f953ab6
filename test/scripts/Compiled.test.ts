/** Programs of the venue in one file each: V8 takes the code that was kept for them, and for no other source. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { flags } from "../../scripts/load/VenueProcess.js"
import { compiled, run } from "../../src/NodeCompiled.js"

const programs = ["main", "NodeHistoriesThread", "NodeLedgerThread"]

test.each<readonly [title: string, flags: ReadonlyArray<string>]>([
  ["without flags", []],
  ["with those of npm start", flags]
])("the build has compiled what a start runs, for processes %s", (_, words) => {
  const asked = `import { compiled } from "./dist/src/NodeCompiled.js"
    for (const program of ${JSON.stringify(programs)}) console.log(program, compiled(\`dist/venue/\${program}.cjs\`).isFromCode)`
  const { stderr, stdout } = spawnSync(process.execPath, [...words, "--input-type=module", "-e", asked], { encoding: "utf8" })
  expect(stdout, stderr).toBe(programs.map((program) => `${program} true\n`).join(""))
})

/** A small program in a folder of its own, and its code once that is kept. */
const small = (text: string): { readonly program: string; readonly code: () => string } => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "compiled-"))
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  const program = path.join(folder, "small.cjs")
  fs.writeFileSync(program, text)
  return {
    program,
    code: () => {
      const [code, ...others] = fs.readdirSync(folder).filter((name) => name !== "small.cjs")
      expect(others).toEqual([])
      return path.join(folder, code!)
    }
  }
}

const kept = (text: string): ReturnType<typeof small> => {
  const made = small(text)
  expect(compiled(made.program).isFromCode).toBe(false)
  compiled(made.program).keep()
  expect(compiled(made.program).isFromCode).toBe(true)
  return made
}

test("a source of the same length that was changed in place is compiled anew", () => {
  const { program } = kept("exports.isLess = 1 < 2\n")
  fs.writeFileSync(program, "exports.isLess = 1 > 2\n")
  expect(compiled(program).isFromCode).toBe(false)
})

test.each<readonly [title: string, damage: (bytes: Buffer) => Buffer]>([
  ["empty", () => Buffer.alloc(0)],
  ["a digest alone", (bytes) => bytes.subarray(0, 32)],
  ["cut short", (bytes) => bytes.subarray(0, bytes.length >> 1)],
  ["changed by a bit", (bytes) => {
    bytes[bytes.length - 5]! ^= 4
    return bytes
  }],
  ["full of zeros", (bytes) => bytes.fill(0)]
])("code that is %s is as none", (_, damage) => {
  const { code, program } = kept("exports.isLess = 1 < 2\n")
  fs.writeFileSync(code(), damage(fs.readFileSync(code())))
  expect(compiled(program).isFromCode).toBe(false)
})

test("code that cannot be read is as none", () => {
  const { code, program } = kept("exports.isLess = 1 < 2\n")
  const file = code()
  fs.rmSync(file)
  fs.mkdirSync(file)
  expect(compiled(program).isFromCode).toBe(false)
})

test("a program finds packages and its own address from the module that runs it", () => {
  const { program } = kept("require(\"node:fs\").writeFileSync(new URL(\"./said\", moduleUrl), String(typeof module.exports))\n")
  run(pathToFileURL(program.replace(/\.cjs$/, ".js")).href)
  expect(fs.readFileSync(path.join(path.dirname(program), "said"), "utf8")).toBe("object")
})
