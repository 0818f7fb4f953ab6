/**
 * Drives the real server at full load over HTTP, kills it with SIGKILL again and again, starts it over the same
 * data, and holds what it then says against what clients had been told. The load is placements for the most part,
 * with cancels, batches, amendments and cancel-alls of both families mixed in. After every kill:
 *
 *   - what was acknowledged stands, entry by entry as told, and the same key gets the same bytes again
 *   - what was open at the kill was done wholly or not at all, and sending it again does it once, not twice
 *   - what was cancelled stays so, with nothing filled since; an amendment shows
 *   - no key acted twice: lookups, the listing of orders and the fills say the same as the answers
 *   - money, fees and positions add up to what was put in, over all accounts
 *   - what was kept of earlier lives is still as it was
 *   - who follows an account and the book on the stream, by the reference client, has all of it once, over all lives
 *
 * At the end the whole journal replays to its recorded digests.
 *
 * `node dist/scripts/crash.js [--kills 10] [--seconds 3] [--connections 64]`; exit 0 when nothing was found, 1 otherwise.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { parseArgs } from "node:util"
import { type Operation, operations } from "./crash/Calls.js"
import * as Checks from "./crash/Checks.js"
import { accepted, Client, type Verified } from "./crash/Client.js"
import { Follower } from "./crash/Follower.js"
import * as Reader from "./crash/Reader.js"
import { VenueProcess } from "./load/VenueProcess.js"

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "10" },
    seconds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" }
  }
})

const positive = (name: keyof typeof values, least: number): number => {
  const value = Number(values[name])
  if (value >= least) return value
  process.stderr.write(`--${name} takes a number of at least ${least}\n`)
  process.exit(2)
}

const kills = positive("kills", 1)
const seconds = positive("seconds", 0.1)
const connections = positive("connections", 1)
const directory = `data/crash-${process.pid}`
const settings = {
  INDEX_FEED: "synthetic",
  ORDER_CAPACITY: "4000000",
  IDEMPOTENCY_CAPACITY: "4000000",
  SNAPSHOT_EVERY_RECORDS: "20000"
}

/** A life ends at so many answers, if not before: what clients keep of it stays small, and the venue lists all its fills. */
const mostAnswers = 50_000

/** What every account is given, in USDC and in money atoms. */
const collateral = "1000000.0"
const collateralAtoms = 1_000_000_000_000n

const shown = 20
let problems = 0
const report = (findings: ReadonlyArray<string>): void => {
  for (const finding of findings) if (problems++ < shown) process.stdout.write(`PROBLEM: ${finding}\n`)
}

/**
 * Keeps all clients busy, and kills the venue somewhere within the time: not at a round moment, so that the disk, the
 * engine and the sockets are all busy.
 */
const live = async (venue: VenueProcess, clients: ReadonlyArray<Client>): Promise<void> => {
  let answers = 0
  let killed: Promise<void> | undefined
  const kill = (): void => {
    killed ??= venue.kill()
  }
  const timer = setTimeout(kill, seconds * 1000 * (0.5 + Math.random() / 2))
  await Promise.all(clients.map((client) =>
    client.drive(venue.port, () => {
      if (++answers >= mostAnswers) kill()
    })
  ))
  clearTimeout(timer)
  if (killed === undefined) report([`the venue ended by itself:\n${venue.output}`])
  await venue.exited
}

/** Collaterals and positions of all accounts as they are, against what was put in and the fees of all fills so far. */
const addUp = async (venue: VenueProcess, clients: ReadonlyArray<Client>, feesAtoms: bigint): Promise<void> => {
  let held = 0n
  const positions: Array<Checks.Position> = []
  await Reader.each(venue.port, clients, async ({ account }, connection) => {
    const atoms = await Reader.collateral(connection, account)
    held += atoms
    positions.push(...await Reader.positions(connection, account))
  })
  report(Checks.totals({
    creditedAtoms: BigInt(clients.length) * collateralAtoms,
    collateralAtoms: held,
    feesAtoms,
    positions
  }))
}

fs.rmSync(directory, { recursive: true, force: true })
let venue = await VenueProcess.start(directory, settings)
const clients = (await venue.demoAccounts(connections, collateral)).map((account, index) => new Client(account, index * 5))
const follower = new Follower(clients[0]!.account)
follower.begin(venue.port)
const done = new Map<Operation, number>()
let told = 0
let unknown = 0
let feesAtoms = 0n
for (let kill = 1; kill <= kills; kill++) {
  await live(venue, clients)
  const restarted = performance.now()
  venue = await VenueProcess.start(directory, settings)
  const readyMs = Math.round(performance.now() - restarted)
  follower.begin(venue.port)
  const settled: Array<string> = []
  const acted = await Promise.all(clients.map((client) => client.settle(venue.port, settled)))
  report(settled)
  const lives: Array<Verified> = await Promise.all(clients.map((client) => client.verify(venue.port)))
  for (const { findings } of lives) report(findings)
  const fills = lives.flatMap((life) => life.fills)
  report(Checks.trades(fills))
  for (const fill of fills) feesAtoms += BigInt(fill.feeAtoms)
  await addUp(venue, clients, feesAtoms)
  report(await follower.check())

  const decisions = lives.reduce((sum, life) => sum + life.decisions.length, 0)
  const open = acted.filter((each) => each !== undefined)
  for (const [operation, count] of accepted(lives.flatMap((life) => life.decisions))) {
    done.set(operation, (done.get(operation) ?? 0) + count)
  }
  told += decisions - open.length
  unknown += open.length
  process.stdout.write(
    `kill ${kill}: ${decisions - open.length} acknowledged, ${open.length} unknown `
      + `(${open.filter((each) => each).length} had been done), ready again after ${readyMs} ms; `
      + `${lives.reduce((sum, life) => sum + life.orders, 0)} orders and ${fills.length} fills as told; ${problems} problems\n`
  )
}
await follower.close()
const exit = await venue.stop()
if (exit !== 0) report([`the graceful stop ended with ${exit}:\n${venue.output}`])
const replay = spawnSync(process.execPath, ["dist/tools/replay.js", "--data", directory, "--verify"], { encoding: "utf8" })
if (replay.status !== 0) report([`the journal does not verify:\n${replay.stdout}${replay.stderr}`])
// What was never done was not checked either.
report(operations.filter((operation) => (done.get(operation) ?? 0) === 0).map((operation) => `no ${operation} was ever accepted`))
if (problems === 0) fs.rmSync(directory, { recursive: true, force: true })
process.stdout.write(
  `accepted: ${operations.map((operation) => `${operation} ${done.get(operation) ?? 0}`).join(", ")}\n`
    + `${follower.events} changes of an account's orders were followed over ${follower.connections} connections\n`
    + `${kills} kills, ${told} requests acknowledged, ${unknown} unknown at a kill: `
    + (problems === 0 ? "nothing lost, nothing doubled\n" : `${problems} problems, data kept in ${directory}\n`)
)
process.exit(problems === 0 ? 0 : 1)
