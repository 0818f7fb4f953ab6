/**
 * Auto-deleveraging: a position that neither the market nor the insurance fund takes is closed against opposite positions of its
 * market, those with the highest profit and leverage first. Everybody can recompute the ranking: it uses published figures,
 * compared by exact products.
 */
import { assert } from "../../domain/Assert.js"
import { none } from "../../domain/None.js"
import * as Breadth from "../Breadth.js"
import { Event } from "../EventLog.js"
import { latestOf, Movement, Step } from "../LiquidationLog.js"
import * as Margin from "../Margin.js"
import type { MarketState } from "../Markets.js"
import { isTicking } from "../markets/Freshness.js"
import * as Matching from "../Matching.js"
import type { LiquidatedAtOnce, State } from "../State.js"
import * as InsuranceFund from "./InsuranceFund.js"
import { entriesKept, madeAgain, nobody, type RankedEntry, type Ranking } from "./Rankings.js"
import { type Direction, directionOf, long, short } from "./Triggers.js"

/** One record's work for liquidations, unless the capacity says otherwise. */
export const atOnce: LiquidatedAtOnce = { looks: 16, met: 256, deleveraged: 64, unwound: 8, settled: 64 }
/** Most positions that one record ranks, unless the capacity says otherwise; and how many it visits for each of them. */
const rankedAtOnce = 256
const passedForEach = 32
/**
 * A ranking that has not been continued for longer than this is begun anew, since much may have changed. An account that waits for
 * a ranking continues it only after all others whose examination is due. With thousands of them in a stale market that takes many
 * records: after a shorter time the ranking would begin anew each time and never be completed.
 */
const patienceSeconds = 60

/** The figures by which a position is ranked. */
export type Ranked = Omit<RankedEntry, "slot" | "closedAtoms">

/** How many positions a record ranks at most. */
const rankedBy = ({ capacity }: State): number => capacity.liquidatedAtOnce?.ranked ?? rankedAtOnce

/** How many positions a ranking holds: the first of all that were ranked. */
const placesOf = ({ capacity }: State): number => capacity.liquidatedAtOnce?.places ?? entriesKept

const atLeastOne = (atoms: number): number => Math.max(1, atoms)

/** The numerator and the denominator of the score, each as two factors. */
const over = ({ equityAtoms, notionalAtoms, unrealizedPnlAtoms }: Ranked): readonly [number, number] => [
  unrealizedPnlAtoms,
  unrealizedPnlAtoms > 0 ? notionalAtoms : atLeastOne(equityAtoms)
]
const under = ({ entryNotionalAtoms, equityAtoms, notionalAtoms, unrealizedPnlAtoms }: Ranked): readonly [number, number] => [
  atLeastOne(entryNotionalAtoms),
  unrealizedPnlAtoms > 0 ? atLeastOne(equityAtoms) : notionalAtoms
]

/** The approximate score of a position: `compare` is exact. */
export const scoreOf = ({ entryNotionalAtoms, equityAtoms, notionalAtoms, unrealizedPnlAtoms }: Ranked): number =>
  unrealizedPnlAtoms > 0
    ? (unrealizedPnlAtoms * notionalAtoms) / (atLeastOne(entryNotionalAtoms) * atLeastOne(equityAtoms))
    : (unrealizedPnlAtoms * atLeastOne(equityAtoms)) / (atLeastOne(entryNotionalAtoms) * notionalAtoms)

/** Scores whose relative difference is smaller are compared by exact products. */
const doubtful = 2 ** -40

const exactly = (one: Ranked, other: Ranked): number => {
  const product = (factors: readonly [number, number]): bigint => BigInt(factors[0]) * BigInt(factors[1])
  const left = product(over(one)) * product(under(other))
  const right = product(over(other)) * product(under(one))
  return left > right ? -1 : left < right ? 1 : one.account - other.account
}

