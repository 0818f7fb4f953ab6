/** The real listener on a loopback port: framing, limits, timeouts, and a stop that answers every request it accepted. */
import * as Net from "node:net"
import { Deferred, Effect, Fiber } from "effect"
import { afterEach, expect, test } from "vitest"
import { Listener } from "../../../src/edge/http/Listener.js"
import type { ListenError } from "../../../src/edge/http/Listener.js"
import * as NodeListener from "../../../src/edge/http/NodeListener.js"
import * as Corpora from "../Corpora.js"
import * as Fake from "../FakeVenue.js"
import { bodyOf, closeAll, exchange, serve, statusesOf, statusOf } from "./NodeServed.js"

afterEach(closeAll)

test("requests arrive whole, with their headers, and are answered", async () => {
  const fake = Fake.make()
  const { port } = await serve(fake.application)
  const response = await fetch(`http://127.0.0.1:${port}/v1/orders`, {
    method: "POST",
    headers: {
      "content-type": "application/json; charset=utf-8",
      authorization: `Bearer ${fake.keys.alice}`,
      "idempotency-key": "k"
    },
    body: JSON.stringify(Fake.order(fake))
  })
  expect(response.status).toBe(200)
  expect(response.headers.get("x-request-id")).toMatch(/^req_/)
  expect(await response.json()).toMatchObject({ version: "external-order/v1", status: "open" })
  const book = await fetch(`http://127.0.0.1:${port}/v2/markets/BTC%2FUSDC%3AUSDC/book?limit=1`)
  expect(await book.json()).toMatchObject({ symbol: "BTC/USDC:USDC" })
})

test.each([
  ["names in any case", "Content-TYPE: application/json", "IDEMPOTENCY-Key: k", (key: string) => `AUTHORIZATION: Bearer ${key}`, 200],
  ["two credentials, which are none", "content-type: application/json", "idempotency-key: k",
    (key: string) => `authorization: Bearer ${key}\r\nauthorization: Bearer no`, 401],
  ["a credential twice", "content-type: application/json", "idempotency-key: k",
    (key: string) => `authorization: Bearer ${key}\r\nauthorization: Bearer ${key}`, 401],
  ["two types, which are none", "content-type: application/json\r\ncontent-type: text/plain", "idempotency-key: k",
    (key: string) => `authorization: Bearer ${key}`, 415],
  ["a coding", "content-type: application/json\r\nContent-Encoding: gzip", "idempotency-key: k",
    (key: string) => `authorization: Bearer ${key}`, 415],
  ["the coding that is none", "content-type: application/json\r\ncontent-encoding: Identity", "idempotency-key: k",
    (key: string) => `authorization: Bearer ${key}`, 200],
  ["two keys, which are none", "content-type: application/json", "idempotency-key: k\r\nidempotency-key: k",
    (key: string) => `authorization: Bearer ${key}`, 400],
  ["no type", "x-content-type: application/json", "idempotency-key: k", (key: string) => `authorization: Bearer ${key}`, 415]
])("of headers, %s", async (_, type, idempotencyKey, credential, status) => {
  const fake = Fake.make()
  const { port } = await serve(fake.application)
  const body = JSON.stringify(Fake.order(fake))
  const head = `POST /v1/orders HTTP/1.1\r\nhost: x\r\n${type}\r\n${idempotencyKey}\r\n${credential(fake.keys.alice)}\r\n`
  const { text } = await exchange(port, `${head}Content-Length: ${body.length}\r\n\r\n${body}`)
  expect(statusOf(text)).toBe(status)
})

