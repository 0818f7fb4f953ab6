/**
 * The requests of one connection in the order in which they were sent. They are dispatched in that order, a bounded number at a
 * time, and none while the client leaves too many bytes unread: anything beyond that waits in the system's buffers, not in the
 * venue's memory. One request is dispatched as it arrives; those sent along with it wait for a turn in the rotation of all
 * connections.
 *
 * Bytes that cannot be framed are answered once everything before them has been: a refusal never takes the place of the answer to a
 * request that was carried out.
 */
import { type Head, lastLine, targetOf } from "./Head.js"
import type { Misframed, Response } from "./Listener.js"
import type { Rotation } from "./Rotation.js"
import type { Holder, Unread } from "./Unread.js"

/** Most requests of one connection that are dispatched and not yet answered. */
const mostUnderWay = 16
/** Bytes of answers unread by the client from which on none of its requests is dispatched. */
const mostUnread = 256 * 1024
/**
 * Bytes of answers unread by the client from which on no more of what it sent is framed. They are fewer than the 16 KiB at which
 * `node:http` would pause the socket itself.
 */
const mostUnreadToFrame = 8 * 1024
/** Bytes that are framed at a time. */
const sliceBytes = 4 * 1024
/**
 * Bytes without the beginning or continuation of a request from which on framing stops. `node:http` limits the head that it reads
 * to half as much, but not blank lines before it nor spaces in it.
 */
const mostWithoutRequest = 32 * 1024
/** More than the head of a response. */
const headBytes = 1024
/** The lowest speed at which a client has to take its answers; a slower one's connection counts as idle. */
const leastBytesPerMs = 8
/**
 * Bytes that a client may be ahead of that speed, whatever it took before. The system accepts megabytes that no client has read, and an
 * answer is accepted only as a whole, so more would let one long answer keep its connection for minutes.
 */
const mostBytesAhead = 64 * 1024

/** Paths of requests that cancel, with ids no longer than those of the venue. */
const cancelingPaths = [
  "v[12]/orders/(?:cancel-all|[\\w-]{1,64}/cancel)",
  "v1/operator/orders/cancel",
  "v1/accounts/[\\w-]{1,64}/orders/cancel-all-after"
]
const canceling = new RegExp(`^POST /(?:${cancelingPaths.join("|")}) HTTP/1\\.[01]\\r\\n`)
/** Bytes of a request's line that are looked at. */
const looksAtBytes = 192
const capitalP = 80

/**
 * Whether bytes begin with a request to cancel: a limited number of these per turn is taken as they arrive, ahead of everything
 * that waits. The sender is unknown before framing, so this decides only the order in which connections are handled.
 */
const isUrgent = (bytes: Buffer): boolean => bytes[0] === capitalP && canceling.test(bytes.toString("latin1", 0, looksAtBytes))

/** A request as it is framed. */
export interface Framed {
  readonly method?: string | undefined
  readonly url?: string | undefined
  /** Whether all of it has been framed. */
  readonly complete: boolean
}

/** Where a request's answer is written. */
export interface Answerable {
  /** Whether an answer was written. */
  readonly headersSent: boolean
  /** Whether none can be written any more. */
  readonly destroyed: boolean
}

/** A connection's bytes: `node:net`'s socket, or another of the same kind. */
export interface Wire {
  readonly destroyed: boolean
  readonly pause: () => unknown
  readonly resume: () => unknown
  readonly isPaused: () => boolean
  readonly destroy: () => unknown
  /** Closes it once what was written has been sent. */
  readonly destroySoon: () => void
}

/** A framed request that has not been answered yet. */
export class Exchange<Of extends Framed = Framed, To extends Answerable = Answerable> {
  /** Undefined where there is none. */
  body: Uint8Array | undefined = undefined
  /** Whether all of it has arrived. */
  complete = false
  /** Why it is refused instead of dispatched. */
  refusal: Misframed | undefined = undefined

  constructor(readonly request: Of, readonly result: To, readonly head: Head) {}

  get target(): string {
    return targetOf(this.request)
  }

  get isHead(): boolean {
    return this.request.method === "HEAD"
  }
}

/** What could not be framed: why, and what is known of the request in which that happened. */
interface Stray {
  readonly reason: Misframed
  readonly target: string | undefined
  readonly head: Head | undefined
  /** Whether it is a `HEAD`, whose answer has no body even where it is a refusal. */
  readonly isHead: boolean
}

