/**
 * WebSockets by the `ws` library, on connections that `node:http` has released. Frames to clients are encoded once for all
 * recipients, and everything from one turn is sent in one write.
 */
import type * as Http from "node:http"
import type { Socket } from "node:net"
import * as Ws from "ws"
import { assert } from "../../domain/Assert.js"
import type { Frame } from "../../streams/Frame.js"
import { Head, headersOfSender, targetOf } from "./Head.js"
import { type Application, type Conversation, frameLimit, type Peer, type Response, type Sender } from "./Listener.js"
import type { Rotation, Worker } from "./Rotation.js"

/** The venue is stopping or moving. */
const goingAway = 1001

/** RFC 6455, 5.2: the first byte of an unfragmented text, and the markers for lengths of two and of eight bytes. */
const wholeText = 0x81
const lengthInTwo = 126
const lengthInEight = 127

/** The encoded frame, made once for all recipients in one piece of memory. */
const wireOf = (frame: Frame): Uint8Array => {
  frame.wire ??= framed(frame.text)
  return frame.wire
}

const framed = (text: string): Buffer => {
  const length = Buffer.byteLength(text)
  const head = length < lengthInTwo ? 2 : length < 1 << 16 ? 4 : 10
  const wire = Buffer.allocUnsafe(head + length)
  wire[0] = wholeText
  if (head === 2) wire[1] = length
  else if (head === 4) {
    wire[1] = lengthInTwo
    wire.writeUInt16BE(length, 2)
  } else {
    wire[1] = lengthInEight
    wire.writeUInt32BE(0, 2)
    wire.writeUInt32BE(length, 6)
  }
  // If there are as many bytes as characters it is ASCII, which latin1 writes without another check.
  wire.write(text, head, length === text.length ? "latin1" : "utf8")
  return wire
}

export interface NodeSockets {
  /** Takes over a connection with the bytes that followed the request's head; undefined where it is refused. */
  readonly upgrade: (request: Http.IncomingMessage, socket: Socket, behind: Buffer, head: Head) => Conversation | undefined
  /** Tells every client that the venue is going away. */
  readonly close: () => void
  /** Ends every connection at once. */
  readonly cut: () => void
}

/**
 * Closes a WebSocket with a reason, and destroys it if the client does not disconnect within `patienceMs`. Nothing further from the
 * client is read, not even its close frame, so that the venue's side ends at once.
 */
const end = (socket: Ws.WebSocket, wire: Socket, code: number, reason: string, patienceMs: number): void => {
  socket.close(code, reason)
  wire.end()
  setTimeout(() => socket.terminate(), patienceMs).unref()
}

/**
 * Sends the last text on a connection and releases it. The client may leave its side open forever, and nobody else watches the
 * connection any more: it is destroyed after `patienceMs`.
 */
export const endWith = (socket: Socket, text: string, patienceMs: number): void => {
  socket.on("error", () => socket.destroy())
  // Further input is discarded: if the system held unread bytes at the end, it would take back the answer.
  socket.resume()
  socket.end(text)
  const patience = setTimeout(() => socket.destroy(), patienceMs).unref()
  socket.once("close", () => clearTimeout(patience))
}

const peerOf = (socket: Ws.WebSocket, wire: Socket, patienceMs: number): Peer => ({
  send: (frames) => {
    if (socket.readyState !== socket.OPEN) return
    const [first] = frames
    if (frames.length === 1) return void wire.write(wireOf(first!))
    wire.cork()
    for (const frame of frames) wire.write(wireOf(frame))
    wire.uncork()
  },
  bufferedBytes: () => wire.writableLength,
  ping: () => {
    if (socket.readyState === socket.OPEN) socket.ping()
  },
  close: (code, reason) => end(socket, wire, code, reason, patienceMs)
})

/**
 * Bytes unframed at a time before their frames are handled: a single network read may contain ten thousand of the shortest frames,
 * each of which causes work outside any turn.
 */
const sliceBytes = 1024
/** Most fragments in which a client may send a text of at most `frameLimit`. */
const mostFragments = 16

