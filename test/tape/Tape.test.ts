/** The tape against the real venue, as a process of its own. */
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, it, test } from "vitest"
import { type DemoAccount, VenueProcess } from "../../scripts/load/VenueProcess.js"
import * as Capture from "../../scripts/tape/Capture.js"
import * as Flow from "../../scripts/tape/Flow.js"
import * as Market from "../../scripts/tape/Market.js"
import type { Report } from "../../scripts/tape/Report.js"
import * as Run from "../../scripts/tape/Run.js"
import { line, type Result, run, runAll } from "../cli/Tool.js"
import * as Synthetic from "./Synthetic.js"

const folders: Array<string> = []
const keep = <A extends { readonly folder: string }>(made: A): A => {
  folders.push(made.folder)
  return made
}
afterAll(() => {
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true })
})

const settings = { INDEX_FEED: "push", ORDER_CAPACITY: "100000", IDEMPOTENCY_CAPACITY: "100000" }
const tokenOf = (dataDir: string): string => fs.readFileSync(path.join(dataDir, "operator-token"), "utf8").trim()
const urlOf = (venue: VenueProcess): URL => new URL(`http://127.0.0.1:${venue.port}`)

const options = (venue: VenueProcess, files: ReadonlyArray<string>): Run.Options => ({
  url: urlOf(venue),
  operatorToken: tokenOf(venue.dataDir),
  files,
  marketId: Market.defaultMarketId(undefined),
  leverage: undefined,
  takers: 3,
  speed: Infinity,
  limitSeconds: Infinity,
  inFlight: 16,
  alone: true,
  observe: () => {}
})

/** Directories whose journals are verified by one process behind all the tests. */
const left: Array<string> = []

/** What holds for every run on a venue of its own. */
const addsUp = (report: Report): void => {
  expect(report.problems).toEqual([])
  expect(report.surprises).toBe(0)
  expect(report.money).toMatchObject({ positionsSumAtoms: 0, missingAtoms: "0" })
  const { afterStep, beforeNextStep } = report.touch
  expect(afterStep.samples).toBe(report.bookSteps)
  expect(afterStep).toMatchObject({ pricesEqual: afterStep.samples, sizesEqual: afterStep.samples, reasons: {} })
  const differing = Object.values(beforeNextStep.reasons).reduce((sum, count) => sum + count, 0)
  expect(beforeNextStep.pricesEqual + differing).toBe(beforeNextStep.samples)
  expect(report.orders.taker).toBe(
    report.orders.takerFilledWhole + report.orders.takerFilledPartly + report.orders.takerNotFilled
      + Object.entries(report.refusals).reduce((sum, [name, count]) => name.startsWith("taker order") ? sum + count : sum, 0)
  )
}

const bookOf = async (venue: VenueProcess): Promise<unknown> =>
  (await fetch(new URL(`/v1/markets/${Market.defaultMarketId(undefined)}/book`, urlOf(venue)))).json()

/**
 * Tapes that were played one after the other on one venue, since each start of a venue takes longer than most of them: one twice,
 * undisturbed, with which other runs are compared; one without a recorded index; and one with another account in its way.
 */
const playedOnOne = async () => {
  const tape = keep(Synthetic.captures(3, 30))
  const venue = await VenueProcess.start(path.join(tape.folder, "undisturbed"), settings)
  const whole = await Run.run(options(venue, [tape.perpetual, tape.spot]))
  const book = await bookOf(venue)
  const again = await Run.run(options(venue, [tape.perpetual, tape.spot]))
  const indexless = keep(Synthetic.captures(4, 32))
  const limited = await Run.run({ ...options(venue, [indexless.perpetual]), limitSeconds: 1, speed: 10 })
  const { report: disturbed, status } = await playedBesideAnother(venue)
  return { tape, dataDir: venue.dataDir, whole, book, again, indexless, limited, disturbed, status, exit: await venue.stop() }
}

const playedBesideAnother = async (venue: VenueProcess) => {
  const tape = keep(Synthetic.captures(5, 20))
  const [other] = await venue.demoAccounts(1)
  let placed: Promise<number> | undefined
  const report = await Run.run({
    ...options(venue, [tape.perpetual, tape.spot]),
    alone: false,
    observe: ({ counts }) => {
      if (counts.bookSteps >= 10) placed ??= intrude(venue, other!)
    }
  })
  return { report, status: await placed }
}

