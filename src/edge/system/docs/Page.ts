/**
 * The reference page: the contract's own document as one HTML page, with the catalogue of refusals. It is
 * made of what is served, so it cannot say anything else, and it needs no script and nothing from elsewhere.
 */
import { hash } from "node:crypto"
import { assert } from "../../../domain/Assert.js"
import * as Refusal from "../../../domain/Refusal.js"
import type { Unit } from "../../../domain/Unit.js"
import type { Level } from "../../http/Access.js"
import type { Described } from "../../http/Endpoint.js"
import * as Envelopes from "../../http/Envelopes.js"
import * as Errors from "../../http/Errors.js"
import type { Example } from "../../http/Example.js"
import { tags } from "../../http/Tags.js"
import { Html, html, join, prose } from "./Html.js"
import * as Rules from "./Rules.js"
import { style } from "./Style.js"
import * as Types from "./Types.js"

/** Headers of the page: only its own style sheet, which is named by its digest, is taken. */
export const headers: Readonly<Record<string, string>> = {
  "content-security-policy": `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; `
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

/** The contract's chapters in the order in which they are read. */
const groups = Object.entries(tags).map(([tag, { text, title }]) => ({ tag, text, title }))

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

interface Operation {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly summary?: string
  readonly parameters: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Types.JsonSchema }>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Types.JsonSchema }>> }>>
}

/** The part of the OpenAPI document that the page is made of. */
export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Types.Schemas }
}

/** What the page is made of. */
export interface Reference {
  readonly document: Document
  readonly endpoints: ReadonlyArray<Described>
  /** By endpoint name. */
  readonly examples: Readonly<Record<string, Example>>
}

interface Route {
  readonly endpoint: Described
  readonly example: Example
  readonly operation: Operation
  readonly path: string
}

const routesOf = ({ document, endpoints, examples }: Reference): ReadonlyArray<Route> =>
  endpoints.map((endpoint) => {
    const path = endpoint.path.replaceAll(/:(\w+)/g, "{$1}")
    const operation = document.paths[path]?.[endpoint.method.toLowerCase()]
    assert(operation !== undefined, "the document has every endpoint")
    assert(groups.some((group) => operation.tags.includes(group.tag)), "every group of the contract has a title")
    const example = examples[endpoint.name]
    assert(example !== undefined, "every endpoint has an example")
    return { endpoint, example, operation, path }
  })

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A request as it is typed into a shell. */
const curl = ({ endpoint, example, operation }: Route): string => {
  const token = endpoint.access === "operator" ? "$OPERATOR_TOKEN" : "$API_KEY"
  const needsToken = endpoint.access !== "public" && endpoint.access !== "system"
  const parts = [
    `curl -s${endpoint.method === "GET" ? "" : ` -X ${endpoint.method}`} "$VENUE${example.target}"`,
    ...(needsToken ? [`-H "Authorization: Bearer ${token}"`] : []),
    ...(operation.parameters.some((parameter) => parameter.in === "header") ? ["-H \"Idempotency-Key: $(uuidgen)\""] : []),
    ...(example.body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(example.body))}`])
  ]
  return parts.join(" \\\n  ")
}

const parameterRow = ({ description, in: place, name, required, schema }: Parameter, schemas: Types.Schemas): Html => {
  const named = schemas[schema.$ref?.split("/").at(-1) ?? ""]
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
  return html`<p class="note">Errors: the <a href="#${envelope}-envelope">${envelope} envelope</a> with ${
    join(statuses.map((status) => html`<a href="#status-${status}">${status}</a>`), ", ")
  }.</p>`
}

const content = (parts: Readonly<Record<string, { readonly schema: Types.JsonSchema }>> | undefined): Types.JsonSchema | undefined =>
  parts === undefined ? undefined : Object.values(parts)[0]?.schema

const section = (route: Route, schemas: Types.Schemas): Html => {
  const { endpoint, operation, path } = route
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
<h4>Response 200</h4>${response === undefined ? undefined : Types.payload(response, schemas)}
${failureText(route)}
`
}

