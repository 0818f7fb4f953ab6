/** The outcome of requests whose answers are lost, refused or late: with a scripted venue, in time of the test's own. */
import { expect, test } from "vitest"
import { Client, type Identity, type Options } from "../../../src/client/venue/Client.js"
import { clientOrderIdOf } from "../../../src/client/venue/ClientOrderId.js"
import type { Outcome } from "../../../src/client/venue/Outcome.js"
import type { HttpRequest } from "../../../src/client/venue/Platform.js"
import { Refusal, Unanswered } from "../../../src/client/venue/Refusal.js"
import { type Given, VirtualPlatform } from "./VirtualPlatform.js"

const refusal = (code: string, more: object = {}): object => ({
  version: "external-rest-error/v1",
  requestId: "req_1",
  code,
  safeMessage: "No.",
  retryable: false,
  recoveryActions: ["none"],
  occurredAtEpochMs: 1,
  ...more
})

const overloaded: Given = { status: 503, body: refusal("overloaded", { retryable: true }) }
const rejected: Given = { status: 422, body: refusal("order_rejected", { rejectionGuard: "margin_insufficient" }) }
const limited: Given = { status: 429, body: refusal("rate_limited", { retryable: true }), headers: { "retry-after": "7" } }
const defect: Given = { status: 500, body: refusal("internal_error") }
const placed: Given = { body: { orderId: "ord_1", status: "open" } }
const seen = (outcome: string): Given => ({ body: { outcome, decisions: [], fenced: false } })
const conflict: Given = { status: 409, body: refusal("idempotency_key_conflict") }
/** The lookup's answer before an order is sent under a key that was not made for that call. */
const unseen = seen("never_seen")
const fenced: Given = { body: { fenced: true, holdsUntilEpochMs: 9 } }

/** A client whose requests get these answers, in order. */
const scripted = (answers: ReadonlyArray<Given>, more: Partial<Options> = {}) => {
  const left = [...answers]
  const platform = new VirtualPlatform((request) => {
    const given = left.shift()
    if (given === undefined) throw new Error(`nothing was scripted for ${request.method} ${request.url}`)
    return given
  })
  const client = new Client(platform, { url: "http://venue/", apiKey: "key", accountId: "acc_1", maxAttempts: 3, ...more })
  return { client, platform, left }
}

const order = { marketId: "M", side: "buy", orderType: "limit", price: "1.0", quantity: "1.0" } as const
const keysOf = (requests: ReadonlyArray<HttpRequest>) => requests.map(({ headers }) => headers["idempotency-key"])
const pathOf = ({ method, url }: HttpRequest): string => `${method} ${url.slice("http://venue".length)}`

test("a refusal in the envelope of /v2 is one, and is not asked again", async () => {
  const compat = { name: "OrderNotFound", message: "No.", code: "not_found", info: refusal("not_found") }
  const { client, platform } = scripted([{ status: 404, body: compat }, { status: 404, body: { info: null, code: "not_found" } }, placed])
  const refused = await platform.finish(client.rest.get("/v2/orders/ord_1").catch((cause: unknown) => cause))
  expect(refused).toBeInstanceOf(Refusal)
  expect(refused).toMatchObject({ status: 404, code: "not_found", isDecision: true })
  expect(platform.requests).toHaveLength(1)
  // An answer without an envelope is not the venue's.
  expect(await platform.finish(client.rest.get("/v2/orders/ord_1"))).toMatchObject({ orderId: "ord_1" })
})

test("a limit that waiting does not lift, such as that of an account's keys, is not asked again", async () => {
  const full: Given = { status: 429, body: refusal("rate_limited", { rejectionGuard: "key_limit" }) }
  const { client, platform } = scripted([full, placed])
  const refused = await platform.finish(client.rest.get("/v1/keys").catch((cause: unknown) => cause))
  expect(refused).toMatchObject({ status: 429, code: "rate_limited", isRetryable: false })
  expect(platform.requests).toHaveLength(1)
})

