/** The listener with a certificate: the same limits, also before a handshake is complete, and starts with wrong files refused. */
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as https from "node:https"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import * as tls from "node:tls"
import { Effect } from "effect"
import { afterAll, afterEach, describe, expect, test } from "vitest"
import * as NodeTls from "../../../src/edge/http/NodeTls.js"
import { fewRows } from "../../FewRows.js"
import * as Fake from "../FakeVenue.js"
import { bodyOf, closeAll, exchange, serve, statusesOf } from "./NodeServed.js"

const certFile = "fixtures/tls/test-only.cert.pem"
const keyFile = "fixtures/tls/test-only.key.pem"
const otherKeyFile = "fixtures/tls/other.key.pem"
const ca = fs.readFileSync(certFile, "utf8")
const pair = { cert: ca, key: fs.readFileSync(keyFile, "utf8") }

afterEach(closeAll)

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-tls-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/** Everything received in answer to bytes sent over TLS, until the server closes. */
const through = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ""
    const socket = tls.connect({ port, host: "127.0.0.1", ca }, () => socket.write(bytes))
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8")
    })
    socket.once("error", reject)
    socket.once("close", () => resolve(text))
  })

const get = (port: number, target: string): Promise<{ readonly status: number; readonly headers: Readonly<Record<string, unknown>> }> =>
  new Promise((resolve, reject) => {
    https.get({ port, host: "127.0.0.1", path: target, ca, agent: false }, (answer) => {
      answer.resume()
      answer.once("end", () => resolve({ status: answer.statusCode!, headers: answer.headers }))
    }).once("error", reject)
  })

const closing = "host: x\r\nconnection: close\r\n\r\n"

test("requests are answered in order behind a handshake, and browsers are told to come back with TLS", async () => {
  const { port } = await serve(Fake.make().application, { tls: pair })
  const text = await through(port, `GET /healthz HTTP/1.1\r\nhost: x\r\n\r\nGET /v1/nowhere HTTP/1.1\r\n${closing}`)
  expect(statusesOf(text)).toEqual([200, 404])
  expect([...text.matchAll(/strict-transport-security: max-age=31536000\r\n/g)].length).toBe(2)
})

test("without a certificate nobody is told so", async () => {
  const { port } = await serve(Fake.make().application)
  const { text } = await exchange(port, `GET /healthz HTTP/1.1\r\n${closing}`)
  expect(statusesOf(text)).toEqual([200])
  expect(text).not.toContain("strict-transport-security")
})

test("what is no request gets the venue's own answer there too", async () => {
  const { port } = await serve(Fake.make().application, { tls: pair })
  const text = await through(port, "hello\r\n\r\n")
  expect([statusesOf(text), bodyOf(text).code]).toEqual([[400], "invalid_request"])
  expect(text).toContain("strict-transport-security")
  expect(text).toContain("x-content-type-options: nosniff")
})

test("who speaks no TLS, or an old one, is not served", async () => {
  const { openSockets, port } = await serve(Fake.make().application, { tls: pair })
  expect(await exchange(port, `GET /healthz HTTP/1.1\r\n${closing}`)).toEqual({ text: "", closed: true })
  const old = new Promise((resolve) => {
    tls.connect({ port, host: "127.0.0.1", ca, minVersion: "TLSv1.1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" })
      .once("secureConnect", () => resolve("served")).once("error", () => resolve("refused"))
  })
  expect(await old).toBe("refused")
  await expect.poll(openSockets).toBe(0)
})

describe("a handshake that does not come to its end", () => {
  const silent = (port: number): Promise<{ readonly socket: net.Socket; readonly closed: Promise<unknown> }> =>
    new Promise((resolve) => {
      const socket = net.connect(port, "127.0.0.1")
      const closed = new Promise((done) => socket.once("close", done))
      socket.on("error", () => {})
      socket.once("connect", () => resolve({ socket, closed }))
    })

  test("is ended in the time that a head has", async () => {
    const { openSockets, port } = await serve(Fake.make().application, { tls: pair, headersTimeoutMs: 100 })
    const { closed } = await silent(port)
    await closed
    await expect.poll(openSockets).toBe(0)
  })

  test("holds no stop up", async () => {
    const long = 1_000_000
    const { close, counts, port } = await serve(Fake.make().application, {
      tls: pair,
      drainTimeoutMs: long,
      headersTimeoutMs: long,
      requestTimeoutMs: long
    })
    const { closed } = await silent(port)
    await expect.poll(() => counts().open).toBe(1)
    await close()
    await closed
  })

  test("counts among the connections, and makes room for a newcomer", async () => {
    const { counts, port } = await serve(Fake.make().application, { tls: pair, connectionLimit: 2, connectionsPerAddress: 2 })
    const first = await silent(port)
    const second = await silent(port)
    await expect.poll(() => counts().open).toBe(2)
    expect((await get(port, "/healthz")).status).toBe(200)
    await first.closed
    expect(counts()).toMatchObject({ closedForRoom: 1, turnedAway: 0 })
    second.socket.destroy()
  })
})

