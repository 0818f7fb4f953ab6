/** Books, markets, accounts and operator routes as they are sent. */
import { createHash } from "node:crypto"
import canonicalize from "canonicalize"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { bookText } from "../../src/edge/markets/getBook.js"
import { registry } from "../../src/edge/markets/Snapshot.js"
import { internal, Principal } from "../../src/operations/Header.js"
import { Operation } from "../../src/operations/Operations.js"
import { at } from "./FakeEngine.js"
import * as Fake from "./FakeVenue.js"

/** A word of the fingerprint, of any value. */
const word: unknown = expect.any(Number)
const sentBy = { ...internal(Principal.operator), fingerprint: { a: word, b: word, c: word, d: word } }

const sha256 = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`

test("a client can recompute a book's digest and checksum", () => {
  const side = fc.array(
    fc.tuple(fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
    { maxLength: 60 }
  )
  fc.assert(fc.property(side, side, fc.nat(), fc.nat({ max: 6 }), (bids, asks, sequence, priceScale) => {
    const market = { marketId: "BTC-USDC-PERP", priceScale, quantityScale: 6 - priceScale }
    const book = JSON.parse(bookText(market, sequence, { bids, asks }))
    const { marketId, snapshotSequence } = book
    expect(book.readModelDigest).toBe(sha256(canonicalize({ marketId, snapshotSequence, bids: book.bids, asks: book.asks })!))
    const lines = [
      ...book.bids.slice(0, 25).map((level: any) => `b|${level.priceAtoms}|${level.sizeAtoms}`),
      ...book.asks.slice(0, 25).map((level: any) => `a|${level.priceAtoms}|${level.sizeAtoms}`)
    ]
    expect(book.checksum).toBe(sha256(lines.join("\n")))
    expect(book.bids.map((level: any) => [Number(level.priceAtoms), Number(level.sizeAtoms)])).toEqual(bids)
    expect(snapshotSequence).toBe(sequence)
  }), { numRuns: 100 })
})

test("a book is made again only when its sequence has passed", async () => {
  const fake = Fake.make()
  const book = async () => (await fake.ask({ target: "/v1/markets/BTC-USDC-PERP/book" })).body
  const before = await book()
  fake.levels.bids = [[97, 1]]
  expect(await book()).toBe(before)
  fake.bumpBook()
  expect(JSON.parse(await book())).toMatchObject({
    snapshotSequence: 2,
    bids: [{ priceAtoms: "97", sizeAtoms: "1" }],
    resync: { fromSequence: 2 }
  })
})

test("a book is read and walked once for a sequence, whatever family, limit and number of requests ask for it", async () => {
  const fake = Fake.make()
  const counted = { reads: 0, walked: 0 }
  const level = (price: number, size: number): [number, number] => {
    const pair: [number, number] = [price, size]
    const walk = pair[Symbol.iterator].bind(pair)
    return Object.assign(pair, {
      [Symbol.iterator]: () => {
        counted.walked++
        return walk()
      }
    })
  }
  const read = fake.state.book.bind(fake.state)
  Object.assign(fake.state, {
    book: (...asked: Parameters<typeof read>) => {
      counted.reads++
      return read(...asked)
    }
  })
  fake.levels.bids = [level(99, 5), level(98, 1)]
  fake.levels.asks = [level(101, 3)]
  const targets = [
    "/v1/markets/BTC-USDC-PERP/book",
    ...["?limit=1", "?limit=2", "?limit=500", ""].map((query) => `/v2/markets/BTC%2FUSDC%3AUSDC/book${query}`)
  ]
  const ask = async () => {
    const bodies: Array<string> = []
    for (const target of targets) bodies.push((await fake.ask({ target })).body)
    return bodies
  }
  const first = await ask()
  expect(counted.reads).toBe(1)
  // Each of the three levels once for the text, once for the checksum, and once for the compatibility book.
  expect(counted.walked).toBe(9)
  expect(await ask()).toEqual(first)
  expect(counted).toEqual({ reads: 1, walked: 9 })
  fake.bumpBook()
  expect(await ask()).not.toEqual(first)
  expect(counted).toEqual({ reads: 2, walked: 18 })
})

test("the metrics' text is made once in 200 ms, however many ask, and anew behind them or where the clock went back", async () => {
  let nowMs = 1_700_000_000_000
  const fake = Fake.make({ now: () => nowMs })
  // The counter of requests in the text shows when the text was made.
  const seen = async (): Promise<number> => {
    const { body } = await fake.ask({ target: "/metrics" })
    return Number(/^venue_http_requests_total\{route="getHealth",status="200"\} (\d+)$/m.exec(body)?.[1] ?? 0)
  }
  const healthAsked = async () => void await fake.ask({ target: "/healthz" })
  expect(await seen()).toBe(0)
  await healthAsked()
  nowMs += 199
  expect([await seen(), await seen()]).toEqual([0, 0])
  nowMs += 1
  expect(await seen()).toBe(1)
  await healthAsked()
  nowMs += 150
  expect(await seen()).toBe(1)
  nowMs -= 151
  expect(await seen()).toBe(2)
  // While a text is being made, others wait for it.
  nowMs += 200
  const first = seen()
  const [, second] = await Promise.all([healthAsked(), seen()])
  expect([await first, second]).toEqual([2, 2])
})

test("metrics whose text could not be made once are an internal error, and the next ones are made", async () => {
  const fake = Fake.make()
  let failures = 1
  Object.defineProperty(fake.state, "halted", {
    get: () => {
      if (failures-- > 0) throw new Error("not to be read")
      return false
    }
  })
  const get = () => fake.ask({ target: "/metrics" })
  const failed = await get()
  expect([failed.status, Fake.json(failed).code]).toEqual([500, "internal_error"])
  const made = await get()
  expect([made.status, /^venue_halted 0$/m.test(made.body)]).toEqual([200, true])
})

test("the compatibility book is cut to its limit and carries the native one", async () => {
  const fake = Fake.make()
  const ask = async (query: string) => Fake.json(await fake.ask({ target: `/v2/markets/BTC%2FUSDC%3AUSDC/book${query}` }))
  expect(await ask("?limit=1")).toMatchObject({
    symbol: "BTC/USDC:USDC",
    bids: [[9.9, 0.0005]],
    asks: [[10.1, 0.0003]],
    nonce: 1
  })
  expect((await ask("?limit=1")).info.bids).toHaveLength(2)
  expect((await ask("")).bids).toHaveLength(2)
  expect((await ask("?limit=500")).bids).toHaveLength(2)
})

test("markets are listed when the public may see them, and the registry's digest covers all of them", async () => {
  const fake = Fake.make()
  const list = Fake.json(await fake.ask({ target: "/v1/markets" }))
  expect(list.markets.map((market: any) => market.marketId)).toEqual(["BTC-USDC-PERP"])
  const one = Fake.json(await fake.ask({ target: "/v1/markets/BTC-USDC-PERP" }))
  expect(one.readModelDigest).toBe(sha256(canonicalize(registry(fake.state))!))
  expect(one.market).toMatchObject({
    minPrice: "1.0",
    maxQuantity: "100.0000",
    change24hBps: "-12",
    logoUnavailable: true,
    favorite: false
  })
  const compat = Fake.json(await fake.ask({ target: "/v2/markets" }))
  expect(compat).toMatchObject([{
    id: "BTC-USDC-PERP",
    symbol: "BTC/USDC:USDC",
    active: true,
    precision: { amount: 0.0001, price: 0.1 },
    taker: 0.0005
  }])
})

test("balances and positions speak in decimals and atoms", async () => {
  const fake = Fake.make()
  const balance = Fake.json(await fake.ask({ target: `/v1/accounts/${fake.accounts[0]}/balance`, key: fake.keys.reader }))
  expect(balance).toMatchObject({
    collateral: "-0.000005",
    collateralAtoms: "-5",
    equity: "1000000.000000",
    available: "0.000000"
  })
  const { positions } = Fake.json(await fake.ask({ target: `/v1/accounts/${fake.accounts[0]}/positions`, key: fake.keys.reader }))
  expect(positions).toMatchObject([{
    positionId: "pos_3k",
    side: "short",
    quantity: "0.0030",
    quantityAtoms: "30",
    avgEntryPrice: "100.5",
    realizedPnl: "-0.000007",
    feesPaidAtoms: "12"
  }])
})

test("open orders are those of the key's account, of one market or of all", async () => {
  const fake = Fake.make()
  for (const clientOrderId of ["a", "b"]) {
    await fake.ask({
      target: "/v1/orders",
      body: Fake.order(fake, { clientOrderId }),
      key: fake.keys.alice,
      idempotencyKey: clientOrderId
    })
  }
  const list = async (query: string) =>
    Fake.json(await fake.ask({
      target: `/v1/accounts/${fake.accounts[0]}/orders?${query}`,
      key: fake.keys.reader
    }))
  expect((await list("status=open")).orders.map((order: any) => order.clientOrderId)).toEqual(["b", "a"])
  expect((await list("status=open&marketId=BTC-USDC-PERP")).orders).toHaveLength(2)
})

test("a key reads its own record and never its text", async () => {
  const fake = Fake.make()
  const response = await fake.ask({ target: "/v1/api-keys/current", key: fake.keys.reader })
  expect(Fake.json(response).key).toMatchObject({
    accountId: fake.accounts[0],
    scopes: ["read"],
    state: "active",
    revokedAtEpochMs: null
  })
  expect(response.body).not.toContain(fake.keys.reader)
})

test("an operator's cancel names one order, or an account, a market or both, and tells how many are left", async () => {
  const fake = Fake.make()
  const ask = (body: object) =>
    fake.ask({ target: "/v1/operator/orders/cancel", body, key: Fake.operatorToken, idempotencyKey: JSON.stringify(body) })
  const [accountId] = fake.accounts
  const rows = [
    [{ orderId: "ord_a" }, { orderNumber: 10, ofAccount: -1, market: -2 }],
    [{ accountId }, { orderNumber: -1, ofAccount: 0, market: -2 }],
    [{ marketId: "ETH-USDC-PERP" }, { orderNumber: -1, ofAccount: -1, market: 1 }],
    [{ accountId, marketId: "BTC-USDC-PERP" }, { orderNumber: -1, ofAccount: 0, market: 0 }]
  ] as const
  for (const [body, fields] of rows) {
    const answer = Fake.json(await ask(body))
    expect(answer).toEqual({
      version: "operator-cancel/v1",
      ...body,
      canceledOrders: 2,
      remainingOrders: 1,
      lastSequence: expect.any(Number),
      idempotencyKey: JSON.stringify(body),
      decidedAtEpochMs: expect.any(Number)
    })
    expect(fake.commands.at(-1)).toEqual({
      ...sentBy,
      kind: "CancelByOperator",
      operation: Operation.cancelByOperator,
      idempotencyKey: JSON.stringify(body),
      tellsOwner: true,
      ...fields
    })
  }
})

test("operator routes submit what they say, and repeat their answer", async () => {
  const fake = Fake.make()
  const ask = (target: string, method: string, body?: unknown, idempotencyKey = target) =>
    fake.ask({ target, method, ...(body === undefined ? undefined : { body }), key: Fake.operatorToken, idempotencyKey })
  const halted = await ask("/v1/operator/engine/halt", "PUT")
  expect(Fake.json(halted)).toMatchObject({ version: "operator-result/v1", operation: "halt_engine", sequence: 2 })
  expect((await ask("/v1/operator/engine/halt", "PUT", {})).body).toBe(halted.body)
  await ask("/v1/operator/engine/halt", "DELETE")
  await ask("/v1/operator/markets/ETH-USDC-PERP/status", "PUT", { status: "backfilling" })
  await ask("/v1/operator/markets/BTC-USDC-PERP/index-price", "PUT", { price: "101.5", sourceEpochMs: 5 })
  expect(fake.commands.slice(-3)).toEqual([
    { ...sentBy, kind: "ResumeEngine", operation: Operation.resumeEngine, idempotencyKey: "/v1/operator/engine/halt" },
    {
      ...sentBy,
      kind: "SetMarketStatus",
      operation: Operation.setMarketStatus,
      idempotencyKey: "/v1/operator/markets/ETH-USDC-PERP/status",
      market: 1,
      status: "backfilling"
    },
    {
      ...sentBy,
      kind: "SetIndexPrice",
      operation: Operation.setIndexPrice,
      idempotencyKey: "/v1/operator/markets/BTC-USDC-PERP/index-price",
      market: 0,
      priceAtoms: 1015,
      sourceEpochMs: 5
    }
  ])
})

test("a market can be put back in the form in which it is read", async () => {
  const fake = Fake.make()
  const { market } = Fake.json(await fake.ask({ target: "/v1/markets/BTC-USDC-PERP" }))
  const {
    change24hBps,
    favorite,
    lastPrice,
    lastPriceAtoms,
    logoUnavailable,
    marketId,
    settlementAsset,
    status,
    symbol,
    ...body
  } = market
  await fake.ask({
    target: `/v1/operator/markets/${marketId}`,
    method: "PUT",
    body,
    key: Fake.operatorToken,
    idempotencyKey: "k"
  })
  expect(fake.commands.at(-1)).toEqual({
    ...sentBy,
    kind: "PutMarket",
    operation: Operation.putMarket,
    idempotencyKey: "k",
    parameters: Fake.btc,
    effectiveAtEpochMs: 0
  })
})

test("demo accounts come with keys that work, the same again for the same request", async () => {
  const fake = Fake.make({ now: () => at })
  const ask = () =>
    fake.ask({
      target: "/v1/operator/demo/accounts",
      body: { accounts: 3, collateral: "5" },
      key: Fake.operatorToken,
      idempotencyKey: "demo"
    })
  const first = await ask()
  const { accounts } = Fake.json(first)
  expect(accounts).toHaveLength(3)
  expect((await ask()).body).toBe(first.body)
  for (const { accountId, apiKey } of accounts) {
    expect(apiKey).toMatch(/^pk_development_[0-9a-f]{20}_[A-Za-z0-9_-]{43}$/)
    const read = await fake.ask({ target: `/v1/accounts/${accountId}/balance`, key: apiKey })
    expect(read.status).toBe(200)
    expect(JSON.stringify(fake.commands)).not.toContain(apiKey)
  }
  expect(fake.commands[0]).toMatchObject({ kind: "OpenDemoAccounts", collateralAtoms: 5_000_000 })
})
