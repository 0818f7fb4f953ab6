/**
 * What the reference model holds, and what it says of each record: the words that it and the properties share.
 */
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import type * as Session from "../../src/domain/Session.js"
import type { Refusal } from "../../src/domain/Refusal.js"

/** How long an order and a key are remembered after their end, until an operator sets something else. */
export const retentionMs = 24 * 60 * 60 * 1000

/** What has ended is kept a little longer than the keys that speak of it, and its clientOrderId with it. */
export const orderExtraMs = 60_000

/** An order, from its placement for as long as the model lives. Quantities in size atoms. */
export interface NaiveOrder {
  /** The venue's own are in no list: a part of a liquidation, and what unwinds the insurance fund. */
  readonly by: "client" | "closing" | "liquidation" | "unwinding"
  readonly number: number
  readonly account: number
  readonly market: number
  readonly side: Order.Side
  readonly type: Order.Type
  readonly timeInForce: Order.TimeInForce
  price: number
  quantity: number
  readonly postOnly: boolean
  readonly reduceOnly: boolean
  readonly selfTradePrevention: Order.SelfTradePrevention
  readonly clientOrderId: string
  readonly idempotencyKey: string
  /** The connection that it ends with; undefined where it ends with none. */
  readonly connection?: number | undefined
  /** When it is cancelled by itself while it rests; 0 for never. */
  readonly expiresAtEpochMs: number
  readonly createdAtEpochMs: number
  status: Order.Status
  cancelReason: Order.CancelReason
  filled: number
  filledNotional: bigint
  canceled: number
  /** Size taken off by reduce-only enforcement so far. */
  trimmed: number
  updatedAtEpochMs: number
  lastSequence: number
  /** 0 while open. */
  endedAtEpochMs: number
  /** The longest retention that held when it was placed, amended or ended. */
  retentionMs: number
}

/** An order that has ended, in the line of those that are to be forgotten. */
export interface NaiveEnded {
  readonly order: NaiveOrder
  /** When it came to the end of the line. */
  readonly queuedAtEpochMs: number
}

/** A key or a fence, in the line of those that are to be forgotten. */
export interface NaiveRemembered {
  readonly account: number
  readonly outcomes: number
  readonly retentionMs: number
  readonly isOver: (atEpochMs: number) => boolean
  readonly queuedAtEpochMs: number
}

/** What is held of a table: in all, and of an account. */
export interface NaiveFound {
  readonly all: number
  readonly own: number
  /** Whether as many were forgotten as can be at once, so that more may be over. */
  readonly mayBeLess: boolean
}

/** A promise that nothing happens under an identity. */
export interface NaiveFence {
  readonly sequence: number
  readonly holdsUntilEpochMs: number
}

/** A position; size signed, long positive. Flat ones are absent. */
export interface NaivePosition {
  readonly quantity: number
  readonly entryNotional: bigint
}

/** From the fill that opens a position to the one that closes it. A flip ends one and begins the next. */
export interface NaiveEpisode {
  /** Counts all episodes of the venue, from 1. */
  readonly ordinal: number
  readonly openedAtEpochMs: number
  /** Money atoms, before fees. */
  realizedPnl: bigint
  /** Money atoms. Of a flip's fee, the part that its opening half bears. */
  feesPaid: bigint
  /** Money atoms; negative where more was received. */
  fundingPaid: bigint
  /** The record of the last fill, or of the last payment of funding. */
  lastSequence: number
}

/** What goes on with an account that has fallen under its maintenance margin. */
export interface NaiveLiquidation {
  /** When it is looked at next. */
  momentEpochMs: number
  /** When its first part was sent; 0 before that. */
  firstPartEpochMs: number
  /** The second in which the last was. */
  partSecond: number
}

/** What an account paid, or received, for one interval in one market. */
export interface NaivePayment {
  readonly market: number
  readonly sequence: number
  readonly atEpochMs: number
  readonly endedAtEpochMs: number
  readonly quantity: number
  readonly index: number
  readonly rate8h: bigint
  readonly intervalMs: number
  /** Money atoms; negative where it was received. */
  readonly paid: bigint
}

