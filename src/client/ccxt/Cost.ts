/** Amounts and prices on a market's grid, in exact decimals. */
import { type Exchange, type Num, Precise, type Str } from "ccxt"

/** The step nearest to a positive decimal, half up, but at least one step. */
export const nearestStep = (text: string, step: Str): Str => {
  const rest = Precise.stringMod(text, step)
  const below = Precise.stringSub(text, rest)
  const isUp = Precise.stringEq(below, "0") || Precise.stringGe(Precise.stringMul(rest, "2"), step)
  return isUp ? Precise.stringAdd(below, step) : below
}

/** What a side of the book offers for a cost: the amount in whole lots, and the price of the last level used. */
export const amountFor = (
  exchange: Exchange,
  levels: ReadonlyArray<readonly [Num, Num]>,
  cost: number,
  lot: Str
): { readonly amount: number; readonly worst: Num } => {
  let left: Str = exchange.numberToString(cost)
  let amount: Str = "0"
  let worst: Num
  for (const [price, size] of levels) {
    const [at, there] = [exchange.numberToString(price ?? 0), exchange.numberToString(size ?? 0)]
    const affordable = Precise.stringDiv(left, at, 18)
    const taken = Precise.stringMin(there, Precise.stringSub(affordable, Precise.stringMod(affordable, lot)))
    worst ??= price
    if (!Precise.stringGt(taken, "0")) break
    worst = price
    amount = Precise.stringAdd(amount, taken)
    left = Precise.stringSub(left, Precise.stringMul(taken, at))
    if (Precise.stringLt(taken, there)) break
  }
  return { amount: Number(amount), worst }
}
