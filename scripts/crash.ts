/**
 * Drives the real server at full load with the reference client, one for each account; kills it repeatedly with SIGKILL, starts it over the
 * same data, and compares what it then says with what clients had been told and what they believe. The load is mostly placements, with
 * cancels, batches, amendments and cancel-alls of both route families mixed in; every fourth client sends over the stream. The clients
 * themselves find out what became of requests in progress at a kill: they repeat them until they are answered, look them up and fence them,
 * or give up and start over, depending on their patience; every second kill is followed by another one meanwhile. Afterwards:
 *
 * - what was acknowledged is kept, entry by entry, and the same key gets the same bytes again
 * - what was in progress at the kill was done completely or not at all, once, and as its client believes; what never arrived is never done
 * - what was cancelled stays so, with nothing filled since; amendments are visible
 * - no key acted twice, and no unknown key acted: lookups, the listing of orders and the fills agree with the answers
 * - money, fees and positions add up to the deposits, over all accounts
 * - samples kept from earlier lives are unchanged
 * - followers of an account and of the book on the stream have everything once, over all lives
 *
 * At the end the whole journal replays to its recorded digests, and has each request in the record that its client was told, and no other.
 *
 * `node dist/scripts/crash.js [--kills 10] [--seconds 3] [--connections 64]`; exits with 0 when no problem was found, 1 otherwise.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { type Operation, operations } from "./crash/Calls.js"
import * as Checks from "./crash/Checks.js"
import { accepted, Client, type Ended, endings, type Verified } from "./crash/Client.js"
import * as Journaled from "./crash/Journaled.js"
import type { Address } from "./crash/Wire.js"
import { VenueProcess } from "./load/VenueProcess.js"
import { parsed } from "./Usage.js"

const values = parsed("crash [--kills 10] [--seconds 3] [--connections 64]", {
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

/** A life of the venue ends at this many answers at the latest: so the clients' records stay small, and the venue lists all its fills. */
const mostAnswers = 50_000

/** It does not end before clients have had this many answers in total, since on a slow machine the time could be over before any cancel. */
const leastAnswers = 10 * connections

/** The longest delay between the answer that ends a life and the kill, in milliseconds. */
const soonMs = 100

/** The initial deposit of every account, in USDC and in money atoms. */
const collateral = "1000000.0"
const collateralAtoms = 1_000_000_000_000n

const shown = 20
let problems = 0
const report = (findings: ReadonlyArray<string>): void => {
  for (const finding of findings) if (problems++ < shown) process.stdout.write(`PROBLEM: ${finding}\n`)
}

/** Where clients find the venue, and the callback for its answers. */
const address: Address = { port: 0 }
let answered = (): void => {}

/**
 * Keeps all clients busy, and kills the venue at a random time within the given period, so that the disk, the engine and the sockets are
 * all busy. Resolves, once the venue runs again, with how the requests in progress at the kill ended.
 */
const live = async (venue: VenueProcess, clients: ReadonlyArray<Client>): Promise<ReadonlyArray<Ended | undefined>> => {
  let answers = 0
  let isDue = false
  let isOver = false
  const kill = (): void => {
    if (isOver) return
    isOver = true
    void venue.kill()
  }
  const timer = setTimeout(() => {
    isDue = true
    if (answers >= leastAnswers) kill()
  }, seconds * 1000 * (0.5 + Math.random() / 2))
  /** Not immediately at the answer, since answers to commands decided together arrive together. */
  const killSoon = (): void => void setTimeout(kill, Math.random() * soonMs)
  const driving = Promise.all(clients.map((client) =>
    client.drive(() => isOver, () => {
      if (++answers === mostAnswers || isDue && answers === leastAnswers) killSoon()
    })
  ))
  await venue.exited
  clearTimeout(timer)
  if (!isOver) report([`the venue ended by itself:\n${venue.output}`])
  isOver = true
  return driving
}

/** Starts the venue again. Until all requests have ended it is killed once more, as soon as any client has got an answer. */
const restart = async (settled: Promise<unknown> | undefined): Promise<VenueProcess> => {
  const found = new Promise<void>((resolve) => {
    answered = resolve
  })
  const started = await VenueProcess.start(directory, settings)
  address.port = started.port
  if (settled === undefined) return started
  await Promise.race([found, settled])
  await started.kill()
  return await restart(undefined)
}

