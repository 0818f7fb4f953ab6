/**
 * The whole venue as one Layer that still needs its leaves: `Disk`, `Listener`, `Turns`, `SecureRandom`, `PasskeyVerifier`,
 * `WorkloadIdentity`, `IndexFeed`, `Ledger`, `PartySigner`, `HistoriesDatabase`, the clock and the scheduler, and optionally
 * `FollowerHost`, `ReplayHost` and `HistoriesHost`. `main.ts` provides the real ones, the simulator faulty ones.
 *
 *   1. The address is taken; all but the system routes answer 503 `starting`.
 *   2. The journal is locked, journal and snapshots are read, and the engine recovers, with its digests compared block by block. Once
 *      nothing refuses the start, secrets, keys and ledger are opened, and only then is anything written.
 *   3. The initial records of a new journal are written, then the sessions of markets according to their calendars.
 *   4. The index feed, the sessions, the ledger driver and the follower start, and requests are accepted.
 *
 * Closing happens in reverse: no new requests are accepted, pending ones are answered, the writer drains, the histories take in what it has
 * journaled, the writer takes a snapshot, and the journal is closed.
 */
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Bootstrap from "./Bootstrap.js"
import type { Environment } from "./domain/Environment.js"
import * as Stages from "./domain/Stages.js"
import { unattended } from "./domain/Unattended.js"
import * as Edge from "./edge/Edge.js"
import { type Application, type ListenError, Listener, type Serving } from "./edge/http/Listener.js"
import type { Exposition } from "./edge/http/Exposition.js"
import * as Metrics from "./edge/http/Metrics.js"
import type { Room } from "./edge/socket/Setting.js"
import * as Readiness from "./edge/http/Readiness.js"
import { registerFollower, registerSnapshots } from "./edge/system/FollowerStanding.js"
import { registerMarkets } from "./edge/system/MarketActivity.js"
import * as ExhaustionWatch from "./edge/system/ExhaustionWatch.js"
import * as ClockWatch from "./edge/system/ClockWatch.js"
import * as ConnectionRateWatch from "./edge/system/ConnectionRateWatch.js"
import * as JournalWatch from "./edge/system/JournalWatch.js"
import * as Notices from "./edge/system/Notices.js"
import * as SettlementWatch from "./edge/system/SettlementWatch.js"
import { Engine } from "./engine/Engine.js"
import type { Reads } from "./engine/Reads.js"
import * as Snapshot from "./engine/Snapshot.js"
import * as Funds from "./funds/Funds.js"
import { Pinning } from "./funds/Pinning.js"
import type { Setting } from "./funds/Parts.js"
import { Unreachable } from "./funds/Trouble.js"
import type { Capacity } from "./engine/State.js"
import { type OfAddress, type SiteSetting, siteAt } from "./identity/Identity.js"
import * as KeyUses from "./identity/KeyUses.js"
import type { PasskeyVerifier } from "./identity/PasskeyVerifier.js"
import * as RateLimits from "./identity/RateLimits.js"
import { SecureRandom } from "./identity/SecureRandom.js"
import type { WorkloadIdentity } from "./identity/WorkloadIdentity.js"
import type { Disk, Locked } from "./journal/Disk.js"
import { Journal } from "./journal/Journal.js"
import * as SegmentJournal from "./journal/SegmentJournal.js"
import * as LastStep from "./journal/LastStep.js"
import * as SnapshotStore from "./journal/SnapshotStore.js"
import type { Versions } from "./operations/Versions.js"
import { Faucet } from "./ledger/development/Faucet.js"
import { Ledger } from "./ledger/Ledger.js"
import { EventLoop, type Measured } from "./observe/EventLoop.js"
import * as JournalReading from "./journal/Reading.js"
import * as Histories from "./readmodel/Histories.js"
import { HistoriesHost } from "./readmodel/HistoriesHost.js"
import { HistoriesDatabase } from "./readmodel/HistoriesDatabase.js"
import { drive, IndexFeed, quoted } from "./oracle/IndexFeed.js"
import * as IndexWatch from "./oracle/IndexWatch.js"
import * as Feed from "./sequencer/Feed.js"
import * as Live from "./sequencer/Live.js"
import type * as Followers from "./sequencer/Followers.js"
import type * as Recent from "./sequencer/Recent.js"
import type { RecoveryError } from "./sequencer/Recovery.js"
import type * as Sequencer from "./sequencer/Sequencer.js"
import { EngineReads } from "./sequencer/EngineReads.js"
import { Barrier, guarded, Submit } from "./sequencer/Submit.js"
import type { Turns } from "./sequencer/Turns.js"
import { versions } from "./sequencer/Versions.js"
import * as Writer from "./sequencer/Writer.js"
import { PartySigner } from "./signer/PartySigner.js"
import * as Sessions from "./sessions/Sessions.js"

