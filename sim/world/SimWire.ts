/**
 * The connections between clients and one process, as bytes. The process's end is what a real one has: the venue's own lanes, the rotation
 * among them, and its limits of connections and of unread answers. What a real process leaves to `node:http`, which is framing and the
 * order in which answers are written, is here anew and simpler.
 *
 * Faults: a request arrives in pieces, with pauses between them; it is sent behind others that have no answer yet; a process reads nothing
 * for a while, and then much at once; a client takes its answers late, or leaves in the middle; bytes that are no request follow one; there
 * is no room for another connection.
 */
import * as Connections from "../../src/edge/http/Connections.js"
import { Head, headersOf, headersOfSender, isSound } from "../../src/edge/http/Head.js"
import { type Answerable, Exchange, type Framed, Lane, type Wire } from "../../src/edge/http/Lane.js"
import type { Application, Misframed, Reply, Request, Response, Serving } from "../../src/edge/http/Listener.js"
import { bodyLimit } from "../../src/edge/http/Requests.js"
import { Rotation, urgentPerTurn } from "../../src/edge/http/Rotation.js"
import { Unread } from "../../src/edge/http/Unread.js"
import type { SimRandom } from "./SimRandom.js"
import type { SimTime } from "./SimTime.js"

/** What clients and the network do on connections. Shares are of requests, unless they are said to be of connections. */
export interface Behaviour {
  /** Sent behind others of the same connection, before these are answered. */
  readonly pipelinedShare: number
  /** Arriving in pieces, and the longest pause between two of them, ms. */
  readonly piecesShare: number
  readonly maxPauseMs: number
  /** Of arrivals: the process reads nothing for a while, and then everything at once; and the longest time, ms. */
  readonly busyShare: number
  readonly maxBusyMs: number
  /** Of connections: the client takes each answer late; and the longest time, ms. */
  readonly slowShare: number
  readonly maxSlowMs: number
  /** Reads that their client sends many times more at once, also on other connections of its own, and whose answers it does not look at. */
  readonly burstShare: number
  /** Followed by bytes that are no request. */
  readonly strayShare: number
  /** How long a connection without a request is kept, ms. */
  readonly keepAliveMs: number
  /** Most connections of the process, and of one address. */
  readonly connections: number
  readonly perAddress: number
  /** Most bytes of answers that wait for clients, over all connections. */
  readonly unreadBytes: number
  /** Whether connections are the venue's own proxies', each of which all clients share. Absent: each client has its own. */
  readonly isBehindProxies?: boolean
}

/** Bytes that are no request, and what they are refused as. */
export interface Stray {
  readonly bytes: string
  readonly reason: Misframed
  /** The family of the refusal; undefined for bytes that say nothing of it, whose refusal is of the family of what came before. */
  readonly family: "native" | "compat" | undefined
}

/** What happened on a connection, as its process sees it. `serial`: the requests of a connection, from 1 on. */
export type Event =
  /** It was let in; with it there are so many of all addresses, and of its own. */
  | { readonly is: "let in"; readonly all: number; readonly ofAddress: number; readonly behaviour: Behaviour }
  /** The last byte of a request arrived. */
  | { readonly is: "arrived"; readonly serial: number }
  /** A request was handed to the application. */
  | { readonly is: "dispatched"; readonly serial: number }
  /** An answer was given, of which so many bytes wait until the client has taken them; or the refusal of what was never handed on. */
  | { readonly is: "answered"; readonly serial: number; readonly bytes: number; readonly isRefusal: boolean }
  /** An answer was made that may not leave yet, and so many bytes of it are held; or it may now, or nobody waits for it any more. */
  | { readonly is: "held"; readonly serial: number; readonly bytes: number }
  | { readonly is: "released"; readonly serial: number; readonly bytes: number }
  /** The client has taken an answer. */
  | { readonly is: "taken"; readonly serial: number }
  /** The last byte of what is no request arrived. */
  | { readonly is: "strayed" }
  /** The process has made a refusal of bytes from an address. */
  | { readonly is: "misframed"; readonly address: string }
  /** Bytes that are no request were answered. */
  | { readonly is: "refused"; readonly stray: Stray; readonly response: Response }
  /** Bytes that are no request were handed to the application as one. */
  | { readonly is: "mistaken"; readonly stray: Stray }
  /** It has ended: from which side, or because the process stops or has died. */
  | { readonly is: "ended"; readonly by: "venue" | "client" | "stop" | "death" }
  /** So many bytes of answers wait on all connections, as the venue counts them. */
  | { readonly is: "counted"; readonly unreadBytes: number }

