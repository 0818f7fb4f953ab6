/**
 * Histories that the command rebuilds from a journal answer every route with the same bytes as those kept while the venue ran: two venues
 * continue over copies of one journal, one with the original database and one with the rebuilt one.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect, Exit, Layer } from "effect"
import { expect, onTestFinished, test } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import * as Bootstrap from "../../src/Bootstrap.js"
import { rebuilt } from "../../src/cli/venue/Histories.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import * as NodeHistories from "../../src/readmodel/NodeHistories.js"
import { timeframes } from "../../src/readmodel/Timeframes.js"
import { windowKinds } from "../../src/readmodel/Windows.js"
import { Bank, Owner } from "../funds/Bank.js"

const marketId = "BTC-USDC-PERP"
const capacity = {
  orders: 1_000,
  idempotencyKeys: 1_000,
  fills: 8,
  balanceChanges: 8,
  fundingPayments: 8,
  funds: { endedOfAccount: 1 },
  identity: { events: 3 }
}

/** Markets that pay funding every ten seconds, so that there are many payments in little time. */
const markets = Effect.runSync(Bootstrap.parseMarkets(fs.readFileSync("fixtures/markets.json", "utf8"))).map((market) => ({
  ...market,
  parameters: { ...market.parameters, fundingIntervalMs: 10_000, fundingCapE9: 40_000_000 }
}))

interface Trader {
  readonly accountId: string
  readonly apiKey: string
}

class Story {
  private placed = 0

  constructor(readonly bank: Bank, readonly owner: Owner, readonly traders: ReadonlyArray<Trader>) {}

  async price(price: string): Promise<void> {
    await this.bank.venue.ask("PUT", `/v1/operator/markets/${marketId}/index-price`, { body: { price } })
    await this.bank.venue.leap(1_500)
  }

  async place({ accountId, apiKey }: Trader, side: "buy" | "sell", price: string, quantity: string, more: object = {}): Promise<string> {
    const body = { accountId, clientOrderId: `h-${++this.placed}`, marketId, side, orderType: "limit", price, quantity, ...more }
    const { json, status } = await this.bank.venue.ask("POST", "/v1/orders", { key: apiKey, body })
    expect([status, json.code]).toEqual([200, undefined])
    return json.orderId
  }

  async cancel({ accountId, apiKey }: Trader, orderId: string): Promise<void> {
    const { status } = await this.bank.venue.ask("POST", `/v1/orders/${orderId}/cancel`, { key: apiKey, body: { accountId, marketId } })
    expect(status).toBe(200)
  }

  /** Orders with every kind of end, fills of both sides, positions that grow, shrink, flip and are closed. */
  async trade(): Promise<void> {
    const [alice, bob] = this.traders as [Trader, Trader]
    await this.cancel(alice, await this.place(alice, "buy", "59000.0", "0.010"))
    await this.place(alice, "buy", "59900.0", "0.001", { timeInForce: "IOC" })
    for (const [side, quantity] of [["buy", "0.010"], ["buy", "0.005"], ["sell", "0.025"], ["sell", "0.002"], ["buy", "0.020"]] as const) {
      await this.place(bob, side === "buy" ? "sell" : "buy", "60000.0", quantity)
      await this.place(alice, side, "60000.0", quantity)
    }
    await this.place(bob, "sell", "60001.0", "0.004")
    await this.place(alice, "buy", "60001.0", "0.001")
    await this.place(alice, "sell", "60400.0", "0.003")
  }
}

const usdc = (amount: number): number => amount * 1_000_000

/** A venue with a history of every kind, of which the engine itself keeps little. */
const lived = async (bank: Bank): Promise<Story> => {
  const owner = await Owner.open(bank)
  const deposit = await owner.request("deposit", usdc(25))
  await bank.venue.leap(30_000)
  await bank.give(await owner.party, usdc(25))
  expect(await owner.confirm("deposit", deposit)).toBe("ledger_confirmed")
  for (const amount of [1, 2, 3]) {
    const withdrawal = await owner.request("withdrawal", usdc(amount), `elsewhere::1220${"0".repeat(64)}`)
    await owner.must("DELETE", `/v1/accounts/{account}/withdrawals/${withdrawal}`)
  }
  const made = await bank.venue.ask("POST", "/v1/operator/demo/accounts", { body: { accounts: 2, collateral: "1000000" } })
  const story = new Story(bank, owner, made.json.accounts)
  for (const price of ["60000.0", "60010.0", "59990.0", "60000.0"]) {
    await story.price(price)
    await story.trade()
    await bank.venue.leap(11_000)
  }
  // The engine forgets meanwhile what has ended.
  await bank.venue.ask("PUT", "/v1/operator/limits", { body: { idempotencyRetentionMs: 600_000 } })
  await bank.venue.leap(720_000, 10_000)
  await story.price("60005.0")
  await story.trade()
  await bank.venue.leap(3_000)
  return story
}