/** Negative where `one` ranks before `other`: positions in profit first, by descending score, on a tie the lower account. */
export const compare = (one: Ranked, other: Ranked): number => {
  const inProfit = Number(other.unrealizedPnlAtoms > 0) - Number(one.unrealizedPnlAtoms > 0)
  if (inProfit !== 0) return inProfit
  const score = scoreOf(one)
  const otherScore = scoreOf(other)
  const isClear = Math.abs(score - otherScore) > Math.max(Math.abs(score), Math.abs(otherScore)) * doubtful
  return isClear ? otherScore - score : exactly(one, other)
}

/** The second to which a ranking in a market belongs: that of the market's last tick, or of the record where it no longer ticks. */
const secondOf = ({ atEpochMs }: State, { isDelisted, tickedSecond }: MarketState): number =>
  isDelisted ? Math.floor(atEpochMs / 1_000) : tickedSecond

/**
 * Begins a ranking of a direction in a market. `isSecond`: the previous one took several records and closed nothing.
 * `leastEquityAtoms`: positions of accounts with less equity are left out.
 */
const begin = (state: State, market: MarketState, direction: Direction, isSecond = false, leastEquityAtoms = nobody): Ranking => {
  const { atEpochMs, rankings, sequence } = state
  const { index, mark } = market
  const ranking: Ranking = {
    sequence,
    atEpochMs,
    market: index,
    direction,
    markAtoms: mark,
    second: secondOf(state, market),
    cursor: 0,
    madeAt: isSecond ? madeAgain : 0,
    isSecond,
    leastEquityAtoms,
    restEquityAtoms: nobody,
    changes: 0,
    ranked: 0,
    entries: []
  }
  rankings.begin(ranking, (each) => isLeftAlone(state, each))
  return ranking
}

/**
 * Whether a ranking is still valid. A completed one is valid within its second; an unfinished one is continued in later seconds
 * too, since in a large market it takes longer than that and could otherwise never be completed.
 */
const stands = (state: State, market: MarketState, { madeAt, markAtoms, second }: Ranking): boolean => {
  // A ranking from before the delisting used another mark than the final price, at which all positions are closed.
  if (market.isDelisted && markAtoms !== market.mark) return false
  const now = secondOf(state, market)
  if (madeAt > 0) return second === now
  return market.isDelisted || now - second <= patienceSeconds
}

/**
 * Whether an unfinished ranking will never be continued: it is no longer valid, or its market has stood still for so long that it
 * will not be once it ticks again.
 */
const isLeftAlone = (state: State, ranking: Ranking): boolean => {
  const { atEpochMs } = state
  const market = state.markets[ranking.market]!
  if (!stands(state, market, ranking)) return true
  const standsStill = !market.isDelisted && !isTicking(market, atEpochMs)
  return standsStill && Math.floor(atEpochMs / 1_000) - ranking.second > patienceSeconds
}

/**
 * The current ranking for closing positions of a market at a price, begun if need be. A completed one is not used where it left out
 * accounts that could bear this price, since it was begun for a worse one; an unfinished one is, since it might otherwise never be
 * completed.
 */
const current = (state: State, market: MarketState, direction: Direction, neededAtoms: number): Ranking => {
  const latest = state.rankings.latest(market.index, direction)
  const isOfAll = latest !== undefined && (latest.madeAt <= 0 || latest.leastEquityAtoms <= neededAtoms)
  return isOfAll && stands(state, market, latest) ? latest : begin(state, market, direction)
}

