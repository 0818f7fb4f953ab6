/**
 * Which sites' pages may call the venue from a browser: none, unless the operator lists their origins. There are no cookies,
 * so no mode with credentials is needed: a page sends its bearer in a header, which a listed origin may.
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

/** What a page is told of an answer to it. */
const allowing = (origin: string): Readonly<Record<string, string>> => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": answerHeaders,
  vary: "origin"
})

/** What is said where it is no page's that is listed: with another origin the answer would be another. */
const others = { vary: "origin" } as const

/** To a browser that asks ahead what a listed page may send. */
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
 * The application, callable by pages of these origins. Who is not listed is answered as ever, without the headers for which a
 * browser would show the answer to the page; what was not asked by a page at all likewise. So is whatever never became a request, or
 * no WebSocket: a page is told why by the same rule.
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

/** Why a text is no origin as browsers send it: scheme, host and a port that is not the scheme's own, and nothing behind. */
export const faultOfOrigin = (text: string): string | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && (url.protocol === "https:" || url.protocol === "http:") && url.origin === text
    ? undefined
    : `${text} is no origin, as https://example.com or http://localhost:3000`
}
