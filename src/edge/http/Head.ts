/** The parts of a request's head that are used, and the meaning of its target. */
import type { RequestHeaders } from "./Listener.js"

/** `node:http` would make an object of all headers, at twice the cost. */
export class Head {
  authorization: string | undefined = undefined
  contentType: string | undefined = undefined
  contentEncoding: string | undefined = undefined
  idempotencyKey: string | undefined = undefined
  origin: string | undefined = undefined
  requestMethod: string | undefined = undefined
  forwardedFor: string | undefined = undefined
  fetchSite: string | undefined = undefined
  hosts = 0
  /** Whether each `Host` header names at most one host: a reader might find two in a value with blanks or commas. */
  namesHost = true
  /** As sent: the parser has refused invalid lengths and repeated ones. */
  contentLength: string | undefined = undefined
  transferEncoding: string | undefined = undefined

  /** `raw` is name, value, name, value. */
  constructor(raw: ReadonlyArray<string>) {
    for (let at = 0; at < raw.length; at += 2) {
      const name = raw[at]!
      switch (name.length) {
        case 4:
          if (isNamed(name, "host")) {
            this.hosts++
            this.namesHost &&= host.test(raw[at + 1]!)
          }
          break
        case 6:
          if (isNamed(name, "origin")) this.origin ??= raw[at + 1]!
          break
        case 12:
          if (isNamed(name, "content-type")) this.contentType = joined(this.contentType, raw[at + 1]!)
          break
        case 13:
          if (isNamed(name, "authorization")) this.authorization = joined(this.authorization, raw[at + 1]!)
          break
        case 14:
          if (isNamed(name, "content-length")) this.contentLength = raw[at + 1]!
          else if (isNamed(name, "sec-fetch-site")) this.fetchSite ??= raw[at + 1]!
          break
        case 15:
          if (isNamed(name, "idempotency-key")) this.idempotencyKey = joined(this.idempotencyKey, raw[at + 1]!)
          else if (isNamed(name, "x-forwarded-for")) this.forwardedFor = joined(this.forwardedFor, raw[at + 1]!)
          break
        case 16:
          if (isNamed(name, "content-encoding")) this.contentEncoding = joined(this.contentEncoding, raw[at + 1]!)
          break
        case 17:
          if (isNamed(name, "transfer-encoding")) this.transferEncoding = joined(this.transferEncoding, raw[at + 1]!)
          break
        case 29:
          if (isNamed(name, "access-control-request-method")) this.requestMethod ??= raw[at + 1]!
          break
        default:
      }
    }
  }
}

/** The headers by which a sender's limit is found, also where it sent no request. */
export const headersOfSender = (head: Head | undefined): RequestHeaders => ({
  origin: head?.origin,
  "sec-fetch-site": head?.fetchSite,
  "x-forwarded-for": head?.forwardedFor
})

/** The headers that a route may look at. */
export const headersOf = (head: Head): RequestHeaders => ({
  authorization: head.authorization,
  "content-type": head.contentType,
  "content-encoding": head.contentEncoding,
  "idempotency-key": head.idempotencyKey,
  origin: head.origin,
  "access-control-request-method": head.requestMethod,
  "sec-fetch-site": head.fetchSite,
  "x-forwarded-for": head.forwardedFor
})

/** A request's version of HTTP. */
interface Versioned {
  readonly httpVersionMajor: number
  readonly httpVersionMinor: number
}

/**
 * Whether a request is valid by RFC 9112: by 3.2, exactly one `Host` in HTTP/1.1 and at most one in HTTP/1.0, with a single host; by
 * 6.1, no transfer coding other than `chunked`, and none in HTTP/1.0, which has no codings.
 */
export const isSound = (head: Head, { httpVersionMajor, httpVersionMinor }: Versioned): boolean =>
  httpVersionMajor === 1
  && head.namesHost
  && (head.hosts === 1 || (head.hosts === 0 && httpVersionMinor === 0))
  && (head.transferEncoding === undefined || (httpVersionMinor > 0 && /^chunked$/i.test(head.transferEncoding)))

/** A host and a port as in RFC 3986, 3.2, or nothing. Commas are not accepted, since they separate the values of a repeated header. */
const host = /^[\w.~!$&'()*+;=%:[\]-]*$/

/**
 * Joins a header that was sent more than once. If a credential, type or key is repeated, neither is preferred: joined, they are
 * invalid.
 */
const joined = (before: string | undefined, value: string): string => before === undefined ? value : `${before}, ${value}`

/** Whether a header's name, as sent, is this one in lower case. */
const isNamed = (sent: string, name: string): boolean => sent === name || sent.toLowerCase() === name

const slash = 47

/** Path and query of a target in origin-form or absolute-form (RFC 9112, 3.2); any other as it is. */
const originForm = (target: string): string => {
  if (target.charCodeAt(0) === slash) return target
  const authority = /^https?:\/\/[^/?#]+/i.exec(target)
  if (authority === null) return target
  const rest = target.slice(authority[0].length)
  return rest.charCodeAt(0) === slash ? rest : `/${rest}`
}

/** Path and query of a request, also of one that may be refused: its path decides the family of the envelope in any case. */
export const targetOf = ({ url = "" }: { readonly url?: string | undefined }): string => originForm(url)

/** A request line up to its target, at the start of the bytes or after another request, whose body is JSON where it has one. */
const requestLine = /(?:^|[\r\n}\]])([A-Z]+) ([^ \r\n]+)/g

/**
 * Method and target of the last request line in bytes that never became a request; undefined where there is none. They only decide the
 * envelope's family, and whether it is sent.
 */
export const lastLine = (unframed: Buffer): { readonly method: string; readonly target: string } | undefined => {
  const [, method, target] = [...unframed.toString("latin1").matchAll(requestLine)].at(-1) ?? []
  return method === undefined || target === undefined ? undefined : { method, target: originForm(target) }
}
