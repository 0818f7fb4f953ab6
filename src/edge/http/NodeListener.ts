/**
 * `Listener` over `node:http`, or `node:https` where it has a certificate. Bounds everything a client can make it hold:
 * connections, requests under way on each, answers not taken on each and on all of them, header size, body size, and the time that a
 * handshake, headers, a whole request and an idle connection may take. What is not HTTP gets the application's own answer and a closed
 * connection.
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
import { Head } from "./Head.js"
import { Exchange, Lane } from "./Lane.js"
import { ListenError, Listener } from "./Listener.js"
import type { Application, Conversation, Misframed, Reply, Response, Sender, Serving } from "./Listener.js"
import * as NodeSockets from "./NodeSockets.js"
import type { Tls } from "./NodeTls.js"
import { bodyLimit } from "./Requests.js"
import { Rotation } from "./Rotation.js"
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
  /** Connections held at once. */
  readonly connectionLimit: number
  /** Connections held at once of one remote address (of one /64 network of IPv6); 0 for a quarter of all. */
  readonly connectionsPerAddress: number
  /** Bytes of answers that clients have not taken, of all connections together. */
  readonly unreadBytes: number
  /** How long answers may wait for a client before its connection is as good as a quiet one; longer, as it takes them. */
  readonly untakenMs: number
  /** How long a connection that was ended has to go away by itself. */
  readonly patienceMs: number
  /** How long a graceful stop waits for requests under way. The last snapshot comes after it: 10 s at most for both. */
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
  unreadBytes: 512 * 1024 * 1024,
  untakenMs: 10_000,
  patienceMs: 3_000,
  drainTimeoutMs: 3_000,
  tls: undefined
}

const misframedBy: Readonly<Record<string, Misframed>> = {
  HPE_HEADER_OVERFLOW: "headers_too_large",
  HPE_CHUNK_EXTENSIONS_OVERFLOW: "headers_too_large",
  ERR_HTTP_REQUEST_TIMEOUT: "timeout"
}

const empty = new Uint8Array(0)

const statusText = (status: number): string => Http.STATUS_CODES[status] ?? "Unknown"

/** Where there is TLS, browsers come back with TLS only, for a year. */
const strictTransport = { "strict-transport-security": "max-age=31536000" } as const

/** The headers that only the listener knows to give, of every answer. */
const listenersOwn = ({ tls }: Options): Response["headers"] => tls === undefined ? {} : strictTransport

/** A response as bytes on a socket that no `ServerResponse` was made for, with the listener's own headers (`more`). */
const raw = (response: Response, more: Response["headers"]): string => {
  const headers = Object.entries({ ...response.headers, ...more }).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  return `HTTP/1.1 ${response.status} ${statusText(response.status)}\r\n${headers}Date: ${new Date().toUTCString()}\r\n`
    + `content-length: ${Buffer.byteLength(response.body)}\r\n\r\n${response.body}`
}

/** Bytes of texts that are the same for whoever asks, made once: a connection that is slow to take one holds nothing of its own. */
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

/** What the answers of one listener share. */
interface Writing {
  /** The listener's own headers. */
  readonly more: Response["headers"]
  /** Undefined where each connection's bytes are its own, since they are encrypted for it. */
  readonly fixed: Fixed | undefined
}

/** Writes an answer, and says how many bytes of its body are held for its connection alone. */
const write = (result: Http.ServerResponse, response: Response, { fixed, more }: Writing, close: boolean, taken: () => void): number => {
  const { body } = response
  const bytes = response.isFixed === true ? fixed?.bytesOf(body) : undefined
  const length = bytes === undefined ? Buffer.byteLength(body) : bytes.length
  // A list, and no copy of the record: V8 keeps what such a copy was made for through collections of what is young.
  const headers: Array<string> = []
  for (const name in response.headers) headers.push(name, response.headers[name]!)
  for (const name in more) headers.push(name, more[name]!)
  // An answer without content says nothing of a length (RFC 9110, 8.6).
  if (response.status !== 204) headers.push("content-length", String(length))
  if (close) headers.push("connection", "close")
  result.writeHead(response.status, headers)
  if (bytes === undefined) {
    // As many bytes as characters means ASCII, which latin1 writes without looking at it again.
    result.end(body, length === body.length ? "latin1" : "utf8", taken)
    return length
  }
  result.end(bytes, taken)
  return 0
}

