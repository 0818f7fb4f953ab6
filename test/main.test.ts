/**
 * How the venue as a process reports why it did not start: the exit code distinguishes a wrong setting from everything else. Which single
 * values are wrong is tested where settings are read, without a process for each.
 */
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { versions } from "../src/sequencer/Versions.js"
import { Driver, parameters } from "./engine/drive.js"
import * as Recorded from "./cli/Recorded.js"
import { line, runAll } from "./cli/Tool.js"
import { fewRows } from "./FewRows.js"
import { ofLedger } from "./LedgerSettings.js"
import * as Newer from "./journal/Newer.js"
import { unpack } from "../scripts/fixtures/Version.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-main-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/** The settings of a small venue, without those of the machine. */
const few = { PATH: process.env["PATH"] ?? "", PORT: "0", ...fewRows }

const start = (env: Readonly<Record<string, string>>, user: { readonly uid?: number; readonly gid?: number } = {}) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ["dist/venue/main.js"], {
    ...user,
    env: { ...few, DATA_DIR: directory, ...env },
    encoding: "utf8",
    timeout: 100_000
  })
  return { status, stderr, stdout }
}

/** Every file of a data directory with its content: a refused start leaves all of it as it was. */
const filesIn = (dataDir: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    fs.readdirSync(dataDir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => {
      const file = path.join(entry.parentPath, entry.name)
      return [path.relative(dataDir, file), createHash("sha256").update(fs.readFileSync(file)).digest("hex")]
    })
  )

test("a wrong setting ends with 78 and the variable's name", () => {
  const { status, stderr } = start({ SEGMENT_MIB: "1" })
  expect(stderr).toContain("SEGMENT_MIB")
  expect(status).toBe(78)
})

const testnet = {
  VENUE_ENVIRONMENT: "testnet",
  SIGNER_SECRET: "a secret of sixteen and more",
  PUBLIC_ORIGIN: "https://venue.example",
  LEDGER_URL: "http://127.0.0.1:1",
  ...ofLedger,
  TREASURY_DAILY_LIMIT: "20000"
}

test("a setting of the signer in this process is read before anything is made: the directory stays empty", () => {
  const DATA_DIR = path.join(directory, "testnet")
  const { status, stderr, stdout } = start({ ...testnet, DATA_DIR })
  expect(stdout).toContain("OPERATOR_TOKEN is not set: nobody can halt this venue")
  expect(stderr).toContain("TREASURY_WITHDRAWAL_LIMIT")
  expect(status).toBe(78)
  expect(fs.existsSync(DATA_DIR)).toBe(false)
})

test("a setting that is set to nothing ends with 78: a venue of production does not start as one of development", () => {
  const DATA_DIR = path.join(directory, "nothing")
  const { status, stderr } = start({ ...testnet, DATA_DIR, VENUE_ENVIRONMENT: "", OPERATOR_TOKEN: "", LOG_FORMAT: "json" })
  expect(stderr).toContain("VENUE_ENVIRONMENT is empty: it must have a value, or be left out")
  expect(stderr).toContain("OPERATOR_TOKEN is empty: it must have a value, or be left out")
  expect(status).toBe(78)
  expect(fs.existsSync(DATA_DIR)).toBe(false)
})

