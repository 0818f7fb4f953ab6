/**
 * What a new journal starts with: the venue's opening, then the markets of the markets file, each listed and opened. Later starts only add
 * markets that are in the file but not in the journal, and finish what an earlier start began: an operator's changes are kept, including
 * markets that the operator left in draft.
 */
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { givenTwice } from "./domain/GivenTwice.js"
import { isoTime } from "./domain/IsoTime.js"
import * as Market from "./domain/Market.js"
import { formatDecimal } from "./domain/Units.js"
import { type Header, internal, Principal } from "./operations/Header.js"
import { type Command, Operation, type Outcome, refusalOf, withFields } from "./operations/Operations.js"
import { describe, ofRoom, Refusal } from "./domain/Refusal.js"
import type { Versions } from "./operations/Versions.js"
import { isDelisted, type MarketView, type Reads } from "./engine/Reads.js"
import * as Calendar from "./sessions/Calendar.js"
import type { Step } from "./sequencer/Recovery.js"
import type { Submit } from "./sequencer/Submit.js"
import type * as Context from "effect/Context"

/** One market of the markets file. */
export const ListedMarket = Schema.Struct({
  parameters: Market.ListedParameters,
  /** The trading hours of a market that is not `crypto`. */
  calendar: Schema.optional(Calendar.Calendar),
  /** The starting price of a development venue's synthetic index, in price atoms. */
  developmentIndexPriceAtoms: Schema.Int.pipe(Schema.between(1, 2 ** 31 - 1))
})
export type ListedMarket = typeof ListedMarket.Type

/** The markets file: a JSON array. */
const MarketsFile = Schema.parseJson(Schema.Array(ListedMarket).pipe(Schema.minItems(1), Schema.maxItems(1024)))

/** The markets file is invalid. */
export class MarketsFileInvalid extends Schema.TaggedError<MarketsFileInvalid>()("MarketsFileInvalid", {
  reason: Schema.String,
  /** Its path, where whoever read it has one. */
  file: Schema.optional(Schema.String)
}) {
  override get message() {
    return `the markets file ${this.file === undefined ? "" : `${this.file} `}(MARKETS_FILE) is invalid: ${this.reason}`
  }
}

/** The first rule that a market in the file breaks, as a sentence. */
const faultOf = ({ calendar, parameters }: ListedMarket): string | undefined => {
  const fault = Market.fault(parameters)
  if (fault !== undefined) return fault
  if (!Market.hasSessions(parameters))
    return calendar === undefined
      ? undefined
      : "a market of the type crypto is always open and has no calendar"
  if (calendar === undefined) return `a market of the type ${parameters.marketType} trades in sessions and needs a calendar`
  const faultOfCalendar = Calendar.fault(calendar)
  return faultOfCalendar === undefined ? undefined : `calendar: ${faultOfCalendar}`
}

/** The errors, each with its position in the file. */
const issuesOf = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map(({ message, path }) => path.length === 0 ? message : `${path.join(".")}: ${message}`)
    .join("; ")

/** The first market that is in the file twice: only one entry could hold, and each one's calendar would end the other's sessions. */
const repeatedIn = (markets: ReadonlyArray<ListedMarket>): string | undefined =>
  givenTwice(markets.map(({ parameters }) => parameters.marketId))

/** What is wrong with the markets of a file, as a sentence. */
const faultIn = (markets: ReadonlyArray<ListedMarket>): string | undefined => {
  for (const market of markets) {
    const fault = faultOf(market)
    if (fault !== undefined) return `${market.parameters.marketId}: ${fault}`
  }
  const repeated = repeatedIn(markets)
  return repeated === undefined ? undefined : `${repeated} is in it twice`
}

/** Parses a markets file and checks it against the rules for markets. */
export const parseMarkets = (text: string): Effect.Effect<ReadonlyArray<ListedMarket>, MarketsFileInvalid> =>
  Schema.decode(MarketsFile, { onExcessProperty: "error" })(text).pipe(
    Effect.mapError((error) => new MarketsFileInvalid({ reason: issuesOf(error) })),
    Effect.tap((markets) => {
      const reason = faultIn(markets)
      return reason === undefined ? Effect.void : Effect.fail(new MarketsFileInvalid({ reason }))
    })
  )

/** The journal belongs to another environment than the one configured. */
export class WrongEnvironment extends Schema.TaggedError<WrongEnvironment>()("WrongEnvironment", {
  journal: Schema.String,
  configured: Schema.String
}) {
  override get message() {
    return `this data directory belongs to a ${this.journal} venue, and VENUE_ENVIRONMENT is ${this.configured}`
  }
}

