/**
 * Every file and setting that Dockerfile, unit and operators' page name exists, and is what `npm start` uses. That the image has everything
 * the program reads is tested by `Running.test.ts`, which runs it from there.
 */
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { expect, test } from "vitest"
import * as Contract from "../../src/edge/Contract.js"
import { stopMsForTables } from "../../src/sequencer/Writer.js"
import { connectionsWithin } from "../../src/edge/http/NodeDescriptors.js"

const text = (file: string): string => fs.readFileSync(file, "utf8")

const { scripts } = JSON.parse(text("package.json")) as { readonly scripts: Readonly<Record<string, string>> }

/** The variables and the command line with which `npm start` runs the venue. */
const [, tunables, command] = /exec env (\S+) (node .*)$/.exec(scripts["start"]!)!

/** A file's lines without comments, continued lines joined. */
const lines = (file: string): ReadonlyArray<string> =>
  text(file).replaceAll("\\\n", " ").split("\n").map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"))

const docker = lines("Dockerfile")
const unit = lines("scripts/service/perpetuum.service")

const signersUnit = lines("scripts/service/perpetuum-signer.service")

/** The values of a setting in a unit. */
const saidIn = (unit: ReadonlyArray<string>, name: string): ReadonlyArray<string> =>
  unit.flatMap((line) => line.startsWith(`${name}=`) ? [line.slice(name.length + 1)] : [])
const unitSays = (name: string): ReadonlyArray<string> => saidIn(unit, name)

/** The settings of the table in CONFIGURATION. */
const documented: ReadonlySet<string> = new Set(
  [...text("CONFIGURATION.md").matchAll(/^\| (`[A-Z_`, ]+`) \|/gm)].flatMap(([, names]) => names!.match(/[A-Z_]+/g)!)
)

test("the image runs what `npm start` runs", () => {
  const entry = docker.find((line) => line.startsWith("ENTRYPOINT"))!
  expect((JSON.parse(entry.slice("ENTRYPOINT".length)) as ReadonlyArray<string>).join(" ")).toBe(command)
  const env = docker.find((line) => line.startsWith("ENV"))!
  expect(env).toContain(tunables)
})

test("nothing that the image is made of is left out of what it is built from", () => {
  const ignored = lines(".dockerignore")
  expect(ignored).toContain("!fixtures/markets.json")
  expect(ignored.filter((name) => ["src", "sim", "test", "scripts", "package.json", "package-lock.json", "tsconfig.json"].includes(name)))
    .toEqual([])
})

test("the image runs under another user than root, writes to one directory, and is asked for a route that there is", () => {
  expect(docker.findLast((line) => line.startsWith("USER"))).toBe("USER node")
  const volume = docker.find((line) => line.startsWith("VOLUME"))!.split(" ")[1]!
  expect(docker.find((line) => line.startsWith("ENV"))).toContain(`DATA_DIR=${volume}`)
  const health = /http:\/\/127\.0\.0\.1:\$\{process\.env\.PORT\}(\/\w+)/.exec(docker.find((line) => line.startsWith("HEALTHCHECK"))!)![1]!
  expect(Contract.endpoints.find(({ path }) => path === health)).toMatchObject({ method: "GET", access: "system" })
})

test("the unit runs what `npm start` runs, where its program lies, and lets it write to its data alone", () => {
  const [directory] = unitSays("WorkingDirectory")
  expect(unitSays("ExecStart")).toEqual([`/usr/bin/${command!.replace("dist/", `${directory}/dist/`)}`])
  expect(fs.existsSync(command!.split(" ").at(-1)!)).toBe(true)
  expect(unitSays("Environment")).toContain(tunables)
  const dataDir = unitSays("Environment").find((line) => line.startsWith("DATA_DIR="))!.slice("DATA_DIR=".length)
  expect([unitSays("ReadWritePaths"), unitSays("ProtectSystem"), unitSays("NoNewPrivileges")]).toEqual([[dataDir], ["strict"], ["yes"]])
})

test("the unit's limits fit the venue's own", () => {
  const main = text("src/main.ts")
  const constant = (name: string): number => Number(new RegExp(`^const ${name} = ([0-9_]+)$`, "m").exec(main)![1]!.replaceAll("_", ""))
  const left = ["exitOtherVersion", "exitToBeLookedAt", "exitConfig"].map(constant)
  expect(unitSays("RestartPreventExitStatus")).toEqual([left.join(" ")])
  for (const code of left) expect(text("OPERATIONS.md")).toContain(`| ${code} | `)
  expect(text("OPERATIONS.md")).toContain(`${left.slice(0, -1).join(", ")} and ${left.at(-1)} (`)
  const full = stopMsForTables({ occupancy: { orders: 16_000_000, idempotencyEntries: 16_000_000, accounts: 1_000_000 } })
  const mostSeconds = (constant("stopMs") + constant("fileMs") + full) / 1_000
  expect(Number(unitSays("TimeoutStopSec")[0])).toBeGreaterThan(mostSeconds)
  expect(Number(/--stop-timeout (\d+)/.exec(text("OPERATIONS.md"))![1])).toBeGreaterThan(mostSeconds)
  expect(Number(/--stop-timeout (\d+)/.exec(text("Dockerfile"))![1])).toBeGreaterThan(mostSeconds)
  const connections = Number(
    /between\("CONNECTION_LIMIT", 16, 1_000_000, ([0-9_]+)\)/.exec(text("src/VenueConfig.ts"))![1]!.replaceAll("_", "")
  )
  expect(connectionsWithin(connections, Number(unitSays("LimitNOFILE")[0]))).toBe(connections)
})

test("the signer's unit runs what `npm run signer` runs, and is as closed as the venue's", () => {
  const [, program] = /exec node (\S+)$/.exec(scripts["signer"]!)!
  const [directory] = saidIn(signersUnit, "WorkingDirectory")
  const [started] = saidIn(signersUnit, "ExecStart")
  expect(started!.startsWith(`/usr/bin/node ${directory}/${program} `)).toBe(true)
  expect(saidIn(signersUnit, "ReadWritePaths")).toEqual([/--data (\S+)/.exec(started!)![1]])
  const itself = ["User", "Group", "WorkingDirectory", "EnvironmentFile", "ExecStart", "ReadWritePaths", "StateDirectory", "Description"]
  const ofVenue = ["DATA_DIR=", "GLIBC_TUNABLES=", "LimitNOFILE=", "RestartPreventExitStatus=", "TimeoutStopSec="]
  const closed = unit.filter((line) => !itself.some((name) => line.startsWith(`${name}=`)) && !ofVenue.some((name) => line.includes(name)))
  expect(closed.length).toBeGreaterThan(30)
  expect(closed.filter((line) => !signersUnit.includes(line))).toEqual([])
  const codes = text("src/cli/signer.ts")
  expect(saidIn(signersUnit, "RestartPreventExitStatus")).toEqual(["2 3"])
  expect(codes).toContain("2: \"the keys cannot be opened\"")
  expect(codes).toContain("3: \"the command line or a setting is wrong\"")
})

test("a start that is refused for what the directory holds ends with the code that the service is not started again behind", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-looked-at-"))
  try {
    // A file named like a snapshot, in a directory without a journal.
    fs.mkdirSync(path.join(directory, "snapshots"))
    fs.writeFileSync(path.join(directory, "snapshots", "00000000000000999999.snap"), "not a snapshot")
    const { code, said } = await new Promise<{ readonly code: unknown; readonly said: string }>((resolve) =>
      execFile(process.execPath, ["dist/venue/main.js"], { env: { DATA_DIR: directory, PORT: "0" } }, (error, _, said) =>
        resolve({ code: error?.code, said }))
    )
    expect(said).toContain("shows that there were some: put them back from a backup")
    expect(code).toBe(70)
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
})

test("a stop has longer the more is remembered, from a million of orders, keys and accounts on", () => {
  const rows = (orders: number, idempotencyEntries: number, accounts: number): number =>
    stopMsForTables({ occupancy: { orders, idempotencyEntries, accounts } })
  expect([rows(0, 0, 0), rows(499_999, 500_000, 0), rows(500_000, 499_999, 1), rows(1_200_000, 1_200_000, 50_000)])
    .toEqual([0, 0, 10_000, 20_000])
})

test("the sample of settings has its comments on lines of their own, where both of its readers know them", () => {
  const blocks = [...text("OPERATIONS.md").matchAll(/# (?:venue|signer)\.env: [^\n]*\n(.*?)```/gs)].map(([, block]) => block!)
  expect(blocks).toHaveLength(2)
  expect(blocks.flatMap((block) => block.split("\n")).filter((line) => !line.startsWith("#") && line.includes("#"))).toEqual([])
})

