import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { describe, expect, it } from "vitest"
import * as Bans from "../../scripts/check/Bans.js"
import * as Documents from "../../scripts/check/Documents.js"
import * as Exceptions from "../../scripts/check/Exceptions.js"
import * as Exports from "../../scripts/check/Exports.js"
import * as Functions from "../../scripts/check/Functions.js"
import * as Graph from "../../scripts/check/Graph.js"
import * as Layering from "../../scripts/check/Layering.js"
import * as Lint from "../../scripts/check/Lint.js"
import * as Packages from "../../scripts/check/Packages.js"
import * as Repository from "../../scripts/check/Repository.js"
import { linked, parse, type Violation } from "../../scripts/check/Source.js"
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
    ["the engine has no package at all", "src/engine/A.ts", src("import A from \"better-sqlite3\""), "2 layering"],
    ["nor a leaf", "src/engine/NodeA.ts", src("import * as fs from \"node:fs\""), "1 layering"],
    ["the journal has no package but Effect", "src/journal/A.ts", importing("ws"), "2 layering"],
    ["a leaf of it may", "src/journal/NodeA.ts", importing("better-sqlite3")],
    ["the edge has packages of its own", "src/edge/A.ts", importing("@effect/platform/OpenApi")],
    ["which others have not", "src/oracle/A.ts", importing("@effect/platform/OpenApi"), "2 layering"],
    ["the tools have any", "src/cli/A.ts", importing("cli-table3")],
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
    ["identity does not import the read models", "src/identity/A.ts", importing("../readmodel/Keys.js"), "2 layering"],
    ["identity does not import the engine", "src/identity/A.ts", importing("../engine/Engine.js"), "2 layering"],
    ["identity does not import the oracle", "src/identity/A.ts", importing("../oracle/IndexFeed.js"), "2 layering"],
    ["streams import the feed", "src/streams/A.ts", importing("../sequencer/Feed.js")],
    ["streams do not import the writer", "src/streams/A.ts", importing("../sequencer/Writer.js"), "2 layering"],
    ["read models import the feed", "src/readmodel/A.ts", importing("../sequencer/Feed.js")],
    ["read models do not import the edge", "src/readmodel/A.ts", importing("../edge/Views.js"), "2 layering"],
    ["the ledger does not import the way in", "src/ledger/A.ts", importing("../sequencer/Submit.js"), "2 layering"],
    ["the ledger does not import identity", "src/ledger/A.ts", importing("../identity/ApiKeys.js"), "2 layering"],
    ["the signer imports what a transaction has to be", "src/signer/A.ts", importing("../ledger/Planned.js")],
    ["and how its bytes are read", "src/signer/A.ts", importing("../ledger/prepared/Check.js")],
    ["the signer does not import a ledger", "src/signer/A.ts", importing("../ledger/Ledger.js"), "2 layering"],
    ["nor one for development", "src/signer/A.ts", importing("../ledger/development/Setting.js"), "2 layering"],
    ["the signer imports the port of proofs", "src/signer/A.ts", importing("../identity/PasskeyVerifier.js")],
    ["the signer imports nothing else of identity", "src/signer/A.ts", importing("../identity/SecureRandom.js"), "2 layering"],
    ["the signer imports no operations", "src/signer/A.ts", importing("../operations/Operations.js"), "2 layering"],
    ["the signer does not import the edge", "src/signer/A.ts", importing("../edge/http/Listener.js"), "2 layering"],
    ["the venue's process opens parties' keys in one place", "src/main.ts", src("import { a } from \"./signer/NodeKeyStore.js\"")],
    ["and nowhere else", "src/Venue.ts", src("import { a } from \"./signer/NodeKeyStore.js\""), "2 layering"],
    ["nor by the signer itself", "src/Venue.ts", src("import { a } from \"./signer/Signer.js\""), "2 layering"],
    ["it knows the port", "src/Venue.ts", src("import { a } from \"./signer/PartySigner.js\"")],
    ["and types", "src/SignerConfig.ts", importing("./signer/Signer.js")],
    ["the signer as a process opens them", "src/cli/signer.ts", src("import { a } from \"../signer/NodeKeyStore.js\"")],
    ["no other tool does", "src/cli/venue.ts", src("import { a } from \"../signer/NodeKeyStore.js\""), "2 layering"],
    ["the edge imports what may be read", "src/edge/v1/A.ts", importing("../../engine/Reads.js")],
    ["the edge imports identity", "src/edge/A.ts", importing("../identity/ApiKeys.js")],
    ["the edge does not import the engine", "src/edge/A.ts", importing("../engine/Engine.js"), "2 layering"],
    ["the edge does not import the journal", "src/edge/A.ts", importing("../journal/Block.js"), "2 layering"],
    ["the edge does not import the composition", "src/edge/A.ts", importing("../Venue.js"), "2 layering"],
    ["the edge does not import the pages", "src/edge/A.ts", importing("../console/App.js"), "2 layering"],
    ["the pages import themselves", "src/console/pages/A.tsx", src("import { A } from \"../App.js\"")],
    ["the pages import types of the edge", "src/console/state/A.ts", importing("../../edge/orders/listOrders.js")],
    ["the pages load nothing of the edge", "src/console/A.ts", src("import { a } from \"../edge/Contract.js\""), "2 layering"],
    ["not even beside a type", "src/console/A.ts", src("import { a, type B } from \"../edge/Contract.js\""), "2 layering"],
    ["nor by a re-export", "src/console/A.ts", src("export { a } from \"../edge/Contract.js\""), "2 layering"],
    ["nor dynamically", "src/console/A.ts", src("const a = () => import(\"../edge/Contract.js\")"), "2 layering"],
    ["the pages load the client", "src/console/state/A.ts", src("import { a } from \"../../client/venue/Client.js\"")],
    ["but no other of what users take away", "src/console/A.ts", src("import { a } from \"../client/ccxt/A.js\""), "2 layering"],
    ["clients import one another", "src/client/ccxt/A.ts", src("import { a } from \"../venue/Client.js\"")],
    ["clients know the edge by its types", "src/client/venue/A.ts", importing("../../edge/orders/listOrders.js")],
    ["clients load nothing of the edge", "src/client/venue/A.ts", src("import { a } from \"../../edge/Contract.js\""), "2 layering"],
    ["clients do not know the engine", "src/client/venue/A.ts", importing("../../engine/Reads.js"), "2 layering"],
    ["the pages do not know the engine by its types", "src/console/A.ts", importing("../engine/Reads.js"), "2 layering"],
    ["the tools import the journal", "src/cli/replay/A.ts", importing("../../journal/Block.js")],
    ["nothing imports the entry point", "src/cli/A.ts", importing("../main.js"), "2 layering"],
    ["the composition sees everything in src", "src/Venue.ts", importing("./edge/Edge.js")],
    ["the composition does not see the simulator", "src/Venue.ts", importing("../sim/world/SimDisk.js"), "2 layering"],
    ["what layers share is no bridge between them", "src/NodeLockHolder.ts", importing("./edge/Edge.js"), "2 layering"],
    ["and imports what it is built on", "src/NodeLock.ts", importing("./NodePrivateFile.js")],
    ["and has no package but Effect", "src/LockWords.ts", src("import A from \"better-sqlite3\""), "2 layering"],
    ["nor has the composition", "src/Venue.ts", importing("@effect/platform/FetchHttpClient"), "2 layering"],
    ["the entry point has the platform too", "src/main.ts", importing("@effect/platform/FetchHttpClient")],
    ["but no other", "src/main.ts", importing("ws"), "2 layering"],
    ["a leaf there may have any", "src/NodeLock.ts", importing("better-sqlite3")],
    ["no file is at home at the top of src", "src/Extras.ts", src(""), "1 layering"],
    ["no folder is without a rule", "src/utilities/A.ts", src(""), "1 layering"],
    ["the simulator imports src", "sim/world/A.ts", "import { a } from \"../../src/journal/Disk.js\"\n"],
    ["the simulator does not import tests", "sim/world/A.ts", "import { a } from \"../../test/engine/drive.js\"\n", "1 layering"],
    ["the reading of requests does not import the edge", "sim/reading/A.ts", "import { a } from \"../../src/edge/http/Shapes.js\"\n",
      "1 layering"],
    ["the reading of requests does not import how the venue reads numbers", "sim/reading/A.ts",
      "import { a } from \"../../src/domain/Units.js\"\n", "1 layering"],
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

