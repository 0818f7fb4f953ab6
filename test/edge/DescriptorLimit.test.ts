/** The venue as a process with a low limit of open files: idle connections beyond that limit do not keep it from its next segment. */
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { spawn } from "node:child_process"
import { expect, test } from "vitest"

/** Sends a request to the venue, with an idempotency key of its own. */
const ask = async (port: number, method: string, target: string, key: string, body: unknown, name: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${target}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": name
    },
    body: JSON.stringify(body)
  })

/** Has batches journaled until the venue writes to its second segment. */
const intoNextSegment = async (port: number, operatorToken: string, directory: string): Promise<void> => {
  const demo = await ask(port, "POST", "/v1/operator/demo/accounts", operatorToken, { accounts: 1, collateral: "10000" }, "demo")
  const { accounts: [{ accountId, apiKey }] } = await demo.json() as { readonly accounts: readonly [Readonly<Record<string, string>>] }
  const order = (name: string) => ({
    accountId,
    marketId: "BTC-USDC-PERP",
    side: "buy",
    orderType: "limit",
    price: "10.0",
    quantity: "0.010",
    // As long as possible, to fill the journal quickly.
    clientOrderId: name.padEnd(64, "-")
  })
  const segments = (): number => fs.readdirSync(path.join(directory, "journal")).filter((name) => name.endsWith(".seg")).length
  for (let batch = 0; segments() < 2; batch++) {
    expect(batch).toBeLessThan(2_000)
    const orders = Array.from({ length: 32 }, (_, index) => order(`o-${batch}-${index}`))
    const answer = await ask(port, "POST", "/v1/orders/batch", apiKey!, { orders }, `batch-${batch}`)
    // An answer that is not read to its end keeps its connection, and every further request would open another one.
    const text = await answer.text()
    expect([answer.status, answer.status === 200 ? "" : text]).toEqual([200, ""])
  }
  expect((await ask(port, "POST", "/v1/orders", apiKey!, order("last"), "last")).status).toBeLessThan(500)
}

test("1,100 idle connections under a limit of 1,024 files leave a venue that answers, counts, warns, and goes on to its next segment",
  async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-descriptors-"))
    const child = spawn("bash", ["-c", `ulimit -n 1024; exec "${process.execPath}" dist/venue/main.js`], {
      env: {
        PATH: process.env["PATH"] ?? "",
        DATA_DIR: directory,
        PORT: "0",
        CONNECTIONS_PER_ADDRESS: "2000",
        SEGMENT_MIB: "2",
        RATE_LIMIT_PER_MINUTE: "100000"
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const exited = new Promise((resolve) => child.once("exit", resolve))
    let output = ""
    const take = (chunk: Buffer): void => {
      output += chunk.toString()
    }
    child.stdout.on("data", take)
    child.stderr.on("data", take)
    const sockets: Array<net.Socket> = []
    try {
      const portOf = (): string | undefined => /venue at http:\/\/[^:]+:(\d+)/.exec(output)?.[1]
      await expect.poll(portOf).toBeDefined()
      const port = Number(portOf())
      expect(output).toContain("704 connections at most instead of 10000")
      for (let at = 0; at < 1_100; at++) {
        const socket = net.connect(port, "127.0.0.1").on("error", () => {})
        sockets.push(socket)
        await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve))
      }
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      const value = (name: string): number => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(metrics)?.[1])
      expect(value("venue_open_sockets")).toBe(704)
      expect(value("venue_connections_closed_for_room_total")).toBe(397)
      expect(fs.readdirSync(`/proc/${child.pid}/fd`).length).toBeLessThan(1_000)
      await expect.poll(() => output).toContain("no room for")
      await intoNextSegment(port, fs.readFileSync(path.join(directory, "operator-token"), "utf8").trim(), directory)
      expect(child.exitCode).toBeNull()
    } finally {
      for (const socket of sockets) socket.destroy()
      child.kill("SIGTERM")
      expect(await exited).toBe(0)
      fs.rmSync(directory, { recursive: true, force: true })
    }
  })
