/**
 * Safety (no drift). Every response matches the contract's declaration for its endpoint and status, and every status is declared by the
 * endpoint; unknown routes and malformed requests are answered in their family's envelope, too. Answers that depend on a credential, or
 * belong to a sign-in, are marked as not to be cached. Where pages of a site may call the venue, each answer says that it differs by the
 * page's site, and lets pages of that site alone read it.
 */
import { Either, ParseResult, Schema } from "effect"
import * as Contract from "../../src/edge/Contract.js"
import * as Endpoint from "../../src/edge/http/Endpoint.js"
import * as Envelopes from "../../src/edge/http/Envelopes.js"
import * as Failures from "../../src/edge/http/Failures.js"
import * as Acceptance from "./Acceptance.js"
import { type Answer, type Call, listedOrigin, originOf } from "./Observation.js"
import { broken, holds, type Property } from "./Property.js"
import { signingIn } from "./rateLimit.js"

/** Undefined where the schema accepts, otherwise the reason why it does not. */
type Judge = (input: unknown) => string | undefined

/** A schema that refuses unknown members; values that pass the quick check are not decoded. */
const judge = (schema: Schema.Schema.AnyNoContext): Judge => {
  const accepts = Acceptance.compile(schema)
  const decode = Schema.decodeUnknownEither(schema, { onExcessProperty: "error" })
  return (input) => {
    if (accepts(input)) return undefined
    const decoded = decode(input)
    return Either.isRight(decoded) ? undefined : ParseResult.TreeFormatter.formatErrorSync(decoded.left)
  }
}

/** By endpoint name and status, and by family and status for requests without an endpoint. */
const judges: ReadonlyMap<string, Judge> = (() => {
  const all = new Map<string, Judge>()
  for (const endpoint of Contract.endpoints) {
    for (const [status, answer] of endpoint.answers) {
      if (answer.kind === "json") all.set(`${endpoint.name} ${status}`, judge(answer.schema))
    }
  }
  for (const status of Failures.unrouted) {
    all.set(`native ${status}`, judge(Envelopes.nativeError(status)))
    all.set(`compat ${status}`, judge(Envelopes.compatError(status)))
  }
  return all
})()

/** Endpoints that succeed without a body: they declare no success with one. */
const empty: ReadonlySet<string> = new Set(Contract.endpoints.flatMap(({ answers, name }) => answers.has(200) ? [] : [name]))

const texts: ReadonlySet<string> = new Set(
  Contract.endpoints.flatMap((endpoint) => [...endpoint.answers.values()].some((answer) => answer.kind === "text") ? [endpoint.name] : [])
)

/** Endpoints whose answers may be cached: without a credential they are the same for everybody, unless they lead to one. */
const kept: ReadonlySet<string> = new Set(
  Contract.endpoints.flatMap(({ access, name }) => (access === "public" || access === "system") && !signingIn.has(name) ? [name] : [])
)

/** Whether an answer lacks the header against caching. A failure is kept by nobody, since it may be over in a moment. */
const mayBeKept = ({ endpoint }: Call, { headers, status }: Answer): boolean =>
  headers["cache-control"] !== "no-store" && (status >= 400 || (endpoint !== "" && !kept.has(endpoint)))

/** Whose pages may read an answer, and whether it says that others may not, where pages of a site may call the venue. */
const originFault = (call: Call, { headers }: Answer): string | undefined => {
  const origin = originOf(call)
  const allowed = origin === listedOrigin ? origin : undefined
  const [told, vary] = [headers["access-control-allow-origin"], headers["vary"]]
  return told === allowed && vary === "origin" ? undefined : `to a page of ${origin}, to be read by ${told}, and it varies by ${vary}`
}

interface State {
  /** Whether pages of a site may call the venue. */
  hasOrigins: boolean
}

export const schemaConformance: Property<State> = {
  name: "responses-keep-the-contract",
  invariant: "contract",
  kind: "safety",
  initial: () => ({ hasOrigins: false }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.hasOrigins = seen.set.origins
    if (seen._tag !== "Answered") return holds
    const { answer, call } = seen
    const what = `${call.method} ${call.target} answered ${answer.status}`
    if (answer.status === 500) return broken(`${what}: ${answer.text}`)
    if (mayBeKept(call, answer)) return broken(`${what} and may be kept on its way: ${JSON.stringify(answer.headers)}`)
    const ofOrigin = state.hasOrigins ? originFault(call, answer) : undefined
    if (ofOrigin !== undefined) return broken(`${what} ${ofOrigin}`)
    const name = call.endpoint === "" ? Endpoint.familyOf(call.target.split("?")[0]!) : call.endpoint
    if (answer.status === 204 && empty.has(name)) return answer.text === "" ? holds : broken(`${what} with a body: ${answer.text}`)
    if (texts.has(name) && answer.status === 200) return holds
    const judge = judges.get(`${name} ${answer.status}`)
    if (judge === undefined) return broken(`${what}, which ${name} does not declare: ${answer.text}`)
    if (answer.json === undefined) return broken(`${what} with a body that is no JSON: ${answer.text}`)
    const fault = judge(answer.json)
    return fault === undefined ? holds : broken(`${what}, against its schema: ${fault}: ${answer.text}`)
  }
}
