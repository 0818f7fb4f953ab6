/**
 * P10: the longest pause of the real venue's event loop, with a million resting orders, under P3's load and with the follower taking
 * snapshots without interruption; against the same venue without snapshots, and against 10 ms. The venue itself reports it for each full
 * ten seconds of the load (`venue_event_loop_delay_seconds`), each of which contains several snapshots. Every run begins with the same
 * journal, and with histories that have taken in all of it.
 *
 * The compared figure is the longest pause within ten seconds: the median over all runs. The longest of a whole run says more about the
 * machine: on a virtual machine, two processes that only read the clock are stopped for as long now and then. It is printed as well, with
 * the time that the host took for others meanwhile.
 */
import * as fs from "node:fs"
import { load } from "../load/Task.js"
import { type Metrics, VenueProcess } from "../load/VenueProcess.js"
import * as EngineCommands from "./EngineCommands.js"
import * as JournalBuilder from "./JournalBuilder.js"
import { format, median, type Options, result, type Section } from "./Section.js"
import { stolenMs } from "./Stolen.js"

const allowedMs = 10
const connections = 64
const prepared = `data/bench-P10-prepared-${process.pid}`
const directory = `data/bench-P10-${process.pid}`

const shape = EngineCommands.millionResting

/** Room for the resting orders, and for those that the load adds. */
const room = { ORDER_CAPACITY: "4000000", IDEMPOTENCY_CAPACITY: "4000000" }
/** So few records between snapshots that the follower begins the next one as soon as it has saved one. */
const allTheTime = { ...room, FOLLOWER: "thread", SNAPSHOT_EVERY_RECORDS: "512" }
const never = { ...room, FOLLOWER: "none", SNAPSHOT_EVERY_RECORDS: "0" }

/** The time from the beginning of the load to the first full ten seconds that are read, and how many of them are read. */
const firstReadMs = 21_000
const nextReadMs = 10_000
const reads = 4

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const valueOf = (metrics: Metrics, name: string): number => {
  const value = metrics(name)
  if (value === undefined) throw new Error(`the venue tells no ${name}`)
  return value
}

/** Ten seconds of the load: the longest pause in them, and how much time the host took for others in the twenty seconds around them. */
interface Window {
  readonly longestMs: number
  readonly stolenMs: number
}

interface Seen {
  readonly windows: ReadonlyArray<Window>
  readonly ordersPerSecond: number
  readonly residentMegabytes: number
  readonly snapshots: string
}

/** The process's peak resident memory, as Linux reports it. */
const residentMegabytesOf = (pid: number): number =>
  Number(/VmHWM:\s+([0-9]+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_000

/** Starts a venue so that its histories, which are rebuilt, take in the whole journal, and stops it. */
const takeIn = async (): Promise<void> => {
  const venue = await VenueProcess.start(prepared, never)
  try {
    const behind = async (): Promise<boolean> => {
      const metrics = await venue.metrics()
      // Nothing is reported about histories that cannot be read yet.
      return (metrics("venue_histories_sequence") ?? 0) < valueOf(metrics, "venue_durable_sequence") - 1_000
    }
    while (await behind()) await after(1_000)
    await venue.stop()
  } finally {
    await venue.kill()
  }
}

const measure = async (settings: Readonly<Record<string, string>>): Promise<Seen> => {
  fs.rmSync(directory, { recursive: true, force: true })
  fs.cpSync(prepared, directory, { recursive: true })
  const venue = await VenueProcess.start(directory, settings)
  try {
    const accounts = await venue.demoAccounts(connections)
    const seconds = (firstReadMs + (reads - 1) * nextReadMs) / 1_000
    const loading = load({
      port: venue.port,
      path: "/v1/orders",
      connections,
      warmUpSeconds: 2,
      seconds,
      accounts,
      firstSerial: 1,
      entries: 1
    })
    const windows: Array<Window> = []
    let metrics: Metrics = () => undefined
    await after(firstReadMs - 2 * nextReadMs)
    let stolenBefore = stolenMs()
    await after(nextReadMs)
    for (let read = 0; read < reads; read++) {
      const before = stolenMs()
      await after(nextReadMs)
      metrics = await venue.metrics()
      const longestMs = 1_000 * valueOf(metrics, "venue_event_loop_delay_seconds{quantile=\"1\"}")
      const now = stolenMs()
      windows.push({ longestMs, stolenMs: now - stolenBefore })
      stolenBefore = before
    }
    const report = await loading
    const snapshots = settings["FOLLOWER"] === "none"
      ? "no snapshots"
      : `the newest snapshot at ${valueOf(metrics, "venue_snapshot_sequence")}, the follower ${
        valueOf(metrics, "venue_follower_behind_records")
      } records behind`
    const residentMegabytes = residentMegabytesOf(venue.child.pid!)
    return { windows, ordersPerSecond: report.answered / report.seconds, residentMegabytes, snapshots }
  } finally {
    await venue.kill()
  }
}

/**
 * Builds the journal with which each run begins. The commands are released when this returns: collecting a million of them would otherwise
 * disturb the runs.
 */
const prepare = async (): Promise<void> => {
  fs.rmSync(prepared, { recursive: true, force: true })
  const commands = [...EngineCommands.opening(shape), ...EngineCommands.resting(shape)]
  const timeOf = (sequence: number): number => EngineCommands.atEpochMs(shape, sequence)
  const builtAtEpochMs = Date.now()
  await JournalBuilder.build(
    prepared,
    shape,
    commands,
    commands.length - 1_000,
    (sequence) => timeOf(sequence) - timeOf(commands.length) + builtAtEpochMs
  )
}

const run = async (options: Options) => {
  try {
    await prepare()
    globalThis.gc?.()
    await takeIn()
    const [without, taking]: [Array<number>, Array<number>] = [[], []]
    for (let at = 0; at < options.runs; at++) {
      for (const [settings, longest] of [[never, without], [allTheTime, taking]] as const) {
        const { ordersPerSecond, residentMegabytes, snapshots, windows } = await measure(settings)
        longest.push(...windows.map(({ longestMs }) => longestMs))
        const told = windows.map(({ longestMs, stolenMs: stolen }) => `${format(longestMs)} (${stolen} stolen)`)
        options.log(
          `P10 run ${at + 1}: longest pauses ${told.join(", ")} ms, ${Math.round(ordersPerSecond)} orders/s, `
            + `${Math.round(residentMegabytes)} MB at most, ${snapshots}`
        )
      }
    }
    options.log(
      `P10: the longest of all, without snapshots ${format(Math.max(...without))} ms, with them ${format(Math.max(...taking))} ms`
    )
    return [result("P10", "ms", median(taking), median(without) + allowedMs)]
  } finally {
    fs.rmSync(prepared, { recursive: true, force: true })
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P10", run }
