import * as net from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { Lane, LaneLost } from "../../scripts/tape/Lane.js"

/** Acts on the requests that a scripted server has received on one connection. */
type Script = (socket: net.Socket, requests: ReadonlyArray<string>, connection: number) => void

interface Scripted {
  readonly port: number
  /** Everything received, connection by connection. */
  readonly received: ReadonlyArray<ReadonlyArray<string>>
  readonly close: () => void
}

/** A server that recognises a request by its last line, and passes each new arrival to the script. */
const serve = (script: Script): Promise<Scripted> =>
  new Promise((resolve) => {
    const received: Array<Array<string>> = []
    const sockets = new Set<net.Socket>()
    const server = net.createServer((socket) => {
      sockets.add(socket)
      const mine: Array<string> = []
      const connection = received.push(mine) - 1
      let text = ""
      socket.on("error", () => {})
      socket.on("data", (chunk) => {
        text += chunk.toString()
        const lines = text.split("\n")
        text = lines.pop()!
        mine.push(...lines)
        script(socket, mine, connection)
      })
    })
    server.listen(0, "127.0.0.1", () =>
      resolve({
        port: (server.address() as net.AddressInfo).port,
        received,
        close: () => {
          for (const socket of sockets) socket.destroy()
          server.close()
        }
      }))
  })

const answer = (body: string, status = 200): string =>
  `HTTP/1.1 ${status} X\r\nx-other: 1\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

const open: Array<{ readonly close: () => void }> = []
afterEach(() => {
  for (const each of open.splice(0)) each.close()
})
const start = async (script: Script, bound = 100) => {
  const server = await serve(script)
  const lane = new Lane("127.0.0.1", server.port, bound)
  open.push(lane, server)
  return { lane, server }
}

describe("a lane", () => {
  it("has many requests under way and gives each its own answer, however the bytes arrive", async () => {
    const { lane } = await start((socket, requests) => {
      if (requests.length !== 3) return
      const bytes = Buffer.from(requests.map((request) => answer(`für ${request}`, 422)).join(""))
      // In pieces that end in the middle of heads, lengths and characters.
      for (let at = 0; at < bytes.length; at += 7) socket.write(bytes.subarray(at, at + 7))
    })
    const answers = await Promise.all(["one\n", "two\n", "three\n"].map((text) => lane.request(text)))
    expect(answers).toEqual(["one", "two", "three"].map((name) => ({ status: 422, body: `für ${name}` })))
  })

  it("sends again, in order, only what had no answer when the connection was lost", async () => {
    const { lane, server } = await start((socket, requests, connection) => {
      if (connection === 0) {
        if (requests.length < 3) return
        socket.write(answer("first"), () => socket.destroy())
      } else if (requests.length === 2) socket.write(requests.map(answerTo).join(""))
    })
    const answerTo = (request: string) => answer(`again ${request}`)
    const answers = await Promise.all(["one\n", "two\n", "three\n"].map((text) => lane.request(text)))
    expect(answers.map(({ body }) => body)).toEqual(["first", "again two", "again three"])
    expect(server.received).toEqual([["one", "two", "three"], ["two", "three"]])
    expect(lane.lost).toBe(1)
  })

  it("says when it has room, and holds no more than its bound", async () => {
    let answered = 0
    let most = 0
    const { lane } = await start((socket, requests) => {
      most = Math.max(most, requests.length - answered)
      // One less than the limit stays unanswered, until the last has arrived.
      const held = requests.at(-1) === "last" ? 0 : 3
      for (; answered < requests.length - held; answered++) socket.write(answer("done"))
    }, 4)
    const answers: Array<Promise<unknown>> = []
    for (let index = 1; index <= 40; index++) {
      await lane.ready()
      answers.push(lane.request(index === 40 ? "last\n" : `${index}\n`))
    }
    await Promise.all(answers)
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(4)
  })

  it.each([
    ["what is no HTTP", "SSH-2.0-OpenSSH\r\n\r\n"],
    ["an answer without a length", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
    ["more answers than requests", answer("one") + answer("two")]
  ])("gives up on %s, and on everything asked after that", async (_, bytes) => {
    const { lane } = await start((socket) => socket.write(bytes))
    const first = lane.request("one\n").then(({ body }) => body, (error: unknown) => error)
    const outcome = await first
    expect(outcome === "one" || outcome instanceof LaneLost).toBe(true)
    await expect(lane.request("two\n")).rejects.toThrow(LaneLost)
  })
})
