/** Rate limits as clients meet them. `ask` holds every answer to the contract. */
import { describe, expect, test } from "vitest"
import * as Contract from "../../src/edge/Contract.js"
import { clientAddress } from "../../src/edge/http/ClientAddress.js"
import type { Response } from "../../src/edge/http/Listener.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue } from "./LiveVenue.js"

const start = 1_700_000_000_500

/** A venue with these limits, on a clock that the test moves. */
const venueOf = (perKey: number, perAddress: number, more: Parameters<typeof Fake.make>[0] = {}) => {
  const clock = { atEpochMs: start }
  return { clock, fake: Fake.make({ rateLimits: { perKey, perAddress }, now: () => clock.atEpochMs, ...more }) }
}

const told = ({ headers }: Response) =>
  ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after"].map((name) => headers[name])

const time = { target: "/v2/time" }
const balance = (fake: Fake.FakeVenue, key: string) => fake.ask({ target: `/v1/accounts/${fake.accounts[0]}/balance`, key })
const statuses = async (asks: ReadonlyArray<() => Promise<Response>>): Promise<ReadonlyArray<number>> => {
  const answers: Array<number> = []
  for (const ask of asks) answers.push((await ask()).status)
  return answers
}
const times = (count: number, ask: () => Promise<Response>) => Array.from({ length: count }, () => ask)

describe("a key", () => {
  test("is told at every answer how it stands, and is refused behind its limit until its window ends", async () => {
    const { clock, fake } = venueOf(2, 100)
    expect(told(await balance(fake, fake.keys.alice))).toEqual(["2", "1", "60", undefined])
    clock.atEpochMs += 20_400
    expect(told(await balance(fake, fake.keys.alice))).toEqual(["2", "0", "40", undefined])
    const refused = await balance(fake, fake.keys.alice)
    expect([refused.status, ...told(refused)]).toEqual([429, "2", "0", "40", "40"])
    clock.atEpochMs = start + 59_999
    expect(told(await balance(fake, fake.keys.alice))).toEqual(["2", "0", "1", "1"])
    clock.atEpochMs = start + 60_000
    const again = await balance(fake, fake.keys.alice)
    expect([again.status, ...told(again)]).toEqual([200, "2", "1", "60", undefined])
  })

  test("does not draw on another's limit, nor on its address", async () => {
    const { fake } = venueOf(1, 1)
    expect((await balance(fake, fake.keys.alice)).status).toBe(200)
    expect((await fake.ask({ target: "/v2/balance", key: fake.keys.bob })).status).toBe(200)
    expect((await fake.ask(time)).status).toBe(200)
    expect((await balance(fake, fake.keys.alice)).status).toBe(429)
  })

  test("counts also where its scope or the request is refused", async () => {
    const { fake } = venueOf(3, 100)
    const place = () => fake.ask({ target: "/v1/orders", key: fake.keys.reader, body: {}, idempotencyKey: "k" })
    expect(await statuses(times(4, place))).toEqual([403, 403, 403, 429])
    expect(told(await balance(fake, fake.keys.alice))).toEqual(["3", "2", "60", undefined])
  })

  test("is told of it in the envelope of its family, with when to come again", async () => {
    const { fake } = venueOf(0, 0)
    const native = await fake.ask({ target: "/v1/orders", key: fake.keys.alice, body: Fake.order(fake), idempotencyKey: "k" })
    expect(Fake.json(native)).toMatchObject({
      version: "external-rest-error/v1",
      code: "rate_limited",
      retryable: true,
      recoveryActions: ["wait_and_retry_same_identity"],
      occurredAtEpochMs: start
    })
    expect(Fake.json(native).rejectionGuard).toBeUndefined()
    const compat = await fake.ask({ target: "/v2/balance", key: fake.keys.alice })
    expect(Fake.json(compat)).toMatchObject({ name: "RateLimitExceeded", code: "rate_limited", retryable: true, timestamp: start })
    expect([native, compat].map(({ headers, status }) => [status, headers["retry-after"]])).toEqual([[429, "60"], [429, "60"]])
    expect((await fake.ask(time)).status).toBe(429)
  })

  test("that is refused has not been used: where it came from is noted with the first request that is let in", async () => {
    const venue = LiveVenue.make({ orders: 1_000, idempotencyKeys: 1_000 }, { perKey: 1 })
    const [trader] = await venue.traders(1)
    const from = (remoteAddress: string) => venue.ask({ target: "/v1/api-keys/current", key: trader!.key, remoteAddress })
    const noted = () =>
      venue.engine.securityEvents(trader!.account, Infinity, 9)
        .flatMap(({ kind, remoteAddress }) => kind === "key_used_from_new_address" ? [remoteAddress] : [])
    expect((await from("192.0.2.1")).status).toBe(200)
    expect((await from("192.0.2.2")).status).toBe(429)
    expect(noted()).toEqual(["192.0.2.1"])
    venue.atEpochMs += 60_000
    expect((await from("192.0.2.2")).status).toBe(200)
    expect(noted()).toEqual(["192.0.2.2", "192.0.2.1"])
  })

  test("that is refused did nothing, and the same request is done later under its idempotency key", async () => {
    const { clock, fake } = venueOf(1, 100)
    await balance(fake, fake.keys.alice)
    const place = () => fake.ask({ target: "/v1/orders", key: fake.keys.alice, body: Fake.order(fake), idempotencyKey: "k" })
    expect([(await place()).status, fake.commands.length]).toEqual([429, 0])
    clock.atEpochMs += 60_000
    expect([(await place()).status, fake.commands.length]).toEqual([200, 1])
  })

  test("is refused at once, and not when the disk has the last record", async () => {
    const { fake } = venueOf(0, 100)
    fake.hold = true
    expect((await balance(fake, fake.keys.alice)).status).toBe(429)
  })

  test("reads how it stands, that request among them", async () => {
    const { clock, fake } = venueOf(5, 100)
    const current = async () => Fake.json(await fake.ask({ target: "/v1/api-keys/current", key: fake.keys.alice })).rateLimit
    expect(await current()).toEqual({ limit: 5, remaining: 4, resetsAtEpochMs: start + 60_000 })
    clock.atEpochMs += 10_000
    expect(await current()).toEqual({ limit: 5, remaining: 3, resetsAtEpochMs: start + 60_000 })
  })
})

