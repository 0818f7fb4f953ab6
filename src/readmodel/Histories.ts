/**
 * The venue's histories: a projection of the journal into a database of its own, slightly behind the decisions.
 *
 * A fiber follows the feed and writes its results in batches, each with its place in the journal. It applies a bounded amount at a
 * time and pauses between batches, so that the writer never waits for it. A database that is unreadable, belongs to another journal
 * or environment, or continues where the journal does not, is set aside and rebuilt; until that has caught up, only reads that
 * report this themselves are served. Where another version decided the journal's first records, so that this one cannot replay them,
 * the new one begins behind them, and says so with everything that is read from it.
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
import { unattended } from "../domain/Unattended.js"
import { type Committed, type Feed, isOfOthers, type ReadError } from "../sequencer/Feed.js"
import { type Candle, type Series, seriesNames } from "./Candles.js"
import type { DatabaseUnusable, HistoriesDatabase } from "./HistoriesDatabase.js"
import { seedBefore } from "./Seed.js"
import { decidedBy } from "../operations/Versions.js"
import { flagBit } from "../operations/accounts/SetAccountFlags.js"
import { hadBotKey, Projection, venuesOwn } from "./Projection.js"
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

/** There is nothing to read at present: the database is being opened or rebuilt. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("HistoriesUnavailable", {}) {}

/** The progress of the histories. */
export interface Standing {
  /** The last record applied, and its time. */
  readonly sequence: number
  readonly atEpochMs: number
  /** The number of fills applied: those with a lower ordinal. */
  readonly fills: number
  /** For how long there has been a durable record that is not applied, milliseconds; 0 where there is none. */
  readonly lagMs: number
  /** Whether they lack some of what the journal had when they were opened. */
  readonly isReplaying: boolean
  /** Whether they lack some of what the journal had when they were opened, and began with the journal's first record. */
  readonly isRebuilding: boolean
  /** Where they begin, if not with the journal's first record: what had been forgotten before is not in them. */
  readonly beginning?: Tables.Beginning | undefined
}

/** Selects candles: the first `limit` from a time on or, without one, the latest. */
export interface CandlesAsked {
  readonly series: Series
  readonly market: number
  readonly timeframe: Timeframe
  readonly sinceEpochMs: number | undefined
  readonly limit: number
}

/** Selects entries of a board after a rank: of the latest, or of a given version. */
export interface BoardAsked {
  readonly window: WindowKind
  readonly version: number | undefined
  readonly behindRank: number
  readonly limit: number
}

/** Entries of a board. */
export interface BoardPage {
  readonly head: BoardHead
  readonly entries: ReadonlyArray<Entry>
}

/** A result, with the progress of the histories at the time of the read. */
export interface Read<A> {
  readonly found: A
  readonly standing: Standing
}

export class Histories extends Context.Tag("venue/readmodel/Histories")<Histories, {
  /** Undefined while there is no database to read from. */
  readonly standing: () => Standing | undefined
  /**
   * Where they begin, as `Standing` says, and where those that were read last began while there are none: a list is told after its read,
   * by when the histories may have ended.
   */
  readonly beginning: () => Tables.Beginning | undefined
  /** Candles, oldest first; not available during a rebuild. */
  readonly candles: (asked: CandlesAsked) => Effect.Effect<Read<ReadonlyArray<Candle>>, Unavailable>
  /** Episodes: open ones first, latest opened first; then the others, latest ended first. Also available during a rebuild. */
  readonly episodes: (asked: EpisodesAsked) => Effect.Effect<Read<ReadonlyArray<Episode>>, Unavailable>
  /** Entries of a leaderboard; undefined where the board is not kept, or none has been made yet. */
  readonly board: (asked: BoardAsked) => Effect.Effect<Read<BoardPage | undefined>, Unavailable>
  /**
   * Orders and fills that the engine may have forgotten, also available during a rebuild. The caller has to judge by the progress
   * of the histories whether a missing order is absent, and whether an open one is still open.
   */
  readonly order: (account: number, orderNumber: number) => Effect.Effect<Read<OrderRow | undefined>, Unavailable>
  /** An account's last order with a clientOrderId. */
  readonly clientOrder: (account: number, clientOrderId: string) => Effect.Effect<Read<OrderRow | undefined>, Unavailable>
  /** Orders placed before the given one, newest first. */
  readonly ordersBefore: (asked: OrdersAsked) => Effect.Effect<Read<OrdersPart>, Unavailable>
  /** Orders placed after the given one, oldest first. */
  readonly ordersBehind: (asked: OrdersAsked) => Effect.Effect<Read<OrdersPart>, Unavailable>
  /** The number of the first order of all that was placed at or after a time; undefined where there is none. */
  readonly firstOrderSince: (sinceEpochMs: number) => Effect.Effect<Read<number | undefined>, Unavailable>
  /** Fills older than an ordinal, newest first. */
  readonly fillsBefore: (asked: FillsAsked & { readonly before: number }) => Effect.Effect<Read<ReadonlyArray<FillRow>>, Unavailable>
  /** The first fills at or after a time, oldest first. */
  readonly fillsSince: (asked: FillsAsked & { readonly sinceEpochMs: number }) => Effect.Effect<Read<ReadonlyArray<FillRow>>, Unavailable>
  /** An account's balance changes and funding payments, newest first; also those that the engine has forgotten. */
  readonly changesBefore: (asked: MoneyAsked) => Effect.Effect<Read<ReadonlyArray<ChangeRow>>, Unavailable>
  readonly paymentsBefore: (asked: Omit<MoneyAsked, "market">) => Effect.Effect<Read<ReadonlyArray<PaymentRow>>, Unavailable>
  /** An account's finished transfers and its security events, newest first; likewise. */
  readonly transfersBefore: (asked: TransfersAsked) => Effect.Effect<Read<ReadonlyArray<TransferRow>>, Unavailable>
  readonly notesBefore: (asked: NotesAsked) => Effect.Effect<Read<ReadonlyArray<NoteRow>>, Unavailable>
}>() {}