describe("permissions that nothing uses", () => {
  const found = (texts: Readonly<Record<string, string>>) => Layering.idle(files(texts)).map(({ message }) => message)

  it("are told, of files and of packages", () => {
    const without = found({})
    const taken = ["src/oracle/ may import src/engine/Reads.ts, and does not", "src/edge/ may import marked, and does not"]
    expect(without).toEqual(expect.arrayContaining([...taken, "src/Venue.ts has permissions, and is not there"]))
    const withUses = found({
      "src/Venue.ts": src(""),
      "src/oracle/A.ts": importing("../engine/Reads.js"),
      "src/edge/A.ts": importing("marked")
    })
    expect(without.filter((message) => !withUses.includes(message)))
      .toEqual([...taken, "src/Venue.ts has permissions, and is not there"])
  })
})

describe("directories", () => {
  rows([
    ["with their parents", "src/journal/NodeA.ts", src("fs.mkdirSync(a, { recursive: true })"), "2 make-directory"],
    ["on the pool", "src/journal/NodeA.ts", src("fs.mkdir(a, done)"), "2 make-directory"],
    ["in the one place", "src/NodeDirectory.ts", src("fs.mkdirSync(a)")],
    ["of a tool of ours", "scripts/a.ts", src("fs.mkdirSync(a, { recursive: true })")]
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
    ["the pages' one leaf", "src/console/Browser.ts", src("const a = () => Date.now()")],
    ["a page", "src/console/pages/A.tsx", src("const a = () => Date.now()"), "2 clock"],
    ["the client's leaf in a browser", "src/client/venue/BrowserPlatform.ts", src("const a = () => Math.random()")],
    ["the client", "src/client/venue/A.ts", src("const a = () => Math.random()"), "2 random"],
    ["a parsed date", path, src("const at = (text: string) => Date.parse(text)")],
    ["performance.now", path, src("const at = () => performance.now()"), "2 clock"],
    ["process.hrtime", path, src("const at = () => process.hrtime.bigint()"), "2 process"],
    ["Math.random", path, src("const draw = () => Math.random()"), "2 random"],
    ["Math.floor", path, src("const floor = (x: number) => Math.floor(x)")],
    ["randomUUID, imported", path, src("import { randomUUID } from \"node:crypto\""), "2 random"],
    ["randomBytes, as a member", path, src("const draw = () => crypto.randomBytes(32)"), "2 random"],
    ["setTimeout", path, src("const later = (f: () => void) => setTimeout(f, 1)"), "2 timers"],
    ["setInterval", path, src("const often = (f: () => void) => globalThis.setInterval(f, 1)"), "2 timers", "2 process"],
    ["setImmediate", path, src("const soon = (f: () => void) => setImmediate(f)"), "2 timers"],
    ["queueMicrotask", path, src("const soon = (f: () => void) => queueMicrotask(f)"), "2 timers"],
    ["in a comment", path, src("// Date.now() and Math.random() are elsewhere\nconst a = 1")],
    ["in a text", path, src("const a = \"Date.now() Math.random() setTimeout\"")],
    ["in a template's text", path, src("const a = (b: string) => `Date.now() ${b} Math.random()`")],
    ["in a template's expression", path, src("const a = () => `${Date.now()}`"), "2 clock"],
    ["between divisions of a value that is there", path, src("const a = () => b! / Date.now() / 2"), "2 clock"],
    ["of a call's", path, src("const a = () => b()! /Date.now()/ c[0]! / Math.random() / 2"), "2 clock", "2 random"],
    ["of a member's, in a template", path, src("const a = () => `${b.return! / Date.now() / 2}`"), "2 clock"],
    ["of a private one's", path, src("const a = () => this.#b! /* why */ / Date.now() / 2"), "2 clock"],
    ["within a regular expression that is negated", path, src("const a = (b: string) => !/Date.now() /.test(b)")],
    ["or returned so", path, src("const a = (b: string) => {\n  return !/Date.now() /.test(b)\n}")],
    ["in a test", "test/a.test.ts", "const at = () => Date.now()\n", "1 clock"],
    ["in a leaf", "src/journal/NodeDisk.ts", src("const at = () => Date.now()")],
    ["in the entry point", "src/main.ts", src("const at = () => Date.now()")],
    ["in a tool", "src/cli/venue.ts", src("const at = () => Date.now()")],
    ["in the simulated world", "sim/world/SimTime.ts", "const at = () => Date.now()\n"],
    ["in a bench", "scripts/bench/P1.ts", "const at = () => performance.now()\n"],
    ["in a file that only sounds like a leaf", "src/sequencer/Nodes.ts", src("const at = () => Date.now()"), "2 clock"],
    ["taken off Date", path, src("const { now } = Date"), "2 clock"],
    ["in brackets", path, src("const at = () => Date[\"now\"]()"), "2 clock"],
    ["Date by another name", path, src("const Time = Date"), "2 clock"],
    ["Date of the browser", path, src("const at = () => window.Date.now()"), "2 clock"],
    ["Date of nothing, spread", path, src("const at = (a: []) => new Date(...a)"), "2 clock"],
    ["a moment converted", path,
      src("const a = [new Date(0), Date.parse(\"\"), Date.UTC(2026, 0), b instanceof Date, { Date: 1 }, Schema.Date]")],
    ["Date as a type", path, src("const at = (a: Date, b?: Date): Date => a as Date\ntype When = Date\nlet f: () => Date"),
      "4 module-state"],
    ["of members", path,
      src("interface A {\n  at: Date\n  from?: Date\n}\nclass B<T> extends C {\n  at: Date\n  readonly to: Date = f()\n}")],
    ["among types", path,
      src("type A = Map<string, Date> | Array<Date> | Both<1, Date, 2>\nconst f = (a: string | Date, b: Date | 1) => a")],
    ["of a list, a guard and a body", path,
      src("const f = (a: unknown, b: Date[]): a is Date => g\nfunction g(): Date {\n  const a: Date = h\n  return a\n}")],
    ["within an object's type", path, src("const f = (a: { at: Date, by: Map<1, { at: Date }> }): { readonly at: Date } => a")],
    ["of a type by name", path, src("type A<T> = { at: Date, b: 1 }\nexport type B = {\n  f(): Date\n  at: Date\n}")],
    ["a schema of dates", path, src("const a = Schema.instanceOf(Date)")],
    ["Date as the value of a key", path, src("const a = { D: Date }\nconst b = f({ D: Date, c: { D: Date } })"), "2 clock", "3 clock",
      "3 clock"],
    ["Date as one of two values", path, src("const f = (a?: 1) => a ? b : Date\nconst g = `${a ? b : Date}`"), "2 clock", "3 clock"],
    ["Date in a list of values", path, src("const a = f(b, Date)\nconst c = [d < e, Date]\nconst type = Date"), "2 clock", "3 clock",
      "4 clock"],
    ["Date under words of types", path,
      src("const a = { class: { D: Date } }\nconst f = () => {\n  this.type = Date\n  type = Date\n}\nclass A {\n  at = { D: Date }\n}"),
      "2 clock", "4 clock", "5 clock", "8 clock"],
    ["above an index", path, src("interface A {\n  at: Date\n  [name: string]: Date\n}")],
    ["of a pair", path, src("const [a, b]: [Date, 1, Date] = c\nconst f = (d: readonly [1, Date]) => d")],
    ["within a class without a name", path, src("const a = class {\n  at: Date\n}\nexport abstract class B extends A {\n  at: Date\n}")],
    ["Date as a default", path, src("const f = (a: typeof b = Date) => a"), "2 clock"],
    ["Date returned", path, src("const f = () => Date\nconst a = { f: () => Date }"), "2 clock", "3 clock"],
    ["Date as a parent", path, src("class A extends Date {}"), "2 clock"],
    ["Date.now behind a colon", path, src("const a = { at: Date.now(), b: Date?.now(), c: Date[\"now\"](), d: Date() }"), "2 clock",
      "2 clock", "2 clock", "2 clock"],
    ["Date.now among bits", path, src("const f = (a: Date) => a | Date.now()"), "2 clock"],
    ["performance handed on", path, src("const a = performance"), "2 clock"],
    ["a performance of one's own", path, src("const f = (performance: Performance) => performance.best")],
    ["taken out of a parameter", path, src("const f = ({ performance }: Report) => performance.best")],
    ["a member of that name", path,
      src("class A {\n  readonly performance = 1\n  f() {\n    return this.performance\n  }\n}\ninterface B {\n  performance(): 1\n}")],
    ["performance beside a member of that name", path, src("class A {\n  private performance = performance\n}"), "3 clock"],
    ["performance taken out of the browser", path, src("const { performance } = window\nconst a = performance.now()"), "2 clock"],
    ["performance of the browser, by its name", path, src("const performance = window.performance"), "2 clock"],
    ["performance of Node", path, src("import { performance } from \"node:perf_hooks\""), "2 clock", "2 node-module"],
    ["Effect's clock of the machine", path, src("const a = () => DateTime.unsafeNow()"), "2 clock"],
    ["taken off Math", path, src("const { random } = Math"), "2 random"],
    ["Math in brackets", path, src("const a = () => Math[\"random\"]()"), "2 random"],
    ["Math that computes", path, src("const a = Math.max(1, Math.PI)")],
    ["node:crypto's integers", path, src("import { randomInt } from \"node:crypto\""), "2 random"],
    ["keys of chance", path, src("const a = () => generateKeyPairSync(\"ed25519\")"), "2 random"],
    ["keys of a test", "test/a.test.ts", "const a = () => generateKeyPairSync(\"ed25519\")\n"],
    ["a browser's, in brackets", path, src("const a = () => crypto[\"randomUUID\"]()"), "2 random"],
    ["a timer of a signal", path, src("const a = () => AbortSignal.timeout(5)"), "2 timers"],
    ["a list of a name", path, src("const a: ReadonlyArray<string> = [\"setTimeout\"]")]
  ])
})

