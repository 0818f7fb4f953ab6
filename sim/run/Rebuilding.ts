/**
 * Compares the histories that a venue kept while it ran with those rebuilt from its journal: they must have the same rows. Both are made by
 * the same code, so some tables are also compared with what the model says. From some record on, histories that begin with the state behind
 * it are made beside them.
 */
import { Effect } from "effect"
import { openAt } from "../../src/readmodel/HistoriesDatabase.js"
import { nothingKept, Projection } from "../../src/readmodel/Projection.js"
import * as Tables from "../../src/readmodel/Tables.js"
import type { Committed } from "../../src/sequencer/Feed.js"
import type { Engine } from "../../src/engine/Engine.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import * as ShownRows from "../model/ShownRows.js"
import { fileOf } from "../world/SimHistories.js"
import type { SimRandom } from "../world/SimRandom.js"
import { Seeded } from "./Seeded.js"

const environment = "development"

/** Tables with the columns by which their rows are ordered. */
const tables = [
  ["place", "1"],
  ["scale", "1"],
  ["candle", "1, 2, 3, 4"],
  ["episode", "1"],
  ["score", "1, 2"],
  ["flag", "1"],
  ["orders", "1"],
  ["fill", "1"],
  ["own_fill", "1, 2"],
  ["balance_change", "1, 2, 3"],
  ["funding_payment", "1, 2, 3"],
  ["transfer", "1, 2, 3"],
  ["security_event", "1, 2"]
] as const

/** All rows of a database, a line for each. */
const rows = (
  filename: string,
  fill: (sql: Parameters<typeof Tables.begin>[0]) => Effect.Effect<unknown, unknown>
): ReadonlyArray<string> =>
  Effect.runSync(Effect.scoped(Effect.gen(function*() {
    const sql = yield* openAt(filename)
    yield* fill(sql)
    const all: Array<string> = []
    for (const [table, order] of tables) {
      for (const row of yield* sql.unsafe(`SELECT * FROM ${table} ORDER BY ${order}`)) all.push(`${table} ${JSON.stringify(row)}`)
    }
    return all
  })))

export class Rebuilding {
  private readonly projection = new Projection(nothingKept)
  /** The record up to which the kept histories go. */
  readonly sequence: number
  private readonly kept: ReadonlyArray<string>
  private rebuilt: ReadonlyArray<string> | undefined
  /** Begun at the end of the first block that ends at this record or later. */
  private readonly seededFrom: number
  private seeded: Seeded | undefined
  private seededRows: ReadonlyArray<string> = []

  /** `left`: the database that a gracefully stopped venue left. */
  constructor(left: Uint8Array, random: SimRandom) {
    this.kept = rows(fileOf(left), () => Effect.void)
    const [place] = this.kept
    this.sequence = (JSON.parse(place!.slice("place ".length)) as { readonly sequence: number }).sequence
    this.seededFrom = random.below(this.sequence + 1)
  }

  /** Applies a block of the journal with its events, the engine standing at its end; blocks come in order from the first. */
  take(committed: Committed, engine: Engine): void {
    const { block, block: { lastSequence } } = committed
    if (lastSequence > this.sequence) return
    this.projection.apply(committed)
    this.seeded?.take(committed)
    if (lastSequence < this.sequence) {
      if (lastSequence >= this.seededFrom) this.seeded ??= new Seeded(engine, Tables.placeBehind(block).digest)
      return
    }
    const { seeded } = this
    if (seeded !== undefined) this.seededRows = rows(":memory:", (sql) => seeded.write(sql, environment, committed))
    this.rebuilt = rows(":memory:", (sql) =>
      Effect.flatMap(Tables.begin(sql, environment), (begun) =>
        typeof begun === "string"
          ? Effect.die(begun)
          : Tables.write(sql, begun, this.projection.take(), Tables.placeBehind(block), true)))
  }

  /** The first difference of the two; undefined where there is none. */
  get fault(): string | undefined {
    const { kept, rebuilt, sequence } = this
    if (sequence === 0) return undefined
    if (rebuilt === undefined) return `the kept ones are as of record ${sequence}, at which no block ends`
    const at = Array.from({ length: Math.max(kept.length, rebuilt.length) }).findIndex((_, index) => kept[index] !== rebuilt[index])
    if (at >= 0) return `at record ${sequence} the kept row ${String(kept[at])} is ${String(rebuilt[at])} where it is made anew`
    const fault = this.seeded?.fault(this.seededRows, rebuilt)
    return fault === undefined ? undefined : `at record ${sequence}, ${fault}`
  }

  /**
   * The first kept row that is not what the model says, or the first that is missing; undefined where there is none, and where the
   * model has not come as far.
   */
  untrue(model: NaiveVenue): string | undefined {
    const { kept, sequence } = this
    if (model.sequence < sequence) return undefined
    const rowsOf = (name: string): ReadonlyArray<ShownRows.Row> =>
      kept.filter((row) => row.startsWith(`${name} `)).map((row) => JSON.parse(row.slice(name.length + 1)) as ShownRows.Row)
    const fault = ShownRows.fault(model, sequence, rowsOf)
    return fault === undefined ? undefined : `at record ${sequence} ${fault}`
  }
}
