/**
 * One connection to the stream, from `hello` to its end. It closes itself when expected heartbeats stay away, and never sends more frames
 * in a second than the venue accepts: further ones wait.
 */
import type { Pace } from "./Pace.js"
import type { Line, Platform } from "./Platform.js"

/** A frame from the venue, with all members that are read here. Which of them are present follows from `type`. */
export interface Frame {
  readonly type: string
  readonly id?: string
  readonly connectionId?: string
  readonly heartbeatMs?: number
  readonly limits?: { readonly messagesPerSecond?: number; readonly subscriptions?: number }
  /** The latest starts of the venue, the present one first. */
  readonly starts?: ReadonlyArray<{ readonly id: string; readonly firstSequence: number }>
  readonly channel?: string
  readonly stream?: string
  readonly marketId?: string
  readonly timeframe?: string
  readonly series?: string
  readonly resumed?: boolean
  readonly reason?: string
  readonly previousSequence?: number
  readonly sequence?: number
  readonly checksum?: string
  readonly data?: unknown
  readonly body?: unknown
  readonly error?: unknown
  readonly retryAfterSeconds?: number
  readonly expiresAt?: number
  readonly heads?: Readonly<Record<string, number>>
}

export interface ConnectionEvents {
  /** The connection is open: the venue has sent `hello`. */
  readonly opened: (hello: Frame) => void
  readonly frame: (frame: Frame) => void
  /** Whether a snapshot may be on its way, which heartbeats wait behind. */
  readonly awaitsSnapshot: () => boolean
  /** The connection has ended; no further events follow. */
  readonly ended: (code: number, reason: string) => void
}

/** How long opening a connection may take, in milliseconds. */
const openingMs = 10_000
/** How late a timer may run before what has arrived is read first, and for how long that is waited for, in milliseconds. */
const lateMs = 100
const readingMs = 1_000
/** Heartbeats that may be missed. */
const missedHeartbeats = 3
/**
 * How long nothing may come while a snapshot is on its way, in milliseconds: only whole frames are heard, and a long one takes its time on
 * a slow line. After this time the venue itself gives up, since answers to its pings wait behind the snapshot, too.
 */
const snapshotMs = 60_000
/** The WebSocket close code for an end without a close frame. */
const abnormal = 1006
/** The largest frame that the venue accepts, in bytes. */
const maxFrameBytes = 16 * 1024

/**
 * Whether the venue accepts a frame with this text. A character has one to three bytes; they are counted only where the length alone does
 * not decide.
 */
const fits = (text: string): boolean =>
  text.length * 3 <= maxFrameBytes || text.length <= maxFrameBytes && new TextEncoder().encode(text).length <= maxFrameBytes

/** A parsed frame; undefined where the text is not one. */
const parsed = (text: string): Frame | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null && "type" in value ? value as Frame : undefined
  } catch {
    return undefined
  }
}

export class Connection {
  isOpen = false
  private isOver = false
  private readonly line: Line
  private heardAtEpochMs: number
  private silenceMs = openingMs
  private cancelWatch: () => void
  private cancelTurn: () => void = () => {}
  /** Frames waiting for their turn: at most one or two for each followed stream. */
  private waiting: Array<string> = []

  constructor(
    private readonly platform: Platform,
    url: string,
    private readonly pace: Pace,
    private readonly events: ConnectionEvents
  ) {
    this.heardAtEpochMs = platform.nowEpochMs()
    this.line = platform.connect(url, {
      text: (text) => this.hear(text),
      closed: (code, reason) => this.end(code, reason)
    })
    this.cancelWatch = this.watchAfter(openingMs)
  }

  /** Sends a frame in its turn. */
  say(frame: object): void {
    if (this.isOver) return
    this.waiting.push(JSON.stringify(frame))
    this.sayWaiting()
  }

  /** Sends a frame at once, before those that wait. Returns why that is not possible, or undefined where it was sent. */
  sayNow(frame: object): string | undefined {
    if (this.isOver || !this.isOpen) return "it is not connected"
    const text = JSON.stringify(frame)
    if (!fits(text)) return `a frame has ${maxFrameBytes} bytes at most, which is too few for this one`
    if (!this.pace.hasTurn()) return "no more frames may be sent in this second"
    this.send(text)
    return undefined
  }

  /** Ends the connection, and reports that. */
  cut(reason: string): void {
    this.end(abnormal, reason)
  }

  private end(code: number, reason: string): void {
    if (this.isOver) return
    this.isOver = true
    this.isOpen = false
    this.waiting = []
    this.cancelWatch()
    this.cancelTurn()
    this.line.close()
    this.events.ended(code, reason)
  }

  private hear(text: string): void {
    if (this.isOver) return
    this.heardAtEpochMs = this.platform.nowEpochMs()
    const frame = parsed(text)
    if (frame === undefined) return this.end(abnormal, "what came is no frame")
    if (frame.type === "hello") this.open(frame)
    else this.events.frame(frame)
  }

  private open(hello: Frame): void {
    this.isOpen = true
    this.pace.keepTo(hello.limits?.messagesPerSecond)
    if (hello.heartbeatMs !== undefined) this.silenceMs = hello.heartbeatMs * missedHeartbeats
    this.cancelWatch()
    this.cancelWatch = this.watchAfter(this.silenceMs)
    this.events.opened(hello)
  }

  private watchAfter(delayMs: number): () => void {
    const dueAtEpochMs = this.platform.nowEpochMs() + delayMs
    return this.platform.after(delayMs, () => this.watch(this.platform.nowEpochMs() - dueAtEpochMs > lateMs))
  }

  /** Ends a silent connection: a lost peer is not always reported. `isLate`: this runs later than it was asked to. */
  private watch(isLate: boolean): void {
    const nowEpochMs = this.platform.nowEpochMs()
    // After the clock was set back, silence is measured anew: it would go unnoticed until the clock had caught up.
    if (nowEpochMs < this.heardAtEpochMs) this.heardAtEpochMs = nowEpochMs
    const silentMs = nowEpochMs - this.heardAtEpochMs
    const limitMs = this.events.awaitsSnapshot() ? Math.max(this.silenceMs, snapshotMs) : this.silenceMs
    if (!this.isOpen || silentMs >= limitMs) {
      // The program was busy, or the machine asleep: what has arrived meanwhile is not read yet.
      if (isLate) {
        this.cancelWatch = this.platform.after(readingMs, () => this.watch(false))
        return
      }
      return this.end(abnormal, this.isOpen ? `nothing came for ${silentMs} ms` : "it did not open")
    }
    // No longer than a silence without a snapshot: the snapshot may come meanwhile, and nothing behind it.
    this.cancelWatch = this.watchAfter(Math.min(this.silenceMs, limitMs - silentMs))
  }

  private send(text: string): void {
    this.pace.sends()
    this.line.send(text)
  }

  private sayWaiting(): void {
    if (!this.isOpen) return
    while (this.waiting.length > 0 && this.pace.hasTurn()) this.send(this.waiting.shift()!)
    this.cancelTurn()
    if (this.waiting.length === 0) return
    this.cancelTurn = this.platform.after(this.pace.waitMs, () => this.sayWaiting())
  }
}
