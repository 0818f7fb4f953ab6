/**
 * The venue's histories: what has been, projected from the journal into a database of their own, a little behind what is decided.
 *
 * A fiber follows the feed and writes what it came to in batches, each with its place in the journal. It takes in so much at a time,
 * and waits between two batches: the writer never waits for it. A database that cannot be read, is another journal's or another
 * environment's, or goes on where the journal does not, is set aside and made anew; until that has caught up, nothing of it is served
 * that would not tell so itself.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type * as Chunk from "effect/Chunk"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { type Committed, type Feed, isOfOthers, type ReadError } from "../sequencer/Feed.js"
import { type Candle, type Series, seriesNames } from "./Candles.js"
import type { DatabaseUnusable, HistoriesDatabase } from "./HistoriesDatabase.js"
import { seedBefore } from "./Seed.js"
import { flagBit } from "../operations/accounts/SetAccountFlags.js"
import { Projection, venuesOwn } from "./Projection.js"
import { periodOf, type WindowKind, windowKinds } from "./Windows.js"
import { type BoardHead, type Entry, rank } from "./Boards.js"
import * as BoardTables from "./BoardTables.js"
import type { Episode } from "./Episodes.js"
import type { FillRow } from "./Fills.js"
import * as FillTables from "./FillTables.js"
import type { FillsAsked } from "./FillTables.js"
import type { ChangeRow, PaymentRow } from "./Money.js"
import * as MoneyTables from "./MoneyTables.js"
import type { MoneyAsked } from "./MoneyTables.js"
import type { OrderRow } from "./Orders.js"
import * as OrderTables from "./OrderTables.js"
import type { OrdersAsked, OrdersPart } from "./OrderTables.js"
import * as SecurityTables from "./SecurityTables.js"
import type { NoteRow, NotesAsked } from "./SecurityTables.js"
import * as Sql from "./Sql.js"
import * as Tables from "./Tables.js"
import type { EpisodesAsked } from "./Tables.js"
import { type Timeframe, timeframes } from "./Timeframes.js"
import * as TransferTables from "./TransferTables.js"
import type { TransferRow, TransfersAsked } from "./TransferTables.js"

/** There is nothing to read from now: it is being opened, or made anew. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("HistoriesUnavailable", {}) {}

/** How far the histories are. */
export interface Standing {
  /** The last record that was taken in, and its time. */
  readonly sequence: number
  readonly atEpochMs: number
  /** Fills that were taken in: those with an ordinal below it. */
  readonly fills: number
  /** For how long there has been a durable record that is not taken in; 0 where there is none. */
  readonly lagMs: number
  /** Since it was opened it has never had all there was. */
  readonly isReplaying: boolean
  /** Likewise, and it began with the journal's first record. */
  readonly isRebuilding: boolean
}

/** Which candles: the first `limit` from a time on, or without one the latest. */
export interface CandlesAsked {
  readonly series: Series
  readonly market: number
  readonly timeframe: Timeframe
  readonly sinceEpochMs: number | undefined
  readonly limit: number
}

/** Which places of a board: those of the latest, or of one that is kept, behind a rank. */
export interface BoardAsked {
  readonly window: WindowKind
  readonly version: number | undefined
  readonly behindRank: number
  readonly limit: number
}

/** Places of a board, which is never changed. */
export interface BoardPage {
  readonly head: BoardHead
  readonly entries: ReadonlyArray<Entry>
}

/** Something read, and how far the histories were just then. */
export interface Read<A> {
  readonly found: A
  readonly standing: Standing
}

