/**
 * Owns every order the venue remembers, open or done, as columns of typed arrays by integer slot, and the
 * two ways to find one: by order number and by an account's clientOrderId.
 *
 * Slots are handed out last released first, so the same calls always give the same slots. A pool restored
 * from a dump continues exactly where the dumped one stood. The hash tables only say where a slot is: their
 * layout, and the key that scatters it, decide nothing and are never dumped.
 */
import { assert } from "../domain/Assert.js"
import { idsPerRecord } from "../domain/Ids.js"
import type * as Order from "../domain/Order.js"

/** No slot: the end of a chain, or nothing found. */
export const none = -1

const sideBit = 1
const typeBit = 1 << 1
const timeInForceBit = 1 << 2
const postOnlyBit = 1 << 3
const reduceOnlyBit = 1 << 4
const selfTradePreventionShift = 5
const selfTradePreventionMask = 3 << selfTradePreventionShift
const statusShift = 7
const statusMask = 3 << statusShift
const cancelReasonShift = 9
const cancelReasonMask = 15 << cancelReasonShift
const amendedBit = 1 << 13

/** What an order's flags hold. */
export interface Flags {
  readonly side: Order.Side
  readonly type: Order.Type
  readonly timeInForce: Order.TimeInForce
  readonly postOnly: boolean
  readonly reduceOnly: boolean
  readonly selfTradePrevention: Order.SelfTradePrevention
}

/** The flags word of a new order: status open, no cancel reason. */
export const packFlags = (
  side: Order.Side,
  type: Order.Type,
  timeInForce: Order.TimeInForce,
  postOnly: boolean,
  reduceOnly: boolean,
  selfTradePrevention: Order.SelfTradePrevention
): number =>
  side
  | (type << 1)
  | (timeInForce << 2)
  | (postOnly ? postOnlyBit : 0)
  | (reduceOnly ? reduceOnlyBit : 0)
  | (selfTradePrevention << selfTradePreventionShift)

/** A pool's content, trimmed to the slots ever used. `next` chains the released slots from `freeHead` on. */
export interface Dump {
  readonly number: Float64Array
  readonly priceAtoms: Int32Array
  readonly remaining: Float64Array
  readonly quantity: Float64Array
  readonly filled: Float64Array
  readonly filledNotional: Float64Array
  readonly canceled: Float64Array
  readonly createdAt: Float64Array
  readonly updatedAt: Float64Array
  readonly lastSequence: Float64Array
  readonly account: Int32Array
  readonly market: Int32Array
  readonly flags: Int32Array
  readonly next: Int32Array
  readonly prev: Int32Array
  readonly accountNext: Int32Array
  readonly accountPrev: Int32Array
  readonly ownOlder: Int32Array
  readonly ownNewer: Int32Array
  readonly clientOrderId: ReadonlyArray<string>
  readonly idempotencyKey: ReadonlyArray<string>
  /** Slots in the order-number index. */
  readonly indexed: Int32Array
  /** Slots in the clientOrderId index. */
  readonly clientIndexed: Int32Array
  readonly freeHead: number
}

/** Columns begin with these, 2.5 MB, and grow with use: a few orders stay close together, apart from each other in a cache. */
const initialSlots = 16_384

/** Key of the clientOrderId hash: any two 32-bit integers. A secret one keeps clients from crafting collisions. */
export type HashKey = readonly [number, number]

export class Orders {
  /** Most orders this pool will ever hold at once. */
  readonly capacity: number

