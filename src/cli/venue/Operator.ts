/**
 * The operator's side of the contract: one request at a time, decoded with the contract's own schemas. A
 * request that got no answer is sent again under its key, so that what it asks for happens once.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpMethod from "@effect/platform/HttpMethod"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { envelopeOf } from "../../client/venue/Refusal.js"
import { assert } from "../../domain/Assert.js"
import { maxDemoAccounts } from "../../operations/accounts/OpenDemoAccounts.js"
import * as Envelopes from "../../edge/http/Envelopes.js"
import { PublishedSolvency } from "../../edge/funds/solvency.js"
import { OperatorCancel, type OperatorCancelBody } from "../../edge/operator/cancelByOperator.js"
import { DemoCredit } from "../../edge/operator/creditAccount.js"
import { DemoAccounts } from "../../edge/operator/openDemoAccounts.js"
import { routes } from "../../edge/operator/Operator.js"
import { OperatorResult } from "../../edge/operator/OperatorResult.js"
import { Reconciliation } from "../../edge/operator/reconcile.js"
import { OperatorKeyRevoked } from "../../edge/operator/revokeKeyByOperator.js"
import { AccountFlags } from "../../edge/operator/setAccountFlags.js"
import { OperatorMarkets } from "../../edge/operator/listOperatorMarkets.js"
import type { PutMarketBody } from "../../edge/operator/MarketBody.js"
import { MarketPreview } from "../../edge/operator/previewMarket.js"
import { Limits } from "../../edge/system/getLimits.js"
import { NotReady, Ready } from "../../edge/system/getReadiness.js"

/** A venue, and what opens its operator routes. */
export interface Target {
  /** Without a slash at the end. */
  readonly url: string
  readonly token: string
  /** How often a request without an answer is sent again. */
  readonly retries: number
}

/** The venue decided against it. */
class Refused extends Data.TaggedError("Refused")<{
  readonly status: number
  readonly code: string
  readonly text: string
}> {}

/**
 * The venue gave no answer: whether it did what was asked is unknown. Something on the way may have answered in its place, and a defect
 * of the venue may have come behind the decision.
 */
class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly text: string }> {}

/** The answer is not one of this contract's: a venue of another version or another program listens there. */
class Unexpected extends Data.TaggedError("Unexpected")<{ readonly text: string }> {}

export type Failure = Refused | NoAnswer | Unexpected

interface Call<A, I> {
  /** The endpoint's name in the contract, which has its method and path. */
  readonly endpoint: Endpoint
  /** For a path that names a market. */
  readonly marketId?: string
  /** For a path that names an account. */
  readonly accountId?: string
  /** For a path that names an API key. */
  readonly keyId?: string
  readonly key: string
  readonly body: unknown
  readonly answer: Schema.Schema<A, I>
  /** How long its answer may take, where that is longer than usual. */
  readonly timeout?: Duration.Duration
}

type Endpoint = HttpApiEndpoint.HttpApiEndpoint.Name<(typeof routes)[number]["endpoint"]>

/** Method and path of an endpoint, with what it names in its place. */
const placeOf = (
  { accountId = "", endpoint, keyId = "", marketId = "" }: Pick<Call<unknown, unknown>, "accountId" | "endpoint" | "keyId" | "marketId">
) => {
  const found: { readonly method: HttpMethod.HttpMethod; readonly path: string } | undefined = routes
    .map((route) => route.endpoint)
    .find(({ name }) => name === endpoint)
  assert(found !== undefined, "an operator task has an endpoint in the contract")
  return {
    method: found.method,
    path: found.path
      .replace(":marketId", encodeURIComponent(marketId))
      .replace(":accountId", encodeURIComponent(accountId))
      .replace(":keyId", encodeURIComponent(keyId))
  }
}

const requestTimeout = Duration.seconds(10)

/** A comparison of books asks the participant several times, each of which may take 30 s, and once more where something lacks. */
const comparisonTimeout = Duration.minutes(3)

const longestPause = Duration.seconds(2)

const again = (retries: number) =>
  Schedule.exponential("100 millis").pipe(
    Schedule.modifyDelay((_, delay) => Duration.min(delay, longestPause)),
    Schedule.intersect(Schedule.recurs(retries))
  )

