/** The state of the reference model, and its decisions on each record: the vocabulary shared by the model and the properties. */
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import type * as Session from "../../src/domain/Session.js"
import type { Refusal } from "../../src/domain/Refusal.js"

/** How long an order and a key are remembered after their end, until an operator sets another retention. */
export const retentionMs = 24 * 60 * 60 * 1000

/** Ended orders are kept slightly longer than the keys that refer to them, and so are their clientOrderIds. */
export const orderExtraMs = 60_000

/** An order, kept from its placement for the model's lifetime. Quantities in size atoms. */
export interface NaiveOrder {
  /** The venue's own orders, parts of a liquidation and unwinding of the insurance fund, are in no list. */
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
  /** The connection whose end cancels it; undefined where there is none. */
  readonly connection?: number | undefined
  /** When it expires while it rests; 0 for never. */
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
  /** The longest retention in force when it was placed, amended or ended. */
  retentionMs: number
}

/** An ended order, in the queue of those to be forgotten. */
export interface NaiveEnded {
  readonly order: NaiveOrder
  /** When it joined the end of the queue. */
  readonly queuedAtEpochMs: number
}

/** A key or a fence, in the queue of those to be forgotten. */
export interface NaiveRemembered {
  readonly account: number
  readonly outcomes: number
  readonly retentionMs: number
  readonly isOver: (atEpochMs: number) => boolean
  readonly queuedAtEpochMs: number
}

/** The entries held of a table: in all, and of an account. */
export interface NaiveFound {
  readonly all: number
  readonly own: number
  /** Whether the record forgot as many as it may at once, so that more may be over. */
  readonly mayBeLess: boolean
}

/** A promise that no command under an identity will be accepted. */
export interface NaiveFence {
  readonly sequence: number
  readonly holdsUntilEpochMs: number
}

/** A position; size signed, long positive. Flat positions are absent. */
export interface NaivePosition {
  readonly quantity: number
  readonly entryNotional: bigint
}

/** A position from the fill that opens it to the fill that closes it. A flip ends one episode and begins the next. */
export interface NaiveEpisode {
  /** Counts all episodes of the venue, from 1. */
  readonly ordinal: number
  readonly openedAtEpochMs: number
  /** Money atoms, before fees. */
  realizedPnl: bigint
  /** Money atoms. Of a flip's fee, the part for its opening half. */
  feesPaid: bigint
  /** Money atoms; negative where more was received than paid. */
  fundingPaid: bigint
  /** The record of the last fill or funding payment. */
  lastSequence: number
}

/** The liquidation of an account that has fallen under its maintenance margin. */
export interface NaiveLiquidation {
  /** When it is examined next. */
  momentEpochMs: number
  /** When its first part was sent; 0 before that. */
  firstPartEpochMs: number
  /** The second of its last part. */
  partSecond: number
  /** What its last record had to leave of that part, having met as many orders as it may. */
  rest: { readonly market: NaiveMarket; readonly size: number } | undefined
}

/** An account's funding payment for one interval in one market. */
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

/** An unsettled funding payment of an account: the size it is for, and money atoms. */
export interface NaiveOwed {
  readonly quantity: number
  readonly paid: bigint
}

/** A funding payment of a market that is being settled. */
export interface NaivePaymentInLine {
  readonly market: NaiveMarket
  readonly funding: NaiveFunding
  /** Accounts for which it has still to be entered. */
  readonly owed: Map<NaiveAccount, NaiveOwed>
  /** The rounding remainder, for the insurance fund. */
  readonly rest: bigint
  /** The market's accounts, by index, that settlement has not reached; the last one is next. */
  readonly left: Array<number>
}

export interface NaiveAccount {
  readonly index: number
  readonly born: number
  readonly openedAtEpochMs: number
  readonly deposited: bigint
  collateral: bigint
  /** Whether it was opened by its owner without any money: it may not trade until it is credited. */
  waitsForCredit: boolean
  /** The last record that changed its money, its orders or its name. */
  lastSequence: number
  /** By market index. */
  readonly positions: Map<number, NaivePosition>
  /** The current episode of each position, by market index. */
  readonly episodes: Map<number, NaiveEpisode>
  /** The markets that it entered, by an order or by its leverage, in order of first entry. */
  readonly cameTo: Set<number>
  /** The leverage set for each market, by market index; absent where it never set one. */
  readonly leverage: Map<number, number>
  /** Open orders, oldest first. */
  open: Array<NaiveOrder>
  /** Every order it ever placed, oldest first. */
  readonly placed: Array<NaiveOrder>
  /** When its dead-man switch fires; 0 while it is not armed. */
  cancelAllAtEpochMs: number
  /** The name under which others may see it; empty until one is set. */
  displayHandle: string
  /** Present from when the account falls under its maintenance margin until an examination finds it healthy, or flat. */
  liquidation: NaiveLiquidation | undefined
  /** Every change of its collateral, oldest first. */
  readonly ledger: Array<NaiveChange>
}

