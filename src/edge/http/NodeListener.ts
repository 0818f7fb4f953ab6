/**
 * `Listener` over `node:http`, or `node:https` with a certificate. It limits everything that a client can make it hold:
 * connections, requests in progress on each, unread answers on each and in all, header size, body size, and the time for a
 * handshake, for headers, for a whole request and for an idle connection. Anything that is not HTTP gets the application's own
 * answer and a closed connection.
 */
import * as Http from "node:http"
import * as Https from "node:https"
import type { AddressInfo, Socket } from "node:net"
import type { Duplex } from "node:stream"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { assert } from "../../domain/Assert.js"
import { type Connection, Connections, originOf, quarterOf } from "./Connections.js"
import { Head, headersOf, headersOfSender, isSound } from "./Head.js"
import * as Lanes from "./Lane.js"
import { ListenError, Listener } from "./Listener.js"
import type { Application, Conversation, Misframed, Reply, Response, Sender, Serving } from "./Listener.js"
import * as NodeSockets from "./NodeSockets.js"
import type { Tls } from "./NodeTls.js"
import { bodyLimit } from "./Requests.js"
import { Rotation, urgentPerTurn } from "./Rotation.js"
import { Unread } from "./Unread.js"

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
  /** Most open connections. */
  readonly connectionLimit: number
  /** Most open connections of one remote address (of one /64 network for IPv6); 0 for a quarter of all. */
  readonly connectionsPerAddress: number
  /** Whether connections are trusted proxies', so that many clients' requests come from one network. */
  readonly isBehindProxies: boolean
  /** Most bytes of unread answers, over all connections. */
  readonly unreadBytes: number
  /** How long answers may wait for a client before its connection counts as idle, ms; it has longer while it keeps receiving. */
  readonly untakenMs: number
  /** How long a connection that was ended may take to close by itself. */
  readonly patienceMs: number
  /** How long a graceful stop waits for requests in progress. The last snapshot follows: 10 s at most for both. */
  readonly drainTimeoutMs: number
  /** Undefined: served without TLS. */
  readonly tls: Tls | undefined
}

export const defaults: Options = {
  host: "127.0.0.1",
  port: 8080,
  bodyLimit,
  headerLimit: 16 * 1024,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  keepAliveTimeoutMs: 60_000,
  connectionLimit: 10_000,
  connectionsPerAddress: 0,
  isBehindProxies: false,
  unreadBytes: 512 * 1024 * 1024,
  untakenMs: 10_000,
  patienceMs: 3_000,
  drainTimeoutMs: 3_000,
  tls: undefined
}

/** A request of `node:http`, and a connection's lane of them. */
const Exchange = Lanes.Exchange<Http.IncomingMessage, Http.ServerResponse>
type Exchange = Lanes.Exchange<Http.IncomingMessage, Http.ServerResponse>
type Lane = Lanes.Lane<Exchange>

const misframedBy: Readonly<Record<string, Misframed>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "timeout"
}

const empty = new Uint8Array(0)

const statusText = (status: number): string => Http.STATUS_CODES[status] ?? "Unknown"

/** With TLS, browsers use nothing but TLS for a year. */
const strictTransport = { "strict-transport-security": "max-age=31536000" } as const

/** Headers of every answer that only the listener knows. */
const listenersOwn = ({ tls }: Options): Response["headers"] => tls === undefined ? {} : strictTransport

/**
 * A response as text for a socket without a `ServerResponse`, with the listener's own headers (`more`). To `HEAD` it is of the same
 * length and has no body.
 */
const raw = (response: Response, more: Response["headers"], isHead: boolean): string => {
  const headers = Object.entries({ ...response.headers, ...more }).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  return `HTTP/1.1 ${response.status} ${statusText(response.status)}\r\n${headers}Date: ${new Date().toUTCString()}\r\n`
    + `content-length: ${Buffer.byteLength(response.body)}\r\n\r\n${isHead ? "" : response.body}`
}

