/**
 * P12: orders over the stream through the real venue, durable and with all checks, 64 connections, one frame under way on each, and
 * bodies of 250 bytes; against P3 of the same run, `POST /v1/orders` of the same venue under the same load. P12-p99 compares the
 * 99th percentile of the time to answer, P12-cpu the processor time that the writer's thread takes for an order (less is better
 * of both): the latter depends least on what else the machine does.
 */
import * as fs from "node:fs"
import { load, type Report } from "../load/Task.js"
import { VenueProcess } from "../load/VenueProcess.js"
import { median, type Options, result, type Section } from "./Section.js"

const connections = 64

interface Measured extends Report {
  readonly cpuUs: number
}
const directory = `data/bench-P12-${process.pid}`

const run = async (options: Options) => {
  fs.rmSync(directory, { recursive: true, force: true })
  const venue = await VenueProcess.start(directory)
  try {
    const accounts = await venue.demoAccounts(connections)
    let firstSerial = 0
    const measure = async (program: "generator" | "trader", good: string): Promise<Measured> => {
      firstSerial += 100_000_000
      const { port } = venue
      const task = { port, path: "/v1/orders", connections, warmUpSeconds: 2, seconds: 5, accounts, firstSerial, entries: 1 }
      const before = venue.writerCpuMs()
      const report = await load(task, program)
      const cpuUs = (venue.writerCpuMs() - before) * 1_000 / report.sent
      if (report.lost > 0 || report.answered === 0 || Object.keys(report.statuses).some((status) => status !== good)) {
        throw new Error(`not every order was taken: ${JSON.stringify(report.statuses)}, ${report.lost} lost`)
      }
      return { ...report, cpuUs }
    }
    // Both are warm before anything counts: the one that begins would be of the compiler.
    await measure("generator", "200")
    await measure("trader", "result")
    const requests: Array<Measured> = []
    const frames: Array<Measured> = []
    for (let at = 0; at < options.runs; at++) {
      requests.push(await measure("generator", "200"))
      frames.push(await measure("trader", "result"))
      const [reference, own] = [requests[at]!, frames[at]!]
      options.log(
        `P12 run ${at + 1}: ${Math.round(own.answered / own.seconds)} orders/s over the stream, p50 ${own.p50Us} us, p99 ${own.p99Us} us, `
          + `${own.cpuUs.toFixed(1)} us of the processor each, against ${
            Math.round(reference.answered / reference.seconds)
          } requests/s, p50 ${reference.p50Us} us, p99 ${reference.p99Us} us, `
          + `${reference.cpuUs.toFixed(1)} us`
      )
    }
    const rate = (reports: ReadonlyArray<Report>) => median(reports.map((report) => report.answered / report.seconds))
    const p99 = (reports: ReadonlyArray<Report>) => median(reports.map((report) => report.p99Us / 1000))
    const cpu = (measured: ReadonlyArray<Measured>) => median(measured.map(({ cpuUs }) => cpuUs))
    return [
      result("P12", "orders/s", rate(frames), rate(requests)),
      result("P12-p99", "ms", p99(frames), p99(requests)),
      result("P12-cpu", "us", cpu(frames), cpu(requests))
    ]
  } finally {
    await venue.stop()
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P12", run }
