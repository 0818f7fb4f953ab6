/**
 * The reference model's index, mark and funding, written from the rules alone: every sample kept, every average taken anew,
 * all in BigInt. Prices in price atoms, money in money atoms, rates in 10^-9.
 */
import type * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import * as MarketRules from "../reading/MarketRules.js"
import { ceilDiv, halfUp } from "./NaiveMoney.js"
import type * as Session from "../../src/domain/Session.js"
import { isDelisted, type NaiveFunding, type NaiveMarket, type NaiveRisk, type NaiveSession, remaining } from "./NaiveState.js"

export const noRisk = (): NaiveRisk => ({
  index: 0,
  source: 0,
  underlyingSince: 0,
  held: undefined,
  liveSince: 0,
  backSince: 0,
  second: 0,
  slot: 0,
  basis: [],
  interval: 0,
  premiums: [],
  fundings: [],
  marks: [],
  ticks: []
})

const billion = 1_000_000_000n
const eightHours = 28_800_000n
const secondMs = 1_000
const sampleMs = 5_000
const minuteMs = 60_000
/** Samples of the basis that the mark averages. */
const averaged = 30

const abs = (value: bigint): bigint => (value < 0n ? -value : value)
const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)
const min = (one: bigint, other: bigint): bigint => (one < other ? one : other)
const within = (value: bigint, most: bigint): bigint => max(-most, min(most, value))
const middle = (values: ReadonlyArray<bigint>): bigint => [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))[1]!

export const isStale = ({ parameters, risk }: NaiveMarket, atEpochMs: number): boolean => atEpochMs >= risk.source + parameters.indexStaleMs

/** A market's session: crypto never closes; any other market is closed until a session is set. */
export const sessionOf = ({ parameters, session }: NaiveMarket): Session.State =>
  parameters.marketType === "crypto" ? "open" : session?.state ?? "closed"

/** The session's state at a time. */
export const sessionBy = (session: NaiveSession, atEpochMs: number): NaiveSession => {
  if (session.state === "closed") return session
  if (atEpochMs >= session.closes) return { ...session, state: "closed", closes: 0, cutoff: 0 }
  return atEpochMs >= session.cutoff ? { ...session, state: "reduce_only" } : session
}

const hasIndex = (market: NaiveMarket, atEpochMs: number): boolean => market.status !== "halted" && isPriced(market, atEpochMs)

/** Whether a listed market's index is fresh, whether or not the market is halted. */
const isPriced = (market: NaiveMarket, atEpochMs: number): boolean =>
  market.risk.index !== 0 && MarketRules.isListed(market.status) && !isStale(market, atEpochMs)

/** The price at which a market's positions are closed if it is delisted at a time; 0 where it has no index. */
export const finalPrice = (
  { parameters: { maxPriceAtoms, minPriceAtoms }, risk }: NaiveMarket,
  { atEpochMs, finalMinutes: lookedBack }: { readonly atEpochMs: number; readonly finalMinutes: number }
): number => {
  const within = Math.floor(atEpochMs / minuteMs)
  // Without a tick in that time, the half hour up to the last tick is used.
  const last = risk.ticks.at(-1)?.minute ?? within
  const since = (last < within - lookedBack ? last : within) - lookedBack
  const prices = risk.ticks.filter(({ minute }) => minute >= since).map(({ index }) => BigInt(index))
  if (prices.length === 0) return risk.index
  const average = halfUp(prices.reduce((sum, each) => sum + each, 0n), BigInt(prices.length))
  return Number(min(BigInt(maxPriceAtoms), max(BigInt(minPriceAtoms), average)))
}

/** Whether a market's own conditions for making marks are met at a time; a halt of the engine is not considered. */
export const isGoing = (market: NaiveMarket, atEpochMs: number): boolean => hasIndex(market, atEpochMs) && sessionOf(market) !== "closed"

/** Whether a market that has come back has no new mark yet: one of the same second is enough. */
export const awaitsMark = ({ risk }: NaiveMarket): boolean => Math.floor(risk.backSince / secondMs) > risk.second

/** Makes a market wait for a new mark, unless its present one is still its first index. */
export const waitForMark = ({ mark, risk }: NaiveMarket, atEpochMs: number): void => {
  const isNew = risk.second === 0 && mark === risk.index
  if (mark !== 0 && !isNew) risk.backSince = atEpochMs
}

/** Notes that a market has come back: funding accrues without a break from here on. */
export const comesBack = (market: NaiveMarket, atEpochMs: number): void => {
  market.risk.liveSince = atEpochMs
  waitForMark(market, atEpochMs)
}