/** How often each ending occurs in a list. */
const counted = (ends: ReadonlyArray<Ended>): string =>
  endings.map((ending) => `${ends.filter((end) => end === ending).length} ${ending}`).join(", ")

/** Compares the present collaterals and positions of all accounts with the deposits and the fees of all fills so far. */
const addUp = async (clients: ReadonlyArray<Client>, feesAtoms: bigint): Promise<void> => {
  const held = await Promise.all(clients.map((client) => client.holdings()))
  report(Checks.totals({
    creditedAtoms: BigInt(clients.length) * collateralAtoms,
    collateralAtoms: held.reduce((sum, { collateralAtoms: atoms }) => sum + atoms, 0n),
    feesAtoms,
    positions: held.flatMap(({ positions }) => positions)
  }))
}

fs.rmSync(directory, { recursive: true, force: true })
let venue = await VenueProcess.start(directory, settings)
address.port = venue.port
const clients = (await venue.demoAccounts(connections, collateral))
  .map((account, index) => new Client(account, index, address, () => answered()))
const done = new Map<Operation, number>()
const ends: Array<Ended> = []
let told = 0
let feesAtoms = 0n
for (let kill = 1; kill <= kills; kill++) {
  const driving = live(venue, clients)
  await venue.exited
  const restarted = performance.now()
  venue = await restart(kill % 2 === 0 ? driving : undefined)
  const readyMs = Math.round(performance.now() - restarted)
  const open = (await driving).filter((each) => each !== undefined)
  const lives: Array<Verified> = await Promise.all(clients.map((client) => client.verify(venue.port)))
  for (const { findings } of lives) report(findings)
  const fills = lives.flatMap((life) => life.fills)
  report(Checks.trades(fills))
  for (const fill of fills) feesAtoms += BigInt(fill.feeAtoms)
  await addUp(clients, feesAtoms)

  for (const [operation, count] of accepted(lives.flatMap((life) => life.decisions))) {
    done.set(operation, (done.get(operation) ?? 0) + count)
  }
  ends.push(...open)
  const decisions = lives.reduce((sum, life) => sum + life.decisions.length, 0)
  told += decisions
  process.stdout.write(
    `kill ${kill}: ${decisions} answered; ${open.length} were open at it (${counted(open)}), ready again after ${readyMs} ms; `
      + `${lives.reduce((sum, life) => sum + life.orders, 0)} orders and ${fills.length} fills as told; ${problems} problems\n`
  )
}
const followed = clients.map((client) => client.followed)
await Promise.all(clients.map((client) => client.close()))
const exit = await venue.stop()
if (exit !== 0) report([`the graceful stop ended with ${exit}:\n${venue.output}`])
const replay = spawnSync(process.execPath, ["dist/tools/replay.js", "--data", directory, "--verify"], { encoding: "utf8" })
if (replay.status !== 0) report([`the journal does not verify:\n${replay.stdout}${replay.stderr}`])
report(await Journaled.check(directory, new Map(clients.map(({ account, believed }) => [account.accountId, believed]))))
// An operation that never succeeded has not been tested either.
report(operations.filter((operation) => (done.get(operation) ?? 0) === 0).map((operation) => `no ${operation} was ever accepted`))
if (problems === 0) fs.rmSync(directory, { recursive: true, force: true })
process.stdout.write(
  `accepted: ${operations.map((operation) => `${operation} ${done.get(operation) ?? 0}`).join(", ")}\n`
    + `${followed.reduce((sum, { events }) => sum + events, 0)} changes of accounts were followed over `
    + `${followed.reduce((sum, { connections: each }) => sum + each, 0)} connections\n`
    + `${kills} kills, ${told} requests answered, ${ends.length} open at a kill (${counted(ends)}): `
    + (problems === 0 ? "nothing lost, nothing doubled\n" : `${problems} problems, data kept in ${directory}\n`)
)
process.exit(problems === 0 ? 0 : 1)