  /** Order number; -1 in a slot that is free. */
  number: Float64Array
  /** Price atoms; 0 for a market order without a worst price. */
  priceAtoms: Int32Array
  /** Size atoms still to be filled. While the order rests, only the book changes it. */
  remaining: Float64Array
  /** Size atoms ordered. */
  quantity: Float64Array
  /** Size atoms filled. */
  filled: Float64Array
  /** Money atoms paid or received for what was filled. */
  filledNotional: Float64Array
  /** Size atoms cancelled. */
  canceled: Float64Array
  /** Epoch milliseconds. */
  createdAt: Float64Array
  /** Epoch milliseconds. */
  updatedAt: Float64Array
  /** The last record that changed the order. */
  lastSequence: Float64Array
  /** Account index. */
  account: Int32Array
  /** Market index. */
  market: Int32Array
  /** Side, type, time in force, post-only, reduce-only, self-trade prevention, status, cancel reason: see the getters. */
  flags: Int32Array
  /** Next younger order of the same price level, or -1. Only the book writes it. */
  next: Int32Array
  /** Next older order of the same price level, or -1. Only the book writes it. */
  prev: Int32Array
  /** The book's level the order rests at, or -1. Only the book writes it; not dumped. */
  level: Int32Array
  /** Next younger open order of the account in the market, or -1. */
  accountNext: Int32Array
  /** Next older open order of the account in the market, or -1. */
  accountPrev: Int32Array
  /** The account's next older remembered order, open or ended, or -1. */
  ownOlder: Int32Array
  /** The account's next younger remembered order, or -1. */
  ownNewer: Int32Array
  /** The client's own name; empty when it gave none. */
  readonly clientOrderId: Array<string> = []
  /** The key it was placed under; empty when there was none. */
  readonly idempotencyKey: Array<string> = []

  private readonly key0: number
  private readonly key1: number
  /** Slots for which there are columns. */
  private allocated: number
  /** Slots ever handed out; those from here on were never used. */
  private highWater = 0
  private freeHead = none
  private used = 0
  /** Slot + 1 of the first slot of a chain, by hash of the order number; 0 is empty. At least two places a slot. */
  private numberTable: Int32Array
  /** Slot + 1 of the next in the chain of `numberTable`, or 0. */
  private numberChain: Int32Array
  /** Slot + 1 of the first slot of a chain, by hash of account and clientOrderId; 0 is empty. */
  private clientTable: Int32Array
  /** Slot + 1 of the next in the chain of `clientTable`, or 0. */
  private clientChain: Int32Array
  /** Hash of account and clientOrderId of a slot in `clientTable`. */
  private clientHash: Int32Array
  private tableMask: number

  constructor(capacity: number, hashKey: HashKey = [0, 0]) {
    assert(Number.isInteger(capacity) && capacity > 0 && capacity <= 2 ** 28, "a pool holds between 1 and 2^28 orders")
    this.capacity = capacity
    this.key0 = hashKey[0] | 0
    this.key1 = hashKey[1] | 0
    const slots = Math.min(initialSlots, capacity)
    this.allocated = slots
    this.number = new Float64Array(slots)
    this.priceAtoms = new Int32Array(slots)
    this.remaining = new Float64Array(slots)
    this.quantity = new Float64Array(slots)
    this.filled = new Float64Array(slots)
    this.filledNotional = new Float64Array(slots)
    this.canceled = new Float64Array(slots)
    this.createdAt = new Float64Array(slots)
    this.updatedAt = new Float64Array(slots)
    this.lastSequence = new Float64Array(slots)
    this.account = new Int32Array(slots)
    this.market = new Int32Array(slots)
    this.flags = new Int32Array(slots)
    this.next = new Int32Array(slots)
    this.prev = new Int32Array(slots)
    this.level = new Int32Array(slots)
    this.accountNext = new Int32Array(slots)
    this.accountPrev = new Int32Array(slots)
    this.ownOlder = new Int32Array(slots)
    this.ownNewer = new Int32Array(slots)
    this.numberChain = new Int32Array(slots)
    this.clientChain = new Int32Array(slots)
    this.clientHash = new Int32Array(slots)
    const tableSize = tableSizeFor(slots)
    this.numberTable = new Int32Array(tableSize)
    this.clientTable = new Int32Array(tableSize)
    this.tableMask = tableSize - 1
  }

