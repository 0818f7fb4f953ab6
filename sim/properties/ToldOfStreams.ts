/**
 * The updates that each record must have caused in the streams of an account and of a market, by the model: each thing in full, as it was
 * after the record. A snapshot may have been made later than the record that it names, so values that change without a record are left out
 * of the comparison.
 */
import type { Members } from "../model/Shown.js"
import * as Shown from "../model/Shown.js"
import * as ShownHistories from "../model/ShownHistories.js"
import * as Published from "../model/ShownPublished.js"
import type { NaiveTransferTold } from "../model/NaiveHistory.js"
import type { NaiveDecision, NaiveMarket, NaiveOrder } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { none } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Command } from "../../src/operations/Operations.js"
import { difference, without } from "./Difference.js"
import { broken, holds, type Verdict } from "./Property.js"
import { ToldOfFigures } from "./ToldOfFigures.js"

/** One record's update of a stream. */
interface Told {
  readonly sequence: number
  /** Fills and trades in order of execution, all others in the order of their ids. */
  readonly rows: ReadonlyArray<Members>
  /** Whether it may come with the next update instead. */
  readonly mayWait: boolean
}

/** Records that are kept of one stream: a client that resumes from further back gets a snapshot, or is not checked. */
const mostRemembered = 5_000
/** Most trades and fills in a snapshot: the latest. */
const mostOfSnapshot = 100

/** How rows of a stream are identified, and compared in snapshots. */
interface Kind {
  readonly id: string
  /** `latest`: the last rows, newest first. `standing`: the latest state of every row. */
  readonly snapshot: "latest" | "standing"
  /** A row without values that change without a record of the stream. */
  readonly still: (row: Members) => unknown
}

const whole = (row: Members): Members => row
const but = (...names: ReadonlyArray<string>) => (row: Members): unknown => without(row, names)
const both = (name: string): ReadonlyArray<string> => [name, `${name}Atoms`]

/** Values of a position and of a balance that depend on marks, on other positions of the account and on the market's parameters. */
const marked = ["markPrice", "initialMargin", "maintenanceMargin", "liquidationPrice", "unrealizedPnl"].flatMap(both)
const reckoned = ["equity", "marginEquity", "unrealizedPnl", "initialMargin", "maintenanceMargin", "orderLoss", "available", "withdrawable"]
  .flatMap(both)

/** Values of a market that depend on trades and time are checked elsewhere. */
const stillStatus = ({ market, marketSession, readModelDigest: _, resync: __, snapshotSequence: ___, ...row }: Members): unknown => ({
  ...row,
  market: without(market, [...both("lastPrice"), "change24hBps"]),
  marketSession: (market as Members)["marketType"] === "crypto" ? without(marketSession, ["asOfEpochMs"]) : marketSession
})

/**
 * Checks from where a snapshot of a market's status is to be gone on with: from its own record. Its client would miss what came between
 * that and a later one.
 */
const resyncFault = (name: string, sequence: number, [row]: ReadonlyArray<Members>): Verdict =>
  name === "market.status" ? difference("which", row?.["resync"], { stream: name, fromSequence: sequence }) : holds

/** Streams that are checked row by row. */
const kinds: Readonly<Record<string, Kind>> = {
  "account.orders": { id: "orderId", snapshot: "standing", still: whole },
  "account.fills": { id: "tradeId", snapshot: "latest", still: whole },
  "account.positions": { id: "marketId", snapshot: "standing", still: but(...marked, "leverageX") },
  "account.balance": { id: "accountId", snapshot: "standing", still: but(...reckoned, "journalSequence") },
  "account.deposits": { id: "depositId", snapshot: "standing", still: whole },
  "market.trades": { id: "tradeId", snapshot: "latest", still: whole },
  // Earlier prices are shown in the market's present decimals.
  "market.funding": { id: "endedAtEpochMs", snapshot: "latest", still: but("indexPrice") },
  "market.status": { id: "marketId", snapshot: "standing", still: stillStatus }
}

/** The channel of a stream or of its key here. */
const nameOf = (stream: string): string => stream.split(/[: ]/)[0]!
const marketIdOf = (stream: string): string => stream.split(":")[1]!
const isOfFigures = (stream: string): boolean => nameOf(stream) === "market.ticker"

