/**
 * Safety (I13). An account below its maintenance margin is under liquidation, no other account's positions are closed, and none are in
 * a market that is not live. No account is left with less than two thirds of its maintenance margin after it has been examined, so that
 * neither an account nor the insurance fund ends with negative equity. Prices are those that the account's equity allots to the
 * position. Deleveraging follows the ranking, and finds no counterparty only if none exists that could bear the loss of an atom.
 * Followed over the events of the feed, with the formulas of the rules in whole numbers.
 */
import { insuranceFundBorn } from "../../src/domain/Ids.js"
import { hasSessions, type Parameters, type Status, statuses } from "../../src/domain/Market.js"
import { states } from "../../src/domain/Session.js"
import { examinedAtOnce } from "../../src/engine/accounts/Watch.js"
import type { DecodedEvent } from "../../src/engine/EventLog.js"
import type { Record } from "../../src/journal/Record.js"
import { rankingPlacesOf, venueBounds } from "../model/NaiveLiquidation.js"
import { isListed } from "../reading/MarketRules.js"
import { type Announced, parametersFrom } from "./Announced.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface Held {
  readonly quantity: bigint
  readonly entry: bigint
}

interface FollowedMarket {
  parameters: Parameters
  status: Status
  /** Whether it trades in sessions and is between two of them. */
  isClosed: boolean
  mark: bigint
  index: bigint
  /** The time of its index at the source; 0 before the first. */
  sourceEpochMs: number
  /** Whether its marks are being made, as far as the current record has been followed, and since when without a break. */
  isGoing: boolean
  goingSinceEpochMs: number
  /** Positions other than flat ones, by account. */
  readonly held: Map<number, Held>
  /** The second of its last tick. */
  second: number
  /** The latest rankings, against longs and against shorts. */
  againstLongs: Ranking | undefined
  againstShorts: Ranking | undefined
  /** Whether its delisting has taken effect: positions in it are settled, whatever else their accounts hold. */
  isDelisted: boolean
  /** The record in which its mark last changed. */
  markedIn: number
}

/** The ranked accounts of one direction in a market, for a second of the market's ticks. */
interface Ranking {
  readonly second: number
  readonly mark: bigint
  /** The record in which the ranking was begun, and the one in which it was completed. */
  readonly sequence: number
  readonly madeAt: number
  /** Whether the previous ranking took several records and closed nothing. */
  readonly isSecond: boolean
  /** Accounts with less equity are left out; undefined where none is. */
  readonly least: bigint | undefined
  /** The highest equity of the accounts that are not in it; undefined where it has all. */
  readonly restEquity: bigint | undefined
  /** The number of accounts that were ranked, and the first of them. */
  readonly count: number
  readonly accounts: ReadonlyArray<number>
  /** Whether a deleveraging has closed anything by it. */
  hasClosed: boolean
  /** How often positions had changed when it was first used, including later closings by the ranking itself. */
  changes: number
}

/** A deleveraging in progress. */
interface Deleveraging {
  readonly account: number
  readonly market: number
  readonly price: bigint
  readonly isLong: boolean
  readonly ranking: Ranking
  readonly size: bigint
  left: bigint
  /** How many places of the ranking have been passed. */
  passed: number
  /** The loss of a counterparty's equity for each atom closed, at least 0. */
  readonly needed: bigint
  /** The record in which it began. */
  readonly begunIn: number
  /** Whether any other event has followed. */
  isOver: boolean
  /** An account that could have borne the loss of an atom when the deleveraging began or changed; looked for where none was found. */
  bearer: number | undefined
}

/** A position, or the rest of one, for which no counterparty was found. */
interface Exhausted {
  readonly account: number
  readonly market: number
  readonly size: bigint
}

/** A part that was sent, or what was left of one and sent by a later record, and what it has left. */
interface Sent {
  /** When the first part of the account's liquidation was sent. */
  readonly firstAtEpochMs: number
  readonly second: number
  readonly market: number
  readonly sequence: number
  readonly order: number
  left: number
}