test("a command is sent once where it is answered, under an identity of its own", async () => {
  const { client, platform } = scripted([placed, placed])
  expect(await client.place(order)).toMatchObject({
    kind: "accepted",
    idempotencyKey: "made-1",
    value: { orderId: "ord_1", status: "open" }
  })
  await client.cancel({ orderId: "ord/1", marketId: "M" }, { idempotencyKey: "mine" })
  expect(platform.requests).toMatchObject([
    {
      method: "POST",
      url: "http://venue/v1/orders",
      headers: { authorization: "Bearer key", "idempotency-key": "made-1", "content-type": "application/json" },
      body: JSON.stringify({ accountId: "acc_1", clientOrderId: clientOrderIdOf("made-1", undefined), ...order })
    },
    {
      url: "http://venue/v1/orders/ord%2F1/cancel",
      headers: { "idempotency-key": "mine" },
      body: "{\"accountId\":\"acc_1\",\"marketId\":\"M\"}"
    }
  ])
  expect(platform.waits).toBe(0)
})

test.each<readonly [what: string, answers: ReadonlyArray<Given>, kind: string]>([
  ["nothing came, and it is answered then", ["silence", "broken", placed], "accepted"],
  ["something else answered in the venue's place", [{ status: 502, body: "<html>" }, { body: "<html>" }, placed], "accepted"],
  ["the venue takes it later", [overloaded, limited, placed], "accepted"],
  ["the venue decides against it", [rejected], "refused"],
  ["an earlier one was lost, and the venue has decided against it", ["broken", rejected], "refused"],
  ["the venue never takes it, and lost nothing", [overloaded, overloaded, overloaded, seen("never_seen")], "refused"],
  ["it is wrong", [{ status: 400, body: refusal("invalid_request") }, seen("never_seen")], "refused"],
  ["it is wrong, and the venue may have forgotten", [{ status: 400, body: refusal("invalid_request") }, seen("unknown_expired")],
    "refused"],
  ["all were lost, and it was decided", ["broken", "silence", defect, seen("accepted"), placed], "accepted"],
  ["all were lost, and it was decided against", ["broken", "broken", "broken", seen("refused"), rejected], "refused"],
  ["one was lost, and the venue takes nothing now", ["broken", overloaded, overloaded, seen("accepted"), placed], "accepted"],
  ["all were lost, and none had arrived", ["broken", "broken", "broken", seen("never_seen"), fenced], "never_arrived"],
  [
    "all were lost, and one arrives as it is fenced",
    ["broken", "broken", "broken", seen("never_seen"), { status: 409, body: refusal("order_rejected", { rejectionGuard: "already_seen" }) },
      placed],
    "accepted"
  ],
  ["the venue has forgotten", ["broken", "broken", "broken", seen("unknown_expired")], "unknown"],
  ["the venue cannot be asked", Array<Given>(6).fill("broken"), "unknown"],
  ["it cannot be fenced", ["broken", "broken", "broken", seen("never_seen"), ...Array<Given>(3).fill("broken")], "unknown"],
  ["it was decided, but the answer is not to be had", ["broken", "broken", "broken", seen("accepted"), overloaded, overloaded, overloaded],
    "unknown"],
  ["the key may not act any more", ["broken", { status: 401, body: refusal("unauthorized") }, {
    status: 401,
    body: refusal("unauthorized")
  }], "unknown"]
])("where %s, its outcome is told", async (_, answers, kind) => {
  const { client, left, platform } = scripted([unseen, ...answers])
  const outcome = await platform.finish(client.place(order, { idempotencyKey: "one" }))
  expect(outcome).toMatchObject({ kind, idempotencyKey: "one" })
  expect(left).toEqual([])
  const commands = platform.requests.filter((request) => pathOf(request) === "POST /v1/orders")
  expect(new Set(keysOf(commands))).toEqual(new Set(["one"]))
  expect(new Set(commands.map(({ body }) => body)).size).toBe(1)
  expect(platform.waits).toBe(0)
})

const unauthorized: Given = { status: 401, body: refusal("unauthorized") }

