/**
 * Histories that begin with the state behind a record, as they do at an upgrade whose first records only an earlier version could replay,
 * and go on with the records after it. Beside those made from the first record they may lack what had ended and been forgotten by then,
 * and nothing else; what they have is the same, but for what was not remembered of positions that were open.
 */
import { Effect } from "effect"
import type { Engine } from "../../src/engine/Engine.js"
import { hadBotKey, nothingKept, Projection } from "../../src/readmodel/Projection.js"
import { keptOf, seedBefore } from "../../src/readmodel/Seed.js"
import * as Tables from "../../src/readmodel/Tables.js"
import type { Committed } from "../../src/sequencer/Feed.js"
import { versions } from "../../src/sequencer/Versions.js"

type Row = Readonly<Record<string, number | string | null>>

/** Rows by table, and in each by what they are called. */
type Rows = ReadonlyMap<string, ReadonlyMap<string, Row>>

/** The columns by which rows are called. Candles and sums begin with such histories, and are not compared. */
const keys: Readonly<Record<string, ReadonlyArray<string>>> = {
  scale: ["market"],
  episode: ["born"],
  flag: ["account"],
  orders: ["number"],
  fill: ["ordinal"],
  own_fill: ["account", "ordinal"],
  balance_change: ["account", "sequence", "place"],
  funding_payment: ["account", "sequence", "place"],
  transfer: ["account", "kind", "number"],
  security_event: ["account", "ordinal"]
}

/** Of lines that begin with the name of a table. */
const rowsOf = (lines: ReadonlyArray<string>): Rows => {
  const all = new Map(Object.keys(keys).map((table) => [table, new Map<string, Row>()]))
  for (const line of lines) {
    const [table] = line.split(" ", 1)
    const row = JSON.parse(line.slice(table!.length + 1)) as Row
    all.get(table!)?.set(keys[table!]!.map((column) => row[column]).join("/"), row)
  }
  return all
}

/** Accounts with a bot's key that the engine has not forgotten at a record. */
const botsOf = ({ state: { apiKeys, identity } }: Engine): ReadonlySet<number> =>
  new Set([...identity.botKeys.keys()].map((key) => apiKeys.account(key)))

/** What the engine remembers at a record, of what there ever was: a row for which it says so is in histories that begin there. */
const remembering = (engine: Engine): Readonly<Record<string, (row: Row) => boolean>> => {
  const { ordinal } = engine.oldestFill()
  const { changeSequence, paymentSequence } = engine.oldestMoney()
  const accounts = Array.from({ length: engine.occupancy.accounts }, (_, account) => account)
  const hasOrders = accounts.map((account) => !engine.hasForgotten(account, ""))
  const transfersFrom = accounts.map((account) => engine.forgottenTransfers(account).knownFrom)
  const notes = accounts.map((account) => new Set(engine.securityEvents(account, Infinity, Infinity).map((each) => each.ordinal)))
  const bots = botsOf(engine)
  const positions = new Set(accounts.flatMap((account) => engine.positions(account).map(({ born }) => born)))
  return {
    scale: () => true,
    episode: ({ born }) => positions.has(Number(born)),
    // An account that has none any more was forgotten to have had any, and so was one that had a bot's key, with the last such key.
    flag: ({ account, flags }) => (bots.has(Number(account)) ? Number(flags) : Number(flags) & ~hadBotKey) !== 0,
    orders: ({ account }) => hasOrders[Number(account)] ?? false,
    fill: (row) => Number(row.ordinal) >= ordinal,
    own_fill: (row) => Number(row.ordinal) >= ordinal,
    balance_change: ({ sequence }) => Number(sequence) > changeSequence,
    funding_payment: ({ sequence }) => Number(sequence) > paymentSequence,
    transfer: ({ account, number }) => Number(number) >= (transfersFrom[Number(account)] ?? 0),
    security_event: (row) => notes[Number(row.account)]?.has(Number(row.ordinal)) ?? false
  }
}

/** What is not known of an episode that was open at the step, and of an order that is open. */
const ofEpisodes: ReadonlySet<string> = new Set(["max_quantity", "entry_quantity", "entry_notional", "exit_quantity", "exit_notional"])
const ofOpenOrders: ReadonlySet<string> = new Set(["updated_at", "last_sequence"])

export class Seeded {
  private readonly seed: Effect.Effect.Success<ReturnType<typeof seedBefore>>
  private readonly projection: Projection
  private readonly remembers: ReturnType<typeof remembering>
  private readonly bots: ReadonlySet<number>

  /** `engine` stands at the end of a block. */
  constructor(engine: Engine, digest: string) {
    const seed = Effect.runSync(
      seedBefore({ standingBefore: () => Effect.succeed({ engine, digest, version: versions }) }, engine.sequence + 1)
    )
    // The engine goes on, and the orders are read from it as they are asked for.
    this.seed = { ...seed, batch: { ...seed.batch, orders: { placed: [...seed.batch.orders.placed], changed: [] } } }
    this.projection = new Projection({ ...nothingKept, ...keptOf(seed) })
    this.remembers = remembering(engine)
    this.bots = botsOf(engine)
  }

  /** Applies a block behind the one at whose end they begin. */
  take(committed: Committed): void {
    this.projection.apply(committed)
  }

  /** Writes them into a new database, as they are behind a block. */
  write(sql: Parameters<typeof Tables.begin>[0], environment: string, { block }: Committed): Effect.Effect<unknown, unknown> {
    const { projection, seed: { batch, place } } = this
    return Effect.flatMap(Tables.begin(sql, environment), (begun) =>
      typeof begun === "string" ? Effect.die(begun) : Effect.zipRight(
        Tables.write(sql, begun, batch, place, false),
        Tables.write(sql, place, projection.take(), Tables.placeBehind(block), true)
      ))
  }

  /** The first difference of their rows from those that were made from the first record; undefined where there is none. */
  fault(own: ReadonlyArray<string>, whole: ReadonlyArray<string>): string | undefined {
    const { seed: { place: { sequence } } } = this
    const ownRows = rowsOf(own)
    for (const [table, wholeOf] of rowsOf(whole)) {
      const ownOf = ownRows.get(table)!
      for (const [key, row] of ownOf) {
        const fault = this.unlike(table, row, wholeOf.get(key))
        if (fault !== undefined) return `begun with the state behind record ${sequence}, ${table} ${key} ${fault}`
      }
      for (const [key, row] of wholeOf) {
        if (!ownOf.has(key) && this.isDue(table, row)) return `begun with the state behind record ${sequence}, they lack ${table} ${key}`
      }
    }
    return undefined
  }

  private unlike(table: string, row: Row, whole: Row | undefined): string | undefined {
    const { seed: { batch } } = this
    if (whole === undefined) return "is only in them"
    const wasOpen = table === "episode" && Number(row.born) <= batch.born
    const unknown = wasOpen ? ofEpisodes : table === "orders" && row.status === 0 ? ofOpenOrders : undefined
    const forgotten = table === "flag" && !this.bots.has(Number(row.account)) ? hadBotKey : 0
    const column = Object.keys(row).find((each) =>
      row[each] !== whole[each] && unknown?.has(each) !== true && !(each === "flags" && (Number(row.flags) | forgotten) === whole.flags)
    )
    return column === undefined ? undefined : `has ${column} ${row[column]} where it is ${whole[column]}`
  }

  /** Whether a row has to be there: it was written later, or was remembered. */
  private isDue(table: string, row: Row): boolean {
    const writtenAt = Number(row.last_sequence ?? row.sequence ?? 0)
    return writtenAt > this.seed.place.sequence || this.remembers[table]!(row)
  }
}
