/** Verdicts outlive the process that reached them, as long as the code is the same; how mutants are chosen and counted. */
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as acorn from "acorn"
import { afterAll, describe, expect, test } from "vitest"
import * as Equivalent from "../../../scripts/mutate/Equivalent.js"
import * as Planting from "../../../scripts/mutate/Planting.js"
import * as Report from "../../../scripts/mutate/Report.js"
import * as Selection from "../../../scripts/mutate/Selection.js"
import * as Settings from "../../../scripts/mutate/Settings.js"
import * as Sites from "../../../scripts/mutate/Sites.js"
import { fingerprint, State, type Verdict } from "../../../scripts/mutate/State.js"
import { nameOfScenario } from "../../../scripts/mutate/Task.js"
import { few } from "../../Depth.js"

const root = path.resolve(import.meta.dirname, "../../../..")

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "mutate-state-"))
afterAll(() => fs.rmSync(folder, { recursive: true }))

const killed: Verdict = { outcome: "killed", by: "replay", at: "7", what: "digests differ" }
const survived: Verdict = { outcome: "survived", seen: true }

describe("the state", () => {
  test("is found again, and goes on", () => {
    const file = path.join(folder, "a/state.jsonl")
    const first = new State(file, { seeds: "1", tests: "2" })
    expect([first.kept, first.dropped]).toEqual([0, 0])
    first.put("seeds", "x", survived)
    first.put("tests", "x", killed)
    first.put("seeds", "y", { outcome: "unreached" })
    const second = new State(file, { seeds: "1", tests: "2" })
    expect([second.kept, second.dropped]).toEqual([3, 0])
    expect(second.verdict("seeds", "x")).toEqual(survived)
    expect(second.verdict("tests", "x")).toEqual(killed)
    expect(second.verdict("tests", "y")).toBeUndefined()
    second.put("tests", "y", survived)
    expect(new State(file, { seeds: "1", tests: "2" }).verdict("tests", "y")).toEqual(survived)
  })

  test("drops what was reached with other code", () => {
    const file = path.join(folder, "b.jsonl")
    const first = new State(file, { seeds: "1", tests: "2" })
    first.put("seeds", "x", survived)
    first.put("tests", "x", killed)
    const second = new State(file, { seeds: "1", tests: "other" })
    expect([second.kept, second.dropped]).toEqual([1, 1])
    expect(second.verdict("seeds", "x")).toEqual(survived)
    expect(second.verdict("tests", "x")).toBeUndefined()
    // It is gone for good: restoring the code does not restore the verdict.
    expect(new State(file, { seeds: "1", tests: "2" }).kept).toBe(1)
  })

  test("does without a line that was cut short, and refuses one that is no verdict", () => {
    const file = path.join(folder, "c.jsonl")
    new State(file, { seeds: "1", tests: "2" }).put("seeds", "x", survived)
    fs.appendFileSync(file, "{\"key\":\"y\",\"judge\":\"see")
    const cut = new State(file, { seeds: "1", tests: "2" })
    cut.put("seeds", "z", killed)
    const after = new State(file, { seeds: "1", tests: "2" })
    expect([after.verdict("seeds", "x"), after.verdict("seeds", "y"), after.verdict("seeds", "z")]).toEqual([survived, undefined, killed])
    fs.appendFileSync(file, "{\"key\":\"y\"}\n")
    expect(() => new State(file, { seeds: "1", tests: "2" })).toThrow("c.jsonl:3 is no verdict")
  })

  test("the fingerprint is of every compiled file and of the terms", () => {
    const made = path.join(folder, "code")
    fs.mkdirSync(path.join(made, "dist/a"), { recursive: true })
    const write = (name: string, text: string): void => fs.writeFileSync(path.join(made, "dist", name), text)
    write("a/x.js", "1")
    write("y.js", "2")
    const of = (...terms: ReadonlyArray<string>): string => fingerprint(made, ["dist/a", "dist/y.js"], terms)
    const before = of("t")
    expect(of("t")).toBe(before)
    expect(of("u")).not.toBe(before)
    write("a/x.js.map", "nothing that runs")
    expect(of("t")).toBe(before)
    write("a/x.js", "3")
    expect(of("t")).not.toBe(before)
    write("a/x.js", "1")
    write("y.js", "3")
    expect(of("t")).not.toBe(before)
  })
})