/** The services that a lane uses. */
export interface Server<Each extends Exchange = Exchange> {
  readonly rotation: Rotation
  /**
   * Frames bytes. Callbacks for beginnings, completions and ends run before this returns, except ends of bodies, which follow soon.
   */
  readonly frame: (bytes: Buffer) => void
  readonly dispatch: (exchange: Each, reply: (response: Response) => void) => void
  readonly misframed: (reason: Misframed, target: string | undefined, head: Head | undefined) => Response
  /** Unread answers of all connections. */
  readonly unread: Unread
  /** Where the connection comes from. */
  readonly origin: string
  /** Milliseconds elapsed since an arbitrary moment. */
  readonly now: () => number
  /** How long answers may wait for a client, ms, beyond the time that their size allows, before its connection may count as idle. */
  readonly untakenMs: number
  /** Calls back when a request's time to arrive, counted from now, is over. Returns a function that cancels this. */
  readonly inRequestTime: (then: () => void) => () => void
  /**
   * Writes an answer, possibly the connection's last, and calls back when the system has taken it. Returns the bytes of its body,
   * unless the body is shared by many answers.
   */
  readonly write: (exchange: Each, response: Response, last: boolean, taken: () => void) => number
  /** Writes an answer that belongs to no exchange, without its body where that is for `HEAD`, and closes. */
  readonly writeLast: (response: Response, isHead: boolean) => void
  readonly stopping: () => boolean
  /** Called when nothing is in progress any more. */
  readonly idle: () => void
}

export class Lane<Each extends Exchange = Exchange> implements Holder {
  private readonly waiting: Array<Each> = []
  /** Requests dispatched whose answers the system has not taken yet. */
  private underWay = 0
  /** Bytes of answers that are not yet with the system. */
  private unread = 0
  /** Bytes of answers that are made and wait for the disk. */
  private unreleased = 0
  /** The number of answers that the system has not accepted yet, and until when they may wait before the connection counts as idle. */
  private untaken = 0
  private untilMs = 0
  /** Whether the system has taken any bytes since the last check, or none were waiting before. */
  private hasTaken = true
  private wasStuck = false
  /** Bytes received and not framed yet. */
  private held: Buffer | undefined = undefined
  private framing = false
  /** The unframed bytes of the head being read, in one piece, since there might be as many pieces as bytes. */
  private unframed: Buffer | undefined = undefined
  private begun = 0
  /**
   * Requests dispatched so far. No request is kept after its answer: with thousands of connections, every garbage collection would
   * copy the remains of each one's last request.
   */
  private dispatched = 0
  /** Whether one more request may be dispatched outside the rotation. */
  private direct = false
  /** Why framing has stopped, which is answered last. */
  private misframed: Stray | undefined = undefined
  /** Whether the connection's last answer has been given. */
  private closing = false
  /** Whether the connection has closed, so that nothing is held for it. */
  private isGone = false
  /** Whether a request was reported late while the lane itself was holding back the rest of it. */
  private isLate = false
  /** Cancels the timeout of such a request, which began when the rest of it was up to the client. */
  private stopsClock: (() => void) | undefined = undefined

  constructor(private readonly socket: Wire, private readonly server: Server<Each>) {}

  get origin(): string {
    return this.server.origin
  }

  get unreadBytes(): number {
    return this.unread + this.unreleased
  }

  get isStuck(): boolean {
    return this.wasStuck && !this.hasTaken
  }

  look(isFirst: boolean): void {
    this.wasStuck = !isFirst && this.unread > 0 && !this.hasTaken
    this.hasTaken = false
  }

  cut(): void {
    this.gone()
    this.socket.destroy()
  }

  /** Releases everything that a closed connection held. */
  gone(): void {
    this.isGone = true
    this.onTime()
    this.server.unread.giveBack(this.unreadBytes)
    this.unread = 0
    this.unreleased = 0
    this.server.unread.leave(this)
  }

