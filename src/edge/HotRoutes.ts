/**
 * Placing, amending, cancelling and fencing: plain callbacks from request to inbox and from outcome to reply, without a fiber
 * or an Effect for a request. The order of checks is the same on every route:
 *
 * 1. credential and scope
 * 2. content type, size, UTF-8, JSON
 * 3. members that are not supported (501)
 * 4. idempotency key
 * 5. shape of the body
 * 6. the account is the credential's
 * 7. the market's grid; then everything else is the engine's
 */
import * as Command from "../operations/Operations.js"
import * as Ids from "../domain/Ids.js"
import * as Market from "../domain/Market.js"
import * as Order from "../domain/Order.js"
import type { EntryOutcome, Outcome } from "../operations/Operations.js"
import { Refusal } from "../domain/Refusal.js"
import { assert } from "../domain/Assert.js"
import type { ApiKeyView, MarketView, Reads } from "../engine/Reads.js"
import type { Call } from "./Call.js"
import type { CreateOrderBody } from "./contract/Compat.js"
import type { PlaceOrderBody } from "./contract/Orders.js"
import * as Decode from "./Decode.js"
import * as Encode from "./Encode.js"
import * as Errors from "./Errors.js"
import * as Grid from "./Grid.js"
import * as Requests from "./Requests.js"

/** The names of the endpoints served here. */
export const names = [
  "placeOrder",
  "placeOrderBatch",
  "cancelOrder",
  "cancelOrderBatch",
  "createOrder",
  "createOrders",
  "cancelCompatOrder",
  "amendOrder",
  "cancelAllOrders",
  "cancelAllCompatOrders",
  "setCancelAllAfter",
  "fenceOutcome"
] as const
export type Name = (typeof names)[number]

/** What was read of a request once its caller, key and body were found good. */
interface Admitted<Body> {
  readonly key: ApiKeyView
  readonly accountId: string
  readonly idempotencyKey: string
  readonly body: Body
}

/** Steps 1 to 5; undefined when the call was answered. */
const admit = <Body extends object>(
  call: Call,
  unsupported: (body: unknown) => string | undefined,
  decode: (body: unknown) => Body | Decode.Fault
): Admitted<Body> | undefined => {
  const key = call.authorize(Command.scopeTrade)
  if (key === undefined) return undefined
  const json = Requests.json(call.request)
  if (Requests.isFailure(json)) {
    call.fail(json)
    return undefined
  }
  const member = unsupported(json.value)
  if (member !== undefined) {
    call.fail(Errors.notSupported(`${member} is not supported here. Nothing was done.`))
    return undefined
  }
  if (call.query !== "") {
    call.fail(Errors.invalidRequest("This route takes no query parameter."))
    return undefined
  }
  const idempotencyKey = Requests.idempotencyKey(call.request)
  if (idempotencyKey === undefined) {
    call.fail(Requests.idempotencyKeyNeeded)
    return undefined
  }
  const body = decode(json.value)
  if (body instanceof Decode.Fault) {
    call.fail(Errors.invalidRequest(body.text))
    return undefined
  }
  return { key, accountId: call.services.state.accountId(key.account), idempotencyKey, body }
}

const nothing = (): undefined => undefined
const timeInForce = (body: unknown): string | undefined => Decode.hasTimeInForce(body) ? "timeInForce" : undefined

/**
 * A market as the engine knows it, listed or not; undefined where there is none. The engine refuses what is not
 * listed, so that a key used too early gets the same answer afterwards; nothing of such a market is told.
 */
const known = (state: Reads, market: number): MarketView | undefined => market < 0 ? undefined : state.market(market)

/** The market that an answer may speak of. */
const told = (market: Market.Parameters | undefined, decided: EntryOutcome): Market.Parameters | undefined =>
  decided.refusal === Refusal.marketNotFound ? undefined : market

/** One order on its way to the engine, with the market that its answer is written in. */
interface Prepared {
  readonly entry: Command.PlaceEntry
  readonly market: Market.Parameters | undefined
  /** What a fault of the entry compared. */
  readonly comparison: Errors.Comparison | undefined
}

/** What a refusal compared, whether the edge found it or the engine. */
const compared = (prepared: Prepared, decided: EntryOutcome): Errors.Comparison | undefined =>
  prepared.entry.fault !== Refusal.none && decided.refusal === prepared.entry.fault
    ? prepared.comparison
    : Errors.comparisonOf(decided, told(prepared.market, decided))