/** Mutants of a real file, from which later tests choose. */
const someSites = (): ReadonlyArray<Sites.Site> => Sites.modulesUnder(root, ["src/sequencer/Timers.ts"]).flatMap(({ sites }) => sites)

describe("what is chosen", () => {
  test("lines of a diff are those that it leaves behind", () => {
    const diff = [
      "diff --git a/src/a.ts b/src/a.ts",
      "--- a/src/a.ts",
      "+++ b/src/a.ts",
      "@@ -3 +3,2 @@ export",
      "-one",
      "+one",
      "+++ two",
      "@@ -10,2 +12 @@",
      "-++ b/src/other.ts",
      "-@@ -1 +1 @@",
      "+three",
      "\\ No newline at end of file",
      "@@ -20 +21,0 @@",
      "-four",
      "diff --git a/src/gone.ts b/src/gone.ts",
      "--- a/src/gone.ts",
      "+++ /dev/null",
      "@@ -1 +0,0 @@",
      "-five",
      "diff --git a/src/new.ts b/src/new.ts",
      "--- /dev/null",
      "+++ b/src/new.ts",
      "@@ -0,0 +1,4 @@"
    ]
    expect(Selection.linesOfDiff(diff.join("\n"))).toEqual(new Map([["src/a.ts", [[3, 4], [12, 12]]], ["src/new.ts", [[1, 4]]]]))
  })

  test("a revision's changes are found in a repository, uncommitted and unknown files among them", () => {
    const repository = fs.mkdtempSync(path.join(folder, "repository-"))
    const git = (...words: ReadonlyArray<string>): void => {
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...words], { cwd: repository, stdio: "pipe" })
    }
    fs.mkdirSync(path.join(repository, "src"))
    fs.writeFileSync(path.join(repository, "src/a.ts"), "1\n2\n3\n")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    expect(Selection.hasRevision(repository, "HEAD")).toBe(true)
    expect(Selection.hasRevision(repository, "HEAD^")).toBe(false)
    fs.writeFileSync(path.join(repository, "src/a.ts"), "1\ntwo\n3\n4\n")
    fs.writeFileSync(path.join(repository, "src/b.ts"), "1\n")
    expect(Selection.changedSince(repository, "HEAD")).toEqual(
      new Map([["src/a.ts", [[2, 2], [4, 4]]], ["src/b.ts", [[1, Number.MAX_SAFE_INTEGER]]]])
    )
  })

  test("a sample is the same for the same lot, of its size, and in order", () => {
    const sites = someSites()
    const four = Selection.sample(sites, { count: 4 }, "1")
    expect(four.length).toBe(4)
    expect(four.map(({ id }) => id)).toEqual(four.map(({ id }) => id).sort((a, b) => a - b))
    expect(Selection.sample(sites, { count: 4 }, "1")).toEqual(four)
    expect(Selection.sample(sites, { count: 4 }, "2")).not.toEqual(four)
    // Removing a mutant from the file removes at most one from the sample.
    const fewer = Selection.sample(sites.slice(1), { count: 4 }, "1")
    expect(fewer.filter((site) => four.includes(site)).length).toBeGreaterThanOrEqual(3)
    expect(Selection.sample(sites, { percent: 100 }, "1")).toEqual(sites)
    const half = Selection.sample(sites, { percent: 50 }, "1").length / sites.length
    expect(half).toBeGreaterThan(0.3)
    expect(half).toBeLessThan(0.7)
  })

  test("every mutant has its own key, and knows its line", () => {
    const sites = someSites()
    expect(new Set(sites.map(({ key }) => key)).size).toBe(sites.length)
    const lines = fs.readFileSync(path.join(root, "src/sequencer/Timers.ts"), "utf8").split("\n")
    for (const { line, source } of sites) expect(lines[line - 1]!.trim()).toBe(source)
  })

  test("every compiled module of the five folders is still a module once planted", () => {
    const modules = Sites.modulesUnder(root, Sites.folders)
    expect(modules.length).toBeGreaterThan(100)
    // The two differ in what a switch is asked, which is the same everywhere: each module shows it of one of them.
    const modes = ["switched", "recording"] as const
    for (const [index, { sites, text }] of modules.entries()) {
      for (const mode of modes.filter((_, at) => at % few(2, 1) === index % few(2, 1))) {
        acorn.parse(Planting.plant(text, sites, mode), { ecmaVersion: "latest", sourceType: "module" })
      }
    }
  })

  test("an equivalent mutant is there, once, and says why", () => {
    const entries = Equivalent.read(root)
    expect(Equivalent.staleIn(root, entries)).toEqual([])
    const gone = { ...entries[0]!, path: "src/engine/Gone.ts" }
    const uncounted = { ...entries[0]!, path: "src/Venue.ts" }
    expect(Equivalent.staleIn(root, [gone, ...entries, uncounted])).toEqual([gone, uncounted])
    for (const { reason } of entries) expect(reason.length).toBeGreaterThan(20)
    const names = entries.map(({ becomes, operator, path: file, source, was }) => JSON.stringify([file, source, operator, was, becomes]))
    expect(new Set(names).size).toBe(names.length)
  })

  test("an equivalent mutant whose line has changed is stale", () => {
    const [module] = Sites.modulesUnder(root, ["src/sequencer/Timers.ts"])
    const [site] = module!.sites
    const { mutant: { becomes, operator, was }, path: file, source } = site!
    const entry = { path: file, source, operator, was, becomes, reason: "for the test" }
    expect(Equivalent.sitesOf([module!], [entry]).has(site!)).toBe(true)
    expect(Equivalent.stale([module!], [entry])).toEqual([])
    const moved = { ...entry, source: `${source} ` }
    expect(Equivalent.sitesOf([module!], [moved]).size).toBe(0)
    expect(Equivalent.stale([module!], [moved])).toEqual([moved])
  })

  test("words that ask for nothing there is are refused", () => {
    const faulty = [["--seeds", "0"], ["--sample", "0%"], ["--sample", "2.5"], ["--profile", "sunny"], ["--only", "test/engine"], [
      "--minutes",
      "0"
    ], ["--bar", "101"], ["--what"], ["--seed", "no such"], ["--seed", "1,"], ["--scenarios", "no-such"]]
    for (const words of faulty) expect(() => Settings.parse(words), words.join(" ")).toThrow(Settings.Usage)
    expect(Settings.parse(["--changed"]).changed).toBe("HEAD^")
    const kept = JSON.parse(fs.readFileSync(path.join(root, "sim/seeds.json"), "utf8")) as ReadonlyArray<string>
    expect(Settings.parse(["--seeds", "2"]).seeds).toEqual(kept.slice(0, 2))
    expect(Settings.parse(["--seeds", String(kept.length + 2)]).seeds).toEqual([...kept, "1", "2"])
    expect(Settings.parse(["--seed", "7,9:25"]).seeds).toEqual(["7", "9:25"])
    expect(Settings.parse(["--scenarios", "none"]).scenarios).toEqual([])
    expect(Settings.parse(["--scenarios", "wall-of-cancels"]).scenarios).toEqual(["wall-of-cancels"])
    expect(Settings.parse([]).scenarios).toContain("wall-of-cancels")
    expect(Settings.parse(["--changed", "--tests"])).toMatchObject({ changed: "HEAD^", tests: true })
    expect(Settings.parse(["--changed", "main", "--only", "src/engine/,src/edge/Edge.ts"])).toMatchObject({
      changed: "main",
      paths: ["src/engine", "src/edge/Edge.ts"]
    })
  })
})