  /**
   * Counts bytes of an answer that is made and waits for the disk, until the function that is returned is called. Nobody can read them
   * yet, so they make no client look stuck, but the connection asks for no more than it may have unread, and all together hold no more.
   */
  hold(bytes: number): () => void {
    if (this.isGone) return () => {}
    const { unread } = this.server
    this.unreleased += bytes
    unread.add(bytes)
    return () => {
      if (this.isGone) return
      this.unreleased -= bytes
      unread.giveBack(bytes)
    }
  }

  /**
   * Whether closing the connection loses no answer, also none to a request that waits for its turn, or only the answers of a client that
   * hardly receives them.
   */
  get isIdle(): boolean {
    return this.underWay === 0 ? !this.hasWork() : this.isLeftLying
  }

  /**
   * Whether every request in progress has been answered, and the client receives the answers more slowly than it must. Otherwise
   * clients of a few addresses could keep every connection of a listener busy forever, by receiving a little of one answer on each now
   * and then.
   */
  private get isLeftLying(): boolean {
    return this.untaken >= this.underWay && this.server.now() > this.untilMs
  }

  /** Whether nothing was ever received. */
  get isSilent(): boolean {
    return this.begun === 0 && this.held === undefined && this.unframed === undefined
  }

  /** Takes what was received. */
  receive(bytes: Buffer): void {
    if (this.misframed !== undefined || this.closing) return
    this.direct = true
    this.held = this.held === undefined ? bytes : Buffer.concat([this.held, bytes])
    const { rotation } = this.server
    if (isUrgent(bytes) ? rotation.mayGoBeforeAll(this.origin) : rotation.mayGoFirst()) {
      this.frameHeld()
      this.goOn()
    } else {
      if (this.held.length > sliceBytes) this.socket.pause()
      this.server.rotation.add(this)
    }
  }

  /**
   * Hands the connection over to another protocol. Returns the bytes received and not framed; undefined where earlier requests have
   * not been answered.
   */
  release(): Buffer | undefined {
    if (this.underWay > 0 || this.waiting.length > 0 || this.misframed !== undefined || this.closing) return undefined
    this.onTime()
    this.closing = true
    const held = this.held ?? Buffer.alloc(0)
    this.held = undefined
    return held
  }

  /** Takes a request whose head was framed. */
  begin(exchange: Each): void {
    this.begun++
    this.waiting.push(exchange)
  }

  /** A request has arrived whole, or will be refused: it may be dispatched when its turn comes. */
  complete(exchange: Each): void {
    exchange.complete = true
    this.onTime()
    // Dispatching while bytes are being framed could make `node:http` pause in the middle of them.
    if (!this.framing) this.goOn()
  }

  /** The awaited request has arrived, or is no longer awaited. */
  private onTime(): void {
    this.isLate = false
    this.stopsClock?.()
    this.stopsClock = undefined
  }

  /**
   * Framing has failed. A request that is late because the lane holds part of it back is exempt: its time begins once nothing is
   * held, and `node:http` reports a request only once.
   */
  end(reason: Misframed): void {
    if (this.misframed !== undefined || this.closing) return
    this.onTime()
    if (reason === "timeout" && this.held !== undefined) {
      this.isLate = true
      return
    }
    const tail = this.waiting.at(-1)
    if (tail === undefined || tail.complete || tail.request.complete) {
      const line = this.unframed === undefined ? undefined : lastLine(this.unframed)
      this.misframed = { reason, target: line?.target, head: undefined, isHead: line?.method === "HEAD" }
    } else {
      // The last request never became complete, and the refusal is its answer.
      this.waiting.pop()
      this.misframed = { reason, target: tail.target, head: tail.head, isHead: tail.isHead }
    }
    this.held = undefined
    this.unframed = undefined
    if (!this.framing) this.goOn()
  }

  step(): boolean {
    if (this.mayDispatch()) this.dispatch()
    this.frameHeld()
    this.close()
    return this.hasWork()
  }

  private mayDispatch(): boolean {
    return this.waiting[0]?.complete === true
      && !this.closing
      && !this.socket.destroyed
      && this.underWay < mostUnderWay
      && this.unreadBytes < mostUnread
      // A stop still serves what has arrived on an idle connection, but nothing behind a request in progress.
      && (this.underWay === 0 || !this.server.stopping())
  }

  private mayFrame(): boolean {
    const [first] = this.waiting
    return this.held !== undefined
      && !this.socket.destroyed
      && this.underWay < mostUnderWay
      && this.unread < mostUnreadToFrame
      && (first === undefined || !(first.complete || first.request.complete))
  }