const unavailable = (): Effect.Effect<never, Unavailable> => Effect.fail(new Unavailable())

/** The histories of a venue that has none yet. */
export const none: Histories["Type"] = {
  standing: () => undefined,
  beginning: () => undefined,
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

/** How the histories are written. */
export interface Options {
  /** Records of a batch, without its last block; and the number of rows from which on it is written early. */
  readonly batchRecords: number
  readonly batchRows: number
  /** Pause between two batches, near the journal's end and further behind. */
  readonly pauseMs: number
  readonly pauseBehindMs: number
  /** Pause before another attempt after the disk or the database has failed. */
  readonly retryMs: number
  /** Between two boards of the leaderboard. */
  readonly rollupMs: number
  /** How long a stop waits for the histories: an unresponsive disk must not delay the writer's own end. */
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

/** Records applied before yielding to other work: about a millisecond. */
const mostAtOnce = 256

/** The sources of the histories, and where they are stored. */
export interface Parts {
  readonly database: Context.Tag.Service<typeof HistoriesDatabase>
  readonly feed: Feed["Type"]
  readonly durableSequence: () => number
  /** The digest, hex, of the durable block that ends with a record; undefined where there is no such record, empty where no block does. */
  readonly digestAt: (sequence: number) => Effect.Effect<string | undefined, ReadError>
  /** The record by which this version of the rules took over; undefined where it has decided the whole journal. */
  readonly stepSequence: Effect.Effect<number | undefined, ReadError>
  /** The record by which any later version than the one that began the journal first took over; without it, there is none. */
  readonly firstStepSequence?: Effect.Effect<number | undefined, ReadError>
  readonly environment: string
  /** Whether this process has worked on the database before: a mismatch of its place is then another process's doing. */
  readonly hasBegun?: boolean
  /** Called with the progress of the database whenever that changes; undefined where there is none. */
  readonly reached?: (reached: Reached | undefined) => void
}

/** The progress of a database in a growing journal. */
export interface Reached {
  readonly place: Tables.Place
  /** The number of fills applied. */
  readonly fills: number
  /** The time of the first durable record that is not applied, as far as is known; undefined where there is none. */
  readonly behindSinceEpochMs: number | undefined
  readonly isReplaying: boolean
  readonly isRebuilding: boolean
  /** Where the rows begin, if not with the journal's first record. */
  readonly beginning?: Tables.Beginning | undefined
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
 * How long the same record has been the last one applied while there are later ones, by a monotonic clock: while the venue's clock
 * is behind its journal, all records have the same time, which reveals no lag.
 */
export class Standstill {
  private sequence: number | undefined
  private sinceNanos = 0n

  constructor(private readonly clock: Pick<Clock.Clock, "unsafeCurrentTimeNanos">) {}

  /** Milliseconds since the first check of this record. */
  lookMs({ place: { sequence } }: Pick<Reached, "place">, durableSequence: number): number {
    const nowNanos = this.clock.unsafeCurrentTimeNanos()
    const isBehind = durableSequence > sequence
    if (!isBehind || this.sequence !== sequence) this.sinceNanos = nowNanos
    this.sequence = isBehind ? sequence : undefined
    return Number((nowNanos - this.sinceNanos) / 1_000_000n)
  }
}

/** The progress as reported, given the durable end of the journal and the length of a standstill. */
export const standingOf = (
  { beginning, behindSinceEpochMs, fills, isRebuilding, isReplaying, place: { atEpochMs, sequence } }: Reached,
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
    isRebuilding: isRebuilding && isReplaying && isBehind,
    beginning
  }
}

/** The database belongs to something else and cannot be continued. */
class Foreign extends Schema.TaggedError<Foreign>()("HistoriesForeign", { reason: Schema.String }) {
  override get message() {
    return this.reason
  }
}

/**
 * The journal does not have the record up to which the database reaches, although it is durable: a segment is missing at present, or
 * cannot be read, in which case `damage` says where.
 */
class Unfound extends Schema.TaggedError<Unfound>()("HistoriesUnfound", {
  sequence: Schema.Number,
  damage: Schema.UndefinedOr(Schema.String)
}) {
  override get message() {
    const { damage, sequence } = this
    const text = `record ${sequence}, up to which they reach, cannot be found in the journal at present`
    return damage === undefined ? text : `${text}: ${damage}`
  }
}

/** Failures of work on the open database. */
type Unwritten = SqlError | Tables.Overtaken

type Failure = Unwritten | DatabaseUnusable | Foreign | Unfound | ReadError

type Pull = Effect.Effect<Chunk.Chunk<Committed>, ReadError>

/** A failure in words. */
const textOf = (failure: Failure): string => failure._tag === "SqlError" ? Sql.textOf(failure) : failure.message

/** Whether another connection is blocking the database, for example to copy the file or to inspect it. */
const isBusy = (failure: Unwritten): boolean => failure._tag === "SqlError" && Sql.codeOf(failure).startsWith("SQLITE_BUSY")

/** Whether the disk does not take what is written at present: what the database has can be read all the while. */
const isUntaken = (failure: Unwritten): boolean => failure._tag === "SqlError" && /^SQLITE_(FULL|IOERR|READONLY)/.test(Sql.codeOf(failure))

/** Whether a failure means that the file itself is unusable, rather than temporarily unavailable. */
const isDamage = (failure: Failure): boolean => {
  if (failure._tag === "HistoriesForeign") return true
  if (failure._tag === "HistoriesDatabaseUnusable") return Sql.isDamage(failure.code ?? "")
  if (failure._tag !== "SqlError") return false
  const code = Sql.codeOf(failure)
  // The statements are the program's own: one that fails to compile means that the tables are not as they were created.
  return code === "SQLITE_ERROR" || Sql.isDamage(code)
}

/** For how long the same failure is not logged again, milliseconds: a full disk fails every attempt in the same way. */
const sameMs = 60_000

/** Failures of the histories themselves. */
const own: ReadonlySet<string> = new Set<Exclude<Failure, ReadError>["_tag"]>([
  "SqlError",
  "HistoriesDatabaseUnusable",
  "HistoriesForeign",
  "HistoriesUnfound",
  "HistoriesOvertaken"
])

/** Whether the feed failed. */
const isRead = (failure: Failure): failure is ReadError => !own.has(failure._tag)

class Follower {
  private opened: Opened | undefined
  private lastBeginning: Tables.Beginning | undefined
  /** A fault of the database found by a read or a board, for the fiber that has it open. */
  private damage: Unwritten | undefined
  private hasBegun: boolean
  /** Whether the first records were decided by another version. */
  private isOthers = false
  /** Whether the present database was empty when it was opened: everything in it can be made again. */
  private isOwn = false
  /** The last record that the journal had when the present database was opened. */
  private openedAtSequence = 0
  private readonly standstill: Standstill
  /** The failure that was logged last, and when. */
  private lastSaid = { text: "", atEpochMs: 0 }

  /** `turn`: held for each batch and each read, so that a read is consistent with one place in the journal. */
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

  readonly beginning = (): Tables.Beginning | undefined => this.lastBeginning

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

  /** Makes boards of all windows repeatedly. */
  get rollUps(): Effect.Effect<never> {
    const { clock, options: { pauseMs, rollupMs } } = this
    const once = Effect.gen(this, function*() {
      const beganNanos = clock.unsafeCurrentTimeNanos()
      const isOver = (): boolean => Number(clock.unsafeCurrentTimeNanos() - beganNanos) >= rollupMs * 1e6
      let unmade: ReadonlyArray<WindowKind> = windowKinds
      // A failed board is retried soon, the others only at their time, since a limited number of each is kept for clients that are
      // paging through them.
      do {
        unmade = yield* Effect.filter(unmade, (window) => Effect.negate(this.rollUp(window)))
        yield* unmade.length === 0 ? Effect.sleep(rollupMs) : pause(pauseMs)
      } while (unmade.length > 0 && !isOver())
    })
    return Effect.forever(once)
  }

  /**
   * Makes a board from the stored rows, unless these are being rebuilt. Returns whether it was made, or has to wait for its time since the
   * disk does not take it. The writing fiber meets any failure as well.
   */
  private rollUp(window: WindowKind): Effect.Effect<boolean> {
    return this.turn.withPermits(1)(Effect.suspend(() => {
      const { opened } = this
      if (opened === undefined || this.standingOf(opened).isReplaying) return Effect.succeed(false)
      const made = Effect.as(this.makeBoard(opened, window), true).pipe(Effect.catchAll((error) =>
        Effect.sync(() => {
          const isLeft = isUntaken(error)
          if (!isLeft) this.noteFault(error)
          return isLeft
        })
      ))
      // Nobody waits for the boards: if a defect ended them, only their age would reveal it.
      return Effect.catchAllDefect(made,
        (defect) => Effect.as(Effect.logError("a leaderboard was not made for a defect, and is tried again", defect), false))
    }))
  }

  private makeBoard({ place, sql }: Opened, window: WindowKind): Effect.Effect<void, Unwritten> {
    return Effect.gen(this, function*() {
      const { clock, parts: { environment } } = this
      const markEpochMs = clock.unsafeCurrentTimeMillis()
      // A clock that was set back is behind the records: the window then follows the records' time, which never decreases.
      const { fromEpochMs, toEpochMs } = periodOf(window, Math.max(markEpochMs, place.atEpochMs))
      // Bots are ranked in environments with test money: who was flagged, and who has ever had a bot's key.
      const bot = flagBit("bot") | hadBotKey
      const without = venuesOwn | flagBit("load_harness") | (ranksBots(environment) ? 0 : bot)
      const sums = yield* BoardTables.scoresOf(sql, window, fromEpochMs, without)
      const bots = yield* BoardTables.flagged(sql, bot)
      const { entries, histogram } = rank(sums, (account) => bots.has(account))
      const last = yield* BoardTables.boardHead(sql, window, undefined)
      const head: BoardHead = {
        window,
        // Greater than any version in this database, and in one that was lost.
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

  /** Reads, and returns the progress with the result; `complete`: not during a rebuild. */
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

  /** A busy database is not faulty, and the read is tried again. */
  private noteFault(error: Unwritten): void {
    if (!isBusy(error)) this.damage = error
  }

  private standingOf(opened: Opened): Standing {
    const durableSequence = this.parts.durableSequence()
    return standingOf(opened, durableSequence, this.clock.unsafeCurrentTimeMillis(), this.standstill.lookMs(opened, durableSequence))
  }

  /** Follows the feed for the life of the venue; every failure is retried. */
  get run(): Effect.Effect<never> {
    // Readers are told also if the database could not be opened, so that nobody waits for it.
    const follow = Effect.ensuring(Effect.scoped(this.follow), Effect.sync(() => this.tell()))
    const following = Effect.catchAll(follow, (failure) => this.failed(failure))
    return Effect.forever(unattended("what makes the histories", following))
  }

  /** Whether a failure is another one than the last, or is to be said again after a while. */
  private isNews(text: string): boolean {
    const atEpochMs = this.clock.unsafeCurrentTimeMillis()
    if (text === this.lastSaid.text && Math.abs(atEpochMs - this.lastSaid.atEpochMs) < sameMs) return false
    this.lastSaid = { text, atEpochMs }
    return true
  }

  /** Tells why the histories cannot go on, once a minute while nothing changes: they try again every few seconds. */
  private toldNotSetAside(failure: Failure, why: string): Effect.Effect<void> {
    const text = `${this.parts.database.name} cannot be set aside: ${why}; the histories stopped: ${textOf(failure)}`
    return this.isNews(text) ? Effect.logError(text) : Effect.void
  }

  private failed(failure: Failure): Effect.Effect<void> {
    const { options: { pauseMs, retryMs }, parts: { database } } = this
    const again = Effect.sleep(retryMs)
    if (!this.isOthers && isRead(failure) && isOfOthers(failure)) {
      this.isOthers = true
      return (this.isOwn ? database.discard : database.setAside).pipe(
        Effect.catchAll((error) => Effect.zipRight(Effect.logError(`${database.name} cannot be set aside: ${error.message}`), again))
      )
    }
    // A process that was suspended and has been replaced meanwhile finds the other one's file, and must not interfere with it.
    const isOthersFile = this.hasBegun && failure._tag === "HistoriesForeign"
    if (isOthersFile || !isDamage(failure)) {
      const text = `the histories stopped and go on in ${retryMs} ms: ${textOf(failure)}`
      return this.isNews(text) ? Effect.zipRight(Effect.logWarning(text), again) : again
    }
    return database.setAside.pipe(
      Effect.zipRight(Effect.logWarning(`${database.name} is set aside and made anew from the journal: ${textOf(failure)}`)),
      Effect.zipRight(failure._tag === "HistoriesForeign" ? pause(pauseMs) : again),
      Effect.catchAll((error) => Effect.zipRight(this.toldNotSetAside(failure, error.message), again))
    )
  }

  /** Where the journal begins with records of another version, begins a new database with the step after them. */
  private seed(sql: SqlClient.SqlClient): Effect.Effect<void, Failure> {
    return Effect.gen(this, function*() {
      const { parts: { environment, feed, stepSequence } } = this
      if (!this.isOthers) return
      const begun = yield* Tables.begin(sql, environment)
      const step = yield* stepSequence
      if (typeof begun === "string" || begun.sequence > 0 || step === undefined) return
      const seed = yield* seedBefore(feed, step)
      yield* Effect.logWarning(`the histories begin where this version took over: ${decidedBy(seed.place.sequence, seed.version)}`)
      yield* Tables.write(sql, begun, seed.batch, seed.place, false)
    })
  }

  /** Opens the database and applies what is missing; never completes by itself. */
  private get follow(): Effect.Effect<never, Failure, Scope.Scope> {
    return Effect.gen(this, function*() {
      const { options: { pauseBehindMs, pauseMs }, parts: { database, environment, feed } } = this
      const sql = yield* database.open
      yield* this.seed(sql)
      const place = yield* Tables.begin(sql, environment)
      this.isOwn = typeof place !== "string" && place.sequence === 0
      if (typeof place === "string") return yield* new Foreign({ reason: `it is ${place}` })
      const denied = yield* this.denied(place)
      if (denied !== undefined) return yield* denied
      const projection = new Projection({
        candles: yield* Tables.latestCandles(sql),
        scales: yield* Tables.scales(sql),
        episodes: yield* Tables.openEpisodes(sql),
        born: place.born,
        scores: yield* BoardTables.scores(sql),
        flags: yield* BoardTables.flags(sql),
        fills: place.fills
      })
      const { fills } = place
      const beginning = place.beginning === "untold" ? yield* this.told(sql, place) : place.beginning
      const opened: Opened = {
        sql,
        place,
        fills,
        behindSinceEpochMs: undefined,
        isReplaying: true,
        isRebuilding: place.isUnfinished,
        beginning
      }
      yield* Effect.addFinalizer(() => Effect.sync(() => void (this.opened = undefined)))
      this.damage = undefined
      this.hasBegun = true
      this.opened = opened
      this.openedAtSequence = this.parts.durableSequence()
      this.lastBeginning = beginning
      // When the first missing record was made is only known once it is read: the venue may have been down before it.
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

  /**
   * Where a database that an earlier version made begins: with the journal's first record, unless a still earlier one had decided that,
   * which shows in a step that the database has behind it.
   */
  private told(sql: SqlClient.SqlClient, { sequence }: Tables.Place): Effect.Effect<Tables.Beginning | undefined, Failure> {
    const { firstStepSequence = Effect.succeed(undefined) } = this.parts
    return Effect.flatMap(firstStepSequence, (first) => Tables.tellBeginning(sql, first === undefined || sequence < first))
  }

  /** Whether another batch should follow at once, so that a venue that is busy all day does not leave the histories behind. */
  private isFarBehind({ isReplaying, place }: Opened): boolean {
    return isReplaying || this.parts.durableSequence() - place.sequence >= this.options.batchRecords
  }

  /** Fails with a fault that a read has found; tells where the file's name leads elsewhere, into which nothing is written any more. */
  private get undamaged(): Effect.Effect<void, Unwritten> {
    return Effect.suspend(() => {
      if (this.damage !== undefined) return Effect.fail(this.damage)
      const { name, isElsewhere } = this.parts.database
      if (isElsewhere?.() !== true) return Effect.void
      const text = `${name} was removed or replaced while it is open: what the histories have is in this process alone, and gone when it `
        + "ends. Copy it and its -wal first, from the files that are open under its /proc/PID/fd, and see OPERATIONS, Backups"
      return this.isNews(text) ? Effect.logError(text) : Effect.void
    })
  }

  /** Applies what is available, up to the length of a batch, and writes it. */
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
        // Other work in this thread, possibly the writer's, must not wait for a whole batch.
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
        // The next record is no older than the last one.
        this.noteEnd(opened, place.atEpochMs)
      })
      const written = Effect.zipRight(Tables.write(opened.sql, opened.place, batch, place, isFinished), noted)
      yield* this.whenTaken(this.whenFree(Effect.uninterruptible(this.turn.withPermits(1)(written))))
    })
  }

  /**
   * Writes as soon as the disk takes it. The database stays open meanwhile, since a full disk can be read; a fault that a read finds has
   * it opened anew.
   */
  private whenTaken(written: Effect.Effect<void, Unwritten>): Effect.Effect<void, Unwritten> {
    const { options: { retryMs }, parts: { database: { name } } } = this
    const again = Effect.suspend(() => this.damage === undefined ? this.whenTaken(written) : Effect.fail(this.damage))
    return Effect.catchIf(written, isUntaken, (failure) => {
      const text = `${name} takes nothing at present, and is read as it is until it does: ${textOf(failure)}`
      return Effect.zipRight(this.isNews(text) ? Effect.logWarning(text) : Effect.void, Effect.zipRight(Effect.sleep(retryMs), again))
    })
  }

  /** Writes as soon as no other connection blocks the database. Reads are served meanwhile, and a stop is noticed. */
  private whenFree(written: Effect.Effect<void, Unwritten>): Effect.Effect<void, Unwritten> {
    const { options: { pauseMs }, parts: { database: { name } } } = this
    const told = Effect.logWarning(`another connection writes to ${name}: what is new is written when it is over`)
    const again = Effect.retry(written, { while: isBusy, schedule: Schedule.spaced(pauseMs) })
    return Effect.catchIf(written, isBusy, () => told.pipe(Effect.zipRight(pause(pauseMs)), Effect.zipRight(again)))
  }

  /** Notes whether everything durable has been applied, and since when there may be more, as far as is known. */
  private noteEnd(opened: Opened, sinceEpochMs: number | undefined): void {
    const { place } = opened
    const isBehind = place.sequence < this.parts.durableSequence()
    // In a busy venue they may be a few records behind for hours, which is no replay.
    if (place.sequence >= this.openedAtSequence) opened.isReplaying = false
    opened.behindSinceEpochMs = isBehind ? sinceEpochMs : undefined
    this.tell()
  }

  private tell(): void {
    const { opened, parts: { reached } } = this
    if (opened === undefined) return reached?.(undefined)
    const { sql: _, ...told } = opened
    reached?.(told)
  }

  /** Why a place does not belong to this journal, as far as that can be seen now; undefined where it does. */
  private denied({ digest, sequence }: Tables.Place): Effect.Effect<Foreign | Unfound | undefined, ReadError> {
    if (sequence === 0) return Effect.succeed(undefined)
    if (sequence > this.parts.durableSequence()) return Effect.succeed(new Foreign({ reason: "it is ahead of the journal" }))
    return Effect.matchEffect(this.parts.digestAt(sequence), {
      onSuccess: (found) =>
        Effect.sync(() => {
          if (found === digest) return undefined
          return found === undefined ? new Unfound({ sequence, damage: undefined }) : new Foreign({ reason: "it is another journal's" })
        }),
      onFailure: (error) =>
        error._tag === "JournalCorrupt" ? Effect.succeed(new Unfound({ sequence, damage: error.message })) : Effect.fail(error)
    })
  }
}

/** Whether bots are ranked together with people. */
const ranksBots = (environment: string): boolean => environment === "development" || environment === "testnet"

/** Yields to other work for at least this long. */
const pause = (millis: number): Effect.Effect<void> => millis === 0 ? Effect.yieldNow() : Effect.sleep(millis)

/** Follows the feed for the life of the scope. */
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
