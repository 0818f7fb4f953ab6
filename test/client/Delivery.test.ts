/** One command, one identity: answers that are lost, late, or say "later" never double an order or lose its outcome. */
import { describe, expect, it } from "@effect/vitest"
import * as ccxt from "ccxt"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { NothingDone, OutcomeUnknown, Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { LossyProxy } from "./LossyProxy.js"
import { type Answer, answered, market, ScriptedVenue } from "./ScriptedVenue.js"

const symbol = "BTC/USDC:USDC"
const account = { accountId: "acc_1", apiKey: "pk_development_k_s" }

const failed = (status: number, code: string, retryable: boolean, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  headers,
  body: JSON.stringify({
    version: "external-rest-error/v1",
    requestId: "req_1",
    code,
    safeMessage: "As scripted.",
    retryable,
    recoveryActions: ["none"],
    occurredAtEpochMs: 1
  })
})

describe("a lost answer", () => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "perpetuum-ccxt-"))
  let venue: VenueProcess
  let proxy: LossyProxy
  let direct: Perpetuum
  let lossy: Perpetuum

  beforeAll(async () => {
    venue = await VenueProcess.start(dataDir)
    proxy = await LossyProxy.start(venue.port)
    const [one] = await venue.demoAccounts(1)
    const settings = { apiKey: one!.apiKey, enableRateLimit: false, options: { retryDelayMs: 1, maxAttempts: 3 } }
    direct = new Perpetuum({ ...settings, hostname: `127.0.0.1:${venue.port}` })
    lossy = new Perpetuum({ ...settings, hostname: `127.0.0.1:${proxy.port}` })
    await lossy.loadMarkets()
    await lossy.loadAccountId()
  })

  afterAll(async () => {
    await proxy.stop()
    await venue.stop()
    fs.rmSync(dataDir, { recursive: true, force: true })
  })

  const rest = (clientOrderId: string) => lossy.createOrder(symbol, "limit", "buy", 0.01, 50_000, { clientOrderId })

  it("of a placement: the order exists once, and the call answers with it", async () => {
    proxy.lose(1, /POST \/v1\/orders/)
    const before = proxy.lost
    const order = await rest("lost-1")
    expect(proxy.lost - before).toBe(1)
    expect(order).toMatchObject({ clientOrderId: "lost-1", status: "open" })
    const open = await direct.fetchOpenOrders()
    expect(open.map(({ clientOrderId, id }) => [clientOrderId, id])).toEqual([["lost-1", order.id]])
    await direct.cancelAllOrders()
  })

  it("of every attempt: the outcome is looked up, and the call still answers with the order", async () => {
    proxy.lose(3, /POST \/v1\/orders/)
    const before = proxy.lost
    const order = await rest("lost-2")
    expect(proxy.lost - before).toBe(3)
    expect((await direct.fetchOpenOrders()).map(({ id }) => id)).toEqual([order.id])
    await direct.cancelAllOrders()
  })

  it("of a cancel: the order is canceled once, and the call says so", async () => {
    const { id } = await rest("lost-3")
    proxy.lose(1, /POST \/v2\/orders/)
    expect(await lossy.cancelOrder(id!, symbol)).toMatchObject({ id, status: "canceled" })
    expect((await direct.fetchOrder(id!)).status).toBe("canceled")
  })

  it("of a refused placement: the refusal is what the call ends in", async () => {
    proxy.lose(1, /POST \/v1\/orders/)
    await expect(lossy.createOrder(symbol, "limit", "buy", 500, 50_000)).rejects.toMatchObject({
      name: "InvalidOrder",
      details: { rejectionGuard: "quantity_out_of_bounds" }
    })
  })

  it("of a read: it is asked again", async () => {
    proxy.lose(1)
    expect(await lossy.fetchOpenOrders()).toEqual([])
  })

  it("and of every question after it: the outcome is unknown, and the key in the error tells it later", async () => {
    proxy.lose(1000)
    const error = await rest("lost-4").then(() => undefined, (reason: unknown) => reason)
    proxy.lose(0)
    expect(error).toBeInstanceOf(OutcomeUnknown)
    expect(error).toBeInstanceOf(ccxt.RequestTimeout)
    const { idempotencyKey } = error as OutcomeUnknown
    const params = { clientOrderId: "lost-4", idempotencyKey }
    const again = await lossy.createOrder(symbol, "limit", "buy", 0.01, 50_000, params)
    expect((await direct.fetchOpenOrders()).map(({ clientOrderId, id }) => [clientOrderId, id])).toEqual([["lost-4", again.id]])
    await direct.cancelAllOrders()
  })
})

