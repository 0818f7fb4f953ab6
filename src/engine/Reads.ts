/**
 * What may be read from the engine between two records. Current state is never copied: the edge reads it
 * here and lets nothing out before the sequence it was read at is durable (the barrier).
 *
 * Views are fresh plain objects; a caller may keep them.
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
import type { Fill, OldestFill } from "./Fills.js"
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
export { expiresAt as ticketExpiresAt, type ShownTicket, standingOf as ticketStandingOf } from "./identity/Tickets.js"
export type SecurityEventView = SecurityEvent
/** Events of an account's security that there have ever been, and the record of the oldest event that may be kept of anybody. */
export interface SecurityStanding {
  readonly count: number
  readonly oldestSequence: number
}
export type PartyView = Party
/** Kinds of events that concern the security of an account. */
export const securityKinds = kinds.slice(1) as ReadonlyArray<KindName>

export type { RankingView, Fill, FundingView, MarkView, PlacedPayment, TouchedPart }

/** Whether a market's delisting has taken effect: it takes no price and no session any more. */
export const isDelisted = ({ delisting }: Pick<MarketView, "delisting">): boolean =>
  delisting !== undefined && delisting.state !== "announced"

/** Why the insurance fund's money or positions changed. */
export const fundMovementCauses = movementKinds.slice(1) as ReadonlyArray<MovementKind>

/** Why a balance changed. */
export const balanceCauses = causes.slice(1) as ReadonlyArray<CauseName>
/** The one of a code. */
export const balanceCause = (code: number): CauseName => causes[code] as CauseName

export type { Place as BalancePlace } from "./BalanceLog.js"

/** A change of an account's balance. */
export type BalanceChangeView = Omit<BalanceChange, "cause"> & { readonly cause: CauseName }

/** A delisting as it is told. `finalPriceAtoms` is 0 until it has taken effect, and of a market that never had an index. */
export type DelistingView = Readonly<Pick<Delisting, "state" | "effectiveAtEpochMs" | "finalPriceAtoms" | "settledAtEpochMs">>

/** What a delisting has before it. */
export interface DelistingOutlook {
  /** What the final price is, or would be if the market was delisted with the last record; 0 where there is no index. */
  readonly finalPriceAtoms: number
  /** Size atoms that are long, and as many short. */
  readonly openInterestAtoms: number
  readonly openOrders: number
  /** When a settlement that found nobody left to close against is, or was last to be, gone through again; 0 for any other. */
  readonly againAtEpochMs: number
}

/** A market: its parameters and what changes while it trades. */
export interface MarketView {
  readonly index: number
  readonly parameters: Market.Parameters
  readonly status: Market.Status
  /** Price atoms of the last trade; 0 before the first. */
  readonly lastPriceAtoms: number
  /** Price atoms of the last index sample that was taken; 0 before the first. */
  readonly indexPriceAtoms: number
  /** When that sample was taken, by its source; 0 before the first. */
  readonly indexSourceEpochMs: number
  /** Last trade against the last trade 24 h earlier (or the first ever), truncated toward zero; 0 without trades. */
  readonly change24hBps: number
  /** The last record that changed the book as sent. */
  readonly bookSequence: number
  /** The market's session; undefined in one that is always open. Until one is journaled it is closed, as of 0. */
  readonly session: StandingSession | undefined
  /** Parameters that the market takes by itself at a time; undefined where none are announced. */
  readonly announced: Announcement | undefined
  /** How far the market's delisting has come; undefined while there is none. */
  readonly delisting: DelistingView | undefined
  /** The last record that changed the market's snapshot (status, session, parameters, what is announced, last price). */
  readonly marketSequence: number
}

/** An order, open or remembered. Atoms as in the market; notional in money atoms. */
export interface OrderView {
  readonly orderNumber: number
  readonly account: number
  readonly market: number
  readonly status: Order.Status
  readonly cancelReason: Order.CancelReason
  readonly side: Order.Side
  readonly type: Order.Type
  readonly timeInForce: Order.TimeInForce
  /** 0 for a market order without a worst price. */
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
  /** When a resting order is cancelled by itself; 0 for never, and once it has ended. */
  readonly expiresAtEpochMs: number
  /** What closes by itself what it opens, while it is open or any of that is armed. */
  readonly autoClose: AutoClose
  readonly createdAtEpochMs: number
  readonly updatedAtEpochMs: number
  readonly lastSequence: number
}