/** Secrets known only to the venue and its operator. */
export interface Secrets {
  /** Undefined: operator routes are hidden. */
  readonly operatorToken: string | undefined
  readonly signerSecret: string
}

/** What a start opens after the journal. The services may include a faucet. */
export interface Opened extends Secrets {
  readonly services: Context.Context<Ledger | PartySigner>
}

export interface Options extends Secrets {
  readonly environment: Environment
  /** Whether the operator may set index prices: always, except that production requires the feed `push`. */
  readonly acceptsIndexPrices: boolean
  /** Whether a feed process may stream index prices: only with the feed `push`. */
  readonly acceptsIndexStream: boolean
  /** The feed's name in the settings, shown by `/readyz`; omitted by default. */
  readonly indexFeedName?: string
  /** The rate limits; the usual ones by default. */
  readonly rateLimits?: RateLimits.Options
  /** The number of the venue's own proxies in front of it; none by default. */
  readonly trustedProxies?: number
  /** Origins whose pages may call the venue from a browser; none by default. */
  readonly corsOrigins?: ReadonlyArray<string>
  /** The site of the owner's pages. */
  readonly site: SiteSetting
  /** What one address may start there and leave open; the usual limits by default. */
  readonly ofAddress?: OfAddress
  /** Whether accounts may be affiliates. */
  readonly affiliateEnabled: boolean
  /** The stream's capacity; the usual one by default. */
  readonly stream?: Partial<Room>
  readonly markets: ReadonlyArray<Bootstrap.ListedMarket>
  readonly capacity: Capacity
  readonly sequencer: Sequencer.Options
  readonly snapshotEveryRecords: number
  /** How much of a snapshot is read at once; larger sections are read into memory of their own. The usual size by default. */
  readonly snapshotReadBytes?: number
  readonly journal: Partial<SegmentJournal.Options>
  /** Where and under which identity it acts on the ledger, and how; the latter as usual by default. */
  readonly ledger: Setting
  readonly funds?: Partial<Funds.Options>
  /** The versions under which it decides and writes: this program's, except in tests of others. */
  readonly versions?: Versions
  /** How histories are written; as usual by default. */
  readonly histories?: Partial<Histories.Options>
  /** How much the feed of committed blocks keeps in memory. */
  readonly feed?: Partial<Recent.Bounds>
  /** How a follower is run, where there is a host for one; as usual by default. */
  readonly followers?: Partial<Followers.Options>
  /** How metrics become text: through Prometheus's own library, except in a simulation, which cannot wait for its promises. */
  readonly expose?: Exposition
  /** Called with every command that the writer accepts; only tests use it. */
  readonly watch?: Sequencer.Watch
  /** Called with the state that the writer has recovered: from here on a stop leaves a snapshot, or reports why not. */
  readonly recovered?: (state: Reads) => void
  /** Called during a stop, once everything through a sequence is durable and only the snapshot is left to be done. */
  readonly drained?: (sequence: number) => void
  /** Called during a stop, once the snapshot at a sequence is saved, and nothing is left that could be lost. */
  readonly saved?: (sequence: number) => void
  /** Called with the error that prevents a stop from completing, whatever becomes of the fiber that stops. */
  readonly stopFailed?: Writer.StopFailed
}

/** A venue that accepts requests. */
export class Venue extends Context.Tag("venue/Venue")<Venue, {
  readonly address: string
  readonly port: number
  /** Completes only when the venue has stopped for good, with the reason. The process must then end. */
  readonly failure: Effect.Effect<Sequencer.Failure>
  readonly recovered: { readonly fromSequence: number; readonly records: number }
  /** The engine's present state, including records that are not durable yet: for observers within the process. */
  readonly reads: Reads
  /** The committed blocks, also for observers. */
  readonly feed: Feed.Feed["Type"]
  readonly histories: Histories.Histories["Type"]
  /** The followers of the writer, one at a time; undefined where none is run. */
  readonly followers: Pick<Followers.Followers, "standing"> | undefined
}>() {}