interface State {
  /** Positions that a ranking has room for. */
  places: number
  /**
   * Whether a record ranks so few positions that a ranking may take several records. No event reports this, so the completed rankings
   * are taken from the model.
   */
  isSlow: boolean
  /** Whether records may leave accounts that came under their margins to the next record: another property checks which ones. */
  leavesSome: boolean
  /** Rankings that the model reports as completed and by which no deleveraging has begun yet, oldest first. */
  readonly made: Array<Omit<Ranking, "hasClosed" | "changes"> & { readonly market: number; readonly isLong: boolean }>
  /** Positions for which the model found no counterparty, by record, of records that are still to be followed. */
  readonly exhausted: Map<number, ReadonlyArray<Exhausted>>
  /** How often positions have changed. */
  changes: number
  /** The record in which each account's money or positions last changed. */
  readonly changedIn: Map<number, number>
  readonly markets: Array<FollowedMarket>
  /** Parameters that markets are about to take. */
  readonly announced: Announced
  readonly collateral: Map<number, bigint>
  /** Accounts under liquidation. */
  readonly under: Set<number>
  /** For how many seconds in a row an account whose examination was due has had less than the margin that an examination leaves it. */
  readonly unhelped: Map<number, number>
  /** The first second in which each account is due for examination, as its beginning in ms. */
  readonly due: Map<number, number>
  /** Those due accounts that had the required margin at some point of the current second. */
  readonly helped: Set<number>
  /** Whether the engine was halted at any point of the current second. */
  wasHalted: boolean
  /**
   * Records that could examine accounts, by the model, and that the feed has not given yet: none can while funding is left to be settled
   * or orders beyond a price band are left, however long that takes.
   */
  readonly looking: Set<number>
  /** Whether any record of the current second could. */
  couldLook: boolean
  /** The insurance fund's account, once there is one. */
  fund: number | undefined
  sequence: number
  halted: boolean
  atEpochMs: number
  deleveraging: Deleveraging | undefined
  /** The last part sent, for accounts under liquidation. */
  readonly parts: Map<number, Sent>
  /** A takeover that no event has followed yet. */
  taken: { readonly account: number; readonly market: number; readonly price: bigint } | undefined
}

/** The value in an event that says that a delisting has taken effect. */
const inEffect = 2

/** Up to this notional a position is sent whole, money atoms, and so is every other this long after an account's first part, ms. */
const wholeUpToAtoms = 100_000_000_000n
const wholeAfterMs = 30_000

/** Seconds in a row for which an account may remain below: examinations are limited in number, and wait for a price beyond a band. */
const patience = 3

const bpsOne = 10_000n
const abs = (value: bigint): bigint => (value < 0n ? -value : value)
const atLeastOne = (value: bigint): bigint => (value < 1n ? 1n : value)
const floorDiv = (over: bigint, under: bigint): bigint => over / under - (over < 0n && over % under !== 0n ? 1n : 0n)

const factorOf = ({ parameters: { priceScale, quantityScale } }: FollowedMarket): bigint => 10n ** BigInt(6 - priceScale - quantityScale)

const notionalOf = (market: FollowedMarket, { quantity }: Held): bigint => abs(quantity) * market.mark * factorOf(market)

const profitOf = (market: FollowedMarket, held: Held): bigint => {
  const notional = notionalOf(market, held)
  return held.quantity > 0n ? notional - held.entry : held.entry - notional
}

/** Each slice of the notional at its own tier's rate, and the sum rounded up once. */
const requiredOf = ({ parameters: { maintenanceMarginTiers: tiers } }: FollowedMarket, notional: bigint): bigint => {
  const sum = tiers.reduce((total, { maintenanceMarginBps, notionalThresholdAtoms }, index) => {
    const over = notional - BigInt(notionalThresholdAtoms)
    const more = maintenanceMarginBps - (tiers[index - 1]?.maintenanceMarginBps ?? 0)
    return over > 0n ? total + over * BigInt(more) : total
  }, 0n)
  return (sum + bpsOne - 1n) / bpsOne
}

/** An account's equity and requirement at the marks; `doubtful` is its loss in markets that are not live. */
const standingOf = (state: State, account: number) => {
  let equity = state.collateral.get(account) ?? 0n
  let required = 0n
  let doubtful = 0n
  let positions = 0
  let live = 0
  for (const market of state.markets) {
    const held = market.held.get(account)
    if (held === undefined) continue
    positions++
    const profit = profitOf(market, held)
    equity += profit
    required += requiredOf(market, notionalOf(market, held))
    if (isLive(state, market)) live++
    else if (profit < 0n) doubtful += profit
  }
  return { equity, required, doubtful, positions, live }
}

/** Whether a market's marks are being made. */
const isGoing = ({ atEpochMs, halted }: State, { isClosed, parameters, sourceEpochMs, status }: FollowedMarket): boolean =>
  !halted && !isClosed && status !== "halted" && isListed(status) && sourceEpochMs !== 0
  && atEpochMs < sourceEpochMs + parameters.indexStaleMs

/** Whether a market's mark is from the second in which it became live again, or later. */
const isMarked = ({ goingSinceEpochMs, second }: FollowedMarket): boolean => secondAfter(second * 1_000) > goingSinceEpochMs

const isLive = (state: State, market: FollowedMarket): boolean => isGoing(state, market) && isMarked(market)

/** Notes which markets have become live since the last call. */
const noteGoing = (state: State): void => {
  for (const market of state.markets) {
    const before = market.isGoing
    market.isGoing = isGoing(state, market)
    if (!market.isGoing || before) continue
    // The first index is a mark by itself, as long as it remains the index.
    const isNew = market.mark === 0n || market.second === 0 && market.mark === market.index
    market.goingSinceEpochMs = isNew ? 0 : state.atEpochMs
  }
}

const nameOf = (state: State, account: number): string => (account === state.fund ? "the insurance fund" : `account ${account}`)

/** Whether an account has at least what an examination leaves it: the fund its whole requirement, others two thirds of it. */
const isHelped = (state: State, account: number): boolean => {
  const { equity, live, positions, required } = standingOf(state, account)
  if (live < positions) return true
  return account === state.fund ? equity >= required : 3n * equity >= 2n * required
}

