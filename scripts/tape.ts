/**
 * Plays recorded captures of a real market on a running venue, over HTTP: spot trades move the index, a maker mirrors
 * the best 20 levels of the perpetual's book, takers send the recorded trades as immediate-or-cancel orders.
 *
 *   node dist/scripts/tape.js usdm_....gz spot_....gz [--url http://127.0.0.1:8080 | --spawn DIR]
 *     [--speed 1|10|max] [--limit SECONDS] [--market TAPEBTC-USDC-PERP] [--takers 8] [--leverage N] [--in-flight 64]
 *     [--json FILE]
 *
 * With `--leverage` one half of the takers buys what was bought and the other sells what was sold, and they get so little money that what
 * they would hold of that in the middle of the tape is N times it, in a market whose margins are the smallest for that: so the recorded
 * market itself liquidates some, where it moves enough. The report adds up what came of it.
 *
 * The operator token is OPERATOR_TOKEN, or what a development venue left in DATA_DIR/operator-token. `--spawn` starts a
 * venue of its own over DIR and stops it at the end; one at `--url` has to let through what a tape sends (RATE_LIMIT_PER_MINUTE).
 * Exit 0 when everything adds up, 1 when not, 2 for wrong usage.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { parseArgs } from "node:util"
import { VenueProcess } from "./load/VenueProcess.js"
import * as Capture from "./tape/Capture.js"
import * as Market from "./tape/Market.js"
import type { Player } from "./tape/Player.js"
import * as Report from "./tape/Report.js"
import * as Run from "./tape/Run.js"

class Usage extends Error {
  override readonly name = "Usage"
}

const usage = "usage: tape FILE... [--url URL | --spawn DIR] [--speed 1|10|max] [--limit SECONDS] "
  + "[--market BASE-QUOTE-PERP] [--takers N] [--leverage N] [--in-flight N] [--json FILE]"

const whole = (name: string, value: string, low: number, high: number): number => {
  const number = Number(value)
  if (!Number.isInteger(number) || number < low || number > high) throw new Usage(`--${name} must be a whole number, ${low} to ${high}`)
  return number
}

const positive = (name: string, value: string): number => {
  const number = Number(value)
  if (!(number > 0) || number === Infinity) throw new Usage(`--${name} must be a number above 0`)
  return number
}

const httpUrl = (value: string): URL => {
  if (!URL.canParse(value)) throw new Usage("--url must be a URL")
  const url = new URL(value)
  if (url.protocol !== "http:" || url.pathname !== "/") throw new Usage("--url must be http://HOST:PORT")
  return url
}

const settings = () => {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      url: { type: "string", default: "http://127.0.0.1:8080" },
      spawn: { type: "string" },
      speed: { type: "string", default: "max" },
      limit: { type: "string" },
      market: { type: "string" },
      leverage: { type: "string" },
      takers: { type: "string", default: "8" },
      "in-flight": { type: "string", default: "64" },
      json: { type: "string" }
    }
  })
  if (positionals.length === 0) throw new Usage("no capture is given")
  const missing = positionals.find((file) => !fs.existsSync(file))
  if (missing !== undefined) throw new Usage(`${missing} does not exist`)
  if (!positionals.map(Capture.kindOf).includes("perpetual")) throw new Usage("no capture of the perpetual (usdm_...) is given")
  const leverage = values.leverage === undefined ? undefined : whole("leverage", values.leverage, 2, 1_000)
  const takers = whole("takers", values.takers, leverage === undefined ? 1 : 2, 64)
  return {
    files: positionals,
    url: httpUrl(values.url),
    spawn: values.spawn,
    json: values.json,
    marketId: values.market ?? Market.defaultMarketId(leverage),
    leverage,
    speed: values.speed === "max" ? Infinity : positive("speed", values.speed),
    limitSeconds: values.limit === undefined ? Infinity : positive("limit", values.limit),
    takers,
    inFlight: whole("in-flight", values["in-flight"], 1, 1_000)
  }
}

const operatorToken = (dataDir: string): string => {
  const set = process.env["OPERATOR_TOKEN"]
  if (set !== undefined && set !== "") return set
  const file = path.join(dataDir, "operator-token")
  if (!fs.existsSync(file)) throw new Usage(`no operator token: set OPERATOR_TOKEN, or DATA_DIR to where ${file} is`)
  return fs.readFileSync(file, "utf8").trim()
}

const progressLine = (player: Player): string => {
  const { counts } = player
  return `tape ${(player.playedUs / 1e6).toFixed(1)} s, wall ${(player.elapsedMs / 1000).toFixed(1)} s: ${counts.bookSteps} book steps, `
    + `${counts.makerOrders + counts.takerOrders} orders, ${player.settlement.count} fills`
}

/** Shows progress when it is called, not too often: one line that is rewritten on a terminal, else one now and then. */
const progress = () => {
  const terminal = process.stderr.isTTY
  const everyMs = terminal ? 200 : 5_000
  let shownMs = performance.now()
  return {
    show: (player: Player): void => {
      if (performance.now() - shownMs < everyMs) return
      shownMs = performance.now()
      process.stderr.write(terminal ? `\r\u001b[K${progressLine(player)}` : `${progressLine(player)}\n`)
    },
    clear: (): void => {
      if (terminal) process.stderr.write("\r\u001b[K")
    }
  }
}

const main = async (): Promise<number> => {
  const { json, spawn, ...options } = settings()
  const spawned = spawn === undefined ? undefined : await VenueProcess.start(spawn, { INDEX_FEED: "push" })
  const line = progress()
  const interrupted = { yet: false }
  // The first interrupt ends the tape and still cancels everything, the second ends the process. A spawned venue is
  // interrupted along with this process: there is nothing left to cancel on then.
  if (spawned === undefined) {
    process.once("SIGINT", () => {
      interrupted.yet = true
    })
  }
  let exit: number | NodeJS.Signals = 0
  let report: Report.Report
  try {
    report = await Run.run({
      ...options,
      url: spawned === undefined ? options.url : new URL(`http://127.0.0.1:${spawned.port}`),
      alone: spawned !== undefined,
      operatorToken: operatorToken(spawn ?? process.env["DATA_DIR"] ?? "./data"),
      observe: (player) => {
        line.show(player)
        if (interrupted.yet) player.stop()
      }
    })
  } finally {
    line.clear()
    if (spawned !== undefined) exit = await spawned.stop()
  }
  process.stdout.write(Report.text(report))
  if (json !== undefined) fs.writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`)
  if (exit !== 0) process.stdout.write(`PROBLEM: the venue's graceful stop ended with ${exit}:\n${spawned?.output ?? ""}\n`)
  return report.problems.length === 0 && exit === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  const wrongUsage = error instanceof Usage || error instanceof Capture.CaptureFault
    || (error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS"))
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${wrongUsage ? `${usage}\n` : ""}`)
  process.exitCode = wrongUsage ? 2 : 1
}