/** The key of an account's or a market's stream. `stream` is the clients' name: `market.trades:BTC-USDC-PERP`. */
const keyOf = (stream: string, account: number): string => stream.startsWith("account.") ? `${stream} ${account}` : stream

/** The reported content of a market's status: parameters and announcements are replaced, never changed in place. */
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

/** For each account the markets where a record has changed its position or its settings. */
const positionsTouched = (
  { history: { changes }, sequence }: NaiveVenue,
  command: Command,
  { outcomes }: NaiveDecision
): ReadonlyMap<number, ReadonlySet<number>> => {
  const touched = new Map<number, Set<number>>()
  const touch = (account: number, market: number): void => void touched.set(account, (touched.get(account) ?? new Set()).add(market))
  for (let at = changes.length - 1; at >= 0 && changes[at]!.sequence === sequence; at--) touch(changes[at]!.account, changes[at]!.market)
  if (command.kind === "SetLeverage" && outcomes[0]!.refusal === Refusal.none) touch(command.account, command.market)
  return touched
}

/** A position after a record. */
const positionRow = (model: NaiveVenue, account: number, index: number): Members => {
  const market = model.markets[index]!
  return model.accounts[account]!.positions.has(index)
    ? Shown.position(model, account, market)
    : { marketId: market.parameters.marketId, closed: true, lastSequence: model.sequence }
}

/** Deposits that a record has changed, as they were after it. One that it has also forgotten is not reported. */
const depositsTold = ({ funds, history: { transfers }, sequence }: NaiveVenue): ReadonlyArray<NaiveTransferTold> => {
  const last = new Map<number, NaiveTransferTold>()
  for (let at = transfers.length - 1; at >= 0 && transfers[at]!.sequence === sequence; at--) {
    const told = transfers[at]!
    if (told.kind === "deposit" && !last.has(told.number)) last.set(told.number, told)
  }
  return [...last.values()].filter(({ number }) => !funds.transfers.some((each) => each.number === number && each.isForgotten))
}

export class ToldOfStreams {
  private readonly told = new Map<string, Array<Told>>()
  /** Open orders with triggers after the last record. */
  private closing: ReadonlySet<number> = new Set()
  private readonly figures = new ToldOfFigures()
  /** Each market's status after the last record, by index. */
  private readonly statuses: Array<ReadonlyArray<unknown>> = []
  private model: NaiveVenue | undefined

  /** Notes the changes of a record. */
  take(command: Command, decision: NaiveDecision, model: NaiveVenue): void {
    const { fills, touchedAccounts, touchedOrders } = decision
    this.model = model
    this.figures.take(model)
    const bySubject = new Map<string, Array<Members>>()
    const add = (key: string, row: Members): void => {
      const rows = bySubject.get(key) ?? []
      bySubject.set(key, rows)
      rows.push(row)
    }
    for (const order of new Set([...touchedOrders, ...this.unclosed(model)])) {
      if (order.by === "client") add(keyOf("account.orders", order.account), Shown.order(model, order))
    }
    // Of a record with more fills than the venue keeps, the first are gone before they could be sent.
    for (const fill of model.retained(fills)) {
      add(`market.trades:${model.markets[fill.market]!.parameters.marketId}`, Shown.trade(model, fill))
      for (const { account } of [fill.maker, fill.taker]) add(keyOf("account.fills", account), Shown.ownFill(model, fill, account))
    }
    for (const [account, markets] of positionsTouched(model, command, decision)) {
      for (const market of markets) add(keyOf("account.positions", account), positionRow(model, account, market))
    }
    for (const account of touchedAccounts) {
      if (model.accounts[account]!.lastSequence === model.sequence) add(keyOf("account.balance", account), Shown.balance(model, account))
    }
    for (const told of depositsTold(model)) add(keyOf("account.deposits", told.account), ShownHistories.deposit(model, told))
    // A new display handle changes nothing in a balance but the record that last changed its account.
    const named = command.kind === "SetDisplayHandle" ? keyOf("account.balance", command.account) : undefined
    for (const [key, rows] of bySubject) this.remember(key, model.sequence, inOrder(nameOf(key), rows), key === named)
    this.takeOwed(model)
    this.takeMarkets(model, command, decision)
  }