// --- steps -----------------------------------------------------------------------------------------------

/** What every step reports of the account at that moment, and of the market. */
interface Step {
  readonly event: string
  readonly account: number
  readonly market: number
  readonly markAtoms: number
  readonly equityAtoms: number
  readonly maintenanceMarginAtoms: number
}

const stepVerdict = (state: State, step: Step): Verdict => {
  const market = state.markets[step.market]!
  const { doubtful, equity, required } = standingOf(state, step.account)
  const what = `${step.event} of ${nameOf(state, step.account)} in market ${step.market}`
  if (!market.isDelisted && !isLive(state, market)) return broken(`${what}: the market does not live`)
  if (BigInt(step.markAtoms) !== market.mark) return broken(`${what} at a mark of ${step.markAtoms}, which is ${market.mark}`)
  if (BigInt(step.equityAtoms) !== equity || BigInt(step.maintenanceMarginAtoms) !== required) {
    return broken(`${what} says ${step.equityAtoms} of ${step.maintenanceMarginAtoms}, and it has ${equity} of ${required}`)
  }
  if (market.isDelisted) return equity < 0n ? holds : broken(`${what}, which is settled and has ${equity}`)
  if (step.account !== state.fund && !state.under.has(step.account)) return broken(`${what}: it is not under liquidation`)
  return equity - doubtful < required
    ? holds
    : broken(`${what}, which has ${equity} of ${required}, ${-doubtful} of it lost where nothing lives`)
}

/** The price at which the position's share of the equity is used up, by the current standing. */
const bankruptcyPriceOf = (state: State, account: number, index: number): bigint => {
  const market = state.markets[index]!
  const held = market.held.get(account)!
  const { equity, required } = standingOf(state, account)
  const share = floorDiv(equity * requiredOf(market, notionalOf(market, held)), required)
  const perAtom = abs(held.quantity) * factorOf(market)
  return held.quantity > 0n ? -floorDiv(share - market.mark * perAtom, perAtom) : floorDiv(market.mark * perAtom + share, perAtom)
}

/** The size of a new part: a fifth of the position, or all of it where that is small or the first part was sent long enough ago. */
const partOf = ({ atEpochMs }: State, market: FollowedMarket, held: Held, firstAtEpochMs: number): bigint => {
  const isWhole = notionalOf(market, held) <= wholeUpToAtoms || atEpochMs >= firstAtEpochMs + wholeAfterMs
  const size = abs(held.quantity)
  return isWhole ? size : (size + 4n) / 5n
}

const orderedVerdict = (state: State, event: Extract<DecodedEvent, { event: "LiquidationOrdered" }>): Verdict => {
  state.taken = undefined
  const { account, market, orderNumber: order, quantityAtoms } = event
  const { sequence } = state
  const second = Math.floor(state.atEpochMs / 1_000)
  const before = state.parts.get(account)
  const isAgain = before?.second === second
  // What a record left of a part is all that another one may send of that account in the same second.
  if (isAgain && (before.sequence === sequence || before.market !== market || before.left < quantityAtoms)) {
    return broken(`account ${account} is sent a second part in second ${second}`)
  }
  const firstAtEpochMs = before?.firstAtEpochMs ?? state.atEpochMs
  state.parts.set(account, { firstAtEpochMs, second, market, sequence, order, left: quantityAtoms })
  const verdict = stepVerdict(state, event)
  if (verdict !== holds) return verdict
  const price = bankruptcyPriceOf(state, event.account, event.market)
  if (price !== BigInt(event.bankruptcyPriceAtoms))
    return broken(`a part of account ${event.account} in market ${event.market} goes at ${event.bankruptcyPriceAtoms}, not at ${price}`)
  const followed = state.markets[event.market]!
  const held = followed.held.get(event.account)!
  const size = abs(held.quantity)
  const left = isAgain ? BigInt(before.left) : partOf(state, followed, held, firstAtEpochMs)
  const due = left < size ? left : size
  return BigInt(event.quantityAtoms) === due
    ? holds
    : broken(`a part of account ${event.account} in market ${event.market} is ${event.quantityAtoms} of ${size}, and ${due} is due`)
}

/** Notes what a part has filled. */
const noteSold = ({ parts }: State, { sizeAtoms, takerAccount, takerOrder }: Extract<DecodedEvent, { event: "Traded" }>): void => {
  const sent = parts.get(takerAccount)
  if (sent?.order === takerOrder) sent.left -= sizeAtoms
}