  /** How many slots are taken. */
  get size(): number {
    return this.used
  }

  /** One more than the largest slot ever handed out: where a walk over all slots ends. */
  get end(): number {
    return this.highWater
  }

  /** Whether a slot below `end` holds an order. */
  holds(slot: number): boolean {
    return slot >= 0 && slot < this.highWater && this.number[slot]! >= 0
  }

  /**
   * A free slot, or -1 when the pool is full. Its number is 0, its strings are empty, and it rests nowhere; every
   * other column is the caller's to set. Not more is touched here: each column is a cache line of its own.
   */
  allocate(): number {
    let slot = this.freeHead
    if (slot !== none) {
      this.freeHead = this.next[slot]!
    } else {
      if (this.highWater === this.capacity) return none
      if (this.highWater === this.allocated) this.grow(Math.min(this.allocated * 2, this.capacity))
      slot = this.highWater++
      this.clientOrderId.push("")
      this.idempotencyKey.push("")
    }
    this.used++
    this.number[slot] = 0
    this.level[slot] = none
    return slot
  }

  /** Gives a slot back. The order must be out of its book, of both indexes and of its account's chain. */
  release(slot: number): void {
    assert(slot < this.highWater && this.number[slot]! >= 0, "only a slot that holds an order is released")
    assert(this.level[slot] === none, "an order leaves its book before its slot is released")
    this.number[slot] = -1
    this.clientOrderId[slot] = ""
    this.idempotencyKey[slot] = ""
    this.next[slot] = this.freeHead
    this.freeHead = slot
    this.used--
  }

  side(slot: number): Order.Side {
    return (this.flags[slot]! & sideBit) as Order.Side
  }

  type(slot: number): Order.Type {
    return ((this.flags[slot]! & typeBit) >>> 1) as Order.Type
  }

  timeInForce(slot: number): Order.TimeInForce {
    return ((this.flags[slot]! & timeInForceBit) >>> 2) as Order.TimeInForce
  }

  postOnly(slot: number): boolean {
    return (this.flags[slot]! & postOnlyBit) !== 0
  }

  reduceOnly(slot: number): boolean {
    return (this.flags[slot]! & reduceOnlyBit) !== 0
  }

  selfTradePrevention(slot: number): Order.SelfTradePrevention {
    return ((this.flags[slot]! & selfTradePreventionMask) >>> selfTradePreventionShift) as Order.SelfTradePrevention
  }

  /** Whether the order lost its first place in time by an amendment. */
  amended(slot: number): boolean {
    return (this.flags[slot]! & amendedBit) !== 0
  }

  setAmended(slot: number): void {
    this.flags[slot] = this.flags[slot]! | amendedBit
  }

  status(slot: number): Order.Status {
    return ((this.flags[slot]! & statusMask) >>> statusShift) as Order.Status
  }

  setStatus(slot: number, status: Order.Status): void {
    this.flags[slot] = (this.flags[slot]! & ~statusMask) | (status << statusShift)
  }

  cancelReason(slot: number): Order.CancelReason {
    return ((this.flags[slot]! & cancelReasonMask) >>> cancelReasonShift) as Order.CancelReason
  }

  setCancelReason(slot: number, reason: Order.CancelReason): void {
    this.flags[slot] = (this.flags[slot]! & ~cancelReasonMask) | (reason << cancelReasonShift)
  }

  /** The slot indexed under an order number, or -1. */
  find(number: number): number {
    let entry = this.numberTable[hashNumber(number) & this.tableMask]!
    while (entry !== 0 && this.number[entry - 1] !== number) entry = this.numberChain[entry - 1]!
    return entry - 1
  }