/** What closes a part of a position by itself. */
export interface BracketView {
  /** Of one that came with an order the order's number. */
  readonly number: number
  readonly market: number
  /** The direction of the position that it closes. */
  readonly isLong: boolean
  /** What it closes at most; 0 while its order has opened nothing that is left. */
  readonly quantityAtoms: number
  readonly cameWithOrder: boolean
  /** When it is armed again, after its order left a rest; 0 where it does not wait. */
  readonly againAtEpochMs: number
  readonly autoClose: AutoClose
  readonly createdAtEpochMs: number
  readonly lastSequence: number
}

/** A position that is not flat. */
export interface PositionView {
  /** Birth ordinal of the episode, for `positionId`. */
  readonly born: number
  readonly account: number
  readonly market: number
  /** Size atoms, long positive. Never 0. */
  readonly quantityAtoms: number
  /** Money atoms, unsigned. */
  readonly entryNotionalAtoms: number
  readonly markPriceAtoms: number
  /** Money atoms, at mark. */
  readonly unrealizedPnlAtoms: number
  /** Money atoms at mark, and what the position would need alone: its account's margin is crossed. */
  readonly notionalAtoms: number
  readonly initialMarginAtoms: number
  readonly maintenanceMarginAtoms: number
  /** The most leverage that counts: what the account has set, never more than the market allows. */
  readonly leverageX: number
  /**
   * The mark at which the account comes under its maintenance margin while all other marks stay as they are: at it and beyond;
   * 0 where there is none within the market's price bounds.
   */
  readonly liquidationPriceAtoms: number
  /** Money atoms realised in this episode, before fees. */
  readonly realizedPnlAtoms: number
  /** Money atoms of fees paid in this episode. */
  readonly feesPaidAtoms: number
  /** Funding of the running episode; negative where more was received. */
  readonly fundingPaidAtoms: number
  readonly openedAtEpochMs: number
  readonly lastSequence: number
}

/** An account's money at a moment. All in money atoms. */
export interface BalanceView {
  readonly account: number
  readonly accountId: string
  readonly collateralAtoms: number
  /** Collateral plus unrealised PnL at mark: a bigint where a number does not hold it. */
  readonly equityAtoms: number | bigint
  /** Collateral plus unrealised losses only: what backs new risk. */
  readonly marginEquityAtoms: number
  readonly unrealizedPnlAtoms: number
  readonly initialMarginAtoms: number
  readonly maintenanceMarginAtoms: number
  /** What the open orders would lose at once if filled. */
  readonly orderLossAtoms: number
  /** max(0, marginEquity - orderLoss - initialMargin). */
  readonly availableAtoms: number
  /** What could be withdrawn: what is available, and nothing while a position is held in a market that is not live. */
  readonly withdrawableAtoms: number
  /** The last record that changed this account. */
  readonly lastSequence: number
}

/** Every account's equity at one sequence, in money atoms. A copy, which its holder may keep. */
export interface EquitiesView {
  /** By account: collateral with unrealised PnL at mark; negative only of one that is about to be liquidated. */
  readonly equityAtoms: Float64Array
  /** Of all accounts, the insurance fund's included. */
  readonly collateralAtoms: bigint
  /** Entry notionals of all shorts less those of all longs. */
  readonly entryImbalanceAtoms: bigint
}

/** An account's margin with one of its positions, money in money atoms. */
export interface MarginView {
  /** A bigint where a number does not hold it. */
  readonly equityAtoms: number | bigint
  readonly marginEquityAtoms: number
  readonly initialMarginAtoms: number
  readonly maintenanceMarginAtoms: number
  readonly orderLossAtoms: number
  readonly availableAtoms: number
  /** The position, size atoms, long positive; 0 when flat. */
  readonly quantityAtoms: number
  /** As a position's; 0 for none. */
  readonly liquidationPriceAtoms: number
}

/** What a placement would come to. */
export interface PreviewView {
  /** What would be decided of it, or what refuses it. */
  readonly outcome: OrderDecided | Refused
  /** Fees of what it would fill at once. */
  readonly feesAtoms: number
  readonly before: MarginView
  /** Undefined where it is refused. */
  readonly after: MarginView | undefined
}

/** Price levels as [priceAtoms, sizeAtoms], best first. */
export interface BookView {
  readonly bids: ReadonlyArray<readonly [number, number]>
  readonly asks: ReadonlyArray<readonly [number, number]>
}

