/**
 * The engine's state as named byte sections, to bound start-up time, and its canonical form, to compare two
 * states however they are stored. A snapshot is never trusted over the journal: replay proves it.
 */
import { assert } from "../domain/Assert.js"
import * as Market from "../domain/Market.js"
import * as Order from "../domain/Order.js"
import { Accounts, type AccountsDump, none } from "./Accounts.js"
import { Book } from "./Book.js"
import { initialLength } from "./Columns.js"
import { Fills, type FillsDump } from "./Fills.js"
import { entryBytes, Idempotency } from "./Idempotency.js"
import { type MarketDump, MarketState } from "./Markets.js"
import { Minutes } from "./Minutes.js"
import { initialSlots, Orders, rowBytes } from "./Orders.js"
import { OutOfRoom } from "./OutOfRoom.js"
import { Positions } from "./Positions.js"
import { type Capacity, State } from "./State.js"

/** One named run of bytes. */
export interface Section {
  readonly name: string
  readonly bytes: Uint8Array
}

/** Everything that is not a column. */
interface Meta {
  readonly sequence: number
  readonly atEpochMs: number
  readonly environment: string
  readonly rules: number
  readonly halted: boolean
  readonly registrySequence: number
  readonly episodes: number
  readonly openOrders: number
  readonly hasFences: boolean
  readonly feesLow: number
  readonly feesHigh: number
  readonly creditedLow: number
  readonly creditedHigh: number
  readonly markets: ReadonlyArray<MarketDump>
  readonly apiKeys: AccountsDump["apiKeys"]
  readonly freeHead: number
}

/** Separates texts in a section; no id may hold it. */
const separator = "\n"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

type Column = Float64Array | Int32Array

const bytesOf = (column: Column): Uint8Array => new Uint8Array(column.buffer, column.byteOffset, column.byteLength)

const separatorCode = separator.charCodeAt(0)

/** Every text followed by a separator. Of ASCII, as nearly all ids are, they cost a copy of their characters. */
const encodeTexts = (texts: ReadonlyArray<string>): Uint8Array => {
  let length = 0
  for (const text of texts) length += text.length
  const bytes = new Uint8Array(length + texts.length)
  let seen = 0
  let at = 0
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index]!
    for (let from = 0; from < text.length; from++) {
      const code = text.charCodeAt(from)
      seen |= code
      bytes[at++] = code
    }
    bytes[at++] = separatorCode
  }
  return seen < 0x80 ? bytes : encodeAnyTexts(texts, length)
}

/** The same for texts of any characters: at most three bytes for each of their `length` code units. */
const encodeAnyTexts = (texts: ReadonlyArray<string>, length: number): Uint8Array => {
  const bytes = new Uint8Array(length * 3 + texts.length)
  let at = 0
  for (const text of texts) {
    at += encoder.encodeInto(text, bytes.subarray(at)).written
    bytes[at++] = separatorCode
  }
  return bytes.slice(0, at)
}

/** Bytes decoded at a time, and on to the next separator. */
const bytesAtOnce = 1 << 24

const decodeTexts = (bytes: Uint8Array): Array<string> => {
  const texts: Array<string> = []
  for (let from = 0; from < bytes.length;) {
    const to = bytes.indexOf(separatorCode, Math.min(bytes.length - 1, from + bytesAtOnce))
    assert(to >= from, "every text is followed by a separator")
    for (const text of decoder.decode(bytes.subarray(from, to)).split(separator)) texts.push(text)
    from = to + 1
  }
  return texts
}

