/** What a trader says and asks without trading: its name, everything that can be read, what became of a request, and that it never will be. */
import { orderId } from "../../src/domain/Ids.js"
import { symbol } from "../../src/domain/Market.js"
import type { Intent } from "../faults/Options.js"
import * as Calls from "./Calls.js"
import type { Draft } from "./Calls.js"
import type { Drafting, Seat } from "./Seat.js"

/** One of all reads there are, of public data and of its own. */
const readSomething = ({ model, random, who, wishes }: Seat): Draft => {
  const market = random.pick(model.markets).parameters
  const order = wishes.ofMine(() => true)
  const number = order?.number ?? 999_999
  const reads: ReadonlyArray<() => Draft> = [
    () => Calls.read(who, "getBook", `/v1/markets/${market.marketId}/book`, "none"),
    () => Calls.read(who, "getCompatBook", `/v2/markets/${encodeURIComponent(symbol(market))}/book?limit=${random.between(1, 20)}`, "none"),
    () => Calls.read(who, "getMarket", `/v1/markets/${market.marketId}`, "none"),
    () => Calls.read(who, "listMarkets", "/v1/markets", "none"),
    () => Calls.read(who, "listCompatMarkets", "/v2/markets", "none"),
    () => Calls.read(who, "getOrder", `/v1/orders/${orderId(number)}`, "trader"),
    () => Calls.read(who, "getCompatOrder", `/v2/orders/${orderId(number)}`, "trader"),
    () => Calls.read(who, "getBalance", `/v1/accounts/${who.accountId}/balance`, "trader"),
    () => Calls.read(who, "getProfile", `/v1/accounts/${who.accountId}/profile`, "trader"),
    () => Calls.read(who, "listPositions", `/v1/accounts/${who.accountId}/positions`, "trader"),
    () => Calls.read(who, "listOrders", `/v1/accounts/${who.accountId}/orders?status=open`, "trader"),
    () => Calls.read(who, "listOrders", `/v1/accounts/${who.accountId}/orders?limit=${random.between(1, 20)}`, "trader"),
    () => Calls.read(who, "listFills", `/v1/accounts/${who.accountId}/fills`, "trader"),
    () => Calls.read(who, "listTrades", `/v1/markets/${market.marketId}/trades`, "none"),
    () => Calls.read(who, "getStats", `/v1/markets/${market.marketId}/stats`, "none"),
    () => Calls.read(who, "getCancelAllAfter", `/v1/accounts/${who.accountId}/orders/cancel-all-after`, "trader"),
    () => Calls.read(who, "getCompatStats", `/v2/markets/${encodeURIComponent(symbol(market))}/stats`, "none"),
    () => Calls.read(who, "getCompatTicker", `/v2/markets/${encodeURIComponent(symbol(market))}/ticker`, "none"),
    () =>
      Calls.read(who, "listCompatTrades", `/v2/markets/${encodeURIComponent(symbol(market))}/trades?limit=${random.between(1, 50)}`,
        "none"),
    () =>
      Calls.read(who, "listCompatTrades",
        `/v2/markets/${encodeURIComponent(symbol(market))}/trades?since=${random.chance(0.5) ? 0 : model.atEpochMs - random.below(5_000)}`,
        "none"),
    () =>
      Calls.read(who, "listCompatOwnTrades", `/v2/trades?since=${random.chance(0.5) ? 0 : model.atEpochMs - random.below(5_000)}`,
        "trader"),
    () => Calls.read(who, "listCompatOrders", `/v2/orders?since=${Math.max(0, model.atEpochMs - random.below(5_000))}`, "trader"),
    () => Calls.read(who, "listCompatOwnTrades", `/v2/trades?symbol=${encodeURIComponent(symbol(market))}`, "trader"),
    () => Calls.read(who, "listCompatPositions", "/v2/positions", "trader"),
    () => Calls.read(who, "getCompatBalance", "/v2/balance", "trader"),
    () => Calls.read(who, "getCompatTime", "/v2/time", "none"),
    () => Calls.read(who, "getCurrentApiKey", "/v1/api-keys/current", "trader"),
    () => Calls.read(who, "getHealth", "/healthz", "none"),
    () => Calls.read(who, "getReadiness", "/readyz", "none")
  ]
  return random.pick(reads)()
}

export const asking = {
  read: readSomething,
  "name itself": ({ nextKey, random, who }, intent) =>
    Calls.setProfile(who, intent, nextKey(), random.pick(["patient_maker", "abc", "A-very_long-name-2000", "a.b", "xy"])),
  "look up": ({ clientOrderIdAhead, past, random, who, wishes }) => {
    const order = wishes.ofMine((each) => each.clientOrderId !== "")
    const draft = past.length === 0 ? undefined : random.pick(past)
    const ways: ReadonlyArray<() => Draft> = [
      () => Calls.lookUp(who, "idempotencyKey", draft?.idempotencyKey ?? "never"),
      () => Calls.lookUp(who, "idempotencyKey", `never-${random.below(1_000)}`),
      () => Calls.lookUp(who, "clientOrderId", order?.clientOrderId ?? "never"),
      () => Calls.lookUp(who, "clientOrderId", clientOrderIdAhead(1_000))
    ]
    return random.pick(ways)()
  },
  fence: ({ clientOrderIdAhead, keyAhead, nextKey, past, random, who, wishes }, intent) => {
    const order = wishes.ofMine((each) => each.clientOrderId !== "")
    const ahead = random.below(6)
    const identities: ReadonlyArray<{ readonly idempotencyKey: string } | { readonly clientOrderId: string }> = [
      { idempotencyKey: past.length === 0 ? "never" : random.pick(past).idempotencyKey ?? "never" },
      { idempotencyKey: keyAhead(1 + ahead) },
      { clientOrderId: order?.clientOrderId ?? "never" },
      { clientOrderId: clientOrderIdAhead(ahead) }
    ]
    return Calls.fence(who, intent, nextKey(), random.pick(identities))
  }
} satisfies Partial<Record<Intent, Drafting>>
