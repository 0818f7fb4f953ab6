/** The histories' file: continued by the next process, and rebuilt from the journal if it is not what it should be. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import { Effect, Exit, Logger } from "effect"
import { expect, onTestFinished, test, vi } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import { HistoriesDatabase } from "../../src/readmodel/HistoriesDatabase.js"
import * as NodeHistories from "../../src/readmodel/NodeHistories.js"
import * as WorkloadIdentity from "../../src/identity/WorkloadIdentity.js"
import { VenueOver } from "../edge/VenueOver.js"

const asked = "/v1/markets/BTC-USDC-PERP/candles?timeframe=5m"

/** What may be wrong with the file, and the message about it. */
const wrongs: ReadonlyArray<readonly [what: string, spoil: (file: string) => void, said: RegExp | undefined]> = [
  ["nothing", () => {}, undefined],
  ["it is gone", (file) => fs.rmSync(file), undefined],
  ["it is no database", (file) => fs.writeFileSync(file, "what lies about ".repeat(512)), /not a database/],
  ["it is of another environment", (file) => change(file, "UPDATE place SET environment = 'staging'"), /another environment's/],
  ["it is of another journal", (file) => change(file, "UPDATE place SET digest = 'ab'"), /another journal's/],
  ["it is ahead of the journal", (file) => change(file, "UPDATE place SET sequence = 1000000"), /ahead of the journal/],
  ["it is of another version", (file) => change(file, "PRAGMA user_version = 99"), /another version's/],
  ["a table is gone", (file) => change(file, "DROP TABLE place"), /no such table: place \(SQLITE_ERROR\)/]
]

const change = (file: string, statement: string): void => {
  const database = new SqliteDatabase(file)
  database.exec(statement)
  database.close()
}

test("a file is gone on with, or set aside and made anew: the answers are the same", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "histories-"))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  const file = path.join(directory, "histories.db")
  const disk = memoryDisk()
  const start = async (nowMs: number) => {
    const logged: Array<string> = []
    const venue = new VenueOver(disk.layer, { histories: { retryMs: 100 } }, nowMs, WorkloadIdentity.layerNone, {
      histories: NodeHistories.layer(directory),
      logged: (line) => logged.push(line)
    })
    expect(Exit.isSuccess(await venue.started)).toBe(true)
    return { venue, logged }
  }
  const first = await start(1_767_225_600_000)
  for (const price of ["60000.0", "60010.0", "59990.0"]) {
    await first.venue.ask("PUT", "/v1/operator/markets/BTC-USDC-PERP/index-price", { body: { price } })
    await first.venue.pass(400)
  }
  const { candles } = (await first.venue.ask("GET", asked)).json
  expect(candles).toMatchObject([{ open: "60000.0", high: "60010.0", low: "59990.0", close: "59990.0" }])
  let nowMs = first.venue.epochMs
  expect(Exit.isSuccess(await first.venue.stop())).toBe(true)
  for (const [what, spoil, said] of wrongs) {
    fs.rmSync(`${file}.set-aside`, { force: true })
    spoil(file)
    const { logged, venue } = await start(nowMs)
    await venue.pass(600)
    if (said === undefined) expect(fs.existsSync(`${file}.set-aside`), what).toBe(false)
    else {
      expect(logged.filter((line) => line.includes("set aside") && said.test(line)), what).toHaveLength(1)
      expect(fs.existsSync(`${file}.set-aside`), what).toBe(true)
    }
    const answer = await venue.ask("GET", asked)
    expect(answer.json.candles, what).toEqual(candles)
    expect(answer.json.freshness, what).toMatchObject({ status: "fresh", degradedState: "none", backfillStatus: "live" })
    nowMs = venue.epochMs
    await venue.stop()
  }
})

test("nobody else may read it, whatever the directory's mode, nor one that an earlier version has made for everybody", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "histories-"))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  fs.chmodSync(directory, 0o755)
  const file = path.join(directory, "histories.db")
  const modes = async (): Promise<ReadonlyArray<readonly [string, string]>> => {
    const opened = Effect.flatMap(HistoriesDatabase, ({ open }) => open).pipe(
      Effect.zipRight(Effect.sync(() => fs.readdirSync(directory))),
      Effect.scoped,
      Effect.provide(NodeHistories.layer(directory))
    )
    const names = await Effect.runPromise(opened)
    return names.filter((name) => fs.existsSync(path.join(directory, name)))
      .map((name) => [name, (fs.statSync(path.join(directory, name)).mode & 0o777).toString(8)])
  }
  expect(await modes()).toContainEqual(["histories.db", "600"])
  fs.chmodSync(file, 0o644)
  fs.writeFileSync(`${file}.set-aside`, "", { mode: 0o644 })
  expect(await modes()).toEqual(expect.arrayContaining([["histories.db", "600"], ["histories.db.set-aside", "600"]]))
})

test("where a file of theirs is another user's, it is told which, and what to do", () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "histories-"))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  // A process of root's may use any file: they are opened as another user.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  if (user.uid !== undefined) fs.chownSync(directory, user.uid, user.gid)
  const opens = `import { Effect } from "effect"
import { HistoriesDatabase } from "./dist/src/readmodel/HistoriesDatabase.js"
import * as NodeHistories from "./dist/src/readmodel/NodeHistories.js"
const opened = Effect.scoped(Effect.flatMap(HistoriesDatabase, ({ open }) => open)).pipe(Effect.as("opened"), Effect.merge)
console.log(String((await Effect.runPromise(Effect.provide(opened, NodeHistories.layer(process.env.DATA_DIR)))).message))`
  const told = () =>
    execFileSync(process.execPath, ["--input-type=module", "-e", opens], { ...user, env: { DATA_DIR: directory }, encoding: "utf8" })
  const isTold = (name: string) => {
    const file = path.join(directory, name)
    fs.writeFileSync(file, "", { mode: 0o000 })
    expect(told()).toBe(`unable to open database file: ${file} cannot be read and written, and all that is in ${directory} must be the `
      + "venue's user's, as chown -R makes it\n")
    fs.rmSync(file)
  }
  isTold("histories.db")
  expect(told()).toBe("undefined\n")
  isTold("histories.db-wal")
})

