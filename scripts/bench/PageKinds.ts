/** The histories that are read in pages, as the benchmark of pages fills and reads them. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.js"
import * as FillTables from "../../src/readmodel/FillTables.js"
import type { CandleRow } from "../../src/readmodel/Candles.js"
import type { Episode } from "../../src/readmodel/Episodes.js"
import type { FillRow } from "../../src/readmodel/Fills.js"
import type { ChangeRow, PaymentRow } from "../../src/readmodel/Money.js"
import * as MoneyTables from "../../src/readmodel/MoneyTables.js"
import type { OrderRow } from "../../src/readmodel/Orders.js"
import * as OrderTables from "../../src/readmodel/OrderTables.js"
import * as SecurityTables from "../../src/readmodel/SecurityTables.js"
import * as Tables from "../../src/readmodel/Tables.js"
import * as TransferTables from "../../src/readmodel/TransferTables.js"

export const accounts = 4
const markets = 2
const limit = 50
const startEpochMs = 1_700_000_000_000
const perRecord = Ids.ordinal(1, 0)

/** The start of a read: the index of one of the account's rows. */
interface Place {
  readonly account: number
  readonly index: number
}

export interface Read {
  /** Returns how many rows the read finds. */
  readonly effect: (sql: SqlClient.SqlClient, place: Place) => Effect.Effect<number, SqlError>
  readonly wanted: number
}

/** A kind of row, one for each record, with the accounts alternating. */
export interface Kind {
  readonly name: string
  /** Writes the first rows. */
  readonly write: (sql: SqlClient.SqlClient, rows: number) => Effect.Effect<void, SqlError>
  /**
   * For each table the columns that differ in a row `:by` positions later, with their expressions; and, under `place of a row`, the
   * expression for a row's position.
   */
  readonly tables: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly reads: Readonly<Record<string, Read>>
}

const range = <Row>(rows: number, rowOf: (index: number) => Row): ReadonlyArray<Row> =>
  Array.from({ length: rows }, (_, index) => rowOf(index))

const marketOf = (account: number): number => account < accounts / 2 ? 0 : 1

const page = (rows: (sql: SqlClient.SqlClient, place: Place) => Effect.Effect<ReadonlyArray<unknown>, SqlError>): Read => ({
  effect: (sql, place) => Effect.map(rows(sql, place), ({ length }) => length),
  wanted: limit
})

/** A page that finds nothing, however many rows exist among which it must not search. */
const empty = (rows: Parameters<typeof page>[0]): Read => ({ ...page(rows), wanted: 0 })

const single = <A>(row: (sql: SqlClient.SqlClient, place: Place) => Effect.Effect<A | undefined, SqlError>): Read => ({
  effect: (sql, place) => Effect.map(row(sql, place), (found) => found === undefined ? 0 : 1),
  wanted: 1
})

const moved = (column: string, times = 1): string => `${column} + :by${times === 1 ? "" : ` * ${times}`}`

// ---- orders

const clientOrderId = (index: number): string => `bench-${Ids.ordinal(index, 0)}`

const orderOf = (index: number): OrderRow => ({
  orderNumber: Ids.ordinal(index, 0),
  account: index % accounts,
  market: Math.floor(index / accounts) % markets,
  side: 0,
  type: 0,
  timeInForce: 0,
  postOnly: false,
  reduceOnly: false,
  selfTradePrevention: 0,
  clientOrderId: clientOrderId(index),
  idempotencyKey: `0b5e1c1e-7a37-4c5e-9f3a-${index.toString(16).padStart(12, "0")}`,
  createdAtEpochMs: startEpochMs + index,
  priceAtoms: 600_000 + index % 100,
  quantityAtoms: 1_000,
  filledNotionalAtoms: 0,
  status: 2,
  cancelReason: 1,
  filledAtoms: 0,
  canceledAtoms: 1_000,
  updatedAtEpochMs: startEpochMs + 100 + index,
  lastSequence: index + 1
})

const ordersOf = (asked: Omit<OrderTables.OrdersAsked, "account" | "from" | "limit">, from: (place: Place) => number): Read =>
  page((sql, place) =>
    Effect.map(
      OrderTables.ordersBefore(sql, { account: place.account, from: from(place), limit, ...asked }),
      ({ orders }) => orders
    )
  )

