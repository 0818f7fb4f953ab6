/**
 * The rows that a venue's histories must have at a record: its episodes, results, changes of balances and funding payments, computed from
 * everything that the model saw happen up to then. They are compared as they are stored, member by member, because a row that is wrong
 * may be wrong in a way that hardly any reader's question shows.
 */
import * as ShownHistories from "./ShownHistories.js"
import type { NaiveVenue } from "./NaiveVenue.js"

/** A stored row by its columns, as far as they are compared. */
export type Row = Readonly<Record<string, unknown>>

/** Assigns places to an account's rows, given oldest first: the latest one of a record is at place 0. */
const placed = (rows: ReadonlyArray<Row & { readonly sequence: number }>): ReadonlyArray<Row> => {
  const behind = new Map<number, number>()
  return rows.toReversed().map((row) => {
    const place = behind.get(row.sequence) ?? 0
    behind.set(row.sequence, place + 1)
    return { ...row, place }
  })
}

const balanceChanges = ({ accounts }: NaiveVenue, sequence: number): ReadonlyArray<Row> =>
  accounts.flatMap(({ index, ledger }) =>
    placed(
      ledger.filter((each) => each.sequence <= sequence).map(({ amount, atEpochMs, balance, market, sequence: at }) => ({
        account: index,
        sequence: at,
        at_epoch_ms: atEpochMs,
        market,
        amount: Number(amount),
        balance: Number(balance)
      }))
    )
  )

const fundingPayments = ({ accounts, published: { payments } }: NaiveVenue, sequence: number): ReadonlyArray<Row> =>
  accounts.flatMap(({ index }) =>
    placed(
      payments.filter((each) => each.account === index && each.sequence <= sequence).map((each) => ({
        account: index,
        sequence: each.sequence,
        at_epoch_ms: each.atEpochMs,
        market: each.market,
        ended_at: each.endedAtEpochMs,
        quantity: each.quantity,
        index_price: each.index,
        rate: Number(each.rate8h),
        interval_ms: each.intervalMs,
        paid: Number(each.paid)
      }))
    )
  )

const windows = ["daily", "weekly", "monthly", "all_time"]

/** Results of the periods in which each account last did anything that counts. */
const scores = (model: NaiveVenue, sequence: number): ReadonlyArray<Row> => {
  const { history: { changes }, published: { steps } } = model
  const last = new Map<number, number>()
  const counts = (account: number, atEpochMs: number): void => void last.set(account, Math.max(last.get(account) ?? 0, atEpochMs))
  for (const each of changes) if (each.sequence <= sequence && isCounted(each)) counts(each.account, each.atEpochMs)
  for (const { account, atEpochMs, fee, sequence: at } of steps) if (at <= sequence && fee !== 0n) counts(account, atEpochMs)
  return [...last].flatMap(([account, atEpochMs]) =>
    windows.map((window, at) => {
      const began = ShownHistories.windowBegan(window, atEpochMs)
      const { closed, fees, fills, funding, realized } = ShownHistories.sumsOf(model, account, began, sequence)
      return {
        window: at,
        account,
        period_start: began,
        realized_pnl: String(realized),
        fees_paid: String(fees),
        funding_paid: String(funding),
        closed_notional: String(closed),
        fill_count: fills
      }
    })
  )
}

/** Whether a change counts towards results: not one that only moves a position to another account, which begins or grows it. */
const isCounted = (each: NaiveVenue["history"]["changes"][number]): boolean =>
  each._tag === "Paid" || each.isFill || (each.held !== 0 && each.held > 0 !== each.change > 0)

const reasons = ["user_close", "take_profit", "stop_loss", "liquidation", "auto_deleveraged", "market_delisted"]

const episodes = (model: NaiveVenue, sequence: number): ReadonlyArray<Row> =>
  model.accounts.flatMap(({ index }) =>
    ShownHistories.episodesOf(model, index, sequence).map((episode) => {
      const { changes, isLong, isOver, market, ordinal, payments } = episode
      const { entry, exit, fees, most, realized } = ShownHistories.totalsOf(episode)
      const last = changes.at(-1)!
      return {
        born: ordinal,
        account: index,
        market,
        is_long: isLong ? 1 : 0,
        opened_at: changes[0]!.atEpochMs,
        close_rank: isOver ? last.sequence : Number.MAX_SAFE_INTEGER,
        closed_at: isOver ? last.atEpochMs : null,
        close_reason: isOver ? reasons.indexOf(last.reason) : null,
        max_quantity: Number(most),
        quantity: Number(entry.size - exit.size),
        entry_quantity: String(entry.size),
        entry_notional: String(entry.notional),
        exit_quantity: String(exit.size),
        exit_notional: String(exit.notional),
        realized_pnl: Number(realized),
        fees_paid: Number(fees),
        funding_paid: Number(payments.reduce((sum, { paid }) => sum + paid, 0n)),
        last_sequence: Math.max(last.sequence, payments.at(-1)?.sequence ?? 0)
      }
    })
  )

/** Tables with the members by which a row is found, and the rows that they must have. */
const tables: ReadonlyArray<
  readonly [name: string, key: ReadonlyArray<string>, rows: (model: NaiveVenue, sequence: number) => ReadonlyArray<Row>]
> = [
  ["balance_change", ["account", "sequence", "place"], balanceChanges],
  ["funding_payment", ["account", "sequence", "place"], fundingPayments],
  ["score", ["window", "account"], scores],
  ["episode", ["born"], episodes]
]

/** The first row that a table has otherwise than it must, or lacks, or has too many; undefined where there is none. */
export const fault = (model: NaiveVenue, sequence: number, rowsOf: (table: string) => ReadonlyArray<Row>): string | undefined => {
  for (const [name, key, expected] of tables) {
    const keyOf = (row: Row): string => key.map((column) => row[column]).join()
    const left = new Map(rowsOf(name).map((row) => [keyOf(row), row]))
    for (const row of expected(model, sequence)) {
      const kept = left.get(keyOf(row))
      left.delete(keyOf(row))
      const column = kept === undefined ? undefined : Object.keys(row).find((each) => kept[each] !== row[each])
      if (kept === undefined || column !== undefined) {
        return `the row of ${name} is ${JSON.stringify(kept)}${column === undefined ? "" : ` by its ${column}`}, and must be ${
          JSON.stringify(row)
        }`
      }
    }
    const [more] = left.values()
    if (more !== undefined) return `a row of ${name} is of nothing that happened: ${JSON.stringify(more)}`
  }
  return undefined
}
