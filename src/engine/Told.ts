/**
 * What accounts are told beside events, as a run of numbers: every change of a balance with its cause, and every payment of funding.
 * It is of no digest, since the state has it too; but the state keeps the latest alone, and whoever keeps more of it than that takes
 * it from here. Each row begins with the code of its cause, 0 of a payment.
 */
import { assert } from "../domain/Assert.js"
import type { BalanceChange } from "./BalanceLog.js"
import type { FundingPayment } from "./FundingPayments.js"

/** A change of a balance, but for what its record says of it. */
export type ToldChange = Omit<BalanceChange, "atEpochMs" | "place">
/** A payment of funding, likewise. */
export type ToldPayment = Omit<FundingPayment, "atEpochMs">

const changeWords = 6
const paymentWords = 10

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

  /** A copy of all of it. */
  copied(): Float64Array {
    return this.words.slice(0, this.length)
  }

  private begin(count: number): number {
    const at = this.length
    const end = at + count
    if (end > this.words.length) {
      const grown = new Float64Array(this.words.length * 2)
      grown.set(this.words)
      this.words = grown
    }
    this.length = end
    return at
  }
}

/** The rows in a run of words, in their order. */
export const decode = (
  words: Float64Array
): { readonly changes: ReadonlyArray<ToldChange>; readonly payments: ReadonlyArray<ToldPayment> } => {
  const changes: Array<ToldChange> = []
  const payments: Array<ToldPayment> = []
  for (let at = 0; at < words.length;) {
    const cause = words[at]!
    assert(at + (cause === 0 ? paymentWords : changeWords) <= words.length, "rows are whole")
    const [sequence, account, market] = [words[at + 1]!, words[at + 2]!, words[at + 3]!]
    if (cause === 0) {
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
      changes.push({ sequence, account, cause, market, amountAtoms: words[at + 4]!, balanceAtoms: words[at + 5]! })
      at += changeWords
    }
  }
  return { changes, payments }
}
