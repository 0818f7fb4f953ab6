/**
 * P12: orders over the stream through the real venue, durable and with all checks, 64 connections, and bodies of 250 bytes; against P3 in
 * the same run, `POST /v1/orders` of the same venue from as many connections. Each connection has four orders in progress, like a client
 * that quotes two prices on each side: a stream takes the next order before the last is answered, which HTTP/1.1 does not. P12-single has
 * one in progress on each connection, as P3 has. The -p99 sections compare the 99th percentile of the response time, the -cpu sections the
 * processor time of the writer's thread per order (less is better for both); the latter depends least on the other load of the machine.
 */
import * as fs from "node:fs"
import { load, type Report } from "../load/Task.js"
import { VenueProcess } from "../load/VenueProcess.js"
import { median, type Options, result, type Section } from "./Section.js"

const connections = 64

/** Orders that a quoting client has in progress on its connection: two prices on each side. */
const quoted = 4

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
    const measure = async (program: "generator" | "trader", good: string, underWay = 1): Promise<Measured> => {
      firstSerial += 100_000_000
      const { port } = venue
      const task = { port, path: "/v1/orders", connections, warmUpSeconds: 2, seconds: 5, accounts, firstSerial, entries: 1, underWay }
      const before = venue.writerCpuMs()
      const report = await load(task, program)
      const cpuUs = (venue.writerCpuMs() - before) * 1_000 / report.sent
      if (report.lost > 0 || report.answered === 0 || Object.keys(report.statuses).some((status) => status !== good)) {
        throw new Error(`not every order was taken: ${JSON.stringify(report.statuses)}, ${report.lost} lost`)
      }
      return { ...report, cpuUs }
    }
    // Everything is warmed up before anything counts: the first measurement would otherwise include the compiler.
    await measure("generator", "200")
    await measure("trader", "result", quoted)
    const requests: Array<Measured> = []
    const single: Array<Measured> = []
    const quoting: Array<Measured> = []
    const told = ({ answered, cpuUs, p50Us, p99Us, seconds }: Measured): string =>
      `${Math.round(answered / seconds)} orders/s, p50 ${p50Us} us, p99 ${p99Us} us, ${cpuUs.toFixed(1)} us of the processor each`
    for (let at = 0; at < options.runs; at++) {
      requests.push(await measure("generator", "200"))
      single.push(await measure("trader", "result"))
      quoting.push(await measure("trader", "result", quoted))
      options.log(
        `P12 run ${at + 1}: over the stream ${told(quoting[at]!)}; with one under way ${told(single[at]!)}; by requests ${
          told(requests[at]!)
        }`
      )
    }
    const rate = (reports: ReadonlyArray<Report>) => median(reports.map((report) => report.answered / report.seconds))
    const p99 = (reports: ReadonlyArray<Report>) => median(reports.map((report) => report.p99Us / 1000))
    const cpu = (measured: ReadonlyArray<Measured>) => median(measured.map(({ cpuUs }) => cpuUs))
    const compared = (name: string, measured: ReadonlyArray<Measured>) => [
      result(name, "orders/s", rate(measured), rate(requests)),
      result(`${name}-p99`, "ms", p99(measured), p99(requests)),
      result(`${name}-cpu`, "us", cpu(measured), cpu(requests))
    ]
    return [...compared("P12", quoting), ...compared("P12-single", single)]
  } finally {
    await venue.stop()
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P12", run }
