/**
 * What may be read from the engine between two records. Current state is not copied: the edge reads it here, and sends nothing
 * before the sequence at which it was read is durable (the barrier).
 *
 * Views are fresh plain objects, which a caller may keep.
 */
import type * as Market from "../domain/Market.js"
import type * as Order from "../domain/Order.js"
import type { AutoClose } from "../operations/accounts/AutoClose.js"
import type { Operation, Outcome } from "../operations/Operations.js"
import type { StepName, TransferKind, TransferStatus } from "../operations/funds/Transfers.js"
import type { OrderDecided } from "../operations/orders/OrderDecided.js"
import type { PlaceEntry } from "../operations/orders/PlaceOrders.js"
import type { Refused } from "../operations/Outcome.js"
import type { AccountView } from "./Accounts.js"
import type { Principal, Remembering } from "../operations/Header.js"
import type { ApiKey } from "./accounts/ApiKeys.js"
import type { Grant } from "./identity/Grants.js"
import type { Passkey } from "./identity/Passkeys.js"
import type { Alarm, Stop } from "./funds/Funds.js"
import type { Party } from "./funds/Parties.js"
import type { Step } from "./funds/Steps.js"
import type { Withheld } from "./funds/Moving.js"
import type { Awaited, LedgerOutcome, Transfer } from "./funds/Transfer.js"
import { type KindName, kinds, type SecurityEvent } from "./identity/SecurityLog.js"
import type { Session } from "./identity/Sessions.js"
import type { TicketFamily } from "./identity/Tickets.js"
import type { LevelWatch } from "./Book.js"
import type { Fill, FillsAsked, FillsFound, OldestFill } from "./Fills.js"
import type { Ranking as RankingView } from "./accounts/Rankings.js"
import { type BalanceChange, type CauseName, causes, type Place } from "./BalanceLog.js"
import type { Funding as FundingView } from "./FundingLog.js"
import type { PlacedPayment } from "./FundingPayments.js"
import type { MarkMade as MarkView } from "./MarkLog.js"
import { type FundMovement, type LiquidationStep, type MovementKind, movementKinds, type StepKind } from "./LiquidationLog.js"
import type { TouchedPart } from "./markets/Announced.js"
import type { PutComesTo } from "./markets/Deciding.js"
import type { Announcement, Delisting, StandingSession } from "./Markets.js"
import type { Day } from "./Minutes.js"

export type GrantView = Grant
export type PasskeyView = Passkey
export type TicketFamilyView = TicketFamily
export {
  expiresAt as ticketExpiresAt,
  isJustReplaced as isTicketJustReplaced,
  type ShownTicket,
  standingOf as ticketStandingOf
} from "./identity/Tickets.js"
export type SecurityEventView = SecurityEvent
/** The number of an account's security events so far, and the sequence of the oldest event that may be kept of any account. */
export interface SecurityStanding {
  readonly count: number
  readonly oldestSequence: number
}
export type PartyView = Party
/** Kinds of security events. */
export const securityKinds = kinds.slice(1) as ReadonlyArray<KindName>

export type { RankingView, Fill, FundingView, MarkView, PlacedPayment, TouchedPart }

/** Whether a market's delisting has taken effect, so that it accepts neither prices nor sessions. */
export const isDelisted = ({ delisting }: Pick<MarketView, "delisting">): boolean =>
  delisting !== undefined && delisting.state !== "announced"

/** Why the insurance fund's money or positions changed. */
export const fundMovementCauses = movementKinds.slice(1) as ReadonlyArray<MovementKind>

/** Why a balance changed. */
export const balanceCauses = causes.slice(1) as ReadonlyArray<CauseName>
/** The cause with a code. */
export const balanceCause = (code: number): CauseName => causes[code] as CauseName

export type { Place as BalancePlace } from "./BalanceLog.js"

/** A change of an account's balance. */
export type BalanceChangeView = Omit<BalanceChange, "cause"> & { readonly cause: CauseName }

