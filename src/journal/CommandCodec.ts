/**
 * Encodes commands as journal payloads and decodes them. A payload is a compact JSON array of the command's declared fields in
 * order; the header common to all commands is written beside it by `RecordHeader`. Encoding refuses what could not be decoded
 * again, so that nothing is acknowledged that a replay would fail on.
 *
 * Placements and cancellations, which most records are, have hand-written codecs; a property test holds them to the declared
 * format.
 */
import { assert } from "../domain/Assert.js"
import { none } from "../domain/None.js"
import type { SelfTradePrevention, Side, TimeInForce, Type } from "../domain/Order.js"
import { Refusal } from "../domain/Refusal.js"
import type { TriggerBy } from "../domain/Trigger.js"
import { noAutoClose, noTrigger, type Trigger } from "../operations/accounts/AutoClose.js"
import { type Field, type Fields, isLeftOut } from "../operations/Field.js"
import { type Command, type Kind, of, ofCode } from "../operations/Operations.js"
import type { CancelEntry, CancelOrders } from "../operations/orders/CancelOrders.js"
import type { PlaceEntry, PlaceOrders } from "../operations/orders/PlaceOrders.js"
import type { Header } from "../operations/Header.js"
import { Malformed } from "./Malformed.js"

type Items = ReadonlyArray<unknown>

/** The codec for the payloads of one kind of command. */
interface Payload {
  readonly encode: (command: Command) => string
  readonly decode: (items: Items) => Readonly<Record<string, unknown>>
}

/** The code of a command's kind that is journaled beside its payload, 1..255. */
export const kindCode = (command: Command): number => of(command).code

/** A payload as JSON text; it holds no NUL and, written as UTF-8, no zero byte. */
export const encode = (command: Command): string => {
  if (command.kind === "PlaceOrders") return encodePlace(command)
  if (command.kind === "CancelOrders") return encodeCancel(command)
  return declared(of(command).fields).encode(command)
}

/** The command of a payload and its header. Throws `Malformed` for anything that `encode` did not write. */
export const decode = (code: number, header: Header, text: string): Command => commandOf(code, header, parse(text))

/** Decodes the payload between two offsets of a buffer, in UTF-8; like `decode`. */
export const decodeAt = (code: number, header: Header, bytes: Buffer, from: number, to: number): Command =>
  commandOf(code, header, plainItems(bytes, from, to) ?? parse(bytes.toString("utf8", from, to)))

const commandOf = (code: number, header: Header, items: Items): Command => {
  const declaration = ofCode(code)
  if (declaration === undefined) throw new Malformed(`an unknown command kind ${code}`)
  const kind = declaration.kind as Kind
  if (kind === "PlaceOrders") return { kind, ...header, ...decodePlace(items) }
  if (kind === "CancelOrders") return { kind, ...header, entries: decodeCancel(items) }
  return { kind, ...header, ...declared(declaration.fields).decode(items) } as unknown as Command
}

const encodeFields = (fields: Fields, values: Readonly<Record<string, unknown>>): string => {
  let text = ""
  for (const name of Object.keys(fields)) {
    const field = fields[name]!
    if (!isLeftOut(field, values[name])) text += (text === "" ? "" : ",") + encodeValue(field, values[name])
  }
  return `[${text}]`
}

const encodeValue = ({ shape }: Field<unknown>, value: unknown): string => {
  switch (shape.type) {
    case "whole":
      return String(whole(value as number))
    case "code":
      assert(shape.codes.includes(value as number), "a journaled code is one of its enumeration")
      return String(value)
    case "flag":
      return value === true ? "1" : "0"
    case "text":
      return quote(value as string)
    case "choice": {
      const index = shape.names.indexOf(value as string)
      assert(index >= 0, "a journaled name is one of its list")
      return String(index)
    }
    case "record":
      return encodeFields(shape.fields, value as Readonly<Record<string, unknown>>)
    case "list": {
      const entries = value as ReadonlyArray<Readonly<Record<string, unknown>>>
      assert(entries.length <= shape.most, "a journaled list is within its bound")
      return `[${entries.map((entry) => encodeFields(shape.fields, entry)).join(",")}]`
    }
  }
}

