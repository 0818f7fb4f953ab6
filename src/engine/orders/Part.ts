/** Orders, open and ended, their books, the idempotency keys and fills that refer to them, and their timers. */
import { none } from "../../domain/None.js"
import * as Order from "../../domain/Order.js"
import { Book } from "../Book.js"
import { initialLength } from "../Columns.js"
import type { Deadlines } from "../Deadlines.js"
import { Fills } from "../Fills.js"
import { entryBytes, Idempotency } from "../Idempotency.js"
import * as OpenLists from "../OpenLists.js"
import { initialSlots, Orders, rowBytes } from "../Orders.js"
import { OutOfRoom } from "../OutOfRoom.js"
import type { Part } from "../Part.js"
import type { SectionReader, SectionWriter } from "../Sections.js"
import type { Capacity, Leaver, State } from "../State.js"
import * as Band from "./Band.js"
import { firstBroken } from "./Invariants.js"

/** Keys and times alternately, in the order in which they fall due. */
const encodeDeadlines = (name: string, deadlines: Deadlines, into: SectionWriter): void => {
  const entries = deadlines.entries()
  const flat = new Float64Array(entries.length * 2)
  entries.forEach((entry, index) => flat.set(entry, index * 2))
  into.column(name, flat)
}

const encode = (state: State, into: SectionWriter): void => {
  state.orders.encode(into)
  state.idempotency.encode(into)
  state.fills.encode(into)
  encodeDeadlines("switches", state.switches, into)
  encodeDeadlines("expiries", state.expiries, into)
  into.numbers("ended", state.endedLength, (older) => state.endedAt(older))
  into.numbers("endedTimes", state.endedLength, (older) => state.endedSince(older))
  // Nearly always empty, and snapshots of earlier versions have no such section.
  if (state.leaving.size > 0) into.json("leaving", [...state.leaving])
  if (state.connections.size > 0) {
    const entries = state.connections.entries()
    into.column("connections", Float64Array.from(
      entries.flatMap(({ account, connection, isEnded, orders }) => [connection, account, isEnded ? 1 : 0, orders.length])
    ))
    into.column("connections.orders", Float64Array.from(entries.flatMap(({ orders }) => orders)))
  }
  state.books.forEach((book, market) => into.column(`book.${market}`, book.heads()))
}

const tables = ({ idempotencyKeys, orders }: Capacity): ReadonlyMap<string, number> =>
  new Map([
    ["orders.rows", Orders.rowsLength(orders)],
    ["orders.pastRows", Orders.rowsLength(orders)],
    ["idempotency.rows", Idempotency.rowsLength(idempotencyKeys)]
  ])

const restoreConnections = (state: State, from: SectionReader): void => {
  const rows = from.floats("connections")
  const numbers = from.floats("connections.orders")
  for (let at = 0, first = 0; at < rows.length; at += 4) {
    const [connection, account, isEnded, count] = rows.subarray(at, at + 4)
    const orders = Array.from(numbers.subarray(first, first + count!))
    first += count!
    state.connections.restore({ connection: connection!, account: account!, isEnded: isEnded === 1, orders })
  }
}

