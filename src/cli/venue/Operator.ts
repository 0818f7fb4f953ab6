/**
 * A client of the operator's routes: one request at a time, decoded with the contract's own schemas. A request without an answer is sent
 * again under its key, so that it takes effect once.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
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
import * as Refusal from "../../domain/Refusal.js"
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
import * as Format from "../replay/Format.js"
import * as Http from "./Http.js"

/** A venue, and the token for its operator routes. */
export interface Target {
  /** Without a trailing slash. */
  readonly url: string
  readonly token: string
  /** How often a request without an answer is repeated. */
  readonly retries: number
  /** Told once, before the first repetition: why there is no answer yet. */
  readonly triesAgain: (text: string) => Effect.Effect<void>
}

/** How `/readyz` says that withdrawals stand. */
export interface Standing {
  /** `open`, or why they are stopped. */
  readonly withdrawals: string
  /** What is accepted as lacking, atoms, 0 or below. */
  readonly acceptedAtoms: number
}

/** The venue refused. */
export class Refused extends Data.TaggedError("Refused")<{
  readonly status: number
  readonly code: string
  readonly text: string
  /** A value near to what was sent that would have been accepted, where there is one. */
  readonly nearest?: string | undefined
}> {}

/**
 * The venue gave no answer, so that it is unknown whether the request took effect. A proxy may have answered instead, and an internal error
 * may have occurred after the decision.
 */
class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly text: string }> {}

/** The venue's certificate is not trusted, so nothing was sent. */
class Untrusted extends Data.TaggedError("Untrusted")<{ readonly text: string }> {}

/** The answer does not follow this contract: a venue of another version or another program listens there. */
class Unexpected extends Data.TaggedError("Unexpected")<{ readonly text: string }> {}

export type Failure = Refused | NoAnswer | Untrusted | Unexpected

interface Call<A, I> {
  /** The endpoint's name in the contract, which determines its method and path. */
  readonly endpoint: Endpoint
  /** For a path with a market. */
  readonly marketId?: string
  /** For a path with an account. */
  readonly accountId?: string
  /** For a path with an API key. */
  readonly keyId?: string
  /** What follows the path, with its question mark. */
  readonly query?: string
  readonly key: string
  readonly body: unknown
  readonly answer: Schema.Schema<A, I>
  /** The time limit for its answer, where it is longer than usual. */
  readonly timeout?: Duration.Duration
}

type Endpoint = HttpApiEndpoint.HttpApiEndpoint.Name<(typeof routes)[number]["endpoint"]>

/** Method and path of an endpoint, with the ids filled in. */
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

/** A comparison of the books asks the participant several times, each time for up to 30 s, and once more where something is missing. */
const comparisonTimeout = Duration.minutes(3)

/** How often a request that compares the books is repeated where it gets no answer, which may be since the ledger gives none. */
const comparisonRetries = 2

const longestPause = Duration.seconds(2)

const again = (retries: number) =>
  Schedule.exponential("100 millis").pipe(
    Schedule.modifyDelay((_, delay) => Duration.min(delay, longestPause)),
    Schedule.intersect(Schedule.recurs(retries))
  )

/**
 * Statuses that reveal nothing about an earlier attempt under the same key: the credential is no longer accepted, or the rate limit was
 * exceeded.
 */
const saysNothing: ReadonlySet<number> = new Set([401, 403, 429])

/** Sends one request, and repeats it while there is no answer. */
const send = <A, I>(target: Target, call: Call<A, I>): Effect.Effect<A, Failure, HttpClient.HttpClient> =>
  Effect.suspend(() => {
    let mayBeDone = false
    return sendOnce(target, call).pipe(
      Effect.catchTags({
        Refused: (error) => Effect.fail(mayBeDone && saysNothing.has(error.status) ? new NoAnswer({ text: error.text }) : error),
        Untrusted: ({ text }) => Effect.fail(mayBeDone ? new NoAnswer({ text }) : new Untrusted({ text: `nothing was sent: ${text}` }))
      }),
      Effect.tapErrorTag("NoAnswer", ({ text }) => {
        const isFirst = !mayBeDone
        mayBeDone = true
        return isFirst && target.retries > 0 ? target.triesAgain(text) : Effect.void
      }),
      Effect.retry({ schedule: again(target.retries), while: (error) => error._tag === "NoAnswer" })
    )
  })

/** What becomes of a request that the network failed. */
const unanswered = (url: string) => ({
  RequestError: (error: HttpClientError.RequestError) =>
    Http.isUntrusted(error) ? new Untrusted({ text: Http.textOf(url, error) }) : new NoAnswer({ text: Http.textOf(url, error) }),
  ResponseError: (error: HttpClientError.ResponseError) => new NoAnswer({ text: Http.textOf(url, error) })
})

