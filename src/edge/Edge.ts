/**
 * The HTTP edge as a whole: the contract's routes over the engine's reads and the sequencer's inbox, independent of the listener
 * that serves it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type { Environment } from "../domain/Environment.js"
import { assert } from "../domain/Assert.js"
import { Branches } from "../domain/Branches.js"
import * as Stages from "../domain/Stages.js"
import { EngineReads } from "../sequencer/EngineReads.js"
import { Feed } from "../sequencer/Feed.js"
import { Live } from "../sequencer/Live.js"
import { Barrier, Submit } from "../sequencer/Submit.js"
import { Turns } from "../sequencer/Turns.js"
import { pauseOf } from "../sequencer/Writer.js"
import * as ApiKeys from "../identity/ApiKeys.js"
import * as Identity from "../identity/Identity.js"
import { KeyUses } from "../identity/KeyUses.js"
import { Funds } from "../funds/Funds.js"
import { Solvency } from "../funds/solvency/Solvency.js"
import { PasskeyVerifier } from "../identity/PasskeyVerifier.js"
import * as RateLimits from "../identity/RateLimits.js"
import { SecureRandom } from "../identity/SecureRandom.js"
import { WorkloadIdentity } from "../identity/WorkloadIdentity.js"
import { Histories, type Standing } from "../readmodel/Histories.js"
import { IndexStream } from "../oracle/IndexStream.js"
import { fates, IndexWatch, senders } from "../oracle/IndexWatch.js"
import * as Contract from "./Contract.js"
import { Assets } from "./console/Assets.js"
import * as Pages from "./console/Pages.js"
import type { Services } from "./http/Call.js"
import * as Cors from "./http/Cors.js"
import * as Executor from "./http/Executor.js"
import type { Application } from "./http/Listener.js"
import { Metrics, onceTold } from "./http/Metrics.js"
import { Readiness } from "./http/Readiness.js"
import * as ForwardedWatch from "./http/ForwardedWatch.js"
import { clockBehindMs } from "./http/JournalTime.js"
import * as Router from "./http/Router.js"
import * as RuntimePolicy from "./http/RuntimePolicy.js"
import { Slices } from "./http/Slices.js"
import * as RouteTable from "./RouteTable.js"
import { type Room, usualRoom } from "./socket/Setting.js"
import { ReplayHost } from "../streams/ReplayHost.js"
import * as Sockets from "./socket/Sockets.js"
import { indexFreshness } from "./system/IndexFreshness.js"
import { registerLedger } from "./system/LedgerStanding.js"
import { settlements } from "./system/SettlementWatch.js"
import * as Made from "./system/docs/Made.js"
import { Written } from "./system/docs/Written.js"

/** What the environment decides about the edge. */
export class Settings extends Context.Tag("venue/edge/Settings")<Settings, {
  readonly environment: Environment
  /** Undefined: operator routes are hidden. */
  readonly operatorToken: string | undefined
  /** Demo keys, bots' keys and realtime tickets are derived from it. */
  readonly signerSecret: string
  /** Whether an operator may publish index prices: not in production unless the feed is `push`. */
  readonly acceptsIndexPrices: boolean
  /** Whether a feed process may stream them: only where the feed is `push`. */
  readonly acceptsIndexStream: boolean
  readonly rateLimits: RateLimits.Options
  /** The number of the venue's own proxies in front of it: 0 where clients connect directly. */
  readonly trustedProxies: number
  /** Origins whose pages may call the venue from a browser. */
  readonly corsOrigins: ReadonlyArray<string>
  /** Where the owner's pages are. */
  readonly site: Identity.Site
  /** Limits on what one address may have pending at sign-in and device authorisation; defaults for what is left out. */
  readonly ofAddress?: Identity.OfAddress
  /** Whether accounts may be affiliates; otherwise those routes are hidden. */
  readonly affiliateEnabled: boolean
  /** Capacity of the stream; defaults for what is left out. */
  readonly stream?: Partial<Room>
}>() {}

type Needs =
  | EngineReads
  | Submit
  | Barrier
  | Live
  | Feed
  | Turns
  | SecureRandom
  | Readiness
  | Metrics
  | IndexWatch
  | PasskeyVerifier
  | WorkloadIdentity
  | KeyUses
  | Funds
  | Histories
  | Settings

/** Bytes of a request id, and the number of ids for which randomness is drawn at once. */
const requestIdBytes = 12
const requestIdsDrawn = 256

/** Request ids are independent random numbers, so that two of them do not reveal how many requests came in between. */
const requestIds = (random: Context.Tag.Service<SecureRandom>): () => string => {
  let drawn = Buffer.alloc(0)
  let at = 0
  return () => {
    if (at === drawn.length) {
      drawn = Buffer.from(random.bytes(requestIdBytes * requestIdsDrawn))
      at = 0
    }
    return `req_${drawn.toString("hex", at, at += requestIdBytes)}`
  }
}

/** Logs a warning of the edge's. */
const warningOn = (runtime: Runtime.Runtime<never>) => (words: string): void => void Runtime.runCallback(runtime)(Effect.logWarning(words))

