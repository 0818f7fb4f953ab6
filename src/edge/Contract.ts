/**
 * The whole HTTP contract, composed of the capabilities' routes, from which everything is served, documented and tested. The router
 * is checked against it at start; tests and the simulator decode responses with it.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Accounts from "./accounts/Accounts.js"
import * as Endpoint from "./http/Endpoint.js"
import type { Example } from "./http/Example.js"
import type { Route } from "./http/Route.js"
import { tags } from "./http/Tags.js"
import * as Funds from "./funds/Funds.js"
import * as Identity from "./identity/Identity.js"
import * as Markets from "./markets/Markets.js"
import { withWords } from "./members/Members.js"
import * as Operator from "./operator/Operator.js"
import * as Orders from "./orders/Orders.js"
import * as System from "./system/System.js"

const all = [...Orders.routes, ...Accounts.routes, ...Identity.routes, ...Funds.routes, ...Markets.routes, ...Operator.routes,
  ...System.routes] as const

/** Every endpoint's name. */
export type Name = HttpApiEndpoint.HttpApiEndpoint.Name<(typeof all)[number]["endpoint"]>

/** The names of the endpoints that are hot: the commands of clients. */
export type CommandName = HttpApiEndpoint.HttpApiEndpoint.Name<Extract<(typeof all)[number], { readonly isHot: true }>["endpoint"]>

/** Every route of the venue. */
export const routes: ReadonlyArray<Route> = all

/** An answer that is an envelope, which is a component. */
interface Envelope {
  readonly content: { readonly "application/json": { readonly schema: { readonly $ref: string } } }
}

const decodeErrorText = "The request did not match the expected schema"

/**
 * The document as published. The platform's own decode error is never sent, so its schema is removed, and what it says of a 400 is
 * replaced by what the envelope says. Schemas that allow anything all have the same `$id`, which must not occur twice, so it is removed
 * too.
 */
const published = (document: Record<string, unknown>): Record<string, unknown> => {
  const unsent = new Set(["HttpApiDecodeError", "Issue", "PropertyKey"])
  const isUnsent = (schema: unknown): boolean =>
    typeof schema === "object" && schema !== null && "$ref" in schema && schema.$ref === "#/components/schemas/HttpApiDecodeError"
  const clean = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((item) => !isUnsent(item)).map(clean)
    if (typeof value !== "object" || value === null) return value
    const members = Object.entries(value).map(([key, member]) => [key, clean(member)] as const)
    const anyOf = members.find(([key]) => key === "anyOf")?.[1]
    if (Array.isArray(anyOf) && anyOf.length === 1 && members.length === 1) return anyOf[0]
    const named = Object.fromEntries(members.filter(([key]) => key !== "$id"))
    return named["description"] === decodeErrorText ? { ...named, description: wordsOf(named as unknown as Envelope) } : named
  }
  const { components, ...rest } = document
  const { schemas, ...others } = components as { readonly schemas: Record<string, { readonly description?: string }> }
  const wordsOf = ({ content }: Envelope): string | undefined =>
    schemas[content["application/json"].schema.$ref.split("/").at(-1)!]?.description
  const kept = Object.entries(schemas).filter(([name]) => !unsent.has(name))
  return { ...clean(rest) as object, components: { schemas: clean(Object.fromEntries(kept)), ...others } }
}

const told = (description: string) => ({ description, schema: { type: "integer" } })

/** Headers of every answer. */
const usualHeaders = {
  "x-request-id": { description: "The request's name.", schema: { type: "string" } },
  "RateLimit-Limit": told("Requests that may be made in a window."),
  "RateLimit-Remaining": told("How many of them are left, behind this one."),
  "RateLimit-Reset": told("Seconds until the window ends.")
}
const repeatHeaders = {
  "Idempotent-Replayed": {
    description: "`true` where this tells again what was decided of an earlier request with the same Idempotency-Key and body; "
      + "absent otherwise.",
    schema: { type: "string", enum: ["true"] }
  }
}
const policyHeaders = {
  "x-service-runtime-policy-version": {
    description: "A digest of what this venue has on and off: with every answer of the route, also where it is off.",
    schema: { type: "string" }
  }
}
/** A header of a refusal for exceeding a limit. */
const retryHeaders = { "Retry-After": told("Seconds to wait before the same request is sent again: 1 to 60.") }

/** The document with every header as a component, to which thousands of answers refer. */
const withHeaderComponents = (document: Record<string, unknown>): Record<string, unknown> => ({
  ...document,
  components: {
    ...document["components"] as object,
    headers: { ...usualHeaders, ...repeatHeaders, ...policyHeaders, ...retryHeaders }
  }
})

/** An operation of the document, as far as it is needed here. */
interface Documented {
  readonly operationId: string
  readonly summary: string
  readonly requestBody?: object
  readonly responses: Readonly<Record<string, object>>
}
type PathItem = Readonly<Record<string, Documented>>

/** The document with the operations of every path changed by `change`. */
const withPaths = (document: Record<string, unknown>, change: (item: PathItem) => PathItem): Record<string, unknown> => {
  const paths = Object.entries(document["paths"] as Readonly<Record<string, PathItem>>)
  return { ...document, paths: Object.fromEntries(paths.map(([path, item]) => [path, change(item)])) }
}

