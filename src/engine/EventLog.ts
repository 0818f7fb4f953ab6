/**
 * What the engine decided, as a run of numbers: the digest in every block is taken over these words, and
 * whoever follows the journal reads them. Each event is its code, its number of fields, then the fields.
 *
 * Numbers only, so that nothing depends on how a text is printed; accounts, markets and orders by their
 * engine numbers. Codes and field orders are part of every recorded digest: never renumber, only append.
 */
import { assert } from "../domain/Assert.js"

/** Event codes, past tense, with the names of their fields in order. */
export const EventFields = {
  RecordDecided: ["sequence", "atEpochMs", "entries"],
  EntryDecided: [
    "refusal",
    "orderNumber",
    "status",
    "cancelReason",
    "filledAtoms",
    "filledNotionalAtoms",
    "canceledAtoms",
    "priceAtoms",
    "quantityAtoms",
    "limit",
    "actual",
    "nearest"
  ],
  OrderAccepted: ["orderNumber", "account", "market", "side", "type", "timeInForce", "priceAtoms", "quantityAtoms"],
  Traded: [
    "market",
    "priceAtoms",
    "sizeAtoms",
    "makerOrder",
    "takerOrder",
    "makerAccount",
    "takerAccount",
    "takerSide",
    "makerFeeAtoms",
    "takerFeeAtoms"
  ],
  OrderRested: ["orderNumber", "remainingAtoms"],
  OrderTrimmed: ["orderNumber", "byAtoms", "remainingAtoms"],
  OrderEnded: ["orderNumber", "status", "cancelReason", "filledAtoms", "canceledAtoms"],
  PositionChanged: ["account", "market", "quantityAtoms", "entryNotionalAtoms", "realizedPnlAtoms", "feesPaidAtoms"],
  CollateralChanged: ["account", "collateralAtoms"],
  MarketPut: ["market", "created"],
  MarketStatusSet: ["market", "status"],
  IndexPriceSet: ["market", "priceAtoms", "sourceEpochMs"],
  HaltSet: ["halted"],
  AccountOpened: ["account", "born"],
  Credited: ["account", "amountAtoms"],
  ApiKeyIssued: ["apiKey", "account", "scopes", "expiresAtEpochMs"],
  VenueOpened: ["rules"],
  OrderAmended: ["orderNumber", "priceAtoms", "quantityAtoms", "remainingAtoms"],
  OrdersCanceled: ["account", "orders"],
  SwitchSet: ["account", "atEpochMs"],
  SwitchFired: ["account", "orders"],
  Fenced: ["account"],
  TimePassed: ["atEpochMs"]
} as const

export type EventName = keyof typeof EventFields

/** Event names by code; codes start at 1. */
export const eventNames = Object.keys(EventFields) as ReadonlyArray<EventName>

const codes = Object.fromEntries(eventNames.map((name, index) => [name, index + 1])) as { readonly [K in EventName]: number }

/** Event codes by name. */
export const Event = codes

/** Stands for a NaN field, whose bits would not be the same everywhere. */
export const absent = -1e300

/** An event as an object, for tools. */
export type DecodedEvent = {
  readonly [K in EventName]: { readonly event: K } & { readonly [F in (typeof EventFields)[K][number]]: number }
}[EventName]

/** A growing run of words, emptied after each block. */
export class EventLog {
  words = new Float64Array(4096)
  length = 0

  /** Forgets everything; keeps the memory. */
  clear(): void {
    this.length = 0
  }

  private reserve(count: number): number {
    const at = this.length
    if (at + count > this.words.length) {
      const grown = new Float64Array(Math.max(this.words.length * 2, at + count))
      grown.set(this.words)
      this.words = grown
    }
    this.length = at + count
    return at
  }

  event1(code: number, a: number): void {
    const at = this.reserve(3)
    const words = this.words
    words[at] = code
    words[at + 1] = 1
    words[at + 2] = a
  }

