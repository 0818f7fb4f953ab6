/** The content of the stream's account channels for servers that poll: `GET /v1/accounts/{accountId}/changes`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import type { Trader } from "../../engine/Reads.js"
import { Principal } from "../../operations/Header.js"
import { scopeTrade } from "../../operations/identity/KeyGrant.js"
import { isOfOthers } from "../../sequencer/Feed.js"
import type { Page, Wait, Without } from "../../streams/Changes.js"
import { Deposit } from "../funds/TransferRecord.js"
import * as Admission from "../http/Admission.js"
import type { Call, Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import * as Example from "../http/Example.js"
import { fail, Rendered } from "../http/Executor.js"
import * as Failures from "../http/Failures.js"
import * as Fields from "../http/Fields.js"
import { pageLimit } from "../http/Listing.js"
import * as Route from "../http/Route.js"
import * as Underway from "../http/Underway.js"
import { OrderRecord } from "../orders/OrderRecord.js"
import { Balance } from "./getBalance.js"
import { AccountFill } from "./listFills.js"
import { Position } from "./listPositions.js"
import { withAccount } from "./Own.js"

const ClosedPosition = Schema.Struct({
  marketId: Fields.Text,
  closed: Schema.Literal(true).annotations({ description: "Says that the position is flat." }),
  lastSequence: Fields.Sequence
}).annotations({ identifier: "ClosedPosition" })

const event = <Channel extends string, A, I>(channel: Channel, data: Schema.Schema<A, I>) =>
  Schema.Struct({
    channel: Schema.Literal(channel),
    sequence: Fields.Sequence,
    data: Schema.Array(data).annotations({ description: "All that the record changed, whole: the `data` of the stream's update." })
  })

const Change = Schema.Union(
  event("account.orders", OrderRecord),
  event("account.fills", AccountFill),
  event("account.positions", Schema.Union(Position, ClosedPosition)),
  event("account.balance", Balance),
  event("account.deposits", Deposit)
)

const ChangeList = Schema.Struct({
  version: Schema.Literal("external-account-changes/v1"),
  accountId: Fields.Text,
  fromSequence: Fields.Sequence.annotations({ description: "As it was asked for." }),
  throughSequence: Fields.Sequence.annotations({
    description: "The last record that was looked at, whether or not it changed anything: the `fromSequence` to go on with."
  }),
  hasMore: Schema.Boolean.annotations({ description: "Whether there are later records that were not looked at: ask again at once." }),
  events: Schema.Array(Change).annotations({
    description: "Oldest first; of one record orders, fills, positions, balance, deposits. All of a record's are in one answer."
  })
}).annotations({
  identifier: "AccountChangeList",
  description: "The account channels' twin: the same payloads, of the last seven days, and of the latest 1,000,000 records however old "
    + "they are. An answer may be without events and have "
    + "more: at most 100,000 records are looked at for one."
})

/** A wait in a query: milliseconds, up to half a minute. */
const WaitText = Schema.String.pipe(Schema.pattern(/^(?:0|[1-9][0-9]{0,3}|[12][0-9]{4}|30000)$/))

const Query = Schema.Struct({
  fromSequence: Fields.SequenceText.annotations({
    description: "The last sequence that the client has, exclusive: `throughSequence` of the answer before, or `journalSequence` of a read."
  }),
  limit: Fields.limit.annotations({
    description: "Records whose events are told, 1..500; 50 when absent. Fewer where they come to over a megabyte, but never none."
  }),
  waitMs: Fields.optional(WaitText).annotations({
    description: "For how long the answer waits where nothing has changed, in milliseconds, 0..30000; 0 when absent. Four requests of an "
      + "account may wait at once; keys that only read leave one of these to who may trade. Where too many wait in all, an answer may come "
      + "early, without events, and whoever's network has most of them is refused (503, with `Retry-After`)."
  })
})

const text = (accountId: string, fromSequence: number, { hasMore, throughSequence, told }: Page): string =>
  `{"version":"external-account-changes/v1","accountId":"${accountId}","fromSequence":${fromSequence}`
  + `,"throughSequence":${throughSequence},"hasMore":${hasMore},"events":[`
  + told.map(({ channel, update: { entries, sequence } }) =>
    `{"channel":"${channel}","sequence":${sequence},"data":[${entries.map((entry) => entry.text).join(",")}]}`
  ).join(",")
  + "]}"

const withoutPage = (without: Without, fromSequence: number, head: number): Errors.Failure => {
  if (without.without === "room") return without.of === "account" ? Errors.waitsOfAccount : Errors.changesBusy
  const { oldestSequence } = without
  return Errors.sequenceNotRetained({ limit: String(oldestSequence), actual: String(fromSequence), nearest: String(head) })
}

/** A call waits until its client disconnects, its credential expires, or the venue stops. */
const waiting = (call: Call, trader: Trader, forMs: number): Wait => ({
  forMs,
  address: call.remoteAddress,
  endsAtEpochMs: trader.expiresAtEpochMs,
  mayTrade: trader.principal === Principal.session || (trader.scopes & scopeTrade) !== 0,
  isOver: () => call.services.readiness.state() !== "ready" || Admission.outBy(call) !== undefined,
  whenGone: call.request.whenGone ?? (() => () => {})
})

const changesOf = (
  { changes, state }: Services,
  account: number,
  trader: Trader,
  { fromSequence, limit, waitMs }: typeof Query.Type
): Effect.Effect<Rendered, Errors.Failure> =>
  Effect.gen(function*() {
    const call = yield* FiberRef.get(Underway.call)
    assert(call !== undefined, "a handler answers a call")
    const after = Number(fromSequence)
    if (after > state.sequence) return yield* fail(Errors.sequenceAhead({ limit: String(state.sequence), actual: fromSequence }))
    const asked = { account, after, mostRecords: pageLimit(limit) }
    const found = yield* changes.read(asked, waiting(call, trader, Number(waitMs ?? 0))).pipe(
      Effect.catchAll((error) =>
        Effect.zipRight(
          Effect.logWarning("changes of an account could not be read from the journal", error),
          isOfOthers(error)
            ? Effect.succeed<Without>({ without: "retention", oldestSequence: state.sequence })
            : fail(Errors.changesUnavailable)
        )
      )
    )
    if ("without" in found) return yield* fail(withoutPage(found, after, state.sequence))
    return new Rendered(text(state.accountId(account), after, found))
  })

export const listChanges = Route.effect({
  tag: "accounts",
  access: "read",
  budget: "key",
  endpoint: HttpApiEndpoint.get("listChanges", "/v1/accounts/:accountId/changes")
    .setPath(Fields.AccountPath)
    .setUrlParams(Query)
    .addSuccess(ChangeList)
    .addError(Failures.native(Failures.keyedRead, 404))
    .annotate(OpenApi.Summary, "What has changed of the account behind a sequence, waiting for it where asked to"),
  example: { target: `/v1/accounts/${Example.accountId}/changes?fromSequence=1&waitMs=20000` },
  handler: (services) => ({ trader, path: { accountId }, urlParams }) =>
    withAccount(services.state, trader, accountId, (account) => changesOf(services, account, trader, urlParams))
})
