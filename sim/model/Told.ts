/**
 * The answers that clients must get to commands: the whole answer to every command, made from the request and the model's decision by the
 * published contract alone. Values that the venue draws or reads from its clock are not part of it.
 */
import * as Order from "../../src/domain/Order.js"
import { backingBelowZero, Refusal } from "../../src/domain/Refusal.js"
import type { Asked, AskedAutoClose, AskedCancel, AskedOrder, AskedTrigger, Wanted } from "../reading/Asked.js"
import { numberOf as orderNumberOf, pricesOf } from "../reading/Commands.js"
import type { Place } from "../reading/Markets.js"
import { atomsOf, shortest } from "../reading/Numbers.js"
import * as Refusals from "../reading/Refusals.js"
import { decimalOf, moneyScale, numberOf } from "./Decimals.js"
import { type NaiveCompared, type NaiveMemory, type NaiveOrder, type NaiveOutcome } from "./NaiveState.js"
import type { NaiveVenue } from "./NaiveVenue.js"
import { halfUp } from "./NaiveMoney.js"
import { both, idOf, type Members, moment } from "./Shown.js"

/** A decision with everything that its answer contains. */
export interface Decision {
  readonly asked: Asked
  readonly accountId: string
  readonly idempotencyKey: string
  /** What the model remembers of it. */
  readonly memory: NaiveMemory
  readonly model: NaiveVenue
  /** The market of a name in an answer's spelling; undefined where there is none. */
  readonly find: (name: string) => Place | undefined
}

/** The decision of a call, with its account and key. */
export const decisionOf = (
  { accountId, idempotencyKey = "" }: { readonly accountId: string; readonly idempotencyKey: string | undefined },
  decided: Omit<Decision, "accountId" | "idempotencyKey">
): Decision => ({ accountId, idempotencyKey, ...decided })

const accepted = ({ refusal }: NaiveOutcome): boolean => refusal === Refusal.none

const reasonOf = (outcome: NaiveOutcome): string | undefined =>
  outcome.cancelReason === 0 ? undefined : Order.cancelReasons[outcome.cancelReason]

/** The order, its account, the key, and the record that last changed it. */
const identity = ({ accountId, idempotencyKey, memory }: Decision, orderId: string, marketId: string, status: string): Members => ({
  orderId,
  accountId,
  marketId,
  status,
  lastSequence: memory.sequence,
  idempotencyKey
})

// --- what was compared -----------------------------------------------------------------------------------

/** The values compared for a number off the grid: the step, the number, and the nearest step, half up and never zero. */
const offGrid = (text: string, scale: number): NaiveCompared => {
  const [whole = "", fraction = ""] = text.split(".")
  const below = BigInt(whole + fraction.slice(0, scale).padEnd(scale, "0"))
  const rounded = Number(fraction[scale] ?? "0") >= 5 ? below + 1n : below
  const nearest = rounded === 0n ? 1n : rounded
  return {
    limit: decimalOf(1, scale),
    actual: text,
    ...(nearest > BigInt(Number.MAX_SAFE_INTEGER) ? {} : { nearest: decimalOf(nearest, scale) })
  }
}

/** Atoms of a number, ignoring trailing zeros: an earlier attempt of the same request may have been written with others. */
const atomsWritten = (text: string, scale: number) => atomsOf(shortest(text), scale)

/** The price of a trigger that is off the grid, as sent. */
const oddPrice = (autoClose: AskedAutoClose, { priceScale }: Place): NaiveCompared | undefined => {
  const odd = pricesOf(autoClose).find((price) => [0, "too large"].includes(atomsWritten(price, priceScale)))
  return odd === undefined ? undefined : { actual: odd }
}