/** Encoded texts that are the same for every caller, kept once: a connection that receives one slowly needs no copy of its own. */
class Fixed {
  private readonly made = new Map<string, Uint8Array>()

  bytesOf(text: string): Uint8Array {
    const known = this.made.get(text)
    if (known !== undefined) return known
    const bytes = Buffer.from(text)
    this.made.set(text, bytes)
    return bytes
  }
}

/** What all answers of a listener share. */
interface Writing {
  /** The listener's own headers. */
  readonly more: Response["headers"]
  /** Undefined with TLS, where each connection's bytes are encrypted separately. */
  readonly fixed: Fixed | undefined
}

/** Writes an answer, and returns how many bytes of its body are held for this connection alone. */
const write = (result: Http.ServerResponse, response: Response, { fixed, more }: Writing, close: boolean, taken: () => void): number => {
  const { body } = response
  const bytes = response.isFixed === true ? fixed?.bytesOf(body) : undefined
  const length = bytes === undefined ? Buffer.byteLength(body) : bytes.length
  // Built as a list, not by spreading the record: V8 keeps the source of a spread copy alive through young-generation collections.
  const headers: Array<string> = []
  for (const name in response.headers) headers.push(name, response.headers[name]!)
  for (const name in more) headers.push(name, more[name]!)
  // An answer without content has no length (RFC 9110, 8.6).
  if (response.status !== 204) headers.push("content-length", String(length))
  if (close && response.headers["connection"] === undefined) headers.push("connection", "close")
  result.writeHead(response.status, headers)
  if (bytes === undefined) {
    // If there are as many bytes as characters it is ASCII, which latin1 writes without another check.
    result.end(body, length === body.length ? "latin1" : "utf8", taken)
    return length
  }
  result.end(bytes, taken)
  return 0
}

/** Whether a request may switch protocols (RFC 6455, 4.2.1): HTTP/1.1 without a body, which would be taken for frames. */
const mayUpgrade = (head: Head, request: Http.IncomingMessage): boolean =>
  isSound(head, request)
  && request.httpVersionMinor > 0
  && head.transferEncoding === undefined
  && Number(head.contentLength ?? 0) === 0

/** Most chunks in which a body is kept: even an empty one takes a hundred bytes. */
const mostPieces = 64

/** Reads a request's body, and tells the lane when it is complete or too large. */
const readBody = (lane: Lane, exchange: Exchange, limit: number): void => {
  const { head, request, result } = exchange
  const refuse = (): void => {
    exchange.refusal = "body_too_large"
    request.resume()
    lane.complete(exchange)
  }
  if (Number(head.contentLength ?? 0) > limit) return refuse()
  let first: Buffer | undefined
  let rest: Array<Buffer> | undefined
  let received = 0
  const onData = (chunk: Buffer): void => {
    received += chunk.length
    if (received > limit) {
      request.off("data", onData)
      request.off("end", onEnd)
      refuse()
    } else if (first === undefined) first = chunk
    else if (rest === undefined) rest = [first, chunk]
    else if (rest.push(chunk) === mostPieces) rest = [Buffer.concat(rest)]
  }
  const onEnd = (): void => {
    if (first !== undefined) exchange.body = rest === undefined ? first : Buffer.concat(rest)
    lane.complete(exchange)
  }
  request.on("data", onData)
  request.on("end", onEnd)
  // A client that disconnects in the middle of its body has requested nothing.
  request.on("error", () => result.destroy())
}

/** Hands a whole request to the application. */
const dispatch = (application: Application, lane: Lane, { body, head, request, target }: Exchange, reply: Reply): void =>
  application.handle({
    method: request.method ?? "",
    target,
    headers: headersOf(head),
    body: body ?? empty,
    remoteAddress: request.socket.remoteAddress ?? "",
    whenGone: (then) => {
      const { socket } = request
      const closed = (): void => then()
      // Who asks only later whether the client has gone is told of one that had gone before.
      if (socket.destroyed) queueMicrotask(closed)
      else socket.once("close", closed)
      return () => void socket.off("close", closed)
    },
    holds: (bytes) => lane.hold(bytes)
  }, reply)

