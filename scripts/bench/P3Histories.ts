/**
 * P3-histories: P3's load on a venue as deployed, whose histories are made meanwhile by a thread of its own, against the same venue without
 * that thread. The difference is what the thread, and passing data to it, costs everything else on the machine. P3-histories-cpu compares
 * the processor time of the writer's thread per order (less is better): it depends least on the other load of the machine. Each measurement
 * begins once the histories have taken in everything from the previous one.
 *
 * Each pair of measurements yields a ratio, and the median of these counts: where a machine is half as fast for a minute, that affects both
 * of a pair.
 */
import * as fs from "node:fs"
import { load, type Report } from "../load/Task.js"
import { VenueProcess } from "../load/VenueProcess.js"
import { median, type Options, type Result, result, type Section } from "./Section.js"

const connections = 64
const directory = `data/bench-P3-histories-${process.pid}`

/** Pairs of measurements for each requested run. */
const pairsOfRun = 3

/**
 * The pause before each measurement, in milliseconds: a shared host gives more of its processors to a guest that has just rested, so both
 * sides must rest alike.
 */
const restMs = 1_000

/** The interval between checks of the histories' progress, and the time limit, in milliseconds. */
const lookMs = 200
const patienceMs = 120_000

interface Measured extends Report {
  readonly cpuUs: number
}

/** The last record in the histories, 0 where nobody makes any, and for how long they have been behind. */
const standing = async (venue: VenueProcess): Promise<{ readonly sequence: number; readonly lagMs: number }> => {
  const metrics = await venue.metrics()
  return { sequence: metrics("venue_histories_sequence") ?? 0, lagMs: metrics("venue_histories_lag_ms") ?? 0 }
}

/** Waits until the histories have taken in everything. Returns for how long they were behind at first. */
const caughtUp = async (venue: VenueProcess): Promise<number> => {
  const begunMs = performance.now()
  const first = await standing(venue)
  for (let { lagMs, sequence } = first; sequence === 0 || lagMs > lookMs; { lagMs, sequence } = await standing(venue)) {
    if (performance.now() - begunMs > patienceMs) throw new Error(`the histories are at ${sequence} and ${lagMs} ms behind`)
    await new Promise((resolve) => setTimeout(resolve, lookMs))
  }
  return first.lagMs
}

const run = async (options: Options) => {
  fs.rmSync(directory, { recursive: true, force: true })
  const kept = await VenueProcess.start(`${directory}/kept`)
  const without = await VenueProcess.start(`${directory}/without`, {}, { file: "dist/scripts/load/venueWithoutHistories.js" })
  try {
    const accounts = new Map([[kept, await kept.demoAccounts(connections)], [without, await without.demoAccounts(connections)]])
    let firstSerial = 0
    const measure = async (venue: VenueProcess): Promise<Measured> => {
      firstSerial += 100_000_000
      await new Promise((resolve) => setTimeout(resolve, restMs))
      const { port } = venue
      const task = { port, path: "/v1/orders", connections, warmUpSeconds: 1, seconds: 3, firstSerial, entries: 1 }
      const before = venue.writerCpuMs()
      const report = await load({ ...task, accounts: accounts.get(venue)! })
      const cpuUs = (venue.writerCpuMs() - before) * 1_000 / report.sent
      if (report.lost > 0 || Object.keys(report.statuses).some((status) => status !== "200")) {
        throw new Error(`not every request was answered 200: ${JSON.stringify(report.statuses)}, ${report.lost} lost`)
      }
      return { ...report, cpuUs }
    }
    // Both sides are warmed up before anything counts: the first measurement would otherwise include the compiler.
    await measure(without)
    await measure(kept)
    await caughtUp(kept)
    if ((await standing(without)).sequence > 0) throw new Error("somebody makes the histories of the venue that is to have none")
    const references: Array<Measured> = []
    const ours: Array<Measured> = []
    const told = ({ answered, cpuUs, p99Us, seconds }: Measured): string =>
      `${Math.round(answered / seconds)} orders/s, p99 ${p99Us} us, ${cpuUs.toFixed(1)} us of the processor each`
    for (let at = 0; at < options.runs * pairsOfRun; at++) {
      references.push(await measure(without))
      ours.push(await measure(kept))
      const behindMs = await caughtUp(kept)
      options.log(`P3-histories pair ${at + 1}: ${told(ours[at]!)}, ${behindMs} ms behind; without ${told(references[at]!)}`)
    }
    const compared = (section: string, unit: string, of: (measured: Measured) => number): Result => ({
      ...result(section, unit, median(ours.map(of)), median(references.map(of))),
      ratio: median(ours.map((one, at) => of(one) / of(references[at]!)))
    })
    return [
      compared("P3-histories", "requests/s", ({ answered, seconds }) => answered / seconds),
      compared("P3-histories-cpu", "us", ({ cpuUs }) => cpuUs)
    ]
  } finally {
    await kept.stop()
    await without.stop()
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P3-histories", run }
