/**
 * The tables of the histories and how they are written: all rows of a batch and its place in the journal in one transaction, so
 * that rows and place always agree.
 *
 * Integers in rows are safe integers, as in the engine. Sums that may exceed these are stored as decimal text.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Committed } from "../sequencer/Feed.js"
import * as BoardTables from "./BoardTables.js"
import { type CandleRow, seriesNames } from "./Candles.js"
import { closeReasons, type Episode } from "./Episodes.js"
import type { FillRow } from "./Fills.js"
import * as FillTables from "./FillTables.js"
import * as MoneyTables from "./MoneyTables.js"
import type { OrderChange, OrderRow } from "./Orders.js"
import * as OrderTables from "./OrderTables.js"
import type { ScoreRow } from "./Scores.js"
import * as SecurityTables from "./SecurityTables.js"
import { inOne, put, run, table } from "./Sql.js"
import { bucketOf, timeframes } from "./Timeframes.js"
import * as TransferTables from "./TransferTables.js"

type Block = Committed["block"]

/** The version of the tables below: a database of another one is set aside. */
const schemaVersion = 4

/** Where in the journal the rows come from. */
export interface Place {
  /** The last record applied, 0 for none, and its time. */
  readonly sequence: number
  readonly atEpochMs: number
  /** The digest of its block, hex; empty for none. */
  readonly digest: string
}

/** The database is no longer where this process left it: another process continues it, and this one must not write to it. */
export class Overtaken extends Schema.TaggedError<Overtaken>()("HistoriesOvertaken", {}) {
  override get message() {
    return "another process has written to them"
  }
}

/** The place behind a block. */
export const placeBehind = ({ digest, lastSequence, records }: Block): Place => ({
  sequence: lastSequence,
  atEpochMs: records.at(-1)!.atEpochMs,
  digest: Buffer.from(digest).toString("hex")
})

/** Where the rows begin, if not with the journal's first record: with the state behind a record, before which much was forgotten. */
export interface Beginning {
  /** That record and its time. The record is 0 where only the time is known. */
  readonly sequence: number
  readonly atEpochMs: number
  /** Orders placed at this time or later are all there; 0 where those placed before are too, since none had been forgotten. */
  readonly ordersSinceEpochMs: number
}

/** A place, with the counters that continue from there. */
export interface Begun extends Place {
  /** Undefined where they begin with the first record, and `untold` in a database of a version that did not say so. */
  readonly beginning: Beginning | undefined | "untold"
  /** Episodes and fills that the venue has ever had. */
  readonly born: number
  readonly fills: number
  /** Whether it is still being built from the journal's first record or from a step, and has never been complete. */
  readonly isUnfinished: boolean
}

const nowhere: Begun = { sequence: 0, atEpochMs: 0, digest: "", beginning: undefined, born: 0, fills: 0, isUnfinished: true }

/** The mark in the file until it has been complete once, which may take several processes. */
const unfinished = 1
const marks = (applicationId: number): string => `PRAGMA application_id = ${applicationId}`

/** The rank of an open episode, before all ended ones. */
const openRank = Number.MAX_SAFE_INTEGER

const liquidation = closeReasons.indexOf("liquidation")

/** The conditions for ended episodes by status: open ones have no reason. */
const ended = { closed: `close_reason <> ${liquidation}`, liquidated: `close_reason = ${liquidation}` } as const

/** Indexes of an account's episodes in all markets and in each, of one status or all: a page is a contiguous run in one of them. */
const indexes = (name: string, where: string): ReadonlyArray<string> => [
  `CREATE INDEX episode${name}_of_account ON episode (account, close_rank, opened_at, born)${where}`,
  `CREATE INDEX episode${name}_of_market ON episode (account, market, close_rank, opened_at, born)${where}`
]

/** The columns of a beginning: all 0 where it is the journal's. Databases that earlier versions made have none of them. */
const beginningColumns = ["begins_behind", "begins_at_epoch_ms", "orders_since_epoch_ms"].map((name) =>
  `${name} INTEGER NOT NULL DEFAULT 0`
)

