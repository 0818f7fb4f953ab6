/**
 * The HTTP edge as a whole: contract, hot routes and handlers over the engine's reads and the sequencer's
 * inbox, served by whatever listener is given.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Barrier, State, Submit } from "../sequencer/Submit.js"
import * as ApiKeys from "../identity/ApiKeys.js"
import { SecureRandom } from "../identity/SecureRandom.js"
import type { Services } from "./Call.js"
import * as Contract from "./Contract.js"
import * as Executor from "./Executor.js"
import * as Handlers from "./Handlers.js"
import * as HotRoutes from "./HotRoutes.js"
import type { Application } from "./Listener.js"
import { Metrics } from "./Metrics.js"
import { Readiness } from "./Readiness.js"
import * as Router from "./Router.js"

/** What the environment decides about the edge. */
export class Settings extends Context.Tag("venue/edge/Settings")<Settings, {
  readonly environment: "development" | "testnet" | "staging" | "production"
  /** Undefined: operator routes are hidden. */
  readonly operatorToken: string | undefined
  /** Demo keys are derived from it. */
  readonly signerSecret: string
  /** Whether an operator may publish index prices: not in production unless the feed is `push`. */
  readonly acceptsIndexPrices: boolean
}>() {}

type Needs = State | Submit | Barrier | SecureRandom | Readiness | Metrics | Settings

/** Request ids: unpredictable per process, counted within it. */
const requestIds = (random: Context.Tag.Service<SecureRandom>): () => string => {
  const prefix = `req_${Buffer.from(random.bytes(9)).toString("hex")}`
  let count = 0
  return () => `${prefix}${(count++).toString(36)}`
}

/** The application, on the clock, scheduler and logger of the fiber that makes it. */
export const makeApplication: Effect.Effect<Application, never, Needs> = Effect.gen(function*() {
  const state = yield* State
  const { submit } = yield* Submit
  const barrier = yield* Barrier
  const metrics = yield* Metrics
  const readiness = yield* Readiness
  const settings = yield* Settings
  const clock = yield* Effect.clock
  const runtime = yield* Effect.runtime<never>()
  const random = yield* SecureRandom
  const services: Services = {
    state,
    submit,
    barrier,
    metrics,
    tokens: new ApiKeys.KnownTokens(),
    now: () => clock.unsafeCurrentTimeMillis(),
    nextRequestId: requestIds(random),
    environment: settings.environment,
    operatorToken: settings.operatorToken,
    signerSecret: settings.signerSecret,
    acceptsIndexPrices: settings.acceptsIndexPrices,
    defect: (cause) => Executor.report(runtime, cause)
  }
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

  const handlers = Handlers.make(services, readiness)
  const cold = Contract.endpoints.flatMap((endpoint) => {
    const handler = Object.hasOwn(handlers, endpoint.name) ? handlers[endpoint.name as Handlers.Name] : undefined
    return handler === undefined ? [] : [[endpoint.name, Executor.serve(endpoint, handler, runtime)] as const]
  })
  return Router.make(services, readiness.state, { ...HotRoutes.routes, ...Object.fromEntries(cold) })
})
