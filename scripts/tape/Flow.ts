/** Assigns each recorded trade to a taker, and computes what the takers would hold if all were filled. */
import { notionalFactor } from "../../src/domain/Market.js"
import { type Message, priceScale, quantityScale } from "./Capture.js"
import type { Side } from "./Mirror.js"

const factor = notionalFactor({ priceScale, quantityScale })

/**
 * Assigns trades to takers in turn. Split by side, one half of the takers buys what was bought and the other sells what was sold: so they
 * keep their positions, as leveraged traders do, and the market moves against one half of them.
 */
export class Turns {
  private readonly taken = { buy: 0, sell: 0 }

  constructor(private readonly takers: number, private readonly isSplit: boolean) {}

  /** The taker whose turn it is. */
  next(side: Side): number {
    const turn = this.taken[side]++
    if (!this.isSplit) return (turn + this.taken[side === "buy" ? "sell" : "buy"]) % this.takers
    const buyers = this.takers >> 1
    return side === "buy" ? turn % buyers : buyers + turn % (this.takers - buyers)
  }
}

const median = (values: ReadonlyArray<number>): number => [...values].sort((one, other) => one - other)[values.length >> 1] ?? 0

/**
 * The notional that each taker of a split tape would hold halfway through the tape, in money atoms. Trades before the first snapshot of the
 * book are assigned to nobody.
 */
export const usualHoldings = async (
  tape: AsyncIterable<Message>,
  takers: number,
  limitSeconds: number
): Promise<ReadonlyArray<number>> => {
  const turns = new Turns(takers, true)
  const held = new Array<number>(takers).fill(0)
  const bySecond = Array.from({ length: takers }, (): Array<number> => [])
  let firstEpochUs: number | undefined
  let hasBook = false
  for await (const message of tape) {
    firstEpochUs ??= message.atEpochUs
    const passedUs = message.atEpochUs - firstEpochUs
    if (passedUs > limitSeconds * 1e6) break
    if (passedUs >= bySecond[0]!.length * 1e6) held.forEach((notional, taker) => bySecond[taker]!.push(notional))
    if (message._tag === "Snapshot") hasBook = true
    if (message._tag !== "Trade" || !hasBook) continue
    const taker = turns.next(message.takerSide)
    held[taker] = held[taker]! + message.sizeAtoms * message.priceAtoms * factor
  }
  return bySecond.map(median)
}
