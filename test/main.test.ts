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
import { gathering, line, type Line, type Result, runAll } from "./cli/Tool.js"
import { fewRows } from "./FewRows.js"
import { ofLedger } from "./LedgerSettings.js"
import * as Newer from "./journal/Newer.js"
import { unpack } from "../scripts/fixtures/Version.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-main-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/** The settings of a small venue, without those of the machine. */
const few = { PATH: process.env["PATH"] ?? "", PORT: "0", ...fewRows }

const start = (env: Readonly<Record<string, string>>) => {
  const { status, stderr, stdout } = spawnSync(process.execPath, ["dist/venue/main.js"], {
    env: { ...few, DATA_DIR: directory, ...env },
    encoding: "utf8",
    timeout: 100_000
  })
  return { status, stderr, stdout }
}

/**
 * Lines of programs, nearly all starts that are refused, one after another in one process; the tests below ask for what came of theirs. That
 * the venue's own process, as it is served, ends with such a code is shown by those tests that start it.
 */
const { asking, run } = gathering()
beforeAll(run)
const lineOf = (program: string, env: Readonly<Record<string, string>>): Line => line(program, [], { ...few, DATA_DIR: directory, ...env })
const refused = (env: Readonly<Record<string, string>>): () => Result => asking(lineOf("dist/src/main.js", env))

