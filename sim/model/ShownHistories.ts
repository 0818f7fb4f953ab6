/** The histories that readers must get as of a record, computed from all events up to it. */
import type { TransferKind } from "../../src/operations/funds/Transfers.js"
import type { NaiveHeldChange, NaiveFundingPaid, NaivePrice, NaiveTransferTold } from "./NaiveHistory.js"
import type { NaiveMarket } from "./NaiveState.js"
import type { NaiveVenue } from "./NaiveVenue.js"
import { insuranceFundBorn } from "../../src/domain/Ids.js"
import { decimalOf, moneyScale, numberOf } from "./Decimals.js"
import { commandIdOf } from "../reading/Funds.js"
import { halfUp } from "./NaiveMoney.js"
import { idOf } from "./Shown.js"

type Members = Readonly<Record<string, unknown>>

const both = (name: string, atoms: bigint | number, scale: number): Members => ({
  [name]: decimalOf(atoms, scale),
  [`${name}Atoms`]: String(atoms)
})

// ---- candles

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** The beginning of the candle that contains a moment, by the calendar: months differ in length. */
const beginning = (timeframe: string, atEpochMs: number): number => {
  const at = new Date(atEpochMs)
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()]
  if (timeframe === "1M") return Date.UTC(year, month, 1)
  // Sunday is 0: the first day of the week is as many days back as the date is after Monday.
  if (timeframe === "1w") return Date.UTC(year, month, day - (at.getUTCDay() + 6) % 7)
  const length = Number(timeframe.slice(0, -1)) * unitMs[timeframe.slice(-1)]!
  return atEpochMs - atEpochMs % length
}

interface Candle {
  readonly openTime: number
  readonly prices: ReadonlyArray<NaivePrice>
}

/** The requested candles. */
export interface CandlesAsked {
  readonly timeframe: string
  readonly series: string
  readonly since: string | null
  readonly limit: number
}

const candlesOf = (
  { history: { prices, rescaled } }: NaiveVenue,
  { index }: NaiveMarket,
  sequence: number,
  { limit, series, since, timeframe }: CandlesAsked
): ReadonlyArray<Candle> => {
  const from = rescaled.filter((each) => each.market === index && each.sequence <= sequence).at(-1)?.sequence ?? 0
  const made: Array<{ readonly openTime: number; readonly prices: Array<NaivePrice> }> = []
  for (const price of prices) {
    if (price.market !== index || price.series !== series || price.sequence <= from || price.sequence > sequence) continue
    const openTime = beginning(timeframe, price.atEpochMs)
    if (made.at(-1)?.openTime === openTime) made.at(-1)!.prices.push(price)
    else made.push({ openTime, prices: [price] })
  }
  return since === null ? made.slice(-limit) : made.filter(({ openTime }) => openTime >= Number(since)).slice(0, limit)
}

const figures = ({ prices }: Candle) => {
  const told = prices.map(({ price }) => price)
  return {
    open: told[0]!,
    high: Math.max(...told),
    low: Math.min(...told),
    close: told.at(-1)!,
    volume: prices.reduce((sum, { size }) => sum + BigInt(size), 0n)
  }
}

/** `external-candle-list/v1`, without its freshness. */
export const candles = (model: NaiveVenue, market: NaiveMarket, sequence: number, asked: CandlesAsked): Members => {
  const { marketId, priceScale, quantityScale } = market.parameters
  return {
    version: "external-candle-list/v1",
    marketId,
    timeframe: asked.timeframe,
    series: asked.series,
    candles: candlesOf(model, market, sequence, asked).map((candle) => {
      const { close, high, low, open, volume } = figures(candle)
      return {
        openTimeEpochMs: candle.openTime,
        ...both("open", open, priceScale),
        ...both("high", high, priceScale),
        ...both("low", low, priceScale),
        ...both("close", close, priceScale),
        ...both("volume", volume, quantityScale)
      }
    })
  }
}

/** Candles as tuples of numbers. */
export const compatCandles = (model: NaiveVenue, market: NaiveMarket, sequence: number, asked: CandlesAsked): ReadonlyArray<unknown> => {
  const { priceScale, quantityScale } = market.parameters
  return candlesOf(model, market, sequence, asked).map((candle) => {
    const { close, high, low, open, volume } = figures(candle)
    return [candle.openTime, ...[open, high, low, close].map((price) => numberOf(price, priceScale)), numberOf(volume, quantityScale)]
  })
}

