/**
 * The engine of a scripted venue: orders rest without matching, cancels and statuses take effect, and all other commands succeed without an
 * effect. Reads show the orders, and otherwise fixed numbers.
 */
import { Principal } from "../../src/operations/Header.js"
import * as Ids from "../../src/domain/Ids.js"
import * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { AccountView } from "../../src/engine/Accounts.js"
import type {
  ApiKeyView,
  SessionView,
  BalanceView,
  BookView,
  BracketView,
  MarginView,
  MarketView,
  OrderFilter,
  OrderPage,
  OrderView,
  PositionView,
  PreviewView,
  Reads,
  StatsView
} from "../../src/engine/Reads.js"
import type { Command, CommandOfKind, EntryOutcome } from "../../src/operations/Operations.js"
import * as Outcome from "../../src/operations/Outcome.js"
import type { OrderDecided } from "../../src/operations/orders/OrderDecided.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"

const margins = { initialMarginBps: 500, maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 250 }] }

export const btc: Market.Parameters = {
  ...Market.riskDefaults(margins),
  ...margins,
  marketId: "BTC-USDC-PERP",
  baseAsset: "BTC",
  quoteAsset: "USDC",
  settlementAsset: "USDC",
  underlyingSymbol: "BTC",
  marketType: "crypto",
  logoUrl: "",
  priceScale: 1,
  quantityScale: 4,
  minPriceAtoms: 10,
  maxPriceAtoms: 10_000_000,
  minQuantityAtoms: 1,
  maxQuantityAtoms: 1_000_000,
  maxPositionQuantityAtoms: 10_000_000,
  maxLeverageX: 20,
  makerFeeBps: 1,
  takerFeeBps: 5,
  priceBandBps: 1000
}

const draft: Market.Parameters = { ...btc, marketId: "ETH-USDC-PERP", baseAsset: "ETH", underlyingSymbol: "ETH" }

/** The time of every record. */
export const at = 1_700_000_000_000

/** The outcome of an order: open and unfilled, unless `more` says otherwise. */
export const decided = (orderNumber: number, more: Partial<OrderDecided> = {}): OrderDecided => ({
  _tag: "OrderDecided",
  status: Order.open,
  cancelReason: Order.CancelReason.none,
  orderNumber,
  filledAtoms: 0,
  filledNotionalAtoms: 0,
  canceledAtoms: 0,
  priceAtoms: 0,
  quantityAtoms: 0,
  ...more
})

/** A market's daily statistics, which no script changes. */
const stats: StatsView = {
  volumeQuoteAtoms: 0n,
  volumeBaseAtoms: 0n,
  highAtoms: 0,
  lowAtoms: 0,
  openAtoms: 0,
  lastPriceAtoms: 0,
  indexPriceAtoms: 1000,
  indexSourceEpochMs: at,
  markPriceAtoms: 1000,
  openInterestBaseAtoms: 30,
  openInterestQuoteAtoms: 300_000n,
  change24hBps: -12,
  isStale: false,
  isIndexHeld: false,
  fundingRate8hE9: 0,
  fundingRateE9: 0,
  predictedFundingRate8hE9: 100_000,
  predictedFundingRateE9: 12_500,
  nextFundingEpochMs: 0
}

/** The position that every account holds. */
const position: Omit<PositionView, "account"> = {
  born: 128,
  market: 0,
  quantityAtoms: -30,
  entryNotionalAtoms: 30 * 1005 * 10,
  markPriceAtoms: 1000,
  unrealizedPnlAtoms: 1500,
  notionalAtoms: 300_000,
  initialMarginAtoms: 15_000,
  maintenanceMarginAtoms: 7_500,
  leverageX: 10,
  liquidationPriceAtoms: 0,
  realizedPnlAtoms: -7,
  feesPaidAtoms: 12,
  fundingPaidAtoms: -3,
  openedAtEpochMs: at,
  lastSequence: 1
}

const balance: Omit<BalanceView, "account" | "accountId"> = {
  collateralAtoms: -5,
  equityAtoms: 1_000_000_000_000,
  marginEquityAtoms: 1,
  unrealizedPnlAtoms: -1,
  initialMarginAtoms: 0,
  maintenanceMarginAtoms: 0,
  orderLossAtoms: 0,
  availableAtoms: 0,
  withdrawableAtoms: 0,
  isUnderLiquidation: true,
  lastSequence: 1
}

const margin: MarginView = {
  equityAtoms: 1_000_000,
  marginEquityAtoms: 1_000_000,
  initialMarginAtoms: 0,
  maintenanceMarginAtoms: 0,
  orderLossAtoms: 0,
  availableAtoms: 1_000_000,
  quantityAtoms: 0,
  liquidationPriceAtoms: 0
}