/** The values compared by a refusal that was found in the request itself, before the record; undefined where the record found it. */
const comparedBefore = (order: AskedOrder, outcome: NaiveOutcome, place: Place | undefined): NaiveCompared | undefined => {
  if (place === undefined) return undefined
  const price = order.price === undefined ? undefined : atomsWritten(order.price, place.priceScale)
  const quantity = atomsWritten(order.quantity, place.quantityScale)
  switch (outcome.refusal) {
    case Refusal.priceOffGrid:
      return offGrid(order.price!, place.priceScale)
    case Refusal.quantityOffGrid:
      return offGrid(order.quantity, place.quantityScale)
    case Refusal.priceOutOfBounds:
      return price === "too large" || (price === 0 && order.type === "market") ? { actual: order.price! } : undefined
    case Refusal.quantityOutOfBounds:
      return quantity === "too large" ? { actual: order.quantity } : undefined
    case Refusal.triggerInvalid:
      return order.autoClose === undefined ? undefined : oddPrice(order.autoClose, place)
    default:
      return undefined
  }
}

const compared = (order: AskedOrder, outcome: NaiveOutcome, place: Place | undefined): NaiveCompared =>
  comparedBefore(order, outcome, place) ?? outcome.compared

/** The members of a refused entry that explain the refusal. */
const why = ({ refusal }: NaiveOutcome, comparison: NaiveCompared): Members => {
  const { code, guard } = Refusals.of(refusal)
  const isBelowZero = guard === "margin_insufficient" && comparison.limit?.startsWith("-") === true
  return { code, rejectionGuard: guard, ...(isBelowZero ? { safeMessage: backingBelowZero } : {}), ...comparison }
}

// --- placed orders ---------------------------------------------------------------------------------------

/** The sizes of an order when it was decided. */
const progress = (outcome: NaiveOutcome, { priceScale, quantityScale }: Place): Members => {
  const factor = 10n ** BigInt(moneyScale - priceScale - quantityScale)
  return {
    ...both("quantity", outcome.quantity, quantityScale),
    ...both("filledQuantity", outcome.filled, quantityScale),
    ...both("remainingQuantity", outcome.quantity - outcome.filled - outcome.canceled, quantityScale),
    ...both("canceledQuantity", outcome.canceled, quantityScale),
    ...(outcome.filled === 0
      ? {}
      : both("averageFillPrice", halfUp(outcome.filledNotional, BigInt(outcome.filled) * factor), priceScale))
  }
}

const nativeTerms = (order: AskedOrder): Members => ({
  clientOrderId: order.clientOrderId,
  side: order.side,
  orderType: order.type,
  timeInForce: order.timeInForce,
  postOnly: order.postOnly,
  reduceOnly: order.reduceOnly,
  selfTradePrevention: order.selfTradePrevention
})

/** A trigger as shown. */
const triggerOf = ({ by, limit, price }: AskedTrigger, { priceScale }: Place): Members => ({
  ...both("triggerPrice", atomsWritten(price, priceScale) as number, priceScale),
  triggerBy: by,
  ...(limit === undefined ? {} : both("limitPrice", atomsWritten(limit, priceScale) as number, priceScale))
})

const autoClosed = ({ stopLoss, takeProfit }: AskedAutoClose, place: Place): Members => ({
  takeProfit: takeProfit === undefined ? undefined : triggerOf(takeProfit, place),
  stopLoss: stopLoss === undefined ? undefined : triggerOf(stopLoss, place)
})

const acceptedOrder = (decision: Decision, order: AskedOrder, outcome: NaiveOutcome, place: Place): Members => {
  const { atEpochMs } = decision.memory
  return {
    ...identity(decision, idOf("ord", outcome.orderNumber), place.marketId, Order.statuses[outcome.status]),
    cancelReason: reasonOf(outcome),
    ...nativeTerms(order),
    ...(outcome.price === 0 ? {} : both("price", outcome.price, place.priceScale)),
    ...progress(outcome, place),
    expiresAtEpochMs: order.expiresAtEpochMs === 0 ? undefined : order.expiresAtEpochMs,
    autoClose: order.autoClose === undefined ? undefined : autoClosed(order.autoClose, place),
    createdAtEpochMs: atEpochMs,
    updatedAtEpochMs: atEpochMs
  }
}

/** A refused entry repeats the values sent. */
const refusedOrder = (decision: Decision, order: AskedOrder, outcome: NaiveOutcome, place: Place | undefined): Members => {
  const { atEpochMs } = decision.memory
  const told = outcome.refusal === Refusal.marketNotFound ? undefined : place
  return {
    ...identity(decision, idOf("ord", outcome.orderNumber), order.market, "canceled"),
    ...nativeTerms(order),
    price: order.sentPrice,
    quantity: order.sentQuantity,
    ...both("filledQuantity", 0, told?.quantityScale ?? 0),
    createdAtEpochMs: atEpochMs,
    updatedAtEpochMs: atEpochMs,
    ...why(outcome, compared(order, outcome, place))
  }
}

