/**
 * Runs the routes that are Effects: decodes what the contract declares, runs the handler on the venue's own runtime, and releases
 * the answer once the state it was read from is durable.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { Level, TraderOf } from "./Access.js"
import { type Caller, outBy } from "./Admission.js"
import type { Call } from "./Call.js"
import type { Described } from "./Endpoint.js"
import { assert } from "../../domain/Assert.js"
import * as Errors from "./Errors.js"
import * as Naming from "./Naming.js"
import * as Requests from "./Requests.js"
import * as Underway from "./Underway.js"

/** A response body that is already text, where building values would be too expensive. Tests check it against the schema. */
export class Rendered {
  constructor(
    readonly body: string,
    readonly status: number = 200,
    /** Beside the usual ones. */
    readonly headers?: Readonly<Record<string, string>>,
    /** Whether it is the same for every caller as long as the venue runs. */
    readonly isFixed?: boolean
  ) {}
}

/** An answer without a body. */
export const noContent = new Rendered("", 204)

/** An answer that is a failure. */
export const fail = (failure: Errors.Failure): Effect.Effect<never, Errors.Failure> => Effect.fail(failure)

/** A body that is made here as its schema says: tests decode every one with it. */
export const json = (value: object): Effect.Effect<Rendered> => Effect.succeed(new Rendered(JSON.stringify(value)))

/** The input of a handler: everything its endpoint declares, decoded, with the caller and the origin. */
export type Input<E extends HttpApiEndpoint.HttpApiEndpoint.Any, L extends Level> =
  & Omit<HttpApiEndpoint.HttpApiEndpoint.Request<E>, "request">
  & { readonly trader: TraderOf<L>; readonly remoteAddress: string }

/** A handler of one endpoint. */
export type Handler<E extends HttpApiEndpoint.HttpApiEndpoint.Any, L extends Level> = (
  input: Input<E, L>
) => Effect.Effect<HttpApiEndpoint.HttpApiEndpoint.Success<E> | Rendered, Errors.Failure>

const strict = { onExcessProperty: "error", errors: "first" } as const

/** The first offending part of a value. */
interface Offending {
  /** Its path, as `orders[3].price`; empty for the value itself. */
  readonly path: string
  readonly fault: "missing" | "unknown" | "invalid"
  /** Names that are valid in its place. */
  readonly known: ReadonlyArray<string>
}

const namesOf = (ast: SchemaAST.AST): ReadonlyArray<string> =>
  SchemaAST.isTypeLiteral(ast) ? ast.propertySignatures.map(({ name }) => String(name)) : []

const offending = (issue: ParseResult.ParseIssue): Offending => {
  const path: Array<PropertyKey> = []
  let known: ReadonlyArray<string> = []
  let fault: Offending["fault"] = "invalid"
  let current: ParseResult.ParseIssue | undefined = issue
  while (current !== undefined) {
    switch (current._tag) {
      case "Pointer":
        path.push(...(Array.isArray(current.path) ? current.path : [current.path]) as ReadonlyArray<PropertyKey>)
        current = current.issue
        break
      case "Composite":
        known = namesOf(current.ast)
        current = (Array.isArray(current.issues) ? current.issues[0] : current.issues) as ParseResult.ParseIssue | undefined
        break
      case "Refinement":
      case "Transformation":
        current = current.issue
        break
      default:
        fault = current._tag === "Missing" ? "missing" : current._tag === "Unexpected" ? "unknown" : "invalid"
        current = undefined
    }
  }
  const text = path.map((part, index) => typeof part === "number" ? `[${part}]` : `${index === 0 ? "" : "."}${String(part)}`).join("")
  return { path: text, fault, known }
}

/** Unknown member names come from the client: a message repeats one only if it looks like a name. */
const named = (issue: ParseResult.ParseIssue, part: string): string => {
  const { fault, known, path } = offending(issue)
  const name = /[^.\]]*$/.exec(path)![0]
  if (path === "" || (fault === "unknown" && !Naming.isPlausible(name))) {
    return fault === "unknown" ? `The request has a ${part} that this route does not know.` : `The ${part} is not valid.`
  }
  if (!/^[A-Za-z0-9_.[\]-]{1,128}$/.test(path)) return `The ${part} is not valid.`
  if (fault === "missing") return `The ${part} ${path} is missing.`
  if (fault === "invalid") return `The ${part} ${path} is not valid.`
  const meant = Naming.meant(name, known)
  return `This route does not know the ${part} ${path}${meant === undefined ? "" : ` (did you mean ${meant}?)`}.`
}

/** A value as a schema has it, or what a client is told is wrong with it. */
export const decode = (
  schema: Schema.Schema<unknown, unknown> | undefined,
  value: unknown,
  part: string
): Either.Either<unknown, Errors.Failure> =>
  schema === undefined
    ? Either.right(undefined)
    : Either.mapLeft(
      Schema.decodeUnknownEither(schema, strict)(value),
      (error) => Errors.invalidRequest(named(error.issue, part))
    )

const absent = { value: undefined }
const nothingSent = { value: {} }