const marketChanged = (market: number): EntryOutcome => ({
  _tag: "MarketChanged",
  market,
  effectiveAtEpochMs: 0,
  underInitialMargin: 0,
  underMaintenanceMargin: 0
})

export class FakeEngine implements Reads {
  sequence = 1
  readonly atEpochMs = at
  readonly halted = false
  readonly environment = "development"
  readonly rules = 1
  readonly registrySequence = 1
  readonly occupancy = {
    orders: 0,
    orderCapacity: 10,
    openOrders: 0,
    idempotencyEntries: 0,
    idempotencyCapacity: 10,
    accounts: 2,
    apiKeys: 5,
    underLiquidation: 0
  }
  readonly limits = {
    retentionMs: 86_400_000,
    retentionSinceEpochMs: 0,
    endedOrderExtraMs: 60_000,
    openOrders: 200,
    brackets: 20,
    ordersMet: 384,
    noticeMs: 86_400_000,
    fillsKept: 131_072,
    keys: 64,
    ticketFamilies: 64,
    openDeposits: 1,
    openWithdrawals: 8
  }
  bookSequence = 1
  readonly accounts: Array<string> = [Ids.accountId(64), Ids.accountId(65)]
  readonly keys: Array<ApiKeyView> = []
  readonly levels: { bids: BookView["bids"]; asks: BookView["asks"] } = { bids: [[99, 5], [98, 7]], asks: [[101, 3]] }
  private readonly markets: Array<{ readonly parameters: Market.Parameters; status: Market.Status }> = [
    { parameters: btc, status: "open" },
    { parameters: draft, status: "draft" }
  ]
  private readonly held = new Map<number, OrderView>()

  // ---- reads

  readonly sessions: Array<SessionView> = []

  findSession(tokenSha256: string): SessionView | undefined {
    return this.sessions.find((session) => session.tokenSha256 === tokenSha256)
  }

  apiKey(key: number): ApiKeyView {
    return this.keys[key]!
  }

  apiKeys(account: number): ReadonlyArray<ApiKeyView> {
    return this.keys.filter((key) => key.account === account).reverse()
  }

  clientName(): undefined {
    return undefined
  }

  isBotKey(): boolean {
    return false
  }

  keyLastUsedAt(): number {
    return 0
  }

  keyAddresses(): ReadonlyArray<string> {
    return []
  }

  hasOrdersOver(): boolean {
    return false
  }

  findTicketFamily(): undefined {
    return undefined
  }

  isFavorite(): boolean {
    return false
  }

  affiliateSince(): number {
    return 0
  }

  findPasskey(): undefined {
    return undefined
  }

  passkeys(): ReadonlyArray<never> {
    return []
  }

  findGrant(): undefined {
    return undefined
  }

  grants(): ReadonlyArray<never> {
    return []
  }

  securityEvents(): ReadonlyArray<never> {
    return []
  }

  securityStanding(): { readonly count: number; readonly oldestSequence: number } {
    return { count: 0, oldestSequence: 0 }
  }

  transfer(): undefined {
    return undefined
  }

  transfersOf(): ReadonlyArray<never> {
    return []
  }

  forgottenTransfers(): { readonly knownFrom: number; readonly bySequence: number } {
    return { knownFrom: 0, bySequence: 0 }
  }

  openTransfers(): ReadonlyArray<never> {
    return []
  }

  heldByWithdrawals(): ReadonlyMap<number, bigint> {
    return new Map()
  }

  openTransfersOf(): ReadonlyArray<never> {
    return []
  }

  transfersToDrive(): ReadonlyArray<never> {
    return []
  }

  stepOfCommand(): undefined {
    return undefined
  }

  withheldFor(): undefined {
    return undefined
  }

  party(): undefined {
    return undefined
  }

  accountOfParty(): number {
    return -1
  }

  readonly parties = []

  readonly hasParties = false

  readonly funds = {
    depositedAtoms: 0n,
    withdrawnAtoms: 0n,
    reservedAtoms: 0n,
    creditedAtoms: 0n,
    feesAtoms: 0n,
    fundingPoolAtoms: 0n,
    offset: 0,
    recordTimeEpochMs: 0,
    stop: undefined,
    acceptedAtoms: 0,
    alarms: { accepted_again: 0, accepted_after_its_end: 0, accepted_unasked: 0, accepted_out_of_order: 0 },
    openTransfers: 0,
    openCapacity: 10,
    preparedLength: 0,
    preparedCapacity: 10,
    keptTransfers: 0,
    minDepositAtoms: 1_000_000,
    minWithdrawalAtoms: 1_000_000
  }