/** The cursor to the next page, for routes that have one. */
const nextOf = (json: any): string | null => json.nextCursor ?? null

/** The answers of every route that reads histories, page by page to the end. */
const answersOf = async ({ bank, owner, traders }: Story): Promise<ReadonlyMap<string, string>> => {
  const answers = new Map<string, string>()
  const read = async (target: string, key: string): Promise<void> => {
    for (let cursor: string | null = ""; cursor !== null;) {
      const asked: string = cursor === "" ? target : `${target}&cursor=${cursor}`
      const { json, status, text } = await bank.venue.ask("GET", asked, { key })
      expect([asked, status, json.code]).toEqual([asked, 200, undefined])
      answers.set(asked, text)
      cursor = nextOf(json)
    }
  }
  const market = `/v1/markets/${marketId}`
  for (const series of ["trade", "index"]) {
    for (const timeframe of timeframes) await read(`${market}/candles?timeframe=${timeframe}&series=${series}`, "")
  }
  await read(`${market}/trades?limit=7`, "")
  await read(`${market}/funding?limit=100`, "")
  await read(`${market}/stats`, "")
  // Both have made their first board by now, at the same moment, so this also compares the rebuilt rankings.
  for (const window of windowKinds) await read(`/v1/leaderboard?window=${window}&limit=1`, "")
  const accounts = [...traders.map(({ accountId, apiKey }) => [accountId, apiKey] as const), [owner.accountId, owner.token] as const]
  for (const [accountId, key] of accounts) {
    const account = `/v1/accounts/${accountId}`
    for (const list of ["orders", "fills", "positions/history", "funding-payments", "ledger"]) await read(`${account}/${list}?limit=5`, key)
  }
  for (const list of ["deposits", "withdrawals", "security-events"]) {
    await read(`/v1/accounts/${owner.accountId}/${list}?limit=2`, owner.token)
  }
  return answers
}

test("histories that are made anew answer byte for byte as those that were kept", async () => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "rebuilt-"))
  onTestFinished(() => fs.rmSync(root, { recursive: true, force: true }))
  const [living, kept, anew] = ["living", "kept", "anew"].map((name) => path.join(root, name)) as [string, string, string]
  const bank = await Bank.open({ capacity, markets, histories: { pauseMs: 250 } }, NodeHistories.layer(living))
  const story = await lived(bank)
  const whole = await answersOf(story)
  expect(Exit.isSuccess(await bank.venue.stop())).toBe(true)
  const stoppedAtEpochMs = bank.venue.epochMs

  for (const directory of [kept, anew]) fs.mkdirSync(directory)
  const journal = bank.disk.read()
  fs.copyFileSync(path.join(living, "histories.db"), path.join(kept, "histories.db"))
  const command = rebuilt(capacity, false).pipe(
    Effect.provide(NodeHistories.layer(anew)),
    Effect.provide(Layer.provideMerge(SnapshotStore.layerBeside, memoryDisk(journal).layer))
  )
  expect((await Effect.runPromise(command)).join()).toMatch(/made anew from [\d,]+ records/)

  const served: Array<ReadonlyMap<string, string>> = []
  for (const directory of [kept, anew]) {
    await bank.goOnOver({ disk: memoryDisk(journal).layer, histories: NodeHistories.layer(directory) }, stoppedAtEpochMs)
    await bank.venue.leap(2_000)
    served.push(await answersOf(story))
    expect(Exit.isSuccess(await bank.venue.stop())).toBe(true)
    expect(fs.existsSync(path.join(directory, "histories.db.set-aside"))).toBe(false)
  }
  const [ofKept, ofAnew] = served as [ReadonlyMap<string, string>, ReadonlyMap<string, string>]
  expect([...ofAnew]).toEqual([...ofKept])
  // Ended orders and transfers are shown as by the venue that had seen them end.
  for (const [asked, text] of whole) if (/withdrawals|deposits|fills|trades\?/.test(asked)) expect(ofAnew.get(asked)).toBe(text)
  const rows = (name: string): number => [...ofAnew].filter(([asked]) => asked.includes(name)).length
  expect(
    ["/orders", "/fills", "/trades", "/leaderboard", "/positions/history", "/funding-payments", "/ledger", "/security-events"].map(rows)
      .every((count) => count > 2)
  ).toBe(true)
})
