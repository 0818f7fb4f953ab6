/**
 * The time to read pages of histories, for every history with pages: the first page, one somewhere in the middle of the past, one narrowed
 * by market or status, and single look-ups; in a table of 1,000 rows and in one of 10,000,000 (or as many as `BENCH_PAGES_ROWS` says). Each
 * kind has a file of its own, with four accounts and two markets, so that a page begins among 2,500,000 rows of its account. The two tables
 * are read in turn from the system's cache, so that the delay of a slow disk is not included. Less is flatter.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { assert } from "../../src/domain/Assert.js"
import { openAt } from "../../src/readmodel/HistoriesDatabase.js"
import { inOne, run } from "../../src/readmodel/Sql.js"
import * as Tables from "../../src/readmodel/Tables.js"
import { accounts, type Kind, kinds, type Read } from "./PageKinds.js"
import { type Options, type Result, result, type Section } from "./Section.js"

const few = 1_000
const many = Number(process.env["BENCH_PAGES_ROWS"] ?? 10_000_000)
/**
 * Reads of a kind that one run times in each database, and how many of them are consecutive: other load on the machine then affects both.
 */
const readsPerRun = 1_000
const readsInARow = 20

/** All reads, each with a page's median time and its slowest hundredth. */
export const reads: ReadonlyArray<string> = kinds.flatMap((kind) =>
  Object.keys(kind.reads).flatMap((read) => [`${kind.name}-${read}-p50`, `${kind.name}-${read}-p99`])
)

/** The columns of a table, as in a row that many positions later. */
const moved = (sql: SqlClient.SqlClient, table: string, kind: Kind): Effect.Effect<string, SqlError> =>
  Effect.map(
    run<{ readonly name: string }>(sql, `PRAGMA table_info(${table})`),
    (found) => found.map(({ name }) => kind.tables[table]![name] ?? name).join(", ")
  )

/**
 * Fills the tables of a kind with so many rows: the first thousand as the venue writes them, all others as copies of these at later
 * positions, ten times as many with each step.
 */
const filled = (sql: SqlClient.SqlClient, kind: Kind, rows: number): Effect.Effect<void, SqlError | Tables.Overtaken> =>
  Effect.gen(function*() {
    yield* Tables.begin(sql, "development")
    yield* run(sql, "PRAGMA synchronous = OFF")
    yield* inOne(sql, kind.write(sql, few))
    for (let there = few; there < rows; there *= 10) {
      for (const table of Object.keys(kind.tables)) {
        const columns = yield* moved(sql, table, kind)
        for (let copy = 1; copy < 10; copy++) {
          // Only the rows that existed before the step are copied.
          const place = kind.tables[table]!["place of a row"]!
          const copied = `INSERT INTO ${table} SELECT ${columns} FROM ${table} WHERE ${place} < ${there}`
          yield* inOne(sql, run(sql, copied.replaceAll(":by", String(copy * there))))
        }
      }
    }
    yield* run(sql, "PRAGMA wal_checkpoint(TRUNCATE)")
  })

/** A database, its number of rows, and the times of its reads in microseconds. */
interface Side {
  readonly sql: SqlClient.SqlClient
  readonly rows: number
  readonly tookUs: Map<string, Array<number>>
}

/** Times some reads, each for an account from a position in the middle. */
const time = (side: Side, name: string, { effect, wanted }: Read, from: number): void => {
  const { rows, sql } = side
  const took = side.tookUs.get(name) ?? []
  side.tookUs.set(name, took)
  for (let read = from; read < from + readsInARow; read++) {
    const account = read % accounts
    // Spread over a quarter in the middle, whatever their number: multiples of the golden section leave no part of it out.
    const index = Math.floor(rows / 2 + (read * 0.618_033_988_75 % 1) * rows / 4)
    const reading = effect(sql, { account, index: index - index % accounts + account })
    const startedAt = performance.now()
    const found = Effect.runSync(reading)
    took.push((performance.now() - startedAt) * 1_000)
    assert(found === wanted, `${name} of ${rows} rows finds ${found}, and ${wanted} are there`)
  }
}

const quantile = (took: ReadonlyArray<number>, share: number): number =>
  [...took].sort((one, other) => one - other)[Math.min(took.length - 1, Math.floor(took.length * share))]!

const results = (kind: Kind, one: Side, other: Side): ReadonlyArray<Result> =>
  Object.keys(kind.reads).flatMap((name) => {
    const [fewUs, manyUs] = [one.tookUs.get(name)!, other.tookUs.get(name)!]
    return ([["p50", 0.5], ["p99", 0.99]] as const).map(([called, share]) =>
      result(`pages-${kind.name}-${name}-${called}`, "us", quantile(manyUs, share), quantile(fewUs, share))
    )
  })

/** A database of a kind with so many rows. */
const side = (directory: string, kind: Kind, rows: number, log: Options["log"]) =>
  Effect.gen(function*() {
    const file = path.join(directory, `${kind.name}-${rows}.db`)
    const sql = yield* openAt(file)
    const startedAt = performance.now()
    yield* filled(sql, kind, rows)
    const seconds = (performance.now() - startedAt) / 1_000
    log(`pages: ${rows} ${kind.name} in ${seconds.toFixed(1)} s, ${(fs.statSync(file).size / 1e6).toFixed(1)} MB`)
    return { sql, rows, tookUs: new Map() } satisfies Side
  })

const measure = (directory: string, kind: Kind, { log, runs }: Options): Effect.Effect<ReadonlyArray<Result>, unknown> =>
  Effect.scoped(Effect.gen(function*() {
    const one = yield* side(directory, kind, few, log)
    const other = yield* side(directory, kind, many, log)
    for (let turn = 0; turn <= runs; turn++) {
      for (const [name, read] of Object.entries(kind.reads)) {
        for (let from = 0; from < readsPerRun; from += readsInARow) for (const each of [one, other]) time(each, name, read, from)
      }
      // The first run warms up both.
      if (turn === 0) { for (const { tookUs } of [one, other]) tookUs.clear() }
    }
    return results(kind, one, other)
  }))

export const section: Section = {
  name: "pages",
  run: async (options) => {
    assert(Number.isInteger(Math.log10(many)) && many >= few, "BENCH_PAGES_ROWS is a power of ten, 1,000 at least")
    const found: Array<Result> = []
    for (const kind of kinds) {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), "perpetuum-pages-"))
      try {
        found.push(...await Effect.runPromise(measure(directory, kind, options)))
      } finally {
        fs.rmSync(directory, { recursive: true, force: true })
      }
    }
    return found
  }
}
