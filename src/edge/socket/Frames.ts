/** The frames that a client may send on the stream, as schemas: what is decoded here is what the reference shows. */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { seriesNames } from "../../readmodel/Candles.js"
import { timeframes } from "../../readmodel/Timeframes.js"
import { candleChannel, type Channel, channels } from "../../streams/Channels.js"
import * as Errors from "../http/Errors.js"
import { decode } from "../http/Executor.js"
import * as Fields from "../http/Fields.js"

const longestId = 64
const idPattern = /^[\x21-\x7e]*$/

/** The client's own id of a frame, which the answer repeats. */
const Id = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(longestId), Schema.pattern(idPattern)).annotations({
  description: "1 to 64 visible ASCII characters; the answer repeats it."
})

const Auth = Schema.Struct({
  op: Schema.Literal("auth"),
  id: Id,
  ticket: Fields.optional(Schema.String).annotations({
    description: "43 characters of `[A-Za-z0-9_-]`. Another text, or none, is `realtime_ticket_rejected`."
  }),
  cancelOnDisconnect: Fields.optional(Schema.Boolean).annotations({
    description: "Whether what is placed over this connection from `auth_ok` on is cancelled when it ends: `false` when absent."
  })
})

const Timeframe = Schema.Literal(...timeframes)
const Series = Schema.Literal(...seriesNames, "mark")

const ChannelName = Schema.Literal(...channels)

const streamMembers = {
  id: Id,
  marketId: Fields.optional(Fields.Name).annotations({ description: "On market channels, and on no other." }),
  timeframe: Fields.optional(Timeframe).annotations({ description: "Of candles, and of nothing else." }),
  series: Fields.optional(Series).annotations({
    description: "Of candles, and of nothing else: `trade` when absent. `mark` is not served: `operation_not_available`."
  })
}

const Subscribe = Schema.Struct({
  op: Schema.Literal("subscribe"),
  ...streamMembers,
  channel: Fields.optional(ChannelName).annotations({ description: "This or `stream`, and not both." }),
  stream: Fields.optional(ChannelName).annotations({
    description: "The channel as `resync` names it: `resync` of a REST snapshot, with its `marketId`, asks for what follows."
  }),
  fromSequence: Fields.optional(Fields.Sequence).annotations({
    description: "The last sequence that the client has of this stream: what came behind it follows. Absent: a snapshot follows."
  })
})

const Unsubscribe = Schema.Struct({ op: Schema.Literal("unsubscribe"), ...streamMembers, channel: ChannelName })

const Ping = Schema.Struct({ op: Schema.Literal("ping"), id: Id })

const keyed = { id: Id, idempotencyKey: Schema.String, body: Schema.Unknown }
/** It becomes part of a path, which only well-formed text can, and which names something else where it is this one. */
const isOrderId = (value: string): boolean => Fields.isWellFormed(value) && value !== "batch"
const OrderId = Fields.Name.pipe(Schema.filter(isOrderId, { jsonSchema: {} }))
const ofOrder = { ...keyed, orderId: OrderId }

const Place = Schema.Struct({ op: Schema.Literal("place"), ...keyed })
const PlaceBatch = Schema.Struct({ op: Schema.Literal("place_batch"), ...keyed })
const Amend = Schema.Struct({ op: Schema.Literal("amend"), ...ofOrder })
const Cancel = Schema.Struct({ op: Schema.Literal("cancel"), ...ofOrder })
const CancelBatch = Schema.Struct({ op: Schema.Literal("cancel_batch"), ...keyed })
const CancelAll = Schema.Struct({ op: Schema.Literal("cancel_all"), ...keyed })
const CancelAllAfter = Schema.Struct({ op: Schema.Literal("cancel_all_after"), ...keyed })

/** Frames by what they ask. */
const byOp = {
  auth: Auth,
  subscribe: Subscribe,
  unsubscribe: Unsubscribe,
  ping: Ping,
  place: Place,
  place_batch: PlaceBatch,
  amend: Amend,
  cancel: Cancel,
  cancel_batch: CancelBatch,
  cancel_all: CancelAll,
  cancel_all_after: CancelAllAfter
} as const

export type Op = keyof typeof byOp
/** The series of candles that there are. */
interface OfSeries {
  readonly series?: (typeof seriesNames)[number] | undefined
}
/** A `subscribe` with its channel, under whichever name the client gave it. */
export type Subscribing = Omit<typeof Subscribe.Type, "channel" | "stream" | "series"> & OfSeries & { readonly channel: Channel }
type Unsubscribing = Omit<typeof Unsubscribe.Type, "series"> & OfSeries
type Others = Exclude<Op, "subscribe" | "unsubscribe">
export type ClientFrame = { readonly [K in Others]: (typeof byOp)[K]["Type"] }[Others] | Subscribing | Unsubscribing

const ops = Object.keys(byOp) as ReadonlyArray<Op>

/** Frames about orders, which do what their routes do. */
export type OrderFrame = Extract<ClientFrame, { readonly idempotencyKey: string }>

export const isOrderFrame = (frame: ClientFrame): frame is OrderFrame => "idempotencyKey" in frame

