/**
 * A digest of part of a state that costs microseconds however large the state is: all counts and sums, some markets with the top of
 * their books, and a few accounts with their positions and orders. The selection depends on the sequence, so that successive
 * samples reach every account. It does not depend on how the state is stored: two engines that have applied the same records have
 * the same sample.
 */
import { none } from "../domain/None.js"
import { sha256 } from "../journal/Block.js"
import { type State, valueNames } from "../engine/State.js"

/** Most of each kind that one sample covers. */
const marketsAtOnce = 8
const accountsAtOnce = 16
const positionsOfOne = 4
const ordersOfOne = 4
const ordersOfBook = 8

/** Spreads sequences over the sampled items. */
const scatter = 2_654_435_761

/** The first index of `count` items in the sample at a sequence. */
const beginning = (sequence: number, count: number): number => count === 0 ? 0 : (Math.imul(sequence, scatter) >>> 0) % count

/** Calls back for at most `atMost` of `count` indexes, beginning with `from` and wrapping around. */
const around = (from: number, count: number, atMost: number, each: (index: number) => void): void => {
  for (let offset = 0; offset < Math.min(count, atMost); offset++) each((from + offset) % count)
}

const ofMarket = ({ books, markets, orders }: State, index: number, into: Array<number>): void => {
  const market = markets[index]!
  const book = books[index]!
  into.push(market.lastPrice, market.indexPrice, market.mark, market.openInterest, market.bookSequence, market.marketSequence,
    market.fundingEpoch, market.premiumSumE9, book.orderCount)
  for (const side of [0, 1] as const) {
    into.push(book.bestPrice(side))
    let slot = book.best(side)
    for (let left = ordersOfBook; slot !== none && left > 0; left--) {
      into.push(orders.number(slot), orders.remaining(slot), orders.priceAtoms(slot))
      slot = book.nextSlot(slot)
    }
  }
}

const ofAccount = ({ accounts, orders, positions }: State, account: number, into: Array<number>): void => {
  into.push(account, accounts.collateral(account), accounts.lastSequence(account))
  let slot = accounts.firstPosition(account)
  for (let left = positionsOfOne; slot !== none && left > 0; left--) {
    into.push(positions.market(slot), positions.quantity(slot), positions.entryNotional(slot), positions.openBuys(slot),
      positions.openSells(slot), positions.openCount(slot), positions.realizedPnl(slot), positions.feesPaid(slot),
      positions.fundingEpoch(slot))
    let order = positions.firstOrder(slot)
    for (let orderLeft = ordersOfOne; order !== none && orderLeft > 0; orderLeft--) {
      into.push(orders.number(order), orders.remaining(order), orders.priceAtoms(order))
      order = orders.accountNext(order)
    }
    slot = positions.nextOfAccount(slot)
  }
}

/** SHA-256 over the sample of a state at its sequence, lowercase hex. */
export const stateSample = (state: State): string => {
  const { accounts, credited, fees, fundingPool, idempotency, markets, orders, positions, sequence } = state
  const numbers: Array<number> = [accounts.count, positions.count, markets.length, orders.size, idempotency.size, state.liquidations.size,
    state.switches.size, state.expiries.size, state.leaving.size, state.payments.length]
  around(beginning(sequence, markets.length), markets.length, marketsAtOnce, (market) => ofMarket(state, market, numbers))
  around(beginning(sequence, accounts.count), accounts.count, accountsAtOnce, (account) => ofAccount(state, account, numbers))
  const values = valueNames.map((name) => String(state[name])).join(" ")
  const totals = `${fees.atoms} ${credited.atoms} ${fundingPool.atoms}`
  const bytes = Buffer.concat([Buffer.from(new Float64Array(numbers).buffer), Buffer.from(`${values} ${totals}`)])
  return sha256(bytes).toString("hex")
}
