/**
 * What is followed over one connection at a time. When it ends another is opened, each stream continues after the last event that its
 * listener received, and the account's tickets are renewed before they expire. Gaps are noticed by sequence
 * numbers, or by a heartbeat where nothing follows, and requested again. A position is a number in one journal: where the venue that
 * answers goes on from an older copy, as after a restore, a snapshot is requested instead.
 */
import { type Channel, keyOf, type SnapshotReason, type Snapshots, type Updates } from "./Channels.js"
import { Connection, type Frame } from "./Connection.js"
import type { Around, Following } from "./Following.js"
import type { Pace } from "./Pace.js"
import type { Platform } from "./Platform.js"
import { envelopeOf, Refusal, retryAfterMs } from "./Refusal.js"
import type { TicketSource } from "./Tickets.js"

/** Events of the connection rather than of a followed stream. None of them needs to be acted upon. */
export type Notice =
  | { readonly kind: "connected"; readonly connectionId: string }
  | { readonly kind: "disconnected"; readonly code: number; readonly reason: string; readonly retryInMs: number }
  | { readonly kind: "gap"; readonly stream: string; readonly noticedBy: "update" | "heartbeat" | "hello" }
  | { readonly kind: "resync"; readonly stream: string; readonly reason: string }
  | { readonly kind: "checksum_mismatch"; readonly stream: string; readonly sequence: number }
  | { readonly kind: "queue_full"; readonly stream: string }
  | { readonly kind: "ticket_failed"; readonly cause: unknown; readonly retryInMs: number }
  | { readonly kind: "refused"; readonly refusal: Refusal }

/** A command in the form in which it is sent here. */
export interface OrderFrame {
  readonly op: "place" | "place_batch" | "amend" | "cancel" | "cancel_batch" | "cancel_all" | "cancel_all_after"
  readonly idempotencyKey: string
  readonly orderId?: string
  readonly body: unknown
}

/** The answer to a command sent here; `unsent`: it never left, `lost`: it may have arrived. */
export type FrameAnswer =
  | { readonly kind: "answered"; readonly body: unknown }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "unsent" | "lost"; readonly cause: Error }

export interface StreamOptions {
  readonly url: string
  /** Undefined where the connection acts for no account. */
  readonly tickets: TicketSource | undefined
  /** Whether commands are sent here, so that the connection is authenticated even where no account stream is followed. */
  readonly isForOrders: boolean
  /** The time limit for the answer to a command, in milliseconds. */
  readonly timeoutMs: number
  /** Whether the venue is to cancel the orders placed over a connection when it ends. */
  readonly cancelOnDisconnect: boolean | undefined
  readonly notice: (notice: Notice) => void
}

/** What is told to those who distribute streams over connections. */
export interface Distribution {
  /** A connection is open, and nothing was requested yet; with the most streams that it may have, where the venue told them. */
  readonly opened: (most: number | undefined) => void
  /** Nothing is followed any more. */
  readonly emptied: () => void
}

const firstDelayMs = 250
const longestDelayMs = 30_000
/** Most commands in progress here; the venue accepts 64 for each connection. */
const mostCommands = 48

/** Data in the form for listeners: candles may be wrapped as in their listing. */
const dataOf = (data: unknown): unknown => typeof data === "object" && data !== null && "candles" in data ? data.candles : data

/** A source's ticket. The source may be the user's own: whatever else it returns, or throws, is a ticket that could not be obtained. */
const ticketOf = async (tickets: TicketSource, isSpent: boolean): Promise<string> => {
  const given: { readonly ticket?: unknown } | null | undefined = await tickets(isSpent)
  if (typeof given?.ticket !== "string") throw new Error("the source of tickets gave none")
  return given.ticket
}

/** A refusal in a frame; undefined where the frame has no envelope of the venue's. */
const refusalOf = ({ error, retryAfterSeconds }: Frame): Refusal | undefined => {
  const envelope = envelopeOf(error)
  return envelope === undefined ? undefined : new Refusal(undefined, envelope, retryAfterMs(retryAfterSeconds))
}

