/** A bare connection to a venue, from an address of this machine: what is sent on it, and all that comes back. */
import * as net from "node:net"
import { post } from "../../scripts/load/Connection.js"
import { marketId } from "../../scripts/load/Orders.js"
import type { DemoAccount } from "../../scripts/load/VenueProcess.js"

/** A request for an order that rests far from the market; its id is its key too. */
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
  /** All that has come back so far. */
  text = ""
  /** Ends once the system has made the connection, or found that it cannot. */
  readonly connected: Promise<void>
  /** Ends when the connection has, whoever ended it. */
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

  /** Sends bytes, once the connection stands. */
  send(bytes: string): this {
    this.socket.write(bytes)
    return this
  }

  /** The body of the answer with this number, once it is whole; undefined where the connection ends before. */
  async body(number = 1): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.look = () => {
        const bodies = this.bodies()
        if (bodies.length >= number || this.isClosed) resolve(bodies[number - 1])
      }
      this.look()
    })
  }

  /** The same of an answer in JSON. */
  async answer(number = 1): Promise<any> {
    const body = await this.body(number)
    return body === undefined ? undefined : JSON.parse(body)
  }

  /** The status of each answer that has begun to come, in order. */
  get statuses(): ReadonlyArray<number> {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]))
  }

  /** Closes it from this side. */
  close(): void {
    this.socket.destroy()
  }

  /** The bodies that have come whole. */
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