  /** A funding payment is effective at once, but sent only when it is entered: a snapshot made in between contains it. */
  private takeOwed(model: NaiveVenue): void {
    for (const [market, accounts] of model.newlyOwed) {
      for (const { index } of accounts) {
        this.remember(keyOf("account.positions", index), model.sequence, [positionRow(model, index, market.index)], true)
        this.remember(keyOf("account.balance", index), model.sequence, [Shown.balance(model, index)], true)
      }
    }
  }

  /** Open orders whose triggers a record has ended: they are sent like other changed orders. */
  private unclosed(model: NaiveVenue): ReadonlyArray<NaiveOrder> {
    const before = this.closing
    this.closing = new Set(model.brackets.all.filter(({ isOrderOpen }) => isOrderOpen).map(({ number }) => number))
    return [...before].flatMap((number) => {
      const order = this.closing.has(number) ? undefined : model.orders.get(number)
      return order?.status === Order.open ? [order] : []
    })
  }

  /** Notes the markets' status and their funding. */
  private takeMarkets(model: NaiveVenue, command: Command, { outcomes }: NaiveDecision): void {
    // A command that sets the present status, or announces the same delisting again, causes another update.
    const restates = command.kind === "SetMarketStatus" || command.kind === "DelistMarket" && command.action === "delist"
    const restated = restates && outcomes[0]!.refusal === Refusal.none ? command.market : none
    for (const market of model.markets) {
      const { parameters: { marketId }, risk } = market
      const ended = risk.fundings.at(-1)
      if (ended?.sequence === model.sequence) {
        this.remember(`market.funding:${marketId}`, model.sequence, [Published.interval(market, ended)])
      }
      const before = this.statuses[market.index]
      const now = statusOf(market)
      if (before !== undefined && restated !== market.index && now.every((value, at) => value === before[at])) continue
      this.statuses[market.index] = now
      const status = { ...Shown.market(model, market), readModelDigest: Shown.registryDigest(model) }
      this.remember(`market.status:${marketId}`, model.sequence, [status])
    }
  }

  private remember(key: string, sequence: number, rows: ReadonlyArray<Members>, mayWait = false): void {
    const all = this.told.get(key) ?? []
    this.told.set(key, all)
    all.push({ sequence, rows, mayWait })
    if (all.length > mostRemembered) all.shift()
  }

  /** A record between two others that had to cause an update of a stream; undefined where none had. */
  between(stream: string, account: number, behind: number, before: number): number | undefined {
    if (isOfFigures(stream)) return this.figures.between(marketIdOf(stream), behind, before)
    return this.told.get(keyOf(stream, account))?.find(({ mayWait, sequence }) => !mayWait && sequence > behind && sequence < before)
      ?.sequence
  }

  /** Checks that an update of a stream contains exactly the changes of its record. */
  updateFault(stream: string, account: number, sequence: number, data: ReadonlyArray<Members>): Verdict {
    if (isOfFigures(stream)) return this.figures.updateFault(marketIdOf(stream), sequence, data)
    const name = nameOf(stream)
    if (kinds[name] === undefined) return holds
    const all = this.told.get(keyOf(stream, account)) ?? []
    // A record that changes something may also begin payments of funding, which are sent when they are entered.
    const told = all.findLast((one) => one.sequence === sequence && !one.mayWait) ?? all.findLast((one) => one.sequence === sequence)
    // A record too long ago is not kept.
    if (told === undefined && sequence < (all[0]?.sequence ?? 0) && all.length === mostRemembered) return holds
    if (told === undefined) return broken(`which changed nothing of it: ${JSON.stringify(data)}`)
    return difference("which", inOrder(name, data), told.rows)
  }

  /** Checks that a snapshot of a market's figures is as of a time at which the clock may have stood when it was made. */
  momentFault(stream: string, sequence: number, upTo: number, data: ReadonlyArray<Members>, clock: readonly [number, number]): Verdict {
    return this.figures.snapshotFault(marketIdOf(stream), sequence, upTo, data, clock)
  }