/** A body on a route that takes none: absent, or an empty object. */
const noBody = (call: Call): typeof absent | Errors.Failure => {
  if (Requests.isEmpty(call.request)) return absent
  const json = Requests.json(call.request)
  const value = Requests.isFailure(json) ? undefined : json.value
  return typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
    ? absent
    : Errors.invalidRequest("This route takes no body.")
}

/**
 * What the endpoint declares of a request, decoded; a failure for the first invalid part, in the same order as on the hot routes.
 */
const read = (call: Call): Record<string, unknown> | Errors.Failure => {
  const { endpoint, request } = call
  const headers = endpoint.headersSchema
  const json = endpoint.payloadSchema === undefined
    ? noBody(call)
    : endpoint.bodyIsOptional && Requests.isEmpty(request)
    ? nothingSent
    : Requests.json(request)
  if (Requests.isFailure(json)) return json
  const query = Requests.query(call.query)
  if (Requests.isFailure(query)) return query
  if (endpoint.urlParamsSchema === undefined && Object.keys(query).length > 0) {
    return Errors.invalidRequest("This route takes no query parameter.")
  }
  if (headers !== undefined && Requests.idempotencyKey(request) === undefined) return Requests.idempotencyKeyNeeded(request)
  const path = decode(endpoint.pathSchema, call.params, "path")
  if (Either.isLeft(path)) return path.left
  const urlParams = decode(endpoint.urlParamsSchema, query, "query parameter")
  if (Either.isLeft(urlParams)) return urlParams.left
  const payload = decode(endpoint.payloadSchema, json.value, "member")
  if (Either.isLeft(payload)) return payload.left
  return {
    path: path.right,
    urlParams: urlParams.right,
    payload: payload.right,
    headers: headers === undefined ? undefined : { "idempotency-key": request.headers["idempotency-key"] }
  }
}

/** The success of an endpoint that answers without a body. */
const nothing = { schema: Schema.Unknown as Schema.Schema<unknown, unknown>, kind: "json", contentType: "" } as const

/** How an endpoint answers where it succeeds, and the encoding of what it answers. */
const answering = (endpoint: Described) => {
  const success = endpoint.isEmpty ? nothing : endpoint.answers.get(200)
  assert(success !== undefined, "an endpoint has a success")
  const { contentType, kind, schema } = success
  return { contentType, kind, encode: Schema.encodeUnknownSync(schema) }
}

/** Whether an endpoint only reads, as it does where a key is enough that may only read. */
const isRead = ({ access, method }: Described): boolean => method === "GET" || access === "read"

/** Serves one endpoint with its handler. The route answers every call exactly once. */
export const serve = (
  endpoint: Described,
  handler: (input: never) => Effect.Effect<unknown, Errors.Failure>,
  runtime: Runtime.Runtime<never>
): (call: Call, caller: Caller) => void => {
  // Made for the first answer: a start that made them for all endpoints would take a tenth longer.
  let made: ReturnType<typeof answering> | undefined
  const handle = handler as (input: object) => Effect.Effect<unknown, Errors.Failure>
  // Health and readiness are about the process and must not wait for the writer.
  const waits = endpoint.access !== "system" || endpoint.name === "getMetrics"
  const release = (call: Call, failure: Errors.Failure): void => waits ? call.failDurably(failure) : call.fail(failure)
  const releaseBody = (call: Call, ...answer: Parameters<Call["send"]>): void => waits ? call.sendDurably(...answer) : call.send(...answer)
  const succeed = (call: Call, value: unknown): void => {
    const { contentType, encode, kind } = made ??= answering(endpoint)
    if (value instanceof Rendered) {
      return releaseBody(call, value.status, contentType, value.body, value.headers, value.isFixed)
    }
    const encoded = encode(value)
    const body = kind === "text" ? String(encoded) : JSON.stringify(encoded)
    releaseBody(call, 200, contentType, body)
  }
  return (call, { trader }) => {
    const input = read(call)
    if (Requests.isFailure(input)) return call.fail(input)
    const effect = Effect.suspend(() => handle({ ...input, trader, remoteAddress: call.remoteAddress })).pipe(
      Effect.locally(Underway.call, call)
    )
    let hasWaited = false
    Runtime.runCallback(runtime)(effect, {
      onExit: (exit) => {
        call.safely(() => {
          const failure = Exit.isSuccess(exit) ? Option.none() : Cause.failureOption(exit.cause)
          if (Exit.isFailure(exit) && Option.isNone(failure)) return call.crash(exit.cause)
          // A read that has waited tells nothing of an account to whom it would not be told now; what a command decided, it answers.
          const out = hasWaited && trader !== undefined && isRead(endpoint) ? outBy(call) : undefined
          if (out !== undefined) release(call, out)
          else if (Option.isSome(failure)) release(call, failure.value)
          else if (Exit.isSuccess(exit)) succeed(call, exit.value)
        })
      }
    })
    hasWaited = true
  }
}

/** Logs a defect on the venue's runtime, under the id that its request's answer has. */
export const report = (
  runtime: Runtime.Runtime<never>,
  { endpoint: { name: route }, requestId }: Pick<Call, "endpoint" | "requestId">,
  cause: unknown
): void => {
  const logged = Cause.isCause(cause) ? cause : Cause.die(cause)
  Runtime.runCallback(runtime)(Effect.annotateLogs(Effect.logError("A request met a defect", logged), { requestId, route }))
}
