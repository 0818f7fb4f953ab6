/**
 * Describes what a record requested, who sent it, and its outcome. Placements and cancels are described in a trader's words, every
 * other command by its declaration, so that none is missing from the stories of those whom it concerns.
 */
import * as Ids from "../../domain/Ids.js"
import * as Order from "../../domain/Order.js"
import { describe } from "../../domain/Refusal.js"
import type { Unit } from "../../domain/Unit.js"
import type { State } from "../../engine/State.js"
import { flagBit, flagNames, SetAccountFlags } from "../../operations/accounts/SetAccountFlags.js"
import type { StopWithdrawals } from "../../operations/funds/StopWithdrawals.js"
import type { Field, Fields } from "../../operations/Field.js"
import { type Header, Principal } from "../../operations/Header.js"
import { type Command, type EntryOutcome, isClient, of, type Outcome, requestOf } from "../../operations/Operations.js"
import type { Refused } from "../../operations/Outcome.js"
import { AmendOrder } from "../../operations/orders/AmendOrder.js"
import type { CancelEntry, CancelOrders } from "../../operations/orders/CancelOrders.js"
import type { PlaceEntry, PlaceOrders } from "../../operations/orders/PlaceOrders.js"
import * as Format from "./Format.js"
import * as Market from "../../domain/Market.js"
import { anyMarket } from "../../domain/None.js"
import { accountOf, leadsOf } from "../Whose.js"
import { inLine } from "../Visible.js"
import { accountName, concerns, marketName, named, ownerOf, priceOf, sizeOf, transferName, type Who } from "./Names.js"

/** The lines of a command that concern the given subject. */
export const commandLines = (state: State, command: Command, outcome: Outcome, who: Who): ReadonlyArray<string> => {
  switch (command.kind) {
    case "PlaceOrders":
      return command.entries.flatMap((entry, index) => {
        const decided = outcome.entries[index]!
        const concerned = { orders: [orderOf(decided)], accounts: [command.account], markets: [entry.market] }
        return concerns(who, concerned) ? [placement(state, command, entry, index, decided)] : []
      })
    case "CancelOrders":
      return command.entries.flatMap((entry, index) => {
        const { market } = ownerOf(state, entry.orderNumber)
        const concerned = { orders: [entry.orderNumber], accounts: [command.account], markets: [market] }
        return concerns(who, concerned) ? [cancellation(state, command, entry, outcome.entries[index]!)] : []
      })
    case "StopWithdrawals": {
      const alarm = alarmOf(command)
      const told = alarm === undefined || !concerns(who, {}) ? [] : [`${alarm}, of ${Format.money(-command.differenceAtoms)} USDC`]
      return [...told, ...declaredLines(state, command, outcome, who)]
    }
    default:
      return declaredLines(state, command, outcome, who)
  }
}

/** The alarm for which withdrawals are stopped by a command of its own: what the ledger has paid is not noted as the withdrawal's. */
export const alarmOf = ({ reason }: StopWithdrawals): string | undefined =>
  reason === "contradiction" ? "alarm: accepted before its request" : undefined

const orderOf = (decided: EntryOutcome): number => "orderNumber" in decided ? decided.orderNumber : -1

const principals: { readonly [P in Principal]: string } = {
  [Principal.venue]: "the venue",
  [Principal.timer]: "the clock",
  [Principal.feed]: "the index feed",
  [Principal.operator]: "the operator",
  [Principal.key]: "a key",
  [Principal.session]: "the owner",
  [Principal.ledger]: "the ledger driver",
  [Principal.passkey]: "the holder of a passkey",
  [Principal.agent]: "an agent",
  [Principal.ticket]: "the holder of a ticket"
}

/** The credential with which a client's command was sent. */
const withWhat = (state: State, { credential, principal }: Header): string => {
  if (credential < 0) return ""
  return principal === Principal.key ? ` with ${state.apiKeys.keyId(credential)}` : ` in session ${credential}`
}

const byWhom = (state: State, command: Header): string => {
  const request = requestOf(command.operation)
  const key = command.idempotencyKey === "" ? "" : `, idempotency key ${command.idempotencyKey}`
  const by = request === undefined ? "" : ` (${request.name}${key})`
  if (command.account < 0) return `by ${principals[command.principal]}${by}`
  return `by ${accountName(state, command.account)}${withWhat(state, command)}${by}`
}