/** Reports an event on a connection; connections are numbered from 1 on, and 0 stands for all of them. */
export type Told = (connection: number, event: Event) => void

const stray = (reason: Misframed, family: Stray["family"], bytes: string): Stray => ({ reason, family, bytes })

const strays: ReadonlyArray<Stray> = [
  stray("malformed", "native", "GET /v1/markets\r\n\r\n"),
  stray("malformed", "native", "GET /v1/limits HTTP/1.1\r\n\r\n"),
  stray("malformed", "compat", "GET /v2/markets HTTP/1.1\r\nhost: one\r\nhost: two\r\n\r\n"),
  stray("malformed", "compat", "POST /v2/orders HTTP/1.1\r\nhost: venue\r\ntransfer-encoding: gzip\r\n\r\n"),
  stray("body_too_large", "native", `POST /v1/orders HTTP/1.1\r\nhost: venue\r\ncontent-length: ${bodyLimit + 1}\r\n\r\n{`),
  stray("headers_too_large", "compat", `GET /v2/time HTTP/1.1\r\nhost: venue\r\nx-filled: ${"x".repeat(17_000)}`),
  stray("headers_too_large", undefined, "\r\n".repeat(17_000)),
  stray("timeout", "compat", "GET /v2/markets HTTP/1.1\r\nhost: ven"),
  stray("timeout", "native", "POST /v1/orders HTTP/1.1\r\nhost: venue\r\ncontent-length: 9\r\n\r\n{")
]

/** As a real listener has them. */
const headerLimit = 16 * 1024
const requestTimeoutMs = 10_000
const untakenMs = 10_000

/** What comes of a request for its sender: exactly one of the three functions is called, once. */
export interface Delivery {
  readonly answered: (response: Response) => void
  /** Nothing listened, or the connection was not let in: nothing was done. */
  readonly refused: () => void
  readonly wasCut: () => void
}

/** What comes of a request at whose answer nobody looks; each such request is one in progress of its own. */
export const unheard = (): Delivery => ({ answered: () => {}, refused: () => {}, wasCut: () => {} })

/** What a client sends as a request. */
export interface Sending extends Delivery {
  readonly request: Request
}

/** What the process that listens lends to its connections. */
export interface Ground {
  readonly application: Application
  /** Queues a task of the process. */
  readonly ready: (task: () => void) => void
  /** Called as the process starts to handle a request; the returned function, with its answer, where it was given at once. */
  readonly handling: (request: Request) => (response: Response | undefined) => void
  readonly told: Told
}

/**
 * Hands a request to the application, which replies to it once, now or later. `request` is what the process received of what was `sent`.
 */
export const handOver = (
  { application, handling }: Pick<Ground, "application" | "handling">,
  sent: Request,
  request: Request,
  reply: Reply
): void => {
  let atOnce: Response | undefined
  const handled = handling(sent)
  application.handle(request, (response) => {
    if (atOnce !== undefined) throw new Error(`${request.method} ${request.target} was replied to twice`)
    atOnce = response
    reply(response)
  })
  handled(atOnce)
}

interface SimRequest extends Framed {
  readonly method: string
  readonly url: string
  readonly httpVersionMajor: number
  readonly httpVersionMinor: number
  complete: boolean
}

interface SimResult extends Answerable {
  headersSent: boolean
  destroyed: boolean
}

/** A request that the process has begun to receive. Its answer is written once those before it are. */
class SimExchange extends Exchange<SimRequest, SimResult> {
  answer: { readonly response: Response; readonly isLast: boolean; readonly taken: () => void } | undefined = undefined

