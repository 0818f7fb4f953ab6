/** WebSockets on the real listener: how they open and close, and requests beside them. */
import * as Net from "node:net"
import { afterEach, describe, expect, test, vi } from "vitest"
import { WebSocket } from "ws"
import * as Fake from "../FakeVenue.js"
import { LiveVenue, marketId } from "../LiveVenue.js"
import type { Application, Peer } from "../../../src/edge/http/Listener.js"
import { bodyOf, closeAll, exchange, inPieces, serve, statusesOf, statusOf } from "./NodeServed.js"

afterEach(closeAll)

/** A frame from the server, never masked: its first byte and its payload. */
interface Received {
  readonly first: number
  readonly payload: Buffer
}

/** The complete frames in the received bytes, each shorter than 65,536 bytes. */
const framesIn = (bytes: Buffer): ReadonlyArray<Received> => {
  const frames: Array<Received> = []
  for (let at = 0; at + 2 <= bytes.length;) {
    const short = bytes[at + 1]!
    const head = short < 126 ? 2 : 4
    const length = short < 126 ? short : bytes.readUInt16BE(at + 2)
    if (at + head + length > bytes.length) break
    frames.push({ first: bytes[at]!, payload: bytes.subarray(at + head, at + head + length) })
    at += head + length
  }
  return frames
}

/** A client's frame with a given first byte, masked with zeros, which leave the payload unchanged. */
const masked = (first: number, payload: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from([first, 0x80 | payload.length, 0, 0, 0, 0]), payload])

/** A client's closing frame: 1000. */
const bye = masked(0x88, Buffer.from([0x03, 0xe8]))

/** The server's answer to a head, and to the bytes sent after that answer, until it closes the connection. */
const spoken = (
  port: number,
  head: string,
  then: Uint8Array
): Promise<{ readonly head: string; readonly frames: ReadonlyArray<Received> }> =>
  new Promise((resolve, reject) => {
    let all = Buffer.alloc(0)
    let hasSpoken = false
    const end = (): number => all.indexOf("\r\n\r\n") + 4
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(head))
    socket.on("error", reject)
    socket.on("data", (chunk) => {
      all = Buffer.concat([all, chunk])
      if (hasSpoken || end() < 4) return
      hasSpoken = true
      socket.write(then)
    })
    socket.on("close", () => resolve({ head: all.subarray(0, end()).toString("latin1"), frames: framesIn(all.subarray(end())) }))
  })

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

const nothing = (): void => {}

/** A conversation that ignores everything. */
const deaf = {
  address: "127.0.0.1",
  text: nothing,
  binary: nothing,
  alive: nothing,
  answered: nothing,
  drained: nothing,
  closed: nothing,
  isIdle: () => true,
  isAnonymous: () => true
}

/** An application that answers every request. */
const answering: Application = {
  handle: (_request, reply) => reply({ status: 200, headers: {}, body: "" }),
  misframed: () => ({ status: 400, headers: {}, body: "" })
}

/** Work of about the effort of reading and refusing a frame. */
const work = (): void => {
  for (const end = performance.now() + 1; performance.now() < end;);
}

