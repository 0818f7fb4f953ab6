/** Answers are not misread, not cached, and not shown to the pages of other sites. */
import { describe, expect, test } from "vitest"
import * as Contract from "../../src/edge/Contract.js"
import { faultOfOrigin } from "../../src/edge/http/Cors.js"
import type { Response } from "../../src/edge/http/Listener.js"
import * as Fake from "./FakeVenue.js"

const always = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" }

/** Routes that return a credential, or take one in the body, although they need none in a header. */
const issuing: ReadonlySet<string> = new Set(["beginAuthentication", "finishAuthentication", "beginAgentConnect", "exchangeAgentConnect",
  "rotateTicket", "endTickets"])

test.each(Contract.endpoints.map((endpoint) => [endpoint.name, endpoint] as const))(
  "%s says that its answers are to be taken as they are, and whether they may be kept",
  async (_, { access, method, name }) => {
    const fake = Fake.make()
    const { body, target } = Contract.examples[name as Contract.Name]
    const key = access === "operator" ? Fake.operatorToken : fake.keys.alice
    // Nothing changes here, so waiting would be in vain.
    const atOnce = target.replace(/waitMs=\d+/, "waitMs=0")
    const request = { method, target: atOnce, ...(body === undefined ? {} : { body }), idempotencyKey: "k" }
    for (const answer of [await fake.ask({ ...request, key }), await fake.ask({ ...request, key: "none" })]) {
      expect(answer.headers).toMatchObject(always)
      const isEverybodys = (access === "public" || access === "system") && !issuing.has(name)
      expect(answer.headers["cache-control"]).toBe(isEverybodys && answer.status < 400 ? undefined : "no-store")
    }
  }
)

test("what is missing may be there in a moment, and no cache says otherwise", async () => {
  const fake = Fake.make()
  for (const target of ["/assets/main-2.js", "/docs/nope", "/v1/markets/NEW-USDC-PERP/trades", "/v1/markets/NEW-USDC-PERP"]) {
    const { headers, status } = await fake.ask({ target })
    expect([target, status, headers["cache-control"]]).toEqual([target, 404, "no-store"])
  }
})

test("so do answers that meet no route, and none", async () => {
  const fake = Fake.make()
  const answers = [await fake.ask({ target: "/nowhere" }), await fake.ask({ target: "/v1/orders", method: "GET" }),
    fake.application.misframed("malformed", undefined, { headers: {}, remoteAddress: "192.0.2.1" })]
  for (const { headers } of answers) expect(headers).toMatchObject({ ...always, "cache-control": "no-store" })
})

test("the page takes its own style sheet and nothing else", async () => {
  const { headers } = await Fake.make().ask({ target: "/docs" })
  expect(headers).toMatchObject(always)
  expect(headers["content-security-policy"]).toMatch(
    /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/
  )
})

describe("pages of other sites", () => {
  const listed = "https://console.example.com"
  const local = "http://localhost:3000"
  const corsHeaders = ({ headers }: Response) => Object.keys(headers).filter((name) => name.startsWith("access-control-")).sort()
  const preflight = (fake: Fake.FakeVenue, origin: string) =>
    new Promise<Response>((resolve) =>
      fake.application.handle(
        Fake.request({ method: "OPTIONS", target: "/v1/orders", headers: { origin, "access-control-request-method": "POST" } }),
        resolve
      )
    )

  test("are shown nothing unless they are listed", async () => {
    const fake = Fake.make()
    const answer = await fake.ask({ target: "/v2/time", headers: { origin: listed } })
    expect([corsHeaders(answer), answer.headers["vary"]]).toEqual([[], undefined])
    const asked = await preflight(fake, listed)
    expect([asked.status, corsHeaders(asked)]).toEqual([405, []])
  })

  test("that are listed are shown answers and failures, with the headers that tell how they stand, and without credentials", async () => {
    const fake = Fake.make({ corsOrigins: [listed, local] })
    for (const origin of [listed, local]) {
      for (const target of ["/v2/time", "/v2/balance", "/nowhere"]) {
        const answer = await fake.ask({ target, headers: { origin } })
        expect(corsHeaders(answer)).toEqual(["access-control-allow-origin", "access-control-expose-headers"])
        expect(answer.headers).toMatchObject({ "access-control-allow-origin": origin, vary: "origin" })
        expect(answer.headers["access-control-expose-headers"]).toContain("ratelimit-remaining")
        expect(answer.headers["access-control-expose-headers"]).toContain("x-service-runtime-policy-version")
      }
    }
  })

  test("that are listed may ask ahead", async () => {
    const answer = await preflight(Fake.make({ corsOrigins: [listed] }), listed)
    expect([answer.status, answer.body]).toEqual([200, ""])
    expect(answer.headers).toMatchObject({
      ...always,
      "access-control-allow-origin": listed,
      "access-control-allow-methods": "GET, HEAD, POST, PUT, DELETE",
      "access-control-allow-headers": "authorization, content-type, idempotency-key",
      "access-control-max-age": "600",
      vary: "origin"
    })
    expect(answer.headers["access-control-allow-credentials"]).toBeUndefined()
    expect(answer.headers["x-request-id"]).toMatch(/^req_/)
  })

  test.each([
    ["of another host", "https://example.com"],
    ["of another scheme", "http://console.example.com"],
    ["of another port", "https://console.example.com:8443"],
    ["whose name only begins alike", "https://console.example.com.example.net"],
    ["that are nobody's", "null"]
  ])("%s are shown nothing beside those that are listed", async (_, origin) => {
    const fake = Fake.make({ corsOrigins: [listed] })
    const asked = await preflight(fake, origin)
    const answer = await fake.ask({ target: "/v2/time", headers: { origin } })
    expect([asked.status, corsHeaders(asked), corsHeaders(answer)]).toEqual([405, [], []])
    expect([asked.headers["vary"], answer.headers["vary"]]).toEqual(["origin", "origin"])
  })

  test("may open the stream, as anybody may, listed or not: nothing there goes by an origin or a cookie", () => {
    for (const corsOrigins of [[], [listed]]) {
      const { application } = Fake.make({ corsOrigins })
      for (const origin of [listed, "https://evil.example", "null"]) {
        const opening = application.open!({ target: "/streams/v1/ws", headers: { origin }, remoteAddress: "192.0.2.1" })
        expect(["refused" in opening, origin]).toEqual([false, origin])
      }
    }
  })

  test("ask for what else OPTIONS is in vain", async () => {
    const fake = Fake.make({ corsOrigins: [listed] })
    expect((await fake.ask({ method: "OPTIONS", target: "/v1/orders", headers: { origin: listed } })).status).toBe(405)
  })

  test.each([
    ["https://example.com", undefined],
    ["http://localhost:3000", undefined],
    ["https://example.com/", "no origin"],
    ["https://example.com:443", "no origin"],
    ["https://Example.com", "no origin"],
    ["https://user@example.com", "no origin"],
    ["example.com", "no origin"],
    ["*", "no origin"],
    ["null", "no origin"],
    ["ftp://example.com", "no origin"],
    ["", "no origin"]
  ])("%j is an origin, or %j", (text, fault) => {
    if (fault === undefined) expect(faultOfOrigin(text)).toBeUndefined()
    else expect(faultOfOrigin(text)).toContain(fault)
  })
})
