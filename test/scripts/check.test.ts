import { describe, expect, it } from "vitest"
import * as Bans from "../../scripts/check/Bans.js"
import * as Layering from "../../scripts/check/Layering.js"
import * as Repository from "../../scripts/check/Repository.js"
import { parse, type Violation } from "../../scripts/check/Source.js"
import * as Style from "../../scripts/check/Style.js"

const brief = (found: ReadonlyArray<Violation>): ReadonlyArray<string> => found.map(({ line, rule }) => `${line} ${rule}`)

const check = (path: string, text: string): ReadonlyArray<string> => {
  const source = parse(path, text)
  return brief([...Layering.check(source), ...Bans.check(source), ...Style.check(source)])
}

/** A file of `src` with its header, so that lines count from 2. */
const src = (body: string): string => `/** What it owns. */\n${body}\n`

/** One row per sample: path, text, and what is found, as `line rule`. */
type Row = readonly [what: string, path: string, text: string, ...found: ReadonlyArray<string>]

const rows = (table: ReadonlyArray<Row>) =>
  it.each(table)("%s", (_what, path, text, ...found) => {
    expect(check(path, text)).toEqual(found)
  })

const importing = (specifier: string) => src(`import type { A } from "${specifier}"`)

describe("layering", () => {
  rows([
    ["the domain imports itself", "src/domain/A.ts", importing("./B.js")],
    ["the domain imports nothing else", "src/domain/A.ts", importing("../engine/State.js"), "2 layering"],
    ["the engine imports the domain", "src/engine/A.ts", importing("../domain/Order.js")],
    ["the engine does not import the journal", "src/engine/A.ts", importing("../journal/Block.js"), "2 layering"],
    ["the engine has no Effect", "src/engine/A.ts", importing("effect"), "2 layering", "2 barrel"],
    ["the engine has no part of Effect", "src/engine/A.ts", importing("effect/Effect"), "2 layering"],
    ["the journal may have Effect", "src/journal/A.ts", importing("effect/Effect")],
    ["but not all of it at once", "src/journal/A.ts", importing("effect"), "2 barrel"],
    ["nor all of the platform", "src/edge/A.ts", importing("@effect/platform"), "2 barrel"],
    ["tests may", "test/journal/A.ts", importing("effect")],
    ["the journal imports the domain", "src/journal/A.ts", importing("../domain/Order.js")],
    ["the journal does not import the engine", "src/journal/A.ts", importing("../engine/Reads.js"), "2 layering"],
    ["the sequencer imports the journal", "src/sequencer/A.ts", importing("../journal/Block.js")],
    ["the sequencer does not import the edge", "src/sequencer/A.ts", importing("../edge/Listener.js"), "2 layering"],
    ["the oracle imports the way in", "src/oracle/A.ts", importing("../sequencer/Submit.js")],
    ["the oracle does not import the writer", "src/oracle/A.ts", importing("../sequencer/Writer.js"), "2 layering"],
    ["identity imports what may be read", "src/identity/A.ts", importing("../engine/Reads.js")],
    ["identity imports the read models", "src/identity/A.ts", importing("../readmodel/Keys.js")],
    ["identity does not import the engine", "src/identity/A.ts", importing("../engine/Engine.js"), "2 layering"],
    ["identity does not import the oracle", "src/identity/A.ts", importing("../oracle/IndexFeed.js"), "2 layering"],
    ["streams import the feed", "src/streams/A.ts", importing("../sequencer/Feed.js")],
    ["streams do not import the writer", "src/streams/A.ts", importing("../sequencer/Writer.js"), "2 layering"],
    ["read models import the feed", "src/readmodel/A.ts", importing("../sequencer/Feed.js")],
    ["read models do not import the edge", "src/readmodel/A.ts", importing("../edge/Views.js"), "2 layering"],
    ["the ledger imports the way in", "src/ledger/A.ts", importing("../sequencer/Submit.js")],
    ["the ledger does not import identity", "src/ledger/A.ts", importing("../identity/ApiKeys.js"), "2 layering"],
    ["the edge imports what may be read", "src/edge/v1/A.ts", importing("../../engine/Reads.js")],
    ["the edge imports identity", "src/edge/A.ts", importing("../identity/ApiKeys.js")],
    ["the edge does not import the engine", "src/edge/A.ts", importing("../engine/Engine.js"), "2 layering"],
    ["the edge does not import the journal", "src/edge/A.ts", importing("../journal/Block.js"), "2 layering"],
    ["the edge does not import the composition", "src/edge/A.ts", importing("../Venue.js"), "2 layering"],
    ["the tools import the journal", "src/cli/replay/A.ts", importing("../../journal/Block.js")],
    ["nothing imports the entry point", "src/cli/A.ts", importing("../main.js"), "2 layering"],
    ["the composition sees everything in src", "src/Venue.ts", importing("./edge/Edge.js")],
    ["the composition does not see the simulator", "src/Venue.ts", importing("../sim/world/SimDisk.js"), "2 layering"],
    ["no file is at home at the top of src", "src/Extras.ts", src(""), "1 layering"],
    ["no folder is without a rule", "src/utilities/A.ts", src(""), "1 layering"],
    ["the simulator imports src", "sim/world/A.ts", "import { a } from \"../../src/journal/Disk.js\"\n"],
    ["the simulator does not import tests", "sim/world/A.ts", "import { a } from \"../../test/engine/drive.js\"\n", "1 layering"],
    ["the model does not import the engine", "sim/model/A.ts", "import { a } from \"../../src/engine/Book.js\"\n", "1 layering"],
    ["tests import everything", "test/a.test.ts", "import { a } from \"../sim/world/SimDisk.js\"\n"],
    ["a re-export is an import", "src/domain/A.ts", src("export * from \"../engine/State.js\""), "2 layering"],
    ["an import for its effects is an import", "src/domain/A.ts", src("import \"../engine/State.js\""), "2 layering"],
    ["a dynamic import is an import", "src/domain/A.ts", src("const a = () => import(\"../engine/State.js\")"), "2 layering"],
    ["a text that looks like one is none", "src/domain/A.ts", src("const a = \"from '../engine/State.js'\"")],
    ["no hash map where order counts", "src/journal/A.ts", src("import { Effect, HashMap } from \"effect\""), "2 layering", "2 barrel"],
    ["no hash set by another name", "src/sequencer/A.ts", src("import { HashSet as Set } from \"effect\""), "2 layering", "2 barrel"],
    ["no hash map as a module", "src/domain/A.ts", src("import * as Map from \"effect/HashMap\""), "2 layering"],
    ["a hash map where order does not count", "src/edge/A.ts", src("import * as HashMap from \"effect/HashMap\"")]
  ])
})

