/**
 * The stream of one venue: `/streams/v1/ws`. Begins conversations, drives their timers, and sends the frames of each turn in one
 * write.
 */
import type * as Context from "effect/Context"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import * as Counts from "../../domain/Counts.js"
import { unattended } from "../../domain/Unattended.js"
import { Refusal } from "../../domain/Refusal.js"
import { networkOf } from "../../domain/FairPlaces.js"
import { Windows } from "../../identity/RateLimits.js"
import type { SecureRandom } from "../../identity/SecureRandom.js"
import type { Barrier } from "../../sequencer/Submit.js"
import type { Feed } from "../../sequencer/Feed.js"
import type { Live } from "../../sequencer/Live.js"
import type { Reads } from "../../engine/Reads.js"
import type { Histories } from "../../readmodel/Histories.js"
import type { Past, PastCandles } from "../../streams/CandleStreams.js"
import { Changes } from "../../streams/Changes.js"
import { Hub } from "../../streams/Hub.js"
import type { Payloads } from "../../streams/Payloads.js"
import { type Replaying, Replays } from "../../streams/Replay.js"
import { Retention } from "../../streams/Retention.js"
import { Principal } from "../../operations/Header.js"
import { Operation } from "../../operations/Operations.js"
import { noteUse } from "../http/Admission.js"
import type { Services } from "../http/Call.js"
import { clientAddress } from "../http/ClientAddress.js"
import { quarterOf } from "../http/Connections.js"
import { opensCrossSite } from "../http/CrossSite.js"
import { familyOf, isOfStream } from "../http/Endpoint.js"
import { decidedAt } from "../http/JournalTime.js"
import * as Errors from "../http/Errors.js"
import { type Application, type Opening, type Peer, type UpgradeRequest } from "../http/Listener.js"
import type { Metrics } from "../http/Metrics.js"
import * as LimitHeaders from "../http/LimitHeaders.js"
import type { Stage } from "../http/Readiness.js"
import { proved } from "../identity/Sent.js"
import { Disconnects } from "./Disconnects.js"
import { Makings } from "./Makings.js"
import { missedOf, orUnread } from "./Missed.js"
import { payloads as ofAnyEngine, payloadsOf } from "./Payloads.js"
import { Prepared } from "./Prepared.js"
import { Session } from "./Session.js"
import { bounds, type Joining, type Room, type Sending, type Setting } from "./Setting.js"

/** How long a stream of candles waits until the histories reach its beginning, and the interval of its checks. */
const longestBehindMs = 10_000
const lookedAgainMs = 100
/** The interval of the sessions' timers, and how many of these there are from one heartbeat of a session to its next. */
const tickMs = 1_000
const ticksOfHeartbeat = bounds.heartbeatMs / tickMs
/** Sessions whose timers are looked at in one turn. */
const tickedAtOnce = 256
/** The window in which frames of several connections are counted together. */
const heardMs = 1_000
/** Bytes of a connection's id. */
const idBytes = 12
/** The dependencies of the streams. */
export interface Source {
  readonly state: Reads
  readonly barrier: Context.Tag.Service<typeof Barrier>
  readonly feed: Context.Tag.Service<typeof Feed>
  readonly live: Context.Tag.Service<typeof Live>
  readonly histories: Histories["Type"]
  /** A service that reads the journal for clients, unless that is done beside the writer. */
  readonly elsewhere: Replaying | undefined
  readonly metrics: Context.Tag.Service<typeof Metrics>
  readonly room: Room
  readonly runtime: Runtime.Runtime<never>
  readonly now: () => number
  readonly monotonicNanos: () => number
  /** Yields to waiting work, including the writer's turns. */
  readonly pause: Effect.Effect<void>
}

/** The streams of one venue, before any client is connected. */
export interface Streams {
  readonly hub: Hub
  /** The payloads of the venue's own engine. */
  readonly payloads: Payloads
  readonly replays: Replaying
  readonly retention: Retention
  readonly changes: Changes
  readonly sessions: Sessions
  readonly starts: Live["Type"]["starts"]
}

export interface Parts {
  readonly services: Services
  readonly streams: Streams
  readonly room: Room
  readonly handle: Application["handle"]
  readonly stage: () => Stage
  readonly runtime: Runtime.Runtime<never>
  readonly random: Context.Tag.Service<SecureRandom>
}

/** The open sessions, and their timer. */
class Sessions {
  /** Each session with the tick between two heartbeats at which its own is sent, so that not all heartbeats are sent at once. */
  readonly open = new Map<Session, number>()
  private opened = 0
  /** The number of sessions that speak for each account, by keys that may trade alone too, and that come from each network. */
  private readonly ofAccount = new Map<number, number>()
  private readonly ofTradingKeys = new Map<number, number>()
  /** The number of sessions that speak for any account. */
  private ofAccounts = 0
  private readonly ofNetwork = new Map<string, number>()
  /** Sessions with frames to send. */
  private waiting = new Set<Sending>()
  private buffered = 0
  private isTicking = false
  /** Whether `ticked` is being called, or rests. */
  private isTelling = false