const all = { market: undefined, status: undefined } as const
const numberAt = ({ index }: Place): number => Ids.ordinal(index, 0)
const newest = (): number => Number.MAX_SAFE_INTEGER

const orders: Kind = {
  name: "orders",
  write: (sql, rows) => OrderTables.write(sql, { placed: range(rows, orderOf), changed: [] }),
  tables: {
    orders: {
      "place of a row": `number / ${perRecord}`,
      number: moved("number", perRecord),
      client_order_id: `'bench-' || (${moved("number", perRecord)})`,
      created_at: moved("created_at"),
      updated_at: moved("updated_at"),
      last_sequence: moved("last_sequence")
    }
  },
  reads: {
    first: ordersOf(all, newest),
    middle: ordersOf(all, numberAt),
    market: ordersOf({ market: 1, status: undefined }, numberAt),
    status: ordersOf({ market: undefined, status: 2 }, numberAt),
    since: page((sql, { account, index }) =>
      Effect.flatMap(OrderTables.firstSince(sql, startEpochMs + index), (first) =>
        Effect.map(OrderTables.ordersBehind(sql, { account, from: first ?? 0, limit, ...all }), (part) => part.orders))
    ),
    "by-id": single((sql, place) => OrderTables.order(sql, place.account, numberAt(place))),
    "by-client-id": single((sql, { account, index }) => OrderTables.clientOrder(sql, account, clientOrderId(index)))
  }
}

// ---- fills and trades

const fillOf = (index: number): FillRow => ({
  ordinal: index,
  sequence: index + 1,
  atEpochMs: startEpochMs + index,
  market: Math.floor(index / accounts) % markets,
  priceAtoms: 600_000 + index % 100,
  sizeAtoms: 10,
  makerOrder: Ids.ordinal(index, 0),
  takerOrder: Ids.ordinal(index + 1, 0),
  makerAccount: index % accounts,
  takerAccount: (index + 1) % accounts,
  takerSide: 1,
  makerFeeAtoms: 2,
  takerFeeAtoms: 5
})

const fills: Kind = {
  name: "fills",
  write: (sql, rows) => FillTables.write(sql, range(rows, fillOf)),
  tables: {
    fill: {
      "place of a row": "ordinal",
      ordinal: moved("ordinal"),
      sequence: moved("sequence"),
      at_epoch_ms: moved("at_epoch_ms"),
      maker_order: moved("maker_order", perRecord),
      taker_order: moved("taker_order", perRecord)
    },
    own_fill: { "place of a row": "ordinal", ordinal: moved("ordinal") }
  },
  reads: {
    first: page((sql, { account }) => FillTables.fillsBefore(sql, { account, market: undefined, before: Infinity, limit })),
    middle: page((sql, { account, index }) => FillTables.fillsBefore(sql, { account, market: undefined, before: index, limit })),
    market: page((sql, { account, index }) => FillTables.fillsBefore(sql, { account, market: 1, before: index, limit })),
    since: page((sql, { account, index }) =>
      FillTables.fillsSince(sql, { account, market: undefined, sinceEpochMs: startEpochMs + index, limit })
    ),
    "trades-first": page((sql) => FillTables.fillsBefore(sql, { account: undefined, market: 0, before: Infinity, limit })),
    "trades-middle": page((sql, { index }) => FillTables.fillsBefore(sql, { account: undefined, market: 0, before: index, limit })),
    "trades-since": page((sql, { index }) =>
      FillTables.fillsSince(sql, { account: undefined, market: 1, sinceEpochMs: startEpochMs + index, limit })
    )
  }
}

// ---- money

const changeOf = (index: number): ChangeRow => ({
  sequence: index,
  place: 0,
  atEpochMs: startEpochMs + index,
  account: index % accounts,
  cause: 3,
  market: Math.floor(index / accounts) % markets,
  amountAtoms: -5,
  balanceAtoms: 1_000_000_000 - index
})

const behind = ({ index }: Place): { readonly sequence: number; readonly place: number } => ({ sequence: index, place: 0 })