/** Whether a market is live at a time: marks are made, and one has been made since it came back. */
export const isLive = (market: NaiveMarket, atEpochMs: number): boolean => isGoing(market, atEpochMs) && !awaitsMark(market)

/** What a market accepts: the strictest of its status, its index and mark, and its session. */
export const takes = (market: NaiveMarket, atEpochMs: number): Market.Status | "closed" | "cutoff" => {
  const { status } = market
  const isTrading = status === "open" || status === "reduce_only"
  const session = sessionOf(market)
  if (isTrading && session === "closed") return "closed"
  if (status === "open" && (isStale(market, atEpochMs) || awaitsMark(market))) return "reduce_only"
  return status === "open" && session === "reduce_only" ? "cutoff" : status
}

/**
 * Whether a market's mark is behind a price that is known while its index is fresh, the index itself or a fresh step that is held back:
 * further from it than the initial margin of the first tier exceeds the maintenance margin and, as far as the mark's band is as wide,
 * half of the latter; and outside the band around that price. For orders only where the market would take some.
 */
export const waitsForMark = (market: NaiveMarket, atEpochMs: number, forWhat: "orders" | "money" = "money"): boolean => {
  const { mark, parameters: { indexStaleMs, initialMarginBps, maintenanceMarginTiers: [first], markBandBps } } = market
  const { held, index, source } = market.risk
  if (mark === 0 || atEpochMs >= source + indexStaleMs) return false
  if (forWhat === "orders" && !["open", "reduce_only", "cutoff"].includes(takes(market, atEpochMs))) return false
  const known = [index]
  if (held !== undefined && atEpochMs < (held.agreed ?? held.source) + indexStaleMs) known.push(held.price)
  // In halves of a basis point, since half of an odd rate counts.
  const least = BigInt(first!.maintenanceMarginBps)
  const ofBand = 2n * BigInt(markBandBps) < least ? 2n * BigInt(markBandBps) : least - least % 2n
  const spare = max(2n * BigInt(initialMarginBps), 3n * least) - 2n * least + ofBand
  return known.some((price) => {
    const distance = abs(BigInt(price - mark)) * 20_000n
    return distance > BigInt(mark) * spare && distance > BigInt(price) * 2n * BigInt(markBandBps)
  })
}

/** Whether resting orders may only reduce: because of status, session or index, but not because a new mark is awaited. */
export const restingOnlyReduces = (market: NaiveMarket, atEpochMs: number): boolean => {
  const { status } = market
  const session = sessionOf(market)
  const byItself = session === "open" && (status === "reduce_only" || (status === "open" && isStale(market, atEpochMs)))
  return byItself || session === "reduce_only"
}

/** |a - b| in bps of b is at most so much. */
const near = (price: number, of: number, bps: number): boolean => abs(BigInt(price - of)) * 10_000n <= BigInt(of) * BigInt(bps)

/** Why a sample is refused, and the values compared. */
export interface RefusedSample {
  readonly refusal: Refusal
  readonly limit: number
  readonly actual: number
  readonly nearest?: number
}

/** Takes a sample of the index. Returns why it is refused, or undefined. */
export const takeSample = (market: NaiveMarket, price: number, sourceEpochMs: number, atEpochMs: number): RefusedSample | undefined => {
  const { parameters, risk } = market
  const { indexStepMaxBps, maxPriceAtoms, minPriceAtoms } = parameters
  const source = sourceEpochMs === 0 || sourceEpochMs > atEpochMs ? atEpochMs : sourceEpochMs
  const earliest = Math.max(risk.source, risk.underlyingSince)
  if (price < minPriceAtoms || price > maxPriceAtoms) {
    const bound = price < minPriceAtoms ? minPriceAtoms : maxPriceAtoms
    // It is no index, and a step that is waited for all the same, if a source has seen it. One within the bounds to which it is near goes on.
    const step = risk.held?.price ?? 0
    const isOfStep = step >= minPriceAtoms && step <= maxPriceAtoms && near(price, step, 100)
    const isSeen = price !== 0 && sourceEpochMs !== 0 && source >= earliest
    if (risk.index !== 0 && isSeen && !isOfStep) risk.held = { price, source, agreed: undefined }
    return { refusal: Refusal.indexPriceInvalid, limit: bound, actual: price, nearest: bound }
  }
  if (source < earliest) return { refusal: Refusal.indexPriceOutOfOrder, limit: earliest, actual: source }
  const steps = risk.index !== 0 && !near(price, risk.index, indexStepMaxBps)
  if (steps) {
    const agrees = risk.held !== undefined && near(price, risk.held.price, 100)
    const enough = agrees && risk.held!.agreed !== undefined && source - risk.held!.agreed >= 1_000
    if (!enough) {
      if (!agrees) risk.held = { price, source, agreed: undefined }
      else if (risk.held!.agreed === undefined && source > risk.held!.source) risk.held!.agreed = source
      const [index, bps] = [BigInt(risk.index), BigInt(indexStepMaxBps)]
      const limit = price > risk.index ? index * (10_000n + bps) / 10_000n : ceilDiv(index * (10_000n - bps), 10_000n)
      return { refusal: Refusal.indexPriceHeld, limit: Number(limit), actual: price }
    }
  }
  const wasStale = isStale(market, atEpochMs)
  risk.held = undefined
  risk.index = price
  risk.source = source
  if (wasStale) comesBack(market, atEpochMs)
  return undefined
}