/** Creates one shared instance per maker. */
const makeShared = (state: Services["state"]): Services["shared"] => {
  const made = new Map<unknown, unknown>()
  return <A>(make: (from: Services["state"]) => A): A => {
    if (!made.has(make)) made.set(make, make(state))
    return made.get(make) as A
  }
}

/** When the process began to serve, which it tells from the first request on. */
const registerStart = ({ metrics, now }: Services): void => {
  const startedAtSeconds = Math.floor(now() / 1_000)
  metrics.gauge("venue_started_at_seconds", "When this process began to serve, in seconds of the epoch.", () => startedAtSeconds)
}

/** Gauges of the venue besides the counters of requests. */
const registerGauges = ({ barrier, metrics, now, state }: Services): void => {
  metrics.gauge(
    "venue_clock_behind_ms",
    "How far the clock lies behind the last record's time, at which it stands still until then; 0 where it does not.",
    () => clockBehindMs({ now, state })
  )
  metrics.gauge("venue_durable_sequence", "The last record that is durable.", () => barrier.durableSequence())
  metrics.gauge("venue_engine_sequence", "The last record that the engine has applied.", () => state.sequence)
  metrics.gauge("venue_halted", "1 while a global halt is on.", () => state.halted ? 1 : 0)
  metrics.gauge("venue_orders", "Orders remembered.", () => state.occupancy.orders)
  metrics.gauge("venue_orders_capacity", "Orders that can be remembered.", () => state.occupancy.orderCapacity)
  metrics.gauge("venue_open_orders", "Open orders.", () => state.occupancy.openOrders)
  metrics.gauge("venue_idempotency_entries", "Idempotency keys remembered.", () => state.occupancy.idempotencyEntries)
  metrics.gauge(
    "venue_idempotency_capacity",
    "Idempotency keys that can be remembered.",
    () => state.occupancy.idempotencyCapacity
  )
  metrics.gauge("venue_accounts", "Accounts.", () => state.occupancy.accounts)
  metrics.gauge("venue_api_keys", "API keys.", () => state.occupancy.apiKeys)
  metrics.gauge(
    "venue_accounts_under_liquidation",
    "Accounts under liquidation, without the insurance fund.",
    () => state.occupancy.underLiquidation
  )
  metrics.gauge(
    "venue_insurance_fund_equity_atoms",
    "What the insurance fund has at the marks, in 10^-6 USDC; 0 before it has received anything.",
    () => Number(state.insuranceFund(0, 0).balance?.equityAtoms ?? 0)
  )
  metrics.gauges(
    "venue_settlement_waiting",
    "1 for a delisted market with a deficit that nobody can bear: its settlement waits; 0 for one that is settled without that.",
    ["market"],
    () => settlements(state).map(({ isWaiting, marketId: market }) => ({ labels: { market }, value: isWaiting ? 1 : 0 }))
  )
}

/** Gauges of the histories; none while these cannot be read. */
const registerHistories = ({ histories, metrics }: Services): void => {
  const told = (name: string, help: string, value: (standing: Standing) => number): void =>
    metrics.gauges(name, help, [], () => {
      const standing = histories.standing()
      return standing === undefined ? [] : [{ labels: {}, value: value(standing) }]
    })
  told("venue_histories_sequence", "The last record that the histories have taken in.", ({ sequence }) => sequence)
  told("venue_histories_lag_ms", "For how long there has been a durable record that they have not taken in.", ({ lagMs }) => lagMs)
  told("venue_histories_replaying", "1 until all that the journal had at the start was taken in.", ({ isReplaying }) => isReplaying ? 1 : 0)
}

/** Gauges of the request limits. */
const registerLimits = ({ metrics, rateLimits }: Services): void => {
  const each = (read: (windows: RateLimits.Windows) => number) => () =>
    RateLimits.classes.map((name) => ({ labels: { class: name }, value: read(rateLimits[name]) }))
  metrics.counters("venue_rate_limited_total", "Requests refused for their limit, by what it is of.", ["class"],
    each(({ refused }) => refused))
  metrics.gauges("venue_rate_limit_windows", "Windows that are kept: of keys, sessions, addresses.", ["class"], each(({ kept }) => kept))
  metrics.counters(
    "venue_rate_limit_shared_total",
    "Requests that were counted in a shared window, because all windows of the class were running.",
    ["class"],
    each(({ shared }) => shared)
  )
}