/** A position is handed on only if less than two thirds of the margin is left, and at the price that the equity allots. */
const handedOnVerdict = (state: State, event: Extract<DecodedEvent, { event: "TakenOver" | "DeleveragingBegun" }>): Verdict => {
  const verdict = stepVerdict(state, event)
  if (verdict !== holds) return verdict
  const { equity, required } = standingOf(state, event.account)
  const isFund = event.account === state.fund
  // The part of a position that the fund does not take is deleveraged at the price of the whole.
  const { taken } = state
  const isRest = event.event === "DeleveragingBegun" && taken?.account === event.account && taken.market === event.market
  if (!isFund && 3n * equity >= 2n * required)
    return broken(`${event.event} of account ${event.account}, which has ${equity} of ${required}`)
  const anew = isFund && equity >= 0n ? state.markets[event.market]!.mark : bankruptcyPriceOf(state, event.account, event.market)
  const price = isRest ? taken.price : anew
  state.taken = event.event === "TakenOver" ? { account: event.account, market: event.market, price } : undefined
  return price === BigInt(event.priceAtoms)
    ? holds
    : broken(`${event.event} of ${nameOf(state, event.account)} in market ${event.market} at ${event.priceAtoms}, not at ${price}`)
}

// --- deleveraging ----------------------------------------------------------------------------------------

interface Candidate {
  readonly account: number
  readonly equity: bigint
  readonly profit: bigint
  readonly over: bigint
  readonly under: bigint
}

/** Whether one comes before another: those in profit first, then by the larger score, then the lower account. */
const compare = (one: Candidate, other: Candidate): number => {
  if (one.profit > 0n !== other.profit > 0n) return one.profit > 0n ? -1 : 1
  const [left, right] = [one.over * other.under, other.over * one.under]
  return left === right ? one.account - other.account : left > right ? -1 : 1
}

/**
 * The positions against longs or shorts in their order, without accounts below the given equity; and the highest equity of those left
 * out.
 */
const candidatesInOrder = (state: State, market: FollowedMarket, isLong: boolean, least: bigint | undefined) => {
  const candidates: Array<Candidate> = []
  let leftOut: bigint | undefined
  for (const [account, held] of market.held) {
    if (held.quantity > 0n === isLong) continue
    const { equity } = standingOf(state, account)
    if (least !== undefined && equity < least) {
      leftOut = greater(leftOut, equity)
      continue
    }
    const [profit, notional] = [profitOf(market, held), notionalOf(market, held)]
    const [entry, backing] = [atLeastOne(held.entry), atLeastOne(equity)]
    const [over, under] = profit > 0n ? [profit * notional, entry * backing] : [profit * backing, entry * notional]
    candidates.push({ account, equity, profit, over, under })
  }
  return { candidates: candidates.sort(compare), leftOut }
}

const greater = (one: bigint | undefined, other: bigint): bigint => (one === undefined || other > one ? other : one)

/** The equity lost with each atom that a price closes against a long, or a short. */
const lossOf = (market: FollowedMarket, isLong: boolean, price: bigint): bigint =>
  (isLong ? price - market.mark : market.mark - price) * factorOf(market)

/** How much of an account's position a price may close against one of a direction. */
const closableOf = (state: State, account: number, { isLong, market: index, price }: Deleveraging): bigint => {
  const market = state.markets[index]!
  const held = market.held.get(account)
  if (held === undefined || held.quantity > 0n === isLong) return 0n
  const { equity } = standingOf(state, account)
  const loss = lossOf(market, isLong, price)
  const size = abs(held.quantity)
  const bearable = equity < 0n ? 0n : loss <= 0n ? size : equity / loss
  return bearable < size ? bearable : size
}

/** The ranking that a deleveraging needs. */
interface Wanted {
  readonly isLong: boolean
  /** The loss of a counterparty's equity for each atom closed, at least 0. */
  readonly needed: bigint
  /** The ranking that has been used up, where another one is made. */
  readonly through: Ranking | undefined
}

/**
 * The ranking that a deleveraging uses: the latest of the market's second, unless that has been used up already, or leaves out an
 * account that could bear the loss.
 */
const rankingOf = (state: State, market: FollowedMarket, wanted: Wanted): Ranking => {
  const { isLong, needed, through } = wanted
  const latest = isLong ? market.againstLongs : market.againstShorts
  const second = market.isDelisted ? Math.floor(state.atEpochMs / 1_000) : market.second
  const isOfMark = !market.isDelisted || latest?.mark === market.mark
  const isOfAll = latest?.least === undefined || latest.least <= needed
  const isGoneOnWith = state.made.some((each) => isAgainst(state, each, market, isLong) && each.sequence < state.sequence)
  if (latest?.second === second && isOfMark && isOfAll && through === undefined && !isGoneOnWith) return latest
  const made = state.isSlow ? takeMade(state, market, isLong) : makeNow(state, market, second, wanted)
  if (isLong) market.againstLongs = made
  else market.againstShorts = made
  return made
}

/** Whether an account outside a ranking could bear the loss of an atom. */
const couldOthers = ({ restEquity }: Ranking, needed: bigint): boolean => restEquity !== undefined && restEquity >= needed

/** A ranking completed in one record; if no place of the previous one could close anything, only of accounts that could. */
const makeNow = (state: State, market: FollowedMarket, second: number, { isLong, needed, through }: Wanted): Ranking => {
  const { changes, places, sequence } = state
  const isStuck = through !== undefined && through.madeAt === sequence && !through.hasClosed && couldOthers(through, needed)
  const least = isStuck ? needed : through?.least
  const { candidates, leftOut } = candidatesInOrder(state, market, isLong, least)
  const restEquity = candidates.slice(places).reduce((most, { equity }) => greater(most, equity), leftOut)
  const accounts = candidates.slice(0, places).map(({ account }) => account)
  const [mark, count] = [market.mark, candidates.length]
  return { second, mark, sequence, madeAt: sequence, isSecond: false, least, restEquity, count, accounts, hasClosed: false, changes }
}