/** Step 7 of a native order: too many decimals are the client's mistake, anything that no atoms can say is out of bounds. */
const prepare = (state: Reads, body: PlaceOrderBody, at: string): Prepared | Errors.Failure => {
  const index = state.findMarket(body.marketId)
  const view = known(state, index)
  const type = body.orderType === "limit" ? Order.limit : Order.market
  const grid = Grid.ofDecimals(view, body.price, body.quantity, type === Order.limit ? "refused_by_engine" : "is_none", at)
  if (Requests.isFailure(grid)) return grid
  return {
    market: view?.parameters,
    comparison: grid.comparison,
    entry: {
      market: index,
      clientOrderId: body.clientOrderId,
      side: body.side === "buy" ? Order.buy : Order.sell,
      type,
      timeInForce: type === Order.market || body.timeInForce === "IOC" ? Order.ioc : Order.gtc,
      priceAtoms: grid.priceAtoms ?? 0,
      quantityAtoms: grid.quantityAtoms ?? 0,
      postOnly: body.postOnly === true,
      reduceOnly: body.reduceOnly === true,
      selfTradePrevention: stpCode(body.selfTradePrevention),
      expiresAtEpochMs: body.expiresAtEpochMs ?? 0,
      fault: grid.fault,
      raw: grid.fault === Refusal.none ? "" : JSON.stringify([body.marketId, body.price ?? null, body.quantity])
    }
  }
}

const stpCode = (name: PlaceOrderBody["selfTradePrevention"]): Order.SelfTradePrevention => {
  switch (name) {
    case "cancel_incoming":
      return Order.cancelIncoming
    case "cancel_both":
      return Order.cancelBoth
    case "cancel_resting":
    case undefined:
      return Order.cancelResting
  }
}

/** Step 7 of a compatibility order: a number off the grid refuses the order, never rounds it. */
const prepareCompat = (state: Reads, body: CreateOrderBody): Prepared => {
  const index = state.findSymbol(body.symbol)
  const view = known(state, index)
  const type = body.type === "limit" ? Order.limit : Order.market
  const grid = Grid.ofNumbers(view, body.price, body.amount, type === Order.limit ? "refused_by_engine" : "is_none")
  return {
    market: view?.parameters,
    comparison: grid.comparison,
    entry: {
      market: index,
      clientOrderId: body.params?.clientOrderId ?? "",
      side: body.side === "buy" ? Order.buy : Order.sell,
      type,
      timeInForce: type === Order.market ? Order.ioc : Order.gtc,
      priceAtoms: grid.priceAtoms ?? 0,
      quantityAtoms: grid.quantityAtoms ?? 0,
      postOnly: body.params?.postOnly === true,
      reduceOnly: body.params?.reduceOnly === true,
      selfTradePrevention: Order.cancelResting,
      expiresAtEpochMs: 0,
      fault: grid.fault,
      raw: grid.fault === Refusal.none ? "" : JSON.stringify([body.symbol, body.price ?? null, body.amount])
    }
  }
}

const place = (
  call: Call,
  admitted: Admitted<object>,
  operation: Command.Operation,
  entries: ReadonlyArray<Command.PlaceEntry>,
  answer: (outcome: Outcome) => void
): void =>
  call.services.submit({
    kind: "PlaceOrders",
    operation,
    account: admitted.key.account,
    apiKey: admitted.key.index,
    idempotencyKey: admitted.idempotencyKey,
    entries
  }, guarded(call, answer))

const cancel = (
  call: Call,
  admitted: Admitted<object>,
  operation: Command.Operation,
  entries: ReadonlyArray<Command.CancelEntry>,
  answer: (outcome: Outcome) => void
): void =>
  call.services.submit({
    kind: "CancelOrders",
    operation,
    account: admitted.key.account,
    apiKey: admitted.key.index,
    idempotencyKey: admitted.idempotencyKey,
    entries
  }, guarded(call, answer))

/** An answer that is written outside the router's own guard: a defect in it must not reach the writer. */
const guarded = (call: Call, answer: (outcome: Outcome) => void) => (outcome: Outcome): void => {
  try {
    if (!call.failedWhole(outcome)) answer(outcome)
  } catch (cause) {
    call.crash(cause)
  }
}

/** The decision on one entry, which every decided command has for each of its entries. */
const decidedEntry = (outcome: Outcome, index: number): EntryOutcome => {
  const entry = outcome.entries[index]
  assert(entry !== undefined, "a decided command has an outcome for each entry")
  return entry
}

const failEntry = (call: Call, decided: EntryOutcome, outcome: Outcome, comparison?: Errors.Comparison): void =>
  call.fail(Errors.refused(decided.refusal, comparison), outcome.atEpochMs)

