/** The platform in Node: its own `fetch`, and sockets from the package `ws`, since Node 20 has none. */
import { randomUUID } from "node:crypto"
import { WebSocket } from "ws"
import type { Platform } from "./Platform.js"

/** How long a peer may take to answer a close frame, in milliseconds. The package itself would wait for half a minute. */
const farewellMs = 1_000

/** Closes a socket. One that is not open yet cannot send a close frame, and a lost peer does not answer it. */
const close = (socket: WebSocket): void => {
  if (socket.readyState !== WebSocket.OPEN) return socket.terminate()
  socket.close(1000)
  const timer = setTimeout(() => socket.terminate(), farewellMs)
  socket.once("close", () => clearTimeout(timer))
}

export const nodePlatform: Platform = {
  send: async ({ body, headers, method, url }, signal) => {
    const response = await fetch(url, { method, headers, signal, redirect: "error", ...(body === undefined ? undefined : { body }) })
    return { status: response.status, body: await response.text(), header: (name) => response.headers.get(name) ?? undefined }
  },
  connect: (url, events) => {
    const socket = new WebSocket(url, { perMessageDeflate: false })
    socket.on("message", (data) => events.text(String(data)))
    // An error is always followed by a close, which is handled.
    socket.on("error", () => {})
    socket.on("close", (code, reason) => events.closed(code, reason.toString()))
    return { send: (text) => socket.send(text), close: () => close(socket) }
  },
  nowEpochMs: () => Date.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
  random: () => Math.random(),
  newKey: () => randomUUID()
}