/** What an account owes of a payment: for which position, and how much, money atoms. */
export interface NaiveOwed {
  readonly quantity: number
  readonly paid: bigint
}

/** A payment of funding that is being settled. */
export interface NaivePaymentInLine {
  readonly market: NaiveMarket
  readonly funding: NaiveFunding
  /** Whoever has yet to have it entered. */
  readonly owed: Map<NaiveAccount, NaiveOwed>
  /** What rounding leaves of it, for the insurance fund. */
  readonly rest: bigint
  /** Who came to the market, as far as the line has not come to him: the last one is next. */
  readonly left: Array<number>
}

export interface NaiveAccount {
  readonly index: number
  readonly born: number
  readonly openedAtEpochMs: number
  readonly deposited: bigint
  collateral: bigint
  /** It was opened without any money, by its owner: it may not trade until it is credited. */
  waitsForCredit: boolean
  /** The last record that changed its money, its orders or its name. */
  lastSequence: number
  /** By market index. */
  readonly positions: Map<number, NaivePosition>
  /** What each position that is not flat has been through, by market index. */
  readonly episodes: Map<number, NaiveEpisode>
  /** The markets that it came to, by an order or by its leverage, in the order in which it first did. */
  readonly cameTo: Set<number>
  /** The most leverage that it takes, by market index, where it ever said. */
  readonly leverage: Map<number, number>
  /** Open orders, oldest first. */
  open: Array<NaiveOrder>
  /** Every order it ever placed, oldest first. */
  readonly placed: Array<NaiveOrder>
  /** When its dead-man switch fires; 0 while it is not armed. */
  cancelAllAtEpochMs: number
  /** What others may see it by; empty until one is set. */
  displayHandle: string
  /** There from when it falls under its maintenance margin until a look finds it healthy, or flat. */
  liquidation: NaiveLiquidation | undefined
  /** Every change of its collateral, oldest first. */
  readonly ledger: Array<NaiveChange>
}

/** A change of an account's collateral: by which record, why, in which market (-1: none), by how many money atoms, and to what. */
export interface NaiveChange {
  readonly sequence: number
  readonly atEpochMs: number
  readonly cause:
    | "credit"
    | "realized_pnl"
    | "fee"
    | "funding"
    | "liquidation_fee"
    | "funding_rest"
    | "collected_fees"
    | "deposit"
    | "withdrawal_reserved"
    | "withdrawal_returned"
  readonly market: number
  readonly amount: bigint
  readonly balance: bigint
}

/** How a market's index came to be, and what its book was sampled to. */
export interface NaiveRisk {
  index: number
  /** When the source saw the index, by the venue's clock at the latest; 0 before the first. */
  source: number
  /** A step that waits for others to agree, the sample first seen and then those that agreed, by their source's time. */
  held: { readonly price: number; readonly source: number; agreed: number | undefined } | undefined
  /** Since when the market has lived without a break. */
  liveSince: number
  /** When it came back last with a mark of before, or was opened with one; 0 where it never did. */
  backSince: number
  /** The second in which its mark was made last. */
  second: number
  /** The five seconds in which its book was sampled last. */
  slot: number
  /** Twice the basis of each of the last samples, newest last. */
  basis: Array<bigint>
  /** The running funding interval since the epoch, and what its premium was sampled to. */
  interval: number
  premiums: Array<bigint>
  /** What ended intervals came to, oldest first. */
  readonly fundings: Array<NaiveFunding>
  /** The index at every tick, with the minute of each. */
  readonly ticks: Array<{ readonly minute: number; readonly index: number }>
  /** Marks with what they were made of, oldest first. */
  readonly marks: Array<NaiveMark>
}