describe("the clock, chance and timers", () => {
  const path = "src/sequencer/A.ts"
  rows([
    ["Date.now", path, src("const at = () => Date.now()"), "2 clock"],
    ["Date.now handed on", path, src("const options = { now: Date.now }"), "2 clock"],
    ["Date.now across lines", path, src("const at = () =>\n  Date\n    .now()"), "3 clock"],
    ["a date of now", path, src("const at = () => new Date()"), "2 clock"],
    ["a date of now without parentheses", path, src("const at = () => new Date"), "2 clock"],
    ["the date as a text", path, src("const at = () => Date()"), "2 clock"],
    ["a date of something", path, src("const at = (ms: number) => new Date(ms).toISOString()")],
    ["a parsed date", path, src("const at = (text: string) => Date.parse(text)")],
    ["performance.now", path, src("const at = () => performance.now()"), "2 clock"],
    ["process.hrtime", path, src("const at = () => process.hrtime.bigint()"), "2 clock"],
    ["Math.random", path, src("const draw = () => Math.random()"), "2 random"],
    ["Math.floor", path, src("const floor = (x: number) => Math.floor(x)")],
    ["randomUUID, imported", path, src("import { randomUUID } from \"node:crypto\""), "2 random"],
    ["randomBytes, as a member", path, src("const draw = () => crypto.randomBytes(32)"), "2 random"],
    ["setTimeout", path, src("const later = (f: () => void) => setTimeout(f, 1)"), "2 timers"],
    ["setInterval", path, src("const often = (f: () => void) => globalThis.setInterval(f, 1)"), "2 timers"],
    ["setImmediate", path, src("const soon = (f: () => void) => setImmediate(f)"), "2 timers"],
    ["queueMicrotask", path, src("const soon = (f: () => void) => queueMicrotask(f)"), "2 timers"],
    ["in a comment", path, src("// Date.now() and Math.random() are elsewhere\nconst a = 1")],
    ["in a text", path, src("const a = \"Date.now() Math.random() setTimeout\"")],
    ["in a template's text", path, src("const a = (b: string) => `Date.now() ${b} Math.random()`")],
    ["in a template's expression", path, src("const a = () => `${Date.now()}`"), "2 clock"],
    ["in a test", "test/a.test.ts", "const at = () => Date.now()\n", "1 clock"],
    ["in a leaf", "src/journal/NodeDisk.ts", src("const at = () => Date.now()")],
    ["in the entry point", "src/main.ts", src("const at = () => Date.now()")],
    ["in a tool", "src/cli/venue.ts", src("const at = () => Date.now()")],
    ["in the simulated world", "sim/world/SimTime.ts", "const at = () => Date.now()\n"],
    ["in a bench", "scripts/bench/P1.ts", "const at = () => performance.now()\n"],
    ["in a file that only sounds like a leaf", "src/sequencer/Nodes.ts", src("const at = () => Date.now()"), "2 clock"]
  ])
})

