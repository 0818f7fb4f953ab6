/**
 * P7: 200-byte updates of a book to 500 sockets with clients in another process: through the venue's listener, against `ws` sending a
 * single buffer that was made once. Sent one by one, and ten at a time in one turn.
 */
import { fork } from "node:child_process"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Exit, Scope } from "effect"
import { WebSocketServer } from "ws"
import { Listener, type Peer } from "../../src/edge/http/Listener.js"
import * as NodeListener from "../../src/edge/http/NodeListener.js"
import { Frame } from "../../src/streams/Frame.js"
import { compare, type Measured, type Options, type Section } from "./Section.js"

const sockets = 500
const frameBytes = 200
const rounds = 400
const dueInOneTurn = 10
/** The unsent bytes for one client from which on a sender waits for it. */
const mostBytes = 256 * 1024

const text = JSON.stringify({ type: "update", data: "" }).replace("\"\"", `"${"x".repeat(frameBytes - 26)}"`)

/** A sender: sends to every client, and shows how much the slowest of them has not received. */
interface Sending {
  readonly send: (frames: number) => void
  readonly behind: () => number
  readonly close: () => Promise<void>
}

/** Connects all clients to a port. */
const clients = (port: number): Promise<() => void> =>
  new Promise((resolve, reject) => {
    const child = fork("dist/scripts/load/listeners.js", [String(port), String(sockets)])
    child.once("message", () => resolve(() => child.kill("SIGKILL")))
    child.once("exit", () => reject(new Error("the clients ended")))
  })

const reference = async (): Promise<Sending> => {
  const server = Http.createServer()
  const streams = new WebSocketServer({ server, perMessageDeflate: false })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const stop = await clients((server.address() as AddressInfo).port)
  const all = [...streams.clients]
  const buffer = Buffer.from(text)
  return {
    send: (frames) => {
      for (const socket of all) for (let sent = 0; sent < frames; sent++) socket.send(buffer, { binary: false })
    },
    behind: () => all.reduce((most, { bufferedAmount }) => Math.max(most, bufferedAmount), 0),
    close: async () => {
      stop()
      for (const socket of all) socket.terminate()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

const ours = async (): Promise<Sending> => {
  const peers: Array<Peer> = []
  const nothing = {
    address: "127.0.0.1",
    text: () => {},
    binary: () => {},
    alive: () => {},
    answered: () => {},
    drained: () => {},
    closed: () => {},
    isIdle: () => false,
    isAnonymous: () => false
  }
  const refused = { status: 404, headers: {}, body: "" }
  const scope = await Effect.runPromise(Scope.make())
  const { port } = await Effect.runPromise(
    Effect.flatMap(Listener, (listener) =>
      listener.serve({
        handle: (_, reply) => reply(refused),
        misframed: () => refused,
        open: () => ({
          accept: (peer) => {
            peers.push(peer)
            return nothing
          }
        })
      })).pipe(Effect.provide(NodeListener.layer({ ...NodeListener.defaults, port: 0 })), Scope.extend(scope))
  )
  const stop = await clients(port)
  return {
    // A new frame each time, as in a venue, where it is composed once for all clients.
    send: (frames) => {
      const due = Array.from({ length: frames }, () => new Frame(text))
      for (const peer of peers) peer.send(due)
    },
    behind: () => peers.reduce((most, peer) => Math.max(most, peer.bufferedBytes()), 0),
    close: async () => {
      stop()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}

const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Frames per second, so many to each client at a time. */
const measure = async (open: () => Promise<Sending>, frames: number): Promise<Measured> => {
  const sending = await open()
  const begun = performance.now()
  for (let round = 0; round < rounds; round++) {
    sending.send(frames)
    do await soon()
    while (sending.behind() > mostBytes)
  }
  while (sending.behind() > 0) await soon()
  const seconds = (performance.now() - begun) / 1_000
  await sending.close()
  return { value: sockets * rounds * frames / seconds, ranOn: sending }
}

const run = async (options: Options) => [
  await compare("P7-single", "frames/s", options, () => measure(reference, 1), () => measure(ours, 1)),
  await compare("P7-turn", "frames/s", options, () => measure(reference, dueInOneTurn), () => measure(ours, dueInOneTurn))
]

export const section: Section = { name: "P7", run }