describe("the report", () => {
  const [a, b, c, d, e, f, g] = someSites().slice(0, 7) as [
    Sites.Site,
    Sites.Site,
    Sites.Site,
    Sites.Site,
    Sites.Site,
    Sites.Site,
    Sites.Site
  ]
  const judged: ReadonlyArray<Report.Judged> = [
    { site: a, isEquivalent: false, seeds: killed, tests: undefined },
    { site: b, isEquivalent: false, seeds: survived, tests: killed },
    { site: c, isEquivalent: false, seeds: { outcome: "unreached" }, tests: survived },
    { site: d, isEquivalent: true, seeds: undefined, tests: undefined },
    { site: e, isEquivalent: false, seeds: undefined, tests: undefined },
    { site: f, isEquivalent: false, seeds: { outcome: "ended", by: "time limit", at: "1", what: "" }, tests: undefined },
    { site: g, isEquivalent: false, seeds: { ...killed, at: nameOfScenario("told-of-every-status") }, tests: undefined }
  ]

  test("of a run that came to its end is of all that is not equivalent", () => {
    const { all } = Report.summarize(judged.filter(({ site }) => site !== e))
    expect([all.counted, all.bySeeds, all.bySimulator, all.byAll]).toEqual([5, 40, 60, 80])
  })

  test("lets what was judged stand for what was not, apart from what no seed reaches", () => {
    expect(Report.summarize(judged).all).toEqual({
      name: "all",
      mutants: 7,
      equivalent: 1,
      counted: 5,
      killedBySeeds: 2,
      killedByScenarios: 1,
      killedByTests: 1,
      notReached: 1,
      survived: 0,
      bySeeds: 41.7,
      bySimulator: 62.5,
      byAll: 83.3
    })
    expect(Report.scoreOf("open", judged.filter(({ site }) => site === e)).bySeeds).toBeUndefined()
    expect(Report.scoreOf("nothing", []).bySeeds).toBeUndefined()
  })

  test("tells a folder's score also without the files that the simulator has its own in place of", () => {
    const leaf: Report.Judged = {
      site: { ...c, path: "src/journal/NodeDisk.ts" },
      isEquivalent: false,
      seeds: { outcome: "unreached" },
      tests: undefined
    }
    const beside = judged.slice(0, 2).map((each) => ({ ...each, site: { ...each.site, path: "src/journal/Scan.ts" } }))
    const elsewhere = { ...judged[0]!, site: { ...a, path: "src/engine/Book.ts" } }
    const { folders, simulated } = Report.summarize([leaf, ...beside, elsewhere])
    expect(folders.map(({ bySeeds, name }) => [name, bySeeds])).toEqual([["src/engine", 100], ["src/journal", 33.3]])
    expect(simulated.map(({ bySeeds, name }) => [name, bySeeds])).toEqual([["src/journal, simulated", 50]])
  })

  test("shows survivors with their lines, and is chosen from by key", () => {
    const text = Report.text(judged, true)
    expect(text).toContain(`${c.path}:${c.line}:${c.column} ${c.mutant.operator}, not reached\n    ${c.source}\n`)
    expect(text).toContain("1 of 7 mutants were not judged in the time: the scores are estimates")
    expect(text).not.toContain(`${a.path}:${a.line}:${a.column} ${a.mutant.operator},`)
    const file = path.join(folder, "report/a.json")
    Report.write(file, judged, {})
    const modules = Sites.modulesUnder(root, ["src/sequencer/Timers.ts"])
    const again = Selection.select(root, modules, { changed: undefined, survivorsOf: file, sample: undefined, draw: "1" })
    expect(again.flatMap(({ sites }) => sites.map(({ key }) => key))).toEqual([c.key])
  })
})

