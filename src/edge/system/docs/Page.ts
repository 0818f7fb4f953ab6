/**
 * The reference: the contract's own document as readable pages, with the catalogue of refusals. They are made from what is served,
 * so they cannot deviate from it, and they need no scripts and no external resources. The first page has what everybody needs and
 * links to one page per chapter, so that each opens quickly, even on a phone.
 */
import { hash } from "node:crypto"
import { assert } from "../../../domain/Assert.js"
import type { Described } from "../../http/Endpoint.js"
import type { Example } from "../../http/Example.js"
import { tags } from "../../http/Tags.js"
import * as Catalogue from "./Catalogue.js"
import * as Chapter from "./Chapter.js"
import { guide } from "./Guide.js"
import { Html, html, prose } from "./Html.js"
import * as Rules from "./Rules.js"
import { style } from "./Style.js"
import type * as Types from "./Types.js"

/** Headers of the pages: only their own style sheet, identified by its digest, is allowed. */
export const headers: Readonly<Record<string, string>> = {
  "content-security-policy": `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; `
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

/** The contract's chapters in the order in which they are read. */
const groups = Object.entries(tags).map(([tag, { text, title }]) => ({ tag, text, title }))

const rulesPage = "rules"

/** The name of the first page. */
export const start = ""

/** Every page by its name, as behind `/docs/`. */
export const names: ReadonlyArray<string> = [start, ...groups.map(({ tag }) => tag), rulesPage]

/** The part of the OpenAPI document that the pages are made of. */
export interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Chapter.Operation>>>>
  readonly components: { readonly schemas: Types.Schemas }
}

/** What the pages are made of. */
export interface Reference {
  readonly document: Document
  readonly endpoints: ReadonlyArray<Described>
  /** By endpoint name. */
  readonly examples: Readonly<Record<string, Example>>
  /** The answer that was recorded of a method and a path, pretty-printed. */
  readonly sample: (method: string, path: string) => string | undefined
}

const routesOf = ({ document, endpoints, examples, sample }: Reference): ReadonlyArray<Chapter.Route> =>
  endpoints.map((endpoint) => {
    const path = endpoint.path.replaceAll(/:(\w+)/g, "{$1}")
    const operation = document.paths[path]?.[endpoint.method.toLowerCase()]
    assert(operation !== undefined, "the document has every endpoint")
    assert(groups.some((group) => operation.tags.includes(group.tag)), "every group of the contract has a title")
    const example = examples[endpoint.name]
    assert(example !== undefined, "every endpoint has an example")
    return { endpoint, example, operation, path, sample: sample(endpoint.method, endpoint.path) }
  })

const introduction = (document: Document): Html =>
  html`<h1>${document.info.title}</h1>
<p>${prose(document.info.description)}</p>
<p>These pages are made from <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1). Examples expect the venue's address in
<code>$VENUE</code>, an API key in <code>$API_KEY</code>, its account's id in <code>$ACCOUNT</code>
(<a href="#getCurrentApiKey"><code>GET /v1/api-keys/current</code></a> tells it, to a session
<a href="#getCurrentSession"><code>GET /v1/auth/sessions/current</code></a>),
an owner's <code>accessToken</code> in <code>$SESSION</code> and, for operators, the token in <code>$OPERATOR_TOKEN</code>.</p>`

const method = ({ method: verb }: Described): Html => html`<span class="method ${verb}">${verb}</span>`

/** All routes by chapter, each linked to its description. */
const contents = (routes: ReadonlyArray<Chapter.Route>): Html =>
  html`<h2 id="routes">Routes</h2>${
    groups.map(({ tag, text, title }) =>
      html`<h3 id="group-${tag}"><a href="/docs/${tag}">${title}</a></h3><p>${prose(text)}</p><ul class="routes">${
        routes.filter(({ operation }) => operation.tags.includes(tag)).map(({ endpoint, operation, path }) =>
          html`<li id="${endpoint.name}"><a href="/docs/${tag}#${endpoint.name}">${method(endpoint)}
<code class="path">${path}</code></a> ${operation.summary === undefined ? undefined : prose(operation.summary)}</li>
`
        )
      }</ul>`
    )
  }`

/** Links to everything, the present page's own parts among them. */
const navigation = (present: string, routes: ReadonlyArray<Chapter.Route>): Html =>
  html`<nav><h2><a href="/docs">Reference</a></h2><ul>
<li><a href="/docs#conventions">Conventions</a></li><li><a href="/docs#authentication">Getting a key</a></li>
<li><a href="/docs#idempotency">When to repeat</a></li><li><a href="/docs#routes">Routes</a></li>
<li><a href="/docs#errors">Errors</a></li><li><a href="/docs#refusals">Refusals of commands</a></li>
<li><a href="/docs#failures">Failures of requests</a></li><li><a href="/docs/${rulesPage}">Rules</a></li></ul>
<h2>Chapters</h2><ul>${
    groups.map(({ tag, title }) =>
      html`<li><a href="/docs/${tag}">${title}</a>${
        tag !== present
          ? undefined
          : html`<ul>${
            routes.filter(({ operation }) => operation.tags.includes(tag)).map(({ endpoint, path }) =>
              html`<li><a href="#${endpoint.name}">${method(endpoint)} ${path}</a></li>
`
            )
          }</ul>`
      }</li>`
    )
  }</ul>${present === rulesPage ? Rules.navigation() : undefined}</nav>`

const shell = (title: string, nav: Html, main: Html): string =>
  html`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><style>${new Html(style)}</style></head>
<body>${nav}
<main>${main}</main></body></html>
`.text

/** The page with a name; undefined where there is none. It takes some tens of milliseconds, so each should be made once. */
export const page = (reference: Reference, name: string): string | undefined => {
  const { document } = reference
  const { schemas } = document.components
  const { title } = document.info
  const routes = routesOf(reference)
  const nav = navigation(name, routes)
  if (name === start) {
    return shell(`${title} API reference`, nav, html`${introduction(document)}
${guide}
${contents(routes)}
${Catalogue.errors(schemas)}`)
  }
  if (name === rulesPage) return shell(`Rules: ${title} API reference`, nav, html`<h1>Rules</h1>${Rules.sections()}`)
  const group = groups.find(({ tag }) => tag === name)
  if (group === undefined) return undefined
  const own = routes.filter(({ operation }) => operation.tags.includes(name))
  return shell(`${group.title}: ${title} API reference`, nav, html`<h1>${group.title}</h1><p>${prose(group.text)}</p>
${Chapter.chapter(own, schemas)}`)
}
