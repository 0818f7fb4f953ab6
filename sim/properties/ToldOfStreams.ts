/**
 * What each record must have told of an account's orders and fills and of a market's trades, by the model: of every thing the whole of it
 * as it was behind the record. Of what a market is, only which records changed it: how it is told is compared where the model stands there.
 */
import type { Members } from "../model/Shown.js"
import * as Shown from "../model/Shown.js"
import type { NaiveDecision, NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { difference, without } from "./Difference.js"
import { broken, holds, type Verdict } from "./Property.js"

/** What one record told of a stream. */
interface Told {
  readonly sequence: number
  /** Orders in the order of their ids, fills and trades in that in which they happened. */
  readonly rows: ReadonlyArray<Members>
}

/** Records that are remembered of one stream: a client that comes back from further behind gets a snapshot, or is not judged. */
const mostRemembered = 5_000
/** Trades and fills of a snapshot, the latest. */
const mostOfSnapshot = 100

/** Streams that are judged, each with the member by which its rows are told apart. */
const idNames: Readonly<Record<string, string>> = {
  "account.orders": "orderId",
  "account.fills": "tradeId",
  "market.trades": "tradeId"
}

/** What an account's channel, or one of a market, is remembered under. `stream` is as clients call it: `market.trades:BTC-USDC-PERP`. */
const keyOf = (stream: string, account: number): string => stream.startsWith("account.") ? `${stream} ${account}` : stream

/** A row as it is compared: what closes by itself what an order opens is told by no model of orders. */
const compared = (row: unknown): Members => without(row, ["autoClose"]) as Members

/** What there is to tell of what a market is: parameters and announcements are replaced, not changed. */
const statusOf = ({ announced, delisting, parameters, session, status }: NaiveMarket): ReadonlyArray<unknown> => [
  status,
  parameters,
  announced,
  delisting?.state,
  delisting?.effectiveAtEpochMs,
  delisting?.finalPrice,
  delisting?.settledAtEpochMs,
  session?.state,
  session?.opens,
  session?.closes,
  session?.cutoff
]

export class ToldOfStreams {
  private readonly told = new Map<string, Array<Told>>()
  /** What each market was behind the last record, by index. */
  private readonly statuses: Array<ReadonlyArray<unknown>> = []
  private model: NaiveVenue | undefined

  /** Takes what a record did. */
  take({ fills, touchedOrders }: NaiveDecision, model: NaiveVenue): void {
    this.model = model
    const bySubject = new Map<string, Array<Members>>()
    const add = (key: string, row: Members): void => {
      const rows = bySubject.get(key) ?? []
      bySubject.set(key, rows)
      rows.push(row)
    }
    for (const order of touchedOrders) if (order.by === "client") add(keyOf("account.orders", order.account), Shown.order(model, order))
    for (const fill of fills) {
      add(`market.trades:${model.markets[fill.market]!.parameters.marketId}`, Shown.trade(model, fill))
      for (const { account } of [fill.maker, fill.taker]) add(keyOf("account.fills", account), Shown.ownFill(model, fill, account))
    }
    for (const [key, rows] of bySubject) this.remember(key, model.sequence, key.startsWith("account.orders") ? byId("orderId", rows) : rows)
    for (const market of model.markets) {
      const before = this.statuses[market.index]
      const now = statusOf(market)
      if (before !== undefined && now.every((value, at) => value === before[at])) continue
      this.statuses[market.index] = now
      this.remember(`market.status:${market.parameters.marketId}`, model.sequence, [])
    }
  }

  private remember(key: string, sequence: number, rows: ReadonlyArray<Members>): void {
    const all = this.told.get(key) ?? []
    this.told.set(key, all)
    all.push({ sequence, rows })
    if (all.length > mostRemembered) all.shift()
  }

  /** A record behind one and before another that told something of a stream, or up to that other where `through`; undefined where none did. */
  between(stream: string, account: number, behind: number, before: number): number | undefined {
    return this.told.get(keyOf(stream, account))?.find(({ sequence }) => sequence > behind && sequence < before)?.sequence
  }

  /** Whether an update of a stream tells what its record did, in full and nothing else. */
  updateFault(stream: string, account: number, sequence: number, data: ReadonlyArray<Members>): Verdict {
    const idName = idNames[stream.split(":")[0]!]
    if (idName === undefined) return holds
    const all = this.told.get(keyOf(stream, account)) ?? []
    const told = all.findLast((one) => one.sequence === sequence)
    // What is so long ago is not remembered.
    if (told === undefined && sequence < (all[0]?.sequence ?? 0) && all.length === mostRemembered) return holds
    if (told === undefined) return broken(`which changed nothing of it: ${JSON.stringify(data)}`)
    const rows = data.map(compared)
    return difference("which", idName === "orderId" ? byId(idName, rows) : rows, told.rows)
  }

  /** Whether a snapshot of a stream has what was told of it up to its record: the latest trades and fills, and orders as they were. */
  snapshotFault(stream: string, account: number, sequence: number, data: ReadonlyArray<Members>): Verdict {
    const idName = idNames[stream.split(":")[0]!]
    if (idName === undefined) return holds
    const all = this.told.get(keyOf(stream, account)) ?? []
    if (idName === "orderId") {
      for (const order of data) {
        const told = all.findLast((one) => one.sequence === order["lastSequence"])?.rows.find((row) => row[idName] === order[idName])
        const verdict = told === undefined ? holds : difference(`which of ${String(order[idName])}`, compared(order), told)
        if (verdict !== undefined) return verdict
      }
      return holds
    }
    const latest: Array<Members> = []
    for (let at = all.length - 1; at >= 0 && latest.length < mostOfSnapshot; at--) {
      const { rows, sequence: of } = all[at]!
      if (of <= sequence) latest.push(...rows.toReversed())
    }
    const expected = latest.slice(0, mostOfSnapshot)
    const verdict = difference("which", data, expected.slice(0, data.length))
    if (verdict !== undefined) return verdict
    const left = expected[data.length]
    // What the venue has forgotten of trades is in no snapshot.
    return left === undefined || !this.isKept(String(left[idName])) ? holds : broken(`which leaves out ${String(left[idName])}`)
  }

  /** Whether the venue still keeps a trade. */
  private isKept(tradeId: string): boolean {
    const { model } = this
    const fill = model?.trades.find(({ ordinal }) => Shown.idOf("trd", ordinal) === tradeId)
    return model !== undefined && fill !== undefined && model.retained([fill]).length > 0
  }
}

const byId = (name: string, rows: ReadonlyArray<Members>): ReadonlyArray<Members> =>
  rows.toSorted((one, other) => String(one[name]) < String(other[name]) ? -1 : 1)
