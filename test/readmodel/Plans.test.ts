/**
 * How the histories' database looks up what a statement asks for. Of a table that grows with the journal a read may look at the rows that it
 * answers with, and at no others: the histories have one thread, and whatever a read goes through delays everybody's.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import { Effect, Option, Stream } from "effect"
import { expect, test } from "vitest"
import type { Question } from "../../src/readings/HistoriesProtocol.js"
import * as Histories from "../../src/readmodel/Histories.js"
import { openAt } from "../../src/readmodel/HistoriesDatabase.js"
import { nothingKept, Projection } from "../../src/readmodel/Projection.js"
import * as Tables from "../../src/readmodel/Tables.js"
import { windowKinds } from "../../src/readmodel/Windows.js"

type Statement = readonly [text: string, parameters: ReadonlyArray<unknown>]

/** A database whose statements are noted. */
const noting = (sql: SqlClient.SqlClient, noted: Array<Statement>): SqlClient.SqlClient =>
  new Proxy(sql, {
    get: (target, member) =>
      member === "unsafe"
        ? (text: string, parameters: ReadonlyArray<unknown>) => {
          noted.push([text, parameters])
          return target.unsafe(text, parameters)
        }
        : Reflect.get(target, member)
  })

/** What SQLite looks at for the noted statements, each of which is then forgotten. Rows are put in without looking at any. */
const looks = (sql: SqlClient.SqlClient, noted: Array<Statement>) =>
  Effect.suspend(() => {
    const distinct = new Map(noted.splice(0).filter(([text]) => /^(SELECT|WITH|UPDATE|DELETE) /.test(text)))
    const plans = Effect.forEach(distinct,
      ([text, parameters]) => sql.unsafe<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${text}`, parameters))
    return Effect.map(plans, (all) => all.flat().map(({ detail }) => detail).filter((detail) => /^(SCAN|SEARCH|USE TEMP) /.test(detail)))
  })

type Venue = Histories.Histories["Type"]

const account = 1
const market = 2
const limit = 50
const before = Number.POSITIVE_INFINITY
const orders = { account, limit, market: undefined, status: undefined }
const place = { sequence: 7, place: 1 }
const candles = { series: "trade", market, timeframe: "1m", limit } as const

/** The first row of a table since a time, by bisection. */
const bisected = (table: string): ReadonlyArray<string> => {
  const [first, last] = [`SEARCH ${table} USING INTEGER PRIMARY KEY (rowid>?)`, `SEARCH ${table}`]
  return [first, "SCAN CONSTANT ROW", last, last, "SCAN part", first, first, "SCAN part"]
}

/** An account's first order, and its orders in an index: those that are looked at, and where a status is given, the last of them first. */
const ofOrders = (index: string, within: string, ...more: ReadonlyArray<string>): ReadonlyArray<string> => [
  "SEARCH orders USING COVERING INDEX orders_of_account (account=?)",
  ...(more.length === 0 ? [] : [`SEARCH orders USING COVERING INDEX ${index} (${within})`]),
  `SEARCH orders USING INDEX ${index} (${more[0] ?? within})`
]

/** The fills that were found in another table. */
const joined = ["SCAN own", "SEARCH fill USING INTEGER PRIMARY KEY (rowid=?)", "USE TEMP B-TREE FOR ORDER BY"]

const inMarket = "account=? AND market=?"

/** An account's episodes of a status, all and behind one, of all markets and of one; `rank`: what they are also looked up by. */
const ofEpisodes = (status: Tables.EpisodeStatus | undefined, index: string, rank: string): ReadonlyArray<Plan> =>
  [undefined, market].flatMap((market) =>
    [undefined, { closeSequence: 7, openedAtEpochMs: 8, born: 9 }].map((after): Plan => {
      const which = rank === "" && after !== undefined ? " AND (close_rank,opened_at)<(?,?)" : rank
      const from = market === undefined ? `${index}_of_account (account=?${which})` : `${index}_of_market (${inMarket}${which})`
      return [(venue) => venue.episodes({ account, market, status, after, limit }), [`SEARCH episode USING INDEX ${from}`]]
    })
  )

/** What is asked, and what is looked at for it. */
type Plan = readonly [asked: (venue: Venue) => Effect.Effect<unknown, unknown>, looks: ReadonlyArray<string>]

/** Every read of the histories, in each of its forms. */
const reads: { readonly [Asked in Question]: ReadonlyArray<Plan> } = {
  candles: [
    [(venue) => venue.candles({ ...candles, sinceEpochMs: undefined }), [
      "SEARCH candle USING PRIMARY KEY (series=? AND market=? AND timeframe=?)"
    ]],
    [(venue) => venue.candles({ ...candles, sinceEpochMs: 5 }), [
      "SEARCH candle USING PRIMARY KEY (series=? AND market=? AND timeframe=? AND open_time>?)"
    ]]
  ],
  episodes: [
    ...ofEpisodes(undefined, "episode", ""),
    ...ofEpisodes("open", "episode", " AND close_rank=?"),
    ...ofEpisodes("closed", "episode_closed", ""),
    ...ofEpisodes("liquidated", "episode_liquidated", "")
  ],
  board: [
    [(venue) => venue.board({ window: "daily", version: undefined, behindRank: 0, limit }), [
      "SEARCH board USING PRIMARY KEY (window=?)",
      "SEARCH board_entry USING PRIMARY KEY (window=? AND version=? AND rank>?)"
    ]],
    [(venue) => venue.board({ window: "daily", version: 5, behindRank: 0, limit }), [
      "SEARCH board USING PRIMARY KEY (window=? AND version=?)"
    ]]
  ],
  order: [[(venue) => venue.order(account, 5), ["SEARCH orders USING INTEGER PRIMARY KEY (rowid=?)"]]],
  clientOrder: [[(venue) => venue.clientOrder(account, "mine"), [
    "SEARCH orders USING INDEX orders_by_client (account=? AND client_order_id=?)"
  ]]],
  ordersBefore: [
    [(venue) => venue.ordersBefore({ ...orders, from: 9e9 }), ofOrders("orders_of_account", "account=? AND number<?")],
    [(venue) => venue.ordersBefore({ ...orders, from: 9e9, market }), ofOrders("orders_of_market", `${inMarket} AND number<?`)],
    [(venue) => venue.ordersBefore({ ...orders, from: 9e9, status: 1 }),
      ofOrders("orders_of_account", "account=? AND number<?", "account=? AND number>? AND number<?")],
    [(venue) => venue.ordersBefore({ ...orders, from: 9e9, market, status: 1 }),
      ofOrders("orders_of_market", `${inMarket} AND number<?`, `${inMarket} AND number>? AND number<?`)]
  ],
  ordersBehind: [
    [(venue) => venue.ordersBehind({ ...orders, from: 0 }), ofOrders("orders_of_account", "account=? AND number>?")],
    [(venue) => venue.ordersBehind({ ...orders, from: 0, market }), ofOrders("orders_of_market", `${inMarket} AND number>?`)],
    [(venue) => venue.ordersBehind({ ...orders, from: 0, status: 1 }),
      ofOrders("orders_of_account", "account=? AND number>?", "account=? AND number>? AND number<?")],
    [(venue) => venue.ordersBehind({ ...orders, from: 0, market, status: 1 }),
      ofOrders("orders_of_market", `${inMarket} AND number>?`, `${inMarket} AND number>? AND number<?`)]
  ],
  firstOrderSince: [[(venue) => venue.firstOrderSince(5), bisected("orders")]],
  fillsBefore: [
    [(venue) => venue.fillsBefore({ account: undefined, market, before, limit }), [
      "SEARCH fill USING INDEX fill_of_market (market=? AND ordinal<?)"
    ]],
    [(venue) => venue.fillsBefore({ account, market: undefined, before, limit }), [
      "SEARCH own_fill USING PRIMARY KEY (account=? AND ordinal<?)",
      ...joined
    ]],
    [(venue) => venue.fillsBefore({ account, market, before, limit }), [
      "SEARCH own_fill USING COVERING INDEX own_fill_of_market (account=? AND market=? AND ordinal<?)",
      ...joined
    ]]
  ],
  fillsSince: [
    [(venue) => venue.fillsSince({ account: undefined, market, sinceEpochMs: 0, limit }), [
      ...bisected("fill"),
      "SEARCH fill USING INDEX fill_of_market (market=? AND ordinal>?)"
    ]],
    [(venue) => venue.fillsSince({ account, market: undefined, sinceEpochMs: 0, limit }), [
      ...bisected("fill"),
      "SEARCH own_fill USING PRIMARY KEY (account=? AND ordinal>?)",
      ...joined
    ]],
    [(venue) => venue.fillsSince({ account, market, sinceEpochMs: 0, limit }), [
      ...bisected("fill"),
      "SEARCH own_fill USING COVERING INDEX own_fill_of_market (account=? AND market=? AND ordinal>?)",
      ...joined
    ]]
  ],
  changesBefore: [
    [(venue) => venue.changesBefore({ account, market: undefined, before: undefined, limit }), [
      "SEARCH balance_change USING PRIMARY KEY (account=?)"
    ]],
    [(venue) => venue.changesBefore({ account, market: undefined, before: place, limit }), [
      "SEARCH balance_change USING PRIMARY KEY (account=? AND sequence<?)"
    ]],
    [(venue) => venue.changesBefore({ account, market, before: undefined, limit }), [
      "SEARCH balance_change USING INDEX balance_change_of_market (account=? AND market=?)"
    ]],
    [(venue) => venue.changesBefore({ account, market, before: place, limit }), [
      "SEARCH balance_change USING INDEX balance_change_of_market (account=? AND market=? AND sequence<?)"
    ]]
  ],
  paymentsBefore: [
    [(venue) => venue.paymentsBefore({ account, before: undefined, limit }), ["SEARCH funding_payment USING PRIMARY KEY (account=?)"]],
    [(venue) => venue.paymentsBefore({ account, before: place, limit }), [
      "SEARCH funding_payment USING PRIMARY KEY (account=? AND sequence<?)"
    ]]
  ],
  transfersBefore: [[(venue) => venue.transfersBefore({ account, kind: "deposit", before, limit }), [
    "SEARCH transfer USING PRIMARY KEY (account=? AND kind=? AND number<?)"
  ]]],
  notesBefore: [[(venue) => venue.notesBefore({ account, before, limit }), [
    "SEARCH security_event USING PRIMARY KEY (account=? AND ordinal<?)"
  ]]]
}

/** A fill, and more orders than are looked at for one part of a list. */
const someRows = [
  "INSERT INTO fill VALUES (0, 1, 1, 2, 1, 1, 1, 2, 1, 3, 0, 0, 0)",
  `WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 12000)
    INSERT INTO orders SELECT i, ${account}, ${market}, 0, 0, 0, 0, 0, 0, '', '', i, 1, 1, 0, 1, 0, 0, 0, i, i FROM c`
]

/** Histories that have made their first boards and stand still, and a function that says what was looked at since it was last asked. */
const stillHistories = Effect.gen(function*() {
  const noted: Array<Statement> = []
  const sql = yield* openAt(":memory:")
  yield* Tables.begin(sql, "development")
  for (const text of someRows) yield* sql.unsafe(text)
  const database = { name: "", open: Effect.succeed(noting(sql, noted)), setAside: Effect.void, discard: Effect.void }
  const venue = yield* Histories.make({
    database,
    feed: { from: () => Stream.never },
    durableSequence: () => 0,
    environment: "development"
  } as never, { ...Histories.defaultOptions, pauseMs: 1 })
  const board = venue.board({ window: windowKinds.at(-1)!, version: undefined, behindRank: 0, limit })
  while (Option.getOrUndefined(yield* Effect.option(board))?.found === undefined) yield* Effect.sleep(1)
  return { venue, looks: looks(sql, noted) }
})

test.each(Object.entries(reads))("%s looks at nothing but what it answers with", (_, plans) =>
  Effect.gen(function*() {
    const { looks, venue } = yield* stillHistories
    yield* looks
    for (const [asked, expected] of plans) {
      yield* asked(venue)
      expect(yield* looks).toEqual(expected)
    }
  }).pipe(Effect.scoped, Effect.runPromise))

test("at their start and for a leaderboard they go through nothing that grows with the journal", () =>
  Effect.gen(function*() {
    const { looks } = yield* stillHistories
    const scans = (yield* looks).filter((detail) => !detail.startsWith("SEARCH "))
    expect([...new Set(scans)].sort()).toEqual([
      // Open positions.
      "SCAN episode USING INDEX episode_open",
      // A row for each account that has flags.
      "SCAN flag",
      "SCAN place",
      // A row for each market.
      "SCAN scale",
      // Four rows for each account.
      "SCAN score",
      "SCAN series VIRTUAL TABLE INDEX 1:",
      "SCAN timeframe VIRTUAL TABLE INDEX 1:"
    ])
  }).pipe(Effect.scoped, Effect.runPromise))

test("to write a batch they look at the rows that it changes, and for a new market at no other's candles", () =>
  Effect.gen(function*() {
    const noted: Array<Statement> = []
    const sql = yield* openAt(":memory:")
    const begun = yield* Tables.begin(sql, "development")
    if (typeof begun === "string") return yield* Effect.die(begun)
    const change = { orderNumber: 1, filledNotionalAtoms: 0, priceAtoms: undefined, quantityAtoms: undefined, ended: undefined }
    const batch = {
      ...new Projection(nothingKept).take(),
      rescaled: [{ market, priceScale: 1, quantityScale: 1 }],
      orders: { placed: [], changed: [change] }
    }
    yield* Tables.write(noting(sql, noted), begun, batch, { sequence: 1, atEpochMs: 1, digest: "aa" }, true)
    expect(yield* looks(sql, noted)).toEqual([
      "SEARCH place USING INTEGER PRIMARY KEY (rowid=?)",
      "SEARCH candle USING PRIMARY KEY (series=? AND market=?)",
      "SCAN change VIRTUAL TABLE INDEX 1:",
      "SEARCH orders USING INTEGER PRIMARY KEY (rowid=?)"
    ])
  }).pipe(Effect.scoped, Effect.runPromise))