/** The state as sections. The bytes are copies: the engine may go on at once. */
export const encode = (state: State): ReadonlyArray<Section> => {
  const accounts = state.accounts.dump()
  const orders = state.orders.dump()
  const meta: Meta = {
    sequence: state.sequence,
    atEpochMs: state.atEpochMs,
    environment: state.environment,
    rules: state.rules,
    halted: state.halted,
    registrySequence: state.registrySequence,
    episodes: state.episodes,
    openOrders: state.openOrders,
    hasFences: state.hasFences,
    feesLow: state.fees.low,
    feesHigh: state.fees.high,
    creditedLow: state.credited.low,
    creditedHigh: state.credited.high,
    markets: state.markets.map((market) => market.dump()),
    apiKeys: accounts.apiKeys,
    freeHead: orders.freeHead
  }
  const sections: Array<Section> = [{ name: "meta", bytes: encoder.encode(JSON.stringify(meta)) }]
  const put = (group: string, columns: object) => {
    for (const [name, column] of Object.entries(columns)) {
      if (column instanceof Float64Array || column instanceof Int32Array) {
        sections.push({ name: `${group}.${name}`, bytes: bytesOf(column) })
      }
    }
  }
  const positions = state.positions.dump()
  sections.push({ name: "accounts.rows", bytes: accounts.rows })
  sections.push({ name: "positions.rows", bytes: positions.rows })
  sections.push({ name: "positions.pastRows", bytes: positions.pastRows })
  sections.push({ name: "orders.rows", bytes: orders.rows })
  sections.push({ name: "orders.pastRows", bytes: orders.pastRows })
  sections.push({ name: "orders.clientOrderId", bytes: encodeTexts(orders.clientOrderId) })
  sections.push({ name: "orders.idempotencyKey", bytes: encodeTexts(orders.idempotencyKey) })
  const idempotency = state.idempotency.dump()
  sections.push({ name: "idempotency.rows", bytes: idempotency.rows })
  sections.push({ name: "idempotency.outcomes", bytes: idempotency.outcomes })
  sections.push({ name: "idempotency.heads", bytes: bytesOf(idempotency.heads) })
  put("fills", state.fills.dump())
  state.markets.forEach((market) => sections.push({ name: `minutes.${market.index}`, bytes: bytesOf(market.minutes.dump()) }))
  sections.push({ name: "switches", bytes: bytesOf(Float64Array.from(state.switches.entries().flat())) })
  sections.push({ name: "expiries", bytes: bytesOf(Float64Array.from(state.expiries.entries().flat())) })
  sections.push({ name: "ended", bytes: bytesOf(state.endedSlots()) })
  state.books.forEach((book, market) => sections.push({ name: `book.${market}`, bytes: bytesOf(book.heads()) }))
  return sections
}

/** The state that was encoded. Throws where the sections are not a state's, and `OutOfRoom` where the capacity cannot hold it. */
export const unsafeDecode = (sections: ReadonlyArray<Section>, capacity: Capacity): State => {
  const byName = new Map(sections.map((section) => [section.name, section.bytes]))
  const bytes = (name: string): Uint8Array => {
    const found = byName.get(name)
    assert(found !== undefined, `a snapshot has a section ${name}`)
    return found
  }
  /** The bytes where a column of 8-byte numbers may lie: as they are, or copied to such a place. */
  const aligned = (name: string): Uint8Array => {
    const from = bytes(name)
    // Not `slice`: on a Buffer that is a view of the same place.
    return from.byteOffset % 8 === 0 ? from : new Uint8Array(from)
  }
  const floats = (name: string) => {
    const from = aligned(name)
    return new Float64Array(from.buffer, from.byteOffset, from.byteLength / 8)
  }
  const ints = (name: string) => {
    const from = aligned(name)
    return new Int32Array(from.buffer, from.byteOffset, from.byteLength / 4)
  }
  const group = (name: string, intColumns: ReadonlySet<string>): Record<string, Column> => {
    const columns: Record<string, Column> = {}
    for (const section of sections) {
      if (!section.name.startsWith(`${name}.`)) continue
      const column = section.name.slice(name.length + 1)
      columns[column] = intColumns.has(column) ? ints(section.name) : floats(section.name)
    }
    return columns
  }

  const meta = JSON.parse(decoder.decode(bytes("meta"))) as Meta
  const state = new State(capacity)
  state.sequence = meta.sequence
  state.atEpochMs = meta.atEpochMs
  state.environment = meta.environment
  state.rules = meta.rules
  state.halted = meta.halted
  state.registrySequence = meta.registrySequence
  state.episodes = meta.episodes
  state.openOrders = meta.openOrders
  state.hasFences = meta.hasFences
  state.fees.low = meta.feesLow
  state.fees.high = meta.feesHigh
  state.credited.low = meta.creditedLow
  state.credited.high = meta.creditedHigh
  for (const dump of meta.markets) {
    const market = MarketState.restore(
      state.markets.length,
      dump,
      Minutes.restore(floats(`minutes.${state.markets.length}`))
    )
    state.markets.push(market)
    state.marketById.set(dump.parameters.marketId, market.index)
    state.marketBySymbol.set(Market.symbol(dump.parameters), market.index)
  }
  state.accounts = Accounts.restore({ rows: bytes("accounts.rows"), apiKeys: meta.apiKeys })
  state.positions = Positions.restore({ rows: bytes("positions.rows"), pastRows: bytes("positions.pastRows") })
  const count = bytes("orders.rows").length / rowBytes
  if (count > capacity.orders) throw new OutOfRoom("ORDER_CAPACITY", capacity.orders, count, meta.sequence)
  const keys = bytes("idempotency.rows").length / entryBytes
  if (keys > capacity.idempotencyKeys) throw new OutOfRoom("IDEMPOTENCY_CAPACITY", capacity.idempotencyKeys, keys, meta.sequence)
  state.orders = Orders.restore({
    rows: bytes("orders.rows"),
    pastRows: bytes("orders.pastRows"),
    clientOrderId: decodeTexts(bytes("orders.clientOrderId")),
    idempotencyKey: decodeTexts(bytes("orders.idempotencyKey")),
    freeHead: meta.freeHead
  }, capacity.orders, capacity.hashKey, initialLength(capacity.orders, initialSlots))
  state.idempotency = Idempotency.restore(
    { rows: bytes("idempotency.rows"), outcomes: bytes("idempotency.outcomes"), heads: ints("idempotency.heads") },
    capacity.idempotencyKeys,
    capacity.hashKey
  )
  state.fills = Fills.restore(group("fills", fillInts) as unknown as FillsDump)
  const pairs = (name: string, set: (key: number, atEpochMs: number) => void) => {
    const flat = floats(name)
    for (let at = 0; at < flat.length; at += 2) set(flat[at]!, flat[at + 1]!)
  }
  pairs("switches", (account, atEpochMs) => state.switches.set(account, atEpochMs))
  pairs("expiries", (order, atEpochMs) => state.expiries.set(order, atEpochMs))
  state.setEnded(floats("ended"))
  for (let market = 0; market < state.markets.length; market++) state.books.push(Book.restore(state.orders, ints(`book.${market}`)))
  return state
}