const decodeFields = (fields: Fields, items: Items): Readonly<Record<string, unknown>> => {
  const names = Object.keys(fields)
  const least = names.filter((name) => fields[name]!.before === undefined).length
  if (items.length < least || items.length > names.length) throw new Malformed(`${items.length} items where ${names.length} belong`)
  const values: Record<string, unknown> = {}
  names.forEach((name, index) => {
    const field = fields[name]!
    values[name] = index >= items.length && field.before !== undefined ? field.before : decodeValue(field, items, index)
  })
  return values
}

const decodeValue = ({ shape }: Field<unknown>, items: Items, index: number): unknown => {
  switch (shape.type) {
    case "whole":
      return integer(items, index)
    case "code": {
      const value = integer(items, index)
      if (!shape.codes.includes(value)) throw new Malformed(`an unknown code ${value}`)
      return value
    }
    case "flag": {
      const value = integer(items, index)
      if (value !== 0 && value !== 1) throw new Malformed(`item ${index} is no flag`)
      return value === 1
    }
    case "text":
      return string(items, index)
    case "choice":
      return shape.names[integer(items, index)] ?? malformed(`item ${index} names nothing of its list`)
    case "record":
      return decodeFields(shape.fields, array(items[index], `item ${index}`))
    case "list": {
      const entries = array(items[index], `item ${index}`)
      if (entries.length > shape.most) throw new Malformed(`item ${index} has more than ${shape.most} entries`)
      return entries.map((entry) => decodeFields(shape.fields, array(entry, `an entry of item ${index}`)))
    }
  }
}

/** The codec derived from a declaration: used for all kinds without a hand-written one, and to compare those with. */
export const declared = (fields: Fields): Payload => ({
  encode: (command) => encodeFields(fields, command as unknown as Readonly<Record<string, unknown>>),
  decode: (items) => decodeFields(fields, items)
})

// An entry of a placement is five items: market, clientOrderId, flags, priceAtoms, quantityAtoms; where
// `flagFault` is set two more follow: fault, raw; where `flagExpires` is set one: expiresAtEpochMs; and where `flagAutoClose` is
// set six: price, kind of price and limit of the take-profit and of the stop-loss. Behind the last entry stands the connection of a
// placement that has one: a single item, which is no entry's.
const flagSell = 1
const flagMarket = 2
const flagIoc = 4
const flagPostOnly = 8
const flagReduceOnly = 16
const flagFault = 32
const selfTradePreventionShift = 6
const flagExpires = 256
const flagAutoClose = 512
const flagsEnd = 1024

const encodePlace = (command: PlaceOrders): string => {
  let text = "["
  for (const entry of command.entries) {
    const faulty = entry.fault !== Refusal.none || entry.raw !== ""
    const closes = entry.autoClose !== noAutoClose && (says(entry.autoClose.takeProfit) || says(entry.autoClose.stopLoss))
    const flags = entry.side * flagSell + entry.type * flagMarket + entry.timeInForce * flagIoc
      + (entry.postOnly ? flagPostOnly : 0) + (entry.reduceOnly ? flagReduceOnly : 0) + (faulty ? flagFault : 0)
      + (entry.selfTradePrevention << selfTradePreventionShift) + (entry.expiresAtEpochMs !== 0 ? flagExpires : 0)
      + (closes ? flagAutoClose : 0)
    text += `${text === "[" ? "" : ","}${whole(entry.market)},${quote(entry.clientOrderId)},${flags}`
      + `,${whole(entry.priceAtoms)},${whole(entry.quantityAtoms)}`
    if (faulty) text += `,${whole(entry.fault)},${quote(entry.raw)}`
    if (entry.expiresAtEpochMs !== 0) text += `,${whole(entry.expiresAtEpochMs)}`
    if (closes) text += `,${trigger(entry.autoClose.takeProfit)},${trigger(entry.autoClose.stopLoss)}`
  }
  if (Object.is(command.connection, none)) return text + "]"
  return `${text}${text === "[" ? "" : ","}${whole(command.connection)}]`
}

/** Whether any field of a trigger differs from that of no trigger. */
const says = ({ by, limitAtoms, priceAtoms }: Trigger): boolean =>
  !Object.is(priceAtoms, noTrigger.priceAtoms) || by !== noTrigger.by || !Object.is(limitAtoms, noTrigger.limitAtoms)

const trigger = ({ by, limitAtoms, priceAtoms }: Trigger): string => `${whole(priceAtoms)},${by},${whole(limitAtoms)}`