const ledger: Kind = {
  name: "ledger",
  write: (sql, rows) => MoneyTables.write(sql, { changes: range(rows, changeOf), payments: [] }),
  tables: {
    balance_change: { "place of a row": "sequence", sequence: moved("sequence"), at_epoch_ms: moved("at_epoch_ms") }
  },
  reads: {
    first: page((sql, { account }) => MoneyTables.changesBefore(sql, { account, market: undefined, before: undefined, limit })),
    middle: page((sql, place) =>
      MoneyTables.changesBefore(sql, { account: place.account, market: undefined, before: behind(place), limit })
    ),
    market: page((sql, place) => MoneyTables.changesBefore(sql, { account: place.account, market: 1, before: behind(place), limit }))
  }
}

const paymentOf = (index: number): PaymentRow => ({
  sequence: index,
  place: 0,
  atEpochMs: startEpochMs + index,
  account: index % accounts,
  market: Math.floor(index / accounts) % markets,
  endedAtEpochMs: startEpochMs + index,
  quantityAtoms: 10,
  indexPriceAtoms: 600_000,
  rate8hE9: 1_000,
  intervalMs: 3_600_000,
  paidAtoms: 3
})

const funding: Kind = {
  name: "funding",
  write: (sql, rows) => MoneyTables.write(sql, { changes: [], payments: range(rows, paymentOf) }),
  tables: {
    funding_payment: {
      "place of a row": "sequence",
      sequence: moved("sequence"),
      at_epoch_ms: moved("at_epoch_ms"),
      ended_at: moved("ended_at")
    }
  },
  reads: {
    first: page((sql, { account }) => MoneyTables.paymentsBefore(sql, { account, before: undefined, limit })),
    middle: page((sql, place) => MoneyTables.paymentsBefore(sql, { account: place.account, before: behind(place), limit }))
  }
}

// ---- episodes

/**
 * One account's positions were all liquidated in one market and all closed in the other, so that a page of any other combination is empty.
 */
const episodeOf = (index: number): Episode => {
  const market = Math.floor(index / accounts) % markets
  return {
    born: index,
    account: index % accounts,
    market,
    isLong: true,
    openedAtEpochMs: startEpochMs + index,
    close: { sequence: index + 1, atEpochMs: startEpochMs + index, reason: market === 0 ? "liquidation" : "user_close" },
    maxQuantityAtoms: 10,
    quantityAtoms: 0,
    heldNotionalAtoms: 0,
    entryQuantityAtoms: 10n,
    entryNotionalAtoms: 6_000_000n,
    exitQuantityAtoms: 10n,
    exitNotionalAtoms: 6_000_000n,
    realizedPnlAtoms: 0,
    feesPaidAtoms: 7,
    fundingPaidAtoms: 1,
    lastSequence: index + 1
  }
}

const episodesOf = (
  market: number | undefined,
  status: Tables.EpisodeStatus | undefined,
  { account, index }: Place
): Tables.EpisodesAsked => ({
  account,
  market,
  status,
  after: { closeSequence: index + 1, openedAtEpochMs: startEpochMs + index, born: index },
  limit
})

const episodes: Kind = {
  name: "episodes",
  write: (sql, rows) => Tables.putEpisodes(sql, range(rows, episodeOf)),
  tables: {
    episode: {
      "place of a row": "born",
      born: moved("born"),
      opened_at: moved("opened_at"),
      close_rank: moved("close_rank"),
      closed_at: moved("closed_at"),
      last_sequence: moved("last_sequence")
    }
  },
  reads: {
    first: page((sql, place) => Tables.episodes(sql, { ...episodesOf(undefined, undefined, place), after: undefined })),
    middle: page((sql, place) => Tables.episodes(sql, episodesOf(undefined, undefined, place))),
    market: page((sql, place) => Tables.episodes(sql, episodesOf(1, undefined, place))),
    closed: page((sql, place) => Tables.episodes(sql, episodesOf(undefined, "closed", place))),
    liquidated: page((sql, place) => Tables.episodes(sql, episodesOf(undefined, "liquidated", place))),
    "liquidated-in-market": page((sql, place) => Tables.episodes(sql, episodesOf(0, "liquidated", place))),
    "none-closed-in-market": empty((sql, place) => Tables.episodes(sql, episodesOf(0, "closed", place))),
    "none-open": empty((sql, place) => Tables.episodes(sql, { ...episodesOf(undefined, "open", place), after: undefined }))
  }
}

