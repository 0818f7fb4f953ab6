/**
 * WebSockets over `ws`, on connections that `node:http` has let go of. Frames to clients are put together once for all who get
 * them, and what one turn brought goes out in one write.
 */
import type * as Http from "node:http"
import type { Socket } from "node:net"
import * as Ws from "ws"
import { assert } from "../../domain/Assert.js"
import type { Frame } from "../../streams/Frame.js"
import { Head, targetOf } from "./Head.js"
import { type Application, type Conversation, frameLimit, type Peer, type Response, type Sender } from "./Listener.js"
import type { Rotation, Worker } from "./Rotation.js"

/** The venue stops, or starts again somewhere else. */
const goingAway = 1001

/** The first byte of a text in one piece, as RFC 6455, 5.2, has it; and what stands for lengths that follow in two bytes, and in eight. */
const wholeText = 0x81
const lengthInTwo = 126
const lengthInEight = 127

/** A frame as the wire has it: made once, whoever gets it, and in one piece of memory. */
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
  // As many bytes as characters means ASCII, which latin1 writes without looking at it again.
  wire.write(text, head, length === text.length ? "latin1" : "utf8")
  return wire
}

export interface NodeSockets {
  /** Takes a connection, with the bytes that came behind the request's head; undefined where it is refused. */
  readonly upgrade: (request: Http.IncomingMessage, socket: Socket, behind: Buffer, head: Head) => Conversation | undefined
  /** Tells every client that the venue goes away. */
  readonly close: () => void
  /** Ends every connection at once. */
  readonly cut: () => void
}

/**
 * Ends a WebSocket, saying why, and cuts it where the client does not go away for so long. Nothing that it still says is looked at, not
 * even its own end, so the venue's side of the connection is over at once.
 */
const end = (socket: Ws.WebSocket, wire: Socket, code: number, reason: string, patienceMs: number): void => {
  socket.close(code, reason)
  wire.end()
  setTimeout(() => socket.terminate(), patienceMs).unref()
}

/**
 * Says the last that a connection hears, and lets go of it. Its client may leave its own side open for ever, where nobody else
 * looks after the connection any more: after so long it is cut.
 */
