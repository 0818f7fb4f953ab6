/** Histories over tables in memory, whose progress the test sets. */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Effect } from "effect"
import * as FillTables from "../../src/readmodel/FillTables.js"
import * as Histories from "../../src/readmodel/Histories.js"
import { openAt } from "../../src/readmodel/HistoriesDatabase.js"
import { inOne } from "../../src/readmodel/Sql.js"
import * as MoneyTables from "../../src/readmodel/MoneyTables.js"
import * as OrderTables from "../../src/readmodel/OrderTables.js"
import * as SecurityTables from "../../src/readmodel/SecurityTables.js"
import * as Tables from "../../src/readmodel/Tables.js"
import * as TransferTables from "../../src/readmodel/TransferTables.js"

type Standing = Histories.Standing

/**
 * Runs with tables that hold what the test writes, and histories that report the standing that the test gives. `lookedAtOnce`: orders that
 * one part examines, where it is not as many as a venue's.
 */
export const withRows = <A>(
  run: (sql: SqlClient.SqlClient, at: (standing: Partial<Standing>) => Histories.Histories["Type"]) => A,
  lookedAtOnce?: number
): A =>
  Effect.runSync(Effect.scoped(Effect.gen(function*() {
    const sql = yield* openAt(":memory:")
    yield* Tables.begin(sql, "development")
    return run(sql, (standing) => {
      const read = <B>(from: Effect.Effect<B, SqlError>): Effect.Effect<Histories.Read<B>> =>
        Effect.orDie(Effect.map(from, (found) => ({
          found,
          standing: { sequence: 0, atEpochMs: 0, fills: 0, lagMs: 0, isReplaying: false, isRebuilding: false, ...standing }
        })))
      return {
        ...Histories.none,
        order: (account, number) => read(OrderTables.order(sql, account, number)),
        clientOrder: (account, clientOrderId) => read(OrderTables.clientOrder(sql, account, clientOrderId)),
        ordersBefore: (asked) => read(OrderTables.ordersBefore(sql, asked, lookedAtOnce)),
        ordersBehind: (asked) => read(OrderTables.ordersBehind(sql, asked, lookedAtOnce)),
        firstOrderSince: (sinceEpochMs) => read(OrderTables.firstSince(sql, sinceEpochMs)),
        fillsBefore: (asked) => read(FillTables.fillsBefore(sql, asked)),
        fillsSince: (asked) => read(FillTables.fillsSince(sql, asked)),
        changesBefore: (asked) => read(MoneyTables.changesBefore(sql, asked)),
        paymentsBefore: (asked) => read(MoneyTables.paymentsBefore(sql, asked)),
        transfersBefore: (asked) => read(TransferTables.transfersBefore(sql, asked)),
        notesBefore: (asked) => read(SecurityTables.notesBefore(sql, asked))
      }
    })
  })))

/** Writes in one transaction. */
export const written = (sql: SqlClient.SqlClient, effect: Effect.Effect<void, SqlError>): void => Effect.runSync(inOne(sql, effect))
