/** Clients that open WebSockets to a port of this machine and discard what they receive: `node listeners.js PORT COUNT`. */
import * as Net from "node:net"

const [port, count] = process.argv.slice(2).map(Number) as [number, number]

const upgrade = `GET /streams/v1/ws HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: Upgrade\r\nupgrade: websocket\r\n`
  + `sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`

const open = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = Net.connect(port, "127.0.0.1", () => socket.write(upgrade))
    socket.once("data", () => resolve())
    socket.on("data", () => {})
    socket.once("error", reject)
  })

for (let opened = 0; opened < count; opened++) await open()
process.send!("open")