/** A client's socket, once it is open. */
const open = (port: number, name: string): Promise<WebSocket> =>
  new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/${name}`)
    socket.on("open", () => resolve(socket))
  })

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
      "the venue is asked for signs of life more often than a client may speak",
      (socket: WebSocket) => {
        for (let count = 0; count < 200; count++) socket.ping()
      },
      1008
    ],
    [
      "a frame comes in more pieces than a client has reason for",
      (socket: WebSocket) => {
        for (let count = 0; count < 20; count++) socket.send("", { fin: false })
      },
      1008
    ],
    ["its frames are not those of a client", (socket: WebSocket) => socket.send("{}", { mask: false }), 1002]
  ])("ends where %s", async (_, misbehave, code) => {
    const { port } = await serve(LiveVenue.make().application)
    const client = new Client(port)
    await client.frame("hello")
    misbehave(client.socket)
    expect(await client.closed).toBe(code)
  })

  test("hears a text that comes in several pieces", async () => {
    const { port } = await serve(LiveVenue.make().application)
    const client = new Client(port)
    await client.frame("hello")
    const text = "{\"op\":\"ping\",\"id\":\"p\"}"
    for (let at = 0; at < 16; at++) client.socket.send(at < 15 ? text[at]! : text.slice(15), { fin: at === 15 })
    expect(await client.frame("pong")).toMatchObject({ id: "p" })
    client.socket.terminate()
  })

  test.each([
    ["pings", 0x89],
    ["pongs", 0x8a],
    ["texts", 0x81]
  ])("that the venue has ended is listened to no more, however many %s still come, and its client is told at once", async (_, first) => {
    let heard = 0
    const conversation = (peer: Peer) => {
      const hear = (): void => {
        if (++heard === 3) peer.close(1008, "enough")
      }
      return { ...deaf, text: hear, alive: hear, answered: hear }
    }
    const { counts, port } = await serve({ ...answering, open: () => ({ accept: conversation }) })
    const flood = Buffer.concat(Array<Buffer>(10_000).fill(masked(first, Buffer.alloc(0))))
    const { frames } = await spoken(port, upgrade("/"), Buffer.concat([flood, flood, flood]))
    const last = frames.at(-1)!
    expect([last.first, last.payload.readUInt16BE(0)]).toEqual([0x88, 1008])
    // Few of the 30,000: those that came in the same chunk as the frame that exceeded the limit.
    expect(heard).toBeLessThan(200)
    await expect.poll(() => counts().open).toBe(0)
  })

  test.each([
    ["with a word", bye, 1000],
    ["with a frame larger than it may send",
      Buffer.concat([Buffer.from([0x81, 0xfe, 0x40, 0x01, 0, 0, 0, 0]), Buffer.alloc(16 * 1024 + 1)]), 1009]
  ])("whose client ends it %s and leaves its side of the connection open is gone three seconds later", async (_, last, code) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    try {
      const { counts, port } = await serve(LiveVenue.make().application)
      const socket = Net.connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => socket.write(upgrade("/streams/v1/ws")))
      let came = Buffer.alloc(0)
      const isTold = new Promise<void>((resolve) => {
        let hasSpoken = false
        socket.on("data", (chunk: Buffer) => {
          came = Buffer.concat([came, chunk])
          const head = came.indexOf("\r\n\r\n") + 4
          const frames = head < 4 ? [] : framesIn(came.subarray(head))
          if (frames.length > 0 && !hasSpoken) {
            hasSpoken = true
            socket.write(last)
          }
          if (frames.some(({ first, payload }) => first === 0x88 && payload.readUInt16BE(0) === code)) resolve()
        })
      })
      socket.on("error", () => {})
      await isTold
      expect(counts().open).toBe(1)
      vi.advanceTimersByTime(2_999)
      expect(counts().open).toBe(1)
      const gone = new Promise((resolve) => socket.once("close", resolve))
      vi.advanceTimersByTime(1)
      vi.useRealTimers()
      await expect.poll(() => counts().open).toBe(0)
      socket.end()
      await gone
    } finally {
      vi.useRealTimers()
    }
  })

  test.each([
    ["on a path that is not the stream's", upgrade("/v1/markets"), 404, "route_not_found"],
    ["to something else than a WebSocket", upgrade("/streams/v1/ws").replace("websocket", "smtp"), 400, "invalid_request"],
    ["of another version", upgrade("/streams/v1/ws").replace("version: 13", "version: 9"), 400, "invalid_request"],
    ["with two hosts", upgrade("/streams/v1/ws", "host: y\r\n"), 400, "invalid_request"],
    ["without a host", upgrade("/streams/v1/ws").replace("host: x\r\n", ""), 400, "invalid_request"],
    ["of an old version of HTTP", upgrade("/streams/v1/ws").replace("HTTP/1.1", "HTTP/1.0"), 400, "invalid_request"],
    ["with a body", upgrade("/streams/v1/ws", "content-length: 42\r\n"), 400, "invalid_request"],
    ["with a body in chunks", upgrade("/streams/v1/ws", "transfer-encoding: chunked\r\n"), 400, "invalid_request"],
    ["without a key", upgrade("/streams/v1/ws").replace("sec-websocket-key", "x-key"), 400, "invalid_request"]
  ])("is refused %s", async (_, head, status, code) => {
    const { port } = await serve(LiveVenue.make().application)
    const { text } = await exchange(port, head)
    expect(statusOf(text)).toBe(status)
    expect(text).toContain(`"code":"${code}"`)
  })

  test("opens where a letter of its path is percent-encoded, as any route is found, and without an upgrade is told what is missing", async () => {
    const { port } = await serve(LiveVenue.make().application)
    const { head } = await spoken(port, upgrade("/streams/v1/%77s"), bye)
    expect(statusOf(head)).toBe(101)
    for (const path of ["/streams/v1/ws", "/%73treams/v1/w%73"]) {
      const { text } = await exchange(port, `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
      expect([statusOf(text), bodyOf(text).safeMessage]).toEqual([404, expect.stringContaining("WebSocket upgrades alone")])
    }
    const { text } = await exchange(port, upgrade("/streams%2Fv1/ws"))
    expect(statusOf(text)).toBe(404)
  })

  test("is answered with a request id of its own, and with what is left of its address's requests", async () => {
    const venue = LiveVenue.make(undefined, { perAddress: 5 })
    const { port } = await serve(venue.application)
    const heads = [await spoken(port, upgrade("/streams/v1/ws"), bye), await spoken(port, upgrade("/streams/v1/ws"), bye)]
      .map(({ head }) =>
        Object.fromEntries([...head.matchAll(/^([\w-]+): (.*)\r$/gm)].map(([, name, value]) => [name!.toLowerCase(), value]))
      )
    expect(heads).toMatchObject(["4", "3"].map((left) => ({
      upgrade: "websocket",
      "ratelimit-limit": "5",
      "ratelimit-remaining": left,
      "ratelimit-reset": expect.stringMatching(/^\d+$/)
    })))
    const ids = heads.map((head) => head["x-request-id"])
    for (const id of ids) expect(id).toMatch(/^req_[0-9a-f]{24}$/)
    expect(new Set(ids).size).toBe(2)
  })

  test("is refused in the envelope of its path's family", async () => {
    const { port } = await serve(LiveVenue.make().application)
    const { text } = await exchange(port, upgrade("/v2/time"))
    expect([statusOf(text), bodyOf(text)]).toMatchObject([404, { name: "BadRequest", code: "route_not_found" }])
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
    expect(counts()).toEqual({ open: 4, accepted: 7, closedForRoom: 3, turnedAway: 0 })
    for (const { socket } of [owner, ...newcomers]) socket.terminate()
  })

  test("is told with 1001 that the venue stops", async () => {
    const served = await serve(LiveVenue.make().application)
    const [first, second] = [new Client(served.port), new Client(served.port)]
    await Promise.all([first, second].map((client) => client.frame("hello")))
    await served.close()
    expect(await Promise.all([first.closed, second.closed])).toEqual([1001, 1001])
  })

  test.each([
    ["nothing", ""],
    ["compression", "sec-websocket-extensions: permessage-deflate\r\n"],
    [
      "compression with settings, and more",
      "sec-websocket-extensions: x-webkit-deflate-frame, permessage-deflate; client_max_window_bits=15; server_no_context_takeover\r\n"
    ]
  ])("agrees to no extension where %s is offered, and ends with 1002 at a compressed frame", async (_, offer) => {
    const { port } = await serve(LiveVenue.make().application)
    // `{"op":"ping","id":"p"}` compressed as by permessage-deflate, in a text frame with RSV1 set.
    const ping = Buffer.from("{\"op\":\"ping\",\"id\":\"p\"}")
    const stored = Buffer.concat([Buffer.from([0x00, ping.length, 0, ~ping.length & 0xff, 0xff]), ping])
    const both = Buffer.concat([masked(0xc1, stored), bye])
    const { frames, head } = await spoken(port, upgrade("/streams/v1/ws", offer), both)
    expect(statusOf(head)).toBe(101)
    expect(head.toLowerCase()).not.toContain("sec-websocket-extensions")
    const [hello, close, ...more] = frames
    expect([hello!.first, JSON.parse(hello!.payload.toString()).type]).toEqual([0x81, "hello"])
    expect([close!.first, close!.payload.readUInt16BE(0)]).toEqual([0x88, 1002])
    // It was not heard as a ping of the stream's protocol.
    expect(more).toEqual([])
  })

  test("answers every ping of a hundred that come in one piece, each with what it carries", async () => {
    const { port } = await serve(LiveVenue.make().application)
    const payloads = Array.from({ length: 100 }, (_, at) => Buffer.from([at]))
    const { frames } = await spoken(port, upgrade("/streams/v1/ws"), Buffer.concat([...payloads.map((each) => masked(0x89, each)), bye]))
    expect(frames.slice(1, -1)).toEqual(payloads.map((payload) => ({ first: 0x8a, payload })))
    expect([frames[0]!.first, frames.at(-1)!.first]).toEqual([0x81, 0x88])
  })

  test("answers the same text where it is not compressed", async () => {
    const { port } = await serve(LiveVenue.make().application)
    const ping = Buffer.from("{\"op\":\"ping\",\"id\":\"p\"}")
    const { frames } = await spoken(port, upgrade("/streams/v1/ws"), Buffer.concat([masked(0x81, ping), bye]))
    expect(frames.map(({ first }) => first)).toEqual([0x81, 0x81, 0x88])
    expect(JSON.parse(frames[1]!.payload.toString())).toMatchObject({ type: "pong", id: "p" })
  })

  test("gets a change in the very bytes that everybody else gets, which were made once", async () => {
    const venue = LiveVenue.make()
    const [alice] = await venue.traders(1)
    const { port } = await serve(venue.application)
    const clients = [new Client(port), new Client(port), new Client(port)]
    for (const client of clients) {
      await client.frame("hello")
      client.say({ op: "subscribe", id: "s", channel: "market.book", marketId })
      await client.frame("snapshot")
    }
    const write = vi.spyOn(Net.Socket.prototype, "write")
    await venue.place(alice!)
    await Promise.all(clients.map((client) => client.frame("update")))
    const written = write.mock.calls.map(([bytes]) => bytes).filter((bytes) =>
      bytes instanceof Uint8Array && Buffer.from(bytes).includes("\"type\":\"update\"")
    )
    write.mockRestore()
    expect(written).toHaveLength(3)
    expect(new Set(written).size).toBe(1)
    for (const { socket } of clients) socket.terminate()
  })

  test("is heard in its turn: frames in one piece hold up nobody's request, nor those of another", async () => {
    const order: Array<string> = []
    const conversation = (name: string) => ({
      ...deaf,
      text: () => {
        order.push(name)
        work()
      },
      closed: () => void order.push(`${name} closed`)
    })
    const { port } = await serve({
      handle: (_request, reply) => {
        order.push("request")
        reply({ status: 200, headers: {}, body: "" })
      },
      open: ({ target }) => ({ accept: () => conversation(target.slice(1)) }),
      misframed: () => ({ status: 400, headers: {}, body: "" })
    })
    const [flood, quiet] = [await open(port, "flood"), await open(port, "quiet")]
    const plain = Net.connect(port, "127.0.0.1")
    await new Promise((resolve) => plain.once("connect", resolve))
    for (let count = 0; count < 100; count++) flood.send("{}")
    await expect.poll(() => order.length, { interval: 1 }).toBeGreaterThan(0)
    quiet.send("{}")
    plain.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    await expect.poll(() => order.includes("request") && order.includes("quiet"), { interval: 1 }).toBe(true)
    expect(Math.max(order.indexOf("request"), order.indexOf("quiet"))).toBeLessThan(100)
    flood.terminate()
    // Frames sent before the end are heard, and the end is heard after them.
    await expect.poll(() => order.at(-1)).toBe("flood closed")
    expect(order.filter((name) => name === "flood")).toHaveLength(100)
    quiet.terminate()
    plain.destroy()
  })

  test("is heard before those who wait where it cancels, and not otherwise", async () => {
    const order: Array<string> = []
    const { port } = await serve({
      ...answering,
      open: () => ({
        accept: () => ({
          ...deaf,
          text: (bytes) => {
            order.push(Buffer.from(bytes).toString())
            work()
          }
        })
      })
    })
    const floods = await Promise.all(Array.from({ length: 40 }, () => open(port, "flood")))
    const quiet = await Promise.all(Array.from({ length: 3 }, () => open(port, "quiet")))
    const place = "{\"op\":\"place\"}"
    const cancels = ["{\"op\":\"cancel_all\"}", "{\"id\":\"c\",\"op\":\"cancel\"}"]
    for (const flood of floods) for (let count = 0; count < 4; count++) flood.send("{}")
    await expect.poll(() => order.length, { interval: 1 }).toBeGreaterThan(20)
    for (const [at, text] of [place, ...cancels].entries()) quiet[at]!.send(text)
    await expect.poll(() => order.length, { interval: 1 }).toBe(163)
    const places = cancels.map((text) => order.indexOf(text))
    expect(Math.max(...places)).toBeLessThan(order.indexOf(place))
    for (const socket of [...floods, ...quiet]) socket.terminate()
  })

  const offering = (protocol: string, line = "GET /v2/time", behind = "\r\n"): string =>
    `${line} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMA\r\n${behind}`

  test("takes nothing from requests that only offer HTTP/2, also where several come together", async () => {
    const { port } = await serve(LiveVenue.make().application)
    const body = offering("h2c", "POST /v2/orders", "content-length: 2\r\n\r\n{}")
    const all = [offering("h2c"), body, offering(" \th2c "), "GET /v2/time HTTP/1.1\r\nhost: x\r\nupstream: y\r\n\r\n"].join("")
    expect(statusesOf((await exchange(port, all)).text)).toEqual([200, 401, 200, 200])
    // It does not matter in which pieces an offer arrives; and what is no request is still refused behind it.
    for (const length of [1, 2, 3, 7, 50]) {
      expect(statusesOf(await inPieces(port, length, `${all}GARBAGE\r\n\r\n`))).toEqual([200, 401, 200, 200, 400])
    }
  })

  test.each(["h2c, foo", "foo/2", "TLS/1.2"])("is not what %s is, which is refused in whatever pieces it arrives", async (protocol) => {
    const { port } = await serve(LiveVenue.make().application)
    for (const length of [1, 7, 1_000]) expect(statusesOf(await inPieces(port, length, offering(protocol)))).toEqual([400])
  })

  test("gets what was sent right behind its head", async () => {
    const { port } = await serve(LiveVenue.make().application)
    // A masked ping without payload; the answer is a pong without payload.
    const { text } = await exchange(port,
      Buffer.concat([Buffer.from(upgrade("/streams/v1/ws")), Buffer.from([0x89, 0x80, 1, 2, 3, 4, 0x88, 0x80, 1, 2, 3, 4])]))
    expect(statusOf(text)).toBe(101)
    expect(text).toContain("\"type\":\"hello\"")
    // The first byte of a pong is no valid UTF-8, but the whole answer is read as UTF-8 here.
    expect(text).toContain("\ufffd\u0000")
  })
})
