/**
 * What accounts are told of their money, as it comes with committed blocks: every change of a balance, and every payment of funding,
 * each in its place among those of its account. Nothing of it changes once its record is decided.
 */
import type { decodeTold, ToldChange, ToldPayment } from "../engine/EventLog.js"
import type { Committed } from "../sequencer/Feed.js"

/** Where a row stands among those of its account: its record, and how many of the account's own that record has behind it. */
export interface MoneyPlace {
  readonly sequence: number
  readonly place: number
}

interface Told extends MoneyPlace {
  readonly atEpochMs: number
}

/** A change, and a payment, as the engine shows them. */
export type ChangeRow = ToldChange & Told
export type PaymentRow = ToldPayment & Told

/** Rows of whole records, oldest first, each in its place; newest first. */
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

  /** Takes in what a block has told. */
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

  /** What is to be stored; from here on it counts as stored. */
  take(): { readonly changes: ReadonlyArray<ChangeRow>; readonly payments: ReadonlyArray<PaymentRow> } {
    const { changes, payments } = this
    this.changes = []
    this.payments = []
    return { changes, payments }
  }
}
