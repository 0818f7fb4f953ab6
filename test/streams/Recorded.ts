/**
 * What the venue did to some accounts and to a book, record by record, read from its engine after each record and without the streams:
 * which order, fill, position, balance or deposit a record changed is found by comparing the engine's reads before and after it.
 */
import { createHash } from "node:crypto"
import { anyMarket } from "../../src/domain/None.js"
import { balance } from "../../src/edge/accounts/getBalance.js"
import { ownFill } from "../../src/edge/accounts/listFills.js"
import { position } from "../../src/edge/accounts/listPositions.js"
import { deposit } from "../../src/edge/funds/TransferRecord.js"
import * as OrderText from "../../src/edge/orders/OrderText.js"
import type { AccountChannel } from "../../src/streams/Channels.js"
import type { LiveVenue } from "../edge/LiveVenue.js"

/** The most orders that one record of these tests places for an account, and its deposits that are under way or ended last. */
const placedAtOnce = 4
const depositsLookedAt = 3
const fromNewest = Number.POSITIVE_INFINITY

/** A whole book as a short text: every level of both sides, best first. */
export const bookDigest = (bids: Iterable<readonly [string, string]>, asks: Iterable<readonly [string, string]>): string => {
  const hash = createHash("sha1")
  for (const [name, side] of [["b", bids], ["a", asks]] as const)
    for (const [price, size] of side) hash.update(`${name} ${price} ${size}\n`)
  return hash.digest("hex")
}

/** What a record changed of one thing, in one line: the sequence and the new data. */
export const line = (sequence: number, data: ReadonlyArray<unknown>): string =>
  `${sequence} ${data.map((each) => JSON.stringify(each)).sort().join(" ")}`

/** One account, and its data as of the last record examined. */
class RecordedAccount {
  readonly lines = new Map<AccountChannel, Array<string>>()
  private open: ReadonlyArray<number> = []
  private positions = new Map<string, number>()
  private deposits = new Map<string, string>()

  constructor(private readonly venue: LiveVenue, readonly account: number) {}

  look(): void {
    this.note("account.orders", this.changedOrders())
    this.note("account.fills", this.newFills())
    this.note("account.positions", this.changedPositions())
    const { engine } = this.venue
    this.note("account.balance", engine.account(this.account).lastSequence === engine.sequence ? [balance(engine, this.account)] : [])
    this.note("account.deposits", this.changedDeposits())
  }

  private note(channel: AccountChannel, data: ReadonlyArray<unknown>): void {
    if (data.length === 0) return
    const all = this.lines.get(channel) ?? []
    this.lines.set(channel, all)
    all.push(line(this.venue.engine.sequence, data))
  }

  private changedOrders(): ReadonlyArray<unknown> {
    const { account, venue: { engine } } = this
    const newest = engine.orders(account, { market: anyMarket, status: undefined }, fromNewest, placedAtOnce).orders
    const numbers = new Set([...this.open, ...newest.map(({ orderNumber }) => orderNumber)])
    this.open = engine.openOrders(account, anyMarket).map(({ orderNumber }) => orderNumber)
    return [...numbers, ...this.open.filter((number) => !numbers.has(number))]
      .map((number) => engine.findOrder(account, number)!)
      .filter(({ lastSequence }) => lastSequence === engine.sequence)
      .map((view) => JSON.parse(OrderText.order(engine.accountId(account), engine.market(view.market).parameters, view)))
  }

  private newFills(): ReadonlyArray<unknown> {
    const { account, venue: { engine } } = this
    const mine: Array<unknown> = []
    for (let limit = 16;; limit *= 4) {
      const fills = engine.fills(account, anyMarket, fromNewest, limit)
      const fresh = fills.filter(({ sequence }) => sequence === engine.sequence)
      if (fresh.length === limit) continue
      for (const fill of fresh) mine.push(ownFill(engine.market(fill.market).parameters, engine.accountId(account), account, fill))
      return mine
    }
  }

  private changedPositions(): ReadonlyArray<unknown> {
    const { account, venue: { engine } } = this
    const views = engine.positions(account)
    const now = new Map(views.map((view) => [engine.market(view.market).parameters.marketId, view.lastSequence]))
    const closed = [...this.positions.keys()].filter((marketId) => !now.has(marketId))
    const changed = views.filter((view) => this.positions.get(engine.market(view.market).parameters.marketId) !== view.lastSequence)
    this.positions = now
    return [
      ...closed.map((marketId) => ({ marketId, closed: true, lastSequence: engine.sequence })),
      ...changed.map((view) => position(engine.market(view.market).parameters, view))
    ]
  }

  private changedDeposits(): ReadonlyArray<unknown> {
    const { account, deposits, venue: { engine } } = this
    return engine.transfersOf(account, "deposit", fromNewest, depositsLookedAt).flatMap((transfer) => {
      // Progress of a step is sent too, even if the shown data does not change.
      const text = JSON.stringify(transfer)
      if (deposits.get(transfer.id) === text) return []
      deposits.set(transfer.id, text)
      return [deposit({ environment: engine.environment, state: engine }, transfer)]
    })
  }
}

export class Recorded {
  private readonly accounts: ReadonlyArray<RecordedAccount>
  /** By record, the digest of the book after it. */
  readonly books = new Map<number, string>()

  constructor(venue: LiveVenue, accounts: ReadonlyArray<number>, market: number) {
    this.accounts = accounts.map((account) => new RecordedAccount(venue, account))
    const texts = (side: ReadonlyArray<readonly [number, number]>) => side.map(([price, size]) => [String(price), String(size)] as const)
    const look = (): void => {
      for (const account of this.accounts) account.look()
      // A book is sent under the last record that changed it, which at first was long ago.
      const { bookSequence } = venue.engine.market(market)
      if (this.books.has(bookSequence)) return
      const { asks, bids } = venue.engine.book(market, Number.POSITIVE_INFINITY)
      this.books.set(bookSequence, bookDigest(texts(bids), texts(asks)))
    }
    look()
    // Existing orders and positions have not changed yet.
    for (const { lines } of this.accounts) lines.clear()
    const run = venue.run.bind(venue)
    venue.run = (command, shown) => {
      const before = venue.engine.sequence
      const outcome = run(command, shown)
      if (venue.engine.sequence > before) look()
      return outcome
    }
  }

  /** What happened to an account after a record, by channel, oldest first. */
  of(account: number, channel: AccountChannel, behind: number): ReadonlyArray<string> {
    const lines = this.accounts.find((recorded) => recorded.account === account)?.lines.get(channel) ?? []
    return lines.filter((text) => Number.parseInt(text, 10) > behind)
  }
}
