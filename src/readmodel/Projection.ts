/**
 * Projects committed blocks to the rows of the histories: the events of each record in order, with the record's time. It holds only
 * what may still change; finished rows are handed over with the next batch.
 */
import { assert } from "../domain/Assert.js"
import * as Ids from "../domain/Ids.js"
import { notionalFactor } from "../domain/Market.js"
import type * as Order from "../domain/Order.js"
import { decodeTold, Event } from "../engine/EventLog.js"
import type { Committed } from "../sequencer/Feed.js"
import { Candles, type CandleRow } from "./Candles.js"
import { Causes } from "./Causes.js"
import { type Episode, Episodes } from "./Episodes.js"
import { Fills } from "./Fills.js"
import { Money } from "./Money.js"
import { Orders } from "./Orders.js"
import { type ScoreRow, Scores } from "./Scores.js"
import type { NoteRow } from "./SecurityTables.js"
import type { Batch, Scale } from "./Tables.js"
import type { TransferRow } from "./TransferTables.js"

/** Additional flags besides the operators': the account is the venue's own, or a bot has had a key of it. */
export const venuesOwn = 1 << 20
export const hadBotKey = 1 << 21
const noOperators = venuesOwn | hadBotKey

/** The stored state from which a projection continues. */
export interface Kept {
  readonly candles: ReadonlyArray<CandleRow>
  readonly scales: ReadonlyArray<Scale>
  /** Open episodes, and the number of episodes so far. */
  readonly episodes: ReadonlyArray<Episode>
  readonly born: number
  readonly scores: ReadonlyArray<ScoreRow>
  readonly flags: ReadonlyArray<readonly [account: number, flags: number]>
  /** How many fills there were. */
  readonly fills: number
}

/** The state before anything was applied. */
export const nothingKept: Kept = { candles: [], scales: [], episodes: [], born: 0, scores: [], flags: [], fills: 0 }

/** A record whose events are taken in. */
type Record = Committed["block"]["records"][number]

export class Projection {
  private readonly candles: Candles
  private readonly episodes: Episodes
  private readonly scores: Scores
  private readonly orders = new Orders()
  private readonly fills: Fills
  private readonly money = new Money()
  private notes: Array<NoteRow> = []
  private transfers: Array<TransferRow> = []
  /** Of every account that has ever had a flag, and whose of them have changed. */
  private readonly flags: Map<number, number>
  private flagged = new Set<number>()
  private readonly causes = new Causes()
  private readonly scales: Map<number, Scale>
  private rescaled = new Map<number, Scale>()

  constructor(kept: Kept) {
    this.candles = new Candles(kept.candles)
    this.episodes = new Episodes(kept.episodes, kept.born)
    this.scores = new Scores(kept.scores)
    this.flags = new Map(kept.flags)
    this.fills = new Fills(kept.fills)
    this.scales = new Map(kept.scales.map((scale) => [scale.market, scale]))
  }

  /** Applies a block. */
  apply(committed: Committed): void {
    const { block, block: { records }, events: words } = committed
    const told = decodeTold(committed.told)
    this.money.add(block, told)
    for (const note of told.notes) this.notes.push(note)
    for (const transfer of told.transfers) this.transfers.push(transfer)
    let at = 0
    for (const record of records) {
      const { atEpochMs, command } = record
      this.causes.begin()
      for (let code = 0; code !== Event.RecordDecided;) {
        assert(at < words.length, "every record ends what it decided")
        code = words[at]!
        const fields = at + 2
        at = fields + words[at + 1]!
        switch (code) {
          case Event.Traded:
            this.candles.add("trade", words[fields]!, words[fields + 1]!, words[fields + 2]!, atEpochMs)
            break
          case Event.IndexPriceSet:
            this.candles.add("index", words[fields]!, words[fields + 1]!, 0, atEpochMs)
            break
          case Event.MarketPut:
            if (command.kind === "PutMarket") this.putMarket(words[fields]!, command.parameters)
            break
          case Event.AccountFlagged:
            this.flag(words[fields]!, words[fields + 1]!, noOperators)
            break
          case Event.AccountOpened:
            if (words[fields + 1] === Ids.insuranceFundBorn) this.flag(words[fields]!, venuesOwn)
            break
          case Event.ApiKeyIssued:
            if (command.kind === "IssueBotKey") this.flag(words[fields + 1]!, hadBotKey)
            break
          default:
            break
        }
        this.takeOrder(code, words, fields, record)
        this.takePosition(code, words, fields, record)
      }
    }
  }

  /** Adds flags to an account's, of which the others are kept as far as they are in a mask. */
  private flag(account: number, flags: number, kept = -1): void {
    this.flags.set(account, flags | (this.flags.get(account) ?? 0) & kept)
    this.flagged.add(account)
  }

  /** Rows waiting to be stored, apart from changes of other rows; the caller decides how many justify a batch. */
  get waiting(): number {
    const { candles, episodes, fills, money, notes, orders, scores, transfers } = this
    const ofAccounts = money.waiting + notes.length + transfers.length
    return candles.waiting + episodes.waiting + scores.waiting + orders.waiting + fills.waiting + ofAccounts
  }

