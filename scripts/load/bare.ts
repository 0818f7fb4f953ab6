/** The reference of the HTTP figures: bare `node:http` that parses a JSON body and answers 300 bytes. */
import * as http from "node:http"
import type { AddressInfo } from "node:net"

const answer = JSON.stringify({ ok: true, filler: "x".repeat(300 - 23) })

const server = http.createServer((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    const text = (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString()
    const parsed: unknown = JSON.parse(text)
    response.writeHead(typeof parsed === "object" ? 200 : 400, {
      "content-type": "application/json",
      "content-length": answer.length
    })
    response.end(answer)
  })
})

server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port))
process.once("disconnect", () => process.exit(0))
