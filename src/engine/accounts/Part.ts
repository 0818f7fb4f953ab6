/** Accounts with their money, keys and positions, and the venue's totals. */
import { Accounts } from "../Accounts.js"
import { BalanceLog } from "../BalanceLog.js"
import * as Funding from "../markets/Funding.js"
import type { Part } from "../Part.js"
import { Positions } from "../Positions.js"
import type { Parts, State } from "../State.js"
import { Total } from "../Total.js"
import { Brackets, numbersOf } from "./Brackets.js"
import { Rankings } from "./Rankings.js"
import type { StandingDump } from "./Standing.js"
import { directionOf, Triggers } from "./Triggers.js"
import * as Watch from "./Watch.js"
import { ApiKeys } from "./ApiKeys.js"

interface Totals {
  readonly feesLow: number
  readonly feesHigh: number
  readonly creditedLow: number
  readonly creditedHigh: number
  readonly fundingPoolLow: number
  readonly fundingPoolHigh: number
}

const totalsOf = ({ credited, fees, fundingPool }: State): Totals => ({
  feesLow: fees.low,
  feesHigh: fees.high,
  creditedLow: credited.low,
  creditedHigh: credited.high,
  fundingPoolLow: fundingPool.low,
  fundingPoolHigh: fundingPool.high
})

/** An account under liquidation: when it is examined next, and its partial liquidations so far, if any. */
type LiquidationDump = readonly [account: number, atEpochMs: number, parts: Parts | null]

const liquidationsOf = ({ liquidations, parts }: State): ReadonlyArray<LiquidationDump> =>
  liquidations.entries().map(([account, atEpochMs]) => [account, atEpochMs, parts.get(account) ?? null])

const standingSection = "accounts.standing"
/** Present only where a key has been forgotten. */
const keyNumbersSection = "apiKeys.numbers"
/** Present only where a ranking in use has left out positions. */
const restsSection = "accounts.rankingRests"
const fundingSection = "accounts.funding"