/** How long a stop waits for the latest key uses to be journaled. */
const lastUsesWait = "250 millis"

/**
 * Journals the latest key uses when a stop begins, for a limited time: waiting for a disk that does not answer is the writer's task, which
 * reports it. The recorded uses may lag by a minute anyway.
 */
const noteLastUses = (
  { flush }: Context.Tag.Service<typeof KeyUses.KeyUses>,
  { failure, trouble }: Context.Tag.Service<typeof Writer.Writer>
): Effect.Effect<void> =>
  trouble() === undefined
    ? Effect.asVoid(Effect.raceAll([flush, failure, Effect.sleep(lastUsesWait)].map((each) => Effect.interruptible(each))))
    : Effect.void

export type StartError =
  | RecoveryError
  | Locked
  | ListenError
  | Bootstrap.WrongEnvironment
  | Bootstrap.MarketsFileInvalid

type Leaves =
  | Disk
  | Listener
  | Turns
  | SecureRandom
  | PasskeyVerifier
  | WorkloadIdentity
  | IndexFeed
  | Ledger
  | PartySigner
  | HistoriesDatabase

/** Answers requests while there is nothing to read yet: an edge over an empty engine that is never ready. */
const startingApplication = (
  settings: Layer.Layer<Edge.Settings>,
  readiness: Context.Tag.Service<typeof Readiness.Readiness>,
  metrics: Context.Tag.Service<typeof Metrics.Metrics>
): Effect.Effect<Edge.Streaming, never, SecureRandom | PasskeyVerifier | WorkloadIdentity | Turns> => {
  const empty = Engine.make({ orders: 1, idempotencyKeys: 1 })
  const nowhere = { submit: () => {} }
  return Edge.makeApplication.pipe(
    Effect.provide(settings),
    Effect.provideServiceEffect(Funds.Funds, Effect.map(SecureRandom, Funds.none)),
    Effect.provideService(Histories.Histories, Histories.none),
    Effect.provideService(EngineReads, empty),
    Effect.provideService(Submit, nowhere),
    Effect.provideService(KeyUses.KeyUses, KeyUses.make(empty, nowhere)),
    Effect.provideService(Barrier, { whenDurable: (_sequence, callback) => callback(), durableSequence: () => 0 }),
    Effect.provideService(Live.Live, Live.none),
    Effect.provideService(Feed.Feed, Feed.none),
    Effect.provideService(Metrics.Metrics, metrics),
    Effect.provide(IndexWatch.layer),
    Effect.provideService(Readiness.Readiness, readiness)
  )
}

/** Journal, snapshots and writer over the disk. `opening` runs once the journal is accepted for this venue to continue. */
const writerLayer = <E>(options: Options, stages: Stages.Stages, opening: Effect.Effect<void, E>) =>
  Writer.layer({
    stages,
    capacity: options.capacity,
    sequencer: options.sequencer,
    snapshotEveryRecords: options.snapshotEveryRecords,
    ...(options.versions === undefined ? undefined : { versions: options.versions }),
    ...(options.feed === undefined ? undefined : { feed: options.feed }),
    ...(options.followers === undefined ? undefined : { followers: options.followers }),
    ...(options.watch === undefined ? undefined : { watch: options.watch }),
    ...(options.recovered === undefined ? undefined : { recovered: options.recovered }),
    ...(options.drained === undefined ? undefined : { drained: options.drained }),
    ...(options.saved === undefined ? undefined : { saved: options.saved }),
    ...(options.stopFailed === undefined ? undefined : { stopFailed: options.stopFailed })
  }, (state) =>
    Bootstrap.ofEnvironment(state, options.environment).pipe(
      Effect.zipRight(Bootstrap.ofAssets(state, options.markets)),
      Effect.zipRight(opening)
    )).pipe(
      Layer.provideMerge(SegmentJournal.layerUnsettled(options.journal)),
      Layer.provideMerge(SnapshotStore.layerInto(Snapshot.memoryFor(options.capacity), options.snapshotReadBytes))
    )

