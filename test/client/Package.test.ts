/** The reference client and the ccxt class as their users get them: packed, unpacked into an empty project, run and type-checked. */
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { run } from "../cli/Tool.js"
import { ScriptedVenue } from "./ScriptedVenue.js"

const execute = promisify(execFile)

const javaScript = `
import ccxt from "ccxt"
import { apiKeyOf, isRefused, NothingDone, OutcomeUnknown, Perpetuum } from "perpetuum-ccxt"

const exchange = new Perpetuum({ baseURL: process.env.URL, options: { maxAttempts: 1 } })
const refused = await exchange.fetchMarkets().catch((error) => error)
console.log(JSON.stringify({
  time: await exchange.fetchTime(),
  isExchange: exchange instanceof ccxt.Exchange,
  refusal: [refused instanceof ccxt.OnMaintenance, isRefused(refused), refused.details.code],
  has: [exchange.has.fetchTickers, exchange.has.fetchMarkOHLCV],
  others: [apiKeyOf, NothingDone, OutcomeUnknown].map((one) => typeof one)
}))
`

const typeScript = `
import type { Account, LastPrices, Order, Position, Tickers } from "ccxt"
import { type Details, isRefused, OutcomeUnknown, Perpetuum, type Refused } from "perpetuum-ccxt"

const exchange: Perpetuum = new Perpetuum({ apiKey: "key", baseURL: "http://127.0.0.1:8080" })

export const read = async (symbol: string): Promise<[Tickers, LastPrices, Position[], Account[], Order]> => [
  await exchange.fetchTickers([symbol]),
  await exchange.fetchLastPrices(),
  await exchange.closeAllPositions(),
  await exchange.fetchAccounts(),
  await exchange.fetchOpenOrder("ord_1", symbol)
]

export const told = (error: unknown): Details | string | undefined => {
  if (error instanceof OutcomeUnknown) return error.idempotencyKey
  if (!isRefused(error)) return undefined
  const refused: Refused = error
  const nearest: string | undefined = refused.nearest
  return nearest ?? refused.details
}

// @ts-expect-error An order has a side: were the types not found, this would go unnoticed.
export const order: Promise<Order> = exchange.createOrder("BTC/USDC:USDC", "limit", 1)
`

const clientScript = `
import { Client, connect, platform } from "perpetuum-client"

const client = connect({ url: process.env.URL, apiKey: "key", accountId: "acc_1", retryDelayMs: 1 })
const outcome = await client.place({ marketId: "M", side: "buy", orderType: "limit", price: "1.0", quantity: "1.0" })
console.log(JSON.stringify([outcome.kind, outcome.value, client instanceof Client, typeof platform.connect]))
await client.close()
`

const browserScript = `
globalThis.WebSocket = class {
  constructor(url) {
    this.sent = [url]
    queueMicrotask(() => this.onmessage({ data: JSON.stringify({ type: "hello", heartbeatMs: 5000 }) }))
  }
  send(text) {
    this.sent.push(JSON.parse(text))
    const { channel, id } = this.sent[1]
    this.onmessage({ data: JSON.stringify({ type: "subscribed", channel, id }) })
    this.onmessage({ data: JSON.stringify({ type: "snapshot", channel, marketId: "M", sequence: 7, data: this.sent }) })
  }
  close() {}
}
const { connect } = await import("perpetuum-client")
const client = connect({ url: process.env.URL })
const { value } = await client.events("market.trades", "M").next()
console.log(JSON.stringify([value.data, await client.markets(), import.meta.resolve("perpetuum-client").split("/").at(-1)]))
await client.close()
`

const clientTypes = `
import { apiKeyOf, type Client, connect, type Contract, type Outcome, type StreamEvent } from "perpetuum-client"

const client: Client = connect({ url: "http://127.0.0.1:8080", orders: "socket", onNotice: ({ kind }) => console.log(kind) })

export const place = async (price: string): Promise<string> => {
  const outcome: Outcome<Contract.PlacedOrder> = await client.place({ marketId: "M", side: "buy", orderType: "limit", price, quantity: "1" })
  switch (outcome.kind) {
    case "accepted":
      return outcome.value.orderId + outcome.value.status.toUpperCase()
    case "refused":
      return outcome.refusal.envelope.rejectionGuard ?? outcome.refusal.code
    case "never_arrived":
    case "unknown":
      return outcome.idempotencyKey
  }
}

export const follow = async (): Promise<Array<string>> => {
  const found: Array<string> = []
  for await (const event of client.events("account.orders")) {
    const same: StreamEvent<"account.orders"> = event
    found.push(...same.data.map(({ orderId, remainingQuantityAtoms }) => orderId + remainingQuantityAtoms))
  }
  for await (const { asks, bids, sequence } of client.book("M").changes()) found.push(asks[0]!.price, bids[0]!.sizeAtoms, String(sequence))
  return found
}

// @ts-expect-error A key is of a venue.
apiKeyOf()

// @ts-expect-error An order is not of another type: were the contract's types not found, this would go unnoticed.
export const order = client.place({ marketId: "M", side: "buy", orderType: "stop", quantity: "1" })

// @ts-expect-error There is no such channel.
client.events("market.gossip")
`

const settings = {
  compilerOptions: { target: "ES2022", module: "NodeNext", strict: true, noEmit: true, skipLibCheck: true, types: [] },
  files: ["main.ts", "client.ts"]
}

