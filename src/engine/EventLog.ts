/**
 * What the engine decided, as a run of numbers: the digest in every block is taken over these words, and
 * whoever follows the journal reads them. Each event is its code, its number of fields, then the fields.
 *
 * Numbers only, so that nothing depends on how a text is printed; accounts, markets and orders by their
 * engine numbers. Codes and field orders are part of every recorded digest: never renumber, only append.
 */
import { assert } from "../domain/Assert.js"
import { Told } from "./Told.js"

export { decode as decodeTold, type ToldChange, type ToldNote, type ToldPayment, type ToldTransfer } from "./Told.js"

/** Event codes, past tense, with the names of their fields in order. */
export const EventFields = {
  RecordDecided: ["sequence", "atEpochMs", "entries"],
  /** An outcome as it is packed; of a refusal its code and the order alone, since what it compared only explains it. */
  EntryDecided: ["codes", "first", "second", "third", "fourth", "fifth", "sixth"],
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
  OrderTermsChanged: ["orderNumber", "priceAtoms", "quantityAtoms", "remainingAtoms"],
  OrdersCanceled: ["account", "orders"],
  SwitchSet: ["account", "atEpochMs"],
  SwitchFired: ["account", "orders"],
  Fenced: ["account"],
  TimePassed: ["atEpochMs"],
  VenueStarted: ["rules", "codec"],
  MarkSet: ["market", "priceAtoms"],
  IndexPriceHeld: ["market", "priceAtoms", "sourceEpochMs"],
  FundingSet: ["market", "atEpochMs", "rate8hE9", "indexPriceAtoms", "samples"],
  FundingPaid: ["account", "market", "paidAtoms"],
  /** An account is under its maintenance margin from here on. */
  LiquidationBegun: ["account", "equityAtoms", "maintenanceMarginAtoms"],
  /** A part was sent: the size of its order and its limit, the bankruptcy price, and what there was and was needed before it. */
  LiquidationOrdered: [
    "account",
    "market",
    "orderNumber",
    "quantityAtoms",
    "bankruptcyPriceAtoms",
    "markAtoms",
    "equityAtoms",
    "maintenanceMarginAtoms"
  ],
  LiquidationFeePaid: ["account", "market", "feeAtoms"],
  TakenOver: ["account", "market", "sizeAtoms", "priceAtoms", "markAtoms", "equityAtoms", "maintenanceMarginAtoms"],
  DeleveragingBegun: ["account", "market", "sizeAtoms", "priceAtoms", "markAtoms", "equityAtoms", "maintenanceMarginAtoms"],
  /** A counterparty's share of a deleveraging; `rank` counts from 1. */
  Deleveraged: ["account", "counterparty", "market", "sizeAtoms", "priceAtoms", "rank"],
  LiquidationEnded: ["account", "equityAtoms", "maintenanceMarginAtoms"],
  /** The insurance fund sent an order to unwind what it holds. */
  FundUnwound: ["market", "orderNumber", "quantityAtoms"],
  LeverageSet: ["account", "market", "leverageX"],
  /** A bracket that has nothing to close yet; a trigger of price 0 is none. */
  BracketOpened: [
    "bracket",
    "account",
    "market",
    "direction",
    "takeProfitAtoms",
    "takeProfitBy",
    "takeProfitLimitAtoms",
    "stopLossAtoms",
    "stopLossBy",
    "stopLossLimitAtoms"
  ],
  BracketResized: ["bracket", "account", "market", "quantityAtoms"],
  /** `kind` is 0 for the take-profit, 1 for the stop-loss; an order number of -1 says that nothing rested within its limit. */
  TriggerFired: ["bracket", "account", "market", "kind", "orderNumber", "quantityAtoms", "limitAtoms", "priceAtoms"],
  /** `quantityAtoms` is what it still had to close. */
  BracketEnded: ["bracket", "account", "market", "reason", "quantityAtoms"],
  /** Parameters were announced, or withdrawn: at 0. How many holders would be under their margins now; -1 where they are not counted. */
  MarketAnnounced: ["market", "effectiveAtEpochMs", "underInitialMargin", "underMaintenanceMargin"],
  /** What was announced of a market is what it has from here on. */
  MarketTookEffect: ["market"],
  /** What is decided from here on is remembered so long. */
  RetentionSet: ["retentionMs"],
  /** What has become of a delisting, by code: 0 withdrawn, 1 announced, 2 in effect, 3 settled. A final price of 0 is none. */
  MarketDelisting: ["market", "became", "effectiveAtEpochMs", "finalPriceAtoms"],
  /** So much of a long and a short position was closed at the final price of their market. */
  Settled: ["market", "account", "counterparty", "sizeAtoms", "priceAtoms"],
  /** A market's session from here on: its state by its place in the list of them, and its moments. */
  MarketSessionSet: ["market", "state", "nextOpenEpochMs", "nextCloseEpochMs", "cutoffEpochMs"],
  /** An owner signed in, until a time at most. */
  SessionOpened: ["account", "session", "expiresAtEpochMs"],
  /** By sign-out, with the passkey that opened it, or for want of room. */
  SessionEnded: ["account", "session"],
  /** How many passkeys the account has from here on. */
  PasskeysChanged: ["account", "passkeys"],
  /** An agent may fetch a key until a time. */
  AgentApproved: ["account", "scopes", "keyLifetimeSeconds", "expiresAtEpochMs"],
  ApiKeyRevoked: ["apiKey", "account"],
  /** Something was noted of an account's security, by its kind's place in the list of them; -1 for an account is nobody's. */
  SecurityNoted: ["account", "kind"],
  /** A ticket is its family's current one until a time. */
  TicketIssued: ["family", "apiKey", "generation", "expiresAtEpochMs"],
  /** No ticket of the family is good any more. */
  TicketsEnded: ["family", "apiKey"],
  KeyUsed: ["apiKey", "usedAtEpochMs"],
  FavoriteSet: ["account", "market", "isFavorite"],
  AffiliateRegistered: ["account"],
  /** The flags of an account from here on, and whether it may trade. */
  AccountFlagged: ["account", "flags", "mayTrade"],
  /** A deposit, withdrawal or change of party stands, by its kind's place in the list of them. */
  TransferRequested: ["transfer", "account", "kind", "amountAtoms"],
  /** What has become of a step, by the places of the step and of the change in their lists. */
  StepMoved: ["transfer", "account", "step", "change"],
  /** No step of the transfer is taken any more, but for an offer that is to be withdrawn. */
  TransferEnded: ["transfer", "account", "status"],
  /** A deposit's amount is the account's from here on. */
  DepositCredited: ["transfer", "account", "amountAtoms"],
  /** A withdrawal's amount is held, was given back, or has left for good: by its place in the list of what becomes of one. */
  ReserveMoved: ["transfer", "account", "became", "amountAtoms"],
  /** A ledger party is bound to an account, for a change of party if there is one (-1 for none), or is its party from here on: 1. */
  PartyBound: ["account", "transfer", "isConfirmed"],
  LedgerOffsetNoted: ["offset", "recordTimeEpochMs"],
  WithdrawalsStopped: ["isStopped"],
  /** The ledger said what cannot be, by its place in the list of alarms. */
  LedgerAlarm: ["transfer", "step", "alarm"]
} as const

