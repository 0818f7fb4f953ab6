/**
 * What the engine decided, as a run of numbers: the digest in every block covers these words, and followers of the journal read
 * them. Each event is its code, its number of fields, then the fields.
 *
 * Only numbers are used, so that nothing depends on how text is printed; accounts, markets and orders appear by their engine
 * numbers. Codes and field orders are part of every recorded digest: never renumber, only append.
 */
import { assert } from "../domain/Assert.js"
import { Told } from "./Told.js"

export { decode as decodeTold, type ToldChange, type ToldNote, type ToldPayment, type ToldTransfer } from "./Told.js"

/** Event codes, past tense, with the names of their fields in order. */
export const EventFields = {
  RecordDecided: ["sequence", "atEpochMs", "entries"],
  /** A packed outcome. For a refusal only its code and the order are logged, since the compared values merely explain it. */
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
  /** An account has fallen below its maintenance margin. */
  LiquidationBegun: ["account", "equityAtoms", "maintenanceMarginAtoms"],
  /**
   * A part of a liquidation was sent: the order's size and limit, which is the bankruptcy price, and the account's equity and
   * maintenance margin before it.
   */
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
  /** The insurance fund sent an order to unwind its position. */
  FundUnwound: ["market", "orderNumber", "quantityAtoms"],
  LeverageSet: ["account", "market", "leverageX"],
  /** A bracket was set that has nothing to close yet; a trigger price of 0 means no trigger. */
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
  /**
   * `kind` is 0 for the take-profit, 1 for the stop-loss; an order number of -1 means that nothing rested within its limit and no
   * order was sent.
   */
  TriggerFired: ["bracket", "account", "market", "kind", "orderNumber", "quantityAtoms", "limitAtoms", "priceAtoms"],
  /** `quantityAtoms` is what the bracket still had to close. */
  BracketEnded: ["bracket", "account", "market", "reason", "quantityAtoms"],
  /**
   * Parameters were announced, or withdrawn (time 0), with how many holders would now fall below their margins; -1 where that was
   * not counted.
   */
  MarketAnnounced: ["market", "effectiveAtEpochMs", "underInitialMargin", "underMaintenanceMargin"],
  /** A market's announced parameters took effect. */
  MarketTookEffect: ["market"],
  /** The retention for everything decided from here on. */
  RetentionSet: ["retentionMs"],
  /** A delisting changed its state: 0 withdrawn, 1 announced, 2 in effect, 3 settled. The final price is 0 where there is none. */
  MarketDelisting: ["market", "became", "effectiveAtEpochMs", "finalPriceAtoms"],
  /** A long and a short position of one size were closed at the final price of their market. */
  Settled: ["market", "account", "counterparty", "sizeAtoms", "priceAtoms"],
  /** A market's session changed: the index of its state in the list of states, and the times of its next changes. */
  MarketSessionSet: ["market", "state", "nextOpenEpochMs", "nextCloseEpochMs", "cutoffEpochMs"],
  /** An owner signed in; the session lasts until the given time at most. */
  SessionOpened: ["account", "session", "expiresAtEpochMs"],
  /** A session was ended by sign-out, with the passkey that opened it, or to make room. */
  SessionEnded: ["account", "session"],
  /** The number of the account's passkeys after a change. */
  PasskeysChanged: ["account", "passkeys"],
  /** An agent may fetch a key until the given time. */
  AgentApproved: ["account", "scopes", "keyLifetimeSeconds", "expiresAtEpochMs"],
  ApiKeyRevoked: ["apiKey", "account"],
  /** A security event of an account, with the index of its kind in the list; account -1 where it belongs to none. */
  SecurityNoted: ["account", "kind"],
  /** A ticket became the current one of its family, valid until the given time. */
  TicketIssued: ["family", "apiKey", "generation", "expiresAtEpochMs"],
  /** A ticket family ended: none of its tickets is valid. */
  TicketsEnded: ["family", "apiKey"],
  KeyUsed: ["apiKey", "usedAtEpochMs"],
  FavoriteSet: ["account", "market", "isFavorite"],
  AffiliateRegistered: ["account"],
  /** An account's flags after a change, and whether it may trade. */
  AccountFlagged: ["account", "flags", "mayTrade"],
  /** A deposit, withdrawal or change of party was requested, with the index of its kind in the list. */
  TransferRequested: ["transfer", "account", "kind", "amountAtoms"],
  /** A step changed, with the indexes of the step and of the change in their lists. */
  StepMoved: ["transfer", "account", "step", "change"],
  /** A transfer ended: no further step is taken, except the withdrawal of an offer. */
  TransferEnded: ["transfer", "account", "status"],
  /** A deposit's amount was credited to the account. */
  DepositCredited: ["transfer", "account", "amountAtoms"],
  /** A withdrawal's amount was held, returned or spent, by the index in `reserveChanges`. */
  ReserveMoved: ["transfer", "account", "became", "amountAtoms"],
  /**
   * A ledger party was bound to an account, for a change of party if there is one (-1 for none); `isConfirmed` is 1 once it is the
   * account's party.
   */
  PartyBound: ["account", "transfer", "isConfirmed"],
  LedgerOffsetNoted: ["offset", "recordTimeEpochMs"],
  WithdrawalsStopped: ["isStopped"],
  /** The ledger reported something impossible, by the index in the list of alarms. */
  LedgerAlarm: ["transfer", "step", "alarm"],
  /**
   * What the insurance fund paid an account beside a takeover at a price that its market does not have; negative where the account paid
   * the fund.
   */
  TakeoverDifferencePaid: ["account", "market", "paidAtoms"]
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

/** Functions for fixed numbers of fields, which the compiler inlines. */
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
 * A growing run of words, emptied after each block. There is one method per number of fields: a missing field does not compile, and
 * no argument list is allocated.
 */
export class EventLog {
  words = new Float64Array(4096)
  length = 0
  /** Whether events are discarded: each overwrites the previous one, and the length stays 0. */
  isMute = false

  /** What accounts are told besides the events of the same records. */
  readonly told = new Told()

  /** Removes all events but keeps the memory. */
  clear(): void {
    this.length = 0
    this.told.length = 0
  }

  /** Makes room for an event and writes its head. Returns the index of its first field. */
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