/** The records at which candles of a market and series changed, newest first. */
export const changesOfCandles = ({ history: { prices } }: NaiveVenue, { index }: NaiveMarket, series: string): ReadonlyArray<number> =>
  prices.filter((each) => each.market === index && each.series === series).map(({ sequence }) => sequence).reverse()

// ---- episodes

/** An episode with all its changes: the last may be a flip, of which only the closing part belongs to it. */
interface Episode {
  readonly ordinal: number
  readonly isLong: boolean
  readonly changes: Array<NaiveHeldChange>
  readonly payments: Array<NaiveFundingPaid>
  isOver: boolean
}

const isFlip = ({ change, held }: NaiveHeldChange): boolean => held !== 0 && held > 0 !== held + change > 0 && held + change !== 0

/** An account's episodes in order, as of a record. */
export const episodesOf = (model: NaiveVenue, account: number, sequence: number): ReadonlyArray<Episode & { readonly market: number }> => {
  const made: Array<Episode & { readonly market: number }> = []
  const running = new Map<number, Episode>()
  for (const each of model.history.changes) {
    if (each.account !== account || each.sequence > sequence) continue
    const { market } = each
    const episode = running.get(market)
    if (each._tag === "Paid") {
      episode!.payments.push(each)
      continue
    }
    if (episode !== undefined) {
      episode.changes.push(each)
      episode.isOver = each.held + each.change === 0 || isFlip(each)
      if (episode.isOver) running.delete(market)
    }
    if (each.opened === undefined) continue
    const begun = { market, ordinal: each.opened, isLong: each.change > 0, changes: [each], payments: [], isOver: false }
    made.push(begun)
    running.set(market, begun)
  }
  return made
}

const ceilDiv = (one: bigint, by: bigint): bigint => (one + by - 1n) / by
const sizeOf = (atoms: number): bigint => BigInt(Math.abs(atoms))

/** The part of a change that belongs to an episode: the size opened, grown or closed, with its share of notional and fee. */
const partOf = (
  { isLong, ordinal }: Episode,
  each: NaiveHeldChange
): { readonly grows: boolean; readonly size: bigint; readonly notional: bigint; readonly fee: bigint } => {
  const all = sizeOf(each.change)
  const grows = each.change > 0 === isLong
  if (!isFlip(each)) return { grows, size: all, notional: each.notional, fee: each.fee }
  const opened = sizeOf(each.held + each.change)
  const size = each.opened === ordinal ? opened : all - opened
  const feeOfNew = ceilDiv(each.fee * opened, all)
  return { grows, size, notional: each.notional * size / all, fee: each.opened === ordinal ? feeOfNew : each.fee - feeOfNew }
}

/** The sums of an episode over all its changes; `most` is its largest size. */
export const totalsOf = (episode: Episode) => {
  const entry = { size: 0n, notional: 0n }
  const exit = { size: 0n, notional: 0n }
  let [most, realized, fees] = [0n, 0n, 0n]
  for (const each of episode.changes) {
    const { fee, grows, notional, size } = partOf(episode, each)
    const side = grows ? entry : exit
    side.size += size
    side.notional += notional
    fees += fee
    if (!grows) realized += each.realizedPnl
    if (entry.size - exit.size > most) most = entry.size - exit.size
  }
  return { entry, exit, most, realized, fees }
}

const episodeShown = (model: NaiveVenue, account: number, episode: Episode & { readonly market: number }): Members => {
  const { factor, parameters: { marketId, priceScale, quantityScale } } = model.markets[episode.market]!
  const { changes, isLong, isOver, ordinal, payments } = episode
  const { entry, exit, fees, most, realized } = totalsOf(episode)
  const last = changes.at(-1)!
  const status = !isOver ? "open" : last.reason === "liquidation" ? "liquidated" : "closed"
  const average = ({ notional, size }: typeof entry): bigint => halfUp(notional, size * factor)
  return {
    positionId: idOf("pos", ordinal),
    accountId: idOf("acc", model.accounts[account]!.born),
    marketId,
    side: isLong ? "long" : "short",
    status,
    openedAtEpochMs: changes[0]!.atEpochMs,
    closedAtEpochMs: isOver ? last.atEpochMs : null,
    ...both("maxQuantity", most, quantityScale),
    ...both("currentQuantity", entry.size - exit.size, quantityScale),
    ...both("avgEntryPrice", average(entry), priceScale),
    ...(exit.size === 0n ? { avgExitPrice: null, avgExitPriceAtoms: null } : both("avgExitPrice", average(exit), priceScale)),
    ...both("realizedPnl", realized, moneyScale),
    ...both("feesPaid", fees, moneyScale),
    ...both("fundingPaid", payments.reduce((sum, { paid }) => sum + paid, 0n), moneyScale),
    closeReason: isOver ? last.reason : null,
    lastSequence: Math.max(last.sequence, payments.at(-1)?.sequence ?? 0)
  }
}