/** Continues a ranking with as many positions as the record has left. Returns whether it is complete. */
const goOn = (state: State, market: MarketState, ranking: Ranking): boolean => {
  if (ranking.madeAt > 0) return true
  const { liquidating, positions } = state
  const count = positions.heldCount(market.index)
  const places = placesOf(state)
  const mostRanked = rankedBy(state)
  const mostPassed = mostRanked * passedForEach
  ranking.second = secondOf(state, market)
  for (; ranking.cursor < count && liquidating.ranked < mostRanked && liquidating.passed < mostPassed; ranking.cursor++) {
    const slot = positions.heldSlot(market.index, ranking.cursor)
    const quantity = positions.quantity(slot)
    liquidating.passed++
    if (quantity === 0 || directionOf(quantity) !== ranking.direction) continue
    liquidating.ranked += Breadth.weightOf(state, positions.account(slot))
    rank(ranking, look(state, market, slot, ranking.markAtoms), places)
  }
  if (ranking.cursor < count) return false
  ranking.entries.sort(compare)
  ranking.changes = liquidating.changes
  state.rankings.finish(ranking, state.sequence, (before) => market.isDelisted && isIdle(state, before))
  return true
}

/** Whether a ranking explains nothing that happened: nothing was closed by it, and no step that is kept names it. */
const isIdle = ({ liquidationLog }: State, { atEpochMs, direction, entries, market, sequence }: Ranking): boolean =>
  entries.every(({ closedAtoms }) => closedAtoms === 0)
  && liquidationLog.latest(
      atEpochMs,
      ["rankingSequence", sequence],
      ["market", market],
      ["direction", direction === short ? long : short]
    ) === undefined

/**
 * Ranks a position that was examined, unless the ranking leaves it out. Positions that do not make it into the ranking are counted
 * among the rest.
 */
const rank = (ranking: Ranking, looked: RankedEntry, places: number): void => {
  const { entries, leastEquityAtoms } = ranking
  if (leastEquityAtoms !== nobody && looked.equityAtoms < leastEquityAtoms) return leave(ranking, looked)
  ranking.ranked++
  const isFull = entries.length === places
  if (isFull && compare(looked, entries[0]!) > 0) return leave(ranking, looked)
  if (isFull) leave(ranking, entries[0]!)
  keep(entries, looked, places)
}

/** Notes a position that is not in a ranking. */
const leave = (ranking: Ranking, { equityAtoms }: Ranked): void => {
  ranking.restEquityAtoms = Math.max(ranking.restEquityAtoms, equityAtoms)
}

/**
 * Examines a position at the mark of a ranking, whatever the present one: all positions of a ranking are measured at the same mark.
 */
const look = (state: State, market: MarketState, slot: number, markAtoms: number): RankedEntry => {
  const { accounts, positions } = state
  const account = positions.account(slot)
  Margin.refreshAccount(state, account)
  const quantity = positions.quantity(slot)
  const entryNotional = positions.entryNotional(slot)
  const notional = Math.abs(quantity) * markAtoms * market.factor
  const pnl = quantity > 0 ? notional - entryNotional : entryNotional - notional
  return {
    slot,
    account,
    unrealizedPnlAtoms: pnl,
    entryNotionalAtoms: entryNotional,
    notionalAtoms: notional,
    equityAtoms: accounts.unrealizedPnlWith(account, positions.unrealizedPnl(slot), pnl, accounts.collateral(account)),
    closedAtoms: 0
  }
}

/** Adds an entry to the first `places`, replacing the last where there is no room; a heap with the last on top. */
const keep = (heap: Array<RankedEntry>, entry: RankedEntry, places: number): void => {
  if (heap.length === places) return sink(heap, entry)
  let at = heap.length
  heap.push(entry)
  while (at > 0) {
    const above = (at - 1) >> 1
    if (compare(heap[above]!, entry) > 0) break
    heap[at] = heap[above]!
    at = above
  }
  heap[at] = entry
}

/** Replaces the top of the heap. */
const sink = (heap: Array<RankedEntry>, entry: RankedEntry): void => {
  let at = 0
  for (;;) {
    let below = 2 * at + 1
    if (below >= heap.length) break
    if (below + 1 < heap.length && compare(heap[below + 1]!, heap[below]!) > 0) below++
    if (compare(heap[below]!, entry) < 0) break
    heap[at] = heap[below]!
    at = below
  }
  heap[at] = entry
}