  event2(code: number, a: number, b: number): void {
    const at = this.reserve(4)
    const words = this.words
    words[at] = code
    words[at + 1] = 2
    words[at + 2] = a
    words[at + 3] = b
  }

  event3(code: number, a: number, b: number, c: number): void {
    const at = this.reserve(5)
    const words = this.words
    words[at] = code
    words[at + 1] = 3
    words[at + 2] = a
    words[at + 3] = b
    words[at + 4] = c
  }

  event4(code: number, a: number, b: number, c: number, d: number): void {
    const at = this.reserve(6)
    const words = this.words
    words[at] = code
    words[at + 1] = 4
    words[at + 2] = a
    words[at + 3] = b
    words[at + 4] = c
    words[at + 5] = d
  }

  event5(code: number, a: number, b: number, c: number, d: number, e: number): void {
    const at = this.reserve(7)
    const words = this.words
    words[at] = code
    words[at + 1] = 5
    words[at + 2] = a
    words[at + 3] = b
    words[at + 4] = c
    words[at + 5] = d
    words[at + 6] = e
  }

  event6(code: number, a: number, b: number, c: number, d: number, e: number, f: number): void {
    const at = this.reserve(8)
    const words = this.words
    words[at] = code
    words[at + 1] = 6
    words[at + 2] = a
    words[at + 3] = b
    words[at + 4] = c
    words[at + 5] = d
    words[at + 6] = e
    words[at + 7] = f
  }

  event8(code: number, a: number, b: number, c: number, d: number, e: number, f: number, g: number, h: number): void {
    const at = this.reserve(10)
    const words = this.words
    words[at] = code
    words[at + 1] = 8
    words[at + 2] = a
    words[at + 3] = b
    words[at + 4] = c
    words[at + 5] = d
    words[at + 6] = e
    words[at + 7] = f
    words[at + 8] = g
    words[at + 9] = h
  }

  event10(
    code: number,
    a: number,
    b: number,
    c: number,
    d: number,
    e: number,
    f: number,
    g: number,
    h: number,
    i: number,
    j: number
  ): void {
    const at = this.reserve(12)
    const words = this.words
    words[at] = code
    words[at + 1] = 10
    words[at + 2] = a
    words[at + 3] = b
    words[at + 4] = c
    words[at + 5] = d
    words[at + 6] = e
    words[at + 7] = f
    words[at + 8] = g
    words[at + 9] = h
    words[at + 10] = i
    words[at + 11] = j
  }

  event12(
    code: number,
    a: number,
    b: number,
    c: number,
    d: number,
    e: number,
    f: number,
    g: number,
    h: number,
    i: number,
    j: number,
    k: number,
    l: number
  ): void {
    const at = this.reserve(14)
    const words = this.words
    words[at] = code
    words[at + 1] = 12
    words[at + 2] = a
    words[at + 3] = b
    words[at + 4] = c
    words[at + 5] = d
    words[at + 6] = e
    words[at + 7] = f
    words[at + 8] = g
    words[at + 9] = h
    words[at + 10] = i
    words[at + 11] = j
    words[at + 12] = k
    words[at + 13] = l
  }

  /** The bytes of the words from `from` on, as a view that the next event may overwrite. */
  bytes(from = 0): Uint8Array {
    return new Uint8Array(this.words.buffer, from * 8, (this.length - from) * 8)
  }
}

/** The events in a run of words, as objects. */
export const decode = (words: Float64Array, from: number, to: number): Array<DecodedEvent> => {
  const events: Array<DecodedEvent> = []
  let at = from
  while (at < to) {
    const name = eventNames[words[at]! - 1]
    assert(name !== undefined, "an event has a known code")
    const fields: ReadonlyArray<string> = EventFields[name]
    assert(words[at + 1] === fields.length, "an event has as many fields as its kind")
    const event: Record<string, number | string> = { event: name }
    for (let index = 0; index < fields.length; index++) event[fields[index]!] = words[at + 2 + index]!
    events.push(event as DecodedEvent)
    at += 2 + fields.length
  }
  return events
}