  /** Called once a second while any is open, and not while it rests after a defect. */
  private ticked: () => void = () => {}

  constructor(
    private readonly room: Room,
    private readonly now: () => number,
    private readonly runtime: Runtime.Runtime<never>,
    private readonly pause: Effect.Effect<void>
  ) {}

  /** Registers a callback for every second while sessions are open. */
  whenTicked(then: () => void): void {
    this.ticked = then
  }

  get subscriptions(): number {
    let sum = 0
    for (const session of this.open.keys()) sum += session.subscriptions
    return sum
  }

  /** Bytes that one connection may hold now. */
  get mostBuffered(): number {
    return this.buffered > bounds.bufferedBytesInAll
      ? Math.min(bounds.bufferedBytesUnderPressure, this.room.bufferedBytes)
      : this.room.bufferedBytes
  }

  /**
   * Whether one more session may act for an account. What is free for that depends only on the sessions that do: all other connections
   * make room for newcomers. A quarter of the account's part is for keys that may trade: those that only read leave free what trading
   * keys do not have of it, and it is theirs also where the part has shrunk since others took more.
   */
  mayJoin({ account, isOfTradingKey }: Joining): boolean {
    const { connections } = this.room
    const free = connections - Math.ceil(connections / bounds.keptParts) - this.ofAccounts
    if (free <= 0) return false
    const part = Math.max(bounds.socketsOfAccount, Math.floor(free / bounds.accountParts))
    const kept = Math.max(0, quarterOf(part) - (this.ofTradingKeys.get(account) ?? 0))
    const held = this.ofAccount.get(account) ?? 0
    return isOfTradingKey ? held < part || kept > 0 : held < part - kept
  }

  /** Counts a connection as one of an account's, and returns true; false where it may not join. */
  joins(joining: Joining): boolean {
    const may = this.mayJoin(joining)
    if (may) this.count(joining, 1)
    return may
  }

  becomes(joined: Joining, other: Joining): void {
    this.count(joined, -1)
    this.count(other, 1)
  }

  leaves(joined: Joining): void {
    this.count(joined, -1)
  }

  private count({ account, isOfTradingKey }: Joining, change: 1 | -1): void {
    Counts.change(this.ofAccount, account, change)
    if (isOfTradingKey) Counts.change(this.ofTradingKeys, account, change)
    this.ofAccounts += change
  }

  /**
   * Whether one more session may come from an address: a network may have a quarter of the venue's connections, as it may of direct
   * ones.
   */
  mayCome(address: string): boolean {
    return (this.ofNetwork.get(networkOf(address)) ?? 0) < quarterOf(this.room.connections)
  }

  add(session: Session): void {
    this.open.set(session, this.opened++ % ticksOfHeartbeat)
    Counts.change(this.ofNetwork, networkOf(session.address), 1)
    if (this.isTicking) return
    this.isTicking = true
    Runtime.runFork(this.runtime)(Effect.zipRight(Effect.sleep(tickMs), this.ticking(1)))
  }

  remove(session: Session): void {
    this.open.delete(session)
    Counts.change(this.ofNetwork, networkOf(session.address), -1)
    session.leaves()
    this.waiting.delete(session)
  }

  touched(session: Sending): void {
    this.waiting.add(session)
  }

  flush(): void {
    const { waiting } = this
    if (waiting.size === 0) return
    this.waiting = new Set()
    for (const session of waiting) session.delivered()
  }

  /**
   * Ticks once a second while there are sessions; an idle venue does nothing. The second counts from where a tick began: on a busy venue
   * the turns of one take a while, and clients hang up where heartbeats are late.
   */
  private ticking(ticks: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.open.size === 0) {
        this.isTicking = false
        return Effect.void
      }
      this.tellTicked()
      const ticked = Effect.all([Effect.sleep(tickMs), this.tick(ticks, [...this.open])], { concurrency: "unbounded", discard: true })
      return Effect.zipRight(ticked, this.ticking(ticks + 1))
    })
  }

  /** Ticks those sessions, some in a turn: thousands of heartbeats at once would hold up whatever else is to be decided. */
  private tick(ticks: number, sessions: ReadonlyArray<readonly [Session, number]>, from = 0, bufferedBefore = 0): Effect.Effect<void> {
    return Effect.suspend(() => {
      const atEpochMs = this.now()
      let buffered = bufferedBefore
      for (const [session, phase] of sessions.slice(from, from + tickedAtOnce)) {
        const isHeartbeat = (ticks + phase) % ticksOfHeartbeat === 0
        session.tick(atEpochMs, isHeartbeat)
        // A defect, or the client, may have ended it in its tick.
        if (this.open.has(session)) buffered += session.bufferedBytes
      }
      const next = from + tickedAtOnce
      if (next < sessions.length) return Effect.zipRight(this.pause, this.tick(ticks, sessions, next, buffered))
      this.buffered = buffered
      return Effect.void
    })
  }

  /** A defect in what is called every second keeps no session from its heartbeat. */
  private tellTicked(): void {
    if (this.isTelling) return
    this.isTelling = true
    const over = Effect.sync(() => {
      this.isTelling = false
    })
    Runtime.runFork(this.runtime)(Effect.zipRight(unattended("what is done every second for the stream", Effect.sync(this.ticked)), over))
  }
}

