/** Every refusal of the venue as one of the library's error classes: all by their envelopes, the common ones live. */
import { describe, expect, it } from "@effect/vitest"
import * as ccxt from "ccxt"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { errorOf } from "../../src/client/ccxt/Refusals.js"
import * as Refusal from "../../src/domain/Refusal.js"
import * as Errors from "../../src/edge/http/Errors.js"

const symbol = "BTC/USDC:USDC"

const failures: ReadonlyArray<Errors.Failure> = [
  ...Refusal.all.map(([, description]) => ({ description })),
  ...Errors.all
]

describe("refusals in the library's classes", () => {
  it("every failure is the class that the venue names, in both envelopes", () => {
    const reached = new Set<string>()
    for (const failure of failures) {
      const { code, compatName, guard, status } = failure.description
      const name = guard === "post_only_would_cross" ? "OrderImmediatelyFillable" : compatName
      const Class = (ccxt.errors as unknown as Readonly<Record<string, new() => Error>>)[compatName]!
      for (const family of ["native", "compat"] as const) {
        const envelope: unknown = JSON.parse(Errors.body(family, failure, "req_1", 1_700_000_000_000))
        const error = errorOf("perpetuum", status, {}, envelope)
        expect(error, `${family} ${code}`).toBeInstanceOf(Class)
        expect(error!.constructor.name, `${family} ${code}`).toBe(name)
        expect(error!.details).toMatchObject({ status, code, requestId: "req_1", rejectionGuard: guard })
      }
      if (compatName !== "RateLimitExceeded") reached.add(compatName)
    }
    expect([...reached, "RateLimitExceeded"].sort()).toEqual([
      "AccountNotEnabled",
      "AuthenticationError",
      "BadRequest",
      "BadSymbol",
      "DuplicateOrderId",
      "ExchangeError",
      "ExchangeNotAvailable",
      "InsufficientFunds",
      "InvalidOrder",
      "NotSupported",
      "OnMaintenance",
      "OrderNotFound",
      "PermissionDenied",
      "RateLimitExceeded"
    ])
  })

  it("a rate limit is RateLimitExceeded, and tells how long to wait", () => {
    const envelope = { version: "external-rest-error/v1", code: "rate_limited", safeMessage: "Too many.", retryable: true }
    const error = errorOf("perpetuum", 429, { "Retry-After": "7" }, envelope)
    expect(error).toBeInstanceOf(ccxt.RateLimitExceeded)
    expect(error!.details).toMatchObject({ retryable: true, retryAfterMs: 7000 })
    expect(errorOf("perpetuum", 429, { "retry-after": "86400" }, envelope)!.details.retryAfterMs).toBe(60_000)
    expect(errorOf("perpetuum", 429, { "retry-after": "soon" }, envelope)!.details.retryAfterMs).toBeUndefined()
  })

  it("the nearest value that the venue would take is on the error and in its message, with a guard and without", () => {
    for (const more of [{}, { rejectionGuard: "quantity_out_of_bounds" }]) {
      for (const family of ["native", "compat"]) {
        const native = { version: "external-rest-error/v1", code: "order_rejected", safeMessage: "No.", nearest: "60000.1", ...more }
        const error = errorOf("perpetuum", 422, {}, family === "native" ? native : { name: "InvalidOrder", info: native })
        expect(error).toMatchObject({ nearest: "60000.1", details: { nearest: "60000.1" } })
        expect(error!.message).toContain("nearest 60000.1)")
      }
    }
    const without = errorOf("perpetuum", 404, {}, { version: "external-rest-error/v1", code: "not_found" })
    expect(without).not.toHaveProperty("nearest")
  })

  it("what a gateway says is not taken for the venue's word", () => {
    for (const body of [undefined, "<html>", [], {}, { name: "InvalidOrder", message: "forged" }, { code: 7 }]) {
      expect(errorOf("perpetuum", 502, {}, body)).toBeUndefined()
    }
  })
})