/** An API key as the venue knows it. */
export interface ApiKeyView extends ApiKey {
  /** The principal of what is sent by it, and the number by which the engine knows the credential. */
  readonly principal: typeof Principal.key
  readonly credential: number
}

/** An owner's session. */
export interface SessionView extends Session {
  readonly principal: typeof Principal.session
  readonly credential: number
}

/** Whoever acts for an account. */
export type Trader = ApiKeyView | SessionView

/** A decision that is remembered under a client's key. */
export interface RememberedOutcome {
  readonly operation: Operation
  readonly outcome: Outcome
}

/** What a listing of orders is narrowed to. */
export interface OrderFilter {
  /** `anyMarket` for all. */
  readonly market: number
  /** Undefined for all. */
  readonly status: Order.Status | undefined
}

/** Orders, newest first. */
export interface OrderPage {
  readonly orders: ReadonlyArray<OrderView>
  /** Where the next page begins, an order number; undefined at the end. A page may be short and still have a next. */
  readonly nextBefore: number | undefined
}

/** A market's figures over the last 24 h, and its prices now. */
export interface StatsView extends Day {
  readonly lastPriceAtoms: number
  readonly indexPriceAtoms: number
  readonly indexSourceEpochMs: number
  readonly markPriceAtoms: number
  /** Size atoms. */
  readonly openInterestBaseAtoms: number
  /** Money atoms, at mark. */
  readonly openInterestQuoteAtoms: bigint
  readonly change24hBps: number
  /** Whether the index is no longer fresh, so that the market only reduces. */
  readonly isStale: boolean
  /** Whether a step of its index waits for later samples to agree with it. */
  readonly isIndexHeld: boolean
  /** Of the last interval that ended, and of the running one so far: per 8 hours and per interval, in 10^-9. */
  readonly fundingRate8hE9: number
  readonly fundingRateE9: number
  readonly predictedFundingRate8hE9: number
  readonly predictedFundingRateE9: number
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
  /** Accounts under liquidation, the insurance fund left out. */
  readonly underLiquidation: number
}

/** The bounds that the engine keeps to, and that whoever sends commands has to know. Times are milliseconds. */
export interface LimitsView {
  /** How long what is decided now is remembered. */
  readonly retentionMs: number
  /** Since when; 0 from the beginning on. */
  readonly retentionSinceEpochMs: number
  /** So much longer than its retention an ended order is kept. */
  readonly endedOrderExtraMs: number
  /** Of an account in a market. */
  readonly openOrders: number
  /** Likewise. */
  readonly brackets: number
  /** Resting orders that the incoming orders of one record meet. */
  readonly ordersMet: number
  readonly noticeMs: number
  readonly fillsKept: number
  /** API keys of an account that may act. */
  readonly keys: number
  /** Of a key, that live. */
  readonly ticketFamilies: number
}

/** A step of a liquidation with the number that tells it from all others. */
export type LiquidationStepView = Omit<LiquidationStep, "step"> & { readonly ordinal: number; readonly step: StepKind }

/** The insurance fund: undefined money while it has had nothing. */
export interface InsuranceFundView {
  readonly balance: BalanceView | undefined
  readonly positions: ReadonlyArray<PositionView>
  readonly movements: ReadonlyArray<Omit<FundMovement, "movement"> & { readonly movement: MovementKind }>
}

/**
 * A deposit, withdrawal or change of party, with all that is kept of its steps: whoever shows it to anybody leaves out the prepared
 * transactions, their hashes and the approvals.
 */
export interface TransferView extends Transfer {
  /** `dep_...`, `wdr_...` or `pch_...`. */
  readonly id: string
  readonly status: TransferStatus
  readonly awaits: Awaited
  /** What may be gone on with; undefined where nothing may: of a transfer that is over, the withdrawal of its offer alone. */
  readonly stepAtHand: Step | undefined
  readonly ledgerOutcome: LedgerOutcome | undefined
}

/** Which of an account's transfers may be forgotten, see `Reads`. */
export interface ForgottenTransfers {
  readonly knownFrom: number
  readonly bySequence: number
}

/** The step that a command of the ledger is of. */
export interface StepOfCommandView {
  readonly transfer: number
  readonly step: StepName
}