/** What says nothing of a request under the same key that was sent before: who asks is not known any more, or has asked too often. */
const saysNothing: ReadonlySet<number> = new Set([401, 403, 429])

/** Sends one request, and again while there is no answer to it. */
const send = <A, I>(target: Target, call: Call<A, I>): Effect.Effect<A, Failure, HttpClient.HttpClient> =>
  Effect.suspend(() => {
    let mayBeDone = false
    return sendOnce(target, call).pipe(
      Effect.catchTag("Refused",
        (error) => Effect.fail(mayBeDone && saysNothing.has(error.status) ? new NoAnswer({ text: error.text }) : error)),
      Effect.tapError((error) =>
        Effect.sync(() => {
          mayBeDone ||= error._tag === "NoAnswer"
        })
      ),
      Effect.retry({ schedule: again(target.retries), while: (error) => error._tag === "NoAnswer" })
    )
  })

const sendOnce = <A, I>(target: Target, call: Call<A, I>): Effect.Effect<A, Failure, HttpClient.HttpClient> =>
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const { method, path } = placeOf(call)
    const empty = HttpClientRequest.make(method)(`${target.url}${path}`).pipe(
      HttpClientRequest.bearerToken(target.token),
      HttpClientRequest.setHeader("idempotency-key", call.key)
    )
    const request = call.body === undefined ? empty : HttpClientRequest.bodyUnsafeJson(empty, call.body)
    const response = yield* client.execute(request)
    return { status: response.status, text: yield* response.text }
  }).pipe(
    Effect.timeoutFail({
      duration: call.timeout ?? requestTimeout,
      onTimeout: () => new NoAnswer({ text: `${target.url} takes too long` })
    }),
    Effect.catchTags({
      RequestError: (error) => new NoAnswer({ text: `${target.url} cannot be reached: ${error.message}` }),
      ResponseError: (error) => new NoAnswer({ text: `${target.url} broke off: ${error.message}` })
    }),
    Effect.flatMap(({ status, text }) => status === 200 ? decode(target, call.answer, text) : fail(target, status, text))
  )

const decode = <A, I>(target: Target, answer: Schema.Schema<A, I>, text: string): Effect.Effect<A, Unexpected> =>
  Schema.decode(Schema.parseJson(answer))(text).pipe(
    Effect.mapError((error) => new Unexpected({ text: `${target.url} does not speak this contract: ${error.message}` }))
  )

const isEnvelopeStatus = (status: number): status is Envelopes.Status => Envelopes.statuses.some((known) => known === status)

const envelopeIn = (text: string) => Option.getOrUndefined(Option.map(parsed(text), envelopeOf))
const parsed = Schema.decodeUnknownOption(Schema.parseJson())

/** What a refusal says beside its words: its guard, and what was compared. */
export const comparedText = (
  { actual, limit, nearest, rejectionGuard }: {
    readonly rejectionGuard?: string | undefined
    readonly limit?: string | undefined
    readonly actual?: string | undefined
    readonly nearest?: string | undefined
  }
): ReadonlyArray<string> => [
  ...(rejectionGuard === undefined ? [] : [rejectionGuard]),
  ...(limit === undefined ? [] : [`limit ${limit}`]),
  ...(actual === undefined ? [] : [`actual ${actual}`]),
  ...(nearest === undefined ? [] : [`would pass: ${nearest}`])
]

/**
 * What an answer other than 200 says. Without an envelope it is a proxy's, which knows as little of the request as whoever sent it.
 * 503 is no decision: the venue is starting, stopping or overloaded.
 */
const fail = (target: Target, status: number, text: string): Effect.Effect<never, Failure> => {
  if (!isEnvelopeStatus(status) || envelopeIn(text) === undefined) {
    return new NoAnswer({ text: `${target.url} answers ${status}, and not as a venue does` })
  }
  return decode(target, Envelopes.nativeError(status), text).pipe(
    Effect.flatMap((refusal): Effect.Effect<never, Failure> => {
      const { code, requestId, safeMessage } = refusal
      if (status === 503) return new NoAnswer({ text: `${code}: ${safeMessage}` })
      const told = `${code}: ${safeMessage} (${[...comparedText(refusal), `request ${requestId}`].join(", ")})`
      return code === "internal_error" ? new NoAnswer({ text: told }) : new Refused({ status, code, text: told })
    })
  )
}