/** The writer, and what was opened for it, which is closed after it. */
const write = <E>(options: Options, stages: Stages.Stages, opening: Effect.Effect<Opened, E, Scope.Scope>) =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const whileOpen = yield* Scope.fork(scope, ExecutionStrategy.sequential)
    const opened = yield* Deferred.make<Opened>()
    const opens = Effect.asVoid(Effect.flatMap(Scope.extend(opening, whileOpen), (all) => Deferred.succeed(opened, all)))
    const writing = yield* Layer.buildWithScope(writerLayer(options, stages, opens), scope)
    return { writing, ...yield* Deferred.await(opened) }
  })

/** Registers the event loop's delay for `/metrics`, where it is measured. */
const registerEventLoop = (metrics: Context.Tag.Service<typeof Metrics.Metrics>, measured: Measured | undefined): void => {
  if (measured === undefined) return
  metrics.gauges(
    "venue_event_loop_delay_seconds",
    "How late the event loop came to what was due, over the last ten seconds; the quantile 1 is the worst.",
    ["quantile"],
    () => measured.delays().map(({ quantile, seconds }) => ({ labels: { quantile: String(quantile) }, value: seconds }))
  )
}

/** Registers the metrics of the venue's parts, beside those that the edge counts itself. */
const register = (
  metrics: Context.Tag.Service<typeof Metrics.Metrics>,
  writer: Context.Tag.Service<typeof Writer.Writer>,
  reads: Reads,
  { connections, unread }: Pick<Serving, "connections" | "unread">,
  eventLoop: Measured | undefined
): void => {
  registerEventLoop(metrics, eventLoop)
  registerMarkets(metrics, reads, writer.activity)
  registerSnapshots(metrics, writer.isSnapshotUnsaved)
  if (connections !== undefined) {
    metrics.gauge("venue_open_sockets", "Connections that are open.", () => connections().open)
    metrics.counter("venue_connections_accepted_total", "Connections that were opened.", () => connections().accepted)
    metrics.counter(
      "venue_connections_closed_for_room_total",
      "Quiet connections that were closed for newcomers.",
      () => connections().closedForRoom
    )
    metrics.counter("venue_connections_turned_away_total", "Newcomers for whom there was no room.", () => connections().turnedAway)
  }
  if (unread !== undefined) {
    metrics.gauge("venue_unread_answers_bytes", "Bytes of answers that clients have not taken, or that wait for the disk.", () =>
      unread().bytes)
    metrics.counter("venue_connections_closed_for_unread_total", "Connections that were closed for answers that were not taken.", () =>
      unread().closed)
  }
  metrics.gauge("venue_inbox_depth", "Commands waiting for the writer.", writer.inboxDepth)
  metrics.gauge("venue_inbox_capacity", "Commands that may wait for the writer.", () => writer.inboxCapacity)
  metrics.gauge("venue_blocks_in_flight", "Blocks written and not yet durable.", writer.blocksInFlight)
}

/** Registers the room of the journal: told as soon as that is open, since a start may have to wait for room. */
const registerRoom = (
  metrics: Context.Tag.Service<typeof Metrics.Metrics>,
  writer: Context.Tag.Service<typeof Writer.Writer>
): void => {
  metrics.gauge(
    "venue_journal_free_bytes",
    "What the journal can still take without the disk giving any.",
    () => writer.journalSpace().freeBytes
  )
  metrics.gauge(
    "venue_journal_full",
    "1 while the disk has no room for the journal's next segment.",
    () => writer.journalSpace().shortage === undefined ? 0 : 1
  )
}

/** The ledger driver that runs beside the venue. */
const fundsOf = (
  options: Options,
  reads: Reads,
  submit: Context.Tag.Service<typeof Submit>["submit"],
  writing: Context.Context<Barrier | Journal>,
  services: Opened["services"]
): Effect.Effect<Funds.Driven, never, Scope.Scope | SecureRandom> =>
  Effect.gen(function*() {
    const parts = {
      reads,
      submit,
      barrier: Context.get(writing, Barrier),
      ledger: Context.get(services, Ledger),
      signer: Context.get(services, PartySigner),
      random: yield* SecureRandom,
      setting: options.ledger,
      venue: Stream.runHead(Context.get(writing, Journal).links(1)).pipe(
        Effect.flatten,
        Effect.mapBoth({
          onFailure: ({ message }) => new Unreachable({ whom: "venue", detail: message }),
          onSuccess: ({ digest }) => Buffer.from(digest).toString("hex")
        })
      ),
      pinning: new Pinning(),
      faucet: Option.getOrUndefined(Context.getOption(services, Faucet))
    }
    return Funds.make(parts, yield* Effect.scope, { ...Funds.defaultOptions, ...options.funds })
  })

