/** WebSockets on the real listener: how they begin, what ends them, and requests beside them. */
import { afterEach, describe, expect, test } from "vitest"
import { WebSocket } from "ws"
import * as Fake from "../FakeVenue.js"
import { LiveVenue, marketId } from "../LiveVenue.js"
import { closeAll, exchange, serve, statusOf } from "./NodeServed.js"

afterEach(closeAll)

/** A client of the stream over a real connection. */
class Client {
  readonly frames: Array<any> = []
  readonly socket: WebSocket
  readonly closed: Promise<number>
  private look: () => void = () => {}

  constructor(port: number, path = "/streams/v1/ws") {
    this.socket = new WebSocket(`ws://127.0.0.1:${port}${path}`)
    this.socket.on("message", (data) => {
      this.frames.push(JSON.parse(String(data)))
      this.look()
    })
    this.socket.on("error", () => {})
    this.closed = new Promise((resolve) => this.socket.on("close", (code) => resolve(code)))
  }

  /** Waits for a frame of a type. */
  async frame(type: string): Promise<any> {
    return new Promise((resolve) => {
      this.look = () => {
        const found = this.frames.find((frame) => frame.type === type)
        if (found !== undefined) resolve(found)
      }
      this.look()
    })
  }

  say(frame: object): void {
    this.socket.send(JSON.stringify(frame))
  }
}

const upgrade = (path: string, more = ""): string =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n`
  + `sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n${more}\r\n`

describe("a WebSocket", () => {
  test("carries frames both ways, the same to everybody", async () => {
    const venue = LiveVenue.make()
    const [alice] = await venue.traders(1)
    const { port } = await serve(venue.application)
    const clients = [new Client(port), new Client(port)]
    for (const client of clients) {
      await client.frame("hello")
      client.say({ op: "subscribe", id: "s", channel: "market.book", marketId })
      await client.frame("snapshot")
    }
    await venue.place(alice!)
    const [first, second] = await Promise.all(clients.map((client) => client.frame("update")))
    expect(first).toEqual(second)
    expect(first.data).toMatchObject([{ side: "bid", price: "100.0", size: "1.000" }])
    for (const client of clients) client.socket.close()
    expect(await Promise.all(clients.map((client) => client.closed))).toEqual([1005, 1005])
  })

  test.each([
    ["a frame is larger than a client may send", (socket: WebSocket) => socket.send("x".repeat(16 * 1024 + 1)), 1009],
    ["a frame is binary", (socket: WebSocket) => socket.send(Buffer.from("{}")), 1008],
    [
      "it is asked for signs of life faster than it answers, and is cut",
      (socket: WebSocket) => {
        for (let count = 0; count < 200; count++) socket.ping()
      },
      1006
    ],
    ["its frames are not those of a client", (socket: WebSocket) => socket.send("{}", { mask: false }), 1002]
  ])("ends where %s", async (_, misbehave, code) => {
    const { port } = await serve(LiveVenue.make().application)
    const client = new Client(port)
    await client.frame("hello")
    misbehave(client.socket)
    expect(await client.closed).toBe(code)
  })

  test.each([
    ["on a path that is not the stream's", upgrade("/v1/markets"), 404, "route_not_found"],
    ["to something else than a WebSocket", upgrade("/streams/v1/ws").replace("websocket", "smtp"), 400, "invalid_request"],
    ["of another version", upgrade("/streams/v1/ws").replace("version: 13", "version: 9"), 400, "invalid_request"],
    ["without a key", upgrade("/streams/v1/ws").replace("sec-websocket-key", "x-key"), 400, "invalid_request"]
  ])("is refused %s", async (_, head, status, code) => {
    const { port } = await serve(LiveVenue.make().application)
    const { text } = await exchange(port, head)
    expect(statusOf(text)).toBe(status)
    expect(text).toContain(`"code":"${code}"`)
  })

  test("without a ticket makes room for newcomers, however it pings, one without subscriptions first; with one it stays", async () => {
    const venue = LiveVenue.make()
    const [alice] = await venue.traders(1)
    const { counts, port } = await serve(venue.application, { connectionLimit: 4, connectionsPerAddress: 4 })
    const come = async (subscribes: boolean): Promise<Client> => {
      const client = new Client(port)
      await client.frame("hello")
      if (subscribes) {
        client.say({ op: "subscribe", id: "s", channel: "market.book", marketId })
        await client.frame("snapshot")
      }
      return client
    }
    const owner = await come(false)
    owner.say({ op: "auth", id: "a", ticket: Fake.json(await venue.post(alice!, "/v1/realtime/ticket", { scopes: ["read"] })).ticket })
    await owner.frame("auth_ok")
    const reader = await come(true)
    const pinging = [await come(false), await come(false)]
    for (const { socket } of pinging) socket.ping()
    const closed: Array<string> = []
    void owner.closed.then(() => closed.push("owner"))
    void reader.closed.then(() => closed.push("reader"))
    pinging.forEach((client, at) => void client.closed.then(() => closed.push(`pinging ${at}`)))
    const newcomers = [await come(true), await come(true), await come(true)]
    await expect.poll(() => closed).toEqual(["pinging 0", "pinging 1", "reader"])
    expect(counts()).toEqual({ open: 4, closedForRoom: 3, turnedAway: 0 })
    for (const { socket } of [owner, ...newcomers]) socket.terminate()
  })

  test("takes nothing from a request that only offers HTTP/2", async () => {
    const { port } = await serve(LiveVenue.make().application)
    const offer = "connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
    const { text } = await exchange(port, `GET /v2/time HTTP/1.1\r\nhost: x\r\n${offer}\r\n`)
    expect(statusOf(text)).toBe(200)
  })

  test("gets what was sent right behind its head", async () => {
    const { port } = await serve(LiveVenue.make().application)
    // A masked ping of nothing: the answer is a pong of nothing.
    const { text } = await exchange(port,
      Buffer.concat([Buffer.from(upgrade("/streams/v1/ws")), Buffer.from([0x89, 0x80, 1, 2, 3, 4, 0x88, 0x80, 1, 2, 3, 4])]))
    expect(statusOf(text)).toBe(101)
    expect(text).toContain("\"type\":\"hello\"")
    // The first byte of a pong is no UTF-8, as which all of it is read here.
    expect(text).toContain("\ufffd\u0000")
  })
})