/** Submits all `commands` before any of them is decided. */
const submitAll = (
  submit: Context.Tag.Service<typeof Submit>,
  commands: ReadonlyArray<Command>
): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.async((resume) => {
    const outcomes: Array<Outcome> = []
    let open = commands.length
    if (open === 0) resume(Effect.succeed(outcomes))
    commands.forEach((command, index) =>
      submit.submit(command, (outcome) => {
        outcomes[index] = outcome
        if (--open === 0) resume(Effect.succeed(outcomes))
      })
    )
  })

/** The state with which a start begins. */
export interface Beginning {
  readonly reads: Reads
  readonly submit: Context.Tag.Service<typeof Submit>
  readonly environment: string
  readonly markets: ReadonlyArray<ListedMarket>
  /** The program version and rules under which the venue continues. */
  readonly versions: Versions
  /** Set where the journal has been under other rules until now. */
  readonly step: Step | undefined
  /** Why the journal does not take everything at present. */
  readonly trouble?: () => string | undefined
  /** The machine's time, ms since 1970. */
  readonly now: () => number
}

/** Fails where the journal belongs to another environment; checked before anything on the disk is changed. */
export const ofEnvironment = (reads: Reads, environment: string): Effect.Effect<void, WrongEnvironment> =>
  reads.sequence > 0 && reads.environment !== environment
    ? Effect.fail(new WrongEnvironment({ journal: reads.environment, configured: environment }))
    : Effect.void

/**
 * Fails where the file has a new market that could not be settled by its assets; checked before anything on the disk is changed. One that
 * the journal has already, from before that was a rule, goes on.
 */
export const ofAssets = (reads: Reads, markets: ReadonlyArray<ListedMarket>): Effect.Effect<void, MarketsFileInvalid> => {
  for (const { parameters } of markets) {
    const fault = Market.faultOfAssets(parameters)
    if (fault !== undefined && reads.findMarket(parameters.marketId) < 0) {
      return Effect.fail(new MarketsFileInvalid({ reason: `${parameters.marketId}: ${fault}` }))
    }
  }
  return Effect.void
}

/** Prepares a journal for taking requests. Its first new record states the version that continues from here. */
export const run = (
  { environment, markets, now, reads, step, submit, trouble, versions }: Beginning
): Effect.Effect<void, MarketsFileInvalid> =>
  Effect.gen(function*() {
    const venue = internal(Principal.venue)
    // Read before the first record, which moves the venue's time: the keys of a start that was cut off may be forgotten then.
    const unfinished = new Set(markets.filter(({ parameters: { marketId } }) => isUnfinished(reads, marketId)))
    // The venue's time never goes back behind its journal, even where the machine's clock has been set back.
    for (const line of overdueDelistings(reads, Math.max(now(), reads.atEpochMs))) yield* Effect.logWarning(line)
    const start = reads.sequence === 0
      ? withFields("OpenVenue", venue, { environment, ...versions })
      : withFields("StartVenue", venue, { ...versions, stateBefore: step?.before ?? "", stateAfter: step?.after ?? "" })
    yield* done(submit, [start], trouble)
    // One market after another, each from where an earlier start was cut off.
    for (const market of markets) {
      const { parameters } = market
      if (unfinished.has(market) || reads.findMarket(parameters.marketId) < 0) yield* done(submit, missing(reads, parameters), trouble)
      else yield* tellOfDraft(reads, parameters.marketId)
    }
    for (const marketId of withoutCalendar(reads, markets)) {
      yield* Effect.logWarning(
        `${marketId} trades in sessions, and the markets file has no calendar for it: it closes with its session and does not open again, `
          + "so that nobody in it can close a position or is liquidated, until it is in the file with one, or is delisted"
      )
    }
    for (const marketId of withUnusedCalendar(reads, markets)) {
      yield* Effect.logWarning(
        `${marketId} has a calendar in the markets file and is of the type crypto in the journal, whose parameters hold: it trades around `
          + "the clock, and its calendar is not used"
      )
    }
    for (const line of madeThin(reads)) yield* Effect.logWarning(line)
    for (const { parameters } of marketsOf(reads).filter((view) => !isDelisted(view))) {
      const fault = Market.faultOfAssets(parameters)
      if (fault === undefined) continue
      yield* Effect.logWarning(
        `${parameters.marketId} is in the journal, and would not be taken as a new market: ${fault}; its figures are counted as amounts of `
          + `${parameters.settlementAsset}, one to one, until it is delisted`
      )
    }
  })