/** The document with every operation changed by `change`, which also gets its endpoint. */
const withOperations = (
  document: Record<string, unknown>,
  change: (operation: Documented, endpoint: Endpoint.Described) => Documented
): Record<string, unknown> =>
  withPaths(document, (item) =>
    Object.fromEntries(Object.entries(item).map(([method, operation]) => {
      const endpoint = endpoints.find(({ name }) => name === operation.operationId)!
      return [method, change(operation, endpoint)]
    })))

/** The answers of an operation, each changed by `change`. */
const answersOf = ({ responses }: Documented, change: (answer: object, status: string) => object): Documented["responses"] =>
  Object.fromEntries(Object.entries(responses).map(([status, answer]) => [status, change(answer, status)]))

/** An answer with more headers than it has, each of them a component. */
const withHeaders = (answer: object, headers: object): object => ({
  ...answer,
  headers: {
    ...(answer as { readonly headers?: object }).headers,
    ...Object.fromEntries(Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]))
  }
})

/** Adds the header that marks a repeated decision to every answer that may carry it: of operations with an Idempotency-Key. */
const withRepeats = (document: Record<string, unknown>): Record<string, unknown> =>
  withOperations(document, (operation, { headersSchema }) =>
    headersSchema === undefined ? operation : {
      ...operation,
      responses: answersOf(operation, (answer, status) => undecided.has(status) ? answer : withHeaders(answer, repeatHeaders))
    })

/** Documents the header that says which of the venue's features are on, on the answers of routes that belong to a feature. */
const withPolicy = (document: Record<string, unknown>): Record<string, unknown> =>
  withOperations(document, (operation, { feature }) =>
    feature === undefined ? operation : {
      ...operation,
      responses: answersOf(operation, (answer) => withHeaders(answer, policyHeaders))
    })

/** Answers that are never remembered. */
const undecided: ReadonlySet<string> = new Set(["401", "429", "500", "501", "503"])

/** Adds to all answers the headers that all have, and to a refusal for exceeding a limit when to come again. */
const withUsualHeaders = (document: Record<string, unknown>): Record<string, unknown> =>
  withOperations(document, (operation) => ({
    ...operation,
    responses: answersOf(operation,
      (answer, status) => withHeaders(answer, status === "429" ? { ...usualHeaders, ...retryHeaders } : usualHeaders))
  }))

/** An answer as `HEAD` gets it: without the body. */
const withoutBody = (answer: object): object => Object.fromEntries(Object.entries(answer).filter(([member]) => member !== "content"))

/** Adds `HEAD` wherever there is `GET`: the router serves both with the same route. */
const withHead = (document: Record<string, unknown>): Record<string, unknown> =>
  withPaths(document, (item) => {
    const { get } = item
    if (get === undefined) return item
    const { operationId, summary } = get
    const responses = answersOf(get, withoutBody)
    return { ...item, head: { ...get, operationId: `${operationId}Head`, summary: `${summary}: the answer's head alone`, responses } }
  })

/** Marks bodies that may be omitted. */
const withOptionalBodies = (document: Record<string, unknown>): Record<string, unknown> =>
  withOperations(document, (operation, { bodyIsOptional }) =>
    bodyIsOptional ? { ...operation, requestBody: { ...operation.requestBody, required: false } } : operation)

type Group = HttpApiGroup.HttpApiGroup<string, HttpApiEndpoint.HttpApiEndpoint.Any, never, never, true>

/** The routes of one chapter, as the document groups them. */
const group = (tag: string): Group =>
  routes.filter((route) => route.tag === tag).reduce<Group>(
    (made, { endpoint }) => made.add(endpoint),
    HttpApiGroup.make(tag, { topLevel: true })
  )

const api = Object.keys(tags)
  .reduce<Endpoint.Api>((made, tag) => made.add(group(tag)), HttpApi.make("perpetuum"))
  .annotate(OpenApi.Title, "Perpetuum")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.Description, "A perpetual-futures trading venue. /v1 is native, /v2 speaks exchange-library vocabulary. "
    + "Every response carries x-request-id, which names the record that decided it, if one did. "
    + "A request is answered before it comes to a route where there is none for its path (404) or its method (405), where it cannot be "
    + "read (400) or has a body of more than 64 KiB (413, also where no body is taken), and where its address has used up its limit "
    + "(429): any path may have these, in the same envelopes. So may any but those of health, metrics, the reference and the owner's pages "
    + "have 503, while the venue starts or stops. "
    + "A response is sent only after what it says is durable.")
  .annotate(OpenApi.Transform,
    (document) =>
      withHeaderComponents(withHead(withPolicy(withRepeats(withUsualHeaders(withOptionalBodies(withWords(published(document)))))))))

/** Every endpoint, in the order of the contract. */
export const endpoints: ReadonlyArray<Endpoint.Described> = Endpoint.describe(api)

/** One good request of every endpoint. */
export const examples = Object.fromEntries(routes.map(({ endpoint, example }) => [endpoint.name, example])) as Readonly<
  Record<Name, Example>
>

/** The OpenAPI 3.1 document of the contract. */
export const openApi = (): OpenApi.OpenAPISpec => OpenApi.fromApi(api)
