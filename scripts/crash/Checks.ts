/**
 * The checks after a crash against what clients had been told before it; the findings are sentences that name the key or the order. They
 * know nothing of processes and sockets: they compare answers, lookups, listings and fills.
 *
 * - a repeated request gets the answer it had, byte for byte except for the request's own id
 * - a key was decided once, entry by entry as told; one that never arrived was not, and no longer can be
 * - the listed orders are exactly those that were accepted, in the state last reported
 * - a cancelled order was cancelled by a call that said so, and nothing was filled after it
 * - the fills of an order add up to its filled quantity; every trade has two sides
 * - collaterals, fees and the positions' entries add up to the deposits; longs equal shorts
 */
import type { Answer } from "../load/Connection.js"
import type { Call } from "./Calls.js"
import type { Decision, Entry } from "./Decision.js"

/** The members of `external-order/v1` that are checked. */
export interface OrderRecord {
  readonly orderId: string
  readonly status: string
  readonly lastSequence: number
  readonly idempotencyKey: string
  readonly cancelReason?: string
  readonly clientOrderId?: string
  readonly price?: string
  readonly quantity: string
  readonly quantityAtoms: string
  readonly filledQuantity: string
  readonly filledQuantityAtoms: string
  readonly remainingQuantityAtoms: string
  readonly canceledQuantity: string
  readonly canceledQuantityAtoms: string
}

/** The checked members of one of an account's fills. */
export interface Fill {
  readonly tradeId: string
  readonly orderId: string
  readonly marketId: string
  readonly side: string
  readonly liquidity: string
  readonly priceAtoms: string
  readonly sizeAtoms: string
  readonly feeAtoms: string
}

/** The members of `external-outcome/v1` that are checked. */
export interface Lookup {
  readonly outcome: string
  readonly fenced: boolean
  readonly decisions: ReadonlyArray<{
    readonly operation: string
    readonly sequence: number
    readonly entries: ReadonlyArray<{
      readonly accepted: boolean
      readonly orderId?: string
      readonly status?: string
      readonly canceledOrders?: number
      readonly code?: string
    }>
  }>
}

export interface Position {
  readonly marketId: string
  readonly side: string
  readonly quantityAtoms: string
  readonly entryNotionalAtoms: string
}

/** An answer without the parts that may differ when it is repeated. */
export const comparable = ({ body, status }: Answer): string => `${status} ${body.replaceAll(/"requestId":"[^"]*"/g, "")}`

/** Compares the answer to a repeated request with the first answer. */
export const repeated = (call: Call, told: string, again: Answer): ReadonlyArray<string> =>
  comparable(again) === told ? [] : [`${call.key} (${call.operation}) was answered ${told} and now ${comparable(again)}`]

/** Compares what is remembered under a key with its answer. */
export const lookedUp = (decision: Decision, lookup: Lookup): ReadonlyArray<string> => {
  const { call, canceledOrders, entries, sequence } = decision
  const who = `${call.key} (${call.operation})`
  const [remembered] = lookup.decisions
  if (lookup.decisions.length !== 1 || remembered === undefined) {
    return [`${who} was decided ${lookup.decisions.length} times, outcome ${lookup.outcome}`]
  }
  const found: Array<string> = []
  if (remembered.operation !== call.operation) found.push(`${who} is remembered as ${remembered.operation}`)
  if (sequence !== undefined && remembered.sequence !== sequence) {
    found.push(`${who} was decided in record ${remembered.sequence}, its answer said ${sequence}`)
  }
  if (lookup.outcome !== (entries.some((entry) => entry.accepted) ? "accepted" : "refused")) {
    found.push(`${who} is remembered as ${lookup.outcome}`)
  }
  if (remembered.entries.length !== entries.length) {
    return [...found, `${who} has ${remembered.entries.length} entries remembered, ${entries.length} told`]
  }
  for (const [index, told] of entries.entries()) {
    const kept = remembered.entries[index]!
    const same = kept.accepted === told.accepted
      && (told.accepted ? kept.orderId === told.orderId : kept.code === told.code)
      && (told.status === undefined || kept.status === told.status)
      && kept.canceledOrders === canceledOrders
    if (!same) found.push(`entry ${index} of ${who} was told ${JSON.stringify(told)}, remembered ${JSON.stringify(kept)}`)
  }
  return found
}

/** Checks a request that never arrived: nothing was decided under its key, nothing can be any more, and repeating it is refused. */
export const barred = (call: Call, { decisions, fenced, outcome }: Lookup, again: Answer): ReadonlyArray<string> => {
  const who = `${call.key} (${call.operation}) never arrived, says its client, and`
  const found: Array<string> = []
  if (outcome !== "never_seen" || decisions.length > 0) found.push(`${who} is remembered as ${outcome}, decided ${decisions.length} times`)
  if (!fenced) found.push(`${who} is not fenced`)
  if (again.status !== 409) found.push(`${who} is now answered ${again.status} ${again.body}`)
  return found
}