/** Candles from the histories once these have reached a record; undefined where they are being rebuilt, or take too long. */
const pastOf = ({ candles, standing }: Histories["Type"]): Past => (which, limit, fromSequence) => {
  const again = (waitedMs: number): Effect.Effect<PastCandles | undefined> =>
    Effect.zipRight(Effect.sleep(lookedAgainMs), look(waitedMs + lookedAgainMs))
  const look = (waitedMs: number): Effect.Effect<PastCandles | undefined> =>
    Effect.suspend(() => {
      const now = standing()
      if (now?.isRebuilding === true || waitedMs > longestBehindMs) return Effect.succeed(undefined)
      if (now !== undefined && now.sequence < fromSequence) return again(waitedMs)
      // How far the histories are is not known until they have been opened, which a read waits for.
      return candles({ ...which, limit, sinceEpochMs: undefined }).pipe(
        Effect.flatMap(({ found, standing: { sequence } }) =>
          sequence < fromSequence ? again(waitedMs) : Effect.succeed({ candles: found, sequence })
        ),
        Effect.orElseSucceed(() => undefined)
      )
    })
  return look(0)
}

/** The streams, which follow all records from now on. */
export const begin = (
  { barrier, elsewhere, feed, histories, live, metrics, monotonicNanos, now, pause, room, runtime, state }: Source
): Streams => {
  const sessions = new Sessions(room, now, runtime, pause)
  const failed = (cause: unknown): void => {
    Runtime.runFork(runtime)(Effect.logError("The stream has stopped: what a record changed could not be told", cause))
    for (const session of sessions.open.keys()) session.fail()
  }
  const payloads = payloadsOf(state)
  const hub = new Hub(state, payloads, {
    kept: { updates: room.keptUpdates, bytes: room.keptBytes },
    keptOfAccounts: room.keptBytesOfAccounts,
    mostUnused: room.unusedStreams,
    provedEvery: room.provedEvery,
    now,
    monotonicNanos,
    delays: metrics.stages.stream,
    delivered: () => sessions.flush(),
    past: pastOf(histories),
    hasPast: () => histories.standing()?.isRebuilding === false,
    fork: (effect) =>
      void Runtime.runFork(runtime)(Effect.tapErrorCause(effect, (cause) => Effect.logError("A stream of candles did not begin", cause))),
    failed
  })
  sessions.whenTicked(() => hub.candles.watch())
  const { durableSequence } = barrier
  const replays = elsewhere ?? new Replays(feed, ofAnyEngine, durableSequence, room.missed)
  const retention = new Retention(state, feed, room.toldAgain)
  const around = { reads: state, hub, replays, retention, durableSequence, now, monotonicNanos }
  const changes = new Changes(around, { waitsOfAccount: 4, waits: room.changeWaits, pageText: room.missed.pageText })
  live.listen(hub)
  live.listen(changes)
  metrics.gauge("venue_stream_connections", "Connections of the stream that are open.", () => sessions.open.size)
  metrics.gauge("venue_stream_subscriptions", "Subscriptions of all connections.", () => sessions.subscriptions)
  metrics.gauge("venue_streams", "Streams that are kept up, whether or not anybody asks for them now.", () => hub.size)
  metrics.gauge("venue_stream_kept_bytes", "Bytes that are kept of accounts' streams, of all together, for clients that come back.",
    () => hub.keptBytes)
  metrics.gauge("venue_replay_engines", "Engines that read the journal for clients, or stand where they left it.", () => replays.engines)
  metrics.gauge("venue_change_waits", "Requests that wait for changes of an account.", () => changes.waiting)
  return { hub, payloads, replays, retention, changes, sessions, starts: live.starts }
}

/** Frames of addresses that speak for nobody, and refused ones of keys, in each second; apart, those that pages of other sites send. */
const heardOver = ({ messagesPerSecond, messagesTogether = bounds.connectionsWorthOfFrames * messagesPerSecond }: Room) => ({
  own: new Windows(messagesTogether, heardMs),
  crossSite: new Windows(messagesTogether, heardMs)
})

