/**
 * The histories' database of one run, in memory: it outlives the venue's processes as a file does.
 *
 * Fault model: a crash leaves it as of the last transaction that was committed; or, drawn by the seed, it is lost, and the venue
 * makes it anew, or nothing is left of it but bytes that are no database. A graceful stop leaves it whole; who dies alone leaves it as of
 * the last transaction that was committed. Now and then the table that says how far it goes is lost under a process that has it open:
 * the next batch fails, and it is made anew.
 */
import type { Connection } from "@effect/sql/SqlConnection"
import { Effect, Layer } from "effect"
import { HistoriesDatabase, openAt } from "../../src/readmodel/HistoriesDatabase.js"
import type { SimRandom } from "./SimRandom.js"

/** How likely a crash takes it, or leaves what is no database. */
const lossRate = 0.08
const damageRate = 0.03

export interface SimHistories {
  readonly layer: Layer.Layer<HistoriesDatabase>
  /** Whoever has it open has died alone. */
  readonly leave: () => void
  /** The process that has it open is no more. */
  readonly crash: () => void
  /** The table that says how far it goes is lost under the process that has it open, if one has. */
  readonly spoil: () => void
  /** What the process that stopped last has left, in good order; undefined where it left nothing. */
  readonly left: () => Uint8Array | undefined
}

/** What SQLite's connection can do besides. */
type Exporting = Connection & { readonly export: Effect.Effect<Uint8Array, unknown> }

/** Bytes of a database, which SQLite opens in memory where a file's name could stand. */
export const fileOf = (bytes: Uint8Array): string => Buffer.from(bytes) as unknown as string

export const make = (random: SimRandom): SimHistories => {
  let kept: Uint8Array | undefined
  let open: Exporting | undefined

  /** Keeps what is committed. */
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
