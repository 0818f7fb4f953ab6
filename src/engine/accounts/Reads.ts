/** Reads about accounts: money, positions, fills and keys. */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import * as Units from "../../domain/Units.js"
import type { AccountView } from "../Accounts.js"
import { type CauseName, causes, type Place } from "../BalanceLog.js"
import type { FillsAsked, FillsFound, OldestFill } from "../Fills.js"
import { anyMarket, none } from "../../domain/None.js"
import { StepwiseMap } from "../../domain/Stepwise.js"
import { type LiquidationStep, type MovementKind, movementKinds, type StepKind, stepKinds } from "../LiquidationLog.js"
import * as Margin from "../Margin.js"
import * as Funding from "../markets/Funding.js"
import { IdentityReads } from "../identity/Reads.js"
import { Principal } from "../../operations/Header.js"
import { oldestKept, paymentsOf } from "../FundingPayments.js"
import type { Bracket } from "./Brackets.js"
import { equities } from "./Equities.js"
import { isUnderLiquidation } from "./Liquidation.js"
import { liquidationPrice } from "./LiquidationPrice.js"
import type { Ranking } from "./Rankings.js"
import { long } from "./Triggers.js"
import * as Withdrawable from "./Withdrawable.js"
import type {
  ApiKeyView,
  BalanceChangeView,
  BalanceView,
  BracketView,
  EquitiesView,
  Fill,
  OldestMoney,
  PlacedPayment,
  InsuranceFundView,
  LiquidationStepView,
  PositionView
} from "../Reads.js"

const stepView = (step: LiquidationStep & { readonly ordinal: number }): LiquidationStepView => ({
  ...step,
  step: stepKinds[step.step] as StepKind
})

const bracketView = (bracket: Bracket): BracketView => ({
  number: bracket.number,
  market: bracket.market,
  isLong: bracket.direction === long,
  quantityAtoms: bracket.quantityAtoms,
  cameWithOrder: bracket.cameWithOrder,
  againAtEpochMs: bracket.againAtEpochMs,
  autoClose: bracket.triggers,
  createdAtEpochMs: bracket.createdAtEpochMs,
  lastSequence: bracket.lastSequence
})

export class AccountReads extends IdentityReads {
  /** Views of keys, made once for each, since every request asks for one. */
  private readonly keyViews = new StepwiseMap<number, ApiKeyView>()

  findAccount(accountId: string): number {
    return this.state.accounts.find(accountId)
  }

  accountId(account: number): string {
    const born = this.state.accounts.born(account)
    assert(born !== undefined && account < this.state.accounts.count, "an account index is one that was opened")
    return Ids.accountId(born)
  }

  account(account: number): AccountView {
    return this.state.accounts.view(account)
  }

