/**
 * A route: one endpoint of the contract with its access, an example, and its handler, declared in one place. Every endpoint has a
 * route, since only routes bring endpoints into the contract.
 *
 * Hot routes are plain callbacks from request to inbox and from outcome to reply, without a fiber or an Effect per request; all
 * others are Effects. The order of checks is the same on every route:
 *
 * 1. credential, request limit and scope (the router, by the declared access and budget)
 * 2. content type, size, UTF-8, JSON
 * 3. members that are not supported (501)
 * 4. idempotency key
 * 5. shape of the body
 * 6. the account is the credential's
 * 7. the market's grid; everything else is decided by the engine
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type * as Runtime from "effect/Runtime"
import { assert } from "../../domain/Assert.js"
import { Canonical, type Fingerprint } from "../../operations/Fingerprint.js"
import type { Trader } from "../../engine/Reads.js"
import * as Access from "./Access.js"
import * as Budget from "./Budget.js"
import type { Caller } from "./Admission.js"
import type { Call, Params, Services } from "./Call.js"
import type { Described } from "./Endpoint.js"
import * as Errors from "./Errors.js"
import type { Example } from "./Example.js"
import * as Executor from "./Executor.js"
import * as Fields from "./Fields.js"
import * as Requests from "./Requests.js"
import { Fault } from "./Shapes.js"
import type { Tag } from "./Tags.js"

type AnyEndpoint = HttpApiEndpoint.HttpApiEndpoint.Any

/** Answers a call of an admitted caller exactly once, now or later. */
export type Run = (call: Call, caller: Caller) => void

/** One endpoint, declared and served. */
export interface Route<E extends AnyEndpoint = AnyEndpoint> {
  readonly endpoint: E
  readonly tag: Tag
  readonly example: Example
  readonly isHot: boolean
  /** Decodes a hot body by hand, exactly as the endpoint's schema does; absent where the schema itself decodes. */
  readonly decode?: (body: unknown) => object
  /** For a hot route: the fingerprint of its path and valid body. It does not depend on the venue's state. */
  readonly fingerprint?: (params: Params, body: never) => Fingerprint
  readonly serve: (services: Services, described: Described, runtime: Runtime.Runtime<never>) => Run
}

/** What every route declares. */
interface Declared<E extends AnyEndpoint, L extends Access.Level> {
  readonly tag: Tag
  readonly access: L
  readonly budget: Budget.Budget
  readonly endpoint: E
  readonly example: Example
}

/** A route that is an Effect. `handler` is made once for each venue. */
export const effect = <E extends AnyEndpoint, const L extends Access.Level>(
  { access, budget, endpoint, example, handler, tag }: Declared<E, L> & {
    readonly handler: (services: Services) => Executor.Handler<E, L>
  }
): Route<E> & { readonly isHot: false } => ({
  endpoint: Budget.declare(Access.declare(endpoint, access), budget),
  tag,
  example,
  isHot: false,
  serve: (services, described, runtime) => Executor.serve(described, handler(services), runtime)
})

/** The parts of a request whose key and body are valid. */
export interface Admitted<Body> {
  readonly trader: Trader
  /** The trader's account. */
  readonly accountId: string
  readonly idempotencyKey: string
  readonly body: Body
  /** The fingerprint of path and body as sent. */
  readonly fingerprint: Fingerprint
}

/** How a hot route reads its body. */
interface Reading<Body> {
  /** Gives the same value as the endpoint's schema, or the first fault. */
  readonly decode: (body: unknown) => Body | Fault
  /** Feeds a valid body to its fingerprint: every member counts. */
  readonly feed: (into: Canonical, body: Body) => void
  /** The first member in a body that only later releases will support: checked before anything else. */
  readonly unsupported?: (body: unknown) => string | undefined
}

/** The parameter names in a path. */
const namesIn = (path: string): ReadonlyArray<string> => [...path.matchAll(/:([A-Za-z]+)/g)].map(([, param]) => param!)

/** Steps 2 to 5; a failure for the first that fails. `names`: the path's parameters, each of which is a `Fields.Name`. */
const read = <Body extends object>(
  call: Call,
  names: ReadonlyArray<string>,
  { decode, unsupported }: Reading<Body>
): { readonly idempotencyKey: string; readonly body: Body } | Errors.Failure => {
  const json = Requests.json(call.request)
  if (Requests.isFailure(json)) return json
  const member = unsupported?.(json.value)
  if (member !== undefined) return Errors.memberNotSupported(member)
  if (call.query !== "") return Errors.invalidRequest("This route takes no query parameter.")
  const idempotencyKey = Requests.idempotencyKey(call.request)
  if (idempotencyKey === undefined) return Requests.idempotencyKeyNeeded(call.request)
  for (const name of names) {
    if (call.params[name]!.length > Fields.maxNameLength) return Errors.invalidRequest(`The path ${name} is not valid.`)
  }
  const body = decode(json.value)
  return body instanceof Fault ? Errors.invalidRequest(body.text) : { idempotencyKey, body }
}

const canonical = new Canonical()

/** Fingerprints of what path and body say. */
const fingerprinted = <Body>(names: ReadonlyArray<string>, feed: Reading<Body>["feed"]) => {
  return (params: Params, body: Body): Fingerprint => {
    canonical.begin()
    for (const name of names) canonical.text(params[name] ?? "")
    feed(canonical, body)
    return canonical.end()
  }
}

/** A hot route: `run` takes over at step 6. */
export const hot = <E extends AnyEndpoint, Body extends HttpApiEndpoint.HttpApiEndpoint.Payload<E> & object>(
  { access, budget, decode, endpoint, example, feed, run, tag, unsupported }: Declared<E, Access.TraderLevel> & Reading<Body> & {
    readonly run: (call: Call, admitted: Admitted<Body>) => void
  }
): Route<E> & { readonly isHot: true; readonly decode: (body: unknown) => Body | Fault } => {
  const reading: Reading<Body> = unsupported === undefined ? { decode, feed } : { decode, feed, unsupported }
  const { path } = endpoint as unknown as HttpApiEndpoint.HttpApiEndpoint.AnyWithProps
  const names = namesIn(path)
  const fingerprint = fingerprinted(names, feed)
  return {
    endpoint: Budget.declare(Access.declare(endpoint, access), budget),
    tag,
    example,
    isHot: true,
    decode,
    fingerprint,
    serve: ({ state }) => (call, { trader }) => {
      assert(trader !== undefined, "the router lets nobody in without a credential here")
      const found = read(call, names, reading)
      if (Requests.isFailure(found)) return call.fail(found)
      const { body, idempotencyKey } = found
      const accountId = state.accountId(trader.account)
      run(call, { trader, accountId, idempotencyKey, body, fingerprint: fingerprint(call.params, body) })
    }
  }
}
