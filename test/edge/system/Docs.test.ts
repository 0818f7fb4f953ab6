/** The reference page: well formed, complete, true to the contract, and in need of nothing from elsewhere. */
import { createHash } from "node:crypto"
import { Schema } from "effect"
import { describe, expect, test } from "vitest"
import * as Refusal from "../../../src/domain/Refusal.js"
import * as Contract from "../../../src/edge/Contract.js"
import { html, prose } from "../../../src/edge/system/docs/Html.js"
import * as Errors from "../../../src/edge/http/Errors.js"
import * as Requests from "../../../src/edge/http/Requests.js"
import * as Fake from "../FakeVenue.js"

const asked = async () => Fake.make().ask({ target: "/docs" })
const endpointNames = Contract.endpoints.map(({ name }) => name)

const empty: ReadonlySet<string> = new Set(["meta", "br", "hr", "img", "link", "input"])

/** What breaks the nesting of a page's tags; undefined when nothing does. */
const misnested = (text: string): string | undefined => {
  const open: Array<string> = []
  for (const [tag, slash, name] of text.matchAll(/<(\/?)([a-zA-Z0-9]+)(?:\s+[a-z-]+="[^"<>]*")*\s*>/g)) {
    if (slash === "/") {
      const expected = open.pop()
      if (expected !== name) return `${tag} closes ${expected}`
    } else if (!empty.has(name!)) open.push(name!)
  }
  return open.length === 0 ? undefined : `never closed: ${open.join(" ")}`
}

test("its tags nest, and every < and & that is no markup is escaped", async () => {
  const { body } = await asked()
  expect(body.startsWith("<!DOCTYPE html>\n<html lang=\"en\">")).toBe(true)
  const page = body.slice("<!DOCTYPE html>".length)
  expect(misnested(page)).toBeUndefined()
  const bare = page.replace(/<style>[^]*<\/style>/, "").replaceAll(/<\/?[a-zA-Z0-9]+(?:\s+[a-z-]+="[^"<>]*")*\s*>/g, "")
  expect(bare).not.toMatch(/[<>]/)
  expect(bare.replaceAll(/&(?:amp|lt|gt|quot);/g, "")).not.toContain("&")
  expect(misnested("<p><b></p></b>")).toBe("</p> closes b")
})

test("it asks for nothing but itself: no script, no address elsewhere, one style sheet named by its digest", async () => {
  const { body, headers } = await asked()
  expect(headers["content-type"]).toBe("text/html; charset=utf-8")
  const [, sheet] = /<style>([^]*)<\/style>/.exec(body)!
  const digest = createHash("sha256").update(sheet!).digest("base64")
  expect(headers["content-security-policy"]).toContain("default-src 'none'")
  expect(headers["content-security-policy"]).toContain(`style-src 'sha256-${digest}'`)
  expect(body).not.toMatch(/<script|\son[a-z]+=|\ssrc=|\sstyle=|@import|url\(/i)
  for (const [, target] of body.matchAll(/href="([^"]*)"/g)) expect(target).toMatch(/^(?:#|\/openapi\.json$)/)
})

test("ids are unique, and every link inside the page leads somewhere", async () => {
  const { body } = await asked()
  const ids = [...body.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1]!)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  const links = new Set([...body.matchAll(/href="#([^"]+)"/g)].map((match) => match[1]!))
  expect([...links].filter((link) => !ids.includes(link))).toEqual([])
})

test("it has every endpoint, refusal and failure", async () => {
  const { body } = await asked()
  for (const name of endpointNames) expect(body).toContain(`<h3 id="${name}">`)
  const failures = [...Refusal.all.map(([, description]) => description), ...Errors.all.map(({ description }) => description)]
  for (const { code, name } of failures) {
    const row = new RegExp(`<tr id="failure-${name}">[^]*?</tr>`).exec(body)?.[0]
    expect(row, name).toContain(`<code>${code}</code>`)
  }
})

test("every refusal that compares says in which unit, and no other does", async () => {
  const { body } = await asked()
  const [head = ""] = /<h2 id="refusals">[^]*?<\/thead>/.exec(body)!
  const column = [...head.matchAll(/<th>(.*?)<\/th>/g)].findIndex(([, title]) => title === "Compares")
  expect(column).toBeGreaterThan(0)
  for (const [, { compares, name }] of Refusal.all) {
    const row = new RegExp(`<tr id="failure-${name}">([^]*?)</tr>`).exec(body)![1]!
    const cell = [...row.matchAll(/<td>([^]*?)<\/td>/g)][column]![1]
    expect(cell !== "", `${name}: ${cell}`).toBe(compares !== undefined)
  }
})

describe("every example", () => {
  test.each(Object.entries(Contract.examples))("%s is a good request of its endpoint", (name, { body, target }) => {
    const endpoint = Contract.endpoints.find((one) => one.name === name)!
    const [path, query = ""] = target.split("?") as [string, string?]
    const pattern = new RegExp(`^${endpoint.path.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)")}$`)
    const matched = pattern.exec(path)
    expect(matched, `${target} is a path of ${endpoint.path}`).not.toBeNull()
    const strict = { onExcessProperty: "error" } as const
    const decode = (schema: Schema.Schema<unknown, unknown> | undefined, value: unknown) =>
      schema === undefined ? expect(value).toSatisfy(isNothing) : Schema.decodeUnknownSync(schema, strict)(value)
    const parameters = Object.fromEntries(
      Object.entries(matched!.groups ?? {}).map(([key, value]) => [key, decodeURIComponent(value)])
    )
    decode(endpoint.pathSchema, parameters)
    decode(endpoint.urlParamsSchema, Requests.query(query))
    decode(endpoint.payloadSchema, body)
  })
})

const isNothing = (value: unknown): boolean =>
  value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0)

test("what is put into HTML is escaped", () => {
  expect(html`<p title="${"\"'<&"}">${"<b>&"}${html`<i>${1}</i>`}${undefined}</p>`.text).toBe(
    "<p title=\"&quot;'&lt;&amp;\">&lt;b&gt;&amp;<i>1</i></p>"
  )
  expect(prose("a `<b>` c").text).toBe("a <code>&lt;b&gt;</code> c")
})