describe("cancels", () => {
  test("of a key that is over its limit go on, as many as the limit again", async () => {
    const { clock, fake } = venueOf(3, 100)
    await statuses(times(3, () => balance(fake, fake.keys.alice)))
    let serial = 0
    const cancelAll = () => fake.ask({ target: "/v2/orders/cancel-all", key: fake.keys.alice, body: {}, idempotencyKey: `c-${++serial}` })
    const seen: Array<unknown> = []
    for (let count = 0; count < 4; count++) {
      const answer = await cancelAll()
      seen.push([answer.status, ...told(answer)])
      expect((await balance(fake, fake.keys.alice)).status).toBe(429)
    }
    const passed = [200, "3", "0", "60", undefined]
    expect(seen).toEqual([passed, passed, passed, [429, "3", "0", "60", "60"]])
    expect(fake.commands.length).toBe(3)
    clock.atEpochMs += 60_000
    expect(told(await cancelAll())).toEqual(["3", "2", "60", undefined])
  })

  test("are told to everybody, and in production what a key is let in stays within 6,000 with them", async () => {
    const { fake } = venueOf(5_998, 10_000, { environment: "production" })
    expect(Fake.json(await fake.ask({ target: "/v1/limits" }))).toMatchObject({ maxRequestsPerKey: 5_998, maxCancelsBeyondPerKey: 2 })
    const cancel = Fake.request({ target: "/v2/orders/cancel-all", key: fake.keys.alice, body: {} })
    const seen: Array<number> = []
    for (let count = 0; count < 6_010; count++) fake.application.handle(cancel, ({ status }) => void seen.push(status))
    expect(seen.filter((status) => status !== 429).length).toBe(6_000)
  })

  test("are those routes that only take orders away, and no others", () => {
    const drawing = Contract.endpoints.filter(({ budget }) => budget === "cancel").map(({ name }) => name)
    expect([...drawing].sort()).toEqual(["cancelAllCompatOrders", "cancelAllOrders", "cancelCompatOrder", "cancelOrder", "cancelOrderBatch",
      "setCancelAllAfter"])
  })

  test("on every route pass a key that is over its limit", async () => {
    for (const name of Contract.endpoints.filter(({ budget }) => budget === "cancel").map((endpoint) => endpoint.name)) {
      const { fake } = venueOf(1, 100)
      await balance(fake, fake.keys.alice)
      const { body, target } = Contract.examples[name as Contract.Name]
      const answer = await fake.ask({
        target,
        method: "POST",
        key: fake.keys.alice,
        idempotencyKey: "c",
        ...(body === undefined ? {} : { body })
      })
      expect([name, answer.status === 429]).toEqual([name, false])
    }
  })
})

