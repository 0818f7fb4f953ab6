/** What can happen to a question over HTTP: it is never sent, never answered, answered in part, or answered with more than is read. */
import * as Http from "node:http"
import * as Net from "node:net"
import type { AddressInfo } from "node:net"
import { FetchHttpClient } from "@effect/platform"
import { Effect, Either, Layer, Redacted } from "effect"
import { afterEach, describe, expect, test } from "vitest"
import { setting } from "../../src/ledger/development/Setting.js"
import * as HttpLedger from "../../src/ledger/HttpLedger.js"
import { Ledger } from "../../src/ledger/Ledger.js"

const open: Array<{ readonly server: Net.Server; readonly sockets: Set<Net.Socket> }> = []
const close = async (): Promise<void> => {
  for (const { server, sockets } of open.splice(0)) {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
}
afterEach(close)

const listening = async (server: Net.Server): Promise<string> => {
  const sockets = new Set<Net.Socket>()
  server.on("connection", (socket: Net.Socket) => sockets.add(socket))
  open.push({ server, sockets })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const serving = (serve: (request: Http.IncomingMessage, response: Http.ServerResponse) => void): Promise<string> =>
  listening(Http.createServer({ keepAliveTimeout: 1 }, (request, response) => {
    request.resume().on("end", () => serve(request, response))
  }))

const submission = {
  preparedTransaction: new Uint8Array(3),
  scheme: 3,
  signature: new Uint8Array(64),
  signedBy: "1220",
  party: "owner",
  submissionId: "first",
  userId: "perpetuum",
  deduplicateFromOffset: 7
} as const

const executed = async (url: string, timeoutMs = 5_000, bearer?: string): Promise<string> => {
  const layer = HttpLedger.layer({ ...setting, url, timeoutMs, bearer: bearer === undefined ? undefined : Redacted.make(bearer) })
  const result = await Effect.runPromise(
    Effect.flatMap(Ledger, (ledger) => Effect.either(ledger.execute(submission))).pipe(
      Effect.provide(Layer.provide(layer, FetchHttpClient.layer))
    )
  )
  return Either.isRight(result) ? "taken" : `${result.left._tag}: ${result.left.cause}`
}

describe("a submission over HTTP", () => {
  test("goes to the path below the address, as JSON, with the token", async () => {
    let seen: unknown
    const url = await serving((request, response) => {
      const { authorization, "content-type": type } = request.headers
      seen = [request.method, request.url, authorization, type]
      response.end("{}")
    })
    expect(await executed(`${url}/`, 5_000, "secret")).toBe("taken")
    expect(seen).toStrictEqual(["POST", "/v2/interactive-submission/execute", "Bearer secret", "application/json"])
  })

  test("is unavailable where nobody listens, and where there is no such host", async () => {
    const url = await serving((_, response) => response.end())
    await close()
    expect(await executed(url)).toMatch(/^Unavailable: .*ECONNREFUSED/)
    expect(await executed("http://ledger.invalid")).toMatch(/^Unavailable: .*(?:ENOTFOUND|EAI_AGAIN)/)
  })

  test("is unknown where the connection ends without an answer, or in the middle of one", async () => {
    expect(await executed(await serving((_, response) => void response.destroy()))).toMatch(/^Unknown: /)
    const cut = await serving((_, response) => {
      response.writeHead(200, { "content-length": "1000" })
      response.write("{", () => response.destroy())
    })
    expect(await executed(cut)).toMatch(/^Unknown: /)
  })

  test("is unknown where there is no answer in time", async () => {
    const held: Array<Http.ServerResponse> = []
    const url = await serving((_, response) => void held.push(response))
    expect(await executed(url, 50)).toBe("Unknown: no answer within 50 ms")
    for (const response of held) response.destroy()
  })

  test("is unknown where the answer is larger than any, or is no JSON", async () => {
    const large = await serving((_, response) => {
      response.on("error", () => response.destroy())
      response.end(Buffer.alloc(5 * 1024 * 1024, "x"))
    })
    expect(await executed(large)).toBe("Unknown: the answer has more than 4194304 bytes")
    expect(await executed(await serving((_, response) => response.writeHead(502).end("<html>Bad Gateway</html>")))).toBe(
      "Unknown: status 502: <html>Bad Gateway</html>"
    )
    expect(await executed(await listening(Net.createServer((socket) => socket.end("nonsense\r\n\r\n"))))).toMatch(/^Unknown: /)
  })

  test("is unknown where it is sent elsewhere, and not followed there", async () => {
    const paths: Array<string | undefined> = []
    const url = await serving((request, response) => {
      paths.push(request.url)
      response.writeHead(302, { location: "/login" }).end()
    })
    expect(await executed(url)).toMatch(/^Unknown: status 302/)
    expect(paths).toStrictEqual(["/v2/interactive-submission/execute"])
    expect(await executed(await serving((_, response) => response.end("<html>Welcome</html>")))).toMatch(
      /^Unknown: the answer to execute cannot be read/
    )
  })

  test("is refused only by an answer that says that it is definite", async () => {
    const answering = (definiteAnswer: boolean) =>
      serving((_, response) => {
        response.writeHead(400, { "content-type": "application/json" })
        response.end(JSON.stringify({ code: "A_CODE", cause: "a cause", context: { a: "b" }, errorCategory: 9, definiteAnswer }))
      })
    expect(await executed(await answering(true))).toBe("Refused: a cause")
    expect(await executed(await answering(false))).toBe("Unknown: a cause")
  })
})
