/**
 * Which sites' pages may call the venue from a browser: none, unless the operator lists their origins. There are no cookies, so no
 * credentials mode is needed: a page sends its bearer token in a header, which listed origins may do.
 */
import type { Application, Request, Response } from "./Listener.js"
import * as LimitHeaders from "./LimitHeaders.js"
import * as Protection from "./Protection.js"

/** How long a browser may keep what it was allowed, seconds. */
const keptSeconds = "600"

const methods = "GET, HEAD, POST, PUT, DELETE"
const requestHeaders = "authorization, content-type, idempotency-key"
const answerHeaders = "x-request-id, idempotent-replayed, retry-after, ratelimit-limit, ratelimit-remaining, ratelimit-reset, allow, "
  + "x-service-runtime-policy-version"

/** Headers that let a page read an answer. */
const allowing = (origin: string): Readonly<Record<string, string>> => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": answerHeaders,
  vary: "origin"
})

/** For pages that are not listed: the answer would differ for another origin. */
const others = { vary: "origin" } as const

/** The answer to a browser's preflight request of a listed page. */
const preflight = (origin: string, requestId: string, standing: Readonly<Record<string, string>>): Response => ({
  status: 200,
  headers: {
    "x-request-id": requestId,
    ...Protection.unkept,
    ...standing,
    "access-control-allow-origin": origin,
    "access-control-allow-methods": methods,
    "access-control-allow-headers": requestHeaders,
    "access-control-max-age": keptSeconds,
    vary: "origin"
  },
  body: ""
})

const isPreflight = ({ headers, method }: Request): boolean =>
  method === "OPTIONS" && headers["access-control-request-method"] !== undefined

/**
 * The application, callable by pages of these origins. Other callers get the usual answers, without the headers that would let a
 * browser show them to a page. Refusals of malformed requests and of WebSocket upgrades follow the same rule.
 */
export const over = (
  application: Required<Application>,
  origins: ReadonlyArray<string>,
  services: LimitHeaders.Counting & { readonly nextRequestId: () => string }
): Required<Application> => {
  if (origins.length === 0) return application
  const listed: ReadonlySet<string> = new Set(origins)
  const isListed = (origin: string | undefined): origin is string => origin !== undefined && listed.has(origin)
  const told = (origin: string | undefined, { headers, ...response }: Response): Response => ({
    ...response,
    headers: { ...headers, ...(isListed(origin) ? allowing(origin) : others) }
  })
  return {
    handle: (request, reply) => {
      const { origin } = request.headers
      if (isListed(origin) && isPreflight(request)) {
        return reply(preflight(origin, services.nextRequestId(), LimitHeaders.ofAddress(services, request)))
      }
      application.handle(request, (response) => reply(told(origin, response)))
    },
    open: (request) => {
      const opening = application.open(request)
      return "refused" in opening ? { refused: told(request.headers.origin, opening.refused) } : opening
    },
    misframed: (reason, target, sender) => told(sender.headers.origin, application.misframed(reason, target, sender))
  }
}

/** Why a text is not an origin as browsers send it: scheme, host and a non-default port, and nothing else. */
export const faultOfOrigin = (text: string): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && (url.protocol === "https:" || url.protocol === "http:") && url.origin === text
    ? undefined
    : `${text} is no origin, as https://example.com or http://localhost:3000`
}