describe("a remote address", () => {
  test("has a limit of its own on routes without a credential", async () => {
    const { clock, fake } = venueOf(100, 2)
    const from = (address: string) => () => fake.ask({ ...time, remoteAddress: address })
    expect(await statuses(times(3, from("192.0.2.1")))).toEqual([200, 200, 429])
    expect(await statuses(times(2, from("192.0.2.2")))).toEqual([200, 200])
    clock.atEpochMs += 60_000
    expect(told(await from("192.0.2.1")())).toEqual(["2", "1", "60", undefined])
  })

  test.each([
    ["of one network of IPv6 count together", "2001:db8:0:1::1", "2001:db8:0:1:ffff::2", 429],
    ["of two networks do not", "2001:db8:0:1::1", "2001:db8:0:2::1", 200],
    ["of IPv4 in IPv6 are those of IPv4", "::ffff:192.0.2.1", "192.0.2.1", 429]
  ])("%s", async (_, first, second, status) => {
    const { fake } = venueOf(100, 1)
    await fake.ask({ ...time, remoteAddress: first })
    expect((await fake.ask({ ...time, remoteAddress: second })).status).toBe(status)
  })

  test("is held up at guessing keys, which draws on what it may ask without one", async () => {
    const { fake } = venueOf(100, 4)
    const guess = (key?: string) => () => fake.ask({ target: "/v2/balance", ...(key === undefined ? {} : { key }) })
    const unknown = fake.keys.alice.slice(0, -43) + "x".repeat(43)
    const guesses = [unknown, undefined, "no key", fake.keys.revoked, unknown, undefined].map((key) => guess(key))
    expect(await statuses(guesses)).toEqual([401, 401, 401, 401, 429, 429])
    expect(await statuses([() => fake.ask(time), () => fake.ask({ target: "/v2/balance", key: fake.keys.alice })])).toEqual([429, 200])
  })

  test("is held up at guessing the operator's token, and the operator is not", async () => {
    const { fake } = venueOf(1, 2)
    const halt = (key: string, idempotencyKey: string) => () =>
      fake.ask({ method: "PUT", target: "/v1/operator/engine/halt", key, idempotencyKey })
    expect(await statuses([halt("a", "k"), halt("b", "k"), halt("c", "k")])).toEqual([401, 401, 429])
    expect(await statuses([1, 2, 3].map((index) => halt(Fake.operatorToken, `k-${index}`)))).toEqual([200, 200, 200])
    // The operator's answers show where the address stands, but do not count against it.
    expect(told(await halt(Fake.operatorToken, "k-4")())).toEqual(["2", "0", "60", undefined])
  })

  test("reads the metrics 120 times a minute, which takes nothing from what else it may do", async () => {
    const { clock, fake } = venueOf(100, 2)
    const metrics = (remoteAddress?: string) => () =>
      fake.ask({ target: "/metrics", ...(remoteAddress === undefined ? {} : { remoteAddress }) })
    expect(await statuses(times(120, metrics()))).toEqual(Array.from({ length: 120 }, () => 200))
    const refused = await metrics()()
    expect([refused.status, ...told(refused)]).toEqual([429, "120", "0", "60", "60"])
    expect(JSON.parse(refused.body)).toMatchObject({ code: "rate_limited" })
    expect(await statuses([metrics("192.0.2.7"), () => fake.ask(time), () => fake.ask({ target: "/healthz" })])).toEqual([200, 200, 200])
    clock.atEpochMs += 60_000
    expect((await metrics()()).status).toBe(200)
  })

  test("reads health and metrics whatever it asked before, and the rest of the system's routes like anything public", async () => {
    const { fake } = venueOf(100, 2)
    const get = (target: string) => () => fake.ask({ target })
    expect(await statuses([get("/openapi.json"), get("/docs"), get("/v2/time"), get("/docs")])).toEqual([200, 200, 429, 429])
    expect(await statuses(["/healthz", "/readyz", "/metrics"].flatMap((target) => times(5, get(target)))))
      .toEqual(Array.from({ length: 15 }, () => 200))
    expect(told(await get("/healthz")())).toEqual(["2", "0", "60", undefined])
  })
})

