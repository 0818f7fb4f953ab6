/**
 * `PartySigner` over HTTP: the venue's side of a signer in a process of its own. It limits time and size, follows no redirect, and rejects
 * any answer that is not of the protocol. Without an answer the outcome is unknown, unless nothing was sent.
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Gathered } from "../domain/Gathered.js"
import * as TransportCodes from "../domain/TransportCodes.js"
import { PartySigner, type SignerError, SignerRefused, SignerUnavailable, SignerUnknown, wellFormed } from "./PartySigner.js"
import { calls, DetailBody, mostBodyBytes, RefusedBody, statuses } from "./Protocol.js"

export interface Settings {
  /** The base URL, without a trailing slash. */
  readonly url: string
  readonly token: Redacted.Redacted
  /** How long an answer may take, in milliseconds. */
  readonly timeoutMs: number
}

const unknown = (detail: string): SignerUnknown => new SignerUnknown({ detail })

/** Why there is no answer. The error itself is not passed on, since it contains the request. */
const unanswered = (error: Error): Effect.Effect<never, SignerError> => {
  const codes = TransportCodes.codesOf(error)
  const told = codes.length === 0 ? "" : `: ${codes.join(", ")}`
  return Effect.fail(
    TransportCodes.areUnsent(codes)
      ? new SignerUnavailable({ detail: `it cannot be reached${told}` })
      : unknown(`the connection broke off${told}`)
  )
}

/** The text of an answer, up to the size limit. */
const textOf = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<string, SignerUnknown> =>
  Effect.suspend(() => {
    const read = new Gathered(mostBodyBytes)
    return response.stream.pipe(
      Stream.mapError(() => unknown("the answer broke off")),
      Stream.runForEach((chunk) => read.take(chunk) ? Effect.void : Effect.fail(unknown("the answer is too long"))),
      Effect.map(() => read.whole().toString("utf8"))
    )
  })

const decoded = <A, I>(schema: Schema.Schema<A, I>, text: string): Effect.Effect<A, SignerUnknown> =>
  Effect.mapError(Schema.decode(Schema.parseJson(schema))(text), () => unknown("the answer is not one of the signer's"))

/** The error in an answer with a status other than 200. */
const failed = (status: number, text: string): Effect.Effect<never, SignerError> => {
  if (status === statuses.refused) return Effect.flatMap(decoded(RefusedBody, text), (body) => new SignerRefused(body))
  if (status === statuses.unavailable) return Effect.flatMap(decoded(DetailBody, text), (body) => new SignerUnavailable(body))
  if (status === 401) return Effect.fail(new SignerUnavailable({ detail: "SIGNER_TOKEN is not the one that the signer has" }))
  return Effect.fail(
    status >= 400 && status < 500
      ? new SignerUnavailable({ detail: `it answers ${status}: it is not of this version, or no signer` })
      : unknown(`it answers ${status}`)
  )
}

/** Calls the signer at an address. */
export const layer = ({ timeoutMs, token, url }: Settings): Layer.Layer<PartySigner, never, HttpClient.HttpClient> =>
  Layer.effect(
    PartySigner,
    Effect.map(HttpClient.HttpClient, (client) => {
      const requestOf = (path: string, body: unknown): HttpClientRequest.HttpClientRequest =>
        HttpClientRequest.post(`${url}${path}`).pipe(
          HttpClientRequest.bearerToken(Redacted.value(token)),
          HttpClientRequest.bodyUnsafeJson(body)
        )
      const send = <A, I, B, J>(
        { answer, path, request }: { readonly path: string; readonly request: Schema.Schema<A, I>; readonly answer: Schema.Schema<B, J> },
        input: A
      ): Effect.Effect<B, SignerError> =>
        wellFormed(request, input).pipe(
          Effect.flatMap(() => client.execute(requestOf(path, Schema.encodeSync(request)(input)))),
          Effect.catchTags({ RequestError: unanswered, ResponseError: unanswered }),
          Effect.flatMap((response) => Effect.map(textOf(response), (text) => ({ status: response.status, text }))),
          Effect.scoped,
          Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
          Effect.timeoutFail({ duration: timeoutMs, onTimeout: () => unknown(`it took longer than ${timeoutMs} ms`) }),
          Effect.flatMap(({ status, text }): Effect.Effect<B, SignerError> => status === 200 ? decoded(answer, text) : failed(status, text))
        )
      return {
        newParty: (request) => send(calls.newParty, request),
        treasuryKey: Effect.suspend(() => send(calls.treasuryKey, {})),
        knownTreasuryKey: Effect.suspend(() => send(calls.knownTreasuryKey, {})),
        claim: (request) => Effect.asVoid(send(calls.claim, request)),
        accountKeys: (accountId) => send(calls.accountKeys, { accountId }),
        signTopology: (request) => send(calls.signTopology, request),
        sign: (request) => send(calls.sign, request),
        repin: (request) => Effect.asVoid(send(calls.repin, request))
      }
    })
  )
