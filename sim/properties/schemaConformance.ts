/**
 * Safety (no drift). Every response is what the contract declares for its endpoint and status, and every
 * status is one that the endpoint declares; unknown routes and malformed requests answer in their family's
 * envelope too.
 */
import { Either, ParseResult, Schema } from "effect"
import * as Contract from "../../src/edge/Contract.js"
import * as Envelopes from "../../src/edge/contract/Envelopes.js"
import { broken, holds, type Property } from "./Property.js"

type Decode = (input: unknown) => Either.Either<unknown, ParseResult.ParseError>

/** Decoders by endpoint name and status; refusing members that the contract does not know. */
const decoders: ReadonlyMap<string, Decode> = (() => {
  const all = new Map<string, Decode>()
  for (const endpoint of Contract.endpoints) {
    for (const [status, answer] of endpoint.answers) {
      if (answer.kind === "json") {
        all.set(`${endpoint.name} ${status}`, Schema.decodeUnknownEither(answer.schema, { onExcessProperty: "error" }))
      }
    }
  }
  for (const status of Envelopes.statuses) {
    all.set(`native ${status}`, Schema.decodeUnknownEither(Envelopes.nativeError(status), { onExcessProperty: "error" }) as Decode)
    all.set(`compat ${status}`, Schema.decodeUnknownEither(Envelopes.compatError(status), { onExcessProperty: "error" }) as Decode)
  }
  return all
})()

const texts: ReadonlySet<string> = new Set(
  Contract.endpoints.flatMap((endpoint) => [...endpoint.answers.values()].some((answer) => answer.kind === "text") ? [endpoint.name] : [])
)

export const schemaConformance: Property<null> = {
  name: "responses-keep-the-contract",
  invariant: "contract",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Answered") return holds
    const { answer, call } = seen
    const what = `${call.method} ${call.target} answered ${answer.status}`
    if (answer.status === 500) return broken(`${what}: ${answer.text}`)
    const name = call.endpoint === "" ? Contract.familyOf(call.target.split("?")[0]!) : call.endpoint
    if (texts.has(name) && answer.status === 200) return holds
    const decode = decoders.get(`${name} ${answer.status}`)
    if (decode === undefined) return broken(`${what}, which ${name} does not declare: ${answer.text}`)
    if (answer.json === undefined) return broken(`${what} with a body that is no JSON: ${answer.text}`)
    const decoded = decode(answer.json)
    return Either.isRight(decoded) ? holds : broken(`${what}, against its schema: ${ParseResult.TreeFormatter.formatErrorSync(decoded.left)}: ${answer.text}`)
  }
}
