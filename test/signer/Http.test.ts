/** The signer over HTTP, from end to end: its answers to each caller, and how the venue treats answers that are invalid. */
import * as HttpClient from "@effect/platform/HttpClient"
import { RequestError } from "@effect/platform/HttpClientError"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import type * as Scope from "effect/Scope"
import { describe, expect, test } from "vitest"
import * as HttpSigner from "../../src/signer/HttpSigner.js"
import { PartySigner } from "../../src/signer/PartySigner.js"
import { calls } from "../../src/signer/Protocol.js"
import * as SignerApplication from "../../src/signer/SignerApplication.js"
import { reasonOf, run } from "../contracts/SignerContract.js"
import { over } from "./Directory.js"
import { SimKeyStore } from "../../sim/world/SimKeyStore.js"
import { signerAt, token } from "./SignerProcess.js"

const bearer = `Bearer ${token}`
const paths = Object.values(calls).map(({ path }) => path)

/** Sends one request to a signer without keys. */
const asked = (request: Partial<SignerApplication.Request>) =>
  run(Effect.scoped(Effect.gen(function*() {
    const signer = yield* over(new SimKeyStore().layer)
    const answer = SignerApplication.make(signer, Redacted.make(token))
    return yield* answer({
      method: "POST",
      target: calls.treasuryKey.path,
      headers: { authorization: bearer },
      body: Buffer.from("{}"),
      ...request
    })
  })))

describe("the signer answers", () => {
  test("whoever has its token", async () => {
    const { body, headers, status } = await asked({})
    expect(status).toBe(200)
    expect(headers).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" })
    expect(Object.keys(JSON.parse(body) as object).sort()).toStrictEqual(["keyId", "publicKey"])
  })

  test.each([undefined, "", "Bearer", `bearer ${token}`, `Bearer ${token} `, `Bearer ${token}x`, `Bearer ${token.slice(1)}`, token])(
    "nobody who says %s",
    async (authorization) => {
      for (const target of [...paths, "/nowhere"]) {
        const { body, status } = await asked({ target, headers: authorization === undefined ? {} : { authorization } })
        expect(status).toBe(401)
        expect(body).toBe("{\"detail\":\"the bearer is not the signer's\"}")
      }
    }
  )

  test("that it is there, to everybody", async () => {
    expect(await asked({ method: "GET", target: "/healthz", headers: {} })).toMatchObject({ status: 200, body: "{\"status\":\"ok\"}" })
  })

  test.each<readonly [string, number, Partial<SignerApplication.Request>]>([
    ["another path", 404, { target: "/v1/keys" }],
    ["a path with a query", 404, { target: `${calls.treasuryKey.path}?a=1` }],
    ["another method", 405, { method: "GET" }],
    ["no JSON", 400, { body: Buffer.from("{") }],
    ["nothing", 400, { body: Buffer.alloc(0) }],
    ["a member too many", 400, { body: Buffer.from("{\"secret\":\"of somebody\"}") }],
    ["another call's body", 400, { target: calls.sign.path }],
    ["a list", 400, { body: Buffer.from("[]") }],
    ["too much", 413, { body: Buffer.alloc(128 * 1024 + 1, 32) }]
  ])("%s with %d, and repeats nothing of it", async (_, expected, request) => {
    const { body, status } = await asked(request)
    expect(status).toBe(expected)
    expect(Object.keys(JSON.parse(body) as object)).toStrictEqual(["detail"])
    expect(body).not.toContain("somebody")
  })
})

/** A server that answers as the test likes; records the requests. */
const served = (handle: Http.RequestListener): Effect.Effect<{ readonly url: string; readonly asked: Array<string> }, never, Scope.Scope> =>
  Effect.gen(function*() {
    const asked: Array<string> = []
    const server = yield* Effect.acquireRelease(
      Effect.sync(() =>
        Http.createServer((request, response) => {
          asked.push(request.url!)
          request.resume()
          handle(request, response)
        })
      ),
      (running) =>
        Effect.async<void>((resume) => {
          running.close(() => resume(Effect.void))
          running.closeAllConnections()
        })
    )
    yield* Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
  })

const json = (status: number, body: unknown): Http.RequestListener => (_, response) => {
  response.writeHead(status, { "content-type": "application/json" }).end(typeof body === "string" ? body : JSON.stringify(body))
}

