/** The ccxt class as its users get it: packed, unpacked into an empty project beside the library, run and type-checked. */
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
  has: [exchange.has.fetchTickers, exchange.has.fetchIndexOHLCV],
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

const settings = {
  compilerOptions: { target: "ES2022", module: "NodeNext", strict: true, noEmit: true, skipLibCheck: true, types: [] },
  files: ["main.ts"]
}

describe("the package", () => {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "perpetuum-package-"))
  const project = path.join(scratch, "project")
  const installed = path.join(project, "node_modules", "perpetuum-ccxt")
  let venue: ScriptedVenue

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
    const { code, stderr, stdout } = await run("dist/scripts/client.js", ["--to", scratch])
    expect(code, stderr).toBe(0)
    fs.mkdirSync(installed, { recursive: true })
    await execute("tar", ["-xzf", stdout.trim(), "-C", installed, "--strip-components=1"])
    fs.symlinkSync(path.resolve("node_modules/ccxt"), path.join(project, "node_modules", "ccxt"))
    fs.writeFileSync(path.join(project, "package.json"), "{ \"type\": \"module\" }\n")
  })

  afterAll(async () => {
    await venue.stop()
    fs.rmSync(scratch, { recursive: true, force: true })
  })

  test("has the class, its types, README and licence, and nothing else", () => {
    const own = fs.readdirSync("src/client/ccxt").filter((name) => name.endsWith(".ts")).map((name) => path.basename(name, ".ts"))
    expect(fs.readdirSync(installed).sort()).toEqual(
      ["LICENSE", "README.md", "package.json", ...own.flatMap((name) => [`${name}.d.ts`, `${name}.js`])].sort()
    )
    const repository = JSON.parse(fs.readFileSync("package.json", "utf8"))
    expect(JSON.parse(fs.readFileSync(path.join(installed, "package.json"), "utf8"))).toMatchObject({
      name: "perpetuum-ccxt",
      version: repository.version,
      license: repository.license,
      peerDependencies: { ccxt: repository.dependencies.ccxt }
    })
  })

  test("runs in plain JavaScript, as an exchange of the project's own library", async () => {
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

  test("has types that a strict TypeScript project takes", async () => {
    fs.writeFileSync(path.join(project, "main.ts"), typeScript)
    fs.writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify(settings))
    const { code, stderr, stdout } = await run("node_modules/typescript/bin/tsc", ["-p", project])
    expect([code, stdout, stderr]).toEqual([0, "", ""])
  })
})