/** What closing one size atom of a direction at a price costs in equity, money atoms. */
const lossOf = ({ factor, mark }: MarketState, direction: Direction, priceAtoms: number): number =>
  (direction === long ? mark - priceAtoms : priceAtoms - mark) * factor

/** How much of a position its account can close at a price without its equity falling below zero, size atoms. */
const closable = (state: State, market: MarketState, { account, slot }: RankedEntry, priceAtoms: number): number => {
  const quantity = state.positions.quantity(slot)
  const lossOfOne = lossOf(market, directionOf(quantity), priceAtoms)
  Margin.refreshAccount(state, account)
  const equity = Margin.equityOf(state, account)
  // The account is in debt already: without its position it would keep nothing but the debt.
  if (equity < 0) return 0
  return lossOfOne <= 0 ? Math.abs(quantity) : Math.min(Math.abs(quantity), Math.floor(equity / lossOfOne))
}

/**
 * The next ranking where one is used up with something left to close, for which an account needs `neededAtoms`; undefined where no
 * counterparty is left.
 *
 * None is left where the ranking was begun in this very record, positions are unchanged, and no account outside the ranking could
 * close anything either. Where the ranking took several records, an account that was flat when it was visited may have a position
 * by now: then it must be the second in a row that closed nothing, so that there is an end even in a market that never stands
 * still. Where an account outside the ranking could close something while all inside closed nothing, the next ranking leaves out
 * those that cannot.
 */
const following = (state: State, market: MarketState, ranking: Ranking, neededAtoms: number): Ranking | undefined => {
  const { liquidating, sequence } = state
  const { changes, direction, entries, isSecond, leastEquityAtoms, madeAt, restEquityAtoms } = ranking
  const closedNothing = entries.every(({ closedAtoms }) => closedAtoms === 0)
  const isOfNow = madeAt === sequence
  const isRestIdle = restEquityAtoms < neededAtoms
  const isWhole = isOfNow && isRestIdle && changes === liquidating.changes
  if (isWhole && (ranking.sequence === sequence || closedNothing && isSecond)) return undefined
  const isStuck = isOfNow && closedNothing && !isRestIdle
  return begin(state, market, direction, isWhole && closedNothing, isStuck ? neededAtoms : leastEquityAtoms)
}

/** How a deleveraging ended: the whole position is closed, the record's limit was reached, or there was no counterparty. */
export type Deleveraged = "closed" | "unfinished" | "nobody"

/** Closes a position at a price against opposite positions, in the order of their ranking. */
export const deleverage = (state: State, slot: number, priceAtoms: number): Deleveraged => {
  const { accounts, positions } = state
  const account = positions.account(slot)
  const market = state.markets[positions.market(slot)]!
  const direction = positions.quantity(slot) > 0 ? short : long
  const neededAtoms = Math.max(0, lossOf(market, direction, priceAtoms))
  let ranking = current(state, market, direction, neededAtoms)
  for (;;) {
    if (!goOn(state, market, ranking)) {
      state.capacity.reached?.("a ranking went on in the next record")
      return "unfinished"
    }
    state.events.event7(
      Event.DeleveragingBegun,
      account,
      market.index,
      Math.abs(positions.quantity(slot)),
      priceAtoms,
      market.mark,
      Margin.equityOf(state, account),
      accounts.sumMaintenanceMargin(account)
    )
    const came = closeAgainst(state, slot, priceAtoms, ranking)
    if (came !== "nobody") return came
    // Further accounts may have entered since the ranking began, or rank behind those it holds: it is made anew, unless that cannot
    // help.
    const next = following(state, market, ranking, neededAtoms)
    if (next === undefined) break
    ranking = next
  }
  state.capacity.reached?.("a deleveraging found nobody")
  if (!isToldOf(state, market, slot)) note(state, slot, priceAtoms, ranking, none, 0, Math.abs(positions.quantity(slot)))
  return "nobody"
}