/** Registers the metrics of an index's sources, where it has several. */
const registerSources = (
  metrics: Context.Tag.Service<typeof Metrics.Metrics>,
  { sources }: Context.Tag.Service<typeof IndexFeed>,
  reads: Reads,
  clock: Clock.Clock
): void => {
  if (sources === undefined) return
  const labels = ["market", "source"]
  const views = () =>
    sources(quoted(reads), clock.unsafeCurrentTimeMillis()).map(({ ageMs, agrees, marketId: market, refused, source }) => ({
      labels: { market, source },
      ageMs,
      agrees,
      refused
    }))
  metrics.gauges(
    "venue_index_source_age_ms",
    "How long ago a source of the index told a price; absent where it never did.",
    labels,
    () => views().flatMap(({ ageMs, labels }) => ageMs === undefined ? [] : [{ labels, value: ageMs }])
  )
  metrics.gauges(
    "venue_index_source_agrees",
    "1 for a source that makes the index, or would if there were enough; 0 where it is silent or an outlier.",
    labels,
    () => views().map(({ agrees, labels }) => ({ labels, value: agrees ? 1 : 0 }))
  )
  metrics.counters(
    "venue_index_source_refused_total",
    "A source's tickers since the start that were no price: none, zero, negative, no number, a minute old, a crossed book without a trade.",
    labels,
    () => views().map(({ labels, refused }) => ({ labels, value: refused }))
  )
}

/** Notes for `/readyz` how the venue started. */
const noteStart = (
  readiness: Context.Tag.Service<typeof Readiness.Readiness>,
  { fromSequence, records }: Context.Tag.Service<typeof Writer.Writer>["recovered"],
  { indexFeedName }: Options
): void => {
  readiness.note("recoveredFromSnapshot", fromSequence)
  readiness.note("replayedRecords", records)
  readiness.note("writer", "live")
  if (indexFeedName !== undefined) readiness.note("indexFeed", indexFeedName)
}

/** The histories, which continue from the end of their database; made elsewhere where a host is provided. */
const historiesOf = (
  options: Options,
  writing: Context.Context<Feed.Feed | Live.Live | Barrier | Journal | SnapshotStore.SnapshotStore | Writer.Writer>
): Effect.Effect<Histories.Histories["Type"], never, Scope.Scope | HistoriesDatabase> =>
  Effect.gen(function*() {
    const [database, host] = [yield* HistoriesDatabase, yield* HistoriesHost]
    const { durableSequence } = Context.get(writing, Barrier)
    const { environment } = options
    const how = { ...Histories.defaultOptions, ...options.histories }
    if (host !== undefined) {
      const { reached, run } = Context.get(writing, Writer.Writer)
      const listen = (committed: (lastSequence: number) => void): void =>
        Context.get(writing, Live.Live).listen({ decided: () => {}, committed })
      return yield* host.make({ environment, options: how, durableSequence, reached, run, listen })
    }
    const journal = Context.get(writing, Journal)
    const snapshots = Context.get(writing, SnapshotStore.SnapshotStore)
    return yield* Histories.make({
      database,
      feed: Context.get(writing, Feed.Feed),
      durableSequence,
      digestAt: (sequence) => JournalReading.digestAt(journal.links, sequence),
      stepSequence: LastStep.lastSequence(journal, snapshots),
      firstStepSequence: LastStep.firstSequence(journal, snapshots),
      environment
    }, how)
  })

/**
 * The histories, kept running through a stop: they take in what is durable before they end, and would otherwise miss what the writer
 * journals last.
 */
const historiesToTheEnd = (...[options, writing]: Parameters<typeof historiesOf>): ReturnType<typeof historiesOf> =>
  Effect.tap(historiesOf(options, writing), () => Effect.addFinalizer(() => Context.get(writing, Writer.Writer).quiet))

/** The edge's settings, from the options. */
const settingsOf = (options: Options, port: number, { operatorToken, signerSecret }: Secrets = options): Layer.Layer<Edge.Settings> =>
  Layer.succeed(Edge.Settings, {
    environment: options.environment,
    operatorToken,
    signerSecret,
    acceptsIndexPrices: options.acceptsIndexPrices,
    acceptsIndexStream: options.acceptsIndexStream,
    rateLimits: options.rateLimits ?? RateLimits.defaults,
    trustedProxies: options.trustedProxies ?? 0,
    corsOrigins: options.corsOrigins ?? [],
    site: siteAt(options.site, port),
    ...(options.ofAddress === undefined ? undefined : { ofAddress: options.ofAddress }),
    affiliateEnabled: options.affiliateEnabled,
    ...(options.stream === undefined ? undefined : { stream: options.stream })
  })