const encodeCancel = (command: CancelOrders): string => {
  let text = "["
  for (const entry of command.entries) {
    text += `${text === "[" ? "" : ","}${whole(entry.market)},${whole(entry.orderNumber)},${quote(entry.raw)}`
  }
  return text + "]"
}

const decodePlace = (items: Items): Pick<PlaceOrders, "entries" | "connection"> => {
  const entries: Array<PlaceEntry> = []
  let at = 0
  while (items.length - at > 1) {
    const flags = integer(items, at + 2)
    if (flags < 0 || flags >= flagsEnd) throw new Malformed("unknown order flags")
    const faulty = (flags & flagFault) !== 0
    const expires = (flags & flagExpires) !== 0
    const closes = (flags & flagAutoClose) !== 0
    const next = at + (faulty ? 7 : 5)
    const after = expires ? next + 1 : next
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
      raw: faulty ? string(items, at + 6) : "",
      autoClose: closes ? { takeProfit: triggerAt(items, after), stopLoss: triggerAt(items, after + 3) } : noAutoClose
    })
    at = closes ? after + 6 : after
  }
  return { entries, connection: at === items.length ? none : integer(items, at) }
}

const triggerAt = (items: Items, at: number): Trigger => ({
  priceAtoms: integer(items, at),
  by: triggerBys[integer(items, at + 1)] ?? malformed("an unknown kind of price"),
  limitAtoms: integer(items, at + 2)
})

const triggerBys: ReadonlyArray<TriggerBy> = [0, 1, 2]

const preventions: ReadonlyArray<SelfTradePrevention> = [0, 1, 2]

const decodeCancel = (items: Items): ReadonlyArray<CancelEntry> => {
  const entries: Array<CancelEntry> = []
  for (let at = 0; at < items.length; at += 3) {
    entries.push({ market: integer(items, at), orderNumber: integer(items, at + 1), raw: string(items, at + 2) })
  }
  return entries
}

/**
 * An integer as JSON text. The sign of a negative zero is kept, which a template string would drop, since decisions could depend on
 * it.
 */
const whole = (value: number): number | string => {
  assert(Number.isSafeInteger(value), "a journaled number is a safe integer")
  return value === 0 && Object.is(value, -0) ? "-0" : value
}

/** A JSON string. Visible ASCII without quotes and backslashes, as nearly all strings are, needs no escaping. */
const quote = (value: string): string => {
  for (let index = 0; index < value.length; index++) {
    const code = value.charCodeAt(index)
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return JSON.stringify(value)
  }
  return "\"" + value + "\""
}

const malformed = (reason: string): never => {
  throw new Malformed(reason)
}

const array = (value: unknown, what: string): Items => {
  if (!Array.isArray(value)) throw new Malformed(`${what} is not an array`)
  return value
}

const integer = (items: Items, index: number): number => {
  const value = items[index]
  if (typeof value !== "number" || !Number.isSafeInteger(value)) throw new Malformed(`item ${index} is not an integer`)
  return value
}

const string = (items: Items, index: number): string => {
  const value = items[index]
  if (typeof value !== "string") throw new Malformed(`item ${index} is not a string`)
  return value
}

const refusals: ReadonlySet<number> = new Set(Object.values(Refusal))

const refusal = (items: Items, index: number): Refusal => {
  const value = integer(items, index)
  if (!refusals.has(value)) throw new Malformed(`an unknown refusal ${value}`)
  return value as Refusal
}

const bracket = 0x5b
const closingBracket = 0x5d
const comma = 0x2c
const doubleQuote = 0x22
const backslash = 0x5c
const minus = 0x2d
const zero = 0x30
/** An integer with at most this many digits is a safe integer. */
const safeDigits = 15

/**
 * Parses a JSON array that contains only integers and strings of visible ASCII, without spaces: nearly every payload is one, and
 * this is twice as fast as `JSON.parse`. Undefined for anything else, which is left to `JSON.parse`.
 */
const plainItems = (bytes: Buffer, from: number, to: number): Items | undefined => {
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
      // No digits, a leading zero, or a negative zero.
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

const parse = (text: string): Items => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Malformed("a payload that is not JSON")
  }
  if (!Array.isArray(value)) throw new Malformed("a payload that is not an array")
  return value
}
