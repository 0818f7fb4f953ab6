/**
 * One HTTP/1.1 connection with several requests in progress, answered in the order in which they were sent. A lost connection is opened
 * again, and all requests without an answer are sent again unchanged and in order: so every request sent here must be repeatable.
 */
import * as net from "node:net"

export interface Answer {
  readonly status: number
  readonly body: string
}

/** The venue could not be reached for as long as the lane waits, or does not speak HTTP. */
export class LaneLost extends Error {
  override readonly name = "LaneLost"
}

interface Waiting {
  readonly text: string
  readonly answer: (answer: Answer) => void
  readonly lost: (error: LaneLost) => void
}

/** How long connecting is tried before the lane gives up, in milliseconds. */
const patienceMs = 60_000
const firstPauseMs = 50
const longestPauseMs = 1_000

const headEnd = Buffer.from("\r\n\r\n")

export class Lane {
  private readonly waiting: Array<Waiting> = []
  private readonly room: Array<() => void> = []
  private socket: net.Socket | undefined
  private pause: NodeJS.Timeout | undefined
  private buffered: Buffer = Buffer.alloc(0)
  private unreachableSince: number | undefined
  private pauseMs = firstPauseMs
  private failed: LaneLost | undefined
  private closed = false
  /** Connections that ended with requests in progress, which were then repeated. */
  lost = 0

  constructor(readonly host: string, readonly port: number, readonly bound: number) {
    this.connect()
  }

  /** Resolves when fewer than `bound` requests are in progress. */
  async ready(): Promise<void> {
    while (this.waiting.length >= this.bound) await new Promise<void>((resolve) => this.room.push(resolve))
  }

  /** Sends a request after those in progress. */
  request(text: string): Promise<Answer> {
    return new Promise((answer, lost) => {
      if (this.failed !== undefined) return lost(this.failed)
      this.waiting.push({ text, answer, lost })
      if (this.socket !== undefined && !this.socket.connecting) this.socket.write(text)
    })
  }

  close(): void {
    this.closed = true
    clearTimeout(this.pause)
    this.socket?.destroy()
  }

  private connect(): void {
    const socket = net.connect({ host: this.host, port: this.port, noDelay: true })
    this.socket = socket
    this.buffered = Buffer.alloc(0)
    socket.on("connect", () => {
      this.unreachableSince = undefined
      this.pauseMs = firstPauseMs
      for (const { text } of this.waiting) socket.write(text)
    })
    socket.on("data", (chunk) => {
      if (socket === this.socket) this.take(chunk)
    })
    // An error is always followed by a close.
    socket.on("error", () => {})
    socket.on("close", () => {
      if (socket === this.socket) this.again()
    })
  }

  /** Opens another connection after a loss: at once the first time, and then after growing pauses. */
  private again(): void {
    this.socket = undefined
    if (this.closed) return
    if (this.waiting.length > 0 && this.unreachableSince === undefined) this.lost++
    this.unreachableSince ??= performance.now()
    if (performance.now() - this.unreachableSince > patienceMs) {
      return this.fail(new LaneLost(`nothing answers at ${this.host}:${this.port}`))
    }
    this.pause = setTimeout(() => this.connect(), this.pauseMs)
    this.pauseMs = Math.min(longestPauseMs, this.pauseMs * 2)
  }

  private fail(error: LaneLost): void {
    this.failed = error
    this.closed = true
    this.socket?.destroy()
    for (const waiting of this.waiting.splice(0)) waiting.lost(error)
    this.wake()
  }

  private take(chunk: Buffer): void {
    this.buffered = this.buffered.length === 0 ? chunk : Buffer.concat([this.buffered, chunk])
    for (;;) {
      const head = this.buffered.indexOf(headEnd)
      if (head < 0) break
      const text = this.buffered.toString("latin1", 0, head)
      const length = /\r\ncontent-length: (\d+)/i.exec(text)
      if (!text.startsWith("HTTP/1.1 ") || length === null || this.waiting.length === 0) {
        return this.fail(new LaneLost(`an answer that is none: ${text.slice(0, 100)}`))
      }
      const end = head + 4 + Number(length[1])
      if (this.buffered.length < end) break
      const body = this.buffered.toString("utf8", head + 4, end)
      this.buffered = this.buffered.subarray(end)
      this.waiting.shift()!.answer({ status: Number(text.slice(9, 12)), body })
    }
    this.wake()
  }

  private wake(): void {
    if (this.waiting.length < this.bound) { for (const resume of this.room.splice(0)) resume() }
  }
}
