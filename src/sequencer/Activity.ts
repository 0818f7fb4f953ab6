/**
 * What the writer decided in each market since the process started, for whoever watches the venue: orders, trades and refusals. It
 * decides nothing; a market's numbers are made with its first decision, and counting adds to them in place.
 */
import * as Market from "../domain/Market.js"
import { Refusal } from "../domain/Refusal.js"
import { Event } from "../engine/EventLog.js"
import { type Command, type Outcome, refusalOf } from "../operations/Operations.js"

/** Where a market's numbers stand; its refusals follow, by their codes. */
const ordersAt = 0
const tradesAt = 1
const deleveragedAt = 2
const exhaustedAt = 3
const refusalsAt = 4

const haltedCode = Market.statuses.indexOf("halted")

const codes: ReadonlyArray<Refusal> = Object.values(Refusal)
const width = refusalsAt + Math.max(...codes) + 1

/** How often something was refused in a market. */
export interface Refusals {
  readonly refusal: Refusal
  readonly count: number
}

export class Activity {
  private readonly markets: Array<Float64Array | undefined> = []
  /** The market of the deleveraging that was begun last, and what of it nobody has closed so far, size atoms. */
  private readonly deleveraging = { market: -1, leftAtoms: 0 }

  /** Orders that were accepted in a market, whether a client sent them or a trigger. */
  orders(market: number): number {
    return this.markets[market]?.[ordersAt] ?? 0
  }

  trades(market: number): number {
    return this.markets[market]?.[tradesAt] ?? 0
  }

  /** Positions of counterparties that were closed in a market to close somebody else's. */
  deleveragings(market: number): number {
    return this.markets[market]?.[deleveragedAt] ?? 0
  }

  /**
   * How often a market was halted because nobody was left to close against. One that an operator halts in the very record that
   * left a deleveraging of it to the next is counted as well.
   */
  exhausted(market: number): number {
    return this.markets[market]?.[exhaustedAt] ?? 0
  }

  /** What was refused in a market, by the refusals' codes; those that never came are left out. */
  refusals(market: number): ReadonlyArray<Refusals> {
    const numbers = this.markets[market]
    if (numbers === undefined) return []
    return codes.map((refusal) => ({ refusal, count: numbers[refusalsAt + refusal]! })).filter(({ count }) => count > 0)
  }

  /** Takes in what a block came to. */
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
    // What a record leaves to the next begins again there.
    this.deleveraging.market = -1
  }

  /** Takes in that a market has another status. */
  private moved(market: number, status: number): void {
    const { deleveraging } = this
    if (status !== haltedCode || deleveraging.market !== market || deleveraging.leftAtoms === 0) return
    this.of(market)[exhaustedAt]!++
    deleveraging.market = -1
  }

  /** Takes in what a placement or an amendment was refused for, whole or in part; what is told again was counted before. */
  answered(command: Command, outcome: Outcome): void {
    if (outcome.replayed) return
    if (command.kind === "PlaceOrders") {
      const { entries } = command
      for (let index = 0; index < entries.length; index++) this.refused(entries[index]!.market, index, outcome)
    } else if (command.kind === "AmendOrder") this.refused(command.market, 0, outcome)
  }

  private refused(market: number, index: number, { entries, refusal }: Outcome): void {
    const entry = entries[index]
    const why = refusal !== Refusal.none || entry === undefined ? refusal : refusalOf(entry)
    // A market that nobody knows has no numbers: whoever names them would make as many as they like.
    if (why !== Refusal.none && market >= 0) this.of(market)[refusalsAt + why]!++
  }

  private of(market: number): Float64Array {
    return this.markets[market] ??= new Float64Array(width)
  }
}