  constructor(readonly serial: number, request: SimRequest, head: Head) {
    super(request, { headersSent: false, destroyed: false }, head)
  }
}

/** Things to be done as soon as what runs now has ended, in order: as `process.nextTick` has them. */
class Ticks {
  private readonly tasks: Array<() => void> = []
  private isRunning = false

  /** `done` is called when nothing is left to be done. */
  constructor(private readonly done: () => void) {}

  readonly later = (task: () => void): void => void this.tasks.push(task)

  run(task: () => void): void {
    if (this.isRunning) return task()
    this.isRunning = true
    task()
    for (let next = this.tasks.shift(); next !== undefined; next = this.tasks.shift()) next()
    this.isRunning = false
    this.done()
  }
}

const headEnd = "\r\n\r\n"

/** Takes the bytes of one connection apart, and tells of requests as `node:http` does. */
class Framer {
  private unread = Buffer.alloc(0)
  /** The request whose body is arriving, how much of it is missing, and whether nobody wants it. */
  private body: { readonly exchange: SimExchange; missing: number; readonly isUnwanted: boolean } | undefined
  private hasFailed = false
  /** How many requests have begun. */
  begun = 0

  constructor(
    private readonly begin: (exchange: SimExchange) => void,
    private readonly complete: (exchange: SimExchange) => void,
    private readonly fail: (reason: Misframed) => void,
    private readonly later: (task: () => void) => void
  ) {}

  /** Whether a request has begun to arrive and is not there as a whole: its line, or its body. */
  get waitsFor(): "head" | "body" | undefined {
    return this.hasFailed ? undefined : this.body !== undefined ? "body" : this.unread.length > 0 ? "head" : undefined
  }

  frame(bytes: Buffer): void {
    if (this.hasFailed) return
    this.unread = Buffer.concat([this.unread, bytes])
    while (!this.hasFailed && (this.body === undefined ? this.readHead() : this.readBody(this.body))) {
      /* Goes on. */
    }
  }

  private failed(reason: Misframed): false {
    this.hasFailed = true
    this.fail(reason)
    return false
  }

  private readHead(): boolean {
    const text = this.unread.toString("latin1")
    // Blank lines before a request are ignored.
    const blank = /^[\r\n]*/.exec(text)![0].length
    if (blank > 0) this.unread = this.unread.subarray(blank)
    const head = text.slice(blank)
    const end = head.indexOf(headEnd)
    if (end < 0) return head.length > headerLimit ? this.failed("headers_too_large") : false
    const [line = "", ...lines] = head.slice(0, end).split("\r\n")
    const parts = /^([A-Z]+) (\S+) HTTP\/(\d)\.(\d)$/.exec(line)
    if (parts === null) return this.failed("malformed")
    this.unread = this.unread.subarray(end + headEnd.length)
    const raw = lines.flatMap((each) => {
      const colon = each.indexOf(":")
      return [each.slice(0, colon), each.slice(colon + 1).trim()]
    })
    const [, method = "", url = "", major, minor] = parts
    const request: SimRequest = { method, url, httpVersionMajor: Number(major), httpVersionMinor: Number(minor), complete: false }
    this.accept(new SimExchange(++this.begun, request, new Head(raw)))
    return true
  }

  /** Decides what becomes of a request whose head is there, as the real listener does. */
  private accept(exchange: SimExchange): void {
    const { head, request } = exchange
    this.begin(exchange)
    const length = Number(head.contentLength ?? 0)
    const isUnsound = !isSound(head, request)
    if (isUnsound) exchange.refusal = "malformed"
    else if (length > bodyLimit) exchange.refusal = "body_too_large"
    const isUnwanted = exchange.refusal !== undefined
    if (isUnwanted || head.contentLength === undefined) this.complete(exchange)
    if (length === 0) request.complete = true
    if (head.contentLength !== undefined) this.body = { exchange, missing: length, isUnwanted }
  }