export const part: Part = {
  encode: (state, into) => {
    into.json("accounts.totals", totalsOf(state))
    state.accounts.encode(into)
    const keys = state.apiKeys.dump()
    into.bytes("apiKeys.rows", keys.rows)
    into.texts("apiKeys.keyIds", keys.keyIds)
    into.texts("apiKeys.displayPrefixes", keys.displayPrefixes)
    if (keys.numbers !== undefined) into.column(keyNumbersSection, keys.numbers)
    state.positions.encode(into)
    into.json("accounts.liquidations", liquidationsOf(state))
    state.liquidationLog.encode("accounts.liquidationLog", into)
    state.fundLog.encode("accounts.fundLog", into)
    into.column("accounts.rankings", state.rankings.dump())
    const rests = state.rankings.dumpRests()
    if (rests !== undefined) into.column(restsSection, rests)
    into.column("accounts.brackets", state.brackets.dump())
    into.json("accounts.bracketsReached", state.brackets.allReached())
    state.fundingPayments.encode("accounts.fundingPayments", into)
    state.balances.encode("accounts.balances", into)
    // Written only where there are payments, so that snapshots of a venue without any stay the same.
    const payments = Funding.dump(state)
    if (payments !== undefined) into.json(fundingSection, payments)
    const standing = state.standing.dump()
    if (standing !== undefined) into.json(standingSection, standing)
  },
  restore: (state, from) => {
    const totals = from.json("accounts.totals") as Totals
    state.fees.low = totals.feesLow
    state.fees.high = totals.feesHigh
    state.credited.low = totals.creditedLow
    state.credited.high = totals.creditedHigh
    state.fundingPool.low = totals.fundingPoolLow
    state.fundingPool.high = totals.fundingPoolHigh
    state.accounts = Accounts.decode(from, state.capacity.growth)
    state.apiKeys = ApiKeys.restore({
      rows: from.bytes("apiKeys.rows"),
      keyIds: from.texts("apiKeys.keyIds"),
      displayPrefixes: from.texts("apiKeys.displayPrefixes"),
      numbers: from.has(keyNumbersSection) ? from.floats(keyNumbersSection) : undefined
    })
    state.positions = Positions.decode(from, state.capacity.growth)
    state.positions.countMarkets(state.accounts)
    for (const [account, atEpochMs, parts] of from.json("accounts.liquidations") as ReadonlyArray<LiquidationDump>) {
      state.liquidations.set(account, atEpochMs)
      if (parts !== null) state.parts.set(account, parts)
    }
    state.liquidationLog.restore(from.floats("accounts.liquidationLog"))
    state.fundLog.restore(from.floats("accounts.fundLog"))
    state.rankings = Rankings.restore(from.floats("accounts.rankings"), from.has(restsSection) ? from.floats(restsSection) : undefined)
    state.fundingPayments.restore(from.floats("accounts.fundingPayments"))
    state.balances = BalanceLog.restore(from.floats("accounts.balances"), state.capacity.balanceChanges)
    if (from.has(standingSection)) state.standing.restore(from.json(standingSection) as StandingDump)
    if (from.has(fundingSection)) Funding.restore(state, from.json(fundingSection) as ReadonlyArray<Funding.PaymentDump>)
    else if (state.settling > 0) Funding.resume(state)
    state.triggers = Triggers.restore(state.positions)
    state.brackets = Brackets.restore(
      from.floats("accounts.brackets"),
      from.json("accounts.bracketsReached") as ReturnType<Brackets["allReached"]>,
      (account, market) => state.positions.find(account, market)
    )
    for (const market of state.markets) Watch.note(state, market)
  },
  canonical: (state, feed) => {
    const { accounts, positions } = state
    feed(`totals ${state.fees.atoms} ${state.credited.atoms} ${state.fundingPool.atoms}`)
    for (let account = 0; account < accounts.count; account++) {
      accounts.canonical(account, feed)
      for (let market = 0; market < state.markets.length; market++) {
        const slot = positions.find(account, market)
        if (slot < 0) continue
        feed(
          `position ${account} ${market} ${positions.quantity(slot)} ${positions.entryNotional(slot)} ${positions.realizedPnl(slot)} `
            + `${positions.feesPaid(slot)} ${positions.born(slot)} ${positions.openedAt(slot)} ${positions.lastSequence(slot)} `
            + `${positions.openBuys(slot)} ${positions.openSells(slot)} ${positions.reduceBuys(slot)} ${positions.reduceSells(slot)} `
            + `${positions.openCount(slot)} ${positions.fundingEpoch(slot)} ${positions.fundingPaid(slot)} `
            + `${positions.trigger(slot)}`
        )
        if (positions.leverage(slot) !== 0) feed(`leverage ${account} ${market} ${positions.leverage(slot)}`)
      }
    }
    for (const market of state.markets) {
      // The order in which accounts entered a market decides the order of its settlement, and nothing else.
      if (market.delisting?.state === "settling") feed(`holders ${market.index} ${holdersOf(state, market.index).join(" ")}`)
    }
    for (const [account, atEpochMs, parts] of liquidationsOf(state)) {
      feed(`liquidation ${account} ${atEpochMs} ${parts?.firstAtEpochMs ?? 0} ${parts?.lastSecond ?? 0}`)
      if (parts?.rest !== undefined) feed(`liquidation rest ${account} ${parts.rest.market} ${parts.rest.sizeAtoms}`)
    }
    feed(`log liquidations ${state.liquidationLog.dump().join(" ")}`)
    feed(`log fund ${state.fundLog.dump().join(" ")}`)
    feed(`log rankings ${state.rankings.dump().join(" ")}`)
    const rests = state.rankings.dumpRests()
    if (rests !== undefined) feed(`ranking rests ${rests.join(" ")}`)
    for (const payment of Funding.dump(state) ?? []) feed(`funding ${JSON.stringify(payment)}`)
    for (const bracket of state.brackets.all()) feed(`bracket ${numbersOf(bracket).join(" ")}`)
    for (const [heap, to] of state.brackets.allReached()) feed(`reached ${heap} ${to}`)
    feed(`log funding payments ${state.fundingPayments.dump().join(" ")}`)
    feed(`log balances ${state.balances.dump().join(" ")}`)
    state.standing.canonical(feed)
    for (const key of state.apiKeys.all()) feed(`key ${JSON.stringify(key)}`)
    // While no key has been forgotten, the keys' own lines give their numbers.
    const { apiKeys } = state
    if (apiKeys.kept !== apiKeys.count) feed(`keys ${apiKeys.count} ${apiKeys.numbers().join(" ")}`)
  },
  firstBroken: (state) => conservation(state) ?? balancesAddUp(state) ?? zeroSum(state) ?? bracketsFit(state)
}

