/**
 * A bare server that also pushes, for comparison: `node:http` that parses a body and answers 300 bytes, as the reference of the HTTP
 * figures, and `ws` in the same process, which sends frames of 200 bytes to all sockets at a given rate. A frame contains its number, and
 * the process reports at the end when each was sent.
 */
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { WebSocketServer } from "ws"

interface Pace {
  readonly pushesPerSecond: number
  readonly framesPerPush: number
}

const answer = JSON.stringify({ ok: true, filler: "x".repeat(300 - 23) })
const filler = "x".repeat(120)

const server = http.createServer((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    JSON.parse(Buffer.concat(chunks).toString())
    response.writeHead(200, { "content-type": "application/json", "content-length": answer.length })
    response.end(answer)
  })
})
const streams = new WebSocketServer({ server, perMessageDeflate: false })
streams.on("connection", (socket) => socket.send(`{"type":"hello"}`))

const stamps: Array<number> = []

const push = ({ framesPerPush, pushesPerSecond }: Pace): void => {
  const begun = performance.now()
  let pushes = 0
  setInterval(() => {
    const due = Math.floor((performance.now() - begun) * pushesPerSecond / 1_000)
    if (due <= pushes) return
    // One at a time: frames for which there is no time are skipped, since nothing else would get done otherwise.
    pushes = due
    for (let each = 0; each < framesPerPush; each++) {
      const number = stamps.length / 2
      const frame = Buffer.from(`{"type":"update","channel":"market.book","sequence":${number},"data":"${filler}"}`)
      stamps.push(number, Number(process.hrtime.bigint()))
      for (const socket of streams.clients) socket.send(frame, { binary: false })
    }
  }, 1)
}

process.on("message", (message: Pace | "stamps") => {
  if (message !== "stamps") return push(message)
  process.send!(stamps)
})
process.once("disconnect", () => process.exit(0))
server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port))