  /** Makes a slot findable under its order number, which no other indexed slot may have. */
  index(slot: number): void {
    const number = this.number[slot]!
    assert(number >= 0, "an indexed order has a number")
    assert(this.find(number) === none, "an order number is indexed once")
    const at = hashNumber(number) & this.tableMask
    this.numberChain[slot] = this.numberTable[at]!
    this.numberTable[at] = slot + 1
  }

  /** Takes an indexed slot out of the order-number index. */
  unindex(slot: number): void {
    unchain(this.numberTable, this.numberChain, hashNumber(this.number[slot]!) & this.tableMask, slot + 1)
  }

  /** The slot indexed under an account's clientOrderId, or -1. `hash` is theirs by `hashClient`, where it is at hand. */
  findClient(account: number, clientOrderId: string, hash: number = this.hashClient(account, clientOrderId)): number {
    for (let entry = this.clientTable[hash & this.tableMask]!; entry !== 0; entry = this.clientChain[entry - 1]!) {
      const slot = entry - 1
      if (this.clientHash[slot] === hash && this.account[slot] === account && this.clientOrderId[slot] === clientOrderId) {
        return slot
      }
    }
    return none
  }

  /** Makes a slot findable under its account and clientOrderId, which no other indexed slot may share. `hash` as in `findClient`. */
  indexClient(slot: number, hash: number = this.hashClient(this.account[slot]!, this.clientOrderId[slot]!)): void {
    const clientOrderId = this.clientOrderId[slot]!
    assert(clientOrderId !== "", "an empty clientOrderId is not indexed")
    assert(this.findClient(this.account[slot]!, clientOrderId, hash) === none, "an account's clientOrderId is indexed once")
    const at = hash & this.tableMask
    this.clientHash[slot] = hash
    this.clientChain[slot] = this.clientTable[at]!
    this.clientTable[at] = slot + 1
  }

  /** Takes an indexed slot out of the clientOrderId index. */
  unindexClient(slot: number): void {
    unchain(this.clientTable, this.clientChain, this.clientHash[slot]! & this.tableMask, slot + 1)
  }

  /** A copy of everything but the hash tables and the levels, which restoring builds again. */
  dump(): Dump {
    const end = this.highWater
    return {
      number: this.number.slice(0, end),
      priceAtoms: this.priceAtoms.slice(0, end),
      remaining: this.remaining.slice(0, end),
      quantity: this.quantity.slice(0, end),
      filled: this.filled.slice(0, end),
      filledNotional: this.filledNotional.slice(0, end),
      canceled: this.canceled.slice(0, end),
      createdAt: this.createdAt.slice(0, end),
      updatedAt: this.updatedAt.slice(0, end),
      lastSequence: this.lastSequence.slice(0, end),
      account: this.account.slice(0, end),
      market: this.market.slice(0, end),
      flags: this.flags.slice(0, end),
      next: this.next.slice(0, end),
      prev: this.prev.slice(0, end),
      accountNext: this.accountNext.slice(0, end),
      accountPrev: this.accountPrev.slice(0, end),
      ownOlder: this.ownOlder.slice(0, end),
      ownNewer: this.ownNewer.slice(0, end),
      clientOrderId: this.clientOrderId.slice(),
      idempotencyKey: this.idempotencyKey.slice(),
      indexed: slotsOf(this.numberTable, this.numberChain, end),
      clientIndexed: slotsOf(this.clientTable, this.clientChain, end),
      freeHead: this.freeHead
    }
  }