export class Histories extends Context.Tag("venue/readmodel/Histories")<Histories, {
  /** Undefined while there is no database to read from. */
  readonly standing: () => Standing | undefined
  /** Candles, oldest first; not while they are made anew. */
  readonly candles: (asked: CandlesAsked) => Effect.Effect<Read<ReadonlyArray<Candle>>, Unavailable>
  /** Episodes of positions: the open ones first, newest opened first; then newest ended first. Also while they are made anew. */
  readonly episodes: (asked: EpisodesAsked) => Effect.Effect<Read<ReadonlyArray<Episode>>, Unavailable>
  /** Places of a board of the leaderboard; undefined where it is not kept, or none was made yet. */
  readonly board: (asked: BoardAsked) => Effect.Effect<Read<BoardPage | undefined>, Unavailable>
  /**
   * Orders and fills, also while they are made anew: what is behind the engine's memory. Whoever asks holds what is not found, and an
   * order that is still open here, to how far they are.
   */
  readonly order: (account: number, orderNumber: number) => Effect.Effect<Read<OrderRow | undefined>, Unavailable>
  /** An account's last order with a clientOrderId. */
  readonly clientOrder: (account: number, clientOrderId: string) => Effect.Effect<Read<OrderRow | undefined>, Unavailable>
  /** Orders that were placed before one, newest first. */
  readonly ordersBefore: (asked: OrdersAsked) => Effect.Effect<Read<OrdersPart>, Unavailable>
  /** Orders that were placed behind one, oldest first. */
  readonly ordersBehind: (asked: OrdersAsked) => Effect.Effect<Read<OrdersPart>, Unavailable>
  /** The number of the first order of all that was placed at or after a time; undefined where there is none. */
  readonly firstOrderSince: (sinceEpochMs: number) => Effect.Effect<Read<number | undefined>, Unavailable>
  /** Fills older than an ordinal, newest first. */
  readonly fillsBefore: (asked: FillsAsked & { readonly before: number }) => Effect.Effect<Read<ReadonlyArray<FillRow>>, Unavailable>
  /** The first fills at or after a time, oldest first. */
  readonly fillsSince: (asked: FillsAsked & { readonly sinceEpochMs: number }) => Effect.Effect<Read<ReadonlyArray<FillRow>>, Unavailable>
  /** Changes of an account's balance, and its payments of funding, newest first; likewise what is behind the engine's memory. */
  readonly changesBefore: (asked: MoneyAsked) => Effect.Effect<Read<ReadonlyArray<ChangeRow>>, Unavailable>
  readonly paymentsBefore: (asked: Omit<MoneyAsked, "market">) => Effect.Effect<Read<ReadonlyArray<PaymentRow>>, Unavailable>
  /** Transfers of an account that are over, and what concerned its security, newest first; likewise. */
  readonly transfersBefore: (asked: TransfersAsked) => Effect.Effect<Read<ReadonlyArray<TransferRow>>, Unavailable>
  readonly notesBefore: (asked: NotesAsked) => Effect.Effect<Read<ReadonlyArray<NoteRow>>, Unavailable>
}>() {}

const unavailable = (): Effect.Effect<never, Unavailable> => Effect.fail(new Unavailable())

/** Those of a venue that has none yet. */
export const none: Histories["Type"] = {
  standing: () => undefined,
  candles: unavailable,
  episodes: unavailable,
  board: unavailable,
  order: unavailable,
  clientOrder: unavailable,
  ordersBefore: unavailable,
  ordersBehind: unavailable,
  firstOrderSince: unavailable,
  fillsBefore: unavailable,
  fillsSince: unavailable,
  changesBefore: unavailable,
  paymentsBefore: unavailable,
  transfersBefore: unavailable,
  notesBefore: unavailable
}

/** How it goes about it. */
export interface Options {
  /** Records of a batch, but for the last block of it; and rows that are over at which one is written early. */
  readonly batchRecords: number
  readonly batchRows: number
  /** Between two batches: near the end of the journal, and behind it. */
  readonly pauseMs: number
  readonly pauseBehindMs: number
  /** Before it is tried again, after the disk or the database has failed. */
  readonly retryMs: number
  /** Between two boards of the leaderboard. */
  readonly rollupMs: number
  /** How long a stop waits for them: a disk that does not answer must not keep the writer from its own end. */
  readonly endingMs: number
}

export const defaultOptions: Options = {
  batchRecords: 4_096,
  batchRows: 16_384,
  pauseMs: 250,
  pauseBehindMs: 5,
  retryMs: 5_000,
  rollupMs: 60_000,
  endingMs: 300
}

/** How many records are taken in without letting others work: about a millisecond's. */
const mostAtOnce = 256

