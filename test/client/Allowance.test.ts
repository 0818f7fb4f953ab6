/** The class sends as many requests as the venue's answers allow, and waits only when they say that nothing is left. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { Allowance } from "../../src/client/ccxt/Allowance.js"
import { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { type Answer, answered as answeredWith, market, ScriptedVenue } from "./ScriptedVenue.js"

const start = 1_700_000_000_000
const headers = (limit: number, remaining: number, reset: number) => ({
  "Ratelimit-Limit": `${limit}`,
  "Ratelimit-Remaining": `${remaining}`,
  "Ratelimit-Reset": `${reset}`
})

describe("what is left", () => {
  test("holds nothing back before anything is known", () => {
    const allowance = new Allowance()
    expect(Array.from({ length: 1000 }, () => allowance.take(start)).every((waitMs) => waitMs === 0)).toBe(true)
    allowance.hear({ "X-Request-Id": "req_1" }, start)
    allowance.hear({ ...headers(600, 1, 60), "Ratelimit-Limit": "many" }, start)
    expect([allowance.take(start), allowance.intervalMs]).toEqual([0, undefined])
  })

  test("is counted down by what is sent, and waited for once it is used up", () => {
    const allowance = new Allowance()
    allowance.hear(headers(600, 2, 20), start)
    expect(allowance.intervalMs).toBe(100)
    expect([allowance.take(start), allowance.take(start), allowance.take(start + 1)]).toEqual([0, 0, 19_999])
    expect(allowance.take(start + 19_999)).toBe(1)
    // In a new window all of the limit is available, before any answer says so.
    const taken = Array.from({ length: 601 }, () => allowance.take(start + 20_000))
    expect([taken.filter((waitMs) => waitMs === 0).length, taken.at(-1)]).toEqual([600, 60_000])
  })

  test("is the least that answers of one window say, whichever comes first", () => {
    const allowance = new Allowance()
    allowance.hear(headers(10, 1, 60), start)
    allowance.hear(headers(10, 5, 60), start + 900)
    expect([allowance.take(start + 900), allowance.take(start + 900)]).toEqual([0, 59_100])
    // An answer that took half a window to arrive does not bring the old window back.
    allowance.hear(headers(10, 9, 60), start + 61_000)
    allowance.hear(headers(10, 0, 1), start + 62_000)
    expect(allowance.take(start + 62_000)).toBe(0)
  })

  test("ends no earlier than the venue says of a window that was only expected", () => {
    const allowance = new Allowance()
    allowance.hear(headers(1, 0, 1), start)
    expect([allowance.take(start), allowance.take(start + 1000)]).toEqual([1000, 0])
    // The request took 300 ms to the venue, which then began the window with it.
    allowance.hear(headers(1, 0, 60), start + 1300)
    expect(allowance.take(start + 2000)).toBe(59_300)
  })

  test("is not waited for beyond a window where the clock is set back", () => {
    const anHour = 3_600_000
    const allowance = new Allowance()
    allowance.hear(headers(600, 0, 60), start)
    expect(allowance.take(start - anHour)).toBe(0)
    // Answers after that count by the new clock.
    allowance.hear(headers(600, 0, 58), start - anHour + 500)
    expect(allowance.take(start - anHour + 500)).toBe(58_000)
    const other = new Allowance()
    other.hear(headers(600, 0, 60), start)
    other.hear(headers(600, 0, 30), start - anHour)
    expect(other.take(start - anHour)).toBe(30_000)
    // A clock that is set back by some seconds makes no difference.
    expect(other.take(start - anHour - 4_000)).toBe(34_000)
  })

  test("is lowered by what is sent all the same, to nothing at most", () => {
    const allowance = new Allowance()
    allowance.hear(headers(10, 1, 60), start)
    for (let count = 0; count < 3; count++) allowance.pass()
    expect(allowance.take(start)).toBe(60_000)
    expect(allowance.take(start + 60_000)).toBe(0)
  })
})

describe("the class", () => {
  let venue: ScriptedVenue
  let exchange: Perpetuum
  const waits: Array<number> = []
  let atEpochMs = start

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
    exchange = new Perpetuum({ hostname: `127.0.0.1:${venue.port}`, apiKey: "pk_development_k_s", accountId: "acc_1" })
    exchange.milliseconds = () => atEpochMs
    Object.assign(exchange, {
      pause: async (waitMs: number) => {
        waits.push(waitMs)
        atEpochMs += waitMs
      }
    })
    // The library's own throttler, which would spread calls over the minute, is not used.
    exchange.throttler = undefined
  })

  afterAll(() => venue.stop())

  const answered = (remaining: number, reset: number, limit = 600): Answer => ({
    ...answeredWith({ timestamp: start }),
    headers: { "ratelimit-limit": `${limit}`, "ratelimit-remaining": `${remaining}`, "ratelimit-reset": `${reset}` }
  })
  const key = () => exchange.request("v1/api-keys/current", "private", "GET")

  test("waits for nothing while something is left, and tells the venue's own rate", async () => {
    expect(exchange.enableRateLimit).toBe(true)
    venue.script(answered(599, 60, 1200), answered(598, 60), answered(1, 60, 300), answered(0, 60, 300))
    await exchange.fetchTime()
    expect(exchange.rateLimit).toBe(100)
    await key()
    expect(exchange.rateLimit).toBe(100)
    await key()
    await key()
    expect([exchange.rateLimit, waits]).toEqual([200, []])
  })

  test("waits until the window ends once nothing is left, but with no cancel and for no other's limit", async () => {
    venue.script(answered(598, 60, 1200), answered(0, 60, 300), answered(299, 60, 300))
    await exchange.fetchTime()
    await exchange.request("v2/orders/cancel-all", "private", "POST")
    expect(waits).toEqual([])
    await key()
    expect([waits, venue.seen.length]).toEqual([[60_000], 3])
  })

  test("never waits where its user has switched it off", async () => {
    waits.length = 0
    exchange.enableRateLimit = false
    venue.script(answered(0, 60), answered(0, 60), answered(0, 60))
    for (let count = 0; count < 3; count++) await key()
    expect(waits).toEqual([])
  })

  test("sends nothing that waited when it was closed, and a command that may have acted tells its outcome", async () => {
    const closing = new Perpetuum({ hostname: `127.0.0.1:${venue.port}`, apiKey: "pk_development_k_s", accountId: "acc_1" })
    venue.script(answeredWith([market]), answered(0, 60))
    await closing.loadMarkets()
    await closing.request("v1/api-keys/current", "private", "GET")
    const placed = closing.createOrder("BTC/USDC:USDC", "limit", "buy", 1, 100)
    const read = closing.fetchBalance()
    const refused = Promise.all([placed, read].map((call) => expect(call).rejects.toMatchObject({ name: "ExchangeClosedByUser" })))
    await vi.waitFor(() => expect(closing).toMatchObject({ waits: { size: 2 } }))
    await closing.close()
    await refused
    expect(venue.seen).toHaveLength(2)

    closing.enableRateLimit = false
    closing.options["retryDelayMs"] = 60_000
    const seen = answeredWith({ outcome: "accepted" })
    venue.script({ status: 502, body: "{}" }, seen, answeredWith({ canceled: 1, timestamp: start }))
    const canceled = closing.cancelAllOrders()
    await vi.waitFor(() => expect(closing).toMatchObject({ waits: { size: 1 } }))
    await closing.close()
    expect(await canceled).toMatchObject([{ info: { canceled: 1 } }])
    const [lost, , repeated] = venue.seen
    expect(repeated!.headers["idempotency-key"]).toBe(lost!.headers["idempotency-key"])
  })

  test("cancels by the name of an order that it placed at once, and reads the name of any other", async () => {
    const own = new Perpetuum({
      hostname: `127.0.0.1:${venue.port}`,
      apiKey: "pk_development_k_s",
      accountId: "acc_1",
      options: { maxAttempts: 1 }
    })
    const order = (orderId: string, status: string) => answeredWith({ orderId, clientOrderId: "mine", marketId: market.id, status })
    const gone = { code: "not_found", version: "external-rest-error/v1" }
    venue.script(answeredWith([market]), { ...order("ord_1", "open"), headers: answered(0, 60).headers! }, order("ord_1", "canceled"))
    await own.createOrder("BTC/USDC:USDC", "limit", "buy", 1, 100, { clientOrderId: "mine" })
    expect(await own.cancelOrderWithClientOrderId("mine", "BTC/USDC:USDC")).toMatchObject({ id: "ord_1", status: "canceled" })
    expect(venue.seen.map(({ url }) => url)).toEqual(["/v2/markets", "/v1/orders", "/v2/orders/ord_1/cancel"])

    own.enableRateLimit = false
    venue.script(order("ord_1", "open"), { status: 404, body: JSON.stringify(gone) }, answeredWith({ order: { orderId: "ord_2" } }),
      order("ord_2", "canceled"))
    await own.createOrder("BTC/USDC:USDC", "limit", "buy", 1, 100, { clientOrderId: "mine" })
    expect(await own.cancelOrder("", "BTC/USDC:USDC", { clientOrderId: "mine" })).toMatchObject({ id: "ord_2" })
    expect(venue.seen.map(({ url }) => url)).toEqual([
      "/v1/orders",
      "/v2/orders/ord_1/cancel",
      "/v1/accounts/acc_1/outcomes?clientOrderId=mine",
      "/v2/orders/ord_2/cancel"
    ])
  })
})