test.each<readonly [what: string, answers: ReadonlyArray<Given>, told: object]>([
  ["which had acted", [overloaded, overloaded, overloaded, seen("accepted"), placed], { kind: "accepted", value: { orderId: "ord_1" } }],
  ["which was refused", [unauthorized, seen("refused"), rejected], { kind: "refused", refusal: { code: "order_rejected" } }],
  ["of which the venue cannot tell", [unauthorized, unauthorized], { kind: "unknown", cause: { code: "unauthorized" }, seen: undefined }],
  ["of which it may have forgotten", [unauthorized, seen("unknown_expired")], { kind: "unknown", seen: { outcome: "unknown_expired" } }],
  ["whose answer is not to be had", [unauthorized, seen("accepted"), unauthorized], { kind: "unknown", seen: { outcome: "accepted" } }],
  ["which it has never seen", [unauthorized, seen("never_seen")], { kind: "refused", refusal: { code: "unauthorized" } }]
])("a refusal that decides nothing says nothing of an earlier call under the key %s: that is asked for", async (_, answers, told) => {
  const { client, left, platform } = scripted([unseen, ...answers])
  expect(await platform.finish(client.place(order, { idempotencyKey: "one" }))).toMatchObject({ ...told, idempotencyKey: "one" })
  expect(left).toEqual([])
  expect(platform.requests.some(({ url }) => url.endsWith("/fence"))).toBe(false)
})

test("an order whose end has passed is refused by a decision, which a repeat under its key is told again", async () => {
  const expired: Given = { status: 400, body: refusal("invalid_request", { rejectionGuard: "expiry_passed" }) }
  const told = { kind: "refused", idempotencyKey: "one", refusal: { code: "invalid_request", isDecision: true } }
  for (const answers of [[expired], ["broken", expired], ["broken", "broken", "broken", seen("refused"), expired]] as const) {
    const { client, left, platform } = scripted([unseen, ...answers])
    expect(await platform.finish(client.place(order, { idempotencyKey: "one" }))).toMatchObject(told)
    expect(left).toEqual([])
  }
  // Any other request with this code is malformed, which decides nothing.
  const malformed = scripted([{ status: 400, body: refusal("invalid_request") }])
  expect(await malformed.client.place(order)).toMatchObject({ kind: "refused", refusal: { isDecision: false } })
})

test("nothing is asked of a key that was made for the very call, by the client or as it is told", async () => {
  for (const identity of [{}, { idempotencyKey: "one", isNew: true }]) {
    const { client, platform } = scripted([unauthorized])
    expect(await platform.finish(client.place(order, identity))).toMatchObject({ kind: "refused", refusal: { code: "unauthorized" } })
    expect(platform.requests).toHaveLength(1)
  }
})

test("what was found out is said with it", async () => {
  const lost = ["broken", "broken", "broken"] as const
  const never = scripted([...lost, seen("never_seen"), fenced])
  expect(await never.platform.finish(never.client.cancelAll("M"))).toMatchObject({ kind: "never_arrived", fencedUntilEpochMs: 9 })
  expect(never.platform.requests.slice(3).map(pathOf)).toEqual([
    "GET /v1/accounts/acc_1/outcomes?idempotencyKey=made-1",
    "POST /v1/accounts/acc_1/outcomes/fence"
  ])
  expect(never.platform.requests.at(-1)).toMatchObject({
    body: "{\"idempotencyKey\":\"made-1\"}",
    headers: { "idempotency-key": "made-2" }
  })
  const decided = scripted([...lost, seen("accepted"), ...lost])
  expect(await decided.platform.finish(decided.client.cancelAll())).toMatchObject({ kind: "unknown", seen: { outcome: "accepted" } })
})