/** A number as JSON writes it back: a negative zero becomes zero. */
const again = (sent: unknown): unknown => (typeof sent === "number" ? sent + 0 : sent)

/** An order of /v2 as accepted: open and unfilled, whatever the same decision filled of it. */
const compatOrder = (decision: Decision, order: AskedOrder, outcome: NaiveOutcome): Members => {
  const isAccepted = accepted(outcome)
  const amount = isAccepted ? Number(order.quantity) : again(order.sentQuantity)
  const price = order.price === undefined || (isAccepted && Number(order.price) === 0)
    ? undefined
    : isAccepted
    ? Number(order.price)
    : again(order.sentPrice)
  return {
    id: idOf("ord", outcome.orderNumber),
    symbol: order.market,
    status: isAccepted ? "open" : "canceled",
    clientOrderId: order.clientOrderId === "" ? undefined : order.clientOrderId,
    ...moment(decision.memory.atEpochMs),
    side: order.side,
    type: order.type,
    timeInForce: order.timeInForce,
    price,
    amount,
    filled: 0,
    remaining: amount,
    reduceOnly: order.reduceOnly,
    postOnly: order.postOnly
  }
}

const compatEntry = (decision: Decision, order: AskedOrder, outcome: NaiveOutcome, index: number): Members => {
  const place = decision.find(order.market)
  const isAccepted = accepted(outcome)
  const reason = isAccepted ? {} : why(outcome, compared(order, outcome, place))
  const marketId = outcome.refusal === Refusal.marketNotFound || place === undefined ? order.market : place.marketId
  const about = { index, accepted: isAccepted }
  return {
    ...compatOrder(decision, order, outcome),
    ...about,
    ...(isAccepted ? {} : { name: Refusals.of(outcome.refusal).name, ...reason }),
    info: {
      ...about,
      ...identity(decision, idOf("ord", outcome.orderNumber), marketId, isAccepted ? "open" : "canceled"),
      ...reason
    }
  }
}

const placed = (decision: Decision, { batch, family, orders }: Wanted & { readonly kind: "PlaceOrders" }): unknown => {
  const { outcomes } = decision.memory
  if (family === "compat") {
    if (batch) return orders.map((order, index) => compatEntry(decision, order, outcomes[index]!, index))
    const [order, outcome] = [orders[0]!, outcomes[0]!]
    const info = identity(decision, idOf("ord", outcome.orderNumber), decision.find(order.market)!.marketId, "open")
    return { ...compatOrder(decision, order, outcome), info: { version: "external-order/v1", ...info } }
  }
  if (!batch) {
    return { version: "external-order/v1", ...acceptedOrder(decision, orders[0]!, outcomes[0]!, decision.find(orders[0]!.market)!) }
  }
  return {
    version: "external-place-order-batch/v1",
    outcomes: orders.map((order, index) => {
      const outcome = outcomes[index]!
      const place = decision.find(order.market)
      return accepted(outcome)
        ? { index, accepted: true, ...acceptedOrder(decision, order, outcome, place!) }
        : { index, accepted: false, ...refusedOrder(decision, order, outcome, place) }
    })
  }
}

// --- cancels and changes ---------------------------------------------------------------------------------

const canceled = (decision: Decision, outcome: NaiveOutcome, place: Place): Members => ({
  ...identity(decision, idOf("ord", outcome.orderNumber), place.marketId, Order.statuses[outcome.status]),
  cancelReason: reasonOf(outcome),
  ...both("filledQuantity", outcome.filled, place.quantityScale),
  ...both("canceledQuantity", outcome.canceled, place.quantityScale),
  updatedAtEpochMs: decision.memory.atEpochMs
})

const canceledEntry = (decision: Decision, { market, orderId }: AskedCancel, index: number): Members => {
  const outcome = decision.memory.outcomes[index]!
  return accepted(outcome)
    ? { index, accepted: true, ...canceled(decision, outcome, decision.find(market)!) }
    : { index, accepted: false, ...identity(decision, orderId, market, "canceled"), ...why(outcome, {}) }
}