describe("of an answer that is none the venue makes", () => {
  test.each<readonly [string, Http.RequestListener, string]>([
    ["nothing in time", () => undefined, "SignerUnknown"],
    ["a connection that breaks", (request) => request.socket.destroy(), "SignerUnknown"],
    ["an answer that breaks off", (_, response) => {
      response.writeHead(200, { "content-length": "100" }).write("{", () => response.destroy())
    }, "SignerUnknown"],
    ["what is no JSON", json(200, "{"), "SignerUnknown"],
    ["another answer", json(200, { ok: true }), "SignerUnknown"],
    ["a key that is none", json(200, { keyId: "abc", publicKey: "" }), "SignerUnknown"],
    ["more than it reads", json(200, " ".repeat(200_000)), "SignerUnknown"],
    ["an answer without end", (_, response) => {
      const more = (): void => void (response.writable && response.write(" ".repeat(60_000), more))
      response.writeHead(200)
      more()
    }, "SignerUnknown"],
    ["a failure", json(500, { detail: "the signer failed" }), "SignerUnknown"],
    ["a refusal that is none", json(422, { reason: "because", detail: "" }), "SignerUnknown"],
    ["a refusal", json(422, { reason: "unknown_key", detail: "" }), "unknown_key"],
    ["that it cannot write", json(503, { detail: "the key store cannot be written: ENOSPC" }), "SignerUnavailable"],
    ["that the token is another", json(401, { detail: "" }), "SignerUnavailable"],
    ["that it knows no such call", json(404, { detail: "" }), "SignerUnavailable"]
  ])("of %s what it is", (_, handle, expected) =>
    run(Effect.scoped(Effect.gen(function*() {
      const { url } = yield* served(handle)
      const signer = yield* signerAt(url, 1_000)
      expect(yield* reasonOf(signer.treasuryKey)).toBe(expected)
    }))))

  test("of nobody there that nothing was sent", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const { url } = yield* Effect.scoped(served(() => undefined))
      const signer = yield* signerAt(url)
      expect(yield* reasonOf(signer.treasuryKey)).toBe("SignerUnavailable")
    }))))

  test.each<readonly [expected: string, codes: ReadonlyArray<string>]>([
    ["SignerUnavailable", ["DEPTH_ZERO_SELF_SIGNED_CERT"]],
    ["SignerUnavailable", ["ECONNREFUSED", "ENETUNREACH"]],
    ["SignerUnknown", ["ECONNREFUSED", "ECONNRESET"]],
    ["SignerUnknown", []]
  ])("%s of the system's codes %j", (expected, codes) =>
    run(Effect.gen(function*() {
      const client = HttpClient.make((request) =>
        Effect.fail(new RequestError({ request, reason: "Transport", cause: { errors: codes.map((code) => ({ code })) } }))
      )
      const signer = HttpSigner.layer({ url: "http://127.0.0.1:1", token: Redacted.make(token), timeoutMs: 1_000 })
      const error = yield* Effect.flip(Effect.flatMap(PartySigner, ({ treasuryKey }) => treasuryKey)).pipe(
        Effect.provide(signer),
        Effect.provideService(HttpClient.HttpClient, client)
      )
      expect(error._tag).toBe(expected)
      for (const code of codes) expect(error.message).toContain(code)
    })))

  test("of another address that it does not go there", () =>
    run(Effect.scoped(Effect.gen(function*() {
      const other = yield* served(json(200, {}))
      const { url } = yield* served((_, response) => void response.writeHead(307, { location: `${other.url}/v1/treasury-key` }).end())
      const signer = yield* signerAt(url)
      expect(yield* reasonOf(signer.treasuryKey)).toBe("SignerUnknown")
      expect(other.asked).toStrictEqual([])
    }))))

  test("nothing that has the token in it", () =>
    run(Effect.scoped(Effect.gen(function*() {
      for (const handle of [json(500, ""), json(401, { detail: "" }), (request: Http.IncomingMessage) => request.socket.destroy()]) {
        const { url } = yield* served(handle)
        const error = yield* Effect.flip((yield* signerAt(url)).treasuryKey)
        expect(`${String(error)} ${JSON.stringify(error)} ${error.stack}`).not.toContain(token)
      }
    }))))
})