const fillInts: ReadonlySet<string> = new Set(["market", "makerAccount", "takerAccount", "takerSide"])
/**
 * Feeds the state's content in an order that does not depend on how it is stored: two states are the same
 * exactly when what they feed is. Numbers and texts come one line each.
 */
export const canonical = (state: State, feed: (line: string) => void): void => {
  feed(
    `venue ${state.sequence} ${state.atEpochMs} ${state.environment} ${state.rules} ${state.halted} ${state.registrySequence} `
      + `${state.episodes} ${state.fees.atoms} ${state.credited.atoms} ${state.hasFences}`
  )
  for (const market of state.markets) feed(`market ${JSON.stringify(market.dump())} ${market.minutes.dump().join(" ")}`)
  const { accounts, orders, positions } = state
  for (let account = 0; account < accounts.count; account++) {
    feed(
      `account ${account} ${accounts.born(account)} ${accounts.collateral(account)} ${accounts.lastSequence(account)} `
        + `${accounts.evicted(account)} ${state.switches.at(account)}`
    )
    for (let order = accounts.newestOrder(account); order !== none; order = orders.ownOlder(order)) feed(`own ${orders.number(order)}`)
    for (let market = 0; market < state.markets.length; market++) {
      const slot = positions.find(account, market)
      if (slot === none) continue
      feed(
        `position ${account} ${market} ${positions.quantity(slot)} ${positions.entryNotional(slot)} ${positions.realizedPnl(slot)} `
          + `${positions.feesPaid(slot)} ${positions.born(slot)} ${positions.openedAt(slot)} ${positions.lastSequence(slot)} `
          + `${positions.openBuys(slot)} ${positions.openSells(slot)} ${positions.reduceBuys(slot)} ${positions.reduceSells(slot)} `
          + `${positions.openCount(slot)}`
      )
      for (let order = positions.firstOrder(slot); order !== none; order = orders.accountNext(order)) feed(`open ${orders.number(order)}`)
    }
  }
  for (const key of accounts.apiKeys) feed(`key ${JSON.stringify(key)}`)
  const slots: Array<number> = []
  for (let order = 0; order < orders.end; order++) if (orders.holds(order)) slots.push(order)
  slots.sort((one, other) => orders.number(one) - orders.number(other))
  for (const order of slots) {
    feed(
      `order ${orders.number(order)} ${orders.account(order)} ${orders.market(order)} ${orders.flags(order)} ${orders.priceAtoms(order)} `
        + `${orders.quantity(order)} ${orders.remaining(order)} ${orders.filled(order)} ${orders.filledNotional(order)} `
        + `${orders.canceled(order)} ${orders.createdAt(order)} ${orders.updatedAt(order)} ${orders.lastSequence(order)} `
        + `${orders.clientOrderId[order]} ${orders.idempotencyKey[order]} ${state.expiries.at(order)}`
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
  for (const order of state.endedSlots()) feed(`ended ${orders.number(order)}`)
  state.idempotency.canonical(feed)
}