/** The sender of malformed bytes, as far as their head was read. */
const senderOf = ({ remoteAddress = "" }: Socket, head: Head | undefined): Sender => ({
  headers: headersOfSender(head),
  remoteAddress
})

/** An offer to switch to HTTP/2, which several clients make with their first request. */
const offer = /\r\nupgrade(?=:[ \t]*h2c[ \t]*\r\n)/gi
const offered = Buffer.from("h2c")

const nothing = Buffer.alloc(0)

/** Most bytes of a line that may yet become an offer, spaces included. */
const mostOfOffer = 64

/** Whether a line of at most `mostOfOffer` bytes that has not arrived whole may become an offer. */
const mayBecomeOffer = (line: string): boolean => {
  const said = line.toLowerCase().replace(/[ \t]+/g, "")
  return said !== "" && "upgrade:h2c\r".startsWith(said)
}

/**
 * Ignores offers of HTTP/2, as RFC 9113 permits: `node:http` would take such a request for the beginning of a WebSocket. The header
 * is renamed to one of the same length that nobody reads. The beginning of one waits for the rest of its line, so that it does not
 * matter in which pieces it arrives.
 */
class Offers {
  private held: Buffer = nothing
  /** The last bytes before those that are held. */
  private before = ""

  /** What may be framed of the bytes received so far. */
  without(bytes: Buffer): Buffer {
    const all = this.held.length === 0 ? bytes : Buffer.concat([this.held, bytes])
    const end = all.lastIndexOf("\n") + 1
    const isLine = end > 0 || this.before.endsWith("\n")
    const line = isLine && all.length - end <= mostOfOffer ? all.toString("latin1", end) : ""
    const whole = mayBecomeOffer(line) ? all.subarray(0, end) : all
    // A copy, and not a part of what was received, which would all be kept.
    this.held = whole === all ? nothing : Buffer.from(all.subarray(end))
    const { before } = this
    this.before = (before + whole.toString("latin1", Math.max(0, whole.length - 2))).slice(-2)
    if (!whole.includes(offered)) return whole
    return Buffer.from((before + whole.toString("latin1")).replace(offer, "\r\nx-grade").slice(before.length), "latin1")
  }

  /** What was held back. */
  rest(): Buffer {
    return this.held
  }
}

/**
 * Takes over a connection's bytes from `node:http`, which would frame everything it has read at once. Returns how to feed bytes to
 * it, and how to return the connection with the bytes that it was not given yet.
 */
const takeBytes = (
  socket: Socket,
  receive: (bytes: Buffer) => void
): { readonly frame: (bytes: Buffer) => void; readonly giveBack: () => Buffer } => {
  const [frame] = socket.listeners("data") as unknown as ReadonlyArray<(bytes: Buffer) => void>
  assert(frame !== undefined, "node:http frames what its sockets receive")
  // Each request that is answered later listens for the connection's end: Node would warn of a leak from the eleventh on.
  socket.setMaxListeners(0)
  const offers = new Offers()
  const take = (bytes: Buffer): void => {
    const whole = offers.without(bytes)
    if (whole.length > 0) receive(whole)
  }
  socket.on("data", take)
  socket.off("data", frame)
  const giveBack = (): Buffer => {
    socket.off("data", take)
    return offers.rest()
  }
  return { frame, giveBack }
}

/** A connection that counts against the limits, and its lane once it has one. */
interface Admitted {
  lane: Lane | undefined
  /** Its conversation, once it is a WebSocket. */
  conversation: Conversation | undefined
  readonly connection: Connection
}

/** A lane, and how to take its connection from it. */
interface Served {
  readonly lane: Lane
  readonly admission: Admitted
  readonly giveBack: () => Buffer
}