const statements: ReadonlyArray<string> = [
  `CREATE TABLE place (
    id INTEGER PRIMARY KEY CHECK (id = 1), environment TEXT NOT NULL,
    sequence INTEGER NOT NULL, at_epoch_ms INTEGER NOT NULL, digest TEXT NOT NULL, born INTEGER NOT NULL,
    fills INTEGER NOT NULL, ${beginningColumns.join(", ")}
  ) STRICT`,
  `CREATE TABLE candle (
    series INTEGER NOT NULL, market INTEGER NOT NULL, timeframe INTEGER NOT NULL, open_time INTEGER NOT NULL,
    open INTEGER NOT NULL, high INTEGER NOT NULL, low INTEGER NOT NULL, close INTEGER NOT NULL, volume TEXT NOT NULL,
    PRIMARY KEY (series, market, timeframe, open_time)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE scale (
    market INTEGER PRIMARY KEY, price_scale INTEGER NOT NULL, quantity_scale INTEGER NOT NULL
  ) STRICT`,
  `CREATE TABLE episode (
    born INTEGER PRIMARY KEY, account INTEGER NOT NULL, market INTEGER NOT NULL, is_long INTEGER NOT NULL,
    opened_at INTEGER NOT NULL, close_rank INTEGER NOT NULL, closed_at INTEGER, close_reason INTEGER,
    max_quantity INTEGER NOT NULL, quantity INTEGER NOT NULL, held_notional INTEGER NOT NULL,
    entry_quantity TEXT NOT NULL, entry_notional TEXT NOT NULL, exit_quantity TEXT NOT NULL, exit_notional TEXT NOT NULL,
    realized_pnl INTEGER NOT NULL, fees_paid INTEGER NOT NULL, funding_paid INTEGER NOT NULL, last_sequence INTEGER NOT NULL
  ) STRICT`,
  ...indexes("", ""),
  ...indexes("_closed", ` WHERE ${ended.closed}`),
  ...indexes("_liquidated", ` WHERE ${ended.liquidated}`),
  `CREATE INDEX episode_open ON episode (born) WHERE close_rank = ${openRank}`,
  ...BoardTables.statements,
  ...OrderTables.statements,
  ...FillTables.statements,
  ...MoneyTables.statements,
  ...TransferTables.statements,
  ...SecurityTables.statements,
  `PRAGMA user_version = ${schemaVersion}`
]

/** Indexes of earlier versions that are no longer used. */
const formerIndexes = ["orders_by_time", "fill_by_time"]

/** Why a database is not the right one; undefined if it is. */
export type Foreign = "another version's" | "another environment's"

/** Creates the tables of an empty database. Within the transaction it checks whether another process has created them meanwhile. */
const make = (sql: SqlClient.SqlClient, environment: string): Effect.Effect<void, SqlError | Overtaken> =>
  inOne(
    sql,
    Effect.gen(function*() {
      yield* run(sql, marks(unfinished))
      if ((yield* objectCount(sql)) > 0) return yield* new Overtaken()
      yield* Effect.forEach(statements, (statement) => run(sql, statement), { discard: true })
      yield* run(sql, "INSERT INTO place VALUES (1, ?, 0, 0, '', 0, 0, 0, 0, 0)", [environment])
    })
  )

