/**
 * What the writer has decided in each market since the process started, for monitoring: orders, trades and refusals. It affects no
 * decision. A market's counters are allocated with its first decision and incremented in place.
 */
import * as Market from "../domain/Market.js"
import { Refusal } from "../domain/Refusal.js"
import { Event } from "../engine/EventLog.js"
import { type Command, of, type Outcome, refusalOf } from "../operations/Operations.js"
import { OrderDecided } from "../operations/orders/OrderDecided.js"

/** Indexes of a market's counters; those of its refusals follow, by refusal code. */
const ordersAt = 0
const tradesAt = 1
const deleveragedAt = 2
const exhaustedAt = 3
const refusalsAt = 4

const haltedCode = Market.statuses.indexOf("halted")

const codes: ReadonlyArray<Refusal> = Object.values(Refusal)
const width = refusalsAt + Math.max(...codes) + 1

/** How often a refusal occurred in a market. */
export interface Refusals {
  readonly refusal: Refusal
  readonly count: number
}

export class Activity {
  private readonly markets: Array<Float64Array | undefined> = []
  /** The market of the latest deleveraging, and the size that is still open, size atoms. */
  private readonly deleveraging = { market: -1, leftAtoms: 0 }

  /** Orders accepted in a market, from clients and from triggers. */
  orders(market: number): number {
    return this.markets[market]?.[ordersAt] ?? 0
  }

  trades(market: number): number {
    return this.markets[market]?.[tradesAt] ?? 0
  }

  /** Counterparty positions closed by deleveraging in a market. */
  deleveragings(market: number): number {
    return this.markets[market]?.[deleveragedAt] ?? 0
  }

  /**
   * How often a market was halted because no counterparty was left. A halt or a delisting by an operator that lies in one block behind
   * a record that left a deleveraging of the market unfinished is counted as well.
   */
  exhausted(market: number): number {
    return this.markets[market]?.[exhaustedAt] ?? 0
  }

  /** Refusals in a market by code, without those that never occurred. */
  refusals(market: number): ReadonlyArray<Refusals> {
    const numbers = this.markets[market]
    if (numbers === undefined) return []
    return codes.map((refusal) => ({ refusal, count: numbers[refusalsAt + refusal]! })).filter(({ count }) => count > 0)
  }

  /** Counts the events of a block. */
  built(events: Float64Array): void {
    for (let at = 0; at < events.length; at += 2 + events[at + 1]!) {
      const code = events[at]
      if (code === Event.Traded) this.of(events[at + 2]!)[tradesAt]!++
      else if (code === Event.OrderAccepted) this.of(events[at + 4]!)[ordersAt]!++
      else if (code === Event.DeleveragingBegun) {
        this.deleveraging.market = events[at + 3]!
        this.deleveraging.leftAtoms = events[at + 4]!
      } else if (code === Event.Deleveraged) {
        this.of(events[at + 4]!)[deleveragedAt]!++
        this.deleveraging.leftAtoms -= events[at + 5]!
      } else if (code === Event.MarketStatusSet) this.moved(events[at + 2]!, events[at + 3]!)
    }
    // The record that continues an unfinished deleveraging reports its beginning again.
    this.deleveraging.market = -1
  }

  /** Counts a change of a market's status. */
  private moved(market: number, status: number): void {
    const { deleveraging } = this
    if (status !== haltedCode || deleveraging.market !== market || deleveraging.leftAtoms === 0) return
    this.of(market)[exhaustedAt]!++
    deleveraging.market = -1
  }

  /**
   * Counts the refusals of what decides orders, in the market that the command names: of the whole command or of its entries. A
   * repeated answer was counted before.
   */
  answered(command: Command, outcome: Outcome): void {
    if (outcome.replayed) return
    if (command.kind === "PlaceOrders") {
      const { entries } = command
      for (let index = 0; index < entries.length; index++) this.refused(entries[index]!.market, index, outcome)
    } else if ("market" in command && of(command).outcome === OrderDecided) this.refused(command.market, 0, outcome)
  }

  private refused(market: number, index: number, { entries, refusal }: Outcome): void {
    const entry = entries[index]
    const why = refusal !== Refusal.none || entry === undefined ? refusal : refusalOf(entry)
    // Unknown markets get no counters, since clients could otherwise create as many as they like.
    if (why !== Refusal.none && market >= 0) this.of(market)[refusalsAt + why]!++
  }

  private of(market: number): Float64Array {
    return this.markets[market] ??= new Float64Array(width)
  }
}