describe("a made-up tape", () => {
  const known: { played?: ReturnType<typeof playedOnOne> } = {}
  const onOneVenue = () => known.played ??= playedOnOne()

  it("is played by the command on a venue of its own, whose journal then verifies", async () => {
    const tape = keep(Synthetic.captures(1, 24))
    const dataDir = path.join(tape.folder, "data")
    const json = path.join(tape.folder, "report.json")
    const command = await run("dist/scripts/tape.js", [tape.perpetual, tape.spot, "--spawn", dataDir, "--takers", "3", "--json", json])
    expect(command.code, command.stdout + command.stderr).toBe(0)
    expect(command.stdout).toMatch(/everything adds up\n$/)
    const report = JSON.parse(fs.readFileSync(json, "utf8")) as Report
    addsUp(report)
    // Two of the book messages come before there is a book.
    expect(report.bookSteps).toBe(tape.bookMessages - 2)
    expect(command.stdout).toMatch(/\nnothing was refused\n/)
    expect(report.orders.taker).toBe(tape.trades)
    expect(report.spotTrades).toBe(tape.spotTrades)
    expect(report.indexPrices).toBeGreaterThan(tape.spotTrades / 3)
    expect(report.fills.count).toBeGreaterThan(tape.trades / 2)
    expect(Object.values(report.unfilled).reduce((sum, count) => sum + count, 0)).toBe(
      report.orders.takerFilledPartly + report.orders.takerNotFilled
    )
    expect(report.touch.beforeNextStep.reasons["the recording moved on since the book step"] ?? 0).toBe(0)
    expect(report.touch.beforeNextStep.reasons["a taker filled the level since the book step"]).toBeGreaterThan(0)
    left.push(dataDir)
  })

  it("can be played again on the same venue, and leaves nothing open", async () => {
    const { again, book, dataDir, exit, whole } = await onOneVenue()
    addsUp(whole)
    expect(book).toMatchObject({ bids: [], asks: [] })
    addsUp(again)
    expect(again.orders).toEqual(whole.orders)
    expect(again.fills).toEqual(whole.fills)
    expect(again.touch.afterStep).toEqual(whole.touch.afterStep)
    expect(exit).toBe(0)
    left.push(dataDir)
  })

  it("goes on over a venue that is killed and started again, and nothing is done twice", async () => {
    const { tape, whole } = await onOneVenue()
    const dataDir = path.join(tape.folder, "data")
    let venue = await VenueProcess.start(dataDir, settings)
    const { port } = venue
    let restarted: Promise<void> | undefined
    const killed = await Run.run({
      ...options(venue, [tape.perpetual, tape.spot]),
      observe: ({ counts }) => {
        if (counts.bookSteps < 15 || restarted !== undefined) return
        restarted = venue.kill().then(async () => {
          venue = await VenueProcess.start(dataDir, { ...settings, PORT: String(port) })
        })
      }
    })
    await restarted
    expect(await venue.stop()).toBe(0)
    expect(killed.connectionsLost).toBeGreaterThan(0)
    addsUp(killed)
    left.push(dataDir)
    expect(killed.orders).toEqual(whole.orders)
    expect(killed.fills).toEqual(whole.fills)
    expect(killed.money).toEqual(whole.money)
  })

  it("without a recorded index takes the perpetual's own middle, and stops at its limit", async () => {
    const { indexless, limited: report } = await onOneVenue()
    addsUp(report)
    expect(report.indexPrices).toBe(1)
    expect(report.tapeSeconds).toBeLessThanOrEqual(1)
    expect(report.tapeSeconds).toBeGreaterThan(0.9)
    expect(report.wallSeconds).toBeGreaterThan(0.09)
    expect(report.bookSteps).toBeLessThan(indexless.bookMessages * 2 / 3)
    expect(report.behind["book step"]!.count).toBe(report.bookSteps)
  })

  it("says where another account's order stands in the way, and does not call that a fault", async () => {
    const { disturbed: report, status } = await onOneVenue()
    expect(status).toBe(200)
    expect(report.problems).toEqual([])
    expect(report.surprises).toBeGreaterThan(0)
    const { pricesEqual, reasons, samples } = report.touch.afterStep
    expect(pricesEqual).toBeLessThan(samples)
    expect(reasons["another account's order is better"]).toBe(samples - pricesEqual)
    expect(report.refusals["place batch: post_only_would_cross"]).toBeGreaterThan(0)
  })
})