export class Stream {
  private connection: Connection | undefined
  private readonly followed = new Map<string, Following>()
  /** Ids of frames that requested a stream and were withdrawn before they were answered. */
  private readonly takenBack = new Set<string>()
  private readonly commands = new Map<string, (answer: FrameAnswer) => void>()
  private ids = 0
  private isTrusted = false
  private readonly expectant = new Set<{ readonly resolve: () => void; readonly reject: (cause: unknown) => void }>()
  /** The venue's start that the positions of all streams belong to; undefined where no venue has told one. */
  private startId: string | undefined
  private authId: string | undefined
  /** The end of authority that this connection was warned of last. */
  private warnedOf: number | undefined
  private isAuthenticating = false
  /** While the venue's own time for showing a ticket again has not come, on whatever connection; `isSpent` as for `authenticate`. */
  private heldBack: { isSpent: boolean } | undefined
  /** Consecutive failures of connections, and of tickets. */
  private failures = 0
  private ticketFailures = 0
  /** Cancels everything that waits for its time. */
  private readonly waits = new Set<() => void>()
  private isStarted = false
  private isClosed = false

  /** What is followed here requests itself by this. */
  readonly around: Around = {
    ask: (following) => this.ask(following),
    // By then another connection may have taken it.
    askLater: (following, failures) => this.later(this.delayMs(failures), () => following.around.ask(following)),
    leave: (following) => this.leave(following),
    forget: (following) => {
      this.followed.delete(following.key)
      if (this.followed.size === 0) this.distribution.emptied()
    },
    isTrusted: () => this.isTrusted
  }

  constructor(
    private readonly platform: Platform,
    private readonly options: StreamOptions,
    private readonly pace: Pace,
    private readonly distribution: Distribution
  ) {}

  /** Connects, unless it already has or is doing so. */
  start(): void {
    if (this.isStarted || this.isClosed) return
    this.isStarted = true
    this.connect()
  }

  follows(key: string): boolean {
    return this.followed.has(key)
  }

  /** The followed streams of markets. */
  get ofMarkets(): ReadonlyArray<Following> {
    return [...this.followed.values()].filter(({ isOfAccount }) => !isOfAccount)
  }

  /** Follows a stream here from now on. */
  take(following: Following): void {
    following.around = this.around
    this.followed.set(following.key, following)
    this.ask(following)
    this.start()
  }

  /** Lets go of a stream that another connection takes. What it has belongs to what the venue told here, and is requested anew. */
  giveUp(following: Following): void {
    this.followed.delete(following.key)
    if (following.last !== undefined) following.forgets("gap")
  }

  /** Sends a command, if that is possible here at present. */
  command(frame: OrderFrame): Promise<FrameAnswer> {
    const id = this.nextId()
    const why = this.commandNow({ ...frame, id })
    if (why !== undefined) return Promise.resolve({ kind: "unsent", cause: new Error(`the stream could not take it: ${why}`) })
    return new Promise((resolve) => {
      const cancel = this.platform.after(this.options.timeoutMs, () => {
        const cause = new Error(`no answer came for ${this.options.timeoutMs} ms`)
        this.commands.get(id)?.({ kind: "lost", cause })
      })
      this.commands.set(id, (answer) => {
        cancel()
        this.commands.delete(id)
        resolve(answer)
      })
    })
  }

  /** Waits until the connection acts for an account; rejects where that is refused for good, or no source of tickets is configured. */
  ready(): Promise<void> {
    if (this.isTrusted) return Promise.resolve()
    if (this.isClosed || !this.options.isForOrders) return Promise.reject(new Error("no commands go over the stream"))
    if (this.options.tickets === undefined) return Promise.reject(new Error("commands over the stream need an API key, or tickets"))
    this.start()
    // An earlier final refusal does not hold for a new call: it is requested again.
    this.authenticate(false)
    return new Promise((resolve, reject) => this.expectant.add({ resolve, reject }))
  }

  /** Stops following everything. */
  close(): void {
    if (this.isClosed) return
    this.isClosed = true
    for (const cancel of this.waits) cancel()
    for (const following of [...this.followed.values()]) following.end(undefined)
    this.disappoint(new Error("the client is closed"))
    this.connection?.cut("the client is closed")
  }

