/**
 * The development ledger over HTTP, as a participant's JSON Ledger API: `node:http` with bounded bodies, headers, connections and times.
 * Where a fault leaves a request without an answer, its connection is closed.
 */
import { randomBytes } from "node:crypto"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Gathered } from "../../domain/Gathered.js"
import type { DevelopmentLedger, Handled } from "./DevelopmentLedger.js"
import type { Question } from "../Transport.js"

export interface Options {
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
}

/** Deepest nesting of a body, of which no request needs a quarter. */
const mostNested = 64
/** Largest body of a request, in bytes: a transaction with its signature, or a script of faults. */
const bodyLimit = 1024 * 1024
const connectionLimit = 256
const headerLimit = 16 * 1024
const requestTimeoutMs = 10_000
/** Most answers waiting for their delay to pass. */
const mostLate = 1_000

/** The address could not be listened on. */
class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", { reason: Schema.String }) {
  override get message() {
    return `the ledger cannot listen: ${this.reason}`
  }
}

/** What the target of a request is relative to; nothing is ever sent there. */
const base = "http://ledger"

const answer = (response: Http.ServerResponse, status: number, body: unknown): void => {
  const isText = typeof body === "string"
  const bytes = Buffer.from(isText ? body : JSON.stringify(body))
  response.writeHead(status, { "content-type": isText ? "text/plain; charset=utf-8" : "application/json", "content-length": bytes.length })
  response.end(bytes)
}

/** Whether a body is nested so deep that whatever reads it would run out of stack. */
const isTooDeep = (body: unknown): boolean => {
  let level: ReadonlyArray<unknown> = [body]
  for (let depth = 0; depth < mostNested; depth++) {
    level = level.flatMap((value) => typeof value === "object" && value !== null ? Object.values(value) : [])
    if (level.length === 0) return false
  }
  return true
}

/** The target of a request; undefined where it is none, as `//`. */
const targetOf = ({ url = "/" }: Http.IncomingMessage): URL | undefined => URL.canParse(url, base) ? new URL(url, base) : undefined

/** An HTTP request as a ledger request; undefined where its body is not JSON, or too deep. */
const questionOf = (request: Http.IncomingMessage, url: URL, body: Buffer): Question | undefined => {
  const asked = {
    method: request.method === "GET" ? "GET" : "POST",
    path: url.pathname,
    query: Object.fromEntries(url.searchParams)
  } as const
  if (body.length === 0) return asked
  try {
    const parsed = JSON.parse(body.toString("utf8")) as unknown
    return isTooDeep(parsed) ? undefined : { ...asked, body: parsed }
  } catch {
    return undefined
  }
}

/** Reads a whole body; undefined where it is too long. */
const readBody = (request: Http.IncomingMessage, whole: (body: Buffer | undefined) => void): void => {
  const read = new Gathered(bodyLimit)
  let isWithin = true
  request.on("data", (chunk: Buffer) => {
    isWithin = read.take(chunk)
  })
  request.on("end", () => whole(isWithin ? read.whole() : undefined))
  request.on("error", () => request.destroy())
}

class Server {
  private late = 0

  constructor(private readonly ledger: DevelopmentLedger, private readonly failed: (error: unknown) => void) {}

  readonly serve = (request: Http.IncomingMessage, response: Http.ServerResponse): void => {
    if (request.method !== "GET" && request.method !== "POST") return answer(response, 405, "Method Not Allowed")
    const url = targetOf(request)
    if (url === undefined) return answer(response, 400, "Invalid value for: target")
    readBody(request, (body) => {
      if (body === undefined) return answer(response, 413, `Content Too Large: at most ${bodyLimit} bytes`)
      const question = questionOf(request, url, body)
      if (question === undefined) return answer(response, 400, "Invalid value for: body")
      this.tell(response, this.handled(question))
    })
  }

  private handled(question: Question): Handled {
    try {
      return this.ledger.handle(question, { epochMs: Date.now(), bytes: (count) => randomBytes(count) })
    } catch (error) {
      // The input could not be stored: the client gets no answer, and the process ends.
      this.failed(error)
      return { reply: undefined }
    }
  }

  private tell(response: Http.ServerResponse, handled: Handled): void {
    if (handled.reply === undefined) return void response.destroy()
    const { body, status } = handled.reply
    if (handled.afterMs === 0) return answer(response, status, body)
    if (this.late >= mostLate) return void response.destroy()
    this.late++
    const timer = setTimeout(() => answer(response, status, body), handled.afterMs)
    response.on("close", () => {
      this.late--
      clearTimeout(timer)
    })
  }
}

/** Listens for as long as the scope lives. `failed` is called with an error after which the ledger cannot continue. */
export const listen = (ledger: DevelopmentLedger, options: Options, failed: (error: unknown) => void) =>
  Effect.acquireRelease(
    Effect.async<{ readonly address: string; readonly server: Http.Server }, ListenFailed>((resume) => {
      const settings = { maxHeaderSize: headerLimit, headersTimeout: requestTimeoutMs, requestTimeout: requestTimeoutMs, noDelay: true }
      const server = Http.createServer(settings, new Server(ledger, failed).serve)
      server.maxConnections = connectionLimit
      server.once("error", (error) => resume(Effect.fail(new ListenFailed({ reason: error.message }))))
      server.listen(options.port, options.host, () => {
        const { address, family, port } = server.address() as AddressInfo
        resume(Effect.succeed({ address: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`, server }))
      })
    }),
    ({ server }) =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
