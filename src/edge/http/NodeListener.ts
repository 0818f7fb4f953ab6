/**
 * `Listener` over `node:http`. Bounds everything a client can make it hold: header size, body size, and the
 * time that headers, a whole request and an idle connection may take. What is not HTTP gets the
 * application's own answer and a closed connection.
 */
import * as Http from "node:http"
import type { AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ListenError, Listener } from "./Listener.js"
import type { Application, Misframed, Response } from "./Listener.js"

export interface Options {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** Largest request body in bytes. */
  readonly bodyLimit: number
  /** All of a request's headers, in bytes. */
  readonly headerLimit: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  /** Connections held at once; one more is dropped. */
  readonly connectionLimit: number
  /** How long a graceful stop waits for requests under way. The last snapshot comes after it: 10 s at most for both. */
  readonly drainTimeoutMs: number
}

export const defaults: Options = {
  host: "127.0.0.1",
  port: 8080,
  bodyLimit: 64 * 1024,
  headerLimit: 16 * 1024,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  keepAliveTimeoutMs: 60_000,
  connectionLimit: 10_000,
  drainTimeoutMs: 3_000
}

const empty = new Uint8Array(0)

const misframedBy: Readonly<Record<string, Misframed>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "timeout"
}

const statusText = (status: number): string => Http.STATUS_CODES[status] ?? "Unknown"

/** A response as bytes on a socket that no `ServerResponse` was made for. */
const raw = (response: Response): string => {
  const headers = Object.entries(response.headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  return `HTTP/1.1 ${response.status} ${statusText(response.status)}\r\n${headers}Date: ${new Date().toUTCString()}\r\n`
    + `content-length: ${Buffer.byteLength(response.body)}\r\n\r\n${response.body}`
}

/** What is read of a request's head. `node:http` would make an object of all of it, at twice the cost. */
class Head {
  authorization: string | undefined = undefined
  contentType: string | undefined = undefined
  idempotencyKey: string | undefined = undefined
  hosts = 0
  /** As sent: the parser has refused what is no length, and a second one. */
  contentLength: string | undefined = undefined
  transferEncoding = false

  /** `raw` is name, value, name, value. */
  constructor(raw: ReadonlyArray<string>) {
    for (let at = 0; at < raw.length; at += 2) {
      const name = raw[at]!
      switch (name.length) {
        case 4:
          if (isNamed(name, "host")) this.hosts++
          break
        case 12:
          if (isNamed(name, "content-type")) this.contentType ??= raw[at + 1]!
          break
        case 13:
          if (isNamed(name, "authorization")) this.authorization ??= raw[at + 1]!
          break
        case 14:
          if (isNamed(name, "content-length")) this.contentLength = raw[at + 1]!
          break
        case 15:
          if (!isNamed(name, "idempotency-key")) break
          this.idempotencyKey = this.idempotencyKey === undefined ? raw[at + 1]! : `${this.idempotencyKey}, ${raw[at + 1]!}`
          break
        case 17:
          if (isNamed(name, "transfer-encoding")) this.transferEncoding = true
          break
        default:
      }
    }
  }
}

/** Whether a header's name, as sent, is this one in lower case. */
const isNamed = (sent: string, name: string): boolean => sent === name || sent.toLowerCase() === name

const write = (result: Http.ServerResponse, response: Response, close: boolean): void => {
  if (result.headersSent || result.destroyed) return
  const { body } = response
  const length = Buffer.byteLength(body)
  const headers: Record<string, string | number> = { ...response.headers, "content-length": length }
  if (close) headers["connection"] = "close"
  // As many bytes as characters means ASCII, which latin1 writes without looking at it again.
  result.writeHead(response.status, headers).end(body, length === body.length ? "latin1" : "utf8")
}

/** Serves one application on one server. */
const makeServer = (application: Application, options: Options, stopping: () => boolean): Http.Server => {
  const server = Http.createServer({
    maxHeaderSize: options.headerLimit,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: options.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, options.headersTimeoutMs),
    requireHostHeader: false,
    noDelay: true
  })
  server.maxConnections = options.connectionLimit
  // Also for a client that sends and never reads: what waits to be written counts as silence.
  server.timeout = options.keepAliveTimeoutMs + options.requestTimeoutMs

  const refuse = (request: Http.IncomingMessage, result: Http.ServerResponse, reason: Misframed): void => {
    write(result, application.misframed(reason, request.url), true)
    request.unpipe()
    request.resume()
    result.once("finish", () => request.socket.destroySoon())
  }

  const dispatch = (request: Http.IncomingMessage, head: Head, result: Http.ServerResponse, body: Uint8Array): void =>
    application.handle({
      method: request.method ?? "",
      target: request.url ?? "",
      headers: {
        authorization: head.authorization,
        "content-type": head.contentType,
        "idempotency-key": head.idempotencyKey
      },
      body,
      remoteAddress: request.socket.remoteAddress ?? ""
    }, (response) => write(result, response, stopping()))

  server.on("request", (request, result) => {
    const head = new Head(request.rawHeaders)
    // RFC 9112, 3.2: exactly one `Host` in HTTP/1.1, and never several.
    if (head.hosts !== 1 && (head.hosts > 1 || request.httpVersion === "1.1")) return refuse(request, result, "malformed")
    if (head.contentLength === undefined && !head.transferEncoding) return dispatch(request, head, result, empty)
    if (Number(head.contentLength ?? 0) > options.bodyLimit) return refuse(request, result, "body_too_large")
    let first: Buffer | undefined
    let rest: Array<Buffer> | undefined
    let received = 0
    const onData = (chunk: Buffer): void => {
      received += chunk.length
      if (received > options.bodyLimit) {
        request.off("data", onData)
        request.off("end", onEnd)
        refuse(request, result, "body_too_large")
      } else if (first === undefined) first = chunk
      else if (rest === undefined) rest = [first, chunk]
      else rest.push(chunk)
    }
    const onEnd = (): void => dispatch(request, head, result, rest === undefined ? first ?? empty : Buffer.concat(rest))
    request.on("data", onData)
    request.on("end", onEnd)
    // A client that goes away in the middle of its body asked for nothing.
    request.on("error", () => result.destroy())
  })

  const answerSocket = (socket: Duplex, reason: Misframed): void => {
    if (!socket.writable || socket.destroyed) {
      socket.destroy()
      return
    }
    socket.on("error", () => socket.destroy())
    socket.end(raw(application.misframed(reason)))
  }

  server.on("checkExpectation", (request, result) => refuse(request, result, "malformed"))
  server.on("connect", (_request, socket) => answerSocket(socket, "malformed"))
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (error.code === "ECONNRESET") {
      socket.destroy()
      return
    }
    answerSocket(socket, misframedBy[error.code ?? ""] ?? "malformed")
  })
  return server
}