  /** Returns everything that has changed since the last call. */
  take(): Batch {
    const rescaled = [...this.rescaled.values()]
    this.rescaled = new Map()
    const flags = Array.from(this.flagged, (account) => [account, this.flags.get(account)!] as const)
    this.flagged = new Set()
    const { candles, episodes, fills, money, notes, orders, scores, transfers } = this
    this.notes = []
    this.transfers = []
    return {
      rescaled,
      candles: candles.take(),
      episodes: episodes.take(),
      born: episodes.born,
      scores: scores.take(),
      flags,
      orders: orders.take(),
      fills: fills.take(),
      fillCount: fills.count,
      money: money.take(),
      notes,
      transfers
    }
  }

  /** Applies an event as far as it concerns orders and fills. */
  private takeOrder(code: number, words: Float64Array, at: number, { atEpochMs, command, sequence }: Record): void {
    const { fills, orders } = this
    const word = (field: number): number => words[at + field]!
    switch (code) {
      case Event.OrderAccepted: {
        assert(command.kind === "PlaceOrders", "orders are accepted of placements")
        const { entries, idempotencyKey } = command
        return orders.place(words, at, { sequence, atEpochMs, idempotencyKey, entries })
      }
      case Event.OrderTermsChanged:
        return orders.amend(word(0), word(1), word(2))
      case Event.OrderEnded:
        return orders.end(word(0), {
          status: word(1) as Order.Status,
          cancelReason: word(2) as Order.CancelReason,
          filledAtoms: word(3),
          canceledAtoms: word(4),
          updatedAtEpochMs: atEpochMs,
          lastSequence: sequence
        })
      case Event.Traded: {
        const notionalAtoms = this.notionalAtoms(word(0), word(1), word(2))
        orders.fill(word(3), notionalAtoms)
        orders.fill(word(4), notionalAtoms)
        return fills.add(words, at, sequence, atEpochMs)
      }
      default:
    }
  }

  /** The notional of a fill: a safe integer by the market's bounds. */
  private notionalAtoms(market: number, priceAtoms: number, sizeAtoms: number): number {
    const scale = this.scales.get(market)
    assert(scale !== undefined, "a market was put before it trades")
    return priceAtoms * sizeAtoms * notionalFactor(scale)
  }

  /** Applies an event as far as it concerns positions; the cause of a change precedes it. */
  private takePosition(code: number, words: Float64Array, at: number, { atEpochMs, sequence }: Record): void {
    const { causes, episodes, scores } = this
    const word = (field: number): number => words[at + field]!
    switch (code) {
      case Event.LiquidationOrdered:
        return causes.sends(word(2), "liquidation")
      case Event.TriggerFired:
        return causes.sends(word(4), word(3) === 0 ? "take_profit" : "stop_loss")
      case Event.Traded:
        scores.add(word(5), atEpochMs, { fillCount: 1, feesPaidAtoms: BigInt(word(8)) })
        scores.add(word(6), atEpochMs, { fillCount: 1, feesPaidAtoms: BigInt(word(9)) })
        return causes.traded(word(4), word(5), word(8), word(9))
      case Event.TakenOver:
        return causes.takenOver(word(0))
      case Event.Deleveraged:
        return causes.deleveraged(word(0))
      case Event.Settled:
        return causes.settled()
      case Event.LiquidationFeePaid:
        return scores.add(word(0), atEpochMs, { feesPaidAtoms: BigInt(word(2)) })
      case Event.TakeoverDifferencePaid:
        // The price at which the position passed is only as far out as the market allows: what was lost with it is both together.
        return scores.add(word(0), atEpochMs, { realizedPnlAtoms: BigInt(word(2)) })
      case Event.FundingPaid:
        scores.add(word(0), atEpochMs, { fundingPaidAtoms: BigInt(word(2)) })
        return episodes.pay(word(0), word(1), word(2), sequence)
      case Event.PositionChanged: {
        const account = word(0)
        const changed = {
          account,
          market: word(1),
          quantityAtoms: word(2),
          entryNotionalAtoms: word(3),
          realizedPnlAtoms: word(4),
          feesPaidAtoms: word(5)
        }
        const cause = { sequence, atEpochMs, feeAtoms: causes.feeOf(account), reason: causes.reasonOf(account) }
        const { closedNotionalAtoms, realizedPnlAtoms } = episodes.change(changed, cause)
        // A position closed by deleveraging may have a negative notional.
        if (closedNotionalAtoms !== 0n || realizedPnlAtoms !== 0)
          scores.add(account, atEpochMs, { realizedPnlAtoms: BigInt(realizedPnlAtoms), closedNotionalAtoms })
        return
      }
      default:
    }
  }

  /** A draft market's scales may change: earlier prices are then in other atoms. */
  private putMarket(market: number, { priceScale, quantityScale }: Omit<Scale, "market">): void {
    const known = this.scales.get(market)
    if (known?.priceScale === priceScale && known.quantityScale === quantityScale) return
    if (known !== undefined) this.candles.forget(market)
    const scale = { market, priceScale, quantityScale }
    this.scales.set(market, scale)
    this.rescaled.set(market, scale)
  }
}