/** A delisting as published. `finalPriceAtoms` is 0 until it has taken effect, and for a market that never had an index. */
export type DelistingView = Readonly<Pick<Delisting, "state" | "effectiveAtEpochMs" | "finalPriceAtoms" | "settledAtEpochMs">>

/** What a delisting still has to settle. */
export interface DelistingOutlook {
  /**
   * The final price, or what it would be if the market were delisted at the given time, or at the last record's; price atoms, 0 where
   * there is no index.
   */
  readonly finalPriceAtoms: number
  /** Size atoms held long, which equal those held short. */
  readonly openInterestAtoms: number
  readonly openOrders: number
  /** When a settlement that found no counterparty is tried again, or was to be tried last; 0 for any other. */
  readonly againAtEpochMs: number
  /** Whether the delisting is announced and its time is over by a minute at that time: it is announced anew then, for later. */
  readonly isMissed: boolean
}

/** A market: its parameters and what changes as it trades. */
export interface MarketView {
  readonly index: number
  readonly parameters: Market.Parameters
  readonly status: Market.Status
  /** Price atoms of the last trade; 0 before the first. */
  readonly lastPriceAtoms: number
  /** Price atoms of the last accepted index sample; 0 before the first. */
  readonly indexPriceAtoms: number
  /** The source's time of that sample; 0 before the first. */
  readonly indexSourceEpochMs: number
  /** Whether a step of the index is held back until later samples agree with it. */
  readonly isIndexHeld: boolean
  /** Change from the last trade 24 h ago (or the first ever) to the last trade, truncated toward zero; 0 without trades. */
  readonly change24hBps: number
  /** The last record that changed the published book. */
  readonly bookSequence: number
  /** The market's session; undefined in a market without sessions. Until one is journaled it is closed, as of time 0. */
  readonly session: StandingSession | undefined
  /** Announced parameters with their effective time; undefined where there are none. */
  readonly announced: Announcement | undefined
  /** The state of the market's delisting; undefined while there is none. */
  readonly delisting: DelistingView | undefined
  /** The last record that changed the market's snapshot (status, session, parameters, announcements, last price). */
  readonly marketSequence: number
}

/** An order, open or remembered. Sizes and prices in the market's atoms, notional in money atoms. */
export interface OrderView {
  readonly orderNumber: number
  readonly account: number
  readonly market: number
  readonly status: Order.Status
  readonly cancelReason: Order.CancelReason
  readonly side: Order.Side
  readonly type: Order.Type
  readonly timeInForce: Order.TimeInForce
  /** Price atoms; 0 for a market order without a worst price. */
  readonly priceAtoms: number
  readonly quantityAtoms: number
  readonly filledAtoms: number
  readonly filledNotionalAtoms: number
  readonly canceledAtoms: number
  readonly postOnly: boolean
  readonly reduceOnly: boolean
  readonly selfTradePrevention: Order.SelfTradePrevention
  /** Empty when the client gave none. */
  readonly clientOrderId: string
  readonly idempotencyKey: string
  /** When a resting order expires; 0 for never, and once it has ended. */
  readonly expiresAtEpochMs: number
  /** The order's take-profit and stop-loss, while it is open or any of them is armed. */
  readonly autoClose: AutoClose
  readonly createdAtEpochMs: number
  readonly updatedAtEpochMs: number
  readonly lastSequence: number
}

/** A bracket: a take-profit or a stop-loss for part of a position. */
export interface BracketView {
  /** For one that came with an order, the order's number. */
  readonly number: number
  readonly market: number
  /** The direction of the position that it closes. */
  readonly isLong: boolean
  /** The largest quantity that it closes; 0 while nothing is left of what its order has opened. */
  readonly quantityAtoms: number
  readonly cameWithOrder: boolean
  /** When it is armed again after its order was filled in part; 0 where it is not waiting. */
  readonly againAtEpochMs: number
  readonly autoClose: AutoClose
  readonly createdAtEpochMs: number
  readonly lastSequence: number
}