/** Gauges of each listed market's index. */
const registerIndex = (services: Services): void => {
  const { indexWatch, metrics } = services
  metrics.gauges(
    "venue_index_age_ms",
    "How long ago a listed market's index was last seen by its source; absent before the first price.",
    ["market"],
    () =>
      indexFreshness(services).flatMap(({ indexAgeMs, marketId: market }) =>
        indexAgeMs === undefined ? [] : [{ labels: { market }, value: indexAgeMs }]
      )
  )
  const flag = (name: string, help: string, member: "indexStale" | "indexHeld"): void =>
    metrics.gauges(name, help, ["market"], () =>
      indexFreshness(services).map((freshness) => ({ labels: { market: freshness.marketId }, value: freshness[member] ? 1 : 0 })))
  flag("venue_index_stale", "1 while a listed market's index is no longer fresh, so that it takes only what reduces.", "indexStale")
  flag("venue_index_held", "1 while a step of a listed market's index waits for later samples to agree.", "indexHeld")
  metrics.counters(
    "venue_index_samples_total",
    "Index samples since the start, by who sent them and what they came to.",
    ["market", "sender", "outcome"],
    () =>
      indexFreshness(services).flatMap(({ market, marketId }) =>
        senders.flatMap((sender) =>
          fates.map((outcome) => ({ labels: { market: marketId, sender, outcome }, value: indexWatch.counts(market, sender)[outcome] }))
        )
      )
  )
}

/** An application with a stream. */
export type Streaming = Required<Application>

/** The process's own state for sign-in and agent authorisation. */
const identity = ({ ofAddress, signerSecret, site }: Context.Tag.Service<typeof Settings>) =>
  Effect.gen(function*() {
    return Identity.make(site, signerSecret, yield* PasskeyVerifier, yield* WorkloadIdentity, yield* SecureRandom, yield* Branches,
      ofAddress)
  })

/** The application, on the clock, scheduler and logger of the fiber that makes it. */
export const makeApplication: Effect.Effect<Streaming, never, Needs> = Effect.gen(function*() {
  const state = yield* EngineReads
  const { submit } = yield* Submit
  const barrier = yield* Barrier
  const metrics = yield* Metrics
  const [readiness, settings] = [yield* Readiness, yield* Settings]
  const indexWatch = yield* IndexWatch
  const clock = yield* Effect.clock
  const runtime = yield* Effect.runtime<never>()
  const random = yield* SecureRandom
  const now = (): number => clock.unsafeCurrentTimeMillis()
  const nextSession = (): string => `ixs_${Buffer.from(random.bytes(requestIdBytes)).toString("hex")}`
  const [funds, histories, turns] = [yield* Funds, yield* Histories, yield* Turns]
  const [slices, pause] = [new Slices(turns.schedule), pauseOf(turns)]
  const room: Room = { ...usualRoom, ...settings.stream }
  const monotonicNanos = Stages.nanosOf(clock)
  const [feed, live, elsewhere] = [yield* Feed, yield* Live, yield* ReplayHost]
  const streams = Sockets.begin({ state, barrier, feed, live, histories, elsewhere, metrics, room, runtime, now, monotonicNanos, pause })
  const services: Services = {
    state,
    submit,
    barrier,
    metrics,
    indexWatch,
    tokens: new ApiKeys.KnownTokens(),
    rateLimits: RateLimits.make(settings.rateLimits, settings.environment),
    openings: new RateLimits.Openings(settings.rateLimits, settings.environment),
    trustedProxies: settings.trustedProxies,
    knownPages: new Set([...settings.corsOrigins, settings.site.publicOrigin]),
    identity: yield* identity(settings),
    funds,
    histories,
    solvency: new Solvency({
      reads: state,
      reconcile: funds.reconcile,
      nextSlice: slices.nextOf("venue"),
      now,
      secret: settings.signerSecret,
      fork: (effect) => void Runtime.runFork(runtime)(effect)
    }),
    changes: streams.changes,
    keyUses: yield* KeyUses,
    now,
    monotonicNanos,
    nextRequestId: requestIds(random),
    slices,
    environment: settings.environment,
    operatorToken: settings.operatorToken,
    signerSecret: settings.signerSecret,
    runtimePolicy: RuntimePolicy.make({ environment: settings.environment, affiliateEnabled: settings.affiliateEnabled }),
    acceptsIndexPrices: settings.acceptsIndexPrices,
    indexStream: settings.acceptsIndexStream ? new IndexStream(state, submit, now, nextSession, indexWatch.refuse) : undefined,
    readiness,
    reference: Made.make(yield* Written),
    assets: yield* Assets,
    shared: makeShared(state),
    defect: (call, cause) => Executor.report(runtime, call, cause)
  }
  registerStart(services)
  registerLimits(services)
  // Until the journal is read the state is an empty one: its figures would say that this venue has no halt, no accounts and no records.
  const ofState: Services = { ...services, metrics: onceTold(metrics, () => readiness.state() !== "starting") }
  for (const registerEach of [registerGauges, registerHistories, registerIndex, registerLedger]) registerEach(ofState)
  const served = Contract.endpoints.map((endpoint) => {
    const route = Contract.routes.find((one) => one.endpoint.name === endpoint.name)
    assert(route !== undefined, "an endpoint comes into the contract by its route")
    return [endpoint.name, route.serve(services, endpoint, runtime)] as const
  })
  const router = Router.make(RouteTable.endpoints, services, readiness.state, { ...Pages.runs, ...Object.fromEntries(served) })
  const stream = Sockets.make({
    services,
    streams,
    room,
    handle: router.handle,
    stage: readiness.state,
    runtime,
    random
  })
  return ForwardedWatch.over(Cors.over({ ...router, ...stream }, settings.corsOrigins, services), services, warningOn(runtime))
})
