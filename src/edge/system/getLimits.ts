/** `GET /v1/limits`: the limits that a client has to know, taken from where they are enforced. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Ids from "../../domain/Ids.js"
import * as Retention from "../../domain/Retention.js"
import { maxCancelEntries } from "../../operations/orders/CancelOrders.js"
import { maxPlaceEntries } from "../../operations/orders/PlaceOrders.js"
import { json } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { bodyLimit } from "../http/Requests.js"
import * as Route from "../http/Route.js"
import { maxDepth } from "../markets/getBook.js"
import { maxTimeoutMs, minTimeoutMs } from "../orders/setCancelAllAfter.js"

const Duration = Schema.Int.pipe(Schema.positive())
const Most = Schema.Int.pipe(Schema.positive())

const told = <A, I>(schema: Schema.Schema<A, I>, description: string) => schema.annotations({ description })

export const Limits = Schema.Struct({
  version: Schema.Literal("external-limits/v1"),
  idempotencyRetentionMs: told(Duration, "How long what is decided now is remembered: an Idempotency-Key until so long after its "
    + "decision and after the end of every order that it made, a fence so long. What was decided under another retention keeps that one."),
  idempotencyRetentionSinceEpochMs: told(Fields.EpochMs, "Since when decisions have this retention; 0: since the venue opened."),
  minIdempotencyRetentionMs: told(Duration, "The shortest that an operator may set."),
  maxIdempotencyRetentionMs: told(Duration, "The longest that an operator may set."),
  endedOrderExtraMs: told(Duration, "So much longer than its retention an ended order can be read, and its clientOrderId is taken."),
  maxIdempotencyKeyLength: told(Most, "Characters of an Idempotency-Key, each visible ASCII."),
  maxClientOrderIdLength: told(Most, "Characters of a clientOrderId."),
  maxOrdersPerBatch: told(Most, "Entries of a batch of placements."),
  maxCancelsPerBatch: told(Most, "Entries of a batch of cancels."),
  maxOpenOrdersPerMarket: told(Most, "Open orders of an account in one market, good till cancelled."),
  maxAutoClosesPerMarket: told(Most, "Take-profits with their stop-losses of an account in one market, armed or brought by open orders."),
  maxOrdersMet: told(Most, "Resting orders that one request's orders trade with at most; what is left then is cancelled."),
  minCancelAllAfterMs: told(Duration, "The shortest time of a dead-man switch."),
  maxCancelAllAfterMs: told(Duration, "The longest time of a dead-man switch."),
  marginNoticeMs: told(Fields.Count, "How long before tighter margins hold they are announced at least."),
  maxRequestBytes: told(Most, "Bytes of a request's body."),
  maxPageEntries: told(Most, "Entries of a page of a native listing, but of payments of funding, of which a page has 500 at most."),
  maxCompatEntries: told(Most, "Entries of an answer of the compatibility layer."),
  maxBookLevels: told(Most, "Levels a side of a book."),
  keptFills: told(Most, "The latest fills of the whole venue, which are in memory: those behind them are read from the histories."),
  rateWindowMs: told(Duration, "How long a window of requests lasts: it begins with the first request and does not roll."),
  maxRequestsPerKey: told(Most, "Requests of an API key in a window."),
  maxCancelsBeyondPerKey: told(Fields.Count, "Cancels of an API key in a window that are let in beyond `maxRequestsPerKey`."),
  maxRequestsPerAddress: told(Most, "Requests without a credential of a remote address (of a /64 network of IPv6) in a window."),
  maxSignInsPerAddress: told(Most, "Requests of a remote address in a window to sign in, to make a passkey or to connect an agent."),
  maxKeysPerAccount: told(Most, "API keys of an account that may act at one time."),
  maxTicketFamiliesPerKey: told(Most, "Realtime tickets of an API key at one time, each with those that it is rotated to."),
  minDepositAtoms: told(Fields.Atoms, "The least amount of a deposit."),
  minWithdrawalAtoms: told(Fields.Atoms, "The least amount of a withdrawal."),
  maxOpenDeposits: told(Most, "Deposits of an account that may be under way at one time."),
  maxOpenWithdrawals: told(Most, "Withdrawals of an account that may be under way at one time."),
  journalSequence: Fields.Sequence
}).annotations({
  identifier: "Limits",
  description: "Times are milliseconds. A market's own bounds (prices, quantities, leverage, band) are in its snapshot. What the treasury "
    + "pays at most in one withdrawal, and in one day, is set at its signer, which the venue does not ask for it: a withdrawal beyond that "
    + "is rejected once it is approved, with the guard `policy_per_withdrawal` or `policy_daily`, and given back."
})
export type Limits = typeof Limits.Type

export const getLimits = Route.effect({
  tag: "markets",
  access: "public",
  budget: "public",
  endpoint: HttpApiEndpoint.get("getLimits", "/v1/limits")
    .addSuccess(Limits)
    .addError(Failures.native(Failures.publicRead))
    .annotate(OpenApi.Summary, "The bounds that a client has to know"),
  example: { target: "/v1/limits" },
  handler: ({ rateLimits, state }) => () => {
    const { limits } = state
    return json({
      version: "external-limits/v1",
      idempotencyRetentionMs: limits.retentionMs,
      idempotencyRetentionSinceEpochMs: limits.retentionSinceEpochMs,
      minIdempotencyRetentionMs: Retention.leastRetentionMs,
      maxIdempotencyRetentionMs: Retention.mostRetentionMs,
      endedOrderExtraMs: limits.endedOrderExtraMs,
      maxIdempotencyKeyLength: Ids.maxIdempotencyKeyLength,
      maxClientOrderIdLength: Ids.maxClientOrderIdLength,
      maxOrdersPerBatch: maxPlaceEntries,
      maxCancelsPerBatch: maxCancelEntries,
      maxOpenOrdersPerMarket: limits.openOrders,
      maxAutoClosesPerMarket: limits.brackets,
      maxOrdersMet: limits.ordersMet,
      minCancelAllAfterMs: minTimeoutMs,
      maxCancelAllAfterMs: maxTimeoutMs,
      marginNoticeMs: limits.noticeMs,
      maxRequestBytes: bodyLimit,
      maxPageEntries: Fields.maxPage,
      maxCompatEntries: Fields.maxCompatEntries,
      maxBookLevels: maxDepth,
      keptFills: limits.fillsKept,
      rateWindowMs: rateLimits.key.windowMs,
      maxRequestsPerKey: rateLimits.key.limit,
      maxCancelsBeyondPerKey: rateLimits.key.cancelsBeyond,
      maxRequestsPerAddress: rateLimits.public.limit,
      maxSignInsPerAddress: rateLimits.sign_in.limit,
      maxKeysPerAccount: limits.keys,
      maxTicketFamiliesPerKey: limits.ticketFamilies,
      minDepositAtoms: String(state.funds.minDepositAtoms),
      minWithdrawalAtoms: String(state.funds.minWithdrawalAtoms),
      maxOpenDeposits: limits.openDeposits,
      maxOpenWithdrawals: limits.openWithdrawals,
      journalSequence: state.sequence
    })
  }
})
