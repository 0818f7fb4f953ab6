/** The platform in a browser: the one file of the client's browser build that knows the network, the clock, timers and chance. */
import type { Platform } from "./Platform.js"

/** As much of a browser's socket as is used: the repository is compiled without a browser's types. */
interface BrowserSocket {
  onmessage: ((event: { readonly data: unknown }) => void) | null
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null
  send(text: string): void
  close(code?: number): void
}
declare const WebSocket: new(url: string) => BrowserSocket

/** `crypto.randomUUID` is there on secure origins alone, this everywhere. */
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
