/**
 * The signer over HTTP: authenticated by a bearer token that only the venue has, with one path for each call, and with answers that tell a
 * refusal from a failure. It does not listen itself: it maps requests to responses.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { PartySigner, SignerError } from "./PartySigner.js"
import { type CallName, calls, DetailBody, mostBodyBytes, RefusedBody, statuses } from "./Protocol.js"

type Service = Context.Tag.Service<PartySigner>

/** The parts of a request that are read. */
export interface Request {
  readonly method: string
  readonly target: string
  readonly headers: { readonly authorization?: string | undefined }
  readonly body: Uint8Array
}

export interface Response {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const json = (status: number, body: unknown): Response => ({
  status,
  headers: { "content-type": "application/json", "cache-control": "no-store" },
  body: JSON.stringify(body)
})

/** An answer of one sentence. */
export const told = (status: number, detail: string): Response => json(status, Schema.encodeSync(DetailBody)({ detail }))

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Whether a header carries the token, compared in constant time. */
const isBearer = (authorization: string | undefined, token: Redacted.Redacted): boolean =>
  timingSafeEqual(digest(authorization ?? ""), digest(`Bearer ${Redacted.value(token)}`))

const failed = (error: SignerError): Response => {
  switch (error._tag) {
    case "SignerRefused":
      return json(statuses.refused, Schema.encodeSync(RefusedBody)({ reason: error.reason, detail: error.detail }))
    case "SignerUnavailable":
      return told(statuses.unavailable, error.detail)
    case "SignerUnknown":
      return told(500, error.detail)
  }
}

/** One call: decodes the body, acts, and encodes the answer. Why a body is invalid is not reported, since that would repeat parts of it. */
const call = <A, I, B, J>(
  request: Schema.Schema<A, I>,
  answer: Schema.Schema<B, J>,
  act: (input: A) => Effect.Effect<B, SignerError>
) =>
(body: unknown): Effect.Effect<Response> =>
  Schema.decodeUnknown(request, { onExcessProperty: "error" })(body).pipe(
    Effect.matchEffect({
      onFailure: () => Effect.succeed(told(400, "the body is not one of this call")),
      onSuccess: (input) =>
        Effect.match(act(input), { onFailure: failed, onSuccess: (value) => json(200, Schema.encodeSync(answer)(value)) })
    })
  )

const routes = (signer: Service): ReadonlyMap<string, (body: unknown) => Effect.Effect<Response>> => {
  const byName: Readonly<Record<CallName, (body: unknown) => Effect.Effect<Response>>> = {
    newParty: call(calls.newParty.request, calls.newParty.answer, signer.newParty),
    treasuryKey: call(calls.treasuryKey.request, calls.treasuryKey.answer, () => signer.treasuryKey),
    knownTreasuryKey: call(calls.knownTreasuryKey.request, calls.knownTreasuryKey.answer, () => signer.knownTreasuryKey),
    claim: call(calls.claim.request, calls.claim.answer, (request) => Effect.as(signer.claim(request), {})),
    accountKeys: call(calls.accountKeys.request, calls.accountKeys.answer, ({ accountId }) => signer.accountKeys(accountId)),
    signTopology: call(calls.signTopology.request, calls.signTopology.answer, signer.signTopology),
    sign: call(calls.sign.request, calls.sign.answer, signer.sign),
    repin: call(calls.repin.request, calls.repin.answer, (request) => Effect.as(signer.repin(request), {}))
  }
  return new Map((Object.keys(byName) as Array<CallName>).map((name) => [calls[name].path, byName[name]]))
}

const decodeJson = Schema.decodeUnknownOption(Schema.parseJson())

/** Answers requests; never fails. */
export const make = (signer: Service, token: Redacted.Redacted): (request: Request) => Effect.Effect<Response> => {
  const byPath = routes(signer)
  return ({ body, headers, method, target }) =>
    Effect.suspend(() => {
      if (method === "GET" && target === "/healthz") return Effect.succeed(json(200, { status: "ok" }))
      if (!isBearer(headers.authorization, token)) return Effect.succeed(told(401, "the bearer is not the signer's"))
      const route = byPath.get(target)
      if (route === undefined) return Effect.succeed(told(404, "there is nothing here"))
      if (method !== "POST") return Effect.succeed(told(405, "every call is a POST"))
      if (body.length > mostBodyBytes) return Effect.succeed(told(413, "the body is too large"))
      const value = decodeJson(Buffer.from(body).toString("utf8"))
      return value._tag === "None" ? Effect.succeed(told(400, "the body is no JSON")) : route(value.value)
    }).pipe(
      Effect.catchAllCause((cause) =>
        Effect.as(Effect.logError("a call of the signer met a defect", Cause.pretty(cause)), told(500, "the signer failed"))
      )
    )
}