/** The episode after which a page begins, with the record that closed it, if it was closed. */
export interface Behind {
  readonly closeSequence: number | null
  readonly openedAtEpochMs: number
  readonly ordinal: number
}

/** The requested episodes. */
export interface EpisodesAsked {
  readonly market: NaiveMarket | undefined
  readonly status: string | null
  readonly behind: Behind | undefined
  readonly limit: number
}

/** The content of a cursor. */
const behindOf = (episode: Episode): Behind => ({
  closeSequence: episode.isOver ? episode.changes.at(-1)!.sequence : null,
  openedAtEpochMs: episode.changes[0]!.atEpochMs,
  ordinal: episode.ordinal
})

/** Open ones first, then by closing record, then by opening time: newest first. */
const isBefore = (one: Behind, other: Behind): boolean => {
  const [first, second] = [one.closeSequence ?? Number.POSITIVE_INFINITY, other.closeSequence ?? Number.POSITIVE_INFINITY]
  if (first !== second) return first > second
  if (one.openedAtEpochMs !== other.openedAtEpochMs) return one.openedAtEpochMs > other.openedAtEpochMs
  return one.ordinal > other.ordinal
}

const cursorOf = ({ closeSequence, openedAtEpochMs, ordinal }: Behind): string =>
  Buffer.from(`{"closeSequence":${closeSequence},"openedAtEpochMs":${openedAtEpochMs},"positionId":"${idOf("pos", ordinal)}"}`).toString(
    "base64url"
  )

/** `external-position-history/v1`, without its freshness. */
export const positionHistory = (model: NaiveVenue, account: number, sequence: number, asked: EpisodesAsked): Members => {
  const all = episodesOf(model, account, sequence)
    .map((episode) => ({ episode, place: behindOf(episode), shown: episodeShown(model, account, episode) }))
    .filter(({ episode, place, shown }) =>
      (asked.market === undefined || asked.market.index === episode.market)
      && (asked.status === null || shown["status"] === asked.status)
      && (asked.behind === undefined || isBefore(asked.behind, place))
    )
    .sort((one, other) => isBefore(one.place, other.place) ? -1 : 1)
  const page = all.slice(0, asked.limit)
  return {
    version: "external-position-history/v1",
    accountId: idOf("acc", model.accounts[account]!.born),
    marketId: asked.market?.parameters.marketId ?? null,
    status: asked.status,
    episodes: page.map(({ shown }) => shown),
    nextCursor: all.length > asked.limit ? cursorOf(page.at(-1)!.place) : null
  }
}

// ---- the leaderboard

/** Flags of load harnesses, which are left out everywhere, and of bots. */
const harness = 2
const bot = 1

/** A board, identified by what it states about itself, and the requested places. */
export interface BoardAsked {
  readonly window: string
  /** When it was made, or the time of its last record if that is later. */
  readonly atEpochMs: number
  readonly sequence: number
  readonly behindRank: number
  readonly limit: number
}

/** The beginning of the window that contains a moment. */
export const windowBegan = (window: string, atEpochMs: number): number =>
  window === "all_time" ? 0 : beginning({ daily: "1d", weekly: "1w", monthly: "1M" }[window]!, atEpochMs)

/** The end of the window; for all time, the moment itself. */
const windowEnds = (window: string, atEpochMs: number): number => {
  const began = windowBegan(window, atEpochMs)
  const at = new Date(began)
  switch (window) {
    case "daily":
      return began + 86_400_000
    case "weekly":
      return began + 7 * 86_400_000
    case "monthly":
      return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)
    default:
      return atEpochMs
  }
}

