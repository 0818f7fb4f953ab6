/** A load generator's task and its report. */
import { fork } from "node:child_process"
import type { DemoAccount } from "./VenueProcess.js"

export interface Task {
  readonly port: number
  readonly path: string
  readonly connections: number
  readonly warmUpSeconds: number
  readonly seconds: number
  readonly accounts: ReadonlyArray<DemoAccount>
  /** Serial numbers from here on belong to this task. */
  readonly firstSerial: number
  /** Orders in one request: sent as an array where there are more than 1. */
  readonly entries: number
  /** Concurrent orders on each connection of the stream; 1 by default. */
  readonly underWay?: number
}

export interface Report {
  readonly answered: number
  /** All requests sent and answered, including those for warming up. */
  readonly sent: number
  readonly lost: number
  readonly seconds: number
  readonly statuses: Readonly<Record<string, number>>
  /** Checked entries of batches (those of the first connection), and how many of them were rejected. */
  readonly entriesSeen: number
  readonly entriesRejected: number
  readonly p50Us: number
  readonly p99Us: number
}

export const assertTask = (message: unknown): Task => {
  if (typeof message !== "object" || message === null || !("port" in message)) throw new Error("a load generator is told its task")
  return message as Task
}

/** Runs a task in a process of its own: the load generator, unless another program is named. */
export const load = (task: Task, program: "generator" | "canceler" | "pipeliner" | "trader" = "generator"): Promise<Report> =>
  new Promise((resolve, reject) => {
    const child = fork(`dist/scripts/load/${program}.js`)
    let report: Report | undefined
    child.once("message", (message) => {
      report = message as Report
    })
    child.once("exit", () => {
      if (report === undefined) reject(new Error("the load generator ended without a report"))
      else resolve(report)
    })
    child.send(task)
  })