/** A mark and what it was made of; an impact price that a thin side has not is undefined. */
export interface NaiveMark {
  readonly atEpochMs: number
  readonly sequence: number
  readonly index: number
  readonly bid: bigint | undefined
  readonly ask: bigint | undefined
  readonly last: number
  readonly rate: bigint
  readonly intervalMs: number
  readonly basis: bigint
  readonly samples: number
  readonly prices: readonly [bigint, bigint, bigint]
  readonly band: readonly [bigint, bigint]
  readonly mark: number
}

export interface NaiveFunding {
  readonly atEpochMs: number
  readonly sequence: number
  readonly rate8h: bigint
  readonly premium: bigint
  readonly index: number
  readonly samples: number
  readonly intervalMs: number
}

/** What was last journaled of a market's session, with what has passed of it. */
export interface NaiveSession {
  state: Session.State
  /** The time of the record that made it so. */
  asOf: number
  opens: number
  closes: number
  cutoff: number
}

/** A delisting that is announced, or in effect. */
export interface NaiveDelisting {
  state: "announced" | "settling" | "settled"
  effectiveAtEpochMs: number
  finalPrice: number
  settledAtEpochMs: number
  /** What the settlement is about. */
  phase: "orders" | "deficits" | "closing"
  /** Accounts that were looked at for deficits, and then those that were passed over in the closing. */
  readonly done: Set<number>
  /** When it is gone through again; 0 while it goes on. */
  againAtEpochMs: number
}

/** Whether a market's delisting has taken effect. */
export const isDelisted = ({ delisting }: Pick<NaiveMarket, "delisting">): boolean =>
  delisting !== undefined && delisting.state !== "announced"

export interface NaiveMarket {
  readonly index: number
  /** Undefined until one is journaled, and in a market that is always open. */
  session: NaiveSession | undefined
  parameters: Market.Parameters
  /** Money atoms per price atom and size atom. */
  factor: bigint
  status: Market.Status
  /** When it was last halted; 0 where it never was. */
  haltedAt: number
  mark: number
  risk: NaiveRisk
  /** Parameters that it takes by itself at a time. */
  announced: { readonly effectiveAtEpochMs: number; readonly parameters: Market.Parameters } | undefined
  /** What has become of its delisting. */
  delisting: NaiveDelisting | undefined
  /** Who came to it, by an order or by a leverage, in the order in which each first did. */
  readonly came: Set<number>
  /** The largest position limit before the present one under which something may be held. */
  widest: number
  lastPrice: number
  /** The last record in which an order came to rest here, left, or became smaller or larger; 0 before the first. */
  bookSequence: number
  /** The last record that set its parameters or status, or in which it traded. */
  sequence: number
  /** Resting orders, oldest first. */
  resting: Array<NaiveOrder>
  /** Every trade, oldest first. */
  readonly trades: Array<NaiveFill>
}

/** What a market traded in the last 24 h: whole minutes, the running one included. */
export interface NaiveDay {
  readonly volumeQuote: bigint
  readonly volumeBase: bigint
  readonly high: number
  readonly low: number
  /** The last price of 24 h ago, or the first ever. */
  readonly open: number
  readonly changeBps: number
}

/** What a refusal compared, as it is told: decimals at the market's scale or of money, whole numbers, a market's status. */
export interface NaiveCompared {
  readonly limit?: string
  readonly actual?: string
  readonly nearest?: string
}

/** What an announcement of parameters is told to come to. */
export interface NaiveAnnounced {
  readonly effectiveAtEpochMs: number
  /** Left out where more came to the market than one record counts. */
  readonly underInitialMargin?: number
  readonly underMaintenanceMargin?: number
}

