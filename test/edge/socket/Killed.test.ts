/** The real process, killed while a client is connected: the next start cancels the orders that were to end with the connection. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { WebSocket } from "ws"
import { body as bodyOf } from "../../../scripts/load/Orders.js"
import { type DemoAccount, VenueProcess } from "../../../scripts/load/VenueProcess.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-disconnected-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/** Orders of the same side, which do not match each other. */
const resting = (account: DemoAccount, serial: 0 | 2): object => JSON.parse(bodyOf(account, serial))

/** Sends frames one by one, each after the answer to the previous one; returns the last answer. */
const converse = (port: number, frames: ReadonlyArray<object>): Promise<any> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/streams/v1/ws`)
    const left = [...frames]
    socket.on("error", reject)
    socket.on("message", (data) => {
      const said = JSON.parse(String(data))
      if (said.type === "heartbeat") return
      if (left.length === 0) resolve(said)
      else socket.send(JSON.stringify({ id: "f", ...left.shift() }))
    })
  })

test("an order over a connection that is to cancel it is open when the process is killed, and cancelled behind the next start", async () => {
  const asked = async (venue: VenueProcess, { apiKey }: DemoAccount, route: string, body?: object): Promise<any> => {
    const response = await fetch(`http://127.0.0.1:${venue.port}${route}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${apiKey}`, "idempotency-key": "by-rest", "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    return response.json()
  }
  const venue = await VenueProcess.start(directory)
  const [account] = await venue.demoAccounts(1)
  const { ticket } = await asked(venue, account!, "/v1/realtime/ticket", { scopes: ["read", "trade"] })
  const stays = await asked(venue, account!, "/v1/orders", resting(account!, 0))
  const { body: lost } = await converse(venue.port, [
    { op: "auth", ticket, cancelOnDisconnect: true },
    { op: "place", idempotencyKey: "over", body: resting(account!, 2) }
  ])
  expect([stays, lost]).toMatchObject([{ status: "open" }, { status: "open" }])
  await venue.kill()

  const again = await VenueProcess.start(directory)
  expect(await asked(again, account!, `/v1/orders/${lost.orderId}`)).toMatchObject({ status: "canceled", cancelReason: "disconnected" })
  expect(await asked(again, account!, `/v1/orders/${stays.orderId}`)).toMatchObject({ status: "open" })
  await again.kill()
})