/** The REST request that is equivalent to an order frame. */
export const targetOf = (frame: OrderFrame, accountId: string): string => {
  switch (frame.op) {
    case "place":
      return "/v1/orders"
    case "place_batch":
      return "/v1/orders/batch"
    case "amend":
      return `/v1/orders/${encodeURIComponent(frame.orderId)}/amend`
    case "cancel":
      return `/v1/orders/${encodeURIComponent(frame.orderId)}/cancel`
    case "cancel_batch":
      return "/v1/orders/batch/cancel"
    case "cancel_all":
      return "/v1/orders/cancel-all"
    case "cancel_all_after":
      return `/v1/accounts/${accountId}/orders/cancel-all-after`
  }
}

/**
 * The id that a refusal of a frame repeats, so that the client knows which frame was refused: also a number, or a short text that is no
 * valid id.
 */
export const idOf = (value: unknown): string | number | undefined => {
  const id = typeof value === "object" && value !== null && "id" in value ? value.id : undefined
  // A number that is too large for JSON to repeat it would be told as null.
  if (typeof id === "number") return Number.isFinite(id) ? id : undefined
  return typeof id === "string" && isWithin(id, longestId) ? id : undefined
}

const idWrong = Errors.invalidRequest(`id: is a string of 1 to ${longestId} visible ASCII characters.`)
const opUnknown = Errors.invalidRequest(`op: is one of ${ops.join(", ")}.`)
const noChannel = Errors.invalidRequest("channel, stream: one of them is needed.")
const twoChannels = Errors.invalidRequest("channel, stream: are two names of the same, and one of them is given.")
const noObject = Errors.invalidRequest("A frame is one JSON object.")

const isText = (value: unknown): value is string => typeof value === "string"
const isWithin = (value: string, longest: number): boolean => value.length >= 1 && value.length <= longest

/** Whether a member is valid by the schemas of order frames. */
const isGoodMember = (name: string, value: unknown): boolean => {
  switch (name) {
    case "op":
    case "idempotencyKey":
      return isText(value)
    case "id":
      return isText(value) && isWithin(value, longestId) && idPattern.test(value)
    case "orderId":
      return isText(value) && isWithin(value, Fields.maxNameLength) && isOrderId(value)
    default:
      return name === "body"
  }
}

/** The number of members in each order frame. */
const sizes: Partial<Readonly<Record<Op, number>>> = {
  place: Object.keys(Place.fields).length,
  place_batch: Object.keys(PlaceBatch.fields).length,
  amend: Object.keys(Amend.fields).length,
  cancel: Object.keys(Cancel.fields).length,
  cancel_batch: Object.keys(CancelBatch.fields).length,
  cancel_all: Object.keys(CancelAll.fields).length,
  cancel_all_after: Object.keys(CancelAllAfter.fields).length
}

/**
 * Validates an order frame by its schema without saying what is wrong, since these frames are the most frequent. Tests compare it
 * with the schemas.
 */
const isGoodOrder = (op: Op, value: object): boolean => {
  const size = sizes[op]
  let members = 0
  for (const name in value) {
    if (name === "orderId" && op !== "amend" && op !== "cancel") return false
    if (!isGoodMember(name, (value as Readonly<Record<string, unknown>>)[name])) return false
    members++
  }
  return members === size
}

/** Resolves the channel of a `subscribe` to the name that answers use. */
const meant = ({ channel, stream, ...others }: typeof Subscribe.Type): Either.Either<Subscribing, Errors.Failure> => {
  if (channel !== undefined && stream !== undefined) return Either.left(twoChannels)
  const named = channel ?? stream
  return named === undefined ? Either.left(noChannel) : served({ ...others, channel: named })
}

/** The frame, unless it names the candles that REST does not serve either. */
const served = <A extends { readonly channel: Channel; readonly series?: unknown }>(
  frame: A
): Either.Either<Omit<A, "series"> & OfSeries, Errors.Failure> =>
  frame.channel === candleChannel && frame.series === "mark"
    ? Either.left(Errors.markCandles)
    : Either.right(frame as Omit<A, "series"> & OfSeries)

/** A frame of a client, or what is wrong with it. */
export const read = (value: unknown): Either.Either<ClientFrame, Errors.Failure> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return Either.left(noObject)
  const op = "op" in value ? value.op : undefined
  if (typeof op !== "string" || !Object.hasOwn(byOp, op)) return Either.left(opUnknown)
  if (isGoodOrder(op as Op, value)) return Either.right(value as ClientFrame)
  if ("id" in value && !Schema.is(Id)(value.id)) return Either.left(idWrong)
  const schema = byOp[op as Op] as unknown as Schema.Schema<unknown, unknown>
  const read = decode(schema, value, "member") as Either.Either<(typeof byOp)[Op]["Type"], Errors.Failure>
  return Either.flatMap(read, (frame): Either.Either<ClientFrame, Errors.Failure> => {
    if (frame.op === "subscribe") return meant(frame)
    return frame.op === "unsubscribe" ? served(frame) : Either.right(frame)
  })
}