/** Creates a market in draft, or updates one. */
export const putMarket = (target: Target, key: string, marketId: string, body: PutMarketBody) =>
  send(target, { endpoint: "putMarket", marketId, key, body, answer: OperatorResult })

/** Every market with its parameters. */
export const listMarkets = (target: Target, key: string) =>
  send(target, { endpoint: "listOperatorMarkets", key, body: undefined, answer: OperatorMarkets })

/** What parameters would come to, and whom they would touch; nothing is changed. */
export const previewMarket = (target: Target, key: string, marketId: string, body: PutMarketBody) =>
  send(target, { endpoint: "previewMarket", marketId, key, body, answer: MarketPreview })

/** Moves a market to another status. */
export const setMarketStatus = (target: Target, key: string, marketId: string, status: string) =>
  send(target, { endpoint: "setMarketStatus", marketId, key, body: { status }, answer: OperatorResult })

/** Moves collected fees into the insurance fund, USDC as a decimal. */
export const addToFund = (target: Target, key: string, amount: string) =>
  send(target, { endpoint: "addToFund", key, body: { amount }, answer: OperatorResult })

/** Compares the treasury's holdings on the ledger with what the journal says. It is asked once: another would run beside it. */
export const reconcile = (target: Target, key: string) =>
  send({ ...target, retries: 0 }, { endpoint: "reconcile", key, body: undefined, answer: Reconciliation, timeout: comparisonTimeout })

/** Stops withdrawals, and lets them go on. */
export const stopWithdrawals = (target: Target, key: string) =>
  send(target, { endpoint: "stopWithdrawals", key, body: undefined, answer: OperatorResult })
export const allowWithdrawals = (target: Target, key: string) =>
  send(target, { endpoint: "allowWithdrawals", key, body: undefined, answer: OperatorResult })

/** Credits an account, USDC as a decimal, and so enables it for trading. */
export const credit = (target: Target, key: string, accountId: string, amount: string) =>
  send(target, { endpoint: "creditAccount", key, body: { accountId, amount }, answer: DemoCredit })

/** Sets and clears flags of an account; without any it tells them. */
export const setAccountFlags = (target: Target, key: string, accountId: string, flags: Readonly<Record<string, boolean>>) =>
  send(target, { endpoint: "setAccountFlags", accountId, key, body: flags, answer: AccountFlags })

/** Revokes an API key, whosever it is. */
export const revokeKey = (target: Target, key: string, keyId: string) =>
  send(target, { endpoint: "revokeKeyByOperator", keyId, key, body: undefined, answer: OperatorKeyRevoked })

/** Delists a market at once, or announces it for a time, epoch milliseconds. */
export const delist = (target: Target, key: string, marketId: string, effectiveAtEpochMs: number | undefined) =>
  send(target, {
    endpoint: "delistMarket",
    marketId,
    key,
    body: effectiveAtEpochMs === undefined ? {} : { effectiveAtEpochMs },
    answer: OperatorResult
  })

/** Withdraws what was announced. */
export const withdrawDelisting = (target: Target, key: string, marketId: string) =>
  send(target, { endpoint: "withdrawDelisting", marketId, key, body: undefined, answer: OperatorResult })

/** Publishes an index price, a decimal. */
export const setIndexPrice = (target: Target, key: string, marketId: string, price: string) =>
  send(target, { endpoint: "setIndexPrice", marketId, key, body: { price }, answer: OperatorResult })

/** Refuses every trading command until resumed. */
export const halt = (target: Target, key: string) => send(target, { endpoint: "haltEngine", key, body: undefined, answer: OperatorResult })

/** Has what is decided from now on remembered for so long, milliseconds. */
export const setRetention = (target: Target, key: string, idempotencyRetentionMs: number) =>
  send(target, { endpoint: "setLimits", key, body: { idempotencyRetentionMs }, answer: OperatorResult })

/** Lifts the halt. */
export const resume = (target: Target, key: string) =>
  send(target, { endpoint: "resumeEngine", key, body: undefined, answer: OperatorResult })

