/**
 * Commands as journal payloads, and back. A payload is one compact JSON array per kind; kinds and positions
 * are part of the format and never change their meaning. Encoding refuses what could not be read back, so
 * that nothing is acknowledged that replay would choke on.
 */
import { assert, unreachable } from "../domain/Assert.js"
import * as Command from "../domain/Command.js"
import * as Market from "../domain/Market.js"
import type { SelfTradePrevention, Side, TimeInForce, Type } from "../domain/Order.js"
import { Refusal } from "../domain/Refusal.js"

/** A payload that no version of this codec wrote. */
export class Malformed extends Error {
  override readonly name = "Malformed"
}

/** Kind codes as journaled: never renumber. */
const Kind = {
  PlaceOrders: 1,
  CancelOrders: 2,
  OpenVenue: 3,
  PutMarket: 4,
  SetMarketStatus: 5,
  SetIndexPrice: 6,
  HaltEngine: 7,
  ResumeEngine: 8,
  OpenDemoAccounts: 9,
  AmendOrder: 10,
  CancelAllOrders: 11,
  SetCancelAllAfter: 12,
  FenceOutcome: 13,
  PassTime: 14
} as const satisfies { readonly [K in Command.Command["kind"]]: number }

/** The code that is journaled beside a command's payload, 1..255. */
export const kindCode = (command: Command.Command): number => Kind[command.kind]

// An entry of a placement is five items: market, clientOrderId, flags, priceAtoms, quantityAtoms; where
// `flagFault` is set two more follow: fault, raw; and where `flagExpires` is set one: expiresAtEpochMs.
const flagSell = 1
const flagMarket = 2
const flagIoc = 4
const flagPostOnly = 8
const flagReduceOnly = 16
const flagFault = 32
const selfTradePreventionShift = 6
const flagExpires = 256
const flagsEnd = 512

/** A payload as JSON text; it holds no NUL and, written as UTF-8, no zero byte. */
export const encode = (command: Command.Command): string => {
  switch (command.kind) {
    case "PlaceOrders":
      return encodePlace(command)
    case "CancelOrders":
      return encodeCancel(command)
    case "AmendOrder":
      return `${heading(command)},${whole(command.market)},${whole(command.orderNumber)},${whole(command.priceAtoms)},`
        + `${whole(command.quantityAtoms)},${whole(command.fault)},${quote(command.raw)}]`
    case "CancelAllOrders":
      return `${heading(command)},${whole(command.market)}${command.raw === "" ? "" : `,${quote(command.raw)}`}]`
    case "SetCancelAllAfter":
      return `${heading(command)},${whole(command.timeoutMs)}]`
    case "FenceOutcome":
      return `${heading(command)},${quote(command.fencedKey)},${quote(command.fencedClientOrderId)}]`
    case "PassTime":
      return "[]"
    case "OpenVenue":
      return `[${quote(command.environment)},${whole(command.rules)}]`
    case "PutMarket":
      return encodePutMarket(command)
    case "SetMarketStatus": {
      const status = Market.statuses.indexOf(command.status)
      assert(status >= 0, "a market status is one of the contract's")
      return `[${quote(command.idempotencyKey)},${whole(command.market)},${status}]`
    }
    case "SetIndexPrice":
      return `[${quote(command.idempotencyKey)},${whole(command.market)},${whole(command.priceAtoms)},${whole(command.sourceEpochMs)}]`
    case "HaltEngine":
    case "ResumeEngine":
      return `[${quote(command.idempotencyKey)}]`
    case "OpenDemoAccounts":
      return encodeOpenDemoAccounts(command)
    default:
      return unreachable(command)
  }
}

const encodePlace = (command: Command.PlaceOrders): string => {
  let text = heading(command)
  for (const entry of command.entries) {
    const faulty = entry.fault !== Refusal.none || entry.raw !== ""
    const flags = entry.side * flagSell + entry.type * flagMarket + entry.timeInForce * flagIoc
      + (entry.postOnly ? flagPostOnly : 0) + (entry.reduceOnly ? flagReduceOnly : 0) + (faulty ? flagFault : 0)
      + (entry.selfTradePrevention << selfTradePreventionShift) + (entry.expiresAtEpochMs !== 0 ? flagExpires : 0)
    text += `,${whole(entry.market)},${quote(entry.clientOrderId)},${flags},${whole(entry.priceAtoms)},${whole(entry.quantityAtoms)}`
    if (faulty) text += `,${whole(entry.fault)},${quote(entry.raw)}`
    if (entry.expiresAtEpochMs !== 0) text += `,${whole(entry.expiresAtEpochMs)}`
  }
  return text + "]"
}

