/**
 * P3: `POST /v1/orders` through the real venue, durable and with all checks, 64 connections and a 250-byte body, against bare `node:http`
 * that parses a body of the same size and answers 300 bytes. The load comes from a process of its own, the same for both. P3-p99 compares
 * the 99th percentile of the response time (less is better).
 */
import * as fs from "node:fs"
import { startBare } from "../load/BareProcess.js"
import { load, type Report, type Task } from "../load/Task.js"
import { type DemoAccount, VenueProcess } from "../load/VenueProcess.js"
import { median, type Options, result, type Section } from "./Section.js"

const connections = 64
const directory = `data/bench-P3-${process.pid}`

const run = async (options: Options) => {
  fs.rmSync(directory, { recursive: true, force: true })
  const venue = await VenueProcess.start(directory)
  const bare = await startBare()
  try {
    const accounts = await venue.demoAccounts(connections)
    let serial = 0
    const measure = async (port: number, own: ReadonlyArray<DemoAccount>): Promise<Report> => {
      serial += 100_000_000
      const task: Task = {
        port,
        path: "/v1/orders",
        connections,
        warmUpSeconds: 2,
        seconds: 5,
        accounts: own,
        firstSerial: serial,
        entries: 1
      }
      const report = await load(task)
      if (report.lost > 0 || Object.keys(report.statuses).some((status) => status !== "200")) {
        throw new Error(`not every request was answered 200: ${JSON.stringify(report.statuses)}, ${report.lost} lost`)
      }
      return report
    }
    const references: Array<Report> = []
    const ours: Array<Report> = []
    for (let at = 0; at < options.runs; at++) {
      references.push(await measure(bare.port, accounts))
      ours.push(await measure(venue.port, accounts))
      const [reference, own] = [references[at]!, ours[at]!]
      options.log(
        `P3 run ${at + 1}: ${Math.round(own.answered / own.seconds)} orders/s, p99 ${own.p99Us} us, against `
          + `${Math.round(reference.answered / reference.seconds)} requests/s, p99 ${reference.p99Us} us`
      )
    }
    const rate = (reports: ReadonlyArray<Report>) => median(reports.map((report) => report.answered / report.seconds))
    const p99 = (reports: ReadonlyArray<Report>) => median(reports.map((report) => report.p99Us / 1000))
    return [
      result("P3", "requests/s", rate(ours), rate(references)),
      result("P3-p99", "ms", p99(ours), p99(references))
    ]
  } finally {
    bare.stop()
    await venue.stop()
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P3", run }
