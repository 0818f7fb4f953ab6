/**
 * Drives the real server at full load over HTTP, kills it with SIGKILL again and again, starts it over the same
 * data, and holds what it then says against what clients had been told:
 *
 *   - an order that was acknowledged is there, with the answer it had (the same key gives the same bytes)
 *   - an order whose answer never came is there wholly or not at all, and sending it again makes one order, not two
 *   - money and positions add up to what was put in, over all accounts
 *   - at the end the whole journal replays to its recorded digests
 *
 * `node dist/scripts/crash.js [--kills 10] [--seconds 3] [--connections 64]`; exit 0 when nothing was lost or doubled.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { parseArgs } from "node:util"
import { type Answer, Connection, get, post } from "./load/Connection.js"
import { body } from "./load/Orders.js"
import { type DemoAccount, VenueProcess } from "./load/VenueProcess.js"

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "10" },
    seconds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" }
  }
})
const kills = Number(values.kills)
const seconds = Number(values.seconds)
const connections = Number(values.connections)
const directory = `data/crash-${process.pid}`
const settings = { INDEX_FEED: "synthetic", ORDER_CAPACITY: "4000000", IDEMPOTENCY_CAPACITY: "4000000", SNAPSHOT_EVERY_RECORDS: "20000" }

interface Sent {
  readonly account: DemoAccount
  readonly key: string
  readonly body: string
}

interface Acknowledged extends Sent {
  readonly answer: string
}

/** An answer without what is allowed to differ when it is given again. */
const comparable = (answer: string): string => answer.replace(/"requestId":"[^"]*"/, "")

const ask = (connection: Connection, text: string): Promise<Answer> =>
  new Promise((resolve, reject) => connection.request(text, resolve, reject))

const problems: Array<string> = []
const problem = (text: string): void => {
  if (problems.length < 20) process.stdout.write(`PROBLEM: ${text}\n`)
  problems.push(text)
}

/** Keeps all connections busy until they are cut. What was answered, and what was not. */
const drive = async (port: number, accounts: ReadonlyArray<DemoAccount>, firstSerial: number) => {
  const acknowledged: Array<Acknowledged> = []
  const unknown: Array<Sent> = []
  await Promise.all(Array.from({ length: connections }, async (_, index) => {
    const connection = new Connection(port, true)
    const account = accounts[index % accounts.length]!
    for (let serial = firstSerial + index;; serial += connections) {
      const sent: Sent = { account, key: `${account.accountId}-${serial}`, body: body(account, serial) }
      try {
        const answer = await ask(connection, post("/v1/orders", account.apiKey, sent.key, sent.body))
        if (answer.status === 200 || answer.status === 422) acknowledged.push({ ...sent, answer: comparable(answer.body) })
        else problem(`an order was answered ${answer.status}: ${answer.body}`)
      } catch {
        unknown.push(sent)
        return
      }
    }
  }))
  return { acknowledged, unknown }
}

/** Sends requests one after the other on a few connections, and gives each answer to `look`. */
const askAll = async <A>(port: number, items: ReadonlyArray<A>, text: (item: A) => string, look: (item: A, answer: Answer) => void) => {
  const lanes = 16
  await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
    const connection = new Connection(port, true)
    for (let at = lane; at < items.length; at += lanes) look(items[at]!, await ask(connection, text(items[at]!)))
    connection.close()
  }))
}

const orderIdOf = (answer: string): string | undefined => (JSON.parse(answer) as { readonly orderId?: string }).orderId

