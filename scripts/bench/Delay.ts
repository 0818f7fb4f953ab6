/**
 * delay: the time from the writer learning that a record is durable to a client's socket receiving its frame, 99th percentile, under P3's
 * load, with a hundred subscribers of the traded book and ten of accounts' orders in a process of their own; against a bare server under
 * the same load that pushes to as many sockets with `ws`, with the venue's own frequency and number of frames. No ratio is required.
 */
import { type ChildProcess, fork } from "node:child_process"
import * as fs from "node:fs"
import { load, type Task } from "../load/Task.js"
import type { Arrivals, Following } from "../load/subscribers.js"
import { type DemoAccount, VenueProcess } from "../load/VenueProcess.js"
import { median, type Options, result, type Section } from "./Section.js"

const connections = 64
const books = 100
const accountStreams = 10
const seconds = 6
const directory = `data/bench-delay-${process.pid}`

interface Delays {
  readonly books: number
  readonly accounts: number
  readonly pushesPerSecond: number
  readonly framesPerPush: number
}

const said = <A>(child: ChildProcess): Promise<A> =>
  new Promise((resolve, reject) => {
    child.once("message", (message) => resolve(message as A))
    child.once("exit", (code) => reject(new Error(`a process of the load ended with ${code}`)))
  })

const subscribe = async (following: Following): Promise<ChildProcess> => {
  const child = fork("dist/scripts/load/subscribers.js")
  child.send(following)
  await said(child)
  return child
}

const arrivalsOf = (child: ChildProcess): Promise<Arrivals> => {
  const arrivals = said<Arrivals>(child)
  child.send("arrivals")
  return arrivals
}

const task = (port: number, accounts: ReadonlyArray<DemoAccount>): Task => ({
  port,
  path: "/v1/orders",
  connections,
  warmUpSeconds: 2,
  seconds,
  accounts,
  firstSerial: 1,
  entries: 1
})

/** The 99th percentile of the frames' delays from a time on, in milliseconds; `stamps`: pairs of last sequence and time, ascending. */
const p99Of = (stamps: ArrayLike<number>, arrivals: ReadonlyArray<number>, fromNanos: number): number => {
  const delays: Array<number> = []
  for (let at = 0; at < arrivals.length; at += 2) {
    let [low, high] = [0, stamps.length / 2]
    while (low < high) {
      const middle = (low + high) >> 1
      if (stamps[2 * middle]! < arrivals[at]!) low = middle + 1
      else high = middle
    }
    const durableNanos = stamps[2 * low + 1]
    if (durableNanos !== undefined && durableNanos >= fromNanos) delays.push(arrivals[at + 1]! - durableNanos)
  }
  if (delays.length < 100) throw new Error(`only ${delays.length} frames came while it was measured`)
  delays.sort((one, other) => one - other)
  return delays[Math.floor(delays.length * 0.99)]! / 1e6
}

const ofVenue = async (): Promise<Delays> => {
  fs.rmSync(directory, { recursive: true, force: true })
  const stampsFile = `${directory}-stamps`
  const venue = await VenueProcess.start(directory, { STAMPS_FILE: stampsFile }, { file: "dist/scripts/load/stampedVenue.js" })
  try {
    const accounts = await venue.demoAccounts(connections)
    const subscribers = await subscribe({ port: venue.port, books, accounts: accounts.slice(0, accountStreams) })
    await load(task(venue.port, accounts))
    const arrivals = await arrivalsOf(subscribers)
    await venue.stop()
    const bytes = fs.readFileSync(stampsFile)
    const stamps = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
    const fromNanos = arrivals.books.at(-1)! - seconds * 1e9
    const first = stamps.findIndex((value, at) => at % 2 === 1 && value >= fromNanos) - 1
    const turns = (stamps.length - first) / 2
    return {
      books: p99Of(stamps, arrivals.books, fromNanos),
      accounts: p99Of(stamps, arrivals.accounts, fromNanos),
      pushesPerSecond: turns / seconds,
      framesPerPush: Math.max(1, Math.round((stamps[stamps.length - 2]! - stamps[first]!) / turns))
    }
  } finally {
    await venue.stop()
    fs.rmSync(directory, { recursive: true, force: true })
    fs.rmSync(stampsFile, { force: true })
  }
}

const ofReference = async ({ framesPerPush, pushesPerSecond }: Delays): Promise<number> => {
  const server = fork("dist/scripts/load/pushes.js")
  try {
    const port = await said<number>(server)
    const subscribers = await subscribe({ port, books: books + accountStreams, accounts: [] })
    server.send({ pushesPerSecond, framesPerPush })
    await load(task(port, [{ accountId: "acc_1", apiKey: "none" }]))
    const arrivals = await arrivalsOf(subscribers)
    const stamps = said<ReadonlyArray<number>>(server)
    server.send("stamps")
    return p99Of(await stamps, arrivals.books, arrivals.books.at(-1)! - seconds * 1e9)
  } finally {
    server.disconnect()
  }
}

const run = async (options: Options) => {
  const ours: Array<Delays> = []
  const references: Array<number> = []
  for (let at = 0; at < options.runs; at++) {
    ours.push(await ofVenue())
    const own = ours[at]!
    references.push(await ofReference(own))
    options.log(
      `delay run ${at + 1}: p99 ${own.books.toFixed(1)} ms to books, ${own.accounts.toFixed(1)} ms to accounts, `
        + `${Math.round(own.pushesPerSecond)} blocks/s of ${own.framesPerPush} records, against ${references[at]!.toFixed(1)} ms`
    )
  }
  const reference = median(references)
  return [
    result("delay-book", "ms", median(ours.map((own) => own.books)), reference),
    result("delay-account", "ms", median(ours.map((own) => own.accounts)), reference)
  ]
}

export const section: Section = { name: "delay", run }