/** What histories are made from, and where they are kept. */
export interface Parts {
  readonly database: Context.Tag.Service<typeof HistoriesDatabase>
  readonly feed: Feed["Type"]
  readonly durableSequence: () => number
  /** The digest of the durable block that ends with a record, hex; undefined where none does. */
  readonly digestAt: (sequence: number) => Effect.Effect<string | undefined, ReadError>
  /** The record by which this version of the rules took over; undefined where it has decided all of the journal. */
  readonly stepSequence: Effect.Effect<number | undefined, ReadError>
  readonly environment: string
  /** Whether this process has been at work on the database before: what is wrong with its place since then is another process's doing. */
  readonly hasBegun?: boolean
  /** Told how far the database is, whenever that changes; undefined where there is none. */
  readonly reached?: (reached: Reached | undefined) => void
}

/** How far a database is, of a journal that goes on. */
export interface Reached {
  readonly place: Tables.Place
  /** Fills that were taken in. */
  readonly fills: number
  /** The time of the first durable record that is not taken in, as far as is known; undefined where there is none. */
  readonly behindSinceEpochMs: number | undefined
  readonly isReplaying: boolean
  readonly isRebuilding: boolean
}

/** An opened database. */
interface Opened extends Reached {
  readonly sql: SqlClient.SqlClient
  place: Tables.Place
  fills: number
  behindSinceEpochMs: number | undefined
  isReplaying: boolean
  isRebuilding: boolean
}

/**
 * For how long the same record has been the last that was taken in while there are later ones, by a clock that nobody sets. While the
 * venue's clock lies behind its journal all records are of one time, which says nothing of it.
 */
export class Standstill {
  private sequence: number | undefined
  private sinceNanos = 0n

  constructor(private readonly clock: Pick<Clock.Clock, "unsafeCurrentTimeNanos">) {}

  /** Milliseconds, counted from when somebody first looked. */
  lookMs({ place: { sequence } }: Pick<Reached, "place">, durableSequence: number): number {
    const nowNanos = this.clock.unsafeCurrentTimeNanos()
    const isBehind = durableSequence > sequence
    if (!isBehind || this.sequence !== sequence) this.sinceNanos = nowNanos
    this.sequence = isBehind ? sequence : undefined
    return Number((nowNanos - this.sinceNanos) / 1_000_000n)
  }
}

/** How that stands where the journal is durable up to a record by now, and it has stood still for so long by a clock that nobody sets. */
export const standingOf = (
  { behindSinceEpochMs, fills, isRebuilding, isReplaying, place: { atEpochMs, sequence } }: Reached,
  durableSequence: number,
  nowEpochMs: number,
  stoodMs: number
): Standing => {
  const isBehind = durableSequence > sequence
  return {
    sequence,
    atEpochMs,
    fills,
    lagMs: isBehind ? Math.max(0, nowEpochMs - (behindSinceEpochMs ?? nowEpochMs), stoodMs) : 0,
    isReplaying: isReplaying && isBehind,
    isRebuilding: isRebuilding && isReplaying && isBehind
  }
}