/** Logs an unfinished write that was found at the end of the journal. */
const tellTorn = ({ opened: { torn } }: Context.Tag.Service<typeof Journal>): Effect.Effect<void> =>
  torn === undefined
    ? Effect.void
    : Effect.logWarning(`cut ${torn.bytes} bytes of an unfinished write from ${torn.segment} at offset ${torn.offset}`)

/**
 * Closes all connections once the writer has stopped for good: no request can be answered any more, and they must not keep the process
 * alive.
 */
const cutting = (
  writer: Context.Tag.Service<typeof Writer.Writer>,
  readiness: Context.Tag.Service<typeof Readiness.Readiness>,
  cut: () => void
) =>
  Effect.forkScoped(Effect.flatMap(writer.failure, (failure) =>
    Effect.sync(() => {
      readiness.note("writer", failure._tag === "FollowerDiffers" ? `stopped: ${failure.reason}` : "stopped")
      cut()
    })))

/** What prevents the venue from being ready, once it has started. */
const unavailableBy = (
  { trouble }: Context.Tag.Service<typeof Writer.Writer>,
  times: Parameters<typeof ClockWatch.clockTrouble>[0]
): Readiness.Unavailable | undefined => {
  const reason = trouble()
  if (reason !== undefined) return { dependency: "journal", reason }
  const behind = ClockWatch.clockTrouble(times)
  return behind === undefined ? undefined : { dependency: "clock", reason: behind }
}

/** Hands each request to the application that is there at the moment. */
const gateTo = (present: () => Edge.Streaming): Application => ({
  handle: (request, reply) => present().handle(request, reply),
  open: (request) => present().open(request),
  misframed: (reason, target, sender) => present().misframed(reason, target, sender)
})

/** The way to the writer for all that goes on without an answer: a defect in one is logged. */
const guardedOf = (submit: Context.Tag.Service<Submit>): Effect.Effect<Context.Tag.Service<Submit>> =>
  Effect.map(Effect.runtime<never>(), (runtime) =>
    guarded(submit, (defect) => {
      Runtime.runFork(runtime)(Effect.logError("what follows a decision met a defect", Cause.die(defect)))
    }))

/** The calendars of the markets file. */
const calendarsOf = ({ markets }: Options) =>
  markets.flatMap(({ calendar, parameters: { marketId } }) => calendar === undefined ? [] : [{ marketId, calendar }])

/** The watch over new connections, where those are counted. */
const connectionWatches = (
  { connections }: Pick<Serving, "connections">,
  nanos: () => number
): ReadonlyArray<() => ReadonlyArray<Notices.Notice>> => connections === undefined ? [] : [ConnectionRateWatch.make(connections, nanos)]

/** How often the log is told of settlements, clock, journal and new connections, ms; a stuck settlement is retried once a minute. */
const lookedAtEveryMs = 10_000

