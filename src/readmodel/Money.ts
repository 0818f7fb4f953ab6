/**
 * Balance changes and funding payments of accounts from committed blocks, each with its place among those of its account. Such rows
 * never change.
 */
import type { decodeTold, ToldChange, ToldPayment } from "../engine/EventLog.js"
import type { Committed } from "../sequencer/Feed.js"

/** The place of a row among those of its account: its record, and how many later rows of the account that record has. */
export interface MoneyPlace {
  readonly sequence: number
  readonly place: number
}

interface Told extends MoneyPlace {
  readonly atEpochMs: number
}

/** A balance change and a funding payment, as the engine shows them. */
export type ChangeRow = ToldChange & Told
export type PaymentRow = ToldPayment & Told

/** Assigns places to the rows of whole records, given oldest first, and returns them newest first. */
export const placed = <Row extends { readonly account: number; readonly sequence: number }>(
  rows: ReadonlyArray<Row>
): ReadonlyArray<Row & MoneyPlace> => {
  const behind = new Map<number, number>()
  let last = 0
  return rows.toReversed().map((row) => {
    if (row.sequence !== last) behind.clear()
    last = row.sequence
    const place = behind.get(row.account) ?? 0
    behind.set(row.account, place + 1)
    return { ...row, place }
  })
}

export class Money {
  private changes: Array<ChangeRow> = []
  private payments: Array<PaymentRow> = []

  /** Adds the rows of a block. */
  add({ firstSequence, records }: Committed["block"], { changes, payments }: ReturnType<typeof decodeTold>): void {
    const timed = <Row extends { readonly sequence: number }>(row: Row): Row & { readonly atEpochMs: number } => ({
      ...row,
      atEpochMs: records[row.sequence - firstSequence]!.atEpochMs
    })
    for (const change of placed(changes)) this.changes.push(timed(change))
    for (const payment of placed(payments)) this.payments.push(timed(payment))
  }

  /** Rows that wait to be stored. */
  get waiting(): number {
    return this.changes.length + this.payments.length
  }

  /** Returns the rows to be stored, which then count as stored. */
  take(): { readonly changes: ReadonlyArray<ChangeRow>; readonly payments: ReadonlyArray<PaymentRow> } {
    const { changes, payments } = this
    this.changes = []
    this.payments = []
    return { changes, payments }
  }
}