test("the table of CONFIGURATION has the settings that the program reads, and no others; operators are told of none besides", () => {
  const files = [...fs.readdirSync("src").filter((name) => /(?:Config|Setting)\.ts$/.test(name)), "observe/NodeLog.ts"]
  const read = new Set(files.flatMap((file) => [...text(`src/${file}`).matchAll(/[([]"([A-Z][A-Z_]+)"/g)].map(([, name]) => name!)))
  // Node's own are read by Node.
  expect([...read].sort()).toEqual([...documented].filter((name) => !name.startsWith("NODE_")).sort())
  const told = [...text("OPERATIONS.md").matchAll(/^([A-Z][A-Z_]+)=/gm)].map(([, name]) => name!)
  expect(told.length).toBeGreaterThan(5)
  expect(told.filter((name) => !documented.has(name))).toEqual([])
})

test("every metric is explained to operators", () => {
  const sources = fs.readdirSync("src", { encoding: "utf8", recursive: true }).filter((name) => name.endsWith(".ts"))
  const metrics = new Set(sources.flatMap((file) => text(`src/${file}`).match(/(?<=")venue_[a-z_]+(?=")/g) ?? []))
  expect(metrics.size).toBeGreaterThan(80)
  const told = `${text("CONFIGURATION.md")}${text("OPERATIONS.md")}`
  expect([...metrics].filter((name) => !new RegExp(`\\b${name}\\b`).test(told))).toEqual([])
})

test("what the operators' page links to and runs is there", () => {
  const page = text("OPERATIONS.md")
  for (const [, file] of page.matchAll(/\]\(([A-Za-z][\w./-]*)/g)) expect(fs.existsSync(file!), file).toBe(true)
  for (const [file] of page.matchAll(/\b(?:scripts|test)\/[\w./-]*\w/g)) expect(fs.existsSync(file), file).toBe(true)
  for (const [, name] of page.matchAll(/npm run (\w+)/g)) expect(scripts, name).toHaveProperty(name!)
  for (const linked of ["CONFIGURATION.md", "OPERATIONS.md"]) expect(text("README.md")).toContain(`](${linked})`)
})