test("a name that is not given is the same again under the same key, and another for each order of a batch", async () => {
  const { client, platform } = scripted(Array<ReadonlyArray<Given>>(5).fill([unseen, placed]).flat())
  await client.place(order, { idempotencyKey: "one" })
  await client.place(order, { idempotencyKey: "one" })
  await client.place(order, { idempotencyKey: "two" })
  await client.placeBatch([order, { ...order, clientOrderId: "mine" }, order], { idempotencyKey: "one" })
  await client.placeBatch([order, order, order], { idempotencyKey: "one" })
  const bodies = platform.requests.flatMap(({ body }) => body === undefined ? [] : [JSON.parse(body)])
  const names: ReadonlyArray<string> = bodies.flatMap((body) => (body.orders ?? [body]).map((one: typeof body) => one.clientOrderId))
  expect(names[1]).toBe(names[0])
  expect([names[4], names[3], names[5]]).toEqual(["mine", names[6], names[8]])
  expect(new Set(names).size).toBe(6)
  expect(names.every((name) => /^[A-Za-z0-9._:-]{1,64}$/.test(name))).toBe(true)
})

test.each<readonly [what: string, answers: ReadonlyArray<Given>, seen: object | undefined]>([
  ["at once", [conflict, seen("accepted")], { outcome: "accepted" }],
  ["behind a lost answer", ["broken", conflict, seen("refused")], { outcome: "refused" }],
  ["and the venue cannot be asked", [conflict, "broken", "broken", "broken"], undefined],
  ["when the decision's answer is asked for", ["broken", "broken", "broken", seen("accepted"), conflict], { outcome: "accepted" }]
])("a key that stands for another body, said %s, is unknown with what was done under it, never nothing done", async (_, answers, told) => {
  const { client, left, platform } = scripted([unseen, ...answers])
  const outcome = await platform.finish(client.place(order, { idempotencyKey: "one" }))
  expect(outcome).toMatchObject({ kind: "unknown", cause: { code: "idempotency_key_conflict", isConflict: true, isDecision: false } })
  expect(outcome).toHaveProperty("seen", told === undefined ? undefined : expect.objectContaining(told))
  expect(left).toEqual([])
})

test("where the venue has forgotten things of the account, a key of this very call is fenced, and one of an earlier call is not", async () => {
  const lost = ["broken", "broken", "broken", seen("unknown_expired")] as const
  const own = scripted([...lost, fenced])
  expect(await own.platform.finish(own.client.place(order))).toMatchObject({ kind: "never_arrived", fencedUntilEpochMs: 9 })
  const decided = scripted([...lost, { status: 409, body: refusal("idempotency_key_conflict", { rejectionGuard: "already_seen" }) },
    placed])
  expect(await decided.platform.finish(decided.client.place(order))).toMatchObject({ kind: "accepted" })
  const given = scripted([unseen, ...lost])
  expect(await given.platform.finish(given.client.place(order, { idempotencyKey: "one" }))).toMatchObject({ kind: "unknown" })
  // The call took so long that its outcome may be forgotten by now.
  const slow = scripted(["silence", "silence", "silence", seen("unknown_expired")], { timeoutMs: 200_000 })
  expect(await slow.platform.finish(slow.client.place(order))).toMatchObject({ kind: "unknown" })
})

test("it waits longer each time, and as long as the venue says", async () => {
  const { client, platform } = scripted(["broken", limited, placed])
  const work = client.place(order)
  await platform.pass(149)
  expect(platform.requests).toHaveLength(1)
  await platform.pass(1)
  expect(platform.requests).toHaveLength(2)
  await platform.pass(6_999)
  expect(platform.requests).toHaveLength(2)
  await platform.pass(1)
  expect(await work).toMatchObject({ kind: "accepted" })
})

test("a command is not sent again once the venue may have forgotten its key", async () => {
  const later = Array.from({ length: 10 }, (): Given => ({ ...limited, headers: { "retry-after": "60" } }))
  const { client, platform } = scripted(["broken", ...later, seen("unknown_expired")], { maxAttempts: 50 })
  expect(await platform.finish(client.place(order))).toMatchObject({ kind: "unknown" })
  const sent = platform.requests.map(pathOf)
  expect(sent).toEqual([...Array.from({ length: 11 }, () => "POST /v1/orders"), expect.stringContaining("/outcomes?idempotencyKey=")])
})