/** What bounds the snapshots of all connections: their making for each account, and the memory of those that wait for the disk. */
const snapshotBounds = ({ messagesPerSecond, preparedCharacters = bounds.preparedCharacters }: Room) => ({
  makings: new Makings(messagesPerSecond),
  prepared: new Prepared(preparedCharacters)
})

/** What the log says of a connection that met a defect. */
const endedBy = (cause: unknown): Effect.Effect<void> =>
  Effect.logError("A connection of the stream met a defect, and was ended", Cause.die(cause))

/** The stream, as an application has it. */
export const make = (parts: Parts): Required<Pick<Application, "open">> => {
  const { handle, random, room, runtime, services, stage, streams: { hub, payloads, replays, retention, sessions, starts } } = parts
  const { barrier, environment, metrics, nextRequestId, now, state } = services
  const disconnects = new Disconnects(services, stage, runtime)
  const heard = heardOver(room)
  const setting: Setting = {
    environment,
    room,
    reads: state,
    barrier,
    starts,
    hub,
    payloads,
    tickets: services.identity.tickets,
    now,
    decidedAt: () => decidedAt(services),
    nextRequestId,
    defect: (cause) => void Runtime.runFork(runtime)(endedBy(cause)),
    refused: (name) => metrics.refused(name),
    handle,
    isTold: (after) => orUnread(retention.isTold(after), false),
    missed: missedOf(barrier.whenDurable, replays),
    ...snapshotBounds(room),
    disconnects,
    mayJoin: (joining) => sessions.mayJoin(joining),
    joins: (joining) => sessions.joins(joining),
    becomes: (joined, other) => sessions.becomes(joined, other),
    leaves: (joined) => sessions.leaves(joined),
    addressOf: (from) => clientAddress(from, services.trustedProxies),
    isCrossSite: (from) => opensCrossSite(from, services.knownPages),
    used: (apiKey, address) => noteUse(services, apiKey, address),
    stolen: (place, remoteAddress, then) =>
      // The record's own turn decides whether the ticket was copied, as for a ticket sent to the route.
      services.submit(proved("RotateTicket", Principal.ticket, Operation.rotateTicket, { ...place, remoteAddress }),
        ({ refusal }) => then(refusal === Refusal.none ? Refusal.ticketRotated : refusal)),
    fork: (effect) => {
      const fiber = Runtime.runFork(runtime)(effect)
      return () => fiber.unsafeInterruptAsFork(FiberId.none)
    },
    mayHear: (subject, isCrossSite) => (isCrossSite ? heard.crossSite : heard.own).take(subject, now()),
    mostBuffered: () => sessions.mostBuffered,
    touched: (session) => sessions.touched(session)
  }

  metrics.gauge("venue_stream_ends_waiting", "Ended connections whose orders are to be cancelled and that found no room for it yet.",
    () => disconnects.untaken)
  metrics.counter("venue_stream_frames_beyond_total",
    "Frames beyond what an address may send without a ticket, or an API key have refused, in a second: each ended its connection.",
    () => heard.own.refused + heard.crossSite.refused)

  const accept = (peer: Peer, from: UpgradeRequest): Session => {
    const session = new Session(setting, peer, from, `con_${Buffer.from(random.bytes(idBytes)).toString("hex")}`,
      (gone) => sessions.remove(gone))
    sessions.add(session)
    return session
  }
  const { byStatus } = metrics.route("unrouted")
  const refuse = (asked: string, failure: Errors.Failure, told: Readonly<Record<string, string>>): Opening => {
    const { name, status } = failure.description
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
    metrics.refused(name)
    return { refused: Errors.response(familyOf(asked), failure, nextRequestId(), now(), { ...told, ...Errors.headersOf(failure) }) }
  }
  return {
    open: (request: UpgradeRequest): Opening => {
      const asked = request.target.split("?", 1)[0]!
      if (stage() !== "ready") return refuse(asked, Errors.starting, LimitHeaders.ofAddress(services, request))
      // A connection counts apart from its address's requests; what is requested over it counts for the key.
      const { headers, refusal } = LimitHeaders.drawOpening(services, request)
      if (refusal !== undefined) return refuse(asked, refusal, headers)
      if (!isOfStream(asked)) return refuse(asked, Errors.routeNotFound, headers)
      // Direct connections were counted when they were admitted.
      if (services.trustedProxies > 0 && !sessions.mayCome(setting.addressOf(request))) {
        return refuse(asked, Errors.socketsOfNetwork, headers)
      }
      if (hub.hasFailed) return refuse(asked, Errors.internal, headers)
      return { accept: (peer) => accept(peer, request), headers: () => ({ "x-request-id": services.nextRequestId(), ...headers }) }
    }
  }
}
