/** The platform in a browser: the only file of the client's browser build that touches the network, the clock, timers and randomness. */
import type { Platform } from "./Platform.js"

/** The used parts of a browser's socket: the repository is compiled without browser types. */
interface BrowserSocket {
  onmessage: ((event: { readonly data: unknown }) => void) | null
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null
  send(text: string): void
  close(code?: number): void
}
declare const WebSocket: new(url: string) => BrowserSocket

/** `crypto.randomUUID` exists only in secure contexts; this exists everywhere. */
const newKey = (): string => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")

export const browserPlatform: Platform = {
  send: async ({ body, headers, method, url }, signal) => {
    const how = { method, headers, signal, cache: "no-store", credentials: "omit", redirect: "error" } as const
    const response = await fetch(url, body === undefined ? how : { ...how, body })
    return { status: response.status, body: await response.text(), header: (name) => response.headers.get(name) ?? undefined }
  },
  connect: (url, events) => {
    const socket = new WebSocket(url)
    socket.onmessage = ({ data }) => events.text(String(data))
    socket.onclose = ({ code, reason }) => events.closed(code, reason)
    return { send: (text) => socket.send(text), close: () => socket.close(1000) }
  },
  nowEpochMs: () => Date.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
  random: () => Math.random(),
  newKey
}