/** A position that is not flat. */
export interface PositionView {
  /** The ordinal with which the episode began, for `positionId`. */
  readonly born: number
  readonly account: number
  readonly market: number
  /** Size atoms, long positive. Never 0. */
  readonly quantityAtoms: number
  /** Money atoms, unsigned. */
  readonly entryNotionalAtoms: number
  readonly markPriceAtoms: number
  /** Money atoms, at the mark. */
  readonly unrealizedPnlAtoms: number
  /** The notional at the mark and the margins that the position alone would need, money atoms: the account's margin is crossed. */
  readonly notionalAtoms: number
  readonly initialMarginAtoms: number
  readonly maintenanceMarginAtoms: number
  /** The effective leverage limit: the account's setting, capped by the market's maximum. */
  readonly leverageX: number
  /**
   * The mark at which the account falls below its maintenance margin, while all other marks stay as they are; 0 where there is none
   * within the market's price bounds.
   */
  readonly liquidationPriceAtoms: number
  /** Money atoms realised in this episode, before fees. */
  readonly realizedPnlAtoms: number
  /** Money atoms of fees paid in this episode. */
  readonly feesPaidAtoms: number
  /** Funding paid in this episode, money atoms; negative where more was received. */
  readonly fundingPaidAtoms: number
  readonly openedAtEpochMs: number
  readonly lastSequence: number
}

/** An account's money at one moment, all in money atoms. */
export interface BalanceView {
  readonly account: number
  readonly accountId: string
  readonly collateralAtoms: number
  /** Collateral plus unrealised PnL at the mark; a bigint where it exceeds the safe integers. */
  readonly equityAtoms: number | bigint
  /** Collateral plus unrealised losses only: what backs new risk. */
  readonly marginEquityAtoms: number
  /** A bigint where it exceeds the safe integers. */
  readonly unrealizedPnlAtoms: number | bigint
  readonly initialMarginAtoms: number
  readonly maintenanceMarginAtoms: number
  /** What the open orders would lose at once if they were filled. */
  readonly orderLossAtoms: number
  /** max(0, marginEquity - orderLoss - initialMargin). */
  readonly availableAtoms: number
  /** The available amount, but 0 while the account has a position in a market that is not live. */
  readonly withdrawableAtoms: number
  /** Whether it is under liquidation. No record of the account need begin or end that: a mark may. */
  readonly isUnderLiquidation: boolean
  /** The last record that changed this account. */
  readonly lastSequence: number
}

/** Every account's equity at one sequence, in money atoms. A copy, which the caller may keep. */
export interface EquitiesView {
  /** By account: collateral plus unrealised PnL at the mark; negative only where the account is about to be liquidated. */
  readonly equityAtoms: Float64Array
  /** Collateral of all accounts, including the insurance fund. */
  readonly collateralAtoms: bigint
  /** Entry notionals of all shorts minus those of all longs. */
  readonly entryImbalanceAtoms: bigint
}

/** An account's margin together with one of its positions, money in money atoms. */
export interface MarginView {
  /** A bigint where it exceeds the safe integers. */
  readonly equityAtoms: number | bigint
  readonly marginEquityAtoms: number
  readonly initialMarginAtoms: number
  readonly maintenanceMarginAtoms: number
  readonly orderLossAtoms: number
  readonly availableAtoms: number
  /** The position, size atoms, long positive; 0 when flat. */
  readonly quantityAtoms: number
  /** The liquidation price of the position; 0 for none. */
  readonly liquidationPriceAtoms: number
}

/** The result of a placement that is only previewed. */
export interface PreviewView {
  /** The decision, or the refusal. */
  readonly outcome: OrderDecided | Refused
  /** Fees of the immediate fills, money atoms. */
  readonly feesAtoms: number
  readonly before: MarginView
  /** Undefined where the entry is refused. */
  readonly after: MarginView | undefined
}

/** Price levels as [priceAtoms, sizeAtoms], best first. */
export interface BookView {
  readonly bids: ReadonlyArray<readonly [number, number]>
  readonly asks: ReadonlyArray<readonly [number, number]>
}

