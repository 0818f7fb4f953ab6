/** The real listener on a loopback port, and plain sockets to talk to it. */
import * as Net from "node:net"
import { Effect, Exit, Scope } from "effect"
import { Listener } from "../../../src/edge/http/Listener.js"
import type { Application, ConnectionCounts, UnreadCounts } from "../../../src/edge/http/Listener.js"
import * as NodeListener from "../../../src/edge/http/NodeListener.js"

export interface Served {
  readonly port: number
  readonly openSockets: () => number
  readonly counts: () => ConnectionCounts
  readonly unread: () => UnreadCounts
  readonly close: () => Promise<void>
}

const open: Array<Served> = []

/** Stops whatever a test has served. */
export const closeAll = async (): Promise<void> => {
  await Promise.all(open.splice(0).map((served) => served.close()))
}

/** The real listener on a free port. */
export const serve = async (application: Application, options: Partial<NodeListener.Options> = {}): Promise<Served> => {
  const scope = await Effect.runPromise(Scope.make())
  const { connections, port, unread } = await Effect.runPromise(
    Effect.flatMap(Listener, (listener) => listener.serve(application)).pipe(
      Effect.provide(NodeListener.layer({ ...NodeListener.defaults, port: 0, ...options })),
      Scope.extend(scope)
    )
  )
  const counts = connections!
  const served = {
    port,
    openSockets: () => counts().open,
    counts,
    unread: unread!,
    close: () => Effect.runPromise(Scope.close(scope, Exit.void))
  }
  open.push(served)
  return served
}

/** The interval between two checks for received bytes, in milliseconds. */
const lookMs = 10

/**
 * Everything received in answer to some bytes, until the server closes the connection or nothing arrives for a while. The while is a number
 * of checks between which received bytes are read, so a process that does not get the processor for a time misses nothing.
 */
export const exchange = (
  port: number,
  bytes: string | Uint8Array,
  patienceMs = 300
): Promise<{ readonly text: string; readonly closed: boolean }> =>
  new Promise((resolve) => {
    let text = ""
    let looks = 0
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(bytes))
    const finish = (closed: boolean): void => {
      clearInterval(looking)
      socket.destroy()
      resolve({ text, closed })
    }
    const looking = setInterval(() => {
      if (++looks * lookMs >= patienceMs) finish(false)
    }, lookMs)
    socket.on("data", (chunk) => {
      text += chunk.toString("utf8")
      looks = 0
    })
    socket.on("error", () => finish(true))
    socket.on("close", () => finish(true))
  })

/** The same for bytes that arrive in pieces of a length, each of which has been read before the next is sent. */
export const inPieces = async (port: number, length: number, text: string): Promise<string> => {
  let received = ""
  const socket = Net.connect({ port, host: "127.0.0.1", noDelay: true })
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()))
  socket.on("data", (chunk) => received += chunk.toString("utf8")).on("error", () => {})
  for (let from = 0; from < text.length; from += length) {
    await new Promise<void>((resolve) => void socket.write(text.slice(from, from + length), () => resolve()))
    // The server reads in this process, in its next turns.
    for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => void setImmediate(resolve))
  }
  await closed
  return received
}

/** The first status in the received text. */
export const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0)
export const bodyOf = (text: string): any => JSON.parse(text.slice(text.indexOf("\r\n\r\n") + 4))

/** Every status in the received text, in order. */
export const statusesOf = (text: string): ReadonlyArray<number> =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