/** A change of an account's collateral: the record, the cause, the market (-1: none), the amount and the balance after it, money atoms. */
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
    | "takeover_difference"
  readonly market: number
  readonly amount: bigint
  readonly balance: bigint
}

/** How a market's index was formed, and the samples of its book. */
export interface NaiveRisk {
  index: number
  /** When the source observed the index, capped at the venue's clock; 0 before the first of its underlying. */
  source: number
  /** When the market came to its present underlying; 0 where it always had it. */
  underlyingSince: number
  /** A step of the index that waits for confirmation, with the source times of the first sample and of those that agreed. */
  held: { readonly price: number; readonly source: number; agreed: number | undefined } | undefined
  /** Since when the market has been live without a break. */
  liveSince: number
  /** When it last came back with a mark from before, or was opened with one; 0 where it never was. */
  backSince: number
  /** The second of its last mark. */
  second: number
  /** The five-second slot of its last book sample. */
  slot: number
  /** Twice the basis of each of the last samples, newest last. */
  basis: Array<bigint>
  /** The running funding interval since the epoch, and the samples of its premium. */
  interval: number
  premiums: Array<bigint>
  /** Results of ended intervals, oldest first. */
  readonly fundings: Array<NaiveFunding>
  /** The index at every tick, with the minute of each. */
  readonly ticks: Array<{ readonly minute: number; readonly index: number }>
  /** Marks with their inputs, oldest first. */
  readonly marks: Array<NaiveMark>
}

/** A mark and its inputs; an impact price that a thin side does not have is undefined. */
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
  /** Set to 0 where as many payments of its market wait as there may be. */
  rate8h: bigint
  readonly premium: bigint
  readonly index: number
  readonly samples: number
  readonly intervalMs: number
}

/** A market's last journaled session, advanced by elapsed time. */
export interface NaiveSession {
  state: Session.State
  /** The time of the record that last changed it. */
  asOf: number
  opens: number
  closes: number
  cutoff: number
}

/** A delisting, announced or in effect. */
export interface NaiveDelisting {
  state: "announced" | "settling" | "settled"
  effectiveAtEpochMs: number
  finalPrice: number
  settledAtEpochMs: number
  /** The settlement's current step. */
  phase: "orders" | "deficits" | "closing"
  /** Accounts that were examined for deficits, and later those passed over in the closing. */
  readonly done: Set<number>
  /** When the closing is tried again; 0 while it is in progress. */
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
  /** Parameters that take effect at a future time. */
  announced: { readonly effectiveAtEpochMs: number; readonly parameters: Market.Parameters } | undefined
  /** The state of its delisting. */
  delisting: NaiveDelisting | undefined
  /** Accounts that entered it, by an order or by a leverage, in order of first entry. */
  readonly came: Set<number>
  /** The largest former position limit under which a position may still be held. */
  widest: number
  lastPrice: number
  /** The last record that added, removed or resized a resting order; 0 before the first. */
  bookSequence: number
  /** The last record that set its parameters or status, or in which it traded. */
  sequence: number
  /** Resting orders, oldest first. */
  resting: Array<NaiveOrder>
  /** Every trade, oldest first. */
  readonly trades: Array<NaiveFill>
}

/** A market's trading in the last 24 h, in whole minutes including the running one. */
export interface NaiveDay {
  readonly volumeQuote: bigint
  readonly volumeBase: bigint
  readonly high: number
  readonly low: number
  /** The last price as of 24 h ago, or the first ever. */
  readonly open: number
  readonly changeBps: number
}

/** The values compared by a refusal, as reported: decimals at the market's scale or of money, whole numbers, a market's status. */
export interface NaiveCompared {
  readonly limit?: string
  readonly actual?: string
  readonly nearest?: string
}

