/**
 * P3-cancel: the response time of a cancel while others place ten times what the venue sustains, against its response time while nobody
 * does, both at the 99th percentile. The load is that of P3 with ten times as many connections, all of them busy: requests beyond the
 * venue's throughput queue within it. The cancelling client has an account, a connection and a process of its own. P3-cancel-flood: the
 * same while one account sends batches of 32 orders over as many connections. P3-cancel-reads: while four connections each send 936 reads
 * of a whole book in one packet, and again once they are answered.
 */
import * as fs from "node:fs"
import { load, type Report, type Task } from "../load/Task.js"
import { VenueProcess } from "../load/VenueProcess.js"
import { median, type Options, result, type Section } from "./Section.js"

/** Connections with which P3 measures the venue's sustained throughput. */
const sustained = 64
const times = 10
const directory = `data/bench-P3-cancel-${process.pid}`

const run = async (options: Options) => {
  fs.rmSync(directory, { recursive: true, force: true })
  const venue = await VenueProcess.start(directory)
  try {
    const [canceler, flooder, ...accounts] = await venue.demoAccounts(sustained + 2)
    let serial = 0
    const task = (seconds: number, own: Partial<Task>): Task => {
      serial += 10_000_000
      return {
        port: venue.port,
        path: "/v1/orders",
        connections: 1,
        warmUpSeconds: 1,
        seconds,
        accounts,
        firstSerial: serial,
        entries: 1,
        ...own
      }
    }
    const cancels = (): Promise<Report> => load(task(5, { accounts: [canceler!] }), "canceler")
    await load(task(3, { connections: sustained }))
    const many = { connections: sustained * times }
    const floods = { ...many, accounts: [flooder!], path: "/v2/orders", entries: 32 }
    const loads = [
      { section: "P3-cancel", unit: "placements/s", run: () => load(task(8, many)), loaded: new Array<Report>() },
      { section: "P3-cancel-flood", unit: "batches/s", run: () => load(task(8, floods)), loaded: new Array<Report>() },
      {
        section: "P3-cancel-reads",
        unit: "reads/s",
        run: () => load(task(8, { connections: 4 }), "pipeliner"),
        loaded: new Array<Report>()
      }
    ]
    const rest: Array<Report> = []
    for (let at = 0; at < options.runs; at++) {
      rest.push(await cancels())
      const quiet = rest[at]!
      for (const { loaded, run: begin, section, unit } of loads) {
        const others = begin()
        loaded.push(await cancels())
        const { answered, seconds, statuses } = await others
        const busy = loaded[at]!
        options.log(
          `${section} run ${at + 1}: ${busy.answered} cancels, p50 ${busy.p50Us} us, p99 ${busy.p99Us} us, against ${quiet.answered}, p50 `
            + `${quiet.p50Us} us, p99 ${quiet.p99Us} us at rest; ${Math.round(answered / seconds)} ${unit}, ${JSON.stringify(statuses)}`
        )
      }
    }
    for (const { answered, lost, statuses } of [...rest, ...loads.flatMap(({ loaded }) => loaded)]) {
      if (lost > 0 || statuses["200"] !== answered) throw new Error(`a cancel was not done: ${JSON.stringify(statuses)}, ${lost} lost`)
    }
    const p99 = (reports: ReadonlyArray<Report>) => median(reports.map((report) => report.p99Us / 1000))
    return loads.map(({ loaded, section }) => result(section, "ms", p99(loaded), p99(rest)))
  } finally {
    await venue.stop()
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P3-cancel", run }