test("what was decided is not sent again for its answer once the venue may have forgotten it since it was first sent", async () => {
  const minutes = (count: number) => Array.from({ length: count }, (): Given => ({ ...limited, headers: { "retry-after": "60" } }))
  const { client, left, platform } = scripted(["broken", ...minutes(5), ...minutes(4), seen("accepted"), ...minutes(2)], { maxAttempts: 6 })
  const outcome = await platform.finish(client.place(order))
  expect(outcome).toMatchObject({ kind: "unknown", seen: { outcome: "accepted" } })
  expect(platform.requests.map(({ method }) => method).join(" ")).toMatch(/^(?:POST ){6}(?:GET ){5}POST POST$/)
  expect(left).toEqual([])
})

test("an answer is not waited for any longer than was said", async () => {
  const { client, platform } = scripted(["silence", placed], { timeoutMs: 500 })
  const work = client.place(order)
  await platform.pass(499)
  expect(platform.requests).toHaveLength(1)
  await platform.pass(200)
  expect(platform.requests).toHaveLength(2)
  expect(await work).toMatchObject({ kind: "accepted" })
})

test("what only reads rejects with what was wrong", async () => {
  const missing = scripted([{ status: 404, body: refusal("market_not_found") }])
  await expect(missing.client.market("M")).rejects.toMatchObject({ code: "market_not_found", status: 404 })
  await expect(scripted([{ status: 404, body: refusal("market_not_found") }]).client.market("M")).rejects.toBeInstanceOf(Refusal)
  const silent = scripted(["broken", "silence", "broken"])
  await expect(silent.platform.finish(silent.client.orders({ status: "open", limit: 5 }))).rejects.toBeInstanceOf(Unanswered)
  expect(silent.platform.requests[0]!.url).toBe("http://venue/v1/accounts/acc_1/orders?status=open&limit=5")
})

test.each<readonly [string, (client: Client) => Promise<unknown>]>([
  ["limits", (client) => client.limits()],
  ["markets", (client) => client.markets()],
  ["market", (client) => client.market("M")],
  ["stats", (client) => client.stats("M")],
  ["trades", (client) => client.trades("M")],
  ["candles", (client) => client.candles("M")],
  ["fundings", (client) => client.fundings("M")],
  ["balance", (client) => client.balance()],
  ["positions", (client) => client.positions()],
  ["orders", (client) => client.orders()],
  ["order", (client) => client.order("ord_1")],
  ["fills", (client) => client.fills()],
  ["lookUp", (client) => client.lookUp("one")]
])("what something in between answers to %s is lost, and asked for again", async (_, read) => {
  for (const body of ["", "null", "{}", "[]", "{\"error\":\"gateway\"}", "{\"version\":\"portal/v1\"}"]) {
    const { client, left, platform } = scripted([{ body }, { body: { told: 1 } }, { body }, { body }, { status: 204, body: "" }])
    expect(await platform.finish(read(client)), body).toMatchObject({ told: 1 })
    await expect(platform.finish(read(client)), body).rejects.toBeInstanceOf(Unanswered)
    expect(left).toEqual([])
  }
})

test("a read of any other route is not answered with nothing, and the account is that of the key", async () => {
  const { client, platform } = scripted([{ body: "" }, { body: "null" }, { body: "[]" }, { body: "" }])
  expect(await platform.finish(client.rest.get("/v2/positions"))).toEqual([])
  expect(await platform.finish(client.rest.ask({ method: "DELETE", path: "/v1/session" }))).toBeUndefined()
  const asking = new VirtualPlatform(() => ({ body: { key: {} } }))
  const other = new Client(asking, { url: "http://venue", apiKey: "key", maxAttempts: 2 })
  await expect(asking.finish(other.accountId())).rejects.toBeInstanceOf(Unanswered)
})

test("the account is asked for once, and again where that failed", async () => {
  const key: Given = { body: { version: "api-key-current/v1", key: { accountId: "acc_2" } } }
  const left: Array<Given> = [{ status: 401, body: refusal("unauthorized") }, key, { body: {} }, { body: {} }]
  const platform = new VirtualPlatform(() => left.shift()!)
  const client = new Client(platform, { url: "http://venue", apiKey: () => "later" })
  await expect(client.balance()).rejects.toBeInstanceOf(Refusal)
  await client.balance()
  await client.positions()
  expect(platform.requests.map(pathOf)).toEqual([
    "GET /v1/api-keys/current",
    "GET /v1/api-keys/current",
    "GET /v1/accounts/acc_2/balance",
    "GET /v1/accounts/acc_2/positions"
  ])
  expect(platform.requests[0]!.headers["authorization"]).toBe("Bearer later")
})

