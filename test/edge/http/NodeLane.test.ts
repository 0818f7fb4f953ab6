/**
 * Pipelined requests on one connection: the order of their answers, limits, and bytes that cannot be framed behind a request that was
 * carried out.
 */
import * as Net from "node:net"
import { afterEach, describe, expect, test } from "vitest"
import { type Exchange, Lane, type Server } from "../../../src/edge/http/Lane.js"
import type { Application, Reply, Request } from "../../../src/edge/http/Listener.js"
import { Rotation } from "../../../src/edge/http/Rotation.js"
import { Unread } from "../../../src/edge/http/Unread.js"
import * as Fake from "../FakeVenue.js"
import { bodyOf, closeAll, exchange, serve, statusesOf, statusOf } from "./NodeServed.js"

afterEach(closeAll)

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`

const post = (fake: Fake.FakeVenue, idempotencyKey: string): string => {
  const body = JSON.stringify(Fake.order(fake, { clientOrderId: idempotencyKey }))
  return `POST /v1/orders HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nidempotency-key: ${idempotencyKey}\r\n`
    + `authorization: Bearer ${fake.keys.alice}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2))
}

describe("an order with something behind it that is no request", () => {
  const strays = [
    ["a brace", "}"],
    ["a NUL", "\0"],
    ["headers beyond the limit", `GET / HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(20_000)}\r\n\r\n`],
    ["a tunnel", "CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["an upgrade to nothing", "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: tea\r\n\r\n"],
    ["blank lines", "\r\n".repeat(20_000)],
    ["a request without a host", "GET /healthz HTTP/1.1\r\n\r\n"],
    ["an expectation", "GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: tea\r\n\r\n"],
    ["a body beyond the limit", "POST /v1/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 65537\r\n\r\n"],
    ["a chunk that is none", "POST /v1/orders HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"],
    ["a request that never becomes whole", "GET /healthz HTTP/1.1\r\nho"]
  ] as const

  const refusedBehind = async (name: string, stray: string): Promise<void> => {
    const fake = Fake.make()
    fake.hold = true
    const { port } = await serve(fake.application, { headersTimeoutMs: 300, requestTimeoutMs: 600 })
    const answer = exchange(port, post(fake, "k") + stray, 3_000)
    await until(() => fake.commands.length === 1)
    // Longer than a refusal would take if it did not wait, and than the time limit for a head.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    fake.release()
    const { closed, text } = await answer
    expect(closed, name).toBe(true)
    expect(statusesOf(text)[0], name).toBe(200)
    expect(statusesOf(text).slice(1).every((status) => status === 400 || status === 413), name).toBe(true)
    expect(statusesOf(text), name).toHaveLength(2)
    expect(text, name).toContain("\"status\":\"open\"")
    expect(fake.commands, name).toHaveLength(1)
  }

  // All at once, since each of them waits as long as a refusal could take.
  test("is answered for itself, and that is refused behind it, whatever it is", async () => {
    await Promise.all(strays.map(([name, stray]) => refusedBehind(name, stray)))
  })

  test("is refused with it where it was not whole itself: then nothing was done", async () => {
    const fake = Fake.make()
    const { port } = await serve(fake.application)
    const head = post(fake, "k").replace(/content-length: \d+/, "transfer-encoding: chunked")
    const { text } = await exchange(port, `${head.slice(0, head.indexOf("\r\n\r\n"))}\r\n\r\n5\r\n{"acc\r\nzz\r\n`)
    expect(statusesOf(text)).toEqual([400])
    expect(fake.commands).toEqual([])
  })
})

test("requests of one connection are dispatched in the order in which they were sent, with bodies and without", async () => {
  const seen: Array<string> = []
  const application: Application = {
    handle: ({ body, target }, reply) => {
      seen.push(`${target}${Buffer.from(body).toString()}`)
      reply({ status: 200, headers: {}, body: "" })
    },
    misframed: () => ({ status: 400, headers: {}, body: "" })
  }
  const { port } = await serve(application)
  const asked = Array.from({ length: 40 },
    (_, at) => at % 3 === 0 ? `POST /${at} HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\n!` : get(`/${at}`))
  const { text } = await exchange(port, asked.join(""))
  expect(statusesOf(text)).toHaveLength(40)
  expect(seen).toEqual(asked.map((_, at) => at % 3 === 0 ? `/${at}!` : `/${at}`))
})

/** An application that collects requests, and answers when the test says so. */
const keeping = () => {
  const kept: Array<{ readonly request: Request; readonly reply: Reply }> = []
  const application: Application = {
    handle: (request, reply) => kept.push({ request, reply }),
    misframed: () => ({ status: 400, headers: {}, body: "" })
  }
  return { kept, application }
}

test("of a flood on one connection a bounded number is under way, and all are answered in order", async () => {
  const { application, kept } = keeping()
  const { port } = await serve(application)
  const answer = exchange(port, Array.from({ length: 2_000 }, (_, at) => get(`/${at}`)).join(""), 2_000)
  let answered = 0
  await until(() => kept.length === 16)
  while (answered < 2_000) {
    await new Promise((resolve) => setImmediate(resolve))
    expect(kept.length - answered).toBeLessThanOrEqual(16)
    // In reverse, so that the order of the answers is the listener's work.
    for (const { reply, request } of kept.slice(answered).reverse()) reply({ status: 200, headers: {}, body: `${request.target};` })
    answered = kept.length
  }
  const bodies = [...(await answer).text.matchAll(/(\/\d+);/g)].map((match) => match[1])
  expect(bodies).toEqual(Array.from({ length: 2_000 }, (_, at) => `/${at}`))
})

describe("requests that wait for the venue for longer than a head may take", () => {
  const begin = async (sent: string) => {
    const { application, kept } = keeping()
    const { port } = await serve(application, { headersTimeoutMs: 50, requestTimeoutMs: 200 })
    const answer = exchange(port, sent, 600)
    await until(() => kept.length === 16)
    // Longer than `node:http` takes to time out the head whose beginning the lane has framed.
    await new Promise((resolve) => setTimeout(resolve, 250))
    expect(kept).toHaveLength(16)
    let answered = 0
    const release = (): void => {
      for (const { reply } of kept.slice(answered)) reply({ status: 200, headers: {}, body: "" })
      answered = kept.length
    }
    return { answer, kept, release }
  }
  const padded = (target: string): string => get(target).replace("\r\n\r\n", `\r\nx-pad: ${"y".repeat(100)}\r\n\r\n`)
  const sixty = Array.from({ length: 60 }, (_, at) => padded(`/${at}`)).join("")

  test("are all answered: it was not the client who took so long", async () => {
    const { answer, kept, release } = await begin(sixty)
    while (kept.length < 60) {
      release()
      await new Promise((resolve) => setImmediate(resolve))
    }
    release()
    const { closed, text } = await answer
    expect([closed, statusesOf(text)]).toEqual([false, Array<number>(60).fill(200)])
  })

  test("and one behind them that the client does not end has its time from then on", async () => {
    const { answer, kept, release } = await begin(sixty.slice(0, -10))
    while (kept.length < 59) {
      release()
      await new Promise((resolve) => setImmediate(resolve))
    }
    release()
    const { closed, text } = await answer
    expect([closed, statusesOf(text)]).toEqual([true, [...Array<number>(59).fill(200), 400]])
  })
})

test("a client that does not read gets no more than a bounded number of bytes made for it", async () => {
  let made = 0
  const body = "x".repeat(100_000)
  const { port } = await serve({
    handle: (_request, reply) => {
      made += body.length
      reply({ status: 200, headers: {}, body })
    },
    misframed: () => ({ status: 400, headers: {}, body: "" })
  })
  const socket = Net.connect(port, "127.0.0.1", () => socket.write(get("/").repeat(936)))
  socket.pause()
  let before = -1
  while (made !== before || made === 0) {
    before = made
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  // The system buffers some megabytes for the two sockets; the venue keeps less than one.
  expect(made).toBeLessThan(20_000_000)
  let received = 0
  socket.on("data", (chunk) => received += chunk.length)
  socket.resume()
  await until(() => received >= 936 * body.length)
  expect(made).toBe(936 * body.length)
  socket.destroy()
})

test("a flood on one connection does not hold up a request on another", async () => {
  const order: Array<string> = []
  const { port } = await serve({
    handle: ({ target }, reply) => {
      order.push(target)
      reply({ status: 200, headers: {}, body: "" })
    },
    misframed: () => ({ status: 400, headers: {}, body: "" })
  })
  const quiet = Net.connect(port, "127.0.0.1")
  await new Promise((resolve) => quiet.once("connect", resolve))
  const flood = exchange(port, get("/flood").repeat(2_000), 1_000)
  await until(() => order.length > 0)
  quiet.write(get("/quiet"))
  await until(() => order.includes("/quiet"))
  expect(order.indexOf("/quiet")).toBeLessThan(1_000)
  await flood
  expect(order).toHaveLength(2_001)
  quiet.destroy()
})

describe("while others wait for a turn", () => {
  /** How many of the received requests are framed before the next turn, in a venue that has other work. */
  const framedAtOnce = (bytes: ReadonlyArray<string>, originOf: (at: number) => string = () => "b"): number => {
    const rotation = new Rotation(() => {}, () => {}, () => 0)
    rotation.add({ origin: "a", step: () => true })
    let framed = 0
    for (const [at, each] of bytes.entries()) {
      const socket = new Net.Socket()
      new Lane(socket, { rotation, origin: originOf(at), frame: () => framed++ } as unknown as Server).receive(Buffer.from(each))
      socket.destroy()
    }
    return framed
  }
  const request = (line: string): string => `${line} HTTP/1.1\r\nhost: x\r\n\r\n`

  test.each([
    "/v1/orders/ord_1s/cancel",
    "/v1/orders/batch/cancel",
    "/v1/orders/cancel-all",
    "/v1/accounts/acc_1s/orders/cancel-all-after",
    "/v1/operator/orders/cancel",
    "/v2/orders/ord_1s/cancel",
    "/v2/orders/cancel-all"
  ])("POST %s goes first", (target) => {
    expect(framedAtOnce([request(`POST ${target}`)])).toBe(1)
  })

  test.each([
    "POST /v1/orders",
    "POST /v1/orders?/cancel",
    "PUT /v1/orders/ord_1s/cancel",
    "POST /v1/markets/BTC/cancel",
    "POST /v1/orders/ord_1s/cancel/more",
    "POST /v1/orders/a/b/cancel",
    "P /cancel"
  ])("%s waits with all others", (line) => {
    expect(framedAtOnce([request(line)])).toBe(0)
  })

  test("a connection whose request waits for its turn is not idle: it would be closed for a newcomer", () => {
    const rotation = new Rotation(() => {}, () => {}, () => 0)
    rotation.add({ origin: "a", step: () => true })
    const lane = new Lane(new Net.Socket(), { rotation, origin: "b", frame: () => {}, stopping: () => false } as unknown as Server)
    expect(lane.isIdle).toBe(true)
    lane.receive(Buffer.from(request("GET /v1/markets")))
    expect(lane.isIdle).toBe(false)
  })

  test("no more cancels go first than there are places for them in a turn", () => {
    const cancels = Array<string>(40).fill(request("POST /v1/orders/cancel-all"))
    expect(framedAtOnce(cancels, (at) => `192.0.2.${at}`)).toBe(16)
    expect(framedAtOnce(cancels)).toBe(4)
  })
})

describe("answers that wait for a client", () => {
  /** A lane on which `count` requests were answered at time 0 with bodies of `bytes` bytes; the clock and the client advance by calls. */
  const answered = (count: number, bytes: number, method = "GET") => {
    let nowMs = 0
    const taken: Array<() => void> = []
    const replies: Array<Reply> = []
    const server: Server = {
      rotation: new Rotation(() => {}, () => {}, () => 0),
      frame: () => {},
      dispatch: (_, reply) => replies.push(reply),
      misframed: () => ({ status: 400, headers: {}, body: "" }),
      unread: new Unread(1 << 30, () => {}, () => {}),
      origin: "a",
      now: () => nowMs,
      untakenMs: 10_000,
      inRequestTime: () => () => {},
      write: (_exchange, _response, _last, then) => {
        taken.push(then)
        return 0
      },
      writeLast: () => {},
      stopping: () => false,
      idle: () => {}
    }
    const lane = new Lane(new Net.Socket(), server)
    const ask = (): void => {
      const exchange = { request: { method }, result: {}, head: {}, complete: true, refusal: undefined } as unknown as Exchange
      lane.begin(exchange)
      while (lane.step());
    }
    const answer = (): void => replies.shift()!({ status: 200, headers: {}, body: "x".repeat(bytes) })
    for (let at = 0; at < count; at++) ask()
    for (let at = 0; at < count; at++) answer()
    return {
      lane,
      unread: server.unread,
      ask,
      answer,
      asked: () => replies.length,
      take: () => taken.shift()!(),
      pass: (ms: number) => (nowMs += ms)
    }
  }

  test("leave its connection as good as quiet once they have waited for longer than anybody takes who wants them", () => {
    const { lane, pass, take } = answered(2, 8 * 8_000 - 1_024)
    pass(18_000)
    expect(lane.isIdle).toBe(false)
    pass(1)
    expect(lane.isIdle).toBe(true)
    // Each answer that is taken extends the client's time, but only in proportion to its size: taking a little now and then does not keep
    // the connection.
    take()
    expect(lane.isIdle).toBe(false)
    pass(8_000)
    expect(lane.isIdle).toBe(true)
    take()
    expect(lane.isIdle).toBe(true)
  })

  test("give no more time by their length than for 64 KiB, neither while they wait nor once the system has them", () => {
    const { lane, pass, take } = answered(3, 1_280_000)
    for (let count = 0; count < 2; count++) {
      pass(18_192)
      expect(lane.isIdle).toBe(false)
      pass(1)
      expect(lane.isIdle).toBe(true)
      take()
      expect(lane.isIdle).toBe(false)
    }
  })

  test("leave it busy while anything that was asked behind them is not answered", () => {
    const { answer, ask, lane, pass } = answered(1, 1_000)
    pass(100_000)
    ask()
    expect(lane.isIdle).toBe(false)
    answer()
    expect(lane.isIdle).toBe(true)
  })

  test("are none of what HEAD leaves out", () => {
    const { lane, pass } = answered(1, 1_000_000, "HEAD")
    pass(10_129)
    expect(lane.isIdle).toBe(true)
  })

  test("are counted while they wait for the disk, when no more is asked of the venue than a client may leave unread", () => {
    const { ask, asked, lane, unread } = answered(0, 1_000)
    ask()
    const released = lane.hold(200_000)
    ask()
    expect([asked(), lane.unreadBytes, unread.bytes]).toEqual([2, 200_000, 200_000])
    const releasedToo = lane.hold(100_000)
    ask()
    expect([asked(), unread.bytes]).toEqual([2, 300_000])
    released()
    while (lane.step());
    expect([asked(), lane.unreadBytes, unread.bytes]).toEqual([3, 100_000, 100_000])
    // The client is not to blame, and has received nothing.
    lane.look(true)
    lane.look(false)
    expect(lane.isStuck).toBe(false)
    lane.gone()
    releasedToo()
    lane.hold(1_000)
    expect([lane.unreadBytes, unread.bytes]).toEqual([0, 0])
  })

  test("keep no newcomer out, however many connections they lie on", async () => {
    const body = "x".repeat(8_000_000)
    let handled = 0
    const application: Application = {
      handle: ({ target }, reply) => {
        handled++
        reply({ status: 200, headers: {}, body: target === "/all" ? body : "", isFixed: true })
      },
      misframed: () => ({ status: 400, headers: {}, body: "" })
    }
    const { counts, port } = await serve(application, { connectionLimit: 4, connectionsPerAddress: 4, untakenMs: -1_000_000 })
    const lying = Array.from({ length: 4 }, () => Net.connect(port, "127.0.0.1").on("error", () => {}).pause())
    for (const socket of lying) socket.write(get("/all"))
    await until(() => handled === 4)
    expect(statusOf((await exchange(port, get("/healthz"))).text)).toBe(200)
    expect(counts()).toMatchObject({ closedForRoom: 1, turnedAway: 0 })
    for (const socket of lying) socket.destroy()
  })
})

describe("what HTTP asks for", () => {
  test.each([
    ["absolute-form", "GET http://venue.example:8080/healthz HTTP/1.1\r\nhost: other\r\n\r\n", 200],
    ["absolute-form with a query", "GET HTTPS://venue.example/v2/time?x HTTP/1.1\r\nhost: x\r\n\r\n", 400],
    ["absolute-form without a path, which is the root", "GET http://venue.example HTTP/1.1\r\nhost: x\r\n\r\n", 200],
    ["another scheme", "GET ftp://venue.example/healthz HTTP/1.1\r\nhost: x\r\n\r\n", 404],
    ["HTTP/0.9", "GET /healthz\r\n\r\n", 400],
    ["HTTP/2.0", "GET /healthz HTTP/2.0\r\nhost: x\r\n\r\n", 400],
    ["a second host behind 2,000 headers", `GET /healthz HTTP/1.1\r\nhost: x\r\n${"a:\r\n".repeat(2_000)}host: y\r\n\r\n`, 400]
  ])("%s", async (_, bytes, status) => {
    const { port } = await serve(Fake.make().application)
    expect(statusOf((await exchange(port, bytes)).text)).toBe(status)
  })

  test("a key behind 2,000 headers is seen", async () => {
    const fake = Fake.make()
    const { port } = await serve(fake.application)
    const { text } = await exchange(port, post(fake, "k").replace("\r\n", `\r\n${"a:\r\n".repeat(2_100)}`))
    expect(statusOf(text)).toBe(200)
  })

  test.each([
    ["alone", ""],
    ["behind another request", get("/v1/nowhere")]
  ])("a head beyond the limit gets its family's envelope, %s", async (_, before) => {
    const { port } = await serve(Fake.make().application)
    for (
      const tooMuch of [`GET /v2/orders HTTP/1.1\r\nx: ${"y".repeat(20_000)}\r\n\r\n`,
        `GET /v2/orders?${"y".repeat(20_000)} HTTP/1.1\r\n\r\n`]
    ) {
      const { text } = await exchange(port, before + tooMuch)
      expect(bodyOf(text.slice(text.lastIndexOf("HTTP/1.1 ")))).toMatchObject({ name: "BadRequest", code: "invalid_request" })
    }
    const { text } = await exchange(port, `${before}GET /v1/orders HTTP/1.1\r\nx: ${"y".repeat(20_000)}\r\n\r\n`)
    expect(bodyOf(text.slice(text.lastIndexOf("HTTP/1.1 ")))).toMatchObject({ version: "external-rest-error/v1" })
  })

  test.each([
    ["blank lines in front of a request", "", "\r\n"],
    ["blank lines behind one", get("/healthz"), "\r\n"],
    ["spaces in a head, which nobody counts", "GET /v1/orders HTTP/1.1\r\nhost: x\r\na:", "  "]
  ])("%s have an end", async (_, before, without) => {
    const { port } = await serve(Fake.make().application)
    const { text } = await exchange(port, before + without.repeat(1_000) + get("/healthz"))
    expect(statusesOf(text)).toEqual(before === get("/healthz") ? [200, 200] : before === "" ? [200] : [400])
    const { closed, text: refused } = await exchange(port, before + without.repeat(20_000))
    expect([closed, statusesOf(refused).at(-1)]).toEqual([true, 400])
  })

  test("too large a body is refused where its client hears it, also if it sends on", async () => {
    const { port } = await serve(Fake.make().application)
    const head = "POST /v1/orders HTTP/1.1\r\nhost: x\r\ncontent-length: 4000000\r\n\r\n"
    const { closed, text } = await exchange(port, head + "x".repeat(4_000_000))
    expect([closed, statusesOf(text)]).toEqual([true, [413]])
  })

  /** Bytes after a request line that are refused before the request is complete. */
  const misframed: ReadonlyArray<readonly [what: string, behind: string, status: number]> = [
    ["too large a body by its length", "host: x\r\ncontent-length: 70000\r\n\r\n", 413],
    ["too large a body in chunks", `host: x\r\ntransfer-encoding: chunked\r\n\r\n11000\r\n${"x".repeat(0x11000)}\r\n`, 413],
    ["a body that does not come", "host: x\r\ncontent-length: 2\r\n\r\n{", 400],
    ["a body whose chunks are none", "host: x\r\ntransfer-encoding: chunked\r\n\r\nno length\r\n", 400],
    ["no host", "content-length: 0\r\n\r\n", 400],
    ["an expectation", "host: x\r\nexpect: tea\r\ncontent-length: 0\r\n\r\n", 400],
    ["an upgrade to nothing", "host: x\r\nconnection: upgrade\r\nupgrade: tea\r\n\r\n", 400]
  ]
  test.each(misframed)("of absolute-form %s gets its family's envelope", async (_, behind, status) => {
    const { port } = await serve(Fake.make().application, { headersTimeoutMs: 100, requestTimeoutMs: 200 })
    const asked = ["/v2/orders", "http://venue.example/v2/orders", "http://venue.example/v1/orders"]
    const answers = await Promise.all(asked.map((target) => exchange(port, `POST ${target} HTTP/1.1\r\n${behind}`, 2_000)))
    expect(answers.map(({ text }) => statusOf(text))).toEqual(asked.map(() => status))
    const names = answers.map(({ text }) => bodyOf(text).name)
    expect(names).toEqual([names[0], names[0], undefined])
    expect(names[0]).toBeDefined()
  })

  const webSocket = "upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
  test.each([
    ...misframed,
    ["headers beyond the limit", `host: x\r\nx: ${"y".repeat(20_000)}\r\n\r\n`, 400] as const,
    ["a WebSocket where there is none", `host: x\r\nconnection: upgrade\r\n${webSocket}\r\n`, 404] as const,
    ["a WebSocket with two hosts", `host: x\r\nhost: y\r\nconnection: upgrade\r\n${webSocket}\r\n`, 400] as const
  ])("of HEAD %s is refused without a body, as long as it would be", async (_, behind, status) => {
    const { port } = await serve(Fake.make().application, { headersTimeoutMs: 100, requestTimeoutMs: 200 })
    const { closed, text } = await exchange(port, `HEAD /v2/orders HTTP/1.1\r\n${behind}`, 2_000)
    expect([closed, statusOf(text), text.endsWith("\r\n\r\n")]).toEqual([true, status, true])
    expect(Number(/content-length: (\d+)/i.exec(text)?.[1])).toBeGreaterThan(100)
    expect(text.match(/^connection:/gim)).toHaveLength(1)
  })

  test("HEAD is GET without a body", async () => {
    const { port } = await serve(Fake.make().application)
    const { closed, text } = await exchange(port, `HEAD /healthz HTTP/1.1\r\nhost: x\r\n\r\n${get("/healthz")}`)
    const [head, whole] = text.split("HTTP/1.1 200 OK\r\n").slice(1)
    expect(closed).toBe(false)
    expect(head!.endsWith("\r\n\r\n")).toBe(true)
    expect(/content-length: (\d+)/i.exec(head!)?.[1]).toBe(/content-length: (\d+)/i.exec(whole!)?.[1])
  })
})