/**
 * Whether it has already been published that a position of a delisted market found no counterparty at its present size. A waiting
 * settlement tries again every minute, possibly for days: if each attempt were published, they would displace the steps of other
 * accounts.
 */
const isToldOf = ({ liquidationLog, positions }: State, { delisting, index: market, isDelisted }: MarketState, slot: number): boolean => {
  if (!isDelisted) return false
  const quantity = positions.quantity(slot)
  const of = { account: positions.account(slot), direction: directionOf(quantity), market, sinceEpochMs: delisting!.effectiveAtEpochMs }
  const told = latestOf(liquidationLog, of)
  return told?.step === Step.exhausted && told.sizeAtoms === Math.abs(quantity)
}

/** Closes as much of a position as the accounts of a ranking can bear, in its order. */
const closeAgainst = (state: State, slot: number, priceAtoms: number, ranking: Ranking): Deleveraged => {
  const { liquidating, positions } = state
  const market = state.markets[ranking.market]!
  for (let at = 0; at < ranking.entries.length; at++) {
    const entry = ranking.entries[at]!
    const quantity = positions.quantity(entry.slot)
    if (quantity === 0 || directionOf(quantity) !== ranking.direction) continue
    const sizeAtoms = Math.min(Math.abs(positions.quantity(slot)), closable(state, market, entry, priceAtoms))
    if (sizeAtoms === 0) continue
    if (liquidating.deleveraged >= (state.capacity.liquidatedAtOnce ?? atOnce).deleveraged) {
      state.capacity.reached?.("a deleveraging went on in the next record")
      return "unfinished"
    }
    // Counted after the check of the limit, so that each record closes at least one position.
    liquidating.deleveraged += 1 + Breadth.beyondOneTrade(state, entry.account)
    state.capacity.reached?.("a position was deleveraged")
    note(state, slot, priceAtoms, ranking, entry.account, at + 1, sizeAtoms)
    state.events.event6(Event.Deleveraged, positions.account(slot), entry.account, market.index, sizeAtoms, priceAtoms, at + 1)
    const isUnchanged = ranking.changes === liquidating.changes
    const close = (): void => Matching.transfer(state, market, slot, entry.slot, sizeAtoms, priceAtoms)
    if (entry.account === InsuranceFund.find(state)) InsuranceFund.moved(state, Movement.deleveraging, market.index, close)
    else close()
    // Only this close has changed the ranked positions. Entries are examined as they stand now, and the account being closed was
    // not among the rest.
    if (isUnchanged) ranking.changes = liquidating.changes
    entry.closedAtoms += sizeAtoms
    if (positions.quantity(slot) === 0) return "closed"
  }
  return "nobody"
}

/** Publishes a step: what was closed against a counterparty or, without one, what found no counterparty. */
const note = (
  state: State,
  slot: number,
  priceAtoms: number,
  ranking: Ranking,
  counterparty: number,
  rank: number,
  sizeAtoms: number
): void => {
  const { accounts, atEpochMs, positions, sequence } = state
  const account = positions.account(slot)
  assert(sizeAtoms > 0, "a step is of something")
  Margin.refreshAccount(state, account)
  state.liquidationLog.add({
    sequence,
    atEpochMs,
    market: ranking.market,
    step: counterparty === none ? Step.exhausted : Step.deleveraging,
    account,
    counterparty,
    rank,
    rankingSequence: ranking.sequence,
    direction: ranking.direction === short ? long : short,
    sizeAtoms,
    filledAtoms: counterparty === none ? 0 : sizeAtoms,
    priceAtoms,
    markAtoms: state.markets[ranking.market]!.mark,
    feeAtoms: 0,
    equityAtoms: Margin.equityOf(state, account),
    maintenanceMarginAtoms: accounts.sumMaintenanceMargin(account)
  })
}