test("the stream's path without an upgrade is told what it takes, as behind a proxy that loses Upgrade", async () => {
  const { fake } = venueOf(100, 100)
  const words = /takes WebSocket upgrades alone.* A proxy in between has to hand them on\.$/
  for (const method of ["GET", "POST"]) {
    const { body, status } = await fake.ask({ target: "/streams/v1/ws?x", method })
    expect([status, JSON.parse(body)]).toMatchObject([404, { code: "route_not_found", safeMessage: expect.stringMatching(words) }])
  }
})

describe("what meets no route", () => {
  const meets: ReadonlyArray<readonly [string, Partial<Fake.Ask> & { readonly target: string }, number, string]> = [
    ["an unknown path", { target: "/v1/ordesr" }, 404, "route_not_found"],
    ["a path with an empty segment", { target: "/v1//orders" }, 404, "route_not_found"],
    ["a path that is not percent-encoded", { target: "/v1/%zz" }, 400, "invalid_request"],
    ["a method that there is not", { target: "/v1/orders", method: "PUT" }, 405, "method_not_allowed"],
    ["a route that is hidden", { target: "/v1/affiliate", key: "alice" }, 404, "route_not_found"],
    ["the stream, asked without an upgrade", { target: "/streams/v1/ws" }, 404, "route_not_found"]
  ]
  test.each(meets)("%s draws on the address, and is refused behind its limit", async (_, { key, ...asked }, status, code) => {
    const { fake } = venueOf(100, 2)
    const ask = () => fake.ask({ ...asked, ...(key === undefined ? {} : { key: fake.keys.alice }) })
    const answers = [await ask(), await ask(), await ask()]
    expect(answers.map(({ body }) => JSON.parse(body).code)).toEqual([code, code, "rate_limited"])
    expect(answers.map((answer) => [answer.status, ...told(answer)])).toEqual([
      [status, "2", "1", "60", undefined],
      [status, "2", "0", "60", undefined],
      [429, "2", "0", "60", "60"]
    ])
    // A valid credential still has its own limit, and other addresses theirs.
    expect((await balance(fake, fake.keys.alice)).status).toBe(200)
    expect((await fake.ask({ ...asked, remoteAddress: "192.0.2.9" })).status).toBe(status)
  })

  test("and what is no request, whose connection ends either way", () => {
    const { fake } = venueOf(100, 3)
    const sender = { headers: {}, remoteAddress: "192.0.2.1" }
    const reasons = ["malformed", "body_too_large", "timeout", "headers_too_large"] as const
    const answers = reasons.map((reason) => fake.application.misframed(reason, "/v2/orders", sender))
    expect(answers.map(({ headers, status }) => [status, headers["ratelimit-remaining"], headers["connection"]])).toEqual([
      [400, "2", "close"],
      [413, "1", "close"],
      [400, "0", "close"],
      [429, "0", "close"]
    ])
  })

  test("and a WebSocket that begins, wherever it leads", () => {
    const { clock, fake } = venueOf(100, 3)
    const open = (target: string, remoteAddress = "192.0.2.1") => fake.application.open!({ target, headers: {}, remoteAddress })
    expect("accept" in open("/streams/v1/ws")).toBe(true)
    expect(open("/nowhere")).toMatchObject({ refused: { status: 404, headers: { "ratelimit-remaining": "1" } } })
    expect("accept" in open("/streams/v1/ws?x")).toBe(true)
    const refused = { refused: { status: 429, headers: { "ratelimit-remaining": "0", "retry-after": "60" } } }
    expect([open("/streams/v1/ws"), open("/nowhere")]).toMatchObject([refused, refused])
    expect("accept" in open("/streams/v1/ws", "192.0.2.2")).toBe(true)
    clock.atEpochMs += 60_000
    expect("accept" in open("/streams/v1/ws")).toBe(true)
  })
})

