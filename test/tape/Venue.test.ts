import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { expect, test } from "vitest"
import { Venue } from "../../scripts/tape/Venue.js"

const envelope = (code: string, retryable: boolean): string => JSON.stringify({ version: "external-rest-error/v1", code, retryable })

test("a command is asked again under its key until the venue has said what became of it", async () => {
  const replies = [
    [502, "<html>bad gateway</html>"],
    [503, "<html>unavailable</html>"],
    [500, envelope("internal_error", false)],
    [503, envelope("starting", true)],
    [422, envelope("order_rejected", false)]
  ] as const
  const keys: Array<string | undefined> = []
  const server = http.createServer((request, response) => {
    const [status, body] = replies[keys.push(String(request.headers["idempotency-key"])) - 1]!
    request.resume().on("end", () => response.writeHead(status, { "content-length": Buffer.byteLength(body) }).end(body))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const venue = new Venue(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), "token", "run", 4)
  try {
    const answer = await venue.operate("set index price", "PUT", "/v1/operator/markets/A/index-price", { price: "1.0" })
    expect(answer.status).toBe(422)
    expect(keys).toEqual(replies.map(() => "run.0"))
    expect(venue.askedAgain).toBe(4)
  } finally {
    venue.close()
    server.close()
  }
})
