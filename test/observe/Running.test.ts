/**
 * A running venue in one process: it reports every metric that dashboard and alerts name, its log is lines of JSON without credentials, and
 * a copy of its data directory made while it accepts orders replays to the copied head and can be started from.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import * as Yaml from "yaml"
import * as Contract from "../../src/edge/Contract.js"
import * as Refusal from "../../src/domain/Refusal.js"
import { stageNames } from "../../src/domain/Stages.js"
import * as Orders from "../../scripts/load/Orders.js"
import { type DemoAccount, VenueProcess } from "../../scripts/load/VenueProcess.js"
import * as Tool from "../cli/Tool.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-running-"))
const dataDir = path.join(directory, "data")
const copyDir = path.join(directory, "copy")

/** The venue, with two accounts. */
const running = VenueProcess.start(dataDir, { SEGMENT_MIB: "2" }).then(async (venue) => ({ venue, accounts: await venue.demoAccounts(2) }))

const place = async (account: DemoAccount, serial: number): Promise<number> => {
  const { venue } = await running
  const answer = await fetch(`http://127.0.0.1:${venue.port}/v1/orders`, {
    method: "POST",
    headers: { authorization: `Bearer ${account.apiKey}`, "content-type": "application/json", "idempotency-key": `order-${serial}` },
    body: Orders.body(account, serial)
  })
  await answer.text()
  return answer.status
}

afterAll(async () => {
  await (await running).venue.kill()
  fs.rmSync(directory, { recursive: true, force: true })
})

/** Each expression of the dashboard and the alerts, with its place. */
const expressions = (): ReadonlyArray<readonly [where: string, expression: string]> => {
  const dashboard = JSON.parse(fs.readFileSync("scripts/observe/grafana-dashboard.json", "utf8")) as {
    readonly panels: ReadonlyArray<{ readonly title: string; readonly targets: ReadonlyArray<{ readonly expr: string }> }>
    readonly templating: { readonly list: ReadonlyArray<{ readonly name: string; readonly definition?: string }> }
  }
  const { groups } = Yaml.parse(fs.readFileSync("scripts/observe/alerts.yaml", "utf8")) as {
    readonly groups: ReadonlyArray<{ readonly rules: ReadonlyArray<{ readonly alert: string; readonly expr: string }> }>
  }
  return [
    ...dashboard.panels.flatMap(({ targets, title }) => targets.map(({ expr }) => [`panel ${title}`, expr] as const)),
    ...dashboard.templating.list.flatMap(({ definition, name }) =>
      definition === undefined ? [] : [[`variable ${name}`, definition] as const]
    ),
    ...groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [`alert ${alert}`, expr] as const))
  ]
}

/** The values of labels that are fixed by the program. */
const known: Readonly<Record<string, ReadonlyArray<string>>> = {
  route: Contract.endpoints.map(({ name }) => name),
  stage: stageNames,
  guard: Object.values(Refusal.Refusal).filter((code) => code !== 0).map((code) =>
    Refusal.describe(code).guard ?? Refusal.describe(code).code
  ),
  quantile: ["0.5", "0.9", "0.99", "1"]
}

const expressionOf = (where: string): string => expressions().find(([name]) => name === where)?.[1] ?? ""

test("slow orders are alerted of on every route that places them, as the dashboard has them", () => {
  const routes = (expression: string) => /route=~?"([^"]+)"/.exec(expression)?.[1]?.split("|")
  const placing = expressions().map(([where, expression]) => [where, routes(expression)] as const)
    .filter(([where, named]) => where.startsWith("panel ") && named?.includes("placeOrder"))
  expect(placing.length).toBeGreaterThan(0)
  for (const [where, named] of placing) expect(named, where).toEqual(routes(expressionOf("alert OrdersSlow")))
})

test.each([
  ["BooksShort", "venue_reconciliation_difference_atoms < venue_reconciliation_accepted_atoms"],
  ["WithdrawalsStopped", "venue_withdrawals_stopped == 1"],
  ["FollowerBehind", "deriv(venue_follower_behind_records[15m]) > 0"]
])("the alert %s looks at what it is about", (name, expression) => {
  expect(expressionOf(`alert ${name}`)).toContain(expression)
})

/** The counters for whose first increase alerts wait, with the labels in their selectors. */
const awaited = (): ReadonlyArray<readonly [where: string, series: RegExp]> =>
  expressions().filter(([where]) => where.startsWith("alert ")).flatMap(([where, expression]) =>
    [...expression.matchAll(/\b(?:increase|rate)\((venue_[a-z0-9_]+)(?:\{([^}]*)\})?\[\w+\]\) > 0(?![.\d])/g)].map(([, name, selector]) =>
      [where, new RegExp(`^${name}(?:\\{.*${selector ?? ""}.*\\})? 0$`, "m")] as const
    )
  )