/**
 * Whether a request is of a version and for a host as RFC 9112, 3.2, has it: exactly one `Host` in HTTP/1.1, and never several; and
 * whether it is coded as 6.1 has it: in chunks and nothing else, and in HTTP/1.0, which knows no codings, not at all.
 */
const isSound = (head: Head, { httpVersionMajor, httpVersionMinor }: Http.IncomingMessage): boolean =>
  httpVersionMajor === 1
  && head.namesHost
  && (head.hosts === 1 || (head.hosts === 0 && httpVersionMinor === 0))
  && (head.transferEncoding === undefined || (httpVersionMinor > 0 && /^chunked$/i.test(head.transferEncoding)))

/** Whether a request may go on as something else (RFC 6455, 4.2.1): of HTTP/1.1, and without a body, which would be taken for frames. */
const mayUpgrade = (head: Head, request: Http.IncomingMessage): boolean =>
  isSound(head, request)
  && request.httpVersionMinor > 0
  && head.transferEncoding === undefined
  && Number(head.contentLength ?? 0) === 0

/** Pieces that a body is kept in: an empty one of a client's has the cost of a hundred bytes. */
const mostPieces = 64

/** Reads a request's body; the lane hears when it is whole, or too large. */
const readBody = (lane: Lane, exchange: Exchange, limit: number): void => {
  const { head, request, result } = exchange
  const refuse = (): void => {
    exchange.refusal = "body_too_large"
    request.unpipe()
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
  // A client that goes away in the middle of its body asked for nothing.
  request.on("error", () => result.destroy())
}

/** Hands a whole request to the application. */
const dispatch = (application: Application, { body, head, request, target }: Exchange, reply: Reply): void =>
  application.handle({
    method: request.method ?? "",
    target,
    headers: {
      authorization: head.authorization,
      "content-type": head.contentType,
      "idempotency-key": head.idempotencyKey,
      origin: head.origin,
      "access-control-request-method": head.requestMethod,
      "x-forwarded-for": head.forwardedFor
    },
    body: body ?? empty,
    remoteAddress: request.socket.remoteAddress ?? "",
    whenGone: (then) => {
      const { socket } = request
      const closed = (): void => then()
      socket.once("close", closed)
      return () => void socket.off("close", closed)
    }
  }, reply)

/** Who sent what is no request, as far as its head was read. */
const senderOf = ({ remoteAddress = "" }: Socket, head: Head | undefined): Sender => ({
  headers: { origin: head?.origin, "x-forwarded-for": head?.forwardedFor },
  remoteAddress
})

/** An offer to go on as HTTP/2, which several clients make with their first request. */
const offer = /\r\nupgrade(?=:[ \t]*h2c[ \t]*\r\n)/gi
const offered = Buffer.from("h2c")

/**
 * Passes over offers of HTTP/2, as RFC 9113 lets a server do: `node:http` would take a request that makes one for the
 * beginning of a WebSocket. The header gets a name of the same length that nobody reads.
 */
const withoutOffer = (bytes: Buffer): Buffer =>
  bytes.includes(offered) ? Buffer.from(bytes.toString("latin1").replace(offer, "\r\nx-grade"), "latin1") : bytes

/**
 * Takes a connection's bytes from `node:http`, which would frame all that it has read at once, and feeds them to it; and how the
 * connection is given back.
 */
const takeBytes = (
  socket: Socket,
  receive: (bytes: Buffer) => void
): { readonly frame: (bytes: Buffer) => void; readonly giveBack: () => void } => {
  const [frame] = socket.listeners("data") as unknown as ReadonlyArray<(bytes: Buffer) => void>
  assert(frame !== undefined, "node:http frames what its sockets receive")
  const take = (bytes: Buffer): void => receive(withoutOffer(bytes))
  socket.on("data", take)
  socket.off("data", frame)
  return { frame, giveBack: () => socket.off("data", take) }
}

/** A connection that counts, and its lane once it has one. */
interface Admitted {
  lane: Lane | undefined
  /** What is said on it, where it is a WebSocket by now. */
  conversation: Conversation | undefined
  readonly connection: Connection
}

/** A lane, and how its connection is taken from it. */
interface Served {
  readonly lane: Lane
  readonly admission: Admitted
  readonly giveBack: () => void
}

/** What no other open connection has: where it comes from. */
const nameOf = (socket: Socket): string => `${socket.remoteAddress} ${socket.remotePort}`

/** A server that nobody is served by yet. */
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
  // They are bounded by their size; of those beyond a count, a second credential or length would not be seen.
  server.maxHeadersCount = 0
  // Also for a client that sends and never reads: what waits to be written counts as silence.
  server.timeout = options.keepAliveTimeoutMs + options.requestTimeoutMs
  return server
}