  /** Sends a command's frame. Returns why that is not possible at present, or undefined where it was sent. */
  private commandNow(frame: OrderFrame & { readonly id: string }): string | undefined {
    const { connection } = this
    if (connection === undefined) return "it is not connected"
    if (!this.isTrusted) return "no ticket was taken on this connection"
    if (this.commands.size >= mostCommands) return `${mostCommands} commands are under way`
    return connection.sayNow(frame)
  }

  private nextId(): string {
    return `c${++this.ids}`
  }

  private delayMs(failures: number): number {
    return Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(failures, 10)) * (0.5 + this.platform.random() / 2)
  }

  /** The delay before something that failed is tried again: not before the venue's own time for it, where it told one. */
  private againInMs(failures: number, cause: unknown): number {
    return Math.max(this.delayMs(failures), cause instanceof Refusal ? cause.retryAfterMs ?? 0 : 0)
  }

  private later(delayMs: number, run: () => void): void {
    const cancel = this.platform.after(delayMs, () => {
      this.waits.delete(cancel)
      run()
    })
    this.waits.add(cancel)
  }

  private connect(): void {
    const connection: Connection = new Connection(this.platform, this.options.url, this.pace, {
      opened: ({ connectionId, limits, starts }) => {
        this.distribution.opened(limits?.subscriptions)
        this.options.notice({ kind: "connected", connectionId: connectionId ?? "" })
        this.recognize(starts)
        if (this.options.isForOrders) this.authenticate(false)
        this.askAll()
      },
      frame: (frame) => this.hear(frame),
      awaitsSnapshot: () => [...this.followed.values()].some(({ last, state }) => state === "live" && last === undefined),
      ended: (code, reason) => this.ended(code, reason)
    })
    this.connection = connection
  }

  /**
   * Discards everything where the venue's journal may lack some of it. Of the time of the start that the positions belong to, it has
   * everything up to the start after that; where it does not name the start, nothing is certain. Nor is it where the venue tells no starts
   * after it told some: an older version, which may run over an older copy.
   */
  private recognize(starts: Frame["starts"] = []): void {
    const before = this.startId
    this.startId = starts[0]?.id
    if (before === undefined && this.startId === undefined) return
    const at = starts.findIndex(({ id }) => id === before)
    const endsBefore = at < 0 ? 0 : starts[at - 1]?.firstSequence ?? Number.POSITIVE_INFINITY
    const held = [...this.followed.values()].filter(({ received }) => received !== undefined)
    if (held.every(({ received }) => received! < endsBefore)) return
    for (const following of held) {
      this.options.notice({ kind: "gap", stream: following.key, noticedBy: "hello" })
      following.loses(endsBefore)
    }
  }

  private ended(code: number, reason: string): void {
    this.connection = undefined
    this.isTrusted = false
    this.isAuthenticating = false
    this.warnedOf = undefined
    this.takenBack.clear()
    for (const answer of [...this.commands.values()]) answer({ kind: "lost", cause: new Error(`the connection ended (${code})`) })
    for (const following of this.followed.values()) {
      if (following.state !== "asked" && following.state !== "live") continue
      following.state = "waiting"
      following.askedId = undefined
      following.listener.interrupted?.()
    }
    if (this.isClosed) return
    const retryInMs = this.delayMs(this.failures++)
    this.later(retryInMs, () => this.connect())
    this.options.notice({ kind: "disconnected", code, reason, retryInMs })
  }

  private askAll(): void {
    for (const following of this.followed.values()) this.ask(following)
  }

  private ask(following: Following): void {
    const { connection } = this
    if (following.state !== "waiting" || following.heldBack !== undefined || connection?.isOpen !== true) return
    if (following.isOfAccount && !this.isTrusted) return this.authenticate(false)
    following.state = "asked"
    following.askedId = this.nextId()
    const from = following.last === undefined ? undefined : { fromSequence: following.last }
    connection.say({ op: "subscribe", id: following.askedId, ...following.name, ...from })
  }

  private leave(following: Following): void {
    if (following.state === "asked" || following.state === "live") {
      // Events that still arrive must not be taken for answers to the next request.
      this.connection?.say({ op: "unsubscribe", id: `u${++this.ids}`, ...following.name })
    }
    if (following.askedId !== undefined) this.takenBack.add(following.askedId)
    following.askedId = undefined
  }

  private hear(frame: Frame): void {
    switch (frame.type) {
      case "subscribed":
        return this.subscribed(frame)
      case "snapshot":
        return this.snapshot(frame)
      case "update":
        return this.update(frame)
      case "resync":
        return this.resync(frame)
      case "heartbeat":
        return this.heartbeat(frame.heads ?? {})
      case "auth_ok":
        return this.trusted(frame)
      case "auth_error":
        return this.distrusted(frame)
      case "ticket_expiring":
        return this.warned(frame)
      case "result":
        return this.commands.get(frame.id ?? "")?.({ kind: "answered", body: frame.body })
      case "error":
        return this.refused(frame)
    }
  }

  /** The stream to which a frame belongs, if it is requested here and the venue has confirmed it. */
  private liveOf({ channel, marketId, series, stream, timeframe }: Frame): Following | undefined {
    const following = this.followed.get(keyOf({ channel: channel ?? stream, marketId, timeframe, series }))
    return following?.state === "live" ? following : undefined
  }

  private subscribed({ id, resumed }: Frame): void {
    this.takenBack.delete(id ?? "")
    for (const following of this.followed.values()) {
      if (following.state !== "asked" || following.askedId !== id) continue
      following.state = "live"
      following.askedId = undefined
      following.refusals = 0
      if (resumed === true) following.listener.resumed?.()
    }
  }

  private snapshot(frame: Frame): void {
    const following = this.liveOf(frame)
    if (following === undefined) return
    const { name, reason } = following
    const sequence = frame.sequence!
    following.reaches(sequence)
    following.reason = "gap"
    following.listener.snapshot({ type: "snapshot", name, reason, sequence, data: dataOf(frame.data) as Snapshots[Channel] })
  }

  private update(frame: Frame): void {
    const following = this.liveOf(frame)
    // After a resync its snapshot is awaited.
    if (following?.last === undefined) return
    const previousSequence = frame.previousSequence!
    const sequence = frame.sequence!
    if (previousSequence !== following.last) return this.missed(following, "update")
    following.reaches(sequence)
    const more = frame.checksum === undefined ? undefined : { checksum: frame.checksum }
    const data = dataOf(frame.data) as Updates[Channel]
    following.listener.update({ type: "update", name: following.name, previousSequence, sequence, data, ...more })
  }

  private missed(following: Following, noticedBy: "update" | "heartbeat"): void {
    this.options.notice({ kind: "gap", stream: following.key, noticedBy })
    following.listener.interrupted?.()
    following.again()
  }

  private resync(frame: Frame): void {
    const following = this.liveOf(frame)
    if (following === undefined) return
    following.forgets(frame.reason as SnapshotReason)
    this.options.notice({ kind: "resync", stream: following.key, reason: frame.reason ?? "" })
    following.listener.interrupted?.()
  }

  /** Events that precede the heartbeat's sequences have been received by now, or are missing. */
  private heartbeat(heads: Readonly<Record<string, number>>): void {
    this.failures = 0
    for (const following of [...this.followed.values()]) {
      const head = heads[following.key]
      if (following.state !== "live" || head === undefined || head === following.last) continue
      this.missed(following, "heartbeat")
    }
  }

  // Authentication of the connection.

  private authenticate(isSpent: boolean): void {
    const { connection, heldBack, options: { cancelOnDisconnect, tickets } } = this
    if (heldBack !== undefined) {
      heldBack.isSpent ||= isSpent
      return
    }
    if (connection?.isOpen !== true || this.isAuthenticating || tickets === undefined) return
    this.isAuthenticating = true
    ticketOf(tickets, isSpent).then((ticket) => {
      if (connection !== this.connection) return
      this.authId = this.nextId()
      connection.say({ op: "auth", id: this.authId, ticket, ...(cancelOnDisconnect === undefined ? {} : { cancelOnDisconnect }) })
    }, (cause: unknown) => {
      if (connection === this.connection) this.withoutTicket(cause)
    })
  }

  /**
   * Another ticket is shown once for each end: the last ones before the key's end all end with it. An older venue would warn of that every
   * second.
   */
  private warned({ expiresAt }: Frame): void {
    if (expiresAt !== undefined && expiresAt === this.warnedOf) return
    this.warnedOf = expiresAt
    this.authenticate(true)
  }

  private trusted({ id }: Frame): void {
    if (id !== this.authId) return
    this.isAuthenticating = false
    this.isTrusted = true
    this.ticketFailures = 0
    for (const { resolve } of this.expectant) resolve()
    this.expectant.clear()
    this.askAll()
  }

  private distrusted(frame: Frame): void {
    if (frame.id === this.authId) this.withoutTicket(refusalOf(frame) ?? new Error("the ticket was refused"))
  }

  /** No ticket could be obtained, or it was not accepted: tries again, unless the venue has said that this is useless. */
  private withoutTicket(cause: unknown): void {
    this.isAuthenticating = false
    // A limit of tickets is lifted by time too: those that nobody uses end by themselves.
    const isPassing = cause instanceof Refusal && ["realtime_ticket_rejected", "rate_limited"].includes(cause.code)
    if (cause instanceof Refusal && !cause.isRetryable && !isPassing) {
      for (const following of [...this.followed.values()]) if (following.isOfAccount) following.end(cause)
      return this.disappoint(cause)
    }
    const retryInMs = this.againInMs(this.ticketFailures++, cause)
    const { connection } = this
    // A ticket refused because the account has too many connections is still good: another one would only be one more record.
    const isSpent = !(cause instanceof Refusal && cause.code === "rate_limited")
    const held = { isSpent }
    // A timer and no time of the clock, which may be set back.
    const isTold = cause instanceof Refusal && cause.retryAfterMs !== undefined
    if (isTold) this.heldBack = held
    this.later(retryInMs, () => {
      if (this.heldBack === held) this.heldBack = undefined
      // Another connection than the refused one authenticates by itself, unless it was held back.
      if (isTold || connection === this.connection) this.authenticate(held.isSpent)
    })
    this.options.notice({ kind: "ticket_failed", cause, retryInMs })
  }

  private disappoint(cause: unknown): void {
    for (const { reject } of this.expectant) reject(cause)
    this.expectant.clear()
  }

  private refused(frame: Frame): void {
    const { id } = frame
    const refusal = refusalOf(frame)
    if (refusal === undefined) return
    const answer = id === undefined ? undefined : this.commands.get(id)
    if (answer !== undefined) return answer({ kind: "refused", refusal })
    const following = [...this.followed.values()].find(({ askedId }) => askedId !== undefined && askedId === id)
    if (following !== undefined) return this.notFollowed(following, refusal)
    // A request that was withdrawn before it began is answered with a refusal, which is expected.
    if (id !== undefined && this.takenBack.delete(id)) return
    // Unsubscribing from a stream that is not subscribed to needs no handling.
    if (id?.startsWith("u") === true) return
    if (id === undefined && refusal.code === "realtime_ticket_rejected") {
      this.isTrusted = false
      for (const one of this.followed.values()) if (one.isOfAccount && one.state === "live") one.listener.interrupted?.()
      this.authenticate(true)
    }
    this.options.notice({ kind: "refused", refusal })
  }

  private notFollowed(following: Following, refusal: Refusal): void {
    following.askedId = undefined
    following.state = "waiting"
    // The ticket had expired meanwhile: the stream is requested again once there is another.
    if (refusal.code === "realtime_ticket_rejected") {
      this.isTrusted = false
      return this.authenticate(true)
    }
    if (!refusal.isRetryable) return following.end(refusal)
    this.options.notice({ kind: "refused", refusal })
    const held = refusal.retryAfterMs === undefined ? undefined : {}
    following.heldBack = held
    this.later(this.againInMs(following.refusals++, refusal), () => {
      if (following.heldBack === held) following.heldBack = undefined
      following.around.ask(following)
    })
  }
}