/** Whether a ranking was completed in the current record, against the positions of a direction in a market. */
const isAgainst = ({ markets, sequence }: State, ranking: State["made"][number], market: FollowedMarket, isLong: boolean): boolean =>
  markets[ranking.market] === market && ranking.isLong !== isLong && ranking.madeAt === sequence

/** The next completed ranking by the model; an empty one where there is none. */
const takeMade = (state: State, market: FollowedMarket, isLong: boolean): Ranking => {
  const { changes, made, sequence } = state
  const at = made.findIndex((each) => isAgainst(state, each, market, isLong))
  const [taken] = at < 0 ? [] : made.splice(at, 1)
  const none = { second: 0, mark: 0n, isSecond: false, least: undefined, restEquity: undefined, count: 0, accounts: [] }
  return { ...none, sequence, madeAt: sequence, ...taken, hasClosed: false, changes }
}

/** Notes the rankings that a record completed, by the model. */
const noteMade = ({ isSlow, made }: State, { model, record: { sequence } }: Extract<Observation, { _tag: "Committed" }>): void => {
  if (!isSlow) return
  for (const { ranked, ...ranking } of model.published.rankings) {
    if (ranking.madeAt !== sequence) continue
    made.push({ ...ranking, mark: BigInt(ranking.mark), accounts: ranked.map(({ account }) => account.index) })
  }
}

/**
 * Whether a ranking proves that no counterparty is left: it is of the current record and positions have not changed since, or it is the
 * second in a row that took several records and closed nothing; and no account outside it could bear anything.
 */
const isLastWord = ({ changes, sequence }: State, { needed, ranking }: Deleveraging): boolean => {
  if (ranking.madeAt !== sequence || ranking.changes !== changes || couldOthers(ranking, needed)) return false
  return ranking.sequence === sequence || ranking.isSecond && !ranking.hasClosed
}

/** Notes the positions for which a record found no counterparty, by the model. */
const noteExhausted = (state: State, { model, record: { sequence } }: Extract<Observation, { _tag: "Committed" }>): void => {
  const { nobodyFor } = model.published
  const found: Array<Exhausted> = []
  for (let at = nobodyFor.length - 1; at >= 0 && nobodyFor[at]!.sequence >= sequence; at--) {
    const { account, market, sequence: of, size } = nobodyFor[at]!
    if (of === sequence) found.push({ account, market, size: BigInt(size) })
  }
  if (found.length > 0) state.exhausted.set(sequence, found)
}

/** The events of a deleveraging itself, and of the orders and brackets that change with it. */
const withinDeleveraging: ReadonlySet<string> = new Set([
  "BracketEnded",
  "BracketResized",
  "CollateralChanged",
  "Deleveraged",
  "DeleveragingBegun",
  "FundingPaid",
  "OrderEnded",
  "OrderTrimmed",
  "PositionChanged"
])

const wasFound = ({ exhausted, sequence }: State, { account, left, market }: Deleveraging): boolean =>
  exhausted.get(sequence)?.some((each) => each.account === account && each.market === market && each.size === left) !== true

/**
 * An account that could still bear the loss of an atom. Where the ranking took several records, an account may have become able
 * meanwhile: then only accounts that have not changed count.
 */
const bearerOf = (state: State, deleveraging: Deleveraging): number | undefined => {
  const { ranking } = deleveraging
  const stands = (account: number): boolean =>
    (state.changedIn.get(account) ?? 0) < ranking.sequence
    && state.markets.every(({ held, markedIn }) => !held.has(account) || markedIn < ranking.sequence)
  for (const account of state.markets[deleveraging.market]!.held.keys()) {
    const counts = ranking.sequence === state.sequence || stands(account)
    if (counts && closableOf(state, account, deleveraging) > 0n) return account
  }
  return undefined
}

/** Looks for an account that could bear anything, while a deleveraging that found none is in progress. */
const noteBearer = (state: State): void => {
  const { deleveraging } = state
  if (deleveraging === undefined || deleveraging.isOver || deleveraging.begunIn !== state.sequence) return
  if (state.exhausted.has(state.sequence)) deleveraging.bearer = bearerOf(state, deleveraging)
}

/** A deleveraging ends with the next other event: if it found no counterparty, no account may have been able to bear anything. */
const overVerdict = (state: State): Verdict => {
  const { deleveraging } = state
  if (deleveraging === undefined || deleveraging.isOver || deleveraging.begunIn !== state.sequence) return holds
  deleveraging.isOver = true
  const { account, bearer, left, market } = deleveraging
  return bearer === undefined || left === 0n || wasFound(state, deleveraging)
    ? holds
    : broken(`nobody is found for ${left} of ${nameOf(state, account)} in market ${market}, and account ${bearer} could bear some of it`)
}