  equities(): undefined {
    return undefined
  }

  brackets(): ReadonlyArray<BracketView> {
    return []
  }

  findAccount(id: string): number {
    return this.accounts.indexOf(id)
  }

  accountId(account: number): string {
    return this.accounts[account]!
  }

  account(account: number): AccountView {
    return { account, accountId: this.accountId(account), displayHandle: "", lastSequence: this.sequence }
  }

  findMarket(id: string): number {
    return this.markets.findIndex(({ parameters }) => parameters.marketId === id)
  }

  findSymbol(symbol: string): number {
    return this.markets.findIndex(({ parameters }) => `${parameters.baseAsset}/USDC:USDC` === symbol)
  }

  get marketCount(): number {
    return this.markets.length
  }

  market(index: number): MarketView {
    return {
      index,
      ...this.markets[index]!,
      lastPriceAtoms: 0,
      indexPriceAtoms: 1000,
      indexSourceEpochMs: at,
      isIndexHeld: false,
      change24hBps: -12,
      bookSequence: this.bookSequence,
      session: undefined,
      announced: undefined,
      delisting: undefined,
      marketSequence: 1
    }
  }

  findOrder(account: number, orderNumber: number): OrderView | undefined {
    const order = this.held.get(orderNumber)
    return order?.account === account ? order : undefined
  }

  private matching(account: number, filter: OrderFilter): ReadonlyArray<OrderView> {
    return [...this.held.values()]
      .filter((order) => order.account === account)
      .filter((order) => filter.market < 0 || order.market === filter.market)
      .filter((order) => filter.status === undefined || order.status === filter.status)
  }

  orders(account: number, filter: OrderFilter, before: number, limit: number): OrderPage {
    const matching = this.matching(account, filter)
      .filter((order) => order.orderNumber < before)
      .sort((one, other) => other.orderNumber - one.orderNumber)
    const page = matching.slice(0, limit)
    return { orders: page, nextBefore: matching.length > limit ? page.at(-1)!.orderNumber : undefined }
  }

  openOrders(account: number, market: number): ReadonlyArray<OrderView> {
    return this.matching(account, { market, status: Order.open })
  }

  findClientOrder(account: number, clientOrderId: string): OrderView | undefined {
    return [...this.held.values()].find((order) => order.account === account && order.clientOrderId === clientOrderId)
  }

  readonly findOutcomes = () => []
  readonly remembered = () => undefined
  readonly isRemembered = () => false
  readonly wasAccepted = () => false
  readonly isFenced = () => false
  readonly hasForgotten = () => false
  readonly cancelAllAtEpochMs = () => 0
  readonly leverage = () => 0
  readonly touched = () => undefined
  readonly touchedBy = () => ({ underInitialMargin: 0, underMaintenanceMargin: 0, next: undefined })
  readonly putComesTo = () => "at once" as const
  readonly delistingOutlook = () => ({ finalPriceAtoms: 1000, openInterestAtoms: 0, openOrders: 0, againAtEpochMs: 0, isMissed: false })
  readonly preview = (): PreviewView => ({
    outcome: Outcome.refused(Refusal.marketNotFound, -1),
    feesAtoms: 0,
    before: margin,
    after: undefined
  })
  readonly fills = () => []
  readonly fundings = () => []
  readonly balanceChanges = () => []
  readonly marks = () => []
  readonly liquidations = () => []
  readonly liquidationsOf = () => []
  readonly fundingPayments = () => []
  readonly deleveragings = () => []
  readonly insuranceFund = () => ({ balance: undefined, positions: [], movements: [] })
  readonly trades = () => []
  readonly tradesSince = () => []
  readonly fillsSince = () => []
  readonly fillsAmong = () => ({ found: [], next: -1 })
  readonly oldestMoney = () => ({ changeSequence: 0, paymentSequence: 0, paymentAtEpochMs: 0 })
  readonly oldestFill = () => ({ ordinal: 0, sequence: 0, atEpochMs: 0 })
  readonly stats = () => stats
  readonly hasSampledAny = () => false
  readonly hasSampled = () => false

  positions(account: number): ReadonlyArray<PositionView> {
    return [{ ...position, account }]
  }

  readonly positionsSequence = () => balance.lastSequence
  readonly depositsSequence = () => balance.lastSequence
  readonly accountSequence = () => balance.lastSequence

  balance(account: number): BalanceView {
    return { ...balance, account, accountId: this.accountId(account) }
  }

  orderAccount(orderNumber: number): number {
    return this.accounts.findIndex((_, account) => this.findOrder(account, orderNumber) !== undefined)
  }

