/** A trader's cancels: of its own orders and others', of one or all, at once or by a dead-man switch. */
import { orderId } from "../../src/domain/Ids.js"
import type { Parameters } from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import type { Intent } from "../faults/Options.js"
import * as Calls from "./Calls.js"
import type { Draft } from "./Calls.js"
import * as Foreign from "./Foreign.js"
import { makeOrder } from "./Placing.js"
import type { Drafting } from "./Seat.js"

export const cancelling = {
  "cancel own": (seat, intent) => {
    const { nextKey, who, wishes } = seat
    const order = wishes.myOpen()
    if (order === undefined) return makeOrder(seat, "make")
    return Calls.cancelOrder(who, intent, nextKey(), wishes.marketIdOf(order), orderId(order.number))
  },
  "cancel foreign": (seat, intent) => {
    const { model, nextKey, random, who, wishes } = seat
    const markets = model.markets.filter((market) => market.resting.some((order) => order.account !== who.account))
    if (markets.length === 0) return makeOrder(seat, "make")
    const order = random.pick(random.pick(markets).resting.filter((each) => each.account !== who.account))
    return Calls.cancelOrder(who, intent, nextKey(), wishes.marketIdOf(order), orderId(order.number))
  },
  "cancel dead": ({ model, nextKey, random, who, wishes }, intent) => {
    const order = wishes.ofMine((each) => each.status !== Order.open)
    const open = wishes.myOpen()
    if (open !== undefined && random.chance(0.2)) {
      const other = model.markets[(open.market + 1) % model.markets.length]!
      return Calls.cancelOrder(who, intent, nextKey(), other.parameters.marketId, orderId(open.number))
    }
    if (order === undefined || random.chance(0.3)) {
      return Calls.cancelOrder(who, intent, nextKey(), "BTC-USDC-PERP", random.pick(["ord_zzzzz", "nonsense", "ord_", "ord_01"]))
    }
    return Calls.cancelOrder(who, intent, nextKey(), wishes.marketIdOf(order), orderId(order.number))
  },
  "cancel batch": (seat, intent) => {
    const { nextKey, random, who, wishes } = seat
    const count = random.between(1, 8)
    const orders: Array<{ readonly marketId: string; readonly orderId: string }> = []
    for (let index = 0; index < count; index++) {
      const order = random.chance(0.7) ? wishes.myOpen() : wishes.ofMine(() => true)
      orders.push(order === undefined
        ? { marketId: "BTC-USDC-PERP", orderId: "ord_zzzz" }
        : { marketId: wishes.marketIdOf(order), orderId: orderId(order.number) })
    }
    return Foreign.amongOwn(seat, Calls.cancelBatch(who, intent, nextKey(), orders))
  },
  "v2 cancel": ({ model, nextKey, random, who, wishes }, intent) => {
    const order = random.chance(0.8) ? wishes.myOpen() : wishes.ofMine(() => true)
    const parameters: Parameters = order === undefined ? model.markets[0]!.parameters : model.markets[order.market]!.parameters
    return Calls.cancelCompat(who, intent, nextKey(), parameters, orderId(order?.number ?? 999_999))
  },
  "cancel all": ({ model, nextKey, random, who }, intent) => {
    const market = random.pick(model.markets).parameters
    const ways: ReadonlyArray<() => Draft> = [
      () => Calls.cancelAll(who, intent, nextKey(), undefined),
      () => Calls.cancelAll(who, intent, nextKey(), market.marketId),
      () => Calls.cancelAll(who, intent, nextKey(), random.pick(["NONE-USDC-PERP", "NULL-USDC-PERP"])),
      () => Calls.cancelAllCompat(who, intent, nextKey(), random.chance(0.5) ? market : undefined)
    ]
    return random.pick(ways)()
  },
  "dead-man switch": ({ nextKey, random, who }, intent) =>
    Calls.cancelAllAfter(who, intent, nextKey(), random.pick([0, 1_000, 1_000, 1_500, 3_000, 600_000]))
} satisfies Partial<Record<Intent, Drafting>>