/** Whether a market's mark is due at a time. */
export const isDue = (market: NaiveMarket, atEpochMs: number): boolean =>
  Math.floor(atEpochMs / secondMs) > market.risk.second && isGoing(market, atEpochMs)

/**
 * Whether a mark was due when the tick's turn came: what falls due in its own record may first close the session, halt or delist the
 * market, or let the index be stale earlier. A tick whose marks were made while it waited has no record.
 */
export const wasDue = (market: NaiveMarket, atEpochMs: number): boolean => {
  const { haltedAt, risk, session, status } = market
  const closedJustNow = session !== undefined && session.asOf === atEpochMs
  // A delisted market has no session any more.
  const wasOpen = sessionOf(market) !== "closed" || closedJustNow || isDelisted(market) && haltedAt === atEpochMs
  const wasGoing = status !== "halted" || haltedAt === atEpochMs
  return wasOpen && wasGoing && Math.floor(atEpochMs / secondMs) > risk.second && isPriced(market, risk.source)
}

/** The average price at which the impact notional fills against a side of the book; undefined where the side is too thin. */
const impact = (market: NaiveMarket, side: Order.Side): bigint | undefined => {
  const sizes = new Map<number, bigint>()
  for (const order of market.resting) {
    if (order.side === side) sizes.set(order.price, (sizes.get(order.price) ?? 0n) + BigInt(remaining(order)))
  }
  const levels = [...sizes].sort(([a], [b]) => (side === Order.buy ? b - a : a - b)).slice(0, 8_192)
  let left = BigInt(market.parameters.impactNotionalAtoms)
  // The levels before are bought in full; of the last one a fraction.
  let size = 0n
  for (const [price, atoms] of levels) {
    const unit = BigInt(price) * market.factor
    if (left > atoms * unit) {
      left -= atoms * unit
      size += atoms
      continue
    }
    const [over, under] = [BigInt(market.parameters.impactNotionalAtoms) * unit, (size * unit + left) * market.factor]
    return side === Order.buy ? over / under : ceilDiv(over, under)
  }
  return undefined
}

const averagePremium = ({ premiums }: NaiveRisk): bigint =>
  premiums.length === 0 ? 0n : premiums.reduce((sum, each) => sum + each, 0n) / BigInt(premiums.length)

/** The end of the latest published interval. */
const publishedUntil = ({ fundings }: NaiveRisk): number => fundings.at(-1)?.atEpochMs ?? 0

/** The running interval's rate so far, per 8 hours; 0 for an interval that overlaps the previous published one, for which nobody pays. */
const runningRate8h = ({ parameters, risk }: NaiveMarket): bigint => {
  if (risk.interval !== 0 && publishedUntil(risk) > risk.interval * parameters.fundingIntervalMs) return 0n
  const average = averagePremium(risk)
  return within(average + within(100_000n - average, 500_000n), 8n * BigInt(parameters.fundingCapE9))
}

/** Whether a market is open at a time, as far as its present session tells; it reopens behind its close if it knows when. */
const isKnownOpen = ({ parameters, session }: NaiveMarket, atEpochMs: number): boolean => {
  if (parameters.marketType === "crypto") return true
  if (session === undefined) return false
  const { closes, opens, state } = session
  if (state === "closed") return opens > 0 && atEpochMs >= opens && (closes <= opens || atEpochMs < closes)
  return atEpochMs < closes || opens > closes && atEpochMs >= opens
}