/** The accounts that ever entered a market, in that order. */
const holdersOf = ({ positions }: State, market: number): ReadonlyArray<number> =>
  Array.from({ length: positions.heldCount(market) }, (_, place) => positions.account(positions.heldSlot(market, place)))

/** The newest balance change kept of each account ends at the account's present balance. */
const balancesAddUp = ({ accounts, balances }: State): string | undefined => {
  for (let account = 0; account < accounts.count; account++) {
    const told = balances.balanceOf(account)
    if (told !== undefined && told !== accounts.collateral(account)) {
      return `account ${account} has ${accounts.collateral(account)} money atoms, and its latest change left ${told}`
    }
  }
  return undefined
}

/**
 * Conservation: collaterals + amounts held for withdrawals + fees + funding in transit + entry-notional imbalance = credits +
 * deposits - withdrawals, to the atom.
 */
const conservation = (state: State): string | undefined => {
  const { accounts, positions } = state
  const { deposited, reserved, withdrawn } = state.funds
  let held = state.fees.atoms + state.fundingPool.atoms + reserved.atoms
  for (let account = 0; account < accounts.count; account++) held += BigInt(accounts.collateral(account))
  for (let slot = 0; slot < positions.count; slot++) {
    const entry = BigInt(positions.entryNotional(slot))
    held += positions.quantity(slot) > 0 ? -entry : entry
  }
  const brought = state.credited.atoms + deposited.atoms - withdrawn.atoms
  return held === brought ? undefined : `the venue holds ${held} money atoms of ${brought} credited`
}

/** Zero sum: in each market, longs equal shorts and the stored open interest. */
const zeroSum = (state: State): string | undefined => {
  const { positions } = state
  for (const market of state.markets) {
    const longs = new Total()
    const shorts = new Total()
    for (let slot = 0; slot < positions.count; slot++) {
      if (positions.market(slot) !== market.index) continue
      const quantity = positions.quantity(slot)
      if (quantity > 0) longs.add(quantity)
      else shorts.add(-quantity)
      if (quantity === 0 && positions.entryNotional(slot) !== 0) {
        return `a flat position in ${market.parameters.marketId} has entry notional`
      }
    }
    const { openInterest, parameters: { marketId } } = market
    if (longs.atoms !== shorts.atoms) return `${marketId} has ${longs.atoms} long and ${shorts.atoms} short`
    if (longs.nearest !== openInterest) return `${marketId} keeps open interest ${openInterest} of ${longs.nearest}`
  }
  return undefined
}

/** Brackets close an existing position, and no more than its size. */
const bracketsFit = ({ brackets, positions }: State): string | undefined => {
  const sums = new Map<number, number>()
  for (const { direction, number, quantityAtoms, slot } of brackets.all()) {
    if (quantityAtoms === 0) continue
    const quantity = positions.quantity(slot)
    if (quantity === 0 || direction !== directionOf(quantity)) return `bracket ${number} is armed beside a position of ${quantity}`
    const sum = (sums.get(slot) ?? 0) + quantityAtoms
    if (sum > Math.abs(quantity)) return `brackets are armed for ${sum} beside a position of ${quantity}`
    sums.set(slot, sum)
  }
  return undefined
}