describe("module state", () => {
  const path = "src/engine/A.ts"
  rows([
    ["let", path, src("let count = 0"), "2 module-state"],
    ["an exported let", path, src("export let count = 0"), "2 module-state"],
    ["var", path, src("var count = 0"), "2 module-state"],
    ["let in a function", path, src("const f = () => {\n  let count = 0\n  return count++\n}")],
    ["let in a loop", path, src("const f = () => {\n  for (let at = 0; at < 2; at++) f()\n}")],
    ["let behind a template", path, src("const f = (a: string) => `${a}`\nlet count = 0"), "3 module-state"],
    ["a map", path, src("const seen = new Map<string, number>()"), "2 module-state"],
    ["a set under its own type", path, src("const seen: Set<string> = new Set()"), "2 module-state"],
    ["a typed array", path, src("export const scratch = new Float64Array(4)"), "2 module-state"],
    ["a read-only set", path, src("const known: ReadonlySet<string> = new Set([\"a\"])")],
    ["a read-only map of maps", path, src("const known: ReadonlyMap<string, Map<string, string>> = new Map()")],
    ["a map in a function", path, src("const f = () => {\n  const seen = new Map()\n  return seen\n}")],
    ["a map in an arrow", path, src("const f = () => new Map()")],
    ["as const, then more", path, src("const a = [1] as const\nconst b = (m: Map<1, 1>) => new Map(m)")],
    ["a const type parameter", path, src("const a = <const L extends string>(l: L): L => {\n  throw new Map([[l, l]])\n}")],
    ["an object written to", path, src("const last = { at: 0 }\nconst f = (n: 1) => {\n  last.at = n\n}"), "4 module-state"],
    ["a column counted up", path, src("const seen = { at: [0] }\nconst f = (i: 0) => {\n  seen.at[i]!++\n}"), "4 module-state"],
    ["an object that is read", path, src("const last = { price: 0 }\nconst f = (price: number) => last.price === price")],
    ["a parameter of the same name", path, src("const last = { at: 0 }\nconst f = (last: { at: 1 }) => {\n  last.at = 1\n}")],
    ["in a leaf", "src/journal/NodeDisk.ts", src("let count = 0")]
  ])
})

describe("loose ends", () => {
  const path = "src/edge/A.ts"
  const note = ["TO", "DO"].join("")
  const off = ["@ts", "ignore"].join("-")
  const expected = ["@ts", "expect-error"].join("-")
  rows([
    ["as any", path, src("const f = (a: unknown) => a as any"), "2 as-any"],
    ["as any in a tool", "src/cli/a.ts", src("const f = (a: unknown) => a as any"), "2 as-any"],
    ["as something", path, src("const f = (a: unknown) => a as string")],
    ["a note to oneself", path, src(`// ${note}: later\nconst a = 1`), "2 loose-end"],
    ["a note inside a long comment", path, src(`/**\n * Fine.\n * ${note} later\n */\nconst a = 1`), "4 loose-end"],
    ["a word that holds one", path, src(`// ${note}S is a word\nconst a = 1`)],
    ["a hidden type error", path, src(`// ${off}\nconst a = 1`), "2 ts-ignore"],
    ["an expected type error", path, src(`// ${expected}\nconst a = 1`), "2 ts-ignore"],
    ["an effect run inside", path, src("const a = Effect.runPromise(b)"), "2 run-effect"],
    ["an effect run by a tool", "src/cli/a.ts", src("const a = Effect.runPromise(b)")],
    ["an effect run by a test", "test/a.test.ts", "const a = Effect.runPromise(b)\n"]
  ])
})