const encodeCancel = (command: Command.CancelOrders): string => {
  let text = heading(command)
  for (const entry of command.entries) text += `,${whole(entry.market)},${whole(entry.orderNumber)},${quote(entry.raw)}`
  return text + "]"
}

const heading = (command: Command.ClientCommand): string =>
  `[${whole(command.operation)},${whole(command.account)},${whole(command.apiKey)},${quote(command.idempotencyKey)}`

const encodePutMarket = ({ idempotencyKey, parameters: m }: Command.PutMarket): string => {
  const tiers = m.maintenanceMarginTiers.map((tier) => `[${whole(tier.notionalThresholdAtoms)},${whole(tier.maintenanceMarginBps)}]`)
  return "[" + [
    quote(idempotencyKey),
    quote(m.marketId),
    quote(m.baseAsset),
    quote(m.quoteAsset),
    quote(m.settlementAsset),
    quote(m.underlyingSymbol),
    quote(m.marketType),
    quote(m.logoUrl),
    whole(m.priceScale),
    whole(m.quantityScale),
    whole(m.minPriceAtoms),
    whole(m.maxPriceAtoms),
    whole(m.minQuantityAtoms),
    whole(m.maxQuantityAtoms),
    whole(m.maxPositionQuantityAtoms),
    whole(m.initialMarginBps),
    `[${tiers.join(",")}]`,
    whole(m.maxLeverageX),
    whole(m.makerFeeBps),
    whole(m.takerFeeBps),
    whole(m.priceBandBps)
  ].join(",") + "]"
}

const encodeOpenDemoAccounts = (command: Command.OpenDemoAccounts): string => {
  let text = `[${quote(command.idempotencyKey)},${whole(command.collateralAtoms)}`
  for (const key of command.keys) {
    text += `,${quote(key.keyId)},${quote(key.displayPrefix)},${quote(key.secretSha256)}`
      + `,${whole(key.scopes)},${whole(key.expiresAtEpochMs)}`
  }
  return text + "]"
}

/** A whole number as it is: JSON keeps the sign of a zero, which a template would drop, and what is decided could show it. */
const whole = (value: number): number | string => {
  assert(Number.isSafeInteger(value), "a journaled number is a safe integer")
  return value === 0 && Object.is(value, -0) ? "-0" : value
}

/** A JSON string. Plain visible ASCII, which nearly all strings are, needs no escaping. */
const quote = (value: string): string => {
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index)
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return JSON.stringify(value)
  }
  return "\"" + value + "\""
}

/** The command of a payload. Throws `Malformed` for anything that `encode` did not write. */
export const decode = (code: number, text: string): Command.Command => commandOf(code, parse(text))

/** The command of the payload that lies from one place of a buffer to another, as UTF-8; as `decode`. */
export const decodeAt = (code: number, bytes: Buffer, from: number, to: number): Command.Command =>
  commandOf(code, plainItems(bytes, from, to) ?? parse(bytes.toString("utf8", from, to)))

const commandOf = (code: number, items: ReadonlyArray<unknown>): Command.Command => {
  switch (code) {
    case Kind.PlaceOrders:
      return decodePlace(items)
    case Kind.CancelOrders:
      return decodeCancel(items)
    case Kind.AmendOrder:
      ofLength(items, 10)
      return {
        kind: "AmendOrder",
        ...decodeHeading(items),
        market: integer(items, 4),
        orderNumber: integer(items, 5),
        priceAtoms: integer(items, 6),
        quantityAtoms: integer(items, 7),
        fault: refusal(items, 8),
        raw: string(items, 9)
      }
    case Kind.CancelAllOrders:
      ofLength(items, items.length === 6 ? 6 : 5)
      return {
        kind: "CancelAllOrders",
        ...decodeHeading(items),
        market: integer(items, 4),
        raw: items.length === 6 ? string(items, 5) : ""
      }
    case Kind.SetCancelAllAfter:
      ofLength(items, 5)
      return { kind: "SetCancelAllAfter", ...decodeHeading(items), timeoutMs: integer(items, 4) }
    case Kind.FenceOutcome:
      ofLength(items, 6)
      return { kind: "FenceOutcome", ...decodeHeading(items), fencedKey: string(items, 4), fencedClientOrderId: string(items, 5) }
    case Kind.PassTime:
      ofLength(items, 0)
      return { kind: "PassTime" }
    case Kind.OpenVenue:
      ofLength(items, 2)
      return { kind: "OpenVenue", environment: string(items, 0), rules: integer(items, 1) }
    case Kind.PutMarket:
      return decodePutMarket(items)
    case Kind.SetMarketStatus: {
      ofLength(items, 3)
      const status = Market.statuses[integer(items, 2)]
      if (status === undefined) throw new Malformed("an unknown market status")
      return { kind: "SetMarketStatus", idempotencyKey: string(items, 0), market: integer(items, 1), status }
    }
    case Kind.SetIndexPrice:
      ofLength(items, 4)
      return {
        kind: "SetIndexPrice",
        idempotencyKey: string(items, 0),
        market: integer(items, 1),
        priceAtoms: integer(items, 2),
        sourceEpochMs: integer(items, 3)
      }
    case Kind.HaltEngine:
      ofLength(items, 1)
      return { kind: "HaltEngine", idempotencyKey: string(items, 0) }
    case Kind.ResumeEngine:
      ofLength(items, 1)
      return { kind: "ResumeEngine", idempotencyKey: string(items, 0) }
    case Kind.OpenDemoAccounts:
      return decodeOpenDemoAccounts(items)
    default:
      throw new Malformed(`an unknown command kind ${code}`)
  }
}