const beginDeleveraging = (state: State, event: Extract<DecodedEvent, { event: "DeleveragingBegun" }>): Verdict => {
  const { account, market: index } = event
  const { deleveraging: before } = state
  const isContinued = before?.account === account && before.market === index
  const ended = isContinued ? holds : overVerdict(state)
  if (ended !== holds) return ended
  // One that begins again in the same record has come to the end of an older ranking.
  const isSame = isContinued && !before.isOver && before.left > 0n && before.begunIn === state.sequence
  const isLast = isSame && isLastWord(state, before)
  // A settlement tries a position without a counterparty once more before it pairs the others, by the same ranking.
  const isThrough = isSame && !(isLast && state.markets[index]!.isDelisted)
  if (isThrough && isLast) {
    return broken(`a ranking of market ${index} that was made in record ${state.sequence} is made anew in it`)
  }
  const verdict = isThrough ? holds : handedOnVerdict(state, event)
  const market = state.markets[index]!
  const held = market.held.get(account)
  if (verdict !== holds || held === undefined) return verdict
  const isLong = held.quantity > 0n
  const [price, size] = [BigInt(event.priceAtoms), BigInt(event.sizeAtoms)]
  const loss = lossOf(market, isLong, price)
  const needed = loss > 0n ? loss : 0n
  const ranking = rankingOf(state, market, { isLong, needed, through: isThrough ? before.ranking : undefined })
  const begun = { account, market: index, price, isLong, needed, ranking, size, left: size, passed: 0, begunIn: state.sequence }
  state.deleveraging = { ...begun, isOver: false, bearer: undefined }
  noteBearer(state)
  return isThrough && price !== before.price
    ? broken(`${nameOf(state, account)} is deleveraged at ${price} in market ${index}, and was at ${before.price}`)
    : holds
}

const deleveragedVerdict = (state: State, event: Extract<DecodedEvent, { event: "Deleveraged" }>): Verdict => {
  const what = `account ${event.counterparty}, closed for ${nameOf(state, event.account)} in market ${event.market},`
  const { deleveraging } = state
  if (deleveraging === undefined || deleveraging.account !== event.account || deleveraging.market !== event.market) {
    return broken(`${what} has no deleveraging that began`)
  }
  const { left, passed, price, ranking: { accounts } } = deleveraging
  if (BigInt(event.priceAtoms) !== price) return broken(`${what} is closed at ${event.priceAtoms}, not at ${price}`)
  const place = accounts.findIndex((account, index) => index >= passed && closableOf(state, account, deleveraging) > 0n)
  const next = accounts[place]
  if (next === undefined || next !== event.counterparty || place + 1 !== event.rank) {
    return broken(`${what} is number ${event.rank}, and the next is account ${next} as number ${place + 1}`)
  }
  const closable = closableOf(state, next, deleveraging)
  const size = closable < left ? closable : left
  if (BigInt(event.sizeAtoms) !== size) return broken(`${what} closes ${event.sizeAtoms}, and may close ${size}`)
  deleveraging.ranking.hasClosed = true
  deleveraging.left -= size
  deleveraging.passed = place + 1
  return holds
}

// --- following -------------------------------------------------------------------------------------------

/** Notes that an account's money or positions have changed. */
const noteChange = (state: State, account: number): void => {
  state.changedIn.set(account, state.sequence)
  noteBearer(state)
}

/** Counts a change of a position; what a deleveraging closes by a ranking does not make that ranking outdated. */
const countChange = (state: State): void => {
  const { deleveraging } = state
  const isClosing = deleveraging !== undefined && !deleveraging.isOver && deleveraging.begunIn === state.sequence
  if (isClosing && deleveraging.ranking.changes === state.changes) deleveraging.ranking.changes++
  state.changes++
}

const followPosition = (state: State, event: Extract<DecodedEvent, { event: "PositionChanged" }>): void => {
  countChange(state)
  const { held } = state.markets[event.market]!
  if (event.quantityAtoms === 0) held.delete(event.account)
  else held.set(event.account, { quantity: BigInt(event.quantityAtoms), entry: BigInt(event.entryNotionalAtoms) })
  if (event.account === state.fund && !state.due.has(event.account)) state.due.set(event.account, secondAfter(state.atEpochMs))
}

const secondAfter = (atEpochMs: number): number => (Math.floor(atEpochMs / 1_000) + 1) * 1_000

type Put = Extract<DecodedEvent, { event: "MarketPut" | "MarketAnnounced" | "MarketTookEffect" }>

const put = (state: State, { command }: Record, event: Put): void => {
  const parameters = parametersFrom(state.announced, command, event)
  if (parameters === undefined) return
  const known = state.markets[event.market]
  if (known !== undefined) {
    if (known.parameters.marketType !== parameters.marketType) known.isClosed = hasSessions(parameters)
    if (known.parameters.underlyingSymbol !== parameters.underlyingSymbol) known.sourceEpochMs = 0
    known.parameters = parameters
    return
  }
  state.markets[event.market] = {
    parameters,
    status: "draft",
    isClosed: hasSessions(parameters),
    mark: 0n,
    index: 0n,
    sourceEpochMs: 0,
    isGoing: false,
    goingSinceEpochMs: 0,
    held: new Map(),
    second: 0,
    againstLongs: undefined,
    againstShorts: undefined,
    isDelisted: false,
    markedIn: 0
  }
}