/**
 * Lets connections in, among so many, and has those served. One counts from its first packet, also while it shakes hands: of
 * that `node:https` tells only when it is over. Until then it is idle.
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
        // One that still shakes hands has asked for nothing.
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

/** Has something called back in so many milliseconds, and gives how to have it no longer called. */
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

/** Ends a connection that `node:http` has let go of for a request that is not taken, behind what is under way on it. */
const endBehind = (socket: Socket, lane: Lane, timeoutMs: number): void => {
  // Nobody else hears of these any more, nor says how long it may be silent.
  socket.on("error", () => socket.destroy())
  socket.on("timeout", () => socket.destroy())
  socket.setTimeout(timeoutMs)
  lane.end("malformed")
}

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
    const lane: Lane = new Lane(socket, {
      rotation,
      unread,
      origin: connection.origin,
      now: () => performance.now(),
      untakenMs: options.untakenMs,
      inRequestTime: after(options.requestTimeoutMs),
      frame: (bytes) => taken.frame(bytes),
      dispatch: (exchange, reply) => dispatch(application, exchange, reply),
      misframed: (reason, target, head) => application.misframed(reason, target, senderOf(socket, head)),
      write: ({ result }, response, last, taken) => write(result, response, writing, last, taken),
      writeLast: (response) => {
        if (socket.writable) NodeSockets.endWith(socket, raw(response, more), options.patienceMs)
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
    giveBack()
    if (stopping()) return void socket.destroy()
    admission.conversation = streams.upgrade(request, request.socket, Buffer.concat([head, held]), itsHead)
    // No request comes on it any more: how long it may be silent is for the stream to say.
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

/** Between two looks at who takes none of the answers that wait for him. */
const unreadLookedAtMs = 1_000

/** Between two warnings of the same thing. */
const warningsApartMs = 10_000

/** Warns of what befell connections: at once, then of all since, at intervals. */
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

/** That newcomers find no room. */
const roomless = ({ closedForRoom, limit, share, size, turnedAway }: Connections, since: number, origin: string): string =>
  `no room for ${since} new connections, the last from ${origin}: ${size} of ${limit} are open, at most ${share} of one address; `
  + `${closedForRoom} quiet ones were closed for newcomers so far, ${turnedAway} newcomers turned away`

/** That more answers wait for their clients than there is room for. */
const untaken = ({ closed, mostBytes }: Unread, since: number, origin: string): string =>
  `more than ${mostBytes} bytes of answers wait for clients that do not take them: ${since} of their connections were closed, the last `
  + `from ${origin}; ${closed} so far`

/** A server that listens, and how it is told to take no new request. */
interface Listening {
  readonly server: Http.Server
  readonly serving: Serving
  readonly stop: () => void
  /** Ends every connection that has not ended, whatever it has become. */
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
    const rotation = new Rotation(setImmediate, process.nextTick, () => performance.now())
    const streams = NodeSockets.make(application, (response) => raw(response, listenersOwn(options)), options.patienceMs, rotation)
    const server = makeServer(application, options, { connections, unread, rotation, streams, stopping: () => stopped })
    const cut = (): void => {
      server.closeAllConnections()
      streams.cut()
      // Neither of these knows of what has been refused and is still open.
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
          connections: () => ({ open: connections.size, closedForRoom: connections.closedForRoom, turnedAway: connections.turnedAway }),
          unread: () => ({ bytes: unread.bytes, closed: unread.closed })
        },
        stop: () => {
          stopped = true
          streams.close()
          // `node:http` holds who has sent nothing yet for busy.
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
