/**
 * Resume-sockets: 10,000 clients on sockets of their own, which follow their accounts' orders and fills, are cut off; 50,000 orders are
 * placed for them; the venue is stopped and started, and all reconnect with the sequences that they had. The time runs from when the venue
 * accepts requests until the last of them has everything: connected, recognized by its ticket, and sent all that it missed, once and in
 * order, as compared with its account's listings. Measured against the same without any orders meanwhile: the difference is what was
 * missed. No ratio is required. Where the system allows a process fewer sockets, there are fewer clients, and the log says so.
 */
import { type ChildProcess, fork } from "node:child_process"
import * as fs from "node:fs"
import { openFiles } from "../../src/edge/http/NodeDescriptors.js"
import type { Asked, Returned } from "../load/resumers.js"
import { VenueProcess } from "../load/VenueProcess.js"
import { format, median, type Options, result, type Section } from "./Section.js"

const wantedClients = 10_000
/** Files and sockets that the venue and the clients need beside the clients' streams. */
const otherFiles = 512
const ordersEach = 5
const directory = `data/bench-resume-sockets-${process.pid}`
/** All clients connect from one address. */
const settings = { CONNECTION_LIMIT: "16000", CONNECTIONS_PER_ADDRESS: "16000" }

class Resumers {
  private readonly child: ChildProcess = fork("dist/scripts/load/resumers.js")

  async ask(asked: Asked): Promise<Returned> {
    const returned = new Promise<Returned>((resolve, reject) => {
      this.child.once("message", (message) => resolve(message as Returned))
      this.child.once("exit", (code) => reject(new Error(`the clients ended with ${code}`)))
    })
    this.child.send(asked)
    const { problems, ...rest } = await returned
    this.child.removeAllListeners("exit")
    if (problems.length > 0) throw new Error(`what clients were told is not what there is:\n${problems.join("\n")}`)
    return { problems, ...rest }
  }

  end(): void {
    this.child.disconnect()
  }
}

const run = async (options: Options) => {
  const clients = Math.min(wantedClients, (openFiles() ?? wantedClients + otherFiles) - otherFiles)
  if (clients < wantedClients) options.log(`Resume-sockets: ${clients} clients only, for the system allows no more sockets`)
  fs.rmSync(directory, { recursive: true, force: true })
  let venue = await VenueProcess.start(directory, settings)
  const resumers = new Resumers()
  try {
    await resumers.ask({ ask: "begin", port: venue.port, accounts: await venue.demoAccounts(clients) })
    /** Clients served completely, per second; `orders` are placed for each while they are away. */
    const measure = async (orders: number): Promise<number> => {
      await resumers.ask({ ask: "cut" })
      await resumers.ask({ ask: "trade", port: venue.port, each: orders })
      await resumers.ask({ ask: "read", port: venue.port })
      await venue.stop()
      venue = await VenueProcess.start(directory, settings)
      const { events, hadAllMs } = await resumers.ask({ ask: "return", port: venue.port })
      const [half, all] = [hadAllMs[hadAllMs.length >> 1]! / 1_000, hadAllMs.at(-1)! / 1_000]
      options.log(
        `Resume-sockets: ${clients} clients, ${events} events missed: half have all after ${format(half)} s, all ${format(all)} s`
      )
      return clients / all
    }
    const references: Array<number> = []
    const ours: Array<number> = []
    for (let at = 0; at < options.runs; at++) {
      references.push(await measure(0))
      ours.push(await measure(ordersEach))
    }
    return [result("Resume-sockets", "clients/s", median(ours), median(references))]
  } finally {
    resumers.end()
    await venue.stop()
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "Resume-sockets", run }
