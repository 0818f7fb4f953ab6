/**
 * P4: `POST /v2/orders` with 32 entries through the real venue, durable and with all checks, 64 connections of 64 accounts, in orders per
 * second; against bare `node:http` that parses a 250-byte body and answers 300 bytes, in requests per second. The load comes from a process
 * of its own, the same for both.
 */
import * as fs from "node:fs"
import { maxPlaceEntries } from "../../src/operations/orders/PlaceOrders.js"
import { startBare } from "../load/BareProcess.js"
import { load, type Report } from "../load/Task.js"
import { VenueProcess } from "../load/VenueProcess.js"
import { median, type Options, result, type Section } from "./Section.js"

const connections = 64
const directory = `data/bench-P4-${process.pid}`
const times = { connections, warmUpSeconds: 2, seconds: 4 }

const run = async (options: Options) => {
  fs.rmSync(directory, { recursive: true, force: true })
  const venue = await VenueProcess.start(directory, { ORDER_CAPACITY: "8000000", IDEMPOTENCY_CAPACITY: "2000000" })
  const bare = await startBare()
  try {
    const accounts = await venue.demoAccounts(connections)
    let firstSerial = 0
    const measure = async (port: number, entries: number): Promise<Report> => {
      firstSerial += 100_000_000
      const path = entries === 1 ? "/v1/orders" : "/v2/orders"
      const report = await load({ ...times, port, path, accounts, firstSerial, entries })
      if (report.lost > 0 || Object.keys(report.statuses).some((status) => status !== "200")) {
        throw new Error(`not every request was answered 200: ${JSON.stringify(report.statuses)}, ${report.lost} lost`)
      }
      if (entries > 1 && (report.entriesSeen === 0 || report.entriesRejected > 0)) {
        throw new Error(`${report.entriesRejected} of ${report.entriesSeen} entries looked at were rejected`)
      }
      return report
    }
    const references: Array<number> = []
    const ours: Array<number> = []
    for (let at = 0; at < options.runs; at++) {
      const reference = await measure(bare.port, 1)
      const own = await measure(venue.port, maxPlaceEntries)
      references.push(reference.answered / reference.seconds)
      ours.push(own.answered * maxPlaceEntries / own.seconds)
      options.log(
        `P4 run ${at + 1}: ${Math.round(ours[at]!)} orders/s in batches of ${maxPlaceEntries}, p99 ${own.p99Us} us, against `
          + `${Math.round(references[at]!)} requests/s`
      )
    }
    return [result("P4", "orders/s", median(ours), median(references))]
  } finally {
    bare.stop()
    await venue.stop()
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P4", run }