// ---- candles

const minuteMs = 60_000

const candleOf = (index: number): CandleRow => ({
  series: 0,
  market: marketOf(index % accounts),
  timeframe: 0,
  openTimeEpochMs: index * minuteMs,
  openAtoms: 600_000,
  highAtoms: 600_100,
  lowAtoms: 599_900,
  closeAtoms: 600_000,
  volumeAtoms: 1_000n
})

const candles: Kind = {
  name: "candles",
  write: (sql, rows) => Tables.putCandles(sql, range(rows, candleOf)),
  tables: { candle: { "place of a row": `open_time / ${minuteMs}`, open_time: moved("open_time", minuteMs) } },
  reads: {
    latest: page((sql, { account }) =>
      Tables.candles(sql, { series: 0, market: marketOf(account), timeframe: 0, sinceEpochMs: undefined, limit })
    ),
    since: page((sql, { account, index }) =>
      Tables.candles(sql, { series: 0, market: marketOf(account), timeframe: 0, sinceEpochMs: index * minuteMs, limit })
    )
  }
}

// ---- transfers and security

const transferOf = (index: number): TransferTables.TransferRow => ({
  number: Ids.ordinal(index, 0),
  kind: "deposit",
  account: index % accounts,
  amountAtoms: 1_000_000,
  partyId: `account-${index % accounts}::1220${"ab".repeat(32)}`,
  steps: ["treasury_offer", "owner_offer_acceptance"],
  status: "ledger_confirmed",
  failedAt: null,
  ledgerOutcome: { step: "owner_offer_acceptance", outcome: "completion_accepted", guard: "" },
  requestedAtEpochMs: startEpochMs + index,
  updatedAtEpochMs: startEpochMs + index,
  lastSequence: index + 1
})

const transfersOf = ({ account }: Place, before: number, most: number): TransferTables.TransfersAsked => ({
  account,
  kind: "deposit",
  before,
  limit: most
})

const transfers: Kind = {
  name: "transfers",
  write: (sql, rows) => TransferTables.write(sql, range(rows, transferOf)),
  tables: {
    transfer: {
      "place of a row": `number / ${perRecord}`,
      number: moved("number", perRecord),
      requested_at: moved("requested_at"),
      updated_at: moved("updated_at"),
      last_sequence: moved("last_sequence")
    }
  },
  reads: {
    first: page((sql, place) => TransferTables.transfersBefore(sql, transfersOf(place, Infinity, limit))),
    middle: page((sql, place) => TransferTables.transfersBefore(sql, transfersOf(place, numberAt(place), limit))),
    "by-id": single((sql, place) =>
      Effect.map(TransferTables.transfersBefore(sql, transfersOf(place, numberAt(place) + 1, 1)), ([found]) => found)
    )
  }
}

const noteOf = (index: number): SecurityTables.NoteRow => ({
  ordinal: Math.floor(index / accounts),
  account: index % accounts,
  kind: "ledger_step_approved",
  sequence: index,
  atEpochMs: startEpochMs + index,
  credentialId: "c".repeat(43),
  remoteAddress: "203.0.113.7",
  detail: "wdr_1abcdef treasury_withdrawal"
})

const security: Kind = {
  name: "security",
  write: (sql, rows) => SecurityTables.write(sql, range(rows, noteOf)),
  tables: {
    security_event: {
      "place of a row": "sequence",
      ordinal: `ordinal + :by / ${accounts}`,
      sequence: moved("sequence"),
      at_epoch_ms: moved("at_epoch_ms")
    }
  },
  reads: {
    first: page((sql, { account }) => SecurityTables.notesBefore(sql, { account, before: Infinity, limit })),
    middle: page((sql, { account, index }) => SecurityTables.notesBefore(sql, { account, before: Math.floor(index / accounts), limit }))
  }
}

export const kinds: ReadonlyArray<Kind> = [orders, fills, ledger, funding, episodes, candles, transfers, security]
