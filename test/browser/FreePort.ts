/** A port that is free now: passkeys are bound to the venue's configured address, so the port must be known before the start. */
import * as net from "node:net"

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = net.createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as net.AddressInfo
      server.close(() => resolve(port))
    })
  })
