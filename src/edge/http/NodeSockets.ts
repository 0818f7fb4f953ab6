/**
 * WebSockets over `ws`, on connections that `node:http` has let go of. Frames to clients are put together once for all who get
 * them, and what one turn brought goes out in one write.
 */
import type * as Http from "node:http"
import type { Socket } from "node:net"
import * as Ws from "ws"
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

/** Ends a WebSocket, saying why, and cuts it where the client does not answer that for so long. */
const end = (socket: Ws.WebSocket, code: number, reason: string, patienceMs: number): void => {
  socket.close(code, reason)
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
  close: (code, reason) => end(socket, code, reason, patienceMs)
})

/** Frames of one connection that wait for their turn, from which on nothing more is read of it. */
const pausesAt = 16
/** Most that may wait: of short ones a single read has thousands. */
const mostWaiting = 128

/**
 * What one client says. A frame is heard as it arrives where nobody waits; otherwise it waits for a place in the rotation of all
 * connections, as requests do.
 */
class Line implements Worker {
  private waiting: Array<Buffer> = []

  constructor(private readonly socket: Ws.WebSocket, private readonly conversation: Conversation, private readonly rotation: Rotation) {}

  take(frame: Buffer): void {
    if (this.waiting.length === 0 && this.rotation.mayGoFirst()) return this.conversation.text(frame)
    this.waiting.push(frame)
    const { length } = this.waiting
    if (length === 1) this.rotation.add(this)
    else if (length === pausesAt) this.socket.pause()
    else if (length > mostWaiting) this.conversation.text(this.waiting.shift()!)
  }

  step(): boolean {
    const frame = this.waiting.shift()
    if (frame !== undefined) this.conversation.text(frame)
    if (this.waiting.length > 0) return true
    if (this.socket.isPaused) this.socket.resume()
    return false
  }

  /** The connection is over, and what it has said is heard. */
  end(): void {
    for (const frame of this.waiting.splice(0)) this.conversation.text(frame)
    this.conversation.closed()
  }
}

const connect = (socket: Ws.WebSocket, wire: Socket, conversation: Conversation, rotation: Rotation): void => {
  const line = new Line(socket, conversation, rotation)
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
    // Frames are shared, and a bomb cannot be sent.
    perMessageDeflate: false,
    // By itself `ws` cuts whoever asks 60 times in one piece, without a word. How often a client may ask is for the conversation to say.
    autoPong: false,
    // Also where the client says the end, or its frame does, and it leaves its own side of the connection open.
    closeTimeout: patienceMs,
    clientTracking: true
  }
  const server = new Ws.WebSocketServer(options)
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
    })
    return begun
  }
  return {
    upgrade,
    close: () => {
      for (const socket of server.clients) end(socket, goingAway, "the venue stops", patienceMs)
    },
    cut: () => {
      for (const socket of server.clients) socket.terminate()
    }
  }
}
