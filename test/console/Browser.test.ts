/** How the pages reach the venue: their requests, sent with `fetch` as in a browser, to servers that observe them. */
import { buildSync } from "esbuild"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { createContext, runInContext } from "node:vm"
import { expect, test } from "vitest"
import type { Outside } from "../../src/console/state/Outside.js"

/** What the pages have of a browser here: neither a document nor passkeys. */
const browserAt = (origin: string): Outside => {
  const { outputFiles: [script] } = buildSync({
    entryPoints: ["src/console/Browser.ts"],
    bundle: true,
    write: false,
    format: "iife",
    globalName: "made",
    target: "es2022"
  })
  const { hostname } = new URL(origin)
  const context = createContext({
    AbortSignal,
    URL,
    fetch,
    location: { hash: "", hostname, origin, pathname: "/", port: "", protocol: "http:", search: "" }
  })
  runInContext(script!.text, context)
  return (context["made"] as { readonly browser: Outside }).browser
}

/** A server that answers everything with a status and headers, and keeps what it was asked. */
const serving = async (status: number, headers: Readonly<Record<string, string>>) => {
  const requests: Array<IncomingMessage> = []
  const server = createServer((request, response) => {
    requests.push(request)
    request.resume()
    response.writeHead(status, headers).end("{}")
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    requests,
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    end: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}

const sent = { token: "ses_1", idempotencyKey: undefined, body: undefined } as const

test("an answer is taken with its status, its body and its id", async () => {
  const venue = await serving(200, { "x-request-id": "req_1" })
  const told = await browserAt(venue.origin).send({ ...sent, method: "GET", path: `${venue.origin}/v1/limits` })
  venue.end()
  expect(told).toEqual({ status: 200, requestId: "req_1", body: {} })
  expect(venue.requests.map(({ headers }) => headers["authorization"])).toEqual(["Bearer ses_1"])
})

test("a redirection is not followed, so that nobody else gets a body or takes the venue's place", async () => {
  const elsewhere = await serving(200, {})
  const seen: Array<unknown> = []
  for (const status of [301, 302, 303, 307, 308]) {
    const venue = await serving(status, { location: `${elsewhere.origin}/v1/orders` })
    const told = await browserAt(venue.origin).send({ ...sent, method: "POST", path: `${venue.origin}/v1/orders`, body: { secret: 1 } })
    venue.end()
    seen.push([told, venue.requests.length, elsewhere.requests.length])
  }
  elsewhere.end()
  expect(seen).toEqual(new Array(5).fill([undefined, 1, 0]))
})
