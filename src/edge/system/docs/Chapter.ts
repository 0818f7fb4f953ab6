/** A chapter of the reference: its routes, each with parameters, payloads, an example, and a recorded answer. */
import { assert } from "../../../domain/Assert.js"
import type { Level } from "../../http/Access.js"
import type { Described } from "../../http/Endpoint.js"
import { accountId, type Example, freshKey } from "../../http/Example.js"
import { type Html, html, join, prose } from "./Html.js"
import * as Types from "./Types.js"

const accessText: Readonly<Record<Level, string>> = {
  system: "No credential.",
  public: "No credential.",
  key: "Any API key.",
  read: "API key with `read`, or the owner's session.",
  trade: "API key with `trade`, or the owner's session.",
  key_read: "API key with `read`, no session.",
  owner: "The owner's session.",
  anyone_or_owner: "No credential, or the owner's session.",
  anyone_or_trader: "No credential; with one, what is the account's own is told beside.",
  operator: "The operator's token."
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: Types.JsonSchema
  readonly description?: string
}

export interface Operation {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary?: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Types.JsonSchema }>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Types.JsonSchema }>> }>>
}

/** One route with everything shown about it. */
export interface Route {
  readonly endpoint: Described
  readonly example: Example
  readonly operation: Operation
  readonly path: string
  /** The answer that was recorded, pretty-printed. */
  readonly sample: string | undefined
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The shell's variable for the credential that an example shows; undefined where it shows none. */
const credentials: Readonly<Record<Level, string | undefined>> = {
  system: undefined,
  public: undefined,
  key: "$API_KEY",
  read: "$API_KEY",
  trade: "$API_KEY",
  key_read: "$API_KEY",
  owner: "$SESSION",
  anyone_or_owner: undefined,
  anyone_or_trader: "$API_KEY",
  operator: "$OPERATOR_TOKEN"
}

/** A text with the shell's variable for the reader's account in place of the account of which the examples speak. */
const ofReader = (text: string, variable: string): string => text.replaceAll(accountId, variable)

/** A request as it is typed into a shell. */
const curl = ({ endpoint, example, operation }: Route): string => {
  const credential = credentials[endpoint.access]
  const parts = [
    `curl -s${endpoint.method === "GET" ? "" : ` -X ${endpoint.method}`} "$VENUE${ofReader(example.target, "$ACCOUNT")}"`,
    ...(credential === undefined ? [] : [`-H "Authorization: Bearer ${credential}"`]),
    ...(operation.parameters.some((parameter) => parameter.in === "header") ? [`-H "Idempotency-Key: ${freshKey}"`] : []),
    ...(example.body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${ofReader(quoted(JSON.stringify(example.body, undefined, 2)), `'"$ACCOUNT"'`)}`])
  ]
  return parts.join(" \\\n  ")
}

/** The component that a schema refers to. */
const componentOf = (schema: Types.JsonSchema | undefined, schemas: Types.Schemas): Types.JsonSchema | undefined =>
  schemas[schema?.$ref?.split("/").at(-1) ?? ""]

const parameterRow = ({ description, in: place, name, required, schema }: Parameter, schemas: Types.Schemas): Html => {
  const named = componentOf(schema, schemas)
  const said = Types.description({ ...schema, ...(description === undefined ? undefined : { description }) })
    ?? (named === undefined ? undefined : Types.description(named))
  return html`<tr><td><code>${name}</code>${required ? undefined : html` <span class="optional">optional</span>`}</td>
<td>${place}</td><td>${Types.typeOf(schema)}</td><td>${said === undefined ? undefined : prose(said)}</td></tr>`
}

const parameterTable = (parameters: ReadonlyArray<Parameter>, schemas: Types.Schemas): Html | undefined =>
  parameters.length === 0 ? undefined : html`<h4>Parameters</h4>
<div class="scroll"><table><thead><tr><th>Name</th><th>In</th><th>Type</th><th></th></tr></thead>
<tbody>${parameters.map((parameter) => parameterRow(parameter, schemas))}</tbody></table></div>`

/** The statuses that an endpoint may answer with an envelope, each with its codes. */
const failureText = ({ endpoint, operation }: Route): Html => {
  const envelope = endpoint.family === "compat" ? "compat" : "native"
  const statuses = Object.keys(operation.responses).filter((status) => Number(status) >= 400)
  return html`<p class="note">Errors: the <a href="/docs#${envelope}-envelope">${envelope} envelope</a> with ${
    join(statuses.map((status) => html`<a href="/docs#status-${status}">${status}</a>`), ", ")
  }.</p>`
}

const content = (parts: Readonly<Record<string, { readonly schema: Types.JsonSchema }>> | undefined): Types.JsonSchema | undefined =>
  parts === undefined ? undefined : Object.values(parts)[0]?.schema

/** The heading of a recorded answer. The caller's standing with its limit changes with each request and is not recorded. */
const sampleHeading = (response: Types.JsonSchema | undefined, schemas: Types.Schemas): Html => {
  const members = componentOf(response, schemas)?.properties ?? {}
  return html`<h4>An answer, lists shortened${"rateLimit" in members ? html`, without <code>rateLimit</code>` : undefined}</h4>`
}

const section = (route: Route, schemas: Types.Schemas): Html => {
  const { endpoint, operation, path, sample } = route
  const request = content(operation.requestBody?.content)
  const response = content(operation.responses["200"]?.content)
  return html`<h3 id="${endpoint.name}"><span class="method ${endpoint.method}">${endpoint.method}</span>
<code class="path">${path}</code></h3>
<p>${operation.summary === undefined ? undefined : html`${prose(operation.summary)}. `}<span class="access">${
    prose(accessText[endpoint.access])
  }</span></p>
${parameterTable(operation.parameters, schemas)}
${request === undefined ? undefined : html`<h4>Request body</h4>${Types.payload(request, schemas)}`}
<h4>Example</h4><pre><code>${curl(route)}</code></pre>
${endpoint.isEmpty ? html`<h4>Response 204</h4><p>No body.</p>` : html`<h4>Response 200</h4>`}${
    response === undefined ? undefined : Types.payload(response, schemas)
  }
${sample === undefined ? undefined : html`${sampleHeading(response, schemas)}<pre><code>${sample}</code></pre>`}
${failureText(route)}
`
}

/** Components named by schemas, including those named indirectly. */
const reached = (values: ReadonlyArray<unknown>, schemas: Types.Schemas): ReadonlySet<string> => {
  const found = new Set<string>()
  const look = (value: unknown): void => {
    for (const [, name] of (JSON.stringify(value) ?? "").matchAll(/"#\/components\/schemas\/([A-Za-z0-9]+)"/g)) {
      if (found.has(name!)) continue
      found.add(name!)
      look(schemas[name!])
    }
  }
  values.forEach(look)
  return found
}

/** Components shown with the route that uses them, which therefore need no section of their own. */
const isInline = (name: string, routes: ReadonlyArray<Route>): boolean => {
  const ref = `#/components/schemas/${name}`
  const places = routes.flatMap(({ operation }) =>
    [content(operation.requestBody?.content), content(operation.responses["200"]?.content)].filter((schema) => schema?.$ref === ref)
  )
  return places.length === 1
}

/** A chapter's routes and the types that they name. */
export const chapter = (routes: ReadonlyArray<Route>, schemas: Types.Schemas): Html => {
  assert(routes.length > 0, "a chapter has routes")
  const used = reached(routes.map(({ operation: { parameters, requestBody, responses } }) => [parameters, requestBody, responses["200"]]),
    schemas)
  const shown = [...used].filter((name) => Types.isShown(name)).sort()
  return html`${routes.map((route) => section(route, schemas))}
<h2 id="types">Types</h2>
${
    shown.map((name) =>
      isInline(name, routes)
        ? html`<h3 id="type-${name}">${name}</h3><p>Its members are above, with the route.</p>`
        : Types.component(name, schemas[name]!)
    )
  }`
}