/** An API key as the venue knows it. */
export interface ApiKeyView extends ApiKey {
  /** The principal for commands sent with the key, and the engine's number of the credential. */
  readonly principal: typeof Principal.key
  readonly credential: number
}

/** An owner's session. */
export interface SessionView extends Session {
  readonly principal: typeof Principal.session
  readonly credential: number
}

/** A credential that acts for an account. */
export type Trader = ApiKeyView | SessionView

/** A decision remembered under a client's idempotency key. */
export interface RememberedOutcome {
  readonly operation: Operation
  readonly outcome: Outcome
}

/** The filter of a listing of orders. */
export interface OrderFilter {
  /** `anyMarket` for all. */
  readonly market: number
  /** Undefined for all. */
  readonly status: Order.Status | undefined
}

/** Orders, newest first. */
export interface OrderPage {
  readonly orders: ReadonlyArray<OrderView>
  /** Where the next page begins, an order number; undefined at the end. A short page may still have a next one. */
  readonly nextBefore: number | undefined
}

/** A market's figures over the last 24 h, and its current prices. */
export interface StatsView extends Day {
  readonly lastPriceAtoms: number
  readonly indexPriceAtoms: number
  readonly indexSourceEpochMs: number
  readonly markPriceAtoms: number
  /** Size atoms. */
  readonly openInterestBaseAtoms: number
  /** Money atoms, at the mark. */
  readonly openInterestQuoteAtoms: bigint
  readonly change24hBps: number
  /** Whether the index is stale, so that the market only takes reducing orders. */
  readonly isStale: boolean
  /** Whether a step of the index is held back until later samples agree with it. */
  readonly isIndexHeld: boolean
  /** Funding rates of the last interval and of the current one so far, per 8 hours and per interval, in 10^-9. */
  readonly fundingRate8hE9: number
  readonly fundingRateE9: number
  readonly predictedFundingRate8hE9: number
  readonly predictedFundingRateE9: number
  /** When funding may be paid next, epoch milliseconds; 0 where that is not known, and in a delisted market. */
  readonly nextFundingEpochMs: number
}

/** How full each bounded table is. */
export interface Occupancy {
  readonly orders: number
  readonly orderCapacity: number
  readonly openOrders: number
  readonly idempotencyEntries: number
  readonly idempotencyCapacity: number
  readonly accounts: number
  readonly apiKeys: number
  /** Accounts under liquidation, without the insurance fund. */
  readonly underLiquidation: number
}

/** The engine's limits that clients have to know. Times are milliseconds. */
export interface LimitsView {
  /** The retention of what is decided now. */
  readonly retentionMs: number
  /** Since when it applies; 0 for from the beginning. */
  readonly retentionSinceEpochMs: number
  /** How much longer than its retention an ended order is kept. */
  readonly endedOrderExtraMs: number
  /** Most open orders of an account in a market. */
  readonly openOrders: number
  /** Most brackets of a position. */
  readonly brackets: number
  /** Most resting orders that the incoming orders of one record meet. */
  readonly ordersMet: number
  readonly noticeMs: number
  readonly fillsKept: number
  /** Most active API keys of an account. */
  readonly keys: number
  /** Most live ticket families of a key. */
  readonly ticketFamilies: number
  /** Most unfinished deposits, and withdrawals, of an account. */
  readonly openDeposits: number
  readonly openWithdrawals: number
}

/** A step of a liquidation with its unique number. */
export type LiquidationStepView = Omit<LiquidationStep, "step"> & { readonly ordinal: number; readonly step: StepKind }

/** The insurance fund; the balance is undefined while it has never had money. */
export interface InsuranceFundView {
  readonly balance: BalanceView | undefined
  readonly positions: ReadonlyArray<PositionView>
  readonly movements: ReadonlyArray<Omit<FundMovement, "movement"> & { readonly movement: MovementKind }>
}

/**
 * A deposit, withdrawal or change of party with all that is kept of its steps. A public representation must leave out the prepared
 * transactions, their hashes and the approvals.
 */