test("closing gives up what is under way, and says that it is not known", async () => {
  const { client, platform } = scripted(["silence"])
  const work = client.place(order)
  await platform.settle()
  await client.close()
  expect(await work).toMatchObject({ kind: "unknown" })
  expect(platform.waits).toBe(0)
})

const forgotten = seen("unknown_expired")
/** The venue's answer to a lookup by clientOrderId, for an account of which it has forgotten something. */
const named = (more: object): Given => ({
  body: { outcome: "accepted", decisions: [], order: { orderId: "ord_9", status: "closed", ...more } }
})

test.each<readonly [what: string, clientOrderId: string | undefined, answers: ReadonlyArray<Given>, told: object]>([
  ["has its order, by the name that is made of the key", undefined, [forgotten, named({ idempotencyKey: "cancel" })], {
    kind: "accepted",
    value: { orderId: "ord_9", status: "closed" }
  }],
  ["has its order, by a name and the key", "mine", [forgotten, named({ idempotencyKey: "one" })], {
    kind: "accepted",
    value: { orderId: "ord_9" }
  }],
  ["has an order of the name, which may be another", "mine", [forgotten, named({ clientOrderId: "mine", idempotencyKey: "two" })], {
    kind: "unknown",
    cause: { name: "Forgotten", isRetryable: false },
    seen: { order: { orderId: "ord_9" } }
  }],
  ["cannot be asked for the key", undefined, ["broken", "broken", "broken"], { kind: "unknown", seen: undefined }],
  ["cannot be asked for the name", undefined, [forgotten, "broken", "broken", "broken"], { kind: "unknown", seen: undefined }],
  ["is asked by way of something that answers in its place", undefined, Array<Given>(3).fill({ body: "{\"status\":\"ok\"}" }), {
    kind: "unknown",
    seen: undefined
  }]
])("an order under a key that the venue may have forgotten is not placed again where it %s", async (_, clientOrderId, answers, told) => {
  const { client, left, platform } = scripted(answers)
  const own = clientOrderId === undefined ? order : { ...order, clientOrderId }
  expect(await platform.finish(client.place(own, { idempotencyKey: "one" }))).toMatchObject({ ...told, idempotencyKey: "one" })
  expect(left).toEqual([])
  expect(platform.requests.filter(({ method }) => method !== "GET")).toEqual([])
})

test("an order under a key that the venue may have forgotten is placed where it never had one of the name, and so is a batch", async () => {
  const { client, left, platform } = scripted([forgotten, forgotten, placed, forgotten, forgotten, forgotten, placed])
  expect(await client.place(order, { idempotencyKey: "one" })).toMatchObject({ kind: "accepted" })
  expect(await client.placeBatch([order, order], { idempotencyKey: "two" })).toMatchObject({ kind: "accepted" })
  expect(left).toEqual([])
  const of = (key: string, entry?: number): string => `clientOrderId=${clientOrderIdOf(key, entry)}`
  const asked = platform.requests.filter(({ method }) => method === "GET").map(({ url }) => url.split("?")[1])
  expect(asked).toEqual(["idempotencyKey=one", of("one"), "idempotencyKey=two", of("two", 0), of("two", 1)])
  const half = scripted([forgotten, forgotten, named({ idempotencyKey: "two" })])
  expect(await half.client.placeBatch([order, order], { idempotencyKey: "two" })).toMatchObject({
    kind: "unknown",
    cause: { name: "Forgotten" },
    seen: { order: { orderId: "ord_9" } }
  })
  expect(half.left).toEqual([])
})