  positions(account: number): ReadonlyArray<PositionView> {
    const { state } = this
    const { accounts, positions } = state
    Margin.refreshAccount(state, account)
    const collateral = accounts.collateral(account) - Funding.pendingOfAccount(state, account)
    const views: Array<PositionView> = []
    for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
      if (positions.quantity(slot) === 0) continue
      const market = state.markets[positions.market(slot)]!
      const notional = Math.abs(positions.quantity(slot)) * market.mark * market.factor
      const setX = positions.leverage(slot)
      views.push({
        born: positions.born(slot),
        account,
        market: positions.market(slot),
        quantityAtoms: positions.quantity(slot),
        entryNotionalAtoms: positions.entryNotional(slot),
        markPriceAtoms: market.mark,
        unrealizedPnlAtoms: positions.unrealizedPnl(slot),
        notionalAtoms: notional,
        initialMarginAtoms: Margin.initial(market.parameters, notional, Margin.leverageIn(market, setX)),
        maintenanceMarginAtoms: Margin.maintenance(market.parameters.maintenanceMarginTiers, notional),
        leverageX: setX === 0 ? market.parameters.maxLeverageX : Margin.leverageIn(market, setX),
        liquidationPriceAtoms: liquidationPrice(state, slot, collateral),
        realizedPnlAtoms: positions.realizedPnl(slot),
        feesPaidAtoms: positions.feesPaid(slot),
        fundingPaidAtoms: positions.fundingPaid(slot) + Funding.pendingOf(state, slot),
        openedAtEpochMs: positions.openedAt(slot),
        lastSequence: positions.lastSequence(slot)
      })
    }
    return views.sort((one, other) => one.market - other.market)
  }

  brackets(account: number, market: number): ReadonlyArray<BracketView> {
    const { accounts, brackets, positions } = this.state
    const views: Array<BracketView> = []
    for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
      if (market === anyMarket || positions.market(slot) === market) views.push(...brackets.of(slot).map(bracketView))
    }
    return views.sort((one, other) => one.market - other.market || one.number - other.number)
  }

  leverage(account: number, market: number): number {
    const { positions } = this.state
    const slot = positions.find(account, market)
    return slot === none ? 0 : positions.leverage(slot)
  }

  accountSequence(account: number): number {
    return this.state.accounts.lastSequence(account)
  }

  positionsSequence(account: number): number {
    const { accounts, positions } = this.state
    let last = 0
    for (let slot = accounts.firstPosition(account); slot !== none; slot = positions.nextOfAccount(slot)) {
      // The time at which leverage was set is not recorded.
      if (positions.leverage(slot) !== 0) return accounts.lastSequence(account)
      last = Math.max(last, positions.lastSequence(slot))
    }
    return last
  }

  balance(account: number, nowEpochMs = 0): BalanceView {
    const { accounts, atEpochMs } = this.state
    Margin.refreshAccount(this.state, account)
    const collateral = accounts.collateral(account) - Funding.pendingOfAccount(this.state, account)
    const pnl = accounts.exactUnrealizedPnl(account)
    const marginEquity = collateral + accounts.sumUnrealizedLoss(account)
    const initialMargin = accounts.sumInitialMargin(account)
    const orderLoss = accounts.sumOrderLoss(account)
    return {
      account,
      accountId: this.accountId(account),
      collateralAtoms: collateral,
      equityAtoms: Units.exactSum(collateral, pnl),
      marginEquityAtoms: marginEquity,
      unrealizedPnlAtoms: pnl,
      initialMarginAtoms: initialMargin,
      maintenanceMarginAtoms: accounts.sumMaintenanceMargin(account),
      orderLossAtoms: orderLoss,
      availableAtoms: Withdrawable.availableAtoms(this.state, account),
      withdrawableAtoms: Withdrawable.withdrawableAtoms(this.state, account, Math.max(nowEpochMs, atEpochMs)),
      isUnderLiquidation: isUnderLiquidation(this.state, account),
      lastSequence: accounts.lastSequence(account)
    }
  }

  equities(): EquitiesView | undefined {
    return equities(this.state)
  }

  balanceChanges(account: number, market: number, before: Place | undefined, limit: number): ReadonlyArray<BalanceChangeView> {
    return this.state.balances.of(account, market, before, limit).map((change) => ({ ...change, cause: causes[change.cause] as CauseName }))
  }

  fills(account: number, market: number, before: number, limit: number): ReadonlyArray<Fill> {
    return this.state.fills.ofAccount(account, market, before, limit)
  }

  fillsAmong(asked: FillsAsked, most: number, from?: number): FillsFound {
    return this.state.fills.amongOfAccount(asked, most, from)
  }

  fillsSince(account: number, market: number, sinceEpochMs: number, limit: number, most: number): ReadonlyArray<Fill> | undefined {
    return this.state.fills.ofAccountSince(account, market, sinceEpochMs, limit, most)
  }

  oldestFill(): OldestFill {
    return this.state.fills.oldest()
  }

  liquidations(market: number, sinceEpochMs: number, limit: number): ReadonlyArray<LiquidationStepView> {
    return this.state.liquidationLog.since(sinceEpochMs, limit, ["market"], market).map(stepView)
  }

  liquidationsOf(account: number, sinceEpochMs: number, limit: number): ReadonlyArray<LiquidationStepView> {
    return this.state.liquidationLog.since(sinceEpochMs, limit, ["account", "counterparty"], account).map(stepView)
  }

  fundingPayments(account: number, sinceEpochMs: number, limit: number, before?: Place): ReadonlyArray<PlacedPayment> {
    return paymentsOf(this.state.fundingPayments, account, sinceEpochMs, limit, before)
  }

  oldestMoney(): OldestMoney {
    const { balances, fundingPayments } = this.state
    const { atEpochMs: paymentAtEpochMs, sequence: paymentSequence } = oldestKept(fundingPayments) ?? { atEpochMs: 0, sequence: 0 }
    return { changeSequence: balances.oldestKept, paymentSequence, paymentAtEpochMs }
  }

  deleveragings(market: number, sinceEpochMs: number, limit: number): ReadonlyArray<Ranking> {
    return this.state.rankings.of(market, sinceEpochMs, limit)
  }

  insuranceFund(sinceEpochMs: number, limit: number): InsuranceFundView {
    const fund = this.state.accounts.find(Ids.insuranceFundId)
    return {
      balance: fund === none ? undefined : this.balance(fund),
      positions: fund === none ? [] : this.positions(fund),
      movements: this.state.fundLog.since(sinceEpochMs, limit).map((each) => ({
        ...each,
        movement: movementKinds[each.movement] as MovementKind
      }))
    }
  }

  isFavorite(account: number, market: number): boolean {
    return this.state.standing.isFavorite(account, market)
  }

  affiliateSince(account: number): number {
    return this.state.standing.affiliateSince(account)
  }

  findApiKey(keyId: string): ApiKeyView | undefined {
    const index = this.state.apiKeys.find(keyId)
    return index === none ? undefined : this.keyView(index)
  }

  apiKey(key: number): ApiKeyView | undefined {
    return this.state.apiKeys.has(key) ? this.keyView(key) : undefined
  }

  private keyView(key: number): ApiKeyView {
    const { apiKeys } = this.state
    let view = this.keyViews.get(key)
    // A key changes only once, when it is revoked.
    if (view === undefined || view.revokedAtEpochMs !== apiKeys.revokedAt(key)) {
      view = { principal: Principal.key, credential: key, ...apiKeys.at(key) }
      // Removes views of forgotten keys, together with all others.
      if (this.keyViews.size > apiKeys.kept) this.keyViews.clear()
      this.keyViews.set(key, view)
    }
    return view
  }

  apiKeys(account: number, limit: number): ReadonlyArray<ApiKeyView> {
    const views: Array<ApiKeyView> = []
    for (const key of this.state.apiKeys.of(account)) {
      if (views.length === limit) break
      views.push(this.keyView(key))
    }
    return views
  }
}