describe("an answer as scripted", () => {
  const place = (of: Perpetuum, params: object = {}) => of.createOrder(symbol, "limit", "buy", 0.01, 50_000, params)

  let venue: ScriptedVenue
  let exchange: Perpetuum

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
  })

  afterAll(async () => {
    await venue.stop()
  })

  const made = (settings: object = {}): Perpetuum => {
    exchange = new Perpetuum({
      apiKey: account.apiKey,
      baseURL: `http://127.0.0.1:${venue.port}`,
      enableRateLimit: false,
      options: { retryDelayMs: 1, maxAttempts: 3 },
      ...settings
    })
    exchange.accountId = account.accountId
    return exchange
  }

  const switchOff = (settings: object = {}): Promise<unknown> => made(settings).cancelAllOrdersAfter(0)
  /** The lookup's answer before an order is sent under a key that the caller gave. */
  const unseen = answered({ outcome: "never_seen" })
  const keys = () => venue.seen.map(({ headers }) => headers["idempotency-key"])

  it("429 and 503 are repeated with the same key and body, after the time that the venue asks for", async () => {
    const limited = failed(429, "rate_limited", true, { "retry-after": "1" })
    venue.script(limited, failed(503, "overloaded", true), answered({ done: true }))
    const startedAt = made().milliseconds()
    expect(await switchOff()).toMatchObject({ done: true })
    expect(exchange.milliseconds() - startedAt).toBeGreaterThanOrEqual(990)
    expect(new Set(keys()).size).toBe(1)
    expect(keys()[0]).toMatch(/^[\x21-\x7e]{1,255}$/)
    expect(new Set(venue.seen.map(({ body }) => body)).size).toBe(1)
    expect(venue.seen).toHaveLength(3)
  })

  it("a limit that waiting does not lift, such as that of an account's keys, is not asked again", async () => {
    venue.script(failed(429, "rate_limited", false), answered({ done: true }))
    await expect(switchOff()).rejects.toMatchObject({ name: "RateLimitExceeded" })
    expect(venue.seen).toHaveLength(1)
  })

  it("a command is not sent again once the venue may have forgotten its key", async () => {
    venue.script(failed(503, "overloaded", true), answered({ done: true }))
    made()
    let sleptMs = 0
    const { milliseconds } = exchange
    exchange.milliseconds = () => milliseconds.call(exchange) + sleptMs
    Object.assign(exchange, {
      pause: async () => {
        sleptMs += 600_000
      }
    })
    await expect(exchange.cancelAllOrdersAfter(0)).rejects.toMatchObject({ name: "ExchangeNotAvailable" })
    expect(venue.seen).toHaveLength(1)
  })

  it("two calls have two keys, and a key that the caller gives is kept", async () => {
    venue.script(answered({}), answered({}), answered({}))
    await switchOff()
    await exchange.cancelAllOrdersAfter(0)
    await exchange.cancelAllOrdersAfter(0, { idempotencyKey: "mine" })
    expect(new Set(keys()).size).toBe(3)
    expect(keys()[2]).toBe("mine")
    const [, , last] = venue.seen
    expect(last).toMatchObject({ method: "POST", url: "/v1/accounts/acc_1/orders/cancel-all-after", body: "{\"timeoutMs\":0}" })
    expect(last!.headers).toMatchObject({ authorization: `Bearer ${account.apiKey}`, "content-type": "application/json" })
  })

  it("the attempts are bounded, and a refusal that nothing was done under is thrown as it is", async () => {
    venue.script(...Array.from({ length: 3 }, () => failed(503, "overloaded", true)))
    await expect(switchOff()).rejects.toMatchObject({ name: "ExchangeNotAvailable", details: { code: "overloaded" } })
    expect(venue.seen).toHaveLength(3)
  })

  it("a refusal that repeating cannot help is not repeated", async () => {
    const refusals = [[401, "unauthorized", "AuthenticationError"], [403, "scope_missing", "PermissionDenied"]] as const
    for (const [status, code, name] of refusals) {
      venue.script(failed(status, code, false))
      await expect(switchOff()).rejects.toMatchObject({ name })
      expect(venue.seen).toHaveLength(1)
    }
  })

  it("a command never seen is fenced, and ends in the promise that nothing was done", async () => {
    venue.script("silence", "silence", "silence", answered({ outcome: "never_seen" }), answered({ fenced: true }))
    const error = await switchOff({ timeout: 500 }).then(() => undefined, (reason: unknown) => reason)
    expect(error).toBeInstanceOf(NothingDone)
    expect(error).toBeInstanceOf(ccxt.ExchangeNotAvailable)
    const key = keys()[0]
    expect(error).toMatchObject({ idempotencyKey: key, cause: { name: "RequestTimeout" } })
    expect(venue.seen[3]).toMatchObject({ method: "GET", url: `/v1/accounts/acc_1/outcomes?idempotencyKey=${key}` })
    expect(venue.seen[4]).toMatchObject({ method: "POST", url: "/v1/accounts/acc_1/outcomes/fence" })
    expect(JSON.parse(venue.seen[4]!.body)).toEqual({ idempotencyKey: key })
    expect(keys()[4]).not.toBe(key)
  })

  it("a lost answer before a refusal that did nothing leaves the outcome open: it is asked for", async () => {
    const overloaded = failed(503, "overloaded", true)
    venue.script("silence", overloaded, overloaded, answered({ outcome: "accepted" }), answered({ done: 1 }))
    expect(await switchOff({ timeout: 500 })).toMatchObject({ done: 1 })
    expect(keys()[4]).toBe(keys()[0])
  })

  it("an outcome that the venue has forgotten is unknown, where the key may have been sent before", async () => {
    venue.script("silence", "silence", "silence", answered({ outcome: "unknown_expired" }))
    await expect(made({ timeout: 500 }).cancelAllOrdersAfter(0, { idempotencyKey: "one" })).rejects.toBeInstanceOf(OutcomeUnknown)
    // A key made for this very call cannot be forgotten yet.
    venue.script("silence", "silence", "silence", answered({ outcome: "unknown_expired" }), answered({ fenced: true }))
    await expect(switchOff({ timeout: 500 })).rejects.toBeInstanceOf(NothingDone)
    expect(venue.seen[4]!.url).toBe("/v1/accounts/acc_1/outcomes/fence")
  })

  it("repeating a placement under the key of the error sends the same body, though no clientOrderId was given", async () => {
    const exists = { orders: ["silence", "silence", "silence"], lookUp: { status: 502, body: "" } } as const
    made({ timeout: 500 }).setMarkets([market])
    venue.script(...exists.orders, exists.lookUp, exists.lookUp, exists.lookUp)
    const error = await place(exchange).then(() => undefined, (reason: unknown) => reason)
    expect(error).toBeInstanceOf(OutcomeUnknown)
    const { idempotencyKey } = error as OutcomeUnknown
    const [first] = venue.seen
    expect(JSON.parse(first!.body)).toMatchObject({ clientOrderId: expect.stringMatching(/^[0-9a-f]{32}$/) })
    exchange.timeout = 10_000
    venue.script(unseen, answered({ orderId: "ord_1" }))
    await place(exchange, { idempotencyKey })
    expect(venue.seen[1]).toMatchObject({ body: first!.body, headers: { "idempotency-key": idempotencyKey } })
    // The same holds for a batch, where each order has a name of its own.
    const orders = [1, 2].map((amount) => ({ symbol, type: "limit", side: "buy", amount, price: 50_000 }) as const)
    venue.script(unseen, answered({ outcomes: [] }), unseen, answered({ outcomes: [] }))
    for (let time = 0; time < 2; time++) await exchange.createOrders([...orders], { idempotencyKey })
    expect(venue.seen[3]!.body).toBe(venue.seen[1]!.body)
    const names = JSON.parse(venue.seen[1]!.body).orders.map(({ clientOrderId }: { clientOrderId: string }) => clientOrderId)
    expect(new Set([...names, JSON.parse(first!.body).clientOrderId]).size).toBe(3)
  })

  it("a refusal that decides nothing says nothing of an earlier call under the key: that is asked for", async () => {
    const again = () => made().cancelAllOrdersAfter(0, { idempotencyKey: "one" })
    const starting = failed(503, "starting", true)
    const unauthorized = failed(401, "unauthorized", false)
    venue.script(starting, starting, starting, answered({ outcome: "accepted" }), answered({ done: 1 }))
    expect(await again()).toMatchObject({ done: 1 })
    venue.script(unauthorized, answered({ outcome: "refused" }), failed(422, "order_rejected", false))
    await expect(again()).rejects.toBeInstanceOf(ccxt.InvalidOrder)
    venue.script(starting, starting, starting, unauthorized)
    await expect(again()).rejects.toMatchObject({ name: "OutcomeUnknown", idempotencyKey: "one" })
    venue.script(starting, starting, starting, answered({ outcome: "unknown_expired" }))
    await expect(again()).rejects.toBeInstanceOf(OutcomeUnknown)
    // An error that repeating cannot fix is passed on, if the outcome cannot be found out.
    venue.script(unauthorized, unauthorized)
    await expect(again()).rejects.toBeInstanceOf(ccxt.AuthenticationError)
    venue.script(unauthorized, answered({ outcome: "unknown_expired" }))
    await expect(again()).rejects.toBeInstanceOf(ccxt.AuthenticationError)
    venue.script(unauthorized, answered({ outcome: "never_seen" }))
    await expect(again()).rejects.toBeInstanceOf(ccxt.AuthenticationError)
    expect(venue.seen).toHaveLength(2)
  })

  it("an order whose end has passed is refused by a decision, which a repeat under its key is told again", async () => {
    made().setMarkets([market])
    const { body, ...more } = failed(400, "invalid_request", false)
    const expired: Answer = { ...more, body: JSON.stringify({ ...JSON.parse(body), rejectionGuard: "expiry_passed" }) }
    const late = () => place(exchange, { idempotencyKey: "one", expiresAtEpochMs: 1 })
    const told = { name: "BadRequest", details: { code: "invalid_request", rejectionGuard: "expiry_passed" } }
    venue.script(unseen, expired)
    await expect(late()).rejects.toMatchObject(told)
    expect(venue.seen).toHaveLength(2)
    const broken = { status: 502, body: "" }
    venue.script(unseen, broken, broken, broken, answered({ outcome: "refused" }), expired)
    await expect(late()).rejects.toMatchObject(told)
  })

  it("a key that stands for another body leaves the outcome open, and says what was done under it", async () => {
    made().setMarkets([market])
    const decisions = [{ entries: [{ index: 0, accepted: true, orderId: "ord_7" }] }]
    venue.script(unseen, failed(409, "idempotency_key_conflict", false), answered({ outcome: "accepted", decisions }))
    const error = await place(exchange, { idempotencyKey: "one" }).then(() => undefined, (reason: unknown) => reason)
    expect(error).toBeInstanceOf(OutcomeUnknown)
    expect(error).toMatchObject({ idempotencyKey: "one", message: expect.stringContaining("the earlier one: accepted ord_7") })
    // The same holds if the venue cannot be asked for the earlier outcome, and if the conflict comes in answer to a repeat.
    const broken = { status: 502, body: "" }
    venue.script(unseen, failed(409, "idempotency_key_conflict", false), broken, broken, broken)
    await expect(place(exchange, { idempotencyKey: "one" })).rejects.toBeInstanceOf(OutcomeUnknown)
    const seen = answered({ outcome: "refused", decisions: [{ entries: [{ index: 0, accepted: false }] }] })
    venue.script(unseen, broken, broken, broken, seen, failed(409, "idempotency_key_conflict", false), seen)
    await expect(place(exchange, { idempotencyKey: "one" })).rejects.toThrow("the earlier one: refused (")
  })

  it("what closes a position is told under the key of an earlier call as it was decided, without a look at the position", async () => {
    const stop = (params: object) => exchange.createOrder(symbol, "market", "sell", 0.01, undefined, { ...params, idempotencyKey: "one" })
    const seen = answered({ outcome: "accepted", decisions: [] })
    const set = answered({ triggerId: "trg_1", quantity: "0.010", decidedAtEpochMs: 1, stopLoss: { triggerPrice: "49000.0" } })
    const urls = () => venue.seen.map(({ method, url }) => `${method} ${url.split("/").at(-1)!}`)
    made().setMarkets([market])
    const none = answered({ triggers: [] })
    const conflict = failed(409, "idempotency_key_conflict", false)
    const bodies = () => venue.seen.filter(({ method }) => method === "PUT").map(({ body }) => Object.keys(JSON.parse(body)))
    venue.script(seen, none, set)
    expect(await stop({ stopLossPrice: 49_000 })).toMatchObject({ id: "trg_1", stopLossPrice: 49_000 })
    expect(urls()).toEqual(["GET outcomes?idempotencyKey=one", "GET triggers?marketId=BTC-USDC-PERP", "PUT auto-close"])
    venue.script(seen, none, set)
    expect(await stop({ triggerPrice: 49_000, triggerDirection: "descending", reduceOnly: true })).toMatchObject({ id: "trg_1" })
    expect(bodies()).toEqual([["stopLoss"]])
    // Likewise it tells whether the other leg was kept.
    const kept = { triggerId: "trg_0", quantity: "0.010", status: "armed", takeProfit: { triggerPrice: "60000.0", triggerBy: "mark" } }
    venue.script(seen, answered({ triggers: [kept] }), conflict, seen, set)
    expect(await stop({ stopLossPrice: 49_000 })).toMatchObject({ id: "trg_1" })
    expect(bodies()).toEqual([["stopLoss", "takeProfit"], ["stopLoss"]])
    const broken = { status: 502, body: "" }
    venue.script(broken, broken, broken)
    await expect(stop({ stopLossPrice: 49_000 })).rejects.toMatchObject({ name: "OutcomeUnknown", idempotencyKey: "one" })
  })

  it("a defect of the venue leaves a command's outcome open too", async () => {
    venue.script(failed(500, "internal_error", false), answered({ outcome: "refused" }), failed(422, "order_rejected", false))
    await expect(switchOff()).rejects.toBeInstanceOf(ccxt.InvalidOrder)
    expect(venue.seen).toHaveLength(3)
  })

  it("an answer that breaks off, or is no JSON, is a lost one", async () => {
    const html = { status: 200, body: "<html>" }
    venue.script({ ...answered({ done: 1 }), isCut: true }, html, answered({ done: 1 }))
    expect(await switchOff()).toMatchObject({ done: 1 })
    expect(new Set(keys()).size).toBe(1)
    venue.script(html, html, { status: 502, body: "Bad Gateway" }, answered({ outcome: "accepted" }), answered({ done: 2 }))
    expect(await switchOff()).toMatchObject({ done: 2 })
    expect(new Set([...keys().slice(0, 3), ...keys().slice(4)]).size).toBe(1)
  })

  it("what says that all went well and is not the venue's is a lost answer, of a command and of its look-up", async () => {
    const triggers = (): Promise<unknown> =>
      exchange.request("v1/accounts/{accountId}/triggers", "private", "DELETE", { accountId: "acc_1" })
    made().setMarkets([market])
    for (const body of ["{\"status\":\"ok\"}", "{\"version\":\"portal/v1\",\"info\":7}", "[]", "null", "7"]) {
      const portal = { status: 200, body }
      for (
        const send of [() => place(exchange), triggers, () => exchange.cancelOrder("ord_1", symbol), () => exchange.setLeverage(5, symbol)]
      ) {
        venue.script(portal, portal, portal, unseen, portal, answered({ fenced: true }))
        await expect(send(), body).rejects.toBeInstanceOf(NothingDone)
        expect(venue.seen, body).toHaveLength(6)
      }
    }
    const portal = { status: 200, body: "{\"status\":\"ok\"}" }
    venue.script(portal, portal, portal)
    await expect(place(exchange, { idempotencyKey: "one" })).rejects.toBeInstanceOf(OutcomeUnknown)
    expect(venue.seen.map(({ method }) => method)).toEqual(["GET", "GET", "GET"])
  })

  it("calls that need the account at the same time ask for it once, and again where that failed", async () => {
    const fresh = made()
    fresh.setMarkets([market])
    fresh.accountId = ""
    const calls = () => Promise.allSettled(Array.from({ length: 16 }, () => place(fresh)))
    venue.script(failed(401, "unauthorized", false))
    expect(new Set((await calls()).map(({ status }) => status))).toEqual(new Set(["rejected"]))
    expect(venue.seen).toHaveLength(1)
    const key = answered({ version: "api-key-current/v1", key: { accountId: "acc_2" } })
    venue.script(key, ...Array.from({ length: 16 }, (_, at) => answered({ orderId: `ord_${at}`, status: "open" })))
    expect(new Set((await calls()).map(({ status }) => status))).toEqual(new Set(["fulfilled"]))
    expect(venue.seen.map(({ method }) => method)).toEqual(["GET", ...Array<string>(16).fill("POST")])
    expect(new Set(venue.seen.slice(1).map(({ body }) => (JSON.parse(body) as { readonly accountId: string }).accountId))).toEqual(
      new Set(["acc_2"])
    )
  })

  it("what something in between answers to a read is lost, and asked for again", async () => {
    const reads: ReadonlyArray<readonly [string, (on: Perpetuum) => Promise<unknown>, Answer]> = [
      ["fetchTime", (on) => on.fetchTime(), answered({ timestamp: 1 })],
      ["fetchMarkets", (on) => on.fetchMarkets(), answered([market])],
      ["fetchOrderBook", (on) => on.fetchOrderBook(symbol), answered({ bids: [], asks: [] })],
      ["fetchOHLCV", (on) => on.fetchOHLCV(symbol), answered([])],
      ["fetchTrades", (on) => on.fetchTrades(symbol), answered([])],
      ["fetchTicker", (on) => on.fetchTicker(symbol), answered({ symbol })],
      ["fetchFundingRate", (on) => on.fetchFundingRate(symbol), answered({ symbol })],
      ["fetchFundingRateHistory", (on) => on.fetchFundingRateHistory(symbol), answered({ intervals: [] })],
      ["fetchBalance", (on) => on.fetchBalance(), answered({ timestamp: 1 })],
      ["fetchPositions", (on) => on.fetchPositions(), answered([])],
      ["fetchOrder", (on) => on.fetchOrder("ord_1"), answered({ id: "ord_1", symbol })],
      ["fetchOpenOrders", (on) => on.fetchOpenOrders(), answered([])],
      ["fetchMyTrades", (on) => on.fetchMyTrades(), answered([])],
      ["fetchAccounts", (on) => on.fetchAccounts(), answered({ version: "api-key-current/v1", key: { accountId: "acc_1" } })],
      ["fetchLeverage", (on) => on.fetchLeverage(symbol), answered({ leverageX: 5 })]
    ]
    const bodies = ["{}", "null", "7", "{\"timestamp\":\"now\"}", "{\"version\":1,\"info\":{\"version\":\"portal/v1\"}}"]
    for (const [name, read, given] of reads) {
      const fresh = made()
      fresh.setMarkets([market])
      for (const body of bodies) {
        const portal = { status: 200, body }
        venue.script(portal, portal, given)
        await read(fresh)
        expect(venue.seen, `${name} ${body}`).toHaveLength(3)
      }
    }
    // The library writes the proxy in front of the address, so that this does not begin with the venue's any more.
    const proxied = made({ proxyUrl: `http://127.0.0.1:${venue.port}/?` })
    proxied.setMarkets([market])
    venue.script({ status: 200, body: "{}" }, answered({ timestamp: 1 }))
    await proxied.fetchBalance()
    expect(venue.seen).toHaveLength(2)
    venue.script({ status: 200, body: "{}" })
    await expect(made().fetchStatus()).rejects.toMatchObject({ name: "NetworkError" })
    venue.script({ status: 200, body: JSON.stringify({ version: "readiness/v1", status: "ready" }) })
    expect(await made().fetchStatus()).toMatchObject({ status: "ok" })
  })

  describe("under a key that the venue may have forgotten", () => {
    const forgotten = answered({ outcome: "unknown_expired" })
    const native = {
      orderId: "ord_9",
      marketId: market.id,
      status: "closed",
      side: "buy",
      quantity: "0.010",
      filledQuantity: "0.010",
      averageFillPrice: "50000.0"
    }
    const named = (more: object) => answered({ outcome: "accepted", order: { ...native, ...more } })
    const methods = () => venue.seen.map(({ method }) => method)

    it("an order that the venue has is told as it is now, and is not placed again", async () => {
      made().setMarkets([market])
      venue.script(forgotten, named({ idempotencyKey: "cancel" }))
      expect(await place(exchange, { idempotencyKey: "one" })).toMatchObject({ id: "ord_9", status: "closed", filled: 0.01 })
      expect(venue.seen[1]!.url).toMatch(/\?clientOrderId=[0-9a-f]{32}$/)
      venue.script(forgotten, named({ clientOrderId: "mine", idempotencyKey: "one" }))
      expect(await place(exchange, { idempotencyKey: "one", clientOrderId: "mine" })).toMatchObject({ id: "ord_9" })
      // A name given by the caller may belong to another order; a batch's answer must cover each of its orders.
      venue.script(forgotten, named({ clientOrderId: "mine", idempotencyKey: "two" }))
      await expect(place(exchange, { idempotencyKey: "one", clientOrderId: "mine" })).rejects.toMatchObject({
        name: "OutcomeUnknown",
        idempotencyKey: "one",
        message: expect.stringContaining("ord_9 (closed) of the name mine")
      })
      expect(methods()).toEqual(["GET", "GET"])
      const orders = [1, 2].map((amount) => ({ symbol, type: "limit", side: "buy", amount, price: 50_000 }) as const)
      venue.script(forgotten, forgotten, named({ idempotencyKey: "one" }))
      await expect(exchange.createOrders([...orders], { idempotencyKey: "one" })).rejects.toBeInstanceOf(OutcomeUnknown)
      expect(methods()).toEqual(["GET", "GET", "GET"])
    })

    it("an order is not placed where the venue lacks what is older than an upgrade", async () => {
      made().setMarkets([market])
      venue.script(forgotten, answered({ outcome: "unknown_expired", completeSinceEpochMs: exchange.milliseconds() - 86_400_000 }))
      await expect(place(exchange, { idempotencyKey: "one" })).rejects.toMatchObject({
        name: "OutcomeUnknown",
        message: expect.stringContaining("of orders from before its upgrade")
      })
      expect(methods()).toEqual(["GET", "GET"])
    })

    it("an order that the venue never had is placed", async () => {
      made().setMarkets([market])
      venue.script(forgotten, forgotten, answered(native))
      expect(await place(exchange, { idempotencyKey: "one" })).toMatchObject({ id: "ord_9" })
      expect(methods()).toEqual(["GET", "GET", "POST"])
    })

    it("what is made of the book or of the position tells the order that it was, in one or in parts, and makes no other", async () => {
      made().setMarkets([market])
      const spend = (params: object) => exchange.createMarketOrderWithCost(symbol, "buy", 500, params)
      venue.script(forgotten, named({}))
      expect(await spend({ idempotencyKey: "one" })).toMatchObject({ id: "ord_9", filled: 0.01 })
      venue.script(forgotten, forgotten, named({ filledQuantity: "0.004" }), named({ orderId: "ord_10" }), forgotten)
      expect(await exchange.closePosition(symbol, undefined, { idempotencyKey: "one" })).toMatchObject({
        id: "ord_10",
        amount: 0.02,
        filled: 0.014,
        status: "canceled",
        info: { closing: [{ orderId: "ord_9" }, { orderId: "ord_10" }] }
      })
      expect(new Set(methods())).toEqual(new Set(["GET"]))
      const broken = { status: 502, body: "" }
      venue.script(broken, broken, broken)
      await expect(spend({ idempotencyKey: "one" })).rejects.toMatchObject({ name: "OutcomeUnknown", idempotencyKey: "one" })
      expect(methods()).toEqual(["GET", "GET", "GET"])
    })
  })

  it("what a command under a kept key is made of and cannot be had leaves its outcome open", async () => {
    const starting = failed(503, "starting", true)
    const key = { idempotencyKey: "one" }
    const calls: ReadonlyArray<readonly [string, (of: Perpetuum, params: object) => Promise<unknown>]> = [
      ["createOrder", (of, params) => place(of, params)],
      ["createOrders", (of, params) => of.createOrders([{ symbol, type: "limit", side: "buy", amount: 1, price: 50_000 }], params)],
      ["stop loss", (of, params) => place(of, { ...params, stopLossPrice: 1 })],
      ["createMarketOrderWithCost", (of, params) => of.createMarketOrderWithCost(symbol, "buy", 500, params)],
      ["closePosition", (of, params) => of.closePosition(symbol, undefined, params)],
      ["editOrder", (of, params) => of.editOrder("ord_1", symbol, "limit", "buy", 1, undefined, params)],
      ["cancelOrder", (of, params) => of.cancelOrder("ord_1", symbol, params)],
      ["cancelOrder of a pair", (of, params) => of.cancelOrder("trg_1", symbol, params)],
      ["cancelOrders", (of, params) => of.cancelOrders(["ord_1"], symbol, params)],
      ["cancelAllOrders", (of, params) => of.cancelAllOrders(symbol, params)],
      ["cancelAllOrders of pairs", (of, params) => of.cancelAllOrders(symbol, { ...params, trigger: true })],
      ["cancelAllOrdersAfter", (of, params) => of.cancelAllOrdersAfter(0, params)],
      ["setLeverage", (of, params) => of.setLeverage(5, symbol, params)]
    ]
    const come = async (call: (of: Perpetuum, params: object) => Promise<unknown>, params: object): Promise<unknown> => {
      const fresh = made({ accountId: "", options: { maxAttempts: 1 } })
      exchange.accountId = ""
      venue.script(starting)
      return await call(fresh, params).then(() => "done", (cause: Error) => cause.name)
    }
    for (const [name, call] of calls) {
      expect(await come(call, key), name).toBe("OutcomeUnknown")
      expect(await come(call, {}), name).toBe("OnMaintenance")
      expect(venue.seen.map(({ method }) => method), name).toEqual(["GET"])
    }
  })

  it("an error of something in between, with any status and any body, is a lost answer", async () => {
    made().setMarkets([market])
    for (const status of [401, 413, 418, 422, 429, 499, 502, 523, 524, 599]) {
      for (const body of ["<html>", "{\"error\":\"timeout\"}"]) {
        const between = { status, body }
        venue.script(between, between, between, answered({ outcome: "never_seen" }), answered({ fenced: true }))
        await expect(place(exchange), `${status} ${body}`).rejects.toBeInstanceOf(NothingDone)
        venue.script(between, between, between)
        const read = await exchange.fetchOpenOrders().then(() => undefined, (reason: unknown) => reason)
        expect(read, `${status} ${body}`).toBeInstanceOf(ccxt.NetworkError)
        if (status === 429) expect(read).toBeInstanceOf(ccxt.RateLimitExceeded)
      }
    }
  })

  it("a command that never left has nothing to look up", async () => {
    venue.script()
    await expect(switchOff({ apiKey: "" })).rejects.toBeInstanceOf(ccxt.AuthenticationError)
    expect(venue.seen).toEqual([])
  })

  it("the implicit methods have an identity too", async () => {
    venue.script("silence", answered({ id: "ord_1" }))
    const implicit: unknown = made({ timeout: 500 })["privatePostV2OrdersOrderIdCancel"]
    expect(implicit).toBeTypeOf("function")
    expect(await (implicit as (params: object) => Promise<unknown>)({ orderId: "ord_1", symbol })).toMatchObject({ id: "ord_1" })
    expect(keys()[0]).toBeDefined()
    expect(keys()[1]).toBe(keys()[0])
    expect(venue.seen[1]).toMatchObject({ url: "/v2/orders/ord_1/cancel", body: JSON.stringify({ symbol }) })
  })

  it("a starting venue is `maintenance`, and is asked once", async () => {
    const starting = { version: "readiness/v1", status: "starting", durableSequence: 0, details: {} }
    venue.script({ status: 503, body: JSON.stringify(starting) })
    expect(await made().fetchStatus()).toMatchObject({ status: "maintenance" })
    expect(venue.seen).toHaveLength(1)
  })

  it("symbols in a path are URL-encoded, and none goes into the query", async () => {
    venue.script(answered({ bids: [], asks: [] }))
    await made().request("v2/markets/{symbol}/book", "public", "GET", { symbol, limit: 5 })
    expect(venue.seen[0]!.url).toBe("/v2/markets/BTC%2FUSDC%3AUSDC/book?limit=5")
    expect(venue.seen[0]!.headers.authorization).toBeUndefined()
  })
})