test("every metric and label that dashboard and alerts name is one that the venue tells", async () => {
  const { accounts, venue } = await running
  for (let serial = 0; serial < 8; serial++) expect(await place(accounts[serial % 2]!, serial)).toBe(200)
  // More than the account can pay for: refused in the market, by its guard.
  const [account] = accounts
  const refused = await fetch(`http://127.0.0.1:${venue.port}/v1/orders`, {
    method: "POST",
    headers: { authorization: `Bearer ${account!.apiKey}`, "content-type": "application/json", "idempotency-key": "too-much" },
    body: JSON.stringify({ ...JSON.parse(Orders.body(account!, 99)), quantity: "999999999.0" })
  })
  expect(refused.status).toBe(422)
  const text = await (await fetch(`http://127.0.0.1:${venue.port}/metrics`)).text()
  const types = new Map(Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name, type]) => [name!, type!]))
  const labels = new Map<string, Set<string>>()
  for (const [, name, braced] of text.matchAll(/^([a-z_]+)\{(.*)\} /gm)) {
    const found = labels.get(name!) ?? new Set()
    for (const [, label] of braced!.matchAll(/(\w+)="/g)) found.add(label!)
    labels.set(name!, found)
  }
  const faults: Array<string> = []
  for (const [where, expression] of expressions()) {
    const named = [...expression.matchAll(/\bvenue_[a-z0-9_]+/g)].map(([name]) => name)
    if (named.length === 0) faults.push(`${where}: names no metric of the venue`)
    for (const name of named) {
      const base = name.replace(/_(?:bucket|sum|count)$/, "")
      if (!types.has(name) && types.get(base) !== "histogram") faults.push(`${where}: there is no ${name}`)
    }
    for (const [, name, selector] of expression.matchAll(/\b(venue_[a-z0-9_]+)\{([^}]*)\}/g)) {
      for (const [, label, values] of selector!.matchAll(/(\w+)=~?"([^"]*)"/g)) {
        const told = labels.get(name!)
        if (told !== undefined && !told.has(label!)) faults.push(`${where}: ${name} has no label ${label}`)
        const allowed = known[label!]
        for (const value of allowed === undefined || values === ".+" ? [] : values!.split("|")) {
          if (!allowed!.includes(value)) faults.push(`${where}: ${label} is never ${value}`)
        }
      }
    }
  }
  expect(faults).toEqual([])
  const value = (sample: string): number => Number(text.split("\n").find((line) => line.startsWith(`${sample} `))?.split(" ")[1])
  const market = `market="${Orders.marketId}"`
  expect(value(`venue_market_orders_total{${market}}`)).toBe(8)
  expect(value(`venue_market_trades_total{${market}}`)).toBeGreaterThan(0)
  expect(text).toMatch(new RegExp(`^venue_market_refusals_total\\{${market},guard="[a-z_]+"\\} 1$`, "m"))
  expect(value("venue_http_request_duration_seconds_count{route=\"placeOrder\"}")).toBe(9)
  expect(value("venue_stage_duration_seconds_count{stage=\"edge\"}")).toBe(9)
  for (const stage of ["inbox", "engine", "disk"]) {
    expect(value(`venue_stage_duration_seconds_bucket{stage="${stage}",le="+Inf"}`)).toBeGreaterThanOrEqual(9)
  }
})

test("what an alert awaits the first of is told as 0 before: a series that begins with 1 has not increased", async () => {
  const { venue } = await running
  const text = await (await fetch(`http://127.0.0.1:${venue.port}/metrics`)).text()
  const found = awaited()
  expect(found.map(([where]) => where)).toEqual(
    ["Defects", "ClockAhead", "LiquidationExhausted", "Deleveraging", "LedgerAlarm", "ConnectionsTurnedAway", "AnswersUntaken"].map(
      (name) => `alert ${name}`
    )
  )
  for (const [where, series] of found) expect(text, where).toMatch(series)
})

test("its log is a line of JSON for each event, and has no credential in it", async () => {
  const { venue } = await running
  const lines = venue.output.trim().split("\n").map((line) => JSON.parse(line) as Readonly<Record<string, string>>)
  expect(lines.map(({ level }) => level)).toEqual(lines.map(() => "info"))
  expect(lines.map(({ message }) => message).join("\n")).toContain("the operator token is kept in")
  for (const { time } of lines) expect(new Date(time!).toISOString()).toBe(time)
  for (const file of ["operator-token", "signer-secret"]) {
    expect(venue.output).not.toContain(fs.readFileSync(path.join(dataDir, file), "utf8").trim())
  }
})

/** A folder with exactly the files of the image's last stage. */
const image = (): string => {
  const folder = path.join(directory, "image")
  const copies = [...fs.readFileSync("Dockerfile", "utf8").matchAll(/^COPY --from=build \/build\/(\S+) (\S+)$/gm)]
  for (const [, from, to] of copies) fs.cpSync(from!, path.join(folder, to!), { recursive: true })
  fs.symlinkSync(path.resolve("node_modules"), path.join(folder, "node_modules"))
  return folder
}

/** A number as the tools print it, with separators for thousands. */
const numberIn = (pattern: RegExp, text: string): number => Number(pattern.exec(text)![1]!.replaceAll(/\D/g, ""))

test("a copy made while it takes orders replays to the copied head, and a venue as its image has it goes on from it", async () => {
  const { accounts } = await running
  let isOver = false
  let serial = 1_000
  const busy = (async () => {
    while (!isOver) await place(accounts[serial % 2]!, serial++)
  })()
  const copied = await Tool.run("dist/tools/venue.js", ["journal", "copy", "--data", dataDir, "--out", copyDir])
  isOver = true
  await busy
  expect([copied.code, copied.stderr]).toEqual([0, ""])
  const records = numberIn(/^copied +(.*) records/m, copied.stdout)
  expect(copied.stdout).toMatch(/^head +[0-9a-f]{64}$/m)
  // Orders were still accepted after the copied head.
  expect(serial).toBeGreaterThan(1_002)
  const replayed = await Tool.run("dist/tools/replay.js", ["--data", copyDir, "--verify"])
  expect([replayed.code, replayed.stderr]).toEqual([0, ""])
  expect(numberIn(/^records +(.*)$/m, replayed.stdout)).toBe(records)
  const restored = await VenueProcess.start(copyDir, { SEGMENT_MIB: "2" }, { folder: image() })
  expect(await restored.stop()).toBe(0)
  expect(restored.output).toContain(`${records} records replayed`)
})
