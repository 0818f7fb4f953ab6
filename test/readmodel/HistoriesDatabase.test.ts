/** A database of histories: statements, transactions, and their errors. */
import { Effect, Either } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { openAt } from "../../src/readmodel/HistoriesDatabase.js"
import * as Sql from "../../src/readmodel/Sql.js"
import * as Tables from "../../src/readmodel/Tables.js"

const newFile = (): string => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "database-"))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  return path.join(directory, "a.db")
}

const tableT = Sql.table("t", 2, (row: readonly [a: number, b: string | null]) => row)

test("statements come to rows, transactions to all of them or none, and the file is there for the next", async () => {
  const file = newFile()
  const rows = (database: Parameters<typeof Sql.run>[0]) =>
    Sql.run<{ readonly a: number; readonly b: string }>(database, "SELECT * FROM t ORDER BY a")
  await Effect.gen(function*() {
    const database = yield* openAt(file)
    yield* Sql.run(database, "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")
    yield* Sql.inOne(database, Sql.put(database, tableT, [[1, "x"], [9_007_199_254_740_991, "y"]]))
    const torn = yield* Effect.either(
      Sql.inOne(database, Effect.zipRight(Sql.put(database, tableT, [[2, "z"]]), Sql.run(database, "INSERT INTO nowhere VALUES (1)")))
    )
    expect(Either.isLeft(torn) && (torn.left.cause as { readonly code: string }).code).toBe("SQLITE_ERROR")
    expect(yield* rows(database)).toEqual([{ a: 1, b: "x" }, { a: 9_007_199_254_740_991, b: "y" }])
  }).pipe(Effect.scoped, Effect.runPromise)
  const again = await Effect.flatMap(openAt(file), rows).pipe(Effect.scoped, Effect.runPromise)
  expect(again).toHaveLength(2)
  expect(fs.readdirSync(path.dirname(file))).toEqual(["a.db"])
})

test("indexes that a version before had are dropped from its database, which goes on", async () => {
  const indexes = await Effect.gen(function*() {
    const database = yield* openAt(":memory:")
    yield* Tables.begin(database, "development")
    yield* Sql.run(database, "CREATE INDEX orders_by_time ON orders (created_at)")
    yield* Sql.run(database, "CREATE INDEX fill_by_time ON fill (at_epoch_ms)")
    expect(yield* Tables.begin(database, "development")).toMatchObject({ sequence: 0 })
    return yield* Sql.run<{ readonly name: string }>(database, "SELECT name FROM sqlite_schema WHERE name LIKE '%_by_%'")
  }).pipe(Effect.scoped, Effect.runPromise)
  expect(indexes).toEqual([{ name: "orders_by_client" }])
})

test("a file that is no database is told of, and one that cannot be opened", async () => {
  const file = newFile()
  fs.writeFileSync(file, "x".repeat(5_000))
  const opened = (name: string) => Effect.runPromise(Effect.either(Effect.scoped(openAt(name))))
  expect(Either.flip(await opened(file))).toMatchObject({ right: { reason: expect.stringContaining("not a database") } })
  expect(Either.isLeft(await opened(path.join(path.dirname(file), "missing", "a.db")))).toBe(true)
})
