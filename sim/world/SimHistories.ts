/**
 * The histories' database of one run, in memory: it outlives the venue's processes as a file does.
 *
 * Fault model: a crash leaves it as of the last committed transaction; or, drawn by seed, it is lost and rebuilt by the venue, or only
 * bytes are left that are no database. A graceful stop leaves it whole; when only the maker of the histories dies, it is left as of the
 * last committed transaction. Now and then the table with its position is lost under a process that has it open: the next batch fails, and
 * the database is rebuilt.
 */
import type { Connection } from "@effect/sql/SqlConnection"
import { Effect, Layer } from "effect"
import { HistoriesDatabase, openAt } from "../../src/readmodel/HistoriesDatabase.js"
import type { SimRandom } from "./SimRandom.js"

/** Probability that a crash loses it, and that a crash leaves bytes that are no database. */
const lossRate = 0.08
const damageRate = 0.03

export interface SimHistories {
  readonly layer: Layer.Layer<HistoriesDatabase>
  /** The process that has it open has died alone. */
  readonly leave: () => void
  /** The process that has it open has died with the venue. */
  readonly crash: () => void
  /** The table with its position is lost under the process that has it open, if there is one. */
  readonly spoil: () => void
  /** The database that the last graceful stop left; undefined where there is none. */
  readonly left: () => Uint8Array | undefined
}

/** A function of SQLite's connection that its type lacks. */
type Exporting = Connection & { readonly export: Effect.Effect<Uint8Array, unknown> }

/** Bytes of a database in the place of a file name: SQLite opens them in memory. */
export const fileOf = (bytes: Uint8Array): string => Buffer.from(bytes) as unknown as string

export const make = (random: SimRandom): SimHistories => {
  let kept: Uint8Array | undefined
  let open: Exporting | undefined

  /** Keeps the committed content. */
  const keep = (connection: Exporting): void => {
    // There is nothing to roll back unless a batch was being written.
    Effect.runSync(Effect.ignore(connection.executeUnprepared("ROLLBACK", [], undefined)))
    kept = Effect.runSync(connection.export)
  }

  const leave = (): void => {
    if (open !== undefined) keep(open)
    open = undefined
  }

  return {
    layer: Layer.succeed(HistoriesDatabase, {
      name: "the histories",
      open: Effect.gen(function*() {
        const sql = yield* openAt(kept === undefined ? ":memory:" : fileOf(kept))
        const connection = (yield* Effect.orDie(Effect.scoped(sql.reserve))) as Exporting
        open = connection
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            if (open !== connection) return
            keep(connection)
            open = undefined
          })
        )
        return sql
      }),
      setAside: Effect.sync(() => {
        kept = undefined
      }),
      discard: Effect.sync(() => {
        kept = undefined
      })
    }),
    left: () => kept,
    spoil: () => {
      if (open !== undefined) Effect.runSync(Effect.orDie(open.executeUnprepared("DROP TABLE IF EXISTS place", [], undefined)))
    },
    leave,
    crash: () => {
      leave()
      const fate = random.next()
      if (fate < lossRate) kept = undefined
      else if (fate < lossRate + damageRate) kept = new Uint8Array(4_096).fill(0x5a)
    }
  }
}