const follow = (state: State, record: Record, event: DecodedEvent): Verdict => {
  switch (event.event) {
    case "MarketPut":
    case "MarketAnnounced":
    case "MarketTookEffect":
      put(state, record, event)
      return holds
    case "MarketStatusSet":
      state.markets[event.market]!.status = statuses[event.status]!
      return holds
    case "MarketSessionSet":
      state.markets[event.market]!.isClosed = states[event.state] === "closed"
      return holds
    case "MarkSet":
      state.markets[event.market]!.mark = BigInt(event.priceAtoms)
      state.markets[event.market]!.markedIn = state.sequence
      return holds
    case "IndexPriceSet":
      state.markets[event.market]!.sourceEpochMs = event.sourceEpochMs
      state.markets[event.market]!.index = BigInt(event.priceAtoms)
      return holds
    case "HaltSet":
      state.halted = event.halted === 1
      state.wasHalted ||= state.halted
      return holds
    case "AccountOpened":
      if (event.born === insuranceFundBorn) state.fund = event.account
      return holds
    case "Credited":
      state.collateral.set(event.account, BigInt(event.amountAtoms))
      noteChange(state, event.account)
      return holds
    case "CollateralChanged":
      state.collateral.set(event.account, BigInt(event.collateralAtoms))
      noteChange(state, event.account)
      return holds
    case "PositionChanged":
      followPosition(state, event)
      noteChange(state, event.account)
      return holds
    case "LiquidationBegun":
      return begunVerdict(state, event)
    case "LiquidationEnded":
      return endedVerdict(state, event)
    case "LiquidationOrdered":
      return orderedVerdict(state, event)
    case "Traded":
      noteSold(state, event)
      return holds
    case "TakenOver":
      return handedOnVerdict(state, event)
    case "DeleveragingBegun":
      return beginDeleveraging(state, event)
    case "Deleveraged":
      return deleveragedVerdict(state, event)
    case "MarketDelisting":
      if (event.became === inEffect) state.markets[event.market]!.isDelisted = true
      return holds
    case "Settled":
      return settledVerdict(state, event)
    default:
      return holds
  }
}

/** A settlement at the final price closes accounts without a deficit: one of the two entirely, and both at the current mark. */
const settledVerdict = (state: State, event: Extract<DecodedEvent, { event: "Settled" }>): Verdict => {
  const { account, counterparty, market: index, priceAtoms, sizeAtoms } = event
  const market = state.markets[index]!
  const what = `the settlement of accounts ${account} and ${counterparty} in market ${index}`
  if (!market.isDelisted) return broken(`${what}, which is not delisted`)
  const [long, short] = [market.held.get(account)?.quantity ?? 0n, -(market.held.get(counterparty)?.quantity ?? 0n)]
  const size = long < short ? long : short
  if (BigInt(sizeAtoms) !== size || size <= 0n) return broken(`${what} is of ${sizeAtoms}, and they hold ${long} and ${-short}`)
  if (BigInt(priceAtoms) !== market.mark) return broken(`${what} is at ${priceAtoms}, and the final price is ${market.mark}`)
  const owing = [account, counterparty].find((each) => standingOf(state, each).equity < 0n)
  return owing === undefined ? holds : broken(`${what}: account ${owing} has ${standingOf(state, owing).equity}`)
}

const begunVerdict = (state: State, event: Extract<DecodedEvent, { event: "LiquidationBegun" }>): Verdict => {
  const { equity, required } = standingOf(state, event.account)
  if (state.under.has(event.account)) return broken(`the liquidation of account ${event.account} begins again`)
  state.under.add(event.account)
  state.due.set(event.account, secondAfter(state.atEpochMs))
  return BigInt(event.equityAtoms) === equity && BigInt(event.maintenanceMarginAtoms) === required && equity < required
    ? holds
    : broken(
      `account ${event.account} is liquidated for ${event.equityAtoms} of ${event.maintenanceMarginAtoms}, and has ${equity} of ${required}`
    )
}

const endedVerdict = (state: State, event: Extract<DecodedEvent, { event: "LiquidationEnded" }>): Verdict => {
  const { equity, required } = standingOf(state, event.account)
  if (!state.under.delete(event.account)) return broken(`the liquidation of account ${event.account} ends, and never began`)
  state.due.delete(event.account)
  state.parts.delete(event.account)
  // An account without positions needs no margin, only equity that is not negative.
  return equity >= required
    ? holds
    : broken(`the liquidation of account ${event.account} ends with ${equity} of ${required}`)
}