const make = Effect.fnUntraced(function*<E>(options: Options, opening: Effect.Effect<Opened, E, Scope.Scope>) {
  const scope = yield* Effect.scope
  // Closed before the writer, although opened before it: pending requests need a living writer for their answers.
  const listening = yield* Scope.fork(scope, ExecutionStrategy.sequential)
  const readiness = Readiness.make()
  const counts = Metrics.noCounts()
  const metricsOfStart = Metrics.make(counts, options.expose)
  let application = yield* startingApplication(settingsOf(options, 0), readiness, metricsOfStart)
  const listener = yield* Listener
  const serving = yield* Scope.extend(listener.serve(gateTo(() => application)), listening)
  const { address, cut, port } = serving

  const metrics = Metrics.make(counts, options.expose)
  const { services, writing, ...secrets } = yield* write(options, metrics.stages, opening)
  const writer = Context.get(writing, Writer.Writer)
  const state = Context.get(writing, EngineReads)
  const indexWatch = IndexWatch.make()
  const submit = indexWatch.over(yield* guardedOf(Context.get(writing, Submit)))
  const clock = yield* Effect.clock
  const times = ClockWatch.clocksOf(clock, state)
  const clockWatch = ClockWatch.make(times)
  readiness.watch(() => unavailableBy(writer, times))
  for (const each of [metricsOfStart, metrics]) registerRoom(each, writer)
  yield* tellTorn(Context.get(writing, Journal))
  const sessions = Sessions.make(calendarsOf(options), state, submit)
  yield* Bootstrap.run({
    reads: state,
    submit,
    environment: options.environment,
    markets: options.markets,
    versions: options.versions ?? versions,
    step: writer.step,
    trouble: writer.trouble,
    now: () => clock.unsafeCurrentTimeMillis()
  }).pipe(
    Effect.zipRight(sessions.journal),
    Effect.raceFirst(Effect.flatMap(writer.failure, (failure) => Effect.die(new Writer.WriterStopped(failure))))
  )

  noteStart(readiness, writer.recovered, options)
  yield* cutting(writer, readiness, cut)
  register(metrics, writer, state, serving, yield* EventLoop)
  const keyUses = KeyUses.make(state, submit)
  const { funds, loops: ledgerLoops } = yield* fundsOf(options, state, submit.submit, writing, services)
  const histories = yield* historiesToTheEnd(options, writing)
  application = yield* Edge.makeApplication.pipe(
    Effect.provide(settingsOf(options, port, secrets)),
    Effect.provideService(Histories.Histories, histories),
    Effect.provideService(Submit, submit),
    Effect.provide(writing),
    Effect.provideService(Metrics.Metrics, metrics),
    Effect.provideService(IndexWatch.IndexWatch, indexWatch),
    Effect.provideService(KeyUses.KeyUses, keyUses),
    Effect.provideService(Funds.Funds, funds),
    Effect.provideService(Readiness.Readiness, readiness)
  )
  const feed = yield* IndexFeed
  registerSources(metrics, feed, state, clock)
  ClockWatch.register(metrics, clockWatch)
  // A feed that has come to an end is silent, and is not begun again.
  const fed = Effect.zipRight(drive(feed, state, submit, indexWatch.refuse), Effect.never)
  yield* Effect.forkScoped(Effect.forever(unattended("the index feed", fed)))
  yield* Effect.forkScoped(sessions.drive)
  const journalWatch = JournalWatch.make(writer, { nanos: Stages.nanosOf(clock), pauseMs: lookedAtEveryMs })
  const looks = [SettlementWatch.make(state), clockWatch.look, journalWatch, ...connectionWatches(serving, Stages.nanosOf(clock))]
  yield* Effect.forkScoped(Notices.drive(looks, lookedAtEveryMs))
  yield* Effect.forkScoped(ExhaustionWatch.drive(state, writer.activity))
  yield* Effect.forEach(ledgerLoops, (loop) => Effect.forkScoped(loop), { discard: true })
  // Runs before the writer ends, and after the last request that could use a key.
  yield* Effect.addFinalizer(() => noteLastUses(keyUses, writer))
  yield* Effect.forkScoped(keyUses.drive)
  const { durableSequence, failure, followers, recovered } = writer
  if (followers !== undefined) {
    registerFollower(metrics, readiness, () => followers.standing, durableSequence)
    yield* followers.start
  }
  readiness.set("ready")
  yield* Effect.addFinalizer(() => Effect.zipRight(Effect.sync(() => readiness.set("stopping")), Scope.close(listening, Exit.void)))
  return Venue.of({ address, port, failure, recovered, reads: state, feed: Context.get(writing, Feed.Feed), histories, followers })
})

/** A venue over leaves that are already open. */
export const layer = (options: Options): Layer.Layer<Venue, StartError, Leaves> =>
  Layer.scoped(
    Venue,
    Effect.flatMap(Effect.context<Ledger | PartySigner>(),
      (services) => make(options, Effect.succeed({ operatorToken: options.operatorToken, signerSecret: options.signerSecret, services })))
  )

/**
 * A venue whose secrets, keys and ledger are opened only once its data directory is locked and nothing in it refuses the start, so that a
 * refused start creates none of them. Until then `options` holds random secrets that nobody knows.
 */
export const layerOpening = <E>(
  options: Options,
  opening: Effect.Effect<Opened, E, Scope.Scope>
): Layer.Layer<Venue, StartError | E, Exclude<Leaves, Ledger | PartySigner>> => Layer.scoped(Venue, make(options, opening))