  private hasWork(): boolean {
    return this.mayDispatch() || this.mayFrame()
  }

  /** Frames as much of what is held as there is room for, and reads on once nothing is held. */
  private frameHeld(): void {
    while (this.held !== undefined && this.mayFrame()) {
      const { begun, held } = this
      const slice = held.length <= sliceBytes ? held : held.subarray(0, sliceBytes)
      this.held = slice === held ? undefined : held.subarray(sliceBytes)
      this.unframed = this.unframed === undefined ? slice : Buffer.concat([this.unframed, slice])
      this.framing = true
      this.server.frame(slice)
      this.framing = false
      const tail = this.waiting.at(-1)
      if (tail !== undefined && !tail.request.complete) this.unframed = undefined
      else if (this.begun !== begun) this.unframed = slice
      else if (this.unframed !== undefined && this.unframed.length > mostWithoutRequest) this.end("headers_too_large")
    }
    if (this.held !== undefined) return void this.socket.pause()
    if (this.socket.isPaused()) this.socket.resume()
    if (this.isLate) this.stopsClock ??= this.server.inRequestTime(() => this.end("timeout"))
  }

  /** Does what may be done at once, and asks for a place in the rotation for the rest. */
  private goOn(): void {
    if (this.direct && this.mayDispatch()) {
      this.direct = false
      this.dispatch()
    }
    if (this.hasWork()) this.server.rotation.add(this)
    else this.close()
  }

  private dispatch(): void {
    const exchange = this.waiting.shift()!
    const { head, isHead, refusal } = exchange
    if (refusal === undefined) {
      this.underWay++
      const serial = ++this.dispatched
      return this.server.dispatch(exchange, (response) =>
        this.answer(exchange, response, serial === this.dispatched && this.server.stopping()))
    }
    const { target } = exchange
    this.drop()
    // The client may still be sending, so the answer is written as for bytes that cannot be framed.
    if (refusal === "body_too_large") this.misframed = { reason: refusal, target, head, isHead }
    else {
      this.underWay++
      this.answer(exchange, this.server.misframed(refusal, target, head), true)
    }
  }

  private answer(exchange: Each, response: Response, last: boolean): void {
    if (this.isGone || exchange.result.headersSent || exchange.result.destroyed) return
    if (last) this.closing = true
    if (this.unread === 0) this.hasTaken = true
    const length = headBytes + (exchange.request.method === "HEAD" ? 0 : response.body.length)
    this.leave(length)
    let bytes = headBytes
    bytes += this.server.write(exchange, response, last, () => {
      if (this.isGone) return
      this.underWay--
      this.untaken--
      this.grant(this.untilMs, length)
      this.unread -= bytes
      this.hasTaken = true
      this.server.unread.giveBack(bytes)
      if (this.underWay === 0) this.server.idle()
      this.goOn()
    })
    this.unread += bytes
    this.server.unread.add(bytes)
  }

  /** Counts an answer of this many bytes as waiting for the client, until the system has all of it. */
  private leave(bytes: number): void {
    if (this.untaken++ === 0) this.grant(this.server.now() + this.server.untakenMs, bytes)
  }

  /** Lets answers wait from a time on for as long as this many bytes take at the lowest speed, but no longer than a client may be ahead. */
  private grant(fromMs: number, bytes: number): void {
    const mostMs = this.server.now() + this.server.untakenMs + mostBytesAhead / leastBytesPerMs
    this.untilMs = Math.min(fromMs + bytes / leastBytesPerMs, mostMs)
  }

  /** Discards what was sent after the connection's last request. */
  private drop(): void {
    this.waiting.length = 0
    this.held = undefined
    this.unframed = undefined
    if (this.socket.isPaused()) this.socket.resume()
  }

  /** Ends the connection if nothing is left to answer on it but what could not be framed. */
  private close(): void {
    if (this.underWay > 0 || this.waiting.length > 0 || this.closing) return
    if (this.misframed !== undefined) {
      this.closing = true
      const { head, isHead, reason, target } = this.misframed
      this.server.writeLast(this.server.misframed(reason, target, head), isHead)
    } else if (this.dispatched > 0 && this.server.stopping()) this.socket.destroySoon()
  }
}