/** An order of /v2 as cancelled: its terms, and its state after the decision. */
const compatCanceled = (decision: Decision, { market, orderId }: AskedCancel, order: NaiveOrder): Members => {
  const outcome = decision.memory.outcomes[0]!
  const { marketId, priceScale, quantityScale } = decision.find(market)!
  return {
    id: orderId,
    symbol: market,
    status: "canceled",
    clientOrderId: order.clientOrderId === "" ? undefined : order.clientOrderId,
    ...moment(order.createdAtEpochMs),
    side: Order.sides[order.side],
    type: Order.types[order.type],
    timeInForce: Order.timesInForce[order.timeInForce],
    price: numberOf(outcome.price, priceScale),
    amount: numberOf(outcome.quantity, quantityScale),
    filled: numberOf(outcome.filled, quantityScale),
    remaining: numberOf(outcome.quantity - outcome.filled, quantityScale),
    reduceOnly: order.reduceOnly,
    postOnly: order.postOnly,
    info: {
      version: "external-order/v1",
      ...identity(decision, orderId, marketId, "canceled"),
      cancelReason: reasonOf(outcome)
    }
  }
}

const cancels = (decision: Decision, { batch, family, orders }: Wanted & { readonly kind: "CancelOrders" }): unknown => {
  if (batch) {
    return {
      version: "external-cancel-order-batch/v1",
      outcomes: orders.map((each, index) => canceledEntry(decision, each, index))
    }
  }
  const [asked, outcome] = [orders[0]!, decision.memory.outcomes[0]!]
  if (family === "native") {
    return { version: "external-cancel-order/v1", accepted: true, ...canceled(decision, outcome, decision.find(asked.market)!) }
  }
  const order = decision.model.orders.get(orderNumberOf(asked.orderId))
  return order === undefined ? undefined : compatCanceled(decision, asked, order)
}

const amended = (decision: Decision, { market }: Wanted & { readonly kind: "AmendOrder" }): unknown => {
  const outcome = decision.memory.outcomes[0]!
  const order = decision.model.orders.get(outcome.orderNumber)
  const place = decision.find(market)
  if (order === undefined || place === undefined) return undefined
  return {
    version: "external-amend-order/v1",
    accepted: true,
    ...identity(decision, idOf("ord", outcome.orderNumber), place.marketId, Order.statuses[outcome.status]),
    cancelReason: reasonOf(outcome),
    clientOrderId: order.clientOrderId === "" ? undefined : order.clientOrderId,
    side: Order.sides[order.side],
    orderType: Order.types[order.type],
    timeInForce: Order.timesInForce[order.timeInForce],
    ...both("price", outcome.price, place.priceScale),
    ...progress(outcome, place),
    postOnly: order.postOnly,
    reduceOnly: order.reduceOnly,
    selfTradePrevention: Order.selfTradePreventions[order.selfTradePrevention],
    createdAtEpochMs: order.createdAtEpochMs,
    updatedAtEpochMs: decision.memory.atEpochMs
  }
}

const canceledAll = (decision: Decision, { family, market }: Wanted & { readonly kind: "CancelAllOrders" }): unknown => {
  const { accountId, idempotencyKey, memory } = decision
  const place = market === undefined ? undefined : decision.find(market)
  const info = {
    version: "external-cancel-all/v1",
    accountId,
    marketId: place?.marketId,
    canceledOrders: memory.outcomes[0]!.canceled,
    lastSequence: memory.sequence,
    idempotencyKey,
    decidedAtEpochMs: memory.atEpochMs
  }
  return family === "native" ? info : { symbol: market, canceled: info.canceledOrders, ...moment(memory.atEpochMs), info }
}

// --- everything ------------------------------------------------------------------------------------------

const operations = {
  PutMarket: "put_market",
  SetMarketStatus: "set_market_status",
  SetIndexPrice: "set_index_price",
  AddToFund: "add_to_insurance_fund",
  DelistMarket: "delist_market",
  HaltEngine: "halt_engine",
  ResumeEngine: "resume_engine",
  SetLimits: "set_limits",
  StopWithdrawals: "stop_withdrawals",
  AllowWithdrawals: "allow_withdrawals"
} as const