export interface TransferView extends Transfer {
  /** `dep_...`, `wdr_...` or `pch_...`. */
  readonly id: string
  readonly status: TransferStatus
  readonly awaits: Awaited
  /**
   * The step that may go on; undefined where none may. After the end of a transfer it can only be the one that withdraws an offer.
   */
  readonly stepAtHand: Step | undefined
  readonly ledgerOutcome: LedgerOutcome | undefined
}

/** Which transfers of an account may have been forgotten, see `Reads`. */
export interface ForgottenTransfers {
  readonly knownFrom: number
  readonly bySequence: number
}

/** The step that a ledger command belongs to. */
export interface StepOfCommandView {
  readonly transfer: number
  readonly step: StepName
}

/** Totals of money on the ledger, in money atoms, and how far the ledger was read. */
export interface FundsView {
  /** Credited by deposits, spent by withdrawals, and held for unfinished withdrawals. */
  readonly depositedAtoms: bigint
  readonly withdrawnAtoms: bigint
  readonly reservedAtoms: bigint
  /** Credited to demo accounts, without a ledger. */
  readonly creditedAtoms: bigint
  /** Fees that the venue has collected, and funding that was paid but not received yet. */
  readonly feesAtoms: bigint
  readonly fundingPoolAtoms: bigint
  /** The offset up to which all completions were read, and the ledger's record time there. */
  readonly offset: number
  readonly recordTimeEpochMs: number
  /** Why withdrawals are stopped; undefined where they are not. */
  readonly stop: Stop | undefined
  /** The ledger deficit that an operator has accepted, money atoms, 0 or negative. */
  readonly acceptedAtoms: number
  /** How often each alarm was raised. */
  readonly alarms: Readonly<Record<Alarm, number>>
  /** Use of the bounded tables: unfinished transfers, characters of prepared transactions, and all transfers kept. */
  readonly openTransfers: number
  readonly openCapacity: number
  readonly preparedLength: number
  readonly preparedCapacity: number
  readonly keptTransfers: number
  /** The smallest deposit and withdrawal, money atoms. */
  readonly minDepositAtoms: number
  readonly minWithdrawalAtoms: number
}

/** Where the kept history of accounts' money begins, see `Reads`. */
export interface OldestMoney {
  readonly changeSequence: number
  readonly paymentSequence: number
  readonly paymentAtEpochMs: number
}