/** An account's sums of all that happened from a time on, up to a record. */
export const sumsOf = (model: NaiveVenue, account: number, from: number, sequence: number) => {
  const { accounts, history: { changes }, published: { steps } } = model
  let [realized, fees, funding, closed, fills] = [0n, 0n, 0n, 0n, 0]
  for (const each of changes) {
    if (each.account !== account || each.sequence > sequence || each.atEpochMs < from) continue
    if (each._tag === "Paid") {
      funding += each.paid
      continue
    }
    fees += each.fee
    if (each.isFill) fills++
    if (each.held === 0 || each.held > 0 === each.change > 0) continue
    const size = sizeOf(each.change)
    const part = sizeOf(each.held) < size ? sizeOf(each.held) : size
    closed += each.notional * part / size
    realized += each.realizedPnl
  }
  // What is paid beside a takeover counts for whose position it was: the fund, which pays or receives it, is on no board.
  const { born, ledger } = accounts[account]!
  for (const { amount, atEpochMs, cause, sequence: at } of born === insuranceFundBorn ? [] : ledger) {
    if (cause === "takeover_difference" && at <= sequence && atEpochMs >= from) realized += amount
  }
  for (const { account: of, atEpochMs, fee, sequence: at } of steps) if (of === account && at <= sequence && atEpochMs >= from) fees += fee
  return { realized, fees, funding, closed, fills, score: realized - fees - funding }
}

/**
 * `external-leaderboard/v1` of a development venue, without its cursor. Accounts appear under their present display handles; the name of
 * an account without one is empty here.
 */
export const leaderboard = (model: NaiveVenue, { atEpochMs, behindRank, limit, sequence, window }: BoardAsked): Members => {
  const from = windowBegan(window, atEpochMs)
  const flagsOf = (account: number): number =>
    model.history.flags.findLast((each) => each.account === account && each.sequence <= sequence)?.flags ?? 0
  // Who ever had a bot's key is one, whatever its flags.
  const isBot = (account: number): boolean =>
    flagsOf(account) % 2 === bot || model.history.bots.some((each) => each.account === account && each.sequence <= sequence)
  const ranked = model.accounts
    .filter(({ born, index }) => born !== insuranceFundBorn && Math.floor(flagsOf(index) / harness) % 2 === 0)
    .map(({ index }) => ({ index, ...sumsOf(model, index, from, sequence) }))
    .filter(({ closed, fills }) => fills > 0 || closed !== 0n)
    .sort((one, other) => one.score === other.score ? one.index - other.index : one.score > other.score ? -1 : 1)
  const ascending = ranked.toReversed().map(({ score }) => score)
  const tenths = Array.from({ length: ranked.length === 0 ? 0 : 10 }, (_, tenth) => {
    const [first, next] = [tenth, tenth + 1].map((each) => Math.floor(each * ranked.length / 10)) as [number, number]
    return {
      percentileUpperBoundBps: (tenth + 1) * 1_000,
      minimumScoreAtoms: String(ascending[first]),
      maximumScoreAtoms: String(ascending[Math.max(first, next - 1)]),
      accountCount: next - first
    }
  })
  return {
    version: "external-leaderboard/v1",
    windowKind: window,
    metricKind: "projected_realized_pnl",
    provenance: "off_chain_position_projection",
    periodStartEpochMs: from,
    periodEndEpochMs: windowEnds(window, atEpochMs),
    scoreHistogram: tenths,
    entries: ranked.slice(behindRank, behindRank + limit).map(({ closed, fees, fills, funding, index, realized, score }, at) => ({
      rank: behindRank + at + 1,
      displayHandle: model.accounts[index]!.displayHandle,
      participantKind: isBot(index) ? "bot" : "human",
      scoreAtoms: String(score),
      realizedPnlAtoms: String(realized),
      feesPaidAtoms: String(fees),
      fundingPaidAtoms: String(funding),
      closedNotionalAtoms: String(closed),
      fillCount: fills
    }))
  }
}

// ---- transfers

const idNames = { deposit: "depositId", withdrawal: "withdrawalId", party_change: "partyChangeId" } as const
const idPrefixes = { deposit: "dep", withdrawal: "wdr", party_change: "pch" } as const
const listNames = { deposit: "deposits", withdrawal: "withdrawals", party_change: "changes" } as const