  /** A pool equal to the dumped one: same slots, same free slots in the same order. Books restore their own levels. */
  static restore(dump: Dump, capacity: number, hashKey: HashKey = [0, 0]): Orders {
    const orders = new Orders(capacity, hashKey)
    const end = dump.number.length
    assert(end <= capacity, "a dumped pool fits the capacity it is restored to")
    assert(dump.clientOrderId.length === end && dump.idempotencyKey.length === end, "a dump has as many strings as slots")
    if (end > orders.allocated) {
      let slots = orders.allocated
      while (slots < end) slots = Math.min(slots * 2, capacity)
      orders.grow(slots)
    }
    orders.number.set(dump.number)
    orders.priceAtoms.set(dump.priceAtoms)
    orders.remaining.set(dump.remaining)
    orders.quantity.set(dump.quantity)
    orders.filled.set(dump.filled)
    orders.filledNotional.set(dump.filledNotional)
    orders.canceled.set(dump.canceled)
    orders.createdAt.set(dump.createdAt)
    orders.updatedAt.set(dump.updatedAt)
    orders.lastSequence.set(dump.lastSequence)
    orders.account.set(dump.account)
    orders.market.set(dump.market)
    orders.flags.set(dump.flags)
    orders.next.set(dump.next)
    orders.prev.set(dump.prev)
    orders.level.fill(none, 0, end)
    orders.accountNext.set(dump.accountNext)
    orders.accountPrev.set(dump.accountPrev)
    orders.ownOlder.set(dump.ownOlder)
    orders.ownNewer.set(dump.ownNewer)
    for (let slot = 0; slot < end; slot++) {
      orders.clientOrderId.push(dump.clientOrderId[slot]!)
      orders.idempotencyKey.push(dump.idempotencyKey[slot]!)
    }
    orders.highWater = end
    orders.freeHead = dump.freeHead
    let free = 0
    for (let slot = dump.freeHead; slot !== none; slot = orders.next[slot]!) {
      assert(slot >= 0 && slot < end && free < end && orders.number[slot] === -1, "the free chain runs over free slots, once")
      free++
    }
    orders.used = end - free
    for (const slot of dump.indexed) orders.index(slot)
    for (const slot of dump.clientIndexed) orders.indexClient(slot)
    return orders
  }

  /** More columns and larger tables; slots keep their content. */
  private grow(slots: number): void {
    this.number = grown(this.number, new Float64Array(slots))
    this.priceAtoms = grown(this.priceAtoms, new Int32Array(slots))
    this.remaining = grown(this.remaining, new Float64Array(slots))
    this.quantity = grown(this.quantity, new Float64Array(slots))
    this.filled = grown(this.filled, new Float64Array(slots))
    this.filledNotional = grown(this.filledNotional, new Float64Array(slots))
    this.canceled = grown(this.canceled, new Float64Array(slots))
    this.createdAt = grown(this.createdAt, new Float64Array(slots))
    this.updatedAt = grown(this.updatedAt, new Float64Array(slots))
    this.lastSequence = grown(this.lastSequence, new Float64Array(slots))
    this.account = grown(this.account, new Int32Array(slots))
    this.market = grown(this.market, new Int32Array(slots))
    this.flags = grown(this.flags, new Int32Array(slots))
    this.next = grown(this.next, new Int32Array(slots))
    this.prev = grown(this.prev, new Int32Array(slots))
    this.level = grown(this.level, new Int32Array(slots))
    this.accountNext = grown(this.accountNext, new Int32Array(slots))
    this.accountPrev = grown(this.accountPrev, new Int32Array(slots))
    this.ownOlder = grown(this.ownOlder, new Int32Array(slots))
    this.ownNewer = grown(this.ownNewer, new Int32Array(slots))
    this.numberChain = grown(this.numberChain, new Int32Array(slots))
    this.clientChain = grown(this.clientChain, new Int32Array(slots))
    this.clientHash = grown(this.clientHash, new Int32Array(slots))
    this.allocated = slots
    const tableSize = tableSizeFor(slots)
    if (tableSize === this.numberTable.length) return
    const mask = tableSize - 1
    this.numberTable = rechained(this.numberTable, this.numberChain, tableSize, (slot) => hashNumber(this.number[slot]!) & mask)
    this.clientTable = rechained(this.clientTable, this.clientChain, tableSize, (slot) => this.clientHash[slot]! & mask)
    this.tableMask = mask
  }