test("the whole tool judges a sample, keeps it, and has nothing left to do the second time", () => {
  // A short run under the calmest profile, in which there is one trade, and a scenario. The draw gives one mutant that the run kills, one
  // that the scenario kills, and one that neither reaches.
  const words = ["--only", "src/engine/Positions.ts", "--sample", "3", "--draw", "1664080", "--seed", "9:25", "--profile", "calm", "--jobs",
    "1", "--scenarios", "takeover-beyond-the-fund"]
  const run = (json: string): readonly [output: string, written: Report.Summary & { readonly survivors: ReadonlyArray<unknown> }] => {
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      ["dist/scripts/mutate.js", ...words, "--state", path.join(folder, "whole.jsonl"), "--json", path.join(folder, json)],
      { cwd: root, encoding: "utf8" }
    )
    expect(stderr).toBe("")
    expect(status).toBe(0)
    return [stdout, JSON.parse(fs.readFileSync(path.join(folder, json), "utf8"))]
  }
  const [, first] = run("first.json")
  expect(first.all).toMatchObject({ mutants: 3, counted: 3 })
  expect(first.all.killedBySeeds + first.all.killedByScenarios + first.survivors.length).toBe(3)
  expect(first.all.killedByScenarios).toBeGreaterThan(0)
  expect(first.all.killedBySeeds).toBeGreaterThan(0)
  expect(first.survivors.length).toBeGreaterThan(0)
  const [output, second] = run("second.json")
  expect(output).toContain("3 verdicts are known")
  expect(second).toEqual(first)
})