/** The members of a transfer that change while it progresses; the others repeat the request. */
const transferShown = (told: NaiveTransferTold): Members => {
  const { approvedAtEpochMs, failedAt, kind, number, outcome, partyId, requestedAtEpochMs, status, steps, updatedAtEpochMs } = told
  const isPlanned = kind !== "party_change" || partyId !== ""
  return {
    [idNames[kind]]: idOf(idPrefixes[kind], number),
    status,
    [kind === "withdrawal" ? "destinationPartyId" : "partyId"]: partyId === "" ? undefined : partyId,
    withdrawalFailure: kind === "withdrawal" ? failedAt : undefined,
    ledgerOutcome: outcome,
    approvedAtEpochMs,
    plannedLedgerCommands: isPlanned ? steps.filter((step) => step !== "treasury_offer_withdrawal") : [],
    createdAtEpochMs: requestedAtEpochMs,
    updatedAtEpochMs
  }
}

/** The simulated venue's environment: ledger commands are named after it. */
const environment = "development"

/** A deposit as it was from a record on, in full. */
export const deposit = (model: NaiveVenue, told: NaiveTransferTold): Members => {
  const { account, number } = told
  const [accountId, depositId] = [idOf("acc", model.accounts[account]!.born), idOf("dep", number)]
  const shown = transferShown(told)
  return {
    ...shown,
    version: "local-signing/v2",
    adminCommandId: idOf("adm", number),
    fundingIntentId: idOf("fin", number),
    engineCommandId: idOf("eng", number),
    asset: "USDC",
    amountAtoms: String(model.funds.transfers.find((transfer) => transfer.number === number)!.amount),
    environment,
    accountId,
    plannedLedgerCommands: (shown["plannedLedgerCommands"] as ReadonlyArray<string>).map((step) => ({
      step,
      commandId: commandIdOf(environment, step === "owner_account_acceptance" ? accountId : depositId, step)
    }))
  }
}

/** The corresponding members of an answer; planned commands by their steps. */
const shownOf = (told: unknown, expected: Members): unknown => {
  if (typeof told !== "object" || told === null) return told
  const members = told as Members
  const steps = members["plannedLedgerCommands"] as ReadonlyArray<Members> | undefined
  const names = Object.keys(expected).filter((name) => members[name] !== undefined || expected[name] === undefined)
  return { ...Object.fromEntries(names.map((name) => [name, members[name]])), plannedLedgerCommands: steps?.map(({ step }) => step) }
}

/** The actual and the expected members, for comparison. */
interface Compared {
  readonly shown: unknown
  readonly expected: unknown
}

/** An account's transfers of a kind as of a record, newest first. */
const transfersOf = (
  { history: { transfers } }: NaiveVenue,
  account: number,
  kind: TransferKind,
  sequence: number
): ReadonlyArray<NaiveTransferTold> => {
  const latest = new Map<number, NaiveTransferTold>()
  for (const told of transfers) {
    if (told.account === account && told.kind === kind && told.sequence <= sequence) latest.set(told.number, told)
  }
  return [...latest.values()].sort((one, other) => other.number - one.number)
}

/** A page of a list of transfers, without the members that repeat each request. */
export const transferList = (
  model: NaiveVenue,
  account: number,
  kind: "deposit" | "withdrawal",
  sequence: number,
  json: Members,
  { before, limit }: { readonly before: number; readonly limit: number }
): Compared => {
  const all = transfersOf(model, account, kind, sequence).filter(({ number }) => number < before)
  const page = all.slice(0, limit).map(transferShown)
  const name = listNames[kind]
  const told = json[name] as ReadonlyArray<unknown>
  const cursor = JSON.stringify({ kind: name, before: all[limit - 1]?.number })
  return {
    shown: { ...json, [name]: told.map((each, at) => shownOf(each, page[at] ?? {})) },
    expected: {
      version: `external-${kind}-list/v1`,
      accountId: idOf("acc", model.accounts[account]!.born),
      [name]: page,
      nextCursor: all.length > limit ? Buffer.from(cursor).toString("base64url") : null
    }
  }
}

/** A transfer by its id; without an id, the latest change of party. */
export const transfer = (
  model: NaiveVenue,
  account: number,
  kind: TransferKind,
  sequence: number,
  json: unknown,
  id: string | undefined
): Compared => {
  const found = transfersOf(model, account, kind, sequence).find(({ number }) => id === undefined || idOf(idPrefixes[kind], number) === id)
  const expected = found === undefined ? null : transferShown(found)
  return { shown: expected === null ? json : shownOf(json, expected), expected }
}