const sendOnce = <A, I>(target: Target, call: Call<A, I>): Effect.Effect<A, Failure, HttpClient.HttpClient> =>
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const { method, path } = placeOf(call)
    const empty = HttpClientRequest.make(method)(`${target.url}${path}${call.query ?? ""}`).pipe(
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
    Effect.catchTags(unanswered(target.url)),
    Effect.flatMap(({ status, text }) => status === 200 ? decode(target, call.answer, text) : fail(target, status, text))
  )

const decode = <A, I>(target: Target, answer: Schema.Schema<A, I>, text: string): Effect.Effect<A, Unexpected> =>
  Effect.mapError(Http.decoded(target.url, answer, text), (told) => new Unexpected({ text: told }))

const isEnvelopeStatus = (status: number): status is Envelopes.Status => Envelopes.statuses.some((known) => known === status)

const envelopeIn = (text: string) => Option.getOrUndefined(Option.map(parsed(text), envelopeOf))
const parsed = Schema.decodeUnknownOption(Schema.parseJson())

/** The guards that compare times, which travel as milliseconds since 1970. */
const ofTimes: ReadonlySet<string> = new Set(
  Object.values(Refusal.Refusal).filter((refusal) => refusal !== 0).map(Refusal.describe)
    .flatMap(({ compares, guard }) => compares === "epoch_ms" && guard !== undefined ? [guard] : [])
)

/** The details of a refusal beside its message: its guard, and the compared values, times as people write them. */
export const comparedText = (
  { actual, limit, nearest, rejectionGuard }: {
    readonly rejectionGuard?: string | undefined
    readonly limit?: string | undefined
    readonly actual?: string | undefined
    readonly nearest?: string | undefined
  }
): ReadonlyArray<string> => {
  const isOfTimes = rejectionGuard !== undefined && ofTimes.has(rejectionGuard)
  const shown = (value: string): string => isOfTimes && /^[1-9][0-9]*$/.test(value) ? Format.time(Number(value)) : value
  return [
    ...(rejectionGuard === undefined ? [] : [rejectionGuard]),
    ...(limit === undefined ? [] : [`limit ${shown(limit)}`]),
    ...(actual === undefined ? [] : [`actual ${shown(actual)}`]),
    ...(nearest === undefined ? [] : [`would pass: ${shown(nearest)}`])
  ]
}

/**
 * The error for an answer other than 200. Without an envelope it is a proxy's, which reveals nothing about the request. 503 is not a
 * decision: the venue is starting, stopping or overloaded.
 */
const fail = (target: Target, status: number, text: string): Effect.Effect<never, Failure> => {
  if (!isEnvelopeStatus(status) || envelopeIn(text) === undefined) {
    return new NoAnswer({ text: `${target.url} answers ${status}, and not as a venue does` })
  }
  return decode(target, Envelopes.nativeError(status), text).pipe(
    Effect.flatMap((refusal): Effect.Effect<never, Failure> => {
      const { code, nearest, requestId, safeMessage } = refusal
      if (status === 503) return new NoAnswer({ text: `${code}: ${safeMessage}` })
      const told = `${code}: ${safeMessage} (${[...comparedText(refusal), `request ${requestId}`].join(", ")})`
      return code === "internal_error" ? new NoAnswer({ text: told }) : new Refused({ status, code, text: told, nearest })
    })
  )
}

/** Creates a market in draft, or updates one. */
export const putMarket = (target: Target, key: string, marketId: string, body: PutMarketBody) =>
  send(target, { endpoint: "putMarket", marketId, key, body, answer: OperatorResult })

/** Every market with its parameters. */
export const listMarkets = (target: Target, key: string) =>
  send(target, { endpoint: "listOperatorMarkets", key, body: undefined, answer: OperatorMarkets })

/** The effect of parameters, and the accounts that they would affect; nothing is changed. */
export const previewMarket = (target: Target, key: string, marketId: string, body: PutMarketBody) =>
  send(target, { endpoint: "previewMarket", marketId, key, body, answer: MarketPreview })

/** Moves a market to another status. */
export const setMarketStatus = (target: Target, key: string, marketId: string, status: string) =>
  send(target, { endpoint: "setMarketStatus", marketId, key, body: { status }, answer: OperatorResult })

/** Moves collected fees into the insurance fund, USDC as a decimal. */
export const addToFund = (target: Target, key: string, amount: string) =>
  send(target, { endpoint: "addToFund", key, body: { amount }, answer: OperatorResult })

/**
 * Compares the treasury's holdings on the ledger with the journal. It is not repeated, since a second comparison would run beside the
 * first.
 */
export const reconcile = (target: Target, key: string) =>
  send({ ...target, retries: 0 }, { endpoint: "reconcile", key, body: undefined, answer: Reconciliation, timeout: comparisonTimeout })

/** Stops withdrawals, and lets them go on. */
export const stopWithdrawals = (target: Target, key: string) =>
  send(target, { endpoint: "stopWithdrawals", key, body: undefined, answer: OperatorResult })