/** What `limit`, `actual` and `nearest` of a refusal are. */
const comparedText: Readonly<Record<Unit, string>> = {
  price_atoms: "prices",
  size_atoms: "quantities",
  money_atoms: "USDC",
  epoch_ms: "milliseconds since the Unix epoch",
  duration_ms: "milliseconds",
  bps: "basis points",
  e9: "10^-9",
  scale: "numbers of decimals",
  leverage: "leverages",
  count: "whole numbers",
  bits: "bits",
  version: "versions",
  market_status: "a market's status"
}

const descriptionRow = (description: Refusal.Description, compared?: string): Html => {
  const { name, safeMessage } = description
  return html`<tr id="failure-${name}"><td><code>${name}</code></td><td>${description.status}</td><td><code>${description.code}</code></td>
<td>${description.guard === undefined ? undefined : html`<code>${description.guard}</code>`}${
    description.apiKeyRejection === undefined ? undefined : html`<code>${description.apiKeyRejection}</code>`
  }</td><td><code>${description.compatName}</code></td><td>${description.retryable ? "yes" : "no"}</td>
${compared === undefined ? undefined : html`<td>${compared}</td>`}<td>${
    join(description.recoveryActions.map((action) => html`<code>${action}</code>`), " ")
  }</td><td>${safeMessage}</td></tr>
`
}

const catalogue = (rows: ReadonlyArray<Html>, compared?: string): Html =>
  html`<div class="scroll"><table><thead><tr><th>Name</th><th>Status</th><th>code</th><th>rejectionGuard or apiKeyRejection</th>
<th>/v2 name</th><th>Retryable</th>${compared === undefined ? undefined : html`<th>${compared}</th>`}<th>recoveryActions</th>
<th>Message</th></tr></thead><tbody>${rows}</tbody></table></div>`

const introduction = (document: Document): Html =>
  html`<h1>${document.info.title}</h1>
<p>${prose(document.info.description)}</p>
<p>This page is made from <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1). Examples expect the venue's address in
<code>$VENUE</code>, an API key in <code>$API_KEY</code> and, for operators, the token in <code>$OPERATOR_TOKEN</code>.</p>
<h2 id="conventions">Conventions</h2>
<ul>
<li>${
    prose("`*Atoms` are strings of digits: whole numbers of the smallest unit. Money atoms are 10^-6 USDC, price atoms "
      + "10^-priceScale quote units, size atoms 10^-quantityScale base units. Beside each stands its decimal string.")
  }</li>
<li>${prose("`*EpochMs` are milliseconds since the Unix epoch, `*Bps` basis points, `*Sequence` journal sequence numbers.")}</li>
<li>${
    prose("Requests take plain decimal strings on `/v1` and JSON numbers on `/v2`, never more decimals than the market has. "
      + "Unknown members of a body and repeated query parameters are refused. A body is JSON in UTF-8, at most 64 KiB.")
  }</li>
<li>${
    prose("Every answer carries `x-request-id`: random, and behind it, where a record of the journal decided the request, that "
      + "record's sequence in base 36 (`npm run replay -- --request` finds it). Nothing is answered before what it says is durable "
      + "in the journal.")
  }</li>
</ul>
<h2 id="authentication">Authentication</h2>
<p>${
    prose("`Authorization: Bearer pk_<environment>_<key>_<secret>`. A key belongs to one account and has the scopes `read`, "
      + "`trade` or both. Operator routes take the operator's token in the same header. Market data needs no credential.")
  }</p>
<h2 id="idempotency">Idempotency</h2>
<p>${
    prose("Whatever changes something needs an `Idempotency-Key`, 1 to 255 visible ASCII characters, in the scope of account "
      + "and operation. The same key with the same body gets the original answer, byte for byte but for `requestId`, with the header "
      + "`Idempotent-Replayed: true`, and does nothing again; with another body 409 `idempotency_key_conflict`. A decision is remembered, "
      + "refusals included, until the retention after the orders it made have ended: 24 h, unless `GET /v1/limits` tells another. "
      + "What was not decided (a malformed request, 429, 503) is not.")
  }</p>`