export type EventName = keyof typeof EventFields

/** Event names by code; codes start at 1. */
export const eventNames = Object.keys(EventFields) as ReadonlyArray<EventName>

const codes = Object.fromEntries(eventNames.map((name, index) => [name, index + 1])) as { readonly [K in EventName]: number }

/** Event codes by name. */
export const Event = codes

/** An event as an object, for tools. */
export type DecodedEvent = {
  readonly [K in EventName]: { readonly event: K } & { readonly [F in (typeof EventFields)[K][number]]: number }
}[EventName]

/** Fields at their place; the compiler puts these where they are called. */
const write2 = (words: Float64Array, at: number, a: number, b: number): void => {
  words[at] = a
  words[at + 1] = b
}

const write4 = (words: Float64Array, at: number, a: number, b: number, c: number, d: number): void => {
  words[at] = a
  words[at + 1] = b
  words[at + 2] = c
  words[at + 3] = d
}

/** Words of an event before its fields. */
const headWords = 2

/**
 * A growing run of words, emptied after each block. One method for each number of fields: a field that is forgotten
 * does not compile, and nothing is allocated for a list of arguments.
 */
export class EventLog {
  words = new Float64Array(4096)
  length = 0
  /** Whether events are left unsaid: each is written over the one before, and there are none. */
  isMute = false

  /** What accounts are told beside the events, of the same records. */
  readonly told = new Told()

  /** Forgets everything; keeps the memory. */
  clear(): void {
    this.length = 0
    this.told.length = 0
  }

  /** Makes room for an event and writes its head; where its fields begin. */
  private begin(code: number, fields: number): number {
    if (this.isMute) return headWords
    const at = this.length
    const end = at + headWords + fields
    if (end > this.words.length) {
      const grown = new Float64Array(Math.max(this.words.length * 2, end))
      grown.set(this.words)
      this.words = grown
    }
    this.length = end
    this.words[at] = code
    this.words[at + 1] = fields
    return at + headWords
  }

  event1(code: number, a: number): void {
    const at = this.begin(code, 1)
    this.words[at] = a
  }

  event2(code: number, a: number, b: number): void {
    const at = this.begin(code, 2)
    write2(this.words, at, a, b)
  }

  event3(code: number, a: number, b: number, c: number): void {
    const at = this.begin(code, 3)
    write2(this.words, at, a, b)
    this.words[at + 2] = c
  }

  event4(code: number, a: number, b: number, c: number, d: number): void {
    const at = this.begin(code, 4)
    write4(this.words, at, a, b, c, d)
  }

  event5(code: number, a: number, b: number, c: number, d: number, e: number): void {
    const at = this.begin(code, 5)
    write4(this.words, at, a, b, c, d)
    this.words[at + 4] = e
  }

  event6(code: number, a: number, b: number, c: number, d: number, e: number, f: number): void {
    const at = this.begin(code, 6)
    write4(this.words, at, a, b, c, d)
    write2(this.words, at + 4, e, f)
  }

  event7(code: number, a: number, b: number, c: number, d: number, e: number, f: number, g: number): void {
    const at = this.begin(code, 7)
    write4(this.words, at, a, b, c, d)
    write2(this.words, at + 4, e, f)
    this.words[at + 6] = g
  }

  event8(code: number, a: number, b: number, c: number, d: number, e: number, f: number, g: number, h: number): void {
    const at = this.begin(code, 8)
    write4(this.words, at, a, b, c, d)
    write4(this.words, at + 4, e, f, g, h)
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
    const at = this.begin(code, 10)
    write4(this.words, at, a, b, c, d)
    write4(this.words, at + 4, e, f, g, h)
    write2(this.words, at + 8, i, j)
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
