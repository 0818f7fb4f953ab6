import { describe, expect, test } from "vitest"
import type { Application, Request, Response } from "../../src/edge/http/Listener.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import * as SimTime from "../../sim/world/SimTime.js"
import * as SimWire from "../../sim/world/SimWire.js"

const calm: SimWire.Behaviour = {
  pipelinedShare: 0,
  piecesShare: 0,
  maxPauseMs: 0,
  busyShare: 0,
  maxBusyMs: 0,
  slowShare: 0,
  maxSlowMs: 0,
  burstShare: 0,
  strayShare: 0,
  keepAliveMs: 60_000,
  connections: 100,
  perAddress: 100,
  unreadBytes: 1_000_000
}

const answer = (status: number, body: string): Response => ({ status, headers: {}, body })

const request = (body: string): Request => ({
  method: "POST",
  target: "/v1/orders",
  headers: { "content-type": "application/json", "idempotency-key": "key-1" },
  body: Buffer.from(body),
  remoteAddress: "10.0.0.1"
})

/** A process whose application answers when the test says so, its connections, and what happened. */
const opened = (behaviour: Partial<SimWire.Behaviour>) => {
  const random = SimRandom.make("connections")
  const time = SimTime.make(1_000_000, random.split("ties"))
  const open: Array<{ readonly request: Request; readonly reply: (response: Response) => void }> = []
  const events: Array<SimWire.Event> = []
  const application: Application = {
    handle: (taken, reply) => void open.push({ request: taken, reply }),
    misframed: (reason) => answer(400, reason)
  }
  const wire = SimWire.make(time, { ...calm, ...behaviour }, {
    application,
    ready: (task) => void time.after(0, task),
    handling: () => () => {},
    told: (_, event) => void events.push(event)
  })
  const settled: Array<string> = []
  const send = (body: string) =>
    wire.send({
      request: request(body),
      answered: ({ body: text, status }) => void settled.push(`${body}: ${status} ${text}`),
      refused: () => void settled.push(`${body}: refused`),
      wasCut: () => void settled.push(`${body}: cut`)
    }, random)!
  /** Lets everything happen within a time. */
  const pass = (ms: number): void => {
    const end = time.nowEpochMs() + ms
    while (time.nextEpochMs() <= end) time.advance()
  }
  return { events, open, pass, send, settled, wire }
}

const happened = (events: ReadonlyArray<SimWire.Event>, is: SimWire.Event["is"]): number => events.filter((event) => event.is === is).length

describe("connections as bytes", () => {
  test("requests in pieces come as they were sent, and are answered in order", () => {
    const { events, open, pass, send, settled } = opened({ pipelinedShare: 1, piecesShare: 1, maxPauseMs: 20 })
    const bodies = ["{}", JSON.stringify({ text: "x".repeat(9_000) }), "[1]"]
    for (const body of bodies) send(body)
    pass(1_000)
    // The first is on a connection of its own: nothing was under way that it could have been sent behind.
    expect(open.map(({ request: { body } }) => Buffer.from(body).toString())).toEqual(bodies)
    expect(open[0]!.request).toMatchObject({ method: "POST", target: "/v1/orders", headers: { "idempotency-key": "key-1" } })
    for (const { reply, request: { body } } of [...open].reverse()) reply(answer(200, String(body.length)))
    pass(1_000)
    expect(settled).toEqual(bodies.map((body) => `${body}: 200 ${body.length}`))
    expect(happened(events, "let in")).toBe(1)
  })

  test("what is no request is refused behind the request before it, and ends the connection", () => {
    const { events, open, pass, send, settled } = opened({ strayShare: 1 })
    send("{}")
    pass(100)
    expect(happened(events, "refused")).toBe(0)
    open[0]!.reply(answer(200, "done"))
    pass(20_000)
    expect(settled).toEqual(["{}: 200 done"])
    expect(events.filter(({ is }) => is === "answered" || is === "refused" || is === "ended").at(-1)).toEqual({ is: "ended", by: "venue" })
    expect(happened(events, "refused")).toBe(1)
    expect(open).toHaveLength(1)
  })

  test("a newcomer takes the place of a connection without a request, and of no other", () => {
    const { open, pass, send, settled } = opened({ connections: 1 })
    send("{\"first\":1}")
    pass(10)
    send("{\"second\":2}")
    pass(10)
    expect(settled).toEqual(["{\"second\":2}: refused"])
    open[0]!.reply(answer(200, "done"))
    pass(10)
    expect(settled).toHaveLength(2)
  })

  test("a stop answers what is under way, and then all connections are closed", () => {
    const { open, pass, send, settled, wire } = opened({})
    send("{\"first\":1}")
    send("{\"second\":2}")
    pass(10)
    let isClosed = false
    open[0]!.reply(answer(200, "done"))
    pass(10)
    wire.stop(() => {
      isClosed = true
    })
    pass(10)
    expect(isClosed).toBe(false)
    open[1]!.reply(answer(200, "done"))
    pass(10)
    expect(isClosed).toBe(true)
    expect(settled).toEqual(["{\"first\":1}: 200 done", "{\"second\":2}: 200 done"])
  })

  test("a client that leaves cuts what else is under way on its connection, and one process's death cuts everything", () => {
    const { pass, send, settled, wire } = opened({ pipelinedShare: 1 })
    const leave = send("{\"first\":1}")
    send("{\"second\":2}")
    pass(10)
    leave()
    pass(10)
    expect(settled.toSorted()).toEqual(["{\"first\":1}: cut", "{\"second\":2}: cut"])
    send("{\"third\":3}")
    pass(10)
    wire.cut("death")
    expect(settled.at(-1)).toBe("{\"third\":3}: cut")
    expect(wire.underWay()).toBe(0)
  })
})
