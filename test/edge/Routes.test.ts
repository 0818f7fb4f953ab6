/** What a request must satisfy before anything acts on it: one row for each error. `ask` checks every schema. */
import { describe, expect, test } from "vitest"
import * as fc from "fast-check"
import * as Contract from "../../src/edge/Contract.js"
import * as Endpoint from "../../src/edge/http/Endpoint.js"
import * as Cursor from "../../src/edge/http/Cursor.js"
import * as Corpora from "./Corpora.js"
import * as Fake from "./FakeVenue.js"

interface Row {
  readonly why: string
  readonly ask: (fake: Fake.FakeVenue) => Fake.Ask
  readonly status: number
  readonly code: string
  readonly apiKeyRejection?: string
  /** A pattern for its safeMessage. */
  readonly says?: RegExp
}

const place = (fake: Fake.FakeVenue, more: Partial<Fake.Ask> = {}): Fake.Ask => ({
  target: "/v1/orders",
  body: Fake.order(fake),
  key: fake.keys.alice,
  idempotencyKey: "k",
  ...more
})
const amendment = (fake: Fake.FakeVenue, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  accountId: fake.accounts[0],
  marketId: "BTC-USDC-PERP",
  price: "100.0",
  ...more
})
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const rows: ReadonlyArray<Row> = [
  { why: "unknown route", ask: () => ({ target: "/v1/nowhere" }), status: 404, code: "route_not_found" },
  { why: "unknown compat route", ask: () => ({ target: "/v2/nowhere" }), status: 404, code: "route_not_found" },
  { why: "trailing slash", ask: () => ({ target: "/v1/markets/" }), status: 404, code: "route_not_found" },
  { why: "doubled slash", ask: () => ({ target: "//v1/markets" }), status: 404, code: "route_not_found" },
  { why: "a fragment is no part of a target", ask: () => ({ target: "/v1/markets#x" }), status: 404, code: "route_not_found" },
  { why: "another case", ask: () => ({ target: "/V1/markets" }), status: 404, code: "route_not_found" },
  { why: "no path at all", ask: () => ({ target: "*", method: "OPTIONS" }), status: 404, code: "route_not_found" },
  { why: "wrong method", ask: () => ({ target: "/v1/orders", method: "GET" }), status: 405, code: "method_not_allowed" },
  { why: "HEAD", ask: () => ({ target: "/v1/orders", method: "HEAD" }), status: 405, code: "method_not_allowed" },
  { why: "unknown method", ask: () => ({ target: "/v1/markets", method: "BREW" }), status: 405, code: "method_not_allowed" },
  { why: "bad percent-encoding", ask: () => ({ target: "/v1/markets/%zz" }), status: 400, code: "invalid_request" },
  {
    why: "percent-encoding that is no UTF-8",
    ask: () => ({ target: "/v2/markets/%ff/book" }),
    status: 400,
    code: "invalid_request"
  },
  { why: "unknown query parameter", ask: () => ({ target: "/v1/markets?x=1" }), status: 400, code: "invalid_request" },
  {
    why: "duplicate query parameter",
    ask: () => ({ target: "/v2/markets/BTC%2FUSDC%3AUSDC/book?limit=1&limit=1" }),
    status: 400,
    code: "invalid_request"
  },
  { why: "bad encoding in the query", ask: () => ({ target: "/v1/markets?%zz=1" }), status: 400, code: "invalid_request" },
  {
    why: "limit of 0",
    ask: () => ({ target: "/v2/markets/BTC%2FUSDC%3AUSDC/book?limit=0" }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "limit of 501",
    ask: () => ({ target: "/v2/markets/BTC%2FUSDC%3AUSDC/book?limit=501" }),
    status: 400,
    code: "invalid_request"
  },
  { why: "unknown market", ask: () => ({ target: "/v1/markets/DOGE-USDC-PERP" }), status: 404, code: "market_not_found" },
  { why: "draft market", ask: () => ({ target: "/v1/markets/ETH-USDC-PERP" }), status: 404, code: "market_not_found" },
  {
    why: "draft market's book",
    ask: () => ({ target: "/v2/markets/ETH%2FUSDC%3AUSDC/book" }),
    status: 404,
    code: "market_not_found"
  },
  { why: "an empty parameter", ask: () => ({ target: "/v1/markets//book" }), status: 404, code: "route_not_found" },
  {
    why: "no authorization header",
    ask: (f) => ({ target: "/v1/orders", body: Fake.order(f), idempotencyKey: "k" }),
    status: 401,
    code: "unauthorized",
    apiKeyRejection: "missing"
  },
  {
    why: "basic credential",
    ask: (f) => place(f, { headers: { authorization: "Basic eDp5" } }),
    status: 401,
    code: "unauthorized",
    apiKeyRejection: "malformed"
  },
  {
    why: "a token that is no key",
    ask: (f) => place(f, { key: "hello" }),
    status: 401,
    code: "unauthorized",
    apiKeyRejection: "malformed"
  },
  {
    why: "unknown key",
    ask: (f) => place(f, { key: `pk_development_abc_${"x".repeat(43)}` }),
    status: 401,
    code: "unauthorized",
    apiKeyRejection: "unknown"
  },
  {
    why: "wrong secret",
    ask: (f) => place(f, { key: f.keys.alice.slice(0, -1) + (f.keys.alice.endsWith("x") ? "y" : "x") }),
    status: 401,
    code: "unauthorized",
    apiKeyRejection: "unknown"
  },
  {
    why: "revoked key",
    ask: (f) => place(f, { key: f.keys.revoked }),
    status: 401,
    code: "unauthorized",
    apiKeyRejection: "revoked"
  },
  {
    why: "expired key",
    ask: (f) => place(f, { key: f.keys.expired }),
    status: 401,
    code: "unauthorized",
    apiKeyRejection: "expired"
  },
  {
    why: "read key that trades",
    ask: (f) => place(f, { key: f.keys.reader }),
    status: 403,
    code: "scope_missing",
    apiKeyRejection: "scope_missing"
  },
  {
    why: "foreign account",
    ask: (f) => place(f, { key: f.keys.bob }),
    status: 400,
    code: "invalid_request",
    apiKeyRejection: "account_mismatch"
  },
  {
    why: "unknown account",
    ask: (f) => place(f, { body: Fake.order(f, { accountId: "acc_nobody" }) }),
    status: 400,
    code: "invalid_request",
    apiKeyRejection: "account_mismatch"
  },
  {
    why: "foreign account in a batch",
    ask: (f) =>
      place(
        f,
        { target: "/v1/orders/batch", body: { orders: [Fake.order(f), Fake.order(f, { accountId: f.accounts[1] })] } }
      ),
    status: 404,
    code: "account_not_found",
    apiKeyRejection: "account_mismatch"
  },
  {
    why: "foreign balance",
    ask: (f) => ({ target: `/v1/accounts/${f.accounts[1]}/balance`, key: f.keys.alice }),
    status: 404,
    code: "account_not_found",
    apiKeyRejection: "account_mismatch"
  },
  {
    why: "unknown account's positions",
    ask: (f) => ({ target: "/v1/accounts/acc_nobody/positions", key: f.keys.alice }),
    status: 404,
    code: "account_not_found",
    apiKeyRejection: "account_mismatch"
  },
  { why: "unknown order", ask: (f) => ({ target: "/v1/orders/ord_zz", key: f.keys.alice }), status: 404, code: "not_found" },
  { why: "what is no order's id", ask: (f) => ({ target: "/v1/orders/%00", key: f.keys.alice }), status: 404, code: "not_found" },
  {
    why: "orders of a status that is none",
    ask: (f) => ({ target: `/v1/accounts/${f.accounts[0]}/orders?status=filled`, key: f.keys.alice }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "orders of an unknown market",
    ask: (f) => ({ target: `/v1/accounts/${f.accounts[0]}/orders?status=open&marketId=X`, key: f.keys.alice }),
    status: 404,
    code: "market_not_found"
  },
  {
    why: "no content type",
    ask: (f) => place(f, { headers: { "content-type": undefined } }),
    status: 415,
    code: "unsupported_media_type"
  },
  {
    why: "another content type",
    ask: (f) => place(f, { headers: { "content-type": "text/plain" } }),
    status: 415,
    code: "unsupported_media_type"
  },
  {
    why: "another charset",
    ask: (f) => place(f, { headers: { "content-type": "application/json; charset=latin1" } }),
    status: 415,
    code: "unsupported_media_type"
  },
  {
    why: "a body beyond the limit",
    ask: (f) => place(f, { bytes: bytes(`"${"x".repeat(65_536)}"`) }),
    status: 413,
    code: "payload_too_large"
  },
  { why: "an empty body", ask: (f) => place(f, { bytes: new Uint8Array(0) }), status: 400, code: "invalid_request" },
  { why: "broken JSON", ask: (f) => place(f, { bytes: bytes("{") }), status: 400, code: "invalid_request" },
  {
    why: "bytes that are no UTF-8",
    ask: (f) => place(f, { bytes: Uint8Array.of(0x22, 0xff, 0x22) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "no idempotency key",
    ask: (f) => ({ target: "/v1/orders", body: Fake.order(f), key: f.keys.alice }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "an idempotency key with a space",
    ask: (f) => place(f, { idempotencyKey: "a b" }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "an idempotency key of 256 characters",
    ask: (f) => place(f, { idempotencyKey: "k".repeat(256) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "an unknown member",
    ask: (f) => place(f, { body: Fake.order(f, { leverage: 3 }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "a prototype member",
    ask: (f) => place(f, { bytes: bytes(JSON.stringify(Fake.order(f)).replace("{", "{\"__proto__\":{},")) }),
    status: 400,
    code: "invalid_request"
  },
  { why: "a query on a placement", ask: (f) => place(f, { target: "/v1/orders?dry=1" }), status: 400, code: "invalid_request" },
  {
    why: "too many price decimals",
    ask: (f) => place(f, { body: Fake.order(f, { price: "100.55" }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "too many quantity decimals",
    ask: (f) => place(f, { body: Fake.order(f, { quantity: "0.00001" }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "post-only and immediate-or-cancel",
    ask: (f) => place(f, { body: Fake.order(f, { postOnly: true, timeInForce: "IOC" }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "a market order that is good till cancelled",
    ask: (f) => place(f, { body: Fake.order(f, { orderType: "market", timeInForce: "GTC" }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "an expiry of an immediate-or-cancel order",
    ask: (f) => place(f, { body: Fake.order(f, { expiresAtEpochMs: 1, timeInForce: "IOC" }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "an expiry of a market order",
    ask: (f) => place(f, { body: Fake.order(f, { expiresAtEpochMs: 1, orderType: "market" }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "an expiry at the epoch",
    ask: (f) => place(f, { body: Fake.order(f, { expiresAtEpochMs: 0 }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "an amendment of nothing",
    ask: (f) => place(f, { target: "/v1/orders/ord_1/amend", body: { accountId: f.accounts[0], marketId: "BTC-USDC-PERP" } }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "an amendment with too many decimals",
    ask: (f) => place(f, { target: "/v1/orders/ord_1/amend", body: amendment(f, { price: "1.23" }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "an amendment of a foreign account's order",
    ask: (f) => place(f, { target: "/v1/orders/ord_1/amend", body: amendment(f, { accountId: f.accounts[1] }) }),
    status: 404,
    code: "account_not_found",
    apiKeyRejection: "account_mismatch"
  },
  {
    why: "a cancel-all of a foreign account",
    ask: (f) => place(f, { target: "/v1/orders/cancel-all", body: { accountId: f.accounts[1] } }),
    status: 404,
    code: "account_not_found",
    apiKeyRejection: "account_mismatch"
  },
  {
    why: "a cancel-all with a read key",
    ask: (f) => place(f, { target: "/v2/orders/cancel-all", body: {}, key: f.keys.reader }),
    status: 403,
    code: "scope_missing",
    apiKeyRejection: "scope_missing"
  },
  {
    why: "a dead-man switch of another account",
    ask: (f) => place(f, { target: `/v1/accounts/${f.accounts[1]}/orders/cancel-all-after`, body: { timeoutMs: 0 } }),
    status: 404,
    code: "account_not_found",
    apiKeyRejection: "account_mismatch"
  },
  ...[1, 999, 600_001, 1.5, "1000"].map((timeoutMs): Row => ({
    why: `a dead-man switch of ${JSON.stringify(timeoutMs)} ms`,
    ask: (f) => place(f, { target: `/v1/accounts/${f.accounts[0]}/orders/cancel-all-after`, body: { timeoutMs } }),
    status: 400,
    code: "invalid_request"
  })),
  {
    why: "a fence of a key and an order",
    ask: (f) =>
      place(f, {
        target: `/v1/accounts/${f.accounts[0]}/outcomes/fence`,
        body: { idempotencyKey: "a", clientOrderId: "b" }
      }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "a fence in another account",
    ask: (f) => place(f, { target: `/v1/accounts/${f.accounts[1]}/outcomes/fence`, body: { idempotencyKey: "a" } }),
    status: 404,
    code: "account_not_found",
    apiKeyRejection: "account_mismatch"
  },
  ...["", "?idempotencyKey=a&clientOrderId=b", "?clientOrderId=a%20b", "?idempotencyKey="].map((query): Row => ({
    why: `a lookup of ${query === "" ? "nothing" : query}`,
    ask: (f) => ({ target: `/v1/accounts/${f.accounts[0]}/outcomes${query}`, key: f.keys.reader }),
    status: 400,
    code: "invalid_request"
  })),
  {
    why: "a lookup in another account",
    ask: (f) => ({ target: `/v1/accounts/${f.accounts[1]}/outcomes?idempotencyKey=a`, key: f.keys.alice }),
    status: 404,
    code: "account_not_found",
    apiKeyRejection: "account_mismatch"
  },
  ...["x", "e30", Cursor.encode("trades", 5), `${Cursor.encode("orders", 5)}A`, Cursor.encode("orders", -1)].map((cursor): Row => ({
    why: `the cursor ${cursor}, which no listing of orders gave`,
    ask: (f) => ({ target: `/v1/accounts/${f.accounts[0]}/orders?cursor=${cursor}`, key: f.keys.reader }),
    status: 400,
    code: "invalid_request"
  })),
  ...["0", "101", "01", "-1", "1e1"].map((limit): Row => ({
    why: `a page of ${limit}`,
    ask: (f) => ({ target: `/v1/accounts/${f.accounts[0]}/fills?limit=${limit}`, key: f.keys.reader }),
    status: 400,
    code: "invalid_request"
  })),
  {
    why: "trades of a draft market",
    ask: () => ({ target: "/v1/markets/ETH-USDC-PERP/trades" }),
    status: 404,
    code: "market_not_found"
  },
  {
    why: "compat stats of a draft market",
    ask: () => ({ target: "/v2/markets/ETH%2FUSDC%3AUSDC/stats" }),
    status: 404,
    code: "market_not_found"
  },
  {
    why: "compat orders since yesterday",
    ask: (f) => ({ target: "/v2/orders?since=yesterday", key: f.keys.reader }),
    status: 400,
    code: "invalid_request"
  },
  { why: "a compat balance without a key", ask: () => ({ target: "/v2/balance" }), status: 401, code: "unauthorized" },
  {
    why: "a price beyond any bound",
    ask: (f) => place(f, { body: Fake.order(f, { price: "99999999999" }) }),
    status: 422,
    code: "order_rejected"
  },
  { why: "a price of zero", ask: (f) => place(f, { body: Fake.order(f, { price: "0" }) }), status: 422, code: "order_rejected" },
  {
    why: "a quantity beyond 2^53",
    ask: (f) => place(f, { body: Fake.order(f, { quantity: "9999999999999999" }) }),
    status: 422,
    code: "order_rejected"
  },
  {
    why: "an order in no market",
    ask: (f) => place(f, { body: Fake.order(f, { marketId: "DOGE" }) }),
    status: 404,
    code: "market_not_found"
  },
  {
    why: "an order in a draft market",
    ask: (f) => place(f, { body: Fake.order(f, { marketId: "ETH-USDC-PERP" }) }),
    status: 404,
    code: "market_not_found"
  },
  {
    why: "autoClose without a trigger",
    ask: (f) => place(f, { body: Fake.order(f, { autoClose: {} }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "autoClose with a reduce-only order",
    ask: (f) => place(f, { body: Fake.order(f, { reduceOnly: true, autoClose: { stopLoss: { triggerPrice: "90.0" } } }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "a trigger with too many decimals",
    ask: (f) => place(f, { body: Fake.order(f, { autoClose: { stopLoss: { triggerPrice: "90.00001" } } }) }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "timeInForce at the top",
    ask: (f) => place(f, { target: "/v2/order", body: { timeInForce: "GTC" } }),
    status: 501,
    code: "not_supported"
  },
  {
    why: "timeInForce in params of one entry",
    ask: (f) => place(f, { target: "/v2/orders", body: [{}, { params: { timeInForce: "IOC" } }] }),
    status: 501,
    code: "not_supported"
  },
  {
    why: "a market order in a compat batch",
    ask: (f) => place(f, { target: "/v2/orders", body: [{ symbol: "BTC/USDC:USDC", type: "market", side: "buy", amount: 1 }] }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "a number off the grid",
    ask: (f) =>
      place(
        f,
        { target: "/v2/order", body: { symbol: "BTC/USDC:USDC", type: "limit", side: "buy", amount: 0.25, price: 100.55 } }
      ),
    status: 422,
    code: "order_rejected"
  },
  {
    why: "an unknown symbol",
    ask: (f) =>
      place(
        f,
        { target: "/v2/order", body: { symbol: "BTC/USDT", type: "limit", side: "buy", amount: 0.25, price: 100.5 } }
      ),
    status: 404,
    code: "market_not_found"
  },
  {
    why: "cancel of an unknown order",
    ask: (f) => place(f, { target: "/v1/orders/ord_zz/cancel", body: { accountId: f.accounts[0], marketId: "BTC-USDC-PERP" } }),
    status: 404,
    code: "not_found"
  },
  {
    why: "compat cancel of an unknown order",
    ask: (f) => place(f, { target: "/v2/orders/nope/cancel", body: { symbol: "BTC/USDC:USDC" } }),
    status: 404,
    code: "not_found"
  },
  {
    why: "operator without a token",
    ask: () => ({ target: "/v1/operator/engine/halt", method: "PUT" }),
    status: 401,
    code: "unauthorized"
  },
  {
    why: "operator with a key",
    ask: (f) => ({ target: "/v1/operator/engine/halt", method: "PUT", key: f.keys.alice, idempotencyKey: "k" }),
    status: 401,
    code: "unauthorized"
  },
  {
    why: "operator without an idempotency key",
    ask: () => ({ target: "/v1/operator/engine/halt", method: "PUT", key: Fake.operatorToken }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "status of an unknown market",
    ask: () => ({
      target: "/v1/operator/markets/X/status",
      method: "PUT",
      key: Fake.operatorToken,
      idempotencyKey: "k",
      body: { status: "open" }
    }),
    status: 404,
    code: "market_not_found"
  },
  {
    why: "a cancel of an order that is none",
    ask: () => operatorCancel({ orderId: "ord_" }),
    status: 404,
    code: "not_found"
  },
  {
    why: "a cancel of an account that was never opened",
    ask: () => operatorCancel({ accountId: "acc_none" }),
    status: 404,
    code: "account_not_found"
  },
  {
    why: "a cancel in a market that is not there",
    ask: () => operatorCancel({ marketId: "NONE-USDC-PERP" }),
    status: 404,
    code: "market_not_found"
  },
  {
    why: "an operator's cancel of nothing in particular",
    ask: () => operatorCancel({}),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "an operator's cancel of an order and of an account",
    ask: (f) => operatorCancel({ orderId: "ord_1", accountId: f.accounts[0]! }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "a market that breaks a rule",
    ask: () => ({
      target: "/v1/operator/markets/XRP-USDC-PERP",
      method: "PUT",
      key: Fake.operatorToken,
      idempotencyKey: "k",
      body: { ...marketBody, minPrice: "5.0", maxPrice: "1.0" }
    }),
    status: 400,
    code: "invalid_request"
  },
  {
    why: "a status that is none",
    ask: () => ({
      target: "/v1/operator/markets/BTC-USDC-PERP/status",
      method: "PUT",
      key: Fake.operatorToken,
      idempotencyKey: "k",
      body: { status: "closed" }
    }),
    status: 400,
    code: "invalid_request"
  }
]

/** Requests that are nearly right, and the hint in the answer: the right name, but never a text that could be a secret. */
const hints: ReadonlyArray<Row> = [
  ...([
    ["/v1/order", "POST", "POST /v1/orders"],
    ["/v1/Orders/", "POST", "POST /v1/orders"],
    ["/orders", "POST", "POST /v1/orders"],
    ["/api/v1/markets", "GET", "GET /v1/markets"],
    ["/v3/markets", "GET", "GET /v1/markets"],
    ["/v1/market/BTC-USDC-PERP/book", "GET", "GET /v1/markets/{marketId}/book"],
    ["/v2/orders/ord_1/cancle", "POST", "POST /v2/orders/{orderId}/cancel"],
    ["/v1/time", "GET", "GET /v2/time"],
    ["/healthcheck", "GET", ""],
    ["/v1/operator/engine/hallt", "PUT", ""],
    [`/v1/${"x".repeat(200)}`, "GET", ""],
    ["/v1/pk_development_a_secret", "GET", ""]
  ] as const).map(([target, method, meant]): Row => ({
    why: `${method} ${target.slice(0, 40)}, which is nearly ${meant === "" ? "nothing" : meant}`,
    ask: () => ({ target, method }),
    status: 404,
    code: "route_not_found",
    says: meant === "" ? /^There is no such route\.$/ : new RegExp(` Did you mean ${meant.replaceAll(/[{}]/g, "\\$&")}\\?$`)
  })),
  ...([
    ["leverage", /^leverage: this route does not know such a member\.$/],
    ["qty", / \(did you mean quantity\?\)\.$/],
    ["quantiy", / \(did you mean quantity\?\)\.$/],
    ["time_in_force", / \(did you mean timeInForce\?\)\.$/],
    ["stopPrice", /^stopPrice: .* \(did you mean autoClose\?\)\.$/],
    ["pk_development_1_aB3dE5fG7hJ9", /^The body has a member that this route does not know\.$/],
    ["hunter2hunter2hunter2", /^The body has a member that this route does not know\.$/],
    ["a b", /^The body has a member that this route does not know\.$/]
  ] as const).map(([member, says]): Row => ({
    why: `an order with a member ${member}`,
    ask: (f) => place(f, { body: Fake.order(f, { [member]: "10" }) }),
    status: 400,
    code: "invalid_request",
    says
  })),
  {
    why: "an operator's command with a member that is nearly one",
    ask: () => ({
      target: "/v1/operator/markets/BTC-USDC-PERP/status",
      method: "PUT",
      key: Fake.operatorToken,
      idempotencyKey: "k",
      body: { state: "open" }
    }),
    status: 400,
    code: "invalid_request",
    says: /^This route does not know the member state \(did you mean status\?\)\.$/
  },
  {
    why: "a query parameter that is nearly one",
    ask: () => ({ target: "/v1/markets/BTC-USDC-PERP/trades?limits=10" }),
    status: 400,
    code: "invalid_request",
    says: /query parameter limits \(did you mean limit\?\)\.$/
  },
  {
    why: "an empty body",
    ask: (f) => ({ target: "/v1/orders", method: "POST", key: f.keys.alice, idempotencyKey: "k" }),
    status: 400,
    code: "invalid_request",
    says: /^The body is empty/
  },
  {
    why: "an empty body of an operator's",
    ask: () => ({ target: "/v1/operator/markets/X/status", method: "PUT", key: Fake.operatorToken, idempotencyKey: "k" }),
    status: 400,
    code: "invalid_request",
    says: /^The body is empty/
  },
  {
    why: "a key without Bearer",
    ask: (f) => place(f, { headers: { authorization: f.keys.alice } }),
    status: 401,
    code: "unauthorized",
    apiKeyRejection: "malformed",
    says: /does not begin with Bearer/
  },
  {
    why: "a compat order with a key without Bearer",
    ask: (f) => place(f, { target: "/v2/order", body: {}, headers: { authorization: f.keys.alice } }),
    status: 401,
    code: "unauthorized",
    apiKeyRejection: "malformed",
    says: /does not begin with Bearer/
  },
  {
    why: "an order without an idempotency key",
    ask: (f) => place(f, { idempotencyKey: "" }),
    status: 400,
    code: "invalid_request",
    says: /^idempotency-key: the header is missing/
  },
  {
    why: "an order with an idempotency key that is none",
    ask: (f) => place(f, { idempotencyKey: "a b" }),
    status: 400,
    code: "invalid_request",
    says: /^idempotency-key: the header must be/
  },
  ...([
    ["/v1/markets/BTC%2FUSDC%3AUSDC", "BTC-USDC-PERP"],
    ["/v1/markets/BTC-USDC/book", "BTC-USDC-PERP"],
    ["/v1/markets/btcusdc/stats", "BTC-USDC-PERP"],
    ["/v1/markets/BTC_USDT/trades", "BTC-USDC-PERP"],
    ["/v1/markets/BTC", "BTC-USDC-PERP"],
    ["/v1/markets/BTC-PERP", "BTC-USDC-PERP"],
    ["/v2/markets/BTC-USDC-PERP/book", "BTC/USDC:USDC"],
    ["/v2/markets/BTC%2FUSDC/stats", "BTC/USDC:USDC"],
    ["/v2/markets/BTCUSDT/trades", "BTC/USDC:USDC"],
    ["/v1/markets/NOPE-USDC-PERP", ""],
    ["/v1/markets/what-is-this", ""],
    ["/v1/markets/pk_development_a_secret1", ""]
  ] as const).map(([target, meant]): Row => ({
    why: `${target}, by which ${meant === "" ? "nothing" : meant} is meant`,
    ask: () => ({ target }),
    status: 404,
    code: "market_not_found",
    says: meant === ""
      ? /^There is no such market\.$/
      : new RegExp(`is like ${meant}, which may be meant; GET /v[12]/markets lists all\\.$`)
  }))
]

const operatorCancel = (body: object) => ({
  target: "/v1/operator/orders/cancel",
  key: Fake.operatorToken,
  idempotencyKey: "k",
  body
})

const marketBody = {
  underlyingSymbol: "XRP",
  marketType: "crypto",
  priceScale: 1,
  quantityScale: 4,
  minPrice: "1.0",
  maxPrice: "1000000.0",
  minQuantity: "0.0001",
  maxQuantity: "100.0",
  maxPositionQuantity: "100.0",
  initialMarginBps: 500,
  maintenanceMarginTiers: [{ notionalThresholdAtoms: "0", maintenanceMarginBps: 250 }],
  maxLeverageX: 20,
  makerFeeBps: 1,
  takerFeeBps: 5
}

const reachesEngine = (code: string): boolean => ["order_rejected", "market_not_found", "not_found"].includes(code)

/** How an answer differs from its row. */
const unlike = async (fake: Fake.FakeVenue, { apiKeyRejection, ask, code, says = /./, status }: Row): Promise<object | undefined> => {
  const request = ask(fake)
  const response = await fake.ask(request)
  const body = Fake.json(response)
  const native = Endpoint.familyOf(request.target) === "compat" ? body.info : body
  const isRight = response.status === status && body.code === code && says.test(native.safeMessage)
    && (apiKeyRejection === undefined || native.apiKeyRejection === apiKeyRejection)
    && (reachesEngine(code) || fake.commands.length === 0)
  return isRight ? undefined : { status: response.status, body, commands: fake.commands.length }
}

test.each(rows)("$why: $status $code", async (row) => {
  expect(await unlike(Fake.make(), row)).toBeUndefined()
})

test("what is nearly right is refused with what would be", async () => {
  const fake = Fake.make()
  const found: Array<object> = []
  for (const row of hints) {
    const other = await unlike(fake, row)
    if (other !== undefined) found.push({ why: row.why, ...other })
  }
  expect(found).toEqual([])
})

test("405 lists the methods that the path has", async () => {
  const fake = Fake.make()
  const orders = await fake.ask({ target: "/v1/orders", method: "GET" })
  const halt = await fake.ask({ target: "/v1/operator/engine/halt", method: "GET" })
  expect([orders.headers["allow"], halt.headers["allow"]]).toEqual(["POST", "PUT, DELETE"])
})

test("without an operator token, operator routes are not there", async () => {
  const fake = Fake.make({ hidden: true })
  const put = await fake.ask({ target: "/v1/operator/engine/halt", method: "PUT", idempotencyKey: "k" })
  const get = await fake.ask({ target: "/v1/operator/engine/halt", method: "GET" })
  expect([put.status, get.status]).toEqual([404, 404])
})

test("demo accounts and operator prices are not for production", async () => {
  const fake = Fake.make({ environment: "production" })
  const demo = await fake.ask({ target: "/v1/operator/demo/accounts", body: {}, key: Fake.operatorToken, idempotencyKey: "k" })
  const price = await fake.ask({
    target: "/v1/operator/markets/BTC-USDC-PERP/index-price",
    method: "PUT",
    body: { price: "100.0" },
    key: Fake.operatorToken,
    idempotencyKey: "k"
  })
  expect([demo.status, Fake.json(demo).code]).toEqual([404, "route_not_found"])
  expect([price.status, Fake.json(price).code]).toEqual([400, "operation_not_available"])
  expect(fake.commands).toEqual([])
})

test("before it is ready the venue serves only what says so", async () => {
  const fake = Fake.make()
  fake.readiness.set("starting")
  fake.readiness.note("recovery", "replaying")
  const statuses: Array<unknown> = []
  for (const endpoint of Contract.endpoints) {
    const target = endpoint.path.replaceAll(/:\w+/g, "x")
    const response = await fake.ask({ target, method: endpoint.method })
    statuses.push([endpoint.name, response.status])
  }
  const served = new Map([["getHealth", 200], ["getReadiness", 503], ["getMetrics", 200], ["getOpenApi", 200], ["getDocs", 200], [
    "getDocsPage",
    404
  ]])
  expect(statuses).toEqual(Contract.endpoints.map(({ name }) => [name, served.get(name) ?? 503]))
  const ready = await fake.ask({ target: "/readyz" })
  expect(Fake.json(ready)).toMatchObject({ status: "starting", details: { recovery: "replaying" } })
})

describe("hostile bodies get an envelope and nothing else", () => {
  const targets = Contract.endpoints.filter((endpoint) => endpoint.payloadSchema !== undefined)
  const statuses = async (fake: Fake.FakeVenue, bodies: ReadonlyArray<Uint8Array>): Promise<Set<number>> => {
    const seen = new Set<number>()
    for (const endpoint of targets) {
      const key = endpoint.access === "operator"
        ? Fake.operatorToken
        : endpoint.access === "owner" || endpoint.access === "anyone_or_owner"
        ? fake.session
        : fake.keys.alice
      for (const [index, body] of bodies.entries()) {
        const target = endpoint.path.replaceAll(/:\w+/g, "x")
        const response = await fake.ask({ target, method: endpoint.method, bytes: body, key, idempotencyKey: `k${index}` })
        seen.add(response.status)
      }
    }
    return seen
  }
  test.skipIf(!Corpora.isPresent("JSONTestSuite"))("the JSON test suite", async () => {
    const fake = Fake.make()
    const seen = await statuses(fake, Corpora.jsonTestSuite().map(({ bytes }) => bytes))
    seen.delete(200) // an empty object opens the default demo accounts
    expect([...seen].every((status) => status >= 400 && status < 500)).toBe(true)
  })
  test("any bytes", async () => {
    const fake = Fake.make()
    await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => {
      const seen = await statuses(fake, [bytes])
      expect([...seen].every((status) => status < 500)).toBe(true)
    }), { numRuns: 100 })
  })
  test("any target and method", async () => {
    const fake = Fake.make()
    const target = fc.oneof(
      fc.webPath(),
      fc.string().map((text) => `/${text}`),
      fc.constantFrom(...Contract.endpoints.map((endpoint) => endpoint.path)),
      fc.tuple(
        fc.constantFrom(...Contract.endpoints.map((endpoint) => endpoint.path)),
        fc.string()
      ).map(([path, text]) => path.replace(/:\w+/, text))
    )
    const method = fc.constantFrom("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "get", "")
    await fc.assert(fc.asyncProperty(target, method, fc.boolean(), async (path, verb, keyed) => {
      const request = Fake.request({ target: path, method: verb, ...(keyed ? { key: fake.keys.alice } : undefined) })
      const status = await new Promise<number>((resolve) =>
        fake.application.handle(
          request,
          (response) => resolve(response.status)
        )
      )
      // What is prepared in the background may not be ready yet: 503 says so, and is no defect.
      expect(status < 500 || status === 503).toBe(true)
    }), { numRuns: 2000 })
  })
  test("JSON nested as deep as a body can be", async () => {
    const fake = Fake.make()
    const seen = await statuses(
      fake,
      [bytes("[".repeat(32_000) + "]".repeat(32_000)), bytes("{\"a\":".repeat(10_000) + "1" + "}".repeat(10_000))]
    )
    expect([...seen]).toEqual([400])
  })
})

describe("of two things that are wrong with a request the first in the order of checks is told, on every route alike", () => {
  const routes: ReadonlyArray<readonly [string, (fake: Fake.FakeVenue) => Fake.Ask]> = [
    ["a placement", (fake) => place(fake)],
    ["an operator's command", () => ({
      method: "PUT",
      target: "/v1/operator/markets/BTC-USDC-PERP/status",
      body: { status: "paused" },
      key: Fake.operatorToken,
      idempotencyKey: "k"
    })]
  ]
  const noKey = { idempotencyKey: "" }
  const orders: ReadonlyArray<readonly [string, Partial<Fake.Ask>, number, RegExp]> = [
    ["no credential and another content type", { headers: { authorization: undefined, "content-type": "text/plain" } }, 401, /./],
    ["another content type and no key", { ...noKey, headers: { "content-type": "text/plain" } }, 415, /./],
    ["broken JSON and no key", { ...noKey, bytes: bytes("{") }, 400, /not JSON/],
    ["no key and a body of another shape", { ...noKey, bytes: bytes("[]") }, 400, /^idempotency-key/]
  ]
  test.each(
    routes.flatMap(([name, ask]) => orders.map(([why, more, status, message]) => [name, why, ask, more, status, message] as const))
  )(
    "%s with %s",
    async (_name, _why, ask, more, status, message) => {
      const fake = Fake.make()
      const response = await fake.ask({ ...ask(fake), ...more })
      expect(response.status).toBe(status)
      expect(Fake.json(response).safeMessage).toMatch(message)
      expect(fake.commands).toEqual([])
    }
  )
})

test.each([
  ["/%76%32/time", "GET", 200, "compat"],
  ["/v2/t%69me", "GET", 200, "compat"],
  ["/%76%32/time", "POST", 405, "compat"],
  ["/v%32/nowhere", "GET", 404, "compat"],
  ["/v%32", "GET", 404, "compat"],
  ["/%76%32/markets/%ff/book", "GET", 400, "compat"],
  ["/%762%ff/time", "GET", 400, "native"],
  ["/v2%2Ftime", "GET", 404, "native"],
  ["/%2Fv2/time", "GET", 404, "native"],
  ["/%56%32/time", "GET", 404, "native"],
  ["/%76%31/nowhere", "GET", 404, "native"]
])("%s %s is answered %s in the %s envelope: an encoded letter is the letter", async (target, method, status, family) => {
  const response = await Fake.make().ask({ target, method })
  const answer = Fake.json(response)
  expect(response.status).toBe(status)
  if (status === 200) expect(Object.keys(answer)).toEqual(["timestamp", "datetime"])
  else expect(answer.version ?? answer.info.version).toBe("external-rest-error/v1")
  expect("version" in answer ? "native" : "compat").toBe(family)
})

test("a read of an order that is not there speaks of ended orders too, a cancel of open ones alone", async () => {
  const fake = Fake.make()
  const words = async (ask: Fake.Ask) => Fake.json(await fake.ask({ key: fake.keys.alice, ...ask }))
  for (const target of ["/v1/orders/ord_zz", "/v2/orders/ord_zz", "/v2/orders/nonsense"]) {
    const { code, info, message, safeMessage } = await words({ target })
    expect([code, (info ?? { safeMessage }).safeMessage]).toEqual(["not_found", message ?? safeMessage])
    expect(message ?? safeMessage).toMatch(/^The account has no such order, neither open nor among those that ended/)
  }
  const placed = await words(place(fake))
  const { message, name } = await words({ target: `/v2/orders/${placed.orderId}?symbol=ETH%2FUSDC%3AUSDC` })
  expect([name, message]).toEqual(["OrderNotFound", expect.stringMatching(/^The account has no such order/)])
  const cancel = { target: "/v2/orders/ord_zz/cancel", body: { symbol: "BTC/USDC:USDC" }, idempotencyKey: "c" }
  expect((await words(cancel)).message).toBe("There is no such open order.")
})

test("a body on a route that takes none is refused the same, whatever it is", async () => {
  const fake = Fake.make()
  for (const [text, type] of [["x", "text/plain"], ["[1]", "application/json"], ["{", "application/json"]] as const) {
    const ask = { method: "GET", target: "/v1/markets", bytes: bytes(text), headers: { "content-type": type } }
    expect(Fake.json(await fake.ask(ask))).toMatchObject({ code: "invalid_request", safeMessage: "This route takes no body." })
  }
  expect((await fake.ask({ method: "GET", target: "/v1/markets", bytes: bytes("{}") })).status).toBe(200)
})

test("where there is GET there is HEAD, which comes to the same", async () => {
  const fake = Fake.make()
  const documented = Contract.endpoints.flatMap(({ method, name }) =>
    // A wait would be in vain, since nothing changes.
    method === "GET" ? [Contract.examples[name as Contract.Name].target.replace(/waitMs=\d+/, "waitMs=0")] : []
  )
  expect(documented.length).toBeGreaterThan(50)
  const differing: Array<string> = []
  // Including the owner's pages, which no contract lists.
  for (const target of [...documented, "/", "/connect", "/assets/none.js"]) {
    const [get, head] = [await fake.ask({ target, key: fake.keys.alice }), await fake.ask({ target, method: "HEAD", key: fake.keys.alice })]
    if (get.status !== head.status || get.status === 405) differing.push(`${target}: ${get.status}, ${head.status}`)
  }
  expect(differing).toEqual([])
})