const placement = (state: State, command: PlaceOrders, entry: PlaceEntry, index: number, decided: EntryOutcome): string => {
  const at = entry.priceAtoms === 0 ? "at any price" : `at ${priceOf(state, entry.market, entry.priceAtoms)}`
  const asked = [
    Order.types[entry.type],
    Order.sides[entry.side],
    sizeOf(state, entry.market, entry.quantityAtoms),
    marketName(state, entry.market),
    at,
    Order.timesInForce[entry.timeInForce],
    ...(entry.postOnly ? ["post-only"] : []),
    ...(entry.reduceOnly ? ["reduce-only"] : []),
    ...(entry.selfTradePrevention === Order.cancelResting ? [] : [Order.selfTradePreventions[entry.selfTradePrevention]])
  ].join(" ")
  const batch = command.entries.length === 1 ? "" : ` [${index + 1} of ${command.entries.length}]`
  const client = entry.clientOrderId === "" ? "" : ` as ${entry.clientOrderId}`
  const verdict = decided._tag === "Refused" ? `refused: ${refusal(state, entry.market, decided)}` : "accepted"
  return `${Ids.orderId(orderOf(decided))} ${asked}${client}, placed ${byWhom(state, command)}${batch}: ${verdict}`
}

const cancellation = (state: State, command: CancelOrders, entry: CancelEntry, decided: EntryOutcome): string => {
  const id = entry.orderNumber < 0 ? "an id that is no order's" : Ids.orderId(entry.orderNumber)
  const { market } = ownerOf(state, entry.orderNumber)
  const verdict = decided._tag === "Refused"
    ? `refused: ${refusal(state, market, decided)}`
    : decided._tag === "OrderDecided"
    ? `it is ${named(decided.status, Order.statuses)}, ${sizeOf(state, market, decided.canceledAtoms)} cancelled in all`
    : "done"
  return `cancel of ${id} asked ${byWhom(state, command)}: ${verdict}`
}

/** A number in its unit, on the grid of a market where that matters. */
const amount = (state: State, market: number, unit: Unit | undefined, value: number): string => {
  switch (unit) {
    case "price_atoms":
      return priceOf(state, market, value)
    case "size_atoms":
      return sizeOf(state, market, value)
    case "money_atoms":
      return Format.money(value)
    case "epoch_ms":
      return Format.time(value)
    case "duration_ms":
      return `${value} ms`
    case "market_status":
      return named(value, Market.statuses)
    default:
      return String(value)
  }
}

/** The values that a refusal compared, in the units that it names. */
export const comparedBy = (state: State, market: number, refused: Refused): Readonly<Record<string, string>> => {
  const { compares, nearestIn = compares } = describe(refused.refusal)
  return Object.fromEntries(
    ([["limit", refused.limit], ["actual", refused.actual], ["nearest", refused.nearest]] as const)
      .filter(([, value]) => !Number.isNaN(value))
      .map(([what, value]) => [what, amount(state, market, what === "nearest" ? nearestIn : compares, value)])
  )
}

/** The refusal's name and the values that it compared. */
const refusal = (state: State, market: number, refused: Refused): string => {
  const { name, safeMessage } = describe(refused.refusal)
  const compared = Object.entries(comparedBy(state, market, refused)).map(([what, value]) => `${what} ${value}`)
  return `${name}${compared.length === 0 ? "" : ` (${compared.join(", ")})`}. ${safeMessage}`
}

type Named = Readonly<Record<string, unknown>>

/** The numbers of the orders, accounts, markets or transfers that a command's fields name. */
const marked = (fields: Fields, values: Named, mark: "order" | "account" | "market" | "transfer"): ReadonlyArray<number> =>
  Object.entries(fields).flatMap(([name, field]) => field.mark === mark ? [values[name] as number] : [])

/**
 * A command by its declaration. Of commands by the operator or the venue itself only refusals are described: what they did is described
 * by their events.
 */