test("who asks is read from every header in which the venue's own proxy tells it, and a page's origin from its own", async () => {
  const fake = Fake.make({ trustedProxies: 1, corsOrigins: ["https://a.example"], rateLimits: { perAddress: 1 } })
  const { port } = await serve(fake.application)
  const ask = async (...headers: ReadonlyArray<string>) => {
    const head = ["GET /v2/time HTTP/1.1", "host: x", "connection: close", ...headers].join("\r\n")
    return (await exchange(port, `${head}\r\n\r\n`)).text
  }
  const last = "X-Forwarded-For: 192.0.2.1"
  expect(statusOf(await ask("x-forwarded-for: 192.0.2.9", last))).toBe(200)
  expect(statusOf(await ask(last))).toBe(429)
  // The first such line is the client's own: the last one is the proxy's.
  expect(statusOf(await ask("x-forwarded-for: 192.0.2.9"))).toBe(200)
  expect(await ask("ORIGIN: https://a.example")).toContain("access-control-allow-origin: https://a.example\r\n")
  const preflight = "OPTIONS /v1/orders HTTP/1.1\r\nhost: x\r\nconnection: close\r\norigin: https://a.example\r\n"
  const answer = (await exchange(port, `${preflight}Access-Control-Request-Method: POST\r\n\r\n`)).text
  expect([statusOf(answer), /content-length: 0\r\n/.test(answer)]).toEqual([200, true])
})

/** Requests of browser pages with an Origin header: the request's head, what follows it, and the expected status. */
const ofPages: ReadonlyArray<readonly [what: string, head: string, behind: string, status: number]> = [
  ["a request", "GET /v2/time", "", 200],
  ["what has no route", "GET /nowhere", "", 404],
  ["what needs a credential", "GET /v2/balance", "", 401],
  ["too large a body", "POST /v1/orders", "content-length: 70000\r\n", 413],
  ["too large a body in chunks", "POST /v2/orders", `transfer-encoding: chunked\r\n\r\n11000\r\n${"x".repeat(0x11000)}\r\n`, 413],
  ["a refused expectation", "POST /v2/orders", "expect: tea\r\ncontent-length: 0\r\n", 400],
  ["a stream that is none", "GET /nowhere", "connection: upgrade\r\nupgrade: websocket\r\n", 404],
  ["an upgrade to nothing", "GET /streams/v1/ws", "connection: upgrade\r\nupgrade: tea\r\n", 400]
]

test.each(ofPages)("pages of listed origins, and no others, may read what comes of %s", async (_, line, behind, status) => {
  const listed = "https://a.example"
  const { port } = await serve(Fake.make({ corsOrigins: [listed] }).application)
  const allowed = /^access-control-allow-origin: (.*)\r$/im
  for (const [origin, shown] of [[listed, listed], ["https://b.example", undefined], [undefined, undefined]] as const) {
    const sender = origin === undefined ? "" : `origin: ${origin}\r\n`
    const { text } = await exchange(port, `${line} HTTP/1.1\r\nhost: x\r\n${sender}${behind}\r\n`)
    expect([statusOf(text), allowed.exec(text)?.[1]]).toEqual([status, shown])
    expect(text.toLowerCase()).toContain("vary: origin\r\n")
  }
})

/** Two requests in a row with the addresses that the venue's proxies report, and whether both count against one limit. */
const askers: ReadonlyArray<
  readonly [what: string, proxies: number, first: string | undefined, then: string | undefined, isShared: boolean]
