/**
 * P3-limited: P3's load on a venue with a production venue's rate limits, 6,000 requests a minute for each key and session, against the
 * same venue with the counting removed. Half of the connections act with API keys and half with owners' sessions, each with its own; every
 * measurement uses new ones, whose windows are empty, so that no limit is reached. P3 itself counts requests as well: its limits are
 * raised, not off. P3-limited-cpu compares the processor time of the writer's thread per order (less is better): it depends least on the
 * other load of the machine.
 */
import * as fs from "node:fs"
import { openOwned } from "../load/Owners.js"
import { load, type Report } from "../load/Task.js"
import { VenueProcess } from "../load/VenueProcess.js"
import { median, type Options, result, type Section } from "./Section.js"

const connections = 64
/** A production venue's highest limits, and as many sign-ins as it takes to sign in all owners. */
const production = { RATE_LIMIT_PER_MINUTE: "6000", PUBLIC_RATE_LIMIT_PER_MINUTE: "1200", SIGN_IN_LIMIT_PER_MINUTE: "10000" }
const directory = `data/bench-P3-limited-${process.pid}`

interface Measured extends Report {
  readonly cpuUs: number
}

const run = async (options: Options) => {
  fs.rmSync(directory, { recursive: true, force: true })
  const limited = await VenueProcess.start(`${directory}/limited`, production)
  const uncounted = await VenueProcess.start(`${directory}/uncounted`, production, { file: "dist/scripts/load/uncountedVenue.js" })
  try {
    let firstSerial = 0
    const measure = async (venue: VenueProcess): Promise<Measured> => {
      firstSerial += 100_000_000
      const byKey = await venue.demoAccounts(connections / 2)
      const bySession = await openOwned(venue, connections / 2)
      const accounts = byKey.flatMap((each, index) => [each, bySession[index]!])
      const { port } = venue
      const before = venue.writerCpuMs()
      const report = await load({ port, path: "/v1/orders", connections, warmUpSeconds: 2, seconds: 5, accounts, firstSerial, entries: 1 })
      const cpuUs = (venue.writerCpuMs() - before) * 1_000 / report.sent
      if (report.lost > 0 || Object.keys(report.statuses).some((status) => status !== "200")) {
        throw new Error(`not every request was answered 200: ${JSON.stringify(report.statuses)}, ${report.lost} lost`)
      }
      return { ...report, cpuUs }
    }
    // Both sides are warmed up before anything counts: the first measurement would otherwise include the compiler.
    await measure(uncounted)
    await measure(limited)
    const references: Array<Measured> = []
    const ours: Array<Measured> = []
    for (let at = 0; at < options.runs; at++) {
      references.push(await measure(uncounted))
      ours.push(await measure(limited))
      const [reference, own] = [references[at]!, ours[at]!]
      options.log(
        `P3-limited run ${at + 1}: ${Math.round(own.answered / own.seconds)} orders/s, ${own.cpuUs.toFixed(1)} us of the processor each, `
          + `against ${Math.round(reference.answered / reference.seconds)} orders/s, ${reference.cpuUs.toFixed(1)} us uncounted`
      )
    }
    const rate = (reports: ReadonlyArray<Report>) => median(reports.map((report) => report.answered / report.seconds))
    const cpu = (measured: ReadonlyArray<Measured>) => median(measured.map(({ cpuUs }) => cpuUs))
    return [
      result("P3-limited", "orders/s", rate(ours), rate(references)),
      result("P3-limited-cpu", "us", cpu(ours), cpu(references))
    ]
  } finally {
    await limited.stop()
    await uncounted.stop()
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P3-limited", run }