  private readBody(body: NonNullable<Framer["body"]>): boolean {
    const { exchange, isUnwanted } = body
    const bytes = this.unread.subarray(0, body.missing)
    this.unread = this.unread.subarray(bytes.length)
    body.missing -= bytes.length
    if (!isUnwanted && bytes.length > 0) exchange.body = Buffer.concat([exchange.body ?? Buffer.alloc(0), bytes])
    if (body.missing > 0) return false
    this.body = undefined
    exchange.request.complete = true
    // The end of a body is told once what is being framed has been.
    if (!isUnwanted) this.later(() => this.complete(exchange))
    return this.unread.length > 0
  }
}

/** Whether bytes of a request can be made of a text that clients of HTTP would send as it is. */
const isPlain = (value: string): boolean => /^[!-~]([ -~]*[!-~])?$/.test(value)

/** A request's bytes; undefined for one that no client of HTTP would send like that, or that a listener would not read. */
const bytesOf = ({ body, headers, method, target }: Request, random: SimRandom): Buffer | undefined => {
  const named = Object.entries(headers as Readonly<Record<string, string | undefined>>)
    .flatMap(([name, value]) => value === undefined ? [] : [[name, value] as const])
  if (!/^[!-~]+$/.test(target) || !named.every(([, value]) => isPlain(value)) || body.length > bodyLimit) return undefined
  const isCapital = random.chance(0.5)
  const all = [["host", "venue"] as const, ...named,
    ...body.length === 0 && method === "GET" ? [] : [["content-length", String(body.length)] as const]]
  const lines = all.map(([name, value]) => `${isCapital ? name.toUpperCase() : name}: ${value}`)
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join("\r\n")}${headEnd}`, "latin1")
  return head.length > headerLimit / 2 ? undefined : Buffer.concat([head, body])
}

/** Whether it can be told where the bytes behind a request begin: a refusal's family depends on what they say. */
const endsPlainly = ({ body }: Request): boolean => body.length === 0 || /[}\]]/.test(String.fromCharCode(body.at(-1)!))

/** Requests that are answered late although nothing is wrong: none is sent behind them. */
const mayWait = ({ target }: Request): boolean => target.includes("waitMs") || target.includes("/operator/")

const isRead = ({ method }: Request): boolean => method === "GET" || method === "HEAD"

/** What is under way on a connection, as the client has sent it. */
type Entry = Sending | Stray

const isSending = (entry: Entry): entry is Sending => "request" in entry

/** A part of what was sent, and how long it arrives behind the part before it. */
interface Piece {
  readonly bytes: Buffer
  readonly pauseMs: number
  /** The request that is whole with it, or what is no request; 0 where neither is. */
  readonly ends: number | "stray"
}

/** What all connections of one process share. */
interface Shared {
  readonly time: SimTime
  readonly behaviour: Behaviour
  readonly ground: Ground
  readonly ticks: Ticks
  readonly rotation: Rotation
  readonly unread: Unread
  readonly connections: Connections.Connections
  readonly now: () => number
  readonly isStopping: () => boolean
  /** For how long nothing is read, ms. */
  readonly readsInMs: (random: SimRandom) => number
  /** Called when a connection has ended. */
  readonly left: (line: Line) => void
}

const empty = new Uint8Array(0)

/** Bytes counted for the head of an answer, as the venue counts them. */
const headBytes = 1024

/** How long the beginning of a request may take, ms: the whole of it may take longer. */
const headTimeoutMs = 5_000

/** One connection: its client's end, and the process's. */
class Line implements Wire {
  /** What was sent and has no answer yet, in order. */
  private readonly sent: Array<Entry> = []
  /** How many of those that were sent have been answered. */
  private given = 0
  /** What is on its way to the process. */
  private readonly arriving: Array<Piece> = []
  /** Requests that the process has begun to receive, and not answered. */
  private readonly outgoing: Array<SimExchange> = []
  private readonly gone = new Set<() => void>()
  /** How late its client takes each answer at most, ms. */
  private readonly slowMs: number
  private readonly framer: Framer
  private readonly lane: Lane<SimExchange>
  private readonly connection: Connections.Connection
  private isLetIn = false
  private hasEnded = false
  private isMoving = false
  private isHeld = false
  /** Whether bytes that are no request were sent: nothing is sent behind them. */
  private isSpoiled = false
  private isTaking = false
  private stopsWaiting: () => void = () => {}
  /** What the process waits for, while it does. */
  private awaited = ""
  private keepsAlive: () => void = () => {}

  constructor(readonly serial: number, readonly address: string, private readonly shared: Shared, private readonly random: SimRandom) {
    const { behaviour, ground } = shared
    this.slowMs = random.chance(behaviour.slowShare) ? behaviour.maxSlowMs : 0
    this.framer = new Framer(
      (exchange) => {
        this.outgoing.push(exchange)
        this.lane.begin(exchange)
      },
      (exchange) => this.lane.complete(exchange),
      (reason) => this.lane.end(reason),
      shared.ticks.later
    )
    const origin = Connections.originOf(address)
    this.lane = new Lane<SimExchange>(this, {
      rotation: shared.rotation,
      unread: shared.unread,
      origin,
      now: shared.now,
      untakenMs,
      inRequestTime: (then) => this.inTime(requestTimeoutMs, then),
      frame: (bytes) => this.framer.frame(bytes),
      dispatch: (exchange, reply) => this.dispatch(exchange, reply),
      misframed: (reason, target, head) => {
        this.tell({ is: "misframed", address })
        return ground.application.misframed(reason, target, { headers: headersOfSender(head), remoteAddress: address })
      },
      write: (exchange, response, isLast, taken) => this.write(exchange, { response, isLast, taken }),
      writeLast: (response) => this.writeLast(response),
      stopping: shared.isStopping,
      idle: () => shared.connections.quieted(this.connection)
    })
    this.connection = {
      origin,
      isIdle: () => this.lane.isIdle,
      isAnonymous: () => false,
      isSilent: () => this.lane.isSilent,
      destroy: () => this.destroy()
    }
  }

  // ---- its client's end

  /** Whether another request may be sent on it: where others have no answer yet, none of which is answered late. */
  takes(request: Request, isBehind: boolean): boolean {
    if (this.hasEnded || this.isSpoiled || this.sent.length > 0 !== isBehind) return false
    return this.sent.every((entry) => isSending(entry) && !mayWait(entry.request) && (isRead(entry.request) || !isRead(request)))
  }

  /** How many of its requests have no answer yet. */
  get underWay(): number {
    return this.sent.filter(isSending).length
  }

  send(entry: Entry, bytes: Buffer): void {
    this.isSpoiled ||= !isSending(entry)
    this.sent.push(entry)
    const { maxPauseMs, piecesShare } = this.shared.behaviour
    const cuts = this.random.chance(piecesShare)
      ? Array.from({ length: this.random.between(1, 3) }, () => this.random.below(bytes.length))
      : []
    const places = [0, ...new Set(cuts.sort((one, other) => one - other)), bytes.length]
    for (const [index, from] of places.slice(0, -1).entries()) {
      const piece = bytes.subarray(from, places[index + 1])
      const ends = index < places.length - 2 ? 0 : isSending(entry) ? this.given + this.sent.length : "stray"
      if (piece.length > 0) this.arriving.push({ bytes: piece, pauseMs: index === 0 ? 0 : this.random.next() * maxPauseMs, ends })
    }
    this.move()
  }

  /** Its client waits no longer for one of its answers, and closes it. */
  abandon(entry: Entry): void {
    if (this.sent.includes(entry)) this.shared.ground.ready(() => this.end("client"))
  }

  // ---- on the way

  /** Lets the next piece arrive, if the process reads. */
  private move(): void {
    const [piece] = this.arriving
    if (piece === undefined || this.isMoving || this.isHeld || this.hasEnded || !this.isLetIn) return
    this.isMoving = true
    const arrive = (): void =>
      this.shared.ground.ready(() => {
        this.isMoving = false
        if (this.hasEnded || this.isHeld) return
        this.keepsAlive()
        this.shared.ticks.run(() => this.lane.receive(Buffer.concat(this.arrived())))
        this.watchTime()
        this.move()
      })
    const inMs = Math.max(piece.pauseMs, this.shared.readsInMs(this.random))
    if (inMs === 0) arrive()
    else this.shared.time.after(inMs, arrive)
  }

  /** Takes the next piece from its way, and those right behind it: all of them are read at once. */
  private arrived(): ReadonlyArray<Buffer> {
    const next = this.arriving.findIndex(({ pauseMs }, index) => index > 0 && pauseMs > 0)
    const pieces = this.arriving.splice(0, next < 0 ? this.arriving.length : next)
    for (const { ends } of pieces) {
      if (ends === "stray") this.tell({ is: "strayed" })
      else if (ends > 0) this.tell({ is: "arrived", serial: ends })
    }
    return pieces.map(({ bytes }) => bytes)
  }

  // ---- the process's end

  /** Lets it in, where there is room. */
  enter(told: () => Extract<Event, { readonly is: "let in" }>): void {
    if (this.hasEnded) return
    if (!this.shared.connections.admit(this.connection)) {
      this.hasEnded = true
      for (const entry of this.sent.splice(0)) if (isSending(entry)) entry.refused()
      return this.shared.left(this)
    }
    this.isLetIn = true
    this.tell(told())
    this.shared.unread.enter(this.lane)
    this.move()
  }

  get isOpen(): boolean {
    return this.isLetIn && !this.hasEnded
  }

  get destroyed(): boolean {
    return this.hasEnded
  }

  pause(): void {
    this.isHeld = true
  }

  resume(): void {
    this.isHeld = false
    this.move()
  }

  isPaused(): boolean {
    return this.isHeld
  }

  destroy(): void {
    this.end(this.shared.isStopping() ? "stop" : "venue")
  }

  destroySoon(): void {
    this.shared.ground.ready(() => this.destroy())
  }

  /** Whether a process that stops may close it at once. */
  get isQuiet(): boolean {
    return this.outgoing.length === 0 && this.framer.waitsFor === undefined
  }

  /** Ends it. What has no answer yet gets none. */
  end(by: Extract<Event, { readonly is: "ended" }>["by"]): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.stopsWaiting()
    this.keepsAlive()
    for (const { result } of this.outgoing) result.destroyed = true
    if (this.isLetIn) this.tell({ is: "ended", by })
    const { connections, left, ticks } = this.shared
    if (by !== "death") {
      ticks.run(() =>
        ticks.later(() => {
          connections.remove(this.connection)
          this.lane.gone()
          for (const then of this.gone) then()
        })
      )
    }
    for (const entry of this.sent.splice(0)) if (isSending(entry)) entry.wasCut()
    left(this)
  }

  private tell(event: Event): void {
    this.shared.ground.told(this.serial, event)
  }

  /** Calls back as a task of the process after a time. Returns a function that cancels this. */
  private inTime(ms: number, then: () => void): () => void {
    const { ground, ticks, time } = this.shared
    let isCancelled = false
    const cancel = time.after(ms, () =>
      ground.ready(() => {
        if (!isCancelled) ticks.run(then)
      }))
    return () => {
      isCancelled = true
      cancel()
    }
  }

  /** Gives a request that has begun to arrive its time. */
  private watchTime(): void {
    const { waitsFor } = this.framer
    const awaited = waitsFor === undefined ? "" : `${waitsFor} ${this.framer.begun}`
    if (awaited === this.awaited) return
    this.stopsWaiting()
    this.awaited = awaited
    if (awaited === "" || this.hasEnded) return
    this.stopsWaiting = this.inTime(waitsFor === "head" ? headTimeoutMs : requestTimeoutMs, () => {
      if (this.awaited === awaited && !this.hasEnded) this.lane.end("timeout")
    })
  }

  private dispatch(exchange: SimExchange, reply: Reply): void {
    const { ground, ticks } = this.shared
    const { head, request: { method } } = exchange
    const entry = this.sent[exchange.serial - 1 - this.given]
    this.tell({ is: "dispatched", serial: exchange.serial })
    if (entry === undefined) return
    if (!isSending(entry)) return this.tell({ is: "mistaken", stray: entry })
    handOver(ground, entry.request, {
      method,
      target: exchange.target,
      headers: headersOf(head),
      body: exchange.body ?? empty,
      remoteAddress: this.address,
      whenGone: (then) => {
        this.gone.add(then)
        return () => void this.gone.delete(then)
      },
      holds: (bytes) => this.hold(exchange.serial, bytes)
    }, (response) => ticks.run(() => reply(response)))
  }

  private hold(serial: number, bytes: number): () => void {
    // What is held of a connection goes with it.
    if (!this.hasEnded) this.tell({ is: "held", serial, bytes })
    const released = this.lane.hold(bytes)
    return () => {
      if (!this.hasEnded) this.tell({ is: "released", serial, bytes })
      released()
    }
  }

  private write(exchange: SimExchange, answer: NonNullable<SimExchange["answer"]>): number {
    exchange.result.headersSent = true
    exchange.answer = answer
    const { body, isFixed } = answer.response
    // A text that is the same for everybody is there once.
    const bytes = isFixed === true ? 0 : Buffer.byteLength(body)
    this.tell({ is: "answered", serial: exchange.serial, bytes: headBytes + bytes, isRefusal: exchange.refusal !== undefined })
    this.flush()
    return bytes
  }

  /** Sends answers in the order of their requests. */
  private flush(): void {
    for (let [first] = this.outgoing; first?.answer !== undefined && !this.isTaking && !this.hasEnded; [first] = this.outgoing) {
      const exchange = first
      this.outgoing.shift()
      const { ground, ticks, time } = this.shared
      if (this.slowMs === 0) {
        this.give(exchange.answer!.response)
        ground.ready(() => ticks.run(() => this.taken(exchange)))
        continue
      }
      this.isTaking = true
      time.after(this.random.next() * this.slowMs, () =>
        ground.ready(() => {
          this.isTaking = false
          if (this.hasEnded) return
          this.give(exchange.answer!.response)
          ticks.run(() => this.taken(exchange))
          this.flush()
        }))
    }
  }

  /** Gives an answer to its client. */
  private give(response: Response): void {
    const entry = this.sent.shift()
    this.given++
    if (entry === undefined) return
    if (isSending(entry)) entry.answered(response)
    else this.tell({ is: "refused", stray: entry, response })
  }

  /** The system has taken an answer. */
  private taken({ answer, serial }: SimExchange): void {
    if (this.hasEnded) return
    this.tell({ is: "taken", serial })
    answer!.taken()
    if (answer!.isLast) return this.destroySoon()
    if (!this.isQuiet) return
    const { behaviour: { keepAliveMs } } = this.shared
    this.keepsAlive()
    this.keepsAlive = this.inTime(keepAliveMs, () => {
      if (this.isQuiet) this.destroy()
    })
  }

  /** Sends a refusal of what could not be framed, and closes. */
  private writeLast(response: Response): void {
    this.give(response)
    this.destroySoon()
  }
}

export interface SimWire {
  /**
   * Sends a request on a connection of its address. Returns a function by which its client stops waiting for it; undefined for a request
   * that no client of HTTP would send as it is.
   */
  readonly send: (sending: Sending, random: SimRandom) => (() => void) | undefined
  /** Requests that have no answer yet. */
  readonly underWay: () => number
  /** Takes no more connections, closes those without a request, and calls back once all are closed. */
  readonly stop: (closed: () => void) => void
  /** Ends every connection. */
  readonly cut: (by: "stop" | "death") => void
  readonly counts: Required<Pick<Serving, "connections" | "unread">>
}

/** How often a read is sent in a burst: more than one connection may have under way. And on how many other connections, at most. */
const [leastInBurst, mostInBurst, mostBeside] = [17, 40, 3]

/** Sends a read again and again on a connection and some others of its address. */
const burst = (request: Request, line: Line, own: ReadonlyArray<Line>, random: SimRandom): void => {
  const others = own.filter((each) => each !== line && each.takes(request, each.underWay > 0))
  for (const each of [line, ...others.slice(0, mostBeside)]) {
    for (let left = random.between(leastInBurst, mostInBurst); left > 0; left--)
      each.send({ request, ...unheard() }, bytesOf(request, random)!)
  }
}

/** How far the process's time goes at least between two looks at it, ms: a turn of the rotation ends by it. */
const leastMs = 0.05

/** A time that never stands still. */
const movingOn = (time: SimTime): () => number => {
  let lookedMs = 0
  return () => {
    lookedMs = Math.max(lookedMs + leastMs, time.nowEpochMs())
    return lookedMs
  }
}

/** For how long nothing is read, ms, which an arrival may begin. */
const pausing = (time: SimTime, { busyShare, maxBusyMs }: Behaviour): (random: SimRandom) => number => {
  let untilMs = 0
  return (random) => {
    const nowMs = time.nowEpochMs()
    if (random.chance(busyShare)) untilMs = Math.max(untilMs, nowMs + random.next() * maxBusyMs)
    return Math.max(0, untilMs - nowMs)
  }
}

/** The connections of one process. */
export const make = (time: SimTime, behaviour: Behaviour, ground: Ground): SimWire => {
  const lines = new Set<Line>()
  let begun = 0
  let isStopping = false
  let whenClosed = (): void => {}
  let counted = 0
  const now = movingOn(time)
  const ticks = new Ticks(() => {
    if (unread.bytes === counted) return
    counted = unread.bytes
    ground.told(0, { is: "counted", unreadBytes: counted })
  })
  const soon = (task: () => void): void => ground.ready(() => ticks.run(task))
  const unread = new Unread(behaviour.unreadBytes, () => {}, (then) => void time.after(1_000, () => soon(then)))
  const connections = new Connections.Connections(behaviour.connections, behaviour.perAddress, () => {})
  const open = (): ReadonlyArray<Line> => [...lines].filter(({ isOpen }) => isOpen)
  const shared: Shared = {
    time,
    behaviour,
    ground,
    ticks,
    rotation: new Rotation(soon, ticks.later, now, behaviour.isBehindProxies === true ? urgentPerTurn : undefined),
    unread,
    connections,
    now,
    isStopping: () => isStopping,
    readsInMs: pausing(time, behaviour),
    left: (line) => {
      lines.delete(line)
      if (lines.size === 0) whenClosed()
    }
  }

  const begin = (address: string, random: SimRandom): Line => {
    const line = new Line(++begun, address, shared, random)
    lines.add(line)
    soon(() =>
      line.enter(() => ({
        is: "let in",
        all: open().length,
        ofAddress: open().filter((each) => each.address === address).length,
        behaviour
      }))
    )
    return line
  }

  return {
    send: (sending, random) => {
      const { request } = sending
      const bytes = bytesOf(request, random)
      if (bytes === undefined) return undefined
      const isBehind = random.chance(behaviour.pipelinedShare)
      const own = [...lines].filter(({ address }) => address === request.remoteAddress)
      const behind = isBehind ? own.filter((line) => line.takes(request, true)) : []
      const fitting = behind.length > 0 ? behind : own.filter((line) => line.takes(request, false))
      const line = fitting.length > 0 ? random.pick(fitting) : begin(request.remoteAddress, random)
      line.send(sending, bytes)
      if (isRead(request) && !mayWait(request) && random.chance(behaviour.burstShare)) burst(request, line, own, random)
      if (endsPlainly(request) && random.chance(behaviour.strayShare)) {
        const stray = random.pick(strays)
        line.send(stray, Buffer.from(stray.bytes, "latin1"))
      }
      return () => line.abandon(sending)
    },
    underWay: () => [...lines].reduce((sum, { underWay }) => sum + underWay, 0),
    stop: (closed) => {
      isStopping = true
      whenClosed = closed
      ticks.run(() => connections.destroySilent())
      for (const line of [...lines]) if (line.isQuiet) line.end("stop")
      if (lines.size === 0) closed()
    },
    cut: (by) => [...lines].forEach((line) => line.end(by)),
    counts: {
      connections: () => connections.counts,
      unread: () => ({ bytes: unread.bytes, closed: unread.closed })
    }
  }
}
