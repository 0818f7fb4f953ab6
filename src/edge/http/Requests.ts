/** The parts of a request that every route reads alike: query, content type, idempotency key, JSON body. */
import { isAscii, isUtf8 } from "node:buffer"
import * as Ids from "../../domain/Ids.js"
import * as Errors from "./Errors.js"
import type { Request } from "./Listener.js"

/** Largest request body in bytes. */
export const bodyLimit = 64 * 1024

/** Query parameters by name; a failure for a duplicate or for invalid percent-encoding. */
export const query = (text: string): Readonly<Record<string, string>> | Errors.Failure => {
  const parameters = new Map<string, string>()
  for (const part of text === "" ? [] : text.split("&")) {
    if (part === "") continue
    const at = part.indexOf("=")
    const name = decode(at < 0 ? part : part.slice(0, at))
    const value = decode(at < 0 ? "" : part.slice(at + 1))
    if (name === undefined || value === undefined) return Errors.invalidRequest("The query is not percent-encoded UTF-8.")
    if (parameters.has(name)) return Errors.invalidRequest("A query parameter is given twice.")
    parameters.set(name, value)
  }
  return Object.fromEntries(parameters)
}

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undefined
  }
}

/** Whether a value is a failure rather than what was asked for. */
export const isFailure = (value: object): value is Errors.Failure => "description" in value

const colon = 58
const quote = 34
const backslash = 92

/** The number of object members in a JSON text: each has one colon outside of strings. */
const membersWritten = (text: Uint8Array): number => {
  let members = 0
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]
    if (byte === colon) members++
    else if (byte === quote) {
      for (at++; text[at] !== quote; at++) if (text[at] === backslash) at++
    }
  }
  return members
}

/** The number of object members in a JSON value. */
const membersOf = (value: unknown): number => {
  let members = 0
  // A list in place of recursion, since a body may nest as deeply as it is long.
  const open: Array<unknown> = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (typeof next !== "object" || next === null) continue
    const within: ReadonlyArray<unknown> = Array.isArray(next) ? next : Object.values(next)
    if (within !== next) members += within.length
    for (const inner of within) if (typeof inner === "object" && inner !== null) open.push(inner)
  }
  return members
}

/** A member is given twice in one object: readers disagree on which one counts. */
export const memberTwice: Errors.Failure = Errors.invalidRequest("A member of the body is given twice.")

/** The JSON value of a body in UTF-8; undefined when it is not one, a failure where a member is given twice. */
export const parseJson = (body: Uint8Array): { readonly value: unknown } | Errors.Failure | undefined => {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  // ASCII is copied; anything else is decoded.
  const encoding = isAscii(bytes) ? "latin1" : isUtf8(bytes) ? "utf8" : undefined
  if (encoding === undefined) return undefined
  const text = bytes.toString(encoding)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  return membersWritten(bytes) === membersOf(value) ? { value } : memberTwice
}

const jsonType = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

/** Whether a request says that its body is JSON in UTF-8. */
export const isOfJson = ({ headers: { "content-type": type } }: Request): boolean =>
  type !== undefined && (type === "application/json" || jsonType.test(type))

/** Whether a request came without a body. */
export const isEmpty = ({ body, json }: Request): boolean => json === undefined && body.byteLength === 0

/** The body's JSON value; a failure for another type, a coding, a size beyond the limit, bytes that are no JSON, a member given twice. */
export const json = (request: Request): { readonly value: unknown } | Errors.Failure => {
  if (request.json !== undefined) return request.json
  const type = request.headers["content-type"]
  if (type === undefined && request.body.byteLength === 0) return bodyMissing
  if (!isOfJson(request)) return Errors.unsupportedMediaType
  const coding = request.headers["content-encoding"]
  if (coding !== undefined && !/^(?:identity)?$/i.test(coding)) return Errors.unsupportedCoding
  if (request.body.byteLength > bodyLimit) return Errors.payloadTooLarge
  if (request.body.byteLength === 0) return bodyMissing
  return parseJson(request.body) ?? Errors.invalidRequest("The body is not JSON in UTF-8.")
}

/** What a request without a body is told where a body is needed. */
const bodyMissing: Errors.Failure = Errors.invalidRequest(
  "The body is empty: this route takes one, as JSON with Content-Type: application/json."
)

/** The idempotency key; undefined when it is missing or malformed. */
export const idempotencyKey = (request: Request): string | undefined => {
  const key = request.headers["idempotency-key"]
  return key !== undefined && Ids.isIdempotencyKey(key) ? key : undefined
}

const keyMalformed = Errors.invalidRequest("idempotency-key: the header must be 1 to 255 visible ASCII characters.")
const keyMissing = Errors.invalidRequest(
  "idempotency-key: the header is missing. Send one of 1 to 255 visible ASCII characters, a new one for each new request, and the same "
    + "one again when the request is repeated."
)

/** What a request without a proper idempotency key is told: whether it has none, or none that could be one. */
export const idempotencyKeyNeeded = (request: Request): Errors.Failure =>
  (request.headers["idempotency-key"] ?? "") === "" ? keyMissing : keyMalformed