/** Everything that was told before the kill still holds after the start. */
const verify = async (venue: VenueProcess, acknowledged: ReadonlyArray<Acknowledged>, unknown: ReadonlyArray<Sent>) => {
  await askAll(
    venue.port,
    acknowledged,
    (sent) => post("/v1/orders", sent.account.apiKey, sent.key, sent.body),
    (sent, answer) => {
      if (comparable(answer.body) === sent.answer) return
      problem(`${sent.key} was answered ${sent.answer} and now ${answer.status} ${answer.body}`)
    }
  )
  const first = new Map<string, string>()
  const resend = (sent: Sent) => post("/v1/orders", sent.account.apiKey, sent.key, sent.body)
  await askAll(venue.port, unknown, resend, (sent, answer) => {
    first.set(sent.key, comparable(answer.body))
    if (answer.status !== 200 && answer.status !== 422) problem(`${sent.key}, sent again, was answered ${answer.status}: ${answer.body}`)
  })
  await askAll(venue.port, unknown, resend, (sent, answer) => {
    if (comparable(answer.body) !== first.get(sent.key)) problem(`${sent.key}, sent twice again, was answered differently`)
  })
  const numbers = new Set<string>()
  for (const answer of [...acknowledged.map((sent) => sent.answer), ...first.values()]) {
    const orderId = orderIdOf(answer)
    if (orderId === undefined) continue
    if (numbers.has(orderId)) problem(`${orderId} was given to two orders`)
    numbers.add(orderId)
  }
}

interface Balance {
  readonly collateralAtoms: string
}
interface Positions {
  readonly positions: ReadonlyArray<{ readonly marketId: string; readonly side: "long" | "short"; readonly quantityAtoms: string }>
}

/** Longs equal shorts, over all accounts and in every market. */
const addUp = async (venue: VenueProcess, accounts: ReadonlyArray<DemoAccount>) => {
  const sums = new Map<string, bigint>()
  let collateral = 0n
  await askAll(venue.port, accounts, (account) => get(`/v1/accounts/${account.accountId}/positions`, account.apiKey), (_, answer) => {
    for (const position of (JSON.parse(answer.body) as Positions).positions) {
      const atoms = BigInt(position.quantityAtoms)
      sums.set(position.marketId, (sums.get(position.marketId) ?? 0n) + (position.side === "long" ? atoms : -atoms))
    }
  })
  await askAll(venue.port, accounts, (account) => get(`/v1/accounts/${account.accountId}/balance`, account.apiKey), (_, answer) => {
    collateral += BigInt((JSON.parse(answer.body) as Balance).collateralAtoms)
  })
  for (const [market, sum] of sums) if (sum !== 0n) problem(`positions in ${market} sum to ${sum}`)
  if (collateral > BigInt(accounts.length) * 1_000_000_000_000n) problem(`accounts hold ${collateral} money atoms, more than was put in`)
}

fs.rmSync(directory, { recursive: true, force: true })
let venue = await VenueProcess.start(directory, settings)
const accounts = await venue.demoAccounts(connections)
let told = 0
let open = 0
for (let kill = 1; kill <= kills; kill++) {
  const running = venue
  const killed = new Promise<void>((resolve) => {
    // Somewhere within the time, not at a round moment: the disk, the engine and the sockets are all busy then.
    setTimeout(() => void running.kill().then(resolve), seconds * 1000 * (0.5 + Math.random() / 2))
  })
  const { acknowledged, unknown } = await drive(running.port, accounts, kill * 100_000_000)
  await killed
  const restarted = performance.now()
  venue = await VenueProcess.start(directory, settings)
  const readyMs = Math.round(performance.now() - restarted)
  await verify(venue, acknowledged, unknown)
  await addUp(venue, accounts)
  told += acknowledged.length
  open += unknown.length
  process.stdout.write(
    `kill ${kill}: ${acknowledged.length} acknowledged, ${unknown.length} unknown, ready again after ${readyMs} ms, `
      + `${problems.length} problems\n`
  )
}
const exit = await venue.stop()
if (exit !== 0) problem(`the graceful stop ended with ${exit}:\n${venue.output}`)
const replay = spawnSync(process.execPath, ["dist/src/cli/replay.js", "--data", directory, "--verify"], { encoding: "utf8" })
if (replay.status !== 0) problem(`the journal does not verify:\n${replay.stdout}${replay.stderr}`)
if (problems.length === 0) fs.rmSync(directory, { recursive: true, force: true })
process.stdout.write(
  `${kills} kills, ${told} orders acknowledged, ${open} unknown at a kill: `
    + (problems.length === 0 ? "nothing lost, nothing doubled\n" : `${problems.length} problems, data kept in ${directory}\n`)
)
process.exit(problems.length === 0 ? 0 : 1)