describe("the process, Node's modules and the language", () => {
  const path = "src/sequencer/A.ts"
  rows([
    ["the environment", path, src("const a = () => process.env[\"A\"]"), "2 process"],
    ["taken off the process", path, src("const { nextTick } = process"), "2 process"],
    ["handed on", path, src("const a = f(process)"), "2 process"],
    ["in a leaf", "src/sequencer/NodeA.ts", src("const a = () => process.env[\"A\"]")],
    ["in a test", "test/a.test.ts", "const a = process.env[\"A\"]\n"],
    ["the uptime in a test", "test/a.test.ts", "const a = process.uptime()\n", "1 clock"],
    ["a process of one's own", path, src("const f = (process: Process) => process.taken")],
    ["taken out of a parameter", path, src("const f = ({ process }: Host) => process.taken")],
    ["of a callback", path, src("const f = each((process, at) => process.taken + at)")],
    ["a method of that name", path, src("class A {\n  process(order: 1): void {\n    this.process(order)\n  }\n}")],
    ["a member and a key", path, src("const f = (a: { process: 1 }) => ({ process: a.process })")],
    ["the global object", path, src("const f = () => new globalThis.Date()"), "2 clock", "2 process"],
    ["a type of the global object", path, src("type A = globalThis.Record<string, string>")],
    ["a module of Node", path, src("import * as fs from \"node:fs\""), "2 node-module"],
    ["without its prefix", path, src("import { readFileSync } from \"fs\""), "2 node-module"],
    ["loaded later", path, src("const a = () => import(\"node:process\")"), "2 node-module"],
    ["handed on", path, src("export * from \"node:os\""), "2 node-module"],
    ["its types", path, src("import type { Stats } from \"node:fs\"")],
    ["one that only computes", path, src("import * as crypto from \"node:crypto\"")],
    ["what only computes of one", path, src("import { isIP } from \"node:net\"")],
    ["and what does not", path, src("import { isIP, connect } from \"node:net\""), "2 node-module"],
    ["all of it", path, src("import * as net from \"node:net\""), "2 node-module"],
    ["in a leaf", "src/sequencer/NodeA.ts", src("import * as fs from \"node:fs\"")],
    ["in the simulator", "sim/model/A.ts", "import * as fs from \"node:fs\"\n", "1 node-module"],
    ["in its reports", "sim/report/A.ts", "import * as fs from \"node:fs\"\n"],
    ["in a test", "test/a.test.ts", "import * as fs from \"node:fs\"\n"],
    ["by a maker of require", path, src("const a = module.createRequire(b)"), "2 load"],
    ["what is named by a value", path, src("const a = (b: string) => import(b)"), "2 load"],
    ["what begins with a text", path, src("const a = (b: string) => import(\"node:\" + b)"), "2 layering", "2 load"],
    ["a type of a module", path, src("type A = import(\"effect/Effect\").Effect<1>")],
    ["an order by language", path, src("const a = (b: string) => b.localeCompare(\"a\")"), "2 locale"],
    ["a number by language", path, src("const a = (b: number) => b.toLocaleString()"), "2 locale"],
    ["a format by language", path, src("const a = new Intl.NumberFormat()"), "2 locale"],
    ["a moment on a page", "src/console/parts/A.tsx", src("const a = new Intl.DateTimeFormat()")]
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
    ["in a leaf", "src/journal/NodeDisk.ts", src("let count = 0")],
    ["an array to write to", path, src("const seen: Array<number> = []"), "2 module-state"],
    ["an array by its brackets", path, src("const seen: string[] = [\"a\"]"), "2 module-state"],
    ["an array of nothing yet", path, src("const seen = []"), "2 module-state"],
    ["a record of nothing yet", path, src("const seen: Record<string, 1> = {}"), "2 module-state"],
    ["a read-only array", path, src("const known: ReadonlyArray<number> = []\nconst more: readonly number[] = []\nconst last = [1, 2]")],
    ["nothing, by a type of its own", path, src("const nothing: Partial<Asked> = {}")],
    ["an array that is written", path, src("const last = [1, 2]\nconst f = (a: 1) => last.push(a)"), "3 module-state"],
    ["a map within an object", path, src("const store = { byId: new Map() }\nconst f = () => store.byId.set(1, 2)"), "2 module-state",
      "3 module-state"],
    ["a map within an object of some type", path, src("const store: Store = { byId: new Map() }\nconst f = () => store.byId.delete(1)"),
      "3 module-state"],
    ["a map made for a function", path, src("const f = { make: () => new Map(), start() {\n  return new Set()\n} }")],
    ["a map of each object of a class", path, src("class A {\n  private readonly seen = new Map<string, 1>()\n}")],
    ["bytes of nothing", path, src("const none = { bytes: new Uint8Array(0), more: new Uint8Array() }")],
    ["an object assigned to", path, src("const last = { at: 0 }\nconst f = () => Object.assign(last, { at: 1 })"), "3 module-state"],
    ["an object copied", path, src("const last = { at: 0 }\nconst f = () => Object.assign({}, last)")],
    ["a member taken away", path, src("const last = { at: 0 }\nconst f = () => delete last.at"), "3 module-state"],
    ["a member counted up first", path, src("const last = { at: 0 }\nconst f = () => ++last.at"), "3 module-state"],
    ["a member of a function", path, src("function f() {\n  f.count += 1\n}"), "3 module-state"],
    ["a member of an import", path, src("import { last } from \"./B.js\"\nconst f = () => {\n  last.at = 1\n}"), "4 module-state"],
    ["an import's map, which is found where it is made", path, src("import * as B from \"./B.js\"\nconst f = () => B.seen.add(1)")],
    ["a sum by an import's member", path,
      src("import * as Domain from \"./B.js\"\nimport { Money } from \"./B.js\"\nconst a = Domain.Money.add(1, Money.zero.add(2))")],
    ["a sum by a class", path,
      src("class Money {\n  static add(a: 1, b: 2) {\n    return a\n  }\n}\nconst a = Money.add(1, Money.zero.add(2))")],
    ["a sum by an object", path,
      src("const Money = { add: (a: 1, b: 2) => a, zero: { add: f }, all: [1] } as const\nconst a = Money.add(1, Money.zero.add(2))")],
    ["a list of an object", path, src("const a: A = Object.freeze({ add: f, b: { all: [1] } })\nconst c = () => a.b.all.push(a.add(1))"),
      "3 module-state"],
    ["one of several", path,
      src("const a: A = { b: new Set(), c: [[1]] }\nconst d = (e: 1) => a[e].add(1)\nconst f = () => a.c[0]!.push(2)"), "3 module-state",
      "4 module-state"],
    ["a list from something", path, src("const all = Array.from(some)\nconst f = () => all.push(1)"), "3 module-state"],
    ["what is spread out of a set", path, src("const kinds = [...new Set(all)]\nconst more = f(...new Set<1>())")],
    ["and written", path, src("const kinds = [...new Set(all)]\nconst f = () => kinds.push(1)"), "3 module-state"],
    ["what is taken off a collection", path,
      src("const a = new Uint8Array([1, 2]).length\nconst b = new Set<Array<1>>(all).size\nconst c = new Array(3).fill(\"a\").join(\"\")")],
    ["a collection by its method", path,
      src("const a = new Map().set(1, 2)\nconst b = { c: new Set<Array<1>>().add(1).add(2) }\nconst d = new Uint8Array(4).map(f)"),
      "2 module-state", "4 module-state", "3 module-state"],
    ["a set within what is spread", path, src("const a = [...new Map([[1, new Set()]])]"), "2 module-state"],
    ["a function of an import", path, src("import * as Index from \"./B.js\"\nconst f = (a: 1) => Index.set(a, 1)")],
    ["a value under a type of an import", path, src("import { A } from \"./B.js\"\nconst f = () => {\n  const a: typeof A.Type = 1\n}")],
    ["a default under a type of an import", path,
      src("import * as B from \"./B.js\"\nconst f = (a: B.A = B.none, b: (c: 1) => B.A = B.of) => a")],
    ["a static field", path, src("class A {\n  static count = 0\n  private static seen?: A\n}"), "3 module-state", "4 module-state"],
    ["a static collection", path, src("class A {\n  static readonly seen = new Set<A>()\n}"), "3 module-state"],
    ["what is fixed and static", path,
      src("class A {\n  static readonly none: ReadonlySet<A> = new Set()\n  static make(): A {\n    return new A()\n  }\n}")],
    ["a counter in a closure", path, src("const next = (() => {\n  let count = 0\n  return () => ++count\n})()"), "3 module-state"],
    ["a map in a closure", path, src("const f = (() => {\n  const seen = new Map()\n  return () => seen\n})()"), "3 module-state"],
    ["what is built at once", path, src("const known: ReadonlySet<1> = (() => {\n  const all = new Set<1>()\n  return all\n})()")],
    ["a cell of Effect", path.replace("engine", "edge"), src("const last = MutableRef.make(0)"), "2 module-state"],
    ["a semaphore", path.replace("engine", "edge"), src("const turn = Effect.unsafeMakeSemaphore(1)"), "2 module-state"],
    ["of each object of a class", path.replace("engine", "edge"), src("class A {\n  readonly turn = Effect.unsafeMakeSemaphore(1)\n}")],
    ["an array of a test", "test/a.test.ts", "const made: Array<string> = []\nconst f = () => made.push(\"a\")\n"],
    ["a map of a test", "test/a.test.ts", "const made = new Map()\n", "1 module-state"]
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
    ["an effect run by a test", "test/a.test.ts", "const a = Effect.runPromise(b)\n"],
    ["an effect begun inside", path, src("const a = Effect.runFork(b)"), "2 run-effect"],
    ["by another name", path, src("import * as E from \"effect/Effect\"\nconst a = E.runCallback(b)"), "3 run-effect"],
    ["by its own name", path, src("import { runSync } from \"effect/Effect\""), "2 run-effect"],
    ["with services that were handed in", path, src("const a = Runtime.runFork(runtime)(b)")],
    ["with services of one's own", path, src("const a = Runtime.runFork(Runtime.defaultRuntime)(b)"), "2 run-effect"],
    ["begun by a leaf", "src/edge/NodeA.ts", src("const a = Effect.runFork(b)")],
    ["run by a leaf", "src/edge/NodeA.ts", src("const a = Effect.runSync(b)"), "2 run-effect"]
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
    ["focused for each case", path, "it.only.each([1])(\"a\", () => {})\nit.each([1]).only(\"a\", () => {})\n", "1 focused-test",
      "2 focused-test"],
    ["focused by options", path, "it(\"a\", { only: true }, () => {})\n", "1 focused-test"],
    ["focused for each case, by options", path, "it.each([1])(\"a\", { timeout: 5, only: true }, () => {})\n", "1 focused-test"],
    ["skipped by options", path, "describe(\"a\", { skip: isSlow }, () => {})\n", "1 skipped-test"],
    ["skipped always", path, "it.skipIf(true)(\"a\", () => {})\n", "1 skipped-test"],
    ["run never", path, "it.runIf(false)(\"a\", () => {})\n", "1 skipped-test"],
    ["skipped where something is missing", path, "describe.skipIf(browser === undefined)(\"a\", () => {})\n"],
    ["a test to be written", path, "it.todo(\"a\")\n", "1 skipped-test"],
    ["a test that fails", path, "it.fails(\"a\", () => {})\nit(\"b\", { fails: true }, () => {})\n", "1 skipped-test", "2 skipped-test"],
    ["options of something else", path, "it(\"a\", () => {\n  script([{ skip: 0, only: 1 }], { skip: 1 })\n})\n"],
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

/** Files by path, parsed and linked. */
const files = (texts: Readonly<Record<string, string>>) => linked(Object.entries(texts).map(([path, text]) => parse(path, text)))

const subjects = (found: ReadonlyArray<Violation>): ReadonlyArray<string> =>
  found.map(({ path, line, subject }) => `${path}:${line} ${subject}`)

describe("circles", () => {
  const found = (texts: Readonly<Record<string, string>>) => subjects(Graph.circles(files(texts)))
  const imports = (...names: ReadonlyArray<string>) => names.map((name) => `import { a } from "./${name}.js"\n`).join("")

  it("files that import down only make none", () => {
    expect(found({ "src/a.ts": imports("b", "c"), "src/b.ts": imports("c"), "src/c.ts": "" })).toEqual([])
  })

  it("two files that import each other make one, told once", () => {
    expect(found({ "src/A.ts": imports("C", "B"), "src/B.ts": imports("A"), "src/C.ts": "" })).toEqual(["src/A.ts:2 A"])
  })

  it("a type counts like a value", () => {
    expect(found({ "src/A.ts": imports("B"), "src/B.ts": "import type { a } from \"./A.js\"\n" })).toEqual(["src/A.ts:1 A"])
  })

  it("a re-export and a dynamic import count like an import", () => {
    const texts = { "src/A.ts": "export * from \"./B.js\"\n", "src/B.ts": "const a = () => import(\"./A.js\")\n" }
    expect(found(texts)).toEqual(["src/A.ts:1 A"])
  })

  it("a file that imports itself makes one", () => {
    expect(found({ "src/A.ts": imports("A") })).toEqual(["src/A.ts:1 A"])
  })

  it("circles that hang together are one, told by the shortest way", () => {
    const texts = { "src/A.ts": imports("B"), "src/B.ts": imports("C"), "src/C.ts": imports("A", "D"), "src/D.ts": imports("C") }
    expect(Graph.circles(files(texts)).map(({ message }) => message)).toEqual([
      "4 files import each other in a circle: src/A.ts -> src/B.ts -> src/C.ts -> src/A.ts"
    ])
  })

  it("circles that do not hang together are told apart", () => {
    const texts = { "src/A.ts": imports("B"), "src/B.ts": imports("A", "C"), "src/C.ts": imports("D"), "src/D.ts": imports("C") }
    expect(found(texts)).toEqual(["src/A.ts:1 A", "src/C.ts:1 C"])
  })
})

describe("long functions", () => {
  const lines = (count: number) => "  one()\n".repeat(count)
  const found = (text: string, path = "src/edge/A.ts") => subjects(Functions.check(parse(path, text)))

  /** Each with the line in which it starts, and the number of lines around it that do not belong to it. */
  it.each<readonly [what: string, before: string, after: string, found: string, around: number]>([
    ["a function", "export function* one(a: 1): Generator<1> {", "}", "1 A.one", 0],
    ["an arrow", "export const two = async (a: { b: 1 }): Promise<1> => {", "}", "1 A.two", 0],
    ["an arrow of one name", "export const two = a => {", "}", "1 A.two", 0],
    ["an arrow that returns a type in braces", "const two = (a: 1): { readonly b: 1 } => {", "}", "1 A.two", 0],
    ["an arrow that is an expression", "const three = () => ({", "})", "1 A.three", 0],
    ["an effect", "const four = Effect.gen(function*() {", "})", "1 A.four", 0],
    ["a method", "class A {\n  private five<T>(a: 1): Array<T> {", "}\n}", "2 A.five", 2],
    ["a method of an object", "const a = {\n  six(a: 1) {", "}\n}", "2 A.six", 2],
    ["a property of an object", "const a = {\n  seven: (a: 1) => {", "}\n}", "2 A.seven", 2],
    ["a constructor", "class A {\n  constructor(readonly a: 1) {", "}\n}", "2 A.constructor", 2],
    ["a callback", "register(() => {", "})", "1 A.register", 0]
  ])("%s", (_what, before, after, subject, around) => {
    const brackets = `${before}\n${after}`.split("\n").length - around
    const long = (count: number) => `${before}\n${lines(count - brackets)}${after}\n`
    expect(found(long(80))).toEqual([])
    expect(found(long(81))).toEqual([`src/edge/A.ts:${subject}`])
  })

  it("an arrow ends where the next statement starts", () => {
    expect(found(`const a = (b: 1) => b\nconst c = [\n${"  1,\n".repeat(90)}  1\n]\n`)).toEqual([])
  })

  it("a type is no function", () => {
    expect(found(`interface A {\n  a(b: 1): 1\n${"  readonly b: 1\n".repeat(90)}}\n`)).toEqual([])
  })

  it("the function within and the one around are told apart by name, and told once each", () => {
    const text = `const outer = () => {\n  const inner = () => {\n    both(() => {\n${lines(80)}    })\n  }\n}\n`
    expect(found(text)).toEqual(["src/edge/A.ts:1 A.outer", "src/edge/A.ts:2 A.inner", "src/edge/A.ts:3 A.both"])
  })

  it("a list of tests may be long, a test may not", () => {
    const list = `describe("a", () => {\n${"  it(\"b\", () => {})\n".repeat(90)}})\n`
    expect(found(list, "test/a.test.ts")).toEqual([])
    expect(found(`it("a", () => {\n${lines(90)}})\n`, "test/a.test.ts")).toEqual(["test/a.test.ts:1 a.test.it"])
  })
})

describe("exports that nothing imports", () => {
  const found = (texts: Readonly<Record<string, string>>) => subjects(Exports.unused(files(texts)))
  const exporting = "export const a = 1\nexport function b() {}\nexport abstract class C {}\nexport { d, e as f }\nexport const { g } = h\n"

  it("each kind is found where nobody takes it", () => {
    expect(found({ "src/A.ts": exporting })).toEqual(
      ["1 A.a", "2 A.b", "3 A.C", "4 A.d", "4 A.f", "5 A.g"].map((line) => `src/A.ts:${line}`)
    )
  })

  it("names in braces are taken, by the name they were exported under", () => {
    const taking = "import { a as z, type C } from \"./A.js\"\nimport { b, d } from \"./A.js\"\nexport { f } from \"./A.js\"\n"
    expect(found({ "src/A.ts": exporting, "src/b.ts": taking })).toEqual(["src/A.ts:5 A.g", "src/b.ts:3 b.f"])
  })

  it("of a namespace what is named is taken", () => {
    const taking = "import * as A from \"./A.js\"\nconst z = A.a(A.b, x.A.d, { A: 1 })\n"
    expect(found({ "src/A.ts": exporting, "src/b.ts": taking })).toEqual(
      ["3 A.C", "4 A.d", "4 A.f", "5 A.g"].map((line) => `src/A.ts:${line}`)
    )
  })

  it("a namespace that is handed on takes everything, and so does a dynamic import", () => {
    expect(found({ "src/A.ts": exporting, "src/b.ts": "import * as A from \"./A.js\"\nuse(A)\n" })).toEqual([])
    expect(found({ "src/A.ts": exporting, "src/b.ts": "const a = import(\"./A.js\")\n" })).toEqual([])
  })

  it("an import for its effects takes nothing", () => {
    expect(found({ "src/A.ts": "export const a = 1\n", "src/b.ts": "import \"./A.js\"\n" })).toEqual(["src/A.ts:1 A.a"])
  })

  it("markup takes what it names, and is imported like any other file", () => {
    const page =
      "import { Part } from \"./Part.js\"\nimport * as Words from \"./Words.js\"\nexport const Page = () => <Part a={Words.b}>text {c}</Part>\n"
    const texts = {
      "src/console/Part.tsx": "export const Part = ({ a }) => <p>{a}</p>\nexport const Other = 1\n",
      "src/console/Words.ts": "export const b = 1\nexport const text = 2\n",
      "src/console/Page.tsx": page
    }
    expect(found(texts)).toEqual(["src/console/Part.tsx:2 Part.Other", "src/console/Words.ts:2 Words.text",
      "src/console/Page.tsx:3 Page.Page"])
  })

  it("a type that its own file speaks of is taken; one that nothing speaks of is not", () => {
    expect(found({ "src/A.ts": "export interface A {}\nexport type B = 1\nconst a = (b: A) => b\n" })).toEqual(["src/A.ts:2 A.B"])
  })

  it("of what decides tests are no users, unless its own file uses it, too", () => {
    const texts = {
      "src/engine/A.ts": "export const a = 1\nexport const b = 2\nexport const c = b\nexport const d = 3\n",
      "src/edge/B.ts": "import { c } from \"../engine/A.js\"\nexport const e = c\n",
      "test/a.test.ts": "import { a, b } from \"../src/engine/A.js\"\nimport { e } from \"../src/edge/B.js\"\n",
      "sim/run/S.ts": "import * as A from \"../../src/engine/A.js\"\nuse(A.d)\n"
    }
    expect(found(texts)).toEqual(["src/engine/A.ts:1 A.a", "src/engine/A.ts:4 A.d"])
  })

  it("what users take away is theirs", () => {
    expect(found({ "src/client/ccxt/A.ts": exporting })).toEqual([])
  })
})

describe("packages", () => {
  const manifest = (dependencies: ReadonlyArray<string>, devDependencies: ReadonlyArray<string> = []) => {
    const versions = (names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [name, "1"]))
    return JSON.stringify({ dependencies: versions(dependencies), devDependencies: versions(devDependencies) }, undefined, 2)
  }
  const found = (text: string, sources: Readonly<Record<string, string>>) =>
    Packages.check("package.json", text, files(sources)).map(({ line, message, path }) => `${path}:${line} ${message}`)
  const using = (...names: ReadonlyArray<string>) => names.map((name) => `import "${name}"\n`).join("")

  it("what is imported and named passes", () => {
    const sources = { "src/a.ts": using("a/b", "@c/d/e", "node:fs", "fs", "./b.js"), "test/a.ts": using("f", "a") }
    expect(found(manifest(["a", "@c/d"], ["f"]), sources)).toEqual([])
  })

  it("what nothing imports is found, in either list", () => {
    expect(found(manifest(["a"], ["b"]), { "src/a.ts": "" })).toEqual([
      "package.json:3 a is imported by nothing",
      "package.json:6 b is imported by nothing"
    ])
  })

  it("what src imports is no devDependency", () => {
    expect(found(manifest([], ["a"]), { "src/a.ts": using("a") })).toEqual(["src/a.ts:1 a is only a devDependency"])
  })

  it("but what the pages are bundled from is one", () => {
    const sources = { "src/console/a.tsx": using("a", "b"), "src/b.ts": using("b") }
    expect(found(manifest(["b"], ["a"]), sources)).toEqual([])
    expect(found(manifest(["b"], ["a"]), { "src/console/a.tsx": using("c") })[0]).toBe("src/console/a.tsx:1 c is no dependency")
  })

  it("what only tests import is one", () => {
    expect(found(manifest(["a"]), { "test/a.ts": using("a") })).toEqual(["package.json:3 a is a devDependency: nothing in src imports it"])
  })

  it("what is named nowhere is found where it is imported", () => {
    expect(found(manifest([]), { "scripts/a.ts": using("node:fs", "a") })).toEqual(["scripts/a.ts:2 a is no dependency"])
  })

  it("types are wanted as long as what they describe", () => {
    expect(found(manifest(["a"], ["@types/node", "@types/a", "@types/c__d"]), { "src/a.ts": using("a") })).toEqual([
      "package.json:8 @types/c__d is imported by nothing"
    ])
  })

  it("programs are not imported", () => {
    expect(found(manifest([], ["typescript", "oxlint"]), {})).toEqual([])
  })
})

describe("documents that are spoken of", () => {
  const file = (name: string) => [name, "md"].join(".")
  const found = (text: string) => subjects(Documents.check("src/engine/A.ts", text, ["README.md", "src/engine/RULES.md"]))

  it("what is in the repository may be named, by any path", () => {
    expect(found(`see ${file("RULES")} and ../${file("src/engine/RULES")}, or ${file("./README")}.`)).toEqual([])
  })

  it("what is not is found, each at its line", () => {
    expect(found(`one\n(${file("spec/terms")} 3)\n${file("a")}, ${file("b")}`)).toEqual([
      "src/engine/A.ts:2 A.terms",
      "src/engine/A.ts:3 A.a",
      "src/engine/A.ts:3 A.b"
    ])
  })

  it("an ending alone names nothing", () => {
    expect(found(`files that end in .${"md"}, and *.${"md"}`)).toEqual([])
  })
})

describe("exceptions", () => {
  const broken = { path: "src/a.ts", line: 1, rule: "long-function", message: "too long", subject: "a.make" }

  it("what is excused passes, and only that", () => {
    const another = { ...broken, subject: "a.other" }
    expect(Exceptions.settle([broken, another], { "long-function": ["a.make"] })).toEqual([another])
    expect(Exceptions.settle([broken], { circle: ["a.make"] })).toContainEqual(broken)
  })

  it("an exception that excuses nothing is a violation itself", () => {
    expect(Exceptions.settle([], { "long-function": ["a.make"] })).toEqual([
      expect.objectContaining({ path: "scripts/check/Exceptions.ts", rule: "long-function" })
    ])
  })
})

describe("the linter", () => {
  it("what it reports is a violation at its line", () => {
    const label = { span: { offset: 9, length: 1, line: 7, column: 2 } }
    const diagnostic = { message: "Use ===", code: "eslint(eqeqeq)", severity: "error", filename: "src/a.ts", labels: [label] }
    expect(Lint.violationsOf(JSON.stringify({ diagnostics: [diagnostic] }))).toEqual([
      { path: "src/a.ts", line: 7, rule: "lint", message: "eslint(eqeqeq) Use ===" }
    ])
  })

  it("a report of nothing is none", () => {
    expect(Lint.violationsOf("{\"diagnostics\": []}")).toEqual([])
  })
})

it("says what it needs in a copy that has no repository", () => {
  const cwd = fs.mkdtempSync(path.join(os.tmpdir(), "check-"))
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: os.tmpdir() }
  const { status, stderr } = spawnSync(process.execPath, [path.resolve("dist/scripts/check.js")], { cwd, env, encoding: "utf8" })
  fs.rmSync(cwd, { recursive: true })
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^npm run check asks git .* run git init first.*\n$/)])
})