const countRefusal = (call: Call, decided: EntryOutcome): void => {
  if (decided.refusal !== 0) call.services.metrics.refused(Errors.refused(decided.refusal).description.name)
}

const placeOrder = (call: Call): void => {
  const admitted = admit(call, Decode.unsupportedMember, Decode.placeOrder)
  if (admitted === undefined) return
  const { accountId, body, idempotencyKey } = admitted
  if (body.accountId !== accountId) return call.failDurably(Errors.refused(Refusal.keyAccountMismatch))
  const prepared = prepare(call.services.state, body, "")
  if (Requests.isFailure(prepared)) return call.failDurably(prepared)
  const { entry, market } = prepared
  place(call, admitted, Command.Operation.placeV1, [entry], (outcome) => {
    const decided = decidedEntry(outcome, 0)
    if (decided.refusal !== 0) return failEntry(call, decided, outcome, compared(prepared, decided))
    assert(market !== undefined, "an order without a market is refused")
    call.succeed(Encode.placed(accountId, market, entry, decided, outcome, idempotencyKey))
  })
}

const placeOrderBatch = (call: Call): void => {
  const admitted = admit(call, Decode.unsupportedMember, Decode.placeBatch)
  if (admitted === undefined) return
  const { accountId, body, idempotencyKey } = admitted
  const prepared: Array<Prepared> = []
  for (let index = 0; index < body.orders.length; index++) {
    const order = body.orders[index]!
    if (order.accountId !== accountId) return call.failDurably(Errors.accountNotFound)
    const one = prepare(call.services.state, order, `orders[${index}].`)
    if (Requests.isFailure(one)) return call.failDurably(one)
    prepared.push(one)
  }
  place(call, admitted, Command.Operation.placeBatchV1, prepared.map((one) => one.entry), (outcome) => {
    let text = ""
    for (let index = 0; index < prepared.length; index++) {
      const one = prepared[index]!
      const { entry, market } = one
      const decided = decidedEntry(outcome, index)
      countRefusal(call, decided)
      text += (index === 0 ? "" : ",")
        + Encode.placedEntry(
          index,
          accountId,
          told(market, decided),
          body.orders[index]!,
          entry,
          decided,
          compared(one, decided),
          outcome,
          idempotencyKey
        )
    }
    call.succeed(`{"version":"external-place-order-batch/v1","outcomes":[${text}]}`)
  })
}

/** One order to cancel; what cannot be any order's id or market is told apart by the text sent. */
const prepareCancel = (
  state: Reads,
  marketIndex: number,
  marketText: string,
  orderId: string
): { readonly entry: Command.CancelEntry; readonly market: Market.Parameters | undefined } => {
  const market = known(state, marketIndex)?.parameters
  const orderNumber = Ids.parseOrderId(orderId) ?? -1
  return {
    market,
    entry: {
      market: marketIndex,
      orderNumber,
      raw: market === undefined || orderNumber < 0 ? JSON.stringify([marketText, orderId]) : ""
    }
  }
}

const cancelOrder = (call: Call): void => {
  const admitted = admit(call, nothing, Decode.cancelOrder)
  if (admitted === undefined) return
  const { accountId, body, idempotencyKey } = admitted
  if (body.accountId !== accountId) return call.failDurably(Errors.refused(Refusal.keyAccountMismatch))
  const { state } = call.services
  const { entry, market } = prepareCancel(state, state.findMarket(body.marketId), body.marketId, call.params["orderId"] ?? "")
  cancel(call, admitted, Command.Operation.cancelV1, [entry], (outcome) => {
    const decided = decidedEntry(outcome, 0)
    if (decided.refusal !== 0) return failEntry(call, decided, outcome)
    assert(market !== undefined, "an order without a market cannot be cancelled")
    call.succeed(Encode.canceled(accountId, market, decided, outcome, idempotencyKey))
  })
}

const cancelOrderBatch = (call: Call): void => {
  const admitted = admit(call, nothing, Decode.cancelBatch)
  if (admitted === undefined) return
  const { accountId, body, idempotencyKey } = admitted
  const { state } = call.services
  const entries: Array<Command.CancelEntry> = []
  const markets: Array<Market.Parameters | undefined> = []
  for (const order of body.orders) {
    if (order.accountId !== accountId) return call.failDurably(Errors.refused(Refusal.keyAccountMismatch))
    const { entry, market } = prepareCancel(state, state.findMarket(order.marketId), order.marketId, order.orderId)
    entries.push(entry)
    markets.push(market)
  }
  cancel(call, admitted, Command.Operation.cancelBatchV1, entries, (outcome) => {
    let text = ""
    for (let index = 0; index < entries.length; index++) {
      const { marketId, orderId } = body.orders[index]!
      const decided = decidedEntry(outcome, index)
      countRefusal(call, decided)
      text += (index === 0 ? "" : ",")
        + Encode.canceledEntry(index, accountId, markets[index], orderId, marketId, decided, outcome, idempotencyKey)
    }
    call.succeed(`{"version":"external-cancel-order-batch/v1","outcomes":[${text}]}`)
  })
}

