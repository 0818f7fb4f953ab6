/**
 * How long pages of histories take: the first one of an account, one in the middle of its past, and an order by its id, in a database
 * of 10,000 rows of each kind and in one of 1,000,000 (`BENCH_PAGES_ROWS` says another many). Both are files of a hundred accounts,
 * read in turn, from the system's memory: what a disk that is slow adds is not in it. Less is flatter.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.js"
import { assert } from "../../src/domain/Assert.js"
import * as FillTables from "../../src/readmodel/FillTables.js"
import type { FillRow } from "../../src/readmodel/Fills.js"
import { openAt } from "../../src/readmodel/HistoriesDatabase.js"
import type { ChangeRow } from "../../src/readmodel/Money.js"
import * as MoneyTables from "../../src/readmodel/MoneyTables.js"
import type { OrderRow } from "../../src/readmodel/Orders.js"
import * as OrderTables from "../../src/readmodel/OrderTables.js"
import { inOne } from "../../src/readmodel/Sql.js"
import * as Tables from "../../src/readmodel/Tables.js"
import { type Options, type Result, result, type Section } from "./Section.js"

const few = 10_000
const many = Number(process.env["BENCH_PAGES_ROWS"] ?? 1_000_000)
const accounts = 100
const markets = 4
const pageRows = 50
/** Reads of a kind that one run times in each database, and of them in a row: what else the machine does then befalls both. */
const readsPerRun = 1_000
const readsInARow = 20
const rowsAtOnce = 20_000

/** Rows of one record each, in the order of the records, the accounts in turn. */
const orderOf = (index: number): OrderRow => ({
  orderNumber: Ids.ordinal(index + 1, 0),
  account: index % accounts,
  market: index % markets,
  side: 0,
  type: 0,
  timeInForce: 0,
  postOnly: false,
  reduceOnly: false,
  selfTradePrevention: 0,
  clientOrderId: `bench-${index.toString(36)}`,
  idempotencyKey: `0b5e1c1e-7a37-4c5e-9f3a-${index.toString(16).padStart(12, "0")}`,
  createdAtEpochMs: 1_700_000_000_000 + index,
  priceAtoms: 600_000 + index % 100,
  quantityAtoms: 1_000,
  filledNotionalAtoms: 0,
  status: 2,
  cancelReason: 1,
  filledAtoms: 0,
  canceledAtoms: 1_000,
  updatedAtEpochMs: 1_700_000_000_100 + index,
  lastSequence: index + 2
})

const fillOf = (index: number): FillRow => ({
  ordinal: index,
  sequence: index + 1,
  atEpochMs: 1_700_000_000_000 + index,
  market: index % markets,
  priceAtoms: 600_000 + index % 100,
  sizeAtoms: 10,
  makerOrder: Ids.ordinal(index + 1, 0),
  takerOrder: Ids.ordinal(index + 2, 0),
  makerAccount: index % accounts,
  takerAccount: (index + 7) % accounts,
  takerSide: 1,
  makerFeeAtoms: 2,
  takerFeeAtoms: 5
})

const changeOf = (index: number): ChangeRow => ({
  sequence: index + 1,
  place: 0,
  atEpochMs: 1_700_000_000_000 + index,
  account: index % accounts,
  cause: 3,
  market: index % markets,
  amountAtoms: -5,
  balanceAtoms: 1_000_000_000 - index
})

const range = <Row>(from: number, to: number, rowOf: (index: number) => Row): ReadonlyArray<Row> =>
  Array.from({ length: to - from }, (_, index) => rowOf(from + index))

/** Fills a database with so many rows of each kind. */
const filled = (sql: SqlClient.SqlClient, rows: number): Effect.Effect<void, SqlError> =>
  Effect.gen(function*() {
    yield* Tables.begin(sql, "development")
    for (let from = 0; from < rows; from += rowsAtOnce) {
      const to = Math.min(rows, from + rowsAtOnce)
      yield* inOne(
        sql,
        Effect.all([
          OrderTables.write(sql, { placed: range(from, to, orderOf), changed: [] }),
          FillTables.write(sql, range(from, to, fillOf)),
          MoneyTables.write(sql, { changes: range(from, to, changeOf), payments: [] })
        ])
      )
    }
  })

/** A database, how many rows of each kind it has, and what its reads took, microseconds. */
interface Side {
  readonly sql: SqlClient.SqlClient
  readonly rows: number
  readonly tookUs: Map<string, Array<number>>
}

type Read = (side: Side, account: number) => Effect.Effect<number, SqlError>

/** The index of a row of an account in the middle of what there is. */
const middle = ({ rows }: Side, account: number): number => rows / 2 - (rows / 2) % accounts + account