/** What has come in and gone out by the ledger, and how far it was read. Sums are money atoms. */
export interface FundsView {
  /** Credited by deposits, spent by withdrawals, and held for withdrawals that are not over. */
  readonly depositedAtoms: bigint
  readonly withdrawnAtoms: bigint
  readonly reservedAtoms: bigint
  /** Credited without a ledger, of demo accounts. */
  readonly creditedAtoms: bigint
  /** Fees that the venue has collected, and funding under way. */
  readonly feesAtoms: bigint
  readonly fundingPoolAtoms: bigint
  /** The offset up to which all completions were looked at, and the ledger's time there. */
  readonly offset: number
  readonly recordTimeEpochMs: number
  /** Why withdrawals are stopped; undefined where they are not. */
  readonly stop: Stop | undefined
  /** What an operator has accepted that the ledger lacks, money atoms, 0 or below. */
  readonly acceptedAtoms: number
  /** How often the ledger said what cannot be. */
  readonly alarms: Readonly<Record<Alarm, number>>
  /** How full what is bounded is: transfers that are not over, characters of prepared transactions, and all transfers kept. */
  readonly openTransfers: number
  readonly openCapacity: number
  readonly preparedLength: number
  readonly preparedCapacity: number
  readonly keptTransfers: number
  /** The least amounts. */
  readonly minDepositAtoms: number
  readonly minWithdrawalAtoms: number
}

/** Where what is kept of accounts' money begins, see `Reads`. */
export interface OldestMoney {
  readonly changeSequence: number
  readonly paymentSequence: number
  readonly paymentAtEpochMs: number
}