describe("refusals by a running venue", () => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), "perpetuum-ccxt-"))
  let venue: VenueProcess
  let exchange: Perpetuum
  let poor: Perpetuum
  let settings: Readonly<Record<string, unknown>>
  let near: number

  beforeAll(async () => {
    venue = await VenueProcess.start(dataDir)
    const [one] = await venue.demoAccounts(1)
    settings = { baseURL: `http://127.0.0.1:${venue.port}/`, enableRateLimit: false, options: { retryDelayMs: 1 } }
    exchange = new Perpetuum({ ...settings, apiKey: one!.apiKey })
    const { markPrice } = await exchange.fetchTicker(symbol)
    near = Math.round(markPrice!)
    const operator = fs.readFileSync(path.join(dataDir, "operator-token"), "utf8").trim()
    const opened = await call(operator, "POST", "/v1/operator/demo/accounts", { accounts: 1, collateral: "10.0" })
    poor = new Perpetuum({ ...settings, apiKey: opened["accounts"][0].apiKey })
  })

  afterAll(async () => {
    await venue.stop()
    fs.rmSync(dataDir, { recursive: true, force: true })
  })

  const call = async (token: string, method: string, route: string, body?: object): Promise<ccxt.Dict> => {
    const response = await fetch(`http://127.0.0.1:${venue.port}${route}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        "idempotency-key": `${method}-${route}`,
        ...(body === undefined ? undefined : { "content-type": "application/json" })
      },
      ...(body === undefined ? undefined : { body: JSON.stringify(body) })
    })
    expect(response.status).toBe(200)
    return await response.json() as ccxt.Dict
  }

  const operate = (method: string, route: string, body?: object) =>
    call(fs.readFileSync(path.join(dataDir, "operator-token"), "utf8").trim(), method, route, body)

  const refusedAs = async (attempt: Promise<unknown>, Class: new(message: string) => Error, details?: object): Promise<void> => {
    const error: unknown = await attempt.then(() => "it was not refused", (reason: unknown) => reason)
    expect(error).toBeInstanceOf(Class)
    expect((error as Error).constructor.name).toBe(Class.name)
    if (details !== undefined) expect(error).toMatchObject({ details })
  }

  const buy = (of: Perpetuum, amount: number, price: number, params = {}) => of.createOrder(symbol, "limit", "buy", amount, price, params)

  it("bounds, bands and post-only are InvalidOrder, with the bound and the nearest value", async () => {
    await refusedAs(buy(exchange, 500, near - 100), ccxt.InvalidOrder, {
      code: "order_rejected",
      rejectionGuard: "quantity_out_of_bounds",
      nearest: "100.000"
    })
    await refusedAs(exchange.createOrder(symbol, "market", "buy", 1), ccxt.InvalidOrder, { rejectionGuard: "no_liquidity" })
    const resting = await exchange.createOrder(symbol, "limit", "sell", 0.01, near)
    await refusedAs(buy(exchange, 0.01, near, { postOnly: true }), ccxt.OrderImmediatelyFillable, {
      rejectionGuard: "post_only_would_cross"
    })
    await exchange.cancelOrder(resting.id!, symbol)
  })

  it("numbers between two ticks or lots are InvalidOrder before they are sent", async () => {
    await refusedAs(buy(exchange, 0.0015, near - 100), ccxt.InvalidOrder)
    await refusedAs(buy(exchange, 0.01, near - 100.05), ccxt.InvalidOrder)
    await expect(buy(exchange, 0.0004, near - 100)).rejects.toMatchObject({ nearest: "0.001" })
    await expect(buy(exchange, 0.0024, near - 100)).rejects.toThrow("nearest 0.002")
    await refusedAs(buy(exchange, -0.01, near - 100), ccxt.InvalidOrder)
    await refusedAs(buy(exchange, Number.NaN, near - 100), ccxt.InvalidOrder)
    expect(await exchange.fetchOrders(symbol, undefined, 100, { status: "open" })).toEqual([])
  })

  it("an order without margin is InsufficientFunds", async () => {
    await refusedAs(buy(poor, 10, near - 100), ccxt.InsufficientFunds, { rejectionGuard: "margin_insufficient" })
  })

  it("unknown, foreign and ended orders are OrderNotFound", async () => {
    const { id } = await buy(exchange, 0.01, near - 100)
    await refusedAs(poor.cancelOrder(id!, symbol), ccxt.OrderNotFound)
    await refusedAs(poor.fetchOrder(id!, symbol), ccxt.OrderNotFound)
    await exchange.cancelOrder(id!, symbol)
    await refusedAs(exchange.cancelOrder(id!, symbol), ccxt.OrderNotFound)
    await refusedAs(exchange.cancelOrder("ord_zzzz", symbol), ccxt.OrderNotFound)
    await refusedAs(exchange.editOrder(id!, symbol, "limit", "buy", 0.02, near - 100), ccxt.OrderNotFound)
  })

  it("an order is not changed where another side or type is given than it has", async () => {
    const { id } = await buy(exchange, 0.01, near - 100, { clientOrderId: "side" })
    const other = { id: id!, symbol, type: "limit", side: "sell", amount: 0.02 } as const
    const refused: ReadonlyArray<readonly [string, () => Promise<unknown>]> = [
      ["InvalidOrder", () => exchange.editOrder(id!, symbol, "limit", "sell", 0.02, near - 100)],
      ["InvalidOrder", () => exchange.editLimitSellOrder(id!, symbol, 0.02, near - 100)],
      ["InvalidOrder", () => exchange.editOrderWithClientOrderId("side", symbol, "limit", "sell", 0.02)],
      ["InvalidOrder", () => exchange.editOrders([{ ...other, side: "buy" }, other])],
      ["NotSupported", () => exchange.editOrder(id!, symbol, "market", "buy", 0.02)],
      ["NotSupported", () => exchange.editOrders([{ ...other, side: "buy", type: "market" }])]
    ]
    for (const [name, call] of refused) await expect(call()).rejects.toMatchObject({ name })
    await expect(exchange.editOrder(id!, symbol, "limit", "sell", 0.02)).rejects.toThrow(`${id} is a buy, not a sell`)
    expect(await exchange.fetchOrder(id!, symbol)).toMatchObject({ amount: 0.01, side: "buy", status: "open" })
    expect(await exchange.editLimitBuyOrder(id!, symbol, 0.02, near - 100)).toMatchObject({ id, amount: 0.02, side: "buy" })
    expect(await exchange.editOrders([{ id: id!, symbol, amount: 0.03 }])).toMatchObject([{ id, amount: 0.03, side: "buy" }])
    await exchange.cancelOrder(id!, symbol)
  })

  it("a key that may not read changes orders without comparing the side", async () => {
    const { id } = await buy(exchange, 0.01, near - 100)
    const blind = Object.assign(Object.create(exchange) as Perpetuum, {
      fetchOrder: () => Promise.reject(new ccxt.PermissionDenied("perpetuum the key has no scope read"))
    })
    expect(await blind.editOrder(id!, symbol, "limit", "buy", 0.02)).toMatchObject({ id, amount: 0.02, side: "buy" })
    await exchange.cancelOrder(id!, symbol)
  })

  it("a clientOrderId in use is DuplicateOrderId", async () => {
    const { id } = await buy(exchange, 0.01, near - 100, { clientOrderId: "twice" })
    await refusedAs(buy(exchange, 0.01, near - 100, { clientOrderId: "twice" }), ccxt.DuplicateOrderId)
    await exchange.cancelOrder(id!, symbol)
  })

  it("one idempotency key with two bodies is OutcomeUnknown, which tells what the first one did", async () => {
    const { id } = await buy(exchange, 0.01, near - 100, { clientOrderId: "same-1", idempotencyKey: "same" })
    await refusedAs(exchange.createMarketOrderWithCost(symbol, "buy", 1000, { idempotencyKey: "refused" }), ccxt.InvalidOrder)
    await refusedAs(exchange.createOrder(symbol, "market", "buy", 1, undefined, { idempotencyKey: "refused" }), ccxt.InvalidOrder)
    // A refused key stays refused, whatever the same order would get now.
    await refusedAs(exchange.createMarketOrderWithCost(symbol, "buy", 1000, { idempotencyKey: "refused" }), ccxt.InvalidOrder, {
      code: "order_rejected",
      rejectionGuard: "no_liquidity"
    })
    await expect(buy(exchange, 0.02, near - 100, { clientOrderId: "same-2", idempotencyKey: "same" })).rejects.toMatchObject({
      name: "OutcomeUnknown",
      idempotencyKey: "same",
      message: expect.stringContaining(`accepted ${id}`),
      cause: { name: "BadRequest", details: { code: "idempotency_key_conflict" } }
    })
    await exchange.cancelOrder(id!, symbol)
  })

  it("symbols: unknown to the library, and unknown to the venue, are BadSymbol", async () => {
    await refusedAs(exchange.fetchTicker("DOGE/USDC:USDC"), ccxt.BadSymbol)
    await refusedAs(
      exchange.request("v2/markets/{symbol}/book", "public", "GET", { symbol: "DOGE/USDC:USDC" }),
      ccxt.BadSymbol,
      { code: "market_not_found" }
    )
  })

  it("what the venue does not take is NotSupported, and nothing of it is placed", async () => {
    await refusedAs(buy(exchange, 0.01, near - 100, { timeInForce: "FOK" }), ccxt.NotSupported)
    await refusedAs(buy(exchange, 0.01, near - 100, { triggerPrice: near }), ccxt.NotSupported)
    const order = { symbol, type: "limit", side: "buy", amount: 0.01, price: near - 100, timeInForce: "GTC" }
    await refusedAs(exchange.request("v2/order", "private", "POST", order), ccxt.NotSupported, { code: "not_supported" })
    await refusedAs(buy(exchange, 0.01, near - 100, { unheardOf: 1 }), ccxt.BadRequest, { code: "invalid_request" })
    expect(await exchange.fetchOpenOrders()).toEqual([])
  })

  it("credentials: missing, malformed and unknown are AuthenticationError", async () => {
    await refusedAs(new Perpetuum(settings).fetchBalance(), ccxt.AuthenticationError)
    const keyed = (apiKey: string) => new Perpetuum({ ...settings, apiKey })
    await refusedAs(keyed("nonsense").fetchBalance(), ccxt.AuthenticationError, { apiKeyRejection: "malformed" })
    const forged = exchange.apiKey.slice(0, -4) + (exchange.apiKey.endsWith("AAAA") ? "BBBB" : "AAAA")
    await refusedAs(keyed(forged).fetchBalance(), ccxt.AuthenticationError, { apiKeyRejection: "unknown" })
  })

  it("a paused market and a halted venue are OnMaintenance, and a cancel still works in the first", async () => {
    const { id } = await buy(exchange, 0.01, near - 100)
    await operate("PUT", "/v1/operator/markets/BTC-USDC-PERP/status", { status: "paused" })
    await refusedAs(buy(exchange, 0.01, near - 100), ccxt.OnMaintenance, { rejectionGuard: "market_not_accepting" })
    expect(await exchange.cancelOrder(id!, symbol)).toMatchObject({ status: "canceled" })
    await operate("PUT", "/v1/operator/engine/halt")
    await refusedAs(exchange.cancelAllOrders(), ccxt.OnMaintenance, { code: "engine_halted", retryable: true })
    expect(await exchange.fetchOpenOrders()).toEqual([])
    // What halts orders is not said there: reads go on.
    expect(await exchange.fetchStatus()).toMatchObject({ status: "ok" })
  })
})