/** The five-second slots of an interval that are not sampled and in which its market is open: the time from which on each no longer may be. */
const slotsLeft = (market: NaiveMarket, began: number, end: number): ReadonlyArray<number> => {
  const { risk: { slot }, session } = market
  const left: Array<number> = []
  for (let each = Math.max(slot + 1, Math.floor(began / sampleMs)); each * sampleMs < end; each++) {
    const [first, last] = [each * sampleMs, Math.min((each + 1) * sampleMs, end) - 1]
    const moments = [first, last, session?.opens ?? first, (session?.closes ?? last) - 1].filter((at) => at >= first && at <= last)
    const open = moments.filter((at) => isKnownOpen(market, at))
    if (open.length > 0) left.push(Math.max(...open) + 1)
  }
  return left
}

/**
 * From when on nobody will pay the running interval if nothing happens but that time passes: when the last five-second slots in which its
 * market is open, which are as many as it lacks to half of its samples, have begun to pass without one, and from its end on while the
 * market makes no marks. A market that comes back at the end or behind it does not make up for it, one that is closed by then never pays,
 * and one whose opening is overdue may not open at all.
 */
export const unpaidFrom = (market: NaiveMarket, halted: boolean): number => {
  const { parameters: { fundingIntervalMs, indexStaleMs }, risk: { interval, liveSince, premiums, slot, source }, session } = market
  if (interval === 0) return Number.POSITIVE_INFINITY
  const [began, end] = [interval * fundingIntervalMs, (interval + 1) * fundingIntervalMs]
  if (!isKnownOpen(market, end) || !isKnownOpen(market, end - 1)) return 0
  const isClosed = sessionOf(market) === "closed"
  const closesAt = session?.closes ?? Number.POSITIVE_INFINITY
  const opensAt = session !== undefined && (isClosed || session.opens > closesAt) ? session.opens : Number.POSITIVE_INFINITY
  const lacking = Math.ceil(fundingIntervalMs / sampleMs / 2) - premiums.length
  if (lacking > 0 && (isClosed || closesAt < end)) {
    const left = slotsLeft(market, began, end)
    return left.length < lacking ? 0 : Math.min(opensAt, left[left.length - lacking]!)
  }
  const firstNeeded = Math.ceil(end / sampleMs) - lacking
  if (lacking > 0) return slot >= firstNeeded ? 0 : Math.min(end, (firstNeeded + 1) * sampleMs)
  const goesUntil = halted || liveSince > end || !isGoing(market, source) ? end : Math.max(end, Math.min(closesAt, source + indexStaleMs))
  return Math.min(opensAt, goesUntil, end + fundingIntervalMs)
}

/** From when on the rate of the last interval is shown as 0, since one that ended without being paid is not published yet. */
export const lastUnpaidFrom = (market: NaiveMarket, halted: boolean): number => {
  const { parameters: { fundingIntervalMs }, risk: { interval } } = market
  if (interval === 0 || isDelisted(market)) return Number.POSITIVE_INFINITY
  return Math.max((interval + 1) * fundingIntervalMs, unpaidFrom(market, halted))
}

/** When funding is paid next as shown at a time: the first end of an interval at which a known session is open; 0 where none is known. */
export const nextFunding = (
  intervalMs: number,
  hours: Pick<NaiveSession, "state" | "opens" | "closes"> | "always",
  atEpochMs: number
): number => {
  const endBehind = (epochMs: number): number => epochMs - (epochMs % intervalMs) + intervalMs
  if (hours === "always") return endBehind(atEpochMs)
  const { closes, opens, state } = hours
  const isOpen = state !== "closed" && atEpochMs < closes
  if (isOpen && endBehind(atEpochMs) < closes) return endBehind(atEpochMs)
  const reopens = opens > atEpochMs && (!isOpen || opens > closes)
  // A close that belongs to the next session is known only while none is open.
  const isTooShort = state === "closed" && closes > opens && endBehind(opens) >= closes
  return reopens && !isTooShort ? endBehind(opens) : 0
}

/** The predicted rate as reported while the running interval may still be paid; 0 where none runs, and in a delisted market. */
export const predictedRate8h = (market: NaiveMarket): bigint =>
  market.risk.interval === 0 || isDelisted(market) ? 0n : runningRate8h(market)

/** A rate per 8 hours as one per interval. */
export const perInterval = (rate8h: bigint, intervalMs: number): bigint => (rate8h * BigInt(intervalMs)) / eightHours

/** What a position pays at a rate (negative: receives), rounded against the position. */
export const payment = (market: NaiveMarket, quantity: number, { index, intervalMs, rate8h }: NaiveFunding): bigint => {
  const over = BigInt(quantity) * BigInt(index) * market.factor * rate8h * BigInt(intervalMs)
  const under = billion * eightHours
  return over > 0n ? ceilDiv(over, under) : over / under
}

