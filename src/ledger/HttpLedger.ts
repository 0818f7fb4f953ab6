/**
 * The ledger behind a participant's JSON Ledger API, over HTTP. Every request has a timeout and every answer a size limit. A connection
 * that could not be made certainly sent nothing; one that broke may have.
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { Gathered } from "../domain/Gathered.js"
import * as TransportCodes from "../domain/TransportCodes.js"
import * as JsonLedger from "./JsonLedger.js"
import { Ledger } from "./Ledger.js"
import { Lost, type Transport, Unsent } from "./Transport.js"

export interface Settings extends JsonLedger.Settings {
  /** The participant's base URL, without a path. */
  readonly url: string
  /** Sent as a bearer token, if given. */
  readonly bearer: Redacted.Redacted | undefined
  /** The time within which the whole answer must arrive. */
  readonly timeoutMs: number
}

export const defaultTimeoutMs = 30_000

/** Largest answer, in bytes: a page of 200 contracts, with room. */
const answerLimit = 4 * 1024 * 1024

const failure = (error: HttpClientError.HttpClientError): Unsent | Lost => {
  const codes = TransportCodes.codesOf(error)
  const text = `${error.message}${codes.length === 0 ? "" : ` (${codes.join(", ")})`}`
  const isUnsent = error._tag === "RequestError" && (error.reason !== "Transport" || TransportCodes.areUnsent(codes))
  return isUnsent ? new Unsent(text) : new Lost(text)
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    // Some answers are plain text, as are those of a proxy in front of the ledger.
    return text
  }
}

const bounded = (stream: Stream.Stream<Uint8Array, HttpClientError.ResponseError>): Effect.Effect<string, Lost> =>
  Effect.suspend(() => {
    const read = new Gathered(answerLimit)
    return stream.pipe(
      Stream.mapError((error) => new Lost(failure(error).cause)),
      Stream.runForEach((chunk) => read.take(chunk) ? Effect.void : Effect.fail(new Lost(`the answer has more than ${answerLimit} bytes`))),
      Effect.map(() => read.whole().toString("utf8"))
    )
  })

/** Sends requests over HTTP. */
export const transport =
  (client: HttpClient.HttpClient, { timeoutMs, bearer, url }: Pick<Settings, "timeoutMs" | "bearer" | "url">): Transport => (question) => {
    const bare = HttpClientRequest.make(question.method)(`${url.replace(/\/+$/, "")}${question.path}`, {
      ...(question.query === undefined ? {} : { urlParams: question.query }),
      ...(bearer === undefined ? {} : { headers: { authorization: `Bearer ${Redacted.value(bearer)}` } })
    })
    const request = question.body === undefined ? bare : HttpClientRequest.bodyUnsafeJson(bare, question.body)
    return client.execute(request).pipe(
      // A redirect would lead to something other than the participant, and a login page is no acceptance.
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual" }),
      Effect.mapError(failure),
      Effect.flatMap((response) => Effect.map(bounded(response.stream), (text) => ({ status: response.status, body: parsed(text) }))),
      Effect.scoped,
      Effect.timeoutFail({ duration: timeoutMs, onTimeout: () => new Lost(`no answer within ${timeoutMs} ms`) })
    )
  }

export const layer = (settings: Settings): Layer.Layer<Ledger, never, HttpClient.HttpClient> =>
  Layer.effect(Ledger, Effect.flatMap(HttpClient.HttpClient, (client) => JsonLedger.make(transport(client, settings), settings)))
