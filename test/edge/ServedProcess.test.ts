/** The real process at its sockets: who gets a connection, and how an order is answered that is followed by bytes that are no request. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { get } from "../../scripts/load/Connection.js"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { BareSocket, placing } from "./BareSocket.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-served-"))
// The lowest limit there is; the limit of each address stays at its default.
const venue = await VenueProcess.start(directory, { CONNECTION_LIMIT: "16" })
const account = (await venue.demoAccounts(1))[0]!
afterAll(async () => {
  await venue.kill()
  fs.rmSync(directory, { recursive: true, force: true })
})

/** The addresses of two clients: on Linux the whole network of the first is local. */
const [own, another] = ["127.0.0.1", "127.0.0.2"] as const

/** A request that needs no credential. */
const ofAnybody = (target: string): string => `GET ${target} HTTP/1.1\r\nhost: localhost\r\n\r\n`

test.skipIf(process.platform !== "linux")("one address has a quarter of the connections unless told, whatever it does, and others get in",
  async () => {
    // One connection for all reads of the metrics, whose answers are numbered.
    const reader = new BareSocket(venue.port, another)
    let asked = 0
    const metric = async (name: string): Promise<number> => {
      const body = await reader.send(ofAnybody("/metrics")).body(++asked)
      return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(body ?? "")?.[1])
    }
    const changes = (more: string): string => get(`/v1/accounts/${account.accountId}/changes?${more}`, account.apiKey)
    expect(await metric("venue_connections_turned_away_total")).toBe(0)
    const ofOne: Array<BareSocket> = []
    for (let at = 0; at < 6; at++) {
      const socket = new BareSocket(venue.port, own).send(changes("fromSequence=1&limit=500"))
      ofOne.push(socket)
      await socket.body()
    }
    // The connections that were idle longest made way for the last ones.
    const [first, second, ...left] = ofOne
    await expect.poll(() => metric("venue_open_sockets")).toBe(1 + left.length)
    await Promise.all([first!.closed, second!.closed])

    // All that are left wait for an answer: none of them makes way, and the address gets no further connection.
    const { throughSequence } = await left[0]!.answer()
    for (const socket of left) socket.send(changes(`fromSequence=${throughSequence}&waitMs=30000`))
    await expect.poll(() => metric("venue_change_waits")).toBe(left.length)
    const turnedAway = new BareSocket(venue.port, own).send(ofAnybody("/v2/time"))
    expect(await turnedAway.body()).toBeUndefined()
    expect(turnedAway.text).toBe("")
    const welcome = new BareSocket(venue.port, another).send(placing(account, "of-another-address"))
    expect(await welcome.answer()).toMatchObject({ status: "open" })
    await Promise.all(left.map((socket) => socket.body(2)))
    expect(left.flatMap(({ statuses }) => statuses)).toEqual(left.flatMap(() => [200, 200]))
    await expect.poll(() => metric("venue_connections_turned_away_total")).toBe(1)
    for (const socket of [reader, welcome, ...left]) socket.close()
  })

test.each([
  ["a-brace", "}"],
  ["a-NUL", "\0"],
  ["headers-beyond-the-limit", `GET / HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(20_000)}\r\n\r\n`],
  ["a-tunnel", "CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n"]
])("an order is accepted and told so, and what is behind it refused for itself: %s", async (name, stray) => {
  const socket = new BareSocket(venue.port).send(placing(account, name) + stray)
  const told = await socket.answer()
  expect(told).toMatchObject({ status: "open", clientOrderId: name })
  await socket.closed
  expect(socket.statuses).toEqual([200, 400])
  const reader = new BareSocket(venue.port).send(get(`/v1/orders/${told.orderId}`, account.apiKey))
  expect(await reader.answer()).toMatchObject({ status: "open", clientOrderId: name, orderId: told.orderId })
  reader.close()
})