describe("pages of other sites", () => {
  const listed = "https://listed.example"
  const evil = "https://evil.example"
  const marked = { "sec-fetch-site": "cross-site" }
  const venue = () => venueOf(100, 8, { corsOrigins: [listed], rateLimits: { perAddress: 8, signInsPerAddress: 2 } })
  const opened = (fake: Fake.FakeVenue, headers: Readonly<Record<string, string>> = {}): number => {
    const opening = fake.application.open!({ target: "/streams/v1/ws", headers, remoteAddress: "127.0.0.1" })
    return "refused" in opening ? opening.refused.status : 101
  }

  test("that have a browser send requests take nothing from what its address may do, whatever they ask", async () => {
    const { clock, fake } = venue()
    const asks = [time, { target: "/nowhere" }, { target: "/v2/balance" }, { target: "/metrics" }]
    const page = asks.map((ask) => () => fake.ask({ ...ask, headers: marked }))
    // A page has a quarter of an address's limit, in the same window for all that it asks.
    expect(await statuses(page)).toEqual([200, 404, 429, 429])
    expect(told(await page[0]!())).toEqual(["2", "0", "60", "60"])
    const misframed = fake.application.misframed("malformed", "/", { headers: marked, remoteAddress: "127.0.0.1" })
    expect(told(misframed)).toEqual(["2", "0", "60", "60"])
    expect(told(await fake.ask({ target: "/healthz", headers: marked }))).toEqual(["2", "0", "60", undefined])
    expect(told(await fake.ask(time))).toEqual(["8", "7", "60", undefined])
    expect(told(await fake.ask({ target: "/metrics" }))).toEqual(["120", "119", "60", undefined])
    expect((await fake.ask({ ...time, headers: marked, remoteAddress: "192.0.2.7" })).status).toBe(200)
    clock.atEpochMs += 60_000
    expect((await page[0]!()).status).toBe(200)
  })

  test("that are listed, and the venue's own, count like any client", async () => {
    const { fake } = venue()
    const rest = async (headers: Readonly<Record<string, string>>) => told(await fake.ask({ ...time, headers })).slice(0, 2)
    expect(await rest({ ...marked, origin: listed })).toEqual(["8", "7"])
    expect(await rest({ "sec-fetch-site": "same-origin" })).toEqual(["8", "6"])
    expect(await rest({ "sec-fetch-site": "none" })).toEqual(["8", "5"])
    // An origin alone says nothing: who is no browser would have a second limit for a word.
    expect(await rest({ origin: evil })).toEqual(["8", "4"])
    expect(await rest({ ...marked, origin: evil })).toEqual(["2", "1"])
  })

  test("keep nobody at their visitor's address from opening a stream, also of a browser that only names their origin", async () => {
    const { fake } = venue()
    expect([{ origin: evil }, marked, { origin: "null" }, marked].map((headers) => opened(fake, headers))).toEqual([101, 101, 429, 429])
    const own = [{}, { origin: listed }, { origin: "http://localhost:8080" }, { origin: evil, "sec-fetch-site": "same-site" }]
    expect([...own, ...own, {}].map((headers) => opened(fake, headers))).toEqual([101, 101, 101, 101, 101, 101, 101, 101, 429])
    // Neither took anything from requests, nor do requests from streams.
    expect(told(await fake.ask(time))).toEqual(["8", "7", "60", undefined])
  })

  test("are no way to further attempts to sign in for whoever is no browser", async () => {
    const { fake } = venue()
    const attempt = (headers: Readonly<Record<string, string>>) => () =>
      fake.ask({ target: "/v1/auth/passkeys/authentication/options", body: {}, headers })
    expect(await statuses([attempt(marked), attempt({}), attempt(marked)])).toEqual([200, 200, 429])
  })
})

test("streams are opened whatever the address has asked", async () => {
  const { fake } = venueOf(100, 1)
  expect(await statuses(times(2, () => fake.ask(time)))).toEqual([200, 429])
  const opening = fake.application.open!({ target: "/streams/v1/ws", headers: {}, remoteAddress: "127.0.0.1" })
  expect("accept" in opening).toBe(true)
})

test("attempts to sign in have a limit of their own, of the address and of all routes that sign in together", async () => {
  const { fake } = venueOf(100, 100, { rateLimits: { signInsPerAddress: 2, perAddress: 100 } })
  const ask = (target: string, body: object) => () => fake.ask({ target, body })
  const options = ask("/v1/auth/passkeys/authentication/options", {})
  const register = ask("/v1/auth/passkeys/registration/options", {})
  expect(await statuses([options, register, options, register])).toEqual([200, 200, 429, 429])
  expect((await fake.ask(time)).status).toBe(200)
  expect((await fake.ask({ target: "/v1/auth/passkeys/authentication/options", body: {}, remoteAddress: "192.0.2.7" })).status).toBe(200)
})

