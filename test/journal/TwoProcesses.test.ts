/** Two real processes over one data directory, after the file that keeps the second one out was removed, or the directory moved. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { get } from "../../scripts/load/Connection.js"
import { marketId } from "../../scripts/load/Orders.js"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { lockPath } from "../../src/journal/SegmentJournal.js"
import { BareSocket, placing } from "../edge/BareSocket.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-two-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/** As in production, the signer and the ledger, whose files have locks of their own, are elsewhere; nothing listens at this address. */
const nowhere = "http://127.0.0.1:9"
const settings = { INDEX_FEED: "push", SIGNER_URL: nowhere, SIGNER_TOKEN: "a-token-that-nobody-asks-for", LEDGER_URL: nowhere }

/** Starts a venue and sets the market's index. */
const start = async (dataDir: string): Promise<VenueProcess> => {
  const venue = await VenueProcess.start(dataDir, settings)
  const response = await fetch(`http://127.0.0.1:${venue.port}/v1/operator/markets/${marketId}/index-price`, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${venue.operatorToken()}`,
      "idempotency-key": `price-${venue.port}`,
      "content-type": "application/json"
    },
    body: JSON.stringify({ price: "60000.0" })
  })
  expect(response.status).toBe(200)
  return venue
}

test.each(["quiet", "busy"])("of a %s venue whose lock is removed and another beside it only one acknowledges, and all of that is there", {
  concurrent: true
}, async (name) => {
  const dataDir = path.join(directory, name)
  const old = await start(dataDir)
  const [account] = await old.demoAccounts(1)
  const acknowledged: Array<string> = []
  /** Whether an order is acknowledged; the only other answer allowed is that it came too late, from a venue that stood still. */
  const place = async (venue: VenueProcess, clientOrderId: string): Promise<boolean> => {
    const told = await new BareSocket(venue.port).send(placing(account!, clientOrderId)).answer()
    if (told === undefined || told.safeMessage === "The request did not arrive in time.") return false
    expect(told).toMatchObject({ status: "open", clientOrderId })
    acknowledged.push(told.orderId)
    return true
  }
  const trade = async (_: unknown, trader: number): Promise<void> => {
    for (let count = 0; await place(old, `busy-${trader}-${count}`);) count++
  }
  const running = [old]
  const closed = new Promise((resolve) => old.child.once("close", resolve))
  try {
    expect(await place(old, "before")).toBe(true)
    const trading = Promise.all(Array.from({ length: name === "busy" ? 4 : 0 }, trade))
    if (name === "busy") expect(await place(old, "beside")).toBe(true)
    // Stopped at an arbitrary point, so that it cannot notice before the other one accepts orders.
    old.child.kill("SIGSTOP")
    fs.rmSync(path.join(dataDir, lockPath))
    const next = await start(dataDir)
    running.push(next)
    const asked = Array.from({ length: 8 }, (_, at) => at)
    const byNext = await Promise.all(asked.map((at) => place(next, `next-${at}`)))
    const byOld = asked.map((at) => place(old, `old-${at}`))
    old.child.kill("SIGCONT")
    expect(byNext).toEqual(asked.map(() => true))
    expect(await Promise.all(byOld)).toEqual(asked.map(() => false))
    await trading
    expect(await old.exited).toBe(1)
    // Only now has all of its output arrived.
    await closed
    expect(old.output).toContain("the writer stopped (JournalFenced): the lock of the data directory was removed or replaced")
    expect(await place(next, "behind")).toBe(true)
    expect(await next.stop()).toBe(0)
  } finally {
    await Promise.all(running.map((venue) => venue.kill()))
  }

  const third = await start(dataDir)
  try {
    const known = await Promise.all(
      acknowledged.map((orderId) => new BareSocket(third.port).send(get(`/v1/orders/${orderId}`, account!.apiKey)).answer())
    )
    expect(known).toMatchObject(acknowledged.map((orderId) => ({ orderId, status: "open" })))
    expect(new Set(acknowledged).size).toBe(acknowledged.length)
  } finally {
    await third.kill()
  }
})

test("a venue whose directory was moved is not stopped cleanly, and leaves what lies at its old place as it is", async () => {
  const dataDir = path.join(directory, "moved")
  const venue = await start(dataDir)
  const closed = new Promise((resolve) => venue.child.once("close", resolve))
  const contents = () =>
    (fs.readdirSync(dataDir, { recursive: true }) as Array<string>).filter((name) => /\.(?:seg|tmp|snap)$/.test(name)).sort()
      .map((name) => [name, fs.statSync(path.join(dataDir, name)).ino, fs.readFileSync(path.join(dataDir, name)).toString("base64")])
  try {
    fs.renameSync(dataDir, `${dataDir}.away`)
    fs.cpSync(`${dataDir}.away`, dataDir, { recursive: true })
    const before = contents()
    const code = await venue.stop()
    await closed
    // On a machine that others keep busy, a thread of low priority may not end in time: then it is said what the code would have been.
    expect(code === "SIGKILL" ? /the exit code would have been (\d+)/.exec(venue.output)?.[1] : String(code)).toBe("1")
    expect(venue.output).toContain(
      "the writer stopped (JournalFenced): the lock of the data directory was removed or replaced, or the directory was moved"
    )
    expect(venue.output).not.toContain("stopped cleanly")
    expect(contents()).toEqual(before)
  } finally {
    await venue.kill()
  }
})