/** Commands from the markets file count as those of the operator who wrote it. */
const byOperator = (operation: Operation, idempotencyKey: string): Header => ({
  ...internal(Principal.operator),
  operation,
  idempotencyKey
})

/** The key under which a start puts a market; the keys of its later status changes have this as their prefix. */
const keyOf = (marketId: string): string => `bootstrap/${marketId}`

/**
 * Whether an earlier start created this market and was cut off before opening it, as the keys of starts show: a market that an operator
 * created or listed is left to the operator. Where a key has been forgotten meanwhile, nothing is opened, and the log says so.
 */
const isUnfinished = (reads: Reads, marketId: string): boolean => {
  const known = reads.findMarket(marketId)
  if (known < 0) return false
  const { status } = reads.market(known)
  return status === "draft" && reads.wasAccepted(Operation.putMarket, keyOf(marketId))
    || status === "backfilling" && reads.wasAccepted(Operation.setMarketStatus, `${keyOf(marketId)}/backfilling`)
}

/** Logs that a market of the file has not been opened and is left to the operator; logs nothing about any other. */
const tellOfDraft = (reads: Reads, marketId: string): Effect.Effect<void> => {
  const { status } = reads.market(reads.findMarket(marketId))
  return status === "draft" || status === "backfilling"
    ? Effect.logWarning(
      `${marketId} is in the markets file and was put by an operator: it stays in ${status}, with the parameters that it has, until it `
        + `is moved to ${status === "draft" ? "backfilling and then to open" : "open"} (venue market status)`
    )
    : Effect.void
}

/** The journal's markets. */
const marketsOf = (reads: Reads): ReadonlyArray<MarketView> => Array.from({ length: reads.marketCount }, (_, index) => reads.market(index))

/** Whether a market is listed and not on its way out. */
const isInTrade = (view: MarketView): boolean => Market.isListed(view.status) && !isDelisted(view)

/** The listed markets that trade in sessions and have no calendar in the file, so that nothing opens them. */
const withoutCalendar = (reads: Reads, markets: ReadonlyArray<ListedMarket>): ReadonlyArray<string> => {
  const scheduled = new Set(markets.flatMap(({ calendar, parameters: { marketId } }) => calendar === undefined ? [] : [marketId]))
  return marketsOf(reads)
    .filter((view) => isInTrade(view) && Market.hasSessions(view.parameters))
    .map(({ parameters: { marketId } }) => marketId)
    .filter((marketId) => !scheduled.has(marketId))
}

/** The listed markets that have a calendar in the file, and by the journal are always open. */
const withUnusedCalendar = (reads: Reads, markets: ReadonlyArray<ListedMarket>): ReadonlyArray<string> =>
  markets.filter(({ calendar }) => calendar !== undefined)
    .map(({ parameters: { marketId } }) => reads.market(reads.findMarket(marketId)))
    .filter((view) => isInTrade(view) && !Market.hasSessions(view.parameters))
    .map(({ parameters: { marketId } }) => marketId)

/** The names of the members in which parameters differ. */
const namesOfDiffering = (one: Market.Parameters, other: Market.Parameters): ReadonlyArray<string> =>
  (Object.keys(one) as ReadonlyArray<keyof Market.Parameters>).filter((name) => !Market.isSame({ ...other, [name]: one[name] }, other))

/**
 * What the log says of markets that the file has with other parameters than those that hold or are announced; undefined where there are
 * none. Whether somebody has changed the file, and waits for what comes of it, or an operator has changed the market since, is not known.
 */
export const differing = (reads: Reads, markets: ReadonlyArray<ListedMarket>): string | undefined => {
  const told = markets.flatMap(({ parameters }) => {
    const market = reads.findMarket(parameters.marketId)
    if (market < 0) return []
    const view = reads.market(market)
    const standing = [view.parameters, ...(view.announced === undefined ? [] : [view.announced.parameters])]
    if (!isInTrade(view) || standing.some((each) => Market.isSame(each, parameters))) return []
    return [`${parameters.marketId} (${namesOfDiffering(parameters, view.parameters).join(", ")})`]
  })
  if (told.length === 0) return undefined
  return `the markets file differs from the journal, whose parameters hold, in ${
    told.join(", ")
  }: that is as it should be where an operator `
    + "has changed them since; what was changed in the file takes effect only by venue market put"
}

