/**
 * Index prices from a feed process: `POST` and `GET /v1/operator/index-stream`, and `POST /v1/operator/index-stream/prices`.
 *
 * The listener handles complete requests and responses, so the stream consists of numbered batches on a persistent connection, not
 * of lines in an endless body: a batch has the limits, the access and the errors of every other request, and up to 16 of them may
 * be in progress on one connection.
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { describe, Refusal } from "../../domain/Refusal.js"
import { type Acknowledged, type Decided, maxSamples, type NotTaken } from "../../oracle/IndexStream.js"
import { fateOf, fates, refusalOfSample } from "../../oracle/IndexWatch.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import * as Route from "../http/Route.js"

const Session = Schema.String.pipe(Schema.pattern(/^ixs_[0-9a-f]{24}$/)).annotations({ identifier: "IndexStreamSession" })
const lastSequence = Fields.Count.annotations({ description: "The number of the last batch that was taken; 0 before the first." })

const IndexStreamPosition = Schema.Struct({
  version: Schema.Literal("index-stream/v1"),
  session: Session,
  lastSequence
}).annotations({ identifier: "IndexStreamPosition" })

const IndexPricesBody = Schema.Struct({
  session: Session,
  sequence: Schema.Int.pipe(Schema.positive()).annotations({
    description: "From 1, without gaps. A number that was taken before gets its answer again and does nothing."
  }),
  prices: Schema.Array(Schema.Struct({
    marketId: Fields.Name,
    price: Fields.DecimalInput.annotations({ description: "Rounded to the market's grid." }),
    sourceEpochMs: Schema.Int.pipe(Schema.positive()).annotations({
      description: "When the source saw it. One that lies ahead counts as now."
    })
  })).pipe(Schema.minItems(1), Schema.maxItems(maxSamples))
}).annotations({ identifier: "IndexPricesBody" })

const IndexPrices = Schema.Struct({
  version: Schema.Literal("index-prices/v1"),
  session: Session,
  sequence: Fields.Count,
  lastSequence,
  repeated: Schema.Boolean.annotations({ description: "The batch was taken before; nothing was done again." }),
  prices: Schema.Array(Schema.Struct({
    marketId: Fields.Text,
    outcome: Schema.Literal(...fates),
    code: Fields.optional(Fields.Text),
    sequence: Fields.optional(Fields.Sequence).annotations({ description: "The journal's record; absent where none was written." })
  })).annotations({
    description: "What each price came to, in the order of the batch. Empty for a repeated batch that is not the last one."
  })
}).annotations({ identifier: "IndexPrices" })

const notHere = Errors.operationNotAvailable("Index prices are not streamed here: that needs INDEX_FEED=push.")

/** Refusals of a price that are not decided in a record. */
const undecided = {
  market_unknown: Refusal.marketUnknown,
  market_delisted: Refusal.marketDelisted,
  price_invalid: Refusal.indexPriceInvalid
} as const

const priceOf = ({ marketId, outcome }: Decided): (typeof IndexPrices.Type)["prices"][number] => {
  if (typeof outcome === "string") {
    return { marketId, outcome: "refused", code: describe(undecided[outcome]).code }
  }
  const refusal = refusalOfSample(outcome)
  return {
    marketId,
    outcome: fateOf(outcome),
    ...(refusal === Refusal.none ? undefined : { code: describe(refusal).code }),
    ...(outcome.refusal === Refusal.none ? { sequence: outcome.sequence } : undefined)
  }
}

const failureOf = (notTaken: NotTaken, sequence: number): Errors.Failure => {
  switch (notTaken.reason) {
    case "session_ended":
      return Errors.indexSessionEnded
    case "gap":
      return { ...Errors.indexSequenceGap, comparison: { actual: String(sequence), nearest: String(notTaken.expected) } }
    case "too_much":
      return Errors.indexStreamTooFast
  }
}

export const openIndexStream = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("openIndexStream", "/v1/operator/index-stream")
    .addSuccess(IndexStreamPosition)
    .addError(Failures.native(Failures.operator, "Unavailable"))
    .annotate(OpenApi.Summary, "Open a session of the index stream, which ends the one before")
    .annotate(OpenApi.Description, "For one feed process, where INDEX_FEED is `push`. Not journaled; a lost answer is opened again. "
      + "A session ends with the venue's process: after a restart the next batch gets 409, and a new session is opened."),
  example: { target: "/v1/operator/index-stream" },
  handler: ({ indexStream }) => () =>
    indexStream === undefined
      ? fail(notHere)
      : Effect.sync(() => ({ version: "index-stream/v1" as const, ...indexStream.open() }))
})

export const getIndexStream = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.get("getIndexStream", "/v1/operator/index-stream")
    .addSuccess(IndexStreamPosition)
    .addError(Failures.native(Failures.operator, "Unavailable", "IndexStreams"))
    .annotate(OpenApi.Summary, "Where the index stream stands: its session and the last batch that was taken"),
  example: { target: "/v1/operator/index-stream" },
  handler: ({ indexStream }) => () => {
    if (indexStream === undefined) return fail(notHere)
    const { position } = indexStream
    return position === undefined ? fail(Errors.indexSessionEnded) : Effect.succeed({ version: "index-stream/v1" as const, ...position })
  }
})

export const streamIndexPrices = Route.effect({
  tag: "operator",
  access: "operator",
  budget: "operator",
  endpoint: HttpApiEndpoint.post("streamIndexPrices", "/v1/operator/index-stream/prices")
    .setPayload(IndexPricesBody)
    .addSuccess(IndexPrices)
    .addError(Failures.native(Failures.operatorWithBody, "Unavailable", "IndexStreams"))
    .annotate(OpenApi.Summary, "Send a numbered batch of index prices")
    .annotate(OpenApi.Description,
      `At most ${maxSamples} prices. Answered once all of them are decided and durable. 409 \`index_stream_conflict\`: `
        + "the session has ended, or a number was left out and `nearest` is the one that is expected. 429: more than 1,000 prices a "
        + "second, or too many are undecided. Neither took anything. An overloaded venue refuses single prices (`code` `overloaded`): "
        + "the next ones take their place."),
  example: {
    target: "/v1/operator/index-stream/prices",
    body: {
      session: "ixs_0123456789abcdef01234567",
      sequence: 1,
      prices: [{ marketId: Example.marketId, price: "60000.0", sourceEpochMs: 1_767_225_600_000 }]
    }
  },
  handler: ({ indexStream }) => ({ payload: { prices, sequence, session } }) => {
    if (indexStream === undefined) return fail(notHere)
    const told = prices.map(({ marketId, price, sourceEpochMs }) => ({ marketId, price: Number(price), sourceEpochMs }))
    return Effect.async<typeof IndexPrices.Type, Errors.Failure>((resume) => {
      const acknowledge = ({ decided, ...position }: Acknowledged): void =>
        resume(Effect.sync(() => ({ version: "index-prices/v1", sequence, ...position, prices: decided.map(priceOf) })))
      const notTaken = indexStream.offer(session, sequence, told, acknowledge)
      if (notTaken !== undefined) resume(fail(failureOf(notTaken, sequence)))
    })
  }
})