const bracket = 0x5b
const closingBracket = 0x5d
const comma = 0x2c
const doubleQuote = 0x22
const backslash = 0x5c
const minus = 0x2d
const zero = 0x30
/** A whole number of so many digits is safe. */
const safeDigits = 15

/**
 * The items of a JSON array of nothing but whole numbers and strings of plain visible ASCII, without any space: what
 * nearly every payload is, read twice as fast as by `JSON.parse`. Undefined for all else, which that one judges.
 */
const plainItems = (bytes: Buffer, from: number, to: number): ReadonlyArray<unknown> | undefined => {
  if (to - from < 3 || bytes[from] !== bracket) return undefined
  const items: Array<unknown> = []
  for (let at = from + 1; at < to;) {
    let code = bytes[at]!
    if (code === doubleQuote) {
      const begin = ++at
      for (code = bytes[at]!; code !== doubleQuote; code = bytes[++at]!) {
        if (code < 0x20 || code > 0x7e || code === backslash || at >= to) return undefined
      }
      items.push(begin === at ? "" : bytes.toString("latin1", begin, at))
      at++
    } else {
      const negative = code === minus
      const begin = negative ? at + 1 : at
      let value = 0
      for (at = begin; at < to; at++) {
        const digit = bytes[at]! - zero
        if (digit < 0 || digit > 9) break
        value = value * 10 + digit
      }
      const digits = at - begin
      // No digits, a leading zero, or the zero that keeps its sign.
      if (digits === 0 || digits > safeDigits || (bytes[begin] === zero && (digits > 1 || negative))) return undefined
      items.push(negative ? -value : value)
    }
    if (at >= to) return undefined
    code = bytes[at++]!
    if (code === closingBracket) return at === to ? items : undefined
    if (code !== comma) return undefined
  }
  return undefined
}

const parse = (text: string): ReadonlyArray<unknown> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Malformed("a payload that is not JSON")
  }
  if (!Array.isArray(value)) throw new Malformed("a payload that is not an array")
  return value
}

const decodePlace = (items: ReadonlyArray<unknown>): Command.PlaceOrders => {
  const entries: Array<Command.PlaceEntry> = []
  for (let at = 4; at < items.length;) {
    const flags = integer(items, at + 2)
    if (flags < 0 || flags >= flagsEnd) throw new Malformed("unknown order flags")
    const faulty = (flags & flagFault) !== 0
    const expires = (flags & flagExpires) !== 0
    const next = at + (faulty ? 7 : 5)
    entries.push({
      market: integer(items, at),
      clientOrderId: string(items, at + 1),
      side: ((flags & flagSell) === 0 ? 0 : 1) satisfies Side,
      type: ((flags & flagMarket) === 0 ? 0 : 1) satisfies Type,
      timeInForce: ((flags & flagIoc) === 0 ? 0 : 1) satisfies TimeInForce,
      priceAtoms: integer(items, at + 3),
      quantityAtoms: integer(items, at + 4),
      postOnly: (flags & flagPostOnly) !== 0,
      reduceOnly: (flags & flagReduceOnly) !== 0,
      selfTradePrevention: preventions[(flags >> selfTradePreventionShift) & 3] ?? malformed("an unknown self-trade prevention"),
      expiresAtEpochMs: expires ? integer(items, next) : 0,
      fault: faulty ? refusal(items, at + 5) : Refusal.none,
      raw: faulty ? string(items, at + 6) : ""
    })
    at = expires ? next + 1 : next
  }
  return {
    kind: "PlaceOrders",
    operation: operation(items, 0),
    account: integer(items, 1),
    apiKey: integer(items, 2),
    idempotencyKey: string(items, 3),
    entries
  }
}