test("what is set aside never takes the place of what was, and there is a limit to it that is told", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "histories-"))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  const file = path.join(directory, "histories.db")
  const setAside = Effect.flatMap(HistoriesDatabase, (database) => database.setAside).pipe(Effect.provide(NodeHistories.layer(directory)))
  const contents = (): ReadonlyArray<string> =>
    fs.readdirSync(directory).map((name) => fs.readFileSync(path.join(directory, name), "utf8")).sort((one, other) =>
      Number(one) - Number(other)
    )
  const all = Array.from({ length: 17 }, (_, index) => String(index))
  for (const content of all) {
    fs.writeFileSync(file, content)
    if (content !== "16") await Effect.runPromise(setAside)
  }
  const refused = await Effect.runPromise(Effect.flip(setAside))
  expect(refused.message).toBe("16 of them have been set aside already (histories.db.set-aside...): move these to another place")
  expect(contents()).toEqual(all)
  expect(fs.readFileSync(file, "utf8")).toBe("16")
  // Where there is none, nothing is set aside, and nothing of what was is removed.
  fs.rmSync(file)
  await Effect.runPromise(setAside)
  expect(contents()).toEqual(all.slice(0, 16))
})

/** What a start that recovered up to a sequence says. */
const toldAt = (directory: string, sequence: number) => {
  const logged: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => void logged.push(`${logLevel.label} ${String(message)}`))
  Effect.runSync(Effect.provide(NodeHistories.toldAtStart(directory, sequence), Logger.replace(Logger.defaultLogger, logger)))
  return logged
}

test("a start says that the histories are missing, or that they know records which the journal has not", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "histories-"))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  expect(toldAt(directory, 0)).toEqual([])
  expect(toldAt(directory, 7)).toEqual([expect.stringMatching(/^WARN there are no histories in .*: histories.db is made anew/)])
  const database = new SqliteDatabase(path.join(directory, "histories.db"))
  database.exec("CREATE TABLE place (sequence INTEGER); INSERT INTO place VALUES (107)")
  database.close()
  expect(toldAt(directory, 107)).toEqual([])
  expect(toldAt(directory, 7)).toEqual([
    expect.stringMatching(/^ERROR the journal ends at sequence 7, .* up to 107: 100 records are missing/)
  ])
  // With the whole journal gone.
  expect(toldAt(directory, 0)).toEqual([
    expect.stringMatching(/^ERROR the journal ends at sequence 0, .* up to 107: 107 records are missing/)
  ])
  fs.writeFileSync(path.join(directory, "histories.db"), "no database")
  expect(toldAt(directory, 7)).toEqual([])
})

test("an empty database, and one in which nothing was begun, is none for a start and for a copy", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "histories-"))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  const file = path.join(directory, "histories.db")
  const copy = path.join(directory, "copy")
  const copied = async () => [await Effect.runPromise(NodeHistories.copy(directory, copy)), fs.readdirSync(directory).includes("copy")
    && fs.readdirSync(copy).length > 0]
  const madeBy = (statements: string) => {
    fs.rmSync(file, { force: true })
    const database = new SqliteDatabase(file)
    database.exec(statements)
    database.close()
  }
  const none = /^WARN there are no histories in .*: histories.db is empty, and is made anew/
  const ways = [() => fs.writeFileSync(file, ""), () => madeBy("CREATE TABLE t (n)"), () => madeBy("CREATE TABLE place (sequence INTEGER)")]
  for (const make of ways) {
    make()
    expect(toldAt(directory, 7)).toEqual([expect.stringMatching(none)])
    expect(await copied()).toEqual([false, false])
  }
  madeBy("CREATE TABLE place (sequence INTEGER); INSERT INTO place VALUES (7)")
  expect(await copied()).toEqual([true, true])
})

test("a running venue tells that the name of its histories leads elsewhere, once a minute", async () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "histories-"))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  const file = path.join(directory, "histories.db")
  const logged: Array<string> = []
  const venue = new VenueOver(memoryDisk().layer, { histories: { retryMs: 100 } }, 1_767_225_600_000, WorkloadIdentity.layerNone, {
    histories: NodeHistories.layer(directory),
    logged: (line) => logged.push(line)
  })
  expect(Exit.isSuccess(await venue.started)).toBe(true)
  let price = 60_000
  /** Another index price, whose mark the histories take in. */
  const goOn = async () => {
    await venue.ask("PUT", "/v1/operator/markets/BTC-USDC-PERP/index-price", { body: { price: `${++price}.0` } })
    await venue.pass(1_000)
  }
  const told = () => logged.filter((line) => line.includes("was removed or replaced while it is open"))
  await goOn()
  expect(told()).toEqual([])
  fs.renameSync(file, `${file}.away`)
  await vi.waitFor(async () => {
    await goOn()
    expect(told()).toHaveLength(1)
  }, { interval: 100, timeout: 60_000 })
  for (let second = 0; second < 3; second++) {
    await Effect.runPromise(Effect.sleep(500))
    await goOn()
  }
  expect(told()).toHaveLength(1)
  expect(Exit.isSuccess(await venue.stop())).toBe(true)
})
