/**
 * What accounts are told besides events, as one run of numbers: every balance change with its cause, every funding payment, every
 * security event, and every finished transfer. It is not digested, since the state holds the same data; but the state keeps only
 * the latest, so a longer history has to be collected from here. Each row begins with a code: the cause of a balance change, 0 for
 * a funding payment, and a negative code for rows that carry text.
 */
import { assert } from "../domain/Assert.js"
import type { BalanceChange } from "./BalanceLog.js"
import type { FundingPayment } from "./FundingPayments.js"
import type { EndedTransfer } from "./funds/Transfer.js"
import type { SecurityEvent } from "./identity/SecurityLog.js"

/** A balance change without what is known from its record. */
export type ToldChange = Omit<BalanceChange, "atEpochMs" | "place">
/** A funding payment, likewise. */
export type ToldPayment = Omit<FundingPayment, "atEpochMs">
/** A security event, with its own time. */
export type ToldNote = SecurityEvent
/** A finished transfer; published again where the ledger reports something about it later. */
export type ToldTransfer = EndedTransfer

const changeWords = 6
const paymentWords = 10
/** The head of a text row: its code and the number of UTF-8 bytes that follow, padded to whole words. */
const textHeadWords = 2
const wordBytes = 8

/** Codes of rows whose text is JSON. */
const textCodes = { note: -1, transfer: -2 } as const

export class Told {
  words = new Float64Array(1024)
  length = 0

  /** Money in money atoms; `market`: -1 where it concerns none. */
  change(sequence: number, account: number, cause: number, market: number, amountAtoms: number, balanceAtoms: number): void {
    const at = this.begin(changeWords)
    const { words } = this
    words[at] = cause
    words[at + 1] = sequence
    words[at + 2] = account
    words[at + 3] = market
    words[at + 4] = amountAtoms
    words[at + 5] = balanceAtoms
  }

  payment(
    { account, endedAtEpochMs, indexPriceAtoms, intervalMs, market, paidAtoms, quantityAtoms, rate8hE9, sequence }: ToldPayment
  ): void {
    const at = this.begin(paymentWords)
    const { words } = this
    words[at] = 0
    words[at + 1] = sequence
    words[at + 2] = account
    words[at + 3] = market
    words[at + 4] = endedAtEpochMs
    words[at + 5] = quantityAtoms
    words[at + 6] = indexPriceAtoms
    words[at + 7] = rate8hE9
    words[at + 8] = intervalMs
    words[at + 9] = paidAtoms
  }

  note(note: ToldNote): void {
    this.text(textCodes.note, JSON.stringify(note))
  }

  transfer(transfer: ToldTransfer): void {
    this.text(textCodes.transfer, JSON.stringify(transfer))
  }

  private text(code: number, text: string): void {
    const bytes = Buffer.from(text, "utf8")
    const at = this.begin(textHeadWords + Math.ceil(bytes.length / wordBytes))
    const { words } = this
    words[at] = code
    words[at + 1] = bytes.length
    const into = new Uint8Array(words.buffer, (at + textHeadWords) * wordBytes, (this.length - at - textHeadWords) * wordBytes)
    into.fill(0)
    into.set(bytes)
  }

  /** A copy of all rows. */
  copied(): Float64Array {
    return this.words.slice(0, this.length)
  }

  private begin(count: number): number {
    const at = this.length
    const end = at + count
    if (end > this.words.length) {
      const grown = new Float64Array(Math.max(this.words.length * 2, end))
      grown.set(this.words)
      this.words = grown
    }
    this.length = end
    return at
  }
}

/** The rows in a run of words, by kind, each in its order. */
export interface Rows {
  readonly changes: ReadonlyArray<ToldChange>
  readonly payments: ReadonlyArray<ToldPayment>
  readonly notes: ReadonlyArray<ToldNote>
  readonly transfers: ReadonlyArray<ToldTransfer>
}

/** The text of a row, and the number of words that the row takes. */
const textAt = (words: Float64Array, at: number): { readonly text: string; readonly length: number } => {
  const bytes = words[at + 1]!
  const from = words.byteOffset + (at + textHeadWords) * wordBytes
  const length = textHeadWords + Math.ceil(bytes / wordBytes)
  assert(at + length <= words.length, "rows are whole")
  return { text: Buffer.from(words.buffer, from, bytes).toString("utf8"), length }
}

export const decode = (words: Float64Array): Rows => {
  const changes: Array<ToldChange> = []
  const payments: Array<ToldPayment> = []
  const notes: Array<ToldNote> = []
  const transfers: Array<ToldTransfer> = []
  for (let at = 0; at < words.length;) {
    const code = words[at]!
    if (code < 0) {
      const { length, text } = textAt(words, at)
      if (code === textCodes.note) notes.push(JSON.parse(text) as ToldNote)
      else transfers.push(JSON.parse(text) as ToldTransfer)
      at += length
      continue
    }
    assert(at + (code === 0 ? paymentWords : changeWords) <= words.length, "rows are whole")
    const [sequence, account, market] = [words[at + 1]!, words[at + 2]!, words[at + 3]!]
    if (code === 0) {
      payments.push({
        sequence,
        account,
        market,
        endedAtEpochMs: words[at + 4]!,
        quantityAtoms: words[at + 5]!,
        indexPriceAtoms: words[at + 6]!,
        rate8hE9: words[at + 7]!,
        intervalMs: words[at + 8]!,
        paidAtoms: words[at + 9]!
      })
      at += paymentWords
    } else {
      changes.push({ sequence, account, cause: code, market, amountAtoms: words[at + 4]!, balanceAtoms: words[at + 5]! })
      at += changeWords
    }
  }
  return { changes, payments, notes, transfers }
}