const preventions: ReadonlyArray<SelfTradePrevention> = [0, 1, 2]

const malformed = (reason: string): never => {
  throw new Malformed(reason)
}

/** What every client's command begins with. */
const decodeHeading = (items: ReadonlyArray<unknown>) => ({
  operation: operation(items, 0),
  account: integer(items, 1),
  apiKey: integer(items, 2),
  idempotencyKey: string(items, 3)
})

const decodeCancel = (items: ReadonlyArray<unknown>): Command.CancelOrders => {
  const entries: Array<Command.CancelEntry> = []
  for (let at = 4; at < items.length; at += 3) {
    entries.push({ market: integer(items, at), orderNumber: integer(items, at + 1), raw: string(items, at + 2) })
  }
  return {
    kind: "CancelOrders",
    operation: operation(items, 0),
    account: integer(items, 1),
    apiKey: integer(items, 2),
    idempotencyKey: string(items, 3),
    entries
  }
}

const decodePutMarket = (items: ReadonlyArray<unknown>): Command.PutMarket => {
  ofLength(items, 21)
  const tiers: unknown = items[16]
  if (!Array.isArray(tiers)) throw new Malformed("maintenance tiers that are not an array")
  return {
    kind: "PutMarket",
    idempotencyKey: string(items, 0),
    parameters: {
      marketId: string(items, 1),
      baseAsset: string(items, 2),
      quoteAsset: string(items, 3),
      settlementAsset: literal(items, 4, "USDC"),
      underlyingSymbol: string(items, 5),
      marketType: literal(items, 6, "crypto"),
      logoUrl: string(items, 7),
      priceScale: integer(items, 8),
      quantityScale: integer(items, 9),
      minPriceAtoms: integer(items, 10),
      maxPriceAtoms: integer(items, 11),
      minQuantityAtoms: integer(items, 12),
      maxQuantityAtoms: integer(items, 13),
      maxPositionQuantityAtoms: integer(items, 14),
      initialMarginBps: integer(items, 15),
      maintenanceMarginTiers: tiers.map((tier: unknown) => {
        if (!Array.isArray(tier)) throw new Malformed("a maintenance tier that is not an array")
        ofLength(tier, 2)
        return { notionalThresholdAtoms: integer(tier, 0), maintenanceMarginBps: integer(tier, 1) }
      }),
      maxLeverageX: integer(items, 17),
      makerFeeBps: integer(items, 18),
      takerFeeBps: integer(items, 19),
      priceBandBps: integer(items, 20)
    }
  }
}

const decodeOpenDemoAccounts = (items: ReadonlyArray<unknown>): Command.OpenDemoAccounts => {
  const keys: Array<Command.KeyGrant> = []
  for (let at = 2; at < items.length; at += 5) {
    keys.push({
      keyId: string(items, at),
      displayPrefix: string(items, at + 1),
      secretSha256: string(items, at + 2),
      scopes: integer(items, at + 3),
      expiresAtEpochMs: integer(items, at + 4)
    })
  }
  return { kind: "OpenDemoAccounts", idempotencyKey: string(items, 0), collateralAtoms: integer(items, 1), keys }
}

const ofLength = (items: ReadonlyArray<unknown>, length: number): void => {
  if (items.length !== length) throw new Malformed(`${items.length} items where ${length} belong`)
}

const integer = (items: ReadonlyArray<unknown>, index: number): number => {
  const value = items[index]
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw new Malformed(`item ${index} is not an integer`)
  return value
}

const string = (items: ReadonlyArray<unknown>, index: number): string => {
  const value = items[index]
  if (typeof value !== "string") throw new Malformed(`item ${index} is not a string`)
  return value
}

const literal = <const L extends string>(items: ReadonlyArray<unknown>, index: number, expected: L): L => {
  if (items[index] !== expected) throw new Malformed(`item ${index} is not ${expected}`)
  return expected
}

const operations: ReadonlySet<number> = new Set(Object.values(Command.Operation))
const refusals: ReadonlySet<number> = new Set(Object.values(Refusal))

const operation = (items: ReadonlyArray<unknown>, index: number): Command.Operation => {
  const value = integer(items, index)
  if (!operations.has(value)) throw new Malformed(`an unknown operation ${value}`)
  return value as Command.Operation
}

const refusal = (items: ReadonlyArray<unknown>, index: number): Refusal => {
  const value = integer(items, index)
  if (!refusals.has(value)) throw new Malformed(`an unknown refusal ${value}`)
  return value as Refusal
}