describe("files", () => {
  const file = (name: string, text: string): string => {
    const at = path.join(directory, name)
    fs.writeFileSync(at, text)
    return at
  }
  /** The certificate, followed by one whose text was damaged. */
  const brokenChain = file("chain.pem", `${ca.trim()}\n${ca.replace("MII", "M!!")}`)
  const noPem = file("no.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")

  test("that belong together are taken", async () => {
    expect(await Effect.runPromise(NodeTls.load(certFile, keyFile))).toEqual(pair)
    const chain = file("whole.pem", `${ca.trim()}\n${ca}`)
    expect((await Effect.runPromise(NodeTls.load(chain, keyFile))).cert).toBe(fs.readFileSync(chain, "utf8"))
  })

  test.each<readonly [string, string, string, string, string]>([
    ["a certificate that is not there", "/nowhere/cert.pem", keyFile, "TLS_CERT", "cannot be read"],
    ["a key that is not there", certFile, "/nowhere/key.pem", "TLS_KEY", "cannot be read"],
    ["a certificate that is none", noPem, keyFile, "TLS_CERT", "no certificate in PEM"],
    ["a damaged certificate behind the first one", brokenChain, keyFile, "TLS_CERT", "cannot be served"],
    ["a key in place of the certificate", keyFile, keyFile, "TLS_CERT", "no certificate in PEM"],
    ["a certificate in place of the key", certFile, certFile, "TLS_KEY", "no private key in PEM"],
    ["another certificate's key", certFile, otherKeyFile, "TLS_KEY", "is not the key of the certificate"]
  ])("that are wrong are refused: %s", async (_, cert, key, setting, said) => {
    const error = await Effect.runPromise(Effect.flip(NodeTls.load(cert, key)))
    expect(String(error)).toContain(setting)
    expect(String(error)).toContain(said)
    // An error must not quote the file: it may be a key.
    expect(String(error)).not.toContain("BEGIN")
  })

  test.each<readonly [string, Readonly<Record<string, string>>, string]>([
    ["a certificate alone", { TLS_CERT: certFile }, "TLS_KEY"],
    ["a key alone", { TLS_KEY: keyFile }, "TLS_CERT"],
    ["another certificate's key", { TLS_CERT: certFile, TLS_KEY: otherKeyFile }, "TLS_KEY"],
    ["a damaged certificate behind the first one", { TLS_CERT: brokenChain, TLS_KEY: keyFile }, "TLS_CERT is "]
  ])("that are wrong end the start with 78 and the variable's name: %s", (_, settings, name) => {
    const { status, stderr } = spawnSync(process.execPath, ["dist/venue/main.js"], {
      env: { PATH: process.env["PATH"] ?? "", ...fewRows, DATA_DIR: path.join(directory, "none"), PORT: "0", ...settings },
      encoding: "utf8",
      timeout: 100_000
    })
    expect([status, stderr.includes(name)]).toEqual([78, true])
  })
})

test("the venue as a process serves TLS with the files that are set, and stops in good order", async () => {
  const child = spawn(process.execPath, ["dist/venue/main.js"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      ...fewRows,
      DATA_DIR: path.join(directory, "data"),
      PORT: "0",
      TLS_CERT: certFile,
      TLS_KEY: keyFile
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const exited = new Promise((resolve) => child.once("close", resolve))
  let output = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => void (output += chunk.toString()))
  const portOf = (): string | undefined => /venue at https:\/\/[^:]+:(\d+)/.exec(output)?.[1]
  try {
    await expect.poll(portOf).toBeDefined()
    const answer = await get(Number(portOf()), "/readyz")
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({ "strict-transport-security": "max-age=31536000", "x-content-type-options": "nosniff" })
    expect((await get(Number(portOf()), "/v1/markets")).headers["ratelimit-remaining"]).toBe("1199")
  } finally {
    child.kill("SIGTERM")
    expect(await exited).toBe(0)
  }
  const port = portOf()
  expect(output).toContain(`the API reference at https://127.0.0.1:${port}/docs`)
  expect(output).toMatch(/next, in another terminal: npm run --silent venue -- demo .*--url https:\/\/127\.0\.0\.1:\d+ --data /)
  expect(output).toMatch(/stopped cleanly at sequence \d+: all that was decided is durable"\}\n$/)
})