const declaredLines = (state: State, command: Command, outcome: Outcome, who: Who): ReadonlyArray<string> => {
  const { fields, label } = of(command)
  const values = command as unknown as Named
  const orders = marked(fields, values, "order")
  const owned = orders.map((order) => ownerOf(state, order))
  const markets = [...marked(fields, values, "market"), ...marketsById(state, command), ...owned.map(({ market }) => market)]
  const accounts = [command.account, accountOf(command, leadsOf(state)), ...marked(fields, values, "account"),
    ...owned.map(({ account }) => account)]
  const transfers = [...marked(fields, values, "transfer"), ...outcome.entries.flatMap(transferOf)]
  if (!concerns(who, { orders, accounts, markets, transfers })) return []
  const market = markets.find((index) => index >= 0) ?? -1
  const asked = isClient(command) ? described(state, fields, values, market) : ""
  return [...new Set(outcome.entries.flatMap((decided) => {
    const heading = `${label}${asked} asked ${byWhom(state, command)}`
    if (decided._tag === "Refused") return [`${heading}: refused: ${refusal(state, market, decided)}`]
    return isClient(command) ? [`${heading}: done`] : []
  }))]
}

/** The transfer that an outcome names, if any. */
const transferOf = (decided: EntryOutcome): ReadonlyArray<number> => "transfer" in decided ? [decided.transfer] : []

/** A command in one line, whoever sent it: what it requested, by whom, and whether it was done, without secrets. */
export const auditLine = (state: State, command: Command, outcome: Outcome): string => {
  const { fields, label } = of(command)
  const values = command as unknown as Named
  const market = [...marked(fields, values, "market"), ...marketsById(state, command)].find((index) => index >= 0) ?? -1
  const decided = outcome.entries.find((entry) => entry._tag === "Refused")
  const verdict = decided === undefined ? "done" : `refused: ${refusal(state, market, decided)}`
  return inLine(`${label}${described(state, fields, values, market)} asked ${byWhom(state, command)}: ${verdict}`)
}

const marketsById = (state: State, command: Command): ReadonlyArray<number> =>
  command.kind === "PutMarket" ? [state.marketById.get(command.parameters.marketId) ?? -1] : []

/** The fields that have a value: ` (priceAtoms 60000.0)`. */
const described = (state: State, fields: Fields, values: Named, market: number): string => {
  const told = Object.entries(fields).flatMap(([name, field]) => {
    const text = fieldText(state, field, values[name], market)
    return text === undefined ? [] : [`${name.replace(/(?:Atoms|EpochMs|Ms)$/, "")} ${text}`]
  })
  return told.length === 0 ? "" : ` (${told.join(", ")})`
}

/** The fields of a nested record that have a value; undefined where none has. */
const recordText = (state: State, fields: Fields, values: Named, market: number): string | undefined => {
  const told = Object.entries(fields).flatMap(([name, field]) => {
    const text = values[name] === 0 ? undefined : fieldText(state, field, values[name], market)
    return text === undefined ? [] : [`${name.replace(/Atoms$/, "")} ${text}`]
  })
  return told.length === 0 ? undefined : told.join(" ")
}

/** The fields in which 0 stands for a price that is left as it is. */
const unchangedAtZero: ReadonlySet<unknown> = new Set([AmendOrder.fields.priceAtoms])

/** The fields whose bits are an account's flags. */
const ofFlags: ReadonlySet<unknown> = new Set([SetAccountFlags.fields.set, SetAccountFlags.fields.clear])

const fieldText = (state: State, field: Field<unknown>, value: unknown, market: number): string | undefined => {
  if (field.mark === "secret") return undefined
  if (field.shape.type === "record" && field.mark === "plain") return recordText(state, field.shape.fields, value as Named, market)
  if (typeof value === "string") return value === "" ? undefined : value
  if (typeof value !== "number" || field.shape.type !== "whole") return undefined
  switch (field.mark) {
    case "order":
      // Either no order is named, or what the client sent for it is shown as `raw`.
      return value < 0 ? undefined : Ids.orderId(value)
    case "account":
      return accountName(state, value)
    case "market":
      return value === anyMarket ? "all" : marketName(state, value)
    case "transfer":
      return value < 0 ? undefined : transferName(state, value)
    default:
      if (ofFlags.has(field)) return flagNames.filter((name) => (value & flagBit(name)) !== 0).join(" and ") || undefined
      return value < 0 || (unchangedAtZero.has(field) && value === 0) ? undefined : amount(state, market, field.unit, value)
  }
}