export interface Reads {
  /** The sequence and time of the last record applied. Every read is consistent with this sequence. */
  readonly sequence: number
  readonly atEpochMs: number
  /** The environment for which the journal was opened; empty before. */
  readonly environment: string
  /** The version of the rules in force; 0 before the venue was opened. */
  readonly rules: number
  /** Whether a global halt is on. */
  readonly halted: boolean
  /** Account index by id, or -1. */
  readonly findAccount: (accountId: string) => number
  readonly accountId: (account: number) => string
  readonly account: (account: number) => AccountView
  /** Market index by `marketId`, or -1. Includes drafts: the caller must check whether the public may see one. */
  readonly findMarket: (marketId: string) => number
  /** Market index by compat symbol, or -1. */
  readonly findSymbol: (symbol: string) => number
  readonly marketCount: number
  readonly market: (market: number) => MarketView
  /**
   * How many accounts a market's announced parameters would affect at present marks, one page of accounts beginning at a place;
   * undefined where none are announced.
   */
  readonly touched: (market: number, from: number) => TouchedPart | undefined
  /** How many accounts hypothetical parameters of a market would affect at present marks, one page of accounts beginning at a place. */
  readonly touchedBy: (market: number, parameters: Market.Parameters, from: number) => TouchedPart
  /** What a put of parameters would result in now (`effectiveAtEpochMs` 0: at once). Changes nothing. */
  readonly putComesTo: (parameters: Market.Parameters, effectiveAtEpochMs: number) => PutComesTo | Refused
  /** What a delisting of the market would still have to settle. */
  readonly delistingOutlook: (market: number, atEpochMs?: number) => DelistingOutlook
  /** The last record that changed the snapshot of any market: the registry's sequence. */
  readonly registrySequence: number
  /** An order, if the venue remembers it and it belongs to the account. */
  readonly findOrder: (account: number, orderNumber: number) => OrderView | undefined
  /** The account of a remembered order; -1 where the order is unknown. */
  readonly orderAccount: (orderNumber: number) => number
  /** Whether any order that is open leaves the books when an armed connection ends. */
  readonly hasOrdersOver: (connection: number) => boolean
  /** Open orders of an account, oldest first; of one market unless `anyMarket`. */
  readonly openOrders: (account: number, market: number) => ReadonlyArray<OrderView>
  /** The account's remembered orders, newest first, older than an order number (`Infinity`: from the newest). */
  readonly orders: (account: number, filter: OrderFilter, beforeNumber: number, limit: number) => OrderPage
  /** The account's remembered order with a clientOrderId. */
  readonly findClientOrder: (account: number, clientOrderId: string) => OrderView | undefined
  /** What is remembered under a key of the account, over all operations. */
  readonly findOutcomes: (account: number, idempotencyKey: string) => ReadonlyArray<RememberedOutcome>
  /** The decision that would be repeated for the very same request at a given time; undefined where it would be decided anew. */
  readonly remembered: (request: Remembering, atEpochMs: number) => Outcome | undefined
  /** Whether anything is remembered under an operator's key, whatever was asked under it. */
  readonly isRemembered: (operation: Operation, idempotencyKey: string, atEpochMs: number) => boolean
  /** Whether an operator's request under a key was accepted, as long as its row is in the table, even if it has expired. */
  readonly wasAccepted: (operation: Operation, idempotencyKey: string) => boolean
  /** Whether a key or, if not empty, a clientOrderId has been fenced. */
  readonly isFenced: (account: number, idempotencyKey: string, clientOrderId: string) => boolean
  /**
   * Whether a key or an order of the account has been forgotten, or this key has expired: the venue cannot say "never seen" then.
   */
  readonly hasForgotten: (account: number, idempotencyKey: string) => boolean
  /** When the account's dead-man switch fires; 0 while it is not armed. */
  readonly cancelAllAtEpochMs: (account: number) => number
  /**
   * Retained fills of an account, newest first, in one market unless `anyMarket`, below an ordinal (`Infinity`: from the newest).
   */
  readonly fills: (account: number, market: number, before: number, limit: number) => ReadonlyArray<Fill>
  /** Retained trades of a market, newest first, below an ordinal (`Infinity`: from the newest). */
  readonly trades: (market: number, before: number, limit: number) => ReadonlyArray<Fill>
  /** The first `limit` retained trades of a market at or after a time, oldest first. */
  readonly tradesSince: (market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<Fill>
  /**
   * Some of the fills that are asked for: those among `most` of the account's retained ones, from its newest on or from the ordinal `from`,
   * which is the `next` of what was found before. Fills may be added meanwhile, which are left out, and forgotten: there they end.
   */
  readonly fillsAmong: (asked: FillsAsked, most: number, from?: number) => FillsFound
  /**
   * The first `limit` retained fills of an account, in one market unless `anyMarket`, at or after a time, oldest first; undefined where
   * more than `most` of the venue's fills would have to be looked at.
   */
  readonly fillsSince: (
    account: number,
    market: number,
    sinceEpochMs: number,
    limit: number,
    most: number
  ) => ReadonlyArray<Fill> | undefined
  /**
   * The ordinal, record and time of the venue's oldest retained fill: all earlier ones are forgotten. All 0 while none has been.
   */
  readonly oldestFill: () => OldestFill
  /** As of the last record; whether the running interval can still be paid, and when the next one ends, may go by a later time. */
  readonly stats: (market: number, atEpochMs?: number) => StatsView
  /** Whether the last record, which was applied here, sampled any market's book: without it no market has to be asked for. */
  readonly hasSampledAny: () => boolean
  /** Whether the last record sampled a market's book, so that its running funding rate may have moved, which no event reports. */
  readonly hasSampled: (market: number) => boolean
  /** Ended funding intervals of a market since a time, newest first, at most `limit`. */
  readonly fundings: (market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<FundingView>
  /** Retained marks of a market since a time, newest first, at most `limit`. */
  readonly marks: (market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<MarkView>
  /** Open positions, by market index. */
  readonly positions: (account: number) => ReadonlyArray<PositionView>
  /** An account's money; the withdrawable amount as of `nowEpochMs`, where that is later than the last record. */
  readonly balance: (account: number, nowEpochMs?: number) => BalanceView
  /** The last record that changed an account's orders, fills, positions, balance or transfers. */
  readonly accountSequence: (account: number) => number
  /** The last record that changed any of its positions, or a later one of the account where that is not known exactly. */
  readonly positionsSequence: (account: number) => number
  /** The equities of all accounts at once; undefined while funding is being settled. */
  readonly equities: () => EquitiesView | undefined
  /** Retained balance changes of an account, newest first, in one market unless `anyMarket`, before a place if one is given. */
  readonly balanceChanges: (account: number, market: number, before: Place | undefined, limit: number) => ReadonlyArray<BalanceChangeView>
  /** Brackets of an account by market, then oldest first; in one market unless `anyMarket`. */
  readonly brackets: (account: number, market: number) => ReadonlyArray<BracketView>
  /** Retained liquidation steps in a market since a time, newest first, at most `limit`. */
  readonly liquidations: (market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<LiquidationStepView>
  /** Retained liquidation steps in which an account was on either side, since a time, newest first, at most `limit`. */
  readonly liquidationsOf: (account: number, sinceEpochMs: number, limit: number) => ReadonlyArray<LiquidationStepView>
  /** Retained funding payments of an account since a time, newest first, at most `limit`, before a place if one is given. */
  readonly fundingPayments: (account: number, sinceEpochMs: number, limit: number, before?: Place) => ReadonlyArray<PlacedPayment>
  /**
   * The records of the venue's oldest retained balance change and of its oldest retained funding payment, and the time of that payment.
   * What came in earlier records is forgotten, and some of what came in these records may be. Each is 0 while nothing is forgotten.
   */
  readonly oldestMoney: () => OldestMoney
  /** Retained deleveraging rankings of a market, begun since a time, newest first, at most `limit`. */
  readonly deleveragings: (market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<RankingView>
  /** The insurance fund, with its retained movements since a time, newest first, at most `limit`. */
  readonly insuranceFund: (sinceEpochMs: number, limit: number) => InsuranceFundView
  /** The leverage limit that an account has set in a market; 0 where it has set none. */
  readonly leverage: (account: number, market: number) => number
  /** The result of an account's placement at the current sequence and a given time. Changes nothing. */
  readonly preview: (account: number, entry: PlaceEntry, atEpochMs: number) => PreviewView
  /** Price levels of both sides, at most `depth` each. */
  readonly book: (market: number, depth: number) => BookView
  /** Size atoms that rest at a price of a side; 0 for none. */
  readonly levelSize: (market: number, side: Order.Side, priceAtoms: number) => number
  /** Calls `watch` from now on for every price of a market's book whose size changes; undefined ends it. */
  readonly watchLevels: (market: number, watch: LevelWatch | undefined) => void
  /** API key by `keyId`, or undefined. */
  readonly findApiKey: (keyId: string) => ApiKeyView | undefined
  /** An API key by the number under which it was issued; undefined once it is forgotten. */
  readonly apiKey: (key: number) => ApiKeyView | undefined
  /** The keys of an account, newest first, at most `limit`. */
  readonly apiKeys: (account: number, limit: number) => ReadonlyArray<ApiKeyView>
  /** The name that an agent gave when its key was issued; undefined for other keys. */
  readonly clientName: (key: number) => string | undefined
  /** Whether a key belongs to one of the venue's own bots. */
  readonly isBotKey: (key: number) => boolean
  /** When a key was last used, as far as that was noted; 0 where it was not. */
  readonly keyLastUsedAt: (key: number) => number
  /** The latest addresses from which a key was used, as far as they were noted, oldest first. */
  readonly keyAddresses: (key: number) => ReadonlyArray<string>
  /**
   * A family of realtime tickets; undefined where it never existed or has been forgotten. `standingOf` gives the standing of a
   * ticket in it.
   */
  readonly findTicketFamily: (family: number) => TicketFamilyView | undefined
  /** Whether a market is among an account's favorites. */
  readonly isFavorite: (account: number, market: number) => boolean
  /** When an account became an affiliate; 0 where it is not one. */
  readonly affiliateSince: (account: number) => number
  /** The session with a token's SHA-256 that has not been ended; it may have expired. */
  readonly findSession: (tokenSha256: string) => SessionView | undefined
  /** The passkey with a credential id. */
  readonly findPasskey: (credentialId: string) => PasskeyView | undefined
  /** The passkeys of an account, oldest first. */
  readonly passkeys: (account: number) => ReadonlyArray<PasskeyView>
  /** A grant that an agent has not fetched yet, by the digest of its device code; it may have expired. */
  readonly findGrant: (deviceSha256: string) => GrantView | undefined
  /** The grants of an account that agents have not fetched yet, oldest first; some may have expired. */
  readonly grants: (account: number) => ReadonlyArray<GrantView>
  /** Retained security events of an account, newest first, at most `limit`, below an ordinal (`Infinity`: from the newest). */
  readonly securityEvents: (account: number, before: number, limit: number) => ReadonlyArray<SecurityEventView>
  /**
   * How many security events an account has had so far, numbered from 0, and the record of the oldest event that may be kept: where
   * none of the account is kept, all belong to that record or earlier ones.
   */
  readonly securityStanding: (account: number) => SecurityStanding
  /** A transfer by its number; undefined where it never existed or is no longer kept. */
  readonly transfer: (number: number) => TransferView | undefined
  /** The last record that changed any of an account's deposits, or a later one where that is not known exactly. */
  readonly depositsSequence: (account: number) => number
  /** Retained transfers of an account and a kind, newest first, at most `limit`, below a number (`Infinity`: from the newest). */
  readonly transfersOf: (account: number, kind: TransferKind, before: number, limit: number) => ReadonlyArray<TransferView>
  /**
   * The number from which on all transfers of an account are kept, 0 where all are; and the record that last forgot a transfer of
   * any account, or a later one.
   */
  readonly forgottenTransfers: (account: number) => ForgottenTransfers
  /** Unfinished transfers of all accounts, including failed deposits whose offer is to be withdrawn, oldest first. */
  readonly openTransfers: () => ReadonlyArray<TransferView>
  /** What withdrawals hold of each account, money atoms: a copy, in which accounts of which they hold nothing are missing. */
  readonly heldByWithdrawals: () => ReadonlyMap<number, bigint>
  /** Transfers of an account that have not ended, oldest first. */
  readonly openTransfersOf: (account: number) => ReadonlyArray<TransferView>
  /** Why an approved withdrawal that was never executed will not be begun; undefined if it will be, and for other transfers. */
  readonly withheldFor: (transfer: number) => Withheld | undefined
  /** Those of `openTransfers` that the venue, not the owner, has to continue: what a restart resumes. */
  readonly transfersToDrive: () => ReadonlyArray<TransferView>
  /** The step that a ledger command was prepared for; the latest if there were several. */
  readonly stepOfCommand: (commandId: string) => StepOfCommandView | undefined
  /** The ledger party of an account, once one is bound. */
  readonly party: (account: number) => PartyView | undefined
  /** The account of a party; -1 where it belongs to none. */
  readonly accountOfParty: (partyId: string) => number
  /** All parties, by account. */
  readonly parties: ReadonlyArray<PartyView>
  /** Whether there is any party. */
  readonly hasParties: boolean
  readonly funds: FundsView
  readonly occupancy: Occupancy
  readonly limits: LimitsView
}