test.each<readonly [what: string, days: number, isPlaced: boolean]>([
  ["was upgraded a day ago, and is not placed", 1, false],
  ["was upgraded longer ago than a key is used, and is placed", 31, true]
])("an order of which the venue has no trace, as it lacks what is older than an upgrade: it %s", async (_, days, isPlaced) => {
  const without = (nowEpochMs: number): Given => ({
    body: { outcome: "unknown_expired", decisions: [], completeSinceEpochMs: nowEpochMs - days * 86_400_000 }
  })
  const nowEpochMs = scripted([]).platform.nowEpochMs()
  const { client, left, platform } = scripted([forgotten, without(nowEpochMs), ...isPlaced ? [placed] : []])
  const told = await client.place(order, { idempotencyKey: "one" })
  if (isPlaced) expect(told).toMatchObject({ kind: "accepted" })
  else expect(told).toMatchObject({
      kind: "unknown",
      cause: { name: "Unproven", isRetryable: false },
      seen: { outcome: "unknown_expired" }
    })
  expect(left).toEqual([])
  expect(platform.requests.filter(({ method }) => method !== "GET")).toHaveLength(isPlaced ? 1 : 0)
})

test("candles are of trades, as on the stream, unless another series is asked for", async () => {
  const { client, platform } = scripted([{ body: {} }, { body: {} }])
  await client.candles("M", { timeframe: "1h" })
  await client.candles("M", { timeframe: "1h", series: "index" })
  expect(platform.requests.map(({ url }) => new URL(url).searchParams.get("series"))).toEqual(["trade", "index"])
})

const name = { orderId: "ord_1", marketId: "M" }

test.each<readonly [string, (client: Client, identity: Identity) => Promise<Outcome<unknown>>]>([
  ["place", (client, identity) => client.place(order, identity)],
  ["placeBatch", (client, identity) => client.placeBatch([order], identity)],
  ["amend", (client, identity) => client.amend(name, { quantity: "2.0" }, identity)],
  ["cancel", (client, identity) => client.cancel(name, identity)],
  ["cancelBatch", (client, identity) => client.cancelBatch([name], identity)],
  ["cancelAll", (client, identity) => client.cancelAll("M", identity)],
  ["cancelAllAfter", (client, identity) => client.cancelAllAfter(0, identity)]
])("%s comes to an outcome also where its account cannot be asked for", async (_, send) => {
  const come = async (answer: Given, identity: Identity) => {
    const platform = new VirtualPlatform(() => answer)
    const client = new Client(platform, { url: "http://venue", apiKey: "key", maxAttempts: 2 })
    const outcome = await platform.finish(send(client, identity))
    expect(platform.requests.map(pathOf).filter((path) => path !== "GET /v1/api-keys/current")).toEqual([])
    return outcome
  }
  const given = { idempotencyKey: "one" }
  expect(await come("broken", {})).toMatchObject({ kind: "unknown", cause: { name: "Unanswered" }, seen: undefined })
  expect(await come(unauthorized, {})).toMatchObject({ kind: "refused", refusal: { code: "unauthorized" } })
  expect(await come(overloaded, { ...given, isNew: true })).toMatchObject({ kind: "refused", refusal: { code: "overloaded" } })
  expect(await come(overloaded, given)).toMatchObject({ kind: "unknown", idempotencyKey: "one", cause: { code: "overloaded" } })
  expect(await come(unauthorized, given)).toMatchObject({ kind: "unknown", cause: { code: "unauthorized" } })
})

test.each(["", "{\"status\":\"ok\"}", "{\"version\":1}", "[]", "null", "{\"version\":\"portal/v1\"}"])(
  "what says that all went well and is not the venue's (%j) is no acceptance",
  async (body) => {
    const { client, left, platform } = scripted([{ body }, { body }, placed, { body }, { body }, { body }, unseen, { body }, fenced])
    expect(await platform.finish(client.place(order))).toMatchObject({ kind: "accepted", value: { orderId: "ord_1" } })
    expect(await platform.finish(client.cancelAll())).toMatchObject({ kind: "never_arrived", fencedUntilEpochMs: 9 })
    expect(left).toEqual([])
  }
)
