/**
 * The engine at one observation, shared by all properties: what several of them read is read from it once. Valid as long as the engine
 * stands still.
 */
import type { AccountView } from "../../src/engine/Accounts.js"
import { anyMarket } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import type {
  BalanceView,
  BookView,
  BracketView,
  Fill,
  MarginView,
  MarketView,
  OrderView,
  PositionView,
  Reads,
  RememberedOutcome,
  StatsView
} from "../../src/engine/Reads.js"
import { noAutoClose } from "../../src/operations/accounts/AutoClose.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"

/** An order that is always refused. */
const unplaced: Omit<PlaceEntry, "market"> = {
  clientOrderId: "",
  side: Order.buy,
  type: Order.limit,
  timeInForce: Order.gtc,
  priceAtoms: 0,
  quantityAtoms: 0,
  postOnly: false,
  reduceOnly: false,
  selfTradePrevention: Order.cancelResting,
  expiresAtEpochMs: 0,
  fault: Refusal.marketNotFound,
  raw: "",
  autoClose: noAutoClose
}

export class Glance {
  readonly #reads: Reads
  readonly #orders = new Map<number, OrderView>()
  readonly #open: Array<ReadonlyArray<OrderView>> = []
  readonly #positions: Array<ReadonlyArray<PositionView>> = []
  readonly #balances: Array<BalanceView> = []

  constructor(reads: Reads) {
    this.#reads = reads
  }

  get sequence(): number {
    return this.#reads.sequence
  }

  get atEpochMs(): number {
    return this.#reads.atEpochMs
  }

  get halted(): boolean {
    return this.#reads.halted
  }

  get occupancy(): Reads["occupancy"] {
    return this.#reads.occupancy
  }

  get marketCount(): number {
    return this.#reads.marketCount
  }

  market(market: number): MarketView {
    return this.#reads.market(market)
  }

  /** The account's newest changes of balance. */
  balanceChanges(account: number, limit: number): ReturnType<Reads["balanceChanges"]> {
    return this.#reads.balanceChanges(account, anyMarket, undefined, limit)
  }

  /** Fees collected and credits given so far, money atoms. */
  get totals(): { readonly fees: bigint; readonly credited: bigint } {
    if (!(this.#reads instanceof Engine)) throw new Error("what is looked at is no engine")
    const { credited, fees } = this.#reads.state
    return { fees: fees.atoms, credited: credited.atoms }
  }

  /** A market's newest marks with their inputs. */
  marks(market: number, limit: number): ReturnType<Reads["marks"]> {
    return this.#reads.marks(market, 0, limit)
  }

  stats(market: number): StatsView {
    return this.#reads.stats(market)
  }

  /** At most `depth` levels a side. */
  book(market: number, depth: number): BookView {
    return this.#reads.book(market, depth)
  }

  /** A market's retained trades, newest first, older than an ordinal (`Infinity`: from the newest). */
  trades(market: number, before: number, limit: number): ReadonlyArray<Fill> {
    return this.#reads.trades(market, before, limit)
  }

  /** A market's first retained trades at or after a time, oldest first. */
  tradesSince(market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Fill> {
    return this.#reads.tradesSince(market, sinceEpochMs, limit)
  }

  /** An account's retained fills, newest first, in one market unless -1, older than an ordinal. */
  fills(account: number, market: number, before: number, limit: number): ReadonlyArray<Fill> {
    return this.#reads.fills(account, market, before, limit)
  }

  /** The first of an account's retained fills, in one market unless -1, at or after a time, oldest first. */
  fillsSince(account: number, market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Fill> {
    return this.#reads.fillsSince(account, market, sinceEpochMs, limit, Number.POSITIVE_INFINITY)!
  }

  /** Everything remembered under a key of an account, in any operation. */
  findOutcomes(account: number, idempotencyKey: string): ReadonlyArray<RememberedOutcome> {
    return this.#reads.findOutcomes(account, idempotencyKey)
  }

  findClientOrder(account: number, clientOrderId: string): OrderView | undefined {
    return this.#reads.findClientOrder(account, clientOrderId)
  }

  account(account: number): AccountView {
    return this.#reads.account(account)
  }

  /** The account's newest funding payments. */
  fundingPayments(account: number, limit: number): ReturnType<Reads["fundingPayments"]> {
    return this.#reads.fundingPayments(account, 0, limit)
  }

  leverage(account: number, market: number): number {
    return this.#reads.leverage(account, market)
  }

  /** The triggers of an account's positions. */
  brackets(account: number, market: number): ReadonlyArray<BracketView> {
    return this.#reads.brackets(account, market)
  }

  cancelAllAtEpochMs(account: number): number {
    return this.#reads.cancelAllAtEpochMs(account)
  }

  /** When the account is examined next for its liquidation, or to unwind it if it is the insurance fund; 0 for never. */
  liquidationEpochMs(account: number): number {
    if (!(this.#reads instanceof Engine)) throw new Error("what is looked at is no engine")
    return this.#reads.state.liquidations.at(account)
  }

  /** The order if the engine remembers it and it belongs to this account. */
  findOrder(account: number, orderNumber: number): OrderView | undefined {
    const known = this.#orders.get(orderNumber)
    if (known?.account === account) return known
    const view = this.#reads.findOrder(account, orderNumber)
    if (view !== undefined) this.#orders.set(orderNumber, view)
    return view
  }

  /** The state of who may act: passkeys, sessions and grants by their digests, keys, and security notes. */
  get identity(): Pick<
    Reads,
    | "passkeys"
    | "findPasskey"
    | "findSession"
    | "findGrant"
    | "apiKeys"
    | "clientName"
    | "isBotKey"
    | "keyLastUsedAt"
    | "securityEvents"
    | "findTicketFamily"
  > {
    return this.#reads
  }

  /** An account's flags, whether it may trade, and since when it is an affiliate. */
  standing(account: number): { readonly flags: number; readonly mayTrade: boolean; readonly affiliateSince: number } {
    if (!(this.#reads instanceof Engine)) throw new Error("what is looked at is no engine")
    const { standing } = this.#reads.state
    return {
      flags: standing.flagsOf(account),
      mayTrade: standing.mayTrade(account),
      affiliateSince: this.#reads.affiliateSince(account)
    }
  }

  /** Money on the ledger: sums, transfers and parties. */
  get ledger(): Pick<Reads, "funds" | "transfer" | "transfersOf" | "party"> {
    return this.#reads
  }

  isFavorite(account: number, market: number): boolean {
    return this.#reads.isFavorite(account, market)
  }

  /** Open orders of an account, oldest first; of one market unless -1. */
  openOrders(account: number, market: number): ReadonlyArray<OrderView> {
    if (market >= 0) return this.#reads.openOrders(account, market)
    return this.#open[account] ??= this.#reads.openOrders(account, market)
  }

  positions(account: number): ReadonlyArray<PositionView> {
    return this.#positions[account] ??= this.#reads.positions(account)
  }

  /** An account's margin by a preview without effect, with the position in a market. */
  marginBefore(account: number, market: number): MarginView {
    return this.#reads.preview(account, { ...unplaced, market }, this.#reads.atEpochMs).before
  }

  balance(account: number): BalanceView {
    return this.#balances[account] ??= this.#reads.balance(account)
  }
}