/**
 * What the log says of each announced delisting whose time came while the venue was down: whoever runs it has to know what the first record
 * of the start does with it. One that was missed by a minute can still be withdrawn, and so can any under a halt; any other is carried
 * out before anybody can ask for anything, at the price of before the venue went down.
 */
const overdueDelistings = (reads: Reads, nowEpochMs: number): ReadonlyArray<string> =>
  marketsOf(reads).flatMap(({ delisting, index, parameters }) => {
    if (delisting?.state !== "announced" || delisting.effectiveAtEpochMs > nowEpochMs) return []
    const { finalPriceAtoms, isMissed, openInterestAtoms } = reads.delistingOutlook(index, nowEpochMs)
    const [lastMark] = reads.marks(index, 0, 1)
    const becomes = reads.halted
      ? "it is looked at as soon as the halt is lifted, and can be withdrawn until then"
      : isMissed
      ? "it was missed, so it is announced anew for half an hour after this start, and can be withdrawn until then"
      : finalPriceAtoms === 0
      ? "it takes effect with the first record of this start, without a price, since it has no index"
      : `it takes effect with the first record of this start, at ${formatDecimal(finalPriceAtoms, parameters.priceScale)}`
    const held = `${formatDecimal(openInterestAtoms, parameters.quantityScale)} are held in it long and short`
    const made = lastMark === undefined ? "it never had a mark" : `its last mark was made at ${isoTime(lastMark.atEpochMs)}`
    return [
      `the announced delisting of ${parameters.marketId} was due at ${isoTime(delisting.effectiveAtEpochMs)}: ${becomes}; ${held}; ${made}`
    ]
  })

/** What the log says of each market with a mark whose smallest orders are too small for its impact notional. */
const madeThin = (reads: Reads): ReadonlyArray<string> =>
  marketsOf(reads).flatMap((view) => {
    const { index, parameters } = view
    const { markPriceAtoms } = reads.stats(index)
    return isDelisted(view) || markPriceAtoms === 0 || !Market.mayBeMadeThin(parameters, markPriceAtoms) ? [] : [
      `${parameters.marketId}: ${Market.impactLevels} of its smallest orders come to less than its impactNotional, so somebody who has as `
      + "many, each at a price of its own, makes a deep book count as thin: raise minQuantity, or lower impactNotional (OPERATIONS.md, "
      + "Parameters of a thin market)"
    ]
  })

/** The commands that a market of the file still needs until it is open. */
const missing = (reads: Reads, parameters: Market.Parameters): ReadonlyArray<Command> => {
  const known = reads.findMarket(parameters.marketId)
  const market = known < 0 ? reads.marketCount : known
  const key = keyOf(parameters.marketId)
  const put = withFields("PutMarket", byOperator(Operation.putMarket, key), { parameters, effectiveAtEpochMs: 0 })
  const list = withFields("SetMarketStatus", byOperator(Operation.setMarketStatus, `${key}/backfilling`), { market, status: "backfilling" })
  const open = withFields("SetMarketStatus", byOperator(Operation.setMarketStatus, `${key}/open`), { market, status: "open" })
  if (known < 0) return [put, list, open]
  const { status } = reads.market(known)
  return status === "draft" ? [list, open] : status === "backfilling" ? [open] : []
}

/** How long to wait before submitting again what there was no room for. */
const roomPause = "500 millis"

/**
 * Submits commands, and fails where one is refused; waits while there is no room for them. Decided commands are not decided again. A full
 * disk is logged once, and that there is room again: until then the venue answers nobody, and nothing else would say why.
 */
const done = (
  submit: Context.Tag.Service<typeof Submit>,
  commands: ReadonlyArray<Command>,
  trouble: () => string | undefined = () => undefined,
  isTold = false
): Effect.Effect<void, MarketsFileInvalid> =>
  Effect.flatMap(submitAll(submit, commands), (outcomes) => {
    const refusal = outcomes
      .map((outcome) => outcome.refusal === 0 ? refusalOf(outcome.entries[0]!) : outcome.refusal)
      .find((code) => code !== 0)
    if (refusal === undefined) return isTold ? Effect.logInfo("the disk has room again, and the start goes on") : Effect.void
    if (!ofRoom.has(refusal)) return Effect.fail(new MarketsFileInvalid({ reason: describe(refusal).safeMessage }))
    const isFull = refusal === Refusal.journalFull
    const again = Effect.delay(done(submit, commands, trouble, isTold || isFull), roomPause)
    return isTold || !isFull
      ? again
      : Effect.zipRight(Effect.logWarning(`the start waits for room on the disk: ${trouble() ?? "the journal is full"}`), again)
  })