/** `accept`: the shortfall that this accepts, USDC as a decimal. The books are compared first, so it is not repeated often. */
export const allowWithdrawals = (target: Target, key: string, accept: string | undefined) =>
  send({ ...target, retries: Math.min(target.retries, comparisonRetries) }, {
    endpoint: "allowWithdrawals",
    query: accept === undefined ? "" : `?accept=${accept}`,
    key,
    body: undefined,
    answer: OperatorResult,
    timeout: comparisonTimeout
  })

/** Credits an account with USDC as a decimal, which also enables it for trading. */
export const credit = (target: Target, key: string, accountId: string, amount: string) =>
  send(target, { endpoint: "creditAccount", key, body: { accountId, amount }, answer: DemoCredit })

/** Sets and clears flags of an account; without any it returns the present ones. */
export const setAccountFlags = (target: Target, key: string, accountId: string, flags: Readonly<Record<string, boolean>>) =>
  send(target, { endpoint: "setAccountFlags", accountId, key, body: flags, answer: AccountFlags })

/** Revokes any account's API key. */
export const revokeKey = (target: Target, key: string, keyId: string) =>
  send(target, { endpoint: "revokeKeyByOperator", keyId, key, body: undefined, answer: OperatorKeyRevoked })

/** Delists a market at once, or announces it for a time, in milliseconds since 1970. */
export const delist = (target: Target, key: string, marketId: string, effectiveAtEpochMs: number | undefined) =>
  send(target, {
    endpoint: "delistMarket",
    marketId,
    key,
    body: effectiveAtEpochMs === undefined ? {} : { effectiveAtEpochMs },
    answer: OperatorResult
  })

/** Withdraws an announced delisting. */
export const withdrawDelisting = (target: Target, key: string, marketId: string) =>
  send(target, { endpoint: "withdrawDelisting", marketId, key, body: undefined, answer: OperatorResult })

/** Publishes an index price, as a decimal. */
export const setIndexPrice = (target: Target, key: string, marketId: string, price: string) =>
  send(target, { endpoint: "setIndexPrice", marketId, key, body: { price }, answer: OperatorResult })

/** Refuses every trading command until resumed. */
export const halt = (target: Target, key: string) => send(target, { endpoint: "haltEngine", key, body: undefined, answer: OperatorResult })

/** Sets how long future decisions are remembered, in milliseconds. */
export const setRetention = (target: Target, key: string, idempotencyRetentionMs: number) =>
  send(target, { endpoint: "setLimits", key, body: { idempotencyRetentionMs }, answer: OperatorResult })

/** Lifts the halt. */
export const resume = (target: Target, key: string) =>
  send(target, { endpoint: "resumeEngine", key, body: undefined, answer: OperatorResult })

/**
 * Cancels the selected orders, a bounded number at a time, until none of them is open; `told` receives each answer. Each request has a key
 * of its own, derived from `key`, so that a repetition after a lost answer continues where it was.
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
 * Opens accounts with `collateral` USDC each and a key valid for `lifetime` seconds, in batches; each batch has a key of its own, derived
 * from `key`.
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

/** The answer of a path that needs no token. */
const read = (url: string, path: string) =>
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const response = yield* client.get(`${url}${path}`)
    return { status: response.status, text: yield* response.text }
  }).pipe(
    Effect.timeoutFail({ duration: requestTimeout, onTimeout: () => new NoAnswer({ text: `${url} takes too long` }) }),
    Effect.catchTags(unanswered(url))
  )

const withoutToken = (url: string): Target => ({ url, token: "", retries: 0, triesAgain: () => Effect.void })

const readinessIn = (url: string) => ({ text }: { readonly text: string }) => decode(withoutToken(url), Readiness, text)

/** Whether the venue accepts requests, and its metrics, or why there are none: they wait for the writer, and a proxy may deny them. */
export const status = (url: string) =>
  Effect.gen(function*() {
    const readiness = yield* Effect.flatMap(read(url, "/readyz"), readinessIn(url))
    const metrics = yield* Effect.either(Effect.flatMap(
      read(url, "/metrics"),
      ({ status, text }) => status === 200 ? Effect.succeed(text) : fail(withoutToken(url), status, text)
    ))
    return { readiness, metrics }
  })

/** The source of a venue's index, by the name of the setting; undefined where the venue does not report it. */
export const indexFeed = (url: string) =>
  Effect.map(Effect.flatMap(read(url, "/readyz"), readinessIn(url)), ({ details }) => details["indexFeed"])

/** How withdrawals stand; undefined while the venue does not tell it, before it has read its journal. */
export const withdrawals = (url: string) =>
  Effect.map(
    Effect.flatMap(
      read(url, "/readyz"),
      (answer) =>
        answer.status === 200 || answer.status === 503
          ? readinessIn(url)(answer)
          : fail(withoutToken(url), answer.status, answer.text)
    ),
    ({ details }): Standing | undefined => {
      const { acceptedAtoms = 0, withdrawals } = details
      return typeof withdrawals === "string" ? { withdrawals, acceptedAtoms: Number(acceptedAtoms) } : undefined
    }
  )

/** The venue's published solvency at a sequence. */
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
