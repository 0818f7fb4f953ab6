/**
 * WebSockets over `ws`, on connections that `node:http` has let go of. Frames to clients are put together once for all who get
 * them, and what one turn brought goes out in one write.
 */
import type * as Http from "node:http"
import type { Socket } from "node:net"
import * as Ws from "ws"
import type { Frame } from "../../streams/Frame.js"
import type { Head } from "./Head.js"
import { originForm } from "./Head.js"
import { type Application, type Conversation, frameLimit, type Peer, type Response } from "./Listener.js"

/** How long a connection that was ended has to go away by itself. */
const patienceMs = 3_000

/** The venue stops, or starts again somewhere else. */
const goingAway = 1001

const textFrame = { fin: true, rsv1: false, opcode: 1, mask: false, readOnly: true } as const

/** A frame as the wire has it: made once, whoever gets it. */
const wireOf = (frame: Frame): Uint8Array => {
  frame.wire ??= Buffer.concat(framed(Buffer.from(frame.text)))
  return frame.wire
}

/** How `ws` puts a frame together, of which its types leave out that it is there for others too. */
const { Sender } = Ws as unknown as {
  readonly Sender: { readonly frame: (data: Buffer, options: typeof textFrame) => Array<Buffer> }
}
const framed = (text: Buffer): Array<Buffer> => Sender.frame(text, textFrame)

export interface NodeSockets {
  /** Takes a connection, with the bytes that came behind the request's head. */
  readonly upgrade: (request: Http.IncomingMessage, socket: Socket, behind: Buffer, head: Head) => void
  /** Tells every client that the venue goes away. */
  readonly close: () => void
  /** Ends every connection at once. */
  readonly cut: () => void
}

/** Ends a WebSocket, saying why, and cuts it where the client does not answer that. */
const end = (socket: Ws.WebSocket, code: number, reason: string): void => {
  socket.close(code, reason)
  setTimeout(() => socket.terminate(), patienceMs).unref()
}

const peerOf = (socket: Ws.WebSocket, wire: Socket): Peer => ({
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
  close: (code, reason) => end(socket, code, reason)
})

const connect = (socket: Ws.WebSocket, wire: Socket, conversation: Conversation): void => {
  socket.on("message", (data, isBinary) => isBinary ? conversation.binary() : conversation.text(String(data)))
  socket.on("ping", () => conversation.alive())
  socket.on("pong", () => conversation.alive())
  // What is too large or no WebSocket frame ends the connection: `ws` says why, with the code for it.
  socket.on("error", () => {})
  wire.on("drain", () => conversation.drained())
  socket.once("close", () => conversation.closed())
}

/** The WebSockets of one application. `raw` is a response as bytes. */
export const make = (application: Application, raw: (response: Response) => string): NodeSockets => {
  const server = new Ws.WebSocketServer({
    noServer: true,
    maxPayload: frameLimit,
    // Frames are shared, and a bomb cannot be sent.
    perMessageDeflate: false,
    clientTracking: true
  })
  const refuse = (socket: Socket, response: Response): void => {
    socket.on("error", () => socket.destroy())
    socket.end(raw({ ...response, headers: { ...response.headers, connection: "close" } }))
  }
  server.on("wsClientError", (_error, socket, request) => refuse(socket as Socket, application.misframed("malformed", request.url)))

  const upgrade: NodeSockets["upgrade"] = (request, socket, behind, head) => {
    const target = originForm(request.url ?? "")
    const opening = request.headers.upgrade?.toLowerCase() === "websocket"
      ? application.open?.({
        target,
        headers: { origin: head.origin, "x-forwarded-for": head.forwardedFor },
        remoteAddress: socket.remoteAddress ?? ""
      })
      : undefined
    if (opening === undefined) return refuse(socket, application.misframed("malformed", target))
    if ("refused" in opening) return refuse(socket, opening.refused)
    server.handleUpgrade(request, socket, behind, (websocket) => connect(websocket, socket, opening.accept(peerOf(websocket, socket))))
  }
  return {
    upgrade,
    close: () => {
      for (const socket of server.clients) end(socket, goingAway, "the venue stops")
    },
    cut: () => {
      for (const socket of server.clients) socket.terminate()
    }
  }
}