/** The last reported state of one of an account's orders. */
interface Expected {
  /** The last record that reported on it to the account. */
  sequence: number
  readonly key: string
  readonly clientOrderId: string | undefined
  price: number | undefined
  quantity: number
  /** The quantity filled by then: more may follow while the order is open. */
  filled: number
  /** Set once the order was reported to have ended: this must stay so. */
  end: Entry | undefined
  /** Whether a cancel-all has been acknowledged since. */
  swept: boolean
}

/** What one account was told in one life of the venue, and what the next life shows. */
export interface Evidence {
  /** Every decision of the life, in the order in which the account received them. */
  readonly decisions: ReadonlyArray<Decision>
  /** Orders from earlier lives that were open when the life began, as they were then. */
  readonly carried: ReadonlyArray<OrderRecord>
  /** The present state of the carried orders and of all orders placed in the life. */
  readonly orders: ReadonlyArray<OrderRecord>
  /** The account's fills in the life. */
  readonly fills: ReadonlyArray<Fill>
}

const carriedOver = (order: OrderRecord): Expected => ({
  sequence: order.lastSequence,
  key: order.idempotencyKey,
  clientOrderId: order.clientOrderId,
  price: order.price === undefined ? undefined : Number(order.price),
  quantity: Number(order.quantity),
  filled: Number(order.filledQuantity),
  end: undefined,
  swept: false
})

/** Adds a decision to the expectations. */
const expect = (expected: Map<string, Expected>, decision: Decision, found: Array<string>): void => {
  const { call, entries, sequence } = decision
  if (decision.canceledOrders !== undefined) { for (const order of expected.values()) order.swept = true }
  for (const entry of entries) {
    if (!entry.accepted || entry.orderId === undefined || sequence === undefined) continue
    const isPlaced = call.operation.startsWith("place") || call.operation.startsWith("create")
    const known = expected.get(entry.orderId)
    if (isPlaced && known !== undefined) found.push(`${entry.orderId} was given to ${known.key} and to ${call.key}`)
    if (!isPlaced && known === undefined) found.push(`${call.key} was accepted for ${entry.orderId}, which was never placed`)
    const next: Expected = isPlaced || known === undefined
      ? {
        sequence,
        key: call.key,
        clientOrderId: entry.clientOrderId,
        price: entry.price,
        quantity: entry.quantity ?? 0,
        filled: entry.filled ?? 0,
        end: undefined,
        swept: false
      }
      : known
    if (next.end !== undefined) found.push(`${call.key} was accepted for ${entry.orderId}, which was over`)
    if ((entry.filled ?? 0) < next.filled) found.push(`${call.key} told less filled of ${entry.orderId} than was told before`)
    next.sequence = sequence
    next.price = entry.price ?? next.price
    next.quantity = entry.quantity ?? next.quantity
    next.filled = entry.filled ?? next.filled
    if (entry.status !== undefined && entry.status !== "open") next.end = entry
    expected.set(entry.orderId, next)
  }
}

/** Compares an order's state with what was last reported. */
const stands = (order: OrderRecord, told: Expected, sweeps: ReadonlySet<number>): string | undefined => {
  const filled = Number(order.filledQuantity)
  const whole = BigInt(order.filledQuantityAtoms) + BigInt(order.remainingQuantityAtoms) + BigInt(order.canceledQuantityAtoms)
  if (whole !== BigInt(order.quantityAtoms)) return "does not add up"
  if (order.idempotencyKey !== told.key) return `is of ${order.idempotencyKey}, was placed by ${told.key}`
  if (order.clientOrderId !== told.clientOrderId) return `is called ${order.clientOrderId}, was placed as ${told.clientOrderId}`
  if (Number(order.price) !== told.price) return `is at ${order.price}, told ${told.price}`
  if (Number(order.quantity) !== told.quantity) return `has ${order.quantity} in all, told ${told.quantity}`
  const { end } = told
  if (end !== undefined) {
    const same = order.status === end.status && filled === end.filled && order.cancelReason === end.cancelReason
      && order.lastSequence === told.sequence && (end.canceled === undefined || Number(order.canceledQuantity) === end.canceled)
    return same ? undefined : `was over as ${JSON.stringify(end)} in record ${told.sequence} and is ${JSON.stringify(order)}`
  }
  if (filled < told.filled) return `has ${filled} filled, told ${told.filled}`
  if (order.lastSequence < told.sequence) return `last changed in ${order.lastSequence}, told ${told.sequence}`
  switch (order.status) {
    case "open":
      return told.swept ? "is open after a cancel-all" : undefined
    case "closed":
      return undefined
    default:
      if (order.cancelReason === "self_trade") return undefined
      return order.cancelReason === "user" && sweeps.has(order.lastSequence)
        ? undefined
        : `was cancelled (${order.cancelReason}) in ${order.lastSequence} by nothing that the account was told`
  }
}

