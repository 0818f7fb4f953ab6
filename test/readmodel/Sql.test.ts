/** How the histories' statements are run, with a table in memory. */
import type * as SqlClient from "@effect/sql/SqlClient"
import { Effect } from "effect"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { openAt } from "../../src/readmodel/HistoriesDatabase.js"
import * as Sql from "../../src/readmodel/Sql.js"

const inTable = <A>(use: (sql: SqlClient.SqlClient) => Effect.Effect<A, unknown>): Promise<A> =>
  Effect.flatMap(openAt(":memory:"), (sql) =>
    Effect.zipRight(Sql.run(sql, "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c INTEGER NOT NULL) STRICT"), use(sql)))
    .pipe(Effect.scoped, Effect.runPromise)

interface Row {
  readonly a: number
  readonly b: string | null
  readonly c: number
}

const tableT = Sql.table("t", 3, ({ a, b, c }: Row) => [a, b, c])

test.each([0, 1, 3, 4, 63, 255, 256, 257, 1_021])(
  "%d rows are all put, by statements of whatever sizes, and each again in the place of what it was",
  async (count) => {
    const rows = (b: string | null) => Array.from({ length: count }, (_, a): Row => ({ a, b, c: Number.MAX_SAFE_INTEGER - a }))
    const all = await inTable((sql) =>
      Effect.gen(function*() {
        yield* Sql.put(sql, tableT, rows(null))
        const first = yield* Sql.run<Row>(sql, "SELECT * FROM t ORDER BY a")
        yield* Sql.put(sql, tableT, rows("again").toReversed())
        return { first, again: yield* Sql.run<Row>(sql, "SELECT * FROM t ORDER BY a") }
      })
    )
    expect(all).toEqual({ first: rows(null), again: rows("again") })
  }
)

test("what cannot be committed is a failure, and the next transaction begins as if it had not been", async () => {
  const [failed, rows] = await inTable((sql) =>
    Effect.gen(function*() {
      yield* Sql.run(sql, "PRAGMA foreign_keys = ON")
      yield* Sql.run(sql, "CREATE TABLE u (a INTEGER REFERENCES t (a) DEFERRABLE INITIALLY DEFERRED) STRICT")
      // The missing row is only detected at COMMIT.
      const exit = yield* Effect.either(Sql.inOne(sql, Sql.run(sql, "INSERT INTO u VALUES (7)")))
      yield* Sql.inOne(sql, Sql.put(sql, tableT, [{ a: 1, b: null, c: 2 }]))
      return [exit, yield* Sql.run(sql, "SELECT a FROM t UNION ALL SELECT a FROM u")] as const
    })
  )
  expect(failed).toMatchObject({ _tag: "Left", left: { _tag: "SqlError", cause: { code: "SQLITE_CONSTRAINT_FOREIGNKEY" } } })
  expect(rows).toEqual([{ a: 1 }])
})

test("a statement that SQLite rolls back by itself is told by its own failure, and nothing of its transaction stays", async () => {
  const [failed, rows] = await inTable((sql) =>
    Effect.gen(function*() {
      const twice = Sql.run(sql, "INSERT OR ROLLBACK INTO t VALUES (1, NULL, 2)")
      const exit = yield* Effect.either(Sql.inOne(sql, Effect.zipRight(twice, twice)))
      yield* Sql.inOne(sql, Sql.put(sql, tableT, [{ a: 3, b: null, c: 4 }]))
      return [exit, yield* Sql.run(sql, "SELECT a FROM t")] as const
    })
  )
  expect(failed).toMatchObject({ _tag: "Left", left: { _tag: "SqlError", cause: { code: "SQLITE_CONSTRAINT_PRIMARYKEY" } } })
  expect(rows).toEqual([{ a: 3 }])
})

test("the first key since a time is the one that a look at every row finds, whatever lies between keys and times", async () => {
  const step = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 1e12 }))
  const steps = fc.array(fc.tuple(step, step), { maxLength: 60 })
  await inTable((sql) =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(steps, fc.nat({ max: 61 }), fc.integer({ min: -1, max: 1 }), async (drawn, at, beside) => {
          const rows: Array<Row> = []
          for (const [keys, time] of drawn) {
            const last = rows.at(-1) ?? { a: 0, c: 0 }
            rows.push({ a: last.a + 1 + keys, b: null, c: last.c + time })
          }
          const since = (rows[at]?.c ?? rows.at(-1)?.c ?? 0) + beside
          const found = await Effect.runPromise(Effect.gen(function*() {
            yield* Sql.run(sql, "DELETE FROM t")
            yield* Sql.put(sql, tableT, rows)
            return yield* Sql.firstKeySince(sql, { table: "t", key: "a", time: "c" }, since)
          }))
          expect(found).toBe(rows.find(({ c }) => c >= since)?.a)
        }),
        { numRuns: 200 }
      )
    )
  )
})

test("to find it no table is gone through, however long it is", async () => {
  const plan = await inTable((sql) =>
    Effect.gen(function*() {
      const statements: Array<string> = []
      const told = new Proxy(sql, {
        get: (target, member) =>
          member === "unsafe"
            ? (statement: string, parameters: ReadonlyArray<number>) => {
              statements.push(statement)
              return target.unsafe(statement, parameters)
            }
            : Reflect.get(target, member)
      })
      yield* Sql.firstKeySince(told, { table: "t", key: "a", time: "c" }, 5)
      return yield* Sql.run<{ readonly detail: string }>(sql, `EXPLAIN QUERY PLAN ${statements.join()}`, [5, 5])
    })
  )
  const looks = plan.map(({ detail }) => detail).filter((detail) => /^(SCAN|SEARCH) /.test(detail))
  expect(looks.filter((detail) => detail.startsWith("SEARCH t"))).toHaveLength(5)
  expect(looks.filter((detail) => detail.startsWith("SCAN") && !/^SCAN (part|CONSTANT ROW)$/.test(detail))).toEqual([])
})