/** Frames that cancel, as clients begin them: with the operation, or with their own id. */
const canceling = /^\{(?:"id":"[^"]{1,64}",)?"op":"cancel/
const looksAtBytes = 96

/**
 * Whether a frame begins like one that cancels: a limited number of these per turn is handled as they arrive, ahead of everything
 * that waits, as for requests. It decides only the order in which connections are handled.
 */
const isUrgent = (frame: Buffer): boolean => canceling.test(frame.toString("latin1", 0, looksAtBytes))

/**
 * The input of one client. A frame is handled as it arrives if nobody is waiting; otherwise it waits for a turn in the rotation of
 * all connections, as requests do, and the bytes after it are not examined until then.
 */
class Line implements Worker {
  private waiting: Array<Buffer> = []
  /** Bytes received and not unframed yet. */
  private held: Buffer | undefined = undefined

  constructor(
    private readonly socket: Ws.WebSocket,
    private readonly conversation: Conversation,
    private readonly rotation: Rotation,
    private readonly unframe: (bytes: Buffer) => void
  ) {}

  /** The origin for the rotation is the client's: behind a proxy all connections come from the same address. */
  get origin(): string {
    return this.conversation.address
  }

  /** Takes what was received. */
  receive(bytes: Buffer): void {
    this.held = this.held === undefined ? bytes : Buffer.concat([this.held, bytes])
    while (this.waiting.length === 0 && this.held !== undefined) this.unframeSlice()
    if (this.held !== undefined) this.socket.pause()
  }

  /** Takes an unframed text. */
  take(frame: Buffer): void {
    if (this.waiting.length === 0 && (isUrgent(frame) ? this.rotation.mayGoBeforeAll(this.origin) : this.rotation.mayGoFirst())) {
      return this.conversation.text(frame)
    }
    this.waiting.push(frame)
    if (this.waiting.length === 1) this.rotation.add(this)
  }

  step(): boolean {
    const frame = this.waiting.shift()
    if (frame !== undefined) this.conversation.text(frame)
    if (this.waiting.length === 0 && this.held !== undefined) this.unframeSlice()
    if (this.waiting.length > 0 || this.held !== undefined) return true
    if (this.socket.isPaused) this.socket.resume()
    return false
  }

  /** The client sends no more: what it has sent is handled, and then its end. */
  finish(): void {
    this.hearWaiting()
    while (this.held !== undefined) {
      this.unframeSlice()
      this.hearWaiting()
    }
  }

  /** Handles what a closed connection has sent. */
  end(): void {
    this.hearWaiting()
    this.conversation.closed()
  }

  private hearWaiting(): void {
    for (const frame of this.waiting.splice(0)) this.conversation.text(frame)
  }

  /** Unframes a slice of the held bytes; all are discarded once either side has closed. */
  private unframeSlice(): void {
    const held = this.held!
    const isOpen = this.socket.readyState === this.socket.OPEN
    const slice = held.length <= sliceBytes ? held : held.subarray(0, sliceBytes)
    this.held = isOpen && slice !== held ? held.subarray(sliceBytes) : undefined
    if (isOpen) this.unframe(slice)
  }
}

/** Takes over a connection's bytes from `ws`, which would unframe everything read at once. Returns how to unframe some. */
const takeBytes = (wire: Socket, receive: (bytes: Buffer) => void): (bytes: Buffer) => void => {
  const unframe = wire.listeners("data").at(-1) as ((bytes: Buffer) => void) | undefined
  assert(unframe !== undefined, "ws unframes what its sockets receive")
  wire.off("data", unframe)
  wire.on("data", receive)
  return (bytes) => unframe.call(wire, bytes)
}

const connect = (socket: Ws.WebSocket, wire: Socket, conversation: Conversation, rotation: Rotation): void => {
  const unframe = takeBytes(wire, (bytes) => line.receive(bytes))
  const line = new Line(socket, conversation, rotation, unframe)
  // `ws` accepts nothing more after any of these events.
  const finish = (): void => line.finish()
  for (const last of ["end", "error", "close"]) wire.prependListener(last, finish)
  socket.on("message", (data, isBinary) => isBinary ? conversation.binary() : line.take(data as Buffer))
  socket.on("ping", (payload) => {
    conversation.alive()
    // A client that does not read is owed no more than one frame may hold: pings before the latest may stay unanswered (RFC 6455,
    // 5.5.3).
    if (socket.readyState === socket.OPEN && wire.writableLength < frameLimit) socket.pong(payload)
  })
  socket.on("pong", () => conversation.answered())
  // A frame that is too large or invalid closes the connection: `ws` sends the code for it.
  socket.on("error", () => {})
  wire.on("drain", () => conversation.drained())
  socket.once("close", () => line.end())
}

/** What types of `ws` do not have yet. */
interface Options extends Ws.ServerOptions {
  /** How long a connection that either side has closed may take to disconnect. */
  readonly closeTimeout: number
}

/** How the listener writes its answers: a response as text, without its body where that is for `HEAD`, and the headers of all of them. */
export interface Writing {
  readonly raw: (response: Response, isHead: boolean) => string
  readonly more: Response["headers"]
}

/**
 * The WebSockets of one application. `patienceMs` is how long a closed connection may take to disconnect. Input is handled in its turn
 * of the rotation.
 */
export const make = (application: Application, { more, raw }: Writing, patienceMs: number, rotation: Rotation): NodeSockets => {
  const options: Options = {
    noServer: true,
    maxPayload: frameLimit,
    maxFragments: mostFragments,
    // Frames are shared between clients, and decompression bombs are impossible.
    perMessageDeflate: false,
    // By default `ws` silently drops a client that sends 60 pings in one piece. The conversation decides how often a client may
    // ping.
    autoPong: false,
    // Also applies where the client has closed and leaves its own side of the connection open.
    closeTimeout: patienceMs,
    clientTracking: false
  }
  const server = new Ws.WebSocketServer(options)
  /** The headers with which each accepted request is answered, besides those of the protocol. */
  const opened = new WeakMap<Http.IncomingMessage, (() => Response["headers"]) | undefined>()
  server.on("headers", (lines, request) => {
    for (const [name, value] of Object.entries({ ...opened.get(request)?.(), ...more })) lines.push(`${name}: ${value}`)
  })
  /** Those that are open, with their connections. */
  const open = new Map<Ws.WebSocket, Socket>()
  const refuse = ({ method }: Http.IncomingMessage, socket: Socket, response: Response): undefined => {
    endWith(socket, raw({ ...response, headers: { ...response.headers, connection: "close" } }, method === "HEAD"), patienceMs)
    return undefined
  }
  const senderOf = (socket: Socket, head: Head): Sender => ({
    headers: headersOfSender(head),
    remoteAddress: socket.remoteAddress ?? ""
  })
  server.on("wsClientError",
    (_error, socket, request) =>
      void refuse(request, socket as Socket,
        application.misframed("malformed", targetOf(request), senderOf(socket as Socket, new Head(request.rawHeaders)))))

  const upgrade: NodeSockets["upgrade"] = (request, socket, behind, head) => {
    const target = targetOf(request)
    const opening = request.headers.upgrade?.toLowerCase() === "websocket"
      ? application.open?.({ target, ...senderOf(socket, head) })
      : undefined
    if (opening === undefined) return refuse(request, socket, application.misframed("malformed", target, senderOf(socket, head)))
    if ("refused" in opening) return refuse(request, socket, opening.refused)
    opened.set(request, opening.headers)
    let begun: Conversation | undefined
    server.handleUpgrade(request, socket, behind, (websocket) => {
      begun = opening.accept(peerOf(websocket, socket, patienceMs))
      connect(websocket, socket, begun, rotation)
      open.set(websocket, socket)
      websocket.once("close", () => open.delete(websocket))
    })
    return begun
  }
  return {
    upgrade,
    close: () => {
      for (const [socket, wire] of open) end(socket, wire, goingAway, "the venue stops", patienceMs)
    },
    cut: () => {
      for (const socket of open.keys()) socket.terminate()
    }
  }
}