const createOrder = (call: Call): void => {
  const admitted = admit(call, timeInForce, Decode.createOrder)
  if (admitted === undefined) return
  const { accountId, body, idempotencyKey } = admitted
  const prepared = prepareCompat(call.services.state, body)
  const { entry, market } = prepared
  place(call, admitted, Command.Operation.placeV2, [entry], (outcome) => {
    const decided = decidedEntry(outcome, 0)
    if (decided.refusal !== 0) return failEntry(call, decided, outcome, compared(prepared, decided))
    assert(market !== undefined, "an order without a market is refused")
    call.succeed(Encode.compatPlaced(body.symbol, accountId, market, entry, decided, outcome, idempotencyKey))
  })
}

const createOrders = (call: Call): void => {
  const admitted = admit(call, timeInForce, Decode.createOrders)
  if (admitted === undefined) return
  const { accountId, body, idempotencyKey } = admitted
  const prepared = body.map((order) => prepareCompat(call.services.state, order))
  place(call, admitted, Command.Operation.placeBatchV2, prepared.map((one) => one.entry), (outcome) => {
    let text = ""
    for (let index = 0; index < prepared.length; index++) {
      const one = prepared[index]!
      const { entry, market } = one
      const decided = decidedEntry(outcome, index)
      countRefusal(call, decided)
      text += (index === 0 ? "" : ",")
        + Encode.compatPlacedEntry(
          index,
          accountId,
          told(market, decided),
          body[index]!,
          entry,
          decided,
          compared(one, decided),
          outcome,
          idempotencyKey
        )
    }
    call.succeed(`[${text}]`)
  })
}

const cancelCompatOrder = (call: Call): void => {
  const admitted = admit(call, nothing, Decode.cancelCompat)
  if (admitted === undefined) return
  const { accountId, body, idempotencyKey, key } = admitted
  const { state } = call.services
  const { entry, market } = prepareCancel(state, state.findSymbol(body.symbol), body.symbol, call.params["orderId"] ?? "")
  cancel(call, admitted, Command.Operation.cancelV2, [entry], (outcome) => {
    const decided = decidedEntry(outcome, 0)
    if (decided.refusal !== 0) return failEntry(call, decided, outcome)
    assert(market !== undefined, "an order without a market cannot be cancelled")
    const view = state.findOrder(key.account, decided.orderNumber)
    // Both are kept for 24 h after the order ended; a repeat at the very end may find the order gone first.
    if (view === undefined) return call.fail(Errors.refused(Refusal.orderNotFound), outcome.atEpochMs)
    call.succeed(Encode.compatCanceled(body.symbol, accountId, market, view, decided, outcome, idempotencyKey))
  })
}

const amendOrder = (call: Call): void => {
  const admitted = admit(call, nothing, Decode.amendOrder)
  if (admitted === undefined) return
  const { accountId, body, idempotencyKey, key } = admitted
  if (body.accountId !== accountId) return call.failDurably(Errors.accountNotFound)
  const { state } = call.services
  const orderId = call.params["orderId"] ?? ""
  const index = state.findMarket(body.marketId)
  const { entry, market } = prepareCancel(state, index, body.marketId, orderId)
  const grid = Grid.ofDecimals(known(state, index), body.price, body.quantity, "is_none")
  if (Requests.isFailure(grid)) return call.failDurably(grid)
  const isPlain = entry.raw === "" && grid.fault === Refusal.none
  call.services.submit({
    kind: "AmendOrder",
    operation: Command.Operation.amendV1,
    account: key.account,
    apiKey: key.index,
    idempotencyKey,
    market: entry.market,
    orderNumber: entry.orderNumber,
    priceAtoms: grid.priceAtoms ?? 0,
    quantityAtoms: grid.quantityAtoms ?? -1,
    fault: grid.fault,
    raw: isPlain ? "" : JSON.stringify([body.marketId, orderId, body.price ?? null, body.quantity ?? null])
  }, guarded(call, (outcome) => {
    const decided = decidedEntry(outcome, 0)
    if (decided.refusal !== 0) {
      const isFault = grid.fault !== Refusal.none && decided.refusal === grid.fault
      return failEntry(call, decided, outcome, isFault ? grid.comparison : Errors.comparisonOf(decided, market))
    }
    assert(market !== undefined, "an order without a market cannot be amended")
    const order = state.findOrder(key.account, decided.orderNumber)
    if (order === undefined) return call.fail(Errors.refused(Refusal.orderNotFound), outcome.atEpochMs)
    call.succeed(Encode.amended(accountId, market, order, decided, outcome, idempotencyKey))
  }))
}