> = [
  ["the same address", 1, "192.0.2.1", "192.0.2.1", true],
  ["two addresses", 1, "192.0.2.1", "192.0.2.2", false],
  ["an address and the same in the form of IPv6", 1, "192.0.2.1", "::ffff:192.0.2.1", true],
  ["two addresses of a /64 network", 1, "2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true],
  ["addresses of two /64 networks", 1, "2001:db8:1:2::1", "2001:db8:1:3::1", false],
  ["what is written to the left of the proxy's own", 1, "192.0.2.7, 192.0.2.1", "192.0.2.8, 192.0.2.1", true],
  ["what the outer of two proxies saw", 2, "192.0.2.1, 198.51.100.1", "192.0.2.2, 198.51.100.1", false],
  ["the same behind two proxies, whichever the inner", 2, "192.0.2.1, 198.51.100.1", "192.0.2.1, 198.51.100.2", true],
  ["no address, which is whoever is connected", 1, "unknown", undefined, true],
  ["addresses that nobody's proxy tells", 0, "192.0.2.1", "192.0.2.2", true]
]

test.each(askers)("of limits, %s", async (_, trustedProxies, first, then, isShared) => {
  const { port } = await serve(Fake.make({ trustedProxies, rateLimits: { perAddress: 1 } }).application)
  const statuses: Array<number> = []
  for (const told of [first, then]) {
    const header = told === undefined ? "" : `x-forwarded-for: ${told}\r\n`
    statuses.push(statusOf((await exchange(port, `GET /v2/time HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${header}\r\n`)).text))
  }
  expect(statuses).toEqual([200, isShared ? 429 : 200])
})

test("whoever answers later hears that the client has gone", async () => {
  const heard = new Promise<void>((resolve) => {
    void serve({ ...Fake.make().application, handle: ({ whenGone }) => void whenGone!(resolve) })
      .then(({ port }) => {
        const socket = Net.connect(port, "127.0.0.1", () => socket.end("GET /v2/time HTTP/1.1\r\nhost: x\r\n\r\n"))
        socket.on("error", () => {})
      })
  })
  await expect(heard).resolves.toBeUndefined()
})

test("whoever asks only once the client has gone hears of it too", async () => {
  const heard = new Promise<void>((resolve) => {
    void serve({ ...Fake.make().application, handle: ({ whenGone }) => void whenGone!(() => void whenGone!(resolve)) })
      .then(({ port }) => {
        const socket = Net.connect(port, "127.0.0.1", () => socket.end("GET /v2/time HTTP/1.1\r\nhost: x\r\n\r\n"))
        socket.on("error", () => {})
      })
  })
  await expect(heard).resolves.toBeUndefined()
})

test("whoever has answered hears nothing any more of the client's going", async () => {
  const heard: Array<string> = []
  const { port } = await serve({
    ...Fake.make().application,
    handle: ({ target, whenGone }, reply) => {
      const noLonger = whenGone!(() => void heard.push(target))
      if (target === "/waits") return
      noLonger()
      reply({ status: 200, headers: {}, body: "" })
    }
  })
  const get = (target: string): string => `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`
  // One connection answers twice, and closes while the third request waits.
  const socket = Net.connect(port, "127.0.0.1", () => socket.write(get("/first") + get("/second") + get("/waits")))
  let answers = ""
  socket.on("data", (chunk) => {
    answers += String(chunk)
    if (answers.split("200 OK").length === 3) socket.end()
  })
  await expect.poll(() => heard).toEqual(["/waits"])
})

test("many requests of one connection may wait for their answers, and Node warns of no leak", async () => {
  const warnings: Array<string> = []
  const warn = ({ name }: Error): void => void warnings.push(name)
  process.on("warning", warn)
  let waiting = 0
  const { port } = await serve({
    ...Fake.make().application,
    handle: ({ whenGone }) => {
      waiting++
      whenGone!(() => void waiting--)
    }
  })
  const socket = Net.connect(port, "127.0.0.1", () => socket.write("GET /v2/time HTTP/1.1\r\nhost: x\r\n\r\n".repeat(20)))
  await expect.poll(() => waiting).toBe(16)
  socket.destroy()
  await expect.poll(() => waiting).toBe(0)
  process.off("warning", warn)
  expect(warnings).toEqual([])
})

test("of two pages' origins the first counts", async () => {
  const listed = "https://a.example"
  const { port } = await serve(Fake.make({ corsOrigins: [listed] }).application)
  const ask = async (...origins: ReadonlyArray<string>) => {
    const headers = origins.map((origin) => `origin: ${origin}\r\n`).join("")
    return (await exchange(port, `GET /v2/time HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`)).text
  }
  expect(await ask(listed, "https://b.example")).toContain(`access-control-allow-origin: ${listed}\r\n`)
  expect(await ask("https://b.example", listed)).not.toContain("access-control-allow-origin")
})

test("a client that waits before it sends its body is asked for it, and not where it is too large", async () => {
  const fake = Fake.make()
  const { port } = await serve(fake.application)
  const body = JSON.stringify(Fake.order(fake))
  const head = (length: number): string =>
    `POST /v1/orders HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-type: application/json\r\nidempotency-key: k\r\n`
    + `authorization: Bearer ${fake.keys.alice}\r\ncontent-length: ${length}\r\n\r\n`
  expect(statusesOf((await exchange(port, head(body.length) + body)).text)).toEqual([100, 200])
  const tooLarge = await exchange(port, head(65_537))
  expect([statusesOf(tooLarge.text), tooLarge.closed]).toEqual([[413], true])
})

test("an old version needs no host", async () => {
  const { port } = await serve(Fake.make().application)
  expect(statusOf((await exchange(port, "GET /healthz HTTP/1.0\r\n\r\n")).text)).toBe(200)
})

test.each(["x", "venue.example:8080", "[2001:db8::1]:8080", ""])("%j is a host", async (host) => {
  const { port } = await serve(Fake.make().application)
  expect(statusOf((await exchange(port, `GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`)).text)).toBe(200)
})

test("a body in many pieces is one body", async () => {
  const fake = Fake.make()
  const { port } = await serve(fake.application)
  const body = JSON.stringify(Fake.order(fake))
  const head = `POST /v1/orders HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nidempotency-key: k\r\n`
    + `authorization: Bearer ${fake.keys.alice}\r\ntransfer-encoding: chunked\r\n\r\n`
  const chunks = [...body].map((character) => `1\r\n${character}\r\n`).join("")
  const { text } = await exchange(port, `${head}${chunks}0\r\n\r\n`)
  expect(statusOf(text)).toBe(200)
})

test("pipelined requests are answered in order on one connection", async () => {
  const fake = Fake.make()
  const { port } = await serve(fake.application)
  const { text } = await exchange(port, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nGET /v1/nowhere HTTP/1.1\r\nhost: x\r\n\r\n")
  expect([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1])).toEqual(["200", "404"])
})

test.each([
  ["no HTTP at all", "hello\r\n\r\n", 400, "invalid_request"],
  ["no host", "GET /healthz HTTP/1.1\r\n\r\n", 400, "invalid_request"],
  ["two hosts", "GET /healthz HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n", 400, "invalid_request"],
  ["two hosts of an old version", "GET /healthz HTTP/1.0\r\nhost: x\r\nhost: x\r\n\r\n", 400, "invalid_request"],
  [
    "two lengths",
    "POST /v1/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}",
    400,
    "invalid_request"
  ],
  [
    "length and chunks",
    "POST /v1/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    400,
    "invalid_request"
  ],
  ["a list of hosts", "GET /healthz HTTP/1.1\r\nhost: a, b\r\n\r\n", 400, "invalid_request"],
  ["a host with a blank", "GET /healthz HTTP/1.1\r\nhost: a b\r\n\r\n", 400, "invalid_request"],
  [
    "chunks in an old version",
    "POST /v1/orders HTTP/1.0\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n",
    400,
    "invalid_request"
  ],
  [
    "a coding besides chunks",
    "POST /v1/orders HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    400,
    "invalid_request"
  ],
  ["headers beyond the limit", `GET / HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(20_000)}\r\n\r\n`, 400, "invalid_request"],
  ["a length beyond the limit", "POST /v1/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 65537\r\n\r\n", 413, "payload_too_large"],
  [
    "chunks beyond the limit",
    `POST /v1/orders HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n11000\r\n${"x".repeat(0x11000)}\r\n`,
    413,
    "payload_too_large"
  ],
  ["an expectation", "POST /v1/orders HTTP/1.1\r\nhost: x\r\nexpect: tea\r\ncontent-length: 0\r\n\r\n", 400, "invalid_request"],
  ["a tunnel", "CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n", 400, "invalid_request"]
])("%s is told so in an envelope, and the connection is closed", async (_, bytes, status, code) => {
  const { port } = await serve(Fake.make().application)
  const { closed, text } = await exchange(port, bytes, 2_000)
  expect({ status: statusOf(text), closed }).toEqual({ status, closed: true })
  expect(text.toLowerCase()).toContain("x-request-id: req_")
  expect(text.match(/^connection: close\r$/gim)).toHaveLength(1)
  const date = /^date: (.+ GMT)\r$/im.exec(text)?.[1] ?? ""
  expect(Math.abs(Date.parse(date) - Date.now())).toBeLessThan(60_000)
  expect(bodyOf(text)).toMatchObject({ version: "external-rest-error/v1", code })
})

test("a client that is too slow is told so and let go", async () => {
  const { port } = await serve(Fake.make().application, { headersTimeoutMs: 200, requestTimeoutMs: 400 })
  const headers = await exchange(port, "GET /healthz HTTP/1.1\r\nhost: x\r\n", 3_000)
  expect([statusOf(headers.text), headers.closed]).toEqual([400, true])
  const body = await exchange(port, "POST /v1/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{", 3_000)
  expect([statusOf(body.text), body.closed]).toEqual([400, true])
})

test("a client that goes away in the middle of its body asked for nothing", async () => {
  const fake = Fake.make()
  const { port } = await serve(fake.application)
  await new Promise<void>((resolve) => {
    const socket = Net.connect(port, "127.0.0.1", () => {
      socket.write(`POST /v1/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"accountId"`, () => {
        socket.destroy()
        resolve()
      })
    })
  })
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  expect(fake.commands).toEqual([])
})

test.skipIf(!Corpora.isPresent("llhttp"))("what llhttp is tested with meets an answer or a closed connection", async () => {
  const fake = Fake.make()
  const { port } = await serve(fake.application, { headersTimeoutMs: 300, requestTimeoutMs: 300 })
  const samples = Corpora.llhttp()
  expect(samples.length).toBeGreaterThan(100)
  const seen = new Set<number>()
  for (let at = 0; at < samples.length; at += 16) {
    const answers = await Promise.all(samples.slice(at, at + 16).map(({ bytes }) => exchange(port, bytes, 100)))
    for (const { text } of answers) {
      for (const match of text.matchAll(/HTTP\/1\.1 (\d{3})/g)) seen.add(Number(match[1]))
    }
  }
  expect([...seen].filter((status) => status < 400 || status >= 500)).toEqual([])
  expect(fake.commands).toEqual([])
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
})

test("a stop answers what is under way and takes nothing new", async () => {
  const fake = Fake.make()
  fake.hold = true
  const served = await serve(fake.application)
  const pending = fetch(`http://127.0.0.1:${served.port}/v1/orders`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${fake.keys.alice}`, "idempotency-key": "k" },
    body: JSON.stringify(Fake.order(fake))
  })
  while (fake.commands.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const stopped = served.close()
  const late = await exchange(served.port, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
  expect(late).toEqual({ text: "", closed: true })
  fake.release()
  const response = await pending
  expect([response.status, response.headers.get("connection")]).toEqual([200, "close"])
  await stopped
})

test("a connection on which nothing was ever sent holds no stop up", async () => {
  const served = await serve(Fake.make().application, { drainTimeoutMs: 1_000_000 })
  const socket = Net.connect(served.port, "127.0.0.1")
  const closed = new Promise((resolve) => socket.once("close", resolve))
  socket.on("error", () => {})
  await expect.poll(served.openSockets).toBe(1)
  await served.close()
  await closed
})

test("a request that is never answered does not hold a stop for ever", async () => {
  const fake = Fake.make()
  fake.hold = true
  const served = await serve(fake.application, { drainTimeoutMs: 100 })
  const pending = fetch(`http://127.0.0.1:${served.port}/v1/markets`).then(() => "answered", () => "cut off")
  await new Promise((resolve) => setTimeout(resolve, 50))
  await served.close()
  expect(await pending).toBe("cut off")
})

const upgradeTo = (protocol: string): string => `GET /nowhere HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: ${protocol}\r\n`
const webSocket = "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

/** Requests that are refused on a connection that `node:http` has handed over, or no longer frames. */
const refused: ReadonlyArray<readonly [what: string, bytes: string]> = [
  ["a stream that is none", `${upgradeTo("websocket")}${webSocket}\r\n`],
  ["a stream's bad key",
    `GET /streams/v1/ws HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: x\r\n\r\n`],
  ["an upgrade to nothing", `${upgradeTo("tea")}\r\n`],
  ["an upgrade to nothing, and more behind it", `${upgradeTo("tea")}\r\nabcdef`],
  ["a tunnel", "CONNECT a.example:1 HTTP/1.1\r\nhost: x\r\n\r\n"],
  ["what is no request", "GARBAGE\r\n\r\n"]
]

/** A client that has sent something and keeps its own side of the connection open. */
const holding = (port: number, bytes: string): { readonly answered: Promise<void>; readonly leave: () => void } => {
  const socket = Net.connect({ port, host: "127.0.0.1", allowHalfOpen: true })
  socket.on("error", () => {})
  const answered = new Promise<void>((resolve) => socket.once("data", () => resolve()))
  socket.on("data", () => {})
  socket.write(bytes)
  return { answered, leave: () => void socket.destroy() }
}

test.each(refused)("whoever is refused and keeps its side open is let go in time: %s", async (_, bytes) => {
  const { openSockets, port } = await serve(Fake.make().application, { patienceMs: 50 })
  const client = holding(port, bytes)
  await client.answered
  await expect.poll(openSockets).toBe(0)
  client.leave()
})

test.each(refused)("whoever is refused and keeps its side open holds no stop: %s", async (_, bytes) => {
  const served = await serve(Fake.make().application, { patienceMs: 3_600_000, drainTimeoutMs: 50 })
  const client = holding(served.port, bytes)
  await client.answered
  await served.close()
  client.leave()
})

test("an address in use is an error with its name", async () => {
  const { port } = await serve(Fake.make().application)
  const program: Effect.Effect<ListenError | undefined> = Effect.scoped(
    Effect.flatMap(Listener, (listener) => listener.serve(Fake.make().application)).pipe(
      Effect.as(undefined),
      Effect.catchTag("ListenError", (error) => Effect.succeed(error))
    )
  ).pipe(Effect.provide(NodeListener.layer({ ...NodeListener.defaults, port })))
  expect((await Effect.runPromise(program))?.address).toBe(`127.0.0.1:${port}`)
})

test("interrupting whoever serves is a stop", async () => {
  const fake = Fake.make()
  const started = await Effect.runPromise(Deferred.make<number>())
  const fiber = Effect.runFork(
    Effect.scoped(
      Effect.flatMap(Listener, (listener) => listener.serve(fake.application)).pipe(
        Effect.tap(({ port }) => Deferred.succeed(started, port)),
        Effect.zipRight(Effect.never)
      )
    ).pipe(Effect.provide(NodeListener.layer({ ...NodeListener.defaults, port: 0 })))
  )
  const port = await Effect.runPromise(Deferred.await(started))
  expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  await Effect.runPromise(Fiber.interrupt(fiber))
  expect((await exchange(port, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")).text).toBe("")
})

test("open connections are counted, and no longer once they are gone", async () => {
  const served = await serve(Fake.make().application)
  expect(served.openSockets()).toBe(0)
  const sockets = [1, 2].map(() => Net.connect(served.port, "127.0.0.1"))
  await expect.poll(served.openSockets).toBe(2)
  sockets[0]!.destroy()
  await expect.poll(served.openSockets).toBe(1)
  sockets[1]!.destroy()
  await expect.poll(served.openSockets).toBe(0)
})
