/** A bare connection to a venue from one of this machine's addresses: what is sent on it, and everything received. */
import * as net from "node:net"
import { post } from "../../scripts/load/Connection.js"
import { marketId } from "../../scripts/load/Orders.js"
import type { DemoAccount } from "../../scripts/load/VenueProcess.js"

/** A request for an order that rests far from the market; its clientOrderId is its idempotency key too. */
export const placing = ({ accountId, apiKey }: DemoAccount, clientOrderId: string): string =>
  post("/v1/orders", apiKey, clientOrderId, JSON.stringify({
    accountId,
    marketId,
    clientOrderId,
    side: "buy",
    orderType: "limit",
    price: "1000.0",
    quantity: "0.001"
  }))

export class BareSocket {
  /** Everything received so far. */
  text = ""
  /** Resolves once the connection is established, or has failed. */
  readonly connected: Promise<void>
  /** Resolves once the connection has ended, from either side. */
  readonly closed: Promise<void>
  private readonly socket: net.Socket
  private isClosed = false
  private look: () => void = () => {}

  constructor(port: number, from = "127.0.0.1") {
    this.socket = net.connect({ port, host: "127.0.0.1", localAddress: from })
    this.socket.on("error", () => {})
    this.connected = new Promise((resolve) => void this.socket.once("connect", resolve).once("close", () => resolve()))
    this.socket.on("data", (chunk) => {
      this.text += chunk.toString("utf8")
      this.look()
    })
    this.closed = new Promise((resolve) =>
      this.socket.once("close", () => {
        this.isClosed = true
        this.look()
        resolve()
      })
    )
  }

  /** Sends bytes once the connection is established. */
  send(bytes: string): this {
    this.socket.write(bytes)
    return this
  }

  /** The body of the nth answer once it is complete; undefined if the connection ends before that. */
  async body(number = 1): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.look = () => {
        const bodies = this.bodies()
        if (bodies.length >= number || this.isClosed) resolve(bodies[number - 1])
      }
      this.look()
    })
  }

  /** The body of the nth answer, parsed as JSON. */
  async answer(number = 1): Promise<any> {
    const body = await this.body(number)
    return body === undefined ? undefined : JSON.parse(body)
  }

  /** The status of each answer that has begun to arrive, in order. */
  get statuses(): ReadonlyArray<number> {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
  }

  /** Closes the connection from this side. */
  close(): void {
    this.socket.destroy()
  }

  /** The bodies that have arrived completely. */
  private bodies(): ReadonlyArray<string> {
    const bodies: Array<string> = []
    for (let rest = this.text;;) {
      const head = rest.indexOf("\r\n\r\n")
      const length = /\r\ncontent-length: (\d+)\r\n/i.exec(rest.slice(0, head + 2))
      if (head < 0 || length === null) return bodies
      const end = head + 4 + Number(length[1])
      if (rest.length < end) return bodies
      bodies.push(rest.slice(head + 4, end))
      rest = rest.slice(end)
    }
  }
}
