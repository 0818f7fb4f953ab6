/**
 * One keep-alive HTTP/1.1 connection with one request at a time: a minimal client for measurements. A load generator sends one kind of
 * request as cheaply as possible, since a full reference client beside the venue would be measured as well.
 */
import * as net from "node:net"

export interface Answer {
  readonly status: number
  readonly body: string
}

/** The connection ended before the answer was complete: it is unknown whether the request was done. */
class Lost extends Error {
  override readonly name = "Lost"
}

const headEnd = Buffer.from("\r\n\r\n")

export class Connection {
  private readonly socket: net.Socket
  private buffered: Buffer = Buffer.alloc(0)
  private waiting: { readonly answer: (answer: Answer) => void; readonly lost: (error: Lost) => void } | undefined
  private ended = false

  constructor(readonly port: number, private readonly wantBody: boolean) {
    this.socket = net.connect({ port, host: "127.0.0.1", noDelay: true })
    this.socket.on("data", (chunk) => this.take(chunk))
    this.socket.on("error", () => this.lose())
    this.socket.on("close", () => this.lose())
  }

  /** Sends one request; exactly one of the callbacks follows. */
  request(text: string, answer: (answer: Answer) => void, lost: (error: Lost) => void): void {
    if (this.ended) {
      lost(new Lost("the connection had ended"))
      return
    }
    this.waiting = { answer, lost }
    this.socket.write(text)
  }

  close(): void {
    this.ended = true
    this.socket.destroy()
  }

  private lose(): void {
    this.ended = true
    const waiting = this.waiting
    this.waiting = undefined
    waiting?.lost(new Lost("the connection ended"))
  }

  private take(chunk: Buffer): void {
    this.buffered = this.buffered.length === 0 ? chunk : Buffer.concat([this.buffered, chunk])
    const head = this.buffered.indexOf(headEnd)
    if (head < 0) return
    const text = this.buffered.toString("latin1", 0, head)
    const length = /content-length: (\d+)/i.exec(text)
    const end = head + 4 + Number(length?.[1] ?? 0)
    if (this.buffered.length < end) return
    const body = this.wantBody ? this.buffered.toString("utf8", head + 4, end) : ""
    this.buffered = this.buffered.subarray(end)
    const waiting = this.waiting
    this.waiting = undefined
    waiting?.answer({ status: Number(text.slice(9, 12)), body })
  }
}

/** A POST with a JSON body, as text for `request`. */
export const post = (path: string, apiKey: string, idempotencyKey: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${apiKey}\r\nidempotency-key: ${idempotencyKey}\r\n`
  + `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

/** A GET with a credential, as text for `request`. */
export const get = (path: string, apiKey: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${apiKey}\r\n\r\n`