/** Compares the account's orders and fills with everything that it was told. */
export const account = (evidence: Evidence): ReadonlyArray<string> => {
  const { carried, decisions, fills, orders } = evidence
  const found: Array<string> = []
  const expected = new Map(carried.map((order) => [order.orderId, carriedOver(order)]))
  const before = new Map(carried.map((order) => [order.orderId, BigInt(order.filledQuantityAtoms)]))
  const sweeps = new Set<number>()
  let last = 0
  for (const decision of decisions) {
    const { call, canceledOrders, sequence } = decision
    if (sequence !== undefined && sequence <= last) {
      found.push(`${call.key} was decided in ${sequence}, the one before it in ${last}`)
    }
    last = sequence ?? last
    expect(expected, decision, found)
    if (canceledOrders === undefined || sequence === undefined) continue
    sweeps.add(sequence)
    const swept = orders.filter((order) => order.lastSequence === sequence && order.cancelReason === "user").length
    if (swept !== canceledOrders) found.push(`${call.key} told of ${canceledOrders} orders, and cancelled ${swept}`)
  }

  const filled = new Map<string, bigint>()
  for (const fill of fills) filled.set(fill.orderId, (filled.get(fill.orderId) ?? 0n) + BigInt(fill.sizeAtoms))
  const seen = new Set<string>()
  for (const order of orders) {
    const told = expected.get(order.orderId)
    if (seen.has(order.orderId)) found.push(`${order.orderId} is listed twice`)
    seen.add(order.orderId)
    if (told === undefined) {
      found.push(`${order.orderId} of ${order.idempotencyKey} is listed and was never told`)
      continue
    }
    const wrong = stands(order, told, sweeps)
    if (wrong !== undefined) found.push(`${order.orderId} ${wrong}`)
    const atoms = BigInt(order.filledQuantityAtoms) - (before.get(order.orderId) ?? 0n)
    const traded = filled.get(order.orderId) ?? 0n
    if (atoms !== traded) found.push(`${order.orderId} has ${atoms} atoms filled, its fills are ${traded}`)
  }
  for (const [orderId, told] of expected) if (!seen.has(orderId)) found.push(`${orderId} of ${told.key} was told and is gone`)
  for (const orderId of filled.keys()) if (!seen.has(orderId)) found.push(`${orderId} has fills and is not listed`)
  return found
}

/** Checks the fills of all accounts: every trade has a maker and a taker, on opposite sides, with one price and one size. */
export const trades = (fills: Iterable<Fill>): ReadonlyArray<string> => {
  const open = new Map<string, Fill>()
  const over = new Set<string>()
  const found: Array<string> = []
  for (const fill of fills) {
    const other = open.get(fill.tradeId)
    if (over.has(fill.tradeId)) found.push(`${fill.tradeId} has more than two sides`)
    else if (other === undefined) open.set(fill.tradeId, fill)
    else {
      const match = other.side !== fill.side && other.liquidity !== fill.liquidity && other.marketId === fill.marketId
        && other.priceAtoms === fill.priceAtoms && other.sizeAtoms === fill.sizeAtoms
      if (!match) found.push(`${fill.tradeId} is ${JSON.stringify(other)} and ${JSON.stringify(fill)}`)
      open.delete(fill.tradeId)
      over.add(fill.tradeId)
    }
  }
  for (const tradeId of open.keys()) found.push(`${tradeId} has one side`)
  return found
}

/** The money and positions of all accounts, and the deposits. */
export interface Totals {
  readonly creditedAtoms: bigint
  /** Of all accounts together. */
  readonly collateralAtoms: bigint
  /** Of all fills so far. */
  readonly feesAtoms: bigint
  readonly positions: ReadonlyArray<Position>
}

/** Collaterals + fees + shorts' entries - longs' entries = credits, to the atom; per market longs equal shorts. */
export const totals = (held: Totals): ReadonlyArray<string> => {
  const sums = new Map<string, bigint>()
  let money = held.collateralAtoms + held.feesAtoms
  for (const { entryNotionalAtoms, marketId, quantityAtoms, side } of held.positions) {
    const sign = side === "long" ? 1n : -1n
    money -= sign * BigInt(entryNotionalAtoms)
    sums.set(marketId, (sums.get(marketId) ?? 0n) + sign * BigInt(quantityAtoms))
  }
  const found = [...sums].filter(([, sum]) => sum !== 0n).map(([marketId, sum]) => `positions in ${marketId} sum to ${sum}`)
  if (money !== held.creditedAtoms) found.push(`accounts and fees hold ${money} money atoms of ${held.creditedAtoms} put in`)
  return found
}