/** A data directory with something in it. */
const directoryWith = (name: string, file: string, text: string): string => {
  const made = path.join(directory, name)
  fs.mkdirSync(made)
  fs.writeFileSync(path.join(made, file), text)
  return made
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

describe("a setting", () => {
  const inTestnet = path.join(directory, "testnet")
  const ofSigner = refused({ ...testnet, DATA_DIR: inTestnet })
  test("of the signer in this process is read before anything is made: the directory stays empty", () => {
    const { code, stderr, stdout } = ofSigner()
    expect(stdout).toContain("OPERATOR_TOKEN is not set: nobody can halt this venue")
    expect(stderr).toContain("TREASURY_WITHDRAWAL_LIMIT")
    expect(code).toBe(78)
    expect(fs.existsSync(inTestnet)).toBe(false)
  })

  const inNothing = path.join(directory, "nothing")
  const empty = refused({ ...testnet, DATA_DIR: inNothing, VENUE_ENVIRONMENT: "", OPERATOR_TOKEN: "", LOG_FORMAT: "json" })
  test("that is set to nothing ends with 78: a venue of production does not start as one of development", () => {
    const { code, stderr } = empty()
    expect(stderr).toContain("VENUE_ENVIRONMENT is empty: it must have a value, or be left out")
    expect(stderr).toContain("OPERATOR_TOKEN is empty: it must have a value, or be left out")
    expect(code).toBe(78)
    expect(fs.existsSync(inNothing)).toBe(false)
  })

  test.each(
    ["/nowhere/markets.json", "package.json"].map((value) => [value, refused({ MARKETS_FILE: value })] as const)
  )("MARKETS_FILE=%s is refused with 78 and the variable's name", (value, said) => {
    const { code, stderr } = said()
    expect(stderr).toContain(`the markets file ${value} (MARKETS_FILE) is invalid: `)
    expect(code).toBe(78)
  })

  const withoutKeys = refused({
    WORKLOAD_JWKS: "/nowhere/jwks.json",
    WORKLOAD_ISSUER: "https://platform.example",
    WORKLOAD_AUDIENCE: "perpetuum",
    WORKLOAD_ACCOUNTS: "maker-1=acc_1s"
  })
  test("of workloads' keys that are not there is refused with 78 and the variable's name", () => {
    const { code, stderr } = withoutKeys()
    expect(stderr).toContain("WORKLOAD_JWKS")
    expect(code).toBe(78)
  })

  const tape = (name: string, text: string): string => {
    const file = path.join(directory, name)
    fs.writeFileSync(file, text)
    return file
  }
  test.each(([
    ["a tape that is not there", { INDEX_FEED: "tape", INDEX_TAPE: "/nowhere/tape.csv" }, "INDEX_TAPE"],
    ["a bad line", { INDEX_FEED: "tape", INDEX_TAPE: tape("bad.csv", "0,BTC-USDC-PERP,1\n1,BTC-USDC-PERP,0\n") }, "bad.csv: line 2"],
    ["an exchange that there is not", { INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken,mtgox9" }, "the package ccxt knows no mtgox9"]
  ] as const).map(([what, env, words]) => [what, refused(env), words] as const))(
    "of the index feed is refused with 78: %s",
    (_, said, words) => {
      const { code, stderr } = said()
      expect(stderr).toContain("INDEX_")
      expect(stderr).toContain(words)
      expect(code).toBe(78)
    }
  )
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

test("an address that cannot be listened on names its settings", async () => {
  const taken = net.createServer()
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve))
  const { port } = taken.address() as net.AddressInfo
  const { status, stderr } = start({ PORT: String(port), DATA_DIR: path.join(directory, "deaf") })
  await new Promise((resolve) => taken.close(resolve))
  expect(stderr).toMatch(/cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*; HOST and PORT say where it is to listen/)
  expect(status).toBe(1)
})

describe("a data directory", () => {
  const notADirectory = path.join(directory, "file")
  fs.writeFileSync(notADirectory, "")
  const ofFile = refused({ DATA_DIR: notADirectory })
  test("that is a file is refused with 78, its name and the reason", () => {
    const { code, stderr } = ofFile()
    expect(stderr).toMatch(/DATA_DIR is \S+file\\": it, or what is above it, is no directory: EEXIST/)
    expect(code).toBe(78)
  })

  test("with a file that the venue's user cannot use is refused with 78: a restart could not use it either", async () => {
    // A process of root's may use any file: it is started as another user.
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
    const unusable = ["lock.db", "signer-secret", "signer", "operator-token", "ledger.sqlite"].map((name) => [name, 0o000] as const)
    // A lock that is taken on a file that can only be read would exclude nobody.
    const files = [...unusable, ["lock.db", 0o444] as const]
    const directories = files.map(([name, mode], at) => {
      const made = directoryWith(`of-others-${at}`, name, "")
      fs.chmodSync(path.join(made, name), mode)
      if (user.uid !== undefined) fs.chownSync(made, user.uid, user.gid)
      return made
    })
    if (user.uid !== undefined) fs.chmodSync(directory, 0o755)
    const results = await runAll(directories.map((DATA_DIR) => lineOf("dist/venue/main.js", { DATA_DIR })), user)
    for (const [at, [name]] of files.entries()) {
      expect(results[at]!.stderr).toMatch(new RegExp(`DATA_DIR is \\S+of-others.*${name} cannot be read and written, .*chown -R`))
      expect(results[at]!.code).toBe(78)
    }
  })

  const withFolder = path.join(directory, "not-of-others")
  fs.mkdirSync(path.join(withFolder, "lock.db"), { recursive: true })
  const ofFolder = refused({ DATA_DIR: withFolder })
  test("with a file that cannot be opened for another reason is nobody else's", () => {
    const { code, stderr } = ofFolder()
    expect(stderr).toContain("lock of lock.db failed: SQLITE_CANTOPEN")
    expect(stderr).not.toContain("chown")
    expect(code).toBe(1)
  })

  const spoiled = directoryWith("spoiled", "lock.db", "12345\n")
  const ofSpoiled = refused({ DATA_DIR: spoiled })
  test("with a lock's file to which something was written is refused with 78 and the way on", () => {
    const { code, stderr } = ofSpoiled()
    expect(stderr).toMatch(
      /DATA_DIR is \S+spoiled.*lock of lock\.db failed: something was written to it.*\(truncate -s 0\), and do not remove it/
    )
    expect(stderr).not.toMatch(/SQLITE|chown/)
    const left = fs.readFileSync(path.join(spoiled, "lock.db"), "utf8")
    expect([code, left, fs.existsSync(path.join(spoiled, "journal"))]).toEqual([78, "12345\n", false])
  })

  test.each(([
    ["operator-token", "", "has 0 characters and must have at least 16"],
    ["operator-token", "of sixteen and more", "has 19 characters and must be visible ASCII characters without spaces"],
    ["signer-secret", "fifteen letters", "has 15 characters and must have at least 16"]
  ] as const).map(([name, kept, fault], at) => {
    const DATA_DIR = directoryWith(`secrets-${at}`, name, kept)
    return [name, kept, fault, DATA_DIR, refused({ DATA_DIR })] as const
  }))("with a kept secret that is none is refused with 78 and left as it is: %s with %j", (name, kept, fault, DATA_DIR, said) => {
    const { code, stderr } = said()
    expect(stderr).toContain(`secrets-${DATA_DIR.at(-1)}\\": the secret in ${name} ${fault}`)
    expect([code, fs.readFileSync(path.join(DATA_DIR, name), "utf8")]).toEqual([78, kept])
  })
})

/** A venue's records as far as more orders have gone than a thousand, on the disk with a snapshot and without one. */
const remembering = async () => {
  const recording = new Recorded.RecordingEngine()
  const driver = new Driver(recording)
  driver.send({ kind: "OpenVenue", environment: "development", ...versions })
  const market = driver.market(parameters("AAA"), 1000)
  const account = driver.account(1_000_000_000_000)
  while (recording.occupancy.orders < 1_100) {
    driver.cancel(account, driver.place(account, { market, priceAtoms: 900, quantityAtoms: 10 }).orderNumber)
  }
  const [bySnapshot, byReplay] = ["snapshot", "replay"].map((name) => path.join(directory, name)) as [string, string]
  await Recorded.write(recording, byReplay)
  const { blocks } = await Recorded.write(recording, bySnapshot)
  await Recorded.saveSnapshot(bySnapshot, blocks.at(-1)!, recording.state)
  return { byReplay, bySnapshot, occupancy: recording.occupancy }
}
const { byReplay, bySnapshot, occupancy } = await remembering()

/** Directories of a venue of production: as it left it, and with a snapshot behind its last record. */
const inProduction = async () => {
  const recording = new Recorded.RecordingEngine()
  new Driver(recording).send({ kind: "OpenVenue", environment: "production", ...versions })
  const [whole, endsBefore] = ["production", "ends-before"].map((name) => path.join(directory, name)) as [string, string]
  await Recorded.write(recording, whole)
  const { blocks } = await Recorded.write(recording, endsBefore)
  await Recorded.saveSnapshot(endsBefore, { ...blocks.at(-1)!, lastSequence: recording.sequence + 1 }, recording.state)
  return { whole, endsBefore }
}
const { endsBefore, whole } = await inProduction()

describe("a data directory that refuses the start stays as it is", () => {
  const remembered = [bySnapshot, byReplay]
  const before = [...remembered, whole, endsBefore].map(filesIn)
  const stay = (directories: ReadonlyArray<string>, from: number): void =>
    expect(directories.map(filesIn)).toEqual(before.slice(from, from + 2))

  const ofAnother = refused({ DATA_DIR: whole })
  const ofMore = refused({ DATA_DIR: endsBefore })
  test("where it is of another environment, and where its journal ends before its snapshots", () => {
    stay([whole, endsBefore], 2)
    expect([ofAnother().code, ofAnother().stderr]).toEqual([78, expect.stringContaining("belongs to a production venue")])
    expect(ofMore().stderr).toContain("shows that more was durable")
  })

  const capacities = [["ORDER_CAPACITY", occupancy.orders], ["IDEMPOTENCY_CAPACITY", occupancy.idempotencyEntries]] as const
  const tooSmall = capacities.flatMap(([setting, needed]) =>
    remembered.map((data) => ({
      setting,
      needed: data === bySnapshot ? needed : 1_001,
      start: refused({ DATA_DIR: data, [setting]: "1000" }),
      replay: asking(line("dist/tools/replay.js", ["--data", data, "--verify"], { [setting]: "1000" })),
      from: path.basename(data)
    }))
  )
  test.each(tooSmall)("where the journal remembers more than $setting has room for: it and what it must be at least are told ($from)",
    ({ needed, replay, setting, start: started }) => {
      stay(remembered, 0)
      const { code, stderr } = started()
      expect(stderr).toContain(`${setting} is 1000, and the `)
      expect(stderr).toContain(`or at least to ${needed}`)
      expect(stderr).not.toContain("    at ")
      expect(code).toBe(78)
      // Replay says the same.
      expect([replay().code, /^(?:.* )?(\w+ is 1000), and the /m.exec(replay().stderr)?.[1]]).toEqual([3, `${setting} is 1000`])
    })
})

describe("a data directory of another version ends with 65 and says which", () => {
  test("records that version 0.1.0 left undecided: nothing is changed", () => {
    const DATA_DIR = path.join(directory, "rules-1-crashed")
    unpack("fixtures/versions/rules-1-crashed/data", DATA_DIR)
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

  test.each(([["a block", Newer.lastBlock], ["a segment", Newer.segment]] as const).map(([what, newer]) => {
    const DATA_DIR = path.join(directory, `newer ${what}`)
    unpack("fixtures/versions/rules-1/data", DATA_DIR)
    const file = path.join(DATA_DIR, "journal/00000000000000000001.seg")
    const bytes = newer(fs.readFileSync(file))
    fs.writeFileSync(file, bytes)
    return { what, bytes, file, said: refused({ DATA_DIR }) }
  }))("$what of a newer format", ({ bytes, file, said }) => {
    const { code, stderr } = said()
    expect(stderr).toMatch(/is written in format \d+, and this program reads up to \d: start it with the newer version/)
    expect(stderr).not.toMatch(/ {4}at |cut|corrupt/)
    expect(code).toBe(65)
    expect(fs.readFileSync(file).equals(bytes)).toBe(true)
  })
})
