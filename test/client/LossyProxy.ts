/**
 * A TCP relay in front of a venue that loses answers on demand. Fault model: a doomed request reaches the venue whole, its answer is
 * discarded, and the connection is closed; nothing is delayed, altered or reordered.
 */
import * as net from "node:net"

export class LossyProxy {
  /** How many more requests lose their answer. */
  private doomed = 0
  private matching: RegExp = /$/
  /** Answers discarded so far. */
  lost = 0
  private readonly sockets = new Set<net.Socket>()

  private constructor(private readonly server: net.Server, private readonly venuePort: number) {
    server.on("connection", (client) => this.relay(client))
  }

  /** Listens on a free port and relays to a venue on this machine. */
  static async start(venuePort: number): Promise<LossyProxy> {
    const server = net.createServer()
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    return new LossyProxy(server, venuePort)
  }

  get port(): number {
    return (this.server.address() as net.AddressInfo).port
  }

  /** Makes the next `count` requests whose first line matches lose their answer. */
  lose(count: number, matching = /./): void {
    this.doomed = count
    this.matching = matching
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise<void>((resolve) => this.server.close(() => resolve()))
  }

  private relay(client: net.Socket): void {
    const venue = net.connect(this.venuePort, "127.0.0.1")
    let isDoomed = false
    for (const socket of [client, venue]) {
      this.sockets.add(socket)
      socket.once("close", () => {
        this.sockets.delete(socket)
        client.destroy()
        venue.destroy()
      })
      // The other end may notice a lost answer as a reset: `close` follows, and that is what counts.
      socket.on("error", () => socket.destroy())
    }
    client.on("data", (chunk) => {
      const line = /^(?:GET|POST|PUT|DELETE) \S+/.exec(chunk.toString("latin1"))?.[0]
      if (line !== undefined && this.doomed > 0 && this.matching.test(line)) {
        this.doomed--
        isDoomed = true
      }
      venue.write(chunk)
    })
    venue.on("data", (chunk) => {
      if (!isDoomed) {
        client.write(chunk)
        return
      }
      this.lost++
      client.destroy()
    })
  }
}