  levelSize(_market: number, side: 0 | 1, priceAtoms: number): number {
    const levels = side === 0 ? this.levels.bids : this.levels.asks
    return levels.find(([price]) => price === priceAtoms)?.[1] ?? 0
  }

  watchLevels(): void {
    // The scripted book changes only when a test bumps it.
  }

  book(_market: number, depth: number): BookView {
    return { bids: this.levels.bids.slice(0, depth), asks: this.levels.asks.slice(0, depth) }
  }

  findApiKey(keyId: string): ApiKeyView | undefined {
    return this.keys.find((key) => key.keyId === keyId)
  }

  // ---- commands

  /** Decides the next record. */
  decide(command: Command): ReadonlyArray<EntryOutcome> {
    this.sequence++
    switch (command.kind) {
      case "PlaceOrders":
        return command.entries.map((entry, index) => this.place(command, entry, Ids.ordinal(this.sequence, index)))
      case "CancelOrders":
        return command.entries.map(({ market, orderNumber }) => this.cancel(command.account, market, orderNumber))
      case "AmendOrder":
        return [decided(command.orderNumber)]
      case "CancelAllOrders":
        return [{ _tag: "OrdersCanceled", canceledOrders: 2 }]
      case "CancelByOperator":
        return [{ _tag: "OrdersCanceledByOperator", canceledOrders: 2, remainingOrders: 1 }]
      case "OpenDemoAccounts":
        return this.openAccounts(command)
      case "MintTicket":
      case "RotateTicket":
        return [{ _tag: "TicketIssued", account: 0, family: 0, generation: 0, expiresAtEpochMs: at }]
      case "SetAccountFlags":
        return [{ _tag: "AccountFlagged", account: command.ofAccount, flags: command.set, mayTrade: 1 }]
      case "CreditAccount":
        return [{ _tag: "AccountCredited", account: command.ofAccount, collateralAtoms: command.amountAtoms }]
      case "PutMarket":
        return [marketChanged(this.findMarket(command.parameters.marketId))]
      case "SetMarketStatus":
        this.markets[command.market]!.status = command.status
        return [marketChanged(command.market)]
      case "SetIndexPrice":
        return [marketChanged(command.market)]
      default:
        return [Outcome.done]
    }
  }

  private place(command: CommandOfKind<"PlaceOrders">, entry: PlaceEntry, orderNumber: number): EntryOutcome {
    if (entry.fault !== Refusal.none) return Outcome.refused(entry.fault, orderNumber)
    const market = this.markets[entry.market]
    if (market?.status !== "open") return Outcome.refused(Refusal.marketNotFound, orderNumber)
    const { maxPriceAtoms, minPriceAtoms } = market.parameters
    if (entry.type === Order.limit && (entry.priceAtoms < minPriceAtoms || entry.priceAtoms > maxPriceAtoms)) {
      const bound = entry.priceAtoms < minPriceAtoms ? minPriceAtoms : maxPriceAtoms
      return Outcome.refused(Refusal.priceOutOfBounds, orderNumber, bound, entry.priceAtoms, bound)
    }
    this.held.set(orderNumber, {
      ...entry,
      orderNumber,
      account: command.account,
      status: Order.open,
      cancelReason: Order.CancelReason.none,
      filledAtoms: 0,
      filledNotionalAtoms: 0,
      canceledAtoms: 0,
      idempotencyKey: command.idempotencyKey,
      createdAtEpochMs: at,
      updatedAtEpochMs: at,
      lastSequence: this.sequence
    })
    return decided(orderNumber)
  }

  private cancel(account: number, market: number, orderNumber: number): EntryOutcome {
    const order = this.held.get(orderNumber)
    if (order?.account !== account || order.status !== Order.open || order.market !== market) {
      return Outcome.refused(Refusal.orderNotFound, orderNumber)
    }
    const canceled = { status: Order.canceled, cancelReason: Order.CancelReason.user, canceledAtoms: order.quantityAtoms } as const
    this.held.set(orderNumber, { ...order, ...canceled, lastSequence: this.sequence })
    return decided(orderNumber, canceled)
  }

  private openAccounts(command: CommandOfKind<"OpenDemoAccounts">): ReadonlyArray<EntryOutcome> {
    return command.keys.map((grant) => {
      const account = this.accounts.push(Ids.accountId(Ids.ordinal(this.sequence, this.accounts.length))) - 1
      this.keys.push({
        principal: Principal.key,
        credential: this.keys.length,
        account,
        createdAtEpochMs: at,
        revokedAtEpochMs: 0,
        ...grant,
        expiresAtEpochMs: at + command.lifetimeSeconds * 1000
      })
      return { _tag: "AccountOpened", account }
    })
  }
}