  /**
   * HalfSipHash-1-3, under the pool's key, of an account and a clientOrderId: its code units four to a word, as
   * if each were a byte, with the account in the key. Without the key nobody can craft names that collide.
   */
  hashClient(account: number, clientOrderId: string): number {
    const length = clientOrderId.length
    // The key as int32 here, and one charCodeAt in one loop: otherwise the compiler adds in doubles.
    let v0 = this.key0 | 0
    let v1 = this.key1 ^ account
    let v2 = 0x6c796765 ^ v0
    let v3 = 0x74656462 ^ v1
    let word = 0
    for (let at = 0; at < length; at++) {
      word = (word << 8) ^ clientOrderId.charCodeAt(at)
      if ((at & 3) === 3) {
        v3 ^= word
        v0 = (v0 + v1) | 0
        v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
        v0 = (v0 << 16) | (v0 >>> 16)
        v2 = (v2 + v3) | 0
        v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
        v0 = (v0 + v3) | 0
        v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
        v2 = (v2 + v1) | 0
        v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
        v2 = (v2 << 16) | (v2 >>> 16)
        v0 ^= word
        word = 0
      }
    }
    word ^= length << 24
    v3 ^= word
    for (let round = 0; round < 4; round++) {
      v0 = (v0 + v1) | 0
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
      v0 = (v0 << 16) | (v0 >>> 16)
      v2 = (v2 + v3) | 0
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
      v0 = (v0 + v3) | 0
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
      v2 = (v2 + v1) | 0
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
      v2 = (v2 << 16) | (v2 >>> 16)
      if (round === 0) {
        v0 ^= word
        v2 ^= 0xff
      }
    }
    return v1 ^ v3
  }
}

/** The power of two that gives every slot two places or more. */
const tableSizeFor = (slots: number): number => {
  let size = 16
  while (size < slots * 2) size *= 2
  return size
}

/**
 * Where an order number goes: next to the one of the record before, so that a run of records shares nothing,
 * with the further births of a record strewn. Clients do not choose numbers: nothing here needs a key.
 */
const hashNumber = (number: number): number => {
  const sequence = Math.floor(number / idsPerRecord)
  return sequence ^ Math.imul(number - sequence * idsPerRecord, 0x9e3779b1)
}

/** Takes an entry out of the chain that starts at a place of a table. */
const unchain = (table: Int32Array, chain: Int32Array, at: number, entry: number): void => {
  const after = chain[entry - 1]!
  let before = table[at]!
  if (before === entry) {
    table[at] = after
    return
  }
  while (before !== 0 && chain[before - 1] !== entry) before = chain[before - 1]!
  assert(before !== 0, "only an indexed order is unindexed")
  chain[before - 1] = after
}

/** A larger table of the same entries, chained anew by the place of their slots. */
const rechained = (table: Int32Array, chain: Int32Array, size: number, placeOf: (slot: number) => number): Int32Array => {
  const larger = new Int32Array(size)
  for (const first of table) {
    for (let entry = first; entry !== 0;) {
      const next = chain[entry - 1]!
      const at = placeOf(entry - 1)
      chain[entry - 1] = larger[at]!
      larger[at] = entry
      entry = next
    }
  }
  return larger
}

/** The slots below `end` that are in a table, ascending, whatever its layout. */
const slotsOf = (table: Int32Array, chain: Int32Array, end: number): Int32Array => {
  const found = new Uint8Array(end)
  let count = 0
  for (const first of table) {
    for (let entry = first; entry !== 0; entry = chain[entry - 1]!) {
      found[entry - 1] = 1
      count++
    }
  }
  const slots = new Int32Array(count)
  let at = 0
  for (let slot = 0; slot < end; slot++) if (found[slot] === 1) slots[at++] = slot
  return slots
}

/** Copies a column into a longer one. */
const grown = <Column extends Float64Array | Int32Array>(from: Column, to: Column): Column => {
  to.set(from)
  return to
}
