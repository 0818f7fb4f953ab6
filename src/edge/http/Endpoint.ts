/** Endpoints of a contract as the edge serves them: the parts of an `HttpApi` that the router, the routes and the tests need. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiError from "@effect/platform/HttpApiError"
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { assert } from "../../domain/Assert.js"
import { Access, type Level } from "./Access.js"
import { type Budget, Draws } from "./Budget.js"
import { BodyIsOptional, Feature, type FeatureName } from "./Features.js"
import type { Family } from "./Envelopes.js"
import { streamPath } from "./Listener.js"

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
  readonly budget: Budget
  /** The feature that has to be enabled for the endpoint to exist; undefined for none. */
  readonly feature: FeatureName | undefined
  /** Whether a request without a body counts as one with an empty object. */
  readonly bodyIsOptional: boolean
  readonly pathSchema: Schema.Schema<unknown, unknown> | undefined
  readonly urlParamsSchema: Schema.Schema<unknown, unknown> | undefined
  readonly headersSchema: Schema.Schema<unknown, unknown> | undefined
  readonly payloadSchema: Schema.Schema<unknown, unknown> | undefined
  /** Whether its success is 204, without a body. */
  readonly isEmpty: boolean
  /** Answers with a body by HTTP status: successes and envelopes. */
  readonly answers: ReadonlyMap<number, Answer>
}

/** The family of a path as the router reads it: percent-encoded letters count as the letters. */
export const familyOf = (path: string): Family => {
  const end = path.indexOf("/", 1)
  const first = end < 0 ? path : path.slice(0, end)
  return (first.includes("%") ? decoded(first) : first) === "/v2" ? "compat" : "native"
}

/** Whether a path is the stream's, as the router reads paths. */
export const isOfStream = (path: string): boolean => path === streamPath || (path.includes("%") && decoded(path) === streamPath)

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

/** A contract, whatever its groups. */
export type Api = HttpApi.HttpApi<string, HttpApiGroup.HttpApiGroup.Any, HttpApiError.HttpApiDecodeError>

const accessOf = (name: string, annotations: Context.Context<never>): Level => {
  const access = Context.getOption(annotations, Access)
  assert(Option.isSome(access), `${name} says who may call it`)
  return access.value
}

const budgetOf = (name: string, annotations: Context.Context<never>): Budget => {
  const budget = Context.getOption(annotations, Draws)
  assert(Option.isSome(budget), `${name} says which limit it draws on`)
  return budget.value
}

type Answering = Pick<Described, "answers" | "isEmpty">

/** How an endpoint of a contract answers. */
const answeringOf = (api: Api, of: HttpApiEndpoint.HttpApiEndpoint.Any): Answering => {
  const answers = new Map<number, Answer>()
  let isEmpty = false
  HttpApi.reflect(api, {
    predicate: ({ endpoint }) => endpoint.name === of.name,
    onGroup: () => {},
    onEndpoint: ({ errors, successes }) => {
      isEmpty = successes.has(204)
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
    }
  })
  return { answers, isEmpty }
}

/** The endpoints of a contract, in its order. */
const endpointsOf = (api: Api): ReadonlyArray<HttpApiEndpoint.HttpApiEndpoint.AnyWithProps> => {
  const endpoints: Array<HttpApiEndpoint.HttpApiEndpoint.AnyWithProps> = []
  // None is chosen: what the platform would reckon of an endpoint is not wanted here.
  const predicate = ({ endpoint }: { readonly endpoint: HttpApiEndpoint.HttpApiEndpoint.AnyWithProps }): boolean => {
    endpoints.push(endpoint)
    return false
  }
  HttpApi.reflect(api, { predicate, onGroup: () => {}, onEndpoint: () => {} })
  return endpoints
}

/** Every endpoint of a contract, in its order. */
export const describe = (api: Api): ReadonlyArray<Described> =>
  endpointsOf(api).map((endpoint): Described => {
    // Found when first asked for: to find it for every endpoint takes longer than most of a start, and few are called soon.
    let answering: Answering | undefined
    return {
      name: endpoint.name,
      method: endpoint.method,
      path: endpoint.path,
      family: familyOf(endpoint.path),
      access: accessOf(endpoint.name, endpoint.annotations),
      budget: budgetOf(endpoint.name, endpoint.annotations),
      feature: Option.getOrUndefined(Context.getOption(endpoint.annotations, Feature)),
      bodyIsOptional: Option.isSome(Context.getOption(endpoint.annotations, BodyIsOptional)),
      pathSchema: Option.getOrUndefined(endpoint.pathSchema) as Described["pathSchema"],
      urlParamsSchema: Option.getOrUndefined(endpoint.urlParamsSchema) as Described["urlParamsSchema"],
      headersSchema: Option.getOrUndefined(endpoint.headersSchema) as Described["headersSchema"],
      payloadSchema: Option.getOrUndefined(endpoint.payloadSchema) as Described["payloadSchema"],
      get isEmpty() {
        return (answering ??= answeringOf(api, endpoint)).isEmpty
      },
      get answers() {
        return (answering ??= answeringOf(api, endpoint)).answers
      }
    }
  })