export interface Reads {
  /** The last record applied, and its time. A read holds at this sequence. */
  readonly sequence: number
  readonly atEpochMs: number
  /** The environment the journal was opened for; empty before it was. */
  readonly environment: string
  /** The version of the rules in force; 0 before the venue was opened. */
  readonly rules: number
  /** Whether a global halt is on. */
  readonly halted: boolean
  /** Account index by id, or -1. */
  readonly findAccount: (accountId: string) => number
  readonly accountId: (account: number) => string
  readonly account: (account: number) => AccountView
  /** Market index by `marketId`, or -1. Drafts included: whether the public may see one is the reader's to check. */
  readonly findMarket: (marketId: string) => number
  /** Market index by compat symbol, or -1. */
  readonly findSymbol: (symbol: string) => number
  readonly marketCount: number
  readonly market: (market: number) => MarketView
  /**
   * Whom announced parameters of a market would touch at present marks, of some of those who came to it, from a place on; undefined
   * where none are.
   */
  readonly touched: (market: number, from: number) => TouchedPart | undefined
  /** The same of parameters that somebody only thinks of. */
  readonly touchedBy: (market: number, parameters: Market.Parameters, from: number) => TouchedPart
  /** What an operator's parameters would come to, were they put now (`effectiveAtEpochMs` 0: at once). It changes nothing. */
  readonly putComesTo: (parameters: Market.Parameters, effectiveAtEpochMs: number) => PutComesTo | Refused
  /** What a market's delisting has before it, were it one. */
  readonly delistingOutlook: (market: number) => DelistingOutlook
  /** The last record that changed any market's snapshot: the registry's sequence. */
  readonly registrySequence: number
  /** The order if the venue remembers it and it is this account's. */
  readonly findOrder: (account: number, orderNumber: number) => OrderView | undefined
  /** The account of an order that the venue remembers; -1 where it does not. */
  readonly orderAccount: (orderNumber: number) => number
  /** Open orders of an account, oldest first; of one market unless `anyMarket`. */
  readonly openOrders: (account: number, market: number) => ReadonlyArray<OrderView>
  /** The account's remembered orders, newest first, older than an order number (`Infinity`: from the newest). */
  readonly orders: (account: number, filter: OrderFilter, beforeNumber: number, limit: number) => OrderPage
  /** The account's remembered order with this clientOrderId. */
  readonly findClientOrder: (account: number, clientOrderId: string) => OrderView | undefined
  /** What is remembered under a key of the account, in any operation. */
  readonly findOutcomes: (account: number, idempotencyKey: string) => ReadonlyArray<RememberedOutcome>
  /** The decision that the very same request would be told again at a time, as a repeat; undefined where it would be decided anew. */
  readonly remembered: (request: Remembering, atEpochMs: number) => Outcome | undefined
  /** Whether an operator's request under a key was accepted, as far as it is remembered or was not yet forgotten. */
  readonly wasAccepted: (operation: Operation, idempotencyKey: string) => boolean
  /** Whether a key, or if not empty a clientOrderId, was fenced. */
  readonly isFenced: (account: number, idempotencyKey: string, clientOrderId: string) => boolean
  /** Whether a key or an order of the account has been forgotten, or this key's time is over: then "never seen" cannot be said. */
  readonly hasForgotten: (account: number, idempotencyKey: string) => boolean
  /** When the account's dead-man switch fires; 0 while it is not armed. */
  readonly cancelAllAtEpochMs: (account: number) => number
  /** The account's retained fills, newest first, of one market unless `anyMarket`, older than an ordinal (`Infinity`: from the newest). */
  readonly fills: (account: number, market: number, before: number, limit: number) => ReadonlyArray<Fill>
  /** A market's retained trades, likewise. */
  readonly trades: (market: number, before: number, limit: number) => ReadonlyArray<Fill>
  /** The first `limit` retained trades of a market at or after a time, oldest first. */
  readonly tradesSince: (market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<Fill>
  /** The first `limit` retained fills of an account, in one market unless `anyMarket`, at or after a time, oldest first. */
  readonly fillsSince: (account: number, market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<Fill>
  /** The ordinal of the venue's oldest retained fill, its record and its time: all before it are forgotten. 0 of each while none was. */
  readonly oldestFill: () => OldestFill
  readonly stats: (market: number) => StatsView
  /** Whether the last record has sampled a market's book: its running rate of funding may have moved, of which no event tells. */
  readonly hasSampled: (market: number) => boolean
  /** A market's ended funding intervals since a time, newest first, at most `limit`. */
  readonly fundings: (market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<FundingView>
  /** A market's kept marks since a time, newest first, at most `limit`. */
  readonly marks: (market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<MarkView>
  /** Positions that are not flat, by market index. */
  readonly positions: (account: number) => ReadonlyArray<PositionView>
  /** An account's money; what may be withdrawn of it as of a time, where that is later than the last record's. */
  readonly balance: (account: number, nowEpochMs?: number) => BalanceView
  /** The last record that changed anything of an account: its orders, fills, positions, balance or transfers. */
  readonly accountSequence: (account: number) => number
  /** The last record that changed any of its positions; a later one of the account where that is not known so exactly. */
  readonly positionsSequence: (account: number) => number
  /** Of all accounts, in one go; undefined while funding is being settled. */
  readonly equities: () => EquitiesView | undefined
  /** The account's kept changes of balance, newest first, of one market unless `anyMarket`, older than a place if one is given. */
  readonly balanceChanges: (account: number, market: number, before: Place | undefined, limit: number) => ReadonlyArray<BalanceChangeView>
  /** What closes an account's positions by itself, by market, then oldest first; in one market unless `anyMarket`. */
  readonly brackets: (account: number, market: number) => ReadonlyArray<BracketView>
  /** Kept steps of liquidations in a market since a time, newest first, at most `limit`. */
  readonly liquidations: (market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<LiquidationStepView>
  /** The same of those that an account had a side of. */
  readonly liquidationsOf: (account: number, sinceEpochMs: number, limit: number) => ReadonlyArray<LiquidationStepView>
  /** Kept payments of funding of an account since a time, newest first, at most `limit`, older than a place if one is given. */
  readonly fundingPayments: (account: number, sinceEpochMs: number, limit: number, before?: Place) => ReadonlyArray<PlacedPayment>
  /**
   * The records of the venue's oldest kept change of a balance, and payment of funding, of any account, and the time of the latter:
   * those of earlier records are forgotten, and of the same perhaps some. 0 while none is.
   */
  readonly oldestMoney: () => OldestMoney
  /** Kept rankings that deleveragings in a market closed by, begun since a time, newest first, at most `limit`. */
  readonly deleveragings: (market: number, sinceEpochMs: number, limit: number) => ReadonlyArray<RankingView>
  /** The insurance fund, with its kept movements since a time, newest first, at most `limit`. */
  readonly insuranceFund: (sinceEpochMs: number, limit: number) => InsuranceFundView
  /** The most leverage that an account has set in a market; 0 where it has set none. */
  readonly leverage: (account: number, market: number) => number
  /** What a placement of the account would come to at the sequence at hand and at a time. It changes nothing. */
  readonly preview: (account: number, entry: PlaceEntry, atEpochMs: number) => PreviewView
  /** At most `depth` levels a side. */
  readonly book: (market: number, depth: number) => BookView
  /** Size atoms that rest at a price of a side; 0 for none. */
  readonly levelSize: (market: number, side: Order.Side, priceAtoms: number) => number
  /** Has somebody told of every price of a market's book whose size changes, from now on; nobody, where it is undefined. */
  readonly watchLevels: (market: number, watch: LevelWatch | undefined) => void
  /** API key by `keyId`, or undefined. */
  readonly findApiKey: (keyId: string) => ApiKeyView | undefined
  /** An API key by the number under which it was issued; undefined once it is forgotten. */
  readonly apiKey: (key: number) => ApiKeyView | undefined
  /** The keys of an account, newest first, at most `limit`. */
  readonly apiKeys: (account: number, limit: number) => ReadonlyArray<ApiKeyView>
  /** What an agent called itself when its key was issued; undefined of other keys. */
  readonly clientName: (key: number) => string | undefined
  /** Whether a key is a bot's of the venue's own. */
  readonly isBotKey: (key: number) => boolean
  /** When a key was last used, as far as it was noted; 0 where it was not. */
  readonly keyLastUsedAt: (key: number) => number
  /** The latest addresses that a key was used from, as far as they were noted, oldest first. */
  readonly keyAddresses: (key: number) => ReadonlyArray<string>
  /** A family of realtime tickets; undefined where it is over and forgotten, or never was. What a ticket is to it, `standingOf` tells. */
  readonly findTicketFamily: (family: number) => TicketFamilyView | undefined
  /** Whether a market is among an account's favorites. */
  readonly isFavorite: (account: number, market: number) => boolean
  /** When an account became an affiliate; 0 where it is none. */
  readonly affiliateSince: (account: number) => number
  /** The session with a token's SHA-256, unless it has ended; it may be over. */
  readonly findSession: (tokenSha256: string) => SessionView | undefined
  /** The passkey with a credential's id. */
  readonly findPasskey: (credentialId: string) => PasskeyView | undefined
  /** The passkeys of an account, oldest first. */
  readonly passkeys: (account: number) => ReadonlyArray<PasskeyView>
  /** What an owner let an agent have that was not fetched yet, by the digest of its device code; it may be over. */
  readonly findGrant: (deviceSha256: string) => GrantView | undefined
  /** Kept events of an account's security, newest first, at most `limit`, older than an ordinal (`Infinity`: from the newest). */
  readonly securityEvents: (account: number, before: number, limit: number) => ReadonlyArray<SecurityEventView>
  /**
   * How many events of its security an account has ever had, numbered from 0, and the record of the oldest event that may be kept: of an
   * account of which none is, all are of that record or of earlier ones.
   */
  readonly securityStanding: (account: number) => SecurityStanding
  /** A transfer by its number; undefined where there is none, or none that is kept. */
  readonly transfer: (number: number) => TransferView | undefined
  /** The last record that changed any of an account's deposits; a later one where that is not known so exactly. */
  readonly depositsSequence: (account: number) => number
  /** Kept transfers of an account and a kind, newest first, at most `limit`, older than a number (`Infinity`: from the newest). */
  readonly transfersOf: (account: number, kind: TransferKind, before: number, limit: number) => ReadonlyArray<TransferView>
  /**
   * From which number on all transfers of an account are kept, 0 where all ever were; and by which record one of any account was last
   * forgotten at the latest.
   */
  readonly forgottenTransfers: (account: number) => ForgottenTransfers
  /** Transfers of all accounts that are not over, deposits whose offer is to be withdrawn among them, oldest first. */
  readonly openTransfers: () => ReadonlyArray<TransferView>
  /** Those of an account that have not ended, oldest first. */
  readonly openTransfersOf: (account: number) => ReadonlyArray<TransferView>
  /** Why a withdrawal that was approved and never executed is not begun any more; undefined where it is, and of other transfers. */
  readonly withheldFor: (transfer: number) => Withheld | undefined
  /** Those of `openTransfers` that it is for the venue to go on with, and not for an owner: what a restart resumes. */
  readonly transfersToDrive: () => ReadonlyArray<TransferView>
  /** The step that a command was prepared for, the latest if several were. */
  readonly stepOfCommand: (commandId: string) => StepOfCommandView | undefined
  /** The ledger party of an account, as soon as one is bound. */
  readonly party: (account: number) => PartyView | undefined
  /** The account that a party is of; -1 where it is nobody's. */
  readonly accountOfParty: (partyId: string) => number
  /** All of them, by account. */
  readonly parties: ReadonlyArray<PartyView>
  /** Whether there is any. */
  readonly hasParties: boolean
  readonly funds: FundsView
  readonly occupancy: Occupancy
  readonly limits: LimitsView
}