const operatedUnder = ({ idempotencyKey, memory: { atEpochMs, sequence } }: Decision): Members => ({
  idempotencyKey,
  sequence,
  decidedAtEpochMs: atEpochMs
})

const operated = ({ idempotencyKey, memory }: Decision, kind: keyof typeof operations, marketId: string | undefined): Members => ({
  version: "operator-result/v1",
  operation: operations[kind],
  idempotencyKey,
  marketId,
  sequence: memory.sequence,
  decidedAtEpochMs: memory.atEpochMs
})

const autoCloseSet = (
  { accountId, find, memory: { outcomes } }: Decision,
  { autoClose, market }: Extract<Wanted, { readonly kind: "SetAutoClose" }>,
  about: object
): unknown => {
  const { canceled, orderNumber, quantity } = outcomes[0]!
  if (autoClose === undefined) {
    return { version: "external-triggers-canceled/v1", accountId, marketId: market, canceledTriggers: canceled, ...about }
  }
  const place = find(market!)!
  return {
    version: "external-auto-close/v1",
    accountId,
    triggerId: idOf("trg", orderNumber),
    marketId: market,
    side: quantity > 0 ? "long" : "short",
    ...both("quantity", Math.abs(quantity), place.quantityScale),
    ...autoClosed(autoClose, place),
    replacedTriggers: canceled,
    ...about
  }
}

/** The whole answer to an accepted command; undefined where it cannot be predicted, or holds values that are drawn. */
export const done = (decision: Decision): unknown => {
  const { accountId, asked: { wanted }, idempotencyKey, memory } = decision
  const { atEpochMs, outcomes, sequence } = memory
  const about = { lastSequence: sequence, idempotencyKey, decidedAtEpochMs: atEpochMs }
  switch (wanted.kind) {
    case "PlaceOrders":
      return placed(decision, wanted)
    case "CancelOrders":
      return cancels(decision, wanted)
    case "AmendOrder":
      return amended(decision, wanted)
    case "CancelAllOrders":
      return canceledAll(decision, wanted)
    case "SetCancelAllAfter": {
      const at = wanted.timeoutMs === 0 ? null : atEpochMs + wanted.timeoutMs
      return { version: "external-cancel-all-after/v1", accountId, timeoutMs: wanted.timeoutMs, cancelAtEpochMs: at, ...about }
    }
    case "SetAutoClose":
      return autoCloseSet(decision, wanted, about)
    case "SetLeverage":
      return { version: "external-leverage-set/v1", accountId, marketId: wanted.market, leverageX: wanted.leverageX, ...about }
    case "FenceOutcome":
      return {
        version: "external-outcome-fence/v1",
        accountId,
        fenced: true,
        fencedIdempotencyKey: wanted.key,
        fencedClientOrderId: wanted.clientOrderId,
        holdsUntilEpochMs: outcomes[0]!.holdsUntilEpochMs,
        ...about
      }
    case "CancelByOperator": {
      const { accountId: ofAccount, market: marketId, orderId } = wanted
      const { canceled: canceledOrders, left: remainingOrders } = outcomes[0]!
      return { version: "operator-cancel/v1", orderId, accountId: ofAccount, marketId, canceledOrders, remainingOrders, ...about }
    }
    case "PutMarket":
      return { ...operated(decision, wanted.kind, wanted.parameters.marketId), announced: outcomes[0]!.announced }
    case "DelistMarket": {
      const { delistedAtEpochMs } = outcomes[0]!
      const operation = wanted.action === "withdraw" ? "withdraw_delisting" : "delist_market"
      return { ...operated(decision, wanted.kind, wanted.market), operation, delistedAtEpochMs }
    }
    case "SetMarketStatus":
    case "SetIndexPrice":
      return operated(decision, wanted.kind, wanted.market)
    case "AddToFund":
    case "HaltEngine":
    case "ResumeEngine":
    case "SetLimits":
    case "StopWithdrawals":
    case "AllowWithdrawals":
      return operated(decision, wanted.kind, undefined)
    case "CreditAccount":
      return {
        version: "demo-credit/v1",
        accountId: wanted.accountId,
        ...both("amount", wanted.amountAtoms, moneyScale),
        ...both("balance", outcomes[0]!.balance!, moneyScale),
        ...operatedUnder(decision)
      }
    case "SetAccountFlags": {
      const { flags, mayTrade } = outcomes[0]!.standing!
      const isSet = (bit: number): boolean => Math.floor(flags / bit) % 2 === 1
      return {
        version: "account-flags/v1",
        accountId: wanted.accountId,
        flags: { bot: isSet(1), load_harness: isSet(2), disabled: isSet(4) },
        mayTrade,
        ...operatedUnder(decision)
      }
    }
    case "SetDisplayHandle":
    case "OpenDemoAccounts":
    case "RevokeKeyByOperator":
    case "IssueBotKey":
      // The time of a key's last use is known only to the process; the rest of the answer is covered by other properties.
      return undefined
  }
}