/** A record's number and time, and whether the engine is halted. */
interface Moment {
  readonly sequence: number
  readonly atEpochMs: number
  readonly halted: boolean
}

/** Publishes the interval that ended at a time. No interval runs then until a tick begins the next. */
const publish = ({ parameters, risk }: NaiveMarket, sequence: number, endedAtEpochMs: number, rate8h: bigint): NaiveFunding => {
  const funding = {
    atEpochMs: endedAtEpochMs,
    sequence,
    rate8h,
    premium: averagePremium(risk),
    index: risk.index,
    samples: risk.premiums.length,
    intervalMs: parameters.fundingIntervalMs
  }
  risk.fundings.push(funding)
  noInterval(risk)
  return funding
}

const noInterval = (risk: NaiveRisk): void => {
  risk.interval = 0
  risk.premiums = []
}

/** Ends the running interval if its time is over. Returns its funding, or undefined. */
export const endInterval = (market: NaiveMarket, { atEpochMs, halted, sequence }: Moment): NaiveFunding | undefined => {
  const { parameters: { fundingIntervalMs }, risk } = market
  const endedAt = (risk.interval + 1) * fundingIntervalMs
  if (risk.interval === 0 || atEpochMs < endedAt) return undefined
  const isNext = atEpochMs < endedAt + fundingIntervalMs
  const hasLived = risk.liveSince <= endedAt && !halted && isGoing(market, atEpochMs)
  const isWhole = isNext && hasLived && risk.premiums.length * 2 >= fundingIntervalMs / sampleMs
  return publish(market, sequence, endedAt, isWhole ? runningRate8h(market) : 0n)
}

/**
 * Cuts off the running interval if it had a tick: nobody pays for it, and it is published as ending at that time, unless one has been
 * already.
 */
export const cutInterval = (market: NaiveMarket, { atEpochMs, sequence }: Moment): void => {
  const { risk } = market
  if (risk.interval !== 0 && publishedUntil(risk) !== atEpochMs) publish(market, sequence, atEpochMs, 0n)
  noInterval(risk)
}

/** Makes a market's mark, and ends an interval that is over. */
export const tick = (
  market: NaiveMarket,
  sequence: number,
  atEpochMs: number
): { readonly mark: number; readonly ended: NaiveFunding | undefined } => {
  const { parameters, risk } = market
  risk.second = Math.floor(atEpochMs / secondMs)
  risk.ticks.push({ minute: Math.floor(atEpochMs / minuteMs), index: risk.index })
  const ended = endInterval(market, { sequence, atEpochMs, halted: false })
  if (risk.interval === 0) risk.interval = Math.floor(atEpochMs / parameters.fundingIntervalMs)
  const [bid, ask] = [impact(market, Order.buy), impact(market, Order.sell)]
  const index = BigInt(risk.index)
  if (Math.floor(atEpochMs / sampleMs) > risk.slot) {
    risk.slot = Math.floor(atEpochMs / sampleMs)
    risk.basis = [...risk.basis, bid === undefined || ask === undefined ? 0n : bid + ask - 2n * index].slice(-averaged)
    const premium = max(0n, (bid ?? index) - index) - max(0n, index - (ask ?? index))
    risk.premiums.push((premium * billion) / index)
  }
  const interval = BigInt(parameters.fundingIntervalMs)
  const toFunding = interval - BigInt(atEpochMs) % interval
  const rate = perInterval(runningRate8h(market), parameters.fundingIntervalMs)
  const first = index + halfUp(index * rate * toFunding, interval * billion)
  const basis = risk.basis.reduce((sum, each) => sum + each, 0n)
  const second = risk.basis.length === 0 ? index : index + halfUp(basis, 2n * BigInt(risk.basis.length))
  const last = market.lastPrice === 0 ? index : BigInt(market.lastPrice)
  const third = bid === undefined || ask === undefined ? index : middle([bid, ask, last])
  const band = BigInt(parameters.markBandBps)
  const low = max(BigInt(parameters.minPriceAtoms), ceilDiv(index * (10_000n - band), 10_000n))
  const high = min(BigInt(parameters.maxPriceAtoms), (index * (10_000n + band)) / 10_000n)
  const mark = Number(min(high, max(low, middle([first, second, third]))))
  risk.marks.push({
    atEpochMs,
    sequence,
    index: risk.index,
    bid,
    ask,
    last: market.lastPrice,
    rate,
    intervalMs: parameters.fundingIntervalMs,
    basis,
    samples: risk.basis.length,
    prices: [first, second, third],
    band: [low, high],
    mark
  })
  return { mark, ended }
}