/**
 * Cancels what is selected, a bounded number at a time, until none of it is open; `told` is given each answer as it comes.
 * Each request has a key of its own, made from `key`, so that the same again after a lost answer goes on where it was.
 */
export const cancel = <E, R>(
  target: Target,
  key: string,
  selection: OperatorCancelBody,
  told: (answer: OperatorCancel) => Effect.Effect<void, E, R>
): Effect.Effect<number, Failure | E, HttpClient.HttpClient | R> => {
  const from = (index: number, canceledBefore: number): Effect.Effect<number, Failure | E, HttpClient.HttpClient | R> =>
    send(target, { endpoint: "cancelByOperator", key: `${key}/${index}`, body: selection, answer: OperatorCancel }).pipe(
      Effect.tap(told),
      Effect.flatMap(({ canceledOrders, remainingOrders }) => {
        const canceled = canceledBefore + canceledOrders
        return remainingOrders === 0 ? Effect.succeed(canceled) : from(index + 1, canceled)
      })
    )
  return from(0, 0)
}

export type DemoAccount = (typeof DemoAccounts.Type)["accounts"][number]

/**
 * Opens accounts with `collateral` USDC each and a key for `lifetime` seconds, so many at a time; each batch has a key of its own,
 * made from `key`.
 */
export const openDemoAccounts = (
  target: Target,
  key: string,
  { accounts, collateral, lifetime }: { readonly accounts: number; readonly collateral: string; readonly lifetime: number }
): Effect.Effect<ReadonlyArray<DemoAccount>, Failure, HttpClient.HttpClient> => {
  const batches = Math.ceil(accounts / maxDemoAccounts)
  const batch = (index: number) =>
    send(target, {
      endpoint: "openDemoAccounts",
      key: `${key}/${index}`,
      body: { accounts: Math.min(maxDemoAccounts, accounts - index * maxDemoAccounts), collateral, keyLifetimeSeconds: lifetime },
      answer: DemoAccounts
    })
  return Effect.map(
    Effect.forEach(Array.from({ length: batches }, (_, index) => index), batch),
    (opened) => opened.flatMap((answer) => answer.accounts)
  )
}

const Readiness = Schema.Union(Ready, NotReady)

/** What a path answers that needs no token. */
const read = (url: string, path: string) =>
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const response = yield* client.get(`${url}${path}`)
    return { status: response.status, text: yield* response.text }
  }).pipe(
    Effect.timeoutFail({ duration: requestTimeout, onTimeout: () => new NoAnswer({ text: `${url} takes too long` }) }),
    Effect.catchTags({
      RequestError: (error) => new NoAnswer({ text: `${url} cannot be reached: ${error.message}` }),
      ResponseError: (error) => new NoAnswer({ text: `${url} broke off: ${error.message}` })
    })
  )

const withoutToken = (url: string): Target => ({ url, token: "", retries: 0 })

/** Whether the venue takes requests, and its metrics as text: undefined where they do not come, since they wait for the writer. */
export const status = (url: string) =>
  Effect.gen(function*() {
    const readiness = yield* Effect.flatMap(read(url, "/readyz"), ({ text }) => decode(withoutToken(url), Readiness, text))
    const metrics = yield* Effect.option(read(url, "/metrics"))
    return { readiness, metrics: Option.getOrUndefined(Option.map(metrics, ({ text }) => text)) }
  })

/** Where a venue's index comes from, by the name of the setting; undefined where it does not tell. */
export const indexFeed = (url: string) =>
  Effect.map(
    Effect.flatMap(read(url, "/readyz"), ({ text }) => decode(withoutToken(url), Readiness, text)),
    ({ details }) => details["indexFeed"]
  )

/** What the venue published of its solvency at a sequence. */
export const solvency = (url: string, sequence: number) =>
  Effect.flatMap(
    read(url, `/v1/solvency?sequence=${sequence}`),
    ({ status, text }) => status === 200 ? decode(withoutToken(url), PublishedSolvency, text) : fail(withoutToken(url), status, text)
  )

/** The venue's limits. */
export const limits = (url: string) =>
  Effect.flatMap(
    read(url, "/v1/limits"),
    ({ status, text }) => status === 200 ? decode(withoutToken(url), Limits, text) : fail(withoutToken(url), status, text)
  )
