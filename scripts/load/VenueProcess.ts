/** The real venue as a child process of compiled output: starts, queries and kills it. Signals reach it directly. */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { Client } from "../../src/client/venue/Client.js"
import { nodePlatform } from "../../src/client/venue/NodePlatform.js"

export interface DemoAccount {
  readonly accountId: string
  readonly apiKey: string
}

/** A client of a venue on this machine. */
export const clientAt = (port: number, credential?: string): Client =>
  new Client(nodePlatform, { url: `http://127.0.0.1:${port}`, ...(credential === undefined ? undefined : { apiKey: credential }) })

/** The load is more than one client would be allowed. */
const withoutLimits = {
  RATE_LIMIT_PER_MINUTE: "1000000000",
  PUBLIC_RATE_LIMIT_PER_MINUTE: "1000000000",
  STREAM_MESSAGES_PER_SECOND: "1000000"
}

/** A venue's metrics: a value by a metric's name with its labels; undefined where there is none. */
export type Metrics = (name: string) => number | undefined

/** By environment variable. */
type Settings = Readonly<Record<string, string>>

/** V8's flags, as `npm start` has them. */
export const flags: ReadonlyArray<string> = [
  "--max-semi-space-size=64",
  "--max-inlined-bytecode-size-cumulative=3000",
  "--v8-pool-size=1",
  "--no-parallel-scavenge",
  "--no-allocation-site-pretenuring"
]

/** A program that runs a venue, and the folder in which it is started. */
interface Program {
  readonly folder: string
  readonly file: string
  /** The command that starts it, if it is not started directly. */
  readonly through: ReadonlyArray<string>
}

/** The program as deployed. */
const served: Program = { folder: ".", file: "dist/venue/main.js", through: [] }

export class VenueProcess {
  /** The process's output, for error messages when it ends by itself. */
  output = ""
  /** Requests for accounts so far: each has a key of its own. */
  private opened = 0
  readonly exited: Promise<number | NodeJS.Signals>

  private constructor(readonly child: ChildProcess, readonly port: number, readonly dataDir: string) {
    this.exited = exitOf(child)
  }

  /** Starts a venue over `dataDir` on a free port and waits until it takes requests. */
  static async start(
    dataDir: string,
    settings: Settings = {},
    program: Partial<Program> = served
  ): Promise<VenueProcess> {
    const { file, folder, through } = { ...served, ...program }
    const [command, ...words] = [...through, process.execPath, ...flags, file]
    const child = spawn(command!, words, {
      cwd: folder,
      env: { ...process.env, GLIBC_TUNABLES: "glibc.malloc.hugetlb=1", PORT: "0", DATA_DIR: dataDir, ...withoutLimits, ...settings },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    const port = await new Promise<number>((resolve, reject) => {
      const look = (chunk: Buffer) => {
        output += chunk.toString()
        const found = /venue at http:\/\/[^:]+:(\d+)/.exec(output)
        if (found !== null) resolve(Number(found[1]))
      }
      child.stdout.on("data", look)
      child.stderr.on("data", look)
      child.once("exit", (code, signal) => reject(new Error(`the venue ended at start (${code ?? signal}):\n${output}`)))
    })
    const venue = new VenueProcess(child, port, dataDir)
    venue.output = output
    const keep = (chunk: Buffer) => {
      venue.output = (venue.output + chunk.toString()).slice(-20_000)
    }
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    return venue
  }

  /** The operator's token, as stored by a development venue. */
  operatorToken(): string {
    return fs.readFileSync(path.join(this.dataDir, "operator-token"), "utf8").trim()
  }

  /** A client for the venue, for setting up and reading rather than for load. */
  client(credential?: string): Client {
    return clientAt(this.port, credential)
  }

  /** Opens funded accounts with a key each. */
  async demoAccounts(count: number, collateral = "1000000.0"): Promise<ReadonlyArray<DemoAccount>> {
    const operator = this.client(this.operatorToken())
    const accounts: Array<DemoAccount> = []
    while (accounts.length < count) {
      const opened = await operator.rest.ask<{ readonly accounts: ReadonlyArray<DemoAccount> }>({
        method: "POST",
        path: "/v1/operator/demo/accounts",
        idempotencyKey: `load-${process.pid}-${this.opened++}`,
        body: { accounts: Math.min(32, count - accounts.length), collateral }
      })
      accounts.push(...opened.accounts)
    }
    return accounts
  }

  /** Its present metrics. */
  async metrics(): Promise<Metrics> {
    const lines = (await (await fetch(`http://127.0.0.1:${this.port}/metrics`)).text()).split("\n")
    return (name) => {
      const line = lines.find((one) => one.startsWith(`${name} `))
      return line === undefined ? undefined : Number(line.slice(name.length + 1))
    }
  }

  /** Processor time that the writer's thread has used so far, in milliseconds, in steps of 10. */
  writerCpuMs(): number {
    const pid = this.child.pid!
    const stat = fs.readFileSync(`/proc/${pid}/task/${pid}/stat`, "utf8")
    // After the name, which may contain anything, come 11 fields, then user and system time in hundredths of a second.
    const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13)
    return (Number(user) + Number(system)) * 10
  }

  /** Ends the process at once, whatever it is doing. */
  async kill(): Promise<void> {
    this.child.kill("SIGKILL")
    await this.exited
  }

  /** Asks it to stop. Returns its exit code, or the signal that ended it. */
  async stop(): Promise<number | NodeJS.Signals> {
    this.child.kill("SIGTERM")
    return await this.exited
  }
}

const exitOf = (child: ChildProcess): Promise<number | NodeJS.Signals> =>
  new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal ?? 0))
  })