describe("a tape with leverage", () => {
  it("liquidates takers as its market falls, and every sum is exact", async () => {
    const tape = keep(Synthetic.captures(7, 60, -22))
    const venue = await VenueProcess.start(path.join(tape.folder, "data"), settings)
    // Slowly enough for the mark, which is made once a second, to follow the fall.
    const report = await Run.run({
      ...options(venue, [tape.perpetual, tape.spot]),
      marketId: Market.defaultMarketId(1_000),
      leverage: 1_000,
      speed: 1.5
    })
    expect(await venue.stop()).toBe(0)
    expect(report.problems).toEqual([])
    expect(report.money).toMatchObject({ positionsSumAtoms: 0, missingAtoms: "0" })
    const risk = report.risk!
    expect(risk.leverage).toBe(1_000)
    expect(risk.liquidatedAccounts).toBeGreaterThan(0)
    expect(risk.parts + risk.takeovers + risk.deleveragings).toBeGreaterThan(0)
    expect(risk.fund.equityBeforeAtoms).toBe("0")
    expect(BigInt(risk.fund.equityAtoms)).toBeGreaterThanOrEqual(0n)
    left.push(venue.dataDir)
  })

  it("gives each taker as much as what it would hold asks for", async () => {
    const tape = keep(Synthetic.captures(8, 60))
    const usual = await Flow.usualHoldings(Capture.merge([tape.perpetual, tape.spot]), 4, Infinity)
    expect(usual).toHaveLength(4)
    for (const notionalAtoms of usual) expect(notionalAtoms).toBeGreaterThan(0)
    // Nothing is sent before the book is known.
    expect(await Flow.usualHoldings(Capture.merge([tape.perpetual, tape.spot]), 2, 0.001)).toEqual([0, 0])
  })

  it.each([
    ["all in turn", false, 3, [0, 1, 2, 0, 1, 2]],
    ["one half those that bought, the other those that sold", true, 4, [0, 1, 2, 0, 3, 2]]
  ])("sends trades to takers: %s", (_, isSplit, takers, expected) => {
    const turns = new Flow.Turns(takers, isSplit)
    const sides = ["buy", "buy", "sell", "buy", "sell", "sell"] as const
    expect(sides.map((side) => turns.next(side))).toEqual(expected)
  })
})

/** Places a large bid above everything that the tape offers. */
const intrude = async (venue: VenueProcess, account: DemoAccount): Promise<number> => {
  const response = await fetch(new URL("/v1/orders", urlOf(venue)), {
    method: "POST",
    headers: { authorization: `Bearer ${account.apiKey}`, "idempotency-key": "intruder", "content-type": "application/json" },
    body: JSON.stringify({
      accountId: account.accountId,
      marketId: Market.defaultMarketId(undefined),
      clientOrderId: "intruder",
      side: "buy",
      orderType: "limit",
      price: "60010.0",
      quantity: "150.0"
    })
  })
  return response.status
}

describe("wrong usage", () => {
  const wrong: ReadonlyArray<readonly [what: string, args: ReadonlyArray<string>]> = [
    ["no capture", []],
    ["a missing capture", ["usdm_missing.gz"]],
    ["a capture of neither market", ["package.json"]],
    ["an unknown option", ["--frobnicate"]],
    ["a speed that is none", ["--speed", "0"]]
  ]
  let commands: ReadonlyArray<Result>
  beforeAll(async () => {
    commands = await runAll(wrong.map(([, args]) => line("dist/scripts/tape.js", args)))
  })

  it.each(wrong.map(([what], at) => [what, at] as const))("with %s is told how it is used, and exits with 2", (_, at) => {
    const command = commands[at]!
    expect(command.code).toBe(2)
    expect(command.stderr).toMatch(/usage: tape FILE/)
  })

  it("of a place where no venue is fails at once", async () => {
    const tape = keep(Synthetic.captures(6, 2))
    const command = await run("dist/scripts/tape.js", [tape.perpetual, "--url", "http://127.0.0.1:9"], {
      OPERATOR_TOKEN: "0123456789abcdef"
    })
    expect(command.code).toBe(1)
    expect(command.stderr).toMatch(/no venue answers at/)
  })
})

const recordings = fileURLToPath(new URL("../../../../shared/data", import.meta.url))
const recorded = ["usdm_btcusdt_20240808.gz", "spot_btcusdt_20240808.gz"].map((name) => path.join(recordings, name))

describe("the recorded market beside this working copy", () => {
  it.skipIf(!recorded.every((file) => fs.existsSync(file)))("plays its first seconds and adds up", async () => {
    const { folder } = keep({ folder: Synthetic.newFolder() })
    const venue = await VenueProcess.start(path.join(folder, "data"), settings)
    const report = await Run.run({ ...options(venue, recorded), limitSeconds: 3 })
    expect(await venue.stop()).toBe(0)
    addsUp(report)
    expect(report.bookSteps).toBeGreaterThan(30)
    expect(report.orders.taker).toBeGreaterThan(25)
    expect(report.fills.count).toBeGreaterThan(25)
    left.push(venue.dataDir)
  })
})

test("every journal that is left verifies", async () => {
  const results = await runAll(left.map((dataDir) => line("dist/tools/replay.js", ["--data", dataDir, "--verify"])))
  for (const [index, { code, stderr, stdout }] of results.entries()) expect(code, `${left[index]}: ${stdout}${stderr}`).toBe(0)
})