const lengthOf = <E>(read: Effect.Effect<ReadonlyArray<unknown>, E>): Effect.Effect<number, E> => Effect.map(read, ({ length }) => length)

const ordersBefore = ({ sql }: Side, account: number, from: number): Effect.Effect<number, SqlError> =>
  lengthOf(
    Effect.map(
      OrderTables.ordersBefore(sql, { account, market: undefined, status: undefined, from, limit: pageRows }),
      ({ orders }) => orders
    )
  )

/** Each comes to a page of rows, or to one order. */
const reads: Readonly<Record<string, Read>> = {
  "orders-first": (side, account) => ordersBefore(side, account, Number.MAX_SAFE_INTEGER),
  "orders-middle": (side, account) => ordersBefore(side, account, Ids.ordinal(middle(side, account) + 1, 0)),
  "order-by-id": (side, account) =>
    Effect.map(OrderTables.order(side.sql, account, Ids.ordinal(middle(side, account) + 1, 0)), (order) => order === undefined ? 0 : 1),
  "fills-first": ({ sql }, account) =>
    lengthOf(FillTables.fillsBefore(sql, { account, market: undefined, before: Number.POSITIVE_INFINITY, limit: pageRows })),
  "fills-middle": (side, account) =>
    lengthOf(FillTables.fillsBefore(side.sql, { account, market: undefined, before: middle(side, account), limit: pageRows })),
  "ledger-first": ({ sql }, account) =>
    lengthOf(MoneyTables.changesBefore(sql, { account, market: undefined, before: undefined, limit: pageRows })),
  "ledger-middle": (side, account) =>
    lengthOf(
      MoneyTables.changesBefore(side.sql, {
        account,
        market: undefined,
        before: { sequence: middle(side, account) + 1, place: 0 },
        limit: pageRows
      })
    )
}

/** Times some reads of one account after the other. */
const time = (side: Side, name: string, from: number): void => {
  const wanted = name === "order-by-id" ? 1 : pageRows
  const took = side.tookUs.get(name) ?? []
  side.tookUs.set(name, took)
  for (let read = from; read < from + readsInARow; read++) {
    const effect = reads[name]!(side, (read * 37) % accounts)
    const startedAt = performance.now()
    const found = Effect.runSync(effect)
    took.push((performance.now() - startedAt) * 1_000)
    assert(found === wanted, "a read finds what it asks for")
  }
}

const quantile = (took: ReadonlyArray<number>, share: number): number =>
  [...took].sort((one, other) => one - other)[Math.min(took.length - 1, Math.floor(took.length * share))]!

const results = (one: Side, other: Side): ReadonlyArray<Result> =>
  Object.keys(reads).flatMap((name) => {
    const [fewUs, manyUs] = [one.tookUs.get(name)!, other.tookUs.get(name)!]
    return ([["p50", 0.5], ["p99", 0.99]] as const).map(([called, share]) =>
      result(`pages-${name}-${called}`, "us", quantile(manyUs, share), quantile(fewUs, share))
    )
  })

const measure = (directory: string, { log, runs }: Options): Effect.Effect<ReadonlyArray<Result>, unknown> =>
  Effect.scoped(Effect.gen(function*() {
    const sides: Array<Side> = []
    for (const rows of [few, many]) {
      const file = path.join(directory, `${rows}.db`)
      const sql = yield* openAt(file)
      const startedAt = performance.now()
      yield* filled(sql, rows)
      const seconds = (performance.now() - startedAt) / 1_000
      const megabytes = ["", "-wal"].reduce((sum, end) => sum + (fs.statSync(`${file}${end}`, { throwIfNoEntry: false })?.size ?? 0), 0)
        / 1e6
      log(`pages: ${rows} orders, fills and changes of balances written in ${seconds.toFixed(1)} s, ${megabytes.toFixed(1)} MB`)
      sides.push({ sql, rows, tookUs: new Map() })
    }
    const [one, other] = sides as [Side, Side]
    for (let run = 0; run <= runs; run++) {
      for (const name of Object.keys(reads)) {
        for (let from = 0; from < readsPerRun; from += readsInARow) for (const side of sides) time(side, name, from)
      }
      // The first run warms both.
      if (run === 0) { for (const { tookUs } of sides) tookUs.clear() }
    }
    return results(one, other)
  }))

export const section: Section = {
  name: "pages",
  run: async (options) => {
    assert(Number.isSafeInteger(many) && many >= few, "BENCH_PAGES_ROWS is a number of rows, of 10,000 at least")
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), "perpetuum-pages-"))
    try {
      return await Effect.runPromise(measure(directory, options))
    } finally {
      fs.rmSync(directory, { recursive: true, force: true })
    }
  }
}