  /** Checks that a snapshot of a stream has everything up to its record. `upTo`: the last record after which it may have been made. */
  snapshotFault(stream: string, account: number, sequence: number, upTo: number, data: ReadonlyArray<Members>): Verdict {
    if (isOfFigures(stream)) return this.figures.snapshotFault(marketIdOf(stream), sequence, upTo, data)
    const kind = kinds[nameOf(stream)]
    if (kind === undefined) return holds
    const resync = resyncFault(nameOf(stream), sequence, data)
    if (resync !== undefined) return resync
    const all = this.told.get(keyOf(stream, account)) ?? []
    if (kind.snapshot === "latest") return this.latestFault(kind, all, sequence, data)
    // It may contain changes that wait for the next update: whether it was made before them is not known.
    const behind = all.filter((one) => one.sequence > sequence && one.sequence <= upTo)
    const next = behind.findIndex(({ mayWait }) => !mayWait)
    const ends = [sequence, ...(next < 0 ? behind : behind.slice(0, next)).map((one) => one.sequence)]
    const verdicts = ends.map((end) => this.standingFault(kind, all, end, data))
    return verdicts.includes(holds) ? holds : verdicts[0]
  }

  /** Checks that the latest trades, fills or intervals are there, without gaps. */
  private latestFault({ id, still }: Kind, all: ReadonlyArray<Told>, sequence: number, data: ReadonlyArray<Members>): Verdict {
    const latest: Array<Members> = []
    for (let at = all.length - 1; at >= 0 && latest.length < mostOfSnapshot; at--) {
      const { rows, sequence: of } = all[at]!
      if (of <= sequence) latest.push(...rows.toReversed())
    }
    const expected = latest.slice(0, mostOfSnapshot)
    const verdict = difference("which", data.map(still), expected.slice(0, data.length).map(still))
    if (verdict !== undefined) return verdict
    // It has no more funding intervals than the venue keeps.
    const mostKept = id === "endedAtEpochMs" ? this.model!.published.kept.fundings : mostOfSnapshot
    const left = data.length >= mostKept ? undefined : expected[data.length]
    // Trades that the venue has forgotten are in no snapshot.
    return left === undefined || id === "tradeId" && !this.isKept(String(left[id])) ? holds : broken(`which leaves out ${String(left[id])}`)
  }

  /** Checks that every row is in its latest state, and that no existing one is left out. */
  private standingFault({ id, still }: Kind, all: ReadonlyArray<Told>, sequence: number, data: ReadonlyArray<Members>): Verdict {
    const last = new Map<unknown, Members>()
    for (const { rows, sequence: of } of all) if (of <= sequence) { for (const row of rows) last.set(row[id], row) }
    for (const row of data) {
      const told = last.get(row[id])
      // A row last changed too long ago is not kept.
      if (told === undefined && all.length === mostRemembered) continue
      if (told === undefined) return broken(`which has ${JSON.stringify(row)}, of which nothing was told`)
      const verdict = difference(`which of ${String(row[id])}`, still(row), still(told))
      if (verdict !== undefined) return verdict
      last.delete(row[id])
    }
    const left = [...last.values()].find((row) => !this.isGone(row))
    return left === undefined ? holds : broken(`which leaves out ${JSON.stringify(left)}`)
  }

  /** Whether the subject of a row is no longer in snapshots: an ended order, a flat position, a forgotten deposit. */
  private isGone(row: Members): boolean {
    if (row["orderId"] !== undefined) return row["status"] !== "open"
    const { depositId } = row
    if (depositId === undefined) return row["closed"] === true
    return this.model!.funds.transfers.some((transfer) => transfer.isForgotten && Shown.idOf("dep", transfer.number) === depositId)
  }

  /** Whether the venue still keeps a trade. */
  private isKept(tradeId: string): boolean {
    const { model } = this
    const fill = model?.trades.find(({ ordinal }) => Shown.idOf("trd", ordinal) === tradeId)
    return model !== undefined && fill !== undefined && model.retained([fill]).length > 0
  }
}

/** Rows of one record in the order of comparison: the venue may send them in any order, except fills and trades. */
const inOrder = (name: string, rows: ReadonlyArray<Members>): ReadonlyArray<Members> => {
  const { id, snapshot } = kinds[name]!
  return snapshot === "latest" ? rows : rows.toSorted((one, other) => String(one[id]) < String(other[id]) ? -1 : 1)
}