/** The modules that a bundle imports. */
const importsOf = (file: string): ReadonlyArray<string> => {
  const specifiers = [...fs.readFileSync(file, "utf8").matchAll(/^\s*(?:import|export)\b[^"']*?\bfrom\s*["']([^"']+)["']/gm)]
  return [...new Set(specifiers.map(([, specifier]) => specifier!))].sort()
}

describe("the packages", () => {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "perpetuum-package-"))
  const project = path.join(scratch, "project")
  const installed = path.join(project, "node_modules", "perpetuum-ccxt")
  const client = path.join(project, "node_modules", "perpetuum-client")
  let venue: ScriptedVenue

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
    const { code, stderr, stdout } = await run("dist/scripts/client.js", ["--to", scratch])
    expect(code, stderr).toBe(0)
    const packed = stdout.trim().split("\n")
    for (const [index, folder] of [client, installed].entries()) {
      fs.mkdirSync(folder, { recursive: true })
      await execute("tar", ["-xzf", packed[index]!, "-C", folder, "--strip-components=1"])
    }
    for (const name of ["ccxt", "ws"]) fs.symlinkSync(path.resolve("node_modules", name), path.join(project, "node_modules", name))
    fs.writeFileSync(path.join(project, "package.json"), "{ \"type\": \"module\" }\n")
  })

  afterAll(async () => {
    await venue.stop()
    fs.rmSync(scratch, { recursive: true, force: true })
  })

  test.each([
    ["perpetuum-ccxt", "ccxt", ["Perpetuum.js"]],
    ["perpetuum-client", "venue", ["browser.js", "node.js"]]
  ])("%s has its programs, its types, README and licence, and nothing else", (name, folder, programs) => {
    const own = fs.readdirSync(`src/client/${folder}`).filter((file) => file.endsWith(".ts")).map((file) => file.replace(".ts", ".d.ts"))
    const made = path.join(project, "node_modules", name)
    expect(fs.readdirSync(made).sort()).toEqual(["LICENSE", "README.md", "package.json", ...programs, ...own].sort())
    const { dependencies, license, version } = JSON.parse(fs.readFileSync("package.json", "utf8"))
    expect(JSON.parse(fs.readFileSync(path.join(made, "package.json"), "utf8"))).toMatchObject({
      name,
      version,
      license,
      dependencies: { ws: dependencies.ws },
      ...(name === "perpetuum-ccxt" ? { peerDependencies: { ccxt: dependencies.ccxt } } : undefined)
    })
  })

  test.each([
    ["perpetuum-ccxt/Perpetuum.js", ["ccxt", "node:crypto", "node:fs", "node:os", "node:path", "ws"]],
    ["perpetuum-client/node.js", ["node:crypto", "node:fs", "node:os", "node:path", "ws"]],
    ["perpetuum-client/browser.js", []]
  ])("%s loads nothing but what its users have", (file, allowed) => {
    const bundle = path.join(project, "node_modules", file)
    expect(importsOf(bundle)).toEqual(allowed)
    expect(fs.readFileSync(bundle, "utf8")).not.toMatch(/\b(?:require|import)\s*\(/)
  })

  test("the client runs in plain JavaScript, and sends again what was lost", async () => {
    venue.script({ status: 502, body: "<html>" }, { status: 200, body: "{\"version\":\"external-order/v1\",\"orderId\":\"ord_1\"}" })
    fs.writeFileSync(path.join(project, "client.js"), clientScript)
    const { code, stderr, stdout } = await run(path.join(project, "client.js"), [], { URL: `http://127.0.0.1:${venue.port}` })
    expect([code, stderr]).toEqual([0, ""])
    expect(JSON.parse(stdout)).toEqual(["accepted", { version: "external-order/v1", orderId: "ord_1" }, true, "function"])
    expect(new Set(venue.seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1)
  })

  test("the client's browser build runs on what a browser has", async () => {
    const markets = { version: "external-market-list/v1", markets: [] }
    venue.script({ status: 200, body: JSON.stringify(markets) })
    fs.writeFileSync(path.join(project, "browser.js"), browserScript)
    const url = `http://127.0.0.1:${venue.port}`
    const { code, stderr, stdout } = await run(path.join(project, "browser.js"), [], { URL: url, NODE_OPTIONS: "--conditions=browser" })
    expect([code, stderr]).toEqual([0, ""])
    const socket = `${url.replace("http", "ws")}/streams/v1/ws`
    const subscribed = { op: "subscribe", id: "c1", channel: "market.trades", marketId: "M" }
    expect(JSON.parse(stdout)).toEqual([[socket, subscribed], markets, "browser.js"])
  })

  test("the class runs in plain JavaScript, as an exchange of the project's own library", async () => {
    const halted = { version: "external-rest-error/v1", code: "engine_halted", safeMessage: "Halted.", retryable: true }
    venue.script({ status: 503, body: JSON.stringify(halted) }, { status: 200, body: "{\"timestamp\":1700000000000}" })
    fs.writeFileSync(path.join(project, "main.js"), javaScript)
    const { code, stderr, stdout } = await run(path.join(project, "main.js"), [], { URL: `http://127.0.0.1:${venue.port}` })
    expect([code, stderr]).toEqual([0, ""])
    expect(JSON.parse(stdout)).toEqual({
      time: 1_700_000_000_000,
      isExchange: true,
      refusal: [true, true, "engine_halted"],
      has: [true, false],
      others: ["function", "function", "function"]
    })
  })

  test("both have types that a strict TypeScript project takes", async () => {
    fs.writeFileSync(path.join(project, "main.ts"), typeScript)
    fs.writeFileSync(path.join(project, "client.ts"), clientTypes)
    fs.writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify(settings))
    const { code, stderr, stdout } = await run("node_modules/typescript/bin/tsc", ["-p", project])
    expect([code, stdout, stderr]).toEqual([0, "", ""])
  })
})
