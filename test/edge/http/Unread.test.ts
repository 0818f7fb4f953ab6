/** Answers that clients do not take: how many bytes of them all connections may hold together, and which connection is closed for that. */
import * as Net from "node:net"
import { afterEach, describe, expect, test, vi } from "vitest"
import type { Application, Reply } from "../../../src/edge/http/Listener.js"
import { type Holder, Unread } from "../../../src/edge/http/Unread.js"
import { closeAll, exchange, serve, statusOf } from "./NodeServed.js"

afterEach(closeAll)

/** A connection that is given answers, and takes them or not. */
class Taker implements Holder {
  unreadBytes = 0
  isStuck = false
  private hasTaken = true

  constructor(readonly origin: string, private readonly unread: Unread, private readonly left: Array<string>) {
    unread.enter(this)
  }

  hold(bytes: number): void {
    this.unreadBytes += bytes
    this.unread.add(bytes)
  }

  take(bytes: number): void {
    this.unreadBytes -= bytes
    this.hasTaken = true
    this.unread.giveBack(bytes)
  }

  look(isFirst: boolean): void {
    this.isStuck = !isFirst && this.unreadBytes > 0 && !this.hasTaken
    this.hasTaken = false
  }

  cut(): void {
    this.left.push(this.origin)
    this.unread.giveBack(this.unreadBytes)
    this.unreadBytes = 0
    this.unread.leave(this)
  }
}

describe("where more waits than all connections together may hold", () => {
  const made = (mostBytes: number) => {
    const left: Array<string> = []
    const told: Array<string> = []
    let second = (): void => {}
    const unread = new Unread(mostBytes, (origin) => told.push(origin), (then) => {
      second = then
    })
    return { left, told, unread, pass: () => second(), come: (origin: string) => new Taker(origin, unread, left) }
  }

  test("those that hold most are closed until an eighth is free, and that is told", () => {
    const { come, left, told, unread } = made(800)
    const [small, large, middle] = [come("small"), come("large"), come("middle")]
    small.hold(100)
    middle.hold(300)
    large.hold(400)
    expect(left).toEqual([])
    small.hold(1)
    expect({ left, told, bytes: unread.bytes, closed: unread.closed }).toEqual({ left: ["large"], told: ["large"], bytes: 401, closed: 1 })
    middle.hold(1_000)
    expect({ left, bytes: unread.bytes, held: small.unreadBytes }).toEqual({ left: ["large", "middle"], bytes: 101, held: 101 })
  })

  test("those go first that have taken nothing for a second, however little they hold", () => {
    const { come, left, pass, unread } = made(800)
    const [stuck, taking] = [come("stuck"), come("taking")]
    stuck.hold(200)
    taking.hold(500)
    pass()
    taking.take(100)
    pass()
    taking.take(100)
    taking.hold(400)
    expect({ left, bytes: unread.bytes }).toEqual({ left: ["stuck"], bytes: 700 })
  })
})

/** An application that answers every request with the same body, when the test says so. */
const keeping = (body: string) => {
  const kept: Array<Reply> = []
  const application: Application = {
    handle: (_request, reply) => void kept.push(reply),
    misframed: () => ({ status: 400, headers: {}, body: "" })
  }
  return { kept, application, release: () => kept.splice(0).forEach((reply) => reply({ status: 200, headers: {}, body })) }
}

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nhost: x\r\n\r\n`

test("clients that ask for much and read none of it are closed, and others are answered", async () => {
  const unreadBytes = 4 << 20
  const { application, kept, release } = keeping("x".repeat(1 << 20))
  const { port, unread } = await serve(application, { unreadBytes })
  const clients = Array.from({ length: 3 }, () => Net.connect(port, "127.0.0.1").pause().on("error", () => {}))
  // The system itself buffers some megabytes for each connection.
  for (const client of clients) client.write(get("/").repeat(16))
  await expect.poll(() => kept.length).toBe(48)
  release()
  expect(unread().closed).toBeGreaterThan(0)
  expect(unread().bytes).toBeLessThanOrEqual(unreadBytes)
  const answer = exchange(port, get("/"))
  await expect.poll(() => kept.length).toBe(1)
  release()
  expect(statusOf((await answer).text)).toBe(200)
  for (const client of clients) client.destroy()
  await expect.poll(() => unread().bytes).toBe(0)
})

test("a text that is the same for everybody is held once, however many are slow to take it", async () => {
  const body = `é${"x".repeat(1 << 20)}`
  const { port, unread } = await serve({
    handle: (_request, reply) => reply({ status: 200, headers: {}, body, isFixed: true }),
    misframed: () => ({ status: 400, headers: {}, body: "" })
  })
  const write = vi.spyOn(Net.Socket.prototype, "write")
  const [first, second] = await Promise.all([exchange(port, get("/")), exchange(port, get("/"))])
  const written = write.mock.calls.map(([bytes]) => bytes).filter((bytes) => bytes instanceof Uint8Array && bytes.length > 1 << 20)
  write.mockRestore()
  expect(first.text.slice(first.text.indexOf("\r\n\r\n") + 4) === body).toBe(true)
  expect(second.text.length).toBe(first.text.length)
  expect(written).toHaveLength(2)
  expect(new Set(written).size).toBe(1)
  const clients = Array.from({ length: 3 }, () => Net.connect(port, "127.0.0.1").pause().on("error", () => {}))
  for (const client of clients) client.write(get("/").repeat(16))
  await expect.poll(() => unread().bytes).toBeGreaterThan(0)
  expect(unread().bytes).toBeLessThan(1 << 20)
  for (const client of clients) client.destroy()
})