export const endWith = (socket: Socket, text: string, patienceMs: number): void => {
  socket.on("error", () => socket.destroy())
  // What still comes is passed over: where the system holds bytes that nobody has read, it takes the answer back from the client.
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
 * Bytes that are unframed at a time, and no more before what they held was heard: of the shortest frames a single read of the network has
 * ten thousand, for each of which something is done outside of any turn.
 */
const sliceBytes = 1024
/** Pieces that a client may send a text in, which is no longer than `frameLimit`. */
const mostFragments = 16

/** Frames that cancel, as clients begin them: with what they ask, or with what they call it. */
const canceling = /^\{(?:"id":"[^"]{1,64}",)?"op":"cancel/
const looksAtBytes = 96

/**
 * Whether a frame begins as one that cancels: so many of them a turn are heard as they arrive, whatever waits, like the same requests. It
 * decides nothing but the order in which connections are listened to.
 */
const isUrgent = (frame: Buffer): boolean => canceling.test(frame.toString("latin1", 0, looksAtBytes))

/**
 * What one client says. A frame is heard as it arrives where nobody waits; otherwise it waits for a place in the rotation of all
 * connections, as requests do, and so do the bytes behind it, in which nothing is looked at until then.
 */
class Line implements Worker {
  private waiting: Array<Buffer> = []
  /** What was received and is not yet unframed. */
  private held: Buffer | undefined = undefined

  constructor(
    private readonly socket: Ws.WebSocket,
    private readonly conversation: Conversation,
    private readonly rotation: Rotation,
    private readonly unframe: (bytes: Buffer) => void
  ) {}

  /** Behind a proxy connections come from one place: whose turn it is goes by the client. */
  get origin(): string {
    return this.conversation.address
  }

  /** Takes what was received. */
  receive(bytes: Buffer): void {
    this.held = this.held === undefined ? bytes : Buffer.concat([this.held, bytes])
    while (this.waiting.length === 0 && this.held !== undefined) this.unframeSlice()
    if (this.held !== undefined) this.socket.pause()
  }

  /** Takes a text that was unframed. */
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

  /** The client says no more, or cannot: what it has said is heard, and its end behind that. */
  finish(): void {
    this.hearWaiting()
    while (this.held !== undefined) {
      this.unframeSlice()
      this.hearWaiting()
    }
  }

  /** The connection is over, and what it has said is heard. */
  end(): void {
    this.hearWaiting()
    this.conversation.closed()
  }

  private hearWaiting(): void {
    for (const frame of this.waiting.splice(0)) this.conversation.text(frame)
  }

  /** Unframes a slice of what is held; all of it is dropped once the connection's end was said, by whoever. */
  private unframeSlice(): void {
    const held = this.held!
    const isOpen = this.socket.readyState === this.socket.OPEN
    const slice = held.length <= sliceBytes ? held : held.subarray(0, sliceBytes)
    this.held = isOpen && slice !== held ? held.subarray(sliceBytes) : undefined
    if (isOpen) this.unframe(slice)
  }
}

/** Takes a connection's bytes from `ws`, which would unframe all that was read at once; gives how it unframes some. */
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
  // `ws` takes nothing more once it has heard of any of these.
  const finish = (): void => line.finish()
  for (const last of ["end", "error", "close"]) wire.prependListener(last, finish)
  socket.on("message", (data, isBinary) => isBinary ? conversation.binary() : line.take(data as Buffer))
  socket.on("ping", (payload) => {
    conversation.alive()
    // To a client that reads nothing no more is owed than a frame may hold: pings before the newest may stay unanswered (RFC 6455, 5.5.3).
    if (socket.readyState === socket.OPEN && wire.writableLength < frameLimit) socket.pong(payload)
  })
  socket.on("pong", () => conversation.alive())
  // What is too large or no WebSocket frame ends the connection: `ws` says why, with the code for it.
  socket.on("error", () => {})
  wire.on("drain", () => conversation.drained())
  socket.once("close", () => line.end())
}

/** What types of `ws` do not have yet. */
interface Options extends Ws.ServerOptions {
  /** How long a connection whose end was said, by whoever, has to go away by itself. */
  readonly closeTimeout: number
}

/**
 * The WebSockets of one application. `raw` is a response as bytes; `patienceMs` is how long a connection that was ended has to go
 * away by itself; what clients say is heard in their turn of the rotation.
 */
export const make = (
  application: Application,
  raw: (response: Response) => string,
  patienceMs: number,
  rotation: Rotation
): NodeSockets => {
  const options: Options = {
    noServer: true,
    maxPayload: frameLimit,
    maxFragments: mostFragments,
    // Frames are shared, and a bomb cannot be sent.
    perMessageDeflate: false,
    // By itself `ws` cuts whoever asks 60 times in one piece, without a word. How often a client may ask is for the conversation to say.
    autoPong: false,
    // Also where the client says the end, or its frame does, and it leaves its own side of the connection open.
    closeTimeout: patienceMs,
    clientTracking: false
  }
  const server = new Ws.WebSocketServer(options)
  /** Those that are open, with their connections. */
  const open = new Map<Ws.WebSocket, Socket>()
  const refuse = (socket: Socket, response: Response): undefined => {
    endWith(socket, raw({ ...response, headers: { ...response.headers, connection: "close" } }), patienceMs)
    return undefined
  }
  const senderOf = (socket: Socket, head: Head): Sender => ({
    headers: { origin: head.origin, "x-forwarded-for": head.forwardedFor },
    remoteAddress: socket.remoteAddress ?? ""
  })
  server.on("wsClientError",
    (_error, socket, request) =>
      void refuse(socket as Socket,
        application.misframed("malformed", targetOf(request), senderOf(socket as Socket, new Head(request.rawHeaders)))))

  const upgrade: NodeSockets["upgrade"] = (request, socket, behind, head) => {
    const target = targetOf(request)
    const opening = request.headers.upgrade?.toLowerCase() === "websocket"
      ? application.open?.({ target, ...senderOf(socket, head) })
      : undefined
    if (opening === undefined) return refuse(socket, application.misframed("malformed", target, senderOf(socket, head)))
    if ("refused" in opening) return refuse(socket, opening.refused)
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