const restore = (state: State, from: SectionReader): void => {
  const { capacity, sequence } = state
  const count = from.bytes("orders.rows").length / rowBytes
  // One slot more than the capacity is reserved for the venue's own order, and may have been used.
  if (count > capacity.orders + 1) throw new OutOfRoom("ORDER_CAPACITY", capacity.orders, count, sequence)
  const keys = from.bytes("idempotency.rows").length / entryBytes
  if (keys > capacity.idempotencyKeys) throw new OutOfRoom("IDEMPOTENCY_CAPACITY", capacity.idempotencyKeys, keys, sequence)
  state.orders = Orders.decode(from, capacity.orders, capacity.hashKey, initialLength(capacity.orders, initialSlots))
  if (state.orders.size > capacity.orders) throw new OutOfRoom("ORDER_CAPACITY", capacity.orders, state.orders.size, sequence)
  state.idempotency = Idempotency.decode(from, capacity)
  state.idempotency.retentionMinutes = state.retentionMinutes
  state.fills = Fills.decode(from)
  const pairs = (name: string, set: (key: number, atEpochMs: number) => void) => {
    const flat = from.floats(name)
    for (let at = 0; at < flat.length; at += 2) set(flat[at]!, flat[at + 1]!)
  }
  pairs("switches", (account, atEpochMs) => state.switches.set(account, atEpochMs))
  pairs("expiries", (order, atEpochMs) => state.expiries.set(order, atEpochMs))
  state.setEnded(from.floats("ended"), from.floats("endedTimes"))
  if (from.has("leaving")) {
    for (const [account, leaver] of from.json("leaving") as ReadonlyArray<readonly [number, Leaver]>) state.leaving.set(account, leaver)
  }
  if (from.has("connections")) restoreConnections(state, from)
  for (let market = 0; market < state.markets.length; market++) {
    state.books.push(Book.restore(state.orders, from.ints(`book.${market}`)))
    Band.note(state, state.markets[market]!)
  }
  for (let slot = 0; slot < state.positions.count; slot++) OpenLists.list(state, slot)
}

const canonical = (state: State, feed: (line: string) => void): void => {
  const { accounts, orders, positions } = state
  for (let account = 0; account < accounts.count; account++) {
    feed(`switch ${account} ${state.switches.at(account)}`)
    for (let order = accounts.newestOrder(account); order !== none; order = orders.ownOlder(order)) feed(`own ${orders.number(order)}`)
    for (let market = 0; market < state.markets.length; market++) {
      const slot = positions.find(account, market)
      if (slot === none) continue
      for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) feed(`open ${orders.number(order)}`)
    }
  }
  const slots: Array<number> = []
  for (let order = 0; order < orders.end; order++) if (orders.holds(order)) slots.push(order)
  slots.sort((one, other) => orders.number(one) - orders.number(other))
  for (const order of slots) {
    feed(
      `order ${orders.number(order)} ${orders.account(order)} ${orders.market(order)} ${orders.flags(order)} ${orders.priceAtoms(order)} `
        + `${orders.quantity(order)} ${orders.remaining(order)} ${orders.filled(order)} ${orders.filledNotional(order)} `
        + `${orders.canceled(order)} ${orders.createdAt(order)} ${orders.updatedAt(order)} ${orders.lastSequence(order)} `
        + `${orders.clientOrderId.at(order)} ${orders.idempotencyKey.at(order)} ${state.expiries.at(order)}`
    )
  }
  state.books.forEach((book, market) => {
    for (const side of [Order.buy, Order.sell] as const) {
      for (let order = book.best(side); order !== none; order = book.nextSlot(order)) {
        feed(`resting ${market} ${side} ${orders.priceAtoms(order)} ${orders.number(order)} ${orders.remaining(order)}`)
      }
    }
  })
  for (const market of state.markets) {
    const fills = state.fills.ofMarket(market.index, Number.POSITIVE_INFINITY, state.fills.capacity)
    for (const fill of fills) feed(`fill ${JSON.stringify(fill)}`)
  }
  const endedTimes = state.endedTimes()
  state.endedSlots().forEach((order, index) => feed(`ended ${orders.number(order)} ${endedTimes[index]}`))
  for (const [account, { before, reason }] of state.leaving) feed(`leaving ${account} ${before} ${reason}`)
  for (const { account, connection, isEnded, orders: open } of state.connections.entries()) {
    feed(`connection ${connection} ${account} ${isEnded ? 1 : 0}`)
    for (const number of open) feed(`connected ${number} ${connection}`)
  }
  state.idempotency.canonical(feed)
}

export const part: Part = { encode, restore, tables, canonical, firstBroken }