test("what no attempt to sign in can be, but any page may have a browser send, leaves the attempts of its address alone", async () => {
  const { fake } = venueOf(100, 4, { rateLimits: { signInsPerAddress: 2, perAddress: 4 } })
  const target = "/v1/auth/passkeys/authentication/options"
  const simple = (type: string | undefined) => () =>
    fake.ask({ target, body: {}, headers: { origin: "https://evil.example", "content-type": type } })
  expect(await statuses(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", undefined].map(simple)))
    .toEqual([415, 415, 415, 415])
  // They count for the address all the same.
  expect(await statuses([simple("text/plain")])).toEqual([429])
  expect(await statuses(times(3, () => fake.ask({ target, body: {} })))).toEqual([200, 200, 429])
})

test("before the venue is ready nothing is counted", async () => {
  const { fake } = venueOf(1, 1)
  fake.readiness.set("starting")
  for (const target of ["/v2/balance", "/nowhere", "/streams/v1/ws"]) {
    const answer = await fake.ask({ target, key: fake.keys.alice })
    expect([answer.status, ...told(answer)]).toEqual([503, "1", "1", "60", undefined])
  }
  fake.readiness.set("ready")
  expect((await balance(fake, fake.keys.alice)).status).toBe(200)
})

test("every route draws on what its access says", () => {
  const drawn = new Set(Contract.endpoints.map(({ access, budget }) => `${access} ${budget}`))
  expect([...drawn].sort()).toEqual(["anyone_or_owner sign_in", "anyone_or_trader public", "key key", "key_read key", "operator operator",
    "owner key", "public public", "public sign_in", "public ticket", "read key", "system metrics", "system none", "system public",
    "trade cancel", "trade key"])
})

describe("a realtime ticket", () => {
  const target = "/v1/realtime/ticket"
  const minted = async () => {
    const venue = LiveVenue.make(undefined, { perAddress: 3, perKey: 4 })
    const [trader] = await venue.traders(1)
    const ticket = Fake.json(await venue.ask({ method: "POST", target, key: trader!.key })).ticket as string
    const shown = (method: string, body: unknown) => async () => await venue.ask({ method, target, body })
    const next = async (ticket: string): Promise<string> => Fake.json(await shown("PUT", { ticket })()).ticket
    return { venue, key: trader!.key, ticket, next, shown, flood: () => statuses(times(4, () => venue.ask(time))) }
  }

  test("is rotated and ended whatever others behind its address have used up, on a limit of its key's tickets", async () => {
    const { flood, next, shown, ticket, venue } = await minted()
    expect(await flood()).toEqual([200, 200, 200, 429])
    const rotated = await shown("PUT", { ticket })()
    expect([rotated.status, ...told(rotated)]).toEqual([200, "4", "3", "60", undefined])
    const second = await next(Fake.json(rotated).ticket)
    expect((await shown("DELETE", { ticket: second })()).status).toBe(204)
    expect(venue.engine.findTicketFamily(0)?.isEnded).toBe(true)
    // It ends once: from then on its holder is nobody.
    expect((await shown("DELETE", { ticket: second })()).status).toBe(429)
  })

  test("takes nothing from its key, whoever shows it and in whatever form", async () => {
    const { flood, key, next, shown, ticket, venue } = await minted()
    await next(await next(ticket))
    await flood()
    const many = [{ ticket }, { ticket: [ticket] }, { ticket, more: 1 }].flatMap((body) => times(9, shown("DELETE", body)))
    expect(new Set(await statuses(many)).has(429)).toBe(true)
    // The key has minted one ticket: three requests are left, and all of its cancels.
    expect(await statuses(times(4, () => venue.ask({ target: "/v1/api-keys/current", key })))).toEqual([200, 200, 200, 429])
  })

  test("draws on its address as long as that has anything left", async () => {
    const { shown, ticket } = await minted()
    expect(told(await shown("PUT", { ticket })())).toEqual(["3", "2", "60", undefined])
  })

  test("that is not the venue's, not sent as it should be, or whose key has ended, draws on its address alone", async () => {
    const { flood, shown, ticket, venue } = await minted()
    await flood()
    const forged = `${ticket.slice(0, -2)}${ticket.endsWith("AA") ? "BA" : "AA"}`
    for (const body of [{ ticket: forged }, { ticket: 7 }, {}, [], "ticket", { ticket, more: "x".repeat(256) }]) {
      expect((await shown("PUT", body)()).status).toBe(429)
      expect((await shown("DELETE", body)()).status).toBe(429)
    }
    venue.atEpochMs += 60_000
    await flood()
    expect((await shown("PUT", { ticket })()).status).toBe(200)
    const { apiKeys } = venue.engine.state
    apiKeys.setRevokedAt(venue.engine.findTicketFamily(0)!.apiKey, venue.atEpochMs)
    expect((await shown("PUT", { ticket })()).status).toBe(429)
  })
})

test("metrics tell how often each limit refused, and how many windows are kept", async () => {
  const { clock, fake } = venueOf(1, 3)
  await statuses(times(3, () => balance(fake, fake.keys.alice)))
  await statuses(times(2, () => fake.ask(time)))
  clock.atEpochMs += 1_000
  const { body } = await fake.ask({ target: "/metrics" })
  const lines = body.split("\n").filter((line) => line.startsWith("venue_rate_limit"))
  expect(lines).toContain("venue_rate_limited_total{class=\"key\"} 2")
  expect(lines).toContain("venue_rate_limited_total{class=\"public\"} 0")
  expect(lines).toContain("venue_rate_limit_windows{class=\"key\"} 1")
  expect(lines).toContain("venue_rate_limit_windows{class=\"public\"} 1")
  expect(lines).toContain("venue_rate_limit_shared_total{class=\"session\"} 0")
})

describe("behind a proxy", () => {
  const socket = "203.0.113.9"
  test.each<readonly [string, number, string | undefined, string]>([
    ["without trust the header is nothing", 0, "192.0.2.1", socket],
    ["the last entry is what the venue's own proxy saw", 1, "198.51.100.7, 192.0.2.1", "192.0.2.1"],
    ["what a client wrote itself is left of it", 1, "10.0.0.1,192.0.2.1", "192.0.2.1"],
    ["of two proxies the outer one's", 2, "198.51.100.7, 192.0.2.1, 10.0.0.1", "192.0.2.1"],
    ["of three likewise", 3, "192.0.2.1,10.0.0.2,10.0.0.1", "192.0.2.1"],
    ["an address of IPv6 counts by its network", 1, "2001:db8:1:2:3::4", "2001:db8:1:2::/64"],
    ["spaces do not matter", 1, "  192.0.2.1 ", "192.0.2.1"],
    ["fewer entries than proxies", 2, "192.0.2.1", socket],
    ["no header", 1, undefined, socket],
    ["an empty one", 1, "", socket],
    ["an empty last entry", 1, "192.0.2.1,", socket],
    ["a name", 1, "localhost", socket],
    ["an address with a port", 1, "192.0.2.9:80, 192.0.2.1:65535", "192.0.2.1"],
    ["an address of IPv6 in brackets", 1, "[2001:db8::1]", "2001:db8:0:0::/64"],
    ["an address of IPv6 with a port", 1, "[2001:db8:1:2::1]:443", "2001:db8:1:2::/64"],
    ["an address of IPv6 with a zone", 1, "[fe80::1%eth0]:443", "fe80:0:0:0::/64"],
    ["an address of IPv4 in the form of IPv6 with a port", 1, "[::ffff:192.0.2.1]:443", "192.0.2.1"],
    ["a port that is none", 1, "192.0.2.1:http", socket],
    ["a port and no address", 1, "192.0.2.256:80", socket],
    ["brackets around a name", 1, "[localhost]:80", socket],
    ["brackets that do not end", 1, "[2001:db8::1", socket],
    ["a list that begins with nothing", 2, ",192.0.2.1", socket]
  ])("%s", (_, proxies, header, expected) => {
    expect(clientAddress({ headers: { "x-forwarded-for": header }, remoteAddress: socket }, proxies)).toBe(expected)
  })

  test("clients are told apart, and who only says so is not", async () => {
    const ask = (fake: Fake.FakeVenue, header: string) => () => fake.ask({ ...time, headers: { "x-forwarded-for": header } })
    const trusting = venueOf(1, 1, { trustedProxies: 1 }).fake
    expect(await statuses([ask(trusting, "192.0.2.1"), ask(trusting, "192.0.2.2"), ask(trusting, "192.0.2.3, 192.0.2.2")]))
      .toEqual([200, 200, 429])
    const wary = venueOf(1, 1).fake
    expect(await statuses([ask(wary, "192.0.2.1"), ask(wary, "192.0.2.2")])).toEqual([200, 429])
  })
})