/** A server that listens, and how it is told to take no new request. */
interface Listening {
  readonly server: Http.Server
  readonly address: string
  readonly port: number
  readonly openSockets: () => number
  readonly stop: () => void
}

/** A listener on these options. */
export const layer = (options: Options): Layer.Layer<Listener> =>
  Layer.succeed(Listener, {
    serve: (application) =>
      Effect.acquireRelease(
        Effect.async<Listening, ListenError>(
          (resume) => {
            let stopped = false
            const sockets = new Set<Socket>()
            const server = makeServer(application, options, () => stopped)
            server.on("connection", (socket: Socket) => {
              sockets.add(socket)
              socket.once("close", () => sockets.delete(socket))
            })
            const onError = (cause: Error): void =>
              resume(Effect.fail(new ListenError({ address: `${options.host}:${options.port}`, cause })))
            server.once("error", onError)
            server.listen({ host: options.host, port: options.port, backlog: 1024 }, () => {
              server.off("error", onError)
              const { address, port } = server.address() as AddressInfo
              resume(Effect.succeed({
                server,
                address,
                port,
                openSockets: () => sockets.size,
                stop: () => {
                  stopped = true
                }
              }))
            })
          }
        ),
        ({ server, stop }) =>
          Effect.async<void>((resume) => {
            stop()
            const patience = setTimeout(() => server.closeAllConnections(), options.drainTimeoutMs)
            server.close(() => {
              clearTimeout(patience)
              resume(Effect.void)
            })
            server.closeIdleConnections()
          })
      ).pipe(Effect.map(({ address, openSockets, port }) => ({ address, port, openSockets })))
  })
