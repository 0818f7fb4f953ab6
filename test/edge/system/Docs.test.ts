/** The reference pages: well formed, complete, true to the contract, and independent of other sites. */
import { createHash } from "node:crypto"
import { Schema } from "effect"
import { describe, expect, test } from "vitest"
import * as Refusal from "../../../src/domain/Refusal.js"
import * as Contract from "../../../src/edge/Contract.js"
import { html, prose } from "../../../src/edge/system/docs/Html.js"
import * as Errors from "../../../src/edge/http/Errors.js"
import * as Example from "../../../src/edge/http/Example.js"
import * as Requests from "../../../src/edge/http/Requests.js"
import { tags } from "../../../src/edge/http/Tags.js"
import * as Advice from "../../../src/edge/system/docs/Advice.js"
import * as Made from "../../../src/edge/system/docs/Made.js"
import * as Page from "../../../src/edge/system/docs/Page.js"
import * as Fake from "../FakeVenue.js"

const asked = async (name = Page.start, fake = Fake.make()) => fake.ask({ target: name === Page.start ? "/docs" : `/docs/${name}` })

/** Every page by its name, as a venue renders it. */
const pages: ReadonlyMap<string, string> = await (async () => {
  const fake = Fake.make()
  const all: Array<readonly [string, string]> = []
  for (const name of Page.names) all.push([name, (await asked(name, fake)).body])
  return new Map(all)
})()
const first = pages.get(Page.start)!

const empty: ReadonlySet<string> = new Set(["meta", "br", "hr", "img", "link", "input"])

/** What breaks the nesting of a page's tags; undefined if it is correct. */
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

test.each(Page.names)("the tags of page '%s' nest, and every < and & that is no markup is escaped", (name) => {
  const body = pages.get(name)!
  expect(body.startsWith("<!DOCTYPE html>\n<html lang=\"en\">")).toBe(true)
  const page = body.slice("<!DOCTYPE html>".length)
  expect(misnested(page)).toBeUndefined()
  const bare = page.replace(/<style>[^]*<\/style>/, "").replaceAll(/<\/?[a-zA-Z0-9]+(?:\s+[a-z-]+="[^"<>]*")*\s*>/g, "")
  expect(bare).not.toMatch(/[<>]/)
  expect(bare.replaceAll(/&(?:amp|lt|gt|quot);/g, "")).not.toContain("&")
  expect(misnested("<p><b></p></b>")).toBe("</p> closes b")
})

test("they ask for nothing but themselves: no script, no address elsewhere, one style sheet named by its digest", async () => {
  for (const name of Page.names) {
    const { body, headers } = await asked(name)
    expect(headers["content-type"]).toBe("text/html; charset=utf-8")
    const [, sheet] = /<style>([^]*)<\/style>/.exec(body)!
    const digest = createHash("sha256").update(sheet!).digest("base64")
    expect(headers["content-security-policy"]).toContain("default-src 'none'")
    expect(headers["content-security-policy"]).toContain(`style-src 'sha256-${digest}'`)
    expect(body).not.toMatch(/<script|\son[a-z]+=|\ssrc=|\sstyle=|@import|url\(/i)
    for (const [, target] of body.matchAll(/href="([^"]*)"/g)) {
      expect(target).toMatch(/^(?:#|\/openapi\.json$|\/docs(?:$|[#/]))/)
    }
  }
})

const idsOf = (text: string) => [...text.matchAll(/\sid="([^"]+)"/g)].map((match) => match[1]!)

test("ids are unique within a page, and every link leads somewhere", () => {
  const ids = new Map([...pages].map(([name, text]) => [name, idsOf(text)]))
  for (const [name, found] of ids) expect(found.filter((id, index) => found.indexOf(id) !== index), name).toEqual([])
  const dead = [...pages].flatMap(([name, text]) =>
    [...text.matchAll(/href="(?:\/docs(?:\/([A-Za-z]+))?)?(?:#([^"]+))?"/g)]
      .map(([link, page, id]) => ({ link, to: link.startsWith("href=\"#") ? name : page ?? Page.start, id }))
      .filter(({ id, to }) => ids.get(to) === undefined || (id !== undefined && !ids.get(to)!.includes(id)))
      .map(({ link }) => `${name}: ${link}`)
  )
  expect(dead).toEqual([])
})

test("every member has a type, one with a description of its own too", () => {
  const untyped = [...pages].flatMap(([page, text]) =>
    [...text.matchAll(/<code>([^<]*)<\/code>(?: <span class="optional">optional<\/span>)?<\/td>\n<td>(?:array of )?anything/g)]
      .map(([, member]) => `${page} ${member}`)
  )
  // A market's parameters are of several types.
  expect(untyped).toEqual(["operator differences[].from", "operator differences[].to"])
  expect(pages.get("compatMarkets")).toContain("<td><a href=\"#type-AnnouncedTerms\">AnnouncedTerms</a></td>")
})

test("there is no other page", async () => {
  expect([(await asked("nowhere")).status, (await asked("orders.html")).status]).toEqual([404, 404])
})

test("each endpoint is on the first page with its whole path, and in its chapter with all that it takes and gives", () => {
  for (const { method, name, path } of Contract.endpoints) {
    const { tag } = Contract.routes.find(({ endpoint }) => endpoint.name === name)!
    const shown = `<span class="method ${method}">${method}</span>\n<code class="path">${path.replaceAll(/:(\w+)/g, "{$1}")}</code>`
    expect(first).toContain(`<li id="${name}"><a href="/docs/${tag}#${name}">${shown}`)
    expect(pages.get(tag)).toContain(`<h3 id="${name}">${shown}`)
  }
})

test("the first page has every refusal and failure, and what to do about each code and each guard", () => {
  const failures = [...Refusal.all.map(([, description]) => description), ...Errors.all.map(({ description }) => description)]
  for (const { code, guard, name } of failures) {
    const row = new RegExp(`<tr id="failure-${name}">[^]*?</tr>`).exec(first)?.[0]
    expect(row, name).toContain(`<code>${code}</code>`)
    expect(first).toContain(`<td id="code-${code}">`)
    if (guard !== undefined) expect(first).toContain(`<tr id="guard-${guard}">`)
  }
  for (const [of, advice] of [Advice.ofCode, Advice.ofGuard, Advice.ofOutcome].flatMap((table) => Object.entries<string>(table))) {
    expect(first, of).toContain(`<td>${prose(advice).text}</td>`)
  }
})

test("it tells how to get a key and what to repeat under which key", () => {
  for (
    const text of ["/v1/agent-connect", "npm run --silent venue -- connect", "the same <code>Idempotency-Key</code>", "A timeout",
      "<code>503</code>"]
  ) {
    expect(first).toContain(text)
  }
})

/** Chapters of owners and of the ledger, which need a passkey: not all of their answers were recorded. */
const unrecorded: ReadonlySet<string> = new Set(["identity", "funds", "solvency"])

test("requests are printed over several lines, and answers are those that were recorded, with no secret in them", () => {
  const orders = pages.get("orders")!
  expect(orders).toContain("-d '{\n  &quot;accountId&quot;: &quot;'&quot;$ACCOUNT&quot;'&quot;,\n")
  expect(orders).toContain("{\n  &quot;version&quot;: &quot;external-order/v1&quot;,\n")
  const sampled = (tag: string) =>
    [...pages.get(tag)!.matchAll(/<h3 id="[^"]+"><span[^]*?(?=<h3 id="|<h2 )/g)]
      .filter(([section]) => !section.includes("An answer, lists shortened")).map(([section]) => /<h3 id="([^"]+)"/.exec(section)![1]!)
  const without = Object.keys(tags).filter((tag) => !unrecorded.has(tag)).flatMap(sampled)
  expect(without.sort()).toEqual(withoutSample)
  for (const [, text] of pages) expect(text.replace(/<style>[^]*<\/style>/, "")).not.toMatch(/\bpk_[a-z]+_[0-9a-f]+_[A-Za-z0-9_-]{40}/)
})