/** After a record: every account below its maintenance margin is under liquidation, and accounts that were due have what they need. */
const recordVerdict = (state: State, sequence: number): Verdict => {
  const accounts = new Set(state.markets.flatMap(({ held }) => [...held.keys()]))
  for (const account of accounts) {
    if (account === state.fund || state.under.has(account)) continue
    const { equity, required } = standingOf(state, account)
    if (equity < required && !state.leavesSome) {
      return broken(`after record ${sequence} account ${account} has ${equity} of ${required} and is not under liquidation`)
    }
  }
  for (const account of [...state.unhelped.keys()]) if (!accounts.has(account)) state.unhelped.delete(account)
  for (const account of [...state.due.keys()]) if (!accounts.has(account) && !state.under.has(account)) state.due.delete(account)
  return holds
}

/** At the end of a second in which accounts could be examined: each that was due when it began had what it needs at some point of it. */
const secondVerdict = (state: State, endedSecond: number, sequence: number): Verdict => {
  for (const [account, dueEpochMs] of state.due) {
    if (state.helped.has(account)) state.unhelped.delete(account)
    else if (dueEpochMs <= endedSecond * 1_000 && !state.wasHalted && state.couldLook) {
      const seconds = (state.unhelped.get(account) ?? 0) + 1
      state.unhelped.set(account, seconds)
      if (seconds > patience) return unhelped(state, account, sequence)
    }
  }
  state.helped.clear()
  state.wasHalted = state.halted
  state.couldLook = false
  return holds
}

const unhelped = (state: State, account: number, sequence: number): Verdict => {
  const { equity, required } = standingOf(state, account)
  return broken(`${nameOf(state, account)} still had ${equity} of ${required} before record ${sequence}, though looks at it were due`)
}

const noteHelped = (state: State): void => {
  for (const account of state.due.keys()) {
    if (!state.helped.has(account) && isHelped(state, account)) state.helped.add(account)
  }
}

/** A tick includes every market that had none in this second and whose marks are being made. */
const noteTicks = (state: State): void => {
  for (const market of state.markets) if (isGoing(state, market)) market.second = Math.floor(state.atEpochMs / 1_000)
}

/** Events that change an account's margin: after each, accounts that are due may have what they need. */
const changes: ReadonlySet<string> = new Set(["CollateralChanged", "PositionChanged", "MarketStatusSet", "MarketSessionSet"])

/** Events by which a market becomes live again. */
const revivals: ReadonlySet<string> = new Set([
  "HaltSet",
  "IndexPriceSet",
  "MarketPut",
  "MarketSessionSet",
  "MarketStatusSet",
  "MarketTookEffect"
])

export const liquidation: Property<State> = {
  name: "who-falls-under-his-margin-is-liquidated-and-nobody-else",
  invariant: "I13",
  kind: "safety",
  initial: () => ({
    places: Number.POSITIVE_INFINITY,
    isSlow: false,
    leavesSome: false,
    made: [],
    exhausted: new Map(),
    changes: 0,
    changedIn: new Map(),
    markets: [],
    announced: new Map(),
    collateral: new Map(),
    under: new Set(),
    unhelped: new Map(),
    due: new Map(),
    helped: new Set(),
    fund: undefined,
    sequence: 0,
    halted: false,
    wasHalted: false,
    looking: new Set(),
    couldLook: false,
    atEpochMs: 0,
    deleveraging: undefined,
    parts: new Map(),
    taken: undefined
  }),
  observe: (state, seen) => {
    if (seen._tag === "Started") {
      state.places = rankingPlacesOf(seen.bounds)
      state.leavesSome = (seen.bounds.examinedAtOnce ?? examinedAtOnce) < examinedAtOnce
      state.isSlow = (seen.bounds.liquidatedAtOnce?.ranked ?? venueBounds.ranked) < venueBounds.ranked
    }
    if (seen._tag === "Committed") {
      noteMade(state, seen)
      noteExhausted(state, seen)
      if (seen.model.couldLook) state.looking.add(seen.record.sequence)
    }
    if (seen._tag !== "Fed") return holds
    const { events, record } = seen.decided
    const endedSecond = Math.floor(state.atEpochMs / 1_000)
    const isNewSecond = Math.floor(record.atEpochMs / 1_000) > endedSecond
    const before = isNewSecond ? secondVerdict(state, endedSecond, record.sequence) : holds
    if (before !== holds) return before
    state.atEpochMs = record.atEpochMs
    state.sequence = record.sequence
    state.couldLook = state.looking.delete(record.sequence) || state.couldLook
    // What is left of a takeover is deleveraged in the same record.
    state.taken = undefined
    noteGoing(state)
    noteHelped(state)
    for (const event of events) {
      const ended = withinDeleveraging.has(event.event) ? holds : overVerdict(state)
      const verdict = ended === holds ? follow(state, record, event) : ended
      if (verdict !== holds) return verdict
      if (revivals.has(event.event)) noteGoing(state)
      if (state.due.size > 0 && changes.has(event.event)) noteHelped(state)
    }
    const ended = overVerdict(state)
    if (ended !== holds) return ended
    state.exhausted.delete(record.sequence)
    if (record.command.kind === "MarkTick") noteTicks(state)
    return recordVerdict(state, record.sequence)
  }
}
