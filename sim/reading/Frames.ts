/**
 * Frames that clients of the stream send, by its contract: what each asks for, or that it is invalid. It shares nothing with the venue's
 * decoders.
 */
import * as Bodies from "./Bodies.js"
import { timeframes } from "./Queries.js"

/** A stream as answers and heartbeats name it. */
export interface Subject {
  /** `account.orders`, `market.book:BTC-USDC-PERP`, `market.candles:BTC-USDC-PERP:1m:trade`. */
  readonly stream: string
  readonly isOfAccount: boolean
  readonly marketId: string | undefined
}

export type Frame =
  | { readonly _tag: "noJson" }
  /** A frame that is refused for its content; one without a valid id of its own is like any other such frame. */
  | { readonly _tag: "malformed"; readonly id: string | undefined }
  | { readonly _tag: "ping"; readonly id: string }
  | { readonly _tag: "auth"; readonly id: string; readonly ticket: string | undefined; readonly isToCancel: boolean }
  /** `fromSequence`: the sequence that the subscriber has; undefined where it has nothing. */
  | {
    readonly _tag: "subscribe" | "unsubscribe"
    readonly id: string
    readonly subject: Subject
    readonly fromSequence?: number | undefined
  }
  | { readonly _tag: "order"; readonly id: string }

const candles = "market.candles"
export const marketChannels = ["market.book", "market.trades", "market.ticker", "market.funding", "market.status", candles]
export const accountChannels = ["account.orders", "account.fills", "account.positions", "account.balance", "account.deposits"]

const isText = (value: unknown): boolean => typeof value === "string"
export const isId = (value: unknown): value is string => typeof value === "string" && /^[!-~]{1,64}$/.test(value)

/** Text that is not valid Unicode cannot be part of a path, and this word names all orders of a batch there. */
const isOrderId = (value: unknown): boolean => Bodies.name(value) && !/\p{Cs}/u.test(String(value)) && value !== "batch"

const op = { op: isText, id: isId }
const channel = Bodies.oneOf(...marketChannels, ...accountChannels)
const ofStream = { marketId: Bodies.name, timeframe: Bodies.oneOf(...timeframes), series: Bodies.oneOf("trade", "index") }
const order = Bodies.shape({ ...op, idempotencyKey: isText, body: () => true })
const ofOrder = Bodies.shape({ ...op, idempotencyKey: isText, body: () => true, orderId: isOrderId })

const shapes: ReadonlyMap<string, Bodies.Shape> = new Map([
  ["ping", Bodies.shape(op)],
  ["auth", Bodies.shape(op, { ticket: isText, cancelOnDisconnect: Bodies.flag })],
  ["subscribe", Bodies.shape(op, { ...ofStream, channel, stream: channel, fromSequence: Bodies.whole(0) })],
  ["unsubscribe", Bodies.shape({ ...op, channel }, ofStream)],
  ["place", order],
  ["place_batch", order],
  ["cancel_batch", order],
  ["cancel_all", order],
  ["cancel_all_after", order],
  ["amend", ofOrder],
  ["cancel", ofOrder]
])

interface Named {
  readonly channel: string
  readonly marketId?: string
  readonly timeframe?: string
  readonly series?: string
}

/** A stream's name; for candles a frame may leave out the series "trade". */
export const streamOf = ({ channel, marketId, series = "trade", timeframe }: Named): string =>
  [channel, marketId, ...(channel === candles ? [timeframe, series] : [])].filter((part) => part !== undefined).join(":")

/** The stream that a frame names; undefined where there is no such stream. */
const subjectOf = (named: Named): Subject | undefined => {
  const { channel, marketId, series, timeframe } = named
  const isOfAccount = channel.startsWith("account.")
  const isOfCandles = channel === candles
  if (isOfAccount === (marketId !== undefined) || isOfCandles !== (timeframe !== undefined)) return undefined
  return series !== undefined && !isOfCandles ? undefined : { stream: streamOf(named), isOfAccount, marketId }
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The meaning of a frame. */
export const read = (text: string): Frame => {
  const parsed = Bodies.parse(text)
  if (parsed === undefined) return isJson(text) ? { _tag: "malformed", id: undefined } : { _tag: "noJson" }
  const { value } = parsed
  const id = Bodies.isObject(value) && isId(value["id"]) ? value["id"] : undefined
  const named = Bodies.isObject(value) ? value["op"] : undefined
  const shape = typeof named === "string" ? shapes.get(named) : undefined
  if (shape === undefined || id === undefined || !Bodies.fits(value, shape)) return { _tag: "malformed", id }
  switch (named) {
    case "ping":
      return { _tag: "ping", id }
    case "auth":
      return { _tag: "auth", id, ticket: value["ticket"] as string | undefined, isToCancel: value["cancelOnDisconnect"] === true }
    case "subscribe":
    case "unsubscribe": {
      // A subscription may name the channel by either member, but not by both.
      const { channel, fromSequence, stream, ...others } = value as unknown as Named & {
        readonly stream?: string
        readonly fromSequence?: number
      }
      const name = channel ?? stream
      const isNamed = name !== undefined && (channel === undefined || stream === undefined)
      const subject = isNamed ? subjectOf({ ...others, channel: name }) : undefined
      return subject === undefined ? { _tag: "malformed", id } : { _tag: named, id, subject, fromSequence }
    }
    default:
      return { _tag: "order", id }
  }
}