/**
 * Endpoints that answer with text, need a ledger or a platform that the fixtures' venue lacks, move fees that nobody has paid there, or
 * revoke the key with which all other exchanges are recorded.
 */
const withoutSample: ReadonlyArray<string> = ["addToFund", "fundLedgerParty", "getDocs", "getDocsPage", "getMetrics", "getOpenApi",
  "issueBotKey", "reconcile", "revokeKeyByOperator"]

test("an example shows the credential that its route takes, and the answer the status that it has", () => {
  const whole = [...pages.values()].join("")
  const sectionOf = (name: string) => new RegExp(`<h3 id="${name}"><span[^]*?(?=<h3 id="|<h2 )`).exec(whole)![0]
  const shownIn = (section: string) => /Authorization: Bearer (\$[A-Z_]+)/.exec(section)?.[1]
  const bearers: Readonly<Record<string, string | undefined>> = {
    owner: "$SESSION",
    operator: "$OPERATOR_TOKEN",
    system: undefined,
    public: undefined,
    anyone_or_owner: undefined
  }
  for (const { access, isEmpty, name } of Contract.endpoints) {
    const section = sectionOf(name)
    // Pasted into a shell it is about the reader's own account.
    expect(/<h4>Example<\/h4><pre><code>([^]*?)<\/code>/.exec(section)![1]).not.toContain(Example.accountId)
    expect([name, shownIn(section)]).toEqual([name, access in bearers ? bearers[access] : "$API_KEY"])
    expect([name, section.includes("<h4>Response 204</h4>"), section.includes("<h4>Response 200</h4>")]).toEqual([name, isEmpty, !isEmpty])
  }
  expect(sectionOf("getCurrentApiKey")).toContain("lists shortened, without <code>rateLimit</code>")
  const candle = /\[\s*(\d+,\s*){2,}/.exec(sectionOf("getCompatCandles"))?.[0]
  expect(candle?.split(",").filter((each) => /\d/.test(each)).length).toBeGreaterThanOrEqual(5)
})

test("every refusal that compares says in which unit, and no other does", () => {
  const [head = ""] = /<h2 id="refusals">[^]*?<\/thead>/.exec(first)!
  const column = [...head.matchAll(/<th>(.*?)<\/th>/g)].findIndex(([, title]) => title === "Compares")
  expect(column).toBeGreaterThan(0)
  for (const [, { compares, name }] of Refusal.all) {
    const row = new RegExp(`<tr id="failure-${name}">([^]*?)</tr>`).exec(first)![1]!
    const cell = [...row.matchAll(/<td>([^]*?)<\/td>/g)][column]![1]
    expect(cell !== "", `${name}: ${cell}`).toBe(compares !== undefined)
  }
})

test("what the build writes is what a venue makes, and is served as it was written", async () => {
  const made = Made.make(undefined)
  expect([...pages.values()]).toEqual(Page.names.map((name) => made.page(name)))
  const written = Made.make({ openApi: "{}", pages: new Map([[Page.start, "written"]]) })
  expect([written.openApi(), written.page(Page.start), written.page("orders")]).toEqual(["{}", "written", undefined])
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