/** A cancel-all that names no market. */
const anyMarket = -2
/** One that does not exist. */
const unknownMarket = -1

const cancelAll = (
  call: Call,
  admitted: Admitted<object>,
  operation: Command.Operation,
  market: number,
  marketText: string | undefined,
  answer: (decided: EntryOutcome, outcome: Outcome) => void
): void =>
  call.services.submit({
    kind: "CancelAllOrders",
    operation,
    account: admitted.key.account,
    apiKey: admitted.key.index,
    idempotencyKey: admitted.idempotencyKey,
    market,
    raw: market === unknownMarket ? marketText ?? "" : ""
  }, guarded(call, (outcome) => {
    const decided = decidedEntry(outcome, 0)
    if (decided.refusal !== 0) return failEntry(call, decided, outcome)
    answer(decided, outcome)
  }))

const cancelAllOrders = (call: Call): void => {
  const admitted = admit(call, nothing, Decode.cancelAll)
  if (admitted === undefined) return
  const { accountId, body, idempotencyKey } = admitted
  if (body.accountId !== accountId) return call.failDurably(Errors.accountNotFound)
  const market = body.marketId === undefined ? anyMarket : call.services.state.findMarket(body.marketId)
  cancelAll(call, admitted, Command.Operation.cancelAllV1, market, body.marketId, (decided, outcome) =>
    call.succeed(Encode.canceledAll(accountId, body.marketId, decided, outcome, idempotencyKey)))
}

const cancelAllCompatOrders = (call: Call): void => {
  const admitted = admit(call, nothing, Decode.cancelAllCompat)
  if (admitted === undefined) return
  const { accountId, body: { symbol }, idempotencyKey } = admitted
  const { state } = call.services
  const market = symbol === undefined ? anyMarket : state.findSymbol(symbol)
  const marketId = market < 0 ? undefined : state.market(market).parameters.marketId
  cancelAll(call, admitted, Command.Operation.cancelAllV2, market, symbol, (decided, outcome) =>
    call.succeed(Encode.compatCanceledAll(symbol, accountId, marketId, decided, outcome, idempotencyKey)))
}

const setCancelAllAfter = (call: Call): void => {
  const admitted = admit(call, nothing, Decode.cancelAllAfter)
  if (admitted === undefined) return
  const { accountId, body: { timeoutMs }, idempotencyKey, key } = admitted
  if (call.params["accountId"] !== accountId) return call.failDurably(Errors.accountNotFound)
  call.services.submit({
    kind: "SetCancelAllAfter",
    operation: Command.Operation.cancelAllAfterV1,
    account: key.account,
    apiKey: key.index,
    idempotencyKey,
    timeoutMs
  }, guarded(call, (outcome) => call.succeed(Encode.cancelAllAfter(accountId, timeoutMs, outcome, idempotencyKey))))
}

const fenceOutcome = (call: Call): void => {
  const admitted = admit(call, nothing, Decode.fence)
  if (admitted === undefined) return
  const { accountId, body, idempotencyKey, key } = admitted
  if (call.params["accountId"] !== accountId) return call.failDurably(Errors.accountNotFound)
  call.services.submit({
    kind: "FenceOutcome",
    operation: Command.Operation.fenceV1,
    account: key.account,
    apiKey: key.index,
    idempotencyKey,
    fencedKey: body.idempotencyKey ?? "",
    fencedClientOrderId: body.clientOrderId ?? ""
  }, guarded(call, (outcome) => {
    const decided = decidedEntry(outcome, 0)
    if (decided.refusal !== 0) return failEntry(call, decided, outcome)
    call.succeed(Encode.fenced(accountId, body, outcome, idempotencyKey))
  }))
}

/** The hot routes by name: every one answers exactly once, now or when its outcome is durable. */
export const routes: Readonly<Record<Name, (call: Call) => void>> = {
  placeOrder,
  placeOrderBatch,
  cancelOrder,
  cancelOrderBatch,
  createOrder,
  createOrders,
  cancelCompatOrder,
  amendOrder,
  cancelAllOrders,
  cancelAllCompatOrders,
  setCancelAllAfter,
  fenceOutcome
}
