/**
 * The whole HTTP contract as one declaration: what is served, documented and tested all come from here.
 * Handlers are typed from it, the router is compared with it at start, responses are decoded with it in
 * tests and in the simulator.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiError from "@effect/platform/HttpApiError"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { Access } from "./contract/Access.js"
import type { Level } from "./contract/Access.js"
import * as Accounts from "./contract/Accounts.js"
import * as Compat from "./contract/Compat.js"
import type { Family } from "./contract/Envelopes.js"
import * as Markets from "./contract/Markets.js"
import * as Operator from "./contract/Operator.js"
import * as Orders from "./contract/Orders.js"
import * as Safety from "./contract/Safety.js"
import * as System from "./contract/System.js"

const decodeErrorText = "The request did not match the expected schema"
const badRequestText = "400: invalid_request, operation_not_available"

/** The platform's own decode error is never sent: its shape is taken out of the document. */
const withoutDecodeError = (document: Record<string, unknown>): Record<string, unknown> => {
  const unsent = new Set(["HttpApiDecodeError", "Issue", "PropertyKey"])
  const isUnsent = (schema: unknown): boolean =>
    typeof schema === "object" && schema !== null && "$ref" in schema && schema.$ref === "#/components/schemas/HttpApiDecodeError"
  const clean = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((item) => !isUnsent(item)).map(clean)
    if (typeof value !== "object" || value === null) return value
    const members = Object.entries(value).map(([key, member]) => [key, clean(member)] as const)
    const anyOf = members.find(([key]) => key === "anyOf")?.[1]
    if (Array.isArray(anyOf) && anyOf.length === 1 && members.length === 1) return anyOf[0]
    return Object.fromEntries(members.map(([key, member]) => [key, member === decodeErrorText ? badRequestText : member]))
  }
  const { components, ...rest } = document
  const { schemas, ...others } = components as { readonly schemas: Record<string, unknown> }
  const kept = Object.entries(schemas).filter(([name]) => !unsent.has(name))
  return { ...clean(rest) as object, components: { schemas: clean(Object.fromEntries(kept)), ...others } }
}

export const api = HttpApi.make("perpetuum")
  .add(Orders.group)
  .add(Safety.group)
  .add(Accounts.group)
  .add(Markets.group)
  .add(Compat.tradingGroup)
  .add(Compat.marketGroup)
  .add(Operator.group)
  .add(System.group)
  .annotate(OpenApi.Title, "Perpetuum")
  .annotate(OpenApi.Version, "1.0.0")
  .annotate(OpenApi.Description, "A perpetual-futures trading venue. /v1 is native, /v2 speaks exchange-library vocabulary. "
    + "Every response carries x-request-id. A response is sent only after what it says is durable.")
  .annotate(OpenApi.Transform, withoutDecodeError)

type GroupOf<A> = A extends HttpApi.HttpApi<infer _Id, infer Groups, infer _E, infer _R> ? Groups : never
/** Every endpoint of the contract. */
export type Endpoint = HttpApiGroup.HttpApiGroup.Endpoints<GroupOf<typeof api>>
/** Every endpoint's name. */
export type Name = HttpApiEndpoint.HttpApiEndpoint.Name<Endpoint>

/** One way of answering an endpoint. */
export interface Answer {
  readonly schema: Schema.Schema<unknown, unknown>
  /** JSON, or text as it is. */
  readonly kind: "json" | "text"
  readonly contentType: string
}

/** One endpoint of the contract, ready to be served. */
export interface Described {
  readonly name: string
  readonly method: string
  /** With `:name` parameters. */
  readonly path: string
  readonly family: Family
  readonly access: Level
  readonly pathSchema: Schema.Schema<unknown, unknown> | undefined
  readonly urlParamsSchema: Schema.Schema<unknown, unknown> | undefined
  readonly headersSchema: Schema.Schema<unknown, unknown> | undefined
  readonly payloadSchema: Schema.Schema<unknown, unknown> | undefined
  /** By HTTP status, successes and envelopes. */
  readonly answers: ReadonlyMap<number, Answer>
}

/** The family that a path belongs to, as the router reads it: percent-encoded letters are the letters. */
export const familyOf = (path: string): Family => {
  const end = path.indexOf("/", 1)
  const first = end < 0 ? path : path.slice(0, end)
  return (first.includes("%") ? decoded(first) : first) === "/v2" ? "compat" : "native"
}

/** What percent-encoding stands for, but for reserved characters; as it is where it stands for nothing. */
const decoded = (segment: string): string => {
  try {
    return decodeURI(segment)
  } catch {
    return segment
  }
}

/** A schema without the platform's own decode error, which is never sent. */
const sent = (ast: SchemaAST.AST): SchemaAST.AST =>
  SchemaAST.isUnion(ast)
    ? SchemaAST.Union.make(ast.types.filter((type) => type !== HttpApiError.HttpApiDecodeError.ast))
    : ast

const answerOf = (whole: SchemaAST.AST): Answer => {
  const ast = sent(whole)
  const encoding = HttpApiSchema.getEncoding(ast)
  return { schema: Schema.make(ast), kind: encoding.kind === "Text" ? "text" : "json", contentType: encoding.contentType }
}

/** Every endpoint, in the order of the contract. */
export const endpoints: ReadonlyArray<Described> = (() => {
  const described: Array<Described> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, errors, successes }) => {
      const answers = new Map<number, Answer>()
      for (const [status, { ast }] of [...errors, ...successes]) {
        if (Option.isSome(ast)) {
          const envelope = answers.get(status)
          const answer = answerOf(ast.value)
          answers.set(
            status,
            envelope === undefined ? answer : { ...answer, schema: Schema.Union(answer.schema, envelope.schema) }
          )
        }
      }
      described.push({
        name: endpoint.name,
        method: endpoint.method,
        path: endpoint.path,
        family: familyOf(endpoint.path),
        access: Context.get(
          Context.merge(Context.make(Access, "public"), endpoint.annotations) as Context.Context<Access>,
          Access
        ),
        pathSchema: Option.getOrUndefined(endpoint.pathSchema) as Described["pathSchema"],
        urlParamsSchema: Option.getOrUndefined(endpoint.urlParamsSchema) as Described["urlParamsSchema"],
        headersSchema: Option.getOrUndefined(endpoint.headersSchema) as Described["headersSchema"],
        payloadSchema: Option.getOrUndefined(endpoint.payloadSchema) as Described["payloadSchema"],
        answers
      })
    }
  })
  return described
})()

/** The OpenAPI 3.1 document of the contract. */
export const openApi = (): OpenApi.OpenAPISpec => OpenApi.fromApi(api)