/** The database is another's: it cannot be gone on with. */
class Foreign extends Schema.TaggedError<Foreign>()("HistoriesForeign", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/** What comes of work on the database that is open. */
type Unwritten = SqlError | Tables.Overtaken

type Failure = Unwritten | DatabaseUnusable | Foreign | ReadError

type Pull = Effect.Effect<Chunk.Chunk<Committed>, ReadError>

/** What went wrong, in words. */
const textOf = (failure: Failure): string => failure._tag === "SqlError" ? Sql.textOf(failure) : failure.message

/** Whether another connection has what is asked for just then: a copy of the file that is being made, or a look at it by hand. */
const isBusy = (failure: Unwritten): boolean => failure._tag === "SqlError" && Sql.codeOf(failure).startsWith("SQLITE_BUSY")

/** Whether a failure says that the file itself is no good, rather than that it could not be had just then. */
const isDamage = (failure: Failure): boolean => {
  if (failure._tag === "HistoriesForeign") return true
  if (failure._tag === "HistoriesDatabaseUnusable") return /not a database|malformed|corrupt/i.test(failure.reason)
  if (failure._tag !== "SqlError") return false
  const code = Sql.codeOf(failure)
  // The statements are the program's own: where one means nothing, the tables are not what they were made as.
  return code === "SQLITE_ERROR" || code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_NOTADB")
}

/** Those of the histories' own. */
const own: ReadonlySet<string> = new Set<Exclude<Failure, ReadError>["_tag"]>([
  "SqlError",
  "HistoriesDatabaseUnusable",
  "HistoriesForeign",
  "HistoriesOvertaken"
])

/** Whether it was the feed that failed. */
const isRead = (failure: Failure): failure is ReadError => !own.has(failure._tag)

class Follower {
  private opened: Opened | undefined
  /** What a read or a board found wrong with the database, for the fiber that has it open. */
  private damage: Unwritten | undefined
  private hasBegun: boolean
  /** Whether another version has decided records that this one is to begin with. */
  private isOthers = false
  private readonly standstill: Standstill

  /** `turn`: taken for each batch and each read, so that a read is of one place in the journal. */
  constructor(
    private readonly parts: Parts,
    private readonly options: Options,
    private readonly clock: Clock.Clock,
    private readonly turn: Effect.Semaphore
  ) {
    this.hasBegun = parts.hasBegun === true
    this.standstill = new Standstill(clock)
  }

  readonly standing = (): Standing | undefined => this.opened === undefined ? undefined : this.standingOf(this.opened)

  readonly candles: Histories["Type"]["candles"] = ({ limit, market, series, sinceEpochMs, timeframe }) =>
    this.read("complete", (sql) =>
      Tables.candles(sql, {
        series: seriesNames.indexOf(series),
        market,
        timeframe: timeframes.indexOf(timeframe),
        sinceEpochMs,
        limit
      }))

  readonly episodes: Histories["Type"]["episodes"] = (asked) => this.read("any", (sql) => Tables.episodes(sql, asked))

  readonly board: Histories["Type"]["board"] = ({ behindRank, limit, version, window }) =>
    this.read("any", (sql) =>
      Effect.flatMap(BoardTables.boardHead(sql, window, version), (head) =>
        head === undefined
          ? Effect.succeed(undefined)
          : Effect.map(BoardTables.entriesBehind(sql, head, behindRank, limit), (entries) => ({ head, entries }))))

  readonly order: Histories["Type"]["order"] = (account, number) => this.read("any", (sql) => OrderTables.order(sql, account, number))

  readonly clientOrder: Histories["Type"]["clientOrder"] = (account, clientOrderId) =>
    this.read("any", (sql) => OrderTables.clientOrder(sql, account, clientOrderId))

  readonly ordersBefore: Histories["Type"]["ordersBefore"] = (asked) => this.read("any", (sql) => OrderTables.ordersBefore(sql, asked))

  readonly ordersBehind: Histories["Type"]["ordersBehind"] = (asked) => this.read("any", (sql) => OrderTables.ordersBehind(sql, asked))

  readonly firstOrderSince: Histories["Type"]["firstOrderSince"] = (sinceEpochMs) =>
    this.read("any", (sql) => OrderTables.firstSince(sql, sinceEpochMs))

  readonly fillsBefore: Histories["Type"]["fillsBefore"] = (asked) => this.read("any", (sql) => FillTables.fillsBefore(sql, asked))

  readonly fillsSince: Histories["Type"]["fillsSince"] = (asked) => this.read("any", (sql) => FillTables.fillsSince(sql, asked))

  readonly changesBefore: Histories["Type"]["changesBefore"] = (asked) => this.read("any", (sql) => MoneyTables.changesBefore(sql, asked))

  readonly paymentsBefore: Histories["Type"]["paymentsBefore"] = (asked) =>
    this.read("any", (sql) => MoneyTables.paymentsBefore(sql, asked))

  readonly transfersBefore: Histories["Type"]["transfersBefore"] = (asked) =>
    this.read("any", (sql) => TransferTables.transfersBefore(sql, asked))

  readonly notesBefore: Histories["Type"]["notesBefore"] = (asked) => this.read("any", (sql) => SecurityTables.notesBefore(sql, asked))

  /** Makes a board of every window, and goes on doing so. */
  get rollUps(): Effect.Effect<never> {
    const { clock, options: { pauseMs, rollupMs } } = this
    const once = Effect.gen(this, function*() {
      const beganNanos = clock.unsafeCurrentTimeNanos()
      const isOver = (): boolean => Number(clock.unsafeCurrentTimeNanos() - beganNanos) >= rollupMs * 1e6
      let unmade: ReadonlyArray<WindowKind> = windowKinds
      // What fails is tried again soon, and the others not before their time: of each so many are kept, for those who read on in them.
      do {
        unmade = yield* Effect.filter(unmade, (window) => Effect.negate(this.rollUp(window)))
        yield* unmade.length === 0 ? Effect.sleep(rollupMs) : pause(pauseMs)
      } while (unmade.length > 0 && !isOver())
    })
    return Effect.forever(once)
  }

  /**
   * Makes a board of what is stored, unless that is still being made anew; whether it was made. What fails is met by whoever writes, too.
   */
  private rollUp(window: WindowKind): Effect.Effect<boolean> {
    return this.turn.withPermits(1)(Effect.suspend(() => {
      const { opened } = this
      if (opened === undefined || this.standingOf(opened).isReplaying) return Effect.succeed(false)
      const made = Effect.as(this.makeBoard(opened, window), true).pipe(Effect.catchAll((error) =>
        Effect.sync(() => {
          this.noteFault(error)
          return false
        })
      ))
      // Nobody waits for the boards: a defect that ended them would be heard of by their age alone.
      return Effect.catchAllDefect(made,
        (defect) => Effect.as(Effect.logError("a leaderboard was not made for a defect, and is tried again", defect), false))
    }))
  }

  private makeBoard({ place, sql }: Opened, window: WindowKind): Effect.Effect<void, Unwritten> {
    return Effect.gen(this, function*() {
      const { clock, parts: { environment } } = this
      const markEpochMs = clock.unsafeCurrentTimeMillis()
      // A clock that was set back is behind the records: what they count for goes by their time, which never goes back.
      const { fromEpochMs, toEpochMs } = periodOf(window, Math.max(markEpochMs, place.atEpochMs))
      // Bots rank where money is for testing.
      const without = venuesOwn | flagBit("load_harness") | (ranksBots(environment) ? 0 : flagBit("bot"))
      const sums = yield* BoardTables.scoresOf(sql, window, fromEpochMs, without)
      const bots = yield* BoardTables.flagged(sql, flagBit("bot"))
      const { entries, histogram } = rank(sums, (account) => bots.has(account))
      const last = yield* BoardTables.boardHead(sql, window, undefined)
      const head: BoardHead = {
        window,
        // Greater than any of this database, and of one that was lost.
        version: Math.max((last?.version ?? 0) + 1, Math.floor(markEpochMs / 1_000)),
        markEpochMs,
        throughSequence: place.sequence,
        periodStartEpochMs: fromEpochMs,
        periodEndEpochMs: toEpochMs,
        histogram
      }
      yield* Effect.uninterruptible(Tables.writeAt(sql, place, BoardTables.keepBoard(sql, head, entries)))
    })
  }

  /** Reads, and says as of when; `complete`: not while what is read is made anew. */
  private read<A>(
    what: "complete" | "any",
    from: (sql: SqlClient.SqlClient) => Effect.Effect<A, SqlError>
  ): Effect.Effect<Read<A>, Unavailable> {
    return this.turn.withPermits(1)(Effect.suspend(() => {
      const { opened } = this
      if (opened === undefined) return Effect.fail(new Unavailable())
      const standing = this.standingOf(opened)
      if (what === "complete" && standing.isRebuilding) return Effect.fail(new Unavailable())
      return Effect.mapBoth(from(opened.sql), {
        onSuccess: (found) => ({ found, standing }),
        onFailure: (error) => {
          this.noteFault(error)
          return new Unavailable()
        }
      })
    }))
  }

  /** What is busy is no fault of the database's: it is asked again. */
  private noteFault(error: Unwritten): void {
    if (!isBusy(error)) this.damage = error
  }

  private standingOf(opened: Opened): Standing {
    const durableSequence = this.parts.durableSequence()
    return standingOf(opened, durableSequence, this.clock.unsafeCurrentTimeMillis(), this.standstill.lookMs(opened, durableSequence))
  }

  /** Follows for as long as the venue lives: whatever fails is tried again. */
  get run(): Effect.Effect<never> {
    // Also of one that could not be opened it is told that there is nothing to read: nobody is to wait for it.
    const follow = Effect.ensuring(Effect.scoped(this.follow), Effect.sync(() => this.tell()))
    const following = Effect.catchAll(follow, (failure) => this.failed(failure))
    // A mistake of the program's own is told, and what it was made over is read anew.
    return Effect.forever(
      Effect.catchAllDefect(following,
        (defect) =>
          Effect.zipRight(Effect.logError("the histories stopped by a defect, and go on", defect), Effect.sleep(this.options.retryMs)))
    )
  }

  private failed(failure: Failure): Effect.Effect<void> {
    const { options: { pauseMs, retryMs }, parts: { database } } = this
    const again = Effect.sleep(retryMs)
    if (!this.isOthers && isRead(failure) && isOfOthers(failure)) {
      this.isOthers = true
      return Effect.logWarning(`the histories begin where this version took over: ${textOf(failure)}`).pipe(
        Effect.zipRight(database.setAside),
        Effect.catchAll((error) => Effect.zipRight(Effect.logError(`${database.name} cannot be set aside: ${error.message}`), again))
      )
    }
    // A process that stood still, and is followed by another one meanwhile, finds that one's file: it is never in its way.
    const isOthersFile = this.hasBegun && failure._tag === "HistoriesForeign"
    if (isOthersFile || !isDamage(failure)) {
      return Effect.zipRight(Effect.logWarning(`the histories stopped and go on in ${retryMs} ms: ${textOf(failure)}`), again)
    }
    return Effect.logWarning(`${database.name} is set aside and made anew from the journal: ${textOf(failure)}`).pipe(
      Effect.zipRight(database.setAside),
      Effect.zipRight(failure._tag === "HistoriesForeign" ? pause(pauseMs) : again),
      Effect.catchAll((error) => Effect.zipRight(Effect.logError(`${database.name} cannot be set aside: ${error.message}`), again))
    )
  }

  /** Where the journal begins with records of another version: has a new database begin with the step behind them. */
  private seed(sql: SqlClient.SqlClient): Effect.Effect<void, Failure> {
    return Effect.gen(this, function*() {
      const { parts: { environment, feed, stepSequence } } = this
      if (!this.isOthers) return
      const begun = yield* Tables.begin(sql, environment)
      const step = yield* stepSequence
      if (typeof begun === "string" || begun.sequence > 0 || step === undefined) return
      const seed = yield* seedBefore(feed, step)
      yield* Tables.write(sql, begun, seed.batch, seed.place, false)
    })
  }

  /** Opens the database and takes in what it has not; it never ends by itself. */
  private get follow(): Effect.Effect<never, Failure, Scope.Scope> {
    return Effect.gen(this, function*() {
      const { options: { pauseBehindMs, pauseMs }, parts: { database, environment, feed } } = this
      const sql = yield* database.open
      yield* this.seed(sql)
      const place = yield* Tables.begin(sql, environment)
      const foreign = typeof place === "string" ? place : yield* this.denied(place)
      if (typeof place === "string" || foreign !== undefined) return yield* new Foreign({ reason: `it is ${foreign}` })
      const projection = new Projection({
        candles: yield* Tables.latestCandles(sql),
        scales: yield* Tables.scales(sql),
        episodes: yield* Tables.openEpisodes(sql),
        born: place.born,
        scores: yield* BoardTables.scores(sql),
        fills: place.fills
      })
      const { fills } = place
      const opened: Opened = { sql, place, fills, behindSinceEpochMs: undefined, isReplaying: true, isRebuilding: place.isUnfinished }
      yield* Effect.addFinalizer(() => Effect.sync(() => void (this.opened = undefined)))
      this.damage = undefined
      this.hasBegun = true
      this.opened = opened
      // Since when there is more only the first record of it tells: the venue may have been down before that.
      this.noteEnd(opened, undefined)
      const pull: Pull = Effect.catchAll(
        yield* Stream.toPull(feed.from(place.sequence + 1)),
        (ended) => Option.isNone(ended) ? Effect.dieMessage("the feed ended") : Effect.fail(ended.value)
      )
      for (;;) {
        yield* this.batch(opened, projection, pull)
        yield* pause(this.isFarBehind(opened) ? pauseBehindMs : pauseMs)
        yield* this.undamaged
      }
    })
  }

  /** Whether there is another batch to be taken in at once: a venue that is busy all day is kept up with. */
  private isFarBehind({ isReplaying, place }: Opened): boolean {
    return isReplaying || this.parts.durableSequence() - place.sequence >= this.options.batchRecords
  }

  /** Fails with what a read has found. */
  private get undamaged(): Effect.Effect<void, Unwritten> {
    return Effect.suspend(() => this.damage === undefined ? Effect.void : Effect.fail(this.damage))
  }

  /** Takes in what is there, up to the length of a batch, and writes it. */
  private batch(
    opened: Opened,
    projection: Projection,
    pull: Pull
  ): Effect.Effect<void, Failure> {
    return Effect.gen(this, function*() {
      const { options: { batchRecords, batchRows }, parts } = this
      const first = opened.place.sequence
      let { place } = opened
      let rested = first
      do {
        // Whoever shares the thread, the writer perhaps, is not kept from its turns for as long as a batch takes.
        if (place.sequence - rested >= mostAtOnce) {
          yield* Effect.sleep(0)
          rested = place.sequence
        }
        for (const committed of yield* pull) {
          const { block } = committed
          opened.behindSinceEpochMs ??= block.records[0]!.atEpochMs
          projection.apply(committed)
          place = Tables.placeBehind(block)
        }
      } while (place.sequence < parts.durableSequence() && place.sequence - first < batchRecords && projection.waiting < batchRows)
      const batch = projection.take()
      const isFinished = opened.isRebuilding && place.sequence >= parts.durableSequence()
      const noted = Effect.sync(() => {
        if (isFinished) opened.isRebuilding = false
        opened.place = place
        opened.fills = batch.fillCount
        // What comes next is no older than what came last.
        this.noteEnd(opened, place.atEpochMs)
      })
      const written = Effect.zipRight(Tables.write(opened.sql, opened.place, batch, place, isFinished), noted)
      yield* this.whenFree(Effect.uninterruptible(this.turn.withPermits(1)(written)))
    })
  }

  /** Does it as soon as no other connection is at work on the database; what is there is read meanwhile, and an end is heard. */
  private whenFree(written: Effect.Effect<void, Unwritten>): Effect.Effect<void, Unwritten> {
    const { options: { pauseMs }, parts: { database: { name } } } = this
    const told = Effect.logWarning(`another connection writes to ${name}: what is new is written when it is over`)
    const again = Effect.retry(written, { while: isBusy, schedule: Schedule.spaced(pauseMs) })
    return Effect.catchIf(written, isBusy, () => told.pipe(Effect.zipRight(pause(pauseMs)), Effect.zipRight(again)))
  }

  /** Notes whether all that is durable was taken in, and since when there may be more, as far as is known. */
  private noteEnd(opened: Opened, sinceEpochMs: number | undefined): void {
    const { place } = opened
    const isBehind = place.sequence < this.parts.durableSequence()
    if (!isBehind) opened.isReplaying = false
    opened.behindSinceEpochMs = isBehind ? sinceEpochMs : undefined
    this.tell()
  }

  private tell(): void {
    const { opened, parts: { reached } } = this
    if (opened === undefined) return reached?.(undefined)
    const { sql: _, ...told } = opened
    reached?.(told)
  }

  /** Why a place is none in this journal; undefined where it is one. */
  private denied({ digest, sequence }: Tables.Place): Effect.Effect<string | undefined, ReadError> {
    if (sequence === 0) return Effect.succeed(undefined)
    if (sequence > this.parts.durableSequence()) return Effect.succeed("ahead of the journal")
    return Effect.map(this.parts.digestAt(sequence), (found) => found === digest ? undefined : "another journal's")
  }
}

/** Whether bots rank beside people. */
const ranksBots = (environment: string): boolean => environment === "development" || environment === "testnet"

/** Lets others work; so long at least. */
const pause = (millis: number): Effect.Effect<void> => millis === 0 ? Effect.yieldNow() : Effect.sleep(millis)

/** Follows the feed with the scope that this is made in. */
export const make = (parts: Parts, options: Options = defaultOptions): Effect.Effect<Histories["Type"], never, Scope.Scope> =>
  Effect.gen(function*() {
    const follower = new Follower(parts, options, yield* Effect.clock, yield* Effect.makeSemaphore(1))
    const following = yield* Scope.make()
    yield* Effect.forkIn(follower.run, following)
    yield* Effect.forkIn(follower.rollUps, following)
    yield* Effect.addFinalizer((exit) => {
      const close = Scope.close(following, exit)
      const { endingMs } = options
      return endingMs === Number.POSITIVE_INFINITY ? close : Effect.interruptible(Effect.timeoutOption(Effect.disconnect(close), endingMs))
    })
    return follower
  })