/** What one entry must have come to. */
export interface NaiveOutcome {
  readonly refusal: Refusal
  /** Of a refusal what the venue compared; nothing of one that compares nothing, or that was found before the record. */
  readonly compared: NaiveCompared
  /** The order placed or cancelled, also of a refused attempt; an account's index; otherwise -1. */
  readonly orderNumber: number
  readonly status: Order.Status
  readonly cancelReason: Order.CancelReason
  readonly filled: number
  readonly filledNotional: bigint
  /** Of a cancel-all or an operator's cancel: how many orders it cancelled. */
  readonly canceled: number
  /** Of an operator's cancel: how many of those it meant are open behind it. */
  readonly left: number
  /** Of announced parameters when they take effect, and how many holders would be under their margins at once. */
  readonly announced?: NaiveAnnounced
  /** Of a fence until when it holds. */
  readonly holdsUntilEpochMs?: number
  /** Of a delisting that is announced when it takes effect. */
  readonly delistedAtEpochMs?: number
  /** Of a credit what the account has from there on, money atoms. */
  readonly balance?: bigint
  /** Of flags what they are from there on, as bits, and whether the account may trade. */
  readonly standing?: { readonly flags: number; readonly mayTrade: boolean }
  /** The order's price and total as decided; 0 on refusals. */
  readonly price: number
  readonly quantity: number
}

/** One trade, as it happened. */
export interface NaiveFill {
  /** Counts all trades of the venue, from 0. */
  readonly ordinal: number
  readonly sequence: number
  readonly atEpochMs: number
  readonly makerFee: bigint
  readonly takerFee: bigint
  readonly market: number
  readonly maker: NaiveOrder
  readonly taker: NaiveOrder
  readonly price: number
  readonly size: number
  readonly makerPositionBefore: number
  readonly takerPositionBefore: number
}

/** What one record must have done. */
export interface NaiveDecision {
  readonly outcomes: ReadonlyArray<NaiveOutcome>
  readonly fills: ReadonlyArray<NaiveFill>
  /** Orders that the record created or changed. */
  readonly touchedOrders: ReadonlySet<NaiveOrder>
  /** Accounts whose money, positions or orders it changed. */
  readonly touchedAccounts: ReadonlySet<number>
  /** Orders whose rest was cancelled because the record had met as many resting orders as it may. */
  readonly metEnough: ReadonlySet<number>
  /** A rule about records as such that it broke: the venue should never have journaled it. */
  readonly illegal: string | undefined
  /** Of a tick, how many marks were due, also of an index that grew stale while the tick waited for its turn. */
  readonly ticked: number
  /** Accounts whose dead-man switch fired in it. */
  readonly fired: ReadonlyArray<number>
  /** Accounts that were looked at for their liquidation, the insurance fund among them. */
  readonly looked: ReadonlyArray<number>
  /** Of a venue whose records leave some to the next one: what the record has done of that. */
  readonly examined: NaiveExamined | undefined
}

/**
 * Who is looked at with a record, where it looks at few of those whom a mark has come near: how near that is shows nowhere else, so it is
 * the engine's word whom a record has left. Whether it may leave him, a property says.
 */
export interface NaiveExamined {
  /** Those under liquidation behind the record. */
  readonly under: ReadonlySet<number>
  /** Whether some were left by the record before, and by this one. */
  readonly wasBehind: boolean
  readonly isBehind: boolean
  /** Those who are under their maintenance margin and were left. */
  readonly left: ReadonlyArray<number>
}

/** What is remembered under an Idempotency-Key. */
export interface NaiveMemory {
  /** Whether the venue is to remember it; a cancel that found nothing is decided, and not remembered. */
  readonly kept: boolean
  readonly sequence: number
  readonly atEpochMs: number
  /** The retention that held when it was decided. */
  readonly retentionMs: number
  readonly outcomes: ReadonlyArray<NaiveOutcome>
  readonly orders: ReadonlyArray<NaiveOrder>
}

/** What is open of an order, in size atoms. */
export const remaining = (order: NaiveOrder): number => order.quantity - order.filled - order.canceled

/** Until when an order that ended is kept. */
export const keptUntilEpochMs = ({ endedAtEpochMs, retentionMs }: NaiveOrder): number => endedAtEpochMs + retentionMs + orderExtraMs

/** Whether an order is still kept at a time, open or not. */
export const isKept = (order: NaiveOrder, atEpochMs: number): boolean => order.status === Order.open || atEpochMs < keptUntilEpochMs(order)