describe("tests", () => {
  const path = "test/a.test.ts"
  rows([
    ["a focused test", path, "it.only(\"a\", () => {})\n", "1 focused-test"],
    ["a focused group", path, "describe.only(\"a\", () => {})\n", "1 focused-test"],
    ["a focused effect", path, "it.effect.only(\"a\", () => b)\n", "1 focused-test"],
    ["a skipped test", path, "it.skip(\"a\", () => {})\n", "1 skipped-test"],
    ["a skipped group", path, "describe.skip(\"a\", () => {})\n", "1 skipped-test"],
    ["skipped within, silently", path, "it(\"a\", (test) => {\n  test.skip()\n})\n", "2 skipped-test"],
    ["skipped within, by the context", path, "it(\"a\", (context) => {\n  context.skip()\n})\n", "2 skipped-test"],
    ["skipped within, with a reason", path, "it(\"a\", (context) => {\n  context.skip(\"no such disk here\")\n})\n"],
    ["another thing called only", path, "const a = fixtures.only(\"a\")\n"],
    ["a plain test", path, "it(\"a\", () => {})\n"]
  ])
})

describe("style", () => {
  const path = "src/edge/A.ts"
  rows([
    ["a semicolon at a line's end", path, src("const a = 1;"), "2 semicolon"],
    ["a semicolon before a comment", path, src("const a = 1; // why"), "2 semicolon"],
    ["semicolons within a line", path, src("const f = (a: { b: 1; c: 2 }) => { for (let d = 0; d < a.c; d++) f(a) }")],
    ["a broken loop head", path, src("const f = () => {\n  for (\n    let a = 0;\n    a < 1;\n    a++\n  ) f()\n}")],
    ["a semicolon for a loop's body", path, src("const f = (g: () => boolean) => {\n  while (g() && (g() || g()));\n}")],
    ["a semicolon after a call", path, src("const f = (g: () => boolean) => {\n  g();\n}"), "3 semicolon"],
    ["a semicolon that starts a line", path, src("const a = 1\n;[a].map(String)")],
    ["a semicolon in a text", path, src("const a = `one;\ntwo;\n`")],
    ["a line of 140 columns", path, src(`const a = "${"x".repeat(128)}"`)],
    ["a line of 141 columns", path, src(`const a = "${"x".repeat(129)}"`), "2 line-length"],
    ["a file without a header", path, "const a = 1\n", "1 header"],
    ["a file with a comment of another kind", path, "// What it owns.\n", "1 header"],
    ["a test without a header", "test/a.test.ts", "const a = 1\n"]
  ])
})

describe("the repository", () => {
  const folder = (name: string) => `/${name}/`
  it.each([
    ["a work folder", `see ${folder("work")}main`, ["1 machine-path"]],
    ["a home", `\n"${folder("home")}someone/x"`, ["2 machine-path"]],
    ["the home of root", `cd ${folder("root")}x`, ["1 machine-path"]],
    ["a folder of the repository", `sim${folder("work")}load and ./x${folder("home")}y and \${dir}${folder("root")}z`, []],
    ["a registry", `https://${["registry", "npmjs", "org"].join(".")}/effect`, ["1 registry-host"]],
    ["a registry set", `${"registry"}=https://example.com`, ["1 registry-host"]],
    ["the market registry", "the registry. It is public, registry.sequence is its number", []]
  ])("%s", (_what, text, found) => {
    expect(brief(Repository.checkText("README.md", text))).toEqual(found)
  })

  const lock = (packages: object) => brief(Repository.checkLock("package-lock.json", JSON.stringify({ packages }, undefined, 2)))

  it("a lock bound to no registry passes", () => {
    expect(lock({ "": {}, "node_modules/a": { version: "1.0.0", integrity: "sha512-x" } })).toEqual([])
  })

  it("a lock bound to a registry is found, at its package", () => {
    expect(lock({ "": {}, "node_modules/a": { resolved: "https://example.com/a.tgz" } })).toEqual(["4 lock"])
  })

  it("a linked package resolves to a folder", () => {
    expect(lock({ "node_modules/a": { resolved: "packages/a", link: true } })).toEqual([])
  })

  it("optional packages are looked for beside and above", () => {
    expect(lock({
      "node_modules/a": { optionalDependencies: { "a-linux": "1", "@a/mac": "1" } },
      "node_modules/a/node_modules/a-linux": {},
      "node_modules/@a/mac": {}
    })).toEqual([])
  })

  it("an optional package of another platform that is not locked is found", () => {
    expect(lock({
      "node_modules/a": { optionalDependencies: { "a-linux": "1", "a-mac": "1" } },
      "node_modules/a-linux": {},
      "node_modules/b/node_modules/a-mac": {}
    })).toEqual(["3 lock"])
  })

  it("a lock without packages is no lock", () => {
    expect(brief(Repository.checkLock("package-lock.json", "{}"))).toEqual(["1 lock"])
  })
})