/** The reported effect of announced parameters. */
export interface NaiveAnnounced {
  readonly effectiveAtEpochMs: number
  /** Left out where more accounts entered the market than one record counts. */
  readonly underInitialMargin?: number
  readonly underMaintenanceMargin?: number
}

/** The expected result of one entry. */
export interface NaiveOutcome {
  readonly refusal: Refusal
  /** For a refusal the values that the venue compared; empty if it compares none, or was found before the record. */
  readonly compared: NaiveCompared
  /** The order placed or cancelled, also for a refused attempt; an account's index; otherwise -1. */
  readonly orderNumber: number
  readonly status: Order.Status
  readonly cancelReason: Order.CancelReason
  readonly filled: number
  readonly filledNotional: bigint
  /** For a cancel-all or an operator's cancel: the number of orders cancelled. */
  readonly canceled: number
  /** For an operator's cancel: how many matching orders are still open afterwards. */
  readonly left: number
  /** For announced parameters: when they take effect, and how many holders would be under their margins if they did at once. */
  readonly announced?: NaiveAnnounced
  /** For a fence: until when it holds. */
  readonly holdsUntilEpochMs?: number
  /** For an announced delisting: when it takes effect. */
  readonly delistedAtEpochMs?: number
  /** For a credit: the account's balance after it, money atoms. */
  readonly balance?: bigint
  /** For flags: the resulting flags as bits, and whether the account may trade. */
  readonly standing?: { readonly flags: number; readonly mayTrade: boolean }
  /** The order's price and total as decided; 0 for refusals. */
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

/** The expected effects of one record. */
export interface NaiveDecision {
  readonly outcomes: ReadonlyArray<NaiveOutcome>
  readonly fills: ReadonlyArray<NaiveFill>
  /** Orders that the record created or changed. */
  readonly touchedOrders: ReadonlySet<NaiveOrder>
  /** Accounts whose money, positions or orders it changed. */
  readonly touchedAccounts: ReadonlySet<number>
  /** Orders whose remainder was cancelled because the record had met the maximum number of resting orders. */
  readonly metEnough: ReadonlySet<number>
  /** A rule about records as such that it broke: the venue should never have journaled it. */
  readonly illegal: string | undefined
  /** For a tick, the number of marks that were due in its turn, including those of markets that its record ended first. */
  readonly ticked: number
  /** Accounts whose dead-man switch fired in it. */
  readonly fired: ReadonlyArray<number>
  /** Accounts examined for their liquidation, the insurance fund among them. */
  readonly looked: ReadonlyArray<number>
  /** The margin checks that the record left to the next one, where the venue does that. */
  readonly examined: NaiveExamined | undefined
}

/**
 * Which accounts a record examines because marks have come near their liquidation prices, where it cannot examine all. How near is near
 * shows nowhere else, so the engine says whom a record has left; a property checks whether it may.
 */
export interface NaiveExamined {
  /** Accounts under liquidation after the record. */
  readonly under: ReadonlySet<number>
  /** Whether the previous record left some, and whether this one does. */
  readonly wasBehind: boolean
  readonly isBehind: boolean
  /** Accounts that are under their maintenance margin and were left. */
  readonly left: ReadonlyArray<number>
}

/** The decision remembered under an Idempotency-Key. */
export interface NaiveMemory {
  /** Whether the venue has to remember it; a cancel that found nothing is decided, and not remembered. */
  readonly kept: boolean
  readonly sequence: number
  readonly atEpochMs: number
  /** The retention in force when it was decided. */
  readonly retentionMs: number
  readonly outcomes: ReadonlyArray<NaiveOutcome>
  readonly orders: ReadonlyArray<NaiveOrder>
}

/** The open size of an order, size atoms. */
export const remaining = (order: NaiveOrder): number => order.quantity - order.filled - order.canceled

/** Until when an ended order is kept. */
export const keptUntilEpochMs = ({ endedAtEpochMs, retentionMs }: NaiveOrder): number => endedAtEpochMs + retentionMs + orderExtraMs

/** Whether an order is still kept at a time; an open one always is. */
export const isKept = (order: NaiveOrder, atEpochMs: number): boolean => order.status === Order.open || atEpochMs < keptUntilEpochMs(order)