/** The one market, by name, that a refused command refers to. */
const marketOf = (wanted: Wanted): string | undefined => "market" in wanted ? wanted.market : undefined

/** The expected preview of one order where a placement came to this decision; the account's margin comes from `accountMargin`. */
export const previewed = (decision: Decision, wanted: Wanted & { readonly kind: "PlaceOrders" }, fees: bigint): Members => {
  const [order, outcome] = [wanted.orders[0]!, decision.memory.outcomes[0]!]
  const place = decision.find(order.market)!
  if (!accepted(outcome)) return { accepted: false, refusal: why(outcome, compared(order, outcome, place)), order: null }
  const { quantity: _, quantityAtoms: __, ...sizes } = progress(outcome, place)
  const none = { cancelReason: null, averageFillPrice: null, averageFillPriceAtoms: null }
  const cancelReason = reasonOf(outcome)
  return {
    accepted: true,
    refusal: null,
    order: {
      ...none,
      status: Order.statuses[outcome.status],
      ...(cancelReason === undefined ? {} : { cancelReason }),
      ...sizes,
      ...both("fees", fees, moneyScale)
    }
  }
}

/** What a trigger leaves to the price of an amendment: at most the price below a take-profit of a long position, and so on. */
const besideTrigger = (compared: NaiveCompared, { priceScale }: Place): NaiveCompared => {
  const { actual: trigger, limit: price, nearest: told } = compared
  const { nearest: _told, ...rest } = compared
  if (told === undefined || told === price) return rest
  const hasToBeBelow = Number(told) > Number(price)
  return { ...rest, nearest: decimalOf(Number(atomsOf(trigger!, priceScale)) + (hasToBeBelow ? -1 : 1), priceScale) }
}

/** The values compared by the refusal of a whole command, with its market's grid. */
export const refusal = ({ asked: { wanted }, find, memory }: Decision): NaiveCompared => {
  const outcome = memory.outcomes.find((each) => !accepted(each))!
  if (wanted.kind === "PlaceOrders") return compared(wanted.orders[0]!, outcome, find(wanted.orders[0]!.market))
  if (wanted.kind === "SetAutoClose") {
    const { autoClose, market } = wanted
    const place = market === undefined ? undefined : find(market)
    const isOdd = outcome.refusal === Refusal.triggerInvalid && autoClose !== undefined && place !== undefined
    return (isOdd ? oddPrice(autoClose, place) : undefined) ?? outcome.compared
  }
  if (wanted.kind !== "AmendOrder") return outcome.compared
  const place = find(marketOf(wanted)!)
  if (place === undefined) return outcome.compared
  if (outcome.refusal === Refusal.triggerInvalid) return besideTrigger(outcome.compared, place)
  const isOfPrice = outcome.refusal === Refusal.priceOutOfBounds
  const text = isOfPrice ? wanted.price : wanted.quantity
  const scale = isOfPrice ? place.priceScale : place.quantityScale
  const isOfBounds = isOfPrice || outcome.refusal === Refusal.quantityOutOfBounds
  if (!isOfBounds || text === undefined) return outcome.compared
  const atoms = atomsWritten(text, scale)
  return atoms === "too large" || (isOfPrice && atoms === 0) ? { actual: text } : outcome.compared
}