const envelopes = (schemas: Types.Schemas): Html => {
  const native = schemas["NativeError400"]
  const compat = schemas["CompatError400"]
  assert(native !== undefined && compat !== undefined, "the document has both envelopes")
  return html`<h2 id="errors">Errors</h2>
<p>Every answer that is no success is one of two envelopes, on unknown paths and malformed JSON too.</p>
<h3 id="native-envelope">Native envelope</h3>${Types.payload({ ...native, description: "On every path but those under /v2." }, schemas)}
<p class="note">${prose("`code` is shown for status 400; the codes of the others are below.")}</p>
<h3 id="compat-envelope">Compat envelope</h3>${
    Types.payload({ ...compat, description: "Under /v2. `info` is the native envelope." }, schemas)
  }
<h3 id="statuses">Statuses and codes</h3>
<div class="scroll"><table><thead><tr><th>Status</th><th>Codes</th></tr></thead><tbody>${
    Envelopes.statuses.map((status) =>
      html`<tr id="status-${status}"><td>${status}</td><td>${
        join(Envelopes.codes[status].map((code) => html`<code>${code}</code>`), " ")
      }</td></tr>`
    )
  }</tbody></table></div>
<h2 id="refusals">Refusals of commands</h2>
<p>${
    prose("What the engine decides. An `order_rejected` and its like are decisions: they are remembered under their key. Beside a "
      + "guard, `limit`, `actual` and `nearest` tell what was compared, in the guard's own unit: the bound, what the request would "
      + "have come to, and a value that would have passed. Prices and quantities have their market's decimals, USDC has six.")
  }</p>
${
    catalogue(
      Refusal.all.map(([, description]) =>
        descriptionRow(description, description.compares === undefined ? "" : comparedText[description.compares])
      ),
      "Compares"
    )
  }
<h2 id="failures">Failures of requests</h2>
<p>What is refused before it becomes a command. Nothing was done.</p>
${
    catalogue(Errors.all
      .filter(({ description }) => !Refusal.all.some(([, refused]) => refused.name === description.name))
      .map(({ description }) => descriptionRow(description)))
  }`
}

const navigation = (routes: ReadonlyArray<Route>): Html =>
  html`<nav><h2>Reference</h2><ul>
<li><a href="#conventions">Conventions</a></li><li><a href="#authentication">Authentication</a></li>
<li><a href="#idempotency">Idempotency</a></li><li><a href="#errors">Errors</a></li>
<li><a href="#refusals">Refusals of commands</a></li><li><a href="#failures">Failures of requests</a></li>
<li><a href="#types">Types</a></li></ul>
${Rules.navigation()}
${
    groups.map(({ tag, title }) =>
      html`<h2>${title}</h2><ul>${
        routes.filter(({ operation }) => operation.tags.includes(tag)).map(({ endpoint, path }) =>
          html`<li><a href="#${endpoint.name}"><span class="method ${endpoint.method}">${endpoint.method}</span>${path}</a></li>
`
        )
      }</ul>`
    )
  }</nav>`

/** The whole page. It costs some tens of milliseconds: make it once. */
export const page = (reference: Reference): string => {
  const { document } = reference
  const { schemas } = document.components
  const routes = routesOf(reference)
  const body = html`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title} API reference</title><style>${new Html(style)}</style></head>
<body>${navigation(routes)}
<main>${introduction(document)}
${
    groups.map(({ tag, text, title }) =>
      html`<h2 id="group-${tag}">${title}</h2><p>${prose(text)}</p>
${routes.filter(({ operation }) => operation.tags.includes(tag)).map((route) => section(route, schemas))}`
    )
  }
${envelopes(schemas)}
${Rules.sections()}
<h2 id="types">Types</h2>
${Object.keys(schemas).filter(Types.isShown).sort().map((name) => Types.component(name, schemas[name]!))}
</main></body></html>
`
  return body.text
}