/** The remote address and port, which no other open connection has. */
const nameOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort}`

/** A server without request handlers. */
const bareServer = (options: Options): Http.Server => {
  const { tls } = options
  const settings = {
    maxHeaderSize: options.headerLimit,
    headersTimeout: options.headersTimeoutMs,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: options.keepAliveTimeoutMs,
    connectionsCheckingInterval: Math.min(1_000, options.headersTimeoutMs),
    requireHostHeader: false,
    noDelay: true
  }
  const server = tls === undefined
    ? Http.createServer(settings)
    : Https.createServer({ ...settings, ...tls, minVersion: "TLSv1.2", handshakeTimeout: options.headersTimeoutMs })
  // Headers are limited by size. With a limit on their number, a second credential or length beyond it would go unnoticed.
  server.maxHeadersCount = 0
  // This also covers a client that sends but never reads: pending writes count as silence.
  server.timeout = options.keepAliveTimeoutMs + options.requestTimeoutMs
  return server
}

/**
 * Admits connections within the limits, and serves them. A connection counts from its first packet, also during the handshake, of
 * which `node:https` reports only the end. Until then it is idle.
 */
const admitTo = (
  server: Http.Server,
  connections: Connections,
  isSecure: boolean,
  serve: (socket: Socket, admission: Admitted) => void
): void => {
  const handshaking = new Map<string, Admitted>()
  server.on("connection", (socket: Socket) => {
    const admission: Admitted = {
      lane: undefined,
      conversation: undefined,
      connection: {
        origin: originOf(socket.remoteAddress ?? ""),
        isIdle: () => admission.conversation?.isIdle() ?? admission.lane?.isIdle ?? true,
        isAnonymous: () => admission.conversation?.isAnonymous() ?? false,
        // A connection that is still in its handshake has requested nothing.
        isSilent: () => admission.lane?.isSilent ?? true,
        destroy: () => socket.destroy()
      }
    }
    if (!connections.admit(admission.connection)) return void socket.destroy()
    socket.once("close", () => {
      connections.remove(admission.connection)
      admission.lane?.gone()
    })
    if (!isSecure) return serve(socket, admission)
    const name = nameOf(socket)
    handshaking.set(name, admission)
    socket.once("close", () => handshaking.delete(name))
  })
  server.on("secureConnection", (socket: Socket) => {
    const name = nameOf(socket)
    const admission = handshaking.get(name)
    if (admission === undefined) return void socket.destroy()
    handshaking.delete(name)
    serve(socket, admission)
  })
}

/** Calls back after the given milliseconds. Returns a function that cancels this. */
const after = (millis: number) => (then: () => void): () => void => {
  const timer = setTimeout(then, millis).unref()
  return () => clearTimeout(timer)
}

/** What all connections of one listener share. */
interface Shared {
  readonly connections: Connections
  readonly unread: Unread
  readonly rotation: Rotation
  readonly streams: NodeSockets.NodeSockets
  readonly stopping: () => boolean
}

/** Ends a connection released by `node:http` because of a refused request, after the answers in progress on it. */
const endBehind = (socket: Socket, lane: Lane, timeoutMs: number): void => {
  // Nobody else handles these events any more, or limits the silence.
  socket.on("error", () => socket.destroy())
  socket.on("timeout", () => socket.destroy())
  socket.setTimeout(timeoutMs)
  lane.end("malformed")
}

/** Asks clients that wait with a body for it, unless they announce more than is read. */
const askForBodies = (server: Http.Server, limit: number): void =>
  void server.on("checkContinue", (request: Http.IncomingMessage, result: Http.ServerResponse) => {
    if (Number(request.headers["content-length"] ?? 0) <= limit) result.writeContinue()
    server.emit("request", request, result)
  })

/** Serves one application on one server. */
const makeServer = (
  application: Application,
  options: Options,
  { connections, rotation, stopping, streams, unread }: Shared
): Http.Server => {
  const server = bareServer(options)
  const more = listenersOwn(options)
  const writing: Writing = { more, fixed: options.tls === undefined ? new Fixed() : undefined }
  const served = new WeakMap<Duplex, Served>()
  const laneOf = (socket: Duplex): Lane | undefined => served.get(socket)?.lane

  const serve = (socket: Socket, admission: Admitted): void => {
    const { connection } = admission
    const lane: Lane = new Lanes.Lane(socket, {
      rotation,
      unread,
      origin: connection.origin,
      now: () => performance.now(),
      untakenMs: options.untakenMs,
      inRequestTime: after(options.requestTimeoutMs),
      frame: (bytes) => taken.frame(bytes),
      dispatch: (exchange, reply) => dispatch(application, lane, exchange, reply),
      misframed: (reason, target, head) => application.misframed(reason, target, senderOf(socket, head)),
      write: ({ result }, response, last, taken) => write(result, response, writing, last, taken),
      writeLast: (response, isHead) => {
        if (socket.writable) NodeSockets.endWith(socket, raw(response, more, isHead), options.patienceMs)
      },
      stopping,
      idle: () => connections.quieted(connection)
    })
    const taken = takeBytes(socket, (bytes) => lane.receive(bytes))
    admission.lane = lane
    unread.enter(lane)
    served.set(socket, { lane, admission, giveBack: taken.giveBack })
  }

  admitTo(server, connections, options.tls !== undefined, serve)

  const begin = (request: Http.IncomingMessage, result: Http.ServerResponse): { readonly lane: Lane; readonly exchange: Exchange } => {
    const lane = laneOf(request.socket)
    assert(lane !== undefined, "every connection that was let in has a lane")
    const exchange = new Exchange(request, result, new Head(request.rawHeaders))
    lane.begin(exchange)
    return { lane, exchange }
  }

  const refuse = (lane: Lane, exchange: Exchange): void => {
    exchange.refusal = "malformed"
    exchange.request.resume()
    lane.complete(exchange)
  }

  server.on("request", (request, result) => {
    const { exchange, lane } = begin(request, result)
    if (!isSound(exchange.head, request)) refuse(lane, exchange)
    else if (exchange.head.contentLength === undefined && exchange.head.transferEncoding === undefined) lane.complete(exchange)
    else readBody(lane, exchange, options.bodyLimit)
  })
  askForBodies(server, options.bodyLimit)
  server.on("checkExpectation", (request, result) => {
    const { exchange, lane } = begin(request, result)
    refuse(lane, exchange)
  })
  const endLetGo = ({ socket }: Http.IncomingMessage): void => endBehind(socket, laneOf(socket)!, server.timeout)
  server.on("connect", endLetGo)
  server.on("upgrade", (request, socket, head) => {
    const { admission, giveBack, lane } = served.get(socket)!
    const itsHead = new Head(request.rawHeaders)
    const held = mayUpgrade(itsHead, request) ? lane.release() : undefined
    if (held === undefined) return endLetGo(request)
    const rest = giveBack()
    if (stopping()) return void socket.destroy()
    admission.conversation = streams.upgrade(request, request.socket, Buffer.concat([head, held, rest]), itsHead)
    // No further request can arrive on it, and the stream has its own rules for silence.
    if (admission.conversation !== undefined) request.socket.setTimeout(0)
  })
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
    const code = error.code ?? ""
    const lane = laneOf(socket)
    if (lane === undefined || !/^(?:HPE|ERR_HTTP)_/.test(code)) socket.destroy()
    else lane.end(misframedBy[code] ?? "malformed")
  })
  return server
}

/** Interval of the checks for clients that receive no answers, in ms. */
const unreadLookedAtMs = 1_000

/** Shortest interval between two warnings of the same kind, in ms. */
const warningsApartMs = 10_000

/**
 * Logs warnings about connections: at once, then at intervals with the number since. A timer tells of the last ones too, after which none
 * may come: what was turned away is told in full.
 */
const makeWarning = (runtime: Runtime.Runtime<never>, words: (since: number, origin: string) => string): (origin: string) => void => {
  let since = 0
  let resting = false
  const tell = (origin: string): void => {
    Runtime.runCallback(runtime)(Effect.logWarning(words(since, origin)))
    since = 0
    resting = true
    setTimeout(() => {
      resting = false
      if (since > 0) tell(origin)
    }, warningsApartMs).unref()
  }
  return (origin) => {
    since++
    if (!resting) tell(origin)
  }
}

/** The warning that new connections find no room. */
const roomless = ({ closedForRoom, limit, share, size, turnedAway }: Connections, since: number, origin: string): string =>
  `no room for ${since} new connections, the last from ${origin}: ${size} of ${limit} are open, at most ${share} of one address; `
  + `${closedForRoom} quiet ones were closed for newcomers so far, ${turnedAway} newcomers turned away`

/** The warning that there are too many unread answers. */
const untaken = ({ closed, mostBytes }: Unread, since: number, origin: string): string =>
  `more than ${mostBytes} bytes of answers wait for clients that do not take them: ${since} of their connections were closed, the last `
  + `from ${origin}; ${closed} so far`

/** A listening server, and how to stop taking new requests. */
interface Listening {
  readonly server: Http.Server
  readonly serving: Serving
  readonly stop: () => void
  /** Ends every connection that is still open, in any state. */
  readonly cut: () => void
}

const listen = (application: Application, options: Options, runtime: Runtime.Runtime<never>): Effect.Effect<Listening, ListenError> =>
  Effect.async((resume) => {
    let stopped = false
    const share = options.connectionsPerAddress > 0 ? options.connectionsPerAddress : quarterOf(options.connectionLimit)
    const connections: Connections = new Connections(options.connectionLimit, share, makeWarning(runtime, (since, origin) =>
      roomless(connections, since, origin)))
    const unread: Unread = new Unread(options.unreadBytes, makeWarning(runtime, (since, origin) => untaken(unread, since, origin)),
      (then) => void setTimeout(then, unreadLookedAtMs).unref())
    const urgentOfNetwork = options.isBehindProxies ? urgentPerTurn : undefined
    const rotation = new Rotation(setImmediate, process.nextTick, () => performance.now(), urgentOfNetwork)
    const more = listenersOwn(options)
    const asText: NodeSockets.Writing = { more, raw: (response, isHead) => raw(response, more, isHead) }
    const streams = NodeSockets.make(application, asText, options.patienceMs, rotation)
    const server = makeServer(application, options, { connections, unread, rotation, streams, stopping: () => stopped })
    const cut = (): void => {
      server.closeAllConnections()
      streams.cut()
      // Neither of the above includes refused connections that are still open.
      connections.destroy()
    }
    const onError = (cause: Error): void => resume(Effect.fail(new ListenError({ address: `${options.host}:${options.port}`, cause })))
    server.once("error", onError)
    server.listen({ host: options.host, port: options.port, backlog: 1024 }, () => {
      server.off("error", onError)
      const { address, port } = server.address() as AddressInfo
      resume(Effect.succeed({
        server,
        serving: {
          address,
          port,
          cut: () => {
            stopped = true
            server.close()
            cut()
          },
          connections: () => connections.counts,
          unread: () => ({ bytes: unread.bytes, closed: unread.closed })
        },
        stop: () => {
          stopped = true
          streams.close()
          // `node:http` regards connections that have sent nothing yet as busy.
          connections.destroySilent()
        },
        cut
      }))
    })
  })

const close = ({ cut, server, stop }: Listening, patienceMs: number): Effect.Effect<void> =>
  Effect.async((resume) => {
    stop()
    const patience = setTimeout(cut, patienceMs)
    server.close(() => {
      clearTimeout(patience)
      resume(Effect.void)
    })
    server.closeIdleConnections()
  })

/** A listener on these options. */
export const layer = (options: Options): Layer.Layer<Listener> =>
  Layer.succeed(Listener, {
    serve: (application) =>
      Effect.flatMap(Effect.runtime<never>(),
        (runtime) => Effect.acquireRelease(listen(application, options, runtime), (listening) => close(listening, options.drainTimeoutMs)))
        .pipe(
          Effect.map(({ serving }) => serving)
        )
  })