const objectCount = (sql: SqlClient.SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(run<{ readonly count: number }>(sql, "SELECT count(*) AS count FROM sqlite_schema"), ([objects]) => objects?.count ?? 0)

/** The place of the database, or why it is not this venue's; a new one begins at place 0. */
export const begin = (sql: SqlClient.SqlClient, environment: string): Effect.Effect<Begun | Foreign, SqlError | Overtaken> =>
  Effect.gen(function*() {
    // The journal is the truth: what a power failure loses here is read again.
    yield* run(sql, "PRAGMA synchronous = NORMAL")
    // In pages, 16 MiB: a page changed by many batches is written back once, and the disk is left to the journal meanwhile.
    yield* run(sql, "PRAGMA wal_autocheckpoint = 4096")
    // The statement journal in memory: as a file it took more processor time than the rows themselves.
    yield* run(sql, "PRAGMA temp_store = MEMORY")
    const [version] = yield* run<{ readonly user_version: number }>(sql, "PRAGMA user_version")
    if (version?.user_version === 0 && (yield* objectCount(sql)) === 0) {
      yield* make(sql, environment)
      return nowhere
    }
    if (version?.user_version !== schemaVersion) return "another version's"
    const [place] = yield* run<StoredPlace>(sql, "SELECT * FROM place")
    if (place === undefined) return "another version's"
    if (place.environment !== environment) return "another environment's"
    for (const index of formerIndexes) yield* run(sql, `DROP INDEX IF EXISTS ${index}`)
    const { at_epoch_ms: atEpochMs, born, digest, fills, sequence } = place
    const [marked] = yield* run<{ readonly application_id: number }>(sql, "PRAGMA application_id")
    const beginning = beginningOf(place)
    return { sequence, atEpochMs, digest, beginning, born, fills, isUnfinished: marked?.application_id === unfinished }
  })

interface StoredPlace {
  readonly environment: string
  readonly sequence: number
  readonly at_epoch_ms: number
  readonly digest: string
  readonly born: number
  readonly fills: number
  readonly begins_behind?: number
  readonly begins_at_epoch_ms?: number
  readonly orders_since_epoch_ms?: number
}

const beginningOf = (
  { begins_at_epoch_ms: atEpochMs, begins_behind: sequence, orders_since_epoch_ms: ordersSinceEpochMs }: StoredPlace
): Begun["beginning"] => {
  if (sequence === undefined || atEpochMs === undefined || ordersSinceEpochMs === undefined) return "untold"
  return atEpochMs === 0 ? undefined : { sequence, atEpochMs, ordersSinceEpochMs }
}

const setBeginning = (sql: SqlClient.SqlClient, { atEpochMs, ordersSinceEpochMs, sequence }: Beginning): Effect.Effect<unknown, SqlError> =>
  run(sql, "UPDATE place SET begins_behind = ?, begins_at_epoch_ms = ?, orders_since_epoch_ms = ?", [sequence, atEpochMs,
    ordersSinceEpochMs])

/**
 * Says where the rows of a database begin that does not say so itself: with the first record, or in the midst of the journal. Then the
 * time of the first candle shows from when on they are complete, since candles begin with the rows and are made all the time.
 */
export const tellBeginning = (
  sql: SqlClient.SqlClient,
  isWhole: boolean
): Effect.Effect<Beginning | undefined, SqlError | Overtaken> =>
  inOne(
    sql,
    Effect.gen(function*() {
      for (const column of beginningColumns) yield* run(sql, `ALTER TABLE place ADD COLUMN ${column}`)
      if (isWhole) return undefined
      const [first] = yield* run<{ readonly at: number | null }>(sql, "SELECT min(open_time) AS at FROM candle WHERE timeframe = 0")
      const [place] = yield* run<{ readonly at: number }>(sql, "SELECT at_epoch_ms AS at FROM place")
      // The first candle may have begun before the rows did.
      const atEpochMs = first?.at === null || first === undefined ? place?.at ?? 0 : bucketOf("1m", first.at).toEpochMs
      const beginning = { sequence: 0, atEpochMs, ordersSinceEpochMs: atEpochMs }
      yield* setBeginning(sql, beginning)
      return beginning
    })
  )

/** A market's decimals. */
export interface Scale {
  readonly market: number
  readonly priceScale: number
  readonly quantityScale: number
}

/** What has changed since the last batch. */
export interface Batch {
  /** Markets whose prices are in other atoms from now on: their earlier candles are dropped. */
  readonly rescaled: ReadonlyArray<Scale>
  readonly candles: ReadonlyArray<CandleRow>
  readonly episodes: ReadonlyArray<Episode>
  readonly scores: ReadonlyArray<ScoreRow>
  /** Flags of accounts that have changed. */
  readonly flags: ReadonlyArray<readonly [account: number, flags: number]>
  /** Orders placed, and changes of earlier ones. */
  readonly orders: { readonly placed: Iterable<OrderRow>; readonly changed: Iterable<OrderChange> }
  readonly fills: ReadonlyArray<FillRow>
  /** Changes of balances, and payments of funding. */
  readonly money: MoneyTables.MoneyRows
  /** Finished transfers in the order of their reports, and security events. */
  readonly transfers: Iterable<TransferTables.TransferRow>
  readonly notes: Iterable<SecurityTables.NoteRow>
  /** Episodes and fills that the venue has ever had. */
  readonly born: number
  readonly fillCount: number
  /** Of a first batch that does not begin with the journal. */
  readonly beginning?: Beginning
}

const candleColumns = (
  { closeAtoms, highAtoms, lowAtoms, market, openAtoms, openTimeEpochMs, series, timeframe, volumeAtoms }: CandleRow
): ReadonlyArray<string | number> => [
  series,
  market,
  timeframe,
  openTimeEpochMs,
  openAtoms,
  highAtoms,
  lowAtoms,
  closeAtoms,
  String(volumeAtoms)
]

const episodeColumns = (episode: Episode): ReadonlyArray<string | number | null> => [
  episode.born,
  episode.account,
  episode.market,
  episode.isLong ? 1 : 0,
  episode.openedAtEpochMs,
  episode.close?.sequence ?? openRank,
  episode.close?.atEpochMs ?? null,
  episode.close === undefined ? null : closeReasons.indexOf(episode.close.reason),
  episode.maxQuantityAtoms,
  episode.quantityAtoms,
  episode.heldNotionalAtoms,
  String(episode.entryQuantityAtoms),
  String(episode.entryNotionalAtoms),
  String(episode.exitQuantityAtoms),
  String(episode.exitNotionalAtoms),
  episode.realizedPnlAtoms,
  episode.feesPaidAtoms,
  episode.fundingPaidAtoms,
  episode.lastSequence
]

const scaleTable = table("scale", 3, ({ market, priceScale, quantityScale }: Scale) => [market, priceScale, quantityScale])
const candleTable = table("candle", 9, candleColumns)
const episodeTable = table("episode", 19, episodeColumns)

/** The series are named, since they are the first column of the key: without them every candle of all markets would be looked at. */
const dropCandles = `DELETE FROM candle WHERE series IN (${[...seriesNames.keys()].join()}) AND market = ?`

/** Writes candles, and episodes, each in the place of what it was; within the transaction of their batch. */
export const putCandles = (sql: SqlClient.SqlClient, candles: Iterable<CandleRow>): Effect.Effect<void, SqlError> =>
  put(sql, candleTable, candles)
export const putEpisodes = (sql: SqlClient.SqlClient, episodes: Iterable<Episode>): Effect.Effect<void, SqlError> =>
  put(sql, episodeTable, episodes)

/** Updates the place, if it is still the one that this process left. */
const change = (
  sql: SqlClient.SqlClient,
  { digest, sequence }: Place,
  columns: string,
  values: ReadonlyArray<number | string>
): Effect.Effect<void, SqlError | Overtaken> =>
  Effect.flatMap(
    run(sql, `UPDATE place SET ${columns} WHERE id = 1 AND sequence = ? AND digest = ? RETURNING id`, [...values, sequence, digest]),
    (changed) => changed.length === 0 ? Effect.fail(new Overtaken()) : Effect.void
  )

/** Writes the rows of a place; nothing where the database is at another place by now. */
export const writeAt = <E>(
  sql: SqlClient.SqlClient,
  place: Place,
  written: Effect.Effect<void, E>
): Effect.Effect<void, E | SqlError | Overtaken> => inOne(sql, Effect.zipRight(change(sql, place, "id = id", []), written))

/**
 * Writes a batch that continues from a place, and its new place; nothing where the database is at another place by now. The place
 * is written first, so that it cannot change during the transaction. `isFinished`: the database is complete with this batch.
 */
export const write = (
  sql: SqlClient.SqlClient,
  from: Place,
  batch: Batch,
  place: Place,
  isFinished: boolean
): Effect.Effect<void, SqlError | Overtaken> =>
  inOne(
    sql,
    Effect.gen(function*() {
      const { atEpochMs, digest, sequence } = place
      const columns = "sequence = ?, at_epoch_ms = ?, digest = ?, born = ?, fills = ?"
      yield* change(sql, from, columns, [sequence, atEpochMs, digest, batch.born, batch.fillCount])
      if (batch.beginning !== undefined) yield* setBeginning(sql, batch.beginning)
      for (const { market } of batch.rescaled) yield* run(sql, dropCandles, [market])
      yield* put(sql, scaleTable, batch.rescaled)
      yield* putCandles(sql, batch.candles)
      yield* putEpisodes(sql, batch.episodes)
      yield* BoardTables.write(sql, batch.scores, batch.flags)
      yield* OrderTables.write(sql, batch.orders)
      yield* FillTables.write(sql, batch.fills)
      yield* MoneyTables.write(sql, batch.money)
      yield* TransferTables.write(sql, batch.transfers)
      yield* SecurityTables.write(sql, batch.notes)
      if (isFinished) yield* run(sql, marks(0))
    })
  )

interface StoredCandle {
  readonly series: number
  readonly market: number
  readonly timeframe: number
  readonly open_time: number
  readonly open: number
  readonly high: number
  readonly low: number
  readonly close: number
  readonly volume: string
}

const candleOf = (row: StoredCandle): CandleRow => ({
  series: row.series,
  market: row.market,
  timeframe: row.timeframe,
  openTimeEpochMs: row.open_time,
  openAtoms: row.open,
  highAtoms: row.high,
  lowAtoms: row.low,
  closeAtoms: row.close,
  volumeAtoms: BigInt(row.volume)
})

/** The latest candle of every series, market and timeframe: each is looked up, since grouping would go through all candles. */
export const latestCandles = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<CandleRow>, SqlError> =>
  Effect.map(
    run<StoredCandle>(
      sql,
      `WITH kind (series, market, timeframe) AS (
        SELECT series.value, market, timeframe.value FROM json_each(?) AS series CROSS JOIN scale CROSS JOIN json_each(?) AS timeframe
      )
      SELECT candle.* FROM kind CROSS JOIN candle USING (series, market, timeframe) WHERE open_time = (
        SELECT max(open_time) FROM candle AS own
          WHERE own.series = kind.series AND own.market = kind.market AND own.timeframe = kind.timeframe
      )`,
      [seriesNames, timeframes].map((names) => JSON.stringify([...names.keys()]))
    ),
    (found) => found.map(candleOf)
  )

/** Every market's decimals, as they were put last. */
export const scales = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<Scale>, SqlError> =>
  Effect.map(
    run<{ readonly market: number; readonly price_scale: number; readonly quantity_scale: number }>(sql, "SELECT * FROM scale"),
    (found) => found.map((row) => ({ market: row.market, priceScale: row.price_scale, quantityScale: row.quantity_scale }))
  )

/** Selects candles by the indexes of series and timeframe: the first from a time on or, without one, the latest. */
export interface CandlesAsked {
  readonly series: number
  readonly market: number
  readonly timeframe: number
  readonly sinceEpochMs: number | undefined
  readonly limit: number
}

/** Candles, oldest first. */
export const candles = (
  sql: SqlClient.SqlClient,
  { limit, market, series, sinceEpochMs, timeframe }: CandlesAsked
): Effect.Effect<ReadonlyArray<CandleRow>, SqlError> => {
  const which = "SELECT * FROM candle WHERE series = ? AND market = ? AND timeframe = ?"
  const found = sinceEpochMs === undefined
    ? run<StoredCandle>(sql, `${which} ORDER BY open_time DESC LIMIT ?`, [series, market, timeframe, limit])
    : run<StoredCandle>(sql, `${which} AND open_time >= ? ORDER BY open_time LIMIT ?`, [series, market, timeframe, sinceEpochMs, limit])
  return Effect.map(found, (all) => {
    const rows = all.map(candleOf)
    return sinceEpochMs === undefined ? rows.reverse() : rows
  })
}

interface StoredEpisode {
  readonly born: number
  readonly account: number
  readonly market: number
  readonly is_long: number
  readonly opened_at: number
  readonly close_rank: number
  readonly closed_at: number | null
  readonly close_reason: number | null
  readonly max_quantity: number
  readonly quantity: number
  readonly held_notional: number
  readonly entry_quantity: string
  readonly entry_notional: string
  readonly exit_quantity: string
  readonly exit_notional: string
  readonly realized_pnl: number
  readonly fees_paid: number
  readonly funding_paid: number
  readonly last_sequence: number
}

const episodeOf = (row: StoredEpisode): Episode => ({
  born: row.born,
  account: row.account,
  market: row.market,
  isLong: row.is_long === 1,
  openedAtEpochMs: row.opened_at,
  close: row.closed_at === null || row.close_reason === null
    ? undefined
    : { sequence: row.close_rank, atEpochMs: row.closed_at, reason: closeReasons[row.close_reason]! },
  maxQuantityAtoms: row.max_quantity,
  quantityAtoms: row.quantity,
  heldNotionalAtoms: row.held_notional,
  entryQuantityAtoms: BigInt(row.entry_quantity),
  entryNotionalAtoms: BigInt(row.entry_notional),
  exitQuantityAtoms: BigInt(row.exit_quantity),
  exitNotionalAtoms: BigInt(row.exit_notional),
  realizedPnlAtoms: row.realized_pnl,
  feesPaidAtoms: row.fees_paid,
  fundingPaidAtoms: row.funding_paid,
  lastSequence: row.last_sequence
})

/** Every open episode of the venue. */
export const openEpisodes = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<Episode>, SqlError> =>
  Effect.map(run<StoredEpisode>(sql, `SELECT * FROM episode WHERE close_rank = ${openRank}`), (found) => found.map(episodeOf))

/** The statuses by which episodes can be filtered. */
export const episodeStatuses = ["open", "closed", "liquidated"] as const
export type EpisodeStatus = (typeof episodeStatuses)[number]

/** A place in the order of an account's episodes: older ones follow it. */
export interface EpisodePlace {
  /** Undefined of an open one. */
  readonly closeSequence: number | undefined
  readonly openedAtEpochMs: number
  readonly born: number
}

/** Which episodes: those of an account, in one market and of one status if these are given. */
export interface EpisodesAsked {
  readonly account: number
  readonly market: number | undefined
  readonly status: EpisodeStatus | undefined
  readonly after: EpisodePlace | undefined
  readonly limit: number
}

const ofStatus: Readonly<Record<EpisodeStatus, string>> = {
  open: `AND close_rank = ${openRank}`,
  closed: `AND ${ended.closed}`,
  liquidated: `AND ${ended.liquidated}`
}

/** Episodes: open ones first, latest opened first; then latest ended first, those of one record by latest opening. */
export const episodes = (
  sql: SqlClient.SqlClient,
  { account, after, limit, market, status }: EpisodesAsked
): Effect.Effect<ReadonlyArray<Episode>, SqlError> => {
  const place = after === undefined ? [] : [after.closeSequence ?? openRank, after.openedAtEpochMs, after.born]
  // The index is named, since the planner cannot guess which one is the shortest.
  const index = `episode${status === undefined || status === "open" ? "" : `_${status}`}_of_${market === undefined ? "account" : "market"}`
  return Effect.map(
    run<StoredEpisode>(
      sql,
      `SELECT * FROM episode INDEXED BY ${index} WHERE account = ? ${market === undefined ? "" : "AND market = ?"}
        ${status === undefined ? "" : ofStatus[status]} ${after === undefined ? "" : "AND (close_rank, opened_at, born) < (?, ?, ?)"}
        ORDER BY close_rank DESC, opened_at DESC, born DESC LIMIT ?`,
      [account, ...(market === undefined ? [] : [market]), ...place, limit]
    ),
    (found) => found.map(episodeOf)
  )
}
