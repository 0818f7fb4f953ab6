/** Whether the process is up, and whether it takes requests: `GET /healthz` and `GET /readyz`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Market from "../../domain/Market.js"
import { Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"
import { MarketSession } from "../markets/Snapshot.js"
import { type IndexFreshness, indexFreshness } from "./IndexFreshness.js"
import { ledgerDetails } from "./LedgerStanding.js"

const Health = Schema.Struct({ version: Schema.Literal("health/v1"), status: Schema.Literal("up") }).annotations({
  identifier: "Health"
})

const readiness = {
  version: Schema.Literal("readiness/v1"),
  durableSequence: Fields.Sequence,
  details: Schema.Record({ key: Schema.String, value: Schema.Union(Schema.String, Schema.Number, Schema.Boolean) }),
  markets: Schema.Array(Schema.Struct({
    marketId: Fields.Text,
    status: Schema.Literal(...Market.statuses),
    session: Fields.optional(MarketSession).annotations({ description: "Its trading session; absent where it is always open." }),
    indexAgeMs: Fields.optional(Fields.Count).annotations({
      description: "How long ago the index was last seen by its source; absent before the first price of its underlying."
    }),
    indexStale: Schema.Boolean.annotations({
      description: "The index is no longer fresh: an open market takes only what reduces, until its feed is back. So it is told while "
        + "the clock lies far behind the journal, which takes no sample then. False while its session is closed, in which no feed is "
        + "expected."
    }),
    indexHeld: Schema.Boolean.annotations({
      description: "A step of the index waits for later samples to agree, as `held` in the market's stats."
    })
  })).annotations({ description: "Every listed market. A stale one does not make the venue unready: the others trade." })
}

export const Ready = Schema.Struct({ ...readiness, status: Schema.Literal("ready") }).annotations({ identifier: "Ready" })

/**
 * `unavailable`: requests are taken, but placements fail, wait, or are decided at prices that are frozen because the clock is
 * behind.
 */
export const NotReady = Schema.Struct({
  ...readiness,
  status: Schema.Literal("starting", "stopping", "unavailable"),
  dependency: Fields.optional(Schema.Literal("journal", "clock")),
  reason: Fields.optional(Schema.String)
}).annotations({
  identifier: "NotReady",
  ...HttpApiSchema.annotations({ status: 503 })
})

/** The greatest age of an index among the markets that trade, milliseconds; -1 where none has a price. */
const oldestIndexAgeMs = (markets: ReadonlyArray<IndexFreshness>): number => {
  const trading = markets.filter(({ session, status }) => status === "open" && session?.state !== "closed")
  return Math.max(-1, ...trading.flatMap(({ indexAgeMs }) => indexAgeMs === undefined ? [] : [indexAgeMs]))
}

export const getHealth = Route.effect({
  tag: "system",
  access: "system",
  budget: "none",
  endpoint: HttpApiEndpoint.get("getHealth", "/healthz")
    .addSuccess(Health)
    .addError(Failures.native(Failures.system))
    .annotate(OpenApi.Summary, "Whether the process is up"),
  example: { target: "/healthz" },
  handler: () => () => Effect.succeed({ version: "health/v1" as const, status: "up" as const })
})

export const getReadiness = Route.effect({
  tag: "system",
  access: "system",
  budget: "none",
  endpoint: HttpApiEndpoint.get("getReadiness", "/readyz")
    .addSuccess(Ready)
    .addSuccess(NotReady)
    .addError(Failures.native(Failures.system))
    .annotate(OpenApi.Summary, "Whether recovery is done and the writer is live")
    .annotate(OpenApi.Description,
      "A halt of the engine leaves the venue ready, since reads go on: `details.engineHalted` is true while one "
        + "is on, and absent otherwise."),
  example: { target: "/readyz" },
  handler: (services) => () => {
    const { barrier, readiness, state } = services
    const stage = readiness.state()
    const unavailable = readiness.unavailable()
    const markets = indexFreshness(services)
    const payload = {
      version: "readiness/v1" as const,
      status: stage === "ready" && unavailable !== undefined ? "unavailable" as const : stage,
      durableSequence: barrier.durableSequence(),
      details: {
        ...readiness.details(),
        // Before the journal is read nothing is known of a halt, of withdrawals, transfers and books.
        ...(stage === "starting" ? undefined : { ...(state.halted ? { engineHalted: true } : undefined), ...ledgerDetails(services) }),
        oldestIndexAgeMs: oldestIndexAgeMs(markets),
        staleMarkets: markets.filter(({ indexStale }) => indexStale).length
      },
      markets: markets.map(({ indexAgeMs, indexHeld, indexStale, marketId, session, status }) => ({
        marketId,
        status,
        ...(session === undefined ? undefined : { session }),
        ...(indexAgeMs === undefined ? undefined : { indexAgeMs }),
        indexStale,
        indexHeld
      })),
      ...unavailable
    }
    return Effect.succeed(new Rendered(JSON.stringify(payload), payload.status === "ready" ? 200 : 503))
  }
})