test("a log that nobody reads any more costs lines, and the venue stops in good order", async () => {
  const DATA_DIR = path.join(directory, "unread")
  const venue = spawn(process.execPath, ["dist/venue/main.js"], {
    env: { ...few, DATA_DIR },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const ended = new Promise<number | null>((resolve) => venue.on("exit", resolve))
  await new Promise((resolve) => venue.stdout.once("data", resolve))
  venue.stdout.destroy()
  venue.stderr.destroy()
  await expect.poll(() => fs.existsSync(path.join(DATA_DIR, "journal")), { interval: 20 }).toBe(true)
  venue.kill("SIGTERM")
  expect(await ended).toBe(0)
  expect(fs.readdirSync(path.join(DATA_DIR, "snapshots")).filter((name) => name.endsWith(".snap")).length).toBe(1)
})

test("a stop before it has recovered ends with 1 and says so: nothing was written, so that it depends on the stop before who can go on", () => {
  const DATA_DIR = path.join(directory, "early")
  // It receives SIGTERM while it takes the lock, before it has read anything.
  const asks = `import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
const { openSync } = fs
fs.openSync = (file, ...how) => {
  if (String(file).endsWith("lock.db")) process.kill(process.pid, "SIGTERM")
  return openSync(file, ...how)
}
syncBuiltinESMExports()`
  const { status, stderr } = start({ DATA_DIR, NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(asks)}` })
  expect(stderr).toContain("venue: stopped before it had recovered: nothing was decided, and neither a record nor a snapshot was written")
  expect(stderr).toContain("another version where the stop before had ended with 0")
  expect(status).toBe(1)
})

test("a data directory that another process holds ends with 1 and says so", () => {
  const holder = new SqliteDatabase(path.join(directory, "lock.db"))
  holder.exec("BEGIN EXCLUSIVE")
  // Names only: to read the lock's file would drop the lock.
  const names = () => fs.readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile()).map(({ name }) => name)
  const before = names()
  const { status, stderr } = start({})
  expect(names()).toEqual(before)
  holder.close()
  expect(stderr).toContain(`works on the data directory ${directory}`)
  expect(stderr).toMatch(/venue: another process(?: \(process [0-9]+.*\))? works/)
  expect(stderr).not.toContain("lock.db")
  expect(status).toBe(1)
})

test.each(["/nowhere/markets.json", "package.json"])("MARKETS_FILE=%s is refused with 78 and the variable's name", (value) => {
  const { status, stderr } = start({ MARKETS_FILE: value })
  expect(stderr).toContain(`the markets file ${value} (MARKETS_FILE) is invalid: `)
  expect(status).toBe(78)
})

test("an address that cannot be listened on names its settings", async () => {
  const taken = net.createServer()
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve))
  const { port } = taken.address() as net.AddressInfo
  const { status, stderr } = start({ PORT: String(port), DATA_DIR: path.join(directory, "deaf") })
  await new Promise((resolve) => taken.close(resolve))
  expect(stderr).toMatch(/cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*; HOST and PORT say where it is to listen/)
  expect(status).toBe(1)
})

test("a data directory that is a file is refused with 78, its name and the reason", () => {
  const DATA_DIR = path.join(directory, "file")
  fs.writeFileSync(DATA_DIR, "")
  const { status, stderr } = start({ DATA_DIR })
  expect(stderr).toMatch(/DATA_DIR is \S+file\\": it, or what is above it, is no directory: EEXIST/)
  expect(status).toBe(78)
})

test("a file of the data directory that the venue's user cannot use is refused with 78: a restart could not use it either", () => {
  const DATA_DIR = path.join(directory, "of-others")
  fs.mkdirSync(DATA_DIR)
  // A process of root's may use any file: it is started as another user.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  if (user.uid !== undefined) {
    fs.chmodSync(directory, 0o755)
    fs.chownSync(DATA_DIR, user.uid, user.gid)
  }
  const unusable = ["lock.db", "signer-secret", "signer", "operator-token", "ledger.sqlite"].map((name) => [name, 0o000] as const)
  // A lock that is taken on a file that can only be read would exclude nobody.
  for (const [name, mode] of [...unusable, ["lock.db", 0o444] as const]) {
    const file = path.join(DATA_DIR, name)
    // The start before may have made it for itself.
    fs.rmSync(file, { recursive: true, force: true })
    fs.writeFileSync(file, "", { mode })
    const { status, stderr } = start({ DATA_DIR }, user)
    expect(stderr).toMatch(new RegExp(`DATA_DIR is \\S+of-others.*${name} cannot be read and written, .*chown -R`))
    expect(status).toBe(78)
    fs.rmSync(file)
  }
})

test("a file that cannot be opened for another reason is nobody else's", () => {
  const DATA_DIR = path.join(directory, "not-of-others")
  fs.mkdirSync(path.join(DATA_DIR, "lock.db"), { recursive: true })
  const { status, stderr } = start({ DATA_DIR })
  expect(stderr).toContain("lock of lock.db failed: SQLITE_CANTOPEN")
  expect(stderr).not.toContain("chown")
  expect(status).toBe(1)
})

test("a lock's file to which something was written is refused with 78 and the way on", () => {
  const DATA_DIR = path.join(directory, "spoiled")
  fs.mkdirSync(DATA_DIR)
  const lock = path.join(DATA_DIR, "lock.db")
  fs.writeFileSync(lock, "12345\n")
  const { status, stderr } = start({ DATA_DIR })
  expect(stderr).toMatch(
    /DATA_DIR is \S+spoiled.*lock of lock\.db failed: something was written to it.*\(truncate -s 0\), and do not remove it/
  )
  expect(stderr).not.toMatch(/SQLITE|chown/)
  expect([status, fs.readFileSync(lock, "utf8"), fs.existsSync(path.join(DATA_DIR, "journal"))]).toEqual([78, "12345\n", false])
})

test.each([
  ["operator-token", "", "has 0 characters and must have at least 16"],
  ["operator-token", "of sixteen and more", "has 19 characters and must be visible ASCII characters without spaces"],
  ["signer-secret", "fifteen letters", "has 15 characters and must have at least 16"]
])("a kept secret that is none is refused with 78 and left as it is: %s with %j", (name, kept, fault) => {
  const DATA_DIR = path.join(directory, "secrets")
  const file = path.join(DATA_DIR, name)
  fs.rmSync(DATA_DIR, { recursive: true, force: true })
  fs.mkdirSync(DATA_DIR)
  fs.writeFileSync(file, kept)
  const { status, stderr } = start({ DATA_DIR })
  expect(stderr).toContain(`secrets\\": the secret in ${name} ${fault}`)
  expect([status, fs.readFileSync(file, "utf8")]).toEqual([78, kept])
})

test("workloads' keys that are not there are refused with 78 and the variable's name", () => {
  const { status, stderr } = start({
    WORKLOAD_JWKS: "/nowhere/jwks.json",
    WORKLOAD_ISSUER: "https://platform.example",
    WORKLOAD_AUDIENCE: "perpetuum",
    WORKLOAD_ACCOUNTS: "maker-1=acc_1s"
  })
  expect(stderr).toContain("WORKLOAD_JWKS")
  expect(status).toBe(78)
})

describe("the index feed", () => {
  const tape = (name: string, text: string): string => {
    const file = path.join(directory, name)
    fs.writeFileSync(file, text)
    return file
  }

  test.each<readonly [string, Readonly<Record<string, string>>, string]>([
    ["a tape that is not there", { INDEX_FEED: "tape", INDEX_TAPE: "/nowhere/tape.csv" }, "INDEX_TAPE"],
    ["a bad line", { INDEX_FEED: "tape", INDEX_TAPE: tape("bad.csv", "0,BTC-USDC-PERP,1\n1,BTC-USDC-PERP,0\n") }, "bad.csv: line 2"],
    ["an exchange that there is not", { INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken,mtgox9" }, "the package ccxt knows no mtgox9"]
  ])("is refused with 78: %s", (_, env, said) => {
    const { status, stderr } = start(env)
    expect(stderr).toContain("INDEX_")
    expect(stderr).toContain(said)
    expect(status).toBe(78)
  })
})

describe("a data directory that refuses the start stays as it is", () => {
  const recording = new Recorded.RecordingEngine()
  const bySnapshot = path.join(directory, "snapshot")
  const byReplay = path.join(directory, "replay")

  beforeAll(async () => {
    const driver = new Driver(recording)
    driver.send({ kind: "OpenVenue", environment: "development", ...versions })
    const market = driver.market(parameters("AAA"), 1000)
    const account = driver.account(1_000_000_000_000)
    while (recording.occupancy.orders < 1_100) {
      driver.cancel(account, driver.place(account, { market, priceAtoms: 900, quantityAtoms: 10 }).orderNumber)
    }
    await Recorded.write(recording, byReplay)
    const { blocks } = await Recorded.write(recording, bySnapshot)
    await Recorded.saveSnapshot(bySnapshot, blocks.at(-1)!, recording.state)
  })

  test("where it is of another environment, and where its journal ends before its snapshots", async () => {
    const DATA_DIR = path.join(directory, "production")
    const production = new Recorded.RecordingEngine()
    new Driver(production).send({ kind: "OpenVenue", environment: "production", ...versions })
    const { blocks } = await Recorded.write(production, DATA_DIR)
    const refused = (words: string) => {
      const before = filesIn(DATA_DIR)
      const { status, stderr } = start({ DATA_DIR })
      expect(stderr).toContain(words)
      expect(filesIn(DATA_DIR)).toEqual(before)
      return status
    }
    expect(refused("belongs to a production venue")).toBe(78)
    await Recorded.saveSnapshot(DATA_DIR, { ...blocks.at(-1)!, lastSequence: recording.sequence }, recording.state)
    refused("shows that more was durable")
  })

  const afterThousand = (): number => 1_001
  test.each<readonly [string, string, () => number]>([
    ["ORDER_CAPACITY", "snapshot", () => recording.occupancy.orders],
    ["ORDER_CAPACITY", "replay", afterThousand],
    ["IDEMPOTENCY_CAPACITY", "snapshot", () => recording.occupancy.idempotencyEntries],
    ["IDEMPOTENCY_CAPACITY", "replay", afterThousand]
  ])("where the journal remembers more than the settings have room for, told by %s and what it must be at least (%s)",
    (setting, from, needed) => {
      const DATA_DIR = path.join(directory, from)
      const before = filesIn(DATA_DIR)
      const { status, stderr } = start({ DATA_DIR, [setting]: "1000" })
      expect(filesIn(DATA_DIR)).toEqual(before)
      expect(stderr).toContain(`${setting} is 1000, and the `)
      expect(stderr).toContain(`or at least to ${needed()}`)
      expect(stderr).not.toContain("    at ")
      expect(status).toBe(78)
    })

  test("and replay says the same of both settings, over either", async () => {
    const asked = ["ORDER_CAPACITY", "IDEMPOTENCY_CAPACITY"].flatMap((setting) =>
      [bySnapshot, byReplay].map((data) => line("dist/tools/replay.js", ["--data", data, "--verify"], { [setting]: "1000" }))
    )
    const results = await runAll(asked)
    expect(results.map(({ code, stderr }) => [code, /^(?:.* )?(\w+ is 1000), and the /m.exec(stderr)?.[1]])).toEqual(
      asked.map(({ environment }) => [3, `${Object.keys(environment)[0]} is 1000`])
    )
  })
})

describe("a data directory of another version ends with 65 and says which", () => {
  const kept = (name: string): string => {
    const into = path.join(directory, name)
    if (!fs.existsSync(into)) unpack(path.join("fixtures/versions", name, "data"), into)
    return into
  }
  test("records that version 0.1.0 left undecided: nothing is changed", () => {
    const DATA_DIR = kept("rules-1-crashed")
    const before = filesIn(DATA_DIR)
    const { status, stderr } = start({ DATA_DIR })
    const { "lock.db": _, ...left } = filesIn(DATA_DIR)
    expect(left).toEqual(before)
    expect(stderr).toMatch(
      /^\{"time":"[^"]+","level":"fatal","message":"venue: the records 41 to 48 were written by version 0\.1\.0 \(rules 1\)/m
    )
    expect(stderr).toContain("start that version on this directory, stop it gracefully, then start this one")
    expect(stderr).not.toMatch(/ {4}at |cut/)
    expect(status).toBe(65)
  })

  test("a block, and a segment, of a newer format", () => {
    const DATA_DIR = kept("rules-1")
    const file = path.join(DATA_DIR, "journal/00000000000000000001.seg")
    const bytes = fs.readFileSync(file)
    for (const made of [Newer.lastBlock(bytes), Newer.segment(bytes)]) {
      fs.writeFileSync(file, made)
      const { status, stderr } = start({ DATA_DIR })
      expect(stderr).toMatch(/is written in format \d+, and this program reads up to \d: start it with the newer version/)
      expect(stderr).not.toMatch(/ {4}at |cut|corrupt/)
      expect(status).toBe(65)
      expect(fs.readFileSync(file).equals(made)).toBe(true)
    }
    fs.writeFileSync(file, bytes)
  })
})
