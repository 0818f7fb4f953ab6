/** One connection to the stream: a minimal client for measurements. Each frame is sent in one piece, as the venue does. */
import * as net from "node:net"
import { randomBytes } from "node:crypto"
import type * as Contract from "../../src/client/venue/Contract.js"
import { clientAt, type DemoAccount } from "./VenueProcess.js"

/** A client's text frames, masked with zeros, so that masking is not measured. */
const masked = (text: string): Buffer => {
  const length = Buffer.byteLength(text)
  const head = length < 126 ? 6 : 8
  const frame = Buffer.alloc(head + length)
  frame[0] = 0x81
  if (length < 126) frame[1] = 0x80 | length
  else {
    frame[1] = 0x80 | 126
    frame.writeUInt16BE(length, 2)
  }
  frame.write(text, head)
  return frame
}

const headEnd = Buffer.from("\r\n\r\n")
const opPing = 9
const opClose = 8
const opText = 1

export interface StreamEvents {
  readonly text: (text: Buffer) => void
  readonly ended: () => void
}

export class StreamConnection {
  private readonly socket: net.Socket
  private buffered: Buffer = Buffer.alloc(0)
  private isUpgraded = false

  constructor(port: number, private readonly events: StreamEvents) {
    this.socket = net.connect({ port, host: "127.0.0.1", noDelay: true }, () => {
      this.socket.write(`GET /streams/v1/ws HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: Upgrade\r\nupgrade: websocket\r\n`
        + `sec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString("base64")}\r\n\r\n`)
    })
    this.socket.on("data", (chunk) => this.take(chunk))
    this.socket.on("error", () => this.socket.destroy())
    this.socket.once("close", () => events.ended())
  }

  send(text: string): void {
    this.socket.write(masked(text))
  }

  /** Sends everything that `send` produces in one write. */
  together(send: () => void): void {
    this.socket.cork()
    send()
    this.socket.uncork()
  }

  close(): void {
    this.socket.destroy()
  }

  private take(chunk: Buffer): void {
    this.buffered = this.buffered.length === 0 ? chunk : Buffer.concat([this.buffered, chunk])
    if (!this.isUpgraded) {
      const end = this.buffered.indexOf(headEnd)
      if (end < 0) return
      if (!this.buffered.toString("latin1", 0, 12).startsWith("HTTP/1.1 101")) return void this.socket.destroy()
      this.isUpgraded = true
      this.buffered = this.buffered.subarray(end + headEnd.length)
    }
    // Answers that arrived together are answered together.
    this.together(() => {
      while (this.frame());
    })
  }

  /** Handles one complete frame. */
  private frame(): boolean {
    const { buffered } = this
    if (buffered.length < 2) return false
    const short = buffered[1]!
    const head = short < 126 ? 2 : short === 126 ? 4 : 10
    if (buffered.length < head) return false
    const length = short < 126 ? short : short === 126 ? buffered.readUInt16BE(2) : Number(buffered.readBigUInt64BE(2))
    if (buffered.length < head + length) return false
    const op = buffered[0]! & 15
    const payload = buffered.subarray(head, head + length)
    this.buffered = buffered.subarray(head + length)
    if (op === opText) this.events.text(payload)
    else if (op === opPing) this.socket.write(Buffer.from([0x8a, 0x80, 0, 0, 0, 0]))
    else if (op === opClose) this.socket.destroy()
    return true
  }
}

/** A ticket for an account, with the scopes to read and trade. */
export const ticketOf = async (port: number, { apiKey }: DemoAccount): Promise<string> => {
  const body = { scopes: ["read", "trade"] }
  return (await clientAt(port, apiKey).rest.ask<Contract.Ticket>({ method: "POST", path: "/v1/realtime/ticket", body })).ticket
}
